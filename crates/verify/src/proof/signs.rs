//! Formulas with maxima, magnitudes, signs and comparisons, compared for each sign of what these depend on.
//!
//! A maximum is one of its operands, depending on the sign of their difference, and likewise for the others. Two
//! formulas are equal if they are equal for each sign that a difference can have. The signs that are known decide those
//! of other sums: a sum of nonnegative numbers is nonnegative.

use num_rational::BigRational;
use num_traits::{One, Signed};

use super::choices::{self, Promise};
use super::defined::TOTAL;
use super::expr::{Expr, Factor, Fun, INVERSE_OF_ZERO, Kind, Product};
use super::laws;
use super::order::order;
use tautomer_op::known;

/// Limit on the signs that are looked at one inside the other.
const DEPTH: usize = 6;

/// Limit on all signs that are looked at for one pair of formulas.
const MOST: usize = 150;

/// How many known signs may be added up to find another one.
const ADDED: usize = 2;

/// The signs that a number can have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Signs(u8);

impl Signs {
    const NEGATIVE: Signs = Signs(1);
    const ZERO: Signs = Signs(2);
    const POSITIVE: Signs = Signs(4);
    const NOT_NEGATIVE: Signs = Signs(6);
    const NOT_POSITIVE: Signs = Signs(3);
    const ANY: Signs = Signs(7);

    fn within(self, other: Signs) -> bool {
        self.0 & !other.0 == 0
    }

    fn both(self, other: Signs) -> Signs {
        Signs(self.0 & other.0)
    }

    fn negated(self) -> Signs {
        Signs(self.0 & 2 | self.0 >> 2 | (self.0 & 1) << 2)
    }

    fn is_known(self) -> bool {
        self.0.count_ones() <= 1
    }

    fn times(self, other: Signs) -> Signs {
        let mut out = 0;
        for (sign, all) in [(1, other.negated()), (2, Signs::ZERO), (4, other)] {
            out |= if self.0 & sign == 0 { 0 } else { all.0 };
        }
        Signs(out)
    }

    /// Of a sum of two numbers.
    fn plus(self, other: Signs) -> Signs {
        match (self, other) {
            (Signs::ZERO, x) | (x, Signs::ZERO) => x,
            (a, b) if a.within(Signs::NOT_NEGATIVE) && b.within(Signs::NOT_NEGATIVE) => {
                let strict = a == Signs::POSITIVE || b == Signs::POSITIVE;
                if strict { Signs::POSITIVE } else { Signs::NOT_NEGATIVE }
            }
            (a, b) if a.within(Signs::NOT_POSITIVE) && b.within(Signs::NOT_POSITIVE) => {
                a.negated().plus(b.negated()).negated()
            }
            _ => Signs::ANY,
        }
    }

    fn of_number(v: &BigRational) -> Signs {
        match (v.is_positive(), v.is_negative()) {
            (true, _) => Signs::POSITIVE,
            (_, true) => Signs::NEGATIVE,
            _ => Signs::ZERO,
        }
    }
}

/// True if the formulas are equal whatever the signs of differences in them are.
pub(super) fn equal(a: &Expr, b: &Expr, promise: Promise) -> bool {
    // NaN has no sign.
    if !promise.real && !promise.total {
        return false;
    }
    if find(a).is_none() && find(b).is_none() {
        return false;
    }
    let mut left = MOST;
    equal_where(&Known(Vec::new()), a, b, promise, DEPTH, &mut left)
}

