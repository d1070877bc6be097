//! Is a graph what another one was made into? Translation validation of a result, whatever made it.
//!
//! Inputs, parameters and results are paired by name, else by position. Then, cheapest first: types; both graphs in one
//! graph where equal calls are one (`symbolic`); the prime field at random points, for several choices of the symbolic
//! extents; double precision with a tolerance. Constants that were computed ahead of time are rounded: where there are
//! such, results may differ by as much. Where results differ, values inside are compared in order, to show where the
//! difference begins.

mod evaluate;
mod first;
mod pair;
mod run;
mod side;
mod symbolic;
#[cfg(test)]
mod tests;

use std::fmt;

use self::pair::{Pair, Unpaired, pair};
use self::run::Run;
use self::symbolic::symbolic;
use super::audit::Limits;
use super::data::Data;
use super::judge::Differing;
use super::proof::prove_graphs;
use super::tolerance::differing;
use crate::graph::{Graph, Params, Workload};
use crate::op::Value;
use crate::rule::Class;
use crate::tensor::{DType, Tensor};

pub use self::first::Differs;
pub use self::symbolic::Proof;

/// Runs a graph fast: its results for its inputs in order, or why there are none.
pub type Machine<'a> = &'a dyn Fn(&Graph, &[Tensor]) -> Result<Vec<Tensor>, String>;

/// How two graphs are compared.
#[derive(Clone)]
pub struct Options<'a> {
    /// Where the random choices begin.
    pub seed: u64,
    /// For how many choices of the symbolic extents.
    pub shapes: usize,
    /// How equal the results must be.
    pub class: Class,
    /// A proof for all sizes is looked for where the class is not `bitwise`.
    pub prove: bool,
    /// What the reference definitions may take for one choice, and the machine, which runs what takes more, for all.
    pub limits: Limits,
    /// What runs graphs that take more.
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

/// What was found out about two graphs.
#[derive(Debug, Clone)]
pub enum Verdict {
    /// They are equal, whatever their inputs are.
    Proved(Proof),
    /// They are the same polynomials at every shape that was tried, but for an error of probability less than 2^-90.
    ProvedAt {
        /// How many shapes.
        shapes: usize,
    },
    /// Their results agree on all data that was tried.
    Tested {
        /// How many runs.
        instances: usize,
    },
    /// They are not equal.
    Refuted(Box<Difference>),
    /// Nothing was found out, and why.
    Undecided(String),
}

/// Where and how two graphs differ.
#[derive(Debug, Clone)]
pub struct Difference {
    /// What differs, in words.
    pub what: String,
    /// The result that differs; nothing, if the graphs do not have the same inputs and results.
    pub output: Option<String>,
    /// The first element of it that differs, by axes.
    pub element: Option<Vec<usize>>,
    /// What the original has there.
    pub expected: String,
    /// What the optimized graph has there.
    pub found: String,
    /// The symbolic extents.
    pub shapes: String,
    /// Values of inputs, and of parameters that had none.
    pub values: Params,
    /// Where the difference begins.
    pub first: Option<Differs>,
    /// Both graphs at these extents with these values: they run as they are.
    pub workloads: Option<Box<[Workload; 2]>>,
}

/// A verdict, and what it rests on.
#[derive(Debug, Clone)]
pub struct Report {
    /// The verdict.
    pub verdict: Verdict,
    /// The names of the results.
    pub outputs: Vec<String>,
    /// The extents that were chosen; empty texts without symbols.
    pub shapes: Vec<String>,
    /// What else is to be known: how things were paired, what was left out.
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

/// How far apart results may lie.
#[derive(Debug, Clone, Copy)]
pub(super) struct Tolerance {
    class: Class,
    /// The largest number on the way.
    magnitude: f64,
    /// Infinite numbers may come of numbers that are too large.
    is_lenient: bool,
}

impl Tolerance {
    fn data(&self) -> Data {
        if self.is_lenient { Data::Large } else { Data::Balanced }
    }

    fn apart(&self, a: &Value<f64>, b: &Value<f64>, dtype: DType) -> Option<Differing> {
        differing(self.class, a, b, dtype, self.magnitude.max(1e-3), self.data())
    }
}

/// Compares an optimized workload with the original.
///
/// ```
/// # use std::sync::Arc;
/// # use tautomer::{diag::Source, graph::*, lang::parse_program, verify::{GraphOptions, verify_graphs}};
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
            // Equal expressions of equal numbers have equal bits, but for constants that were computed.
            Some(proof) => Verdict::Proved(proof),
            None => computed(&pair, options, &mut report),
        },
    };
    report
}

/// What numbers say, and the proof for all sizes unless they speak against it: it knows no rounding.
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

/// A result whose types cannot be equal.
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
