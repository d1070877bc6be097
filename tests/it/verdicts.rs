//! Every rule that comes with the tool has a stored verdict that is current and not a refutation; the table in the
//! documents shows these verdicts.

use std::collections::BTreeSet;
use std::path::Path;

use tautomer::diag::Source;
use tautomer::lang::parse_rules;
use tautomer::rule::load_checked_rules;
use tautomer::verify::{
    Entry, LOCK_NAME, Level, Lock, Options, Subject, VERIFIER, examples_fingerprint, fingerprint, place_of,
    shipped_locks, shipped_rules, shipped_verdict, verdict_table, verify_all,
};

/// The command that updates locks and table.
const COMMAND: &str = "tautomer verify --built-in --lock --table -o rules/VERDICTS.md";

fn none(problems: &[String]) {
    assert!(problems.is_empty(), "\n{}\nrun `{COMMAND}`", problems.join("\n"));
}

#[test]
fn every_shipped_rule_has_a_current_verdict() {
    let mut problems = Vec::new();
    let mut rules = BTreeSet::new();
    for subject in shipped_rules().unwrap_or_else(|e| panic!("{}", e.render(false))) {
        let name = &subject.rule.name;
        match shipped_verdict(&subject.rule) {
            None => problems.push(format!("{}: `{name}` has no verdict", subject.source)),
            Some(e) if e.verifier != VERIFIER => problems.push(format!("`{name}` was tried by another verifier")),
            Some(e) if e.hash != fingerprint(&subject.rule) => problems.push(format!("`{name}` has changed")),
            Some(e) if e.examples != examples_fingerprint(&subject.rule, &subject.examples) => {
                problems.push(format!("`{name}` has other examples"));
            }
            Some(e) if e.class != subject.rule.class.to_string() => {
                problems.push(format!("`{name}` is no {}", e.class))
            }
            Some(_) => {}
        }
        let (folder, file) = place_of(&subject.source);
        rules.insert((folder.to_owned(), file.to_owned(), name.to_string()));
    }
    assert!(rules.len() > 400, "{} rules", rules.len());
    for (folder, lock) in shipped_locks() {
        for e in lock.entries() {
            if !rules.contains(&((*folder).to_owned(), e.file.clone(), e.rule.clone())) {
                problems.push(format!("{folder}/{}: there is no rule `{}`", e.file, e.rule));
            }
        }
    }
    none(&problems);
}

#[test]
fn no_shipped_rule_is_refuted_or_undecided() {
    let entries = shipped_locks().flat_map(|(_, lock)| lock.entries());
    let doubtful = entries.filter(|e| e.verdict < Level::Tested);
    none(
        &doubtful
            .map(|e| format!("`{}` is {}", e.rule, e.says))
            .collect::<Vec<_>>(),
    );
}

#[test]
fn shipped_verdicts_rest_on_the_whole_budget() {
    let options = tautomer::verify::Options::default();
    let entries: Vec<&Entry> = shipped_locks().flat_map(|(_, lock)| lock.entries()).collect();
    let short: Vec<&&Entry> = entries.iter().filter(|e| !e.covers(&options, &e.examples)).collect();
    none(
        &short
            .iter()
            .map(|e| {
                format!(
                    "`{}` was tried less: {} instances, {} numbers",
                    e.rule, e.budget, e.patterns
                )
            })
            .collect::<Vec<_>>(),
    );
}

#[test]
fn locks_are_as_they_are_written() {
    for (folder, lock) in shipped_locks() {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(folder).join(LOCK_NAME);
        let text = std::fs::read_to_string(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
        assert_eq!(Lock::parse(&text).as_ref(), Ok(lock), "{}", path.display());
        assert_eq!(lock.to_string(), text, "{}", path.display());
    }
}

#[test]
fn the_table_is_current() {
    let rules = shipped_rules().unwrap_or_else(|e| panic!("{}", e.render(false)));
    let entries: Vec<(&str, &Entry)> = rules
        .iter()
        .filter_map(|s| Some((&*s.source, shipped_verdict(&s.rule)?)))
        .collect();
    let text = std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("rules/VERDICTS.md"));
    assert!(
        text.unwrap_or_default() == verdict_table(&entries),
        "rules/VERDICTS.md is stale: run `{COMMAND}`"
    );
}

/// The README states how many rules have which verdict.
#[test]
fn the_readme_counts_the_verdicts() {
    let entries: Vec<&Entry> = shipped_locks().flat_map(|(_, lock)| lock.entries()).collect();
    let count = |level| entries.iter().filter(|e| e.verdict == level).count();
    let wanted = format!(
        "all {} rules that come with the tool: {} are proved in full, {} in part, {} tested",
        entries.len(),
        count(Level::ProvedAll),
        count(Level::Proved),
        count(Level::Tested)
    );
    let words: Vec<&str> = include_str!("../../README.md").split_whitespace().collect();
    assert!(words.join(" ").contains(&wanted), "the README lacks: {wanted}");
}

/// Wrong rules that were once reported as proved: none is proved for all sizes, and most are refuted.
#[test]
fn no_wrong_rule_is_proved_for_all() {
    let Some(attack) = tautomer_testing::shared_data("attack") else {
        return;
    };
    let mut files: Vec<_> = std::fs::read_dir(attack)
        .unwrap()
        .map(|e| e.unwrap().path())
        .filter(|p| p.extension().is_some_and(|e| e == "rules"))
        .collect();
    files.sort();
    assert!(files.len() > 20);
    let subjects: Vec<Subject> = files
        .iter()
        .flat_map(|path| {
            let text = std::fs::read_to_string(path).unwrap();
            let source = Source::new(path.file_name().unwrap().to_string_lossy(), text);
            let set = parse_rules(std::sync::Arc::new(source)).and_then(load_checked_rules);
            let set = set.unwrap_or_else(|e| panic!("{}", e.render(false)));
            Subject::of(&set.rules, set.examples.into()).collect::<Vec<_>>()
        })
        .collect();
    let subjects: Vec<&Subject> = subjects.iter().collect();
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    let all = verify_all(&subjects, &Options::default(), threads, |_, r| r, |_| Ok::<(), ()>(())).unwrap();
    let wrong: Vec<String> = all
        .iter()
        .filter(|r| r.verdict.level() == Level::ProvedAll)
        .map(|r| r.rule.name.to_string())
        .collect();
    assert!(wrong.is_empty(), "proved for all sizes: {}", wrong.join(", "));
    let refuted = all.iter().filter(|r| r.verdict.level() == Level::Refuted).count();
    assert!(2 * refuted > all.len(), "{refuted} of {} are refuted", all.len());
}
