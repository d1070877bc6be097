//! Matching: finds where the source of a rule occurs. One matcher serves both engines, so that a pattern has the same
//! meaning in a graph and in an e-graph.
//!
//! A [`Host`] is searched: each of its values has one form (in a graph) or several (a class of an e-graph). A
//! [`Program`] is a rule prepared for matching; a [`Searcher`] runs it on a host by backtracking without recursion; a
//! [`Binding`] is a result of the search, and a [`Match`] gives its meaning for the names of the rule.

mod attributes;
mod binding;
mod egraph;
mod found;
mod group;
mod node;
mod operands;
mod program;
mod search;
mod stack;
mod trace;

use std::fmt::Debug;
use std::hash::Hash;

pub(super) use binding::{Binding, is_input};
pub(super) use egraph::{Classes, Snapshot};
pub(super) use found::{Match, MatchScope, resolve, satisfied};
pub(super) use group::Seen;
pub(super) use program::Program;
pub(super) use search::{MOST_STEPS, Searcher};
pub(super) use trace::{Reason, Trace};

use tautomer_graph::ValueId;
use tautomer_op::{AttrValue, OpDef};
use tautomer_rule::Variable;
use tautomer_tensor::{Tensor, Type};

/// A structure that patterns are matched against.
pub(super) trait Host {
    /// Identifies a value.
    type V: Copy + Eq + Hash + Ord + Debug;

    /// The identity of a value for the expressions of a rule.
    fn id_of(v: Self::V) -> ValueId;
    /// The value of that identity.
    fn of_id(id: ValueId) -> Self::V;

    /// The number of an operator in this host; `None` if it does not occur.
    fn op(&self, def: &'static OpDef) -> Option<u32>;
    /// The first form of `v` at or after `from` that satisfies `want`, and where to continue the search.
    fn next_form(&self, v: Self::V, want: Want<'_>, from: usize) -> Option<(usize, Form<'_, Self::V>)>;
    /// The values that have a form that satisfies `want`, by rank.
    fn values(&self, want: Want<'_>) -> Vec<Self::V>;
    /// The values that have `v` as an operand, by rank, without repetition.
    fn users(&self, v: Self::V) -> Vec<Self::V>;
    /// The position of `v` in the order of all values.
    fn rank(&self, v: Self::V) -> u64;
    /// The number of the attribute at index `i` of a call.
    fn attr(&self, form: &Form<'_, Self::V>, i: usize) -> u32;
    /// The attribute value of that number.
    fn attr_value(&self, attr: u32) -> &AttrValue;
    /// True if an attribute has its default, as `find` says; the value, its form and the attribute say which. A host
    /// that does not change may remember that, since a default follows from types.
    fn has_default(&self, _at: (Self::V, u32, u32), find: &dyn Fn() -> bool) -> bool {
        find()
    }
    /// The type of a value.
    fn ty(&self, v: Self::V) -> &Type;
    /// The value of `v`, if it is constant.
    fn constant(&self, v: Self::V) -> Option<&Tensor>;
    /// True if `v` depends only on parameters and constants.
    fn is_static(&self, v: Self::V) -> bool;
    /// True if different vertices of a pattern, other than its inputs, may match the same value.
    fn merges(&self) -> bool {
        true
    }
    /// True if only `matched` uses the values of `inner`.
    fn closed(&self, _inner: &[Self::V], _matched: &[Self::V]) -> bool {
        true
    }
    /// True if `v` may match `variable`, ignoring its type.
    fn admits(&self, variable: &Variable, v: Self::V) -> bool {
        use tautomer_lang::ast::RuleClass;
        match variable.class {
            RuleClass::Any => true,
            RuleClass::Param => self.is_static(v),
            RuleClass::Const => self.constant(v).is_some(),
        }
    }
}

/// The kind of form to find.
#[derive(Debug, Clone, Copy)]
pub(super) enum Want<'a> {
    /// A call of the operator of that number.
    Op(u32),
    /// A call of one of these operators.
    OneOf(&'a [&'static OpDef]),
    /// A tuple.
    Tuple,
    /// A projection of that element, or of any element.
    Proj(Option<u32>),
}

/// One way of computing a value.
#[derive(Debug, Clone, Copy)]
pub(super) struct Form<'h, V> {
    /// Its kind.
    pub(super) head: FormHead,
    /// Its index among the forms of the value.
    pub(super) place: u32,
    /// Its operands.
    pub(super) operands: &'h [V],
    /// Its attributes, as stored by the host.
    pub(super) attrs: AttrRefs<'h, V>,
}

/// The kind of a form.
#[derive(Debug, Clone, Copy)]
pub(super) enum FormHead {
    Call(&'static OpDef),
    Tuple,
    Proj(u32),
}

/// The attributes of a form: numbers, or values that represent them.
#[derive(Debug, Clone, Copy)]
pub(super) enum AttrRefs<'h, V> {
    Numbers(&'h [u32]),
    Values(&'h [V]),
}

#[cfg(test)]
mod tests;
