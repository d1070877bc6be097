//! Micro-kernels: one tile of a matrix product in registers, for each instruction set.
#![allow(unsafe_code, reason = "micro-kernels use vector instructions on raw pointers")]

use std::sync::OnceLock;

/// One tile of a result, and the panels of which it is the product.
#[derive(Clone, Copy)]
pub(super) struct Tile {
    /// The number of products of each element.
    pub(super) depth: usize,
    /// The left panel: `depth` columns of `rows` elements.
    pub(super) left: *const f32,
    /// The right panel: `depth` rows of `columns` elements.
    pub(super) right: *const f32,
    /// Where each row of the right panel is; null if they are contiguous.
    pub(super) places: *const usize,
    /// The first element of the result.
    pub(super) out: *mut f32,
    /// The distance of its rows.
    pub(super) stride: usize,
    /// What the sums start with, one number for each row; null if they start with the elements of the result.
    pub(super) start: *const f32,
    /// Added to the sums, with rows at the same distance as those of the result; may be null.
    pub(super) add: *const f32,
    /// Smaller results become this; a NaN stays.
    pub(super) low: f32,
    /// Larger results become this; a NaN stays.
    pub(super) high: f32,
}

/// A micro-kernel.
#[derive(Clone, Copy)]
pub(super) struct Micro {
    /// The instruction set.
    #[cfg_attr(not(test), expect(dead_code, reason = "tests name the kernel that failed"))]
    pub(super) name: &'static str,
    /// Rows of a tile.
    pub(super) rows: usize,
    /// Columns of a tile.
    pub(super) columns: usize,
    run: unsafe fn(&Tile),
    /// The same for a tile with places.
    run_at_places: unsafe fn(&Tile),
}

/// The elements of the largest tile of all.
pub(super) const LARGEST: usize = 12 * 32;

impl Micro {
    /// All that this machine can run, the fastest first.
    pub(super) fn all() -> &'static [Micro] {
        static ALL: OnceLock<Vec<Micro>> = OnceLock::new();
        ALL.get_or_init(|| {
            let mut all = Vec::new();
            #[cfg(target_arch = "x86_64")]
            {
                if std::arch::is_x86_feature_detected!("avx512f") {
                    all.push(Micro {
                        name: "avx512",
                        rows: 12,
                        columns: 32,
                        run: avx512::<false>,
                        run_at_places: avx512::<true>,
                    });
                }
                if std::arch::is_x86_feature_detected!("avx2") && std::arch::is_x86_feature_detected!("fma") {
                    all.push(Micro {
                        name: "avx2",
                        rows: 6,
                        columns: 16,
                        run: avx2::<false>,
                        run_at_places: avx2::<true>,
                    });
                }
            }
            all.push(Micro {
                name: "portable",
                rows: 4,
                columns: 8,
                run: portable::<false>,
                run_at_places: portable::<true>,
            });
            all
        })
    }

    /// The fastest that this machine can run.
    pub(super) fn best() -> Micro {
        Micro::all()[0]
    }

    /// Computes a tile.
    ///
    /// # Safety
    /// The panels have `depth` times `rows` and `columns` elements, those of the right one at its places if it has some,
    /// the tile can be read and written, and so can
    /// `rows` elements of `start`, and a tile of `add`, be read unless they are null.
    #[inline]
    pub(super) unsafe fn run(self, tile: &Tile) {
        let run = if tile.places.is_null() {
            self.run
        } else {
            self.run_at_places
        };
        // SAFETY: upheld by the caller; `all` has checked that the machine has the instructions.
        unsafe { run(tile) }
    }
}

