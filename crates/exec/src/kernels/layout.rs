//! Operators that move elements without computing anything.

use ndarray::IxDyn;

use super::call::{contiguous, done, or_decline};
use super::copy::gather as copied;
use super::{Call, Kernel};
use tautomer_op::OpError;
use tautomer_tensor::strided::{Layout, LayoutError, View};
use tautomer_tensor::with_array;
use tautomer_tensor::{DType, Element, Nd, Tensor};

type Done = Result<Option<Vec<Tensor>>, OpError>;

/// The kernels of this family.
pub(super) const KERNELS: &[Kernel] = &[
    Kernel::view("reshape", view),
    Kernel::view("flatten", view),
    Kernel::view("squeeze", view),
    Kernel::view("unsqueeze", view),
    Kernel::view("identity", view),
    Kernel::view("dropout", view),
    Kernel::any("transpose", transpose),
    Kernel::any("expand", expand),
    Kernel::any("slice", slice),
    Kernel::any("concat", concat),
    Kernel::any("split", split),
    Kernel::any("gather", gather),
    Kernel::any("pad", pad),
    Kernel::any("cast", cast),
];

/// The elements in row-major order; copied only if they are stored differently.
fn rows<T: Element>(array: &Nd<T>) -> std::borrow::Cow<'_, [T]> {
    match array.as_slice() {
        Some(slice) => slice.into(),
        None => array.iter().cloned().collect::<Vec<T>>().into(),
    }
}

fn view(call: &Call<'_>) -> Done {
    fn shared<T: Element>(array: &Nd<T>, shape: &[usize]) -> Done {
        match array.clone().into_shape_with_order(IxDyn(shape)) {
            Ok(array) => Ok(Some(vec![T::wrap(array)])),
            Err(_) => done(shape, rows(array).into_owned()),
        }
    }
    let shape = or_decline!(call.out_shape());
    if shape.iter().product::<usize>() != call.tensor(0)?.len() {
        return Ok(None);
    }
    with_array!(call.tensor(0)?, array => shared(array, &shape))
}

/// The first operand viewed through the layout that `f` makes from its own.
pub(super) fn seen(call: &Call<'_>, f: &dyn Fn(&Layout) -> Result<Layout, LayoutError>) -> Done {
    fn typed<T: Element>(array: &Nd<T>, shape: &[usize], f: &dyn Fn(&Layout) -> Result<Layout, LayoutError>) -> Done {
        let own;
        let whole = match View::of(array) {
            Some(view) => view,
            None => {
                own = rows(array);
                or_decline!(View::row_major(&own, array.shape()).ok())
            }
        };
        // Invalid layouts are left to the reference semantics to report.
        let view = or_decline!(whole.map(f).ok());
        if view.layout().shape() != shape {
            return Ok(None);
        }
        done(shape, copied(&view))
    }
    let shape = or_decline!(call.out_shape());
    with_array!(call.tensor(0)?, array => typed(array, &shape, f))
}

fn transpose(call: &Call<'_>) -> Done {
    let rank = call.shape(0).len();
    let perm: Vec<i64> = match call.attr("perm").is_none() {
        true => (0..rank as i64).rev().collect(),
        false => or_decline!(call.ints("perm")),
    };
    seen(call, &|layout| layout.permute(&perm))
}

fn expand(call: &Call<'_>) -> Done {
    let shape = or_decline!(call.out_shape());
    seen(call, &|layout| layout.broadcast(&shape))
}

fn slice(call: &Call<'_>) -> Done {
    let (starts, ends) = (or_decline!(call.ints("starts")), or_decline!(call.ints("ends")));
    let axes = match call.attr("axes").is_none() {
        true => (0..starts.len() as i64).collect(),
        false => or_decline!(call.ints("axes")),
    };
    let steps = match call.attr("steps").is_none() {
        true => vec![1; starts.len()],
        false => or_decline!(call.ints("steps")),
    };
    if [&ends, &axes, &steps].iter().any(|list| list.len() != starts.len()) {
        return Ok(None);
    }
    seen(call, &|layout| {
        (0..starts.len()).try_fold(layout.clone(), |out, i| {
            out.slice(axes[i], Some(starts[i]), Some(ends[i]), steps[i])
        })
    })
}

fn concat(call: &Call<'_>) -> Done {
    fn typed<T: Element>(call: &Call<'_>, shape: &[usize], axis: usize) -> Done {
        let mut parts = Vec::with_capacity(call.operands.len());
        for (i, operand) in call.operands.iter().enumerate() {
            let array = or_decline!(operand.as_ref().and_then(T::array));
            let block: usize = call.shape(i)[axis..].iter().product();
            parts.push((rows(array), block));
        }
        let outer: usize = shape[..axis].iter().product();
        let mut out = Vec::with_capacity(shape.iter().product());
        for i in 0..outer {
            for (part, block) in &parts {
                out.extend_from_slice(&part[i * block..][..*block]);
            }
        }
        done(shape, out)
    }
    fn start<T: Element>(_: &Nd<T>, call: &Call<'_>, shape: &[usize], axis: usize) -> Done {
        typed::<T>(call, shape, axis)
    }
    let shape = or_decline!(call.out_shape());
    let axis = or_decline!(call.axis("axis", shape.len()));
    with_array!(call.tensor(0)?, array => start(array, call, &shape, axis))
}

