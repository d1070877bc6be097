//! What becomes of the sums of a product of bytes: they are shifted by zero points, scaled, limited, and rounded to bytes
//! again or left as numbers. A tile is finished at once, while its sums are in the nearest cache.

use pulp::{Arch, NullaryFnOnce};

use super::Call;
use super::bytes::{Tile, Zeros};
use super::dot::{MOST_COLUMNS, QUAD, STRIP, Strip};
use super::integer::{scale, scales, zeros};
use tautomer_tensor::Element;

/// An element of a result: a number, or a byte that numbers are rounded to.
pub(super) trait Rounded: Element + Copy + Send + Sync + Default {
    /// True if numbers are rounded.
    const ROUNDS: bool;
    const LEAST: f32;
    const MOST: f32;

    /// An integral number in the range of the type if that is a byte.
    fn of(x: f32) -> Self;

    /// Four of them next to each other.
    #[inline(always)]
    fn quad(x: [f32; QUAD]) -> [Self; QUAD] {
        x.map(Self::of)
    }
}

/// Four bytes as parts of one number, which vectors of such numbers are combined to without moving bytes.
#[inline(always)]
fn packed(x: [f32; QUAD]) -> [u8; QUAD] {
    let [a, b, c, d] = x.map(|x| (x + 12_582_912.0).to_bits() & 255);
    (a | b << 8 | c << 16 | d << 24).to_le_bytes()
}

impl Rounded for f32 {
    const ROUNDS: bool = false;
    const LEAST: f32 = f32::NEG_INFINITY;
    const MOST: f32 = f32::INFINITY;

    #[inline(always)]
    fn of(x: f32) -> f32 {
        x
    }
}

impl Rounded for u8 {
    const ROUNDS: bool = true;
    const LEAST: f32 = 0.0;
    const MOST: f32 = 255.0;

    // Added to 1.5 * 2^23, an integral number is in the low bits.
    #[inline(always)]
    fn of(x: f32) -> u8 {
        (x + 12_582_912.0).to_bits() as u8
    }

    #[inline(always)]
    fn quad(x: [f32; QUAD]) -> [u8; QUAD] {
        packed(x)
    }
}

impl Rounded for i8 {
    const ROUNDS: bool = true;
    const LEAST: f32 = -128.0;
    const MOST: f32 = 127.0;

    #[inline(always)]
    fn of(x: f32) -> i8 {
        ((x + 12_582_912.0).to_bits() as u8).cast_signed()
    }

    #[inline(always)]
    fn quad(x: [f32; QUAD]) -> [i8; QUAD] {
        packed(x).map(u8::cast_signed)
    }
}

/// What sums become. Factors and biases are one for all, or one for each row or column of the product.
pub(super) struct Rescale {
    /// True if there is one for each row.
    by_row: bool,
    /// What sums are multiplied by.
    factors: Vec<f32>,
    /// What is added to sums; empty for nothing.
    whole: Vec<i32>,
    /// What is added to the products with factors; empty for nothing.
    bias: Vec<f32>,
    /// Smaller numbers become the first, larger ones the second.
    limits: (f32, f32),
    /// What numbers are multiplied by before they are rounded, and what is added afterwards.
    down: f32,
    zero: f32,
}

/// The one element of a list, or element `i`.
fn at<T: Copy>(list: &[T], i: usize) -> Option<T> {
    match list {
        [one] => Some(*one),
        all => all.get(i).copied(),
    }
}

impl Rescale {
    /// What `qlinear_matmul` and `qlinear_conv` do to sums, of which `count` rows or columns have own factors. `None` if
    /// the operands have another form, or numbers would not be finite.
    pub(super) fn qlinear(call: &Call<'_>, by_row: bool, count: usize) -> Option<Rescale> {
        let (left, right, down) = (scale(call, 1)?, scales(call, 4)?, scale(call, 6)?);
        let factors: Vec<f32> = right.iter().map(|right| left * right / down).collect();
        let whole = match (by_row, call.has(8)) {
            (true, true) => call.slice::<i32>(8)?.to_vec(),
            _ => Vec::new(),
        };
        let rescale = Rescale {
            by_row,
            factors,
            whole,
            bias: Vec::new(),
            limits: (f32::NEG_INFINITY, f32::INFINITY),
            down: 1.0,
            zero: zeros(call, 7, 1, 0)?[0] as f32,
        };
        rescale.checked(count)
    }

