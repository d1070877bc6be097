//! Layers and quantization in the forms of several operator sets.

use super::*;

/// The model with one node over inputs of these types, exported and imported again; the operator and the exported node.
fn layer(opset: i64, one: NodeProto, inputs: &[(&str, Type)], outputs: &[(&str, Type)]) -> (String, NodeProto) {
    let list = |values: &[(&str, Type)]| -> Vec<ValueInfoProto> { values.iter().map(|(n, ty)| value(n, ty)).collect() };
    let (imported, exported) = round_trip(model(opset, &list(inputs), &[one], &list(outputs)));
    assert_eq!(exported.opset_import[0].version, Some(opset));
    assert!(imported.notes.is_empty(), "{:?}", imported.notes);
    let graph = &imported.workload.graph;
    let op = graph.rpo().into_iter().find_map(|v| Some(graph.vertex(v).op()?.name()));
    let nodes = &graph_of(&exported).node;
    assert_eq!(nodes.len(), 1, "{nodes:?}");
    (op.unwrap(), nodes[0].clone())
}

fn f32s(shape: &[i64]) -> Type {
    Type::tensor(DType::F32, shape.iter().map(|&d| Dim::Const(d)).collect::<Shape>())
}

fn attr_names(node: &NodeProto) -> Vec<&str> {
    node.attribute.iter().filter_map(|a| a.name.as_deref()).collect()
}

#[test]
fn recurrent_layers_have_results_that_are_left_out() {
    let lstm = |outputs: &[&str]| {
        with(
            node("LSTM", &["x", "w", "r"], outputs),
            "hidden_size",
            AttrValue::int(3),
        )
    };
    let inputs = [
        ("x", f32s(&[5, 2, 4])),
        ("w", f32s(&[1, 12, 4])),
        ("r", f32s(&[1, 12, 3])),
    ];
    for opset in [7, 14, 22] {
        let (op, written) = layer(opset, lstm(&["", "h"]), &inputs, &[("h", f32s(&[1, 2, 3]))]);
        assert_eq!(op, "lstm");
        assert!(written.output[0].is_empty() || written.output[0] != "h", "{written:?}");
        assert_eq!(written.output[1], "h");
        assert!(!attr_names(&written).contains(&"layout"), "{written:?}");
    }
    let all = [
        ("y", f32s(&[5, 1, 2, 3])),
        ("h", f32s(&[1, 2, 3])),
        ("c", f32s(&[1, 2, 3])),
    ];
    let (_, written) = layer(14, lstm(&["y", "h", "c"]), &inputs, &all);
    assert_eq!(written.output, ["y", "h", "c"]);
}

#[test]
fn quantization_says_no_more_than_its_version_knows() {
    let small = Type::tensor(DType::I8, [Dim::Const(2), Dim::Const(3)].into_iter().collect::<Shape>());
    let zeros = |n: &[i64]| Type::tensor(DType::I8, n.iter().map(|&d| Dim::Const(d)).collect::<Shape>());
    for (opset, extents, axis) in [
        (10, &[][..], None),
        (13, &[2][..], Some(0)),
        (19, &[2], Some(0)),
        (25, &[2], Some(0)),
    ] {
        let form = |op: &str| match axis {
            Some(axis) => with(node(op, &["x", "s", "z"], &["y"]), "axis", AttrValue::int(axis)),
            None => node(op, &["x", "s", "z"], &["y"]),
        };
        let parts = [("s", f32s(extents)), ("z", zeros(extents))];
        let inputs = |x: &Type| -> Vec<(&str, Type)> { [&[("x", x.clone())][..], &parts].concat() };
        let (op, written) = layer(
            opset,
            form("QuantizeLinear"),
            &inputs(&f32s(&[2, 3])),
            &[("y", small.clone())],
        );
        assert_eq!(op, "quantize_linear");
        assert_eq!(attr_names(&written).contains(&"axis"), axis.is_some(), "{written:?}");
        assert!(
            opset >= 21 || !attr_names(&written).contains(&"output_dtype"),
            "{written:?}"
        );
        let (op, written) = layer(
            opset,
            form("DequantizeLinear"),
            &inputs(&small),
            &[("y", f32s(&[2, 3]))],
        );
        assert_eq!(op, "dequantize_linear");
        assert!(
            opset >= 23 || !attr_names(&written).contains(&"output_dtype"),
            "{written:?}"
        );
    }
}

#[test]
fn results_beyond_the_first_make_another_operator() {
    let x = || ("x", f32s(&[2, 3]));
    let scale = || ("s", f32s(&[3]));
    let one = |outputs: &[&str]| node("LayerNormalization", &["x", "s"], outputs);
    let (op, _) = layer(17, one(&["y"]), &[x(), scale()], &[("y", f32s(&[2, 3]))]);
    assert_eq!(op, "layer_normalization");
    let (op, written) = layer(17, one(&["", "m"]), &[x(), scale()], &[("m", f32s(&[2, 1]))]);
    assert_eq!(op, "layer_normalization_with_statistics");
    assert_eq!(written.output[1], "m");
}

