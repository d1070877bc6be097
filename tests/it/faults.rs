//! Truncated, damaged or malicious models: a message that names the place, exit code 2, bounded memory, and nothing
//! written.

use std::path::Path;
use std::process::Command;
use std::sync::Arc;

use prost::Message as _;

use tautomer::diag::Source;
use tautomer::formats::onnx::proto::{AttributeProto, GraphProto, ModelProto, NodeProto, TensorProto};
use tautomer::formats::onnx::{OnnxInfo, export, from_tensor};
use tautomer::graph::{BuildOptions, Params, build_program};
use tautomer::lang::parse_program;
use tautomer::tensor::Tensor;

/// The address space of a run, in KiB: far less than the models ask for.
const MEMORY: u64 = 3 << 20;

fn model(program: &str) -> ModelProto {
    let graph = build_program(
        &parse_program(Arc::new(Source::new("base.taut", program))).unwrap(),
        &BuildOptions::default(),
    )
    .unwrap();
    let params: Params = graph
        .params()
        .iter()
        .map(|&v| {
            let shape = graph
                .ty(v)
                .as_tensor()
                .unwrap()
                .shape
                .as_ref()
                .unwrap()
                .to_concrete()
                .unwrap();
            let n: usize = shape.iter().product();
            let values: Vec<f32> = (0..n).map(|i| i as f32 / n as f32).collect();
            (
                graph.vertex(v).name.clone().unwrap(),
                Tensor::new(&shape, values).unwrap(),
            )
        })
        .collect();
    export(&graph, &params, &OnnxInfo::default()).unwrap().model
}

fn base() -> ModelProto {
    model("fn main(x: f32[2, 3], param w: f32[3, 4]) { relu(matmul(x, w)) + 1.0 }")
}

fn graph(model: &mut ModelProto) -> &mut GraphProto {
    model.graph.as_mut().unwrap()
}

fn node<'a>(model: &'a mut ModelProto, op: &str) -> &'a mut NodeProto {
    let found = graph(model).node.iter_mut().find(|n| n.op_type.as_deref() == Some(op));
    found.unwrap_or_else(|| panic!("no {op}"))
}

fn named(name: &str, shape: &[usize], values: Vec<i64>) -> TensorProto {
    from_tensor(name, &Tensor::new(shape, values).unwrap())
}

/// The output of `optimize` for the bytes; in any case, a previous result is still there, or a complete new one.
fn said(bytes: &[u8]) -> (Option<i32>, String) {
    let folder = tempfile::tempdir().unwrap();
    let (input, output) = (folder.path().join("in.onnx"), folder.path().join("out.onnx"));
    std::fs::write(&input, bytes).unwrap();
    std::fs::write(&output, b"former").unwrap();
    let (code, text) = run(&input, &output);
    let after = std::fs::read(&output).unwrap();
    if code == Some(0) {
        ModelProto::decode(&*after).unwrap();
    } else {
        assert_eq!(after, b"former", "{text}");
    }
    assert_eq!(
        std::fs::read_dir(folder.path()).unwrap().count(),
        2,
        "files are left behind: {text}"
    );
    (code, text)
}

fn run(input: &Path, output: &Path) -> (Option<i32>, String) {
    let tool = env!("CARGO_BIN_EXE_tautomer");
    let mut command = if cfg!(unix) {
        let mut shell = Command::new("sh");
        shell.args(["-c", &format!("ulimit -v {MEMORY}; exec \"$0\" \"$@\""), tool]);
        shell
    } else {
        Command::new(tool)
    };
    let out = command
        .arg("optimize")
        .arg(input)
        .arg("-o")
        .arg(output)
        .env("NO_COLOR", "1")
        .output()
        .unwrap();
    (out.status.code(), String::from_utf8_lossy(&out.stderr).into_owned())
}

/// The model is rejected with a message that contains these words.
fn refused(model: &ModelProto, words: &[&str]) {
    let (code, text) = said(&model.encode_to_vec());
    assert_eq!(code, Some(2), "{text}");
    assert!(text.contains("error[T"), "{text}");
    for word in words {
        assert!(text.contains(word), "`{word}` is not in: {text}");
    }
}

#[test]
fn the_base_is_optimised() {
    let (code, text) = said(&base().encode_to_vec());
    assert_eq!(code, Some(0), "{text}");
}

#[test]
fn models_cut_short_are_refused() {
    let bytes = base().encode_to_vec();
    for part in 1..8 {
        let (code, text) = said(&bytes[..bytes.len() * part / 8]);
        assert_eq!(code, Some(2), "{text}");
        assert!(text.contains("in.onnx") || text.contains("error[T"), "{text}");
    }
    let (code, text) = said(b"");
    assert_eq!(code, Some(2), "{text}");
    let (code, text) = said(b"not a model at all, but a text");
    assert_eq!(code, Some(2), "{text}");
}

