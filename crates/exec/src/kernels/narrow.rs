//! 16-bit floats by the `f32` kernels: widened, computed, rounded.
//!
//! Sums, products, quotients and square roots are correctly rounded, since `f32` has more than twice the digits
//! (Figueroa, "When is double rounding innocuous?", 1995).

use half::{bf16, f16, slice::HalfFloatSliceExt};

use super::call::{contiguous, or_decline, value};
use super::{Call, Context, Done, Kernel, Operand, Value};
use tautomer_op::{AttrValue, OpDef, OpError};
use tautomer_tensor::{DType, Tensor, Type};

/// The results of a call on narrow floats by one of `kernels`; `None` if there is none for `f32` or all decline.
pub(super) fn run(
    kernels: &[Kernel],
    def: &'static OpDef,
    operands: &[Operand<'_>],
    attrs: &[AttrValue],
    context: Context<'_>,
) -> Done {
    let mut wide = kernels.iter().filter(|k| k.dtype == Some(DType::F32)).peekable();
    if wide.peek().is_none() {
        return Ok(None);
    }
    let outer = Call::new(def, operands, attrs, context)?;
    let widened: Vec<Option<Tensor>> = (0..operands.len()).map(|i| widened(&outer, i)).collect();
    let operands: Vec<Operand<'_>> = widened.iter().map(Operand::from).collect();
    let context = Context {
        kept: None,
        memory: None,
        results: &[],
        ..context
    };
    let call = Call::new(def, &operands, attrs, context)?;
    for kernel in wide {
        if let Some(results) = (kernel.run)(&call)? {
            let rounded = |(k, result)| rounded(&outer, k, result);
            return results.into_iter().enumerate().map(rounded).collect();
        }
    }
    Ok(None)
}

/// True for the 16-bit types.
pub(super) fn is_narrow(dtype: DType) -> bool {
    matches!(dtype, DType::F16 | DType::BF16)
}

/// Operand `i` with the elements of narrow floats widened.
fn widened(call: &Call<'_>, i: usize) -> Option<Tensor> {
    let wide = || -> Option<Tensor> {
        let elements = match call.dtype(i)? {
            DType::F16 => call.slice::<f16>(i)?.to_f32_vec(),
            DType::BF16 => call.slice::<bf16>(i)?.to_f32_vec(),
            _ => return None,
        };
        Tensor::new::<f32>(call.shape(i), elements)
    };
    wide().or_else(|| call.optional(i).cloned())
}

/// Result `k`, converted to the type that the call on narrow operands gives it.
fn rounded(call: &Call<'_>, k: usize, result: Value) -> Result<Option<Value>, OpError> {
    let expected = match call.result() {
        Type::Tuple(items) => items.get(k).and_then(Type::as_tensor),
        single => single.as_tensor(),
    };
    let (expected, Value::Tensor(result)) = (or_decline!(expected).dtype, result) else {
        return Ok(None);
    };
    if result.dtype() == expected {
        return Ok(Some(result.into()));
    }
    let elements = or_decline!(contiguous::<f32>(&result));
    match expected {
        DType::F16 => {
            let mut narrow = call.result_room_of::<f16>(k, elements.len());
            narrow.convert_from_f32_slice(&elements);
            value(result.shape(), narrow).map(Some)
        }
        DType::BF16 => {
            let mut narrow = call.result_room_of::<bf16>(k, elements.len());
            for (to, &from) in narrow.iter_mut().zip(&*elements) {
                *to = bf16::from_f32(from);
            }
            value(result.shape(), narrow).map(Some)
        }
        _ => Ok(None),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernels::testing::{Case, f32s};

    fn narrow(dtype: DType, shape: &[usize], seed: u64) -> Tensor {
        Tensor::from_f64s(dtype, shape, &f32s(shape, seed).to_f64s().unwrap()).unwrap()
    }

    #[test]
    fn single_operations_are_exact() {
        for dtype in [DType::F16, DType::BF16] {
            let (x, y) = (narrow(dtype, &[40, 50], 1), narrow(dtype, &[50], 2));
            for op in ["add", "sub", "mul", "div", "max", "less"] {
                assert!(Case::new(op, &[x.clone(), y.clone()]).ulp(0.0).check());
            }
            for op in ["relu", "abs", "sqrt"] {
                assert!(Case::new(op, std::slice::from_ref(&x)).ulp(0.0).check());
            }
        }
    }

    #[test]
    fn sums_are_as_close_as_the_type_allows() {
        for (dtype, unit) in [(DType::F16, 1e-3), (DType::BF16, 8e-3)] {
            let (x, w) = (narrow(dtype, &[1, 3, 9, 8], 1), narrow(dtype, &[4, 3, 3, 3], 2));
            assert!(Case::new("conv", &[x.clone(), w]).ulp(unit).check());
            let m = narrow(dtype, &[8, 5], 3);
            assert!(Case::new("matmul", &[x.clone(), m]).ulp(unit).check());
            assert!(Case::new("softmax", std::slice::from_ref(&x)).ulp(unit).check());
            assert!(Case::new("reduce_mean", &[x]).ulp(unit).check());
        }
    }

    #[test]
    fn each_result_has_its_type() {
        let x = narrow(DType::F16, &[1, 2, 6, 6], 1);
        assert!(
            Case::new("max_pool", std::slice::from_ref(&x))
                .ints("kernel_shape", &[2, 2])
                .ulp(0.0)
                .check()
        );
        // Booleans stay unchanged.
        assert!(Case::new("less", &[x.clone(), x]).ulp(0.0).check());
    }
}
