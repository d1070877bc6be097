use crate::check::{eval, infer, table, tensor};

#[test]
fn types_follow_the_attributes() {
    table(
        infer,
        &[
            ("random_uniform", "shape=[2,3]", &[], "f32[2, 3]"),
            ("random_normal", "shape=[n] dtype=f64", &[], "f64[n]"),
            (
                "random_normal",
                "shape=[2] dtype=i32",
                &[],
                "type i32 does not support this distribution",
            ),
            ("random_uniform_like", "", &["f16[n, 3]"], "f16[n, 3]"),
            ("bernoulli", "dtype=bool", &["f32[n]"], "bool[n]"),
            ("multinomial", "sample_size=4", &["f32[n, 3]"], "i32[n, 4]"),
            (
                "dropout_in_training",
                "seed=2.0",
                &["f16[n, 3]", "f32", "bool"],
                "(f16[n, 3], bool[n, 3])",
            ),
            (
                "dropout_in_training",
                "",
                &["f32[2]", "f32", "i32"],
                "its body does not apply here: `not`: `x` must be a boolean, but is i32",
            ),
        ],
    );
}

fn numbers(op: &str, given: &str, operands: &[&str]) -> Vec<f64> {
    tensor(&eval(op, given, operands))
        .unwrap()
        .to_f64s()
        .unwrap_or_default()
}

#[test]
fn distributions_are_as_wanted() {
    let spread = |x: &[f64]| {
        let mean = x.iter().sum::<f64>() / x.len() as f64;
        (mean, x.iter().map(|v| (v - mean).powi(2)).sum::<f64>() / x.len() as f64)
    };
    let uniform = numbers("random_uniform", "shape=[4000] low=-1.0 high=3.0", &[]);
    assert!(uniform.iter().all(|x| (-1.0..3.0).contains(x)));
    let (mean, variance) = spread(&uniform);
    assert!(
        (mean - 1.0).abs() < 0.1 && (variance - 16.0 / 12.0).abs() < 0.1,
        "{mean} {variance}"
    );
    let (mean, variance) = spread(&numbers(
        "random_normal",
        "shape=[4000] mean=2.0 scale=3.0 seed=5.0",
        &[],
    ));
    assert!(
        (mean - 2.0).abs() < 0.2 && (variance - 9.0).abs() < 0.6,
        "{mean} {variance}"
    );
    let seeds = |seed: &str| numbers("random_normal", seed, &[]);
    assert_eq!(seeds("shape=[3] seed=1.0"), seeds("shape=[3] seed=1.0"));
    assert_ne!(seeds("shape=[3] seed=1.0"), seeds("shape=[3] seed=2.0"));
}

#[test]
fn what_is_certain_happens() {
    table(
        eval,
        &[
            ("bernoulli", "dtype=i32", &["f32[4] 0 1 1 0"], "i32[4] 0 1 1 0"),
            (
                "dropout_in_training",
                "",
                &["f32[2] 1 2", "f32 0.5", "bool 0"],
                "f32[2] 1 2; bool[2] 1 1",
            ),
            (
                "dropout_in_training",
                "",
                &["f32[2] 1 2", "f32 0.0", "bool 1"],
                "f32[2] 1 2; bool[2] 1 1",
            ),
            (
                "multinomial",
                "sample_size=3",
                &["f32[2, 2] -1e30 0 0 -1e30"],
                "i32[2, 3] 1 1 1 0 0 0",
            ),
        ],
    );
}
