//! Laws of functions: rewrites each call of a function to a normal form.

use std::cmp::Ordering;

use num_rational::BigRational;
use num_traits::{One, Signed, ToPrimitive, Zero};

use super::bits;
use super::expr::{Expr, Factor, Fun, Product, VALUE};
use super::function::is_one_value;
use super::order::{is_constant, order};
use tautomer_op::known;
use tautomer_tensor::DType;

/// Nondecreasing functions.
pub(super) const GROWING: [&str; 13] = [
    known::EXP,
    known::LOG,
    known::SQRT,
    known::TANH,
    known::ERF,
    known::FLOOR,
    known::CEIL,
    known::ROUND,
    known::SIGN,
    known::ASINH,
    known::ATAN,
    known::SINH,
    known::ASIN,
];

/// Those of them that have a finite value, or a finite limit, at an infinity.
pub(super) const LIMITED: [&str; 5] = [known::EXP, known::TANH, known::ERF, known::SIGN, known::ATAN];

/// A function of numbers, in the normal form according to its laws.
pub(super) fn apply(fun: impl Into<Fun>, args: Vec<Expr>) -> Expr {
    let fun = fun.into();
    let name = fun.name();
    match (name, args.as_slice()) {
        (known::MAX | known::MIN, [_, ..]) => lattice(name, args),
        (known::RELU, [x]) => lattice(known::MAX, vec![x.clone(), Expr::zero()]),
        (known::WHERE, [c, a, b]) => choice(c, a, b, true),
        (known::NOT, [x]) => match (x.as_factor(), x.as_number()) {
            (Some(Factor::Apply(not, of)), _) if not.is(known::NOT) => of[0].clone(),
            (_, Some(v)) => Expr::int(i64::from(v.is_zero())),
            _ => Expr::apply(known::NOT, args),
        },
        (known::AND | known::OR, [a, b]) => {
            let neutral = BigRational::from_integer(i64::from(name == known::AND).into());
            for (x, y) in [(a, b), (b, a)] {
                match x.as_number() {
                    Some(v) if v == neutral => return y.clone(),
                    Some(v) => return Expr::number(v),
                    None => {}
                }
            }
            if a == b {
                return a.clone();
            }
            commutative(name, args)
        }
        (known::EQUAL | known::XOR, _) => commutative(name, args),
        (known::BITWISE_AND | known::BITWISE_OR | known::BITWISE_XOR | known::BITWISE_NOT, all) => {
            let combined = bits::combined(name, all);
            combined.unwrap_or_else(|| commutative(name, args))
        }
        // Numbers of a type that wraps around are marked, so these are not.
        (known::LESS | known::LESS_OR_EQUAL, [a, b]) if is_turned(a) && is_turned(b) => {
            apply(name, vec![b.neg(), a.neg()])
        }
        (known::LESS, [a, b]) if a == b && matches!(a.as_factor(), Some(Factor::Element(..))) => Expr::zero(),
        // One relation serves for both directions.
        (known::GREATER, [a, b]) => apply(known::LESS, vec![b.clone(), a.clone()]),
        (known::GREATER_OR_EQUAL, [a, b]) => apply(known::LESS_OR_EQUAL, vec![b.clone(), a.clone()]),
        (known::ABS, [x]) => match (x.as_factor(), x.as_number()) {
            (_, Some(v)) => Expr::number(v.abs()),
            (Some(Factor::Apply(f, _)), _) if matches!(f.name(), known::ABS | known::EXP | known::SQRT) => x.clone(),
            _ if is_square(x) => x.clone(),
            _ => {
                let x = positive(x);
                // Move a common factor outside.
                let scale = x.terms().last().map_or_else(BigRational::one, |(_, c)| c.clone());
                let inner = x.mul(&Expr::number(scale.recip()));
                Expr::apply(known::ABS, vec![inner]).mul(&Expr::number(scale))
            }
        },
        (known::SIGN | known::FLOOR | known::CEIL | known::ROUND, [x]) => match (x.as_factor(), x.as_number()) {
            (Some(Factor::Apply(f, _)), _) if f.is(name) => x.clone(),
            (Some(Factor::Apply(f, _)), _) if name != known::SIGN && TO_INTEGERS.contains(&f.name()) => x.clone(),
            (_, Some(v)) => match name {
                known::SIGN => Expr::number(v.signum()),
                known::FLOOR => Expr::number(v.floor()),
                known::CEIL => Expr::number(v.ceil()),
                _ => Expr::number(to_nearest(&v)),
            },
            _ if positive(x) != *x => {
                let turned = match name {
                    known::FLOOR => known::CEIL,
                    known::CEIL => known::FLOOR,
                    _ => name,
                };
                apply(turned, vec![x.neg()]).neg()
            }
            // Nondecreasing functions commute with maximum and minimum.
            _ if name != known::SIGN => match opened(x) {
                Some((lattice_name, all)) => {
                    let all = all.into_iter().map(|one| apply(name, vec![one]));
                    lattice(lattice_name, all.collect())
                }
                None => rounded(name, x),
            },
            _ => Expr::apply(name, args),
        },
        (known::EXP, [x]) if x.is_zero() => Expr::int(1),
        (known::EXP, [x]) => exponential(x),
        (known::LOG, [x]) => logarithm(x),
        (known::DIV, [a, b]) if b.as_number().is_some_and(|v| v.is_one()) => a.clone(),
        (known::SQRT, [x]) => match x.as_number() {
            Some(v) if v.is_zero() || v.is_one() => x.clone(),
            _ => root(x),
        },
        (known::POW, [x, y]) => power(x, y),
        (name, [x]) if ODD.contains(&name) => {
            let own = positive(x);
            let value = Expr::apply(name, vec![own.clone()]);
            if own == *x { value } else { value.neg() }
        }
        (known::COS | known::COSH, [x]) => Expr::apply(name, vec![positive(x)]),
        _ => Expr::apply(fun, args),
    }
}

