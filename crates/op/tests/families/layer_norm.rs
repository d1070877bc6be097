use crate::check::{eval, infer, table};

#[test]
fn types() {
    table(
        infer,
        &[
            ("rms_normalization", "", &["f32[n, 4]", "f32[4]"], "f32[n, 4]"),
            ("rms_normalization", "", &["f32[n, 4]", "f16[4]"], "f16[n, 4]"),
            (
                "layer_normalization_with_statistics",
                "axis=1",
                &["f16[n, 4, k]", "f16[4, k]"],
                "(f16[n, 4, k], f32[n, 1, 1], f32[n, 1, 1])",
            ),
            (
                "rms_normalization",
                "",
                &["f32[n, 4]", "f32[3]"],
                "`scale` is f32[3], which does not broadcast to `x`, f32[n, 4]",
            ),
            (
                "rms_normalization",
                "stash_type=i32",
                &["f32[n, 4]", "f32[4]"],
                "`stash_type` is i32, which is not a floating-point type",
            ),
        ],
    );
}

#[test]
fn values() {
    table(
        eval,
        &[
            (
                "rms_normalization",
                "epsilon=0.0",
                &["f32[1,2] 7 1", "f32[2] 1 10"],
                "f32[1, 2] 1.4 2",
            ),
            (
                "layer_normalization_with_statistics",
                "epsilon=0.0",
                &["f32[1,2] 1 5", "f32[2] 1 10", "f32[2] 0 1"],
                "f32[1, 2] -1 11; f32[1, 1] 3; f32[1, 1] 0.5",
            ),
        ],
    );
}
