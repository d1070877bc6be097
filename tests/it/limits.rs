//! Limits of optimizing: folding, matching and comparing are limited, and exceeding a limit is reported.

use std::path::Path;

use indexmap::IndexMap;
use tautomer::formats::arrays;
use tautomer::tensor::Tensor;

use crate::command::{folder, run};

fn params(folder: &Path, name: &str, tensors: &[(&str, Tensor)]) {
    let all: IndexMap<String, Tensor> = tensors.iter().map(|(k, v)| ((*k).to_owned(), v.clone())).collect();
    arrays::write(&folder.join(name), &all).unwrap();
}

fn bytes(path: &Path) -> u64 {
    std::fs::metadata(path).map_or(0, |m| m.len())
}

/// Programs whose constants are too large to compute, and what is left of them.
const BOMBS: &[(&str, &str)] = &[
    ("fn main() { range(0i64, 1000000000i64, 1i64) }", "range("),
    ("fn main() { range(0i64, 1000000000000i64, 1i64) }", "range("),
    (
        "fn main() { cumsum(range(0i64, 1000000000i64, 1i64), 0i64) }",
        "cumsum(",
    ),
    (
        "fn main() { matmul(constant_of_shape([30000, 1]) , constant_of_shape([1, 30000])) }",
        "matmul(",
    ),
    ("fn main() { hann_window(2000000000i64) }", "hann_window("),
    ("fn main() { eye_like(constant_of_shape([30000, 30000])) }", "eye_like("),
    (
        "fn main() { pad(relu(range(0.0, 9.0, 1.0))) {pads = [0, 3000000000]} }",
        "pad(",
    ),
    ("fn main() { nonzero(range(0i64, 1000000000i64, 1i64)) }", "non_zero("),
];

#[test]
fn folding_has_a_limit_and_the_call_stays() {
    for (text, stays) in BOMBS {
        let dir = folder(&[("m.taut", text)]);
        let done = run(dir.path(), "optimize m.taut --no-check -o out.taut");
        assert_eq!(done.code, 0, "{text}: {}", done.err);
        let out = std::fs::read_to_string(dir.path().join("out.taut")).unwrap();
        assert!(out.contains(stays), "{text}: {out}");
        assert!(bytes(&dir.path().join("out.safetensors")) < 1 << 20, "{text}");
    }
}

#[test]
fn the_limit_of_folding_is_named() {
    let dir = folder(&[(
        "m.taut",
        "fn main(x: f32[1000000]) { x + cast(range(0i64, 1000000i64, 1i64)) {to = f32} }",
    )]);
    let done = run(
        dir.path(),
        "optimize m.taut --no-check --fold-all --max-fold-bytes 1M -o out.taut",
    );
    assert_eq!(done.code, 0, "{}", done.err);
    assert!(
        done.err.contains("T0403") && done.err.contains("limit 1.0 MB"),
        "{}",
        done.err
    );
    assert!(done.err.contains("--max-fold-bytes"), "{}", done.err);
    let done = run(dir.path(), "optimize m.taut --no-check --fold-all -o out.taut");
    assert!(!done.err.contains("T0403"), "{}", done.err);
}

#[test]
fn doubling_strings_end() {
    let mut text = "fn main() {\n  let t0 = \"aaaaaaaaaaaaaaaa\";\n".to_owned();
    for i in 1..40 {
        text.push_str(&format!("  let t{i} = string_concat(t{0}, t{0});\n", i - 1));
    }
    text.push_str("  t39\n}\n");
    let dir = folder(&[("m.taut", &text)]);
    let done = run(dir.path(), "optimize m.taut --no-check -o out.taut");
    assert_eq!(done.code, 0, "{}", done.err);
}

#[test]
fn an_expression_that_fails_stays() {
    let dir = folder(&[("m.taut", "fn main(x: i32[2]) { x + [1, 2] / [0, 1] }")]);
    let done = run(dir.path(), "optimize m.taut --no-check -o out.taut");
    assert_eq!(done.code, 0, "{}", done.err);
    assert!(
        std::fs::read_to_string(dir.path().join("out.taut"))
            .unwrap()
            .contains('/')
    );
}

