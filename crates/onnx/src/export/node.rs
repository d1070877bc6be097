//! Writes vertices as nodes.

use std::collections::{HashMap, HashSet};

use super::call::{Arg, Rendered, render};
use super::emit::Emitter;
use super::flow::is_special;
use super::names::{Value, result_count, value_of};
use crate::attr::from_value;
use crate::import::{CAPTURES, OPERANDS, defined};
use crate::proto::{AttributeProto, GraphProto, NodeProto, StringStringEntryProto};
use tautomer_graph::{Node, VertexId};
use tautomer_op::{AttrValue, Op, OpaqueOp};
use tautomer_tensor::Type;

/// The key of the node metadata that lists the rules that made the node.
const RULES: &str = "tautomer.rules";

impl Emitter<'_> {
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

    /// Adds the nodes that compute a vertex.
    pub(super) fn vertex(&mut self, v: VertexId) -> Result<(), String> {
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

    /// The names of the results of a call; new ones begin with `base`.
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
    pub(super) fn node(
        &mut self,
        op_type: &str,
        input: Vec<String>,
        output: Vec<String>,
        attribute: Vec<AttributeProto>,
    ) {
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