/// Functions whose results are integers.
const TO_INTEGERS: [&str; 3] = [known::FLOOR, known::CEIL, known::ROUND];

/// `x` rounded to an integer: an integer that is added to it is outside. An odd one would change which of two integers
/// is the even one.
fn rounded(name: &'static str, x: &Expr) -> Expr {
    let number = x.terms().iter().find(|(product, _)| product.is_empty());
    let whole = number.map_or_else(BigRational::zero, |(_, v)| v.floor());
    if whole.is_zero() || name == known::ROUND {
        return Expr::apply(name, vec![x.clone()]);
    }
    let whole = Expr::number(whole);
    apply(name, vec![x.sub(&whole)]).add(&whole)
}

/// Functions that turn with the sign of their operand.
const ODD: [&str; 8] = [
    known::SIN,
    known::TAN,
    known::SINH,
    known::ASIN,
    known::ATAN,
    known::ASINH,
    known::ATANH,
    known::ERF,
];

/// True for the negation of a factor.
fn is_turned(x: &Expr) -> bool {
    x.neg().as_factor().is_some()
}

/// True for a product of squares, which is not negative.
fn is_square(x: &Expr) -> bool {
    let [(product, c)] = x.terms() else { return false };
    c.is_positive() && product.iter().all(|(factor, e)| e % 2 == 0 || is_positive(factor))
}

/// The square root: squares are outside of it, as magnitudes.
fn root(x: &Expr) -> Expr {
    let whole = |x: &Expr| Expr::apply(known::SQRT, vec![x.clone()]);
    let [(product, c)] = x.terms() else { return whole(x) };
    let (mut outside, mut inner) = (Expr::int(1), c.clone());
    if c.is_positive() {
        let by = BigRational::new(c.numer().sqrt(), c.denom().sqrt());
        if &by * &by == *c {
            (outside, inner) = (Expr::number(by), BigRational::one());
        }
    }
    let mut inside = Product::new();
    for (factor, e) in product {
        if let Factor::Apply(f, args) = factor
            && f.is(known::EXP)
        {
            let half = BigRational::new((*e).into(), 2.into());
            outside = outside.mul(&exponential(&args[0].mul(&Expr::number(half))));
            continue;
        }
        let times = e.div_euclid(2);
        if times != 0 {
            let size = apply(known::ABS, vec![Expr::factor(factor.clone())]);
            outside = outside.mul(&whole_power(&size, times));
        }
        if e % 2 != 0 {
            inside.push((factor.clone(), 1));
        }
    }
    let inside = Expr::from_terms(vec![(inside, inner)]);
    match inside.as_number() {
        Some(v) if v.is_one() => outside,
        _ => outside.mul(&whole(&inside)),
    }
}

