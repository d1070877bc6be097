//! A check of a whole run: every term that an engine made is computed, and each class should have one value.
//!
//! Rules are verified one by one; here is what they did together, at the shapes and with the operators of a model.
//! Each e-node is computed from one value for each class, so that an error shows at the class where it arises. Values
//! are points of the prime field, where functions take equals to equals, and numbers in double precision; what the
//! field tells apart, such as a law of a function or a rounded constant, is decided by numbers. Where a class has two
//! values, the applications that made its terms equal are looked at in order, each term with the value that it has by
//! itself: the first that joins two values is to blame.

mod blame;
mod pass;
#[cfg(test)]
mod tests;

use std::fmt;

use rustc_hash::{FxHashMap, FxHashSet};

use self::blame::{first_wrong, point_of, programs};
use self::pass::{Finding, Lack, Point, pass};
use super::data::{self, Data};
use super::extents::Extents;
use super::graphs::Machine;
use super::judge::Differing;
use super::random::Random;
use crate::graph::{Graph, Params, VertexId};
use crate::op::{Field, Value};
use crate::rewrite::{Explored, Formula, Step};
use crate::rule::Class;
use crate::tensor::Tensor;

/// How much is computed over one number system at one point.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Operations, by the cost of each operator.
    pub operations: u64,
    /// Operations of the machine, which runs what takes more, in single precision.
    pub machine: u64,
    /// Elements that are held at one time.
    pub elements: usize,
}

/// What an audit does.
#[derive(Clone)]
pub struct Options<'a> {
    /// Where the random choices begin.
    pub seed: u64,
    /// For how many choices of the symbolic extents.
    pub shapes: usize,
    /// The weakest class of equality among the rules.
    pub class: Class,
    /// Facts about values were assumed: only numbers greater than zero are tried.
    pub assuming: bool,
    /// Budgets.
    pub limits: Limits,
    /// What runs calls that take more than the reference definitions may.
    pub machine: Option<Machine<'a>>,
}

impl Default for Options<'_> {
    fn default() -> Self {
        Options {
            seed: 0,
            shapes: 3,
            class: Class::Real,
            assuming: false,
            limits: Limits {
                operations: 300_000_000,
                machine: 30_000_000_000,
                elements: 1 << 26,
            },
            machine: None,
        }
    }
}

/// What an audit found.
#[derive(Debug, Clone, Default)]
pub struct Audit {
    /// E-nodes, attributes not counted; for substitution the vertices that there ever were.
    pub enodes: usize,
    /// Their classes.
    pub classes: usize,
    /// E-nodes with the value of their class over the field.
    pub field: usize,
    /// Those with the value of their class in double precision alone.
    pub real: usize,
    /// Those where the machine had a part in it, in single precision.
    pub single: usize,
    /// Calls without a definition, the value of which may be any.
    pub free: usize,
    /// Those that were not computed.
    pub unchecked: usize,
    /// Those among them that take more than the budget.
    pub over_budget: usize,
    /// The extents that were chosen, such as `n = 2`; empty texts without symbols.
    pub shapes: Vec<String>,
    /// Classes with two values.
    pub broken: usize,
    /// What broke the first of them.
    pub fault: Option<Box<Fault>>,
}

/// Two terms that were made equal and are not.
#[derive(Debug, Clone)]
pub struct Fault {
    /// The rule and where it was applied; nothing, if no application joins two values, as when folding of constants or
    /// the encoding is wrong.
    pub step: Option<Step>,
    /// What was matched, as a program; what both have in common is an input.
    pub left: String,
    /// What was made of it.
    pub right: String,
    /// The extents at which they differ.
    pub shapes: String,
    /// The first element that differs, by axes.
    pub element: Option<Vec<usize>>,
    /// What the left one has there.
    pub expected: String,
    /// What the right one has there.
    pub found: String,
}

impl fmt::Display for Audit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} e-nodes in {} classes, ", self.enodes, self.classes)?;
        match self.broken {
            0 => write!(f, "one value each")?,
            1 => write!(f, "1 class has two values")?,
            n => write!(f, "{n} classes have two values")?,
        }
        write!(f, " (field {}, f64 {}", self.field, self.real)?;
        if self.single > 0 {
            write!(f, ", f32 {}", self.single)?;
        }
        if self.free > 0 {
            write!(f, ", without a definition {}", self.free)?;
        }
        write!(f, ", unchecked {}", self.unchecked)?;
        if self.over_budget > 0 {
            write!(f, ", {} of them over the budget", self.over_budget)?;
        }
        f.write_str(")")
    }
}

