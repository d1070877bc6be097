//! Scripts in `tests/scripts`, each with its expected output beside it, computed by kernels and by the reference
//! definitions; and a session at a terminal. `UPDATE_FILES=1` rewrites the expected output.

use std::path::{Path, PathBuf};
use std::process::Command;

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/scripts")
}

/// The output and messages of a script; paths are relative to the directory.
fn run(file: &Path, more: &[&str]) -> String {
    let text = std::fs::read_to_string(file).unwrap();
    let arguments = text
        .lines()
        .next()
        .and_then(|line| line.strip_prefix("// arguments: "))
        .unwrap_or_default();
    let out = Command::new(env!("CARGO_BIN_EXE_tautomer"))
        .current_dir(folder())
        .arg("run")
        .args(arguments.split_whitespace())
        .args(more)
        .arg(file.file_name().unwrap())
        .env("NO_COLOR", "1")
        .output()
        .unwrap();
    let code = out.status.code().unwrap();
    let printed = String::from_utf8(out.stdout).unwrap() + &String::from_utf8(out.stderr).unwrap();
    format!("{printed}exit {code}\n")
}

#[test]
fn scripts_print_what_is_expected() {
    let mut files: Vec<PathBuf> = std::fs::read_dir(folder())
        .unwrap()
        .map(|e| e.unwrap().path())
        .collect();
    files.retain(|f| f.extension().is_some_and(|e| e == "taut"));
    files.sort();
    assert!(files.len() >= 10);
    let mut wrong = Vec::new();
    for file in files {
        let expected = file.with_extension("out");
        let found = run(&file, &[]);
        if std::env::var_os("UPDATE_FILES").is_some() {
            std::fs::write(&expected, &found).unwrap();
        }
        let expected = std::fs::read_to_string(&expected).unwrap_or_default();
        for (mode, found) in [("kernels", found), ("reference", run(&file, &["--reference"]))] {
            if found != expected {
                wrong.push(format!("{} by {mode}:\n{found}\nexpected:\n{expected}", file.display()));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[cfg(unix)]
#[test]
fn a_session_at_a_terminal() {
    let history = tempfile::tempdir().unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_tautomer"));
    command
        .args(["repl", "--history"])
        .arg(history.path().join("lines"))
        .env("NO_COLOR", "1")
        .env("TERM", "xterm");
    let mut p = rexpect::session::spawn_command(command, Some(60_000)).unwrap();
    // What is typed while the mode of the terminal changes may be lost, so each line waits for the prompt. Pasting in
    // brackets is turned on there.
    let prompt = "\u{1b}[?2004h";
    let mut says = |line: &str, answer: &str| {
        p.exp_string(prompt).unwrap_or_else(|e| panic!("before {line}: {e}"));
        p.send_line(line).unwrap();
        p.exp_string(answer).unwrap_or_else(|e| panic!("{line}: {e}"));
    };
    says("x = [1, 2, 3]", "x: i32[3]");
    // With an open bracket, the statement continues.
    says("y = dot(x, [[1], [2],\n[3]])", "y: i32[1]");
    says("y", "[14]");
    says(":type x * 2 > 3", "bool[3]");
    says(":graph x + x", "fn main(x: i32[3])");
    says(":optimize neg(neg(x)) + 0", "before, 0 after");
    // A symbolic value has a type but no value; the applied rules are listed.
    says("a: f32[n, 8]", "a: f32[n, 8]");
    says("b = relu(a)", "b: f32[n, 8]");
    says(":optimize relu(b * 1.0)", "relu-of-relu");
    says("fn twice(x) { relu(x) + relu(x) }", "fn twice(x)");
    says(":type twice(a)", "f32[n, 8]");
    says(
        "rule mine(x) { tanh(tanh(tanh(x))) => relu(x) numerics approx(1.0) }",
        "1 rule: mine",
    );
    says(":rules mine", "mine");
    says("let z = 4", "z: i32");
    says("z * 2", "8");
    says("_ + 1", "9");
    says("y[0] + 1", "15");
    says("1000.", "1000");
    says("sqrt(2)", "1.414");
    says("third: f64 = 1.0 / 3", "third: f64");
    says("pragma power_caret", "");
    says("2^3^2", "512");
    says(":help softmax", "axis");
    says(":help twice", "fn twice(x)");
    says("softmax(a) {ax\t-1}", "f32[n, 8]");
    says(":type a.sh\t", "[n, 8]");
    says("nothing", "declare an input");
    says(":rules relu-of-relu", "relu-of-relu");
    says("x + [[1, 2]]", "do not broadcast");
    says("x", "[1 2 3]");
    // Names are completed.
    says("resha\t(x, [3, 1])", "[[1]");
    says(":names", "y: i32[1]");
    says(":help", ":quit");
    p.exp_string(prompt).unwrap();
    p.send_line("quit").unwrap();
    p.exp_eof().unwrap();
    let lines = std::fs::read_to_string(history.path().join("lines")).unwrap();
    assert!(lines.starts_with("x = [1, 2, 3]\n"), "{lines}");
    assert!(lines.contains(":type x * 2 > 3"), "{lines}");
}

#[test]
fn lines_from_a_pipe_are_a_session_as_well() {
    use std::io::Write as _;
    let mut child = Command::new(env!("CARGO_BIN_EXE_tautomer"))
        .args(["repl", "--compat=full"])
        .env("XDG_STATE_HOME", tempfile::tempdir().unwrap().path())
        .stdin(std::process::Stdio::piped())
        .stdout(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    child
        .stdin
        .take()
        .unwrap()
        .write_all(b"x = [1, 2]\nx * [[3, 4], [5, 6]]\n")
        .unwrap();
    let out = child.wait_with_output().unwrap();
    assert_eq!(String::from_utf8(out.stdout).unwrap(), "x:tensor[2]\n[[13, 16]]\n");
    assert!(out.status.success());
}

/// The output of a session for lines from a pipe.
fn session(lines: &str, folder: &Path) -> String {
    use std::io::Write as _;
    let mut child = Command::new(env!("CARGO_BIN_EXE_tautomer"))
        .arg("repl")
        .current_dir(folder)
        .env("XDG_STATE_HOME", folder)
        .env("NO_COLOR", "1")
        .stdin(std::process::Stdio::piped())
        .stdout(std::process::Stdio::piped())
        .stderr(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(lines.as_bytes()).unwrap();
    let out = child.wait_with_output().unwrap();
    String::from_utf8(out.stdout).unwrap() + &String::from_utf8(out.stderr).unwrap()
}

#[test]
fn the_spelling_changes_at_the_prompt() {
    let folder = tempfile::tempdir().unwrap();
    let said = session("pragma compat\n[1, 2] . [3, 4]\n[[1, 2]] * [3, 4]\n", folder.path());
    assert_eq!(said, "[3 8]\n[11]\n");
}

#[test]
fn programs_and_rules_are_loaded() {
    let folder = tempfile::tempdir().unwrap();
    let file = |name: &str, text: &str| std::fs::write(folder.path().join(name), text).unwrap();
    file(
        "net.taut",
        "fn part(x) { relu(relu(x)) }\n\nfn main(x: f32[n, 4]) { part(x) * 1.0 }\n",
    );
    file(
        "mine.rules",
        "/// Not true.\nrule sine-of-nothing(x) { sin(x) => cos(x) numerics approx(2.0) }\n",
    );
    let said = session(
        ":load net.taut\n:optimize\npart([-1.0, 2.0])\n:load mine.rules\n:rules sine-of\n:load none.taut\nexit\n1\n",
        folder.path(),
    );
    for part in [
        "x: f32[n, 4]",
        "relu-of-relu",
        "before, 1 after",
        "[0. 2.]",
        "1 rule: sine-of-nothing",
        "Not true.",
        "none.taut",
    ] {
        assert!(said.contains(part), "{part}\n{said}");
    }
    assert!(!said.ends_with("1\n"), "{said}");
}

#[test]
fn scripts_are_known_by_what_is_in_them() {
    let folder = tempfile::tempdir().unwrap();
    let run = |name: &str, text: &str, more: &[&str]| {
        std::fs::write(folder.path().join(name), text).unwrap();
        let out = Command::new(env!("CARGO_BIN_EXE_tautomer"))
            .current_dir(folder.path())
            .arg("run")
            .args(more)
            .arg(name)
            .env("NO_COLOR", "1")
            .output()
            .unwrap();
        String::from_utf8(out.stdout).unwrap() + &String::from_utf8(out.stderr).unwrap()
    };
    assert_eq!(run("a.script", "x = [1, 2]\nx + 1\n", &[]), "x: i32[2]\n[2 3]\n");
    assert_eq!(run("plain", "1 + 2\nsqrt(4)\n", &[]), "3\n2.\n");
    assert_eq!(run("b.taut", "1 + 2\n[1, 2] * 2\n", &[]), "3\n[2 4]\n");
    assert_eq!(run("c.txt", "[1, 2] . [3, 4]\n", &["--compat"]), "[3 8]\n");
    assert_eq!(
        run("d.taut", "[1, 2] . [3, 4]\n[1, 2] * [3, 4]\n", &["--compat"]),
        "[3 8]\n11\n"
    );
    assert_eq!(run("e.taut", "pragma power_caret\nx = 3\nx^2\n", &[]), "x: i32\n9\n");
    assert_eq!(
        run("f.taut", "fn f(x) { x * x }\ny = f([1, 2])\ny\n", &[]),
        "y: i32[2]\n[1 4]\n"
    );
    let said = run("g.taut", "x: f32[n]\ny = x + 1\ny\n", &[]);
    assert!(said.contains("the input `x` has no value"), "{said}");
    let said = run("h.unknown", "fn main(x: f32[2]) { x }\n", &[]);
    assert!(said.contains("unknown suffix"), "{said}");
}
