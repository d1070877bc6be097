//! Nodes with nested graphs, local functions, and the parts of models besides their computation.

use super::*;
use crate::proto::{DataLocation, FunctionProto, OperatorSetIdProto, StringStringEntryProto, TensorAnnotation};
use tautomer_graph::{Workload, interpret};

fn graph_attr(mut node: NodeProto, name: &str, graph: GraphProto) -> NodeProto {
    node.attribute.push(AttributeProto {
        name: Some(name.to_string()),
        r#type: Some(AttributeType::Graph as i32),
        g: Some(graph),
        ..AttributeProto::default()
    });
    node
}

fn body(inputs: &[ValueInfoProto], nodes: &[NodeProto], outputs: &[&str]) -> GraphProto {
    GraphProto {
        name: Some("body".to_string()),
        input: inputs.to_vec(),
        node: nodes.to_vec(),
        output: outputs.iter().map(|name| floats(name, [2])).collect(),
        ..GraphProto::default()
    }
}

fn run(workload: &Workload, inputs: &[(&str, Tensor)]) -> Vec<Tensor> {
    let graph = &workload.graph;
    let value = |v| {
        let name = graph.vertex(v).name.as_deref()?;
        let given = inputs.iter().find(|(n, _)| *n == name).map(|(_, value)| value);
        given.or_else(|| workload.params.get(name)).cloned()
    };
    interpret(graph, &value).unwrap()
}

fn pair(a: f32, b: f32) -> Tensor {
    Tensor::vector(vec![a, b])
}

/// `If` with a weight in one branch, and an outer value in both.
fn choice() -> ModelProto {
    let mut then = body(&[], &[node("Mul", &["x", "w"], &["t"])], &["t"]);
    then.initializer.push(from_tensor("w", &pair(3.0, 5.0)));
    let other = body(&[], &[node("Neg", &["x"], &["e"])], &["e"]);
    let choice = graph_attr(node("If", &["c"], &["y"]), "then_branch", then);
    let condition = value("c", &Type::tensor(DType::Bool, Shape::scalar()));
    let choice = graph_attr(choice, "else_branch", other);
    model(16, &[condition, floats("x", [2])], &[choice], &[floats("y", [2])])
}

#[test]
fn branches_refer_to_values_outside() {
    let imported = read(choice());
    assert!(imported.notes.is_empty(), "{}", imported.notes.render(false));
    let written = written(&imported);
    for workload in [&imported.workload, &read(written.clone()).workload] {
        for (c, expected) in [(true, pair(3.0, 10.0)), (false, pair(-1.0, -2.0))] {
            let results = run(workload, &[("c", Tensor::scalar(c)), ("x", pair(1.0, 2.0))]);
            assert_eq!(results, [expected]);
        }
    }
    let node = &written.graph.as_ref().unwrap().node[0];
    assert_eq!(
        (node.op_type.as_deref(), node.name.as_deref()),
        (Some("If"), Some("the If"))
    );
    assert_eq!(node.input, ["c"]);
}

fn written(imported: &Imported) -> ModelProto {
    let Workload { graph, params } = &imported.workload;
    export(graph, params, &imported.info)
        .map_err(|e| e.render(false))
        .unwrap()
        .model
}

#[test]
fn what_a_loop_carries_may_change_its_shape() {
    let scalar = |name: &str, dtype: DType| value(name, &Type::tensor(dtype, Shape::scalar()));
    let mut inner = body(
        &[scalar("i", DType::I64), scalar("c", DType::Bool), floats("a", [1])],
        &[
            node("Identity", &["c"], &["d"]),
            with(node("Concat", &["a", "x"], &["b"]), "axis", AttrValue::int(0)),
        ],
        &["d", "b"],
    );
    inner.output[0] = scalar("d", DType::Bool);
    let again = graph_attr(node("Loop", &["n", "", "x"], &["y"]), "body", inner);
    let all = model(
        16,
        &[scalar("n", DType::I64), floats("x", [1])],
        &[again],
        &[value(
            "y",
            &Type::Tensor(tautomer_tensor::TensorType::any_rank(DType::F32)),
        )],
    );
    let imported = read(all);
    assert!(imported.notes.is_empty(), "{}", imported.notes.render(false));
    for workload in [&imported.workload, &read(written(&imported)).workload] {
        let results = run(
            workload,
            &[("n", Tensor::scalar(3i64)), ("x", Tensor::vector(vec![2.0f32]))],
        );
        assert_eq!(results, [Tensor::vector(vec![2.0f32; 4])]);
    }
}

