//! `tautomer verify ORIGINAL OPTIMIZED`: is the second graph equal to the first?

use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use tautomer::diag::Diagnostic;
use tautomer::rule::Class;
use tautomer::verify::{Difference, Differs, GraphOptions, GraphReport, GraphVerdict};
use tautomer::verify_models;

use super::findings::{Finding, Format, Outcome};
use super::input;
use super::optimize::parse_class;
use super::verify::numbers;
use super::{Done, Failure, Shell, counted, output};

#[derive(clap::Args)]
pub(super) struct GraphArgs {
    /// For two programs or models: how close they must be: `bitwise`, `real`, or `approx(e)` with a relative error
    #[arg(long, value_parser = parse_class, default_value = "real")]
    class: Class,
    /// For two programs or models: how many choices of their symbolic dimensions to check
    #[arg(long, value_name = "N", default_value_t = GraphOptions::default().shapes)]
    shapes: usize,
}

/// The two graphs, if graphs are given; `None` if rules are.
pub(super) fn graphs(files: &[PathBuf]) -> Result<Option<[&Path; 2]>, Failure> {
    let is_graph = |path: &&PathBuf| {
        path.extension()
            .is_some_and(|suffix| suffix == "taut" || suffix == "onnx")
    };
    let Some(graph) = files.iter().find(is_graph) else {
        return Ok(None);
    };
    let help = "give rule files, or two programs or models: `tautomer verify original.onnx optimized.onnx`";
    if let Some(rules) = files.iter().find(|path| !is_graph(path)) {
        let what = format!("{} holds a graph, and {} holds rules", graph.display(), rules.display());
        return Err(Diagnostic::error("T0402", what).help(help).into());
    }
    match files {
        [original, optimized] => Ok(Some([original, optimized])),
        _ => {
            let what = format!("{} cannot be compared: it takes two", counted(files.len(), "graph"));
            Err(Diagnostic::error("T0402", what).help(help).into())
        }
    }
}

pub(super) fn run(
    files: [&Path; 2],
    args: &GraphArgs,
    format: Format,
    (seed, save): (u64, Option<&Path>),
    shell: &Shell,
) -> Done {
    let report = format.or_problems(files[1], compared(files, args, seed, shell), shell)?;
    if let (Some(folder), GraphVerdict::Refuted(difference)) = (save, &report.verdict) {
        write(folder, difference, shell)?;
    }
    let finding = Finding {
        name: input::shown(files[1]),
        file: input::shown(files[1]),
        line: None,
        verdict: word(&report.verdict),
        outcome: Outcome::of(!matches!(report.verdict, GraphVerdict::Refuted(_))),
        message: text(&report),
    };
    if let Some(text) = format.render(&[finding]) {
        shell.result(&text)?;
    } else if shell.json {
        shell.json(data(files, seed, &report))?;
    } else {
        shell.result(&text(&report))?;
    }
    match &report.verdict {
        GraphVerdict::Refuted(_) => Err(Failure::No),
        _ => Ok(()),
    }
}

/// Reads both and compares them; having no verdict is an error.
fn compared(files: [&Path; 2], args: &GraphArgs, seed: u64, shell: &Shell) -> Result<GraphReport, Failure> {
    let original = input::read(files[0], None, None, shell)?;
    let optimized = input::read(files[1], None, None, shell)?;
    let options = GraphOptions {
        seed,
        shapes: args.shapes,
        class: args.class,
        ..GraphOptions::default()
    };
    let report = verify_models(&original, &optimized, &options);
    if let GraphVerdict::Undecided(why) = &report.verdict {
        let problem = Diagnostic::error("T0406", format!("no verdict: {why}"));
        let notes = report.notes.iter();
        return Err(notes.fold(problem, |problem, note| problem.note(note.clone())).into());
    }
    Ok(report)
}

/// Writes both graphs with the values at which they differ.
fn write(folder: &Path, difference: &Difference, shell: &Shell) -> Done {
    let Some(workloads) = &difference.workloads else {
        shell.say("nothing is written: they differ in type");
        return Ok(());
    };
    let failed = |e: std::io::Error| Failure::new("T0401", format!("{}: {e}", folder.display()));
    std::fs::create_dir_all(folder).map_err(failed)?;
    for (name, workload) in ["original", "optimized"].iter().zip(workloads.iter()) {
        let path = folder.join(format!("{name}.taut"));
        output::write_workload(&path, workload, None)?;
        shell.detail(&format!("{} is written", path.display()));
    }
    Ok(())
}

