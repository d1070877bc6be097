//! What the conditions of a rule say about the dimensions of its variables, assumed before a form is compared.
//!
//! The conditions hold in every match, so a proof may start from them: an operator that would ask whether two dimensions
//! are equal finds the answer, and the form is divided into fewer cases. What is read here are equations and
//! inequalities between dimensions, and equal shapes, with `and`, `or` and `in`; a condition that is not read is assumed
//! nowhere, and the matcher decides it in each case as before.
//!
//! The variables are those of the match that the instance of the form had. Where operands of a commutative operator can
//! be exchanged, the same graph may have another match, whose conditions are others: it is the first match of the graph
//! with the operands exchanged, whose values are the same, and a form of its own.

use std::sync::Arc;

use super::case::is_position;
use super::facts::Facts;
use super::form::Form;
use super::scope::{Prepared, Scope, Source};
use crate::instance::recipe::{Recipe, Step};

use tautomer_lang::ast::{BinaryOp, DimExpr, Dims, ExprId, ExprKind, TypeKind};
use tautomer_op::{AttrKind, AttrValue, ShapeRule};
use tautomer_rule::{PatternNode, Rule};
use tautomer_tensor::Dim;

/// Limit on the cases that conditions divide a form into.
const CASES: usize = 16;

/// The steps and attributes that the names of a rule stand for in an instance.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub(super) struct Named {
    variables: Vec<(Arc<str>, usize)>,
    /// Names of axes: the steps and the attributes.
    axes: Vec<(Arc<str>, usize, usize)>,
    /// Names of the shapes that operands get: the steps and the attributes.
    shapes: Vec<(Arc<str>, usize, usize)>,
}

impl Named {
    pub(super) fn of(scope: &Scope<'_>, prepared: &Prepared) -> Named {
        // Nothing is known about an instance that is no match.
        if prepared.unmatched {
            return Named::default();
        }
        let rule = scope.rule();
        let variable = |&(at, step): &(_, usize)| match rule.source.node(at) {
            PatternNode::Variable(i) if !rule.variables[*i].indexed => Some((rule.variables[*i].name.clone(), step)),
            _ => None,
        };
        let axis = |open: &super::scope::Open| match (&open.source, open.def.attrs[open.attr].kind) {
            (Source::Name(name), AttrKind::Axis(_) | AttrKind::Axes(_)) => Some((name.clone(), open.step, open.attr)),
            _ => None,
        };
        // What an operand is expanded to is another shape than the written one.
        let shape = |open: &super::scope::Open| match &open.source {
            Source::Name(name)
                if open.def.shapes == ShapeRule::Reshape && open.def.attrs[open.attr].name == "shape" =>
            {
                Some((name.clone(), open.step, open.attr))
            }
            _ => None,
        };
        Named {
            shapes: prepared.open.iter().filter_map(shape).collect(),
            variables: prepared.bound.iter().filter_map(variable).collect(),
            axes: prepared.open.iter().filter_map(axis).collect(),
        }
    }
}

/// The cases of `facts` in which the conditions of a rule may hold. A case that is left out has no match.
pub(super) fn cases(rule: &Rule, named: &Named, form: &Form, mut facts: Facts) -> Vec<Facts> {
    let mut reader = Reader {
        rule,
        named,
        form,
        sizes: Vec::new(),
    };
    if !reader.types(&mut facts) {
        return Vec::new();
    }
    let mut out = vec![facts];
    for &condition in &rule.conditions {
        let mut next = Vec::new();
        for facts in out {
            match reader.condition(condition, &facts) {
                Some(cases) => next.extend(cases),
                None => next.push(facts),
            }
        }
        out = next;
    }
    out
}

struct Reader<'a> {
    rule: &'a Rule,
    named: &'a Named,
    form: &'a Form,
    /// The dimensions that types of variables name.
    sizes: Vec<(Arc<str>, Dim)>,
}

