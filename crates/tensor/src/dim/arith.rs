//! Sums of products in normal form, and the operations that preserve it.

use super::limit::MAX_DIM_PARTS;
use super::{Atom, Dim, Product};
use std::cmp::Ordering;
use std::sync::Arc;

impl Dim {
    /// The sum of these terms, in any order.
    pub(super) fn from_terms(mut terms: Vec<(Product, i64)>) -> Dim {
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

    /// `terms` are sorted by product; each product occurs once, and no coefficient is 0.
    pub(super) fn from_sorted(terms: Vec<(Product, i64)>) -> Dim {
        match terms.as_slice() {
            [] => Dim::Const(0),
            [(product, value)] if product.is_empty() => Dim::Const(*value),
            _ => Dim::limited(terms),
        }
    }

    /// Each coefficient multiplied by a number.
    pub(super) fn scaled(&self, by: i64) -> Dim {
        match self {
            Dim::Const(value) => Dim::Const(value.saturating_mul(by)),
            Dim::Expr(_) if by == 0 => Dim::Const(0),
            Dim::Expr(poly) => {
                let term = |(product, c): &(Product, i64)| (product.clone(), c.saturating_mul(by));
                Dim::from_sorted(poly.terms.iter().map(term).collect())
            }
        }
    }

    /// The quotient rounded towards negative infinity; division by zero stays symbolic.
    pub fn floor_div(&self, divisor: &Dim) -> Dim {
        match (self, divisor) {
            (_, Dim::Const(1)) => return self.clone(),
            (Dim::Const(a), Dim::Const(b)) if *b != 0 => return Dim::Const(floor_div(*a, *b)),
            (_, Dim::Const(q)) if *q > 1 => {
                // floor((q*a + r) / q) = a + floor(r / q)
                let (mut whole, mut rest) = (Vec::new(), Vec::new());
                for (product, c) in self.terms() {
                    // The constant is reduced to 0..q, so that (h - 1) / 2 + 1 and (h + 1) / 2 have the same form.
                    let (taken, kept) = if product.is_empty() {
                        (c.div_euclid(*q), c.rem_euclid(*q))
                    } else if c % q == 0 {
                        (c / q, 0)
                    } else {
                        (0, c)
                    };
                    if taken != 0 {
                        whole.push((product.clone(), taken));
                    }
                    if kept != 0 {
                        rest.push((product, kept));
                    }
                }
                if !whole.is_empty() {
                    return Dim::from_terms(whole) + Dim::from_terms(rest).floor_div(divisor);
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
    /// use tautomer_tensor::Dim;
    /// let (n, h) = (Dim::symbol("n"), Dim::symbol("h"));
    /// let product = n.clone() * h.clone() * Dim::from(6);
    /// assert_eq!(product.exact_div(&(n * Dim::from(3))), Some(h * Dim::from(2)));
    /// ```
    pub fn exact_div(&self, divisor: &Dim) -> Option<Dim> {
        let divisor_terms = divisor.terms();
        if let [(product, coefficient)] = divisor_terms.as_slice() {
            let mut quotient = Vec::new();
            for (atoms, c) in self.terms() {
                // The smallest integer has no quotient by -1.
                if c.checked_rem(*coefficient)? != 0 {
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
        // Division of polynomials: the leading term of what is left gives the next term of the quotient.
        let by = Dim::from_terms(vec![leading(&divisor_terms)?]);
        let (mut rest, mut quotient) = (self.clone(), Dim::Const(0));
        for _ in 0..MAX_DIM_PARTS {
            let Some(term) = leading(&rest.terms()) else { break };
            let part = Dim::from_terms(vec![term]).exact_div(&by)?;
            rest = rest - part.clone() * divisor.clone();
            quotient = quotient + part;
        }
        // Coefficients saturate, and sums that are too large become unknown dimensions.
        (quotient.clone() * divisor.clone() == *self).then_some(quotient)
    }

    /// The quotient rounded towards positive infinity.
    pub fn ceil_div(&self, divisor: &Dim) -> Dim {
        match (self, divisor) {
            // Gives one form, (h + 1) / 2, to the results of a convolution with stride 2 and of its padded input.
            (Dim::Expr(_), Dim::Const(q)) if *q > 0 => (self.clone() + Dim::Const(q - 1)).floor_div(divisor),
            _ => -(-self.clone()).floor_div(divisor),
        }
    }

    /// Remainder with the sign of the divisor.
    pub fn modulo(&self, divisor: &Dim) -> Dim {
        match (self, divisor) {
            (Dim::Const(a), Dim::Const(b)) if *b != 0 => Dim::Const(modulo(*a, *b)),
            _ if self.exact_div(divisor).is_some() => Dim::Const(0),
            _ => Dim::atom(Atom::Mod(self.clone(), divisor.clone())),
        }
    }

    /// The smaller of the two.
    pub fn minimum(&self, other: &Dim) -> Dim {
        match (self.clone() - other.clone()).as_const() {
            Some(difference) if difference <= 0 => self.clone(),
            Some(_) => other.clone(),
            None if self.is_among(other, of_min) || other.is_among(self, of_max) => other.clone(),
            None if other.is_among(self, of_min) || self.is_among(other, of_max) => self.clone(),
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
            None if self.is_among(other, of_max) || other.is_among(self, of_min) => other.clone(),
            None if other.is_among(self, of_max) || self.is_among(other, of_min) => self.clone(),
            None => {
                let (a, b) = if self <= other { (self, other) } else { (other, self) };
                Dim::atom(Atom::Max(a.clone(), b.clone()))
            }
        }
    }

    /// True if this is one of the arguments of `other`, a maximum of maxima or a minimum of minima. The larger of a
    /// number and a minimum that it is among is the number, as is the smaller of it and such a maximum.
    fn is_among(&self, other: &Dim, arguments: fn(&Atom) -> Option<[&Dim; 2]>) -> bool {
        let mut rest = vec![other];
        while let Some(dim) = rest.pop() {
            if dim == self {
                return true;
            }
            if let Dim::Expr(poly) = dim
                && let [(product, 1)] = poly.terms.as_slice()
                && let [atom] = &**product
            {
                rest.extend(arguments(atom).into_iter().flatten());
            }
        }
        false
    }

    /// Calls `f` for each product of atoms with its coefficient.
    pub fn each_term<'a>(&'a self, f: &mut dyn FnMut(&'a [Atom], i64)) {
        match self {
            Dim::Const(0) => {}
            Dim::Const(value) => f(&[], *value),
            Dim::Expr(poly) => poly.terms.iter().for_each(|(product, c)| f(product, *c)),
        }
    }

    /// The atom and the number, if this is the sum of an atom and a number.
    pub fn as_atom_and_number(&self) -> Option<(&Atom, i64)> {
        let Dim::Expr(poly) = self else { return None };
        match poly.terms.as_slice() {
            [(product, 1)] if product.len() == 1 => Some((&product[0], 0)),
            [(none, number), (product, 1)] if none.is_empty() && product.len() == 1 => Some((&product[0], *number)),
            _ => None,
        }
    }
}

/// The arguments of a maximum.
fn of_max(atom: &Atom) -> Option<[&Dim; 2]> {
    match atom {
        Atom::Max(a, b) => Some([a, b]),
        _ => None,
    }
}

/// The arguments of a minimum.
fn of_min(atom: &Atom) -> Option<[&Dim; 2]> {
    match atom {
        Atom::Min(a, b) => Some([a, b]),
        _ => None,
    }
}

/// The order of products; most pairs that are compared are identical.
pub(super) fn ordered(a: &Product, b: &Product) -> Ordering {
    if Arc::ptr_eq(a, b) { Ordering::Equal } else { a.cmp(b) }
}

/// The largest term in an order that products keep: by degree, then by the exponents of the atoms.
fn leading(terms: &[(Product, i64)]) -> Option<(Product, i64)> {
    let order = |(a, _): &&(Product, i64), (b, _): &&(Product, i64)| a.len().cmp(&b.len()).then_with(|| b.cmp(a));
    let largest = terms.iter().max_by(order);
    largest.cloned()
}

pub(super) fn floor_div(a: i64, b: i64) -> i64 {
    let quotient = a.wrapping_div(b);
    if a.wrapping_rem(b) != 0 && (a < 0) != (b < 0) {
        quotient - 1
    } else {
        quotient
    }
}

/// The remainder with the sign of the divisor, which is not 0.
pub(super) fn modulo(a: i64, b: i64) -> i64 {
    a.wrapping_sub(b.wrapping_mul(floor_div(a, b)))
}
