//! Products with weights of 4 or 8 bits in blocks, which are read as they are stored.
//!
//! If there are few rows, they are multiplied with the digits of the weights, and the sum of a block with its scale:
//! only the stored weights are read from memory. If there are more rows, the weights are converted to numbers as they
//! are packed into panels.
#![allow(unsafe_code, reason = "digits are made numbers by vector instructions")]

use std::borrow::Cow;
use std::sync::Arc;

use pulp::{Arch, NullaryFnOnce};

use super::bytes::Shared;
use super::call::{done, or_decline};
use super::micro::Micro;
use super::panels::Left;
use super::product::{Finish, Right, Start, product};
use super::tile::transpose;
use super::{Call, Done, Kernel};
use tautomer_tensor::DType;

/// The kernels of this family.
pub(super) const KERNELS: &[Kernel] = &[Kernel::f32("matmul_nbits", matmul_nbits)];

/// More rows are multiplied with unpacked weights.
const FEW: usize = 4;

/// Columns that one thread computes together.
const COLUMNS: usize = 4;

/// Fewer weights are not worth a second thread.
const PARALLEL: usize = 1 << 18;

/// The weights of a product: for each column, blocks of digits.
struct Weights<'a> {
    bytes: Cow<'a, [u8]>,
    scales: Cow<'a, [f32]>,
    /// For each block, its zero point less the usual one; empty if all have that.
    zeros: Arc<Vec<f32>>,
    bits: usize,
    /// Digits of a block.
    block: usize,
    /// Blocks of a column.
    blocks: usize,
    /// Digits of a column that count.
    inner: usize,
    columns: usize,
}

impl Weights<'_> {
    /// The usual zero point.
    fn middle(&self) -> f32 {
        if self.bits == 8 { 128.0 } else { 8.0 }
    }

    /// The number of bytes in a column.
    fn column_size(&self) -> usize {
        self.blocks * self.block * self.bits / 8
    }

    /// Writes the numbers of a column from `first` on, which is even.
    fn numbers(&self, column: usize, first: usize, out: &mut [f32]) {
        let bytes = &self.bytes[column * self.column_size()..][..self.column_size()];
        let mut at = first;
        let mut out = out;
        while !out.is_empty() {
            let (block, within) = (column * self.blocks + at / self.block, at % self.block);
            let (some, rest) = out.split_at_mut(out.len().min(self.block - within));
            let zero = self.middle() + self.zeros.get(block).copied().unwrap_or(0.0);
            Arch::new().dispatch(Numbers {
                bytes: &bytes[at * self.bits / 8..],
                bits: self.bits,
                zero,
                scale: self.scales[block],
                out: some,
            });
            at += some.len();
            out = rest;
        }
    }
}

/// Digits less a zero point, times a scale.
struct Numbers<'a> {
    bytes: &'a [u8],
    bits: usize,
    zero: f32,
    scale: f32,
    out: &'a mut [f32],
}

impl NullaryFnOnce for Numbers<'_> {
    type Output = ();
    #[inline(always)]
    fn call(self) {
        let of = |digit: u8| (f32::from(digit) - self.zero) * self.scale;
        let (bytes, out) = (self.bytes, self.out);
        if self.bits == 8 {
            out.iter_mut().zip(bytes).for_each(|(o, x)| *o = of(*x));
            return;
        }
        let (pairs, last) = out.as_chunks_mut::<2>();
        for (pair, x) in pairs.iter_mut().zip(bytes) {
            *pair = [of(x & 15), of(x >> 4)];
        }
        if let ([o], Some(x)) = (last, bytes.get(pairs.len())) {
            *o = of(x & 15);
        }
    }
}

impl Right for Weights<'_> {
    fn pack(&self, first: usize, depth: usize, column: usize, count: usize, width: usize, out: &mut [f32]) {
        let out = &mut out[..depth * width];
        // Columns are not a power of two apart, so that they begin in different sets of a cache.
        let distance = depth + 16;
        let mut numbers = vec![0.0f32; count * distance];
        for (j, row) in numbers.chunks_exact_mut(distance).enumerate() {
            self.numbers(column + j, first, &mut row[..depth]);
        }
        // The numbers of a column become those of a column of the panel.
        transpose(&numbers, [count, depth], distance, out, width);
    }
}

