//! Arithmetic operators for dimensions.

use std::cmp::Ordering;
use std::ops;

use super::arith::ordered;
use super::{Dim, MAX_DIM_PARTS};

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
                if left.len().saturating_mul(right.len()) > MAX_DIM_PARTS {
                    return Dim::too_large_product(&self, &other);
                }
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
