//! A vertex: what it computes, its type, and where it comes from.

use std::sync::Arc;

use tautomer_diag::Span;
use tautomer_op::{Attrs, Op};
use tautomer_tensor::{Dim, Tensor, Type};

/// The computation of a vertex from its predecessors.
#[derive(Debug, Clone, PartialEq)]
pub enum Node {
    /// Given at each run.
    Input,
    /// A parameter of the model, given with the graph.
    Param,
    /// A value that is part of the graph.
    Const(Tensor),
    /// An omitted operand.
    Absent,
    /// An operator call; attributes in the operator's order.
    Call {
        /// The operator.
        op: Op,
        /// Its attribute values, in declared order.
        attrs: Attrs,
    },
    /// A tuple of values.
    Tuple,
    /// One element of a tuple.
    Proj(u32),
}

/// A vertex of a [`Graph`](super::Graph).
#[derive(Debug, Clone)]
pub struct Vertex {
    /// Its computation.
    pub node: Node,
    /// The type of its value.
    pub ty: Type,
    /// The name of its value, if it has one.
    pub name: Option<Arc<str>>,
    /// Its span in the source text.
    pub span: Option<Span>,
    /// The rules that created it, in order of application.
    pub rules: Vec<Arc<str>>,
    /// Its elements in row-major order, if they are a few integers that follow from dimensions, such as the result of
    /// `shape` and values computed from it.
    pub ints: Option<Arc<[Dim]>>,
}

impl Vertex {
    /// A vertex without a name.
    pub fn new(node: Node, ty: Type) -> Vertex {
        Vertex {
            node,
            ty,
            name: None,
            span: None,
            rules: Vec::new(),
            ints: None,
        }
    }

    /// A vertex with a name.
    pub fn named(node: Node, ty: Type, name: &str) -> Vertex {
        Vertex {
            name: Some(name.into()),
            ..Vertex::new(node, ty)
        }
    }

    /// The constant value, if it is one.
    pub fn constant(&self) -> Option<&Tensor> {
        match &self.node {
            Node::Const(value) => Some(value),
            _ => None,
        }
    }

    /// The operator called, if it is a call.
    pub fn op(&self) -> Option<&Op> {
        match &self.node {
            Node::Call { op, .. } => Some(op),
            _ => None,
        }
    }
}
