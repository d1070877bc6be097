//! A call as type inference and evaluation see it.

use std::cell::Cell;

use super::{AttrValue, OpDef};
use tautomer_tensor::{DType, Dim, MAX_RANK, Shape, Tensor, TensorType, Type};

/// Why a call is invalid; the caller knows the source position.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct OpError {
    /// The error code of the message.
    pub code: &'static str,
    /// The problem, with the types and values involved.
    pub message: String,
    /// The operand to point at.
    pub operand: Option<usize>,
    /// A second operand to point at.
    pub other: Option<usize>,
    /// The attribute to point at.
    pub attr: Option<String>,
    /// What to do.
    pub help: Option<String>,
}

impl OpError {
    /// A problem with the call as a whole.
    pub fn new(message: impl Into<String>) -> OpError {
        OpError {
            code: "T0201",
            message: message.into(),
            operand: None,
            other: None,
            attr: None,
            help: None,
        }
    }

    /// A problem with the number of operands.
    pub fn arity(message: impl Into<String>) -> OpError {
        OpError {
            code: "T0102",
            ..OpError::new(message)
        }
    }

    /// Points at an operand.
    pub fn at(mut self, operand: usize) -> OpError {
        self.operand = Some(operand);
        self
    }

    /// Points at a second operand.
    pub fn and(mut self, other: usize) -> OpError {
        self.other = Some(other);
        self
    }

    /// Points at an attribute.
    pub fn attr(mut self, name: &str) -> OpError {
        self.attr = Some(name.to_owned());
        self.code = "T0103";
        self
    }

    /// Adds help on what to do.
    pub fn help(mut self, help: impl Into<String>) -> OpError {
        self.help = Some(help.into());
        self
    }
}

/// What is known about an operand.
#[derive(Debug, Clone, Copy)]
pub struct Fact<'a> {
    /// Its type.
    pub ty: &'a Type,
    /// Its value, if it is a constant.
    pub value: Option<&'a Tensor>,
    /// Its elements, if they are integers determined by dimensions; see [`known_ints`](super::known_ints).
    pub ints: Option<&'a [Dim]>,
}

impl<'a> Fact<'a> {
    /// A value about which only the type is known.
    pub fn of(ty: &'a Type) -> Fact<'a> {
        Fact {
            ty,
            value: None,
            ints: None,
        }
    }

    /// A value with its type, and its constant value if it has one.
    pub fn with(ty: &'a Type, value: Option<&'a Tensor>) -> Fact<'a> {
        Fact { value, ..Fact::of(ty) }
    }
}

/// A call as inference sees it: operands with their types, attributes filled in.
pub struct Infer<'a> {
    /// The operator.
    pub def: &'static OpDef,
    /// The operands.
    pub operands: &'a [Fact<'a>],
    /// The attributes, in declared order.
    pub attrs: &'a [AttrValue],
    /// The number of the next unknown dimension.
    pub fresh: &'a Cell<u32>,
}

