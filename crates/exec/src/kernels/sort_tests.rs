use half::f16;
use proptest::prelude::*;

use super::super::testing::{Case, f32s};
use tautomer_op::AttrValue;
use tautomer_tensor::{DType, Tensor};

/// A few different numbers, so that many are equal; some are NaN.
fn coarse(shape: &[usize], seed: u64) -> Vec<f32> {
    let numbers = [f32::NAN, -0.0, 0.0, 1.0, -1.0, f32::INFINITY, f32::NEG_INFINITY, 0.5];
    let raw = f32s(shape, seed).to_f64s().unwrap();
    raw.into_iter()
        .map(|x| numbers[((x + 2.0) * 2.0) as usize % 8])
        .collect()
}

fn sorted(x: Tensor, axis: i64) {
    for descending in [false, true] {
        Case::new("sort", std::slice::from_ref(&x))
            .int("axis", axis)
            .attr("descending", AttrValue::Bool(descending))
            .check();
    }
}

#[test]
fn sorting_agrees_with_the_reference() {
    for (shape, axis) in [
        (&[5usize][..], 0i64),
        (&[300], 0),
        (&[2, 300], -1),
        (&[150, 3], 0),
        (&[3, 4, 2], 1),
        (&[0, 3], 0),
        (&[3, 0], 0),
        (&[], -1),
    ] {
        sorted(f32s(shape, 3), axis);
        let elements = coarse(shape, 7);
        let ints = |modulus: i64| elements.iter().map(move |x| (*x as i64).wrapping_mul(37) % modulus);
        sorted(Tensor::new(shape, elements.clone()).unwrap(), axis);
        sorted(
            Tensor::new(shape, elements.iter().map(|&x| f64::from(x)).collect()).unwrap(),
            axis,
        );
        sorted(
            Tensor::new(shape, elements.iter().map(|&x| f16::from_f32(x)).collect()).unwrap(),
            axis,
        );
        sorted(Tensor::new(shape, ints(1 << 40).collect()).unwrap(), axis);
        sorted(
            Tensor::new(shape, ints(1 << 20).map(|x| x as i32).collect()).unwrap(),
            axis,
        );
        sorted(Tensor::new(shape, ints(100).map(|x| x as i8).collect()).unwrap(), axis);
        sorted(Tensor::new(shape, ints(200).map(|x| x as u16).collect()).unwrap(), axis);
        sorted(
            Tensor::new(shape, elements.iter().map(|&x| x > 0.0).collect()).unwrap(),
            axis,
        );
    }
}

#[test]
fn runs_agree_with_the_reference() {
    for (shape, axis) in [
        (&[40usize][..], None),
        (&[4, 5], None),
        (&[], None),
        (&[0, 2], None),
        (&[40], Some(0i64)),
        (&[30, 1], Some(0)),
        (&[30, 2], Some(-2)),
        (&[2, 30], Some(1)),
        (&[1, 30, 2], Some(1)),
        (&[2, 20, 1], Some(1)),
        (&[0, 2], Some(0)),
    ] {
        let elements: Vec<f32> = coarse(shape, 11)
            .into_iter()
            .map(|x| if x.is_nan() || x > 0.0 { x } else { 0.0 * x })
            .collect();
        let tensors = [
            Tensor::new(shape, elements.iter().map(|&x| x > 0.0).collect()).unwrap(),
            Tensor::new(shape, elements.iter().map(|&x| i64::from(x > 0.0)).collect()).unwrap(),
            Tensor::new(shape, elements).unwrap(),
        ];
        for x in &tensors {
            for (inverse, counts) in [(false, false), (true, false), (false, true), (true, true)] {
                let mut case = Case::new("unique_consecutive", std::slice::from_ref(x))
                    .attr("return_inverse", AttrValue::Bool(inverse))
                    .attr("return_counts", AttrValue::Bool(counts));
                if let Some(axis) = axis {
                    case = case.int("axis", axis);
                }
                case.check();
            }
        }
    }
}

proptest! {
    #![proptest_config(tautomer_testing::random_cases(64))]

    /// Arbitrary bit patterns, in rows long enough for radix sort.
    #[test]
    fn any_numbers_are_sorted(bits in proptest::collection::vec(any::<u32>(), 100..400)) {
        let numbers: Vec<f32> = bits.iter().map(|&b| f32::from_bits(b)).collect();
        sorted(Tensor::vector(numbers), 0);
    }
}

#[test]
fn distinct_elements() {
    let wide = f32s(&[300], 1).to_f64s().unwrap();
    let coarse: Vec<f64> = wide.iter().map(|x| (x * 8.0).round() / 4.0).collect();
    let whole: Vec<i128> = wide.iter().map(|x| (x * 9.0).abs() as i128).collect();
    let special = vec![
        f32::NAN,
        0.0,
        -0.0,
        f32::INFINITY,
        -f32::NAN,
        2.0,
        f32::NEG_INFINITY,
        0.0,
        2.0,
    ];
    let tensors = [
        Tensor::from_f64s(DType::F32, &[300], &coarse).unwrap(),
        Tensor::from_f64s(DType::F64, &[300], &coarse).unwrap(),
        Tensor::from_f64s(DType::F16, &[3, 100], &coarse).unwrap(),
        Tensor::from_ints(DType::I64, &[30, 10], &whole).unwrap(),
        Tensor::from_ints(DType::U8, &[300], &whole).unwrap(),
        Tensor::from_ints(DType::I32, &[0], &[]).unwrap(),
        Tensor::vector(special),
        Tensor::vector(vec![true, false, true]),
        Tensor::scalar(3i64),
    ];
    for x in tensors {
        for sorted in [true, false] {
            let case = Case::new("unique", std::slice::from_ref(&x)).attr("sorted", AttrValue::Bool(sorted));
            assert!(case.ulp(0.0).check());
        }
    }
}
