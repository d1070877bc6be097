//! Runs the program as a user does.

#![allow(dead_code, reason = "every test program uses a part of this")]

use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};

use indexmap::IndexMap;
use serde_json::Value;
use tautomer::formats::arrays;
use tautomer::tensor::Tensor;

/// The outcome of a run.
pub(crate) struct Ran {
    pub(crate) code: i32,
    pub(crate) out: String,
    pub(crate) err: String,
}

impl Ran {
    /// The report requested with `--json`.
    pub(crate) fn json(&self) -> Value {
        let value: Value = serde_json::from_str(&self.out).unwrap_or_else(|e| panic!("{e}: {}{}", self.out, self.err));
        assert_eq!(value["schema"], 1);
        value
    }
}

/// Runs the program in a directory, with text on its standard input.
pub(crate) fn run_with(folder: &Path, args: &[&str], input: &str) -> Ran {
    let mut child = Command::new(env!("CARGO_BIN_EXE_tautomer"))
        .args(args)
        .current_dir(folder)
        // What was measured on this machine is no part of a test.
        .env("XDG_DATA_HOME", folder.join("data"))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    // A command that does not read its input may already have exited.
    let _ = child.stdin.take().unwrap().write_all(input.as_bytes());
    let done = child.wait_with_output().unwrap();
    Ran {
        code: done.status.code().unwrap(),
        out: String::from_utf8(done.stdout).unwrap(),
        err: String::from_utf8(done.stderr).unwrap(),
    }
}

/// Runs the program in a directory.
pub(crate) fn run(folder: &Path, args: &str) -> Ran {
    run_with(folder, &args.split_whitespace().collect::<Vec<_>>(), "")
}

/// A directory with these files.
pub(crate) fn folder(files: &[(&str, &str)]) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    for (name, text) in files {
        std::fs::write(folder.path().join(name), text).unwrap();
    }
    folder
}

/// Writes tensors to a file in `folder`.
pub(crate) fn array(folder: &Path, name: &str, tensors: &[(&str, Tensor)]) {
    let all: IndexMap<String, Tensor> = tensors.iter().map(|(k, v)| ((*k).to_owned(), v.clone())).collect();
    arrays::write(&folder.join(name), &all).unwrap();
}

/// A program with a parameter, two results and a symbolic dimension.
pub(crate) const SCALE: &str = "fn main(x: f32[n], param w: f32[n]) {\n  let y = x * w;\n  (y, y + 1.0)\n}\n";
