use crate::check::{eval, infer, table};

#[test]
fn types() {
    table(
        infer,
        &[
            ("matmul_integer", "", &["u8[b, m, k]", "i8[k, n]"], "i32[b, m, n]"),
            (
                "qlinear_matmul",
                "",
                &["u8[m, k]", "f32", "u8", "i8[k, n]", "f32[n]", "i8[n]", "f32", "i8"],
                "i8[m, n]",
            ),
            (
                "matmul_nbits",
                "block_size=16",
                &["f32[b, m, 40]", "u8[n, 3, 8]", "f32[n, 3]", "u8[n, 2]", "f32[n]"],
                "f32[b, m, n]",
            ),
            (
                "matmul_nbits",
                "block_size=16",
                &["f32[m, 50]", "u8[n, 3, 8]", "f32[n, 3]"],
                "rows of `a` have 50 elements, which 3 blocks of 16 weights do not fit",
            ),
            (
                "matmul_nbits",
                "block_size=16",
                &["f32[m, 40]", "u8[2, 3, 8]", "f32[2, 3]", "u8[2, 3]"],
                "`zero_points` must have 4 elements, but is u8[2, 3]",
            ),
            (
                "matmul_nbits",
                "bits=8 block_size=16",
                &["f32[m, 40]", "u8[n, 3, 8]", "f32[n, 3]"],
                "a block of `b` has 8 bytes, but 16 weights of 8 bits",
            ),
            (
                "matmul_nbits",
                "bits=3 block_size=16",
                &["f32[m, 40]", "u8[n, 3, 6]", "f32[n, 3]"],
                "`bits` must be 4 or 8, but is 3",
            ),
            (
                "conv_integer",
                "pads=[1,1]",
                &["u8[n, 2, 5]", "i8[4, 2, 3]"],
                "i32[n, 4, 5]",
            ),
            (
                "qlinear_conv",
                "",
                &[
                    "u8[n, 2, 5]",
                    "f32",
                    "u8",
                    "i8[4, 2, 3]",
                    "f32[4]",
                    "i8[4]",
                    "f32",
                    "u8",
                    "i32[4]",
                ],
                "u8[n, 4, 3]",
            ),
            (
                "qlinear_conv",
                "",
                &["u8[1, 2, 5]", "f32", "u8", "i8[1, 2, 3]", "f32[2]", "i8", "f32", "u8"],
                "`w_scale` must have one element, or one for each output channel, but is f32[2]",
            ),
            (
                "conv_integer",
                "",
                &["u8[1, 2, 5]", "i8[4, 2, 3]", "u8[2]"],
                "`x_zero_point` must have one element, but is u8[2]",
            ),
            (
                "matmul_integer",
                "",
                &["i32[2, 2]", "i8[2, 2]"],
                "`a` must be u8 or i8, but is i32[2, 2]",
            ),
            (
                "matmul_integer",
                "",
                &["u8[2, 2]", "i8[2, 2]", "i8"],
                "element types differ: `a` is u8[2, 2], `a_zero_point` is i8",
            ),
        ],
    );
}

#[test]
fn values() {
    table(
        eval,
        &[
            // A zero point for each row on the left, and for each column on the right.
            (
                "matmul_integer",
                "",
                &["u8[2,1] 5 7", "i8[1,2] 1 -1", "u8[2] 5 5", "i8[2] 0 1"],
                "i32[2, 2] 0 0 2 -4",
            ),
            (
                "qlinear_matmul",
                "",
                &[
                    "u8[1,2] 1 3",
                    "f32 0.5",
                    "u8 1",
                    "i8[2,1] 1 100",
                    "f32 1",
                    "i8 0",
                    "f32 2",
                    "u8 10",
                ],
                "u8[1, 1] 60",
            ),
            // The lower bits of a byte come first; 8 is the usual zero point.
            (
                "matmul_nbits",
                "block_size=2",
                &["f32[1,2] 2 4", "u8[1,1,1] 154", "f32[1,1] 0.5"],
                "f32[1, 1] 4",
            ),
            (
                "matmul_nbits",
                "block_size=2",
                &["f32[1,2] 2 4", "u8[1,1,1] 154", "f32[1,1] 0.5", "u8[1] 1", "f32[1] 3"],
                "f32[1, 1] 28",
            ),
            // Padding has the value of the zero point.
            (
                "conv_integer",
                "pads=[1,0]",
                &["u8[1,1,2] 4 5", "i8[1,1,2] 1 2", "u8 3", "i8[1] 1"],
                "i32[1, 1, 2] 1 2",
            ),
            (
                "qlinear_conv",
                "",
                &[
                    "u8[1,1,2] 4 5",
                    "f32 1",
                    "u8 3",
                    "i8[2,1,1] 1 100",
                    "f32[2] 1 2",
                    "i8[2] 0 0",
                    "f32 1",
                    "u8 0",
                    "i32[2] 7 0",
                ],
                "u8[1, 2, 2] 8 9 200 255",
            ),
        ],
    );
}
