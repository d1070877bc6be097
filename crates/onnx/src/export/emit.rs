//! Writes vertices as nodes, initializers, inputs and outputs.

use std::collections::{HashMap, HashSet};

use indexmap::IndexMap;

use super::call::{Arg, Rendered, render};
use super::cannot;
use super::flow::{Outer, is_special};
use super::names::{Names, Value, result_count, value_of};
use crate::attr::from_value;
use crate::import::{CAPTURES, OPERANDS, defined};
use crate::proto::{
    AttributeProto, GraphProto, NodeProto, StringStringEntryProto, TensorAnnotation, TensorProto, ValueInfoProto,
};
use crate::schema::schema;
use crate::types::{export_type, same_elements};
use crate::{OnnxInfo, from_tensor};
use tautomer_diag::{Diagnostic, Diagnostics};
use tautomer_files::bytes::encode;
use tautomer_graph::{Graph, Node, Params, VertexId};
use tautomer_op::{AttrValue, Op, OpaqueOp};
use tautomer_tensor::{DType, Dim, Shape, Tensor, Type};

/// The key of the node metadata that lists the rules that made the node.
const RULES: &str = "tautomer.rules";

/// Type, shape and bytes of a constant, to find equal ones.
type ConstantKey = (DType, Vec<usize>, Vec<u8>);

