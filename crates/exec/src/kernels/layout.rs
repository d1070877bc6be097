//! Operators that keep, join, pick or convert elements.
#![allow(
    unsafe_code,
    reason = "numbers are converted to integers that they fit, without checking again"
)]

use half::slice::HalfFloatSliceExt;
use half::{bf16, f16};
use pulp::{Arch, NullaryFnOnce};

use super::call::{done, or_decline};
use super::typed::each;
use super::words::each_word;
use super::{Call, Done, Kernel, Results};
use smallvec::SmallVec;
use tautomer_tensor::{DType, Element};

/// The kernels of this family.
pub(super) const KERNELS: &[Kernel] = &[
    Kernel::view("identity", view),
    Kernel::view("dropout", view),
    Kernel::any("concat", concat),
    Kernel::any("gather", gather),
    Kernel::any("cast", cast),
];

fn view(call: &Call<'_>) -> Done {
    let shape = or_decline!(call.out_shape());
    let result = or_decline!(call.tensor(0)?.reshaped(&shape));
    Ok(Some(Results::from_iter([result.into()])))
}

fn concat(call: &Call<'_>) -> Done {
    fn typed<T: Element>(call: &Call<'_>, shape: &[usize], axis: usize) -> Done {
        let mut parts: SmallVec<[_; 8]> = SmallVec::new();
        for i in 0..call.operands.len() {
            let block: usize = call.shape(i)[axis..].iter().product();
            parts.push((or_decline!(call.slice::<T>(i)), block));
        }
        let outer: usize = shape[..axis].iter().product();
        let mut out = call.result_empty(shape.iter().product());
        for i in 0..outer {
            for (part, block) in &parts {
                out.extend_from_slice(&part[i * block..][..*block]);
            }
        }
        done(shape, out)
    }
    let shape = or_decline!(call.out_shape());
    let axis = or_decline!(call.axis("axis", shape.len()));
    each_word!(call, 0, T => typed::<T>(call, &shape, axis))
}

fn gather(call: &Call<'_>) -> Done {
    fn typed<T: Element>(call: &Call<'_>, places: &[usize], axis: usize) -> Done {
        let shape = &or_decline!(call.out_shape());
        let whole = or_decline!(call.slice::<T>(0));
        let own = call.shape(0);
        let inner: usize = own[axis + 1..].iter().product();
        let block = own[axis] * inner;
        let mut out = call.result_empty(shape.iter().product());
        for outer in 0..own[..axis].iter().product() {
            for place in places {
                out.extend_from_slice(&whole[outer * block + place * inner..][..inner]);
            }
        }
        done(shape, out)
    }
    let axis = or_decline!(call.axis("axis", call.shape(0).len()));
    let n = i128::try_from(call.shape(0)[axis]).unwrap_or(i128::MAX);
    let places: Option<Vec<usize>> = or_decline!(call.tensor(1)?.to_ints())
        .into_iter()
        .map(|i| if i < 0 { i + n } else { i })
        .map(|i| usize::try_from(i).ok().filter(|_| i < n))
        .collect();
    // An index out of range is left to the reference semantics to report.
    let places = or_decline!(places);
    each_word!(call, 0, T => typed::<T>(call, &places, axis))
}

/// The low bits of the integer next to `x` on the side of zero. From 2^31 on, they are zero, up to the greatest integer
/// of 128 bits, which larger numbers become.
fn low_bits(x: f32) -> u8 {
    let far = if x >= 2f32.powi(127) { u8::MAX } else { 0 };
    if x.abs() < 2f32.powi(31) { x as i32 as u8 } else { far }
}

/// True if all numbers lie between `-most` and `most`.
pub(super) fn are_below(x: &[f32], most: f32) -> bool {
    struct Below<'a>(&'a [f32], f32);

    impl NullaryFnOnce for Below<'_> {
        type Output = bool;
        #[inline(always)]
        fn call(self) -> bool {
            // Elements are compared in vectors, which ends at the first large one do not allow.
            self.0.iter().fold(true, |all, x| all & (x.abs() < self.1))
        }
    }

    x.chunks(1024).all(|x| Arch::new().dispatch(Below(x, most)))
}