    /// What `quantized_matmul` and `quantized_conv` do to sums.
    pub(super) fn quantized(call: &Call<'_>, by_row: bool, count: usize) -> Option<Rescale> {
        let (left, right) = (scale(call, 1)?, scales(call, 4)?);
        let bias = match call.has(6) {
            true => scales(call, 6)?.into_owned(),
            false => Vec::new(),
        };
        if call.has(6) && call.shape(6) != [count] {
            return None;
        }
        let limit = |name: &str, none: f32| call.float(name).map_or(none, |limit| limit as f32);
        let limits = match call.text("activation") {
            "" => (f32::NEG_INFINITY, f32::INFINITY),
            "relu" => (0.0, f32::INFINITY),
            "clip" => (limit("low", f32::NEG_INFINITY), limit("high", f32::INFINITY)),
            _ => return None,
        };
        let (down, zero) = match call.has(7) {
            true => (1.0 / scale(call, 7)?, zeros(call, 8, 1, 0)?[0] as f32),
            false => (1.0, 0.0),
        };
        let rescale = Rescale {
            by_row,
            factors: right.iter().map(|right| left * right).collect(),
            whole: Vec::new(),
            bias,
            limits,
            down,
            zero,
        };
        rescale.checked(count)
    }

    /// `None` if a list does not fit `count` rows or columns, or a number is not finite: with finite numbers, there is no
    /// NaN.
    fn checked(self, count: usize) -> Option<Rescale> {
        let fits = |n: usize| n <= 1 || n == count;
        let finite = |list: &[f32]| list.iter().all(|x| x.is_finite());
        let is_right = (!self.factors.is_empty() || count == 0)
            && [self.factors.len(), self.whole.len(), self.bias.len()]
                .into_iter()
                .all(fits)
            && finite(&self.factors)
            && finite(&self.bias)
            && finite(&[self.down])
            && !self.limits.0.is_nan()
            && !self.limits.1.is_nan();
        is_right.then_some(self)
    }

    /// Finishes a tile whose first row has the factors of row `row`. Rows of the result are at a distance of
    /// [`MOST_COLUMNS`].
    pub(super) fn tile<T: Rounded>(&self, row: usize, tile: &Tile<'_>, zeros: &Zeros<'_>, out: &mut [T]) {
        let (first, count) = (tile.first, tile.count);
        Arch::new().dispatch(Finish {
            rescale: self,
            row,
            tile,
            zeros,
            columns: ColumnValues {
                sums: padded(zeros.columns, first, count),
                zeros: padded(zeros.right, first, count),
                factors: padded(if self.by_row { &[] } else { &self.factors }, first, count),
                bias: padded(if self.by_row { &[] } else { &self.bias }, first, count),
            },
            out,
        });
    }

    /// Finishes strips of sums of row `row`, to each of which `more` is added first.
    pub(super) fn strips<T: Rounded>(&self, row: usize, more: i32, sums: &[Strip], out: &mut [[T; STRIP]]) {
        let whole = match self.whole.is_empty() {
            true => 0,
            false => at(&self.whole, row).unwrap_or(0),
        };
        Arch::new().dispatch(FinishStrips {
            rescale: self,
            whole: whole.wrapping_add(more),
            factor: at(&self.factors, row).unwrap_or(0.0),
            bias: at(&self.bias, row),
            sums,
            out,
        });
    }
}

/// Calls `run` with the element type of a result, if kernels write it.
macro_rules! rounded_type {
    ($call:expr, $run:ident) => {
        match $call.result_type().map(|ty| ty.dtype) {
            Some(DType::U8) => $run::<u8>($call),
            Some(DType::I8) => $run::<i8>($call),
            Some(DType::F32) => $run::<f32>($call),
            _ => Ok(None),
        }
    };
}
pub(super) use rounded_type;

/// `count` elements from `first` on, if there is one for each column; the only element, or else zeros.
#[inline(always)]
fn padded<T: Copy + Default>(list: &[T], first: usize, count: usize) -> [T; MOST_COLUMNS] {
    let mut out = [T::default(); MOST_COLUMNS];
    match list {
        [] => {}
        [one] => out = [*one; MOST_COLUMNS],
        all => out[..count].copy_from_slice(&all[first..first + count]),
    }
    out
}

/// What belongs to the columns of a tile.
struct ColumnValues {
    sums: [i32; MOST_COLUMNS],
    zeros: [i32; MOST_COLUMNS],
    factors: [f32; MOST_COLUMNS],
    bias: [f32; MOST_COLUMNS],
}

struct Finish<'a, T> {
    rescale: &'a Rescale,
    row: usize,
    tile: &'a Tile<'a>,
    zeros: &'a Zeros<'a>,
    columns: ColumnValues,
    out: &'a mut [T],
}

impl<T: Rounded> NullaryFnOnce for Finish<'_, T> {
    type Output = ();

    #[inline(always)]
    fn call(self) {
        // Narrow tiles leave the other columns alone.
        match self.tile.count {
            0..=8 => self.columns::<8>(),
            9..=16 => self.columns::<16>(),
            _ => self.columns::<MOST_COLUMNS>(),
        }
    }
}

