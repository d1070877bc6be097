//! Lines that only this program reads, and lines that it carries along unread.

use super::{Call, Done, Exporter, GIVEN, Line, OWN, truth, tuple};
use crate::import::{COMPLEX, DOMAIN, INPUTS, LISTS, NAME, TENSORS};
use crate::{ElementType, Extent, ValueType, float_text};
use tautomer_files::bytes::encode;
use tautomer_graph::{Node, VertexId};
use tautomer_op::{AttrValue, OpaqueOp};
use tautomer_tensor::{Dim, Type};

impl Exporter<'_> {
    /// A call under its name in the operator table.
    pub(super) fn own_line(&mut self, call: &Call<'_>) -> Done<Line> {
        let present = |(_, v): &(usize, VertexId)| !matches!(self.graph.vertex(*v).node, Node::Absent);
        let (given, inputs): (Vec<usize>, Vec<VertexId>) =
            call.operands.iter().copied().enumerate().filter(present).unzip();
        let mut line = Line::new(format!("{OWN}{}", call.def.name), &inputs);
        if given.len() != call.operands.len() {
            line = line.param(GIVEN, tuple(&given));
        }
        for (attr, value) in call.def.attrs.iter().zip(call.attrs) {
            if value.is_none() {
                continue;
            }
            let Some(text) = attr_text(value) else {
                return Err(format!(
                    "attribute `{}` of `{}` cannot be expressed in PNNX",
                    attr.name, call.def.name
                ));
            };
            line = line.param(attr.name, text);
        }
        self.own.insert(call.def.name);
        Ok(line)
    }

    pub(super) fn opaque(&mut self, v: VertexId, op: &OpaqueOp, attrs: &[AttrValue]) -> Done<()> {
        if op.domain != DOMAIN {
            return Err(format!("operator `{}` is of another format", op.name));
        }
        if op.attr_names.iter().any(|name| &**name == COMPLEX) {
            // Pairs of real numbers in their place would make another call.
            return Err(format!(
                "operator `{}` was carried along unread and has complex numbers, which are pairs of real numbers now",
                op.name
            ));
        }
        let texts = |key: &str| -> Vec<String> {
            let found = op.attr_names.iter().zip(attrs).find(|(name, _)| &***name == key);
            match found {
                Some((_, AttrValue::Strs(list))) => list.iter().map(|s| s.to_string()).collect(),
                Some((_, AttrValue::Str(text))) => vec![text.to_string()],
                _ => Vec::new(),
            }
        };
        let (names, keys) = (texts(INPUTS), texts(TENSORS));
        let operands = self.graph.pred(v);
        let own = operands.len().saturating_sub(keys.len());
        let (values, weights) = operands.split_at_checked(own).unwrap_or_default();
        let mut inputs = Vec::new();
        for (i, &u) in values.iter().enumerate() {
            if matches!(self.graph.vertex(u).node, Node::Absent) {
                let value = self.fresh();
                let label = format!("pnnx_none_{i}_{}", self.file.operators.len());
                let line = self.push("pnnx.Expression", &label, Vec::new(), vec![value.clone()]);
                line.params.push(("expr".to_owned(), "None".to_owned()));
                inputs.push(value);
                continue;
            }
            inputs.push(match self.literal(u) {
                Some(text) => {
                    let value = self.fresh();
                    let label = format!("pnnx_expr_{}", self.file.operators.len());
                    let line = self.push("pnnx.Expression", &label, Vec::new(), vec![value.clone()]);
                    line.params.push(("expr".to_owned(), text));
                    value
                }
                None => self.value(u)?,
            });
        }
        if let Some(lists) = texts(LISTS).pop() {
            inputs = self.in_lists(&lists, inputs)?;
        }
        let outputs: Vec<String> = match self.graph.ty(v) {
            Type::Tuple(items) => (0..items.len()).map(|_| self.fresh()).collect(),
            _ => vec![self.fresh()],
        };
        let label = texts(NAME).pop().unwrap_or_else(|| op.name.clone());
        let mut tensors = Vec::new();
        for (key, &u) in keys.iter().zip(weights) {
            let Some(ty) = self.value_type(u)? else {
                return Err(format!("the type of `@{key}` is unknown"));
            };
            let value = match &self.graph.vertex(u).node {
                Node::Const(value) => Some(value.clone()),
                _ => self
                    .graph
                    .vertex(u)
                    .name
                    .as_deref()
                    .and_then(|name| self.params.get(name))
                    .cloned(),
            };
            tensors.push((key.clone(), ty, value));
        }
        let mut types = Vec::new();
        if let (Some(ty), [only]) = (self.value_type(v)?, outputs.as_slice()) {
            types.push((only.clone(), ty));
        } else if let Type::Tuple(items) = self.graph.ty(v) {
            for (name, ty) in outputs.iter().zip(items) {
                let Some(t) = ty.as_tensor() else { continue };
                let element = ElementType::of_dtype(t.dtype);
                if let (Some(element), Some(shape)) = (element, t.shape.as_ref().and_then(|s| s.to_concrete())) {
                    let shape = shape.into_iter().map(Extent::Known).collect();
                    types.push((name.clone(), ValueType { shape, element }));
                }
            }
        }
        let named = names.iter().zip(&inputs).filter(|(name, _)| !name.is_empty());
        let named: Vec<(String, String)> = named.map(|(name, value)| (name.clone(), value.clone())).collect();
        let line = self.push(&op.name, &label, inputs, outputs.clone());
        line.input_names = named;
        line.types = types;
        for (key, value) in op.attr_names.iter().zip(attrs) {
            if let (AttrValue::Str(text), false) = (value, [NAME, LISTS].contains(&&**key)) {
                line.params.push((key.to_string(), text.to_string()));
            }
        }
        let label = line.name.clone();
        let mut members = Vec::new();
        for (key, ty, value) in tensors {
            members.extend(
                value
                    .as_ref()
                    .and_then(encode)
                    .map(|bytes| (format!("{label}.{key}"), bytes)),
            );
            line.attributes.push((key, ty));
        }
        self.weights.extend(members);
        self.names.insert(v, outputs);
        Ok(())
    }
}

