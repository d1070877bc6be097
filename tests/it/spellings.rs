//! The same function as written by various exporters: each form is recognized as the operator.

use std::sync::Arc;

use tautomer::diag::Source;
use tautomer::graph::{BuildOptions, Node, Params, Workload, build_program};
use tautomer::lang::parse_program;
use tautomer::pipeline::{Options, optimize};

/// The operators of the result, except those of constants.
fn optimized(text: &str) -> Vec<String> {
    let source = Arc::new(Source::new("spelling", text));
    let graph = parse_program(source).and_then(|program| build_program(&program, &BuildOptions::default()));
    let graph = graph.unwrap_or_else(|problems| panic!("{}", problems.render(false)));
    let workload = Workload {
        graph,
        params: Params::default(),
    };
    let outcome = optimize(workload, &Options::default());
    let graph = outcome
        .unwrap_or_else(|problems| panic!("{}", problems.render(false)))
        .workload
        .graph;
    let mut names: Vec<String> = graph
        .ids()
        .filter_map(|v| match &graph.vertex(v).node {
            Node::Call { op, .. } => Some(op.name().to_string()),
            _ => None,
        })
        .collect();
    names.sort();
    names
}

/// Each body, as the result of a program with these parameters, becomes one call of `operator`.
fn all_are(operator: &str, params: &str, bodies: &[&str]) {
    let mut missed = Vec::new();
    for body in bodies {
        let found = optimized(&format!("fn main({params}) {{ {body} }}"));
        if found != [operator] {
            missed.push(format!("{body}\n  gives {found:?}"));
        }
    }
    assert!(
        missed.is_empty(),
        "{} of {} spellings of {operator} are not seen:\n{}",
        missed.len(),
        bodies.len(),
        missed.join("\n")
    );
}

#[test]
fn gelu() {
    all_are(
        "gelu",
        "x: f32[n, 8]",
        &[
            "x * 0.5 * (1.0 + erf(x / 1.4142135))",
            "x * (1.0 + erf(x / 1.4142135)) * 0.5",
            "0.5 * (x * (erf(x / sqrt(2.0)) + 1.0))",
            "(0.5 * x) * (1.0 + erf(x * 0.70710677))",
            "x * (0.5 * (1.0 + erf(0.70710677 * x)))",
            "x * (0.5 * erf(x / 1.4142135) + 0.5)",
            "(0.5 + 0.5 * erf(x * 0.70710677)) * x",
            "x / 2.0 * (1.0 + erf(x / 1.4142135))",
        ],
    );
}

#[test]
fn gelu_by_tanh() {
    all_are(
        "gelu",
        "x: f32[n, 8]",
        &[
            "0.5 * x * (1.0 + tanh(0.79788456 * (x + 0.044715 * (x * x * x))))",
            "0.5 * x * (1.0 + tanh(0.79788456 * (x + 0.044715 * pow(x, 3.0))))",
            "x * (0.5 * (1.0 + tanh((x + pow(x, 3.0) * 0.044715) * 0.79788456)))",
            "x * 0.5 * (tanh((x + x * x * x * 0.044715) * 0.79788456) + 1.0)",
            "0.5 * (x * (1.0 + tanh(0.79788456 * x * (1.0 + 0.044715 * (x * x)))))",
            "0.5 * x * (1.0 + tanh(0.79788456 * (x * (1.0 + 0.044715 * x * x))))",
        ],
    );
}

#[test]
fn silu() {
    all_are(
        "silu",
        "x: f32[n, 8]",
        &[
            "x * sigmoid(x)",
            "sigmoid(x) * x",
            "x / (1.0 + exp(-x))",
            "x * (1.0 / (exp(-x) + 1.0))",
            "x * reciprocal(1.0 + exp(0.0 - x))",
            "x * (0.5 * tanh(0.5 * x) + 0.5)",
            "x * sigmoid(x * 1.0)",
            "x / (exp(x * -1.0) + 1.0)",
        ],
    );
}

#[test]
fn layer_normalization() {
    let mean = "let m = reduce_mean(x) {axes = [-1]}; let d = x - m;";
    let bodies = [
        "d / sqrt(reduce_mean(pow(d, 2.0)) {axes = [-1]} + 0.001) * s + b",
        "d / sqrt(reduce_mean(d * d) {axes = [-1]} + 0.001) * s + b",
        "b + s * (d / sqrt(0.001 + reduce_mean(d * d) {axes = [-1]}))",
        "d * (1.0 / sqrt(reduce_mean(d * d) {axes = [-1]} + 0.001)) * s + b",
        "d * reciprocal(sqrt(reduce_mean(d * d) {axes = [-1]} + 0.001)) * s + b",
        "d * (reciprocal(sqrt(reduce_mean(d * d) {axes = [-1]} + 0.001)) * s) + b",
        "d / pow(reduce_mean(d * d) {axes = [-1]} + 0.001, 0.5) * s + b",
        "let r = reciprocal(sqrt(reduce_mean(d * d) {axes = [-1]} + 0.001)) * s; x * r + (b - m * r)",
        "s * d / sqrt(reduce_mean(pow(x - m, 2.0)) {axes = [-1]} + 0.001) + b",
    ]
    .map(|body| format!("{mean} {body}"));
    let bodies: Vec<&str> = bodies.iter().map(String::as_str).collect();
    all_are(
        "layer_normalization",
        "x: f32[n, 8], param s: f32[8], param b: f32[8]",
        &bodies,
    );
}

