//! Operators that move elements, copied as their maps say.

use std::any::Any;

use smallvec::{SmallVec, smallvec};

use super::call::{done, or_decline};
use super::copy::gather_in;
use super::operand::{Extents, Operand};
use super::room::Room;
use super::words::{each_word, view};
use super::{Call, Done, Kernel, Results, Value};
use tautomer_op::OpError;
use tautomer_op::movement::{Linear, Map, Movement, Part, Plan, Source, maps};
use tautomer_tensor::strided::{Layout, View};
use tautomer_tensor::{DType, Element};

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
    // Calls without a map are left to the reference semantics to report.
    let moves = call.once(|| Moves::of(call, movement));
    let moves = or_decline!(moves.as_ref().as_ref());
    let mut results = Results::new();
    for k in 0..moves.maps.len() {
        results.push(or_decline!(one(call, k, moves)?));
    }
    Ok(Some(results))
}

/// How a call moves elements, according to its shapes and attributes.
struct Moves {
    maps: Vec<Map>,
    /// The shapes of the results.
    shapes: Vec<Extents>,
    operands: Vec<Option<Vec<usize>>>,
    /// For each result, the layout of its elements among those of the first operand in row-major order, if the map is
    /// linear.
    seen: Vec<Option<Layout>>,
}

impl Moves {
    fn of(call: &Call<'_>, movement: Movement) -> Option<Moves> {
        let shapes = call.out_shapes()?;
        let given = |operand: &Operand<'_>| operand.is_given().then(|| operand.shape().to_vec());
        let operands: Vec<Option<Vec<usize>>> = call.operands.iter().map(given).collect();
        let results: Vec<Vec<usize>> = shapes.iter().map(|shape| shape.to_vec()).collect();
        let maps = maps(movement, call.def, call.attrs(), &operands, &results).ok()?;
        let from = Layout::row_major(call.shape(0)).ok();
        let seen = |(map, shape): (&Map, &Extents)| {
            let linear = map.linear(call.shape(0).len()).filter(|_| !shape.contains(&0))?;
            through(from.as_ref()?, &linear, shape, call.shape(0).iter().product())
        };
        let seen = maps.iter().zip(&shapes).map(seen).collect();
        Some(Moves {
            maps,
            shapes,
            operands,
            seen,
        })
    }
}

/// For each result of a call that moves elements, the first element of the first operand that it is a view of, if its
/// elements are contiguous there.
pub(super) fn shown(call: &Call<'_>) -> Option<Vec<Option<usize>>> {
    let moves = Moves::of(call, call.def.moves()?)?;
    let start = |layout: &Option<Layout>| layout.as_ref().filter(|l| l.is_contiguous()).map(Layout::start);
    Some(moves.seen.iter().map(start).collect())
}

/// One result; `None` if it is left to the reference semantics.
fn one(call: &Call<'_>, k: usize, moves: &Moves) -> Result<Option<Value>, OpError> {
    let (map, shape) = (&moves.maps[k], &moves.shapes[k]);
    if let Some(tensor) = call.operand(0).tensor() {
        if map.view() == Some(0) {
            return Ok(tensor.reshaped(shape).map(Value::Tensor));
        }
        let first = moves.seen[k].as_ref().filter(|layout| layout.is_contiguous());
        if let Some(part) = first.and_then(|first| tensor.part(first.start(), shape)) {
            return Ok(Some(Value::Tensor(part)));
        }
    }
    let done = each_word!(call, 0, T => copied::<T>(call, k, moves));
    Ok(done?.and_then(|results| results.into_iter().next()))
}

