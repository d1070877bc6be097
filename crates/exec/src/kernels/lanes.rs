//! Tiles of an image in the lanes of vectors, and results in lanes as rows of an image.
//!
//! Tiles overlap by two elements and are 2 or 4 apart; neighbours along a row of the image get neighbouring lanes.
#![allow(unsafe_code, reason = "elements are exchanged between vectors")]

use super::micro::Micro;
use super::window::Window;

/// The distance of rows of lanes: those of the widest panel, and one vector that may be written after them.
pub(super) const PITCH: usize = 32 + 16;

/// The number of elements of an image row that are read for the tiles of one vector.
const LINE: usize = 96;

/// The tiles of an image.
pub(super) struct Tiles<'a> {
    /// The windows of the convolution.
    pub(super) window: &'a Window,
    /// The distance of tiles, 2 or 4.
    pub(super) size: usize,
    /// Tiles in a row of them.
    pub(super) along: usize,
    /// Rows of tiles for each remainder of the rows of the image modulo the dilation.
    pub(super) each: usize,
    pub(super) micro: Micro,
}

impl Tiles<'_> {
    /// Writes each element of tiles `first..first + count` of a channel to a row of `out`, and zeros up to `width`
    /// lanes. Rows are [`PITCH`] elements apart.
    pub(super) fn load(&self, channel: &[f32], first: usize, count: usize, width: usize, out: &mut [f32]) {
        let (size, side) = (self.size, self.size + 2);
        let [_, height, length] = self.window.input;
        let [_, pad_y, pad_x] = self.window.pad;
        let mut padded = [0.0; LINE];
        let mut done = 0;
        while done < count {
            let (down, right) = ((first + done) / self.along, (first + done) % self.along);
            let n = (count - done).min(self.along - right).min(16);
            let (begin, reach) = (right * size, n * size + 2);
            for row in 0..side {
                let lanes = &mut out[row * side * PITCH + done..];
                let y = self.line(down, row).wrapping_sub(pad_y);
                let line = if y < height { &channel[y * length..] } else { &[] };
                let is_inside = y < height && begin >= pad_x && begin - pad_x + reach <= length;
                let inside = is_inside.then(|| line[begin - pad_x..].first_chunk::<LINE>()).flatten();
                if let Some(line) = inside {
                    self.spread(line, lanes);
                    continue;
                }
                // Part of the row is outside the image, or what is read after it.
                padded[..reach].fill(0.0);
                let left = pad_x.saturating_sub(begin);
                let from = (begin + left).saturating_sub(pad_x);
                let values = reach.saturating_sub(left).min(length.saturating_sub(from));
                if y < height && values > 0 {
                    padded[left..left + values].copy_from_slice(&line[from..from + values]);
                }
                self.spread(&padded, lanes);
            }
            done += n;
        }
        if count < width {
            for row in out.chunks_mut(PITCH).take(side * side) {
                row[count..width].fill(0.0);
            }
        }
    }

    /// The row of the image, counted from the padding, or of the result, for row `row` of the tiles in row `down`.
    pub(super) fn line(&self, down: usize, row: usize) -> usize {
        (down % self.each * self.size + row) * self.window.dilation[1] + down / self.each
    }

    /// Writes elements `k`, `k + size`, and so on of a line to the vector of row `k`, for each `k` below the side of a
    /// tile.
    fn spread(&self, line: &[f32; LINE], out: &mut [f32]) {
        #[cfg(target_arch = "x86_64")]
        if let Some(lanes) = self.micro.lanes_of_vectors() {
            let end = (self.size + 1) * PITCH + 16;
            let out = out[..end].as_mut_ptr();
            // SAFETY: the machine has the instructions, and `out` has as many vectors, by the slice.
            return unsafe {
                match (lanes, self.size) {
                    (16, 2) => wide::spread_by_2(line, out),
                    (16, _) => wide::spread_by_4(line, out),
                    (_, 2) => narrow::spread_by_2(line, out),
                    (_, _) => narrow::spread_by_4(line, out),
                }
            };
        }
        for (k, row) in out.chunks_mut(PITCH).take(self.size + 2).enumerate() {
            for (lane, out) in row[..16].iter_mut().enumerate() {
                *out = line[lane * self.size + k];
            }
        }
    }
}

