//! The largest and smallest elements along an axis, and where they are.

use pulp::{Arch, NullaryFnOnce};

use super::call::{Call, done, or_decline, value};
use super::sort::Bits;
use super::threads::{in_parts, worth};
use super::words::each_number_word;
use super::{Done, Kernel, Results};
use tautomer_tensor::{DType, Element};

/// The kernels of this family.
pub(super) const KERNELS: &[Kernel] = &[
    Kernel::any("argmax", |c| position(c, |a, b| a > b, |a, b| a > b, |a, b| a > b)),
    Kernel::any("argmin", |c| position(c, |a, b| a < b, |a, b| a < b, |a, b| a < b)),
    Kernel::any("top_k", top_k),
];

fn position(
    call: &Call<'_>,
    of_floats: impl Fn(f32, f32) -> bool + Sync,
    of_long: impl Fn(i64, i64) -> bool + Sync,
    of_short: impl Fn(i32, i32) -> bool + Sync,
) -> Done {
    match or_decline!(call.dtype(0)) {
        // The first NaN wins.
        DType::F32 => along(call, |x: f32, best: f32| {
            of_floats(x, best) || x.is_nan() && !best.is_nan()
        }),
        DType::I64 => along(call, of_long),
        DType::I32 => along(call, of_short),
        _ => Ok(None),
    }
}

/// The index along an axis of the element that beats all others there.
fn along<T: Element + Copy + PartialEq>(call: &Call<'_>, beats: impl Fn(T, T) -> bool + Sync) -> Done {
    let (x, shape) = (or_decline!(call.slice::<T>(0)), call.shape(0));
    let out_shape = or_decline!(call.out_shape());
    let axis = or_decline!(call.axis("axis", shape.len()));
    let (n, inner) = (shape[axis], shape[axis + 1..].iter().product::<usize>());
    if x.is_empty() {
        return Ok(None);
    }
    // Of equal elements, the last one, or the first one.
    let last = call.flag("select_last_index");
    let wins = |x: T, best: T| beats(x, best) || last && x == best;
    let mut out = call.result_room::<i64>(x.len() / n);
    in_parts(worth(call.threads, x.len()), &mut out, inner, |at, out| {
        let blocks = x[at * n * inner..].chunks_exact(n * inner);
        if inner == 1 {
            return out
                .iter_mut()
                .zip(blocks)
                .for_each(|(out, row)| *out = in_row(row, &beats, last) as i64);
        }
        let mut best = Vec::with_capacity(inner);
        for (x, out) in blocks.zip(out.chunks_exact_mut(inner)) {
            best.clear();
            best.extend_from_slice(&x[..inner]);
            out.fill(0);
            for (i, row) in x.chunks_exact(inner).enumerate().skip(1) {
                for ((out, best), &x) in out.iter_mut().zip(&mut best).zip(row) {
                    if wins(x, *best) {
                        (*out, *best) = (i as i64, x);
                    }
                }
            }
        }
    });
    done(&out_shape, out)
}

/// The element of a row that beats all others, which is not empty.
struct Winner<'a, T, F> {
    row: &'a [T],
    beats: &'a F,
}

impl<T: Copy, F: Fn(T, T) -> bool> NullaryFnOnce for Winner<'_, T, F> {
    type Output = T;

    #[inline(always)]
    fn call(self) -> T {
        let better = |best: T, x: T| if (self.beats)(x, best) { x } else { best };
        let mut lanes = [self.row[0]; 64];
        let (chunks, rest) = self.row.as_chunks::<64>();
        for chunk in chunks {
            lanes
                .iter_mut()
                .zip(chunk)
                .for_each(|(best, &x)| *best = better(*best, x));
        }
        lanes.iter().chain(rest).fold(self.row[0], |best, &x| better(best, x))
    }
}

/// The index of the element of a row that beats all others: of equal ones the first, or the last.
pub(super) fn in_row<T: Copy + PartialEq>(row: &[T], beats: &impl Fn(T, T) -> bool, last: bool) -> usize {
    let best = Arch::new().dispatch(Winner { row, beats });
    let is_best = |x: &T| *x == best;
    let found = match last {
        true => row.iter().rposition(is_best),
        false => row.iter().position(is_best),
    };
    // A NaN is equal to nothing; the first one wins.
    let is_nan = |x: &T| PartialEq::ne(x, x);
    found.or_else(|| row.iter().position(is_nan)).unwrap_or(0)
}