/// The nearest integer; of two, the even one.
fn to_nearest(v: &BigRational) -> BigRational {
    let (low, half) = (v.floor(), BigRational::new(1.into(), 2.into()));
    let above = v - &low;
    let is_odd = !(&low * &half).is_integer();
    if above > half || above == half && is_odd {
        low + BigRational::one()
    } else {
        low
    }
}

/// The operands of a maximum or minimum that `x` is, up to a factor and a number that is added; and which of the two it
/// is of them.
pub(super) fn opened(x: &Expr) -> Option<(&'static str, Vec<Expr>)> {
    let (mut by, mut times, mut inside) = (Expr::zero(), None, None);
    for (product, c) in x.terms() {
        match product.as_slice() {
            [] => by = Expr::number(c.clone()),
            [(Factor::Apply(f, args), 1)] if inside.is_none() && (f.is(known::MAX) || f.is(known::MIN)) => {
                (times, inside) = (Some(c), Some((f.name(), args)));
            }
            _ => return None,
        }
    }
    let ((name, args), times) = (inside?, times?);
    let turned = if name == known::MAX { known::MIN } else { known::MAX };
    let name = if times.is_negative() { turned } else { name };
    let times = Expr::number(times.clone());
    Some((name, args.iter().map(|arg| arg.mul(&times).add(&by)).collect()))
}

/// A function of integers, in a normal form. Integers wrap around, so polynomials over them are equal as in a ring, but
/// scaling and shifting do not preserve order.
pub(super) fn whole(name: &'static str, args: Vec<Expr>, dtype: DType) -> Expr {
    match (name, args.as_slice()) {
        (known::RELU, [x]) => whole(known::MAX, vec![x.clone(), Expr::zero()], dtype),
        (known::MAX | known::MIN, [_, ..]) => {
            if dtype.is_signed()
                && let Some((x, rest)) = beside_its_negation(&args)
            {
                let size = magnitude(&x, dtype);
                let size = if name == known::MAX { size } else { size.neg() };
                return lattice(
                    name,
                    std::iter::once(&size)
                        .chain(&rest)
                        .map(|e| in_order(e, dtype))
                        .collect(),
                );
            }
            // What is at one end of the range of the type decides nothing, and at the other everything.
            let (least, most) = ends(dtype);
            let (idle, last) = if name == known::MAX {
                (least, most)
            } else {
                (most, least)
            };
            let mut args: Vec<Expr> = args.iter().map(|e| in_order(e, dtype)).collect();
            if let Some(end) = last.filter(|end| args.contains(end)) {
                return end;
            }
            if let Some(end) = idle
                && args.iter().any(|x| *x != end)
            {
                args.retain(|x| *x != end);
            }
            lattice(name, args)
        }
        // An unsigned integer is its own magnitude.
        (known::ABS, [x]) => magnitude(x, dtype),
        (known::SIGN, [x]) if matches!(x.as_factor(), Some(Factor::Apply(Fun::In(known::SIGN, own), _)) if *own == dtype) => {
            x.clone()
        }
        (known::SIGN, [x]) if !dtype.is_signed() => Expr::apply(Fun::In(known::SIGN, dtype), vec![x.clone()]),
        (known::WHERE, [c, a, b]) if dtype.is_signed() && a.add(b).is_zero() => match slopes(c, a, b) {
            Some((above, below)) if is_number(&above, 1) && is_number(&below, -1) => magnitude(a, dtype),
            Some((above, below)) if is_number(&above, -1) && is_number(&below, 1) => magnitude(a, dtype).neg(),
            _ => choice(c, a, b, false),
        },
        (known::WHERE, [c, a, b]) => choice(c, a, b, false),
        _ => apply(name, args),
    }
}

/// The least and the greatest number of an integer type.
fn ends(dtype: DType) -> (Option<Expr>, Option<Expr>) {
    let number = |n: i128| Expr::number(BigRational::from_integer(n.into()));
    let range = dtype.int_range();
    (
        range.map(|(least, _)| number(least)),
        range.map(|(_, most)| number(most)),
    )
}

/// True if one integer cannot be less than another: nothing is less than the least number of a type.
pub(super) fn is_never_less(a: &Expr, b: &Expr, dtype: DType) -> bool {
    let (least, most) = ends(dtype);
    least.is_some_and(|least| *b == least) || most.is_some_and(|most| *a == most)
}