fn set(domain: &str, version: i64) -> OperatorSetIdProto {
    OperatorSetIdProto {
        domain: Some(domain.to_string()),
        version: Some(version),
    }
}

fn function(name: &str, opset: i64, nodes: &[NodeProto]) -> FunctionProto {
    FunctionProto {
        name: Some(name.to_string()),
        domain: Some("local".to_string()),
        input: vec!["a".to_string(), "b".to_string()],
        output: vec!["r".to_string()],
        attribute: vec!["alpha".to_string()],
        node: nodes.to_vec(),
        opset_import: vec![set("", opset), set("local", 1)],
        ..FunctionProto::default()
    }
}

fn local(mut node: NodeProto) -> NodeProto {
    node.domain = Some("local".to_string());
    node
}

fn reference(mut node: NodeProto, name: &str, of: &str) -> NodeProto {
    node.attribute.push(AttributeProto {
        name: Some(name.to_string()),
        ref_attr_name: Some(of.to_string()),
        r#type: Some(AttributeType::Float as i32),
        ..AttributeProto::default()
    });
    node
}

/// `Outer(x, _) {alpha}` calls `Inner` of an older operator set twice; the second operand is missing.
fn calls() -> ModelProto {
    let axes = |node| with(node, "axes", AttrValue::ints(&[0]));
    let inner = function(
        "Inner",
        11,
        &[
            axes(node("Unsqueeze", &["a"], &["u"])),
            axes(node("Squeeze", &["u"], &["s"])),
            reference(node("Elu", &["s"], &["r"]), "alpha", "alpha"),
        ],
    );
    let outer = function(
        "Outer",
        13,
        &[
            reference(local(node("Inner", &["a"], &["t"])), "alpha", "alpha"),
            local(node("Inner", &["t"], &["v"])),
            node("Add", &["t", "v"], &["r"]),
        ],
    );
    let call = with(local(node("Outer", &["x"], &["y"])), "alpha", AttrValue::float(2.0));
    let mut all = model(13, &[floats("x", [2])], &[call], &[floats("y", [2])]);
    all.opset_import.push(set("local", 1));
    all.functions = vec![inner, outer];
    all
}

#[test]
fn functions_become_their_bodies() {
    let imported = read(calls());
    assert!(imported.notes.is_empty(), "{}", imported.notes.render(false));
    let elu = |x: f64, alpha: f64| if x < 0.0 { alpha * (x.exp() - 1.0) } else { x };
    let t = elu(-1.0, 2.0);
    let y = run(&imported.workload, &[("x", pair(-1.0, 1.0))])[0].to_f64s().unwrap();
    // Without the attribute, the operator's default applies.
    assert!((y[0] - (t + elu(t, 1.0))).abs() < 1e-6 && y[1] == 2.0, "{y:?}");
    let model = written(&imported);
    assert!(model.functions.is_empty());
    assert!(model.graph.unwrap().node.iter().all(|n| n.domain.is_none()));
}

#[test]
fn a_function_that_calls_itself_is_refused() {
    let mut all = calls();
    all.functions[0].node[0] = local(node("Outer", &["a"], &["u"]));
    assert!(problems(all).contains("the function calls itself"));
}

#[test]
fn functions_that_double_are_refused() {
    let mut all = calls();
    all.functions = (0..40)
        .map(|i| {
            let name = format!("F{}", i + 1);
            let call = |from: &str, to: &str| local(node(&name, &[from], &[to]));
            let nodes = match i {
                39 => vec![node("Neg", &["a"], &["r"])],
                _ => vec![call("a", "t"), call("t", "r")],
            };
            function(&format!("F{i}"), 13, &nodes)
        })
        .collect();
    all.graph.as_mut().unwrap().node = vec![local(node("F0", &["x"], &["y"]))];
    assert!(problems(all).contains("functions would become more than"));
}

