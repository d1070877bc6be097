//! Where results are written.

use arrow_buffer::bit_util;

use tautomer_diag::Diagnostic;

use crate::types::Type;

macro_rules! target_values {
    ($($variant:ident $native:ident $($type:ident)|+),*) => {
        /// A caller's buffer for the values of a result, at least as long as the batch. Dates, times and timestamps are
        /// integers.
        #[derive(Debug)]
        pub enum TargetValues<'a> {
            /// Booleans, eight in a byte, the first one in the lowest bit.
            Bits(&'a mut [u8]),
            $(
                #[doc = concat!("Values of `", stringify!($native), "`.")]
                $variant(&'a mut [$native]),
            )*
        }

        impl<'a> TargetValues<'a> {
            /// The same buffer, for a shorter time.
            pub(super) fn reborrow(&mut self) -> TargetValues<'_> {
                match self {
                    TargetValues::Bits(bytes) => TargetValues::Bits(bytes),
                    $(TargetValues::$variant(values) => TargetValues::$variant(values),)*
                }
            }

            /// Some rows of numbers, for a loop.
            pub(super) fn numbers(&mut self, start: usize, rows: usize) -> Option<tautomer_loops::Sink<'_>> {
                match self {
                    TargetValues::Bits(_) => None,
                    $(TargetValues::$variant(values) => {
                        Some(tautomer_loops::Sink::$variant(&mut values[start..start + rows]))
                    })*
                }
            }

            /// True if values of a type fit.
            fn takes(&self, ty: Type) -> bool {
                match self {
                    TargetValues::Bits(_) => ty == Type::Bool,
                    $(TargetValues::$variant(_) => matches!(ty, $(Type::$type)|+),)*
                }
            }

            /// The number of rows that fit.
            fn rows(&self) -> usize {
                match self {
                    TargetValues::Bits(bytes) => bytes.len().saturating_mul(8),
                    $(TargetValues::$variant(values) => values.len(),)*
                }
            }

            /// Copies values from the little-endian bytes of an array's buffer.
            pub(super) fn copy(&mut self, start: usize, array: &arrow_array::ArrayRef) {
                match self {
                    TargetValues::Bits(_) => unreachable!("booleans are written as words"),
                    $(TargetValues::$variant(out) => {
                        let data = array.to_data();
                        let values = data.buffer::<$native>(0);
                        out[start..start + array.len()].copy_from_slice(&values[..array.len()]);
                    })*
                }
            }
        }
    };
}
target_values!(
    I8 i8 Int8,
    I16 i16 Int16,
    I32 i32 Int32 | Date32 | TimeSecond | TimeMillisecond,
    I64 i64 Int64 | Date64 | TimeMicrosecond | TimeNanosecond | TimestampSecond | TimestampMillisecond
        | TimestampMicrosecond | TimestampNanosecond,
    U8 u8 UInt8,
    U16 u16 UInt16,
    U32 u32 UInt32,
    U64 u64 UInt64,
    F32 f32 Float32,
    F64 f64 Float64
);

/// A caller's buffers for one result.
///
/// ```
/// use std::sync::Arc;
/// use arrow_array::{Float64Array, RecordBatch};
/// use tautomer_columns::{Expressions, Projector, Target, TargetValues, schema};
///
/// let schema = schema("x: f64").unwrap();
/// let projector = Projector::make(&[Expressions::parse(&schema, "x * 2").unwrap()]).unwrap();
/// let batch = RecordBatch::try_new(schema, vec![Arc::new(Float64Array::from(vec![Some(1.5), None]))]).unwrap();
/// let (mut values, mut validity) = ([0.0; 2], [0u8; 1]);
/// let target = Target { values: TargetValues::F64(&mut values), validity: Some(&mut validity) };
/// projector.evaluate_into(&batch, &mut [target]).unwrap();
/// assert_eq!((values[0], validity[0]), (3.0, 0b01));
/// ```
#[derive(Debug)]
pub struct Target<'a> {
    /// The values; arbitrary where the result is null.
    pub values: TargetValues<'a>,
    /// A bit for each row, one where it is not null. Without it, a null is an error.
    pub validity: Option<&'a mut [u8]>,
}

impl Target<'_> {
    /// Checks that results of so many rows fit.
    pub(super) fn check(&self, at: usize, ty: Type, rows: usize) -> Result<(), Diagnostic> {
        let problem = |text: String| Err(Diagnostic::error("T0708", format!("the buffer of result {at} {text}")));
        if !self.values.takes(ty) {
            return problem(format!("is not one of {ty}"));
        }
        let validity = self
            .validity
            .as_ref()
            .map_or(usize::MAX, |bytes| bytes.len().saturating_mul(8));
        let have = self.values.rows().min(validity);
        if have < rows {
            return problem(format!("has {have} rows instead of {rows}"));
        }
        Ok(())
    }
}

/// Where the values of a result go, and which of its rows are null.
pub(super) struct Sink<'a> {
    pub(super) to: To<'a>,
    pub(super) validity: Validity<'a>,
}

impl Sink<'_> {
    /// Some rows of a buffer of numbers, for a loop.
    pub(super) fn numbers(&mut self, start: usize, rows: usize) -> Option<tautomer_loops::Sink<'_>> {
        match &mut self.to {
            To::Values(values) => values.numbers(start, rows),
            To::Arrays(_) | To::Nothing => None,
        }
    }
}

pub(super) enum To<'a> {
    Values(TargetValues<'a>),
    /// The tiles of a result of another type.
    Arrays(Vec<arrow_array::ArrayRef>),
    /// A column that is passed on.
    Nothing,
}

pub(super) enum Validity<'a> {
    Given(&'a mut [u8]),
    /// Made when the first null comes, for so many rows.
    Own(Option<Vec<u8>>, usize),
    Missing,
}

impl Validity<'_> {
    /// Writes the validity of a tile; no words mean that every row is valid. False if there is a null and no place for
    /// it.
    pub(super) fn write(&mut self, start: usize, rows: usize, valid: Option<&[u64]>) -> bool {
        match (self, valid) {
            (Validity::Missing, None) | (Validity::Own(None, _), None) => {}
            (Validity::Missing, Some(words)) => return (0..rows).all(|row| words[row / 64] >> (row % 64) & 1 == 1),
            (Validity::Given(bytes), None) => set_bits(bytes, start, rows),
            (Validity::Given(bytes), Some(words)) => write_bits(bytes, start, rows, words),
            (Validity::Own(Some(_), _), None) => {}
            (Validity::Own(own, all), Some(words)) => {
                let bytes = own.get_or_insert_with(|| vec![0xff; bit_util::ceil(*all, 8)]);
                write_bits(bytes, start, rows, words);
            }
        }
        true
    }
}

/// Writes bits from a row that a tile begins with.
pub(super) fn write_bits(bytes: &mut [u8], start: usize, rows: usize, words: &[u64]) {
    let bytes = &mut bytes[start / 8..(start + rows).div_ceil(8)];
    let (whole, rest) = bytes.as_chunks_mut::<8>();
    for (bytes, word) in whole.iter_mut().zip(words) {
        *bytes = word.to_le_bytes();
    }
    if !rest.is_empty() {
        rest.copy_from_slice(&words[whole.len()].to_le_bytes()[..rest.len()]);
    }
}

/// Sets bits from a row that a tile begins with.
fn set_bits(bytes: &mut [u8], start: usize, rows: usize) {
    bytes[start / 8..(start + rows).div_ceil(8)].fill(!0);
}
