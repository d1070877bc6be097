//! Repair of wrong rules: the weakest conditions of a vocabulary that exclude all counterexamples.
//!
//! All conditions of the vocabulary are evaluated at once for each instance. A candidate is up to three of them that
//! exclude every wrong instance and keep as many right ones as possible. The candidate is verified; a counterexample
//! becomes one more wrong instance, and the choice starts again.

mod vocabulary;

use std::sync::Arc;

use super::shrink::shrink;
use super::{Options, Verdict, random::Random, recipe::Recipe, search::Run, seeds::seeds, verify};
use tautomer_diag::Source;
use tautomer_lang::parse_rules;
use tautomer_rewrite::Trial;
use tautomer_rule::{Example, Rule, load_checked_rules};

use vocabulary::{Vocabulary, vocabulary};

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

/// Limit on the conditions that are combined with others.
const COMBINED: usize = 60;

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
    let words = vocabulary(rule, &|text| load(rule, text).is_some());
    let all = load(rule, &words.with_all())?;
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
    let mut rests = one_rest(rule, &words, &agreeing);
    for _ in 0..VERIFIED {
        let Some(chosen) = choose(&words, &right, &wrong, &failed) else {
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
        let text = words.text(&chosen);
        let found = load(rule, &text).and_then(|changed| counterexample(&changed, examples, options));
        let Some(recipe) = found else {
            return Some(Repair {
                change: words.says(&chosen),
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
fn one_rest(rule: &Arc<Rule>, words: &Vocabulary, right: &[Recipe]) -> Vec<Repair> {
    let kept = |text: &str| {
        let trial = Trial::new(load(rule, text)?);
        let matches = |recipe: &&Recipe| {
            let built = recipe.build().ok();
            built.is_some_and(|(graph, roots)| trial.sides(graph, Some(&roots)).is_some())
        };
        Some(right.iter().filter(matches).count())
    };
    let of = right.len();
    let all = words.one_rest(rule).into_iter().filter_map(|(change, text)| {
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

/// For each condition, which instances satisfy it, as a bit set.
struct Bits {
    columns: Vec<Vec<u64>>,
    rows: usize,
}

impl Bits {
    fn new(words: usize, rows: &[Vec<bool>]) -> Bits {
        let column = |word: usize| {
            let mut bits = vec![0; rows.len().div_ceil(64)];
            for (i, row) in rows.iter().enumerate() {
                bits[i / 64] |= u64::from(row[word]) << (i % 64);
            }
            bits
        };
        Bits {
            columns: (0..words).map(column).collect(),
            rows: rows.len(),
        }
    }

    /// How many instances satisfy all of the conditions.
    fn count(&self, chosen: &[usize]) -> usize {
        let both = |at: usize| chosen.iter().fold(u64::MAX, |all, &i| all & self.columns[i][at]);
        (0..self.rows.div_ceil(64))
            .map(|at| both(at).count_ones() as usize)
            .sum()
    }
}

/// Up to three conditions that exclude all wrong instances and keep the most right ones, preferring fewer conditions.
fn choose(words: &Vocabulary, right: &[Vec<bool>], wrong: &[Vec<bool>], failed: &[Vec<usize>]) -> Option<Vec<usize>> {
    let (right, wrong) = (Bits::new(words.len(), right), Bits::new(words.len(), wrong));
    // A useful condition excludes a wrong instance and keeps a right one.
    let mut useful: Vec<(usize, usize)> = (0..words.len())
        .map(|i| (right.count(&[i]) * (wrong.rows - wrong.count(&[i])), i))
        .filter(|(worth, _)| *worth > 0)
        .collect();
    useful.sort_by_key(|&(worth, i)| (std::cmp::Reverse(worth), i));
    let mut best: Option<(usize, Vec<usize>)> = None;
    let mut offer = |chosen: &[usize]| {
        if wrong.count(chosen) > 0 || failed.iter().any(|f| f == chosen) {
            return;
        }
        // Each additional condition has to keep about a tenth more.
        let worth = right.count(chosen) * (11 - chosen.len());
        if worth > 0 && best.as_ref().is_none_or(|(other, _)| worth > *other) {
            best = Some((worth, chosen.to_vec()));
        }
    };
    let mut all: Vec<usize> = useful.iter().map(|u| u.1).collect();
    all.sort_unstable();
    for &i in &all {
        offer(&[i]);
    }
    all = useful.iter().take(COMBINED).map(|u| u.1).collect();
    all.sort_unstable();
    for (n, &i) in all.iter().enumerate() {
        for (m, &j) in all.iter().enumerate().skip(n + 1) {
            offer(&[i, j]);
            for &k in &all[m + 1..] {
                offer(&[i, j, k]);
            }
        }
    }
    best.map(|(_, chosen)| chosen)
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
    let mut run = Run::new(rule, &trial, options);
    let seeds = seeds(rule, &trial, examples);
    let found = run.search(seeds, options, &mut random);
    found.map(|(recipe, ..)| recipe)
}

/// Instances at which the rule is right, and instances at which it is wrong.
fn instances(rule: &Arc<Rule>, examples: &[Example], options: &Options) -> (Vec<Recipe>, Vec<Recipe>) {
    let mut random = Random::part(options.seed, &rule.name);
    let trial = Trial::new(rule.clone());
    let mut run = Run::new(rule, &trial, options);
    let (mut wrong, mut small) = (Vec::new(), Vec::new());
    let most = options.instances.saturating_mul(options.attempts);
    let mut todo = seeds(rule, &trial, examples);
    todo.reverse();
    while run.report.attempts < most && run.report.instances + wrong.len() < 2 * options.instances {
        let next = match todo.pop() {
            Some(next) => next,
            None => match run.next(&wrong, &mut random) {
                Some(next) => next,
                None => break,
            },
        };
        if let Some(found) = run.attempt(next, &mut random) {
            wrong.push(found.0.clone());
            // A small wrong instance shows better which properties are irrelevant.
            if wrong.len() <= SHRUNK {
                let (sides, _) = shrink(rule, &trial, found, (options.strict, options.shrinking), &mut random);
                small.extend(Recipe::of(&sides.graph, &sides.source, &sides.inputs));
            }
        }
    }
    wrong.extend(small);
    (run.right().cloned().collect(), wrong)
}

/// The rule in that text that corresponds to `rule`.
fn load(rule: &Rule, text: &str) -> Option<Arc<Rule>> {
    let file = parse_rules(Arc::new(Source::new("repair", text))).ok()?;
    let set = load_checked_rules(file).ok()?;
    set.rules.iter().find(|r| r.name == rule.name).cloned()
}
