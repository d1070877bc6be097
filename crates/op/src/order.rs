//! Operators that sort or select elements; the number of elements left may depend on the values.

use std::cmp::Ordering;

use super::common::{Out, count, flat, reshape, select_axis, strides, typed};
use super::value::shaped;
use super::{
    AttrDef, AttrKind, AxisOf, CostRule, Default, Eval, Formula, Infer, Number, OpDef, OpError, Operand, System, Value,
};
use crate::{map_value, reference};
use tautomer_tensor::{DType, Dim, Nd, Shape, Type};

const X: Operand = Operand::one("x");

const fn axis(default: Default, doc: &'static str) -> AttrDef {
    AttrDef::new("axis", AttrKind::Axis(AxisOf::Input), default, doc)
}

/// The operators of this family.
pub(super) const OPS: &[OpDef] = &[
    OpDef::new(
        "top_k",
        "The `k` largest or smallest elements along an axis in order, and their positions; equal elements keep order.",
    )
    .aliases(&["topk"])
    .operands(&[X, Operand::attr("k")])
    .attrs(&[
        AttrDef::new("k", AttrKind::Int, Default::Required, "the number of elements"),
        axis(Default::Int(-1), "the axis to search along"),
        AttrDef::new(
            "largest",
            AttrKind::Bool,
            Default::Bool(true),
            "whether to take the largest instead of the smallest",
        ),
        AttrDef::new(
            "sorted",
            AttrKind::Bool,
            Default::Bool(true),
            "whether the order matters; the result is sorted either way",
        ),
    ])
    .infer(infer_top_k)
    .reference(reference!(top_k))
    .formula(Formula::Whole)
    .cost(CostRule::PerInput(4.0))
    .onnx("TopK", 1),
    OpDef::new(
        "unique",
        "The unique elements, or slices along an axis; first positions, the index of each element, and counts.",
    )
    .operands(&[X])
    .attrs(&[
        axis(Default::None, "the axis of the slices; single elements if left out"),
        AttrDef::new(
            "sorted",
            AttrKind::Bool,
            Default::Bool(true),
            "ascending order, else order of first occurrence",
        ),
    ])
    .infer(infer_unique)
    .reference(reference!(unique))
    .formula(Formula::Whole)
    .cost(CostRule::PerInput(8.0))
    .onnx("Unique", 11),
    OpDef::new(
        "compress",
        "The slices along an axis, or single elements, for which a condition is true.",
    )
    .operands(&[X, Operand::one("condition")])
    .attrs(&[axis(
        Default::None,
        "the axis of the slices; single elements if left out",
    )])
    .infer(infer_compress)
    .reference(reference!(compress))
    .formula(Formula::Whole)
    .cost(CostRule::PerInput(0.0))
    .onnx("Compress", 9),
];

/// A total order of numbers in which all NaNs are equal and come last.
pub(super) fn total_order<S: Number>(a: &S, b: &S) -> Result<Ordering, OpError> {
    if let Some(order) = a.order(b)? {
        return Ok(order);
    }
    let (a, b) = (a.order(a)?.is_none(), b.order(b)?.is_none());
    Ok(a.cmp(&b))
}

/// Sorts by a comparison that may fail; the sort is stable.
pub(super) fn sort_by<T>(
    items: &mut [T],
    compare: impl Fn(&T, &T) -> Result<Ordering, OpError>,
) -> Result<(), OpError> {
    sort_dyn(items, &compare)
}

/// [`sort_by`], compiled once for each type.
fn sort_dyn<T>(items: &mut [T], compare: &dyn Fn(&T, &T) -> Result<Ordering, OpError>) -> Result<(), OpError> {
    let mut problem = None;
    items.sort_by(|a, b| {
        compare(a, b).unwrap_or_else(|e| {
            problem.get_or_insert(e);
            Ordering::Equal
        })
    });
    problem.map_or(Ok(()), Err)
}

/// Runs `$body`, generic over the element type, with the array and an order of its elements.
macro_rules! with_order {
    ($value:expr, ($array:ident, $order:ident) => $body:expr) => {
        match $value {
            Value::Real($array) => {
                let $order = total_order::<S>;
                Value::Real($body)
            }
            Value::Int($array) => {
                let $order = |a: &i128, b: &i128| -> Result<Ordering, OpError> { Ok(a.cmp(b)) };
                Value::Int($body)
            }
            Value::Bool($array) => {
                let $order = |a: &bool, b: &bool| -> Result<Ordering, OpError> { Ok(a.cmp(b)) };
                Value::Bool($body)
            }
            Value::Text($array) => {
                let $order = |a: &String, b: &String| -> Result<Ordering, OpError> { Ok(a.cmp(b)) };
                Value::Text($body)
            }
            Value::Absent => return Err(OpError::new("an operand is missing")),
        }
    };
}