/// Programs that are too expensive to compare.
const LARGE: &[&str] = &[
    "fn main() { constant_of_shape([536870912]) }",
    "fn main(x: f32[30000, 1], y: f32[1, 30000]) { x + y }",
    "fn step(i: i64, go: bool, a: f32) { (go, a + 1.0) }\n\
     fn main(x: f32) { loop(1000000000000i64, none, x) {body = step, carried = 1} }",
    "fn main(x: f32[1, 1, 1, 1], w: f32[1, 1, 1, 1]) { conv(x, w) {pads = [8000, 8000, 8000, 8000]} }",
    "fn main(x: f32[4]) { tile(x) {repeats = [1000000000]} }",
    "fn main(x: f32[1, 1000003, 1]) { dft(x) {axis = 1} }",
];

#[test]
fn a_comparison_that_takes_too_much_is_not_made() {
    for text in LARGE {
        let dir = folder(&[("m.taut", text)]);
        let done = run(dir.path(), "optimize m.taut -o out.taut");
        assert_eq!(done.code, 0, "{text}: {}", done.err);
        let told = done.err.lines().any(|line| {
            line.starts_with("not checked: one run would")
                && line.contains("raise it with `--check-")
                && line.contains("tautomer verify")
        });
        assert!(told, "{text}: {}", done.err);
        assert!(dir.path().join("out.taut").exists());
    }
    let dir = folder(&[("m.taut", LARGE[1])]);
    let done = run(dir.path(), "optimize m.taut --check 2 -o out.taut");
    assert!(
        done.err
            .contains("not checked, although `--check` asks for it: one run would need 3.6 GB (limit 800 MB"),
        "{}",
        done.err
    );
}

#[test]
fn searches_for_a_rule_have_a_limit() {
    let rules = "/// Wide.\nrule wide(x[i], y[i], z[i], u[i]) {\n\
                 concat(x[i] for i in 0..n, y[i] for i in 0..m, z[i] for i in 0..k, u[i] for i in 0..l) {axis = a}\n\
                 => concat(u[i] for i in 0..l, x[i] for i in 0..n, y[i] for i in 0..m, z[i] for i in 0..k) {axis = a}\n\
                 where n == 1000 numerics real }\n";
    let inputs: Vec<String> = (0..60).map(|i| format!("x{i}: f32[1]")).collect();
    let names: Vec<String> = (0..60).map(|i| format!("x{i}")).collect();
    let text = format!(
        "fn main({}) {{ concat({}) {{axis = 0}} }}",
        inputs.join(", "),
        names.join(", ")
    );
    let dir = folder(&[("m.taut", &text), ("wide.rules", rules)]);
    for engine in ["saturate", "substitute"] {
        let command = format!(
            "optimize m.taut --rules wide.rules --no-built-in --no-check --match-steps 1e4 --engine {engine} -o out.taut"
        );
        let done = run(dir.path(), &command);
        assert_eq!(done.code, 0, "{}", done.err);
        if engine == "saturate" {
            assert!(done.err.contains("`wide` not searched exhaustively"), "{}", done.err);
        }
    }
}

