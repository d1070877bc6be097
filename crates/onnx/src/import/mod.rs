//! Imports models as graphs.
//!
//! Operators of the table become calls in the table's form, regardless of the model's operator set; other operators are
//! carried along unread. Declared types are trusted for inputs and for operators that are carried along; the types of
//! all other values are inferred.

mod body;
mod call;
mod constant;
mod declared;
mod flow;
mod function;
mod legacy;
mod oldest;
mod opaque;
mod order;
mod training;
mod uses;

pub(super) use call::{onnx_attr, onnx_name, table_position};
pub(super) use opaque::{CAPTURES, OPERANDS, defined};

use std::collections::{HashMap, HashSet};
use std::path::Path;
use std::sync::Arc;

use indexmap::IndexMap;

use super::OnnxInfo;
use super::info::NodeInfo;
use super::proto::{GraphProto, ModelProto, NodeProto, TypeProto, ValueInfoProto};
use super::schema::{NEWEST, schema};
use super::tensor::Shared;
use super::types::{Symbols, foreign, import_type, is_foreign};
use function::{Functions, Key};
use tautomer_diag::{Diagnostic, Diagnostics, Severity};
use tautomer_graph::{Graph, Node, Params, VertexId, Workload};
use tautomer_op::{OpError, Scope};
use tautomer_tensor::{TensorType, Type};

/// An imported model.
#[derive(Debug, Clone)]
pub struct Imported {
    /// The computation and the values of its parameters.
    pub workload: Workload,
    /// The rest of the model.
    pub info: OnnxInfo,
    /// Notes and warnings, but no errors.
    pub notes: Diagnostics,
}

/// Imports a model; `folder` is the directory where its external data is looked up.
///
/// # Errors
/// The model is invalid: values that no node computes, cycles, nodes with invalid operands.
pub fn import(model: ModelProto, folder: Option<&Path>) -> Result<Imported, Diagnostics> {
    import_in(model, folder, &Scope::default())
}

/// Like [`import`], but nodes of other domains whose operators `scope` declares become calls of these operators.
///
/// # Errors
/// Same as for [`import`].
pub fn import_in(model: ModelProto, folder: Option<&Path>, scope: &Scope) -> Result<Imported, Diagnostics> {
    import_sharing(model, folder, scope, Shared::default())
}

/// Like [`import_in`], but messages that share the elements of tensors become these tensors.
pub(super) fn import_sharing(
    mut model: ModelProto,
    folder: Option<&Path>,
    scope: &Scope,
    shared: Shared,
) -> Result<Imported, Diagnostics> {
    let Some(graph) = model.graph.take() else {
        return Err(structure("the model has no graph").into());
    };
    let (info, mut problems) = model_info(model, &graph);
    if problems.has_errors() {
        return Err(problems);
    }
    let functions = Arc::new(function::by_key(&info.functions));
    let mut importer = Importer::new(&graph, info, folder, functions);
    importer.scope = scope.clone();
    importer.shared = Arc::new(shared);
    importer.run();
    problems.extend(std::mem::take(&mut importer.problems).iter().cloned());
    for (op, count) in &importer.carried {
        let nodes = if *count == 1 {
            "1 node".to_string()
        } else {
            format!("{count} nodes")
        };
        problems.push(Diagnostic::new(
            Severity::Note,
            "T0505",
            format!("operator `{op}` is carried along unread ({nodes})"),
        ));
    }
    let Importer {
        graph,
        mut params,
        info,
        ..
    } = importer;
    let kept: HashSet<&str> = graph
        .params()
        .iter()
        .chain(graph.inputs())
        .filter_map(|&v| graph.vertex(v).name.as_deref())
        .collect();
    params.retain(|name, _| kept.contains(&**name));
    drop(kept);
    if problems.has_errors() {
        return Err(problems);
    }
    Ok(Imported {
        workload: Workload { graph, params },
        info,
        notes: problems,
    })
}

fn structure(message: impl Into<String>) -> Diagnostic {
    Diagnostic::error("T0502", message)
}

