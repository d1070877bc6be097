//! Reductions, which combine the elements along axes, and scans.

use std::cmp::Ordering;

use super::common::{Out, axes_value, int_operand, known_axes, known_axis, operand_len, rows, set, to_int, typed};
use super::elementwise::{larger, smaller};
use super::value::shaped;
use super::{
    AttrDef, AttrKind, AttrValue, AxesRule, AxisOf, CostRule, Default, Each, Eval, Fold, Formula, Func, Infer, Number,
    OpDef, OpError, OpTraits, Operand, Reduction, System, Total, Value,
};
use crate::reference;
use tautomer_tensor::{DType, Dim, Nd, Shape, Type};

const OPERANDS: &[Operand] = &[Operand::one("x"), Operand::attr("axes")];
const KEEPDIMS: AttrDef = AttrDef::new(
    "keepdims",
    AttrKind::Bool,
    Default::Bool(true),
    "whether reduced axes stay, with size 1",
);
const ATTRS: &[AttrDef] = &[
    AttrDef::new(
        "axes",
        AttrKind::Axes(AxisOf::Input),
        Default::None,
        "the axes to reduce; all if none is listed",
    ),
    KEEPDIMS,
    AttrDef::new(
        "noop_with_empty_axes",
        AttrKind::Bool,
        Default::Bool(false),
        "whether an empty list of axes means that no axis is reduced",
    ),
];
const ARG_ATTRS: &[AttrDef] = &[
    AttrDef::new(
        "axis",
        AttrKind::Axis(AxisOf::Input),
        Default::Int(0),
        "the axis to search along",
    ),
    KEEPDIMS,
    AttrDef::new(
        "select_last_index",
        AttrKind::Bool,
        Default::Bool(false),
        "whether to take the last of equal elements instead of the first",
    ),
];

/// A row for the reduction that computes `total` of the `fold` of `each` element.
const fn reduction(
    (name, onnx): (&'static str, &'static str),
    doc: &'static str,
    (each, fold, total): (Each, Fold, Total),
) -> OpDef {
    OpDef::new(name, doc)
        .operands(OPERANDS)
        .attrs(ATTRS)
        .infer(infer_reduce)
        .canonical(canonical_reduce)
        .reference(reference!(reduce))
        .formula(Formula::Reduction(Reduction { each, fold, total }))
        .traits(OpTraits::REDUCTION)
        .cost(CostRule::PerInput(1.0))
        .onnx(onnx, 1)
}

const LINEAR: OpTraits = OpTraits::REDUCTION.and(OpTraits::LINEAR);

