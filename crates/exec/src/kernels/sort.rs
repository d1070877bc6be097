//! Sorting, and runs of equal elements.

use half::{bf16, f16};

use super::call::{or_decline, value};
use super::copy::gather;
use super::pages::room_from;
use super::words::each_number_word;
use super::{Call, Done, Kernel, Results};
use tautomer_tensor::strided::View;
use tautomer_tensor::{DType, Element, Tensor};

/// The kernels of this family.
pub(super) const KERNELS: &[Kernel] = &[
    Kernel::any("sort", sort),
    Kernel::any("unique_consecutive", unique_consecutive),
    Kernel::any("unique", unique),
];

/// A truth value, or a word of a number, which is compared as that number.
pub(super) trait Bits: Element + Copy {
    /// An integer of as many bits that is ordered like the element of type `dtype`; all NaNs share the largest key, and
    /// both zeros have the same key.
    fn key(self, dtype: DType) -> u64;

    /// True if the elements are equal; a NaN is equal to nothing.
    fn is(self, other: Self, dtype: DType) -> bool;

    /// The largest key of elements of type `dtype`.
    fn largest(dtype: DType) -> u64 {
        match dtype.size() {
            _ if dtype.is_float() && dtype.size() == 2 => u32::MAX.into(),
            size => u64::MAX >> (64 - 8 * size),
        }
    }
}

impl Bits for bool {
    #[inline(always)]
    fn key(self, _: DType) -> u64 {
        self.into()
    }
    #[inline(always)]
    fn is(self, other: Self, _: DType) -> bool {
        self == other
    }
}

impl Bits for u8 {
    #[inline(always)]
    fn key(self, dtype: DType) -> u64 {
        u64::from(if dtype == DType::I8 { self ^ 0x80 } else { self })
    }
    #[inline(always)]
    fn is(self, other: Self, _: DType) -> bool {
        self == other
    }
}

impl Bits for u16 {
    #[inline(always)]
    fn key(self, dtype: DType) -> u64 {
        match dtype {
            DType::F16 => key(f16::from_bits(self).to_f32()),
            DType::BF16 => key(bf16::from_bits(self).to_f32()),
            DType::I16 => u64::from(self ^ 0x8000),
            _ => self.into(),
        }
    }
    #[inline(always)]
    fn is(self, other: Self, dtype: DType) -> bool {
        match dtype {
            DType::F16 => f16::from_bits(self) == f16::from_bits(other),
            DType::BF16 => bf16::from_bits(self) == bf16::from_bits(other),
            _ => self == other,
        }
    }
}

impl Bits for u32 {
    #[inline(always)]
    fn key(self, dtype: DType) -> u64 {
        match dtype {
            DType::F32 => key(f32::from_bits(self)),
            DType::I32 => u64::from(self ^ 0x8000_0000),
            _ => self.into(),
        }
    }
    #[inline(always)]
    fn is(self, other: Self, dtype: DType) -> bool {
        match dtype {
            DType::F32 => f32::from_bits(self) == f32::from_bits(other),
            _ => self == other,
        }
    }
}

impl Bits for u64 {
    #[inline(always)]
    fn key(self, dtype: DType) -> u64 {
        const SIGN: u64 = 1 << 63;
        match dtype {
            DType::F64 => {
                let x = f64::from_bits(self);
                let bits = (x + 0.0).to_bits();
                let ordered = bits ^ ((((bits as i64) >> 63) as u64) | SIGN);
                if x.is_nan() { u64::MAX } else { ordered }
            }
            DType::I64 => self ^ SIGN,
            _ => self,
        }
    }
    #[inline(always)]
    fn is(self, other: Self, dtype: DType) -> bool {
        match dtype {
            DType::F64 => f64::from_bits(self) == f64::from_bits(other),
            _ => self == other,
        }
    }
}

/// An integer of 32 bits that is ordered like the number; all NaNs share the largest key, and both zeros have the same
/// key.
#[inline(always)]
pub(super) fn key(x: f32) -> u64 {
    // Adding zero turns negative zero into positive zero.
    let bits = (x + 0.0).to_bits();
    let ordered = bits ^ ((((bits as i32) >> 31) as u32) | 0x8000_0000);
    u64::from(if x.is_nan() { u32::MAX } else { ordered })
}

