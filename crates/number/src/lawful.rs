//! Prime fields with exp, log, roots and powers, and their laws.

use std::cmp::Ordering;
use std::sync::OnceLock;

use super::laws::{assume, hash, note, parts};
use super::{Func, Law, Number, Refused};

/// The number of fields.
const FIELDS: usize = 4;

/// Each prime is twice the previous one plus one: the group of nonzero squares modulo one of them has as many elements
/// as the previous field.
const PRIMES: [u64; FIELDS] = [139_439, 278_879, 557_759, 1_115_519];

/// A square of each field whose powers are all nonzero squares.
const BASES: [u64; FIELDS] = [1, 251_009, 529_075, 749_577];

/// [`Law::LogProduct`] alone leaves the base of the logarithm open: it is scaled by this.
const OTHER_BASE: u64 = 3;

/// A number in four prime fields at once, in which functions have laws.
///
/// The nonzero squares of a field form a group as large as the previous field, so `exp` maps sums in one to products in
/// the other and `log` maps them back: all laws of the two hold exactly. Squares play the role of positive numbers:
/// products and quotients of squares are squares, minus one is not a square, and each square has exactly one root that
/// is a square, and can be raised to any power. Laws are assumed only where [`under`](super::under) allows them; a
/// function without its law is unknown, but equal arguments have equal values.
///
/// `exp` has no value in the first field, and `log` has none in the last, nor where its argument is not a square: a
/// number lacks the residues that are not defined. The order is arbitrary: what holds for it does not depend on the
/// order.
#[derive(Debug, Clone, Copy)]
pub struct Lawful {
    residues: [u32; FIELDS],
    /// The fields in which it has a residue.
    present: [bool; FIELDS],
    /// False for a quotient by zero, and for anything computed from one.
    defined: bool,
}

impl PartialEq for Lawful {
    /// True if no field distinguishes them; there may be no field in which both have residues.
    fn eq(&self, other: &Lawful) -> bool {
        self.defined == other.defined && self.agreement(other).is_some()
    }
}

impl Lawful {
    /// Binary digits of the smallest prime.
    pub const BITS: u32 = 17;

    /// A variable at a random point.
    pub fn variable(mut random: impl FnMut() -> u64) -> Lawful {
        Lawful::of(|i| random() % PRIMES[i])
    }

    /// A variable at a random point that is a square in each field, and so positive.
    pub fn positive(mut random: impl FnMut() -> u64) -> Lawful {
        Lawful::of(|i| power(1 + random() % (PRIMES[i] - 1), 2, PRIMES[i]))
    }

    /// The number of fields in which both have the same residue; `None` if a residue differs.
    pub fn agreement(&self, other: &Lawful) -> Option<u32> {
        let mut fields = 0;
        for i in 0..FIELDS {
            if self.present[i] && other.present[i] {
                if self.residues[i] != other.residues[i] {
                    return None;
                }
                fields += 1;
            }
        }
        Some(fields)
    }

    /// True unless it was computed from a quotient by zero.
    pub const fn is_defined(&self) -> bool {
        self.defined
    }

    fn of(mut residue: impl FnMut(usize) -> u64) -> Lawful {
        Lawful {
            residues: std::array::from_fn(|i| residue(i) as u32),
            present: [true; FIELDS],
            defined: true,
        }
    }

    /// The residues `f` of both, where both have one.
    fn combine(&self, other: &Lawful, f: impl Fn(u64, u64, u64) -> u64) -> Lawful {
        self.try_combine(other, |_, p, a, b| Some(f(p, a, b)))
    }

    fn try_combine(&self, other: &Lawful, f: impl Fn(usize, u64, u64, u64) -> Option<u64>) -> Lawful {
        let mut out = *self;
        out.defined &= other.defined;
        for (i, &prime) in PRIMES.iter().enumerate() {
            let both = self.present[i] && other.present[i];
            let (a, b) = (u64::from(self.residues[i]), u64::from(other.residues[i]));
            let residue = if both { f(i, prime, a, b) } else { None };
            out.present[i] = residue.is_some();
            out.residues[i] = residue.unwrap_or(0) as u32;
        }
        out
    }

    /// The number whose residues are `f` of those in the previous field; the first field gets none.
    fn up(&self, f: impl Fn(usize, u64) -> Option<u64>) -> Lawful {
        self.shifted(|i| i.checked_sub(1), f)
    }

