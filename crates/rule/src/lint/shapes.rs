//! An index of sources by their shape, so that a rule is compared only with rules that may match a part of it.

use std::collections::BTreeSet;

use rustc_hash::FxHashMap;

use super::terms::{Head, TermId, Terms};

/// The number of symbols of a source that are compared; sources that agree in these are candidates.
const LONGEST: usize = 64;

/// The maximum number of tree positions that one query visits; beyond it, the rest of a source is not compared.
const MOST_PLACES: usize = 10_000;

/// The symbol at a position of a source, in order of writing.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
enum Symbol {
    /// Any term: what a name, or a choice of operators or patterns, may stand for.
    Any,
    /// A term with this head and this number of subterms.
    Of(Head, usize),
}

#[derive(Debug, Default)]
struct Place {
    next: FxHashMap<Symbol, usize>,
    /// Rules whose sources end here or are not compared any further.
    rules: Vec<usize>,
}

/// A tree of sources, each a path of symbols.
#[derive(Debug)]
pub(super) struct Shapes {
    places: Vec<Place>,
}

impl Default for Shapes {
    fn default() -> Shapes {
        Shapes {
            places: vec![Place::default()],
        }
    }
}

impl Shapes {
    /// Adds the source of a rule.
    pub(super) fn add(&mut self, terms: &Terms, source: TermId, rule: usize) {
        let mut stack = vec![source];
        let mut at = 0;
        for _ in 0..LONGEST {
            let Some(term) = stack.pop() else { break };
            let symbol = match terms.head(term) {
                Head::Name(_) | Head::AnyOf | Head::OpOf => Symbol::Any,
                head => {
                    stack.extend(terms.below(term).iter().rev());
                    Symbol::Of(head.clone(), terms.below(term).len())
                }
            };
            let new = self.places.len();
            let next = *self.places[at].next.entry(symbol).or_insert(new);
            if next == new {
                self.places.push(Place::default());
            }
            at = next;
        }
        self.places[at].rules.push(rule);
    }

    /// The rules that may match `term`.
    pub(super) fn of(&self, terms: &Terms, term: TermId, out: &mut BTreeSet<usize>) {
        let mut left = MOST_PLACES;
        let mut todo: Vec<(usize, Vec<TermId>)> = vec![(0, vec![term])];
        while let Some((at, mut stack)) = todo.pop() {
            let place = &self.places[at];
            out.extend(&place.rules);
            let Some(term) = stack.pop() else { continue };
            if left == 0 {
                self.all_below(at, out);
                continue;
            }
            left -= 1;
            if let Some(&next) = place.next.get(&Symbol::Any) {
                todo.push((next, stack.clone()));
            }
            let symbol = Symbol::Of(terms.head(term).clone(), terms.below(term).len());
            if let Some(&next) = place.next.get(&symbol) {
                stack.extend(terms.below(term).iter().rev());
                todo.push((next, stack));
            }
        }
    }

    fn all_below(&self, at: usize, out: &mut BTreeSet<usize>) {
        let mut stack = vec![at];
        while let Some(at) = stack.pop() {
            out.extend(&self.places[at].rules);
            stack.extend(self.places[at].next.values());
        }
    }
}
