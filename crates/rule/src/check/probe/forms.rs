//! Attributes of a source in a form that no call in a graph has.

use super::build::Attempt;
use super::choices::Choices;
use super::{Mode, ROUNDS, options};
use crate::{AttrPattern, Item, ListItem, PatternNode, Rule};
use tautomer_graph::{Graph, Node, VertexId};
use tautomer_op::{AttrDef, AttrKind, AttrValue, AxisOf, Op, OpDef};
use tautomer_tensor::{DType, Dim, Shape, TensorType, Type};

/// The number of calls to try.
const FOUND: usize = 4;

/// The number of attempts to find them.
const ATTEMPTS: usize = 600;

/// An attribute that a source requires, and the attributes that calls have instead.
#[derive(Debug, Clone, PartialEq)]
pub(in crate::check) struct Rewritten {
    /// The operator.
    pub(in crate::check) op: &'static str,
    /// The attribute.
    pub(in crate::check) attr: &'static str,
    /// The attribute in the source.
    pub(in crate::check) written: String,
    /// All attributes that differ in the call: their names and values there.
    pub(in crate::check) actual: Vec<(&'static str, AttrValue)>,
    /// The types of the operands.
    pub(in crate::check) operands: Vec<String>,
    /// The form to write instead.
    pub(in crate::check) instead: Instead,
}

/// What a source should have instead of an attribute that no call has.
#[derive(Debug, Clone, PartialEq)]
pub(in crate::check) enum Instead {
    /// The attribute is left out, and those that it determines are bound.
    LeaveOut(Vec<&'static str>),
    /// The attribute is a list of this form, or has another value, and a condition states the rest.
    Bind(String),
    /// The attribute has this value in every call.
    Write(AttrValue),
}

/// An attribute with a value that the source requires.
pub(super) struct Fixed<'a> {
    pub(super) attr: usize,
    pub(super) value: AttrValue,
    /// The elements that the source requires, if it does not require all of them.
    pub(super) items: Option<&'a [ListItem]>,
}

impl Fixed<'_> {
    /// True if the call has the value that the source requires.
    fn stands(&self, def: &'static OpDef, rank: Option<usize>, actual: &AttrValue) -> bool {
        let value = resolved(&def.attrs[self.attr], &self.value, rank);
        let Some(items) = self.items else {
            return value.equals(actual);
        };
        let (AttrValue::Ints(value), AttrValue::Ints(actual)) = (&value, actual) else {
            return false;
        };
        let same = |((item, v), a): ((&ListItem, &Dim), &Dim)| !matches!(item, ListItem::Int(_)) || v == a;
        value.len() == actual.len() && items.iter().zip(value).zip(actual).all(same)
    }

    fn text(&self) -> String {
        let Some(items) = self.items else {
            return self.value.to_string();
        };
        let item = |item: &ListItem| match item {
            ListItem::Int(v) => v.to_string(),
            ListItem::Bind(name) => name.to_string(),
            ListItem::Any => "_".to_owned(),
        };
        let items: Vec<String> = items.iter().map(item).collect();
        format!("[{}]", items.join(", "))
    }

    /// The list with names for the elements that the call has in another form.
    fn named(&self, name: &str, actual: &AttrValue) -> String {
        let (AttrValue::Ints(value), AttrValue::Ints(actual)) = (&self.value, actual) else {
            return format!("{name} = v");
        };
        if value.len() != actual.len() {
            return format!("{name} = v");
        }
        let mut names = ('a'..='z').map(String::from).filter(|letter| {
            let is = |item: &ListItem| matches!(item, ListItem::Bind(n) if **n == **letter);
            !self.items.is_some_and(|items| items.iter().any(is))
        });
        let items: Vec<String> = (0..value.len())
            .map(|i| match self.items.map(|items| &items[i]) {
                Some(ListItem::Bind(bound)) => bound.to_string(),
                Some(ListItem::Any) => "_".to_owned(),
                _ if value[i] == actual[i] => value[i].to_string(),
                _ => names.next().unwrap_or_else(|| "_".to_owned()),
            })
            .collect();
        format!("{name} = [{}]", items.join(", "))
    }
}

