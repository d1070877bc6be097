use crate::check::{canonical, infer, table};

#[test]
fn types_are_those_of_the_operand() {
    table(
        infer,
        &[
            ("sigmoid", "", &["f32[n, 3]"], "f32[n, 3]"),
            ("gelu", "approximate=tanh", &["f16[..]"], "f16[..]"),
            ("mish", "", &["i32"], "`x` must be a floating-point number, but is i32"),
            ("leaky_relu", "alpha=2", &["f32"], "f32"),
            ("prelu", "", &["f32[n, 3, 4]", "f32[3, 1]"], "f32[n, 3, 4]"),
            (
                "prelu",
                "",
                &["f32[3]", "f32[2, 3]"],
                "`slope` must broadcast to the shape of `x`",
            ),
            (
                "prelu",
                "",
                &["f32[1, 3]", "f32[2, 3]"],
                "`slope` must broadcast to the shape of `x`",
            ),
            (
                "gelu",
                "approximate=fast",
                &["f32"],
                "attribute `approximate` takes one of \"none\", \"tanh\", not \"fast\"",
            ),
        ],
    );
    table(canonical, &[("leaky_relu", "", &["f32"], "alpha=0.01")]);
}
