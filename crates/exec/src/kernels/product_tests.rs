use super::super::micro::Micro;
use super::super::panels::Panels;
use super::*;

/// A matrix of contiguous rows.
struct Rows<'a>(&'a [f32], usize);

impl Right for Rows<'_> {
    fn pack(&self, first: usize, depth: usize, column: usize, count: usize, width: usize, out: &mut [f32]) {
        for (l, row) in out.chunks_mut(width).take(depth).enumerate() {
            row[..count].copy_from_slice(&self.0[(first + l) * self.1 + column..][..count]);
        }
    }
}

/// Small integers, so that sums are exact in any order.
fn numbers(n: usize, modulus: usize) -> Vec<f32> {
    (0..n).map(|i| (i % modulus) as f32 - (modulus / 2) as f32).collect()
}

#[test]
fn every_micro_kernel_computes_the_product() {
    for &micro in Micro::all() {
        let (rows, columns) = (micro.rows, micro.columns);
        for (m, n, k) in [
            (1, 1, 1),
            (rows, columns, 7),
            (rows + 1, columns - 1, DEPTH),
            (2 * rows - 1, 3 * columns + 5, DEPTH + 1),
            (3, columns, 2 * DEPTH + 3),
            (2 * rows, 700, 9),
            (2, 40 * columns + 1, 3),
            (rows, columns + 2, 0),
            (4 * rows + 1, 2 * columns + 1, DEPTH + 3),
            (5 * rows, columns + 2, 40),
            (3 * rows - 1, columns + 3, 2 * DEPTH + 1),
            (2 * rows + 2, columns / 2 + 4, 33),
            (7, 4, 19),
        ] {
            let (a, b) = (numbers(m * k, 7), numbers(k * n, 5));
            let bias = numbers(m, 11);
            let residual = numbers(m * n, 13);
            let finish = Finish {
                add: (m % 2 == 1).then_some(&residual),
                low: -20.0,
                high: 30.0,
                ..Finish::from(Start::Rows(&bias))
            };
            let left = Left::of_rows(micro, &a, m);
            let mut out = vec![f32::NAN; m * n];
            product(&left, &Rows(&b, n), n, &mut out, finish, 1);
            for (p, &found) in out.iter().enumerate() {
                let (i, j) = (p / n, p % n);
                let sum: f32 = (0..k).map(|l| a[i * k + l] * b[l * n + j]).sum();
                let expected = (sum + bias[i] + if m % 2 == 1 { residual[p] } else { 0.0 }).clamp(-20.0, 30.0);
                assert_eq!(found, expected, "{} {m} {n} {k}: {i} {j}", micro.name);
            }
        }
    }
}

#[test]
fn packed_panels_are_the_same_matrix() {
    for &micro in Micro::all() {
        for (m, n, k) in [
            (1, 1, 1),
            (7, 2 * micro.columns + 3, DEPTH + 9),
            (3, micro.columns, 5),
            (4, 3, 0),
        ] {
            let (a, b) = (numbers(m * k, 7), numbers(k * n, 5));
            let turned: Vec<f32> = (0..n * k).map(|p| b[p % k * n + p / k]).collect();
            let left = Left::of_rows(micro, &a, m);
            let of = |right: &dyn Fn(&mut [f32])| {
                let mut out = numbers(m * n, 3);
                right(&mut out);
                out
            };
            let finish = Finish::from(Start::Result);
            let expected = of(&|out| product(&left, &Rows(&b, n), n, out, finish, 1));
            for (matrix, transposed) in [(&b, false), (&turned, true)] {
                let panels = Panels::of(micro, matrix, k, transposed);
                let found = of(&|out| product(&left, &panels, n, out, finish, 1));
                assert_eq!(found, expected, "{} {m} {n} {k} {transposed}", micro.name);
            }
        }
    }
}

#[test]
fn threads_change_nothing() {
    let (m, n, k) = (40, 333, 300);
    let (a, b): (Vec<f32>, Vec<f32>) = (
        (0..m * k).map(|i| (i as f32).sin()).collect(),
        (0..k * n).map(|i| (i as f32).cos()).collect(),
    );
    let left = Left::of_rows(Micro::best(), &a, m);
    let of = |threads| {
        let mut out = vec![f32::NAN; m * n];
        product(&left, &Rows(&b, n), n, &mut out, Finish::from(Start::Zero), threads);
        out
    };
    assert!(m * n * k >= 2 * PARALLEL);
    assert_eq!(of(1), of(2));
    assert_eq!(of(1), of(3));
}

#[test]
fn nan_is_not_clamped() {
    for &micro in Micro::all() {
        let left = Left::of_rows(micro, &[1.0], 1);
        let finish = Finish {
            low: 0.0,
            high: 6.0,
            ..Finish::from(Start::Zero)
        };
        let mut out = [0.0; 3];
        product(&left, &Rows(&[f32::NAN, -1.0, 7.0], 3), 3, &mut out, finish, 1);
        assert!(out[0].is_nan() && out[1..] == [0.0, 6.0], "{}: {out:?}", micro.name);
    }
}
