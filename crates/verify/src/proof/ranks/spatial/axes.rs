//! The axes of all values of both sides, with the spatial ones taken together.

use std::sync::Arc;

use super::text::{Names, No, Text, Value};
use tautomer_lang::ast::{Attrs, BinaryOp, Block, ExprId, ExprKind, LetNames, UnaryOp};
use tautomer_op::{AttrDef, AttrKind, AttrValue, AxesRule, Fold, Formula, OpDef, Products, ShapeRule, Total};
use tautomer_rule::{AttrPattern, Item, PatternNode, ProjIndex};

/// The axes of a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Axes {
    /// The number of axes before the spatial ones, or of all axes if there are none.
    pub(super) first: usize,
    /// The spatial ones are the last.
    pub(super) spatial: bool,
}

impl Axes {
    /// An image or a kernel.
    pub(super) const IMAGE: Axes = Axes {
        first: 2,
        spatial: true,
    };

    /// The axes of a value without spatial axes.
    pub(super) fn plain(first: usize) -> Axes {
        Axes { first, spatial: false }
    }

    /// The rank where there is one spatial axis.
    pub(super) fn rank(self) -> usize {
        self.first + usize::from(self.spatial)
    }
}

/// True for operators along windows of the axes after the first two.
pub(super) fn slides(def: &OpDef) -> bool {
    use Products::{Convolution, TransposedConvolution};
    matches!(
        def.law(),
        Formula::Window(_) | Formula::Product(Convolution | TransposedConvolution)
    )
}

/// True for attributes with an entry for each axis, and those about which nothing is known.
fn is_list(declared: &AttrDef) -> bool {
    use AttrKind::{Axes, Axis, Bool, DType, Float, Int, OneOf};
    !matches!(declared.kind, Axis(_) | Axes(_) | Bool | DType | Float | Int | OneOf(_))
}

/// An attribute of a call.
enum Given<'a> {
    /// The default, or whatever the source has.
    Same,
    Value(&'a AttrValue),
    Text(ExprId),
}

/// A call, in the source or in the target.
struct Call<'a> {
    def: &'static OpDef,
    operands: Vec<Axes>,
    attr: &'a dyn Fn(&AttrDef) -> Given<'a>,
}

