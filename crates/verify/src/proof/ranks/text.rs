//! The statements of a rule's text about ranks and axes, as far as they stay true when axes are removed.
//!
//! A rule whose conditions or attributes ask for anything else has no [`Text`], and its ranks count as only sampled.

mod conditions;
mod values;

use std::collections::BTreeSet;
use std::sync::Arc;

use super::super::scope::{Source, fixes_parts};
use super::numbering::Numbering;
use tautomer_lang::ast::{BinaryOp, Dims, ExprId, ExprKind, TypeKind};
use tautomer_op::{AttrKind, AttrValue, Default as Preset};
use tautomer_rule::{AttrPattern, ListItem, PatternNode, Rule};

/// Axes of a variable that a condition or an attribute looks at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Looked {
    /// The first ones.
    First(usize),
    /// The last ones.
    Last(usize),
    /// All of them.
    All,
    /// The one that has the number of an attribute.
    Numbered,
}

/// Numbers of axes that the rule writes.
#[derive(Debug, Default)]
pub(super) struct Written {
    numbers: BTreeSet<usize>,
    /// Some are computed.
    any: bool,
}

impl Written {
    /// True if an axis with this number may be one that the rule writes.
    pub(super) fn may_be(&self, number: usize) -> bool {
        self.any || self.numbers.contains(&number)
    }

    fn is_empty(&self) -> bool {
        !self.any && self.numbers.is_empty()
    }
}

/// The statements of a rule about ranks and axes.
#[derive(Debug, Default)]
pub(super) struct Text {
    /// Axes that stay where they are, by variable.
    pub(super) looked: Vec<(Arc<str>, Looked)>,
    /// Variables whose axes correspond, counted from the last one.
    pub(super) tied: Vec<(Arc<str>, Arc<str>)>,
    /// Variables whose shapes are equal from an axis on, according to a condition; they have equal rank if one of them
    /// has the axis.
    pub(super) equal: Vec<(Arc<str>, Arc<str>, usize)>,
    /// Axes that are written as numbers, counted from the front, and from the end, where the last axis is 1.
    pub(super) from_front: Written,
    pub(super) from_end: Written,
    /// Names of lists of axes; names of single axes; names of orders of axes.
    pub(super) lists: BTreeSet<Source>,
    pub(super) single: BTreeSet<Source>,
    pub(super) orders: BTreeSet<Source>,
    /// Names of the sizes of parts along an axis that stays, of which there is a fixed number.
    parts: BTreeSet<Source>,
    /// Variables whose ranks an axis is counted from, and how far: `x.rank - 1`.
    pub(super) counted: Vec<(Arc<str>, usize)>,
    /// An attribute is computed in a way that fixes every axis.
    pub(super) everything: bool,
    /// A list of axes is left out, and may mean all of them.
    pub(super) all_axes: bool,
    /// The largest number written next to ranks and axes.
    pub(super) largest: usize,
    /// Some attribute of the target, or some condition, is composed of axes in a way that stays right when axes are
    /// removed.
    natural: bool,
    /// Axes are used in another way.
    unnatural: bool,
}

/// True if a name is bound in the source.
fn has(names: &BTreeSet<Source>, name: &str) -> bool {
    names
        .iter()
        .any(|own| matches!(own, Source::Name(own) if **own == *name))
}

fn is_axes(kind: AttrKind) -> bool {
    matches!(kind, AttrKind::Axis(_) | AttrKind::Axes(_))
}

/// True for attributes that are one value and no axis. Operators that count axes by such a number keep all of theirs.
fn is_plain(kind: AttrKind) -> bool {
    matches!(
        kind,
        AttrKind::Int | AttrKind::Float | AttrKind::Bool | AttrKind::OneOf(_) | AttrKind::DType
    )
}

impl Text {
    /// Reads a rule; `None` if a condition is not known to stay true when axes are removed.
    pub(super) fn of(rule: &Rule) -> Option<Text> {
        if !rule.source.families.is_empty() {
            return None;
        }
        let mut out = Text::default();
        out.source(rule)?;
        for variable in &rule.variables {
            if let Some(ty) = &variable.ty {
                match &ty.kind {
                    TypeKind::Tensor {
                        dims: Dims::List(list), ..
                    } => {
                        out.largest = out.largest.max(list.len());
                        out.looked.push((variable.name.clone(), Looked::All));
                    }
                    TypeKind::Tensor { .. } => {}
                    _ => return None,
                }
            }
        }
        let numbering = Numbering::of(rule);
        let named = |id: ExprId| {
            let names = [&out.lists, &out.single, &out.orders];
            rule.ast.mentions(id, &|n| names.iter().any(|own| has(own, n)))
        };
        let is_in_order = |id: ExprId| match rule.ast.kind(id) {
            ExprKind::Binary {
                op: BinaryOp::Eq,
                lhs,
                rhs,
            } => numbering.is_in_order(*lhs, *rhs) || numbering.is_sorted(*lhs, *rhs),
            _ => false,
        };
        let counts = |id: ExprId| {
            matches!(rule.ast.kind(id), ExprKind::Binary { lhs, .. }
                if matches!(rule.ast.kind(*lhs), ExprKind::Call { callee, .. } if callee.as_str() == "len"))
        };
        out.unnatural = rule
            .conditions
            .iter()
            .any(|&c| named(c) && !counts(c) && !is_in_order(c))
            || [&out.lists, &out.single, &out.orders]
                .into_iter()
                .flatten()
                .any(|source| !matches!(source, Source::Name(_)));
        for &condition in &rule.conditions {
            out.equal.extend(out.equal_shapes(rule, condition));
            if is_in_order(condition) {
                out.natural = true;
            } else {
                out.condition(rule, condition)?;
            }
        }
        let target = &rule.target;
        for id in target.lets.iter().map(|l| l.value).chain([target.result]) {
            out.value(rule, id, &numbering)?;
        }
        // Lists that are composed need all others to be right as well.
        out.everything |= out.natural && !out.is_natural();
        Some(out)
    }

