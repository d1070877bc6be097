//! Conditions under which a wrong rule is right: the weakest ones of a vocabulary that no counterexample fulfils.
//!
//! All conditions of the vocabulary are evaluated at each instance at once. A repair is up to three of them that
//! exclude each wrong instance and keep as many right ones as possible. It is verified; a counterexample is one more
//! wrong instance, and the choice begins again.

mod vocabulary;

use std::sync::Arc;

use super::shrink::shrink;
use super::{Options, Verdict, random::Random, recipe::Recipe, search::Run, seeds::seeds, verify};
use crate::diag::Source;
use crate::lang::parse_rules;
use crate::rewrite::Trial;
use crate::rule::{Example, Rule, load_checked_rules};

use vocabulary::{Vocabulary, vocabulary};

/// Repairs that are verified.
const VERIFIED: usize = 48;

/// Searches that begin with other random numbers, where the one before finds no repair: a wrong instance may be such
/// that no words tell it from right ones.
const TRIES: u64 = 2;

/// Searches for a counterexample of what is to be a repair, each with other random numbers.
const CHECKS: u64 = 3;

/// Wrong instances that are made smaller.
const SHRUNK: usize = 3;

/// How many times as many instances a repair is tried at before it is shown.
const LARGER: usize = 5;

/// A repair keeps at least one of so many right instances.
const KEEPS: usize = 4;

/// Conditions that are combined with others.
const COMBINED: usize = 60;

/// A condition that makes a rule right, as far as it is tried.
#[derive(Debug, Clone)]
pub struct Repair {
    /// What is added: conditions, or attributes of the source.
    pub change: String,
    /// The rule with it.
    pub text: String,
    /// Right instances that it keeps, of all that were found.
    pub kept: usize,
    /// Right instances that were found.
    pub of: usize,
}

/// The weakest extra conditions of a vocabulary under which nothing refutes the rule; nothing, if there are none.
///
/// ```
/// # use std::sync::Arc;
/// # use tautomer::{diag::Source, lang::parse_rules, rule::load_rules, verify::{Options, Verdict, repair, verify}};
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
    // What other instances suggest has to hold for the usual ones as well.
    others(options, TRIES)
        .filter_map(|other| found(rule, examples, &other))
        .filter(|repair| repair.kept * KEEPS >= repair.of)
        .find(|repair| is_verified(rule, &repair.text, examples, options))
}

/// Whether the rule of that text has a verdict as rules of files have, after a longer search, and is not refuted.
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
        // What says that two rests are the same keeps as much, or more.
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

/// Repairs that make one of two rests that may differ; those that keep the most first.
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

/// Whether the rule of that text loads, and nothing refutes it.
fn holds(rule: &Arc<Rule>, text: &str, examples: &[Example], options: &Options) -> bool {
    load(rule, text).is_some_and(|changed| counterexample(&changed, examples, options).is_none())
}

/// Which instances fulfil each condition, as bits.
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

    /// How many instances fulfil all of the conditions.
    fn count(&self, chosen: &[usize]) -> usize {
        let both = |at: usize| chosen.iter().fold(u64::MAX, |all, &i| all & self.columns[i][at]);
        (0..self.rows.div_ceil(64))
            .map(|at| both(at).count_ones() as usize)
            .sum()
    }
}

/// Up to three conditions that exclude all wrong instances: those that keep the most, and fewer rather than more.
fn choose(words: &Vocabulary, right: &[Vec<bool>], wrong: &[Vec<bool>], failed: &[Vec<usize>]) -> Option<Vec<usize>> {
    let (right, wrong) = (Bits::new(words.len(), right), Bits::new(words.len(), wrong));
    // What excludes nothing says nothing, and what keeps nothing is no repair.
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
        // One more condition has to keep a tenth more.
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

/// An instance at which the rule is wrong, if one of several searches as long as that of a verdict finds one.
fn counterexample(rule: &Arc<Rule>, examples: &[Example], options: &Options) -> Option<Recipe> {
    others(options, CHECKS).find_map(|options| searched(rule, examples, &options))
}

/// The options of searches with other random numbers, the given ones first.
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

/// Instances at which the rule is right, and at which it is wrong.
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
            // A small one says more of what is not needed to be wrong.
            if wrong.len() <= SHRUNK {
                let (sides, _) = shrink(rule, &trial, found, (options.strict, options.shrinking), &mut random);
                small.extend(Recipe::of(&sides.graph, &sides.source, &sides.inputs));
            }
        }
    }
    wrong.extend(small);
    (run.right().cloned().collect(), wrong)
}

/// The rule of that text which takes the place of `rule`.
fn load(rule: &Rule, text: &str) -> Option<Arc<Rule>> {
    let file = parse_rules(Arc::new(Source::new("repair", text))).ok()?;
    let set = load_checked_rules(file).ok()?;
    set.rules.iter().find(|r| r.name == rule.name).cloned()
}
