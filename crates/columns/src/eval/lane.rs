//! The representations of values in tiles: numbers of ten types, and bits.

use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, PrimitiveArray};
use arrow_buffer::{BooleanBuffer, Buffer as ArrowBuffer, NullBuffer, ScalarBuffer};

use super::TILE;
use super::target::TargetValues;
use crate::kernels::column::with_primitive;
use crate::types::Type;

/// One bit for each row of a tile. Bits after the last row are arbitrary.
pub(super) type Words = [u64; TILE / 64];

/// A representation that loops over tiles exist for; other types are computed as arrays.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Lane {
    I8,
    I16,
    I32,
    I64,
    U8,
    U16,
    U32,
    U64,
    F32,
    F64,
}

impl Lane {
    pub(super) fn of(ty: Type) -> Option<Lane> {
        Some(match ty {
            Type::Int8 => Lane::I8,
            Type::Int16 => Lane::I16,
            Type::Int32 | Type::Date32 | Type::TimeSecond | Type::TimeMillisecond => Lane::I32,
            Type::Int64
            | Type::Date64
            | Type::TimeMicrosecond
            | Type::TimeNanosecond
            | Type::TimestampSecond
            | Type::TimestampMillisecond
            | Type::TimestampMicrosecond
            | Type::TimestampNanosecond => Lane::I64,
            Type::UInt8 => Lane::U8,
            Type::UInt16 => Lane::U16,
            Type::UInt32 => Lane::U32,
            Type::UInt64 => Lane::U64,
            Type::Float32 => Lane::F32,
            Type::Float64 => Lane::F64,
            _ => return None,
        })
    }
}

