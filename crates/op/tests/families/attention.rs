use crate::check::{eval, infer, table};

#[test]
fn types() {
    table(
        infer,
        &[
            (
                "attention",
                "",
                &["f32[b, 6, s, 8]", "f32[b, 3, t, 8]", "f32[b, 3, t, 10]"],
                "f32[b, 6, s, 10]",
            ),
            (
                "attention",
                "q_num_heads=4 kv_num_heads=2",
                &["f32[b, s, 32]", "f32[b, t, 16]", "f32[b, t, 20]"],
                "f32[b, s, 40]",
            ),
            (
                "attention_with_cache",
                "",
                &[
                    "f32[2, 6, 4, 8]",
                    "f32[2, 3, t, 8]",
                    "f32[2, 3, t, 10]",
                    "none",
                    "f32[2, 3, 12, 8]",
                    "f32[2, 3, 12, 10]",
                ],
                "(f32[2, 6, 4, 10], f32[2, 3, t + 12, 8], f32[2, 3, t + 12, 10], f32[2, 6, 4, t + 12])",
            ),
            (
                "attention",
                "",
                &["f32[b, 5, s, 8]", "f32[b, 3, t, 8]", "f32[b, 3, t, 8]"],
                "5 heads of `q` cannot share 3 heads of `k`",
            ),
            (
                "attention",
                "",
                &["f32[b, s, 8]", "f32[b, t, 8]", "f32[b, t, 8]"],
                "`q_num_heads` is needed if an operand has three axes",
            ),
        ],
    );
}

#[test]
fn values() {
    let (q, k, v) = ("f32[1,1,2,1] 0 0", "f32[1,1,2,1] 1 2", "f32[1,1,2,1] 2 4");
    table(
        eval,
        &[
            ("attention", "", &[q, k, v], "f32[1, 1, 2, 1] 3 3"),
            ("attention", "is_causal=true", &[q, k, v], "f32[1, 1, 2, 1] 2 3"),
            ("attention", "", &[q, k, v, "bool[2,2] 1 0 0 1"], "f32[1, 1, 2, 1] 2 4"),
            // A mask that is too short hides the other keys.
            ("attention", "", &[q, k, v, "bool[2,1] 1 1"], "f32[1, 1, 2, 1] 2 2"),
            (
                "attention",
                "",
                &[q, k, v, "none", "none", "none", "i64[1] 1"],
                "f32[1, 1, 2, 1] 2 2",
            ),
            // With a past, the first query comes after it.
            (
                "attention",
                "is_causal=true",
                &[q, k, v, "none", "f32[1,1,1,1] 5", "f32[1,1,1,1] 6"],
                "f32[1, 1, 2, 1] 4 4",
            ),
            // Two heads of queries share one of keys; the scores are returned unmodified.
            (
                "attention_with_cache",
                "scale=2.0 softcap=1.0",
                &["f32[1,2,1,1] 0 1", "f32[1,1,1,1] 3", "f32[1,1,1,1] 7"],
                "f32[1, 2, 1, 1] 7 7; f32[1, 1, 1, 1] 3; f32[1, 1, 1, 1] 7; f32[1, 2, 1, 1] 0 6",
            ),
        ],
    );
}
