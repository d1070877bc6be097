//! Fast implementations of operators, each tested against the reference semantics.
//!
//! A kernel computes what the operator's definition says; it may reassociate sums, and it may decline a call, which is
//! then computed by the reference semantics. The library's only `unsafe` code is here, each block with a justification.
//!
//! Loops over `f32` are compiled for several instruction sets, one of which is chosen at run time. They use no fused
//! multiply-add, so elementwise results are the same on every machine.

mod broadcast;
mod buffers;
mod call;
mod conv;
mod conv_transpose;
mod copy;
mod depthwise;
mod elementwise;
mod image;
mod kept;
mod lanes;
mod layout;
mod micro;
mod narrow;
mod norm;
mod pad;
mod pool;
mod product;
mod recurrent;
mod reduce;
mod resize;
mod sort;
mod tile;
mod typed;
mod unary;
mod window;
mod winograd;
mod winograd_transform;

mod gemm;
mod math;
mod matmul;
mod movement;
#[cfg(test)]
mod testing;

use rustc_hash::FxHashMap;
use std::sync::OnceLock;

pub use buffers::Buffers;
pub use call::{Call, Context};
pub use kept::Kept;

use tautomer_op::{AttrValue, OpDef, OpError};
use tautomer_tensor::{DType, Tensor};

/// Computes the results of a call, or `None` if it declines.
pub type KernelFn = fn(&Call<'_>) -> Result<Option<Vec<Tensor>>, OpError>;

/// A row of the table of kernels.
#[derive(Clone, Copy)]
pub struct Kernel {
    /// The operator's name.
    pub op: &'static str,
    /// The element type of the first operand; `None` for any.
    pub dtype: Option<DType>,
    /// True if the result is a view of the elements of the first operand.
    pub view: bool,
    /// The implementation.
    pub run: KernelFn,
}

impl Kernel {
    const fn f32(op: &'static str, run: KernelFn) -> Kernel {
        Kernel {
            op,
            dtype: Some(DType::F32),
            view: false,
            run,
        }
    }

    const fn any(op: &'static str, run: KernelFn) -> Kernel {
        Kernel {
            op,
            dtype: None,
            view: false,
            run,
        }
    }

    const fn view(op: &'static str, run: KernelFn) -> Kernel {
        Kernel {
            op,
            dtype: None,
            view: true,
            run,
        }
    }
}

/// The kernels, by family.
static KERNELS: &[&[Kernel]] = &[
    elementwise::KERNELS,
    unary::KERNELS,
    matmul::KERNELS,
    conv::KERNELS,
    conv_transpose::KERNELS,
    pad::KERNELS,
    pool::KERNELS,
    norm::KERNELS,
    reduce::KERNELS,
    layout::KERNELS,
    resize::KERNELS,
    recurrent::KERNELS,
    movement::KERNELS,
    sort::KERNELS,
    typed::KERNELS,
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
pub fn run(
    def: &'static OpDef,
    operands: &[Option<Tensor>],
    attrs: &[AttrValue],
    context: Context<'_>,
) -> Result<Option<Vec<Tensor>>, OpError> {
    let kernels = of(def.name);
    let dtype = operands.first().and_then(|o| o.as_ref().map(Tensor::dtype));
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
        }
    }
    if dtype.is_some_and(narrow::is_narrow) {
        return narrow::run(kernels, def, operands, attrs, context);
    }
    Ok(None)
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
