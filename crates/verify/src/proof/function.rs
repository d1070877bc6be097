//! Elementwise operators: which function of the prover each is, by the formula of its row.

use super::case::Res;
use super::expr::{Expr, Factor, Fun, Kind};
use super::laws;
use super::meaning::{Call, open};
use super::order::order;
use num_rational::BigRational;
use num_traits::Signed;
use tautomer_op::{AttrValue, Formula, Function, known};
use tautomer_tensor::DType;

/// True if `to` can represent every integer of `from`.
pub(super) fn holds_all(from: DType, to: DType) -> bool {
    match (from.int_range(), to.int_range()) {
        (Some((least, greatest)), Some((low, high))) => low <= least && greatest <= high,
        _ => false,
    }
}

/// True for what is the same number in every integer type that has it, where it is one of `dtype`: an element, a number,
/// or the value of a function of such numbers, or of one that says in which type it was computed. Sums and products wrap
/// around in their type.
pub(super) fn is_one_value(x: &Expr, dtype: DType) -> bool {
    let Some(factor) = x.as_factor() else {
        return x.as_number().is_some_and(|n| has_number(dtype, &n));
    };
    match factor {
        Factor::Size(_) | Factor::Element(..) | Factor::Whole(_) => true,
        Factor::Apply(Fun::Named(name), args) => match *name {
            known::MAX | known::MIN => args.iter().all(|arg| is_one_value(arg, dtype)),
            known::WHERE => args[1..].iter().all(|arg| is_one_value(arg, dtype)),
            _ => true,
        },
        Factor::Apply(..) => true,
        Factor::Inverse(_) => false,
        Factor::Fold(fold) => matches!(fold.kind, Kind::Max | Kind::Min) && is_one_value(&fold.body, dtype),
    }
}

/// True if a number is one of the type, or the type has numbers that are not integers.
fn has_number(dtype: DType, n: &BigRational) -> bool {
    let of = |n: i128| BigRational::from_integer(n.into());
    dtype
        .int_range()
        .is_none_or(|(least, most)| of(least) <= *n && *n <= of(most))
}

pub(super) fn is_element(x: &Expr) -> bool {
    matches!(x.as_factor(), Some(Factor::Element(..)))
}

/// `a >= b`, for integers.
fn is_not_less(a: &Expr, b: &Expr, dtype: DType) -> Expr {
    if laws::is_never_less(a, b, dtype) {
        return Expr::int(1);
    }
    laws::apply(known::NOT, vec![laws::apply(known::LESS, vec![a.clone(), b.clone()])])
}

