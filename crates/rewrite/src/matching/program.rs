//! A rule prepared for matching: its names numbered, its attribute checks chosen, and the paths to later outputs found.

use std::sync::Arc;

use rustc_hash::FxHashSet;

use tautomer_lang::ast::{ExprId, ExprKind};
use tautomer_op::{AttrDef, AttrKind, AttrValue, Default, OpDef};
use tautomer_rule::{AttrPattern, Count, FamilyId, Item, ListItem, PatternId, PatternNode, Rule};
use tautomer_tensor::Dim;

/// A rule prepared for matching.
#[derive(Debug)]
pub(crate) struct Program {
    /// The rule.
    pub(crate) rule: Arc<Rule>,
    /// The operators that must occur for it to match.
    pub(crate) operators: Vec<&'static OpDef>,
    /// For each vertex of the pattern, the checks of its attributes.
    pub(super) checks: Vec<Vec<AttrCheck>>,
    /// The meanings of the attribute slots.
    pub(super) slots: Vec<Slot>,
    /// The first slot of a rest of an operator variable, for each vertex.
    pub(super) rest_slot: Vec<Option<usize>>,
    /// The names of counts.
    pub(super) counts: Vec<Arc<str>>,
    /// For each output after the first, and for the outputs of a comprehension, the path that reaches it.
    pub(super) reach: Vec<Option<Reach>>,
    /// The length of the longest path from an output of the source to an input.
    pub(crate) depth: usize,
    /// The conditions on each member of a variable number of outputs: a body and the name of the index.
    pub(super) each_conditions: Vec<(ExprId, Arc<str>)>,
}

/// The check of one attribute.
#[derive(Debug, Clone)]
pub(super) enum AttrCheck {
    /// This value.
    Fixed(AttrValue),
    /// This value, whose axes can be counted from the front only when the rank of the first operand is known.
    Axis(AttrValue),
    /// The default of the operator for the operands of the call.
    Default,
    /// Anything.
    Free,
    /// The value of this slot.
    Slot(usize),
    /// The value of this slot, in its normal form.
    Named(usize),
    /// The value of this slot for the current index, in its normal form.
    SlotEach(usize),
    /// A list in its normal form that matches these items; it is stored in this slot.
    List(usize, Vec<ListItem>),
}

