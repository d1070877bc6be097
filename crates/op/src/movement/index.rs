//! Integers that depend on a position in a result.

use crate::OpError;
use tautomer_tensor::Dim;

/// An integer that depends on the position in the result.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Index {
    /// The index along an axis of the result.
    Axis(usize),
    /// The position in the result in row-major order.
    Row,
    /// The same integer everywhere.
    Const(Dim),
    /// A sum.
    Sum(Vec<Index>),
    /// A multiple.
    Times(Box<Index>, Dim),
    /// The quotient by a positive number, rounded down.
    Div(Box<Index>, Dim),
    /// The remainder of that division.
    Mod(Box<Index>, Dim),
    /// The smaller of two.
    Min(Box<Index>, Box<Index>),
    /// The larger of two.
    Max(Box<Index>, Box<Index>),
    /// An element of an integer operand: an index along an axis of that size, counted from the end if negative.
    Datum {
        /// The operand.
        operand: usize,
        /// The index along each of its axes.
        at: Vec<Index>,
        /// The size of the axis that it is an index of.
        extent: Dim,
    },
}

impl Index {
    /// The index along each of `rank` axes.
    pub(crate) fn axes(rank: usize) -> Vec<Index> {
        (0..rank).map(Index::Axis).collect()
    }

    /// The same integer everywhere.
    pub(crate) fn constant(value: i64) -> Index {
        Index::Const(Dim::Const(value))
    }

    /// The sum with a size.
    pub(crate) fn plus(self, other: Dim) -> Index {
        self.sum(Index::Const(other))
    }

    /// The sum.
    pub(crate) fn sum(self, other: Index) -> Index {
        let zero = Index::constant(0);
        let terms = |index: Index| match index {
            Index::Sum(terms) => terms,
            one => vec![one],
        };
        match (self, other) {
            (a, b) if b == zero => a,
            (a, b) if a == zero => b,
            (a, b) => Index::Sum([terms(a), terms(b)].concat()),
        }
    }

    /// The product with a size.
    pub(crate) fn times(self, factor: Dim) -> Index {
        match factor {
            Dim::Const(1) => self,
            factor => Index::Times(Box::new(self), factor),
        }
    }

    /// The quotient by a positive size, rounded down.
    pub(crate) fn over(self, divisor: Dim) -> Index {
        match divisor {
            Dim::Const(1) => self,
            divisor => Index::Div(Box::new(self), divisor),
        }
    }

    /// The remainder of the division by a positive size.
    pub(crate) fn modulo(self, divisor: Dim) -> Index {
        Index::Mod(Box::new(self), divisor)
    }

    /// The smaller one.
    pub(crate) fn min(self, other: Index) -> Index {
        Index::Min(Box::new(self), Box::new(other))
    }

    /// The larger one.
    pub(crate) fn max(self, other: Index) -> Index {
        Index::Max(Box::new(self), Box::new(other))
    }

    /// Calls `f` for the index and all its parts.
    pub fn visit(&self, f: &mut dyn FnMut(&Index)) {
        f(self);
        match self {
            Index::Axis(_) | Index::Row | Index::Const(_) => {}
            Index::Sum(parts) | Index::Datum { at: parts, .. } => parts.iter().for_each(|part| part.visit(f)),
            Index::Times(x, _) | Index::Div(x, _) | Index::Mod(x, _) => x.visit(f),
            Index::Min(a, b) | Index::Max(a, b) => {
                a.visit(f);
                b.visit(f);
            }
        }
    }

    /// True if it depends on elements of an operand.
    pub(super) fn reads_data(&self) -> bool {
        let mut found = false;
        self.visit(&mut |part| found |= matches!(part, Index::Datum { .. }));
        found
    }

