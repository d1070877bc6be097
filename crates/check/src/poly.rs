//! Numbers as polynomials: rational coefficients, and atoms with integer exponents.

use std::collections::BTreeMap;

use num_bigint::BigInt;
use num_rational::BigRational;
use num_traits::{One, Signed, Zero};

use crate::functions::apply;

/// Limit on the terms of a polynomial; beyond it, nothing is known about the number.
const TERMS: usize = 600;

/// Limit on exponents.
const EXPONENT: i32 = 200;

/// What a polynomial is about.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Atom {
    /// A number that is not known: the element of an operand, or of an attribute.
    Var(String),
    /// A function of numbers.
    Fun(String, Vec<Poly>),
    /// 1 if the number is above 0, else 0.
    Positive(Poly),
    /// One divided by a sum.
    Inverse(Poly),
}

pub(crate) type Product = Vec<(Atom, i32)>;

/// A sum of products, in a normal form; or a number about which nothing is known.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Poly {
    terms: BTreeMap<Product, BigRational>,
    unknown: bool,
}

impl Poly {
    /// Zero.
    pub(crate) fn zero() -> Poly {
        Poly::default()
    }

    /// A number about which nothing is known; it equals nothing, itself neither.
    pub(crate) fn unknown() -> Poly {
        Poly {
            unknown: true,
            ..Poly::default()
        }
    }

    pub(crate) fn is_unknown(&self) -> bool {
        self.unknown
    }

    pub(crate) fn number(value: BigRational) -> Poly {
        single(Vec::new()).scale(&value)
    }

    pub(crate) fn int(value: i64) -> Poly {
        Poly::number(BigRational::from_integer(value.into()))
    }

    pub(crate) fn atom(atom: Atom) -> Poly {
        single(vec![(atom, 1)])
    }

    pub(crate) fn terms(&self) -> impl Iterator<Item = (&Product, &BigRational)> {
        self.terms.iter()
    }

    /// The coefficient of a product.
    pub(crate) fn weight(&self, product: &Product) -> BigRational {
        self.terms.get(product).cloned().unwrap_or_else(BigRational::zero)
    }

    pub(crate) fn is_zero(&self) -> bool {
        !self.unknown && self.terms.is_empty()
    }

    /// The value, if it is a constant.
    pub(crate) fn as_number(&self) -> Option<BigRational> {
        match self.as_product() {
            Some((product, value)) => product.is_empty().then(|| value.clone()),
            None => self.is_zero().then(BigRational::zero),
        }
    }

    /// The single product, if there is only one.
    pub(crate) fn as_product(&self) -> Option<(&Product, &BigRational)> {
        self.terms
            .iter()
            .next()
            .filter(|_| !self.unknown && self.terms.len() == 1)
    }

    pub(crate) fn add(&self, other: &Poly) -> Poly {
        if self.unknown || other.unknown || self.terms.len() + other.terms.len() > TERMS {
            return Poly::unknown();
        }
        let mut out = self.clone();
        for (product, c) in &other.terms {
            let sum = out.terms.remove(product).unwrap_or_else(BigRational::zero) + c;
            if !sum.is_zero() {
                out.terms.insert(product.clone(), sum);
            }
        }
        out
    }

    pub(crate) fn scale(&self, c: &BigRational) -> Poly {
        let mut out = self.clone();
        out.terms.values_mut().for_each(|own| *own = &*own * c);
        out.terms.retain(|_, own| !own.is_zero());
        out
    }

    pub(crate) fn neg(&self) -> Poly {
        self.scale(&-BigRational::one())
    }

    pub(crate) fn sub(&self, other: &Poly) -> Poly {
        self.add(&other.neg())
    }

    pub(crate) fn mul(&self, other: &Poly) -> Poly {
        if self.unknown || other.unknown || self.terms.len().saturating_mul(other.terms.len()) > TERMS {
            return Poly::unknown();
        }
        let mut out = Poly::zero();
        for (p, a) in &self.terms {
            for (q, b) in &other.terms {
                out = out.add(&multiplied(p, q).scale(&(a * b)));
            }
        }
        out
    }

    pub(crate) fn power(&self, n: u32) -> Poly {
        (0..n).fold(Poly::int(1), |out, _| out.mul(self))
    }

    /// One divided by it.
    pub(crate) fn inverse(&self) -> Poly {
        if let Some((product, c)) = self.as_product() {
            let mut out = Poly::number(c.recip());
            for (atom, e) in product {
                let factor = match atom {
                    Atom::Inverse(sum) if *e > 0 => sum.power(e.unsigned_abs()),
                    _ => single(vec![(atom.clone(), -e)]),
                };
                out = out.mul(&factor);
            }
            return out;
        }
        // Sums that differ only by a factor share one inverse.
        let Some(leading) = self.terms.values().next_back().cloned() else {
            return Poly::unknown();
        };
        Poly::atom(Atom::Inverse(self.scale(&leading.recip()))).scale(&leading.recip())
    }

    /// The sign of the coefficient that is written first.
    pub(crate) fn leads_negative(&self) -> bool {
        self.terms.values().next_back().is_some_and(Signed::is_negative)
    }

    /// 1 if the number is above 0, else 0.
    pub(crate) fn positive(&self) -> Poly {
        match (self.as_number(), self.terms.values().next_back()) {
            (Some(n), _) => Poly::int(i64::from(n.is_positive())),
            // Positive multiples are written in one way.
            (None, Some(c)) => Poly::atom(Atom::Positive(self.scale(&c.abs().recip()))),
            (None, None) => Poly::unknown(),
        }
    }

