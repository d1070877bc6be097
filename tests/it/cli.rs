//! The command line as a user runs it: what is printed where, exit codes, JSON.

use std::path::Path;
use std::process::Command;

use indexmap::IndexMap;
use tautomer::formats::arrays;
use tautomer::tensor::Tensor;

use crate::command::{folder, run, run_with};

fn array(folder: &Path, name: &str, tensors: &[(&str, Tensor)]) {
    let all: IndexMap<String, Tensor> = tensors.iter().map(|(k, v)| ((*k).to_owned(), v.clone())).collect();
    arrays::write(&folder.join(name), &all).unwrap();
}

const SCALE: &str = "fn main(x: f32[n], param w: f32[n]) {\n  let y = x * w;\n  (y, y + 1.0)\n}\n";

#[test]
fn check_says_yes_and_no() {
    let dir = folder(&[("good.taut", SCALE), ("bad.taut", "fn main(x: f32[2]) { x + }")]);
    let good = run(dir.path(), "check good.taut");
    assert_eq!((good.code, good.out.as_str()), (0, ""));
    let bad = run(dir.path(), "check good.taut bad.taut");
    assert_eq!((bad.code, bad.out.as_str()), (1, ""));
    assert!(
        bad.err.contains("error[T0001]") && bad.err.contains("bad.taut:1:26"),
        "{}",
        bad.err
    );
    assert!(bad.err.contains("1 problem in 1 of 2 files"), "{}", bad.err);
    assert!(!bad.err.contains('\u{1b}'), "colour without a terminal");
    let json = run(dir.path(), "check --json good.taut bad.taut").json();
    assert_eq!(json["files"][0]["ok"], true);
    assert_eq!(json["files"][1]["diagnostics"][0]["code"], "T0001");
    let piped = run_with(dir.path(), &["check", "-", "--from", "taut", "-q"], SCALE);
    assert_eq!((piped.code, piped.err.as_str()), (0, ""));
}

#[test]
fn fmt_rewrites_or_reports() {
    let dir = folder(&[("a.taut", "fn main(x:f32[2]){x+x}"), ("b.taut", SCALE)]);
    let checked = run(dir.path(), "fmt --check a.taut b.taut");
    assert_eq!((checked.code, checked.out.as_str()), (1, "a.taut\n"));
    assert_eq!(run(dir.path(), "fmt a.taut b.taut").code, 0);
    let text = std::fs::read_to_string(dir.path().join("a.taut")).unwrap();
    assert_eq!(text, "fn main(x: f32[2]) {\n  x + x\n}\n");
    assert_eq!(run(dir.path(), "fmt --check a.taut b.taut").code, 0);
    let piped = run_with(dir.path(), &["fmt", "-", "--from", "taut"], "a+b");
    assert_eq!((piped.code, piped.out.as_str()), (0, "a + b\n"));
    assert_eq!(run(dir.path(), "fmt missing.taut").code, 2);
}

#[test]
fn scripts_come_from_standard_input() {
    let dir = folder(&[]);
    let piped = run_with(
        dir.path(),
        &["run", "-", "--from", "taut", "--compat"],
        "a = [1, 2]\nprint(a . a)\n",
    );
    assert_eq!(
        (piped.code, piped.out.as_str()),
        (0, "a: i32[2]\n[1 4]\n"),
        "{}",
        piped.err
    );
}

#[test]
fn print_shows_stages() {
    let dir = folder(&[("a.taut", "fn main(x: f32[2]) { let y = neg(x); y * y }")]);
    let text = run(dir.path(), "print a.taut");
    assert_eq!(text.out, "fn main(x: f32[2]) {\n  let y = -x;\n  y * y\n}\n");
    let ast = run(dir.path(), "print a.taut --stage ast");
    assert_eq!(ast.out, "fn main(x: f32[2]) {\n  let y = neg(x);\n  y * y\n}\n");
    let dot = run(dir.path(), "print a.taut --format dot");
    assert!(dot.out.starts_with("digraph \"main\" {"), "{}", dot.out);
    let json = run(dir.path(), "print a.taut --json").json();
    assert_eq!(json["vertices"][2]["op"], "mul");
    assert_eq!(json["vertices"][2]["operands"], serde_json::json!([1, 1]));
    let plan = run(dir.path(), "print a.taut --stage plan");
    assert!(plan.code == 0 && plan.out.contains("mul"), "{}", plan.out);
    assert!(run(dir.path(), "print a.taut --stage plan --json").json()["plan"]["steps"].is_array());
    assert_eq!(run(dir.path(), "print a.taut --stage plan --format dot").code, 2);
}

