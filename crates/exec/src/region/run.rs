//! Running a region.

use std::borrow::Cow;
use std::sync::{Arc, Mutex, PoisonError};

use half::slice::HalfFloatSliceExt;
use half::vec::{HalfBitsVecExt, HalfFloatVecExt};
use rustc_hash::FxHashMap;
use tautomer_loops::{Kernel, Sink, Source};
use tautomer_op::OpDef;
use tautomer_tensor::{DType, Element, Tensor};

use super::Region;
use super::find::tensor;
use super::lower;
use crate::kernels::Buffers;
use crate::plan::{Plan, SlotId};

/// Rows of the innermost dimension below which a call of the loop costs more than it computes.
const SHORT: usize = 16;

/// A region with the code of earlier runs.
pub(crate) struct Ready {
    pub(crate) region: Region,
    /// Compiled for each set of inputs that are the same in all rows; `None` if it cannot be.
    kernels: Mutex<FxHashMap<Vec<bool>, Option<Arc<Kernel>>>>,
}

/// The elements of an operand in row-major order, as a loop reads them.
enum Given<'a> {
    Bytes(Cow<'a, [u8]>),
    I8(Cow<'a, [i8]>),
    I16(Cow<'a, [i16]>),
    I32(Cow<'a, [i32]>),
    I64(Cow<'a, [i64]>),
    U16(Cow<'a, [u16]>),
    U32(Cow<'a, [u32]>),
    U64(Cow<'a, [u64]>),
    F32(Cow<'a, [f32]>),
    F64(Cow<'a, [f64]>),
}

fn elements<T: Element + Copy>(tensor: &Tensor) -> Option<Cow<'_, [T]>> {
    let array = T::array(tensor)?;
    Some(match array.as_slice() {
        Some(slice) => Cow::Borrowed(slice),
        None => Cow::Owned(array.iter().copied().collect()),
    })
}

/// The same bits of 16-bit floats.
fn half_bits<T: Element + Copy>(tensor: &Tensor) -> Option<Cow<'_, [u16]>>
where
    [T]: HalfFloatSliceExt,
    Vec<T>: HalfFloatVecExt,
{
    Some(match elements::<T>(tensor)? {
        Cow::Borrowed(slice) => Cow::Borrowed(slice.reinterpret_cast()),
        Cow::Owned(all) => Cow::Owned(all.reinterpret_into()),
    })
}

impl<'a> Given<'a> {
    fn of(tensor: &'a Tensor) -> Option<Given<'a>> {
        Some(match tensor.dtype() {
            DType::Bool => Given::Bytes(elements::<bool>(tensor)?.iter().map(|&truth| u8::from(truth)).collect()),
            DType::U8 => Given::Bytes(elements(tensor)?),
            DType::I8 => Given::I8(elements(tensor)?),
            DType::I16 => Given::I16(elements(tensor)?),
            DType::I32 => Given::I32(elements(tensor)?),
            DType::I64 => Given::I64(elements(tensor)?),
            DType::U16 => Given::U16(elements(tensor)?),
            DType::U32 => Given::U32(elements(tensor)?),
            DType::U64 => Given::U64(elements(tensor)?),
            DType::F16 => Given::U16(half_bits::<half::f16>(tensor)?),
            DType::BF16 => Given::U16(half_bits::<half::bf16>(tensor)?),
            DType::F32 => Given::F32(elements(tensor)?),
            DType::F64 => Given::F64(elements(tensor)?),
            _ => return None,
        })
    }

    fn source(&self, start: usize, rows: usize) -> Source<'_> {
        let range = start..start + rows;
        match self {
            Given::Bytes(all) => Source::U8(&all[range]),
            Given::I8(all) => Source::I8(&all[range]),
            Given::I16(all) => Source::I16(&all[range]),
            Given::I32(all) => Source::I32(&all[range]),
            Given::I64(all) => Source::I64(&all[range]),
            Given::U16(all) => Source::U16(&all[range]),
            Given::U32(all) => Source::U32(&all[range]),
            Given::U64(all) => Source::U64(&all[range]),
            Given::F32(all) => Source::F32(&all[range]),
            Given::F64(all) => Source::F64(&all[range]),
        }
    }
}

/// The elements of a result.
enum Made {
    Bytes(Vec<u8>),
    I8(Vec<i8>),
    I16(Vec<i16>),
    I32(Vec<i32>),
    I64(Vec<i64>),
    U16(Vec<u16>),
    U32(Vec<u32>),
    U64(Vec<u64>),
    F32(Vec<f32>),
    F64(Vec<f64>),
}

impl Made {
    fn new(dtype: DType, n: usize, buffers: &Buffers) -> Option<Made> {
        Some(match dtype {
            DType::Bool => Made::Bytes(vec![0; n]),
            DType::U8 => Made::Bytes(buffers.take(n)),
            DType::I8 => Made::I8(buffers.take(n)),
            DType::I16 => Made::I16(buffers.take(n)),
            DType::I32 => Made::I32(buffers.take(n)),
            DType::I64 => Made::I64(buffers.take(n)),
            DType::U16 => Made::U16(buffers.take(n)),
            DType::F16 => Made::U16(buffers.take::<half::f16>(n).reinterpret_into()),
            DType::BF16 => Made::U16(buffers.take::<half::bf16>(n).reinterpret_into()),
            DType::U32 => Made::U32(buffers.take(n)),
            DType::U64 => Made::U64(buffers.take(n)),
            DType::F32 => Made::F32(buffers.take(n)),
            DType::F64 => Made::F64(buffers.take(n)),
            _ => return None,
        })
    }

    fn sink(&mut self, start: usize, rows: usize) -> Sink<'_> {
        let range = start..start + rows;
        match self {
            Made::Bytes(all) => Sink::U8(&mut all[range]),
            Made::I8(all) => Sink::I8(&mut all[range]),
            Made::I16(all) => Sink::I16(&mut all[range]),
            Made::I32(all) => Sink::I32(&mut all[range]),
            Made::I64(all) => Sink::I64(&mut all[range]),
            Made::U16(all) => Sink::U16(&mut all[range]),
            Made::U32(all) => Sink::U32(&mut all[range]),
            Made::U64(all) => Sink::U64(&mut all[range]),
            Made::F32(all) => Sink::F32(&mut all[range]),
            Made::F64(all) => Sink::F64(&mut all[range]),
        }
    }

    fn into_tensor(self, dtype: DType, shape: &[usize]) -> Option<Tensor> {
        match (self, dtype) {
            (Made::Bytes(all), DType::Bool) => Tensor::new::<bool>(shape, all.into_iter().map(|x| x != 0).collect()),
            (Made::U16(all), DType::F16) => Tensor::new::<half::f16>(shape, all.reinterpret_into()),
            (Made::U16(all), DType::BF16) => Tensor::new::<half::bf16>(shape, all.reinterpret_into()),
            (Made::Bytes(all), _) => Tensor::new(shape, all),
            (Made::I8(all), _) => Tensor::new(shape, all),
            (Made::I16(all), _) => Tensor::new(shape, all),
            (Made::I32(all), _) => Tensor::new(shape, all),
            (Made::I64(all), _) => Tensor::new(shape, all),
            (Made::U16(all), _) => Tensor::new(shape, all),
            (Made::U32(all), _) => Tensor::new(shape, all),
            (Made::U64(all), _) => Tensor::new(shape, all),
            (Made::F32(all), _) => Tensor::new(shape, all),
            (Made::F64(all), _) => Tensor::new(shape, all),
        }
    }
}

/// A loop over rows within loops over outer dimensions.
struct Nest {
    /// The sizes of all dimensions; the last one has the rows.
    sizes: Vec<usize>,
    /// For each dimension, how far each operand moves.
    strides: Vec<Vec<usize>>,
}

/// Dimensions of a result and of what is broadcast to it, with as few as possible: neighbours are joined where every
/// operand moves through both as through one. `None` if the shapes do not fit.
fn nest(shape: &[usize], operands: &[&[usize]]) -> Option<Nest> {
    let mut next: Vec<usize> = vec![1; operands.len()];
    let mut out = Nest {
        sizes: Vec::new(),
        strides: Vec::new(),
    };
    for (from_end, &size) in shape.iter().rev().enumerate() {
        let mut strides = Vec::with_capacity(operands.len());
        for (operand, next) in operands.iter().zip(&mut next) {
            let own = match operand.len().checked_sub(from_end + 1) {
                Some(at) => operand[at],
                None => 1,
            };
            if own != 1 && own != size {
                return None;
            }
            strides.push(if own == 1 { 0 } else { *next });
            *next *= own;
        }
        if size == 1 {
            continue;
        }
        let joins = match (out.sizes.last(), out.strides.last()) {
            (Some(&inner), Some(before)) => before.iter().zip(&strides).all(|(&before, &now)| now == before * inner),
            _ => false,
        };
        match (joins, out.sizes.last_mut()) {
            (true, Some(inner)) => *inner *= size,
            _ => {
                out.sizes.push(size);
                out.strides.push(strides);
            }
        }
    }
    if operands
        .iter()
        .any(|operand| operand.len() > shape.len() && operand[..operand.len() - shape.len()].iter().any(|&n| n != 1))
    {
        return None;
    }
    if out.sizes.is_empty() {
        out.sizes.push(1);
        out.strides.push(vec![0; operands.len()]);
    }
    out.sizes.reverse();
    out.strides.reverse();
    Some(out)
}

/// The shape that shapes are broadcast to.
fn broadcast(shapes: &[&[usize]]) -> Option<Vec<usize>> {
    let rank = shapes.iter().map(|shape| shape.len()).max()?;
    let mut out = vec![1; rank];
    for shape in shapes {
        for (out, &size) in out[rank - shape.len()..].iter_mut().zip(*shape) {
            match (*out, size) {
                (_, 1) => {}
                (1, _) => *out = size,
                (a, b) if a == b => {}
                _ => return None,
            }
        }
    }
    Some(out)
}

impl Ready {
    pub(crate) fn new(region: Region) -> Ready {
        Ready {
            region,
            kernels: Mutex::new(FxHashMap::default()),
        }
    }

    /// The values of the region that others need, or `None` if its steps are to be computed one by one: if operands
    /// have other types than the plan says, or rows are few.
    pub(crate) fn run(
        &self,
        plan: &Plan,
        defs: &[&'static OpDef],
        value: impl Fn(SlotId) -> Option<Tensor>,
        buffers: &Buffers,
    ) -> Option<Vec<(SlotId, Tensor)>> {
        let inputs: Vec<Tensor> = self
            .region
            .inputs
            .iter()
            .map(|&slot| value(slot))
            .collect::<Option<_>>()?;
        for (input, &slot) in inputs.iter().zip(&self.region.inputs) {
            if tensor(plan, slot)?.dtype != input.dtype() {
                return None;
            }
        }
        let shapes: Vec<&[usize]> = inputs.iter().map(Tensor::shape).collect();
        let shape = broadcast(&shapes)?;
        // All results have the same shape, by their types; a known one must be this.
        let known = tensor(plan, *self.region.outputs.first()?)?.shape.as_ref()?;
        if known.len() != shape.len()
            || known
                .iter()
                .zip(&shape)
                .any(|(dim, &size)| dim.as_const().is_some_and(|n| n != size as i64))
        {
            return None;
        }
        let nest = nest(&shape, &shapes)?;
        let (&rows, outer) = nest.sizes.split_last()?;
        let calls: usize = outer.iter().product();
        if calls > 1 && rows < SHORT {
            return None;
        }
        let innermost = nest.strides.last()?;
        let uniform: Vec<bool> = innermost.iter().map(|&stride| stride == 0).collect();
        let kernel = self.kernel(plan, defs, uniform)?;
        let given: Vec<Given<'_>> = inputs.iter().map(Given::of).collect::<Option<_>>()?;
        let total = rows * calls;
        let dtypes: Vec<DType> = self
            .region
            .outputs
            .iter()
            .map(|&slot| tensor(plan, slot).map(|ty| ty.dtype))
            .collect::<Option<_>>()?;
        let mut made: Vec<Made> = dtypes
            .iter()
            .map(|&dtype| Made::new(dtype, total, buffers))
            .collect::<Option<_>>()?;
        if total > 0 {
            let mut at = vec![0; outer.len()];
            let mut offsets = vec![0; given.len()];
            for call in 0..calls {
                let sources: Vec<Source<'_>> = given
                    .iter()
                    .zip(innermost)
                    .zip(&offsets)
                    .map(|((given, &stride), &offset)| given.source(offset, if stride == 0 { 1 } else { rows }))
                    .collect();
                let mut sinks: Vec<Sink<'_>> = made.iter_mut().map(|made| made.sink(call * rows, rows)).collect();
                kernel.run(rows, &sources, &mut sinks);
                advance(&mut at, outer, &nest.strides, &mut offsets);
            }
        }
        let results = self.region.outputs.iter().zip(made).zip(dtypes);
        results
            .map(|((&slot, made), dtype)| Some((slot, made.into_tensor(dtype, &shape)?)))
            .collect()
    }

    fn kernel(&self, plan: &Plan, defs: &[&'static OpDef], uniform: Vec<bool>) -> Option<Arc<Kernel>> {
        let mut kernels = self.kernels.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = kernels.get(&uniform) {
            return known.clone();
        }
        let program = lower::program(plan, defs, &self.region, &uniform);
        let kernel = program.map(|program| Arc::new(Kernel::new(program)));
        kernels.insert(uniform, kernel.clone());
        kernel
    }
}

/// The next place of the outer dimensions.
fn advance(at: &mut [usize], sizes: &[usize], strides: &[Vec<usize>], offsets: &mut [usize]) {
    for dim in (0..sizes.len()).rev() {
        at[dim] += 1;
        let back = if at[dim] == sizes[dim] {
            std::mem::take(&mut at[dim])
        } else {
            0
        };
        for (offset, stride) in offsets.iter_mut().zip(&strides[dim]) {
            // One step on, or all steps back.
            *offset = *offset + stride - back * stride;
        }
        if back == 0 {
            return;
        }
    }
}
