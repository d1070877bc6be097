//! Nodes whose operator is in the table, imported by means of the table and the schema of the model's operator set.

use indexmap::IndexMap;

use super::{Importer, legacy};
use crate::attr::to_value;
use crate::dtype_of;
use crate::proto::{AttributeProto, NodeProto};
use crate::schema::{Schema, newest, newest_position};
use crate::types::is_foreign;
use tautomer_graph::VertexId;
use tautomer_op::{AttrDef, AttrKind, AttrValue, Op, OpDef, OpError, OperandKind, lookup, lookup_onnx};
use tautomer_tensor::{Dim, Tensor, Type};

/// A node being converted to a call: operands by their position in the newest version of the operator, attributes by
/// ONNX name.
#[derive(Debug, Clone)]
pub(super) struct Draft {
    pub(super) op_type: String,
    pub(super) inputs: Vec<Option<VertexId>>,
    pub(super) attrs: IndexMap<String, AttrValue>,
    /// The number of results up to the last one that is used.
    pub(super) results: usize,
}

impl Draft {
    /// The integer attribute of that name.
    pub(super) fn int(&self, name: &str) -> Option<i64> {
        match self.attrs.get(name) {
            Some(AttrValue::Int(d)) => d.as_const(),
            _ => None,
        }
    }

    /// The list of integers of that name.
    pub(super) fn ints(&self, name: &str) -> Option<Vec<i64>> {
        match self.attrs.get(name) {
            Some(AttrValue::Ints(v)) => v.iter().map(Dim::as_const).collect(),
            _ => None,
        }
    }

    pub(super) fn set(&mut self, name: &str, value: AttrValue) {
        self.attrs.insert(name.to_string(), value);
    }
}

/// The outcome of importing a node.
pub(super) enum Lowered {
    /// Its results.
    Values(Vec<Option<VertexId>>),
    /// A call in the table's form.
    Call(Draft),
    /// The table cannot express it.
    Unread,
}

/// Attributes with different names in ONNX and in the table.
const RENAMES: &[(&str, &str, &str)] = &[
    ("Pad", "value", "constant_value"),
    ("Split", "split", "sizes"),
    ("MaxPool", "storage_order", "column_major"),
];

/// ONNX operators for which the table has a different operator if more than the first result is used, with the first
/// operator set that has it.
const MORE_RESULTS: &[(&str, &str, i64)] = &[
    ("MaxPool", "max_pool_with_indices", 8),
    ("LayerNormalization", "layer_normalization_with_statistics", 17),
    ("Attention", "attention_with_cache", 23),
    (
        "SoftmaxCrossEntropyLoss",
        "softmax_cross_entropy_loss_with_log_prob",
        12,
    ),
];

/// Operators that become different ones in training, which their operands decide.
const IN_TRAINING: &[(&str, &str, i64)] = &[("Dropout", "dropout_in_training", 12)];

/// Operators that ONNX Runtime's optimizer writes into the default domain although ONNX has none of that name, with the
/// ONNX operators that mean the same.
const OF_ONNX_RUNTIME: &[(&str, &str)] = &[("SimplifiedLayerNormalization", "RMSNormalization")];

/// Operators whose older versions have the same meaning or part of it, or can be converted to the table's form; with
/// the first operator set to which that applies.
const SINCE: &[(&str, i64)] = &[
    ("Softmax", 1),
    ("LogSoftmax", 1),
    ("Hardmax", 1),
    ("Sum", 6),
    ("Max", 6),
    ("Min", 6),
    ("Mean", 6),
    ("Add", 6),
    ("Sub", 6),
    ("Mul", 6),
    ("Div", 6),
    ("Pow", 1),
    ("And", 1),
    ("Or", 1),
    ("Xor", 1),
    ("Equal", 1),
    ("Less", 1),
    ("Greater", 1),
    ("Gemm", 6),
    ("AveragePool", 1),
    ("BatchNormalization", 6),
    ("PRelu", 6),
    ("Resize", 7),
    ("ScatterElements", 9),
    ("RoiAlign", 10),
    ("GroupNormalization", 18),
];

