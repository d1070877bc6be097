//! `tautomer rules`: pages, pictures, canonical form, examples, comparisons of files.

use std::path::Path;
use std::process::{Command, Output};

use serde_json::Value;

fn run(folder: &Path, args: &str) -> Output {
    Command::new(env!("CARGO_BIN_EXE_tautomer"))
        .args(args.split(' '))
        .current_dir(folder)
        .output()
        .unwrap()
}

fn out(done: &Output) -> String {
    String::from_utf8_lossy(&done.stdout).into_owned()
}

fn err(done: &Output) -> String {
    String::from_utf8_lossy(&done.stderr).into_owned()
}

fn folder(files: &[(&str, &str)]) -> tempfile::TempDir {
    let dir = tempfile::tempdir().unwrap();
    for (name, text) in files {
        std::fs::write(dir.path().join(name), text).unwrap();
    }
    dir
}

const VARYING: &str = r"/// A function of each part <is> the function of the whole & more.
rule parts(x[i]) {
  for f in unary elementwise: concat(f(x[i]) for i in 0..n) {axis = k} => f(concat(x[i] for i in 0..n) {axis = k})
  where n > 1, k < 2
  numerics bitwise
}
example parts {
  fn (x: f32[1], y: f32[2]) { concat(relu(x), relu(y)) {axis = 0} }
  => fn (x: f32[1], y: f32[2]) { relu(concat(x, y) {axis = 0}) }
}
no-example parts { fn (x: f32[1], y: f32[2]) { concat(relu(x), y) {axis = 0} } }
";

#[test]
fn a_rule_has_a_page() {
    let dir = folder(&[("a.rules", VARYING)]);
    let done = run(dir.path(), "rules show parts a.rules");
    let text = out(&done);
    for part in [
        "parts\n  A function of each part",
        "    where n > 1, k < 2\n",
        "class        bitwise: the same bits for every input\n",
        "verdict      none\n",
        "variables    x[i]: any value\n",
        "operators    f: one of ",
        "conditions   n > 1\n               k < 2\n",
        "written in   a.rules:2:6\n",
        "example\n    fn main(x: f32[1], y: f32[2]) {\n      concat(relu(x), relu(y)) {axis = 0}\n",
        "becomes\n    fn main",
        "does not fire\n",
    ] {
        assert!(text.contains(part), "{part:?} is not in\n{text}{}", err(&done));
    }
    let json: Value = serde_json::from_slice(&run(dir.path(), "rules show parts a.rules --json").stdout).unwrap();
    assert_eq!(json["variables"][0]["indexed"], true);
    assert_eq!(json["conditions"][1], "k < 2");
    assert_eq!(json["outputs"], 1);
    assert_eq!(json["examples"][1]["after"], Value::Null);
    assert!(
        json["operators"][0]["choices"]
            .as_array()
            .unwrap()
            .iter()
            .any(|f| f == "relu")
    );
}

/// Checks that the tags of a document are closed in order; returns the number of each.
fn elements(svg: &str) -> std::collections::BTreeMap<&str, usize> {
    let mut open = Vec::new();
    let mut count = std::collections::BTreeMap::new();
    for tag in svg.split('<').skip(1) {
        let (inside, text) = tag.split_once('>').unwrap();
        assert!(
            !text.contains('>')
                && text
                    .replace("&amp;", "")
                    .replace("&lt;", "")
                    .replace("&gt;", "")
                    .replace("&quot;", "")
                    .find('&')
                    .is_none()
        );
        let name = inside.trim_start_matches('/').split([' ', '/']).next().unwrap();
        if inside.starts_with('/') {
            assert_eq!(open.pop(), Some(name));
        } else {
            *count.entry(name).or_default() += 1;
            if !inside.ends_with('/') {
                open.push(name);
            }
        }
    }
    assert!(open.is_empty(), "{open:?}");
    count
}

#[test]
fn rules_are_drawn() {
    let dir = folder(&[("a.rules", VARYING)]);
    let svg = out(&run(dir.path(), "rules show parts a.rules --format svg"));
    let count = elements(&svg);
    // Two parts: x, f, concat, result on one side, x, n and so on on the other; an edge to each except x, and one
    // arrowhead.
    assert_eq!((count["svg"], count["g"], count["marker"]), (1, 2, 1));
    assert_eq!(count["path"], 1 + 3 + 3, "{svg}");
    assert!(svg.contains(">for i in 0..n<"), "{svg}");
    let dot = out(&run(dir.path(), "rules show parts a.rules --format dot"));
    assert_eq!(dot.matches("subgraph cluster_").count(), 2, "{dot}");
    assert!(
        dot.contains("p0n0 -> p0n1 [label=") || dot.contains("p0n0 -> p0n1;"),
        "{dot}"
    );
}

