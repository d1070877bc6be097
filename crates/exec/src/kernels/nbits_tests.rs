use super::super::integer::tests::bytes;
use super::super::testing::{Case, f32s};
use super::*;
use tautomer_tensor::Tensor;

/// The shape of the left matrix, columns, and the size of blocks.
const SIZES: [(&[usize], usize, usize); 9] = [
    (&[1, 1], 1, 16),
    (&[1, 128], 5, 32),
    (&[1, 100], 6, 32),
    (&[3, 515], 9, 16),
    (&[2, 2, 300], 33, 128),
    (&[1, 700], 4, 256),
    (&[7, 65], 35, 64),
    (&[40, 300], 70, 32),
    (&[0, 32], 3, 16),
];

#[test]
fn weights_of_four_and_eight_bits() {
    for (a, n, block) in SIZES {
        for bits in [4usize, 8] {
            let blocks = a[a.len() - 1].div_ceil(block);
            let case = || {
                let weights = bytes(DType::U8, &[n, blocks, block * bits / 8], 2);
                Case::new("matmul_nbits", &[f32s(a, 1), weights, f32s(&[n, blocks], 3)])
                    .int("bits", bits as i64)
                    .int("block_size", block as i64)
            };
            case().check();
            let row = (blocks * bits).div_ceil(8);
            let bias = || Some(f32s(&[n], 6));
            case().operand(Some(bytes(DType::U8, &[n * row], 4))).check();
            case()
                .operand(Some(bytes(DType::U8, &[n, row], 4)))
                .operand(bias())
                .check();
            case().operand(Some(f32s(&[n, blocks], 5))).check();
            case().operand(None).operand(bias()).check();
        }
    }
}

#[test]
fn every_instruction_set_computes_the_same() {
    for bits in [4, 8] {
        let (inner, n, block) = (420, 6, 32);
        let blocks = 14;
        let whole = |t: &Tensor| t.to_ints().unwrap().iter().map(|x| *x as u8).collect::<Vec<u8>>();
        let floats = |t: &Tensor| t.to_f64s().unwrap().iter().map(|x| *x as f32).collect::<Vec<f32>>();
        let weights = Weights {
            bytes: whole(&bytes(DType::U8, &[n, blocks, block * bits / 8], 1)).into(),
            scales: floats(&f32s(&[n, blocks], 2)).into(),
            zeros: Arc::new(Vec::new()),
            bits,
            block,
            blocks,
            inner,
            columns: n,
        };
        let a = floats(&f32s(&[inner], 3));
        let mut numbers = vec![0.0; inner];
        for columns in Columns::all(bits) {
            let mut elements = vec![0.0; (blocks * block).next_multiple_of(GROUP)];
            elements[..inner].copy_from_slice(&a);
            let own = elements.clone();
            if columns.is_permuted {
                for (at, x) in elements.iter_mut().enumerate() {
                    *x = own[at / GROUP * GROUP + at % 16 * 8 + at % GROUP / 16];
                }
            }
            let row = Row {
                elements,
                sums: Vec::new(),
            };
            for column in [0, 4] {
                let mut out = vec![0.0; COLUMNS.min(n - column)];
                // SAFETY: `all` has checked the instructions, and the row has whole groups in their order.
                unsafe { (columns.run)(&weights, &row, column, &mut out) };
                for (j, found) in out.iter().enumerate() {
                    weights.numbers(column + j, 0, &mut numbers);
                    let sum: f64 = numbers.iter().zip(&a).map(|(w, x)| f64::from(*w) * f64::from(*x)).sum();
                    let scale: f64 = numbers.iter().zip(&a).map(|(w, x)| f64::from((w * x).abs())).sum();
                    assert!(
                        (f64::from(*found) - sum).abs() <= 1e-6 * scale,
                        "{found} instead of {sum}"
                    );
                }
            }
        }
    }
}
