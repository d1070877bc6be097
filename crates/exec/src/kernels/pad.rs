//! Padding by repeated elements, one axis at a time.

use super::call::{done, or_decline};
use super::movement::moved;
use super::room::Room;
use super::{Call, Done, Kernel, each_type};
use tautomer_tensor::Element;

/// The kernels of this family.
pub(super) const KERNELS: &[Kernel] = &[Kernel::any("pad", pad)];

fn pad(call: &Call<'_>) -> Done {
    let which: fn(isize, usize) -> Option<usize> = match call.text("mode") {
        "reflect" => reflected,
        "edge" => |at, n| Some(at.clamp(0, n as isize - 1) as usize),
        "wrap" => |at, n| Some(at.rem_euclid(n as isize) as usize),
        _ => return moved(call),
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
    each_type!(call.dtype(0), T => padded::<T>(call, &places))
}

/// The place that a place outside of `n` elements repeats if they are reflected once.
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
        ];
        for mode in ["reflect", "edge", "wrap", "constant"] {
            for &(shape, pads) in rows {
                let reflects_one = mode == "reflect" && shape == [1];
                if !reflects_one {
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