#[test]
fn built_in_rules_are_found_wherever_they_stand() {
    let dir = folder(&[]);
    // From the library, from a set, and from the body of an operator.
    for name in ["transpose-of-transpose", "two-parallel-convs", "silu-written-out"] {
        let done = run(dir.path(), &format!("rules show {name}"));
        assert!(out(&done).contains(&format!("rule {name}(")), "{}", err(&done));
        assert!(out(&done).contains("\n  verdict      proved"), "{}", out(&done));
        elements(&out(&run(dir.path(), &format!("rules show {name} --format svg"))));
    }
    let missing = run(dir.path(), "rules show transpose-of-transposes");
    assert_eq!(missing.status.code(), Some(2));
    assert!(err(&missing).contains("did you mean"), "{}", err(&missing));
}

#[test]
fn rule_files_have_a_canonical_form() {
    let dir = folder(&[("a.rules", "/// Nothing.\nrule a(x){x*1=>x numerics   bitwise}\n")]);
    let check = run(dir.path(), "rules fmt --check a.rules");
    assert_eq!((check.status.code(), out(&check).as_str()), (Some(1), "a.rules\n"));
    assert_eq!(run(dir.path(), "rules fmt a.rules").status.code(), Some(0));
    let text = std::fs::read_to_string(dir.path().join("a.rules")).unwrap();
    assert!(text.contains("rule a(x) {") && text.contains("x * 1 => x"), "{text}");
    assert_eq!(run(dir.path(), "rules fmt --check a.rules").status.code(), Some(0));
}

#[test]
fn examples_are_compared_with_what_is_made() {
    let dir = folder(&[
        (
            "fires.rules",
            "/// Not at all.\nrule wrong(x) { tanh(x) => sigmoid(x) }\n\
             example wrong { fn (x: f32[4]) { tanh(x) } => fn (x: f32[4]) { sigmoid(x) } }\n",
        ),
        (
            "says.rules",
            "/// Twice.\nrule twice(x) { x + x => x * 2 }\n\
             example twice { fn (x: f32[4]) { x + x } => fn (x: f32[4]) { x * 3.0 } }\n",
        ),
        (
            "quiet.rules",
            "/// Twice.\nrule twice(x) { x + x => x * 2 }\n\
             example twice { fn (x: f32[4]) { x + 1.0 } => fn (x: f32[4]) { x * 2.0 } }\n\
             no-example twice { fn (x: f32[4]) { x + x } }\n",
        ),
        (
            "good.rules",
            "/// Twice.\nrule twice(x) { x + x => x * 2 }\n\
             example twice { fn (x: f32[n]) { x + x } => fn (x: f32[n]) { x * (1.0 + 1.0) } }\n",
        ),
    ]);
    for (file, code, parts) in [
        (
            "fires.rules",
            1,
            &["makes a different value: result 0 differs by", "against", "sigmoid(x)"][..],
        ),
        (
            "says.rules",
            1,
            &["result differs from the example: result 0 differs by", "x * 2", "x * 3"][..],
        ),
        (
            "quiet.rules",
            1,
            &["does not fire on its example", "fires where it must not"][..],
        ),
        ("good.rules", 0, &[][..]),
    ] {
        let done = run(dir.path(), &format!("rules test {file}"));
        assert_eq!(done.status.code(), Some(code), "{}{}", out(&done), err(&done));
        for part in parts {
            assert!(out(&done).contains(part), "{part:?} is not in\n{}", out(&done));
        }
    }
}

#[test]
fn files_are_compared_with_each_other() {
    let dir = folder(&[
        ("a.rules", "/// Nothing is added.\nrule one(x) { x + 0 => x }\n"),
        (
            "b.rules",
            "/// Nothing is added.\nrule other(y) { y + 0 => y }\n/// Within.\nrule within(y) { relu(y + 0) => relu(y) }\n",
        ),
    ]);
    for (args, parts) in [
        ("rules check a.rules", &[][..]),
        (
            "rules check a.rules b.rules",
            &[
                "`other` is the rule `one` with other names",
                "`one` is defined in a.rules:2:6",
                "`within` does nothing that `other` does not do",
            ][..],
        ),
    ] {
        let done = run(dir.path(), args);
        assert_eq!(done.status.code(), Some(0));
        for part in parts {
            assert!(err(&done).contains(part), "{part:?} is not in\n{}", err(&done));
        }
        assert_eq!(
            err(&done).matches("warning[").count(),
            parts.len().min(2),
            "{}",
            err(&done)
        );
    }
    let json: Value = serde_json::from_slice(&run(dir.path(), "rules check a.rules b.rules --json").stdout).unwrap();
    let counts: Vec<_> = json["files"]
        .as_array()
        .unwrap()
        .iter()
        .map(|f| (&f["file"], &f["rules"], &f["warnings"]))
        .collect();
    assert_eq!(
        counts,
        [
            (&"a.rules".into(), &1.into(), &0.into()),
            (&"b.rules".into(), &2.into(), &1.into())
        ]
    );
}
