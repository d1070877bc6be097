use super::super::micro::Micro;
use super::super::panels::{Left, Panels};
use super::super::product::{Finish, Right, Start, product};
use super::*;
use half::bf16;

/// Numbers of all kinds: at the ends of the range, halfway between two bfloat16, and pseudo-random bits.
fn numbers(n: usize) -> Vec<f32> {
    let special = [
        0.0,
        -0.0,
        f32::INFINITY,
        f32::NEG_INFINITY,
        f32::NAN,
        f32::from_bits(0xff80_0001),
        f32::MAX,
        f32::MIN,
        f32::MIN_POSITIVE,
        f32::from_bits(1),
        f32::from_bits(0x807f_ffff),
        f32::from_bits(0x007f_ffff),
        f32::from_bits(0x3f80_8000),
        f32::from_bits(0x3f81_8000),
        f32::from_bits(0x3f80_8001),
        f32::from_bits(0x7f7f_8000),
        f32::from_bits(0x7f7f_7fff),
    ];
    let mut state = 7u64;
    let random = std::iter::repeat_with(move || {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        f32::from_bits((state >> 32) as u32)
    });
    special.into_iter().chain(random).take(n).collect()
}

/// Numbers between -1 and 1.
fn small(n: usize, seed: u32) -> Vec<f32> {
    (0..n)
        .map(|i| ((i as u32).wrapping_mul(2_654_435_761).wrapping_add(seed) >> 8) as f32 / 8_388_608.0 - 1.0)
        .collect()
}

#[test]
fn numbers_are_rounded_to_the_nearest() {
    for x in numbers(100_000) {
        let found = bf16::from_bits(rounded(x) as u16);
        if x.is_nan() {
            assert!(found.is_nan());
            continue;
        }
        let expected = bf16::from_f32(normal(x));
        assert_eq!(found.to_bits(), expected.to_bits(), "{x:e}");
    }
}

#[test]
fn vectors_round_like_single_numbers() {
    let same = |a: &[f32], b: &[f32]| a.iter().zip(b).all(|(a, b)| a.to_bits() == b.to_bits());
    let all = numbers(5000);
    for n in [0, 1, 2, 15, 16, 17, 31, 32, 33, 63, 64, 65, 1000] {
        let (a, b) = (&all[..n], &all[n..2 * n]);
        for second in [Some(b), None] {
            let (mut wide, mut one) = (vec![7.0; n + 1], vec![7.0; n + 1]);
            interleave(a, second, &mut wide);
            interleave_portable(a, second, &mut one);
            assert!(same(&wide, &one), "{n}");
        }
        let (mut wide, mut one) = (vec![7.0; n.div_ceil(2) + 1], vec![7.0; n.div_ceil(2) + 1]);
        join(a, &mut wide);
        join_portable(a, &mut one);
        assert!(same(&wide, &one), "{n}");
        assert_eq!(wide[n.div_ceil(2)], 7.0);
    }
}

/// Columns of a matrix in the order of rows that are packed each time.
struct Rows<'a>(&'a [f32], usize);

impl Right for Rows<'_> {
    fn pack(&self, first: usize, depth: usize, column: usize, count: usize, width: usize, out: &mut [f32]) {
        for (l, row) in out.chunks_mut(width).take(depth).enumerate() {
            row[..count].copy_from_slice(&self.0[(first + l) * self.1 + column..][..count]);
        }
    }
}

/// `a b` for `m` rows and `n` columns of `k` elements, by a micro-kernel of pairs.
fn by(micro: Micro, a: &[f32], b: &[f32], [m, n, k]: [usize; 3], packed: bool) -> Vec<f32> {
    let left = Left::of_rows(micro, &of_rows(a, k), m);
    let pairs = of_columns(b, n);
    let mut out = vec![f32::NAN; m * n];
    let finish = Finish::from(Start::Zero);
    match packed {
        true => product(
            &left,
            &Panels::of(micro, &pairs, k.div_ceil(2), false),
            n,
            &mut out,
            finish,
            1,
        ),
        false => product(&left, &Rows(&pairs, n), n, &mut out, finish, 1),
    }
    out
}

