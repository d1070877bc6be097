//! Targets: what they say, what becomes of calls that they do not have, and messages about wrong ones.

use std::fs;
use std::path::Path;
use std::sync::Arc;

use tautomer::diag::Diagnostics;
use tautomer::formats::onnx::decode_model;
use tautomer::pipeline::Engine;
use tautomer::rule::target_files;
use tautomer::{Model, Optimized, Options, TARGETS, Target, optimize_model, shipped_targets};

use super::command::{folder, run};

fn model(text: &str) -> Model {
    Model::from_text("a.taut", text).unwrap_or_else(|e| panic!("{}", e.render(false)))
}

fn target(text: &str) -> Arc<Target> {
    Arc::new(Target::from_text("a.target", text).unwrap_or_else(|e| panic!("{}", e.render(false))))
}

fn optimized(text: &str, target: &Arc<Target>) -> Optimized {
    let options = Options::default().target(target.clone()).check(2);
    optimize_model(model(text), &options).unwrap_or_else(|e| panic!("{}", e.render(false)))
}

fn named(name: &str) -> Arc<Target> {
    Arc::new(Target::named(name).unwrap_or_else(|e| panic!("{}", e.render(false))))
}

/// The operators of the nodes of an ONNX model.
fn nodes(bytes: &[u8]) -> Vec<String> {
    let model = decode_model(bytes.to_vec().into()).unwrap();
    let graph = model.graph.unwrap();
    let name = |node: &tautomer::formats::onnx::proto::NodeProto| {
        let op = node.op_type.clone().unwrap_or_default();
        match node.domain.as_deref().unwrap_or_default() {
            "" => op,
            domain => format!("{domain}::{op}"),
        }
    };
    graph.node.iter().map(name).filter(|op| op != "Constant").collect()
}

#[test]
fn targets_that_come_with_the_tool_are_right_and_shown_as_they_are_read() {
    let mut files: Vec<String> = fs::read_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("targets"))
        .unwrap()
        .map(|entry| format!("targets/{}", entry.unwrap().file_name().to_string_lossy()))
        .collect();
    files.sort();
    let mut built_in: Vec<&str> = target_files().iter().map(|(name, _)| *name).collect();
    built_in.sort_unstable();
    assert_eq!(files, built_in);
    let all = shipped_targets().unwrap_or_else(|e| panic!("{}", e.render(false)));
    assert_eq!(all.len(), TARGETS.len());
    for target in &all {
        assert!(!target.doc.is_empty(), "{}", target.name);
        // What is shown means the same without the targets that it extends.
        let shown = target.to_string();
        let again =
            Target::from_text("shown.target", &shown).unwrap_or_else(|e| panic!("{shown}\n{}", e.render(false)));
        assert_eq!(again.to_string(), shown);
    }
}

#[test]
fn messages_about_targets() {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/files/fail-targets");
    let mut files: Vec<_> = fs::read_dir(directory).unwrap().map(|e| e.unwrap().path()).collect();
    files.sort();
    assert!(files.len() >= 5);
    for path in files {
        let text = fs::read_to_string(&path).unwrap();
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        let found: Diagnostics = match Target::from_text(&name, &text) {
            Ok(target) => panic!("{name} has no problem: {target}"),
            Err(problems) => problems,
        };
        assert!(
            found.iter().all(|p| tautomer::diag::explain(p.code).is_some()),
            "{found}"
        );
        let stem = path.file_stem().unwrap().to_string_lossy().into_owned();
        insta::with_settings!({ prepend_module_to_snapshot => false, snapshot_path => "snapshots/targets", omit_expression => true }, {
            insta::assert_snapshot!(stem, found.render(false));
        });
    }
}

