//! Symbolic dimensions: integers, symbols, and integer expressions over symbols in a normal form.

use std::cmp::Ordering;
use std::fmt;
use std::ops;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

/// The extent of one axis: a known integer, or a polynomial over symbols and floor divisions.
///
/// Expressions are kept in a normal form, so that `==` decides equality of polynomials:
/// `2 * h + h` and `3 * h` are one value. Arithmetic saturates at the limits of `i64`.
///
/// ```
/// use tautomer::tensor::Dim;
/// let h = Dim::symbol("h");
/// let out = (h.clone() + Dim::from(2) - Dim::from(3)).floor_div(&Dim::from(2)) + Dim::from(1);
/// assert_eq!(out.to_string(), "(h + 1) / 2");
/// assert_eq!(out.bind(&|s| (s == "h").then_some(224)), Dim::from(112));
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Dim {
    /// A known extent.
    Const(i64),
    /// A polynomial that is not a constant.
    Expr(Arc<Poly>),
}

/// A polynomial: a sum of products of atoms with integer coefficients.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Poly {
    /// Sorted by product, coefficients never zero; the constant term has the empty product.
    terms: Vec<(Product, i64)>,
}

/// Atoms that are multiplied, sorted.
pub(crate) type Product = Arc<[Atom]>;

/// An indivisible part of a dimension expression.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Atom {
    /// A named dimension.
    Symbol(Arc<str>),
    /// An extent nothing is known of; equal to itself alone.
    Unknown(u32),
    /// Quotient rounded towards negative infinity.
    FloorDiv(Dim, Dim),
    /// Remainder with the sign of the divisor.
    Mod(Dim, Dim),
    /// The smaller of the two.
    Min(Dim, Dim),
    /// The larger of the two.
    Max(Dim, Dim),
}

impl Dim {
    /// A named dimension.
    pub fn symbol(name: &str) -> Dim {
        Dim::atom(Atom::Symbol(name.into()))
    }

    /// An unknown extent; `id` tells it from other unknown extents.
    pub fn unknown(id: u32) -> Dim {
        Dim::atom(Atom::Unknown(id))
    }

    pub(crate) fn atom(atom: Atom) -> Dim {
        Dim::Expr(Arc::new(Poly {
            terms: vec![(Arc::new([atom]), 1)],
        }))
    }

    /// The value, if it is known.
    pub fn as_const(&self) -> Option<i64> {
        match self {
            Dim::Const(value) => Some(*value),
            Dim::Expr(_) => None,
        }
    }

    /// The symbol's name, if this is a lone symbol.
    pub fn as_symbol(&self) -> Option<&str> {
        match self.as_atom() {
            Some(Atom::Symbol(name)) => Some(name),
            _ => None,
        }
    }

    pub(crate) fn as_atom(&self) -> Option<&Atom> {
        match self {
            Dim::Expr(poly) => match poly.terms.as_slice() {
                [(product, 1)] if product.len() == 1 => Some(&product[0]),
                _ => None,
            },
            Dim::Const(_) => None,
        }
    }

    /// True for a lone unknown extent (`?`).
    pub fn is_unknown(&self) -> bool {
        matches!(self.as_atom(), Some(Atom::Unknown(_)))
    }

    /// True if an unknown extent occurs anywhere inside.
    pub fn has_unknown(&self) -> bool {
        let mut found = false;
        self.visit_atoms(&mut |atom| found |= matches!(atom, Atom::Unknown(_)));
        found
    }

    /// Calls `f` for every atom, those inside divisions included.
    pub fn visit_atoms<'a>(&'a self, f: &mut dyn FnMut(&'a Atom)) {
        let Dim::Expr(poly) = self else { return };
        for atom in poly.terms.iter().flat_map(|(product, _)| product.iter()) {
            f(atom);
            match atom {
                Atom::FloorDiv(a, b) | Atom::Mod(a, b) | Atom::Min(a, b) | Atom::Max(a, b) => {
                    a.visit_atoms(f);
                    b.visit_atoms(f);
                }
                Atom::Symbol(_) | Atom::Unknown(_) => {}
            }
        }
    }

