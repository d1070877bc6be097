//! Numbers that are integers, and their bounds: what is computed from elements of operands with an integer type.

use num_rational::BigRational;
use num_traits::Signed;

use super::expr::{Expr, Factor};
use super::laws;
use super::meaning::Meaning;
use tautomer_op::known;
use tautomer_tensor::DType;

/// The least and the greatest number that an integer may be.
type Bounds = (BigRational, BigRational);

impl Meaning<'_> {
    /// True if the number is an integer that the type has.
    pub(super) fn is_integer_of(&self, x: &Expr, dtype: DType) -> bool {
        let (Some((low, high)), Some((least, greatest))) = (self.bounds(x), dtype.int_range()) else {
            return false;
        };
        let of = |n: i128| BigRational::from_integer(n.into());
        of(least) <= low && high <= of(greatest)
    }

    /// The number without rounding of integers, and without limits that integers do not reach.
    pub(super) fn as_integer(&self, x: &Expr) -> Expr {
        x.map_factors(&|factor| {
            let Factor::Apply(f, args) = factor else { return None };
            let args: Vec<Expr> = args.iter().map(|arg| self.as_integer(arg)).collect();
            match f.name() {
                known::ROUND | known::FLOOR | known::CEIL if self.bounds(&args[0]).is_some() => Some(args[0].clone()),
                known::MAX | known::MIN => {
                    let is_max = f.is(known::MAX);
                    let bounds: Vec<Option<Bounds>> = args.iter().map(|arg| self.bounds(arg)).collect();
                    let is_beaten = |i: usize, j: usize| match (&bounds[i], &bounds[j]) {
                        // Of two that are equal, the first one stays.
                        (Some((low, high)), Some((other_low, other_high))) => {
                            let never = if is_max { high <= other_low } else { low >= other_high };
                            let draws = if is_max { other_high <= low } else { other_low >= high };
                            never && (!draws || j < i)
                        }
                        _ => false,
                    };
                    let stays = |i: &usize| !(0..args.len()).any(|j| j != *i && is_beaten(*i, j));
                    let left: Vec<Expr> = (0..args.len()).filter(stays).map(|i| args[i].clone()).collect();
                    Some(match left.as_slice() {
                        [one] => one.clone(),
                        _ => laws::apply(f.clone(), left),
                    })
                }
                _ => Some(laws::apply(f.clone(), args)),
            }
        })
    }

    /// The bounds of a number that is an integer; `None` if it may be another number, or if they are not known.
    fn bounds(&self, x: &Expr) -> Option<Bounds> {
        let zero = || BigRational::from_integer(0.into());
        x.terms()
            .iter()
            .try_fold((zero(), zero()), |(low, high), (product, c)| {
                if !c.is_integer() {
                    return None;
                }
                let (a, b) = match product.as_slice() {
                    [] => (c.clone(), c.clone()),
                    [(Factor::Element(leaf, _), 1)] => {
                        let (least, greatest) = self.leaf_type(*leaf)?.int_range()?;
                        let of = |n: i128| BigRational::from_integer(n.into()) * c;
                        if c.is_negative() {
                            (of(greatest), of(least))
                        } else {
                            (of(least), of(greatest))
                        }
                    }
                    _ => return None,
                };
                Some((low + a, high + b))
            })
    }

    /// The element type of the leaf with a number.
    fn leaf_type(&self, number: u32) -> Option<DType> {
        let mut leaves = self.leaves.iter();
        leaves.find(|(_, own)| **own == number).map(|(v, _)| self.dtype(*v))
    }
}