/// Rows shorter than this are sorted by comparison.
const SHORT: usize = 128;

/// Sorts rows, reusing the same buffers for each.
#[derive(Default)]
struct Sorter {
    /// The key in the upper half, the index in the lower.
    narrow: Vec<u64>,
    other: Vec<u64>,
    wide: Vec<(u64, u32)>,
}

impl Sorter {
    /// Passes the indices of a row's elements, of type `dtype`, in sorted order to `put`; the sort is stable. Fewer than
    /// 2^32 elements.
    fn order<T: Bits>(&mut self, dtype: DType, row: &[T], descending: bool, mut put: impl FnMut(usize, u32)) {
        let flip = if descending { T::largest(dtype) } else { 0 };
        let key = |x: T| x.key(dtype) ^ flip;
        if size_of::<T>() == 8 {
            self.wide.clear();
            self.wide.extend(row.iter().zip(0u32..).map(|(&x, i)| (key(x), i)));
            self.wide.sort_unstable();
            self.wide.iter().enumerate().for_each(|(to, &(_, from))| put(to, from));
            return;
        }
        self.narrow.clear();
        self.narrow
            .extend(row.iter().zip(0u64..).map(|(&x, i)| (key(x) << 32) | i));
        if row.len() < SHORT {
            self.narrow.sort_unstable();
        } else {
            self.by_digits(T::largest(dtype));
        }
        self.narrow
            .iter()
            .enumerate()
            .for_each(|(to, &item)| put(to, item as u32));
    }

    /// Radix sort by the keys, from the last digit on; each pass is stable.
    fn by_digits(&mut self, largest: u64) {
        const DIGIT: u32 = 8;
        const VALUES: usize = 1 << DIGIT;
        let digits = (u64::BITS - largest.leading_zeros()).div_ceil(DIGIT) as usize;
        let digit = |item: u64, d: usize| (item >> (32 + DIGIT as usize * d)) as usize % VALUES;
        let mut counts = [[0u32; VALUES]; 4];
        for &item in &self.narrow {
            for (d, counts) in counts.iter_mut().enumerate().take(digits) {
                counts[digit(item, d)] += 1;
            }
        }
        self.other.clear();
        self.other.resize(self.narrow.len(), 0);
        let n = self.narrow.len() as u32;
        for (d, counts) in counts.iter_mut().enumerate().take(digits) {
            // A digit that all keys share does not change the order.
            if counts[digit(self.narrow[0], d)] == n {
                continue;
            }
            let mut next = 0;
            for count in counts.iter_mut() {
                next += std::mem::replace(count, next);
            }
            for &item in &self.narrow {
                let place = &mut counts[digit(item, d)];
                self.other[*place as usize] = item;
                *place += 1;
            }
            std::mem::swap(&mut self.narrow, &mut self.other);
        }
    }
}

/// The axis order with `axis` last, and its inverse.
fn last(axis: usize, rank: usize) -> (Vec<i64>, Vec<i64>) {
    let order: Vec<i64> = (0..rank)
        .filter(|&a| a != axis)
        .chain([axis])
        .map(|a| a as i64)
        .collect();
    let mut back = vec![0; rank];
    for (i, &a) in order.iter().enumerate() {
        back[a as usize] = i as i64;
    }
    (order, back)
}

/// Elements of one shape with the axes permuted.
fn permuted<T: Clone + 'static>(elements: &[T], shape: &[usize], order: &[i64]) -> Option<(Vec<T>, Vec<usize>)> {
    let view = View::row_major(elements, shape).ok()?.map(|l| l.permute(order)).ok()?;
    Some((gather(&view), view.layout().shape().to_vec()))
}

fn sort(call: &Call<'_>) -> Done {
    each_number_word!(call, T => sort_words::<T>(call))
}

