//! The code blocks of the documents: programs are built, printed and parsed again, rules are loaded, and blocks marked
//! `fail` are rejected.

use std::path::Path;
use std::sync::Arc;

use tautomer::diag::{Diagnostics, Source, explain};
use tautomer::graph::{BuildOptions, Graph, Params, Session, Workload, build_program, same_graph, to_program};
use tautomer::lang::{Compat, format_program, format_rules, parse_program, parse_rules, parse_script};
use tautomer::pipeline::{Options, optimize};
use tautomer::rewrite::{Limits, encode, encode_into, saturate};
use tautomer::rule::{Example, ExampleKind, RuleSet, load_rules};

use crate::command::run;

const README: &str = include_str!("../../README.md");
const LANGUAGE: &str = include_str!("../../grammar/README.md");
const RULES: &str = include_str!("../../rules/README.md");
const OWN_RULES: &str = include_str!("../../docs/own-rules.md");
const TARGETS: &str = include_str!("../../docs/targets.md");
const CONTRIBUTING: &str = include_str!("../../CONTRIBUTING.md");
const BENCHES: &str = include_str!("../../benches/README.md");

/// A fenced block of a document.
struct Block {
    /// Document and line, for messages.
    place: String,
    /// `taut`, `rules`
    kind: String,
    /// Marked `fail`.
    fails: bool,
    text: String,
}

fn blocks(document: &str, text: &str) -> Vec<Block> {
    let mut out: Vec<Block> = Vec::new();
    let mut open = false;
    for (i, line) in text.lines().enumerate() {
        // Blocks inside lists are indented.
        if let Some(info) = line.trim_start().strip_prefix("```") {
            open = !open;
            if open {
                let mut words = info.split(',');
                out.push(Block {
                    place: format!("{document}:{}", i + 1),
                    kind: words.next().unwrap_or_default().to_owned(),
                    fails: words.any(|word| word == "fail"),
                    text: String::new(),
                });
            }
        } else if let (true, Some(block)) = (open, out.last_mut()) {
            block.text.push_str(line);
            block.text.push('\n');
        }
    }
    assert!(!open, "{document} ends inside a block");
    out
}

fn all(kind: &str) -> Vec<Block> {
    let documents = [
        ("README.md", README),
        ("docs/own-rules.md", OWN_RULES),
        ("docs/targets.md", TARGETS),
        ("grammar/README.md", LANGUAGE),
        ("rules/README.md", RULES),
        ("CONTRIBUTING.md", CONTRIBUTING),
    ];
    let blocks = documents.into_iter().flat_map(|(name, text)| blocks(name, text));
    blocks.filter(|block| block.kind == kind).collect()
}

fn build(name: &str, text: &str) -> Result<Graph, Diagnostics> {
    let program = parse_program(Arc::new(Source::new(name, text)))?;
    build_program(&program, &BuildOptions::default())
}

/// The block is rejected, and every code of the message has an explanation.
fn refused(block: &Block, problems: Option<Diagnostics>) {
    let Some(problems) = problems else {
        panic!("{} is marked `fail` and has no problem", block.place);
    };
    assert!(problems.has_errors(), "{}: no error\n{problems}", block.place);
    for problem in problems.iter() {
        assert!(
            explain(problem.code).is_some(),
            "{}: {} is not explained",
            block.place,
            problem.code
        );
    }
}

#[test]
fn programs_of_the_documents_work() {
    let blocks = all("taut");
    assert!(blocks.len() > 15);
    for block in &blocks {
        let built = build(&block.place, &block.text);
        if block.fails {
            refused(block, built.err());
            continue;
        }
        let graph = built.unwrap_or_else(|problems| panic!("{}\n{problems}", block.place));
        let printed = format_program(&to_program(&graph));
        let again =
            build(&block.place, &printed).unwrap_or_else(|problems| panic!("{}\n{printed}\n{problems}", block.place));
        if let Err(difference) = same_graph(&graph, &again) {
            panic!("{} changes when it is printed: {difference}\n{printed}", block.place);
        }
    }
}

