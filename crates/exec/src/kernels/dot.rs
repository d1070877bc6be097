//! Micro-kernels of products of bytes: one tile of sums in `i32`, for each instruction set.
//!
//! Sums are exact modulo 2³², on every instruction set: without instructions for four products of bytes at once, bytes
//! are widened to 16 bits, whose products of pairs do not overflow (those of `vpmaddubsw` would be saturated).
#![allow(unsafe_code, reason = "micro-kernels use vector instructions on raw pointers")]

use std::sync::OnceLock;

/// The number of neighbouring products that are added at once: this many elements of a row, or of a column, are next to
/// each other in both matrices.
pub(super) const QUAD: usize = 4;

/// The most rows and columns of a tile of any instruction set.
pub(super) const MOST_ROWS: usize = 12;
pub(super) const MOST_COLUMNS: usize = 32;

/// Neighbouring positions whose sums [`Dot::strips`] computes at once.
pub(super) const STRIP: usize = 64;

/// The sums of a strip: those of every fourth position from the first one on, from the second one on, and so on.
pub(super) type Strip = [[i32; STRIP / QUAD]; QUAD];

/// Four neighbouring elements of a window, and what they are multiplied by.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Term {
    /// The distance of the first element from the position of the window.
    pub(super) place: usize,
    pub(super) weights: [i8; QUAD],
}

/// One tile of a result, and the panels whose product it is.
#[derive(Clone, Copy)]
pub(super) struct ByteTile {
    /// Rows of the tile, at most those of the micro-kernel.
    pub(super) rows: usize,
    /// Columns of the tile, at most those of the micro-kernel.
    pub(super) columns: usize,
    /// A quarter of the number of products of each element.
    pub(super) quads: usize,
    /// The left panel: for each quad, that of each row.
    pub(super) left: *const i8,
    /// The right panel: for each quad, that of each column, for as many columns as the micro-kernel has.
    pub(super) right: *const u8,
    /// The offsets of the first column's quads, each followed by those of the other columns; null if the right panel is
    /// contiguous.
    pub(super) places: *const usize,
    /// The sums: rows at a distance of [`MOST_COLUMNS`].
    pub(super) out: *mut i32,
}

/// The kernel for one height of a tile.
#[derive(Clone, Copy)]
struct Height {
    /// For a tile whose columns fit one vector.
    narrow: unsafe fn(&ByteTile),
    /// For any number of columns.
    wide: unsafe fn(&ByteTile),
    /// The same, with the quads of the right panel at places.
    narrow_at_places: unsafe fn(&ByteTile),
    wide_at_places: unsafe fn(&ByteTile),
}

/// The micro-kernels of an instruction set.
#[derive(Clone, Copy)]
pub(super) struct Dot {
    /// The instruction set.
    #[cfg_attr(not(test), expect(dead_code, reason = "tests name the kernel that failed"))]
    pub(super) name: &'static str,
    /// Rows of the highest tile.
    pub(super) rows: usize,
    /// Columns of a tile: two vectors.
    pub(super) columns: usize,
    /// One for each height from 1 on.
    heights: &'static [Height],
    /// The kernel of [`Dot::strips`].
    strips: unsafe fn(*const u8, &[Term], &mut [Strip]),
}

/// The kernels of function `$run` for these heights, each with a number of chains of sums: a low tile would wait for a
/// single chain.
macro_rules! heights {
    ($run:ident: $($rows:literal $chains:literal),*) => {
        &[$(Height {
            narrow: $run::<$rows, 1, $chains, false>,
            wide: $run::<$rows, 2, $chains, false>,
            narrow_at_places: $run::<$rows, 1, $chains, true>,
            wide_at_places: $run::<$rows, 2, $chains, true>,
        }),*]
    };
}