fn is_number(x: &Expr, n: i64) -> bool {
    x.as_number().is_some_and(|v| v == BigRational::from_integer(n.into()))
}

/// The magnitude of an integer; the magnitude of the least integer is that integer itself.
fn magnitude(x: &Expr, dtype: DType) -> Expr {
    // An unsigned integer is its own magnitude.
    if !dtype.is_signed() || matches!(x.as_factor(), Some(Factor::Apply(Fun::In(known::ABS, _), _))) {
        return x.clone();
    }
    Expr::apply(Fun::In(known::ABS, dtype), vec![positive(x)])
}

/// An integer value wrapped as one factor that names its type, so that laws for sums and products of reals do not apply
/// to it, and it is not the same in another type; an element needs none of that.
pub(super) fn in_order(x: &Expr, dtype: DType) -> Expr {
    if dtype.is_float() || is_one_value(x, dtype) {
        return x.clone();
    }
    Expr::apply(Fun::In(VALUE, dtype), vec![x.clone()])
}

/// An operand whose negation is also an operand, and the remaining operands.
fn beside_its_negation(args: &[Expr]) -> Option<(Expr, Vec<Expr>)> {
    for (i, x) in args.iter().enumerate() {
        let negated = x.neg();
        if x.is_zero() {
            continue;
        }
        if let Some(j) = (i + 1..args.len()).find(|&j| args[j] == negated) {
            let rest = args.iter().enumerate().filter(|(k, _)| *k != i && *k != j);
            return Some((x.clone(), rest.map(|(_, e)| e.clone()).collect()));
        }
    }
    None
}

/// `where(c, a, b)`; a piecewise linear choice between reals becomes a maximum or minimum.
fn choice(c: &Expr, a: &Expr, b: &Expr, real: bool) -> Expr {
    if a == b {
        return a.clone();
    }
    match c.as_number() {
        Some(c) if c.is_zero() => return b.clone(),
        Some(_) => return a.clone(),
        None => {}
    }
    if let Some(Factor::Apply(not, of)) = c.as_factor()
        && not.is(known::NOT)
    {
        return choice(&of[0], b, a, real);
    }
    if a.as_number().is_some_and(|v| v.is_one()) && b.is_zero() && is_truth(c) {
        return c.clone();
    }
    let bent = if real { bend(c, a, b) } else { None };
    bent.unwrap_or_else(|| Expr::apply(known::WHERE, vec![c.clone(), a.clone(), b.clone()]))
}

/// A power; those with small integer exponents become products and inverses, and that with exponent 1/2 a root.
fn power(x: &Expr, y: &Expr) -> Expr {
    let whole = |v: &BigRational| {
        v.is_integer()
            .then(|| v.to_integer())
            .and_then(|v| i32::try_from(v).ok())
    };
    match y.as_number() {
        Some(v) if whole(&v).is_some_and(|n| n.abs() <= 8) => {
            let n = whole(&v).unwrap_or(0);
            let out = product_power(x, n.unsigned_abs());
            if n < 0 { out.inverse() } else { out }
        }
        // Quarters are roots of roots; neither these nor such powers exist of negative numbers.
        Some(v) if whole(&(&v * BigRational::from_integer(4.into()))).is_some_and(|n| n.abs() <= 32) => {
            let quarters = whole(&(v * BigRational::from_integer(4.into()))).unwrap_or(0);
            let n = quarters.unsigned_abs();
            let root = apply(known::SQRT, vec![x.clone()]);
            let mut out = product_power(x, n / 4);
            if n % 4 >= 2 {
                out = multiply(&out, &root);
            }
            if n % 2 == 1 {
                out = multiply(&out, &apply(known::SQRT, vec![root]));
            }
            if quarters < 0 { out.inverse() } else { out }
        }
        _ => Expr::apply(known::POW, vec![x.clone(), y.clone()]),
    }
}

/// An integer power, with squares of roots simplified.
pub(super) fn product_power(x: &Expr, n: u32) -> Expr {
    (0..n).fold(Expr::int(1), |out, _| multiply(&out, x))
}

/// The product, with squares of roots and magnitudes simplified.
pub(super) fn multiply(a: &Expr, b: &Expr) -> Expr {
    settled(&a.mul(b))
}