    /// The products of atoms whose sum it is, each with its coefficient; the constant term has the empty product.
    pub fn terms(&self) -> Vec<(Arc<[Atom]>, i64)> {
        match self {
            Dim::Const(0) => Vec::new(),
            Dim::Const(value) => vec![(Arc::new([]), *value)],
            Dim::Expr(poly) => poly.terms.clone(),
        }
    }

    /// Calls `f` for each product of atoms with its coefficient.
    pub(crate) fn each_term<'a>(&'a self, f: &mut dyn FnMut(&'a [Atom], i64)) {
        match self {
            Dim::Const(0) => {}
            Dim::Const(value) => f(&[], *value),
            Dim::Expr(poly) => poly.terms.iter().for_each(|(product, c)| f(product, *c)),
        }
    }

    /// The atom and the number if this is an atom and a number that is added.
    pub(crate) fn as_atom_and_number(&self) -> Option<(&Atom, i64)> {
        let Dim::Expr(poly) = self else { return None };
        match poly.terms.as_slice() {
            [(product, 1)] if product.len() == 1 => Some((&product[0], 0)),
            [(none, number), (product, 1)] if none.is_empty() && product.len() == 1 => Some((&product[0], *number)),
            _ => None,
        }
    }

    fn from_terms(mut terms: Vec<(Product, i64)>) -> Dim {
        terms.sort_by(|a, b| ordered(&a.0, &b.0));
        let mut merged: Vec<(Product, i64)> = Vec::with_capacity(terms.len());
        for (product, coefficient) in terms {
            match merged.last_mut() {
                Some(last) if last.0 == product => last.1 = last.1.saturating_add(coefficient),
                _ => merged.push((product, coefficient)),
            }
        }
        merged.retain(|(_, coefficient)| *coefficient != 0);
        Dim::from_sorted(merged)
    }

    /// `terms` are sorted by product, each there once, without coefficients of 0.
    fn from_sorted(terms: Vec<(Product, i64)>) -> Dim {
        match terms.as_slice() {
            [] => Dim::Const(0),
            [(product, value)] if product.is_empty() => Dim::Const(*value),
            _ => Dim::Expr(Arc::new(Poly { terms })),
        }
    }

    fn scaled(&self, by: i64) -> Dim {
        match self {
            Dim::Const(value) => Dim::Const(value.saturating_mul(by)),
            Dim::Expr(_) if by == 0 => Dim::Const(0),
            Dim::Expr(poly) => {
                let term = |(product, c): &(Product, i64)| (product.clone(), c.saturating_mul(by));
                Dim::from_sorted(poly.terms.iter().map(term).collect())
            }
        }
    }

    /// Quotient rounded towards negative infinity; a division by zero stays symbolic.
    pub fn floor_div(&self, divisor: &Dim) -> Dim {
        match (self, divisor) {
            (_, Dim::Const(1)) => return self.clone(),
            (Dim::Const(a), Dim::Const(b)) if *b != 0 => return Dim::Const(floor_div(*a, *b)),
            (_, Dim::Const(q)) if *q > 1 => {
                // floor((q*a + r) / q) = a + floor(r / q)
                let (mut whole, mut rest) = (Vec::new(), Vec::new());
                for (product, c) in self.terms() {
                    // The constant is reduced to 0..q, so that (h - 1) / 2 + 1 and (h + 1) / 2 are one value.
                    let kept = if product.is_empty() {
                        c.rem_euclid(*q)
                    } else if c % q == 0 {
                        0
                    } else {
                        c
                    };
                    if c != kept {
                        whole.push((product.clone(), c - kept));
                    }
                    if kept != 0 {
                        rest.push((product, kept));
                    }
                }
                if !whole.is_empty() {
                    let whole = Dim::from_terms(whole.into_iter().map(|(p, c)| (p, c / q)).collect());
                    return whole + Dim::from_terms(rest).floor_div(divisor);
                }
                if let Some(Atom::FloorDiv(a, Dim::Const(inner))) = self.as_atom()
                    && *inner > 0
                {
                    return a.floor_div(&Dim::Const(inner.saturating_mul(*q)));
                }
            }
            (_, Dim::Expr(_)) => {
                if let Some(quotient) = self.exact_div(divisor) {
                    return quotient;
                }
            }
            _ => {}
        }
        Dim::atom(Atom::FloorDiv(self.clone(), divisor.clone()))
    }

