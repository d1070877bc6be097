//! Nodes that are carried along unread.
//!
//! A node with nested graphs depends on the outer values that they refer to: these become additional operands after the
//! node's own, so that nothing removes them. Two private attributes store the number of the node's own operands and the
//! names of the others.

use std::path::Path;

use indexmap::IndexSet;

use super::Importer;
use crate::attr::to_value;
use crate::proto::{
    AttributeProto, AttributeType, DataLocation, GraphProto, NodeProto, TensorProto, TypeProto, TypeValue,
};
use crate::schema::schema;
use crate::types::{foreign, is_foreign, is_undefined};
use crate::{TensorError, dtype_of, from_tensor, to_tensor};
use tautomer_graph::VertexId;
use tautomer_op::{AttrValue, OpError, OpaqueOp};
use tautomer_tensor::{DType, TensorType, Type};

/// The attribute with the number of a node's own operands.
pub(crate) const OPERANDS: &str = "onnx.operands";
/// The attribute with the names of the outer values that nested graphs use.
pub(crate) const CAPTURES: &str = "onnx.captures";

/// The outer values that nested graphs of a node refer to, in order of first use.
pub(super) fn captures(node: &NodeProto) -> Vec<String> {
    let mut out = IndexSet::new();
    for graph in nested(node) {
        free(graph, &mut out);
    }
    out.into_iter().collect()
}

