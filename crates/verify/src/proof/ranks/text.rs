//! The statements of a rule's text about ranks and axes, as far as they stay true when axes are removed.
//!
//! A rule whose conditions or attributes ask for anything else has no [`Text`], and its ranks count as only sampled.

use std::collections::BTreeSet;
use std::sync::Arc;

use rustc_hash::FxHashSet;

use super::super::scope::{Source, fixes_parts};
use super::numbering::Numbering;
use tautomer_graph::term::Reads;
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

    /// True if an expression asks about ranks, axes or sizes.
    fn asks(&self, rule: &Rule, id: ExprId) -> bool {
        let own = |n: &str| {
            matches!(n, "rank" | "shape" | "size")
                || [&self.lists, &self.single, &self.orders]
                    .into_iter()
                    .any(|names| has(names, n))
        };
        rule.ast.mentions(id, &own)
            || super::super::scope::calls(&rule.ast, id, &|f| f.reads == Reads::Ranks || f.name == "range")
    }

    /// Reads a condition that has to stay true when axes are removed.
    fn condition(&mut self, rule: &Rule, id: ExprId) -> Option<()> {
        if !self.asks(rule, id) {
            return Some(());
        }
        let ast = &rule.ast;
        match ast.kind(id) {
            ExprKind::Binary {
                op: BinaryOp::And | BinaryOp::Or,
                lhs,
                rhs,
            } => {
                self.condition(rule, *lhs)?;
                self.condition(rule, *rhs)
            }
            ExprKind::Call { callee, args, .. } if callee.as_str() == "broadcasts" => {
                let [a, b] = args.as_slice() else { return None };
                match (self.variable(rule, *a), self.variable(rule, *b)) {
                    (Some(a), Some(b)) => self.tied.push((a, b)),
                    _ => {
                        self.sizes(rule, *a)?;
                        self.sizes(rule, *b)?;
                    }
                }
                Some(())
            }
            // Two truths about ranks are equal before and after, if both stay as they are.
            ExprKind::Binary {
                op: BinaryOp::Eq | BinaryOp::Ne,
                lhs,
                rhs,
            } if self.steady(rule, *lhs) && self.steady(rule, *rhs) => Some(()),
            ExprKind::Binary { op, lhs, rhs } => self.comparison(rule, *op, *lhs, *rhs),
            ExprKind::Call { callee, args, .. } if callee.as_str() == "all" => {
                let [arg] = args.as_slice() else { return None };
                self.each_listed(rule, *arg)
            }
            _ => None,
        }
    }

    /// Reads a comparison of a rank with a number, which is as true as before if so many axes stay that the rank is on
    /// the same side of the number; false if it is something else.
    fn steady(&mut self, rule: &Rule, id: ExprId) -> bool {
        use BinaryOp::{Eq, Ge, Gt, Le, Lt, Ne};
        let ExprKind::Binary { op, lhs, rhs } = rule.ast.kind(id) else {
            return false;
        };
        let (Some(name), ExprKind::Int { value, .. }) = (self.field(rule, *lhs, "rank"), rule.ast.kind(*rhs)) else {
            return false;
        };
        let Ok(n) = usize::try_from(*value) else { return false };
        self.largest = self.largest.max(n + 1);
        self.looked.push((name, Looked::Last(n + 1)));
        matches!(op, Eq | Ne | Lt | Le | Gt | Ge)
    }

    /// Reads `x.shape[i] == 1 for i in k`, which two axes that become one keep true.
    fn each_listed(&mut self, rule: &Rule, id: ExprId) -> Option<()> {
        let ast = &rule.ast;
        let ExprKind::Comprehension {
            body,
            var,
            iter,
            cond: None,
        } = ast.kind(id)
        else {
            return None;
        };
        let (ExprKind::Binary { op, lhs, rhs }, true) = (ast.kind(*body), self.list(rule, *iter)) else {
            return None;
        };
        let (ExprKind::Index { base, index }, BinaryOp::Eq) = (ast.kind(*lhs), op) else {
            return None;
        };
        // Two axes become one, whose dimension is the product.
        let is_one = matches!(ast.kind(*rhs), ExprKind::Int { value: 1, .. });
        let is_own = matches!(ast.kind(*index), ExprKind::Name(name) if **name == *var.as_str());
        let name = self.field(rule, *base, "shape").filter(|_| is_own && is_one)?;
        self.looked.push((name, Looked::Numbered));
        Some(())
    }

    fn comparison(&mut self, rule: &Rule, op: BinaryOp, lhs: ExprId, rhs: ExprId) -> Option<()> {
        use BinaryOp::{Eq, Ge, Gt, Le, Lt, Ne};
        let field = |id: ExprId, name: &str| self.field(rule, id, name);
        let int = |id: ExprId| match rule.ast.kind(id) {
            ExprKind::Int { value, .. } => usize::try_from(*value).ok(),
            _ => None,
        };
        // The number of parts.
        if let ExprKind::Call { callee, args, .. } = rule.ast.kind(lhs)
            && callee.as_str() == "len"
            && let [arg] = args.as_slice()
            && self.has_parts(rule, *arg)
        {
            return int(rhs).map(|_| ());
        }
        // Bounds of the number of listed axes: one axis of each kind stays.
        if let (ExprKind::Call { callee, args, .. }, Some(n)) = (rule.ast.kind(lhs), int(rhs))
            && callee.as_str() == "len"
            && let [arg] = args.as_slice()
            && matches!(rule.ast.kind(*arg), ExprKind::Name(name) if has(&self.lists, name))
        {
            return matches!((op, n), (Gt | Ne | Eq, 0) | (Ge, 1)).then_some(());
        }
        // Shapes from the same axis on.
        if let (Some((a, n)), Some((b, m))) = (self.rest(rule, lhs), self.rest(rule, rhs)) {
            self.largest = self.largest.max(n);
            self.looked.push((a.clone(), Looked::First(n)));
            self.looked.push((b.clone(), Looked::First(n)));
            self.tied.push((a, b));
            return (op == Eq && n == m).then_some(());
        }
        // Whole shapes.
        if let (Some(a), Some(b)) = (field(lhs, "shape"), field(rhs, "shape")) {
            self.tied.push((a, b));
            return (op == Eq).then_some(());
        }
        if let (Some(a), Some(b)) = (field(lhs, "rank"), field(rhs, "rank")) {
            self.tied.push((a, b));
            return matches!(op, Eq | Le | Ge).then_some(());
        }
        if field(lhs, "size").is_some() && int(rhs) == Some(1) && op == Eq {
            return Some(());
        }
        // A rank, or the least or largest of several, and a number.
        if let Some(n) = int(rhs) {
            let ranks: Option<Vec<Arc<str>>> = match rule.ast.kind(lhs) {
                ExprKind::Call { callee, args, .. } if matches!(callee.as_str(), "min" | "max") => {
                    args.iter().map(|&arg| field(arg, "rank")).collect()
                }
                _ => field(lhs, "rank").map(|name| vec![name]),
            };
            if let Some(ranks) = ranks {
                let keep = match op {
                    Lt | Le => 0,
                    Eq | Ge => n,
                    Gt | Ne => n + 1,
                    _ => return None,
                };
                self.largest = self.largest.max(n + 1);
                self.looked
                    .extend(ranks.into_iter().map(|name| (name, Looked::Last(keep))));
                return Some(());
            }
        }
        if matches!(op, Eq | Ne | Lt | Le | Gt | Ge) {
            self.sizes(rule, lhs)?;
            return self.sizes(rule, rhs);
        }
        None
    }

    /// True for the name of a list with the sizes of parts.
    fn has_parts(&self, rule: &Rule, id: ExprId) -> bool {
        matches!(rule.ast.kind(id), ExprKind::Name(name) if has(&self.parts, name))
    }

    /// Arithmetic over dimensions of variables.
    fn sizes(&mut self, rule: &Rule, id: ExprId) -> Option<()> {
        let ast = &rule.ast;
        match ast.kind(id) {
            ExprKind::Int { .. } => Some(()),
            ExprKind::List(items) => items.iter().try_for_each(|&item| self.sizes(rule, item)),
            ExprKind::Binary {
                op: BinaryOp::Add | BinaryOp::Sub | BinaryOp::Mul | BinaryOp::Div | BinaryOp::Rem,
                lhs,
                rhs,
            } => {
                self.sizes(rule, *lhs)?;
                self.sizes(rule, *rhs)
            }
            // The size of a part.
            ExprKind::Index { base, index } if self.has_parts(rule, *base) => {
                matches!(ast.kind(*index), ExprKind::Int { .. }).then_some(())
            }
            ExprKind::Index { base, index } => {
                let name = self.field(rule, *base, "shape")?;
                let looked = match ast.kind(*index) {
                    ExprKind::Name(axis) if has(&self.single, axis) => Looked::Numbered,
                    ExprKind::Int { value, .. } if *value >= 0 => Looked::First(usize::try_from(*value).ok()? + 1),
                    ExprKind::Int { value, .. } => Looked::Last(usize::try_from(-*value).ok()?),
                    ExprKind::Binary {
                        op: BinaryOp::Sub,
                        lhs,
                        rhs,
                    } if self.field(rule, *lhs, "rank").as_ref() == Some(&name) => match ast.kind(*rhs) {
                        ExprKind::Int { value, .. } => Looked::Last(usize::try_from(*value).ok()?),
                        _ => return None,
                    },
                    _ => return None,
                };
                if let Looked::First(n) | Looked::Last(n) = looked {
                    self.largest = self.largest.max(n);
                }
                self.looked.push((name, looked));
                Some(())
            }
            ExprKind::Field { base, .. } => {
                let name = self.variable(rule, *base)?;
                (self.field(rule, id, "size").is_some() || self.field(rule, id, "shape").is_some())
                    .then(|| self.looked.push((name, Looked::All)))
            }
            ExprKind::Name(_) => {
                let name = self.variable(rule, id)?;
                self.looked.push((name, Looked::All));
                Some(())
            }
            _ => None,
        }
    }

    /// The variables in `x.shape == y.shape` and in `x.shape[1..] == y.shape[1..]`, and from which axis on.
    fn equal_shapes(&self, rule: &Rule, id: ExprId) -> Option<(Arc<str>, Arc<str>, usize)> {
        let ExprKind::Binary {
            op: BinaryOp::Eq,
            lhs,
            rhs,
        } = *rule.ast.kind(id)
        else {
            return None;
        };
        let side = |id: ExprId| match self.field(rule, id, "shape") {
            Some(name) => Some((name, 0)),
            None => self.rest(rule, id),
        };
        let ((a, n), (b, m)) = (side(lhs)?, side(rhs)?);
        (n == m).then_some((a, b, n))
    }

    /// The variable and the axis in `x.shape[1..]`.
    fn rest(&self, rule: &Rule, id: ExprId) -> Option<(Arc<str>, usize)> {
        let ExprKind::Slice {
            base,
            start: Some(start),
            end: None,
        } = rule.ast.kind(id)
        else {
            return None;
        };
        let ExprKind::Int { value, .. } = rule.ast.kind(*start) else {
            return None;
        };
        Some((self.field(rule, *base, "shape")?, usize::try_from(*value).ok()?))
    }

    /// The variable of the rule that an expression is.
    fn variable(&self, rule: &Rule, id: ExprId) -> Option<Arc<str>> {
        match rule.ast.kind(id) {
            ExprKind::Name(name) => rule.variable(name).map(|_| name.clone()),
            _ => None,
        }
    }

    /// The variable of which an expression is this field.
    fn field(&self, rule: &Rule, id: ExprId, wanted: &str) -> Option<Arc<str>> {
        match rule.ast.kind(id) {
            ExprKind::Field { base, name } if name.as_str() == wanted => self.variable(rule, *base),
            _ => None,
        }
    }

    /// Reads an expression of the target.
    fn value(&mut self, rule: &Rule, id: ExprId, numbering: &Numbering<'_>) -> Option<()> {
        let ast = &rule.ast;
        match ast.kind(id) {
            ExprKind::Call {
                callee, args, attrs, ..
            } => {
                for &arg in args {
                    self.value(rule, arg, numbering)?;
                }
                if rule.scope.declared(callee.as_str()).is_some() {
                    return None;
                }
                let def = tautomer_op::lookup(callee.as_str());
                let variable = rule.operators.iter().find(|own| *own.name == *callee.as_str());
                if let Some(variable) = variable
                    && attrs.as_ref().is_none_or(|a| a.rest.is_none())
                {
                    for declared in variable.choices.iter().flat_map(|def| def.attrs) {
                        self.preset(declared.kind, declared.default);
                    }
                }
                let entries = attrs.iter().flat_map(|a| &a.entries);
                let mut given: FxHashSet<&str> = FxHashSet::default();
                for entry in entries {
                    given.insert(entry.name.as_str());
                    let declared = def.and_then(|def| def.attrs.iter().find(|d| d.name == entry.name.as_str()));
                    let axes = declared.is_none_or(|d| is_axes(d.kind));
                    let is_result = id == rule.target.result;
                    let is_natural = axes && numbering.is_natural(callee.as_str(), args, entry.value, is_result);
                    if is_natural && !self.axes(rule, entry.value) {
                        self.natural = true;
                        continue;
                    }
                    self.unnatural |= axes && !is_natural;
                    // A written number, word or element type is no axis.
                    let is_plain = declared.is_some_and(|d| is_plain(d.kind)) && !self.asks(rule, entry.value);
                    if !is_plain {
                        self.attribute(rule, entry.value, axes);
                    }
                }
                if let Some(def) = def
                    && attrs.as_ref().is_none_or(|a| a.rest.is_none())
                {
                    for declared in def.attrs.iter().filter(|d| !given.contains(d.name)) {
                        self.preset(declared.kind, declared.default);
                    }
                }
                Some(())
            }
            ExprKind::When { .. } | ExprKind::If { .. } | ExprKind::Comprehension { .. } => None,
            ExprKind::Field { .. } | ExprKind::Index { .. } | ExprKind::Slice { .. } | ExprKind::Range { .. } => {
                self.everything = true;
                Some(())
            }
            _ => ast
                .operands(id)
                .into_iter()
                .try_for_each(|part| self.value(rule, part, numbering)),
        }
    }

    /// Reads the value of an attribute, which is an axis or a list of axes if `axes`.
    fn attribute(&mut self, rule: &Rule, id: ExprId, axes: bool) {
        if !self.asks(rule, id) {
            self.numbers(rule, id);
            // An axis that is a number of another kind.
            self.everything |= axes && rule.ast.mentions(id, &|_| true);
            return;
        }
        if axes && (self.axes(rule, id) || self.counts_from_rank(rule, id)) {
            return;
        }
        // Where no axis of the variables that it looks at is taken away, it has the same value.
        let ast = &rule.ast;
        let mut waiting = vec![id];
        while let Some(id) = waiting.pop() {
            match ast.kind(id) {
                ExprKind::Name(name) => {
                    if rule.variable(name).is_some() {
                        self.looked.push((name.clone(), Looked::All));
                    } else {
                        self.everything = true;
                    }
                }
                ExprKind::Index { .. } if self.sizes(rule, id).is_some() => {}
                _ => waiting.extend(ast.operands(id)),
            }
        }
    }

    /// Reads `x.rank - 1`, alone or in a list: an axis that is counted from the end, as long as the value with that axis
    /// loses the same axes as `x`.
    fn counts_from_rank(&mut self, rule: &Rule, id: ExprId) -> bool {
        let ast = &rule.ast;
        let id = match ast.kind(id) {
            ExprKind::List(items) => match items.as_slice() {
                [item] => *item,
                _ => return false,
            },
            _ => id,
        };
        let (rank, less) = match ast.kind(id) {
            ExprKind::Binary {
                op: BinaryOp::Sub,
                lhs,
                rhs,
            } => match ast.kind(*rhs) {
                ExprKind::Int { value, .. } => (*lhs, *value),
                _ => return false,
            },
            _ => (id, 0),
        };
        let (Some(name), Ok(less)) = (self.field(rule, rank, "rank"), usize::try_from(less)) else {
            return false;
        };
        self.largest = self.largest.max(less + 1);
        self.counted.push((name, less));
        true
    }

    fn numbers(&mut self, rule: &Rule, id: ExprId) {
        match rule.ast.kind(id) {
            ExprKind::Int { value, .. } => self.number(i64::try_from(*value).unwrap_or(0)),
            ExprKind::Name(_) | ExprKind::Bool(_) | ExprKind::Str(_) | ExprKind::Float { .. } => {}
            ExprKind::List(items) => items.iter().for_each(|&item| self.numbers(rule, item)),
            // The number itself may be another one.
            _ => {
                self.from_front.any = true;
                self.from_end.any = true;
                let parts = rule.ast.operands(id);
                parts.into_iter().for_each(|part| self.numbers(rule, part));
            }
        }
    }

    /// True for axes that are passed on, and unions and differences of lists: whatever the axes are, removing an axis
    /// from the lists removes it from the value.
    fn axes(&self, rule: &Rule, id: ExprId) -> bool {
        let ast = &rule.ast;
        match ast.kind(id) {
            ExprKind::Name(name) => [&self.lists, &self.single, &self.orders]
                .into_iter()
                .any(|names| has(names, name)),
            ExprKind::List(items) => {
                items.len() == 1
                    && items.iter().all(|&item| match ast.kind(item) {
                        ExprKind::Name(name) => has(&self.single, name),
                        ExprKind::Comprehension { .. } => self.filtered(rule, item),
                        _ => false,
                    })
            }
            ExprKind::Comprehension { .. } => self.filtered(rule, id),
            ExprKind::Call { callee, args, .. } => {
                callee.as_str() == "sorted" && matches!(args.as_slice(), [arg] if self.list(rule, *arg))
            }
            ExprKind::Binary {
                op: BinaryOp::Concat,
                lhs,
                rhs,
            } => self.list(rule, *lhs) && self.list(rule, *rhs),
            _ => false,
        }
    }

    /// True for lists of axes that are no orders.
    fn list(&self, rule: &Rule, id: ExprId) -> bool {
        !matches!(rule.ast.kind(id), ExprKind::Name(name) if !has(&self.lists, name)) && self.axes(rule, id)
    }

    /// `i for i in k if i in j` and `i for i in k if (i in j) == false`.
    fn filtered(&self, rule: &Rule, id: ExprId) -> bool {
        let ast = &rule.ast;
        let ExprKind::Comprehension { body, var, iter, cond } = ast.kind(id) else {
            return false;
        };
        let own = |id: ExprId| matches!(ast.kind(id), ExprKind::Name(name) if **name == *var.as_str());
        let member = |id: ExprId| {
            matches!(ast.kind(id), ExprKind::Binary { op: BinaryOp::In, lhs, rhs }
                if own(*lhs) && self.list(rule, *rhs))
        };
        let condition = |id: ExprId| match ast.kind(id) {
            ExprKind::Binary {
                op: BinaryOp::Eq,
                lhs,
                rhs,
            } => member(*lhs) && matches!(ast.kind(*rhs), ExprKind::Bool(_)),
            _ => member(id),
        };
        own(*body) && self.list(rule, *iter) && cond.is_none_or(condition)
    }
}
