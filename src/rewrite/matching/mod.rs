//! Matching: where the source of a rule occurs. One matcher serves both engines, so that a pattern means the same in
//! a graph and in an e-graph.
//!
//! A [`Host`] is what is searched: every value of it has one form (a graph) or several (a class of an e-graph). The
//! [`Program`] is a rule made ready; a [`Searcher`] walks it over a host by backtracking without recursion; a
//! [`Binding`] is what it finds, and [`Match`] what a binding means for the names of the rule.

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
pub(super) use egraph::Snapshot;
pub(super) use found::{Match, MatchScope, resolve};
pub(super) use group::Seen;
pub(super) use program::Program;
pub(super) use search::{MOST_STEPS, Searcher};
pub(super) use trace::{Reason, Trace};

use crate::op::{AttrValue, OpDef};
use crate::rule::Variable;
use crate::tensor::{Tensor, Type};

/// What patterns are matched against.
pub(super) trait Host {
    /// Names a value.
    type V: Copy + Eq + Hash + Ord + Debug;

    /// The number this host has for an operator; `None` if it does not occur.
    fn op(&self, def: &'static OpDef) -> Option<u32>;
    /// The first form of `v` at or after `from` that is as wanted, and where to look for the next.
    fn next_form(&self, v: Self::V, want: Want<'_>, from: usize) -> Option<(usize, Form<'_, Self::V>)>;
    /// The values that have a form as wanted, by rank.
    fn values(&self, want: Want<'_>) -> Vec<Self::V>;
    /// The values that have `v` as an operand, by rank, without repetition.
    fn users(&self, v: Self::V) -> Vec<Self::V>;
    /// The place of `v` in the order of all values.
    fn rank(&self, v: Self::V) -> u64;
    /// The number of the attribute at place `i` of a call.
    fn attr(&self, form: &Form<'_, Self::V>, i: usize) -> u32;
    /// The attribute value of that number.
    fn attr_value(&self, attr: u32) -> &AttrValue;
    /// The type of a value.
    fn ty(&self, v: Self::V) -> &Type;
    /// The constant that `v` is, if it is one.
    fn constant(&self, v: Self::V) -> Option<&Tensor>;
    /// True if `v` depends on parameters and constants alone.
    fn is_static(&self, v: Self::V) -> bool;
    /// True if different vertices of a pattern, its inputs aside, may stand for one value.
    fn merges(&self) -> bool {
        true
    }
    /// True if no one but `matched` uses the values of `inner`.
    fn closed(&self, _inner: &[Self::V], _matched: &[Self::V]) -> bool {
        true
    }
    /// True if `v` may stand for `variable`, its type aside.
    fn admits(&self, variable: &Variable, v: Self::V) -> bool {
        use crate::lang::ast::RuleClass;
        match variable.class {
            RuleClass::Any => true,
            RuleClass::Param => self.is_static(v),
            RuleClass::Const => self.constant(v).is_some(),
        }
    }
}

/// What kind of form is looked for.
#[derive(Debug, Clone, Copy)]
pub(super) enum Want<'a> {
    /// A call of the operator of that number.
    Op(u32),
    /// A call of one of these operators.
    OneOf(&'a [&'static OpDef]),
    /// A tuple.
    Tuple,
    /// A projection: of that element, or of any.
    Proj(Option<u32>),
}

/// One way a value is computed.
#[derive(Debug, Clone, Copy)]
pub(super) struct Form<'h, V> {
    /// What it is.
    pub(super) head: FormHead,
    /// Its place among the forms of the value.
    pub(super) place: u32,
    /// Its operands.
    pub(super) operands: &'h [V],
    /// Its attributes, as the host keeps them.
    pub(super) attrs: AttrRefs<'h, V>,
}

/// What a form is.
#[derive(Debug, Clone, Copy)]
pub(super) enum FormHead {
    Call(&'static OpDef),
    Tuple,
    Proj(u32),
}

/// Attributes of a form: numbers, or values that stand for them.
#[derive(Debug, Clone, Copy)]
pub(super) enum AttrRefs<'h, V> {
    Numbers(&'h [u32]),
    Values(&'h [V]),
}

#[cfg(test)]
mod tests;