/// The expression with squares of roots and magnitudes simplified: `sqrt(x)² = x`, `|x|² = x²`.
pub(super) fn settled(x: &Expr) -> Expr {
    let special = |f: &Factor| matches!(f, Factor::Apply(name, _) if matches!(name.name(), known::SQRT | known::ABS) || matches!(name, Fun::In(known::ABS, _)));
    if !x
        .terms()
        .iter()
        .any(|(p, _)| p.iter().any(|(f, e)| special(f) && e.abs() > 1))
    {
        return x.clone();
    }
    let mut out = Expr::zero();
    for (product, c) in x.terms() {
        let mut term = Expr::number(c.clone());
        for (factor, e) in product {
            let (of, times) = match factor {
                Factor::Apply(name, args) if name.is(known::SQRT) => (Some(&args[0]), e / 2),
                Factor::Apply(name, args) if name.is(known::ABS) || matches!(name, Fun::In(known::ABS, _)) => {
                    (Some(&args[0]), e / 2 * 2)
                }
                _ => (None, 0),
            };
            let left = if of.is_some() { e % 2 } else { *e };
            term = term.mul(&whole_power(&Expr::factor(factor.clone()), left));
            term = of.map_or(term.clone(), |of| term.mul(&whole_power(of, times)));
        }
        out = out.add(&term);
    }
    out
}

fn whole_power(x: &Expr, n: i32) -> Expr {
    let power = x.power(n.unsigned_abs());
    if n < 0 { power.inverse() } else { power }
}

/// `exp(a + b) = exp a · exp b`, `exp(n x) = (exp x)ⁿ`, `exp(log x) = x`, `exp(-∞) = 0`
fn exponential(x: &Expr) -> Expr {
    let mut out = Expr::int(1);
    let nothing = Expr::float(f64::NEG_INFINITY);
    for (product, c) in x.terms() {
        if c.is_positive() && nothing.terms().iter().any(|(own, _)| own == product) {
            return Expr::zero();
        }
        let of = Expr::from_terms(vec![(product.clone(), BigRational::one())]);
        let times = c
            .is_integer()
            .then(|| c.to_integer())
            .and_then(|n| i32::try_from(n).ok())
            .filter(|n| n.abs() <= 8);
        out = out.mul(&match (of.as_factor(), times) {
            (Some(Factor::Apply(f, inner)), Some(n)) if f.is(known::LOG) => whole_power(&inner[0], n),
            (_, Some(n)) => whole_power(&Expr::apply(known::EXP, vec![of.clone()]), n),
            (Some(Factor::Apply(f, inner)), None) if f.is(known::LOG) && half(c).is_some() => {
                whole_power(&apply(known::SQRT, vec![inner[0].clone()]), half(c).unwrap_or(0))
            }
            (_, None) => Expr::apply(known::EXP, vec![of.mul(&Expr::number(c.clone()))]),
        });
    }
    out
}

/// How many halves a number is, if they are few.
fn half(c: &BigRational) -> Option<i32> {
    let twice = c * BigRational::from_integer(2.into());
    let n = twice
        .is_integer()
        .then(|| twice.to_integer())
        .and_then(|n| n.to_i32())?;
    (n.abs() <= 8).then_some(n)
}

/// `log(a · b) = log a + log b` for positive factors, `log(exp x) = x`,
/// `log(1 + exp x) = max(x, 0) + log(1 + exp -|x|)`
fn logarithm(x: &Expr) -> Expr {
    if let [(product, c)] = x.terms()
        && c.is_one()
        && product.iter().all(|(f, _)| is_positive(f))
    {
        return product.iter().fold(Expr::zero(), |sum, (f, e)| {
            let log = match f {
                Factor::Apply(name, args) if name.is(known::EXP) => args[0].clone(),
                Factor::Inverse(sum) => logarithm(sum).neg(),
                _ => Expr::apply(known::LOG, vec![Expr::factor(f.clone())]),
            };
            sum.add(&log.mul(&Expr::int(i64::from(*e))))
        });
    }
    let whole = |x: &Expr| Expr::apply(known::LOG, vec![x.clone()]);
    let one = Expr::int(1);
    let rest = x.sub(&one);
    if let [(product, c)] = rest.terms()
        && c.is_one()
        && !product.is_empty()
        && product
            .iter()
            .all(|(f, _)| matches!(f, Factor::Apply(name, _) if name.is(known::EXP)))
    {
        let exponent = logarithm(&rest);
        let magnitude = apply(known::ABS, vec![exponent.clone()]);
        let negative = matches!(exponent.neg().as_factor(), Some(Factor::Apply(f, _)) if f.is(known::ABS));
        if !negative {
            let small = one.add(&apply(known::EXP, vec![magnitude.neg()]));
            return lattice(known::MAX, vec![exponent, Expr::zero()]).add(&whole(&small));
        }
    }
    whole(x)
}

