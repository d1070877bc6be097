use crate::check::{eval, infer, table};

#[test]
fn types_follow_the_extents() {
    table(
        infer,
        &[
            ("reverse_sequence", "", &["f32[4, n]", "i64[n]"], "f32[4, n]"),
            (
                "reverse_sequence",
                "time_axis=1",
                &["f32[4, n]", "i64[n]"],
                "axis 1 cannot be both the batch and the time axis",
            ),
            ("center_crop_pad", "shape=[2,k]", &["f32[4, n]"], "f32[2, k]"),
            ("center_crop_pad", "shape=[2] axes=[-1]", &["f32[4, n]"], "f32[4, 2]"),
            ("center_crop_pad", "", &["f32[4, n]", "i64[2]"], "f32[?, ?]"),
            (
                "center_crop_pad",
                "shape=[2]",
                &["f32[4, n]"],
                "`shape` has 1 dimensions for 2 axes",
            ),
        ],
    );
}

#[test]
fn positions_move() {
    let x = "i32[3, 2] 1 2 3 4 5 6";
    table(
        eval,
        &[
            ("reverse_sequence", "", &[x, "i64[2] 3 2"], "i32[3, 2] 5 4 3 2 1 6"),
            (
                "reverse_sequence",
                "batch_axis=0 time_axis=1",
                &[x, "i64[3] 2 1 0"],
                "i32[3, 2] 2 1 3 4 5 6",
            ),
            (
                "reverse_sequence",
                "",
                &[x, "i64[2] 4 2"],
                "a length is 4, but sequences have 3 steps",
            ),
            ("center_crop_pad", "shape=[1,4]", &[x], "i32[1, 4] 0 3 4 0"),
            (
                "center_crop_pad",
                "shape=[4] axes=[0]",
                &[x],
                "i32[4, 2] 1 2 3 4 5 6 0 0",
            ),
            ("center_crop_pad", "", &[x, "i64[2] 2 1"], "i32[2, 1] 1 3"),
        ],
    );
}
