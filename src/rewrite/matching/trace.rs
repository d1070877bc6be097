//! Where matching came furthest, for saying why a rule does not apply.

use crate::rule::PatternId;

/// Why a vertex does not match.
#[derive(Debug, Clone, PartialEq)]
pub(in crate::rewrite) enum Reason<V> {
    /// Another operator, or none.
    Operator,
    /// The attribute of that name has another value, given by its number.
    Attribute(&'static str, u32),
    /// So many operands are wanted, and so many there are.
    Operands(usize, usize),
    /// Another element of a tuple.
    Element(u32),
    /// The pattern has one value here and elsewhere, and the graph two.
    OtherValue,
    /// Not a parameter, or not a constant, as the variable asks for.
    Class,
    /// Not a constant of that number.
    Literal,
    /// An operand that should be left out is given.
    Given,
    /// One value for two vertices of the pattern.
    Twice,
    /// Something outside of the match uses an inner value.
    UsedOutside,
    /// The type is not that of the variable.
    Type(V),
    /// The count means something else elsewhere.
    Count(u32),
}

/// A place where matching stopped.
#[derive(Debug, Clone)]
pub(in crate::rewrite) struct Failure<V> {
    /// How much had been bound.
    pub(in crate::rewrite) progress: usize,
    /// How many operators of the pattern had been found.
    pub(in crate::rewrite) forms: usize,
    /// The value at which the pattern begins.
    pub(in crate::rewrite) root: V,
    /// The vertex of the pattern.
    pub(in crate::rewrite) at: PatternId,
    /// The value it was compared with.
    pub(in crate::rewrite) value: V,
    /// Why they differ.
    pub(in crate::rewrite) reason: Reason<V>,
}

/// Remembers the failure that came furthest.
#[derive(Debug, Clone)]
pub(in crate::rewrite) struct Trace<V> {
    /// The furthest failure so far, the first one among equals.
    pub(in crate::rewrite) furthest: Option<Failure<V>>,
}

impl<V> Default for Trace<V> {
    fn default() -> Self {
        Trace { furthest: None }
    }
}

impl<V: Copy> Trace<V> {
    /// Keeps a failure if it came further than those before; `found` are the values that stand for operators so far.
    pub(super) fn note(
        &mut self,
        progress: usize,
        found: &[(V, u32)],
        at: PatternId,
        value: V,
        reason: impl FnOnce() -> Reason<V>,
    ) {
        if self.furthest.as_ref().is_none_or(|f| progress > f.progress) {
            self.furthest = Some(Failure {
                progress,
                forms: found.len(),
                root: found.first().map_or(value, |(root, _)| *root),
                at,
                value,
                reason: reason(),
            });
        }
    }
}
