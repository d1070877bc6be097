use super::super::testing::{Case, EDGES, f32s};
use tautomer_op::AttrValue;
use tautomer_tensor::{DType, Tensor};

fn ints(values: &[i64]) -> Tensor {
    Tensor::vector(values.to_vec())
}

#[test]
fn kept_elements() {
    Case::new("identity", &[ints(&[3, 4])]).check();
    Case::new("dropout", &[f32s(&[3, 4], 1)]).check();
}

#[test]
fn joins() {
    for (shapes, axis) in [
        (&[&[2usize, 3][..], &[2, 1]][..], 1),
        (&[&[2, 3], &[4, 3], &[0, 3]], 0),
        (&[&[2, 3, 4]], -1),
        (&[&[2, 1, 4], &[2, 5, 4]], -2),
    ] {
        let parts: Vec<Tensor> = shapes.iter().enumerate().map(|(i, s)| f32s(s, i as u64)).collect();
        Case::new("concat", &parts).int("axis", axis).check();
    }
    Case::new("concat", &[ints(&[1, 2]), ints(&[3])]).int("axis", 0).check();
}

#[test]
fn gathers() {
    for (indices, axis) in [
        (ints(&[0, 2, -1]), 0),
        (ints(&[3, 3]), 1),
        (Tensor::scalar(1i64), 2),
        (Tensor::new(&[2, 2], vec![0i32, 1, 2, -3]).unwrap(), -1),
    ] {
        Case::new("gather", &[f32s(&[3, 4, 5], 1), indices])
            .int("axis", axis)
            .check();
    }
}

#[test]
fn conversions() {
    let tensors = [
        f32s(&[3, 5], 1),
        ints(&[-1, 0, 7]),
        Tensor::vector(vec![true, false]),
        Tensor::vector(vec![3u8, 255]),
        Tensor::vector(vec![-4i32]),
        Tensor::vector(vec![-4i8, 127, -128]),
        Tensor::vector(EDGES.to_vec()),
        Tensor::from_f64s(DType::F16, &[5], &[0.0, -1.5, f64::NAN, f64::INFINITY, 6e-8]).unwrap(),
        Tensor::from_f64s(DType::BF16, &[5], &[-0.0, 1.5, f64::NAN, f64::NEG_INFINITY, 1e-39]).unwrap(),
    ];
    for tensor in &tensors {
        for to in [
            DType::F32,
            DType::F64,
            DType::I64,
            DType::Bool,
            DType::I32,
            DType::U8,
            DType::I8,
            DType::F16,
            DType::BF16,
        ] {
            Case::new("cast", std::slice::from_ref(tensor))
                .attr("to", AttrValue::DType(to))
                .may_decline()
                .check();
        }
    }
}