/// The operators of this family.
pub(super) const OPS: &[OpDef] = &[
    reduction(
        ("reduce_sum", "ReduceSum"),
        "Sum along axes.",
        (Each::Itself, Fold::Sum, Total::Itself),
    )
    .traits(LINEAR),
    reduction(
        ("reduce_mean", "ReduceMean"),
        "Mean along axes; integer means are rounded towards zero.",
        (Each::Itself, Fold::Sum, Total::Mean),
    )
    .traits(LINEAR),
    reduction(
        ("reduce_max", "ReduceMax"),
        "Largest element along axes; NaN if any element is NaN.",
        (Each::Itself, Fold::Max, Total::Itself),
    )
    .infer(infer_extremum),
    reduction(
        ("reduce_min", "ReduceMin"),
        "Smallest element along axes; NaN if any element is NaN.",
        (Each::Itself, Fold::Min, Total::Itself),
    )
    .infer(infer_extremum),
    reduction(
        ("reduce_prod", "ReduceProd"),
        "Product along axes.",
        (Each::Itself, Fold::Product, Total::Itself),
    ),
    reduction(
        ("reduce_l1", "ReduceL1"),
        "Sum of absolute values along axes.",
        (Each::Magnitude, Fold::Sum, Total::Itself),
    ),
    reduction(
        ("reduce_l2", "ReduceL2"),
        "Square root of the sum of squares along axes.",
        (Each::Square, Fold::Sum, Total::Root),
    ),
    reduction(
        ("reduce_sum_square", "ReduceSumSquare"),
        "Sum of squares along axes.",
        (Each::Square, Fold::Sum, Total::Itself),
    ),
    reduction(
        ("reduce_log_sum", "ReduceLogSum"),
        "Logarithm of the sum along axes.",
        (Each::Itself, Fold::Sum, Total::Logarithm),
    ),
    reduction(
        ("reduce_log_sum_exp", "ReduceLogSumExp"),
        "Logarithm of the sum of exponentials along axes.",
        (Each::Exponential, Fold::Sum, Total::Logarithm),
    )
    .cost(CostRule::PerInput(10.0)),
    OpDef::new("argmax", "Position of the largest element along an axis.")
        .operands(&[Operand::one("x")])
        .attrs(ARG_ATTRS)
        .infer(infer_arg)
        .reference(reference!(argmax))
        .formula(Formula::Place(Fold::Max))
        .axes(AxesRule::ReducedAlong)
        .traits(OpTraits::REDUCTION)
        .cost(CostRule::PerInput(1.0))
        .onnx("ArgMax", 1),
    OpDef::new("argmin", "Position of the smallest element along an axis.")
        .operands(&[Operand::one("x")])
        .attrs(ARG_ATTRS)
        .infer(infer_arg)
        .reference(reference!(argmin))
        .formula(Formula::Place(Fold::Min))
        .axes(AxesRule::ReducedAlong)
        .traits(OpTraits::REDUCTION)
        .cost(CostRule::PerInput(1.0))
        .onnx("ArgMin", 1),
    OpDef::new("cumsum", "Running sum along an axis.")
        .operands(&[Operand::one("x"), Operand::attr("axis")])
        .attrs(&[
            AttrDef::new(
                "axis",
                AttrKind::Axis(AxisOf::Input),
                Default::Required,
                "the axis to sum along",
            ),
            AttrDef::new(
                "exclusive",
                AttrKind::Bool,
                Default::Bool(false),
                "whether to exclude the element itself",
            ),
            AttrDef::new(
                "reverse",
                AttrKind::Bool,
                Default::Bool(false),
                "whether to start from the end",
            ),
        ])
        .infer(infer_cumsum)
        .axes(AxesRule::Along)
        .reference(reference!(cumsum))
        .formula(Formula::Running(Fold::Sum))
        .traits(OpTraits::LINEAR)
        .cost(CostRule::PerInput(1.0))
        .onnx("CumSum", 11),
    OpDef::new("cumprod", "Running product along an axis.")
        .operands(&[Operand::one("x"), Operand::attr("axis")])
        .attrs(&[
            AttrDef::new(
                "axis",
                AttrKind::Axis(AxisOf::Input),
                Default::Required,
                "the axis to multiply along",
            ),
            AttrDef::new(
                "exclusive",
                AttrKind::Bool,
                Default::Bool(false),
                "whether to exclude the element itself",
            ),
            AttrDef::new(
                "reverse",
                AttrKind::Bool,
                Default::Bool(false),
                "whether to start from the end",
            ),
        ])
        .infer(infer_cumsum)
        .axes(AxesRule::Along)
        .reference(reference!(cumprod))
        .formula(Formula::Running(Fold::Product))
        .cost(CostRule::PerInput(1.0))
        .onnx("CumProd", 26),
];

/// The axes that are reduced, ascending; `None` if they are not known.
fn reduced(call: &Infer<'_>, rank: usize) -> Result<Option<Vec<usize>>, OpError> {
    if call.is_dynamic("axes") {
        return Ok(None);
    }
    let mut axes = known_axes(call, "axes", rank)?.unwrap_or_default();
    axes.sort_unstable();
    if axes.is_empty() && !call.flag("noop_with_empty_axes") {
        axes = (0..rank).collect();
    }
    Ok(Some(axes))
}

fn without(shape: &Shape, axes: &[usize], keep: bool) -> Shape {
    let one = |i: usize, d: &Dim| if axes.contains(&i) { Dim::Const(1) } else { d.clone() };
    shape
        .iter()
        .enumerate()
        .filter(|(i, _)| keep || !axes.contains(i))
        .map(|(i, d)| one(i, d))
        .collect()
}

