//! The rules document: its table of the library is current, its points have examples, its passes have rules.

use std::fmt::Write as _;

use tautomer::rule::library_files;

use super::files::{files, parse};

/// The table of the library in `rules/README.md`.
fn table() -> String {
    let mut out = String::new();
    for (name, text) in library_files() {
        let set = parse(name, text);
        let _ = write!(
            out,
            "\n### `{name}`\n\n| rule | algebra | class |\n| --- | --- | --- |\n"
        );
        for rule in set.rules.iter().filter(|r| !r.name.ends_with("-reversed")) {
            let doc = rule.doc.trim().replace('\n', " ").replace('|', "\\|");
            let assuming = rule
                .assuming
                .iter()
                .fold(String::new(), |s, a| format!("{s}, assuming `{a}`"));
            let _ = writeln!(out, "| `{}` | {doc} | {}{assuming} |", rule.name, rule.class);
        }
    }
    out
}

#[test]
fn readme_is_current() {
    const BEGIN: &str = "<!-- table of the library -->\n";
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/rules/README.md");
    let text = std::fs::read_to_string(path).unwrap_or_default();
    let head = text.split(BEGIN).next().unwrap_or("");
    let wanted = format!("{head}{BEGIN}{}", table());
    if std::env::var_os("UPDATE_RULES_README").is_some() {
        std::fs::write(path, wanted).unwrap_or_else(|e| panic!("{e}"));
    } else {
        assert!(
            text == wanted,
            "rules/README.md is stale: run the test with UPDATE_RULES_README=1"
        );
    }
}

/// The part of a document below a heading, up to the next heading of the same or a higher level.
fn section<'a>(text: &'a str, heading: &str) -> &'a str {
    let (level, _) = heading.split_once(' ').unwrap();
    let from = text
        .find(&format!("\n{heading}\n"))
        .unwrap_or_else(|| panic!("no `{heading}`"))
        + heading.len()
        + 2;
    let rest = &text[from..];
    let ends = |n: &usize| rest.find(&format!("\n{} ", "#".repeat(*n)));
    let end = (1..=level.len()).filter_map(|n| ends(&n)).min().unwrap_or(rest.len());
    &rest[..end]
}

#[test]
fn each_point_has_a_worked_example() {
    let text = include_str!("../../../rules/README.md");
    for point in ["Naming", "Class", "Conditions", "Direction", "Growth", "Families"] {
        let part = section(text, &format!("### {point}"));
        assert!(
            part.contains("```rules\n") && part.contains("\nexample "),
            "`{point}` has no worked example"
        );
    }
}

#[test]
fn passes_of_other_tools_have_rules_or_reasons() {
    let names: Vec<&str> = files().iter().flat_map(|f| &f.set.rules).map(|r| &*r.name).collect();
    let part = section(include_str!("../../../rules/README.md"), "## What other tools rewrite");
    let rows: Vec<&str> = part
        .lines()
        .filter(|l| l.starts_with("| ") && !l.starts_with("| pass") && !l.starts_with("| ---"))
        .collect();
    assert!(rows.len() > 90, "{} passes", rows.len());
    for row in rows {
        let answer = row.split('|').nth(2).unwrap_or_default().trim();
        assert!(!answer.is_empty(), "neither rule nor reason: {row}");
        for name in answer.split('`').skip(1).step_by(2).filter(|name| name.contains('-')) {
            assert!(names.contains(&name), "there is no rule `{name}`: {row}");
        }
    }
}