fn infer_top_k(call: &Infer<'_>) -> Result<Type, OpError> {
    let dtype = call.expect_dtype(0, DType::is_number, "a number")?;
    if let Some(i) = call.attr_operand("k") {
        call.expect_dtype(i, DType::is_int, "an integer")?;
    }
    let k = call.int("k");
    if let Some(n) = call.const_int("k")
        && n < 0
    {
        return Err(OpError::new(format!("`k` must not be negative, but is {n}")).attr("k"));
    }
    let shape = match call.shape(0)? {
        None => None,
        Some(shape) => {
            let axis = call.axis("axis", shape.len())?;
            let k = k.unwrap_or_else(|| call.unknown());
            if let (Some(k), Some(n)) = (k.as_const(), shape[axis].as_const())
                && k > n
            {
                return Err(
                    OpError::new(format!("`k` is {k}, but axis {axis} of {shape} has {n} elements"))
                        .attr("k")
                        .at(0),
                );
            }
            let mut out = shape.clone();
            out[axis] = k;
            Some(out)
        }
    };
    Ok(Type::Tuple(vec![typed(dtype, shape.clone()), typed(DType::I64, shape)]))
}

/// Calls `f` with the offsets of the elements of each row along `axis`, with rows in row-major order.
fn each_row(
    shape: &[usize],
    axis: usize,
    f: &mut dyn FnMut(usize, Vec<usize>) -> Result<(), OpError>,
) -> Result<(), OpError> {
    let step = strides(shape)[axis];
    let extent = shape[axis];
    let outer = count(&shape[..axis])?;
    let mut row = 0;
    for block in 0..outer {
        for inner in 0..count(&shape[axis + 1..])? {
            let first = block * extent * step + inner;
            f(row, (0..extent).map(|i| first + i * step).collect())?;
            row += 1;
        }
    }
    Ok(())
}

/// The elements at the second of each pair.
fn chosen_elements<T: Clone>(elements: &[T], chosen: &[(usize, usize)]) -> Vec<T> {
    chosen.iter().map(|&(_, from)| elements[from].clone()).collect()
}

fn top_k<S: System>(e: &Eval<'_, S>) -> Out<S> {
    let x = e.operand(0)?;
    let (out, axis) = (e.out_shape(0)?, e.axis("axis", x.shape().len())?);
    let (k, largest) = (out[axis], e.flag("largest"));
    let mut places = vec![0i128; count(&out)?];
    let targets = {
        let mut targets = Vec::new();
        each_row(&out, axis, &mut |_, row| {
            targets.push(row);
            Ok(())
        })?;
        targets
    };
    let values = with_order!(x, (a, order) => {
        let elements = flat(a);
        let mut chosen = Vec::new();
        each_row(a.shape(), axis, &mut |row, offsets| {
            let mut ranked: Vec<usize> = (0..offsets.len()).collect();
            sort_by(&mut ranked, |&i, &j| {
                let ascending = order(&elements[offsets[i]], &elements[offsets[j]])?;
                Ok(if largest { ascending.reverse() } else { ascending })
            })?;
            if k > ranked.len() {
                return Err(OpError::new(format!("`k` is {k}, but there are {} elements", ranked.len())));
            }
            for (&i, &to) in ranked.iter().zip(targets.get(row).into_iter().flatten()) {
                places[to] = i as i128;
                chosen.push((to, offsets[i]));
            }
            Ok(())
        })?;
        chosen.sort_unstable();
        shaped(&out, chosen_elements(&elements, &chosen))?
    });
    Ok(vec![values, Value::Int(shaped(&out, places)?)])
}

fn infer_unique(call: &Infer<'_>) -> Result<Type, OpError> {
    let x = call.tensor(0)?;
    let found = call.unknown();
    let list = |d: &Dim| typed(DType::I64, Some([d.clone()].into_iter().collect()));
    let given = !call.attr("axis").is_none();
    let (values, slices): (Option<Shape>, Dim) = match &x.shape {
        _ if !given => (
            Some([found.clone()].into_iter().collect()),
            x.shape.as_ref().map_or_else(|| call.unknown(), Shape::size),
        ),
        None => (None, call.unknown()),
        Some(shape) => {
            let axis = call.axis("axis", shape.len())?;
            let mut out = shape.clone();
            out[axis] = found.clone();
            (Some(out), shape[axis].clone())
        }
    };
    Ok(Type::Tuple(vec![
        typed(x.dtype, values),
        list(&found),
        list(&slices),
        list(&found),
    ]))
}

