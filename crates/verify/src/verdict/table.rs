//! The table of verdicts, as a Markdown document.

use std::fmt::Write as _;

use super::level::Level;
use super::lock::{Entry, Forms};

/// A Markdown document: the number of rules for each verdict, in total and for each source text, then each rule with
/// its class, its verdict and the evidence for it. Each entry comes with the name of the source text of its rule;
/// sections follow the order in which source texts first appear.
///
/// ```
/// use tautomer_verify::{shipped_rules, shipped_verdict, verdict_table};
/// let rules = shipped_rules().unwrap();
/// let entries = rules.iter().filter_map(|s| Some((&*s.source, shipped_verdict(&s.rule)?)));
/// assert!(verdict_table(&entries.collect::<Vec<_>>()).contains("## `rules/conv.rules`"));
/// ```
pub fn verdict_table(rules: &[(&str, &Entry)]) -> String {
    let mut sources: Vec<(&str, Vec<&Entry>)> = Vec::new();
    for (source, entry) in rules {
        match sources.iter_mut().find(|(name, _)| name == source) {
            Some((_, entries)) => entries.push(entry),
            None => sources.push((source, vec![entry])),
        }
    }
    let all: Vec<&Entry> = rules.iter().map(|(_, entry)| *entry).collect();
    let mut out = String::from(
        "# Verdicts\n\n\
         `tautomer verify --table` writes this page. Each rule was tried at small instances made to break it:\n\n\
         * **proved-all**: both sides are the same at all values and sizes, for everything that the rule admits;\n\
         * **proved**: both sides are the same at all values, at the shapes that were tried, or for all sizes and the \
         ranks, element types, orders and numbers that are named;\n\
         * **tested**: both sides agree at all instances that were tried;\n\
         * **undecided**: nothing was found out;\n\
         * **refuted**: the rule is wrong.\n\n",
    );
    out.push_str("| rules in | rules |");
    for level in Level::ALL {
        let _ = write!(out, " {level} |");
    }
    out.push_str("\n| --- | ---: |");
    out.push_str(&" ---: |".repeat(Level::ALL.len()));
    out.push('\n');
    out.push_str(&row("all", &all));
    for (source, entries) in &sources {
        out.push_str(&row(&title(source), entries));
    }
    for (source, entries) in &sources {
        let _ = write!(
            out,
            "\n## {}\n\n| rule | class | verdict | what was found | at |\n| --- | --- | --- | --- | --- |\n",
            title(source)
        );
        for entry in entries {
            let _ = writeln!(
                out,
                "| `{}` | {} | {} | {} | {} |",
                entry.rule,
                entry.class,
                entry.verdict,
                entry.says.replace('|', "\\|").replace('\n', " "),
                evidence(entry)
            );
        }
    }
    out
}

/// The title for a source: a file name as code; the words between `<` and `>` for rules that are in no file.
fn title(source: &str) -> String {
    match source.strip_prefix('<').and_then(|rest| rest.strip_suffix('>')) {
        Some(words) => words.to_owned(),
        None => format!("`{source}`"),
    }
}

/// The number of entries for each verdict, with percentages.
fn row(title: &str, entries: &[&Entry]) -> String {
    let mut out = format!("| {title} | {} |", entries.len());
    for level in Level::ALL {
        let count = entries.iter().filter(|e| e.verdict == level).count();
        let share = 100.0 * count as f64 / entries.len().max(1) as f64;
        let _ = match count {
            0 => write!(out, " 0 |"),
            _ => write!(out, " {count} ({share:.0} %) |"),
        };
    }
    out.push('\n');
    out
}

/// The evidence for a verdict, in a few words.
fn evidence(entry: &Entry) -> String {
    let plural = if entry.instances == 1 { "" } else { "s" };
    let mut out = String::new();
    if let Some(Forms { forms, cases }) = &entry.proof {
        let count = |n: usize, what: &str| format!("{n} {what}{}", if n == 1 { "" } else { "s" });
        let _ = write!(out, "{} in {}; ", count(*forms, "form"), count(*cases, "case"));
    }
    let _ = write!(out, "{} instance{plural}", entry.instances);
    for (i, (system, count)) in entry.systems.iter().enumerate() {
        let _ = write!(out, "{} {count} {system}", if i == 0 { ":" } else { "," });
    }
    if entry.refused > 0 {
        let _ = write!(out, "; {} not applied", entry.refused);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::verdict::lock::{Forms, VERIFIER};

    #[test]
    fn totals_come_first() {
        let entry = |rule: &str, verdict| Entry {
            file: "a.rules".to_owned(),
            rule: rule.to_owned(),
            class: "bitwise".to_owned(),
            verdict,
            says: format!("{verdict} at | 3"),
            instances: 4,
            systems: [("bits".to_owned(), 1), ("field".to_owned(), 3)].into(),
            proof: (verdict == Level::ProvedAll).then_some(Forms { forms: 2, cases: 9 }),
            refused: 2,
            seed: 0,
            budget: 4,
            attempts: 10,
            strict: false,
            laws: None,
            patterns: 0,
            exhaustive: false,
            without_proof: false,
            verifier: VERIFIER,
            hash: String::new(),
            examples: String::new(),
        };
        let (a, b, c) = (
            entry("a", Level::ProvedAll),
            entry("b", Level::Tested),
            entry("c", Level::ProvedAll),
        );
        let text = verdict_table(&[("x/a.rules", &a), ("<words>", &b), ("x/a.rules", &c)]);
        for line in [
            "| rules in | rules | proved-all | proved | tested | undecided | refuted |",
            "| all | 3 | 2 (67 %) | 0 | 1 (33 %) | 0 | 0 |",
            "| `x/a.rules` | 2 | 2 (100 %) | 0 | 0 | 0 | 0 |",
            "| words | 1 | 0 | 0 | 1 (100 %) | 0 | 0 |",
            "## words",
            "| `c` | bitwise | proved-all | proved-all at \\| 3 | 2 forms in 9 cases; 4 instances: 1 bits, 3 field; 2 not applied |",
        ] {
            assert!(text.lines().any(|l| l == line), "{line:?} is not in\n{text}");
        }
        assert_eq!(text.matches("\n## ").count(), 2);
    }
}
