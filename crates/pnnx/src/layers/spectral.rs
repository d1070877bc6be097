//! Fourier transforms of whole axes.

use super::{Args, read_by};
use crate::import::{Done, Host, Importer, Val, axis_of, element, few, unknown, wrong};
use crate::{Category, ElementType};
use tautomer_graph::VertexId;
use tautomer_op::AttrValue;
use tautomer_tensor::Tensor;

/// A transform by its name; `n` or `s` has the lengths of signals.
macro_rules! transform {
    ($name:literal, $lengths:literal) => {
        read_by(
            concat!("torch.fft.", $name, " torch.fft_", $name),
            concat!("input ", $lengths, " dim norm"),
            |i, a| i.fourier(a, $name),
        )
        .positional(concat!("aten::fft_", $name))
    };
}

rows! {
    transform!("fft", "n"),
    transform!("ifft", "n"),
    transform!("rfft", "n"),
    transform!("irfft", "n"),
    transform!("hfft", "n"),
    transform!("ihfft", "n"),
    transform!("fft2", "s"),
    transform!("ifft2", "s"),
    transform!("rfft2", "s"),
    transform!("irfft2", "s"),
    transform!("fftn", "s"),
    transform!("ifftn", "s"),
    transform!("rfftn", "s"),
    transform!("irfftn", "s"),
    read_by("torch.fft.fftshift", "input dim", |i, a| i.shift_frequencies(a, false)).positional("aten::fft_fftshift"),
    read_by("torch.fft.ifftshift", "input dim", |i, a| i.shift_frequencies(a, true))
        .positional("aten::fft_ifftshift"),
}

/// The normalization of a transform.
#[derive(Clone, Copy, PartialEq)]
enum Norm {
    /// The inverse transform is divided by the number of elements.
    Backward,
    /// Both transforms are divided by the square root of that number.
    Ortho,
    /// The forward transform is divided by that number.
    Forward,
}