fn equal_where(known: &Known, a: &Expr, b: &Expr, promise: Promise, depth: usize, left: &mut usize) -> bool {
    let (a, b) = (known.decided(a), known.decided(b));
    // Nothing is promised where the source has no value.
    if laws::equal(&a, &b) || promise.real && is_undefined(&a) {
        return true;
    }
    let Some(deciding) = known.open(&a).or_else(|| known.open(&b)) else {
        return choices::same(&a, &b, promise);
    };
    if depth == 0 {
        return false;
    }
    let possible = known.of(&deciding);
    [Signs::NEGATIVE, Signs::ZERO, Signs::POSITIVE].into_iter().all(|sign| {
        if !sign.within(possible) {
            return true;
        }
        if *left == 0 {
            return false;
        }
        *left -= 1;
        let mut known = Known([known.0.as_slice(), &[(deciding.clone(), sign)]].concat());
        let (mut a, mut b) = (a.clone(), b.clone());
        if sign == Signs::ZERO
            && let Some((factor, value)) = solved(&deciding)
        {
            let put = |x: &Expr| x.map_factors(&|own| (*own == factor).then(|| value.clone()));
            if divides(&b, &put) {
                // Nothing is promised where the source has no value.
                return promise.real && is_undefined(&put(&a));
            }
            (a, b) = (put(&a), put(&b));
            for (x, _) in &mut known.0 {
                *x = put(x);
            }
            known.0.retain(|(x, _)| x.as_number().is_none());
        }
        equal_where(&known, &a, &b, promise, depth - 1, left)
    })
}

/// True if a sum divides by zero.
fn is_undefined(x: &Expr) -> bool {
    let mut factors = x.terms().iter().flat_map(|(product, _)| product);
    factors.any(|(factor, _)| matches!(factor, Factor::Apply(f, _) if f.is(INVERSE_OF_ZERO)))
}

/// True if a formula divides by what becomes zero. Its product with zero would be lost.
fn divides(x: &Expr, put: &dyn Fn(&Expr) -> Expr) -> bool {
    x.terms().iter().flat_map(|(product, _)| product).any(|(factor, e)| {
        *e < 0 && put(&Expr::factor(factor.clone())).is_zero()
            || match factor {
                Factor::Apply(_, args) => args.iter().any(|arg| divides(arg, put)),
                Factor::Inverse(sum) => put(sum).is_zero() || divides(sum, put),
                Factor::Fold(fold) => divides(&fold.body, put),
                Factor::Size(_) | Factor::Element(..) | Factor::Whole(_) => false,
            }
    })
}

/// An element in a sum that is zero, and its value by the rest of it.
fn solved(x: &Expr) -> Option<(Factor, Expr)> {
    x.terms().iter().find_map(|(product, c)| {
        let [(factor @ Factor::Element(..), 1)] = product.as_slice() else {
            return None;
        };
        let own = Expr::from_terms(vec![(product.clone(), c.clone())]);
        let rest = x.sub(&own);
        (!mentions(&rest, factor)).then(|| (factor.clone(), rest.mul(&Expr::number(-c.recip()))))
    })
}

fn mentions(x: &Expr, factor: &Factor) -> bool {
    x.terms().iter().flat_map(|(product, _)| product).any(|(own, _)| {
        own == factor
            || match own {
                Factor::Apply(_, args) => args.iter().any(|arg| mentions(arg, factor)),
                Factor::Inverse(sum) => mentions(sum, factor),
                Factor::Fold(fold) => mentions(&fold.body, factor),
                Factor::Size(_) | Factor::Element(..) => false,
                // What is in it is not looked at.
                Factor::Whole(_) => true,
            }
    })
}

/// A function that chooses by a sign, none of whose operands has another one in it.
fn find(x: &Expr) -> Option<(&Fun, &[Expr])> {
    x.terms()
        .iter()
        .flat_map(|(product, _)| product)
        .find_map(|(factor, _)| match factor {
            Factor::Apply(f, args) => args
                .iter()
                .find_map(find)
                .or_else(|| differences(f, args).map(|_| (f, args.as_slice()))),
            Factor::Inverse(sum) => find(sum),
            Factor::Size(_) | Factor::Element(..) | Factor::Fold(_) | Factor::Whole(_) => None,
        })
}

/// The number whose sign a function chooses by.
fn differences(f: &Fun, args: &[Expr]) -> Option<Expr> {
    match (f.name(), args) {
        (known::MAX | known::MIN | known::LESS | known::LESS_OR_EQUAL | known::EQUAL, [a, b, ..]) => Some(a.sub(b)),
        (known::ABS | known::SIGN, [x]) => Some(x.clone()),
        _ => None,
    }
}

/// Numbers whose signs are known.
struct Known(Vec<(Expr, Signs)>);

