//! Are the rules true? Each rule is tried at many small instances, over exact numbers where its operators allow it.
//!
//! An instance is the source of a rule as a concrete graph: types, attributes, constants and numbers of members are
//! chosen, inference accepts it, and the matcher of the engines finds the rule in it, so that the conditions are
//! exactly those under which an engine applies the rule. Both sides are built and compared: their types, then their
//! values, over the number systems that say most first.
//!
//! * Over two prime fields, agreement at random points decides that two polynomials are equal, whatever the functions in
//!   them are, but for an error that is stated.
//! * Over fields in which `exp`, `log`, roots and powers are there, laws of functions decide more. Those that were needed
//!   are named, and may be switched off.
//! * Over rational numbers an order is decided: `max`, `relu`, `clip`, comparisons, roundings. Sides that differ there
//!   refute the rule.
//! * What is left is compared in double precision, with bounds of the rounding that follow the computation. A constant
//!   with many digits may stand for a number close by, and its bound says so.
//! * Bits are compared where the class says `bitwise`, and where it could: on all instances, on every number of `f16`
//!   and `bf16` and on very many of `f32` where there is one operand, and on pairs of numbers at which bits may go wrong.
//!
//! Instances begin with the examples of the rule and with what the loader's search for operands finds, and are changed
//! one number, attribute or axis at a time, with what is tied to it. Everything depends on the seed alone.

mod all;
mod audit;
mod bounds;
mod change;
mod class;
mod coincide;
mod data;
#[cfg(test)]
mod evidence;
mod extents;
mod fingerprint;
mod graphs;
mod judge;
mod level;
mod lock;
mod numbers;
mod proof;
mod random;
mod reach;
mod recipe;
mod repair;
mod shipped;
mod shrink;
mod sketch;
mod solve;
mod table;
#[cfg(test)]
mod tests;
mod tolerance;
mod unknown;

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use rustc_hash::{FxHashMap, FxHashSet};

use self::judge::{Apart, Finding, Ground, Terms, examine, same_bits, side};
use self::random::Random;
use self::recipe::Recipe;
use crate::graph::{Graph, Node, Params, VertexId, Workload};
use crate::op::Laws;
use crate::rewrite::{Sides, Trial};
use crate::rule::{Class, Example, ExampleKind, Rule, instances};

pub use self::all::verify_all;
pub use self::audit::{Audit, Fault as AuditFault, Limits as AuditLimits, Options as AuditOptions, audit};
pub use self::class::{Decided, Sweep};
pub use self::fingerprint::{examples_fingerprint, fingerprint};
pub use self::graphs::{
    Difference, Differs, Machine, Options as GraphOptions, Proof, Report as GraphReport, Verdict as GraphVerdict,
    verify_graphs,
};
pub use self::judge::Fault;
pub use self::level::Level;
pub use self::lock::{Entry, Forms, LOCK_NAME, Lock, VERIFIER};
pub use self::proof::Coverage;
pub use self::repair::{Repair, repair};
pub use self::shipped::{Subject, is_shipped, place_of, shipped_locks, shipped_rules, shipped_verdict};
pub use self::table::verdict_table;

/// Changes after one that inference refuses.
const MENDINGS: usize = 8;

/// Instances of different ranks that are varied one value at a time.
const BEGINNINGS: usize = 3;

/// One more instance for this many has extents that coincide.
const COINCIDENCES: usize = 2;

/// Changes that are tried to reach first instances where the loader's search finds none.
const REACHING: usize = 1500;

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
    /// A proof for all sizes is looked for; it takes longer than the instances, and refutes nothing.
    pub prove: bool,
    /// Laws of functions that may be assumed.
    pub laws: Laws,
    /// Numbers of an element type on which the bits of a rule with one real operand are compared.
    pub patterns: u64,
    /// All of them instead, those of `f32` as well.
    pub exhaustive: bool,
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
            prove: true,
            laws: Laws::ALL,
            patterns: 1 << 18,
            exhaustive: false,
            shrinking: 600,
        }
    }
}

