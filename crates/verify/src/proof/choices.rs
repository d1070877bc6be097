//! Formulas with conditions in them, compared for each truth of the conditions.
//!
//! A condition is 0 or 1. Two formulas are equal if they are equal where it is 0 and where it is 1. Only the laws of
//! truth values, which hold for numbers of every type, are applied to the rest.

use num_traits::Zero;

use super::expr::{Expr, Factor};
use super::laws;
use super::order::order;
use tautomer_op::known;

/// Limit on the conditions that are looked at one inside the other.
const DEPTH: usize = 8;

/// True if the formulas are equal whatever the conditions in them are.
pub(super) fn equal(a: &Expr, b: &Expr) -> bool {
    equal_below(a, b, 0)
}

fn equal_below(a: &Expr, b: &Expr, depth: usize) -> bool {
    if laws::equal(a, b) {
        return true;
    }
    if depth == DEPTH {
        return false;
    }
    let Some(condition) = condition_in(a).or_else(|| condition_in(b)) else {
        return false;
    };
    [false, true].into_iter().all(|truth| {
        let given = |x: &Expr| given(x, &condition, truth);
        equal_below(&given(a), &given(b), depth + 1)
    })
}

/// A condition in a formula that has no other in it.
fn condition_in(x: &Expr) -> Option<Expr> {
    x.terms()
        .iter()
        .flat_map(|(product, _)| product)
        .find_map(|(factor, _)| match factor {
            Factor::Apply(f, args) => match (f.name(), args.as_slice()) {
                (known::WHERE, [c, a, b]) => truth_in(c).or_else(|| condition_in(a)).or_else(|| condition_in(b)),
                (known::AND | known::OR | known::XOR | known::NOT, all) => all.iter().find_map(truth_in),
                (_, all) => all.iter().find_map(condition_in),
            },
            Factor::Inverse(sum) => condition_in(sum),
            Factor::Size(_) | Factor::Element(..) | Factor::Fold(_) | Factor::Whole(_) => None,
        })
}

/// A condition in a truth value, or the value itself.
fn truth_in(x: &Expr) -> Option<Expr> {
    match x.as_factor() {
        None => condition_in(x),
        Some(_) => condition_in(x).or_else(|| Some(x.clone())),
    }
}

/// The formula where a condition is known.
fn given(x: &Expr, condition: &Expr, truth: bool) -> Expr {
    let inner = |e: &Expr| given(e, condition, truth);
    let mut out = Expr::zero();
    for (product, c) in x.terms() {
        let mut term = Expr::number(c.clone());
        for (factor, exponent) in product {
            let single = Expr::factor(factor.clone());
            let value = match (follows(condition, truth, &single), factor) {
                (Some(known), _) => Expr::int(i64::from(known)),
                (None, Factor::Apply(f, args)) => {
                    let new: Vec<Expr> = args.iter().map(inner).collect();
                    match (f.name(), new.as_slice()) {
                        _ if new == *args => single,
                        (known::WHERE, [c, a, b]) => match c.as_number() {
                            Some(c) if c.is_zero() => b.clone(),
                            Some(_) => a.clone(),
                            None if a == b => a.clone(),
                            None => Expr::apply(known::WHERE, new),
                        },
                        (known::AND | known::OR | known::NOT, _) => laws::apply(f.clone(), new),
                        (known::XOR, [a, b]) => match (a.as_number(), b.as_number()) {
                            (Some(a), Some(b)) => Expr::int(i64::from(a != b)),
                            _ => Expr::apply(f.clone(), new),
                        },
                        _ => Expr::apply(f.clone(), new),
                    }
                }
                (None, Factor::Inverse(sum)) => inner(sum).inverse(),
                (None, _) => single,
            };
            let power = value.power(exponent.unsigned_abs());
            term = term.mul(&if *exponent < 0 { power.inverse() } else { power });
        }
        out = out.add(&term);
    }
    out
}

/// Whether `other` holds, if that follows from the truth of a condition. A comparison with a number decides others with
/// numbers on the same side; one that does not hold says nothing about the opposite one, since NaN satisfies neither.
fn follows(condition: &Expr, truth: bool, other: &Expr) -> Option<bool> {
    if condition == other {
        return Some(truth);
    }
    let (Some(Factor::Apply(f, of)), Some(Factor::Apply(g, with))) = (condition.as_factor(), other.as_factor()) else {
        return None;
    };
    let strict = |name: &str| match name {
        known::LESS => Some(true),
        known::LESS_OR_EQUAL => Some(false),
        _ => None,
    };
    let (strictly, also_strictly) = (strict(f.name())?, strict(g.name())?);
    let ([a, b], [c, d]) = (of.as_slice(), with.as_slice()) else {
        return None;
    };
    // Whether the other comparison is easier to satisfy.
    let easier = if b == d {
        order(a, c)?
    } else if a == c {
        order(d, b)?
    } else {
        return None;
    };
    let implied = easier.is_gt() || easier.is_eq() && (strictly || !also_strictly);
    let implies = easier.is_lt() || easier.is_eq() && (!strictly || also_strictly);
    match truth {
        true if implied => Some(true),
        false if implies => Some(false),
        _ => None,
    }
}
