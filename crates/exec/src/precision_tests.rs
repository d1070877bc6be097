use tautomer_graph::Params;
use tautomer_tensor::Tensor;

use super::*;
use crate::tests::graph;
use crate::{Executor, Mode, Plan, kernels};

/// A plan says which products are of bfloat16, and a run that they were, if the machine has them; results are close
/// to those of `f32`. With few columns, without a constant operand, and with two of them, they are not.
#[test]
fn plans_say_which_products_are_in_bf16() {
    let program = "fn main(x: f32[4, 40], y: f32[n, 40], param w: f32[40, 32], param v: f32[40, 3]) {
        (matmul(x, w), matmul(x, v), matmul(y, w), matmul(x, transpose(y)), matmul(transpose(v), w))
    }";
    let g = graph(program);
    let plan = Plan::compile(&g).unwrap();
    assert!(plan.steps.iter().all(|step| step.precision == Precision::F32));
    assert!(!plan.to_string().contains("bf16"));
    assert_eq!(plan.clone().in_precision(Precision::F32), plan);
    let narrow = plan.clone().in_precision(Precision::Bf16);
    let text = serde_json::to_string(&narrow).unwrap();
    assert_eq!(serde_json::from_str::<Plan>(&text).unwrap(), narrow);
    let expected = match kernels::has_bf16() {
        true => vec![true, false, true, false, false],
        false => vec![false; 5],
    };
    let products = |of: &dyn Fn(usize) -> Precision| -> Vec<bool> {
        let steps = narrow.steps.iter().enumerate();
        let steps = steps.filter(|(_, step)| step.operands.len() == 2);
        steps.map(|(i, _)| of(i) == Precision::Bf16).collect()
    };
    assert_eq!(products(&|i| narrow.steps[i].precision), expected);
    assert_eq!(narrow.to_string().contains("in bf16 where it is faster"), expected[0]);
    let number = |i: usize| (i * 37 % 101) as f32 / 101.0 - 0.5;
    let tensor = |shape: &[usize]| Tensor::new(shape, (0..shape.iter().product()).map(number).collect()).unwrap();
    let params = Params::from_iter([("w".into(), tensor(&[40, 32])), ("v".into(), tensor(&[40, 3]))]);
    let inputs = [tensor(&[4, 40]), tensor(&[5, 40])];
    let run = |plan: &Plan| {
        let executor = Executor::new(plan.clone(), Mode::Kernels).unwrap();
        let results = executor.run(&inputs, &params).unwrap();
        (results, products(&|i| executor.precision(i)))
    };
    let ((full, none), (rounded, some)) = (run(&plan), run(&narrow));
    assert!(none.iter().all(|&in_bf16| !in_bf16));
    assert_eq!(some, expected);
    for (i, (full, rounded)) in full.iter().zip(&rounded).enumerate() {
        let (full, rounded) = (full.to_f64s().unwrap(), rounded.to_f64s().unwrap());
        let gaps = full.iter().zip(rounded.iter()).map(|(a, b)| (a - b).abs());
        let (gap, scale) = (
            gaps.fold(0.0, f64::max),
            full.iter().fold(0.0f64, |m, x| m.max(x.abs())),
        );
        assert!(gap <= 1e-2 * scale, "{i}: {gap} of {scale}");
        assert_eq!(gap > 0.0, expected[i], "{i}");
    }
}