#[test]
fn elements_that_are_missing_name_their_tensor() {
    let mut model = base();
    let weight = &mut graph(&mut model).initializer[0];
    let name = weight.name.clone().unwrap();
    let data = weight.raw_data.as_mut().unwrap();
    *data = data.slice(..data.len() - 3);
    refused(&model, &[&name]);
}

#[test]
fn extents_beyond_all_memory_are_refused_or_carried() {
    let mut model = base();
    let weight = &mut graph(&mut model).initializer[0];
    let name = weight.name.clone().unwrap();
    weight.dims = vec![1 << 40, 1 << 21];
    refused(&model, &[&name]);
    let mut model = base();
    graph(&mut model).initializer[0].dims = vec![-3, -4];
    refused(&model, &[&name]);
    // Precomputing these would take more memory than there is.
    for program in [
        "fn main(x: f32[2]) { x + reduce_sum(expand(1.0) {shape = [1099511627776]}) }",
        "fn main(x: f32[1099511627776]) { relu(relu(x)) }",
        "fn main(x: f32[4294967296, 1], y: f32[1, 4294967296]) { matmul(x, y) }",
        "fn main(x: f32[1]) { tile(x) {repeats = [1099511627776]} }",
    ] {
        let bytes = self::model(program).encode_to_vec();
        let (code, text) = said(&bytes);
        assert!(matches!(code, Some(0 | 2)), "{program}: {code:?} {text}");
        assert!(
            text.contains("error[T") || text.contains("not checked"),
            "{program}: {text}"
        );
    }
}

#[test]
fn nodes_in_a_circle_are_named() {
    let mut model = base();
    let sum = node(&mut model, "Add").output[0].clone();
    node(&mut model, "Relu").input[0] = sum.clone();
    refused(&model, &["Relu"]);
}

#[test]
fn values_that_nothing_makes_are_named() {
    let mut model = base();
    node(&mut model, "Relu").input[0] = "nowhere".to_owned();
    refused(&model, &["nowhere"]);
    let mut model = base();
    graph(&mut model).output[0].name = Some("elsewhere".to_owned());
    refused(&model, &["elsewhere"]);
    let mut model = base();
    let first = node(&mut model, "MatMul").output[0].clone();
    node(&mut model, "Relu").output[0] = first.clone();
    refused(&model, &[&first]);
}

#[test]
fn attributes_and_operands_that_do_not_fit_name_their_node() {
    let mut model = base();
    let relu = node(&mut model, "Relu");
    relu.name = Some("the gate".to_owned());
    let again = relu.input[0].clone();
    relu.input.push(again);
    refused(&model, &["the gate"]);
    let mut model = base();
    let name = graph(&mut model).initializer[0].name.clone().unwrap();
    graph(&mut model).initializer[0] = named(&name, &[5, 4], vec![1; 20]);
    node(&mut model, "MatMul").name = Some("the product".to_owned());
    refused(&model, &["the product"]);
}

#[test]
fn graphs_in_graphs_end_somewhere() {
    let mut inner = base();
    for _ in 0..500 {
        let mut outer = base();
        let attribute = AttributeProto {
            name: Some("then_branch".to_owned()),
            g: inner.graph.take(),
            ..AttributeProto::default()
        };
        node(&mut outer, "Relu").attribute.push(attribute);
        inner = outer;
    }
    let (code, text) = said(&inner.encode_to_vec());
    assert_eq!(code, Some(2), "{text}");
    assert!(text.contains("nest"), "{text}");
}

#[test]
fn operator_sets_that_do_not_exist_are_named() {
    let mut model = base();
    model.opset_import[0].version = Some(9999);
    refused(&model, &["9999"]);
    let mut model = base();
    model.opset_import[0].version = Some(-1);
    refused(&model, &["-1"]);
    let mut model = base();
    model.opset_import.clear();
    let (code, text) = said(&model.encode_to_vec());
    assert!(matches!(code, Some(0 | 2)), "{text}");
}

#[test]
fn files_of_weights_that_are_missing_are_named() {
    use tautomer::formats::onnx::proto::StringStringEntryProto;
    let mut model = base();
    let weight = &mut graph(&mut model).initializer[0];
    weight.raw_data = None;
    weight.data_location = Some(1);
    weight.external_data = vec![StringStringEntryProto {
        key: Some("location".to_owned()),
        value: Some("gone.bin".to_owned()),
    }];
    refused(&model, &["gone.bin"]);
    // Outside the directory of the model.
    graph(&mut model).initializer[0].external_data[0].value = Some("../../etc/passwd".to_owned());
    refused(&model, &["passwd"]);
}