    /// The quotient, if the division is exact for every value of the symbols.
    ///
    /// ```
    /// use tautomer::tensor::Dim;
    /// let (n, h) = (Dim::symbol("n"), Dim::symbol("h"));
    /// let product = n.clone() * h.clone() * Dim::from(6);
    /// assert_eq!(product.exact_div(&(n * Dim::from(3))), Some(h * Dim::from(2)));
    /// ```
    pub fn exact_div(&self, divisor: &Dim) -> Option<Dim> {
        let divisor_terms = divisor.terms();
        if let [(product, coefficient)] = divisor_terms.as_slice() {
            let mut quotient = Vec::new();
            for (atoms, c) in self.terms() {
                if *coefficient == 0 || c % coefficient != 0 {
                    return None;
                }
                let mut atoms = atoms.to_vec();
                for atom in product.iter() {
                    let at = atoms.iter().position(|a| a == atom)?;
                    atoms.remove(at);
                }
                quotient.push((atoms.into(), c / coefficient));
            }
            return Some(Dim::from_terms(quotient));
        }
        // A sum divides only as a common factor, which the leading terms give away.
        let leading = self.terms().last()?.clone();
        let by = divisor_terms.last()?.clone();
        let factor = Dim::from_terms(vec![leading]).exact_div(&Dim::from_terms(vec![by]))?;
        (factor.clone() * divisor.clone() == *self).then_some(factor)
    }

    /// Quotient rounded towards positive infinity.
    pub fn ceil_div(&self, divisor: &Dim) -> Dim {
        match (self, divisor) {
            // One form for what a convolution and its padded input make of an extent: (h + 1) / 2.
            (Dim::Expr(_), Dim::Const(q)) if *q > 0 => (self.clone() + Dim::Const(q - 1)).floor_div(divisor),
            _ => -(-self.clone()).floor_div(divisor),
        }
    }

    /// Remainder with the sign of the divisor.
    pub fn modulo(&self, divisor: &Dim) -> Dim {
        match (self, divisor) {
            (Dim::Const(a), Dim::Const(b)) if *b != 0 => Dim::Const(a.wrapping_sub(b.wrapping_mul(floor_div(*a, *b)))),
            _ if self.exact_div(divisor).is_some() => Dim::Const(0),
            _ => Dim::atom(Atom::Mod(self.clone(), divisor.clone())),
        }
    }

    /// The smaller of the two.
    pub fn minimum(&self, other: &Dim) -> Dim {
        match (self.clone() - other.clone()).as_const() {
            Some(difference) if difference <= 0 => self.clone(),
            Some(_) => other.clone(),
            None => {
                let (a, b) = if self <= other { (self, other) } else { (other, self) };
                Dim::atom(Atom::Min(a.clone(), b.clone()))
            }
        }
    }

    /// The larger of the two.
    pub fn maximum(&self, other: &Dim) -> Dim {
        match (self.clone() - other.clone()).as_const() {
            Some(difference) if difference >= 0 => self.clone(),
            Some(_) => other.clone(),
            None if self.is_among(other) => other.clone(),
            None if other.is_among(self) => self.clone(),
            None => {
                let (a, b) = if self <= other { (self, other) } else { (other, self) };
                Dim::atom(Atom::Max(a.clone(), b.clone()))
            }
        }
    }

    /// True if this is one of the numbers that `other` is the largest of.
    fn is_among(&self, other: &Dim) -> bool {
        let mut rest = vec![other];
        while let Some(dim) = rest.pop() {
            if dim == self {
                return true;
            }
            if let Dim::Expr(poly) = dim
                && let [(product, 1)] = poly.terms.as_slice()
                && let [Atom::Max(a, b)] = &**product
            {
                rest.extend([a, b]);
            }
        }
        false
    }