fn quantized() -> (String, Vec<(&'static str, Tensor)>) {
    let text = "fn main(x: f32[2, 64], param w: i8[64, 64], param s: f32, param b: i32[64]) {\n  \
                let y = matmul(x, dequantize_linear(w, s));\n  y + dequantize_linear(b, s)\n}\n";
    let w = Tensor::from_ints(
        tautomer::tensor::DType::I8,
        &[64, 64],
        &(0..4096).map(|i| i % 17 - 8).collect::<Vec<_>>(),
    );
    let b = Tensor::from_ints(tautomer::tensor::DType::I32, &[64], &(0..64).collect::<Vec<_>>());
    let values = vec![("w", w.unwrap()), ("s", Tensor::scalar(0.1f32)), ("b", b.unwrap())];
    (text.to_owned(), values)
}

#[test]
fn quantized_weights_stay_small() {
    let (text, values) = quantized();
    let dir = folder(&[("m.taut", &text)]);
    params(dir.path(), "m.safetensors", &values);
    let done = run(dir.path(), "optimize m.taut -o out.onnx");
    assert_eq!(done.code, 0, "{}", done.err);
    let small = bytes(&dir.path().join("out.onnx"));
    assert!(small < 8_000, "{small} bytes: {}", done.err);
    let done = run(dir.path(), "optimize m.taut --fold-all -o all.onnx");
    assert_eq!(done.code, 0, "{}", done.err);
    assert!(bytes(&dir.path().join("all.onnx")) > 16_000);
}

#[test]
fn fills_stay_fills_and_scaled_weights_are_folded() {
    let text = "fn main(x: f32[1, 64], param w: f32[64, 64], param s: f32[64]) {\n  \
                (x @ constant_of_shape([64, 4096]), x @ (w * s))\n}\n";
    let dir = folder(&[("m.taut", text)]);
    let w: Vec<f32> = (0..4096).map(|i| (i % 13) as f32).collect();
    let values = [
        ("w", Tensor::new::<f32>(&[64, 64], w).unwrap()),
        ("s", Tensor::vector((0..64).map(|i| i as f32).collect::<Vec<f32>>())),
    ];
    params(dir.path(), "m.safetensors", &values);
    let done = run(dir.path(), "optimize m.taut -o out.onnx");
    assert_eq!(done.code, 0, "{}", done.err);
    assert!(bytes(&dir.path().join("out.onnx")) < 20_000, "{}", done.err);
    run(dir.path(), "optimize m.taut -o out.taut");
    let out = std::fs::read_to_string(dir.path().join("out.taut")).unwrap();
    assert!(out.contains("constant_of_shape") && !out.contains('*'), "{out}");
}

#[test]
fn weights_that_others_use_are_not_stored_twice() {
    let text = "fn main(i: i64[3], x: f32[3, 64], param w: f32[500, 64]) {\n  \
                (gather(w, i), x @ transpose(w) {perm = [1, 0]})\n}\n";
    let dir = folder(&[("m.taut", text)]);
    let w: Vec<f32> = (0..32_000).map(|i| (i % 13) as f32).collect();
    params(
        dir.path(),
        "m.safetensors",
        &[("w", Tensor::new::<f32>(&[500, 64], w).unwrap())],
    );
    let done = run(dir.path(), "optimize m.taut -o out.onnx");
    assert_eq!(done.code, 0, "{}", done.err);
    assert!(bytes(&dir.path().join("out.onnx")) < 130_000, "{}", done.err);
}

/// Two multiples of one matrix would make the file larger, so they are not computed ahead of time; computing them in each
/// run is not cheaper here than multiples of the product.
#[test]
fn scaled_copies_of_weights_are_not_left_to_run_time() {
    let text = "fn main(x: f32[1, 16, 8], param w: f32[8, 256], param b: f32[256]) {\n  \
                let y = x @ w + b;\n  \
                y * 0.7 * (1 + erf(y / 1.5))\n}\n";
    let dir = folder(&[("m.taut", text)]);
    let values = |n: usize| (0..n).map(|i| (i % 13) as f32 * 0.01).collect::<Vec<f32>>();
    let w = Tensor::new::<f32>(&[8, 256], values(8 * 256)).unwrap();
    let b = Tensor::new::<f32>(&[256], values(256)).unwrap();
    params(dir.path(), "m.safetensors", &[("w", w), ("b", b)]);
    let done = run(dir.path(), "optimize m.taut -o out.onnx");
    assert_eq!(done.code, 0, "{}", done.err);
    assert!(!done.err.contains("stay as they are"), "{}", done.err);
    assert!(
        format!("{}{}", done.out, done.err).contains("7 -> 7 nodes"),
        "{}{}",
        done.out,
        done.err
    );
}

/// A loop that continues from the largest of many nearly equal sums: rounding decides the outcome.
fn unstable() -> (&'static str, Vec<(&'static str, Tensor)>) {
    let text = "fn step(i: i64, go: bool, h: f32[1, 64], a: f32[64, 64], e: f32[64, 64]) {\n  \
                let s = tanh(matmul(h, a) * 6.0 * 1.0 + 0.0);\n  \
                let k = argmax(s) {axis = 1, keepdims = false};\n  \
                (go, s + gather(e, k) * 0.1)\n}\n\
                fn main(x: f32[1, 64], param a: f32[64, 64], param e: f32[64, 64], param w: f32[64, 64], param s: f32[64]) {\n  \
                loop(40i64, none, (x @ w) * s, a, e) {body = step, carried = 1}\n}\n";
    let mut state = 1u64;
    let mut random = move || {
        state = state
            .wrapping_mul(6364136223846793005)
            .wrapping_add(1442695040888963407);
        (state >> 40) as f32 / (1u64 << 24) as f32 - 0.5
    };
    let mut matrix = |n: usize| Tensor::new::<f32>(&[64, n], (0..64 * n).map(|_| random()).collect()).unwrap();
    let (a, e, w) = (matrix(64), matrix(64), matrix(64));
    let s = Tensor::vector((0..64).map(|i| 0.7 + i as f32 / 64.0).collect::<Vec<f32>>());
    (text, vec![("a", a), ("e", e), ("w", w), ("s", s)])
}

