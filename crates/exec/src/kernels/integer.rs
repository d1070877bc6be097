//! Matrix products of quantized numbers.
#![allow(unsafe_code, reason = "threads write disjoint columns of a result")]

use std::borrow::Cow;
use std::sync::Arc;

use super::bytes::{Bytes, Shared, Sink, Sums, Tile, UnsignedPanels, Zeros, product, with_rows};
use super::call::{done, or_decline};
use super::dot::{Dot, MOST_COLUMNS, MOST_ROWS};
use super::matmul::batch_starts;
use super::rescale::{Rescale, Rounded, rounded_type};
use super::{Call, Done, Kernel};
use tautomer_tensor::DType;

/// The kernels of this family.
pub(super) const KERNELS: &[Kernel] = &[
    Kernel::any("matmul_integer", matmul_integer),
    Kernel::any("qlinear_matmul", qlinear_matmul),
    Kernel::any("quantized_matmul", quantized_matmul),
];

/// The bytes of operand `i`, if it has such.
pub(super) fn bytes<'a>(call: &Call<'a>, i: usize) -> Option<Bytes<'a>> {
    match call.dtype(i)? {
        DType::I8 => call.slice(i).map(Bytes::Signed),
        DType::U8 => call.slice(i).map(Bytes::Unsigned),
        _ => None,
    }
}

/// The zero points in operand `i`, one or `most`, after `shift`; zero if it is missing. `None` if they have another
/// form.
pub(super) fn zeros(call: &Call<'_>, i: usize, most: usize, shift: i32) -> Option<Vec<i32>> {
    if !call.has(i) {
        return Some(vec![shift]);
    }
    let mut list = bytes(call, i)?.numbers();
    list.iter_mut().for_each(|z| *z += shift);
    if list.iter().all(|z| *z == list[0]) && !list.is_empty() {
        list.truncate(1);
    }
    (call.shape(i).len() < 2 && (list.len() == 1 || list.len() == most)).then_some(list)
}

/// The product of operands `a` and `b`, whose zero points are operands too.
struct Product<'a> {
    a: Bytes<'a>,
    batch_a: &'a [usize],
    batch_b: &'a [usize],
    /// Rows, columns, and the number of products of each element.
    size: [usize; 3],
    zeros_a: Vec<i32>,
    zeros_b: Vec<i32>,
    /// The right matrices.
    panels: Arc<Vec<UnsignedPanels>>,
    shape: super::Extents,
}

impl<'a> Product<'a> {
    /// `None` if the kernel does not compute it. If the right matrices are `transposed`, their rows are columns.
    fn of(call: &Call<'a>, [a_at, a_zero, b_at, b_zero]: [usize; 4], transposed: bool) -> Option<Product<'a>> {
        let (a, b) = (bytes(call, a_at)?, bytes(call, b_at)?);
        let ([batch_a @ .., m, k], [batch_b @ .., kb, n]) = (call.shape(a_at), call.shape(b_at)) else {
            return None;
        };
        let (m, k) = (*m, *k);
        let (kb, n) = if transposed { (*n, *kb) } else { (*kb, *n) };
        if kb != k || k == 0 || i32::try_from(k).is_err() {
            return None;
        }
        let zeros_a = zeros(call, a_zero, m, a.signed_shift())?;
        let zeros_b = zeros(call, b_zero, n, b.unsigned_shift())?;
        let panels = call.prepared(b_at, || {
            let matrix = |i: usize| {
                let (matrix, flip) = b.to_unsigned(i * k * n..(i + 1) * k * n);
                match transposed {
                    false => UnsignedPanels::of(Dot::best(), matrix, k, flip),
                    true => {
                        let turned: Vec<u8> = (0..k * n).map(|at| matrix[at % n * k + at / n]).collect();
                        UnsignedPanels::of(Dot::best(), &turned, k, flip)
                    }
                }
            };
            (0..b.len().checked_div(k * n).unwrap_or(0)).map(matrix).collect()
        });
        Some(Product {
            a,
            batch_a,
            batch_b,
            size: [m, n, k],
            zeros_a,
            zeros_b,
            panels,
            shape: call.out_shape()?,
        })
    }

    /// Computes all products, and what becomes of their sums.
    fn rescaled<T: Rounded>(&self, call: &Call<'_>, rescale: Rescale) -> Done {
        let mut out = call.result_room::<T>(self.shape.iter().product());
        let sink = Rescaled {
            out: Shared::new(&mut out),
            columns: self.size[1],
            rescale,
        };
        self.run(&sink, call.threads);
        done(&self.shape, out)
    }

    /// Computes all products; `sink` takes the rows of one after the other.
    fn run<S: Sink>(&self, sink: &S, threads: usize) {
        let [m, n, k] = self.size;
        let batch = &self.shape[..self.shape.len() - 2];
        if self.shape.contains(&0) {
            return;
        }
        // With one right matrix for all, the batch is just more rows, if these have one zero point.
        let is_one = self.panels.len() == 1 && self.batch_a == batch && self.zeros_a.len() == 1;
        let (m, starts_a, starts_b) = match is_one {
            true => (m * batch.iter().product::<usize>(), vec![0], vec![0]),
            false => {
                let of = |own: &[usize], size| batch_starts(batch, own, size);
                (m, of(self.batch_a, m * k), of(self.batch_b, 1))
            }
        };
        for (i, (at, right)) in starts_a.into_iter().zip(starts_b).enumerate() {
            let panels = &self.panels[right];
            let (matrix, flip) = self.a.to_signed(at..at + m * k);
            with_rows(Dot::best(), matrix, k, flip, |left| {
                let zeros = Zeros {
                    inner: k,
                    left: &self.zeros_a,
                    right: &self.zeros_b,
                    rows: &left.sums,
                    columns: &panels.sums,
                };
                product(left, panels, n, &zeros, (sink, i * m), threads);
            });
        }
    }
}

fn matmul_integer(call: &Call<'_>) -> Done {
    let product = or_decline!(Product::of(call, [0, 2, 1, 3], false));
    let mut out = call.result_room::<i32>(product.shape.iter().product());
    let sums = Sums {
        out: Shared::new(&mut out),
        columns: product.size[1],
    };
    product.run(&sums, call.threads);
    done(&product.shape, out)
}

/// Rows of a product whose sums are rescaled.
struct Rescaled<'a, T> {
    out: Shared<'a, T>,
    columns: usize,
    rescale: Rescale,
}

