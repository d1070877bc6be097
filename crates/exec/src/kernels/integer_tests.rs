use super::super::testing::{Case, f32s};
use tautomer_op::AttrValue;
use tautomer_tensor::{DType, Tensor};

/// Numbers of the whole range of an 8-bit type.
pub(in super::super) fn bytes(dtype: DType, shape: &[usize], seed: u64) -> Tensor {
    let wide = f32s(shape, seed).to_f64s().unwrap();
    let low = if dtype == DType::U8 { 0.0 } else { -128.0 };
    let of = |x: &f64| (((x + 2.0) * 64.0).floor() + low) as i128;
    Tensor::from_ints(dtype, shape, &wide.iter().map(of).collect::<Vec<_>>()).unwrap()
}

const TYPES: [(DType, DType); 4] = [
    (DType::U8, DType::I8),
    (DType::U8, DType::U8),
    (DType::I8, DType::I8),
    (DType::I8, DType::U8),
];

const SHAPES: [(&[usize], &[usize]); 10] = [
    (&[1, 1], &[1, 1]),
    (&[1, 65], &[65, 33]),
    (&[13, 17], &[17, 31]),
    (&[25, 4], &[4, 70]),
    (&[0, 3], &[3, 2]),
    (&[4, 3, 5], &[5, 2]),
    (&[4, 3, 5], &[4, 5, 2]),
    (&[2, 1, 3, 5], &[4, 5, 2]),
    (&[3, 5], &[2, 5, 2]),
    (&[3, 7], &[7, 0]),
];

#[test]
fn products_of_every_type_and_zero_point() {
    for (ta, tb) in TYPES {
        for (a, b) in SHAPES {
            let (m, n) = (a[a.len() - 2], b[b.len() - 1]);
            let case = || Case::new("matmul_integer", &[bytes(ta, a, 1), bytes(tb, b, 2)]);
            case().check();
            let one = |dtype| Some(bytes(dtype, &[], 3));
            case().operand(one(ta)).check();
            case().operand(None).operand(one(tb)).check();
            case().operand(one(ta)).operand(one(tb)).check();
            if a.len() == 2 {
                case().operand(Some(bytes(ta, &[m], 4))).operand(one(tb)).check();
            }
            case().operand(one(ta)).operand(Some(bytes(tb, &[n], 5))).check();
        }
    }
}

#[test]
fn quantized_products() {
    let scalar = |x: f32| Tensor::scalar(x);
    for (ta, tb) in TYPES {
        for ty in [DType::U8, DType::I8] {
            for (a, b) in SHAPES {
                let n = b[b.len() - 1];
                for (scale, zero) in [(scalar(0.013), bytes(tb, &[], 6)), (f32s(&[n], 7), bytes(tb, &[n], 8))] {
                    let operands = [
                        bytes(ta, a, 1),
                        scalar(0.02),
                        bytes(ta, &[], 2),
                        bytes(tb, b, 3),
                        scale,
                        zero,
                        scalar(0.7),
                        bytes(ty, &[], 4),
                    ];
                    Case::new("qlinear_matmul", &operands).check();
                }
            }
        }
    }
}

/// Attributes of an activation.
pub(in super::super) const ACTIVATIONS: [(&str, Option<f64>, Option<f64>); 4] = [
    ("", None, None),
    ("relu", None, None),
    ("clip", Some(-0.5), None),
    ("clip", Some(-1.0), Some(2.5)),
];

pub(in super::super) fn activated(case: Case, (name, low, high): (&str, Option<f64>, Option<f64>)) -> Case {
    let case = match name {
        "" => case,
        name => case.attr("activation", AttrValue::str(name)),
    };
    let limits = [("low", low), ("high", high)];
    let given = limits.into_iter().filter_map(|(name, limit)| Some((name, limit?)));
    given.fold(case, |case, (name, limit)| case.attr(name, AttrValue::float(limit)))
}

#[test]
fn products_of_quantized_numbers() {
    for (ta, tb) in TYPES {
        for (a, b) in SHAPES {
            let n = b[b.len() - 1];
            let mut turned = b.to_vec();
            let end = b.len();
            turned.swap(end - 1, end - 2);
            for (scale, zero) in [
                (Tensor::scalar(0.013f32), bytes(tb, &[], 6)),
                (f32s(&[n], 7), bytes(tb, &[n], 8)),
            ] {
                for (transposed, b) in [(false, b), (true, &turned)] {
                    let operands = [
                        bytes(ta, a, 1),
                        Tensor::scalar(0.02f32),
                        bytes(ta, &[], 2),
                        bytes(tb, b, 3),
                        scale.clone(),
                        zero.clone(),
                    ];
                    for (i, activation) in ACTIVATIONS.into_iter().enumerate() {
                        let case = || {
                            let case = Case::new("quantized_matmul", &operands);
                            activated(case.attr("transposed", AttrValue::Bool(transposed)), activation)
                        };
                        let bias = || (i % 2 == 0).then(|| f32s(&[n], 9));
                        case().check();
                        case().operand(bias()).check();
                        for ty in [DType::U8, DType::I8] {
                            let down = Some(Tensor::scalar(0.37f32));
                            case()
                                .operand(bias())
                                .operand(down)
                                .operand(Some(bytes(ty, &[], 4)))
                                .check();
                        }
                    }
                }
            }
        }
    }
}

#[test]
fn scales_that_make_no_number_are_left_to_the_reference() {
    let (a, b) = (bytes(DType::U8, &[2, 3], 1), bytes(DType::I8, &[3, 2], 2));
    for (scale, accepts) in [(0.0, false), (1e-30, true), (f32::NAN, false), (-0.5, true)] {
        let operands = [
            a.clone(),
            Tensor::scalar(0.5f32),
            Tensor::scalar(7u8),
            b.clone(),
            Tensor::scalar(0.5f32),
            Tensor::scalar(0i8),
            Tensor::scalar(scale),
            Tensor::scalar(100u8),
        ];
        assert_eq!(Case::new("qlinear_matmul", &operands).may_decline().check(), accepts);
    }
}