fn nested(node: &NodeProto) -> impl Iterator<Item = &GraphProto> {
    // Only the field that matches the attribute's declared type is read and written back.
    let says = |a: &AttributeProto, kind: AttributeType| [kind as i32, 0].contains(&a.r#type.unwrap_or(0));
    node.attribute.iter().flat_map(move |a| {
        let one = a.g.iter().filter(move |_| says(a, AttributeType::Graph));
        let many = a.graphs.iter().filter(move |_| says(a, AttributeType::Graphs));
        one.chain(many)
    })
}

// Decoding limits the depth of nested graphs.
fn free(graph: &GraphProto, out: &mut IndexSet<String>) {
    let defined = defined(graph);
    let mut used = IndexSet::new();
    for node in &graph.node {
        used.extend(node.input.iter().filter(|name| !name.is_empty()).cloned());
        for inner in nested(node) {
            free(inner, &mut used);
        }
    }
    used.extend(graph.output.iter().filter_map(|v| v.name.clone()));
    out.extend(used.into_iter().filter(|name| !defined.contains(name.as_str())));
}

/// The names of values defined in a graph.
pub(crate) fn defined(graph: &GraphProto) -> IndexSet<&str> {
    let inputs = graph.input.iter().filter_map(|v| v.name.as_deref());
    let initializers = graph.initializer.iter().filter_map(|t| t.name.as_deref());
    let sparse = graph
        .sparse_initializer
        .iter()
        .filter_map(|s| s.values.as_ref()?.name.as_deref());
    let results = graph.node.iter().flat_map(|n| n.output.iter().map(String::as_str));
    inputs.chain(initializers).chain(sparse).chain(results).collect()
}

/// Loads external tensor elements into the attribute, as the external files will not exist where the model is written.
// Decoding limits the depth of nested graphs.
fn inside(attr: &mut AttributeProto, folder: Option<&Path>) -> Result<(), TensorError> {
    let sparse = attr.sparse_tensor.iter_mut().chain(&mut attr.sparse_tensors);
    let parts = sparse.flat_map(|s| s.values.iter_mut().chain(&mut s.indices));
    for tensor in attr.t.iter_mut().chain(&mut attr.tensors).chain(parts) {
        load(tensor, folder)?;
    }
    for graph in attr.g.iter_mut().chain(&mut attr.graphs) {
        for tensor in &mut graph.initializer {
            load(tensor, folder)?;
        }
        for attr in graph.node.iter_mut().flat_map(|node| &mut node.attribute) {
            inside(attr, folder)?;
        }
    }
    Ok(())
}

fn load(tensor: &mut TensorProto, folder: Option<&Path>) -> Result<(), TensorError> {
    if tensor.data_location == Some(DataLocation::External as i32) {
        let name = tensor.name.clone().unwrap_or_default();
        let loaded = to_tensor(tensor, folder).map_err(|e| match e {
            TensorError::External(why) => TensorError::External(format!("tensor {name:?}: {why}")),
            other => other,
        })?;
        *tensor = from_tensor(&name, &loaded);
    }
    Ok(())
}

impl<'a> Importer<'a> {
    /// A vertex that represents the node without interpreting it.
    pub(super) fn opaque(
        &mut self,
        node: &'a NodeProto,
        inputs: &[Option<VertexId>],
        captured: &[Option<VertexId>],
        captures: &[String],
    ) -> Result<Vec<Option<VertexId>>, OpError> {
        let last = node.output.iter().rposition(|name| !name.is_empty());
        let count = last.map_or(0, |i| i + 1);
        if count == 0 {
            return Err(OpError::new("it has no result"));
        }
        let mut types = Vec::with_capacity(count);
        for (i, name) in node.output[..count].iter().enumerate() {
            types.push(match self.declared.get(name.as_str()).copied() {
                _ if name.is_empty() => Type::Absent,
                Some(declared) if !is_undefined(declared) => self.type_of(name, declared),
                _ => match self.guess(node, inputs, i) {
                    unknown if is_foreign(&unknown) => {
                        let dtype = self.type_by_use(name);
                        dtype.map_or(unknown, |dtype| TensorType::any_rank(dtype).into())
                    }
                    guessed => guessed,
                },
            });
        }
        let (mut names, mut values) = (Vec::new(), Vec::new());
        for attr in &node.attribute {
            names.push(attr.name.as_deref().unwrap_or_default().into());
            let mut attr = attr.clone();
            inside(&mut attr, self.folder).map_err(|e| OpError::new(e.to_string()))?;
            values.push(to_value(&attr));
        }
        if !captures.is_empty() {
            names.extend([OPERANDS.into(), CAPTURES.into()]);
            values.push(AttrValue::int(inputs.len() as i64));
            values.push(AttrValue::Strs(
                captures.iter().map(|name| name.as_str().into()).collect(),
            ));
        }
        let operands: Vec<VertexId> = inputs
            .iter()
            .chain(captured)
            .map(|v| v.unwrap_or_else(|| self.graph.absent()))
            .collect();
        let op = OpaqueOp {
            domain: node.domain.clone().filter(|d| d != "ai.onnx").unwrap_or_default(),
            name: node.op_type.clone().unwrap_or_default(),
            attr_names: names,
            result: if count == 1 {
                types.remove(0)
            } else {
                Type::Tuple(types)
            },
        };
        let label = match op.domain.as_str() {
            "" => op.name.clone(),
            domain => format!("{domain}::{}", op.name),
        };
        if op.domain.is_empty() && op.name == "Constant" {
            // Constants with unsupported element types are not reported as carried along.
        } else {
            *self.carried.entry(label).or_insert(0) += 1;
        }
        let v = self.graph.opaque(op, &operands, values);
        if count == 1 {
            return Ok(vec![Some(v)]);
        }
        (0..count)
            .map(|i| match node.output[i].is_empty() {
                true => Ok(None),
                false => self.graph.project(v, i).map(Some),
            })
            .collect()
    }

    /// The type of result `i` according to the schema or the nested graphs, if the model declares none.
    fn guess(&self, node: &NodeProto, inputs: &[Option<VertexId>], i: usize) -> Type {
        let any = |dtype: DType| Type::from(TensorType::any_rank(dtype));
        let op_type = node.op_type.as_deref().unwrap_or_default();
        let skip = usize::from(op_type == "Loop");
        let inner = nested(node)
            .next()
            .and_then(|g| g.output.get(i + skip)?.r#type.as_ref());
        if let Some(TypeProto {
            value: Some(TypeValue::TensorType(tensor)),
            ..
        }) = inner
            && let Ok(dtype) = dtype_of(tensor.elem_type.unwrap_or(0))
        {
            return any(dtype);
        }
        if let Some(dtype) = learned(node, inputs.first().copied().flatten().map(|v| self.graph.ty(v)), i) {
            return any(dtype);
        }
        let schema = match super::is_default_domain(node) {
            true => schema(op_type, self.opset),
            false => None,
        };
        let Some(schema) = schema else { return foreign() };
        let Some(output) = schema.outputs.get(i).or(schema.outputs.last().filter(|o| o.variadic)) else {
            return foreign();
        };
        let same = inputs.iter().enumerate().find_map(|(j, v)| {
            let formal = schema
                .input(j)
                .filter(|f| f.types == output.types && !f.types.starts_with('#'))?;
            let _ = formal;
            Some(self.graph.ty((*v)?).as_tensor()?.dtype)
        });
        if let Some(dtype) = same {
            return any(dtype);
        }
        if output.mask.count_ones() == 1
            && let Ok(dtype) = dtype_of(output.mask.trailing_zeros() as i32)
        {
            return any(dtype);
        }
        foreign()
    }
}

/// The element type of result `i` of an `ai.onnx.ml` node, if the specification fixes it or says that it is the
/// operand's.
fn learned(node: &NodeProto, operand: Option<&Type>, i: usize) -> Option<DType> {
    if node.domain.as_deref() != Some("ai.onnx.ml") {
        return None;
    }
    let has = |names: &[&str]| {
        let attrs = node.attribute.iter();
        attrs
            .into_iter()
            .any(|a| names.contains(&a.name.as_deref().unwrap_or_default()))
    };
    match (node.op_type.as_deref()?, i) {
        (
            "Normalizer"
            | "Scaler"
            | "FeatureVectorizer"
            | "OneHotEncoder"
            | "LinearRegressor"
            | "SVMRegressor"
            | "TreeEnsembleRegressor",
            0,
        )
        | ("LinearClassifier" | "SVMClassifier" | "TreeEnsembleClassifier", 1) => Some(DType::F32),
        ("LinearClassifier" | "SVMClassifier" | "TreeEnsembleClassifier", 0) => {
            has(&["classlabels_ints", "classlabels_int64s"]).then_some(DType::I64)
        }
        ("LabelEncoder", 0) => match () {
            () if has(&["values_floats"]) => Some(DType::F32),
            () if has(&["values_int64s"]) => Some(DType::I64),
            () => None,
        },
        ("ArrayFeatureExtractor" | "Binarizer" | "Imputer", 0) => Some(operand?.as_tensor()?.dtype),
        _ => None,
    }
}