#[test]
fn run_computes_prints_and_writes() {
    let dir = folder(&[("scale.taut", SCALE)]);
    array(dir.path(), "x.npy", &[("x", Tensor::vector(vec![1.0f32, 2.0, 3.0]))]);
    array(
        dir.path(),
        "w.safetensors",
        &[("w", Tensor::vector(vec![2.0f32, 0.5, -1.0]))],
    );
    let missing = run(dir.path(), "run scale.taut --input x.npy");
    assert_eq!(missing.code, 2);
    assert!(missing.err.contains("parameter `w` has no value"), "{}", missing.err);
    let done = run(
        dir.path(),
        "run scale.taut --input x=x.npy --params w.safetensors --output-dir out",
    );
    assert_eq!(done.code, 0, "{}", done.err);
    assert_eq!(done.out, "y: f32[3]\n[ 2.  1. -3.]\nout1: f32[3]\n[ 3.  2. -2.]\n");
    let written = arrays::read(&dir.path().join("out/out1.npy")).unwrap();
    assert_eq!(written["out1"], Tensor::vector(vec![3.0f32, 2.0, -2.0]));
    // Parameters beside the program are found.
    std::fs::rename(dir.path().join("w.safetensors"), dir.path().join("scale.safetensors")).unwrap();
    for reference in ["", " --reference"] {
        let json = run(dir.path(), &format!("run scale.taut --input x.npy --json{reference}")).json();
        assert_eq!(json["outputs"][1]["values"], serde_json::json!([3.0, 2.0, -2.0]));
    }
    let wrong = run(dir.path(), "run scale.taut --input z=x.npy");
    assert!(
        wrong.code == 2 && wrong.err.contains("there is no input `z`"),
        "{}",
        wrong.err
    );
    let many = run(dir.path(), "run scale.taut --input x.npy --input x.npy");
    assert!(
        many.code == 2 && many.err.contains("too many inputs, the program has 1 input"),
        "{}",
        many.err
    );
}

#[test]
fn runs_are_timed() {
    let dir = folder(&[
        ("a.taut", "fn main(x: f32[3]) { relu(x + x) }"),
        ("b.taut", "x = 1 + 2\nprint(x)\n"),
    ]);
    array(dir.path(), "x.npy", &[("x", Tensor::vector(vec![1.0f32, 2.0, -3.0]))]);
    let done = run(dir.path(), "run a.taut --input x.npy --threads 2");
    assert_eq!(
        (done.code, done.out.as_str()),
        (0, "out0: f32[3]\n[2. 4. 0.]\n"),
        "{}",
        done.err
    );
    let timed = run(dir.path(), "run a.taut --input x.npy --bench 3 --profile --threads 1");
    assert_eq!(timed.code, 0, "{}", timed.err);
    assert!(
        timed.out.contains("; 3 more: median ") && !timed.out.contains("out0"),
        "{}",
        timed.out
    );
    assert!(timed.out.contains("operator  steps"), "{}", timed.out);
    let json = run(dir.path(), "run a.taut --input x.npy --bench 3 --profile --json").json();
    let number = |name: &str| json["bench"][name].as_f64().unwrap();
    assert!(number("runs") == 3.0 && number("minimum_ms") <= number("median_ms"));
    let operators: Vec<_> = json["profile"].as_array().unwrap().iter().collect();
    assert_eq!(operators.len(), 2);
    assert!(
        operators
            .iter()
            .all(|row| row["steps"] == 1 && row["by_reference"] == 0)
    );
    for wrong in ["--bench 0", "--threads 0", "--bench 3 --reference"] {
        assert_eq!(run(dir.path(), &format!("run a.taut --input x.npy {wrong}")).code, 2);
    }
    let script = run(dir.path(), "run b.taut --profile");
    assert!(
        script.code == 2 && script.err.contains("this is a script"),
        "{}",
        script.err
    );
}

