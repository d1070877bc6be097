//! Models imported as graphs and exported again.

mod control;
mod declared;
mod gathers;
mod layers;

use proptest::prelude::*;
use prost::Message;

use super::proto::{
    AttributeProto, AttributeType, GraphProto, ModelProto, NodeProto, OperatorSetIdProto, TensorProto, ValueInfoProto,
};
use super::types::{Symbols, export_type};
use super::{Exported, Imported, decode_model, export, from_tensor, import};
use tautomer_graph::{Graph, Node};
use tautomer_op::AttrValue;
use tautomer_tensor::{DType, Dim, Shape, Tensor, Type};

fn value(name: &str, ty: &Type) -> ValueInfoProto {
    ValueInfoProto {
        name: Some(name.to_string()),
        r#type: export_type(ty, &Symbols::default()),
        ..ValueInfoProto::default()
    }
}

fn floats(name: &str, shape: impl Into<Shape>) -> ValueInfoProto {
    value(name, &Type::tensor(DType::F32, shape))
}

fn node(op: &str, inputs: &[&str], outputs: &[&str]) -> NodeProto {
    NodeProto {
        op_type: Some(op.to_string()),
        name: Some(format!("the {op}")),
        input: inputs.iter().map(|s| s.to_string()).collect(),
        output: outputs.iter().map(|s| s.to_string()).collect(),
        ..NodeProto::default()
    }
}

fn with(mut node: NodeProto, name: &str, value: AttrValue) -> NodeProto {
    node.attribute.extend(super::attr::from_value(name, &value));
    node
}

fn model(opset: i64, inputs: &[ValueInfoProto], nodes: &[NodeProto], outputs: &[ValueInfoProto]) -> ModelProto {
    ModelProto {
        ir_version: Some(8),
        opset_import: vec![OperatorSetIdProto {
            domain: Some(String::new()),
            version: Some(opset),
        }],
        graph: Some(GraphProto {
            name: Some("g".to_string()),
            node: nodes.to_vec(),
            input: inputs.to_vec(),
            output: outputs.to_vec(),
            ..GraphProto::default()
        }),
        ..ModelProto::default()
    }
}

fn weights(mut model: ModelProto, tensors: &[(&str, Tensor)]) -> ModelProto {
    let protos = tensors.iter().map(|(name, tensor)| from_tensor(name, tensor));
    model.graph.get_or_insert_default().initializer.extend(protos);
    model
}

fn read(model: ModelProto) -> Imported {
    match import(model, None) {
        Ok(imported) => imported,
        Err(problems) => panic!("{}", problems.render(false)),
    }
}

fn problems(model: ModelProto) -> String {
    match import(model, None) {
        Ok(_) => panic!("the model was accepted"),
        Err(problems) => problems.render(false),
    }
}

fn write(imported: &Imported) -> Exported {
    let workload = &imported.workload;
    match export(&workload.graph, &workload.params, &imported.info) {
        Ok(exported) => exported,
        Err(problems) => panic!("{}", problems.render(false)),
    }
}

fn same_graph(a: &Graph, b: &Graph) -> bool {
    let (p, q) = (a.rpo(), b.rpo());
    let place = |order: &[tautomer_graph::VertexId], g: &Graph, v| -> Vec<Option<usize>> {
        g.pred(v).iter().map(|u| order.iter().position(|w| w == u)).collect()
    };
    p.len() == q.len()
        && p.iter().zip(&q).all(|(&v, &w)| {
            a.vertex(v).node == b.vertex(w).node && a.ty(v).admits(b.ty(w)) && place(&p, a, v) == place(&q, b, w)
        })
}

/// Exports an imported model and imports it again.
fn round_trip(model: ModelProto) -> (Imported, ModelProto) {
    let first = read(model);
    first.workload.graph.validate().unwrap();
    let exported = write(&first).model;
    let second = read(decode_model(exported.encode_to_vec().into()).unwrap());
    assert!(same_graph(&first.workload.graph, &second.workload.graph));
    assert_eq!(first.workload.params, second.workload.params);
    (first, exported)
}

fn graph_of(model: &ModelProto) -> &GraphProto {
    model.graph.as_ref().unwrap()
}

