//! Written files: they are read back before they are put in place, and by later readers.
//!
//! Some of the models are not part of this repository; without `TAUTOMER_TEST_DATA` those tests print a message and do
//! nothing.

use std::path::Path;

use tautomer_testing::shared_data;

use crate::command::{folder, run, run_with};

fn names(folder: &Path) -> Vec<String> {
    let mut names: Vec<String> = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}

#[test]
fn what_was_written_is_read_or_nothing_is_written() {
    let Some(hostile) = shared_data("hostile") else { return };
    let files: Vec<String> = names(&hostile)
        .into_iter()
        .filter(|name| ["13", "15", "17"].iter().any(|start| name.starts_with(start)))
        .collect();
    assert!(files.len() >= 10, "{files:?}");
    for file in files {
        let source = hostile.join(&file);
        for kind in ["taut", "onnx", "pnnx.param"] {
            let dir = folder(&[]);
            let target = format!("out.{kind}");
            let path = source.to_str().unwrap();
            let done = run_with(dir.path(), &["convert", path, &target], "");
            match done.code {
                0 => {
                    let checked = run(dir.path(), &format!("check {target}"));
                    assert_eq!(checked.code, 0, "{file} {kind}: {}", checked.err);
                }
                code => {
                    assert_eq!(code, 2, "{file} {kind}: {}", done.err);
                    assert!(done.err.contains("error["), "{file} {kind}: {}", done.err);
                    assert!(names(dir.path()).is_empty(), "{file} {kind}");
                }
            }
        }
    }
}

#[test]
fn a_model_that_never_runs_is_not_written_unsaid() {
    let Some(hostile) = shared_data("hostile") else { return };
    let dir = folder(&[]);
    let path = hostile.join("17.onnx");
    let done = run_with(
        dir.path(),
        &["optimize", path.to_str().unwrap(), "-o", "a.onnx", "-q"],
        "",
    );
    assert!(!done.err.is_empty());
    match done.code {
        0 => assert_eq!(run(dir.path(), "check a.onnx").code, 0),
        code => assert_eq!((code, names(dir.path()).len()), (2, 0)),
    }
}

#[test]
fn the_target_is_looked_at_before_the_work() {
    let dir = folder(&[("a.taut", "fn main(x: f32[2]) { x + }"), ("old.taut", "old")]);
    std::fs::create_dir(dir.path().join("d.taut")).unwrap();
    let mut permissions = std::fs::metadata(dir.path().join("old.taut")).unwrap().permissions();
    permissions.set_readonly(true);
    std::fs::set_permissions(dir.path().join("old.taut"), permissions).unwrap();
    for (target, says) in [
        ("none/b.taut", "does not exist"),
        ("d.taut", "is a directory"),
        ("a.taut/b.taut", "is not a directory"),
        ("old.taut", "read-only"),
    ] {
        // The program is invalid, which is not detected.
        for command in [
            format!("convert a.taut {target}"),
            format!("optimize a.taut -o {target}"),
        ] {
            let done = run(dir.path(), &command);
            assert_eq!(done.code, 2, "{command}");
            assert!(
                done.err.contains("T0401") && done.err.contains(says),
                "{command}: {}",
                done.err
            );
        }
    }
    assert_eq!(names(dir.path()), ["a.taut", "d.taut", "old.taut"]);
}

#[test]
fn leftovers_of_a_process_that_was_killed_go_with_the_next_result() {
    let dir = folder(&[
        ("a.taut", "fn main(x: f32[2]) { x + x }"),
        (".tautomer-4294967295-aB3dE9", "half"),
    ]);
    let done = run(dir.path(), "convert a.taut b.onnx");
    assert_eq!(done.code, 0, "{}", done.err);
    assert_eq!(names(dir.path()), ["a.taut", "b.onnx"]);
}

#[test]
fn weights_of_another_model_are_told() {
    let text = |call: &str| format!("fn main(x: f32[2]) {{ {call}(x) + [1.0, 2.5] }}");
    let dir = folder(&[("a.taut", &text("relu")), ("b.taut", &text("neg"))]);
    for name in ["a", "b"] {
        let done = run(dir.path(), &format!("convert {name}.taut {name}.pnnx.param"));
        assert_eq!(done.code, 0, "{}", done.err);
        assert_eq!(
            run(dir.path(), &format!("check {name}.pnnx.param")).err,
            "1 file without problems\n"
        );
    }
    std::fs::copy(dir.path().join("a.pnnx.bin"), dir.path().join("b.pnnx.bin")).unwrap();
    let checked = run(dir.path(), "check b.pnnx.param");
    assert!(checked.err.contains("warning[T0514]"), "{}", checked.err);
}

#[test]
fn a_branch_that_only_names_a_value_is_found_and_mended() {
    use prost::Message as _;
    use tautomer::formats::onnx::proto::ModelProto;

    let dir = folder(&[(
        "a.taut",
        "fn yes(x: f32[2]) { neg(x) }\nfn no(x: f32[2]) { x }\n\
         fn main(c: bool, x: f32[2]) { branch(c, x) {then_branch = yes, else_branch = no} }",
    )]);
    let done = run(dir.path(), "convert a.taut a.onnx");
    assert_eq!(done.code, 0, "{}", done.err);
    assert_eq!(run(dir.path(), "check a.onnx").code, 0);
    let bytes = std::fs::read(dir.path().join("a.onnx")).unwrap();
    let mut model = ModelProto::decode(bytes.as_slice()).unwrap();
    // As written by a tool that leaves out nodes that do nothing.
    let graph = model.graph.as_mut().unwrap();
    let node = graph.node.iter_mut().find(|n| n.op_type() == "If").unwrap();
    let other = node.attribute.iter_mut().find(|a| a.name() == "else_branch").unwrap();
    let body = other.g.as_mut().unwrap();
    assert_eq!(body.node.len(), 1, "an Identity alone");
    let outside = body.node.remove(0).input.remove(0);
    body.output[0].name = Some(outside);
    std::fs::write(dir.path().join("b.onnx"), model.encode_to_vec()).unwrap();
    let checked = run(dir.path(), "check b.onnx");
    assert_eq!(checked.code, 1, "{}", checked.err);
    assert!(checked.err.contains("error[T0512]"), "{}", checked.err);
    let mended = run(dir.path(), "convert b.onnx c.onnx");
    assert!(
        mended.code == 0 && mended.err.contains("warning[T0512]"),
        "{}",
        mended.err
    );
    assert_eq!(run(dir.path(), "check c.onnx").code, 0);
}
