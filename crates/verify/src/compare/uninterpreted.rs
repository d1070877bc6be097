//! Uninterpreted functions over the field, for calls that the field does not define: all that is assumed is that equal
//! operands and attributes give equal results.
//!
//! Results that agree then agree whatever these operators compute. Elementwise operators are functions of single
//! elements, so they commute with operators that move elements.

use std::hash::{Hash as _, Hasher as _};

use ndarray::{ArcArray, ArrayViewD, IxDyn};
use rustc_hash::FxHasher;

use tautomer_op::{AttrValue, Field, OpDef, OpTraits, Value};
use tautomer_tensor::{DType, Type};

/// The results of a call as an uninterpreted function, one of those that `salt` numbers; `None` if they have integers or
/// strings, if their dimensions are unknown, or if the operator is nondeterministic.
///
/// Two functions whose results differ at one point have equal real results there by a chance of one in 2^120, but equal
/// booleans by a chance of one half.
pub(crate) fn uninterpreted(
    def: &'static OpDef,
    attrs: &[AttrValue],
    operands: &[Option<Value<Field>>],
    result: &Type,
    salt: u64,
) -> Option<Vec<Value<Field>>> {
    if def.traits.contains(OpTraits::NONDETERMINISTIC) {
        return None;
    }
    let mut seed = FxHasher::default();
    def.name.hash(&mut seed);
    def.declared.map(|declared| declared.text).hash(&mut seed);
    attrs.hash(&mut seed);
    let mut start = mix(seed.finish(), salt);
    let items = match result {
        Type::Tuple(items) => items.as_slice(),
        single => std::slice::from_ref(single),
    };
    let by_element = def.traits.contains(OpTraits::ELEMENTWISE) && items.len() == 1;
    let tokens: Vec<Option<ArcArray<u64, IxDyn>>> = operands
        .iter()
        .map(|operand| match operand {
            Some(value) => tokens(value).map(Some),
            None => Some(None),
        })
        .collect::<Option<_>>()?;
    if !by_element {
        for tokens in &tokens {
            start = mix(start, tokens.as_ref().map_or(1, |t| t.ndim() as u64 + 2));
            for token in tokens
                .iter()
                .flat_map(|t| t.shape().iter().map(|n| *n as u64).chain(t.iter().copied()))
            {
                start = mix(start, token);
            }
        }
    }
    let one = |(place, ty): (usize, &Type)| -> Option<Value<Field>> {
        let ty = ty.as_tensor()?;
        let shape = ty.shape.as_ref()?.to_concrete()?;
        let n = shape.iter().try_fold(1usize, |n, d| n.checked_mul(*d))?;
        let mut hashes: Vec<u64> = vec![mix(start, place as u64); n];
        if by_element {
            for tokens in &tokens {
                let view: Option<ArrayViewD<'_, u64>> = match tokens {
                    Some(tokens) => Some(tokens.broadcast(shape.as_slice())?),
                    None => None,
                };
                match view {
                    Some(view) => hashes
                        .iter_mut()
                        .zip(view.iter())
                        .for_each(|(hash, token)| *hash = mix(*hash, *token)),
                    None => hashes.iter_mut().for_each(|hash| *hash = mix(*hash, 1)),
                }
            }
        } else {
            hashes
                .iter_mut()
                .enumerate()
                .for_each(|(i, hash)| *hash = mix(*hash, i as u64));
        }
        match ty.dtype {
            dtype if dtype.is_float() => {
                let numbers = hashes
                    .into_iter()
                    .map(|hash| Field::variable(hash >> 3, mix(hash, 5) >> 3))
                    .collect();
                Some(Value::Real(ArcArray::from_shape_vec(IxDyn(&shape), numbers).ok()?))
            }
            DType::Bool => {
                let truths = hashes.into_iter().map(|hash| hash >> 63 == 1).collect();
                Some(Value::Bool(ArcArray::from_shape_vec(IxDyn(&shape), truths).ok()?))
            }
            _ => None,
        }
    };
    items.iter().enumerate().map(one).collect()
}

/// Whether every number is defined: a quotient by zero is not, and is not an uninterpreted value either.
pub(crate) fn is_defined(value: &Value<Field>) -> bool {
    value
        .real()
        .map_or(true, |numbers| numbers.iter().all(Field::is_defined))
}

/// A number for each element, equal for equal elements.
fn tokens(value: &Value<Field>) -> Option<ArcArray<u64, IxDyn>> {
    match value {
        Value::Real(a) => {
            let token = |x: Field| x.residues().into_iter().fold(2, mix);
            Some(a.mapv(token).into_shared())
        }
        Value::Int(a) => Some(a.mapv(|x| mix(3, mix(x as u64, (x >> 64) as u64))).into_shared()),
        Value::Bool(a) => Some(a.mapv(|x| mix(4, u64::from(x))).into_shared()),
        Value::Text(_) | Value::Absent => None,
    }
}

fn mix(hash: u64, token: u64) -> u64 {
    // SplitMix64
    let mut z = (hash ^ token.rotate_left(32)).wrapping_add(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;
    use tautomer_op::lookup;

    fn real(shape: &[usize], numbers: &[i128]) -> Option<Value<Field>> {
        let numbers = numbers.iter().map(|&n| Field::new(n)).collect();
        Some(Value::Real(ArcArray::from_shape_vec(IxDyn(shape), numbers).unwrap()))
    }

    fn call(name: &str, operands: &[Option<Value<Field>>], shape: &[usize]) -> Vec<Field> {
        let def = lookup(name).unwrap();
        let ty = Type::tensor(DType::F32, tautomer_tensor::Shape::from(shape));
        let results = uninterpreted(def, &[], operands, &ty, 0).unwrap();
        assert_eq!(results[0].shape(), shape);
        results[0].real().unwrap().iter().copied().collect()
    }

    #[test]
    fn equal_elements_give_equal_results_wherever_they_stand() {
        let x = call("relu", &[real(&[2, 2], &[1, 2, 1, 3])], &[2, 2]);
        let y = call("relu", &[real(&[4], &[3, 1, 2, 1])], &[4]);
        assert_eq!((x[0], x[1], x[3]), (x[2], y[2], y[0]));
        assert_ne!(x[0], x[1]);
        assert_ne!(x[0], call("abs", &[real(&[1], &[1])], &[1])[0]);
        let sums = call("max", &[real(&[2, 1], &[1, 2]), real(&[1, 2], &[1, 2])], &[2, 2]);
        assert_eq!(sums[1], call("max", &[real(&[], &[1]), real(&[], &[2])], &[])[0]);
        assert_ne!(sums[1], sums[2]);
    }

    #[test]
    fn quotients_by_zero_are_undefined() {
        use tautomer_op::Number as _;
        let quotient = |y: i128| Field::new(6).div(&Field::new(y)).unwrap();
        let value = |y: i128| Value::Real(ArcArray::from_elem(IxDyn(&[2]), quotient(y)));
        assert!(is_defined(&value(3)) && !is_defined(&value(0)));
        assert!(is_defined(&Value::Int(ArcArray::from_elem(IxDyn(&[]), 0))));
    }

    #[test]
    fn other_operators_are_functions_of_all_their_elements() {
        let x = call("reduce_max", &[real(&[3], &[1, 2, 3])], &[]);
        assert_eq!(x, call("reduce_max", &[real(&[3], &[1, 2, 3])], &[]));
        assert_ne!(x, call("reduce_max", &[real(&[3], &[1, 3, 2])], &[]));
        assert_ne!(x, call("reduce_max", &[real(&[3, 1], &[1, 2, 3])], &[]));
    }
}
