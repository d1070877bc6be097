//! Values during an evaluation, and conversion from and to typed tensors.

use ndarray::{ArcArray, IxDyn};

use super::{Number, OpError};
use tautomer_tensor::{DType, Nd, Tensor};

/// A tensor during an evaluation over the number system `S`.
///
/// Floating-point elements of every width are numbers of `S`, and integers of every width are exact; results are
/// rounded or wrapped to their element type when stored.
#[derive(Debug, Clone, PartialEq)]
pub enum Value<S> {
    /// Floating-point elements.
    Real(Nd<S>),
    /// Integer elements.
    Int(Nd<i128>),
    /// Boolean elements.
    Bool(Nd<bool>),
    /// String elements.
    Text(Nd<String>),
    /// An operand that was left out.
    Absent,
}

/// Evaluates `$body`, generic over the element type, and wraps the resulting array in the same kind of value.
#[macro_export]
macro_rules! map_value {
    ($value:expr, $array:ident => $body:expr) => {
        match $value {
            $crate::Value::Real($array) => Ok($crate::Value::Real($body)),
            $crate::Value::Int($array) => Ok($crate::Value::Int($body)),
            $crate::Value::Bool($array) => Ok($crate::Value::Bool($body)),
            $crate::Value::Text($array) => Ok($crate::Value::Text($body)),
            $crate::Value::Absent => Err($crate::OpError::new("an operand is missing")),
        }
    };
}

impl<S: Number> Value<S> {
    /// The shape.
    pub fn shape(&self) -> &[usize] {
        match self {
            Value::Real(a) => a.shape(),
            Value::Int(a) => a.shape(),
            Value::Bool(a) => a.shape(),
            Value::Text(a) => a.shape(),
            Value::Absent => &[],
        }
    }

    /// The floating-point elements.
    pub fn real(&self) -> Result<&Nd<S>, OpError> {
        match self {
            Value::Real(a) => Ok(a),
            _ => Err(OpError::new("expected floating-point elements")),
        }
    }

    /// The integer elements.
    pub fn int(&self) -> Result<&Nd<i128>, OpError> {
        match self {
            Value::Int(a) => Ok(a),
            _ => Err(OpError::new("expected integer elements")),
        }
    }

    /// The boolean elements.
    pub fn bool(&self) -> Result<&Nd<bool>, OpError> {
        match self {
            Value::Bool(a) => Ok(a),
            _ => Err(OpError::new("expected boolean elements")),
        }
    }

    /// A tensor as a value; numbers are converted by `S::from_stored`.
    pub fn from_tensor(tensor: &Tensor) -> Result<Value<S>, OpError> {
        let convert = |values: Vec<f64>| -> Result<Value<S>, OpError> {
            let stored = |x: f64| S::from_stored(x, tensor.dtype());
            let numbers = values.into_iter().map(stored).collect::<Result<Vec<_>, _>>()?;
            Ok(Value::Real(shaped(tensor.shape(), numbers)?))
        };
        Ok(match tensor {
            Tensor::Bool(a) => Value::Bool(a.clone()),
            Tensor::Utf8(a) => Value::Text(a.clone()),
            _ if tensor.dtype().holds_floats() => {
                // `f32` and `f64` evaluation take tensors of their own type without conversion.
                if let Some(same) = same_type::<S>(tensor) {
                    return Ok(Value::Real(same));
                }
                convert(tensor.to_f64s().unwrap_or_default())?
            }
            _ => Value::Int(shaped(tensor.shape(), tensor.to_ints().unwrap_or_default())?),
        })
    }

    /// The value stored with element type `dtype`: numbers are rounded, integers wrapped.
    pub fn into_tensor(self, dtype: DType) -> Result<Tensor, OpError> {
        let mismatch = || OpError::new(format!("a result cannot be stored as {dtype}"));
        match self {
            Value::Bool(a) if dtype == DType::Bool => Ok(Tensor::Bool(a)),
            Value::Text(a) if dtype == DType::Utf8 => Ok(Tensor::Utf8(a)),
            Value::Int(a) if dtype.holds_ints() => {
                let values: Vec<i128> = a.iter().copied().collect();
                Tensor::from_ints(dtype, a.shape(), &values).ok_or_else(mismatch)
            }
            Value::Real(a) if dtype.holds_floats() => {
                if let Some(same) = into_same_type::<S>(&a, dtype) {
                    return Ok(same);
                }
                let values = a.iter().map(S::to_f64).collect::<Result<Vec<_>, _>>()?;
                Tensor::from_f64s(dtype, a.shape(), &values).ok_or_else(mismatch)
            }
            _ => Err(mismatch()),
        }
    }
}

fn same_type<S: Number>(tensor: &Tensor) -> Option<Nd<S>> {
    use std::any::Any;
    match tensor {
        Tensor::F32(a) => (a as &dyn Any).downcast_ref::<Nd<S>>().cloned(),
        Tensor::F64(a) => (a as &dyn Any).downcast_ref::<Nd<S>>().cloned(),
        _ => None,
    }
}

fn into_same_type<S: Number>(array: &Nd<S>, dtype: DType) -> Option<Tensor> {
    use std::any::Any;
    let any = array as &dyn Any;
    match dtype {
        DType::F32 => any.downcast_ref::<Nd<f32>>().map(|a| Tensor::F32(a.clone())),
        DType::F64 => any.downcast_ref::<Nd<f64>>().map(|a| Tensor::F64(a.clone())),
        _ => None,
    }
}

/// An array of that shape, from its elements in row-major order.
pub(crate) fn shaped<T: Clone>(shape: &[usize], elements: Vec<T>) -> Result<Nd<T>, OpError> {
    let n = elements.len();
    ArcArray::from_shape_vec(IxDyn(shape), elements)
        .map_err(|_| OpError::new(format!("{n} elements do not fill the shape {shape:?}")))
}

impl From<super::Refused> for OpError {
    fn from(refused: super::Refused) -> OpError {
        OpError::new(refused.to_string())
    }
}