fn top_k(call: &Call<'_>) -> Done {
    each_number_word!(call, T => top_words::<T>(call))
}

fn top_words<T: Bits>(call: &Call<'_>) -> Done {
    let (shape, dtype) = (call.shape(0), or_decline!(call.dtype(0)));
    let whole = or_decline!(call.slice::<T>(0));
    let axis = or_decline!(call.axis("axis", shape.len()));
    let shapes = or_decline!(call.out_shapes());
    let [out_shape, _] = &shapes[..] else { return Ok(None) };
    let (n, k) = (shape[axis], out_shape[axis]);
    let inner: usize = shape[axis + 1..].iter().product();
    if k > n || u32::try_from(n).is_err() {
        return Ok(None);
    }
    let flip = if call.flag("largest") { T::largest(dtype) } else { 0 };
    let count = whole.len() / n.max(1) * k;
    let (mut values, mut places) = (vec![T::default(); count], vec![0i64; count]);
    let mut best = Best::new(k);
    for block in 0..count / (k * inner).max(1) {
        for column in 0..inner {
            let first = block * n * inner + column;
            let element = |i: u32| whole[first + i as usize * inner];
            best.of((0..n as u32).map(|i| (element(i).key(dtype) ^ flip, i)));
            for (to, &(_, i)) in best.found.iter().enumerate() {
                let to = (block * k + to) * inner + column;
                (values[to], places[to]) = (element(i), i.into());
            }
        }
    }
    let (values, places) = (value(out_shape, values.into())?, value(out_shape, places.into())?);
    Ok(Some(Results::from_iter([values, places])))
}

/// The smallest of many pairs.
struct Best {
    k: usize,
    found: Vec<(u64, u32)>,
}

impl Best {
    fn new(k: usize) -> Best {
        Best {
            k,
            found: Vec::with_capacity(Best::room(k)),
        }
    }

    /// How many are collected before all but the smallest `k` are dropped.
    fn room(k: usize) -> usize {
        2 * k + 64
    }

    /// Finds the `k` smallest, in order.
    fn of(&mut self, all: impl Iterator<Item = (u64, u32)>) {
        self.found.clear();
        if self.k == 0 {
            return;
        }
        let mut most = (u64::MAX, u32::MAX);
        for pair in all {
            if pair > most {
                continue;
            }
            self.found.push(pair);
            if self.found.len() == Best::room(self.k) {
                most = *self.found.select_nth_unstable(self.k - 1).1;
                self.found.truncate(self.k);
            }
        }
        self.found.sort_unstable();
        self.found.truncate(self.k);
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{Case, f32s};
    use tautomer_op::AttrValue;
    use tautomer_tensor::Tensor;

    fn operands() -> Vec<Tensor> {
        let special = [
            0.0f32,
            -0.0,
            f32::NAN,
            1.0,
            f32::INFINITY,
            f32::NAN,
            -1.0,
            f32::NEG_INFINITY,
            1.0,
            0.5,
            -0.0,
            0.0,
        ];
        vec![
            f32s(&[2, 3, 300], 1),
            Tensor::new::<f32>(&[2, 3, 2], special.to_vec()).unwrap(),
            Tensor::new::<i64>(&[2, 3, 4], (0..24).map(|i| i * 5 % 7).collect()).unwrap(),
            Tensor::new::<i32>(&[3, 2, 2], (0..12).map(|i| i * 5 % 3).collect()).unwrap(),
        ]
    }

    #[test]
    fn positions_along_each_axis() {
        for (x, op) in operands().iter().flat_map(|x| [(x, "argmax"), (x, "argmin")]) {
            for (axis, keeps, last) in (0..12).map(|i| (i / 4, i & 1 == 1, i & 2 == 2)) {
                Case::new(op, std::slice::from_ref(x))
                    .int("axis", axis)
                    .attr("keepdims", AttrValue::Bool(keeps))
                    .attr("select_last_index", AttrValue::Bool(last))
                    .check();
            }
        }
    }

    #[test]
    fn the_best_are_in_order() {
        for x in operands() {
            for (axis, largest) in (0..6).map(|i| (i / 2, i % 2 == 0)) {
                let n = x.shape()[axis as usize] as i64;
                for k in [0, 1, n / 2, n] {
                    Case::new("top_k", std::slice::from_ref(&x))
                        .int("k", k)
                        .int("axis", axis)
                        .attr("largest", AttrValue::Bool(largest))
                        .check();
                }
            }
        }
    }
}
