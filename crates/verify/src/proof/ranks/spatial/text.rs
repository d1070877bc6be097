//! The statements of a rule about ranks and shapes, as far as they are the same for any number of spatial axes.

use std::cell::RefCell;
use std::sync::Arc;

use super::axes::{Axes, slides};
use crate::proof::scope::calls;
use tautomer_graph::term::Reads;
use tautomer_lang::ast::{BinaryOp, Each, ExprId, ExprKind};
use tautomer_op::AttrKind;
use tautomer_rule::{AttrPattern, PatternNode, Rule};

/// Why the axes of a value are not known.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum No {
    /// No match has such axes.
    Never,
    /// They are not looked at here.
    Unknown,
}

/// The meaning of a name.
#[derive(Debug, Clone)]
pub(super) enum Value {
    /// A tensor.
    One(Axes),
    /// Several tensors with these axes.
    Parts(Axes),
    /// A list with an entry for each axis.
    List(Axes),
}

/// The values of names; later ones hide earlier ones.
pub(super) type Names = Vec<(Arc<str>, Value)>;

pub(super) fn named<'n>(names: &'n Names, name: &str) -> Option<&'n Value> {
    names
        .iter()
        .rev()
        .find(|(own, _)| **own == *name)
        .map(|(_, value)| value)
}

fn axes_of(names: &Names, name: &str) -> Option<Axes> {
    match named(names, name)? {
        Value::One(axes) => Some(*axes),
        _ => None,
    }
}

/// The facts that conditions state about the dimensions along the spatial axes.
#[derive(Debug, Default)]
pub(super) struct Said {
    /// Values whose spatial dimensions are equal.
    pub(super) equal: Vec<(Arc<str>, Arc<str>)>,
    /// Variables whose dimensions are multiplied, so that their spatial ones have to be 1.
    pub(super) single: Vec<Arc<str>>,
}

/// A rule, with the names that its source binds.
pub(super) struct Text<'a> {
    pub(super) rule: &'a Rule,
    /// Names of single numbers.
    numbers: Vec<Arc<str>>,
    /// Names of lists with an entry for each spatial axis, or two, with the attribute.
    lists: Vec<(Arc<str>, &'static str)>,
    /// Variables that may have only some of the spatial axes.
    loose: Vec<Arc<str>>,
    said: RefCell<Said>,
}