/// What was found out about a rule.
#[derive(Debug, Clone)]
pub enum Verdict {
    /// Both sides are equal for all extents, in all forms of the source that instances were found of.
    ProvedForAll(Coverage),
    /// Both sides are the same polynomials, perhaps of functions that may be any, at every shape that was tried.
    Proved {
        /// How many shapes.
        shapes: usize,
        /// `n`, if they differ at such a shape and were not found to with a probability less than `2^-n`; nothing,
        /// where laws were assumed.
        error: Option<u32>,
        /// Laws of functions that were assumed.
        laws: Laws,
    },
    /// The sides agree at all instances.
    Tested {
        /// How many instances.
        instances: usize,
        /// At how many of them exact numbers say so.
        exact: usize,
        /// Laws of functions that were assumed there.
        laws: Laws,
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
            Verdict::Proved { shapes, error, laws } => {
                write!(f, "proved at {shapes} shapes")?;
                if let Some(error) = error {
                    write!(f, ", error < 2^-{error}")?;
                }
                with_laws(f, *laws)
            }
            Verdict::Tested { instances, exact, laws } => {
                write!(f, "tested at {instances} instances")?;
                if exact == instances {
                    f.write_str(", exactly")?;
                } else if *exact > 0 {
                    write!(f, ", exactly at {exact}")?;
                }
                with_laws(f, *laws)
            }
            Verdict::Refuted(example) => write!(f, "refuted: {}", example.fault),
            Verdict::Undecided(why) => write!(f, "undecided: {why}"),
        }
    }
}

