//! Literals as tensors; the element type follows from the suffix, or from the use of the literal.

use super::term::{Term, kind};
use tautomer_op::AttrValue;
use tautomer_tensor::{DType, MAX_RANK, Tensor, assume};

/// The element type that a literal without a suffix takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Wanted {
    /// No requirement: integers are `i32`, floating-point numbers `f32`.
    Any,
    /// The type of the other operands.
    Like(DType),
    /// Floating-point numbers have this type, integers are indices.
    FloatLike(DType),
    /// Integers are indices, `i64`; floating-point numbers are `f32`.
    Index,
    /// The declared type, which a suffix may not contradict.
    Exactly(DType),
}

/// The tensor of a literal term.
pub(crate) fn tensor(term: &Term, wanted: Wanted) -> Result<Tensor, String> {
    let mut flat = Flat {
        shape: Vec::new(),
        leaves: Vec::new(),
    };
    flatten(term, 0, &mut flat)?;
    let suffix = flat.leaves.iter().find_map(|leaf| match leaf {
        Leaf::Typed(t) => Some(t.dtype()),
        _ => None,
    });
    let fraction = flat.leaves.iter().any(|l| matches!(l, Leaf::Float(_)));
    let truth = flat.leaves.iter().any(|l| matches!(l, Leaf::Bool(_)));
    let text = flat.leaves.iter().any(|l| matches!(l, Leaf::Text(_)));
    let dtype = match (suffix, wanted) {
        (Some(d), Wanted::Exactly(w)) if d != w => return Err(format!("the literal is {d}, and {w} is declared")),
        (Some(d), _) => d,
        (None, Wanted::Exactly(d)) => d,
        (None, _) if truth => DType::Bool,
        (None, _) if text => DType::Utf8,
        (None, Wanted::Like(d)) => d,
        (None, Wanted::FloatLike(d)) if fraction => d,
        (None, Wanted::FloatLike(_) | Wanted::Index) if !fraction => DType::I64,
        (None, _) if fraction => DType::F32,
        (None, _) => DType::I32,
    };
    let mismatch = |what: &str| Err(format!("a literal that is {what} cannot be {dtype}"));
    let shape = flat.shape;
    if dtype == DType::Utf8 {
        let texts: Option<Vec<String>> = flat
            .leaves
            .into_iter()
            .map(|l| if let Leaf::Text(s) = l { Some(s) } else { None })
            .collect();
        return texts
            .and_then(|t| Tensor::new(&shape, t))
            .ok_or_else(|| "strings and numbers in one literal".into());
    }
    let mut ints = Vec::with_capacity(flat.leaves.len());
    let mut floats = Vec::new();
    for leaf in flat.leaves {
        match leaf {
            Leaf::Int(v) if dtype.is_float() => floats.push(v as f64),
            Leaf::Int(v) if dtype == DType::Bool => return mismatch(&format!("the integer {v}")),
            Leaf::Int(v) => {
                if let Some((least, most)) = dtype.int_range()
                    && !(least..=most).contains(&v)
                {
                    return Err(format!("{v} does not fit {dtype} ({least} to {most})"));
                }
                ints.push(v);
            }
            Leaf::Float(v) if dtype.is_float() => floats.push(v),
            Leaf::Float(v) => return mismatch(&format!("the fraction {v}")),
            Leaf::Bool(b) if dtype == DType::Bool => ints.push(i128::from(b)),
            Leaf::Bool(b) => return mismatch(&format!("the boolean {b}")),
            Leaf::Text(_) => return mismatch("a string"),
            Leaf::Typed(t) if t.dtype() == dtype => {
                if dtype.is_float() {
                    floats.extend(t.to_f64s().unwrap_or_default());
                } else {
                    ints.extend(t.to_ints().unwrap_or_default());
                }
            }
            Leaf::Typed(t) => return Err(format!("one literal holds elements of {dtype} and of {}", t.dtype())),
        }
    }
    let built = if dtype.is_float() {
        Tensor::from_f64s(dtype, &shape, &floats)
    } else {
        Tensor::from_ints(dtype, &shape, &ints)
    };
    built.ok_or_else(|| format!("there are no literals of {dtype}"))
}

/// For a literal of numbers without a suffix, whether it has floating-point numbers; `None` for all other terms.
pub(crate) fn is_open(term: &Term) -> Option<bool> {
    match term {
        Term::Int(d) => d.as_const().map(|_| false),
        Term::Wide(_) => Some(false),
        Term::Float(_) => Some(true),
        Term::List(items) => items
            .iter()
            .try_fold(false, |fraction, item| Some(fraction | is_open(item)?)),
        _ => None,
    }
}

