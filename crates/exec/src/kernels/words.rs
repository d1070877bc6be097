//! Elements as words of their size: what moves elements, whatever they mean, is compiled once for each size.
#![allow(
    unsafe_code,
    reason = "elements of plain types are seen as unsigned integers of the same size, and back"
)]

use std::borrow::Cow;
use std::mem::ManuallyDrop;
use std::ptr::NonNull;

use super::call::contiguous;
use super::{Done, Value};
use tautomer_op::OpError;
use tautomer_tensor::strided::{Layout, View};
use tautomer_tensor::{DType, Element, Nd, Tensor, with_array};

/// Evaluates `$body` with `$ty` standing for the words of operand `$i`, if `$has` holds for its type, or for the Rust
/// type of one of the types listed. The call shows them as such words, and the results become elements again.
macro_rules! in_words {
    ($call:expr, $i:expr, $has:expr, $ty:ident => $body:expr, $($dtype:ident $own:ty),*) => {
        $crate::kernels::words::in_words!(@ $call, $i, $has, $ty => $body, [$($dtype $own),*], [1 u8, 2 u16, 4 u32, 8 u64])
    };
    (@ $call:expr, $i:expr, $has:expr, $ty:ident => $body:expr,
        [$($dtype:ident $own:ty),*], [$($size:literal $word:ty),*]) => {{
        let dtype = or_decline!($call.dtype($i));
        let done = $call.in_words(dtype, || match (dtype, dtype.size()) {
            $((tautomer_tensor::DType::$dtype, _) => {
                type $ty = $own;
                $body
            })*
            _ if !$has(dtype) => Ok(None),
            $((_, $size) => {
                type $ty = $word;
                $body
            })*
            _ => Ok(None),
        });
        $crate::kernels::words::back(dtype, done)
    }};
}
pub(super) use in_words;

/// Evaluates `$body`, which moves elements of operand `$i` without regard to what they mean, with `$ty` standing for
/// the type of their words. Words in results are zero or words of operands.
macro_rules! each_word {
    ($call:expr, $i:expr, $ty:ident => $body:expr) => {
        $crate::kernels::words::in_words!(
            $call, $i, $crate::kernels::words::has_words, $ty => $body, Bool bool, Utf8 String)
    };
}
pub(super) use each_word;

/// Evaluates `$body`, which orders or compares the numbers or truth values of operand 0 by their bits, with `$ty`
/// standing for the type of their words.
macro_rules! each_number_word {
    ($call:expr, $ty:ident => $body:expr) => {
        $crate::kernels::words::in_words!($call, 0, tautomer_tensor::DType::is_number, $ty => $body, Bool bool)
    };
}
pub(super) use each_number_word;

/// Evaluates `$body`, a function of the bits of the integers of operand 0, with `$ty` standing for the type of their
/// words.
macro_rules! each_integer_word {
    ($call:expr, $ty:ident => $body:expr) => {
        $crate::kernels::words::in_words!($call, 0, tautomer_tensor::DType::is_int, $ty => $body,)
    };
}
pub(super) use each_integer_word;

/// True if all bit patterns of the size of `dtype` are elements of it.
pub(super) fn has_words(dtype: DType) -> bool {
    use DType::{Binary, Bool, Date32, Timestamp, Utf8};
    !matches!(dtype, Bool | Utf8 | Binary | Date32 | Timestamp)
}

/// True if the elements of `dtype` can be seen as words of type `T`: unsigned integers of the same size, of which the
/// type accepts all bit patterns.
pub(super) fn are_words<T: Element>(dtype: DType) -> bool {
    let is_word = matches!(T::DTYPE, DType::U8 | DType::U16 | DType::U32 | DType::U64);
    is_word && has_words(dtype) && dtype.size() == size_of::<T>()
}

/// The elements of a tensor in row-major order as words; `None` if they are none of type `T`.
pub(super) fn words<T: Element>(tensor: &Tensor) -> Option<Cow<'_, [T]>> {
    if T::DTYPE == tensor.dtype() {
        return contiguous(tensor);
    }
    if !are_words::<T>(tensor.dtype()) {
        return None;
    }
    let Some(start) = start(tensor) else {
        let copy = tensor.reshaped(&[tensor.len()])?;
        let (start, n) = (start(&copy)?, copy.len());
        // SAFETY: as below; the elements are copied once more.
        return Some(
            unsafe { std::slice::from_raw_parts(start.cast().as_ptr(), n) }
                .to_vec()
                .into(),
        );
    };
    // SAFETY: these are the elements of the tensor, borrowed as long as it is; they have the size of `T` and are
    // aligned to it, and `T` accepts all bit patterns.
    Some(unsafe { std::slice::from_raw_parts(start.cast().as_ptr(), tensor.len()) }.into())
}

/// The elements of a tensor as words, in whatever order they are stored; `None` if they are none of type `T`, or already
/// in row-major order.
pub(super) fn view<T: Element>(tensor: &Tensor) -> Option<View<'_, T>> {
    fn stored<E: Element>(array: &Nd<E>) -> Option<(*const u8, Layout)> {
        let view = View::of(array).filter(|_| array.as_slice().is_none())?;
        Some((view.elements().as_ptr().cast(), view.layout().clone()))
    }
    if T::DTYPE != tensor.dtype() && !are_words::<T>(tensor.dtype()) {
        return None;
    }
    let (start, layout) = with_array!(tensor, array => stored(array))?;
    // SAFETY: these are all elements of the tensor, as in `words`: there are no gaps between them.
    View::new(
        unsafe { std::slice::from_raw_parts(start.cast(), tensor.len()) },
        layout,
    )
    .ok()
}

