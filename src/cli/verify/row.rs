//! The outcomes of rules, as text and as JSON.

use serde_json::{Value, json};

use tautomer::graph::to_program;
use tautomer::lang::format_program;
use tautomer::op::Laws;
use tautomer::verify::{Counterexample, Entry, Level, Reached, Repair, Report, Verdict};

/// The outcome for a rule.
pub(super) enum Row {
    /// It was checked.
    Tried(Box<Report>, Option<Repair>),
    /// Its verdict was kept in the lock.
    Kept(Box<Entry>),
}

impl Row {
    pub(super) fn level(&self) -> Level {
        match self {
            Row::Tried(report, _) => report.verdict.level(),
            Row::Kept(entry) => entry.verdict,
        }
    }

    pub(super) fn text(&self, width: usize, verbose: bool) -> String {
        match self {
            Row::Tried(report, _) => text(report, width, verbose),
            Row::Kept(entry) => format!("{:width$}  {}\n", entry.rule, entry.says),
        }
    }

    pub(super) fn json(&self) -> Value {
        match self {
            Row::Tried(report, repair) => data(report, repair.as_ref()),
            Row::Kept(entry) => json!({
                "rule": entry.rule,
                "class": entry.class,
                "verdict": entry.verdict,
                "says": entry.says,
                "instances": entry.instances,
                "systems": entry.systems,
                "refused": entry.refused,
                "kept": true,
            }),
        }
    }
}

pub(super) fn repair_text(name: &str, repair: &Repair) -> String {
    let Repair { change, text, kept, of } = repair;
    let lines: String = text.lines().map(|l| format!("    {l}\n")).collect();
    let share = (100 * kept).checked_div(*of).unwrap_or(0);
    format!(
        "{name}: with {change} nothing refutes it; {share} % of the instances at which it held remain ({kept} of \
         {of}):\n{lines}"
    )
}

/// The laws that a verdict depends on.
fn laws(verdict: &Verdict) -> Laws {
    match verdict {
        Verdict::Proved { laws, .. } | Verdict::Tested { laws, .. } => *laws,
        _ => Laws::NONE,
    }
}

fn text(report: &Report, width: usize, verbose: bool) -> String {
    let mut out = format!("{:width$}  {}\n", report.rule.name, report.verdict);
    if report.refused > 0 {
        let why = report.refusal.as_deref().unwrap_or_default();
        out.push_str(&format!(
            "  at {} more instances the target has another type, or none, so no engine applies the rule; at the first: \
             {why}\n",
            report.refused
        ));
    }
    if let (Some(why), true) = (&report.not_proved, verbose) {
        out.push_str(&format!("  not proved for all sizes: {why}\n"));
    }
    if verbose && !report.reached.is_empty() {
        for reached in &report.reached {
            let place = if reached.in_target { "target" } else { "condition" };
            out.push_str(&format!("  {place}: {reached}\n"));
        }
    }
    if let Some(class) = report.stronger_class() {
        let rests = report.class.as_ref().map_or_else(String::new, ToString::to_string);
        out.push_str(&format!(
            "  it could declare `numerics {class}`: no checked instance contradicts it ({rests})\n"
        ));
    }
    if let Verdict::Refuted(example) = &report.verdict {
        let lines = |title: &str, text: &str| -> String {
            let lines: String = text.lines().map(|l| format!("    {l}\n")).collect();
            format!("  {title}:\n{lines}")
        };
        out.push_str(&lines("source", &format_program(&to_program(&example.source))));
        out.push_str(&lines("target", &format_program(&to_program(&example.target))));
        for (name, value) in &example.values {
            out.push_str(&format!("  {name} = {}\n", numbers(value)));
        }
        if !report.rule.assuming.is_empty() {
            let assumed: Vec<String> = report.rule.assuming.iter().map(|fact| format!("`{fact}`")).collect();
            out.push_str(&format!(
                "  the rule assumes {}, which is not known of these values\n",
                assumed.join(", ")
            ));
        }
        let at = place(example);
        out.push_str(&format!(
            "  {at}: {} in the source, {} in the target\n",
            example.expected, example.found
        ));
    }
    out
}

fn place(example: &Counterexample) -> String {
    let element = example
        .element
        .as_ref()
        .map_or_else(String::new, |e| format!(" at {e:?}"));
    format!("output {}{element}", example.output)
}

/// The elements of a tensor in row-major order.
pub(in crate::cli) fn numbers(value: &tautomer::tensor::Tensor) -> String {
    const SHOWN: usize = 24;
    let list = |all: Vec<String>| {
        let more = if all.len() > SHOWN { ", …" } else { "" };
        format!("[{}{more}]", all[..all.len().min(SHOWN)].join(", "))
    };
    if let tautomer::tensor::Tensor::Utf8(texts) = value {
        return format!(
            "{}: {}",
            value.ty(),
            list(texts.iter().map(|x| format!("{x:?}")).collect())
        );
    }
    let elements = match (value.dtype().is_float(), value.to_f64s(), value.to_ints()) {
        (true, Some(v), _) => list(v.iter().map(|x| format!("{x:?}")).collect()),
        (_, _, Some(v)) => list(v.iter().map(ToString::to_string).collect()),
        _ => String::new(),
    };
    format!("{}: {elements}", value.ty())
}

fn reached(part: &Reached) -> Value {
    json!({
        "condition": part.condition,
        "in_target": part.in_target,
        "holds": part.holds,
        "fails": part.fails,
        "boundary": part.compares.then_some(part.boundary),
    })
}

fn data(report: &Report, repair: Option<&Repair>) -> Value {
    let mut out = json!({
        "rule": report.rule.name,
        "class": report.rule.class.to_string(),
        "verdict": report.verdict.level(),
        "says": report.verdict.to_string(),
        "instances": report.instances,
        "systems": report.systems,
        "refused": report.refused,
        "reached": report.reached.iter().map(reached).collect::<Vec<_>>(),
        "attempts": report.attempts,
        "laws": laws(&report.verdict).iter().map(|l| l.name()).collect::<Vec<_>>(),
        "decided_class": report.class.as_ref().map(ToString::to_string),
        "stronger_class": report.stronger_class().map(|c| c.to_string()),
        "bounds": report.loose,
        "error": report.error,
        "not_proved": report.not_proved,
        "repair": repair.map(|r| json!({ "change": r.change, "rule": r.text, "kept": r.kept, "of": r.of })),
    });
    if let Verdict::Refuted(example) = &report.verdict {
        let values: serde_json::Map<String, Value> = example
            .values
            .iter()
            .map(|(name, v)| (name.to_string(), json!(numbers(v))))
            .collect();
        out["counterexample"] = json!({
            "source": format_program(&to_program(&example.source)),
            "target": format_program(&to_program(&example.target)),
            "values": values,
            "output": example.output,
            "element": example.element,
            "expected": example.expected,
            "found": example.found,
        });
    }
    out
}
