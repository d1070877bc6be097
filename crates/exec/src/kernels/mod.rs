//! Fast implementations of operators, each tested against the reference semantics.
//!
//! A kernel computes an operator as it is defined, but may reassociate sums; it may decline a call, which the reference
//! semantics then compute. The `unsafe` code of this crate is here, each block with a justification.
//!
//! Loops over `f32` are compiled for several instruction sets, one of which is chosen at run time. They use no fused
//! multiply-add, so elementwise results are the same on every machine.

mod arena;
mod attention;
mod attention_heads;
mod attention_mask;
mod attention_softmax;
mod bits;
mod boxes;
mod broadcast;
mod buffers;
mod bytes;
mod call;
mod conv;
mod conv_transpose;
mod copy;
mod depthwise;
#[cfg(target_arch = "x86_64")]
mod depthwise_rows;
mod dot;
mod einsum;
mod elementwise;
mod extremes;
#[cfg(target_arch = "x86_64")]
mod few;
mod few_rows;
mod finish;
mod fourier;
mod gates;
mod geometry;
mod image;
mod indexed;
mod inferred;
mod integer;
mod integer_conv;
mod integer_depthwise;
mod integer_image;
mod kept;
mod lanes;
mod layout;
mod made;
mod micro;
mod micro_kernels;
mod narrow;
mod nbits;
mod norm;
mod operand;
mod pad;
mod pages;
mod pairs;
mod panels;
mod placed;
mod pool;
mod pool_places;
#[cfg(target_arch = "x86_64")]
mod pool_rows;
mod product;
mod recurrent;
mod reduce;
mod rescale;
mod resize;
mod room;
mod row;
mod rows;
mod running;
mod sampled;
mod sort;
mod threads;
mod tile;
mod typed;
mod unary;
mod wide;
mod window;
mod winograd;
mod winograd_transform;
mod words;

mod gemm;
#[cfg(target_arch = "x86_64")]
mod masked;
mod math;
mod matmul;
mod movement;
#[cfg(test)]
pub(crate) mod testing;

use rustc_hash::FxHashMap;
use smallvec::SmallVec;
use std::sync::OnceLock;

pub use arena::{ALIGN, Arena, Memory, Regions};
pub use buffers::Buffers;
pub use call::{Call, Context};
pub use kept::Kept;
pub use operand::{Extents, Operand, Place, is_plain, zeros};
pub use room::Room;
pub(crate) use rows::{Each, Part, Rows};
pub(crate) use threads::worth;

use crate::Precision;
use micro::Micro;
use tautomer_op::{AttrValue, OpDef, OpError};
use tautomer_tensor::{DType, Tensor, Type};

/// A result of a call.
#[derive(Debug, Clone)]
pub enum Value {
    /// A tensor.
    Tensor(Tensor),
    /// Elements at the place that the plan of the run gives to the result with this index.
    Placed(usize),
}

impl From<Tensor> for Value {
    fn from(tensor: Tensor) -> Value {
        Value::Tensor(tensor)
    }
}

/// The results of a call.
pub type Results = SmallVec<[Value; 1]>;

/// The results of a call; `None` if the kernel declines it.
pub type Done = Result<Option<Results>, OpError>;

