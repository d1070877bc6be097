//! The stack of a search: open goals, alternatives for backtracking, and a trail of bindings.

use super::Host;
use super::binding::SlotValue;
use super::search::Searcher;
use tautomer_rule::PatternId;

pub(super) enum Goal<'h, V> {
    /// The vertex must match the value.
    Node { at: PatternId, index: u32, value: V },
    /// The operands from one index on must match the values from another index on.
    Items {
        node: PatternId,
        index: u32,
        item: usize,
        values: &'h [V],
    },
    /// The output with that number must be found.
    Output(usize),
}

impl<V: Copy> Clone for Goal<'_, V> {
    fn clone(&self) -> Self {
        *self
    }
}
impl<V: Copy> Copy for Goal<'_, V> {}

pub(super) enum Alternative<'h, V> {
    /// Other forms of the value.
    Form {
        at: PatternId,
        index: u32,
        value: V,
        next: usize,
    },
    /// Other alternatives of the pattern.
    Pattern {
        at: PatternId,
        index: u32,
        value: V,
        next: usize,
    },
    /// Other lengths of a comprehension among several.
    Length {
        node: PatternId,
        index: u32,
        item: usize,
        values: &'h [V],
        next: usize,
        most: usize,
    },
    /// Other values for a vertex.
    Value {
        at: PatternId,
        index: u32,
        values: std::rc::Rc<[V]>,
        next: usize,
    },
}

pub(super) struct Choice<'h, V> {
    pub(super) alternative: Alternative<'h, V>,
    /// The goals to continue with, as an index into `agenda`.
    pub(super) goals: usize,
    pub(super) agenda: usize,
    pub(super) trail: usize,
}

#[derive(Debug, Clone, Copy)]
pub(super) enum Undo {
    One(u32),
    Row(u32, u32),
    Attr(u32),
    AttrRow(u32, u32),
    Op(u32),
    Count(u32),
    Form,
}

pub(super) const EMPTY: usize = usize::MAX;

/// The slot that holds the position in a tuple of a group member.
pub(super) const PLACE: usize = u32::MAX as usize;

impl<'h, H: Host> Searcher<'h, H> {
    /// Clears all state.
    pub(super) fn reset(&mut self) {
        self.undo(0);
        self.choices.clear();
        self.agenda.clear();
        self.goals = EMPTY;
    }

    pub(super) fn push(&mut self, goal: Goal<'h, H::V>) {
        self.agenda.push((goal, self.goals));
        self.goals = self.agenda.len() - 1;
    }

    /// Matches `at` with `value` and everything below it; `false` if there is no match.
    pub(super) fn solve(&mut self, at: PatternId, index: u32, value: H::V) -> bool {
        let base = self.choices.len();
        self.goals = EMPTY;
        self.push(Goal::Node { at, index, value });
        self.run(base)
    }

    /// Finds the next solution after [`solve`](Self::solve).
    pub(super) fn again(&mut self, base: usize) -> bool {
        self.backtrack(base) && self.run(base)
    }

    /// Commits to the current solution: drops alternatives added since `base`.
    pub(super) fn commit(&mut self, base: usize) {
        self.choices.truncate(base);
    }

    /// The position in a tuple that the member with that index projects.
    pub(super) fn place(&self, index: u32) -> Option<u32> {
        match self.attr_rows.get(&(PLACE as u32, index)) {
            Some(SlotValue::Place(i)) => Some(*i),
            _ => None,
        }
    }

    /// The current position of the trail, for [`undo`](Self::undo).
    pub(super) fn mark(&self) -> usize {
        self.trail.len()
    }

    pub(super) fn choice_points(&self) -> usize {
        self.choices.len()
    }

    /// Undoes all bindings since `mark`.
    pub(super) fn undo(&mut self, mark: usize) {
        while self.trail.len() > mark {
            match self.trail.pop() {
                Some(Undo::One(at)) => self.one[at as usize] = None,
                Some(Undo::Row(at, index)) => {
                    self.rows.remove(&(at, index));
                }
                Some(Undo::Attr(slot)) => self.attrs[slot as usize] = None,
                Some(Undo::AttrRow(slot, index)) => {
                    self.attr_rows.remove(&(slot, index));
                }
                Some(Undo::Op(variable)) => self.ops[variable as usize] = None,
                Some(Undo::Count(count)) => self.counts[count as usize] = None,
                Some(Undo::Form) => {
                    self.forms.pop();
                }
                None => {}
            }
        }
    }

    /// Solves all goals; `false` if no alternative added since `base` is left.
    pub(super) fn run(&mut self, base: usize) -> bool {
        loop {
            if self.goals == EMPTY {
                return true;
            }
            let Some(left) = self.steps.checked_sub(1) else {
                return false;
            };
            self.steps = left;
            let (goal, next) = self.agenda[self.goals];
            self.goals = next;
            let going = match goal {
                Goal::Node { at, index, value } => self.node(at, index, value),
                Goal::Items {
                    node,
                    index,
                    item,
                    values,
                } => self.items(node, index, item, values),
                Goal::Output(k) => self.output(k),
            };
            if !going && !self.backtrack(base) {
                return false;
            }
        }
    }

    pub(super) fn choose(&mut self, alternative: Alternative<'h, H::V>) {
        self.choices.push(Choice {
            alternative,
            goals: self.goals,
            agenda: self.agenda.len(),
            trail: self.trail.len(),
        });
    }

    /// Continues with the latest alternative.
    pub(super) fn backtrack(&mut self, base: usize) -> bool {
        while self.choices.len() > base && self.steps > 0 {
            let Some(choice) = self.choices.pop() else { break };
            self.undo(choice.trail);
            self.agenda.truncate(choice.agenda);
            self.goals = choice.goals;
            let going = match choice.alternative {
                Alternative::Form { at, index, value, next } => self.forms(at, index, value, next),
                Alternative::Pattern { at, index, value, next } => self.any_of(at, index, value, next),
                Alternative::Length {
                    node,
                    index,
                    item,
                    values,
                    next,
                    most,
                } => self.length(node, index, item, values, next, most),
                Alternative::Value {
                    at,
                    index,
                    values,
                    next,
                } => self.value(at, index, values, next),
            };
            if going {
                return true;
            }
        }
        false
    }
}
