//! Padding by repeated elements, one axis at a time.

use super::call::{done, or_decline};
use super::movement::{moved, number};
use super::operand::Extents;
use super::room::Room;
use super::words::each_word;
use super::{Call, Done, Kernel};
use smallvec::{SmallVec, smallvec};
use tautomer_tensor::Element;

/// Elements added before and after those of an axis.
type Pads = SmallVec<[(usize, usize); 6]>;

/// The kernels of this family.
pub(super) const KERNELS: &[Kernel] = &[Kernel::any("pad", pad)];

fn pad(call: &Call<'_>) -> Done {
    let which: fn(isize, usize) -> Option<usize> = match call.text("mode") {
        "reflect" => reflected,
        "edge" => |at, n| Some(at.clamp(0, n as isize - 1) as usize),
        "wrap" => |at, n| Some(at.rem_euclid(n as isize) as usize),
        _ => return constant(call),
    };
    let shape = call.shape(0);
    let axes = or_decline!(call.axes("axes", shape.len()));
    let pads = call.sizes("pads", 2 * axes.len(), 0);
    let Some(pads) = pads.filter(|_| call.has(0) && !shape.contains(&0)) else {
        return moved(call);
    };
    // For each axis from the last on, the places of the elements before and after those of the operand.
    let mut places = Vec::with_capacity(axes.len());
    for (i, &axis) in axes.iter().enumerate().rev() {
        let n = shape[axis];
        let (before, after) = (pads[i] as isize, pads[axes.len() + i]);
        let of = |range: std::ops::Range<isize>| range.map(|at| which(at, n)).collect::<Option<Vec<usize>>>();
        let end = n as isize;
        match (of(-before..0), of(end..end + after as isize)) {
            (Some(before), Some(after)) => places.push((axis, before, after)),
            _ => return moved(call),
        }
    }
    each_word!(call, 0, T => padded::<T>(call, &places))
}

/// Adds a constant.
fn constant(call: &Call<'_>) -> Done {
    let shape = call.shape(0);
    let axes = or_decline!(call.axes("axes", shape.len()));
    let mut pads: Pads = smallvec![(0, 0); shape.len()];
    // Some may be negative, and remove elements.
    let sizes = call.ints("pads").filter(|sizes| sizes.len() == 2 * axes.len());
    let Some(sizes) = sizes else { return moved(call) };
    for (i, &axis) in axes.iter().enumerate() {
        pads[axis] = match [sizes[i], sizes[axes.len() + i]].map(usize::try_from) {
            [Ok(before), Ok(after)] => (before, after),
            _ => return moved(call),
        };
    }
    let (mut repeated, is_given) = (axes.clone(), call.has(2));
    repeated.sort_unstable();
    repeated.dedup();
    if repeated.len() < axes.len() || !call.has(0) {
        return moved(call);
    }
    fn typed<T: Element>(call: &Call<'_>, pads: &[(usize, usize)], is_given: bool) -> Done {
        let value = match is_given {
            true => call.slice::<T>(2).and_then(|value| value.first().cloned()),
            false => call.float("value").and_then(|value| number(call.dtype(0)?, value)),
        };
        let Some(value) = value else { return moved(call) };
        let whole = or_decline!(call.slice::<T>(0));
        let added = call.shape(0).iter().zip(pads);
        let shape: Extents = added.map(|(n, (a, b))| n + a + b).collect();
        let mut out = call.result_empty(shape.iter().product());
        surround(&whole, call.shape(0), pads, &value, &mut out);
        done(&shape, out)
    }
    each_word!(call, 0, T => typed::<T>(call, &pads, is_given))
}

