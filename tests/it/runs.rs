//! Checks of whole runs on the command line: `optimize --audit`, and `verify` of a graph against its original.

use std::path::Path;

use serde_json::Value;

use crate::command::{folder, run};

const NET: &str =
    "fn main(x: f32[n, 4], param w: f32[4, 4]) {\n  let h = matmul(x, w) + 0.0;\n  relu(relu(h)) * 2.0\n}\n";

const RULES: &str = "/// Once is enough.\n\
    rule relu-of-relu(x) { relu(relu(x)) => relu(x) numerics bitwise }\n\
    /// Not true.\n\
    rule relu-is-abs(x) { relu(x) => abs(x) numerics real }\n\
    /// True.\n\
    rule add-of-zero(x) { x + 0 => x numerics real }\n";

#[test]
fn an_audit_counts_what_it_computed() {
    let dir = folder(&[("net.taut", NET)]);
    for engine in ["saturate", "substitute"] {
        let done = run(
            dir.path(),
            &format!("optimize net.taut -o out.taut --audit --engine {engine}"),
        );
        assert_eq!(done.code, 0, "{}", done.err);
        let line = done
            .err
            .lines()
            .find(|l| l.starts_with("audit: "))
            .unwrap_or_else(|| panic!("{}", done.err));
        assert!(
            line.contains(" classes, one value each (field ") && line.ends_with(", unchecked 0)"),
            "{line}"
        );
        assert!(
            done.err.contains("\n  with n = 2; with n = 4; with n = "),
            "{}",
            done.err
        );
        assert!(dir.path().join("out.taut").exists());
    }
    let json = run(dir.path(), "optimize net.taut -o out.taut --audit --json").json();
    let audit = &json["audit"];
    assert_eq!(
        (&audit["ok"], &audit["fault"], &audit["unchecked"]),
        (&true.into(), &Value::Null, &0.into())
    );
    let sum = ["field", "f64", "unchecked"]
        .iter()
        .map(|k| audit[*k].as_u64().unwrap())
        .sum::<u64>();
    assert_eq!(audit["enodes"], sum);
    assert_eq!(run(dir.path(), "optimize net.taut --json").json()["audit"], Value::Null);
}

#[test]
fn an_audit_names_a_wrong_rule() {
    let dir = folder(&[("net.taut", NET), ("a.rules", RULES)]);
    for engine in ["saturate", "substitute"] {
        let args = format!("optimize net.taut -o out.taut --rules a.rules --no-built-in --audit --engine {engine}");
        let done = run(dir.path(), &args);
        assert_eq!(done.code, 1, "{}", done.err);
        assert!(!dir.path().join("out.taut").exists(), "a wrong result is written");
        let said = done.err.split_once("audit: ").map_or("", |(_, said)| said);
        if engine == "saturate" {
            insta::assert_snapshot!("audit_of_a_wrong_rule", said);
        }
        assert!(said.contains("`relu-is-abs` at "), "{said}");
        let json = run(dir.path(), &format!("{args} --json")).json();
        assert_eq!(json["audit"]["fault"]["rule"], "relu-is-abs");
        assert_eq!(json["output"], Value::Null);
    }
    let without = run(
        dir.path(),
        "optimize net.taut -o out.taut --rules a.rules --no-built-in --skip-rules relu-is-abs --audit",
    );
    assert_eq!(without.code, 0, "{}", without.err);
}

#[test]
fn a_result_is_compared_with_its_original() {
    let dir = folder(&[("net.taut", NET)]);
    assert_eq!(run(dir.path(), "optimize net.taut -o out.taut").code, 0);
    let done = run(dir.path(), "verify net.taut out.taut");
    assert_eq!(done.code, 0, "{}{}", done.out, done.err);
    insta::assert_snapshot!("verify_of_a_result", done.out);
    let same = run(dir.path(), "verify net.taut net.taut");
    assert_eq!((same.code, same.out.as_str()), (0, "proved: the same expression\n"));
    let json = run(dir.path(), "verify net.taut out.taut --json --seed 3 --shapes 2").json();
    assert_eq!((&json["verdict"], &json["seed"]), (&"proved".into(), &3.into()));
    assert_eq!(json["shapes"].as_array().map(Vec::len), Some(2));
}