/// Writes the elements at even places of a line, and those at odd places.
pub(super) fn halve(line: &[f32], even: &mut [f32], odd: &mut [f32]) {
    #[cfg(target_arch = "x86_64")]
    if std::arch::is_x86_feature_detected!("avx512f") {
        // SAFETY: the machine has the instructions.
        return unsafe { wide::halve(line, even, odd) };
    }
    #[cfg(target_arch = "x86_64")]
    if std::arch::is_x86_feature_detected!("avx2") {
        // SAFETY: the machine has the instructions.
        return unsafe { narrow::halve(line, even, odd) };
    }
    halve_pairs(line, even, odd);
}

fn halve_pairs(line: &[f32], even: &mut [f32], odd: &mut [f32]) {
    for ((pair, even), odd) in line.as_chunks::<2>().0.iter().zip(even).zip(odd) {
        [*even, *odd] = *pair;
    }
}

/// Writes the first lanes of four vectors, then the second ones, and so on, for vectors of 16.
pub(super) fn interleave_four(all: &[[f32; 16]; 4], out: &mut [f32; 64]) {
    #[cfg(target_arch = "x86_64")]
    if std::arch::is_x86_feature_detected!("avx512f") {
        // SAFETY: the machine has the instructions.
        return unsafe { wide::interleave_four(all, out) };
    }
    #[cfg(target_arch = "x86_64")]
    if std::arch::is_x86_feature_detected!("avx2") {
        // SAFETY: the machine has the instructions.
        return unsafe { narrow::interleave_four(all, out) };
    }
    for (lane, out) in out.as_chunks_mut::<4>().0.iter_mut().enumerate() {
        *out = std::array::from_fn(|i| all[i][lane]);
    }
}

/// The same for vectors of 8.
#[cfg(target_arch = "x86_64")]
pub(super) mod narrow {
    use super::{LINE, PITCH};
    use std::arch::x86_64::*;

    /// The elements at even places of two vectors, and those at odd places.
    #[inline]
    #[target_feature(enable = "avx2")]
    pub(in super::super) fn halves(a: __m256, b: __m256) -> (__m256, __m256) {
        // Pairs of both vectors take turns in each half.
        let ordered = |x: __m256| _mm256_castpd_ps(_mm256_permute4x64_pd::<0b11_01_10_00>(_mm256_castps_pd(x)));
        (
            ordered(_mm256_shuffle_ps::<0b10_00_10_00>(a, b)),
            ordered(_mm256_shuffle_ps::<0b11_01_11_01>(a, b)),
        )
    }

    /// The lanes of `x` from the second on, and then `next`.
    #[inline]
    #[target_feature(enable = "avx2")]
    pub(in super::super) fn shifted(x: __m256, next: f32) -> __m256 {
        let x = _mm256_permutevar8x32_ps(x, _mm256_setr_epi32(1, 2, 3, 4, 5, 6, 7, 7));
        _mm256_blend_ps::<0x80>(x, _mm256_set1_ps(next))
    }

    #[inline]
    #[target_feature(enable = "avx2")]
    fn vector(line: &[f32; LINE], i: usize) -> __m256 {
        // SAFETY: the slice has 8 elements.
        unsafe { _mm256_loadu_ps(line[8 * i..][..8].as_ptr()) }
    }

    /// # Safety
    /// Vectors can be written at rows of `out`.
    #[inline]
    #[target_feature(enable = "avx2")]
    unsafe fn store<const ROWS: usize>(rows: [__m256; ROWS], out: *mut f32) {
        for (k, row) in rows.into_iter().enumerate() {
            // SAFETY: by the caller.
            unsafe { _mm256_storeu_ps(out.add(k * PITCH), row) };
        }
    }

    /// # Safety
    /// 16 elements can be written at 4 rows of `out`.
    #[target_feature(enable = "avx2")]
    pub(super) unsafe fn spread_by_2(line: &[f32; LINE], out: *mut f32) {
        for half in 0..2 {
            let (even, odd) = halves(vector(line, 2 * half), vector(line, 2 * half + 1));
            let next = 16 * (half + 1);
            let rows = [even, odd, shifted(even, line[next]), shifted(odd, line[next + 1])];
            // SAFETY: by the caller.
            unsafe { store(rows, out.add(8 * half)) };
        }
    }

    /// # Safety
    /// 16 elements can be written at 6 rows of `out`.
    #[target_feature(enable = "avx2")]
    pub(super) unsafe fn spread_by_4(line: &[f32; LINE], out: *mut f32) {
        for half in 0..2 {
            let at = |i| vector(line, 4 * half + i);
            let (even, odd) = halves(at(0), at(1));
            let (even_high, odd_high) = halves(at(2), at(3));
            let ((a, c), (b, d)) = (halves(even, even_high), halves(odd, odd_high));
            let next = 32 * (half + 1);
            let rows = [a, b, c, d, shifted(a, line[next]), shifted(b, line[next + 1])];
            // SAFETY: by the caller.
            unsafe { store(rows, out.add(8 * half)) };
        }
    }