#[test]
fn attention() {
    all_are(
        "attention",
        "q: f32[b, 4, s, 16], k: f32[b, 4, t, 16], v: f32[b, 4, t, 16]",
        &[
            // The queries scaled first, the keys scaled, or the scores scaled by a product or a quotient.
            "matmul(softmax(matmul(q * 0.25, transpose(k) {perm = [0, 1, 3, 2]})), v)",
            "matmul(softmax(matmul(q / 4.0, transpose(k) {perm = [0, 1, 3, 2]})), v)",
            "matmul(softmax(matmul(q, transpose(k * 0.25) {perm = [0, 1, 3, 2]})), v)",
            "matmul(softmax(matmul(q, transpose(k) {perm = [0, 1, 3, 2]}) * 0.25), v)",
            "matmul(softmax(0.25 * matmul(q, transpose(k) {perm = [0, 1, 3, 2]})), v)",
            "matmul(softmax(matmul(q, transpose(k) {perm = [0, 1, 3, 2]}) / sqrt(16.0)), v)",
            // Half of the scale on either side, as PyTorch writes scaled_dot_product_attention.
            "let r = sqrt(0.25); matmul(softmax(matmul(q * r, transpose(k) {perm = [0, 1, 3, 2]} * r)), v)",
            "let r = sqrt(sqrt(16.0)); matmul(softmax(matmul(q / r, transpose(k / r) {perm = [0, 1, 3, 2]})), v)",
            // Without scaling.
            "matmul(softmax(matmul(q, transpose(k) {perm = [0, 1, 3, 2]})), v)",
            // By einsum.
            "einsum(softmax(einsum(q, k) {equation = \"bhid,bhjd->bhij\"} * 0.25), v) {equation = \"bhij,bhjd->bhid\"}",
        ],
    );
}

#[test]
fn attention_with_a_mask() {
    all_are(
        "attention",
        "q: f32[b, 4, s, 16], k: f32[b, 4, t, 16], v: f32[b, 4, t, 16], m: f32[b, 1, s, t]",
        &[
            "matmul(softmax(matmul(q, transpose(k) {perm = [0, 1, 3, 2]}) / 4.0 + m), v)",
            "matmul(softmax(m + matmul(q, transpose(k) {perm = [0, 1, 3, 2]}) * 0.25), v)",
            "matmul(softmax(matmul(q * 0.25, transpose(k) {perm = [0, 1, 3, 2]}) + m), v)",
            "let r = sqrt(0.25); matmul(softmax(matmul(q * r, transpose(k * r) {perm = [0, 1, 3, 2]}) + m), v)",
            "matmul(softmax(matmul(q, transpose(k) {perm = [0, 1, 3, 2]}) + m), v)",
        ],
    );
}

#[test]
fn masks_of_one_row_get_all_rows() {
    // ONNX Runtime supports no others.
    for mask in ["f32[b, 1, 1, t]", "f32[1, t]"] {
        let found = optimized(&format!(
            "fn main(q: f32[b, 4, s, 16], k: f32[b, 4, t, 16], v: f32[b, 4, t, 16], m: {mask}) {{
               matmul(softmax(matmul(q, transpose(k) {{perm = [0, 1, 3, 2]}}) / 4.0 + m), v)
             }}"
        ));
        assert_eq!(found, ["attention", "expand"], "{mask}");
    }
}

