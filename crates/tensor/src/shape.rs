//! Shapes, tensor types, and types of expressions.

use std::fmt;
use std::ops::{Deref, DerefMut};

use serde::{Deserialize, Serialize};
use smallvec::SmallVec;

use super::{DType, Dim};

/// The maximum rank of a tensor, far more than any model uses. It bounds the cost per axis in time and memory, since
/// the rank of a result may be a dimension of an operand that stands for a shape.
pub const MAX_RANK: usize = 64;

/// The dimensions of a tensor, outermost axis first; `[]` is a scalar.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Default, Serialize, Deserialize)]
pub struct Shape(SmallVec<[Dim; 4]>);

impl Shape {
    /// The shape of a scalar.
    pub fn scalar() -> Shape {
        Shape::default()
    }

    /// The number of elements.
    pub fn size(&self) -> Dim {
        self.0.iter().cloned().product()
    }

    /// All dimensions, if each is known and not negative.
    ///
    /// ```
    /// use tautomer_tensor::{Dim, Shape};
    /// assert_eq!(Shape::from([2, 3]).to_concrete(), Some(vec![2, 3]));
    /// assert_eq!(Shape::from_iter([Dim::symbol("n")]).to_concrete(), None);
    /// ```
    pub fn to_concrete(&self) -> Option<Vec<usize>> {
        self.0.iter().map(|d| usize::try_from(d.as_const()?).ok()).collect()
    }

    /// Adds an innermost axis.
    pub fn push(&mut self, dim: Dim) {
        self.0.push(dim);
    }

    /// Inserts an axis before position `at`.
    pub fn insert(&mut self, at: usize, dim: Dim) {
        self.0.insert(at, dim);
    }

    /// Removes axis `at`.
    pub fn remove(&mut self, at: usize) -> Dim {
        self.0.remove(at)
    }

    /// The shape after broadcasting with `other` by ONNX (NumPy) rules: trailing axes are aligned, and dimensions must
    /// be equal or one of them 1. A known dimension above 1 wins over an unknown or symbolic one.
    ///
    /// # Errors
    /// The axis of the result, counted from the end, along which the dimensions are known to differ.
    ///
    /// ```
    /// use tautomer_tensor::Shape;
    /// let sum = Shape::from([8, 1, 3]).broadcast(&Shape::from([4, 1]));
    /// assert_eq!(sum, Ok(Shape::from([8, 4, 3])));
    /// assert_eq!(Shape::from([2]).broadcast(&Shape::from([3])), Err(0));
    /// ```
    pub fn broadcast(&self, other: &Shape) -> Result<Shape, usize> {
        let rank = self.len().max(other.len());
        let mut out: SmallVec<[Dim; 4]> = SmallVec::with_capacity(rank);
        for from_end in (0..rank).rev() {
            let at = |s: &Shape| s.len().checked_sub(from_end + 1).map(|i| s[i].clone());
            out.push(match (at(self), at(other)) {
                (Some(a), Some(b)) => broadcast_dim(a, b).ok_or(from_end)?,
                (Some(d), None) | (None, Some(d)) => d,
                (None, None) => Dim::Const(1),
            });
        }
        Ok(Shape(out))
    }
}

/// The more exact of two descriptions of the same dimension; the first if neither is more exact.
fn more_exact<'a>(a: &'a Dim, b: &'a Dim) -> &'a Dim {
    match (a, b) {
        (Dim::Const(_), _) => a,
        (_, Dim::Const(_)) => b,
        _ if a.has_unknown() && !b.has_unknown() => b,
        _ => a,
    }
}

fn broadcast_dim(a: Dim, b: Dim) -> Option<Dim> {
    match (&a, &b) {
        _ if a == b => Some(a),
        (Dim::Const(1), _) => Some(b),
        (_, Dim::Const(1)) => Some(a),
        (Dim::Const(_), Dim::Const(_)) => None,
        (Dim::Const(_), _) => Some(a),
        (_, Dim::Const(_)) => Some(b),
        // Two symbols are equal, or one of them is 1; their maximum is right in both cases.
        _ => Some(a.maximum(&b)),
    }
}

