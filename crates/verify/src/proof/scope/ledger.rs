//! The ledger of a proof: how the proved forms cover everything that may vary in the rule.

use std::collections::{BTreeMap, BTreeSet};

use rustc_hash::FxHashSet;

use super::super::form::{FREE, has_sized_constants};
use super::{
    Open, Ordered, Prepared, Scope, Source, accepted_types, calls, domain, dtypes, is_broadcast_shape,
    is_optional_number,
};
use crate::instance::combine::{combinations, reached};
use crate::instance::recipe::Step;
use crate::proof::ledger::{Covers, Ledger};
use crate::proof::ranks::Ranks;
use tautomer_graph::term::Reads;
use tautomer_lang::ast::{BinaryOp, ExprId, ExprKind, RuleClass};
use tautomer_op::{AttrKind, AttrValue, OpTraits, ShapeRule};
use tautomer_rule::{AttrPattern, Count, ListItem, Pattern, PatternId, PatternNode, ProjIndex};
use tautomer_tensor::DType;

/// Limit on the values that a line of the ledger names.
const SHOWN: usize = 6;

/// Results of the proof in addition to the forms.
pub(in crate::proof) struct Found<'a> {
    /// The proof for two axes extends to more.
    pub(in crate::proof) any_rank: bool,
    /// The proof is for all ranks and axes, in this way.
    pub(in crate::proof) ranks: Option<Ranks>,
    /// The instances cover all element types that the operators and conditions admit.
    pub(in crate::proof) all_types: bool,
    /// So do the attributes that are element types, beside each of them.
    pub(in crate::proof) all_type_attributes: bool,
    /// Booleans and words were tried in all combinations.
    pub(in crate::proof) all_words: bool,
    /// The shapes of `reshape` were tried with 0 and -1, and have fixed lengths.
    pub(in crate::proof) all_shapes: bool,
    /// Constants that differ in their last digits were assumed to be equal.
    pub(in crate::proof) rounded: bool,
    /// The number of forms whose proof took too long.
    pub(in crate::proof) limited: usize,
    /// Tokens for the numbers of attributes.
    pub(in crate::proof) tokens: Vec<f64>,
    /// Numbers that are in every order in the forms.
    pub(in crate::proof) ordered: Option<&'a Ordered>,
}