#[test]
fn attention_of_joined_heads() {
    let heads = |x: &str, perm: &str| format!("transpose(reshape({x}) {{shape = [2, 5, 4, 16]}}) {{perm = {perm}}}");
    let joined = |y: &str| format!("reshape(transpose({y}) {{perm = [0, 2, 1, 3]}}) {{shape = [2, 5, 64]}}");
    let (q, k, v) = (
        heads("q", "[0, 2, 1, 3]"),
        heads("k", "[0, 2, 1, 3]"),
        heads("v", "[0, 2, 1, 3]"),
    );
    let turned = heads("k", "[0, 2, 3, 1]");
    let by_letters = "
        let q = reshape(q) {shape = [2, 5, 4, 16]} * 0.25;
        let k = reshape(k) {shape = [2, 5, 4, 16]};
        let v = reshape(v) {shape = [2, 5, 4, 16]};
        let weights = softmax(einsum(k, q) {equation = \"aecd,abcd->acbe\"});
        reshape(einsum(weights, v) {equation = \"acbe,aecd->abcd\"}) {shape = [2, 5, 64]}";
    let bodies = [
        joined(&format!("matmul(softmax(matmul({q}, {turned}) / 4.0), {v})")),
        joined(&format!(
            "matmul(softmax(matmul({q}, transpose({k}) {{perm = [0, 1, 3, 2]}}) * 0.25), {v})"
        )),
        joined(&format!("matmul(softmax(matmul({q} * 0.25, {turned})), {v})")),
        // As written by Keras.
        by_letters.to_owned(),
    ];
    let bodies: Vec<&str> = bodies.iter().map(String::as_str).collect();
    all_are(
        "attention",
        "q: f32[2, 5, 64], k: f32[2, 5, 64], v: f32[2, 5, 64]",
        &bodies,
    );
}

#[test]
fn attention_of_joined_batch_and_heads() {
    all_are(
        "attention",
        "q: f32[b, s, 16], k: f32[b, t, 16], v: f32[b, t, 16]",
        &[
            "matmul(softmax(matmul(q, transpose(k) {perm = [0, 2, 1]})), v)",
            "matmul(softmax(matmul(q, transpose(k) {perm = [0, 2, 1]}) / 4.0), v)",
            "matmul(softmax(matmul(q * 0.25, transpose(k) {perm = [0, 2, 1]})), v)",
            "matmul(softmax(matmul(q, transpose(k * 0.25) {perm = [0, 2, 1]})), v)",
        ],
    );
    all_are(
        "attention",
        "q: f32[b, s, 16], k: f32[b, t, 16], v: f32[b, t, 16], m: f32[s, t]",
        &[
            "matmul(softmax(matmul(q, transpose(k) {perm = [0, 2, 1]}) + m), v)",
            "matmul(softmax(m + matmul(q / 4.0, transpose(k) {perm = [0, 2, 1]})), v)",
        ],
    );
}

#[test]
fn attention_of_heads_behind_the_sequence() {
    // PyTorch's multi-head attention: batch and heads are merged into one axis, after that of the sequence.
    let heads = |x: &str, perm: &str| format!("transpose(reshape({x}) {{shape = [5, 8, 16]}}) {{perm = {perm}}}");
    let (q, k, v) = (
        heads("q", "[1, 0, 2]"),
        heads("k", "[1, 2, 0]"),
        heads("v", "[1, 0, 2]"),
    );
    let joined = |y: &str| format!("reshape(transpose({y}) {{perm = [1, 0, 2]}}) {{shape = [10, 64]}}");
    let found = optimized(&format!(
        "fn main(q: f32[5, 2, 64], k: f32[5, 2, 64], v: f32[5, 2, 64]) {{ {} }}",
        joined(&format!("matmul(softmax(matmul({q} * 0.25, {k})), {v})"))
    ));
    let turned = ["transpose"; 4];
    assert_eq!(found, [&["attention", "reshape"][..], &turned].concat());
}

#[test]
fn root_mean_square_normalization() {
    all_are(
        "rms_normalization",
        "x: f32[n, 5, 8], param g: f32[8]",
        &[
            "x / sqrt(reduce_mean(x * x) {axes = [2]} + 1e-5) * g",
            "g * (x * reciprocal(sqrt(reduce_mean(pow(x, 2.0)) {axes = [2]} + 1e-5)))",
            "g * (x * pow(reduce_mean(pow(x, 2.0)) {axes = [2]} + 1e-5, -0.5))",
            "x * (1.0 / sqrt(reduce_mean(x * x) {axes = [-1]} + 1e-5)) * g",
            "x / sqrt(1e-5 + reduce_mean(x * x) {axes = [2]})",
        ],
    );
    all_are(
        "rms_normalization",
        "x: f16[n, 5, 8], param g: f16[8]",
        &["let y = cast(x) {to = f32}; g * cast(y / sqrt(reduce_mean(y * y) {axes = [2]} + 1e-5)) {to = f16}"],
    );
}

#[test]
fn layer_normalization_in_parts() {
    let mean = "let d = x - reduce_mean(x) {axes = [2]}; let q = sqrt(reduce_mean(d * d) {axes = [2]} + 1e-5);";
    let bodies = ["d / q", "d / q * g", "d / q + b", "d * reciprocal(q) * g + b"].map(|end| format!("{mean} {end}"));
    all_are(
        "layer_normalization",
        "x: f32[n, 5, 8], param g: f32[8], param b: f32[8]",
        &bodies.each_ref().map(String::as_str),
    );
}

#[test]
fn attention_without_any_key() {
    let scores = "matmul(q * 0.7, transpose(k) {perm = [0, 1, 3, 2]} * 0.7)";
    let bodies = [
        format!("let p = softmax({scores} + m); matmul(where(is_nan(p), 0.0, p), v)"),
        format!("let p = softmax(where(a, {scores}, -inf)); matmul(where(is_nan(p), 0.0, p), v)"),
        format!("matmul(softmax(where(a, {scores}, -inf)), v)"),
        format!("matmul(softmax(tanh({scores} / 50.0) * 50.0 + m), v)"),
    ];
    all_are(
        "attention",
        "q: f32[n, 4, s, 8], k: f32[n, 4, t, 8], v: f32[n, 4, t, 8], m: f32[s, t], a: bool[s, t]",
        &bodies.each_ref().map(String::as_str),
    );
}