/// The integer next to a number on the side of zero.
///
/// # Safety
/// The number lies between -2^31 and 2^31.
#[inline(always)]
unsafe fn truncated(x: f32) -> i32 {
    // SAFETY: by the caller; the integer is one of 32 bits.
    unsafe { x.to_int_unchecked() }
}

/// Conversions of narrow floats from and to `f32`, each of which rounds to nearest.
fn cast_narrow(call: &Call<'_>) -> Done {
    let n = call.shape(0).iter().product();
    match (or_decline!(call.dtype(0)), or_decline!(call.result_type()).dtype) {
        (DType::F32, DType::F16) => {
            let mut out = call.result_room::<f16>(n);
            out.convert_from_f32_slice(&or_decline!(call.f32s(0)));
            done(call.shape(0), out)
        }
        (DType::F16, DType::F32) => {
            let mut out = call.result_room::<f32>(n);
            or_decline!(call.slice::<f16>(0)).convert_to_f32_slice(&mut out);
            done(call.shape(0), out)
        }
        (DType::F32, DType::BF16) => each(call, bf16::from_f32),
        (DType::BF16, DType::F32) => each(call, |v: bf16| f32::from_bits(u32::from(v.to_bits()) << 16)),
        _ => Ok(None),
    }
}

/// Conversions that are exact, round to nearest, or take integers of 8 bits.
fn cast(call: &Call<'_>) -> Done {
    let to = or_decline!(call.result_type()).dtype;
    let are_below = |most: f32| call.f32s(0).is_some_and(|x| are_below(&x, most));
    match (or_decline!(call.dtype(0)), to) {
        (from, to) if from == to => view(call),
        (DType::F32, DType::F64) => each(call, |v: f32| f64::from(v)),
        (DType::F64, DType::F32) => each(call, |v: f64| v as f32),
        (DType::I32, DType::I64) => each(call, |v: i32| i64::from(v)),
        (DType::I32, DType::F32) => each(call, |v: i32| v as f32),
        (DType::I32, DType::F64) => each(call, |v: i32| f64::from(v)),
        (DType::I64, DType::F64) => each(call, |v: i64| v as f64),
        (DType::Bool, DType::I32) => each(call, |v: bool| i32::from(v)),
        (DType::U8, DType::I32) => each(call, |v: u8| i32::from(v)),
        (DType::U8, DType::I64) => each(call, |v: u8| i64::from(v)),
        (DType::I64, DType::F32) => each(call, |v: i64| v as f32),
        (DType::U8, DType::F32) => each(call, |v: u8| f32::from(v)),
        (DType::I8, DType::I32) => each(call, |v: i8| i32::from(v)),
        (DType::I8, DType::F32) => each(call, |v: i8| f32::from(v)),
        (DType::F32, DType::U8) => each(call, low_bits),
        (DType::F32, DType::I8) => each(call, |v: f32| low_bits(v).cast_signed()),
        (DType::Bool, DType::F32) => each(call, |v: bool| f32::from(u8::from(v))),
        (DType::Bool, DType::I64) => each(call, |v: bool| i64::from(v)),
        (DType::F32, DType::Bool) => each(call, |v: f32| v != 0.0),
        (DType::I64, DType::Bool) => each(call, |v: i64| v != 0),
        (DType::I32, DType::Bool) => each(call, |v: i32| v != 0),
        (DType::I64, DType::I32) => each(call, |v: i64| v as i32),
        // Larger numbers wrap around.
        (DType::F32, DType::I64) if are_below(2f32.powi(63)) => each(call, |v: f32| v as i64),
        (DType::F32, DType::I64) => each(call, |v: f32| v as i128 as i64),
        // SAFETY: `are_below` has found that all numbers have a magnitude of less than 2^31.
        (DType::F32, DType::I32) if are_below(2f32.powi(31)) => each(call, |v: f32| unsafe { truncated(v) }),
        (DType::F32, DType::I32) => each(call, |v: f32| v as i128 as i32),
        _ => cast_narrow(call),
    }
}

#[cfg(test)]
#[path = "layout_tests.rs"]
mod tests;