impl Dot {
    /// All that this machine can run, the fastest first.
    pub(super) fn all() -> &'static [Dot] {
        static ALL: OnceLock<Vec<Dot>> = OnceLock::new();
        ALL.get_or_init(|| {
            let mut all = Vec::new();
            #[cfg(target_arch = "x86_64")]
            {
                use std::arch::is_x86_feature_detected as has;
                if has!("avx512f") && has!("avx512vnni") {
                    all.push(Dot {
                        name: "avx512vnni",
                        rows: 12,
                        columns: 32,
                        heights: heights!(avx512: 1 4, 2 4, 3 2, 4 2, 5 1, 6 1, 7 1, 8 1, 9 1, 10 1, 11 1, 12 1),
                        strips: avx512_strips,
                    });
                }
                if has!("avx2") && has!("avxvnni") {
                    all.push(Dot {
                        name: "avxvnni",
                        rows: 6,
                        columns: 16,
                        heights: heights!(avxvnni: 1 4, 2 2, 3 1, 4 1, 5 1, 6 1),
                        strips: avxvnni_strips,
                    });
                }
                if has!("avx2") {
                    all.push(Dot {
                        name: "avx2",
                        rows: 4,
                        columns: 16,
                        heights: heights!(avx2: 1 2, 2 1, 3 1, 4 1),
                        strips: avx2_strips,
                    });
                }
            }
            all.push(Dot {
                name: "portable",
                rows: 2,
                columns: 8,
                heights: heights!(portable: 1 1, 2 1),
                strips: portable_strips,
            });
            all
        })
    }

    /// The fastest that this machine can run.
    pub(super) fn best() -> Dot {
        Dot::all()[0]
    }

    /// Computes a tile.
    ///
    /// # Panics
    /// If the tile has no rows, or more than the micro-kernel, or more columns.
    ///
    /// # Safety
    /// The left panel has `rows` quads for each of `quads`, and the right one as many as the micro-kernel has columns, at
    /// its place if it has places. `rows` rows of `MOST_COLUMNS` sums can be written.
    #[inline]
    pub(super) unsafe fn run(&self, tile: &ByteTile) {
        assert!(tile.columns <= self.columns, "a tile has too many columns");
        let height = &self.heights[tile.rows - 1];
        let run = match (tile.columns * 2 <= self.columns, tile.places.is_null()) {
            (true, true) => height.narrow,
            (true, false) => height.narrow_at_places,
            (false, true) => height.wide,
            (false, false) => height.wide_at_places,
        };
        // SAFETY: upheld by the caller; `all` has checked that the machine has the instructions.
        unsafe { run(tile) }
    }

    /// Computes the sums of products at the positions from the first of `image` on, a strip after the other: of the
    /// elements of each term by its weights.
    ///
    /// # Panics
    /// If elements of the last position are not in the image.
    pub(super) fn strips(&self, image: &[u8], terms: &[Term], sums: &mut [Strip]) {
        let positions = sums.len() * STRIP;
        let is_inside = |term: &Term| {
            let end = term.place.checked_add(positions + QUAD - 1);
            end.is_some_and(|end| end <= image.len())
        };
        assert!(terms.iter().all(is_inside), "a strip is longer than the image");
        // SAFETY: all elements are in the image; `all` has checked that the machine has the instructions.
        unsafe { (self.strips)(image.as_ptr(), terms, sums) }
    }
}

