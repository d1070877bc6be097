//! Are the rules true? Each rule is tried at many small instances, over exact numbers where its operators allow it.
//!
//! An instance is the source of a rule as a concrete graph: types, attributes, constants and numbers of members are
//! chosen, inference accepts it, and the matcher of the engines finds the rule in it, so that the conditions are
//! exactly those under which an engine applies the rule. Both sides are built and compared: their types, then their
//! values. Over the field of integers modulo a prime, agreement at random points decides that two polynomials are
//! equal, and so do polynomials of functions of which nothing else is known; what takes more, such as an order or a law
//! of a function, is compared in double precision with a tolerance, and bits where the class says `bitwise`.
//!
//! Instances begin with the examples of the rule and with what the loader's search for operands finds, and are changed
//! one number, attribute or axis at a time, with what is tied to it. Everything depends on the seed alone.

mod change;
mod data;
mod judge;
mod proof;
mod random;
mod reach;
mod recipe;
mod repair;
mod shrink;
mod sketch;
mod solve;
#[cfg(test)]
mod tests;

use std::fmt;
use std::sync::Arc;

use rustc_hash::{FxHashMap, FxHashSet};

use self::judge::{Apart, Finding, Ground, judge, same_bits, side};
use self::random::Random;
use self::recipe::Recipe;
use crate::graph::{Graph, Node, Params, VertexId, Workload};
use crate::rewrite::{Sides, Trial};
use crate::rule::{Class, Example, ExampleKind, Rule, instances};

pub use self::judge::Fault;
pub use self::proof::Coverage;
pub use self::repair::{Repair, repair};

/// Changes after one that inference refuses.
const MENDINGS: usize = 8;

/// A rule is wrong if its target has another type than its source, or none, at this many plain instances, and more often
/// by this factor than it has the same type: engines would seldom apply it.
const NEVER: usize = 8;
const OFTEN: usize = 4;

/// How much is tried.
#[derive(Debug, Clone)]
pub struct Options {
    /// Where the random choices begin.
    pub seed: u64,
    /// Instances of each rule.
    pub instances: usize,
    /// Changes that are tried for each instance before the search ends.
    pub attempts: usize,
    /// A rule is wrong where its target has another type than its source; without this, such instances are counted as
    /// refused, for no engine applies the rule there.
    pub strict: bool,
    /// Changes that are tried to make a counterexample smaller.
    pub shrinking: usize,
}

impl Default for Options {
    fn default() -> Options {
        Options {
            seed: 0,
            instances: 100,
            attempts: 10,
            strict: false,
            shrinking: 600,
        }
    }
}

/// What was found out about a rule.
#[derive(Debug, Clone)]
pub enum Verdict {
    /// Both sides are equal for all extents, in all forms of the source that instances were found of.
    ProvedForAll(Coverage),
    /// Both sides are the same polynomials, perhaps of functions that may be any, at every shape that was tried, but for
    /// an error of probability less than 2^-90.
    Proved {
        /// How many shapes.
        shapes: usize,
    },
    /// The sides agree at all instances.
    Tested {
        /// How many instances.
        instances: usize,
    },
    /// The rule is wrong.
    Refuted(Box<Counterexample>),
    /// Nothing was found out, and why.
    Undecided(String),
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Verdict::ProvedForAll(coverage) => write!(f, "proved ({coverage})"),
            Verdict::Proved { shapes } => write!(f, "proved at {shapes} shapes"),
            Verdict::Tested { instances } => write!(f, "tested at {instances} instances"),
            Verdict::Refuted(example) => write!(f, "refuted: {}", example.fault),
            Verdict::Undecided(why) => write!(f, "undecided: {why}"),
        }
    }
}

/// An instance at which a rule is wrong.
#[derive(Debug, Clone)]
pub struct Counterexample {
    /// What is wrong.
    pub fault: Fault,
    /// The source, with one result for each output.
    pub source: Graph,
    /// What the rule makes of it.
    pub target: Graph,
    /// Values of the inputs and parameters of the source, by name; empty if the types differ.
    pub values: Params,
    /// The output that differs.
    pub output: usize,
    /// Where in it.
    pub element: Option<Vec<usize>>,
    /// What the source has there.
    pub expected: String,
    /// What the target has there.
    pub found: String,
}

