//! Proof for all sizes: both sides of a rule as formulas of symbolic places, extents and numbers.
//!
//! The form of an instance has symbols for its extents and for attributes that are numbers of elements. The engines'
//! own matcher and inference run on it; a question that the symbols leave open, such as whether two extents are equal,
//! divides the proof into two cases, so that all cases together are all values. In each case, the element of either side
//! at a symbolic place becomes a formula in a normal form, and the formulas are compared. What is proved holds for the
//! numbers of the reals, and for functions of which no more is known than the laws say.

mod case;
mod einsum;
mod expr;
mod facts;
mod fold;
mod form;
mod graphs;
mod laws;
mod layout;
mod linear;
mod meaning;
mod models;
mod products;
mod strided;
#[cfg(test)]
mod tests;
mod windows;

use std::fmt;
use std::rc::Rc;

use rustc_hash::{FxHashMap, FxHashSet};

use self::case::{Case, Res, Stop};
use self::facts::Effort;
use self::form::Form;
pub(super) use self::graphs::prove_graphs;
use self::meaning::{At, Meaning};
use super::recipe::Recipe;

use crate::graph::{Graph, Node, VertexId, expand_composites};
use crate::op::{OpDef, OpTraits};
use crate::rewrite::Trial;
use crate::tensor::{Dim, Shape, TensorType, assume};

/// The most cases of one form.
const CASES: usize = 500;

/// What was proved of a rule.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Coverage {
    /// Forms of its source: ranks, axes, orders and members, with all extents left open.
    pub forms: usize,
    /// Cases into which these were divided.
    pub cases: usize,
    /// True if axes have no part in the rule, so that it holds for all ranks.
    pub any_rank: bool,
    /// True if it took that constants are equal but for their last digits, to one in a million.
    pub rounded: bool,
    /// The least and the largest rank of an operand.
    pub ranks: (usize, usize),
}

impl fmt::Display for Coverage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (least, most) = self.ranks;
        if self.any_rank {
            f.write_str("all sizes, all ranks")?;
        } else if least == most {
            write!(f, "all sizes, rank {least}")?;
        } else {
            write!(f, "all sizes, ranks {least}-{most}")?;
        }
        f.write_str(if self.rounded { ", up to rounded constants" } else { "" })
    }
}

/// Proves that both sides are equal for all extents, in all forms that the instances have.
///
/// # Errors
/// Why it is not proved.
pub(super) fn prove(trial: &Trial, instances: &[&Recipe]) -> Result<Coverage, String> {
    let mut seen: FxHashSet<String> = FxHashSet::default();
    let mut coverage = Coverage {
        ranks: (usize::MAX, 0),
        ..Coverage::default()
    };
    let mut forms: Vec<Form> = instances.iter().map(|recipe| Form::of(recipe)).collect();
    forms.retain(|form| seen.insert(form.key()));
    forms.sort_by_key(|form| form.ranks().sum::<usize>());
    // As long as each axis is alone on both sides, what holds for two axes holds for more.
    let (small, large): (Vec<Form>, Vec<Form>) = forms
        .into_iter()
        .partition(|form| !form.axes_alone() || form.ranks().all(|rank| rank <= 2));
    let effort = Rc::new(Effort::default());
    let mut axes_alone = !large.is_empty() && small.iter().any(|form| form.ranks().any(|rank| rank == 2));
    for form in &small {
        axes_alone &= prove_form(trial, form, &effort, &mut coverage)? && form.axes_alone();
    }
    if axes_alone {
        coverage.any_rank = true;
    } else {
        for form in &large {
            prove_form(trial, form, &effort, &mut coverage)?;
        }
    }
    if coverage.forms == 0 {
        return Err("there are no instances".to_owned());
    }
    coverage.ranks.0 = coverage.ranks.0.min(coverage.ranks.1);
    Ok(coverage)
}