/// The meaning of an attribute slot.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Slot {
    /// A name.
    Name(Arc<str>),
    /// A name for the list of values over all indices.
    NameEach(Arc<str>),
    /// An attribute of a rest.
    Rest(Arc<str>, &'static str),
    /// An attribute of the call of an operator variable, by its index.
    RestOf(Arc<str>, usize, usize),
    /// A list that contains names.
    List(Vec<ListItem>),
    /// An attribute that must equal the value of an expression.
    Computed(ExprId, &'static AttrDef),
}

/// A path from a previously matched vertex up to an output.
#[derive(Debug, Clone)]
pub(super) struct Reach {
    /// The vertex where it begins.
    pub(super) from: PatternId,
    /// The successive users, up to the output.
    pub(super) path: Vec<PatternId>,
}

impl Program {
    /// Prepares a rule.
    pub(crate) fn new(rule: Arc<Rule>) -> Program {
        let pattern = &rule.source;
        let mut slots: Vec<Slot> = Vec::new();
        let mut checks = Vec::with_capacity(pattern.len());
        let mut rest_slot = vec![None; pattern.len()];
        let mut slot = |slot: Slot| -> usize {
            // Two lists with a wildcard element need not be equal.
            let open = matches!(&slot, Slot::List(items) if items.contains(&ListItem::Any));
            match slots.iter().position(|s| !open && *s == slot) {
                Some(i) => i,
                None => {
                    slots.push(slot);
                    slots.len() - 1
                }
            }
        };
        for (id, node) in pattern.nodes() {
            let mut own = Vec::new();
            match node {
                PatternNode::Call { def, attrs, .. } => {
                    for (attr, wanted) in def.attrs.iter().zip(attrs) {
                        own.push(check(def, attr, wanted, &mut slot));
                    }
                }
                PatternNode::CallOf {
                    variable,
                    rest: Some(rest),
                    ..
                } => {
                    let most = rule.operators[*variable].choices.iter().map(|d| d.attrs.len()).max();
                    for place in 0..most.unwrap_or(0) {
                        let at = slot(Slot::RestOf(rest.clone(), *variable, place));
                        rest_slot[id.0 as usize].get_or_insert(at);
                    }
                }
                PatternNode::Proj(_, tautomer_rule::ProjIndex::Bind(name)) => {
                    let each = pattern.within(id).is_some();
                    let at = slot(if each {
                        Slot::NameEach(name.clone())
                    } else {
                        Slot::Name(name.clone())
                    });
                    own.push(if each {
                        AttrCheck::SlotEach(at)
                    } else {
                        AttrCheck::Slot(at)
                    });
                }
                _ => {}
            }
            checks.push(own);
        }
        let mut counts: Vec<Arc<str>> = Vec::new();
        for family in &pattern.families {
            if let Count::Bind(name) = &family.count
                && !counts.contains(name)
            {
                counts.push(name.clone());
            }
        }
        let reach = reaches(&rule);
        let each_conditions = match pattern.varying() {
            Some((_, family)) => each_conditions(&rule, family),
            None => Vec::new(),
        };
        Program {
            operators: pattern.operators(),
            checks,
            slots,
            rest_slot,
            counts,
            reach,
            depth: depth(&rule),
            each_conditions,
            rule,
        }
    }

    /// True if an output is found from others by way of its users, so that results of the rule match again with all
    /// others. A rule whose later outputs are parts of the first has only as many matches as one with that output
    /// alone.
    pub(crate) fn climbs(&self) -> bool {
        let apart = |reach: &Option<Reach>| reach.as_ref().is_none_or(|r| !r.path.is_empty());
        self.rule.source.varying().is_some() || self.reach.iter().skip(1).any(apart)
    }

    /// The index of the count of a family among all counts, or the fixed number of members.
    pub(super) fn count(&self, family: FamilyId) -> Result<usize, u32> {
        match &self.rule.source.family(family).count {
            Count::Exactly(n) => Err(*n),
            Count::Bind(name) => Ok(self.counts.iter().position(|c| c == name).unwrap_or(0)),
        }
    }
}

fn check(def: &OpDef, attr: &'static AttrDef, wanted: &AttrPattern, slot: &mut impl FnMut(Slot) -> usize) -> AttrCheck {
    let axis = matches!(attr.kind, AttrKind::Axis(_) | AttrKind::Axes(_));
    match wanted {
        AttrPattern::Value(value) if axis && !is_non_negative(value) => AttrCheck::Axis(value.clone()),
        AttrPattern::Value(value) => AttrCheck::Fixed(value.clone()),
        AttrPattern::Default => {
            let by_operands = axis
                || (def.canonical.is_some()
                    && !matches!(attr.default, Default::Bool(_) | Default::Float(_) | Default::Str(_)));
            match attr.default_value() {
                Some(value) if !by_operands => AttrCheck::Fixed(value),
                _ => AttrCheck::Default,
            }
        }
        AttrPattern::Any => AttrCheck::Free,
        AttrPattern::Bind(name) => AttrCheck::Named(slot(Slot::Name(name.clone()))),
        AttrPattern::BindEach(name) => AttrCheck::SlotEach(slot(Slot::NameEach(name.clone()))),
        AttrPattern::Rest(rest) => AttrCheck::Named(slot(Slot::Rest(rest.clone(), attr.name))),
        AttrPattern::List(items) => AttrCheck::List(slot(Slot::List(items.clone())), items.clone()),
        AttrPattern::Computed(id) => AttrCheck::Slot(slot(Slot::Computed(*id, attr))),
    }
}

fn is_non_negative(value: &AttrValue) -> bool {
    let ok = |d: &Dim| d.as_const().is_none_or(|v| v >= 0);
    match value {
        AttrValue::Int(d) => ok(d),
        AttrValue::Ints(list) => list.iter().all(ok),
        _ => true,
    }
}

fn depth(rule: &Rule) -> usize {
    let pattern = &rule.source;
    let mut depths: Vec<usize> = Vec::with_capacity(pattern.len());
    for (id, _) in pattern.nodes() {
        let below = pattern.operands(id).into_iter().map(|o| depths[o.0 as usize] + 1).max();
        depths.push(below.unwrap_or(0));
    }
    depths.into_iter().max().unwrap_or(0)
}

/// For each output, a path to it from the values that earlier outputs have matched; for a comprehension, from the
/// values that all its bodies share.
fn reaches(rule: &Rule) -> Vec<Option<Reach>> {
    let pattern = &rule.source;
    let mut matched: FxHashSet<PatternId> = FxHashSet::default();
    let mut out = Vec::with_capacity(pattern.outputs.len());
    for (k, item) in pattern.outputs.iter().enumerate() {
        let root = item.vertex();
        let below = below(rule, root);
        let known = |id: &PatternId| match item {
            Item::Each(..) => pattern.within(*id).is_none() && !is_shapeless(pattern.node(*id)),
            Item::One(_) => k > 0 && matched.contains(id) && !is_shapeless(pattern.node(*id)),
        };
        // Prefers the nearest start, with the fewest steps up.
        let best = below
            .iter()
            .filter(|(id, _)| known(id))
            .min_by_key(|(id, path)| (path.len(), id.0));
        out.push(best.map(|(from, path)| Reach {
            from: *from,
            path: path.clone(),
        }));
        matched.extend(below.into_iter().map(|(id, _)| id));
    }
    out
}

/// Constants and omitted operands have users everywhere, so no path begins there.
fn is_shapeless(node: &PatternNode) -> bool {
    matches!(
        node,
        PatternNode::Literal(_) | PatternNode::Absent | PatternNode::Wildcard
    )
}

/// The vertices below `root`, each with the path from it up to `root`, except those inside alternatives.
fn below(rule: &Rule, root: PatternId) -> Vec<(PatternId, Vec<PatternId>)> {
    let pattern = &rule.source;
    let mut seen: FxHashSet<PatternId> = FxHashSet::default();
    let mut out: Vec<(PatternId, Vec<PatternId>)> = vec![(root, Vec::new())];
    let mut next = 0;
    while next < out.len() {
        let (id, path) = out[next].clone();
        next += 1;
        if matches!(pattern.node(id), PatternNode::AnyOf(_)) {
            continue;
        }
        for operand in pattern.operands(id) {
            if seen.insert(operand) {
                let mut longer = vec![id];
                longer.extend(&path);
                out.push((operand, longer));
            }
        }
    }
    out
}

/// The conditions `all(c for i in 0..n)` over the outputs of a comprehension, which each member must satisfy.
fn each_conditions(rule: &Rule, family: FamilyId) -> Vec<(ExprId, Arc<str>)> {
    let Count::Bind(count) = &rule.source.family(family).count else {
        return Vec::new();
    };
    let ast = &rule.ast;
    let mut out = Vec::new();
    for &condition in &rule.conditions {
        let ExprKind::Call { callee, args, .. } = ast.kind(condition) else {
            continue;
        };
        let (true, [arg]) = (callee.as_str() == "all", args.as_slice()) else {
            continue;
        };
        let ExprKind::Comprehension {
            body,
            var,
            iter,
            cond: None,
        } = ast.kind(*arg)
        else {
            continue;
        };
        let ExprKind::Range { start, end: Some(end) } = ast.kind(*iter) else {
            continue;
        };
        let from_zero = start.is_none_or(|s| matches!(ast.kind(s), ExprKind::Int { value: 0, .. }));
        if from_zero && matches!(ast.kind(*end), ExprKind::Name(name) if name == count) {
            out.push((*body, var.name.clone()));
        }
    }
    out
}
