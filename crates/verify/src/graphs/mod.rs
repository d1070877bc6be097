//! Translation validation: is an optimized graph equal to the original, whatever tool produced it?
//!
//! Inputs, parameters and results are paired by name, else by position. Then the graphs are compared, by the cheapest
//! method first: types; both merged into one graph that shares equal calls (`symbolic`); the prime field at random
//! points, for several choices of the symbolic dimensions; double precision with a tolerance. Constants that were
//! folded ahead of time are rounded, and results may differ by as much. Where results differ, intermediate values are
//! compared in order, to show where the difference begins.

mod evaluate;
mod first;
mod pair;
mod run;
mod side;
mod symbolic;
#[cfg(test)]
mod tests;

use std::fmt;

use self::pair::{Unpaired, pair};
use self::run::Run;
use self::symbolic::symbolic;
use crate::compare::data::Data;
use crate::compare::element::ElementMismatch;
use crate::compare::machine::{Limits, Machine};
use crate::compare::tolerance::mismatch_beyond_tolerance;
use crate::proof::prove_graphs;
use tautomer_graph::{Params, Workload};
use tautomer_op::Value;
use tautomer_rule::Class;
use tautomer_tensor::DType;

pub(crate) use self::evaluate::{bound_places, reference, work};
pub use self::first::Differs;
pub(crate) use self::first::describe;
pub(crate) use self::pair::Pair;
pub use self::symbolic::Proof;

/// How two graphs are compared.
#[derive(Clone)]
pub struct Options<'a> {
    /// The seed of all random choices.
    pub seed: u64,
    /// The number of choices of the symbolic dimensions.
    pub shapes: usize,
    /// The class in which the results must be equal.
    pub class: Class,
    /// Attempt a proof for all sizes, unless the class is `bitwise`.
    pub prove: bool,
    /// Limits on the reference definitions for one choice, and on the machine for all choices.
    pub limits: Limits,
    /// Runs graphs that exceed the limits of the reference definitions.
    pub machine: Option<Machine<'a>>,
}

impl Default for Options<'_> {
    fn default() -> Self {
        Options {
            seed: 0,
            shapes: 4,
            class: Class::Real,
            prove: true,
            limits: Limits {
                operations: 60_000_000,
                machine: 30_000_000_000,
                elements: 1 << 26,
            },
            machine: None,
        }
    }
}

/// The result of comparing two graphs.
#[derive(Debug, Clone)]
pub enum Verdict {
    /// They are equal for all inputs.
    Proved(Proof),
    /// They are the same polynomials at every shape tried, with a probability of error below 2^-90.
    ProvedAt {
        /// The number of shapes.
        shapes: usize,
    },
    /// Their results agree on all data tried.
    Tested {
        /// The number of runs.
        instances: usize,
    },
    /// They differ.
    Refuted(Box<Difference>),
    /// No result, and why.
    Undecided(String),
}

/// Where and how two graphs differ.
#[derive(Debug, Clone)]
pub struct Difference {
    /// A description of the difference.
    pub what: String,
    /// The result that differs; `None` if the graphs do not have the same inputs and results.
    pub output: Option<String>,
    /// The multi-index of its first element that differs.
    pub element: Option<Vec<usize>>,
    /// The value of the original there.
    pub expected: String,
    /// The value of the optimized graph there.
    pub found: String,
    /// The values chosen for symbolic dimensions.
    pub shapes: String,
    /// The values of inputs, and of parameters without a value.
    pub values: Params,
    /// Where the difference begins.
    pub first: Option<Differs>,
    /// Both graphs with these dimensions and values, ready to run.
    pub workloads: Option<Box<[Workload; 2]>>,
}

/// A verdict and the evidence for it.
#[derive(Debug, Clone)]
pub struct Report {
    /// The verdict.
    pub verdict: Verdict,
    /// The names of the results.
    pub outputs: Vec<String>,
    /// The chosen dimensions; empty strings if there are no symbols.
    pub shapes: Vec<String>,
    /// Remarks: how inputs and results were paired, and which were left out.
    pub notes: Vec<String>,
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let plural = |n: usize| if n == 1 { "" } else { "s" };
        match self {
            Verdict::Proved(Proof::SameExpression) => write!(f, "proved: the same expression"),
            Verdict::Proved(Proof::SameOnceExpanded) => {
                write!(
                    f,
                    "proved: the same expression once composite operators are written out"
                )
            }
            Verdict::Proved(Proof::SameFormulas { rounded }) => {
                f.write_str("proved: the same formulas for all sizes")?;
                f.write_str(if *rounded { ", up to rounded constants" } else { "" })
            }
            Verdict::ProvedAt { shapes } => write!(f, "proved at {shapes} shape{}", plural(*shapes)),
            Verdict::Tested { instances } => write!(f, "tested at {instances} instance{}", plural(*instances)),
            Verdict::Refuted(difference) => write!(f, "refuted: {}", difference.what),
            Verdict::Undecided(why) => write!(f, "undecided: {why}"),
        }
    }
}

