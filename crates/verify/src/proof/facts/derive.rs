//! Whether an inequality follows from the facts of a case.
//!
//! Its negation, the facts that share products with it, and what is known about those products are read as linear
//! inequalities. If no integers satisfy them all, it follows.

use super::Facts;
use crate::proof::linear;
use tautomer_tensor::{Atom, Dim};

/// How often facts are multiplied to reach the products that a question contains.
const ROUNDS: usize = 2;

/// Limit on the facts that go into the answer to one question.
const MOST: usize = 90;

impl Facts {
    /// True if the facts and the negation of `goal` contradict each other.
    pub(super) fn derive(&self, goal: &Dim) -> bool {
        // Sums of nonnegative terms.
        let mut plain = Some(0i64);
        goal.each_term(&mut |product, c| {
            plain = plain.and_then(|sum| {
                let least = self.least_product(product).filter(|_| c > 0 || product.is_empty())?;
                sum.checked_add(c.checked_mul(least)?)
            });
        });
        if plain.is_some_and(|least| least >= 0) {
            return true;
        }
        let negated = -goal.clone() - Dim::Const(1);
        let mut used = Used(vec![negated]);
        let mut products: Vec<Vec<Atom>> = Vec::new();
        let mut waiting: Vec<&Dim> = self.at_least_zero.iter().collect();
        self.effort.spend(waiting.len());
        let mut next = 0;
        let mut rounds = 0;
        while used.0.len() < MOST {
            if next == used.0.len() {
                self.effort.spend(used.0.len());
                if linear::contradictory(&used.0) {
                    return true;
                }
                rounds += 1;
                if rounds > ROUNDS || !self.multiply(&mut used, &products) {
                    break;
                }
            }
            let Some(fact) = used.0.get(next).cloned() else { break };
            next += 1;
            let known = products.len();
            fact.each_term(&mut |product, _| {
                if !product.is_empty() && !products.iter().any(|p| p == product) {
                    products.push(product.to_vec());
                }
            });
            // The facts that wait have none of the products that were known before.
            let fresh = &products[known..];
            if fresh.is_empty() {
                continue;
            }
            for product in fresh {
                self.define(product, &mut used);
            }
            waiting.retain(|f| {
                let mut shares = false;
                f.each_term(&mut |p, _| shares |= fresh.iter().any(|own| own == p));
                if shares {
                    used.add((*f).clone());
                }
                !shares
            });
        }
        false
    }

    /// The least value of an atom according to facts about it alone.
    pub(super) fn least(&self, atom: &Atom) -> Option<i64> {
        if let Some(known) = self.lower.borrow().get(atom) {
            return *known;
        }
        let mut least: Option<i64> = match atom {
            Atom::Mod(_, d) if self.positive(d) => Some(0),
            Atom::FloorDiv(a, b) if self.at_least_zero.contains(a) && self.positive(b) => Some(0),
            _ => None,
        };
        for fact in &self.at_least_zero {
            if let Some((this, number)) = fact.as_atom_and_number()
                && this == atom
            {
                least = Some(least.map_or(-number, |l| l.max(-number)));
            }
        }
        self.lower.borrow_mut().insert(atom.clone(), least);
        least
    }

    /// The least value of a product of atoms, if the least value of each is known and nonnegative.
    pub(super) fn least_product(&self, product: &[Atom]) -> Option<i64> {
        product.iter().try_fold(1i64, |out, atom| {
            let least = self.least(atom).filter(|l| *l >= 0)?;
            out.checked_mul(least)
        })
    }

    /// Facts about a product and its atoms.
    fn define(&self, product: &[Atom], used: &mut Used) {
        let mut add = |d: Dim| {
            if d.as_const().is_none() {
                used.add(d);
            }
        };
        for atom in product {
            let this = Dim::atom(atom.clone());
            match atom {
                Atom::FloorDiv(a, b) if self.positive(b) => {
                    // a < b * c implies that the quotient is less than c.
                    for fact in &self.at_least_zero {
                        let limit = fact.clone() + a.clone() + Dim::Const(1);
                        if let Some(c) = limit.exact_div(b) {
                            add(c - Dim::Const(1) - this.clone());
                        }
                    }
                    if self.at_least_zero.contains(a) {
                        add(this.clone());
                    }
                    let rest = a.clone() - b.clone() * this;
                    add(rest.clone());
                    add(b.clone() - Dim::Const(1) - rest);
                }
                Atom::Mod(a, b) if self.positive(b) => {
                    add(this.clone());
                    add(b.clone() - Dim::Const(1) - this.clone());
                    let _ = a;
                }
                Atom::Min(a, b) => {
                    add(a.clone() - this.clone());
                    add(b.clone() - this);
                }
                Atom::Max(a, b) => {
                    add(this.clone() - a.clone());
                    add(this - b.clone());
                }
                _ => {}
            }
        }
        if let Some((atom, rest)) = product.split_first().filter(|(_, rest)| !rest.is_empty()) {
            // (x - a) * (y - b) >= 0 for the least values a and b.
            if let (Some(a), Some(b)) = (self.least(atom).filter(|l| *l >= 0), self.least_product(rest)) {
                let x = Dim::atom(atom.clone());
                let y: Dim = rest.iter().cloned().map(Dim::atom).product();
                add((x - Dim::Const(a)) * (y - Dim::Const(b)));
            }
        }
    }

    fn positive(&self, dim: &Dim) -> bool {
        match dim.as_const() {
            Some(v) => v > 0,
            None => match dim.terms().as_slice() {
                [(product, c)] => *c > 0 && self.least_product(product).is_some_and(|l| l > 0),
                _ => self
                    .at_least_zero
                    .iter()
                    .any(|f| (dim.clone() - f.clone()).as_const().is_some_and(|v| v > 0)),
            },
        }
    }

    /// Multiplies facts about one factor of a product by the other factors, which are nonnegative; false if there is
    /// nothing new.
    fn multiply(&self, used: &mut Used, products: &[Vec<Atom>]) -> bool {
        let mut sorted: Vec<&Vec<Atom>> = products.iter().filter(|p| p.len() > 1).collect();
        sorted.sort();
        let before = used.0.len();
        let facts = used.0.clone();
        for product in sorted {
            for (i, atom) in product.iter().enumerate() {
                let mut rest = product.clone();
                rest.remove(i);
                if self.least_product(&rest).is_none() {
                    continue;
                }
                let by: Dim = rest.into_iter().map(Dim::atom).product();
                for fact in &facts {
                    let (mut about, mut several) = (false, 0);
                    fact.each_term(&mut |p, _| {
                        about |= p == std::slice::from_ref(atom);
                        several += 1;
                    });
                    if about && several > 1 && used.0.len() < MOST {
                        used.add(fact.clone() * by.clone());
                    }
                }
            }
        }
        used.0.len() > before
    }
}

/// The facts that go into the answer to a question: first its negation, then each fact once. There are few, so that they
/// are compared sooner than hashed.
struct Used(Vec<Dim>);

impl Used {
    fn add(&mut self, fact: Dim) {
        if !self.0[1..].contains(&fact) {
            self.0.push(fact);
        }
    }
}
