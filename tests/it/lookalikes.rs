//! Programs that other optimizers have been known to miscompile: each result is validated against its program, and
//! patterns that only resemble a known operator are not recognized as it.

use std::sync::Arc;

use tautomer::diag::Source;
use tautomer::graph::{BuildOptions, Params, Workload, build_program};
use tautomer::lang::parse_program;
use tautomer::pipeline::{Options, optimize};
use tautomer::verify::{GraphOptions, GraphVerdict, verify_graphs};

fn workload(text: &str) -> Workload {
    let source = Arc::new(Source::new("lookalike", text));
    let graph = parse_program(source).and_then(|program| build_program(&program, &BuildOptions::default()));
    Workload {
        graph: graph.unwrap_or_else(|problems| panic!("{text}\n{}", problems.render(false))),
        params: Params::default(),
    }
}

/// The optimized program, which is checked to be equal to the program.
fn validated(text: &str) -> Workload {
    let original = workload(text);
    let optimized = match optimize(original.clone(), &Options::default()) {
        Ok(outcome) => outcome.workload,
        Err(problems) => panic!("{text}\n{}", problems.render(false)),
    };
    let report = verify_graphs(&original, &optimized, &GraphOptions::default());
    assert!(
        !matches!(report.verdict, GraphVerdict::Refuted(_) | GraphVerdict::Undecided(_)),
        "{text}\n{}",
        report.verdict
    );
    optimized
}

fn has(workload: &Workload, operator: &str) -> bool {
    let graph = &workload.graph;
    graph
        .ids()
        .any(|v| graph.vertex(v).op().is_some_and(|op| op.name() == operator))
}

#[test]
fn padding_before_pools() {
    let pads = "{pads = [0, 0, 1, 1, 0, 0, 1, 1]}";
    for pool in [
        "average_pool(p) {kernel_shape = [3, 3]}",
        "average_pool(p) {kernel_shape = [3, 3], count_include_pad = true}",
        "average_pool(p) {kernel_shape = [2, 2], strides = [2, 2], pads = [0, 0, 1, 1]}",
        "average_pool(p) {kernel_shape = [2, 2], strides = [2, 2], pads = [1, 1, 1, 1], count_include_pad = true}",
        "average_pool(p) {kernel_shape = [3, 3], strides = [2, 2], ceil_mode = true}",
        "max_pool(p) {kernel_shape = [3, 3]}",
        "max_pool(p) {kernel_shape = [2, 2], strides = [2, 2], ceil_mode = true}",
    ] {
        validated(&format!(
            "fn main(x: f32[1, 2, 5, 6]) {{ let p = pad(x) {pads}; {pool} }}"
        ));
    }
    // Padding with a value other than zero is not the padding of a convolution.
    validated(
        "fn main(x: f32[1, 2, 5, 6], param w: f32[3, 2, 3, 3]) {
           conv(pad(x) {pads = [0, 0, 1, 1, 0, 0, 1, 1], value = 1.0}, w)
         }",
    );
    validated(
        "fn main(x: f32[1, 2, 5, 6], param w: f32[3, 3, 3, 3]) {
           conv(pad(x) {pads = [0, 1, 1, 1, 0, 0, 1, 1]}, w)
         }",
    );
}

#[test]
fn batch_normalization_and_its_neighbours() {
    let norm = "batch_normalization(c, s, b, m, v) {epsilon = 0.01}";
    let params = "param s: f32[4], param b: f32[4], param m: f32[4], param v: f32[4]";
    for body in [
        format!("let c = conv(x, w) {{group = 1}}; {norm}"),
        format!("let c = relu(conv(x, w)); {norm}"),
        format!("let c = conv(x, w); {norm} + c"),
        format!("let c = conv(x, w) {{pads = [1, 1, 1, 1]}}; relu({norm})"),
    ] {
        validated(&format!(
            "fn main(x: f32[1, 2, 5, 5], param w: f32[4, 2, 3, 3], {params}) {{ {body} }}"
        ));
    }
    validated(&format!(
        "fn main(x: f32[1, 4, 5, 5], param w: f32[4, 2, 3, 3], {params}) {{
           let c = conv_transpose(x, w) {{group = 2}}; {norm}
         }}"
    ));
    validated(&format!(
        "fn main(c: f32[1, 4, 5, 5], param w: f32[2, 4, 3, 3], {params}) {{
           conv({norm}, w) {{pads = [1, 1, 1, 1]}}
         }}"
    ));
}

