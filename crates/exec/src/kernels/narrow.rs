//! 16-bit floats by the `f32` kernels: widened, computed, rounded.
//!
//! Sums, products, quotients and square roots are correctly rounded, since `f32` has more than twice the digits
//! (Figueroa, "When is double rounding innocuous?", 1995).

use half::{bf16, f16, slice::HalfFloatSliceExt};

use super::call::contiguous;
use super::{Call, Context, Kernel};
use tautomer_op::{AttrValue, OpDef, OpError};
use tautomer_tensor::{DType, Tensor, Type};

/// The results of a call on narrow floats by one of `kernels`; `None` if there is none for `f32` or all decline.
pub(super) fn run(
    kernels: &[Kernel],
    def: &'static OpDef,
    operands: &[Option<Tensor>],
    attrs: &[AttrValue],
    context: Context<'_>,
) -> Result<Option<Vec<Tensor>>, OpError> {
    let mut wide = kernels.iter().filter(|k| k.dtype == Some(DType::F32)).peekable();
    if wide.peek().is_none() {
        return Ok(None);
    }
    let expected = Call::new(def, operands, attrs, context)?;
    let operands: Vec<Option<Tensor>> = operands.iter().map(|o| o.as_ref().map(widened)).collect();
    let context = Context {
        kept: None,
        finishing: None,
        ..context
    };
    let call = Call::new(def, &operands, attrs, context)?;
    for kernel in wide {
        if let Some(results) = (kernel.run)(&call)? {
            return Ok(results
                .into_iter()
                .enumerate()
                .map(|(i, result)| rounded(result, expected.result(), i))
                .collect());
        }
    }
    Ok(None)
}

/// True for the 16-bit types.
pub(super) fn is_narrow(dtype: DType) -> bool {
    matches!(dtype, DType::F16 | DType::BF16)
}

fn widened(tensor: &Tensor) -> Tensor {
    let wide = || -> Option<Tensor> {
        let elements = match tensor.dtype() {
            DType::F16 => contiguous::<f16>(tensor)?.to_f32_vec(),
            DType::BF16 => contiguous::<bf16>(tensor)?.to_f32_vec(),
            _ => return None,
        };
        Tensor::new::<f32>(tensor.shape(), elements)
    };
    wide().unwrap_or_else(|| tensor.clone())
}

/// Result `i`, converted to the type that the call on narrow operands gives it.
fn rounded(result: Tensor, expected: &Type, i: usize) -> Option<Tensor> {
    let expected = match expected {
        Type::Tuple(items) => items.get(i)?.as_tensor()?.dtype,
        single => single.as_tensor()?.dtype,
    };
    if result.dtype() == expected {
        return Some(result);
    }
    let elements = contiguous::<f32>(&result)?;
    let mut narrow = Vec::new();
    match expected {
        DType::F16 => {
            narrow.resize(elements.len(), f16::ZERO);
            narrow.convert_from_f32_slice(&elements);
            Tensor::new::<f16>(result.shape(), narrow)
        }
        DType::BF16 => {
            let narrow = elements.iter().map(|&x| bf16::from_f32(x)).collect();
            Tensor::new::<bf16>(result.shape(), narrow)
        }
        _ => None,
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
