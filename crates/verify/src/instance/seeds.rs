//! Initial instances: from examples, from the loader's search, and for each alternative of a source.

use std::sync::Arc;

use super::random::Random;
use super::recipe::Recipe;
use super::{reach, sketch};
use tautomer_rewrite::Trial;
use tautomer_rule::{Example, ExampleKind, Rule, instances};

/// Mutations tried to reach a first instance where the loader's search finds none.
const REACHING: usize = 1500;

/// The initial instances of a search.
pub(crate) fn seeds(rule: &Arc<Rule>, trial: &Trial, examples: &[Example]) -> Vec<Recipe> {
    let mut out = Vec::new();
    let mut bindings = Vec::new();
    for example in examples_of(rule, examples) {
        let after = match &example.kind {
            ExampleKind::Becomes(after) => Some(&**after),
            ExampleKind::MustNotFire => None,
        };
        for graph in [Some(&example.source), after].into_iter().flatten() {
            if let Some(sides) = trial.sides(graph.clone(), None) {
                out.extend(Recipe::of(&sides.graph, &sides.source, &sides.inputs));
                bindings.push(sketch::bindings(rule, &sides));
            }
        }
    }
    // With examples, a short search is enough.
    let attempts = if out.is_empty() { 4000 } else { 100 };
    for (graph, outputs) in instances(rule, 6, attempts) {
        out.extend(Recipe::of(&graph, &outputs, &[]));
    }
    let random = &mut Random::part(0, &rule.name);
    if out.is_empty() {
        out = reach::satisfying_conditions(rule, REACHING, random);
    }
    let alternatives = sketch::alternatives(rule);
    let each = (REACHING / alternatives.len().max(1)).max(200);
    for one in alternatives {
        let found = instances(&one, 1, each);
        let mut found: Vec<Recipe> = found
            .iter()
            .filter_map(|(g, roots)| Recipe::of(g, roots, &[]))
            .collect();
        if found.is_empty() {
            found = reach::with_bindings(&one, &bindings, random);
        }
        if found.is_empty() {
            found = reach::satisfying_conditions(&one, each, random);
        }
        out.extend(found);
    }
    out
}

/// The number of alternatives in the source that no instance matches.
pub(crate) fn unmatched_alternatives(rule: &Rule, instances: &[&Recipe]) -> usize {
    let alternatives = sketch::alternatives(rule).into_iter();
    let is_matched = |one: Arc<Rule>| {
        let trial = Trial::new(one);
        instances.iter().any(|recipe| recipe.sides(&trial).is_some())
    };
    alternatives.filter(|one| !is_matched(one.clone())).count()
}

/// The examples of a rule; those of an equality apply to both directions.
pub(crate) fn examples_of<'a>(rule: &Rule, examples: &'a [Example]) -> impl Iterator<Item = &'a Example> {
    let base = rule.name.strip_suffix("-reversed").unwrap_or(&rule.name).to_owned();
    let name = rule.name.clone();
    examples.iter().filter(move |e| *e.rule == *base || *e.rule == *name)
}
