//! Attributes: their declaration in the table and their values in a call.

use std::cmp::Ordering;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::Region;
use tautomer_tensor::{DType, Dim, Tensor};

/// A floating-point attribute; equality and order compare bits (`total_cmp`).
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
pub struct Real(pub f64);

impl PartialEq for Real {
    fn eq(&self, other: &Real) -> bool {
        self.0.total_cmp(&other.0) == Ordering::Equal
    }
}

impl Eq for Real {}

impl PartialOrd for Real {
    fn partial_cmp(&self, other: &Real) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Real {
    fn cmp(&self, other: &Real) -> Ordering {
        self.0.total_cmp(&other.0)
    }
}

impl Hash for Real {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.0.to_bits().hash(state);
    }
}

/// The value of an attribute in a call.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub enum AttrValue {
    /// Left out, and the operator has no default for it.
    None,
    /// Boolean.
    Bool(bool),
    /// Integer, possibly symbolic.
    Int(Dim),
    /// List of integers, possibly symbolic.
    Ints(Vec<Dim>),
    /// Floating-point number.
    Float(Real),
    /// List of floating-point numbers.
    Floats(Vec<Real>),
    /// String.
    Str(Arc<str>),
    /// List of strings.
    Strs(Vec<Arc<str>>),
    /// Element type.
    DType(DType),
    /// A tensor; compared by its bits.
    Tensor(Tensor),
    /// A function that the operator calls.
    Region(Arc<Region>),
    /// A value that only its source format can interpret; `kind` names the format.
    Foreign {
        /// The kind of data in the bytes, such as `onnx.AttributeProto`.
        kind: Arc<str>,
        /// The encoded value.
        bytes: Arc<[u8]>,
    },
}

/// All attribute values of a call, in the order of the operator's declaration.
pub type Attrs = Arc<[AttrValue]>;

impl AttrValue {
    /// An integer.
    pub fn int(value: i64) -> AttrValue {
        AttrValue::Int(Dim::Const(value))
    }

    /// A list of integers.
    pub fn ints(values: &[i64]) -> AttrValue {
        AttrValue::Ints(values.iter().copied().map(Dim::Const).collect())
    }

    /// A string.
    pub fn str(value: &str) -> AttrValue {
        AttrValue::Str(value.into())
    }

    /// A number.
    pub fn float(value: f64) -> AttrValue {
        AttrValue::Float(Real(value))
    }

    /// The integer, if it is a constant.
    pub fn as_int(&self) -> Option<i64> {
        match self {
            AttrValue::Int(d) => d.as_const(),
            _ => None,
        }
    }

    /// The integer, if it is a constant and not negative.
    pub fn as_count(&self) -> Option<usize> {
        usize::try_from(self.as_int()?).ok()
    }

    /// The list of integers, if all are constants.
    pub fn as_ints(&self) -> Option<Vec<i64>> {
        match self {
            AttrValue::Ints(list) => list.iter().map(Dim::as_const).collect(),
            _ => None,
        }
    }

    /// The number; `None` for an integer.
    pub fn as_float(&self) -> Option<f64> {
        match self {
            AttrValue::Float(v) => Some(v.0),
            _ => None,
        }
    }

    /// The list of numbers; `None` for a list of integers.
    pub fn as_floats(&self) -> Option<Vec<f64>> {
        match self {
            AttrValue::Floats(list) => Some(list.iter().map(|v| v.0).collect()),
            _ => None,
        }
    }

    /// The string, if it is one.
    pub fn as_str(&self) -> Option<&str> {
        match self {
            AttrValue::Str(s) => Some(s),
            _ => None,
        }
    }

    /// True if it is the boolean `true`.
    pub fn is_true(&self) -> bool {
        matches!(self, AttrValue::Bool(true))
    }

    /// True for integers that contain symbols, which are known only once the inputs are.
    pub fn has_symbols(&self) -> bool {
        match self {
            AttrValue::Int(d) => d.as_const().is_none(),
            AttrValue::Ints(list) => list.iter().any(|d| d.as_const().is_none()),
            _ => false,
        }
    }

    /// True if it was left out.
    pub fn is_none(&self) -> bool {
        matches!(self, AttrValue::None)
    }

