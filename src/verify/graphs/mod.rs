//! Is a graph what another one was made into? Translation validation of a result, whatever made it.
//!
//! Inputs, parameters and results are paired by name, else by position. Then, cheapest first: types; both graphs in one
//! graph where equal calls are one (`symbolic`); the prime field at random points, for several choices of the symbolic
//! extents; double precision with a tolerance. Constants that were computed ahead of time are rounded: where there are
//! such, results may differ by as much. Where results differ, values inside are compared in order, to show where the
//! difference begins.

mod first;
mod pair;
mod symbolic;
#[cfg(test)]
mod tests;

use std::cell::Cell;
use std::fmt;

use rustc_hash::FxHashMap;

use self::first::{Sides, Values};
use self::pair::{Pair, Unpaired, pair};
use self::symbolic::symbolic;
use super::audit::Limits;
use super::data::{self, Data};
use super::extents::Extents;
use super::judge::{Differing, differing, other_bits};
use super::random::Random;
use super::unknown::unknown;
use crate::graph::{Graph, Node, Params, VertexId, Workload, evaluate_call_over, interpret, interpret_over};
use crate::op::{Fact, Field, Infer, Number as _, Op, Value};
use crate::rule::Class;
use crate::tensor::{DType, Shape, Tensor, Type};

pub use self::first::Differs;
pub use self::symbolic::Proof;

/// Runs a graph fast: its results for its inputs in order, or why there are none.
pub type Machine<'a> = &'a dyn Fn(&Graph, &[Tensor]) -> Result<Vec<Tensor>, String>;

/// How two graphs are compared.
#[derive(Clone)]
pub struct Options<'a> {
    /// Where the random choices begin.
    pub seed: u64,
    /// For how many choices of the symbolic extents.
    pub shapes: usize,
    /// How equal the results must be.
    pub class: Class,
    /// What the reference definitions may take; beyond, the machine runs, once.
    pub limits: Limits,
    /// What runs graphs that take more.
    pub machine: Option<Machine<'a>>,
}

impl Default for Options<'_> {
    fn default() -> Self {
        Options {
            seed: 0,
            shapes: 4,
            class: Class::Real,
            limits: Limits {
                operations: 300_000_000,
                machine: u64::MAX,
                elements: 1 << 26,
            },
            machine: None,
        }
    }
}

/// What was found out about two graphs.
#[derive(Debug, Clone)]
pub enum Verdict {
    /// They are equal, whatever their inputs are.
    Proved(Proof),
    /// They are the same polynomials at every shape that was tried, but for an error of probability less than 2^-90.
    ProvedAt {
        /// How many shapes.
        shapes: usize,
    },
    /// Their results agree on all data that was tried.
    Tested {
        /// How many runs.
        instances: usize,
    },
    /// They are not equal.
    Refuted(Box<Difference>),
    /// Nothing was found out, and why.
    Undecided(String),
}

/// Where and how two graphs differ.
#[derive(Debug, Clone)]
pub struct Difference {
    /// What differs, in words.
    pub what: String,
    /// The result that differs; nothing, if the graphs do not have the same inputs and results.
    pub output: Option<String>,
    /// The first element of it that differs, by axes.
    pub element: Option<Vec<usize>>,
    /// What the original has there.
    pub expected: String,
    /// What the optimized graph has there.
    pub found: String,
    /// The symbolic extents.
    pub shapes: String,
    /// Values of inputs, and of parameters that had none.
    pub values: Params,
    /// Where the difference begins.
    pub first: Option<Differs>,
    /// Both graphs at these extents with these values: they run as they are.
    pub workloads: Option<Box<[Workload; 2]>>,
}

/// A verdict, and what it rests on.
#[derive(Debug, Clone)]
pub struct Report {
    /// The verdict.
    pub verdict: Verdict,
    /// The names of the results.
    pub outputs: Vec<String>,
    /// The extents that were chosen; empty texts without symbols.
    pub shapes: Vec<String>,
    /// What else is to be known: how things were paired, what was left out.
    pub notes: Vec<String>,
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let plural = |n: usize| if n == 1 { "" } else { "s" };
        match self {
            Verdict::Proved(Proof::SameExpression) => write!(f, "proved: the same expression"),
            Verdict::Proved(Proof::SameOnceExpanded) => {
                write!(
                    f,
                    "proved: the same expression once composite operators are written out"
                )
            }
            Verdict::ProvedAt { shapes } => write!(f, "proved at {shapes} shape{}", plural(*shapes)),
            Verdict::Tested { instances } => write!(f, "tested at {instances} instance{}", plural(*instances)),
            Verdict::Refuted(difference) => write!(f, "refuted: {}", difference.what),
            Verdict::Undecided(why) => write!(f, "undecided: {why}"),
        }
    }
}

