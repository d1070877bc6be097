//! Maxima and minima within each other.

use super::{are_not_proved, are_proved};

#[test]
fn nested_maxima_and_minima_are_compared() {
    are_proved(&[
        "r(x: f32[..], a: f32[..], b: f32[..]) { min(max(min(max(x, a), b), a), b) => min(max(x, a), b) where a.shape == x.shape, b.shape == x.shape numerics real }",
        "r(x, y, z) { max(min(x, y), min(x, z)) => min(x, max(y, z)) numerics real }",
        "r(x, y, z) { max(max(min(x, y), min(y, z)), min(x, z)) => min(min(max(x, y), max(y, z)), max(x, z)) where x.shape == y.shape, y.shape == z.shape numerics real }",
        "r(x: f32[..]) { clip(clip(x) {min = m, max = n}) {min = m, max = n} => clip(x) {min = m, max = n} where m != none, n != none numerics bitwise }",
        "r(x: f32[..], y: f32[..]) { exp(max(x, min(x, y))) => exp(x) where x.shape == y.shape numerics real }",
    ]);
    are_not_proved(&[
        "r(x, y, z) { max(min(x, y), z) => min(x, max(y, z)) where x.shape == y.shape, y.shape == z.shape numerics real }",
        "r(x, y, z) { max(min(x, y), min(y, z)) => min(min(max(x, y), max(y, z)), max(x, z)) where x.shape == y.shape, y.shape == z.shape numerics real }",
        // Where `y` is NaN, so is the source.
        "r(x: f32[..], y: f32[..]) { max(x, min(x, y)) => x where x.shape == y.shape numerics bitwise }",
        "r(x: f32[..]) { clip(clip(x) {min = m, max = n}) {min = m, max = n} => clip(x) {min = n, max = m} where m != none, n != none numerics real }",
    ]);
}