impl Deref for Shape {
    type Target = [Dim];
    fn deref(&self) -> &[Dim] {
        &self.0
    }
}

impl DerefMut for Shape {
    fn deref_mut(&mut self) -> &mut [Dim] {
        &mut self.0
    }
}

impl FromIterator<Dim> for Shape {
    fn from_iter<I: IntoIterator<Item = Dim>>(iter: I) -> Shape {
        Shape(iter.into_iter().collect())
    }
}

impl<const N: usize> From<[i64; N]> for Shape {
    fn from(dims: [i64; N]) -> Shape {
        dims.into_iter().map(Dim::Const).collect()
    }
}

impl From<&[usize]> for Shape {
    fn from(dims: &[usize]) -> Shape {
        dims.iter().copied().map(Dim::from).collect()
    }
}

impl fmt::Display for Shape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("[")?;
        for (i, dim) in self.0.iter().enumerate() {
            let comma = if i > 0 { ", " } else { "" };
            write!(f, "{comma}{dim}")?;
        }
        f.write_str("]")
    }
}

/// Element type and shape of a tensor; the rank may be unknown.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct TensorType {
    /// Type of one element.
    pub dtype: DType,
    /// The dimensions, or `None` if the rank is unknown.
    pub shape: Option<Shape>,
}

impl TensorType {
    /// A type of known rank.
    pub fn new(dtype: DType, shape: impl Into<Shape>) -> TensorType {
        TensorType {
            dtype,
            shape: Some(shape.into()),
        }
    }

    /// A type of which only the element type is known.
    pub fn any_rank(dtype: DType) -> TensorType {
        TensorType { dtype, shape: None }
    }

    /// The rank, if known.
    pub fn rank(&self) -> Option<usize> {
        self.shape.as_ref().map(|s| s.len())
    }

    /// True if a value of type `other` may be used where this type is expected: the element types are equal and no
    /// dimension is known to differ.
    pub fn admits(&self, other: &TensorType) -> bool {
        self.dtype == other.dtype
            && match (&self.shape, &other.shape) {
                (Some(a), Some(b)) => {
                    a.len() == b.len()
                        && a.iter().zip(b.iter()).all(|(x, y)| match (x, y) {
                            (Dim::Const(x), Dim::Const(y)) => x == y,
                            _ => true,
                        })
                }
                _ => true,
            }
    }
}

impl fmt::Display for TensorType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.shape {
            None => write!(f, "{}[..]", self.dtype),
            Some(shape) if shape.is_empty() => write!(f, "{}", self.dtype),
            Some(shape) => write!(f, "{}{shape}", self.dtype),
        }
    }
}

/// The type of an expression.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Type {
    /// One tensor.
    Tensor(TensorType),
    /// A tuple of values.
    Tuple(Vec<Type>),
    /// A sequence of values of one type.
    Sequence(Box<Type>),
    /// A value that may be absent at run time.
    Optional(Box<Type>),
    /// No value: an optional operand was left out.
    Absent,
}

impl Type {
    /// A tensor of known rank.
    pub fn tensor(dtype: DType, shape: impl Into<Shape>) -> Type {
        Type::Tensor(TensorType::new(dtype, shape))
    }

    /// The tensor type, if it is one.
    pub fn as_tensor(&self) -> Option<&TensorType> {
        match self {
            Type::Tensor(tensor) => Some(tensor),
            _ => None,
        }
    }

    /// The largest rank among the tensors inside; 0 if no rank is known.
    pub fn largest_rank(&self) -> usize {
        match self {
            Type::Tensor(t) => t.rank().unwrap_or(0),
            Type::Tuple(items) => items.iter().map(Type::largest_rank).max().unwrap_or(0),
            Type::Sequence(item) | Type::Optional(item) => item.largest_rank(),
            Type::Absent => 0,
        }
    }

