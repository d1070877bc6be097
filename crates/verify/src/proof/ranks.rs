//! Ranks, axes and orders of axes that suffice for a proof.
//!
//! Two things are shown. First, beyond a bound, every instance of the rule has an axis that can be removed, or two that
//! can become one, so that a wrong instance gives a smaller wrong one ([`spaces`] finds such axes; the crate's README
//! has the argument). Second, the rule holds at all ranks up to the bound, with all lists and orders of axes.

mod bounded;
mod branches;
mod matches;
mod numbering;
mod spaces;
pub(super) mod spatial;
mod text;

use std::sync::Arc;

use rustc_hash::FxHashSet;

use self::matches::{by_rank, example};
use self::spaces::least_ranks;
use self::text::Text;
use super::cases::Given;
use super::conditions::Named;
use super::form::{Form, has_sized_constants};
use super::level::AtLevel;
use super::scope::{Prepared, Scope, Source};
use super::{Coverage, EFFORT};
use crate::instance::recipe::{Recipe, Step};

use tautomer_graph::VertexId;
use tautomer_op::{AttrKind, AttrValue, AxesRule, Default as Preset, OpDef, OpTraits};
use tautomer_rewrite::Trial;
use tautomer_rule::{AttrPattern, PatternId, PatternNode, Rule};
use tautomer_tensor::{DType, Dim};

/// Limit on the combinations of ranks and axes that are considered for one skeleton.
const COMBINATIONS: usize = 7000;

/// Limit on the combinations of booleans and words of one form.
const WORDS: usize = 32;

/// Limit on the skeletons of a rule.
const SKELETONS: usize = 500;

/// Limit on the forms that are proved.
const FORMS: usize = 2500;

/// Limit on the inequalities that are compared for a rule that applies at a few ranks alone.
const BOUNDED: u64 = 4 * EFFORT;

/// Limit on the cases of one form of such a rule.
const BOUNDED_CASES: usize = 4000;

/// The largest bound that is tried.
const MOST: usize = 5;

/// The largest number beside ranks and axes up to which all ranks are looked at.
const WRITTEN: usize = 16;

/// How a proof covers ranks and axes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Ranks {
    /// All of them.
    All,
    /// The rule applies at no other ranks.
    Bounded,
}

/// A skeleton: an instance whose ranks and axes vary.
struct Skeleton {
    recipe: Recipe,
    /// The steps whose rank can be chosen.
    leaves: Vec<usize>,
    /// The variables that the leaves match.
    names: Vec<(usize, Arc<str>)>,
    /// The attributes that are axes: those with an equal first number have equal values.
    axes: Vec<(usize, usize, usize)>,
    /// What the names of the rule stand for.
    named: Named,
}

/// Proves a rule at all ranks up to a bound that is enough; `None` if no bound is known or a proof fails.
pub(super) fn prove(at: &AtLevel<'_>, forms: &[Prepared], given: &Given, coverage: &mut Coverage) -> Option<Ranks> {
    let mut found = None;
    for rule in branches::of(at.scope.rule())? {
        let scope = Scope::of(&rule);
        let trial = Trial::new(scope.relaxed.clone());
        let own = AtLevel {
            lenient: at.lenient,
            task: at.task,
            scope: &scope,
            trial: &trial,
            level: at.level,
            ordered: None,
        };
        let before = coverage.clone();
        let mut ranks = None;
        if spatial::applies(&rule) {
            ranks = spatial::prove(&own, forms, given, coverage);
        }
        if ranks.is_none() {
            *coverage = before.clone();
            ranks = prove_branch(&own, forms, given, coverage);
        }
        if ranks.is_none() {
            *coverage = before;
            let given = Given {
                cases: BOUNDED_CASES,
                ..own.given(BOUNDED, false)
            };
            ranks = bounded::prove(&own, forms, &given, coverage);
        }
        let ranks = ranks?;
        found = Some(match (found, ranks) {
            (None | Some(Ranks::Bounded), Ranks::Bounded) => Ranks::Bounded,
            _ => Ranks::All,
        });
    }
    found
}