fn with_laws(f: &mut fmt::Formatter<'_>, laws: Laws) -> fmt::Result {
    if laws.is_empty() {
        Ok(())
    } else {
        write!(f, ", with {laws}")
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
    /// How many of them each number system decided, by name: `field` the fields, `exact` rational numbers and fields
    /// beside elements that are no real numbers, `f64` double precision with bounds, `bits` elements as they are.
    pub systems: BTreeMap<&'static str, usize>,
    /// Instances where the target has no type, or another one, so that no engine applies the rule.
    pub refused: usize,
    /// Why, at the first of these.
    pub refusal: Option<String>,
    /// Changes that were tried.
    pub attempts: usize,
    /// Why the rule is not proved for all sizes; nothing, if it is, or if it was not tried.
    pub not_proved: Option<String>,
    /// The strongest class that nothing speaks against; nothing, if no instance says.
    pub class: Option<Decided>,
    /// The largest bound of rounding that an agreement in double precision rests on, relative to the largest element.
    pub loose: f64,
    /// The largest difference beyond these bounds, relative to the largest element: what an approximation is off by.
    pub error: f64,
}

impl Report {
    /// What the rule could declare instead of its class, if that is stronger.
    pub fn stronger_class(&self) -> Option<Class> {
        let Decided { class: decided, sweeps } = self.class.as_ref()?;
        let decided = *decided;
        // Bits that were the same at instances alone say little of zeros and infinities.
        if decided == Class::Bitwise && sweeps.is_empty() {
            return None;
        }
        let holds = matches!(
            self.verdict,
            Verdict::ProvedForAll(_) | Verdict::Proved { .. } | Verdict::Tested { .. }
        );
        (holds && self.rule.class.allows(decided) && !decided.allows(self.rule.class)).then_some(decided)
    }
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
    let mut run = Run::new(rule, &trial, options);
    let seeds = seeds(rule, &trial, examples);
    let mut apart = run.search(seeds, options, &mut random).or_else(|| run.seldom());
    if apart.is_none() {
        apart = run.decide_class(options, &mut random);
    }
    let strict = options.strict || apart.as_ref().is_some_and(|(_, _, apart)| apart.fault == Fault::Types);
    let proof = match apart {
        None if options.prove && options.laws != Laws::ALL => Some(Err(
            "the proof takes all laws of functions for granted, and some are not assumed".to_owned(),
        )),
        None if options.prove => {
            let right: Vec<&Recipe> = run.right[..run.forms].iter().map(|&i| &run.pool[i]).collect();
            Some(match unreached(rule, &right) {
                0 => proof::prove(&trial, &right),
                n => Err(format!("no operands were found for {n} alternatives of its source")),
            })
        }
        _ => None,
    };
    let Run {
        mut report, grounds, ..
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
        None if report.instances > 0 => grounds.verdict(),
        None if report.refused > 0 => Verdict::Undecided("its target never has the type of its source".to_owned()),
        None => Verdict::Undecided("no operands were found that it matches".to_owned()),
    };
    report
}

/// What the agreements rest on, counted.
#[derive(Debug, Default)]
struct Grounds {
    decided: usize,
    error: Option<u32>,
    exact: usize,
    whole: usize,
    compared: usize,
    laws: Laws,
}

impl Grounds {
    fn add(&mut self, ground: Ground) {
        match ground {
            Ground::Field { error, laws } => {
                self.decided += 1;
                self.error = self.error.into_iter().chain(error).min();
                self.laws = self.laws.or(laws);
            }
            Ground::Exact(laws) => {
                self.exact += 1;
                self.laws = self.laws.or(laws);
            }
            Ground::Whole => self.whole += 1,
            Ground::Data => self.compared += 1,
        }
    }

    fn verdict(&self) -> Verdict {
        let laws = self.laws;
        if self.decided > 0 && self.exact + self.compared == 0 {
            let error = self.error.filter(|_| laws.is_empty());
            return Verdict::Proved {
                shapes: self.decided,
                error,
                laws,
            };
        }
        let exact = self.decided + self.exact + self.whole;
        Verdict::Tested {
            instances: exact + self.compared,
            exact,
            laws,
        }
    }
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
    /// How many of those the proof takes its forms from: where extents coincide, a form says nothing new.
    forms: usize,
    terms: Terms,
    grounds: Grounds,
    /// Whether the bits are the same at all instances so far, if any says.
    same_bits: Option<bool>,
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
    fn new(rule: &'a Arc<Rule>, trial: &'a Trial, options: &Options) -> Run<'a> {
        Run {
            rule,
            words: change::Words::of(rule),
            trial,
            seen: FxHashSet::default(),
            pool: Vec::new(),
            right: Vec::new(),
            forms: 0,
            terms: Terms::new(options.strict, options.laws),
            grounds: Grounds::default(),
            same_bits: None,
            applied: 0,
            unapplied: 0,
            never: None,
            report: Report {
                rule: rule.clone(),
                verdict: Verdict::Undecided(String::new()),
                instances: 0,
                systems: BTreeMap::new(),
                refused: 0,
                refusal: None,
                attempts: 0,
                not_proved: None,
                class: None,
                loose: 0.0,
                error: 0.0,
            },
        }
    }

    fn search(&mut self, seeds: Vec<Recipe>, options: &Options, random: &mut Random) -> Option<Found> {
        let found = self.wander(seeds, options, random);
        self.forms = self.right.len();
        found.or_else(|| self.coincide(options, random))
    }

    /// Instances where extents coincide; they differ from those that are known in nothing but this.
    fn coincide(&mut self, options: &Options, random: &mut Random) -> Option<Found> {
        // Choices of their own: how many there are does not change what else is found.
        let mut apart = Random::part(options.seed, "coincidences");
        let lists = self.beginnings().into_iter();
        let lists = lists
            .flat_map(|i| coincide::coincidences(&self.pool[i], &mut apart))
            .collect();
        let enough = self.report.instances + options.instances / COINCIDENCES;
        for next in in_turn(lists) {
            if self.report.instances >= enough {
                break;
            }
            if let Some(found) = self.attempt(mend(next, random), random) {
                return Some(found);
            }
        }
        None
    }

    /// The first instances of different ranks.
    fn beginnings(&self) -> Vec<usize> {
        let (mut ranks, mut out) = (Vec::new(), Vec::new());
        for &i in &self.right {
            let own = self.pool[i].ranks();
            if out.len() < BEGINNINGS && !ranks.contains(&own) {
                ranks.push(own);
                out.push(i);
            }
        }
        out
    }

    /// Instances from the first ones on, by changes.
    fn wander(&mut self, seeds: Vec<Recipe>, options: &Options, random: &mut Random) -> Option<Found> {
        for recipe in seeds {
            if let Some(found) = self.attempt(recipe, random) {
                return Some(found);
            }
        }
        let most = options.instances.saturating_mul(options.attempts);
        // Each attribute at each value that counts, for as long as half of what is allowed lasts.
        let begin = self.beginnings().into_iter();
        let begin = begin
            .map(|i| change::variants(&self.pool[i], &self.words, random))
            .collect();
        for next in in_turn(begin) {
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

    /// Decides the class, on more numbers where that is possible; numbers on which a rule is wrong that says `bitwise`.
    fn decide_class(&mut self, options: &Options, random: &mut Random) -> Option<Found> {
        let measured = self.terms.measured;
        (self.report.loose, self.report.error) = (measured.loose, measured.error);
        let mut sweeps = Vec::new();
        if self.same_bits == Some(true) {
            let recipes: Vec<&Recipe> = self.right.iter().map(|&i| &self.pool[i]).collect();
            let extent = (options.patterns, options.exhaustive);
            match class::sweep(self.rule, self.trial, &recipes, extent, random) {
                Ok(found) => sweeps = found,
                Err(found) if self.rule.class == Class::Bitwise => return Some(*found),
                Err(_) => self.same_bits = Some(false),
            }
        }
        let class = match (self.same_bits, self.rule.class) {
            (Some(true), _) => Class::Bitwise,
            (_, Class::Approx(_)) if measured.error > 0.0 => Class::Approx(measured.error),
            _ => Class::Real,
        };
        self.report.class = (self.report.instances > 0).then_some(Decided { class, sweeps });
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
        match examine(self.rule, &sides, &mut self.terms, random) {
            Finding::Apart(apart) => {
                self.report.instances += 1;
                return Some((recipe, sides, apart));
            }
            Finding::Agree(ground) => {
                self.report.instances += 1;
                self.applied += usize::from(recipe.is_plain());
                *self.report.systems.entry(ground.system()).or_default() += 1;
                self.grounds.add(ground);
                self.right.push(self.pool.len());
                if self.rule.class == Class::Bitwise {
                    self.same_bits = Some(true);
                } else if self.same_bits != Some(false) {
                    self.same_bits = same_bits(self.rule, &sides, random).or(self.same_bits);
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

/// The first of each list, the second of each, and so on.
fn in_turn(lists: Vec<Vec<Recipe>>) -> Vec<Recipe> {
    let mut lists: Vec<_> = lists.into_iter().map(Vec::into_iter).collect();
    let mut out = Vec::new();
    loop {
        let before = out.len();
        out.extend(lists.iter_mut().filter_map(Iterator::next));
        if out.len() == before {
            return out;
        }
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

/// The examples of a rule; those of an equality are of both directions.
fn examples_of<'a>(rule: &Rule, examples: &'a [Example]) -> impl Iterator<Item = &'a Example> {
    let base = rule.name.strip_suffix("-reversed").unwrap_or(&rule.name).to_owned();
    let name = rule.name.clone();
    examples.iter().filter(move |e| *e.rule == *base || *e.rule == *name)
}

/// Instances to begin with.
fn seeds(rule: &Arc<Rule>, trial: &Trial, examples: &[Example]) -> Vec<Recipe> {
    let mut out = Vec::new();
    let mut given = Vec::new();
    for example in examples_of(rule, examples) {
        let after = match &example.kind {
            ExampleKind::Becomes(after) => Some(&**after),
            ExampleKind::MustNotFire => None,
        };
        for graph in [Some(&example.source), after].into_iter().flatten() {
            if let Some(sides) = trial.sides(graph.clone(), None) {
                out.extend(Recipe::of(&sides.graph, &sides.source, &sides.inputs));
                given.push(sketch::given(rule, &sides));
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
        out = reach::reached(rule, REACHING, random);
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
            found = reach::transferred(&one, &given, random);
        }
        if found.is_empty() {
            found = reach::reached(&one, each, random);
        }
        out.extend(found);
    }
    out
}

/// Alternatives of the source that none of the instances has.
fn unreached(rule: &Rule, instances: &[&Recipe]) -> usize {
    let alternatives = sketch::alternatives(rule).into_iter();
    let reached = |one: Arc<Rule>| {
        let trial = Trial::new(one);
        instances.iter().any(|recipe| reach::matches(&trial, recipe))
    };
    alternatives.filter(|one| !reached(one.clone())).count()
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
