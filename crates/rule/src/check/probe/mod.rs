//! Checks whether the two sides of a rule can have the same type, on operands for which the source has types.

mod build;
mod call;
mod choices;
mod forms;
mod found;
mod options;

use build::{Attempt, Failure};
use choices::Choices;
pub(super) use forms::{Instead, Rewritten, rewritten};
use found::differs;
pub use options::given_list;

use crate::{AttrPattern, PatternNode, Rule};
use tautomer_diag::Diagnostic;
use tautomer_graph::{Graph, VertexId};
use tautomer_tensor::Type;

/// The number of rounds; each tries options in another order.
const ROUNDS: usize = 16;

/// The number of instances tried in a round.
const FOUND: usize = 4;

/// The number of attempts in a round.
const ATTEMPTS: usize = 600;

/// The number of attempts to find an element type for each value.
const ATTEMPTS_ANY_SHAPE: usize = 1000;

/// The operands to try.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Mode {
    /// Some shapes with some element types.
    Shapes,
    /// Every element type; shapes are unknown, except what the rule declares.
    AnyShape,
}

/// The findings about a rule.
pub(super) enum Verdict {
    /// The sides have the same type for some operands.
    Agrees,
    /// No operands were found for which the source has a type and its conditions hold.
    Unknown,
    /// The source never has a type.
    Never {
        /// The operator that rejects its operands, if there is one.
        op: Option<&'static str>,
        /// The reason.
        reason: String,
    },
    /// The target never has the type of the source.
    Differs(Box<Difference>),
}

/// Operands for which the sides differ.
pub(super) struct Difference {
    /// `x: f32[4, 4]`, `k = 1`
    pub(super) operands: Vec<String>,
    /// The types of the outputs of the source.
    pub(super) source: Vec<Type>,
    /// The types of the outputs of the target, or why it has none.
    pub(super) target: Result<Vec<Type>, Box<Diagnostic>>,
    /// No other operands can change this.
    pub(super) certain: bool,
}

/// Tries operands, and compares the types of both sides.
pub(super) fn judge(rule: &Rule) -> Verdict {
    let mut first = None;
    for round in 0..ROUNDS {
        let mut choices = Choices::new(round);
        let mut found = 0;
        for _ in 0..ATTEMPTS {
            let (blame, wider) = match Attempt::new(rule, Mode::Shapes, &mut choices).run() {
                Ok(instance) => {
                    let difference = differs(rule, instance);
                    if difference.is_none() {
                        return Verdict::Agrees;
                    }
                    first = first.or(difference);
                    found += 1;
                    (choices.all(), choices.all())
                }
                Err(failure) => (failure.blame, failure.wider),
            };
            if found == FOUND || !choices.go_back(blame, wider) {
                break;
            }
        }
        if first.is_none() && round > 0 {
            return never(rule).unwrap_or(Verdict::Unknown);
        }
    }
    first.map_or(Verdict::Unknown, |difference| {
        let certain = always_differs(rule);
        Verdict::Differs(Box::new(Difference { certain, ..difference }))
    })
}

/// At most `most` sources with types, and their outputs, for operands that the search finds within `attempts` attempts
/// and that satisfy the conditions.
pub fn instances(rule: &Rule, most: usize, mut attempts: usize) -> Vec<(Graph, Vec<VertexId>)> {
    let mut out = Vec::new();
    for round in 0..ROUNDS {
        let mut choices = Choices::new(round);
        loop {
            if out.len() == most || attempts == 0 {
                return out;
            }
            attempts -= 1;
            match Attempt::new(rule, Mode::Shapes, &mut choices).run() {
                Ok(found) => {
                    out.push((found.graph, found.outputs));
                    break;
                }
                Err(failure) if !choices.go_back(failure.blame, failure.wider) => break,
                Err(_) => {}
            }
        }
    }
    out
}

/// True if the types of the sides differ for every element type of every value, independent of shapes.
fn always_differs(rule: &Rule) -> bool {
    let mut choices = Choices::new(0);
    for _ in 0..ATTEMPTS_ANY_SHAPE {
        let (blame, wider) = match Attempt::new(rule, Mode::AnyShape, &mut choices).run() {
            // Attributes of a target may depend on shapes, which are not known here.
            Ok(instance) => match differs(rule, instance) {
                Some(Difference { target: Ok(_), .. }) => (choices.all(), choices.all()),
                Some(Difference {
                    target: Err(problem), ..
                }) if matches!(problem.code, "T0201" | "T0103" | "T0203") && binds_no_attributes(rule) => {
                    (choices.all(), choices.all())
                }
                _ => return false,
            },
            Err(failure) => (failure.blame, failure.wider),
        };
        if !choices.complete {
            return false;
        }
        if !choices.go_back(blame, wider) {
            return true;
        }
    }
    false
}

/// True if no attribute of the target comes from the source.
fn binds_no_attributes(rule: &Rule) -> bool {
    rule.source.nodes().all(|(_, node)| match node {
        PatternNode::Call { attrs, .. } => attrs
            .iter()
            .all(|a| matches!(a, AttrPattern::Value(_) | AttrPattern::Default)),
        PatternNode::CallOf { rest, .. } => rest.is_none(),
        _ => true,
    })
}

/// The reason why the source has no type for any operands, if that is certain.
fn never(rule: &Rule) -> Option<Verdict> {
    let mut choices = Choices::new(0);
    let mut last: Option<Failure> = None;
    for _ in 0..ATTEMPTS_ANY_SHAPE {
        let failure = Attempt::new(rule, Mode::AnyShape, &mut choices).run().err()?;
        let (blame, wider) = (failure.blame, failure.wider);
        if failure.reason.is_some() && last.as_ref().is_none_or(|l| l.depth < failure.depth) {
            last = Some(failure);
        }
        if !choices.complete {
            return None;
        }
        if !choices.go_back(blame, wider) {
            let Failure { reason, op, .. } = last?;
            return Some(Verdict::Never {
                op: op.map(|def| def.name),
                reason: reason?.message,
            });
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{composite_rules, library, library_set, library_set_files};

    #[test]
    fn attributes_of_built_in_rules_are_written_as_calls_have_them() {
        let sets: Vec<_> = library_set_files()
            .iter()
            .map(|(name, _)| library_set(name).unwrap().unwrap())
            .collect();
        let rules = library().unwrap().rules.iter();
        for rule in rules.chain(sets.iter().flat_map(|set| &set.rules)) {
            assert_eq!(rewritten(rule), None, "{}", rule.name);
        }
    }

    #[test]
    fn operands_are_found_for_most_built_in_rules_and_none_is_wrong() {
        let sets: Vec<_> = library_set_files()
            .iter()
            .map(|(name, _)| library_set(name).unwrap().unwrap())
            .collect();
        let rules = library().unwrap().rules.iter().chain(composite_rules().unwrap());
        let mut unknown = Vec::new();
        let mut agree = 0;
        for rule in rules.chain(sets.iter().flat_map(|set| &set.rules)) {
            match judge(rule) {
                Verdict::Agrees => agree += 1,
                Verdict::Unknown => unknown.push(&*rule.name),
                Verdict::Never { reason, .. } => panic!("{}: {reason}", rule.name),
                Verdict::Differs(d) => panic!("{}: {:?} for {:?}", rule.name, d.source, d.operands),
            }
        }
        assert!(
            agree >= 200 && agree > 6 * unknown.len(),
            "{agree} agree, and these are not known: {unknown:?}"
        );
    }
}
