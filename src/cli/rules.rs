//! `tautomer rules`: rules and their examples.

mod draw;
mod show;
mod test;

use std::path::PathBuf;
use std::sync::Arc;

use clap::{Subcommand, ValueEnum};
use serde_json::json;

use tautomer::diag::{Diagnostic, Diagnostics, Severity, Source, did_you_mean};
use tautomer::lang::parse_rules;
use tautomer::rule::{
    RuleSet, compare_files, composite_rules, library_files, library_set_files, load_checked_rules_in, load_rules_in,
};
use tautomer::verify::Entry;

use self::show::Page;
use super::verdicts::Locks;
use super::{Done, Failure, Shell, counted, fmt, import, operators};

#[derive(clap::Args)]
pub(super) struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Report problems in rule files
    Check {
        /// Rule files; by default, the built-in ones
        #[arg(value_name = "FILE")]
        files: Vec<PathBuf>,
    },
    /// List rules with their classes and verdicts
    List {
        /// Rule files; by default, the built-in ones
        #[arg(value_name = "FILE")]
        files: Vec<PathBuf>,
    },
    /// Format rule files canonically
    Fmt {
        /// Rule files, rewritten in place; `-` reads standard input and writes standard output
        #[arg(required = true, value_name = "FILE")]
        files: Vec<PathBuf>,
        /// Write nothing; name the files that are not in canonical form
        #[arg(long)]
        check: bool,
    },
    /// Show one rule: its text, what it matches, its examples
    Show {
        /// The name of the rule
        name: String,
        /// How to show it
        #[arg(long, value_enum, default_value = "text")]
        format: Format,
        /// Rule files; by default, the built-in ones
        #[arg(value_name = "FILE")]
        files: Vec<PathBuf>,
    },
    /// Run the examples of rules
    Test {
        /// Rule files; by default, the built-in ones
        #[arg(value_name = "FILE")]
        files: Vec<PathBuf>,
    },
    /// Write the rules of TASO or TENSAT as a rule file
    Import(import::Args),
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Format {
    /// As text
    Text,
    /// Source and target as a graph for Graphviz
    Dot,
    /// Source and target as a picture
    Svg,
    /// As JSON
    Json,
}

pub(super) fn run(args: &Args, shell: &Shell) -> Done {
    match &args.command {
        Command::Check { files } => check(files, shell),
        Command::List { files } => list(files, shell),
        Command::Fmt { files, check } => fmt::rules(files, *check, shell),
        Command::Show { name, format, files } => {
            show(name, if shell.json { Format::Json } else { *format }, files, shell)
        }
        Command::Test { files } => test(files, shell),
        Command::Import(args) => import::run(args, shell),
    }
}

/// The sources of the given rule files, or of the built-in ones.
pub(super) fn sources(files: &[PathBuf]) -> Result<Vec<Arc<Source>>, Failure> {
    if files.is_empty() {
        return Ok(library_files()
            .iter()
            .map(|(name, text)| Arc::new(Source::new(*name, *text)))
            .collect());
    }
    Ok(tautomer::rule_files::sources(files)?)
}

fn load(files: &[PathBuf]) -> Result<RuleSet, Failure> {
    operators::load(sources(files)?)
}

fn check(files: &[PathBuf], shell: &Shell) -> Done {
    let mut problems = Diagnostics::new();
    let mut all = RuleSet::default();
    let mut each = Vec::new();
    let mut scope = operators::scope()?;
    for source in sources(files)? {
        let name = source.name.clone();
        let (found, rules, examples) = match parse_rules(source).and_then(|file| load_rules_in(file, &scope)) {
            Ok(mut set) => {
                let counts = (set.rules.len(), set.examples.len());
                let warnings = std::mem::take(&mut set.warnings);
                scope.extend(&set.operators);
                all.extend(set);
                (warnings, counts.0, counts.1)
            }
            Err(found) => (found, 0, 0),
        };
        let errors = found.iter().filter(|p| p.severity == Severity::Error).count();
        let warnings = found.len() - errors;
        each.push(json!({
            "file": name,
            "rules": rules,
            "examples": examples,
            "errors": errors,
            "warnings": warnings,
        }));
        shell.detail(&format!(
            "{name}: {rules} rules, {examples} examples, {errors} errors, {warnings} warnings"
        ));
        problems.extend(found);
    }
    let (rules, examples) = (all.rules.len(), all.examples.len());
    problems.extend(compare_files(&all.rules));
    shell.problems(&problems);
    if shell.json {
        let mut report = problems.to_json();
        if let Some(map) = report.as_object_mut() {
            map.insert("files".to_owned(), json!(each));
            map.insert("rules".to_owned(), json!(rules));
            map.insert("examples".to_owned(), json!(examples));
            map.insert("ok".to_owned(), json!(!problems.has_errors()));
        }
        shell.json(report)?;
    }
    if problems.has_errors() {
        return Err(Failure::No);
    }
    shell.say(&format!("{}, {}", counted(rules, "rule"), counted(examples, "example")));
    Ok(())
}