/// Proves a rule whose target has no branches.
fn prove_branch(at: &AtLevel<'_>, forms: &[Prepared], given: &Given, coverage: &mut Coverage) -> Option<Ranks> {
    let rule = at.scope.rule();
    // A declaration may ask for any ranks, which is not looked for here.
    if rule
        .source
        .nodes()
        .any(|(_, node)| callees(rule, node).any(|def| def.declared.is_some()))
    {
        return None;
    }
    let text = Text::of(rule)?;
    let skeletons = skeletons(at.scope, forms)?;
    // Below this rank, operators may ask for a rank.
    let is_product = |node| callees(rule, node).any(|def| def.axes_rule() == AxesRule::Matrices);
    let products = rule.source.nodes().filter(|(_, node)| is_product(node)).count();
    if text.largest > WRITTEN {
        return None;
    }
    let floor = text.largest.max(if products > 0 { 2 + products.min(2) } else { 2 });
    // Operators whose rows say how axes belong together ask for no rank above two.
    let is_known = |def: &OpDef| def.traits.contains(OpTraits::ELEMENTWISE) || def.axes_rule() != AxesRule::Unstated;
    let known = rule.source.nodes().all(|(_, node)| callees(rule, node).all(is_known));
    let floor = floor.max(text.kinds().unwrap_or(0));
    let floor = if known { floor } else { floor.max(MOST) };
    let before = coverage.forms;
    let ranked = by_rank(at.scope).map(Trial::new);
    let (mut bound, mut open) = (0, false);
    let mut structures: FxHashSet<Recipe> = FxHashSet::default();
    for skeleton in &skeletons {
        // Ranks do not depend on element types.
        if !structures.insert(skeleton.structure()) {
            continue;
        }
        let found = skeleton.bound((at.trial, ranked.as_ref()), rule, &text, floor)?;
        bound = bound.max(found.0);
        open |= found.1;
    }
    if bound > floor || bound > MOST {
        return None;
    }
    let mut seen: FxHashSet<(Recipe, Named)> = FxHashSet::default();
    for skeleton in &skeletons {
        for recipe in skeleton.recipes(&(0..=bound).collect::<Vec<_>>(), None)? {
            // Of a constant that is no operand of an elementwise operator, a form has the dimensions as they are.
            if has_sized_constants(&recipe) || !prove_one(at, &skeleton.named, &recipe, given, coverage, &mut seen) {
                return None;
            }
        }
    }
    if coverage.forms == before {
        return None;
    }
    if open {
        return Some(Ranks::All);
    }
    // Where the rule applies up to some ranks alone, those of all instances are among them.
    let inside = forms
        .iter()
        .all(|p| Form::of(&p.recipe).ranks().all(|rank| rank <= bound));
    inside.then_some(Ranks::Bounded)
}

fn prove_one(
    at: &AtLevel<'_>,
    named: &Named,
    recipe: &Recipe,
    given: &Given,
    coverage: &mut Coverage,
    seen: &mut FxHashSet<(Recipe, Named)>,
) -> bool {
    let form = Form::of(recipe);
    let key = (form.key().clone(), named.clone());
    if seen.contains(&key) {
        return true;
    }
    if coverage.forms >= FORMS {
        return false;
    }
    seen.insert(key);
    let Ok(proved) = at.prove_form(named, &form, given) else {
        return false;
    };
    if proved.cases > 0 {
        coverage.forms += 1;
        coverage.cases += proved.cases;
        coverage.rounded |= proved.rounded;
        coverage.trail.add(proved.trail);
        for rank in form.ranks() {
            coverage.ranks = (coverage.ranks.0.min(rank), coverage.ranks.1.max(rank));
        }
    }
    true
}

/// The operators that a vertex of the pattern may call.
fn callees<'a>(rule: &'a Rule, node: &'a PatternNode) -> impl Iterator<Item = &'static OpDef> + 'a {
    let (own, choices) = match node {
        PatternNode::Call { def, .. } => (Some(*def), None),
        PatternNode::CallOf { variable, .. } => (None, rule.operators.get(*variable)),
        _ => (None, None),
    };
    own.into_iter().chain(
        choices
            .into_iter()
            .flat_map(|variable| variable.choices.iter().copied()),
    )
}