#[test]
fn names_weights_and_types_survive() {
    let w = Tensor::new(&[2, 2], vec![1.0f32, 2.0, 3.0, 4.0]).unwrap();
    let n = [Dim::symbol("batch"), Dim::from(2)].into_iter().collect::<Shape>();
    let nodes = [node("Add", &["x", "w"], &["sum"]), node("Mul", &["sum", "two"], &["y"])];
    let input = floats("x", n.clone());
    let m = weights(
        model(13, std::slice::from_ref(&input), &nodes, &[floats("y", n)]),
        &[("w", w.clone()), ("two", Tensor::scalar(2.0f32))],
    );
    let (imported, exported) = round_trip(m.clone());
    assert_eq!(imported.workload.params.get("w"), Some(&w));
    assert_eq!(imported.workload.graph.params().len(), 1);
    let (old, new) = (graph_of(&m), graph_of(&exported));
    assert_eq!(old.node, new.node);
    assert_eq!(new.input, [input]);
    assert_eq!(new.output[0].name.as_deref(), Some("y"));
    assert_eq!(exported.opset_import, m.opset_import);
    assert_eq!(write(&imported).model, exported, "the same graph is written twice");
}

#[test]
fn numbers_that_are_extents_become_operands() {
    let shape: Shape = [Dim::symbol("n"), Dim::symbol("m")].into_iter().collect();
    let nodes = [
        node("Shape", &["x"], &["shape"]),
        with(
            with(node("Shape", &["x"], &["n"]), "start", AttrValue::int(0)),
            "end",
            AttrValue::int(1),
        ),
        node("TopK", &["x", "n"], &["top", "places"]),
        node("Gather", &["shape", "zero"], &["k"]),
        node("Trilu", &["x", "k"], &["triangle"]),
    ];
    let m = weights(
        model(
            17,
            &[floats("x", shape.clone())],
            &nodes,
            &[floats("top", shape.clone()), floats("triangle", shape)],
        ),
        &[("zero", Tensor::scalar(0i64))],
    );
    let graph = round_trip(m).0.workload.graph;
    let symbolic = |v| matches!(&graph.vertex(v).node, Node::Call { attrs, .. } if attrs[0].has_symbols());
    assert_eq!(graph.ids().filter(|&v| symbolic(v)).count(), 2);
}

#[test]
fn initializers_among_the_inputs_are_no_inputs() {
    let nodes = [node("Add", &["x", "w"], &["y"])];
    let mut m = weights(
        model(8, &[floats("w", [2]), floats("x", [2])], &nodes, &[floats("y", [2])]),
        &[("w", Tensor::vector(vec![1.0f32, 2.0]))],
    );
    m.ir_version = Some(3);
    let (imported, exported) = round_trip(m);
    let graph = &imported.workload.graph;
    assert_eq!((graph.inputs().len(), graph.params().len()), (1, 1));
    let names: Vec<_> = graph_of(&exported)
        .input
        .iter()
        .filter_map(|v| v.name.as_deref())
        .collect();
    assert_eq!(names, ["x", "w"]);
}

#[test]
fn declared_types_of_inner_values_are_not_believed() {
    let nodes = [node("Add", &["x", "x"], &["a"]), node("Mul", &["a", "a"], &["y"])];
    let mut m = model(14, &[floats("x", [2, 3])], &nodes, &[floats("y", [7])]);
    m.graph.get_or_insert_default().value_info.push(floats("a", [9, 9]));
    let (imported, exported) = round_trip(m);
    let y = imported.workload.graph.outputs()[0].vertex;
    assert_eq!(imported.workload.graph.ty(y).to_string(), "f32[2, 3]");
    assert_eq!(graph_of(&exported).output, [floats("y", [2, 3])]);
}

#[test]
fn unknown_operators_survive_unchanged() {
    let mut foreign = with(
        node("Magic", &["x", "", "k"], &["a", "", "b"]),
        "mode",
        AttrValue::str("fast"),
    );
    foreign.domain = Some("com.example".to_string());
    let nodes = [foreign.clone(), node("Add", &["a", "a"], &["y"])];
    let mut m = weights(
        model(13, &[floats("x", [2])], &nodes, &[floats("y", [2]), floats("b", [5])]),
        &[("k", Tensor::vector(vec![3i64]))],
    );
    m.graph.get_or_insert_default().value_info.push(floats("a", [2]));
    let (imported, exported) = round_trip(m);
    assert_eq!(graph_of(&exported).node[0], foreign);
    assert!(imported.notes.render(false).contains("com.example::Magic"));
}

fn conditional(captured: &str) -> NodeProto {
    let branch = |op: &str| GraphProto {
        name: Some(op.to_string()),
        node: vec![node(op, &[captured, captured], &["inner"])],
        output: vec![floats("inner", [2])],
        ..GraphProto::default()
    };
    let attr = |name: &str, op: &str| AttributeProto {
        name: Some(name.to_string()),
        r#type: Some(AttributeType::Graph as i32),
        g: Some(branch(op)),
        ..AttributeProto::default()
    };
    let mut out = node("If", &["c"], &["y"]);
    out.attribute = vec![attr("then_branch", "Add"), attr("else_branch", "Mul")];
    out
}

