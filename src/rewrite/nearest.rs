//! Why a rule does not apply: the candidate at which matching came furthest, and what stopped it there.

use std::sync::Arc;

use egg::Id;
use rustc_hash::FxHashMap;

use super::encode::Encoded;
use super::enode::Head;
use super::matching::{Host, Match, MatchScope, Program, Reason, Searcher, Trace, resolve};
use super::substitute::{Index, describe};
use crate::graph::Graph;
use crate::graph::term::{self, Term};
use crate::lang::ast::{Ast, ExprId, ExprKind};
use crate::lang::format_expr;
use crate::op::OpDef;
use crate::rule::{PatternId, PatternNode, Rule, class_name};

/// The candidate that comes nearest to a match.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Nearest {
    /// Places where everything fits, conditions included.
    pub matches: usize,
    /// The value at which the pattern begins, if anything comes near.
    pub place: Option<String>,
    /// What stopped matching, in one sentence; empty if something matches.
    pub why: String,
    /// The values that a condition was computed from, as written and as they are.
    pub values: Vec<(String, String)>,
}

/// How near `rule` comes to applying in a graph that is rewritten by substitution.
///
/// ```
/// # use std::sync::Arc;
/// # use tautomer::{diag::Source, graph::*, lang::*, rewrite::nearest_in_graph, rule::load_rules};
/// # let source = |text: &str| Arc::new(Source::new("example", text));
/// let text = "/// Twice.\nrule twice(x) { relu(relu(x)) => relu(x) where x.rank == 2 }";
/// let rule = &load_rules(parse_rules(source(text)).unwrap()).unwrap().rules[0];
/// let program = parse_program(source("fn main(x: f32[8]) { relu(relu(x)) }")).unwrap();
/// let graph = build_program(&program, &BuildOptions::default()).unwrap();
/// let nearest = nearest_in_graph(&graph, rule);
/// assert_eq!(nearest.why, "the condition `x.rank == 2` does not hold");
/// assert_eq!(nearest.values, [("x.rank".to_owned(), "1".to_owned())]);
/// ```
pub fn nearest_in_graph(graph: &Graph, rule: &Arc<Rule>) -> Nearest {
    let index = Index::new(graph.clone());
    nearest(&index, rule, &|v| describe(graph, v))
}

/// How near `rule` comes to applying in an e-graph, whose classes are named after the vertices of `graph`.
pub fn nearest_in_egraph(graph: &Graph, encoded: &Encoded, rule: &Arc<Rule>) -> Nearest {
    let egraph = &encoded.egraph;
    let mut names: FxHashMap<Id, String> = FxHashMap::default();
    for (v, id, _) in &encoded.origins {
        names.entry(egraph.find(*id)).or_insert_with(|| describe(graph, *v));
    }
    nearest(egraph, rule, &|id| {
        let class = egraph.find(id);
        names.get(&class).cloned().unwrap_or_else(|| {
            let ops = egraph[class].nodes.iter().filter_map(|n| match n.head {
                Head::Op(i) => Some(egraph.analysis.interner.op_at(i).name()),
                _ => None,
            });
            format!("a value made by rules ({})", ops.take(3).collect::<Vec<_>>().join(", "))
        })
    })
}

/// A candidate that fails: how far it came, where it begins, and why or with what conditions still to hold.
type Candidate<V> = (usize, V, Result<Match<V>, Reason<V>>);

fn nearest<H: Host>(host: &H, rule: &Arc<Rule>, describe: &dyn Fn(H::V) -> String) -> Nearest {
    let program = Program::new(rule.clone());
    let mut out = Nearest {
        matches: 0,
        place: None,
        why: String::new(),
        values: Vec::new(),
    };
    let missing: Vec<&'static OpDef> = rule.source.operators().filter(|def| host.op(def).is_none()).collect();
    let Some(mut searcher) = Searcher::new(&program, host) else {
        let names: Vec<String> = missing.iter().map(|def| format!("`{}`", def.name)).collect();
        out.why = format!("there is no {} in the graph", names.join(" and no "));
        return out;
    };
    searcher.trace = Some(Trace::default());
    // A condition that fails is nearer than a pattern that does; the more conditions hold, the nearer.
    let mut best: Option<Candidate<H::V>> = None;
    searcher.all(&mut |binding| {
        let place = binding.outputs[0];
        let (score, found) = match resolve(host, &program, &binding) {
            Err(reason) => (0, Err(reason)),
            Ok(found) => match found.failing(host, &program) {
                None => {
                    out.matches += 1;
                    out.place.get_or_insert_with(|| describe(place));
                    return true;
                }
                Some(k) => (k + 1, Ok(found)),
            },
        };
        if best.as_ref().is_none_or(|(before, ..)| score > *before) {
            best = Some((score, place, found));
        }
        true
    });
    if out.matches > 0 {
        return out;
    }
    match best {
        Some((_, place, Err(reason))) => {
            out.place = Some(describe(place));
            out.why = reason_text(host, rule, rule.source.outputs[0].vertex(), place, &reason, describe);
        }
        Some((score, place, Ok(found))) => {
            let condition = rule.conditions[score - 1];
            out.place = Some(describe(place));
            out.why = format!("the condition `{}` does not hold", format_expr(&rule.ast, condition));
            out.values = values(host, &found, &rule.ast, condition);
        }
        None => match searcher.trace.take().and_then(|t| t.furthest) {
            Some(failure) => {
                out.place = Some(describe(failure.value));
                out.why = reason_text(host, rule, failure.at, failure.value, &failure.reason, describe);
            }
            None => "no value begins as the source does".clone_into(&mut out.why),
        },
    }
    out
}

