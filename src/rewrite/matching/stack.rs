//! The stack of a search: goals to work off, alternatives to come back to, and a trail of what was bound.

use super::Host;
use super::binding::SlotValue;
use super::search::Searcher;
use crate::rule::PatternId;

pub(super) enum Goal<'h, V> {
    /// The vertex stands for the value.
    Node { at: PatternId, index: u32, value: V },
    /// The operands from one place on stand for the values from another place on.
    Items {
        node: PatternId,
        index: u32,
        item: usize,
        values: &'h [V],
    },
    /// The output of that number is found.
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
    /// The goals to go on with, as a place in `agenda`.
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

/// The slot that keeps the place in a tuple of a member of a group.
pub(super) const PLACE: usize = u32::MAX as usize;

impl<'h, H: Host> Searcher<'h, H> {
    /// Forgets everything.
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

    /// Makes `at` stand for `value` and everything that follows from it; `false` if it cannot.
    pub(super) fn solve(&mut self, at: PatternId, index: u32, value: H::V) -> bool {
        let base = self.choices.len();
        self.goals = EMPTY;
        self.push(Goal::Node { at, index, value });
        self.run(base)
    }

    /// Another way to do what [`solve`](Self::solve) did.
    pub(super) fn again(&mut self, base: usize) -> bool {
        self.backtrack(base) && self.run(base)
    }

    /// Keeps the present way: alternatives made since `base` are forgotten.
    pub(super) fn commit(&mut self, base: usize) {
        self.choices.truncate(base);
    }

    /// The place in a tuple that the member of that index projects.
    pub(super) fn place(&self, index: u32) -> Option<u32> {
        match self.attr_rows.get(&(PLACE as u32, index)) {
            Some(SlotValue::Place(i)) => Some(*i),
            _ => None,
        }
    }

    /// Where the trail is, to come back to by [`undo`](Self::undo).
    pub(super) fn mark(&self) -> usize {
        self.trail.len()
    }

    pub(super) fn choice_points(&self) -> usize {
        self.choices.len()
    }

    /// Takes back what was bound since `mark`.
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

    /// Works off the goals; `false` once no alternative made since `base` is left.
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

    /// Goes on with the latest alternative.
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
