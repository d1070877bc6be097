use crate::check::{canonical, eval, infer, table};

#[test]
fn types_follow_the_attributes() {
    table(
        infer,
        &[
            ("shape", "", &["f32[n, 3]"], "i64[2]"),
            ("shape", "start=-1", &["f32[n, 3]"], "i64[1]"),
            ("shape", "start=3 end=1", &["f32[n, 3]"], "i64[0]"),
            ("shape", "", &["f32[..]"], "i64[?]"),
            ("size", "", &["f32[..]"], "i64"),
            ("constant_of_shape", "shape=[n,2]", &[], "f32[n, 2]"),
            ("constant_of_shape", "value=1", &["i64[3]"], "i64[?, ?, ?]"),
            (
                "constant_of_shape",
                "shape=[-1]",
                &[],
                "dimension -1 in `shape` is not valid",
            ),
            ("full", "shape=[2] value=1.5 dtype=f16", &[], "f16[2]"),
            ("zeros", "shape=[n]", &[], "f32[n]"),
            ("ones_like", "", &["i8[..]"], "i8[..]"),
            ("range", "", &["i64", "i64", "i64"], "i64[?]"),
            ("one_hot", "depth=4", &["i64[n]", "f32[2]"], "f32[n, 4]"),
            ("one_hot", "axis=0 depth=4", &["i64[n]", "f32[2]"], "f32[4, n]"),
            ("one_hot", "", &["i64", "f32[2]", "i64"], "f32[?]"),
            (
                "one_hot",
                "depth=4",
                &["i64[n]", "f32[3]"],
                "`values` must be the two values off and on, but is f32[3]",
            ),
            ("non_zero", "", &["f32[n, 3]"], "i64[2, ?]"),
            ("eye_like", "dtype=i32", &["f32[n, 3]"], "i32[n, 3]"),
            ("eye_like", "", &["f32[3]"], "`x` must be a matrix, but is f32[3]"),
            ("trilu", "", &["f32[n, 3]", "i64"], "f32[n, 3]"),
            ("trilu", "", &["f32[3]"], "`x` must have at least 2 axes, but is f32[3]"),
        ],
    );
    table(canonical, &[("shape", "start=-1", &["f32[n, 3]"], "start=1 end=2")]);
}

#[test]
fn elements_are_made() {
    let x = "f32[2, 3] 1 2 3 4 5 6";
    table(
        eval,
        &[
            ("shape", "", &[x], "i64[2] 2 3"),
            ("shape", "", &["f32 1"], "i64[0]"),
            ("size", "", &[x], "i64 6"),
            ("constant_of_shape", "value=7", &["i64[1] 2"], "i64[2] 7 7"),
            ("constant_of_shape", "", &["i64[0]"], "f32 0"),
            ("full", "shape=[2] value=3 dtype=u8", &[], "u8[2] 3 3"),
            ("ones", "shape=[0,2]", &[], "f32[0, 2]"),
            ("zeros_like", "", &["bool[1] 1"], "bool[1] 0"),
            ("range", "", &["i64 1", "i64 10", "i64 4"], "i64[3] 1 5 9"),
            ("range", "", &["i64 3", "i64 -3", "i64 -2"], "i64[3] 3 1 -1"),
            ("range", "", &["i64 3", "i64 -2", "i64 -2"], "i64[3] 3 1 -1"),
            ("range", "", &["i64 3", "i64 5", "i64 -2"], "i64[0]"),
            ("range", "", &["f32 0", "f32 1", "f32 0.5"], "f32[2] 0 0.5"),
            ("range", "", &["i64 0", "i64 1", "i64 0"], "the range is infinite"),
            (
                "one_hot",
                "",
                &["i64[2] 1 -1", "f32[2] 0 5", "i64 3"],
                "f32[2, 3] 0 5 0 0 0 5",
            ),
            (
                "one_hot",
                "axis=0 depth=2",
                &["f32[2] 1 9", "i64[2] 0 1"],
                "i64[2, 2] 0 0 1 0",
            ),
            ("non_zero", "", &["bool[2, 2] 1 0 1 1"], "i64[2, 3] 0 1 1 0 0 1"),
            ("non_zero", "", &["f32 0"], "i64[0, 0]"),
            ("eye_like", "k=1 dtype=i32", &[x], "i32[2, 3] 0 1 0 0 0 1"),
            ("trilu", "", &[x, "i64 1"], "f32[2, 3] 0 2 3 0 0 6"),
            ("trilu", "upper=0", &["i64[2, 2] 1 2 3 4"], "i64[2, 2] 1 0 3 4"),
        ],
    );
}