#[test]
fn programs_and_models_can_be_compared() {
    let dir = folder(&[("net.taut", NET)]);
    let w = tautomer::tensor::Tensor::new(&[4, 4], (0..16u8).map(|i| f32::from(i) / 8.0 - 1.0).collect()).unwrap();
    let values = [("w".to_owned(), w)].into_iter().collect();
    tautomer::formats::arrays::write(&dir.path().join("net.safetensors"), &values).unwrap();
    assert_eq!(run(dir.path(), "optimize net.taut -o out.onnx").code, 0);
    let done = run(dir.path(), "verify net.taut out.onnx");
    assert_eq!(done.code, 0, "{}{}", done.out, done.err);
    assert!(
        done.out.starts_with("proved: the same formulas for all sizes"),
        "{}",
        done.out
    );
}

#[test]
fn a_wrong_result_is_refuted_where_it_begins() {
    let original = "fn main(x: f32[n, 2], y: f32[n, 2]) {\n  let a = tanh(x);\n  let b = relu(a + y);\n  let c = b * 2.0;\n  c - y\n}\n";
    let dir = folder(&[
        ("a.taut", original),
        ("b.taut", &original.replace("relu(a + y)", "relu(a - y)")),
    ]);
    let done = run(dir.path(), "verify a.taut b.taut --save found");
    assert_eq!(done.code, 1, "{}", done.err);
    insta::assert_snapshot!("verify_of_a_wrong_result", done.out);
    let sides = ["original", "optimized"].map(|side| run(dir.path(), &format!("run found/{side}.taut")));
    assert!(
        sides.iter().all(|side| side.code == 0),
        "{}{}",
        sides[0].err,
        sides[1].err
    );
    assert_ne!(sides[0].out, sides[1].out);
    let json = run(dir.path(), "verify a.taut b.taut --json").json();
    assert_eq!(json["verdict"], "refuted");
    assert_eq!(json["difference"]["first"]["value"], "`b`");
    let other = folder(&[("a.taut", original), ("b.taut", "fn main(x: f32[n, 2]) { (x, x) }")]);
    let done = run(other.path(), "verify a.taut b.taut");
    assert_eq!(
        (done.code, done.out.as_str()),
        (1, "refuted: the original has 1 result, and the optimized one has 2\n")
    );
}

#[test]
fn graphs_and_rules_do_not_mix() {
    let dir = folder(&[("a.taut", NET), ("a.rules", RULES)]);
    let mixed = run(dir.path(), "verify a.taut a.rules");
    assert_eq!(mixed.code, 2);
    insta::assert_snapshot!("verify_of_a_mix", mixed.err);
    let one = run(dir.path(), "verify a.taut");
    assert!(
        one.code == 2 && one.err.contains("1 graph cannot be compared"),
        "{}",
        one.err
    );
    let kept = run(dir.path(), "verify a.taut a.taut --lock");
    assert!(
        kept.code == 2 && kept.err.contains("`--certificate` are for rules"),
        "{}",
        kept.err
    );
    let missing = run(dir.path(), "verify a.taut b.taut");
    assert!(
        missing.code == 2 && missing.err.contains("error[T0401]"),
        "{}",
        missing.err
    );
    // The same rules as before.
    let rules = run(dir.path(), "verify a.rules --rule relu-of-relu");
    assert!(
        rules.code == 0 && rules.out.starts_with("relu-of-relu  "),
        "{}{}",
        rules.out,
        rules.err
    );
}

#[test]
fn the_readme_shows_what_the_checks_say() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let readme = std::fs::read_to_string(root.join("README.md")).unwrap();
    let dir = folder(&[]);
    std::fs::copy(root.join("examples/mlp.taut"), dir.path().join("m.taut")).unwrap();
    let audited = run(dir.path(), "optimize m.taut -o mlp.taut --audit");
    let said = audited.err.find("audit: ").map_or("", |at| &audited.err[at..]);
    let compared = run(dir.path(), "verify m.taut mlp.taut");
    let shown = format!("```text\n{said}{}```\n", compared.out);
    assert!(readme.contains(&shown), "the README lacks\n{shown}");
}
