//! Explains why a rule does not apply: finds the candidate at which matching got furthest, and what stopped it there.

use std::sync::Arc;

use egg::Id;
use rustc_hash::FxHashMap;

use super::encode::Encoded;
use super::enode::Head;
use super::matching::{Host, Match, MatchScope, Program, Reason, Searcher, Trace, resolve, satisfied};
use super::substitute::{Index, describe};
use tautomer_graph::term::{self, Term};
use tautomer_graph::{Graph, Node, VertexId};
use tautomer_lang::ast::{Ast, ExprId, ExprKind};
use tautomer_lang::format_expr;
use tautomer_op::OpDef;
use tautomer_rule::{PatternId, PatternNode, Rule, class_name};

/// The candidate nearest to a match.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Nearest {
    /// The number of complete matches, including conditions.
    pub matches: usize,
    /// The value at which the pattern begins, if there is a candidate.
    pub place: Option<String>,
    /// What stopped matching, in one sentence; empty if there is a match.
    pub why: String,
    /// The values from which a condition was computed: each as written, and its value.
    pub values: Vec<(String, String)>,
    /// The number of operators of the source that were found there, and their total; `None` if the pattern itself
    /// matches.
    pub found: Option<(usize, usize)>,
    /// Operators whose operands are in the other order: with them swapped, the rule would match.
    pub swapped: Vec<&'static str>,
}

/// The candidate nearest to a match of `rule` in a graph rewritten by substitution.
///
/// ```
/// # use std::sync::Arc;
/// # use tautomer_diag::Source;
/// # use tautomer_graph::*;
/// # use tautomer_lang::*;
/// # use tautomer_rewrite::nearest_in_graph;
/// # use tautomer_rule::load_rules;
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
    let words = Words {
        name: &|v| describe(graph, v),
        kind: &|v| kind(graph, v),
    };
    nearest(&index, rule, &words)
}

/// The candidate nearest to a match of `rule` in an e-graph, whose classes are named after the vertices of `graph`.
pub fn nearest_in_egraph(graph: &Graph, encoded: &Encoded, rule: &Arc<Rule>) -> Nearest {
    let egraph = &encoded.egraph;
    let mut own: FxHashMap<Id, VertexId> = FxHashMap::default();
    for (v, id, _) in &encoded.origins {
        own.entry(egraph.find(*id)).or_insert(*v);
    }
    let made = |class: Id| {
        let ops = egraph[class].nodes.iter().filter_map(|n| match n.head {
            Head::Op(i) => Some(format!("`{}`", egraph.analysis.interner.op_at(i).name())),
            _ => None,
        });
        let mut ops: Vec<String> = ops.collect();
        ops.sort();
        ops.dedup();
        ops.truncate(3);
        format!("a value made by rules ({})", ops.join(", "))
    };
    let words = Words {
        name: &|id| {
            let class = egraph.find(id);
            own.get(&class).map_or_else(|| made(class), |v| describe(graph, *v))
        },
        kind: &|id| {
            let class = egraph.find(id);
            own.get(&class).map_or_else(|| made(class), |v| kind(graph, *v))
        },
    };
    nearest(egraph, rule, &words)
}

/// Descriptions of the values of a host in messages.
struct Words<'a, V> {
    /// The name of a value, or the operator that computes it.
    name: &'a dyn Fn(V) -> String,
    /// The call that computes a value, followed by its name.
    kind: &'a dyn Fn(V) -> String,
}

/// A description of a value of a graph.
fn kind(graph: &Graph, v: VertexId) -> String {
    let vertex = graph.vertex(v);
    let name = vertex.name.as_deref();
    let with_name = |what: &str| name.map_or_else(|| what.to_owned(), |name| format!("{what} `{name}`"));
    match &vertex.node {
        Node::Input => with_name("the input"),
        Node::Param => with_name("the parameter"),
        Node::Call { op, .. } => match name {
            Some(name) => format!("`{}` ({name})", op.name()),
            None => format!("`{}`", op.name()),
        },
        Node::Tuple => "a tuple".to_owned(),
        Node::Proj(i) => format!("element {i} of a tuple"),
        _ => match vertex.constant() {
            Some(value) if value.len() == 1 => {
                let number = value.to_f64s().and_then(|all| all.first().copied());
                number.map_or_else(|| "a constant".to_owned(), |n| format!("the constant {n}"))
            }
            Some(_) => with_name("the constant"),
            None => "nothing".to_owned(),
        },
    }
}

/// A failed candidate: how far it got, where it begins, and the reason, or the match whose conditions fail.
type Candidate<V> = (usize, V, Result<Match, Reason<V>>);

