//! Operators that move elements, copied as their maps say.

use std::any::Any;

use ndarray::IxDyn;

use super::call::{done, or_decline};
use super::copy::gather_in;
use super::layout::rows;
use super::{Call, Kernel};
use tautomer_op::OpError;
use tautomer_op::movement::{Linear, Map, Part, Plan, Source, maps};
use tautomer_tensor::strided::{Layout, View};
use tautomer_tensor::with_array;
use tautomer_tensor::{Element, Nd, Tensor};

type Done = Result<Option<Vec<Tensor>>, OpError>;

/// The kernels of this family.
pub(super) const KERNELS: &[Kernel] = &[
    Kernel::view("reshape", moved),
    Kernel::view("flatten", moved),
    Kernel::view("squeeze", moved),
    Kernel::view("unsqueeze", moved),
    Kernel::any("transpose", moved),
    Kernel::any("expand", moved),
    Kernel::any("tile", moved),
    Kernel::any("slice", moved),
    Kernel::any("split", moved),
    Kernel::any("diagonal", moved),
    Kernel::any("unfold", moved),
    Kernel::any("roll", moved),
    Kernel::any("depth_to_space", moved),
    Kernel::any("space_to_depth", moved),
];

/// The results of an operator that moves elements of its first operand.
pub(super) fn moved(call: &Call<'_>) -> Done {
    let movement = or_decline!(call.def.moves());
    let shapes = or_decline!(call.out_shapes());
    let operands: Vec<Option<Vec<usize>>> = call
        .operands
        .iter()
        .map(|o| o.as_ref().map(|t| t.shape().to_vec()))
        .collect();
    // Calls without a map are left to the reference semantics to report.
    let maps = or_decline!(maps(movement, call.def, call.attrs(), &operands, &shapes).ok());
    let mut results = Vec::with_capacity(maps.len());
    for (map, shape) in maps.iter().zip(&shapes) {
        let x = call.tensor(0)?;
        let result = with_array!(x, array => one(array, call, map, shape, &operands))?;
        results.push(or_decline!(result));
    }
    Ok(Some(results))
}

/// One result; `None` if it is left to the reference semantics.
fn one<T: Element>(
    array: &Nd<T>,
    call: &Call<'_>,
    map: &Map,
    shape: &[usize],
    operands: &[Option<Vec<usize>>],
) -> Result<Option<Tensor>, OpError> {
    let single = |elements: Vec<T>| Ok(done(shape, elements)?.and_then(|mut all| all.pop()));
    if map.view() == Some(0) {
        return shared(array, shape);
    }
    if shape.contains(&0) {
        return single(Vec::new());
    }
    if let Some(linear) = map.linear(array.ndim()) {
        return match seen(array, &linear, shape, call) {
            Some(elements) => single(elements),
            None => Ok(None),
        };
    }
    let reads_others = map.pieces.iter().any(|piece| match &piece.source {
        Source::Element(operand, _) => *operand != 0,
        Source::Fill(_) => false,
    });
    if reads_others || map.reads_data() {
        return Ok(None);
    }
    let nothing = |_: usize, _: &[i64]| Err(OpError::new("this map reads no data"));
    let plan = or_decline!(Plan::new(map, operands, &nothing).ok());
    if !plan.parts.iter().all(Part::is_plain) {
        return Ok(None);
    }
    let fill = match map.fill() {
        None => T::default(),
        Some(fill) => {
            let given = fill.operand.and_then(|i| call.optional(i)).and_then(T::array);
            match given.and_then(|array| array.iter().next().cloned()) {
                Some(given) => given,
                None => or_decline!(number(fill.number)),
            }
        }
    };
    let room = call.filled(shape.iter().product(), fill.clone());
    single(boxes(&plan, &rows(array), &fill, room))
}

/// A number as an element: zero in any type, or any number in one of floating-point numbers.
pub(super) fn number<T: Element>(value: f64) -> Option<T> {
    if value == 0.0 && value.is_sign_positive() {
        return Some(T::default());
    }
    let of = |x: &dyn Any| x.downcast_ref::<T>().cloned();
    of(&(value as f32)).or_else(|| of(&value))
}

