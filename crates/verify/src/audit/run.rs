//! The points at which a run is checked, and their combined result.

use std::cell::RefCell;

use rustc_hash::{FxHashMap, FxHashSet};

use super::blame::{WrongPair, first_wrong_union, programs};
use super::pass::{Finding, LeafOf, NoValue, Point, pass};
use super::{Audit, Fault, Options};
use crate::compare::data::{self, Data};
use crate::compare::element::ElementMismatch;
use crate::instance::extents::Extents;
use crate::instance::random::Random;
use tautomer_graph::{Graph, Params, VertexId};
use tautomer_op::{Field, Value};
use tautomer_rewrite::{Explored, Formula, Term};
use tautomer_tensor::Tensor;

/// The combined result of all points for a term.
#[derive(Debug, Clone, Copy, Default)]
struct Mark {
    field: bool,
    real: bool,
    single: bool,
    free: bool,
    over_budget: bool,
}

pub(super) struct Run<'a> {
    graph: &'a Graph,
    params: &'a Params,
    space: &'a Explored,
    options: &'a Options<'a>,
    marks: Vec<Mark>,
    /// Classes with two values.
    broken: FxHashSet<u32>,
    fault: Option<Box<Fault>>,
    /// Why the first term that could not be computed failed.
    reason: Option<String>,
    shapes: Vec<String>,
}

type Leaves = FxHashMap<VertexId, Tensor>;

impl<'a> Run<'a> {
    pub(super) fn new(graph: &'a Graph, params: &'a Params, space: &'a Explored, options: &'a Options<'a>) -> Run<'a> {
        Run {
            graph,
            params,
            space,
            options,
            marks: vec![Mark::default(); space.terms.len()],
            broken: FxHashSet::default(),
            fault: None,
            reason: None,
            shapes: Vec::new(),
        }
    }

    /// Runs the audit at the requested number of choices of dimensions.
    pub(super) fn audit(mut self) -> Audit {
        let choices = Extents::choices(self.graph);
        let mut best: Option<(usize, &Extents)> = None;
        for (i, extents) in choices.iter().enumerate() {
            if self.shapes.len() >= self.options.shapes {
                break;
            }
            let failures = self.failures(extents, i);
            if failures == 0 {
                self.at(extents, i);
            } else if best.is_none_or(|(least, _)| failures < least) {
                best = Some((failures, extents));
            }
        }
        // Some graphs cannot be computed in full for any choice.
        if let (true, Some((_, extents))) = (self.shapes.is_empty(), best) {
            self.at(extents, 0);
        }
        self.report()
    }

    fn point(&self, extents: &Extents, data: Data) -> Point<'_> {
        Point {
            space: self.space,
            extents: extents.clone(),
            data,
            seed: self.options.seed,
            class: self.options.class,
            limits: self.options.limits,
            machine: self.options.machine,
            reason: RefCell::default(),
            stops: false,
        }
    }

    /// Values for inputs and parameters.
    fn leaves(&self, extents: &Extents, data: Data, number: usize) -> Leaves {
        let mut random = Random::part(self.options.seed, &format!("leaves {number} {}", data.name()));
        let known = self.space.types.iter().all(|ty| {
            let mut known = true;
            ty.visit_dims(&mut |d| known &= extents.dim(d).as_const().is_some());
            known
        });
        let mut out = Leaves::default();
        for v in data::leaves(self.graph) {
            let vertex = self.graph.vertex(v);
            let given = vertex.name.as_ref().and_then(|name| self.params.get(name));
            let value = match given.filter(|_| self.graph.params().contains(&v)) {
                Some(value) => Some(value.clone()),
                None => extents.shape(&vertex.ty).and_then(|shape| {
                    let dtype = vertex.ty.as_tensor()?.dtype;
                    let elements = shape.iter().try_fold(1usize, |n, d| n.checked_mul(*d))?;
                    let data = if known || dtype.is_float() {
                        data
                    } else {
                        Data::Balanced
                    };
                    let fits = elements <= self.options.limits.elements;
                    fits.then(|| data::tensor(dtype, &shape, data, &mut random)).flatten()
                }),
            };
            out.extend(value.map(|value| (v, value)));
        }
        out
    }

