use crate::check::{eval, infer, table};

#[test]
fn types() {
    table(
        infer,
        &[
            (
                "rotary_embedding",
                "num_heads=2",
                &["f32[b, s, 16]", "f32[b, s, 4]", "f32[b, s, 4]"],
                "f32[b, s, 16]",
            ),
            (
                "rotary_embedding",
                "rotary_embedding_dim=3",
                &["f32[b, 2, s, 8]", "f32[50, 2]", "f32[50, 2]", "i64[b, s]"],
                "3 of 8 elements of a head cannot be split into pairs",
            ),
            (
                "rotary_embedding",
                "",
                &["f32[1, 2, 3, 2]", "f32[1, 3, 1]", "f32[1, 3, 2]"],
                "the last axis of `sin_cache` must be 1, an angle for each pair of 2 elements, but it is f32[1, 3, 2]",
            ),
            (
                "causal_conv_with_state",
                "",
                &["f32[b, c, l]", "f32[c, 1, 4]"],
                "(f32[b, c, l], f32[b, c, 3])",
            ),
            (
                "causal_conv_with_state",
                "",
                &["f32[b, c, l]", "f32[c, 1, 4]", "none", "f32[2, c, p]"],
                "(f32[2, c, l], f32[2, c, 3])",
            ),
            (
                "causal_conv_with_state",
                "",
                &["f32[2, 4, 8]", "f32[4, 1, 3]", "f32[4]", "f32[2, 4, 4]"],
                "axis 2 of `past_state` must be 2, but its shape is [2, 4, 4]",
            ),
            (
                "causal_conv_with_state",
                "",
                &["f32[2, 4, 8]", "f32[4, 2, 3]"],
                "`weight` is [4, 2, 3], but must be [channels, 1, positions] with at least one position",
            ),
            (
                "causal_conv_with_state",
                "",
                &["f32[2, 4, 8]", "f32[4, 1, 3]", "f32[3]"],
                "`bias` is [3], but must have one element for each channel",
            ),
        ],
    );
}

#[test]
fn values() {
    table(
        eval,
        &[
            // (1, 2) turned by a quarter, and (3, 4) unchanged.
            (
                "rotary_embedding",
                "rotary_embedding_dim=2",
                &["f32[1,1,1,4] 1 2 3 4", "f32[2,1] 1 0", "f32[2,1] 0 1", "i64[1,1] 1"],
                "f32[1, 1, 1, 4] -2 1 3 4",
            ),
            (
                "rotary_embedding",
                "interleaved=true num_heads=1",
                &["f32[1,1,4] 1 2 3 4", "f32[1,1,2] 0 1", "f32[1,1,2] 1 0"],
                "f32[1, 1, 4] -2 1 3 4",
            ),
            (
                "causal_conv_with_state",
                "",
                &["f32[1,1,3] 1 2 3", "f32[1,1,2] 10 1", "f32[1] 0.5", "f32[1,1,1] 4"],
                "f32[1, 1, 3] 41.5 12.5 23.5; f32[1, 1, 1] 3",
            ),
        ],
    );
}