/// True if every term is positive.
pub(super) fn is_sum_of_positive(x: &Expr) -> bool {
    x.terms()
        .iter()
        .all(|(product, c)| c.is_positive() && product.iter().all(|(factor, _)| is_positive(factor)))
}

/// True for a product of exponentials.
pub(super) fn is_exponential(x: &Expr) -> bool {
    let is_exp = |factor: &Factor| matches!(factor, Factor::Apply(f, _) if f.is(known::EXP));
    matches!(x.terms(), [(product, c)] if c.is_one() && product.iter().all(|(factor, _)| is_exp(factor)))
}

/// True for factors that are positive wherever they are defined.
pub(super) fn is_positive(factor: &Factor) -> bool {
    match factor {
        Factor::Apply(fun, _) => fun.is(known::EXP),
        Factor::Inverse(sum) => is_sum_of_positive(sum),
        Factor::Fold(fold) => {
            matches!(fold.kind, super::expr::Kind::Sum)
                && fold.guards.is_empty()
                && fold
                    .body
                    .terms()
                    .iter()
                    .all(|(p, c)| c.is_positive() && p.iter().all(|(f, _)| is_positive(f)))
        }
        _ => false,
    }
}

/// `where(x >= 0, a x, b x)` is the maximum or the minimum of `a x` and `b x`.
fn bend(condition: &Expr, a: &Expr, b: &Expr) -> Option<Expr> {
    let (above, below) = slopes(condition, a, b)?;
    let name = if order(&above, &below)? == Ordering::Less {
        known::MIN
    } else {
        known::MAX
    };
    Some(lattice(name, vec![a.clone(), b.clone()]))
}

/// The slopes above and below 0 of a choice by the sign of `x` between two multiples of `x`.
fn slopes(condition: &Expr, a: &Expr, b: &Expr) -> Option<(Expr, Expr)> {
    let Some(Factor::Apply(relation, sides)) = condition.as_factor() else {
        return None;
    };
    if !matches!(relation.name(), known::LESS | known::LESS_OR_EQUAL) {
        return None;
    }
    let (x, flipped) = match (sides[0].is_zero(), sides[1].is_zero()) {
        (true, _) => (&sides[1], false),
        (_, true) => (&sides[0], true),
        _ => return None,
    };
    let slope = |y: &Expr| -> Option<Expr> {
        if y.is_zero() {
            return Some(Expr::zero());
        }
        let (_, c) = x.terms().first()?;
        let (product, d) = y.terms().first()?;
        let times = Expr::number(d / c);
        let symbols = product
            .iter()
            .filter(|(factor, e)| *e == 1 && matches!(factor, Factor::Apply(Fun::Between(_), _)));
        let slopes = symbols.map(|(factor, _)| times.mul(&Expr::factor(factor.clone())));
        std::iter::once(times.clone())
            .chain(slopes)
            .find(|slope| x.mul(slope) == *y)
    };
    let (above, below) = if flipped { (b, a) } else { (a, b) };
    Some((slope(above)?, slope(below)?))
}

/// True if both are equal.
pub(super) fn equal(a: &Expr, b: &Expr) -> bool {
    if settled(&a.sub(b)).is_zero_as_fraction() {
        return true;
    }
    let (a, b) = (by_exponentials(a), by_exponentials(b));
    settled(&a.sub(&b)).is_zero_as_fraction()
}

/// The allowed relative difference of constants that exporters rounded, or that are numbers of a type with few digits.
pub(super) fn rounding(dtype: DType) -> f64 {
    match dtype {
        DType::F16 => 2f64.powi(-11),
        DType::BF16 => 2f64.powi(-8),
        _ => 1e-6,
    }
}

/// True if both are equal up to the last digits of constants.
pub(super) fn nearly_equal(a: &Expr, b: &Expr, most: f64) -> bool {
    let mut left: Vec<_> = b.terms().iter().collect();
    a.terms().len() == left.len()
        && a.terms().iter().all(|(product, c)| {
            let found = left
                .iter()
                .position(|(other, d)| near(c, d, most) && nearly_equal_products(product, other, most));
            found.map(|at| left.swap_remove(at)).is_some()
        })
}

