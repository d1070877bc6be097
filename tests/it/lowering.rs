//! What becomes of a graph before it runs: calls that one kernel computes together are one call, by rules.

use std::sync::Arc;

use tautomer::exec::{Executor, Mode, Plan};
use tautomer::graph::Params;
use tautomer::pipeline::Engine;
use tautomer::rule::Class;
use tautomer::{Model, Options, Target, lower, optimize_model, plan, plan_within, random_values};

fn model(text: &str) -> Model {
    Model::from_text("a.taut", text).unwrap_or_else(|e| panic!("{}", e.render(false)))
}

/// The operators of the steps of a plan.
fn steps(plan: &Plan) -> Vec<&str> {
    plan.steps.iter().map(|step| step.op.as_str()).collect()
}

const CONV: &str = "x: f32[1, 5, 9, 17], w: f32[7, 5, 1, 1], r: f32[1, 7, 9, 17]";
const PRODUCT: &str = "x: f32[2, 9, 17], w: f32[17, 33], b: f32[33], r: f32[2, 9, 33]";

/// Programs, and the steps that run.
const ROWS: &[(&str, &str, &[&str])] = &[
    (CONV, "relu(conv(x, w))", &["fused_conv"]),
    (CONV, "relu(conv(x, w) + r)", &["fused_conv"]),
    (CONV, "clip(r + conv(x, w), -0.5, 0.25)", &["fused_conv"]),
    (CONV, "clip(sum(r, conv(x, w)), -0.5, 0.25)", &["fused_conv"]),
    // What is added may be computed after the product.
    (CONV, "relu(conv(x, w) + abs(r))", &["abs", "fused_conv"]),
    // One value is used twice, or is a result.
    (
        CONV,
        "let y = conv(x, w); relu(y) * y + r",
        &["conv", "relu", "mul", "add"],
    ),
    (CONV, "let y = conv(x, w); (y, relu(y), r)", &["conv", "relu"]),
    // One is broadcast.
    (
        "x: f32[1, 5, 9, 17], w: f32[7, 5, 1, 1], r: f32[1, 7, 1, 17]",
        "relu(conv(x, w) + r)",
        &["conv", "add", "relu"],
    ),
    // No kernel computes in other types.
    (
        "x: f64[1, 2, 5], w: f64[3, 2, 2]",
        "relu(conv(x, w))",
        &["conv", "relu"],
    ),
    (PRODUCT, "matmul(x, w) + b", &["fused_matmul"]),
    (PRODUCT, "relu(b + matmul(x, w) + r)", &["fused_matmul"]),
    (PRODUCT, "clip(matmul(x, w) + r, -1.0, 1.0)", &["fused_matmul"]),
    (
        "x: f32[4, 3], w: f32[5, 3], b: f32[5]",
        "relu(dense(x, w, b))",
        &["fused_matmul"],
    ),
    (
        "x: f32[4, 3], w: f32[5, 3], b: f32[5]",
        "relu(gemm(x, w, b) {transB = true})",
        &["fused_matmul"],
    ),
    (
        "x: f32[4, 3], w: f32[3, 5], b: f32[5]",
        "relu(gemm(x, w, b) {alpha = 2.0})",
        &["gemm", "relu"],
    ),
];

#[test]
fn what_one_kernel_computes_is_one_step() {
    for (inputs, body, wanted) in ROWS {
        let text = format!("fn main({inputs}) {{ {body} }}");
        let given = model(&text);
        let graph = &given.workload.graph;
        let plan = plan(graph).unwrap();
        assert_eq!(steps(&plan), *wanted, "{text}");
        let (inputs, _) = random_values(graph, 1).unwrap();
        let original = Executor::new(Plan::compile(graph).unwrap(), Mode::Reference).unwrap();
        let executor = Executor::new(plan, Mode::Kernels).unwrap();
        let want = original.run(&inputs, &Params::new()).unwrap();
        let got = executor.run(&inputs, &Params::new()).unwrap();
        for (got, want) in got.iter().zip(&want) {
            assert_eq!(got.ty(), want.ty(), "{text}");
            let (got, want) = (got.to_f64s().unwrap(), want.to_f64s().unwrap());
            assert!(got.iter().zip(&want).all(|(a, b)| (a - b).abs() < 1e-4), "{text}");
        }
        for i in 0..executor.plan().steps.len() {
            assert!(!executor.is_by_reference(i) || text.contains("f64"), "{text}");
        }
    }
}