/// One result whose elements are copied.
fn copied<T: Element>(call: &Call<'_>, k: usize, moves: &Moves) -> Done {
    let (map, shape) = (&moves.maps[k], &moves.shapes[k]);
    let single = |elements: Room<'_, T>| done(shape, elements);
    if map.view() == Some(0) {
        let elements = or_decline!(call.slice::<T>(0));
        let mut room = call.result_room_of(k, elements.len());
        room.clone_from_slice(&elements);
        return single(room);
    }
    let n: usize = shape.iter().product();
    if n == 0 {
        return single(Room::from(Vec::new()));
    }
    if let Some(layout) = &moves.seen[k] {
        if let Some(view) = call.operand(0).tensor().and_then(view::<T>) {
            let linear = or_decline!(map.linear(view.layout().rank()));
            let layout = through(view.layout(), &linear, shape, view.elements().len());
            let view = or_decline!(View::new(view.elements(), or_decline!(layout)).ok());
            return single(gather_in(call.threads, &view, call.result_room_of(k, n)));
        }
        let whole = or_decline!(call.slice::<T>(0));
        let view = or_decline!(View::new(&whole, layout.clone()).ok());
        return single(gather_in(call.threads, &view, call.result_room_of(k, n)));
    }
    let reads_others = map.pieces.iter().any(|piece| match &piece.source {
        Source::Element(operand, _) => *operand != 0,
        Source::Fill(_) => false,
    });
    if map.linear(call.shape(0).len()).is_some() || reads_others || map.reads_data() {
        return Ok(None);
    }
    let nothing = |_: usize, _: &[i64]| Err(OpError::new("this map reads no data"));
    let plan = or_decline!(Plan::new(map, &moves.operands, &nothing).ok());
    if !plan.parts.iter().all(Part::is_plain) {
        return Ok(None);
    }
    let fill = match map.fill() {
        None => T::default(),
        Some(fill) => {
            let given = fill.operand.and_then(|i| call.slice::<T>(i));
            match given.and_then(|elements| elements.first().cloned()) {
                Some(given) => given,
                None => or_decline!(number(or_decline!(call.dtype(0)), fill.number)),
            }
        }
    };
    let mut room = call.result_room_of(k, n);
    room.fill(fill.clone());
    let from = or_decline!(call.slice::<T>(0));
    boxes(&plan, &from, &fill, &mut room);
    single(room)
}

/// A number as the word of an element of type `dtype`: zero in any type, or any number in one of floating-point
/// numbers.
pub(super) fn number<T: Element>(dtype: DType, value: f64) -> Option<T> {
    if value == 0.0 && value.is_sign_positive() {
        return Some(T::default());
    }
    let word: &dyn Any = match dtype {
        DType::F32 => &(value as f32).to_bits(),
        DType::F64 => &value.to_bits(),
        _ => return None,
    };
    word.downcast_ref::<T>().cloned()
}

/// The layout of the elements of a result of that shape, among `len` elements of an operand that has the layout `from`.
fn through(from: &Layout, linear: &Linear, shape: &[usize], len: usize) -> Option<Layout> {
    if linear.operand != 0 || linear.axes.len() != from.rank() {
        return None;
    }
    let mut start = isize::try_from(from.start()).ok()?;
    let mut strides: SmallVec<[isize; 6]> = smallvec![0; shape.len()];
    for ((first, steps), &stride) in linear.axes.iter().zip(from.strides()) {
        start = start.checked_add(isize::try_from(*first).ok()?.checked_mul(stride)?)?;
        for &(axis, step) in steps {
            let step = isize::try_from(step).ok()?.checked_mul(stride)?;
            let slot = strides.get_mut(axis)?;
            *slot = slot.checked_add(step)?;
        }
    }
    Layout::new(shape, &strides, usize::try_from(start).ok()?, len).ok()
}

/// The elements of all parts, each copied in runs as long as possible, in `out`, which is filled.
fn boxes<T: Element>(plan: &Plan<'_>, from: &[T], fill: &T, out: &mut [T]) {
    // Where parts overlap, the first one counts.
    for part in plan.parts.iter().rev() {
        copy_box(part, &plan.shape, from, fill, out);
    }
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
    let copy = |out: &mut [T], to: usize, at: isize, n: usize| match part.operand {
        Some(_) => out[to..][..n].clone_from_slice(&from[at as usize..][..n]),
        None => out[to..][..n].fill(fill.clone()),
    };
    let Some(axis) = inner.checked_sub(1) else {
        return copy(out, 0, part.start, block);
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
    // Few neighbours of single elements are neighbours in the operand.
    let is_scattered = part.operand.is_some() && block == 1 && 2 * runs.len() > part.indices[axis].len();
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
        if is_scattered {
            let (out, places) = (&mut out[to..], part.indices[axis].iter().zip(&part.offsets[axis]));
            places.for_each(|(&i, offset)| out[i] = from[(start + offset) as usize].clone());
        } else {
            for &(first, offset, n) in &runs {
                copy(out, to + first * block, start + offset, n * block);
            }
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
