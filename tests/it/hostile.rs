//! Small files that ask for a lot: crashes, endless work, all memory. Each must end with a message or a correct result,
//! in an address space far smaller than what it asks for. A run is killed after a generous time so that the test ends;
//! how long a run takes is not tested.
//!
//! The files of `TAUTOMER_TEST_DATA/hostile` are used if that directory exists; smaller ones are in
//! `tests/data/hostile`, and those that follow a pattern are generated here.

use std::fs::{self, File};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// The address space of a run, in KiB.
const MEMORY: u64 = 2 << 20;

/// A run that takes longer is killed.
const PATIENCE: Duration = Duration::from_secs(240);

/// The outcome of a run.
#[derive(Debug)]
struct Ran {
    /// `None` if it was killed by a signal or for taking too long.
    code: Option<i32>,
    out: String,
    err: String,
}

impl Ran {
    /// Problems with it regardless of the command.
    fn fault(&self) -> Option<String> {
        let last: String = self.err.lines().rev().take(4).collect::<Vec<_>>().join(" | ");
        match self.code {
            None => Some(format!("ended by a signal or for taking too long: {last}")),
            Some(0..=2) if self.err.contains("panicked at") => Some(format!("panicked: {last}")),
            Some(0..=2) => None,
            Some(code) => Some(format!("exit code {code}: {last}")),
        }
    }
}

/// Runs the program in a directory with little memory.
fn run(folder: &Path, args: &[&str]) -> Ran {
    let scratch = tempfile::tempdir().unwrap();
    let (out, err) = (scratch.path().join("out"), scratch.path().join("err"));
    let mut child = Command::new("sh")
        .args(["-c", &format!("ulimit -v {MEMORY}; ulimit -c 0; exec \"$@\""), "sh"])
        .arg(env!("CARGO_BIN_EXE_tautomer"))
        .args(args)
        .current_dir(folder)
        .env("NO_COLOR", "1")
        .env("RUST_BACKTRACE", "0")
        .stdin(Stdio::null())
        .stdout(File::create(&out).unwrap())
        .stderr(File::create(&err).unwrap())
        .spawn()
        .unwrap();
    let start = Instant::now();
    let code = loop {
        if let Some(status) = child.try_wait().unwrap() {
            break status.code();
        }
        if start.elapsed() > PATIENCE {
            child.kill().unwrap();
            child.wait().unwrap();
            break None;
        }
        std::thread::sleep(Duration::from_millis(20));
    };
    let text = |path: &Path| String::from_utf8_lossy(&fs::read(path).unwrap()).into_owned();
    Ran {
        code,
        out: text(&out),
        err: text(&err),
    }
}

/// A file, the command, the exit code, and the output.
type Row<'a> = (&'a str, &'a str, i32, &'a str);

