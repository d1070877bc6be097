//! What a kernel knows about a call: operands with values, attributes filled in, the type of the result.

use std::borrow::Cow;
use std::cell::Cell;
use std::sync::Arc;

use super::buffers::Buffers;
use super::elementwise::{larger, smaller};
use super::kept::Kept;
use crate::join::Finishing;
use tautomer_op::{AttrValue, Fact, Infer, OpDef, OpError};
use tautomer_tensor::{Element, Nd, Tensor, TensorType, Type};

/// A call with values, ready to be computed.
pub struct Call<'a> {
    /// The operator.
    pub def: &'static OpDef,
    /// The operands; `None` for a missing one.
    pub operands: &'a [Option<Tensor>],
    /// The number of threads the kernel may use.
    pub threads: usize,
    inferred: Arc<Inferred>,
    context: Context<'a>,
}

/// What a call may use beside its operands.
#[derive(Clone, Copy)]
pub struct Context<'a> {
    /// The number of threads; 1 is the calling thread alone.
    pub threads: usize,
    /// What earlier runs of the call have left.
    pub kept: Option<&'a Kept>,
    /// Memory for results.
    pub buffers: Option<&'a Buffers>,
    /// What the kernel may do to its result.
    pub finishing: Option<&'a Finishing>,
}

/// One thread, and nothing from earlier runs.
impl Default for Context<'_> {
    fn default() -> Self {
        Context {
            threads: 1,
            kept: None,
            buffers: None,
            finishing: None,
        }
    }
}

/// What a kernel does to each element of its result.
#[derive(Debug, Clone, Copy)]
pub(super) struct Finished<'a> {
    /// Added first, to the element at the same place.
    pub(super) add: Option<&'a [f32]>,
    /// Smaller sums become this; a NaN stays.
    pub(super) low: f32,
    /// Larger sums become this; a NaN stays.
    pub(super) high: f32,
}

impl Finished<'_> {
    /// Finishes the elements of a result from `first` on.
    pub(super) fn apply(&self, first: usize, elements: &mut [f32]) {
        if let Some(add) = self.add {
            elements.iter_mut().zip(&add[first..]).for_each(|(x, y)| *x += y);
        }
        if self.low > f32::NEG_INFINITY || self.high < f32::INFINITY {
            elements
                .iter_mut()
                .for_each(|x| *x = smaller(larger(*x, self.low), self.high));
        }
    }
}

/// What inference finds out about a call.
#[derive(Debug)]
pub(super) struct Inferred {
    /// The attributes in declared order; those given as operands are filled in.
    attrs: Vec<AttrValue>,
    /// The type of the result.
    result: Type,
}

impl Inferred {
    /// Fills in attributes and infers the type of the result.
    ///
    /// # Errors
    /// If operands or attributes are invalid for the operator.
    pub(super) fn new(
        def: &'static OpDef,
        operands: &[Option<Tensor>],
        attrs: &[AttrValue],
    ) -> Result<Inferred, OpError> {
        let types: Vec<Type> = operands
            .iter()
            .map(|o| o.as_ref().map_or(Type::Absent, |t| t.ty().into()))
            .collect();
        let facts: Vec<Fact<'_>> = types
            .iter()
            .zip(operands)
            .enumerate()
            .map(|(i, (ty, value))| Fact::with(ty, value.as_ref().filter(|_| is_attribute(def, i))))
            .collect();
        let fresh = Cell::new(0);
        let given = Infer {
            def,
            operands: &facts,
            attrs,
            fresh: &fresh,
        };
        let mut attrs: Vec<AttrValue> = def
            .attrs
            .iter()
            .map(|attr| match given.attr(attr.name) {
                AttrValue::None => attr.default_value().unwrap_or(AttrValue::None),
                value => value,
            })
            .collect();
        // Dimensions are now known, so attributes that depended on them can be resolved, such as pads that preserve the
        // dimension.
        if let Some(canonical) = def.canonical {
            let before = attrs.clone();
            canonical(
                &Infer {
                    def,
                    operands: &facts,
                    attrs: &before,
                    fresh: &fresh,
                },
                &mut attrs,
            )?;
        }
        let result = (def.infer)(&Infer {
            def,
            operands: &facts,
            attrs: &attrs,
            fresh: &fresh,
        })?;
        Ok(Inferred { attrs, result })
    }
}

/// True if the value of operand `i` is an attribute, so that types depend on it.
pub(super) fn is_attribute(def: &OpDef, i: usize) -> bool {
    def.operand(i).is_some_and(|o| o.attr.is_some())
}