#[test]
fn nested_graphs_keep_what_they_refer_to() {
    let nodes = [node("Sub", &["x", "x"], &["d"]), conditional("d")];
    let inputs = [
        floats("x", [2]),
        value("c", &Type::tensor(DType::Bool, Shape::scalar())),
    ];
    let m = model(13, &inputs, &nodes, &[floats("y", [2])]);
    let (imported, exported) = round_trip(m);
    assert_eq!(graph_of(&exported).node, nodes);
    // When outer values are renamed, nested graphs follow.
    let mut renamed = imported;
    let graph = &mut renamed.workload.graph;
    let d = graph
        .ids()
        .find(|&v| graph.vertex(v).name.as_deref() == Some("d"))
        .unwrap();
    graph.vertex_mut(d).name = Some("inner".into());
    let written = write(&renamed).model;
    let nodes = &graph_of(&written).node;
    let outer = &nodes[0].output[0];
    let inner = nodes[1].attribute[0].g.as_ref().unwrap();
    assert_ne!(inner.node[0].output[0], *outer);
    assert_eq!(inner.node[0].input, [outer.clone(), outer.clone()]);
    read(written);
}

#[test]
fn results_may_be_inputs_weights_or_the_same_value() {
    let nodes = [node("Add", &["x", "x"], &["a"])];
    let mut m = model(
        13,
        &[floats("x", [2])],
        &nodes,
        &[floats("x", [2]), floats("a", [2]), floats("w", [2])],
    );
    m = weights(m, &[("w", Tensor::vector(vec![1.0f32, 2.0]))]);
    let imported = read(m);
    let exported = write(&imported).model;
    let names: Vec<_> = graph_of(&exported)
        .output
        .iter()
        .filter_map(|v| v.name.clone())
        .collect();
    assert_eq!(names, ["x", "a", "w"]);
    let mut twice = imported;
    let a = twice.workload.graph.outputs()[1].vertex;
    twice.workload.graph.output(a, Some("again"));
    let exported = write(&twice).model;
    assert_eq!(
        graph_of(&exported).node.last().unwrap().op_type.as_deref(),
        Some("Identity")
    );
}

#[test]
fn values_that_tensors_cannot_hold_are_carried() {
    let strange = TensorProto {
        name: Some("k".to_string()),
        dims: vec![2],
        data_type: Some(14),
        float_data: vec![1.0, 2.0, 3.0, 4.0],
        ..TensorProto::default()
    };
    let nodes = [node("Cast", &["k"], &["y"])];
    let mut m = weights(model(21, &[], &nodes, &[floats("y", [2])]), &[]);
    m.graph.get_or_insert_default().initializer.push(strange.clone());
    let (_, exported) = round_trip(m);
    let constant = &graph_of(&exported).node[0];
    assert_eq!(constant.op_type.as_deref(), Some("Constant"));
    assert_eq!(constant.attribute[0].t, Some(strange));
}

#[test]
fn broken_models_are_described() {
    let x = [floats("x", [2, 3]), floats("z", [4])];
    let y = [floats("y", [2])];
    let cases = [
        (vec![node("Add", &["x", "z"], &["y"])], "node 0 \"the Add\" (Add)"),
        (vec![node("Add", &["x", "z"], &["y"])], "x: f32[2, 3], z: f32[4]"),
        (vec![node("Add", &["x"], &["y"])], "`B` is missing"),
        (vec![node("Add", &["x", "x", "x"], &["y"])], "operands"),
        (
            vec![node("Add", &["x", "q"], &["y"])],
            "nothing computes its operand \"q\"",
        ),
        (vec![node("Add", &["x", "y"], &["y"])], "cycle"),
        (vec![node("Add", &["x", "x"], &["x"])], "already named \"x\""),
        (
            vec![node("Add", &["x", "x"], &["a"])],
            "nothing computes the result \"y\"",
        ),
        (vec![node("Constant", &[], &["y"])], "no value"),
    ];
    for (nodes, expected) in cases {
        let text = problems(model(13, &x, &nodes, &y));
        assert!(text.contains(expected), "{expected}: {text}");
    }
    assert!(problems(ModelProto::default()).contains("no graph"));
    assert!(problems(model(28, &x, &[node("Add", &["x", "x"], &["y"])], &y)).contains("28"));
    let untyped = ValueInfoProto {
        name: Some("x".to_string()),
        ..ValueInfoProto::default()
    };
    assert!(problems(model(13, &[untyped], &[], &[])).contains("has no type"));
}