fn sort_words<T: Bits>(call: &Call<'_>) -> Done {
    let (shape, dtype) = (call.shape(0), or_decline!(call.dtype(0)));
    let whole = or_decline!(call.slice::<T>(0));
    let rank = shape.len();
    let axis = if rank == 0 {
        0
    } else {
        or_decline!(call.axis("axis", rank))
    };
    let n = shape.get(axis).copied().unwrap_or(1);
    if u32::try_from(n).is_err() {
        return Ok(None);
    }
    let inner = axis + 1 < rank && shape[axis + 1..].iter().any(|&d| d != 1);
    let (order, back) = if inner { last(axis, rank) } else { Default::default() };
    let (rows, moved) = if inner {
        let (rows, moved) = or_decline!(permuted(&whole, shape, &order));
        (std::borrow::Cow::Owned(rows), moved)
    } else {
        (whole, shape.to_vec())
    };
    let mut values: Vec<T> = Vec::with_capacity(rows.len());
    let mut places: Vec<i64> = Vec::with_capacity(rows.len());
    let mut sorter = Sorter::default();
    let descending = call.flag("descending");
    for row in rows.chunks_exact(n.max(1)) {
        sorter.order(dtype, row, descending, |_, from| {
            values.push(row[from as usize]);
            places.push(i64::from(from));
        });
    }
    if inner {
        values = or_decline!(permuted(&values, &moved, &back)).0;
        places = or_decline!(permuted(&places, &moved, &back)).0;
    }
    let (values, places) = (value(shape, values.into())?, value(shape, places.into())?);
    Ok(Some(Results::from_iter([values, places])))
}

fn unique_consecutive(call: &Call<'_>) -> Done {
    each_number_word!(call, T => unique_words::<T>(call))
}

fn unique_words<T: Bits>(call: &Call<'_>) -> Done {
    let (shape, dtype) = (call.shape(0), or_decline!(call.dtype(0)));
    let whole = or_decline!(call.slice::<T>(0));
    let rank = shape.len();
    let axis = match call.attr("axis").is_none() {
        true => None,
        false => Some(or_decline!(call.axis("axis", rank))),
    };
    // Slices become rows.
    let (mut moved, mut front) = (vec![whole.len()], Vec::new());
    let rows = match axis {
        Some(axis) if shape[..axis].iter().any(|&d| d != 1) => {
            let order: Vec<i64> = std::iter::once(axis)
                .chain((0..rank).filter(|&a| a != axis))
                .map(|a| a as i64)
                .collect();
            let (rows, shape) = or_decline!(permuted(&whole, shape, &order));
            (moved, front) = (shape, order);
            std::borrow::Cow::Owned(rows)
        }
        Some(axis) => {
            moved = [&[shape[axis]], &shape[..axis], &shape[axis + 1..]].concat();
            whole
        }
        None => whole,
    };
    let length: usize = moved[1..].iter().product();
    if length == 0 && moved[0] > 0 {
        return Ok(None);
    }
    let found = runs(
        dtype,
        &rows,
        moved[0],
        length,
        (call.flag("return_inverse"), call.flag("return_counts")),
    );
    moved[0] = found.kept;
    let mut values = found.values;
    if let Some(axis) = axis {
        if !front.is_empty() {
            let back: Vec<i64> = (1..=axis as i64)
                .chain([0])
                .chain(axis as i64 + 1..rank as i64)
                .collect();
            (values, moved) = or_decline!(permuted(&values, &moved, &back));
        } else {
            moved = shape.to_vec();
            moved[axis] = found.kept;
        }
    }
    let mut results = Results::from_iter([value(&moved, values.into())?]);
    if call.flag("return_inverse") {
        let slices = [found.inverse.len()];
        let shape = if axis.is_some() { &slices[..] } else { shape };
        results.push(value(shape, found.inverse.into())?);
    }
    if call.flag("return_counts") {
        results.push(Tensor::vector(found.counts).into());
    }
    Ok(Some(results))
}

/// The distinct elements; slices are left to the reference semantics.
fn unique(call: &Call<'_>) -> Done {
    if !call.attr("axis").is_none() {
        return Ok(None);
    }
    each_number_word!(call, T => unique_elements::<T>(call))
}