#[test]
fn initializers_that_are_inputs_can_be_replaced() {
    let mut all = weights(
        model(
            13,
            &[floats("x", [2]), floats("w", [2])],
            &[node("Neg", &["w"], &["v"]), node("Add", &["x", "v"], &["y"])],
            &[floats("y", [2])],
        ),
        &[("w", pair(1.0, 2.0))],
    );
    let imported = read(all.clone());
    let x = ("x", pair(10.0, 20.0));
    let again = read(written(&imported));
    for workload in [&imported.workload, &again.workload] {
        assert_eq!(run(workload, std::slice::from_ref(&x)), [pair(9.0, 18.0)]);
        assert_eq!(run(workload, &[x.clone(), ("w", pair(0.0, 1.0))]), [pair(10.0, 19.0)]);
    }
    let graph = written(&again).graph.unwrap();
    assert_eq!(graph.input.len(), 2);
    assert_eq!(graph.initializer[0].name.as_deref(), Some("w"));
    // Before version 4 all initializers are inputs, so that means nothing.
    all.ir_version = Some(3);
    assert_eq!(read(all).workload.graph.inputs().len(), 1);
}

fn entry(key: &str, value: &str) -> StringStringEntryProto {
    StringStringEntryProto {
        key: Some(key.to_string()),
        value: Some(value.to_string()),
    }
}

#[test]
fn what_models_say_beside_their_computation_stays() {
    let mut negation = node("Neg", &["x"], &["y"]);
    negation.doc_string = Some("upside down".to_string());
    negation.metadata_props = vec![entry("layer", "1")];
    let mut all = weights(
        model(13, &[floats("x", [2])], &[negation], &[floats("y", [2])]),
        &[("scale", Tensor::scalar(0.5f32))],
    );
    all.metadata_props = vec![entry("author", "nobody")];
    let graph = all.graph.as_mut().unwrap();
    graph.doc_string = Some("a graph".to_string());
    graph.input[0].doc_string = Some("an input".to_string());
    graph.quantization_annotation = vec![TensorAnnotation {
        tensor_name: Some("y".to_string()),
        quant_parameter_tensor_names: vec![entry("SCALE_TENSOR", "scale")],
    }];
    let back = written(&read(all.clone()));
    assert_eq!(back, all);
}

#[test]
fn rules_that_made_a_node_are_named() {
    let mut imported = read(model(
        13,
        &[floats("x", [2])],
        &[node("Neg", &["x"], &["y"])],
        &[floats("y", [2])],
    ));
    let y = imported.workload.graph.outputs()[0].vertex;
    imported.workload.graph.vertex_mut(y).rules = vec!["first-rule".into(), "second-rule".into()];
    let graph = written(&imported).graph.unwrap();
    assert_eq!(
        graph.node[0].metadata_props,
        [entry("tautomer.rules", "first-rule, second-rule")]
    );
}

#[test]
fn files_that_are_missing_are_named() {
    let external = |name: &str| TensorProto {
        raw_data: None,
        data_location: Some(DataLocation::External as i32),
        external_data: vec![entry("location", "weights.bin")],
        ..from_tensor(name, &pair(0.0, 0.0))
    };
    let mut all = model(
        13,
        &[floats("x", [2])],
        &[node("Add", &["x", "w"], &["y"])],
        &[floats("y", [2])],
    );
    all.graph.as_mut().unwrap().initializer.push(external("w"));
    let folder = tempfile::tempdir().unwrap();
    let said = import(all.clone(), Some(folder.path())).unwrap_err().render(false);
    for part in ["\"w\"", "the Add", "weights.bin"] {
        assert!(said.contains(part), "{part}: {said}");
    }
    // In a nested graph, and in an attribute of a node that is carried along.
    let mut choice = choice();
    let graph = choice.graph.as_mut().unwrap();
    graph.node[0].attribute[0].g.as_mut().unwrap().initializer = vec![external("w")];
    let said = import(choice, Some(folder.path())).unwrap_err().render(false);
    for part in ["\"w\"", "the If", "weights.bin"] {
        assert!(said.contains(part), "{part}: {said}");
    }
    // If the file exists, a node that is carried along includes the elements.
    std::fs::write(folder.path().join("weights.bin"), [0u8, 0, 128, 63, 0, 0, 0, 64]).unwrap();
    let mut own = node("Own", &["x"], &["y"]);
    own.domain = Some("some.where".to_string());
    own.attribute.push(AttributeProto {
        name: Some("weights".to_string()),
        r#type: Some(AttributeType::Tensor as i32),
        t: Some(external("w")),
        ..AttributeProto::default()
    });
    all.graph.as_mut().unwrap().node = vec![own];
    all.opset_import.push(set("some.where", 1));
    let imported = import(all, Some(folder.path())).unwrap();
    let graph = written(&imported).graph.unwrap();
    let kept = graph.node[0].attribute[0].t.as_ref().unwrap();
    assert_eq!(crate::to_tensor(kept, None), Ok(pair(1.0, 2.0)));
}
