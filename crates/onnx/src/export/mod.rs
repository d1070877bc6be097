//! Exports graphs as models.
//!
//! The operator set is that of the model from which the graph was imported. A composite operator that it lacks is
//! written as its body; if a primitive one is missing, the smallest operator set that has it is used, and a note says
//! so.

mod call;
mod declared;
mod emit;
mod extents;
mod flow;
mod gathers;
mod initializer;
mod names;
mod node;
mod scalars;

use std::collections::HashSet;
use std::sync::Arc;

pub use declared::declared_in;

use super::OnnxInfo;
use super::import::onnx_name;
use super::proto::{FunctionProto, ModelProto, OperatorSetIdProto};
use super::schema::{NEWEST, schema};
use tautomer_diag::{Diagnostic, Diagnostics, Severity};
use tautomer_graph::{Graph, Node, Params, VertexId, expand_composites, graph_region, region_graph};
use tautomer_op::{AttrValue, Attrs, Infer, Op, OpDef, known, lookup};
use tautomer_tensor::Type;

/// The oldest operator set that can be written.
pub const OLDEST: i64 = 7;

/// A model made from a graph.
#[derive(Debug, Clone)]
pub struct Exported {
    /// The model.
    pub model: ModelProto,
    /// Notes and warnings, but no errors.
    pub notes: Diagnostics,
}

