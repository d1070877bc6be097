//! Batches of the course, and its errors.

use super::*;

fn full(value: f32, shape: &[usize]) -> Tensor {
    Tensor::new(shape, vec![value; shape.iter().product()]).unwrap()
}

#[test]
fn batches_are_computed_operand_by_operand() {
    let of = |statement: &str, values: &[f32]| {
        let inputs: Vec<Tensor> = values.iter().map(|v| full(*v, &[3, 4, 4])).collect();
        let mut out = [full(0.0, &[3, 4, 4])];
        Expression::parse(statement)
            .unwrap()
            .forward(&inputs, &mut out)
            .unwrap();
        out[0].to_f64s().unwrap()[0]
    };
    assert_eq!(of("add(@0,@1)", &[2.0, 3.0]), 5.0);
    assert_eq!(of("mul(@2,add(@0,@1))", &[2.0, 3.0, 4.0]), 20.0);
    assert_eq!(of("mul(add(@0,@1),add(@2,@3))", &[2.0, 3.0, 4.0, 4.0]), 40.0);
    assert_eq!(
        of("mul(mul(@0,@1), mul(@2,add(@3,@4)))", &[1.0, 2.0, 3.0, 4.0, 5.0]),
        54.0
    );
    assert!((of("mul(@1,sin(@0))", &[2.0, 3.0]) - 2.727_892_3).abs() < 1e-6);
    // Two items: the tensors of @0 come first, then those of @1.
    let expression = Expression::parse("mul(@0,@1)").unwrap();
    let inputs = [1.0, 2.0, 10.0, 20.0].map(|v| full(v, &[1, 2, 2]));
    let mut out = [full(0.0, &[1, 2, 2]), full(0.0, &[1, 2, 2])];
    expression.forward(&inputs, &mut out).unwrap();
    assert_eq!(out, [full(10.0, &[1, 2, 2]), full(40.0, &[1, 2, 2])]);
    // One number for each channel.
    let inputs = [full(2.0, &[3, 4, 4]), full(5.0, &[3, 1, 1])];
    let mut out = [full(0.0, &[3, 4, 4])];
    expression.forward(&inputs, &mut out).unwrap();
    assert_eq!(out, [full(10.0, &[3, 4, 4])]);
}

#[test]
fn what_is_missing_or_does_not_fit_is_said() {
    let expression = Expression::parse("add(@0,@1)").unwrap();
    let (x, empty) = (full(1.0, &[2, 2]), full(1.0, &[0]));
    let forward = |inputs: &[Tensor], outputs: &[Tensor]| {
        let mut outputs = outputs.to_vec();
        let before = outputs.clone();
        let error = expression.forward(inputs, &mut outputs).unwrap_err();
        assert_eq!(outputs, before);
        error
    };
    let one = std::slice::from_ref(&x);
    assert_eq!(forward(&[], one), ExpressionError::InputEmpty);
    assert_eq!(forward(&[x.clone(), empty.clone()], one), ExpressionError::InputEmpty);
    assert_eq!(forward(&[x.clone(), x.clone()], &[]), ExpressionError::OutputEmpty);
    assert_eq!(forward(&[x.clone(), x.clone()], &[empty]), ExpressionError::OutputEmpty);
    let few = forward(one, one).to_string();
    assert!(
        few.starts_with("operand @1 doesn't have appropriate number of tensors"),
        "{few}"
    );
    let apart = forward(&[x.clone(), full(1.0, &[3])], one).to_string();
    assert!(apart.contains("[2, 2]") && apart.contains("[3]"), "{apart}");
    let shape = forward(&[x.clone(), x.clone()], &[full(0.0, &[4])]).to_string();
    assert_eq!(shape, "item 0 of the batch is f32[2, 2], and its output f32[4]");
}
