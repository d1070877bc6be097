//! The input from which a map is made, and the questions about sizes that its shape depends on.

use crate::infer::resolve_axis;
use crate::{AttrValue, OpDef, OpError};
use tautomer_tensor::Dim;

/// Why a call has no map.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Halt {
    /// The call is invalid.
    Invalid(OpError),
    /// Something that the map depends on is unknown.
    Unknown(String),
    /// A question about sizes was not answered; whoever was asked knows why.
    Undecided,
}

impl Halt {
    /// Something that the map depends on is unknown.
    pub(crate) fn unknown(what: impl Into<String>) -> Halt {
        Halt::Unknown(what.into())
    }
}

impl From<OpError> for Halt {
    fn from(error: OpError) -> Halt {
        Halt::Invalid(error)
    }
}

impl From<Halt> for OpError {
    fn from(halt: Halt) -> OpError {
        match halt {
            Halt::Invalid(error) => error,
            Halt::Unknown(what) => OpError::new(what),
            Halt::Undecided => OpError::new("a dimension is unknown"),
        }
    }
}

/// Answers questions about sizes: by arithmetic if they are known, and in a proof by the facts of a case.
pub trait Decide {
    /// Whether the value is at least 0.
    ///
    /// # Errors
    /// If that is not decided.
    fn is_natural(&self, value: &Dim) -> Result<bool, Halt>;

    /// Whether the value is 0.
    ///
    /// # Errors
    /// If that is not decided.
    fn is_zero(&self, value: &Dim) -> Result<bool, Halt>;

    /// Whether the value is 0, if that is known without further assumptions.
    fn known_zero(&self, value: &Dim) -> Option<bool>;

    /// Whether the value is at least 0, if that is known without further assumptions.
    fn known_natural(&self, value: &Dim) -> Option<bool>;

    /// Requires that the value is at least 0.
    ///
    /// # Errors
    /// If it is not, or that is not decided.
    fn require_natural(&self, value: &Dim) -> Result<(), Halt>;

    /// Requires that the value is 0.
    ///
    /// # Errors
    /// If it is not, or that is not decided.
    fn require_zero(&self, value: &Dim) -> Result<(), Halt>;

    /// The quotient by a divisor of the value, which the call requires it to be.
    ///
    /// # Errors
    /// If it is not, or that is not decided.
    fn require_multiple(&self, value: &Dim, divisor: &Dim) -> Result<Dim, Halt>;

    /// The quotient by a positive number, rounded down.
    fn quotient(&self, value: &Dim, divisor: &Dim) -> Dim;

    /// The value in its simplest form.
    fn simplified(&self, value: &Dim) -> Dim;
}

/// Decides by arithmetic on known sizes.
#[derive(Debug, Clone, Copy, Default)]
pub struct Known;

impl Known {
    fn number(value: &Dim) -> Result<i64, Halt> {
        value
            .as_const()
            .ok_or_else(|| Halt::unknown(format!("the dimension {value} is unknown")))
    }

    fn require(holds: bool) -> Result<(), Halt> {
        let wrong = || OpError::new("the sizes of the operands do not fit the attributes").into();
        if holds { Ok(()) } else { Err(wrong()) }
    }
}

impl Decide for Known {
    fn is_natural(&self, value: &Dim) -> Result<bool, Halt> {
        Ok(Known::number(value)? >= 0)
    }

    fn is_zero(&self, value: &Dim) -> Result<bool, Halt> {
        Ok(Known::number(value)? == 0)
    }

    fn known_zero(&self, value: &Dim) -> Option<bool> {
        value.as_const().map(|n| n == 0)
    }

    fn known_natural(&self, value: &Dim) -> Option<bool> {
        value.as_const().map(|n| n >= 0)
    }

    fn require_natural(&self, value: &Dim) -> Result<(), Halt> {
        Known::require(self.is_natural(value)?)
    }

    fn require_zero(&self, value: &Dim) -> Result<(), Halt> {
        Known::require(self.is_zero(value)?)
    }

    fn require_multiple(&self, value: &Dim, divisor: &Dim) -> Result<Dim, Halt> {
        let (a, b) = (Known::number(value)?, Known::number(divisor)?);
        Known::require(b != 0 && a % b == 0)?;
        Ok(Dim::Const(a / b))
    }

