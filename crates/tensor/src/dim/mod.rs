//! Symbolic dimensions: integers, symbols, and integer expressions over symbols in a normal form.

mod arith;
mod evaluate;
mod limit;
mod ops;
mod text;

use std::sync::Arc;

use serde::{Deserialize, Serialize};

pub use evaluate::Numbered;
pub use limit::MAX_DIM_PARTS;

/// The size along one axis: a known integer, or a polynomial over symbols and floor divisions.
///
/// Expressions are kept in a normal form, so that `==` decides equality of polynomials: `2 * h + h` and `3 * h` are
/// equal. Arithmetic saturates at the limits of `i64`, and an expression of more than [`MAX_DIM_PARTS`] parts becomes
/// an unknown dimension.
///
/// ```
/// use tautomer_tensor::Dim;
/// let h = Dim::symbol("h");
/// let out = (h.clone() + Dim::from(2) - Dim::from(3)).floor_div(&Dim::from(2)) + Dim::from(1);
/// assert_eq!(out.to_string(), "(h + 1) / 2");
/// assert_eq!(out.bind(&|s| (s == "h").then_some(224)), Dim::from(112));
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Dim {
    /// A known dimension.
    Const(i64),
    /// A polynomial that is not a constant.
    Expr(Arc<Poly>),
}

/// A polynomial: a sum of products of atoms with integer coefficients.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Poly {
    /// Sorted by product, with nonzero coefficients; the constant term has the empty product.
    terms: Vec<(Product, i64)>,
}

/// A sorted list of atoms that are multiplied.
pub(crate) type Product = Arc<[Atom]>;

/// An indivisible part of a dimension expression.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Atom {
    /// A named dimension.
    Symbol(Arc<str>),
    /// A dimension that nothing is known about; equal only to itself.
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

    /// An unknown dimension; `id` distinguishes it from others.
    pub fn unknown(id: u32) -> Dim {
        Dim::atom(Atom::Unknown(id))
    }

    /// The dimension that is one symbol, unknown or function of dimensions.
    pub fn atom(atom: Atom) -> Dim {
        Dim::limited(vec![(Arc::new([atom]), 1)])
    }

    /// The value, if it is known.
    pub fn as_const(&self) -> Option<i64> {
        match self {
            Dim::Const(value) => Some(*value),
            Dim::Expr(_) => None,
        }
    }

    /// The symbol's name, if this is a single symbol.
    pub fn as_symbol(&self) -> Option<&str> {
        match self.as_atom() {
            Some(Atom::Symbol(name)) => Some(name),
            _ => None,
        }
    }

    /// The atom, if the dimension is a single one.
    pub fn as_atom(&self) -> Option<&Atom> {
        match self {
            Dim::Expr(poly) => match poly.terms.as_slice() {
                [(product, 1)] if product.len() == 1 => Some(&product[0]),
                _ => None,
            },
            Dim::Const(_) => None,
        }
    }

    /// True for a single unknown dimension (`?`).
    pub fn is_unknown(&self) -> bool {
        matches!(self.as_atom(), Some(Atom::Unknown(_)))
    }

    /// True if an unknown dimension occurs anywhere inside.
    pub fn has_unknown(&self) -> bool {
        let mut found = false;
        self.visit_atoms(&mut |atom| found |= matches!(atom, Atom::Unknown(_)));
        found
    }

    /// Calls `f` for every atom, including those inside divisions.
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

    /// The products of atoms that it is the sum of, each with its coefficient; the constant term has the empty product.
    pub fn terms(&self) -> Vec<(Arc<[Atom]>, i64)> {
        match self {
            Dim::Const(0) => Vec::new(),
            Dim::Const(value) => vec![(Arc::new([]), *value)],
            Dim::Expr(poly) => poly.terms.clone(),
        }
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
        #![proptest_config(tautomer_testing::random_cases(256))]

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

    fn arb_sum() -> impl Strategy<Value = Dim> {
        let factor = prop_oneof!["h", "w", "n"].prop_map(|s| Dim::symbol(&s));
        let product = prop::collection::vec(factor, 0..3).prop_map(|v| v.into_iter().fold(Dim::from(1), |a, b| a * b));
        let term = (product, -4i64..5).prop_map(|(product, by)| product * Dim::Const(by));
        prop::collection::vec(term, 1..4).prop_map(|v| v.into_iter().fold(Dim::from(0), |a, b| a + b))
    }

    proptest! {
        #![proptest_config(tautomer_testing::random_cases(256))]

        #[test]
        fn a_product_is_divided_by_its_factors(a in arb_sum(), b in arb_sum()) {
            prop_assume!(b != Dim::Const(0));
            prop_assert_eq!((a.clone() * b.clone()).exact_div(&b), Some(a));
        }
    }

    #[test]
    fn quotients_do_not_depend_on_the_order_of_names() {
        for (batch, n) in [("a", "n"), ("z", "n")] {
            let (batch, n) = (Dim::symbol(batch), Dim::symbol(n));
            let rows = n + Dim::from(1);
            assert_eq!((batch.clone() * rows.clone()).floor_div(&rows), batch);
            assert_eq!((batch.clone() * rows.clone() + Dim::from(1)).exact_div(&rows), None);
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
