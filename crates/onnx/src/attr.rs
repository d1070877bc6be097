//! Converts `AttributeProto` to [`AttrValue`] and back.

use prost::Message;

use super::proto::{AttributeProto, AttributeType as T};
use super::{from_tensor, to_tensor};
use tautomer_op::{AttrValue, Real};
use tautomer_tensor::Dim;

/// The format of the bytes in a foreign attribute value.
pub(super) const FOREIGN: &str = "onnx.AttributeProto";

/// The kind of an attribute; files of IR version 1 do not state it.
fn kind(attr: &AttributeProto) -> T {
    match T::try_from(attr.r#type.unwrap_or(0)) {
        Ok(T::Undefined) | Err(_) => {}
        Ok(kind) => return kind,
    }
    match attr {
        _ if attr.f.is_some() => T::Float,
        _ if attr.i.is_some() => T::Int,
        _ if attr.s.is_some() => T::String,
        _ if attr.t.is_some() => T::Tensor,
        _ if attr.g.is_some() => T::Graph,
        _ if !attr.floats.is_empty() => T::Floats,
        _ if !attr.ints.is_empty() => T::Ints,
        _ if !attr.strings.is_empty() => T::Strings,
        _ => T::Undefined,
    }
}

/// The value of an attribute; values that tensors and numbers cannot express stay encoded.
pub(super) fn to_value(attr: &AttributeProto) -> AttrValue {
    let text = |bytes: &[u8]| std::str::from_utf8(bytes).ok().map(Into::into);
    let plain = match kind(attr) {
        _ if attr.ref_attr_name.as_ref().is_some_and(|n| !n.is_empty()) => None,
        T::Float => Some(AttrValue::Float(Real(f64::from(attr.f.unwrap_or(0.0))))),
        T::Int => Some(AttrValue::int(attr.i.unwrap_or(0))),
        T::String => text(attr.s.as_deref().unwrap_or_default()).map(AttrValue::Str),
        T::Floats => Some(AttrValue::Floats(
            attr.floats.iter().map(|&f| Real(f64::from(f))).collect(),
        )),
        T::Ints => Some(AttrValue::ints(&attr.ints)),
        T::Strings => attr
            .strings
            .iter()
            .map(|s| text(s))
            .collect::<Option<_>>()
            .map(AttrValue::Strs),
        T::Tensor => attr
            .t
            .as_ref()
            .and_then(|t| to_tensor(t, None).ok())
            .map(AttrValue::Tensor),
        _ => None,
    };
    plain.unwrap_or_else(|| AttrValue::Foreign {
        kind: FOREIGN.into(),
        bytes: attr.encode_to_vec().into(),
    })
}

/// The message for a value; `Err` gives the reason why there is none.
pub(super) fn from_value(name: &str, value: &AttrValue) -> Result<AttributeProto, String> {
    let mut attr = AttributeProto {
        name: Some(name.to_string()),
        ..AttributeProto::default()
    };
    let known = |d: &Dim| {
        d.as_const()
            .ok_or_else(|| format!("`{name}` is {d}, which is not a number"))
    };
    let kind = match value {
        AttrValue::None => return Err(format!("`{name}` has no value")),
        AttrValue::Bool(v) => {
            attr.i = Some(i64::from(*v));
            T::Int
        }
        AttrValue::Int(v) => {
            attr.i = Some(known(v)?);
            T::Int
        }
        AttrValue::Ints(v) => {
            attr.ints = v.iter().map(known).collect::<Result<_, _>>()?;
            T::Ints
        }
        AttrValue::Float(v) => {
            attr.f = Some(v.0 as f32);
            T::Float
        }
        AttrValue::Floats(v) => {
            attr.floats = v.iter().map(|x| x.0 as f32).collect();
            T::Floats
        }
        AttrValue::Str(v) => {
            attr.s = Some(v.as_bytes().to_vec());
            T::String
        }
        AttrValue::Strs(v) => {
            attr.strings = v.iter().map(|s| s.as_bytes().to_vec()).collect();
            T::Strings
        }
        AttrValue::DType(v) => {
            let data_type = super::data_type(*v).ok_or_else(|| format!("ONNX has no element type {v}"))?;
            attr.i = Some(data_type as i64);
            T::Int
        }
        AttrValue::Tensor(v) => {
            attr.t = Some(from_tensor("", v));
            T::Tensor
        }
        AttrValue::Region(_) => return Err(format!("`{name}` is a function")),
        AttrValue::Foreign { kind, bytes } if &**kind == FOREIGN => {
            return AttributeProto::decode(&**bytes).map_err(|e| format!("`{name}`: {e}"));
        }
        AttrValue::Foreign { kind, .. } => return Err(format!("`{name}` holds {kind}")),
    };
    attr.r#type = Some(kind as i32);
    Ok(attr)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::proto::GraphProto;
    use tautomer_tensor::Tensor;

    #[test]
    fn values_round_trip() {
        let values = [
            AttrValue::int(-3),
            AttrValue::ints(&[]),
            AttrValue::float(f64::from(0.1f32)),
            AttrValue::Floats(vec![Real(1.5)]),
            AttrValue::str("x"),
            AttrValue::Strs(vec!["a".into()]),
            AttrValue::Tensor(Tensor::scalar(2.0f32)),
        ];
        for value in values {
            assert_eq!(to_value(&from_value("a", &value).unwrap()), value);
        }
    }

    #[test]
    fn graphs_stay_encoded() {
        let attr = AttributeProto {
            name: Some("body".to_string()),
            r#type: Some(T::Graph as i32),
            g: Some(GraphProto::default()),
            ..AttributeProto::default()
        };
        let value = to_value(&attr);
        assert!(matches!(value, AttrValue::Foreign { .. }));
        assert_eq!(from_value("body", &value), Ok(attr));
    }

    #[test]
    fn the_kind_follows_from_the_field_where_it_is_not_said() {
        let attr = AttributeProto {
            ints: vec![1, 2],
            ..AttributeProto::default()
        };
        assert_eq!(to_value(&attr), AttrValue::ints(&[1, 2]));
    }

    #[test]
    fn symbols_are_refused() {
        assert!(
            from_value("shape", &AttrValue::Int(Dim::symbol("n")))
                .unwrap_err()
                .contains('n')
        );
    }
}