impl Known {
    /// The signs that a number can have; what may be NaN can have any.
    fn of(&self, x: &Expr) -> Signs {
        if let Some(v) = x.as_number() {
            return Signs::of_number(&v);
        }
        if !self.is_defined(x) {
            return Signs::ANY;
        }
        let (common, rest) = parted(x);
        let rest = self.of_sum(&rest);
        let own = self.of_sum(x);
        self.of_product(&common).times(rest).both(own)
    }

    /// True if it is a number, and finite, at all real numbers at which the known signs are right.
    fn is_defined(&self, x: &Expr) -> bool {
        x.terms().iter().flat_map(|(product, _)| product).all(|(factor, e)| {
            let is_divisor = |x: &Expr| !Signs::ZERO.within(self.of(x));
            let own = match factor {
                Factor::Size(_) | Factor::Element(..) => true,
                Factor::Apply(f, args) => {
                    let is_known = match (f, args.as_slice()) {
                        (Fun::Named(known::SQRT), [x]) => self.of(x).within(Signs::NOT_NEGATIVE),
                        (Fun::Named(known::LOG), [x]) => self.of(x) == Signs::POSITIVE,
                        (Fun::Named(name), _) => TOTAL.contains(name),
                        // A function of integers.
                        (Fun::In(..) | Fun::Number(_) | Fun::Between(_), _) => true,
                        (Fun::With(..) | Fun::Table(_) | Fun::Special(_), _) => false,
                    };
                    is_known && args.iter().all(|arg| self.is_defined(arg))
                }
                // Of nothing, a maximum is infinite.
                Factor::Fold(fold) => {
                    matches!(fold.kind, Kind::Sum | Kind::Product) && Known(Vec::new()).is_defined(&fold.body)
                }
                Factor::Inverse(sum) => self.is_defined(sum) && is_divisor(sum),
                Factor::Whole(_) => false,
            };
            own && (*e > 0 || is_divisor(&Expr::factor(factor.clone())))
        })
    }

    fn of_sum(&self, x: &Expr) -> Signs {
        let mut out = Signs::ANY;
        if let Some(strict) = self.is_not_negative(x, ADDED) {
            out = out.both(if strict { Signs::POSITIVE } else { Signs::NOT_NEGATIVE });
        }
        if let Some(strict) = self.is_not_negative(&x.neg(), ADDED) {
            out = out.both(if strict { Signs::NEGATIVE } else { Signs::NOT_POSITIVE });
        }
        for (own, signs) in &self.0 {
            match ratio(x, own) {
                Some(times) if times.is_negative() => out = out.both(signs.negated()),
                Some(_) => out = out.both(*signs),
                None => {}
            }
        }
        out
    }

    /// Whether a sum is positive, if it is at least 0 since it is a sum of so many numbers that are known to be, and of
    /// products of numbers whose signs are known.
    fn is_not_negative(&self, x: &Expr, added: usize) -> Option<bool> {
        let terms = x.terms().iter();
        let signs = terms.map(|(product, c)| self.of_product(product).times(Signs::of_number(c)));
        let signs = signs.fold(Signs::ZERO, Signs::plus);
        if signs.within(Signs::NOT_NEGATIVE) {
            return Some(signs == Signs::POSITIVE);
        }
        let growing = less_one(x).map(|exponent| self.of(&exponent));
        let falling = || less_one(&x.neg()).map(|exponent| self.of(&exponent).negated());
        let least = growing
            .or_else(falling)
            .filter(|signs| signs.within(Signs::NOT_NEGATIVE));
        if let Some(signs) = least {
            return Some(signs == Signs::POSITIVE);
        }
        if added == 0 {
            return None;
        }
        self.0.iter().find_map(|(own, signs)| {
            let turned = [(own.clone(), *signs), (own.neg(), signs.negated())];
            turned.into_iter().find_map(|(own, signs)| {
                if !signs.within(Signs::NOT_NEGATIVE) {
                    return None;
                }
                // So often that one of its terms is all of that in the sum.
                let times = own.terms().iter().filter_map(|(product, by)| {
                    let (_, c) = x.terms().iter().find(|(other, _)| other == product)?;
                    Some(c / by).filter(BigRational::is_positive)
                });
                times.into_iter().find_map(|times| {
                    let rest = x.sub(&own.mul(&Expr::number(times)));
                    let strict = self.is_not_negative(&rest, added - 1)?;
                    Some(strict || signs == Signs::POSITIVE)
                })
            })
        })
    }