impl Scope<'_> {
    /// The ledger of the proved forms.
    pub(in crate::proof) fn ledger(&self, forms: &[Prepared], found: &Found<'_>) -> Ledger {
        let mut out = Ledger::default();
        let sized = forms.iter().any(|form| has_sized_constants(&form.recipe));
        out.add(
            "sizes",
            if sized {
                Covers::Sampled("of constants: those of the instances".to_owned())
            } else {
                Covers::Symbolic
            },
        );
        if found.limited > 0 {
            let n = found.limited;
            out.add("forms", Covers::LeftOut(format!("without {n} that were only tested")));
        }
        self.ranks(forms, found, &mut out);
        let types: BTreeSet<DType> = forms.iter().flat_map(|f| dtypes(&f.recipe)).collect();
        let types: Vec<String> = types.iter().map(ToString::to_string).collect();
        out.add(
            "element types",
            if found.all_types && (found.ranks.is_some() || !self.mixes_types()) {
                Covers::Exhausted
            } else {
                Covers::Sampled(types.join(", "))
            },
        );
        self.attributes(forms, found, &mut out);
        self.constants(forms, found, &mut out);
        self.structure(forms, &mut out);
        out
    }

    /// True if the rule may treat an element type apart at some ranks, sizes or attributes alone. Each element type is
    /// tried at a few of them.
    pub(in crate::proof) fn mixes_types(&self) -> bool {
        let ast = &self.rule.ast;
        let (mut types, mut others): (Vec<&str>, Vec<&str>) = (vec!["dtype"], vec!["rank", "shape", "size"]);
        for (_, node) in self.rule.source.nodes() {
            let PatternNode::Call { def, attrs, .. } = node else {
                continue;
            };
            for (declared, attr) in def.attrs.iter().zip(attrs) {
                let list = match declared.kind {
                    AttrKind::DType => &mut types,
                    // Numbers are symbols, or named by a line of their own.
                    AttrKind::Float => continue,
                    _ => &mut others,
                };
                match attr {
                    AttrPattern::Bind(name) | AttrPattern::BindEach(name) => list.push(name),
                    AttrPattern::List(items) => list.extend(items.iter().filter_map(|item| match item {
                        ListItem::Bind(name) => Some(&**name),
                        _ => None,
                    })),
                    _ => {}
                }
            }
        }
        let asks = |id: ExprId| {
            let sizes = ast.mentions(id, &|n| others.contains(&n)) || calls(ast, id, &|f| f.reads == Reads::Ranks);
            (ast.mentions(id, &|n| types.contains(&n)), sizes)
        };
        let mut waiting = self.rule.conditions.clone();
        while let Some(id) = waiting.pop() {
            match ast.kind(id) {
                ExprKind::Binary {
                    op: BinaryOp::And,
                    lhs,
                    rhs,
                } => waiting.extend([*lhs, *rhs]),
                _ if asks(id) == (true, true) => return true,
                _ => {}
            }
        }
        // Branches within or beside each other.
        let mut all = (false, false);
        waiting.extend(self.target());
        while let Some(id) = waiting.pop() {
            if let ExprKind::When { cond, .. } | ExprKind::If { cond, .. } = ast.kind(id) {
                let own = asks(*cond);
                all = (all.0 || own.0, all.1 || own.1);
            }
            waiting.extend(ast.operands(id));
        }
        all == (true, true)
    }

    fn ranks(&self, forms: &[Prepared], found: &Found<'_>, out: &mut Ledger) {
        if found.any_rank {
            return out.add("ranks", Covers::Symbolic);
        }
        if found.ranks == Some(Ranks::Bounded) {
            return out.add("ranks", Covers::Exhausted);
        }
        let fixed = (0..self.rule.variables.len()).all(|i| self.pinned(i).is_some());
        let leaves = forms.iter().flat_map(|f| f.recipe.steps.iter());
        let ranks: BTreeSet<usize> = leaves
            .filter_map(|s| match s {
                Step::Leaf { shape, .. } => Some(shape.len()),
                _ => None,
            })
            .collect();
        let what = if ranks.len() == 1 { "rank" } else { "ranks" };
        out.add(
            what,
            if fixed || ranks.is_empty() {
                Covers::Exhausted
            } else {
                Covers::Sampled(intervals(&ranks))
            },
        );
        let constants: BTreeSet<usize> = forms.iter().flat_map(|f| self.ranks_of_constants(f)).collect();
        if !constants.is_empty() {
            out.add("constants of rank", Covers::Sampled(intervals(&constants)));
        }
    }

    /// The ranks of constants of a form that no variable with a shape matches, and that operators broadcast: they may
    /// have more axes than what they are combined with.
    fn ranks_of_constants<'a>(&'a self, form: &'a Prepared) -> impl Iterator<Item = usize> + 'a {
        let pattern = &self.rule.source;
        let is_open = move |at: PatternId| match pattern.node(at) {
            PatternNode::Variable(i) => self.pinned(*i).is_none(),
            PatternNode::Literal(_) => true,
            _ => false,
        };
        let is_broadcast = |step: usize| {
            let users = form.recipe.steps.iter().filter(|s| s.operands().contains(&step));
            users
                .into_iter()
                .any(|s| matches!(s, Step::Call { def, .. } if def.traits.contains(OpTraits::ELEMENTWISE)))
        };
        form.bound
            .iter()
            .filter_map(move |&(at, step)| match &form.recipe.steps[step] {
                Step::Fill { shape, .. } if is_open(at) && is_broadcast(step) => Some(shape.len()),
                _ => None,
            })
    }

    fn attributes(&self, forms: &[Prepared], found: &Found<'_>, out: &mut Ledger) {
        struct Seen<'a> {
            open: &'a Open,
            symbolic: bool,
            /// It is one of a few element types.
            types: bool,
            /// It follows from a list of sizes.
            counts_parts: bool,
            values: Vec<AttrValue>,
        }
        let mut all: BTreeMap<&Source, Seen<'_>> = BTreeMap::new();
        for form in forms {
            for open in &form.open {
                let Step::Call { attrs, .. } = &form.recipe.steps[open.step] else {
                    continue;
                };
                let value = attrs[open.attr].clone();
                let seen = all.entry(&open.source).or_insert(Seen {
                    open,
                    types: true,
                    counts_parts: true,
                    symbolic: false,
                    values: Vec::new(),
                });
                let declared = &open.def.attrs[open.attr];
                let symbol = match &value {
                    Some(AttrValue::Int(_)) => FREE.contains(&declared.name),
                    Some(AttrValue::Ints(_)) => FREE.contains(&declared.name),
                    Some(AttrValue::Float(v)) => found.tokens.contains(&v.0),
                    _ => false,
                };
                seen.symbolic |= symbol;
                seen.types = seen.types && accepted_types(&form.recipe, open).is_some();
                seen.counts_parts = seen.counts_parts && self.counts_fixed_parts(open, &form.open);
                if !symbol {
                    let value = value.or_else(|| form.filled[open.step].get(open.attr).cloned());
                    let value = value.unwrap_or(AttrValue::None);
                    if !seen.values.contains(&value) {
                        seen.values.push(value);
                    }
                }
            }
        }
        let is_ordered = |source: &Source| found.ordered.is_some_and(|o| o.sources.contains(source));
        let optional = all
            .iter()
            .filter(|(source, seen)| is_optional_number(seen.open) && !is_ordered(source));
        let optional = optional.count();
        for seen in all.values_mut() {
            seen.values.sort();
            let (def, declared) = (seen.open.def, &seen.open.def.attrs[seen.open.attr]);
            let what = format!("`{}` of `{}`", declared.name, def.name);
            // Lists whose length the pattern does not fix.
            let counted =
                seen.open.fixed_length || !matches!(declared.name, "sizes") || self.has_fixed_parts(seen.open);
            // Beside each element type of the operands.
            let finite = domain(declared.kind).is_some() || seen.types && found.ranks.is_some();
            let named = |id: ExprId| match (&seen.open.source, self.rule.ast.kind(id)) {
                (Source::Name(name), ExprKind::Name(own)) => name == own,
                _ => false,
            };
            let is_axes = matches!(declared.kind, AttrKind::Axis(_) | AttrKind::Axes(_));
            let covers = match (seen.symbolic, finite) {
                _ if is_axes && found.ranks.is_some() => Covers::Exhausted,
                _ if is_ordered(&seen.open.source) => Covers::Symbolic,
                (false, _) if self.is_fixed(&named) || found.rounded && self.is_near_one_number(&named) => {
                    Covers::Exhausted
                }
                // Axes are alone, and so are the entries for them.
                (true, _) if found.any_rank && is_broadcast_shape(seen.open) => Covers::Symbolic,
                (false, _) if matches!(declared.kind, AttrKind::DType) && found.all_type_attributes => {
                    Covers::Exhausted
                }
                (true, _) if found.all_shapes && seen.open.def.shapes == ShapeRule::Reshape => Covers::Symbolic,
                (true, _) if declared.name == "shape" && !seen.open.fixed_length => {
                    Covers::Sampled("without 0 and -1".to_owned())
                }
                // It may be left out beside each choice for the other attributes.
                (true, _) if is_optional_number(seen.open) => {
                    if found.all_words || found.ranks.is_some() || seen.values.len() == 1 && optional == 1 {
                        Covers::Symbolic
                    } else if seen.values.is_empty() {
                        Covers::Sampled("given".to_owned())
                    } else {
                        Covers::Sampled("given and left out, not beside everything else".to_owned())
                    }
                }
                (true, _) if counted => Covers::Symbolic,
                (false, _) if seen.counts_parts => Covers::Exhausted,
                (true, _) => Covers::Sampled("with as many parts as in the instances".to_owned()),
                (false, true) if found.all_words || found.ranks.is_some() => Covers::Exhausted,
                (false, _) => Covers::Sampled(listed(seen.values.iter().map(shown))),
            };
            out.add(what, covers);
        }
    }

    fn constants(&self, forms: &[Prepared], found: &Found<'_>, out: &mut Ledger) {
        for (i, variable) in self.rule.variables.iter().enumerate() {
            let mut values: Vec<String> = Vec::new();
            for form in forms {
                for &(at, step) in &form.bound {
                    if !matches!(self.rule.source.node(at), PatternNode::Variable(own) if *own == i) {
                        continue;
                    }
                    let value = match &form.recipe.steps[step] {
                        Step::Fill { value, .. } if found.tokens.contains(value) => continue,
                        Step::Fill { value, .. } => shown(&AttrValue::float(*value)),
                        Step::Const(_) => "a list of numbers".to_owned(),
                        _ => continue,
                    };
                    if !values.contains(&value) {
                        values.push(value);
                    }
                }
            }
            let is_ordered = found.ordered.is_some_and(|o| o.constants.contains(&i));
            if !values.is_empty() && !is_ordered {
                let is_value = |id| self.is_value_of(id, &variable.name);
                let one = self.is_fixed(&is_value)
                    || self.is_minus_infinity(&variable.name)
                    || found.rounded && self.is_near_one_number(&is_value);
                out.add(
                    format!("the value of `{}`", variable.name),
                    if one {
                        Covers::Exhausted
                    } else {
                        Covers::Sampled(listed(values.into_iter()))
                    },
                );
            } else if variable.class == RuleClass::Const {
                out.add(format!("the value of `{}`", variable.name), Covers::Symbolic);
            }
        }
    }

    /// Adds lines for member counts, operator variables and alternatives.
    fn structure(&self, forms: &[Prepared], out: &mut Ledger) {
        let pattern = &self.rule.source;
        for family in &pattern.families {
            if let Count::Bind(name) = &family.count {
                let number = |form: &Prepared| {
                    let inside = form.bound.iter().filter(|(at, _)| {
                        pattern
                            .within(*at)
                            .is_some_and(|id| std::ptr::eq(pattern.family(id), family))
                    });
                    let mut counts: BTreeMap<PatternId, usize> = BTreeMap::new();
                    inside.for_each(|(at, _)| *counts.entry(*at).or_default() += 1);
                    counts.values().copied().max().unwrap_or(0)
                };
                let numbers: BTreeSet<usize> = forms.iter().map(number).filter(|n| *n > 0).collect();
                out.add(
                    format!("the number of members `{name}`"),
                    Covers::Sampled(listed(numbers.iter().map(ToString::to_string))),
                );
            }
        }
        for (_, node) in pattern.nodes() {
            if let PatternNode::Proj(_, ProjIndex::Bind(name)) = node {
                out.add(
                    format!("the index `{name}`"),
                    Covers::Sampled("as in the instances".to_owned()),
                );
            }
        }
        for (i, variable) in self.rule.operators.iter().enumerate() {
            let mut seen: BTreeSet<&str> = BTreeSet::new();
            for form in forms {
                for &(at, step) in &form.bound {
                    if matches!(pattern.node(at), PatternNode::CallOf { variable, .. } if *variable == i)
                        && let Step::Call { def, .. } = &form.recipe.steps[step]
                    {
                        seen.insert(def.name);
                    }
                }
            }
            let covers = if variable.choices.iter().all(|def| seen.contains(def.name)) {
                Covers::Exhausted
            } else {
                Covers::Sampled(listed(seen.into_iter().map(|name| format!("`{name}`"))))
            };
            out.add(format!("the operator `{}`", variable.name), covers);
        }
        let has_alternatives = pattern.nodes().any(|(_, n)| matches!(n, PatternNode::AnyOf(_)));
        if has_alternatives {
            let all = combinations(pattern);
            let seen: BTreeSet<Vec<Option<usize>>> = forms.iter().map(|form| chosen(pattern, form)).collect();
            let covers = match &all {
                Some(all) if all.iter().all(|one| seen.contains(one)) => Covers::Exhausted,
                Some(all) => Covers::Sampled(format!(
                    "in {} of {} combinations",
                    all.iter().filter(|one| seen.contains(*one)).count(),
                    all.len()
                )),
                None => Covers::Sampled("each by itself".to_owned()),
            };
            out.add("alternatives", covers);
        }
    }
}