    /// The value where every symbol has one; nothing, if one has none, or if a number becomes too large.
    pub(crate) fn evaluate(&self, value: &dyn Fn(&str) -> Option<i64>) -> Option<i64> {
        let poly = match self {
            Dim::Const(v) => return Some(*v),
            Dim::Expr(poly) => poly,
        };
        poly.terms.iter().try_fold(0i64, |sum, (product, coefficient)| {
            let term = product.iter().try_fold(*coefficient, |out, atom| {
                let pair = |a: &Dim, b: &Dim| Some((a.evaluate(value)?, b.evaluate(value)?));
                let this = match atom {
                    Atom::Symbol(name) => value(name)?,
                    Atom::Unknown(_) => return None,
                    Atom::FloorDiv(a, b) => pair(a, b).filter(|(_, b)| *b != 0).map(|(a, b)| floor_div(a, b))?,
                    Atom::Mod(a, b) => pair(a, b)
                        .filter(|(_, b)| *b != 0)
                        .map(|(a, b)| a - b * floor_div(a, b))?,
                    Atom::Min(a, b) => pair(a, b).map(|(a, b)| a.min(b))?,
                    Atom::Max(a, b) => pair(a, b).map(|(a, b)| a.max(b))?,
                };
                out.checked_mul(this)
            })?;
            sum.checked_add(term)
        })
    }

    /// The expression with symbols replaced by the values that `value` knows.
    pub fn bind(&self, value: &dyn Fn(&str) -> Option<i64>) -> Dim {
        self.substitute(&|atom| match atom {
            Atom::Symbol(name) => value(name).map(Dim::Const),
            _ => None,
        })
    }

    /// The expression with the atoms that `f` knows replaced; divisions are entered.
    pub fn substitute(&self, f: &dyn Fn(&Atom) -> Option<Dim>) -> Dim {
        self.substituted(f).unwrap_or_else(|| self.clone())
    }

    /// The expression with atoms replaced; nothing, if none is.
    fn substituted(&self, f: &dyn Fn(&Atom) -> Option<Dim>) -> Option<Dim> {
        let Dim::Expr(poly) = self else { return None };
        let mut changed = false;
        let mut terms: Vec<(Product, i64)> = Vec::with_capacity(poly.terms.len());
        for (product, c) in &poly.terms {
            let replaced: Vec<Option<Dim>> = product.iter().map(|atom| atom.substituted(f)).collect();
            if replaced.iter().all(Option::is_none) {
                terms.push((product.clone(), *c));
                continue;
            }
            changed = true;
            let mut term = Dim::Const(*c);
            for (atom, replaced) in product.iter().zip(replaced) {
                term = term * replaced.unwrap_or_else(|| Dim::atom(atom.clone()));
            }
            match term {
                Dim::Const(0) => {}
                Dim::Const(value) => terms.push((Arc::new([]), value)),
                Dim::Expr(poly) => match Arc::try_unwrap(poly) {
                    Ok(poly) => terms.extend(poly.terms),
                    Err(poly) => terms.extend(poly.terms.iter().cloned()),
                },
            }
        }
        changed.then(|| Dim::from_terms(terms))
    }
}

impl Atom {
    /// What the atom becomes where `f` replaces atoms; nothing, if it stays.
    fn substituted(&self, f: &dyn Fn(&Atom) -> Option<Dim>) -> Option<Dim> {
        if let Some(replaced) = f(self) {
            return Some(replaced);
        }
        let (Atom::FloorDiv(a, b) | Atom::Mod(a, b) | Atom::Min(a, b) | Atom::Max(a, b)) = self else {
            return None;
        };
        let (x, y) = (a.substituted(f), b.substituted(f));
        if x.is_none() && y.is_none() {
            return None;
        }
        let (x, y) = (x.unwrap_or_else(|| a.clone()), y.unwrap_or_else(|| b.clone()));
        Some(match self {
            Atom::FloorDiv(..) => x.floor_div(&y),
            Atom::Mod(..) => x.modulo(&y),
            Atom::Min(..) => x.minimum(&y),
            _ => x.maximum(&y),
        })
    }
}

