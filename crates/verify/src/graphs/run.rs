//! Numeric comparison of two graphs: over the field, in double precision, by bits, and with the machine if they are
//! large.

use super::evaluate::{Evaluate, bound, over_field, reference, work};
use super::first::{Differs, Sides, Values};
use super::pair::Pair;
use super::{Difference, Options, Report, Tolerance, Verdict};
use crate::compare::data::{self, Data};
use crate::compare::element::{ElementMismatch, bit_mismatch};
use crate::compare::sides::without_inputs;
use crate::instance::extents::Extents;
use crate::instance::random::Random;
use tautomer_graph::{Graph, Params, VertexId, Workload, interpret};
use tautomer_op::{Field, Value};
use tautomer_rule::Class;
use tautomer_tensor::{DType, Tensor, Type};

/// Both graphs at chosen dimensions.
struct Instance {
    extents: Extents,
    original: Graph,
    optimized: Graph,
    /// The operations of both graphs.
    operations: u64,
    /// The elements of all values in both graphs.
    elements: usize,
}

/// Limit on the calls with uninterpreted booleans that points of the field may decide.
const CHOICES: u32 = 4;

/// The number of points of the field needed to show a difference that occurs for only one choice of the booleans of
/// this many calls, except with a chance of one in 2^28; `None` if that takes too many points.
fn points_for(choices: u32) -> Option<u64> {
    match choices {
        0 => Some(2),
        // (1 - 2^-choices)^points < e^-20
        _ if choices <= CHOICES => Some(20 << choices),
        _ => None,
    }
}

/// How the results of a run are computed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Method {
    /// With the reference definitions, in double precision; the results may be known to be equal over the field.
    Reference { equal_in_field: bool },
    /// With the machine, in single precision.
    Machine,
}

/// The result of a run.
enum Compared {
    Agree,
    /// The original cannot be computed here, and why.
    Nothing(String),
    Differ(Box<Difference>),
}

pub(super) struct Run<'a> {
    pub(super) pair: &'a Pair,
    pub(super) options: &'a Options<'a>,
}

