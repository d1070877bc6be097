//! Writes graphs: their inputs, outputs and names, and their nodes in order.

use std::collections::{HashMap, HashSet};

use super::cannot;
use super::flow::Outer;
use super::initializer::ConstantKey;
use super::names::{Names, result_count, value_of};
use crate::attr::from_value;
use crate::import::defined;
use crate::proto::{GraphProto, TensorAnnotation, TensorProto, ValueInfoProto};
use crate::types::{export_type, same_elements};
use crate::{OnnxInfo, from_tensor};
use tautomer_diag::{Diagnostic, Diagnostics};
use tautomer_graph::{Graph, Node, Params, VertexId};
use tautomer_op::{AttrValue, Op};
use tautomer_tensor::{Dim, Shape, Type};

pub(super) struct Emitter<'g> {
    pub(super) graph: &'g Graph,
    pub(super) params: &'g Params,
    pub(super) info: &'g OnnxInfo,
    /// The sources of symbolic dimensions outside of a nested graph.
    pub(super) outer: Outer,
    pub(super) opset: i64,
    pub(super) names: Names,
    /// Names of one-element vectors of dimensions.
    pub(super) computed: HashMap<Dim, String>,
    /// Vectors of several dimensions.
    pub(super) lists: HashMap<Vec<Dim>, String>,
    /// Names of the shapes of values.
    pub(super) shapes: HashMap<String, String>,
    /// A value and one of its axes that has the dimension.
    pub(super) axes: HashMap<Dim, (String, i64)>,
    /// The shapes of those values.
    pub(super) ranks: HashMap<String, Shape>,
    /// The first value of each shape with at least two axes of which not all are known.
    pub(super) wholes: HashMap<Vec<Dim>, String>,
    pub(super) constants: HashMap<ConstantKey, String>,
    /// Inputs of a nested graph that are values of outer graphs, and so cannot be its results directly.
    captured: HashSet<VertexId>,
    nested: bool,
    /// Constants of a nested graph that the outer graph has to hold.
    pub(super) hoisted: Vec<TensorProto>,
    pub(super) proto: GraphProto,
}

/// The message for a graph whose calls can all be rendered in `opset`.
pub(super) fn emit(graph: &Graph, params: &Params, info: &OnnxInfo, opset: i64) -> Result<GraphProto, Diagnostics> {
    let mut emitter = Emitter::within(graph, params, info, opset, Names::default(), Outer::new());
    emitter.proto.metadata_props.clone_from(&info.graph_metadata);
    // Inputs keep their names, even if a node that is carried along uses the same name inside.
    emitter.inputs(graph.inputs())?;
    emitter.reserve(&graph.rpo());
    emitter.run()?;
    emitter.initializers_as_inputs();
    let names = &emitter.names;
    let kept = info.quantization.iter();
    let kept = kept.filter(|a| a.tensor_name.as_deref().is_some_and(|name| names.is_used(name)));
    let kept: Vec<TensorAnnotation> = kept.cloned().collect();
    // Tensors that an annotation refers to are kept even if no node uses them.
    let names = kept.iter().flat_map(|a| &a.quant_parameter_tensor_names);
    for name in names.filter_map(|entry| entry.value.as_deref()) {
        if let (Some(tensor), false) = (info.annotated.get(name), emitter.names.is_used(name)) {
            emitter.names.reserve(name);
            emitter.proto.initializer.push(tensor.clone());
        }
    }
    emitter.proto.quantization_annotation = kept;
    Ok(emitter.proto)
}

