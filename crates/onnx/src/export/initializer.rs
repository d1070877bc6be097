//! Writes constants and parameters as initializers.

use indexmap::IndexMap;

use super::emit::Emitter;
use crate::attr::from_value;
use crate::from_tensor;
use crate::proto::{TensorProto, ValueInfoProto};
use crate::schema::schema;
use tautomer_files::bytes::encode;
use tautomer_op::AttrValue;
use tautomer_tensor::{DType, Dim, Shape, Tensor, Type};

/// Type, shape and bytes of a constant, to find equal ones.
pub(super) type ConstantKey = (DType, Vec<usize>, Vec<u8>);

impl Emitter<'_> {
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

    /// Adds an initializer, or in old models a node.
    pub(super) fn initializer(&mut self, name: &str, tensor: &Tensor, param: bool) -> Result<(), String> {
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

    /// Lists initializers among the inputs, as models before version 4 of the format do.
    pub(super) fn initializers_as_inputs(&mut self) {
        if self.info.ir_version >= 4 {
            return;
        }
        let mut infos: IndexMap<String, ValueInfoProto> = IndexMap::new();
        for tensor in &self.proto.initializer {
            let name = tensor.name.clone().unwrap_or_default();
            let dtype = tensor.data_type.and_then(|d| crate::dtype_of(d).ok());
            let shape = tensor.dims.iter().map(|&d| Dim::Const(d)).collect::<Shape>();
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
