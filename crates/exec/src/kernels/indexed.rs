//! Elements and slices at positions that other operands give.

use std::borrow::Cow;

use super::call::{Call, done, or_decline};
use super::elementwise::{larger, smaller};
use super::operand::Extents;
use super::threads::{in_parts, worth};
use super::words::each_word;
use super::{Done, Kernel};
use tautomer_tensor::{DType, Element};

/// The kernels of this family.
pub(super) const KERNELS: &[Kernel] = &[
    Kernel::any("gather_elements", gather_elements),
    Kernel::any("gather_nd", gather_nd),
    Kernel::any("scatter_elements", scatter_elements),
    Kernel::any("scatter_nd", scatter_nd),
];

/// The integers of operand `i`.
pub(super) fn integers<'a>(call: &Call<'a>, i: usize) -> Option<Cow<'a, [i64]>> {
    match call.dtype(i)? {
        DType::I64 => call.slice::<i64>(i),
        DType::I32 => Some(call.slice::<i32>(i)?.iter().map(|&n| n.into()).collect()),
        _ => None,
    }
}

/// True if an index is one of `n` elements, counted from the front or, if it is negative, from the end.
fn is_index(index: i64, n: usize) -> bool {
    let n = n as i64;
    (-n..n).contains(&index)
}

/// The element that an index of `n` elements is.
#[inline(always)]
fn place(index: i64, n: usize) -> usize {
    (index + if index < 0 { n as i64 } else { 0 }) as usize
}

/// The distances between neighbours along each axis.
pub(super) fn strides(shape: &[usize]) -> Extents {
    let mut out = Extents::from_elem(1, shape.len());
    for axis in (1..shape.len()).rev() {
        out[axis - 1] = out[axis] * shape[axis];
    }
    out
}

/// Where elements with an index each are: along one axis at the index, along the others as the index itself is.
struct Each<'a> {
    indices: Cow<'a, [i64]>,
    /// The shape of the indices.
    shape: &'a [usize],
    axis: usize,
    /// The elements along the axis.
    n: usize,
    strides: Extents,
}

