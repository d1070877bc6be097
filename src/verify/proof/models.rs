//! Values of the symbols at which the facts hold: what is false at one of them does not follow.

use std::sync::Arc;

use rustc_hash::FxHashMap;

use crate::tensor::{Atom, Dim};

/// How many are kept.
const KEPT: usize = 6;

/// How many are tried when none is left.
const TRIED: usize = 400;

/// Symbols with values, at which all facts hold.
#[derive(Debug, Clone, Default)]
pub(super) struct Models {
    found: Vec<FxHashMap<Arc<str>, i64>>,
    /// None were found, or none were looked for since the facts changed.
    searched: bool,
    random: u64,
}

impl Models {
    /// Keeps those at which another fact holds too; symbols that are new in it get values.
    pub(super) fn keep(&mut self, fact: &Dim) {
        let symbols = symbols(std::iter::once(fact));
        self.found.retain_mut(|model| {
            for symbol in &symbols {
                if !model.contains_key(symbol) {
                    // The value that lets the fact hold, if a small one does.
                    let holds = |v: i64| {
                        let value = |s: &str| if s == &**symbol { Some(v) } else { model.get(s).copied() };
                        fact.evaluate(&value).is_none_or(|f| f >= 0)
                    };
                    let value = (0..4).find(|v| holds(*v)).unwrap_or(0);
                    model.insert(symbol.clone(), value);
                }
            }
            fact.evaluate(&|s| model.get(s).copied()).is_some_and(|v| v >= 0)
        });
        if self.found.is_empty() {
            self.searched = false;
        }
    }

    /// The facts are others.
    pub(super) fn start_again(&mut self) {
        self.found.clear();
        self.searched = false;
    }

    /// True if the goal is less than 0 at a model of the facts.
    pub(super) fn refute(&mut self, goal: &Dim, facts: &[Dim]) -> bool {
        if !self.searched && self.found.len() < 2 {
            self.search(facts);
        }
        self.searched = true;
        let wanted = symbols(std::iter::once(goal));
        self.found.iter_mut().any(|model| {
            for symbol in &wanted {
                // Nothing is known of a symbol without facts.
                model.entry(symbol.clone()).or_insert(1);
            }
            goal.evaluate(&|s| model.get(s).copied()).is_some_and(|v| v < 0)
        })
    }

    fn search(&mut self, facts: &[Dim]) {
        self.found.clear();
        let symbols = symbols(facts.iter());
        for round in 0..TRIED {
            // Small values first.
            let most = 2 + (round / 40) as u64;
            let mut model: FxHashMap<Arc<str>, i64> = FxHashMap::default();
            for symbol in &symbols {
                model.insert(symbol.clone(), (self.next() % most) as i64);
            }
            if facts.iter().all(|f| f.evaluate(&|s| model.get(s).copied()).is_some_and(|v| v >= 0)) {
                self.found.push(model);
                if self.found.len() == KEPT {
                    break;
                }
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

fn symbols<'a>(dims: impl Iterator<Item = &'a Dim>) -> Vec<Arc<str>> {
    let mut out: Vec<Arc<str>> = Vec::new();
    for dim in dims {
        dim.visit_atoms(&mut |atom| {
            if let Atom::Symbol(name) = atom
                && !out.contains(name)
            {
                out.push(name.clone());
            }
        });
    }
    out
}