/// The element type, or one for which a proof is the same.
fn kind(dtype: DType) -> DType {
    if dtype == DType::F64 { DType::F32 } else { dtype }
}

/// One instance for each choice of operators, kinds of element types, and attributes that are not axes; `None` if
/// something about them may depend on ranks in a way that is not considered.
fn skeletons(scope: &Scope<'_>, forms: &[Prepared]) -> Option<Vec<Skeleton>> {
    let mut out = Vec::new();
    let mut seen: FxHashSet<(Recipe, Named)> = FxHashSet::default();
    for prepared in forms {
        let prepared = &as_written(scope.rule(), prepared);
        let named = Named::of(scope, prepared);
        let mut axes: Vec<(usize, usize, usize)> = Vec::new();
        let mut sources: Vec<&Source> = Vec::new();
        for open in &prepared.open {
            let declared = &open.def.attrs[open.attr];
            match declared.kind {
                AttrKind::Axis(_) | AttrKind::Axes(_) => {
                    let at = sources.iter().position(|s| **s == open.source).unwrap_or_else(|| {
                        sources.push(&open.source);
                        sources.len() - 1
                    });
                    axes.push((at, open.step, open.attr));
                }
                AttrKind::Float | AttrKind::Int | AttrKind::Bool | AttrKind::OneOf(_) | AttrKind::DType => {}
                _ if open.fixed_length || scope.has_fixed_parts(open) => {}
                _ => return None,
            }
        }
        // Operands that have the same rank in all matches.
        let fixed = prepared.bound.iter().filter_map(|&(at, step)| {
            let is_fixed =
                matches!(scope.rule().source.node(at), PatternNode::Variable(i) if scope.pinned(*i).is_some());
            (is_fixed && matches!(prepared.recipe.steps[step], Step::Leaf { .. })).then_some(step)
        });
        let fixed: FxHashSet<usize> = fixed.collect();
        for recipe in scope.finite(prepared, WORDS)? {
            let mut key = recipe.clone();
            let mut leaves = Vec::new();
            for (i, step) in key.steps.iter_mut().enumerate() {
                match step {
                    Step::Leaf { shape, dtype, .. } | Step::Fill { shape, dtype, .. } => {
                        *dtype = kind(*dtype);
                        if fixed.contains(&i) {
                            shape.fill(1);
                        } else {
                            shape.clear();
                            leaves.push(i);
                        }
                    }
                    Step::Const(tensor) if !tensor.shape().is_empty() => return None,
                    _ => {}
                }
            }
            for &(_, step, attr) in &axes {
                if let Step::Call { attrs, .. } = &mut key.steps[step] {
                    attrs[attr] = None;
                }
            }
            if seen.insert((key, named.clone())) {
                let names = prepared
                    .bound
                    .iter()
                    .filter_map(|&(at, step)| match scope.rule().source.node(at) {
                        PatternNode::Variable(i) => Some((step, scope.rule().variables[*i].name.clone())),
                        _ => None,
                    });
                out.push(Skeleton {
                    recipe,
                    leaves,
                    names: names.collect(),
                    axes: axes.clone(),
                    named: named.clone(),
                });
            }
        }
    }
    (!out.is_empty() && out.len() <= SKELETONS).then_some(out)
}

/// The instance with axes counted as in the pattern: at another rank, an axis counted from the other end is a different
/// axis.
fn as_written(rule: &Rule, prepared: &Prepared) -> Prepared {
    let mut out = prepared.clone();
    for &(at, step) in &prepared.bound {
        let (PatternNode::Call { def, attrs, .. }, Step::Call { attrs: own, .. }) =
            (rule.source.node(at), &mut out.recipe.steps[step])
        else {
            continue;
        };
        for ((declared, pattern), own) in def.attrs.iter().zip(attrs).zip(own) {
            if matches!(declared.kind, AttrKind::Axis(_) | AttrKind::Axes(_)) {
                match pattern {
                    AttrPattern::Value(value) => *own = Some(value.clone()),
                    AttrPattern::Default => *own = None,
                    _ => {}
                }
            }
        }
    }
    out
}