const SIZES: &[[usize; 3]] = &[
    [1, 1, 1],
    [1, 1, 2],
    [2, 3, 0],
    [4, 8, 7],
    [13, 31, 33],
    [12, 32, 512],
    [12, 33, 513],
    [25, 70, 1025],
    [3, 200, 64],
];

/// The emulation adds in the same order as the instruction, so all bits agree.
#[test]
fn every_micro_kernel_computes_the_same() {
    for &[m, n, k] in SIZES {
        let (a, b) = (small(m * k, 1), small(k * n, 2));
        let emulated = by(*Micro::all_of_pairs().last().unwrap(), &a, &b, [m, n, k], true);
        for &micro in Micro::all_of_pairs() {
            for packed in [false, true] {
                let found = by(micro, &a, &b, [m, n, k], packed);
                assert_eq!(found, emulated, "{} {m} {n} {k}", micro.name);
            }
        }
    }
}

/// The error of each sum is within the bound that admits bfloat16.
#[test]
fn errors_are_bounded() {
    for &[m, n, k] in SIZES {
        let (a, b) = (small(m * k, 3), small(k * n, 4));
        for &micro in Micro::all_of_pairs() {
            for (p, found) in by(micro, &a, &b, [m, n, k], true).iter().enumerate() {
                let terms = (0..k).map(|l| f64::from(a[p / n * k + l]) * f64::from(b[l * n + p % n]));
                let (sum, magnitude) = terms.fold((0.0, 0.0), |(s, t), x: f64| (s + x, t + x.abs()));
                // Beside the sums in `f32`.
                let bound = (crate::Precision::BF16_ERROR + k as f64 * f64::from(f32::EPSILON)) * magnitude;
                assert!(
                    (f64::from(*found) - sum).abs() <= bound,
                    "{} {m} {n} {k}: {p}",
                    micro.name
                );
            }
        }
    }
}

#[test]
fn numbers_of_all_kinds() {
    let tiny = f32::from_bits(0x0000_ffff);
    for &micro in Micro::all_of_pairs() {
        let one = |a: [f32; 2], b: [f32; 2]| by(micro, &a, &b, [1, 1, 2], true)[0];
        assert!(one([f32::NAN, 0.0], [1.0, 1.0]).is_nan(), "{}", micro.name);
        assert!(one([f32::INFINITY, 1.0], [0.0, 1.0]).is_nan(), "{}", micro.name);
        assert_eq!(one([f32::INFINITY, 1.0], [2.0, 1.0]), f32::INFINITY, "{}", micro.name);
        assert_eq!(one([f32::MAX, 1.0], [1.0, 1.0]), f32::INFINITY, "{}", micro.name);
        assert_eq!(one([-0.0, 0.0], [1.0, 1.0]).to_bits(), 0, "{}", micro.name);
        // Subnormal operands, and subnormal results.
        assert_eq!(one([tiny, 0.0], [1e30, 1.0]), 0.0, "{}", micro.name);
        assert_eq!(one([1e-30, 0.0], [1e-10, 1.0]), 0.0, "{}", micro.name);
        assert_eq!(one([0.5, 3.0], [4.0, 0.25]), 2.75, "{}", micro.name);
    }
}

#[test]
fn rows_are_packed_in_runs() {
    let elements: Vec<f32> = small(5 * 100, 5);
    let places: Vec<usize> = (0..5).map(|row| row * 100).collect();
    let runs = [(0, 3, 7), (7, 20, 20), (27, 60, 5)];
    let mut out = vec![0.0; 3 * 32];
    pack(&elements, &places, &runs, 32, &mut out);
    for (row, out) in out.chunks_exact(32).enumerate() {
        for &(at, begin, length) in &runs {
            for i in 0..length {
                let number = |row: usize| if row < 5 { elements[row * 100 + begin + i] } else { 0.0 };
                let expected = pair(number(2 * row), number(2 * row + 1));
                assert_eq!(out[at + i].to_bits(), expected.to_bits(), "{row} {at} {i}");
            }
        }
    }
}