fn text(report: &GraphReport) -> String {
    let mut out = format!("{}\n", report.verdict);
    let shapes: Vec<&str> = report
        .shapes
        .iter()
        .map(String::as_str)
        .filter(|s| !s.is_empty())
        .collect();
    if !shapes.is_empty() && !matches!(report.verdict, GraphVerdict::Refuted(_)) {
        out.push_str(&format!("  with {}\n", shapes.join("; with ")));
    }
    for note in &report.notes {
        out.push_str(&format!("  {note}\n"));
    }
    if let GraphVerdict::Refuted(difference) = &report.verdict {
        out.push_str(&difference_text(difference));
    }
    out
}

fn place(element: Option<&Vec<usize>>) -> String {
    element.map_or_else(String::new, |e| format!(" at {e:?}"))
}

fn difference_text(difference: &Difference) -> String {
    let mut out = String::new();
    let sides = |expected: &str, found: &str| format!("{expected} in the original, {found} in the optimized one");
    if let Some(output) = difference.output.as_ref().filter(|_| difference.workloads.is_some()) {
        let at = place(difference.element.as_ref());
        out.push_str(&format!(
            "  `{output}`{at}: {}\n",
            sides(&difference.expected, &difference.found)
        ));
    }
    if let Some(first) = &difference.first {
        out.push_str(&first_text(first));
    }
    if !difference.shapes.is_empty() {
        out.push_str(&format!("  with {}\n", difference.shapes));
    }
    for (name, value) in &difference.values {
        out.push_str(&format!("  {name} = {}\n", numbers(value)));
    }
    out
}

fn first_text(first: &Differs) -> String {
    let mut out = format!(
        "  first difference at {} ({}, {})",
        first.value, first.operator, first.ty
    );
    if first.counterpart != first.value {
        out.push_str(&format!(", called {} in the original", first.counterpart));
    }
    let at = place(first.element.as_ref());
    out.push_str(&format!(
        "{at}: {} in the original, {} here\n",
        first.expected, first.found
    ));
    for (operand, equal) in &first.operands {
        match equal {
            Some(equal) => out.push_str(&format!("    its operand {operand} equals {equal} of the original\n")),
            None => out.push_str(&format!("    its operand {operand} equals no value of the original\n")),
        }
    }
    if let Some(strange) = &first.strange {
        out.push_str(&format!(
            "    the first value leading to it that the original lacks is {strange}\n"
        ));
    }
    out
}

/// The verdict in one word.
fn word(verdict: &GraphVerdict) -> &'static str {
    match verdict {
        GraphVerdict::Proved(_) | GraphVerdict::ProvedAt { .. } => "proved",
        GraphVerdict::Tested { .. } => "tested",
        GraphVerdict::Refuted(_) => "refuted",
        GraphVerdict::Undecided(_) => "undecided",
    }
}

fn data(files: [&Path; 2], seed: u64, report: &GraphReport) -> Value {
    let mut out = json!({
        "original": input::shown(files[0]),
        "optimized": input::shown(files[1]),
        "seed": seed,
        "verdict": word(&report.verdict),
        "says": report.verdict.to_string(),
        "outputs": report.outputs,
        "shapes": report.shapes,
        "notes": report.notes,
    });
    if let GraphVerdict::Refuted(difference) = &report.verdict {
        let values: serde_json::Map<String, Value> = difference
            .values
            .iter()
            .map(|(name, v)| (name.to_string(), json!(numbers(v))))
            .collect();
        out["difference"] = json!({
            "output": difference.output,
            "element": difference.element,
            "expected": difference.expected,
            "found": difference.found,
            "shapes": difference.shapes,
            "values": values,
            "first": difference.first.as_ref().map(|first| json!({
                "value": first.value,
                "operator": first.operator,
                "type": first.ty,
                "counterpart": first.counterpart,
                "element": first.element,
                "expected": first.expected,
                "found": first.found,
                "operands": first.operands.iter().map(|(operand, equal)| json!({ "value": operand, "equal_to": equal }))
                    .collect::<Vec<_>>(),
                "strange": first.strange,
            })),
        });
    }
    out
}
