//! Rules that apply at a few ranks alone, which are all tried.
//!
//! Conditions, types and operators may bound the rank of each variable: `x.rank in [2, 3]`, `y.shape == x.shape`,
//! `broadcasts(x, c)`, a matrix. Then nothing has to be shown about larger ranks, whatever the target says about ranks:
//! all ranks up to the bounds are proved, with all lists and orders of axes.
//!
//! Where an operator alone bounds a variable, such as the scale of a normalization, larger ranks are tried, and must
//! not match. Operators ask for no rank above [`MOST`], so beyond that one rank stands for all; a condition may look at
//! dimensions of such a variable at places that are written, and at nothing else of it.

use rustc_hash::FxHashSet;

use super::matches::{by_rank, example_of};
use super::{COMBINATIONS, MOST, Ranks, Skeleton, prove_one, skeletons, values, with_attribute};
use crate::instance::recipe::{Recipe, Step};
use crate::proof::Coverage;
use crate::proof::cases::Given;
use crate::proof::conditions::Named;
use crate::proof::form::has_sized_constants;
use crate::proof::level::AtLevel;
use crate::proof::scope::{Prepared, Scope, is_field};

use tautomer_graph::{Node, VertexId};
use tautomer_lang::ast::{BinaryOp, ExprId, ExprKind};
use tautomer_op::{AttrDef, AttrKind, AxesRule, AxisOf, Default, Op};
use tautomer_rewrite::{Sides, Trial};
use tautomer_rule::{AttrPattern, PatternId, PatternNode, Rule};

/// The largest bound that is tried.
const LARGEST: usize = 4;

/// Proves a rule at all ranks that it admits; `None` if these are not known to be few, or a proof fails.
pub(super) fn prove(at: &AtLevel<'_>, forms: &[Prepared], given: &Given, coverage: &mut Coverage) -> Option<Ranks> {
    let rule = at.scope.rule();
    if !rule.source.families.is_empty() || rule.source.operators().iter().any(|def| def.declared.is_some()) {
        return None;
    }
    let ranks: Vec<Option<usize>> = bounds(at.scope);
    let top = ranks.iter().flatten().copied().max()?;
    if top > LARGEST {
        return None;
    }
    // All axes that an attribute of the source may name are tried.
    for (_, node) in rule.source.nodes() {
        if let PatternNode::Call { def, operands, attrs } = node {
            let open = |(declared, pattern): (&AttrDef, &AttrPattern)| {
                matches!(declared.kind, AttrKind::Axis(_) | AttrKind::Axes(_))
                    && !matches!(pattern, AttrPattern::Value(_) | AttrPattern::Default)
            };
            let all = |(declared, _): (&AttrDef, &AttrPattern)| {
                matches!(
                    declared.kind,
                    AttrKind::Axis(AxisOf::Input | AxisOf::InputEnd) | AttrKind::Axes(AxisOf::Input)
                )
            };
            let mut open = def.attrs.iter().zip(attrs).filter(|own| open(*own)).peekable();
            if open.peek().is_some() {
                let widest = widest(rule, &ranks, operands.first()?.vertex())?;
                if widest > top || !open.all(all) {
                    return None;
                }
            }
        }
    }
    let skeletons = skeletons(at.scope, forms)?;
    let before = coverage.forms;
    let ranked = by_rank(at.scope).map(Trial::new);
    let mut seen: FxHashSet<(Recipe, Named)> = FxHashSet::default();
    for skeleton in &skeletons {
        let bound = |leaf: usize| -> Option<Option<usize>> {
            let own = skeleton.names.iter().filter(|(step, _)| *step == leaf);
            let own: Vec<usize> = own.filter_map(|(_, name)| rule.variable(name)).collect();
            // A number that is written matches a constant of any rank.
            let written = matches!(skeleton.recipe.steps[leaf], Step::Fill { .. });
            (written || !own.is_empty()).then(|| own.into_iter().filter_map(|i| ranks[i]).min())
        };
        let mut within: Vec<Vec<usize>> = Vec::new();
        let mut beyond: Vec<Vec<usize>> = Vec::new();
        for &leaf in &skeleton.leaves {
            match bound(leaf)? {
                Some(most) => {
                    within.push((0..=most).collect());
                    beyond.push(Vec::new());
                }
                None => {
                    if !is_looked_at_in_places_alone(rule, &skeleton.names, leaf) {
                        return None;
                    }
                    within.push((0..=top).collect());
                    // One rank above all stands for those beyond it, and others for several variables that differ.
                    let others = skeleton.leaves.iter().position(|&other| other == leaf)?;
                    beyond.push((top + 1..=MOST + 1).chain([MOST + 3 + 3 * others]).collect());
                }
            }
        }
        // At larger ranks of a variable, there is no match.
        for i in (0..within.len()).filter(|&i| !beyond[i].is_empty()) {
            let choices: Vec<Vec<usize>> = (0..within.len())
                .map(|j| match j.cmp(&i) {
                    std::cmp::Ordering::Equal => beyond[j].clone(),
                    std::cmp::Ordering::Less => within[j].clone(),
                    std::cmp::Ordering::Greater => within[j].iter().chain(&beyond[j]).copied().collect(),
                })
                .collect();
            for recipe in skeleton.at(&choices, top)? {
                match example_of(&recipe, at, &skeleton.named, ranked.as_ref())? {
                    None => {}
                    Some((sides, _)) if never_of_one_rank(rule, &sides) => {}
                    Some(_) => return None,
                }
            }
        }
        for recipe in skeleton.at(&within, top)? {
            if has_sized_constants(&recipe) || !prove_one(at, &skeleton.named, &recipe, given, coverage, &mut seen) {
                return None;
            }
        }
    }
    (coverage.forms > before).then_some(Ranks::Bounded)
}

