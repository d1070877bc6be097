//! Wrong rules are refuted: each is made from a shipped rule by one change that resembles a typical mistake.
//!
//! `TAUTOMER_MUTANTS=4000` checks that many of them instead of a few hundred, and `TAUTOMER_MUTANTS_SHOW=1` prints the
//! outcome of each.

mod equivalent;
mod make;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex};

use rayon::prelude::*;
use tautomer::diag::Source;
use tautomer::lang::parse_rules;
use tautomer::rule::{RuleSet, library_files, library_set_files, load_checked_rules, load_rules};
use tautomer::verify::{Fault, Options, Verdict, verify};

use self::equivalent::EQUIVALENT;
use self::make::{Mutant, mutants};

/// The number of mutants to check.
const TRIED: usize = 420;

/// The outcome of a mutant.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Outcome {
    /// The loader rejects it.
    Unloadable(String),
    /// It is refuted.
    Refuted,
    /// It is refuted only because of the type of its target, where no engine would apply it. Either it has another type
    /// nearly everywhere, or somewhere where the original rule does not.
    OtherType,
    /// The verifier decides nothing: the target is never built, or nothing is found that the source matches.
    Undecided,
    /// It is not refuted.
    Survived(String),
}

/// The rules from which mutants are made.
struct Shipped {
    mutants: Vec<Mutant>,
    rules: RuleSet,
    /// Whether both sides of a rule have the same types at all instances.
    typed: Mutex<BTreeMap<String, bool>>,
}

fn shipped() -> Shipped {
    // Rules of declared operators are left out: instances of bodies that long take most of the time of all mutants.
    let sets = library_set_files().iter().filter(|(name, _)| *name != "onnxruntime");
    let sets = sets.flat_map(|(_, files)| files.iter());
    let (mut all, mut rules) = (Vec::new(), RuleSet::default());
    for (name, text) in library_files().iter().chain(sets) {
        let file = parse_rules(Arc::new(Source::new(*name, *text))).unwrap_or_else(|e| panic!("{}", e.render(false)));
        all.extend(mutants(&file));
        rules.extend(load_checked_rules(file).unwrap_or_else(|e| panic!("{}", e.render(false))));
    }
    Shipped {
        mutants: all,
        rules,
        typed: Mutex::new(BTreeMap::new()),
    }
}

impl Shipped {
    fn judge(&self, mutant: &Mutant, options: &Options) -> Outcome {
        let set = match parse_rules(Arc::new(Source::new("mutant.rules", &*mutant.text))).and_then(load_rules) {
            Ok(set) => set,
            Err(e) => return Outcome::Unloadable(e.iter().next().map_or_else(String::new, |p| p.message.clone())),
        };
        let strict = Options {
            strict: true,
            ..options.clone()
        };
        let refuted = |set: &RuleSet, options: &Options| {
            let (mut said, mut decided) = (Vec::new(), true);
            for rule in &set.rules {
                let report = verify(rule, &self.rules.examples, options);
                if let Verdict::Refuted(example) = &report.verdict {
                    return Err(example.fault);
                }
                decided &= !matches!(report.verdict, Verdict::Undecided(_));
                said.push(format!("{} ({} refused)", report.verdict, report.refused));
            }
            Ok((said.join(" / "), decided))
        };
        match refuted(&set, options) {
            Err(Fault::Types) => Outcome::OtherType,
            Err(_) => Outcome::Refuted,
            Ok(_) if refuted(&set, &strict).is_err() && self.is_typed(&mutant.rule, &strict) => Outcome::OtherType,
            Ok((_, false)) => Outcome::Undecided,
            Ok((said, true)) => Outcome::Survived(said),
        }
    }

    fn is_typed(&self, name: &str, strict: &Options) -> bool {
        if let Some(known) = self.typed.lock().unwrap().get(name) {
            return *known;
        }
        let mut own = self
            .rules
            .rules
            .iter()
            .filter(|r| r.name.trim_end_matches("-reversed") == name);
        let typed = own.all(|r| !matches!(verify(r, &self.rules.examples, strict).verdict, Verdict::Refuted(_)));
        self.typed.lock().unwrap().insert(name.to_owned(), typed);
        typed
    }

    /// The outcomes of the mutants, computed on all cores.
    #[expect(clippy::print_stdout, reason = "shown as they come, where that is asked for")]
    fn outcomes(&self, chosen: &[&Mutant], options: &Options) -> Vec<Outcome> {
        let outcome = |mutant: &&Mutant| {
            let outcome = self.judge(mutant, options);
            if std::env::var_os("TAUTOMER_MUTANTS_SHOW").is_some() {
                println!("{outcome:?} {}", mutant.name());
            }
            outcome
        };
        chosen.par_iter().map(outcome).collect()
    }
}

