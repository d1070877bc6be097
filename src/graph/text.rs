//! From graphs to syntax trees: the text of the result parses to the same graph.
//!
//! What is used more than once is named by a `let`, so that sharing survives; the rest is written in place, as long as
//! it stays readable.

use std::cell::Cell;
use std::sync::Arc;

use indexmap::{IndexMap, IndexSet};
use rustc_hash::{FxHashMap, FxHashSet};

use super::literal::foreign_text;
use super::{Graph, Node, Operands, VertexId, region_graph};
use crate::lang::ast::{
    Attr, Attrs, BinaryOp, Block, DTypeName, DimExpr, Dims, ExprId, ExprKind, Function, Ident, Let, LetNames, Param,
    ParamClass, Program, TypeExpr, TypeKind, UnaryOp,
};
use crate::lang::is_name;
use crate::op::{AttrValue, Fact, Op, OpDef, Region, RegionStep, lookup, normalize};
use crate::tensor::{Atom, DType, Dim, Tensor, Type};

/// Expressions nested deeper than this are named.
const MAX_DEPTH: u32 = 6;

/// Expressions of more parts than this are named.
const MAX_PARTS: u32 = 12;

/// Constants with more elements than this are named.
const MAX_INLINE_ELEMENTS: usize = 4;

/// The graph as a program of one function, which builds to the same graph: the same vertices, shared in the same
/// places, with predecessors and outputs in the same order. Vertices that no result depends on are left out.
///
/// ```
/// use std::sync::Arc;
/// use tautomer::{diag::Source, graph::{self, BuildOptions}, lang};
///
/// let text = "fn main(x: f32[n]) {\n  let y = neg(x);\n  y * y + 2.0f32\n}\n";
/// let program = lang::parse_program(Arc::new(Source::new("a.taut", text))).unwrap();
/// let graph = graph::build_program(&program, &BuildOptions::default()).unwrap();
/// let printed = lang::format_program(&graph::to_program(&graph));
/// assert_eq!(printed, text.replace("neg(x)", "-x"));
/// ```
pub fn to_program(graph: &Graph) -> Program {
    // A function hides the operator of its name.
    let name = if is_name(&graph.name) && lookup(&graph.name).is_none() {
        graph.name.as_str()
    } else {
        "main"
    };
    let mut shared = Shared {
        program: Program::synthetic(),
        names: function_names(graph, name),
        written: FxHashSet::default(),
        symbols: None,
        symbol_names: FxHashSet::default(),
    };
    let function = write_function(graph, name, &mut shared);
    shared.program.functions.push(function);
    shared.program
}

/// What the functions of one program have in common.
struct Shared {
    program: Program,
    /// Names of the functions that operators call.
    names: IndexMap<Arc<Region>, Arc<str>>,
    /// Functions that are written.
    written: FxHashSet<Arc<str>>,
    /// What symbols are called, once the outermost function has decided.
    symbols: Option<FxHashMap<Arc<str>, Arc<str>>>,
    /// Names that stand for extents somewhere.
    symbol_names: FxHashSet<String>,
}

