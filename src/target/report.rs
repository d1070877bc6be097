//! Reports the calls of a result that its target does not have, and those that were replaced.

use std::cell::Cell;
use std::collections::BTreeMap;
use std::sync::Arc;

use serde::Serialize;

use super::legal::{Legality, Obstacle};
use super::{Target, TargetFormat};
use crate::diag::{Diagnostic, Source, Span};
use crate::formats::onnx;
use crate::graph::{Graph, Node, VertexId, body_operators, region_graph};
use crate::lang::ast::{ExprId, ExprKind};
use crate::op::{AttrValue, Fact, Infer, Op, OpDef, lookup};
use crate::rule::{Item, PatternNode, Rule};
use crate::tensor::Type;

/// Calls of a result that its target does not have, for one reason.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Illegal {
    /// The operator.
    pub operator: String,
    /// The nodes, by name, or by operator and number.
    pub places: Vec<String>,
    /// Why the target does not have them.
    pub reason: String,
    /// What would be legal, or what to do.
    pub nearest: Option<String>,
    /// The span of the first one in the text of the program.
    #[serde(skip)]
    pub span: Option<Span>,
}

impl Illegal {
    /// A warning that names the target.
    pub fn diagnostic(&self, target: &str, source: Option<&Arc<Source>>) -> Diagnostic {
        let shown: Vec<&str> = self.places.iter().take(SHOWN).map(String::as_str).collect();
        let more = match self.places.len().saturating_sub(SHOWN) {
            0 => String::new(),
            n => format!(" and {n} more"),
        };
        let message = format!(
            "`{}` is not possible on target `{target}`: {}",
            self.operator, self.reason
        );
        let mut problem = Diagnostic::warning("T0411", message);
        problem = match (self.span, source) {
            (Some(span), Some(source)) => problem.label(span, "here").in_source(source),
            _ => problem,
        };
        problem = problem.note(format!("at {}{more}", shown.join(", ")));
        match &self.nearest {
            Some(nearest) => problem.help(nearest.clone()),
            None => problem,
        }
    }
}

/// The number of nodes that a warning names.
const SHOWN: usize = 4;

/// The calls of a graph that its target does not have, also in called functions; `rules` are those that were used.
pub(crate) fn illegal(graph: &Graph, legality: &Legality<'_>, rules: &[Arc<Rule>]) -> Vec<Illegal> {
    let mut out: Vec<Illegal> = Vec::new();
    visit(graph, &mut |graph, v, call| {
        let (operator, reason, nearest) = match call {
            Call::Opaque(name) => match legality.target.only {
                // What a format carries along unread is not judged.
                None if legality.target.format != TargetFormat::Program => return,
                _ => (
                    name,
                    "what it computes is not known".to_owned(),
                    Some(DECLARE.to_owned()),
                ),
            },
            Call::Known(call, result) => {
                let Some(obstacle) = legality.obstacle(call, result) else {
                    return;
                };
                let name = call.def.name.to_owned();
                // Other shapes or element types are no matter of rules that replace the operator.
                let near = match obstacle {
                    Obstacle::ElementType { .. } | Obstacle::Dynamic { .. } | Obstacle::Condition { .. } => None,
                    _ => by_rules(legality.target, call.def, rules),
                };
                let near = near.or_else(|| nearest(legality, call, result, &obstacle));
                (name, reason(legality, call.def, &obstacle), near)
            }
        };
        let vertex = graph.vertex(v);
        let place = match &vertex.name {
            Some(name) => name.to_string(),
            None => format!("{operator} #{}", v.index()),
        };
        let same = |known: &&mut Illegal| known.operator == operator && known.reason == reason;
        match out.iter_mut().find(same) {
            Some(known) => known.places.push(place),
            None => out.push(Illegal {
                operator,
                places: vec![place],
                reason,
                nearest,
                span: vertex.span,
            }),
        }
    });
    out
}

