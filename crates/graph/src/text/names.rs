//! Unique names for the functions, values and dimensions of a program.

use std::sync::Arc;

use indexmap::{IndexMap, IndexSet};
use rustc_hash::{FxHashMap, FxHashSet};

use super::Writer;
use crate::{Graph, Node, VertexId};
use tautomer_lang::is_name;
use tautomer_op::{AttrValue, Op, Region, RegionStep, lookup};
use tautomer_tensor::{Atom, DType, Dim, Type};

/// The symbols and unknown dimensions of one function.
#[derive(Default)]
struct Extents {
    symbols: Vec<Arc<str>>,
    /// Symbols that attributes mention.
    in_attrs: FxHashSet<Arc<str>>,
    /// Unknown dimensions that occur more than once, in order.
    several: Vec<u32>,
    /// Unknown dimensions that only attributes mention.
    in_attrs_alone: FxHashSet<u32>,
}

impl Writer<'_, '_> {
    /// Chooses names for all symbols, and for unknown dimensions that occur in more than one place.
    pub(super) fn collect_dims(&mut self) {
        let signature: Vec<VertexId> = self.signature().into_iter().map(|(v, _)| v).collect();
        let found = self.extents(&signature);
        self.name_symbols(&signature, &found);
        for id in found.several {
            let name = self.fresh_name("d");
            self.shared.symbol_names.insert(name.to_string());
            self.unknowns.insert(id, name);
        }
        if !found.in_attrs_alone.is_empty() {
            self.read_off(&found.in_attrs_alone);
        }
    }

    /// The symbols and unknown dimensions in types of the signature and of opaque calls, and in attributes.
    fn extents(&self, signature: &[VertexId]) -> Extents {
        let graph = self.graph;
        let mut types: Vec<&Type> = signature.iter().map(|v| graph.ty(*v)).collect();
        let mut attrs: Vec<&Dim> = Vec::new();
        for &v in &self.order {
            if let Node::Call { op, attrs: values } = &graph.vertex(v).node {
                if let Op::Opaque(op) = op {
                    types.push(&op.result);
                }
                attrs.extend(values.iter().flat_map(extents_of));
            }
        }
        let mut out = Extents::default();
        let mut declared: FxHashMap<u32, u32> = FxHashMap::default();
        for ty in types {
            ty.visit_dims(&mut |d| {
                let alone = d.is_unknown();
                d.visit_atoms(&mut |atom| match atom {
                    Atom::Symbol(s) => out.symbols.push(s.clone()),
                    Atom::Unknown(id) => *declared.entry(*id).or_default() += if alone { 1 } else { 2 },
                    _ => {}
                });
            });
        }
        for d in attrs {
            d.visit_atoms(&mut |atom| match atom {
                Atom::Symbol(s) => {
                    out.symbols.push(s.clone());
                    out.in_attrs.insert(s.clone());
                }
                Atom::Unknown(id) => match declared.get_mut(id) {
                    Some(count) => *count += 1,
                    None => {
                        out.in_attrs_alone.insert(*id);
                    }
                },
                _ => {}
            });
        }
        let several = declared.into_iter().filter(|(_, count)| *count > 1);
        out.several = several.map(|(id, _)| id).collect();
        out.several.sort_unstable();
        out
    }

    /// Symbols keep their names unless these are needed elsewhere; the outermost function decides for all.
    fn name_symbols(&mut self, signature: &[VertexId], found: &Extents) {
        let graph = self.graph;
        let inputs: FxHashSet<&str> = signature
            .iter()
            .filter_map(|v| graph.vertex(*v).name.as_deref())
            .collect();
        for name in self.shared.names.values() {
            self.taken.insert(name.to_string(), 0);
        }
        let mut symbols: Vec<Arc<str>> = Vec::new();
        let is_main = self.shared.symbols.is_none();
        if let Some(names) = self.shared.symbols.clone() {
            self.symbols = names;
            self.taken
                .extend(self.shared.symbol_names.iter().map(|name| (name.clone(), 0)));
        } else {
            for region in self.shared.names.keys() {
                symbols_of(region, &mut symbols);
            }
            symbols.extend(found.symbols.iter().cloned());
            symbols.sort();
            symbols.dedup();
        }
        let several_functions = !self.shared.names.is_empty();
        let clashes = |s: &Arc<str>| {
            !is_variable(s) || (inputs.contains(&**s) && (found.in_attrs.contains(s) || several_functions))
        };
        for symbol in symbols.iter().filter(|s| !clashes(s)) {
            // An input may share the name of a symbol that no attribute mentions.
            if !inputs.contains(&**symbol) {
                self.taken.insert(symbol.to_string(), 0);
            }
        }
        // Inputs keep their names, so they come before any new names.
        for v in signature {
            if let Some(name) = graph.vertex(*v).name.as_deref().filter(|n| is_variable(n)) {
                if !is_main && self.taken.contains_key(name) {
                    continue;
                }
                self.taken.insert(name.to_owned(), 0);
                self.kept.insert(name.into());
            }
        }
        for symbol in symbols.iter().filter(|s| clashes(s)) {
            let name = self.fresh_name(symbol);
            self.symbols.insert(symbol.clone(), name);
        }
        if is_main {
            let written = symbols.iter().map(|s| self.symbols.get(s).unwrap_or(s).to_string());
            self.shared.symbol_names.extend(written);
            self.shared.symbols = Some(self.symbols.clone());
        }
    }