impl<'a> Call<'a> {
    /// A call with the type of its result and complete attributes.
    ///
    /// # Errors
    /// If operands or attributes are invalid for the operator.
    pub fn new(
        def: &'static OpDef,
        operands: &'a [Option<Tensor>],
        attrs: &[AttrValue],
        context: Context<'a>,
    ) -> Result<Call<'a>, OpError> {
        let inferred = match context.kept {
            Some(kept) => kept.inferred(def, operands, attrs)?,
            None => Arc::new(Inferred::new(def, operands, attrs)?),
        };
        Ok(Call {
            def,
            operands,
            threads: context.threads,
            inferred,
            context,
        })
    }

    /// What `make` makes of operand `i` alone; made once if the operand is the same in every run.
    pub fn prepared<T: Send + Sync + 'static>(&self, i: usize, make: impl FnOnce() -> T) -> Arc<T> {
        match (self.context.kept, self.optional(i)) {
            (Some(kept), Some(operand)) => kept.prepared(i, operand, make),
            _ => Arc::new(make()),
        }
    }

    /// Room for `n` elements, which have arbitrary values.
    pub fn room<T: Element>(&self, n: usize) -> Vec<T> {
        match self.context.buffers {
            Some(buffers) => buffers.take(n),
            None => vec![T::default(); n],
        }
    }

    /// Room for `n` elements, with none in it.
    pub fn empty<T: Element>(&self, n: usize) -> Vec<T> {
        let mut room = match self.context.buffers {
            Some(buffers) => buffers.empty(n),
            None => Vec::with_capacity(n),
        };
        room.clear();
        room
    }

    /// `n` times `value`.
    pub fn filled<T: Element>(&self, n: usize, value: T) -> Vec<T> {
        let mut room = self.empty(n);
        room.resize(n, value);
        room
    }

    /// Gives back room that is not part of a result.
    pub fn give<T: Element>(&self, room: Vec<T>) {
        if let Some(buffers) = self.context.buffers {
            buffers.give(room);
        }
    }

    /// What the kernel is to do to its result of this shape before it returns it: what it adds to each element, and the
    /// limits of the sums. A kernel that asks for this does it.
    pub(super) fn finish(&self, shape: &[usize]) -> Finished<'a> {
        let none = Finished {
            add: None,
            low: f32::NEG_INFINITY,
            high: f32::INFINITY,
        };
        let Some(finishing) = self.context.finishing else {
            return none;
        };
        let add = match &finishing.add {
            None => None,
            Some(value) if value.shape() == shape => match f32::array(value).and_then(|array| array.as_slice()) {
                Some(elements) => Some(elements),
                None => return none,
            },
            Some(_) => return none,
        };
        finishing.done.set(true);
        Finished {
            add,
            low: finishing.low,
            high: finishing.high,
        }
    }

    /// True if operand `i` is the same in every run.
    pub fn is_fixed(&self, i: usize) -> bool {
        self.context.kept.is_some_and(|kept| kept.is_fixed(i))
    }

    /// The attributes in declared order.
    pub fn attrs(&self) -> &[AttrValue] {
        &self.inferred.attrs
    }

    /// The type of the result.
    pub fn result(&self) -> &Type {
        &self.inferred.result
    }

    /// Operand `i`.
    ///
    /// # Errors
    /// If it is missing.
    pub fn tensor(&self, i: usize) -> Result<&'a Tensor, OpError> {
        self.optional(i)
            .ok_or_else(|| OpError::new(format!("operand {i} is missing")))
    }

    /// Operand `i`, or `None` if it is missing.
    pub fn optional(&self, i: usize) -> Option<&'a Tensor> {
        self.operands.get(i)?.as_ref()
    }

    /// The shape of operand `i`; empty if it is missing.
    pub fn shape(&self, i: usize) -> &'a [usize] {
        self.optional(i).map_or(&[], Tensor::shape)
    }

    /// The elements of operand `i` in row-major order, if they are of type `T`; copied only if they are stored
    /// differently.
    pub fn slice<T: Element + Copy>(&self, i: usize) -> Option<Cow<'a, [T]>> {
        self.optional(i).and_then(contiguous)
    }

    /// The elements of operand `i` in row-major order, if they are `f32`.
    pub fn f32s(&self, i: usize) -> Option<Cow<'a, [f32]>> {
        self.slice(i)
    }

    /// The type of the result, if it is one tensor.
    pub fn result_type(&self) -> Option<&TensorType> {
        self.result().as_tensor()
    }

    /// The shape of the result, if it is one tensor, all dimensions are known, and it is not too large to create.
    pub fn out_shape(&self) -> Option<Vec<usize>> {
        extents(self.result().as_tensor()?)
    }

    /// The shape of each result, under the same conditions.
    pub fn out_shapes(&self) -> Option<Vec<Vec<usize>>> {
        match self.result() {
            Type::Tuple(items) => items.iter().map(|ty| extents(ty.as_tensor()?)).collect(),
            single => Some(vec![extents(single.as_tensor()?)?]),
        }
    }

    /// The attribute `name`.
    pub fn attr(&self, name: &str) -> &AttrValue {
        self.def.attr_in(self.attrs(), name)
    }

    /// The integer attribute `name`.
    pub fn int(&self, name: &str) -> Option<i64> {
        self.attr(name).as_int()
    }

    /// The list attribute `name`.
    pub fn ints(&self, name: &str) -> Option<Vec<i64>> {
        self.attr(name).as_ints()
    }

    /// The list attribute `name` of `n` nonnegative values, or `n` times `default` if it was omitted; `None` if it has
    /// another form.
    pub fn sizes(&self, name: &str, n: usize, default: usize) -> Option<Vec<usize>> {
        if self.attr(name).is_none() {
            return Some(vec![default; n]);
        }
        let list: Vec<usize> = self
            .ints(name)?
            .into_iter()
            .map(|v| usize::try_from(v).ok())
            .collect::<Option<_>>()?;
        (list.len() == n).then_some(list)
    }

    /// The boolean `name`, given as such or as an integer; false if omitted.
    pub fn flag(&self, name: &str) -> bool {
        match self.attr(name) {
            AttrValue::Bool(v) => *v,
            value => value.as_int().is_some_and(|v| v != 0),
        }
    }

    /// The floating-point attribute `name`.
    pub fn float(&self, name: &str) -> Option<f64> {
        self.attr(name).as_float()
    }

    /// The string `name`; empty if omitted.
    pub fn text(&self, name: &str) -> &str {
        self.attr(name).as_str().unwrap_or_default()
    }

    /// The axis attribute `name`, counted from the front of a tensor of `rank`.
    pub fn axis(&self, name: &str, rank: usize) -> Option<usize> {
        front(self.int(name)?, rank)
    }

    /// The axes attribute `name`, counted from the front; all axes if it was omitted.
    pub fn axes(&self, name: &str, rank: usize) -> Option<Vec<usize>> {
        match self.attr(name) {
            AttrValue::None => Some((0..rank).collect()),
            _ => self.ints(name)?.into_iter().map(|a| front(a, rank)).collect(),
        }
    }
}

