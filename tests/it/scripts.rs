//! Scripts in `tests/scripts`, each with what it prints beside it, computed by kernels and by the reference definitions;
//! and a session at a terminal. `UPDATE_FILES=1` writes what they print.

use std::path::{Path, PathBuf};
use std::process::Command;

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/scripts")
}

/// What a script prints, and where it complains; paths as they are in the folder.
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
    let mut says = |line: &str, answer: &str| {
        p.send_line(line).unwrap();
        p.exp_string(answer).unwrap_or_else(|e| panic!("{line}: {e}"));
    };
    says("x = [1, 2, 3]", "x: i32[3]");
    // An open bracket: the statement goes on.
    says("y = dot(x, [[1], [2],", "");
    says("[3]])", "y: i32[1]");
    says("y", "[14]");
    says(":type x * 2 > 3", "bool[3]");
    says(":graph x + x", "fn main()");
    says(":optimize neg(neg(x)) + 0", "before, 0 after");
    says(":rules relu-of-relu", "relu-of-relu");
    says("x + [[1, 2]]", "do not broadcast");
    says("x", "[1 2 3]");
    // Names are completed.
    says("resha\t(x, [3, 1])", "[[1]");
    says(":names", "y: i32[1]");
    says(":help", ":quit");
    p.send_line(":quit").unwrap();
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
