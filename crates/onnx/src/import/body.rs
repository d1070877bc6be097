//! Nested graphs of nodes: functions of their inputs and of the outer values they refer to.

use std::sync::Arc;

use super::{Importer, defined};
use crate::proto::{AttributeProto, GraphProto, NodeProto};
use tautomer_diag::{Diagnostic, Diagnostics, Severity};
use tautomer_graph::{Graph, Node, Params, VertexId, graph_region};
use tautomer_op::{OpError, Region};
use tautomer_tensor::{Tensor, Type};

/// Constants with up to this many elements are copied into each function that refers to them.
const REPEATED: usize = 64;

/// A nested graph as a function: its inputs, then the outer values it refers to, then its own weights.
pub(super) struct Body {
    pub(super) region: Region,
    /// The weights, which the outer graph passes to the call.
    pub(super) weights: Vec<(Arc<str>, Tensor)>,
}

/// An outer value that nested graphs refer to.
pub(super) struct Captured<'n> {
    pub(super) name: &'n str,
    pub(super) vertex: VertexId,
    /// Its value, if it is a constant that is copied into each function.
    pub(super) constant: Option<Tensor>,
}

/// The graph attribute of that name.
pub(super) fn graph_attr<'n>(node: &'n NodeProto, name: &str) -> Result<&'n GraphProto, OpError> {
    let attr: Option<&AttributeProto> = node.attribute.iter().find(|a| a.name.as_deref() == Some(name));
    attr.and_then(|a| a.g.as_ref())
        .ok_or_else(|| OpError::new(format!("attribute `{name}` is not a graph")))
}