fn matmul_nbits(call: &Call<'_>) -> Done {
    let (a, bytes, scales) = (call.f32s(0), call.slice::<u8>(1), call.f32s(2));
    let (a, bytes, scales) = (or_decline!(a), or_decline!(bytes), or_decline!(scales));
    let shape = or_decline!(call.out_shape());
    let number = |name: &str| call.int(name).and_then(|n| usize::try_from(n).ok());
    let (bits, block) = (or_decline!(number("bits")), or_decline!(number("block_size")));
    let ([.., inner], &[columns, blocks, size]) = (call.shape(0), call.shape(1)) else {
        return Ok(None);
    };
    let inner = *inner;
    let fits = matches!(bits, 4 | 8)
        && block.is_power_of_two()
        && block >= 16
        && size == block * bits / 8
        && blocks == inner.div_ceil(block)
        && scales.len() == columns * blocks;
    if !fits || inner == 0 {
        return Ok(None);
    }
    let zeros = match call.has(3) {
        false => Arc::new(Vec::new()),
        true => {
            let read = || zero_points(call, bits, columns, blocks);
            let zeros = call.prepared(3, read);
            if zeros.len() != columns * blocks {
                return Ok(None);
            }
            zeros
        }
    };
    let bias = call.f32s(4);
    if bias.as_ref().map_or(call.has(4), |bias| bias.len() != columns) {
        return Ok(None);
    }
    let weights = Weights {
        bytes,
        scales,
        zeros,
        bits,
        block,
        blocks,
        inner,
        columns,
    };
    let mut out = call.result_room::<f32>(shape.iter().product());
    if out.is_empty() {
        return done(&shape, out);
    }
    let rows = a.len() / inner;
    match &bias {
        Some(bias) => out.chunks_exact_mut(columns).for_each(|row| row.copy_from_slice(bias)),
        None => out.fill(0.0),
    }
    if rows > FEW {
        let left = Left::of_rows(Micro::best(), &a, rows);
        product(
            &left,
            &weights,
            columns,
            &mut out,
            Finish::from(Start::Result),
            call.threads,
        );
        return done(&shape, out);
    }
    for (a, out) in a.chunks_exact(inner).zip(out.chunks_exact_mut(columns)) {
        one_row(&weights, a, out, call.threads);
    }
    done(&shape, out)
}

/// The zero points of operand 3 less the usual one, one for each block; fewer if it has another form.
fn zero_points(call: &Call<'_>, bits: usize, columns: usize, blocks: usize) -> Vec<f32> {
    let middle = if bits == 8 { 128.0 } else { 8.0 };
    if let Some(zeros) = call.f32s(3) {
        return zeros.iter().map(|z| z - middle).collect();
    }
    let Some(bytes) = call.slice::<u8>(3).filter(|_| call.dtype(3) == Some(DType::U8)) else {
        return Vec::new();
    };
    let row = (blocks * bits).div_ceil(8);
    if bytes.len() != columns * row {
        return Vec::new();
    }
    let digit = |row: &[u8], at: usize| match bits {
        8 => row[at],
        _ => (row[at / 2] >> (at % 2 * 4)) & 15,
    };
    let zeros = bytes
        .chunks_exact(row)
        .flat_map(|row| (0..blocks).map(move |at| digit(row, at)));
    zeros.map(|z| f32::from(z) - middle).collect()
}

/// A row in the order in which it is multiplied, and the sums of its blocks.
struct Row {
    elements: Vec<f32>,
    sums: Vec<f32>,
}