/// The order of products; most that are compared are one and the same.
fn ordered(a: &Product, b: &Product) -> Ordering {
    if Arc::ptr_eq(a, b) { Ordering::Equal } else { a.cmp(b) }
}

fn floor_div(a: i64, b: i64) -> i64 {
    let quotient = a.wrapping_div(b);
    if a.wrapping_rem(b) != 0 && (a < 0) != (b < 0) {
        quotient - 1
    } else {
        quotient
    }
}

impl From<i64> for Dim {
    fn from(value: i64) -> Dim {
        Dim::Const(value)
    }
}

impl From<i32> for Dim {
    fn from(value: i32) -> Dim {
        Dim::Const(value.into())
    }
}

impl From<usize> for Dim {
    fn from(value: usize) -> Dim {
        Dim::Const(i64::try_from(value).unwrap_or(i64::MAX))
    }
}

impl ops::Add for Dim {
    type Output = Dim;
    fn add(self, other: Dim) -> Dim {
        match (&self, &other) {
            (Dim::Const(a), Dim::Const(b)) => Dim::Const(a.saturating_add(*b)),
            (Dim::Const(0), _) => other,
            (_, Dim::Const(0)) => self,
            _ => {
                let (mut left, mut right) = (
                    self.terms().into_iter().peekable(),
                    other.terms().into_iter().peekable(),
                );
                let mut terms = Vec::with_capacity(left.len() + right.len());
                while let (Some((a, _)), Some((b, _))) = (left.peek(), right.peek()) {
                    match ordered(a, b) {
                        Ordering::Less => terms.extend(left.next()),
                        Ordering::Greater => terms.extend(right.next()),
                        Ordering::Equal => {
                            if let (Some((product, x)), Some((_, y))) = (left.next(), right.next())
                                && x.saturating_add(y) != 0
                            {
                                terms.push((product, x.saturating_add(y)));
                            }
                        }
                    }
                }
                terms.extend(left);
                terms.extend(right);
                Dim::from_sorted(terms)
            }
        }
    }
}

impl ops::Neg for Dim {
    type Output = Dim;
    fn neg(self) -> Dim {
        self.scaled(-1)
    }
}

impl ops::Sub for Dim {
    type Output = Dim;
    fn sub(self, other: Dim) -> Dim {
        self + -other
    }
}

impl ops::Mul for Dim {
    type Output = Dim;
    fn mul(self, other: Dim) -> Dim {
        match (&self, &other) {
            (Dim::Const(a), Dim::Const(b)) => Dim::Const(a.saturating_mul(*b)),
            (Dim::Const(1), _) => other,
            (_, Dim::Const(1)) => self,
            (some, Dim::Const(number)) | (Dim::Const(number), some) => some.scaled(*number),
            _ => {
                let (left, right) = (self.terms(), other.terms());
                let mut terms = Vec::with_capacity(left.len() * right.len());
                for (a, x) in &left {
                    for (b, y) in &right {
                        let product = match (a.is_empty(), b.is_empty()) {
                            (true, _) => b.clone(),
                            (_, true) => a.clone(),
                            _ => {
                                let mut atoms = [&a[..], &b[..]].concat();
                                atoms.sort();
                                atoms.into()
                            }
                        };
                        terms.push((product, x.saturating_mul(*y)));
                    }
                }
                Dim::from_terms(terms)
            }
        }
    }
}

impl std::iter::Product for Dim {
    fn product<I: Iterator<Item = Dim>>(iter: I) -> Dim {
        iter.fold(Dim::Const(1), |a, b| a * b)
    }
}

impl std::iter::Sum for Dim {
    fn sum<I: Iterator<Item = Dim>>(iter: I) -> Dim {
        iter.fold(Dim::Const(0), |a, b| a + b)
    }
}

