//! Loops over tiles. Rows come in groups of 64, one word of bits each, so that loops need no remainder.

#![expect(clippy::needless_range_loop, reason = "loops over several arrays of one length")]

use pulp::Arch;

use super::chain::Operand;
use super::lane::{Number, Sortable};
use crate::kernels::real::run;

/// Rows of a group.
pub(super) const GROUP: usize = 64;

/// How two values are compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Comparison {
    Equal,
    Less,
    LessOrEqual,
}

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

/// A bit for each pair of values.
fn test_pairs<N: Copy>(arch: Arch, out: &mut [u64], a: Operand<'_, N>, b: Operand<'_, N>, f: impl Fn(N, N) -> bool) {
    match (a, b) {
        (Operand::Each(a), Operand::Each(b)) => run(
            arch,
            #[inline(always)]
            || {
                for ((out, a), b) in out.iter_mut().zip(groups(a)).zip(groups(b)) {
                    let mut word = 0;
                    for i in 0..GROUP {
                        word |= u64::from(f(a[i], b[i])) << i;
                    }
                    *out = word;
                }
            },
        ),
        (Operand::Each(a), Operand::Same(b)) => test(
            arch,
            out,
            a,
            #[inline(always)]
            |a| f(a, b),
        ),
        (Operand::Same(a), Operand::Each(b)) => test(
            arch,
            out,
            b,
            #[inline(always)]
            |b| f(a, b),
        ),
        (Operand::Same(a), Operand::Same(b)) => out.fill(if f(a, b) { !0 } else { 0 }),
    }
}

/// The rows where the comparison holds, in an order in which NaN has a place too.
pub(super) fn compare_sorted<N: Sortable>(
    arch: Arch,
    out: &mut [u64],
    how: Comparison,
    a: Operand<'_, N>,
    b: Operand<'_, N>,
) {
    match how {
        Comparison::Equal => test_pairs(
            arch,
            out,
            a,
            b,
            #[inline(always)]
            |a, b| a.key() == b.key(),
        ),
        Comparison::Less => test_pairs(
            arch,
            out,
            a,
            b,
            #[inline(always)]
            |a, b| a.key() < b.key(),
        ),
        Comparison::LessOrEqual => test_pairs(
            arch,
            out,
            a,
            b,
            #[inline(always)]
            |a, b| a.key() <= b.key(),
        ),
    }
}

/// The rows where the comparison holds.
pub(super) fn compare<N: Copy + PartialOrd>(
    arch: Arch,
    out: &mut [u64],
    how: Comparison,
    a: Operand<'_, N>,
    b: Operand<'_, N>,
) {
    match how {
        Comparison::Equal => test_pairs(
            arch,
            out,
            a,
            b,
            #[inline(always)]
            |a, b| a == b,
        ),
        Comparison::Less => test_pairs(
            arch,
            out,
            a,
            b,
            #[inline(always)]
            |a, b| a < b,
        ),
        Comparison::LessOrEqual => test_pairs(
            arch,
            out,
            a,
            b,
            #[inline(always)]
            |a, b| a <= b,
        ),
    }
}

/// The rows equal to one of the members, of which there are at most eight.
pub(super) fn member<N: Copy + PartialEq>(arch: Arch, out: &mut [u64], a: &[N], members: &[N]) {
    match members {
        [] => out.fill(0),
        [..] if members.len() <= 2 => any_of::<N, 2>(arch, out, a, members),
        [..] if members.len() <= 4 => any_of::<N, 4>(arch, out, a, members),
        _ => any_of::<N, 8>(arch, out, a, members),
    }
}

/// The rows equal to one of so many members; the first one stands for those that are missing.
fn any_of<N: Copy + PartialEq, const COUNT: usize>(arch: Arch, out: &mut [u64], a: &[N], members: &[N]) {
    let members: [N; COUNT] = std::array::from_fn(|at| *members.get(at).unwrap_or(&members[0]));
    run(
        arch,
        #[inline(always)]
        || {
            for (out, a) in out.iter_mut().zip(groups(a)) {
                let mut word = 0;
                for i in 0..GROUP {
                    let mut found = false;
                    for member in members {
                        found |= a[i] == member;
                    }
                    word |= u64::from(found) << i;
                }
                *out = word;
            }
        },
    );
}

/// The first value in the rows of the mask, the second in the others.
pub(super) fn select<N: Number>(arch: Arch, out: &mut [N], mask: &[u64], a: Operand<'_, N>, b: Operand<'_, N>) {
    match (a, b) {
        (Operand::Each(a), Operand::Each(b)) => run(
            arch,
            #[inline(always)]
            || {
                let rows = out.as_chunks_mut::<GROUP>().0.iter_mut();
                for (((out, a), b), mask) in rows.zip(groups(a)).zip(groups(b)).zip(mask) {
                    for i in 0..GROUP {
                        out[i] = N::pick(mask >> i & 1, a[i], b[i]);
                    }
                }
            },
        ),
        (Operand::Each(a), Operand::Same(b)) => choose(arch, out, mask, a, b, false),
        (Operand::Same(a), Operand::Each(b)) => choose(arch, out, mask, b, a, true),
        (Operand::Same(a), Operand::Same(b)) => run(
            arch,
            #[inline(always)]
            || {
                for (out, mask) in out.as_chunks_mut::<GROUP>().0.iter_mut().zip(mask) {
                    for i in 0..GROUP {
                        out[i] = N::pick(mask >> i & 1, a, b);
                    }
                }
            },
        ),
    }
}

/// The value of the row where the mask's bit is not `other`, else one value.
fn choose<N: Number>(arch: Arch, out: &mut [N], mask: &[u64], each: &[N], same: N, other: bool) {
    let flip = if other { !0 } else { 0 };
    run(
        arch,
        #[inline(always)]
        || {
            for ((out, each), mask) in out.as_chunks_mut::<GROUP>().0.iter_mut().zip(groups(each)).zip(mask) {
                let mask = mask ^ flip;
                for i in 0..GROUP {
                    out[i] = N::pick(mask >> i & 1, each[i], same);
                }
            }
        },
    );
}
