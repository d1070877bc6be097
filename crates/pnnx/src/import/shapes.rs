//! Operators that move, split, join and repeat elements.

use super::layers::{Args, pad_mode};
use super::val::{Host, Typed, Val};
use super::{Done, Importer, axis_of, element, few, unknown, wrong};
use crate::{Category, ElementType, NO_END};
use tautomer_graph::VertexId;
use tautomer_op::AttrValue;
use tautomer_tensor::{Dim, Tensor};

const KINDS: &[&str] = &[
    "Tensor.reshape",
    "Tensor.view",
    "torch.flatten",
    "nn.Flatten",
    "torch.transpose",
    "Tensor.expand",
    "torch.cat",
    "torch.stack",
    "torch.chunk",
    "torch.split",
    "torch.tensor_split",
    "torch.unbind",
    "Tensor.select",
    "Tensor.slice",
    "torch.narrow",
    "Tensor.slice_copy",
    "torch.slice_scatter",
    "torch.roll",
    "torch.repeat_interleave",
    "torch.diag",
    "torch.zeros",
    "torch.ones",
    "torch.full",
    "torch.arange",
    "Tensor.fill",
    "Tensor.index",
    "Tensor.index_put",
    "Tensor.new_zeros",
    "Tensor.new_ones",
    "Tensor.new_full",
    "torch.full_like",
    "torch.empty_like",
    "F.pad",
];

/// One axis of a slice.
struct Cut {
    axis: usize,
    start: Dim,
    end: Dim,
    step: i64,
}

