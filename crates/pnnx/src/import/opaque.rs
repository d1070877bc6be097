//! Operators carried along unread.

use std::sync::Arc;

use super::val::{Host, Typed, Val};
use super::{Done, Importer, wrong};
use crate::{ElementType, Extent, Operator};
use tautomer_graph::VertexId;
use tautomer_op::{AttrValue, OpaqueOp};
use tautomer_tensor::{Dim, Shape, TensorType, Type};

/// The namespace of operators that are carried along.
pub(crate) const DOMAIN: &str = "pnnx";
/// The attribute with the names of inputs; an empty string for an unnamed one.
pub(crate) const INPUTS: &str = "pnnx.inputs";
/// The attribute with the keys of tensors in the archive, which are the last operands.
pub(crate) const TENSORS: &str = "pnnx.tensors";

/// The attribute that says which operands are lists, if any is: `.` for a value, `(` and `)` around the members of a
/// list.
pub(crate) const LISTS: &str = "pnnx.lists";

/// The attribute that is there if some of the operands, weights or results are complex.
pub(crate) const COMPLEX: &str = "pnnx.complex";

/// The attribute with the name of the operator.
pub(crate) const NAME: &str = "pnnx.name";

impl Importer<'_> {
    /// A vertex that stands for the operator without interpreting it.
    pub(super) fn opaque(&mut self, op: &Operator, inputs: &[Val]) -> Done<Vec<Val>> {
        let mut elements = Vec::new();
        let mut types = Vec::new();
        for value in &op.outputs {
            let declared = op.type_of(value);
            let element = declared.map_or(ElementType::F32, |ty| ty.element);
            let Some(dtype) = element.dtype() else {
                return wrong("a result has no element type");
            };
            let shape = declared.map(|ty| {
                let mut shape: Shape = ty
                    .shape
                    .iter()
                    .map(|extent| match extent {
                        Extent::Known(n) => Dim::from(*n),
                        _ => self.graph.unknown_dim(),
                    })
                    .collect();
                if element.is_complex() {
                    shape.push(Dim::Const(2));
                }
                shape
            });
            elements.push(element);
            types.push(Type::from(TensorType { dtype, shape }));
        }
        let mut is_complex = elements.iter().any(|element| element.is_complex());
        let mut operands: Vec<VertexId> = Vec::new();
        for value in inputs {
            let mut items = Vec::new();
            value.flatten(&mut items);
            for item in items {
                is_complex |= matches!(&item, Val::Tensor(t) if t.element.is_complex());
                operands.push(match &item {
                    Val::Host(Host::None | Host::Text(_)) => self.graph.absent(),
                    other => self.tensor(other)?.v,
                });
            }
        }
        let names = op.names_of_inputs();
        let names: Vec<Arc<str>> = names.iter().map(|name| name.unwrap_or_default().into()).collect();
        let mut keys: Vec<Arc<str>> = Vec::new();
        for (key, ty) in &op.attributes {
            let Val::Tensor(t) = self.weight(op, key, ty, &format!("{}.{key}", op.name))? else {
                continue;
            };
            is_complex |= t.element.is_complex();
            operands.push(t.v);
            keys.push(key.as_str().into());
        }
        let mut attr_names: Vec<Arc<str>> = vec![INPUTS.into(), TENSORS.into(), NAME.into()];
        let mut attrs = vec![AttrValue::Strs(names), AttrValue::Strs(keys), AttrValue::str(&op.name)];
        if inputs.iter().any(|value| matches!(value, Val::List(_))) {
            attr_names.push(LISTS.into());
            attrs.push(AttrValue::str(&lists(inputs)));
        }
        if is_complex {
            attr_names.push(COMPLEX.into());
            attrs.push(AttrValue::Bool(true));
        }
        for (key, text) in &op.params {
            attr_names.push(key.as_str().into());
            attrs.push(AttrValue::str(text));
        }
        let count = types.len();
        let result = match count {
            0 => return Ok(Vec::new()),
            1 => types.remove(0),
            _ => Type::Tuple(types),
        };
        let opaque = OpaqueOp {
            domain: DOMAIN.to_owned(),
            name: op.kind.clone(),
            attr_names,
            result,
        };
        let v = self.graph.opaque(opaque, &operands, attrs);
        let parts = self.parts(v)?;
        Ok(parts
            .into_iter()
            .zip(elements)
            .map(|(v, element)| Typed::new(v, element).into())
            .collect())
    }
}

/// Which values are lists, as [`LISTS`] writes it.
fn lists(inputs: &[Val]) -> String {
    let mut out = String::new();
    let mut rest: Vec<Option<&Val>> = inputs.iter().rev().map(Some).collect();
    while let Some(next) = rest.pop() {
        match next {
            Some(Val::List(members)) => {
                out.push('(');
                rest.push(None);
                rest.extend(members.iter().rev().map(Some));
            }
            Some(_) => out.push('.'),
            None => out.push(')'),
        }
    }
    out
}