/// How far apart results may lie.
#[derive(Debug, Clone, Copy)]
pub(super) struct Tolerance {
    class: Class,
    /// The largest number on the way.
    magnitude: f64,
    /// Infinite numbers may come of numbers that are too large.
    is_lenient: bool,
}

impl Tolerance {
    fn data(&self) -> Data {
        if self.is_lenient { Data::Large } else { Data::Balanced }
    }

    fn apart(&self, a: &Value<f64>, b: &Value<f64>, dtype: DType) -> Option<Differing> {
        differing(self.class, a, b, dtype, self.magnitude.max(1e-3), self.data())
    }
}

/// Compares an optimized workload with the original.
///
/// ```
/// # use std::sync::Arc;
/// # use tautomer::{diag::Source, graph::*, lang::parse_program, verify::{GraphOptions, verify_graphs}};
/// let workload = |text: &str| {
///     let program = parse_program(Arc::new(Source::new("example", text))).unwrap();
///     let graph = build_program(&program, &BuildOptions::default()).unwrap();
///     Workload { graph, params: Params::default() }
/// };
/// let original = workload("fn main(x: f32[n, 2]) { (x + x) * 2.0 }");
/// let report = verify_graphs(&original, &workload("fn main(x: f32[n, 2]) { x * 4.0 }"), &GraphOptions::default());
/// assert_eq!(report.verdict.to_string(), "proved at 4 shapes");
/// let report = verify_graphs(&original, &workload("fn main(x: f32[n, 2]) { x * 3.0 }"), &GraphOptions::default());
/// assert!(report.verdict.to_string().starts_with("refuted"));
/// ```
pub fn verify_graphs(original: &Workload, optimized: &Workload, options: &Options<'_>) -> Report {
    let mut report = Report {
        verdict: Verdict::Undecided(String::new()),
        outputs: Vec::new(),
        shapes: Vec::new(),
        notes: Vec::new(),
    };
    let mut pair = match pair(original, optimized) {
        Ok(pair) => pair,
        Err(Unpaired::Different(what)) => {
            report.verdict = Verdict::Refuted(Box::new(Difference::of_types(what, None)));
            return report;
        }
        Err(Unpaired::Unknown(why)) => {
            report.verdict = Verdict::Undecided(why);
            return report;
        }
    };
    report.notes = std::mem::take(&mut pair.notes);
    report.outputs = pair.outputs.clone();
    report.verdict = match types(&pair) {
        Some(difference) => Verdict::Refuted(Box::new(difference)),
        None => match symbolic(&pair.original, &pair.optimized) {
            // Equal expressions of equal numbers have equal bits, but for constants that were computed.
            Some(proof) => Verdict::Proved(proof),
            None => Run { pair: &pair, options }.verdict(&mut report),
        },
    };
    report
}

/// A result whose types cannot be equal.
fn types(pair: &Pair) -> Option<Difference> {
    let results = pair.original.outputs().iter().zip(pair.optimized.outputs());
    results.zip(&pair.outputs).find_map(|((a, b), name)| {
        let (x, y) = (pair.original.ty(a.vertex), pair.optimized.ty(b.vertex));
        (!x.admits(y)).then(|| {
            let what = format!("`{name}` is {x} in the original and {y} in the optimized one");
            Difference::of_types(what, Some(name.clone()))
        })
    })
}

impl Difference {
    fn of_types(what: String, output: Option<String>) -> Difference {
        Difference {
            what,
            output,
            element: None,
            expected: String::new(),
            found: String::new(),
            shapes: String::new(),
            values: Params::default(),
            first: None,
            workloads: None,
        }
    }
}

/// Both graphs at chosen extents.
struct Instance {
    extents: Extents,
    original: Graph,
    optimized: Graph,
    /// Operations of both.
    operations: u64,
    /// Elements of all values of both.
    elements: usize,
}

/// What a run says.
enum Compared {
    Agree,
    /// The original has no value here.
    Nothing(String),
    Apart(Box<Difference>),
}

struct Run<'a> {
    pair: &'a Pair,
    options: &'a Options<'a>,
}