/// A verdict, and what it rests on.
#[derive(Debug, Clone)]
pub struct Report {
    /// The rule.
    pub rule: Arc<Rule>,
    /// The verdict.
    pub verdict: Verdict,
    /// Instances that were compared.
    pub instances: usize,
    /// Instances where the target has no type, or another one, so that no engine applies the rule.
    pub refused: usize,
    /// Why, at the first of these.
    pub refusal: Option<String>,
    /// Changes that were tried.
    pub attempts: usize,
    /// Why the rule is not proved for all sizes; nothing, if it is, or if it was not tried.
    pub not_proved: Option<String>,
    /// For a rule of a weaker class: whether even the bits are the same at all instances; nothing, if none says.
    pub same_bits: Option<bool>,
}

/// Tries a rule; `examples` are those of its file.
///
/// ```
/// # use std::sync::Arc;
/// # use tautomer::{diag::Source, lang::parse_rules, rule::load_rules, verify::{Options, Verdict, verify}};
/// let text = "/// Order does not matter, or does it.\nrule swap(a, b) { matmul(a, b) => matmul(b, a) numerics real }";
/// let set = load_rules(parse_rules(Arc::new(Source::new("swap.rules", text))).unwrap()).unwrap();
/// let report = verify(&set.rules[0], &set.examples, &Options::default());
/// assert!(matches!(report.verdict, Verdict::Refuted(_)));
/// ```
pub fn verify(rule: &Arc<Rule>, examples: &[Example], options: &Options) -> Report {
    let mut random = Random::part(options.seed, &rule.name);
    let trial = Trial::new(rule.clone());
    let mut run = Run::new(rule, &trial, options.strict);
    let seeds = seeds(rule, &trial, examples);
    let apart = run.search(seeds, options, &mut random).or_else(|| run.seldom());
    let strict = options.strict || apart.as_ref().is_some_and(|(_, _, apart)| apart.fault == Fault::Types);
    let proof = match apart {
        None => Some(proof::prove(&trial, &run.right.iter().map(|&i| &run.pool[i]).collect::<Vec<_>>())),
        Some(_) => None,
    };
    let Run {
        mut report,
        decided,
        compared,
        ..
    } = run;
    if let Some(Err(why)) = &proof {
        report.not_proved = Some(why.clone());
    }
    report.verdict = match apart {
        Some(found) => {
            let (sides, apart) = shrink::shrink(rule, &trial, found, (strict, options.shrinking), &mut random);
            Verdict::Refuted(Box::new(counterexample(&sides, *apart)))
        }
        None if matches!(proof, Some(Ok(_))) => match proof {
            Some(Ok(coverage)) => Verdict::ProvedForAll(coverage),
            _ => Verdict::Undecided(String::new()),
        },
        None if decided > 0 && compared == 0 => Verdict::Proved { shapes: decided },
        None if report.instances > 0 => Verdict::Tested {
            instances: report.instances,
        },
        None if report.refused > 0 => Verdict::Undecided("its target never has the type of its source".to_owned()),
        None => Verdict::Undecided("no operands were found that it matches".to_owned()),
    };
    report
}

/// A search for instances.
struct Run<'a> {
    rule: &'a Arc<Rule>,
    words: change::Words,
    trial: &'a Trial,
    seen: FxHashSet<u64>,
    /// Instances so far, for changes; the wrong ones aside.
    pool: Vec<Recipe>,
    /// Those among them at which the sides agree.
    right: Vec<usize>,
    strict: bool,
    decided: usize,
    compared: usize,
    /// Plain instances at which the sides agree.
    applied: usize,
    /// Plain instances where no engine applies the rule.
    unapplied: usize,
    /// The first of these.
    never: Option<(Recipe, Sides)>,
    report: Report,
}

type Found = (Recipe, Sides, Box<Apart>);

