//! Torch operators, imported by the table or by a function of their own.

use std::collections::HashSet;

use super::table::{self, Entry};
use super::val::{Host, Typed, Val};
use super::{Done, Importer, axis_of, spatial, unknown, wrong};
use crate::{Category, ElementType, Operator, Value};
use tautomer_graph::{Given, VertexId};
use tautomer_op::AttrValue;
use tautomer_tensor::{DType, Dim};

/// The transforms of `torch.fft`.
const TRANSFORMS: &[&str] = &[
    "fft", "ifft", "rfft", "irfft", "hfft", "ihfft", "fft2", "ifft2", "rfft2", "irfft2", "fftn", "ifftn", "rfftn",
    "irfftn",
];

/// The arguments of an operator: operands, parameters and tensors of the archive, all by name.
pub(super) struct Args<'a> {
    pub(super) op: &'a Operator,
    named: Vec<(&'a str, Val)>,
    positional: Vec<Val>,
}

impl Args<'_> {
    /// The operand or parameter with that name; if there is none, the unnamed operand at `place`.
    pub(super) fn get(&self, name: &str, place: Option<usize>) -> Val {
        let named = self
            .named
            .iter()
            .find(|(known, _)| *known == name)
            .map(|(_, value)| value);
        let value = named.or_else(|| self.positional.get(place?));
        value.cloned().unwrap_or(Val::Host(Host::None))
    }

    pub(super) fn param(&self, name: &str) -> Val {
        self.get(name, None)
    }

    /// The operands in order, regardless of their names.
    pub(super) fn operands(&self) -> &[Val] {
        &self.positional
    }

    pub(super) fn flag(&self, name: &str) -> bool {
        matches!(self.param(name), Val::Host(Host::Bool(true)))
    }

    pub(super) fn text(&self, name: &str) -> String {
        match self.param(name) {
            Val::Host(Host::Text(text)) => text,
            _ => String::new(),
        }
    }

    pub(super) fn int(&self, name: &str) -> Done<i64> {
        match self.param(name).int().and_then(|d| d.as_const()) {
            Some(value) => Ok(value),
            None => unknown(format!("`{name}` is not an integer")),
        }
    }

    /// The integers of a parameter; a single one is repeated `count` times.
    pub(super) fn ints(&self, name: &str, count: usize) -> Done<Vec<i64>> {
        match self.param(name).const_ints().as_deref() {
            Some(&[one]) => Ok(vec![one; count]),
            Some(ints) if ints.len() == count => Ok(ints.to_vec()),
            Some(ints) => unknown(format!(
                "`{name}` has length {}, but length {count} is required",
                ints.len()
            )),
            None => unknown(format!("`{name}` is not a list of {count} integers")),
        }
    }
}