const BYTES: &str = "x: u8[1, 3, 6, 6], w: i8[5, 3, 3, 3], s: f32[5], z: i8[5], b: f32[5]";
const MATRICES: &str = "x: u8[4, 6], w: i8[6, 5], s: f32[5], z: i8[5], b: f32[5]";

/// Programs with numbers that were bytes, and the steps that run if results may be equal in the real numbers.
const QUANTIZED: &[(&str, &str, &[&str])] = &[
    (
        BYTES,
        "quantize_linear(relu(conv(dequantize_linear(x, 0.5f32, 3u8), dequantize_linear(w, s, z) {axis = 0}, b)), 2.5f32, 7u8)",
        &["quantized_conv"],
    ),
    (
        BYTES,
        "quantize_linear(conv(dequantize_linear(x, 0.5f32, 3u8), dequantize_linear(w, s, z) {axis = 0}), 2.5f32, -7i8)",
        &["quantized_conv"],
    ),
    // Numbers with several uses, of which one is no product: they are made once, by the steps of the body.
    (
        BYTES,
        "let d = dequantize_linear(x, 0.5f32, 3u8); let v = dequantize_linear(w, s, z) {axis = 0};
         (conv(d, v), clip(conv(d, v, b), 0.0, 6.0), abs(d), d)",
        &["cast", "cast", "sub", "mul", "quantized_conv", "quantized_conv", "abs"],
    ),
    (
        MATRICES,
        "quantize_linear(matmul(dequantize_linear(x, 0.5f32, 3u8), dequantize_linear(w, s, z) {axis = 1}) + b, 1.5f32, 7u8)",
        &["quantized_matmul"],
    ),
    (
        "x: i8[4, 6], w: u8[5, 6], s: f32[5], z: u8[5], b: f32[5]",
        "relu(gemm(dequantize_linear(x, 0.5f32, 3i8), dequantize_linear(w, s, z) {axis = 0}, b) {transB = true})",
        &["quantized_matmul"],
    ),
];

/// Numbers that were bytes are never made for a product, unless results have to be the same bits.
#[test]
fn products_of_bytes_are_summed_as_integers() {
    for (inputs, body, wanted) in QUANTIZED {
        let text = format!("fn main({inputs}) {{ {body} }}");
        let given = model(&text);
        let graph = &given.workload.graph;
        let plan = plan(graph).unwrap();
        let sorted = |mut names: Vec<&str>| {
            names.sort_unstable();
            names.join(" ")
        };
        assert_eq!(sorted(steps(&plan)), sorted(wanted.to_vec()), "{text}");
        let exact = plan_within(graph, Class::Bitwise).unwrap();
        assert!(steps(&exact).iter().all(|op| !op.starts_with("quantized_")), "{text}");
        let (inputs, _) = random_values(graph, 1).unwrap();
        let original = Executor::new(Plan::compile(graph).unwrap(), Mode::Reference).unwrap();
        let executor = Executor::new(plan, Mode::Kernels).unwrap();
        let want = original.run(&inputs, &Params::new()).unwrap();
        let got = executor.run(&inputs, &Params::new()).unwrap();
        for (got, want) in got.iter().zip(&want) {
            assert_eq!(got.ty(), want.ty(), "{text}");
            // A number halfway between two bytes may become either.
            let allowed = if got.dtype().is_float() { 1e-3 } else { 1.0 };
            let (got, want) = (got.to_f64s().unwrap(), want.to_f64s().unwrap());
            assert!(got.iter().zip(&want).all(|(a, b)| (a - b).abs() <= allowed), "{text}");
        }
        for (i, step) in executor.plan().steps.iter().enumerate() {
            assert!(
                !step.op.as_str().starts_with("quantized_") || !executor.is_by_reference(i),
                "{text}"
            );
        }
    }
}

