//! Numbers that a rule only compares, in every order.

use std::cmp::Ordering;

use super::super::expr::{Expr, Fun};
use super::super::order::{Between, order};
use super::{are_not_proved, are_proved};

#[test]
fn numbers_that_are_only_compared_stand_for_all() {
    are_proved(&[
        "r(x) { clip(relu(x)) {min = a, max = b} => clip(x) {min = [m for m in [a, 0.0] if m != none and m >= 0][0], max = b} numerics real }",
        "r(x, c: const, d: const) { max(min(x, c), d) => clip(x) {min = value(d), max = value(c)} where x.dtype in [f16, bf16, f32, f64], value(d) <= value(c) numerics real }",
        "r(x, c: const, d: const) { min(max(x, d), c) => clip(x) {min = value(d), max = value(c)} where x.dtype in [f16, bf16, f32, f64], value(d) <= value(c) numerics real }",
        "r(x, c: const) { max(x, x * c) => leaky_relu(x) {alpha = value(c)} where value(c) > 0, value(c) < 1 numerics real }",
        "r(x, c: const, d: const) { for f in greater greater_or_equal: (f(x, c) and f(x, d)) | (f(x, d) and f(x, c)) => f(x, c) where value(c) >= value(d) numerics bitwise }",
        "r(x, c: const) { x / c => x * reciprocal(c) where x.dtype in [f32, f64], value(c) in [2, 4, 0.5] numerics bitwise }",
        "r(x) { clip(clip(x) {min = a, max = b}) {min = c, max = d} => clip(x) { min = ([m for m in [a, c] if m != none and all(m >= o for o in [a, c] if o != none)] ++ [none])[0], max = ([m for m in [b, d] if m != none and all(m <= o for o in [b, d] if o != none)] ++ [none])[0] } where b == none or c == none or c <= b numerics real }",
        "r(x) { relu(clip(x) {min = a, max = b}) => clip(x) {min = [m for m in [a, 0.0] if m != none and m >= 0][0], max = b} where b == none or b >= 0 numerics real }",
        "r(x: i32[..]) { clip(clip(x) {min = a}) {min = 5} => clip(x) {min = 5} where a <= 5 or (a > 1000.25 and a < 1000.75) numerics bitwise }",
        "r(x: f32[..]) { relu(clip(x) {min = a}) => relu(x) where not (a > 0), a <= 3 numerics bitwise }",
        "r(x) { clip(x) {min = a, max = b} => x where a == none or (x.dtype == f32 and a < -3.4028234e38) or (x.dtype == f16 and a <= -65504), b == none or (x.dtype == f32 and b > 3.4028234e38) or (x.dtype == f16 and b >= 65504) numerics real }",
        "r(x) { clip(x) {min = 0, max = b} => relu(x) where (x.dtype == f32 and b > 3.4028234e38) or (x.dtype == f16 and b >= 65504) numerics real }",
    ]);
}