/// Exports a graph; `info` has the parts of the original model other than its computation.
///
/// # Errors
/// The graph has an operator or an element type that ONNX cannot express, or a parameter without a value.
pub fn export(graph: &Graph, params: &Params, info: &OnnxInfo) -> Result<Exported, Diagnostics> {
    let mut notes = Diagnostics::new();
    let (mut graph, opset, reason) = fitting(graph, info)?;
    scalars::with_all_axes(&mut graph);
    let mut info = info.clone();
    if opset != info.opset() {
        notes.push(raise(&graph, &mut info, opset, &reason)?);
    }
    for foreign in declared::foreign_names(&graph) {
        info.opsets
            .entry(foreign.domain.to_owned())
            .or_insert(i64::from(foreign.version));
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

/// Functions used by calls that are carried along, directly or indirectly; all others were inlined.
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

/// A call that an operator set cannot express.
struct Failing {
    op: &'static str,
    name: Option<Arc<str>>,
    /// The first operator set that can express it.
    needed: Option<i64>,
    reason: String,
}

/// Whether there is a kernel for a call in an operator set; an error if the operator set cannot express the call.
fn renders(graph: &Graph, v: VertexId, def: &'static OpDef, attrs: &Attrs, opset: i64) -> Result<bool, String> {
    if def.foreign().is_some() {
        return declared::attributes(def, attrs).map(|_| true);
    }
    if flow::is_special(def) {
        let first = flow::first_opset(graph, v, def);
        return match opset < first {
            true => Err(format!("`{}` needs operator set {first}", def.name)),
            false => Ok(true),
        };
    }
    let rendered = call::render(graph, def, &graph.pred(v), attrs, graph.ty(v), opset)?;
    extents::computable(&rendered.args, opset)?;
    Ok(rendered.has_kernel)
}

/// Restricts rules to calls that can be written in an operator set.
///
/// A model that ONNX Runtime can run stays that way: no call is created for which it has no kernel. If it lacks kernels
/// for the original model, that restriction does not apply.
#[derive(Debug, Clone, Copy)]
pub struct Target {
    opset: i64,
    kernels: bool,
}

/// Why a call cannot be part of a result.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Refusal {
    /// The operator set cannot express it, for this reason.
    NoForm(String),
    /// ONNX Runtime has no kernel for it.
    NoKernel,
}

impl Target {
    /// A restriction for an operator set; with `kernels`, ONNX Runtime must also have kernels for all calls.
    pub fn at(opset: i64, kernels: bool) -> Target {
        Target { opset, kernels }
    }

    /// For results derived from this graph, written together with `info`.
    pub fn new(graph: &Graph, info: &OnnxInfo) -> Target {
        let opset = info.opset().clamp(1, NEWEST);
        let kernels = match fit(graph, opset) {
            Ok((graph, failing)) => failing.is_empty() && kernelless(&graph, opset) == 0,
            Err(_) => false,
        };
        Target { opset, kernels }
    }

    /// True if the operator set can express the call, with a kernel if that is required.
    pub fn allows(&self, call: &Infer<'_>, result: &Type) -> bool {
        self.fits(call, result).is_ok()
    }

    /// Why a call of a graph cannot be written as it is; `None` if it can.
    pub fn refusal(&self, call: &Infer<'_>, result: &Type) -> Option<Refusal> {
        let refusal = self.fits(call, result).err()?;
        // Remainders of floating-point numbers are written in another form; see `say_remainders`.
        let float = result.as_tensor().is_some_and(|t| t.dtype.is_float());
        match float && call.def.name == "mod" {
            true => None,
            false => Some(refusal),
        }
    }

    /// The first newer operator set that can express the call.
    pub fn newer(&self, call: &Infer<'_>, result: &Type) -> Option<i64> {
        let fits = |opset: &i64| Target { opset: *opset, ..*self }.allows(call, result);
        (self.opset.max(OLDEST) + 1..=NEWEST).find(fits)
    }

    fn fits(&self, call: &Infer<'_>, result: &Type) -> Result<(), Refusal> {
        if call.def.foreign().is_some() {
            return match declared::attributes(call.def, call.attrs) {
                Ok(_) => Ok(()),
                Err(why) => Err(Refusal::NoForm(why)),
            };
        }
        let Some((_, since)) = onnx_name(call.def) else {
            return Err(Refusal::NoForm("ONNX has no such operator".to_owned()));
        };
        if flow::is_special(call.def) {
            return match since <= self.opset {
                true => Ok(()),
                false => Err(Refusal::NoForm(format!("it needs operator set {since}"))),
            };
        }
        let mut graph = Graph::new();
        let operands: Vec<VertexId> = call
            .operands
            .iter()
            .map(|fact| match fact.value {
                _ if matches!(fact.ty, Type::Absent) => graph.absent(),
                Some(value) if value.len() <= SMALL => graph.constant(value.clone()),
                _ => graph.input("", fact.ty.clone()),
            })
            .collect();
        let rendered =
            call::render(&graph, call.def, &operands, call.attrs, result, self.opset).map_err(Refusal::NoForm)?;
        extents::computable(&rendered.args, self.opset).map_err(Refusal::NoForm)?;
        match rendered.has_kernel || !self.kernels {
            true => Ok(()),
            false => Err(Refusal::NoKernel),
        }
    }
}

/// Constants with more elements are never attributes of an operator.
const SMALL: usize = 64;

/// The number of calls without a kernel.
fn kernelless(graph: &Graph, opset: i64) -> usize {
    let without = |(v, def, attrs): &(VertexId, &'static OpDef, Attrs)| {
        renders(graph, *v, def, attrs, opset) == Ok(false)
            || attrs
                .iter()
                .filter_map(AttrValue::region)
                .any(|region| kernelless(&region_graph(region), opset) > 0)
    };
    known_calls(graph).filter(without).count()
}

/// In ONNX, floating-point remainders have the sign of the dividend; other remainders are computed from them.
fn say_remainders(graph: &mut Graph) {
    let Some(floor_mod) = lookup(known::FLOOR_MOD) else {
        return;
    };
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

/// The graph with composites expanded as the operator set requires, also inside called functions, and the calls it
/// still cannot express.
fn fit(graph: &Graph, opset: i64) -> Result<(Graph, Vec<Failing>), Diagnostics> {
    let mut graph = graph.clone();
    say_remainders(&mut graph);
    let mut expanded: HashSet<&str> = HashSet::new();
    let mut failing = loop {
        let mut composites: HashSet<&str> = HashSet::new();
        let mut failing: Vec<Failing> = Vec::new();
        let mut moved = false;
        for (v, def, attrs) in known_calls(&graph).collect::<Vec<_>>() {
            let Err(mut reason) = renders(&graph, v, def, &attrs, opset) else {
                continue;
            };
            if def.composite_body().is_some() && !expanded.contains(def.name) {
                composites.insert(def.name);
                continue;
            }
            if def.moves().is_some() && onnx_name(def).is_none() {
                match gathers::gathered(&mut graph, v, def, &attrs) {
                    Ok(new) => {
                        graph.replace_call(v, new);
                        moved = true;
                        continue;
                    }
                    Err(e) => reason = format!("{reason}, and gathers cannot express the call: {e}"),
                }
            }
            let from = opset.max(OLDEST - 1) + 1;
            failing.push(Failing {
                op: def.name,
                name: graph.vertex(v).name.clone(),
                needed: (from..=NEWEST).find(|&newer| renders(&graph, v, def, &attrs, newer).is_ok()),
                reason,
            });
        }
        if moved {
            graph.retain_reachable();
            continue;
        }
        if composites.is_empty() {
            break failing;
        }
        expand_composites(&mut graph, &|def| composites.contains(def.name))
            .map_err(|e| Diagnostics::from(cannot(e.to_string())))?;
        expanded.extend(composites);
    };
    with_kernels(&mut graph, opset);
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

/// Expands composites that have no kernel if the operators of their bodies do.
fn with_kernels(graph: &mut Graph, opset: i64) {
    let mut tried: HashSet<&str> = HashSet::new();
    loop {
        let next = known_calls(graph).find(|(v, def, attrs)| {
            def.composite_body().is_some()
                && !tried.contains(def.name)
                && renders(graph, *v, def, attrs, opset) == Ok(false)
        });
        let Some((_, def, _)) = next else { return };
        tried.insert(def.name);
        let mut other = graph.clone();
        let expanded = expand_composites(&mut other, &|d| d.name == def.name).is_ok();
        let forms = || known_calls(&other).all(|(v, def, attrs)| renders(&other, v, def, &attrs, opset).is_ok());
        if expanded && forms() && kernelless(&other, opset) < kernelless(graph, opset) {
            *graph = other;
        }
    }
}

/// The graph with composites expanded as needed, the smallest operator set that has everything else, and the reason if
/// it is not the model's.
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
            op,
            name,
            needed: Some(needed),
            reason,
        }) = worst
        else {
            continue;
        };
        let name = name.map_or(String::new(), |n| format!(" {n:?}"));
        (opset, why) = (needed, format!("`{op}`{name} needs it: {reason}"));
    }
}