    /// Names the first value with an axis of exactly each of these dimensions.
    fn read_off(&mut self, wanted: &FxHashSet<u32>) {
        for &v in &self.order {
            let Some(shape) = self.graph.ty(v).as_tensor().and_then(|t| t.shape.as_ref()) else {
                continue;
            };
            for (axis, dim) in shape.iter().enumerate() {
                if let Some(Atom::Unknown(id)) = dim.as_atom()
                    && wanted.contains(id)
                    && !self.read.contains_key(id)
                {
                    self.read.insert(*id, (v, axis));
                    self.named.insert(v);
                }
            }
        }
    }

    /// An unused name similar to `wanted`.
    pub(super) fn fresh_name(&mut self, wanted: &str) -> Arc<str> {
        let mut base: String = wanted
            .chars()
            .map(|c| if is_name(&format!("a{c}")) { c } else { '_' })
            .collect();
        if !is_variable(&base) {
            base.insert(0, 'v');
        }
        if !is_variable(&base) {
            base.push('_');
        }
        if !self.taken.contains_key(&base) {
            self.taken.insert(base.clone(), 0);
            return base.into();
        }
        let mut number = self.taken.get(&base).copied().unwrap_or(0);
        loop {
            number += 1;
            let candidate = format!("{base}_{number}");
            if !self.taken.contains_key(&candidate) {
                self.taken.insert(base, number);
                self.taken.insert(candidate.clone(), 0);
                return candidate.into();
            }
        }
    }

    pub(super) fn name_of(&mut self, v: VertexId) -> Arc<str> {
        match self.graph.vertex(v).name.clone() {
            Some(name) => self.fresh_name(&name),
            None => loop {
                let name = format!("v{}", self.auto);
                self.auto += 1;
                if !self.taken.contains_key(&name) {
                    return self.fresh_name(&name);
                }
            },
        }
    }
}

/// A unique name for each function that is called in the graph or in another function.
pub(super) fn function_names(graph: &Graph, main: &str) -> IndexMap<Arc<Region>, Arc<str>> {
    let mut regions: IndexSet<Arc<Region>> = IndexSet::new();
    let mut taken: FxHashSet<Arc<str>> = FxHashSet::default();
    taken.extend(["main".into(), main.into()]);
    for v in graph.ids() {
        let vertex = graph.vertex(v);
        taken.extend(vertex.name.clone());
        if let Node::Call { attrs, .. } = &vertex.node {
            regions.extend(attrs.iter().filter_map(|a| a.region().cloned()));
        }
    }
    let mut next = 0;
    while let Some(region) = regions.get_index(next).cloned() {
        next += 1;
        for item in &region.items {
            taken.extend(item.name.clone());
            if let RegionStep::Call { attrs, .. } = &item.step {
                regions.extend(attrs.iter().filter_map(|a| a.region().cloned()));
            }
        }
    }
    let mut names = IndexMap::new();
    for region in regions {
        let usable = |name: &str| is_variable(name) && lookup(name).is_none() && name != "main";
        let base: String = region
            .name
            .chars()
            .map(|c| if is_name(&format!("a{c}")) { c } else { '_' })
            .collect();
        let base = if usable(&base) { base } else { "body".to_owned() };
        let mut name: Arc<str> = base.as_str().into();
        let mut number = 0;
        while !taken.insert(name.clone()) {
            number += 1;
            name = format!("{base}_{number}").into();
        }
        names.insert(region, name);
    }
    names
}

/// The symbols in types and attributes of a function, without those of functions that it calls.
fn symbols_of(region: &Region, out: &mut Vec<Arc<str>>) {
    let mut note = |d: &Dim| {
        d.visit_atoms(&mut |atom| {
            if let Atom::Symbol(s) = atom {
                out.push(s.clone());
            }
        });
    };
    for item in &region.items {
        item.ty.visit_dims(&mut note);
        if let RegionStep::Call { attrs, .. } = &item.step {
            attrs.iter().flat_map(extents_of).for_each(&mut note);
        }
    }
}

/// The integers of an attribute.
fn extents_of(value: &AttrValue) -> &[Dim] {
    match value {
        AttrValue::Int(d) => std::slice::from_ref(d),
        AttrValue::Ints(list) => list,
        _ => &[],
    }
}

/// True for valid variable names. Element types and `none` are excluded because they have a meaning in attributes.
fn is_variable(name: &str) -> bool {
    is_name(name) && name != "none" && name != "_" && name.parse::<DType>().is_err()
}
