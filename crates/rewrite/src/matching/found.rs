//! The meaning of a binding: the names of the rule with their values.

use std::sync::Arc;

use rustc_hash::FxHashMap;

use super::Host;
use super::binding::{Binding, SlotValue};
use super::program::{Program, Slot};
use super::trace::Reason;
use tautomer_graph::ValueId;
use tautomer_graph::term::{self, Scope, Term};
use tautomer_lang::ast::{DimExpr, Dims, ExprId, ExprKind, TypeKind};
use tautomer_op::{AttrValue, OpDef};
use tautomer_rule::{Count, ListItem, PatternId, PatternNode};
use tautomer_tensor::{Dim, Tensor, Type};

/// A match with the meaning of all names.
#[derive(Debug, Clone)]
pub(crate) struct Match {
    /// The values of the outputs.
    pub(crate) outputs: Vec<ValueId>,
    /// The names of values, lists of values, attributes, dimensions and counts.
    pub(crate) names: FxHashMap<Arc<str>, Term>,
    /// Rests of attributes.
    pub(crate) rests: FxHashMap<Arc<str>, Vec<(Arc<str>, AttrValue)>>,
    /// Operator variables.
    pub(crate) ops: FxHashMap<Arc<str>, &'static OpDef>,
}

/// The names of a match, for expressions.
pub(crate) struct MatchScope<'a, H: Host> {
    pub(crate) host: &'a H,
    pub(crate) names: &'a FxHashMap<Arc<str>, Term>,
}

impl<H: Host> Scope for MatchScope<'_, H> {
    fn name(&self, name: &str) -> Option<Term> {
        self.names.get(name).cloned()
    }

    fn indexed(&self, name: &str, index: i64) -> Option<Term> {
        match self.names.get(name)? {
            Term::List(items) => items.get(usize::try_from(index).ok()?).cloned(),
            _ => None,
        }
    }

    fn ty(&self, v: ValueId) -> Type {
        self.host.ty(H::of_id(v)).clone()
    }

    fn constant(&self, v: ValueId) -> Option<Tensor> {
        self.host.constant(H::of_id(v)).cloned()
    }

    fn is_static(&self, v: ValueId) -> bool {
        self.host.is_static(H::of_id(v))
    }
}

/// The meaning of a binding.
///
/// # Errors
/// The first mismatch: a type, a list, or a computed attribute.
pub(crate) fn resolve<H: Host>(host: &H, program: &Program, binding: &Binding<H::V>) -> Result<Match, Reason<H::V>> {
    let mut found = names(host, program, binding)?;
    found.bind_rests(host, program, binding);
    Ok(found)
}

/// The meaning of a binding, if all conditions hold. Most bindings fail here, so the rests are not copied for the
/// conditions, which cannot name them.
pub(crate) fn satisfied<H: Host>(host: &H, program: &Program, binding: &Binding<H::V>) -> Option<Match> {
    let mut found = names(host, program, binding).ok()?;
    if found.failing(host, program).is_some() {
        return None;
    }
    found.bind_rests(host, program, binding);
    Some(found)
}

/// The meaning of all names but the rests.
fn names<H: Host>(host: &H, program: &Program, binding: &Binding<H::V>) -> Result<Match, Reason<H::V>> {
    let mut found = outer(host, program, binding)?;
    let members = binding.counts_of(program);
    for (i, _) in members.iter().enumerate() {
        found.push_member(host, program, binding, i as u32)?;
    }
    for (slot, value) in program.slots.iter().zip(&binding.attrs) {
        let (Slot::Computed(id, attr), Some(SlotValue::Attr(actual))) = (slot, value) else {
            continue;
        };
        let scope = MatchScope {
            host,
            names: &found.names,
        };
        let wanted = term::eval(&program.rule.ast, *id, &scope)
            .ok()
            .and_then(|t| attr.coerce(term::to_attr(&t)?));
        if !wanted.is_some_and(|wanted| wanted.equals(host.attr_value(*actual))) {
            return Err(Reason::Attribute(attr.name, *actual));
        }
    }
    Ok(found)
}