/// The allowed difference of results.
#[derive(Debug, Clone, Copy)]
pub(super) struct Tolerance {
    class: Class,
    /// The largest intermediate value.
    magnitude: f64,
    /// True if infinities may come from overflow.
    is_lenient: bool,
}

impl Tolerance {
    fn data(&self) -> Data {
        if self.is_lenient { Data::Large } else { Data::Balanced }
    }

    /// The first element by which two results differ too much.
    fn mismatch(&self, a: &Value<f64>, b: &Value<f64>, dtype: DType) -> Option<ElementMismatch> {
        mismatch_beyond_tolerance(self.class, a, b, dtype, self.magnitude.max(1e-3), self.data())
    }
}

/// Compares an optimized workload with the original.
///
/// ```
/// # use std::sync::Arc;
/// # use tautomer_diag::Source;
/// # use tautomer_graph::*;
/// # use tautomer_lang::parse_program;
/// # use tautomer_verify::{GraphOptions, verify_graphs};
/// let workload = |text: &str| {
///     let program = parse_program(Arc::new(Source::new("example", text))).unwrap();
///     let graph = build_program(&program, &BuildOptions::default()).unwrap();
///     Workload { graph, params: Params::default() }
/// };
/// let original = workload("fn main(x: f32[n, 2]) { (x + x) * 2.0 }");
/// let report = verify_graphs(&original, &workload("fn main(x: f32[n, 2]) { x * 4.0 }"), &GraphOptions::default());
/// assert_eq!(report.verdict.to_string(), "proved: the same formulas for all sizes");
/// let report = verify_graphs(&original, &workload("fn main(x: f32[n, 2]) { x * 3.0 }"), &GraphOptions::default());
/// assert!(report.verdict.to_string().starts_with("refuted"));
/// ```
pub fn verify_graphs(original: &Workload, optimized: &Workload, options: &Options<'_>) -> Report {
    let mut report = Report {
        verdict: Verdict::Undecided(String::new()),
        outputs: Vec::new(),
        shapes: Vec::new(),
        notes: Vec::new(),
    };
    let mut pair = match pair(original, optimized) {
        Ok(pair) => pair,
        Err(Unpaired::Different(what)) => {
            report.verdict = Verdict::Refuted(Box::new(Difference::of_types(what, None)));
            return report;
        }
        Err(Unpaired::Unknown(why)) => {
            report.verdict = Verdict::Undecided(why);
            return report;
        }
    };
    report.notes = std::mem::take(&mut pair.notes);
    report.outputs = pair.outputs.clone();
    report.verdict = match types(&pair) {
        Some(difference) => Verdict::Refuted(Box::new(difference)),
        None => match symbolic(&pair.original, &pair.optimized) {
            // Equal expressions of equal values have equal bits, except for rounding in folded constants.
            Some(proof) => Verdict::Proved(proof),
            None => computed(&pair, options, &mut report),
        },
    };
    report
}

/// Two graphs with the same inputs, in order, and no parameters.
pub(crate) fn paired(original: &Workload, optimized: &Workload) -> Result<Pair, String> {
    pair(original, optimized).map_err(|why| match why {
        Unpaired::Different(why) | Unpaired::Unknown(why) => why,
    })
}

/// The comparison of numbers, then the proof for all sizes unless that refutes: the proof ignores rounding.
fn computed(pair: &Pair, options: &Options<'_>, report: &mut Report) -> Verdict {
    let verdict = Run { pair, options }.verdict(report);
    if matches!(verdict, Verdict::Refuted(_)) || !options.prove || options.class == Class::Bitwise {
        return verdict;
    }
    match prove_graphs(&pair.original, &pair.optimized) {
        Ok(rounded) => Verdict::Proved(Proof::SameFormulas { rounded }),
        Err(_) => verdict,
    }
}

/// The first result whose types cannot be equal.
fn types(pair: &Pair) -> Option<Difference> {
    let results = pair.original.outputs().iter().zip(pair.optimized.outputs());
    results.zip(&pair.outputs).find_map(|((a, b), name)| {
        let (x, y) = (pair.original.ty(a.vertex), pair.optimized.ty(b.vertex));
        (!x.admits(y)).then(|| {
            let what = format!("`{name}` is {x} in the original and {y} in the optimized one");
            Difference::of_types(what, Some(name.clone()))
        })
    })
}

impl Difference {
    fn of_types(what: String, output: Option<String>) -> Difference {
        Difference {
            what,
            output,
            element: None,
            expected: String::new(),
            found: String::new(),
            shapes: String::new(),
            values: Params::default(),
            first: None,
            workloads: None,
        }
    }
}