    fn of_product(&self, product: &Product) -> Signs {
        product.iter().fold(Signs::POSITIVE, |out, (factor, e)| {
            let own = self.of_factor(factor);
            let own = if *e < 0 {
                own.both(Signs(Signs::NEGATIVE.0 | Signs::POSITIVE.0))
            } else {
                own
            };
            out.times(if e % 2 == 0 {
                own.times(own).both(Signs::NOT_NEGATIVE)
            } else {
                own
            })
        })
    }

    fn of_factor(&self, factor: &Factor) -> Signs {
        let whole = Expr::factor(factor.clone());
        let mut out = match order(&whole, &Expr::zero()) {
            Some(found) if found.is_lt() => Signs::NEGATIVE,
            Some(found) if found.is_gt() => Signs::POSITIVE,
            _ => Signs::ANY,
        };
        for (own, signs) in &self.0 {
            match ratio(&whole, own) {
                Some(times) if times.is_negative() => out = out.both(signs.negated()),
                Some(_) => out = out.both(*signs),
                None => {}
            }
        }
        let Factor::Apply(f, args) = factor else { return out };
        out.both(match (f.name(), args.as_slice()) {
            (known::EXP, _) => Signs::POSITIVE,
            (known::ABS | known::SQRT, _) => Signs::NOT_NEGATIVE,
            (name, [x]) if ODD.contains(&name) => self.of(x),
            _ if laws::is_truth(&whole) => Signs::NOT_NEGATIVE,
            _ => Signs::ANY,
        })
    }

    /// The formula with all choices made that are known.
    fn decided(&self, x: &Expr) -> Expr {
        x.map_factors(&|factor| {
            let Factor::Apply(f, args) = factor else { return None };
            let args: Vec<Expr> = args.iter().map(|arg| self.decided(arg)).collect();
            Some(self.chosen(f, args))
        })
    }

    fn chosen(&self, f: &Fun, mut args: Vec<Expr>) -> Expr {
        let decided = |holds: Signs, fails: Signs, signs: Signs| {
            let found = signs.within(holds).then_some(1);
            found.or_else(|| signs.within(fails).then_some(0)).map(Expr::int)
        };
        let of = |a: &Expr, b: &Expr| self.of(&a.sub(b));
        let found = match (f.name(), args.as_slice()) {
            (known::MAX | known::MIN, _) => {
                let is_max = f.is(known::MAX);
                let mut i = 1;
                while i < args.len() {
                    let wins = if is_max {
                        Signs::NOT_NEGATIVE
                    } else {
                        Signs::NOT_POSITIVE
                    };
                    let loses = wins.negated();
                    let beaten = (0..i).find_map(|j| {
                        let signs = of(&args[j], &args[i]);
                        // Of two equal ones, a maximum is the first and a minimum the second.
                        let is_first = signs.within(wins) && (is_max || !signs.within(loses));
                        is_first.then_some(i).or_else(|| signs.within(loses).then_some(j))
                    });
                    match beaten {
                        Some(at) => {
                            args.remove(at);
                            i = 1;
                        }
                        None => i += 1,
                    }
                }
                if args.len() == 1 { args.pop() } else { None }
            }
            (known::ABS, [x]) => {
                let signs = self.of(x);
                let own = signs.within(Signs::NOT_NEGATIVE).then(|| x.clone());
                own.or_else(|| signs.within(Signs::NOT_POSITIVE).then(|| x.neg()))
            }
            (known::SIGN, [x]) => match self.of(x) {
                Signs::POSITIVE => Some(Expr::int(1)),
                Signs::NEGATIVE => Some(Expr::int(-1)),
                Signs::ZERO => Some(Expr::zero()),
                _ => None,
            },
            (known::LESS, [a, b]) => decided(Signs::NEGATIVE, Signs::NOT_NEGATIVE, of(a, b)),
            (known::LESS_OR_EQUAL, [a, b]) => decided(Signs::NOT_POSITIVE, Signs::POSITIVE, of(a, b)),
            (known::EQUAL, [a, b]) => {
                let differ = Signs(Signs::NEGATIVE.0 | Signs::POSITIVE.0);
                decided(Signs::ZERO, differ, of(a, b))
            }
            _ => None,
        };
        found.unwrap_or_else(|| laws::apply(f.clone(), args))
    }

