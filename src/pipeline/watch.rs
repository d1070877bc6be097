//! Reports of progress, and of operators that a better result would have but that the result may not contain.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use serde::Serialize;

use crate::rewrite::{Kept, RuleReport};
use crate::rule::Rule;

/// The progress of the work.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Event {
    /// A stage begins.
    Stage(&'static str),
    /// A round of saturation is over.
    Round {
        /// E-nodes.
        nodes: usize,
        /// Applications in the round.
        applied: usize,
    },
    /// This many substitutions are done.
    Substitutions(usize),
}

/// An operator that the result may not contain, and the applications that this prevented.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Missing {
    /// The operator.
    pub operator: String,
    /// How often rules would have put it there.
    pub times: usize,
    /// The rules.
    pub rules: Vec<String>,
}

/// The operators that a saturation had to leave out.
pub(super) fn missing(kept: BTreeMap<&'static str, Kept>) -> Vec<Missing> {
    let entry = |(operator, kept): (&str, Kept)| Missing {
        operator: operator.to_owned(),
        times: kept.times,
        rules: kept.rules.iter().map(ToString::to_string).collect(),
    };
    kept.into_iter().map(entry).collect()
}

/// The operators that substitution had to leave out.
pub(super) fn missing_of_rules(rules: &[(Arc<Rule>, RuleReport)]) -> Vec<Missing> {
    let mut found: BTreeMap<&'static str, Kept> = BTreeMap::new();
    for (rule, report) in rules {
        for (operator, times) in &report.forbidden {
            let entry = found.entry(operator).or_default();
            entry.times += times;
            entry.rules.insert(rule.name.clone());
        }
    }
    missing(found)
}

/// Adds operators that were left out elsewhere, such as in a function.
pub(super) fn add_missing(all: &mut Vec<Missing>, more: &[Missing]) {
    for item in more {
        match all.iter_mut().find(|known| known.operator == item.operator) {
            Some(known) => {
                known.times += item.times;
                let rules: BTreeSet<String> = known.rules.iter().chain(&item.rules).cloned().collect();
                known.rules = rules.into_iter().collect();
            }
            None => all.push(item.clone()),
        }
    }
    all.sort_by(|a, b| a.operator.cmp(&b.operator));
}