fn model_info(model: ModelProto, graph: &GraphProto) -> (OnnxInfo, Diagnostics) {
    let mut problems = Diagnostics::new();
    let mut opsets = IndexMap::new();
    for set in &model.opset_import {
        let domain = match set.domain.as_deref() {
            None | Some("ai.onnx") => "",
            Some(domain) => domain,
        };
        opsets.insert(domain.to_string(), set.version.unwrap_or(1));
    }
    for set in model.functions.iter().flat_map(|f| &f.opset_import) {
        let domain = set.domain.as_deref().filter(|d| *d != "ai.onnx").unwrap_or_default();
        opsets.entry(domain.to_string()).or_insert(set.version.unwrap_or(1));
    }
    if graph.node.iter().any(is_default_domain) {
        let opset = *opsets.entry(String::new()).or_insert(1);
        if opset > NEWEST {
            problems.push(structure(format!(
                "the model uses operator set {opset}, but the newest known is {NEWEST}"
            )));
        }
    }
    let named = |v: &ValueInfoProto| Some((v.name.as_deref()?.into(), v.clone()));
    let info = OnnxInfo {
        ir_version: model.ir_version.unwrap_or(0),
        opsets,
        producer_name: model.producer_name,
        producer_version: model.producer_version,
        domain: model.domain,
        model_version: model.model_version,
        doc_string: model.doc_string,
        metadata_props: model.metadata_props,
        training_info: model.training_info,
        functions: model.functions,
        configuration: model.configuration,
        graph_metadata: graph.metadata_props.clone(),
        quantization: graph.quantization_annotation.clone(),
        values: (graph.value_info.iter().chain(&graph.input).chain(&graph.output))
            .filter_map(named)
            .collect(),
        ..OnnxInfo::default()
    };
    (info, problems)
}

fn is_default_domain(node: &NodeProto) -> bool {
    matches!(node.domain.as_deref(), None | Some("" | "ai.onnx"))
}

struct Importer<'a> {
    proto: &'a GraphProto,
    folder: Option<&'a Path>,
    graph: Graph,
    params: Params,
    info: OnnxInfo,
    opset: i64,
    values: HashMap<&'a str, VertexId>,
    /// Values of rejected nodes: nodes that use them are skipped.
    poisoned: HashSet<&'a str>,
    /// Names that a node, a nested graph or a result refers to.
    used: HashSet<String>,
    declared: HashMap<&'a str, &'a TypeProto>,
    /// The operators that are declared in files.
    scope: Scope,
    /// Tensors that messages share.
    shared: Arc<Shared>,
    /// Functions local to the model.
    functions: Arc<Functions>,
    /// The functions that are being inlined, outermost first.
    path: Vec<Key>,
    /// Nodes of functions inlined so far.
    inlined: usize,
    /// The prefix of value names inside an inlined function.
    prefix: String,
    /// Outer names of the results of an inlined function.
    outside: HashMap<String, String>,
    problems: Diagnostics,
    carried: IndexMap<String, usize>,
    /// The users of each value, once they are asked for.
    users: Option<uses::Users<'a>>,
}