/// The table's operator for a call of `op_type` with that many results, and the first operator set that has it.
pub(crate) fn counterpart(op_type: &str, results: usize) -> Option<(&'static OpDef, i64)> {
    let wider = MORE_RESULTS.iter().find(|(onnx, ..)| *onnx == op_type && results > 1);
    if let Some((_, name, since)) = wider {
        return lookup(name).map(|def| (def, *since));
    }
    let def = lookup_onnx(op_type)?;
    Some((def, i64::from(def.onnx?.since)))
}

/// The ONNX name of a table operator, and the first operator set that has it with its present meaning.
pub(crate) fn onnx_name(def: &OpDef) -> Option<(&'static str, i64)> {
    let more = MORE_RESULTS.iter().chain(IN_TRAINING);
    match more.into_iter().find(|(_, name, _)| *name == def.name) {
        Some((onnx, _, since)) => Some((onnx, *since)),
        None => def.onnx.map(|onnx| (onnx.name, i64::from(onnx.since))),
    }
}

/// The table's name of an attribute.
pub(crate) fn table_name<'n>(op_type: &str, name: &'n str, def: &OpDef) -> &'n str {
    let renamed = RENAMES.iter().find(|(op, onnx, _)| *op == op_type && *onnx == name);
    renamed
        .map(|(_, _, table)| *table)
        .filter(|table| def.attr_index(table).is_some())
        .unwrap_or(name)
}

/// The name in `schema` of the table's attribute with that name.
pub(crate) fn onnx_attr<'n>(op_type: &str, name: &'n str, schema: &Schema) -> Option<&'n str> {
    let renamed = RENAMES.iter().find(|(op, _, table)| *op == op_type && *table == name);
    let candidates = [Some(name), renamed.map(|(_, onnx, _)| *onnx)];
    candidates
        .into_iter()
        .flatten()
        .find(|name| schema.attr(name).is_some())
}

/// The position among the table's operands of the operand at position `p` of the newest version, which is called `name`
/// there.
pub(crate) fn table_position(def: &OpDef, name: &str, p: usize) -> Option<usize> {
    let name = name.to_ascii_lowercase();
    let named = |o: &tautomer_op::Operand| o.attr == Some(name.as_str()) || o.name == name;
    if let Some(at) = def.operands.iter().position(named) {
        return Some(at);
    }
    def.operand(p).map(|_| p)
}

impl<'a> Importer<'a> {
    /// The results of a node of the default domain, or `None` if the table cannot express it.
    pub(super) fn known(
        &mut self,
        node: &'a NodeProto,
        op_type: &str,
        schema: &'static Schema,
        inputs: &[Option<VertexId>],
    ) -> Result<Option<Vec<Option<VertexId>>>, OpError> {
        if inputs.iter().flatten().any(|&v| is_foreign(self.graph.ty(v))) {
            return Ok(None);
        }
        check_form(node, schema, inputs)?;
        let mut draft = Draft {
            op_type: op_type.to_string(),
            inputs: Vec::new(),
            attrs: IndexMap::new(),
            results: node
                .output
                .iter()
                .rposition(|name| self.used.contains(name))
                .map_or(1, |last| last + 1),
        };
        for (i, &v) in inputs.iter().enumerate() {
            let at = if schema.inputs.get(i).is_some() {
                newest_position(op_type, schema, i)
            } else {
                i
            };
            if draft.inputs.len() <= at {
                draft.inputs.resize(at + 1, None);
            }
            draft.inputs[at] = v;
        }
        for attr in &node.attribute {
            let name = attr.name.as_deref().unwrap_or_default();
            draft.attrs.insert(name.to_string(), to_value(attr));
        }
        let draft = match legacy::adapt(self, draft, schema, node)? {
            Lowered::Values(values) => return Ok(Some(values)),
            Lowered::Call(draft) => draft,
            Lowered::Unread => return Ok(None),
        };
        let Some(v) = self.draft_call(&draft, Some(schema))? else {
            return Ok(None);
        };
        Ok(self.split_results(v, node))
    }