impl Audit {
    /// True if no class has two values.
    pub fn is_right(&self) -> bool {
        self.broken == 0
    }
}

/// Checks everything that an engine made of `graph`; parameters without a value get random ones.
///
/// ```
/// # use std::sync::Arc;
/// # use tautomer::{diag::Source, graph::*, lang::*, pipeline::*, rule::load_rules, verify};
/// # let source = |text: &str| Arc::new(Source::new("example", text));
/// let rules = "/// Wrong.\nrule drop-relu(x) { relu(x) => x numerics real }";
/// let rules = load_rules(parse_rules(source(rules)).unwrap()).unwrap().rules;
/// let program = parse_program(source("fn main(x: f32[8]) { relu(x) * 2.0 }")).unwrap();
/// let graph = build_program(&program, &BuildOptions::default()).unwrap();
/// let workload = Workload { graph, params: Params::default() };
/// let options = Options { rules: Some(rules), explore: true, ..Options::default() };
/// let outcome = optimize(workload.clone(), &options).unwrap();
/// let explored = outcome.explored.unwrap();
/// let audit = verify::audit(&workload.graph, &workload.params, &explored, &verify::AuditOptions::default());
/// assert_eq!(&*audit.fault.unwrap().step.unwrap().rule, "drop-relu");
/// ```
pub fn audit(graph: &Graph, params: &Params, explored: &Explored, options: &Options<'_>) -> Audit {
    let mut run = Run {
        graph,
        params,
        space: explored,
        options,
        marks: vec![Mark::default(); explored.terms.len()],
        broken: FxHashSet::default(),
        fault: None,
        shapes: Vec::new(),
    };
    let choices = Extents::choices(graph);
    let mut best: Option<(usize, &Extents)> = None;
    for (i, extents) in choices.iter().enumerate() {
        if run.shapes.len() >= options.shapes {
            break;
        }
        let failures = run.failures(extents, i);
        if failures == 0 {
            run.at(extents, i);
        } else if best.is_none_or(|(least, _)| failures < least) {
            best = Some((failures, extents));
        }
    }
    // The graph may hold what cannot be computed at any extents.
    if let (true, Some((_, extents))) = (run.shapes.is_empty(), best) {
        run.at(extents, 0);
    }
    run.report()
}

/// What all points say of a term.
#[derive(Debug, Clone, Copy, Default)]
struct Mark {
    field: bool,
    real: bool,
    single: bool,
    free: bool,
    over_budget: bool,
}

struct Run<'a> {
    graph: &'a Graph,
    params: &'a Params,
    space: &'a Explored,
    options: &'a Options<'a>,
    marks: Vec<Mark>,
    /// Classes with two values.
    broken: FxHashSet<u32>,
    fault: Option<Box<Fault>>,
    shapes: Vec<String>,
}

type Leaves = FxHashMap<VertexId, Tensor>;