    /// A number whose sign would decide more.
    fn open(&self, x: &Expr) -> Option<Expr> {
        let (f, args) = find(x)?;
        let number = differences(f, args)?;
        self.part(&number)
    }

    /// A part of a number whose sign is not known.
    fn part(&self, x: &Expr) -> Option<Expr> {
        let (common, rest) = parted(x);
        let unknown = |x: &Expr| self.is_defined(x) && !self.of(x).is_known();
        let rest = Some(rest).filter(|rest| rest.as_number().is_none());
        let factors = common.iter().map(|(factor, _)| Expr::factor(factor.clone()));
        factors.chain(rest).find_map(|part| {
            if let Some(Factor::Apply(f, args)) = part.as_factor()
                && let ([inside], true) = (args.as_slice(), ODD.contains(&f.name()))
            {
                return self.part(inside);
            }
            if let Some(exponent) = less_one(&part).or_else(|| less_one(&part.neg())) {
                return self.part(&exponent);
            }
            unknown(&part).then_some(part)
        })
    }
}

/// Growing functions that are 0 at 0.
const ODD: [&str; 6] = [
    known::TANH,
    known::ERF,
    known::ATAN,
    known::ASINH,
    known::SINH,
    known::SIGN,
];

/// `x` in a positive multiple of `exp(x) - 1`, which has its sign.
fn less_one(x: &Expr) -> Option<Expr> {
    let [(none, less), (product, times)] = x.terms() else {
        return None;
    };
    match product.as_slice() {
        [(Factor::Apply(f, args), 1)]
            if none.is_empty() && f.is(known::EXP) && -less == *times && times.is_positive() =>
        {
            args.first().cloned()
        }
        _ => None,
    }
}

/// The factors that all terms have, and what is left of the sum without them.
fn parted(x: &Expr) -> (Product, Expr) {
    let mut terms = x.terms().iter().map(|(product, _)| product);
    let Some(first) = terms.next() else {
        return (Product::new(), x.clone());
    };
    let mut common: Product = first.iter().filter(|(_, e)| *e > 0).cloned().collect();
    for product in terms {
        for (factor, e) in &mut common {
            let own = product.iter().find(|(other, _)| other == factor).map_or(0, |(_, e)| *e);
            *e = (*e).min(own.max(0));
        }
    }
    common.retain(|(_, e)| *e > 0);
    let divided = |product: &Product| -> Product {
        let less = |(factor, e): &(Factor, i32)| {
            let own = common.iter().find(|(other, _)| other == factor).map_or(0, |(_, e)| *e);
            (factor.clone(), e - own)
        };
        product.iter().map(less).filter(|(_, e)| *e != 0).collect()
    };
    let rest = x.terms().iter().map(|(product, c)| (divided(product), c.clone()));
    let rest = Expr::from_terms(rest.collect());
    (common, rest)
}