/// Runs the rows in a directory and compares the outcomes.
fn try_rows(folder: &Path, rows: &[Row<'_>]) {
    let mut wrong = Vec::new();
    for &(file, command, code, said) in rows {
        let mut args: Vec<&str> = command.split_whitespace().collect();
        args.push(file);
        let ran = run(folder, &args);
        let shown = format!("{command} {file}");
        if let Some(fault) = ran.fault() {
            wrong.push(format!("{shown}: {fault}"));
        } else if ran.code != Some(code) || !(ran.err.contains(said) || ran.out.contains(said)) {
            let all: String = ran.out.chars().take(500).chain(ran.err.chars().take(1500)).collect();
            wrong.push(format!("{shown}: not {code} with {said:?}, but {:?}: {all}", ran.code));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

const RANK: &str = "more than 64 axes";
const PARTS: &str = "more than 1024 parts";
const TUPLES: &str = "more than 1048576 elements in total";
const NESTED: &str = "nested more than 64 deep";
const INLINED: &str = "--max-inlined N";
const STEPS: &str = "more than 1048576 steps";
const ELEMENTS: &str = "--max-elements N";

#[test]
fn small_files_that_ask_for_a_lot_are_refused() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/hostile");
    let rows: &[Row<'_>] = &[
        ("rank.taut", "check", 1, RANK),
        ("rank.onnx", "check", 1, RANK),
        ("rank.pnnx.param", "check", 1, RANK),
        ("rank-expand.taut", "check", 1, RANK),
        ("comprehensions.taut", "check", 1, STEPS),
        ("product-of-sums.taut", "check", 1, PARTS),
        ("power-of-sum.taut", "check", 1, PARTS),
        ("doubling-tuples.taut", "check", 1, TUPLES),
        ("doubling-identity.taut", "check", 1, INLINED),
        ("doubling-functions.taut", "check", 1, INLINED),
        ("doubling-tuples-script.taut", "run", 2, TUPLES),
        ("large-random-script.taut", "run", 2, ELEMENTS),
        ("large-zeros-script.taut", "run", 2, ELEMENTS),
        ("past-state.taut", "check", 1, "axis 2 of `past_state` must be 2"),
    ];
    try_rows(&folder, rows);
    let listed: Vec<&str> = rows.iter().map(|row| row.0).collect();
    for entry in fs::read_dir(&folder).unwrap() {
        let name = entry.unwrap().file_name().into_string().unwrap();
        assert!(listed.contains(&&*name), "{name} is not tried");
    }
}

/// A text of numbered parts between a beginning and an end.
fn text_of(begin: &str, n: usize, part: impl Fn(usize) -> String, end: &str) -> String {
    let parts: String = (0..n).map(part).collect();
    format!("{begin}{parts}{end}")
}

#[test]
fn patterns_that_grow_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, text: String| fs::write(folder.path().join(name), text).unwrap();
    let lets = |n: usize, part: &dyn Fn(usize) -> String, result: &str| {
        text_of(
            "fn main(x: f32[2]) {\n  let t0 = x;\n",
            n,
            part,
            &format!("  {result}\n}}\n"),
        )
    };
    let next =
        |right: &'static str| move |i: usize| format!("  let t{} = {};\n", i + 1, right.replace('#', &format!("t{i}")));
    write("nested.taut", lets(3000, &next("(#, x)"), "t3000.1"));
    write(
        "projections.taut",
        lets(18, &next("(#, #)"), "x").replace(
            "  x\n",
            &text_of("", 100, |i| format!("  let p{i} = t18.0;\n"), "  x\n"),
        ),
    );
    write(
        "splits.taut",
        text_of(
            "fn main(x: f32[65536]) {\n",
            40,
            |i| format!("  let s{i} = split(x) {{num_outputs = 65536}};\n"),
            "  s0.0\n}\n",
        ),
    );
    write(
        "branches.taut",
        text_of(
            "fn f0(x: f32[2]) { x }\n",
            30,
            |i| {
                format!(
                    "fn f{}(x: f32[2]) {{ branch(x[0] > 0.0, x) {{then_branch = f{i}, else_branch = f{i}}} }}\n",
                    i + 1
                )
                .replace("x[0] > 0.0", "reduce_sum(x) {keepdims = false} > 0.0")
            },
            "fn main(x: f32[2]) { f30(x) }\n",
        ),
    );
    write(
        "operands.taut",
        "fn main(x: f32[1]) { concat(concat(x for i in 0..60000) {axis = 0} for j in 0..60000) {axis = 0} }".to_owned(),
    );
    write(
        "lists.taut",
        text_of(
            "fn main(x: f32[8]) { reshape(x) {shape = [len(",
            60,
            |i| format!("[l{i} ++ l{i} for l{i} in ", i = 60 - i),
            &format!("[[1, 2]]{})] }} }}", "]".repeat(60)),
        ),
    );
    write(
        "degree.taut",
        text_of(
            "fn main(x: f32[n]) {\n  let t0 = x;\n",
            60,
            |i| {
                format!(
                    "  let t{} = reshape(t{i}) {{shape = [t{i}.size * t{i}.size]}};\n",
                    i + 1
                )
            },
            "  t60\n}\n",
        ),
    );
    write(
        "axes.taut",
        format!("fn main(x: f32[{}]) {{ x }}", vec!["1"; 100_000].join(", ")),
    );
    write(
        "attribute-axes.taut",
        "fn main(x: f32[1]) { reshape(x) {shape = [1 for i in 0..60000]} }".to_owned(),
    );
    write(
        "parts.taut",
        "fn main(x: f32[..], s: i64[9000000000000000000]) { split(x, s) }".to_owned(),
    );
    try_rows(
        folder.path(),
        &[
            ("nested.taut", "check", 1, NESTED),
            ("projections.taut", "check", 1, TUPLES),
            ("splits.taut", "check", 1, TUPLES),
            ("branches.taut", "check", 1, INLINED),
            ("operands.taut", "check", 1, INLINED),
            ("lists.taut", "check", 1, STEPS),
            ("degree.taut", "check", 1, PARTS),
            ("axes.taut", "check", 1, "a tensor of 100000 axes"),
            ("attribute-axes.taut", "check", 1, RANK),
            ("parts.taut", "check", 1, "the number of parts is unknown"),
        ],
    );
}

#[test]
fn limits_can_be_raised() {
    let folder = tempfile::tempdir().unwrap();
    let functions = text_of(
        "fn f0(x: f32[2]) { x }\n",
        9,
        |i| format!("fn f{}(x: f32[2]) {{ f{i}(f{i}(x)) }}\n", i + 1),
        "fn main(x: f32[2]) { f9(x) }\n",
    );
    fs::write(folder.path().join("f.taut"), functions).unwrap();
    fs::write(folder.path().join("s.taut"), "x = zeros((5, 5))\nprint(size(x))\n").unwrap();
    try_rows(
        folder.path(),
        &[
            ("f.taut", "check --max-inlined 100", 1, INLINED),
            ("f.taut", "check --max-inlined 10000", 0, ""),
            ("s.taut", "run --max-elements 24", 2, "more than 24 elements"),
            ("s.taut", "run --max-elements 25", 0, "25"),
        ],
    );
}

#[test]
fn long_scripts_and_many_problems_end() {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, text: String| fs::write(folder.path().join(name), text).unwrap();
    write(
        "chain.taut",
        text_of(
            "x0 = 1\n",
            8000,
            |i| format!("x{} = x{i} + 1\n", i + 1),
            "print(x8000)\n",
        ),
    );
    write(
        "unknown.taut",
        text_of(
            "fn main(x: f32[2]) {\n",
            10_000,
            |i| format!("  let a{i} = b{i};\n"),
            "  x\n}\n",
        ),
    );
    write(
        "unknown-script.taut",
        text_of("x = 1\n", 5000, |i| format!("y{i} = z{i}\n"), ""),
    );
    write(
        "functions.taut",
        text_of(
            "fn main(x: f32[2]) { x }\n",
            5000,
            |i| format!("fn f{i}(x: f32[2]) {{ x }}\n"),
            "",
        ),
    );
    try_rows(
        folder.path(),
        &[
            ("chain.taut", "run", 0, "8001"),
            ("unknown.taut", "check", 1, "unknown name `b0`"),
            ("unknown-script.taut", "run", 2, "unknown name `z0`"),
            ("functions.taut", "check", 0, ""),
        ],
    );
}

#[cfg(unix)]
#[test]
fn only_files_are_read() {
    let folder = tempfile::tempdir().unwrap();
    let place = |name: &str| folder.path().join(name);
    for (name, target) in [
        ("zero.taut", "/dev/zero"),
        ("zero.onnx", "/dev/zero"),
        ("zero.pnnx.param", "/dev/zero"),
    ] {
        std::os::unix::fs::symlink(target, place(name)).unwrap();
    }
    fs::write(place("uses.rules"), "use \"/dev/zero\"\n").unwrap();
    fs::create_dir(place("directory.taut")).unwrap();
    fs::create_dir(place("directory.onnx")).unwrap();
    assert!(
        Command::new("mkfifo")
            .arg(place("pipe.taut"))
            .status()
            .unwrap()
            .success()
    );
    assert!(
        Command::new("mkfifo")
            .arg(place("pipe.onnx"))
            .status()
            .unwrap()
            .success()
    );
    let special = "only regular files are read";
    let directory = "this is a directory";
    try_rows(
        folder.path(),
        &[
            ("zero.taut", "check", 2, special),
            ("zero.taut", "run", 2, special),
            ("zero.onnx", "check", 1, special),
            ("zero.pnnx.param", "check", 1, special),
            ("uses.rules", "rules check", 2, special),
            ("directory.taut", "check", 2, directory),
            ("directory.onnx", "check", 1, directory),
            ("pipe.taut", "check", 2, special),
            ("pipe.onnx", "check", 1, special),
        ],
    );
}

/// The files of the shared data with their commands; `OUT` is a file to write, which is checked with `check` if it was
/// written.
const SHARED: &[(&str, &str)] = &[
    ("1.taut", "check FILE"),
    ("1.onnx", "check FILE"),
    ("1.pnnx.param", "check FILE"),
    ("1b.taut", "check FILE"),
    ("19_1.pnnx.param", "check FILE"),
    ("19_2.pnnx.param", "check FILE"),
    ("19_3.pnnx.param", "check FILE"),
    ("2.taut", "check FILE"),
    ("3.taut", "check FILE"),
    ("3b.taut", "check FILE"),
    ("4.taut", "check FILE"),
    ("4b.taut", "check FILE"),
    ("5.taut", "check FILE"),
    ("5b.taut", "check FILE"),
    ("6.taut", "optimize FILE -o OUT.taut"),
    ("6b.taut", "optimize FILE -o OUT.taut"),
    ("7.taut", "optimize FILE -o OUT.taut"),
    ("7b.taut", "optimize FILE -o OUT.taut"),
    ("7c.taut", "optimize FILE -o OUT.taut"),
    ("7d.taut", "optimize FILE -o OUT.taut"),
    ("8.taut", "run FILE"),
    ("8b.taut", "run FILE"),
    ("8c.taut", "run FILE"),
    ("9.rules", "check FILE"),
    ("9b.rules", "optimize 9b.taut --rules FILE --no-built-in -o OUT.taut"),
    (
        "9b.rules",
        "optimize 9b.taut --rules FILE --no-built-in --engine substitute -o OUT.taut",
    ),
    ("9c.rules", "verify FILE"),
    ("9d.rules", "verify FILE"),
    ("13a.onnx", "convert FILE OUT.taut"),
    ("13b.onnx", "convert FILE OUT.taut"),
    ("13c.onnx", "convert FILE OUT.taut"),
    ("13d.onnx", "convert FILE OUT.taut"),
    ("13e.onnx", "convert FILE OUT.pnnx.param"),
    ("13f.onnx", "convert FILE OUT.pnnx.param"),
    ("13g.onnx", "convert FILE OUT.pnnx.param"),
    ("14.taut", "run FILE"),
    ("15_conv_10_2.taut", "convert FILE OUT.onnx"),
    ("15_conv_13_3.taut", "convert FILE OUT.onnx"),
    ("16.taut", "check FILE"),
    ("16.taut", "convert FILE OUT.onnx"),
    ("17.onnx", "optimize FILE -o OUT.onnx"),
    ("18_audit_slow.taut", "optimize FILE --audit -o OUT.taut"),
];

#[test]
fn every_hostile_file_ends() {
    let Some(folder) = tautomer_testing::shared_data("hostile") else {
        return;
    };
    let only = std::env::var("TAUTOMER_HOSTILE").unwrap_or_default();
    let mut wrong = Vec::new();
    for (file, command) in SHARED.iter().filter(|(file, _)| file.starts_with(&*only)) {
        let scratch = tempfile::tempdir().unwrap();
        let out = scratch.path().join("out").display().to_string();
        let args: Vec<String> = command
            .split_whitespace()
            .map(|word| word.replace("FILE", file).replace("OUT", &out))
            .collect();
        let args: Vec<&str> = args.iter().map(String::as_str).collect();
        let ran = run(&folder, &args);
        if let Some(fault) = ran.fault() {
            wrong.push(format!("{file}: {command}: {fault}"));
            continue;
        }
        let written = args.iter().find(|word| word.starts_with(&out));
        if let (Some(0), Some(written)) = (ran.code, written) {
            let again = run(&folder, &["check", written]);
            if again.code != Some(0) {
                let first: String = again.err.lines().take(4).collect::<Vec<_>>().join(" | ");
                wrong.push(format!("{file}: {command}: what is written is refused: {first}"));
            }
        }
    }
    assert!(wrong.is_empty(), "{} wrong:\n{}", wrong.len(), wrong.join("\n"));
    if only.is_empty() {
        for entry in fs::read_dir(&folder).unwrap() {
            let name = entry.unwrap().file_name().into_string().unwrap();
            let tried = SHARED
                .iter()
                .any(|(file, command)| *file == name || command.contains(&name));
            assert!(tried || name == "README.md", "{name} is not tried");
        }
    }
}
