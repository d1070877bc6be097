//! Proof for all sizes: both sides of a rule as formulas over symbolic indices, dimensions and numbers.
//!
//! The form of an instance has symbols for its dimensions and for attributes that count elements. The engines' own
//! matcher and inference run on it. A question that the symbols leave open, such as whether two dimensions are equal,
//! splits the proof into two cases, so the cases together cover all values. In each case, the element of either side at
//! a symbolic index becomes a formula in a normal form, and the formulas are compared. A proof holds over the real
//! numbers, and for all functions that obey the laws.

mod bits;
mod block;
mod case;
mod cases;
pub(crate) mod certificate;
mod choices;
mod conditions;
mod defined;
mod einsum;
mod expr;
mod facts;
mod fold;
mod form;
mod function;
mod graphs;
mod integers;
mod lattices;
mod laws;
mod layout;
pub(crate) mod ledger;
mod level;
mod linear;
mod meaning;
mod models;
mod movement;
mod order;
mod products;
mod ranks;
mod scope;
mod signs;
mod stages;
mod suspects;
mod terms;
#[cfg(test)]
mod tests;
mod types;
mod whole;
mod windows;
mod written;

use std::fmt;

pub(super) use self::graphs::prove_graphs;
use self::ledger::Ledger;
use self::level::AtLevel;
use self::scope::{Level, Scope};
pub(super) use self::suspects::Suspects;
use crate::instance::recipe::Recipe;
use tautomer_rewrite::Trial;
use tautomer_rule::Rule;

/// Limit on the inequalities that are compared for the proof of a rule at one level. Proofs that succeed take less.
const EFFORT: u64 = 2_000_000;

/// The stack of a proof, which recurses through the operands of a graph.
const STACK: usize = 64 << 20;

/// The coverage of a proof of a rule.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Coverage {
    /// The forms of its source: combinations of ranks, axes, permutations and members, with all dimensions symbolic.
    pub forms: usize,
    /// True if no level of generality proved all forms, and this one proved fewer than it left out.
    pub few: bool,
    /// The cases into which these were split.
    pub cases: usize,
    /// True if the rule treats each axis separately, so that it holds for all ranks.
    pub any_rank: bool,
    /// True if the proof assumed that constants that differ by up to one part in a million are equal.
    pub rounded: bool,
    /// The least and the largest rank of an operand.
    pub ranks: (usize, usize),
    /// Everything that may vary in the rule, and how the proof covers it.
    pub ledger: Ledger,
    /// The record for a certificate of the proof.
    pub trail: certificate::Trail,
}

impl fmt::Display for Coverage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (least, most) = self.ranks;
        f.write_str("all sizes")?;
        if self.ledger.is_complete() {
            if self.any_rank {
                f.write_str(", all ranks")?;
            } else if least == most {
                write!(f, ", rank {least}")?;
            } else {
                write!(f, ", ranks {least}-{most}")?;
            }
        } else {
            write!(f, "; {}", self.ledger)?;
        }
        f.write_str(if self.rounded { ", up to rounded constants" } else { "" })
    }
}

/// The task of a proof.
pub(super) struct Task<'a> {
    pub(super) rule: &'a Rule,
    pub(super) trial: &'a Trial,
    /// Instances at which the sides agree.
    pub(super) agreeing: &'a [&'a Recipe],
    /// Instances where no engine applies the rule, because of the type of the target; at other sizes an engine may.
    pub(super) refused: &'a [Recipe],
    /// True if no operand is empty at one of them.
    pub(super) refuses_elements: bool,
    /// True if the instances cover all element types that operators and conditions admit.
    pub(super) all_types: bool,
    /// Receives instances at which the formulas of both sides differ.
    pub(super) suspects: Suspects,
}

/// Whether the sides have one type at all instances that were tried.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum SameTypes {
    Not,
    /// Where no operand is empty. A dimension 0 that is written in a shape may stand for another one.
    OfElements,
    Always,
}

impl SameTypes {
    fn of(task: &Task<'_>) -> SameTypes {
        match (task.refused.is_empty(), task.refuses_elements) {
            (true, _) => SameTypes::Always,
            (false, false) => SameTypes::OfElements,
            (false, true) => SameTypes::Not,
        }
    }
}

/// Runs a proof on a thread with a large stack; `None` if it panics.
pub(super) fn with_stack<T: Send>(f: impl FnOnce() -> T + Send) -> Option<T> {
    std::thread::scope(|scope| {
        let thread = std::thread::Builder::new().stack_size(STACK).spawn_scoped(scope, f);
        thread.ok()?.join().ok()
    })
}

/// Proves that both sides are equal for all dimensions, in all forms that the instances have.
///
/// # Errors
/// Why it is not proved.
pub(super) fn prove(task: &Task<'_>) -> Result<Coverage, String> {
    with_stack(|| {
        // Forms with windows take long.
        if ranks::spatial::applies(task.rule)
            && !task.agreeing.is_empty()
            && let Some(proved) = terms::prove(task.rule, SameTypes::of(task))
        {
            return Ok(proved);
        }
        let proved = prove_here(task);
        let is_complete = proved.as_ref().is_ok_and(|coverage| coverage.ledger.is_complete());
        if is_complete || task.agreeing.is_empty() {
            return proved;
        }
        terms::prove(task.rule, SameTypes::of(task)).map_or(proved, Ok)
    })
    .unwrap_or_else(|| Err("internal error: the proof failed".to_owned()))
}

fn prove_here(task: &Task<'_>) -> Result<Coverage, String> {
    let scope = Scope::of(task.rule);
    let relaxed = Trial::new(scope.relaxed.clone());
    let at = |level, trial| AtLevel {
        task,
        scope: &scope,
        trial,
        level,
        ordered: None,
        lenient: false,
    };
    let mut last = Err("there are no instances".to_owned());
    let mut tried: Vec<Vec<Recipe>> = Vec::new();
    for level in [Level::All, Level::Sizes, Level::Written] {
        let trial = if level == Level::Written { task.trial } else { &relaxed };
        let proof = at(level, trial);
        let forms: Vec<Recipe> = proof.forms(false).into_iter().map(|p| p.recipe).collect();
        if tried.contains(&forms) {
            continue;
        }
        tried.push(forms);
        last = proof.prove();
        if last.is_ok() {
            break;
        }
    }
    // Some forms at least.
    for (level, trial) in [(Level::Sizes, &relaxed), (Level::Written, task.trial)] {
        if last.is_err() {
            let proof = AtLevel {
                lenient: true,
                ..at(level, trial)
            };
            last = proof.prove().or(last);
        }
    }
    if last.as_ref().is_ok_and(|proved| proved.ledger.is_complete()) {
        return last;
    }
    // Numbers that are only compared, in every order: a proof that is not complete says no more than the one above.
    let Some(ordered) = scope.ordered() else { return last };
    let proof = AtLevel {
        ordered: Some(&ordered),
        ..at(Level::All, &relaxed)
    };
    match proof.prove() {
        // A certificate has no way to say in which order numbers are.
        Ok(proved) if proved.ledger.is_complete() => Ok(Coverage {
            trail: certificate::Trail::default(),
            ..proved
        }),
        _ => last,
    }
}
