//! Results of functions over arrays, with the rows that failed.

use std::borrow::Cow;
use std::sync::Arc;

use arrow_array::{Array, ArrayRef, ArrowPrimitiveType, PrimitiveArray};
use arrow_buffer::BooleanBuffer;

use crate::kernels::cell::{Failure, FailureKind};
use crate::options::{OnFailure, Options, Overflow};
use crate::types::Type;

/// What a function knows about its call.
pub(crate) struct Context<'a> {
    /// The types of the arguments.
    pub(crate) args: &'a [Type],
    /// The type of the result.
    pub(crate) result: Type,
    /// The number of rows.
    pub(crate) rows: usize,
    /// The number of the first row since evaluation began.
    pub(crate) first_row: u64,
    /// The choices of the caller.
    pub(crate) options: &'a Options,
}

/// A result, and the rows that have none.
pub(crate) struct Column {
    /// The values; arbitrary in rows that failed.
    pub(crate) array: ArrayRef,
    /// Rows that stop evaluation if they are selected.
    pub(crate) failed: Option<BooleanBuffer>,
    /// Rows that are null though the arguments are not.
    pub(crate) nulled: Option<BooleanBuffer>,
    /// The reason of the first row in `failed`.
    pub(crate) reason: Option<Cow<'static, str>>,
}

impl From<ArrayRef> for Column {
    fn from(array: ArrayRef) -> Self {
        Column {
            array,
            failed: None,
            nulled: None,
            reason: None,
        }
    }
}

impl<T: ArrowPrimitiveType> From<PrimitiveArray<T>> for Column {
    fn from(array: PrimitiveArray<T>) -> Self {
        let array: ArrayRef = Arc::new(array);
        array.into()
    }
}

impl Column {
    /// The result, where these rows fail for this reason.
    pub(crate) fn failing(self, context: &Context<'_>, rows: BooleanBuffer, failure: Failure) -> Column {
        if rows.count_set_bits() == 0 {
            return self;
        }
        let stops = match failure.kind {
            FailureKind::Overflow => match context.options.overflow {
                Overflow::Wrap => return self,
                Overflow::Null => false,
                Overflow::Error => true,
            },
            FailureKind::DivisionByZero => context.options.division_by_zero == OnFailure::Error,
            FailureKind::Invalid => context.options.invalid == OnFailure::Error,
        };
        let join = |before: Option<BooleanBuffer>| match before {
            Some(before) => Some(&before | &rows),
            None => Some(rows.clone()),
        };
        match stops {
            true => Column {
                failed: join(self.failed),
                reason: self.reason.or(Some(failure.text)),
                ..self
            },
            false => Column {
                nulled: join(self.nulled),
                ..self
            },
        }
    }
}

/// The values of an array whose type is known.
pub(crate) fn values<T: ArrowPrimitiveType>(array: &ArrayRef) -> &[T::Native] {
    match array.as_any().downcast_ref::<PrimitiveArray<T>>() {
        Some(array) => array.values(),
        // Inference gave the argument another type: a wrong row of the table.
        None => unreachable!("{:?} instead of {:?}", array.data_type(), T::DATA_TYPE),
    }
}

/// One value computed from each value.
pub(crate) fn map<A: ArrowPrimitiveType, R: ArrowPrimitiveType>(
    a: &ArrayRef,
    f: impl Fn(A::Native) -> R::Native,
) -> PrimitiveArray<R> {
    let out: Vec<R::Native> = values::<A>(a).iter().map(|&a| f(a)).collect();
    PrimitiveArray::new(out.into(), None)
}

/// One value computed from each pair of values.
pub(crate) fn zip<A: ArrowPrimitiveType, B: ArrowPrimitiveType, R: ArrowPrimitiveType>(
    a: &ArrayRef,
    b: &ArrayRef,
    f: impl Fn(A::Native, B::Native) -> R::Native,
) -> PrimitiveArray<R> {
    let pairs = values::<A>(a).iter().zip(values::<B>(b));
    let out: Vec<R::Native> = pairs.map(|(&a, &b)| f(a, b)).collect();
    PrimitiveArray::new(out.into(), None)
}

/// The rows where `f` holds for the pair of values.
pub(crate) fn rows_where<A: ArrowPrimitiveType, B: ArrowPrimitiveType>(
    a: &ArrayRef,
    b: &ArrayRef,
    f: impl Fn(A::Native, B::Native) -> bool,
) -> BooleanBuffer {
    let (a, b) = (values::<A>(a), values::<B>(b));
    BooleanBuffer::collect_bool(a.len(), |row| f(a[row], b[row]))
}

/// Runs a body for the Arrow type of a primitive type.
macro_rules! with_primitive {
    ($ty:expr, $T:ident => $body:expr) => {
        crate::kernels::column::with_primitive!(@ $ty, $T => $body,
            Int8 Int8Type, Int16 Int16Type, Int32 Int32Type, Int64 Int64Type,
            UInt8 UInt8Type, UInt16 UInt16Type, UInt32 UInt32Type, UInt64 UInt64Type,
            Float32 Float32Type, Float64 Float64Type, Date32 Date32Type, Date64 Date64Type,
            TimeSecond Time32SecondType, TimeMillisecond Time32MillisecondType,
            TimeMicrosecond Time64MicrosecondType, TimeNanosecond Time64NanosecondType,
            TimestampSecond TimestampSecondType, TimestampMillisecond TimestampMillisecondType,
            TimestampMicrosecond TimestampMicrosecondType, TimestampNanosecond TimestampNanosecondType)
    };
    (@ $ty:expr, $T:ident => $body:expr, $($variant:ident $arrow:ident),*) => {
        match $ty {
            $(crate::types::Type::$variant => {
                type $T = arrow_array::types::$arrow;
                Some($body)
            })*
            _ => None,
        }
    };
}

/// Runs a body for the Arrow type of a number.
macro_rules! with_number {
    ($ty:expr, $T:ident => $body:expr) => {
        crate::kernels::column::with_primitive!(@ $ty, $T => $body,
            Int8 Int8Type, Int16 Int16Type, Int32 Int32Type, Int64 Int64Type,
            UInt8 UInt8Type, UInt16 UInt16Type, UInt32 UInt32Type, UInt64 UInt64Type,
            Float32 Float32Type, Float64 Float64Type)
    };
}

/// Runs a body for the Arrow type of an integer.
macro_rules! with_integer {
    ($ty:expr, $T:ident => $body:expr) => {
        crate::kernels::column::with_primitive!(@ $ty, $T => $body,
            Int8 Int8Type, Int16 Int16Type, Int32 Int32Type, Int64 Int64Type,
            UInt8 UInt8Type, UInt16 UInt16Type, UInt32 UInt32Type, UInt64 UInt64Type)
    };
}

pub(crate) use {with_integer, with_number, with_primitive};

/// A function that has no case for a type that its signatures accept: a wrong row of the table.
pub(crate) fn no_case(context: &Context<'_>) -> ! {
    unreachable!("no case for {:?} -> {}", context.args, context.result)
}