impl fmt::Display for Dim {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let poly = match self {
            Dim::Const(value) => return write!(f, "{value}"),
            Dim::Expr(poly) => poly,
        };
        // The constant sorts first and reads best last.
        let constant = poly.terms.iter().filter(|(product, _)| product.is_empty());
        let rest = poly.terms.iter().filter(|(product, _)| !product.is_empty());
        for (at, (product, coefficient)) in rest.chain(constant).enumerate() {
            let magnitude = coefficient.unsigned_abs();
            match (at, *coefficient < 0) {
                (0, true) => f.write_str("-")?,
                (0, false) => {}
                (_, true) => f.write_str(" - ")?,
                (_, false) => f.write_str(" + ")?,
            }
            if product.is_empty() || magnitude != 1 {
                write!(f, "{magnitude}")?;
                if !product.is_empty() {
                    f.write_str("*")?;
                }
            }
            for (i, atom) in product.iter().enumerate() {
                if i > 0 {
                    f.write_str("*")?;
                }
                let alone = product.len() == 1 && magnitude == 1;
                match atom {
                    Atom::FloorDiv(..) if !alone => write!(f, "({atom})")?,
                    Atom::Mod(..) if !alone => write!(f, "({atom})")?,
                    _ => write!(f, "{atom}")?,
                }
            }
        }
        Ok(())
    }
}

impl fmt::Display for Atom {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let operand = |d: &Dim| match d {
            Dim::Const(value) if *value >= 0 => value.to_string(),
            _ if matches!(d.as_atom(), Some(Atom::Symbol(_) | Atom::Unknown(_))) => d.to_string(),
            _ => format!("({d})"),
        };
        match self {
            Atom::Symbol(name) => f.write_str(name),
            Atom::Unknown(_) => f.write_str("?"),
            Atom::FloorDiv(a, b) => write!(f, "{} / {}", operand(a), operand(b)),
            Atom::Mod(a, b) => write!(f, "{} % {}", operand(a), operand(b)),
            Atom::Min(a, b) => write!(f, "min({a}, {b})"),
            Atom::Max(a, b) => write!(f, "max({a}, {b})"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn arb_dim() -> impl Strategy<Value = Dim> {
        let leaf = prop_oneof![
            (-9i64..9).prop_map(Dim::Const),
            prop_oneof!["h", "w", "n"].prop_map(|s| Dim::symbol(&s))
        ];
        leaf.prop_recursive(4, 24, 2, |inner| {
            (inner.clone(), inner, 0..7u8).prop_map(|(a, b, op)| match op {
                0 => a + b,
                1 => a - b,
                2 => a * b,
                3 => a.floor_div(&b),
                4 => a.modulo(&b),
                5 => a.minimum(&b),
                _ => a.maximum(&b),
            })
        })
    }

    proptest! {
        #[test]
        fn binding_commutes_with_arithmetic(a in arb_dim(), b in arb_dim(), h in 1i64..9, w in 1i64..9, n in 1i64..9) {
            let value = |s: &str| Some(match s { "h" => h, "w" => w, _ => n });
            let (x, y) = (a.bind(&value), b.bind(&value));
            prop_assert_eq!((a.clone() + b.clone()).bind(&value), x.clone() + y.clone());
            prop_assert_eq!((a.clone() * b.clone()).bind(&value), x.clone() * y.clone());
            if y.as_const().is_some_and(|v| v != 0) {
                prop_assert_eq!(a.floor_div(&b).bind(&value), x.floor_div(&y));
            }
        }
    }

    #[test]
    fn nested_floor_divisions_collapse() {
        let h = Dim::symbol("h");
        let half = h.floor_div(&Dim::from(2));
        assert_eq!(half.floor_div(&Dim::from(2)), h.floor_div(&Dim::from(4)));
        assert_eq!(
            (h.clone() * Dim::from(4) + Dim::from(2))
                .floor_div(&Dim::from(2))
                .to_string(),
            "2*h + 1"
        );
    }
}