/// The first attribute of the source that no tried call has as written; the calls have operands of known shapes.
pub(in crate::check) fn rewritten(rule: &Rule) -> Option<Rewritten> {
    let fixed = |node: &PatternNode| match node {
        PatternNode::Call { def, attrs, .. } => def.canonical.is_some() && attrs.iter().any(is_fixed),
        _ => false,
    };
    if !rule.source.nodes().any(|(_, node)| fixed(node)) {
        return None;
    }
    let mut left: Option<Vec<Rewritten>> = None;
    let (mut found, mut attempts) = (0, ATTEMPTS);
    for round in 0..ROUNDS {
        let mut choices = Choices::new(round);
        while found < FOUND && attempts > 0 {
            attempts -= 1;
            match Attempt::new(rule, Mode::Shapes, &mut choices).run() {
                Ok(instance) => {
                    found += 1;
                    left = Some(common(left, instance.rewritten));
                    break;
                }
                Err(failure) if !choices.go_back(failure.blame, failure.wider) => break,
                Err(_) => {}
            }
        }
        if left.as_ref().is_some_and(Vec::is_empty) {
            return None;
        }
    }
    if left.is_some() {
        return left?.into_iter().next();
    }
    // The whole source was found for no operands; a call alone may still show it.
    rule.source.nodes().find_map(|(_, node)| match node {
        PatternNode::Call { def, operands, attrs } if fixed(node) => alone(rule, def, operands, attrs),
        _ => None,
    })
}

/// Those that are among the new ones too.
fn common(before: Option<Vec<Rewritten>>, own: Vec<Rewritten>) -> Vec<Rewritten> {
    let Some(before) = before else { return own };
    let again = |mut r: Rewritten| {
        let same = own.iter().find(|o| (o.op, o.attr) == (r.op, r.attr))?;
        // What only some calls have is not the form to write.
        if let (Instead::Write(a), Instead::Write(b)) = (&r.instead, &same.instead)
            && a != b
        {
            r.instead = Instead::Bind(format!("{} = v", r.attr));
        }
        Some(r)
    };
    before.into_iter().filter_map(again).collect()
}

/// The first attribute of a call that it has as written for no operands that were tried.
fn alone(rule: &Rule, def: &'static OpDef, operands: &[Item], attrs: &[AttrPattern]) -> Option<Rewritten> {
    let mut present = Vec::new();
    for item in operands {
        let Item::One(id) = item else { return None };
        present.push(!matches!(rule.source.node(*id), PatternNode::Absent));
    }
    let extents: Vec<i64> = vec![4, 2, 1, 3];
    let first = shapes(&extents, 4);
    let others = match present.iter().filter(|p| **p).count() {
        1 => Vec::new(),
        2 => shapes(&extents[..2], 4),
        _ => return None,
    };
    let mut left: Option<Vec<Rewritten>> = None;
    let mut graph = Graph::new();
    for fill in 0..4 {
        let (given, fixed) = chosen(def, attrs, fill)?;
        for shape in &first {
            for other in others.iter().chain(others.is_empty().then_some(shape)) {
                let mut own = [shape, other].into_iter();
                let mut operand = |is: &bool| match own.next().filter(|_| *is) {
                    Some(shape) => graph.input("_", Type::Tensor(TensorType::new(DType::F32, shape.clone()))),
                    None => graph.absent(),
                };
                let values: Vec<VertexId> = present.iter().map(&mut operand).collect();
                let Ok(vertex) = graph.call(Op::Known(def), &values, &given) else {
                    continue;
                };
                let Node::Call { attrs: actual, .. } = graph.vertex(vertex).node.clone() else {
                    continue;
                };
                let own = difference(&mut graph, def, &values, &given, &fixed, &actual);
                left = Some(common(left, own.into_iter().collect()));
                if left.as_ref().is_some_and(Vec::is_empty) {
                    return None;
                }
            }
        }
    }
    left?.into_iter().next()
}

/// All shapes of at most that rank with these dimensions.
fn shapes(extents: &[i64], rank: u32) -> Vec<Shape> {
    let of = |r: u32| {
        (0..extents.len().pow(r)).map(move |n| {
            let digit = |axis: u32| Dim::from(extents[n / extents.len().pow(axis) % extents.len()]);
            (0..r).map(digit).collect::<Shape>()
        })
    };
    (0..=rank).flat_map(of).collect()
}

