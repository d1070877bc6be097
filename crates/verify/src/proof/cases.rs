//! The cases of a form: each is compared, or split, until none is left.

use std::cell::Cell;
use std::rc::Rc;

use rustc_hash::FxHashMap;

use super::case::{Case, Res, Stop};
use super::choices::Promise;
use super::expr::{Expr, Factor, Fun};
use super::facts::{Effort, Facts};
use super::form::Form;
use super::meaning::{At, Meaning};
use super::suspects::Suspects;
use super::{block, certificate, choices, defined, laws, signs, stages};
use tautomer_graph::{Graph, Node, VertexId, expand_composites};
use tautomer_op::{Fact, Formula, Infer, Made, Op, OpDef, OpTraits, ShapeRule};
use tautomer_rewrite::Trial;
use tautomer_tensor::{DType, Dim, Shape, TensorType, assume};

/// Limit on the cases of one form.
pub(super) const CASES: usize = 500;

/// Why a form is not proved.
pub(super) struct Unproved {
    pub(super) why: String,
    /// The proof took too long, or found no sizes at which the rule applies: that says nothing about the rule.
    pub(super) limit: bool,
    /// It could not tell whether the rule applies, which says nothing about the rule either.
    pub(super) open: bool,
}

impl Unproved {
    pub(super) fn says_nothing(&self) -> bool {
        self.limit || self.open
    }
}

impl From<Unproved> for String {
    fn from(unproved: Unproved) -> String {
        unproved.why
    }
}

/// The input of a proof.
pub(super) struct Given {
    pub(super) effort: Rc<Effort>,
    /// Numbers that represent symbols.
    pub(super) tokens: Rc<[f64]>,
    /// Whether conversions round.
    pub(super) rounds: bool,
    /// Limit on the cases of one form.
    pub(super) cases: usize,
    /// Receives instances at which the formulas of both sides differ.
    pub(super) suspects: Suspects,
}

/// The result of proving a form.
pub(super) struct Proved {
    /// The number of cases; 0 if the rule applies at no sizes.
    pub(super) cases: usize,
    /// Both sides treat each axis separately.
    pub(super) axes_alone: bool,
    /// Constants that differ in their last digits were assumed to be equal.
    pub(super) rounded: bool,
    /// The record of its cases for a certificate.
    pub(super) trail: certificate::Trail,
    /// Every question about an axis that represents several has one answer in all cases in which something is compared.
    pub(super) answered: bool,
}

/// Proves a form in all cases that these are divided into.
pub(super) fn prove_from(
    trial: &Trial,
    form: &Form,
    given: &Given,
    mut waiting: Vec<Facts>,
) -> Result<Proved, Unproved> {
    let mut visited = 0;
    let mut answers = block::Answers::default();
    let mut out = Proved {
        cases: 0,
        axes_alone: true,
        rounded: false,
        trail: certificate::Trail::default(),
        answered: true,
    };
    while let Some(facts) = waiting.pop() {
        visited += 1;
        if visited > given.cases || given.effort.is_spent() {
            let limit = if visited > given.cases {
                format!("{} cases", given.cases)
            } else {
                format!("{} comparisons", given.effort.limit())
            };
            let (operators, cases) = (form.operators(), out.cases);
            return Err(Unproved {
                why: format!(
                    "the proof takes more than {limit} for a form of {operators}: {cases} of its cases were proved"
                ),
                limit: true,
                open: false,
            });
        }
        if facts.is_empty() {
            continue;
        }
        let case = Rc::new(Case::new(facts));
        let outcome = prove_case(trial, form, &case);
        waiting.extend(case.take_aside());
        out.rounded |= case.is_rounded();
        match outcome {
            Ok(compared) => {
                out.cases += 1;
                out.axes_alone &= compared.alone;
                out.trail.add(compared.trail);
                out.answered &= compared.vacuous || answers.add(&case.facts().answers_of_block);
            }
            Err(Stop::Divided | Stop::Empty) => {}
            Err(Stop::Open(why)) => {
                let (limit, open) = (given.effort.is_spent(), case.is_left_open());
                if !limit && !open {
                    given.suspects.add(form, &case.facts());
                }
                return Err(Unproved { why, limit, open });
            }
        }
    }
    Ok(out)
}

/// The findings if both sides are equal in one case.
pub(super) struct Compared {
    /// Both sides treat each axis separately.
    pub(super) alone: bool,
    /// No output has an element.
    pub(super) vacuous: bool,
    /// The record for a certificate.
    pub(super) trail: certificate::Trail,
}

