//! Operators carried along unread, and operators on signals.

use std::sync::Arc;

use super::layers::Args;
use super::val::{Host, Typed, Val};
use super::{Done, Importer, few, unknown, wrong};
use crate::{ElementType, Extent, Operator};
use tautomer_graph::{Given, VertexId};
use tautomer_op::{AttrValue, OpaqueOp};
use tautomer_tensor::{DType, Dim, Shape, Tensor, TensorType, Type};

/// The namespace of operators that are carried along.
pub(crate) const DOMAIN: &str = "pnnx";
/// The attribute with the names of inputs; an empty string for an unnamed one.
pub(crate) const INPUTS: &str = "pnnx.inputs";
/// The attribute with the keys of tensors in the archive, which are the last operands.
pub(crate) const TENSORS: &str = "pnnx.tensors";

/// The attribute with the name of the operator.
pub(crate) const NAME: &str = "pnnx.name";

/// A short-time Fourier transform as in torch; `n` samples per frame, `window` as long as a frame.
const STFT: &str = "fn stft(input, window, places, n, pad, pad_mode, onesided, normalized) {
    let length = input.shape[input.rank - 1];
    let flat = reshape(input) {shape = [prod(input.shape[..input.rank - 1]), length]};
    let padded = when pad > 0 { pad(flat) {pads = [0, pad, 0, pad], mode = pad_mode} } else { flat };
    let count = places.shape[0];
    let frames = gather(padded, places) {axis = 1};
    let shaped = reshape(frames * window) {shape = [prod(input.shape[..input.rank - 1]), count, n, 1]};
    let spectrum = dft(shaped) {axis = 2, onesided = onesided};
    let scaled = when normalized { spectrum / sqrt(n) } else { spectrum };
    let turned = transpose(scaled) {perm = [0, 2, 1, 3]};
    reshape(turned) {shape = input.shape[..input.rank - 1] ++ turned.shape[1..]}
}";

