//! `tautomer optimize` as a user runs it: results, summaries, reports, and what is not written.

use tautomer::tensor::Tensor;

use crate::command::{array, folder, run};

#[test]
fn optimize_writes_an_equal_program() {
    let dir = folder(&[(
        "m.taut",
        "fn main(x: f32[n, 4], param w: f32[4, 4]) { relu(matmul(x, w) + 0.0) }\n",
    )]);
    let done = run(dir.path(), "optimize m.taut -o out.taut --check 2");
    assert_eq!((done.code, done.out.as_str()), (0, ""), "{}", done.err);
    assert!(
        done.err.starts_with("optimized m.taut   3 -> 2 nodes   estimated "),
        "{}",
        done.err
    );
    assert!(done.err.contains("stopped: saturated"), "{}", done.err);
    assert!(
        done.err
            .contains("checked on 2 random inputs: max relative error 0.0e0"),
        "{}",
        done.err
    );
    let text = std::fs::read_to_string(dir.path().join("out.taut")).unwrap();
    assert!(!text.contains('+') && text.contains("relu(matmul(x, w))"), "{text}");
    assert_eq!(run(dir.path(), "check out.taut").code, 0);
    let printed = run(dir.path(), "optimize m.taut -q");
    assert_eq!((printed.out.as_str(), printed.err.as_str()), (text.as_str(), ""));
    let json = run(dir.path(), "optimize m.taut -o again.taut --json -q --check").json();
    assert_eq!(json["report"]["vertices"], serde_json::json!([3, 2]));
    assert_eq!(json["check"]["ok"], true);
}

#[test]
fn bits_are_those_of_the_reference_semantics() {
    // Kernels round a composite operator only at its end, and folding computes by the reference semantics.
    let dir = folder(&[
        ("silu.taut", "fn main(x: f16[4096]) { x * sigmoid(x) }"),
        (
            "fold.taut",
            "fn main(x: f32[64], param p: f32[64]) { x + mish(silu(p)) }",
        ),
    ]);
    let p: Vec<f32> = (0..64).map(|i| i as f32 / 9.0 - 3.0).collect();
    array(dir.path(), "p.npz", &[("p", Tensor::vector(p))]);
    for command in ["optimize silu.taut", "optimize fold.taut --params p.npz"] {
        let done = run(dir.path(), &format!("{command} --class bitwise --check 2"));
        assert_eq!(done.code, 0, "{}", done.err);
        assert!(
            done.err
                .contains("checked on 2 random inputs: max relative error 0.0e0"),
            "{}",
            done.err
        );
    }
}

#[test]
fn results_that_say_nothing_are_no_evidence() {
    // For inputs between -2 and 2 the result does not depend on `x`; the rule is wrong outside that range.
    let dir = folder(&[
        (
            "a.taut",
            "fn main(x: f32[4], least: f32) { where(least > 50.0, relu(-x), 0.0) }",
        ),
        ("b.taut", "fn main(x: f32[4]) { relu(relu(x) * 0.0) }"),
        ("bad.rules", "rule no-relu(x) { relu(x) => x numerics real }"),
    ]);
    let done = run(
        dir.path(),
        "optimize a.taut --rules bad.rules --no-built-in -o out.taut",
    );
    assert_eq!(done.code, 1, "{}", done.err);
    assert!(
        done.err.contains("no-relu makes it wrong; nothing is written"),
        "{}",
        done.err
    );
    let done = run(
        dir.path(),
        "optimize b.taut --rules bad.rules --no-built-in -o out.taut",
    );
    assert!(
        done.err.contains("inconclusive: outputs are constant or NaN"),
        "{}",
        done.err
    );
    let json = run(
        dir.path(),
        "optimize b.taut --rules bad.rules --no-built-in -o out.taut --json -q",
    )
    .json();
    assert_eq!(json["check"]["blind"], true);
}

#[test]
fn the_summary_says_what_it_counts_and_assumes() {
    let dir = folder(&[
        ("m.taut", "fn main(x: f32[n, 3, k], param w: f32[4]) { relu(relu(x)) }"),
        (
            "big.taut",
            "fn main(x: f32[300, 300]) { x + expand(reshape(range(0.0, 300.0, 1.0)) {shape = [300, 1]}) {shape = [300, 300]} * 2.0 }",
        ),
    ]);
    let done = run(dir.path(), "optimize m.taut");
    assert!(
        done.err.contains("µs (assuming k = 64, n = 1; --shape sets them)"),
        "{}",
        done.err
    );
    let written = run(dir.path(), "optimize m.taut -o m.onnx");
    assert_eq!(written.code, 0, "{}", written.err);
    let again = run(dir.path(), "optimize m.onnx -o n.onnx");
    assert!(again.err.contains("   1 -> 1 nodes   "), "{}", again.err);
    assert!(again.err.contains("\nfile "), "{}", again.err);
    // There is no progress line if standard error is not a terminal.
    assert!(
        !again.err.contains('\r') && !again.err.contains('\u{1b}'),
        "{}",
        again.err
    );
    let report = run(dir.path(), "optimize m.onnx -o o.onnx --json").json();
    assert_eq!(report["nodes"], serde_json::json!([1, 1]));
}

