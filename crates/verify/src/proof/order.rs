//! Constants in formulas, and which of two is less.
//!
//! A number that a rule only compares is a symbol for every number between two others ([`Between`]). The proof has a
//! case for each order of such numbers, so that their order among themselves is known, and that relative to any number
//! that is not between the bounds.

use std::cmp::Ordering;

use num_rational::BigRational;
use num_traits::{One, Signed};

use super::expr::{Expr, Factor, Fun};

/// An arbitrary number between two others, by the bits of all three in `f64`. Of two with the same bounds, the one with
/// the lesser place is less, and two with the same place are one number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct Between {
    low: u64,
    high: u64,
    place: u64,
}

impl Between {
    /// Any number above `low` and below `high`; infinity is no bound.
    pub(super) fn of(low: f64, high: f64, place: f64) -> Between {
        Between {
            low: low.to_bits(),
            high: high.to_bits(),
            place: place.to_bits(),
        }
    }

    pub(super) fn place(self) -> f64 {
        f64::from_bits(self.place)
    }
}

/// A constant.
enum Constant {
    Number(BigRational),
    /// An infinity.
    Infinite {
        negative: bool,
    },
    /// A multiple of a number between two others; the factor is not 0.
    Symbol(BigRational, Between),
}

fn constant(x: &Expr) -> Option<Constant> {
    if let Some(v) = x.as_number() {
        return Some(Constant::Number(v));
    }
    let [(product, times)] = x.terms() else { return None };
    let [(Factor::Apply(fun, _), 1)] = product.as_slice() else {
        return None;
    };
    match fun {
        Fun::Between(one) => Some(Constant::Symbol(times.clone(), *one)),
        Fun::Special(bits) if f64::from_bits(*bits).is_infinite() => Some(Constant::Infinite {
            negative: f64::from_bits(*bits).is_sign_negative() != times.is_negative(),
        }),
        _ => None,
    }
}

/// True if the order of the formula relative to constants may be known.
pub(super) fn is_constant(x: &Expr) -> bool {
    constant(x).is_some()
}

/// The bounds of a multiple of a number between two others, where it has them.
fn bounds(times: &BigRational, one: Between) -> (Option<BigRational>, Option<BigRational>) {
    let bound = |bits: u64| BigRational::from_float(f64::from_bits(bits)).map(|v| v * times);
    let (a, b) = (bound(one.low), bound(one.high));
    if times.is_negative() { (b, a) } else { (a, b) }
}

/// Which of two constants is less, if that is known.
pub(super) fn order(a: &Expr, b: &Expr) -> Option<Ordering> {
    use Constant::{Infinite, Number, Symbol};
    if a == b {
        return is_constant(a).then_some(Ordering::Equal);
    }
    match (constant(a)?, constant(b)?) {
        (Number(a), Number(b)) => Some(a.cmp(&b)),
        (Infinite { negative: a }, Infinite { negative: b }) => Some(b.cmp(&a)),
        (Infinite { negative }, _) => Some(if negative { Ordering::Less } else { Ordering::Greater }),
        (_, Infinite { negative }) => Some(if negative { Ordering::Greater } else { Ordering::Less }),
        (Symbol(times, one), Number(v)) => match bounds(&times, one) {
            (Some(low), _) if v <= low => Some(Ordering::Greater),
            (_, Some(high)) if v >= high => Some(Ordering::Less),
            _ => None,
        },
        (Number(_), Symbol(..)) => order(b, a).map(Ordering::reverse),
        (Symbol(p, one), Symbol(q, other)) => {
            let ((low, high), (other_low, other_high)) = (bounds(&p, one), bounds(&q, other));
            if let (Some(low), Some(high)) = (low, other_high)
                && low >= high
            {
                return Some(Ordering::Greater);
            }
            if let (Some(high), Some(low)) = (high, other_low)
                && high <= low
            {
                return Some(Ordering::Less);
            }
            let known = if (one.low, one.high) == (other.low, other.high) && p == q {
                one.place().partial_cmp(&other.place())?
            } else if one == other {
                // Two multiples of one number, whose sign decides.
                return match bounds(&BigRational::one(), one) {
                    (Some(low), _) if !low.is_negative() => Some(p.cmp(&q)),
                    (_, Some(high)) if !high.is_positive() => Some(q.cmp(&p)),
                    _ => None,
                };
            } else {
                return None;
            };
            Some(if p.is_negative() { known.reverse() } else { known })
        }
    }
}
