//! Exported models follow the rules of ONNX and use existing kernels.

use std::cell::Cell;

use super::*;
use crate::proto::{TypeProto, TypeValue};
use crate::{OnnxInfo, Target};
use tautomer_op::{Attrs, Fact, Infer, Op, lookup};

fn branch(name: &str, nodes: &[NodeProto], output: &str, constants: &[(&str, Tensor)]) -> GraphProto {
    GraphProto {
        name: Some(name.to_string()),
        node: nodes.to_vec(),
        output: vec![floats(output, [2])],
        initializer: constants.iter().map(|(name, t)| from_tensor(name, t)).collect(),
        ..GraphProto::default()
    }
}

fn choice(opset: i64, then: GraphProto, other: GraphProto) -> ModelProto {
    let mut node = node("If", &["c"], &["y"]);
    for (name, graph) in [("then_branch", then), ("else_branch", other)] {
        node.attribute.push(AttributeProto {
            name: Some(name.to_string()),
            r#type: Some(AttributeType::Graph as i32),
            g: Some(graph),
            ..AttributeProto::default()
        });
    }
    let condition = value("c", &Type::tensor(DType::Bool, Shape::scalar()));
    let inputs = [condition, floats("x", [2])];
    model(opset, &inputs, &[node], &[floats("y", [2])])
}

fn nested(model: &ModelProto) -> Vec<&GraphProto> {
    let attrs = graph_of(model).node.iter().flat_map(|n| &n.attribute);
    attrs.filter_map(|a| a.g.as_ref()).collect()
}

/// True if a graph's own nodes, initializers or inputs produce all its results.
fn gives_its_results(graph: &GraphProto) -> bool {
    let nodes = graph.node.iter().flat_map(|n| n.output.iter().map(String::as_str));
    let stored = graph.initializer.iter().filter_map(|t| t.name.as_deref());
    let given = graph.input.iter().filter_map(|v| v.name.as_deref());
    let own: Vec<&str> = nodes.chain(stored).chain(given).collect();
    graph.output.iter().all(|o| own.contains(&o.name()))
}

#[test]
fn results_of_nested_graphs_are_computed_there() {
    let pair = Tensor::vector(vec![1.0f32, 2.0]);
    let constant = with(node("Constant", &[], &["a"]), "value", AttrValue::Tensor(pair.clone()));
    let computed = |name: &str| branch(name, &[node("Neg", &["x"], &["n"])], "n", &[]);
    for opset in [11, 19] {
        for ir in [3, 6, 8] {
            let bodies = [
                branch("constant", std::slice::from_ref(&constant), "a", &[]),
                branch("stored", &[], "b", &[("b", pair.clone())]),
                branch("outer", &[], "x", &[]),
                computed("computed"),
            ];
            for then in &bodies {
                for other in &bodies {
                    let mut m = choice(opset, then.clone(), other.clone());
                    m.ir_version = Some(ir);
                    let label = format!("{:?} {:?} {opset} {ir}", then.name, other.name);
                    let first = read(m);
                    let outer = [then, other].iter().any(|b| b.name() == "outer");
                    assert_eq!(first.notes.iter().any(|n| n.code == "T0512"), outer, "{label}");
                    let second = write(&first).model;
                    assert!(nested(&second).into_iter().all(gives_its_results), "{label}");
                    let again = read(second);
                    assert!(again.notes.is_empty(), "{label}: {}", again.notes.render(false));
                }
            }
        }
    }
}

#[test]
fn integers_are_no_constant_nodes_before_operator_set_9() {
    let shape = Tensor::vector(vec![2i64, 1]);
    let nodes = [
        with(node("Constant", &[], &["s"]), "value", AttrValue::Tensor(shape)),
        node("Reshape", &["x", "s"], &["r"]),
        node("Squeeze", &["r"], &["n"]),
    ];
    let mut m = choice(
        8,
        branch("then", &nodes, "n", &[]),
        branch("else", &[node("Neg", &["x"], &["m"])], "m", &[]),
    );
    m.ir_version = Some(3);
    let (_, exported) = (read(m.clone()), write(&read(m)).model);
    let constants = |graph: &GraphProto| graph.node.iter().filter(|n| n.op_type() == "Constant").count();
    assert!(
        nested(&exported)
            .into_iter()
            .all(|g| constants(g) == 0 && g.initializer.is_empty())
    );
    let outer = graph_of(&exported);
    for tensor in &outer.initializer {
        assert!(outer.input.iter().any(|i| i.name == tensor.name), "{:?}", tensor.name);
    }
    assert!(read(exported).notes.is_empty());
}

#[test]
fn constants_have_a_type_that_a_kernel_takes() {
    for (indices, depth) in [
        (DType::I32, DType::I32),
        (DType::I64, DType::I64),
        (DType::I32, DType::I64),
    ] {
        let ids = value("x", &Type::tensor(indices, [3]));
        let stored = Tensor::from_ints(depth, &[1], &[6]).unwrap();
        let m = weights(
            model(
                13,
                &[ids],
                &[node("OneHot", &["x", "d", "v"], &["y"])],
                &[floats("y", [3, 6])],
            ),
            &[("d", stored), ("v", Tensor::vector(vec![0.0f32, 1.0]))],
        );
        let exported = write(&read(m)).model;
        let graph = graph_of(&exported);
        let name = &graph.node[0].input[1];
        let written = graph.initializer.iter().find(|t| t.name() == name).unwrap();
        assert_eq!(
            written.data_type,
            Some(super::super::data_type(indices).unwrap() as i32)
        );
    }
}

