//! Types of functions of two numbers.

use super::{Infer, OpError};
use tautomer_tensor::{DType, TensorType, Type};

pub(super) fn infer_float(call: &Infer<'_>) -> Result<Type, OpError> {
    call.expect_dtype(0, DType::is_float, "a floating-point number")?;
    infer_number(call)
}

pub(super) fn infer_number(call: &Infer<'_>) -> Result<Type, OpError> {
    let dtype = call.same_dtype(0, 1)?;
    call.expect_dtype(0, DType::is_number, "a number")?;
    let shape = call.broadcast(0..2)?;
    Ok(TensorType { dtype, shape }.into())
}
