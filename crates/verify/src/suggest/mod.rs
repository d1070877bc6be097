//! Rules from a pair of models: turns the work of another optimizer into rules in the language of rule files.
//!
//! Both graphs are computed on the same data, and values that agree are paired (`matched`). Where a value of the
//! optimized graph is a call that the original lacks, the calls that compute it and those that compute its counterpart
//! are cut out, down to the values that both graphs share: a *region*, which is a rule for these shapes and numbers
//! (`region`). Its text is a draft (`draft`), which is generalized as far as nothing refutes it: types of operands are
//! left open, attributes and constants become variables (`general`). A draft that is wrong in general gets the weakest
//! conditions from [`repair`](crate::repair).

mod draft;
mod general;
mod matched;
mod region;
#[cfg(test)]
mod tests;

use rustc_hash::FxHashSet;

use tautomer_graph::Workload;
use tautomer_op::Scope;
use tautomer_rule::Class;

use self::general::{Searched, generalized};
use self::matched::{matched, merged};
use self::region::{Region, cut};
use crate::graphs::{Options as GraphOptions, Verdict as GraphVerdict, describe, paired, verify_graphs};
use crate::verdict::options::Options;
use crate::verdict::report::Report;

/// How many values of the original, all equal to one of the optimized graph, are tried as the value it replaces.
const ALTERNATIVES: usize = 3;

/// How often a region that gives no rule is made larger.
const DEPTH: usize = 3;

/// A rule that does what another optimizer did in one or more places.
#[derive(Debug, Clone)]
pub struct Suggestion {
    /// The rule with an example, as the text of a rule file.
    pub text: String,
    /// The result of verifying the rule.
    pub report: Report,
    /// The places in the original where it applies: the names of the values it replaces.
    pub places: Vec<String>,
    /// The number of calls that it matches, and of those that replace them.
    pub calls: [usize; 2],
}

/// A difference for which there is no rule.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Left {
    /// The name of the value of the original that is computed in another way.
    pub place: String,
    /// Why there is no rule.
    pub why: String,
}

/// The differences of two models, as rules.
#[derive(Debug, Clone, Default)]
pub struct Suggestions {
    /// The rules, in the order of the original.
    pub rules: Vec<Suggestion>,
    /// Differences for which there is no rule.
    pub left: Vec<Left>,
    /// The number of differences that were not considered, because the search was stopped before.
    pub untried: usize,
    /// Remarks: how inputs and results were paired, and which were left out.
    pub notes: Vec<String>,
}

/// The progress of a search for rules.
#[derive(Debug, Clone, Copy)]
pub struct Sought<'a> {
    /// The number of differences that are done.
    pub done: usize,
    /// The number of all differences.
    pub total: usize,
    /// The number of different changes for which a rule was sought; equal changes count once.
    pub searched: usize,
    /// The rules found so far; more places may be added to them.
    pub rules: &'a [Suggestion],
}

/// Why no rules were looked for.
#[derive(Debug, Clone)]
pub enum Unsuggested {
    /// The models differ, or cannot be compared: the verdict on both.
    NotEqual(Box<GraphVerdict>),
    /// The values inside the models could not be computed, and why.
    NoValues(String),
}