#[test]
fn bare_expressions_take_the_types_of_their_inputs() {
    let dir = folder(&[("e.taut", "matmul(a, b) + 1\n")]);
    let matrix = Tensor::new(&[1, 2], vec![1.0f64, 2.0]).unwrap();
    array(dir.path(), "a.npy", &[("a", matrix.clone())]);
    array(
        dir.path(),
        "b.npy",
        &[("b", Tensor::new(&[2, 1], vec![3.0f64, 4.0]).unwrap())],
    );
    let done = run(dir.path(), "run e.taut -i a.npy -i b.npy");
    assert_eq!(
        (done.code, done.out.as_str()),
        (0, "out0: f64[1, 1]\n[[12.]]\n"),
        "{}",
        done.err
    );
}

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
fn models_are_read_and_written() {
    let dir = folder(&[(
        "m.taut",
        "fn main(x: f32[2, 4], param w: f32[4, 4]) { relu(matmul(x, w)) }\n",
    )]);
    let w = Tensor::new(&[4, 4], (0..16).map(|i| i as f32 - 8.0).collect()).unwrap();
    array(dir.path(), "m.safetensors", &[("w", w)]);
    array(
        dir.path(),
        "x.npy",
        &[("x", Tensor::new(&[2, 4], vec![1.0f32; 8]).unwrap())],
    );
    let done = run(dir.path(), "optimize m.taut -o m.onnx --check");
    assert_eq!(done.code, 0, "{}", done.err);
    assert_eq!(run(dir.path(), "check m.onnx").code, 0);
    let values = |file: &str| {
        run(dir.path(), &format!("run {file} --input x.npy --json")).json()["outputs"][0]["values"].clone()
    };
    assert_eq!(values("m.onnx"), values("m.taut"));
    // And back again, with the parameters beside the program.
    assert_eq!(run(dir.path(), "optimize m.onnx -o back.taut").code, 0);
    assert_eq!(values("back.taut"), values("m.taut"));
}

#[test]
fn rules_are_listed_shown_and_tested() {
    let dir = folder(&[]);
    let list = run(dir.path(), "rules list --json").json();
    let name = list["rules"][0]["name"].as_str().unwrap().to_owned();
    let shown = run(dir.path(), &format!("rules show {name}"));
    assert!(
        shown.code == 0 && shown.out.contains(&format!("rule {name}")),
        "{}",
        shown.err
    );
    assert_eq!(run(dir.path(), "rules check").code, 0);
    assert_eq!(run(dir.path(), "rules show no-such-rule").code, 2);
    let tested = run(dir.path(), "rules test");
    assert_eq!(tested.code, 0, "{}", tested.out);
}

#[test]
fn wrong_rules_are_refuted_with_programs_that_run() {
    let rules = "/// Right.\nrule twice(x) { relu(relu(x)) => relu(x) numerics bitwise }\n\
                 /// Wrong.\nrule sum(x, y) { relu(x + y) => relu(x) + relu(y) numerics real }\n";
    let dir = folder(&[("a.rules", rules)]);
    let done = run(dir.path(), "verify a.rules --save found --json");
    let report = done.json();
    assert_eq!(done.code, 1);
    assert_eq!(
        (&report["refuted"], &report["rules"][1]["verdict"]),
        (&1.into(), &"refuted".into())
    );
    let sides = ["source", "target"].map(|side| run(dir.path(), &format!("run found/sum-{side}.taut")));
    assert!(sides.iter().all(|side| side.code == 0), "{}", sides[0].err);
    assert_ne!(sides[0].out, sides[1].out);
    let right = run(dir.path(), "verify a.rules --rule twice");
    assert!(
        right.code == 0 && right.out.starts_with("twice  proved (all sizes"),
        "{}",
        right.out
    );
}

#[test]
fn explain_describes_codes() {
    let dir = folder(&[]);
    let one = run(dir.path(), "explain t0101");
    assert!(
        one.code == 0 && one.out.starts_with("T0101: unknown operator\n"),
        "{}",
        one.out
    );
    assert!(run(dir.path(), "explain").out.contains("T0603"));
    assert_eq!(run(dir.path(), "explain T0101 --json").json()["code"], "T0101");
    let unknown = run(dir.path(), "explain T0100");
    assert_eq!((unknown.code, unknown.out.as_str()), (2, ""));
}

#[test]
fn wrong_arguments_are_refused() {
    let dir = folder(&[]);
    assert_eq!(run(dir.path(), "chekc a.taut").code, 2);
    assert_eq!(run(dir.path(), "optimize a.taut --class exact").code, 2);
    assert_eq!(run(dir.path(), "--version").code, 0);
    assert_eq!(run(dir.path(), "").code, 2);
}

