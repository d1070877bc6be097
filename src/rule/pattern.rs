//! Pattern graphs: the source of a rule.

use std::sync::Arc;

use crate::lang::ast::{RuleClass, TypeExpr};
use crate::op::{AttrValue, OpDef};

/// A variable of a rule.
#[derive(Debug, Clone)]
pub struct Variable {
    /// Its name.
    pub name: Arc<str>,
    /// What it may match.
    pub class: RuleClass,
    /// Its type, if the rule gives one; lone names among the dimensions are bound by the match.
    pub ty: Option<TypeExpr>,
}

/// A vertex of a [`Pattern`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct PatternId(pub u32);

/// What a vertex of a pattern matches.
#[derive(Debug, Clone)]
pub enum PatternNode {
    /// The variable of that place: anything its class allows, the same value everywhere.
    Variable(usize),
    /// Anything, unnamed.
    Wildcard,
    /// A constant all elements of which have this value.
    Literal(f64),
    /// An operand that is left out.
    Absent,
    /// A call.
    Call {
        /// The operator.
        def: &'static OpDef,
        /// Its operands.
        operands: Vec<PatternId>,
        /// Its attributes, in declared order.
        attrs: Vec<AttrPattern>,
    },
    /// A tuple.
    Tuple(Vec<PatternId>),
    /// An element of a tuple.
    Proj(PatternId, u32),
}

/// What an attribute of a call must be.
#[derive(Debug, Clone, PartialEq)]
pub enum AttrPattern {
    /// This value.
    Value(AttrValue),
    /// What the operator takes when the attribute is left out, for the operands at hand.
    Default,
    /// Anything; the name is bound, and means the same everywhere.
    Bind(Arc<str>),
    /// Anything; it belongs to the rest of that name.
    Rest(Arc<str>),
    /// A list with these elements; `None` stands for any, a name is bound.
    List(Vec<ListItem>),
}

/// An element of a list pattern.
#[derive(Debug, Clone, PartialEq)]
pub enum ListItem {
    /// This integer.
    Int(i64),
    /// Any integer, bound.
    Bind(Arc<str>),
    /// Any integer.
    Any,
}

/// The source of a rule: a directed acyclic graph with ordered outputs.
#[derive(Debug, Clone, Default)]
pub struct Pattern {
    nodes: Vec<PatternNode>,
    /// The outputs, in order.
    pub outputs: Vec<PatternId>,
    /// Inner vertices that the rule names.
    pub named: Vec<(Arc<str>, PatternId)>,
}

impl Pattern {
    /// Adds a vertex; its operands have been added before.
    pub fn push(&mut self, node: PatternNode) -> PatternId {
        self.nodes.push(node);
        PatternId(self.nodes.len() as u32 - 1)
    }

    /// The vertex `id`.
    pub fn node(&self, id: PatternId) -> &PatternNode {
        &self.nodes[id.0 as usize]
    }

    /// All vertices, operands before users.
    pub fn nodes(&self) -> impl Iterator<Item = (PatternId, &PatternNode)> {
        self.nodes.iter().enumerate().map(|(i, n)| (PatternId(i as u32), n))
    }

    /// Operands of a vertex.
    pub fn operands(&self, id: PatternId) -> Vec<PatternId> {
        match self.node(id) {
            PatternNode::Call { operands, .. } | PatternNode::Tuple(operands) => operands.clone(),
            PatternNode::Proj(tuple, _) => vec![*tuple],
            _ => Vec::new(),
        }
    }

    /// The operators that must occur for the pattern to match.
    pub fn operators(&self) -> impl Iterator<Item = &'static OpDef> {
        self.nodes.iter().filter_map(|n| match n {
            PatternNode::Call { def, .. } => Some(*def),
            _ => None,
        })
    }
}
