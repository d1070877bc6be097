//! Numbers as polynomials: rational coefficients, and atoms with integer exponents.

use std::collections::{BTreeMap, BTreeSet};

use num_bigint::BigInt;
use num_rational::BigRational;
use num_traits::{One, Signed, Zero};

use crate::functions::{apply, is_in_order};

/// Limits, beyond which nothing is known about a number.
const TERMS: usize = 600;
const EXPONENT: i32 = 200;

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Atom {
    /// A number that is not known: the element of an operand, or an attribute.
    Var(String),
    Fun(String, Vec<Poly>),
    Positive(Poly),
    Inverse(Poly),
    /// The element here of the result of an operator, which depends on its attributes and on all of its operands.
    Call(String, Attributes, Vec<(Poly, Shape)>),
    /// The second at another place, which the first describes: a call that moves elements, without their values.
    At(Box<Atom>, Box<Atom>),
}

/// Attributes with their values, in which words and lists are functions.
pub(crate) type Attributes = Vec<(String, Poly)>;

/// The variables and calls whose shapes are broadcast together, which does not depend on their order.
pub(crate) type Shape = BTreeSet<Atom>;

pub(crate) type Product = Vec<(Atom, i32)>;

/// A sum of products, in a normal form; or a number about which nothing is known.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Poly {
    pub(crate) terms: BTreeMap<Product, BigRational>,
    pub(crate) unknown: bool,
}

impl Poly {
    pub(crate) fn zero() -> Poly {
        Poly::default()
    }
    pub(crate) fn unknown() -> Poly {
        Poly { unknown: true, ..Poly::default() }
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
    pub(crate) fn is_zero(&self) -> bool {
        !self.unknown && self.terms.is_empty()
    }
    pub(crate) fn as_number(&self) -> Option<BigRational> {
        match self.as_product() {
            Some((product, value)) => product.is_empty().then(|| value.clone()),
            None => self.is_zero().then(BigRational::zero),
        }
    }
    pub(crate) fn as_product(&self) -> Option<(&Product, &BigRational)> {
        self.terms.iter().next().filter(|_| !self.unknown && self.terms.len() == 1)
    }
    pub(crate) fn as_atom(&self) -> Option<&Atom> {
        match self.as_product().filter(|(_, c)| c.is_one())?.0.as_slice() {
            [(atom, 1)] => Some(atom),
            _ => None,
        }
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
        let pairs = self.terms.iter().flat_map(|own| other.terms.iter().map(move |term| (own, term)));
        pairs.fold(Poly::zero(), |out, ((p, a), (q, b))| out.add(&multiplied(p, q).scale(&(a * b))))
    }

    pub(crate) fn power(&self, n: i32) -> Poly {
        let power = (0..n.abs()).fold(Poly::int(1), |out, _| out.mul(self));
        if n < 0 { power.inverse() } else { power }
    }

    pub(crate) fn inverse(&self) -> Poly {
        if let Some((product, c)) = self.as_product() {
            return product.iter().fold(Poly::number(c.recip()), |out, (atom, e)| match atom {
                Atom::Inverse(sum) if *e > 0 => out.mul(&sum.power(*e)),
                _ => out.mul(&single(vec![(atom.clone(), -e)])),
            });
        }
        // Sums that differ only by a factor share one inverse.
        let Some(factor) = self.terms.values().next_back().map(BigRational::recip) else { return Poly::unknown() };
        Poly::atom(Atom::Inverse(self.scale(&factor))).scale(&factor)
    }

    pub(crate) fn leads_negative(&self) -> bool {
        self.terms.values().next_back().is_some_and(Signed::is_negative)
    }

    /// 1 if the number is above 0, else 0. Positive multiples are written in one way.
    pub(crate) fn positive(&self) -> Poly {
        match (self.as_number(), self.terms.values().next_back()) {
            (Some(n), _) => Poly::int(i64::from(n.is_positive())),
            (None, Some(c)) => Poly::atom(Atom::Positive(self.scale(&c.abs().recip()))),
            (None, None) => Poly::unknown(),
        }
    }

    /// True if it is 0 wherever nothing is divided by 0: both sides are multiplied by what they are divided by.
    pub(crate) fn is_zero_as_fraction(&self) -> bool {
        let mut left = self.clone();
        for _ in 0..12 {
            let inverse = left.terms.keys().flatten().find_map(|(a, e)| match a {
                Atom::Inverse(sum) if *e > 0 => Some(sum.clone()),
                _ => None,
            });
            let Some(sum) = inverse else { break };
            let own = Atom::Inverse(sum.clone());
            let exponent = |p: &Product| p.iter().find(|(a, _)| *a == own).map_or(0, |(_, e)| *e);
            let most = left.terms.keys().map(&exponent).max().unwrap_or(0);
            left = left.terms.iter().fold(Poly::zero(), |next, (p, c)| {
                let rest = p.iter().filter(|(a, _)| *a != own).cloned().collect();
                next.add(&single(rest).scale(c).mul(&sum.power(most - exponent(p))))
            });
        }
        left.is_zero()
    }

    /// Calls `f` for each atom, those inside others first. Operands of calls are other elements, and left alone.
    pub(crate) fn visit(&self, f: &mut dyn FnMut(&Atom)) {
        for (atom, _) in self.terms.keys().flatten() {
            match atom {
                Atom::Var(_) | Atom::Call(..) | Atom::At(..) => {}
                Atom::Fun(_, args) => args.iter().for_each(|a| a.visit(f)),
                Atom::Positive(p) | Atom::Inverse(p) => p.visit(f),
            }
            f(atom);
        }
    }

    /// The polynomial with other numbers for some atoms; functions are applied again.
    pub(crate) fn put(&self, new: &dyn Fn(&Atom) -> Option<Poly>) -> Poly {
        let put = |atom: &Atom| match atom {
            Atom::Var(_) | Atom::Call(..) | Atom::At(..) => Poly::atom(atom.clone()),
            Atom::Fun(name, args) => apply(name, args.iter().map(|a| a.put(new)).collect()),
            Atom::Positive(p) => p.put(new).positive(),
            Atom::Inverse(p) => p.put(new).inverse(),
        };
        let start = if self.unknown { Poly::unknown() } else { Poly::zero() };
        self.terms.iter().fold(start, |out, (product, c)| {
            let power = |(atom, e): &(Atom, i32)| new(atom).unwrap_or_else(|| put(atom)).power(*e);
            out.add(&product.iter().map(power).fold(Poly::number(c.clone()), |term, p| term.mul(&p)))
        })
    }
}

impl Poly {
    /// The number at another place. Attributes, and constants whose elements are all equal, are the same everywhere.
    pub(crate) fn moved(&self, place: &Atom) -> Poly {
        self.put(&|atom| match atom {
            Atom::Var(name) | Atom::Call(name, ..) if name.starts_with(['$', '%', '#', '.']) => None,
            Atom::Var(_) | Atom::Call(..) | Atom::At(..) => Some(Poly::atom(at(place, atom))),
            _ => None,
        })
    }