    /// The kinds of data to draw numbers from.
    fn kinds(&self) -> &'static [Data] {
        if self.options.assuming {
            &[Data::Positive]
        } else {
            &[Data::Balanced, Data::Positive]
        }
    }

    /// How badly these dimensions fail: the number of terms of the graph without a value, or more if some dimension is
    /// negative.
    fn failures(&self, extents: &Extents, number: usize) -> usize {
        let of_graph = |t: &&Term| t.vertex.is_some();
        let terms = || self.space.terms.iter().filter(of_graph);
        let misfits = terms()
            .filter(|t| !extents.fits(&self.space.types[t.class as usize]))
            .count();
        if misfits > 0 {
            return misfits * self.space.terms.len();
        }
        let leaves = self.leaves(extents, self.kinds()[0], number);
        // Only the graph itself: its terms come first.
        let count = self
            .space
            .terms
            .iter()
            .rposition(|t| t.vertex.is_some())
            .map_or(0, |i| i + 1);
        let alone = Explored {
            terms: self.space.terms[..count].to_vec(),
            types: self.space.types.clone(),
            unions: Vec::new(),
        };
        let mut limits = self.options.limits;
        limits.machine = limits.machine.min(10 * limits.operations);
        let mut point = Point {
            limits,
            space: &alone,
            stops: true,
            ..self.point(extents, self.kinds()[0])
        };
        let findings = pass::<f64>(&mut point, &|v| Value::from_tensor(leaves.get(&v)?).ok());
        let without = |among: &[NoValue]| {
            let is = |finding: &&Finding| matches!(finding, Finding::NoValue(reason) if among.contains(reason));
            findings.iter().filter(is).count()
        };
        if without(&[NoValue::Undefined, NoValue::OverBudget]) == 0 {
            return 0;
        }
        without(&[NoValue::Undefined, NoValue::OverBudget, NoValue::Operands])
    }

    fn at(&mut self, extents: &Extents, number: usize) {
        self.shapes.push(extents.to_string());
        let kinds = self.kinds();
        let leaves = self.leaves(extents, kinds[0], number);
        let mut random = Random::part(self.options.seed, &format!("field {number}"));
        let mut points: FxHashMap<VertexId, Value<Field>> = FxHashMap::default();
        for v in data::leaves(self.graph) {
            points.extend(leaves.get(&v).and_then(|t| Some((v, data::variables(t, &mut random)?))));
        }
        let in_field = |v: VertexId| points.get(&v).cloned();
        let findings = pass::<Field>(&mut self.point(extents, kinds[0]), &in_field);
        let mut same: Vec<bool> = vec![false; findings.len()];
        for (t, finding) in findings.iter().enumerate() {
            same[t] = matches!(finding, Finding::First(_) | Finding::Agrees(_));
            self.marks[t].field |= same[t];
            self.marks[t].free |= matches!(finding, Finding::Arbitrary);
            self.marks[t].over_budget |= matches!(finding, Finding::NoValue(NoValue::OverBudget));
        }
        drop(findings);
        for &kind in kinds {
            let leaves = self.leaves(extents, kind, number);
            let real = |v: VertexId| Value::from_tensor(leaves.get(&v)?).ok();
            let mut point = self.point(extents, kind);
            let findings = pass::<f64>(&mut point, &real);
            let mut wrong: Vec<WrongPair> = Vec::new();
            let mut marks = Vec::new();
            for (t, finding) in findings.into_iter().enumerate() {
                match finding {
                    Finding::First(single) | Finding::Agrees(single) => {
                        let mark = Mark {
                            real: !single,
                            single,
                            ..Mark::default()
                        };
                        marks.push((t, mark));
                    }
                    Finding::Arbitrary => {
                        let mark = Mark {
                            free: true,
                            ..Mark::default()
                        };
                        marks.push((t, mark));
                    }
                    // Over the field both are equal, so the difference is rounding.
                    Finding::Differs(giver, _) if same[t] && same[giver as usize] => {}
                    Finding::Differs(giver, mismatch) => wrong.push(WrongPair {
                        terms: (giver, t as u32),
                        mismatch,
                    }),
                    Finding::NoValue(_) => {}
                }
            }
            let classes: FxHashSet<u32> = wrong
                .iter()
                .map(|pair| self.space.terms[pair.terms.1 as usize].class)
                .collect();
            let fault = match wrong.into_iter().next() {
                Some(first) if self.fault.is_none() => Some(self.fault_of(&point, &classes, first, &real, &in_field)),
                _ => None,
            };
            let reason = point.reason.into_inner();
            for (t, mark) in marks {
                self.marks[t].real |= mark.real;
                self.marks[t].single |= mark.single;
                self.marks[t].free |= mark.free;
            }
            self.broken.extend(classes);
            self.reason = self.reason.take().or(reason);
            self.fault = self.fault.take().or(fault.map(Box::new));
        }
    }

    fn fault_of(
        &self,
        point: &Point<'_>,
        classes: &FxHashSet<u32>,
        first: WrongPair,
        real: LeafOf<'_, f64>,
        field: LeafOf<'_, Field>,
    ) -> Fault {
        let (step, wrong) = match first_wrong_union(point, classes, real, field) {
            Some((i, wrong)) => (Some(self.space.unions[i].step.clone()), wrong),
            None => (None, first),
        };
        let [left, right] = programs(self.graph, self.space, wrong.terms);
        let ElementMismatch {
            element,
            expected,
            found,
        } = wrong.mismatch;
        Fault {
            step,
            left,
            right,
            shapes: point.extents.to_string(),
            element,
            expected,
            found,
        }
    }

    fn report(self) -> Audit {
        let mut out = Audit {
            shapes: self.shapes,
            broken: self.broken.len(),
            fault: self.fault,
            ..Audit::default()
        };
        let mut classes: FxHashSet<u32> = FxHashSet::default();
        for (term, mark) in self.space.terms.iter().zip(&self.marks) {
            if term.is_copy || matches!(term.formula, Formula::Absent) {
                continue;
            }
            classes.insert(term.class);
            out.enodes += 1;
            match mark {
                Mark { field: true, .. } => out.field += 1,
                Mark { real: true, .. } => out.real += 1,
                Mark { single: true, .. } => out.single += 1,
                Mark { free: true, .. } => out.free += 1,
                Mark { over_budget, .. } => {
                    out.unchecked += 1;
                    out.over_budget += usize::from(*over_budget);
                }
            }
        }
        out.classes = classes.len();
        out.reason = self.reason.filter(|_| out.unchecked > out.over_budget);
        out
    }
}
