//! A call as a kernel sees it: operands with values, attributes filled in, the type of the result.

use std::borrow::Cow;
use std::cell::{Cell, OnceCell};
use std::sync::Arc;

use super::arena::{Loans, Memory};
use super::buffers::Buffers;
use super::inferred::Inferred;
use super::kept::Kept;
use super::micro::Micro;
use super::operand::{Extents, Operand, Place};
use super::room::Room;
use super::words::words;
use super::{Done, Value};
use crate::Precision;
use smallvec::SmallVec;
use tautomer_op::{AttrValue, OpDef, OpError};
use tautomer_tensor::{DType, Dim, Element, Nd, Tensor, TensorType, Type};

/// A call with values, ready to be computed.
pub struct Call<'a> {
    /// The operator.
    pub def: &'static OpDef,
    /// The operands.
    pub operands: &'a [Operand<'a>],
    /// The number of threads the kernel may use.
    pub threads: usize,
    inferred: Arc<Inferred>,
    context: Context<'a>,
    loans: Loans<'a>,
    /// Elements of this type are seen as words.
    words: Cell<Option<DType>>,
    /// Operands in the memory of the run, copied to tensors for kernels that ask for tensors.
    copies: OnceCell<Vec<OnceCell<Tensor>>>,
}

/// The resources that a call may use in addition to its operands.
#[derive(Clone, Copy)]
pub struct Context<'a> {
    /// The number of threads; 1 is the calling thread alone.
    pub threads: usize,
    /// Data kept from earlier runs of the call.
    pub kept: Option<&'a Kept>,
    /// Memory for results.
    pub buffers: Option<&'a Buffers>,
    /// The memory of the run.
    pub memory: Option<Memory<'a>>,
    /// The places of the results in that memory.
    pub results: &'a [Option<&'a Place>],
    /// The numbers that products may be computed with.
    pub precision: Precision,
}

/// One thread, and nothing from earlier runs.
impl Default for Context<'_> {
    fn default() -> Self {
        Context {
            threads: 1,
            kept: None,
            buffers: None,
            memory: None,
            results: &[],
            precision: Precision::F32,
        }
    }
}

impl Context<'_> {
    /// Room for `n` elements, which have arbitrary values.
    pub(super) fn room<T: Element>(self, n: usize) -> Vec<T> {
        Scratch(self.buffers).room(n)
    }
}

/// Memory for what kernels compute on the way to a result.
#[derive(Clone, Copy)]
pub(super) struct Scratch<'a>(Option<&'a Buffers>);

impl Scratch<'_> {
    /// Room for `n` elements, which have arbitrary values.
    pub(super) fn room<T: Element>(self, n: usize) -> Vec<T> {
        match self.0 {
            Some(buffers) => buffers.take(n),
            None => vec![T::default(); n],
        }
    }

    /// Gives back room that is not part of a result.
    pub(super) fn give<T: Element>(self, room: Vec<T>) {
        if let Some(buffers) = self.0 {
            buffers.give(room);
        }
    }
}