impl Run<'_> {
    fn point(&self, extents: &Extents, data: Data) -> Point<'_> {
        Point {
            space: self.space,
            extents: extents.clone(),
            data,
            seed: self.options.seed,
            class: self.options.class,
            limits: self.options.limits,
            machine: self.options.machine,
        }
    }

    /// Values for inputs and parameters.
    fn leaves(&self, extents: &Extents, data: Data, number: usize) -> Leaves {
        let mut random = Random::part(self.options.seed, &format!("leaves {number} {data:?}"));
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

    /// The kinds of data that numbers are taken from.
    fn kinds(&self) -> &'static [Data] {
        if self.options.assuming {
            &[Data::Positive]
        } else {
            &[Data::Balanced, Data::Positive]
        }
    }

    /// Vertices of the graph that cannot be computed with these extents, although their operands can.
    fn failures(&self, extents: &Extents, number: usize) -> usize {
        let of_graph = |t: &&crate::rewrite::Term| t.vertex.is_some();
        let terms = || self.space.terms.iter().filter(of_graph);
        let misfits = terms()
            .filter(|t| !extents.fits(&self.space.types[t.class as usize]))
            .count();
        if misfits > 0 {
            return misfits * self.space.terms.len();
        }
        let leaves = self.leaves(extents, self.kinds()[0], number);
        // The graph alone: its terms come first.
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
        let mut point = Point {
            space: &alone,
            ..self.point(extents, self.kinds()[0])
        };
        let findings = pass::<f64>(&mut point, &|v| Value::from_tensor(leaves.get(&v)?).ok());
        findings
            .iter()
            .filter(|finding| matches!(finding, Finding::Lacks(Lack::Meaning)))
            .count()
    }

    fn at(&mut self, extents: &Extents, number: usize) {
        self.shapes.push(extents.to_string());
        let kinds = self.kinds();
        let leaves = self.leaves(extents, kinds[0], number);
        let mut random = Random::part(self.options.seed, &format!("field {number}"));
        let mut points: FxHashMap<VertexId, Value<Field>> = FxHashMap::default();
        for v in data::leaves(self.graph) {
            points.extend(leaves.get(&v).and_then(|t| Some((v, point_of(t, &mut random)?))));
        }
        let in_field = |v: VertexId| points.get(&v).cloned();
        let findings = pass::<Field>(&mut self.point(extents, kinds[0]), &in_field);
        let mut same: Vec<bool> = vec![false; findings.len()];
        for (t, finding) in findings.iter().enumerate() {
            same[t] = matches!(finding, Finding::Gave(_) | Finding::Agrees(_));
            self.marks[t].field |= same[t];
            self.marks[t].free |= matches!(finding, Finding::Free);
            self.marks[t].over_budget |= matches!(finding, Finding::Lacks(Lack::Budget));
        }
        drop(findings);
        for &kind in kinds {
            let leaves = self.leaves(extents, kind, number);
            let real = |v: VertexId| Value::from_tensor(leaves.get(&v)?).ok();
            let mut point = self.point(extents, kind);
            let findings = pass::<f64>(&mut point, &real);
            let mut apart: Vec<(u32, u32, Differing)> = Vec::new();
            let mut marks = Vec::new();
            for (t, finding) in findings.into_iter().enumerate() {
                match finding {
                    Finding::Gave(single) | Finding::Agrees(single) => {
                        let mark = Mark {
                            real: !single,
                            single,
                            ..Mark::default()
                        };
                        marks.push((t, mark));
                    }
                    Finding::Free => {
                        let mark = Mark {
                            free: true,
                            ..Mark::default()
                        };
                        marks.push((t, mark));
                    }
                    // Over the field both are the same: what is left is rounding.
                    Finding::Apart(giver, _) if same[t] && same[giver as usize] => {}
                    Finding::Apart(giver, difference) => apart.push((giver, t as u32, difference)),
                    Finding::Lacks(_) => {}
                }
            }
            let classes: FxHashSet<u32> = apart
                .iter()
                .map(|(_, t, _)| self.space.terms[*t as usize].class)
                .collect();
            let fault = match apart.into_iter().next() {
                Some(first) if self.fault.is_none() => Some(self.fault_of(&point, &classes, first, &real, &in_field)),
                _ => None,
            };
            for (t, mark) in marks {
                self.marks[t].real |= mark.real;
                self.marks[t].single |= mark.single;
                self.marks[t].free |= mark.free;
            }
            self.broken.extend(classes);
            self.fault = self.fault.take().or(fault.map(Box::new));
        }
    }

    fn fault_of(
        &self,
        point: &Point<'_>,
        classes: &FxHashSet<u32>,
        first: (u32, u32, Differing),
        real: pass::LeafOf<'_, f64>,
        field: pass::LeafOf<'_, Field>,
    ) -> Fault {
        let (step, pair, difference) = match first_wrong(point, classes, real, field) {
            Some((i, pair, difference)) => (Some(self.space.unions[i].step.clone()), pair, difference),
            None => (None, (first.0, first.1), first.2),
        };
        let [left, right] = programs(self.graph, self.space, pair);
        let (element, expected, found) = difference;
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
        out
    }
}
