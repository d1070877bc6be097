use crate::check::{canonical, eval, infer, table};

#[test]
fn types() {
    table(
        infer,
        &[
            ("quantize_linear", "", &["f32[n, 3]", "f32"], "u8[n, 3]"),
            ("quantize_linear", "", &["f32[n, 3]", "f32[3]", "i16[3]"], "i16[n, 3]"),
            (
                "quantize_linear",
                "axis=0 block_size=2",
                &["f32[5, 3]", "f32[3, 3]"],
                "u8[5, 3]",
            ),
            (
                "quantize_linear",
                "axis=0",
                &["f32[5, 3]", "f32[3]"],
                "the scale f32[3] does not have one number for each position of an axis of `x`, f32[5, 3]",
            ),
            (
                "quantize_linear",
                "block_size=2",
                &["f32[5, 3]", "f32[5, 3]"],
                "the scale f32[5, 3] does not have one number for each block of `x`, f32[5, 3]",
            ),
            ("dequantize_linear", "", &["i32[n]", "f16"], "f16[n]"),
            (
                "dequantize_linear",
                "output_dtype=f32",
                &["u8[n]", "f16[1]", "u8[1]"],
                "f32[n]",
            ),
            (
                "dequantize_linear",
                "axis=0 block_size=16",
                &["u4[32, 3]", "f32[2, 3]", "u4[6, 1]"],
                "the scale is f32[2, 3], but the zero point is u4[6, 1]",
            ),
            ("dequantize_linear", "", &["u8[n]", "f32", "u8[1]"], "f32[n]"),
            ("dynamic_quantize_linear", "", &["f32[n]"], "(u8[n], f32, u8)"),
        ],
    );
}

#[test]
fn normal_forms() {
    table(
        canonical,
        &[
            (
                "quantize_linear",
                "axis=-1",
                &["f32[5, 4, 3]", "f32[3]", "i8[3]"],
                "axis=2 block_size=0 output_dtype=i8 precision=none saturate=true",
            ),
            // A single scale has no axis.
            (
                "dequantize_linear",
                "axis=0",
                &["u8[5]", "f32"],
                "axis=1 block_size=0 output_dtype=f32",
            ),
            // Nor has it blocks.
            (
                "dequantize_linear",
                "axis=0 block_size=2",
                &["u8[5]", "f32[1]"],
                "axis=1 block_size=0 output_dtype=f32",
            ),
        ],
    );
}

#[test]
fn values() {
    table(
        eval,
        &[
            // Ties go to the even integer, before the zero point is added.
            (
                "quantize_linear",
                "",
                &["f32[5] 1 3 5 1000 -1000", "f32 2", "u8 3"],
                "u8[5] 3 5 5 255 0",
            ),
            (
                "quantize_linear",
                "axis=0",
                &["f32[2,2] 1 2 3 4", "f32[2] 1 0.5", "i8[2] 0 -10"],
                "i8[2, 2] 1 2 -4 -2",
            ),
            (
                "quantize_linear",
                "block_size=2 output_dtype=i16",
                &["f32[1,3] 4 8 -90000", "f32[1,2] 4 1"],
                "i16[1, 3] 1 2 -32768",
            ),
            (
                "dequantize_linear",
                "",
                &["u8[2] 0 255", "f32 0.5", "u8 128"],
                "f32[2] -64 63.5",
            ),
            (
                "dequantize_linear",
                "block_size=2",
                &["i8[1,3] 1 2 3", "f32[1,2] 1 10", "i8[1,2] 1 0"],
                "f32[1, 3] 0 1 30",
            ),
            (
                "dynamic_quantize_linear",
                "",
                &["f32[3] -1 0 4.1"],
                "u8[3] 0 50 255; f32 0.02; u8 50",
            ),
            (
                "dynamic_quantize_linear",
                "",
                &["f32[1] 0"],
                "u8[1] 0; f32 0.003921569; u8 0",
            ),
        ],
    );
}
