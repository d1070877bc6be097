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
mod scope;
mod strided;
#[cfg(test)]
mod tests;
mod windows;

use std::fmt;
use std::rc::Rc;

use rustc_hash::{FxHashMap, FxHashSet};

use self::case::{Case, Res, Stop};
use self::facts::{EFFORT, Effort};
use self::form::{Form, has_sized_constants};
pub(super) use self::graphs::prove_graphs;
use self::meaning::{At, Meaning};
use self::scope::{Found, Level, Prepared, Scope};
use super::ledger::Ledger;
use super::recipe::Recipe;

use crate::graph::{Graph, Node, VertexId, expand_composites};
use crate::op::{OpDef, OpTraits};
use crate::rewrite::Trial;
use crate::rule::Rule;
use crate::tensor::{Dim, Shape, TensorType, assume};

/// The most cases of one form.
const CASES: usize = 500;

/// The most combinations of truth values and words that are proved for one form.
const WORDS: usize = 64;

/// Forms whose truth values and words are varied.
const VARIED: usize = 2;

/// The stack of a proof, which follows the operands of a graph down.
const STACK: usize = 64 << 20;

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
    /// All that may vary about the rule, and how the proof covers it.
    pub ledger: Ledger,
}

impl fmt::Display for Coverage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (least, most) = self.ranks;
        f.write_str("all sizes")?;
        if self.ledger.is_complete() {
            if self.any_rank {
                f.write_str(", all ranks")?;
            } else if least == most {
                write!(f, ", rank {least}")?;
            } else {
                write!(f, ", ranks {least}-{most}")?;
            }
        } else {
            write!(f, "; {}", self.ledger)?;
        }
        f.write_str(if self.rounded { ", up to rounded constants" } else { "" })
    }
}

/// What there is to prove.
pub(super) struct Task<'a> {
    pub(super) rule: &'a Rule,
    pub(super) trial: &'a Trial,
    /// Instances at which the sides agree.
    pub(super) agreeing: &'a [&'a Recipe],
    /// Instances where no engine applies the rule, for the type of the target: at other sizes one may.
    pub(super) refused: &'a [Recipe],
    /// The instances have all element types that operators and conditions admit.
    pub(super) all_types: bool,
}

/// Runs a proof where there is stack enough for the deepest one; nothing, if it panics.
pub(super) fn with_stack<T: Send>(f: impl FnOnce() -> T + Send) -> Option<T> {
    std::thread::scope(|scope| {
        let thread = std::thread::Builder::new().stack_size(STACK).spawn_scoped(scope, f);
        thread.ok()?.join().ok()
    })
}

/// Proves that both sides are equal for all extents, in all forms that the instances have.
///
/// # Errors
/// Why it is not proved.
pub(super) fn prove(task: &Task<'_>) -> Result<Coverage, String> {
    with_stack(|| prove_here(task)).unwrap_or_else(|| Err("internal error: the proof failed".to_owned()))
}

fn prove_here(task: &Task<'_>) -> Result<Coverage, String> {
    let scope = Scope::of(task.rule);
    let relaxed = Trial::new(scope.relaxed.clone());
    let mut last = Err("there are no instances".to_owned());
    let mut tried: Vec<Vec<Recipe>> = Vec::new();
    for level in [Level::All, Level::Sizes, Level::Written] {
        let trial = if level == Level::Written { task.trial } else { &relaxed };
        let proof = AtLevel {
            task,
            scope: &scope,
            trial,
            level,
        };
        let forms: Vec<Recipe> = proof.forms(false).into_iter().map(|p| p.recipe).collect();
        if tried.contains(&forms) {
            continue;
        }
        tried.push(forms);
        last = proof.prove();
        if last.is_ok() {
            break;
        }
    }
    last
}

/// A proof that takes instances as general as a level says.
struct AtLevel<'a> {
    task: &'a Task<'a>,
    scope: &'a Scope<'a>,
    trial: &'a Trial,
    level: Level,
}

