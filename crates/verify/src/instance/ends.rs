//! The ends of floating-point types.

use tautomer_tensor::DType;

/// The ends of an element type, of either sign: its least numbers, NaN, an infinity, and numbers of which a small
/// multiple is one.
pub(crate) fn ends(dtype: DType) -> Vec<f64> {
    let (least, most, digits) = range(dtype);
    let power = |e: i32| 2f64.powi(e);
    let unit = power(-digits);
    let least = power(least) * unit;
    let positive = [
        3.0 * least,
        power(most) * (2.0 - unit),
        least,
        power(most) * 1.75,
        power(most) * 0.75,
        power(most) * 0.375,
        5.0 * least,
        f64::INFINITY,
    ];
    let mut out: Vec<f64> = positive.into_iter().flat_map(|x| [x, -x]).collect();
    out.push(f64::NAN);
    out
}

/// The exponents of the least normal and of the largest number of an element type, and the digits of its mantissa.
pub(crate) const fn range(dtype: DType) -> (i32, i32, i32) {
    match dtype {
        DType::F16 => (-14, 15, 10),
        DType::BF16 => (-126, 127, 7),
        DType::F64 => (-1022, 1023, 52),
        _ => (-126, 127, 23),
    }
}
