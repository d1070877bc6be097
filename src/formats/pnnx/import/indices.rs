//! Operators that read or write elements at places that are lists.

use super::layers::Args;
use super::val::{Host, Typed, Val};
use super::{Done, Importer, axis_of, few, unknown, wrong};
use crate::formats::pnnx::expression::ExprNode;
use crate::formats::pnnx::{ElementType, Expression, LiteralValue};
use crate::graph::VertexId;
use crate::op::AttrValue;
use crate::tensor::{Dim, Tensor};

impl Importer<'_> {
    /// A copy in which a slice along one axis is something else.
    pub(super) fn write_slice(&mut self, args: &Args<'_>, x: Typed, axis: usize) -> Done<VertexId> {
        let source = args.get("src", Some(1));
        let source = self.tensor_of(&source, x.element)?.v;
        let extents = self.extents(x.v)?;
        let length = extents[axis];
        let place = |name: &str, missing: i64| -> Done<i64> {
            match (args.param(name), args.param(name).int().and_then(|d| d.as_const())) {
                (Val::Host(Host::None), _) => Ok(missing),
                (_, Some(i)) if i < 0 => Ok(i.saturating_add(length).max(0)),
                (_, Some(i)) => Ok(i.min(length)),
                _ => unknown(format!("`{name}` is not known")),
            }
        };
        few(length)?;
        let (start, end) = (place("start", 0)?, place("end", length)?);
        let step = args.param("step").int().and_then(|d| d.as_const()).unwrap_or(1).max(1);
        let written: Vec<i64> = (start..end).step_by(usize::try_from(step).unwrap_or(1)).collect();
        let mut target = extents.clone();
        target[axis] = written.len() as i64;
        let source = if self.extents(source)? == target {
            source
        } else {
            self.call("expand", &[source], &[("shape", AttrValue::ints(&target))])?
        };
        if written.len() as i64 == length {
            return Ok(source);
        }
        let mut places: Vec<i64> = (0..few(length)? as i64).collect();
        for (k, &i) in written.iter().enumerate() {
            places[usize::try_from(i).unwrap_or(0)] = length + k as i64;
        }
        let axis = [("axis", AttrValue::int(axis as i64))];
        let both = self.call("concat", &[x.v, source], &axis)?;
        let places = self.graph.constant(Tensor::vector(places));
        self.call("gather", &[both, places], &axis)
    }

    pub(super) fn repeat(&mut self, args: &Args<'_>, x: VertexId) -> Done<VertexId> {
        let (mut x, mut axis) = (x, args.param("dim").int().and_then(|d| d.as_const()));
        if axis.is_none() {
            x = self.call("reshape", &[x], &[("shape", AttrValue::ints(&[-1]))])?;
            axis = Some(0);
        }
        let extents = self.extents(x)?;
        let axis = axis_of(axis.unwrap_or(0), extents.len())?;
        let repeats = match args.get("repeats", Some(1)) {
            Val::Tensor(t) => match self.graph.vertex(t.v).constant() {
                Some(Tensor::I64(list)) => list.iter().copied().collect(),
                _ => return unknown("how often is not known"),
            },
            other => match other.const_ints() {
                Some(list) => list,
                None => return unknown("how often is not known"),
            },
        };
        let often = |i: usize| repeats.get(i).or(repeats.first()).copied().unwrap_or(1);
        let mut places = Vec::new();
        for i in 0..extents[axis] {
            let count = usize::try_from(often(usize::try_from(i).unwrap_or(0))).unwrap_or(0);
            few((places.len() + count) as i64)?;
            places.extend(std::iter::repeat_n(i, count));
        }
        let places = self.graph.constant(Tensor::vector(places));
        self.call("gather", &[x, places], &[("axis", AttrValue::int(axis as i64))])
    }

    pub(super) fn diag(&mut self, x: Typed, offset: i64) -> Done<VertexId> {
        let extents = self.extents(x.v)?;
        let offset = offset.clamp(-super::MOST, super::MOST);
        let (down, right) = ((-offset).max(0), offset.max(0));
        match *extents.as_slice() {
            [n] => {
                let size = n.saturating_add(offset.abs());
                if size > 1 << 12 {
                    return unknown("too many elements");
                }
                // Off the diagonal stands the zero behind the elements.
                let place = |i: i64| {
                    let (row, column) = (i / size, i % size);
                    if row - down == column - right && row >= down {
                        row - down
                    } else {
                        n
                    }
                };
                let places: Vec<i64> = (0..size * size).map(place).collect();
                let zero = self.fill(self.dtype(x.v)?, &[1], 0.0)?;
                let axis = [("axis", AttrValue::int(0))];
                let both = self.call("concat", &[x.v, zero], &axis)?;
                let places = self.graph.constant(Tensor::vector(places));
                let v = self.call("gather", &[both, places], &axis)?;
                self.call("reshape", &[v], &[("shape", AttrValue::ints(&[size, size]))])
            }
            [rows, columns] => {
                let count = (rows - down).min(columns - right).max(0);
                few(rows.saturating_mul(columns))?;
                let places: Vec<i64> = (0..count).map(|i| (i + down) * columns + i + right).collect();
                let v = self.call("reshape", &[x.v], &[("shape", AttrValue::ints(&[-1]))])?;
                let places = self.graph.constant(Tensor::vector(places));
                self.call("gather", &[v, places], &[("axis", AttrValue::int(0))])
            }
            _ => wrong("it is of a vector or a matrix"),
        }
    }

    pub(super) fn index(&mut self, args: &Args<'_>, x: Typed, shape: &[Dim]) -> Done<Vec<Val>> {
        let Some((_, text)) = args.op.params.iter().find(|(key, _)| key == "expr") else {
            return unknown("its indices are tensors");
        };
        let expression: Expression = self.read_expression(args.op, text)?;
        let nodes = expression.nodes();
        let Some(ExprNode::List(items)) = expression.roots().first().map(|&root| &nodes[root]) else {
            return unknown("its indices are no list");
        };
        let mut lists: Vec<Option<Vec<i64>>> = Vec::new();
        for &item in items {
            lists.push(match &nodes[item] {
                ExprNode::Literal(literal) if literal.value == LiteralValue::None => None,
                ExprNode::List(elements) => Some(places(nodes, elements)?),
                _ => return unknown("an index is no list"),
            });
        }
        let given: Vec<usize> = (0..lists.len()).filter(|&i| lists[i].is_some()).collect();
        let (Some(&first), Some(&last)) = (given.first(), given.last()) else {
            return Ok(vec![x.into()]);
        };
        if last + 1 - first != given.len() || last >= shape.len() {
            return unknown("indices of axes that are not neighbours");
        }
        // Indices of several axes are one index of the axes made one.
        let extents: Option<Vec<i64>> = shape[first..=last].iter().map(Dim::as_const).collect();
        let Some(extents) = extents else {
            return unknown("an extent is not known");
        };
        let length = given
            .iter()
            .filter_map(|&i| Some(lists[i].as_ref()?.len()))
            .max()
            .unwrap_or(0);
        let mut index = vec![0i64; length];
        for (&axis, &extent) in given.iter().zip(&extents) {
            let list = lists[axis].clone().unwrap_or_default();
            for (k, place) in index.iter_mut().enumerate() {
                let Some(&i) = list.get(if list.len() == 1 { 0 } else { k }) else {
                    return wrong("lists of indices have different lengths");
                };
                *place = *place * extent + if i < 0 { i + extent } else { i };
            }
        }
        let mut v = x.v;
        if given.len() > 1 {
            let joined = Dim::Const(extents.iter().product());
            let target = [&shape[..first], &[joined], &shape[last + 1..]].concat();
            v = self.call("reshape", &[v], &[("shape", AttrValue::Ints(target))])?;
        }
        let index = self.graph.constant(Tensor::vector(index));
        let v = self.call("gather", &[v, index], &[("axis", AttrValue::int(first as i64))])?;
        Ok(vec![Typed::new(v, x.element).into()])
    }

    pub(super) fn index_put(&mut self, args: &Args<'_>, x: Typed) -> Done<VertexId> {
        let Val::List(indices) = args.get("indices", Some(1)) else {
            return unknown("its indices are no list");
        };
        let mut places = Vec::new();
        for index in &indices {
            let Val::Tensor(t) = index else {
                return unknown("an axis without an index");
            };
            if t.element == ElementType::Bool {
                return unknown("indices by truth values");
            }
            let rank = self.shape(t.v)?.len() as i64;
            places.push(self.call("unsqueeze", &[t.v], &[("axes", AttrValue::ints(&[rank]))])?);
        }
        let Some(&first) = places.first() else {
            return wrong("it has no indices");
        };
        let rank = self.shape(first)?.len() as i64;
        let joined = match places.as_slice() {
            [one] => *one,
            many => self.call("concat", many, &[("axis", AttrValue::int(rank - 1))])?,
        };
        let (shape, mut target) = (self.shape(x.v)?, self.shape(first)?);
        target.pop();
        target.extend_from_slice(shape.get(indices.len()..).unwrap_or_default());
        let values = args.get("values", Some(2));
        let mut values = self.tensor_of(&values, x.element)?.v;
        if self.shape(values)? != target {
            values = self.call("expand", &[values], &[("shape", AttrValue::Ints(target))])?;
        }
        let reduction = if args.flag("accumulate") { "add" } else { "none" };
        self.call(
            "scatter_nd",
            &[x.v, joined, values],
            &[("reduction", AttrValue::str(reduction))],
        )
    }
}

/// The places that a list of indices, or of truth values, stands for.
fn places(nodes: &[ExprNode], elements: &[usize]) -> Done<Vec<i64>> {
    let mut out = Vec::new();
    for (place, &element) in elements.iter().enumerate() {
        match &nodes[element] {
            ExprNode::Literal(literal) => match literal.value {
                LiteralValue::Int(i) => out.push(i),
                LiteralValue::Bool(true) => out.push(place as i64),
                LiteralValue::Bool(false) => {}
                _ => return unknown("an index is no integer"),
            },
            _ => return unknown("an index is no integer"),
        }
    }
    Ok(out)
}