    /// True if both are known to be the same value, even if integers are written differently.
    pub fn equals(&self, other: &AttrValue) -> bool {
        match (self, other) {
            (AttrValue::Int(a), AttrValue::Int(b)) => a.equals(b) == Some(true),
            (AttrValue::Ints(a), AttrValue::Ints(b)) => {
                a.len() == b.len() && a.iter().zip(b).all(|(a, b)| a.equals(b) == Some(true))
            }
            _ => self == other,
        }
    }

    /// What kind of value this is, for messages.
    pub fn kind_name(&self) -> &'static str {
        match self {
            AttrValue::None => "nothing",
            AttrValue::Bool(_) => "a boolean",
            AttrValue::Int(_) => "an integer",
            AttrValue::Ints(_) => "a list of integers",
            AttrValue::Float(_) => "a number",
            AttrValue::Floats(_) => "a list of numbers",
            AttrValue::Str(_) => "a string",
            AttrValue::Strs(_) => "a list of strings",
            AttrValue::DType(_) => "an element type",
            AttrValue::Tensor(_) => "a tensor",
            AttrValue::Region(_) => "a function",
            AttrValue::Foreign { .. } => "a foreign value",
        }
    }

    fn rank(&self) -> u8 {
        match self {
            AttrValue::None => 0,
            AttrValue::Bool(_) => 1,
            AttrValue::Int(_) => 2,
            AttrValue::Ints(_) => 3,
            AttrValue::Float(_) => 4,
            AttrValue::Floats(_) => 5,
            AttrValue::Str(_) => 6,
            AttrValue::Strs(_) => 7,
            AttrValue::DType(_) => 8,
            AttrValue::Tensor(_) => 9,
            AttrValue::Foreign { .. } => 10,
            AttrValue::Region(_) => 11,
        }
    }
}

impl PartialEq for AttrValue {
    fn eq(&self, other: &AttrValue) -> bool {
        match (self, other) {
            (AttrValue::None, AttrValue::None) => true,
            (AttrValue::Bool(a), AttrValue::Bool(b)) => a == b,
            (AttrValue::Int(a), AttrValue::Int(b)) => a == b,
            (AttrValue::Ints(a), AttrValue::Ints(b)) => a == b,
            (AttrValue::Float(a), AttrValue::Float(b)) => a == b,
            (AttrValue::Floats(a), AttrValue::Floats(b)) => a == b,
            (AttrValue::Str(a), AttrValue::Str(b)) => a == b,
            (AttrValue::Strs(a), AttrValue::Strs(b)) => a == b,
            (AttrValue::DType(a), AttrValue::DType(b)) => a == b,
            (AttrValue::Tensor(a), AttrValue::Tensor(b)) => a.same_bits(b),
            (AttrValue::Region(a), AttrValue::Region(b)) => a == b,
            (AttrValue::Foreign { kind: a, bytes: x }, AttrValue::Foreign { kind: b, bytes: y }) => a == b && x == y,
            _ => false,
        }
    }
}

impl Eq for AttrValue {}

impl Hash for AttrValue {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.rank().hash(state);
        match self {
            AttrValue::None => {}
            AttrValue::Bool(v) => v.hash(state),
            AttrValue::Int(v) => v.hash(state),
            AttrValue::Ints(v) => v.hash(state),
            AttrValue::Float(v) => v.hash(state),
            AttrValue::Floats(v) => v.hash(state),
            AttrValue::Str(v) => v.hash(state),
            AttrValue::Strs(v) => v.hash(state),
            AttrValue::DType(v) => v.hash(state),
            AttrValue::Tensor(t) => t.hash_start(state),
            AttrValue::Region(region) => region.hash(state),
            AttrValue::Foreign { kind, bytes } => (kind, bytes).hash(state),
        }
    }
}