#[test]
fn composite_operators_are_replaced_by_their_bodies_whatever_that_costs() {
    let text = "fn main(x: f32[2, 3, 8], g: f32[8], b: f32[8]) {
      hard_swish(layer_normalization(x, g, b) {axis = -1})
    }";
    for engine in [Engine::Saturate, Engine::Substitute] {
        let options = Options::default().target(named("npu")).engine(engine);
        let result = optimize_model(model(text), &options).unwrap_or_else(|e| panic!("{}", e.render(false)));
        assert_eq!(result.illegal(), [], "{engine:?}: {}", result.model.to_text());
        assert!(result.check.as_ref().is_some_and(|check| !check.is_wrong()));
        let lowered: Vec<(&str, usize)> = result.lowered().iter().map(|(name, n)| (&**name, *n)).collect();
        assert_eq!(lowered, [("hard_swish", 1), ("layer_normalization", 1)], "{engine:?}");
        let ops = nodes(&result.model.to_onnx().unwrap());
        assert!(
            ops.iter().all(|op| op != "HardSwish" && op != "LayerNormalization"),
            "{ops:?}"
        );
    }
    // Legality comes before cost: however expensive the parts are, the whole may not stay.
    let target =
        target("target dear { format program only mul, add, clip, div cost mul, add, clip, div * 1000000000 }");
    let result = optimized("fn main(x: f32[4]) { hard_swish(x) }", &target);
    assert_eq!(result.illegal(), [], "{}", result.model.to_text());
    assert!(result.report.cost.1 > result.report.cost.0, "{:?}", result.report.cost);
}

#[test]
fn rules_of_a_target_replace_what_it_does_not_have() {
    // The rule costs more than it saves, so it is used only where it has to be.
    let dir = folder(&[
        (
            "lower.rules",
            "/// By the exponential function.\nrule sigmoid-by-exp(x) { sigmoid(x) => 1.0 / (1.0 + exp(-x)) numerics real }\n",
        ),
        (
            "small.target",
            "/// Small.\ntarget small { format program only relu, add, div, exp, neg, matmul rules \"lower.rules\" }\n",
        ),
        (
            "large.target",
            "target large { extends \"small.target\" allow sigmoid }\n",
        ),
        ("a.taut", "fn main(x: f32[4, 4]) { sigmoid(relu(x)) }\n"),
    ]);
    let small = run(dir.path(), "optimize a.taut --target small.target");
    assert_eq!(small.code, 0, "{}", small.err);
    assert!(
        small.out.contains("exp(") && !small.out.contains("sigmoid"),
        "{}",
        small.out
    );
    assert!(
        small.err.contains("replaced, as small does not have it: sigmoid 1"),
        "{}",
        small.err
    );
    assert!(small.err.contains("sigmoid-by-exp"), "{}", small.err);
    let large = run(dir.path(), "optimize a.taut --target large.target");
    assert_eq!((large.code, large.out.contains("sigmoid(")), (0, true), "{}", large.out);
    let checked = run(dir.path(), "targets check small.target large.target");
    assert_eq!(
        (checked.code, checked.err.as_str()),
        (0, "2 targets without problems\n")
    );
}

#[test]
fn what_cannot_be_replaced_is_listed_with_place_reason_and_nearest_form() {
    let dir = folder(&[(
        "a.taut",
        "fn main(x: f32[n, 2, 4], y: f64[3], z: f32[2, 2, 2, 2, 2]) {\n  let s = relu(x);\n  let t = erf(abs(y));\n  (s, t, transpose(z) {perm = [4, 3, 2, 1, 0]}, gelu(z))\n}\n",
    )]);
    let done = run(dir.path(), "optimize a.taut --target npu -o a.onnx --no-check");
    assert_eq!(done.code, 1, "{}", done.err);
    // The result is written as far as it goes.
    assert!(dir.path().join("a.onnx").exists());
    let shown: String = done
        .err
        .lines()
        .skip_while(|line| !line.contains("T0411"))
        .map(|l| format!("{l}\n"))
        .collect();
    insta::with_settings!({ prepend_module_to_snapshot => false, snapshot_path => "snapshots/targets", omit_expression => true }, {
        insta::assert_snapshot!("left", shown);
    });
    let json = run(
        dir.path(),
        "optimize a.taut --target npu -o b.onnx --no-check --json -q",
    )
    .json();
    assert_eq!(json["target"]["name"], "npu");
    assert!(json["target"]["illegal"].as_array().unwrap().len() >= 4, "{json}");
    // With shapes, types and ranks that the target has, nothing is left.
    let right = "fn main(x: f32[1, 2, 4], y: f32[3]) { (relu(x), tanh(y)) }";
    assert_eq!(optimized(right, &named("npu")).illegal(), []);
}

