//! Repair of wrong rules: the weakest conditions of a vocabulary that exclude all counterexamples.
//!
//! All conditions of the vocabulary are evaluated at once for each instance. A candidate is up to three of them that
//! exclude every wrong instance and keep as many right ones as possible. The candidate is verified; a counterexample
//! becomes one more wrong instance, and the choice starts again.

mod choice;
#[cfg(test)]
mod tests;
mod vocabulary;

use std::panic::AssertUnwindSafe;
use std::sync::Arc;

use self::choice::choose;
use self::vocabulary::Vocabulary;
use crate::instance::random::Random;
use crate::instance::recipe::Recipe;
use crate::instance::seeds::{Seeds, seeds};
use crate::rule::search::Search;
use crate::rule::shrink::{Shrinking, shrink};
use crate::rule::{in_order, verify};
use crate::verdict::options::Options;
use crate::verdict::report::Verdict;
use crate::verdict::shipped::Subject;
use tautomer_diag::Source;
use tautomer_lang::parse_rules;
use tautomer_rewrite::Trial;
use tautomer_rule::{Example, Rule, load_checked_rules_in};

/// Limit on the candidates that are verified.
const VERIFIED: usize = 48;

/// The number of searches with other seeds when no repair is found: a search may hit a wrong instance that no condition
/// of the vocabulary distinguishes from right ones.
const TRIES: u64 = 2;

/// The number of searches for a counterexample of a candidate, with a different seed each.
const CHECKS: u64 = 3;

/// Limit on the wrong instances that are shrunk.
const SHRUNK: usize = 3;

/// The factor on the number of instances for the final verification of a repair.
const LARGER: usize = 5;

/// A repair must keep at least one in this many of the right instances.
const KEEPS: usize = 4;

/// A change under which nothing refutes a rule.
#[derive(Debug, Clone)]
pub struct Repair {
    /// The change: added conditions, or attributes of the source.
    pub change: String,
    /// The text of the changed rule.
    pub text: String,
    /// How many of the right instances it keeps.
    pub kept: usize,
    /// How many right instances were found.
    pub of: usize,
}

/// The weakest extra conditions of a vocabulary under which nothing refutes the rule; `None` if there are none.
///
/// ```
/// # use std::sync::Arc;
/// # use tautomer_diag::Source;
/// # use tautomer_lang::parse_rules;
/// # use tautomer_rule::load_rules;
/// # use tautomer_verify::{Options, Verdict, repair, verify};
/// let load = |text: &str| load_rules(parse_rules(Arc::new(Source::new("r.rules", text))).unwrap()).unwrap();
/// let text = "/// Right for one group.\n\
///     rule r(x, w: param, v: param) {\n\
///       conv(x, concat(w, v) {axis = 0}) {..a} => concat(conv(x, w) {..a}, conv(x, v) {..a}) {axis = 1}\n\
///     }";
/// let set = load(text);
/// let options = Options { prove: false, ..Options::default() };
/// // `where x.shape[1] == w.shape[1]`: there is one group.
/// let found = repair(&set.rules[0], &set.examples, &options).unwrap();
/// assert!(found.kept > 0);
/// assert!(!matches!(verify(&load(&found.text).rules[0], &[], &options).verdict, Verdict::Refuted(_)), "{}", found.change);
/// ```
pub fn repair(rule: &Arc<Rule>, examples: &[Example], options: &Options) -> Option<Repair> {
    // A repair found with another seed has to hold with the given one as well.
    others(options, TRIES)
        .filter_map(|other| found(rule, examples, &other))
        .filter(|repair| repair.kept * KEEPS >= repair.of)
        .find(|repair| is_verified(rule, &repair.text, examples, options))
}

/// Looks for repairs of refuted rules on `threads` threads; `each` is called as for [`verify_all`](crate::verify_all).
///
/// # Errors
/// The first error of `each`.
pub fn repair_all<E>(
    subjects: &[&Subject],
    options: &Options,
    threads: usize,
    each: impl FnMut(&Option<Repair>) -> Result<(), E>,
) -> Result<Vec<Option<Repair>>, E> {
    let one = |subject: &&Subject| {
        let repair = AssertUnwindSafe(|| repair(&subject.rule, &subject.examples, options));
        std::panic::catch_unwind(repair).unwrap_or(None)
    };
    in_order(subjects, threads, one, each)
}

/// Whether the rule with that text is proved or tested by a longer search.
fn is_verified(rule: &Arc<Rule>, text: &str, examples: &[Example], options: &Options) -> bool {
    let Some(changed) = load(rule, text) else { return false };
    let longer = Options {
        instances: options.instances.saturating_mul(LARGER),
        ..options.clone()
    };
    others(&longer, 2).all(|options| {
        let report = verify(&changed, examples, &options);
        matches!(
            report.verdict,
            Verdict::ProvedForAll(_) | Verdict::ProvedFor(_) | Verdict::Proved { .. } | Verdict::Tested { .. }
        )
    })
}