enum Leaf {
    Int(i128),
    Float(f64),
    Bool(bool),
    Text(String),
    Typed(Tensor),
}

struct Flat {
    shape: Vec<usize>,
    leaves: Vec<Leaf>,
}

fn flatten(term: &Term, depth: usize, out: &mut Flat) -> Result<(), String> {
    let leaf = match term {
        Term::List(items) => {
            match out.shape.get(depth) {
                None if out.leaves.is_empty() && depth >= MAX_RANK => {
                    return Err(format!(
                        "a tensor has at most {MAX_RANK} axes, and this literal has more"
                    ));
                }
                None if out.leaves.is_empty() => out.shape.push(items.len()),
                Some(&extent) if extent == items.len() => {}
                Some(&extent) => {
                    return Err(format!(
                        "the rows of this literal have different lengths: {extent} and {}",
                        items.len()
                    ));
                }
                None => return Err("this literal mixes elements and lists".into()),
            }
            return items.iter().try_for_each(|item| flatten(item, depth + 1, out));
        }
        Term::Int(d) => Leaf::Int(i128::from(d.as_const().ok_or_else(|| {
            assume::left_open();
            format!("`{d}` is a symbolic dimension, not a known number")
        })?)),
        Term::Wide(v) => Leaf::Int(*v),
        Term::Float(v) => Leaf::Float(*v),
        Term::Bool(b) => Leaf::Bool(*b),
        Term::Str(s) => Leaf::Text(s.to_string()),
        Term::Tensor(t) if t.len() == 1 => Leaf::Typed(t.clone()),
        other => return Err(format!("{} is not a tensor", kind(other))),
    };
    if depth < out.shape.len() {
        return Err("this literal mixes elements and lists".into());
    }
    out.leaves.push(leaf);
    Ok(())
}

const FOREIGN: &str = "foreign:";

/// A foreign value as a string that [`foreign`] reads back.
pub(crate) fn foreign_text(kind: &str, bytes: &[u8]) -> String {
    let hex: String = bytes.iter().map(|b| format!("{b:02x}")).collect();
    format!("{FOREIGN}{kind}:{hex}")
}

/// An attribute of an opaque operator; strings that encode foreign values are decoded.
pub(crate) fn foreign(value: AttrValue) -> AttrValue {
    let AttrValue::Str(text) = &value else { return value };
    let decoded = || {
        let (kind, hex) = text.strip_prefix(FOREIGN)?.rsplit_once(':')?;
        let bytes: Option<Vec<u8>> = (0..hex.len())
            .step_by(2)
            .map(|i| u8::from_str_radix(hex.get(i..i + 2)?, 16).ok())
            .collect();
        Some(AttrValue::Foreign {
            kind: kind.into(),
            bytes: bytes?.into(),
        })
    };
    decoded().unwrap_or(value)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn list(items: Vec<Term>) -> Term {
        Term::List(items)
    }

    #[test]
    fn the_type_follows_from_use() {
        let one = Term::Int(1.into());
        assert_eq!(tensor(&one, Wanted::Any).unwrap().dtype(), DType::I32);
        assert_eq!(tensor(&one, Wanted::Like(DType::F16)).unwrap().dtype(), DType::F16);
        assert_eq!(tensor(&one, Wanted::Index).unwrap().dtype(), DType::I64);
        assert!(tensor(&Term::Float(0.5), Wanted::Like(DType::I32)).is_err());
        assert!(tensor(&Term::Int(300.into()), Wanted::Like(DType::U8)).is_err());
    }

    #[test]
    fn rows_must_agree() {
        let row = |n: usize| list((0..n).map(|i| Term::Int(i.into())).collect());
        assert_eq!(
            tensor(&list(vec![row(2), row(2)]), Wanted::Any).unwrap().shape(),
            [2, 2]
        );
        assert!(tensor(&list(vec![row(2), row(3)]), Wanted::Any).is_err());
        assert!(tensor(&list(vec![row(2), Term::Int(1.into())]), Wanted::Any).is_err());
    }

    #[test]
    fn foreign_values_survive_as_text() {
        let value = AttrValue::Foreign {
            kind: "onnx.GraphProto".into(),
            bytes: vec![0, 255, 7].into(),
        };
        assert_eq!(
            foreign(AttrValue::str(&foreign_text("onnx.GraphProto", &[0, 255, 7]))),
            value
        );
        assert_eq!(foreign(AttrValue::str("foreign")), AttrValue::str("foreign"));
    }
}