impl Importer<'_> {
    pub(super) fn is_shape_operator(&self, kind: &str) -> bool {
        let pads =
            kind.starts_with("nn.") && kind.trim_end_matches('d').ends_with(['1', '2', '3']) && kind.contains("Pad");
        pads || KINDS.contains(&kind)
    }

    pub(super) fn shape_operator(&mut self, args: &Args<'_>) -> Done<Vec<Val>> {
        let kind = args.op.kind.as_str();
        match kind {
            "torch.cat" | "torch.stack" => return self.join_tensors(args, kind == "torch.stack"),
            "torch.zeros" => return self.filled(args, Val::Host(Host::Float(0.0)), None),
            "torch.ones" => return self.filled(args, Val::Host(Host::Float(1.0)), None),
            "torch.full" => return self.filled(args, args.param("fill_value"), None),
            "torch.arange" => return self.arange(args),
            _ => {}
        }
        let x = self.operand(args, "input", 0)?;
        if x.element.is_complex() {
            return unknown("its operand is complex");
        }
        let shape = self.shape(x.v)?;
        let rank = shape.len();
        let axis = |name: &str| args.int(name).and_then(|axis| axis_of(axis, rank));
        let done = |v: VertexId| -> Done<Vec<Val>> { Ok(vec![Typed::new(v, x.element).into()]) };
        match kind {
            "Tensor.reshape" | "Tensor.view" => {
                let target = args.get("shape", Some(1));
                let v = self.reshape(x.v, &target)?;
                done(v)
            }
            "torch.flatten" | "nn.Flatten" => {
                let (from, to) = (axis("start_dim")?, axis("end_dim")?);
                let inner: Dim = shape.get(from..=to).unwrap_or_default().iter().cloned().product();
                let rest = shape.get(to + 1..).unwrap_or_default();
                let before = shape.get(..from).unwrap_or_default();
                let target = [before, &[inner], rest].concat();
                let v = self.call("reshape", &[x.v], &[("shape", AttrValue::Ints(target))])?;
                done(v)
            }
            "torch.transpose" => {
                let (a, b) = (axis("dim0")?, axis("dim1")?);
                let mut perm: Vec<i64> = (0..rank as i64).collect();
                perm.swap(a, b);
                let v = self.call("transpose", &[x.v], &[("perm", AttrValue::ints(&perm))])?;
                done(v)
            }
            "Tensor.expand" => {
                let v = self.expand(x.v, &shape, &args.get("sizes", Some(1)))?;
                done(v)
            }
            "torch.chunk" | "torch.split" | "torch.tensor_split" | "torch.unbind" => self.split(args, x, &shape),
            "Tensor.select" => {
                let (axis, index) = (axis("dim")?, args.param("index"));
                let v = self.select(x.v, axis, &index)?;
                done(v)
            }
            "Tensor.slice" => self.slices(args, x, &shape),
            "torch.narrow" => {
                let (start, length) = (args.param("start"), args.param("length"));
                let (Some(start), Some(length)) = (start.int(), length.int()) else {
                    return unknown("`start` or `length` is unknown");
                };
                let end = start.clone() + length;
                let cut = Cut {
                    axis: axis("dim")?,
                    start,
                    end,
                    step: 1,
                };
                let v = self.cut(x.v, &[cut])?;
                done(v)
            }
            "Tensor.slice_copy" | "torch.slice_scatter" => {
                let v = self.write_slice(args, x, axis("dim")?)?;
                done(v)
            }
            "torch.roll" => {
                let v = self.roll(args, x.v, &shape)?;
                done(v)
            }
            "torch.repeat_interleave" => {
                let v = self.repeat(args, x.v)?;
                done(v)
            }
            "torch.diag" => {
                let v = self.diag(x, args.int("diagonal")?)?;
                done(v)
            }
            "Tensor.fill" => {
                let value = args.get("value", Some(1));
                let value = self.tensor_of(&value, x.element)?;
                let v = self.call("expand", &[value.v], &[("shape", AttrValue::Ints(shape))])?;
                done(v)
            }
            "Tensor.new_zeros" => self.filled(args, Val::Host(Host::Float(0.0)), Some(x.element)),
            "Tensor.new_ones" => self.filled(args, Val::Host(Host::Float(1.0)), Some(x.element)),
            "Tensor.new_full" => self.filled(args, args.param("fill_value"), Some(x.element)),
            "torch.full_like" => self.like(args, x, args.get("fill_value", Some(1))),
            // The contents are uninitialized, so zeros are as good as anything.
            "torch.empty_like" => self.like(args, x, Val::Host(Host::Int(Dim::Const(0)))),
            "Tensor.index" => self.index(args, x, &shape),
            "Tensor.index_put" => {
                let v = self.index_put(args, x)?;
                done(v)
            }
            _ => {
                let v = self.pad(args, x.v, rank)?;
                done(v)
            }
        }
    }

    /// A list of integers as an attribute, or as a vector computed by the graph.
    fn sizes(&mut self, list: &Val) -> Done<Result<Vec<Dim>, VertexId>> {
        if let Some(ints) = list.ints() {
            return Ok(Ok(ints));
        }
        let items = match list {
            Val::List(items) => items.clone(),
            Val::Tensor(t) => return Ok(Err(t.v)),
            other => vec![other.clone()],
        };
        let mut parts = Vec::with_capacity(items.len());
        for item in &items {
            let v = self.tensor_of(item, ElementType::I64)?.v;
            parts.push(self.call("reshape", &[v], &[("shape", AttrValue::ints(&[1]))])?);
        }
        Ok(Err(self.call("concat", &parts, &[("axis", AttrValue::int(0))])?))
    }

    pub(super) fn reshape(&mut self, x: VertexId, target: &Val) -> Done<VertexId> {
        match self.sizes(target)? {
            Ok(sizes) => {
                let zero = sizes.iter().any(|d| d.as_const() == Some(0));
                let attrs = [("shape", AttrValue::Ints(sizes)), ("allowzero", AttrValue::Bool(zero))];
                self.call("reshape", &[x], if zero { &attrs } else { &attrs[..1] })
            }
            Err(computed) => self.call("reshape", &[x, computed], &[]),
        }
    }

    fn expand(&mut self, x: VertexId, shape: &[Dim], sizes: &Val) -> Done<VertexId> {
        match self.sizes(sizes)? {
            Ok(mut sizes) => {
                // -1 keeps the size of that axis, counted from the last.
                let lead = sizes.len().saturating_sub(shape.len());
                for (i, size) in sizes
                    .iter_mut()
                    .enumerate()
                    .filter(|(_, size)| size.as_const() == Some(-1))
                {
                    match i.checked_sub(lead).and_then(|i| shape.get(i)) {
                        Some(own) => *size = own.clone(),
                        None => return wrong("-1 refers to an axis that the operand does not have"),
                    }
                }
                self.call("expand", &[x], &[("shape", AttrValue::Ints(sizes))])
            }
            Err(computed) => self.call("expand", &[x, computed], &[]),
        }
    }

    fn join_tensors(&mut self, args: &Args<'_>, stack: bool) -> Done<Vec<Val>> {
        let mut items = Vec::new();
        for value in args.operands() {
            value.flatten(&mut items);
        }
        let kinds: Vec<_> = items.iter().map(|v| self.kind(v)).collect::<Done<_>>()?;
        let Some(element) = crate::common_type(&kinds) else {
            return wrong("its operands have no common type");
        };
        let mut operands = Vec::with_capacity(items.len());
        for item in &items {
            operands.push(self.tensor_of(item, element)?.v);
        }
        let Some(&first) = operands.first() else {
            return wrong("it has no operands");
        };
        let rank = self.shape(first)?.len() + usize::from(stack);
        let rank = rank.saturating_sub(usize::from(element.is_complex()));
        let axis = axis_of(args.int("dim")?, rank)? as i64;
        if stack {
            for v in &mut operands {
                *v = self.call("unsqueeze", &[*v], &[("axes", AttrValue::ints(&[axis]))])?;
            }
        }
        let v = self.call("concat", &operands, &[("axis", AttrValue::int(axis))])?;
        Ok(vec![Typed::new(v, element).into()])
    }

    fn split(&mut self, args: &Args<'_>, x: Typed, shape: &[Dim]) -> Done<Vec<Val>> {
        let axis = axis_of(args.int("dim")?, shape.len())?;
        let Some(length) = element(shape, axis, "the shape")?.as_const() else {
            return unknown("the size of the axis that is split is unknown");
        };
        let count = args.op.outputs.len() as i64;
        let sizes: Vec<i64> = match args.op.kind.as_str() {
            "torch.unbind" => vec![1; few(length)?],
            "torch.chunk" => {
                let chunks = args.int("chunks")?.max(1);
                let each = length.saturating_add(chunks - 1) / chunks;
                pieces(length, each)?
            }
            "torch.split" => match args.param("split_size_or_sections") {
                Val::Host(Host::Int(each)) => pieces(length, each.as_const().unwrap_or(length))?,
                list => match list.const_ints() {
                    Some(sizes) => sizes,
                    None => return unknown("the sizes of the parts are unknown"),
                },
            },
            _ => match (
                args.param("sections").int().and_then(|d| d.as_const()),
                args.param("indices").const_ints(),
            ) {
                (Some(sections), _) if sections > 0 => (0..few(sections)? as i64)
                    .map(|i| length / sections + i64::from(i < length % sections))
                    .collect(),
                (None, Some(indices)) => {
                    let place = |i: i64| {
                        if i < 0 {
                            i.saturating_add(length).max(0)
                        } else {
                            i.min(length)
                        }
                    };
                    let ends: Vec<i64> = indices.iter().map(|&i| place(i)).chain([length]).collect();
                    let starts = std::iter::once(0).chain(ends.iter().copied());
                    ends.iter()
                        .zip(starts)
                        .map(|(end, start)| end.saturating_sub(start).max(0))
                        .collect()
                }
                _ => return unknown("the split positions are unknown"),
            },
        };
        if count != sizes.len() as i64 && count != 1 {
            return wrong(format!("it has {} parts, not {count}", sizes.len()));
        }
        let attrs = [
            ("axis", AttrValue::int(axis as i64)),
            ("sizes", AttrValue::ints(&sizes)),
        ];
        let mut parts = match sizes.as_slice() {
            [_] => vec![x.v],
            _ => self.calls("split", &[x.v], &attrs)?,
        };
        if args.op.kind == "torch.unbind" {
            for v in &mut parts {
                *v = self.call("squeeze", &[*v], &[("axes", AttrValue::ints(&[axis as i64]))])?;
            }
        }
        let parts: Vec<Val> = parts.into_iter().map(|v| Typed::new(v, x.element).into()).collect();
        Ok(if count == 1 && parts.len() > 1 {
            vec![Val::List(parts)]
        } else {
            parts
        })
    }

    /// Differences of adjacent elements along an axis, taken the requested number of times.
    pub(super) fn differences(&mut self, args: &Args<'_>) -> Done<Vec<Val>> {
        let x = self.operand(args, "input", 0)?;
        if x.element.is_complex() {
            return unknown("its operand is complex");
        }
        let int = |name: &str, missing: i64| match args.param(name) {
            Val::Host(Host::None) => Ok(missing),
            _ => args.int(name),
        };
        let rank = self.shape(x.v)?.len();
        let axis = axis_of(int("dim", -1)?, rank)?;
        let mut parts = Vec::new();
        for value in [args.param("prepend"), Val::Tensor(x), args.param("append")] {
            if !value.is_none() {
                parts.push(self.tensor_of(&value, x.element)?.v);
            }
        }
        let mut v = match parts.as_slice() {
            [one] => *one,
            many => self.call("concat", many, &[("axis", AttrValue::int(axis as i64))])?,
        };
        let times = int("n", 1)?;
        if times > 64 {
            return unknown(format!("differences taken {times} times"));
        }
        for _ in 0..times {
            let cut = |start: i64, end: i64| Cut {
                axis,
                start: Dim::Const(start),
                end: Dim::Const(end),
                step: 1,
            };
            let (later, earlier) = (self.cut(v, &[cut(1, NO_END)])?, self.cut(v, &[cut(0, -1)])?);
            let name = if x.element == ElementType::Bool { "xor" } else { "sub" };
            v = self.call(name, &[later, earlier], &[])?;
        }
        Ok(vec![Typed::new(v, x.element).into()])
    }

    fn select(&mut self, x: VertexId, axis: usize, index: &Val) -> Done<VertexId> {
        let index = match index.int().and_then(|d| d.as_const()) {
            Some(index) => self.graph.constant(Tensor::scalar(index)),
            None => self.tensor_of(index, ElementType::I64)?.v,
        };
        self.call("gather", &[x, index], &[("axis", AttrValue::int(axis as i64))])
    }

    fn cut(&mut self, x: VertexId, cuts: &[Cut]) -> Done<VertexId> {
        let whole = |cut: &Cut| cut.start == Dim::Const(0) && cut.end == Dim::Const(NO_END) && cut.step == 1;
        let cuts: Vec<&Cut> = cuts.iter().filter(|cut| !whole(cut)).collect();
        if cuts.is_empty() {
            return Ok(x);
        }
        let list = |f: fn(&Cut) -> Dim| AttrValue::Ints(cuts.iter().map(|cut| f(cut)).collect());
        let attrs = [
            ("starts", list(|cut| cut.start.clone())),
            ("ends", list(|cut| cut.end.clone())),
            ("axes", list(|cut| Dim::from(cut.axis))),
            ("steps", list(|cut| Dim::Const(cut.step))),
        ];
        self.call("slice", &[x], &attrs)
    }

    /// A slice along one or several axes, some of which may select one element and be dropped.
    fn slices(&mut self, args: &Args<'_>, x: Typed, shape: &[Dim]) -> Done<Vec<Val>> {
        let many = !args.param("dims").is_none();
        let list = |many_name: &str, one: &str, missing: i64, count: usize| -> Done<Vec<Dim>> {
            let value = args.param(if many { many_name } else { one });
            match value.ints() {
                Some(ints) if ints.is_empty() => Ok(vec![Dim::Const(missing); count]),
                Some(ints) if ints.len() == count => Ok(ints),
                _ => unknown(format!("`{many_name}` is unknown")),
            }
        };
        let dims = match args.param(if many { "dims" } else { "dim" }).const_ints() {
            Some(dims) => dims,
            None => return unknown("the axes are unknown"),
        };
        let count = dims.len();
        let (starts, ends) = (list("starts", "start", 0, count)?, list("ends", "end", NO_END, count)?);
        let (steps, selects) = (
            list("steps", "step", 1, count)?,
            list("selects", "select", NO_END, count)?,
        );
        let (mut cuts, mut gone) = (Vec::new(), Vec::new());
        for (i, &dim) in dims.iter().enumerate() {
            let axis = axis_of(dim, shape.len())?;
            let item = |list: &[Dim], what: &str| element(list, i, what).cloned();
            let (start, end) = (item(&starts, "`starts`")?, item(&ends, "`ends`")?);
            let (step, select) = (item(&steps, "`steps`")?, item(&selects, "`selects`")?);
            let selected = select != Dim::Const(NO_END);
            let Some(step) = step.as_const() else {
                return unknown("`steps` is unknown");
            };
            cuts.push(match select.as_const() {
                Some(_) if !selected => Cut { axis, start, end, step },
                Some(-1) => Cut {
                    axis,
                    start: Dim::Const(-1),
                    end: Dim::Const(NO_END),
                    step: 1,
                },
                _ => Cut {
                    axis,
                    end: select.clone() + Dim::Const(1),
                    start: select,
                    step: 1,
                },
            });
            if selected {
                gone.push(axis as i64);
            }
        }
        let mut v = self.cut(x.v, &cuts)?;
        if !gone.is_empty() {
            v = self.call("squeeze", &[v], &[("axes", AttrValue::ints(&gone))])?;
        }
        Ok(vec![Typed::new(v, x.element).into()])
    }

    fn roll(&mut self, args: &Args<'_>, x: VertexId, shape: &[Dim]) -> Done<VertexId> {
        let (Some(shifts), Some(dims)) = (args.param("shifts").const_ints(), args.param("dims").const_ints()) else {
            return unknown("the shifts are unknown");
        };
        if dims.len() != shifts.len() {
            return unknown("it rolls over all elements at once");
        }
        let mut v = x;
        for (&shift, &dim) in shifts.iter().zip(&dims) {
            let axis = axis_of(dim, shape.len())?;
            let Some(length) = element(shape, axis, "the shape")?.as_const() else {
                return unknown("a dimension is unknown");
            };
            let at = if length == 0 {
                0
            } else {
                shift.wrapping_neg().rem_euclid(length)
            };
            if at == 0 {
                continue;
            }
            let zero = Dim::Const(0);
            let tail = self.cut(
                v,
                &[Cut {
                    axis,
                    start: Dim::Const(at),
                    end: Dim::Const(NO_END),
                    step: 1,
                }],
            )?;
            let head = self.cut(
                v,
                &[Cut {
                    axis,
                    start: zero,
                    end: Dim::Const(at),
                    step: 1,
                }],
            )?;
            v = self.call("concat", &[tail, head], &[("axis", AttrValue::int(axis as i64))])?;
        }
        Ok(v)
    }

    /// A tensor with all elements equal, in a given shape.
    fn filled(&mut self, args: &Args<'_>, value: Val, like: Option<ElementType>) -> Done<Vec<Val>> {
        let element = ElementType::of_torch(&args.text("dtype")).or(like);
        let element = element.unwrap_or(match &value {
            Val::Host(Host::Int(_)) => ElementType::I64,
            Val::Host(Host::Bool(_)) => ElementType::Bool,
            _ => ElementType::F32,
        });
        let value = self.tensor_of(&value, element)?;
        let place = usize::from(like.is_some());
        let v = match self.sizes(&args.get("size", Some(place)))? {
            Ok(sizes) => self.call("expand", &[value.v], &[("shape", AttrValue::Ints(sizes))])?,
            Err(computed) => self.call("expand", &[value.v, computed], &[])?,
        };
        Ok(vec![Typed::new(v, element).into()])
    }

    /// A tensor with all elements equal, in the shape of an operand.
    fn like(&mut self, args: &Args<'_>, x: Typed, value: Val) -> Done<Vec<Val>> {
        let element = ElementType::of_torch(&args.text("dtype")).unwrap_or(x.element);
        let value = self.tensor_of(&value, element)?;
        let shape = self.shape(x.v)?;
        let v = if shape.iter().any(Dim::has_unknown) {
            let shape = self.call("shape", &[x.v], &[])?;
            self.call("expand", &[value.v, shape], &[])?
        } else {
            self.call("expand", &[value.v], &[("shape", AttrValue::Ints(shape))])?
        };
        Ok(vec![Typed::new(v, element).into()])
    }

    fn arange(&mut self, args: &Args<'_>) -> Done<Vec<Val>> {
        let or = |value: Val, missing: i64| {
            if value.is_none() {
                Val::Host(Host::Int(Dim::Const(missing)))
            } else {
                value
            }
        };
        let ends = [
            or(args.param("start"), 0),
            args.get("end", Some(0)),
            or(args.param("step"), 1),
        ];
        let mut element = ElementType::of_torch(&args.text("dtype"));
        for value in &ends {
            let own = self.kind(value)?.0;
            if element.is_none() && own.category() > Category::Int {
                element = Some(ElementType::F32);
            }
        }
        let element = element.unwrap_or(ElementType::I64);
        let mut operands = Vec::new();
        for value in &ends {
            operands.push(self.tensor_of(value, element)?.v);
        }
        let v = self.call("range", &operands, &[])?;
        Ok(vec![Typed::new(v, element).into()])
    }

    fn pad(&mut self, args: &Args<'_>, x: VertexId, rank: usize) -> Done<VertexId> {
        let kind = args.op.kind.as_str();
        let spatial = kind
            .trim_end_matches('d')
            .chars()
            .last()
            .and_then(|c| c.to_digit(10))
            .unwrap_or(1) as usize;
        let (pads, mode) = if kind == "F.pad" {
            let Some(pads) = args.param("pad").const_ints() else {
                return unknown("`pad` is unknown");
            };
            (pads, args.text("mode"))
        } else {
            let mode = match kind {
                _ if kind.contains("Reflection") => "reflect",
                _ if kind.contains("Replication") => "replicate",
                _ if kind.contains("Circular") => "circular",
                _ => "constant",
            };
            (args.ints("padding", 2 * spatial)?, mode.to_owned())
        };
        // The pairs in the file start with the last axis.
        if pads.len() % 2 != 0 || pads.len() / 2 > rank {
            return wrong("the pads are not in pairs, or there are too many");
        }
        let (mut before, mut after) = (vec![0; rank], vec![0; rank]);
        let places = before.iter_mut().rev().zip(after.iter_mut().rev());
        for (pair, (first, last)) in pads.chunks_exact(2).zip(places) {
            if let &[a, b] = pair {
                (*first, *last) = (a, b);
            }
        }
        let whole = [before, after].concat();
        let mut attrs = vec![
            ("pads", AttrValue::ints(&whole)),
            ("mode", AttrValue::str(pad_mode(&mode)?)),
        ];
        if let Some(value) = args.param("value").float() {
            attrs.push(("value", AttrValue::float(value)));
        }
        self.call("pad", &[x], &attrs)
    }
}

/// The sizes of the parts when an axis is split into equal parts and a remainder.
fn pieces(length: i64, each: i64) -> Done<Vec<i64>> {
    let each = each.max(1);
    let mut out = vec![each; few(length / each)?];
    if length % each != 0 || out.is_empty() {
        out.push(length % each);
    }
    Ok(out)
}
