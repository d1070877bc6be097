use super::super::dot::{STRIP, Strip, Term};
use super::*;

/// Bytes of every value, in an order that looks random.
fn bytes(n: usize, seed: u64) -> Vec<u8> {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    let next = |_| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (state >> 56) as u8
    };
    (0..n).map(next).collect()
}

#[test]
fn every_micro_kernel_computes_the_product_of_all_bytes() {
    for &dot in Dot::all() {
        let (rows, columns) = (dot.rows, dot.columns);
        for (m, n, k) in [
            (1, 1, 1),
            (1, columns, 8),
            (2, columns + 1, 3),
            (rows, columns - 1, 5),
            (rows + 1, columns / 2, 64),
            (2 * rows + 3, 3 * columns + 5, 67),
            (3, 2 * columns, 4096),
        ] {
            let (mut a, mut b) = (bytes(m * k, 1), bytes(k * n, 2));
            if k == 4096 {
                // The largest products, whose sums of pairs exceed 16 bits.
                a.fill(0x80);
                b.fill(0xff);
            }
            let left = SignedRows::of(dot, &a, k, 0, Vec::new());
            let right = UnsignedPanels::of(dot, &b, k, 0);
            let p: Vec<i32> = (0..m as i32).map(|i| i - 2).collect();
            let q: Vec<i32> = (0..n as i32).map(|j| 3 - j).collect();
            for (p, q) in [(&p[..1], &q[..1]), (&p, &q), (&[0], &[0]), (&[0], &q), (&p, &[128])] {
                let zeros = Zeros {
                    inner: k,
                    left: p,
                    right: q,
                    rows: &left.sums,
                    columns: &right.sums,
                };
                let mut found = [vec![-1; m * n], vec![-1; m * n]];
                for (found, threads) in found.iter_mut().zip([1, 3]) {
                    let sums = Sums {
                        out: Shared::new(found),
                        columns: n,
                    };
                    product(&left, &right, n, &zeros, (&sums, 0), threads);
                }
                assert_eq!(found[0], found[1]);
                for (at, found) in found[0].iter().enumerate() {
                    let (i, j) = (at / n, at % n);
                    let p = p[if p.len() == 1 { 0 } else { i }];
                    let q = q[if q.len() == 1 { 0 } else { j }];
                    let one = |l: usize| (i32::from(a[i * k + l].cast_signed()) - p) * (i32::from(b[l * n + j]) - q);
                    let sum = (0..k).map(one).fold(0, i32::wrapping_add);
                    assert_eq!(*found, sum, "{} {m} {n} {k}: {i} {j}", dot.name);
                }
            }
        }
    }
}

#[test]
fn every_kernel_of_strips_computes_the_sums_at_each_position() {
    for &dot in Dot::all() {
        for count in [1, 3] {
            let mut image = bytes(count * STRIP + 40, 3);
            let mut terms = Vec::new();
            for (i, weights) in bytes(5 * QUAD, 4).as_chunks::<QUAD>().0.iter().enumerate() {
                let weights = weights.map(u8::cast_signed);
                terms.push(Term { place: 9 * i, weights });
            }
            for largest in [false, true] {
                if largest {
                    // The largest products, whose sums of pairs exceed 16 bits.
                    image.fill(0xff);
                    terms.iter_mut().for_each(|term| term.weights = [-128; QUAD]);
                }
                let mut sums = vec![[[-1; STRIP / QUAD]; QUAD]; count];
                dot.strips(&image, &terms, &mut sums);
                for at in 0..count * STRIP {
                    let products = terms.iter().flat_map(|term| {
                        let elements = &image[at + term.place..];
                        let both = term.weights.iter().zip(elements);
                        both.map(|(w, x)| i32::from(*w) * i32::from(*x))
                    });
                    let found = sums[at / STRIP][at % QUAD][at % STRIP / QUAD];
                    assert_eq!(found, products.sum::<i32>(), "{} {count}: {at}", dot.name);
                }
            }
        }
    }
}

#[test]
#[should_panic(expected = "a strip is longer than the image")]
fn strips_do_not_read_beyond_the_image() {
    let term = Term {
        place: 10,
        weights: [1; QUAD],
    };
    Dot::best().strips(&[0; STRIP + 12], &[term], &mut [Strip::default()]);
}
