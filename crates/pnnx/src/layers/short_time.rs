//! Short-time Fourier transforms.

use super::padding::pad_mode;
use super::{Args, read_by};
use crate::ElementType;
use crate::import::{Done, Host, Importer, Val, few, unknown, wrong};
use tautomer_graph::Given;
use tautomer_op::AttrValue;
use tautomer_tensor::{DType, Dim, Tensor};

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

/// Overlap-add of the segments of a signal; `pieces` has a row for each of them.
const OVERLAP: &str = "fn overlap(pieces, window, n, hop, total, start, end) {
    let weighted = transpose(pieces * window) {perm = [0, 2, 1]};
    let sums = col2im(weighted) {image_shape = [1, total], block_shape = [1, n], strides = [1, hop]};
    let squares = expand(reshape(window * window) {shape = [1, n, 1]}) {shape = [1, n, pieces.shape[1]]};
    let weights = col2im(squares) {image_shape = [1, total], block_shape = [1, n], strides = [1, hop]};
    let cut = slice(sums) {starts = [start], ends = [end], axes = [3]};
    let by = slice(weights) {starts = [start], ends = [end], axes = [3]};
    reshape(cut / by) {shape = [pieces.shape[0], -1]}
}";

rows! {
    read_by("torch.stft", "input", |i, a| i.stft(a)),
    read_by("torch.istft", "input", |i, a| i.istft(a)),
}

impl Importer<'_> {
    fn stft(&mut self, args: &Args<'_>) -> Done<Vec<Val>> {
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
        let mode = pad_mode(&args.text("pad_mode"))?;
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
        self.one(v, element)
    }

    /// The signal with the given short-time transform.
    fn istft(&mut self, args: &Args<'_>) -> Done<Vec<Val>> {
        let x = self.operand(args, "input", 0)?;
        if !x.element.is_complex() || args.flag("return_complex") {
            return unknown("a transform of real pairs, or one with complex results");
        }
        let n = args.int("n_fft")?;
        let or = |name: &str, missing: i64| args.param(name).int().and_then(|d| d.as_const()).unwrap_or(missing);
        let (hop, length) = (or("hop_length", n / 4), or("win_length", n));
        few(n)?;
        if n < 1 || hop < 1 || length < 1 || length > n {
            return wrong("the segments are empty");
        }
        let shape = self.shape(x.v)?;
        let (Some(lead), Some((frequencies, pieces))) = (
            shape.len().checked_sub(3).and_then(|lead| shape.get(..lead)),
            shape.iter().rev().nth(2).zip(shape.iter().rev().nth(1)),
        ) else {
            return wrong(format!(
                "its operand has rank {}, but at least 2 is required",
                shape.len().saturating_sub(1)
            ));
        };
        let (Some(frequencies), Some(pieces)) = (frequencies.as_const(), pieces.as_const()) else {
            return unknown("the number of segments is unknown");
        };
        let onesided = match args.param("onesided") {
            Val::Host(Host::Bool(onesided)) => onesided,
            _ => frequencies != n || n == 1,
        };
        let expected = if onesided { n / 2 + 1 } else { n };
        if frequencies != expected {
            return wrong(format!("it has {frequencies} frequencies, but {expected} are required"));
        }
        let (total, center) = (
            few(pieces.saturating_sub(1).saturating_mul(hop).saturating_add(n))? as i64,
            param_flag(args, "center", true),
        );
        let start = if center { n / 2 } else { 0 };
        let (end, missing) = match args.param("length").int().and_then(|d| d.as_const()) {
            Some(length) => {
                let end = start.saturating_add(few(length)? as i64);
                (end.min(total), (end - total).max(0))
            }
            None => (if center { total - n / 2 } else { total }, 0),
        };
        if end <= start {
            return wrong("the signal has no elements");
        }
        let real = x.element.real();
        let Some(dtype) = real.dtype() else {
            return wrong("no numbers have that type");
        };
        let mut window = match args.get("window", None) {
            Val::Tensor(t) => self.cast(t, real)?.v,
            _ => self.fill(dtype, &[few(length)?], 1.0)?,
        };
        let left = (n - length) / 2;
        if length < n {
            let pads = AttrValue::ints(&[left, n - length - left]);
            window = self.call("pad", &[window], &[("pads", pads)])?;
        }
        let batch: Dim = lead.iter().cloned().product();
        let flat = vec![batch, Dim::Const(frequencies), Dim::Const(pieces), Dim::Const(2)];
        let v = self.call("reshape", &[x.v], &[("shape", AttrValue::Ints(flat))])?;
        let v = self.call("transpose", &[v], &[("perm", AttrValue::ints(&[0, 2, 1, 3]))])?;
        // Of two-sided spectra, torch reads only the first half.
        let mut signal = self.real_signal(v, 2, frequencies, n)?;
        if args.flag("normalized") {
            let factor = self.fill(dtype, &[], (n as f64).sqrt())?;
            signal = self.call("mul", &[signal, factor], &[])?;
        }
        let int = |value: i64| Given::Attr(AttrValue::int(value));
        let given = [
            ("pieces", Given::Value(signal)),
            ("window", Given::Value(window)),
            ("n", int(n)),
            ("hop", int(hop)),
            ("total", int(total)),
            ("start", int(start)),
            ("end", int(end)),
        ];
        let mut v = self.program(OVERLAP, &given)?;
        if missing > 0 {
            let pads = AttrValue::ints(&[0, 0, 0, missing]);
            v = self.call("pad", &[v], &[("pads", pads)])?;
        }
        let target = [lead, &[Dim::Const(end - start + missing)]].concat();
        let v = self.call("reshape", &[v], &[("shape", AttrValue::Ints(target))])?;
        self.one(v, real)
    }
}

/// A boolean parameter; `missing` if it is omitted.
fn param_flag(args: &Args<'_>, name: &str, missing: bool) -> bool {
    match args.param(name) {
        Val::Host(Host::Bool(value)) => value,
        _ => missing,
    }
}