impl<'g> Emitter<'g> {
    /// An emitter for a graph in whose scope these names exist.
    pub(super) fn within(
        graph: &'g Graph,
        params: &'g Params,
        info: &'g OnnxInfo,
        opset: i64,
        names: Names,
        outer: Outer,
    ) -> Emitter<'g> {
        Emitter {
            graph,
            params,
            info,
            outer,
            opset,
            names,
            computed: HashMap::new(),
            lists: HashMap::new(),
            shapes: HashMap::new(),
            axes: HashMap::new(),
            ranks: HashMap::new(),
            wholes: HashMap::new(),
            constants: HashMap::new(),
            captured: HashSet::new(),
            nested: false,
            hoisted: Vec::new(),
            proto: GraphProto {
                name: Some(if graph.name.is_empty() {
                    "main".to_string()
                } else {
                    graph.name.clone()
                }),
                doc_string: graph.doc.clone(),
                ..GraphProto::default()
            },
        }
    }

    /// Writes a nested graph; only the first inputs belong to it.
    pub(super) fn body(&mut self, own: usize) -> Result<(), Diagnostics> {
        self.nested = true;
        self.captured = self.graph.inputs()[own..].iter().copied().collect();
        self.reserve(&self.graph.rpo());
        self.inputs(&self.graph.inputs()[..own])?;
        self.run()
    }

    /// The written graph, the names in use, and constants for the outer graph.
    pub(super) fn into_parts(self) -> (GraphProto, Names, Vec<TensorProto>) {
        (self.proto, self.names, self.hoisted)
    }

    /// Stores constants of nested graphs, or passes them to the outer graph.
    pub(super) fn hold(&mut self, constants: Vec<TensorProto>) {
        match self.nested {
            true => self.hoisted.extend(constants),
            false => self.proto.initializer.extend(constants),
        }
    }
}