#[test]
fn nodes_out_of_order_are_ordered() {
    let nodes = [node("Mul", &["a", "a"], &["y"]), node("Add", &["x", "x"], &["a"])];
    let (imported, exported) = round_trip(model(13, &[floats("x", [2])], &nodes, &[floats("y", [2])]));
    assert_eq!(imported.workload.graph.call_count(), 2);
    assert_eq!(graph_of(&exported).node[0].op_type.as_deref(), Some("Add"));
}

#[test]
fn constant_nodes_of_every_form() {
    let forms = [
        ("value", AttrValue::Tensor(Tensor::vector(vec![1i32, 2]))),
        ("value_float", AttrValue::float(1.5)),
        (
            "value_floats",
            AttrValue::Floats(vec![tautomer_op::Real(1.0), tautomer_op::Real(2.0)]),
        ),
        ("value_int", AttrValue::int(3)),
        ("value_ints", AttrValue::ints(&[1, 2])),
        ("value_string", AttrValue::str("a")),
        ("value_strings", AttrValue::Strs(vec!["a".into(), "b".into()])),
    ];
    for (name, value) in forms {
        let nodes = [with(node("Constant", &[], &["c"]), name, value)];
        let ty = Type::tensor(DType::F32, Shape::scalar());
        let imported = read(model(13, &[], &nodes, &[self::value("c", &ty)]));
        let graph = &imported.workload.graph;
        let leaf = &graph.vertex(graph.outputs()[0].vertex).node;
        assert!(matches!(leaf, Node::Const(_) | Node::Param), "{name}");
        write(&imported);
    }
}

#[test]
fn the_operator_set_rises_where_it_must() {
    let nodes = [node("Add", &["x", "x"], &["y"])];
    let ints = |name: &str| value(name, &Type::tensor(DType::I8, [2]));
    let mut imported = read(model(14, &[ints("x")], &nodes, &[ints("y")]));
    imported.info.opsets.insert(String::new(), 9);
    let exported = write(&imported);
    assert_eq!(exported.model.opset_import[0].version, Some(14));
    assert!(exported.notes.render(false).contains("raised from 9 to 14"));
}

#[test]
fn deep_and_wide_models_work() {
    let name = |i: usize| if i == 0 { "x".to_string() } else { format!("v{i}") };
    let nodes: Vec<NodeProto> = (0..20_000)
        .map(|i| node("Add", &[&name(i), "x"], &[&name(i + 1)]))
        .rev()
        .collect();
    let m = model(13, &[floats("x", [2])], &nodes, &[floats(&name(20_000), [2])]);
    let imported = read(m);
    assert_eq!(imported.workload.graph.call_count(), 20_000);
    assert_eq!(graph_of(&write(&imported).model).node.len(), 20_000);
}

/// The operators of the graph in order, and the exported model.
fn ops(opset: i64, nodes: &[NodeProto], x: [i64; 3]) -> (Vec<String>, ModelProto) {
    let m = model(opset, &[floats("x", x)], nodes, &[floats("y", x)]);
    let constants = [
        ("one", Tensor::vector(vec![1i64])),
        ("parts", Tensor::vector(vec![1i64, 2])),
    ];
    let (imported, exported) = round_trip(weights(m, &constants));
    let graph = &imported.workload.graph;
    let calls = graph
        .rpo()
        .into_iter()
        .filter_map(|v| Some(graph.vertex(v).op()?.name()));
    (calls.collect(), exported)
}

#[test]
fn each_version_has_its_own_form_and_one_graph() {
    let axes = AttrValue::ints(&[1]);
    let cases = [
        (11, with(node("Squeeze", &["x"], &["y"]), "axes", axes.clone())),
        (13, node("Squeeze", &["x", "one"], &["y"])),
        (12, with(node("ReduceSum", &["x"], &["y"]), "axes", axes.clone())),
        (13, node("ReduceSum", &["x", "one"], &["y"])),
        (17, with(node("ReduceMean", &["x"], &["y"]), "axes", axes.clone())),
        (18, node("ReduceMean", &["x", "one"], &["y"])),
        (9, with(node("Clip", &["x"], &["y"]), "min", AttrValue::float(0.0))),
        (
            10,
            with(
                node("Pad", &["x"], &["y"]),
                "pads",
                AttrValue::ints(&[0, 1, 0, 0, 1, 0]),
            ),
        ),
    ];
    for (opset, one) in cases {
        let (_, exported) = ops(opset, std::slice::from_ref(&one), [2, 1, 3]);
        let written = &graph_of(&exported).node[0];
        assert_eq!(written.input.len(), one.input.len(), "{one:?}");
        let names = |n: &NodeProto| n.attribute.iter().filter_map(|a| a.name.clone()).collect::<Vec<_>>();
        assert!(
            names(&one).iter().all(|name| names(written).contains(name)),
            "{one:?}: {written:?}"
        );
        assert_eq!(exported.opset_import[0].version, Some(opset), "{one:?}");
    }
}