/// Moves a model to a newer operator set on request.
///
/// # Errors
/// It is older than the model's own or newer than any known one, or a node that is carried along unread has a different
/// meaning in it.
pub fn raise_opset(graph: &Graph, info: &mut OnnxInfo, opset: i64) -> Result<(), Diagnostics> {
    let old = info.opset();
    if opset < old || opset > NEWEST {
        let message =
            format!("operator set {opset} is not between {old} (that of the model) and {NEWEST} (the newest known)");
        return Err(cannot(message).into());
    }
    if opset > old {
        raise(graph, info, opset, "it was requested")?;
    }
    Ok(())
}

/// Moves a model to another operator set, newer or older, in which its graph is going to be expressed.
///
/// # Errors
/// It is not between [`OLDEST`] and the newest known one, or a node that is carried along unread has a different meaning
/// in it.
pub fn set_opset(graph: &Graph, info: &mut OnnxInfo, opset: i64) -> Result<(), Diagnostics> {
    if !(OLDEST..=NEWEST).contains(&opset) {
        let message = format!("operator set {opset} is not between {OLDEST} and {NEWEST}, the newest known");
        return Err(cannot(message).into());
    }
    if opset != info.opset() {
        raise(graph, info, opset, "it was requested")?;
    }
    Ok(())
}

/// Moves the model to another operator set, unless a node that is carried along unread has a different meaning there.
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
        format!("operator set raised from {old} to {opset}; {reason}"),
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
    Ok(note)
}
