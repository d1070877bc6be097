//! Checks the invariants of a graph.

use std::cell::Cell;

use petgraph::Direction;

use super::{Graph, Node, VertexId};
use tautomer_op::{Fact, Infer, Op};
use tautomer_tensor::Type;

/// A violated invariant: a defect in the code that made the graph, not in user input.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("vertex {}: {what}", vertex.index())]
pub struct GraphError {
    /// The vertex.
    pub vertex: VertexId,
    /// The violated invariant.
    pub what: String,
}

impl Graph {
    /// Checks that the graph is acyclic, that predecessors are numbered without gaps, that every vertex has the number
    /// its node takes, and that every type is the inferred one.
    ///
    /// # Errors
    /// The first violated invariant.
    pub fn validate(&self) -> Result<(), GraphError> {
        if let Err(cycle) = petgraph::algo::toposort(&self.vertices, None) {
            return Err(GraphError {
                vertex: cycle.node_id(),
                what: "lies on a cycle".into(),
            });
        }
        for v in self.vertices.node_indices() {
            self.validate_vertex(v).map_err(|what| GraphError { vertex: v, what })?;
        }
        for output in &self.outputs {
            if !self.vertices.contains_node(output.vertex) {
                return Err(GraphError {
                    vertex: output.vertex,
                    what: "is a result and does not exist".into(),
                });
            }
        }
        Ok(())
    }

    fn validate_vertex(&self, v: VertexId) -> Result<(), String> {
        let mut places: Vec<u32> = self
            .vertices
            .edges_directed(v, Direction::Incoming)
            .map(|e| *e.weight())
            .collect();
        places.sort_unstable();
        if places.iter().enumerate().any(|(i, &place)| place as usize != i) {
            return Err(format!("predecessors are numbered {places:?}"));
        }
        let vertex = self.vertex(v);
        let operands = self.pred(v);
        let inferred = match &vertex.node {
            Node::Input | Node::Param | Node::Absent if operands.is_empty() => return Ok(()),
            Node::Const(value) if operands.is_empty() => Type::from(value.ty()),
            Node::Tuple => Type::Tuple(operands.iter().map(|&u| self.ty(u).clone()).collect()),
            Node::Proj(i) => match operands.as_slice() {
                [tuple] => match self.ty(*tuple) {
                    Type::Tuple(items) => items.get(*i as usize).cloned().ok_or("projects past the end")?,
                    other => return Err(format!("projects from {other}")),
                },
                _ => return Err("a projection has one predecessor".into()),
            },
            Node::Call { op: Op::Opaque(_), .. } => return Ok(()),
            Node::Call {
                op: Op::Known(def),
                attrs,
            } => {
                let facts: Vec<Fact<'_>> = operands.iter().map(|&u| self.fact(u)).collect();
                let fresh = Cell::new(u32::MAX / 2);
                (def.infer)(&Infer {
                    def,
                    operands: &facts,
                    attrs,
                    fresh: &fresh,
                })
                .map_err(|e| format!("`{}` does not type: {e}", def.name))?
            }
            _ => return Err("a leaf has predecessors".into()),
        };
        if !vertex.ty.admits(&inferred) {
            return Err(format!("has type {}, and inference gives {inferred}", vertex.ty));
        }
        Ok(())
    }
}