fn near(a: &BigRational, b: &BigRational, most: f64) -> bool {
    if a == b {
        return true;
    }
    let (x, y) = (a.to_f64().unwrap_or(f64::NAN), b.to_f64().unwrap_or(f64::NAN));
    (x - y).abs() <= most * x.abs().max(y.abs())
}

fn nearly_equal_products(a: &Product, b: &Product, most: f64) -> bool {
    let mut left: Vec<_> = b.iter().collect();
    a.len() == left.len()
        && a.iter().all(|(factor, e)| {
            let found = left
                .iter()
                .position(|(other, f)| e == f && nearly_equal_factors(factor, other, most));
            found.map(|at| left.swap_remove(at)).is_some()
        })
}

fn nearly_equal_factors(a: &Factor, b: &Factor, most: f64) -> bool {
    match (a, b) {
        (Factor::Apply(f, args), Factor::Apply(g, others)) => {
            let mut left: Vec<&Expr> = others.iter().collect();
            // The operands of a lattice are sorted, and rounding may change their order.
            let any_order = matches!(f.name(), known::MAX | known::MIN);
            f == g
                && args.len() == left.len()
                && args.iter().all(|x| {
                    let found = if any_order {
                        left.iter().position(|y| nearly_equal(x, y, most))
                    } else {
                        nearly_equal(x, left[0], most).then_some(0)
                    };
                    found.map(|at| left.remove(at)).is_some()
                })
        }
        (Factor::Inverse(a), Factor::Inverse(b)) => nearly_equal(a, b, most),
        (Factor::Fold(a), Factor::Fold(b)) => {
            (a.kind, &a.ranges, &a.guards) == (b.kind, &b.ranges, &b.guards) && nearly_equal(&a.body, &b.body, most)
        }
        _ => a == b,
    }
}

/// Applies `tanh x = 2 / (1 + exp(-2 x)) - 1` everywhere inside.
fn by_exponentials(x: &Expr) -> Expr {
    x.map_factors(&|factor| match factor {
        Factor::Apply(name, args) if name.is(known::TANH) => {
            let power = apply(known::EXP, vec![by_exponentials(&args[0]).mul(&Expr::int(-2))]);
            let whole = Expr::int(1).add(&power).inverse().mul(&Expr::int(2));
            Some(whole.sub(&Expr::int(1)))
        }
        _ => None,
    })
}

/// The one of `x` and `-x` whose leading coefficient is positive.
fn positive(x: &Expr) -> Expr {
    match x.terms().last() {
        Some((_, c)) if c.is_negative() => x.neg(),
        _ => x.clone(),
    }
}

/// True if the value is 0 or 1.
pub(super) fn is_truth(x: &Expr) -> bool {
    const RELATIONS: [&str; 9] = [
        known::LESS,
        known::LESS_OR_EQUAL,
        known::EQUAL,
        known::AND,
        known::OR,
        known::NOT,
        known::XOR,
        known::IS_NAN,
        "truth",
    ];
    matches!(x.as_factor(), Some(Factor::Apply(f, _)) if RELATIONS.contains(&f.name()))
}

fn commutative(name: &'static str, mut args: Vec<Expr>) -> Expr {
    args.sort();
    Expr::apply(name, args)
}