    #[target_feature(enable = "avx2")]
    pub(super) fn halve(line: &[f32], even: &mut [f32], odd: &mut [f32]) {
        let (lines, rest) = line.as_chunks::<16>();
        let (evens, rest_even) = even.as_chunks_mut::<8>();
        let (odds, rest_odd) = odd.as_chunks_mut::<8>();
        for ((line, even), odd) in lines.iter().zip(evens).zip(odds) {
            // SAFETY: the arrays have as many elements.
            unsafe {
                let (a, b) = (_mm256_loadu_ps(line.as_ptr()), _mm256_loadu_ps(line[8..].as_ptr()));
                let (a, b) = halves(a, b);
                _mm256_storeu_ps(even.as_mut_ptr(), a);
                _mm256_storeu_ps(odd.as_mut_ptr(), b);
            }
        }
        super::halve_pairs(rest, rest_even, rest_odd);
    }

    #[target_feature(enable = "avx2")]
    pub(super) fn interleave_four(all: &[[f32; 16]; 4], out: &mut [f32; 64]) {
        for (half, out) in out.as_chunks_mut::<32>().0.iter_mut().enumerate() {
            // SAFETY: each slice has 8 elements.
            let [a, b, c, d] = std::array::from_fn(|i| unsafe { _mm256_loadu_ps(all[i][8 * half..][..8].as_ptr()) });
            // The four vectors of each half are transposed, and then the halves put one after the other.
            let (ab, ab_high) = (_mm256_unpacklo_ps(a, b), _mm256_unpackhi_ps(a, b));
            let (cd, cd_high) = (_mm256_unpacklo_ps(c, d), _mm256_unpackhi_ps(c, d));
            let first = _mm256_shuffle_ps::<0x44>(ab, cd);
            let second = _mm256_shuffle_ps::<0xee>(ab, cd);
            let third = _mm256_shuffle_ps::<0x44>(ab_high, cd_high);
            let fourth = _mm256_shuffle_ps::<0xee>(ab_high, cd_high);
            let vectors = [
                _mm256_permute2f128_ps::<0x20>(first, second),
                _mm256_permute2f128_ps::<0x20>(third, fourth),
                _mm256_permute2f128_ps::<0x31>(first, second),
                _mm256_permute2f128_ps::<0x31>(third, fourth),
            ];
            for (vector, out) in vectors.into_iter().zip(out.as_chunks_mut::<8>().0) {
                // SAFETY: each chunk has 8 elements.
                unsafe { _mm256_storeu_ps(out.as_mut_ptr(), vector) };
            }
        }
    }
}

/// Exchanges of elements in vectors of 16.
#[cfg(target_arch = "x86_64")]
pub(super) mod wide {
    use super::{LINE, PITCH};
    use std::arch::x86_64::*;

    /// The elements at even places of two vectors, and those at odd places.
    #[inline]
    #[target_feature(enable = "avx512f")]
    pub(in super::super) fn halves(a: __m512, b: __m512) -> (__m512, __m512) {
        let even = _mm512_setr_epi32(0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30);
        let odd = _mm512_add_epi32(even, _mm512_set1_epi32(1));
        (_mm512_permutex2var_ps(a, even, b), _mm512_permutex2var_ps(a, odd, b))
    }

    /// The lanes of `x` from the second on, and then `next`.
    #[inline]
    #[target_feature(enable = "avx512f")]
    fn shifted(x: __m512, next: f32) -> __m512 {
        let (x, next) = (_mm512_castps_si512(x), _mm512_castps_si512(_mm512_set1_ps(next)));
        _mm512_castsi512_ps(_mm512_alignr_epi32::<1>(next, x))
    }

    #[inline]
    #[target_feature(enable = "avx512f")]
    fn vector(line: &[f32; LINE], i: usize) -> __m512 {
        // SAFETY: the slice has 16 elements.
        unsafe { _mm512_loadu_ps(line[16 * i..][..16].as_ptr()) }
    }

    /// # Safety
    /// Vectors can be written at rows of `out`.
    #[inline]
    #[target_feature(enable = "avx512f")]
    unsafe fn store<const ROWS: usize>(rows: [__m512; ROWS], out: *mut f32) {
        for (k, row) in rows.into_iter().enumerate() {
            // SAFETY: by the caller.
            unsafe { _mm512_storeu_ps(out.add(k * PITCH), row) };
        }
    }

