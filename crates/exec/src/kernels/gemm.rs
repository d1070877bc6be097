//! A safe interface to the matrix product of the `gemm-f32` crate, the only part of `gemm` that is called.
#![allow(
    unsafe_code,
    reason = "the crate's entry takes raw pointers; the bounds are checked here"
)]

use gemm_common::Parallelism;

/// A matrix inside a slice: element (i, j) is at `start + i * row + j * col`.
#[derive(Clone, Copy)]
pub(super) struct Layout {
    pub(super) start: usize,
    pub(super) row: usize,
    pub(super) col: usize,
}

impl Layout {
    /// Consecutive rows, `width` elements apart.
    pub(super) fn rows(start: usize, width: usize) -> Layout {
        Layout {
            start,
            row: width,
            col: 1,
        }
    }

    /// The same matrix with rows and columns exchanged.
    pub(super) fn transposed(self) -> Layout {
        Layout {
            row: self.col,
            col: self.row,
            ..self
        }
    }

    /// True if a matrix of `m` by `n`, neither of them zero, lies within `len` elements.
    fn fits(self, m: usize, n: usize, len: usize) -> bool {
        let last = (m - 1)
            .checked_mul(self.row)
            .zip((n - 1).checked_mul(self.col))
            .and_then(|(a, b)| a.checked_add(b)?.checked_add(self.start));
        last.is_some_and(|last| last < len)
    }
}

/// The treatment of the destination's elements before the product is added.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum Dst {
    /// They are overwritten.
    Overwrite,
    /// They are multiplied by this factor.
    Scale(f32),
}

/// `c = dst(c) + beta * a b` for matrices of `m` by `k` and `k` by `n`.
///
/// # Panics
/// If one of the matrices is not within its slice, or if two elements of `c` share a location.
#[expect(clippy::too_many_arguments, reason = "the signature of every matrix product")]
pub(super) fn gemm(
    (m, n, k): (usize, usize, usize),
    c: &mut [f32],
    cl: Layout,
    dst: Dst,
    a: &[f32],
    al: Layout,
    b: &[f32],
    bl: Layout,
    beta: f32,
    threads: usize,
) {
    if m == 0 || n == 0 {
        return;
    }
    assert!(cl.fits(m, n, c.len()), "the destination is outside its slice");
    // Distinct elements have distinct locations: one stride exceeds everything that the other one reaches.
    assert!(
        (m == 1 || cl.row >= 1)
            && (n == 1 || cl.col >= 1)
            && (cl.row > (n - 1) * cl.col || cl.col > (m - 1) * cl.row || m == 1 || n == 1),
        "elements of the destination overlap"
    );
    let (alpha, read) = match dst {
        Dst::Overwrite => (0.0, false),
        Dst::Scale(alpha) => (alpha, true),
    };
    if k == 0 {
        for i in 0..m {
            for j in 0..n {
                let x = &mut c[cl.start + i * cl.row + j * cl.col];
                *x = if read { alpha * *x } else { 0.0 };
            }
        }
        return;
    }
    assert!(al.fits(m, k, a.len()), "the left matrix is outside its slice");
    assert!(bl.fits(k, n, b.len()), "the right matrix is outside its slice");
    let parallelism = match threads {
        0 | 1 => Parallelism::None,
        n => Parallelism::Rayon(n),
    };
    // The micro-kernels write columns: a destination in rows is computed as the transposed product, as in `gemm::gemm`.
    let (m, n, cl, (a, al), (b, bl)) = if cl.col < cl.row {
        (n, m, cl.transposed(), (b, bl.transposed()), (a, al.transposed()))
    } else {
        (m, n, cl, (a, al), (b, bl))
    };
    // SAFETY: every element (i, j) that the call reads or writes is inside its slice (by the three assertions above,
    // whose strides are those passed here and fit `isize` because the last element's index does), elements of `c` do
    // not overlap, and `c` is borrowed exclusively while `a` and `b` are borrowed shared, so they are disjoint.
    unsafe {
        gemm_f32::gemm::f32::get_gemm_fn()(
            m,
            n,
            k,
            c.as_mut_ptr().add(cl.start),
            cl.col as isize,
            cl.row as isize,
            read,
            a.as_ptr().add(al.start),
            al.col as isize,
            al.row as isize,
            b.as_ptr().add(bl.start),
            bl.col as isize,
            bl.row as isize,
            alpha,
            beta,
            false,
            false,
            false,
            parallelism,
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn awkward_sizes() {
        for &m in &[0, 1, 3, 16, 63, 65] {
            for &n in &[0, 1, 3, 16, 65] {
                for &k in &[0, 1, 3, 17, 64] {
                    let a: Vec<f32> = (0..m * k).map(|i| (i % 7) as f32 - 3.0).collect();
                    let b: Vec<f32> = (0..k * n).map(|i| (i % 5) as f32 - 2.0).collect();
                    for (read, transposed) in [(false, false), (true, false), (false, true), (true, true)] {
                        let mut c: Vec<f32> = (0..m * n).map(|i| (i % 3) as f32).collect();
                        let want: Vec<f32> = (0..m * n)
                            .map(|p| {
                                let (i, j) = (p / n, p % n);
                                let dot: f32 = (0..k)
                                    .map(|l| a[i * k + l] * b[if transposed { j * k + l } else { l * n + j }])
                                    .sum();
                                2.0 * dot + if read { 3.0 * c[p] } else { 0.0 }
                            })
                            .collect();
                        let bl = if transposed {
                            Layout::rows(0, k).transposed()
                        } else {
                            Layout::rows(0, n)
                        };
                        let dst = if read { Dst::Scale(3.0) } else { Dst::Overwrite };
                        gemm(
                            (m, n, k),
                            &mut c,
                            Layout::rows(0, n),
                            dst,
                            &a,
                            Layout::rows(0, k),
                            &b,
                            bl,
                            2.0,
                            1,
                        );
                        assert_eq!(c, want, "{m} {n} {k} {read} {transposed}");
                    }
                }
            }
        }
    }

    #[test]
    #[should_panic(expected = "outside its slice")]
    fn short_slices_are_refused() {
        let mut c = vec![0.0; 4];
        gemm(
            (2, 2, 2),
            &mut c,
            Layout::rows(0, 2),
            Dst::Overwrite,
            &[0.0; 3],
            Layout::rows(0, 2),
            &[0.0; 4],
            Layout::rows(0, 2),
            1.0,
            1,
        );
    }
}
