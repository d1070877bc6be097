//! Models: values of the symbols that satisfy the facts. A goal that is false at a model does not follow.

use std::sync::Arc;

use rustc_hash::FxHashMap;

use super::facts::{Effort, Facts};
use tautomer_tensor::{Atom, Dim, Numbered};

/// The number of models that are kept.
const KEPT: usize = 6;

/// The number of restarts of the search, and of symbols changed after each.
const STARTS: usize = 8;
const STEPS: usize = 24;

/// Limit on the facts that are looked at in a search for instances.
const SEARCH: u64 = 1_000_000;

/// Values by the names of symbols.
pub(super) type Model = FxHashMap<Arc<str>, i64>;

/// Values of the symbols in facts, a few of those that satisfy all of them.
pub(super) fn models(facts: &Facts) -> Vec<Model> {
    let mut models = Models::default();
    models.search(&facts.at_least_zero, &Effort::of(SEARCH));
    let is_not_zero = |model: &Model| {
        let value = |s: &str| Some(model.get(s).copied().unwrap_or(1));
        facts.not_zero.iter().all(|dim| dim.evaluate(&value) != Some(0))
    };
    models.found.retain(is_not_zero);
    models.found
}

/// Assignments that satisfy all facts.
#[derive(Debug, Clone, Default)]
pub(super) struct Models {
    found: Vec<Model>,
    /// True if models were searched for since the facts changed.
    searched: bool,
    /// The number of facts for which no model was found: with more facts, the search is not repeated.
    without: Option<usize>,
    random: u64,
}

impl Models {
    /// Keeps the models that satisfy one more fact; symbols that are new in it get values.
    pub(super) fn keep(&mut self, fact: &Dim) {
        let symbols = symbols(fact);
        self.found.retain_mut(|model| {
            for symbol in &symbols {
                if !model.contains_key(*symbol) {
                    // A small value that satisfies the fact, if there is one.
                    let holds = |v: i64| {
                        let value = |s: &str| {
                            if s == &***symbol {
                                Some(v)
                            } else {
                                model.get(s).copied()
                            }
                        };
                        fact.evaluate(&value).is_none_or(|f| f >= 0)
                    };
                    let value = (0..4).find(|v| holds(*v)).unwrap_or(0);
                    model.insert((*symbol).clone(), value);
                }
            }
            holds(fact, model)
        });
        self.searched &= !self.found.is_empty();
    }

    /// Keeps the models that still satisfy the facts after a symbol was defined.
    pub(super) fn define(&mut self, symbol: &Arc<str>, value: &Dim, facts: &[Dim]) {
        self.found.retain_mut(|model| {
            let Some(value) = value.evaluate(&|s| model.get(s).copied()) else {
                return false;
            };
            model.insert(symbol.clone(), value);
            facts.iter().all(|fact| holds(fact, model))
        });
        self.searched = false;
    }

    /// True if the goal is negative at a model of the facts.
    pub(super) fn refute(&mut self, goal: &Dim, facts: &[Dim], effort: &Effort) -> bool {
        let hopeless = self.without.is_some_and(|n| n <= facts.len());
        if !self.searched && self.found.len() < 2 && !hopeless {
            self.search(facts, effort);
            self.without = self.found.is_empty().then_some(facts.len());
        }
        self.searched = true;
        let wanted = symbols(goal);
        self.found.iter_mut().any(|model| {
            for symbol in &wanted {
                // A symbol without facts may have any value.
                if !model.contains_key(*symbol) {
                    model.insert((*symbol).clone(), 1);
                }
            }
            goal.evaluate(&|s| model.get(s).copied()).is_some_and(|v| v < 0)
        })
    }

    /// Local search: starts from small random values, and repeatedly changes a symbol of a violated fact to satisfy as
    /// many facts as possible.
    fn search(&mut self, facts: &[Dim], effort: &Effort) {
        let mut all: Vec<&Arc<str>> = Vec::new();
        // The facts with a symbol, and the symbols of a fact, by their numbers.
        let mut within: Vec<Vec<usize>> = Vec::new();
        let mut of: Vec<Vec<usize>> = Vec::with_capacity(facts.len());
        for (at, fact) in facts.iter().enumerate() {
            let mut numbers = Vec::new();
            for symbol in symbols(fact) {
                let known = all.iter().position(|s| *s == symbol);
                let index = known.unwrap_or_else(|| {
                    all.push(symbol);
                    within.push(Vec::new());
                    all.len() - 1
                });
                within[index].push(at);
                numbers.push(index);
            }
            of.push(numbers);
        }
        let mut number = |symbol: &Arc<str>| all.iter().position(|s| *s == symbol).unwrap_or(usize::MAX);
        let facts: Vec<Numbered> = facts.iter().map(|fact| fact.numbered(&mut number)).collect();
        let fails = |i: usize, values: &[i64]| facts[i].evaluate(values).is_none_or(|v| v < 0);
        for start in 0..STARTS {
            let most = 2 + start as u64 / 2;
            let mut values: Vec<i64> = all.iter().map(|_| (self.next() % most) as i64).collect();
            for _ in 0..STEPS {
                effort.spend(facts.len());
                let failing: Vec<usize> = (0..facts.len()).filter(|&i| fails(i, &values)).collect();
                let Some(&chosen) = failing.get(self.next() as usize % failing.len().max(1)) else {
                    let model = all.iter().zip(values).map(|(&symbol, value)| (symbol.clone(), value));
                    self.found.push(model.collect());
                    break;
                };
                let mut best: Option<(usize, usize, i64)> = None;
                for &index in &of[chosen] {
                    let old = values[index];
                    let violated = |values: &[i64]| within[index].iter().filter(|&&i| fails(i, values)).count();
                    let before = violated(&values);
                    for value in [old + 1, old - 1, old + 3, 0, 1] {
                        if value < 0 || value == old {
                            continue;
                        }
                        values[index] = value;
                        let score = facts.len() + violated(&values) - before;
                        if best.is_none_or(|(least, ..)| score < least) {
                            best = Some((score, index, value));
                        }
                    }
                    values[index] = old;
                }
                let Some((_, index, value)) = best else { break };
                values[index] = value;
            }
            if self.found.len() >= KEPT {
                break;
            }
        }
    }

    /// SplitMix64
    fn next(&mut self) -> u64 {
        self.random = self.random.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.random;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }
}

fn holds(fact: &Dim, model: &Model) -> bool {
    fact.evaluate(&|s| model.get(s).copied()).is_some_and(|v| v >= 0)
}

fn symbols(dim: &Dim) -> Vec<&Arc<str>> {
    let mut out: Vec<&Arc<str>> = Vec::new();
    dim.visit_atoms(&mut |atom| {
        if let Atom::Symbol(name) = atom
            && !out.contains(&name)
        {
            out.push(name);
        }
    });
    out
}