fn reduced_type(call: &Infer<'_>, dtype: DType) -> Result<Type, OpError> {
    int_operand(call, "axes")?;
    let keep = call.flag("keepdims");
    let Some(shape) = call.shape(0)? else {
        return Ok(typed(dtype, None));
    };
    let out = match reduced(call, shape.len())? {
        Some(axes) => Some(without(shape, &axes, keep)),
        None if keep => Some(call.unknown_shape(shape.len())),
        // An empty list of axes may mean all of them.
        None => operand_len(call, "axes")
            .filter(|&n| n > 0)
            .and_then(|n| shape.len().checked_sub(n))
            .map(|n| call.unknown_shape(n)),
    };
    Ok(typed(dtype, out))
}

fn infer_reduce(call: &Infer<'_>) -> Result<Type, OpError> {
    let dtype = call.expect_dtype(0, DType::is_number, "a number")?;
    reduced_type(call, dtype)
}

fn infer_extremum(call: &Infer<'_>) -> Result<Type, OpError> {
    let ordered = |d: DType| d.is_number() || d == DType::Bool;
    let dtype = call.expect_dtype(0, ordered, "a number or a boolean")?;
    reduced_type(call, dtype)
}

fn canonical_reduce(call: &Infer<'_>, attrs: &mut [AttrValue]) -> Result<(), OpError> {
    if let Some(shape) = call.shape(0)?
        && let Some(axes) = reduced(call, shape.len())?
    {
        set(call, attrs, "noop_with_empty_axes", AttrValue::Bool(axes.is_empty()));
        set(call, attrs, "axes", axes_value(&axes));
    }
    Ok(())
}

fn infer_arg(call: &Infer<'_>) -> Result<Type, OpError> {
    call.expect_dtype(0, DType::is_number, "a number")?;
    let Some(shape) = call.shape(0)? else {
        return Ok(typed(DType::I64, None));
    };
    let axis = call.axis("axis", shape.len())?;
    if shape[axis] == Dim::Const(0) {
        return Err(OpError::new(format!("axis {axis} of {shape} has no elements to choose from")).at(0));
    }
    Ok(typed(DType::I64, Some(without(shape, &[axis], call.flag("keepdims")))))
}

fn infer_cumsum(call: &Infer<'_>) -> Result<Type, OpError> {
    call.expect_dtype(0, DType::is_number, "a number")?;
    let x = call.tensor(0)?;
    if let Some(i) = call.attr_operand("axis") {
        call.expect_dtype(i, DType::is_int, "an integer")?;
    }
    if let Some(rank) = x.rank() {
        known_axis(call, "axis", rank)?;
    }
    Ok(x.clone().into())
}

/// The axes that an evaluation reduces.
fn evaluated_axes<S: System>(e: &Eval<'_, S>, rank: usize) -> Result<Vec<usize>, OpError> {
    let axes = e.axes("axes", rank)?.unwrap_or_default();
    if axes.is_empty() && !e.flag("noop_with_empty_axes") {
        return Ok((0..rank).collect());
    }
    Ok(axes)
}

/// `f` of every row of elements along `axes`.
fn fold<T: Clone, R: Clone>(
    a: &Nd<T>,
    axes: &[usize],
    shape: &[usize],
    f: &dyn Fn(&[T]) -> Result<R, OpError>,
) -> Result<Nd<R>, OpError> {
    let (elements, number, length) = rows(a, axes)?;
    let mut out = Vec::with_capacity(number);
    for i in 0..number {
        out.push(f(elements.get(i * length..(i + 1) * length).unwrap_or_default())?);
    }
    shaped(shape, out)
}

/// A reduction, as its row describes it.
fn reduce<S: System>(e: &Eval<'_, S>) -> Out<S> {
    let Formula::Reduction(reduction) = e.def.formula else {
        return Err(OpError::new("its row does not say how elements are reduced"));
    };
    let x = e.operand(0)?;
    let (axes, shape, dtype) = (evaluated_axes(e, x.shape().len())?, e.out_shape(0)?, e.out_dtype());
    Ok(vec![match x {
        Value::Real(a) => Value::Real(fold(a, &axes, &shape, &|row| reduced_row(row, reduction))?),
        Value::Int(a) => Value::Int(fold(a, &axes, &shape, &|row| {
            Ok(dtype.wrap(reduced_ints(row, reduction, dtype)?))
        })?),
        Value::Bool(a) => Value::Bool(fold(a, &axes, &shape, &|row| match reduction.fold {
            Fold::Max => Ok(row.contains(&true)),
            Fold::Min => Ok(!row.contains(&false)),
            Fold::Sum | Fold::Product => Err(OpError::new("expected numbers")),
        })?),
        _ => return Err(OpError::new("expected numbers")),
    }])
}