#[test]
fn scripts_of_the_documents_are_right() {
    let blocks = all("script");
    assert!(blocks.len() > 1);
    for block in &blocks {
        let source = Arc::new(Source::new(&*block.place, &*block.text));
        let mut session = Session::new(Compat::Off, 0);
        let added = parse_script(source, Compat::Off).and_then(|script| session.add_all(&script));
        match added {
            Ok(_) if block.fails => refused(block, None),
            Err(problems) if block.fails => refused(block, Some(problems)),
            Ok(steps) => assert!(!steps.is_empty(), "{}", block.place),
            Err(problems) => panic!("{}\n{problems}", block.place),
        }
    }
}

#[test]
fn rules_of_the_documents_load() {
    let blocks = all("rules");
    assert!(blocks.len() > 15);
    for block in &blocks {
        let load = |text: &str| parse_rules(Arc::new(Source::new(&block.place, text))).and_then(load_rules);
        let loaded = load(&block.text);
        if block.fails {
            refused(block, loaded.err());
            continue;
        }
        let set = loaded.unwrap_or_else(|problems| panic!("{}\n{problems}", block.place));
        let parsed = parse_rules(Arc::new(Source::new(&block.place, &block.text))).unwrap();
        let printed = format_rules(&parsed);
        let again = load(&printed).unwrap_or_else(|problems| panic!("{}\n{printed}\n{problems}", block.place));
        assert_eq!(set.rules.len(), again.rules.len(), "{}", block.place);
        for example in &set.examples {
            run_example(&block.place, &set, example);
        }
    }
}

/// The rule matches where it should, with the result that the example states; it does not match where it must not.
fn run_example(place: &str, set: &RuleSet, example: &Example) {
    let rule = set.rules.iter().find(|rule| rule.name == example.rule).unwrap();
    let mut encoded = encode(&example.source);
    let target = match &example.kind {
        ExampleKind::Becomes(graph) => encode_into(&mut encoded, &example.source, graph),
        ExampleKind::MustNotFire => Vec::new(),
    };
    let report = saturate(&mut encoded, std::slice::from_ref(rule), Limits::default());
    let fired = report.rules[0].1.applied > 0;
    let wanted = matches!(example.kind, ExampleKind::Becomes(_));
    assert_eq!(fired, wanted, "{place}: `{}` fires: {fired}", rule.name);
    let equal = |(a, b)| encoded.egraph.find(a) == encoded.egraph.find(b);
    let same = encoded.roots.iter().copied().zip(target).all(equal);
    assert!(same, "{place}: `{}` makes something else", rule.name);
}

/// The examples of the repository are optimized twice, with the same result.
#[test]
fn examples_are_optimized_the_same_way_each_time() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/examples");
    let mut count = 0;
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_none_or(|suffix| suffix != "taut") {
            continue;
        }
        count += 1;
        let name = path.display().to_string();
        let text = std::fs::read_to_string(&path).unwrap();
        let run = || {
            let graph = build(&name, &text).unwrap_or_else(|problems| panic!("{problems}"));
            let workload = Workload {
                graph,
                params: Params::default(),
            };
            let outcome = optimize(workload, &Options::default()).unwrap_or_else(|problems| panic!("{problems}"));
            let fired: Vec<(String, usize)> = outcome.report.rules.into_iter().map(|r| (r.name, r.applied)).collect();
            assert!(
                outcome.report.cost.1 < outcome.report.cost.0,
                "{name} does not get cheaper"
            );
            (format_program(&to_program(&outcome.workload.graph)), fired)
        };
        assert_eq!(run(), run(), "{name}");
    }
    assert!(count >= 2);
}