#[test]
fn softmax_of_several_axes_becomes_one_of_a_matrix() {
    let softmax = with(node("Softmax", &["x"], &["y"]), "axis", AttrValue::int(1));
    assert_eq!(
        ops(11, std::slice::from_ref(&softmax), [2, 3, 4]).0,
        ["flatten", "softmax", "reshape"]
    );
    assert_eq!(ops(11, std::slice::from_ref(&softmax), [2, 3, 1]).0, ["softmax"]);
    assert_eq!(ops(13, &[softmax], [2, 3, 4]).0, ["softmax"]);
}

#[test]
fn dropout_is_nothing_in_inference() {
    let nodes = [node("Relu", &["x"], &["r"]), node("Dropout", &["r"], &["y"])];
    assert_eq!(ops(10, &nodes, [2, 3, 4]).0, ["relu"]);
}

#[test]
fn parts_are_counted_by_results_or_sizes() {
    for (opset, split) in [
        (
            12,
            with(node("Split", &["x"], &["a", "b"]), "split", AttrValue::ints(&[1, 2])),
        ),
        (13, node("Split", &["x", "parts"], &["a", "b"])),
        (18, node("Split", &["x", "parts"], &["a", "b"])),
    ] {
        let split = with(split, "axis", AttrValue::int(1));
        let nodes = [split, node("Sub", &["b", "a"], &["y"])];
        let (calls, exported) = ops(opset, &nodes, [2, 3, 4]);
        assert_eq!(calls, ["split", "sub"]);
        let attrs = &graph_of(&exported).node[0].attribute;
        assert!(attrs.iter().all(|a| a.name.as_deref() != Some("num_outputs")));
    }
}

fn example_bytes() -> Vec<u8> {
    let nodes = [
        node("Sub", &["x", "w"], &["d"]),
        conditional("d"),
        with(node("Mod", &["y", "x"], &["z"]), "fmod", AttrValue::int(1)),
    ];
    let inputs = [
        floats("x", [2]),
        value("c", &Type::tensor(DType::Bool, Shape::scalar())),
    ];
    let m = model(13, &inputs, &nodes, &[floats("z", [2])]);
    weights(m, &[("w", Tensor::vector(vec![1.0f32, 2.0]))]).encode_to_vec()
}

proptest! {
    #![proptest_config(tautomer_testing::random_cases(256))]

    #[test]
    fn damaged_models_never_panic(changes in proptest::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..6)) {
        let mut bytes = example_bytes();
        for (at, byte) in changes {
            let at = at.index(bytes.len());
            bytes[at] = byte;
        }
        if let Ok(model) = decode_model(bytes.into())
            && let Ok(imported) = import(model, None)
        {
            let _ = export(&imported.workload.graph, &imported.workload.params, &imported.info);
        }
    }

    #[test]
    fn random_nodes_never_panic(
        nodes in proptest::collection::vec((0usize..8, 0usize..6, 0usize..6, 0usize..8, -3i64..4), 1..6),
        opset in 1i64..28,
    ) {
        const OPS: [&str; 8] = ["Add", "Mod", "Max", "Softmax", "Split", "Dropout", "Resize", "Where"];
        const ATTRS: [&str; 8] = ["axis", "fmod", "num_outputs", "mode", "split", "auto_pad", "to", "value"];
        let name = |i: usize| format!("v{i}");
        let nodes: Vec<NodeProto> = nodes
            .iter()
            .enumerate()
            .map(|(i, &(op, a, b, attr, value))| {
                let (a, b) = (name(a.min(i)), name(b.min(i)));
                with(node(OPS[op], &[&a, &b], &[&name(i + 1)]), ATTRS[attr], AttrValue::int(value))
            })
            .collect();
        let last = floats(&name(nodes.len()), [2]);
        if let Ok(imported) = import(model(opset, &[floats("v0", [2, 3])], &nodes, &[last]), None) {
            imported.workload.graph.validate().unwrap();
            let _ = export(&imported.workload.graph, &imported.workload.params, &imported.info);
        }
    }
}

mod chosen;
mod written;
