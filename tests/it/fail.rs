//! Invalid programs: every message is a snapshot.

use std::path::Path;
use std::process::Command;
use std::sync::Arc;

use tautomer::diag::{Diagnostics, Source};
use tautomer::graph::{BuildOptions, build_program};
use tautomer::lang::{parse_program, parse_rules};
use tautomer::rule::load_rules;

fn problems(name: &str, text: &str) -> Diagnostics {
    let built = parse_program(Arc::new(Source::new(name, text)))
        .and_then(|program| build_program(&program, &BuildOptions::default()));
    match built {
        Ok(_) => panic!("{name} has no problem"),
        Err(problems) => problems,
    }
}

#[test]
fn messages() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/files/fail");
    let mut files: Vec<_> = std::fs::read_dir(folder).unwrap().map(|e| e.unwrap().path()).collect();
    files.sort();
    assert!(files.len() >= 30);
    for path in files {
        let text = std::fs::read_to_string(&path).unwrap();
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        let found = problems(&name, &text);
        assert!(
            found.iter().all(|p| tautomer::diag::explain(p.code).is_some()),
            "{found}"
        );
        let stem = path.file_stem().unwrap().to_string_lossy().into_owned();
        insta::with_settings!({ prepend_module_to_snapshot => false, snapshot_path => "snapshots/fail", omit_expression => true }, {
            insta::assert_snapshot!(stem, found.render(false));
        });
    }
}

#[test]
fn nesting_beyond_the_limit() {
    let text = format!("fn main(x: f32[2]) {{ {}x{} }}", "(".repeat(20_001), ")".repeat(20_001));
    let found = problems("deep.taut", &text);
    let first = found.iter().next().unwrap();
    assert_eq!(
        (first.code, first.message.as_str()),
        ("T0601", "brackets are nested 20002 deep")
    );
}

#[test]
fn functions_that_double() {
    let mut text = String::from("fn f0(x: f32[2]) { x + x }\n");
    for i in 1..40 {
        text.push_str(&format!("fn f{i}(x: f32[2]) {{ f{0}(f{0}(x)) }}\n", i - 1));
    }
    text.push_str("fn main(x: f32[2]) { f39(x) }\n");
    let program = parse_program(Arc::new(Source::new("doubling.taut", text))).unwrap();
    let options = BuildOptions {
        max_vertices: 1000,
        ..BuildOptions::default()
    };
    let found = build_program(&program, &options).unwrap_err();
    assert!(found.iter().all(|p| p.code == "T0603"), "{found}");
}

#[test]
fn messages_of_the_command() {
    let folder = tempfile::tempdir().unwrap();
    let file = |name: &str, bytes: &[u8]| std::fs::write(folder.path().join(name), bytes).unwrap();
    file("scale.taut", b"fn main(x: f32[2], param w: f32[2]) { x * w }\n");
    file("broken.npy", b"\x93NUMPY\x01\x00\x10");
    file("text.npy", b"1, 2\n");
    file("latin.taut", b"// caf\xe9\n");
    let mut out = String::new();
    for args in [
        "run scale.taut --input broken.npy",
        "run scale.taut --input text.npy",
        "run scale.taut --input missing.npy",
        "run scale.taut --input brokn.npy",
        "run scale.taut",
        "run scale.taut --input y=text.npy",
        "check latin.taut",
        "check scale.tuat",
        "check scal.taut",
        "check README",
        "run some.rules",
        "explain T0199",
        "optimize scale.taut --skip-rules nothing",
    ] {
        let done = Command::new(env!("CARGO_BIN_EXE_tautomer"))
            .args(args.split(' '))
            .current_dir(folder.path())
            .output()
            .unwrap();
        assert_eq!(done.status.code(), Some(2), "{args}");
        assert!(done.stdout.is_empty(), "{args}");
        out.push_str(&format!(
            "$ tautomer {args}\n{}\n",
            String::from_utf8(done.stderr).unwrap()
        ));
    }
    insta::with_settings!({ prepend_module_to_snapshot => false, snapshot_path => "snapshots/fail", omit_expression => true }, {
        insta::assert_snapshot!("command", out);
    });
}

fn rule_problems(name: &str, text: &str) -> Diagnostics {
    match parse_rules(Arc::new(Source::new(name, text))).and_then(load_rules) {
        Ok(set) => set.warnings,
        Err(problems) => problems,
    }
}

#[test]
fn messages_about_rules() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/files/fail-rules");
    let mut files: Vec<_> = std::fs::read_dir(folder).unwrap().map(|e| e.unwrap().path()).collect();
    files.sort();
    assert!(files.len() >= 75);
    for path in files {
        let text = std::fs::read_to_string(&path).unwrap();
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        let found = rule_problems(&name, &text);
        assert!(!found.is_empty(), "{name} has no problem");
        assert!(
            found.iter().all(|p| tautomer::diag::explain(p.code).is_some()),
            "{found}"
        );
        let stem = path.file_stem().unwrap().to_string_lossy().into_owned();
        insta::with_settings!({ prepend_module_to_snapshot => false, snapshot_path => "snapshots/fail-rules", omit_expression => true }, {
            insta::assert_snapshot!(stem, found.render(false));
        });
    }
}