impl<'a> Text<'a> {
    /// The text of a rule; `loose` are its variables of any rank.
    pub(super) fn of(rule: &'a Rule, loose: Vec<Arc<str>>) -> Option<Text<'a>> {
        let mut out = Text {
            rule,
            numbers: Vec::new(),
            lists: Vec::new(),
            loose,
            said: RefCell::default(),
        };
        for (_, node) in rule.source.nodes() {
            let PatternNode::Call { def, attrs, .. } = node else {
                continue;
            };
            for (declared, pattern) in def.attrs.iter().zip(attrs) {
                let AttrPattern::Bind(name) = pattern else { continue };
                match declared.kind {
                    AttrKind::Int | AttrKind::Float => out.numbers.push(name.clone()),
                    AttrKind::Ints if slides(def) => out.lists.push((name.clone(), declared.name)),
                    AttrKind::Bool | AttrKind::DType | AttrKind::OneOf(_) => {}
                    _ => return None,
                }
            }
        }
        Some(out)
    }

    pub(super) fn is_number(&self, name: &str) -> bool {
        self.numbers.iter().any(|own| **own == *name)
    }

    fn is_loose(&self, name: &str) -> bool {
        self.loose.iter().any(|own| **own == *name)
    }

    /// True if an expression asks about ranks, axes or sizes.
    pub(super) fn asks(&self, id: ExprId) -> bool {
        let ast = &self.rule.ast;
        let own = |n: &str| matches!(n, "rank" | "shape" | "size") || self.lists.iter().any(|(name, _)| **name == *n);
        ast.mentions(id, &own)
            || calls(ast, id, &|f| {
                f.reads == Reads::Ranks || matches!(f.name, "range" | "len")
            })
    }

    /// True if a list is the one that the source has for an attribute of the same name, or has no entries for spatial
    /// axes.
    pub(super) fn hands_on(&self, id: ExprId, attr: &str, names: &Names) -> bool {
        match self.rule.ast.kind(id) {
            ExprKind::Name(name) => self.lists.iter().any(|(own, of)| own == name && *of == attr),
            _ => attr == "sizes" && self.list(id, names).is_ok_and(|list| !list.spatial),
        }
    }

    /// The facts that the conditions state; an error if one is not the same for any number of spatial axes.
    pub(super) fn conditions(&self, names: &Names) -> Result<Said, No> {
        self.said.replace(Said::default());
        for &condition in &self.rule.conditions {
            self.condition(condition, names)?;
        }
        Ok(self.said.take())
    }

    fn condition(&self, id: ExprId, names: &Names) -> Result<(), No> {
        if !self.asks(id) {
            return Ok(());
        }
        let ast = &self.rule.ast;
        match ast.kind(id) {
            ExprKind::Binary {
                op: BinaryOp::And,
                lhs,
                rhs,
            } => {
                self.condition(*lhs, names)?;
                self.condition(*rhs, names)
            }
            ExprKind::Call { callee, args, .. } => match (callee.as_str(), args.as_slice()) {
                ("broadcasts", [a, b]) => {
                    let is_tensor =
                        |id: ExprId| matches!(ast.kind(id), ExprKind::Name(n) if axes_of(names, n).is_some());
                    (is_tensor(*a) && is_tensor(*b)).then_some(()).ok_or(No::Unknown)
                }
                ("all", [of]) => self.of_each(*of, names),
                _ => Err(No::Unknown),
            },
            ExprKind::Binary { op, lhs, rhs } => self.comparison(*op, *lhs, *rhs, names),
            _ => Err(No::Unknown),
        }
    }

    /// A comparison of each entry of a list with a number.
    fn of_each(&self, id: ExprId, names: &Names) -> Result<(), No> {
        use BinaryOp::{Eq, Ge, Gt, Le, Lt};
        let ast = &self.rule.ast;
        let Each { body, var, iter } = ast.each(id).ok_or(No::Unknown)?;
        let ExprKind::Binary {
            op: Eq | Ge | Gt | Le | Lt,
            lhs,
            rhs,
        } = ast.kind(body)
        else {
            return Err(No::Unknown);
        };
        let own = matches!(ast.kind(*lhs), ExprKind::Name(name) if **name == *var);
        let number = matches!(ast.kind(*rhs), ExprKind::Int { .. });
        let is_list = match ast.kind(iter) {
            ExprKind::Name(name) => self.lists.iter().any(|(list, _)| list == name),
            _ => self.list(iter, names).is_ok(),
        };
        (own && number && is_list).then_some(()).ok_or(No::Unknown)
    }

    fn comparison(&self, op: BinaryOp, lhs: ExprId, rhs: ExprId, names: &Names) -> Result<(), No> {
        if let (Some((a, n)), Some((b, m))) = (self.from(lhs), self.from(rhs)) {
            if op != BinaryOp::Eq || n != m || n > 2 {
                return Err(No::Unknown);
            }
            return self.equal(a, b, names);
        }
        if let (Some(a), Some((b, c))) = (self.field(lhs, "rank"), self.rank(rhs)) {
            return self.ranks(op, a, (b, c), names);
        }
        if let (Some(a), ExprKind::Int { .. }) = (self.field(lhs, "rank"), self.rule.ast.kind(rhs)) {
            let plain = axes_of(names, a).is_some_and(|axes| !axes.spatial) && !self.is_loose(a);
            return plain.then_some(()).ok_or(No::Unknown);
        }
        if op == BinaryOp::Eq {
            if let Some(a) = self.field(lhs, "size").filter(|a| self.is_loose(a)) {
                self.said.borrow_mut().single.push(a.into());
                return self.number(rhs, names);
            }
            if let Some((a, 0)) = self.from(lhs)
                && let Ok(list) = self.list(rhs, names)
            {
                // A list of a fixed length may be the shape of some of the spatial axes.
                if self.is_loose(a) && !list.spatial {
                    return Err(No::Unknown);
                }
                if list.spatial {
                    // With another number of axes, the shapes differ.
                    if self.is_loose(a) && axes_of(names, a) != Some(list) {
                        return Err(No::Never);
                    }
                    self.said.borrow_mut().single.push(a.into());
                }
                return Ok(());
            }
        }
        self.number(lhs, names)?;
        self.number(rhs, names)
    }

    /// Two values have equal dimensions along the spatial axes.
    fn equal(&self, a: &str, b: &str, names: &Names) -> Result<(), No> {
        let (x, y) = (
            axes_of(names, a).ok_or(No::Unknown)?,
            axes_of(names, b).ok_or(No::Unknown)?,
        );
        if x.spatial && y.spatial {
            self.said.borrow_mut().equal.push((a.into(), b.into()));
            return Ok(());
        }
        // With fewer axes, the shapes differ.
        let fewer = |name: &str, axes: Axes| axes.spatial || self.is_loose(name);
        let known = x.spatial == y.spatial || fewer(a, x) && fewer(b, y);
        known.then_some(()).ok_or(No::Unknown)
    }

    /// `a.rank op b.rank + c`: the same for all numbers of spatial axes, also if `a` has only some of them.
    fn ranks(&self, op: BinaryOp, a: &str, (b, c): (&str, i64), names: &Names) -> Result<(), No> {
        use BinaryOp::{Eq, Ge, Gt, Le, Lt, Ne};
        let (x, y) = (
            axes_of(names, a).ok_or(No::Unknown)?,
            axes_of(names, b).ok_or(No::Unknown)?,
        );
        if self.is_loose(b) && !self.is_loose(a) || self.is_loose(b) && a != b {
            return Err(No::Unknown);
        }
        if !self.is_loose(a) {
            return (x.spatial == y.spatial).then_some(()).ok_or(No::Unknown);
        }
        // Of `n` spatial axes, `a` may have none to all: its rank is at most `n`, that of `b` is `n` and this.
        let more = y.first as i64 + c;
        let alike = match op {
            Ge | Lt | Eq | Ne => more >= 1,
            Gt | Le => more >= 0,
            _ => false,
        };
        (y.spatial && alike).then_some(()).ok_or(No::Unknown)
    }

    /// A number that does not depend on the spatial axes.
    pub(super) fn number(&self, id: ExprId, names: &Names) -> Result<(), No> {
        let ast = &self.rule.ast;
        let known = |is: bool| is.then_some(()).ok_or(No::Unknown);
        match ast.kind(id) {
            ExprKind::Int { .. } => Ok(()),
            ExprKind::Name(name) => known(named(names, name).is_none() && self.is_number(name)),
            ExprKind::Binary {
                op: BinaryOp::Add | BinaryOp::Sub | BinaryOp::Mul | BinaryOp::Div | BinaryOp::Rem,
                lhs,
                rhs,
            } => {
                self.number(*lhs, names)?;
                self.number(*rhs, names)
            }
            ExprKind::Field { base, name } if name.as_str() == "size" => match ast.kind(*base) {
                ExprKind::Name(x) => known(!self.is_loose(x) && axes_of(names, x).is_some_and(|axes| !axes.spatial)),
                _ => Err(No::Unknown),
            },
            ExprKind::Index { base, index } => {
                let name = self.field(*base, "shape").ok_or(No::Unknown)?;
                let axes = axes_of(names, name).ok_or(No::Unknown)?;
                if let ExprKind::Int { value, .. } = ast.kind(*index) {
                    let first = usize::try_from(*value).is_ok_and(|i| i < axes.first);
                    return known(first && !self.is_loose(name) || *value < 0 && !axes.spatial && !self.is_loose(name));
                }
                // The axis of a loose variable that stands before the spatial ones: a condition says that there is one.
                let (other, c) = self.place(*index, name).ok_or(No::Unknown)?;
                let image = axes_of(names, other) == Some(Axes::IMAGE);
                known(image && (0..=1).contains(&c) && self.has_rank(name, other, c))
            }
            _ => Err(No::Unknown),
        }
    }

    /// `b` and `c` in `a.rank - b.rank + c`.
    fn place(&self, id: ExprId, a: &str) -> Option<(&str, i64)> {
        let ast = &self.rule.ast;
        let (difference, c) = match ast.kind(id) {
            ExprKind::Binary {
                op: BinaryOp::Add,
                lhs,
                rhs,
            } => (*lhs, self.int(*rhs)?),
            _ => (id, 0),
        };
        let ExprKind::Binary {
            op: BinaryOp::Sub,
            lhs,
            rhs,
        } = ast.kind(difference)
        else {
            return None;
        };
        (self.field(*lhs, "rank")? == a).then_some(())?;
        Some((self.field(*rhs, "rank")?, c))
    }

    /// True if a condition says `a.rank >= b.rank - k`, with `k` at most `c`.
    fn has_rank(&self, a: &str, b: &str, c: i64) -> bool {
        self.rule
            .conditions
            .iter()
            .any(|&condition| match self.rule.ast.kind(condition) {
                ExprKind::Binary {
                    op: BinaryOp::Ge,
                    lhs,
                    rhs,
                } => self.field(*lhs, "rank") == Some(a) && self.rank(*rhs).is_some_and(|(own, k)| own == b && -k <= c),
                _ => false,
            })
    }

    fn int(&self, id: ExprId) -> Option<i64> {
        match self.rule.ast.kind(id) {
            ExprKind::Int { value, .. } => i64::try_from(*value).ok(),
            _ => None,
        }
    }

    /// An integer, or a list of them.
    pub(super) fn integers(&self, id: ExprId) -> Option<Vec<i64>> {
        match self.rule.ast.kind(id) {
            ExprKind::List(items) => items.iter().map(|&item| self.int(item)).collect(),
            _ => Some(vec![self.int(id)?]),
        }
    }

    /// `b` and `c` in `b.rank + c`.
    fn rank(&self, id: ExprId) -> Option<(&str, i64)> {
        match self.rule.ast.kind(id) {
            ExprKind::Binary {
                op: BinaryOp::Add,
                lhs,
                rhs,
            } => Some((self.field(*lhs, "rank")?, self.int(*rhs)?)),
            ExprKind::Binary {
                op: BinaryOp::Sub,
                lhs,
                rhs,
            } => Some((self.field(*lhs, "rank")?, -self.int(*rhs)?)),
            _ => Some((self.field(id, "rank")?, 0)),
        }
    }

    /// The name of which an expression is this field.
    pub(super) fn field(&self, id: ExprId, wanted: &str) -> Option<&str> {
        match self.rule.ast.kind(id) {
            ExprKind::Field { base, name } if name.as_str() == wanted => match self.rule.ast.kind(*base) {
                ExprKind::Name(x) => Some(x),
                _ => None,
            },
            _ => None,
        }
    }

    /// The name and the first axis in `x.shape` and `x.shape[k..]`.
    fn from(&self, id: ExprId) -> Option<(&str, usize)> {
        match self.rule.ast.kind(id) {
            ExprKind::Slice {
                base,
                start: Some(start),
                end: None,
            } => Some((self.field(*base, "shape")?, usize::try_from(self.int(*start)?).ok()?)),
            _ => Some((self.field(id, "shape")?, 0)),
        }
    }

    /// The axes for which a list has entries.
    pub(super) fn list(&self, id: ExprId, names: &Names) -> Result<Axes, No> {
        let ast = &self.rule.ast;
        let shape = |id: ExprId| {
            let name = self.field(id, "shape").filter(|name| !self.is_loose(name));
            name.and_then(|name| axes_of(names, name)).ok_or(No::Unknown)
        };
        match ast.kind(id) {
            ExprKind::Name(name) => match named(names, name) {
                Some(Value::List(axes)) => Ok(*axes),
                _ => Err(No::Unknown),
            },
            ExprKind::List(items) => match items.as_slice() {
                [item] if matches!(ast.kind(*item), ExprKind::Comprehension { .. }) => self.list(*item, names),
                _ => {
                    items.iter().try_for_each(|&item| self.number(item, names))?;
                    Ok(Axes::plain(items.len()))
                }
            },
            ExprKind::Comprehension {
                body, iter, cond: None, ..
            } => {
                if self.int(*body).is_none() {
                    return Err(No::Unknown);
                }
                let (k, axes) = self.range(*iter, names).ok_or(No::Unknown)?;
                Ok(Axes {
                    first: axes.first - k,
                    ..axes
                })
            }
            ExprKind::Field { .. } => shape(id),
            ExprKind::Slice { base, start, end } => {
                let axes = shape(*base)?;
                let place = |id: ExprId| {
                    let n = self.int(id).and_then(|n| usize::try_from(n).ok());
                    n.filter(|n| *n <= axes.first).ok_or(No::Unknown)
                };
                match (start, end) {
                    (None, Some(end)) => Ok(Axes::plain(place(*end)?)),
                    (Some(start), None) => Ok(Axes {
                        first: axes.first - place(*start)?,
                        ..axes
                    }),
                    _ => Err(No::Unknown),
                }
            }
            ExprKind::Binary {
                op: BinaryOp::Concat,
                lhs,
                rhs,
            } => {
                let (a, b) = (self.list(*lhs, names)?, self.list(*rhs, names)?);
                // The spatial axes are the last.
                (!a.spatial || b == Axes::plain(0)).then_some(()).ok_or(No::Unknown)?;
                Ok(Axes {
                    first: a.first + b.first,
                    spatial: a.spatial || b.spatial,
                })
            }
            _ => Err(No::Unknown),
        }
    }

    /// `k` and the axes of `w` in `range(k, w.rank)`.
    fn range(&self, id: ExprId, names: &Names) -> Option<(usize, Axes)> {
        let (from, to) = match self.rule.ast.kind(id) {
            ExprKind::Call { callee, args, .. } if callee.as_str() == "range" => match args.as_slice() {
                [from, to] => (*from, *to),
                _ => return None,
            },
            ExprKind::Range {
                start: Some(from),
                end: Some(to),
            } => (*from, *to),
            _ => return None,
        };
        let k = usize::try_from(self.int(from)?).ok()?;
        let name = self.field(to, "rank").filter(|name| !self.is_loose(name))?;
        let axes = axes_of(names, name)?;
        (k <= axes.first).then_some((k, axes))
    }

    /// The first axis of a list of all axes of `x` from there on.
    pub(super) fn all_from(&self, id: ExprId, x: Axes, names: &Names) -> Option<usize> {
        let (k, axes) = self.range(id, names)?;
        (axes == x).then_some(k)
    }
}