impl Run<'_> {
    fn verdict(&self, report: &mut Report) -> Verdict {
        let (mut decided, mut instances, mut is_left_out) = (0, 0, false);
        let mut why = None;
        for (number, extents) in Extents::choices(&self.pair.original).into_iter().enumerate() {
            if report.shapes.len() >= self.options.shapes {
                break;
            }
            let instance = self.instance(extents);
            let fits = |graph: &Graph| graph.ids().all(|v| instance.extents.fits(graph.ty(v)));
            if !fits(&instance.original) {
                why.get_or_insert_with(|| "no extents that were tried suit the original".to_owned());
                continue;
            }
            let compared = if self.is_small(&instance) {
                self.by_reference(&instance, number)
            } else {
                is_left_out = true;
                self.by_machine(&instance, number).map(|_| (false, 1))
            };
            match compared {
                Ok((in_field, runs)) => {
                    report.shapes.push(instance.extents.to_string());
                    decided += usize::from(in_field);
                    instances += runs;
                }
                Err(Compared::Apart(difference)) => return Verdict::Refuted(difference),
                Err(Compared::Nothing(reason)) => {
                    why.get_or_insert(reason);
                }
                Err(Compared::Agree) => {}
            }
            // Larger ones take as long.
            if is_left_out && instances > 0 {
                break;
            }
        }
        if is_left_out && instances > 0 {
            let what = "too large for the reference definitions: run once by the kernels, in single precision";
            report.notes.push(what.to_owned());
        }
        match (report.shapes.len(), instances) {
            (0, 0) => Verdict::Undecided(why.unwrap_or_else(|| "nothing could be computed".to_owned())),
            (shapes, _) if decided == shapes => Verdict::ProvedAt { shapes },
            _ => Verdict::Tested { instances },
        }
    }

    fn instance(&self, extents: Extents) -> Instance {
        let original = bound(&self.pair.original, &extents);
        let optimized = bound(&self.pair.optimized, &extents);
        let (mut operations, mut elements) = (0u64, 0usize);
        for graph in [&original, &optimized] {
            for v in graph.ids() {
                operations = operations.saturating_add(work(graph, v));
                let shape = data::shape_of(graph, v).map(|(_, shape)| shape);
                let size = shape.map_or(0, |s| s.iter().fold(1usize, |n, d| n.saturating_mul(*d)));
                elements = elements.saturating_add(size);
            }
        }
        Instance {
            extents,
            original,
            optimized,
            operations,
            elements,
        }
    }

    fn is_small(&self, instance: &Instance) -> bool {
        let limits = &self.options.limits;
        instance.operations <= limits.operations && instance.elements <= limits.elements
    }

    /// Values for the inputs, in order.
    fn leaves(&self, instance: &Instance, kind: Data, number: usize) -> Option<Vec<Tensor>> {
        let mut random = Random::part(self.options.seed, &format!("inputs {number} {kind:?}"));
        let graph = &instance.original;
        let drawn = |v: &VertexId| {
            let name = graph.vertex(*v).name.as_ref()?;
            if let Some(value) = self.pair.given.get(name) {
                return Some(value.clone());
            }
            let dtype = graph.ty(*v).as_tensor()?.dtype;
            let shape = instance.extents.shape(graph.ty(*v))?;
            let size = shape.iter().try_fold(1usize, |n, d| n.checked_mul(*d))?;
            let fits = size <= self.options.limits.elements;
            fits.then(|| data::tensor(dtype, &shape, kind, &mut random)).flatten()
        };
        graph.inputs().iter().map(drawn).collect()
    }

    /// In the field and in double precision: whether the field decides, and how many runs agree.
    fn by_reference(&self, instance: &Instance, number: usize) -> Result<(bool, usize), Compared> {
        let in_field = self.in_field(instance, number) == Some(true);
        let mut runs = 0;
        let mut last = None;
        for kind in Data::REAL {
            let Some(leaves) = self.leaves(instance, kind, number) else {
                continue;
            };
            let evaluate = |graph: &Graph, roots: &[VertexId]| reference(graph, roots, &leaves);
            match self.compare(instance, kind, &leaves, false, in_field, &evaluate) {
                Compared::Agree => runs += 1,
                Compared::Nothing(why) => last = Some(why),
                apart => return Err(apart),
            }
        }
        if self.options.class == Class::Bitwise {
            self.in_bits(instance, number)?;
        }
        match last {
            Some(why) if runs == 0 => Err(Compared::Nothing(why)),
            _ if runs == 0 => Err(Compared::Nothing("there are no values for its inputs".to_owned())),
            _ => Ok((in_field, runs)),
        }
    }

    /// Whether all results are the same at points of the field; nothing, if they have no meaning there.
    fn in_field(&self, instance: &Instance, number: usize) -> Option<bool> {
        let graph = &instance.original;
        let real = |v: &VertexId| graph.ty(*v).as_tensor().is_some_and(|t| t.dtype.is_float());
        // Elements that are no real numbers are the same at every point.
        if !graph.inputs().iter().all(real) {
            return None;
        }
        for (i, kind) in [Data::Balanced, Data::Ties].into_iter().enumerate() {
            let leaves = self.leaves(instance, kind, number)?;
            let mut random = Random::part(self.options.seed, &format!("field {number} {i}"));
            let mut points: Vec<Value<Field>> = Vec::new();
            for (&v, leaf) in graph.inputs().iter().zip(&leaves) {
                let name = graph.vertex(v).name.as_ref()?;
                // What was computed from given values ahead of time holds for these alone.
                points.push(if self.pair.given.contains_key(name) {
                    Value::from_tensor(leaf).ok()?
                } else {
                    let numbers = (0..leaf.len()).map(|_| Field::from_int(i128::from(random.next() >> 3)));
                    let array = ndarray::ArcArray::from_shape_vec(ndarray::IxDyn(leaf.shape()), numbers.collect());
                    Value::Real(array.ok()?)
                });
            }
            let run = |graph: &Graph| over_field(graph, &points);
            if run(&instance.original)? != run(&instance.optimized)? {
                return Some(false);
            }
        }
        Some(true)
    }

    fn in_bits(&self, instance: &Instance, number: usize) -> Result<(), Compared> {
        for kind in Data::BITS {
            let Some(leaves) = self.leaves(instance, kind, number) else {
                continue;
            };
            let run = |graph: &Graph| {
                let place = |v: VertexId| graph.inputs().iter().position(|&u| u == v);
                interpret(graph, &|v| leaves.get(place(v)?).cloned())
            };
            let (Ok(expected), Ok(found)) = (run(&instance.original), run(&instance.optimized)) else {
                continue;
            };
            for (i, (a, b)) in expected.iter().zip(&found).enumerate() {
                if let Some((element, x, y)) = other_bits(a, b) {
                    let mut difference = self.difference(instance, &leaves, i, (element, x, y));
                    difference.what = format!("the bits of `{}` differ", self.pair.outputs[i]);
                    return Err(Compared::Apart(Box::new(difference)));
                }
            }
        }
        Ok(())
    }

    /// By the machine on some data; once, for it takes long.
    fn by_machine(&self, instance: &Instance, number: usize) -> Result<(), Compared> {
        let Some(machine) = self.options.machine else {
            let why = format!("it takes {:.1e} operations", instance.operations as f64);
            return Err(Compared::Nothing(why));
        };
        let leaves = self.leaves(instance, Data::Balanced, number);
        let leaves = leaves.ok_or_else(|| Compared::Nothing("its inputs are too large".to_owned()))?;
        let evaluate = |graph: &Graph, roots: &[VertexId]| -> Result<Vec<Value<f64>>, String> {
            let mut graph = graph.clone();
            graph.clear_outputs();
            roots.iter().for_each(|&v| graph.output(v, None));
            let results = machine(&graph, &leaves)?;
            results
                .iter()
                .map(|t| Value::from_tensor(t).map_err(|e| e.to_string()))
                .collect()
        };
        match self.compare(instance, Data::Balanced, &leaves, true, false, &evaluate) {
            Compared::Agree => Ok(()),
            other => Err(other),
        }
    }

    fn compare(
        &self,
        instance: &Instance,
        kind: Data,
        leaves: &[Tensor],
        is_single: bool,
        is_equal_in_field: bool,
        evaluate: &Evaluate<'_>,
    ) -> Compared {
        let roots = |graph: &Graph| -> Vec<VertexId> { graph.outputs().iter().map(|o| o.vertex).collect() };
        let (ours, theirs) = (roots(&instance.original), roots(&instance.optimized));
        let expected = match evaluate(&instance.original, &ours) {
            Ok(expected) => expected,
            Err(why) => return Compared::Nothing(why),
        };
        let found = match evaluate(&instance.optimized, &theirs) {
            Ok(found) => found,
            Err(why) => {
                let nothing = (None, "a value".to_owned(), format!("nothing: {why}"));
                let mut difference = self.difference(instance, leaves, 0, nothing);
                difference.what = "the optimized one cannot be computed".to_owned();
                return Compared::Apart(Box::new(difference));
            }
        };
        let tolerance = self.tolerance(instance, kind, is_single, &expected, &found);
        for (i, (a, b)) in expected.iter().zip(&found).enumerate() {
            let dtype = instance
                .original
                .ty(ours[i])
                .as_tensor()
                .map_or(DType::F32, |t| t.dtype);
            let Some(difference) = tolerance.apart(a, b, dtype).filter(|_| !is_equal_in_field) else {
                continue;
            };
            let mut difference = self.difference(instance, leaves, i, difference);
            difference.first = self.first(instance, (ours[i], theirs[i]), tolerance, evaluate);
            return Compared::Apart(Box::new(difference));
        }
        Compared::Agree
    }

    fn tolerance(
        &self,
        instance: &Instance,
        kind: Data,
        is_single: bool,
        expected: &[Value<f64>],
        found: &[Value<f64>],
    ) -> Tolerance {
        let has = |dtype: DType| {
            let is = |v: VertexId| instance.original.ty(v).as_tensor().is_some_and(|t| t.dtype == dtype);
            instance.original.ids().any(is)
        };
        let rounding = if !is_single && !self.pair.is_rounded {
            0.0
        } else if has(DType::BF16) {
            5e-2
        } else if has(DType::F16) {
            1e-2
        } else if is_single {
            1e-4
        } else {
            1e-5
        };
        let class = match self.options.class {
            Class::Approx(e) => Class::Approx(e + rounding),
            _ if rounding > 0.0 => Class::Approx(rounding),
            class => class,
        };
        let numbers = expected
            .iter()
            .chain(found)
            .filter_map(|v| v.real().ok())
            .flat_map(|a| a.iter());
        Tolerance {
            class,
            magnitude: numbers.filter(|x| x.is_finite()).fold(0.0, |most, x| most.max(x.abs())),
            is_lenient: kind == Data::Large,
        }
    }

    /// Where the difference of two results begins.
    fn first(
        &self,
        instance: &Instance,
        (a, b): (VertexId, VertexId),
        tolerance: Tolerance,
        evaluate: &Evaluate<'_>,
    ) -> Option<Differs> {
        let all = instance.elements <= self.options.limits.elements;
        let values = |graph: &Graph, root: VertexId| -> Option<Values> {
            let wanted = |v: &VertexId| {
                let vertex = graph.vertex(*v);
                matches!(vertex.ty, Type::Tensor(_)) && (all || vertex.name.is_some() || *v == root)
            };
            let roots: Vec<VertexId> = graph.rpo().into_iter().filter(wanted).collect();
            let values = evaluate(graph, &roots).or_else(|_| evaluate(graph, &[root])).ok()?;
            Some(roots.into_iter().zip(values).collect())
        };
        let expected = values(&instance.original, a)?;
        let found = values(&instance.optimized, b)?;
        let sides = Sides {
            original: &instance.original,
            optimized: &instance.optimized,
            expected: &expected,
            found: &found,
            tolerance,
        };
        sides.first(a, b)
    }

    fn difference(&self, instance: &Instance, leaves: &[Tensor], i: usize, at: Differing) -> Difference {
        let graph = &instance.original;
        let named = graph.inputs().iter().zip(leaves);
        let all: Params = named
            .filter_map(|(&v, value)| Some((graph.vertex(v).name.clone()?, value.clone())))
            .collect();
        let values = all.iter().filter(|(name, _)| !self.pair.given.contains_key(*name));
        let (element, expected, found) = at;
        Difference {
            what: format!("`{}` differs", self.pair.outputs[i]),
            output: Some(self.pair.outputs[i].clone()),
            element,
            expected,
            found,
            shapes: instance.extents.to_string(),
            values: values.map(|(name, value)| (name.clone(), value.clone())).collect(),
            first: None,
            workloads: Some(Box::new([&instance.original, &instance.optimized].map(|graph| {
                let graph = super::without_inputs(graph);
                let used = |v: &VertexId| graph.vertex(*v).name.clone();
                let params = graph.params().iter().filter_map(used);
                let params = params
                    .filter_map(|name| Some((name.clone(), all.get(&name)?.clone())))
                    .collect();
                Workload { graph, params }
            }))),
        }
    }
}

