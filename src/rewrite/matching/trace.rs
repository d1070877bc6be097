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

impl<V> Trace<V> {
    pub(super) fn note(&mut self, progress: usize, at: PatternId, value: V, reason: impl FnOnce() -> Reason<V>) {
        if self.furthest.as_ref().is_none_or(|f| progress > f.progress) {
            self.furthest = Some(Failure {
                progress,
                at,
                value,
                reason: reason(),
            });
        }
    }
}
