//! Shared by the operator families: inference of common types, and index arithmetic on arrays.

use super::value::shaped;
use super::{AttrValue, Infer, Number, OpError, Value};
use tautomer_tensor::{DType, Dim, Nd, Shape, TensorType, Type};

/// The result of reference semantics.
pub(super) type Out<S> = Result<Vec<Value<S>>, OpError>;

/// The maximum number of elements in an array made by reference semantics.
const MAX_ELEMENTS: usize = 1 << 30;

/// A tensor type whose rank may be unknown.
pub(super) fn typed(dtype: DType, shape: Option<Shape>) -> Type {
    TensorType { dtype, shape }.into()
}

/// The number of elements of an array of that shape, if one can be allocated.
pub(super) fn count(shape: &[usize]) -> Result<usize, OpError> {
    let limited = |n: usize| (n <= MAX_ELEMENTS).then_some(n);
    let extents = shape.iter().try_for_each(|&d| limited(d).map(drop));
    let product = || shape.iter().try_fold(1usize, |n, &d| limited(n.checked_mul(d)?));
    extents
        .and_then(|()| if shape.contains(&0) { Some(0) } else { product() })
        .ok_or_else(|| OpError::new(format!("an array of shape {shape:?} is too large")))
}

/// Moves a multi-index to the next position in row-major order.
pub(super) fn advance(at: &mut [usize], shape: &[usize]) {
    for (i, &n) in at.iter_mut().zip(shape).rev() {
        *i += 1;
        if *i < n {
            return;
        }
        *i = 0;
    }
}

/// An array of that shape whose elements are `f` of their positions.
pub(super) fn build<T: Clone>(
    shape: &[usize],
    mut f: impl FnMut(&[usize]) -> Result<T, OpError>,
) -> Result<Nd<T>, OpError> {
    build_dyn(shape, &mut f)
}

/// [`build`], compiled once for each type of element and not for each function: reference semantics are compiled for
/// every number system, so the loops that they share must not be.
fn build_dyn<T: Clone>(shape: &[usize], f: &mut dyn FnMut(&[usize]) -> Result<T, OpError>) -> Result<Nd<T>, OpError> {
    let n = count(shape)?;
    let mut at = vec![0; shape.len()];
    let mut out = Vec::with_capacity(n);
    for _ in 0..n {
        out.push(f(&at)?);
        advance(&mut at, shape);
    }
    shaped(shape, out)
}

/// The stride of each axis in a row-major array.
pub(super) fn strides(shape: &[usize]) -> Vec<usize> {
    let mut out = vec![1usize; shape.len()];
    for i in (1..shape.len()).rev() {
        out[i - 1] = out[i].saturating_mul(shape[i]);
    }
    out
}

/// The elements in row-major order.
pub(super) fn flat<T: Clone>(a: &Nd<T>) -> Vec<T> {
    match a.as_slice() {
        Some(elements) => elements.to_vec(),
        None => a.iter().cloned().collect(),
    }
}

/// The element at `index`.
pub(super) fn at<T: Clone>(a: &Nd<T>, index: &[usize]) -> Result<T, OpError> {
    a.get(index)
        .cloned()
        .ok_or_else(|| OpError::new(format!("position {index:?} is outside shape {:?}", a.shape())))
}

/// The array whose position `i` along axis `k` is position `maps[k][i]` of `a`, or `fill` where a map is `None`.
pub(super) fn select_axes<T: Clone>(
    a: &Nd<T>,
    maps: &[Vec<Option<usize>>],
    fill: Option<&T>,
) -> Result<Nd<T>, OpError> {
    let outside = || OpError::new("an index is out of range for its axis");
    if maps.len() != a.ndim()
        || maps
            .iter()
            .zip(a.shape())
            .any(|(map, &n)| map.iter().flatten().any(|&i| i >= n))
    {
        return Err(outside());
    }
    let source = flat(a);
    let strides = strides(a.shape());
    let shape: Vec<usize> = maps.iter().map(Vec::len).collect();
    build(&shape, |position| {
        let offset = position
            .iter()
            .zip(maps)
            .zip(&strides)
            .try_fold(0, |sum, ((&i, map), stride)| Some(sum + map[i]? * stride));
        let element = match offset {
            Some(offset) => source.get(offset),
            None => fill,
        };
        element.cloned().ok_or_else(outside)
    })
}

/// The slices at `places` along one axis.
pub(super) fn select_axis<T: Clone>(a: &Nd<T>, axis: usize, places: Vec<Option<usize>>) -> Result<Nd<T>, OpError> {
    let mut maps = whole(a.shape());
    maps[axis] = places;
    select_axes(a, &maps, None)
}

/// The maps of [`select_axes`] that select everything.
pub(super) fn whole(shape: &[usize]) -> Vec<Vec<Option<usize>>> {
    shape.iter().map(|&n| (0..n).map(Some).collect()).collect()
}

/// The same elements in row-major order under another shape.
pub(super) fn reshape<T: Clone>(a: &Nd<T>, shape: &[usize]) -> Result<Nd<T>, OpError> {
    if count(shape)? != a.len() {
        return Err(OpError::new(format!(
            "{} elements do not fill the shape {shape:?}",
            a.len()
        )));
    }
    shaped(shape, flat(a))
}

/// The array with its axes in another order; `perm` is a permutation.
pub(super) fn transpose<T: Clone>(a: &Nd<T>, perm: &[usize]) -> Result<Nd<T>, OpError> {
    if !is_permutation(perm, a.ndim()) {
        return Err(OpError::new(format!(
            "{perm:?} is not a permutation of {} axes",
            a.ndim()
        )));
    }
    Ok(a.clone().permuted_axes(perm.to_vec()))
}

