//! Formulas with conditions in them, compared for each truth of the conditions.
//!
//! A condition is 0 or 1. Two formulas are equal if they are equal where it is 0 and where it is 1. Only the laws of
//! truth values, which hold for numbers of every type, are applied to the rest.

use num_rational::BigRational;
use num_traits::{Signed, Zero};

use super::expr::{Expr, Factor, Fun};
use super::lattices::canonical;
use super::laws;
use super::order::order;
use tautomer_op::known;

/// Limit on the conditions that are looked at one inside the other.
const DEPTH: usize = 8;

/// What formulas that are compared stand for.
#[derive(Debug, Clone, Copy)]
pub(super) struct Promise {
    /// Nothing is promised for NaN.
    pub(super) real: bool,
    /// The formulas are true or false.
    pub(super) truth: bool,
    /// All operands are integers and truth values, of which two different ones are in one order or the other.
    pub(super) total: bool,
}

/// True if the formulas are equal whatever the conditions in them are.
pub(super) fn equal(a: &Expr, b: &Expr, promise: Promise) -> bool {
    // The operands that are true or false, whatever they are operands of elsewhere.
    let mut truths = Vec::new();
    if promise.truth {
        truths_in(a, &mut truths);
        truths_in(b, &mut truths);
        truths.truncate(DEPTH);
    }
    equal_below(a, b, promise, &truths, 0)
        || {
            let by_order = |x: &Expr| by_strict_order(x, promise.total);
            let (x, y) = (by_order(a), by_order(b));
            (x != *a || y != *b) && equal_below(&x, &y, promise, &truths, 0)
        }
        || {
            let (x, y) = (canonical(a, promise.real), canonical(b, promise.real));
            (x != *a || y != *b) && laws::equal(&x, &y)
        }
}

/// True if the formulas are equal whatever the conditions in them are, without looking for truth values elsewhere.
pub(super) fn same(a: &Expr, b: &Expr, promise: Promise) -> bool {
    equal_below(a, b, promise, &[], 0)
}

/// Adds the elements that are true or false, since they are operands of functions of truth values.
fn truths_in(x: &Expr, out: &mut Vec<Expr>) {
    for (factor, _) in x.terms().iter().flat_map(|(product, _)| product) {
        let Factor::Apply(f, args) = factor else { continue };
        if matches!(f.name(), known::AND | known::OR | known::XOR | known::NOT) {
            let elements = args
                .iter()
                .filter(|arg| matches!(arg.as_factor(), Some(Factor::Element(..))));
            for element in elements {
                if !out.contains(element) {
                    out.push(element.clone());
                }
            }
        }
        args.iter().for_each(|arg| truths_in(arg, out));
    }
}

fn equal_below(a: &Expr, b: &Expr, promise: Promise, truths: &[Expr], depth: usize) -> bool {
    if laws::equal(a, b) {
        return true;
    }
    if depth == DEPTH {
        return false;
    }
    let find = if promise.truth { truth_in } else { condition_in };
    let (first, truths) = match truths {
        [first, rest @ ..] => (Some(first.clone()), rest),
        [] => (None, truths),
    };
    let Some(condition) = first.or_else(|| find(a)).or_else(|| find(b)) else {
        return false;
    };
    [false, true].into_iter().all(|truth| {
        let known = Known {
            condition: &condition,
            truth,
            real: promise.real,
        };
        equal_below(&known.given(a), &known.given(b), promise, truths, depth + 1)
    })
}

