//! Verdicts and the evidence for them.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use crate::compare::data;
use crate::compare::finding::{Fault, WrongInstance};
use crate::compare::sides::{one_side, with_own_names, without_inputs};
use crate::compare::sweep::Decided;
use crate::proof::Coverage;
use tautomer_graph::{Graph, Params, VertexId, Workload};
use tautomer_op::Laws;
use tautomer_rule::{Class, Rule};

/// The result of verifying a rule.
#[derive(Debug, Clone)]
pub enum Verdict {
    /// Both sides are equal for all dimensions, and the ledger leaves out nothing that the rule admits.
    ProvedForAll(Coverage),
    /// Both sides are equal for all dimensions; the ledger covers only a part of everything else that the rule admits.
    ProvedFor(Coverage),
    /// Both sides are the same polynomials, possibly over uninterpreted functions, at every shape tried.
    Proved {
        /// The number of shapes.
        shapes: usize,
        /// `n`, where the probability that the sides differ at such a shape and went undetected is below `2^-n`;
        /// `None` if laws were assumed.
        error: Option<u32>,
        /// Laws of functions that were assumed.
        laws: Laws,
    },
    /// The sides agree at all instances.
    Tested {
        /// The number of instances.
        instances: usize,
        /// The number of those at which exact numbers agree.
        exact: usize,
        /// Laws of functions that were assumed there.
        laws: Laws,
    },
    /// The rule is wrong.
    Refuted(Box<Counterexample>),
    /// No result, and why.
    Undecided(String),
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Verdict::ProvedForAll(coverage) | Verdict::ProvedFor(coverage) => write!(f, "proved ({coverage})"),
            Verdict::Proved { shapes, error, laws } => {
                write!(f, "proved at {shapes} shapes")?;
                if let Some(error) = error {
                    write!(f, ", error < 2^-{error}")?;
                }
                with_laws(f, *laws)
            }
            Verdict::Tested { instances, exact, laws } => {
                write!(f, "tested at {instances} instances")?;
                if exact == instances {
                    f.write_str(", exactly")?;
                } else if *exact > 0 {
                    write!(f, ", exactly at {exact}")?;
                }
                with_laws(f, *laws)
            }
            Verdict::Refuted(example) => write!(f, "refuted: {}", example.fault),
            Verdict::Undecided(why) => write!(f, "undecided: {why}"),
        }
    }
}

fn with_laws(f: &mut fmt::Formatter<'_>, laws: Laws) -> fmt::Result {
    if laws.is_empty() {
        Ok(())
    } else {
        write!(f, ", with {laws}")
    }
}

/// An instance at which a rule is wrong.
#[derive(Debug, Clone)]
pub struct Counterexample {
    /// The kind of error.
    pub fault: Fault,
    /// The source, with one result for each output.
    pub source: Graph,
    /// The graph the rule rewrites it to.
    pub target: Graph,
    /// Values of the inputs and parameters of the source, by name; empty if the types differ.
    pub values: Params,
    /// The index of the output that differs.
    pub output: usize,
    /// The index of the first differing element.
    pub element: Option<Vec<usize>>,
    /// The value of the source there.
    pub expected: String,
    /// The value of the target there.
    pub found: String,
}

impl Counterexample {
    /// Source and target with their values: programs without inputs, ready to run.
    pub fn workloads(&self) -> [Workload; 2] {
        [&self.source, &self.target].map(|graph| {
            let graph = without_inputs(graph);
            let used = |name: &Arc<str>| {
                graph
                    .params()
                    .iter()
                    .any(|&v| graph.vertex(v).name.as_ref() == Some(name))
            };
            let params = self.values.iter().filter(|(name, _)| used(name));
            let params = params.map(|(name, value)| (name.clone(), value.clone())).collect();
            Workload { graph, params }
        })
    }
}