impl Exporter<'_> {
    /// The operands of a line that was carried along: the values, with lines that make the lists among them.
    fn in_lists(&mut self, lists: &str, values: Vec<String>) -> Done<Vec<String>> {
        let broken = || "its lists do not fit its operands".to_owned();
        let mut values = values.into_iter();
        let mut open = vec![Vec::new()];
        for sign in lists.chars() {
            match sign {
                '(' => open.push(Vec::new()),
                ')' => {
                    let members = open.pop().ok_or_else(broken)?;
                    let list = self.fresh();
                    let label = format!("pnnx_list_{}", self.file.operators.len());
                    self.push("prim::ListConstruct", &label, members, vec![list.clone()]);
                    open.last_mut().ok_or_else(broken)?.push(list);
                }
                _ => open
                    .last_mut()
                    .ok_or_else(broken)?
                    .push(values.next().ok_or_else(broken)?),
            }
        }
        match (open.pop(), open.is_empty(), values.next()) {
            (Some(inputs), true, None) => Ok(inputs),
            _ => Err(broken()),
        }
    }
}

/// An attribute as the text of a parameter.
pub(crate) fn attr_text(value: &AttrValue) -> Option<String> {
    let word = |text: &str| {
        let plain = !text.is_empty() && !text.contains(|c: char| c.is_whitespace() || ",()[]%=".contains(c));
        plain.then(|| text.to_owned())
    };
    Some(match value {
        AttrValue::None => "None".to_owned(),
        AttrValue::Bool(v) => truth(*v).to_owned(),
        AttrValue::Int(d) => d.as_const()?.to_string(),
        AttrValue::Ints(list) => tuple(&list.iter().map(Dim::as_const).collect::<Option<Vec<i64>>>()?),
        AttrValue::Float(v) => float_text(v.0),
        AttrValue::Floats(list) => tuple(&list.iter().map(|v| float_text(v.0)).collect::<Vec<_>>()),
        AttrValue::Str(text) => word(text)?,
        AttrValue::Strs(list) => tuple(&list.iter().map(|text| word(text)).collect::<Option<Vec<_>>>()?),
        AttrValue::DType(dtype) => dtype.name().to_owned(),
        _ => return None,
    })
}
