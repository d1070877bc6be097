//! Inlines calls of functions local to the model.

use std::collections::HashMap;
use std::sync::Arc;

use super::Importer;
use crate::proto::{AttributeProto, FunctionProto, GraphProto, NodeProto};
use tautomer_graph::VertexId;
use tautomer_op::OpError;

/// Domain, name and overload.
pub(super) type Key = (String, String, String);

/// Functions by key.
pub(super) type Functions = HashMap<Key, Arc<FunctionProto>>;

/// The maximum nesting depth of function calls.
const DEEPEST: usize = 64;

/// The maximum number of nodes that inlining may create.
const MOST_NODES: usize = 500_000;

pub(super) fn by_key(functions: &[FunctionProto]) -> Functions {
    let text = |text: &Option<String>| text.clone().unwrap_or_default();
    let key = |f: &FunctionProto| (text(&f.domain), text(&f.name), text(&f.overload));
    functions.iter().map(|f| (key(f), Arc::new(f.clone()))).collect()
}

/// The attributes that a call passes to its function, including defaults.
fn given<'n>(function: &'n FunctionProto, call: &'n NodeProto) -> HashMap<&'n str, &'n AttributeProto> {
    let all = function.attribute_proto.iter().chain(&call.attribute);
    all.filter_map(|a| Some((a.name.as_deref()?, a))).collect()
}

/// A node of a function with references to attributes replaced by the attributes of the call.
fn resolved(node: &NodeProto, given: &HashMap<&str, &AttributeProto>) -> NodeProto {
    let mut node = node.clone();
    node.attribute.retain_mut(|attr| {
        let reference = attr.ref_attr_name.as_deref().filter(|name| !name.is_empty());
        if let Some(name) = reference {
            // An attribute missing from the call is also missing in the body.
            let Some(value) = given.get(name) else { return false };
            *attr = AttributeProto {
                name: attr.name.take(),
                doc_string: attr.doc_string.take(),
                ..(*value).clone()
            };
            return true;
        }
        for graph in attr.g.iter_mut().chain(&mut attr.graphs) {
            for inner in &mut graph.node {
                *inner = resolved(inner, given);
            }
        }
        true
    });
    node
}

impl<'a> Importer<'a> {
    /// The results of a call of a function local to the model.
    pub(super) fn inline(
        &mut self,
        node: &NodeProto,
        inputs: &[Option<VertexId>],
        key: Key,
        function: &FunctionProto,
    ) -> Result<Vec<Option<VertexId>>, OpError> {
        if self.path.contains(&key) {
            return Err(OpError::new("the function calls itself"));
        }
        if self.path.len() >= DEEPEST {
            return Err(OpError::new(format!(
                "functions call each other more than {DEEPEST} deep"
            )));
        }
        self.inlined = self.inlined.saturating_add(function.node.len());
        if self.inlined > MOST_NODES {
            return Err(OpError::new(format!(
                "functions would become more than {MOST_NODES} nodes"
            )));
        }
        if inputs.len() > function.input.len() || node.output.len() > function.output.len() {
            let message = format!(
                "the function has {} operands and {} results, but the call has {} and {}",
                function.input.len(),
                function.output.len(),
                inputs.len(),
                node.output.len()
            );
            return Err(OpError::new(message));
        }
        let given = given(function, node);
        let body = GraphProto {
            node: function.node.iter().map(|n| resolved(n, &given)).collect(),
            value_info: function.value_info.clone(),
            ..GraphProto::default()
        };
        let graph = std::mem::take(&mut self.graph);
        let mut inner = self.nested(&body, graph);
        std::mem::swap(&mut inner.params, &mut self.params);
        inner.path.push(key);
        let default = function.opset_import.iter();
        let default = default.filter(|set| matches!(set.domain.as_deref(), None | Some("" | "ai.onnx")));
        inner.opset = default.filter_map(|set| set.version).next().unwrap_or(self.opset);
        let first = node
            .output
            .iter()
            .find(|name| !name.is_empty())
            .map_or("", String::as_str);
        inner.prefix = format!("{}/", self.value_name(first));
        for (inside, outside) in function.output.iter().zip(&node.output).filter(|(_, o)| !o.is_empty()) {
            inner
                .outside
                .insert(inside.clone(), self.value_name(outside).to_string());
        }
        for (i, name) in function.input.iter().enumerate().filter(|(_, name)| !name.is_empty()) {
            let v = inputs.get(i).copied().flatten().unwrap_or_else(|| inner.graph.absent());
            inner.bind(name, v);
        }
        inner.used.extend(function.output.iter().cloned());
        inner.nodes();
        let results: Vec<Option<VertexId>> = node
            .output
            .iter()
            .zip(&function.output)
            .map(|(outside, inside)| {
                inner
                    .values
                    .get(inside.as_str())
                    .copied()
                    .filter(|_| !outside.is_empty())
            })
            .collect();
        let missing = node.output.iter().zip(&function.output).zip(&results);
        let missing = missing.filter(|((outside, _), v)| !outside.is_empty() && v.is_none());
        let missing: Option<String> = missing.map(|((_, inside), _)| inside.clone()).next();
        let graph = std::mem::take(&mut inner.graph);
        let params = std::mem::take(&mut inner.params);
        let problems = self.back(inner);
        self.graph = graph;
        self.params = params;
        if let Some(problem) = problems.iter().find(|p| p.severity == tautomer_diag::Severity::Error) {
            return Err(OpError::new(format!("in its body: {}", problem.message)));
        }
        match missing {
            Some(name) => Err(OpError::new(format!(
                "nothing in its body computes the result {name:?}"
            ))),
            None => Ok(results),
        }
    }
}