/// The front page shows what the command prints, except for times and differences.
#[test]
fn the_readme_shows_what_the_command_prints() {
    let text = include_str!("../../examples/mlp.taut");
    let graph = build("mlp.taut", text).unwrap_or_else(|problems| panic!("{problems}"));
    let workload = Workload {
        graph,
        params: Params::default(),
    };
    let outcome = optimize(workload, &Options::default()).unwrap_or_else(|problems| panic!("{problems}"));
    let report = &outcome.report;
    let first = format!(
        "optimized mlp.taut   {} -> {} nodes   estimated",
        report.vertices.0, report.vertices.1
    );
    assert!(README.contains(&first), "the README lacks `{first}`");
    let checked = README
        .lines()
        .filter(|line| line.starts_with("checked on 3 random inputs: max relative error "));
    assert!(checked.clone().any(|line| line.ends_with(" (limit 1e-4): OK")));
    let result = format_program(&to_program(&outcome.workload.graph));
    assert!(README.contains(&result), "the README lacks the result:\n{result}");
    for rule in report.rules.iter().take(8) {
        let shown = README
            .lines()
            .filter_map(|line| line.strip_prefix("  ")?.strip_prefix(rule.name.as_str()));
        let count = format!("{} x", rule.applied);
        assert!(
            shown.into_iter().any(|rest| rest.trim_start().starts_with(&count)),
            "the README lacks `{}   {count}`",
            rule.name
        );
    }
}

/// Each picture of the README is what the command named after it prints.
#[test]
fn pictures_of_the_readme_are_current() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut count = 0;
    for part in README.split("![").skip(1) {
        let file = part
            .split_once("](")
            .and_then(|(_, rest)| rest.split(')').next())
            .unwrap_or_default();
        let command = part.split('`').find_map(|code| code.strip_prefix("tautomer "));
        let command = command.unwrap_or_else(|| panic!("the README names no command for {file}"));
        let stored = std::fs::read_to_string(root.join(file)).unwrap_or_else(|e| panic!("{file}: {e}"));
        let drawn = run(root, command);
        assert_eq!(drawn.code, 0, "{}", drawn.err);
        assert!(
            drawn.out == stored,
            "{file} is stale: run `cargo run -- {command} > {file}`"
        );
        count += 1;
    }
    assert_eq!(count, 1, "pictures of the README");
}

/// The cells of the row of a table that begins with `name`, without notes.
fn row<'a>(text: &'a str, name: &str) -> Vec<&'a str> {
    let rows = text
        .lines()
        .filter_map(|line| line.strip_prefix('|')?.strip_suffix('|'));
    let mut cells = rows.map(|row| {
        row.split('|')
            .map(|cell| cell.trim().trim_end_matches(" ¹"))
            .collect::<Vec<_>>()
    });
    cells
        .find(|cells| cells[0] == name)
        .unwrap_or_else(|| panic!("there is no row `{name}`"))
}

/// The README compares optimizers by the figures that `benches/README.md` has for each model.
#[test]
fn figures_of_the_readme_are_those_of_the_benchmarks() {
    let nodes = row(README, "nodes");
    let off = row(README, "run time, optimizations of ONNX Runtime off");
    let on = row(README, "run time, optimizations of ONNX Runtime on");
    let mut means = nodes[1..].iter().map(|cell| (*cell).to_owned()).collect::<Vec<_>>();
    means.extend((1..4).map(|i| format!("{} / {}", off[i], on[i])));
    assert_eq!(row(BENCHES, "**geometric mean**")[2..], means);
    let saved = format!("BASIC is at {} / {} and ALL at {} / {}", off[4], on[4], off[5], on[5]);
    assert!(BENCHES.contains(&saved), "benches/README.md lacks `{saved}`");
    let compared = BENCHES.split("\n## ").find(|part| part.starts_with("Models compared"));
    let models = compared
        .unwrap_or_default()
        .lines()
        .filter(|line| line.starts_with("| `"))
        .count();
    let models = format!("geometric means over {models} models");
    assert!(README.contains(&models), "the README lacks `{models}`");
}