fn split(call: &Call<'_>) -> Done {
    fn typed<T: Element>(array: &Nd<T>, shapes: &[Vec<usize>], axis: usize) -> Done {
        let whole = rows(array);
        let block: usize = array.shape()[axis..].iter().product();
        let inner: usize = array.shape()[axis + 1..].iter().product();
        let mut first = 0;
        let mut results = Vec::with_capacity(shapes.len());
        for shape in shapes {
            let n = shape[axis] * inner;
            let mut out = Vec::with_capacity(shape.iter().product());
            for row in whole.chunks_exact(block.max(1)) {
                out.extend_from_slice(&row[first..][..n]);
            }
            first += n;
            results.push(or_decline!(Tensor::new(shape, out)));
        }
        Ok(Some(results))
    }
    let shapes = or_decline!(call.out_shapes());
    let rank = call.shape(0).len();
    let axis = or_decline!(call.axis("axis", rank));
    let total: usize = shapes.iter().filter_map(|s| s.get(axis)).sum();
    if total != call.shape(0)[axis] || shapes.iter().any(|s| s.len() != rank) {
        return Ok(None);
    }
    with_array!(call.tensor(0)?, array => typed(array, &shapes, axis))
}

fn gather(call: &Call<'_>) -> Done {
    fn typed<T: Element>(array: &Nd<T>, places: &[usize], axis: usize, shape: &[usize]) -> Done {
        let whole = rows(array);
        let own = array.shape();
        let inner: usize = own[axis + 1..].iter().product();
        let block = own[axis] * inner;
        let mut out = Vec::with_capacity(shape.iter().product());
        for outer in 0..own[..axis].iter().product() {
            for place in places {
                out.extend_from_slice(&whole[outer * block + place * inner..][..inner]);
            }
        }
        done(shape, out)
    }
    let shape = or_decline!(call.out_shape());
    let axis = or_decline!(call.axis("axis", call.shape(0).len()));
    let n = i128::try_from(call.shape(0)[axis]).unwrap_or(i128::MAX);
    let places: Option<Vec<usize>> = or_decline!(call.tensor(1)?.to_ints())
        .into_iter()
        .map(|i| if i < 0 { i + n } else { i })
        .map(|i| usize::try_from(i).ok().filter(|_| i < n))
        .collect();
    // An index out of range is left to the reference semantics to report.
    let places = or_decline!(places);
    with_array!(call.tensor(0)?, array => typed(array, &places, axis, &shape))
}

/// Constant padding; declines other modes and negative padding.
fn pad(call: &Call<'_>) -> Done {
    fn typed<T: Element>(array: &Nd<T>, fill: Option<T>, shape: &[usize], pads: &[usize]) -> Done {
        let mut out = vec![or_decline!(fill); shape.iter().product()];
        let Some((&last, outer)) = array.shape().split_last() else {
            return Ok(None);
        };
        if !array.is_empty() {
            let whole = or_decline!(Layout::row_major(shape).ok());
            let sizes: Vec<i64> = outer.iter().chain([&1]).map(|&n| n as i64).collect();
            let begins: Vec<i64> = pads.iter().map(|&p| p as i64).collect();
            let starts = or_decline!(whole.dice(&begins, &sizes).ok());
            for (row, at) in rows(array).chunks_exact(last).zip(starts.offsets()) {
                out[at..][..last].clone_from_slice(row);
            }
        }
        done(shape, out)
    }
    fn zero<T: Element>(_: &Nd<T>, value: f64) -> Option<T> {
        (value == 0.0).then(T::default)
    }
    let shape = or_decline!(call.out_shape());
    if call.text("mode") != "constant" || shape.len() != call.shape(0).len() {
        return Ok(None);
    }
    let axes = or_decline!(call.axes("axes", shape.len()));
    let given = or_decline!(call.sizes("pads", 2 * axes.len(), 0));
    let mut pads = vec![0; shape.len()];
    for (&axis, &p) in axes.iter().zip(&given) {
        pads[axis] = p;
    }
    let value = or_decline!(call.float("value"));
    match call.tensor(0)? {
        Tensor::F32(array) => typed(array, Some(value as f32), &shape, &pads),
        other => with_array!(other, array => typed(array, zero(array, value), &shape, &pads)),
    }
}

/// Conversions that are exact or round to nearest.
fn cast(call: &Call<'_>) -> Done {
    fn each<A: Element + Copy, B: Element>(tensor: &Tensor, f: impl Fn(A) -> B) -> Done {
        let from = or_decline!(contiguous::<A>(tensor));
        done(tensor.shape(), from.iter().map(|&x| f(x)).collect())
    }
    let x = call.tensor(0)?;
    let to = or_decline!(call.result_type()).dtype;
    match (x.dtype(), to) {
        (from, to) if from == to => Ok(Some(vec![x.clone()])),
        (DType::F32, DType::F64) => each(x, |v: f32| f64::from(v)),
        (DType::F64, DType::F32) => each(x, |v: f64| v as f32),
        (DType::I32, DType::I64) => each(x, |v: i32| i64::from(v)),
        (DType::I32, DType::F32) => each(x, |v: i32| v as f32),
        (DType::I64, DType::F32) => each(x, |v: i64| v as f32),
        (DType::U8, DType::F32) => each(x, |v: u8| f32::from(v)),
        (DType::Bool, DType::F32) => each(x, |v: bool| f32::from(u8::from(v))),
        (DType::Bool, DType::I64) => each(x, |v: bool| i64::from(v)),
        (DType::F32, DType::Bool) => each(x, |v: f32| v != 0.0),
        _ => Ok(None),
    }
}

#[cfg(test)]
#[path = "layout_tests.rs"]
mod tests;