/// Values of one lane; `Vec`s are a tile long, a column has all rows.
macro_rules! lanes {
    ($($lane:ident $native:ident),*) => {
        impl Lane {
            /// The type of its numbers in a loop.
            pub(super) fn in_loops(self) -> tautomer_loops::Type {
                match self {
                    $(Lane::$lane => tautomer_loops::Type::$lane,)*
                }
            }

            /// Numbers from their bytes.
            fn values(self, buffer: ArrowBuffer) -> Values {
                match self {
                    $(Lane::$lane => Values::$lane(buffer.into()),)*
                }
            }
        }

        /// A tile of values.
        #[derive(Debug, Clone)]
        pub(super) enum Tile {
            $($lane(Vec<$native>),)*
        }

        /// The values of a column.
        #[derive(Debug, Clone)]
        pub(super) enum Values {
            $($lane(ScalarBuffer<$native>),)*
        }

        /// One value.
        #[derive(Debug, Clone, Copy)]
        pub(super) enum Scalar {
            $($lane($native),)*
        }

        impl Tile {
            pub(super) fn new(lane: Lane) -> Tile {
                Tile::with_rows(lane, TILE)
            }

            /// Values for so many rows.
            pub(super) fn with_rows(lane: Lane, rows: usize) -> Tile {
                match lane {
                    $(Lane::$lane => Tile::$lane(vec![Default::default(); rows]),)*
                }
            }

            pub(super) fn target(&mut self) -> TargetValues<'_> {
                match self {
                    $(Tile::$lane(values) => TargetValues::$lane(values),)*
                }
            }

            /// The bytes of the first rows.
            fn bytes(&self, rows: usize) -> ArrowBuffer {
                match self {
                    $(Tile::$lane(values) => ArrowBuffer::from_slice_ref(&values[..rows]),)*
                }
            }

            /// The first rows.
            pub(super) fn source(&self, rows: usize) -> tautomer_loops::Source<'_> {
                match self {
                    $(Tile::$lane(values) => tautomer_loops::Source::$lane(&values[..rows]),)*
                }
            }

            /// The first rows, to be written.
            pub(super) fn sink(&mut self, rows: usize) -> tautomer_loops::Sink<'_> {
                match self {
                    $(Tile::$lane(values) => tautomer_loops::Sink::$lane(&mut values[..rows]),)*
                }
            }

            pub(super) fn into_buffer(self) -> ArrowBuffer {
                match self {
                    $(Tile::$lane(values) => ArrowBuffer::from_vec(values),)*
                }
            }
        }

        impl Scalar {
            /// The number as a constant of a loop.
            pub(super) fn constant(self, builder: &mut tautomer_loops::Builder) -> tautomer_loops::Value {
                match self {
                    $(Scalar::$lane(value) => builder.constant(value),)*
                }
            }
        }

        impl Values {
            /// Some rows.
            pub(super) fn source(&self, start: usize, rows: usize) -> tautomer_loops::Source<'_> {
                match self {
                    $(Values::$lane(values) => tautomer_loops::Source::$lane(&values[start..start + rows]),)*
                }
            }

            /// The rows from `start` into a tile, which is longer than what remains.
            pub(super) fn copy_tail(&self, start: usize, tile: &mut Tile) {
                match (self, tile) {
                    $((Values::$lane(values), Tile::$lane(tile)) => {
                        let rest = &values[start..];
                        tile[..rest.len()].copy_from_slice(rest);
                    })*
                    _ => unreachable!("a tile has the lane of its column"),
                }
            }
        }

        $(impl Number for $native {
            const LANE: Lane = Lane::$lane;

            fn tile(tile: &Tile) -> &[Self] {
                match tile {
                    Tile::$lane(values) => values,
                    _ => unreachable!("a value is read in its own lane"),
                }
            }

            fn tile_mut(tile: &mut Tile) -> &mut [Self] {
                match tile {
                    Tile::$lane(values) => values,
                    _ => unreachable!("a value is written in its own lane"),
                }
            }

            fn column(values: &Values) -> &[Self] {
                match values {
                    Values::$lane(values) => values,
                    _ => unreachable!("a column is read in its own lane"),
                }
            }

            fn scalar(scalar: Scalar) -> Self {
                match scalar {
                    Scalar::$lane(value) => value,
                    _ => unreachable!("a constant is read in its own lane"),
                }
            }

            fn into_scalar(self) -> Scalar {
                Scalar::$lane(self)
            }

            fn target<'t>(values: &'t mut TargetValues<'_>) -> &'t mut [Self] {
                match values {
                    TargetValues::$lane(values) => values,
                    _ => unreachable!("the buffers of results are checked first"),
                }
            }
        })*

        /// Runs a body for the number type of a lane.
        macro_rules! with_lane {
            ($value:expr, $N:ident => $body:expr) => {
                match $value {
                    $(crate::eval::lane::Lane::$lane => {
                        type $N = $native;
                        $body
                    })*
                }
            };
        }
    };
}
lanes!(I8 i8, I16 i16, I32 i32, I64 i64, U8 u8, U16 u16, U32 u32, U64 u64, F32 f32, F64 f64);

/// Numbers as integers in the same order, where NaN has a place too.
pub(crate) trait Sortable: Copy {
    type Key: Copy + PartialOrd;
    fn key(self) -> Self::Key;
}

macro_rules! sortable {
    ($($number:ident)*) => {
        $(impl Sortable for $number {
            type Key = $number;

            #[inline(always)]
            fn key(self) -> $number {
                self
            }
        })*
    };
    ($($number:ident as $key:ident shift $shift:literal)*) => {
        $(impl Sortable for $number {
            type Key = $key;

            #[inline(always)]
            fn key(self) -> $key {
                // The zeros are one value; then the bits of negative numbers, whose order is the reverse, are inverted.
                let bits = if self == 0.0 { 0 } else { self.to_bits().cast_signed() };
                bits ^ (bits >> $shift & $key::MAX)
            }
        })*
    };
}
sortable!(i8 i16 i32 i64 u8 u16 u32 u64);
sortable!(f32 as i32 shift 31 f64 as i64 shift 63);