/// The number that `y` is multiplied by in `x`, if it is a multiple.
fn ratio(x: &Expr, y: &Expr) -> Option<BigRational> {
    let (Some((p, c)), Some((q, d))) = (x.terms().last(), y.terms().last()) else {
        return None;
    };
    if p != q || x.terms().len() != y.terms().len() {
        return None;
    }
    let times = c / d;
    let is_same = times.is_one() && x == y
        || x.terms()
            .iter()
            .zip(y.terms())
            .all(|((p, c), (q, d))| p == q && *c == d * &times);
    is_same.then_some(times)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn element(leaf: u32) -> Expr {
        Expr::factor(Factor::Element(leaf, Vec::new()))
    }

    fn same(a: &Expr, b: &Expr) -> bool {
        let promise = Promise {
            real: true,
            truth: false,
            total: false,
        };
        equal(a, b, promise)
    }

    #[test]
    fn sums_and_products_of_extremes() {
        let (x, y, z) = (element(0), element(1), element(2));
        let of = |name: &'static str, a: &Expr, b: &Expr| laws::apply(name, vec![a.clone(), b.clone()]);
        let max = |a: &Expr, b: &Expr| of(known::MAX, a, b);
        let min = |a: &Expr, b: &Expr| of(known::MIN, a, b);
        let abs = |a: &Expr| laws::apply(known::ABS, vec![a.clone()]);
        let sign = |a: &Expr| laws::apply(known::SIGN, vec![a.clone()]);
        let less = |a: &Expr, b: &Expr| of(known::LESS, a, b);
        let zero = Expr::zero();
        for (a, b) in [
            (max(&x, &y).add(&min(&x, &y)), x.add(&y)),
            (max(&x, &y).mul(&min(&x, &y)), x.mul(&y)),
            (max(&x, &y).sub(&min(&x, &y)), abs(&x.sub(&y))),
            (max(&x.add(&z), &y.add(&z)), max(&x, &y).add(&z)),
            (max(&x, &zero).sub(&max(&x.neg(), &zero)), x.clone()),
            (x.mul(&sign(&x)), abs(&x)),
            (abs(&x).mul(&abs(&y)), abs(&x.mul(&y))),
            (sign(&x).mul(&sign(&y)), sign(&x.mul(&y))),
            (less(&x.add(&z), &y.add(&z)), less(&x, &y)),
            (less(&max(&x, &y), &z), of(known::AND, &less(&x, &z), &less(&y, &z))),
            (less(&zero, &max(&x, &zero)), less(&zero, &x)),
            (
                less(&max(&x, &y), &zero),
                of(known::AND, &less(&x, &zero), &less(&y, &zero)),
            ),
            (abs(&x).mul(&abs(&y).inverse()), abs(&x.mul(&y.inverse()))),
            (less(&zero, &laws::apply(known::TANH, vec![x.clone()])), less(&zero, &x)),
            (
                less(&Expr::int(1), &laws::apply(known::EXP, vec![x.clone()])),
                less(&zero, &x),
            ),
            (sign(&x.mul(&Expr::int(3))), sign(&x)),
        ] {
            assert!(same(&a, &b), "{a} and {b}");
        }
        for (a, b) in [
            (max(&x, &y).sub(&min(&x, &y)), x.sub(&y)),
            (max(&x.add(&z), &y.sub(&z)), max(&x, &y).add(&z)),
            (max(&x.mul(&z), &y.mul(&z)), max(&x, &y).mul(&z)),
            (sign(&x).mul(&sign(&y)), sign(&x.add(&y))),
            (abs(&x).add(&abs(&y)), abs(&x.add(&y))),
            (less(&x.mul(&z), &y.mul(&z)), less(&x, &y)),
            (less(&max(&x, &y), &z), of(known::OR, &less(&x, &z), &less(&y, &z))),
            (less(&zero, &max(&x, &y)), less(&zero, &x)),
            (sign(&x), x.mul(&abs(&x).inverse())),
        ] {
            assert!(!same(&a, &b), "{a} and {b}");
        }
    }

    #[test]
    fn nothing_is_known_of_what_may_be_nan() {
        let x = element(0);
        let max = laws::apply(known::MAX, vec![x.clone(), Expr::zero()]);
        let promise = Promise {
            real: false,
            truth: false,
            total: false,
        };
        let min = laws::apply(known::MIN, vec![x.clone(), Expr::zero()]);
        assert!(!equal(&max.add(&min), &x, promise));
        // The logarithm of a negative number is neither positive nor not, nor is its size.
        let log = laws::apply(known::LOG, vec![x.clone()]);
        let size = laws::apply(known::ABS, vec![log.clone()]);
        for partial in [&size, &laws::apply(known::SQRT, vec![x.clone()]), &x.mul(&x).inverse()] {
            let least = laws::apply(known::LESS, vec![Expr::int(-1), partial.clone()]);
            assert!(!same(&least, &Expr::int(1)), "{partial}");
        }
        assert!(!same(&size, &log.mul(&laws::apply(known::SIGN, vec![log.clone()]))));
    }
}
