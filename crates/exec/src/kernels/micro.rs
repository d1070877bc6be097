//! Micro-kernels, each of which computes one tile of a matrix product in registers: a table for each instruction set,
//! and the choice among them. The kernels themselves are in [`micro_kernels`](super::micro_kernels).
//!
//! There is one for each height of a tile, so that the last rows of a matrix cost no more than they compute, and for
//! one and for several vectors of columns. Columns after the last one are computed and not written.
//!
//! There are two kinds: of products of `f32`, and of products of pairs of bfloat16 ([`pairs`](super::pairs)), which are
//! added to sums in `f32`. An element of a panel is then the 32 bits of a pair, so everything but the multiplication is
//! the same.
#![allow(unsafe_code, reason = "micro-kernels use vector instructions on raw pointers")]

use std::sync::OnceLock;

#[cfg(target_arch = "x86_64")]
use super::few;
#[cfg(target_arch = "x86_64")]
use super::micro_kernels::{avx2, avx512, avx512bf16};
use super::micro_kernels::{portable, portable_pairs};

/// One tile of a result, and the panels whose product it is.
#[derive(Clone, Copy)]
pub(super) struct Tile {
    /// Rows of the tile, at most those of the micro-kernel.
    pub(super) rows: usize,
    /// Columns of the tile, at most those of the micro-kernel.
    pub(super) columns: usize,
    /// The number of products of each element.
    pub(super) depth: usize,
    /// The left panel: `depth` columns of `rows` elements.
    pub(super) left: *const f32,
    /// The right panel: `depth` rows, each of as many elements as the micro-kernel has columns.
    pub(super) right: *const f32,
    /// The offset of each row of the right panel; null if they are contiguous.
    pub(super) places: *const usize,
    /// The first element of the result.
    pub(super) out: *mut f32,
    /// The distance of its rows.
    pub(super) stride: usize,
    /// The initial values of the sums, one for each row; null if they start with the elements at `from`.
    pub(super) start: *const f32,
    /// What the sums start with, unless `start` has it: an element for each column, in rows that are `between` elements
    /// apart.
    pub(super) from: *const f32,
    pub(super) between: usize,
    /// Added to the sums, with rows at the same distance as those of the result; may be null.
    pub(super) add: *const f32,
    /// Smaller results become this; a NaN stays.
    pub(super) low: f32,
    /// Larger results become this; a NaN stays.
    pub(super) high: f32,
}

/// The kernel for one height of a tile.
#[derive(Clone, Copy)]
struct Height {
    /// For a tile whose columns fit one vector.
    narrow: unsafe fn(&Tile),
    /// For any number of columns.
    wide: unsafe fn(&Tile),
    /// The same, with the rows of the right panel at places.
    narrow_at_places: unsafe fn(&Tile),
    wide_at_places: unsafe fn(&Tile),
}

/// The micro-kernels of an instruction set.
#[derive(Clone, Copy)]
pub(super) struct Micro {
    /// The instruction set.
    #[cfg_attr(not(test), expect(dead_code, reason = "tests name the kernel that failed"))]
    pub(super) name: &'static str,
    /// True if elements are pairs of bfloat16.
    pub(super) of_pairs: bool,
    /// Rows of the highest tile.
    pub(super) rows: usize,
    /// Columns of a tile.
    pub(super) columns: usize,
    /// Columns of a narrow tile.
    lanes: usize,
    /// One for each height from 1 on.
    heights: &'static [Height],
}

