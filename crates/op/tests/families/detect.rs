use crate::check::{eval, infer, table};

#[test]
fn types_are_checked() {
    table(
        infer,
        &[
            (
                "non_max_suppression",
                "",
                &["f32[1, n, 4]", "f32[1, 2, n]", "i64[1]"],
                "i64[?, 3]",
            ),
            (
                "non_max_suppression",
                "",
                &["f32[1, 6, 4]", "f32[1, 2, 5]"],
                "boxes [1, 6, 4] and scores [1, 2, 5] do not match",
            ),
            (
                "non_max_suppression",
                "",
                &["f32[1, 6, 5]", "f32[1, 2, 6]"],
                "a box has 4 coordinates, but `boxes` has 5",
            ),
        ],
    );
}

#[test]
fn boxes_that_overlap_are_left_out() {
    let boxes = "f32[1, 4, 4] 0 0 1 1  0 0.1 1 1.1  2 2 3 3  3 3 2 2";
    let scores = "f32[1, 1, 4] 0.5 0.9 0.6 0.3";
    let (some, half) = ("i64[1] 3", "f32[1] 0.5");
    table(
        eval,
        &[
            (
                "non_max_suppression",
                "",
                &[boxes, scores, some, half],
                "i64[2, 3] 0 0 1 0 0 2",
            ),
            (
                "non_max_suppression",
                "",
                &[boxes, scores, some, "f32[1] 1"],
                "i64[3, 3] 0 0 1 0 0 2 0 0 0",
            ),
            (
                "non_max_suppression",
                "",
                &[boxes, scores, some, half, "f32[1] 0.7"],
                "i64[1, 3] 0 0 1",
            ),
            ("non_max_suppression", "", &[boxes, scores], "i64[0, 3]"),
            (
                "non_max_suppression",
                "center_point_box=true",
                &["f32[1, 2, 4] 1 1 2 2  1 1 2 4", "f32[1, 1, 2] 1 2", some, half],
                "i64[2, 3] 0 0 1 0 0 0",
            ),
        ],
    );
}