impl Importer<'_> {
    /// A vertex that stands for the operator without interpreting it.
    pub(super) fn opaque(&mut self, op: &Operator, inputs: &[Val]) -> Done<Vec<Val>> {
        let mut elements = Vec::new();
        let mut types = Vec::new();
        for value in &op.outputs {
            let declared = op.type_of(value);
            let element = declared.map_or(ElementType::F32, |ty| ty.element);
            let Some(dtype) = element.dtype() else {
                return wrong("a result has no element type");
            };
            let shape = declared.map(|ty| {
                let mut shape: Shape = ty
                    .shape
                    .iter()
                    .map(|extent| match extent {
                        Extent::Known(n) => Dim::from(*n),
                        _ => self.graph.unknown_dim(),
                    })
                    .collect();
                if element.is_complex() {
                    shape.push(Dim::Const(2));
                }
                shape
            });
            elements.push(element);
            types.push(Type::from(TensorType { dtype, shape }));
        }
        let mut operands: Vec<VertexId> = Vec::new();
        for value in inputs {
            let mut items = Vec::new();
            value.flatten(&mut items);
            for item in items {
                operands.push(match &item {
                    Val::Host(Host::None | Host::Text(_)) => self.graph.absent(),
                    other => self.tensor(other)?.v,
                });
            }
        }
        let names = op.names_of_inputs();
        let names: Vec<Arc<str>> = names.iter().map(|name| name.unwrap_or_default().into()).collect();
        let mut keys: Vec<Arc<str>> = Vec::new();
        for (key, ty) in &op.attributes {
            let Val::Tensor(t) = self.weight(op, key, ty, &format!("{}.{key}", op.name))? else {
                continue;
            };
            operands.push(t.v);
            keys.push(key.as_str().into());
        }
        let mut attr_names: Vec<Arc<str>> = vec![INPUTS.into(), TENSORS.into(), NAME.into()];
        let mut attrs = vec![AttrValue::Strs(names), AttrValue::Strs(keys), AttrValue::str(&op.name)];
        for (key, text) in &op.params {
            attr_names.push(key.as_str().into());
            attrs.push(AttrValue::str(text));
        }
        let count = types.len();
        let result = match count {
            0 => return Ok(Vec::new()),
            1 => types.remove(0),
            _ => Type::Tuple(types),
        };
        let opaque = OpaqueOp {
            domain: DOMAIN.to_owned(),
            name: op.kind.clone(),
            attr_names,
            result,
        };
        let v = self.graph.opaque(opaque, &operands, attrs);
        let parts = self.parts(v)?;
        Ok(parts
            .into_iter()
            .zip(elements)
            .map(|(v, element)| Typed::new(v, element).into())
            .collect())
    }

    pub(super) fn view_as(&mut self, args: &Args<'_>) -> Done<Vec<Val>> {
        let x = self.operand(args, "input", 0)?;
        let element = match (args.op.kind.as_str(), x.element) {
            ("torch.view_as_real", ElementType::C64) => ElementType::F32,
            ("torch.view_as_real", ElementType::C128) => ElementType::F64,
            ("torch.view_as_complex", ElementType::F32) => ElementType::C64,
            ("torch.view_as_complex", ElementType::F64) => ElementType::C128,
            ("torch.view_as_complex", ElementType::F16) => ElementType::C32,
            _ => return wrong("no complex type has such parts"),
        };
        if self.shape(x.v)?.last() != Some(&Dim::Const(2)) {
            return wrong("the last axis does not hold real and imaginary part");
        }
        Ok(vec![Typed::new(x.v, element).into()])
    }

    pub(super) fn stft(&mut self, args: &Args<'_>) -> Done<Vec<Val>> {
        let x = self.operand(args, "input", 0)?;
        if x.element.is_complex() || !args.flag("return_complex") {
            return unknown("a transform of complex numbers, or one with real pairs as result");
        }
        let (dtype, n) = (self.dtype(x.v)?, args.int("n_fft")?);
        let length = args.param("win_length").int().and_then(|d| d.as_const()).unwrap_or(n);
        let hop = args
            .param("hop_length")
            .int()
            .and_then(|d| d.as_const())
            .unwrap_or(n / 4);
        few(n)?;
        if n < 1 || hop < 1 || length < 1 || length > n {
            return wrong("the frames are empty");
        }
        let mut window = match args.get("window", None) {
            Val::Tensor(t) => t.v,
            _ => self.fill(dtype, &[usize::try_from(length).unwrap_or(1)], 1.0)?,
        };
        let left = (n - length) / 2;
        if length < n {
            let pads = AttrValue::ints(&[left, n - length - left]);
            window = self.call("pad", &[window], &[("pads", pads)])?;
        }
        let pad = if args.flag("center") { n / 2 } else { 0 };
        let mode = super::layers::pad_mode(&args.text("pad_mode"))?;
        let total = self.extents(x.v)?.last().copied().unwrap_or(0).saturating_add(2 * pad);
        if total < n || dtype == DType::F16 {
            return unknown("a signal shorter than a frame, or in half precision");
        }
        let count = 1 + (total - n) / hop;
        few(count.saturating_mul(n))?;
        let places: Vec<i64> = (0..count).flat_map(|i| (0..n).map(move |k| i * hop + k)).collect();
        let frames = [usize::try_from(count).unwrap_or(0), usize::try_from(n).unwrap_or(0)];
        let places = match Tensor::new(&frames, places) {
            Some(places) => self.graph.constant(places),
            None => return wrong("too many frames"),
        };
        // Real signals get a one-sided transform unless both sides are requested.
        let onesided = args.param("onesided").is_none() || args.flag("onesided");
        let given = [
            ("input", Given::Value(x.v)),
            ("window", Given::Value(window)),
            ("n", Given::Attr(AttrValue::int(n))),
            ("places", Given::Value(places)),
            ("pad", Given::Attr(AttrValue::int(pad))),
            ("pad_mode", Given::Attr(AttrValue::str(mode))),
            ("onesided", Given::Attr(AttrValue::Bool(onesided))),
            ("normalized", Given::Attr(AttrValue::Bool(args.flag("normalized")))),
        ];
        let v = self.program(STFT, &given)?;
        let element = if dtype == DType::F64 {
            ElementType::C128
        } else {
            ElementType::C64
        };
        Ok(vec![Typed::new(v, element).into()])
    }
}