impl<'a> Importer<'a> {
    fn new(proto: &'a GraphProto, info: OnnxInfo, folder: Option<&'a Path>, functions: Arc<Functions>) -> Importer<'a> {
        let declared = proto.value_info.iter().chain(&proto.output);
        let declared = declared
            .filter_map(|v| Some((v.name.as_deref()?, v.r#type.as_ref()?)))
            .collect();
        Importer {
            proto,
            folder,
            graph: Graph::new(),
            params: Params::new(),
            opset: info.opset(),
            functions,
            scope: Scope::default(),
            shared: Arc::default(),
            path: Vec::new(),
            inlined: 0,
            prefix: String::new(),
            outside: HashMap::new(),
            info,
            values: HashMap::new(),
            poisoned: HashSet::new(),
            used: HashSet::new(),
            declared,
            problems: Diagnostics::new(),
            carried: IndexMap::new(),
            users: None,
        }
    }

    fn run(&mut self) {
        let proto = self.proto;
        self.graph.name = proto.name.clone().unwrap_or_default();
        self.graph.doc = proto.doc_string.clone().filter(|doc| !doc.is_empty());
        self.inputs_and_initializers();
        self.nodes();
        self.outputs();
    }

    /// Imports the nodes in dependency order.
    fn nodes(&mut self) {
        let proto = self.proto;
        for node in &proto.node {
            self.used.extend(node.input.iter().cloned());
            self.used.extend(opaque::captures(node));
        }
        self.used.extend(proto.output.iter().filter_map(|v| v.name.clone()));
        for i in order::topological(proto, &self.values, &mut self.problems) {
            self.node(i, &proto.node[i]);
        }
    }

    fn outputs(&mut self) {
        let proto = self.proto;
        for output in &proto.output {
            let name = output.name.as_deref().unwrap_or_default();
            match self.values.get(name) {
                Some(&v) => self.graph.output(v, Some(name)),
                None if self.poisoned.contains(name) => {}
                None => self
                    .problems
                    .push(structure(format!("nothing computes the result {name:?}"))),
            }
        }
        if !self.problems.has_errors() {
            self.graph.retain_reachable();
        }
    }

    fn bind(&mut self, name: &'a str, v: VertexId) {
        if self.values.insert(name, v).is_some() {
            self.problems.push(structure(format!("two values are named {name:?}")));
        }
    }

    fn inputs_and_initializers(&mut self) {
        let proto = self.proto;
        let sparse = proto
            .sparse_initializer
            .iter()
            .filter_map(|s| s.values.as_ref()?.name.as_deref());
        let given: HashSet<&str> = proto
            .initializer
            .iter()
            .filter_map(|t| t.name.as_deref())
            .chain(sparse)
            .collect();
        for input in &proto.input {
            let name = input.name.as_deref().unwrap_or_default();
            if given.contains(name) {
                self.info.overridable.push(name.into());
                // Before version 4, every initializer also had to be an input, so that means nothing.
                if self.info.ir_version < 4 {
                    continue;
                }
            }
            let Some(declared) = &input.r#type else {
                self.problems.push(structure(format!("input {name:?} has no type")));
                continue;
            };
            let mut ty = self.type_of(name, declared);
            if let Type::Tensor(TensorType { shape: Some(shape), .. }) = &mut ty {
                let open = shape.iter_mut().enumerate().filter(|(_, d)| d.is_unknown());
                open.for_each(|(axis, d)| *d = self.info.symbols.unnamed(name, axis));
            }
            let v = self.graph.input(name, ty);
            self.bind(name, v);
        }
        self.initializers();
    }

    fn initializers(&mut self) {
        let proto = self.proto;
        for tensor in &proto.initializer {
            self.initializer(tensor.name.as_deref().unwrap_or_default(), tensor);
        }
        for sparse in &proto.sparse_initializer {
            self.sparse_initializer(sparse);
        }
    }

    /// The declared type; a type that graphs do not support is stored separately.
    fn type_of(&mut self, name: &str, declared: &TypeProto) -> Type {
        import_type(declared, &mut self.info.symbols, &mut self.graph).unwrap_or_else(|| {
            self.info.foreign.insert(name.into(), declared.clone());
            foreign()
        })
    }

    fn node(&mut self, i: usize, node: &'a NodeProto) {
        let captures = opaque::captures(node);
        let mut operands = Vec::with_capacity(node.input.len());
        for name in node
            .input
            .iter()
            .map(String::as_str)
            .chain(captures.iter().map(String::as_str))
        {
            if self.poisoned.contains(name) {
                self.poisoned.extend(node.output.iter().map(String::as_str));
                return;
            }
            operands.push(match name {
                "" => None,
                _ => match self.values.get(name) {
                    // An operand omitted by the caller of a function.
                    Some(&v) if matches!(self.graph.vertex(v).node, Node::Absent) => None,
                    Some(&v) => Some(v),
                    // This is reported when the nodes are ordered.
                    None => return,
                },
            });
        }
        let (inputs, captured) = operands.split_at(node.input.len());
        match self.lower(node, inputs, captured, &captures) {
            Ok(results) => self.results(node, &results),
            Err(error) => {
                self.problems.push(self.refused(i, node, inputs, &error));
                self.poisoned.extend(node.output.iter().map(String::as_str));
            }
        }
    }

    fn lower(
        &mut self,
        node: &'a NodeProto,
        inputs: &[Option<VertexId>],
        captured: &[Option<VertexId>],
        captures: &[String],
    ) -> Result<Vec<Option<VertexId>>, OpError> {
        let op_type = node.op_type.as_deref().unwrap_or_default();
        let domain = node.domain.clone().unwrap_or_default();
        let key = (domain, op_type.to_string(), node.overload.clone().unwrap_or_default());
        if let Some(function) = self.functions.get(&key).cloned() {
            return self.inline(node, inputs, key, &function);
        }
        if is_default_domain(node)
            && let Some(results) = self.no_tensors(node, op_type, inputs, captured, captures)
        {
            return Ok(results);
        }
        if let ("Identity", true, [Some(v)]) = (op_type, is_default_domain(node), inputs)
            && is_foreign(self.graph.ty(*v))
            && node
                .output
                .iter()
                .all(|name| !self.declared.contains_key(name.as_str()))
        {
            // The same value, regardless of its type.
            return Ok(vec![Some(*v)]);
        }
        if is_default_domain(node) && captures.is_empty() {
            if op_type == "Constant" {
                if let Some(v) = self.constant_node(node)? {
                    return Ok(vec![Some(v)]);
                }
            } else {
                let results = match schema(op_type, self.opset) {
                    Some(schema) => self.known(node, op_type, schema, inputs)?,
                    None => self.of_onnx_runtime(node, op_type, inputs)?,
                };
                if let Some(results) = results {
                    return Ok(results);
                }
            }
        }
        if !is_default_domain(node)
            && captures.is_empty()
            && let Some(results) = self.declared_node(node, inputs)
        {
            return Ok(results);
        }
        self.opaque(node, inputs, captured, captures)
    }

    fn results(&mut self, node: &'a NodeProto, results: &[Option<VertexId>]) {
        let first = node.output.iter().find(|name| !name.is_empty());
        if let Some(first) = first {
            let info = NodeInfo {
                name: node.name.clone().filter(|name| !name.is_empty()),
                op_type: node.op_type.clone().unwrap_or_default(),
                overload: node.overload.clone(),
                doc_string: node.doc_string.clone(),
                metadata_props: node.metadata_props.clone(),
                device_configurations: node.device_configurations.clone(),
            };
            let name = self.value_name(first);
            self.info.keep_node(name, info);
        }
        for (name, v) in node.output.iter().zip(results) {
            if let (false, Some(v)) = (name.is_empty(), *v) {
                self.compare_with_declared(name, v);
                self.bind(name, v);
                let name = self.value_name(name);
                self.graph.vertex_mut(v).name.get_or_insert(name);
            }
        }
    }

    /// Warns if the declared shape of a value contradicts the inferred one, which is used.
    fn compare_with_declared(&mut self, name: &str, v: VertexId) {
        let Some(declared) = self.declared.get(name) else {
            return;
        };
        let Some(declared) = import_type(declared, &mut Symbols::default(), &mut Graph::new()) else {
            return;
        };
        let inferred = self.graph.ty(v);
        let (Some(a), Some(b)) = (declared.as_tensor(), inferred.as_tensor()) else {
            return;
        };
        let apart = match (&a.shape, &b.shape) {
            (Some(a), Some(b)) => {
                a.len() != b.len()
                    || a.iter()
                        .zip(b.iter())
                        .any(|(a, b)| (a.clone() - b.clone()).as_const().is_some_and(|d| d != 0))
            }
            _ => false,
        };
        if apart {
            self.problems.push(
                Diagnostic::new(
                    Severity::Warning,
                    "T0508",
                    format!("{name:?} is declared as {declared}, but is {inferred}"),
                )
                .note("the declared shape is not used"),
            );
        }
    }

    fn refused(&self, i: usize, node: &NodeProto, inputs: &[Option<VertexId>], error: &OpError) -> Diagnostic {
        let op_type = node.op_type.as_deref().unwrap_or_default();
        let name = match node.name.as_deref() {
            None | Some("") => format!("node {i} ({op_type})"),
            Some(name) => format!("node {i} {name:?} ({op_type})"),
        };
        let mut diagnostic = Diagnostic::error("T0503", format!("{name}: {error}"));
        let types: Vec<String> = node
            .input
            .iter()
            .zip(inputs)
            .filter_map(|(name, v)| Some(format!("{name}: {}", self.graph.ty((*v)?))))
            .collect();
        if !types.is_empty() {
            diagnostic = diagnostic.note(format!("its operands are {}", types.join(", ")));
        }
        match &error.help {
            Some(help) => diagnostic.help(help),
            None => diagnostic,
        }
    }
}
