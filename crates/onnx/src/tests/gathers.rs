//! Operators that ONNX does not have, written as gathers.

use super::*;
use crate::OnnxInfo;
use tautomer_graph::Params;
use tautomer_op::{Op, lookup};

/// The operators that a call for one operand is written as, or the message.
fn written(op: &str, x: impl Into<Shape>, attrs: &[(&str, &[i64])]) -> Result<Vec<String>, String> {
    let mut graph = Graph::new();
    let x = graph.input("x", Type::tensor(DType::F32, x));
    let value = |list: &[i64]| match list {
        &[one] if op != "roll" => AttrValue::int(one),
        list => AttrValue::ints(list),
    };
    let attrs: Vec<(&str, AttrValue)> = attrs.iter().map(|(name, list)| (*name, value(list))).collect();
    let y = graph.call(Op::Known(lookup(op).unwrap()), &[x], &attrs).unwrap();
    graph.output(y, Some("y"));
    let exported = export(&graph, &Params::default(), &OnnxInfo::default()).map_err(|e| e.render(false))?;
    let again = read(exported.model.clone()).workload.graph;
    assert_eq!(again.ty(again.outputs()[0].vertex), graph.ty(y));
    Ok(graph_of(&exported.model)
        .node
        .iter()
        .map(|n| n.op_type().to_owned())
        .collect())
}

#[test]
fn axes_that_move_alone_are_read_one_by_one() {
    let n = || {
        [Dim::symbol("n"), Dim::from(3), Dim::from(4)]
            .into_iter()
            .collect::<Shape>()
    };
    let roll = |x: Shape, shifts, axes| written("roll", x, &[("shifts", shifts), ("axes", axes)]);
    assert_eq!(roll(n(), &[1], &[-1]).unwrap(), ["Gather"]);
    assert_eq!(roll(n(), &[1, 2], &[1, 2]).unwrap(), ["Gather", "Gather"]);
    let unfold = written("unfold", n(), &[("axis", &[1]), ("size", &[2]), ("step", &[1])]);
    assert_eq!(unfold.unwrap(), ["Gather", "Transpose"]);
    let problem = roll(n(), &[1], &[0]).unwrap_err();
    assert!(
        problem.contains("`roll` cannot be written as ONNX: operator `roll` has no counterpart in ONNX, and gathers cannot express the call: the dimension n is unknown"),
        "{problem}"
    );
}

#[test]
fn axes_that_move_together_are_read_at_once() {
    let diagonal = written("diagonal", [2, 3, 4], &[("dim1", &[0]), ("dim2", &[2])]);
    assert_eq!(diagonal.unwrap(), ["Transpose", "GatherND", "Transpose"]);
    let first = written("diagonal", [3, 3, 4], &[("dim1", &[0]), ("dim2", &[1])]);
    assert_eq!(first.unwrap(), ["GatherND", "Transpose"]);
    let flat = written("roll", [3, 4], &[("shifts", &[5])]);
    assert_eq!(flat.unwrap(), ["Reshape", "Gather", "Reshape"]);
}