impl<'a> Importer<'a> {
    /// An importer of other nodes into `graph` that continues the state of this one in a nested scope; [`Self::back`]
    /// returns from it.
    pub(super) fn nested<'b>(&mut self, proto: &'b GraphProto, graph: Graph) -> Importer<'b>
    where
        'a: 'b,
    {
        let info = std::mem::take(&mut self.info);
        let mut inner = Importer::new(proto, info, self.folder, self.functions.clone());
        inner.scope = self.scope.clone();
        inner.shared = self.shared.clone();
        inner.graph = graph;
        inner.opset = self.opset;
        inner.path.clone_from(&self.path);
        inner.inlined = self.inlined;
        inner.carried = std::mem::take(&mut self.carried);
        inner
    }

    /// Takes back the state from an importer made by [`Self::nested`], and returns the problems found there.
    pub(super) fn back(&mut self, inner: Importer<'_>) -> Diagnostics {
        self.info = inner.info;
        self.inlined = inner.inlined;
        self.carried = inner.carried;
        inner.problems
    }

    /// The name of a value, which differs between calls of the same function.
    pub(super) fn value_name(&self, name: &str) -> Arc<str> {
        match self.outside.get(name) {
            Some(outside) => outside.as_str().into(),
            None if self.prefix.is_empty() || name.is_empty() => name.into(),
            None => format!("{}{name}", self.prefix).into(),
        }
    }

    /// A unique name for a parameter.
    pub(super) fn parameter_name(&self, name: &str) -> Arc<str> {
        let base = self.value_name(name);
        let mut name = base.clone();
        let mut number = 0;
        while self.params.contains_key(&name) {
            number += 1;
            name = format!("{base}_{number}").into();
        }
        name
    }

    /// The outer values that the nested graphs of a node refer to.
    pub(super) fn captured<'n>(&self, names: &'n [String], values: &[Option<VertexId>]) -> Option<Vec<Captured<'n>>> {
        let one = |(name, v): (&'n String, &Option<VertexId>)| {
            let vertex = (*v)?;
            let constant = self.graph.vertex(vertex).constant().filter(|t| t.len() <= REPEATED);
            Some(Captured {
                name,
                vertex,
                constant: constant.cloned(),
            })
        };
        names.iter().zip(values).map(one).collect()
    }

    /// The function for a nested graph, with inputs of these types.
    pub(super) fn body(
        &mut self,
        proto: &GraphProto,
        inputs: &[Type],
        captured: &[Captured<'_>],
    ) -> Result<Body, OpError> {
        if proto.input.len() != inputs.len() {
            let message = format!(
                "a nested graph has {} inputs, but {} are given",
                proto.input.len(),
                inputs.len()
            );
            return Err(OpError::new(message));
        }
        let mut graph = Graph::new();
        graph.name = proto.name.clone().unwrap_or_default();
        graph.reserve_unknown(self.graph.next_unknown());
        let types: Vec<Type> = captured.iter().map(|c| self.graph.ty(c.vertex).clone()).collect();
        let defined = defined(proto);
        let mut inner = self.nested(proto, graph);
        for (input, ty) in proto.input.iter().zip(inputs) {
            let name = input.name.as_deref().unwrap_or_default();
            let v = inner.graph.input(name, ty.clone());
            inner.bind(name, v);
        }
        for (captured, ty) in captured.iter().zip(types) {
            let v = match &captured.constant {
                Some(value) => inner.graph.constant(value.clone()),
                None => inner.graph.input(captured.name, ty),
            };
            if !defined.contains(captured.name) {
                inner.values.insert(captured.name, v);
            }
        }
        inner.initializers();
        inner.nodes();
        inner.outputs();
        let graph = std::mem::take(&mut inner.graph);
        let mut params = std::mem::take(&mut inner.params);
        let mut problems = self.back(inner);
        for name in proto.output.iter().filter_map(|o| o.name.as_deref()) {
            if !defined.contains(name) {
                let message = format!("result {name:?} of a nested graph is a value of an outer graph");
                problems.push(
                    Diagnostic::new(Severity::Warning, "T0512", message)
                        .help("put an `Identity` node into the nested graph, or write the model again with `convert`"),
                );
            }
        }
        for problem in problems.iter().filter(|p| p.code == "T0512") {
            // A body may be imported several times.
            if !self.problems.iter().any(|known| known.message == problem.message) {
                self.problems.push(problem.clone());
            }
        }
        if let Some(problem) = problems.iter().find(|p| p.severity == Severity::Error) {
            return Err(OpError::new(problem.message.clone()));
        }
        if graph.outputs().is_empty() {
            return Err(OpError::new("a nested graph has no result"));
        }
        self.graph.reserve_unknown(graph.next_unknown());
        Ok(Body {
            weights: weights(&graph, &mut params),
            region: graph_region(&graph),
        })
    }

    /// The operands of a call of functions: the outer values they refer to, then the weights of each.
    pub(super) fn outer_operands(&mut self, captured: &[Captured<'_>], bodies: &mut [Body]) -> Vec<VertexId> {
        let given = captured.iter().filter(|c| c.constant.is_none()).map(|c| c.vertex);
        let mut operands: Vec<VertexId> = given.collect();
        let all: Vec<Vec<(Arc<str>, Tensor)>> = bodies.iter_mut().map(|b| std::mem::take(&mut b.weights)).collect();
        for (i, body) in bodies.iter_mut().enumerate() {
            let types = |bodies: &[Vec<(Arc<str>, Tensor)>]| -> Vec<Type> {
                bodies.iter().flatten().map(|(_, t)| t.ty().into()).collect()
            };
            // Each function also takes the weights of the others.
            let own = body.region.inputs - all[i].len();
            body.region.insert_inputs(body.region.inputs, &types(&all[i + 1..]));
            body.region.insert_inputs(own, &types(&all[..i]));
        }
        for (name, tensor) in all.into_iter().flatten() {
            operands.push(self.tensor(&name, tensor));
        }
        operands
    }
}

/// The values of a graph's parameters, in its order.
fn weights(graph: &Graph, params: &mut Params) -> Vec<(Arc<str>, Tensor)> {
    let named = graph.params().iter().filter_map(|&v| match graph.vertex(v).node {
        Node::Param => graph.vertex(v).name.clone(),
        _ => None,
    });
    named
        .filter_map(|name| Some((name.clone(), params.shift_remove(&name)?)))
        .collect()
}
