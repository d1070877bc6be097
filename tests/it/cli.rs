//! The command line as a user runs it: what is printed where, exit codes, JSON.

use std::process::Command;

use tautomer::formats::arrays;
use tautomer::tensor::Tensor;

use crate::command::{SCALE, array, folder, run, run_with};

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
    // Targets have a form too.
    std::fs::write(dir.path().join("a.target"), "target a{extends onnx static}\n").unwrap();
    assert_eq!(run(dir.path(), "fmt --check a.target").code, 1);
    assert_eq!(run(dir.path(), "fmt a.target").code, 0);
    let formatted = std::fs::read_to_string(dir.path().join("a.target")).unwrap();
    assert_eq!(formatted, "target a {\n  extends onnx\n  static\n}\n");
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
fn this_machine_is_measured() {
    let dir = folder(&[("a.taut", "fn main(x: f32[64, 64]) { softmax(x @ x) }")]);
    let before = run(dir.path(), "optimize a.taut --target here");
    assert!(before.code == 2 && before.err.contains("T0331"), "{}", before.err);
    assert!(before.err.contains("`tautomer calibrate` measures"), "{}", before.err);
    let measured = run(dir.path(), "calibrate --json").json();
    assert!(measured["gflops"].as_f64().unwrap() > 0.0 && measured["launch_us"].as_f64().unwrap() > 0.0);
    let shown = run(dir.path(), "targets show here");
    assert!(shown.code == 0 && shown.out.contains("machine launch"), "{}", shown.err);
    let after = run(dir.path(), "optimize a.taut --target here");
    assert!(after.code == 0 && after.err.contains(" on here "), "{}", after.err);
    let other = run(dir.path(), "calibrate -o mine.txt");
    assert!(
        other.code == 2 && other.err.contains("ends in `.target`"),
        "{}",
        other.err
    );
    let file = run(dir.path(), "calibrate -o mine.target --threads 2");
    assert!(
        file.code == 0 && file.err.contains("`--target mine.target`"),
        "{}",
        file.err
    );
    let text = std::fs::read_to_string(dir.path().join("mine.target")).unwrap();
    assert!(
        text.contains("2 threads") && text.contains("extends tautomer"),
        "{text}"
    );
}

/// A class that admits bfloat16 is obeyed where the machine has it, and no stricter one.
#[test]
fn classes_admit_bfloat16() {
    let dir = folder(&[(
        "a.taut",
        "fn main(x: f32[4, 64], param w: f32[64, 32]) { matmul(x, w) }",
    )]);
    let tensor = |shape: [usize; 2], step: usize| {
        let numbers = (0..shape[0] * shape[1]).map(|i| (i * step % 97) as f32 / 97.0 - 0.5);
        Tensor::new(&shape, numbers.collect()).unwrap()
    };
    array(dir.path(), "x.npy", &[("x", tensor([4, 64], 31))]);
    array(dir.path(), "a.safetensors", &[("w", tensor([64, 32], 17))]);
    let has_bf16 = tautomer::exec::kernels::has_bf16();
    for (class, admits) in [
        ("bitwise", false),
        ("real", false),
        ("approx(1e-3)", false),
        ("approx(0.0078)", false),
        ("approx(0.0079)", true),
        ("approx(1e-2)", true),
    ] {
        let expected = admits && has_bf16;
        let plan = run(dir.path(), &format!("print a.taut --stage plan --class {class}"));
        assert_eq!(
            plan.out.contains("  in bf16"),
            expected,
            "{class}: {}{}",
            plan.out,
            plan.err
        );
        let timed = run(dir.path(), &format!("run a.taut -i x.npy --profile --class {class}"));
        assert_eq!(
            timed.out.contains("  in bf16"),
            expected,
            "{class}: {}{}",
            timed.out,
            timed.err
        );
        let json = run(
            dir.path(),
            &format!("run a.taut -i x.npy --profile --json --class {class}"),
        )
        .json();
        assert_eq!(json["profile"][0]["in_bf16"], u64::from(expected), "{class}");
    }
    let full = run(dir.path(), "run a.taut -i x.npy --json").out;
    let other = run(dir.path(), "run a.taut -i x.npy --json --class approx(1e-2)").out;
    assert_eq!(full != other, has_bf16);
    for wrong in ["--class exact", "--class approx(1e-2) --reference"] {
        assert_eq!(run(dir.path(), &format!("run a.taut -i x.npy {wrong}")).code, 2);
    }
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
    assert!(number("predicted_ms") > 0.0 && json["bench"]["predicted_by"] == "tautomer");
    let operators: Vec<_> = json["profile"].as_array().unwrap().iter().collect();
    assert_eq!(operators.len(), 2);
    assert!(
        operators
            .iter()
            .all(|row| row["steps"] == 1 && row["by_reference"] == 0)
    );
    let steps = run(dir.path(), "run a.taut --input x.npy --profile=steps --json").json();
    let mut names: Vec<_> = steps["profile"].as_array().unwrap().iter().collect();
    names.sort_by_key(|row| row["operator"].to_string());
    assert_eq!(names.len(), 2);
    for (i, row) in names.iter().enumerate() {
        let name = row["operator"].as_str().unwrap();
        assert!(
            name.starts_with(&format!("{i}: ")) && name.ends_with(" f32[3]"),
            "{name}"
        );
    }
    for wrong in ["--bench 0", "--threads 0", "--bench 3 --reference", "--profile=lines"] {
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
fn dimensions_that_may_be_equal_are_suggested() {
    let text = "fn main(tokens: f32[a, n], past: f32[p], now: f32[1], mask: f32[b, n], all: f32[t]) {
        (tokens + mask, concat(past, now) {axis = 0} * all)
    }";
    let dir = folder(&[("m.taut", text)]);
    let done = run(dir.path(), "optimize m.taut -o out.taut --no-check");
    let shapes = "--shape mask=a,n --shape all=p+1";
    assert!(
        done.err.contains("does not say that `b` = `a`, `t` = `p + 1`") && done.err.contains(shapes),
        "{}",
        done.err
    );
    let json = run(dir.path(), "optimize m.taut -o out.taut --no-check --json").json();
    assert_eq!(json["equal_dims"]["shapes"], serde_json::json!(["mask=a,n", "all=p+1"]));
    let again = run(dir.path(), &format!("optimize m.taut -o out.taut --no-check {shapes}"));
    assert!(again.code == 0 && !again.err.contains("does not say"), "{}", again.err);
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