impl<'a> Run<'a> {
    fn new(rule: &'a Arc<Rule>, trial: &'a Trial, strict: bool) -> Run<'a> {
        Run {
            rule,
            words: change::Words::of(rule),
            trial,
            seen: FxHashSet::default(),
            pool: Vec::new(),
            right: Vec::new(),
            strict,
            decided: 0,
            compared: 0,
            applied: 0,
            unapplied: 0,
            never: None,
            report: Report {
                rule: rule.clone(),
                verdict: Verdict::Undecided(String::new()),
                instances: 0,
                refused: 0,
                refusal: None,
                attempts: 0,
                not_proved: None,
                same_bits: None,
            },
        }
    }

    fn search(&mut self, seeds: Vec<Recipe>, options: &Options, random: &mut Random) -> Option<Found> {
        for recipe in seeds {
            if let Some(found) = self.attempt(recipe, random) {
                return Some(found);
            }
        }
        let most = options.instances.saturating_mul(options.attempts);
        // Each attribute at each value that counts, for as long as half of what is allowed lasts.
        let first = self.right.first().map(|&i| self.pool[i].clone());
        for next in first.map_or_else(Vec::new, |recipe| change::variants(&recipe, &self.words, random)) {
            if 2 * self.report.instances >= options.instances || 2 * self.report.attempts >= most {
                break;
            }
            if let Some(found) = self.attempt(mend(next, random), random) {
                return Some(found);
            }
        }
        while self.report.instances < options.instances && self.report.attempts < most {
            let next = self.next(&[], random)?;
            if let Some(found) = self.attempt(next, random) {
                return Some(found);
            }
        }
        None
    }

    /// An instance where no engine applies the rule, if engines seldom do.
    fn seldom(&mut self) -> Option<Found> {
        if self.unapplied < NEVER || self.unapplied <= OFTEN * self.applied {
            return None;
        }
        let (recipe, sides) = self.never.take()?;
        let apart = Box::new(judge::untyped(&sides));
        Some((recipe, sides, apart))
    }

    /// A recipe that differs a little from one before, or from one of `more`.
    fn next(&self, more: &[Recipe], random: &mut Random) -> Option<Recipe> {
        let all = self.pool.len() + more.len();
        if all == 0 {
            return None;
        }
        // The newest ones lead away from the beginning, the others back.
        let from = if random.chance(1, 3) {
            all - 1 - random.below(all.min(4))
        } else if random.chance(1, 4)
            && let Some(right) = random.pick(&self.right)
        {
            right
        } else {
            random.below(all)
        };
        let from = self.pool.get(from).unwrap_or_else(|| &more[from - self.pool.len()]);
        let mut next = change::changed(from, &self.words, random);
        if random.chance(1, 3) {
            next = change::changed(&next, &self.words, random);
        }
        Some(mend(next, random))
    }

    fn attempt(&mut self, recipe: Recipe, random: &mut Random) -> Option<Found> {
        self.report.attempts += 1;
        if !self.seen.insert(recipe.fingerprint()) {
            return None;
        }
        let (graph, roots) = recipe.build().ok()?;
        let sides = self.trial.sides(graph, Some(&roots))?;
        match judge(self.rule, &sides, self.strict, random) {
            Finding::Apart(apart) => {
                self.report.instances += 1;
                return Some((recipe, sides, apart));
            }
            Finding::Agree(ground) => {
                self.report.instances += 1;
                self.applied += usize::from(recipe.is_plain());
                self.decided += usize::from(ground == Ground::Field);
                self.compared += usize::from(ground == Ground::Data);
                self.right.push(self.pool.len());
                if self.rule.class != Class::Bitwise && self.report.same_bits != Some(false) {
                    let same = same_bits(self.rule, &sides, random);
                    self.report.same_bits = same.or(self.report.same_bits);
                }
            }
            Finding::Refused(reason) => {
                self.report.refused += 1;
                self.report.refusal.get_or_insert(reason);
                self.unapplied += usize::from(recipe.is_plain());
                if recipe.is_plain() && self.never.is_none() {
                    self.never = Some((recipe.clone(), sides));
                }
            }
            Finding::Unknown => {}
        }
        self.pool.push(recipe);
        None
    }
}

/// The recipe changed further until inference accepts it, if a few changes are enough: one is kept if inference comes
/// as far as before.
fn mend(mut recipe: Recipe, random: &mut Random) -> Recipe {
    let mut failing = recipe.build().err();
    for _ in 0..MENDINGS {
        let Some(step) = failing else { break };
        let next = if random.chance(1, 2) {
            solve::solved(&recipe, step, random)
        } else {
            change::mended(&recipe, step, random)
        };
        let after = next.build().err();
        if after.is_none_or(|after| after >= step) {
            (recipe, failing) = (next, after);
        }
    }
    recipe
}