impl<'a> Infer<'a> {
    /// The tensor type of operand `i`.
    ///
    /// # Errors
    /// If it is missing, absent or a tuple.
    pub fn tensor(&self, i: usize) -> Result<&'a TensorType, OpError> {
        let name = self.def.operand(i).map_or("", |o| o.name);
        match self.operands.get(i).map(|o| o.ty) {
            Some(Type::Tensor(t)) => Ok(t),
            Some(other @ Type::Tuple(_)) => Err(OpError::new(format!("operand `{name}` is a tuple: {other}"))
                .at(i)
                .help("take one of its elements: `.0`")),
            Some(other @ (Type::Sequence(_) | Type::Optional(_))) => {
                Err(OpError::new(format!("operand `{name}` is not a tensor: {other}")).at(i))
            }
            Some(Type::Absent) | None => Err(OpError::new(format!("operand `{name}` is missing"))),
        }
    }

    /// The tensor type of operand `i`, or `None` if it was left out.
    pub fn optional(&self, i: usize) -> Result<Option<&'a TensorType>, OpError> {
        match self.operands.get(i).map(|o| o.ty) {
            None | Some(Type::Absent) => Ok(None),
            Some(_) => self.tensor(i).map(Some),
        }
    }

    /// The shape of operand `i`, or `None` if its rank is unknown.
    pub fn shape(&self, i: usize) -> Result<Option<&'a Shape>, OpError> {
        Ok(self.tensor(i)?.shape.as_ref())
    }

    /// A dimension that nothing is known about.
    pub fn unknown(&self) -> Dim {
        let id = self.fresh.get();
        self.fresh.set(id + 1);
        Dim::unknown(id)
    }

    /// A shape of `rank` unknown dimensions. `rank` may be arbitrarily large, such as a dimension of an operand; beyond
    /// [`MAX_RANK`] the shape gets one axis more than a result may have, so that the call is refused.
    pub fn unknown_shape(&self, rank: usize) -> Shape {
        (0..rank.min(MAX_RANK + 1)).map(|_| self.unknown()).collect()
    }

    /// The attribute as given or computed: its value, else the constant value of the operand that stands for it, else
    /// `None`.
    pub fn attr(&self, name: &str) -> AttrValue {
        let given = self.def.attr_in(self.attrs, name);
        if !given.is_none() {
            return given.clone();
        }
        self.attr_operand(name)
            .and_then(|i| self.operands[i].value)
            .and_then(|value| {
                super::call::attr_from_tensor(self.def.attr_index(name).map(|i| &self.def.attrs[i])?, value)
            })
            .unwrap_or(AttrValue::None)
    }

    /// The position of the operand that stands for attribute `name`, if it is given.
    pub fn attr_operand(&self, name: &str) -> Option<usize> {
        let i = self.def.operands.iter().position(|o| o.attr == Some(name))?;
        matches!(self.operands.get(i)?.ty, Type::Tensor(_)).then_some(i)
    }

    /// True if attribute `name` is computed at run time and its value is not known.
    pub fn is_dynamic(&self, name: &str) -> bool {
        self.attr(name).is_none() && self.attr_operand(name).is_some()
    }

    /// The integer attribute `name`, if it is known.
    pub fn int(&self, name: &str) -> Option<Dim> {
        match self.attr(name) {
            AttrValue::Int(v) => Some(v),
            _ => None,
        }
    }

    /// The integer attribute `name`, if it is a known constant.
    pub fn const_int(&self, name: &str) -> Option<i64> {
        self.int(name)?.as_const()
    }

    /// The list attribute `name`, if it is known.
    pub fn ints(&self, name: &str) -> Option<Vec<Dim>> {
        match self.attr(name) {
            AttrValue::Ints(v) => Some(v),
            _ => None,
        }
    }

    /// The list attribute `name`, if it is known and all constant.
    pub fn const_ints(&self, name: &str) -> Option<Vec<i64>> {
        self.ints(name)?.iter().map(Dim::as_const).collect()
    }

    /// The boolean `name`; false if left out.
    pub fn flag(&self, name: &str) -> bool {
        self.attr(name).is_true()
    }

    /// The number `name`, if it is known.
    pub fn float(&self, name: &str) -> Option<f64> {
        self.attr(name).as_float()
    }

    /// The list of numbers `name`, if it is known.
    pub fn floats(&self, name: &str) -> Option<Vec<f64>> {
        self.attr(name).as_floats()
    }

    /// The string `name`; empty if left out.
    pub fn text(&self, name: &str) -> String {
        self.attr(name).as_str().unwrap_or_default().to_owned()
    }

    /// The element type `name`, if given.
    pub fn dtype(&self, name: &str) -> Option<DType> {
        match self.attr(name) {
            AttrValue::DType(v) => Some(v),
            _ => None,
        }
    }

    /// The axis attribute `name` counted from the front, checked against `rank`.
    ///
    /// # Errors
    /// If it is out of range or unknown.
    pub fn axis(&self, name: &str, rank: usize) -> Result<usize, OpError> {
        let axis = self
            .const_int(name)
            .ok_or_else(|| OpError::new(format!("`{name}` must be a known integer")).attr(name))?;
        resolve_axis(axis, rank).map_err(|e| e.attr(name))
    }

    /// The axes attribute `name` counted from the front, checked against `rank`, in the order given; `None` if it was
    /// left out or is unknown.
    pub fn axes(&self, name: &str, rank: usize) -> Result<Option<Vec<usize>>, OpError> {
        let Some(axes) = self.const_ints(name) else {
            return Ok(None);
        };
        let mut out = Vec::with_capacity(axes.len());
        for axis in axes {
            let axis = resolve_axis(axis, rank).map_err(|e| e.attr(name))?;
            if out.contains(&axis) {
                return Err(OpError::new(format!("axis {axis} is listed twice")).attr(name));
            }
            out.push(axis);
        }
        Ok(Some(out))
    }

    /// Checks that operands `i` and `j` have the same element type, and returns it.
    pub fn same_dtype(&self, i: usize, j: usize) -> Result<DType, OpError> {
        let (a, b) = (self.tensor(i)?, self.tensor(j)?);
        if a.dtype == b.dtype {
            return Ok(a.dtype);
        }
        let (x, y) = (
            self.def.operand(i).map_or("", |o| o.name),
            self.def.operand(j).map_or("", |o| o.name),
        );
        Err(
            OpError::new(format!("element types differ: `{x}` is {a}, `{y}` is {b}"))
                .at(i)
                .and(j)
                .help(format!("convert one: `cast({y}) {{to = {}}}`", a.dtype)),
        )
    }

    /// Checks the element type of operand `i`.
    pub fn expect_dtype(&self, i: usize, ok: impl Fn(DType) -> bool, what: &str) -> Result<DType, OpError> {
        let t = self.tensor(i)?;
        if ok(t.dtype) {
            return Ok(t.dtype);
        }
        let name = self.def.operand(i).map_or("", |o| o.name);
        Err(OpError::new(format!("`{name}` must be {what}, but is {t}")).at(i))
    }

    /// Broadcasts the shapes of all tensor operands in `range`; `None` if a rank is unknown.
    pub fn broadcast(&self, range: std::ops::Range<usize>) -> Result<Option<Shape>, OpError> {
        let mut out: Option<(Shape, usize)> = None;
        for i in range {
            let Some(t) = self.optional(i)? else { continue };
            let Some(shape) = &t.shape else { return Ok(None) };
            out = Some(match out {
                None => (shape.clone(), i),
                Some((so_far, first)) => {
                    let merged = so_far.broadcast(shape).map_err(|from_end| {
                        let (x, y) = (so_far.len() - 1 - from_end, shape.len() - 1 - from_end);
                        OpError::new(format!(
                            "shapes {so_far} and {shape} do not broadcast: axis {x} of the first is {}, axis {y} of the second is {}",
                            so_far[x], shape[y]
                        ))
                        .at(first)
                        .and(i)
                        .help("broadcasting aligns trailing axes; dimensions must be equal or 1")
                    })?;
                    (merged, i)
                }
            });
        }
        Ok(out.map(|(shape, _)| shape))
    }
}

/// Rejects a result type with more axes than a tensor may have.
pub(crate) fn check_rank(ty: &Type) -> Result<(), OpError> {
    if ty.largest_rank() <= MAX_RANK {
        return Ok(());
    }
    Err(OpError::new(format!(
        "the result would have more than {MAX_RANK} axes, the maximum for a tensor"
    ))
    .help("a list of dimensions or axes has one element for each axis"))
}

/// `axis` counted from the front.
pub(crate) fn resolve_axis(axis: i64, rank: usize) -> Result<usize, OpError> {
    let signed = rank as i64;
    let resolved = if axis < 0 { axis + signed } else { axis };
    if (0..signed).contains(&resolved) {
        return Ok(resolved as usize);
    }
    Err(OpError::new(if rank == 0 {
        format!("axis {axis} is out of range: a scalar has no axes")
    } else {
        format!(
            "axis {axis} is out of range for rank {rank}: it must be in {}..={}",
            -signed,
            signed - 1
        )
    }))
}
