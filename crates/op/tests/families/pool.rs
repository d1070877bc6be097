use crate::check::{canonical, eval, infer, table};

#[test]
fn values() {
    table(
        eval,
        &[
            (
                "max_pool",
                "kernel_shape=[2,2]",
                &["f32[1, 1, 4, 4] -1 6 -4 3 -7 0 7 -3 4 -6 1 8 -2 5 -5 2"],
                "f32[1, 1, 3, 3] 6 7 7 4 7 8 5 5 8",
            ),
            (
                "max_pool",
                "kernel_shape=[2,3] strides=[2,2] pads=[0,1,1,0]",
                &["f32[1, 1, 4, 4] -1 6 -4 3 -7 0 7 -3 4 -6 1 8 -2 5 -5 2"],
                "f32[1, 1, 2, 2] 6 7 5 8",
            ),
            (
                "max_pool",
                "kernel_shape=[2] strides=[2]",
                &["f32[1, 2, 5] 2 -2 5 1 -3 4 0 -4 3 -1"],
                "f32[1, 2, 2] 2 5 4 3",
            ),
            (
                "max_pool",
                "kernel_shape=[2] strides=[2] ceil_mode=1",
                &["f32[1, 1, 5] 1 2 3 4 5"],
                "f32[1, 1, 3] 2 4 5",
            ),
            (
                "max_pool",
                "kernel_shape=[3] strides=[3] ceil_mode=1 pads=[1,1]",
                &["f32[1, 1, 5] 1 2 3 4 5"],
                "f32[1, 1, 2] 2 5",
            ),
            (
                "max_pool",
                "kernel_shape=[1] strides=[2] ceil_mode=1",
                &["f32[1, 1, 3] 1 2 3"],
                "f32[1, 1, 2] 1 3",
            ),
            (
                "max_pool",
                "kernel_shape=[1] strides=[3] ceil_mode=1",
                &["f32[1, 1, 2] 1 2"],
                "f32[1, 1, 1] 1",
            ),
            (
                "max_pool",
                "kernel_shape=[2] dilations=[3]",
                &["f32[1, 1, 5] 1 2 3 4 5"],
                "f32[1, 1, 2] 4 5",
            ),
            (
                "max_pool",
                "kernel_shape=[2] auto_pad=SAME_UPPER",
                &["f32[1, 1, 5] 1 2 3 4 5"],
                "f32[1, 1, 5] 2 3 4 5 5",
            ),
            (
                "max_pool",
                "kernel_shape=[2] auto_pad=SAME_LOWER",
                &["f32[1, 1, 5] 1 2 3 4 5"],
                "f32[1, 1, 5] 1 2 3 4 5",
            ),
            (
                "max_pool",
                "kernel_shape=[2] auto_pad=VALID strides=[2] ceil_mode=1",
                &["f32[1, 1, 5] 1 2 3 4 5"],
                "f32[1, 1, 2] 2 4",
            ),
            (
                "max_pool",
                "kernel_shape=[2]",
                &["u8[1, 1, 4] 1 2 3 4"],
                "u8[1, 1, 3] 2 3 4",
            ),
            (
                "max_pool",
                "kernel_shape=[2] pads=[1,0]",
                &["i8[1, 1, 4] -1 -2 -3 -4"],
                "i8[1, 1, 4] -1 -1 -2 -3",
            ),
            (
                "max_pool",
                "kernel_shape=[2,1,2]",
                &["f32[1, 1, 2, 2, 2] 1 2 3 4 5 6 7 8"],
                "f32[1, 1, 1, 2, 1] 6 8",
            ),
            (
                "max_pool_with_indices",
                "kernel_shape=[1,2]",
                &["f32[1, 2, 2, 2] 0 2 -1 1 -2 0 2 -1"],
                "f32[1, 2, 2, 1] 2 1 0 2; i64[1, 2, 2, 1] 1 3 5 6",
            ),
            (
                "max_pool_with_indices",
                "kernel_shape=[1,2] column_major=true",
                &["f32[1, 2, 2, 2] 0 2 -1 1 -2 0 2 -1"],
                "f32[1, 2, 2, 1] 2 1 0 2; i64[1, 2, 2, 1] 2 3 6 5",
            ),
            (
                "max_pool_with_indices",
                "kernel_shape=[3] pads=[1,1]",
                &["f32[1, 1, 4] 1 3 3 2"],
                "f32[1, 1, 4] 3 3 3 3; i64[1, 1, 4] 1 1 1 2",
            ),
            (
                "average_pool",
                "kernel_shape=[2]",
                &["f32[1, 1, 5] 1 2 3 4 5"],
                "f32[1, 1, 4] 1.5 2.5 3.5 4.5",
            ),
            (
                "average_pool",
                "kernel_shape=[4] pads=[2,1] strides=[2]",
                &["f32[1, 1, 5] 1 2 3 4 5"],
                "f32[1, 1, 3] 1.5 2.5 4",
            ),
            (
                "average_pool",
                "kernel_shape=[4] pads=[2,1] strides=[2] count_include_pad=1",
                &["f32[1, 1, 5] 1 2 3 4 5"],
                "f32[1, 1, 3] 0.75 2.5 3",
            ),
            (
                "average_pool",
                "kernel_shape=[4] pads=[1,0] strides=[2] ceil_mode=1",
                &["f32[1, 1, 5] 1 2 3 4 5"],
                "f32[1, 1, 2] 2 3.5",
            ),
            (
                "average_pool",
                "kernel_shape=[4] pads=[1,0] strides=[2] ceil_mode=1 count_include_pad=1",
                &["f32[1, 1, 5] 1 2 3 4 5"],
                "f32[1, 1, 2] 1.5 3.5",
            ),
            (
                "average_pool",
                "kernel_shape=[2] dilations=[2] pads=[1,0]",
                &["f32[1, 1, 5] 1 2 3 4 5"],
                "f32[1, 1, 4] 2 2 3 4",
            ),
            (
                "average_pool",
                "kernel_shape=[2] auto_pad=SAME_LOWER",
                &["f32[1, 1, 5] 1 2 3 4 5"],
                "f32[1, 1, 5] 1 1.5 2.5 3.5 4.5",
            ),
            (
                "lp_pool",
                "kernel_shape=[2]",
                &["f32[1, 1, 4] 3 4 0 -5"],
                "f32[1, 1, 3] 5 4 5",
            ),
            (
                "lp_pool",
                "kernel_shape=[2] p=1",
                &["f32[1, 1, 4] 3 4 0 -5"],
                "f32[1, 1, 3] 7 4 5",
            ),
            (
                "global_average_pool",
                "",
                &["f32[1, 2, 2, 2] 1 2 3 4 5 6 7 8"],
                "f32[1, 2, 1, 1] 2.5 6.5",
            ),
            ("global_max_pool", "", &["f32[1, 2, 2] 0 2 -1 1"], "f32[1, 2, 1] 2 1"),
        ],
    );
}