#[test]
fn tensors_of_more_axes_are_avoided_where_rules_can() {
    let text = "fn main(x: f32[1, 16, 4, 4]) {
      let y = relu(reshape(x) {shape = [1, 8, 2, 4, 4]});
      reshape(y * 2.0) {shape = [1, 16, 16]}
    }";
    let result = optimized(text, &named("npu"));
    assert_eq!(result.illegal(), [], "{}", result.model.to_text());
    assert!(result.lowered().contains_key("reshape"), "{:?}", result.lowered());
}

/// Dimensions that are together the shape of a value are one node, also where each was first seen in another value.
#[test]
fn dimensions_that_are_a_shape_are_one_node() {
    let text =
        "fn main(x: f32[b, n, 8], y: f32[b, n, n]) { (x, y, constant_of_shape() {shape = [b, n, n], value = 1.0}) }";
    let written = optimized(text, &named("onnx")).model.to_onnx().unwrap();
    assert_eq!(nodes(&written), ["Shape", "ConstantOfShape"]);
}

/// The target of a runtime names the rules for its operators: what no body computes as it is written is found by them.
#[test]
fn rules_of_a_runtime_are_used_there() {
    let there = |text: &str| nodes(&optimized(text, &named("onnxruntime")).model.to_onnx().unwrap());
    let text =
        "fn main(x: f32[1, 2, 6, 6], w: f32[3, 2, 3, 3], b: f32[3], z: f32[1, 3, 4, 4]) { relu(z + conv(x, w, b)) }";
    assert_eq!(there(text), ["com.microsoft::FusedConv"]);
    let text = "fn main(x: f32[1, 2, 6, 6], w: f32[3, 2, 3, 3], z: f32[1, 3, 4, 4]) { conv(x, w) + z }";
    assert_eq!(there(text), ["com.microsoft::FusedConv"]);
    let text = "fn main(x: f32[2, 3, 4], y: f32[2, 5, 4]) { matmul(x, transpose(y) {perm = [0, 2, 1]}) * 0.5 }";
    assert_eq!(there(text), ["com.microsoft::FusedMatMul"]);
}

#[test]
fn operators_of_a_runtime_are_used_there_and_nowhere_else() {
    let text = "fn main(x: f32[2, 8]) { x * sigmoid(x * 1.702) }";
    let there = optimized(text, &named("onnxruntime"));
    assert_eq!(nodes(&there.model.to_onnx().unwrap()), ["com.microsoft::QuickGelu"]);
    assert_eq!(there.illegal(), []);
    // A standard target writes its body instead.
    let again = Model::from_onnx(&there.model.to_onnx().unwrap()).unwrap();
    for name in ["onnx", "onnx-24"] {
        let options = Options::default().target(named(name)).check(2);
        let standard = optimize_model(again.clone(), &options).unwrap_or_else(|e| panic!("{}", e.render(false)));
        let ops = nodes(&standard.model.to_onnx().unwrap());
        assert!(ops.iter().all(|op| !op.contains("::")), "{name}: {ops:?}");
        assert_eq!(standard.illegal(), [], "{name}");
        assert_eq!(standard.lowered().values().sum::<usize>(), 1, "{name}");
    }
}