/// A vertex of a pattern, in words.
fn pattern_text(rule: &Rule, at: PatternId) -> String {
    match rule.source.node(at) {
        PatternNode::Variable(i) => format!("`{}`", rule.variables[*i].name),
        PatternNode::Wildcard => "anything".to_owned(),
        PatternNode::Literal(number) => format!("the constant {number}"),
        PatternNode::Absent => "an operand that is left out".to_owned(),
        PatternNode::Call { def, .. } => format!("`{}`", def.name),
        PatternNode::CallOf { variable, .. } => format!("an operator `{}`", rule.operators[*variable].name),
        PatternNode::Tuple(_) => "a tuple".to_owned(),
        PatternNode::Proj(..) => "an element of a tuple".to_owned(),
        PatternNode::AnyOf(_) => "one of the alternatives".to_owned(),
    }
}

fn reason_text<H: Host>(
    host: &H,
    rule: &Rule,
    at: PatternId,
    value: H::V,
    reason: &Reason<H::V>,
    describe: &dyn Fn(H::V) -> String,
) -> String {
    let wanted = pattern_text(rule, at);
    let here = describe(value);
    let class = || match rule.source.node(at) {
        PatternNode::Variable(i) => class_name(rule.variables[*i].class),
        _ => "another value",
    };
    match reason {
        Reason::Operator => format!("the source has {wanted} where the graph has {here}"),
        Reason::Attribute(name, number) => {
            let actual = host.attr_value(*number);
            let name = if name.is_empty() { "an attribute" } else { name };
            format!("{name} = {actual} at {here} is not what the source asks of {wanted}")
        }
        Reason::Operands(wanted_count, given) => {
            format!("{wanted} has {wanted_count} operands in the source, and {here} has {given}")
        }
        Reason::Element(place) => format!("{here} is element {place} of a tuple, and the source has another"),
        Reason::OtherValue => format!("{wanted} stands for one value in the source, and {here} is a second one"),
        Reason::Class => format!("{wanted} stands for {}, and {here} is none", class()),
        Reason::Literal => format!("the source has {wanted}, and {here} is not that"),
        Reason::Given => format!("the source leaves an operand out that is given: {here}"),
        Reason::Twice => format!("{here} would stand for two vertices of the source"),
        Reason::UsedOutside => format!("{here} is used outside of the match, or is a result"),
        Reason::Type(value) => {
            format!(
                "the type of {}, {}, is not that of the variable",
                describe(*value),
                host.ty(*value)
            )
        }
        Reason::Count(n) => format!("the comprehension has {n} members, and its count means something else"),
    }
}

/// The parts of a condition that have a value of their own, as written and as they are.
fn values<H: Host>(host: &H, found: &Match<H::V>, ast: &Ast, condition: ExprId) -> Vec<(String, String)> {
    let scope = MatchScope {
        host,
        names: &found.names,
    };
    let mut out: Vec<(String, String)> = Vec::new();
    let mut stack = vec![condition];
    while let Some(id) = stack.pop() {
        let is_leaf = match ast.kind(id) {
            ExprKind::Field { .. } | ExprKind::Name(_) | ExprKind::Index { .. } | ExprKind::Slice { .. } => true,
            ExprKind::Call { args, .. } => !args
                .iter()
                .any(|a| matches!(ast.kind(*a), ExprKind::Comprehension { .. })),
            _ => false,
        };
        if !is_leaf {
            stack.extend(ast.operands(id).into_iter().rev());
            continue;
        }
        let text = format_expr(ast, id);
        let value = match term::eval(ast, id, &scope) {
            Ok(Term::Value(v)) => host.ty(v).to_string(),
            Ok(term) => term::to_attr(&term).map_or_else(|| "a list of values".to_owned(), |a| a.to_string()),
            Err(e) if e.unknown => "not known".to_owned(),
            Err(_) => continue,
        };
        if out.iter().all(|(before, _)| *before != text) {
            out.push((text, value));
        }
    }
    out
}