/// An evenly distributed number that is the same in every run: FNV-1a, mixed.
fn hash(text: &str) -> u64 {
    let hash = text.bytes().fold(0xcbf2_9ce4_8422_2325, |h: u64, b| {
        (h ^ u64::from(b)).wrapping_mul(0x0100_0000_01b3)
    });
    (hash ^ (hash >> 31)).wrapping_mul(0x94d0_49bb_1331_11eb)
}

/// Some of the mutants, spread over rules and kinds of change: each kind in turn contributes one from a rule that has
/// contributed few.
fn spread(all: &[Mutant], most: usize) -> Vec<&Mutant> {
    let mut kinds: BTreeMap<&str, Vec<&Mutant>> = BTreeMap::new();
    for mutant in all {
        kinds.entry(mutant.kind).or_default().push(mutant);
    }
    for list in kinds.values_mut() {
        list.sort_by_key(|m| hash(&m.name()));
        let mut seen: BTreeMap<&str, usize> = BTreeMap::new();
        let mut rounds: Vec<(usize, &Mutant)> = Vec::new();
        for mutant in list.iter() {
            let round = seen.entry(&mutant.rule).or_default();
            rounds.push((*round, mutant));
            *round += 1;
        }
        rounds.sort_by_key(|(round, _)| *round);
        *list = rounds.into_iter().map(|(_, m)| m).rev().collect();
    }
    let mut out = Vec::new();
    while out.len() < most && kinds.values().any(|list| !list.is_empty()) {
        for list in kinds.values_mut() {
            out.extend(list.pop());
        }
    }
    out.truncate(most);
    out
}

#[test]
#[cfg_attr(
    debug_assertions,
    ignore = "takes minutes without optimization; `.ci/run` runs it in release"
)]
#[expect(clippy::print_stdout, reason = "the numbers are what the test is for")]
fn mutants_are_refuted() {
    let number = |name: &str| std::env::var(name).ok().and_then(|n| n.parse::<usize>().ok());
    let shipped = shipped();
    let chosen = spread(&shipped.mutants, number("TAUTOMER_MUTANTS").unwrap_or(TRIED));
    let options = Options {
        instances: 130,
        prove: false,
        shrinking: 0,
        ..Options::default()
    };
    let outcomes = shipped.outcomes(&chosen, &options);
    let known: BTreeMap<&str, &str> = EQUIVALENT.iter().copied().collect();
    let made: BTreeSet<String> = shipped.mutants.iter().map(Mutant::name).collect();
    let gone: Vec<&&str> = known.keys().filter(|name| !made.contains(**name)).collect();
    assert!(gone.is_empty(), "said to be equivalent, and not made: {gone:#?}");
    let (mut refuted, mut other_type, mut undecided, mut equal, mut unloadable) = (0, 0, 0, 0, 0);
    let mut survived = Vec::new();
    let mut false_claims = Vec::new();
    for (mutant, outcome) in chosen.iter().zip(&outcomes) {
        let name = mutant.name();
        match outcome {
            Outcome::Unloadable(_) => unloadable += 1,
            Outcome::Refuted if known.contains_key(&*name) => false_claims.push(name),
            Outcome::Refuted => refuted += 1,
            Outcome::OtherType => other_type += 1,
            Outcome::Undecided if known.contains_key(&*name) => equal += 1,
            Outcome::Undecided => undecided += 1,
            Outcome::Survived(_) if known.contains_key(&*name) => equal += 1,
            Outcome::Survived(said) => survived.push(format!("{name}: {said}")),
        }
    }
    let kinds: BTreeSet<&str> = chosen.iter().map(|m| m.kind).collect();
    let unequal = refuted + other_type + undecided + survived.len();
    println!(
        "{} mutants of {} kinds from {} that can be made: {unloadable} are refused by the loader, {equal} are equal to what \
         they were made from; of {unequal} wrong ones {} are refuted ({other_type} for the type of their target alone), and \
         {undecided} are undecided",
        chosen.len(),
        kinds.len(),
        shipped.mutants.len(),
        refuted + other_type,
    );
    for survivor in &survived {
        println!("not refuted: {survivor}");
    }
    assert!(
        false_claims.is_empty(),
        "said to be equivalent, and refuted: {false_claims:#?}"
    );
    assert!(
        unequal >= 300 || chosen.len() < TRIED,
        "{unequal} wrong rules are too few"
    );
    assert!(
        10 * undecided <= unequal,
        "{undecided} of {unequal} are undecided: search has lost its way"
    );
    assert!(
        100 * survived.len() <= unequal,
        "{} of {unequal} are not refuted",
        survived.len()
    );
}