impl PartialOrd for AttrValue {
    fn partial_cmp(&self, other: &AttrValue) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for AttrValue {
    fn cmp(&self, other: &AttrValue) -> Ordering {
        match (self, other) {
            _ if self == other => Ordering::Equal,
            (AttrValue::Bool(a), AttrValue::Bool(b)) => a.cmp(b),
            (AttrValue::Int(a), AttrValue::Int(b)) => a.cmp(b),
            (AttrValue::Ints(a), AttrValue::Ints(b)) => a.cmp(b),
            (AttrValue::Float(a), AttrValue::Float(b)) => a.cmp(b),
            (AttrValue::Floats(a), AttrValue::Floats(b)) => a.cmp(b),
            (AttrValue::Str(a), AttrValue::Str(b)) => a.cmp(b),
            (AttrValue::Strs(a), AttrValue::Strs(b)) => a.cmp(b),
            (AttrValue::DType(a), AttrValue::DType(b)) => a.cmp(b),
            (AttrValue::Tensor(a), AttrValue::Tensor(b)) => a.cmp_bits(b),
            (AttrValue::Region(a), AttrValue::Region(b)) => a.cmp(b),
            (AttrValue::Foreign { kind: a, bytes: x }, AttrValue::Foreign { kind: b, bytes: y }) => (a, x).cmp(&(b, y)),
            _ => self.rank().cmp(&other.rank()),
        }
    }
}

fn write_list<T: fmt::Display>(f: &mut fmt::Formatter<'_>, items: impl IntoIterator<Item = T>) -> fmt::Result {
    f.write_str("[")?;
    for (i, item) in items.into_iter().enumerate() {
        let comma = if i > 0 { ", " } else { "" };
        write!(f, "{comma}{item}")?;
    }
    f.write_str("]")
}

impl fmt::Display for AttrValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            AttrValue::None => f.write_str("none"),
            AttrValue::Bool(v) => write!(f, "{v}"),
            AttrValue::Int(v) => write!(f, "{v}"),
            AttrValue::Ints(v) => write_list(f, v),
            AttrValue::Float(v) => write!(f, "{:?}", v.0),
            AttrValue::Floats(v) => write_list(f, v.iter().map(|x| format!("{:?}", x.0))),
            AttrValue::Str(v) => write!(f, "{v:?}"),
            AttrValue::Strs(v) => write_list(f, v.iter().map(|s| format!("{s:?}"))),
            AttrValue::DType(v) => write!(f, "{v}"),
            AttrValue::Tensor(t) => write!(f, "<{}>", t.ty()),
            AttrValue::Region(region) => write!(f, "{region}"),
            AttrValue::Foreign { kind, bytes } => write!(f, "<{kind}, {} bytes>", bytes.len()),
        }
    }
}

/// The values an attribute accepts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AttrKind {
    /// Boolean.
    Bool,
    /// Integer.
    Int,
    /// List of integers.
    Ints,
    /// An axis; negative values count from the end.
    Axis(AxisOf),
    /// A list of axes; negative values count from the end.
    Axes(AxisOf),
    /// Floating-point number.
    Float,
    /// List of floating-point numbers.
    Floats,
    /// String.
    Str,
    /// List of strings.
    Strs,
    /// One of these strings.
    OneOf(&'static [&'static str]),
    /// Element type.
    DType,
    /// A tensor of any type; a single number is a scalar tensor.
    Tensor,
    /// A function.
    Region,
}

/// Whose axes an axis attribute refers to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AxisOf {
    /// The first operand's.
    Input,
    /// The first operand's, and one past the last (`flatten`).
    InputEnd,
    /// The result's: the first operand's rank plus the number of axes listed (`unsqueeze`, `one_hot`).
    Output,
}

/// The value of an attribute that is left out.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Default {
    /// It must be given.
    Required,
    /// It stays absent; the operator decides what that means.
    None,
    /// Boolean.
    Bool(bool),
    /// Integer.
    Int(i64),
    /// List of integers.
    Ints(&'static [i64]),
    /// Floating-point number.
    Float(f64),
    /// String.
    Str(&'static str),
    /// Element type.
    DType(DType),
}

/// An attribute as the table declares it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct AttrDef {
    /// Its name, as in ONNX.
    pub name: &'static str,
    /// The values it accepts.
    pub kind: AttrKind,
    /// Its value when left out.
    pub default: Default,
    /// One line of documentation.
    pub doc: &'static str,
}

impl AttrDef {
    /// An attribute with a default.
    pub const fn new(name: &'static str, kind: AttrKind, default: Default, doc: &'static str) -> AttrDef {
        AttrDef {
            name,
            kind,
            default,
            doc,
        }
    }

