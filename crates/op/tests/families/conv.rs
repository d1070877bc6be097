use crate::check::{canonical, eval, infer, table};

#[test]
fn values() {
    table(
        eval,
        &[
            (
                "conv",
                "",
                &[
                    "f32[1, 2, 3, 3] 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18",
                    "f32[3, 2, 1, 1] -2 -1 0 1 2 3",
                ],
                "f32[1, 3, 3, 3] -12 -15 -18 -21 -24 -27 -30 -33 -36 10 11 12 13 14 15 16 17 18 32 37 42 47 52 57 62 67 72",
            ),
            (
                "conv",
                "strides=[2,1]",
                &[
                    "f32[1, 1, 4, 4] 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16",
                    "f32[1, 1, 2, 2] 1 2 3 4",
                ],
                "f32[1, 1, 2, 3] 44 54 64 124 134 144",
            ),
            (
                "conv",
                "pads=[1,0,0,2]",
                &[
                    "f32[1, 1, 4, 4] 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16",
                    "f32[1, 1, 2, 2] 1 2 3 4",
                    "f32[1] 10",
                ],
                "f32[1, 1, 4, 5] 21 28 35 22 10 54 64 74 38 10 94 104 114 54 10 134 144 154 70 10",
            ),
            (
                "conv",
                "dilations=[2,3]",
                &[
                    "f32[1, 1, 5, 5] 2 -2 5 1 -3 4 0 -4 3 -1 -5 2 -2 5 1 -3 4 0 -4 3 -1 -5 2 -2 5",
                    "f32[1, 1, 2, 2] 1 2 3 4",
                ],
                "f32[1, 1, 3, 2] 9 2 -15 22 -6 9",
            ),
            (
                "conv",
                "group=2",
                &[
                    "f32[1, 4, 2, 2] 3 1 -1 -3 4 2 0 -2 -4 3 1 -1 -3 4 2 0",
                    "f32[4, 2, 1, 1] 1 2 3 4 5 6 7 8",
                    "f32[4] 1 2 3 4",
                ],
                "f32[1, 4, 2, 2] 12 6 0 -6 27 13 -1 -15 -35 42 20 -2 -48 57 27 -3",
            ),
            (
                "conv",
                "group=3 pads=[0,0,0,1]",
                &[
                    "f32[2, 3, 2, 2] 3 1 -1 -3 4 2 0 -2 -4 3 1 -1 -3 4 2 0 -2 -4 3 1 -1 -3 4 2",
                    "f32[6, 1, 2, 2] 0 2 -1 1 -2 0 2 -1 1 -2 0 2 -1 1 -2 0 2 -1 1 -2 0 2 -1 1",
                ],
                "f32[2, 6, 1, 2] 0 3 -5 -8 -4 2 -2 2 -8 5 4 1 6 0 10 -8 8 -4 -8 2 1 -4 -8 -2",
            ),
            (
                "conv",
                "auto_pad=SAME_UPPER strides=[2]",
                &["f32[1, 1, 5] 1 2 3 4 5", "f32[1, 1, 2] 1 2"],
                "f32[1, 1, 3] 5 11 5",
            ),
            (
                "conv",
                "auto_pad=SAME_UPPER",
                &["f32[1, 1, 5] 1 2 3 4 5", "f32[1, 1, 4] 1 2 3 4"],
                "f32[1, 1, 5] 20 30 40 26 14",
            ),
            (
                "conv",
                "auto_pad=SAME_LOWER",
                &["f32[1, 1, 5] 1 2 3 4 5", "f32[1, 1, 4] 1 2 3 4"],
                "f32[1, 1, 5] 11 20 30 40 26",
            ),
            (
                "conv",
                "auto_pad=VALID strides=[2]",
                &["f32[1, 1, 5] 1 2 3 4 5", "f32[1, 1, 2] 1 2"],
                "f32[1, 1, 2] 5 11",
            ),
            (
                "conv",
                "pads=[0,1,0,0,0,0]",
                &[
                    "f32[1, 2, 2, 2, 2] 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16",
                    "f32[1, 2, 1, 2, 2] 0 2 -1 1 -2 0 2 -1",
                ],
                "f32[1, 1, 2, 2, 1] 9 -3 13 1",
            ),
        ],
    );
}

