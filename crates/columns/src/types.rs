//! Types of columns, and sets of them.

use std::fmt;

use arrow_schema::{DataType, TimeUnit};

/// Declares the types: a row has the name of Arrow, the name in messages, and the Arrow type of results.
macro_rules! types {
    ($(#[$attribute:meta])* $($variant:ident $name:literal $arrow:expr;)*) => {
        $(#[$attribute])*
        pub enum Type {
            $($variant,)*
        }

        impl Type {
            /// Every type, in order.
            pub const ALL: [Type; [$($name),*].len()] = [$(Type::$variant),*];

            /// The name shown in messages.
            pub const fn name(self) -> &'static str {
                match self {
                    $(Type::$variant => $name,)*
                }
            }

            /// The Arrow type of results of this type.
            pub fn arrow(self) -> DataType {
                match self {
                    $(Type::$variant => $arrow,)*
                }
            }
        }
    };
}

types! {
    /// The type of an expression. Other Arrow types of columns are read as one of these: large and view strings as
    /// [`Type::Utf8`], half floats as [`Type::Float32`], dictionaries as the type of their values; a time zone is set
    /// aside.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
    #[repr(u8)]
    #[expect(missing_docs, reason = "the names are those of Arrow")]
    Bool "bool" DataType::Boolean;
    Int8 "i8" DataType::Int8;
    Int16 "i16" DataType::Int16;
    Int32 "i32" DataType::Int32;
    Int64 "i64" DataType::Int64;
    UInt8 "u8" DataType::UInt8;
    UInt16 "u16" DataType::UInt16;
    UInt32 "u32" DataType::UInt32;
    UInt64 "u64" DataType::UInt64;
    Float32 "f32" DataType::Float32;
    Float64 "f64" DataType::Float64;
    Utf8 "utf8" DataType::Utf8;
    Binary "binary" DataType::Binary;
    Date32 "date32" DataType::Date32;
    Date64 "date64" DataType::Date64;
    TimeSecond "time32[s]" DataType::Time32(TimeUnit::Second);
    TimeMillisecond "time32[ms]" DataType::Time32(TimeUnit::Millisecond);
    TimeMicrosecond "time64[us]" DataType::Time64(TimeUnit::Microsecond);
    TimeNanosecond "time64[ns]" DataType::Time64(TimeUnit::Nanosecond);
    TimestampSecond "timestamp[s]" DataType::Timestamp(TimeUnit::Second, None);
    TimestampMillisecond "timestamp[ms]" DataType::Timestamp(TimeUnit::Millisecond, None);
    TimestampMicrosecond "timestamp[us]" DataType::Timestamp(TimeUnit::Microsecond, None);
    TimestampNanosecond "timestamp[ns]" DataType::Timestamp(TimeUnit::Nanosecond, None);
}

use Type::*;

impl Type {
    /// The type that a column of an Arrow type is read as; `None` for types that expressions cannot use.
    ///
    /// ```
    /// use arrow_schema::DataType;
    /// use tautomer_columns::Type;
    ///
    /// assert_eq!(Type::of(&DataType::LargeUtf8), Some(Type::Utf8));
    /// assert_eq!(Type::of(&DataType::Decimal128(38, 0)), None);
    /// ```
    pub fn of(data_type: &DataType) -> Option<Type> {
        Some(match data_type {
            DataType::LargeUtf8 | DataType::Utf8View => Utf8,
            DataType::LargeBinary | DataType::BinaryView => Binary,
            DataType::Float16 => Float32,
            DataType::Dictionary(_, values) => return Type::of(values),
            DataType::Timestamp(unit, Some(_)) => return Type::of(&DataType::Timestamp(*unit, None)),
            other => return Type::ALL.into_iter().find(|ty| ty.arrow() == *other),
        })
    }

    /// True for integers.
    pub fn is_integer(self) -> bool {
        TypeSet::INTEGERS.has(self)
    }

    /// True for floats.
    pub fn is_float(self) -> bool {
        TypeSet::FLOATS.has(self)
    }

    /// The number of units in a day, for types that count time; days count themselves.
    pub(crate) fn units_per_day(self) -> Option<i64> {
        Some(match self {
            Date32 => 1,
            Date64 | TimeMillisecond | TimestampMillisecond => 86_400_000,
            TimeSecond | TimestampSecond => 86_400,
            TimeMicrosecond | TimestampMicrosecond => 86_400_000_000,
            TimeNanosecond | TimestampNanosecond => 86_400_000_000_000,
            _ => return None,
        })
    }

    /// The smallest and the largest value of an integer type.
    pub(crate) fn range(self) -> Option<(i128, i128)> {
        Some(match self {
            Int8 => (i8::MIN.into(), i8::MAX.into()),
            Int16 => (i16::MIN.into(), i16::MAX.into()),
            Int32 => (i32::MIN.into(), i32::MAX.into()),
            Int64 => (i64::MIN.into(), i64::MAX.into()),
            UInt8 => (0, u8::MAX.into()),
            UInt16 => (0, u16::MAX.into()),
            UInt32 => (0, u32::MAX.into()),
            UInt64 => (0, u64::MAX.into()),
            _ => return None,
        })
    }

    /// The type that both numbers are converted to, where promotion is allowed: the wider one, signed if either is, a
    /// float if either is.
    pub(crate) fn promoted(self, other: Type) -> Option<Type> {
        if self == other {
            return Some(self);
        }
        if !TypeSet::NUMBERS.has(self) || !TypeSet::NUMBERS.has(other) {
            return None;
        }
        if self.is_float() || other.is_float() {
            let exact = |ty| matches!(ty, Int8 | Int16 | UInt8 | UInt16 | Float32);
            return Some(if exact(self) && exact(other) { Float32 } else { Float64 });
        }
        let ((low, high), (other_low, other_high)) = (self.range()?, other.range()?);
        let (low, high) = (low.min(other_low), high.max(other_high));
        let fits = |ty: &Type| ty.range().is_some_and(|(from, to)| from <= low && high <= to);
        [Int8, UInt8, Int16, UInt16, Int32, UInt32, Int64, UInt64]
            .into_iter()
            .find(fits)
    }
}

impl fmt::Display for Type {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A set of types.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct TypeSet(u32);

impl TypeSet {
    /// No type.
    pub const NONE: TypeSet = TypeSet(0);
    /// Every type.
    pub const ALL: TypeSet = TypeSet((1 << Type::ALL.len()) - 1);
    /// Signed integers.
    pub const SIGNED: TypeSet = TypeSet::of(&[Int8, Int16, Int32, Int64]);
    /// Integers.
    pub const INTEGERS: TypeSet = TypeSet::of(&[Int8, Int16, Int32, Int64, UInt8, UInt16, UInt32, UInt64]);
    /// Floats.
    pub const FLOATS: TypeSet = TypeSet::of(&[Float32, Float64]);
    /// Integers and floats.
    pub const NUMBERS: TypeSet = TypeSet::INTEGERS.or(TypeSet::FLOATS);
    /// Strings and bytes.
    pub const TEXTS: TypeSet = TypeSet::of(&[Utf8, Binary]);
    /// Points in time: dates and timestamps.
    pub const INSTANTS: TypeSet = TypeSet::of(&[
        Date32,
        Date64,
        TimestampSecond,
        TimestampMillisecond,
        TimestampMicrosecond,
        TimestampNanosecond,
    ]);
    /// Times of a day.
    pub const TIMES: TypeSet = TypeSet::of(&[TimeSecond, TimeMillisecond, TimeMicrosecond, TimeNanosecond]);
    /// Timestamps.
    pub const TIMESTAMPS: TypeSet = TypeSet::of(&[
        TimestampSecond,
        TimestampMillisecond,
        TimestampMicrosecond,
        TimestampNanosecond,
    ]);

    /// The types of a list.
    pub const fn of(types: &[Type]) -> TypeSet {
        let (mut bits, mut i) = (0, 0);
        while i < types.len() {
            bits |= 1 << types[i] as u32;
            i += 1;
        }
        TypeSet(bits)
    }

    /// One type.
    pub const fn one(ty: Type) -> TypeSet {
        TypeSet(1 << ty as u32)
    }

    /// Types in either.
    pub const fn or(self, other: TypeSet) -> TypeSet {
        TypeSet(self.0 | other.0)
    }

    /// Types in both.
    pub const fn and(self, other: TypeSet) -> TypeSet {
        TypeSet(self.0 & other.0)
    }

    /// Types that `other` lacks.
    pub const fn without(self, other: TypeSet) -> TypeSet {
        TypeSet(self.0 & !other.0)
    }

    /// True if the type is in the set.
    pub const fn has(self, ty: Type) -> bool {
        self.0 & (1 << ty as u32) != 0
    }

    /// True for no type.
    pub const fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// The type, if there is exactly one.
    pub fn only(self) -> Option<Type> {
        (self.0.count_ones() == 1).then(|| Type::ALL[self.0.trailing_zeros() as usize])
    }

    /// The types, in order.
    pub fn iter(self) -> impl Iterator<Item = Type> {
        Type::ALL.into_iter().filter(move |&ty| self.has(ty))
    }
}

impl fmt::Debug for TypeSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.iter()).finish()
    }
}

impl fmt::Display for TypeSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(ty) = self.only() {
            return write!(f, "{ty}");
        }
        for (set, name) in [
            (TypeSet::ALL, "any type"),
            (TypeSet::NUMBERS, "any number"),
            (TypeSet::INTEGERS, "any integer"),
            (TypeSet::FLOATS, "f32 or f64"),
        ] {
            if *self == set {
                return f.write_str(name);
            }
        }
        let names: Vec<&str> = self.iter().map(Type::name).collect();
        f.write_str(&names.join(" | "))
    }
}