impl Emitter<'_> {
    fn run(&mut self) -> Result<(), Diagnostics> {
        let order = self.graph.rpo();
        let mut outputs = self.name_outputs();
        for &v in &order {
            let Some(name) = self.graph.vertex(v).name.clone() else {
                continue;
            };
            let value = value_of(self.graph, v);
            if self.names.get(value).is_none() && !matches!(self.graph.vertex(v).node, Node::Tuple) {
                let many = result_count(self.graph.ty(v)) > 1;
                if !many && !self.names.is_used(&name) {
                    self.names.set(value, name.to_string());
                }
            }
        }
        for &v in self.graph.inputs() {
            self.remember(v);
        }
        for &v in &order {
            self.vertex(v)
                .map_err(|problem| Diagnostics::from(self.place(v, problem)))?;
            // The declared types of values carried along are not verified, so they are not remembered.
            if matches!(self.graph.vertex(v).op(), Some(Op::Known(_))) {
                self.remember(v);
            }
        }
        for (name, v) in outputs.drain(..) {
            self.output(name, v)
                .map_err(|problem| Diagnostics::from(self.place(v, problem)))?;
        }
        self.inner_types(&order);
        Ok(())
    }

    /// Declares the known types of values computed by nodes, except for results of the graph.
    fn inner_types(&mut self, order: &[VertexId]) {
        let shown: HashSet<&str> = self.proto.output.iter().filter_map(|o| o.name.as_deref()).collect();
        let mut infos = Vec::new();
        for &v in order {
            let Node::Call { op, .. } = &self.graph.vertex(v).node else {
                continue;
            };
            let types = match self.graph.ty(v) {
                Type::Tuple(items) if !items.is_empty() => items.as_slice(),
                ty => std::slice::from_ref(ty),
            };
            for (i, ty) in types.iter().enumerate() {
                let Some(name) = self.names.get((v, i as u32)).filter(|name| !shown.contains(name)) else {
                    continue;
                };
                // A value carried along has its declared type.
                let unranked = ty.as_tensor().is_some_and(|t| t.shape.is_none());
                if !(unranked && matches!(op, Op::Opaque(_)))
                    && let Ok(info) = self.value_info(name, ty)
                {
                    infos.push(info);
                }
            }
        }
        self.proto.value_info = infos;
    }

    fn place(&self, v: VertexId, problem: String) -> Diagnostic {
        let vertex = self.graph.vertex(v);
        let op = match &vertex.node {
            Node::Input => "input".to_string(),
            _ => vertex.op().map_or_else(|| "value".to_string(), Op::name),
        };
        match &vertex.name {
            Some(name) => cannot(format!("`{op}` {name:?} cannot be written as ONNX: {problem}")),
            None => cannot(format!("`{op}` cannot be written as ONNX: {problem}")),
        }
    }

    /// Reserves the names inside nested graphs, so that outer values do not get them.
    fn reserve(&mut self, order: &[VertexId]) {
        for &v in order {
            let Node::Call {
                op: Op::Opaque(_),
                attrs,
            } = &self.graph.vertex(v).node
            else {
                continue;
            };
            for attr in attrs.iter().filter(|a| matches!(a, AttrValue::Foreign { .. })) {
                if let Ok(attr) = from_value("", attr) {
                    for graph in attr.g.iter().chain(&attr.graphs) {
                        self.reserve_nested(graph);
                    }
                }
            }
        }
    }

    fn reserve_nested(&mut self, graph: &GraphProto) {
        for name in defined(graph) {
            self.names.reserve(name);
        }
        for attr in graph.node.iter().flat_map(|n| &n.attribute) {
            for inner in attr.g.iter().chain(&attr.graphs) {
                self.reserve_nested(inner);
            }
        }
    }

    pub(super) fn value_info(&self, name: &str, ty: &Type) -> Result<ValueInfoProto, String> {
        let old = self.info.values.get(name).cloned().unwrap_or_default();
        let unranked = ty.as_tensor().is_some_and(|t| t.shape.is_none());
        let declared = match export_type(ty, &self.info.symbols) {
            // A result must have a shape; if inference found none, only the model's declaration is left.
            Some(proto) if unranked && old.r#type.as_ref().is_some_and(|old| same_elements(old, &proto)) => {
                old.r#type.clone()
            }
            Some(proto) => Some(proto),
            None => self.info.foreign.get(name).cloned(),
        };
        Ok(ValueInfoProto {
            name: Some(name.to_string()),
            r#type: Some(declared.ok_or_else(|| format!("ONNX has no type for {ty}"))?),
            ..old
        })
    }

    fn inputs(&mut self, inputs: &[VertexId]) -> Result<(), Diagnostics> {
        for &v in inputs {
            let base = self.graph.vertex(v).name.clone().unwrap_or_else(|| "input".into());
            let name = self.names.of((v, 0), &base);
            let info = self.value_info(&name, self.graph.ty(v));
            self.proto
                .input
                .push(info.map_err(|problem| Diagnostics::from(self.place(v, problem)))?);
            // The default value of the input.
            if let Some(tensor) = self.params.get(&*base) {
                self.proto.initializer.push(from_tensor(&name, tensor));
            }
        }
        Ok(())
    }

    /// Names the results, with tuples flattened; a result that a node computes gets its name immediately.
    fn name_outputs(&mut self) -> Vec<(String, VertexId)> {
        let mut out = Vec::new();
        let mut taken = HashSet::new();
        for (i, output) in self.graph.outputs().iter().enumerate() {
            let v = output.vertex;
            let items = match self.graph.vertex(v).node {
                Node::Tuple => self.graph.pred(v).to_vec(),
                _ => vec![v],
            };
            for (j, &item) in items.iter().enumerate() {
                let wanted = output.name.clone().or_else(|| self.graph.vertex(item).name.clone());
                let mut base = wanted.map_or_else(|| format!("output{i}"), |name| name.to_string());
                if items.len() > 1 {
                    base = format!("{base}.{j}");
                }
                let value = value_of(self.graph, item);
                // A value of an outer graph keeps its name there, and is a result here under another one.
                let same = self.names.get(value) == Some(base.as_str()) && !self.captured.contains(&value.0);
                let name = match same && taken.insert(base.clone()) {
                    true => base,
                    false => self.names.fresh(&base),
                };
                taken.insert(name.clone());
                let computed = matches!(self.graph.vertex(value.0).node, Node::Call { .. });
                if computed && self.names.get(value).is_none() {
                    self.names.set(value, name.clone());
                }
                out.push((name, item));
            }
        }
        out
    }

    fn output(&mut self, name: String, v: VertexId) -> Result<(), String> {
        let source = self.operand(v)?;
        if source != name {
            self.node("Identity", vec![source], vec![name.clone()], Vec::new());
        }
        let info = self.value_info(&name, self.graph.ty(v))?;
        self.proto.output.push(info);
        Ok(())
    }
}
