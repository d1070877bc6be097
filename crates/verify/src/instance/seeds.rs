//! Initial instances: from examples, from the loader's search, and for each alternative of a source.

use std::collections::VecDeque;
use std::sync::Arc;

use super::random::Random;
use super::recipe::Recipe;
use super::sketch::Bindings;
use super::{reach, sketch};
use tautomer_rewrite::Trial;
use tautomer_rule::{Example, ExampleKind, Rule, instances};

/// Mutations tried to reach a first instance where the loader's search finds none: at first, and in the end.
const REACHING: [usize; 2] = [150, 1500];

/// Attempts of the loader's search: at first, and in the end.
const LOADING: [usize; 2] = [100, 4000];

/// Instances that the loader's search makes.
const LOADED: usize = 6;

/// The number of combinations of alternatives up to which each of them gets an instance.
const COMBINED: usize = 40;

/// The initial instances of a search, made as they are asked for: the first ones may refute the rule.
pub(crate) struct Seeds<'a> {
    rule: &'a Arc<Rule>,
    trial: &'a Trial,
    examples: &'a [Example],
    random: Random,
    stage: Stage,
    /// Instances that were made but not yet taken.
    ready: VecDeque<Recipe>,
    /// Whether an example has produced an instance, and whether anything has.
    exemplified: bool,
    found: bool,
    /// The bindings of the examples.
    bindings: Vec<Bindings>,
}

/// Where the next instances come from.
enum Stage {
    /// Examples.
    Examples,
    /// The loader's search: for so many instances, in so many attempts.
    Loader(usize, usize),
    /// The conditions, one by one, in so many attempts.
    Conditions(usize),
    /// The alternatives of the source that are left, and the attempts for each.
    Alternatives(VecDeque<Arc<Rule>>, usize),
}

impl<'a> Seeds<'a> {
    pub(crate) fn of(rule: &'a Arc<Rule>, trial: &'a Trial, examples: &'a [Example]) -> Seeds<'a> {
        Seeds {
            rule,
            trial,
            examples,
            random: Random::part(0, &rule.name),
            stage: Stage::Examples,
            ready: VecDeque::new(),
            exemplified: false,
            found: false,
            bindings: Vec::new(),
        }
    }

    fn add_examples(&mut self) {
        for example in examples_of(self.rule, self.examples) {
            let after = match &example.kind {
                ExampleKind::Becomes(after) => Some(&**after),
                ExampleKind::MustNotFire => None,
            };
            for graph in [Some(&example.source), after].into_iter().flatten() {
                if let Some(sides) = self.trial.sides(graph.clone(), None) {
                    self.ready
                        .extend(Recipe::of(&sides.graph, &sides.source, &sides.inputs));
                    self.bindings.push(sketch::bindings(self.rule, &sides));
                }
            }
        }
        self.exemplified = !self.ready.is_empty();
    }

    fn add_alternative(&mut self, one: &Arc<Rule>, each: usize) {
        let found = instances(one, 1, each);
        let mut found: Vec<Recipe> = found
            .iter()
            .filter_map(|(g, roots)| Recipe::of(g, roots, &[]))
            .collect();
        if found.is_empty() {
            found = reach::with_bindings(one, &self.bindings, &mut self.random);
        }
        if found.is_empty() {
            found = reach::satisfying_conditions(one, each, &mut self.random);
        }
        self.ready.extend(found);
    }

    /// Makes the instances of one stage; false after the last.
    fn advance(&mut self) -> bool {
        match &mut self.stage {
            Stage::Examples => {
                self.add_examples();
                // With examples, a short search is enough.
                self.stage = match self.exemplified {
                    true => Stage::Loader(LOADED, LOADING[0]),
                    false => Stage::Loader(1, LOADING[0]),
                };
            }
            Stage::Loader(most, attempts) => {
                let (most, attempts) = (*most, *attempts);
                let found = instances(self.rule, most, attempts);
                let made = found.iter().filter_map(|(g, outputs)| Recipe::of(g, outputs, &[]));
                self.ready.extend(made);
                // A first instance soon, and the others after it.
                let is_first = most < LOADED;
                self.stage = match (is_first, found.is_empty()) {
                    (true, false) => Stage::Loader(LOADED, LOADING[1]),
                    (true, true) => Stage::Conditions(REACHING[0]),
                    (false, _) => Stage::Conditions(REACHING[1]),
                };
            }
            Stage::Conditions(attempts) => {
                let attempts = *attempts;
                if !self.found {
                    self.ready = reach::satisfying_conditions(self.rule, attempts, &mut self.random).into();
                }
                if attempts == REACHING[0] {
                    self.stage = Stage::Loader(LOADED, LOADING[1]);
                } else {
                    let mut alternatives = sketch::alternatives(self.rule);
                    if let Some(combined) = sketch::combined_alternatives(self.rule, COMBINED)
                        && !alternatives.is_empty()
                    {
                        alternatives = combined;
                    }
                    let each = (REACHING[1] / alternatives.len().max(1)).max(200);
                    self.stage = Stage::Alternatives(alternatives.into(), each);
                }
            }
            Stage::Alternatives(left, each) => {
                let each = *each;
                let Some(one) = left.pop_front() else { return false };
                self.add_alternative(&one, each);
            }
        }
        true
    }
}

impl Iterator for Seeds<'_> {
    type Item = Recipe;

    fn next(&mut self) -> Option<Recipe> {
        loop {
            if let Some(recipe) = self.ready.pop_front() {
                self.found = true;
                return Some(recipe);
            }
            if !self.advance() {
                return None;
            }
        }
    }
}

/// All initial instances of a search.
pub(crate) fn seeds(rule: &Arc<Rule>, trial: &Trial, examples: &[Example]) -> Vec<Recipe> {
    Seeds::of(rule, trial, examples).collect()
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
