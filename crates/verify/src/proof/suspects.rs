//! Instances in the cases of a proof that end with different formulas. If the rule is wrong, these are likely to show it.

use std::sync::{Arc, Mutex, PoisonError};

use super::facts::Facts;
use super::form::Form;
use super::models::models;
use crate::instance::recipe::Recipe;

/// Limit on the instances of one proof.
const MOST: usize = 60;

/// A list that all levels of a proof add to.
#[derive(Debug, Clone, Default)]
pub(crate) struct Suspects(Arc<Mutex<Vec<Recipe>>>);

impl Suspects {
    /// Adds instances of a form at sizes that satisfy the facts.
    pub(super) fn add(&self, form: &Form, facts: &Facts) {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if all.len() >= MOST {
            return;
        }
        for model in models(facts) {
            let value = |symbol: &str| Some(model.get(symbol).copied().unwrap_or(1));
            let Some(instance) = form.at(&|dim| facts.resolve(dim).evaluate(&value)) else {
                continue;
            };
            if !all.contains(&instance) {
                all.push(instance);
            }
        }
    }

    /// The instances, without those that were taken before.
    pub(crate) fn take(&self) -> Vec<Recipe> {
        std::mem::take(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::instance::seeds::seeds;
    use crate::proof::{Task, prove};
    use tautomer_diag::Source;
    use tautomer_lang::parse_rules;
    use tautomer_rewrite::Trial;
    use tautomer_rule::load_rules;

    /// A proof that fails at some sizes alone finds an instance there.
    #[test]
    fn failed_proofs_find_instances_that_differ() {
        let text = "/// Wrong for parts that are empty.
            rule r(a, b, c, d) {
              concat(a - b, c - d) {axis = k} => concat(a, c) {axis = k} - concat(b, d) {axis = k}
              where a.rank == 1, b.rank == 1, c.rank == 1, d.rank == 1 numerics real
            }";
        let set = parse_rules(Arc::new(Source::new("test.rules", text)))
            .and_then(load_rules)
            .unwrap();
        let trial = Trial::new(set.rules[0].clone());
        let instances = seeds(&set.rules[0], &trial, &[]);
        let task = Task {
            rule: &set.rules[0],
            trial: &trial,
            agreeing: &instances.iter().collect::<Vec<_>>(),
            refused: &[],
            refuses_elements: false,
            all_types: true,
            suspects: Suspects::default(),
        };
        assert!(prove(&task).is_err());
        let empty = |recipe: &Recipe| recipe.has_empty_leaf() && recipe.sides(&trial).is_some_and(|s| s.types_agree());
        let found = task.suspects.take();
        assert!(found.iter().any(empty), "{found:?}");
        assert!(task.suspects.take().is_empty());
    }
}