/// Larger results are left to the reference semantics, which reject them.
const MAX_ELEMENTS: usize = 1 << 30;

fn extents(ty: &TensorType) -> Option<Vec<usize>> {
    let shape = ty.shape.as_ref()?.to_concrete()?;
    let size = shape.iter().try_fold(1usize, |n, &d| n.checked_mul(d));
    size.filter(|&n| n <= MAX_ELEMENTS).map(|_| shape)
}

/// `axis` counted from the front.
fn front(axis: i64, rank: usize) -> Option<usize> {
    let rank = i64::try_from(rank).ok()?;
    let axis = if axis < 0 { axis + rank } else { axis };
    usize::try_from(axis).ok().filter(|_| axis < rank)
}

/// The elements of a tensor in row-major order, if they are of type `T`; copied only if they are stored differently.
pub(super) fn contiguous<T: Element + Copy>(tensor: &Tensor) -> Option<Cow<'_, [T]>> {
    let array: &Nd<T> = T::array(tensor)?;
    Some(match array.as_slice() {
        Some(slice) => Cow::Borrowed(slice),
        None => Cow::Owned(array.iter().copied().collect()),
    })
}

/// One result of that shape; the kernel guarantees the number of elements.
pub(super) fn done<T: Element>(shape: &[usize], elements: Vec<T>) -> Result<Option<Vec<Tensor>>, OpError> {
    let n = elements.len();
    match Tensor::new(shape, elements) {
        Some(tensor) => Ok(Some(vec![tensor])),
        None => Err(OpError::new(format!("{n} elements do not fill the shape {shape:?}"))),
    }
}

/// Unwraps an option inside a kernel; on `None` the kernel declines the call.
macro_rules! or_decline {
    ($option:expr) => {
        match $option {
            Some(value) => value,
            None => return Ok(None),
        }
    };
}
pub(super) use or_decline;