    /// A constant, and the multiple of the index along each axis, if it is a sum of these and sizes are known.
    pub(super) fn linear(&self) -> Option<(i64, Vec<(usize, i64)>)> {
        Some(match self {
            Index::Axis(axis) => (0, vec![(*axis, 1)]),
            Index::Const(d) => (d.as_const()?, Vec::new()),
            Index::Times(x, d) => {
                let (mut first, mut steps) = x.linear()?;
                let factor = d.as_const()?;
                first = first.checked_mul(factor)?;
                for (_, step) in &mut steps {
                    *step = step.checked_mul(factor)?;
                }
                (first, steps)
            }
            Index::Sum(parts) => {
                let (mut first, mut steps) = (0i64, Vec::new());
                for part in parts {
                    let (more, others) = part.linear()?;
                    first = first.checked_add(more)?;
                    steps.extend(others);
                }
                (first, steps)
            }
            _ => return None,
        })
    }

    /// The axes of the result it depends on; `None` if it may depend on all of them.
    pub(super) fn over_axes(&self) -> Option<Vec<usize>> {
        let (mut all, mut axes) = (false, Vec::new());
        self.visit(&mut |part| match part {
            Index::Axis(axis) if !axes.contains(axis) => axes.push(*axis),
            Index::Row => all = true,
            _ => {}
        });
        (!all).then_some(axes)
    }
}

/// The element of an integer operand at an index for each of its axes.
pub(super) type Datum<'a> = &'a dyn Fn(usize, &[i64]) -> Result<i128, OpError>;

/// The position at which an index is evaluated; all sizes are known.
pub(super) struct Spotted<'a> {
    /// The index along each axis of the result.
    pub(super) position: &'a [usize],
    /// The shape of the result.
    pub(super) shape: &'a [usize],
    /// The element of an integer operand at an index for each of its axes.
    pub(super) datum: Datum<'a>,
}

impl Spotted<'_> {
    /// The value of an index.
    pub(super) fn value(&self, index: &Index) -> Result<i64, OpError> {
        let too_large = || OpError::new("an index is too large");
        Ok(match index {
            Index::Axis(axis) => self.position.get(*axis).map_or(0, |&i| i as i64),
            Index::Row => {
                let axes = self.position.iter().zip(self.shape);
                axes.fold(0, |sum, (&i, &n)| sum * n as i64 + i as i64)
            }
            Index::Const(d) => size(d)?,
            Index::Sum(parts) => {
                let mut sum = 0i64;
                for part in parts {
                    sum = sum.checked_add(self.value(part)?).ok_or_else(too_large)?;
                }
                sum
            }
            Index::Times(x, d) => self.value(x)?.checked_mul(size(d)?).ok_or_else(too_large)?,
            Index::Div(x, d) => self.value(x)?.div_euclid(positive(d)?),
            Index::Mod(x, d) => self.value(x)?.rem_euclid(positive(d)?),
            Index::Min(a, b) => self.value(a)?.min(self.value(b)?),
            Index::Max(a, b) => self.value(a)?.max(self.value(b)?),
            Index::Datum { operand, at, extent } => {
                let at = at.iter().map(|i| self.value(i)).collect::<Result<Vec<_>, _>>()?;
                counted((self.datum)(*operand, &at)?, size(extent)?).map_err(|e| e.at(*operand))?
            }
        })
    }
}

/// `index` counted from the front of an axis.
pub(crate) fn counted(index: i128, extent: i64) -> Result<i64, OpError> {
    let front = if index < 0 {
        index.saturating_add(i128::from(extent))
    } else {
        index
    };
    i64::try_from(front)
        .ok()
        .filter(|i| (0..extent).contains(i))
        .ok_or_else(|| OpError::new(format!("index {index} is out of range for an axis of size {extent}")))
}

/// The value of a size, which must be known.
pub(super) fn size(d: &Dim) -> Result<i64, OpError> {
    d.as_const()
        .ok_or_else(|| OpError::new(format!("the dimension {d} is unknown")))
}

fn positive(d: &Dim) -> Result<i64, OpError> {
    match size(d)? {
        n @ 1.. => Ok(n),
        _ => Err(outside()),
    }
}

/// The message for an index that is not within its axis.
pub(super) fn outside() -> OpError {
    OpError::new("an index is out of range for its axis")
}
