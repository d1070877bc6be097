//! Elements of operands and results as the rows that a loop over elements reads and writes.
#![allow(unsafe_code, reason = "truth values are read and written as bytes")]

use std::borrow::Cow;
use std::ops::Range;

use half::slice::HalfFloatSliceExt;
use half::{bf16, f16};
use smallvec::SmallVec;
use tautomer_loops::{Kernel, Sink, Source};

use super::Value;
use super::arena::Loans;
use super::call::{Context, value};
use super::operand::Operand;
use super::room::Room;
use tautomer_tensor::{DType, Element};

/// A list with an entry for each operand or result of a loop; usual ones are not allocated.
pub(crate) type Each<T> = SmallVec<[T; 16]>;

/// The memory that a loop reads and writes.
pub(crate) struct Rows<'a> {
    given: Each<Given<'a>>,
    made: Each<Made<'a>>,
}

impl<'a> Rows<'a> {
    /// The elements of operands in row-major order, and room for results of `n` elements: at the place of a result if
    /// it has one with as many elements. `None` if an operand cannot be read.
    pub(crate) fn new(operands: &[Operand<'a>], dtypes: &[DType], n: usize, context: Context<'a>) -> Option<Rows<'a>> {
        let loans = Loans::new(context.memory, context.results);
        let given = operands.iter().enumerate();
        let given = given.map(|(i, operand)| Given::new(i, *operand, &loans));
        let given = given.collect::<Option<_>>()?;
        let made = dtypes.iter().enumerate();
        let made = made.map(|(k, &dtype)| Made::new(k, dtype, n, operands, &loans, context));
        Some(Rows {
            given,
            made: made.collect::<Option<_>>()?,
        })
    }

    /// The `n` elements of each result in `count` parts of about the same size.
    pub(crate) fn parts(&mut self, count: usize, n: usize) -> SmallVec<[Part<'_, 'a>; 4]> {
        let truths: Each<bool> = self.made.iter().map(|made| matches!(made, Made::Bool(_))).collect();
        let mut rest: Each<Sink<'_>> = self.made.iter_mut().map(|made| made.sink(n)).collect();
        let mut first = 0;
        let mut parts = SmallVec::new();
        for i in 1..=count {
            // Threads write whole cache lines.
            let end = if i == count { n } else { n / count * i / LINE * LINE };
            let (sinks, after) = rest.drain(..).map(|sink| sink.split_at(end - first)).unzip();
            rest = after;
            parts.push(Part {
                given: &self.given,
                sinks,
                truths: truths.clone(),
                range: first..end,
            });
            first = end;
        }
        parts
    }

    /// The results, which have this shape.
    pub(crate) fn finish(self, shape: &[usize]) -> Option<Each<Value>> {
        self.made.into_iter().map(|made| made.finish(shape)).collect()
    }
}

/// Elements of a cache line, at most.
const LINE: usize = 64;

/// Some elements of all results of a loop, which one thread computes.
pub(crate) struct Part<'p, 'a> {
    given: &'p [Given<'a>],
    sinks: Each<Sink<'p>>,
    /// Which of the results are truth values.
    truths: Each<bool>,
    /// The elements.
    pub(crate) range: Range<usize>,
}

impl Part<'_, '_> {
    /// Computes `rows` elements from `first` on. Those of each operand begin at its offset; a uniform one has one.
    pub(crate) fn run(&mut self, kernel: &Kernel, first: usize, rows: usize, offsets: &[usize], uniform: &[bool]) {
        let given = self.given.iter().zip(offsets).zip(uniform);
        let sources: Each<Source<'_>> = given
            .map(|((given, &offset), &uniform)| given.source(offset, if uniform { 1 } else { rows }))
            .collect();
        let skipped = first - self.range.start;
        let mut sinks: Each<Sink<'_>> = self.sinks.iter_mut().map(|sink| sink.from(skipped)).collect();
        kernel.run(rows, &sources, &mut sinks);
        for (sink, _) in sinks.iter_mut().zip(&self.truths).filter(|(_, is_truth)| **is_truth) {
            if let Sink::U8(bytes) = sink {
                bytes[..rows].iter_mut().for_each(|byte| *byte = u8::from(*byte != 0));
            }
        }
    }
}

