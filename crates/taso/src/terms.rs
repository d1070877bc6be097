//! The two sides of a rule as hash-consed terms: equal terms have one ID.

use rustc_hash::FxHashMap;

/// The ID of a term of a rule.
pub(super) type Id = usize;

/// The maximum number of operators on one side.
pub(super) const MAX_OPERATORS: usize = 100;

/// How a window is padded.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Padding {
    /// The result has the size of the input, divided by the strides.
    Same,
    /// None.
    Valid,
}

/// A window over the two spatial axes.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct Window {
    /// Its size; for a convolution without one, the size of its kernel.
    pub(super) kernel: Option<[i64; 2]>,
    /// Its strides.
    pub(super) strides: [i64; 2],
    /// Its padding.
    pub(super) padding: Padding,
}

/// An operator with its attributes.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) enum Op {
    /// An operator of the table without attributes.
    Named(&'static str),
    /// A convolution over two axes; the number of groups follows from the shapes.
    Conv(Window),
    /// The maximum of each window.
    MaxPool(Window),
    /// The mean of each window, including padding.
    AveragePool(Window),
    /// A concatenation along an axis; the number of axes, if it is known.
    Concat(i64, Option<i64>),
    /// Two parts along an axis, split where they were concatenated.
    Split(i64),
    /// A permutation of the axes.
    Transpose(Vec<i64>),
    /// A kernel padded with zeros to this size.
    Enlarge([i64; 2]),
    /// A kernel padded with zeros to the size of the second operand.
    EnlargeLike,
    /// Multiplication by a single number.
    Scale,
    /// A tensor of ones.
    Ones,
    /// A kernel that averages windows of this size.
    Averages([i64; 2]),
    /// Something that cannot be expressed in the rule language, and the reason.
    NoForm(String),
}

/// A term.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) enum Node {
    /// A variable, by its name in the file.
    Variable(String),
    /// A call.
    Call(Op, Vec<Id>),
    /// One result of a call that has several.
    Part(Id, usize),
}

/// A rule: terms, and for each output the IDs of source and target.
#[derive(Debug, Clone, Default)]
pub(super) struct RuleTerms {
    nodes: Vec<Node>,
    known: FxHashMap<Node, Id>,
    pub(super) outputs: Vec<(Id, Id)>,
}

impl RuleTerms {
    /// Adds a term unless it exists, and returns its ID.
    pub(super) fn add(&mut self, node: Node) -> Id {
        if let Some(&id) = self.known.get(&node) {
            return id;
        }
        self.nodes.push(node.clone());
        self.known.insert(node, self.nodes.len() - 1);
        self.nodes.len() - 1
    }

    /// Adds a call, and the call of its activation around it.
    pub(super) fn activated(&mut self, op: Op, operands: Vec<Id>, activation: Option<&'static str>) -> Id {
        let id = self.add(Node::Call(op, operands));
        match activation {
            Some(name) => self.add(Node::Call(Op::Named(name), vec![id])),
            None => id,
        }
    }

    pub(super) fn node(&self, id: Id) -> &Node {
        &self.nodes[id]
    }

    /// The direct operands of a term.
    pub(super) fn operands(&self, id: Id) -> &[Id] {
        match self.node(id) {
            Node::Variable(_) => &[],
            Node::Call(_, operands) => operands,
            Node::Part(of, _) => std::slice::from_ref(of),
        }
    }

    /// The terms `roots` and everything they are made of, operands before users.
    pub(super) fn below(&self, roots: &[Id]) -> Vec<Id> {
        let mut seen = vec![false; self.nodes.len()];
        let mut stack = roots.to_vec();
        while let Some(id) = stack.pop() {
            if !std::mem::replace(&mut seen[id], true) {
                stack.extend(self.operands(id));
            }
        }
        // Operands are added before their users.
        (0..seen.len()).filter(|&id| seen[id]).collect()
    }
}

/// The activation with that number, which is the same in both programs.
pub(super) fn activation(number: i64) -> Result<Option<&'static str>, String> {
    Ok(match number {
        0 => None,
        1 => Some("sigmoid"),
        2 => Some("relu"),
        3 => Some("tanh"),
        _ => return Err(format!("{number} is not an activation: expected 0 to 3")),
    })
}

/// The padding with that number, which is the same in both programs.
pub(super) fn padding(number: i64) -> Result<Padding, String> {
    match number {
        0 => Ok(Padding::Same),
        1 => Ok(Padding::Valid),
        _ => Err(format!("{number} is not a padding: expected 0 or 1")),
    }
}

/// Checks sizes or strides, which must be positive and small.
pub(super) fn positive(pair: [i64; 2]) -> Result<[i64; 2], String> {
    match pair.iter().find(|v| !(1..=1_000_000).contains(*v)) {
        Some(v) => Err(format!("{v} is not a valid window size or stride")),
        None => Ok(pair),
    }
}

/// Checks an axis or a number of axes.
pub(super) fn axis(number: i64) -> Result<i64, String> {
    if (0..=64).contains(&number) {
        return Ok(number);
    }
    Err(format!("{number} is not a valid axis"))
}

/// Checks an order of axes.
pub(super) fn permutation(perm: Vec<i64>) -> Result<Vec<i64>, String> {
    let mut sorted = perm.clone();
    sorted.sort_unstable();
    if sorted.iter().enumerate().all(|(i, &axis)| axis == i as i64) {
        return Ok(perm);
    }
    Err(format!("{perm:?} is not a permutation of axes"))
}
