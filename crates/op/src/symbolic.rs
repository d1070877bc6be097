//! Elements of small integer tensors that are determined by dimensions, as expressions over symbols.
//!
//! Models compute shapes with nodes: the dimensions of a value are read, selected, multiplied, concatenated, and passed
//! to a `reshape`. The results of such nodes are known while the graph is built, up to the symbols in its types.

use super::{AttrValue, Fact, Infer};
use tautomer_tensor::{Atom, DType, Dim, Type};

/// The maximum number of elements; longer tensors are not analyzed.
const MOST: usize = 64;

/// The elements of the result of a call in row-major order, if dimensions determine all of them; `ty` is the type of
/// the result.
///
/// Covers integers, and booleans as 0 and 1. Results with more than one axis are known only if their elements are
/// merely moved. Where rounding depends on a sign that is not known, the result is unknown.
///
/// ```
/// use std::cell::Cell;
///
/// use tautomer_op::{Fact, Infer, known_ints, lookup};
/// use tautomer_tensor::{DType, Dim, Shape, Type};
///
/// let shape: Shape = [Dim::symbol("n"), Dim::from(3)].into_iter().collect();
/// let operand = Type::tensor(DType::F32, shape);
/// let call = Infer {
///     def: lookup("shape").unwrap(),
///     operands: &[Fact::of(&operand)],
///     attrs: &[],
///     fresh: &Cell::new(0),
/// };
/// let result = Type::tensor(DType::I64, Shape::from_iter([Dim::from(2)]));
/// assert_eq!(known_ints(&call, &result), Some(vec![Dim::symbol("n"), Dim::from(3)]));
/// ```
pub fn known_ints(call: &Infer<'_>, ty: &Type) -> Option<Vec<Dim>> {
    let ty = ty.as_tensor()?;
    let extents = ty.shape.as_ref()?.to_concrete()?;
    let length = extents.iter().try_fold(1usize, |n, d| n.checked_mul(*d))?;
    if length > MOST || !matches!(ty.dtype, DType::I64 | DType::I32 | DType::Bool) {
        return None;
    }
    let out = match moved(call, &extents) {
        None if extents.len() <= 1 => elements(call, length)?,
        moved => moved?,
    };
    (out.len() == length).then_some(out)
}

/// The elements of an operand, if they are known.
pub(crate) fn ints_of(fact: &Fact<'_>) -> Option<Vec<Dim>> {
    if let Some(ints) = fact.ints {
        return Some(ints.to_vec());
    }
    let value = fact.value.filter(|v| v.len() <= MOST)?;
    let ints = match value.dtype() {
        DType::I64 | DType::I32 => value.to_ints()?,
        DType::Bool => value.to_f64s()?.into_iter().map(|x| i128::from(x != 0.0)).collect(),
        _ => return None,
    };
    ints.into_iter()
        .map(|x| i64::try_from(x).ok().map(Dim::Const))
        .collect()
}

/// True if the expression is never negative, given that dimensions are not.
pub(crate) fn is_natural(dim: &Dim) -> bool {
    let atom = |atom: &Atom| match atom {
        // A dimension that was too large may have been any integer.
        Atom::Unknown(_) => !atom.is_too_large(),
        Atom::Symbol(_) => true,
        Atom::FloorDiv(a, b) => is_natural(a) && is_natural(b),
        Atom::Mod(_, b) => is_natural(b),
        Atom::Min(a, b) => is_natural(a) && is_natural(b),
        Atom::Max(a, b) => is_natural(a) || is_natural(b),
    };
    dim.terms().iter().all(|(atoms, c)| *c >= 0 && atoms.iter().all(atom))
}

/// The elements of a result of shape `extents` that are elements of the operands, rearranged.
fn moved(call: &Infer<'_>, extents: &[usize]) -> Option<Vec<Dim>> {
    if let Some(movement) = call.def.moves() {
        return super::movement::known(movement, call, extents);
    }
    let kept = match call.def.name {
        "identity" => true,
        "cast" => is_int(call, 0) && call.dtype("to") != Some(DType::Bool),
        _ => false,
    };
    if kept { ints_of(call.operands.first()?) } else { None }
}