    /// The value when left out; `None` if it must be given.
    pub fn default_value(&self) -> Option<AttrValue> {
        Some(match self.default {
            Default::Required => return None,
            Default::None => AttrValue::None,
            Default::Bool(v) => AttrValue::Bool(v),
            Default::Int(v) => AttrValue::int(v),
            Default::Ints(v) => AttrValue::ints(v),
            Default::Float(v) => AttrValue::float(v),
            Default::Str(v) => AttrValue::str(v),
            Default::DType(v) => AttrValue::DType(v),
        })
    }

    /// True for a number that may be left out, with no number in its place.
    pub fn is_optional_number(&self) -> bool {
        matches!((self.kind, self.default), (AttrKind::Float, Default::None))
    }

    /// `value` converted to the kind of this attribute (an integer to a floating-point number, a number to a list, 0
    /// and 1 to booleans), or `None` if it cannot be converted.
    pub fn coerce(&self, value: AttrValue) -> Option<AttrValue> {
        use AttrKind as K;
        use AttrValue as V;
        let real = |d: &Dim| d.as_const().map(|v| Real(v as f64));
        Some(match (self.kind, value) {
            (_, V::None) => V::None,
            (K::Bool, V::Bool(v)) => V::Bool(v),
            (K::Bool, V::Int(Dim::Const(v @ 0..=1))) => V::Bool(v == 1),
            (K::Int | K::Axis(_), V::Int(v)) => V::Int(v),
            (K::Int, V::Bool(v)) => V::int(i64::from(v)),
            (K::Ints | K::Axes(_), V::Ints(v)) => V::Ints(v),
            (K::Ints | K::Axes(_), V::Int(v)) => V::Ints(vec![v]),
            (K::Ints | K::Axes(_), V::Floats(v)) if v.is_empty() => V::Ints(Vec::new()),
            (K::Float, V::Float(v)) => V::Float(v),
            (K::Float, V::Int(v)) => V::Float(real(&v)?),
            (K::Floats, V::Floats(v)) => V::Floats(v),
            (K::Floats, V::Ints(v)) => V::Floats(v.iter().map(real).collect::<Option<_>>()?),
            (K::Floats, V::Float(v)) => V::Floats(vec![v]),
            (K::Str, V::Str(v)) => V::Str(v),
            (K::Strs, V::Strs(v)) => V::Strs(v),
            (K::Strs, V::Str(v)) => V::Strs(vec![v]),
            (K::Strs, V::Ints(v)) if v.is_empty() => V::Strs(Vec::new()),
            (K::OneOf(allowed), V::Str(v)) if allowed.contains(&&*v) => V::Str(v),
            (K::DType, V::DType(v)) => V::DType(v),
            (K::DType, V::Str(v)) => V::DType(v.parse().ok()?),
            (K::Region, V::Region(v)) => V::Region(v),
            (K::Tensor, V::Tensor(v)) => V::Tensor(v),
            (K::Tensor, V::Float(v)) => V::Tensor(Tensor::scalar(v.0 as f32)),
            (K::Tensor, V::Int(v)) => V::Tensor(Tensor::scalar(v.as_const()?)),
            (K::Tensor, V::Bool(v)) => V::Tensor(Tensor::scalar(v)),
            _ => return None,
        })
    }

    /// What the attribute accepts, for messages.
    pub fn expects(&self) -> String {
        match self.kind {
            AttrKind::Bool => "a boolean".into(),
            AttrKind::Int => "an integer".into(),
            AttrKind::Ints => "a list of integers".into(),
            AttrKind::Axis(_) => "an axis (an integer)".into(),
            AttrKind::Axes(_) => "a list of axes (integers)".into(),
            AttrKind::Float => "a number".into(),
            AttrKind::Floats => "a list of numbers".into(),
            AttrKind::Str => "a string".into(),
            AttrKind::Strs => "a list of strings".into(),
            AttrKind::OneOf(allowed) => format!(
                "one of {}",
                allowed.iter().map(|s| format!("{s:?}")).collect::<Vec<_>>().join(", ")
            ),
            AttrKind::DType => "an element type, such as f32".into(),
            AttrKind::Tensor => "a tensor or a number".into(),
            AttrKind::Region => "the name of a function".into(),
        }
    }
}
