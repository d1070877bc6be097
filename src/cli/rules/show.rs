//! `tautomer rules show`: the page of a rule.

use std::fmt::Write as _;
use std::sync::Arc;

use serde_json::{Value, json};

use tautomer::formats::Drawing;
use tautomer::graph::to_program;
use tautomer::lang::ast::{Item, RuleFile};
use tautomer::lang::{format_expr, format_program, format_rules, format_type};
use tautomer::rule::{Class, Example, ExampleKind, Rule, class_name};
use tautomer::verify::Entry;

use super::draw;

/// A rule and everything that belongs to it.
pub(super) struct Page {
    /// The rule as written, with its examples.
    pub(super) text: String,
    /// Its directions.
    pub(super) rules: Vec<Arc<Rule>>,
    /// Its examples.
    pub(super) examples: Vec<Example>,
    /// The current verdict of each direction.
    pub(super) verdicts: Vec<Option<Entry>>,
}

/// The part of a file about one rule, in canonical form.
pub(super) fn written(mut file: RuleFile, name: &str) -> Option<String> {
    let belongs = |item: &Item| matches!(item, Item::Rule(rule) if rule.name.as_str() == name);
    if !file.items.iter().any(belongs) {
        return None;
    }
    file.items.retain(belongs);
    file.uses.clear();
    file.comments.clear();
    for item in &mut file.items {
        if let Item::Rule(rule) = item {
            rule.doc = None;
        }
    }
    Some(format_rules(&file))
}

impl Page {
    fn rule(&self) -> &Rule {
        &self.rules[0]
    }

    /// The page as text.
    pub(super) fn text(&self) -> String {
        let rule = self.rule();
        let mut out = format!("{}\n", rule.name);
        for line in rule.doc.trim().lines() {
            let _ = writeln!(out, "  {}", line.trim());
        }
        let _ = writeln!(out, "\n{}", indented(&self.text));
        let mut row = |title: &str, lines: Vec<String>| {
            for (i, line) in lines.iter().enumerate() {
                let title = if i == 0 { title } else { "" };
                let _ = writeln!(out, "  {title:12} {line}");
            }
        };
        row("class", vec![class_text(rule.class)]);
        let verdict = |(rule, entry): (&Arc<Rule>, &Option<Entry>)| {
            let says = entry.as_ref().map_or("none", |e| &e.says);
            if self.rules.len() == 1 {
                says.to_owned()
            } else {
                format!("{}: {says}", rule.name)
            }
        };
        row("verdict", self.rules.iter().zip(&self.verdicts).map(verdict).collect());
        row("assuming", rule.assuming.clone());
        row(
            "variables",
            variables(rule)
                .into_iter()
                .map(|(name, what)| format!("{name}: {what}"))
                .collect(),
        );
        let operators = rule.operators.iter().map(|v| {
            let names: Vec<&str> = v.choices.iter().map(|d| d.name).collect();
            format!("{}: one of {}", v.name, names.join(", "))
        });
        row("operators", operators.collect());
        row("conditions", conditions(rule));
        let (saturation, substitution) = engines(rule);
        row("saturation", vec![saturation.to_owned()]);
        row("substitution", vec![substitution.to_owned()]);
        let (line, column) = rule.ast.source.line_column(rule.name_span.start);
        row("written in", vec![format!("{}:{line}:{column}", rule.ast.source.name)]);
        for example in &self.examples {
            let (title, after) = match &example.kind {
                ExampleKind::Becomes(after) => ("example", Some(after)),
                ExampleKind::MustNotFire => ("does not fire", None),
            };
            let _ = write!(out, "\n  {title}\n{}", indented(&indented(&program(&example.source))));
            if let Some(after) = after {
                let _ = write!(out, "  becomes\n{}", indented(&indented(&program(after))));
            }
        }
        out
    }

    /// The page as JSON.
    pub(super) fn json(&self) -> Value {
        let rule = self.rule();
        let (saturation, substitution) = engines(rule);
        let (line, column) = rule.ast.source.line_column(rule.name_span.start);
        let variables: Vec<Value> = rule
            .variables
            .iter()
            .zip(variables(rule))
            .map(|(v, (_, what))| {
                let ty = v.ty.as_ref().map(|ty| format_type(&rule.ast, ty));
                json!({ "name": v.name, "indexed": v.indexed, "type": ty, "matches": what })
            })
            .collect();
        let operators: Vec<Value> = rule
            .operators
            .iter()
            .map(|v| json!({ "name": v.name, "choices": v.choices.iter().map(|d| d.name).collect::<Vec<_>>() }))
            .collect();
        let examples: Vec<Value> = self
            .examples
            .iter()
            .map(|e| match &e.kind {
                ExampleKind::Becomes(after) => json!({ "before": program(&e.source), "after": program(after) }),
                ExampleKind::MustNotFire => json!({ "before": program(&e.source), "after": null }),
            })
            .collect();
        json!({
            "name": rule.name,
            "doc": rule.doc.trim(),
            "text": self.text,
            "class": rule.class.to_string(),
            "verdicts": self.verdicts,
            "assuming": rule.assuming,
            "variables": variables,
            "operators": operators,
            "conditions": conditions(rule),
            "outputs": rule.source.varying().is_none().then_some(rule.source.outputs.len()),
            "both_ways": rule.both_ways,
            "saturation": saturation,
            "substitution": substitution,
            "file": rule.ast.source.name,
            "line": line,
            "column": column,
            "examples": examples,
        })
    }

    /// Source and target side by side.
    pub(super) fn drawing(&self, name: &str) -> Drawing {
        let rule = self.rules.iter().find(|r| &*r.name == name).unwrap_or(&self.rules[0]);
        draw::drawing(rule)
    }
}

fn program(graph: &tautomer::graph::Graph) -> String {
    format_program(&to_program(graph))
}

fn indented(text: &str) -> String {
    let lines = text.trim_end().lines();
    lines
        .map(|l| {
            if l.is_empty() {
                "\n".to_owned()
            } else {
                format!("  {l}\n")
            }
        })
        .collect()
}

fn class_text(class: Class) -> String {
    match class {
        Class::Bitwise => "bitwise: the same bits for every input".to_owned(),
        Class::Real => "real: equal over the real numbers; only rounding differs".to_owned(),
        Class::Approx(e) => format!("approx({e:?}): the relative error is at most {e:?}"),
    }
}

fn variables(rule: &Rule) -> Vec<(String, String)> {
    rule.variables
        .iter()
        .map(|v| {
            let index = if v.indexed { "[i]" } else { "" };
            let ty =
                v.ty.as_ref()
                    .map(|ty| format!(", of type {}", format_type(&rule.ast, ty)));
            (
                format!("{}{index}", v.name),
                format!("{}{}", class_name(v.class), ty.unwrap_or_default()),
            )
        })
        .collect()
}

fn conditions(rule: &Rule) -> Vec<String> {
    rule.conditions.iter().map(|c| format_expr(&rule.ast, *c)).collect()
}

/// How saturation and substitution use the rule.
fn engines(rule: &Rule) -> (&'static str, &'static str) {
    let saturation = if rule.source.varying().is_some() {
        "one equation for each member of a group; searched in the first rounds"
    } else if rule.source.outputs.len() > 1 {
        "one equation for each output; searched in the first rounds"
    } else if rule.both_ways {
        "an equation, found from either side"
    } else {
        "an equation, found from its source"
    };
    let substitution = if rule.both_ways {
        "either side replaces the other where nothing else uses inner values"
    } else {
        "the target replaces the source where nothing else uses inner values"
    };
    (saturation, substitution)
}
