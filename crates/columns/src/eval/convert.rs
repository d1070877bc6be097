//! Conversions among the numbers that loops exist for.

use pulp::Arch;

use super::lane::Number;
use super::loops;

/// Conversion of numbers: floats to integers by rounding, halves away from zero.
pub(super) fn convert<A: Number + IntoNumber, B: Number + FromNumber>(arch: Arch, out: &mut [B], a: &[A]) {
    loops::map(
        arch,
        out,
        a,
        #[inline(always)]
        |a| B::from_number(a.into_number()),
    );
}

/// A number on the way from one type to another.
#[derive(Clone, Copy)]
pub(super) enum Wide {
    Int(i64),
    Single(f32),
    Double(f64),
}

pub(super) trait IntoNumber {
    fn into_number(self) -> Wide;
}

pub(super) trait FromNumber {
    fn from_number(wide: Wide) -> Self;
}

macro_rules! conversions {
    ($($ty:ident $variant:ident, $float:ident $round:expr;)*) => {$(
        impl IntoNumber for $ty {
            #[inline(always)]
            fn into_number(self) -> Wide {
                Wide::$variant(self.into())
            }
        }

        impl FromNumber for $ty {
            #[inline(always)]
            fn from_number(wide: Wide) -> Self {
                let round: fn(f64) -> f64 = $round;
                match wide {
                    Wide::Int(value) => value as $ty,
                    Wide::Single(value) => round(value.into()) as $ty,
                    Wide::Double(value) => round(value) as $ty,
                }
            }
        }
    )*};
}
conversions!(
    i32 Int, f64 f64::round;
    i64 Int, f64 f64::round;
    f32 Single, f64 |value| value;
    f64 Double, f64 |value| value;
);