#[test]
fn kernels_of_integer_convolutions_are_written_beside_the_weights() {
    let bytes = |shape: &[i64]| Type::tensor(DType::U8, shape.iter().map(|&d| Dim::Const(d)).collect::<Shape>());
    let sums = Type::tensor(DType::I32, [1, 1, 2].into_iter().map(Dim::Const).collect::<Shape>());
    let one = with(
        node("ConvInteger", &["x", "w"], &["y"]),
        "kernel_shape",
        AttrValue::ints(&[2]),
    );
    let inputs = [("x", bytes(&[1, 1, 3])), ("w", bytes(&[1, 1, 2]))];
    let (op, written) = layer(10, one, &inputs, &[("y", sums)]);
    assert_eq!(op, "conv_integer");
    assert!(attr_names(&written).contains(&"kernel_shape"), "{written:?}");
}

#[test]
fn groups_had_one_scale_each() {
    let one = with(
        node("GroupNormalization", &["x", "s", "b"], &["y"]),
        "num_groups",
        AttrValue::int(2),
    );
    let inputs = |n: i64| [("x", f32s(&[1, 4, 2])), ("s", f32s(&[n])), ("b", f32s(&[n]))];
    let list = |values: &[(&str, Type)]| -> Vec<ValueInfoProto> { values.iter().map(|(n, ty)| value(n, ty)).collect() };
    let imported = read(model(
        18,
        &list(&inputs(2)),
        std::slice::from_ref(&one),
        &list(&[("y", f32s(&[1, 4, 2]))]),
    ));
    assert!(imported.notes.is_empty(), "{:?}", imported.notes);
    let number = |numbers: &[f32]| Tensor::new(&[numbers.len()], numbers.to_vec()).unwrap();
    let values = [
        Tensor::new(&[1, 4, 2], vec![1f32, 3.0, 1.0, 3.0, 0.0, 8.0, 0.0, 8.0]).unwrap(),
        number(&[1.0, 10.0]),
        number(&[0.0, 0.5]),
    ];
    let graph = &imported.workload.graph;
    let place = |v| graph.inputs().iter().position(|u| *u == v).map(|i| values[i].clone());
    let out = tautomer_graph::interpret(graph, &place).unwrap();
    let rounded: Vec<f64> = out[0]
        .to_f64s()
        .unwrap()
        .iter()
        .map(|x| (x * 100.0).round() / 100.0)
        .collect();
    assert_eq!(rounded, [-1.0, 1.0, -1.0, 1.0, -9.5, 10.5, -9.5, 10.5]);
    let (op, _) = layer(21, one, &inputs(4), &[("y", f32s(&[1, 4, 2]))]);
    assert_eq!(op, "group_normalization");
}

/// ONNX Runtime's optimizer writes it into the default domain, in every operator set.
#[test]
fn simplified_layer_normalization_is_rms_normalization() {
    let one = |outputs: &[&str]| {
        let node = node("SimplifiedLayerNormalization", &["x", "s"], outputs);
        let node = with(node, "axis", AttrValue::int(-1));
        with(
            with(node, "epsilon", AttrValue::float(0.5)),
            "stash_type",
            AttrValue::int(1),
        )
    };
    let inputs = [value("x", &f32s(&[2, 3])), value("s", &f32s(&[3]))];
    for opset in [13, 23] {
        let imported = read(model(opset, &inputs, &[one(&["y"])], &[value("y", &f32s(&[2, 3]))]));
        assert!(imported.notes.is_empty(), "{:?}", imported.notes);
        let graph = &imported.workload.graph;
        let call = graph.outputs()[0].vertex;
        assert_eq!(graph.vertex(call).op().unwrap().name(), "rms_normalization");
        assert_eq!(graph.ty(call), &f32s(&[2, 3]));
        let written = write(&imported).model;
        let names: Vec<&str> = graph_of(&written).node.iter().map(|n| n.op_type()).collect();
        assert_eq!(names.contains(&"RMSNormalization"), opset >= 23, "{names:?}");
        assert!(!names.contains(&"SimplifiedLayerNormalization"), "{names:?}");
    }
    // The factors that it multiplies by are a result that RMSNormalization does not have.
    let outputs = [value("y", &f32s(&[2, 3])), value("i", &f32s(&[2, 1]))];
    let imported = read(model(13, &inputs, &[one(&["y", "i"])], &outputs));
    let graph = &imported.workload.graph;
    assert!(
        graph
            .rpo()
            .into_iter()
            .all(|v| graph.vertex(v).op().is_none_or(|op| op.def().is_none()))
    );
}