const DECLARE: &str = "declare the operator in a file, with a body in other operators: `operators \"mine.ops\"`";

/// The number of calls of each operator that were not possible in the original and are no longer in the result.
pub(crate) fn lowered(before: &Graph, after: &[Illegal], legality: &Legality<'_>) -> BTreeMap<String, usize> {
    let mut counts: BTreeMap<String, usize> = BTreeMap::new();
    for item in illegal(before, legality, &[]) {
        *counts.entry(item.operator).or_default() += item.places.len();
    }
    for item in after {
        if let Some(count) = counts.get_mut(&item.operator) {
            *count = count.saturating_sub(item.places.len());
        }
    }
    counts.retain(|_, count| *count > 0);
    counts
}

enum Call<'a> {
    Known(&'a Infer<'a>, &'a Type),
    Opaque(String),
}

/// Calls a function for each call of a graph and of the functions that it calls.
fn visit(graph: &Graph, told: &mut dyn FnMut(&Graph, VertexId, Call<'_>)) {
    let mut inner: Vec<Graph> = Vec::new();
    for v in graph.rpo() {
        let Node::Call { op, attrs } = &graph.vertex(v).node else {
            continue;
        };
        inner.extend(
            attrs
                .iter()
                .filter_map(AttrValue::region)
                .map(|region| region_graph(region)),
        );
        match op {
            Op::Known(def) => {
                let operands = graph.pred(v);
                let facts: Vec<Fact<'_>> = operands.iter().map(|&u| graph.fact(u)).collect();
                let call = Infer {
                    def,
                    operands: &facts,
                    attrs,
                    fresh: &Cell::new(graph.next_unknown()),
                };
                told(graph, v, Call::Known(&call, graph.ty(v)));
            }
            Op::Opaque(op) => {
                let name = match &*op.domain {
                    "" => op.name.to_string(),
                    domain => format!("{domain}::{}", op.name),
                };
                told(graph, v, Call::Opaque(name));
            }
        }
    }
    inner.iter().for_each(|graph| visit(graph, told));
}

/// Why a call is not legal.
fn reason(legality: &Legality<'_>, def: &'static OpDef, obstacle: &Obstacle) -> String {
    let target = legality.target;
    let why = match obstacle {
        Obstacle::Unlisted => "it is not among the operators of the target".to_owned(),
        Obstacle::Denied => "the target excludes it".to_owned(),
        Obstacle::Undeclared => "the target has no operators of this domain".to_owned(),
        Obstacle::Uninterpreted => "what it computes is not known".to_owned(),
        Obstacle::ElementType {
            what,
            dtype,
            of_operator,
        } => {
            let types = match of_operator {
                true => target.types_of.get(def.name),
                false => target.types.as_ref(),
            };
            let names: Vec<String> = types.into_iter().flatten().map(ToString::to_string).collect();
            format!(
                "{what} has elements of type {dtype}, and the target has {}",
                names.join(", ")
            )
        }
        Obstacle::Dynamic { what, ty } => format!("{what} is {ty}, and the target needs fixed shapes"),
        Obstacle::Condition { text, about } => format!("`{text}` does not hold: {about}"),
        Obstacle::NoForm(why) => why.clone(),
        Obstacle::NoKernel => "the runtime has no kernel for these element types".to_owned(),
    };
    match obstacle {
        Obstacle::Unlisted | Obstacle::Denied | Obstacle::Undeclared | Obstacle::NoForm(_) => {
            let lacking = lacking(target, def);
            match lacking.is_empty() {
                true => why,
                false => format!("{why}, nor has it {}, which its body needs", lacking.join(", ")),
            }
        }
        _ => why,
    }
}

/// The operators in the body of a composite operator that the target does not have either.
fn lacking(target: &Target, def: &'static OpDef) -> Vec<String> {
    let mut out = Vec::new();
    let mut stack = vec![def];
    let mut seen = vec![def.name];
    while let Some(def) = stack.pop() {
        for part in body_operators(def).unwrap_or_default() {
            if seen.contains(&part.name) || target.operator(part).is_none() {
                continue;
            }
            seen.push(part.name);
            match part.composite_body() {
                Some(_) => stack.push(part),
                None => out.push(format!("`{}`", part.name)),
            }
        }
    }
    out.sort();
    out
}

/// The rules that turn such calls into legal ones where their conditions hold.
fn by_rules(target: &Target, def: &OpDef, rules: &[Arc<Rule>]) -> Option<String> {
    let begins = |rule: &&Arc<Rule>| match rule.source.outputs.as_slice() {
        [Item::One(id)] => {
            matches!(rule.source.node(*id), PatternNode::Call { def: known, .. } if known.name == def.name)
        }
        _ => false,
    };
    let makes = |rule: &&Arc<Rule>| {
        let built = built_by(rule);
        !built.is_empty()
            && built
                .iter()
                .all(|part| part.name != def.name && target.operator(part).is_none())
    };
    let found: Vec<&str> = rules
        .iter()
        .filter(begins)
        .filter(makes)
        .map(|rule| &*rule.name)
        .collect();
    let first = found.first()?;
    let names: Vec<String> = found.iter().take(SHOWN).map(|name| format!("`{name}`")).collect();
    Some(format!(
        "{} would replace it: `--why-not {first}` says what stopped it",
        names.join(", ")
    ))
}

/// The operators in the target of a rule.
fn built_by(rule: &Rule) -> Vec<&'static OpDef> {
    let ast = &rule.ast;
    let mut stack: Vec<ExprId> = rule.target.lets.iter().map(|item| item.value).collect();
    stack.push(rule.target.result);
    let mut out = Vec::new();
    while let Some(id) = stack.pop() {
        out.extend(match ast.kind(id) {
            ExprKind::Call { callee, quoted, .. } => rule.scope.find(callee.as_str(), *quoted),
            ExprKind::Binary { op, .. } => op.operator().and_then(lookup),
            ExprKind::Unary { op, .. } => lookup(op.operator()),
            _ => None,
        });
        stack.extend(ast.operands(id));
    }
    out
}