/// Wrong at some numbers alone, which instances seldom have, or at numbers that are not only compared.
#[test]
fn numbers_in_a_wrong_order_are_not_left_out() {
    are_not_proved(&[
        // At a number that only the condition names.
        "r(x: f32[..], c: const, d: const) { x > c and x > d => x > c where value(c) >= value(d) or value(c) == 777.25 numerics bitwise }",
        "r(x: f32[..], c: const, d: const) { x > c and x > d => x > d where value(c) >= value(d), value(c) <= value(d) or value(c) > 1e9 numerics bitwise }",
        // Beyond a number.
        "r(x: f32[..], c: const) { max(x, x * c) => leaky_relu(x) {alpha = value(c)} where value(c) > 0, value(c) < 1 or value(c) > 1e7 numerics real }",
        "r(x: f32[..], c: const) { max(x, x * c) => leaky_relu(x) {alpha = value(c)} where value(c) > -1e-7, value(c) < 1 numerics real }",
        // Strict and not strict.
        "r(x: f32[..], c: const, d: const) { x >= c and x > d => x >= c where value(c) >= value(d) numerics bitwise }",
        // A bound that is chosen wrongly where both are above a number.
        "r(x: f32[..]) { clip(clip(x) {min = a}) {min = c} => clip(x) {min = [m for m in [a, c] if m >= a or m > 1e8][0]} where a != none, c != none, c <= a or c > 1e8 numerics real }",
        "r(x: f32[..]) { clip(relu(x)) {min = a} => clip(x) {min = [m for m in [a, 0.0] if m != none and m >= -1e-6][0]} numerics real }",
        // Of integers, far from zero, and beside a value of another type.
        "r(x: i32[..]) { clip(clip(x) {min = a}) {min = 5} => clip(x) {min = 5} where a <= 5 or (a > 1000.25 and a < 1010.75) numerics bitwise }",
        "r(x: f32[..], y: i32[..]) { cast(clip(clip(y) {min = a}) {min = 5}) {to = f32} * x => cast(clip(y) {min = 5}) {to = f32} * x where a <= 5 or (a > 1000.25 and a < 1010.75) numerics real }",
        "r(x: u8[..], c: const) { max(max(x, c), 5) => max(x, 5) where c.rank == 0, value(c) <= 5 or (value(c) > 150.25 and value(c) < 160.75) numerics bitwise }",
        // NaN is neither above nor below.
        "r(x: f32[..]) { relu(clip(x) {min = a}) => relu(x) where not (a > 0) numerics bitwise }",
        // The number of another constant.
        "r(x: f32[..], c: const, d: const) { max(min(x, c), d) => clip(x) {min = value(d), max = value(c)} where value(d) <= value(c) or value(d) > 1e8 numerics real }",
        // Arithmetic, and a choice in the target.
        "r(x: f32[..], c: const) { max(x, c) => x where value(c) * 0.5 == value(c) numerics bitwise }",
        "r(x: f32[..], c: const) { x * c => when value(c) > 1e6 { x } else { c * x } where value(c) > 0 numerics bitwise }",
    ]);
}

#[test]
fn constants_are_ordered_as_far_as_all_numbers_between_the_bounds_are() {
    let between =
        |low: f64, high: f64, place: f64| Expr::apply(Fun::Between(Between::of(low, high, place)), Vec::new());
    let times = |x: &Expr, n: i64| x.mul(&Expr::int(n));
    let (a, b) = (between(0.0, 2.0, 0.3), between(0.0, 2.0, 1.7));
    let (low, any) = (
        between(f64::NEG_INFINITY, 0.0, -3.0),
        between(f64::NEG_INFINITY, f64::INFINITY, 0.1),
    );
    let (zero, one, two) = (Expr::zero(), Expr::int(1), Expr::int(2));
    let infinite = Expr::float(f64::INFINITY);
    for (x, y, wanted) in [
        (&one, &two, Some(Ordering::Less)),
        (&a, &b, Some(Ordering::Less)),
        (&a, &a, Some(Ordering::Equal)),
        (&a, &zero, Some(Ordering::Greater)),
        (&a, &two, Some(Ordering::Less)),
        (&low, &b, Some(Ordering::Less)),
        (&any, &infinite, Some(Ordering::Less)),
        (&a, &times(&a, 3), Some(Ordering::Less)),
        (&low, &times(&low, 3), Some(Ordering::Greater)),
        (&times(&a, -1), &times(&b, -1), Some(Ordering::Greater)),
        (&times(&a, -1), &b, Some(Ordering::Less)),
        // Some numbers between the bounds are less, and some are greater.
        (&a, &one, None),
        (&any, &zero, None),
        (&any, &times(&any, 2), None),
        (&times(&a, 2), &b, None),
        (&any, &a, None),
        (&a, &a.add(&one), None),
        (&a, &Expr::float(f64::NAN), None),
    ] {
        assert_eq!(order(x, y), wanted, "{x} and {y}");
        assert_eq!(order(y, x), wanted.map(Ordering::reverse), "{y} and {x}");
    }
}