    /// The number whose residues are `f` of those in the next field; the last field gets none.
    fn down(&self, f: impl Fn(usize, u64) -> Option<u64>) -> Lawful {
        self.shifted(|i| Some(i + 1).filter(|i| *i < FIELDS), f)
    }

    fn shifted(&self, from: impl Fn(usize) -> Option<usize>, f: impl Fn(usize, u64) -> Option<u64>) -> Lawful {
        let mut out = *self;
        for i in 0..FIELDS {
            let residue = from(i)
                .filter(|&k| self.present[k])
                .and_then(|k| f(i, u64::from(self.residues[k])));
            out.present[i] = residue.is_some();
            out.residues[i] = residue.unwrap_or(0) as u32;
        }
        out
    }

    /// The smaller of the number and its negation in each field, and whether that is the number itself.
    fn without_sign(&self) -> (Lawful, [bool; FIELDS]) {
        let mut out = *self;
        let mut kept = [true; FIELDS];
        for i in 0..FIELDS {
            let x = u64::from(self.residues[i]);
            kept[i] = 2 * x < PRIMES[i];
            out.residues[i] = x.min(negative(x, PRIMES[i])) as u32;
        }
        (out, kept)
    }

    fn unknown(func: Func, x: &Lawful, y: Option<&Lawful>) -> Lawful {
        note(|trace| trace.unknown = trace.unknown.saturating_add(1));
        let one = Lawful::one();
        x.try_combine(y.unwrap_or(&one), |_, p, a, b| {
            Some(hash(&[func as u64, a, if y.is_some() { b } else { u64::MAX }]) % p)
        })
    }

    /// A function without an inverse or sum law; it may be known to be odd or even.
    fn other(func: Func, x: &Lawful) -> Lawful {
        let even = matches!(func, Func::Cos | Func::Cosh) && assume(Law::Even);
        let odd = is_odd(func) && assume(Law::Odd);
        if !even && !odd {
            return Lawful::unknown(func, x, None);
        }
        let (without, kept) = x.without_sign();
        let value = Lawful::unknown(func, &without, None);
        value.try_combine(x, |i, p, v, x| {
            Some(match (odd, kept[i]) {
                (true, _) if x == 0 => 0,
                (true, false) => negative(v, p),
                _ => v,
            })
        })
    }

    /// The integer it equals, if that is small.
    fn small(&self) -> Option<i64> {
        let first = u64::from(self.residues[0]);
        let integer = if first <= 64 {
            first as i64
        } else {
            first as i64 - PRIMES[0] as i64
        };
        let same = *self == Lawful::from_int(i128::from(integer)) && self.present == [true; FIELDS];
        (same && integer.abs() <= 64).then_some(integer)
    }

    fn exp(x: &Lawful) -> Lawful {
        let inverse = assume(Law::LogExp);
        let sums = assume(Law::ExpSum) || inverse && assume(Law::LogProduct);
        match (sums, inverse) {
            (true, _) => x.up(|i, x| Some(power(BASES[i], x, PRIMES[i]))),
            (false, true) => x.up(|i, x| Some(power(BASES[i], scramble(x, PRIMES[i - 1]), PRIMES[i]))),
            _ => Lawful::unknown(Func::Exp, x, None),
        }
    }

    fn log(y: &Lawful) -> Lawful {
        let inverse = assume(Law::LogExp);
        let products = assume(Law::LogProduct) || inverse && assume(Law::ExpSum);
        match (products, inverse) {
            (true, true) => y.down(logarithm),
            (true, false) => y.down(|i, y| Some(logarithm(i, y)? * OTHER_BASE % PRIMES[i])),
            (false, true) => y.down(|i, y| Some(unscramble(logarithm(i, y)?, PRIMES[i]))),
            _ => Lawful::unknown(Func::Log, y, None),
        }
    }

    fn sqrt(x: &Lawful) -> Lawful {
        if !assume(Law::SqrtSquare) {
            return Lawful::unknown(Func::Sqrt, x, None);
        }
        x.try_combine(x, |_, p, x, _| is_square(x, p).then(|| power(x, (p + 1) / 4, p)))
    }

    fn pow(x: &Lawful, y: &Lawful) -> Result<Lawful, Refused> {
        if let Some(n) = y.small() {
            let natural = x.combine(x, |p, x, _| power(x, n.unsigned_abs(), p));
            return if n < 0 {
                Lawful::one().div(&natural)
            } else {
                Ok(natural)
            };
        }
        if !assume(Law::PowExp) {
            return Ok(Lawful::unknown(Func::Pow, x, Some(y)));
        }
        let exponent = y.up(|_, y| Some(y));
        let mut out = x.try_combine(&exponent, |i, p, x, _| (i > 0 && x > 0 && is_square(x, p)).then_some(x));
        for (i, &prime) in PRIMES.iter().enumerate() {
            out.residues[i] = power(u64::from(out.residues[i]), u64::from(exponent.residues[i]), prime) as u32;
        }
        Ok(out)
    }

