//! Typed expressions: one graph for all outputs of a projector, in which equal expressions are one node.

use std::sync::Arc;

use rustc_hash::FxHashMap;

use tautomer_diag::{Source, Span};

use crate::function::Function;
use crate::types::Type;

/// The index of a node.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct NodeId(pub(crate) u32);

impl NodeId {
    pub(crate) fn index(self) -> usize {
        self.0 as usize
    }
}

/// The value of a literal; its type is that of the node.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) enum Literal {
    Null,
    Bool(bool),
    Int(i128),
    /// The bits of an `f64`.
    Float(u64),
    Str(Arc<str>),
}

/// What a node computes.
#[derive(Debug, Clone)]
pub(crate) enum Kind {
    Field(usize),
    Literal(Literal),
    Call(&'static Function, Vec<NodeId>),
    Cast(NodeId),
    If([NodeId; 3]),
    And([NodeId; 2]),
    Or([NodeId; 2]),
    /// Membership in a list of literals.
    In(NodeId, Arc<[Literal]>),
}

impl Kind {
    /// The same over other nodes.
    pub(crate) fn map(&self, mut at: impl FnMut(NodeId) -> NodeId) -> Kind {
        match self {
            Kind::Field(column) => Kind::Field(*column),
            Kind::Literal(value) => Kind::Literal(value.clone()),
            Kind::Call(function, args) => Kind::Call(function, args.iter().map(|&id| at(id)).collect()),
            Kind::Cast(of) => Kind::Cast(at(*of)),
            Kind::If(parts) => Kind::If(parts.map(&mut at)),
            Kind::And(parts) => Kind::And(parts.map(&mut at)),
            Kind::Or(parts) => Kind::Or(parts.map(&mut at)),
            Kind::In(of, members) => Kind::In(at(*of), Arc::clone(members)),
        }
    }

    /// What makes two nodes the same, besides their types.
    fn key(&self) -> Key {
        match self {
            Kind::Field(at) => Key::Field(*at),
            Kind::Literal(value) => Key::Literal(value.clone()),
            Kind::Call(function, args) => Key::Call(function.name(), args.clone()),
            Kind::Cast(of) => Key::Cast(*of),
            Kind::If(parts) => Key::If(*parts),
            Kind::And(parts) => Key::And(*parts),
            Kind::Or(parts) => Key::Or(*parts),
            Kind::In(of, members) => Key::In(*of, Arc::clone(members)),
        }
    }
}

/// A node: its kind, its type, and where it was written first.
#[derive(Debug, Clone)]
pub(crate) struct Node {
    pub(crate) kind: Kind,
    pub(crate) ty: Type,
    pub(crate) span: Span,
    pub(crate) source: Arc<Source>,
}

/// What makes two nodes the same.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) enum Key {
    Field(usize),
    Literal(Literal),
    Call(&'static str, Vec<NodeId>),
    Cast(NodeId),
    If([NodeId; 3]),
    And([NodeId; 2]),
    Or([NodeId; 2]),
    In(NodeId, Arc<[Literal]>),
}

/// Nodes, each after those that it uses.
#[derive(Debug, Clone, Default)]
pub(crate) struct Program {
    nodes: Vec<Node>,
    known: FxHashMap<(Key, Type), NodeId>,
}

impl Program {
    /// The node, or the equal one that exists.
    pub(crate) fn add(&mut self, kind: Kind, ty: Type, span: Span, source: &Arc<Source>) -> NodeId {
        let key = kind.key();
        let shared = !matches!(&kind, Kind::Call(function, _) if !function.pure_function);
        if let Some(&known) = self.known.get(&(key.clone(), ty)).filter(|_| shared) {
            return known;
        }
        let id = NodeId(self.nodes.len() as u32);
        self.nodes.push(Node {
            kind,
            ty,
            span,
            source: Arc::clone(source),
        });
        if shared {
            self.known.insert((key, ty), id);
        }
        id
    }

    /// The nodes without the places where they are written: programs with equal keys compute the same.
    pub(crate) fn key(&self) -> Vec<(Key, Type)> {
        self.nodes.iter().map(|node| (node.kind.key(), node.ty)).collect()
    }

    /// The node at `id`.
    pub(crate) fn get(&self, id: NodeId) -> &Node {
        &self.nodes[id.index()]
    }

    /// All nodes, in order.
    pub(crate) fn nodes(&self) -> &[Node] {
        &self.nodes
    }

    /// The nodes that a node uses.
    pub(crate) fn uses(&self, id: NodeId) -> Vec<NodeId> {
        match &self.get(id).kind {
            Kind::Field(_) | Kind::Literal(_) => Vec::new(),
            Kind::Call(_, args) => args.clone(),
            Kind::Cast(of) | Kind::In(of, _) => vec![*of],
            Kind::If(parts) => parts.to_vec(),
            Kind::And(parts) | Kind::Or(parts) => parts.to_vec(),
        }
    }
}

/// Copies nodes of one program into another; equal ones are shared.
pub(crate) fn merge(from: &Program, into: &mut Program) -> Vec<NodeId> {
    let mut moved: Vec<NodeId> = Vec::with_capacity(from.nodes.len());
    for node in &from.nodes {
        let kind = node.kind.map(|id| moved[id.index()]);
        moved.push(into.add(kind, node.ty, node.span, &node.source));
    }
    moved
}
