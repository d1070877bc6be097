//! A check of a whole run: every term that an engine made is computed, and each class should have one value.
//!
//! Rules are verified one by one; here is what they did together, at the shapes and with the operators of a model.
//! Each e-node is computed from one value for each class, so that an error shows at the class where it arises. Values
//! are points of the prime field, where functions take equals to equals, and numbers in double precision; what the
//! field tells apart, such as a law of a function or a rounded constant, is decided by numbers. Where a class has two
//! values, the applications that made its terms equal are looked at in order, each term with the value that it has by
//! itself: the first that joins two values is to blame.

mod blame;
mod pass;
mod run;
#[cfg(test)]
mod tests;
mod value;

use std::fmt;

use self::run::Run;
use super::graphs::Machine;
use crate::graph::{Graph, Params};
use crate::rewrite::{Explored, Step};
use crate::rule::Class;

/// How much is computed over one number system at one point.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Operations, by the cost of each operator.
    pub operations: u64,
    /// Operations of the machine, which runs what takes more, in single precision.
    pub machine: u64,
    /// Elements that are held at one time.
    pub elements: usize,
}

/// What an audit does.
#[derive(Clone)]
pub struct Options<'a> {
    /// Where the random choices begin.
    pub seed: u64,
    /// For how many choices of the symbolic extents.
    pub shapes: usize,
    /// The weakest class of equality among the rules.
    pub class: Class,
    /// Facts about values were assumed: only numbers greater than zero are tried.
    pub assuming: bool,
    /// Budgets.
    pub limits: Limits,
    /// What runs calls that take more than the reference definitions may.
    pub machine: Option<Machine<'a>>,
}

impl Default for Options<'_> {
    fn default() -> Self {
        Options {
            seed: 0,
            shapes: 3,
            class: Class::Real,
            assuming: false,
            limits: Limits {
                operations: 30_000_000,
                machine: 30_000_000_000,
                elements: 1 << 26,
            },
            machine: None,
        }
    }
}

/// What an audit found.
#[derive(Debug, Clone, Default)]
pub struct Audit {
    /// E-nodes, attributes not counted; for substitution the vertices that there ever were.
    pub enodes: usize,
    /// Their classes.
    pub classes: usize,
    /// E-nodes with the value of their class over the field.
    pub field: usize,
    /// Those with the value of their class in double precision alone.
    pub real: usize,
    /// Those where the machine had a part in it, in single precision.
    pub single: usize,
    /// Calls without a definition, the value of which may be any.
    pub free: usize,
    /// Those that were not computed.
    pub unchecked: usize,
    /// Those among them that take more than the budget.
    pub over_budget: usize,
    /// Why the first of those could not be computed, if it was not the budget.
    pub reason: Option<String>,
    /// The extents that were chosen, such as `n = 2`; empty texts without symbols.
    pub shapes: Vec<String>,
    /// Classes with two values.
    pub broken: usize,
    /// What broke the first of them.
    pub fault: Option<Box<Fault>>,
}

/// Two terms that were made equal and are not.
#[derive(Debug, Clone)]
pub struct Fault {
    /// The rule and where it was applied; nothing, if no application joins two values, as when folding of constants or
    /// the encoding is wrong.
    pub step: Option<Step>,
    /// What was matched, as a program; what both have in common is an input.
    pub left: String,
    /// What was made of it.
    pub right: String,
    /// The extents at which they differ.
    pub shapes: String,
    /// The first element that differs, by axes.
    pub element: Option<Vec<usize>>,
    /// What the left one has there.
    pub expected: String,
    /// What the right one has there.
    pub found: String,
}

impl fmt::Display for Audit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} e-nodes in {} classes, ", self.enodes, self.classes)?;
        match self.broken {
            0 => write!(f, "one value each")?,
            1 => write!(f, "1 class has two values")?,
            n => write!(f, "{n} classes have two values")?,
        }
        write!(f, " (field {}, f64 {}", self.field, self.real)?;
        if self.single > 0 {
            write!(f, ", f32 {}", self.single)?;
        }
        if self.free > 0 {
            write!(f, ", without a definition {}", self.free)?;
        }
        write!(f, ", unchecked {}", self.unchecked)?;
        if self.over_budget > 0 {
            write!(f, ", {} of them over the budget", self.over_budget)?;
        }
        f.write_str(")")
    }
}

impl Audit {
    /// True if no class has two values.
    pub fn is_right(&self) -> bool {
        self.broken == 0
    }
}

/// Checks everything that an engine made of `graph`; parameters without a value get random ones.
///
/// ```
/// # use std::sync::Arc;
/// # use tautomer::{diag::Source, graph::*, lang::*, pipeline::*, rule::load_rules, verify};
/// # let source = |text: &str| Arc::new(Source::new("example", text));
/// let rules = "/// Wrong.\nrule drop-relu(x) { relu(x) => x numerics real }";
/// let rules = load_rules(parse_rules(source(rules)).unwrap()).unwrap().rules;
/// let program = parse_program(source("fn main(x: f32[8]) { relu(x) * 2.0 }")).unwrap();
/// let graph = build_program(&program, &BuildOptions::default()).unwrap();
/// let workload = Workload { graph, params: Params::default() };
/// let options = Options { rules: Some(rules), explore: true, ..Options::default() };
/// let outcome = optimize(workload.clone(), &options).unwrap();
/// let explored = outcome.explored.unwrap();
/// let audit = verify::audit(&workload.graph, &workload.params, &explored, &verify::AuditOptions::default());
/// assert_eq!(&*audit.fault.unwrap().step.unwrap().rule, "drop-relu");
/// ```
pub fn audit(graph: &Graph, params: &Params, explored: &Explored, options: &Options<'_>) -> Audit {
    Run::new(graph, params, explored, options).audit()
}