fn unique_elements<T: Bits>(call: &Call<'_>) -> Done {
    let (dtype, x) = (or_decline!(call.dtype(0)), or_decline!(call.slice::<T>(0)));
    if u32::try_from(x.len()).is_err() {
        return Ok(None);
    }
    // The first place of each group of equal elements, and how many there are; the group of each element.
    let mut groups: Vec<(u32, i64)> = Vec::new();
    let mut inverse = vec![0i64; x.len()];
    let (mut sorter, mut last) = (Sorter::default(), None);
    sorter.order(dtype, &x, false, |_, at| {
        let key = x[at as usize].key(dtype);
        match groups.last_mut() {
            Some((_, count)) if last == Some(key) => *count += 1,
            _ => groups.push((at, 1)),
        }
        last = Some(key);
        inverse[at as usize] = groups.len() as i64 - 1;
    });
    if !call.flag("sorted") {
        let mut order: Vec<usize> = (0..groups.len()).collect();
        order.sort_unstable_by_key(|&group| groups[group].0);
        let mut ranks = vec![0i64; groups.len()];
        order.iter().zip(0..).for_each(|(&group, rank)| ranks[group] = rank);
        inverse.iter_mut().for_each(|group| *group = ranks[*group as usize]);
        groups = order.into_iter().map(|group| groups[group]).collect();
    }
    let values: Vec<T> = groups.iter().map(|&(at, _)| x[at as usize]).collect();
    let firsts: Vec<i64> = groups.iter().map(|&(at, _)| at.into()).collect();
    let counts: Vec<i64> = groups.iter().map(|&(_, count)| count).collect();
    Ok(Some(Results::from_iter([
        value(&[groups.len()], values.into())?,
        Tensor::vector(firsts).into(),
        Tensor::vector(inverse).into(),
        Tensor::vector(counts).into(),
    ])))
}

/// The rows that differ from the one before.
struct Distinct<T> {
    kept: usize,
    values: Vec<T>,
    inverse: Vec<i64>,
    counts: Vec<i64>,
}

/// `n` placeholder elements, to be overwritten.
fn filled<T: Clone + Default>(n: usize) -> Vec<T> {
    const LARGE: usize = 2 << 20;
    let mut out = room_from(n, LARGE);
    out.resize(n, T::default());
    out
}

/// The first row of each run of equal rows; if requested, the run of each row and the lengths of the runs.
///
/// Runs are counted first, so that no more memory is allocated than filled: new pages cost more than a second pass.
fn runs<T: Bits>(dtype: DType, rows: &[T], n: usize, length: usize, (inverse, counts): (bool, bool)) -> Distinct<T> {
    let row = |i: usize| &rows[i * length..][..length];
    let same = |i: usize, j: usize| row(i).iter().zip(row(j)).all(|(a, b)| a.is(*b, dtype));
    let kept = match length {
        _ if n == 0 => 0,
        1 => {
            1 + rows
                .windows(2)
                .map(|pair| usize::from(!pair[0].is(pair[1], dtype)))
                .sum::<usize>()
        }
        _ => 1 + (1..n).filter(|&i| !same(i, i - 1)).count(),
    };
    let mut out = Distinct {
        kept,
        values: Vec::new(),
        inverse: filled(if inverse { n } else { 0 }),
        counts: filled(if counts { kept } else { 0 }),
    };
    if length == 1 {
        out.values = filled(kept);
    }
    let mut firsts = vec![0; if length == 1 { 0 } else { kept }];
    // Going backward, the first of a run is written last and stays, without a branch.
    let mut run = kept;
    for i in (0..n).rev() {
        if length == 1 {
            let ends = i + 1 == n || !rows[i].is(rows[i + 1], dtype);
            run -= usize::from(ends);
            out.values[run] = rows[i];
        } else {
            let ends = i + 1 == n || !same(i, i + 1);
            run -= usize::from(ends);
            firsts[run] = i;
        }
        if inverse {
            out.inverse[i] = run as i64;
        }
        if counts {
            out.counts[run] += 1;
        }
    }
    if length != 1 {
        out.values.reserve(kept * length);
        firsts.iter().for_each(|&i| out.values.extend_from_slice(row(i)));
    }
    out
}

#[cfg(test)]
#[path = "sort_tests.rs"]
mod tests;
