//! Graphs into models.
//!
//! The operator set stays that of the model the graph came from. A composite operator it lacks is written as its body;
//! where a primitive one is lacking, the smallest operator set that has it is taken and a note says so.

mod call;
mod emit;
mod extents;
mod flow;
mod names;
mod scalars;

use std::collections::HashSet;
use std::sync::Arc;

use super::OnnxInfo;
use super::proto::{FunctionProto, ModelProto, OperatorSetIdProto};
use super::schema::{NEWEST, schema};
use crate::diag::{Diagnostic, Diagnostics, Severity};
use crate::graph::{Graph, Node, Params, VertexId, expand_composites, graph_region, region_graph};
use crate::op::{AttrValue, Attrs, Op, OpDef, lookup};

/// The oldest operator set that is written.
const OLDEST: i64 = 7;

/// A model made from a graph.
#[derive(Debug, Clone)]
pub struct Exported {
    /// The model.
    pub model: ModelProto,
    /// What the user should know; no errors.
    pub notes: Diagnostics,
}

/// The model of a graph; `info` is what the model it came from said beside its computation.
///
/// # Errors
/// The graph has an operator or an element type that ONNX has no form for, or a parameter without a value.
pub fn export(graph: &Graph, params: &Params, info: &OnnxInfo) -> Result<Exported, Diagnostics> {
    let mut notes = Diagnostics::new();
    let (mut graph, opset, reason) = fitting(graph, info)?;
    scalars::with_all_axes(&mut graph);
    let mut info = info.clone();
    if opset != info.opset() {
        notes.push(raise(&graph, &mut info, opset, &reason)?);
    }
    let graph_proto = emit::emit(&graph, params, &info, opset)?;
    let model = ModelProto {
        ir_version: Some(info.ir_version.max(3)),
        opset_import: opset_imports(&info),
        producer_name: info.producer_name,
        producer_version: info.producer_version,
        domain: info.domain,
        model_version: info.model_version,
        doc_string: info.doc_string,
        graph: Some(graph_proto),
        metadata_props: info.metadata_props,
        training_info: info.training_info,
        functions: functions_in_use(&graph, info.functions),
        configuration: info.configuration,
    };
    Ok(Exported { model, notes })
}

/// Functions that calls which are carried along refer to, and those that they call; all others were inlined.
fn functions_in_use(graph: &Graph, functions: Vec<FunctionProto>) -> Vec<FunctionProto> {
    let is_opaque = |v: &VertexId| matches!(graph.vertex(*v).op(), Some(Op::Opaque(_)));
    let inside = |v: &VertexId| match &graph.vertex(*v).node {
        Node::Call { attrs, .. } => attrs.iter().any(|a| a.region().is_some_and(|r| !r.is_pure())),
        _ => false,
    };
    match graph.rpo().iter().any(|v| is_opaque(v) || inside(v)) {
        true => functions,
        false => Vec::new(),
    }
}

fn opset_imports(info: &OnnxInfo) -> Vec<OperatorSetIdProto> {
    let sets = info.opsets.iter().map(|(domain, version)| OperatorSetIdProto {
        domain: Some(domain.clone()),
        version: Some(*version),
    });
    sets.collect()
}

fn cannot(message: impl Into<String>) -> Diagnostic {
    Diagnostic::error("T0507", message)
}