impl Importer<'_> {
    pub(super) fn layer(&mut self, op: &Operator, inputs: &[Val]) -> Done<Vec<Val>> {
        let args = self.args(op, inputs)?;
        if op.kind == "F.grid_sample" && args.text("mode") == "bicubic" && args.text("padding_mode") == "border" {
            // Torch repeats the border for each element of the cubic kernel, while the operator clamps the sampling
            // position.
            return unknown("cubic sampling with a repeated border");
        }
        if let Some(entry) = table::find(&op.kind) {
            return self.by_table(entry, &args);
        }
        let dims = |kind: &str| {
            kind.trim_end_matches('d')
                .chars()
                .last()
                .and_then(|c| c.to_digit(10))
                .unwrap_or(2) as usize
        };
        let kind = op.kind.as_str();
        match kind {
            "nn.Conv1d" | "nn.Conv2d" | "nn.Conv3d" | "F.conv1d" | "F.conv2d" | "F.conv3d" => {
                self.conv(&args, dims(kind))
            }
            "nn.ConvTranspose1d" | "nn.ConvTranspose2d" | "nn.ConvTranspose3d" | "F.conv_transpose1d"
            | "F.conv_transpose2d" | "F.conv_transpose3d" => self.conv_transpose(&args, dims(kind)),
            "nn.BatchNorm1d" | "nn.BatchNorm2d" | "nn.BatchNorm3d" | "F.batch_norm" => self.batch_norm(&args),
            "nn.InstanceNorm1d" | "nn.InstanceNorm2d" | "nn.InstanceNorm3d" | "F.instance_norm" => {
                self.instance_norm(&args)
            }
            "nn.GroupNorm" | "F.group_norm" => self.group_norm(&args),
            "nn.LayerNorm" | "F.layer_norm" => self.layer_norm(&args, "layer_normalization"),
            "nn.RMSNorm" | "F.rms_norm" => self.layer_norm(&args, "rms_normalization"),
            "nn.MultiheadAttention" => self.multihead_attention(&args),
            "F.scaled_dot_product_attention" => self.attention(&args),
            "nn.RNN" | "nn.GRU" | "nn.LSTM" => self.recurrent(&args),
            "torch.eq" | "torch.ne" | "torch.lt" | "torch.le" | "torch.gt" | "torch.ge" | "torch.logical_and"
            | "torch.logical_or" | "torch.logical_xor" => {
                let name = kind.trim_start_matches("torch.");
                let (a, b) = (args.get("input", Some(0)), args.get("other", Some(1)));
                Ok(vec![self.compare(name, &a, &b)?.into()])
            }
            "torch.bitwise_and"
            | "torch.bitwise_or"
            | "torch.bitwise_xor"
            | "torch.bitwise_left_shift"
            | "torch.bitwise_right_shift"
            | "torch.add"
            | "torch.sub"
            | "torch.mul"
            | "torch.div"
            | "torch.maximum"
            | "torch.minimum"
            | "torch.pow"
            | "torch.remainder"
            | "torch.fmod"
            | "torch.atan2"
            | "torch.logaddexp"
            | "torch.floor_divide" => {
                let name = match kind.trim_start_matches("torch.") {
                    "bitwise_left_shift" => "lshift",
                    "bitwise_right_shift" => "rshift",
                    other => other.trim_start_matches("bitwise_"),
                };
                let other = if kind == "torch.pow" { "exponent" } else { "other" };
                let operands = [args.get("input", Some(0)), args.get(other, Some(1))];
                self.named_function(name, &operands)
            }
            "torch.bitwise_not" => {
                let x = self.operand(&args, "input", 0)?;
                let name = if x.element == ElementType::Bool {
                    "not"
                } else {
                    "bitwise_not"
                };
                let v = self.call(name, &[x.v], &[])?;
                Ok(vec![Typed::new(v, x.element).into()])
            }
            "torch.complex" => {
                let (re, im) = (self.operand(&args, "real", 0)?, self.operand(&args, "imag", 1)?);
                let element = match re.element {
                    ElementType::F64 => ElementType::C128,
                    ElementType::F16 => ElementType::C32,
                    _ => ElementType::C64,
                };
                Ok(vec![self.join(re.v, im.v, element)?.into()])
            }
            "torch.real" | "torch.imag" => {
                let x = self.operand(&args, "input", 0)?;
                Ok(vec![self.part(x, i64::from(kind == "torch.imag"))?.into()])
            }
            "torch.view_as_complex" | "torch.view_as_real" => self.view_as(&args),
            "torch.stft" => self.stft(&args),
            "torch.istft" => self.istft(&args),
            "aten::resolve_conj" | "aten::resolve_neg" => Ok(vec![self.operand(&args, "input", 0)?.into()]),
            "aten::_conj" | "torch.conj" => {
                let x = self.operand(&args, "input", 0)?;
                match x.element.is_complex() {
                    true => Ok(vec![Typed::new(self.conjugate(x.v, x.element)?, x.element).into()]),
                    false => Ok(vec![x.into()]),
                }
            }
            "torch.fft.fftshift" | "torch.fft.ifftshift" => self.shift_frequencies(&args, kind.ends_with("ifftshift")),
            _ if kind.starts_with("torch.fft.") || kind.starts_with("torch.fft_") => {
                let name = kind.get("torch.fft.".len()..).unwrap_or_default();
                match TRANSFORMS.contains(&name) {
                    true => self.fourier(&args, name),
                    false => unknown("unsupported PNNX operator"),
                }
            }
            "nn.LSTMCell" | "nn.GRUCell" | "nn.RNNCell" => self.cell(&args),
            "torch.diff" => self.differences(&args),
            "aten::nonzero_list" => self.nonzero(&args),
            "torch.einsum" => {
                let operands: Vec<VertexId> = args
                    .operands()
                    .iter()
                    .map(|v| self.tensor(v).map(|t| t.v))
                    .collect::<Done<_>>()?;
                let equation = match op.params.iter().find(|(key, _)| key == "equation") {
                    Some((_, text)) => AttrValue::str(text),
                    None => return wrong("it has no equation"),
                };
                let v = self.call("einsum", &operands, &[("equation", equation)])?;
                self.untyped(v)
            }
            "Tensor.to" | "Tensor.type_as" => {
                let x = self.operand(&args, "input", 0)?;
                let to = match args.get("other", Some(1)) {
                    Val::Tensor(other) => Some(other.element),
                    _ => ElementType::of_torch(&args.text("dtype")),
                };
                let Some(to) = to else {
                    return unknown("unsupported target element type");
                };
                Ok(vec![self.cast(x, to)?.into()])
            }
            _ if self.is_shape_operator(kind) => self.shape_operator(&args),
            _ if self.is_pool(kind) => self.pool(&args, dims(kind)),
            _ => match crate::Function::by_name(kind.trim_start_matches("torch.")) {
                Some(_) if kind.starts_with("torch.") => {
                    let operands = [args.get("input", Some(0))];
                    self.named_function(kind.trim_start_matches("torch."), &operands)
                }
                _ => unknown("unsupported PNNX operator"),
            },
        }
    }

    fn named_function(&mut self, name: &str, operands: &[Val]) -> Done<Vec<Val>> {
        match crate::Function::by_name(name) {
            Some(function) if function.arity().0 == operands.len() => Ok(vec![self.function(function, operands)?]),
            _ => unknown(format!("there is no function `{name}`")),
        }
    }

    fn args<'o>(&mut self, op: &'o Operator, inputs: &[Val]) -> Done<Args<'o>> {
        let mut args = Args {
            op,
            named: Vec::new(),
            positional: inputs.to_vec(),
        };
        for (name, value) in op.names_of_inputs().into_iter().zip(inputs) {
            // Some operators have other names for their first operand.
            match name {
                Some("self" | "tensor") => args.named.push(("input", value.clone())),
                Some(name) => args.named.push((name, value.clone())),
                None => {}
            }
        }
        for (key, ty) in &op.attributes {
            let value = self.weight(op, key, ty, &format!("{}.{key}", op.name))?;
            args.named.push((key, value));
        }
        for (key, text) in &op.params {
            // `bias=True` only says that there is a bias; what counts is the tensor.
            if !args.named.iter().any(|(known, _)| known == key) {
                args.named.push((key, Value::read(text).into()));
            }
        }
        Ok(args)
    }

    fn by_table(&mut self, entry: &'static Entry, args: &Args<'_>) -> Done<Vec<Val>> {
        let names: Vec<(&str, &str)> = entry
            .names
            .split_whitespace()
            .map(|name| name.split_once(':').unwrap_or((name, "")))
            .collect();
        let known: HashSet<&str> = names.iter().map(|(name, _)| *name).collect();
        if let Some((other, _)) = args.named.iter().find(|(name, _)| !known.contains(name)) {
            return unknown(format!("unsupported parameter `{other}`"));
        }
        let element_type = self.accumulated(args, &known)?;
        let mut given: Vec<(&str, Given<VertexId>)> = Vec::new();
        let mut element = None;
        let mut place = 0;
        let unnamed = args.op.input_names.is_empty();
        for (name, kind) in &names {
            let named = args
                .named
                .iter()
                .find(|(known, _)| known == name)
                .map(|(_, value)| value.clone());
            let value = match named {
                Some(value) => value,
                None if unnamed => {
                    place += 1;
                    args.positional.get(place - 1).cloned().unwrap_or(Val::Host(Host::None))
                }
                None => continue,
            };
            let value = match (*kind, value) {
                ("tensor", Val::Host(host)) if host != Host::None => {
                    Val::Tensor(self.tensor_of(&Val::Host(host), element.unwrap_or(ElementType::F32))?)
                }
                ("int", Val::Host(Host::Bool(truth))) => Val::Host(Host::Int(Dim::Const(i64::from(truth)))),
                (_, Val::Tensor(t)) if *name == "input" => match element_type {
                    Some(to) if !t.element.is_complex() => Val::Tensor(self.cast(t, to)?),
                    _ => Val::Tensor(t),
                },
                (_, value) => value,
            };
            match &value {
                Val::Tensor(t) if t.element.is_complex() => return unknown("its operand is complex"),
                Val::Tensor(t) => {
                    element.get_or_insert(t.element);
                    given.push((name, Given::Value(t.v)));
                }
                Val::Host(Host::None) => {}
                // Only says whether there is a tensor of that name.
                Val::Host(Host::Bool(_)) if *name == "bias" => {}
                Val::Host(Host::Computed(v, _)) => given.push((name, Given::Value(*v))),
                other => match other.attr() {
                    Some(attr) => given.push((name, Given::Attr(attr))),
                    None => return unknown(format!("unsupported value of `{name}`")),
                },
            }
        }
        if names.first().is_some_and(|(name, _)| *name == "input") && element.is_none() {
            return unknown("its operand is not a tensor");
        }
        let v = self.table_program(entry, &given)?;
        self.untyped(v)
    }

    /// The type in which an operator computes, if it is not its operand's: the type that the line requests, either by a
    /// parameter or as the type of its result, which is all that some exporters write; `i64` for sums of integers.
    fn accumulated(&mut self, args: &Args<'_>, known: &HashSet<&str>) -> Done<Option<ElementType>> {
        if !known.contains("dtype") {
            return Ok(None);
        }
        let asked = ElementType::of_torch(&args.text("dtype"));
        if asked.is_some() {
            return Ok(asked);
        }
        let Val::Tensor(x) = args.get("input", Some(0)) else {
            return Ok(None);
        };
        let declared = args.op.outputs.first().and_then(|name| args.op.type_of(name));
        if let Some(declared) = declared.map(|ty| ty.element).filter(|ty| ty.dtype().is_some()) {
            return Ok((declared != x.element && !declared.is_complex()).then_some(declared));
        }
        let sums = ["torch.sum", "torch.prod", "torch.cumsum", "torch.cumprod"].contains(&args.op.kind.as_str());
        Ok((sums && x.element.category() < Category::Float).then_some(ElementType::I64))
    }

    /// Values of vertices whose element types follow from the types in the graph.
    pub(super) fn untyped(&mut self, v: VertexId) -> Done<Vec<Val>> {
        let mut out = Vec::new();
        for v in self.parts(v)? {
            match ElementType::of_dtype(self.dtype(v)?) {
                Some(element) => out.push(Typed::new(v, element).into()),
                None => return unknown("unsupported element type"),
            }
        }
        Ok(out)
    }

    /// A tensor operand.
    pub(super) fn operand(&mut self, args: &Args<'_>, name: &str, place: usize) -> Done<Typed> {
        match args.get(name, Some(place)) {
            Val::Tensor(t) => Ok(t),
            Val::Host(Host::None) => wrong(format!("it has no operand `{name}`")),
            other => self.tensor(&other),
        }
    }

    /// An optional tensor operand.
    pub(super) fn optional(&mut self, args: &Args<'_>, name: &str) -> Option<VertexId> {
        match args.param(name) {
            Val::Tensor(t) => Some(t.v),
            _ => None,
        }
    }

    fn conv(&mut self, args: &Args<'_>, dims: usize) -> Done<Vec<Val>> {
        let (mut x, w) = (self.operand(args, "input", 0)?, self.operand(args, "weight", 1)?);
        let lone = self.shape(x.v)?.len() == dims + 1;
        if lone {
            x.v = self.call("unsqueeze", &[x.v], &[("axes", AttrValue::ints(&[0]))])?;
        }
        spatial(&self.shape(x.v)?, dims, "its input")?;
        let (strides, dilations) = (args.ints("stride", dims)?, args.ints("dilation", dims)?);
        let weight = self.extents(w.v)?;
        let kernel = spatial(&weight, dims, "its weight")?;
        let (before, after): (Vec<i64>, Vec<i64>) = match args.text("padding").as_str() {
            "same" => {
                let totals = dilations.iter().zip(kernel);
                let totals: Vec<i64> = totals.map(|(d, k)| d.saturating_mul(k.saturating_sub(1))).collect();
                (
                    totals.iter().map(|total| total / 2).collect(),
                    totals.iter().map(|total| total - total / 2).collect(),
                )
            }
            "valid" => (vec![0; dims], vec![0; dims]),
            _ => {
                let pads = args.ints("padding", dims)?;
                (pads.clone(), pads)
            }
        };
        let (zeros, mut pads) = (vec![0, 0], [before.clone(), after.clone()].concat());
        let mode = args.text("padding_mode");
        if !matches!(mode.as_str(), "" | "zeros") {
            let mode = pad_mode(&mode)?;
            let whole = [zeros.clone(), before, zeros, after].concat();
            x.v = self.call(
                "pad",
                &[x.v],
                &[("pads", AttrValue::ints(&whole)), ("mode", AttrValue::str(mode))],
            )?;
            pads = vec![0; 2 * dims];
        }
        let mut operands = vec![x.v, w.v];
        operands.extend(self.optional(args, "bias"));
        let attrs = [
            ("strides", AttrValue::ints(&strides)),
            ("pads", AttrValue::ints(&pads)),
            ("dilations", AttrValue::ints(&dilations)),
            ("group", AttrValue::int(args.int("groups")?)),
        ];
        let v = self.call("conv", &operands, &attrs)?;
        self.without_batch(v, lone, x.element)
    }

    fn without_batch(&mut self, v: VertexId, lone: bool, element: ElementType) -> Done<Vec<Val>> {
        let v = if lone {
            self.call("squeeze", &[v], &[("axes", AttrValue::ints(&[0]))])?
        } else {
            v
        };
        Ok(vec![Typed::new(v, element).into()])
    }

    fn conv_transpose(&mut self, args: &Args<'_>, dims: usize) -> Done<Vec<Val>> {
        let (mut x, w) = (self.operand(args, "input", 0)?, self.operand(args, "weight", 1)?);
        let lone = self.shape(x.v)?.len() == dims + 1;
        if lone {
            x.v = self.call("unsqueeze", &[x.v], &[("axes", AttrValue::ints(&[0]))])?;
        }
        let pads = args.ints("padding", dims)?;
        let attrs = [
            ("strides", AttrValue::ints(&args.ints("stride", dims)?)),
            ("pads", AttrValue::ints(&[pads.clone(), pads].concat())),
            ("dilations", AttrValue::ints(&args.ints("dilation", dims)?)),
            ("group", AttrValue::int(args.int("groups")?)),
            ("output_padding", AttrValue::ints(&args.ints("output_padding", dims)?)),
        ];
        let mut operands = vec![x.v, w.v];
        operands.extend(self.optional(args, "bias"));
        let v = self.call("conv_transpose", &operands, &attrs)?;
        self.without_batch(v, lone, x.element)
    }

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
        Ok(vec![Typed::new(v, x.element).into()])
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
        Ok(vec![Typed::new(v, x.element).into()])
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
        Ok(vec![Typed::new(v, x.element).into()])
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
        Ok(vec![Typed::new(v, x.element).into()])
    }
}

/// ONNX's name for torch's padding mode.
pub(super) fn pad_mode(mode: &str) -> Done<&'static str> {
    Ok(match mode {
        "constant" | "zeros" | "" => "constant",
        "reflect" => "reflect",
        "replicate" => "edge",
        "circular" => "wrap",
        other => return unknown(format!("padding `{other}`")),
    })
}