impl Skeleton {
    /// The skeleton without axes and element types.
    fn structure(&self) -> Recipe {
        let mut out = self.recipe.clone();
        for &leaf in &self.leaves {
            if let Step::Leaf { shape, dtype, .. } | Step::Fill { shape, dtype, .. } = &mut out.steps[leaf] {
                shape.clear();
                *dtype = DType::F32;
            }
        }
        for &(_, step, attr) in &self.axes {
            if let Step::Call { attrs, .. } = &mut out.steps[step] {
                attrs[attr] = None;
            }
        }
        out
    }

    /// The largest rank that remains after removing all axes that can be removed, over all ranks; and whether the rule
    /// applies above `floor`.
    fn bound(
        &self,
        (trial, ranked): (&Trial, Option<&Trial>),
        rule: &Rule,
        text: &Text,
        floor: usize,
    ) -> Option<(usize, bool)> {
        let mut ranks: Vec<usize> = (0..=floor).collect();
        // Ranks above stand for all others: equal ones, and ones that differ.
        ranks.extend((0..self.leaves.len()).map(|i| floor + 2 + 3 * i));
        let (mut most, mut open) = (0, false);
        for recipe in self.recipes(&ranks, Some(floor + 2))? {
            let rank = |name: &Arc<str>| {
                let own = self.names.iter().find(|(_, own)| own == name);
                own.map(|(step, _)| rank_of(&recipe.steps[*step]))
            };
            let differ = |a: &Arc<str>, b: &Arc<str>, n: usize| match (rank(a), rank(b)) {
                (Some(a), Some(b)) => a != b && a.max(b) > n,
                _ => false,
            };
            if text.equal.iter().any(|(a, b, n)| differ(a, b, *n)) {
                continue;
            }
            let high = self.leaves.iter().any(|&i| rank_of(&recipe.steps[i]) > floor);
            match example(&recipe, trial, ranked)? {
                None => {}
                Some((sides, made)) => {
                    // A target that fails at all dimensions is never put in place of the source.
                    let Ok(target) = &sides.target else {
                        continue;
                    };
                    let leaves: Vec<(VertexId, Vec<Arc<str>>)> =
                        made.iter().map(|&v| (v, variables(rule, &sides.bound, v))).collect();
                    let least = least_ranks(&sides.graph, (&sides.source, target), &leaves, text);
                    let least = match least {
                        Some(least) => least,
                        None if high => return None,
                        None => floor,
                    };
                    most = most.max(least);
                    open |= high;
                }
            }
            if most > floor {
                return None;
            }
        }
        Some((most, open))
    }

    /// The recipes with these ranks of leaves and all axes. When a sample represents all ranks, lists have at most two
    /// axes, and at most `sample` orders of axes are used.
    fn recipes(&self, ranks: &[usize], sample: Option<usize>) -> Option<Vec<Recipe>> {
        let mut out = vec![self.recipe.clone()];
        for &leaf in &self.leaves {
            out = product(out, ranks, |recipe, &rank| match &mut recipe.steps[leaf] {
                Step::Leaf { shape, .. } | Step::Fill { shape, .. } => *shape = vec![1; rank],
                _ => {}
            })?;
        }
        let bound = ranks.iter().copied().max().unwrap_or(0);
        let groups = self.axes.iter().map(|(at, ..)| at + 1).max().unwrap_or(0);
        for group in 0..groups {
            let places: Vec<(usize, usize)> = self
                .axes
                .iter()
                .filter(|(at, ..)| *at == group)
                .map(|(_, s, a)| (*s, *a))
                .collect();
            let mut next = Vec::new();
            for recipe in out {
                let wide = self
                    .leaves
                    .iter()
                    .map(|&i| rank_of(&recipe.steps[i]))
                    .max()
                    .unwrap_or(0);
                let top = if sample.is_some() { wide + 2 } else { bound };
                for value in values(&recipe, *places.first()?, top, sample)? {
                    next.push(with_attribute(&recipe, &places, &value));
                }
                if next.len() > COMBINATIONS {
                    return None;
                }
            }
            out = next;
        }
        Some(out)
    }
}

