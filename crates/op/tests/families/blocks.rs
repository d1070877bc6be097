use crate::check::{eval, infer, table};

#[test]
fn types_follow_the_cuts() {
    table(
        infer,
        &[
            (
                "depth_to_space",
                "blocksize=2",
                &["f32[n, 8, h, w]"],
                "f32[n, 2, 2*h, 2*w]",
            ),
            (
                "depth_to_space",
                "blocksize=3",
                &["f32[1, 8, 1, 1]"],
                "dimension 8 is not a multiple of 9",
            ),
            (
                "space_to_depth",
                "blocksize=2",
                &["f32[n, c, 4, 6]"],
                "f32[n, 4*c, 2, 3]",
            ),
            ("space_to_depth", "blocksize=2", &["f32[..]"], "f32[?, ?, ?, ?]"),
            (
                "space_to_depth",
                "blocksize=0",
                &["f32[..]"],
                "`blocksize` must be a positive integer",
            ),
        ],
    );
}

#[test]
fn elements_end_up_in_their_places() {
    table(
        eval,
        &[
            (
                "depth_to_space",
                "blocksize=2",
                &["i64[1, 4, 1, 1] 1 2 3 4"],
                "i64[1, 1, 2, 2] 1 2 3 4",
            ),
            (
                "depth_to_space",
                "blocksize=2",
                &["i64[1, 8, 1, 1] 0 1 2 3 4 5 6 7"],
                "i64[1, 2, 2, 2] 0 2 4 6 1 3 5 7",
            ),
            (
                "depth_to_space",
                "blocksize=2 mode=CRD",
                &["i64[1, 8, 1, 1] 0 1 2 3 4 5 6 7"],
                "i64[1, 2, 2, 2] 0 1 2 3 4 5 6 7",
            ),
            (
                "space_to_depth",
                "blocksize=2",
                &["i64[1, 1, 2, 4] 0 1 2 3 4 5 6 7"],
                "i64[1, 4, 1, 2] 0 2 1 3 4 6 5 7",
            ),
        ],
    );
}
