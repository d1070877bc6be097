//! Declared shapes that contradict the model, and computed shapes.

use super::*;
use crate::proto::{TypeProto, TypeValue};
use crate::to_tensor;
use tautomer_diag::Severity;

fn open(dims: &[Dim]) -> Type {
    Type::tensor(DType::F32, dims.iter().cloned().collect::<Shape>())
}

/// A value is declared with size 11 along its second axis, which is the axis of an input; a node reads the dimension.
fn misdeclared() -> ModelProto {
    let (n, c) = (Dim::symbol("n"), Dim::symbol("c"));
    let mut model = weights(
        model(
            13,
            &[value("x", &open(&[n.clone(), c.clone(), Dim::from(4)]))],
            &[
                node("Relu", &["x"], &["y"]),
                node("Shape", &["y"], &["s"]),
                node("Gather", &["s", "axis"], &["extent"]),
                node("Expand", &["one", "extent"], &["z"]),
                node("Add", &["z", "z"], &["r"]),
            ],
            &[value("r", &open(&[Dim::from(7), Dim::from(7)]))],
        ),
        &[
            ("axis", Tensor::vector(vec![1i64])),
            ("one", Tensor::vector(vec![1f32])),
        ],
    );
    let declared = value("y", &open(&[n, Dim::from(11), Dim::from(5)]));
    model.graph.get_or_insert_default().value_info.push(declared);
    model
}

#[test]
fn a_declared_shape_that_is_wrong_is_told_and_not_used() {
    let imported = read(misdeclared());
    let warnings: Vec<String> = imported
        .notes
        .iter()
        .filter(|d| d.severity == Severity::Warning)
        .map(|d| format!("{} {}", d.code, d.message))
        .collect();
    assert_eq!(
        warnings,
        [
            "T0508 \"y\" is declared as f32[n, 11, 5], but is f32[n, c, 4]",
            "T0508 \"r\" is declared as f32[7, 7], but is f32[c]",
        ]
    );
    let written = write(&imported).model;
    let graph = graph_of(&written);
    for tensor in &graph.initializer {
        let constant = to_tensor(tensor, None).unwrap();
        let elements = constant.to_ints().unwrap_or_default();
        assert!(!elements.contains(&11) && !elements.contains(&7), "{constant:?}");
    }
    let result = read(written.clone()).workload.graph;
    assert_eq!(result.ty(result.outputs()[0].vertex).to_string(), "f32[c]");
}

/// Differences only in names, or in what the declaration leaves open, are no contradiction.
#[test]
fn a_declared_shape_that_says_less_is_fine() {
    let model = model(
        13,
        &[value("x", &open(&[Dim::symbol("n"), Dim::from(4)]))],
        &[node("Relu", &["x"], &["y"])],
        &[value("y", &open(&[Dim::symbol("batch"), Dim::symbol("k")]))],
    );
    assert!(read(model).notes.is_empty());
}

#[test]
fn axes_without_a_name_are_told_apart_and_stay_without() {
    let dims = [Dim::unknown(0), Dim::unknown(1), Dim::from(3)];
    let flat = weights(
        model(
            13,
            &[value("in/put", &open(&dims)), value("other", &open(&dims))],
            &[
                node("Shape", &["in/put"], &["s"]),
                node("Gather", &["s", "axes"], &["kept"]),
                node("Concat", &["kept", "rest"], &["wanted"]),
                node("Reshape", &["other", "wanted"], &["y"]),
            ],
            &[value("y", &open(&dims))],
        ),
        &[
            ("axes", Tensor::vector(vec![1i64])),
            ("rest", Tensor::vector(vec![-1i64])),
        ],
    );
    let mut flat = flat;
    let concat = &mut flat.graph.get_or_insert_default().node[2];
    *concat = with(concat.clone(), "axis", AttrValue::int(0));
    let imported = read(flat);
    let graph = &imported.workload.graph;
    let input = graph.ty(graph.inputs()[0]).to_string();
    assert_eq!(input, "f32[in_put_0, in_put_1, 3]");
    let calls = graph.rpo().into_iter().filter(|&v| graph.vertex(v).op().is_some());
    assert_eq!(calls.count(), 1);
    let written = write(&imported).model;
    let graph = graph_of(&written);
    let types: Vec<String> = graph.node.iter().filter_map(|n| n.op_type.clone()).collect();
    assert_eq!(types, ["Shape", "Gather", "Concat", "Reshape"]);
    assert_eq!(graph.input[0], value("in/put", &open(&dims)));
}

#[test]
fn a_declaration_without_an_element_type_is_none() {
    let mut y = value("y", &open(&[Dim::from(2)]));
    if let Some(TypeProto {
        value: Some(TypeValue::TensorType(tensor)),
        ..
    }) = &mut y.r#type
    {
        tensor.elem_type = None;
    }
    let mut elu = node("Elu", &["x"], &["y"]);
    elu.attribute.push(AttributeProto {
        name: Some("of no operator".into()),
        ..AttributeProto::default()
    });
    let imported = read(model(16, &[value("x", &open(&[Dim::from(2)]))], &[elu], &[y]));
    let graph = &imported.workload.graph;
    let ty = graph.ty(graph.outputs()[0].vertex).to_string();
    assert_eq!(ty, "f32[..]");
}

/// The element types of results of `ai.onnx.ml` are known; a node that passes a value of unknown type on is not there.
#[test]
fn values_of_other_domains_are_passed_on() {
    let elsewhere = |domain: &str, node: NodeProto| NodeProto {
        domain: Some(domain.to_string()),
        ..node
    };
    let model = model(
        13,
        &[value("x", &open(&[Dim::symbol("n"), Dim::from(4)]))],
        &[
            elsewhere("ai.onnx.ml", node("Normalizer", &["x"], &["a"])),
            with(node("Cast", &["a"], &["b"]), "to", AttrValue::int(1)),
            elsewhere("some.where", node("Secret", &["b"], &["c"])),
            node("Identity", &["c"], &["d"]),
            elsewhere("some.where", node("Secret", &["d"], &["y"])),
        ],
        &[value("y", &open(&[Dim::symbol("n"), Dim::from(4)]))],
    );
    let graph = read(model).workload.graph;
    let calls: Vec<String> = graph
        .rpo()
        .into_iter()
        .filter_map(|v| Some(format!("{} {}", graph.vertex(v).op()?.name(), graph.ty(v))))
        .collect();
    assert_eq!(
        calls,
        [
            "ai.onnx.ml::Normalizer f32[..]",
            "cast f32[..]",
            "some.where::Secret ()",
            "some.where::Secret f32[n, 4]"
        ]
    );
}