impl<T: Rounded> Finish<'_, T> {
    #[inline(always)]
    fn columns<const N: usize>(self) {
        let (rows, _) = self.tile.sums.as_chunks::<MOST_COLUMNS>();
        let (out, _) = self.out.as_chunks_mut::<MOST_COLUMNS>();
        for (i, (sums, out)) in rows.iter().zip(out).take(self.tile.rows).enumerate() {
            let row = self.row + i;
            let (p, rest) = self.zeros.of_row(self.tile.row + i);
            let whole = match self.rescale.whole.is_empty() {
                true => 0,
                false => at(&self.rescale.whole, row).unwrap_or(0),
            };
            let rescale = self.rescale;
            let row = match rescale.by_row {
                // Adding negative zero changes nothing.
                true => (
                    at(&rescale.factors, row).unwrap_or(0.0),
                    at(&rescale.bias, row).unwrap_or(-0.0),
                ),
                false => (0.0, 0.0),
            };
            let values = RowValues { p, rest, row };
            match (p, self.zeros.right) {
                (0, [q]) => {
                    let whole = whole.wrapping_sub(q.wrapping_mul(rest));
                    finish_row::<T, N, false>(rescale, &self.columns, whole, &values, sums, out);
                }
                (_, [q]) => {
                    let whole = whole.wrapping_sub(q.wrapping_mul(rest));
                    let values = RowValues { rest: 0, ..values };
                    finish_row::<T, N, true>(rescale, &self.columns, whole, &values, sums, out);
                }
                _ => finish_row::<T, N, true>(rescale, &self.columns, whole, &values, sums, out),
            }
        }
    }
}

/// What belongs to a row of a tile.
struct RowValues {
    /// Its zero point.
    p: i32,
    /// What the zero points of columns are multiplied by.
    rest: i32,
    /// Its factor and what is added, unless columns have these.
    row: (f32, f32),
}

/// Finishes a row of sums, to each of which `whole` is added first. With `ZEROS`, the effect of zero points that differ
/// between columns is subtracted.
///
/// All is done in one loop, whose values stay in registers.
#[inline(always)]
fn finish_row<T: Rounded, const N: usize, const ZEROS: bool>(
    rescale: &Rescale,
    columns: &ColumnValues,
    whole: i32,
    values: &RowValues,
    sums: &[i32; MOST_COLUMNS],
    out: &mut [T; MOST_COLUMNS],
) {
    let Rescale {
        by_row,
        down,
        zero,
        limits: (low, high),
        ..
    } = *rescale;
    let RowValues { p, rest, row } = *values;
    for j in 0..N {
        let mut sum = sums[j].wrapping_add(whole);
        if ZEROS {
            sum = sum.wrapping_sub(p.wrapping_mul(columns.sums[j]));
            sum = sum.wrapping_sub(rest.wrapping_mul(columns.zeros[j]));
        }
        let (factor, bias) = if by_row {
            row
        } else {
            (columns.factors[j], columns.bias[j])
        };
        let y = sum as f32 * factor + bias;
        // Written this way, each limit is one instruction; there is no NaN.
        let y = if y > low { y } else { low };
        let y = if y < high { y } else { high };
        out[j] = if T::ROUNDS {
            let y = (y * down).round_ties_even() + zero;
            let y = if y > T::LEAST { y } else { T::LEAST };
            T::of(if y < T::MOST { y } else { T::MOST })
        } else {
            T::of(y)
        };
    }
}

/// Strips of sums that have one factor.
struct FinishStrips<'a, T> {
    rescale: &'a Rescale,
    whole: i32,
    factor: f32,
    bias: Option<f32>,
    sums: &'a [Strip],
    out: &'a mut [[T; STRIP]],
}

impl<T: Rounded> NullaryFnOnce for FinishStrips<'_, T> {
    type Output = ();

    #[inline(always)]
    fn call(self) {
        let Rescale {
            down,
            zero,
            limits: (low, high),
            ..
        } = *self.rescale;
        let is_limited = low > f32::NEG_INFINITY || high < f32::INFINITY;
        let (whole, factor, bias) = (self.whole, self.factor, self.bias.unwrap_or(0.0));
        let has_bias = self.bias.is_some();
        let finished = |sum: &i32| {
            let mut y = sum.wrapping_add(whole) as f32 * factor;
            if has_bias {
                y += bias;
            }
            if is_limited {
                // As in `columns`.
                y = if y > low { y } else { low };
                y = if y < high { y } else { high };
            }
            if T::ROUNDS {
                y = (y * down).round_ties_even() + zero;
                y = if y > T::LEAST { y } else { T::LEAST };
                y = if y < T::MOST { y } else { T::MOST };
            }
            y
        };
        // One loop over the lanes of all phases becomes vectors; a loop for each phase does not.
        for ([a, b, c, d], out) in self.sums.iter().zip(self.out) {
            let quads = out.as_chunks_mut::<QUAD>().0.iter_mut();
            for ((((quad, a), b), c), d) in quads.zip(a).zip(b).zip(c).zip(d) {
                *quad = T::quad([finished(a), finished(b), finished(c), finished(d)]);
            }
        }
    }
}