/// The instance as a counterexample; each leaf gets a different name.
pub(crate) fn counterexample(found: WrongInstance) -> Counterexample {
    let WrongInstance { sides, mismatch, .. } = found;
    let graph = with_own_names(&sides.graph);
    let target: &[_] = sides.target.as_ref().map_or(&[], Vec::as_slice);
    let named = |v: VertexId| Some((graph.vertex(v).name.clone()?, mismatch.values.get(&v)?.clone()));
    Counterexample {
        fault: mismatch.fault,
        source: one_side(&graph, &sides.source),
        target: one_side(&graph, target),
        values: data::leaves(&graph).filter_map(named).collect(),
        output: mismatch.output,
        element: mismatch.at.element,
        expected: mismatch.at.expected,
        found: mismatch.at.found,
    }
}

/// How often instances reached a condition of a rule, or of a `when` in its target: on either side, and close to its
/// boundary. Each comparison is a separate condition; `and`, `or` and `not` are taken apart.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reached {
    /// The condition, as written.
    pub condition: String,
    /// True for the condition of a `when`.
    pub in_target: bool,
    /// True for a comparison of numbers, which has a boundary.
    pub compares: bool,
    /// The instances compared where it holds.
    pub holds: usize,
    /// The instances where it fails: compared for a `when`, else tried.
    pub fails: usize,
    /// The instances compared where the two numbers are close.
    pub boundary: usize,
}

impl fmt::Display for Reached {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Reached {
            condition,
            holds,
            fails,
            ..
        } = self;
        write!(f, "`{condition}` holds at {holds} instances and fails at {fails}")?;
        if self.compares {
            write!(f, "; {} are at its boundary", self.boundary)?;
        }
        Ok(())
    }
}

/// A verdict and the evidence for it.
#[derive(Debug, Clone)]
pub struct Report {
    /// The rule.
    pub rule: Arc<Rule>,
    /// The verdict.
    pub verdict: Verdict,
    /// Instances that were compared.
    pub instances: usize,
    /// How many of them each number system decided, by name: `field` for the fields, `exact` for rational numbers and
    /// for fields where some elements are not real, `f64` for double precision with bounds, `bits` for exact bits.
    pub systems: BTreeMap<&'static str, usize>,
    /// Instances where the target has no type or a different type, so no engine applies the rule.
    pub refused: usize,
    /// The reason at the first of these.
    pub refusal: Option<String>,
    /// The parts of the rule that the instances reached.
    pub reached: Vec<Reached>,
    /// Mutations that were tried.
    pub attempts: usize,
    /// Why the rule is not proved for all sizes; `None` if it is, or if no proof was attempted.
    pub not_proved: Option<String>,
    /// The strongest class consistent with all instances; `None` if nothing was compared.
    pub class: Option<Decided>,
    /// The largest rounding bound within which an agreement in double precision holds, relative to the largest element.
    pub loose: f64,
    /// The largest difference beyond these bounds, relative to the largest element: the error of an approximation.
    pub error: f64,
}

impl Report {
    /// A report before anything is known about the rule.
    pub(crate) fn new(rule: &Arc<Rule>) -> Report {
        Report {
            rule: rule.clone(),
            verdict: Verdict::Undecided(String::new()),
            instances: 0,
            systems: BTreeMap::new(),
            refused: 0,
            refusal: None,
            reached: Vec::new(),
            attempts: 0,
            not_proved: None,
            class: None,
            loose: 0.0,
            error: 0.0,
        }
    }

    /// The class that the rule could declare instead of its own, if it is stronger.
    pub fn stronger_class(&self) -> Option<Class> {
        let Decided { class: decided, sweeps } = self.class.as_ref()?;
        let decided = *decided;
        // Equal bits at the instances alone are weak evidence for zeros and infinities.
        if decided == Class::Bitwise && sweeps.is_empty() {
            return None;
        }
        let holds = matches!(
            self.verdict,
            Verdict::ProvedForAll(_) | Verdict::ProvedFor(_) | Verdict::Proved { .. } | Verdict::Tested { .. }
        );
        (holds && self.rule.class.allows(decided) && !decided.allows(self.rule.class)).then_some(decided)
    }
}
