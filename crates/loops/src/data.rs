//! What programs read and write.

use crate::program::Type;
use crate::scalar::Number;

macro_rules! data {
    ($($variant:ident $native:ident,)*) => {
        /// The rows of an input. A uniform input has one row.
        #[derive(Debug, Clone, Copy)]
        pub enum Source<'a> {
            $(#[doc = concat!("Numbers of `", stringify!($native), "`.")] $variant(&'a [$native]),)*
            /// Truth values, 64 in a word, the first one in its lowest bit.
            Bool(&'a [u64]),
        }

        /// The rows of a result.
        #[derive(Debug)]
        pub enum Sink<'a> {
            $(#[doc = concat!("Numbers of `", stringify!($native), "`.")] $variant(&'a mut [$native]),)*
            /// Truth values, 64 in a word. Those after the last row are arbitrary.
            Bool(&'a mut [u64]),
        }

        impl Source<'_> {
            pub(crate) fn ty(&self) -> Type {
                match self {
                    $(Source::$variant(_) => Type::$variant,)*
                    Source::Bool(_) => Type::Bool,
                }
            }

            /// The number of rows.
            pub(crate) fn rows(&self) -> usize {
                match self {
                    $(Source::$variant(values) => values.len(),)*
                    Source::Bool(words) => words.len().saturating_mul(64),
                }
            }

            /// The bits of the first number.
            pub(crate) fn first(&self) -> u64 {
                match self {
                    $(Source::$variant(values) => values[0].bits(),)*
                    Source::Bool(words) => words[0] & 1,
                }
            }

            /// Writes the bytes of rows, or the bits of truth values, which are within one word.
            #[cfg_attr(not(all(target_arch = "x86_64", target_os = "linux")), expect(dead_code, reason = "for machine code"))]
            pub(crate) fn copy_to(&self, start: usize, end: usize, block: &mut [u64]) {
                match self {
                    $(Source::$variant(values) => {
                        const PER_WORD: usize = 8 / size_of::<$native>();
                        for (word, numbers) in block.iter_mut().zip(values[start..end].chunks(PER_WORD)) {
                            *word = (0..).zip(numbers).fold(0, |word, (at, number)| {
                                word | number.bits() << (64 / PER_WORD * at)
                            });
                        }
                    })*
                    Source::Bool(words) => block[0] = words[start / 64] >> (start % 64),
                }
            }

            pub(crate) fn address(&self) -> *const u8 {
                match self {
                    $(Source::$variant(values) => values.as_ptr().cast(),)*
                    Source::Bool(words) => words.as_ptr().cast(),
                }
            }
        }

        impl<'a> Sink<'a> {
            /// The rows before `row`, and those from it on.
            ///
            /// # Panics
            ///
            /// If there are fewer rows, or the rows are truth values and the word of that row has earlier ones too.
            pub fn split_at(self, row: usize) -> (Sink<'a>, Sink<'a>) {
                match self {
                    $(Sink::$variant(values) => {
                        let (before, after) = values.split_at_mut(row);
                        (Sink::$variant(before), Sink::$variant(after))
                    })*
                    Sink::Bool(words) => {
                        assert!(row.is_multiple_of(64), "row {row} is inside a word");
                        let (before, after) = words.split_at_mut(row / 64);
                        (Sink::Bool(before), Sink::Bool(after))
                    }
                }
            }

            /// The rows from `row` on.
            ///
            /// # Panics
            ///
            /// As [`Sink::split_at`].
            pub fn from(&mut self, row: usize) -> Sink<'_> {
                let all = match self {
                    $(Sink::$variant(values) => Sink::$variant(values),)*
                    Sink::Bool(words) => Sink::Bool(words),
                };
                all.split_at(row).1
            }
        }

        impl Sink<'_> {
            pub(crate) fn ty(&self) -> Type {
                match self {
                    $(Sink::$variant(_) => Type::$variant,)*
                    Sink::Bool(_) => Type::Bool,
                }
            }

            pub(crate) fn rows(&self) -> usize {
                match self {
                    $(Sink::$variant(values) => values.len(),)*
                    Sink::Bool(words) => words.len().saturating_mul(64),
                }
            }

            /// Reads rows as [`Source::copy_to`] writes them.
            #[cfg_attr(not(all(target_arch = "x86_64", target_os = "linux")), expect(dead_code, reason = "for machine code"))]
            pub(crate) fn copy_from(&mut self, start: usize, end: usize, block: &[u64]) {
                match self {
                    $(Sink::$variant(values) => {
                        const PER_WORD: usize = 8 / size_of::<$native>();
                        for (word, numbers) in block.iter().zip(values[start..end].chunks_mut(PER_WORD)) {
                            for (at, number) in numbers.iter_mut().enumerate() {
                                *number = <$native as Number>::from_bits(word >> (64 / PER_WORD * at));
                            }
                        }
                    })*
                    Sink::Bool(words) => {
                        // Rows from `end` on are arbitrary.
                        let before = (1 << (start % 64)) - 1;
                        let word = &mut words[start / 64];
                        *word = *word & before | block[0] << (start % 64);
                    }
                }
            }

            pub(crate) fn address(&mut self) -> *mut u8 {
                match self {
                    $(Sink::$variant(values) => values.as_mut_ptr().cast(),)*
                    Sink::Bool(words) => words.as_mut_ptr().cast(),
                }
            }
        }

        $(impl Column for $native {
            fn source(values: &[Self]) -> Source<'_> {
                Source::$variant(values)
            }

            fn sink(values: &mut [Self]) -> Sink<'_> {
                Sink::$variant(values)
            }
        })*
    };
}
data!(F32 f32, F64 f64, I8 i8, I16 i16, I32 i32, I64 i64, U8 u8, U16 u16, U32 u32, U64 u64,);

/// Numbers that inputs and results have.
pub trait Column: Number {
    /// Them as an input.
    fn source(values: &[Self]) -> Source<'_>;
    /// Them as a result.
    fn sink(values: &mut [Self]) -> Sink<'_>;
}
