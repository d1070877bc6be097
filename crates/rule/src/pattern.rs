//! Pattern graphs: the source of a rule.

use std::sync::Arc;

use tautomer_lang::ast::{ExprId, RuleClass, TypeExpr};
use tautomer_op::{AttrValue, OpDef, OpTraits};

/// A variable of a rule.
#[derive(Debug, Clone)]
pub struct Variable {
    /// Its name.
    pub name: Arc<str>,
    /// The class of values that it may match.
    pub class: RuleClass,
    /// Its type, if the rule gives one; dimensions that are names are bound by the match.
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

/// A node of a [`Pattern`].
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
    /// The number of members.
    pub count: Count,
}

/// The number of times a comprehension repeats its body.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Count {
    /// A fixed number.
    Exactly(u32),
    /// The number in the match, to which the name is bound; every occurrence of the name has the same value.
    Bind(Arc<str>),
}

/// An entry of an operand list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Item {
    /// One operand.
    One(PatternId),
    /// One operand for each index.
    Each(PatternId, FamilyId),
}

impl Item {
    /// The node, or the body of the comprehension.
    pub fn vertex(self) -> PatternId {
        match self {
            Item::One(id) | Item::Each(id, _) => id,
        }
    }
}

/// The kinds of pattern nodes.
#[derive(Debug, Clone)]
pub enum PatternNode {
    /// The variable with this index: anything its class allows, the same value at every occurrence.
    Variable(usize),
    /// Anything, unnamed.
    Wildcard,
    /// A constant whose elements all have this value.
    Literal(f64),
    /// An omitted operand.
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
        /// The index of the operator variable.
        variable: usize,
        /// Its operands.
        operands: Vec<Item>,
        /// The name bound to all attributes together; without it, all have their defaults.
        rest: Option<Arc<str>>,
    },
    /// A tuple.
    Tuple(Vec<Item>),
    /// An element of a tuple.
    Proj(PatternId, ProjIndex),
    /// Anything that one of these matches.
    AnyOf(Vec<PatternId>),
}

/// Which element of a tuple.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ProjIndex {
    /// This one.
    At(u32),
    /// The element at the running index.
    Running,
    /// Any; the number is bound.
    Bind(Arc<str>),
}

/// The pattern of an attribute.
#[derive(Debug, Clone, PartialEq)]
pub enum AttrPattern {
    /// This value.
    Value(AttrValue),
    /// The default of the operator for the operands of the call.
    Default,
    /// Anything.
    Any,
    /// Anything; the name is bound to it and has the same value at every occurrence.
    Bind(Arc<str>),
    /// Anything, one value for each index; the name is bound to the list of them.
    BindEach(Arc<str>),
    /// Anything; the attribute belongs to the rest with that name.
    Rest(Arc<str>),
    /// A list with these elements.
    List(Vec<ListItem>),
    /// The value of an expression over names bound elsewhere in the source.
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
    /// For each node, the comprehension that contains it.
    within: Vec<Option<FamilyId>>,
    /// The comprehensions.
    pub families: Vec<Family>,
    /// The outputs, in order: some nodes, or a single comprehension.
    pub outputs: Vec<Item>,
    /// Inner nodes that the rule names.
    pub named: Vec<(Arc<str>, PatternId)>,
}

impl Pattern {
    /// Adds a node whose operands have been added before.
    pub fn push(&mut self, node: PatternNode, within: Option<FamilyId>) -> PatternId {
        self.nodes.push(node);
        self.within.push(within);
        PatternId(self.nodes.len() as u32 - 1)
    }

    /// The node `id`.
    pub fn node(&self, id: PatternId) -> &PatternNode {
        &self.nodes[id.0 as usize]
    }

    /// The comprehension that contains `id`.
    pub fn within(&self, id: PatternId) -> Option<FamilyId> {
        self.within[id.0 as usize]
    }

    /// The comprehension `id`.
    pub fn family(&self, id: FamilyId) -> &Family {
        &self.families[id.0 as usize]
    }

    /// The number of nodes.
    pub fn len(&self) -> usize {
        self.nodes.len()
    }

    /// True if there are no nodes.
    pub fn is_empty(&self) -> bool {
        self.nodes.is_empty()
    }

    /// All nodes, operands before users.
    pub fn nodes(&self) -> impl Iterator<Item = (PatternId, &PatternNode)> {
        self.nodes.iter().enumerate().map(|(i, n)| (PatternId(i as u32), n))
    }

    /// The comprehension that gives the outputs, if their number varies.
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

    /// The operator of a call whose two operands may be swapped.
    pub fn swappable(&self, id: PatternId) -> Option<&'static OpDef> {
        match self.node(id) {
            PatternNode::Call { def, operands, .. } if def.traits.contains(OpTraits::COMMUTATIVE) => {
                matches!(operands.as_slice(), [Item::One(a), Item::One(b)] if a != b).then_some(*def)
            }
            _ => None,
        }
    }

    /// Swaps the two operands of a call.
    pub fn swap(&mut self, id: PatternId) {
        if let PatternNode::Call { operands, .. } = &mut self.nodes[id.0 as usize] {
            operands.reverse();
        }
    }

    /// The operands of a node, including alternatives.
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

    /// The nodes that every match contains, that is, those outside all alternatives.
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

    /// The operators that must occur for the pattern to match, each once: of an alternative, those that all its items
    /// have in common.
    pub fn operators(&self) -> Vec<&'static OpDef> {
        let mut out = Vec::new();
        let mut below = None;
        for id in self.required() {
            match self.node(id) {
                PatternNode::Call { def, .. } => add(&mut out, def),
                PatternNode::AnyOf(_) => {
                    let below = below.get_or_insert_with(|| self.operators_below());
                    below[id.0 as usize].iter().for_each(|def| add(&mut out, def));
                }
                _ => {}
            }
        }
        out
    }

    /// For each vertex, the operators of everything below it that any match has.
    fn operators_below(&self) -> Vec<Vec<&'static OpDef>> {
        // Operands come before the vertices that use them.
        let mut below: Vec<Vec<&'static OpDef>> = Vec::with_capacity(self.len());
        for (id, node) in self.nodes() {
            let mut operators = Vec::new();
            let operands = self.operands(id);
            let of = |id: &PatternId| below[id.0 as usize].as_slice();
            match (node, operands.as_slice()) {
                (PatternNode::AnyOf(_), [first, others @ ..]) => {
                    let in_all = |def: &&&'static OpDef| others.iter().all(|item| has(of(item), def));
                    operators.extend(of(first).iter().filter(in_all));
                }
                _ => {
                    if let PatternNode::Call { def, .. } = node {
                        operators.push(*def);
                    }
                    operands.iter().flat_map(of).for_each(|def| add(&mut operators, def));
                }
            }
            below.push(operators);
        }
        below
    }
}

fn has(set: &[&'static OpDef], def: &'static OpDef) -> bool {
    set.iter().any(|other| std::ptr::eq(*other, def))
}

fn add(set: &mut Vec<&'static OpDef>, def: &'static OpDef) {
    if !has(set, def) {
        set.push(def);
    }
}