/// The slices of `a` along `axis`, each as a list of its elements.
fn slices<T: Clone>(a: &Nd<T>, axis: Option<usize>) -> Vec<Vec<T>> {
    match axis {
        None => a.iter().map(|x| vec![x.clone()]).collect(),
        Some(axis) => a
            .axis_iter(ndarray::Axis(axis))
            .map(|slice| slice.iter().cloned().collect())
            .collect(),
    }
}

/// The groups of equal slices, each a list of its members, in the requested order.
fn groups<T: Clone>(
    slices: &[Vec<T>],
    sorted: bool,
    order: &dyn Fn(&T, &T) -> Result<Ordering, OpError>,
) -> Result<Vec<Vec<usize>>, OpError> {
    let compare = |a: &[T], b: &[T]| -> Result<Ordering, OpError> {
        for (x, y) in a.iter().zip(b) {
            match order(x, y)? {
                Ordering::Equal => {}
                other => return Ok(other),
            }
        }
        Ok(Ordering::Equal)
    };
    let mut ranked: Vec<usize> = (0..slices.len()).collect();
    sort_by(&mut ranked, |&i, &j| compare(&slices[i], &slices[j]))?;
    let mut groups: Vec<Vec<usize>> = Vec::new();
    for i in ranked {
        match groups.last_mut() {
            Some(group) if compare(&slices[group[0]], &slices[i])? == Ordering::Equal => group.push(i),
            _ => groups.push(vec![i]),
        }
    }
    if !sorted {
        groups.sort_by_key(|group| group[0]);
    }
    Ok(groups)
}

fn unique<S: System>(e: &Eval<'_, S>) -> Out<S> {
    let x = e.operand(0)?;
    let axis = match e.int("axis") {
        None => None,
        Some(_) => Some(e.axis("axis", x.shape().len())?),
    };
    let sorted = e.flag("sorted");
    let (found, slices_in_all);
    let values = with_order!(x, (a, order) => {
        let slices = slices(a, axis);
        slices_in_all = slices.len();
        found = groups(&slices, sorted, &order)?;
        let firsts: Vec<Option<usize>> = found.iter().map(|group| Some(group[0])).collect();
        match axis {
            None => shaped(&[found.len()], found.iter().filter_map(|group| slices[group[0]].first().cloned()).collect())?,
            Some(axis) => select_axis(a, axis, firsts)?,
        }
    });
    let mut which = vec![0i128; slices_in_all];
    for (number, group) in found.iter().enumerate() {
        for &member in group {
            which[member] = number as i128;
        }
    }
    let list = |values: Vec<i128>| -> Result<Value<S>, OpError> { Ok(Value::Int(shaped(&[values.len()], values)?)) };
    Ok(vec![
        values,
        list(found.iter().map(|group| group[0] as i128).collect())?,
        list(which)?,
        list(found.iter().map(|group| group.len() as i128).collect())?,
    ])
}

fn infer_compress(call: &Infer<'_>) -> Result<Type, OpError> {
    let x = call.tensor(0)?;
    call.expect_dtype(1, |d| d == DType::Bool, "a list of booleans")?;
    if let Some(rank) = call.tensor(1)?.rank()
        && rank != 1
    {
        return Err(OpError::new(format!("`condition` must be a list, but has {rank} axes")).at(1));
    }
    if call.attr("axis").is_none() {
        return Ok(typed(x.dtype, Some([call.unknown()].into_iter().collect())));
    }
    let Some(shape) = &x.shape else {
        return Ok(typed(x.dtype, None));
    };
    let axis = call.axis("axis", shape.len())?;
    let mut out = shape.clone();
    out[axis] = call.unknown();
    Ok(typed(x.dtype, Some(out)))
}

fn compress<S: System>(e: &Eval<'_, S>) -> Out<S> {
    let (x, condition) = (e.operand(0)?, flat(e.operand(1)?.bool()?));
    let axis = match e.int("axis") {
        None => None,
        Some(_) => Some(e.axis("axis", x.shape().len())?),
    };
    let extent = match axis {
        Some(axis) => x.shape()[axis],
        None => count(x.shape())?,
    };
    let places: Vec<Option<usize>> = (0..condition.len()).filter(|&i| condition[i]).map(Some).collect();
    if places.iter().flatten().any(|&i| i >= extent) {
        return Err(OpError::new(format!("`condition` is true beyond the {extent} elements available")).at(1));
    }
    Ok(vec![map_value!(x, a => match axis {
        Some(axis) => select_axis(a, axis, places)?,
        None => select_axis(&reshape(a, &[extent])?, 0, places)?,
    })?])
}