impl Text<'_> {
    /// The values of the vertices of the source, by their numbers, and of its outputs; the variables have these axes.
    pub(super) fn source(&self, variables: &[Axes]) -> Result<(Names, Vec<Axes>), No> {
        let rule = self.rule;
        let mut names: Names = Vec::new();
        for (variable, axes) in rule.variables.iter().zip(variables) {
            names.push((variable.name.clone(), Value::One(*axes)));
        }
        let mut all: Vec<Option<Value>> = Vec::new();
        let one = |all: &[Option<Value>], item: &Item| match item {
            Item::One(id) => all.get(id.0 as usize).cloned().ok_or(No::Unknown),
            Item::Each(..) => Err(No::Unknown),
        };
        for (_, node) in rule.source.nodes() {
            let value = match node {
                PatternNode::Variable(i) => Some(Value::One(*variables.get(*i).ok_or(No::Unknown)?)),
                PatternNode::Absent => None,
                PatternNode::Call { def, operands, attrs } => {
                    let operands = operands.iter().map(|o| one(&all, o)).collect::<Result<Vec<_>, _>>()?;
                    let attr = |declared: &AttrDef| match def.attr_index(declared.name).and_then(|i| attrs.get(i)) {
                        Some(AttrPattern::Value(value)) => Given::Value(value),
                        Some(AttrPattern::Computed(id)) => Given::Text(*id),
                        _ => Given::Same,
                    };
                    let is_open = |p: &AttrPattern| matches!(p, AttrPattern::List(_) | AttrPattern::BindEach(_));
                    if attrs.iter().any(is_open) {
                        return Err(No::Unknown);
                    }
                    Some(self.call(def, operands, &attr, &names)?)
                }
                PatternNode::CallOf { variable, operands, .. } => {
                    let choices = &rule.operators.get(*variable).ok_or(No::Unknown)?.choices;
                    if choices.iter().any(|def| def.axes_rule() != AxesRule::Broadcast) {
                        return Err(No::Unknown);
                    }
                    let operands = operands.iter().map(|o| one(&all, o)).collect::<Result<Vec<_>, _>>()?;
                    Some(Value::One(broadcast(&tensors(operands)?)?))
                }
                PatternNode::Proj(base, ProjIndex::At(_)) => match all.get(base.0 as usize) {
                    Some(Some(Value::Parts(axes))) => Some(Value::One(*axes)),
                    _ => return Err(No::Unknown),
                },
                _ => return Err(No::Unknown),
            };
            all.push(value);
        }
        for (name, id) in &rule.source.named {
            if let Some(Some(value)) = all.get(id.0 as usize) {
                names.push((name.clone(), value.clone()));
            }
        }
        let outputs = rule
            .source
            .outputs
            .iter()
            .map(|o| one(&all, o))
            .collect::<Result<Vec<_>, _>>()?;
        Ok((names, tensors(outputs)?))
    }

    /// The axes of the outputs of the target.
    pub(super) fn target(&self, mut names: Names) -> Result<Vec<Axes>, No> {
        let target = &self.rule.target;
        let outputs = match self.rule.ast.kind(target.result) {
            ExprKind::Tuple(items) => items.clone(),
            _ => vec![target.result],
        };
        self.definitions(target, &mut names)?;
        outputs.into_iter().map(|id| self.tensor(id, &names)).collect()
    }

    fn definitions(&self, block: &Block, names: &mut Names) -> Result<(), No> {
        for definition in &block.lets {
            let value = match self.list(definition.value, names) {
                Ok(list) => Value::List(list),
                Err(_) => self.value(definition.value, names)?,
            };
            match (&definition.names, value) {
                (LetNames::One(name), value) => names.push((Arc::from(name.as_str()), value)),
                (LetNames::Tuple(all), Value::Parts(axes)) => {
                    names.extend(all.iter().map(|name| (Arc::from(name.as_str()), Value::One(axes))));
                }
                _ => return Err(No::Unknown),
            }
        }
        Ok(())
    }

    fn tensor(&self, id: ExprId, names: &Names) -> Result<Axes, No> {
        match self.value(id, names)? {
            Value::One(axes) => Ok(axes),
            _ => Err(No::Unknown),
        }
    }

    /// An expression of the target.
    fn value(&self, id: ExprId, names: &Names) -> Result<Value, No> {
        let ast = &self.rule.ast;
        match ast.kind(id) {
            ExprKind::Int { .. } | ExprKind::Float { .. } => Ok(Value::One(Axes::plain(0))),
            ExprKind::Name(name) => match super::text::named(names, name) {
                Some(value) => Ok(value.clone()),
                None if self.is_number(name) => Ok(Value::One(Axes::plain(0))),
                None => Err(No::Unknown),
            },
            ExprKind::Unary {
                op: UnaryOp::Neg,
                operand,
            } => self.value(*operand, names),
            ExprKind::Binary {
                op: BinaryOp::Add | BinaryOp::Sub | BinaryOp::Mul | BinaryOp::Div,
                lhs,
                rhs,
            } => {
                let both = [self.tensor(*lhs, names)?, self.tensor(*rhs, names)?];
                Ok(Value::One(broadcast(&both)?))
            }
            ExprKind::Project { base, .. } => self.part(*base, names),
            ExprKind::Field { base, name } if name.as_str().bytes().all(|b| b.is_ascii_digit()) => {
                self.part(*base, names)
            }
            ExprKind::Call {
                callee, args, attrs, ..
            } => {
                let def = tautomer_op::lookup(callee.as_str()).ok_or(No::Unknown)?;
                if self.rule.scope.declared(callee.as_str()).is_some() {
                    return Err(No::Unknown);
                }
                let operands = args.iter().map(|&arg| self.value(arg, names).map(Some));
                let operands = operands.collect::<Result<Vec<_>, _>>()?;
                let attrs: Option<&Attrs> = attrs.as_deref();
                let attr = |declared: &AttrDef| {
                    let mut entries = attrs.iter().flat_map(|a| &a.entries);
                    match entries.find(|entry| entry.name.as_str() == declared.name) {
                        Some(entry) => Given::Text(entry.value),
                        None => Given::Same,
                    }
                };
                self.call(def, operands, &attr, names)
            }
            _ => Err(No::Unknown),
        }
    }

    fn part(&self, base: ExprId, names: &Names) -> Result<Value, No> {
        match self.value(base, names)? {
            Value::Parts(axes) => Ok(Value::One(axes)),
            _ => Err(No::Unknown),
        }
    }

    fn call<'a>(
        &'a self,
        def: &'static OpDef,
        operands: Vec<Option<Value>>,
        attr: &'a dyn Fn(&AttrDef) -> Given<'a>,
        names: &Names,
    ) -> Result<Value, No> {
        // Every attribute but those that are read below has to be the same for any number of axes.
        let read = |declared: &AttrDef| {
            matches!(declared.kind, AttrKind::Axis(_) | AttrKind::Axes(_)) || declared.name == "shape"
        };
        for declared in def.attrs.iter().filter(|d| !read(d)) {
            match attr(declared) {
                Given::Same => {}
                Given::Value(AttrValue::None) => {}
                Given::Value(_) if !is_list(declared) => {}
                Given::Text(id) if is_list(declared) => {
                    if !slides(def) && def.shapes != ShapeRule::Split || !self.hands_on(id, declared.name, names) {
                        return Err(No::Unknown);
                    }
                }
                Given::Text(id) if !self.asks(id) => {}
                Given::Text(id) => self.number(id, names)?,
                Given::Value(_) => return Err(No::Unknown),
            }
        }
        let given: Vec<Option<Value>> = operands.into_iter().filter(Option::is_some).collect();
        let operands = tensors(given)?;
        let call = Call { def, operands, attr };
        self.axes_of(&call, names)
    }

    fn axes_of(&self, call: &Call<'_>, names: &Names) -> Result<Value, No> {
        let (def, all) = (call.def, call.operands.as_slice());
        let first = *all.first().ok_or(No::Unknown)?;
        let out = match (def.law(), def.axes_rule(), def.shapes) {
            _ if slides(def) => {
                let images = if matches!(def.law(), Formula::Window(_)) { 1 } else { 2 };
                let (images, others) = all.split_at(images.min(all.len()));
                if let Some(wrong) = images.iter().find(|axes| **axes != Axes::IMAGE) {
                    // Below the rank of an image with one spatial axis, there is none with more.
                    let never = wrong.spatial || wrong.first <= Axes::IMAGE.first;
                    return Err(if never { No::Never } else { No::Unknown });
                }
                if others.iter().any(|axes| *axes != Axes::plain(1)) {
                    return Err(No::Unknown);
                }
                Axes::IMAGE
            }
            (_, AxesRule::Channels, _) if first.first >= 2 && all[1..].iter().all(|a| *a == Axes::plain(1)) => first,
            (_, AxesRule::Broadcast, _) => broadcast(all)?,
            (_, _, ShapeRule::Concat | ShapeRule::Split) => {
                if all.iter().any(|axes| *axes != first) {
                    return Err(if all.iter().all(|a| a.spatial) {
                        No::Never
                    } else {
                        No::Unknown
                    });
                }
                self.first_axes(call, "axis", first)?;
                if def.shapes == ShapeRule::Split {
                    return Ok(Value::Parts(first));
                }
                first
            }
            (_, _, ShapeRule::Reshape | ShapeRule::Expand) => match self.attr(call, "shape") {
                Given::Text(id) if def.shapes == ShapeRule::Reshape => self.list(id, names)?,
                Given::Text(id) => broadcast(&[first, self.list(id, names)?])?,
                _ => return Err(No::Unknown),
            },
            (_, AxesRule::Inserted, _) => {
                let n = self.first_axes(
                    call,
                    "axes",
                    Axes {
                        first: first.first + 1,
                        ..first
                    },
                )?;
                Axes {
                    first: first.first + n,
                    ..first
                }
            }
            (Formula::Reduction(reduction), AxesRule::Reduced, _) => {
                let combined = matches!(reduction.fold, Fold::Sum | Fold::Max | Fold::Min);
                if !combined || reduction.total != Total::Itself {
                    return Err(No::Unknown);
                }
                self.reduced(call, first, names)?
            }
            (Formula::Product(Products::Matrices), _, _) if all.iter().all(|a| !a.spatial && a.first > 0) => {
                let [a, b] = all else { return Err(No::Unknown) };
                let batch = a.first.max(b.first).saturating_sub(2);
                Axes::plain(batch + usize::from(a.first > 1) + usize::from(b.first > 1))
            }
            _ => return Err(No::Unknown),
        };
        Ok(Value::One(out))
    }

    fn attr<'a>(&self, call: &Call<'a>, name: &str) -> Given<'a> {
        match call.def.attr_index(name) {
            Some(i) => (call.attr)(&call.def.attrs[i]),
            None => Given::Same,
        }
    }

    /// The number of axes that an attribute names, all of which are before the spatial ones.
    fn first_axes(&self, call: &Call<'_>, name: &str, axes: Axes) -> Result<usize, No> {
        let list: Vec<i64> = match self.attr(call, name) {
            Given::Value(AttrValue::Int(d)) => d.as_const().into_iter().collect(),
            Given::Value(AttrValue::Ints(all)) => all.iter().filter_map(|d| d.as_const()).collect(),
            Given::Text(id) => self.integers(id).ok_or(No::Unknown)?,
            _ => return Err(No::Unknown),
        };
        let is_first = |n: &i64| usize::try_from(*n).is_ok_and(|n| n < axes.first);
        (!list.is_empty() && list.iter().all(is_first))
            .then_some(list.len())
            .ok_or(No::Unknown)
    }

    /// The axes of the result of a reduction of the first axes, or of all from one on.
    fn reduced(&self, call: &Call<'_>, x: Axes, names: &Names) -> Result<Axes, No> {
        let keeps = match self.attr(call, "keepdims") {
            Given::Value(AttrValue::Bool(keeps)) => *keeps,
            Given::Text(id) => match self.rule.ast.kind(id) {
                ExprKind::Bool(keeps) => *keeps,
                _ => return Err(No::Unknown),
            },
            _ => return Err(No::Unknown),
        };
        if let Given::Text(id) = self.attr(call, "axes")
            && let Some(from) = self.all_from(id, x, names)
        {
            return Ok(if keeps { x } else { Axes::plain(from) });
        }
        let n = self.first_axes(call, "axes", x)?;
        Ok(if keeps {
            x
        } else {
            Axes {
                first: x.first - n,
                ..x
            }
        })
    }
}

fn tensors(values: Vec<Option<Value>>) -> Result<Vec<Axes>, No> {
    let one = |value| match value {
        Some(Value::One(axes)) => Ok(axes),
        _ => Err(No::Unknown),
    };
    values.into_iter().map(one).collect()
}

/// The axes of a function of elements at one position.
fn broadcast(all: &[Axes]) -> Result<Axes, No> {
    let spatial = all.iter().any(|axes| axes.spatial);
    // Other axes would be some of the spatial ones.
    if spatial && all.iter().any(|axes| !axes.spatial && axes.first > 0) {
        return Err(No::Unknown);
    }
    let first = all.iter().map(|axes| axes.first).max().ok_or(No::Unknown)?;
    Ok(Axes { first, spatial })
}