/// Attributes of a call for a pattern, with one number for each name; and those that the pattern requires.
#[expect(clippy::type_complexity, reason = "two lists that are made together")]
fn chosen<'a>(
    def: &'static OpDef,
    attrs: &'a [AttrPattern],
    fill: usize,
) -> Option<(Vec<(&'static str, AttrValue)>, Vec<Fixed<'a>>)> {
    let (mut given, mut fixed) = (Vec::new(), Vec::new());
    for (attr, pattern) in attrs.iter().enumerate() {
        let def = &def.attrs[attr];
        let value = match pattern {
            AttrPattern::Value(value) => {
                fixed.push(Fixed {
                    attr,
                    value: value.clone(),
                    items: None,
                });
                value.clone()
            }
            AttrPattern::List(items) => {
                let number = |item: &ListItem| match item {
                    ListItem::Int(v) => Dim::from(*v),
                    _ => Dim::from([4, 1, 2, 0][fill]),
                };
                let value = AttrValue::Ints(items.iter().map(number).collect());
                fixed.push(Fixed {
                    attr,
                    value: value.clone(),
                    items: Some(items),
                });
                value
            }
            AttrPattern::Default => continue,
            _ if def.default_value().is_some() => continue,
            AttrPattern::Computed(_) => return None,
            _ => {
                let options: Vec<AttrValue> = options::attributes(def).into_iter().flatten().collect();
                options.get(fill % options.len().max(1))?.clone()
            }
        };
        given.push((def.name, value));
    }
    Some((given, fixed))
}

/// True if the pattern requires one value, or some elements of a list.
pub(super) fn is_fixed(pattern: &AttrPattern) -> bool {
    match pattern {
        AttrPattern::Value(_) | AttrPattern::Computed(_) => true,
        AttrPattern::List(items) => items.iter().any(|item| matches!(item, ListItem::Int(_))),
        _ => false,
    }
}

/// The attributes of a call that differ from its pattern.
pub(super) fn difference(
    graph: &mut Graph,
    def: &'static OpDef,
    operands: &[VertexId],
    given: &[(&str, AttrValue)],
    fixed: &[Fixed<'_>],
    actual: &[AttrValue],
) -> Option<Rewritten> {
    let rank = operands.first().and_then(|&v| graph.ty(v).as_tensor()?.rank());
    let other = fixed.iter().find(|f| !f.stands(def, rank, &actual[f.attr]))?;
    let default = |i: usize| def.attrs[i].default_value();
    let changed = |i: &usize| match fixed.iter().find(|f| f.attr == *i) {
        Some(f) => !f.stands(def, rank, &actual[*i]),
        None => default(*i).is_none_or(|value| !value.equals(&actual[*i])),
    };
    let attr = &def.attrs[other.attr];
    let changed = (0..def.attrs.len()).filter(changed);
    let changed: Vec<(&'static str, AttrValue)> = changed.map(|i| (def.attrs[i].name, actual[i].clone())).collect();
    let is_default = attr.default_value().is_some_and(|d| d.equals(&actual[other.attr]));
    let instead = match &actual[other.attr] {
        _ if is_default => Instead::LeaveOut(determined(graph, def, operands, given, attr.name, actual)),
        value @ (AttrValue::Str(_) | AttrValue::Bool(_) | AttrValue::DType(_)) => Instead::Write(value.clone()),
        value => Instead::Bind(other.named(attr.name, value)),
    };
    Some(Rewritten {
        op: def.name,
        attr: attr.name,
        written: other.text(),
        actual: changed,
        operands: operands.iter().map(|&v| graph.ty(v).to_string()).collect(),
        instead,
    })
}

/// The attributes that a call has because it was given this one.
fn determined(
    graph: &mut Graph,
    def: &'static OpDef,
    operands: &[VertexId],
    given: &[(&str, AttrValue)],
    attr: &str,
    actual: &[AttrValue],
) -> Vec<&'static str> {
    let without: Vec<(&str, AttrValue)> = given.iter().filter(|(name, _)| *name != attr).cloned().collect();
    let Ok(vertex) = graph.call(Op::Known(def), operands, &without) else {
        return Vec::new();
    };
    let Node::Call { attrs, .. } = &graph.vertex(vertex).node else {
        return Vec::new();
    };
    let differs = |i: &usize| !attrs[*i].equals(&actual[*i]);
    (0..def.attrs.len())
        .filter(differs)
        .map(|i| def.attrs[i].name)
        .collect()
}

/// The value with axes counted from the front.
fn resolved(attr: &AttrDef, value: &AttrValue, rank: Option<usize>) -> AttrValue {
    let (AttrKind::Axis(of) | AttrKind::Axes(of), Some(rank)) = (attr.kind, rank) else {
        return value.clone();
    };
    let rank = match (of, value) {
        (AxisOf::Output, AttrValue::Ints(list)) => rank + list.len(),
        (AxisOf::Output, _) => rank + 1,
        _ => rank,
    } as i64;
    let front = |d: &Dim| match d.as_const() {
        Some(axis) if axis < 0 => Dim::Const(axis + rank),
        _ => d.clone(),
    };
    match value {
        AttrValue::Int(d) => AttrValue::Int(front(d)),
        AttrValue::Ints(list) => AttrValue::Ints(list.iter().map(front).collect()),
        other => other.clone(),
    }
}