    /// # Safety
    /// Vectors can be written at 4 rows of `out`.
    #[target_feature(enable = "avx512f")]
    pub(super) unsafe fn spread_by_2(line: &[f32; LINE], out: *mut f32) {
        let (even, odd) = halves(vector(line, 0), vector(line, 1));
        // SAFETY: by the caller.
        unsafe { store([even, odd, shifted(even, line[32]), shifted(odd, line[33])], out) };
    }

    /// # Safety
    /// Vectors can be written at 6 rows of `out`.
    #[target_feature(enable = "avx512f")]
    pub(super) unsafe fn spread_by_4(line: &[f32; LINE], out: *mut f32) {
        let (even, odd) = halves(vector(line, 0), vector(line, 1));
        let (even_high, odd_high) = halves(vector(line, 2), vector(line, 3));
        let ((a, c), (b, d)) = (halves(even, even_high), halves(odd, odd_high));
        // SAFETY: by the caller.
        unsafe { store([a, b, c, d, shifted(a, line[64]), shifted(b, line[65])], out) };
    }

    #[target_feature(enable = "avx512f")]
    pub(super) fn halve(line: &[f32], even: &mut [f32], odd: &mut [f32]) {
        let (lines, rest) = line.as_chunks::<32>();
        let (evens, rest_even) = even.as_chunks_mut::<16>();
        let (odds, rest_odd) = odd.as_chunks_mut::<16>();
        for ((line, even), odd) in lines.iter().zip(evens).zip(odds) {
            // SAFETY: the arrays have as many elements.
            unsafe {
                let (a, b) = (_mm512_loadu_ps(line.as_ptr()), _mm512_loadu_ps(line[16..].as_ptr()));
                let (a, b) = halves(a, b);
                _mm512_storeu_ps(even.as_mut_ptr(), a);
                _mm512_storeu_ps(odd.as_mut_ptr(), b);
            }
        }
        let pairs = (rest.len() / 2).min(rest_even.len()).min(rest_odd.len());
        if pairs == 0 {
            return;
        }
        if pairs > 16 {
            return super::halve_pairs(rest, rest_even, rest_odd);
        }
        let below = |n: usize| (u16::MAX.checked_shl(n as u32).map_or(u16::MAX, |above| !above)) as __mmask16;
        // SAFETY: lanes of the masks are elements of the slices: twice `pairs` of the first, and `pairs` of the others.
        unsafe {
            let a = _mm512_maskz_loadu_ps(below(2 * pairs), rest.as_ptr());
            let b = match (2 * pairs).checked_sub(16) {
                Some(more) if more > 0 => _mm512_maskz_loadu_ps(below(more), rest[16..].as_ptr()),
                _ => _mm512_setzero_ps(),
            };
            let (a, b) = halves(a, b);
            _mm512_mask_storeu_ps(rest_even.as_mut_ptr(), below(pairs), a);
            _mm512_mask_storeu_ps(rest_odd.as_mut_ptr(), below(pairs), b);
        }
    }