/// The nearest form that would be legal, or what makes the call legal.
fn nearest(legality: &Legality<'_>, call: &Infer<'_>, result: &Type, obstacle: &Obstacle) -> Option<String> {
    let target = legality.target;
    let name = call.def.name;
    Some(match obstacle {
        Obstacle::Unlisted | Obstacle::Denied => {
            format!(
                "`allow {name}` in a target that extends `{}` adds it, if the runtime has it",
                target.name
            )
        }
        Obstacle::Undeclared => {
            "a target that names the declarations of its domain has it: `operators \"mine.ops\"`".to_owned()
        }
        Obstacle::Uninterpreted => DECLARE.to_owned(),
        Obstacle::ElementType { dtype, of_operator, .. } => {
            let types = match of_operator {
                true => target.types_of.get(name),
                false => target.types.as_ref(),
            };
            let near = types?
                .iter()
                .filter(|other| other.is_float() == dtype.is_float() && other.is_int() == dtype.is_int())
                .max_by_key(|other| other.size())?;
            format!("`{name}` of {near} is legal; casts there and back round differently, so no rule inserts them")
        }
        Obstacle::Dynamic { .. } => "give the inputs fixed shapes: `--shape x=1,3,224,224`".to_owned(),
        Obstacle::Condition { text, .. } => format!("`{name}` is legal where `{text}` holds"),
        Obstacle::NoForm(_) => {
            let newer = legality.onnx.as_ref().and_then(|onnx| onnx.newer(call, result))?;
            format!("operator set {newer} has it: `--opset {newer}`")
        }
        Obstacle::NoKernel => {
            let onnx: &onnx::Target = legality.onnx.as_ref()?;
            let newer = onnx.newer(call, result)?;
            format!("operator set {newer} has a kernel for it: `--opset {newer}`")
        }
    })
}
