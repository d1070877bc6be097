//! Classification losses.

use super::common::{typed, unify};
use super::{Infer, OpError};
use tautomer_tensor::{DType, Dim, Shape, Type};

pub(super) fn infer_loss(call: &Infer<'_>) -> Result<Type, OpError> {
    let dtype = call.expect_dtype(0, DType::is_float, "a floating-point number")?;
    call.expect_dtype(1, DType::is_int, "a class for each element")?;
    if call.optional(2)?.is_some() {
        call.same_dtype(0, 2)?;
        if call.tensor(2)?.rank().is_some_and(|r| r != 1) {
            return Err(OpError::new(format!(
                "`weights` must be one number for each class, not {}",
                call.tensor(2)?
            ))
            .at(2));
        }
    }
    let (scores, labels) = (call.tensor(0)?, call.tensor(1)?);
    if let Some(shape) = &scores.shape {
        if shape.len() < 2 {
            return Err(OpError::new(format!("`scores` must have at least 2 axes, but is {scores}")).at(0));
        }
        let others: Vec<&Dim> = shape
            .iter()
            .enumerate()
            .filter(|(i, _)| *i != 1)
            .map(|(_, d)| d)
            .collect();
        if let Some(found) = &labels.shape
            && (found.len() != others.len() || found.iter().zip(&others).any(|(a, b)| unify(a, b).is_none()))
        {
            return Err(OpError::new(format!(
                "`labels` is {labels}, but must have the axes of `scores`, {scores}, except axis 1"
            ))
            .at(1)
            .and(0));
        }
    }
    if call.text("reduction") == "none" {
        return Ok(typed(dtype, labels.shape.clone()));
    }
    Ok(typed(dtype, Some(Shape::from(&[] as &[usize]))))
}
