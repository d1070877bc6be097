//! `tautomer rules`: rules and their examples.

use std::path::PathBuf;
use std::sync::Arc;

use clap::Subcommand;
use serde_json::json;

use tautomer::diag::{Diagnostic, Diagnostics, Source, did_you_mean};
use tautomer::lang::ast::Item;
use tautomer::lang::{format_rules, parse_rules};
use tautomer::rewrite::{CostModel, Limits, encode, saturate, substitute};
use tautomer::rule::{ExampleKind, RuleSet, compare_files, library_files, load_rules};

use super::{Done, Failure, Shell, import, input};

#[derive(clap::Args)]
pub(super) struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Find the problems of rule files
    Check {
        /// Rule files; without any, the built-in ones
        #[arg(value_name = "FILE")]
        files: Vec<PathBuf>,
    },
    /// List rules with their classes
    List {
        /// Rule files; without any, the built-in ones
        #[arg(value_name = "FILE")]
        files: Vec<PathBuf>,
    },
    /// Show one rule as it is written
    Show {
        /// The name of the rule
        name: String,
        /// Rule files; without any, the built-in ones
        #[arg(value_name = "FILE")]
        files: Vec<PathBuf>,
    },
    /// Run the examples of rules
    Test {
        /// Rule files; without any, the built-in ones
        #[arg(value_name = "FILE")]
        files: Vec<PathBuf>,
    },
    /// Write the rules of TASO or TENSAT as a rule file
    Import(import::Args),
}

pub(super) fn run(args: &Args, shell: &Shell) -> Done {
    match &args.command {
        Command::Check { files } => check(files, shell),
        Command::List { files } => list(files, shell),
        Command::Show { name, files } => show(name, files, shell),
        Command::Test { files } => test(files, shell),
        Command::Import(args) => import::run(args, shell),
    }
}

/// The texts of rule files: those given, else the built-in ones.
fn sources(files: &[PathBuf]) -> Result<Vec<Arc<Source>>, Failure> {
    if files.is_empty() {
        return Ok(library_files()
            .iter()
            .map(|(name, text)| Arc::new(Source::new(*name, *text)))
            .collect());
    }
    input::rule_sources(files)
}

fn load(files: &[PathBuf]) -> Result<RuleSet, Failure> {
    let mut all = RuleSet::default();
    for source in sources(files)? {
        all.extend(load_rules(parse_rules(source)?)?);
    }
    Ok(all)
}

fn check(files: &[PathBuf], shell: &Shell) -> Done {
    let mut problems = Diagnostics::new();
    let mut all = RuleSet::default();
    for source in sources(files)? {
        match parse_rules(source).and_then(load_rules) {
            Ok(set) => all.extend(set),
            Err(found) => problems.extend(found),
        }
    }
    let (rules, examples) = (all.rules.len(), all.examples.len());
    problems.extend(all.warnings);
    problems.extend(compare_files(&all.rules));
    shell.problems(&problems);
    if shell.json {
        let mut report = problems.to_json();
        if let Some(map) = report.as_object_mut() {
            map.insert("rules".to_owned(), json!(rules));
            map.insert("examples".to_owned(), json!(examples));
            map.insert("ok".to_owned(), json!(!problems.has_errors()));
        }
        shell.json(report)?;
    }
    if problems.has_errors() {
        return Err(Failure::No);
    }
    shell.say(&format!("{rules} rules, {examples} examples"));
    Ok(())
}

fn list(files: &[PathBuf], shell: &Shell) -> Done {
    let set = load(files)?;
    if shell.json {
        let rules: Vec<_> = set
            .rules
            .iter()
            .map(|r| json!({ "name": r.name, "class": r.class.to_string(), "assuming": r.assuming, "doc": r.doc }))
            .collect();
        return shell.json(json!({ "rules": rules }));
    }
    let width = set.rules.iter().map(|r| r.name.chars().count()).max().unwrap_or(0);
    let lines: String = set
        .rules
        .iter()
        .map(|r| {
            let doc = r.doc.lines().next().unwrap_or_default();
            format!("{:width$}  {:8}  {doc}", r.name, r.class.to_string())
                .trim_end()
                .to_owned()
                + "\n"
        })
        .collect();
    shell.result(&lines)
}

fn show(name: &str, files: &[PathBuf], shell: &Shell) -> Done {
    // The backward direction of a rule is written with it.
    let wanted = name.strip_suffix("-reversed").unwrap_or(name);
    let mut names = Vec::new();
    for source in sources(files)? {
        let mut file = parse_rules(source)?;
        names.extend(file.items.iter().filter_map(|item| match item {
            Item::Rule(rule) => Some(rule.name.as_str().to_owned()),
            _ => None,
        }));
        let belongs = |item: &Item| match item {
            Item::Rule(rule) => rule.name.as_str() == name || rule.name.as_str() == wanted,
            Item::Example(e) | Item::NoExample(e) => e.name.as_str() == name || e.name.as_str() == wanted,
            Item::RuleSet(_) => false,
        };
        if !file.items.iter().any(|i| matches!(i, Item::Rule(_)) && belongs(i)) {
            continue;
        }
        file.items.retain(belongs);
        file.uses.clear();
        file.comments.clear();
        let text = format_rules(&file);
        if shell.json {
            return shell.json(json!({ "name": wanted, "text": text }));
        }
        return shell.result(&text);
    }
    let problem = Diagnostic::error("T0307", format!("there is no rule `{name}`"));
    Err(match did_you_mean(name, names.iter().map(String::as_str)) {
        Some(close) => problem.help(format!("did you mean `{close}`?")),
        None => problem.help("`tautomer rules list` shows all rules"),
    }
    .into())
}

fn test(files: &[PathBuf], shell: &Shell) -> Done {
    let set = load(files)?;
    let mut results = Vec::new();
    let mut failed = 0;
    for (i, example) in set.examples.iter().enumerate() {
        let Some(rule) = set.rules.iter().find(|r| r.name == example.rule) else {
            continue;
        };
        let rules = std::slice::from_ref(rule);
        let report = saturate(&mut encode(&example.source), rules, Limits::default());
        let mut applied: usize = report.rules.iter().map(|(_, r)| r.applied).sum();
        if applied == 0 {
            // An e-graph has merged calls that look alike before any rule can.
            let (_, report) = substitute(example.source.clone(), rules, Some(1), &CostModel::default());
            applied = report.steps.len();
        }
        let problem = match &example.kind {
            ExampleKind::Becomes(_) if applied == 0 => Some("does not fire on its example"),
            ExampleKind::MustNotFire if applied > 0 => Some("fires where it must not"),
            _ => None,
        };
        if let Some(what) = problem {
            failed += 1;
            if !shell.json {
                shell.result(&format!("example {}: `{}` {what}\n", i + 1, rule.name))?;
            }
        }
        results.push(json!({ "rule": rule.name, "ok": problem.is_none(), "problem": problem, "applied": applied }));
    }
    let total = results.len();
    if shell.json {
        shell.json(json!({ "examples": results, "failed": failed }))?;
    }
    shell.say(&format!("{total} examples, {failed} failed"));
    if failed > 0 { Err(Failure::No) } else { Ok(()) }
}