/// A function of numbers.
pub(super) fn function(
    call: &Call,
    args: Vec<Expr>,
    from: DType,
    to: DType,
    number: &dyn Fn(f64) -> Expr,
) -> Res<Expr> {
    let real = to.is_float();
    let Formula::Function(function) = call.def.law() else {
        return Err(open(format!("`{}` is not a function of elements", call.def.name)));
    };
    let name = call.def.name;
    // What wraps around says in which type it did before a function looks at its value.
    // Magnitudes and extremes do so themselves, since they look at signs first.
    let is_ring = matches!(
        function,
        Function::Same
            | Function::Difference
            | Function::Product
            | Function::Negation
            | Function::Sum
            | Function::Conversion
    );
    let looks_first = matches!(name, known::ABS | known::RELU | known::MAX | known::MIN);
    let args = match from.is_int() && !is_ring && !looks_first {
        true => args.iter().map(|arg| laws::in_order(arg, from)).collect(),
        false => args,
    };
    Ok(match (function, args.as_slice()) {
        (Function::Same, [x, ..]) => x.clone(),
        (Function::Difference, [a, b]) => a.sub(b),
        (Function::Product, [a, b]) => laws::multiply(a, b),
        (Function::Negation, [x]) => x.neg(),
        (Function::Quotient, [a, b]) if real => laws::multiply(a, &b.inverse()),
        (Function::Inverse, [x]) => x.inverse(),
        (Function::Sum, all) => all.iter().fold(Expr::zero(), |sum, x| sum.add(x)),
        (Function::Mean, all) if real => {
            let sum = all.iter().fold(Expr::zero(), |sum, x| sum.add(x));
            sum.mul(&Expr::int(all.len() as i64).inverse())
        }
        (Function::Limits, [x]) => {
            let (mut low, mut high) = (call.float("min").map(number), call.float("max").map(number));
            // A bound beyond all finite numbers has no effect.
            let largest = match to {
                DType::F16 => 65504.0,
                // What rounds to the largest number is that number.
                DType::F32 => f64::from(f32::MAX) * (1.0 - 2.9e-8),
                _ => f64::MAX,
            };
            if real {
                let beyond = |a: &Expr, b: &Expr| order(a, b).is_some_and(|found| found.is_ge());
                low = low.filter(|low| !beyond(&Expr::float(-largest), low));
                high = high.filter(|high| !beyond(high, &Expr::float(largest)));
            }
            let ordered = |name: &'static str, args: Vec<Expr>| {
                if real {
                    laws::apply(name, args)
                } else {
                    laws::whole(name, args, to)
                }
            };
            let bounded = low.map_or_else(|| x.clone(), |low| ordered(known::MAX, vec![x.clone(), low]));
            high.map_or_else(
                || bounded.clone(),
                |high| ordered(known::MIN, vec![bounded.clone(), high]),
            )
        }
        (Function::Conversion, [x]) => {
            if from == to || (from.is_float() && to.is_float()) {
                x.clone()
            } else if to == DType::Bool {
                laws::apply(
                    known::NOT,
                    vec![laws::apply(known::EQUAL, vec![x.clone(), Expr::zero()])],
                )
            } else if from == DType::Bool
                || (from.int_range().is_some() && (real || holds_all(from, to))) && is_one_value(x, from)
            {
                // Only a single value: a sum or product of integers wraps around in its own type first.
                x.clone()
            } else {
                // A conversion depends on the number alone; but a sum or product wraps around, or is rounded, in its type.
                let from = match is_one_value(x, from) {
                    true if from.is_float() => DType::F64,
                    true if from.int_range().is_some() => DType::I64,
                    _ => from,
                };
                let mut with = vec![AttrValue::DType(from), AttrValue::DType(to)];
                with.extend(["saturate", "round_mode"].map(|name| call.attr(name).clone()));
                laws::apply(Fun::With(known::CAST, with), args)
            }
        }
        (Function::Choice, [c, a, b]) if to == DType::Bool && *a == Expr::int(1) && b.is_zero() => c.clone(),
        (Function::Power, [_, _]) if !real => Expr::apply(Fun::In(name, to), args),
        _ if !call.attrs.iter().all(AttrValue::is_none) => {
            let mut with = call.attrs.clone();
            with.extend(from.is_int().then_some(AttrValue::DType(from)));
            laws::apply(Fun::With(name, with), args)
        }
        // The quotient of the least integer and -1 is no integer of its type, and others, such as the complement, depend
        // on the type.
        (Function::Quotient, [_, b]) if !b.as_number().is_some_and(|n| n.is_positive()) => {
            Expr::apply(Fun::In(name, to), args)
        }
        (Function::Named, [_])
            if from.is_int() && !looks_first && !matches!(name, known::SIGN | known::BITWISE_NOT) =>
        {
            Expr::apply(Fun::In(name, to), args)
        }
        (_, [a, b]) if name == known::LESS && laws::is_never_less(a, b, from) => Expr::zero(),
        (_, [a, b]) if name == known::GREATER && laws::is_never_less(b, a, from) => Expr::zero(),
        // Of two integers, one is less or equal if the other is not less; a NaN would be neither.
        (_, [a, b]) if from.is_int() && name == known::LESS_OR_EQUAL => is_not_less(b, a, from),
        (_, [a, b]) if from.is_int() && name == known::GREATER_OR_EQUAL => is_not_less(a, b, from),
        // NaN alone differs from itself.
        (_, [a, b])
            if a == b
                && is_element(a)
                && matches!(name, known::EQUAL | known::LESS_OR_EQUAL | known::GREATER_OR_EQUAL) =>
        {
            if from.is_float() {
                laws::apply(known::NOT, vec![laws::apply(known::IS_NAN, vec![a.clone()])])
            } else {
                Expr::int(1)
            }
        }
        _ if real || to == DType::Bool => laws::apply(name, args),
        _ => laws::whole(name, args, to),
    })
}
