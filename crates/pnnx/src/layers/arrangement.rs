//! Layers that reshape, reorder, join and repeat elements.

use super::{Args, both, read, read_by, write, write_by};
use crate::ElementType;
use crate::export::{Call, Exporter, Line};
use crate::import::{Done, Importer, MOST, Typed, Val, axis_of, element, few, unknown, wrong};
use tautomer_graph::VertexId;
use tautomer_op::AttrValue;
use tautomer_tensor::{Dim, Tensor};

/// The elements along an axis in reverse order.
macro_rules! flipped {
    ($x:literal, $axis:literal) => {
        concat!(
            "slice(",
            $x,
            ") {starts = [-1], ends = [-9223372036854775807], axes = [",
            $axis,
            "], steps = [-1]}"
        )
    };
}

rows! {
    read_by("Tensor.reshape Tensor.view", "input shape", |i, a| i.mapped(a, |i, x, _| i.reshape(x.v, &a.at(1))))
        .writes(&[write_by("reshape", |e, c, line| reshaped(e, c, line, "shape"))]),
    read_by("Tensor.expand", "input sizes", |i, a| i.mapped(a, |i, x, shape| i.expand(x.v, shape, &a.at(1))))
        .writes(&[write_by("expand", |e, c, line| reshaped(e, c, line, "sizes"))]),
    read_by("torch.flatten nn.Flatten", "input start_dim end_dim", |i, a| i.flatten(a)),
    read("Tensor.reshape_as Tensor.view_as", "input other", "reshape(input) {shape = other.shape}"),
    read("Tensor.expand_as", "input other", "expand(input) {shape = other.shape}"),
    read("Tensor.unflatten torch.unflatten nn.Unflatten", "input dim sizes unflattened_size",
        concat!(
            axis!("input"),
            "let parts = when given(sizes) { sizes } else { unflattened_size };
             reshape(input) {shape = input.shape[0..axis] ++ parts ++ input.shape[axis + 1..]}"
        )).positional("aten::unflatten=input,dim,sizes"),
    both("torch.squeeze", "input dim", "squeeze", "input axes=dim"),
    both("torch.unsqueeze", "input dim", "unsqueeze", "input axes=[dim]"),
    both("Tensor.permute torch.permute", "input dims", "transpose", "input perm=dims"),
    read_by("torch.transpose", "input dim0 dim1", |i, a| i.swap_axes(a)),
    read("torch.t Tensor.t", "input", "when input.rank < 2 { input } else { transpose(input) }"),
    read("torch.rot90", "input k dims",
        concat!(
            "let n = when given(k) { k % 4 } else { 1 };
             let d = when given(dims) { dims } else { [0, 1] };
             let a = when d[0] < 0 { d[0] + input.rank } else { d[0] };
             let b = when d[1] < 0 { d[1] + input.rank } else { d[1] };
             let perm = [when i == a { b } else { when i == b { a } else { i } } for i in range(0, input.rank)];
             when n == 0 { input } else {
             when n == 1 { transpose(",
            flipped!("input", "b"),
            ") {perm = perm} } else {
             when n == 2 { ",
            "slice(input) {
               starts = [-1, -1], ends = [-9223372036854775807, -9223372036854775807], axes = [a, b], steps = [-1, -1]
             }",
            " } else { transpose(",
            flipped!("input", "a"),
            ") {perm = perm} } } }"
        )).positional("aten::rot90"),
    read_by("torch.cat", "", |i, a| i.join_tensors(a, false)).writes(&[write("concat", "... axis=dim")]),
    read_by("torch.stack", "", |i, a| i.join_tensors(a, true)),
    read("torch.tile Tensor.repeat", "input dims sizes",
        "let n = when given(dims) { dims } else { sizes };
         tile(reshape(input) {shape = [1 for i in range(input.rank, len(n))] ++ input.shape}) {repeats = n}"),
    read_by("torch.repeat_interleave", "input", |i, a| i.mapped(a, |i, x, _| i.repeat(a, x.v))),
    read_by("torch.diag", "input", |i, a| i.mapped(a, |i, x, _| i.diag(x, a.int("diagonal")?))),
    both("torch.diagonal aten::diagonal", "input offset dim1 dim2",
        "diagonal", "input offset=offset dim1=dim1 dim2=dim2"),
    both("Tensor.unfold aten::unfold", "input dimension size step",
        "unfold", "input axis=dimension size=size step=step"),
    read("nn.Fold F.fold", "input output_size kernel_size dilation padding stride",
        "col2im(input) {
           image_shape = output_size, block_shape = kernel_size, dilations = dilation, pads = padding ++ padding,
           strides = stride
         }"),
    both("F.pixel_shuffle nn.PixelShuffle", "input upscale_factor",
        "depth_to_space", "input blocksize=upscale_factor mode=\"CRD\""),
    read("F.pixel_unshuffle nn.PixelUnshuffle", "input downscale_factor",
        "let r = downscale_factor;
         let s = input.shape;
         let n = s[0]; let c = s[1]; let h = s[2]; let w = s[3];
         reshape(transpose(reshape(input) {shape = [n, c, h / r, r, w / r, r]}) {perm = [0, 1, 3, 5, 2, 4]}) {
           shape = [n, c * r * r, h / r, w / r]
         }"),
    both("F.channel_shuffle nn.ChannelShuffle", "input groups", "channel_shuffle", "input groups=groups"),
}

impl Importer<'_> {
    /// A list of integers as an attribute, or as a vector computed by the graph.
    pub(super) fn sizes(&mut self, list: &Val) -> Done<Result<Vec<Dim>, VertexId>> {
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

    fn flatten(&mut self, args: &Args<'_>) -> Done<Vec<Val>> {
        let (x, shape) = self.real_operand(args)?;
        let axis = |name: &str| args.int(name).and_then(|axis| axis_of(axis, shape.len()));
        let (from, to) = (axis("start_dim")?, axis("end_dim")?);
        let inner: Dim = shape.get(from..=to).unwrap_or_default().iter().cloned().product();
        let rest = shape.get(to + 1..).unwrap_or_default();
        let before = shape.get(..from).unwrap_or_default();
        let target = [before, &[inner], rest].concat();
        let v = self.call("reshape", &[x.v], &[("shape", AttrValue::Ints(target))])?;
        self.one(v, x.element)
    }

    fn swap_axes(&mut self, args: &Args<'_>) -> Done<Vec<Val>> {
        let (x, shape) = self.real_operand(args)?;
        let axis = |name: &str| args.int(name).and_then(|axis| axis_of(axis, shape.len()));
        let (a, b) = (axis("dim0")?, axis("dim1")?);
        let mut perm: Vec<i64> = (0..shape.len() as i64).collect();
        perm.swap(a, b);
        let v = self.call("transpose", &[x.v], &[("perm", AttrValue::ints(&perm))])?;
        self.one(v, x.element)
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
        self.one(v, element)
    }

    fn repeat(&mut self, args: &Args<'_>, x: VertexId) -> Done<VertexId> {
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
                _ => return unknown("the numbers of repeats are unknown"),
            },
            other => match other.const_ints() {
                Some(list) => list,
                None => return unknown("the numbers of repeats are unknown"),
            },
        };
        let often = |i: usize| repeats.get(i).or(repeats.first()).copied().unwrap_or(1);
        let mut places = Vec::new();
        let length = few(*element(&extents, axis, "the shape")?)?;
        for i in 0..length as i64 {
            let count = few(often(usize::try_from(i).unwrap_or(0)))?;
            few((places.len() + count) as i64)?;
            places.extend(std::iter::repeat_n(i, count));
        }
        let places = self.graph.constant(Tensor::vector(places));
        self.call("gather", &[x, places], &[("axis", AttrValue::int(axis as i64))])
    }

    fn diag(&mut self, x: Typed, offset: i64) -> Done<VertexId> {
        let extents = self.extents(x.v)?;
        let offset = offset.clamp(-MOST, MOST);
        let (down, right) = ((-offset).max(0), offset.max(0));
        match *extents.as_slice() {
            [n] => {
                let size = n.saturating_add(offset.abs());
                few(size.saturating_mul(size))?;
                // Off the diagonal, the index is that of the zero appended after the elements.
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
            _ => wrong("its operand must be a vector or a matrix"),
        }
    }
}

/// A reshape or expand; dimensions that are only known at run time are an operand.
fn reshaped(exporter: &mut Exporter<'_>, call: &Call<'_>, line: Line, key: &'static str) -> Option<Line> {
    let (AttrValue::Ints(dims), [_]) = (call.attr("shape"), call.operands) else {
        return None;
    };
    let zero = dims.iter().any(|d| d.as_const() == Some(0));
    if dims.is_empty() || call.flag("allowzero") != (zero && call.def.name == "reshape") {
        return None;
    }
    exporter.with_integers(line.named(&["input"]), key, dims)
}
