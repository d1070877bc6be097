//! Pooling: one number for each window, or for all spatial positions of a channel.

use std::cmp::Ordering;
use std::collections::BTreeMap;

use super::common::{Out, count, flat};
use super::elementwise::larger;
use super::value::shaped;
use super::window::{AUTO_PAD, DILATIONS, Grid, PADS, Positions, STRIDES, Tap, Windows, spatial};
use super::{
    AttrDef, AttrKind, AttrValue, CostRule, Default, Eval, Fold, Formula, Func, Infer, OpDef, OpError, OpTraits,
    Operand, PerAxis, ShapeRule, System, Value,
};
use crate::reference;
use tautomer_tensor::{DType, Dim, Shape, TensorType, Type};

const X: &[Operand] = &[Operand::one("x")];
const KERNEL: AttrDef = AttrDef::new(
    "kernel_shape",
    AttrKind::Ints,
    Default::Required,
    "the dimensions of the window",
);
const CEIL: AttrDef = AttrDef::new(
    "ceil_mode",
    AttrKind::Bool,
    Default::Bool(false),
    "whether the last window may extend beyond the end",
);
const POOL: &[AttrDef] = &[AUTO_PAD, KERNEL, STRIDES, PADS, DILATIONS, CEIL];

/// The attributes that describe windows.
const LISTS: &[PerAxis] = &[
    PerAxis::new("kernel_shape", 1, 1),
    PerAxis::new("strides", 1, 1),
    PerAxis::new("dilations", 1, 1),
    PerAxis::new("pads", 2, 0),
];

/// The operators of this family.
pub(super) const OPS: &[OpDef] = &[
    OpDef::new("max_pool", "The largest element of each window.")
        .aliases(&["max_pool1d", "max_pool2d", "max_pool3d"])
        .operands(X)
        .attrs(POOL)
        .canonical(canonical)
        .infer(infer_max)
        .reference(reference!(max_pool))
        .formula(Formula::Window(Fold::Max))
        .traits(OpTraits::UNARY.and(OpTraits::MONOTONE))
        .cost(CostRule::Flops(flops))
        .shapes(ShapeRule::Windows(LISTS))
        .onnx("MaxPool", 1),
    OpDef::new(
        "max_pool_with_indices",
        "The largest element of each window, the first of equal ones, and its position among all elements of `x`.",
    )
    .operands(X)
    .attrs(&[
        AUTO_PAD,
        KERNEL,
        STRIDES,
        PADS,
        DILATIONS,
        CEIL,
        AttrDef::new(
            "column_major",
            AttrKind::Bool,
            Default::Bool(false),
            "whether positions count along the first spatial axis first, instead of the last",
        ),
    ])
    .canonical(canonical)
    .infer(infer_max_with_indices)
    .reference(reference!(max_pool_with_indices))
    .formula(Formula::Whole)
    .traits(OpTraits::UNARY)
    .cost(CostRule::Flops(flops)),
    OpDef::new("average_pool", "The mean of each window.")
        .aliases(&["avg_pool", "avg_pool1d", "avg_pool2d", "avg_pool3d"])
        .operands(X)
        .attrs(&[
            AUTO_PAD,
            KERNEL,
            STRIDES,
            PADS,
            DILATIONS,
            CEIL,
            AttrDef::new(
                "count_include_pad",
                AttrKind::Bool,
                Default::Bool(false),
                "whether zeros of the padding count as elements",
            ),
        ])
        .canonical(canonical)
        .infer(infer_float)
        .reference(reference!(average_pool))
        .formula(Formula::Window(Fold::Sum))
        .traits(OpTraits::UNARY.and(OpTraits::LINEAR))
        .cost(CostRule::Flops(flops))
        .shapes(ShapeRule::Windows(LISTS))
        .onnx("AveragePool", 1),
    OpDef::new("lp_pool", "The `p`-norm of each window.")
        .operands(X)
        .attrs(&[
            AUTO_PAD,
            KERNEL,
            STRIDES,
            PADS,
            DILATIONS,
            CEIL,
            AttrDef::new("p", AttrKind::Int, Default::Int(2), "the order of the norm"),
        ])
        .canonical(canonical)
        .infer(infer_lp)
        .reference(reference!(lp_pool))
        .formula(Formula::Whole)
        .traits(OpTraits::UNARY)
        .cost(CostRule::Flops(flops))
        .shapes(ShapeRule::Windows(LISTS))
        .onnx("LpPool", 2),
];

fn expect_rank(call: &Infer<'_>, least: usize) -> Result<(), OpError> {
    let x = call.tensor(0)?;
    match x.rank() {
        Some(rank) if rank < least => Err(OpError::new(format!(
            "`x` is {x}, but needs a batch axis, a channel axis and at least one spatial axis"
        ))
        .at(0)),
        _ => Ok(()),
    }
}

