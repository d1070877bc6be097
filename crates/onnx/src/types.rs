//! Converts `TypeProto` to [`Type`] and back, including dimension names.

use indexmap::IndexMap;

use super::proto::{Dimension, DimensionValue, NestedType, TensorShapeProto, TensorTypeProto, TypeProto, TypeValue};
use super::{data_type, dtype_of};
use tautomer_graph::Graph;
use tautomer_tensor::{Dim, MAX_RANK, Shape, TensorType, Type};

/// The type of a value that the graph can only carry along unread: a sequence, a map, elements of an unknown type.
pub(super) fn foreign() -> Type {
    Type::Tuple(Vec::new())
}

/// True for [`foreign`].
pub(super) fn is_foreign(ty: &Type) -> bool {
    matches!(ty, Type::Tuple(items) if items.is_empty())
}

/// True for a tensor with undefined element type, which is equivalent to no declaration.
pub(super) fn is_undefined(proto: &TypeProto) -> bool {
    match &proto.value {
        None => true,
        Some(TypeValue::TensorType(tensor)) => tensor.elem_type.unwrap_or(0) == 0,
        Some(_) => false,
    }
}

/// True for two tensors with the same element type.
pub(super) fn same_elements(a: &TypeProto, b: &TypeProto) -> bool {
    let elements = |proto: &TypeProto| match &proto.value {
        Some(TypeValue::TensorType(tensor)) => tensor.elem_type,
        _ => None,
    };
    elements(a).is_some() && elements(a) == elements(b)
}

/// Maps between dimension names of programs, which are identifiers, and those of the file.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Symbols(IndexMap<String, String>);

impl Symbols {
    /// The dimension named `original` in the file.
    fn import(&mut self, original: &str) -> Dim {
        let mut name = identifier(original);
        while self.0.get(&name).is_some_and(|taken| taken != original) {
            name.push('_');
        }
        let dim = Dim::symbol(&name);
        self.0.insert(name, original.to_string());
        dim
    }

    /// A new dimension for an axis of an input that has neither size nor name in the file.
    pub(super) fn unnamed(&mut self, input: &str, axis: usize) -> Dim {
        let mut name = identifier(&format!("{input}_{axis}"));
        while self.0.contains_key(&name) {
            name.push('_');
        }
        let dim = Dim::symbol(&name);
        self.0.insert(name, String::new());
        dim
    }

    /// The name of a symbol in the file, if it has one there.
    fn export(&self, name: &str) -> Option<String> {
        let original = self.0.get(name).map_or(name, String::as_str);
        (!original.is_empty()).then(|| original.to_string())
    }
}

/// An identifier similar to a name.
fn identifier(name: &str) -> String {
    let letters = name.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '_' });
    let mut out: String = letters.take(64).collect();
    if !out.starts_with(|c: char| c.is_ascii_alphabetic()) {
        out.insert(0, 'd');
    }
    out
}

/// The type, if graphs support it.
pub(super) fn import_type(proto: &TypeProto, symbols: &mut Symbols, graph: &mut Graph) -> Option<Type> {
    let mut inside = |nested: &NestedType| -> Option<Box<Type>> {
        Some(Box::new(import_type(nested.elem_type.as_ref()?, symbols, graph)?))
    };
    let tensor = match proto.value.as_ref()? {
        TypeValue::TensorType(tensor) => tensor,
        // Decoding limits the nesting depth.
        TypeValue::SequenceType(nested) => return inside(nested).map(Type::Sequence),
        TypeValue::OptionalType(nested) => return inside(nested).map(Type::Optional),
        _ => return None,
    };
    let dtype = dtype_of(tensor.elem_type.unwrap_or(0)).ok()?;
    let Some(shape) = &tensor.shape else {
        return Some(TensorType::any_rank(dtype).into());
    };
    if shape.dim.len() > MAX_RANK {
        return None;
    }
    let dims = shape.dim.iter().map(|dim| match &dim.value {
        Some(DimensionValue::DimValue(value)) if *value >= 0 => Dim::Const(*value),
        Some(DimensionValue::DimParam(name)) if !name.is_empty() && name != "?" => symbols.import(name),
        _ => graph.unknown_dim(),
    });
    Some(Type::tensor(dtype, dims.collect::<Shape>()))
}

/// The message for a type; `None` if ONNX has no such type.
pub(super) fn export_type(ty: &Type, symbols: &Symbols) -> Option<TypeProto> {
    let inside = |item: &Type| -> Option<NestedType> {
        Some(NestedType {
            elem_type: Some(Box::new(export_type(item, symbols)?)),
        })
    };
    let nested = match ty {
        Type::Sequence(item) => Some(TypeValue::SequenceType(inside(item)?)),
        Type::Optional(item) => Some(TypeValue::OptionalType(inside(item)?)),
        _ => None,
    };
    if nested.is_some() {
        return Some(TypeProto {
            value: nested,
            denotation: None,
        });
    }
    let tensor = ty.as_tensor()?;
    let shape = tensor.shape.as_ref().map(|shape| TensorShapeProto {
        dim: shape
            .iter()
            .map(|dim| Dimension {
                value: match dim {
                    Dim::Const(value) => Some(DimensionValue::DimValue(*value)),
                    other => other
                        .as_symbol()
                        .and_then(|s| symbols.export(s))
                        .map(DimensionValue::DimParam),
                },
                denotation: None,
            })
            .collect(),
    });
    Some(TypeProto {
        value: Some(TypeValue::TensorType(TensorTypeProto {
            elem_type: Some(data_type(tensor.dtype)? as i32),
            shape,
        })),
        denotation: None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use tautomer_tensor::DType;

    #[test]
    fn names_of_dimensions_survive() {
        let (mut graph, mut symbols) = (Graph::new(), Symbols::default());
        let a = symbols.import("batch size");
        let b = symbols.import("batch_size");
        assert_ne!(a, b);
        assert_eq!(symbols.import("batch size"), a);
        let ty = Type::tensor(DType::F32, [a, b, Dim::from(3)].into_iter().collect::<Shape>());
        let proto = export_type(&ty, &symbols).unwrap();
        assert_eq!(import_type(&proto, &mut symbols, &mut graph), Some(ty));
    }

    #[test]
    fn other_types_are_foreign() {
        assert_eq!(
            import_type(&TypeProto::default(), &mut Symbols::default(), &mut Graph::new()),
            None
        );
        assert!(is_foreign(&foreign()));
        assert_eq!(export_type(&foreign(), &Symbols::default()), None);
    }
}
