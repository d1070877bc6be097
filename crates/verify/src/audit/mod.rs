//! Audit of a whole run: every term that an engine created is computed, and every e-class must have a single value.
//!
//! Rules are verified one by one; the audit checks what they did together, at the shapes and with the operators of a
//! model. Each e-node is computed from one value for each operand class, so an error shows up at the class where it
//! arises. Values are points of the prime field, where functions that the field does not define are uninterpreted, and
//! numbers in double precision. A difference over the field may come from a law of a function or a rounded constant, so
//! the numbers decide it. If a class has two values, the applications that merged its terms are examined in order, with
//! each term computed separately: the first that merges two different values is to blame.

mod blame;
mod pass;
mod run;
#[cfg(test)]
mod tests;
mod value;

use std::fmt;

use self::run::Run;
use crate::compare::machine::{Limits, Machine};
use tautomer_graph::{Graph, Params};
use tautomer_rewrite::{Explored, Step};
use tautomer_rule::Class;

/// Options of an audit.
#[derive(Clone)]
pub struct Options<'a> {
    /// The seed of all random choices.
    pub seed: u64,
    /// The number of choices of the symbolic dimensions.
    pub shapes: usize,
    /// The weakest class of equality among the rules.
    pub class: Class,
    /// True if rules assumed facts about values: then only positive numbers are tried.
    pub assuming: bool,
    /// Limits on the computation.
    pub limits: Limits,
    /// Runs calls that exceed the limits of the reference definitions.
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

/// The result of an audit.
#[derive(Debug, Clone, Default)]
pub struct Audit {
    /// The number of e-nodes, not counting attributes; for substitution, of all vertices that ever existed.
    pub enodes: usize,
    /// The number of their e-classes.
    pub classes: usize,
    /// E-nodes with the value of their class over the field.
    pub field: usize,
    /// E-nodes with the value of their class in double precision only.
    pub real: usize,
    /// E-nodes with the value of their class in a computation that used the machine, in single precision.
    pub single: usize,
    /// Calls without a definition, whose value may be anything.
    pub free: usize,
    /// E-nodes that were not computed.
    pub unchecked: usize,
    /// The number of unchecked terms that exceed the budget.
    pub over_budget: usize,
    /// Why the first of the unchecked could not be computed, unless the budget was the reason.
    pub reason: Option<String>,
    /// The chosen dimensions, such as `n = 2`; empty strings if there are no symbols.
    pub shapes: Vec<String>,
    /// The number of classes with two values.
    pub broken: usize,
    /// The fault in the first of them.
    pub fault: Option<Box<Fault>>,
}

/// Two terms that were made equal although they differ.
#[derive(Debug, Clone)]
pub struct Fault {
    /// The rule and where it was applied; `None` if no application unites two values, for example because constant
    /// folding or the encoding is wrong.
    pub step: Option<Step>,
    /// The matched term, as a program; parts that both terms share are inputs.
    pub left: String,
    /// The term it was rewritten to.
    pub right: String,
    /// The dimensions at which they differ.
    pub shapes: String,
    /// The multi-index of the first element that differs.
    pub element: Option<Vec<usize>>,
    /// The value of the left term there.
    pub expected: String,
    /// The value of the right term there.
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

/// Checks every term that an engine created from `graph`; parameters without a value get random ones.
///
/// ```
/// # use std::sync::Arc;
/// # use tautomer_diag::Source;
/// # use tautomer_graph::{BuildOptions, Params, build_program};
/// # use tautomer_lang::{parse_program, parse_rules};
/// # use tautomer_rewrite::{Limits, encode, saturate_explained};
/// # use tautomer_rule::load_rules;
/// # use tautomer_verify::{AuditOptions, audit};
/// # let source = |text: &str| Arc::new(Source::new("example", text));
/// let rules = "/// Wrong.\nrule drop-relu(x) { relu(x) => x numerics real }";
/// let rules = load_rules(parse_rules(source(rules)).unwrap()).unwrap().rules;
/// let program = parse_program(source("fn main(x: f32[8]) { relu(x) * 2.0 }")).unwrap();
/// let graph = build_program(&program, &BuildOptions::default()).unwrap();
/// let mut encoded = encode(&graph);
/// let saturation = saturate_explained(&mut encoded, &rules, Limits::default());
/// let explored = saturation.explored(&graph, &encoded).unwrap();
/// let audit = audit(&graph, &Params::default(), &explored, &AuditOptions::default());
/// assert_eq!(&*audit.fault.unwrap().step.unwrap().rule, "drop-relu");
/// ```
pub fn audit(graph: &Graph, params: &Params, explored: &Explored, options: &Options<'_>) -> Audit {
    Run::new(graph, params, explored, options).audit()
}
