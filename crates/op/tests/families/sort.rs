use crate::check::{canonical, eval, infer, table};

#[test]
fn types_follow_the_shapes() {
    table(
        infer,
        &[
            ("sort", "", &["f32[n, 3]"], "(f32[n, 3], i64[n, 3])"),
            ("sort", "", &["bool"], "(bool, i64)"),
            (
                "sort",
                "axis=1",
                &["f32"],
                "axis 1 is out of range: a scalar has no axes",
            ),
            (
                "sort",
                "axis=2",
                &["f32[2]"],
                "axis 2 is out of range for rank 1: it must be in -1..=0",
            ),
            ("sort", "", &["f32[..]"], "(f32[..], i64[..])"),
            ("unique_consecutive", "", &["f32[2, 3]"], "f32[?]"),
            ("unique_consecutive", "axis=1", &["f32[2, n]"], "f32[2, ?]"),
            (
                "unique_consecutive",
                "return_inverse=true return_counts=true",
                &["f32[2, n]"],
                "(f32[?], i64[2, n], i64[?])",
            ),
            (
                "unique_consecutive",
                "axis=0 return_counts=true",
                &["f32[2, n]"],
                "(f32[?, n], i64[?])",
            ),
            (
                "unique_consecutive",
                "axis=0",
                &["f32[3, 0]"],
                "the slices of [3, 0] along axis 0 have no elements",
            ),
            (
                "unique_consecutive",
                "axis=0",
                &["f32"],
                "axis 0 is out of range: a scalar has no axes",
            ),
        ],
    );
}

#[test]
fn attributes_have_a_normal_form() {
    table(
        canonical,
        &[
            (
                "sort",
                "stable=false",
                &["f32[2, 3]"],
                "axis=1 descending=false stable=true",
            ),
            ("sort", "axis=-1", &["f32"], "axis=0 descending=false stable=true"),
        ],
    );
}

#[test]
fn elements_are_in_order() {
    table(
        eval,
        &[
            ("sort", "", &["f32[3] 2 1 3"], "f32[3] 1 2 3; i64[3] 1 0 2"),
            ("sort", "", &["f32[3] NaN -0 0"], "f32[3] -0 0 NaN; i64[3] 1 2 0"),
            (
                "sort",
                "descending=true",
                &["f32[3] 0 NaN -0"],
                "f32[3] NaN 0 -0; i64[3] 1 0 2",
            ),
            (
                "sort",
                "descending=true",
                &["i64[5] 1 0 1 0 1"],
                "i64[5] 1 1 1 0 0; i64[5] 0 2 4 1 3",
            ),
            (
                "sort",
                "axis=0",
                &["i64[2, 2] 3 1 2 4"],
                "i64[2, 2] 2 1 3 4; i64[2, 2] 1 0 0 1",
            ),
            ("sort", "", &["f32 7"], "f32 7; i64 0"),
            ("sort", "", &["utf8[2] b a"], "utf8[2] a b; i64[2] 1 0"),
            ("sort", "", &["i64[2, 0]"], "i64[2, 0]; i64[2, 0]"),
        ],
    );
}

#[test]
fn runs_have_one_element_each() {
    let all = "return_inverse=true return_counts=true";
    let along = "axis=0 return_inverse=true return_counts=true";
    table(
        eval,
        &[
            ("unique_consecutive", "", &["i64[5] 1 1 2 2 1"], "i64[3] 1 2 1"),
            (
                "unique_consecutive",
                all,
                &["i64[2, 2] 1 1 1 2"],
                "i64[2] 1 2; i64[2, 2] 0 0 0 1; i64[2] 3 1",
            ),
            (
                "unique_consecutive",
                all,
                &["f32[4] NaN NaN -0 0"],
                "f32[3] NaN NaN -0; i64[4] 0 1 2 2; i64[3] 1 1 2",
            ),
            ("unique_consecutive", all, &["f32 5"], "f32[1] 5; i64 0; i64[1] 1"),
            (
                "unique_consecutive",
                along,
                &["i64[3, 2] 1 2 1 2 1 3"],
                "i64[2, 2] 1 2 1 3; i64[3] 0 0 1; i64[2] 2 1",
            ),
            ("unique_consecutive", along, &["i64[0, 3]"], "i64[0, 3]; i64[0]; i64[0]"),
            (
                "unique_consecutive",
                "axis=1",
                &["i64[2, 3] 1 1 2 3 3 3"],
                "i64[2, 2] 1 2 3 3",
            ),
        ],
    );
}
