//! Pattern graphs: the source of a rule.

use std::sync::Arc;

use crate::lang::ast::{ExprId, RuleClass, TypeExpr};
use crate::op::{AttrValue, OpDef, OpTraits};

/// A variable of a rule.
#[derive(Debug, Clone)]
pub struct Variable {
    /// Its name.
    pub name: Arc<str>,
    /// What it may match.
    pub class: RuleClass,
    /// Its type, if the rule gives one; lone names among the dimensions are bound by the match.
    pub ty: Option<TypeExpr>,
    /// True for `w[i]`: one value for each index of a comprehension.
    pub indexed: bool,
}

/// A variable that stands for an operator.
#[derive(Debug, Clone)]
pub struct OpVariable {
    /// Its name.
    pub name: Arc<str>,
    /// The operators it may stand for, in the order of the table.
    pub choices: Vec<&'static OpDef>,
}

/// A vertex of a [`Pattern`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct PatternId(pub u32);

/// A comprehension of a [`Pattern`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct FamilyId(pub u32);

/// `… for i in 0..n`
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Family {
    /// The running index.
    pub index: Arc<str>,
    /// How many there are.
    pub count: Count,
}

/// How often a comprehension repeats its body.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Count {
    /// This often.
    Exactly(u32),
    /// As often as the match says; the name is bound, and means the same everywhere.
    Bind(Arc<str>),
}

/// What stands in an operand list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Item {
    /// One operand.
    One(PatternId),
    /// One operand for each index.
    Each(PatternId, FamilyId),
}

impl Item {
    /// The vertex, or the body of the comprehension.
    pub fn vertex(self) -> PatternId {
        match self {
            Item::One(id) | Item::Each(id, _) => id,
        }
    }
}

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
        operands: Vec<Item>,
        /// Its attributes, in declared order.
        attrs: Vec<AttrPattern>,
    },
    /// A call of the operator that a variable stands for.
    CallOf {
        /// The place of the operator variable.
        variable: usize,
        /// Its operands.
        operands: Vec<Item>,
        /// The name of all attributes together; without one, all have their defaults.
        rest: Option<Arc<str>>,
    },
    /// A tuple.
    Tuple(Vec<Item>),
    /// An element of a tuple.
    Proj(PatternId, ProjIndex),
    /// Whatever one of these matches.
    AnyOf(Vec<PatternId>),
}

/// Which element of a tuple.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ProjIndex {
    /// This one.
    At(u32),
    /// The one of the running index.
    Running,
    /// Any; the number is bound.
    Bind(Arc<str>),
}

/// What an attribute of a call must be.
#[derive(Debug, Clone, PartialEq)]
pub enum AttrPattern {
    /// This value.
    Value(AttrValue),
    /// What the operator takes when the attribute is left out, for the operands at hand.
    Default,
    /// Anything.
    Any,
    /// Anything; the name is bound, and means the same everywhere.
    Bind(Arc<str>),
    /// Anything, one value for each index; the name is bound to the list of them.
    BindEach(Arc<str>),
    /// Anything; it belongs to the rest of that name.
    Rest(Arc<str>),
    /// A list with these elements.
    List(Vec<ListItem>),
    /// The value of an expression of what the rest of the source binds.
    Computed(ExprId),
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
    /// For each vertex, the comprehension it stands in.
    within: Vec<Option<FamilyId>>,
    /// The comprehensions.
    pub families: Vec<Family>,
    /// The outputs, in order: some vertices, or a single comprehension.
    pub outputs: Vec<Item>,
    /// Inner vertices that the rule names.
    pub named: Vec<(Arc<str>, PatternId)>,
}

impl Pattern {
    /// Adds a vertex; its operands have been added before.
    pub fn push(&mut self, node: PatternNode, within: Option<FamilyId>) -> PatternId {
        self.nodes.push(node);
        self.within.push(within);
        PatternId(self.nodes.len() as u32 - 1)
    }

    /// The vertex `id`.
    pub fn node(&self, id: PatternId) -> &PatternNode {
        &self.nodes[id.0 as usize]
    }

    /// The comprehension that `id` stands in.
    pub fn within(&self, id: PatternId) -> Option<FamilyId> {
        self.within[id.0 as usize]
    }

    /// The comprehension `id`.
    pub fn family(&self, id: FamilyId) -> &Family {
        &self.families[id.0 as usize]
    }

    /// The number of vertices.
    pub fn len(&self) -> usize {
        self.nodes.len()
    }

    /// True without vertices.
    pub fn is_empty(&self) -> bool {
        self.nodes.is_empty()
    }

    /// All vertices, operands before users.
    pub fn nodes(&self) -> impl Iterator<Item = (PatternId, &PatternNode)> {
        self.nodes.iter().enumerate().map(|(i, n)| (PatternId(i as u32), n))
    }

    /// The comprehension that the outputs are, if their number varies.
    pub fn varying(&self) -> Option<(PatternId, FamilyId)> {
        match self.outputs.as_slice() {
            [Item::Each(body, family)] => Some((*body, *family)),
            _ => None,
        }
    }

    /// True if a match has more than one output.
    pub fn has_several_outputs(&self) -> bool {
        self.outputs.len() > 1 || self.varying().is_some()
    }

    /// The operator of a call whose two operands may change places.
    pub fn swappable(&self, id: PatternId) -> Option<&'static OpDef> {
        match self.node(id) {
            PatternNode::Call { def, operands, .. } if def.traits.contains(OpTraits::COMMUTATIVE) => {
                matches!(operands.as_slice(), [Item::One(a), Item::One(b)] if a != b).then_some(*def)
            }
            _ => None,
        }
    }

    /// Exchanges the two operands of a call.
    pub fn swap(&mut self, id: PatternId) {
        if let PatternNode::Call { operands, .. } = &mut self.nodes[id.0 as usize] {
            operands.reverse();
        }
    }

    /// Operands of a vertex, alternatives included.
    pub fn operands(&self, id: PatternId) -> Vec<PatternId> {
        match self.node(id) {
            PatternNode::Call { operands, .. }
            | PatternNode::CallOf { operands, .. }
            | PatternNode::Tuple(operands) => operands.iter().map(|o| o.vertex()).collect(),
            PatternNode::Proj(tuple, _) => vec![*tuple],
            PatternNode::AnyOf(items) => items.clone(),
            _ => Vec::new(),
        }
    }

    /// The vertices that every match has: those that are part of no alternative.
    pub fn required(&self) -> Vec<PatternId> {
        let mut out = Vec::new();
        let mut seen = vec![false; self.len()];
        let mut stack: Vec<PatternId> = self.outputs.iter().map(|o| o.vertex()).collect();
        while let Some(id) = stack.pop() {
            if std::mem::replace(&mut seen[id.0 as usize], true) {
                continue;
            }
            out.push(id);
            if !matches!(self.node(id), PatternNode::AnyOf(_)) {
                stack.extend(self.operands(id));
            }
        }
        out
    }

    /// The operators that must occur for the pattern to match.
    pub fn operators(&self) -> impl Iterator<Item = &'static OpDef> {
        self.required().into_iter().filter_map(|id| match self.node(id) {
            PatternNode::Call { def, .. } => Some(*def),
            _ => None,
        })
    }
}
