//! Attributes of a source in a form that no call in a graph has.

use super::build::Attempt;
use super::choices::Choices;
use super::{Mode, ROUNDS};
use crate::{AttrPattern, PatternNode, Rule};
use tautomer_graph::{Graph, VertexId};
use tautomer_op::{AttrDef, AttrKind, AttrValue, AxisOf, OpDef};
use tautomer_tensor::Dim;

/// The number of calls to try.
const FOUND: usize = 4;

/// The number of attempts to find them.
const ATTEMPTS: usize = 600;

/// An attribute that a source requires, and what calls have in its place.
#[derive(Debug, Clone, PartialEq)]
pub(in crate::check) struct Rewritten {
    /// The operator.
    pub(in crate::check) op: &'static str,
    /// The attribute.
    pub(in crate::check) attr: &'static str,
    /// Its value in the source.
    pub(in crate::check) written: AttrValue,
    /// All attributes that differ in the call: their names and values there.
    pub(in crate::check) actual: Vec<(&'static str, AttrValue)>,
    /// The types of the operands.
    pub(in crate::check) operands: Vec<String>,
}

/// The first attribute of the source that no tried call has as written; the calls have operands of known shapes.
pub(in crate::check) fn rewritten(rule: &Rule) -> Option<Rewritten> {
    let fixed = |node: &PatternNode| match node {
        PatternNode::Call { def, attrs, .. } => def.canonical.is_some() && attrs.iter().any(is_fixed),
        _ => false,
    };
    if !rule.source.nodes().any(|(_, node)| fixed(node)) {
        return None;
    }
    let mut left: Option<Vec<Rewritten>> = None;
    let (mut found, mut attempts) = (0, ATTEMPTS);
    for round in 0..ROUNDS {
        let mut choices = Choices::new(round);
        while found < FOUND && attempts > 0 {
            attempts -= 1;
            match Attempt::new(rule, Mode::Shapes, &mut choices).run() {
                Ok(instance) => {
                    found += 1;
                    let own = instance.rewritten;
                    left = Some(match left {
                        None => own,
                        Some(before) => {
                            let again = |r: &Rewritten| own.iter().any(|o| (o.op, o.attr) == (r.op, r.attr));
                            before.into_iter().filter(again).collect()
                        }
                    });
                    break;
                }
                Err(failure) if !choices.go_back(failure.blame, failure.wider) => break,
                Err(_) => {}
            }
        }
        if left.as_ref().is_some_and(Vec::is_empty) {
            return None;
        }
    }
    left?.into_iter().next()
}

/// True if the pattern requires one value.
pub(super) fn is_fixed(pattern: &AttrPattern) -> bool {
    matches!(pattern, AttrPattern::Value(_) | AttrPattern::Computed(_))
}

/// The attributes of a call that differ from its pattern.
pub(super) fn difference(
    graph: &Graph,
    def: &'static OpDef,
    operands: &[VertexId],
    given: &[(usize, AttrValue)],
    actual: &[AttrValue],
) -> Option<Rewritten> {
    let rank = operands.first().and_then(|&v| graph.ty(v).as_tensor()?.rank());
    let same = |i: usize, value: &AttrValue| resolved(&def.attrs[i], value, rank).equals(&actual[i]);
    let (i, written) = given.iter().find(|(i, value)| !same(*i, value))?;
    let default = |i: usize| def.attrs[i].default_value();
    let changed = |i: &usize| match given.iter().find(|(k, _)| k == i) {
        Some((_, value)) => !same(*i, value),
        None => default(*i).is_none_or(|value| !value.equals(&actual[*i])),
    };
    Some(Rewritten {
        op: def.name,
        attr: def.attrs[*i].name,
        written: written.clone(),
        actual: (0..def.attrs.len())
            .filter(changed)
            .map(|i| (def.attrs[i].name, actual[i].clone()))
            .collect(),
        operands: operands.iter().map(|&v| graph.ty(v).to_string()).collect(),
    })
}

/// The value with axes counted from the front.
fn resolved(attr: &AttrDef, value: &AttrValue, rank: Option<usize>) -> AttrValue {
    let (AttrKind::Axis(of) | AttrKind::Axes(of), Some(rank)) = (attr.kind, rank) else {
        return value.clone();
    };
    let rank = match (of, value) {
        (AxisOf::Output, AttrValue::Ints(list)) => rank + list.len(),
        (AxisOf::Output, _) => rank + 1,
        _ => rank,
    } as i64;
    let front = |d: &Dim| match d.as_const() {
        Some(axis) if axis < 0 => Dim::Const(axis + rank),
        _ => d.clone(),
    };
    match value {
        AttrValue::Int(d) => AttrValue::Int(front(d)),
        AttrValue::Ints(list) => AttrValue::Ints(list.iter().map(front).collect()),
        other => other.clone(),
    }
}
