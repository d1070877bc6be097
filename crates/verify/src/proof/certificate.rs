//! The content of a certificate: whether a proof treats each position separately, and the formula of one element of the
//! result.

use std::fmt::Write as _;

use num_traits::One;

use super::case::Res;
use super::expr::{Expr, Factor, Fun};
use super::meaning::{At, Meaning};
use tautomer_graph::{Node, VertexId};
use tautomer_rule::{PatternId, PatternNode, Rule};
use tautomer_tensor::Dim;

/// The record kept about the cases of a proof.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Trail {
    /// The number of cases.
    cases: usize,
    /// Both sides treat each position separately in all of them.
    pub alone: bool,
    /// The formula of an element of the result, in the language of rules.
    pub element: Option<String>,
}

impl Trail {
    /// One case.
    pub(super) fn of(alone: bool, element: Option<String>) -> Trail {
        Trail {
            cases: 1,
            alone,
            element,
        }
    }

    /// Joins two.
    pub(super) fn add(&mut self, other: Trail) {
        self.alone = other.alone && (self.alone || self.cases == 0);
        self.cases += other.cases;
        self.element = self.element.take().or(other.element);
    }
}

/// An element of the result in terms of elements of the operands, if these are floating-point numbers, one element of
/// each operand occurs in it, and the checker's language can express it.
pub(super) fn element(
    meaning: &Meaning<'_>,
    v: VertexId,
    rule: &Rule,
    bound: &[(PatternId, VertexId)],
) -> Option<String> {
    let graph = meaning.graph;
    let is_leaf = |u: &VertexId| matches!(graph.vertex(*u).node, Node::Input | Node::Param);
    let leaves: Vec<VertexId> = graph.ids().filter(is_leaf).collect();
    // One operand that two variables match says nothing about two operands.
    let variable = |&u: &VertexId| {
        let own = bound.iter().filter(|(_, w)| *w == u);
        let mut own = own.filter_map(|&(at, _)| match rule.source.node(at) {
            PatternNode::Variable(i) => Some(*i),
            _ => None,
        });
        let first = own.next()?;
        own.all(|i| i == first).then(|| rule.variables[first].name.to_string())
    };
    let names: Vec<String> = leaves.iter().map(variable).collect::<Option<_>>()?;
    if leaves.iter().any(|&u| !meaning.dtype(u).is_float()) {
        return None;
    }
    // The place at which both sides were compared, so nothing new is asked of the case.
    let place = |(axis, d): (usize, &Dim)| match meaning.case.known_zero(&(d.clone() - Dim::Const(1))) {
        Some(true) => Dim::Const(0),
        _ => Dim::symbol(&format!("@{axis}")),
    };
    let place = meaning.shape(v).ok()?.iter().enumerate().map(place).collect();
    let value: Res<_> = meaning.element(v, &At::Index(place));
    let mut places = vec![None; names.len()];
    match value.ok()?.as_slice() {
        [(_, value)] => term(value, &names, &mut places),
        _ => None,
    }
}

/// A formula in the language of rules.
fn term(value: &Expr, names: &[String], places: &mut [Option<Vec<Dim>>]) -> Option<String> {
    let mut out = String::new();
    for (product, c) in value.terms() {
        let plus = if out.is_empty() { "" } else { " + " };
        out.push_str(plus);
        let multiplied = product.first().is_some_and(|(_, e)| *e > 0) && c.numer().is_one();
        let mut between = "";
        if !multiplied {
            write!(out, "{}", c.numer()).ok()?;
            between = " * ";
        }
        for (factor, exponent) in product {
            let text = match factor {
                Factor::Element(leaf, place) => {
                    let own = places.get_mut(*leaf as usize)?.get_or_insert_with(|| place.clone());
                    if own != place {
                        return None;
                    }
                    names.get(*leaf as usize)?.clone()
                }
                Factor::Apply(Fun::Named(name), args) => {
                    let words = name.bytes().all(|b| b.is_ascii_lowercase() || b == b'_');
                    let args = args
                        .iter()
                        .map(|a| term(a, names, places))
                        .collect::<Option<Vec<_>>>()?;
                    // The checker knows few laws of `log`.
                    if !words || *name == tautomer_op::known::LOG {
                        return None;
                    }
                    format!("{name}({})", args.join(", "))
                }
                Factor::Inverse(sum) => format!("reciprocal({})", term(sum, names, places)?),
                _ => return None,
            };
            for _ in 0..exponent.unsigned_abs() {
                let sign = if *exponent < 0 { " / " } else { between };
                write!(out, "{sign}{text}").ok()?;
                between = " * ";
            }
        }
        if *c.denom() != 1.into() {
            write!(out, " / {}", c.denom()).ok()?;
        }
    }
    Some(if out.is_empty() { "0".to_owned() } else { out })
}