/// Instances to begin with.
fn seeds(rule: &Arc<Rule>, trial: &Trial, examples: &[Example]) -> Vec<Recipe> {
    let mut out = Vec::new();
    let base = rule.name.strip_suffix("-reversed").unwrap_or(&rule.name);
    for example in examples.iter().filter(|e| *e.rule == *base || *e.rule == *rule.name) {
        let after = match &example.kind {
            ExampleKind::Becomes(after) => Some(&**after),
            ExampleKind::MustNotFire => None,
        };
        for graph in [Some(&example.source), after].into_iter().flatten() {
            if let Some(sides) = trial.sides(graph.clone(), None) {
                out.extend(Recipe::of(&sides.graph, &sides.source, &sides.inputs));
            }
        }
    }
    // Where there are examples, the search need not go far.
    let attempts = if out.is_empty() { 4000 } else { 100 };
    for (graph, outputs) in instances(rule, 6, attempts) {
        out.extend(Recipe::of(&graph, &outputs, &[]));
    }
    let random = &mut Random::part(0, &rule.name);
    if out.is_empty() {
        out = reach::reached(rule, random);
    }
    for one in sketch::alternatives(rule) {
        let found = instances(&one, 1, 200);
        let found: Vec<Recipe> = found.iter().filter_map(|(g, roots)| Recipe::of(g, roots, &[])).collect();
        out.extend(if found.is_empty() { reach::reached(&one, random) } else { found });
    }
    out
}

fn counterexample(sides: &Sides, apart: Apart) -> Counterexample {
    let mut graph = sides.graph.clone();
    // Members of a comprehension have one name.
    let mut taken: FxHashSet<Arc<str>> = FxHashSet::default();
    for v in data::leaves(&sides.graph) {
        let name = graph.vertex(v).name.clone().unwrap_or_else(|| "x".into());
        let numbered = (1..).map(|i| format!("{name}{i}").into());
        let free = std::iter::once(name.clone())
            .chain(numbered)
            .find(|n| !taken.contains(n));
        let name = free.unwrap_or(name);
        taken.insert(name.clone());
        graph.vertex_mut(v).name = Some(name);
    }
    let target: &[_] = sides.target.as_ref().map_or(&[], Vec::as_slice);
    let named = |v: VertexId| Some((graph.vertex(v).name.clone()?, apart.values.get(&v)?.clone()));
    Counterexample {
        fault: apart.fault,
        source: side(&graph, &sides.source),
        target: side(&graph, target),
        values: data::leaves(&graph).filter_map(named).collect(),
        output: apart.output,
        element: apart.element,
        expected: apart.source,
        found: apart.target,
    }
}

impl Counterexample {
    /// Source and target with their values: programs without inputs, which run as they are.
    pub fn workloads(&self) -> [Workload; 2] {
        [&self.source, &self.target].map(|graph| {
            let graph = without_inputs(graph);
            let used = |name: &Arc<str>| {
                graph
                    .params()
                    .iter()
                    .any(|&v| graph.vertex(v).name.as_ref() == Some(name))
            };
            let params = self.values.iter().filter(|(name, _)| used(name));
            let params = params.map(|(name, value)| (name.clone(), value.clone())).collect();
            Workload { graph, params }
        })
    }
}

/// The graph with parameters for inputs.
fn without_inputs(graph: &Graph) -> Graph {
    let mut out = Graph::new();
    let mut places: FxHashMap<VertexId, VertexId> = FxHashMap::default();
    for v in graph.rpo() {
        let vertex = graph.vertex(v);
        let copy = match (&vertex.node, &vertex.name) {
            (Node::Input | Node::Param, Some(name)) => out.param(name, vertex.ty.clone()),
            _ => {
                let operands: Vec<VertexId> = graph.pred(v).iter().map(|u| places[u]).collect();
                out.push(vertex.clone(), &operands)
            }
        };
        places.insert(v, copy);
    }
    for output in graph.outputs() {
        out.output(places[&output.vertex], output.name.as_deref());
    }
    out
}