/// The kernels of function `$run` for these heights.
macro_rules! heights {
    ($run:ident: $($rows:literal)*) => {
        &[$(Height {
            narrow: $run::<$rows, 1, false>,
            wide: $run::<$rows, 2, false>,
            narrow_at_places: $run::<$rows, 1, true>,
            wide_at_places: $run::<$rows, 2, true>,
        }),*]
    };
}

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
                        of_pairs: false,
                        rows: 12,
                        columns: 32,
                        lanes: 16,
                        heights: heights!(avx512: 1 2 3 4 5 6 7 8 9 10 11 12),
                    });
                }
                if std::arch::is_x86_feature_detected!("avx2") && std::arch::is_x86_feature_detected!("fma") {
                    all.push(Micro {
                        name: "avx2",
                        of_pairs: false,
                        rows: 6,
                        columns: 16,
                        lanes: 8,
                        heights: heights!(avx2: 1 2 3 4 5 6),
                    });
                }
            }
            all.push(Micro {
                name: "portable",
                of_pairs: false,
                rows: 4,
                columns: 8,
                lanes: 4,
                heights: heights!(portable: 1 2 3 4),
            });
            all
        })
    }

    /// The fastest that this machine can run.
    pub(super) fn best() -> Micro {
        Micro::all()[0]
    }

    /// The kernels of pairs of bfloat16 that this machine can run, the fastest first. The last one emulates the
    /// instruction, and is slow.
    pub(super) fn all_of_pairs() -> &'static [Micro] {
        static ALL: OnceLock<Vec<Micro>> = OnceLock::new();
        ALL.get_or_init(|| {
            let mut all = Vec::new();
            #[cfg(target_arch = "x86_64")]
            if super::pairs::is_in_hardware() {
                all.push(Micro {
                    name: "avx512bf16",
                    of_pairs: true,
                    rows: 12,
                    columns: 32,
                    lanes: 16,
                    heights: heights!(avx512bf16: 1 2 3 4 5 6 7 8 9 10 11 12),
                });
            }
            all.push(Micro {
                name: "portable bf16",
                of_pairs: true,
                rows: 4,
                columns: 8,
                lanes: 4,
                heights: heights!(portable_pairs: 1 2 3 4),
            });
            all
        })
    }

    /// The kernels of pairs of bfloat16, if this machine has the instruction.
    pub(super) fn of_bf16() -> Option<Micro> {
        let best = Micro::all_of_pairs()[0];
        super::pairs::is_in_hardware().then_some(best)
    }

    /// The lanes of the vectors that these kernels use: 16 of AVX-512 or 8 of AVX2, which the machine then has.
    #[cfg(target_arch = "x86_64")]
    pub(super) fn lanes_of_vectors(&self) -> Option<usize> {
        (self.lanes >= 8).then_some(self.lanes)
    }

    /// The last columns of a tile that are better computed by [`Micro::run_few`]: they would fill little of a vector.
    pub(super) fn few(&self, columns: usize) -> usize {
        #[cfg(target_arch = "x86_64")]
        if self.lanes == 16 && columns % 16 <= few::COLUMNS {
            return columns % 16;
        }
        let _ = columns;
        0
    }

    /// The most tiles of so many columns that [`Micro::run_few`] computes at once.
    pub(super) fn at_once(&self, columns: usize) -> usize {
        #[cfg(target_arch = "x86_64")]
        return few::panels(columns);
        #[cfg(not(target_arch = "x86_64"))]
        return columns;
    }

    /// Computes tiles of a few columns, as many as [`Micro::few`] says, with the same right panel.
    ///
    /// # Safety
    /// As for [`Micro::run`], but that the right panel need only have the elements of the columns. `few` has
    /// said so for the columns, and there are at most as many tiles as `at_once` says, all of the same depth.
    #[inline]
    pub(super) unsafe fn run_few(&self, tiles: &[Tile]) {
        #[cfg(target_arch = "x86_64")]
        // SAFETY: upheld by the caller; these micro-kernels exist where the machine has the instructions.
        unsafe {
            match self.of_pairs {
                true => few::avx512bf16(tiles),
                false => few::avx512(tiles),
            }
        }
        #[cfg(not(target_arch = "x86_64"))]
        let _ = tiles;
    }

    /// Computes a tile.
    ///
    /// # Panics
    /// If the tile has no rows, or more than the micro-kernel, or more columns.
    ///
    /// # Safety
    /// The left panel has `depth` times `rows` elements. Each row of the right one, at its place if it has places, has
    /// as many elements as the micro-kernel has columns. The tile can be read and written, and `rows` elements of
    /// `start`, and a tile of `add`, can be read unless they are null. If `start` is null, `rows` rows at `from` can be
    /// read.
    #[inline]
    pub(super) unsafe fn run(&self, tile: &Tile) {
        assert!(tile.columns <= self.columns, "a tile has too many columns");
        let height = &self.heights[tile.rows - 1];
        let run = match (tile.columns <= self.lanes, tile.places.is_null()) {
            (true, true) => height.narrow,
            (true, false) => height.narrow_at_places,
            (false, true) => height.wide,
            (false, false) => height.wide_at_places,
        };
        // SAFETY: upheld by the caller; `all` has checked that the machine has the instructions.
        unsafe { run(tile) }
    }
}

/// Prefetches an address into the caches, if it is somewhere in memory.
#[inline(always)]
pub(super) fn fetch(place: *const f32) {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: a prefetch of any address has no effect but on caches.
    unsafe {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        _mm_prefetch::<_MM_HINT_T0>(place.cast());
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = place;
}