/// The values of some vertices of a graph.
type Evaluate<'a> = dyn Fn(&Graph, &[VertexId]) -> Result<Vec<Value<f64>>, String> + 'a;

/// The values of some vertices by the reference definitions.
fn reference(graph: &Graph, roots: &[VertexId], leaves: &[Tensor]) -> Result<Vec<Value<f64>>, String> {
    let mut graph = graph.clone();
    graph.clear_outputs();
    roots.iter().for_each(|&v| graph.output(v, None));
    let places: FxHashMap<VertexId, usize> = graph.inputs().iter().enumerate().map(|(i, &v)| (v, i)).collect();
    let value = |v: VertexId| Value::from_tensor(leaves.get(*places.get(&v)?)?).ok();
    interpret_over::<f64>(&graph, &value).map_err(|e| e.to_string())
}

/// The results over the field; calls that it has no meaning for are functions of which nothing is known.
fn over_field(graph: &Graph, leaves: &[Value<Field>]) -> Option<Vec<Value<Field>>> {
    let mut values: FxHashMap<VertexId, Vec<Value<Field>>> = FxHashMap::default();
    values.extend(
        graph
            .inputs()
            .iter()
            .copied()
            .zip(leaves.iter().map(|leaf| vec![leaf.clone()])),
    );
    for v in graph.rpo() {
        let vertex = graph.vertex(v);
        let operands = graph.pred(v);
        let one = |u: &VertexId| values.get(u).and_then(|list| list.first()).cloned();
        let made = match &vertex.node {
            Node::Input | Node::Param => continue,
            Node::Absent => Vec::new(),
            Node::Const(value) => vec![Value::from_tensor(value).ok()?],
            Node::Tuple => operands.iter().map(one).collect::<Option<_>>()?,
            Node::Proj(i) => vec![values.get(&operands[0])?.get(*i as usize)?.clone()],
            Node::Call { op: Op::Opaque(_), .. } => return None,
            Node::Call {
                op: op @ Op::Known(def),
                attrs,
            } => {
                let given: Vec<Option<Value<Field>>> = operands.iter().map(one).collect();
                let ty = |(u, value): (&VertexId, &Option<Value<Field>>)| match (value, graph.ty(*u).as_tensor()) {
                    (Some(value), Some(ty)) => Type::tensor(ty.dtype, Shape::from(value.shape())),
                    _ => Type::Absent,
                };
                let types: Vec<Type> = operands.iter().zip(&given).map(ty).collect();
                match evaluate_call_over::<Field>(op, &given, &types, attrs) {
                    Ok(values) => values,
                    Err(_) => unknown(def, attrs, &given, &vertex.ty)?,
                }
            }
        };
        values.insert(v, made);
    }
    graph
        .outputs()
        .iter()
        .map(|o| values.get(&o.vertex)?.first().cloned())
        .collect()
}

