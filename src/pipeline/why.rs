//! Why a rule does not apply.

use std::sync::Arc;

use serde::Serialize;

use super::select::every_rule;
use super::{Engine, Options, select_rules};
use crate::diag::Diagnostics;
use crate::graph::Graph;
use crate::rewrite::{
    CostModel, batch_symbols, encode, extract, nearest_in_egraph, nearest_in_graph, saturate_explained, substitute,
};
use crate::rule::Class;

/// Why a rule does not apply, or what became of it where it does.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct WhyNot {
    /// The rule.
    pub rule: String,
    /// The answer in one sentence.
    pub answer: String,
    /// The value at which its source begins, where it came nearest.
    pub place: Option<String>,
    /// Parts of the condition that does not hold, as written and as they are.
    pub values: Vec<(String, String)>,
}

/// Says of a rule why it is not applied to a graph, or why the result does not show it.
///
/// # Errors
/// As [`optimize`](super::optimize), and if there is no such rule.
pub fn why_not(graph: &Graph, options: &Options<'_>, name: &str) -> Result<WhyNot, Diagnostics> {
    let everything = Options {
        class: Class::Approx(f64::INFINITY),
        only: Some(vec![name.to_owned()]),
        skip: Vec::new(),
        rules: options.rules.clone(),
        assume: Vec::new(),
        ..Options::default()
    };
    let all = every_rule(&everything)?;
    select_rules(&Options {
        assume: all.iter().flat_map(|r| r.assuming.clone()).collect(),
        ..everything
    })?;
    let selected = select_rules(options)?;
    let mut out = WhyNot {
        rule: name.to_owned(),
        answer: String::new(),
        place: None,
        values: Vec::new(),
    };
    let Some(rule) = selected.iter().find(|r| &*r.name == name) else {
        let left_out = all.iter().find(|r| &*r.name == name);
        out.answer = match left_out {
            Some(rule) if !options.class.allows(rule.class) => {
                format!(
                    "it is left out: its sides are equal as `{}`, and only `{}` is allowed",
                    rule.class, options.class
                )
            }
            Some(rule) if !rule.assuming.iter().all(|fact| options.assume.contains(fact)) => {
                format!(
                    "it is left out: it assumes {}, which nobody said holds",
                    rule.assuming.join(", ")
                )
            }
            _ => "it is left out by name".to_owned(),
        };
        return Ok(out);
    };
    let batch = batch_symbols(graph);
    let model = CostModel {
        forbidden: options.forbidden,
        batch: &batch,
    };
    let (applied, used, nearest) = match options.engine {
        Engine::Substitute => {
            let (after, done) = substitute(graph.clone(), &selected, options.limits.rewrites, &model);
            let count = done
                .rules
                .iter()
                .find(|(r, _)| Arc::ptr_eq(r, rule))
                .map_or(0, |(_, r)| r.applied);
            let before = nearest_in_graph(graph, rule);
            (
                count,
                count,
                if before.matches > 0 {
                    before
                } else {
                    nearest_in_graph(&after, rule)
                },
            )
        }
        Engine::Saturate => {
            let mut encoded = encode(graph);
            let saturation = saturate_explained(&mut encoded, &selected, options.limits);
            let found = saturation.rules.iter().find(|(r, _)| Arc::ptr_eq(r, rule));
            let steps = saturation.steps(graph, &encoded, &extract(&encoded, &model));
            (
                found.map_or(0, |(_, r)| r.applied),
                steps.iter().filter(|(_, s)| s.rule == rule.name).count(),
                nearest_in_egraph(graph, &encoded, rule),
            )
        }
    };
    out.place = nearest.place;
    out.values = nearest.values;
    out.answer = match (applied, nearest.matches) {
        (0, 0) => nearest.why,
        (0, n) => format!(
            "it matches in {n} places and is not applied: its target has no type there, the same value already, or it was \
             refused by a limit"
        ),
        (n, _) if used == 0 => {
            format!(
                "it is applied {} and the result rests on none: what it makes does not cost less",
                times(n)
            )
        }
        (n, _) => format!("it is applied {}, and the result rests on {used} of them", times(n)),
    };
    Ok(out)
}

fn times(n: usize) -> String {
    if n == 1 {
        "once".to_owned()
    } else {
        format!("{n} times")
    }
}