/// The same elements in row-major order; copied only if they are stored differently.
pub(super) fn shared<T: Element>(array: &Nd<T>, shape: &[usize]) -> Result<Option<Tensor>, OpError> {
    if shape.iter().product::<usize>() != array.len() {
        return Ok(None);
    }
    match array.clone().into_shape_with_order(IxDyn(shape)) {
        Ok(array) => Ok(Some(T::wrap(array))),
        Err(_) => Ok(done(shape, rows(array).into_owned())?.and_then(|mut all| all.pop())),
    }
}

/// The elements of an operand seen through the strides of a map.
fn seen<T: Element>(array: &Nd<T>, linear: &Linear, shape: &[usize], call: &Call<'_>) -> Option<Vec<T>> {
    let own;
    let whole = match View::of(array) {
        Some(view) => view,
        None => {
            own = rows(array);
            View::row_major(&own, array.shape()).ok()?
        }
    };
    let from = whole.layout();
    if linear.operand != 0 || linear.axes.len() != from.rank() {
        return None;
    }
    let mut start = isize::try_from(from.start()).ok()?;
    let mut strides = vec![0isize; shape.len()];
    for ((first, steps), &stride) in linear.axes.iter().zip(from.strides()) {
        start = start.checked_add(isize::try_from(*first).ok()?.checked_mul(stride)?)?;
        for &(axis, step) in steps {
            let step = isize::try_from(step).ok()?.checked_mul(stride)?;
            let slot = strides.get_mut(axis)?;
            *slot = slot.checked_add(step)?;
        }
    }
    let layout = Layout::new(shape, &strides, usize::try_from(start).ok()?, whole.elements().len()).ok()?;
    let view = View::new(whole.elements(), layout).ok()?;
    Some(gather_in(&view, call.empty(view.layout().len())))
}

/// The elements of all parts, each copied in runs as long as possible, in `out`, which is filled.
fn boxes<T: Element>(plan: &Plan<'_>, from: &[T], fill: &T, mut out: Vec<T>) -> Vec<T> {
    // Where parts overlap, the first one counts.
    for part in plan.parts.iter().rev() {
        copy_box(part, &plan.shape, from, fill, &mut out);
    }
    out
}

fn copy_box<T: Element>(part: &Part<'_>, shape: &[usize], from: &[T], fill: &T, out: &mut [T]) {
    if part.indices.iter().any(Vec::is_empty) {
        return;
    }
    // Trailing axes that are whole and in order form a block.
    let (mut block, mut inner) = (1usize, shape.len());
    while let Some(axis) = inner.checked_sub(1) {
        let in_order = |(i, &offset): (usize, &isize)| offset == (i * block) as isize;
        let whole = part.indices[axis].len() == shape[axis];
        if !whole || part.operand.is_some() && !part.offsets[axis].iter().enumerate().all(in_order) {
            break;
        }
        block *= shape[axis];
        inner = axis;
    }
    let mut copy = |to: usize, at: isize, n: usize| match part.operand {
        Some(_) => out[to..][..n].clone_from_slice(&from[at as usize..][..n]),
        None => out[to..][..n].fill(fill.clone()),
    };
    let Some(axis) = inner.checked_sub(1) else {
        return copy(0, part.start, block);
    };
    // Runs of blocks along the next axis: the first index in the result, the offset in the operand, and the length.
    let mut runs: Vec<(usize, isize, usize)> = Vec::new();
    for (&i, &offset) in part.indices[axis].iter().zip(&part.offsets[axis]) {
        match runs.last_mut() {
            Some((to, at, n)) if *to + *n == i && (part.operand.is_none() || *at + (*n * block) as isize == offset) => {
                *n += 1;
            }
            _ => runs.push((i, offset, 1)),
        }
    }
    let mut strides = vec![block; axis + 1];
    for outer in (0..axis).rev() {
        strides[outer] = strides[outer + 1] * shape[outer + 1];
    }
    let mut at = vec![0usize; axis];
    loop {
        let (mut to, mut start) = (0, part.start);
        for (outer, &i) in at.iter().enumerate() {
            to += part.indices[outer][i] * strides[outer];
            start += part.offsets[outer][i];
        }
        for &(first, offset, n) in &runs {
            copy(to + first * block, start + offset, n * block);
        }
        // The next position along the outer axes.
        let Some(next) = (0..axis).rev().find(|&outer| at[outer] + 1 < part.indices[outer].len()) else {
            return;
        };
        at[next] += 1;
        at[next + 1..].fill(0);
    }
}

#[cfg(test)]
#[path = "movement_tests.rs"]
mod tests;