/// Where the elements of a tensor are, if they are in row-major order.
pub(super) fn start(tensor: &Tensor) -> Option<NonNull<u8>> {
    let start = with_array!(tensor, array => array.as_slice().map(|elements| elements.as_ptr().cast::<u8>()));
    start.and_then(|start| NonNull::new(start.cast_mut()))
}

/// The results of a kernel that saw elements of `dtype` as words, with elements in place of words.
pub(super) fn back(dtype: DType, done: Done) -> Done {
    let Some(results) = done? else { return Ok(None) };
    let one = |result: Value| match result {
        Value::Tensor(tensor) => elements(dtype, tensor).map(Value::Tensor),
        placed @ Value::Placed(_) => Ok(placed),
    };
    results.into_iter().map(one).collect::<Result<_, _>>().map(Some)
}

/// A tensor of `dtype` from one of words, or the same tensor if it is none.
fn elements(dtype: DType, tensor: Tensor) -> Result<Tensor, OpError> {
    fn of<W: Element>(dtype: DType, tensor: Tensor) -> Option<Tensor> {
        if !are_words::<W>(dtype) {
            return Some(tensor);
        }
        let shape = tensor.shape().to_vec();
        let array = W::into_array(tensor)?.as_standard_layout().into_owned();
        let (words, first) = array.into_raw_vec_and_offset();
        let words = ManuallyDrop::new(words);
        // Results of kernels begin at the first word of their memory.
        assert!(first.unwrap_or(0) == 0 && words.len() == shape.iter().product::<usize>());
        let parts = (words.as_ptr().cast::<u8>().cast_mut(), words.len(), words.capacity());
        // SAFETY: the vector is not used again.
        unsafe { of_parts(dtype, &shape, parts) }
    }
    let lost = || OpError::new(format!("words are no elements of type {dtype}"));
    match tensor.dtype() {
        same if same == dtype => Some(tensor),
        DType::U8 => of::<u8>(dtype, tensor),
        DType::U16 => of::<u16>(dtype, tensor),
        DType::U32 => of::<u32>(dtype, tensor),
        DType::U64 => of::<u64>(dtype, tensor),
        _ => Some(tensor),
    }
    .ok_or_else(lost)
}

/// A tensor whose elements are the words of a vector.
///
/// # Safety
/// The parts are those of a vector of words of `dtype`, which is not used otherwise.
unsafe fn of_parts(dtype: DType, shape: &[usize], (start, n, capacity): (*mut u8, usize, usize)) -> Option<Tensor> {
    super::each_plain!(dtype, T => {
        // SAFETY: `T` has the size and the alignment of the words, and accepts all their bit patterns.
        Tensor::new::<T>(shape, unsafe { Vec::from_raw_parts(start.cast::<T>(), n, capacity) })
    })
}

#[cfg(test)]
mod tests {
    use super::super::testing::Case;
    use tautomer_tensor::{DType, Element, Nd, Tensor, with_array};

    fn turned<T: Element>(array: &Nd<T>) -> Tensor {
        T::wrap(array.clone().reversed_axes())
    }

    /// Elements of any type, in row-major order and in the opposite one.
    fn tensors() -> Vec<Tensor> {
        let numbers: Vec<f64> = (0..12).map(|i| f64::from(i % 2)).collect();
        let whole: Vec<i128> = (0..12).map(|i| i % 2).collect();
        let of = |dtype: DType| match dtype {
            DType::Bool => Tensor::new(&[3, 4], whole.iter().map(|n| *n == 1).collect::<Vec<bool>>()),
            DType::Utf8 => Tensor::new(&[3, 4], whole.iter().map(i128::to_string).collect::<Vec<String>>()),
            _ if dtype.holds_ints() => Tensor::from_ints(dtype, &[3, 4], &whole),
            _ => Tensor::from_f64s(dtype, &[3, 4], &numbers),
        };
        let all: Vec<Tensor> = DType::ALL.into_iter().filter_map(of).collect();
        assert!(all.len() > 20, "{} types", all.len());
        let turned = all.iter().map(|tensor| with_array!(tensor, array => turned(array)));
        turned.chain(all.iter().cloned()).collect()
    }

    #[test]
    fn elements_of_any_type_are_moved() {
        let indices = Tensor::vector(vec![1i64, 0]);
        for x in &tensors() {
            let x = std::slice::from_ref(x);
            let with = |y: &Tensor| [x[0].clone(), y.clone()];
            assert!(Case::new("transpose", x).ints("perm", &[1, 0]).ulp(0.0).check());
            assert!(
                Case::new("slice", x)
                    .ints("starts", &[2])
                    .ints("ends", &[0])
                    .ints("steps", &[-1])
                    .check()
            );
            assert!(Case::new("concat", &with(&x[0])).int("axis", 1).ulp(0.0).check());
            assert!(Case::new("gather", &with(&indices)).int("axis", 1).ulp(0.0).check());
        }
    }
}
