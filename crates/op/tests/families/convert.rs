use crate::check::{eval, infer, table};

#[test]
fn types_follow_the_target() {
    table(
        infer,
        &[
            ("identity", "", &["utf8[n]"], "utf8[n]"),
            ("cast", "to=i32", &["f32[n, 2]"], "i32[n, 2]"),
            ("cast", "to=bool", &["f32[..]"], "bool[..]"),
            ("cast", "to=date32", &["f32"], "conversion to date32 is not supported"),
            ("cast", "", &["f32"], "attribute `to` is missing"),
            ("cast_like", "", &["f32[2]", "i8[..]"], "i8[2]"),
            ("clip", "min=0", &["i32[n]"], "i32[n]"),
            ("clip", "", &["f32[n]", "f32", "f32"], "f32[n]"),
            (
                "clip",
                "min=0.5",
                &["i32[n]"],
                "`min` must be an integer for elements of type i32, but is 0.5",
            ),
            ("clip", "min=-1 max=300", &["u8[n]"], "u8[n]"),
            (
                "clip",
                "max=-1",
                &["u8[n]"],
                "`max` is -1, but elements of type u8 are 0 to 255",
            ),
            (
                "clip",
                "min=128",
                &["i8[n]"],
                "`min` is 128, but elements of type i8 are -128 to 127",
            ),
            (
                "clip",
                "",
                &["f32[n]", "i32"],
                "element types differ: `x` is f32[n], `min` is i32",
            ),
            ("dropout", "ratio=0.3", &["f32[n]"], "f32[n]"),
            (
                "dropout",
                "training_mode=true",
                &["f32[n]"],
                "dropout in training is not supported",
            ),
        ],
    );
}

#[test]
fn elements_are_converted() {
    table(
        eval,
        &[
            ("identity", "", &["utf8[2] a b"], "utf8[2] a b"),
            ("cast", "to=i32", &["f32[3] -1.9 1.9 0.5"], "i32[3] -1 1 0"),
            ("cast", "to=u8", &["i32[2] 257 -1"], "u8[2] 1 255"),
            ("cast", "to=bool", &["f32[3] 0 0.1 NaN"], "bool[3] 0 1 1"),
            ("cast", "to=f32", &["bool[2] 1 0"], "f32[2] 1 0"),
            ("cast", "to=f16", &["f32[1] 2049"], "f16[1] 2048"),
            ("cast", "to=f32", &["utf8[2] 1.5 -inf"], "f32[2] 1.5 -inf"),
            (
                "cast",
                "to=i64",
                &["utf8[1] 9007199254740993"],
                "i64[1] 9007199254740993",
            ),
            ("cast", "to=f32", &["utf8[1] x"], "\"x\" is not a number"),
            ("cast", "to=utf8", &["f32[1] 0.1"], "utf8[1] 0.1"),
            ("cast_like", "", &["f32[1] 2.5", "i8[0]"], "i8[1] 2"),
            ("clip", "min=-1 max=1", &["f32[4] -2 0.5 2 NaN"], "f32[4] -1 0.5 1 NaN"),
            ("clip", "max=1", &["i32[2] -5 5"], "i32[2] -5 1"),
            ("clip", "", &["i8[2] -5 5", "none", "i8 3"], "i8[2] -5 3"),
            ("clip", "", &["f32[1] 3"], "f32[1] 3"),
            ("clip", "min=3 max=1", &["f32[1] 2"], "f32[1] 1"),
            ("dropout", "", &["f32[2] 1 2", "f32 0.1"], "f32[2] 1 2"),
        ],
    );
}
