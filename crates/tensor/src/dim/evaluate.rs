//! Substitution and evaluation of symbols.

use std::sync::Arc;

use super::arith::{floor_div, modulo};
use super::{Atom, Dim, Product};

impl Dim {
    /// The value if every symbol has one; `None` if one has none, or if a number becomes too large.
    pub fn evaluate(&self, value: &dyn Fn(&str) -> Option<i64>) -> Option<i64> {
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
                    Atom::Mod(a, b) => pair(a, b).filter(|(_, b)| *b != 0).map(|(a, b)| modulo(a, b))?,
                    Atom::Min(a, b) => pair(a, b).map(|(a, b)| a.min(b))?,
                    Atom::Max(a, b) => pair(a, b).map(|(a, b)| a.max(b))?,
                };
                out.checked_mul(this)
            })?;
            sum.checked_add(term)
        })
    }

    /// The expression with symbols replaced by their values, where `value` has one.
    pub fn bind(&self, value: &dyn Fn(&str) -> Option<i64>) -> Dim {
        self.substitute(&|atom| match atom {
            Atom::Symbol(name) => value(name).map(Dim::Const),
            _ => None,
        })
    }

    /// The expression with atoms replaced where `f` has a replacement, including inside divisions.
    pub fn substitute(&self, f: &dyn Fn(&Atom) -> Option<Dim>) -> Dim {
        self.substituted(f).unwrap_or_else(|| self.clone())
    }

    /// The expression with atoms replaced; `None` if nothing changes.
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
    /// The atom after replacing atoms by `f`; `None` if nothing changes.
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