#[test]
fn a_right_result_of_an_unstable_model_is_written() {
    let (text, values) = unstable();
    let dir = folder(&[("m.taut", text)]);
    params(dir.path(), "m.safetensors", &values);
    for seed in 0..4 {
        let done = run(dir.path(), &format!("optimize m.taut --seed {seed} -o out.taut"));
        assert_eq!(done.code, 0, "seed {seed}: {}", done.err);
        assert!(done.err.contains(": OK"), "seed {seed}: {}", done.err);
        let shown = done.err.lines().filter(|line| line.contains("unstable")).count();
        assert!(
            shown > 0,
            "seed {seed}: this model is meant to be unstable: {}",
            done.err
        );
    }
}

#[test]
fn a_wrong_rule_is_found_in_an_unstable_model() {
    let rules = "/// Wrong.\nrule drop-scale(x, w, s) { (x @ w) * s => x @ w where s.rank == 1 numerics real }\n";
    let (text, values) = unstable();
    let dir = folder(&[("m.taut", text), ("wrong.rules", rules)]);
    params(dir.path(), "m.safetensors", &values);
    let done = run(
        dir.path(),
        "optimize m.taut --rules wrong.rules --no-built-in --allow-refuted -o out.taut",
    );
    assert_eq!(done.code, 1, "{}", done.err);
    assert!(!dir.path().join("out.taut").exists());
    assert!(
        done.err.contains("WRONG") && done.err.contains("drop-scale"),
        "{}",
        done.err
    );
}

#[test]
fn the_first_value_that_differs_is_named() {
    let rules = "/// Wrong.\nrule drop-relu(x) { relu(x) => x numerics real }\n";
    let text = "fn main(x: f32[8]) {\n  let a = tanh(x);\n  let b = relu(a);\n  let c = exp(b);\n  c * 2.0\n}\n";
    let dir = folder(&[("m.taut", text), ("wrong.rules", rules)]);
    let done = run(
        dir.path(),
        "optimize m.taut --rules wrong.rules --no-built-in --allow-refuted -o out.taut",
    );
    assert_eq!(done.code, 1, "{}", done.err);
    assert!(
        done.err.contains("the first value that differs is `c` (exp, f32[8])"),
        "{}",
        done.err
    );
}