    /// Hyperbolic functions and their inverses, as defined by their law.
    fn hyperbolic(func: Func, x: &Lawful) -> Result<Lawful, Refused> {
        let one = Lawful::one();
        let half = Lawful::from_f64(0.5)?;
        Ok(match func {
            Func::Sinh | Func::Cosh | Func::Tanh => {
                let (up, down) = (Lawful::exp(x), Lawful::exp(&x.neg()));
                let (sum, difference) = (up.add(&down), up.sub(&down));
                match func {
                    Func::Sinh => difference.mul(&half),
                    Func::Cosh => sum.mul(&half),
                    _ => difference.div(&sum)?,
                }
            }
            Func::Atanh => Lawful::log(&one.add(x).div(&one.sub(x))?).mul(&half),
            _ => {
                let square = x.mul(x);
                let other = if func == Func::Asinh {
                    square.add(&one)
                } else {
                    square.sub(&one)
                };
                Lawful::log(&x.add(&Lawful::sqrt(&other)))
            }
        })
    }

    fn refuse(what: impl Into<String>) -> Refused {
        Refused {
            what: what.into(),
            system: Self::NAME,
        }
    }
}

/// True if `f(-x) = -f(x)`.
pub(crate) const fn is_odd(func: Func) -> bool {
    matches!(
        func,
        Func::Sin
            | Func::Tan
            | Func::Asin
            | Func::Atan
            | Func::Sinh
            | Func::Tanh
            | Func::Asinh
            | Func::Atanh
            | Func::Erf
    )
}

const fn negative(x: u64, p: u64) -> u64 {
    if x == 0 { 0 } else { p - x }
}

const fn power(mut base: u64, mut exponent: u64, p: u64) -> u64 {
    let mut out = 1;
    while exponent > 0 {
        if exponent & 1 == 1 {
            out = out * base % p;
        }
        base = base * base % p;
        exponent >>= 1;
    }
    out
}

const fn is_square(x: u64, p: u64) -> bool {
    x == 0 || power(x, (p - 1) / 2, p) == 1
}

/// A permutation of the residues unrelated to sums and products.
const fn scramble(x: u64, p: u64) -> u64 {
    power((x + 7) % p, 5, p)
}

/// Its inverse.
const fn unscramble(x: u64, p: u64) -> u64 {
    // The inverse of 5 modulo p - 1: (k (p - 1) + 1) / 5 for the k that makes it an integer.
    let mut k = 1;
    while !(k * (p - 1) + 1).is_multiple_of(5) {
        k += 1;
    }
    (power(x, (k * (p - 1) + 1) / 5, p) + p - 7) % p
}

/// The exponent, a residue of field `i`, such that the base of the next field to that power is `y`; `None` if `y` is
/// not a square.
fn logarithm(i: usize, y: u64) -> Option<u64> {
    static TABLES: [OnceLock<Vec<u32>>; FIELDS - 1] = [const { OnceLock::new() }; FIELDS - 1];
    let table = TABLES.get(i)?.get_or_init(|| {
        let mut table = vec![u32::MAX; PRIMES[i + 1] as usize];
        let mut value = 1;
        for exponent in 0..PRIMES[i] {
            table[value as usize] = exponent as u32;
            value = value * BASES[i + 1] % PRIMES[i + 1];
        }
        table
    });
    table
        .get(usize::try_from(y).ok()?)
        .filter(|e| **e != u32::MAX)
        .map(|&e| u64::from(e))
}

impl Number for Lawful {
    const NAME: &'static str = "fields in which functions have laws";

    fn zero() -> Self {
        Lawful::of(|_| 0)
    }

    fn one() -> Self {
        Lawful::of(|_| 1)
    }

    fn from_f64(value: f64) -> Result<Self, Refused> {
        let (mantissa, exponent) = parts(value).ok_or_else(|| Lawful::refuse(format!("{value}")))?;
        let scale = Lawful::of(|i| power(2, u64::from(exponent.unsigned_abs()), PRIMES[i]));
        let mantissa = Lawful::from_int(i128::from(mantissa));
        if exponent < 0 {
            mantissa.div(&scale)
        } else {
            Ok(mantissa.mul(&scale))
        }
    }