#[test]
fn transposed_values() {
    table(
        eval,
        &[
            (
                "conv_transpose",
                "",
                &["f32[1, 1, 2, 2] 1 2 3 4", "f32[1, 2, 2, 2] 1 2 3 4 5 6 7 8"],
                "f32[1, 2, 3, 3] 1 4 4 6 20 16 9 24 16 5 16 12 22 60 40 21 52 32",
            ),
            (
                "conv_transpose",
                "strides=[2]",
                &["f32[1, 2, 3] 1 2 3 4 5 6", "f32[2, 1, 2] 1 2 3 4", "f32[1] 5"],
                "f32[1, 1, 6] 18 23 22 29 26 35",
            ),
            (
                "conv_transpose",
                "strides=[2] pads=[1,0] output_padding=[1]",
                &["f32[1, 1, 3] 1 2 3", "f32[1, 1, 3] 1 2 3"],
                "f32[1, 1, 7] 2 5 4 9 6 9 0",
            ),
            (
                "conv_transpose",
                "strides=[2] dilations=[2]",
                &["f32[1, 1, 3] 1 2 3", "f32[1, 1, 2] 1 2"],
                "f32[1, 1, 7] 1 0 4 0 7 0 6",
            ),
            (
                "conv_transpose",
                "group=2",
                &["f32[1, 4, 2] 3 1 -1 -3 4 2 0 -2", "f32[4, 1, 2] 0 2 -1 1 -2 0 2 -1"],
                "f32[1, 2, 3] 1 8 -1 -8 -8 2",
            ),
            (
                "conv_transpose",
                "group=2",
                &["f32[1, 2, 2] 3 1 -1 -3", "f32[2, 2, 2] 0 2 -1 1 -2 0 2 -1"],
                "f32[1, 4, 3] 0 6 2 -3 2 1 2 6 0 -2 -5 3",
            ),
            (
                "conv_transpose",
                "strides=[3] auto_pad=SAME_UPPER",
                &["f32[1, 1, 3] 1 2 3", "f32[1, 1, 4] 1 2 3 4"],
                "f32[1, 1, 9] 1 2 3 6 4 6 11 6 9",
            ),
            (
                "conv_transpose",
                "strides=[3] auto_pad=SAME_LOWER",
                &["f32[1, 1, 3] 1 2 3", "f32[1, 1, 4] 1 2 3 4"],
                "f32[1, 1, 9] 2 3 6 4 6 11 6 9 12",
            ),
            (
                "conv_transpose",
                "strides=[3] output_shape=[10]",
                &["f32[1, 1, 3] 1 2 3", "f32[1, 1, 2] 1 2"],
                "f32[1, 1, 10] 1 2 0 2 4 0 3 6 0 0",
            ),
            (
                "conv_transpose",
                "strides=[2] output_shape=[6]",
                &["f32[1, 1, 3] 1 2 3", "f32[1, 1, 3] 1 2 3"],
                "f32[1, 1, 6] 2 5 4 9 6 9",
            ),
            (
                "conv_transpose",
                "",
                &["f32[1, 1, 2, 2, 1] 1 2 3 4", "f32[1, 1, 1, 2, 2] 1 2 3 4"],
                "f32[1, 1, 2, 3, 2] 1 2 5 8 6 8 3 6 13 20 12 16",
            ),
        ],
    );
}

