//! Functions of the bits of integers, as sums of conjunctions.
//!
//! Each bit of the result depends on the same bits of the operands alone. A function of bits is a sum of products of
//! bits with integer coefficients, in exactly one way: `a | b = a + b - (a & b)`, `a ^ b = a + b - 2 (a & b)` and
//! `~a = -1 - a`. So functions of bits are equal, also among sums of integers that wrap around, if these sums are.

use std::collections::BTreeMap;

use num_traits::{Signed, ToPrimitive};

use super::expr::{Expr, Factor};
use tautomer_op::known;

/// Limit on the operands of one function.
const OPERANDS: usize = 8;

/// A sum of products of bits, by the operands of each product.
type Sum = BTreeMap<Vec<Expr>, i64>;

/// A function of the bits of integers; `None` if it is none, or has too many operands.
pub(super) fn combined(name: &str, args: &[Expr]) -> Option<Expr> {
    let [first, rest @ ..] = args else { return None };
    let mut out = read(first);
    match (name, rest) {
        (known::BITWISE_NOT, []) => {
            out = plus(&Sum::from([(Vec::new(), 1)]), &out, -1)?;
        }
        (known::BITWISE_AND | known::BITWISE_OR | known::BITWISE_XOR, [_, ..]) => {
            for arg in rest {
                let other = read(arg);
                let both = times(&out, &other)?;
                out = match name {
                    known::BITWISE_AND => both,
                    known::BITWISE_OR => plus(&plus(&out, &other, 1)?, &both, -1)?,
                    _ => plus(&plus(&out, &other, 1)?, &both, -2)?,
                };
            }
        }
        _ => return None,
    }
    let mut sum = Expr::zero();
    for (operands, c) in out {
        let product = match operands.as_slice() {
            // The integer all of whose bits are 1.
            [] => Expr::int(-1),
            [one] => one.clone(),
            [a, b] if whole(a).zip(whole(b)).is_some() => {
                Expr::int(whole(a).unwrap_or_default() & whole(b).unwrap_or_default())
            }
            _ => Expr::apply(known::BITWISE_AND, operands),
        };
        sum = sum.add(&product.mul(&Expr::int(c)));
    }
    Some(sum)
}

/// A nonnegative number whose bits are the same in all types that have it.
fn whole(x: &Expr) -> Option<i64> {
    let v = x.as_number().filter(|v| v.is_integer() && !v.is_negative())?;
    v.to_integer().to_i64()
}

/// The bits of an integer, as those of other integers where it is a function of them.
fn read(x: &Expr) -> Sum {
    let opened = match x.as_factor() {
        Some(Factor::Apply(f, args)) if f.marked().is_some() => &args[0],
        _ => x,
    };
    parts(opened)
        .filter(is_bits)
        .unwrap_or_else(|| Sum::from([(vec![x.clone()], 1)]))
}

/// The terms of a sum of conjunctions.
fn parts(x: &Expr) -> Option<Sum> {
    let mut out = Sum::new();
    for (product, c) in x.terms() {
        let c = Some(c).filter(|c| c.is_integer())?.to_integer().to_i64()?;
        let (operands, c) = match product.as_slice() {
            [] if c.unsigned_abs() > 1 => return None,
            [] => (Vec::new(), -c),
            [(factor, 1)] => match factor {
                Factor::Apply(f, args) if f.is(known::BITWISE_AND) => (args.clone(), c),
                _ => (vec![Expr::factor(factor.clone())], c),
            },
            _ => return None,
        };
        *out.entry(operands).or_default() += c;
    }
    Some(out)
}

/// True if the sum is 0 or 1 whatever the bits of its operands are.
fn is_bits(sum: &Sum) -> bool {
    let mut all: Vec<&Expr> = sum.keys().flatten().collect();
    all.sort();
    all.dedup();
    let holds = |operand: &Expr, bits: u32| {
        all.iter()
            .position(|own| *own == operand)
            .is_some_and(|i| bits >> i & 1 == 1)
    };
    let value = |bits: u32| -> i64 {
        let terms = sum
            .iter()
            .filter(|(operands, _)| operands.iter().all(|operand| holds(operand, bits)));
        terms.map(|(_, c)| c).sum()
    };
    all.len() <= OPERANDS && (0..1u32 << all.len()).all(|bits| matches!(value(bits), 0 | 1))
}

/// `a + times b`
fn plus(a: &Sum, b: &Sum, times: i64) -> Option<Sum> {
    let mut out = a.clone();
    for (operands, c) in b {
        let own = out.entry(operands.clone()).or_default();
        *own = own.checked_add(c.checked_mul(times)?)?;
    }
    out.retain(|_, c| *c != 0);
    (out.len() <= 1 << OPERANDS).then_some(out)
}

fn times(a: &Sum, b: &Sum) -> Option<Sum> {
    let mut out = Sum::new();
    for (p, c) in a {
        for (q, d) in b {
            let mut operands = [p.as_slice(), q].concat();
            operands.sort();
            operands.dedup();
            let own = out.entry(operands).or_default();
            *own = own.checked_add(c.checked_mul(*d)?)?;
        }
    }
    out.retain(|_, c| *c != 0);
    (out.len() <= 1 << OPERANDS).then_some(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(name: &str, args: &[&Expr]) -> Expr {
        let args: Vec<Expr> = args.iter().map(|arg| (*arg).clone()).collect();
        combined(name, &args).unwrap()
    }

    #[test]
    fn functions_of_bits_have_one_form() {
        let [x, y, z] = [0, 1, 2].map(|leaf| Expr::factor(Factor::Element(leaf, Vec::new())));
        let and = |a: &Expr, b: &Expr| of(known::BITWISE_AND, &[a, b]);
        let or = |a: &Expr, b: &Expr| of(known::BITWISE_OR, &[a, b]);
        let xor = |a: &Expr, b: &Expr| of(known::BITWISE_XOR, &[a, b]);
        let not = |a: &Expr| of(known::BITWISE_NOT, &[a]);
        let (zero, ones) = (Expr::zero(), Expr::int(-1));
        for (a, b) in [
            (and(&and(&x, &y), &x), and(&x, &y)),
            (and(&x, &or(&x, &y)), x.clone()),
            (xor(&xor(&x, &y), &y), x.clone()),
            (or(&and(&x, &y), &and(&x, &not(&y))), x.clone()),
            (not(&and(&x, &y)), or(&not(&x), &not(&y))),
            (not(&x).add(&Expr::int(1)), x.neg()),
            (and(&x, &y).add(&or(&x, &y)), x.add(&y)),
            (or(&x, &y).sub(&and(&x, &y)), xor(&x, &y)),
            (xor(&x, &y).add(&and(&x, &y).mul(&Expr::int(2))), x.add(&y)),
            (and(&x, &or(&y, &z)), or(&and(&x, &y), &and(&x, &z))),
            (and(&x, &zero), zero.clone()),
            (or(&x, &ones), ones.clone()),
            (xor(&x, &ones), not(&x)),
            (and(&Expr::int(12), &Expr::int(10)), Expr::int(8)),
        ] {
            assert_eq!(a, b);
        }
        for (a, b) in [
            (and(&x, &y), or(&x, &y)),
            (xor(&x, &y), or(&x, &y)),
            (and(&x.add(&y), &z), and(&x, &z).add(&and(&y, &z))),
            (not(&x), x.neg()),
        ] {
            assert_ne!(a, b);
        }
    }
}