/// The target has the same rules, and extraction chooses what they make.
#[test]
fn the_target_makes_calls_of_kernels() {
    let target = Arc::new(Target::named("tautomer").unwrap());
    for engine in [Engine::Saturate, Engine::Substitute] {
        let mut options = Options::default().target(target.clone()).check(2);
        options.engine = engine;
        let text = format!("fn main({CONV}) {{ relu(conv(x, w) + r) }}");
        let optimized = optimize_model(model(&text), &options).unwrap_or_else(|e| panic!("{}", e.render(false)));
        let graph = &optimized.model.workload.graph;
        assert_eq!(graph.call_count(), 1, "{}", optimized.model.to_text());
        // It is what runs already.
        assert_eq!(steps(&plan(graph).unwrap()), ["fused_conv"]);
        assert_eq!(lower(graph).unwrap().call_count(), 1);
        // A model file has no form of it.
        let bytes = optimized.model.to_onnx().unwrap();
        let written = Model::from_onnx(&bytes).unwrap();
        assert!(!written.to_text().contains("fused"), "{}", written.to_text());
        assert_eq!(written.workload.graph.call_count(), 3);
    }
}

/// A model that was optimized for the target, and then written, has the calls that the file can have, and runs as before.
#[test]
fn model_files_have_no_calls_of_kernels() {
    let text = format!("fn main({CONV}) {{ relu(conv(x, w) + r) }}");
    let given = Model::from_onnx(&model(&text).to_onnx().unwrap()).unwrap();
    for target in ["tautomer", "onnx", "onnxruntime"] {
        let options = Options::default().target(Arc::new(Target::named(target).unwrap()));
        let optimized = optimize_model(given.clone(), &options).unwrap_or_else(|e| panic!("{}", e.render(false)));
        assert_eq!(optimized.model.to_text().contains("fused_conv"), target == "tautomer");
        let written = Model::from_onnx(&optimized.model.to_onnx().unwrap()).unwrap();
        assert!(!written.to_text().contains("fused_"), "{}", written.to_text());
        if target != "onnxruntime" {
            assert_eq!(steps(&plan(&written.workload.graph).unwrap()), ["fused_conv"]);
        }
    }
}

/// Functions of control flow are lowered, too.
#[test]
fn functions_are_lowered() {
    let text = "
        fn one(x: f32[4, 3], w: f32[3, 5]) { relu(x @ w) }
        fn other(x: f32[4, 3], w: f32[3, 5]) { abs(x @ w) }
        fn main(c: bool, x: f32[4, 3], w: f32[3, 5]) {
          branch(c, x, w) {then_branch = one, else_branch = other}
        }";
    let given = model(text);
    let count = |graph: &tautomer::graph::Graph| -> usize {
        let attrs = graph.ids().filter_map(|v| match &graph.vertex(v).node {
            tautomer::graph::Node::Call { attrs, .. } => Some(attrs.clone()),
            _ => None,
        });
        let calls =
            |attrs: tautomer::op::Attrs| -> usize { attrs.iter().filter_map(|a| Some(a.region()?.call_count())).sum() };
        attrs.map(calls).sum()
    };
    let lowered = lower(&given.workload.graph).unwrap();
    assert_eq!(count(&given.workload.graph), 4);
    assert_eq!(count(&lowered), 3);
    let inputs = random_values(&lowered, 1).unwrap().0;
    let run = |graph| {
        let executor = Executor::new(Plan::compile(graph).unwrap(), Mode::Kernels).unwrap();
        executor.run(&inputs, &Params::new()).unwrap()
    };
    assert_eq!(run(&lowered), run(&given.workload.graph));
}
