//! `tautomer suggest ORIGINAL OPTIMIZED`: rules that do what another optimizer did.

use std::path::PathBuf;

use serde_json::json;

use tautomer::diag::Diagnostic;
use tautomer::rule::Class;
use tautomer::suggest_rules;
use tautomer::verify::{GraphOptions, Options, Sought, Suggestion, Suggestions, Unsuggested};

use super::optimize::parse_class;
use super::progress::Progress;
use super::{Done, Failure, Shell, counted, input, operators, output};

#[derive(clap::Args)]
pub(super) struct Args {
    /// A program or model
    original: PathBuf,
    /// The same, as another tool optimized it
    optimized: PathBuf,
    /// Write the rules to this file instead of standard output
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// The weakest class a rule may have: `bitwise`, `real`, or `approx(e)` with a relative error
    #[arg(long, value_parser = parse_class, default_value = "real")]
    class: Class,
    /// The seed of all random choices
    #[arg(long, default_value_t = 0)]
    seed: u64,
    /// Try each rule at N instances
    #[arg(long, value_name = "N")]
    budget: Option<usize>,
    /// Look for rules for at most N different changes; equal changes are one
    #[arg(long, value_name = "N")]
    limit: Option<usize>,
}

pub(super) fn run(args: &Args, shell: &Shell) -> Done {
    args.output.as_deref().map_or(Ok(()), output::has_folder)?;
    let original = input::read(&args.original, None, None, shell)?;
    let optimized = input::read(&args.optimized, None, None, shell)?;
    let graph_options = GraphOptions {
        seed: args.seed,
        class: args.class,
        ..GraphOptions::default()
    };
    let defaults = Options::default();
    let options = Options {
        seed: args.seed,
        instances: args.budget.unwrap_or(defaults.instances),
        ..defaults
    };
    let progress = Progress::new(shell, "comparing the models");
    // Rules are shown when they are found: a search may take long, and may be interrupted.
    let (mut shown, mut wrote) = (0, Ok(()));
    let shows = !shell.json && args.output.is_none();
    let mut each = |sought: &Sought<'_>| {
        if sought.done == 0 {
            progress.stage("generalizing differences");
        }
        for rule in sought.rules.iter().skip(shown).filter(|_| shows) {
            let blank = if shown > 0 { "\n" } else { "" };
            wrote = shell.result(&format!("{blank}{}", rule_text(rule)));
            if wrote.is_err() {
                return false;
            }
            shown += 1;
        }
        progress.count(sought.done, Some(sought.total), "differences");
        args.limit.is_none_or(|limit| sought.searched < limit)
    };
    let scope = operators::scope()?;
    let found = suggest_rules(&original, &optimized, &scope, &graph_options, &options, &mut each);
    drop(progress);
    wrote?;
    let found = found.map_err(|why| refused(&why))?;
    for note in &found.notes {
        shell.detail(note);
    }
    if shell.json {
        shell.json(data(&found))?;
    } else if let Some(path) = &args.output {
        let text = found.rules.iter().map(rule_text).collect::<Vec<_>>().join("\n");
        output::write_text(path, &text)?;
    }
    for rule in found.rules.iter().filter(|rule| shows && rule.places.len() > 1) {
        let (name, places) = (&rule.report.rule.name, rule.places.join(", "));
        shell.detail(&format!("`{name}` applies at {places}"));
    }
    for left in &found.left {
        shell.say(&format!("no rule for the difference at {}: {}", left.place, left.why));
    }
    shell.say(&summary(&found));
    if found.rules.is_empty() {
        Err(Failure::No)
    } else {
        Ok(())
    }
}

/// The rule, after a comment that says what is known about it.
fn rule_text(rule: &Suggestion) -> String {
    let [before, after] = rule.calls;
    let places = rule.places.len();
    let more = match places {
        0 | 1 => String::new(),
        _ => format!(", at {places} places"),
    };
    let mut first: Vec<&str> = rule.places.iter().take(3).map(String::as_str).collect();
    if places > first.len() {
        first.push("…");
    }
    format!(
        "// {}.\n// {before} calls become {after}{more}: {}.\n{}\n",
        rule.report.verdict,
        first.join(", "),
        rule.text.trim_end()
    )
}

fn summary(found: &Suggestions) -> String {
    let places: usize = found.rules.iter().map(|rule| rule.places.len()).sum();
    match (found.rules.len(), found.left.len()) {
        (0, 0) if found.untried == 0 => {
            "the models compute every value in the same way: there is nothing to suggest".to_owned()
        }
        (rules, left) => {
            let rest = match left {
                0 => String::new(),
                _ => format!("; {} without a rule", counted(left, "difference")),
            };
            let rest = match found.untried {
                0 => rest,
                untried => format!("{rest}; {} not looked at", counted(untried, "difference")),
            };
            let (rules, places) = (counted(rules, "rule"), counted(places, "difference"));
            format!("{rules} for {places}{rest}")
        }
    }
}

fn refused(why: &Unsuggested) -> Failure {
    match why {
        Unsuggested::NotEqual(verdict) => Diagnostic::error(
            "T0406",
            format!("rules are suggested for equal models, and these are {verdict}"),
        )
        .help("`tautomer verify ORIGINAL OPTIMIZED` shows where they differ")
        .into(),
        Unsuggested::NoValues(why) => {
            Diagnostic::error("T0406", format!("the models cannot be compared: {why}")).into()
        }
    }
}

fn data(found: &Suggestions) -> serde_json::Value {
    let rule = |rule: &Suggestion| {
        json!({
            "name": rule.report.rule.name,
            "rule": rule.text,
            "verdict": rule.report.verdict.level(),
            "says": rule.report.verdict.to_string(),
            "places": rule.places,
            "calls_before": rule.calls[0],
            "calls_after": rule.calls[1],
        })
    };
    json!({
        "rules": found.rules.iter().map(rule).collect::<Vec<_>>(),
        "without_rule": found.left.iter().map(|left| json!({ "place": left.place, "why": left.why })).collect::<Vec<_>>(),
        "untried": found.untried,
        "notes": found.notes,
    })
}