impl<'a> Call<'a> {
    /// A call with the type of its result and complete attributes.
    ///
    /// # Errors
    /// If operands or attributes are invalid for the operator.
    pub fn new(
        def: &'static OpDef,
        operands: &'a [Operand<'a>],
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
            loans: Loans::new(context.memory, context.results),
            words: Cell::new(None),
            copies: OnceCell::new(),
        })
    }

    /// The result of `run`, for which the call shows elements of `dtype` as words: see `each_word`.
    pub(super) fn in_words(&self, dtype: DType, run: impl FnOnce() -> Done) -> Done {
        let before = self.words.replace(Some(dtype));
        let done = run();
        self.words.set(before);
        done
    }

    /// Takes back the loans of a kernel that declined.
    pub(super) fn reset(&self) {
        self.loans.reset();
    }

    /// The result of `make`, which may depend only on operand `i`; computed once if the operand is the same in every
    /// run.
    pub fn prepared<T: Send + Sync + 'static>(&self, i: usize, make: impl FnOnce() -> T) -> Arc<T> {
        match (self.context.kept, self.operand(i).tensor()) {
            (Some(kept), Some(operand)) => kept.prepared(i, operand, make),
            _ => Arc::new(make()),
        }
    }

    /// The result of `make`, which may depend only on the types of operands and the attributes; computed once as long
    /// as they do not change.
    pub(super) fn once<T: Send + Sync + 'static>(&self, make: impl Fn() -> T) -> Arc<T> {
        let made = self.inferred.made.get_or_init(|| Arc::new(make()));
        // Another kernel may have made something else.
        made.clone().downcast().unwrap_or_else(|_| Arc::new(make()))
    }

    /// Room for the `n` elements of the result, which have arbitrary values: where the plan of the run has it, if no
    /// operand is there.
    pub fn result_room<T: Element>(&self, n: usize) -> Room<'a, T> {
        self.result_room_of(0, n)
    }

    /// Room for the `n` elements of result `k`.
    pub fn result_room_of<T: Element>(&self, k: usize, n: usize) -> Room<'a, T> {
        let lent = self
            .loans
            .result(k, self.words.get(), self.operands.iter().copied())
            .filter(|room| room.len() == n);
        lent.unwrap_or_else(|| Room::from(self.room(n)))
    }

    /// Room for `n` elements of the result, with none in it.
    pub fn result_empty<T: Element>(&self, n: usize) -> Room<'a, T> {
        let lent = self
            .loans
            .result(0, self.words.get(), self.operands.iter().copied())
            .filter(|room| room.len() == n);
        let mut room = lent.unwrap_or_else(|| Room::from(self.empty(n)));
        room.clear();
        room
    }

    /// The elements of operand `i`, to be overwritten by the result, if the plan puts both in the same place and the
    /// kernel has not read the operand. Afterwards the operand cannot be read.
    pub fn in_place<T: Element>(&self, i: usize) -> Option<Room<'a, T>> {
        let others = self
            .operands
            .iter()
            .copied()
            .enumerate()
            .filter(|(k, _)| *k != i)
            .map(|(_, operand)| operand);
        self.loans.in_place(i, self.operand(i), others)
    }

    /// Room for `n` elements, which have arbitrary values.
    pub fn room<T: Element>(&self, n: usize) -> Vec<T> {
        self.scratch().room(n)
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

    /// Result `k` with `n` times `value`.
    pub fn filled<T: Element>(&self, k: usize, n: usize, value: T) -> Room<'a, T> {
        let mut room = self.result_room_of(k, n);
        room.fill(value);
        room
    }

    /// Gives back room that is not part of a result.
    pub fn give<T: Element>(&self, room: Vec<T>) {
        self.scratch().give(room);
    }

    /// The memory that the rooms of the call come from, for its threads.
    pub(super) fn scratch(&self) -> Scratch<'a> {
        Scratch(self.context.buffers)
    }

    /// True if operand `i` is the same in every run.
    pub fn is_fixed(&self, i: usize) -> bool {
        self.context.kept.is_some_and(|kept| kept.is_fixed(i))
    }

    /// The kernels for products of bfloat16, if such products are allowed, the machine has them, and operand `i` is the
    /// same in every run, so that it is rounded once.
    pub(super) fn bf16(&self, i: usize) -> Option<Micro> {
        if self.context.precision != Precision::Bf16 || !self.is_fixed(i) {
            return None;
        }
        Micro::of_bf16()
    }

    /// Says in which numbers the products of the call are computed.
    pub(super) fn set_precision(&self, precision: Precision) {
        if let Some(kept) = self.context.kept {
            kept.set_precision(precision);
        }
    }

    /// The attributes in declared order.
    pub fn attrs(&self) -> &[AttrValue] {
        &self.inferred.attrs
    }

    /// The type of the result.
    pub fn result(&self) -> &Type {
        &self.inferred.result
    }

    /// Operand `i` as it is given.
    pub fn operand(&self, i: usize) -> Operand<'a> {
        self.operands.get(i).copied().unwrap_or(Operand::Absent)
    }

    /// True if operand `i` is given.
    pub fn has(&self, i: usize) -> bool {
        self.operand(i).is_given()
    }

    /// The element type of operand `i`; `None` if it is missing.
    pub fn dtype(&self, i: usize) -> Option<DType> {
        self.operand(i).dtype()
    }

    /// Operand `i` as a tensor; copied if it is in the memory of the run.
    ///
    /// # Errors
    /// If it is missing.
    pub fn tensor(&self, i: usize) -> Result<&Tensor, OpError> {
        self.optional(i)
            .ok_or_else(|| OpError::new(format!("operand {i} is missing")))
    }

    /// Operand `i` as a tensor, or `None` if it is missing; copied if it is in the memory of the run.
    pub fn optional(&self, i: usize) -> Option<&Tensor> {
        let place = match self.operand(i) {
            Operand::Absent => return None,
            Operand::Tensor(tensor) => return Some(tensor),
            Operand::Placed(place) => place,
        };
        let copies = self
            .copies
            .get_or_init(|| self.operands.iter().map(|_| OnceCell::new()).collect());
        let copy = copies.get(i)?;
        if copy.get().is_none() {
            let value = self.loans.load(i, place)?;
            let _ = copy.set(value);
        }
        copy.get()
    }

    /// The shape of operand `i`; empty if it is missing.
    pub fn shape(&self, i: usize) -> &'a [usize] {
        self.operand(i).shape()
    }

    /// The elements of operand `i` in row-major order, if they are of type `T` or seen as words of it; copied only if
    /// they are stored differently.
    pub fn slice<T: Element>(&self, i: usize) -> Option<Cow<'a, [T]>> {
        match self.operand(i) {
            Operand::Absent => None,
            Operand::Tensor(tensor) if self.words.get() == Some(tensor.dtype()) => words(tensor),
            Operand::Tensor(tensor) => contiguous(tensor),
            Operand::Placed(place) => self.loans.read(i, self.words.get(), place).map(Cow::Borrowed),
        }
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
    pub fn out_shape(&self) -> Option<Extents> {
        extents(self.result().as_tensor()?)
    }

    /// The shape of each result, under the same conditions.
    pub fn out_shapes(&self) -> Option<Vec<Extents>> {
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
    pub fn ints(&self, name: &str) -> Option<SmallVec<[i64; 8]>> {
        match self.attr(name) {
            AttrValue::Ints(list) => list.iter().map(Dim::as_const).collect(),
            _ => None,
        }
    }

    /// The list attribute `name` of `n` nonnegative values, or `n` times `default` if it was omitted; `None` if it has
    /// another form.
    pub fn sizes(&self, name: &str, n: usize, default: usize) -> Option<Extents> {
        if self.attr(name).is_none() {
            return Some(SmallVec::from_elem(default, n));
        }
        let list: Extents = self
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
    pub fn axes(&self, name: &str, rank: usize) -> Option<Extents> {
        match self.attr(name) {
            AttrValue::None => Some((0..rank).collect()),
            _ => self.ints(name)?.into_iter().map(|a| front(a, rank)).collect(),
        }
    }
}

/// Larger results are left to the reference semantics, which reject them.
const MAX_ELEMENTS: usize = 1 << 30;

fn extents(ty: &TensorType) -> Option<Extents> {
    let extent = |d: &Dim| d.as_const().and_then(|d| usize::try_from(d).ok());
    let shape: Extents = ty.shape.as_ref()?.iter().map(extent).collect::<Option<_>>()?;
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
pub(super) fn contiguous<T: Element>(tensor: &Tensor) -> Option<Cow<'_, [T]>> {
    let array: &Nd<T> = T::array(tensor)?;
    Some(match array.as_slice() {
        Some(slice) => Cow::Borrowed(slice),
        None => Cow::Owned(array.iter().cloned().collect()),
    })
}

/// One result of that shape; the kernel guarantees the number of elements.
pub(super) fn done<'a, T: Element>(shape: &[usize], elements: impl Into<Room<'a, T>>) -> Done {
    Ok(Some(SmallVec::from_buf([value(shape, elements.into())?])))
}

/// A result of that shape.
///
/// # Errors
/// If the number of elements is another.
pub(super) fn value<T: Element>(shape: &[usize], elements: Room<'_, T>) -> Result<Value, OpError> {
    let n = elements.len();
    let fills = || OpError::new(format!("{n} elements do not fill the shape {shape:?}"));
    let vector = match elements.into_parts() {
        Ok(lent) => {
            let (place, index) = lent.place();
            if place.shape[..] == *shape && n == shape.iter().product::<usize>() {
                return Ok(Value::Placed(index));
            }
            lent.to_vec()
        }
        Err(vector) => vector,
    };
    Tensor::new(shape, vector).map(Value::Tensor).ok_or_else(fills)
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