fn nearest<H: Host>(host: &H, rule: &Arc<Rule>, words: &Words<'_, H::V>) -> Nearest {
    let describe = words.name;
    let program = Program::new(rule.clone());
    let mut out = Nearest {
        matches: 0,
        place: None,
        why: String::new(),
        values: Vec::new(),
        found: None,
        swapped: Vec::new(),
    };
    let missing: Vec<&'static OpDef> = rule
        .source
        .operators()
        .into_iter()
        .filter(|def| host.op(def).is_none())
        .collect();
    let Some(mut searcher) = Searcher::new(&program, host) else {
        let names: Vec<String> = missing.iter().map(|def| format!("`{}`", def.name)).collect();
        out.why = format!("the graph has no {}", names.join(" and no "));
        return out;
    };
    searcher.trace = Some(Trace::default());
    // A failing condition is nearer to a match than a failing pattern, and the more conditions hold, the nearer.
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
    out.swapped = swapped(host, rule);
    match best {
        Some((_, place, Err(reason))) => {
            out.place = Some(describe(place));
            out.why = reason_text(host, rule, rule.source.outputs[0].vertex(), place, &reason, words);
        }
        Some((score, place, Ok(found))) => {
            let condition = rule.conditions[score - 1];
            out.place = Some(describe(place));
            out.why = format!("the condition `{}` does not hold", format_expr(&rule.ast, condition));
            out.values = values(host, &found, &rule.ast, condition);
        }
        None => match searcher.trace.take().and_then(|t| t.furthest) {
            Some(failure) => {
                out.place = Some(describe(failure.root));
                let operators = rule.source.required().into_iter().filter(|id| {
                    let node = rule.source.node(*id);
                    matches!(node, PatternNode::Call { .. } | PatternNode::CallOf { .. })
                });
                let operators = operators.count().max(failure.forms);
                out.found = Some((failure.forms, operators)).filter(|_| operators > 1);
                out.why = reason_text(host, rule, failure.at, failure.value, &failure.reason, words);
            }
            None => "no value matches the root of the source".clone_into(&mut out.why),
        },
    }
    out
}

/// The maximum number of calls of a source whose operands are tried in the other order.
const MOST_SWAPPED: usize = 6;

/// A smallest set of commutative operators of a source whose operands must be swapped for it to match.
fn swapped<H: Host>(host: &H, rule: &Arc<Rule>) -> Vec<&'static str> {
    let calls: Vec<(PatternId, &'static OpDef)> = rule
        .source
        .nodes()
        .filter_map(|(id, _)| Some((id, rule.source.swappable(id)?)))
        .take(MOST_SWAPPED)
        .collect();
    let mut choices: Vec<u32> = (1..1u32 << calls.len()).collect();
    choices.sort_by_key(|bits| (bits.count_ones(), *bits));
    for bits in choices {
        let chosen = calls.iter().enumerate().filter(|(i, _)| bits >> i & 1 == 1);
        let chosen: Vec<(PatternId, &'static OpDef)> = chosen.map(|(_, call)| *call).collect();
        let mut other = Rule::clone(rule);
        chosen.iter().for_each(|(id, _)| other.source.swap(*id));
        let program = Program::new(Arc::new(other));
        let mut matches = false;
        if let Some(mut searcher) = Searcher::new(&program, host) {
            searcher.all(&mut |binding| {
                matches = satisfied(host, &program, &binding).is_some();
                !matches
            });
        }
        if matches {
            let mut operators: Vec<&'static str> = chosen.into_iter().map(|(_, def)| def.name).collect();
            operators.sort_unstable();
            operators.dedup();
            return operators;
        }
    }
    Vec::new()
}

/// A description of a vertex of a pattern.
fn pattern_text(rule: &Rule, at: PatternId) -> String {
    match rule.source.node(at) {
        PatternNode::Variable(i) => format!("`{}`", rule.variables[*i].name),
        PatternNode::Wildcard => "anything".to_owned(),
        PatternNode::Literal(number) => format!("the constant {number}"),
        PatternNode::Absent => "an omitted operand".to_owned(),
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
    words: &Words<'_, H::V>,
) -> String {
    let wanted = pattern_text(rule, at);
    let here = (words.name)(value);
    let what = (words.kind)(value);
    let class = || match rule.source.node(at) {
        PatternNode::Variable(i) => class_name(rule.variables[*i].class),
        _ => "another value",
    };
    match reason {
        Reason::Operator => format!("the source has {wanted} where the graph has {what}"),
        Reason::Attribute(name, number) => {
            let actual = host.attr_value(*number);
            let name = if name.is_empty() { "an attribute" } else { name };
            format!("{name} = {actual} at {here} is not what the source requires of {wanted}")
        }
        Reason::Operands(wanted_count, given) => {
            format!("{wanted} has {wanted_count} operands in the source, and {here} has {given}")
        }
        Reason::Element(place) => format!("{here} is element {place} of a tuple, and the source has another"),
        Reason::OtherValue => format!("{wanted} stands for one value in the source, and {here} is a second one"),
        Reason::Class => format!(
            "{wanted} stands for {}, and the graph has {what}, which is not",
            class()
        ),
        Reason::Literal => format!("the source has {wanted} where the graph has {what}"),
        Reason::Given => format!("the source omits an operand where the graph has {what}"),
        Reason::Twice => format!("{here} would match two nodes of the source"),
        Reason::UsedOutside => format!("{here} is used outside the match, or is a result"),
        Reason::Type(value) => {
            format!(
                "the type of {}, {}, is not that of the variable",
                (words.name)(*value),
                host.ty(*value)
            )
        }
        Reason::Count(n) => format!("the comprehension has {n} members, but its count has another value"),
    }
}

/// The parts of a condition that have a value: each as written, and its value.
fn values<H: Host>(host: &H, found: &Match, ast: &Ast, condition: ExprId) -> Vec<(String, String)> {
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
            Ok(Term::Value(v)) => host.ty(H::of_id(v)).to_string(),
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
