//! Normalizations.

use super::{Args, read, read_by, write, write_by};
use crate::export::{Call, Exporter, Line, attr_text, tuple};
use crate::import::{Done, Host, Importer, Val, axis_of, unknown, wrong};
use tautomer_graph::VertexId;
use tautomer_op::AttrValue;
use tautomer_tensor::{DType, Dim};

rows! {
    read_by("F.batch_norm nn.BatchNorm#d", "input running_mean running_var weight bias", |i, a| i.batch_norm(a))
        .writes(&[write("batch_normalization", "input weight bias running_mean running_var epsilon=eps")]),
    read_by("F.instance_norm nn.InstanceNorm#d", "input weight bias", |i, a| i.instance_norm(a))
        .writes(&[write("instance_normalization", "input weight bias epsilon=eps")]),
    read_by("F.group_norm nn.GroupNorm", "input weight bias", |i, a| i.group_norm(a))
        .writes(&[write("group_normalization", "input weight bias epsilon=eps num_groups=num_groups")]),
    read_by("F.layer_norm nn.LayerNorm", "input weight bias", |i, a| i.layer_norm(a, "layer_normalization"))
        .writes(&[write_by("layer_normalization", over_last_axes)]),
    read_by("F.rms_norm nn.RMSNorm", "input weight bias", |i, a| i.layer_norm(a, "rms_normalization"))
        .writes(&[write_by("rms_normalization", over_last_axes)]),
    // With an even number of channels, the window reaches one further down, while ONNX's reaches one further up.
    read("nn.LocalResponseNorm F.local_response_norm", "input size alpha beta k",
        "let a = when given(alpha) { alpha } else { 0.0001 };
         let b = when given(beta) { beta } else { 0.75 };
         let c = when given(k) { k } else { 1.0 };
         when size % 2 == 1 { lrn(input) {size = size, alpha = a, beta = b, bias = c} } else {
           let q = reshape(input * input) {shape = [input.shape[0], 1, input.shape[1], -1]};
           let m = average_pool(q) {
             kernel_shape = [size, 1], pads = [size / 2, 0, (size - 1) / 2, 0], count_include_pad = true
           };
           input / pow(reshape(m) {shape = input.shape} * a + c, b)
         }"),
}

impl Importer<'_> {
    fn channels(&self, x: VertexId) -> Done<usize> {
        match self
            .shape(x)?
            .get(1)
            .and_then(Dim::as_const)
            .and_then(|n| usize::try_from(n).ok())
        {
            Some(n) => Ok(n),
            None => unknown("the number of channels is unknown"),
        }
    }

    /// Scale and shift of a normalization; ones and zeros if they are missing.
    fn affine(&mut self, args: &Args<'_>, dtype: DType, shape: &[usize]) -> Done<[VertexId; 2]> {
        let scale = match self.optional(args, "weight") {
            Some(v) => v,
            None => self.fill(dtype, shape, 1.0)?,
        };
        let shift = match self.optional(args, "bias") {
            Some(v) => v,
            None => self.fill(dtype, shape, 0.0)?,
        };
        Ok([scale, shift])
    }

    fn epsilon(args: &Args<'_>) -> AttrValue {
        // The number in the file is in single precision.
        AttrValue::float(args.param("eps").float().unwrap_or(1e-5))
    }

    fn batch_norm(&mut self, args: &Args<'_>) -> Done<Vec<Val>> {
        let x = self.operand(args, "input", 0)?;
        let (mean, var) = (
            self.operand(args, "running_mean", 1)?,
            self.operand(args, "running_var", 2)?,
        );
        let (dtype, channels) = (self.dtype(x.v)?, self.channels(x.v)?);
        let [scale, shift] = self.affine(args, dtype, &[channels])?;
        let operands = [x.v, scale, shift, mean.v, var.v];
        let v = self.call("batch_normalization", &operands, &[("epsilon", Self::epsilon(args))])?;
        self.one(v, x.element)
    }

    fn instance_norm(&mut self, args: &Args<'_>) -> Done<Vec<Val>> {
        if args.flag("track_running_stats") {
            return self.batch_norm(args);
        }
        let x = self.operand(args, "input", 0)?;
        let (dtype, channels) = (self.dtype(x.v)?, self.channels(x.v)?);
        let [scale, shift] = self.affine(args, dtype, &[channels])?;
        let v = self.call(
            "instance_normalization",
            &[x.v, scale, shift],
            &[("epsilon", Self::epsilon(args))],
        )?;
        self.one(v, x.element)
    }

    fn group_norm(&mut self, args: &Args<'_>) -> Done<Vec<Val>> {
        let x = self.operand(args, "input", 0)?;
        let (dtype, channels) = (self.dtype(x.v)?, self.channels(x.v)?);
        let [scale, shift] = self.affine(args, dtype, &[channels])?;
        let attrs = [
            ("num_groups", AttrValue::int(args.int("num_groups")?)),
            ("epsilon", Self::epsilon(args)),
        ];
        let flat = self.shape(x.v)?.len() == 2;
        let mut v = x.v;
        if flat {
            v = self.call("unsqueeze", &[v], &[("axes", AttrValue::ints(&[2]))])?;
        }
        v = self.call("group_normalization", &[v, scale, shift], &attrs)?;
        if flat {
            v = self.call("squeeze", &[v], &[("axes", AttrValue::ints(&[2]))])?;
        }
        self.one(v, x.element)
    }

    fn layer_norm(&mut self, args: &Args<'_>, name: &str) -> Done<Vec<Val>> {
        let x = self.operand(args, "input", 0)?;
        let dtype = self.dtype(x.v)?;
        let Some(shape) = args.param("normalized_shape").const_ints() else {
            return unknown("`normalized_shape` is unknown");
        };
        let extents: Option<Vec<usize>> = shape.iter().map(|&n| usize::try_from(n).ok()).collect();
        let Some(extents) = extents else {
            return wrong("`normalized_shape` is negative");
        };
        let [scale, shift] = self.affine(args, dtype, &extents)?;
        let mut operands = vec![x.v, scale];
        if name == "layer_normalization" && self.optional(args, "bias").is_some() {
            operands.push(shift);
        }
        let epsilon = match args.param("eps") {
            Val::Host(Host::None) if name == "rms_normalization" => AttrValue::float(f64::from(f32::EPSILON)),
            _ => Self::epsilon(args),
        };
        let rank = self.shape(x.v)?.len();
        let axis = axis_of(-(shape.len() as i64), rank)? as i64;
        let v = self.call(name, &operands, &[("axis", AttrValue::int(axis)), ("epsilon", epsilon)])?;
        self.one(v, x.element)
    }
}

fn over_last_axes(exporter: &mut Exporter<'_>, call: &Call<'_>, line: Line) -> Option<Line> {
    if !call.plain_but(&["axis", "epsilon"]) {
        return None;
    }
    let shape = exporter.tensor_type(*call.operands.first()?)?.shape.as_ref()?;
    let axis = usize::try_from(call.int("axis")?).ok()?;
    let last: Option<Vec<i64>> = shape.get(axis..)?.iter().map(Dim::as_const).collect();
    let last = last.filter(|last| !last.is_empty())?;
    // When read back, the scale has the shape of these axes.
    let scale = exporter
        .tensor_type(*call.operands.get(1)?)?
        .shape
        .as_ref()?
        .to_concrete()?;
    if scale.iter().map(|&n| n as i64).ne(last.iter().copied()) {
        return None;
    }
    let line = line.named(["input", "weight", "bias"].get(..call.operands.len())?);
    let line = line.param("normalized_shape", tuple(&last));
    Some(line.param("eps", attr_text(call.attr("epsilon"))?))
}
