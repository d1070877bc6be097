//! Fourier transforms. The last axis holds a real number, or a real and an imaginary part.

use super::common::{Out, at, build, count, known_axis, typed};
use super::{
    AttrDef, AttrKind, AxisOf, CostRule, Default, Eval, Formula, Infer, Number, OpDef, OpError, Operand, System, Value,
};
use crate::reference;
use tautomer_tensor::{DType, Dim, Nd, Shape, Type};

/// The operators of this family.
pub(super) const OPS: &[OpDef] = &[
    OpDef::new("dft", "The discrete Fourier transform along an axis, or its inverse.")
        .operands(&[Operand::one("x"), Operand::attr("dft_length"), Operand::attr("axis")])
        .attrs(&[
            AttrDef::new(
                "dft_length",
                AttrKind::Int,
                Default::None,
                "the length to which the signal is cut or zero-padded; that of the axis if left out",
            ),
            AttrDef::new(
                "axis",
                AttrKind::Axis(AxisOf::Input),
                Default::Int(-2),
                "the axis of the signal",
            ),
            AttrDef::new(
                "inverse",
                AttrKind::Bool,
                Default::Bool(false),
                "whether to compute the inverse",
            ),
            AttrDef::new(
                "onesided",
                AttrKind::Bool,
                Default::Bool(false),
                "whether to omit the frequencies that are redundant for real signals",
            ),
        ])
        .infer(infer_dft)
        .reference(reference!(dft))
        .formula(Formula::Whole)
        .cost(CostRule::Elementwise(32.0))
        .onnx("DFT", 17),
    OpDef::new(
        "stft",
        "Short-time Fourier transform: transforms a signal frame by frame, each weighted by a window.",
    )
    .operands(&[
        Operand::one("x"),
        Operand::optional("window"),
        Operand::attr("frame_step"),
        Operand::attr("frame_length"),
    ])
    .attrs(&[
        AttrDef::new(
            "frame_step",
            AttrKind::Int,
            Default::Required,
            "distance between neighbouring frames",
        ),
        AttrDef::new(
            "frame_length",
            AttrKind::Int,
            Default::None,
            "length of a frame; that of the window, or of the signal, if left out",
        ),
        AttrDef::new(
            "onesided",
            AttrKind::Bool,
            Default::Bool(true),
            "whether to omit the frequencies that are redundant for real signals",
        ),
    ])
    .infer(infer_stft)
    .reference(reference!(stft))
    .formula(Formula::Whole)
    .cost(CostRule::Elementwise(64.0))
    .onnx("STFT", 17),
];

/// The number of frequencies of a signal of that length.
fn bins(length: &Dim, onesided: bool) -> Dim {
    if onesided {
        length.floor_div(&Dim::Const(2)) + Dim::Const(1)
    } else {
        length.clone()
    }
}

/// Checks that the last axis holds real or complex numbers, and returns its size if known.
fn parts(call: &Infer<'_>, shape: &Shape) -> Result<Option<i64>, OpError> {
    let last = shape.last().and_then(Dim::as_const);
    if last.is_some_and(|n| !(1..=2).contains(&n)) {
        return Err(OpError::new(format!("the last axis of {} must have size 1 or 2", call.tensor(0)?)).at(0));
    }
    Ok(last)
}

fn integer(call: &Infer<'_>, name: &str, least: i64) -> Result<Option<Dim>, OpError> {
    if let Some(i) = call.attr_operand(name) {
        call.expect_dtype(i, DType::is_int, "an integer")?;
    }
    match call.int(name) {
        Some(Dim::Const(n)) if n < least => {
            Err(OpError::new(format!("`{name}` must be at least {least}, but is {n}")).attr(name))
        }
        other => Ok(other),
    }
}

fn infer_dft(call: &Infer<'_>) -> Result<Type, OpError> {
    let dtype = call.expect_dtype(0, DType::is_float, "a floating-point number")?;
    let given = integer(call, "dft_length", 1)?;
    if let Some(i) = call.attr_operand("axis") {
        call.expect_dtype(i, DType::is_int, "an integer")?;
    }
    let Some(shape) = call.shape(0)? else {
        return Ok(typed(dtype, None));
    };
    if shape.len() < 2 {
        return Err(OpError::new(format!(
            "`x` must have a signal axis and an axis of parts, but is {}",
            call.tensor(0)?
        ))
        .at(0));
    }
    parts(call, shape)?;
    let (inverse, onesided) = (call.flag("inverse"), call.flag("onesided"));
    let real = inverse && onesided;
    let mut out = shape.clone();
    let last = shape.len() - 1;
    out[last] = Dim::Const(if real { 1 } else { 2 });
    let Some(axis) = known_axis(call, "axis", shape.len())? else {
        (0..last).for_each(|i| out[i] = call.unknown());
        return Ok(typed(dtype, Some(out)));
    };
    if axis == last {
        return Err(OpError::new(format!("axis {axis} holds the parts of complex numbers")).attr("axis"));
    }
    let length = match given {
        Some(length) => length,
        None if call.is_dynamic("dft_length") => call.unknown(),
        None if real => (shape[axis].clone() - Dim::Const(1)) * Dim::Const(2),
        None => shape[axis].clone(),
    };
    // A formula of an unknown dimension is not known either.
    out[axis] = if length.has_unknown() && onesided {
        call.unknown()
    } else {
        bins(&length, onesided && !inverse)
    };
    Ok(typed(dtype, Some(out)))
}