/// Compares both sides in one case.
pub(super) fn prove_case(trial: &Trial, form: &Form, case: &Rc<Case>) -> Res<Compared> {
    let (mut graph, roots) = form.build(case).ok_or(Stop::Empty)?;
    // The bodies of composite operators may look at dimensions that inference leaves open.
    if has_unknown(&graph) {
        complete_types(&mut graph, case)?;
        case.stopped()?;
    }
    check_composites(&graph, case)?;
    check_source(graph.clone(), case)?;
    complete_types(&mut graph, case)?;
    let sides = assume::under(case.clone(), || trial.sides(graph, Some(&roots)));
    case.stopped()?;
    let sides = sides.ok_or(Stop::Empty)?;
    // A target that fails to build only because of symbols has left the case open, which `stopped` reports. One that
    // inference rejects is rejected for all values of the symbols: no engine applies the rule.
    let target = sides.target.map_err(|_| Stop::Empty)?;
    let (mut graph, source) = (sides.graph, sides.source);
    if source.len() != target.len() {
        return Err(Stop::Empty);
    }
    graph.clear_outputs();
    for &v in source.iter().chain(&target) {
        graph.output(v, None);
    }
    let graph = expanded(graph, case)?;
    let outputs: Vec<VertexId> = graph.outputs().iter().map(|o| o.vertex).collect();
    let (source, target) = outputs.split_at(source.len());
    let leaves = numbered_leaves(&graph);
    let meaning = Meaning::new(&graph, case, leaves);
    let mut values = Vec::new();
    for (&a, &b) in source.iter().zip(target) {
        values.extend(compare(&meaning, a, b)?);
    }
    if let Some(block) = case.block().filter(|_| !values.is_empty()) {
        block.check(&case.facts(), &meaning, &values)?;
    }
    let alone = |v| meaning.call(v).is_none_or(|call| has_axes_alone(call.def));
    let alone = graph.rpo().into_iter().all(alone);
    let element = match source {
        [a] if alone => certificate::element(&meaning, *a, trial.rule(), &sides.bound),
        _ => None,
    };
    Ok(Compared {
        alone,
        vacuous: values.is_empty(),
        trail: certificate::Trail::of(alone, element),
    })
}

/// True if inference leaves a dimension open.
fn has_unknown(graph: &Graph) -> bool {
    let shape = |v| graph.ty(v).as_tensor().and_then(|ty| ty.shape.as_ref());
    graph
        .ids()
        .any(|v| shape(v).is_some_and(|shape| shape.iter().any(Dim::has_unknown)))
}

/// True for operators that treat each axis separately: an additional axis changes nothing along the existing ones.
pub(super) fn has_axes_alone(def: &OpDef) -> bool {
    def.shapes == ShapeRule::Expand
        || matches!(def.law(), Formula::Made(Made::Filled { like: true, .. }))
        || def.traits.contains(OpTraits::ELEMENTWISE)
}

pub(super) fn expanded(mut graph: Graph, case: &Rc<Case>) -> Res<Graph> {
    let done = assume::under(case.clone(), || expand_composites(&mut graph, &|_| true));
    case.stopped()?;
    done.map_err(|e| Stop::Open(e.message))?;
    Ok(graph)
}

/// Assumes what inference asks of the operands of composite operators, whose bodies may ask for less.
fn check_composites(graph: &Graph, case: &Rc<Case>) -> Res<()> {
    for v in graph.ids() {
        let Node::Call {
            op: Op::Known(def),
            attrs,
        } = &graph.vertex(v).node
        else {
            continue;
        };
        if def.composite_body().is_none() {
            continue;
        }
        let operands: Vec<VertexId> = graph.pred(v).into_iter().collect();
        let facts: Vec<Fact<'_>> = operands.iter().map(|&u| graph.fact(u)).collect();
        let fresh = Cell::new(u32::MAX / 2);
        let inferred = assume::under(case.clone(), || {
            (def.infer)(&Infer {
                def,
                operands: &facts,
                attrs,
                fresh: &fresh,
            })
        });
        case.stopped()?;
        inferred.map_err(|_| Stop::Empty)?;
    }
    Ok(())
}

/// Adds the requirements of the source's operators to the facts of the case.
pub(super) fn check_source(graph: Graph, case: &Rc<Case>) -> Res<()> {
    let graph = expanded(graph, case)?;
    let mut meaning = Meaning::new(&graph, case, numbered_leaves(&graph));
    meaning.given = true;
    for v in graph.rpo() {
        if meaning.is_given(v) {
            meaning.shapes(v)?;
        }
    }
    Ok(())
}

/// Fills in dimensions that inference leaves open and the meaning of the operators determines.
pub(super) fn complete_types(graph: &mut Graph, case: &Rc<Case>) -> Res<()> {
    let unclear = |d: &Dim| d.as_const().is_none() && d.as_symbol().is_none();
    let mut types = Vec::new();
    {
        let mut meaning = Meaning::new(graph, case, numbered_leaves(graph));
        meaning.given = true;
        for v in graph.rpo() {
            let ty = graph.ty(v).as_tensor();
            let shape = ty.and_then(|t| t.shape.as_ref());
            if let (Some(ty), true) = (ty, shape.is_none_or(|s| s.iter().any(unclear)))
                && let Ok(shape) = meaning.shape(v)
            {
                types.push((v, TensorType::new(ty.dtype, shape.into_iter().collect::<Shape>())));
            }
        }
    }
    for (v, ty) in types {
        graph.vertex_mut(v).ty = ty.into();
    }
    Ok(())
}