/// The reduction of a row of real numbers.
fn reduced_row<S: Number>(row: &[S], reduction: Reduction) -> Result<S, OpError> {
    if (reduction.each, reduction.total) == (Each::Exponential, Total::Logarithm) {
        return log_sum_exp(row);
    }
    let each = |x: &S| match reduction.each {
        Each::Itself => Ok(x.clone()),
        Each::Magnitude => magnitude(x),
        Each::Square => Ok(x.mul(x)),
        Each::Exponential => Ok(S::func(Func::Exp, x, None)?),
    };
    let row: Vec<S> = row.iter().map(each).collect::<Result<_, OpError>>()?;
    let length = row.len();
    let folded = match reduction.fold {
        Fold::Sum => total(row),
        Fold::Product => row.iter().fold(S::one(), |a, b| a.mul(b)),
        Fold::Max => extremum(&row, f64::NEG_INFINITY, larger)?,
        Fold::Min => extremum(&row, f64::INFINITY, smaller)?,
    };
    Ok(match reduction.total {
        Total::Itself => folded,
        Total::Mean => folded.div(&S::from_int(length as i128))?,
        Total::Root => S::func(Func::Sqrt, &folded, None)?,
        Total::Logarithm => S::func(Func::Log, &folded, None)?,
    })
}

/// The reduction of a row of integers, before it wraps around.
fn reduced_ints(row: &[i128], reduction: Reduction, dtype: DType) -> Result<i128, OpError> {
    if reduction.each == Each::Exponential {
        let row: Vec<f64> = row.iter().map(|&x| x as f64).collect();
        return to_int(&reduced_row(&row, reduction)?);
    }
    let each = row.iter().map(|x| match reduction.each {
        Each::Magnitude => x.wrapping_abs(),
        Each::Square => x.wrapping_mul(*x),
        Each::Itself | Each::Exponential => *x,
    });
    let (least, most) = dtype.int_range().unwrap_or((0, 0));
    let folded = match reduction.fold {
        Fold::Sum => each.fold(0, i128::wrapping_add),
        Fold::Product => each.fold(1, |a: i128, b| dtype.wrap(a.wrapping_mul(b))),
        Fold::Max => each.max().unwrap_or(least),
        Fold::Min => each.min().unwrap_or(most),
    };
    match reduction.total {
        Total::Itself => Ok(folded),
        Total::Mean => folded
            .checked_div(row.len() as i128)
            .ok_or_else(|| OpError::new("the mean of an empty list of integers")),
        Total::Root => to_int(&(folded as f64).sqrt()),
        Total::Logarithm => to_int(&(folded as f64).ln()),
    }
}

/// The pairwise sum of numbers: its error grows with the logarithm of their count.
pub(super) fn total<S: Number>(mut numbers: Vec<S>) -> S {
    while numbers.len() > 1 {
        numbers = numbers
            .chunks(2)
            .map(|pair| match pair {
                [a, b] => a.add(b),
                one => one.first().cloned().unwrap_or_else(S::zero),
            })
            .collect();
    }
    numbers.pop().unwrap_or_else(S::zero)
}

/// The element of a row that `choose` prefers to all others; `empty` for an empty row.
fn extremum<S: Number>(row: &[S], empty: f64, choose: fn(&S, &S) -> Result<S, OpError>) -> Result<S, OpError> {
    let Some((first, rest)) = row.split_first() else {
        return Ok(S::from_f64(empty)?);
    };
    rest.iter().try_fold(first.clone(), |best, x| choose(&best, x))
}

/// The absolute value of a number.
pub(super) fn magnitude<S: Number>(x: &S) -> Result<S, OpError> {
    Ok(match x.order(&S::zero())? {
        Some(Ordering::Less) => x.neg(),
        Some(Ordering::Equal) => S::zero(),
        _ => x.clone(),
    })
}