    /// True if it is 0 wherever nothing is divided by 0: both sides are multiplied by what they are divided by.
    pub(crate) fn is_zero_as_fraction(&self) -> bool {
        let mut left = self.clone();
        for _ in 0..12 {
            if left.is_zero() {
                return true;
            }
            let inverse = left.terms.keys().flatten().find_map(|(a, e)| match a {
                Atom::Inverse(sum) if *e > 0 => Some(sum.clone()),
                _ => None,
            });
            let Some(sum) = inverse else { return false };
            let own = Atom::Inverse(sum.clone());
            let exponent = |p: &Product| p.iter().find(|(a, _)| *a == own).map_or(0, |(_, e)| *e);
            let most = left.terms.keys().map(&exponent).max().unwrap_or(0);
            let mut next = Poly::zero();
            for (p, c) in &left.terms {
                let rest = p.iter().filter(|(a, _)| *a != own).cloned().collect();
                let missing = sum.power((most - exponent(p)).unsigned_abs());
                next = next.add(&single(rest).scale(c).mul(&missing));
            }
            left = next;
        }
        left.is_zero()
    }

    /// Calls `f` for each atom, those inside others first.
    pub(crate) fn visit(&self, f: &mut dyn FnMut(&Atom)) {
        for (atom, _) in self.terms.keys().flatten() {
            match atom {
                Atom::Var(_) => {}
                Atom::Fun(_, args) => args.iter().for_each(|a| a.visit(f)),
                Atom::Positive(p) | Atom::Inverse(p) => p.visit(f),
            }
            f(atom);
        }
    }

    /// The polynomial with one comparison replaced by its value; functions are applied again.
    pub(crate) fn put(&self, from: &Poly, value: i64) -> Poly {
        let mut out = if self.unknown { Poly::unknown() } else { Poly::zero() };
        for (product, c) in &self.terms {
            let mut term = Poly::number(c.clone());
            for (atom, e) in product {
                let new = match atom {
                    Atom::Positive(p) if p == from => Poly::int(value),
                    Atom::Var(_) => Poly::atom(atom.clone()),
                    Atom::Fun(name, args) => apply(name, args.iter().map(|a| a.put(from, value)).collect()),
                    Atom::Positive(p) => p.put(from, value).positive(),
                    Atom::Inverse(p) => p.put(from, value).inverse(),
                };
                let power = new.power(e.unsigned_abs());
                term = term.mul(&if *e < 0 { power.inverse() } else { power });
            }
            out = out.add(&term);
        }
        out
    }
}

/// A product as a polynomial.
pub(crate) fn single(product: Product) -> Poly {
    let mut out = Poly::zero();
    out.terms.insert(product, BigRational::one());
    out
}

/// The product of two. A root squared is its argument, and 0 and 1 are their own squares.
fn multiplied(p: &Product, q: &Product) -> Poly {
    let mut all: BTreeMap<&Atom, i32> = BTreeMap::new();
    for (atom, e) in p.iter().chain(q) {
        *all.entry(atom).or_insert(0) += e;
    }
    let (mut out, mut more) = (Product::new(), Poly::int(1));
    for (atom, e) in all.into_iter().filter(|(_, e)| *e != 0) {
        match atom {
            _ if e.abs() > EXPONENT => return Poly::unknown(),
            Atom::Positive(_) => out.push((atom.clone(), e.min(1))),
            // One divided by a sum to a negative power is the sum.
            Atom::Inverse(sum) if e < 0 => more = more.mul(&sum.power(e.unsigned_abs())),
            Atom::Fun(name, args) if name == "sqrt" && e.abs() > 1 => {
                let whole = args[0].power((e / 2).unsigned_abs());
                more = more.mul(&if e < 0 { whole.inverse() } else { whole });
                out.extend((e % 2 != 0).then(|| (atom.clone(), e % 2)));
            }
            _ => out.push((atom.clone(), e)),
        }
    }
    let out = single(out);
    if more == Poly::int(1) { out } else { out.mul(&more) }
}

/// The exact value of a decimal number; `None` for too long ones.
pub(crate) fn decimal(text: &str) -> Option<BigRational> {
    if text.len() > 60 {
        return None;
    }
    let (mantissa, exponent) = match text.split_once(['e', 'E']) {
        Some((m, e)) => (m, e.parse::<i32>().ok()?),
        None => (text, 0),
    };
    let (before, after) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let digits: String = [before, after].concat();
    if digits.is_empty() || !digits.bytes().all(|b| b.is_ascii_digit()) || exponent.abs() > 400 {
        return None;
    }
    let places = exponent - i32::try_from(after.len()).ok()?;
    let ten = BigRational::from_integer(BigInt::from(10)).pow(places);
    Some(BigRational::from_integer(digits.parse::<BigInt>().ok()?) * ten)
}

impl std::fmt::Display for Poly {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let list = |all: &[Poly]| all.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ");
        let factor = |(atom, e): &(Atom, i32)| match atom {
            Atom::Var(name) => format!(" {name}^{e}"),
            Atom::Fun(name, args) => format!(" {name}({})^{e}", list(args)),
            Atom::Positive(p) => format!(" [{p} > 0]^{e}"),
            Atom::Inverse(p) => format!(" (1/({p}))^{e}"),
        };
        let term = |(p, c): (&Product, &BigRational)| p.iter().map(factor).fold(c.to_string(), |out, f| out + &f);
        let terms: Vec<String> = self.terms.iter().map(term).collect();
        f.write_str(&terms.join(" + ").replace("^1", ""))
    }
}
