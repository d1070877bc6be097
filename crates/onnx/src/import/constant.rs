//! Initializers and `Constant` nodes.

use super::opaque::captures;
use super::order::label;
use super::{Importer, structure};
use crate::attr::{from_value, to_value};
use crate::proto::{AttributeProto, AttributeType, NodeProto, SparseTensorProto, TensorProto};
use crate::types::foreign;
use crate::{TensorError, dense, from_tensor, to_tensor};
use tautomer_diag::Diagnostic;
use tautomer_graph::{Node, VertexId};
use tautomer_op::{AttrValue, OpError, OpaqueOp};
use tautomer_tensor::{Tensor, Type};

impl<'a> Importer<'a> {
    /// Adds a weight as a parameter; values from which shapes and attributes are made become constants.
    pub(super) fn tensor(&mut self, name: &str, tensor: Tensor) -> VertexId {
        if tensor.dtype().is_float() && tensor.len() != 1 && !tensor.shape().is_empty() && !name.is_empty() {
            let name = self.parameter_name(name);
            let v = self.graph.param(&name, Type::from(tensor.ty()));
            self.params.insert(name, tensor);
            return v;
        }
        let name = &*self.value_name(name);
        let v = self.graph.constant(tensor);
        self.graph.vertex_mut(v).name = Some(name.into()).filter(|name: &std::sync::Arc<str>| !name.is_empty());
        v
    }

    /// A constant whose elements tensors do not support.
    fn foreign_constant(&mut self, name: &str, attr: &AttributeProto) -> VertexId {
        let op = OpaqueOp {
            domain: String::new(),
            name: "Constant".to_string(),
            attr_names: vec![attr.name.as_deref().unwrap_or("value").into()],
            result: foreign(),
        };
        let v = self.graph.opaque(op, &[], vec![to_value(attr)]);
        self.graph.vertex_mut(v).name = Some(name.into());
        v
    }

    fn read(&mut self, name: &'a str, proto: Result<Tensor, TensorError>, attr: impl FnOnce() -> AttributeProto) {
        if let (Some(&v), Ok(tensor)) = (self.values.get(name), &proto) {
            // The default value of an input.
            if matches!(self.graph.vertex(v).node, Node::Input) && self.graph.ty(v).admits(&tensor.ty().into()) {
                self.params.insert(name.into(), tensor.clone());
                return;
            }
        }
        let v = match proto {
            Ok(tensor) => self.tensor(name, tensor),
            Err(TensorError::UnsupportedType(_)) => self.foreign_constant(name, &attr()),
            Err(error) => {
                let user = self
                    .user_of(name)
                    .map_or(String::new(), |node| format!(", which {node} uses"));
                let message = format!("initializer {name:?}{user}: {error}");
                self.problems.push(Diagnostic::error("T0504", message));
                self.poisoned.insert(name);
                return;
            }
        };
        self.bind(name, v);
    }

    pub(super) fn initializer(&mut self, name: &'a str, proto: &TensorProto) {
        if name.is_empty() {
            self.problems.push(structure("an initializer has no name"));
            return;
        }
        let tensor = self.stored(proto);
        if let Ok(tensor) = &tensor
            && self.is_annotation(name)
        {
            self.info.annotated.insert(name.into(), from_tensor(name, tensor));
        }
        self.read(name, tensor, || AttributeProto {
            name: Some("value".to_string()),
            r#type: Some(AttributeType::Tensor as i32),
            t: Some(proto.clone()),
            ..AttributeProto::default()
        });
    }

    /// The tensor of a message.
    fn stored(&self, proto: &TensorProto) -> Result<Tensor, TensorError> {
        match self.shared.find(proto) {
            Some(tensor) => Ok(tensor),
            None => to_tensor(proto, self.folder),
        }
    }

    /// True if the tensor with that name holds quantization parameters of some value.
    fn is_annotation(&self, name: &str) -> bool {
        let parameters = self
            .info
            .quantization
            .iter()
            .flat_map(|a| &a.quant_parameter_tensor_names);
        parameters.into_iter().any(|p| p.value.as_deref() == Some(name))
    }

    /// The first node that a value is an operand of.
    fn user_of(&self, name: &str) -> Option<String> {
        let uses = |node: &NodeProto| {
            node.input.iter().any(|input| input == name) || captures(node).iter().any(|outer| outer == name)
        };
        let i = self.proto.node.iter().position(uses)?;
        Some(label(i, &self.proto.node[i]))
    }

    pub(super) fn sparse_initializer(&mut self, proto: &'a SparseTensorProto) {
        let name = proto
            .values
            .as_ref()
            .and_then(|t| t.name.as_deref())
            .unwrap_or_default();
        if name.is_empty() {
            self.problems.push(structure("a sparse initializer has no name"));
            return;
        }
        self.read(name, dense(proto, self.folder).map(|(_, tensor)| tensor), || {
            AttributeProto {
                name: Some("sparse_value".to_string()),
                r#type: Some(AttributeType::SparseTensor as i32),
                sparse_tensor: Some(proto.clone()),
                ..AttributeProto::default()
            }
        });
    }

    /// The value of a `Constant` node; `None` if tensors cannot hold it.
    pub(super) fn constant_node(&mut self, node: &NodeProto) -> Result<Option<VertexId>, OpError> {
        let name = node.output.first().map(String::as_str).unwrap_or_default();
        let Some(attr) = node
            .attribute
            .iter()
            .find(|a| a.name.as_deref().is_some_and(|n| n.contains("value")))
        else {
            return Err(OpError::new("it has no value"));
        };
        let refused = |e: TensorError| match e {
            TensorError::UnsupportedType(_) => Ok(None),
            other => Err(OpError::new(other.to_string())),
        };
        let tensor = match (&attr.t, &attr.sparse_tensor) {
            (Some(t), _) => self.stored(t).map(Some).or_else(refused)?,
            (_, Some(s)) => dense(s, self.folder).map(|(_, t)| Some(t)).or_else(refused)?,
            _ => match to_value(attr) {
                AttrValue::Float(v) => Some(Tensor::scalar(v.0 as f32)),
                AttrValue::Floats(v) => Some(Tensor::vector(v.iter().map(|x| x.0 as f32).collect())),
                AttrValue::Int(v) => v.as_const().map(Tensor::scalar),
                AttrValue::Ints(v) => {
                    let ints: Option<Vec<i64>> = v.iter().map(|d| d.as_const()).collect();
                    ints.map(Tensor::vector)
                }
                AttrValue::Str(v) => Some(Tensor::scalar(v.to_string())),
                AttrValue::Strs(v) => Some(Tensor::vector(v.iter().map(|s| s.to_string()).collect::<Vec<_>>())),
                other => {
                    // A string that is not UTF-8 stays encoded.
                    return match from_value("value", &other) {
                        Ok(_) => Ok(None),
                        Err(reason) => Err(OpError::new(reason)),
                    };
                }
            },
        };
        Ok(tensor.map(|tensor| self.tensor(name, tensor)))
    }
}
