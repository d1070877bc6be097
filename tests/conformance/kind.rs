//! Classification of the models of tests.

use tautomer::formats::onnx::proto::{GraphProto, ModelProto, NodeProto, TypeProto, TypeValue};

/// Element types of the plain subset: f32, i32, i64, bool.
const PLAIN: [i32; 4] = [1, 6, 7, 9];

/// Operators with random results.
const RANDOM: [&str; 6] = [
    "Bernoulli",
    "Multinomial",
    "RandomNormal",
    "RandomNormalLike",
    "RandomUniform",
    "RandomUniformLike",
];

/// True if inputs, results and initializers are tensors of f32, i32, i64 and bool, and there is no control flow and no
/// operator of another domain.
pub(crate) fn is_plain(model: &ModelProto) -> bool {
    let Some(graph) = &model.graph else { return false };
    let mut types = graph.input.iter().chain(&graph.output).map(|v| v.r#type.as_ref());
    let initializers = graph
        .initializer
        .iter()
        .all(|t| t.data_type.is_some_and(|t| PLAIN.contains(&t)));
    types.all(|ty| ty.and_then(elements).is_some_and(|t| PLAIN.contains(&t)))
        && initializers
        && graph.node.iter().all(is_plain_node)
}

fn is_plain_node(node: &NodeProto) -> bool {
    let control = ["If", "Loop", "Scan", "SequenceMap"];
    matches!(node.domain.as_deref(), None | Some("" | "ai.onnx"))
        && !node.op_type.as_deref().is_some_and(|op| control.contains(&op))
}

/// The element type of a tensor; `None` for other types.
pub(crate) fn elements(ty: &TypeProto) -> Option<i32> {
    match ty.value.as_ref()? {
        TypeValue::TensorType(tensor) => tensor.elem_type,
        _ => None,
    }
}

/// True if the results are random, so that only their types can be compared.
pub(crate) fn is_random(name: &str, graph: &GraphProto) -> bool {
    let draws = |node: &NodeProto| node.op_type.as_deref().is_some_and(|op| RANDOM.contains(&op));
    let drops = name.starts_with("test_training_dropout") && !name.contains("zero_ratio");
    drops || graph.node.iter().any(draws)
}