/// The graph with numbers for its extents.
fn bound(graph: &Graph, extents: &Extents) -> Graph {
    let mut out = Graph::new();
    let mut places: FxHashMap<VertexId, VertexId> = FxHashMap::default();
    // Both graphs keep the order of their inputs.
    for v in graph.inputs().iter().copied().chain(graph.rpo()) {
        if places.contains_key(&v) {
            continue;
        }
        let mut vertex = graph.vertex(v).clone();
        vertex.ty = extents.ty(&vertex.ty);
        let operands: Vec<VertexId> = graph.pred(v).iter().map(|u| places[u]).collect();
        let new = match &mut vertex.node {
            Node::Input => out.input(vertex.name.as_deref().unwrap_or(""), vertex.ty),
            Node::Call { attrs, .. } => {
                *attrs = attrs.iter().map(|a| extents.attr(a)).collect();
                out.push(vertex, &operands)
            }
            _ => out.push(vertex, &operands),
        };
        places.insert(v, new);
    }
    for output in graph.outputs() {
        out.output(places[&output.vertex], output.name.as_deref());
    }
    out
}

/// Operations of one call, by the cost of its operator.
fn work(graph: &Graph, v: VertexId) -> u64 {
    let Node::Call {
        op: Op::Known(def),
        attrs,
    } = &graph.vertex(v).node
    else {
        return 0;
    };
    let operands = graph.pred(v);
    let facts: Vec<Fact<'_>> = operands.iter().map(|&u| graph.fact(u)).collect();
    let fresh = Cell::new(u32::MAX / 2);
    let call = Infer {
        def,
        operands: &facts,
        attrs,
        fresh: &fresh,
    };
    let cost = def.cost.apply(&call, graph.ty(v));
    (cost.flops + cost.bytes / 4.0).clamp(0.0, 1e18) as u64
}