/// What networks have beyond four axes and the operators of the target is written out by the rules of the set `lower`.
#[test]
fn rules_see_through_operators_of_a_runtime() {
    let text = r#"fn main(q: f32[1, 2, 3, 8], k: f32[1, 2, 5, 8], v: f32[1, 2, 5, 8]) {
        let scores = "com.microsoft::FusedMatMul"(q, k) {transB = true, alpha = 0.5};
        matmul(softmax(scores), v)
    }"#;
    let model = Model::from_text("a.taut", text).unwrap_or_else(|e| panic!("{}", e.render(false)));
    let options = Options::default().target(named("onnxruntime")).check(2);
    let found = optimize_model(model, &options).unwrap_or_else(|e| panic!("{}", e.render(false)));
    assert_eq!(nodes(&found.model.to_onnx().unwrap()), ["Attention"]);
}

#[test]
fn what_is_computed_ahead_of_time_need_not_be_an_operator_of_the_target() {
    // The bias of the keys is made by `zeros_like`, which ONNX has not got.
    let text = "fn main(x: f32[2, 3, 4]) {
        let w = [[1.0, 2.0], [3.0, -1.0], [0.5, 1.0], [2.0, 0.25]];
        let b = [0.5, -0.5];
        let y = attention(matmul(x, w) + b, matmul(x, w * 2.0), matmul(x, w * 3.0) + b) {
          q_num_heads = 1, kv_num_heads = 1, scale = 0.5,
        };
        y
    }";
    let found = optimized(text, &named("onnxruntime"));
    let made = nodes(&found.model.to_onnx().unwrap());
    assert_eq!(made, ["com.microsoft::Attention"]);
}

#[test]
fn networks_are_lowered_to_few_operators_on_four_axes() {
    for text in [
        // A shuffle of channels, windows of an image, and keys for groups of queries.
        "fn main(x: f32[1, 6, 4, 5]) {
           let u = reshape(relu(x)) {shape = [1, 2, 3, 4, 5]};
           reshape(transpose(u) {perm = [0, 2, 1, 3, 4]}) {shape = [1, 6, 4, 5]}
         }",
        "fn main(x: f32[1, 4, 6, 5]) {
           let u = reshape(relu(x)) {shape = [1, 2, 2, 2, 3, 5]};
           reshape(transpose(u) {perm = [0, 1, 3, 2, 4, 5]}) {shape = [4, 6, 5]}
         }",
        "fn main(x: f32[1, 2, 3, 4]) {
           let g = expand(unsqueeze(relu(x)) {axes = [2]}) {shape = [1, 2, 2, 3, 4]};
           reshape(g) {shape = [1, 4, 3, 4]}
         }",
        "fn main(x: f32[4, 3], y: f32[4, 3], i: i64[1, 1, 2, 2]) {
           let far = x <= y and not is_nan(x) or x >= y + 1.0;
           reshape(gather(where(far, x, y), i) {axis = 0}) {shape = [4, 3]}
         }",
    ] {
        let result = optimized(text, &named("npu"));
        assert_eq!(result.illegal(), [], "{text}\n{}", result.model.to_text());
    }
}

#[test]
fn the_operator_set_of_a_target_holds_upwards_and_downwards() {
    let text = "fn main(x: f32[2, 8]) { gelu(x) }";
    let opset = |bytes: &[u8]| {
        decode_model(bytes.to_vec().into()).unwrap().opset_import[0]
            .version
            .unwrap()
    };
    let at = |target: &str| {
        let result = optimized(text, &Arc::new(Target::from_text("a.target", target).unwrap()));
        assert_eq!(result.illegal(), []);
        let bytes = result.model.to_onnx().unwrap();
        (opset(&bytes), nodes(&bytes).contains(&"Gelu".to_owned()))
    };
    assert_eq!(at("target old { extends onnx opset 13 }"), (13, false));
    assert_eq!(at("target new { extends onnx opset 24 }"), (24, true));
    // A model of a newer operator set is written for the older one.
    let newer = Model::from_onnx(&model(text).to_onnx().unwrap()).unwrap();
    let old = target("target old { extends onnx opset 13 }");
    let result = optimize_model(newer, &Options::default().target(old)).unwrap();
    assert_eq!(opset(&result.model.to_onnx().unwrap()), 13);
}

