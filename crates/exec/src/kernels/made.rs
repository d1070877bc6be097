//! Results that positions decide: triangles, ranges, indices as rows of truth values, and what conditions select.

use super::call::{Call, done, or_decline};
use super::indexed::integers;
use super::operand::Extents;
use super::threads::{in_parts, worth};
use super::words::each_word;
use super::{Done, Kernel};
use tautomer_tensor::{DType, Element};

/// The kernels of this family.
pub(super) const KERNELS: &[Kernel] = &[
    Kernel::any("trilu", trilu),
    Kernel::any("eye_like", eye_like),
    Kernel::any("range", range),
    Kernel::any("one_hot", one_hot),
    Kernel::any("non_zero", non_zero),
    Kernel::any("compress", compress),
];

fn trilu(call: &Call<'_>) -> Done {
    fn typed<T: Element>(call: &Call<'_>, k: i64) -> Done {
        let (x, shape, upper) = (or_decline!(call.slice::<T>(0)), call.shape(0), call.flag("upper"));
        let [.., rows, columns] = *shape else { return Ok(None) };
        let mut out = call.result_room::<T>(x.len());
        in_parts(worth(call.threads, x.len()), &mut out, columns, |first, out| {
            let all = x[first * columns..].chunks_exact(columns.max(1));
            for (i, (from, to)) in all.zip(out.chunks_exact_mut(columns.max(1))).enumerate() {
                // The first element of the row that is on the other side of the edge.
                let row = ((first + i) % rows) as i64;
                let edge = row.saturating_add(k).saturating_add(i64::from(!upper));
                let edge = edge.clamp(0, columns as i64) as usize;
                let (kept, zeros) = if upper {
                    (edge..columns, 0..edge)
                } else {
                    (0..edge, edge..columns)
                };
                to[kept.clone()].clone_from_slice(&from[kept]);
                to[zeros].fill(T::default());
            }
        });
        done(shape, out)
    }
    let k = or_decline!(call.int("k"));
    each_word!(call, 0, T => typed::<T>(call, k))
}

fn eye_like(call: &Call<'_>) -> Done {
    fn typed<T: Element>(call: &Call<'_>, one: T) -> Done {
        let shape = or_decline!(call.out_shape());
        let (&[rows, columns], k) = (&shape[..], or_decline!(call.int("k"))) else {
            return Ok(None);
        };
        let mut out = call.filled(0, rows * columns, T::default());
        for (row, to) in out.chunks_exact_mut(columns.max(1)).enumerate() {
            let on = usize::try_from(k.saturating_add(row as i64)).ok();
            if let Some(to) = on.and_then(|on| to.get_mut(on)) {
                *to = one.clone();
            }
        }
        done(&shape, out)
    }
    match or_decline!(call.result_type()).dtype {
        DType::F32 => typed(call, 1.0f32),
        DType::F64 => typed(call, 1.0f64),
        DType::I64 => typed(call, 1i64),
        DType::I32 => typed(call, 1i32),
        DType::Bool => typed(call, true),
        _ => Ok(None),
    }
}

/// Ranges of integers; those of other numbers are rounded by the reference semantics.
fn range(call: &Call<'_>) -> Done {
    fn typed<T: Element + Copy + Into<i64>>(call: &Call<'_>, of: fn(i64) -> T) -> Done {
        let one = |i: usize| -> Option<i64> { call.slice::<T>(i)?.first().map(|&n| n.into()) };
        let (start, limit) = (or_decline!(one(0)), or_decline!(one(1)));
        let delta = or_decline!(one(2).filter(|&delta| delta != 0));
        let span = i128::from(limit) - i128::from(start);
        let steps = (span + i128::from(delta) - i128::from(delta.signum())) / i128::from(delta);
        let n = or_decline!(usize::try_from(steps.max(0)).ok().filter(|n| *n <= MOST));
        let mut out = call.result_room::<T>(n);
        let numbers = (0..n as i64).map(|i| of(start.wrapping_add(i.wrapping_mul(delta))));
        out.iter_mut().zip(numbers).for_each(|(to, from)| *to = from);
        done(&[n], out)
    }
    match or_decline!(call.dtype(0)) {
        DType::I64 => typed::<i64>(call, |n| n),
        DType::I32 => typed::<i32>(call, |n| n as i32),
        _ => Ok(None),
    }
}

/// Longer results are left to the reference semantics, which report those that are too large.
const MOST: usize = 1 << 26;

fn one_hot(call: &Call<'_>) -> Done {
    fn typed<T: Element>(call: &Call<'_>, indices: &[i64], axis: usize, shape: &Extents) -> Done {
        let values = or_decline!(call.slice::<T>(1));
        let [off, on] = &values[..] else { return Ok(None) };
        let (depth, inner) = (shape[axis], shape[axis + 1..].iter().product::<usize>());
        let mut out = call.result_room::<T>(indices.len() * depth);
        out.fill(off.clone());
        for (at, &index) in indices.iter().enumerate() {
            let index = if index < 0 {
                index.saturating_add(depth as i64)
            } else {
                index
            };
            if let Some(index) = usize::try_from(index).ok().filter(|&index| index < depth) {
                out[(at / inner * depth + index) * inner + at % inner] = on.clone();
            }
        }
        done(shape, out)
    }
    let (shape, indices) = (or_decline!(call.out_shape()), or_decline!(integers(call, 0)));
    let axis = or_decline!(call.axis("axis", shape.len()));
    each_word!(call, 1, T => typed::<T>(call, &indices, axis, &shape))
}