/// `a <= b` as `a < b` or `a = b`; and of `a < b` and `b < a`, only one, in a total order.
fn by_strict_order(x: &Expr, total: bool) -> Expr {
    x.map_factors(&|factor| {
        let Factor::Apply(f, args) = factor else { return None };
        let is_turned = total && f.is(known::LESS) && args[0] > args[1];
        if !is_turned && !f.is(known::LESS_OR_EQUAL) {
            return None;
        }
        let mut args: Vec<Expr> = args.iter().map(|arg| by_strict_order(arg, total)).collect();
        if is_turned {
            args.reverse();
        }
        let both = [known::LESS, known::EQUAL].map(|name| laws::apply(name, args.clone()));
        let either = laws::apply(known::OR, both.to_vec());
        Some(if is_turned {
            laws::apply(known::NOT, vec![either])
        } else {
            either
        })
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
                (name, all) => {
                    let inside = all.iter().find_map(condition_in);
                    inside.or_else(|| RELATIONS.contains(&name).then(|| Expr::factor(factor.clone())))
                }
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

/// A condition whose truth is known.
struct Known<'a> {
    condition: &'a Expr,
    truth: bool,
    /// Nothing is promised for NaN.
    real: bool,
}

impl Known<'_> {
    /// The formula where the condition is known.
    fn given(&self, x: &Expr) -> Expr {
        let mut out = Expr::zero();
        for (product, c) in x.terms() {
            let mut term = Expr::number(c.clone());
            for (factor, exponent) in product {
                let single = Expr::factor(factor.clone());
                let value = match (follows(self.condition, self.truth, &single), factor) {
                    (Some(known), _) => Expr::int(i64::from(known)),
                    (None, Factor::Apply(f, args)) => {
                        let new: Vec<Expr> = args.iter().map(|arg| self.given(arg)).collect();
                        if let (Some(dtype), [x]) = (f.marked(), new.as_slice()) {
                            laws::in_order(x, dtype)
                        } else {
                            match (f.name(), new.as_slice()) {
                                (known::MAX | known::MIN, _) => self.ordered(f, new),
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
                                (known::EQUAL | known::LESS | known::LESS_OR_EQUAL, [a, b]) => {
                                    compared(f.name(), a, b).unwrap_or_else(|| Expr::apply(f.clone(), new))
                                }
                                _ => Expr::apply(f.clone(), new),
                            }
                        }
                    }
                    (None, Factor::Inverse(sum)) => self.given(sum).inverse(),
                    (None, _) => single,
                };
                let power = value.power(exponent.unsigned_abs());
                term = term.mul(&if *exponent < 0 { power.inverse() } else { power });
            }
            out = out.add(&term);
        }
        out
    }

    /// A maximum or minimum without the operand that the condition rules out.
    fn ordered(&self, f: &Fun, mut args: Vec<Expr>) -> Expr {
        if let Some((_, a, b)) = comparison(self.condition)
            && (self.truth || self.real)
            && args.contains(a)
            && args.contains(b)
        {
            let (low, high) = if self.truth { (a, b) } else { (b, a) };
            let out = if f.is(known::MAX) { low } else { high };
            args.retain(|arg| arg != out);
        }
        match args.as_slice() {
            [one] => one.clone(),
            _ => Expr::apply(f.clone(), args),
        }
    }
}

/// The truth of a comparison of two written numbers, if every element type that is calculated with has them.
fn compared(name: &str, a: &Expr, b: &Expr) -> Option<Expr> {
    let small = |x: &Expr| {
        x.as_number()
            .filter(|v| v.is_integer() && !v.is_negative() && *v <= BigRational::from_integer(i8::MAX.into()))
    };
    let (a, b) = (small(a)?, small(b)?);
    let holds = match name {
        known::EQUAL => a == b,
        known::LESS => a < b,
        _ => a <= b,
    };
    Some(Expr::int(i64::from(holds)))
}

/// Comparisons, each of which is true or false.
const RELATIONS: [&str; 4] = [known::LESS, known::LESS_OR_EQUAL, known::EQUAL, known::IS_NAN];

/// Whether a comparison of order is strict, and its sides: the lesser one first.
fn comparison(x: &Expr) -> Option<(bool, &Expr, &Expr)> {
    match x.as_factor()? {
        Factor::Apply(f, args) => match (f.name(), args.as_slice()) {
            (known::LESS, [a, b]) => Some((true, a, b)),
            (known::LESS_OR_EQUAL, [a, b]) => Some((false, a, b)),
            _ => None,
        },
        _ => None,
    }
}

/// Whether `other` holds, if that follows from the truth of a condition.
fn follows(condition: &Expr, truth: bool, other: &Expr) -> Option<bool> {
    if condition == other {
        return Some(truth);
    }
    by_number(condition, truth, other).or_else(|| by_sides(condition, truth, other))
}

/// What a comparison says about others of the same two sides.
fn by_sides(condition: &Expr, truth: bool, other: &Expr) -> Option<bool> {
    let equal = |x: &Expr| match x.as_factor() {
        Some(Factor::Apply(f, args)) if f.is(known::EQUAL) && args.len() == 2 => {
            Some([args[0].clone(), args[1].clone()])
        }
        _ => None,
    };
    let is_same = |[c, d]: &[Expr; 2], a: &Expr, b: &Expr| c == a && d == b || c == b && d == a;
    match (comparison(condition), comparison(other)) {
        (Some((strict, a, b)), Some((also_strict, c, d))) => match truth {
            // a < b
            true if strict && (a, b) == (c, d) => Some(true),
            true if (a, b) == (d, c) && (strict || also_strict) => Some(false),
            // not a <= b
            false if !strict && also_strict && (a, b) == (c, d) => Some(false),
            _ => None,
        },
        (Some((strict, a, b)), None) if is_same(&equal(other)?, a, b) => (strict == truth).then_some(false),
        (None, Some((strict, a, b))) if truth && is_same(&equal(condition)?, a, b) => Some(!strict),
        _ => None,
    }
}

/// What a comparison with a number says about others with numbers on the same side; one that does not hold says nothing
/// about the opposite one, since NaN satisfies neither.
fn by_number(condition: &Expr, truth: bool, other: &Expr) -> Option<bool> {
    let ((strictly, a, b), (also_strictly, c, d)) = (comparison(condition)?, comparison(other)?);
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
