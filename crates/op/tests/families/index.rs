use crate::check::{eval, infer, table};

#[test]
fn types_follow_the_indices() {
    table(
        infer,
        &[
            ("gather", "axis=-1", &["f32[n, 3]", "i64[2, m]"], "f32[n, 2, m]"),
            ("gather", "", &["f32[n, 3]", "i32"], "f32[3]"),
            ("gather", "", &["f32[n, 3]", "i32[..]"], "f32[..]"),
            ("gather", "", &["f32[..]", "i32"], "f32[..]"),
            (
                "gather",
                "",
                &["f32", "i32"],
                "axis 0 is out of range: a scalar has no axes",
            ),
            (
                "gather",
                "",
                &["f32[2]", "f32"],
                "`indices` must be integers, but is f32",
            ),
            ("gather_elements", "axis=1", &["f32[n, 3]", "i64[n, 2]"], "f32[n, 2]"),
            (
                "gather_elements",
                "",
                &["f32[n]", "i64[n, 2]"],
                "[n, 2] has 2 axes, but [n] has 1",
            ),
            ("gather_nd", "", &["f32[2, n, 4]", "i64[5, 1]"], "f32[5, n, 4]"),
            ("gather_nd", "batch_dims=1", &["f32[2, n, 4]", "i64[2, 1]"], "f32[2, 4]"),
            (
                "gather_nd",
                "",
                &["f32[2]", "i64[5, 2]"],
                "index tuples of length 2 do not fit 1 axes",
            ),
            ("gather_nd", "", &["f32[2]", "i64[k]"], "f32[..]"),
            ("scatter_elements", "", &["f32[n]", "i64[2]", "f32[2]"], "f32[n]"),
            (
                "scatter_elements",
                "",
                &["f32[n]", "i64[2]", "f32[3]"],
                "updates of shape [3] do not fit indices of shape [2]",
            ),
            ("scatter_nd", "", &["f32[4, n]", "i64[2, 1]", "f32[2, n]"], "f32[4, n]"),
            (
                "scatter_nd",
                "",
                &["f32[4]", "i64[2, 1]", "f32[3]"],
                "updates of shape [3] do not fit indices of shape [2, 1]",
            ),
        ],
    );
}

#[test]
fn elements_are_read_and_written() {
    let x = "i64[2, 2] 1 2 3 4";
    table(
        eval,
        &[
            ("gather", "axis=1", &[x, "i64[1] -1"], "i64[2, 1] 2 4"),
            ("gather", "", &[x, "i64 1"], "i64[2] 3 4"),
            (
                "gather",
                "",
                &[x, "i64 2"],
                "index 2 is out of range for an axis of size 2",
            ),
            ("gather", "", &["f32[0, 2]", "i64[0]"], "f32[0, 2]"),
            (
                "gather",
                "",
                &["f32[2, 0]", "i64 2"],
                "index 2 is out of range for an axis of size 2",
            ),
            (
                "gather_elements",
                "axis=1",
                &[x, "i64[2, 2] 0 0 1 0"],
                "i64[2, 2] 1 1 4 3",
            ),
            ("gather_nd", "", &[x, "i64[2, 2] 0 0 1 1"], "i64[2] 1 4"),
            ("gather_nd", "batch_dims=1", &[x, "i64[2, 1] 1 0"], "i64[2] 2 3"),
            (
                "scatter_elements",
                "axis=1",
                &["f32[1, 5] 1 2 3 4 5", "i64[1, 2] 1 3", "f32[1, 2] 1.5 2.5"],
                "f32[1, 5] 1 1.5 3 2.5 5",
            ),
            (
                "scatter_elements",
                "reduction=add",
                &["i64[3] 1 2 3", "i64[2] -1 -1", "i64[2] 5 6"],
                "i64[3] 1 2 14",
            ),
            (
                "scatter_nd",
                "",
                &[x, "i64[1, 1] 1", "i64[1, 2] 7 8"],
                "i64[2, 2] 1 2 7 8",
            ),
            (
                "scatter_nd",
                "reduction=max",
                &["f32[2] 1 5", "i64[2, 1] 0 1", "f32[2] 3 3"],
                "f32[2] 3 5",
            ),
        ],
    );
}