impl Skeleton {
    /// The recipes at these ranks of the leaves, with all axes of values with at most `top` axes.
    fn at(&self, ranks: &[Vec<usize>], top: usize) -> Option<Vec<Recipe>> {
        let mut out = vec![self.recipe.clone()];
        for (&leaf, ranks) in self.leaves.iter().zip(ranks) {
            out = super::product(out, ranks, |recipe, &rank| match &mut recipe.steps[leaf] {
                Step::Leaf { shape, .. } | Step::Fill { shape, .. } => *shape = vec![1; rank],
                _ => {}
            })?;
        }
        let groups = self.axes.iter().map(|(at, ..)| at + 1).max().unwrap_or(0);
        for group in 0..groups {
            let places = self.axes.iter().filter(|(at, ..)| *at == group);
            let places: Vec<(usize, usize)> = places.map(|(_, step, attr)| (*step, *attr)).collect();
            let mut next = Vec::new();
            for recipe in out {
                let &place = places.first()?;
                let mut all = values(&recipe, place, top, None)?;
                // An axis that is left out is the last one, or another that is tried by its number.
                let Step::Call { def, .. } = &recipe.steps[place.0] else {
                    return None;
                };
                let declared = &def.attrs[place.1];
                if matches!((declared.kind, declared.default), (AttrKind::Axis(_), Default::Int(_))) {
                    all.retain(Option::is_some);
                }
                for value in all {
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

/// A bound of the rank of a value of the source; `None` if the rows of its operators give none.
fn widest(rule: &Rule, ranks: &[Option<usize>], at: PatternId) -> Option<usize> {
    use AxesRule::{Along, Broadcast, Channels, Matrices, Permuted, Reduced, Removed};
    match rule.source.node(at) {
        PatternNode::Variable(i) => ranks[*i],
        PatternNode::Literal(_) => Some(0),
        PatternNode::Call { def, operands, .. } => {
            let mut all = operands.iter().map(|item| widest(rule, ranks, item.vertex()));
            match def.axes_rule() {
                AxesRule::Fixed => Some(2),
                Along | Channels | Reduced | Removed | Permuted => all.next()?,
                Broadcast | Matrices => all.try_fold(0, |most, rank| Some(most.max(rank?))),
                _ => None,
            }
        }
        _ => None,
    }
}

/// True if the target fails, or an output has another number of axes than its replacement: an engine never puts it in
/// place of the source, whatever the dimensions are.
fn never_of_one_rank(rule: &Rule, sides: &Sides) -> bool {
    let Ok(target) = &sides.target else { return true };
    // Numbers of axes that depend on dimensions.
    let ast = &rule.ast;
    let mut waiting: Vec<ExprId> = rule.target.lets.iter().map(|l| l.value).collect();
    waiting.push(rule.target.result);
    while let Some(id) = waiting.pop() {
        if matches!(
            ast.kind(id),
            ExprKind::Comprehension { cond: Some(_), .. } | ExprKind::When { .. } | ExprKind::If { .. }
        ) {
            return false;
        }
        waiting.extend(ast.operands(id));
    }
    let removes =
        |node: &Node| matches!(node, Node::Call { op: Op::Known(def), .. } if def.axes_rule() == AxesRule::Removed);
    if sides.graph.ids().any(|v| removes(&sides.graph.vertex(v).node)) {
        return false;
    }
    let rank = |v: &VertexId| Some(sides.graph.ty(*v).as_tensor()?.shape.as_ref()?.len());
    sides
        .source
        .iter()
        .zip(target)
        .any(|(a, b)| matches!((rank(a), rank(b)), (Some(a), Some(b)) if a != b))
}

/// True if conditions and attributes of the source look at the variables of a leaf only as `v.shape[2]`, `v.size`, and
/// `value(v)`, which mean the same at all ranks, and at no value that is computed from them.
fn is_looked_at_in_places_alone(rule: &Rule, names: &[(usize, std::sync::Arc<str>)], leaf: usize) -> bool {
    let ast = &rule.ast;
    let own = |n: &str| names.iter().any(|(step, name)| *step == leaf && **name == *n);
    let small = |id: ExprId| matches!(ast.kind(id), ExprKind::Int { value, .. } if value.unsigned_abs() < MOST as u128);
    let computed = rule.source.nodes().filter_map(|(_, node)| match node {
        PatternNode::Call { attrs, .. } => Some(attrs),
        _ => None,
    });
    let computed = computed.flatten().filter_map(|attr| match attr {
        AttrPattern::Computed(id) => Some(*id),
        _ => None,
    });
    let mut waiting: Vec<ExprId> = rule.conditions.iter().copied().chain(computed).collect();
    while let Some(id) = waiting.pop() {
        match ast.kind(id) {
            ExprKind::Index { base, index }
                if small(*index)
                    && names
                        .iter()
                        .any(|(_, name)| own(name) && is_field(ast, *base, name, "shape")) => {}
            ExprKind::Field { base, name }
                if matches!(name.as_str(), "dtype" | "size") && matches!(ast.kind(*base), ExprKind::Name(_)) => {}
            ExprKind::Call { callee, args, .. }
                if callee.as_str() == "value"
                    && matches!(args.as_slice(), [arg] if matches!(ast.kind(*arg), ExprKind::Name(_))) => {}
            ExprKind::Name(name) if own(name) => return false,
            ExprKind::Name(name)
                if rule.variable(name).is_none() && rule.source.named.iter().any(|(other, _)| **other == **name) =>
            {
                return false;
            }
            _ => waiting.extend(ast.operands(id)),
        }
    }
    true
}

/// A bound of the rank of each variable, where conditions, types or operators state one.
fn bounds(scope: &Scope<'_>) -> Vec<Option<usize>> {
    let rule = scope.rule();
    let mut out: Vec<Option<usize>> = (0..rule.variables.len()).map(|i| scope.pinned(i)).collect();
    // Each round may use what was found before; a rank that depends on many others is not followed further.
    for _ in 0..rule.variables.len() {
        let reader = Reader {
            rule,
            known: out.clone(),
        };
        for (i, bound) in out.iter_mut().enumerate() {
            for &condition in &rule.conditions {
                let found = reader.implied(condition, i);
                *bound = match (*bound, found) {
                    (Some(a), Some(b)) => Some(a.min(b)),
                    (a, b) => a.or(b),
                };
            }
        }
    }
    out
}

struct Reader<'a> {
    rule: &'a Rule,
    known: Vec<Option<usize>>,
}

impl Reader<'_> {
    /// The largest rank of a variable where a condition holds, if it bounds it.
    fn implied(&self, id: ExprId, i: usize) -> Option<usize> {
        let ast = &self.rule.ast;
        let name = &self.rule.variables[i].name;
        let rank = |id: ExprId| is_field(ast, id, name, "rank");
        let shape = |id: ExprId| is_field(ast, id, name, "shape");
        match ast.kind(id) {
            ExprKind::Binary { op, lhs, rhs } => match op {
                BinaryOp::And => match (self.implied(*lhs, i), self.implied(*rhs, i)) {
                    (Some(a), Some(b)) => Some(a.min(b)),
                    (a, b) => a.or(b),
                },
                BinaryOp::Or => Some(self.implied(*lhs, i)?.max(self.implied(*rhs, i)?)),
                BinaryOp::Eq | BinaryOp::Le | BinaryOp::Lt if rank(*lhs) => self.number(*rhs),
                BinaryOp::Eq | BinaryOp::Ge | BinaryOp::Gt if rank(*rhs) => self.number(*lhs),
                BinaryOp::Eq if shape(*lhs) => self.length(*rhs),
                BinaryOp::Eq if shape(*rhs) => self.length(*lhs),
                BinaryOp::In => {
                    let ExprKind::List(items) = ast.kind(*rhs) else {
                        return None;
                    };
                    let bound = |&item: &ExprId| {
                        if rank(*lhs) {
                            self.number(item)
                        } else {
                            self.length(item)
                        }
                    };
                    let all: Option<Vec<usize>> = items.iter().map(bound).collect();
                    all.filter(|_| rank(*lhs) || shape(*lhs))?.into_iter().max()
                }
                _ => None,
            },
            ExprKind::Call { callee, args, .. } if callee.as_str() == "broadcasts" => match args.as_slice() {
                [whole, part] if matches!(ast.kind(*part), ExprKind::Name(own) if own == name) => self.length(*whole),
                _ => None,
            },
            _ => None,
        }
    }

    fn rank(&self, id: ExprId) -> Option<usize> {
        let ExprKind::Name(name) = self.rule.ast.kind(id) else {
            return None;
        };
        match self.rule.variable(name) {
            Some(i) => self.known[i],
            None => {
                let (_, at) = self.rule.source.named.iter().find(|(own, _)| **own == **name)?;
                widest(self.rule, &self.known, *at)
            }
        }
    }

    /// The largest value of a number made of ranks.
    fn number(&self, id: ExprId) -> Option<usize> {
        match self.rule.ast.kind(id) {
            ExprKind::Int { value, suffix: None } => usize::try_from(*value).ok(),
            ExprKind::Field { base, name } if name.as_str() == "rank" => self.rank(*base),
            ExprKind::Binary { op, lhs, rhs } => {
                let (a, b) = (self.number(*lhs)?, self.number(*rhs)?);
                match op {
                    BinaryOp::Add => Some(a + b),
                    // The least value of what is taken away is not known.
                    BinaryOp::Sub => Some(a),
                    _ => None,
                }
            }
            _ => None,
        }
    }

    /// The largest length of a list.
    fn length(&self, id: ExprId) -> Option<usize> {
        let ast = &self.rule.ast;
        match ast.kind(id) {
            ExprKind::Name(_) => self.rank(id),
            ExprKind::Field { base, name } if name.as_str() == "shape" => self.rank(*base),
            ExprKind::Slice { base, start, .. } => {
                let left_out = match start.map(|start| ast.kind(start)) {
                    Some(ExprKind::Int { value, .. }) => usize::try_from(*value).unwrap_or(0),
                    _ => 0,
                };
                Some(self.length(*base)?.saturating_sub(left_out))
            }
            ExprKind::List(items) => {
                let is_one = |&item: &ExprId| !matches!(ast.kind(item), ExprKind::Comprehension { .. });
                items.iter().all(is_one).then_some(items.len())
            }
            ExprKind::Binary {
                op: BinaryOp::Concat,
                lhs,
                rhs,
            } => Some(self.length(*lhs)? + self.length(*rhs)?),
            _ => None,
        }
    }
}