    /// The results of a node of the default domain whose operator only ONNX Runtime knows; `None` for others, and if the
    /// table cannot express it.
    pub(super) fn of_onnx_runtime(
        &mut self,
        node: &NodeProto,
        op_type: &str,
        inputs: &[Option<VertexId>],
    ) -> Result<Option<Vec<Option<VertexId>>>, OpError> {
        let Some((_, standard)) = OF_ONNX_RUNTIME.iter().find(|(name, _)| *name == op_type) else {
            return Ok(None);
        };
        if inputs.iter().flatten().any(|&v| is_foreign(self.graph.ty(v))) {
            return Ok(None);
        }
        let entry = |attr: &AttributeProto| (attr.name.clone().unwrap_or_default(), to_value(attr));
        let draft = Draft {
            op_type: (*standard).to_string(),
            inputs: inputs.to_vec(),
            attrs: node.attribute.iter().map(entry).collect(),
            results: 1,
        };
        let call = self.draft_call(&draft, None)?;
        Ok(call.and_then(|v| self.split_results(v, node)))
    }

    /// The values of the results of a call, or `None` if the node has more results than the call.
    pub(super) fn split_results(&mut self, v: VertexId, node: &NodeProto) -> Option<Vec<Option<VertexId>>> {
        let last = node
            .output
            .iter()
            .rposition(|name| self.used.contains(name))
            .unwrap_or(0);
        match self.graph.ty(v).clone() {
            Type::Tuple(items) if last < items.len() => {
                let project = |i: usize| match node.output.get(i).is_some_and(|name| !name.is_empty()) {
                    true => self.graph.project(v, i).ok(),
                    false => None,
                };
                Some((0..items.len()).map(project).collect())
            }
            Type::Tensor(_) | Type::Sequence(_) | Type::Optional(_) if last == 0 => Some(vec![Some(v)]),
            _ => None,
        }
    }