#[test]
fn patterns_beyond_the_limit() {
    let text = format!(
        "/// Deep.\nrule deep(x) {{ {}x{} => x }}",
        "abs(".repeat(300),
        ")".repeat(300)
    );
    let found = rule_problems("deep.rules", &text);
    let first = found.iter().next().unwrap();
    assert_eq!(
        (first.code, first.message.as_str()),
        ("T0604", "a pattern may be nested at most 200 deep")
    );
    assert_eq!(found.len(), 1, "{found}");
}

/// A value used twice, by a value used twice, and so on: as a tree it would be astronomically large.
#[test]
fn patterns_that_double() {
    let lets: String = (0..100).map(|i| format!("let a{} = a{i} + a{i};\n", i + 1)).collect();
    let side = format!("let a0 = relu(x);\n{lets} a100");
    let text = format!("/// Doubled.\nrule double(x) {{ {side} => {side} }}");
    let found = rule_problems("double.rules", &text);
    assert!(!found.has_errors(), "{found}");
}

mod models {
    use prost::Message;
    use tautomer::formats::onnx::proto::{
        GraphProto, ModelProto, NodeProto, OperatorSetIdProto, StringStringEntryProto, TensorProto, ValueInfoProto,
    };
    use tautomer::formats::onnx::{from_tensor, read_model};
    use tautomer::tensor::Tensor;

    fn node(op: &str, inputs: &[&str], outputs: &[&str]) -> NodeProto {
        NodeProto {
            op_type: Some(op.to_owned()),
            input: inputs.iter().map(|s| (*s).to_owned()).collect(),
            output: outputs.iter().map(|s| (*s).to_owned()).collect(),
            ..NodeProto::default()
        }
    }

    fn model(nodes: &[NodeProto], weights: &[TensorProto]) -> Vec<u8> {
        let output = ValueInfoProto {
            name: Some("y".to_owned()),
            ..ValueInfoProto::default()
        };
        let graph = GraphProto {
            name: Some("g".to_owned()),
            node: nodes.to_vec(),
            initializer: weights.to_vec(),
            output: vec![output],
            ..GraphProto::default()
        };
        let opset = OperatorSetIdProto {
            domain: Some(String::new()),
            version: Some(17),
        };
        let model = ModelProto {
            ir_version: Some(8),
            opset_import: vec![opset],
            graph: Some(graph),
            ..ModelProto::default()
        };
        model.encode_to_vec()
    }

    #[test]
    fn messages_about_broken_models() {
        let folder = tempfile::tempdir().unwrap();
        let w = from_tensor("w", &Tensor::vector(vec![1.0f32, 2.0]));
        let relu = [node("Relu", &["w"], &["y"])];
        let whole = model(&relu, std::slice::from_ref(&w));
        let outside = |location: &str| TensorProto {
            raw_data: None,
            float_data: Vec::new(),
            data_location: Some(1),
            external_data: vec![StringStringEntryProto {
                key: Some("location".to_owned()),
                value: Some(location.to_owned()),
            }],
            ..w.clone()
        };
        let short = TensorProto {
            dims: vec![2, 3],
            ..w.clone()
        };
        let random: Vec<u8> = (0..200u32)
            .map(|i| (i.wrapping_mul(2_654_435_761) >> 13) as u8)
            .collect();
        let mut out = String::new();
        for (name, bytes) in [
            ("empty", Vec::new()),
            ("truncated", whole[..whole.len() - 5].to_vec()),
            ("random", random),
            ("text", b"fn main(x: f32[2]) { x }\n".to_vec()),
            (
                "unknown_input",
                model(&[node("Add", &["w", "nowhere"], &["y"])], std::slice::from_ref(&w)),
            ),
            (
                "cycle",
                model(
                    &[
                        node("Relu", &["b"], &["a"]),
                        node("Neg", &["a"], &["b"]),
                        node("Abs", &["b"], &["y"]),
                    ],
                    &[],
                ),
            ),
            ("external_missing", model(&relu, &[outside("weights.bin")])),
            ("external_outside", model(&relu, &[outside("../weights.bin")])),
            ("size", model(&relu, &[short])),
            (
                "output",
                model(&[node("Relu", &["w"], &["z"])], std::slice::from_ref(&w)),
            ),
            (
                "twice",
                model(
                    &[relu[0].clone(), node("Neg", &["w"], &["y"])],
                    std::slice::from_ref(&w),
                ),
            ),
        ] {
            let path = folder.path().join(format!("{name}.onnx"));
            std::fs::write(&path, bytes).unwrap();
            let found = match read_model(&path) {
                Ok(_) => panic!("{name} was accepted"),
                Err(found) => found,
            };
            assert!(
                found.iter().all(|p| tautomer::diag::explain(p.code).is_some()),
                "{found}"
            );
            let text = found
                .render(false)
                .replace(&format!("{}/", folder.path().display()), "");
            out.push_str(&format!("# {name}\n{text}\n"));
        }
        insta::with_settings!({ prepend_module_to_snapshot => false, snapshot_path => "snapshots/fail", omit_expression => true }, {
            insta::assert_snapshot!("models", out);
        });
    }
}