#[test]
fn types() {
    table(
        infer,
        &[
            (
                "conv",
                "pads=[1,1,1,1] strides=[2,2]",
                &["f32[n, 3, h, w]", "f32[8, 3, 3, 3]"],
                "f32[n, 8, (h + 1) / 2, (w + 1) / 2]",
            ),
            (
                "conv",
                "auto_pad=SAME_UPPER strides=[2]",
                &["f32[n, 3, h]", "f32[8, 3, 3]"],
                "f32[n, 8, (h + 1) / 2]",
            ),
            ("conv", "", &["f32[..]", "f32[8, 3, 3]"], "f32[?, 8, ?]"),
            ("conv", "", &["f32[1, 3, 8]", "f32[..]"], "f32[1, ?, ?]"),
            ("conv", "", &["f32[..]", "f32[..]"], "f32[..]"),
            (
                "conv",
                "group=2",
                &["f32[1, 4, 8]", "f32[6, 2, 8]", "f32[6]"],
                "f32[1, 6, 1]",
            ),
            (
                "conv",
                "",
                &["f32[1, 3, 8]", "f32[6, 2, 8]"],
                "`x` has 3 channels (axis 1 of [1, 3, 8]), but `w` takes 2: 2 (axis 1 of [6, 2, 8]) times 1 group(s)",
            ),
            (
                "conv",
                "group=4",
                &["f32[1, 8, 8]", "f32[6, 2, 8]"],
                "6 output channels cannot be split into 4 groups of equal size",
            ),
            (
                "conv",
                "group=0",
                &["f32[1, 8, 8]", "f32[6, 8, 8]"],
                "`group` must be at least 1, but is 0",
            ),
            (
                "conv",
                "strides=[0]",
                &["f32[1, 8, 8]", "f32[6, 8, 8]"],
                "`strides` has an entry 0, but each must be at least 1",
            ),
            (
                "conv",
                "pads=[0,-1]",
                &["f32[1, 8, 8]", "f32[6, 8, 8]"],
                "`pads` has an entry -1, but each must be at least 0",
            ),
            (
                "conv",
                "pads=[1]",
                &["f32[1, 8, 8]", "f32[6, 8, 8]"],
                "`pads` has 1 entries, but 2 are needed",
            ),
            (
                "conv",
                "",
                &["f32[1, 8, 4]", "f32[6, 8, 5]"],
                "a window that spans 5 does not fit spatial axis 0 of size 4, padded 4",
            ),
            ("conv", "", &["f32[1, 8, 0]", "f32[6, 8, 1]"], "f32[1, 6, 0]"),
            (
                "conv",
                "",
                &["f32[1, 8, 4]", "f32[6, 8, 0]"],
                "the window has size 0 along spatial axis 0, but must have at least 1",
            ),
            (
                "conv",
                "",
                &["f32[1, 8]", "f32[6, 8]"],
                "`x` is f32[1, 8], but needs a batch or output axis, a channel axis and at least one spatial axis",
            ),
            (
                "conv",
                "",
                &["f32[1, 8, 4]", "f32[6, 8, 1, 1]"],
                "`x` is f32[1, 8, 4] and `w` is f32[6, 8, 1, 1]: ranks 3 and 4 differ",
            ),
            (
                "conv",
                "",
                &["f32[1, 8, 4]", "f32[6, 8, 1]", "f32[5]"],
                "`b` must be a vector of 6, one for each output channel, but is f32[5]",
            ),
            (
                "conv",
                "",
                &["i32[1, 8, 4]", "i32[6, 8, 1]"],
                "`x` must be a floating-point number, but is i32[1, 8, 4]",
            ),
            (
                "conv",
                "auto_pad=SAME",
                &["f32[1, 8, 4]", "f32[6, 8, 1]"],
                "attribute `auto_pad` takes one of \"NOTSET\", \"SAME_UPPER\", \"SAME_LOWER\", \"VALID\", not \"SAME\"",
            ),
            (
                "conv_transpose",
                "strides=[2,2] pads=[1,1,1,1]",
                &["f32[n, 4, h, w]", "f32[4, 3, 4, 4]"],
                "f32[n, 3, 2*h, 2*w]",
            ),
            (
                "conv_transpose",
                "strides=[2] auto_pad=SAME_LOWER group=2",
                &["f32[n, 4, h]", "f32[4, 3, 5]"],
                "f32[n, 6, 2*h]",
            ),
            (
                "conv_transpose",
                "output_shape=[9]",
                &["f32[n, 4, h]", "f32[4, 3, 5]"],
                "f32[n, 3, 9]",
            ),
            (
                "conv_transpose",
                "pads=[4,4]",
                &["f32[1, 1, 2]", "f32[1, 1, 2]"],
                "pads (4, 4) exceed the size of spatial axis 0 of the result",
            ),
            (
                "conv_transpose",
                "",
                &["f32[1, 3, 2]", "f32[4, 1, 2]"],
                "`x` has 3 channels (axis 1 of [1, 3, 2]), but `w` takes 4 (axis 0 of [4, 1, 2])",
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
                "conv",
                "",
                &["f32[n, 3, h, w]", "f32[8, 3, 3, 3]"],
                "auto_pad=\"NOTSET\" strides=[1, 1] pads=[0, 0, 0, 0] dilations=[1, 1] group=1",
            ),
            (
                "conv",
                "auto_pad=VALID",
                &["f32[..]", "f32[8, 3, 3]"],
                "auto_pad=\"NOTSET\" strides=[1] pads=[0, 0] dilations=[1] group=1",
            ),
            (
                "conv",
                "auto_pad=SAME_LOWER",
                &["f32[n, 3, h]", "f32[8, 3, 4]"],
                "auto_pad=\"NOTSET\" strides=[1] pads=[2, 1] dilations=[1] group=1",
            ),
            (
                "conv",
                "auto_pad=SAME_UPPER strides=[2]",
                &["f32[n, 3, h]", "f32[8, 3, 4]"],
                "auto_pad=\"SAME_UPPER\" strides=[2] pads=none dilations=[1] group=1",
            ),
            (
                "conv",
                "auto_pad=SAME_UPPER strides=[3]",
                &["f32[n, 3, 7]", "f32[8, 3, 4]"],
                "auto_pad=\"NOTSET\" strides=[3] pads=[1, 2] dilations=[1] group=1",
            ),
            (
                "conv_transpose",
                "strides=[3] output_shape=[10]",
                &["f32[1, 1, 3]", "f32[1, 1, 2]"],
                "auto_pad=\"NOTSET\" strides=[3] pads=[0, 0] dilations=[1] group=1 output_padding=[2] output_shape=none",
            ),
        ],
    );
}

#[test]
fn huge_attributes_are_errors_or_exact() {
    table(
        eval,
        &[
            (
                "conv",
                "pads=[0,9223372036854775807]",
                &["f32[1, 1, 2] 1 2", "f32[1, 1, 1] 1"],
                "an array of shape [9223372036854775807] is too large",
            ),
            (
                "conv",
                "strides=[9223372036854775807]",
                &["f32[1, 1, 2] 1 2", "f32[1, 1, 1] 1"],
                "f32[1, 1, 1] 1",
            ),
            (
                "max_pool",
                "kernel_shape=[1000000000000] pads=[0,1000000000000]",
                &["f32[1, 1, 2] 1 2"],
                "f32[1, 1, 3] 2 2 -inf",
            ),
        ],
    );
}