impl<'a> Each<'a> {
    /// `None` if an index is of no element, which is left to the reference semantics to report.
    fn of(call: &Call<'a>) -> Option<Each<'a>> {
        let (own, shape) = (call.shape(0), call.shape(1));
        let axis = call.axis("axis", own.len())?;
        let inside = (0..own.len()).all(|a| a == axis || shape.get(a).is_some_and(|n| *n <= own[a]));
        let (indices, n) = (integers(call, 1)?, own[axis]);
        let fits = own.len() == shape.len() && inside && indices.iter().all(|&index| is_index(index, n));
        let strides = strides(own);
        fits.then_some(Each {
            indices,
            shape,
            axis,
            n,
            strides,
        })
    }

    /// The indices of a row along the last axis.
    fn width(&self) -> usize {
        self.shape.last().copied().unwrap_or(1)
    }

    /// Calls `f` with the place of each element of row `row`.
    #[inline(always)]
    fn row(&self, row: usize, mut f: impl FnMut(usize)) {
        let last = self.shape.len() - 1;
        let (mut rest, mut first) = (row, 0);
        for axis in (0..last).rev() {
            if axis != self.axis {
                first += rest % self.shape[axis] * self.strides[axis];
            }
            rest /= self.shape[axis];
        }
        let indices = &self.indices[row * self.width()..][..self.width()];
        let stride = self.strides[self.axis];
        match self.axis == last {
            true => indices.iter().for_each(|&index| f(first + place(index, self.n))),
            false => {
                let indices = indices.iter().enumerate();
                indices.for_each(|(i, &index)| f(first + i + place(index, self.n) * stride));
            }
        }
    }
}

fn gather_elements(call: &Call<'_>) -> Done {
    fn typed<T: Element>(call: &Call<'_>, each: &Each<'_>) -> Done {
        let x = or_decline!(call.slice::<T>(0));
        let mut out = call.result_room::<T>(each.indices.len());
        let width = each.width();
        in_parts(worth(call.threads, out.len()), &mut out, width, |first, out| {
            for (i, row) in out.chunks_exact_mut(width.max(1)).enumerate() {
                let mut row = row.iter_mut();
                each.row(first + i, |at| {
                    if let Some(to) = row.next() {
                        *to = x[at].clone();
                    }
                });
            }
        });
        done(call.shape(1), out)
    }
    let each = or_decline!(Each::of(call));
    each_word!(call, 0, T => typed::<T>(call, &each))
}

/// `$f` of the call with the function that its attribute `reduction` names, of what is there and an update, if there is
/// one for the element type.
macro_rules! each_join {
    ($call:expr, $f:ident, $places:expr) => {
        match ($call.text("reduction"), or_decline!($call.dtype(0))) {
            ("none", _) => each_word!($call, 0, T => $f::<T>($call, $places, |to, update| to.clone_from(update))),
            ("add", DType::F32) => $f::<f32>($call, $places, |to, update| *to += update),
            ("add", DType::F64) => $f::<f64>($call, $places, |to, update| *to += update),
            ("add", DType::I32) => $f::<i32>($call, $places, |to, update| *to = to.wrapping_add(*update)),
            ("add", DType::I64) => $f::<i64>($call, $places, |to, update| *to = to.wrapping_add(*update)),
            ("mul", DType::F32) => $f::<f32>($call, $places, |to, update| *to *= update),
            ("max", DType::F32) => $f::<f32>($call, $places, |to, update| *to = larger(*to, *update)),
            ("min", DType::F32) => $f::<f32>($call, $places, |to, update| *to = smaller(*to, *update)),
            _ => Ok(None),
        }
    };
}

fn scatter_elements(call: &Call<'_>) -> Done {
    fn typed<T: Element>(call: &Call<'_>, each: &Each<'_>, join: impl Fn(&mut T, &T)) -> Done {
        let (x, updates) = (or_decline!(call.slice::<T>(0)), or_decline!(call.slice::<T>(2)));
        let mut out = call.result_room::<T>(x.len());
        out.clone_from_slice(&x);
        let width = each.width();
        for (row, updates) in updates.chunks_exact(width.max(1)).enumerate() {
            let mut updates = updates.iter();
            each.row(row, |at| {
                if let Some(update) = updates.next() {
                    join(&mut out[at], update);
                }
            });
        }
        done(call.shape(0), out)
    }
    let each = or_decline!(Each::of(call));
    if call.shape(2) != call.shape(1) {
        return Ok(None);
    }
    each_join!(call, typed, &each)
}

/// Where slices are that tuples of indices name.
struct Slices {
    /// The first element of each.
    starts: Vec<usize>,
    /// The elements of each.
    size: usize,
}

impl Slices {
    /// The slices of operand 0 at the tuples in operand 1, whose first `batch` axes are those of operand 0. `None` if an
    /// index is of no element.
    fn of(call: &Call<'_>, batch: usize) -> Option<Slices> {
        let (own, shape, indices) = (call.shape(0), call.shape(1), integers(call, 1)?);
        let (&length, lead) = shape.split_last()?;
        let extents = own.get(batch..batch + length)?;
        if lead.get(..batch) != own.get(..batch) || length == 0 {
            return None;
        }
        let strides = strides(own);
        let strides = &strides[batch..][..length];
        let of_batch: usize = own[batch..].iter().product();
        let tuples: usize = lead[batch..].iter().product();
        let mut starts = Vec::with_capacity(indices.len() / length);
        for (i, tuple) in indices.chunks_exact(length).enumerate() {
            let mut start = i / tuples.max(1) * of_batch;
            for ((&index, &n), stride) in tuple.iter().zip(extents).zip(strides) {
                if !is_index(index, n) {
                    return None;
                }
                start += place(index, n) * stride;
            }
            starts.push(start);
        }
        let size = own[batch + length..].iter().product();
        Some(Slices { starts, size })
    }
}

fn gather_nd(call: &Call<'_>) -> Done {
    fn typed<T: Element>(call: &Call<'_>, slices: &Slices) -> Done {
        let shape = or_decline!(call.out_shape());
        let x = or_decline!(call.slice::<T>(0));
        let Slices { starts, size } = slices;
        let mut out = call.result_room::<T>(starts.len() * size);
        in_parts(worth(call.threads, out.len()), &mut out, *size, |first, out| {
            for (out, start) in out.chunks_exact_mut((*size).max(1)).zip(&starts[first..]) {
                out.clone_from_slice(&x[*start..][..*size]);
            }
        });
        done(&shape, out)
    }
    let batch = or_decline!(call.int("batch_dims").and_then(|n| usize::try_from(n).ok()));
    let slices = or_decline!(Slices::of(call, batch));
    each_word!(call, 0, T => typed::<T>(call, &slices))
}

fn scatter_nd(call: &Call<'_>) -> Done {
    fn typed<T: Element>(call: &Call<'_>, Slices { starts, size }: &Slices, join: impl Fn(&mut T, &T)) -> Done {
        let (x, updates) = (or_decline!(call.slice::<T>(0)), or_decline!(call.slice::<T>(2)));
        if updates.len() != starts.len() * size {
            return Ok(None);
        }
        let mut out = call.result_room::<T>(x.len());
        out.clone_from_slice(&x);
        for (start, updates) in starts.iter().zip(updates.chunks_exact((*size).max(1))) {
            let out = &mut out[*start..][..*size];
            out.iter_mut().zip(updates).for_each(|(to, update)| join(to, update));
        }
        done(call.shape(0), out)
    }
    let slices = or_decline!(Slices::of(call, 0));
    each_join!(call, typed, &slices)
}

#[cfg(test)]
mod tests {
    use super::super::testing::{Case, f32s};
    use tautomer_op::AttrValue;
    use tautomer_tensor::Tensor;

