//! The choices of a search, and backtracking: a failure names the choices that led to it, and the search returns to the
//! latest of these.

use std::sync::Arc;

use crate::{FamilyId, PatternId};

/// A set of choices, by their position in the trail.
pub(super) type Blame = u128;

/// The maximum number of choices in the trail.
const MAX_CHOICES: usize = 128;

/// The subject of a choice.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Key {
    /// The type or value of a node.
    Vertex(PatternId),
    /// The dimension that a name stands for.
    Extent(Arc<str>),
    /// An attribute of a call.
    Attr(PatternId, usize),
    /// The operator that a variable stands for.
    Operator(usize),
    /// One of some alternatives.
    Alternative(PatternId),
    /// The element of a tuple.
    Element(PatternId),
    /// The number of members.
    Count(FamilyId),
}

struct Choice {
    key: Key,
    taken: usize,
    options: usize,
    /// Earlier choices that contributed to failures after this one.
    blame: Blame,
}

/// The choices of an attempt.
#[derive(Default)]
pub(super) struct Choices {
    trail: Vec<Choice>,
    /// The number of the round, which determines the order of options.
    pub(super) round: usize,
    /// False once an option or a failure was not taken into account.
    pub(super) complete: bool,
}

impl Choices {
    pub(super) fn new(round: usize) -> Choices {
        Choices {
            round,
            complete: true,
            ..Choices::default()
        }
    }

    /// The option taken, and the choice to blame for it; `None` if there are no options or too many choices.
    pub(super) fn take(&mut self, key: Key, options: usize) -> Option<(usize, Blame)> {
        let known = self.trail.iter().position(|c| c.key == key);
        let at = known.unwrap_or(self.trail.len());
        if known.is_none() {
            if options == 0 || at >= MAX_CHOICES {
                self.complete &= at < MAX_CHOICES;
                return None;
            }
            self.trail.push(Choice {
                key,
                taken: 0,
                options,
                blame: 0,
            });
        }
        let choice = &self.trail[at];
        // Each round begins with different options.
        let shift = self.round * (at * 7 + 3) + self.round * self.round;
        Some(((choice.taken + shift) % choice.options, 1 << at))
    }

    /// All choices so far.
    pub(super) fn all(&self) -> Blame {
        match self.trail.len() {
            MAX_CHOICES => Blame::MAX,
            n => (1 << n) - 1,
        }
    }

    /// Changes the latest choice in `blame`, then those in `wider`, which may have contributed. `false` if no option is
    /// left.
    pub(super) fn go_back(&mut self, mut blame: Blame, wider: Blame) -> bool {
        if blame == 0 {
            blame = wider;
        }
        while let Some(mut last) = self.trail.pop() {
            let bit: Blame = 1 << self.trail.len();
            if blame & bit == 0 {
                continue;
            }
            blame = (blame | wider | last.blame) & (bit - 1);
            if last.taken + 1 < last.options {
                last.taken += 1;
                last.blame = blame;
                self.trail.push(last);
                return true;
            }
        }
        false
    }
}