/// The recipe with this value of an attribute, in all calls that share it.
fn with_attribute(recipe: &Recipe, places: &[(usize, usize)], value: &Option<AttrValue>) -> Recipe {
    let mut out = recipe.clone();
    for &(step, attr) in places {
        if let Step::Call { attrs, .. } = &mut out.steps[step] {
            attrs[attr].clone_from(value);
        }
    }
    out
}

/// The values that an attribute of axes may have where no value has more than `top` axes.
fn values(
    recipe: &Recipe,
    (step, attr): (usize, usize),
    top: usize,
    sample: Option<usize>,
) -> Option<Vec<Option<AttrValue>>> {
    let Step::Call { def, .. } = &recipe.steps[step] else {
        return None;
    };
    let declared = &def.attrs[attr];
    let mut out: Vec<Option<AttrValue>> = Vec::new();
    // Inference writes out, and sorts, the axes of these.
    let sorted = matches!(
        def.axes_rule(),
        AxesRule::Reduced | AxesRule::Removed | AxesRule::Inserted
    );
    let is_order = declared.name == "perm";
    if declared.default != Preset::Required && !sorted && !is_order {
        out.push(None);
    }
    let ints = |list: &Vec<usize>| Some(AttrValue::Ints(list.iter().map(|&i| Dim::Const(i as i64)).collect()));
    let (places, longest) = match sample {
        Some(sample) if is_order => (top.min(sample), top.min(sample)),
        Some(_) => (top, 2),
        None => (top, top),
    };
    match declared.kind {
        AttrKind::Axis(_) => out.extend((0..=top).map(|i| Some(AttrValue::Int(Dim::Const(i as i64))))),
        AttrKind::Axes(_) if is_order => {
            for n in 0..=places {
                let mut orders = vec![Vec::new()];
                for _ in 0..n {
                    orders = orders.iter().flat_map(|o: &Vec<usize>| longer(o, n)).collect();
                }
                out.extend(orders.iter().map(ints));
            }
        }
        AttrKind::Axes(_) => {
            let mut last: Vec<Vec<usize>> = vec![Vec::new()];
            out.extend(last.iter().map(ints));
            for _ in 0..longest {
                last = last.iter().flat_map(|o| longer(o, places)).collect();
                last.retain(|o| !sorted || o.is_sorted());
                out.extend(last.iter().map(ints));
                if out.len() > COMBINATIONS {
                    return None;
                }
            }
        }
        _ => return None,
    }
    (out.len() <= COMBINATIONS).then_some(out)
}

/// The list with each number below `n` that it lacks at the end.
fn longer(list: &[usize], n: usize) -> Vec<Vec<usize>> {
    let more = (0..n).filter(|i| !list.contains(i));
    more.map(|i| list.iter().copied().chain([i]).collect()).collect()
}

fn product<T>(all: Vec<Recipe>, values: &[T], set: impl Fn(&mut Recipe, &T)) -> Option<Vec<Recipe>> {
    if all.len() * values.len() > COMBINATIONS {
        return None;
    }
    let mut out = Vec::with_capacity(all.len() * values.len());
    for recipe in &all {
        for value in values {
            let mut recipe = recipe.clone();
            set(&mut recipe, value);
            out.push(recipe);
        }
    }
    Some(out)
}

fn rank_of(step: &Step) -> usize {
    match step {
        Step::Leaf { shape, .. } | Step::Fill { shape, .. } => shape.len(),
        _ => 0,
    }
}

/// The names of the variables that match a vertex.
fn variables(rule: &Rule, bound: &[(PatternId, VertexId)], v: VertexId) -> Vec<Arc<str>> {
    let own = bound.iter().filter(|(_, u)| *u == v);
    own.filter_map(|(at, _)| match rule.source.node(*at) {
        PatternNode::Variable(i) => Some(rule.variables[*i].name.clone()),
        _ => None,
    })
    .collect()
}
