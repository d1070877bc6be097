//! `tautomer rules test`: compares the results of a rule on its examples with the expected results.

use std::collections::BTreeMap;
use std::sync::Arc;

use tautomer::exec::{Executor, Mode, Plan};
use tautomer::graph::{Graph, Params, to_program};
use tautomer::lang::format_program;
use tautomer::pipeline::{Options, why_not};
use tautomer::rewrite::{
    CostModel, ENode, Encoded, Extraction, Head, Limits, Saturation, decode, encode, encode_into, saturate, substitute,
};
use tautomer::rule::{Class, Example, ExampleKind, Rule};
use tautomer::tensor::{DType, Tensor};

use crate::compare::{Random, difference, likely, values};

/// How many sets of random values both sides are computed with.
const RUNS: u64 = 4;

/// The maximum number of substitutions in one example.
const MOST_STEPS: usize = 20;

/// The outcome of an example.
pub(super) struct Outcome {
    /// How often the rule was applied.
    pub(super) applied: usize,
    /// What is wrong.
    pub(super) problem: Option<String>,
    /// Programs that illustrate the problem.
    pub(super) details: Vec<(&'static str, String)>,
}

/// Runs an example of the rule.
pub(super) fn run(rule: &Arc<Rule>, example: &Example) -> Outcome {
    let before = &example.source;
    let rules = std::slice::from_ref(rule);
    let mut encoded = encode(before);
    let origins: Vec<ENode> = encoded.origins.iter().map(|(.., node)| node.clone()).collect();
    let saturation = saturate(&mut encoded, rules, Limits::default());
    let mut applied = saturation.rules.iter().map(|(_, r)| r.applied).sum();
    let made = if applied > 0 {
        made(before, &encoded, &saturation, &origins)
    } else {
        // An e-graph merges identical calls before any rule can match; a graph keeps them separate.
        let (graph, report) = substitute(before.clone(), rules, Some(MOST_STEPS), &CostModel::default());
        applied = report.steps.len();
        graph
    };
    let outcome = |problem: Option<String>, details: Vec<(&'static str, &Graph)>| Outcome {
        applied,
        problem,
        details: details.into_iter().map(|(title, graph)| (title, text(graph))).collect(),
    };
    let after = match &example.kind {
        ExampleKind::MustNotFire if applied > 0 => {
            return outcome(Some("fires where it must not".to_owned()), vec![("it makes", &made)]);
        }
        ExampleKind::MustNotFire => return outcome(None, Vec::new()),
        ExampleKind::Becomes(_) if applied == 0 => {
            let why = why(rule, before).map_or_else(String::new, |why| format!(": {why}"));
            return outcome(
                Some(format!("does not fire on its example{why}")),
                vec![("the example", before)],
            );
        }
        ExampleKind::Becomes(after) => after,
    };
    if let Some(apart) = apart(rule.class, before, &made) {
        let problem = format!("makes a different value: {apart}");
        return outcome(Some(problem), vec![("the example", before), ("it makes", &made)]);
    }
    let added = encode_into(&mut encoded, before, after);
    saturate(&mut encoded, rules, Limits::default());
    let find = |id| encoded.egraph.find(id);
    let same =
        encoded.roots.len() == added.len() && encoded.roots.iter().zip(&added).all(|(a, b)| find(*a) == find(*b));
    match apart(rule.class, &made, after).filter(|_| !same) {
        Some(apart) => outcome(
            Some(format!("result differs from the example: {apart}")),
            vec![("it makes", &made), ("the example says", after)],
        ),
        None => outcome(None, Vec::new()),
    }
}

/// Why the rule does not apply to its example.
fn why(rule: &Arc<Rule>, example: &Graph) -> Option<String> {
    let options = Options {
        rules: Some(vec![rule.clone()]),
        class: Class::Approx(f64::INFINITY),
        assume: rule.assuming.clone(),
        ..Options::default()
    };
    let found = why_not(example, &options, &rule.name).ok()?;
    let place = found
        .place
        .map_or_else(String::new, |place| format!("nearest at {place}, "));
    let values = found
        .values
        .iter()
        .map(|(written, value)| format!("{written} = {value}"));
    let more: Vec<String> = values.chain(found.hints).map(|text| format!("; {text}")).collect();
    Some(format!("{place}{}{}", found.answer, more.concat()))
}

fn text(graph: &Graph) -> String {
    format_program(&to_program(graph))
}

/// The graph with everything the rule made included wherever possible.
fn made(before: &Graph, encoded: &Encoded, saturation: &Saturation, origins: &[ENode]) -> Graph {
    let egraph = &encoded.egraph;
    let canonical = |node: &ENode| ENode {
        head: node.head,
        children: node.children.iter().map(|c| egraph.find(*c)).collect(),
    };
    let old: Vec<ENode> = origins.iter().map(canonical).collect();
    let mut extraction = Extraction {
        choice: Default::default(),
        cost: 0.0,
        original: 0.0,
        bound: 0.0,
        improves: true,
    };
    // Extracts the cheapest trees; a node of the original costs as much as many new ones if its class has a new one.
    let mut costs = BTreeMap::new();
    let mut changed = true;
    while changed {
        changed = false;
        for class in egraph.classes() {
            let id = egraph.find(class.id);
            let is_new = |node: &ENode| !is_leaf(node) && !old.contains(&canonical(node));
            let has_new = class.nodes.iter().any(is_new);
            for node in &class.nodes {
                let below: Option<f64> = node.children.iter().map(|c| costs.get(&egraph.find(*c)).copied()).sum();
                let Some(below) = below else { continue };
                let own = if has_new && !is_new(node) && !is_leaf(node) {
                    1e6
                } else {
                    1.0
                };
                if costs.get(&id).is_none_or(|before: &f64| own + below < *before) {
                    costs.insert(id, own + below);
                    extraction.choice.insert(id, node.clone());
                    changed = true;
                }
            }
        }
    }
    decode(before, encoded, &extraction, saturation)
}

fn is_leaf(node: &ENode) -> bool {
    !matches!(node.head, Head::Op(_) | Head::Tuple | Head::Proj(_))
}

/// The difference between the results of two graphs on random values; `None` if they agree as far as the class
/// requires, or if the first one does not run.
fn apart(class: Class, a: &Graph, b: &Graph) -> Option<String> {
    let (wanted, actual) = (types(a), types(b));
    if wanted != actual {
        return Some(format!("{} against {}", wanted.join(", "), actual.join(", ")));
    }
    for run in 0..RUNS {
        let mut random = Random::new(run.wrapping_mul(0x9e37_79b9));
        for extents in likely(a, &Params::default(), &mut random) {
            let Some((inputs, params)) = values(a, &Params::default(), &mut random, &extents) else {
                continue;
            };
            let named: BTreeMap<&str, &Tensor> = a
                .inputs()
                .iter()
                .filter_map(|v| a.vertex(*v).name.as_deref())
                .zip(&inputs)
                .collect();
            let results = |graph: &Graph| -> Result<Vec<Tensor>, String> {
                let plan = Plan::compile(graph).map_err(|e| e.to_string())?;
                let executor = Executor::new(plan, Mode::Reference).map_err(|e| e.to_string())?;
                let name = |v| graph.vertex(v).name.as_deref().unwrap_or("");
                let given = graph.inputs().iter().map(|v| named.get(name(*v)).map(|t| (*t).clone()));
                let given: Option<Vec<Tensor>> = given.collect();
                let given = given.ok_or_else(|| "it has an input that the other lacks".to_owned())?;
                executor.run(&given, &params).map_err(|e| e.to_string())
            };
            let Ok(x) = results(a) else { continue };
            let y = match results(b) {
                Ok(y) => y,
                Err(e) => return Some(format!("it cannot be computed: {e}")),
            };
            for (k, (x, y)) in x.iter().zip(&y).enumerate() {
                let far = difference(x, y);
                if far > allowed(class, x.dtype()) {
                    return Some(format!(
                        "result {k} differs by {far:.1e} on random values, {}",
                        first_difference(x, y)
                    ));
                }
            }
            break;
        }
    }
    None
}

fn types(graph: &Graph) -> Vec<String> {
    graph.outputs().iter().map(|o| graph.ty(o.vertex).to_string()).collect()
}

fn allowed(class: Class, dtype: DType) -> f64 {
    let unit = match dtype {
        DType::F64 => 1e-11,
        DType::F32 => 1e-4,
        _ => 5e-2,
    };
    match class {
        Class::Bitwise => 0.0,
        Class::Real => unit,
        Class::Approx(e) => e.max(unit),
    }
}

fn first_difference(x: &Tensor, y: &Tensor) -> String {
    match (x.to_f64s(), y.to_f64s()) {
        (Some(a), Some(b)) if a.len() == b.len() => {
            let far = |i: &usize| (a[*i] - b[*i]).abs();
            let at = (0..a.len()).max_by(|i, k| far(i).total_cmp(&far(k)));
            at.map_or(String::new(), |i| {
                format!("element {i} is {:?} against {:?}", a[i], b[i])
            })
        }
        _ => format!("{} against {}", x.ty(), y.ty()),
    }
}