/// A complex number.
type Complex<N> = (N, N);

/// The first `wanted` frequencies of a signal, as unnormalized sums over `length` positions.
fn transform<N: Number>(signal: &[Complex<N>], wanted: usize, inverse: bool) -> Result<Vec<Complex<N>>, OpError> {
    let n = signal.len();
    let mut turns = Vec::with_capacity(n);
    for k in 0..n {
        let angle = std::f64::consts::TAU * k as f64 / n as f64;
        // Quarter turns are exact.
        let (cos, sin) = match (4 * k) / n {
            quarter if 4 * k % n == 0 => [(1.0, 0.0), (0.0, 1.0), (-1.0, 0.0), (0.0, -1.0)][quarter % 4],
            _ => (angle.cos(), angle.sin()),
        };
        turns.push((N::from_f64(cos)?, N::from_f64(if inverse { sin } else { -sin })?));
    }
    let term = |k: usize, j: usize| -> Complex<N> {
        let ((re, im), (cos, sin)) = (&signal[j], &turns[k * j % n]);
        (re.mul(cos).sub(&im.mul(sin)), re.mul(sin).add(&im.mul(cos)))
    };
    Ok((0..wanted)
        .map(|k| {
            (0..n).fold((N::zero(), N::zero()), |(re, im), j| {
                let (a, b) = term(k, j);
                (re.add(&a), im.add(&b))
            })
        })
        .collect())
}

/// The transform of `signal`; machine numbers are summed in double precision.
fn frequencies<S: System>(signal: &[Complex<S>], wanted: usize, inverse: bool) -> Result<Vec<Complex<S>>, OpError> {
    if !S::MACHINE {
        return transform(signal, wanted, inverse);
    }
    let double = |(re, im): &Complex<S>| Ok((re.to_f64()?, im.to_f64()?));
    let signal = signal.iter().map(double).collect::<Result<Vec<_>, OpError>>()?;
    transform(&signal, wanted, inverse)?
        .into_iter()
        .map(|(re, im)| Ok((S::from_f64(re)?, S::from_f64(im)?)))
        .collect()
}

/// The number at a position given by all axes but the last.
fn complex<S: Number>(x: &Nd<S>, place: &[usize]) -> Result<Complex<S>, OpError> {
    let re = at(x, &[place, &[0]].concat())?;
    let im = match x.shape().last() {
        Some(2) => at(x, &[place, &[1]].concat())?,
        _ => S::zero(),
    };
    Ok((re, im))
}

fn dft<S: System>(e: &Eval<'_, S>) -> Out<S> {
    let x = e.operand(0)?.real()?;
    let (out, rank) = (e.out_shape(0)?, x.ndim());
    let axis = e.axis("axis", rank)?;
    let (inverse, onesided) = (e.flag("inverse"), e.flag("onesided"));
    let real = inverse && onesided;
    let given = e.int("dft_length").and_then(|n| usize::try_from(n).ok());
    let length = match given {
        Some(length) => length,
        None if real => 2 * x.shape()[axis].saturating_sub(1),
        None => x.shape()[axis],
    };
    count(&[length])?;
    let scale = if inverse {
        S::one().div(&S::from_int(length.max(1) as i128))?
    } else {
        S::one()
    };
    let mut lines = out[..rank - 1].to_vec();
    lines[axis] = 1;
    let mut results = Vec::new();
    for mut place in super::window::Positions::of(&lines)? {
        let mut signal = Vec::with_capacity(length);
        for i in 0..length {
            // The omitted frequencies are the conjugates of the others.
            let mirrored = real && i > length / 2;
            place[axis] = if mirrored { length - i } else { i };
            let number = if place[axis] < x.shape()[axis] {
                complex(x, &place)?
            } else {
                (S::zero(), S::zero())
            };
            let alone = real && (i == 0 || 2 * i == length);
            signal.push(match number {
                (re, _) if alone => (re, S::zero()),
                (re, im) if mirrored => (re, im.neg()),
                number => number,
            });
        }
        results.push(frequencies(&signal, out[axis], inverse)?);
    }
    let steps = super::common::strides(&lines);
    let y = build(&out, |p| {
        let line: usize = (0..rank - 1).filter(|i| *i != axis).map(|i| p[i] * steps[i]).sum();
        let (re, im) = &results[line][p[axis]];
        let part = if p[rank - 1] == 0 { re } else { im };
        Ok(if inverse { part.mul(&scale) } else { part.clone() })
    })?;
    Ok(vec![Value::Real(y)])
}