    fn from_int(value: i128) -> Self {
        Lawful::of(|i| value.rem_euclid(i128::from(PRIMES[i])) as u64)
    }

    fn to_f64(&self) -> Result<f64, Refused> {
        Err(Lawful::refuse("conversion to a floating-point number"))
    }

    fn add(&self, other: &Self) -> Self {
        self.combine(other, |p, a, b| (a + b) % p)
    }

    fn sub(&self, other: &Self) -> Self {
        self.combine(other, |p, a, b| (a + p - b) % p)
    }

    fn mul(&self, other: &Self) -> Self {
        self.combine(other, |p, a, b| a * b % p)
    }

    fn div(&self, other: &Self) -> Result<Self, Refused> {
        let mut out = self.try_combine(other, |_, p, a, b| (b != 0).then(|| a * power(b, p - 2, p) % p));
        out.defined &= other.present == [false; FIELDS] || other.residues != [0; FIELDS];
        Ok(out)
    }

    fn neg(&self) -> Self {
        self.combine(self, |p, a, _| negative(a, p))
    }

    fn func(func: Func, x: &Self, y: Option<&Self>) -> Result<Self, Refused> {
        use Func::{Acosh, Asinh, Atanh, Cosh, Exp, Log, Pow, Sinh, Sqrt, Tanh};
        match (func, y) {
            (Exp, _) => Ok(Lawful::exp(x)),
            (Log, _) => Ok(Lawful::log(x)),
            (Sqrt, _) => Ok(Lawful::sqrt(x)),
            (Pow, Some(y)) => Lawful::pow(x, y),
            (Sinh | Cosh | Tanh | Asinh | Acosh | Atanh, _) if assume(Law::HyperbolicExp) => {
                Lawful::hyperbolic(func, x)
            }
            _ => Ok(Lawful::other(func, x)),
        }
    }

    fn order(&self, other: &Self) -> Result<Option<Ordering>, Refused> {
        note(|trace| trace.ordered = true);
        if self.present != other.present || !self.defined || !other.defined {
            return Err(Lawful::refuse("the order of numbers of different fields"));
        }
        // As many numbers are less than zero as are greater than it.
        let key = |x: &Lawful| match x.residues {
            [0, ..] if x.residues == [0; FIELDS] => u64::MAX / 2,
            residues => hash(&residues.map(u64::from)),
        };
        Ok(Some(key(self).cmp(&key(other))))
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Laws, under};
    use super::*;
    use proptest::prelude::*;

    fn f(func: Func, x: &Lawful) -> Lawful {
        Lawful::func(func, x, None).unwrap()
    }

    /// True if both have residues in common, and those are equal.
    fn same(a: &Lawful, b: &Lawful) -> bool {
        a.agreement(b).is_some_and(|fields| fields > 0)
    }

    fn random(seed: u64) -> impl FnMut() -> u64 {
        let mut state = seed;
        move || {
            state += 1;
            hash(&[state])
        }
    }

    #[test]
    fn primes_are_a_chain_and_bases_are_squares() {
        for i in 1..FIELDS {
            assert_eq!(PRIMES[i], 2 * PRIMES[i - 1] + 1);
            assert!(is_square(BASES[i], PRIMES[i]) && BASES[i] > 1 && BASES[i] < PRIMES[i]);
        }
        for p in PRIMES {
            assert!((2..1100).all(|d| d == p || p % d != 0));
            assert_eq!(p % 4, 3);
        }
    }