/// Defines the micro-kernel of an instruction set, whose tile is `ROWS` rows of `VECTORS` vectors. Successive quads are
/// added to `CHAINS` sums in turn.
macro_rules! vectors {
    ($name:ident, [$($features:literal)?], $lanes:literal, $zero:expr, $load:ident, $store:ident, $quad:ident, $dot:ident,
     $plus:ident) => {
        /// # Safety
        /// As for [`Dot::run`]; the machine has the instructions, and the tile has `ROWS` rows and no columns beyond
        /// `VECTORS` vectors.
        $(#[target_feature(enable = $features)])?
        unsafe fn $name<const ROWS: usize, const VECTORS: usize, const CHAINS: usize, const AT_PLACES: bool>(
            tile: &ByteTile,
        ) {
            // SAFETY: all offsets are within what the caller guarantees.
            unsafe {
                let mut sums = [[[$zero; VECTORS]; ROWS]; CHAINS];
                let (mut left, mut right) = (tile.left, tile.right);
                let mut l = 0;
                while l < tile.quads {
                    for sums in &mut sums {
                        if l == tile.quads {
                            break;
                        }
                        if AT_PLACES {
                            right = tile.right.add(*tile.places.add(l));
                        }
                        let mut row = [$zero; VECTORS];
                        for (v, vector) in row.iter_mut().enumerate() {
                            *vector = $load(right.add(v * $lanes * QUAD));
                        }
                        for (i, sums) in sums.iter_mut().enumerate() {
                            let factor = $quad(left.add(i * QUAD));
                            for (sum, vector) in sums.iter_mut().zip(row) {
                                *sum = $dot(*sum, vector, factor);
                            }
                        }
                        left = left.add(ROWS * QUAD);
                        if !AT_PLACES {
                            right = right.add(2 * $lanes * QUAD);
                        }
                        l += 1;
                    }
                }
                for i in 0..ROWS {
                    for v in 0..VECTORS {
                        let mut sum = sums[0][i][v];
                        for more in &sums[1..] {
                            sum = $plus(sum, more[i][v]);
                        }
                        $store(tile.out.add(i * MOST_COLUMNS + v * $lanes), sum);
                    }
                }
            }
        }
    };
}

/// Defines the kernel of [`Dot::strips`] of an instruction set. A vector has four neighbouring bytes in each lane, so one
/// that begins at a position has the elements of every fourth position from there on.
macro_rules! strips {
    ($name:ident, [$($features:literal)?], $lanes:literal, $zero:expr, $load:ident, $store:ident, $quad:ident,
     $dot:ident) => {
        /// # Safety
        /// For each term, `STRIP` bytes for each element of `sums` and three more can be read at its place; the machine has
        /// the instructions.
        $(#[target_feature(enable = $features)])?
        unsafe fn $name(image: *const u8, terms: &[Term], sums: &mut [Strip]) {
            const VECTORS: usize = STRIP / QUAD / $lanes;
            // SAFETY: by the caller; vectors of a strip are within it.
            unsafe {
                for (i, sums) in sums.iter_mut().enumerate() {
                    let image = image.add(i * STRIP);
                    let mut total = [[$zero; VECTORS]; QUAD];
                    for term in terms {
                        let from = image.add(term.place);
                        let weights = $quad(term.weights.as_ptr());
                        for (phase, total) in total.iter_mut().enumerate() {
                            for (v, total) in total.iter_mut().enumerate() {
                                let vector = $load(from.add(phase + v * $lanes * QUAD));
                                *total = $dot(*total, vector, weights);
                            }
                        }
                    }
                    for (sums, total) in sums.iter_mut().zip(total) {
                        for (v, total) in total.into_iter().enumerate() {
                            $store(sums.as_mut_ptr().add(v * $lanes), total);
                        }
                    }
                }
            }
        }
    };
}

/// Vectors of sums, and of four bytes for each sum.
#[cfg(target_arch = "x86_64")]
mod x86 {
    use std::arch::x86_64::*;

    /// # Safety
    /// 64 bytes can be read.
    #[inline]
    #[target_feature(enable = "avx512f")]
    pub(super) unsafe fn load_16(from: *const u8) -> __m512i {
        // SAFETY: by the caller.
        unsafe { _mm512_loadu_si512(from.cast()) }
    }

    /// # Safety
    /// 16 sums can be written.
    #[inline]
    #[target_feature(enable = "avx512f")]
    pub(super) unsafe fn store_16(to: *mut i32, x: __m512i) {
        // SAFETY: by the caller.
        unsafe { _mm512_storeu_si512(to.cast(), x) }
    }

    /// Four bytes in every lane.
    ///
    /// # Safety
    /// They can be read.
    #[inline]
    #[target_feature(enable = "avx512f")]
    pub(super) unsafe fn quad_16(from: *const i8) -> __m512i {
        // SAFETY: by the caller.
        unsafe { _mm512_set1_epi32(from.cast::<i32>().read_unaligned()) }
    }

    /// # Safety
    /// 32 bytes can be read.
    #[inline]
    #[target_feature(enable = "avx2")]
    pub(super) unsafe fn load_8(from: *const u8) -> __m256i {
        // SAFETY: by the caller.
        unsafe { _mm256_loadu_si256(from.cast()) }
    }

    /// # Safety
    /// 8 sums can be written.
    #[inline]
    #[target_feature(enable = "avx2")]
    pub(super) unsafe fn store_8(to: *mut i32, x: __m256i) {
        // SAFETY: by the caller.
        unsafe { _mm256_storeu_si256(to.cast(), x) }
    }

    /// Four bytes in every lane.
    ///
    /// # Safety
    /// They can be read.
    #[inline]
    #[target_feature(enable = "avx2")]
    pub(super) unsafe fn quad_8(from: *const i8) -> __m256i {
        // SAFETY: by the caller.
        unsafe { _mm256_set1_epi32(from.cast::<i32>().read_unaligned()) }
    }

    /// The sums plus four products each. Bytes of even and of odd places are widened to 16 bits; the products of a pair
    /// of those are at most 2 * 255 * 128, which `vpmaddwd` adds in 32 bits.
    #[inline]
    #[target_feature(enable = "avx2")]
    pub(super) fn dot_8(sum: __m256i, unsigned: __m256i, signed: __m256i) -> __m256i {
        let low = _mm256_and_si256(unsigned, _mm256_set1_epi16(255));
        let even = _mm256_madd_epi16(low, _mm256_srai_epi16::<8>(_mm256_slli_epi16::<8>(signed)));
        let odd = _mm256_madd_epi16(_mm256_srli_epi16::<8>(unsigned), _mm256_srai_epi16::<8>(signed));
        _mm256_add_epi32(sum, _mm256_add_epi32(even, odd))
    }
}

#[cfg(target_arch = "x86_64")]
use std::arch::x86_64::{
    _mm256_add_epi32, _mm256_dpbusd_avx_epi32, _mm256_setzero_si256, _mm512_add_epi32, _mm512_dpbusd_epi32,
    _mm512_setzero_si512,
};
#[cfg(target_arch = "x86_64")]
use x86::{dot_8, load_8, load_16, quad_8, quad_16, store_8, store_16};

#[cfg(target_arch = "x86_64")]
vectors!(
    avx512,
    ["avx512f,avx512vnni"],
    16,
    _mm512_setzero_si512(),
    load_16,
    store_16,
    quad_16,
    _mm512_dpbusd_epi32,
    _mm512_add_epi32
);

#[cfg(target_arch = "x86_64")]
strips!(
    avx512_strips,
    ["avx512f,avx512vnni"],
    16,
    _mm512_setzero_si512(),
    load_16,
    store_16,
    quad_16,
    _mm512_dpbusd_epi32
);

#[cfg(target_arch = "x86_64")]
vectors!(
    avxvnni,
    ["avx2,avxvnni"],
    8,
    _mm256_setzero_si256(),
    load_8,
    store_8,
    quad_8,
    _mm256_dpbusd_avx_epi32,
    _mm256_add_epi32
);

#[cfg(target_arch = "x86_64")]
strips!(
    avxvnni_strips,
    ["avx2,avxvnni"],
    8,
    _mm256_setzero_si256(),
    load_8,
    store_8,
    quad_8,
    _mm256_dpbusd_avx_epi32
);

#[cfg(target_arch = "x86_64")]
vectors!(
    avx2,
    ["avx2"],
    8,
    _mm256_setzero_si256(),
    load_8,
    store_8,
    quad_8,
    dot_8,
    _mm256_add_epi32
);

#[cfg(target_arch = "x86_64")]
strips!(
    avx2_strips,
    ["avx2"],
    8,
    _mm256_setzero_si256(),
    load_8,
    store_8,
    quad_8,
    dot_8
);

/// The same without vector instructions: four sums at a time, or four times four bytes, as numbers of 32 bits.
mod portable {
    use super::QUAD;

    pub(super) type Four = [i32; 4];

    /// # Safety
    /// 16 bytes can be read.
    pub(super) unsafe fn load(from: *const u8) -> Four {
        // SAFETY: by the caller.
        unsafe { from.cast::<Four>().read_unaligned() }
    }

    /// # Safety
    /// Four sums can be written.
    pub(super) unsafe fn store(to: *mut i32, x: Four) {
        // SAFETY: by the caller.
        unsafe { to.cast::<Four>().write_unaligned(x) }
    }

    /// # Safety
    /// Four bytes can be read.
    pub(super) unsafe fn quad(from: *const i8) -> [i8; QUAD] {
        // SAFETY: by the caller.
        unsafe { from.cast::<[i8; QUAD]>().read_unaligned() }
    }

    pub(super) fn dot(sums: Four, unsigned: Four, signed: [i8; QUAD]) -> Four {
        std::array::from_fn(|i| {
            let products = unsigned[i].to_ne_bytes().into_iter().zip(signed);
            let sum: i32 = products.map(|(u, s)| i32::from(u) * i32::from(s)).sum();
            sums[i].wrapping_add(sum)
        })
    }

    pub(super) fn plus(a: Four, b: Four) -> Four {
        std::array::from_fn(|i| a[i].wrapping_add(b[i]))
    }
}

use portable::{dot, load, plus, quad, store};

vectors!(portable, [], 4, [0; 4], load, store, quad, dot, plus);

strips!(portable_strips, [], 4, [0; 4], load, store, quad, dot);