/// The meaning of the bindings outside comprehensions, except the rests.
pub(super) fn outer<H: Host>(host: &H, program: &Program, binding: &Binding<H::V>) -> Result<Match, Reason<H::V>> {
    let rule = &program.rule;
    let mut found = Match {
        outputs: binding.outputs.iter().map(|v| H::id_of(*v)).collect(),
        names: FxHashMap::default(),
        rests: FxHashMap::default(),
        ops: FxHashMap::default(),
    };
    for (variable, def) in rule.operators.iter().zip(&binding.ops) {
        if let Some(def) = def.and_then(tautomer_op::lookup) {
            found.ops.insert(variable.name.clone(), def);
        }
    }
    for (at, node) in rule.source.nodes() {
        let (PatternNode::Variable(i), Some(value)) = (node, binding.one[at.0 as usize]) else {
            continue;
        };
        found.bind_variable(host, program, *i, value)?;
        found
            .names
            .insert(rule.variables[*i].name.clone(), Term::Value(H::id_of(value)));
    }
    for (name, id) in &rule.source.named {
        if let Some(value) = binding.one[id.0 as usize] {
            found.names.insert(name.clone(), Term::Value(H::id_of(value)));
        }
    }
    for (i, name) in program.counts.iter().enumerate() {
        if let Some(n) = binding.counts[i] {
            found
                .bind(name, Term::Int(i64::from(n).into()))
                .ok_or(Reason::Count(n))?;
        }
    }
    for (slot, value) in program.slots.iter().zip(&binding.attrs) {
        let Some(value) = value else { continue };
        let term = slot_term(host, *value);
        match (slot, value) {
            (Slot::Name(name), SlotValue::Attr(a)) => {
                found.bind(name, term).ok_or(Reason::Attribute("", *a))?;
            }
            (Slot::Name(name), SlotValue::Place(i)) => {
                found.bind(name, term).ok_or(Reason::Element(*i))?;
            }
            (Slot::List(items), SlotValue::Attr(a)) => {
                if let AttrValue::Ints(list) = host.attr_value(*a) {
                    for (item, d) in items.iter().zip(list) {
                        if let ListItem::Bind(name) = item {
                            found
                                .bind(name, Term::Int(d.clone()))
                                .ok_or(Reason::Attribute("", *a))?;
                        }
                    }
                }
            }
            _ => {}
        }
    }
    Ok(found)
}

/// True if both are known to be the same value.
fn same_meaning(a: &Term, b: &Term) -> bool {
    match (a, b) {
        (Term::Int(a), Term::Int(b)) => a.equals(b) == Some(true),
        (Term::List(a), Term::List(b)) => a.len() == b.len() && a.iter().zip(b).all(|(a, b)| same_meaning(a, b)),
        _ => a == b,
    }
}

fn slot_term<H: Host>(host: &H, value: SlotValue) -> Term {
    match value {
        SlotValue::Attr(a) => term::from_attr(host.attr_value(a)),
        SlotValue::Place(i) => Term::Int(i64::from(i).into()),
    }
}

impl<V: Copy> Binding<V> {
    /// One entry for each index of the longest comprehension.
    fn counts_of(&self, program: &Program) -> Vec<()> {
        let bound = self.counts.iter().flatten().copied();
        let fixed = program.rule.source.families.iter().filter_map(|f| match f.count {
            Count::Exactly(n) => Some(n),
            Count::Bind(_) => None,
        });
        vec![(); bound.chain(fixed).max().unwrap_or(0) as usize]
    }

    pub(super) fn row(&self, at: PatternId, index: u32) -> Option<V> {
        let found = self.rows.binary_search_by_key(&(at.0, index), |(k, _)| *k).ok()?;
        Some(self.rows[found].1)
    }
}

impl Match {
    /// Binds a name; `None` if it is already bound to something else.
    fn bind(&mut self, name: &Arc<str>, term: Term) -> Option<()> {
        match self.names.get(name) {
            Some(before) => same_meaning(before, &term).then_some(()),
            None => {
                self.names.insert(name.clone(), term);
                Some(())
            }
        }
    }

    /// Binds the rests of attributes, also those without any.
    fn bind_rests<H: Host>(&mut self, host: &H, program: &Program, binding: &Binding<H::V>) {
        let rule = &program.rule;
        for rest in &rule.rests {
            self.rests.entry(rest.clone()).or_default();
        }
        for (slot, value) in program.slots.iter().zip(&binding.attrs) {
            let Some(SlotValue::Attr(number)) = value else { continue };
            let (rest, attr) = match slot {
                Slot::Rest(rest, attr) => (rest, Some(*attr)),
                Slot::RestOf(rest, variable, place) => {
                    let def = self.ops.get(&rule.operators[*variable].name);
                    (rest, def.and_then(|def| def.attrs.get(*place)).map(|attr| attr.name))
                }
                _ => continue,
            };
            if let Some(attr) = attr {
                let value = host.attr_value(*number).clone();
                self.rests.entry(rest.clone()).or_default().push((attr.into(), value));
            }
        }
    }