    /// A call of the table's operator; `None` if the table cannot express it.
    pub(super) fn draft_call(
        &mut self,
        draft: &Draft,
        schema: Option<&'static Schema>,
    ) -> Result<Option<VertexId>, OpError> {
        let Some((def, since)) = counterpart(&draft.op_type, draft.results) else {
            return Ok(None);
        };
        let since = SINCE
            .iter()
            .find(|(op, _)| *op == draft.op_type)
            .map_or(since, |(_, since)| *since);
        if schema.is_some() && self.opset < since {
            return Ok(None);
        }
        let mut attrs: Vec<(&str, AttrValue)> = Vec::new();
        for (name, value) in &draft.attrs {
            let known = def
                .attrs
                .iter()
                .find(|a| a.name == table_name(&draft.op_type, name, def));
            match known {
                Some(attr) => match coerce(attr, value) {
                    Some(value) => attrs.push((attr.name, value)),
                    None => return Ok(None),
                },
                None if schema.and_then(|s| s.attr(name)?.default()).as_ref() == Some(value) => {}
                None => return Ok(None),
            }
        }
        for attr in def.attrs {
            let given = attrs.iter().any(|(name, _)| *name == attr.name);
            let default = schema.and_then(|s| s.attr(attr.name)?.default());
            if let (false, Some(default)) = (
                given,
                default.filter(|_| !legacy::DEFAULT_IS_ABSENCE.contains(&def.name)),
            ) {
                match coerce(attr, &default) {
                    Some(value) => attrs.push((attr.name, value)),
                    None => return Ok(None),
                }
            }
        }
        let variadic = def.operands.last().is_some_and(|o| o.kind == OperandKind::Variadic);
        let newest = newest(&draft.op_type);
        let mut operands: Vec<Option<VertexId>> = Vec::new();
        for (p, &v) in draft.inputs.iter().enumerate() {
            let Some(v) = v else { continue };
            let name = newest.and_then(|s| s.inputs.get(p)).map_or("", |f| f.name);
            let at = if variadic {
                Some(p)
            } else {
                table_position(def, name, p)
            };
            if let Some(at) = at {
                if operands.len() <= at {
                    operands.resize(at + 1, None);
                }
                operands[at] = Some(v);
                continue;
            }
            // An ONNX operand that is only an attribute in the table.
            let attr = def.attrs.iter().find(|a| a.name.eq_ignore_ascii_case(name));
            match attr
                .zip(self.graph.vertex(v).constant())
                .and_then(|(a, t)| Some((a.name, constant_attr(a, t)?)))
            {
                Some((name, value)) => {
                    attrs.retain(|(n, _)| *n != name);
                    attrs.push((name, value));
                }
                None => return Ok(None),
            }
        }
        let operands: Vec<VertexId> = operands
            .into_iter()
            .map(|v| v.unwrap_or_else(|| self.graph.absent()))
            .collect();
        let unknown_rank = operands
            .iter()
            .any(|&v| self.graph.ty(v).as_tensor().is_some_and(|t| t.shape.is_none()));
        match self.graph.call(Op::Known(def), &operands, &attrs) {
            Ok(v) => Ok(Some(self.graph.settled(v))),
            // Inference may need the rank of an operand that was carried along unread.
            Err(_) if unknown_rank => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// A call of the table's operator with that ONNX name; `None` if the table lacks it.
    pub(super) fn simple(
        &mut self,
        op_type: &str,
        inputs: &[VertexId],
        attrs: &[(&str, AttrValue)],
    ) -> Result<Option<VertexId>, OpError> {
        let draft = Draft {
            op_type: op_type.to_string(),
            inputs: inputs.iter().copied().map(Some).collect(),
            attrs: attrs.iter().map(|(n, v)| ((*n).to_string(), v.clone())).collect(),
            results: 1,
        };
        self.draft_call(&draft, None)
    }
}

/// Checks the number of operands and the presence of attributes against the schema.
fn check_form(node: &NodeProto, schema: &Schema, inputs: &[Option<VertexId>]) -> Result<(), OpError> {
    let variadic = schema.inputs.last().is_some_and(|f| f.variadic);
    if inputs.len() > schema.inputs.len() && !variadic {
        let message = format!(
            "takes up to {} operands, but {} given",
            schema.inputs.len(),
            inputs.len()
        );
        return Err(OpError::new(message));
    }
    for (i, formal) in schema.inputs.iter().enumerate() {
        if !formal.optional && inputs.get(i).copied().flatten().is_none() {
            return Err(OpError::new(format!("operand `{}` is missing", formal.name)));
        }
    }
    for attr in schema.attrs.iter().filter(|a| a.required) {
        if !node.attribute.iter().any(|a| a.name.as_deref() == Some(attr.name)) {
            return Err(OpError::new(format!("attribute `{}` is missing", attr.name)));
        }
    }
    Ok(())
}

/// Converts an ONNX value to the kind of the table's attribute: integers stand for booleans and element types.
pub(super) fn coerce(attr: &AttrDef, value: &AttrValue) -> Option<AttrValue> {
    match (attr.kind, value) {
        (AttrKind::Bool, AttrValue::Int(d)) => Some(AttrValue::Bool(d.as_const()? != 0)),
        (AttrKind::DType, AttrValue::Int(d)) => {
            let dtype = dtype_of(i32::try_from(d.as_const()?).ok()?).ok()?;
            Some(AttrValue::DType(dtype))
        }
        (AttrKind::OneOf(_), AttrValue::Str(text)) => attr
            .coerce(value.clone())
            .or_else(|| attr.coerce(AttrValue::str(&text.to_ascii_lowercase()))),
        _ => attr.coerce(value.clone()),
    }
}

fn constant_attr(attr: &AttrDef, tensor: &Tensor) -> Option<AttrValue> {
    let ints = || -> Option<Vec<i64>> { tensor.to_ints()?.into_iter().map(|x| i64::try_from(x).ok()).collect() };
    let value = match attr.kind {
        AttrKind::Float | AttrKind::Floats => {
            AttrValue::Floats(tensor.to_f64s()?.into_iter().map(tautomer_op::Real).collect())
        }
        AttrKind::Tensor => AttrValue::Tensor(tensor.clone()),
        _ => AttrValue::ints(&ints()?),
    };
    let single = match (attr.kind, &value) {
        (AttrKind::Int | AttrKind::Axis(_) | AttrKind::Bool, AttrValue::Ints(v)) if v.len() == 1 => {
            AttrValue::Int(v[0].clone())
        }
        (AttrKind::Float, AttrValue::Floats(v)) if v.len() == 1 => AttrValue::Float(v[0]),
        _ => value,
    };
    coerce(attr, &single)
}