    /// The number if the value in which it stands has the shape `new`, which is the same as `old`.
    pub(crate) fn reshaped(&self, old: &Shape, new: &Shape) -> Poly {
        self.put(&|atom| match atom {
            Atom::At(place, inside) => match &**place {
                Atom::Call(flat, _, shapes) if flat == "flat" && shapes[1].1 == *old => {
                    Some(Poly::atom(at(&flat_place(&shapes[0].1, new), inside)))
                }
                _ => None,
            },
            _ => None,
        })
    }
}

/// The place that has the same position in row-major order in a value of one shape as here in a value of another.
pub(crate) fn flat_place(from: &Shape, to: &Shape) -> Atom {
    let shapes = [from, to].map(|shape| (Poly::zero(), shape.clone()));
    Atom::Call("flat".to_owned(), Attributes::new(), shapes.to_vec())
}

/// An element at another place; two moves that are one become one.
fn at(place: &Atom, atom: &Atom) -> Atom {
    let Atom::Call(name, attributes, operands) = place else { return atom.clone() };
    if name == "flat" && operands[0] == operands[1] {
        return atom.clone();
    }
    if let Atom::At(before, inside) = atom
        && let Atom::Call(first, own, ends) = &**before
        && first == name
    {
        match (name.as_str(), own.as_slice(), attributes.as_slice()) {
            ("flat", ..) if ends[1] == operands[0] => return at(&flat_place(&ends[0].1, &operands[1].1), inside),
            ("transpose", [(_, p)], [(_, q)]) if ends == operands && is_in_order(p, q) => return (**inside).clone(),
            _ => {}
        }
    }
    Atom::At(Box::new(place.clone()), Box::new(atom.clone()))
}

pub(crate) fn single(product: Product) -> Poly {
    Poly { terms: BTreeMap::from([(product, BigRational::one())]), unknown: false }
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
            Atom::Inverse(sum) if e < 0 => more = more.mul(&sum.power(-e)),
            Atom::Fun(name, args) if name == "sqrt" && e.abs() > 1 => {
                more = more.mul(&args[0].power(e / 2));
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
    let (mantissa, exponent) = text.split_once(['e', 'E']).unwrap_or((text, "0"));
    let (before, after) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let digits: String = [before, after].concat();
    let exponent = exponent.parse::<i32>().ok().filter(|e| e.abs() <= 400)?;
    if text.len() > 60 || digits.is_empty() || !digits.bytes().all(|b| b.is_ascii_digit()) {
        return None;
    }
    let places = exponent - i32::try_from(after.len()).ok()?;
    let ten = BigRational::from_integer(BigInt::from(10)).pow(places);
    Some(BigRational::from_integer(digits.parse::<BigInt>().ok()?) * ten)
}