impl<T: Rounded> Sink for Rescaled<'_, T> {
    fn fits(&self, rows: usize, columns: usize) -> bool {
        columns == self.columns && self.out.len() >= rows * columns
    }

    unsafe fn take(&self, above: usize, tile: &Tile<'_>, zeros: &Zeros<'_>) {
        let mut finished = [T::default(); MOST_ROWS * MOST_COLUMNS];
        self.rescale.tile(0, tile, zeros, &mut finished);
        for (i, row) in finished.chunks_exact(MOST_COLUMNS).take(tile.rows).enumerate() {
            let place = (above + tile.row + i) * self.columns + tile.first;
            // SAFETY: no other thread has these rows of these columns.
            let out = unsafe { self.out.part(place, tile.count) };
            out.copy_from_slice(&row[..tile.count]);
        }
    }
}

/// The numbers in operand `i`, of rank 0 or 1, if they are finite.
pub(super) fn scales<'a>(call: &Call<'a>, i: usize) -> Option<Cow<'a, [f32]>> {
    let list = call.f32s(i)?;
    (call.shape(i).len() < 2 && list.iter().all(|x| x.is_finite())).then_some(list)
}

/// The one number in operand `i`.
pub(super) fn scale(call: &Call<'_>, i: usize) -> Option<f32> {
    match scales(call, i)?[..] {
        [scale] => Some(scale),
        _ => None,
    }
}

fn qlinear_matmul(call: &Call<'_>) -> Done {
    match call.result_type().map(|ty| ty.dtype) {
        Some(DType::U8 | DType::I8) => rounded_type!(call, qlinear),
        _ => Ok(None),
    }
}

fn qlinear<T: Rounded>(call: &Call<'_>) -> Done {
    let product = or_decline!(Product::of(call, [0, 2, 3, 5], false));
    let rescale = or_decline!(Rescale::qlinear(call, false, product.size[1]));
    product.rescaled::<T>(call, rescale)
}

fn quantized_matmul(call: &Call<'_>) -> Done {
    rounded_type!(call, quantized)
}

fn quantized<T: Rounded>(call: &Call<'_>) -> Done {
    let product = or_decline!(Product::of(call, [0, 2, 3, 5], call.flag("transposed")));
    let rescale = or_decline!(Rescale::quantized(call, false, product.size[1]));
    product.rescaled::<T>(call, rescale)
}

#[cfg(test)]
#[path = "integer_tests.rs"]
pub(super) mod tests;
