//! Links of chains: equal forms that are faster, and runs of products and sums.

use super::chain::Two;
use super::code::{LinkCode, With};
use super::lane::Number;

/// Floats that chains are made of.
pub(super) trait ChainNumber: Number {
    fn negated(self) -> Self;
    /// `1 / self`, if multiplying by it is the same as dividing.
    fn exact_reciprocal(self) -> Option<Self>;
}

macro_rules! chain_number {
    ($ty:ident, $mantissa:literal) => {
        impl ChainNumber for $ty {
            fn negated(self) -> Self {
                -self
            }

            fn exact_reciprocal(self) -> Option<Self> {
                let reciprocal = 1.0 / self;
                let power = self.to_bits() & $mantissa == 0;
                (power && self.is_normal() && reciprocal.is_normal()).then_some(reciprocal)
            }
        }
    };
}
chain_number!(f32, 0x007f_ffff);
chain_number!(f64, 0x000f_ffff_ffff_ffff);

/// Adds a link; a product followed by a sum with a constant becomes part of a run.
pub(super) fn join<N: Number>(links: &mut Vec<LinkCode<N>>, link: LinkCode<N>) {
    let LinkCode::Two(Two::Add, With::Same(term)) = link else {
        links.push(link);
        return;
    };
    match links.pop() {
        Some(LinkCode::Two(Two::Multiply, With::Same(factor))) => match links.last_mut() {
            Some(LinkCode::Affine(pairs)) => pairs.push((factor, term)),
            _ => links.push(LinkCode::Affine(vec![(factor, term)])),
        },
        Some(LinkCode::Two(Two::Multiply, With::Each(by))) => match links.last_mut() {
            Some(LinkCode::Horner(values, terms)) if *values == by => terms.push(term),
            _ => links.push(LinkCode::Horner(by, vec![term])),
        },
        before => {
            links.extend(before);
            links.push(LinkCode::Two(Two::Add, With::Same(term)));
        }
    }
}