#[test]
fn conditions_on_operators_name_their_operands_and_attributes() {
    let small = target("target small { format program where w.shape[2] <= 3, group == 1 for conv }");
    let conv = |k: usize, group: usize| {
        let text = format!(
            "fn main(x: f32[1, 2, 9, 9], param w: f32[2, {}, {k}, {k}]) {{ conv(x, w) {{group = {group}}} }}",
            2 / group
        );
        optimized(&text, &small)
            .illegal()
            .iter()
            .map(|item| item.reason.clone())
            .collect::<Vec<_>>()
    };
    assert_eq!(conv(3, 1), [""; 0]);
    assert_eq!(conv(3, 2).len(), 1);
    assert!(
        conv(5, 1)[0].starts_with("`w.shape[2] <= 3` does not hold: `x` is"),
        "{:?}",
        conv(5, 1)
    );
}

#[test]
fn costs_of_a_target_decide_between_legal_forms() {
    let cost = |text: &str, target: &Arc<Target>| optimized(text, target).report.cost.1;
    let one = target("target one { format program }");
    let slow = target("target slow { format program machine launch = 20, gflops = 5, bandwidth = 1 }");
    let dear = target("target dear { extends tautomer cost relu * 3 }");
    let text = "fn main(x: f32[64, 64]) { relu(x) }";
    let usual = cost(text, &one);
    assert!((cost(text, &slow) / usual - 10.0).abs() < 1e-6);
    assert!((cost(text, &dear) / usual - 3.0).abs() < 1e-6);
    // Where a fused operator is dear, its parts are cheaper.
    let apart = target("target apart { extends tautomer cost gemm * 100 }");
    let text = "fn main(x: f32[8, 8], param w: f32[8, 8], param b: f32[8]) { matmul(x, w) + b }";
    assert!(optimized(text, &one).model.to_text().contains("gemm"));
    assert!(!optimized(text, &apart).model.to_text().contains("gemm"));
}

#[test]
fn the_default_for_onnx_is_the_target_onnx() {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/files/run");
    let mut files: Vec<_> = fs::read_dir(&directory)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|suffix| suffix == "taut"))
        .collect();
    files.sort();
    let mut compared = 0;
    for path in files {
        let Ok(Ok(bytes)) = Model::open(&path).map(|model| model.to_onnx()) else {
            continue;
        };
        let result = |options: Options| {
            let model = Model::from_onnx(&bytes).unwrap();
            optimize_model(model, &options.check(0))
                .unwrap()
                .model
                .to_onnx()
                .unwrap()
        };
        let (without, with) = (
            result(Options::default()),
            result(Options::default().target(named("onnx"))),
        );
        assert!(without == with, "{}", path.display());
        compared += 1;
    }
    assert!(compared >= 5, "{compared}");
}

#[test]
fn unknown_targets_and_blocks_of_the_page() {
    let dir = folder(&[("a.taut", "fn main(x: f32[2]) { relu(x) }"), ("a.txt", "target a {}")]);
    let misspelt = run(dir.path(), "optimize a.taut --target onnxruntim");
    assert_eq!(misspelt.code, 2);
    assert!(misspelt.err.contains("did you mean `onnxruntime`?"), "{}", misspelt.err);
    let missing = run(dir.path(), "targets check b.target");
    assert_eq!(
        (missing.code, missing.err.contains("b.target")),
        (2, true),
        "{}",
        missing.err
    );
    let docs = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs");
    let page = fs::read_to_string(docs.join("targets.md")).unwrap();
    let name = docs.join("mine.target").to_string_lossy().into_owned();
    let mut blocks = 0;
    for block in page.split("```target\n").skip(1) {
        let text = block.split("```").next().unwrap();
        Target::from_text(&name, text).unwrap_or_else(|e| panic!("{}", e.render(false)));
        blocks += 1;
    }
    assert!(blocks >= 1, "{blocks}");
    let list = run(dir.path(), "targets list");
    for name in TARGETS.iter() {
        assert!(list.out.lines().any(|line| line.starts_with(name)), "{}", list.out);
        assert!(page.contains(&format!("| `{name}` |")), "the page lacks {name}");
    }
}
