//! Substitution and evaluation of symbols.

use std::sync::Arc;

use super::arith::{floor_div, modulo};
use super::{Atom, Dim, Product};

/// An expression whose symbols are numbers, made by [`Dim::numbered`].
#[derive(Debug, Clone)]
pub struct Numbered(Vec<(i64, Vec<Factor>)>);

#[derive(Debug, Clone)]
enum Factor {
    Symbol(usize),
    Unknown,
    FloorDiv(Box<(Numbered, Numbered)>),
    Mod(Box<(Numbered, Numbered)>),
    Min(Box<(Numbered, Numbered)>),
    Max(Box<(Numbered, Numbered)>),
}

impl Numbered {
    /// The value where the symbol with number `i` is `values[i]`; otherwise as [`Dim::evaluate`].
    pub fn evaluate(&self, values: &[i64]) -> Option<i64> {
        let pair = |(a, b): &(Numbered, Numbered)| Some((a.evaluate(values)?, b.evaluate(values)?));
        self.0.iter().try_fold(0i64, |sum, (coefficient, factors)| {
            let term = factors.iter().try_fold(*coefficient, |out, factor| {
                let this = match factor {
                    Factor::Symbol(i) => *values.get(*i)?,
                    Factor::Unknown => return None,
                    Factor::FloorDiv(of) => pair(of).filter(|(_, b)| *b != 0).map(|(a, b)| floor_div(a, b))?,
                    Factor::Mod(of) => pair(of).filter(|(_, b)| *b != 0).map(|(a, b)| modulo(a, b))?,
                    Factor::Min(of) => pair(of).map(|(a, b)| a.min(b))?,
                    Factor::Max(of) => pair(of).map(|(a, b)| a.max(b))?,
                };
                out.checked_mul(this)
            })?;
            sum.checked_add(term)
        })
    }
}

impl Dim {
    /// The value if every symbol has one; `None` if one has none, or if a number becomes too large.
    pub fn evaluate(&self, value: &dyn Fn(&str) -> Option<i64>) -> Option<i64> {
        self.evaluate_atoms(&|atom| match atom {
            Atom::Symbol(name) => value(name),
            _ => None,
        })
    }

    /// The value if every symbol and every unknown dimension has one; otherwise as [`evaluate`](Dim::evaluate).
    ///
    /// ```
    /// use tautomer_tensor::Dim;
    ///
    /// let half = Dim::unknown(0).floor_div(&Dim::from(2));
    /// assert_eq!(half.evaluate_atoms(&|_| Some(9)), Some(4));
    /// assert_eq!(half.evaluate(&|_| Some(9)), None);
    /// ```
    pub fn evaluate_atoms(&self, value: &dyn Fn(&Atom) -> Option<i64>) -> Option<i64> {
        let poly = match self {
            Dim::Const(v) => return Some(*v),
            Dim::Expr(poly) => poly,
        };
        poly.terms.iter().try_fold(0i64, |sum, (product, coefficient)| {
            let term = product.iter().try_fold(*coefficient, |out, atom| {
                let pair = |a: &Dim, b: &Dim| Some((a.evaluate_atoms(value)?, b.evaluate_atoms(value)?));
                let this = match atom {
                    Atom::Symbol(_) | Atom::Unknown(_) => value(atom)?,
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

    /// The expression with its symbols numbered by `number`, to evaluate it many times.
    ///
    /// ```
    /// use tautomer_tensor::Dim;
    ///
    /// let area = Dim::symbol("h") * Dim::symbol("w");
    /// let area = area.numbered(&mut |name| usize::from(&**name == "w"));
    /// assert_eq!(area.evaluate(&[3, 4]), Some(12));
    /// ```
    pub fn numbered(&self, number: &mut dyn FnMut(&Arc<str>) -> usize) -> Numbered {
        let poly = match self {
            Dim::Const(v) => return Numbered(vec![(*v, Vec::new())]),
            Dim::Expr(poly) => poly,
        };
        let mut terms = Vec::with_capacity(poly.terms.len());
        for (product, coefficient) in &poly.terms {
            let mut factors = Vec::with_capacity(product.len());
            for atom in product.iter() {
                let mut pair = |a: &Dim, b: &Dim| Box::new((a.numbered(number), b.numbered(number)));
                factors.push(match atom {
                    Atom::Symbol(name) => Factor::Symbol(number(name)),
                    Atom::Unknown(_) => Factor::Unknown,
                    Atom::FloorDiv(a, b) => Factor::FloorDiv(pair(a, b)),
                    Atom::Mod(a, b) => Factor::Mod(pair(a, b)),
                    Atom::Min(a, b) => Factor::Min(pair(a, b)),
                    Atom::Max(a, b) => Factor::Max(pair(a, b)),
                });
            }
            terms.push((*coefficient, factors));
        }
        Numbered(terms)
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