#[test]
#[cfg(unix)]
fn a_closed_pipe_is_no_error() {
    let text: String = (0..20_000).map(|i| format!("  let v{i} = x + {i}.0;\n")).collect();
    let dir = folder(&[("long.taut", &format!("fn main(x: f32[2]) {{\n{text}  x\n}}\n"))]);
    let command = format!(
        "{} print long.taut --stage ast | head -n 1; echo \"${{PIPESTATUS[0]}}\"",
        env!("CARGO_BIN_EXE_tautomer")
    );
    let done = Command::new("bash")
        .args(["-c", &command])
        .current_dir(dir.path())
        .output()
        .unwrap();
    assert_eq!(String::from_utf8_lossy(&done.stderr), "");
    assert!(String::from_utf8_lossy(&done.stdout).ends_with("\n0\n"));
}

#[test]
fn rule_files_use_others() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::create_dir(folder.path().join("more")).unwrap();
    let file = |name: &str, text: &str| std::fs::write(folder.path().join(name), text).unwrap();
    file(
        "all.rules",
        "use \"more/zero.rules\";\n/// Nothing.\nrule one(x) { x * 1 => x numerics bitwise }\n",
    );
    file(
        "more/zero.rules",
        "use \"../all.rules\";\nrule zero(x) { x + 0 => x }\n",
    );
    let run = |args: &[&str]| {
        Command::new(env!("CARGO_BIN_EXE_tautomer"))
            .args(args)
            .current_dir(folder.path())
            .output()
            .unwrap()
    };
    let listed = String::from_utf8(run(&["rules", "list", "all.rules", "all.rules"]).stdout).unwrap();
    let names: Vec<&str> = listed.lines().filter_map(|l| l.split(' ').next()).collect();
    assert_eq!(names, ["zero", "one"]);
    let checked = run(&["rules", "check", "all.rules"]);
    let said = String::from_utf8(checked.stderr).unwrap();
    assert_eq!(checked.status.code(), Some(0), "{said}");
    assert!(
        said.contains("warning[T0310]: the rule `zero` has no documentation"),
        "{said}"
    );
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
fn all_files_are_formatted_but_the_broken_ones() {
    let dir = folder(&[
        ("a.taut", "fn main(x: f32[n]) {x+1.0}"),
        ("b.taut", "fn main(x: f32[n]) { x + }"),
        ("c.taut", "fn main(x: f32[n]) {x*2.0}"),
        ("d.taut", "x = 1\nx\n"),
    ]);
    let done = run(dir.path(), "fmt a.taut b.taut c.taut d.taut");
    assert_eq!(done.code, 2);
    assert!(done.err.contains("--> b.taut:1:"), "{}", done.err);
    assert!(
        done.err.contains("d.taut: a script has no canonical form"),
        "{}",
        done.err
    );
    assert_eq!(run(dir.path(), "fmt --check a.taut c.taut").code, 0);
}

#[test]
fn remainders_of_floats_are_written_with_the_sign_that_onnx_has() {
    let dir = folder(&[("a.taut", "fn main(x: f32[4], y: f32[4]) { x % y }")]);
    let x = Tensor::vector(vec![5.5f32, -5.5, 3.0, 6.0]);
    let y = Tensor::vector(vec![2.0f32, 2.0, -2.0, 3.0]);
    array(dir.path(), "in.npz", &[("x", x), ("y", y)]);
    assert_eq!(run(dir.path(), "convert a.taut a.onnx").code, 0);
    let text = run(dir.path(), "print a.onnx").out;
    assert!(text.contains("fmod = true") && !text.contains("floor_mod"), "{text}");
    let done = run(dir.path(), "run a.onnx --input in.npz");
    assert!(done.out.contains("[1.5 0.5 -1.  0.]"), "{}{}", done.out, done.err);
}

#[test]
fn lists_have_one_axis_and_empty_ones_any_extents() {
    let dir = folder(&[
        (
            "matrix.taut",
            "fn main(x: f32[a, b]) { pad(x, reshape(concat(shape(x), shape(x)) {axis = 0}) {shape = [2, 2]}) }",
        ),
        (
            "empty.taut",
            "fn main(x: f32[n, m]) {
               transpose(reshape(slice(shape(x)) {starts = [0], ends = [0]})
                 {shape = [0, 1099511627776, 1099511627776], allowzero = true}) {perm = [1, 0, 2]}
             }",
        ),
    ]);
    let done = run(dir.path(), "check matrix.taut");
    assert!(
        done.err.contains("`pads` must be a list, but has 2 axes"),
        "{}",
        done.err
    );
    assert_eq!(run(dir.path(), "check empty.taut").code, 0);
}