fn elements(call: &Infer<'_>, length: usize) -> Option<Vec<Dim>> {
    let ints = |i: usize| ints_of(call.operands.get(i)?);
    let constants = |list: Vec<Dim>| list.iter().map(Dim::as_const).collect::<Option<Vec<i64>>>();
    let is_int = |i: usize| is_int(call, i);
    let pairs = |f: &dyn Fn(&Dim, &Dim) -> Option<Dim>| {
        let (a, b) = (ints(0)?, ints(1)?);
        let at = |list: &[Dim], i: usize| list.get(if list.len() == 1 { 0 } else { i }).cloned();
        (0..length).map(|i| f(&at(&a, i)?, &at(&b, i)?)).collect()
    };
    match call.def.name {
        "shape" => {
            let shape = call.shape(0).ok()??;
            let bound = |name: &str, default: usize| match call.attr(name) {
                AttrValue::None => Some(default),
                _ => usize::try_from(call.const_int(name)?).ok(),
            };
            let (start, end) = (bound("start", 0)?, bound("end", shape.len())?);
            Some(shape.get(start..end)?.to_vec())
        }
        "size" => Some(vec![call.shape(0).ok()??.size()]),
        "constant_of_shape" => match call.attr("value") {
            AttrValue::Tensor(t) => {
                let element = i64::try_from(*t.to_ints()?.first()?).ok()?;
                Some(vec![Dim::Const(element); length])
            }
            _ => None,
        },
        "add" if is_int(0) => pairs(&|a, b| Some(a.clone() + b.clone())),
        "sub" if is_int(0) => pairs(&|a, b| Some(a.clone() - b.clone())),
        "mul" if is_int(0) => pairs(&|a, b| Some(a.clone() * b.clone())),
        "max" if is_int(0) && call.operands.len() == 2 => pairs(&|a, b| Some(a.maximum(b))),
        "min" if is_int(0) && call.operands.len() == 2 => pairs(&|a, b| Some(a.minimum(b))),
        // Integer division rounds towards zero, which is floor where nothing is negative.
        "div" if is_int(0) => pairs(&|a, b| divisible(a, b).then(|| a.floor_div(b))),
        "mod" if is_int(0) => pairs(&|a, b| divisible(a, b).then(|| a.modulo(b))),
        "neg" if is_int(0) => Some(ints(0)?.into_iter().map(|d| -d).collect()),
        "equal" => pairs(&|a, b| {
            let difference = a.clone() - b.clone();
            let apart = |d: &Dim| is_natural(d) && d.terms().first().is_some_and(|(atoms, _)| atoms.is_empty());
            match difference.as_const() {
                Some(d) => Some(Dim::from(usize::from(d == 0))),
                None if apart(&difference) || apart(&-difference.clone()) => Some(Dim::Const(0)),
                None => None,
            }
        }),
        "where" => {
            let (which, a, b) = (constants(ints(0)?)?, ints(1)?, ints(2)?);
            let at = |list: &[Dim], i: usize| list.get(if list.len() == 1 { 0 } else { i }).cloned();
            let choose = |i: usize| match which.get(if which.len() == 1 { 0 } else { i })? {
                0 => at(&b, i),
                _ => at(&a, i),
            };
            (0..length).map(choose).collect()
        }
        "reduce_prod" | "reduce_sum" if is_int(0) && length == 1 => {
            let all = ints(0)?;
            Some(vec![match call.def.name {
                "reduce_prod" => all.into_iter().product(),
                _ => all.into_iter().fold(Dim::Const(0), |sum, d| sum + d),
            }])
        }
        "range" => {
            let one = |i: usize| ints(i).filter(|list| list.len() == 1).map(|mut list| list.remove(0));
            let (start, delta) = (one(0)?, one(2)?);
            let at = |i: usize| start.clone() + delta.clone() * Dim::from(i);
            Some((0..length).map(at).collect())
        }
        _ => None,
    }
}

fn is_int(call: &Infer<'_>, i: usize) -> bool {
    let dtype = call.operands.get(i).and_then(|o| o.ty.as_tensor()).map(|t| t.dtype);
    matches!(dtype, Some(DType::I64 | DType::I32))
}

/// True if the quotient is known: of numbers that are not negative by a positive one, or without remainder. A dimension
/// may be 0, but then the division itself fails, and no result differs.
fn divisible(a: &Dim, b: &Dim) -> bool {
    is_natural(a) && is_natural(b) && (b.as_const().is_some_and(|n| n > 0) || a.exact_div(b).is_some())
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;
    use crate::lookup;
    use tautomer_tensor::Shape;

    /// The element of `a / b` or `a % b`, of one element each.
    fn quotient(op: &str, a: Dim, b: Dim) -> Option<Dim> {
        let ty = Type::tensor(DType::I64, Shape::from_iter([Dim::from(1)]));
        let (a, b) = ([a], [b]);
        let operand = |ints| Fact {
            ints: Some(ints),
            ..Fact::of(&ty)
        };
        let def = lookup(op).unwrap();
        let attrs: Vec<AttrValue> = def.attrs.iter().filter_map(|attr| attr.default_value()).collect();
        let call = Infer {
            def,
            operands: &[operand(&a[..]), operand(&b[..])],
            attrs: &attrs,
            fresh: &Cell::new(0),
        };
        Some(known_ints(&call, &ty)?.remove(0))
    }

    #[test]
    fn a_product_divided_by_a_dimension_is_known() {
        let (n, h) = (Dim::symbol("n"), Dim::symbol("h"));
        let product = n.clone() * h.clone();
        assert_eq!(quotient("div", product.clone(), n.clone()), Some(h.clone()));
        assert_eq!(quotient("mod", product.clone(), n.clone()), Some(Dim::from(0)));
        assert_eq!(
            quotient("div", h.clone(), Dim::from(2)),
            Some(h.floor_div(&Dim::from(2)))
        );
        // Rounded towards zero, which is another integer where the remainder is negative.
        assert_eq!(quotient("div", h.clone() - Dim::from(3), Dim::from(2)), None);
        assert_eq!(quotient("div", h.clone(), n.clone()), None);
        assert_eq!(quotient("div", product, -n.clone()), None);
        assert_eq!(quotient("div", n, Dim::from(0)), None);
    }
}
