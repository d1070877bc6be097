//! Operators whose result is the operand seen through another layout.

use super::call::or_decline;
use super::layout::seen;
use super::{Call, Kernel};
use crate::op::OpError;
use crate::tensor::Tensor;

type Done = Result<Option<Vec<Tensor>>, OpError>;

/// The kernels of this family.
pub(super) const KERNELS: &[Kernel] = &[
    Kernel::any("diagonal", diagonal),
    Kernel::any("unfold", unfold),
    Kernel::any("dice", dice),
    Kernel::any("channel_shuffle", channel_shuffle),
];

fn diagonal(call: &Call<'_>) -> Done {
    let offset = or_decline!(call.int("offset"));
    let (first, second) = (or_decline!(call.int("dim1")), or_decline!(call.int("dim2")));
    seen(call, &|layout| layout.diagonal(offset, first, second))
}

fn unfold(call: &Call<'_>) -> Done {
    let natural = |name: &str| call.int(name).and_then(|n| usize::try_from(n).ok());
    let axis = or_decline!(call.int("axis"));
    let (size, step) = (or_decline!(natural("size")), or_decline!(natural("step")));
    seen(call, &|layout| layout.windows(axis, size, step))
}

fn dice(call: &Call<'_>) -> Done {
    let (begin, size) = (or_decline!(call.ints("begin")), or_decline!(call.ints("size")));
    seen(call, &|layout| layout.dice(&begin, &size))
}

fn channel_shuffle(call: &Call<'_>) -> Done {
    let shape = call.shape(0);
    let groups = or_decline!(call.int("groups").and_then(|n| usize::try_from(n).ok()));
    if shape.len() < 2 || groups == 0 || !shape[1].is_multiple_of(groups) {
        return Ok(None);
    }
    let split = [&shape[..1], &[groups, shape[1] / groups], &shape[2..]].concat();
    let order: Vec<i64> = [0, 2, 1].into_iter().chain(3..split.len() as i64).collect();
    // The elements in the order of the result; its shape joins the two axes again.
    let moved = seen_as(call, &split, &order)?;
    Ok(moved.and_then(|t| t.reshaped(shape)).map(|t| vec![t]))
}

/// The first operand under another shape of as many elements, its axes in another order.
fn seen_as(call: &Call<'_>, shape: &[usize], order: &[i64]) -> Result<Option<Tensor>, OpError> {
    use super::copy::gather;
    use crate::tensor::strided::View;
    use crate::tensor::{Element, Nd};
    fn typed<T: Element>(array: &Nd<T>, shape: &[usize], order: &[i64]) -> Option<Tensor> {
        let rows = super::layout::rows(array);
        let view = View::row_major(&rows, shape).ok()?.map(|l| l.permute(order)).ok()?;
        Tensor::new(view.layout().shape(), gather(&view))
    }
    Ok(crate::with_array!(call.tensor(0)?, array => typed(array, shape, order)))
}