#[expect(
    clippy::single_component_path_imports,
    reason = "a macro made by a macro has a path only so"
)]
pub(super) use with_lane;

/// A number of a lane.
pub(super) trait Number: Sortable + Copy + Default + Send + Sync + std::fmt::Debug + 'static {
    const LANE: Lane;
    fn tile(tile: &Tile) -> &[Self];
    fn tile_mut(tile: &mut Tile) -> &mut [Self];
    fn column(values: &Values) -> &[Self];
    fn scalar(scalar: Scalar) -> Self;
    fn into_scalar(self) -> Scalar;
    fn target<'t>(values: &'t mut TargetValues<'_>) -> &'t mut [Self];
}

/// The values of a primitive array; `None` for other arrays.
pub(super) fn values_of(ty: Type, array: &ArrayRef) -> Option<Values> {
    let lane = Lane::of(ty)?;
    let buffer = with_primitive!(ty, P => {
        array.as_primitive_opt::<P>().map(|array| array.values().inner().clone())
    })
    .flatten()?;
    Some(lane.values(buffer))
}

/// The only value of an array, and whether it is not null.
pub(super) fn scalar_of(ty: Type, array: &ArrayRef) -> Option<(Scalar, bool)> {
    let values = values_of(ty, array)?;
    let value = with_lane!(Lane::of(ty)?, N => N::column(&values).first()?.into_scalar());
    Some((value, array.is_valid(0)))
}

/// An array of the first rows of a tile.
pub(super) fn array_of(ty: Type, tile: &Tile, rows: usize, nulls: Option<NullBuffer>) -> ArrayRef {
    array_from(ty, tile.bytes(rows), nulls)
}

/// An array of a primitive type from its bytes.
pub(super) fn array_from(ty: Type, buffer: ArrowBuffer, nulls: Option<NullBuffer>) -> ArrayRef {
    with_primitive!(ty, P => {
        std::sync::Arc::new(PrimitiveArray::<P>::new(ScalarBuffer::from(buffer), nulls)) as ArrayRef
    })
    .unwrap_or_else(|| unreachable!("{ty} is a primitive type"))
}

/// The bits from `start` on, of so many rows; zeros follow.
pub(super) fn words(bits: &BooleanBuffer, start: usize, rows: usize) -> Words {
    let mut out = [0; TILE / 64];
    let part = bits.slice(start, rows);
    let chunks = part.bit_chunks();
    for (out, word) in out.iter_mut().zip(chunks.iter()) {
        *out = word;
    }
    if !rows.is_multiple_of(64) {
        out[rows / 64] = chunks.remainder_bits();
    }
    out
}

/// The first bits.
pub(super) fn bits(words: &Words, rows: usize) -> BooleanBuffer {
    BooleanBuffer::new(ArrowBuffer::from_slice_ref(words), 0, rows)
}

/// Words of bits that are computed from words of others.
pub(super) fn combined(a: &Words, b: &Words, f: impl Fn(u64, u64) -> u64) -> Words {
    std::array::from_fn(|at| f(a[at], b[at]))
}

/// The bits set in both, where no words mean that all are.
pub(super) fn both(a: Option<Words>, b: &Option<Words>) -> Option<Words> {
    match (a, b) {
        (Some(a), Some(b)) => Some(combined(&a, b, |a, b| a & b)),
        (a, b) => a.or(*b),
    }
}

/// The bits set in either, where no words mean that none are.
pub(super) fn either(a: Option<Words>, b: &Option<Words>) -> Option<Words> {
    match (a, b) {
        (Some(a), Some(b)) => Some(combined(&a, b, |a, b| a | b)),
        (a, b) => a.or(*b),
    }
}

/// The first bit that is set, before `rows`.
pub(super) fn first_set(words: &Words, rows: usize) -> Option<usize> {
    let word = words.iter().position(|&word| word != 0)?;
    let row = word * 64 + words[word].trailing_zeros() as usize;
    (row < rows).then_some(row)
}
