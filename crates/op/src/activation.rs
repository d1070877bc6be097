//! Types of activation functions.

use super::{Infer, OpError};
use tautomer_tensor::{DType, Dim, Shape, Type};

pub(super) fn infer_prelu(call: &Infer<'_>) -> Result<Type, OpError> {
    call.expect_dtype(0, DType::is_number, "a number")?;
    call.same_dtype(0, 1)?;
    let x = call.tensor(0)?;
    let Some(merged) = call.broadcast(0..2)? else {
        return Ok(x.clone().into());
    };
    let differs = |(own, both): (&Dim, &Dim)| matches!((own, both), (Dim::Const(a), Dim::Const(b)) if a != b);
    let wider = |s: &Shape| s.len() < merged.len() || s.iter().zip(merged.iter()).any(differs);
    if x.shape.as_ref().is_some_and(wider) {
        return Err(OpError::new("`slope` must broadcast to the shape of `x`").at(1).and(0));
    }
    Ok(x.clone().into())
}
