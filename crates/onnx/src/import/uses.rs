//! Element types of values that nothing declares, from the nodes that use them.
//!
//! The result of an unknown operator has some element type, and the nodes that use it show which: a sum with an `f32`
//! initializer has two `f32` operands. Without that type, known operators that use it could not be read either.

use std::collections::{BTreeSet, HashMap, HashSet};

use super::{Importer, is_default_domain};
use crate::proto::{NodeProto, TypeValue};
use crate::schema::{Formal, Schema, schema};
use crate::{data_type, dtype_of};
use tautomer_tensor::DType;

/// The maximum number of values of one element type that are followed.
const MOST_VALUES: usize = 1000;

/// The nodes that use or compute each value, as positions in the graph.
pub(super) type Users<'a> = HashMap<&'a str, Vec<usize>>;

impl<'a> Importer<'a> {
    /// The element type that value `name` must have where it is used, directly or through values that have the same
    /// type; `None` if that is not decided, or if two uses need different types.
    pub(super) fn type_by_use(&mut self, name: &'a str) -> Option<DType> {
        if self.users.is_none() {
            self.users = Some(users(&self.proto.node));
        }
        let users = self.users.as_ref()?;
        let mut found = BTreeSet::new();
        let (mut seen, mut queue) = (HashSet::from([name]), vec![name]);
        while let Some(name) = queue.pop() {
            for &at in users.get(name).into_iter().flatten() {
                let node = &self.proto.node[at];
                let Some(schema) = plain_schema(node, self.opset) else {
                    continue;
                };
                let places = values(node, schema);
                for (_, own) in places.iter().filter(|(other, _)| *other == name) {
                    if own.mask.count_ones() == 1 {
                        found.extend(dtype_of(own.mask.trailing_zeros() as i32).ok().and_then(data_type));
                    }
                    let variable = !own.types.starts_with('#');
                    for &(other, _) in places.iter().filter(|(_, f)| variable && f.types == own.types) {
                        match self.element_type(other) {
                            Some(dtype) => found.extend(data_type(dtype)),
                            None if seen.len() < MOST_VALUES && seen.insert(other) => queue.push(other),
                            None => {}
                        }
                    }
                }
            }
        }
        let mut found = found.into_iter();
        match (found.next(), found.next()) {
            (Some(only), None) => dtype_of(only as i32).ok(),
            _ => None,
        }
    }

    /// The element type of a value that is read or declared.
    fn element_type(&self, name: &str) -> Option<DType> {
        if let Some(&v) = self.values.get(name) {
            return Some(self.graph.ty(v).as_tensor()?.dtype);
        }
        match &self.declared.get(name)?.value {
            Some(TypeValue::TensorType(tensor)) => dtype_of(tensor.elem_type.unwrap_or(0)).ok(),
            _ => None,
        }
    }
}

fn users(nodes: &[NodeProto]) -> Users<'_> {
    let mut users = Users::new();
    for (at, node) in nodes.iter().enumerate() {
        for name in node.input.iter().chain(&node.output).filter(|name| !name.is_empty()) {
            users.entry(name.as_str()).or_default().push(at);
        }
    }
    users
}

/// The signature of a node whose values are tensors: one with nested graphs takes values of several types as one
/// variable, and the elements of a sequence are not the sequence.
fn plain_schema(node: &NodeProto, opset: i64) -> Option<&'static Schema> {
    let op_type = node.op_type.as_deref()?;
    let nested = node.attribute.iter().any(|a| a.g.is_some() || !a.graphs.is_empty());
    if nested || !is_default_domain(node) || op_type.contains("Sequence") || op_type.contains("Optional") {
        return None;
    }
    schema(op_type, opset)
}

/// The names of operands and results, with their entries in the signature.
fn values<'n>(node: &'n NodeProto, schema: &'static Schema) -> Vec<(&'n str, &'static Formal)> {
    let outputs = node.output.iter().enumerate().filter_map(|(i, name)| {
        let formal = schema.outputs.get(i).or(schema.outputs.last().filter(|f| f.variadic))?;
        Some((name.as_str(), formal))
    });
    let inputs = node.input.iter().enumerate();
    let inputs = inputs.filter_map(|(i, name)| Some((name.as_str(), schema.input(i)?)));
    inputs.chain(outputs).filter(|(name, _)| !name.is_empty()).collect()
}