    /// Calls `f` for every dimension inside.
    pub fn visit_dims(&self, f: &mut dyn FnMut(&Dim)) {
        match self {
            Type::Tensor(t) => t.shape.iter().flat_map(|s| s.iter()).for_each(f),
            Type::Tuple(items) => items.iter().for_each(|t| t.visit_dims(f)),
            Type::Sequence(item) | Type::Optional(item) => item.visit_dims(f),
            Type::Absent => {}
        }
    }

    /// The type with every dimension replaced by `f` of it.
    pub fn map_dims(&self, f: &dyn Fn(&Dim) -> Dim) -> Type {
        match self {
            Type::Tensor(t) => Type::Tensor(TensorType {
                dtype: t.dtype,
                shape: t.shape.as_ref().map(|s| s.iter().map(f).collect()),
            }),
            Type::Tuple(items) => Type::Tuple(items.iter().map(|t| t.map_dims(f)).collect()),
            Type::Sequence(item) => Type::Sequence(Box::new(item.map_dims(f))),
            Type::Optional(item) => Type::Optional(Box::new(item.map_dims(f))),
            Type::Absent => Type::Absent,
        }
    }

    /// Combines two types of the same value: each dimension is the more exact of the two. Where they contradict each
    /// other, this type wins.
    ///
    /// ```
    /// use tautomer_tensor::{DType, Dim, Shape, Type};
    /// let ty = |a: Dim, b: Dim| Type::tensor(DType::F32, [a, b].into_iter().collect::<Shape>());
    /// let a = ty(Dim::unknown(1), Dim::symbol("n"));
    /// let b = ty(Dim::symbol("m"), Dim::from(4));
    /// assert_eq!(a.joined(&b), ty(Dim::symbol("m"), Dim::from(4)));
    /// ```
    pub fn joined(&self, other: &Type) -> Type {
        match (self, other) {
            (Type::Absent, _) => other.clone(),
            (Type::Tensor(a), Type::Tensor(b)) if a.admits(b) => Type::Tensor(TensorType {
                dtype: a.dtype,
                shape: match (&a.shape, &b.shape) {
                    (Some(x), Some(y)) => Some(x.iter().zip(y.iter()).map(|(d, e)| more_exact(d, e).clone()).collect()),
                    (x, y) => x.clone().or_else(|| y.clone()),
                },
            }),
            (Type::Tuple(a), Type::Tuple(b)) if a.len() == b.len() => {
                Type::Tuple(a.iter().zip(b).map(|(x, y)| x.joined(y)).collect())
            }
            (Type::Sequence(a), Type::Sequence(b)) => Type::Sequence(Box::new(a.joined(b))),
            (Type::Optional(a), Type::Optional(b)) => Type::Optional(Box::new(a.joined(b))),
            _ => self.clone(),
        }
    }

    /// True if a value of type `other` may be used where this type is expected.
    pub fn admits(&self, other: &Type) -> bool {
        match (self, other) {
            (Type::Tensor(a), Type::Tensor(b)) => a.admits(b),
            (Type::Tuple(a), Type::Tuple(b)) => a.len() == b.len() && a.iter().zip(b).all(|(x, y)| x.admits(y)),
            (Type::Sequence(a), Type::Sequence(b)) | (Type::Optional(a), Type::Optional(b)) => a.admits(b),
            (Type::Absent, Type::Absent) => true,
            _ => false,
        }
    }
}

impl From<TensorType> for Type {
    fn from(tensor: TensorType) -> Type {
        Type::Tensor(tensor)
    }
}

impl fmt::Display for Type {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Type::Tensor(tensor) => write!(f, "{tensor}"),
            Type::Absent => f.write_str("none"),
            Type::Sequence(item) => write!(f, "sequence({item})"),
            Type::Optional(item) => write!(f, "optional({item})"),
            Type::Tuple(items) => {
                f.write_str("(")?;
                for (i, item) in items.iter().enumerate() {
                    let comma = if i > 0 { ", " } else { "" };
                    write!(f, "{comma}{item}")?;
                }
                f.write_str(if items.len() == 1 { ",)" } else { ")" })
            }
        }
    }
}