#[test]
fn the_reference_takes_extents_from_inputs() {
    let dir = folder(&[("a.taut", "fn main(x: f32[n, 2]) { reshape(x) {shape = [2 * n]} }")]);
    let x = Tensor::new::<f32>(&[2, 2], vec![1.0, 2.0, 3.0, 4.0]).unwrap();
    array(dir.path(), "x.npz", &[("x", x)]);
    let done = run(dir.path(), "run a.taut --input x.npz --reference");
    assert_eq!(
        (done.code, done.out.contains("[1. 2. 3. 4.]")),
        (0, true),
        "{}",
        done.err
    );
}

#[test]
fn all_broken_rule_files_are_reported() {
    let dir = folder(&[
        ("a.taut", SCALE),
        ("a.rules", "rule a(x) { x + => x }"),
        ("b.rules", "rule b(x) { nothing(x) => x }"),
    ]);
    for command in ["verify", "rules list", "rules check", "optimize a.taut"] {
        let files = ["missing.rules", "a.rules", "gone.rules"];
        let named = if command.starts_with("optimize") {
            " --rules "
        } else {
            " "
        };
        let done = run(dir.path(), &format!("{command}{named}{}", files.join(named)));
        assert_eq!((done.code, done.out.as_str()), (2, ""), "{command}: {}", done.err);
        for problem in [
            "missing.rules: no such file",
            "gone.rules: no such file",
            "--> a.rules:1:17",
        ] {
            assert!(done.err.contains(problem), "{command}: {}", done.err);
        }
        let done = run(dir.path(), &format!("{command}{named}a.rules{named}b.rules"));
        for problem in ["--> a.rules:1:17", "--> b.rules:1:13"] {
            assert!(done.err.contains(problem), "{command}: {}", done.err);
        }
    }
}

#[test]
fn places_that_nothing_can_be_written_to_are_found_before_the_work() {
    // A missing input would only be reported later.
    let dir = folder(&[("file", "")]);
    for (command, problem) in [
        (
            "optimize missing.taut -o file/b.taut",
            "file/b.taut: `file` is not a directory",
        ),
        (
            "optimize missing.taut -o gone/b.onnx",
            "gone/b.onnx: `gone` does not exist",
        ),
        (
            "optimize missing.taut -o b.rules",
            "b.rules: a result is not a rule file",
        ),
        (
            "optimize missing.taut --report gone/b.html",
            "gone/b.html: `gone` does not exist",
        ),
        ("convert missing.taut gone/b.onnx", "gone/b.onnx: `gone` does not exist"),
        (
            "verify missing.rules --table -o gone/b.md",
            "gone/b.md: `gone` does not exist",
        ),
        (
            "rules import missing.txt -o gone/b.rules",
            "gone/b.rules: `gone` does not exist",
        ),
    ] {
        let done = run(dir.path(), command);
        assert_eq!(done.code, 2, "{command}: {}", done.err);
        let first = done.err.lines().next().unwrap_or_default();
        assert!(
            first.starts_with("error[T040") && first.ends_with(problem),
            "{command}: {}",
            done.err
        );
    }
}

#[test]
fn sets_that_come_with_the_tool_have_names() {
    let dir = folder(&[("a.taut", "fn main(x: f32[2, 3]) { x * zeros_like(x) }")]);
    let by_set = run(dir.path(), "optimize a.taut --rules gsl --only-rules b1 --no-fold -v");
    assert!(by_set.err.contains("zeros-like"), "{}", by_set.err);
    let without = run(dir.path(), "optimize a.taut --only-rules b1");
    assert_eq!(without.code, 2, "{}", without.err);
}