impl AtLevel<'_> {
    fn prepared(&self, recipe: &Recipe, second: bool) -> Option<Prepared> {
        self.scope.prepared(recipe, self.task.trial, self.level, second)
    }

    /// The forms of the instances at which the sides agree, each once.
    fn forms(&self, second: bool) -> Vec<Prepared> {
        let mut seen: FxHashSet<Recipe> = FxHashSet::default();
        let forms = self.task.agreeing.iter().filter_map(|r| self.prepared(r, second));
        let mut forms: Vec<Prepared> = forms
            .filter(|p| seen.insert(Form::of(&p.recipe).key().clone()))
            .collect();
        forms.sort_by_key(|p| Form::of(&p.recipe).ranks().sum::<usize>());
        forms
    }

    fn given(&self, effort: u64, second: bool) -> Given {
        Given {
            effort: Rc::new(Effort::of(effort)),
            tokens: if self.level == Level::All {
                self.scope.tokens(second).into()
            } else {
                Rc::from([])
            },
        }
    }

    fn prove(&self) -> Result<Coverage, String> {
        let mut coverage = Coverage {
            ranks: (usize::MAX, 0),
            ..Coverage::default()
        };
        let given = self.given(EFFORT, false);
        let mut forms = self.forms(false);
        // As long as each axis is alone on both sides, what holds for two axes holds for more.
        let is_small = |form: &Form| !form.axes_alone() || form.ranks().all(|rank| rank <= 2);
        let mut axes_alone = self.scope.ignores_ranks();
        let mut large = Vec::new();
        for prepared in &forms {
            let form = Form::of(&prepared.recipe);
            if is_small(&form) {
                axes_alone &= self.required(&form, &given, &mut coverage)? && form.axes_alone();
            } else {
                large.push(form);
            }
        }
        axes_alone = axes_alone && self.holds_for_two_axes(&forms, &given);
        if axes_alone {
            coverage.any_rank = true;
        } else {
            for form in &large {
                self.required(form, &given, &mut coverage)?;
            }
        }
        if coverage.forms == 0 {
            return Err("there are no instances".to_owned());
        }
        coverage.ranks.0 = coverage.ranks.0.min(coverage.ranks.1);
        self.again_with_other_numbers(&forms)?;
        self.refused(&given)?;
        let all_words = self.words(&mut forms);
        coverage.ledger = self.scope.ledger(
            &forms,
            &Found {
                any_rank: coverage.any_rank,
                all_types: self.task.all_types,
                all_words,
                tokens: given.tokens.to_vec(),
            },
        );
        Ok(coverage)
    }

    /// Proves a form of an instance; true if each axis is alone on both sides.
    fn required(&self, form: &Form, given: &Given, coverage: &mut Coverage) -> Result<bool, String> {
        let proved = prove_form(self.trial, form, given)?;
        if proved.cases == 0 {
            return Err(format!("no sizes are left for a form of {}", form.operators()));
        }
        coverage.forms += 1;
        coverage.cases += proved.cases;
        coverage.rounded |= proved.rounded;
        for rank in form.ranks() {
            coverage.ranks = (coverage.ranks.0.min(rank), coverage.ranks.1.max(rank));
        }
        Ok(proved.axes_alone)
    }

    /// True if the rule is proved where all operands whose rank is open have two axes.
    fn holds_for_two_axes(&self, forms: &[Prepared], given: &Given) -> bool {
        forms.iter().any(|prepared| {
            let form = Form::of(&self.scope.with_two_axes(prepared));
            !has_sized_constants(form.key())
                && form.axes_alone()
                && form.ranks().any(|rank| rank == 2)
                && prove_form(self.trial, &form, given).is_ok_and(|p| p.cases > 0 && p.axes_alone)
        })
    }

    /// Numbers that stand for those of attributes are any: a proof that rests on what they are fails with others.
    fn again_with_other_numbers(&self, forms: &[Prepared]) -> Result<(), String> {
        if self.level != Level::All {
            return Ok(());
        }
        let given = self.given(EFFORT, true);
        for other in self.forms(true) {
            if forms.iter().any(|p| p.recipe == other.recipe) {
                continue;
            }
            prove_form(self.trial, &Form::of(&other.recipe), &given)?;
        }
        Ok(())
    }

    /// Sizes at which an engine applies the rule, where it does not at those of the instances.
    fn refused(&self, given: &Given) -> Result<(), String> {
        let mut seen: FxHashSet<Recipe> = FxHashSet::default();
        for recipe in self.task.refused {
            let Some(prepared) = self.prepared(recipe, false) else {
                continue;
            };
            let form = Form::of(&prepared.recipe);
            if seen.insert(form.key().clone()) {
                prove_form(self.trial, &form, given)
                    .map_err(|why| format!("at sizes where the types agree, of instances where they do not: {why}"))?;
            }
        }
        Ok(())
    }

    /// Proves forms at all truth values and words together, and adds them; true if all are proved.
    fn words(&self, forms: &mut Vec<Prepared>) -> bool {
        let given = self.given(EFFORT / 4, false);
        let mut seen: FxHashSet<Recipe> = forms.iter().map(|p| Form::of(&p.recipe).key().clone()).collect();
        let mut all = true;
        for prepared in forms.iter().take(VARIED).cloned().collect::<Vec<_>>() {
            let Some(recipes) = self.scope.finite(&prepared, WORDS) else {
                all = false;
                continue;
            };
            for recipe in recipes {
                let form = Form::of(&recipe);
                if !seen.insert(form.key().clone()) {
                    continue;
                }
                match prove_form(self.trial, &form, &given) {
                    Ok(proved) if proved.cases > 0 => forms.push(Prepared {
                        recipe,
                        ..prepared.clone()
                    }),
                    Ok(_) => {}
                    Err(_) => all = false,
                }
            }
        }
        all
    }
}

