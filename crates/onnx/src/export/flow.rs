//! Calls of functions as nodes with nested graphs, and values that are not tensors.

use std::collections::HashMap;
use std::sync::Arc;

use super::emit::Emitter;
use super::names::Names;
use crate::attr::from_value;
use crate::data_type;
use crate::proto::{AttributeProto, AttributeType, GraphProto, NestedType, TensorTypeProto, TypeProto, TypeValue};
use tautomer_diag::Diagnostics;
use tautomer_graph::{Graph, Params, VertexId, region_graph};
use tautomer_op::{AttrValue, Flow, OpDef, Region, Semantics};
use tautomer_tensor::{DType, Type};

/// Control flow and the creation of missing optional values, which `render` has no schema for.
pub(super) fn is_special(def: &OpDef) -> bool {
    matches!(
        def.semantics,
        Semantics::Flow(Flow::Branch | Flow::Loop | Flow::Scan | Flow::Map | Flow::Missing | Flow::Optional)
    )
}

/// The first operator set that can express the call.
pub(super) fn first_opset(graph: &Graph, v: VertexId, def: &OpDef) -> i64 {
    fn kind(ty: &Type) -> i64 {
        match ty {
            Type::Tuple(items) => items.iter().map(kind).max().unwrap_or(0),
            Type::Optional(_) => 16,
            Type::Sequence(_) => 13,
            _ => 0,
        }
    }
    let types = graph.pred(v).into_iter().chain([v]).map(|u| kind(graph.ty(u))).max();
    let own = match def.semantics {
        Semantics::Flow(Flow::Scan) => 9,
        Semantics::Flow(Flow::Map) => 17,
        Semantics::Flow(Flow::Missing | Flow::Optional) => return 15,
        _ => 1,
    };
    own.max(types.unwrap_or(0))
}

/// The sources of symbolic dimensions outside of a nested graph: an input and its axis.
pub(super) type Outer = HashMap<Arc<str>, (String, i64)>;

impl Emitter<'_> {
    /// Writes a call of functions.
    pub(super) fn flow(&mut self, v: VertexId, def: &'static OpDef, attrs: &[AttrValue]) -> Result<(), String> {
        let operands = self.graph.pred(v);
        let names = operands
            .iter()
            .map(|&u| self.operand(u))
            .collect::<Result<Vec<_>, _>>()?;
        let int = |name: &str| match def.attr_index(name).and_then(|i| attrs.get(i)) {
            Some(AttrValue::Int(d)) => d.as_const().and_then(|n| usize::try_from(n).ok()).unwrap_or(0),
            _ => 0,
        };
        // Operands of the node itself, and the function inputs that are also inputs of the nested graphs.
        let (op_type, own, formal) = match def.semantics {
            Semantics::Flow(Flow::Branch) => ("If", 1, 0),
            Semantics::Flow(Flow::Loop) => ("Loop", 2 + int("carried"), 2 + int("carried")),
            Semantics::Flow(Flow::Scan) => ("Scan", int("carried") + int("scanned"), int("carried") + int("scanned")),
            Semantics::Flow(Flow::Map) => ("SequenceMap", int("mapped"), int("mapped")),
            Semantics::Flow(Flow::Optional) => ("Optional", 1, 0),
            _ => ("Optional", 0, 0),
        };
        let mut written = Vec::new();
        for (attr, value) in def.attrs.iter().zip(attrs) {
            let name = match attr.name {
                "scanned" => "num_scan_inputs",
                "input_axes" => "scan_input_axes",
                "input_directions" => "scan_input_directions",
                "output_axes" => "scan_output_axes",
                "output_directions" => "scan_output_directions",
                other => other,
            };
            match value {
                AttrValue::Region(region) => {
                    written.push(AttributeProto {
                        name: Some(name.to_string()),
                        r#type: Some(AttributeType::Graph as i32),
                        g: Some(self.nested(region, formal, &names[own.min(names.len())..])?),
                        ..AttributeProto::default()
                    });
                }
                AttrValue::Ints(list) if list.is_empty() => {}
                _ if matches!(attr.name, "carried" | "mapped" | "dtype" | "sequence") => {}
                other => written.push(from_value(name, other)?),
            }
        }
        if matches!(def.semantics, Semantics::Flow(Flow::Missing)) {
            written.push(missing_type(self.graph.ty(v))?);
        }
        let mut inputs = names;
        inputs.truncate(own);
        while inputs.last().is_some_and(String::is_empty) {
            inputs.pop();
        }
        let outputs = self.result_names(v, op_type);
        self.call_node(v, op_type, inputs, outputs, written);
        Ok(())
    }

    /// The nested graph of a function; inputs after the first `formal` are outer values with these names.
    fn nested(&mut self, region: &Region, formal: usize, outside: &[String]) -> Result<GraphProto, String> {
        let graph = region_graph(region);
        if graph.inputs().len() != formal + outside.len() {
            return Err("a function is called with the wrong number of values".to_string());
        }
        let mut names = Names::within(&self.names);
        for (&v, name) in graph.inputs()[formal..].iter().zip(outside) {
            names.set((v, 0), name.clone());
        }
        let params = Params::new();
        let (info, opset, outer) = (self.info, self.opset, self.outer_extents());
        let mut inner = Emitter::within(&graph, &params, info, opset, names, outer);
        let done = inner.body(formal);
        let (proto, names, constants) = inner.into_parts();
        self.names.leave(names);
        self.hold(constants);
        match done {
            Ok(()) => Ok(proto),
            Err(problems) => Err(first_message(&problems)),
        }
    }

    /// The sources of symbolic dimensions in nested graphs.
    fn outer_extents(&self) -> Outer {
        let mut found = self.outer.clone();
        for (dim, place) in self
            .axes
            .iter()
            .filter_map(|(dim, place)| Some((dim.as_symbol()?, place)))
        {
            found.insert(dim.into(), place.clone());
        }
        found
    }
}

fn first_message(problems: &Diagnostics) -> String {
    problems.iter().next().map_or_else(String::new, |p| p.message.clone())
}

/// The attribute with the type of a missing value.
fn missing_type(ty: &Type) -> Result<AttributeProto, String> {
    let tensor = |dtype: DType| -> Result<TypeProto, String> {
        let elem_type = data_type(dtype).ok_or_else(|| format!("ONNX has no element type {dtype}"))?;
        Ok(TypeProto {
            value: Some(TypeValue::TensorType(TensorTypeProto {
                elem_type: Some(elem_type as i32),
                shape: None,
            })),
            denotation: None,
        })
    };
    let inside = match ty {
        Type::Optional(item) => &**item,
        other => other,
    };
    let tp = match inside {
        Type::Tensor(t) => tensor(t.dtype)?,
        Type::Sequence(item) => TypeProto {
            value: Some(TypeValue::SequenceType(NestedType {
                elem_type: Some(Box::new(tensor(item.as_tensor().map_or(DType::F32, |t| t.dtype))?)),
            })),
            denotation: None,
        },
        other => return Err(format!("ONNX has no type for {other}")),
    };
    Ok(AttributeProto {
        name: Some("type".to_string()),
        r#type: Some(AttributeType::TypeProto as i32),
        tp: Some(tp),
        ..AttributeProto::default()
    })
}