/// Appends to `out` the elements of an array of that shape, with `value` around them.
fn surround<T: Element>(from: &[T], shape: &[usize], pads: &[(usize, usize)], value: &T, out: &mut Room<'_, T>) {
    let ([n, inner @ ..], [(before, after), pads @ ..]) = (shape, pads) else {
        return out.extend_from_slice(from);
    };
    let padded: usize = inner.iter().zip(pads).map(|(n, (a, b))| n + a + b).product();
    let fill = |count: usize, out: &mut Room<'_, T>| out.resize(out.len() + count * padded, value.clone());
    fill(*before, out);
    let block: usize = inner.iter().product();
    if pads.iter().all(|pad| *pad == (0, 0)) {
        out.extend_from_slice(from);
    } else if block == 0 {
        fill(*n, out);
    } else {
        from.chunks_exact(block)
            .for_each(|part| surround(part, inner, pads, value, out));
    }
    fill(*after, out);
}

/// The position that a position outside of `n` elements repeats if they are reflected once.
fn reflected(at: isize, n: usize) -> Option<usize> {
    let (at, last) = (at.unsigned_abs(), n - 1);
    let place = if at > last { (2 * last).checked_sub(at)? } else { at };
    (last > 0).then_some(place)
}

fn padded<T: Element>(call: &Call<'_>, places: &[(usize, Vec<usize>, Vec<usize>)]) -> Done {
    let mut shape = call.shape(0).to_vec();
    let mut values = or_decline!(call.slice::<T>(0));
    let grows = |(_, before, after): &&(usize, Vec<usize>, Vec<usize>)| before.len() + after.len() > 0;
    let mut left = places.iter().filter(grows).count();
    for (axis, before, after) in places.iter().filter(grows) {
        let inner: usize = shape[axis + 1..].iter().product();
        let block = shape[*axis] * inner;
        shape[*axis] += before.len() + after.len();
        left -= 1;
        let mut out = match left {
            0 => call.result_empty(shape.iter().product()),
            _ => Room::from(call.empty(shape.iter().product())),
        };
        for x in values.chunks_exact(block) {
            let one = |place: &usize| &x[place * inner..][..inner];
            before.iter().for_each(|place| out.extend_from_slice(one(place)));
            out.extend_from_slice(x);
            after.iter().for_each(|place| out.extend_from_slice(one(place)));
        }
        match out.into_parts() {
            Ok(lent) => return done(&shape, lent),
            Err(vector) => values = vector.into(),
        }
    }
    done(&shape, values.into_owned())
}

#[cfg(test)]
mod tests {
    use super::super::testing::{Case, f32s};
    use tautomer_op::AttrValue;
    use tautomer_tensor::Tensor;

    #[test]
    fn elements_are_repeated() {
        let rows: &[(&[usize], &[i64])] = &[
            (&[5], &[0, 0]),
            (&[5], &[4, 3]),
            (&[1], &[2, 3]),
            (&[65], &[64, 1]),
            (&[3, 4], &[2, 0, 1, 3]),
            (&[2, 3, 17], &[1, 2, 16, 0, 1, 5]),
            (&[2, 3, 17], &[0, 0, 20, 0, 0, 40]),
            (&[3, 4], &[-1, 1, 2, -1]),
            (&[3, 0], &[1, 2, 0, 1]),
            (&[0, 3], &[1, 0, 2, 1]),
            (&[2, 3, 5], &[0, 2, 0, 0, 1, 0]),
        ];
        for mode in ["reflect", "edge", "wrap", "constant"] {
            for &(shape, pads) in rows {
                // There is nothing to repeat in an empty axis, and nothing beside a single element to reflect.
                let repeats_nothing = mode != "constant" && shape.contains(&0) || mode == "reflect" && shape == [1];
                if !repeats_nothing {
                    Case::new("pad", &[f32s(shape, 1)])
                        .ints("pads", pads)
                        .attr("mode", AttrValue::Str(mode.into()))
                        .ulp(0.0)
                        .check();
                }
            }
            let whole = Tensor::new(&[2, 3], vec![1i64, 2, 3, 4, 5, 6]).unwrap();
            Case::new("pad", &[whole])
                .ints("pads", &[1, 2])
                .ints("axes", &[1])
                .attr("mode", AttrValue::Str(mode.into()))
                .check();
        }
    }
}