    fn indices(shape: &[usize], n: i64) -> Tensor {
        let count = shape.iter().product::<usize>() as i64;
        let index = |i: i64| (i * 7 + i / 3) % (2 * n) - n;
        Tensor::new::<i64>(shape, (0..count).map(index).collect()).unwrap()
    }

    #[test]
    fn elements_at_indices() {
        for (shape, own) in [
            (&[4usize][..], &[5usize][..]),
            (&[3, 4], &[3, 2]),
            (&[2, 3, 5], &[2, 2, 5]),
            (&[2, 3], &[0, 3]),
        ] {
            for axis in 0..shape.len() {
                let mut given = own.to_vec();
                (0..shape.len())
                    .filter(|&a| a != axis)
                    .for_each(|a| given[a] = given[a].min(shape[a]));
                let given = indices(&given, shape[axis] as i64);
                let case = || Case::new("gather_elements", &[f32s(shape, 1), given.clone()]).int("axis", axis as i64);
                case().check();
                for reduction in ["none", "add", "mul", "max", "min"] {
                    Case::new(
                        "scatter_elements",
                        &[f32s(shape, 1), given.clone(), f32s(given.shape(), 2)],
                    )
                    .int("axis", axis as i64)
                    .attr("reduction", AttrValue::str(reduction))
                    .check();
                }
            }
        }
    }

    #[test]
    fn slices_at_tuples() {
        let shape = [3usize, 4, 5];
        for length in 1..4 {
            let given = indices(&[6, length], 3);
            Case::new("gather_nd", &[f32s(&shape, 1), given.clone()]).check();
            let updates: Vec<usize> = [6].iter().chain(&shape[length..]).copied().collect();
            for reduction in ["none", "add", "mul", "max", "min"] {
                Case::new("scatter_nd", &[f32s(&shape, 1), given.clone(), f32s(&updates, 2)])
                    .attr("reduction", AttrValue::str(reduction))
                    .check();
            }
        }
        Case::new("gather_nd", &[f32s(&shape, 1), indices(&[3, 2, 1], 4)])
            .int("batch_dims", 1)
            .check();
        Case::new("gather_nd", &[f32s(&shape, 1), indices(&[3, 4, 1], 5)])
            .int("batch_dims", 2)
            .check();
    }
}