#[test]
fn rules_that_a_format_has_no_form_for_are_told() {
    let rules = "/// A product with its sigmoid.\n\
        rule to-newer(x) { relu(neg(x)) => rms_normalization(x, x) numerics approx(1000.0) }\n\
        /// No operator of ONNX.\n\
        rule to-l2(x) { tanh(neg(x)) => l2_normalize(x) {axes = [0]} numerics approx(1000.0) }\n";
    let dir = folder(&[
        ("m.taut", "fn main(x: f32[64]) { (relu(neg(x)), tanh(neg(x))) }"),
        ("a.rules", rules),
    ]);
    let options = "--rules a.rules --no-built-in --class approx(1e9) --no-check -o m.onnx";
    let newer = run(
        dir.path(),
        &format!("optimize m.taut {options} --only-rules to-newer --engine substitute"),
    );
    assert!(
        newer
            .err
            .contains("opset 23 would enable `rms_normalization` (once): `--opset 23`"),
        "{}",
        newer.err
    );
    let why = run(
        dir.path(),
        &format!("optimize m.taut {options} --why-not to-newer --engine substitute"),
    );
    assert!(
        why.out
            .contains("its target has `rms_normalization`, which the result may not contain"),
        "{}",
        why.out
    );
    assert!(
        why.out.contains("from operator set 23 on") && why.out.contains("`--opset 23`"),
        "{}",
        why.out
    );
    // For substitution, an operator with a body is an intermediate step, which is expanded in the end.
    let body = run(
        dir.path(),
        &format!("optimize m.taut {options} --only-rules to-l2 --engine substitute"),
    );
    assert!(body.err.contains("  to-l2 "), "{}", body.err);
    assert_eq!(run(dir.path(), "check m.onnx").code, 0);
    let kept = run(dir.path(), &format!("optimize m.taut {options} --only-rules to-l2"));
    assert!(!kept.err.contains("in the result"), "{}", kept.err);
}

#[test]
fn a_report_is_one_page_with_pictures() {
    let dir = folder(&[(
        "m.taut",
        "fn main(x: f32[2, 4], param w: f32[4, 4], param b: f32[4]) { relu(relu(matmul(x, w) + b)) }\n",
    )]);
    let done = run(dir.path(), "optimize m.taut -o out.taut --report out.html -q");
    assert_eq!((done.code, done.out.as_str(), done.err.as_str()), (0, "", ""));
    let page = std::fs::read_to_string(dir.path().join("out.html")).unwrap();
    for part in [
        "<h2>Operators</h2>",
        "<th>matmul</th><td>1</td><td>0</td>",
        "<th>gemm</th><td>0</td><td>1</td>",
        "<h3 id=\"relu-of-relu\">",
        "<svg ",
        "proved (all sizes",
        "of the scale in 1 run",
        "<a href=\"#verdict-relu-of-relu\">proved",
        "<h3 id=\"verdict-relu-of-relu\">",
        "relu(relu(x))",
    ] {
        assert!(page.contains(part), "{part} is not in\n{page}");
    }
    // Nothing is loaded from elsewhere.
    assert!(!page.contains("src=") && !page.contains("href=\"http"), "{page}");
}

#[test]
fn a_report_has_the_verdicts_of_rules_in_files() {
    let dir = folder(&[
        ("m.taut", "fn main(x: f32[2, 3]) { relu(relu(x)) * 1.0 }\n"),
        (
            "own.rules",
            "/// Twice is once.\nrule twice-is-once(x) { relu(relu(x)) => relu(x) numerics real }\n",
        ),
    ]);
    let verdicts = || {
        let done = run(
            dir.path(),
            "optimize m.taut -o out.taut --rules own.rules --only-rules twice-is-once,mul-by-one --report out.html -q",
        );
        assert_eq!(done.code, 0, "{}", done.err);
        let page = std::fs::read_to_string(dir.path().join("out.html")).unwrap();
        ["twice-is-once", "mul-by-one"].map(|rule| {
            let (_, rest) = page.split_once(&format!("<a href=\"#verdict-{rule}\">")).unwrap();
            rest.split_once("</a>").unwrap().0.to_owned()
        })
    };
    let [own, shipped] = verdicts();
    assert!(own == "none" && shipped.starts_with("proved"), "{own}, {shipped}");
    assert_eq!(run(dir.path(), "verify own.rules --lock").code, 0);
    let [own, shipped] = verdicts();
    assert!(
        own.starts_with("proved") && shipped.starts_with("proved"),
        "{own}, {shipped}"
    );
}

#[test]
fn a_wrong_result_is_not_written() {
    let dir = folder(&[
        ("m.taut", "fn main(x: f32[2, 4]) { exp(relu(x)) }\n"),
        (
            "wrong.rules",
            "/// Not true below zero.\nrule drop-relu(x) { relu(x) => x numerics real }\n\
             example drop-relu { fn (x: f32[3]) { relu(x) } => fn (x: f32[3]) { x } }\n",
        ),
        ("out.taut", "kept\n"),
    ]);
    let command = "optimize m.taut -o out.taut --rules wrong.rules --no-built-in";
    let done = run(dir.path(), command);
    assert_eq!((done.code, done.out.as_str()), (1, ""), "{}", done.err);
    assert!(
        done.err.contains("drop-relu makes it wrong; nothing is written"),
        "{}",
        done.err
    );
    let kept = || std::fs::read_to_string(dir.path().join("out.taut")).unwrap();
    assert_eq!(kept(), "kept\n");
    let done = run(dir.path(), &format!("{command} --no-check"));
    assert_eq!(done.code, 0, "{}", done.err);
    assert!(kept().contains("exp(x)"), "{}", kept());
}
