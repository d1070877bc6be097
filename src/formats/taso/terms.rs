//! The two sides of a rule as terms: equal terms are one.

use rustc_hash::FxHashMap;

/// A term of a rule.
pub(super) type Id = usize;

/// More operators than this on one side are refused.
pub(super) const MAX_OPERATORS: usize = 100;

/// How a window is padded.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Padding {
    /// The result has the extents of the input, divided by the strides.
    Same,
    /// None.
    Valid,
}

/// A window over the two spatial axes.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct Window {
    /// Its extents; a convolution without them takes those of its kernel.
    pub(super) kernel: Option<[i64; 2]>,
    /// Its steps.
    pub(super) strides: [i64; 2],
    /// What is around the input.
    pub(super) padding: Padding,
}

/// An operator with its attributes.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) enum Op {
    /// One of the table that has no attributes.
    Named(&'static str),
    /// A convolution over two axes in groups that follow from the shapes.
    Conv(Window),
    /// The largest element of each window.
    MaxPool(Window),
    /// The mean of each window, padding counted.
    AveragePool(Window),
    /// Joined along an axis; the number of axes, if it is told.
    Concat(i64, Option<i64>),
    /// Two parts along an axis, cut where they were joined.
    Split(i64),
    /// Axes in another order.
    Transpose(Vec<i64>),
    /// A kernel with zeros around it, of these extents.
    Enlarge([i64; 2]),
    /// A kernel with zeros around it, of the extents of the second operand.
    EnlargeLike,
    /// Scaled by one number.
    Scale,
    /// A tensor of ones.
    Ones,
    /// A kernel that averages windows of these extents.
    Averages([i64; 2]),
    /// What has no form in the rule language, and why.
    NoForm(String),
}

/// A term.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) enum Node {
    /// A variable, by the name it has in the file.
    Variable(String),
    /// A call.
    Call(Op, Vec<Id>),
    /// One result of a call that has several.
    Part(Id, usize),
}

/// A rule: terms, and for each output the source and the target.
#[derive(Debug, Clone, Default)]
pub(super) struct RuleTerms {
    nodes: Vec<Node>,
    known: FxHashMap<Node, Id>,
    pub(super) outputs: Vec<(Id, Id)>,
}

impl RuleTerms {
    /// The term, which is added unless it is there.
    pub(super) fn add(&mut self, node: Node) -> Id {
        if let Some(&id) = self.known.get(&node) {
            return id;
        }
        self.nodes.push(node.clone());
        self.known.insert(node, self.nodes.len() - 1);
        self.nodes.len() - 1
    }

    /// A call, and around it the call of its activation.
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

    /// What a term is made of directly.
    pub(super) fn operands(&self, id: Id) -> &[Id] {
        match self.node(id) {
            Node::Variable(_) => &[],
            Node::Call(_, operands) => operands,
            Node::Part(of, _) => std::slice::from_ref(of),
        }
    }

    /// The terms below `roots` and themselves, operands before their users.
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

/// The activation of that number, which both programs count alike.
pub(super) fn activation(number: i64) -> Result<Option<&'static str>, String> {
    Ok(match number {
        0 => None,
        1 => Some("sigmoid"),
        2 => Some("relu"),
        3 => Some("tanh"),
        _ => return Err(format!("{number} is no activation: 0 to 3 are")),
    })
}

/// The padding of that number, which both programs count alike.
pub(super) fn padding(number: i64) -> Result<Padding, String> {
    match number {
        0 => Ok(Padding::Same),
        1 => Ok(Padding::Valid),
        _ => Err(format!("{number} is no padding: 0 and 1 are")),
    }
}

/// Extents or steps, which are positive and small.
pub(super) fn positive(pair: [i64; 2]) -> Result<[i64; 2], String> {
    match pair.iter().find(|v| !(1..=1_000_000).contains(*v)) {
        Some(v) => Err(format!("{v} is no extent and no step of a window")),
        None => Ok(pair),
    }
}

/// An axis or a number of axes.
pub(super) fn axis(number: i64) -> Result<i64, String> {
    if (0..=64).contains(&number) {
        return Ok(number);
    }
    Err(format!("{number} is no axis"))
}

/// The axes of a transposition in their new order.
pub(super) fn permutation(perm: Vec<i64>) -> Result<Vec<i64>, String> {
    let mut sorted = perm.clone();
    sorted.sort_unstable();
    if sorted.iter().enumerate().all(|(i, &axis)| axis == i as i64) {
        return Ok(perm);
    }
    Err(format!("{perm:?} is no order of axes"))
}