/// A repair from the instances that one search finds.
fn found(rule: &Arc<Rule>, examples: &[Example], options: &Options) -> Option<Repair> {
    let (right, wrong) = instances(rule, examples, options);
    if right.is_empty() || wrong.is_empty() {
        return None;
    }
    let vocabulary = vocabulary::vocabulary(rule, &|text| load(rule, text).is_some());
    let all = load(rule, &vocabulary.with_all())?;
    let trial = Trial::new(all);
    let own = rule.conditions.len();
    let facts = |recipe: &Recipe| -> Option<Vec<bool>> {
        let (graph, roots) = recipe.build().ok()?;
        let mut all = trial.conditions(graph, &roots, own)?;
        all.drain(..own);
        Some(all)
    };
    let agreeing = right;
    let right: Vec<Vec<bool>> = agreeing.iter().filter_map(facts).collect();
    let mut wrong: Vec<Vec<bool>> = wrong.iter().filter_map(facts).collect();
    let mut failed: Vec<Vec<usize>> = Vec::new();
    let mut rests = one_rest(rule, &vocabulary, &agreeing);
    for _ in 0..VERIFIED {
        let Some(chosen) = choose(vocabulary.len(), &right, &wrong, &failed) else {
            break;
        };
        let kept = right.iter().filter(|facts| chosen.iter().all(|&i| facts[i])).count();
        // Prefer uniting two rests if that keeps at least as many right instances.
        let better = rests
            .iter()
            .position(|rest| rest.kept >= kept)
            .map(|at| rests.remove(at));
        if let Some(rest) = better.filter(|rest| holds(rule, &rest.text, examples, options)) {
            return Some(rest);
        }
        let text = vocabulary.text(&chosen);
        let found = load(rule, &text).and_then(|changed| counterexample(&changed, examples, options));
        let Some(recipe) = found else {
            return Some(Repair {
                change: vocabulary.describe(&chosen),
                text,
                kept,
                of: right.len(),
            });
        };
        match facts(&recipe).filter(|facts| chosen.iter().all(|&i| facts[i])) {
            Some(facts) => wrong.push(facts),
            None => failed.push(chosen),
        }
    }
    rests
        .into_iter()
        .find(|rest| holds(rule, &rest.text, examples, options))
}

/// Candidates that unite two rests of attributes; those that keep the most instances first.
fn one_rest(rule: &Arc<Rule>, vocabulary: &Vocabulary, right: &[Recipe]) -> Vec<Repair> {
    let kept = |text: &str| {
        let trial = Trial::new(load(rule, text)?);
        Some(right.iter().filter(|recipe| recipe.sides(&trial).is_some()).count())
    };
    let of = right.len();
    let all = vocabulary.one_rest(rule).into_iter().filter_map(|(change, text)| {
        let kept = kept(&text).filter(|kept| *kept > 0)?;
        Some(Repair { change, text, kept, of })
    });
    let mut all: Vec<Repair> = all.collect();
    all.sort_by_key(|repair| std::cmp::Reverse(repair.kept));
    all
}

/// Whether the rule with that text loads, and nothing refutes it.
fn holds(rule: &Arc<Rule>, text: &str, examples: &[Example], options: &Options) -> bool {
    load(rule, text).is_some_and(|changed| counterexample(&changed, examples, options).is_none())
}

/// An instance at which the rule is wrong, if one of several full searches finds one.
fn counterexample(rule: &Arc<Rule>, examples: &[Example], options: &Options) -> Option<Recipe> {
    others(options, CHECKS).find_map(|options| searched(rule, examples, &options))
}

/// The options with different seeds, the given seed first.
fn others(options: &Options, searches: u64) -> impl Iterator<Item = Options> {
    (0..searches).map(|more| Options {
        seed: options.seed.wrapping_add(more),
        ..options.clone()
    })
}

fn searched(rule: &Arc<Rule>, examples: &[Example], options: &Options) -> Option<Recipe> {
    let mut random = Random::part(options.seed, &rule.name);
    let trial = Trial::new(rule.clone());
    let mut search = Search::new(rule, &trial, options);
    let seeds = Seeds::of(rule, &trial, examples);
    let found = search.search(seeds, options, &mut random);
    found.map(|found| found.recipe)
}

/// Instances at which the rule is right, and instances at which it is wrong.
fn instances(rule: &Arc<Rule>, examples: &[Example], options: &Options) -> (Vec<Recipe>, Vec<Recipe>) {
    let mut random = Random::part(options.seed, &rule.name);
    let trial = Trial::new(rule.clone());
    let mut search = Search::new(rule, &trial, options);
    let (mut wrong, mut small) = (Vec::new(), Vec::new());
    let most = options.instances.saturating_mul(options.attempts);
    let mut todo = seeds(rule, &trial, examples);
    todo.reverse();
    while search.report.attempts < most && search.report.instances + wrong.len() < 2 * options.instances {
        let next = match todo.pop() {
            Some(next) => next,
            None => match search.next(&wrong, &mut random) {
                Some(next) => next,
                None => break,
            },
        };
        if let Some(found) = search.attempt(next, &mut random) {
            wrong.push(found.recipe.clone());
            // A small wrong instance shows better which properties are irrelevant.
            if wrong.len() <= SHRUNK {
                let shrinking = Shrinking {
                    strict: options.strict,
                    attempts: options.shrinking,
                };
                let sides = shrink(rule, &trial, found, shrinking, &mut random).sides;
                small.extend(Recipe::of(&sides.graph, &sides.source, &sides.inputs));
            }
        }
    }
    wrong.extend(small);
    (search.agreeing().cloned().collect(), wrong)
}

/// The rule in that text that corresponds to `rule`.
fn load(rule: &Rule, text: &str) -> Option<Arc<Rule>> {
    let file = parse_rules(Arc::new(Source::new("repair", text))).ok()?;
    let set = load_checked_rules_in(file, &rule.scope).ok()?;
    set.rules.iter().find(|r| r.name == rule.name).cloned()
}
