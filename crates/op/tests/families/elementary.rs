use crate::check::{infer, table};

#[test]
fn types_are_those_of_the_operands() {
    table(
        infer,
        &[
            ("expm1", "", &["f16[n, 3]"], "f16[n, 3]"),
            ("log1p", "", &["i32"], "`x` must be a floating-point number, but is i32"),
            ("atan2", "", &["f32[n, 1]", "f32[3]"], "f32[n, 3]"),
            ("floor_divide", "", &["i64[2]", "i64"], "i64[2]"),
            (
                "floor_divide",
                "",
                &["bool", "bool"],
                "`a` must be a number, but is bool",
            ),
        ],
    );
}