impl Importer<'_> {
    /// A transform, by its name in `torch.fft`.
    fn fourier(&mut self, args: &Args<'_>, name: &str) -> Done<Vec<Val>> {
        let mut x = self.operand(args, "input", 0)?;
        if x.element.category() < Category::Float {
            x = self.cast(x, ElementType::F32)?;
        }
        let mut shape = self.shape(x.v)?;
        if x.element.is_complex() {
            shape.pop();
        }
        let rank = shape.len();
        let (one, last_two) = (!name.ends_with(['2', 'n']), name.ends_with('2'));
        let sizes = match args.param(if one { "n" } else { "s" }) {
            Val::Host(Host::None) => None,
            given => match given.const_ints() {
                Some(sizes) => Some(sizes),
                None => return unknown("the length of the signal is unknown"),
            },
        };
        let dims = match args.param("dim") {
            Val::Host(Host::None) if one => vec![-1],
            Val::Host(Host::None) => {
                let all = if last_two { 2 } else { rank };
                let count = sizes.as_ref().map_or(all, Vec::len);
                (0..count as i64).map(|i| i - count as i64).collect()
            }
            given => match given.const_ints() {
                Some(dims) => dims,
                None => return unknown("`dim` is unknown"),
            },
        };
        if sizes.as_ref().is_some_and(|sizes| sizes.len() != dims.len()) {
            return wrong("`s` and `dim` differ in length");
        }
        let norm = match args.text("norm").as_str() {
            "" | "None" | "backward" => Norm::Backward,
            "ortho" => Norm::Ortho,
            "forward" => Norm::Forward,
            other => return wrong(format!("unknown norm `{other}`")),
        };
        let hermitian = name.starts_with("hf") || name.starts_with("ihf");
        let inverse = name.starts_with("if") || name.starts_with("ir") || name.starts_with("hf");
        let (to_real, from_real) = (
            name.starts_with("ir") || name.starts_with("hf"),
            name.starts_with('r') || name.starts_with("ihf"),
        );
        if from_real && x.element.is_complex() {
            return wrong("a transform of real signals has a complex operand");
        }
        let element_type = match x.element {
            e if e.is_complex() => e,
            ElementType::F64 => ElementType::C128,
            ElementType::F32 => ElementType::C64,
            _ => return unknown("a transform in half precision"),
        };
        let mut v = x.v;
        if !x.element.is_complex() {
            let axes = [("axes", AttrValue::ints(&[rank as i64]))];
            v = self.call("unsqueeze", &[v], &axes)?;
            if to_real {
                let pads = [vec![0; 2 * rank + 1], vec![1]].concat();
                v = self.call("pad", &[v], &[("pads", AttrValue::ints(&pads))])?;
            }
        }
        if name.starts_with("hf") {
            v = self.conjugate(v, element_type)?;
        }
        let mut axes = Vec::with_capacity(dims.len());
        for (i, &dim) in dims.iter().enumerate() {
            let axis = axis_of(dim, rank)?;
            let own = element(&shape, axis, "the shape")?.as_const();
            let size = sizes
                .as_ref()
                .and_then(|sizes| sizes.get(i))
                .copied()
                .filter(|&n| n != -1);
            if size.is_some_and(|n| n < 1) {
                return wrong("a signal has no elements");
            }
            axes.push((axis, size, own));
        }
        let Some((&last, others)) = axes.split_last() else {
            return wrong("it has no axes");
        };
        let mut count = Some(1i64);
        let mut counted = |length: Option<i64>| count = count.zip(length).map(|(a, b)| a.saturating_mul(b));
        if from_real {
            v = self.transform(v, last, false, true)?;
            counted(last.1.or(last.2));
        }
        let plain = if from_real || to_real { others } else { axes.as_slice() };
        for &axis in plain {
            v = self.transform(v, axis, inverse && name.starts_with('i'), false)?;
            counted(axis.1.or(axis.2));
        }
        let mut result = element_type;
        if to_real {
            let (axis, size, own) = last;
            let (Some(own), Some(length)) = (own, size.or(own.map(|m| m.saturating_sub(1).saturating_mul(2)))) else {
                return unknown("the size of the transformed axis is unknown");
            };
            v = self.real_signal(v, axis, own, length)?;
            counted(Some(length));
            result = element_type.real();
        }
        // The operator divides only in the inverse transform.
        let divided = if hermitian { !inverse } else { inverse };
        let by_operator = inverse;
        let power = match (norm, divided) {
            (Norm::Backward, true) | (Norm::Forward, false) => -1.0,
            (Norm::Ortho, _) => -0.5,
            _ => 0.0,
        } + if by_operator { 1.0 } else { 0.0 };
        if power != 0.0 {
            let Some(count) = count else {
                return unknown("the size of the transformed axis is unknown");
            };
            let factor = self.fill(self.dtype(v)?, &[], (count as f64).powf(power))?;
            v = self.call("mul", &[v, factor], &[])?;
        }
        if name.starts_with("ihf") {
            v = self.conjugate(v, element_type)?;
        }
        self.one(v, result)
    }

    /// The transform along one axis; the second argument contains its length if that differs from the size of the axis.
    fn transform(
        &mut self,
        v: VertexId,
        (axis, size, _): (usize, Option<i64>, Option<i64>),
        inverse: bool,
        onesided: bool,
    ) -> Done<VertexId> {
        let mut attrs = vec![
            ("axis", AttrValue::int(axis as i64)),
            ("inverse", AttrValue::Bool(inverse)),
            ("onesided", AttrValue::Bool(onesided)),
        ];
        if let Some(size) = size {
            few(size)?;
            attrs.push(("dft_length", AttrValue::int(size)));
        }
        self.call("dft", &[v], &attrs)
    }

    /// The complex conjugates.
    pub(super) fn conjugate(&mut self, v: VertexId, element: ElementType) -> Done<VertexId> {
        let Some(signs) = element
            .real()
            .dtype()
            .and_then(|dtype| Tensor::from_f64s(dtype, &[2], &[1.0, -1.0]))
        else {
            return wrong("no numbers have that type");
        };
        let signs = self.graph.constant(signs);
        self.call("mul", &[v, signs], &[])
    }

    /// The real signal of `length` elements whose spectrum begins with the `own` elements along an axis.
    pub(super) fn real_signal(&mut self, v: VertexId, axis: usize, own: i64, length: i64) -> Done<VertexId> {
        few(length)?;
        if length < 1 {
            return wrong("a signal has no elements");
        }
        let at = axis as i64;
        let half = length / 2 + 1;
        let mut v = v;
        if own > half {
            let list = |i: i64| AttrValue::ints(&[i]);
            let attrs = [("starts", list(0)), ("ends", list(half)), ("axes", list(at))];
            v = self.call("slice", &[v], &attrs)?;
        } else if own < half {
            let rank = self.shape(v)?.len();
            let mut pads = vec![0; 2 * rank];
            if let Some(pad) = pads.get_mut(rank + axis) {
                *pad = half - own;
            }
            v = self.call("pad", &[v], &[("pads", AttrValue::ints(&pads))])?;
        }
        // The rest of a real signal's spectrum: the same frequencies in reverse order.
        let rest: Vec<i64> = (1..=(length - 1) / 2).rev().collect();
        if !rest.is_empty() {
            let places = self.graph.constant(Tensor::vector(rest));
            let tail = self.call("gather", &[v, places], &[("axis", AttrValue::int(at))])?;
            let wide = if self.dtype(v)? == tautomer_tensor::DType::F64 {
                ElementType::C128
            } else {
                ElementType::C64
            };
            let tail = self.conjugate(tail, wide)?;
            v = self.call("concat", &[v, tail], &[("axis", AttrValue::int(at))])?;
        }
        let signal = self.transform(v, (axis, None, None), true, false)?;
        let real = self.graph.constant(Tensor::scalar(0i64));
        self.call("gather", &[signal, real], &[("axis", AttrValue::int(-1))])
    }

    /// Shifts the elements so that the zero frequency is in the middle, or back.
    fn shift_frequencies(&mut self, args: &Args<'_>, back: bool) -> Done<Vec<Val>> {
        let x = self.operand(args, "input", 0)?;
        let mut shape = self.extents(x.v)?;
        if x.element.is_complex() {
            shape.pop();
        }
        let dims = match args.param("dim") {
            Val::Host(Host::None) => (0..shape.len() as i64).collect(),
            given => match given.const_ints() {
                Some(dims) => dims,
                None => return unknown("`dim` is unknown"),
            },
        };
        let mut v = x.v;
        for dim in dims {
            let axis = axis_of(dim, shape.len())?;
            let length = *element(&shape, axis, "the shape")?;
            let at = if back { length / 2 } else { length - length / 2 };
            let places = few(length)? as i64;
            let order: Vec<i64> = (at..places).chain(0..at).collect();
            let order = self.graph.constant(Tensor::vector(order));
            v = self.call("gather", &[v, order], &[("axis", AttrValue::int(axis as i64))])?;
        }
        self.one(v, x.element)
    }
}