/// Whether rules may create a call with one operand in a model that has some other call on these elements.
fn allows(opset: i64, dtype: DType, op: &str) -> bool {
    let ty = Type::tensor(dtype, [2, 3]);
    let mut graph = Graph::new();
    let x = graph.input("x", ty.clone());
    let y = graph.call(Op::Known(lookup("identity").unwrap()), &[x], &[]).unwrap();
    graph.output(y, Some("y"));
    let info = OnnxInfo {
        opsets: [(String::new(), opset)].into_iter().collect(),
        ..OnnxInfo::default()
    };
    let def = lookup(op).unwrap();
    let attrs: Attrs = def
        .attrs
        .iter()
        .map(|attr| attr.default_value().unwrap_or(AttrValue::None))
        .collect();
    let call = Infer {
        def,
        operands: &[Fact::of(&ty)],
        attrs: &attrs,
        fresh: &Cell::new(0),
    };
    Target::new(&graph, &info).allows(&call, &ty)
}

#[test]
fn rules_make_what_there_are_kernels_for() {
    for (op, opset, dtype, allowed) in [
        ("relu", 11, DType::F32, true),
        ("relu", 11, DType::I32, false),
        ("relu", 13, DType::I64, false),
        ("relu", 17, DType::I32, true),
        ("relu", 17, DType::I64, false),
        ("relu", 17, DType::U8, false),
        ("relu", 17, DType::F16, true),
        ("hard_sigmoid", 17, DType::F32, true),
        ("hard_sigmoid", 17, DType::F64, false),
        ("softplus", 17, DType::F64, false),
        ("softsign", 17, DType::F64, false),
        ("softsign", 22, DType::F32, true),
        ("sigmoid", 17, DType::F64, true),
        ("gelu", 19, DType::F32, false),
        ("gelu", 20, DType::F32, true),
        ("gelu", 20, DType::F64, false),
        ("hard_swish", 13, DType::F32, false),
        ("hard_swish", 14, DType::F32, true),
        ("erf", 17, DType::F64, false),
    ] {
        assert_eq!(allows(opset, dtype, op), allowed, "{op} {opset} {dtype}");
    }
}

#[test]
fn a_model_without_kernels_is_not_held_to_them() {
    let ty = Type::tensor(DType::BF16, [2]);
    let mut graph = Graph::new();
    let x = graph.input("x", ty.clone());
    let erf = Op::Known(lookup("erf").unwrap());
    let y = graph.call(erf, &[x], &[]).unwrap();
    graph.output(y, Some("y"));
    let def = lookup("tanh").unwrap();
    let call = Infer {
        def,
        operands: &[Fact::of(&ty)],
        attrs: &[],
        fresh: &Cell::new(0),
    };
    assert!(Target::new(&graph, &OnnxInfo::default()).allows(&call, &ty));
}

#[test]
fn raising_the_operator_set_names_the_node() {
    let mut graph = Graph::new();
    let x = graph.input("x", Type::tensor(DType::I32, [2]));
    let y = graph.call(Op::Known(lookup("relu").unwrap()), &[x], &[]).unwrap();
    graph.vertex_mut(y).name = Some("positive".into());
    graph.output(y, Some("positive"));
    let info = OnnxInfo {
        opsets: [(String::new(), 11)].into_iter().collect(),
        ..OnnxInfo::default()
    };
    let notes = export(&graph, &Default::default(), &info).unwrap().notes;
    let note = notes.iter().next().unwrap();
    assert_eq!(note.code, "T0506");
    assert!(
        note.message.contains("from 11 to 14") && note.message.contains("\"positive\""),
        "{}",
        note.message
    );
}

#[test]
fn types_of_inner_values_are_written() {
    let n = [Dim::symbol("n"), Dim::from(2)].into_iter().collect::<Shape>();
    let inner = [
        node("Neg", &["x"], &["a"]),
        node("Shape", &["a"], &["b"]),
        node("Reshape", &["a", "b"], &["c"]),
        node("Exp", &["c"], &["y"]),
    ];
    let mut m = model(17, &[floats("x", n.clone())], &inner, &[floats("y", n.clone())]);
    let mut told = floats("a", n.clone());
    told.doc_string = Some("half way".to_string());
    m.graph.get_or_insert_default().value_info.push(told.clone());
    let exported = write(&read(m)).model;
    let graph = graph_of(&exported);
    let computed: Vec<&str> = graph
        .node
        .iter()
        .flat_map(|n| n.output.iter().map(String::as_str))
        .collect();
    for name in computed.iter().filter(|name| **name != "y") {
        let info = graph.value_info.iter().find(|v| v.name() == *name);
        let ty = info.and_then(|v| v.r#type.as_ref());
        let Some(TypeProto {
            value: Some(TypeValue::TensorType(tensor)),
            ..
        }) = ty
        else {
            panic!("{name} has no type");
        };
        assert!(tensor.shape.is_some() && tensor.elem_type.is_some());
    }
    assert!(graph.value_info.contains(&told));
    assert!(
        graph
            .value_info
            .iter()
            .all(|v| computed.contains(&v.name()) && v.name() != "y")
    );
}

#[test]
fn an_input_of_a_type_that_onnx_lacks_is_refused() {
    let mut graph = Graph::new();
    let x = graph.input("x", Type::tensor(DType::Timestamp, [2]));
    graph.output(x, Some("y"));
    let problems = export(&graph, &Default::default(), &OnnxInfo::default()).unwrap_err();
    assert!(problems.render(false).contains("input"), "{}", problems.render(false));
}
