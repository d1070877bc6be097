//! Loops over tiles for what can fail. Rows come in groups of 64, one word of bits each, so that loops need no
//! remainder.

#![expect(clippy::needless_range_loop, reason = "loops over several arrays of one length")]

use pulp::Arch;

use crate::kernels::real::run;

/// The numbers of an operand.
#[derive(Clone, Copy)]
pub(super) enum Operand<'a, N> {
    /// One for each row.
    Each(&'a [N]),
    /// One for all of them.
    Same(N),
}

/// Rows of a group.
pub(super) const GROUP: usize = 64;

#[inline(always)]
fn groups<N>(values: &[N]) -> &[[N; GROUP]] {
    values.as_chunks().0
}

/// A value for each value.
pub(super) fn map<A: Copy, B>(arch: Arch, out: &mut [B], a: &[A], f: impl Fn(A) -> B) {
    run(
        arch,
        #[inline(always)]
        || {
            for (out, a) in out.as_chunks_mut::<GROUP>().0.iter_mut().zip(groups(a)) {
                for i in 0..GROUP {
                    out[i] = f(a[i]);
                }
            }
        },
    );
}

/// A value for each pair of values.
pub(super) fn zip<N: Copy, B>(arch: Arch, out: &mut [B], a: Operand<'_, N>, b: Operand<'_, N>, f: impl Fn(N, N) -> B) {
    match (a, b) {
        (Operand::Each(a), Operand::Each(b)) => run(
            arch,
            #[inline(always)]
            || {
                for ((out, a), b) in out.as_chunks_mut::<GROUP>().0.iter_mut().zip(groups(a)).zip(groups(b)) {
                    for i in 0..GROUP {
                        out[i] = f(a[i], b[i]);
                    }
                }
            },
        ),
        (Operand::Each(a), Operand::Same(b)) => map(
            arch,
            out,
            a,
            #[inline(always)]
            |a| f(a, b),
        ),
        (Operand::Same(a), Operand::Each(b)) => map(
            arch,
            out,
            b,
            #[inline(always)]
            |b| f(a, b),
        ),
        (Operand::Same(a), Operand::Same(b)) => out.iter_mut().for_each(|out| *out = f(a, b)),
    }
}

/// A bit for each value.
pub(super) fn test<N: Copy>(arch: Arch, out: &mut [u64], a: &[N], f: impl Fn(N) -> bool) {
    run(
        arch,
        #[inline(always)]
        || {
            for (out, a) in out.iter_mut().zip(groups(a)) {
                let mut word = 0;
                for i in 0..GROUP {
                    word |= u64::from(f(a[i])) << i;
                }
                *out = word;
            }
        },
    );
}