/// The maximum or minimum of numbers in a normal form. It is associative, commutative and idempotent; a maximum of a
/// minimum with constants becomes a minimum of a maximum; and for a number and its negation it is the magnitude.
///
/// A common factor is moved outside. It is the largest of the leading coefficients; of the operands and their
/// negations, the greater list stays inside. So neither step can apply to its own result.
fn lattice(name: &'static str, args: Vec<Expr>) -> Expr {
    // Whether the first of two constants decides; false if that is not known.
    let better = |a: &Expr, b: &Expr| match order(a, b) {
        Some(Ordering::Equal) => true,
        Some(found) => (found == Ordering::Greater) == (name == known::MAX),
        None => false,
    };
    let other = if name == known::MAX { known::MIN } else { known::MAX };
    let mut flat: Vec<Expr> = Vec::new();
    let mut constants: Vec<Expr> = Vec::new();
    let mut pending = args;
    // Infinity never decides.
    let never = Expr::float(if name == known::MAX {
        f64::NEG_INFINITY
    } else {
        f64::INFINITY
    });
    if pending.iter().any(|arg| *arg != never) {
        pending.retain(|arg| *arg != never);
    }
    while let Some(arg) = pending.pop() {
        if is_constant(&arg) {
            if !constants.iter().any(|own| better(own, &arg)) {
                constants.retain(|own| !better(&arg, own));
                constants.push(arg);
            }
        } else {
            // A number is added to each operand of a maximum or minimum inside.
            let shifted = Some(&arg).filter(|arg| arg.terms().len() == 2).and_then(opened);
            match (arg.as_factor(), shifted) {
                (Some(Factor::Apply(f, inner)), _) if f.is(name) => pending.extend(inner.iter().cloned()),
                (_, Some((own, inner))) if own == name => pending.extend(inner),
                (_, Some((own, inner))) => flat.push(lattice(own, inner)),
                _ => flat.push(arg),
            }
        }
    }
    // Constants whose order is not known are operands like others.
    let mut bound = match constants.as_slice() {
        [one] => Some(one.clone()),
        _ => None,
    };
    if bound.is_none() {
        flat.extend(constants);
    }
    flat.sort();
    flat.dedup();
    while let Some((x, rest)) = beside_its_negation(&flat) {
        let size = apply(known::ABS, vec![x]);
        flat = rest;
        flat.push(if name == known::MAX { size } else { size.neg() });
    }
    flat.sort();
    flat.dedup();
    // |x| is at least x and -x; and -|x| is at most either.
    let size = |x: &Expr| apply(known::ABS, vec![x.clone()]);
    let wins = |x: &Expr, y: &Expr| {
        let (high, low) = if name == known::MAX { (x, y) } else { (y, x) };
        x != y && (*high == size(low) || low.neg() == size(high))
    };
    let kept = flat.iter().filter(|y| !flat.iter().any(|x| wins(x, y)));
    flat = kept.cloned().collect();
    // A magnitude is at least 0.
    let magnitude = |x: &Expr| {
        let x = if name == known::MAX { x.clone() } else { x.neg() };
        matches!(x.terms(), [(product, c)] if c.is_positive() && matches!(product.as_slice(), [(Factor::Apply(f, _), 1)] if f.is(known::ABS)))
    };
    if bound.as_ref().is_some_and(|b| better(&Expr::zero(), b)) && flat.iter().any(magnitude) {
        bound = None;
    }
    let leading = |x: &Expr| x.terms().last().map(|(_, c)| c.abs());
    if let Some(scale) = flat.iter().filter_map(leading).max() {
        let scaled = |list: &[Expr], by: &BigRational| {
            let mut out: Vec<Expr> = list.iter().map(|x| x.mul(&Expr::number(by.clone()))).collect();
            out.sort();
            out
        };
        let negated = scaled(&flat, &-BigRational::one());
        if negated > flat {
            let turned = negated.into_iter().chain(bound.map(|b| b.neg()));
            return lattice(other, turned.collect()).neg();
        }
        if !scale.is_one() {
            let by = scale.recip();
            let inside = scaled(&flat, &by)
                .into_iter()
                .chain(bound.map(|b| b.mul(&Expr::number(by.clone()))));
            return lattice(name, inside.collect()).mul(&Expr::number(scale));
        }
    }
    // Between two constants: max(min(x, b), a) is a if a >= b, else min(max(x, a), b).
    if let (Some(v), [x]) = (&bound, flat.as_slice())
        && let Some(Factor::Apply(f, inner)) = x.as_factor()
        && f.is(other)
    {
        let numbers: Vec<&Expr> = inner.iter().filter(|e| is_constant(e)).collect();
        if let [b] = numbers.as_slice() {
            if better(v, b) {
                return v.clone();
            }
            if name == known::MAX && order(v, b) == Some(Ordering::Less) {
                let rest: Vec<Expr> = inner.iter().filter(|e| !is_constant(e)).cloned().collect();
                let x = lattice(known::MIN, rest);
                let raised = lattice(known::MAX, vec![x, v.clone()]);
                return lattice(known::MIN, vec![raised, (*b).clone()]);
            }
        }
    }
    // Nothing else is left: max(max(x, a), b) was flattened, and min(max(x, a), b) with b <= a was handled above.
    flat.extend(bound);
    flat.sort();
    match flat.as_slice() {
        [one] => one.clone(),
        _ => Expr::apply(name, flat),
    }
}
