//! Constants and attribute values.

use super::Writer;
use crate::literal::foreign_text;
use tautomer_lang::ast::{Attr, ExprId, ExprKind, Ident, LetNames, TypeExpr};
use tautomer_op::AttrValue;
use tautomer_tensor::{DType, Tensor};

impl Writer<'_, '_> {
    /// A constant; if it is named and is not a number, it needs a type to be one vertex.
    pub(super) fn constant(&mut self, value: &Tensor, named: bool, ty: &mut Option<TypeExpr>) -> ExprId {
        let scalar = value.shape().is_empty() && value.dtype().is_number();
        let typed = named && !scalar;
        if typed {
            *ty = self.type_expr(&value.ty().into());
        }
        let elements = self.elements(value, !typed);
        self.nest(value.shape(), elements)
    }

    fn elements(&mut self, value: &Tensor, suffixed: bool) -> Vec<ExprId> {
        let dtype = value.dtype();
        let first = |i: usize| (suffixed && i == 0).then_some(dtype);
        let kinds: Vec<ExprKind> = match value {
            Tensor::Bool(a) => a.iter().map(|b| ExprKind::Bool(*b)).collect(),
            Tensor::Utf8(a) => a.iter().map(|s| ExprKind::Str(s.as_str().into())).collect(),
            _ if dtype.is_float() => {
                let values = value.to_f64s().unwrap_or_default();
                let number = |(i, v): (usize, f64)| ExprKind::Float {
                    value: if first(i).is_some() { v } else { short(v, dtype) },
                    suffix: first(i),
                };
                values.into_iter().enumerate().map(number).collect()
            }
            _ => {
                let values = value.to_ints().unwrap_or_default();
                let number = |(i, value): (usize, i128)| ExprKind::Int {
                    value,
                    // Without a suffix, integers are 64-bit signed.
                    suffix: first(i).or(i64::try_from(value).is_err().then_some(dtype)),
                };
                values.into_iter().enumerate().map(number).collect()
            }
        };
        kinds.into_iter().map(|kind| self.make(kind)).collect()
    }

    fn nest(&mut self, shape: &[usize], mut items: Vec<ExprId>) -> ExprId {
        if items.is_empty() {
            return self.make(ExprKind::List(Vec::new()));
        }
        for extent in shape.iter().rev() {
            items = items
                .chunks((*extent).max(1))
                .map(|row| self.shared.program.ast.make(ExprKind::List(row.to_vec())))
                .collect();
        }
        match items.first() {
            Some(first) => *first,
            None => self.make(ExprKind::List(Vec::new())),
        }
    }

    pub(super) fn attribute(&mut self, name: &str, value: &AttrValue, opaque: bool) -> Attr {
        let value = match value {
            AttrValue::None => self.make(ExprKind::Name("none".into())),
            AttrValue::Bool(v) => self.make(ExprKind::Bool(*v)),
            AttrValue::Int(d) => self.dim(d),
            AttrValue::Ints(list) => {
                let items = list.iter().map(|d| self.dim(d)).collect();
                self.make(ExprKind::List(items))
            }
            AttrValue::Float(v) => self.real(v.0),
            AttrValue::Floats(list) => {
                let items = list.iter().map(|v| self.real(v.0)).collect();
                self.make(ExprKind::List(items))
            }
            AttrValue::Str(s) => self.make(ExprKind::Str(s.clone())),
            AttrValue::Strs(list) => {
                let items = list.iter().map(|s| self.make(ExprKind::Str(s.clone()))).collect();
                self.make(ExprKind::List(items))
            }
            AttrValue::DType(d) => self.make(ExprKind::Name(d.name().into())),
            AttrValue::Region(region) => {
                let name = self.function(region);
                self.make(ExprKind::Name(name))
            }
            AttrValue::Foreign { kind, bytes } => self.make(ExprKind::Str(foreign_text(kind, bytes).into())),
            AttrValue::Tensor(t)
                if t.shape().is_empty() && (t.dtype().is_number() || !opaque && t.dtype() == DType::Bool) =>
            {
                self.constant(t, false, &mut None)
            }
            AttrValue::Tensor(t) => {
                // A plain list would be a list of numbers; the value of a constant must keep its type.
                let mut ty = None;
                let value = self.constant(t, true, &mut ty);
                let constant = self.fresh_name(name);
                self.define(LetNames::One(Ident::new(constant.clone())), ty, value);
                self.make(ExprKind::Name(constant))
            }
        };
        Attr {
            name: Ident::new(name),
            value,
        }
    }

    fn real(&mut self, value: f64) -> ExprId {
        self.make(ExprKind::Float { value, suffix: None })
    }
}

/// The number with the fewest digits that rounds to `value`.
fn short(value: f64, dtype: DType) -> f64 {
    if dtype != DType::F32 {
        return value;
    }
    let narrow = value as f32;
    let digits: f64 = format!("{narrow:?}").parse().unwrap_or(value);
    if (digits as f32).to_bits() == narrow.to_bits() {
        digits
    } else {
        value
    }
}