fn windows(call: &Infer<'_>) -> Result<Windows, OpError> {
    expect_rank(call, 3)?;
    let kernel = call
        .ints("kernel_shape")
        .ok_or_else(|| OpError::new("the dimensions of the window are unknown").attr("kernel_shape"))?;
    let x = call.tensor(0)?;
    if let Some(rank) = x.rank()
        && rank != kernel.len() + 2
    {
        return Err(OpError::new(format!(
            "`kernel_shape` has {} entries, but `x` is {x} with {} spatial axes",
            kernel.len(),
            rank - 2
        ))
        .attr("kernel_shape")
        .at(0));
    }
    Windows::read(&|name| call.attr(name), kernel)
}

fn canonical(call: &Infer<'_>, attrs: &mut [AttrValue]) -> Result<(), OpError> {
    windows(call)?.fill(call, attrs, call.shape(0)?.map(spatial));
    Ok(())
}

fn infer_with(call: &Infer<'_>, dtype: DType) -> Result<TensorType, OpError> {
    let windows = windows(call)?;
    let shape: Shape = match call.shape(0)? {
        Some(x) => x[..2].iter().cloned().chain(windows.counts(spatial(x))?).collect(),
        None => call.unknown_shape(windows.kernel.len() + 2),
    };
    Ok(TensorType {
        dtype,
        shape: Some(shape),
    })
}

fn infer_max(call: &Infer<'_>) -> Result<Type, OpError> {
    let dtype = call.expect_dtype(0, DType::is_number, "a number")?;
    Ok(infer_with(call, dtype)?.into())
}

fn infer_max_with_indices(call: &Infer<'_>) -> Result<Type, OpError> {
    let dtype = call.expect_dtype(0, DType::is_number, "a number")?;
    let values = infer_with(call, dtype)?;
    let places = TensorType {
        dtype: DType::I64,
        shape: values.shape.clone(),
    };
    Ok(Type::Tuple(vec![values.into(), places.into()]))
}

fn infer_float(call: &Infer<'_>) -> Result<Type, OpError> {
    let dtype = call.expect_dtype(0, DType::is_float, "a floating-point number")?;
    Ok(infer_with(call, dtype)?.into())
}

fn infer_lp(call: &Infer<'_>) -> Result<Type, OpError> {
    if let Some(p) = call.const_int("p")
        && p < 1
    {
        return Err(OpError::new(format!("`p` must be at least 1, but is {p}")).attr("p"));
    }
    infer_float(call)
}

pub(super) fn infer_global(call: &Infer<'_>) -> Result<Type, OpError> {
    let x = call.tensor(0)?;
    if call.def.name == "global_average_pool" {
        call.expect_dtype(0, DType::is_float, "a floating-point number")?;
    } else {
        call.expect_dtype(0, DType::is_number, "a number")?;
    }
    expect_rank(call, 3)?;
    let shape = x.shape.as_ref().map(|s| {
        let mut out = s.clone();
        out.iter_mut().skip(2).for_each(|d| *d = Dim::Const(1));
        out
    });
    Ok(TensorType { dtype: x.dtype, shape }.into())
}

fn flops(call: &Infer<'_>, result: &Type) -> f64 {
    let values = match result {
        Type::Tuple(items) => items.first().unwrap_or(result),
        single => single,
    };
    let window: f64 = call
        .ints("kernel_shape")
        .map_or(4.0, |k| k.iter().map(super::cost::extent).product());
    values
        .as_tensor()
        .map_or(1.0, |t| super::cost::elements(t.shape.as_ref()))
        * window
}

/// A result, from the elements of a channel, the offset of the first of them, and a window.
type OfWindow<'f, T, R> = &'f mut dyn FnMut(&[T], usize, &Window<'_>) -> Result<R, OpError>;

/// Calls `f` for each channel of each window, with the channel's elements, the offset of the first of them, and the
/// window.
fn each_window<S: System, T: Clone, R: Clone>(
    e: &Eval<'_, S>,
    x: &tautomer_tensor::Nd<T>,
    empty: &R,
    f: OfWindow<'_, T, R>,
) -> Result<Vec<R>, OpError> {
    let kernel = match e.attr("kernel_shape") {
        AttrValue::Ints(kernel) => kernel.clone(),
        _ => return Err(OpError::new("the dimensions of the window are unknown")),
    };
    let windows = Windows::read(&|name| e.attr(name).clone(), kernel)?;
    let shape = e.out_shape(0)?;
    let (input, output) = (&x.shape()[2..], &shape[2..]);
    let grid = Grid::over(&windows, input)?;
    let (points, places) = (count(input)?, count(output)?);
    let mut out = vec![empty.clone(); count(&shape)?];
    let x = flat(x);
    for (place, at) in Positions::of(output)?.enumerate() {
        let window = Window {
            taps: &grid.taps(&at),
            padded: grid.padded_count(&at),
        };
        for channel in 0..shape[0] * shape[1] {
            let first = channel * points;
            out[channel * places + place] = f(&x[first..first + points], first, &window)?;
        }
    }
    Ok(out)
}

/// A window at one position.
struct Window<'a> {
    /// Its elements inside the input.
    taps: &'a [Tap],
    /// The number of its elements, including those in the padding.
    padded: i128,
}