#[test]
fn what_looks_like_nothing() {
    for text in [
        "fn main(x: f32[2, 3, 4]) { reshape(x) {shape = [4, 3, 2]} }",
        "fn main(x: f32[2, 3, 4]) { reshape(x) {shape = [0, 0, -1]} }",
        "fn main(x: f32[n, 3]) { reshape(x) {shape = [n, 3]} }",
        "fn main(x: f32[n, m]) { reshape(reshape(x) {shape = [m, n]}) {shape = [n, m]} }",
        "fn main(x: f32[3, 1]) { expand(x) {shape = [3, 1]} + expand(x) {shape = [3, 4]} }",
        "fn main(x: f32[3], y: f32[3, 3]) { (x + 0.0) * y }",
        "fn main(x: f32[3]) { cast(cast(x) {to = i32}) {to = f32} }",
        "fn main(x: i64[3]) { cast(cast(x) {to = i8}) {to = i64} }",
        "fn main(x: f32[3]) { clip(clip(x) {min = 0.0, max = 6.0}) {min = 1.0, max = 3.0} }",
        "fn main(x: f32[3]) { relu(clip(x) {min = -1.0, max = 6.0}) }",
        "fn main(x: f32[3, 4]) { concat(x) {axis = 1} }",
        "fn main(x: f32[3, 4]) { transpose(transpose(x) {perm = [1, 0]}) {perm = [0, 1]} }",
        "fn main(x: f32[2, 3, 4]) { transpose(transpose(x) {perm = [1, 2, 0]}) {perm = [1, 2, 0]} }",
        "fn main(x: f32[3]) { x / x }",
        "fn main(x: f32[3]) { sqrt(x * x) }",
    ] {
        validated(text);
    }
}

#[test]
fn slices_and_squeezes_that_follow_each_other() {
    for text in [
        "fn main(x: f32[9]) { slice(slice(x) {starts = [2], ends = [8]}) {starts = [1], ends = [-1]} }",
        "fn main(x: f32[9]) { slice(slice(x) {starts = [-7], ends = [9]}) {starts = [-2], ends = [100]} }",
        "fn main(x: f32[9]) { slice(slice(x) {starts = [8], ends = [0], steps = [-2]}) {starts = [1], ends = [3]} }",
        "fn main(x: f32[9]) { slice(slice(x) {starts = [0], ends = [9], steps = [2]}) {starts = [1], ends = [4], steps = [2]} }",
        "fn main(x: f32[4, 5]) { slice(slice(x) {starts = [1], ends = [3], axes = [0]}) {starts = [1], ends = [4], axes = [1]} }",
        "fn main(x: f32[4, 5]) { slice(slice(x) {starts = [1], ends = [3], axes = [-1]}) {starts = [1], ends = [2], axes = [1]} }",
        "fn main(x: f32[n, 5]) { slice(slice(x) {starts = [1], ends = [3], axes = [0]}) {starts = [0], ends = [1], axes = [0]} }",
        "fn main(x: f32[1, 3, 1, 4]) { squeeze(squeeze(x) {axes = [0]}) {axes = [1]} }",
        "fn main(x: f32[1, 3, 1, 4, 1]) { squeeze(squeeze(x) {axes = [-1]}) {axes = [-2]} }",
        "fn main(x: f32[3, 4]) { unsqueeze(unsqueeze(x) {axes = [1]}) {axes = [1]} }",
        "fn main(x: f32[3, 4]) { squeeze(unsqueeze(unsqueeze(x) {axes = [0]}) {axes = [2]}) {axes = [0]} }",
        "fn main(x: f32[4, 6]) { let s = split(x) {axis = 1, sizes = [2, 4]}; concat(s.1, s.0) {axis = 1} }",
        "fn main(x: f32[4, 6]) { let s = split(x) {axis = 1, sizes = [2, 4]}; concat(s.0, s.1) {axis = 1} }",
    ] {
        validated(text);
    }
}

#[test]
fn what_looks_like_layer_normalization() {
    let params = "x: f32[2, 4, 4], param s: f32[4], param b: f32[4]";
    for body in [
        // The mean is over a different axis than the variance.
        "let d = x - reduce_mean(x) {axes = [1]}; d / sqrt(reduce_mean(d * d) {axes = [2]} + 0.001) * s + b",
        // The axis is not the last one.
        "let d = x - reduce_mean(x) {axes = [1]}; d / sqrt(reduce_mean(d * d) {axes = [1]} + 0.001) * s + b",
        // Epsilon is outside the root.
        "let d = x - reduce_mean(x) {axes = [2]}; d / (sqrt(reduce_mean(d * d) {axes = [2]}) + 0.001) * s + b",
        // A sum instead of a mean.
        "let d = x - reduce_mean(x) {axes = [2]}; d / sqrt(reduce_sum(d * d) {axes = [2]} + 0.001) * s + b",
        // The square of the number itself.
        "let d = x - reduce_mean(x) {axes = [2]}; d / sqrt(reduce_mean(x * x) {axes = [2]} + 0.001) * s + b",
        // A cube.
        "let d = x - reduce_mean(x) {axes = [2]}; d / sqrt(reduce_mean(pow(d, 4.0)) {axes = [2]} + 0.001) * s + b",
    ] {
        let result = validated(&format!("fn main({params}) {{ {body} }}"));
        assert!(!has(&result, "layer_normalization"), "{body}");
    }
    let real = "let d = x - reduce_mean(x) {axes = [2]}; d / sqrt(reduce_mean(d * d) {axes = [2]} + 0.001) * s + b";
    let result = validated(&format!("fn main({params}) {{ {real} }}"));
    assert!(has(&result, "layer_normalization"));
}