/// Adds the product of a row with all columns.
fn one_row(weights: &Weights<'_>, a: &[f32], out: &mut [f32], threads: usize) {
    let length = (weights.blocks * weights.block).next_multiple_of(GROUP);
    let mut elements = vec![0.0; length];
    elements[..a.len()].copy_from_slice(a);
    let sums = match weights.zeros.is_empty() {
        true => Vec::new(),
        false => elements
            .chunks(weights.block)
            .take(weights.blocks)
            .map(super::reduce::sum_of)
            .collect(),
    };
    let columns = Columns::best(weights.bits);
    if columns.is_permuted {
        for group in elements.as_chunks_mut::<GROUP>().0 {
            let from = *group;
            for (at, x) in group.iter_mut().enumerate() {
                *x = from[at % 16 * 8 + at / 16];
            }
        }
    }
    let row = Row { elements, sums };
    let size = weights.inner * weights.columns;
    let threads = if size < PARALLEL { 1 } else { threads.max(1) };
    let share = weights.columns.div_ceil(threads).next_multiple_of(16);
    let shared = Shared::new(out);
    let run = |first: usize| {
        let end = weights.columns.min(first + share);
        for column in (first..end).step_by(COLUMNS) {
            let count = COLUMNS.min(end - column);
            let mut sums = [0.0; COLUMNS];
            // SAFETY: the row has whole groups, and the columns exist; `best` has checked the instructions.
            unsafe { (columns.run)(weights, &row, column, &mut sums[..count]) };
            // SAFETY: threads have disjoint columns.
            let out = unsafe { shared.part(column, count) };
            for ((j, o), sum) in out.iter_mut().enumerate().zip(sums) {
                let blocks = (column + j) * weights.blocks..(column + j + 1) * weights.blocks;
                let less = match row.sums.is_empty() {
                    true => 0.0,
                    false => Arch::new().dispatch(Zeros {
                        zeros: &weights.zeros[blocks.clone()],
                        scales: &weights.scales[blocks],
                        sums: &row.sums,
                    }),
                };
                *o += sum - less;
            }
        }
    };
    if threads == 1 {
        return run(0);
    }
    rayon::scope(|scope| {
        let run = &run;
        for first in (0..weights.columns).step_by(share) {
            scope.spawn(move |_| run(first));
        }
    });
}

/// The amount that zero points subtract from the product of a column.
struct Zeros<'a> {
    zeros: &'a [f32],
    scales: &'a [f32],
    sums: &'a [f32],
}

impl NullaryFnOnce for Zeros<'_> {
    type Output = f32;
    #[inline(always)]
    fn call(self) -> f32 {
        let mut lanes = [0.0f32; 16];
        let all = self
            .zeros
            .chunks(16)
            .zip(self.scales.chunks(16))
            .zip(self.sums.chunks(16));
        for ((zeros, scales), sums) in all {
            for (((lane, z), s), x) in lanes.iter_mut().zip(zeros).zip(scales).zip(sums) {
                *lane += z * s * x;
            }
        }
        lanes.iter().sum()
    }
}

/// Elements of a row whose order is changed within: 16 words of 8 digits of 4 bits.
const GROUP: usize = 128;

/// Computes products of a row with columns.
#[derive(Clone, Copy)]
struct Columns {
    /// Elements of a group are in the order of the digits of words: all first digits, then all second digits, and so
    /// on.
    is_permuted: bool,
    /// # Safety
    /// The machine has the instructions; the row has whole groups, in the order that `is_permuted` says.
    run: unsafe fn(&Weights<'_>, &Row, usize, &mut [f32]),
}

impl Columns {
    /// All that this machine can run, the fastest first.
    fn all(bits: usize) -> Vec<Columns> {
        let mut all = Vec::new();
        #[cfg(target_arch = "x86_64")]
        if std::arch::is_x86_feature_detected!("avx512f") {
            all.push(Columns {
                is_permuted: bits == 4,
                run: if bits == 4 {
                    avx512::four_bits
                } else {
                    avx512::eight_bits
                },
            });
        }
        let _ = bits;
        all.push(Columns {
            is_permuted: false,
            run: portable,
        });
        all
    }

    fn best(bits: usize) -> Columns {
        Columns::all(bits)[0]
    }
}

/// # Safety
/// No requirement except that the row is in its original order.
unsafe fn portable(weights: &Weights<'_>, row: &Row, column: usize, out: &mut [f32]) {
    let mut digits = [0.0; GROUP];
    for (j, out) in out.iter_mut().enumerate() {
        let bytes = &weights.bytes[(column + j) * weights.column_size()..][..weights.column_size()];
        let scales = &weights.scales[(column + j) * weights.blocks..][..weights.blocks];
        let part = GROUP.min(weights.block);
        let parts = bytes
            .chunks_exact(part * weights.bits / 8)
            .zip(row.elements.chunks_exact(part));
        for (i, (bytes, elements)) in parts.enumerate() {
            let numbers = &mut digits[..part];
            Arch::new().dispatch(Numbers {
                bytes,
                bits: weights.bits,
                zero: weights.middle(),
                scale: 1.0,
                out: numbers,
            });
            let sum = Arch::new().dispatch(super::attention::Dot(numbers, elements));
            *out += scales[i * part / weights.block] * sum;
        }
    }
}

#[cfg(target_arch = "x86_64")]
mod avx512 {
    use std::arch::x86_64::*;

