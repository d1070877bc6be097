//! Do the two sides of a rule ever have one type? Tried on operands for which the source has types.

mod build;
mod choices;
mod options;

use std::sync::Arc;

use build::{Attempt, Failure};
use choices::Choices;
use rustc_hash::{FxHashMap, FxHashSet};

use crate::diag::Diagnostic;
use crate::graph::build::Builder;
use crate::graph::literal::Wanted;
use crate::graph::term::{Scope, Term};
use crate::graph::{Graph, Node, VertexId};
use crate::op::{AttrValue, OpDef};
use crate::rule::{AttrPattern, PatternNode, Rule};
use crate::tensor::{Tensor, Type};

/// Each round tries options in another order.
const ROUNDS: usize = 10;

/// Operands that are tried in a round.
const FOUND: usize = 4;

/// Attempts in a round.
const ATTEMPTS: usize = 600;

/// Attempts to find an element type for each value.
const ATTEMPTS_ANY_SHAPE: usize = 4000;

/// What is tried for operands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Mode {
    /// Some shapes of some element types.
    Shapes,
    /// Every element type; nothing is known of shapes, except what the rule declares.
    AnyShape,
}

/// What was found out about a rule.
pub(super) enum Verdict {
    /// The sides have one type for some operands.
    Agrees,
    /// No operands were found for which the source has a type and its conditions hold.
    Unknown,
    /// The source never has a type.
    Never {
        /// The operator that refuses its operands, if it is one.
        op: Option<&'static str>,
        /// Why.
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
    /// Those of the target, or why it has none.
    pub(super) target: Result<Vec<Type>, Box<Diagnostic>>,
    /// No other operands can change this.
    pub(super) certain: bool,
}

/// A source with types.
#[derive(Default)]
struct Found {
    graph: Graph,
    outputs: Vec<VertexId>,
    names: FxHashMap<Arc<str>, Term<VertexId>>,
    rests: FxHashMap<Arc<str>, Vec<(Arc<str>, AttrValue)>>,
    ops: FxHashMap<Arc<str>, &'static OpDef>,
    /// Names in the order they got a meaning.
    order: Vec<Arc<str>>,
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

/// Sources with types and their outputs, at most `most`: operands that the search finds and the conditions allow.
pub(crate) fn instances(rule: &Rule, most: usize) -> Vec<(Graph, Vec<VertexId>)> {
    let mut out = Vec::new();
    for round in 0..ROUNDS {
        let mut choices = Choices::new(round);
        for _ in 0..ATTEMPTS {
            if out.len() == most {
                return out;
            }
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

/// True if the sides differ for every element type of every value, whatever the shapes.
fn always_differs(rule: &Rule) -> bool {
    let mut choices = Choices::new(0);
    for _ in 0..ATTEMPTS_ANY_SHAPE {
        let (blame, wider) = match Attempt::new(rule, Mode::AnyShape, &mut choices).run() {
            // Attributes of a target may depend on shapes, which are not known here.
            Ok(instance) => match differs(rule, instance) {
                Some(Difference { target: Ok(_), .. }) => (choices.all(), choices.all()),
                Some(Difference {
                    target: Err(problem), ..
                }) if matches!(problem.code, "T0201" | "T0103") && binds_no_attributes(rule) => {
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

/// Why the source has no type for any operands, if that is certain.
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

/// How the target differs for these operands.
fn differs(rule: &Rule, mut found: Found) -> Option<Difference> {
    let operands = found.describe(rule);
    let types = |graph: &Graph, list: &[VertexId]| -> Vec<Type> { list.iter().map(|v| graph.ty(*v).clone()).collect() };
    let source = types(&found.graph, &found.outputs);
    let target = match target(rule, &mut found) {
        Ok(values) => Ok(types(&found.graph, &values)),
        Err(problem) => Err(Box::new(problem?)),
    };
    if let Ok(target) = &target
        && target.len() == source.len()
        && source.iter().zip(target).all(|(a, b)| may_be_same(a, b))
    {
        return None;
    }
    Some(Difference {
        operands,
        source,
        target,
        certain: false,
    })
}

/// The outputs of the target; without them, the first problem, if it has a place.
fn target(rule: &Rule, found: &mut Found) -> Result<Vec<VertexId>, Option<Diagnostic>> {
    let like = found
        .outputs
        .first()
        .and_then(|v| found.graph.ty(*v).as_tensor())
        .map(|t| t.dtype);
    let mut builder = Builder::new(&rule.ast, &mut found.graph);
    builder.fold_terms = true;
    for name in &found.order {
        builder.bind(name, found.names.get(name).cloned());
    }
    for rest in &rule.rests {
        builder.bind_rest(rest, found.rests.get(rest).cloned().unwrap_or_default());
    }
    for variable in &rule.operators {
        if let Some(def) = found.ops.get(&variable.name) {
            builder.bind_operator(&variable.name, def);
        }
    }
    let span = rule.target.span;
    let built = if rule.source.has_several_outputs() {
        builder.block_items(&rule.target).and_then(|items| {
            let values = items.into_iter().map(|t| builder.vertex(t, span));
            values.collect::<Option<Vec<_>>>()
        })
    } else {
        let value = builder.block(&rule.target);
        let wanted = like.map_or(Wanted::Any, Wanted::Like);
        value.and_then(|t| builder.vertex_as(t, wanted, span)).map(|v| vec![v])
    };
    match built {
        Some(values) if !builder.problems.has_errors() => Ok(values),
        _ => Err(builder.problems.into_iter().next()),
    }
}

/// True unless the types are known to differ.
fn may_be_same(a: &Type, b: &Type) -> bool {
    match (a, b) {
        (Type::Tensor(a), Type::Tensor(b)) => {
            let shapes = match (&a.shape, &b.shape) {
                (Some(a), Some(b)) => {
                    a.len() == b.len()
                        && a.iter()
                            .zip(b.iter())
                            .all(|(x, y)| x == y || x.as_const().is_none() || y.as_const().is_none())
                }
                _ => true,
            };
            a.dtype == b.dtype && shapes
        }
        (Type::Tuple(a), Type::Tuple(b)) => a.len() == b.len() && a.iter().zip(b).all(|(x, y)| may_be_same(x, y)),
        _ => a == b,
    }
}

impl Found {
    /// The operands and attributes, for messages.
    fn describe(&self, rule: &Rule) -> Vec<String> {
        let mut out = Vec::new();
        let operators = rule.operators.iter().map(|v| &v.name);
        out.extend(operators.filter_map(|name| Some(format!("{name} = {}", self.ops.get(name)?.name))));
        for name in &self.order {
            let Some(term) = self.names.get(name) else { continue };
            if let Term::Value(v) = term {
                if rule.variable(name).is_some() {
                    out.push(format!("{name}: {}", self.graph.ty(*v)));
                }
            } else if let (Term::List(items), Some(_)) = (term, rule.variable(name)) {
                if let Some(Term::Value(v)) = items.first() {
                    out.push(format!("{name}[i]: {}", self.graph.ty(*v)));
                }
            } else if let Some(value) = crate::graph::term::to_attr(term) {
                out.push(format!("{name} = {value}"));
            }
        }
        out
    }
}

impl Scope for Found {
    type V = VertexId;

    fn name(&self, name: &str) -> Option<Term<VertexId>> {
        self.names.get(name).cloned()
    }

    fn indexed(&self, name: &str, index: i64) -> Option<Term<VertexId>> {
        match self.names.get(name)? {
            Term::List(items) => items.get(usize::try_from(index).ok()?).cloned(),
            _ => None,
        }
    }

    fn ty(&self, v: &VertexId) -> Type {
        self.graph.ty(*v).clone()
    }

    fn constant(&self, v: &VertexId) -> Option<Tensor> {
        self.graph.vertex(*v).constant().cloned()
    }

    fn is_static(&self, v: &VertexId) -> bool {
        let mut seen = FxHashSet::default();
        let mut stack = vec![*v];
        while let Some(v) = stack.pop() {
            if matches!(self.graph.vertex(v).node, Node::Input) {
                return false;
            }
            if seen.insert(v) {
                stack.extend(self.graph.pred(v));
            }
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rule::{composite_rules, library};

    #[test]
    fn operands_are_found_for_most_rules_of_the_library() {
        let rules = library().unwrap().rules.iter().chain(composite_rules().unwrap());
        let mut unknown = Vec::new();
        let mut agree = 0;
        for rule in rules {
            match judge(rule) {
                Verdict::Agrees => agree += 1,
                Verdict::Unknown => unknown.push(&*rule.name),
                Verdict::Never { reason, .. } => panic!("{}: {reason}", rule.name),
                Verdict::Differs(d) => panic!("{}: {:?} for {:?}", rule.name, d.source, d.operands),
            }
        }
        assert!(
            agree >= 170 && agree > 9 * unknown.len(),
            "{agree} agree, and these are not known: {unknown:?}"
        );
    }
}