/// Computes the results of a call.
pub type KernelFn = fn(&Call<'_>) -> Done;

/// A row of the table of kernels.
#[derive(Clone, Copy)]
pub struct Kernel {
    /// The operator's name.
    pub op: &'static str,
    /// The element type of the first operand; `None` for any.
    pub dtype: Option<DType>,
    /// True if the result is a view of the elements of the first operand.
    pub view: bool,
    /// True if the kernel can write its result over an operand of the same type and size.
    pub in_place: bool,
    /// The implementation.
    pub run: KernelFn,
    /// Whether it computes a call with bfloat16, if the context allows that; `None` if it never does.
    pub in_bf16: Option<fn(&Call<'_>) -> bool>,
}

impl Kernel {
    const fn f32(op: &'static str, run: KernelFn) -> Kernel {
        Kernel {
            op,
            dtype: Some(DType::F32),
            view: false,
            in_place: false,
            run,
            in_bf16: None,
        }
    }

    /// A kernel for `f32` that may compute products with bfloat16.
    const fn products(op: &'static str, run: KernelFn, in_bf16: fn(&Call<'_>) -> bool) -> Kernel {
        Kernel {
            in_bf16: Some(in_bf16),
            ..Kernel::f32(op, run)
        }
    }

    /// A kernel for `f32` that can write its result over an operand.
    const fn over(op: &'static str, run: KernelFn) -> Kernel {
        Kernel {
            in_place: true,
            ..Kernel::f32(op, run)
        }
    }

    const fn any(op: &'static str, run: KernelFn) -> Kernel {
        Kernel {
            op,
            dtype: None,
            view: false,
            in_place: false,
            run,
            in_bf16: None,
        }
    }

    const fn view(op: &'static str, run: KernelFn) -> Kernel {
        Kernel {
            op,
            dtype: None,
            view: true,
            in_place: false,
            run,
            in_bf16: None,
        }
    }
}

/// Evaluates `$body` with `$ty` standing for the Rust type of an element type all of whose bit patterns are elements;
/// `None` for other types.
macro_rules! each_plain {
    ($dtype:expr, $ty:ident => $body:expr) => {
        $crate::kernels::each_plain!(@ $dtype, $ty => $body,
            I8 i8, I16 i16, I32 i32, I64 i64, U8 u8, U16 u16, U32 u32, U64 u64, F32 f32, F64 f64,
            F16 half::f16, BF16 half::bf16, I2 tautomer_tensor::I2, I4 tautomer_tensor::I4, U2 tautomer_tensor::U2,
            U4 tautomer_tensor::U4, F4E2M1 tautomer_tensor::F4E2M1, F8E4M3FN tautomer_tensor::F8E4M3FN, F8E4M3FNUZ tautomer_tensor::F8E4M3FNUZ,
            F8E5M2 tautomer_tensor::F8E5M2, F8E5M2FNUZ tautomer_tensor::F8E5M2FNUZ, F8E8M0 tautomer_tensor::F8E8M0)
    };
    (@ $dtype:expr, $ty:ident => $body:expr, $($variant:ident $own:ty),*) => {
        match $dtype {
            $(tautomer_tensor::DType::$variant => {
                type $ty = $own;
                $body
            })*
            _ => None,
        }
    };
}
use each_plain;

/// The kernels, by family.
static KERNELS: &[&[Kernel]] = &[
    elementwise::KERNELS,
    unary::KERNELS,
    indexed::KERNELS,
    extremes::KERNELS,
    running::KERNELS,
    placed::KERNELS,
    sampled::KERNELS,
    boxes::KERNELS,
    fourier::KERNELS,
    made::KERNELS,
    matmul::KERNELS,
    wide::KERNELS,
    einsum::KERNELS,
    attention::KERNELS,
    integer::KERNELS,
    nbits::KERNELS,
    integer_conv::KERNELS,
    conv::KERNELS,
    conv_transpose::KERNELS,
    pad::KERNELS,
    pool::KERNELS,
    pool_places::KERNELS,
    norm::KERNELS,
    reduce::KERNELS,
    layout::KERNELS,
    resize::KERNELS,
    recurrent::KERNELS,
    movement::KERNELS,
    sort::KERNELS,
    typed::KERNELS,
    bits::KERNELS,
];

/// Every kernel, in table order.
pub fn table() -> impl Iterator<Item = &'static Kernel> {
    KERNELS.iter().flat_map(|family| family.iter())
}

/// The kernels of the operator `op`; a kernel for one element type comes before one for any.
pub fn of(op: &str) -> &'static [Kernel] {
    static INDEX: OnceLock<FxHashMap<&'static str, Vec<Kernel>>> = OnceLock::new();
    let index = INDEX.get_or_init(|| {
        let mut index: FxHashMap<&'static str, Vec<Kernel>> = FxHashMap::default();
        for kernel in table() {
            index.entry(kernel.op).or_default().push(*kernel);
        }
        // A stable sort keeps rows of equal generality in table order.
        index
            .values_mut()
            .for_each(|kernels| kernels.sort_by_key(|k| k.dtype.is_none()));
        index
    });
    index.get(op).map_or(&[], Vec::as_slice)
}

