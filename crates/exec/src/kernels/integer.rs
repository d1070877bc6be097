//! Matrix products of quantized numbers.
#![allow(unsafe_code, reason = "threads write disjoint columns of a result")]

use std::borrow::Cow;
use std::sync::Arc;

use pulp::{Arch, NullaryFnOnce};

use super::bytes::{Bytes, Shared, Sink, Sums, UnsignedPanels, Zeros, product, with_rows};
use super::call::{done, or_decline};
use super::dot::Dot;
use super::matmul::batch_starts;
use super::{Call, Done, Kernel};
use tautomer_tensor::{DType, Element};

/// The kernels of this family.
pub(super) const KERNELS: &[Kernel] = &[
    Kernel::any("matmul_integer", matmul_integer),
    Kernel::any("qlinear_matmul", qlinear_matmul),
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
    /// `None` if the kernel does not compute it.
    fn of(call: &Call<'a>, [a_at, a_zero, b_at, b_zero]: [usize; 4]) -> Option<Product<'a>> {
        let (a, b) = (bytes(call, a_at)?, bytes(call, b_at)?);
        let ([batch_a @ .., m, k], [batch_b @ .., kb, n]) = (call.shape(a_at), call.shape(b_at)) else {
            return None;
        };
        let (m, k, n) = (*m, *k, *n);
        if *kb != k || k == 0 || i32::try_from(k).is_err() {
            return None;
        }
        let zeros_a = zeros(call, a_zero, m, a.signed_shift())?;
        let zeros_b = zeros(call, b_zero, n, b.unsigned_shift())?;
        let panels = call.prepared(b_at, || {
            let matrix = |i: usize| {
                let (matrix, flip) = b.to_unsigned(i * k * n..(i + 1) * k * n);
                UnsignedPanels::of(Dot::best(), matrix, k, flip)
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
    let product = or_decline!(Product::of(call, [0, 2, 1, 3]));
    let mut out = call.result_room::<i32>(product.shape.iter().product());
    let sums = Sums {
        out: Shared::new(&mut out),
        columns: product.size[1],
    };
    product.run(&sums, call.threads);
    done(&product.shape, out)
}

/// A byte that sums are rounded to.
pub(super) trait Byte: Element + Copy + Send {
    const LEAST: f32;
    const MOST: f32;

    /// An integral number in the range of the type. Added to 1.5 * 2^23, it is in the low bits.
    fn of(x: f32) -> Self;
}

impl Byte for u8 {
    const LEAST: f32 = 0.0;
    const MOST: f32 = 255.0;

    #[inline(always)]
    fn of(x: f32) -> u8 {
        (x + 12_582_912.0).to_bits() as u8
    }
}

impl Byte for i8 {
    const LEAST: f32 = -128.0;
    const MOST: f32 = 127.0;

    #[inline(always)]
    fn of(x: f32) -> i8 {
        ((x + 12_582_912.0).to_bits() as u8).cast_signed()
    }
}

/// Sums times factors, one or one for each, rounded, plus a zero point.
pub(super) struct Requantize<'a, T> {
    pub(super) sums: &'a [i32],
    pub(super) factors: &'a [f32],
    pub(super) zero: f32,
    pub(super) out: &'a mut [T],
}

impl<T: Byte> NullaryFnOnce for Requantize<'_, T> {
    type Output = ();
    #[inline(always)]
    fn call(self) {
        let one = |sum: i32, factor: f32| {
            let y = (sum as f32 * factor).round_ties_even() + self.zero;
            // Written this way, each limit is one instruction; there is no NaN.
            let y = if y > T::LEAST { y } else { T::LEAST };
            T::of(if y < T::MOST { y } else { T::MOST })
        };
        let pairs = self.out.iter_mut().zip(self.sums);
        match self.factors {
            [factor] => pairs.for_each(|(y, &sum)| *y = one(sum, *factor)),
            each => pairs.zip(each).for_each(|((y, &sum), &factor)| *y = one(sum, factor)),
        }
    }
}

/// Rows of quantized numbers.
struct Quantized<'a, T> {
    out: Shared<'a, T>,
    columns: usize,
    /// One, or one for each column.
    factors: &'a [f32],
    zero: f32,
}

impl<T: Byte> Sink for Quantized<'_, T> {
    fn fits(&self, rows: usize, columns: usize) -> bool {
        columns == self.columns && self.out.len() >= rows * columns
    }

    unsafe fn take(&self, i: usize, first: usize, sums: &mut [i32]) {
        // SAFETY: no other thread has these columns.
        let out = unsafe { self.out.part(i * self.columns + first, sums.len()) };
        Arch::new().dispatch(Requantize {
            sums,
            factors: if self.factors.len() == 1 {
                self.factors
            } else {
                &self.factors[first..]
            },
            zero: self.zero,
            out,
        });
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

/// `a * b / y` for each element of `b`, if all are finite: a sum times it is never NaN.
pub(super) fn factors(a: f32, b: &[f32], y: f32) -> Option<Vec<f32>> {
    let list: Vec<f32> = b.iter().map(|b| a * b / y).collect();
    list.iter().all(|x| x.is_finite()).then_some(list)
}

fn qlinear_matmul(call: &Call<'_>) -> Done {
    match call.result_type().map(|ty| ty.dtype) {
        Some(DType::U8) => qlinear::<u8>(call),
        Some(DType::I8) => qlinear::<i8>(call),
        _ => Ok(None),
    }
}

fn qlinear<T: Byte>(call: &Call<'_>) -> Done {
    let product = or_decline!(Product::of(call, [0, 2, 3, 5]));
    let n = product.size[1];
    let (left, right, down) = (scale(call, 1), scales(call, 4), scale(call, 6));
    let factors = or_decline!(factors(or_decline!(left), &or_decline!(right), or_decline!(down)));
    let zero = or_decline!(zeros(call, 7, 1, 0));
    if factors.len() != 1 && factors.len() != n {
        return Ok(None);
    }
    let mut out = call.result_room::<T>(product.shape.iter().product());
    let sink = Quantized {
        out: Shared::new(&mut out),
        columns: n,
        factors: &factors,
        zero: zero[0] as f32,
    };
    product.run(&sink, call.threads);
    done(&product.shape, out)
}

#[cfg(test)]
#[path = "integer_tests.rs"]
pub(super) mod tests;