    #[target_feature(enable = "avx512f")]
    pub(super) fn interleave_four(all: &[[f32; 16]; 4], out: &mut [f32; 64]) {
        // SAFETY: each array has 16 elements.
        let [a, b, c, d] = std::array::from_fn(|i| unsafe { _mm512_loadu_ps(all[i].as_ptr()) });
        // The four vectors of each quarter are transposed.
        let (ab, ab_high) = (_mm512_unpacklo_ps(a, b), _mm512_unpackhi_ps(a, b));
        let (cd, cd_high) = (_mm512_unpacklo_ps(c, d), _mm512_unpackhi_ps(c, d));
        let pair = |low: __m512, high: __m512| {
            let (low, high) = (_mm512_castps_pd(low), _mm512_castps_pd(high));
            let (first, second) = (_mm512_unpacklo_pd(low, high), _mm512_unpackhi_pd(low, high));
            (_mm512_castpd_ps(first), _mm512_castpd_ps(second))
        };
        let ((p, q), (r, s)) = (pair(ab, cd), pair(ab_high, cd_high));
        // And the quarters among each other.
        let (low, low_other) = (_mm512_shuffle_f32x4::<0x44>(p, q), _mm512_shuffle_f32x4::<0x44>(r, s));
        let (high, high_other) = (_mm512_shuffle_f32x4::<0xee>(p, q), _mm512_shuffle_f32x4::<0xee>(r, s));
        let vectors = [
            _mm512_shuffle_f32x4::<0x88>(low, low_other),
            _mm512_shuffle_f32x4::<0xdd>(low, low_other),
            _mm512_shuffle_f32x4::<0x88>(high, high_other),
            _mm512_shuffle_f32x4::<0xdd>(high, high_other),
        ];
        for (vector, out) in vectors.into_iter().zip(out.as_chunks_mut::<16>().0) {
            // SAFETY: each chunk has 16 elements.
            unsafe { _mm512_storeu_ps(out.as_mut_ptr(), vector) };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tiles_are_where_the_window_says() {
        for &micro in Micro::all() {
            for size in [2, 4] {
                for (height, length, pad, dilation) in [
                    (1, 1, [1, 1], 1),
                    (4, 6, [0, 0], 1),
                    (5, 3, [2, 1], 1),
                    (9, 150, [1, 0], 1),
                    (30, 66, [1, 2], 1),
                    (13, 5, [1, 1], 2),
                    (40, 70, [3, 1], 3),
                ] {
                    let window = Window {
                        input: [1, height, length],
                        output: [
                            1,
                            (height + 2 * pad[0]).saturating_sub(2 * dilation),
                            (length + 2 * pad[1]).saturating_sub(2),
                        ],
                        kernel: [1, 3, 3],
                        stride: [1; 3],
                        dilation: [1, dilation, 1],
                        pad: [0, pad[0], pad[1]],
                        pad_end: [0, pad[0], pad[1]],
                    };
                    let along = window.output[2].div_ceil(size);
                    let each = window.output[1].div_ceil(dilation).div_ceil(size);
                    let tiles = Tiles {
                        window: &window,
                        size,
                        along,
                        each,
                        micro,
                    };
                    let all = along * each * dilation;
                    let channel: Vec<f32> = (0..height * length).map(|i| i as f32 + 1.0).collect();
                    let side = size + 2;
                    for first in (0..all).step_by(32) {
                        let count = 32.min(all - first);
                        let mut out = vec![f32::NAN; (side * side + 1) * PITCH];
                        tiles.load(&channel, first, count, 32, &mut out);
                        for (at, lane) in (0..side * side).flat_map(|at| (0..32).map(move |lane| (at, lane))) {
                            let (down, right) = ((first + lane) / along, (first + lane) % along);
                            let y = (down % each * size + at / side) * dilation + down / each;
                            let y = y.wrapping_sub(pad[0]);
                            let x = (right * size + at % side).wrapping_sub(pad[1]);
                            let inside = lane < count && y < height && x < length;
                            let expected = if inside { channel[y * length + x] } else { 0.0 };
                            assert_eq!(
                                out[at * PITCH + lane],
                                expected,
                                "{} {size} {height} {length} {first} {at} {lane}",
                                micro.name
                            );
                        }
                    }
                }
            }
        }
    }

    #[test]
    fn lines_are_halved() {
        type Halve = fn(&[f32], &mut [f32], &mut [f32]);
        let mut ways: Vec<Halve> = vec![halve, halve_pairs];
        #[cfg(target_arch = "x86_64")]
        if std::arch::is_x86_feature_detected!("avx2") {
            // SAFETY: the machine has the instructions.
            ways.push(|line, even, odd| unsafe { narrow::halve(line, even, odd) });
        }
        for n in [0, 1, 2, 7, 8, 9, 15, 16, 17, 32, 33, 47, 200] {
            let line: Vec<f32> = (0..2 * n).map(|i| i as f32).collect();
            for halve in &ways {
                let (mut even, mut odd) = (vec![f32::NAN; n], vec![f32::NAN; n]);
                halve(&line, &mut even, &mut odd);
                assert!(even.iter().enumerate().all(|(i, &x)| x == (2 * i) as f32), "{even:?}");
                assert!(odd.iter().enumerate().all(|(i, &x)| x == (2 * i + 1) as f32), "{odd:?}");
            }
        }
    }

    #[test]
    fn lanes_are_interleaved() {
        let all = std::array::from_fn(|i| std::array::from_fn(|lane| (4 * lane + i) as f32));
        let ordered = |out: [f32; 64]| out.iter().enumerate().all(|(i, &x)| x == i as f32);
        let mut out = [0.0; 64];
        interleave_four(&all, &mut out);
        assert!(ordered(out), "{out:?}");
        #[cfg(target_arch = "x86_64")]
        if std::arch::is_x86_feature_detected!("avx2") {
            out.fill(0.0);
            // SAFETY: the machine has the instructions.
            unsafe { narrow::interleave_four(&all, &mut out) };
            assert!(ordered(out), "{out:?}");
        }
    }
}
