use crate::check::{eval, infer, table};

#[test]
fn types_are_those_of_the_operand() {
    table(
        infer,
        &[
            ("neg", "", &["i32[n, 3]"], "i32[n, 3]"),
            ("neg", "", &["bool[2]"], "`x` must be a number, but is bool[2]"),
            ("exp", "", &["f16[..]"], "f16[..]"),
            (
                "exp",
                "",
                &["i32[2]"],
                "`x` must be a floating-point number, but is i32[2]",
            ),
            ("relu", "", &["i8[2]"], "i8[2]"),
            ("not", "", &["bool"], "bool"),
            ("not", "", &["i8"], "`x` must be a boolean, but is i8"),
            ("bitwise_not", "", &["f32"], "`x` must be an integer, but is f32"),
            ("is_nan", "", &["f32[n]"], "bool[n]"),
            ("is_inf", "detect_negative=0", &["f64[0]"], "bool[0]"),
        ],
    );
}

#[test]
fn values_are_the_mathematical_ones() {
    table(
        eval,
        &[
            ("neg", "", &["i8[2] -128 5"], "i8[2] -128 -5"),
            ("neg", "", &["u8 1"], "u8 255"),
            ("abs", "", &["f32[3] -1.5 0 NaN"], "f32[3] 1.5 0 NaN"),
            ("abs", "", &["i8[2] -128 -5"], "i8[2] -128 5"),
            ("sign", "", &["f32[4] -2 0 3 NaN"], "f32[4] -1 0 1 NaN"),
            ("sign", "", &["i64[2] -2 0"], "i64[2] -1 0"),
            ("reciprocal", "", &["f32[2] 4 0"], "f32[2] 0.25 inf"),
            ("exp", "", &["f32[2] 0 -inf"], "f32[2] 1 0"),
            ("log", "", &["f32[3] 1 0 -1"], "f32[3] 0 -inf NaN"),
            ("sqrt", "", &["f64[1] 2.25"], "f64[1] 1.5"),
            ("tanh", "", &["f32[2] 0 1000"], "f32[2] 0 1"),
            ("erf", "", &["f32[2] 0 10"], "f32[2] 0 1"),
            ("floor", "", &["f32[2] -1.5 1.5"], "f32[2] -2 1"),
            ("ceil", "", &["f32[2] -1.5 1.5"], "f32[2] -1 2"),
            ("round", "", &["f32[4] 0.5 1.5 2.5 -2.5"], "f32[4] 0 2 2 -2"),
            ("relu", "", &["f32[3] -1 2 NaN"], "f32[3] 0 2 NaN"),
            ("relu", "", &["i8[2] -1 2"], "i8[2] 0 2"),
            ("not", "", &["bool[2] 1 0"], "bool[2] 0 1"),
            ("bitwise_not", "", &["u8[2] 0 3"], "u8[2] 255 252"),
            ("is_nan", "", &["f32[2] NaN 1"], "bool[2] 1 0"),
            ("is_inf", "", &["f32[3] inf -inf 1"], "bool[3] 1 1 0"),
            ("is_inf", "detect_negative=false", &["f32[2] inf -inf"], "bool[2] 1 0"),
            ("exp", "", &["f32[0]"], "f32[0]"),
        ],
    );
}