    fn quotient(&self, value: &Dim, divisor: &Dim) -> Dim {
        value.floor_div(divisor)
    }

    fn simplified(&self, value: &Dim) -> Dim {
        value.clone()
    }
}

/// The input from which a map is made.
pub struct Places<'a> {
    /// The operator.
    pub def: &'static OpDef,
    /// The attributes, in declared order; those given as operands are filled in where they are known.
    pub attrs: &'a [AttrValue],
    /// The shape of each operand; `None` if it was left out.
    pub operands: &'a [Option<Vec<Dim>>],
    /// The shape of each result, if inference has found them all.
    pub results: Option<&'a [Vec<Dim>]>,
    /// Answers questions about sizes.
    pub decide: &'a dyn Decide,
}

impl Places<'_> {
    /// The shape of an operand.
    pub(crate) fn shape(&self, operand: usize) -> Result<&[Dim], Halt> {
        self.given(operand)
            .ok_or_else(|| Halt::unknown(format!("operand {operand} is missing")))
    }

    /// The shape of an operand, if it is given.
    pub(crate) fn given(&self, operand: usize) -> Option<&[Dim]> {
        self.operands.get(operand)?.as_deref()
    }

    /// The shape of a result, if inference has found it.
    pub(crate) fn result(&self, i: usize) -> Option<&[Dim]> {
        self.results?.get(i).map(Vec::as_slice)
    }

    /// The attribute `name`.
    pub(crate) fn attr(&self, name: &str) -> &AttrValue {
        self.def.attr_in(self.attrs, name)
    }

    /// The list attribute `name`, if it is given and known.
    pub(crate) fn ints(&self, name: &str) -> Option<Vec<Dim>> {
        match self.attr(name) {
            AttrValue::Ints(list) => Some(list.clone()),
            _ => None,
        }
    }

    /// The integer attribute `name`, if it is given and known.
    pub(crate) fn int(&self, name: &str) -> Option<Dim> {
        match self.attr(name) {
            AttrValue::Int(value) => Some(value.clone()),
            _ => None,
        }
    }

    /// The axis attribute `name`, counted from the front.
    pub(crate) fn axis(&self, name: &str, rank: usize) -> Result<usize, Halt> {
        let axis = self.int(name).and_then(|d| d.as_const());
        let axis = axis.ok_or_else(|| Halt::unknown("an axis is unknown"))?;
        Ok(resolve_axis(axis, rank)?)
    }

    /// The axes attribute `name`, counted from the front; `None` if it was left out.
    pub(crate) fn axes(&self, name: &str, rank: usize) -> Result<Option<Vec<usize>>, Halt> {
        let Some(axes) = self.ints(name) else { return Ok(None) };
        let front = |d: &Dim| {
            let axis = d.as_const().ok_or_else(|| Halt::unknown("an axis is unknown"))?;
            Ok(resolve_axis(axis, rank)?)
        };
        axes.iter().map(front).collect::<Result<Vec<_>, Halt>>().map(Some)
    }

    /// The larger value.
    pub(crate) fn max(&self, a: &Dim, b: &Dim) -> Result<Dim, Halt> {
        let larger = self.decide.is_natural(&(a.clone() - b.clone()))?;
        Ok(if larger { a.clone() } else { b.clone() })
    }

    /// The smaller value.
    pub(crate) fn min(&self, a: &Dim, b: &Dim) -> Result<Dim, Halt> {
        let larger = self.decide.is_natural(&(a.clone() - b.clone()))?;
        Ok(if larger { b.clone() } else { a.clone() })
    }

    /// Requires that the value is at least `least`.
    pub(crate) fn require_at_least(&self, value: &Dim, least: i64) -> Result<(), Halt> {
        self.decide.require_natural(&(value.clone() - Dim::Const(least)))
    }

    /// Whether both sizes are known to be equal.
    pub(crate) fn same(&self, a: &Dim, b: &Dim) -> bool {
        self.decide.known_zero(&(a.clone() - b.clone())) == Some(true)
    }
}