/// The elements of an operand in row-major order.
fn elements<'a, T: Element + Copy>(i: usize, operand: Operand<'a>, loans: &Loans<'a>) -> Option<Cow<'a, [T]>> {
    match operand {
        Operand::Absent => None,
        Operand::Placed(place) => loans.read(i, None, place).map(Cow::Borrowed),
        Operand::Tensor(tensor) => {
            let array = T::array(tensor)?;
            Some(match array.as_slice() {
                Some(slice) => Cow::Borrowed(slice),
                None => Cow::Owned(array.iter().copied().collect()),
            })
        }
    }
}

fn bytes(truths: &[bool]) -> &[u8] {
    // SAFETY: a truth value is a byte, 0 or 1.
    unsafe { std::slice::from_raw_parts(truths.as_ptr().cast(), truths.len()) }
}

/// The bytes of truth values, which [`Part::run`] makes 0 or 1 again before anything reads them as such.
fn bytes_mut(truths: &mut [bool]) -> &mut [u8] {
    // SAFETY: a truth value is a byte; no other is left in them, by the only function that calls this.
    unsafe { std::slice::from_raw_parts_mut(truths.as_mut_ptr().cast(), truths.len()) }
}

fn same<T>(elements: &[T]) -> &[T] {
    elements
}

fn same_mut<T>(elements: &mut [T]) -> &mut [T] {
    elements
}

macro_rules! rows {
    ($($kind:ident $own:ty => $column:ident $read:expr, $write:expr;)*) => {
        /// The elements of an operand.
        enum Given<'a> {
            $($kind(Cow<'a, [$own]>),)*
        }

        impl<'a> Given<'a> {
            fn new(i: usize, operand: Operand<'a>, loans: &Loans<'a>) -> Option<Given<'a>> {
                match operand.dtype()? {
                    $(DType::$kind => elements(i, operand, loans).map(Given::$kind),)*
                    _ => None,
                }
            }

            fn source(&self, start: usize, rows: usize) -> Source<'_> {
                match self {
                    $(Given::$kind(all) => Source::$column($read(&all[start..start + rows])),)*
                }
            }
        }

        /// The elements of a result.
        enum Made<'a> {
            $($kind(Room<'a, $own>),)*
        }

        impl<'a> Made<'a> {
            fn new(
                k: usize,
                dtype: DType,
                n: usize,
                operands: &[Operand<'a>],
                loans: &Loans<'a>,
                context: Context<'a>,
            ) -> Option<Made<'a>> {
                match dtype {
                    $(DType::$kind => {
                        let lent = loans.result::<$own>(k, None, operands.iter().copied()).filter(|room| room.len() == n);
                        Some(Made::$kind(lent.unwrap_or_else(|| Room::from(context.room::<$own>(n)))))
                    })*
                    _ => None,
                }
            }

            fn sink(&mut self, rows: usize) -> Sink<'_> {
                match self {
                    $(Made::$kind(all) => Sink::$column($write(&mut all[..rows])),)*
                }
            }

            fn finish(self, shape: &[usize]) -> Option<Value> {
                match self {
                    $(Made::$kind(all) => value(shape, all).ok(),)*
                }
            }
        }
    };
}
rows! {
    Bool bool => U8 bytes, bytes_mut;
    I8 i8 => I8 same, same_mut;
    I16 i16 => I16 same, same_mut;
    I32 i32 => I32 same, same_mut;
    I64 i64 => I64 same, same_mut;
    U8 u8 => U8 same, same_mut;
    U16 u16 => U16 same, same_mut;
    U32 u32 => U32 same, same_mut;
    U64 u64 => U64 same, same_mut;
    F16 f16 => U16 <[f16]>::reinterpret_cast, <[f16]>::reinterpret_cast_mut;
    BF16 bf16 => U16 <[bf16]>::reinterpret_cast, <[bf16]>::reinterpret_cast_mut;
    F32 f32 => F32 same, same_mut;
    F64 f64 => F64 same, same_mut;
}