    /// Checks the type of a variable and binds the names among its dimensions.
    fn bind_variable<H: Host>(
        &mut self,
        host: &H,
        program: &Program,
        i: usize,
        value: H::V,
    ) -> Result<(), Reason<H::V>> {
        let variable = &program.rule.variables[i];
        match &variable.ty {
            None => Ok(()),
            Some(ty) if self.bind_type(program, &ty.kind, host.ty(value)) => Ok(()),
            Some(_) => Err(Reason::Type(value)),
        }
    }

    fn bind_type(&mut self, program: &Program, wanted: &TypeKind, actual: &Type) -> bool {
        let (TypeKind::Tensor { dtype, dims }, Type::Tensor(actual)) = (wanted, actual) else {
            return false;
        };
        if dtype.is_some_and(|d| d.dtype != actual.dtype) {
            return false;
        }
        let dims = match dims {
            Dims::AnyRank => return true,
            Dims::Scalar => return actual.rank() == Some(0),
            Dims::List(dims) => dims,
        };
        let Some(shape) = actual.shape.as_ref().filter(|s| s.len() == dims.len()) else {
            return false;
        };
        let ast = &program.rule.ast;
        dims.iter().zip(shape.iter()).all(|(dim, extent): (_, &Dim)| match dim {
            DimExpr::Unknown(_) => true,
            DimExpr::Expr(id) => match ast.kind(*id) {
                ExprKind::Name(name) => self.bind(name, Term::Int(extent.clone())).is_some(),
                ExprKind::Int { value, .. } => {
                    i64::try_from(*value).is_ok_and(|v| extent.equals(&Dim::Const(v)) == Some(true))
                }
                _ => false,
            },
        })
    }

    /// Appends the bindings for one index to the lists of the indexed names.
    pub(super) fn push_member<H: Host>(
        &mut self,
        host: &H,
        program: &Program,
        binding: &Binding<H::V>,
        index: u32,
    ) -> Result<(), Reason<H::V>> {
        let rule = &program.rule;
        for (at, node) in rule.source.nodes() {
            let (PatternNode::Variable(i), Some(value)) = (node, binding.row(at, index)) else {
                continue;
            };
            self.bind_variable(host, program, *i, value)?;
            self.append(&rule.variables[*i].name, Term::Value(H::id_of(value)));
        }
        for (slot, meaning) in program.slots.iter().enumerate() {
            let Slot::NameEach(name) = meaning else { continue };
            let key = (slot as u32, index);
            if let Ok(found) = binding.attr_rows.binary_search_by_key(&key, |(k, _)| *k) {
                self.append(name, slot_term(host, binding.attr_rows[found].1));
            }
        }
        Ok(())
    }

    fn append(&mut self, name: &Arc<str>, term: Term) {
        match self.names.get_mut(name) {
            Some(Term::List(items)) => items.push(term),
            _ => {
                self.names.insert(name.clone(), Term::List(vec![term]));
            }
        }
    }

    /// Reverts [`push_member`](Self::push_member): truncates the lists of indexed names to `n`.
    pub(super) fn cut(&mut self, program: &Program, n: usize) {
        let variables = program.rule.variables.iter().filter(|v| v.indexed).map(|v| &v.name);
        let attrs = program.slots.iter().filter_map(|s| match s {
            Slot::NameEach(name) => Some(name),
            _ => None,
        });
        for name in variables.chain(attrs) {
            if let Some(Term::List(items)) = self.names.get_mut(name) {
                items.truncate(n);
            }
        }
    }

    /// Whether each condition holds; an undecidable condition counts as false.
    pub(crate) fn holding<H: Host>(&self, host: &H, program: &Program) -> Vec<bool> {
        let rule = &program.rule;
        let scope = MatchScope {
            host,
            names: &self.names,
        };
        let holds = |&c: &_| term::condition(&rule.ast, c, &scope).unwrap_or(false);
        rule.conditions.iter().map(holds).collect()
    }

    /// The first condition that does not hold; an undecidable condition counts as false.
    pub(crate) fn failing<H: Host>(&self, host: &H, program: &Program) -> Option<usize> {
        let rule = &program.rule;
        let scope = MatchScope {
            host,
            names: &self.names,
        };
        rule.conditions
            .iter()
            .position(|&c| !term::condition(&rule.ast, c, &scope).unwrap_or(false))
    }

    /// The number that an expression of the rule stands for; 1 for true, 0 for false.
    pub(crate) fn number<H: Host>(&self, host: &H, program: &Program, expr: ExprId) -> Option<f64> {
        let scope = MatchScope {
            host,
            names: &self.names,
        };
        match term::eval(&program.rule.ast, expr, &scope).ok()? {
            Term::Bool(holds) => Some(f64::from(u8::from(holds))),
            Term::Int(dim) => dim.as_const().map(|n| n as f64),
            Term::Float(x) => Some(x),
            _ => None,
        }
    }
}
