//! Layers that read elements at listed indices.

use super::{Args, both, read_by};
use crate::expression::ExprNode;
use crate::import::{Done, Host, Importer, Typed, Val, unknown, wrong};
use crate::{ElementType, Expression, LiteralValue};
use tautomer_graph::{Given, VertexId};
use tautomer_op::AttrValue;
use tautomer_tensor::{Dim, Tensor};

rows! {
    both("torch.gather", "input dim index", "gather_elements", "input index axis=dim"),
    both("torch.index_select", "input dim index", "gather", "input index axis=dim")
        .when(|e, call| call.operands.get(1).and_then(|&index| e.rank(index)) == Some(1)),
    both(
        "F.embedding nn.Embedding",
        "input weight embedding_dim num_embeddings sparse scale_grad_by_freq padding_idx",
        "gather",
        "weight input axis=0",
    )
    .when(|e, call| call.operands.get(1).and_then(|&index| e.rank(index)) > Some(1)),
    read_by("Tensor.index", "input expr", |i, a| i.index(a)).positional("aten::index"),
    read_by("aten::nonzero_list", "input", |i, a| i.nonzero(a)).positional("aten::nonzero_numpy"),
}

impl Importer<'_> {
    fn index(&mut self, args: &Args<'_>) -> Done<Vec<Val>> {
        let (x, shape) = self.real_operand(args)?;
        let items = self.indices(args)?;
        let mut indices = Vec::with_capacity(items.len());
        for item in &items {
            indices.push(self.one_index(item)?);
        }
        let v = self.chosen(x.v, &shape, &indices)?;
        self.one(v, x.element)
    }

    /// The indices of each axis: a list in the text, or one produced by another line.
    fn indices(&mut self, args: &Args<'_>) -> Done<Vec<Val>> {
        if let Val::List(items) = args.get("expr", Some(1))
            && args.op.inputs.len() > 1
        {
            return Ok(items);
        }
        let Some((_, text)) = args.op.params.iter().find(|(key, _)| key == "expr") else {
            return unknown("its indices are unknown");
        };
        let expression: Expression = self.read_expression(args.op, text)?;
        let nodes = expression.nodes();
        let root = expression.roots().first().and_then(|&root| nodes.get(root));
        let Some(ExprNode::List(items)) = root else {
            return unknown("its indices are not a list");
        };
        let literal = |place: &usize| match nodes.get(*place) {
            Some(ExprNode::Literal(literal)) => match literal.value {
                LiteralValue::Int(i) => Ok(Val::Host(Host::Int(Dim::Const(i)))),
                LiteralValue::Bool(b) => Ok(Val::Host(Host::Bool(b))),
                LiteralValue::None => Ok(Val::Host(Host::None)),
                _ => unknown("an index is not an integer"),
            },
            _ => unknown("an index is not an integer"),
        };
        items
            .iter()
            .map(|place| match nodes.get(*place) {
                Some(ExprNode::List(elements)) => Ok(Val::List(elements.iter().map(literal).collect::<Done<_>>()?)),
                _ => literal(place),
            })
            .collect()
    }

    /// The meaning of one item of an index list for its axis or axes.
    fn one_index(&mut self, item: &Val) -> Done<Index> {
        Ok(match item {
            Val::Host(Host::None) => Index::All,
            Val::List(items) => {
                let truths = items.iter().all(|item| matches!(item, Val::Host(Host::Bool(_)))) && !items.is_empty();
                match item.const_ints() {
                    Some(list) if truths => {
                        Index::Known((0..).zip(list).filter(|(_, b)| *b != 0).map(|(i, _)| i).collect())
                    }
                    Some(list) => Index::Known(list),
                    None => return unknown("an index is not an integer"),
                }
            }
            Val::Tensor(t) if t.element == ElementType::Bool => Index::Where(t.v),
            Val::Tensor(t) => Index::Places(self.cast(*t, ElementType::I64)?.v),
            other => Index::Places(self.tensor_of(other, ElementType::I64)?.v),
        })
    }

    /// The elements of `x` at indices, as in torch and NumPy: the indices are combined elementwise, and the result has
    /// their axes where the first index was, or in front if other axes separate them.
    fn chosen(&mut self, x: VertexId, shape: &[Dim], indices: &[Index]) -> Done<VertexId> {
        let mut places: Vec<(usize, Index)> = Vec::new();
        let mut axis = 0usize;
        let lone = indices.iter().filter(|index| !matches!(index, Index::All)).count() == 1;
        for index in indices {
            let covered = match index {
                Index::Where(mask) => self.shape(*mask)?.len(),
                _ => 1,
            };
            match index {
                Index::All => {}
                Index::Where(mask) if lone => return self.where_true(x, shape, axis, *mask),
                Index::Where(mask) => {
                    // One index list for each axis of the boolean mask.
                    let found = self.call("non_zero", &[*mask], &[])?;
                    for k in 0..covered {
                        let row = self.graph.constant(Tensor::scalar(k as i64));
                        let list = self.call("gather", &[found, row], &[("axis", AttrValue::int(0))])?;
                        places.push((axis + k, Index::Places(list)));
                    }
                }
                other => places.push((axis, other.clone())),
            }
            axis = axis.saturating_add(covered);
        }
        if axis > shape.len() {
            return wrong(format!(
                "it has indices of {axis} axes, but its operand has rank {}",
                shape.len()
            ));
        }
        let (Some(first), Some(last)) = (places.first().map(|p| p.0), places.last().map(|p| p.0)) else {
            return Ok(x);
        };
        let (mut v, mut shape, mut first) = (x, shape.to_vec(), first);
        if last + 1 - first != places.len() {
            let chosen: Vec<usize> = places.iter().map(|(axis, _)| *axis).collect();
            let rest = (0..shape.len()).filter(|axis| !chosen.contains(axis));
            let order: Vec<usize> = chosen.iter().copied().chain(rest).collect();
            let perm: Vec<i64> = order.iter().map(|&axis| axis as i64).collect();
            v = self.call("transpose", &[v], &[("perm", AttrValue::ints(&perm))])?;
            shape = order.iter().filter_map(|&axis| shape.get(axis).cloned()).collect();
            first = 0;
        }
        let end = first + places.len();
        let extents = shape.get(first..end).unwrap_or_default().to_vec();
        // Indices of several axes become one index of the flattened axes.
        if places.len() > 1 {
            let (before, after) = (
                shape.get(..first).unwrap_or_default(),
                shape.get(end..).unwrap_or_default(),
            );
            let target = [before, &[extents.iter().cloned().product()], after].concat();
            v = self.call("reshape", &[v], &[("shape", AttrValue::Ints(target))])?;
        }
        let lists: Vec<Index> = places.into_iter().map(|(_, index)| index).collect();
        let index = self.joined(&lists, &extents)?;
        self.call("gather", &[v, index], &[("axis", AttrValue::int(first as i64))])
    }

    /// One index for several flattened axes.
    fn joined(&mut self, lists: &[Index], extents: &[Dim]) -> Done<VertexId> {
        if let [Index::Places(one)] = lists {
            return Ok(*one);
        }
        let known: Option<Vec<&Vec<i64>>> = lists
            .iter()
            .map(|index| match index {
                Index::Known(list) => Some(list),
                _ => None,
            })
            .collect();
        if let Some(known) = known {
            let extents: Option<Vec<i64>> = extents.iter().map(Dim::as_const).collect();
            let Some(extents) = extents.or_else(|| (known.len() == 1).then(|| vec![i64::MAX])) else {
                return unknown("a dimension is unknown");
            };
            let length = known.iter().map(|list| list.len()).max().unwrap_or(0);
            let mut joined = vec![0i64; length];
            for (list, &extent) in known.iter().zip(&extents) {
                for (k, place) in joined.iter_mut().enumerate() {
                    let Some(&i) = list.get(if list.len() == 1 { 0 } else { k }) else {
                        return wrong("lists of indices have different lengths");
                    };
                    // A single list keeps its negative indices, which count from the end.
                    if known.len() > 1 && !(-extent..extent).contains(&i) {
                        return wrong(format!("index {i} is out of range for an axis of size {extent}"));
                    }
                    *place = match known.len() {
                        1 => i,
                        _ => place
                            .saturating_mul(extent)
                            .saturating_add(if i < 0 { i + extent } else { i }),
                    };
                }
            }
            return Ok(self.graph.constant(Tensor::vector(joined)));
        }
        let mut sum: Option<VertexId> = None;
        for (list, extent) in lists.iter().zip(extents) {
            let list = match list {
                Index::Places(v) => *v,
                Index::Known(list) => self.graph.constant(Tensor::vector(list.clone())),
                Index::All | Index::Where(_) => return unknown("an index is not a list"),
            };
            let extent = self.extent(extent)?;
            let given = [("i", Given::Value(list)), ("n", Given::Value(extent))];
            let from_front = self.program("fn from_front(i, n) { where(i < 0, i + n, i) }", &given)?;
            sum = Some(match sum {
                None => from_front,
                Some(so_far) => {
                    let rows = self.call("mul", &[so_far, extent], &[])?;
                    self.call("add", &[rows, from_front], &[])?
                }
            });
        }
        match sum {
            Some(index) => Ok(index),
            None => unknown("an index is not a list"),
        }
    }

    /// The elements where a mask over the axes from `axis` on is true: their number is only known at run time.
    fn where_true(&mut self, x: VertexId, shape: &[Dim], axis: usize, mask: VertexId) -> Done<VertexId> {
        let truths = self.shape(mask)?;
        let end = axis.saturating_add(truths.len());
        let Some(covered) = shape.get(axis..end) else {
            return wrong(format!(
                "it has indices of {end} axes, but its operand has rank {}",
                shape.len()
            ));
        };
        for (mine, other) in covered.iter().zip(&truths) {
            if let (Some(a), Some(b)) = (mine.as_const(), other.as_const())
                && a != b
            {
                return wrong(format!("an index has size {b} along an axis of size {a}"));
            }
        }
        let (mut v, mut flat) = (x, mask);
        if truths.len() != 1 {
            let (before, after) = (
                shape.get(..axis).unwrap_or_default(),
                shape.get(end..).unwrap_or_default(),
            );
            let inner: Dim = covered.iter().cloned().product();
            if before
                .iter()
                .chain(after)
                .chain([&inner])
                .filter(|d| d.has_unknown())
                .count()
                > 1
            {
                return unknown("dimensions of its operand are unknown");
            }
            let free = |d: &Dim| if d.has_unknown() { Dim::Const(-1) } else { d.clone() };
            let target: Vec<Dim> = before.iter().chain([&inner]).chain(after).map(free).collect();
            v = self.call("reshape", &[v], &[("shape", AttrValue::Ints(target))])?;
            flat = self.call("reshape", &[flat], &[("shape", AttrValue::ints(&[-1]))])?;
        }
        self.call("compress", &[v, flat], &[("axis", AttrValue::int(axis as i64))])
    }

    /// The indices of nonzero elements: one list for each axis.
    fn nonzero(&mut self, args: &Args<'_>) -> Done<Vec<Val>> {
        let x = self.operand(args, "input", 0)?;
        let rank = self.shape(x.v)?.len();
        let found = self.call("non_zero", &[x.v], &[])?;
        let mut lists = Vec::with_capacity(rank);
        for k in 0..rank {
            let row = self.graph.constant(Tensor::scalar(k as i64));
            let list = self.call("gather", &[found, row], &[("axis", AttrValue::int(0))])?;
            lists.push(Typed::new(list, ElementType::I64).into());
        }
        Ok(vec![Val::List(lists)])
    }
}

/// The index list of an axis.
#[derive(Debug, Clone)]
enum Index {
    /// The whole axis.
    All,
    /// Known indices.
    Known(Vec<i64>),
    /// Indices listed by an integer tensor.
    Places(VertexId),
    /// The positions where a boolean tensor is true; it stands for as many axes as it has.
    Where(VertexId),
}