#[test]
fn types() {
    table(
        infer,
        &[
            (
                "max_pool",
                "kernel_shape=[3,3] strides=[2,2] pads=[1,1,1,1]",
                &["f32[n, c, h, w]"],
                "f32[n, c, (h + 1) / 2, (w + 1) / 2]",
            ),
            (
                "max_pool",
                "kernel_shape=[2] strides=[2] ceil_mode=true",
                &["f32[n, c, h]"],
                "f32[n, c, (h + 1) / 2]",
            ),
            (
                "average_pool",
                "kernel_shape=[2] auto_pad=SAME_UPPER strides=[2]",
                &["f32[n, c, h]"],
                "f32[n, c, (h + 1) / 2]",
            ),
            ("average_pool", "kernel_shape=[2]", &["f32[..]"], "f32[?, ?, ?]"),
            (
                "max_pool_with_indices",
                "kernel_shape=[2]",
                &["u8[1, 1, 4]"],
                "(u8[1, 1, 3], i64[1, 1, 3])",
            ),
            ("global_average_pool", "", &["f32[n, c, h, w]"], "f32[n, c, 1, 1]"),
            (
                "max_pool",
                "kernel_shape=[2]",
                &["f32[1, 2, 4, 4]"],
                "`kernel_shape` has 1 entries, but `x` is f32[1, 2, 4, 4] with 2 spatial axes",
            ),
            (
                "max_pool",
                "kernel_shape=[0]",
                &["f32[1, 2, 4]"],
                "the window has size 0 along spatial axis 0, but must have at least 1",
            ),
            ("max_pool", "", &["f32[1, 2, 4]"], "attribute `kernel_shape` is missing"),
            (
                "average_pool",
                "kernel_shape=[5]",
                &["f32[1, 2, 4]"],
                "a window that spans 5 does not fit spatial axis 0 of size 4, padded 4",
            ),
            (
                "average_pool",
                "kernel_shape=[2]",
                &["f32[1, 2]"],
                "`x` is f32[1, 2], but needs a batch axis, a channel axis and at least one spatial axis",
            ),
            (
                "lp_pool",
                "kernel_shape=[2] p=0",
                &["f32[1, 2, 4]"],
                "`p` must be at least 1, but is 0",
            ),
        ],
    );
}

#[test]
fn attributes_are_filled_in() {
    table(
        canonical,
        &[
            (
                "max_pool",
                "kernel_shape=[2,2]",
                &["f32[n, c, h, w]"],
                "auto_pad=\"NOTSET\" kernel_shape=[2, 2] strides=[1, 1] pads=[0, 0, 0, 0] dilations=[1, 1] ceil_mode=false",
            ),
            (
                "max_pool",
                "kernel_shape=[2] auto_pad=SAME_UPPER strides=[2] ceil_mode=true",
                &["f32[n, c, 5]"],
                "auto_pad=\"NOTSET\" kernel_shape=[2] strides=[2] pads=[0, 1] dilations=[1] ceil_mode=false",
            ),
        ],
    );
}
