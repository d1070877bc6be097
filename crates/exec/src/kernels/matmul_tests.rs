use super::super::testing::{Case, f32s};
use tautomer_op::AttrValue;

#[test]
fn products_broadcast() {
    let rows: &[(&[usize], &[usize])] = &[
        (&[1, 1], &[1, 1]),
        (&[3, 65], &[65, 16]),
        (&[1, 65], &[65, 129]),
        (&[2, 515], &[515, 520]),
        (&[63, 17], &[17, 1]),
        (&[0, 3], &[3, 2]),
        (&[2, 0], &[0, 3]),
        (&[5], &[5]),
        (&[5], &[5, 3]),
        (&[3, 5], &[5]),
        (&[5], &[4, 5, 3]),
        (&[4, 3, 5], &[5]),
        (&[4, 3, 5], &[5, 2]),
        (&[4, 3, 5], &[1, 5, 2]),
        (&[3, 5], &[4, 5, 2]),
        (&[4, 3, 5], &[4, 5, 2]),
        (&[2, 1, 3, 5], &[4, 5, 2]),
        (&[1, 4, 3, 5], &[2, 1, 5, 2]),
        (&[2, 4, 3, 5], &[4, 5, 2]),
        (&[0, 3, 5], &[5, 2]),
        (&[0, 3, 5], &[1, 5, 2]),
    ];
    for &(a, b) in rows {
        Case::new("matmul", &[f32s(a, 1), f32s(b, 2)]).check();
        if let [batch @ .., k, n] = b
            && a.len() > 1
        {
            let turned: Vec<usize> = batch.iter().copied().chain([*n, *k]).collect();
            if a.len() == turned.len() && a[..a.len() - 2] == turned[..a.len() - 2] {
                Case::new("batch_matmul", &[f32s(a, 1), f32s(&turned, 2)]).check();
            }
        }
    }
}

#[test]
fn layers_add_a_row() {
    for x in [&[3usize, 5][..], &[2, 3, 5], &[1, 5], &[0, 5]] {
        let case = || Case::new("dense", &[f32s(x, 1), f32s(&[4, 5], 2)]);
        case().check();
        case().operand(Some(f32s(&[4], 3))).check();
    }
}

#[test]
fn steps_after_products() {
    let rows: &[(&[usize], &[usize], &[usize])] = &[
        (&[3, 65], &[65, 16], &[3, 16]),
        (&[1, 65], &[65, 129], &[1, 129]),
        (&[63, 300], &[300, 17], &[63, 17]),
        (&[5], &[5, 3], &[3]),
        (&[4, 3, 5], &[5, 2], &[4, 3, 2]),
        (&[3, 5], &[4, 5, 2], &[4, 3, 2]),
        (&[2, 4, 3, 5], &[4, 5, 2], &[2, 4, 3, 2]),
        (&[2, 0], &[0, 3], &[2, 3]),
        (&[0, 3], &[3, 2], &[0, 2]),
    ];
    for (x, w, y) in rows {
        for (bias, residual, clip) in (0..8).map(|i| (i & 1 > 0, i & 2 > 0, i & 4 > 0)) {
            for transposed in [false, true].into_iter().take(x.len().min(2)) {
                let mut w = w.to_vec();
                let n = w.len();
                let columns = w[n - 1];
                if transposed {
                    w.swap(n - 2, n - 1);
                }
                let mut case = Case::new("fused_matmul", &[f32s(x, 1), f32s(&w, 2)]);
                if bias || residual {
                    case = case.operand(bias.then(|| f32s(&[columns], 3)));
                }
                if residual {
                    case = case.operand(Some(f32s(y, 4)));
                }
                if clip {
                    case = case
                        .attr("activation", AttrValue::Str("clip".into()))
                        .attr("low", AttrValue::float(-0.5))
                        .attr("high", AttrValue::float(1.5));
                } else {
                    case = case.attr("activation", AttrValue::Str("relu".into()));
                }
                // Limits make the largest magnitude small.
                case.attr("transposed", AttrValue::Bool(transposed)).ulp(1e-4).check();
            }
        }
    }
}

#[test]
fn products_in_bf16() {
    let rows: &[(&[usize], &[usize], &[usize])] = &[
        (&[1, 65], &[65, 129], &[1, 129]),
        (&[63, 300], &[300, 17], &[63, 17]),
        (&[5], &[5, 3], &[3]),
        (&[33], &[33, 40], &[40]),
        (&[0, 13], &[13, 20], &[0, 20]),
        (&[4, 3, 9], &[9, 32], &[4, 3, 32]),
        (&[2, 4, 3, 1030], &[1030, 50], &[2, 4, 3, 50]),
        (&[20, 31], &[3, 31, 45], &[3, 20, 45]),
        (&[1, 40, 600], &[2, 600, 33], &[2, 40, 33]),
    ];
    for (x, w, y) in rows {
        for (finished, transposed) in [(false, false), (true, false), (false, true), (true, true)] {
            if transposed && x.len() < 2 {
                continue;
            }
            let (mut w, n) = (w.to_vec(), w.len());
            let columns = w[n - 1];
            if transposed {
                w.swap(n - 2, n - 1);
            }
            let mut case = Case::new("fused_matmul", &[f32s(x, 1), f32s(&w, 2)]);
            if finished {
                case = case.operand(Some(f32s(&[columns], 3))).operand(Some(f32s(y, 4)));
                case = case.attr("activation", AttrValue::Str("relu".into()));
            }
            case.attr("transposed", AttrValue::Bool(transposed)).in_bf16().check();
        }
    }
    for (a, b, trans_b) in [([7, 40], [40, 33], false), ([1, 33], [20, 33], true)] {
        Case::new("gemm", &[f32s(&a, 1), f32s(&b, 2)])
            .operand(Some(f32s(&[b[usize::from(!trans_b)]], 3)))
            .attr("transB", AttrValue::Bool(trans_b))
            .in_bf16()
            .surely()
            .check();
    }
    Case::new("matmul", &[f32s(&[20, 31], 1), f32s(&[3, 31, 45], 2)])
        .in_bf16()
        .surely()
        .check();
}

#[test]
fn general_products() {
    for (i, c) in [
        None,
        Some(&[3usize, 4][..]),
        Some(&[4]),
        Some(&[3, 1]),
        Some(&[1, 4]),
        Some(&[]),
        Some(&[1]),
    ]
    .iter()
    .enumerate()
    {
        for (trans_a, trans_b) in [(false, false), (true, false), (false, true), (true, true)] {
            let a = if trans_a { [5, 3] } else { [3, 5] };
            let b = if trans_b { [4, 5] } else { [5, 4] };
            let mut case = Case::new("gemm", &[f32s(&a, 1), f32s(&b, 2)])
                .attr("transA", AttrValue::Bool(trans_a))
                .attr("transB", AttrValue::Bool(trans_b))
                .attr("alpha", AttrValue::float(0.5 + i as f64))
                .attr("beta", AttrValue::float(1.5));
            if let Some(c) = c {
                case = case.operand(Some(f32s(c, 3)));
            }
            case.check();
        }
    }
}