impl Reader<'_> {
    fn recipe(&self) -> &Recipe {
        self.form.key()
    }

    /// Assumes what the types of variables say about dimensions; false if they say something else.
    fn types(&mut self, facts: &mut Facts) -> bool {
        let rule = self.rule;
        for variable in &rule.variables {
            let Some(TypeKind::Tensor {
                dims: Dims::List(list), ..
            }) = variable.ty.as_ref().map(|ty| &ty.kind)
            else {
                continue;
            };
            let Some(own) = self.named_dimensions(&variable.name) else {
                continue;
            };
            if own.len() != list.len() {
                return false;
            }
            for (written, dimension) in list.iter().zip(own) {
                let DimExpr::Expr(id) = written else { continue };
                let wanted = match rule.ast.kind(*id) {
                    ExprKind::Int { value, .. } => i64::try_from(*value).ok().map(Dim::Const),
                    ExprKind::Name(name) => {
                        let known = self.sizes.iter().find(|(own, _)| own == name);
                        let known = known.map(|(_, known)| known.clone());
                        if known.is_none() {
                            self.sizes.push((name.clone(), dimension.clone()));
                        }
                        known
                    }
                    _ => None,
                };
                if let Some(wanted) = wanted
                    && !assume_equal(facts, &dimension, &wanted)
                {
                    return false;
                }
            }
        }
        true
    }

    /// The cases in which a condition holds; `None` if it is not read.
    fn condition(&self, id: ExprId, facts: &Facts) -> Option<Vec<Facts>> {
        let ExprKind::Binary { op, lhs, rhs } = *self.rule.ast.kind(id) else {
            return None;
        };
        match op {
            // Of two conditions, one that is not read may be left out.
            BinaryOp::And => match (self.condition(lhs, facts), self.condition(rhs, facts)) {
                (Some(first), _) => {
                    let both = first.iter().map(|facts| {
                        let more = self.condition(rhs, facts);
                        more.unwrap_or_else(|| vec![facts.clone()])
                    });
                    Some(both.flatten().collect())
                }
                (None, second) => second,
            },
            BinaryOp::Or => {
                let mut out = self.condition(lhs, facts)?;
                out.extend(self.condition(rhs, facts)?);
                (out.len() <= CASES).then_some(out)
            }
            BinaryOp::In => {
                let ExprKind::List(items) = self.rule.ast.kind(rhs) else {
                    return None;
                };
                let mut out = Vec::new();
                for &item in items {
                    out.extend(self.equal(lhs, item, facts)?);
                }
                (out.len() <= CASES).then_some(out)
            }
            BinaryOp::Eq => self.equal(lhs, rhs, facts),
            BinaryOp::Lt | BinaryOp::Le | BinaryOp::Gt | BinaryOp::Ge => {
                let (a, b) = (self.number(lhs)?, self.number(rhs)?);
                let (less, more) = if matches!(op, BinaryOp::Lt | BinaryOp::Le) {
                    (a, b)
                } else {
                    (b, a)
                };
                let apart = Dim::Const(i64::from(matches!(op, BinaryOp::Lt | BinaryOp::Gt)));
                let mut facts = facts.clone();
                let distance = facts.resolve(&(more - less - apart));
                match distance.as_const() {
                    Some(n) if n < 0 => return Some(Vec::new()),
                    Some(_) => {}
                    None => facts.add(distance),
                }
                Some(kept(facts))
            }
            _ => None,
        }
    }

    fn equal(&self, lhs: ExprId, rhs: ExprId, facts: &Facts) -> Option<Vec<Facts>> {
        let pairs: Vec<(Dim, Dim)> = match (self.list(lhs), self.list(rhs)) {
            (Some(a), Some(b)) if a.len() != b.len() => return Some(Vec::new()),
            (Some(a), Some(b)) => a.into_iter().zip(b).collect(),
            (None, None) => vec![(self.number(lhs)?, self.number(rhs)?)],
            _ => return None,
        };
        let pairs = match self.single(lhs, rhs).or_else(|| self.single(rhs, lhs)) {
            Some(all) => all.into_iter().map(|d| (d, Dim::Const(1))).collect(),
            None => pairs,
        };
        let mut facts = facts.clone();
        let possible = pairs.iter().all(|(a, b)| assume_equal(&mut facts, a, b));
        Some(if possible { kept(facts) } else { Vec::new() })
    }

    /// The dimensions in `x.size == 1`, each of which is 1.
    fn single(&self, lhs: ExprId, rhs: ExprId) -> Option<Vec<Dim>> {
        match (self.rule.ast.kind(lhs), self.rule.ast.kind(rhs)) {
            (ExprKind::Field { base, name }, ExprKind::Int { value: 1, .. }) if name.as_str() == "size" => {
                self.dimensions(*base)
            }
            _ => None,
        }
    }

    /// The dimensions of a leaf that a variable matches.
    fn dimensions(&self, id: ExprId) -> Option<Vec<Dim>> {
        match self.rule.ast.kind(id) {
            ExprKind::Name(name) => self.named_dimensions(name),
            _ => None,
        }
    }

    fn named_dimensions(&self, name: &str) -> Option<Vec<Dim>> {
        let mut own = self.named.variables.iter().filter(|(other, _)| **other == *name);
        let (_, step) = own.next()?;
        // A variable that is matched twice matches one value.
        if own.any(|(_, other)| other != step) {
            return None;
        }
        let own = self.form.dimensions(*step);
        match self.recipe().steps[*step] {
            Step::Leaf { .. } => Some(own.to_vec()),
            Step::Fill { .. } if !own.is_empty() => Some(own.to_vec()),
            _ => None,
        }
    }

    fn list(&self, id: ExprId) -> Option<Vec<Dim>> {
        let ast = &self.rule.ast;
        match ast.kind(id) {
            ExprKind::Field { base, name } if name.as_str() == "shape" => self.dimensions(*base),
            ExprKind::List(items) => items.iter().map(|&item| self.number(item)).collect(),
            ExprKind::Binary {
                op: BinaryOp::Concat,
                lhs,
                rhs,
            } => {
                let mut out = self.list(*lhs)?;
                out.extend(self.list(*rhs)?);
                Some(out)
            }
            ExprKind::Slice { base, start, end } => {
                let all = self.list(*base)?;
                let place = |id: &Option<ExprId>, preset: usize| match id {
                    None => Some(preset),
                    Some(id) => within(self.number(*id)?.as_const()?, all.len()),
                };
                let (start, end) = (place(start, 0)?, place(end, all.len())?);
                all.get(start..end).map(<[Dim]>::to_vec)
            }
            ExprKind::Name(name) => {
                if let Some(shape) = self.shape(name) {
                    return Some(shape);
                }
                let value = self.axes(name)?;
                match value {
                    AttrValue::Ints(list) => list.iter().map(|d| d.as_const().map(Dim::Const)).collect(),
                    _ => None,
                }
            }
            _ => None,
        }
    }

    /// The numbers that the matcher sees in a shape with a name; `None` if it may be another number, as for 0 and -1 where
    /// inference knows the dimension.
    fn shape(&self, name: &str) -> Option<Vec<Dim>> {
        let mut named = self.named.shapes.iter().filter(|(own, ..)| **own == *name);
        let (_, step, attr) = named.next()?;
        let Step::Call { attrs, .. } = &self.recipe().steps[*step] else {
            return None;
        };
        match attrs[*attr].as_ref()? {
            AttrValue::Ints(list)
                if named.next().is_none()
                    && (self.form.is_written(*step, *attr)
                        || list.iter().all(|d| d.as_const().is_none_or(|n| n > 0))) =>
            {
                Some(list.clone())
            }
            _ => None,
        }
    }

    /// The axes of a name, counted from the front as the matcher sees them.
    fn axes(&self, name: &str) -> Option<&AttrValue> {
        let (_, step, attr) = self.named.axes.iter().find(|(own, ..)| **own == *name)?;
        let Step::Call { attrs, .. } = &self.recipe().steps[*step] else {
            return None;
        };
        let value = attrs[*attr].as_ref()?;
        let counted = |d: &Dim| d.as_const().is_some_and(|n| n >= 0);
        match value {
            AttrValue::Int(d) if counted(d) => Some(value),
            AttrValue::Ints(list) if list.iter().all(counted) => Some(value),
            _ => None,
        }
    }

    fn number(&self, id: ExprId) -> Option<Dim> {
        let ast = &self.rule.ast;
        Some(match ast.kind(id) {
            ExprKind::Int { value, suffix: None } => Dim::Const(i64::try_from(*value).ok()?),
            ExprKind::Field { base, name } => {
                let all = self.dimensions(*base)?;
                match name.as_str() {
                    "rank" => Dim::from(all.len()),
                    "size" => all.into_iter().product(),
                    _ => return None,
                }
            }
            ExprKind::Call { callee, args, .. } if callee.as_str() == "len" => match args.as_slice() {
                [one] => Dim::from(self.list(*one)?.len()),
                _ => return None,
            },
            ExprKind::Index { base, index } => {
                let all = self.list(*base)?;
                let place = within(self.number(*index)?.as_const()?, all.len())?;
                all.get(place)?.clone()
            }
            ExprKind::Name(name) => match self.sizes.iter().find(|(own, _)| own == name) {
                Some((_, size)) => size.clone(),
                None => match self.axes(name)? {
                    AttrValue::Int(d) => d.clone(),
                    _ => return None,
                },
            },
            ExprKind::Binary { op, lhs, rhs } => {
                let (a, b) = (self.number(*lhs)?, self.number(*rhs)?);
                match op {
                    BinaryOp::Add => a + b,
                    BinaryOp::Sub => a - b,
                    BinaryOp::Mul => a * b,
                    _ => return None,
                }
            }
            _ => return None,
        })
    }
}

/// Assumes that two dimensions are equal; false if they never are.
fn assume_equal(facts: &mut Facts, a: &Dim, b: &Dim) -> bool {
    let difference = facts.resolve(&(a.clone() - b.clone()));
    match difference.as_const() {
        Some(n) => n == 0,
        None => {
            facts.equate(&difference, &is_position);
            true
        }
    }
}

/// The case, unless it contradicts itself.
fn kept(facts: Facts) -> Vec<Facts> {
    if facts.is_empty() { Vec::new() } else { vec![facts] }
}

/// A place in a list of `n`, counted from the end if it is negative; `None` outside.
fn within(place: i64, n: usize) -> Option<usize> {
    let n = i64::try_from(n).ok()?;
    let place = if place < 0 { place + n } else { place };
    usize::try_from(place).ok().filter(|_| place <= n)
}