/// The logarithm of the sum of exponentials, with the largest exponent factored out.
fn log_sum_exp<S: Number>(row: &[S]) -> Result<S, OpError> {
    let most = extremum(row, f64::NEG_INFINITY, larger)?;
    let shift = if most.to_f64()?.is_finite() { most } else { S::zero() };
    let exponentials = row
        .iter()
        .map(|x| S::func(Func::Exp, &x.sub(&shift), None))
        .collect::<Result<_, _>>()?;
    Ok(S::func(Func::Log, &total(exponentials), None)?.add(&shift))
}

/// The position of the element that compares as `want` to all others; the first NaN wins.
fn arg<S: System>(e: &Eval<'_, S>, want: Ordering) -> Out<S> {
    let x = e.operand(0)?;
    let axes = [e.axis("axis", x.shape().len())?];
    let (shape, last) = (e.out_shape(0)?, e.flag("select_last_index"));
    let wins = |order: Ordering| order == want || last && order == Ordering::Equal;
    fn search<T>(row: &[T], wins: &dyn Fn(&T, &T) -> Result<bool, OpError>) -> Result<i128, OpError> {
        let mut best = 0;
        for (i, x) in row.iter().enumerate().skip(1) {
            if wins(x, &row[best])? {
                best = i;
            }
        }
        Ok(best as i128)
    }
    Ok(vec![Value::Int(match x {
        Value::Real(a) => fold(a, &axes, &shape, &|row| {
            search(row, &|x, best| {
                Ok(match x.order(best)? {
                    Some(order) => wins(order),
                    None => best.order(best)?.is_some(),
                })
            })
        })?,
        Value::Int(a) => fold(a, &axes, &shape, &|row| search(row, &|x, best| Ok(wins(x.cmp(best)))))?,
        _ => return Err(OpError::new("expected numbers")),
    })])
}

fn argmax<S: System>(e: &Eval<'_, S>) -> Out<S> {
    arg(e, Ordering::Greater)
}

fn argmin<S: System>(e: &Eval<'_, S>) -> Out<S> {
    arg(e, Ordering::Less)
}

/// The running totals along `axis`.
fn scan<T: Clone>(
    a: &Nd<T>,
    axis: usize,
    (exclusive, reverse): (bool, bool),
    zero: &T,
    add: &dyn Fn(&T, &T) -> T,
) -> Result<Nd<T>, OpError> {
    let mut out = ndarray::ArrayD::from_elem(a.shape(), zero.clone());
    let lanes = a.lanes(ndarray::Axis(axis)).into_iter();
    for (from, mut to) in lanes.zip(out.lanes_mut(ndarray::Axis(axis))) {
        let mut sum = zero.clone();
        for i in 0..from.len() {
            let i = if reverse { from.len() - 1 - i } else { i };
            let next = add(&sum, &from[i]);
            to[i] = if exclusive { sum } else { next.clone() };
            sum = next;
        }
    }
    Ok(out.into_shared())
}

fn cumsum<S: System>(e: &Eval<'_, S>) -> Out<S> {
    let x = e.operand(0)?;
    let axis = e.axis("axis", x.shape().len())?;
    let how = (e.flag("exclusive"), e.flag("reverse"));
    let dtype = e.out_dtype();
    Ok(vec![match x {
        Value::Real(a) => Value::Real(scan(a, axis, how, &S::zero(), &|x, y| x.add(y))?),
        Value::Int(a) => Value::Int(scan(a, axis, how, &0, &|x, y| dtype.wrap(x.wrapping_add(*y)))?),
        _ => return Err(OpError::new("expected numbers")),
    }])
}

fn cumprod<S: System>(e: &Eval<'_, S>) -> Out<S> {
    let x = e.operand(0)?;
    let axis = e.axis("axis", x.shape().len())?;
    let how = (e.flag("exclusive"), e.flag("reverse"));
    let dtype = e.out_dtype();
    Ok(vec![match x {
        Value::Real(a) => Value::Real(scan(a, axis, how, &S::one(), &|x, y| x.mul(y))?),
        Value::Int(a) => Value::Int(scan(a, axis, how, &1, &|x, y| dtype.wrap(x.wrapping_mul(*y)))?),
        _ => return Err(OpError::new("expected numbers")),
    }])
}