/// Rules that turn one model into another that computes the same: each difference becomes a rule with an example,
/// generalized and verified. `scope` holds the declared operators that the models mention; `each` is called after each
/// difference, and stops the search if it returns `false`.
///
/// ```
/// # use std::sync::Arc;
/// # use tautomer_diag::Source;
/// # use tautomer_graph::*;
/// # use tautomer_lang::parse_program;
/// # use tautomer_verify::{GraphOptions, Options, suggest};
/// let workload = |text: &str| {
///     let program = parse_program(Arc::new(Source::new("example", text))).unwrap();
///     let graph = build_program(&program, &BuildOptions::default()).unwrap();
///     Workload { graph, params: Params::default() }
/// };
/// let original = workload("fn main(x: f32[n, 2]) { tanh(max(x * 2.0, 0.0)) }");
/// let optimized = workload("fn main(x: f32[n, 2]) { tanh(relu(x * 2.0)) }");
/// let found = suggest(&original, &optimized, &Default::default(), &GraphOptions::default(), &Options::default(), &mut |_| true);
/// let found = found.unwrap();
/// assert!(found.rules[0].text.contains("max(x, 0) => relu(x)"), "{}", found.rules[0].text);
/// ```
///
/// # Errors
/// If the models differ, or their values cannot be computed.
pub fn suggest(
    original: &Workload,
    optimized: &Workload,
    scope: &Scope,
    graph_options: &GraphOptions<'_>,
    options: &Options,
    each: &mut dyn FnMut(&Sought<'_>) -> bool,
) -> Result<Suggestions, Unsuggested> {
    let report = verify_graphs(original, optimized, graph_options);
    if matches!(report.verdict, GraphVerdict::Refuted(_) | GraphVerdict::Undecided(_)) {
        return Err(Unsuggested::NotEqual(Box::new(report.verdict)));
    }
    let mut pair = paired(original, optimized).map_err(Unsuggested::NoValues)?;
    pair.original = merged(&pair.original);
    pair.optimized = merged(&pair.optimized);
    let matched = matched(&pair, graph_options).map_err(Unsuggested::NoValues)?;
    let mut out = Suggestions {
        notes: report.notes,
        ..Suggestions::default()
    };
    let search = Searched {
        scope,
        options,
        class: match graph_options.class {
            class @ Class::Approx(_) => class,
            _ => Class::Real,
        },
    };
    // Equal regions, such as those of equal layers, are tried once.
    let mut failed: Vec<(Region, String)> = Vec::new();
    let total = matched.different.len();
    for (done, &(old, new)) in matched.different.iter().enumerate() {
        let searched = out.rules.len() + failed.len();
        let sought = Sought {
            done,
            total,
            searched,
            rules: &out.rules,
        };
        if !each(&sought) {
            out.untried = total - done;
            return Ok(out);
        }
        let place = describe(&pair.original, old);
        let mut reason = None;
        // Values may be equal by chance, as `relu(x)` and `x` where `x` is never negative.
        let counterparts = matched.alternatives(old).take(ALTERNATIVES);
        let is_done = counterparts.into_iter().any(|counterpart| {
            let mut past = FxHashSet::default();
            for _ in 0..DEPTH {
                let region = match cut(&pair, &matched, (counterpart, new), &past) {
                    Ok(region) => region,
                    Err(why) => {
                        reason.get_or_insert(why);
                        return false;
                    }
                };
                // What does not hold of any values may hold because of how they are computed: `relu(x)` is `x` if `x`
                // is `relu(y)`.
                past.extend(region.ends.iter().copied());
                let is_last = region.ends.is_empty();
                match add(&mut out.rules, &mut failed, region, &search, &place) {
                    Ok(()) => return true,
                    Err(why) => {
                        reason.get_or_insert(why);
                    }
                }
                if is_last {
                    break;
                }
            }
            false
        });
        let reason = reason.filter(|_| !is_done);
        if let Some(why) = reason {
            out.left.push(Left { place, why });
        }
    }
    let searched = out.rules.len() + failed.len();
    each(&Sought {
        done: total,
        total,
        searched,
        rules: &out.rules,
    });
    Ok(out)
}

/// Adds a place to the rule that already covers the region, or adds a rule for it.
///
/// # Errors
/// Why there is no rule.
fn add(
    rules: &mut Vec<Suggestion>,
    failed: &mut Vec<(Region, String)>,
    region: Region,
    search: &Searched<'_>,
    place: &str,
) -> Result<(), String> {
    if let Some(known) = rules.iter_mut().find(|rule| search.does(&rule.text, &region)) {
        known.places.push(place.to_owned());
        return Ok(());
    }
    if let Some((_, why)) = failed.iter().find(|(other, _)| other.is_same(&region)) {
        return Err(why.clone());
    }
    let taken: Vec<String> = rules.iter().map(|rule| rule.report.rule.name.to_string()).collect();
    match generalized(&region, search, &taken) {
        Ok((text, report)) => {
            rules.push(Suggestion {
                text,
                report,
                calls: region.calls(),
                places: vec![place.to_owned()],
            });
            Ok(())
        }
        Err(why) => {
            failed.push((region, why.clone()));
            Err(why)
        }
    }
}