/// Calls of the table's operators, in reverse post-order.
fn known_calls(graph: &Graph) -> impl Iterator<Item = (VertexId, &'static OpDef, Attrs)> + '_ {
    graph.rpo().into_iter().filter_map(|v| match &graph.vertex(v).node {
        Node::Call {
            op: Op::Known(def),
            attrs,
        } => Some((v, *def, attrs.clone())),
        _ => None,
    })
}

/// A call that an operator set has no form for.
struct Failing {
    op: &'static str,
    name: Option<Arc<str>>,
    /// The first operator set that has one.
    needed: Option<i64>,
    reason: String,
}

/// Whether a call has a form in an operator set.
fn renders(graph: &Graph, v: VertexId, def: &'static OpDef, attrs: &Attrs, opset: i64) -> Result<(), String> {
    if flow::is_special(def) {
        let first = flow::first_opset(graph, v, def);
        return match opset < first {
            true => Err(format!("`{}` needs operator set {first}", def.name)),
            false => Ok(()),
        };
    }
    call::render(graph, def, &graph.pred(v), attrs, opset).map(|_| ())
}

/// Remainders of floats have the sign of the dividend in ONNX: others are made of them.
fn say_remainders(graph: &mut Graph) {
    let Some(floor_mod) = lookup("floor_mod") else { return };
    let found: Vec<VertexId> = known_calls(graph)
        .filter(|(v, def, attrs)| {
            let float = graph.ty(*v).as_tensor().is_some_and(|t| t.dtype.is_float());
            float && def.name == "mod" && *def.attr_in(attrs, "fmod") == AttrValue::Bool(false)
        })
        .map(|(v, _, _)| v)
        .collect();
    for v in found {
        graph.vertex_mut(v).node = Node::Call {
            op: Op::Known(floor_mod),
            attrs: Attrs::default(),
        };
    }
}

/// The graph with composites expanded as far as the operator set asks for, in functions that are called too, and what
/// it still has no form for.
fn fit(graph: &Graph, opset: i64) -> Result<(Graph, Vec<Failing>), Diagnostics> {
    let mut graph = graph.clone();
    say_remainders(&mut graph);
    let mut expanded: HashSet<&str> = HashSet::new();
    let mut failing = loop {
        let mut composites: HashSet<&str> = HashSet::new();
        let mut failing: Vec<Failing> = Vec::new();
        for (v, def, attrs) in known_calls(&graph) {
            let Err(reason) = renders(&graph, v, def, &attrs, opset) else {
                continue;
            };
            if def.composite_body().is_some() && !expanded.contains(def.name) {
                composites.insert(def.name);
                continue;
            }
            let from = opset.max(OLDEST - 1) + 1;
            failing.push(Failing {
                op: def.name,
                name: graph.vertex(v).name.clone(),
                needed: (from..=NEWEST).find(|&newer| renders(&graph, v, def, &attrs, newer).is_ok()),
                reason,
            });
        }
        if composites.is_empty() {
            break failing;
        }
        expand_composites(&mut graph, &|def| composites.contains(def.name))
            .map_err(|e| Diagnostics::from(cannot(e.to_string())))?;
        expanded.extend(composites);
    };
    let calling: Vec<(VertexId, &'static OpDef, Attrs)> = known_calls(&graph)
        .filter(|(_, _, attrs)| attrs.iter().any(|a| a.region().is_some()))
        .collect();
    for (v, def, attrs) in calling {
        let mut new = attrs.to_vec();
        for value in &mut new {
            if let AttrValue::Region(region) = value {
                let (fitted, more) = fit(&region_graph(region), opset)?;
                failing.extend(more);
                *value = AttrValue::Region(graph_region(&fitted).into());
            }
        }
        graph.vertex_mut(v).node = Node::Call {
            op: Op::Known(def),
            attrs: new.into(),
        };
    }
    Ok((graph, failing))
}

/// The graph with composites expanded as far as needed, the smallest operator set that has all the rest, and why it is
/// not the one of the model.
fn fitting(graph: &Graph, info: &OnnxInfo) -> Result<(Graph, i64, String), Diagnostics> {
    let mut why = String::new();
    let mut opset = info.opset().clamp(1, NEWEST);
    loop {
        let (graph, failing) = fit(graph, opset)?;
        if failing.is_empty() {
            return Ok((graph, opset, why));
        }
        let mut problems = Diagnostics::new();
        for call in failing.iter().filter(|call| call.needed.is_none()) {
            let name = call.name.as_deref().map_or(String::new(), |n| format!(" {n:?}"));
            problems.push(cannot(format!(
                "`{}`{name} cannot be written as ONNX: {}",
                call.op, call.reason
            )));
        }
        if problems.has_errors() {
            return Err(problems);
        }
        let worst = failing.into_iter().max_by_key(|call| call.needed);
        let Some(Failing {
            needed: Some(needed),
            reason,
            ..
        }) = worst
        else {
            continue;
        };
        (opset, why) = (needed, reason);
    }
}

/// Moves a model to a newer operator set that was asked for.
///
/// # Errors
/// It is older than the model's own or newer than any that is known, or a node that is carried along unread means
/// something else in it.
pub fn raise_opset(graph: &Graph, info: &mut OnnxInfo, opset: i64) -> Result<(), Diagnostics> {
    let old = info.opset();
    if opset < old || opset > NEWEST {
        let message =
            format!("operator set {opset} is not between {old}, that of the model, and {NEWEST}, the newest known");
        return Err(cannot(message).into());
    }
    if opset > old {
        raise(graph, info, opset, "it was asked for")?;
    }
    Ok(())
}

/// Moves the model to a newer operator set, unless a node that is carried along unread means something else there.
fn raise(graph: &Graph, info: &mut OnnxInfo, opset: i64, reason: &str) -> Result<Diagnostic, Diagnostics> {
    let old = info.opset();
    for v in graph.rpo() {
        if let Node::Call { op: Op::Opaque(op), .. } = &graph.vertex(v).node
            && op.domain.is_empty()
        {
            let since = |opset: i64| schema(&op.name, opset).map(|s| s.since);
            if since(old) != since(opset) {
                let message = format!(
                    "the graph needs operator set {opset}, in which `{}` differs from operator set {old}",
                    op.name
                );
                return Err(cannot(message).note(reason).into());
            }
        }
    }
    let note = Diagnostic::new(
        Severity::Note,
        "T0506",
        format!("operator set raised from {old} to {opset}"),
    );
    info.opsets.insert(String::new(), opset);
    let ir = match opset {
        ..=8 => 3,
        9 => 4,
        10 => 5,
        11 => 6,
        12..=14 => 7,
        15..=18 => 8,
        19 | 20 => 9,
        21 | 22 => 10,
        23 => 11,
        24 | 25 => 12,
        _ => 13,
    };
    info.ir_version = info.ir_version.max(ir);
    Ok(note.note(reason))
}