#[test]
fn named_sets_win_over_directories_and_no_rules_are_an_error() {
    let rule = "/// Twice.\nrule twice(x) { relu(relu(x)) => relu(x) numerics bitwise }\n";
    let dir = folder(&[
        ("a.taut", "fn main(x: f32[2, 3]) { relu(relu(x * zeros_like(x))) }"),
        ("mine.rules", rule),
        ("again.rules", rule),
        ("none.rules", "// Nothing yet.\n"),
    ]);
    for name in ["gsl", "empty"] {
        std::fs::create_dir(dir.path().join(name)).unwrap();
    }
    let set = run(dir.path(), "optimize a.taut --rules gsl --only-rules b1 --no-fold");
    assert!(set.err.contains("zeros-like"), "{}", set.err);
    for (rules, problem) in [
        ("./gsl", "./gsl: there are no rule files in this directory"),
        ("empty", "empty: there are no rule files in this directory"),
        ("none.rules", "there are no rules in none.rules"),
        ("a.taut", "a.taut: a program is not a rule file"),
    ] {
        let done = run(dir.path(), &format!("optimize a.taut --rules {rules}"));
        assert_eq!(done.code, 2, "{rules}: {}", done.err);
        assert!(done.err.contains(problem), "{rules}: {}", done.err);
        assert!(done.err.contains("`built-in`"), "{rules}: {}", done.err);
    }
    let both = run(
        dir.path(),
        "optimize a.taut --rules mine.rules --rules built-in --allow-refuted",
    );
    assert!(both.err.contains("  twice "), "{}", both.err);
    assert!(!both.err.contains("rules of the same name"), "{}", both.err);
    let twice = run(dir.path(), "optimize a.taut --rules mine.rules --rules again.rules");
    assert!(
        twice.err.contains("two files have rules of the same name")
            && twice.err.contains("`twice` in mine.rules and again.rules"),
        "{}",
        twice.err
    );
}

#[test]
fn wrong_inputs_are_told_with_what_to_do() {
    let dir = folder(&[
        ("m.taut", "fn main(x: f32[n, 4], y: f32[4]) { relu(x + y) }"),
        ("one.taut", "fn main(x: f32[n, 4]) { relu(x) }"),
        ("weights.pt", "PK"),
        ("config.json", "{}"),
        ("zip.onnx", "PK\u{3}\u{4}archive"),
        ("lfs.onnx", "version https://git-lfs.github.com/spec/v1\n"),
        ("empty.onnx", ""),
        ("file", ""),
    ]);
    array(dir.path(), "x.npy", &[("x", Tensor::vector(vec![1.0f64; 4]))]);
    array(
        dir.path(),
        "wide.npy",
        &[("x", Tensor::new(&[4, 3], vec![1.0f32; 12]).unwrap())],
    );
    for (command, problem, help) in [
        (
            "optimize m.taut -o a.tflite",
            "results cannot be written as `.tflite`",
            "`.pnnx.param`",
        ),
        (
            "convert m.taut m.onxx",
            "results cannot be written as `.onxx`",
            "did you mean `.onnx`?",
        ),
        (
            "optimize weights.pt",
            "a PyTorch file cannot be read here",
            "torch.onnx.export",
        ),
        ("check config.json", "cannot be read here", "`.onnx`"),
        (
            "optimize m.taut --shape x:1,4",
            "does not name an input",
            "write `--shape x=1,4`",
        ),
        (
            "optimize m.taut --shape x=1x4",
            "`1x4` is not a valid dimension",
            "write `--shape 1,4`",
        ),
        ("optimize --check m.taut", "takes a number of runs", "`--check=3`"),
        ("check zip.onnx", "zip.onnx", "this is an archive, as PyTorch writes it"),
        ("check lfs.onnx", "lfs.onnx", "`git lfs pull`"),
        ("check empty.onnx", "empty.onnx", "the file is empty"),
        (
            "run m.taut --output-dir file",
            "file: is not a directory",
            "name a directory",
        ),
        (
            "run one.taut --input wide.npy",
            "input `x` is f32[n, 4]",
            "`x.transpose(1, 0)`",
        ),
        ("run m.taut --input y=x.npy --input wide.npy", "input `", "np"),
    ] {
        let done = run(dir.path(), command);
        assert_ne!(done.code, 0, "{command}: {}", done.err);
        assert!(done.err.contains(problem), "{command}: {}", done.err);
        if help != "np" {
            assert!(done.err.contains(help), "{command}: {}", done.err);
        }
    }
    array(
        dir.path(),
        "good.npy",
        &[("x", Tensor::new(&[3, 4], vec![1.0f32; 12]).unwrap())],
    );
    let dtype = run(dir.path(), "run m.taut --input good.npy --input y=x.npy");
    assert!(dtype.err.contains("`x.astype(\"float32\")`"), "{}", dtype.err);
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