fn shown(value: &AttrValue) -> String {
    match value {
        AttrValue::None => "left out".to_owned(),
        AttrValue::Float(v) => v.0.to_string(),
        other => other.to_string(),
    }
}

/// Numbers as intervals: `0, 2 to 4`.
fn intervals(numbers: &BTreeSet<usize>) -> String {
    let mut parts: Vec<(usize, usize)> = Vec::new();
    for &n in numbers {
        match parts.last_mut() {
            Some((_, last)) if *last + 1 == n => *last = n,
            _ => parts.push((n, n)),
        }
    }
    let one = |(first, last): (usize, usize)| match last - first {
        0 => first.to_string(),
        _ => format!("{first} to {last}"),
    };
    parts.into_iter().map(one).collect::<Vec<_>>().join(", ")
}

/// The first few, and the number of the others.
fn listed(all: impl Iterator<Item = String>) -> String {
    let all: Vec<String> = all.collect();
    let more = all.len().saturating_sub(SHOWN);
    let mut out = all[..all.len() - more].join(", ");
    if more > 0 {
        out.push_str(&format!(" and {more} more"));
    }
    out
}

/// The alternative that a form has at each `AnyOf` vertex: a bound call if there is one, else a bound variable.
fn chosen(pattern: &Pattern, form: &Prepared) -> Vec<Option<usize>> {
    let bound: FxHashSet<PatternId> = form.bound.iter().map(|(at, _)| *at).collect();
    let mut out = vec![None; pattern.len()];
    for (id, node) in pattern.nodes() {
        if let PatternNode::AnyOf(items) = node {
            let is_call = |item: &PatternId| !matches!(pattern.node(*item), PatternNode::Variable(_));
            let found = items
                .iter()
                .position(|item| is_call(item) && bound.contains(item))
                .or_else(|| items.iter().position(|item| bound.contains(item)));
            // An item that is an `AnyOf` itself is chosen if one of its items is.
            let nested = |item: &PatternId| match pattern.node(*item) {
                PatternNode::AnyOf(_) => out[item.0 as usize].is_some(),
                _ => false,
            };
            out[id.0 as usize] = found.or_else(|| items.iter().position(nested));
        }
    }
    // Vertices of the pattern that no output leads to choose nothing.
    let reached = reached(pattern, &out);
    for (choice, reached) in out.iter_mut().zip(reached) {
        *choice = choice.filter(|_| reached);
    }
    out
}