    /// True if every number of an axis is used where it counts the axes of the same value as in the source, or is
    /// mapped to one that does.
    pub(super) fn is_natural(&self) -> bool {
        self.natural && !self.unnatural && !self.has_numbers()
    }

    /// True if some axis is written as a number.
    pub(super) fn has_numbers(&self) -> bool {
        !self.from_front.is_empty() || !self.from_end.is_empty() || !self.counted.is_empty()
    }

    /// The number of ways in which an axis can be in the lists of axes, if the rule has any: axes that are in the same
    /// lists become one.
    pub(super) fn kinds(&self) -> Option<usize> {
        let names = self.lists.len() + self.single.len();
        (!self.lists.is_empty()).then(|| (1usize << names.min(8)) - 1 + usize::from(self.all_axes))
    }

    /// Reads the attributes of the source.
    fn source(&mut self, rule: &Rule) -> Option<()> {
        for (at, node) in rule.source.nodes() {
            match node {
                PatternNode::Call { def, attrs, .. } => {
                    for (declared, pattern) in def.attrs.iter().zip(attrs) {
                        let kind = declared.kind;
                        let name = match pattern {
                            AttrPattern::Bind(name) => Some(Source::Name(name.clone())),
                            AttrPattern::Rest(name) => Some(Source::Rest(name.clone(), declared.name)),
                            AttrPattern::Any => Some(Source::Place(at.0, declared.name)),
                            _ => None,
                        };
                        if let Some(name) = name {
                            if fixes_parts(rule, (*def, declared.name), &name) {
                                self.parts.insert(name);
                            } else {
                                self.bind(kind, declared.name, name)?;
                            }
                            continue;
                        }
                        match pattern {
                            AttrPattern::List(items) => {
                                let open = items.iter().any(|item| !matches!(item, ListItem::Int(_)));
                                for item in items {
                                    match item {
                                        ListItem::Int(n) => self.number(*n),
                                        ListItem::Bind(name) if matches!(kind, AttrKind::Axes(_)) => {
                                            self.single.insert(Source::Name(name.clone()));
                                        }
                                        ListItem::Any if matches!(kind, AttrKind::Axes(_)) => {
                                            self.single.insert(Source::Place(at.0, declared.name));
                                        }
                                        _ => {}
                                    }
                                }
                                // Numbers that are no axes are sizes; a list of them has a fixed length.
                                if open && matches!(kind, AttrKind::Axes(_)) && items.len() != 1 {
                                    return None;
                                }
                            }
                            AttrPattern::Value(value) => self.written(kind, value),
                            AttrPattern::Default => self.preset(kind, declared.default),
                            AttrPattern::BindEach(_) => return None,
                            AttrPattern::Computed(id) => self.attribute(rule, *id, is_axes(kind)),
                            AttrPattern::Bind(_) | AttrPattern::Rest(_) | AttrPattern::Any => {}
                        }
                    }
                }
                // Whichever operator it stands for.
                PatternNode::CallOf { variable, rest, .. } => {
                    for def in &rule.operators.get(*variable)?.choices {
                        for declared in def.attrs {
                            match rest {
                                Some(rest) => {
                                    self.bind(declared.kind, declared.name, Source::Rest(rest.clone(), declared.name))?;
                                }
                                None => self.preset(declared.kind, declared.default),
                            }
                        }
                    }
                }
                // The alternatives are read like all others; each instance has one of them.
                _ => {}
            }
        }
        Some(())
    }

    /// A name that the source binds.
    fn bind(&mut self, kind: AttrKind, attr: &str, name: Source) -> Option<()> {
        match kind {
            AttrKind::Axis(_) => _ = self.single.insert(name),
            AttrKind::Axes(_) if attr == "perm" => _ = self.orders.insert(name),
            AttrKind::Axes(_) => _ = self.lists.insert(name),
            AttrKind::Int | AttrKind::Float | AttrKind::Bool | AttrKind::OneOf(_) | AttrKind::DType => {}
            // A list with an entry for each axis has another length at another rank.
            _ => return None,
        }
        Some(())
    }

    fn number(&mut self, n: i64) {
        let written = if n < 0 {
            &mut self.from_end
        } else {
            &mut self.from_front
        };
        written.numbers.insert(n.unsigned_abs() as usize);
        self.largest = self.largest.max(n.unsigned_abs() as usize + 1);
    }

    fn written(&mut self, kind: AttrKind, value: &AttrValue) {
        if matches!(kind, AttrKind::Axis(_) | AttrKind::Axes(_)) {
            match value {
                AttrValue::Int(d) => d.as_const().into_iter().for_each(|n| self.number(n)),
                AttrValue::Ints(list) => list.iter().filter_map(|d| d.as_const()).for_each(|n| self.number(n)),
                _ => self.everything = true,
            }
        }
    }

    /// An attribute that is left out.
    fn preset(&mut self, kind: AttrKind, preset: Preset) {
        match (kind, preset) {
            (AttrKind::Axes(_), Preset::None) => self.all_axes = true,
            (AttrKind::Axis(_) | AttrKind::Axes(_), Preset::Int(n)) => self.number(n),
            (AttrKind::Axis(_) | AttrKind::Axes(_), Preset::Ints(list)) => list.iter().for_each(|n| self.number(*n)),
            _ => {}
        }
    }
}