fn infer_stft(call: &Infer<'_>) -> Result<Type, OpError> {
    let dtype = call.expect_dtype(0, DType::is_float, "a floating-point number")?;
    let window = call.optional(1)?;
    if window.is_some() {
        call.same_dtype(0, 1)?;
    }
    let (step, given) = (integer(call, "frame_step", 1)?, integer(call, "frame_length", 1)?);
    let shape = call.shape(0)?;
    if let Some(shape) = shape {
        if !(2..=3).contains(&shape.len()) {
            return Err(OpError::new(format!("`x` must be a batch of signals, but is {}", call.tensor(0)?)).at(0));
        }
        if shape.len() == 3 && parts(call, shape)? == Some(2) && call.flag("onesided") {
            return Err(OpError::new("a complex signal needs all its frequencies").attr("onesided"));
        }
    }
    let weights = match window.and_then(|w| w.shape.as_ref()) {
        Some(w) if w.len() != 1 => return Err(OpError::new(format!("`window` has {} axes, not 1", w.len())).at(1)),
        Some(w) => Some(w[0].clone()),
        None => None,
    };
    if let (Some(Dim::Const(a)), Some(Dim::Const(b))) = (&weights, &given)
        && a != b
    {
        return Err(OpError::new(format!("`window` has {a} weights, but a frame has {b} elements")).at(1));
    }
    let signal = shape.map(|s| s[1].clone());
    let length = match given.or(weights) {
        Some(length) => Some(length),
        None if call.is_dynamic("frame_length") || window.is_some() => None,
        None => signal.clone(),
    };
    let frames = match (&signal, &length, &step) {
        (Some(signal), Some(length), Some(step)) if !signal.has_unknown() && !length.has_unknown() => {
            if let (Some(a), Some(b)) = (signal.as_const(), length.as_const())
                && b > a
            {
                return Err(OpError::new(format!("a frame has {b} elements, but a signal has {a}")).at(0));
            }
            (signal.clone() - length.clone()).floor_div(step) + Dim::Const(1)
        }
        _ => call.unknown(),
    };
    let bins = match length {
        Some(length) if !length.has_unknown() => bins(&length, call.flag("onesided")),
        _ => call.unknown(),
    };
    let batch = shape.map_or_else(|| call.unknown(), |s| s[0].clone());
    Ok(typed(
        dtype,
        Some([batch, frames, bins, Dim::Const(2)].into_iter().collect()),
    ))
}

fn stft<S: System>(e: &Eval<'_, S>) -> Out<S> {
    let x = e.operand(0)?.real()?;
    let out = e.out_shape(0)?;
    let window = e.optional(1).map(|w| w.real().map(super::common::flat)).transpose()?;
    let positive = |name: &str| e.int(name).and_then(|n| usize::try_from(n).ok());
    let step = positive("frame_step").ok_or_else(|| OpError::new("the distance between frames is unknown"))?;
    let length = positive("frame_length")
        .or(window.as_ref().map(Vec::len))
        .unwrap_or(x.shape()[1]);
    let mut results = Vec::with_capacity(out[0] * out[1]);
    for batch in 0..out[0] {
        for frame in 0..out[1] {
            let mut signal = Vec::with_capacity(length);
            for i in 0..length {
                let place = [batch, frame * step + i];
                let (re, im) = match x.ndim() {
                    2 => (at(x, &place)?, S::zero()),
                    _ => complex(x, &place)?,
                };
                signal.push(match window.as_ref().and_then(|w| w.get(i)) {
                    Some(w) => (re.mul(w), im.mul(w)),
                    None => (re, im),
                });
            }
            results.push(frequencies(&signal, out[2], false)?);
        }
    }
    let y = build(&out, |p| {
        let (re, im) = &results[p[0] * out[1] + p[1]][p[2]];
        Ok(if p[3] == 0 { re.clone() } else { im.clone() })
    })?;
    Ok(vec![Value::Real(y)])
}
