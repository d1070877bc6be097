//! Operators that create the constant vectors and matrices of signal processing: tapering windows and mel filters.

use std::f64::consts::PI;

use super::common::{Out, build, typed};
use super::{AttrDef, AttrKind, CostRule, Default, Eval, Formula, Infer, OpDef, OpError, Operand, System, Value};
use crate::reference;
use tautomer_tensor::{DType, Dim, Type};

const SIZE: &[Operand] = &[Operand::attr("size")];
const WINDOW: &[AttrDef] = &[
    AttrDef::new("size", AttrKind::Int, Default::Required, "the number of elements"),
    AttrDef::new(
        "output_datatype",
        AttrKind::DType,
        Default::DType(DType::F32),
        "element type",
    ),
    AttrDef::new(
        "periodic",
        AttrKind::Bool,
        Default::Bool(true),
        "whether the window is one period, followed by its first element, instead of symmetric",
    ),
];

/// The operators of this family.
pub(super) const OPS: &[OpDef] = &[
    window("hann_window", "The Hann window: the squared sine over half a turn.")
        .reference(reference!(hann))
        .formula(Formula::Whole)
        .onnx("HannWindow", 17),
    window(
        "hamming_window",
        "The Hamming window: a cosine over a turn, raised to stay above 0.",
    )
    .reference(reference!(hamming))
    .formula(Formula::Whole)
    .onnx("HammingWindow", 17),
    window(
        "blackman_window",
        "The Blackman window: the sum of a constant and two cosines.",
    )
    .reference(reference!(blackman))
    .formula(Formula::Whole)
    .onnx("BlackmanWindow", 17),
    OpDef::new(
        "mel_weight_matrix",
        "The matrix that maps a spectrum to the mel scale: each column is a triangular filter.",
    )
    .operands(&[
        Operand::attr("num_mel_bins"),
        Operand::attr("dft_length"),
        Operand::attr("sample_rate"),
        Operand::attr("lower_edge_hertz"),
        Operand::attr("upper_edge_hertz"),
    ])
    .attrs(&[
        AttrDef::new(
            "num_mel_bins",
            AttrKind::Int,
            Default::Required,
            "the number of columns",
        ),
        AttrDef::new(
            "dft_length",
            AttrKind::Int,
            Default::Required,
            "the number of samples that the spectrum was computed from",
        ),
        AttrDef::new("sample_rate", AttrKind::Int, Default::Required, "samples per second"),
        AttrDef::new(
            "lower_edge_hertz",
            AttrKind::Float,
            Default::Required,
            "the lowest frequency in hertz",
        ),
        AttrDef::new(
            "upper_edge_hertz",
            AttrKind::Float,
            Default::Required,
            "the highest frequency in hertz",
        ),
        AttrDef::new(
            "output_datatype",
            AttrKind::DType,
            Default::DType(DType::F32),
            "element type",
        ),
    ])
    .infer(infer_mel)
    .reference(reference!(mel))
    .formula(Formula::Whole)
    .cost(CostRule::Elementwise(1.0))
    .onnx("MelWeightMatrix", 17),
];

const fn window(name: &'static str, doc: &'static str) -> OpDef {
    OpDef::new(name, doc)
        .operands(SIZE)
        .attrs(WINDOW)
        .infer(infer_window)
        .cost(CostRule::Elementwise(20.0))
}

fn number_type(call: &Infer<'_>) -> Result<DType, OpError> {
    call.dtype("output_datatype")
        .filter(|d| d.is_number())
        .ok_or_else(|| OpError::new("`output_datatype` must be a type of numbers").attr("output_datatype"))
}

/// The dimension given by attribute `name`.
fn extent(call: &Infer<'_>, name: &str) -> Result<Dim, OpError> {
    let known = call.int(name);
    if let Some(n) = known.as_ref().and_then(Dim::as_const).filter(|&n| n < 0) {
        return Err(OpError::new(format!("`{name}` must not be negative, but is {n}")).attr(name));
    }
    Ok(known.unwrap_or_else(|| call.unknown()))
}

