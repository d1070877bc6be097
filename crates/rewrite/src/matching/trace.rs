//! Records where matching got furthest, to explain why a rule does not apply.

use tautomer_rule::PatternId;

/// The reason why a vertex does not match.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Reason<V> {
    /// A different operator, or none.
    Operator,
    /// The attribute of that name has another value, given by its number.
    Attribute(&'static str, u32),
    /// The required and the actual number of operands.
    Operands(usize, usize),
    /// A different element of a tuple.
    Element(u32),
    /// The pattern has the same value here and elsewhere, but the graph has two.
    OtherValue,
    /// Not a parameter or not a constant, as the variable requires.
    Class,
    /// Not a constant of that number.
    Literal,
    /// An operand is given that the pattern omits.
    Given,
    /// One value matches two vertices of the pattern.
    Twice,
    /// An inner value is used outside the match.
    UsedOutside,
    /// The type is not that of the variable.
    Type(V),
    /// The count has another value elsewhere.
    Count(u32),
}

/// A point at which matching stopped.
#[derive(Debug, Clone)]
pub(crate) struct Failure<V> {
    /// The number of bindings made.
    pub(crate) progress: usize,
    /// The number of operators of the pattern that were found.
    pub(crate) forms: usize,
    /// The value at which the pattern begins.
    pub(crate) root: V,
    /// The vertex of the pattern.
    pub(crate) at: PatternId,
    /// The value it was compared with.
    pub(crate) value: V,
    /// The reason why they differ.
    pub(crate) reason: Reason<V>,
}

/// Records the failure that got furthest.
#[derive(Debug, Clone)]
pub(crate) struct Trace<V> {
    /// The furthest failure so far, the first one among equals.
    pub(crate) furthest: Option<Failure<V>>,
}

impl<V> Default for Trace<V> {
    fn default() -> Self {
        Trace { furthest: None }
    }
}

impl<V: Copy> Trace<V> {
    /// Records a failure if it got further than earlier ones; `found` are the values matched with operators so far.
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
