use crate::check::{eval, infer, table};

#[test]
fn types_follow_the_sizes() {
    table(
        infer,
        &[
            ("det", "", &["f32[n, 3, 3]"], "f32[n]"),
            ("det", "", &["f32[3, 3]"], "f32"),
            (
                "det",
                "",
                &["f32[2, 3]"],
                "`x` must end in two equal axes, but is f32[2, 3]",
            ),
            ("affine_grid", "size=[2,3,5,6]", &["f32[2, 2, 3]"], "f32[2, 5, 6, 2]"),
            ("affine_grid", "", &["f32[n, 3, 4]", "i64[5]"], "f32[n, ?, ?, ?, 3]"),
            (
                "affine_grid",
                "size=[2,3,5]",
                &["f32[2, 2, 3]"],
                "`size` has 3 dimensions, but 4 are needed",
            ),
        ],
    );
}

#[test]
fn determinants_and_places() {
    table(
        eval,
        &[
            ("det", "", &["f32[2, 2] 0 1 2 3"], "f32 -2"),
            ("det", "", &["f64[2, 1, 1] 5 -2"], "f64[2] 5 -2"),
            ("det", "", &["f32[3, 3] 2 0 0 0 3 1 0 0 4"], "f32 24"),
            ("det", "", &["f64[4, 4] 0 2 0 0 1 0 0 0 0 0 0 3 0 0 1 0"], "f64 6"),
            ("det", "", &["f32[0, 0]"], "f32 1"),
            (
                "affine_grid",
                "size=[1,1,2,2]",
                &["f32[1, 2, 3] 1 0 0 0 1 0"],
                "f32[1, 2, 2, 2] -0.5 -0.5 0.5 -0.5 -0.5 0.5 0.5 0.5",
            ),
            (
                "affine_grid",
                "size=[1,1,1,3] align_corners=true",
                &["f32[1, 2, 3] 2 0 1 0 1 5"],
                "f32[1, 1, 3, 2] -1 5 1 5 3 5",
            ),
        ],
    );
}