fn infer_window(call: &Infer<'_>) -> Result<Type, OpError> {
    let dtype = number_type(call)?;
    if call.attr_operand("size").is_some() {
        call.expect_dtype(0, DType::is_int, "an integer")?;
    }
    Ok(typed(dtype, Some([extent(call, "size")?].into_iter().collect())))
}

/// Numbers as values of the element type of the result; integers are truncated towards zero.
fn numbers<S: System>(e: &Eval<'_, S>, f: &mut dyn FnMut(&[usize]) -> Result<f64, OpError>) -> Out<S> {
    let (shape, dtype) = (e.out_shape(0)?, e.out_dtype());
    Ok(vec![if dtype.is_float() {
        Value::Real(build(&shape, |at| Ok(S::from_f64(f(at)?)?))?)
    } else {
        Value::Int(build(&shape, |at| Ok(dtype.wrap(f(at)? as i128)))?)
    }])
}

/// The sum of `weights[k]` times the cosine of `k` turns over the length of the window.
fn cosines<S: System>(e: &Eval<'_, S>, weights: &[f64]) -> Out<S> {
    let size = e.out_shape(0)?.first().copied().unwrap_or(0);
    let length = if e.flag("periodic") {
        size
    } else {
        size.saturating_sub(1)
    };
    numbers(e, &mut |at| {
        // A single element is the centre of its window.
        let turn = if length == 0 { 0.5 } else { at[0] as f64 / length as f64 };
        let term = |(k, w): (usize, &f64)| w * (2.0 * PI * k as f64 * turn).cos();
        Ok(weights.iter().enumerate().map(term).sum())
    })
}

fn hann<S: System>(e: &Eval<'_, S>) -> Out<S> {
    cosines(e, &[0.5, -0.5])
}

fn hamming<S: System>(e: &Eval<'_, S>) -> Out<S> {
    cosines(e, &[25.0 / 46.0, -21.0 / 46.0])
}

fn blackman<S: System>(e: &Eval<'_, S>) -> Out<S> {
    cosines(e, &[0.42, -0.5, 0.08])
}

fn infer_mel(call: &Infer<'_>) -> Result<Type, OpError> {
    let dtype = number_type(call)?;
    let bins = extent(call, "num_mel_bins")?;
    let spectrum = extent(call, "dft_length")?.floor_div(&Dim::Const(2)) + Dim::Const(1);
    if let Some(rate) = call.const_int("sample_rate").filter(|&rate| rate < 1) {
        return Err(OpError::new(format!("`sample_rate` must be at least 1, but is {rate}")).attr("sample_rate"));
    }
    Ok(typed(dtype, Some([spectrum, bins].into_iter().collect())))
}

fn mel<S: System>(e: &Eval<'_, S>) -> Out<S> {
    let integer = |name: &str| {
        e.int(name)
            .ok_or_else(|| OpError::new(format!("the value of `{name}` is unknown")))
    };
    let number = |name: &str| {
        e.float(name)
            .ok_or_else(|| OpError::new(format!("the value of `{name}` is unknown")))
    };
    let (bins, length, rate) = (
        integer("num_mel_bins")?,
        integer("dft_length")?,
        integer("sample_rate")?,
    );
    let mel = |hertz: f64| 2595.0 * (1.0 + hertz / 700.0).log10();
    let (low, high) = (mel(number("lower_edge_hertz")?), mel(number("upper_edge_hertz")?));
    let step = (high - low) / (bins + 2) as f64;
    // The place in the spectrum of edge `i`; column `i` rises from edge `i` to the next, and falls to the one after
    // that.
    let edge = |i: usize| {
        let hertz = 700.0 * (10f64.powf((i as f64 * step + low) / 2595.0) - 1.0);
        ((length + 1) as f64 * hertz / rate as f64).floor()
    };
    numbers(e, &mut |at| {
        let row = at[0] as f64;
        let (left, top, right) = (edge(at[1]), edge(at[1] + 1), edge(at[1] + 2));
        Ok(if row >= top && row < right {
            (right - row) / (right - top)
        } else if row == top {
            1.0
        } else if row >= left && row < top {
            (row - left) / (top - left)
        } else {
            0.0
        })
    })
}