fn non_zero(call: &Call<'_>) -> Done {
    fn typed<T: Element>(call: &Call<'_>, is_zero: fn(&T) -> bool) -> Done {
        let (x, shape) = (or_decline!(call.slice::<T>(0)), call.shape(0));
        let found: Vec<usize> = (0..x.len()).filter(|&i| !is_zero(&x[i])).collect();
        let mut out = call.result_room::<i64>(shape.len() * found.len());
        let mut inner = x.len();
        for (&n, out) in shape.iter().zip(out.chunks_exact_mut(found.len().max(1))) {
            inner /= n.max(1);
            out.iter_mut()
                .zip(&found)
                .for_each(|(to, at)| *to = (at / inner % n) as i64);
        }
        done(&[shape.len(), found.len()], out)
    }
    match or_decline!(call.dtype(0)) {
        DType::F32 => typed::<f32>(call, |x| *x == 0.0),
        DType::Bool => typed::<bool>(call, |x| !x),
        DType::I64 => typed::<i64>(call, |x| *x == 0),
        DType::I32 => typed::<i32>(call, |x| *x == 0),
        _ => Ok(None),
    }
}

fn compress(call: &Call<'_>) -> Done {
    fn typed<T: Element>(call: &Call<'_>, kept: &[usize], (outer, n, inner): (usize, usize, usize)) -> Done {
        let x = or_decline!(call.slice::<T>(0));
        let mut out = call.result_room::<T>(outer * kept.len() * inner);
        let places = (0..outer).flat_map(|i| kept.iter().map(move |at| (i * n + at) * inner));
        for (out, at) in out.chunks_exact_mut(inner.max(1)).zip(places) {
            out.clone_from_slice(&x[at..][..inner]);
        }
        let mut shape: Extents = call.shape(0).into();
        match call.attr("axis").is_none() {
            true => shape = Extents::from_elem(kept.len(), 1),
            false => shape[or_decline!(call.axis("axis", call.shape(0).len()))] = kept.len(),
        }
        done(&shape, out)
    }
    let shape = call.shape(0);
    let condition = or_decline!(call.slice::<bool>(1));
    let sizes @ (_, n, _) = match call.attr("axis").is_none() {
        true => (1, shape.iter().product(), 1),
        false => {
            let axis = or_decline!(call.axis("axis", shape.len()));
            (
                shape[..axis].iter().product(),
                shape[axis],
                shape[axis + 1..].iter().product(),
            )
        }
    };
    if condition.len() > n {
        return Ok(None);
    }
    let kept: Vec<usize> = (0..condition.len()).filter(|&i| condition[i]).collect();
    each_word!(call, 0, T => typed::<T>(call, &kept, sizes))
}

#[cfg(test)]
mod tests {
    use super::super::testing::{Case, f32s};
    use tautomer_op::AttrValue;
    use tautomer_tensor::{DType, Tensor};

    #[test]
    fn triangles() {
        for shape in [&[3usize, 5][..], &[2, 4, 3], &[0, 3], &[3, 0]] {
            for (k, upper) in (-12..14).map(|i| (i / 2, i % 2 == 0)) {
                Case::new("trilu", &[f32s(shape, 1)])
                    .int("k", k)
                    .attr("upper", AttrValue::Bool(upper))
                    .check();
            }
        }
    }

    #[test]
    fn diagonals_of_ones() {
        for shape in [&[3usize, 5][..], &[4, 2], &[0, 3], &[3, 0]] {
            for k in -5..6 {
                let case = || Case::new("eye_like", &[f32s(shape, 1)]).int("k", k);
                assert!(case().check());
                for dtype in [DType::I64, DType::F64, DType::Bool, DType::U8] {
                    case().attr("dtype", AttrValue::DType(dtype)).may_decline().check();
                }
            }
        }
    }

    #[test]
    fn ranges() {
        for (start, limit, delta) in [
            (0i64, 10, 1),
            (3, 17, 4),
            (3, 19, 4),
            (5, -5, -3),
            (5, 5, 1),
            (1, 0, 2),
            (0, 4, -1),
        ] {
            Case::new("range", &[start, limit, delta].map(Tensor::scalar))
                .may_decline()
                .check();
            Case::new("range", &[start as i32, limit as i32, delta as i32].map(Tensor::scalar))
                .may_decline()
                .check();
        }
    }

    #[test]
    fn indices_as_rows() {
        let indices = Tensor::new::<i64>(&[2, 3], vec![0, 3, -1, 5, -4, -6]).unwrap();
        for (axis, depth) in [(-1, 4), (0, 4), (1, 5), (2, 1)] {
            Case::new("one_hot", &[indices.clone(), f32s(&[2], 1)])
                .int("axis", axis)
                .int("depth", depth)
                .check();
        }
    }

    #[test]
    fn what_is_selected() {
        let x = Tensor::new::<f32>(&[2, 3], vec![0.0, 1.0, -0.0, f32::NAN, 0.0, 2.0]).unwrap();
        let whole = Tensor::new::<i64>(&[2, 3], vec![0, 1, 0, -3, 0, 2]).unwrap();
        for x in [&x, &whole, &f32s(&[0, 2], 1), &Tensor::scalar(3.0f32)] {
            Case::new("non_zero", std::slice::from_ref(x)).may_decline().check();
        }
        for (axis, condition) in [
            (0, vec![false, true]),
            (1, vec![true, false, true]),
            (1, vec![true, true]),
        ] {
            let condition = Tensor::vector(condition);
            Case::new("compress", &[x.clone(), condition.clone()])
                .int("axis", axis)
                .may_decline()
                .check();
            Case::new("compress", &[x.clone(), condition]).may_decline().check();
        }
    }
}