pub(super) fn numbered_leaves(graph: &Graph) -> FxHashMap<VertexId, u32> {
    let leaves = graph
        .ids()
        .filter(|&v| matches!(graph.vertex(v).node, Node::Input | Node::Param));
    leaves.zip(0..).collect()
}

fn leaf_types(graph: &Graph) -> impl Iterator<Item = DType> + '_ {
    let leaves = graph
        .ids()
        .filter(|&v| matches!(graph.vertex(v).node, Node::Input | Node::Param | Node::Const(_)));
    leaves.filter_map(|v| graph.ty(v).as_tensor().map(|ty| ty.dtype))
}

/// Compares types and elements of two values; returns the elements, if there are any.
pub(super) fn compare(meaning: &Meaning<'_>, a: VertexId, b: VertexId) -> Res<Vec<Expr>> {
    let case = meaning.case;
    let (left, right) = (meaning.shape(a)?, meaning.shape(b)?);
    // An engine never replaces a value by one of another type.
    if meaning.dtype(a) != meaning.dtype(b) || left.len() != right.len() {
        return Err(Stop::Empty);
    }
    for (x, y) in left.iter().zip(&right) {
        if !case.is_zero(&(x.clone() - y.clone()))? {
            return Err(Stop::Empty);
        }
    }
    if left.iter().any(|d| case.known_zero(d) == Some(true)) {
        return Ok(Vec::new());
    }
    let mut place = Vec::with_capacity(left.len());
    for (axis, extent) in left.iter().enumerate() {
        if case.known_zero(&(extent.clone() - Dim::Const(1))) == Some(true) {
            place.push(Dim::Const(0));
            continue;
        }
        // There is an element, so no factor of the dimension is 0.
        if let [(product, c)] = extent.terms().as_slice()
            && *c > 0
        {
            for atom in product.iter() {
                let factor = Dim::atom(atom.clone());
                if case.known_sign(&factor) == Some(true) {
                    case.assume_at_least_zero(&(factor - Dim::Const(1)))?;
                }
            }
        }
        let i = Dim::symbol(&format!("@{axis}"));
        case.assume_at_least_zero(&i)?;
        case.assume_at_least_zero(&(extent.clone() - Dim::Const(1) - i.clone()))?;
        place.push(i);
    }
    let at = At::Index(place);
    if case.block().is_none() && stages::are_same(meaning, a, b, &at)? {
        return Ok(Vec::new());
    }
    // Repeat with the facts learned on the way until there are no new ones.
    let (x, y) = loop {
        let version = case.version();
        let (x, y) = (meaning.element(a, &at)?, meaning.element(b, &at)?);
        let ([(_, x)], [(_, y)]) = (x.as_slice(), y.as_slice()) else {
            return Err(Stop::Open("an element has several cases".to_owned()));
        };
        if case.version() == version {
            break (x.clone(), y.clone());
        }
        meaning.forget();
    };
    let promise = Promise {
        real: case.only_finite(),
        truth: meaning.dtype(a) == DType::Bool,
        total: leaf_types(meaning.graph).all(|dtype| dtype.is_int() || dtype == DType::Bool),
    };
    // Nothing is promised where the source is infinite.
    if promise.real && is_infinite(&x) {
        return Ok(Vec::new());
    }
    if choices::equal(&x, &y, promise) {
        return Ok(vec![x, y]);
    }
    if promise.real
        && meaning.dtype(a).is_float()
        && let Some((x, y)) = defined::where_finite(case, &x, &y)?
        && choices::equal(&x, &y, promise)
    {
        return Ok(vec![x, y]);
    }
    if signs::equal(&x, &y, promise) {
        return Ok(vec![x, y]);
    }
    if laws::nearly_equal(&x, &y, laws::rounding(meaning.dtype(a))) {
        case.round();
        return Ok(vec![x, y]);
    }
    if case.contradicts(&[]) {
        return Err(Stop::Empty);
    }
    // Split on a dimension that can only be 0 or 1.
    for d in case.symbols() {
        if case.known_sign(&(Dim::Const(1) - d.clone())) == Some(true) {
            case.is_zero(&d)?;
            return case
                .is_zero(&(d - Dim::Const(1)))
                .and(Err(Stop::Open("a dimension is 0 or 1".to_owned())));
        }
    }
    Err(Stop::Open(format!(
        "the proof ends with different formulas:\n    {x}\n    {y}"
    )))
}

/// True for an infinity.
fn is_infinite(x: &Expr) -> bool {
    matches!(x.as_factor(), Some(Factor::Apply(Fun::Special(bits), _)) if f64::from_bits(*bits).is_infinite())
        || matches!(x.neg().as_factor(), Some(Factor::Apply(Fun::Special(bits), _)) if f64::from_bits(*bits).is_infinite())
}
