//! Limits on the size of an expression.
//!
//! Products of sums are multiplied out, and quotients and maxima nest: a few lines can produce expressions that grow
//! exponentially. An expression with too many parts becomes an unknown dimension instead, so that arithmetic stays
//! total and each step costs a bounded amount of work.

use std::hash::{Hash, Hasher};
use std::sync::Arc;

use rustc_hash::FxHasher;

use super::{Atom, Dim, Poly, Product};

/// The maximum number of parts of a dimension: its terms, their factors, and the parts of the expressions in those.
/// Real models have a few dozen.
pub const MAX_DIM_PARTS: usize = 1024;

/// Unknown dimensions with this number or above stand for expressions that were too large.
const TOO_LARGE: u32 = 1 << 31;

impl Dim {
    /// The sum of these terms, which are in normal form and not a constant.
    pub(super) fn limited(terms: Vec<(Product, i64)>) -> Dim {
        if parts(&terms, MAX_DIM_PARTS).is_none() {
            return Dim::too_large(&terms);
        }
        Dim::Expr(Arc::new(Poly { terms }))
    }

    /// The product of two sums, which has too many terms.
    pub(super) fn too_large_product(a: &Dim, b: &Dim) -> Dim {
        Dim::too_large(&if a <= b { (a, b) } else { (b, a) })
    }

    /// The unknown dimension that stands for an expression. Its number depends only on the expression, so that
    /// computing it twice gives the same value, whatever was computed before.
    fn too_large(what: &impl Hash) -> Dim {
        let mut hasher = FxHasher::default();
        what.hash(&mut hasher);
        let id = TOO_LARGE | (hasher.finish() >> 34) as u32;
        Dim::Expr(Arc::new(Poly {
            terms: vec![(Arc::new([Atom::Unknown(id)]), 1)],
        }))
    }

    /// The number of products that the expression is a sum of; 0 for a number.
    pub fn term_count(&self) -> usize {
        match self {
            Dim::Const(_) => 0,
            Dim::Expr(poly) => poly.terms.len(),
        }
    }

    /// True if the expression, or a part of it, had more than [`MAX_DIM_PARTS`] parts.
    pub fn is_too_large(&self) -> bool {
        let mut found = false;
        self.visit_atoms(&mut |atom| found |= atom.is_too_large());
        found
    }
}

impl Atom {
    /// True for an unknown dimension that stands for an expression with too many parts; all others are numbered by
    /// their creators.
    pub fn is_too_large(&self) -> bool {
        matches!(self, Atom::Unknown(id) if (TOO_LARGE..TOO_LARGE | 1 << 30).contains(id))
    }
}

/// The remaining room after these terms; `None` if they need more than `room`.
fn parts(terms: &[(Product, i64)], room: usize) -> Option<usize> {
    terms.iter().try_fold(room, |room, (product, _)| {
        product.iter().try_fold(room.checked_sub(1)?, |room, atom| {
            let room = room.checked_sub(1)?;
            match atom {
                Atom::Symbol(_) | Atom::Unknown(_) => Some(room),
                Atom::FloorDiv(a, b) | Atom::Mod(a, b) | Atom::Min(a, b) | Atom::Max(a, b) => {
                    [a, b].into_iter().try_fold(room, |room, dim| match dim {
                        Dim::Const(_) => Some(room),
                        Dim::Expr(poly) => parts(&poly.terms, room),
                    })
                }
            }
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sum(letter: char, n: usize) -> Dim {
        (0..n).map(|i| Dim::symbol(&format!("{letter}{i}"))).sum()
    }

    #[test]
    fn products_are_multiplied_out_up_to_the_limit() {
        assert_eq!((sum('a', 10) * sum('b', 10)).terms().len(), 100);
        let large = sum('a', 70) * sum('b', 70);
        assert!(large.is_too_large() && large.is_unknown());
        assert_eq!(large, sum('b', 70) * sum('a', 70));
        assert_ne!(large, sum('b', 70) * sum('c', 70));
        assert_eq!(large.clone() - large, Dim::Const(0));
    }

    #[test]
    fn repeated_steps_end_at_the_limit() {
        let n = Dim::symbol("n");
        let steps: [fn(&Dim) -> Dim; 6] = [
            |d| d.clone() * d.clone(),
            |d| (d.clone() + Dim::Const(1)) * (d.clone() + Dim::symbol("m")),
            |d| d.floor_div(&Dim::Const(3)).maximum(&d.floor_div(&Dim::Const(5))),
            |d| d.floor_div(&Dim::Const(7)).minimum(&d.modulo(&Dim::Const(5))),
            |d| d.floor_div(&(d.clone() + Dim::Const(1))),
            |d| d.modulo(&(d.clone() + Dim::Const(1))),
        ];
        for (which, step) in steps.iter().enumerate() {
            let last = (0..200).fold(n.clone(), |d, _| step(&d));
            assert!(last.to_string().len() < 100_000, "step {which}");
        }
        assert!((0..40).fold(n, |d, _| steps[0](&d)).is_too_large());
    }

    #[test]
    fn the_limits_of_integers_do_not_overflow() {
        let extremes = [i64::MIN, i64::MIN + 1, -3, -1, 0, 1, 2, 3, i64::MAX - 1, i64::MAX];
        let n = Dim::symbol("n");
        for a in extremes {
            for b in extremes {
                let (x, y) = (Dim::Const(a), Dim::Const(b));
                let forms = [x.clone(), n.clone() + x.clone(), n.clone() * x.clone(), n.floor_div(&x)];
                for left in &forms {
                    for right in [&y, &(n.clone() + y.clone()), &(n.clone() * y.clone())] {
                        let all = [
                            left.clone() + right.clone(),
                            left.clone() - right.clone(),
                            left.clone() * right.clone(),
                            left.floor_div(right),
                            left.ceil_div(right),
                            left.modulo(right),
                            left.minimum(right),
                            left.maximum(right),
                        ];
                        for dim in all {
                            let _ = (dim.to_string(), dim.exact_div(right), dim.is_less(left));
                            for value in extremes {
                                let _ = dim.evaluate(&|_| Some(value));
                                let _ = dim.bind(&|_| Some(value));
                            }
                        }
                    }
                }
            }
        }
    }
}