/// True if `perm` lists each of `rank` axes exactly once.
pub(super) fn is_permutation(perm: &[usize], rank: usize) -> bool {
    perm.len() == rank && (0..rank).all(|axis| perm.contains(&axis))
}

/// The elements of `a` as rows along `axes`, ordered by the row-major position along the other axes; with the number of
/// rows and their length.
pub(super) fn rows<T: Clone>(a: &Nd<T>, axes: &[usize]) -> Result<(Vec<T>, usize, usize), OpError> {
    let kept: Vec<usize> = (0..a.ndim()).filter(|i| !axes.contains(i)).collect();
    let extent = |list: &[usize]| count(&list.iter().map(|&i| a.shape()[i]).collect::<Vec<_>>());
    let (number, length) = (extent(&kept)?, extent(axes)?);
    let order: Vec<usize> = kept.into_iter().chain(axes.iter().copied()).collect();
    Ok((flat(&transpose(a, &order)?), number, length))
}

/// A list attribute whose values are all constants; `None` if it was left out or is computed.
pub(super) fn known_ints(call: &Infer<'_>, name: &str) -> Result<Option<Vec<i64>>, OpError> {
    let Some(list) = call.ints(name) else { return Ok(None) };
    list.iter()
        .map(|d| {
            d.as_const().ok_or_else(|| {
                OpError::new(format!("`{name}` must be a list of known integers, but contains {d}")).attr(name)
            })
        })
        .collect::<Result<Vec<_>, _>>()
        .map(Some)
}

/// The axes attribute `name`, checked against `rank`; `None` if it was left out or is computed.
pub(super) fn known_axes(call: &Infer<'_>, name: &str, rank: usize) -> Result<Option<Vec<usize>>, OpError> {
    if known_ints(call, name)?.is_none() {
        return Ok(None);
    }
    call.axes(name, rank)
}

/// The axis attribute `name`; `None` if it is computed.
pub(super) fn known_axis(call: &Infer<'_>, name: &str, rank: usize) -> Result<Option<usize>, OpError> {
    if call.is_dynamic(name) {
        return Ok(None);
    }
    call.axis(name, rank).map(Some)
}

/// Checks that a computed attribute is a list of integers.
pub(super) fn int_operand(call: &Infer<'_>, name: &str) -> Result<(), OpError> {
    if let Some(i) = call.attr_operand(name) {
        call.expect_dtype(i, DType::is_int, "a list of integers")?;
        if let Some(rank) = call.tensor(i)?.rank()
            && rank > 1
        {
            return Err(OpError::new(format!("`{name}` must be a list, but has {rank} axes")).at(i));
        }
    }
    Ok(())
}

/// The number of values of a computed list attribute, if known.
pub(super) fn operand_len(call: &Infer<'_>, name: &str) -> Option<usize> {
    let shape = call.tensor(call.attr_operand(name)?).ok()?.shape.as_ref()?;
    match &shape[..] {
        [] => Some(1),
        [Dim::Const(n)] => usize::try_from(*n).ok(),
        _ => None,
    }
}

/// Sets the attribute `name`.
pub(super) fn set(call: &Infer<'_>, attrs: &mut [AttrValue], name: &str, value: AttrValue) {
    if let Some(slot) = call.def.attr_index(name).and_then(|i| attrs.get_mut(i)) {
        *slot = value;
    }
}

/// Axes as an attribute.
pub(super) fn axes_value(axes: &[usize]) -> AttrValue {
    AttrValue::Ints(axes.iter().copied().map(Dim::from).collect())
}

/// The dimension two tensors share along an axis; `None` if the two are known to differ.
pub(super) fn unify(a: &Dim, b: &Dim) -> Option<Dim> {
    match (a, b) {
        (Dim::Const(x), Dim::Const(y)) => (x == y).then(|| a.clone()),
        (Dim::Const(_), _) => Some(a.clone()),
        (_, Dim::Const(_)) => Some(b.clone()),
        _ if a.has_unknown() => Some(b.clone()),
        _ => Some(a.clone()),
    }
}

/// The type of the first operand, which must be a floating-point tensor.
pub(super) fn same_float(call: &Infer<'_>) -> Result<Type, OpError> {
    call.expect_dtype(0, DType::is_float, "a floating-point number")?;
    Ok(call.tensor(0)?.clone().into())
}

/// The type of the first operand, whatever it is.
pub(super) fn same(call: &Infer<'_>) -> Result<Type, OpError> {
    Ok(call.tensor(0)?.clone().into())
}

/// `f` of every element.
pub(super) fn map<T, R: Clone>(a: &Nd<T>, mut f: impl FnMut(&T) -> Result<R, OpError>) -> Result<Nd<R>, OpError> {
    map_dyn(a, &mut f)
}

/// [`map`], compiled once for each pair of types.
fn map_dyn<T, R: Clone>(a: &Nd<T>, f: &mut dyn FnMut(&T) -> Result<R, OpError>) -> Result<Nd<R>, OpError> {
    let mut out = Vec::with_capacity(a.len());
    for x in a {
        out.push(f(x)?);
    }
    shaped(a.shape(), out)
}

/// A floating-point number truncated to an integer; NaN becomes 0.
pub(super) fn to_int<S: Number>(x: &S) -> Result<i128, OpError> {
    Ok(x.to_f64()? as i128)
}