fn list(files: &[PathBuf], shell: &Shell) -> Done {
    let set = load(files)?;
    let mut locks = Locks::default();
    let verdicts: Vec<Option<Entry>> = set.rules.iter().map(|r| locks.verdict(r)).collect::<Result<_, _>>()?;
    if shell.json {
        let rules: Vec<_> = set
            .rules
            .iter()
            .zip(&verdicts)
            .map(|(r, verdict)| {
                json!({
                    "name": r.name, "class": r.class.to_string(), "assuming": r.assuming, "doc": r.doc,
                    "verdict": verdict.as_ref().map(|e| e.verdict), "says": verdict.as_ref().map(|e| &e.says),
                })
            })
            .collect();
        return shell.json(json!({ "rules": rules }));
    }
    let width = set.rules.iter().map(|r| r.name.chars().count()).max().unwrap_or(0);
    let lines: String = set
        .rules
        .iter()
        .zip(&verdicts)
        .map(|(r, verdict)| {
            let doc = r.doc.lines().next().unwrap_or_default();
            let verdict = verdict.as_ref().map_or("-", |e| e.verdict.word());
            format!("{:width$}  {:8}  {verdict:10}  {doc}", r.name, r.class.to_string())
                .trim_end()
                .to_owned()
                + "\n"
        })
        .collect();
    shell.result(&lines)
}

fn show(name: &str, format: Format, files: &[PathBuf], shell: &Shell) -> Done {
    // The reversed direction of a rule is written as part of it.
    let wanted = name.strip_suffix("-reversed").unwrap_or(name);
    let mut names: Vec<String> = Vec::new();
    let mut sources = sources(files)?;
    if files.is_empty() {
        // Rules derived from operator bodies are in no file.
        sources.extend(
            composite_rules()
                .map_err(Clone::clone)?
                .first()
                .map(|rule| rule.ast.source.clone()),
        );
        let sets = library_set_files().iter().flat_map(|(_, files)| files.iter());
        sources.extend(sets.map(|(name, text)| Arc::new(Source::new(*name, *text))));
    }
    let mut scope = operators::scope()?;
    for source in sources {
        let set = load_checked_rules_in(parse_rules(source.clone())?, &scope)?;
        scope.extend(&set.operators);
        names.extend(set.rules.iter().map(|r| r.name.to_string()));
        if !set.rules.iter().any(|r| *r.name == *name) {
            continue;
        }
        let found = [name, wanted]
            .into_iter()
            .find_map(|n| Some((n, show::written(parse_rules(source.clone()).ok()?, n)?)));
        let Some((base, text)) = found else { continue };
        let backward = format!("{base}-reversed");
        let mut page = Page {
            text,
            rules: set
                .rules
                .into_iter()
                .filter(|r| *r.name == *base || *r.name == *backward)
                .collect(),
            examples: set.examples.into_iter().filter(|e| *e.rule == *base).collect(),
            verdicts: Vec::new(),
        };
        let mut locks = Locks::default();
        for rule in &page.rules {
            page.verdicts.push(locks.verdict(rule)?);
        }
        return match format {
            Format::Text => shell.result(&page.text()),
            Format::Json => shell.json(page.json()),
            Format::Dot => shell.result(&page.drawing(name).to_dot()),
            Format::Svg => shell.result(&page.drawing(name).to_svg()),
        };
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
        let outcome = test::run(rule, example);
        if let Some(what) = &outcome.problem {
            failed += 1;
            if !shell.json {
                let mut text = format!("example {}: `{}` {what}\n", i + 1, rule.name);
                for (title, program) in &outcome.details {
                    let lines: String = program.lines().map(|l| format!("    {l}\n")).collect();
                    text.push_str(&format!("  {title}:\n{lines}"));
                }
                shell.result(&text)?;
            }
        }
        let details: serde_json::Map<String, serde_json::Value> = outcome
            .details
            .iter()
            .map(|(title, program)| ((*title).to_owned(), json!(program)))
            .collect();
        results.push(json!({
            "rule": rule.name,
            "ok": outcome.problem.is_none(),
            "problem": outcome.problem,
            "applied": outcome.applied,
            "programs": details,
        }));
    }
    let total = results.len();
    if shell.json {
        shell.json(json!({ "examples": results, "failed": failed }))?;
    }
    shell.say(&format!("{}, {failed} failed", counted(total, "example")));
    if failed > 0 { Err(Failure::No) } else { Ok(()) }
}