/// The largest elements and their positions.
fn maxima<S: System>(e: &Eval<'_, S>) -> Result<(Value<S>, Vec<i128>), OpError> {
    let shape = e.out_shape(0)?;
    let place = |first: usize, offset: usize| (first + offset) as i128;
    Ok(match e.operand(0)? {
        Value::Real(x) => {
            let pairs = each_window(e, x, &(S::zero(), 0i128), &mut |x, first, window| {
                let Some((&(start, _), rest)) = window.taps.split_first() else {
                    return Ok((S::from_f64(f64::NEG_INFINITY)?, -1));
                };
                let mut best = start;
                for &(at, _) in rest {
                    match x[at].order(&x[best])? {
                        Some(Ordering::Greater) => best = at,
                        // The first NaN counts as the largest.
                        None if x[best].order(&x[best])?.is_some() => best = at,
                        _ => {}
                    }
                }
                Ok((x[best].clone(), place(first, best)))
            })?;
            let (values, places): (Vec<S>, Vec<i128>) = pairs.into_iter().unzip();
            (Value::Real(shaped(&shape, values)?), places)
        }
        Value::Int(x) => {
            let least = e.out_dtype().int_range().map_or(0, |(least, _)| least);
            let pairs = each_window(e, x, &(0i128, 0i128), &mut |x, first, window| {
                let mut best: Option<usize> = None;
                for &(at, _) in window.taps {
                    if best.is_none_or(|b| x[at] > x[b]) {
                        best = Some(at);
                    }
                }
                Ok(best.map_or((least, -1), |b| (x[b], place(first, b))))
            })?;
            let (values, places): (Vec<i128>, Vec<i128>) = pairs.into_iter().unzip();
            (Value::Int(shaped(&shape, values)?), places)
        }
        _ => return Err(OpError::new("expected numbers")),
    })
}

fn max_pool<S: System>(e: &Eval<'_, S>) -> Out<S> {
    Ok(vec![maxima(e)?.0])
}

/// The position in column-major order of the element at `place` in row-major order.
fn column_major(place: i128, shape: &[usize]) -> i128 {
    let (mut rest, mut position) = (place, Vec::with_capacity(shape.len()));
    for &n in shape.iter().rev() {
        position.push(rest % n as i128);
        rest /= n as i128;
    }
    // The position lists the last axis first, whose stride is the largest.
    position
        .iter()
        .zip(shape.iter().rev())
        .fold(0, |sum, (i, &n)| sum * n as i128 + i)
}

fn max_pool_with_indices<S: System>(e: &Eval<'_, S>) -> Out<S> {
    let (values, mut places) = maxima(e)?;
    if e.flag("column_major") {
        let input = &e.operand(0)?.shape()[2..];
        let points = count(input)? as i128;
        for place in places.iter_mut().filter(|place| **place >= 0) {
            *place = *place / points * points + column_major(*place % points, input);
        }
    }
    Ok(vec![values, Value::Int(shaped(&e.out_shape(1)?, places)?)])
}

fn average_pool<S: System>(e: &Eval<'_, S>) -> Out<S> {
    let include = e.flag("count_include_pad");
    // Caches the reciprocal of each count where products are exact: inverting in a field takes a hundred products.
    let mut inverses: BTreeMap<i128, S> = BTreeMap::new();
    let out = each_window(e, e.operand(0)?.real()?, &S::zero(), &mut |x, _, window| {
        let sum = window.taps.iter().fold(S::zero(), |sum, &(at, _)| sum.add(&x[at]));
        let count = if include {
            window.padded
        } else {
            window.taps.len() as i128
        };
        if S::MACHINE {
            return Ok(sum.div(&S::from_int(count))?);
        }
        if let Some(inverse) = inverses.get(&count) {
            return Ok(sum.mul(inverse));
        }
        let inverse = S::one().div(&S::from_int(count))?;
        let mean = sum.mul(&inverse);
        inverses.insert(count, inverse);
        Ok(mean)
    })?;
    Ok(vec![Value::Real(shaped(&e.out_shape(0)?, out)?)])
}

fn lp_pool<S: System>(e: &Eval<'_, S>) -> Out<S> {
    let p = e.int("p").unwrap_or(2);
    let order = S::from_int(i128::from(p));
    let root = S::one().div(&order)?;
    let out = each_window(e, e.operand(0)?.real()?, &S::zero(), &mut |x, _, window| {
        let mut sum = S::zero();
        for &(at, _) in window.taps {
            let power = if p == 2 {
                x[at].mul(&x[at])
            } else {
                S::func(Func::Pow, &larger(&x[at], &x[at].neg())?, Some(&order))?
            };
            sum = sum.add(&power);
        }
        Ok(match p {
            1 => sum,
            2 => S::func(Func::Sqrt, &sum, None)?,
            _ => S::func(Func::Pow, &sum, Some(&root))?,
        })
    })?;
    Ok(vec![Value::Real(shaped(&e.out_shape(0)?, out)?)])
}