    use super::{COLUMNS, GROUP, Row, Weights};

    /// # Safety
    /// Same as for [`super::Columns`].
    #[target_feature(enable = "avx512f")]
    pub(super) unsafe fn four_bits(weights: &Weights<'_>, row: &Row, column: usize, out: &mut [f32]) {
        let size = weights.column_size();
        let groups = size.div_ceil(64);
        // Scales of a group, and which of them each lane has.
        let each = (GROUP / weights.block).max(1);
        let lanes: [i32; 16] = std::array::from_fn(|lane| (lane * each / 16) as i32);
        // SAFETY: loads are within arrays of 16, or within the slices by their masks; the row has whole groups.
        unsafe {
            let table = _mm512_sub_ps(
                _mm512_cvtepi32_ps(_mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15)),
                _mm512_set1_ps(8.0),
            );
            let which = _mm512_loadu_si512(lanes.as_ptr().cast());
            let mut totals = [_mm512_setzero_ps(); COLUMNS];
            assert!(row.elements.len() >= groups * GROUP);
            for group in 0..groups {
                let words = ((size - group * 64) / 4).min(16);
                let mask = if words == 16 { 0xffff } else { (1u16 << words) - 1 };
                let elements = row.elements.as_ptr().add(group * GROUP);
                let first = group * GROUP / weights.block;
                let some = each.min(weights.blocks - first);
                for (j, total) in totals.iter_mut().enumerate().take(out.len()) {
                    let bytes = weights.bytes[(column + j) * size + group * 64..].as_ptr();
                    let mut digits = _mm512_maskz_loadu_epi32(mask, bytes.cast());
                    let mut sums = [_mm512_setzero_ps(); 2];
                    for i in 0..8 {
                        let numbers = _mm512_permutexvar_ps(digits, table);
                        sums[i % 2] = _mm512_fmadd_ps(numbers, _mm512_loadu_ps(elements.add(i * 16)), sums[i % 2]);
                        digits = _mm512_srli_epi32::<4>(digits);
                    }
                    let scales = &weights.scales[(column + j) * weights.blocks + first..][..some];
                    let scales = _mm512_maskz_loadu_ps((1u16 << some) - 1, scales.as_ptr());
                    let scales = _mm512_permutexvar_ps(which, scales);
                    *total = _mm512_fmadd_ps(scales, _mm512_add_ps(sums[0], sums[1]), *total);
                }
            }
            out.iter_mut()
                .zip(totals)
                .for_each(|(o, total)| *o = _mm512_reduce_add_ps(total));
        }
    }

    /// # Safety
    /// Same as for [`super::Columns`].
    #[target_feature(enable = "avx512f")]
    pub(super) unsafe fn eight_bits(weights: &Weights<'_>, row: &Row, column: usize, out: &mut [f32]) {
        let size = weights.column_size();
        assert!(row.elements.len() >= size);
        // SAFETY: blocks have whole vectors, within the slices; the row is as long as a column.
        unsafe {
            let mut totals = [_mm512_setzero_ps(); COLUMNS];
            for block in 0..weights.blocks {
                let elements = row.elements.as_ptr().add(block * weights.block);
                for (j, total) in totals.iter_mut().enumerate().take(out.len()) {
                    let bytes = &weights.bytes[(column + j) * size + block * weights.block..][..weights.block];
                    let mut sums = [_mm512_setzero_ps(); 2];
                    for (i, sixteen) in bytes.as_chunks::<16>().0.iter().enumerate() {
                        let digits = _mm512_cvtepu8_epi32(_mm_loadu_si128(sixteen.as_ptr().cast()));
                        let numbers = _mm512_cvtepi32_ps(_mm512_sub_epi32(digits, _mm512_set1_epi32(128)));
                        let x = _mm512_loadu_ps(elements.add(i * 16));
                        sums[i % 2] = _mm512_fmadd_ps(numbers, x, sums[i % 2]);
                    }
                    let scale = _mm512_set1_ps(weights.scales[(column + j) * weights.blocks + block]);
                    *total = _mm512_fmadd_ps(scale, _mm512_add_ps(sums[0], sums[1]), *total);
                }
            }
            out.iter_mut()
                .zip(totals)
                .for_each(|(o, total)| *o = _mm512_reduce_add_ps(total));
        }
    }
}

#[cfg(test)]
#[path = "nbits_tests.rs"]
mod tests;