pub(super) struct Emitter<'g> {
    pub(super) graph: &'g Graph,
    params: &'g Params,
    pub(super) info: &'g OnnxInfo,
    /// Where to find symbolic dimensions outside of a nested graph.
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
    constants: HashMap<ConstantKey, String>,
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

    /// Writes a nested graph; only the first inputs are its own.
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

    fn value_info(&self, name: &str, ty: &Type) -> Result<ValueInfoProto, String> {
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

    /// The name of an operand.
    pub(super) fn operand(&mut self, v: VertexId) -> Result<String, String> {
        let value = value_of(self.graph, v);
        if let Some(name) = self.names.get(value) {
            return Ok(name.to_string());
        }
        match self.graph.vertex(value.0).node {
            Node::Absent => Ok(String::new()),
            Node::Tuple => Err("a tuple is not a value of ONNX".to_string()),
            _ => Err("it is used before it is computed".to_string()),
        }
    }

    fn vertex(&mut self, v: VertexId) -> Result<(), String> {
        let vertex = self.graph.vertex(v);
        let base = vertex.name.clone();
        let base = base.as_deref().unwrap_or_default();
        match &vertex.node {
            Node::Input | Node::Absent | Node::Tuple | Node::Proj(_) => Ok(()),
            Node::Const(tensor) => {
                let name = self.names.of((v, 0), if base.is_empty() { "constant" } else { base });
                self.initializer(&name, tensor, false)
            }
            Node::Param => {
                let name = self.names.of((v, 0), base);
                let tensor = self.params.get(base).ok_or("the parameter has no value")?;
                self.initializer(&name, tensor, true)
            }
            Node::Call {
                op: Op::Known(def),
                attrs,
            } if def.foreign().is_some() => self.declared(v, def, attrs),
            Node::Call {
                op: Op::Known(def),
                attrs,
            } if is_special(def) => self.flow(v, def, attrs),
            Node::Call {
                op: Op::Known(def),
                attrs,
            } => {
                let rendered = render(
                    self.graph,
                    def,
                    &self.graph.pred(v),
                    attrs,
                    self.graph.ty(v),
                    self.opset,
                )?;
                self.rendered(v, rendered, base)
            }
            Node::Call {
                op: Op::Opaque(op),
                attrs,
            } => self.opaque(v, op, attrs),
        }
    }

    fn rendered(&mut self, v: VertexId, rendered: Rendered, base: &str) -> Result<(), String> {
        let mut inputs = Vec::with_capacity(rendered.args.len());
        for arg in rendered.args {
            inputs.push(match arg {
                Arg::Value(v) => self.operand(v)?,
                Arg::Constant(tensor) => self.constant(tensor, base),
                Arg::Extents(dims) => self.extents(&dims)?,
                Arg::Extent(dim, dtype) => self.scalar_extent(dim, dtype)?,
                Arg::Absent => String::new(),
            });
        }
        let outputs = self.result_names(v, rendered.op_type);
        self.call_node(v, rendered.op_type, inputs, outputs, rendered.attrs);
        Ok(())
    }

    pub(super) fn result_names(&mut self, v: VertexId, base: &str) -> Vec<String> {
        let ty = self.graph.ty(v);
        let absent = |i: usize| matches!(ty, Type::Tuple(items) if matches!(items.get(i), Some(Type::Absent)));
        let base = base.to_ascii_lowercase();
        (0..result_count(ty))
            .map(|i| match absent(i) {
                true => String::new(),
                false => self.names.of((v, i as u32) as Value, &base),
            })
            .collect()
    }

    fn opaque(&mut self, v: VertexId, op: &OpaqueOp, attrs: &[AttrValue]) -> Result<(), String> {
        let operands = self.graph.pred(v);
        let (mut own, mut captures): (usize, &[std::sync::Arc<str>]) = (operands.len(), &[]);
        let mut written = Vec::new();
        for (name, value) in op.attr_names.iter().zip(attrs) {
            match (&**name, value) {
                (OPERANDS, AttrValue::Int(count)) => {
                    own = count
                        .as_const()
                        .and_then(|n| usize::try_from(n).ok())
                        .unwrap_or(own)
                        .min(own);
                }
                (CAPTURES, AttrValue::Strs(names)) => captures = names,
                (_, AttrValue::None) => {}
                _ => written.push(from_value(name, value)?),
            }
        }
        let mut inputs = Vec::with_capacity(operands.len());
        for &operand in &operands {
            inputs.push(self.operand(operand)?);
        }
        let captured = inputs.split_off(own);
        let renamed: HashMap<&str, &str> = captures
            .iter()
            .zip(&captured)
            .filter(|(old, new)| ***old != ***new)
            .map(|(old, new)| (&**old, new.as_str()))
            .collect();
        if !renamed.is_empty() {
            for attr in &mut written {
                attr.g
                    .iter_mut()
                    .chain(&mut attr.graphs)
                    .for_each(|g| rename(g, &renamed));
            }
        }
        while inputs.last().is_some_and(String::is_empty) {
            inputs.pop();
        }
        let outputs = self.result_names(v, &op.name);
        self.node(&op.name, inputs, outputs, written);
        if let Some(node) = self.proto.node.last_mut() {
            node.domain = Some(op.domain.clone()).filter(|d| !d.is_empty());
        }
        Ok(())
    }

    /// Adds the node of a call; its metadata lists the rules that made it.
    pub(super) fn call_node(
        &mut self,
        v: VertexId,
        op_type: &str,
        input: Vec<String>,
        output: Vec<String>,
        attribute: Vec<AttributeProto>,
    ) {
        self.node(op_type, input, output, attribute);
        let rules: Vec<&str> = self.graph.vertex(v).rules.iter().map(|rule| &**rule).collect();
        if let (false, Some(node)) = (rules.is_empty(), self.proto.node.last_mut()) {
            node.metadata_props.retain(|entry| entry.key.as_deref() != Some(RULES));
            node.metadata_props.push(StringStringEntryProto {
                key: Some(RULES.to_string()),
                value: Some(rules.join(", ")),
            });
        }
    }

    /// Adds a node; a node of the original model gets back its additional information.
    fn node(&mut self, op_type: &str, input: Vec<String>, output: Vec<String>, attribute: Vec<AttributeProto>) {
        let first = output.iter().find(|name| !name.is_empty());
        let old = first.and_then(|name| self.info.node(name, op_type));
        let old = old.cloned().unwrap_or_default();
        self.proto.node.push(NodeProto {
            input,
            output,
            name: old.name,
            op_type: Some(op_type.to_string()),
            attribute,
            overload: old.overload,
            doc_string: old.doc_string,
            metadata_props: old.metadata_props,
            device_configurations: old.device_configurations,
            domain: None,
        });
    }

    /// Adds a node that computes a dimension, and returns the name of its result.
    pub(super) fn helper(&mut self, op_type: &str, inputs: Vec<String>, attrs: &[(&str, i64)]) -> String {
        let name = self.names.fresh(&format!("extent_{}", op_type.to_ascii_lowercase()));
        let attrs = attrs
            .iter()
            .filter_map(|(name, value)| from_value(name, &AttrValue::int(*value)).ok());
        self.node(op_type, inputs, vec![name.clone()], attrs.collect());
        name
    }

    /// The name of an initializer with that value; equal ones are shared.
    pub(super) fn constant(&mut self, tensor: Tensor, base: &str) -> String {
        let key = encode(&tensor).map(|bytes| (tensor.dtype(), tensor.shape().to_vec(), bytes));
        if let Some(name) = key.as_ref().and_then(|key| self.constants.get(key)) {
            return name.clone();
        }
        let name = self.names.fresh(&format!("{base}_const"));
        // This cannot fail: the elements come from attributes, all of which ONNX can store.
        let _ = self.initializer(&name, &tensor, false);
        if let Some(key) = key {
            self.constants.insert(key, name.clone());
        }
        name
    }

    fn initializer(&mut self, name: &str, tensor: &Tensor, param: bool) -> Result<(), String> {
        if crate::data_type(tensor.dtype()).is_none() {
            return Err(format!("ONNX has no element type {}", tensor.dtype()));
        }
        let overridable = self.info.overridable.iter().any(|old| **old == *name);
        // Before IR version 4, every initializer is an input; a constant that was no input becomes a node.
        let is_node = |opset: i64| {
            let result = schema("Constant", opset).and_then(|s| s.outputs.first());
            result.is_some_and(|formal| formal.allows(tensor.dtype()))
        };
        if self.info.ir_version < 4 && !param && !overridable && is_node(self.opset) {
            let attr = from_value("value", &AttrValue::Tensor(tensor.clone()))?;
            self.node("Constant", Vec::new(), vec![name.to_string()], vec![attr]);
            return Ok(());
        }
        let proto: TensorProto = from_tensor(name, tensor);
        match self.info.ir_version < 4 {
            // The inputs of a nested graph are determined by its node, so it cannot have initializers.
            true => self.hold(vec![proto]),
            false => self.proto.initializer.push(proto),
        }
        Ok(())
    }

    fn initializers_as_inputs(&mut self) {
        if self.info.ir_version >= 4 {
            return;
        }
        let mut infos: IndexMap<String, ValueInfoProto> = IndexMap::new();
        for tensor in &self.proto.initializer {
            let name = tensor.name.clone().unwrap_or_default();
            let dtype = tensor.data_type.and_then(|d| crate::dtype_of(d).ok());
            let shape = tensor
                .dims
                .iter()
                .map(|&d| Dim::Const(d))
                .collect::<tautomer_tensor::Shape>();
            if let Some(info) = dtype.and_then(|dtype| self.value_info(&name, &Type::tensor(dtype, shape)).ok()) {
                infos.insert(name, info);
            }
        }
        // In the order of the original model, as far as it had them.
        let overridable: Vec<_> = self
            .info
            .overridable
            .iter()
            .filter_map(|n| infos.shift_remove(&**n))
            .collect();
        self.proto.input.extend(overridable);
        self.proto.input.extend(infos.into_values());
    }
}

/// Makes a nested graph refer to outer values by their new names.
fn rename(graph: &mut GraphProto, names: &HashMap<&str, &str>) {
    let hidden: HashSet<String> = defined(graph).into_iter().map(String::from).collect();
    let new_name = |name: &str| match names.get(name) {
        Some(new) if !hidden.contains(name) => Some((*new).to_string()),
        _ => None,
    };
    for node in &mut graph.node {
        for input in &mut node.input {
            if let Some(new) = new_name(input) {
                *input = new;
            }
        }
        for attr in &mut node.attribute {
            let visible: HashMap<&str, &str> = names
                .iter()
                .filter(|(old, _)| !hidden.contains(**old))
                .map(|(a, b)| (*a, *b))
                .collect();
            attr.g
                .iter_mut()
                .chain(&mut attr.graphs)
                .for_each(|g| rename(g, &visible));
        }
    }
    for output in &mut graph.output {
        if let Some(new) = output.name.as_deref().and_then(&new_name) {
            output.name = Some(new);
        }
    }
}