/// What a proof may use.
struct Given {
    effort: Rc<Effort>,
    /// Numbers that are symbols.
    tokens: Rc<[f64]>,
}

/// What was proved of a form.
struct Proved {
    /// In how many cases; none, if the rule applies at no sizes.
    cases: usize,
    /// Each axis is alone on both sides.
    axes_alone: bool,
    /// Constants were taken for equal that differ in their last digits.
    rounded: bool,
}

/// Proves a form in all its cases.
fn prove_form(trial: &Trial, form: &Form, given: &Given) -> Result<Proved, String> {
    let mut waiting = vec![form.facts(given.effort.clone(), given.tokens.clone())];
    let mut visited = 0;
    let mut out = Proved {
        cases: 0,
        axes_alone: true,
        rounded: false,
    };
    while let Some(facts) = waiting.pop() {
        visited += 1;
        if visited > CASES || given.effort.is_spent() {
            return Err(format!(
                "the proof takes more than {} for a form of {}: {} of its cases were proved",
                if visited > CASES {
                    format!("{CASES} cases")
                } else {
                    format!("{EFFORT} comparisons")
                },
                form.operators(),
                out.cases,
            ));
        }
        if facts.is_empty() {
            continue;
        }
        let case = Rc::new(Case::new(facts));
        let outcome = prove_case(trial, form, &case);
        waiting.extend(case.take_aside());
        out.rounded |= case.is_rounded();
        match outcome {
            Ok(axes_alone) => {
                out.cases += 1;
                out.axes_alone &= axes_alone;
            }
            Err(Stop::Divided | Stop::Empty) => {}
            Err(Stop::Open(why)) => return Err(why),
        }
    }
    Ok(out)
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
    Err(Stop::Open(format!(
        "the proof ends with different formulas:\n    {x}\n    {y}"
    )))
}