/// Defines a micro-kernel whose tile is `$rows` rows of two vectors.
#[cfg(target_arch = "x86_64")]
macro_rules! vectors {
    ($name:ident, $features:literal, $rows:literal, $lanes:literal,
     $load:ident, $store:ident, $fill:ident, $multiply_add:ident, $plus:ident, $max:ident, $min:ident) => {
        /// # Safety
        /// As for [`Micro::run`]; the machine has the instructions.
        #[target_feature(enable = $features)]
        unsafe fn $name<const AT_PLACES: bool>(tile: &Tile) {
            use std::arch::x86_64::*;
            // SAFETY: all offsets are within what the caller guarantees.
            unsafe {
                let mut sums = [[$fill(0.0); 2]; $rows];
                for (i, sum) in sums.iter_mut().enumerate() {
                    *sum = if tile.start.is_null() {
                        let row = tile.out.add(i * tile.stride);
                        [$load(row), $load(row.add($lanes))]
                    } else {
                        [$fill(*tile.start.add(i)); 2]
                    };
                }
                let (mut left, mut right) = (tile.left, tile.right);
                for l in 0..tile.depth {
                    if AT_PLACES {
                        right = tile.right.add(*tile.places.add(l));
                    }
                    let (first, second) = ($load(right), $load(right.add($lanes)));
                    for (i, sum) in sums.iter_mut().enumerate() {
                        let factor = $fill(*left.add(i));
                        sum[0] = $multiply_add(factor, first, sum[0]);
                        sum[1] = $multiply_add(factor, second, sum[1]);
                    }
                    left = left.add($rows);
                    if !AT_PLACES {
                        right = right.add(2 * $lanes);
                    }
                }
                if !tile.add.is_null() {
                    for (i, sum) in sums.iter_mut().enumerate() {
                        let row = tile.add.add(i * tile.stride);
                        sum[0] = $plus(sum[0], $load(row));
                        sum[1] = $plus(sum[1], $load(row.add($lanes)));
                    }
                }
                // If one operand is NaN, or both are zero, these instructions return the second. A limit of zero makes
                // negative zero positive; adding negative zero changes nothing.
                let (low, high) = ($fill(tile.low), $fill(tile.high));
                let zero = $fill(if tile.low == 0.0 { 0.0 } else { -0.0 });
                for (i, sum) in sums.iter().enumerate() {
                    let row = tile.out.add(i * tile.stride);
                    $store(row, $plus($min(high, $max(low, sum[0])), zero));
                    $store(row.add($lanes), $plus($min(high, $max(low, sum[1])), zero));
                }
            }
        }
    };
}

#[cfg(target_arch = "x86_64")]
vectors!(
    avx512,
    "avx512f",
    12,
    16,
    _mm512_loadu_ps,
    _mm512_storeu_ps,
    _mm512_set1_ps,
    _mm512_fmadd_ps,
    _mm512_add_ps,
    _mm512_max_ps,
    _mm512_min_ps
);

#[cfg(target_arch = "x86_64")]
vectors!(
    avx2,
    "avx2,fma",
    6,
    8,
    _mm256_loadu_ps,
    _mm256_storeu_ps,
    _mm256_set1_ps,
    _mm256_fmadd_ps,
    _mm256_add_ps,
    _mm256_max_ps,
    _mm256_min_ps
);

/// # Safety
/// As for [`Micro::run`].
unsafe fn portable<const AT_PLACES: bool>(tile: &Tile) {
    const ROWS: usize = 4;
    const COLUMNS: usize = 8;
    let mut sums = [[0.0f32; COLUMNS]; ROWS];
    // SAFETY: all offsets are within what the caller guarantees.
    unsafe {
        for (i, sums) in sums.iter_mut().enumerate() {
            for (j, sum) in sums.iter_mut().enumerate() {
                *sum = if tile.start.is_null() {
                    *tile.out.add(i * tile.stride + j)
                } else {
                    *tile.start.add(i)
                };
            }
        }
        for l in 0..tile.depth {
            let place = if AT_PLACES { *tile.places.add(l) } else { l * COLUMNS };
            let right = std::slice::from_raw_parts(tile.right.add(place), COLUMNS);
            for (i, sums) in sums.iter_mut().enumerate() {
                let factor = *tile.left.add(l * ROWS + i);
                sums.iter_mut().zip(right).for_each(|(sum, x)| *sum += factor * x);
            }
        }
        for (i, sums) in sums.iter().enumerate() {
            for (j, &sum) in sums.iter().enumerate() {
                let sum = match tile.add.is_null() {
                    true => sum,
                    false => sum + *tile.add.add(i * tile.stride + j),
                };
                // Comparisons with NaN are false, so a NaN stays; of two zeros, the limit counts.
                let sum = if sum <= tile.low { tile.low } else { sum };
                *tile.out.add(i * tile.stride + j) = if sum > tile.high { tile.high } else { sum };
            }
        }
    }
}