/// Proves a form in all its cases; true if each axis is alone on both sides.
fn prove_form(trial: &Trial, form: &Form, effort: &Rc<Effort>, coverage: &mut Coverage) -> Result<bool, String> {
    let mut waiting = vec![form.facts(effort.clone())];
    let (mut visited, mut proved, mut alone) = (0, 0, true);
    while let Some(facts) = waiting.pop() {
        visited += 1;
        if visited > CASES || effort.is_spent() {
            return Err(format!(
                "it takes more than is allowed: {proved} cases of {}",
                form.key()
            ));
        }
        if facts.is_empty() {
            continue;
        }
        let case = Rc::new(Case::new(facts));
        let outcome = prove_case(trial, form, &case);
        waiting.extend(case.take_aside());
        coverage.rounded |= case.is_rounded();
        match outcome {
            Ok(axes_alone) => {
                proved += 1;
                alone &= axes_alone;
            }
            Err(Stop::Divided | Stop::Empty) => {}
            Err(Stop::Open(why)) => return Err(why),
        }
    }
    if proved == 0 {
        return Err(format!("no case is left of {}", form.key()));
    }
    coverage.forms += 1;
    coverage.cases += proved;
    for rank in form.ranks() {
        coverage.ranks = (coverage.ranks.0.min(rank), coverage.ranks.1.max(rank));
    }
    Ok(alone)
}

/// Compares both sides in one case; true if each axis is alone on both.
fn prove_case(trial: &Trial, form: &Form, case: &Rc<Case>) -> Res<bool> {
    let (mut graph, roots) = form.build(case).ok_or(Stop::Empty)?;
    check_source(graph.clone(), case)?;
    complete_types(&mut graph, case)?;
    let sides = assume::under(case.clone(), || trial.sides(graph, Some(&roots)));
    case.stopped()?;
    let sides = sides.ok_or(Stop::Empty)?;
    // What is not built only because it is made of symbols has left the case open. What inference refuses, it
    // refuses for all values of them: no engine applies the rule.
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
    for (&a, &b) in source.iter().zip(target) {
        compare(&meaning, a, b)?;
    }
    let alone = |v| meaning.call(v).is_none_or(|call| has_axes_alone(call.def));
    Ok(graph.rpo().into_iter().all(alone))
}

/// True for operators that treat each axis for itself, so that one more axis changes nothing along the others.
fn has_axes_alone(def: &OpDef) -> bool {
    def.name == "expand" || def.traits.contains(OpTraits::ELEMENTWISE)
}

fn expanded(mut graph: Graph, case: &Rc<Case>) -> Res<Graph> {
    let done = assume::under(case.clone(), || expand_composites(&mut graph, &|_| true));
    case.stopped()?;
    done.map_err(|e| Stop::Open(e.message))?;
    Ok(graph)
}

/// Makes what the operators of the source ask for facts of the case.
fn check_source(graph: Graph, case: &Rc<Case>) -> Res<()> {
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

/// Extents that inference leaves open, and that the meaning of the operators gives.
fn complete_types(graph: &mut Graph, case: &Rc<Case>) -> Res<()> {
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

fn numbered_leaves(graph: &Graph) -> FxHashMap<VertexId, u32> {
    let leaves = graph
        .ids()
        .filter(|&v| matches!(graph.vertex(v).node, Node::Input | Node::Param));
    leaves.zip(0..).collect()
}

/// Compares types and elements of two values.
fn compare(meaning: &Meaning<'_>, a: VertexId, b: VertexId) -> Res<()> {
    let case = meaning.case;
    let (left, right) = (meaning.shape(a)?, meaning.shape(b)?);
    // An engine does not replace a value by one of another type.
    if meaning.dtype(a) != meaning.dtype(b) || left.len() != right.len() {
        return Err(Stop::Empty);
    }
    for (x, y) in left.iter().zip(&right) {
        if !case.is_zero(&(x.clone() - y.clone()))? {
            return Err(Stop::Empty);
        }
    }
    if left.iter().any(|d| case.known_zero(d) == Some(true)) {
        return Ok(());
    }
    let mut place = Vec::with_capacity(left.len());
    for (axis, extent) in left.iter().enumerate() {
        if case.known_zero(&(extent.clone() - Dim::Const(1))) == Some(true) {
            place.push(Dim::Const(0));
            continue;
        }
        // There is an element: no factor of the extent is 0.
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
    // Again with what was learned on the way, until nothing is.
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
    if laws::equal(&x, &y) {
        return Ok(());
    }
    if laws::nearly_equal(&x, &y) {
        case.round();
        return Ok(());
    }
    if case.contradicts(&[]) {
        return Err(Stop::Empty);
    }
    // An extent that is 0 or 1 is one of them.
    for d in case.symbols() {
        if case.known_sign(&(Dim::Const(1) - d.clone())) == Some(true) {
            case.is_zero(&d)?;
            return case
                .is_zero(&(d - Dim::Const(1)))
                .and(Err(Stop::Open("an extent is 0 or 1".to_owned())));
        }
    }
    Err(Stop::Open(format!("it is not seen that\n    {x}\n  is\n    {y}")))
}