    proptest! {
        #![proptest_config(tautomer_testing::random_cases(256))]

        #[test]
        fn laws_hold_where_they_are_assumed(seed: u64) {
            let mut random = random(seed);
            let (x, y) = (Lawful::variable(&mut random), Lawful::variable(&mut random));
            let (a, b) = (Lawful::positive(&mut random), Lawful::positive(&mut random));
            let ((), trace) = under(Laws::ALL, || {
                let half = Lawful::from_f64(0.5).unwrap();
                assert!(same(&f(Func::Exp, &x.add(&y)), &f(Func::Exp, &x).mul(&f(Func::Exp, &y))));
                assert!(same(&f(Func::Log, &f(Func::Exp, &x)), &x));
                assert!(same(&f(Func::Exp, &f(Func::Log, &a)), &a));
                assert!(same(&f(Func::Log, &a.mul(&b)), &f(Func::Log, &a).add(&f(Func::Log, &b))));
                assert!(same(&f(Func::Sqrt, &a).mul(&f(Func::Sqrt, &a)), &a));
                assert!(same(&f(Func::Sqrt, &a.mul(&b)), &f(Func::Sqrt, &a).mul(&f(Func::Sqrt, &b))));
                assert!(same(&Lawful::func(Func::Pow, &a, Some(&half)).unwrap(), &f(Func::Sqrt, &a)));
                assert!(same(&f(Func::Tanh, &x.neg()), &f(Func::Tanh, &x).neg()));
                assert!(same(&f(Func::Erf, &x.neg()), &f(Func::Erf, &x).neg()));
                assert!(same(&f(Func::Cos, &x.neg()), &f(Func::Cos, &x)));
                // Where the hyperbolic cosine is not a square, the root is the other one, and has no logarithm.
                assert!(f(Func::Asinh, &f(Func::Sinh, &x)).agreement(&x).is_some());
            });
            prop_assert!(trace.laws.contains(Law::ExpSum) && trace.laws.contains(Law::Odd));
        }

        #[test]
        fn without_its_law_nothing_holds(seed: u64) {
            let mut random = random(seed);
            let (x, y) = (Lawful::variable(&mut random), Lawful::variable(&mut random));
            let (a, b) = (Lawful::positive(&mut random), Lawful::positive(&mut random));
            let sums = || f(Func::Exp, &x.add(&y)).agreement(&f(Func::Exp, &x).mul(&f(Func::Exp, &y)));
            let inverse = || f(Func::Log, &f(Func::Exp, &x)).agreement(&x);
            let products = || f(Func::Log, &a.mul(&b)).agreement(&f(Func::Log, &a).add(&f(Func::Log, &b)));
            let roots = || f(Func::Sqrt, &a).mul(&f(Func::Sqrt, &a)).agreement(&a);
            let signs = || f(Func::Erf, &x.neg()).agreement(&f(Func::Erf, &x).neg());
            let only = |law: Law| Laws::NONE.with(law);
            prop_assert_eq!(under(Laws::NONE, sums).0, None);
            prop_assert_eq!(under(Laws::NONE, inverse).0, None);
            prop_assert_eq!(under(Laws::NONE, products).0, None);
            prop_assert_eq!(under(Laws::ALL.without(Law::SqrtSquare), roots).0, None);
            prop_assert_eq!(under(Laws::ALL.without(Law::Odd), signs).0, None);
            // One law of exp or log does not imply the others.
            prop_assert_eq!(under(only(Law::LogExp), sums).0, None);
            prop_assert_eq!(under(only(Law::ExpSum), inverse).0, None);
            // Only squares have logarithms: there may be nothing to compare, or only one field.
            prop_assert!(under(only(Law::LogProduct), inverse).0.is_none_or(|fields| fields <= 1));
            prop_assert_eq!(under(only(Law::LogExp), products).0, None);
            prop_assert!(under(only(Law::ExpSum), sums).0.unwrap() > 0);
            prop_assert!(under(only(Law::LogExp), inverse).0.unwrap() > 0);
            prop_assert!(under(only(Law::LogProduct), products).0.unwrap() > 0);
        }

        #[test]
        fn arithmetic_is_that_of_fractions(a in -1000i32..1000, b in -1000i32..1000, c in 1i32..1000) {
            let n = |x: i32| Lawful::from_int(i128::from(x));
            prop_assert_eq!(n(a).add(&n(b)), n(a + b));
            prop_assert_eq!(n(a).mul(&n(b)), n(a * b));
            prop_assert_eq!(n(a).div(&n(c)).unwrap().mul(&n(c)), n(a));
            prop_assert_eq!(Lawful::func(Func::Pow, &n(a), Some(&n(3))).unwrap(), n(a).mul(&n(a)).mul(&n(a)));
        }
    }

    #[test]
    fn the_order_has_nothing_to_do_with_signs() {
        let less = |n: i128| Lawful::from_int(n).order(&Lawful::zero()).unwrap() == Some(Ordering::Less);
        let count = (1..200).filter(|n| less(*n)).count();
        assert!((50..150).contains(&count), "{count}");
        assert_eq!(Lawful::one().order(&Lawful::one()).unwrap(), Some(Ordering::Equal));
    }

    #[test]
    fn what_is_no_square_has_no_root() {
        let (minus, _) = under(Laws::ALL, || f(Func::Sqrt, &Lawful::from_int(-1)));
        assert_eq!(minus.present, [false; FIELDS]);
        assert_eq!(minus.agreement(&Lawful::one()), Some(0));
    }
}