impl Run<'_> {
    pub(super) fn verdict(&self, report: &mut Report) -> Verdict {
        let (mut decided, mut instances) = (0, 0);
        // Operations spent on the machine.
        let mut spent = 0u64;
        let mut why = None;
        for (number, extents) in Extents::choices(&self.pair.original).into_iter().enumerate() {
            if report.shapes.len() >= self.options.shapes {
                break;
            }
            let instance = self.instance(extents);
            let fits = |graph: &Graph| graph.ids().all(|v| instance.extents.fits(graph.ty(v)));
            if !fits(&instance.original) {
                why.get_or_insert_with(|| "the original is not valid for any of the dimensions tried".to_owned());
                continue;
            }
            let compared = if self.is_small(&instance) {
                self.by_reference(&instance, number)
            } else {
                self.by_machine(&instance, number, &mut spent).map(|runs| (false, runs))
            };
            match compared {
                Ok((in_field, runs)) => {
                    report.shapes.push(instance.extents.to_string());
                    decided += usize::from(in_field);
                    instances += runs;
                }
                Err(Compared::Differ(difference)) => return Verdict::Refuted(difference),
                Err(Compared::Nothing(reason)) => {
                    why.get_or_insert(reason);
                }
                Err(Compared::Agree) => {}
            }
            if spent >= self.options.limits.machine && instances > 0 {
                break;
            }
        }
        if spent > 0 && instances > 0 {
            let what = "too large for the reference definitions: run by the kernels, in single precision";
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
        let mut random = Random::part(self.options.seed, &format!("inputs {number} {}", kind.name()));
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

    /// Compares over the field and in double precision: whether the field proves equality, and how many runs agree.
    fn by_reference(&self, instance: &Instance, number: usize) -> Result<(bool, usize), Compared> {
        let in_field = self.in_field(instance, number) == Some(true);
        let method = Method::Reference {
            equal_in_field: in_field,
        };
        let mut runs = 0;
        let mut reason = None;
        for kind in Data::GRAPH_REAL {
            let Some(leaves) = self.leaves(instance, kind, number) else {
                continue;
            };
            let evaluate = |graph: &Graph, roots: &[VertexId]| reference(graph, roots, &leaves);
            match self.compare(instance, kind, &leaves, method, &evaluate) {
                Compared::Agree => runs += 1,
                Compared::Nothing(why) => {
                    reason.get_or_insert(why);
                }
                differ => return Err(differ),
            }
        }
        if self.options.class == Class::Bitwise {
            self.in_bits(instance, number)?;
        }
        match reason {
            Some(why) if runs == 0 => Err(Compared::Nothing(why)),
            _ if runs == 0 => Err(Compared::Nothing("no values could be made for the inputs".to_owned())),
            _ => Ok((in_field, runs)),
        }
    }

    /// Whether all results are equal at points of the field; `None` if they are undefined there.
    fn in_field(&self, instance: &Instance, number: usize) -> Option<bool> {
        let graph = &instance.original;
        let real = |v: &VertexId| graph.ty(*v).as_tensor().is_some_and(|t| t.dtype.is_float());
        // Elements that are not real do not vary between points.
        if !graph.inputs().iter().all(real) {
            return None;
        }
        let (mut point, mut points) = (0, 2);
        while point < points {
            let kind = if point % 2 == 0 { Data::Balanced } else { Data::Ties };
            let leaves = self.leaves(instance, kind, number)?;
            let mut random = Random::part(self.options.seed, &format!("field {number} {point}"));
            let mut values: Vec<Value<Field>> = Vec::new();
            for (&v, leaf) in graph.inputs().iter().zip(&leaves) {
                let name = graph.vertex(v).name.as_ref()?;
                // Constants folded from given values are right only for these values.
                values.push(if self.pair.given.contains_key(name) {
                    Value::from_tensor(leaf).ok()?
                } else {
                    data::variables(leaf, &mut random)?
                });
            }
            let run = |graph: &Graph| over_field(graph, &values, point);
            let ((expected, choices), (found, others)) = (run(&instance.original)?, run(&instance.optimized)?);
            if expected != found {
                return Some(false);
            }
            points = points.max(points_for(choices.max(others))?);
            if points > 2 && points.saturating_mul(instance.operations) > self.options.limits.operations {
                return None;
            }
            point += 1;
        }
        Some(true)
    }

    fn in_bits(&self, instance: &Instance, number: usize) -> Result<(), Compared> {
        for kind in Data::GRAPH_BITS {
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
                if let Some(at) = bit_mismatch(a, b) {
                    let mut difference = self.difference(instance, &leaves, i, at);
                    difference.what = format!("the bits of `{}` differ", self.pair.outputs[i]);
                    return Err(Compared::Differ(Box::new(difference)));
                }
            }
        }
        Ok(())
    }

    /// Compares on the machine, at least once and until its budget is spent: how many runs agree.
    fn by_machine(&self, instance: &Instance, number: usize, spent: &mut u64) -> Result<usize, Compared> {
        let Some(machine) = self.options.machine else {
            let why = format!("it takes {:.1e} operations", instance.operations as f64);
            return Err(Compared::Nothing(why));
        };
        let mut runs = 0;
        for kind in Data::GRAPH_REAL {
            if runs > 0 && spent.saturating_add(instance.operations) > self.options.limits.machine {
                break;
            }
            *spent = spent.saturating_add(instance.operations.max(1));
            let leaves = self.leaves(instance, kind, number);
            let leaves = leaves.ok_or_else(|| Compared::Nothing("the inputs are too large".to_owned()))?;
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
            match self.compare(instance, kind, &leaves, Method::Machine, &evaluate) {
                Compared::Agree => runs += 1,
                other => return Err(other),
            }
        }
        Ok(runs)
    }

    fn compare(
        &self,
        instance: &Instance,
        kind: Data,
        leaves: &[Tensor],
        method: Method,
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
                let nothing = ElementMismatch::of_wholes("a value", format!("nothing: {why}"));
                let mut difference = self.difference(instance, leaves, 0, nothing);
                difference.what = "the optimized graph cannot be computed".to_owned();
                return Compared::Differ(Box::new(difference));
            }
        };
        // A difference is rounding if the results are equal over the field.
        let equal_in_field = method == Method::Reference { equal_in_field: true };
        let tolerance = self.tolerance(instance, kind, method, &expected, &found);
        for (i, (a, b)) in expected.iter().zip(&found).enumerate() {
            let dtype = instance
                .original
                .ty(ours[i])
                .as_tensor()
                .map_or(DType::F32, |t| t.dtype);
            let Some(difference) = tolerance.mismatch(a, b, dtype).filter(|_| !equal_in_field) else {
                continue;
            };
            let mut difference = self.difference(instance, leaves, i, difference);
            difference.first = self.first(instance, (ours[i], theirs[i]), tolerance, evaluate);
            return Compared::Differ(Box::new(difference));
        }
        Compared::Agree
    }

    fn tolerance(
        &self,
        instance: &Instance,
        kind: Data,
        method: Method,
        expected: &[Value<f64>],
        found: &[Value<f64>],
    ) -> Tolerance {
        let has = |dtype: DType| {
            let is = |v: VertexId| instance.original.ty(v).as_tensor().is_some_and(|t| t.dtype == dtype);
            instance.original.ids().any(is)
        };
        let is_single = method == Method::Machine;
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

    /// Where the difference between two results begins.
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

    fn difference(&self, instance: &Instance, leaves: &[Tensor], i: usize, at: ElementMismatch) -> Difference {
        let graph = &instance.original;
        let named = graph.inputs().iter().zip(leaves);
        let all: Params = named
            .filter_map(|(&v, value)| Some((graph.vertex(v).name.clone()?, value.clone())))
            .collect();
        let values = all.iter().filter(|(name, _)| !self.pair.given.contains_key(*name));
        let ElementMismatch {
            element,
            expected,
            found,
        } = at;
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
                let graph = without_inputs(graph);
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