/// The results of a call by the first kernel that accepts it; `None` if none does.
///
/// # Errors
/// If operands or attributes are invalid for the operator.
pub fn run(def: &'static OpDef, operands: &[Operand<'_>], attrs: &[AttrValue], context: Context<'_>) -> Done {
    let kernels = of(def.name);
    let dtype = operands.first().and_then(Operand::dtype);
    let mut fitting = kernels
        .iter()
        .filter(|k| k.dtype.is_none() || k.dtype == dtype)
        .peekable();
    if fitting.peek().is_some() {
        let call = Call::new(def, operands, attrs, context)?;
        for kernel in fitting {
            if let Some(results) = (kernel.run)(&call)? {
                return Ok(Some(results));
            }
            call.reset();
        }
    }
    if dtype.is_some_and(narrow::is_narrow) {
        return narrow::run(kernels, def, operands, attrs, context);
    }
    Ok(None)
}

/// True if a kernel of `op` may accept a call whose first operand has that element type.
pub fn may_run(op: &str, first: Option<DType>) -> bool {
    let is_narrow = first.is_some_and(narrow::is_narrow);
    let fits = |kernel: &Kernel| kernel.dtype.is_none() || kernel.dtype == first;
    of(op).iter().any(|kernel| is_narrow || fits(kernel))
}

/// True if the machine has instructions for products of bfloat16.
pub fn has_bf16() -> bool {
    Micro::of_bf16().is_some()
}

/// True if a call whose operands have these types may compute its products with bfloat16, if that is allowed. If a
/// size is not known, the call decides when it runs.
pub fn may_be_in_bf16(def: &'static OpDef, types: &[Type], attrs: &[AttrValue], fixed: Vec<bool>) -> bool {
    let is_f32 = |ty: &Type| ty.as_tensor().is_some_and(|ty| ty.dtype == DType::F32);
    let kernel = of(def.name).iter().find(|kernel| kernel.dtype == Some(DType::F32));
    let Some(decide) = kernel.and_then(|kernel| kernel.in_bf16) else {
        return false;
    };
    if !types.first().is_some_and(is_f32) || !fixed.iter().take(2).any(|&fixed| fixed) || Micro::of_bf16().is_none() {
        return false;
    }
    let place = |ty: &Type| match ty {
        Type::Tensor(ty) => {
            let shape = ty.shape.as_ref().and_then(|shape| shape.to_concrete())?;
            Some(Some(Place::whole(ty.dtype, shape.into(), 0)))
        }
        _ => Some(None),
    };
    let Some(places) = types.iter().map(place).collect::<Option<Vec<_>>>() else {
        return true;
    };
    let operand = |place| Option::as_ref(place).map_or(Operand::Absent, Operand::Placed);
    let operands: Vec<Operand<'_>> = places.iter().map(operand).collect();
    let kept = Kept::new(fixed);
    let context = Context {
        kept: Some(&kept),
        precision: Precision::Bf16,
        ..Context::default()
    };
    Call::new(def, &operands, attrs, context).is_ok_and(|call| decide(&call))
}

/// True if a kernel of `op` can write its result over an operand, if both are of type `dtype`.
pub fn is_in_place(op: &str, dtype: DType) -> bool {
    let first = of(op).iter().find(|k| k.dtype.is_none() || k.dtype == Some(dtype));
    first.is_some_and(|kernel| kernel.in_place && kernel.dtype == Some(dtype))
}

/// For each result of a call, the first element of the first operand that it is a view of, if its elements are
/// contiguous there.
pub fn shown(def: &'static OpDef, operands: &[Operand<'_>], attrs: &[AttrValue]) -> Option<Vec<Option<usize>>> {
    def.moves()?;
    movement::shown(&Call::new(def, operands, attrs, Context::default()).ok()?)
}

/// True if the result of `op` is a view of the elements of its first operand.
pub fn is_view(op: &str) -> bool {
    of(op).iter().any(|kernel| kernel.view)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;
    use tautomer_op::lookup;

    #[test]
    fn every_kernel_names_an_operator_once() {
        let mut seen = HashSet::new();
        for kernel in table() {
            let def = lookup(kernel.op);
            assert!(
                def.is_some_and(|d| d.name == kernel.op),
                "`{}` is no operator",
                kernel.op
            );
            assert!(
                seen.insert((kernel.op, kernel.dtype)),
                "`{}` has two kernels",
                kernel.op
            );
        }
    }
}
