use crate::check::{eval, infer, table};

#[test]
fn values() {
    table(
        eval,
        &[
            (
                "matmul",
                "",
                &["f32[2, 3] 1 2 3 4 5 6", "f32[3, 2] 1 2 3 4 5 6"],
                "f32[2, 2] 22 28 49 64",
            ),
            ("matmul", "", &["f32[3] 1 2 3", "f32[3] 1 2 3"], "f32 14"),
            ("matmul", "", &["f32[3] 1 2 3", "f32[3, 2] 1 2 3 4 5 6"], "f32[2] 22 28"),
            ("matmul", "", &["f32[2, 3] 1 2 3 4 5 6", "f32[3] 1 2 3"], "f32[2] 14 32"),
            (
                "matmul",
                "",
                &["f32[2, 1, 1, 2] 1 2 3 4", "f32[2, 2, 1] 1 2 3 4"],
                "f32[2, 2, 1, 1] 5 11 11 25",
            ),
            ("matmul", "", &["f32[2] 1 2", "f32[2, 2, 1] 1 2 3 4"], "f32[2, 1] 5 11"),
            ("matmul", "", &["i32[2, 1, 2] 1 2 3 4", "i32[2] 1 2"], "i32[2, 1] 5 11"),
            (
                "gemm",
                "",
                &["f32[2, 3] 1 2 3 4 5 6", "f32[3, 2] 1 2 3 4 5 6"],
                "f32[2, 2] 22 28 49 64",
            ),
            (
                "gemm",
                "transA=1 transB=1",
                &["f32[3, 2] 1 2 3 4 5 6", "f32[2, 3] 1 2 3 4 5 6"],
                "f32[2, 2] 22 49 28 64",
            ),
            (
                "gemm",
                "transB=1 alpha=0.5 beta=2.0",
                &["f32[1, 2] 1 2", "f32[2, 2] 1 2 3 4", "f32[2] 1 2"],
                "f32[1, 2] 4.5 9.5",
            ),
            (
                "gemm",
                "transA=1",
                &["f32[2, 2] 1 2 3 4", "f32[2, 1] 1 2", "f32[2, 1] 1 2"],
                "f32[2, 1] 8 12",
            ),
            ("gemm", "", &["f32[1, 2] 1 2", "f32[2, 1] 1 2", "f32 3"], "f32[1, 1] 8"),
            (
                "dense",
                "",
                &["f32[1, 2] 1 2", "f32[2, 2] 1 2 3 4", "f32[2] 10 20"],
                "f32[1, 2] 15 31",
            ),
            ("dense", "", &["f32[1, 2] 1 2", "f32[1, 2] 3 4"], "f32[1, 1] 11"),
            (
                "batch_matmul",
                "",
                &["f32[2, 1, 2] 1 2 3 4", "f32[2, 2, 2] 1 2 3 4 5 6 7 8"],
                "f32[2, 1, 2] 5 11 39 53",
            ),
            (
                "bias_add",
                "",
                &["f32[1, 2, 2] 1 2 3 4", "f32[2] 10 20"],
                "f32[1, 2, 2] 11 12 23 24",
            ),
            (
                "bias_add",
                "axis=-1",
                &["f32[1, 2, 2] 1 2 3 4", "f32[2] 10 20"],
                "f32[1, 2, 2] 11 22 13 24",
            ),
            ("matmul", "", &["u8[1, 2] 16 16", "u8[2, 1] 16 1"], "u8[1, 1] 16"),
            ("matmul", "", &["f32[2, 0]", "f32[0, 1]"], "f32[2, 1] 0 0"),
        ],
    );
}

#[test]
fn types() {
    table(
        infer,
        &[
            ("matmul", "", &["f32[b, 1, m, k]", "f32[4, k, n]"], "f32[b, 4, m, n]"),
            ("matmul", "", &["f32[k]", "f32[k, n]"], "f32[n]"),
            ("matmul", "", &["f32[..]", "f32[2]"], "f32[..]"),
            (
                "matmul",
                "",
                &["f32[2, 3]", "f32[4, 5]"],
                "`a` is f32[2, 3] and `b` is f32[4, 5]: axis 1 of `a` is 3, axis 0 of `b` is 4, and they must be equal",
            ),
            (
                "matmul",
                "",
                &["f32[2, 2, 3]", "f32[3, 3, 5]"],
                "the leading axes of `a` and `b` do not broadcast: axis 0 of [2] is 2, axis 0 of [3] is 3",
            ),
            (
                "matmul",
                "",
                &["f32", "f32[3]"],
                "`a` must have at least one axis, but is f32",
            ),
            (
                "matmul",
                "",
                &["f32[3]", "i32[3]"],
                "element types differ: `a` is f32[3], `b` is i32[3]",
            ),
            (
                "gemm",
                "transA=true",
                &["f32[k, m]", "f32[k, n]", "f32[n]"],
                "f32[m, n]",
            ),
            ("gemm", "", &["f32[..]", "f32[3, 4]"], "f32[?, 4]"),
            (
                "gemm",
                "transB=true",
                &["f32[2, 3]", "f32[3, 4]"],
                "`a` is f32[2, 3] and `b` is f32[3, 4]: axis 1 of `a` is 3, axis 1 of `b` is 4, and they must be equal",
            ),
            (
                "gemm",
                "",
                &["f32[2, 3]", "f32[3, 4]", "f32[2]"],
                "`c` of shape [2] does not broadcast to the product's shape [2, 4]: axis 0 is 2, not 4",
            ),
            (
                "gemm",
                "alpha=0.5",
                &["i32[2, 3]", "i32[3, 4]"],
                "a product of integers cannot be scaled by 0.5",
            ),
            ("dense", "", &["f32[n, t, 3]", "f32[4, 3]", "f32[4]"], "f32[n, t, 4]"),
            (
                "dense",
                "",
                &["f32[n, 3]", "f32[4, 2]"],
                "`x` is f32[n, 3] and `w` is f32[4, 2]: axis 1 of `x` is 3, axis 1 of `w` is 2, and they must be equal",
            ),
            ("batch_matmul", "", &["f32[b, m, 3]", "f32[b, n, 3]"], "f32[b, m, n]"),
            (
                "bias_add",
                "",
                &["f32[n, 3, h]", "f32[4]"],
                "`x` is f32[n, 3, h] and `b` is f32[4]: axis 1 of `x` is 3, axis 0 of `b` is 4, and they must be equal",
            ),
            (
                "bias_add",
                "axis=3",
                &["f32[n, 3, h]", "f32[4]"],
                "axis 3 is out of range for rank 3: it must be in -3..=2",
            ),
        ],
    );
}
