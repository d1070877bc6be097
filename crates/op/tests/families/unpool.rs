use crate::check::{eval, infer, table};

#[test]
fn types_follow_the_windows() {
    table(
        infer,
        &[
            (
                "col2im",
                "image_shape=[5,5] block_shape=[1,5]",
                &["f32[n, 10, 5]"],
                "f32[n, 2, 5, 5]",
            ),
            (
                "col2im",
                "block_shape=[1,5]",
                &["f32[n, 10, 5]", "i64[2]"],
                "f32[n, 2, ?, ?]",
            ),
            (
                "col2im",
                "image_shape=[5,5] block_shape=[1,5]",
                &["f32[n, 10, 4]"],
                "the window has 5 positions, but `x` is f32[n, 10, 4]",
            ),
            (
                "max_unpool",
                "kernel_shape=[2,2] strides=[2,2]",
                &["f32[n, 1, 2, 2]", "i64[n, 1, 2, 2]"],
                "f32[n, 1, 4, 4]",
            ),
            (
                "max_unpool",
                "kernel_shape=[2,2] strides=[2,2]",
                &["f32[n, 1, 2, 2]", "i64[n, 1, 2, 2]", "i64[4]"],
                "f32[?, ?, ?, ?]",
            ),
        ],
    );
}

#[test]
fn elements_go_to_their_places() {
    let x = "f32[1, 1, 2, 2] 1 2 3 4";
    let indices = "i64[1, 1, 2, 2] 5 7 13 15";
    table(
        eval,
        &[
            (
                "col2im",
                "",
                &["f32[1, 2, 2] 1 2 3 4", "i64[1] 3", "i64[1] 2"],
                "f32[1, 1, 3] 1 5 4",
            ),
            (
                "max_unpool",
                "kernel_shape=[2,2] strides=[2,2]",
                &[x, indices],
                "f32[1, 1, 4, 4] 0 0 0 0 0 1 0 2 0 0 0 0 0 3 0 4",
            ),
            (
                "max_unpool",
                "kernel_shape=[2] strides=[2]",
                &["i32[1, 1, 1] 7", "i64[1, 1, 1] 1", "i64[3] 1 1 3"],
                "i32[1, 1, 3] 0 7 0",
            ),
        ],
    );
}