/// A name for each function that is called in the graph or in another function: that of nothing else.
fn function_names(graph: &Graph, main: &str) -> IndexMap<Arc<Region>, Arc<str>> {
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

fn write_function(graph: &Graph, name: &str, shared: &mut Shared) -> Function {
    let mut writer = Writer::new(graph, shared);
    writer.collect_dims();
    let params = writer.params();
    for i in 0..writer.order.len() {
        writer.vertex(writer.order[i]);
    }
    let results: Vec<VertexId> = graph.outputs().iter().map(|o| o.vertex).collect();
    let result = match results.as_slice() {
        [one] => writer.operand(*one),
        several => {
            let items = several.iter().map(|v| writer.operand(*v)).collect();
            writer.shared.program.ast.make(ExprKind::Tuple(items))
        }
    };
    Function {
        doc: graph.doc.clone(),
        name: Some(Ident::new(name)),
        params,
        result: None,
        body: Block {
            lets: writer.lets,
            ..Block::of(result)
        },
        span: Default::default(),
    }
}

/// How the value of a vertex is written where it is used.
enum Written {
    /// By name.
    Name(Arc<str>),
    /// `@0`
    Positional(u32),
    /// In place, once.
    Inline { expr: ExprId, depth: u32, parts: u32 },
}

struct Writer<'g, 's> {
    graph: &'g Graph,
    shared: &'s mut Shared,
    order: Vec<VertexId>,
    lets: Vec<Let>,
    uses: FxHashMap<VertexId, u32>,
    written: FxHashMap<VertexId, Written>,
    /// Tuples whose elements get a name each.
    split: FxHashMap<VertexId, Vec<Option<VertexId>>>,
    /// Vertices that attributes refer to.
    named: FxHashSet<VertexId>,
    taken: FxHashMap<String, u32>,
    /// Names of inputs and parameters that are kept for them.
    kept: FxHashSet<Arc<str>>,
    /// What symbols are called where their own names do not do.
    symbols: FxHashMap<Arc<str>, Arc<str>>,
    /// What unknown extents are called that occur more than once.
    unknowns: FxHashMap<u32, Arc<str>>,
    /// Where unknown extents can be read off.
    read: FxHashMap<u32, (VertexId, usize)>,
    auto: u32,
}

impl<'g, 's> Writer<'g, 's> {
    fn new(graph: &'g Graph, shared: &'s mut Shared) -> Self {
        let order = graph.rpo();
        let mut uses: FxHashMap<VertexId, u32> = FxHashMap::default();
        let mut parts: FxHashMap<VertexId, Vec<Option<VertexId>>> = FxHashMap::default();
        let mut whole: FxHashSet<VertexId> = FxHashSet::default();
        for &v in &order {
            let vertex = graph.vertex(v);
            for u in graph.pred(v) {
                *uses.entry(u).or_default() += 1;
                match (&vertex.node, graph.ty(u)) {
                    (Node::Proj(i), Type::Tuple(items)) if items.len() > 1 => {
                        let slots = parts.entry(u).or_insert_with(|| vec![None; items.len()]);
                        match slots.get_mut(*i as usize) {
                            Some(slot @ None) => *slot = Some(v),
                            _ => {
                                whole.insert(u);
                            }
                        }
                    }
                    _ => {
                        whole.insert(u);
                    }
                }
            }
        }
        for output in graph.outputs() {
            *uses.entry(output.vertex).or_default() += 1;
            whole.insert(output.vertex);
        }
        parts.retain(|v, slots| {
            let call = matches!(graph.vertex(*v).node, Node::Call { .. }) && graph.vertex(*v).name.is_none();
            call && !whole.contains(v) && slots.iter().flatten().count() > 1
        });
        Writer {
            graph,
            shared,
            order,
            lets: Vec::new(),
            uses,
            written: FxHashMap::default(),
            split: parts,
            named: FxHashSet::default(),
            taken: FxHashMap::default(),
            kept: FxHashSet::default(),
            symbols: FxHashMap::default(),
            unknowns: FxHashMap::default(),
            read: FxHashMap::default(),
            auto: 0,
        }
    }

    fn make(&mut self, kind: ExprKind) -> ExprId {
        self.shared.program.ast.make(kind)
    }

    /// The parameters that results depend on, and all inputs, as they follow each other.
    fn signature(&self) -> Vec<(VertexId, ParamClass)> {
        let reached: FxHashSet<VertexId> = self.order.iter().copied().collect();
        let mut inputs = self.graph.inputs().iter().copied().peekable();
        let mut params = self
            .graph
            .params()
            .iter()
            .copied()
            .filter(|v| reached.contains(v))
            .peekable();
        let mut out = Vec::new();
        loop {
            let input_first = match (inputs.peek(), params.peek()) {
                (None, None) => return out,
                (Some(i), Some(p)) => i < p,
                (i, _) => i.is_some(),
            };
            let (next, class) = if input_first {
                (inputs.next(), ParamClass::Input)
            } else {
                (params.next(), ParamClass::Param)
            };
            out.extend(next.map(|v| (v, class)));
        }
    }

    /// Chooses names for all symbols, and for unknown extents that occur in more than one place.
    fn collect_dims(&mut self) {
        let graph = self.graph;
        let mut symbols: Vec<Arc<str>> = Vec::new();
        let mut in_attrs: FxHashSet<Arc<str>> = FxHashSet::default();
        let mut declared: FxHashMap<u32, u32> = FxHashMap::default();
        let mut unknown_in_attrs: Vec<u32> = Vec::new();
        let signature = self.signature();
        let mut types: Vec<&Type> = signature.iter().map(|(v, _)| graph.ty(*v)).collect();
        let mut attrs: Vec<&Dim> = Vec::new();
        for &v in &self.order {
            if let Node::Call { op, attrs: values } = &graph.vertex(v).node {
                if let Op::Opaque(op) = op {
                    types.push(&op.result);
                }
                for value in values.iter() {
                    match value {
                        AttrValue::Int(d) => attrs.push(d),
                        AttrValue::Ints(list) => attrs.extend(list),
                        _ => {}
                    }
                }
            }
        }
        // The outermost function decides for all what symbols are called.
        let inherited = self.shared.symbols.clone();
        if inherited.is_none() {
            for region in self.shared.names.keys() {
                symbols_of(region, &mut symbols);
            }
        }
        for ty in types {
            ty.visit_dims(&mut |d| {
                let alone = d.is_unknown();
                d.visit_atoms(&mut |atom| match atom {
                    Atom::Symbol(s) => symbols.push(s.clone()),
                    Atom::Unknown(id) => *declared.entry(*id).or_default() += if alone { 1 } else { 2 },
                    _ => {}
                });
            });
        }
        for d in attrs {
            d.visit_atoms(&mut |atom| match atom {
                Atom::Symbol(s) => {
                    symbols.push(s.clone());
                    in_attrs.insert(s.clone());
                }
                Atom::Unknown(id) => match declared.get_mut(id) {
                    Some(count) => *count += 1,
                    None => unknown_in_attrs.push(*id),
                },
                _ => {}
            });
        }
        let inputs: FxHashSet<&str> = signature
            .iter()
            .filter_map(|(v, _)| graph.vertex(*v).name.as_deref())
            .collect();
        symbols.sort();
        symbols.dedup();
        for name in self.shared.names.values() {
            self.taken.insert(name.to_string(), 0);
        }
        let is_main = inherited.is_none();
        if let Some(names) = inherited {
            self.symbols = names;
            self.taken
                .extend(self.shared.symbol_names.iter().map(|name| (name.clone(), 0)));
            symbols.clear();
        }
        let several_functions = !self.shared.names.is_empty();
        let clashes =
            |s: &Arc<str>| !is_variable(s) || (inputs.contains(&**s) && (in_attrs.contains(s) || several_functions));
        for symbol in symbols.iter().filter(|s| !clashes(s)) {
            // An input may share the name of a symbol that no attribute mentions.
            if !inputs.contains(&**symbol) {
                self.taken.insert(symbol.to_string(), 0);
            }
        }
        // Inputs keep their names before anything gets a new one.
        for (v, _) in &signature {
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
        let mut several: Vec<u32> = declared
            .into_iter()
            .filter(|(_, count)| *count > 1)
            .map(|(id, _)| id)
            .collect();
        several.sort_unstable();
        for id in several {
            let name = self.fresh_name("d");
            self.shared.symbol_names.insert(name.to_string());
            self.unknowns.insert(id, name);
        }
        let wanted: FxHashSet<u32> = unknown_in_attrs.into_iter().collect();
        if wanted.is_empty() {
            return;
        }
        for &v in &self.order {
            let Some(shape) = graph.ty(v).as_tensor().and_then(|t| t.shape.as_ref()) else {
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

    /// A name like `wanted` that nothing has yet.
    fn fresh_name(&mut self, wanted: &str) -> Arc<str> {
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

    fn name_of(&mut self, v: VertexId) -> Arc<str> {
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

    fn params(&mut self) -> Vec<Param> {
        let mut out = Vec::new();
        for (v, class) in self.signature() {
            let vertex = self.graph.vertex(v);
            let given = vertex.name.clone().unwrap_or_default();
            let positional = given
                .strip_prefix('@')
                .and_then(|digits| digits.parse::<u32>().ok())
                .filter(|i| *given == format!("@{i}"));
            let name = match positional {
                Some(i) => {
                    self.written.insert(v, Written::Positional(i));
                    given
                }
                None => {
                    let name = match self.kept.remove(&given) {
                        true => given,
                        false => self.fresh_name(if given.is_empty() { "x" } else { &given }),
                    };
                    self.written.insert(v, Written::Name(name.clone()));
                    name
                }
            };
            out.push(Param {
                name: Ident::new(name),
                positional,
                class,
                ty: self.type_expr(&vertex.ty),
                span: Default::default(),
            });
        }
        out
    }

    fn type_expr(&mut self, ty: &Type) -> Option<TypeExpr> {
        let kind = match ty {
            Type::Absent => return None,
            Type::Sequence(item) => TypeKind::Sequence(Box::new(self.type_expr(item)?)),
            Type::Optional(item) => TypeKind::Optional(Box::new(self.type_expr(item)?)),
            Type::Tuple(items) => TypeKind::Tuple(items.iter().map(|t| self.type_expr(t)).collect::<Option<_>>()?),
            Type::Tensor(tensor) => TypeKind::Tensor {
                dtype: Some(DTypeName {
                    dtype: tensor.dtype,
                    span: Default::default(),
                }),
                dims: match &tensor.shape {
                    None => Dims::AnyRank,
                    Some(shape) if shape.is_empty() => Dims::Scalar,
                    Some(shape) => Dims::List(
                        shape
                            .iter()
                            .map(|d| match d.as_atom() {
                                Some(Atom::Unknown(id)) if !self.unknowns.contains_key(id) => {
                                    DimExpr::Unknown(Default::default())
                                }
                                _ => DimExpr::Expr(self.dim(d)),
                            })
                            .collect(),
                    ),
                },
            },
        };
        Some(TypeExpr {
            kind,
            span: Default::default(),
        })
    }

    fn int(&mut self, value: i64) -> ExprId {
        self.make(ExprKind::Int {
            value: value.into(),
            suffix: None,
        })
    }

    fn dim(&mut self, dim: &Dim) -> ExprId {
        if let Dim::Const(value) = dim {
            return self.int(*value);
        }
        // The constant sorts first and reads best last.
        let mut terms = dim.terms();
        terms.sort_by_key(|(product, _)| product.is_empty());
        let mut sum: Option<ExprId> = None;
        for (product, coefficient) in terms {
            let negative = coefficient < 0 && sum.is_some();
            let factor = if negative {
                coefficient.saturating_neg()
            } else {
                coefficient
            };
            let mut term = (factor != 1 || product.is_empty()).then(|| self.int(factor));
            for atom in product.iter() {
                let atom = self.atom(atom);
                term = Some(match term {
                    Some(lhs) => self.make(ExprKind::Binary {
                        op: BinaryOp::Mul,
                        lhs,
                        rhs: atom,
                    }),
                    None => atom,
                });
            }
            let Some(term) = term else { continue };
            let op = if negative { BinaryOp::Sub } else { BinaryOp::Add };
            sum = Some(match sum {
                Some(lhs) => self.make(ExprKind::Binary { op, lhs, rhs: term }),
                None => term,
            });
        }
        sum.unwrap_or_else(|| self.int(0))
    }

    fn atom(&mut self, atom: &Atom) -> ExprId {
        let (op, name, a, b) = match atom {
            Atom::Symbol(name) => {
                let name = self.symbols.get(name).unwrap_or(name).clone();
                return self.make(ExprKind::Name(name));
            }
            Atom::Unknown(id) => return self.unknown(*id),
            Atom::FloorDiv(a, b) => (Some(BinaryOp::Div), "", a, b),
            Atom::Mod(a, b) => (Some(BinaryOp::Rem), "", a, b),
            Atom::Min(a, b) => (None, "min", a, b),
            Atom::Max(a, b) => (None, "max", a, b),
        };
        let (lhs, rhs) = (self.dim(a), self.dim(b));
        self.make(match op {
            Some(op) => ExprKind::Binary { op, lhs, rhs },
            None => call(name, false, vec![lhs, rhs], None),
        })
    }

    /// An unknown extent: by its name, or as the extent of something that has a name.
    fn unknown(&mut self, id: u32) -> ExprId {
        if let Some(name) = self.unknowns.get(&id) {
            return self.shared.program.ast.make(ExprKind::Name(name.clone()));
        }
        let Some((v, axis)) = self.read.get(&id).copied() else {
            return self.make(ExprKind::Wildcard);
        };
        let base = self.operand(v);
        let shape = self.make(ExprKind::Field {
            base,
            name: Ident::new("shape"),
        });
        let index = self.int(axis as i64);
        self.make(ExprKind::Index { base: shape, index })
    }

    /// The expression that uses `v`.
    fn operand(&mut self, v: VertexId) -> ExprId {
        let kind = match self.written.get(&v) {
            Some(Written::Name(name)) => ExprKind::Name(name.clone()),
            Some(Written::Positional(i)) => ExprKind::Positional(*i),
            Some(Written::Inline { expr, .. }) => return *expr,
            None => ExprKind::Name("none".into()),
        };
        self.make(kind)
    }

    /// Writes `v`, whose predecessors are written.
    fn vertex(&mut self, v: VertexId) {
        if self.written.contains_key(&v) {
            return;
        }
        let graph = self.graph;
        let vertex = graph.vertex(v);
        let operands = graph.pred(v);
        let (mut depth, mut parts) = (0, 1);
        for u in &operands {
            if let Some(Written::Inline { depth: d, parts: p, .. }) = self.written.get(u) {
                depth = depth.max(*d + 1);
                parts += p;
            }
        }
        let mut name = vertex.name.is_some()
            || self.uses.get(&v).is_some_and(|n| *n > 1)
            || self.named.contains(&v)
            || depth > MAX_DEPTH
            || parts > MAX_PARTS;
        let mut ty = None;
        let value = match &vertex.node {
            Node::Input | Node::Param | Node::Absent => return,
            Node::Const(value) => {
                name |= value.is_empty() || value.len() > MAX_INLINE_ELEMENTS;
                self.constant(value, name, &mut ty)
            }
            Node::Call { op, attrs } => {
                if let Op::Opaque(op) = op {
                    name = true;
                    ty = self.type_expr(&op.result);
                }
                self.call(op, attrs, &operands)
            }
            Node::Tuple => {
                let items = operands.iter().map(|u| self.operand(*u)).collect();
                self.make(ExprKind::Tuple(items))
            }
            Node::Proj(index) => {
                let base = match operands.first() {
                    Some(u) => self.operand(*u),
                    None => self.int(0),
                };
                self.make(ExprKind::Project { base, index: *index })
            }
        };
        if let Some(slots) = self.split.remove(&v) {
            let names = slots
                .into_iter()
                .map(|slot| {
                    let name = match slot {
                        Some(part) => self.name_of(part),
                        None => self.fresh_name("unused"),
                    };
                    if let Some(part) = slot {
                        self.written.insert(part, Written::Name(name.clone()));
                    }
                    Ident::new(name)
                })
                .collect();
            self.define(LetNames::Tuple(names), ty, value);
        } else if name {
            let name = self.name_of(v);
            self.define(LetNames::One(Ident::new(name.clone())), ty, value);
            self.written.insert(v, Written::Name(name));
        } else {
            let written = Written::Inline {
                expr: value,
                depth,
                parts,
            };
            self.written.insert(v, written);
        }
    }

    fn define(&mut self, names: LetNames, ty: Option<TypeExpr>, value: ExprId) {
        self.lets.push(Let {
            names,
            ty,
            value,
            span: Default::default(),
        });
    }

    /// A constant; if it gets a name and is no number, it needs a type to be one vertex.
    fn constant(&mut self, value: &Tensor, named: bool, ty: &mut Option<TypeExpr>) -> ExprId {
        let scalar = value.shape().is_empty() && value.dtype().is_number();
        let typed = named && !scalar;
        if typed {
            *ty = self.type_expr(&value.ty().into());
        }
        let elements = self.elements(value, !typed);
        self.nest(value.shape(), elements)
    }

    fn elements(&mut self, value: &Tensor, suffixed: bool) -> Vec<ExprId> {
        let dtype = value.dtype();
        let first = |i: usize| (suffixed && i == 0).then_some(dtype);
        let kinds: Vec<ExprKind> = match value {
            Tensor::Bool(a) => a.iter().map(|b| ExprKind::Bool(*b)).collect(),
            Tensor::Utf8(a) => a.iter().map(|s| ExprKind::Str(s.as_str().into())).collect(),
            _ if dtype.is_float() => {
                let values = value.to_f64s().unwrap_or_default();
                let number = |(i, v): (usize, f64)| ExprKind::Float {
                    value: if first(i).is_some() { v } else { short(v, dtype) },
                    suffix: first(i),
                };
                values.into_iter().enumerate().map(number).collect()
            }
            _ => {
                let values = value.to_ints().unwrap_or_default();
                let number = |(i, value): (usize, i128)| ExprKind::Int {
                    value,
                    // Without a suffix, integers have 64 bits and a sign.
                    suffix: first(i).or(i64::try_from(value).is_err().then_some(dtype)),
                };
                values.into_iter().enumerate().map(number).collect()
            }
        };
        kinds.into_iter().map(|kind| self.make(kind)).collect()
    }

    fn nest(&mut self, shape: &[usize], mut items: Vec<ExprId>) -> ExprId {
        if items.is_empty() {
            return self.make(ExprKind::List(Vec::new()));
        }
        for extent in shape.iter().rev() {
            items = items
                .chunks((*extent).max(1))
                .map(|row| self.shared.program.ast.make(ExprKind::List(row.to_vec())))
                .collect();
        }
        match items.first() {
            Some(first) => *first,
            None => self.make(ExprKind::List(Vec::new())),
        }
    }

    fn call(&mut self, op: &Op, attrs: &[AttrValue], operands: &Operands) -> ExprId {
        let graph = self.graph;
        let args: Vec<ExprId> = operands.iter().map(|u| self.operand(*u)).collect();
        match op {
            Op::Opaque(opaque) => {
                let entries = opaque
                    .attr_names
                    .iter()
                    .zip(attrs)
                    .map(|(name, value)| self.attribute(name, value, true));
                let entries = entries.collect();
                self.make(call(&op.name(), true, args, Some(entries)))
            }
            Op::Known(def) => {
                let facts: Vec<Fact<'_>> = operands.iter().map(|&u| graph.fact(u)).collect();
                let given: Vec<usize> = needed(def, &facts, attrs);
                if given.is_empty()
                    && let Some(kind) = self.sugar(def, &args, operands)
                {
                    return self.make(kind);
                }
                let entries = given
                    .into_iter()
                    .map(|i| self.attribute(def.attrs[i].name, &attrs[i], false))
                    .collect();
                self.make(call(def.name, false, args, Some(entries)))
            }
        }
    }

    /// The sign of an operator that has one.
    fn sugar(&self, def: &OpDef, args: &[ExprId], operands: &Operands) -> Option<ExprKind> {
        if let [operand] = *args {
            let op = match def.name {
                "neg" => UnaryOp::Neg,
                "bitwise_not" => UnaryOp::BitNot,
                "not" => {
                    // `a != b` stands for the two calls.
                    if let Some(Written::Inline { .. }) = self.written.get(&operands[0])
                        && let ExprKind::Binary {
                            op: BinaryOp::Eq,
                            lhs,
                            rhs,
                        } = *self.shared.program.ast.kind(operand)
                    {
                        let op = BinaryOp::Ne;
                        return Some(ExprKind::Binary { op, lhs, rhs });
                    }
                    UnaryOp::Not
                }
                _ => return None,
            };
            return Some(ExprKind::Unary { op, operand });
        }
        let [lhs, rhs] = *args else { return None };
        let literal = |id: ExprId| {
            matches!(
                self.shared.program.ast.kind(id),
                ExprKind::Int { .. } | ExprKind::Bool(_) | ExprKind::List(_)
            )
        };
        let op = match def.name {
            "add" => BinaryOp::Add,
            "sub" => BinaryOp::Sub,
            "mul" => BinaryOp::Mul,
            "div" => BinaryOp::Div,
            "mod" => BinaryOp::Rem,
            "pow" => BinaryOp::Pow,
            "equal" => BinaryOp::Eq,
            "less" => BinaryOp::Lt,
            "less_or_equal" => BinaryOp::Le,
            "greater" => BinaryOp::Gt,
            "greater_or_equal" => BinaryOp::Ge,
            "and" => BinaryOp::And,
            "or" => BinaryOp::Or,
            "xor" => BinaryOp::BitXor,
            // Whether bits are meant shows from the types of values.
            "bitwise_and" if !literal(lhs) || !literal(rhs) => BinaryOp::BitAnd,
            "bitwise_or" if !literal(lhs) || !literal(rhs) => BinaryOp::BitOr,
            "bitwise_xor" if !literal(lhs) || !literal(rhs) => BinaryOp::BitXor,
            _ => return None,
        };
        Some(ExprKind::Binary { op, lhs, rhs })
    }

    fn attribute(&mut self, name: &str, value: &AttrValue, opaque: bool) -> Attr {
        let value = match value {
            AttrValue::None => self.make(ExprKind::Name("none".into())),
            AttrValue::Bool(v) => self.make(ExprKind::Bool(*v)),
            AttrValue::Int(d) => self.dim(d),
            AttrValue::Ints(list) => {
                let items = list.iter().map(|d| self.dim(d)).collect();
                self.make(ExprKind::List(items))
            }
            AttrValue::Float(v) => self.real(v.0),
            AttrValue::Floats(list) => {
                let items = list.iter().map(|v| self.real(v.0)).collect();
                self.make(ExprKind::List(items))
            }
            AttrValue::Str(s) => self.make(ExprKind::Str(s.clone())),
            AttrValue::Strs(list) => {
                let items = list.iter().map(|s| self.make(ExprKind::Str(s.clone()))).collect();
                self.make(ExprKind::List(items))
            }
            AttrValue::DType(d) => self.make(ExprKind::Name(d.name().into())),
            AttrValue::Region(region) => {
                let name = self.function(region);
                self.make(ExprKind::Name(name))
            }
            AttrValue::Foreign { kind, bytes } => self.make(ExprKind::Str(foreign_text(kind, bytes).into())),
            AttrValue::Tensor(t)
                if t.shape().is_empty() && (t.dtype().is_number() || !opaque && t.dtype() == DType::Bool) =>
            {
                self.constant(t, false, &mut None)
            }
            AttrValue::Tensor(t) => {
                // A list alone would be a list of numbers; the value of a constant keeps its type.
                let mut ty = None;
                let value = self.constant(t, true, &mut ty);
                let constant = self.fresh_name(name);
                self.define(LetNames::One(Ident::new(constant.clone())), ty, value);
                self.make(ExprKind::Name(constant))
            }
        };
        Attr {
            name: Ident::new(name),
            value,
        }
    }

    /// The name of a function that an operator calls; it is written where that was not done yet.
    fn function(&mut self, region: &Arc<Region>) -> Arc<str> {
        let name = self.shared.names.get(region).cloned().unwrap_or_else(|| "body".into());
        if self.shared.written.insert(name.clone()) {
            let function = write_function(&region_graph(region), &name, self.shared);
            self.shared.program.functions.push(function);
        }
        name
    }

    fn real(&mut self, value: f64) -> ExprId {
        self.make(ExprKind::Float { value, suffix: None })
    }
}

/// The symbols in types and attributes of a function; those of functions that it calls are asked for by themselves.
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
        let RegionStep::Call { attrs, .. } = &item.step else {
            continue;
        };
        for value in attrs {
            match value {
                AttrValue::Int(d) => note(d),
                AttrValue::Ints(list) => list.iter().for_each(&mut note),
                _ => {}
            }
        }
    }
}

fn call(callee: &str, quoted: bool, args: Vec<ExprId>, entries: Option<Vec<Attr>>) -> ExprKind {
    let attrs = entries.filter(|e| !e.is_empty()).map(|entries| {
        Box::new(Attrs {
            entries,
            ..Attrs::default()
        })
    });
    ExprKind::Call {
        callee: Ident::new(callee),
        quoted,
        args,
        attrs,
    }
}

/// Names that no variable may have: element types and `none` mean something in attributes.
fn is_variable(name: &str) -> bool {
    is_name(name) && name != "none" && name != "_" && name.parse::<DType>().is_err()
}

/// The attributes that must be written for the call to have these attributes again.
fn needed(def: &'static OpDef, facts: &[Fact<'_>], attrs: &[AttrValue]) -> Vec<usize> {
    let same = |given: &[usize]| {
        let named: Vec<(&str, AttrValue)> = given.iter().map(|&i| (def.attrs[i].name, attrs[i].clone())).collect();
        // The types are thrown away, and their unknown extents with them.
        let fresh = Cell::new(u32::MAX / 2);
        normalize(def, facts, &named, &fresh).is_ok_and(|n| n.attrs == attrs)
    };
    let mut given: Vec<usize> = (0..attrs.len().min(def.attrs.len()))
        .filter(|&i| !attrs[i].is_none())
        .collect();
    if given.is_empty() || same(&[]) {
        return Vec::new();
    }
    for i in (0..given.len()).rev() {
        let mut fewer = given.clone();
        fewer.remove(i);
        if same(&fewer) {
            given = fewer;
        }
    }
    given
}

/// The number with the fewest digits that is rounded to `value`.
fn short(value: f64, dtype: DType) -> f64 {
    if dtype != DType::F32 {
        return value;
    }
    let narrow = value as f32;
    let digits: f64 = format!("{narrow:?}").parse().unwrap_or(value);
    if (digits as f32).to_bits() == narrow.to_bits() {
        digits
    } else {
        value
    }
}
