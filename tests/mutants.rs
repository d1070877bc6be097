//! Wrong rules are refuted: rules made from the shipped ones by one change each, the way mistakes are made.

#[path = "mutants/make.rs"]
mod make;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use tautomer::diag::Source;
use tautomer::lang::parse_rules;
use tautomer::rule::{RuleSet, library_files, library_set_files, load_rules};
use tautomer::verify::{Options, Verdict, verify};

use make::{Mutant, mutants};

/// What became of a mutant.
#[derive(Debug, Clone)]
enum Outcome {
    Refused(String),
    Refuted(String),
    Survived(String),
}

fn load(text: &str) -> Result<RuleSet, String> {
    parse_rules(Arc::new(Source::new("mutant.rules", text)))
        .and_then(load_rules)
        .map_err(|e| e.iter().next().map_or_else(String::new, |p| format!("{}: {}", p.code, p.message)))
}

fn judge(mutant: &Mutant, options: &Options) -> Outcome {
    let set = match load(&mutant.text) {
        Ok(set) => set,
        Err(problem) => return Outcome::Refused(problem),
    };
    let mut said = Vec::new();
    for rule in &set.rules {
        let report = verify(rule, examples(), options);
        if let Verdict::Refuted(example) = &report.verdict {
            return Outcome::Refuted(example.fault.to_string());
        }
        said.push(format!("{} ({} instances, {} refused, {} attempts)", report.verdict, report.instances, report.refused, report.attempts));
    }
    Outcome::Survived(said.join(" / "))
}

fn all() -> Vec<Mutant> {
    let sets = library_set_files().iter().flat_map(|(_, files)| files.iter());
    let mut out = Vec::new();
    for (name, text) in library_files().iter().chain(sets) {
        let file = parse_rules(Arc::new(Source::new(*name, *text))).unwrap_or_else(|e| panic!("{}", e.render(false)));
        out.extend(mutants(&file));
    }
    out
}

/// A number that is spread evenly and is the same each time.
fn hash(text: &str) -> u64 {
    let hash = text.bytes().fold(0xcbf2_9ce4_8422_2325, |h: u64, b| {
        (h ^ u64::from(b)).wrapping_mul(0x0100_0000_01b3)
    });
    (hash ^ (hash >> 31)).wrapping_mul(0x94d0_49bb_1331_11eb)
}

fn outcomes(chosen: &[Mutant], options: &Options) -> Vec<(Outcome, Duration)> {
    let next = AtomicUsize::new(0);
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    let mut out: Vec<(usize, (Outcome, Duration))> = std::thread::scope(|scope| {
        let work = || {
            let mut done = Vec::new();
            loop {
                let at = next.fetch_add(1, Ordering::Relaxed);
                let Some(mutant) = chosen.get(at) else { return done };
                let start = Instant::now();
                let outcome = judge(mutant, options);
                done.push((at, (outcome, start.elapsed())));
            }
        };
        let handles: Vec<_> = (0..threads).map(|_| scope.spawn(work)).collect();
        handles.into_iter().flat_map(|h| h.join().unwrap()).collect()
    });
    out.sort_by_key(|(at, _)| *at);
    out.into_iter().map(|(_, found)| found).collect()
}

#[test]
fn wrong_rules_are_refuted() {
    let all = all();
    let mut kinds: BTreeMap<&str, usize> = BTreeMap::new();
    for mutant in &all {
        *kinds.entry(mutant.kind).or_default() += 1;
    }
    println!("{} mutants: {kinds:?}", all.len());
    let most: usize = std::env::var("TAUTOMER_MUTANTS").ok().and_then(|n| n.parse().ok()).unwrap_or(400);
    let mut chosen = all;
    chosen.sort_by_key(|m| hash(&m.name()));
    chosen.truncate(most);
    let options = Options { strict: std::env::var("STRICT").is_ok(), ..Options::default() };
    let start = Instant::now();
    let found = outcomes(&chosen, &options);
    let mut counts = [0; 3];
    let mut slow: Vec<(Duration, String)> = Vec::new();
    for (mutant, (outcome, time)) in chosen.iter().zip(&found) {
        slow.push((*time, mutant.name()));
        match outcome {
            Outcome::Refused(why) => { counts[0] += 1; if std::env::var("SHOW_REFUSED").is_ok() { println!("REFUSED {}: {why}", mutant.name()) } }
            Outcome::Refuted(_) => counts[1] += 1,
            Outcome::Survived(what) => {
                counts[2] += 1;
                println!("SURVIVED {}: {what}", mutant.name());
            }
        }
    }
    slow.sort();
    for (time, name) in slow.iter().rev().take(12) { println!("{time:?} {name}"); }
    println!("refused {}, refuted {}, survived {} in {:?}", counts[0], counts[1], counts[2], start.elapsed());
}

fn examples() -> &'static [tautomer::rule::Example] {
    static ALL: std::sync::OnceLock<Vec<tautomer::rule::Example>> = std::sync::OnceLock::new();
    if std::env::var("NO_EXAMPLES").is_ok() { return &[] }
    ALL.get_or_init(|| {
        let mut all = tautomer::rule::library().unwrap().examples.clone();
        for (name, _) in library_set_files() { all.extend(tautomer::rule::library_set(name).unwrap().unwrap().examples) }
        all
    })
}

#[test]
fn right_rules_without_examples() {
    let mut all = tautomer::rule::library().unwrap().rules.clone();
    for (name, _) in library_set_files() { all.extend(tautomer::rule::library_set(name).unwrap().unwrap().rules) }
    let options = Options::default();
    let (mut i, mut a, mut r) = (0, 0, 0);
    let start = Instant::now();
    for rule in &all {
        let report = verify(rule, examples(), &options);
        i += report.instances; a += report.attempts; r += report.refused;
        if report.instances < 30 || report.refused > report.instances / 2 || matches!(report.verdict, Verdict::Refuted(_)) { println!("{}: {} ({} instances, {} refused, {} attempts)", rule.name, report.verdict, report.instances, report.refused, report.attempts); }
    }
    println!("{i} instances {r} refused {a} attempts {:?}", start.elapsed());
}
