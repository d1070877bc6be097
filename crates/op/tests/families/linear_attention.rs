use crate::check::{eval, infer, table};

#[test]
fn types() {
    table(
        infer,
        &[
            (
                "linear_attention",
                "q_num_heads=4 kv_num_heads=2 update_rule=linear",
                &["f32[b, t, 12]", "f32[b, t, 6]", "f32[b, t, 10]"],
                "(f32[b, t, 20], f32[b, 2, 3, 5])",
            ),
            (
                "linear_attention",
                "q_num_heads=1 kv_num_heads=1 update_rule=gated",
                &["f32[b, t, 3]", "f32[b, t, 3]", "f32[b, t, 3]"],
                "update rule \"gated\" needs `decay`",
            ),
            (
                "linear_attention",
                "q_num_heads=3 kv_num_heads=2 update_rule=linear",
                &["f32[b, t, 12]", "f32[b, t, 6]", "f32[b, t, 10]"],
                "3 heads of `query` cannot share 2 heads of `key`",
            ),
        ],
    );
}

#[test]
fn values() {
    let (q, k, v) = ("f32[1,2,1] 1 1", "f32[1,2,1] 1 2", "f32[1,2,1] 3 5");
    table(
        eval,
        &[
            // The state is 1 * 3, then 3 + 2 * 5.
            (
                "linear_attention",
                "q_num_heads=1 kv_num_heads=1 update_rule=linear",
                &[q, k, v],
                "f32[1, 2, 1] 3 13; f32[1, 1, 1, 1] 13",
            ),
            // With the stored value subtracted: 3, then 3 + 2 * (5 - 2 * 3).
            (
                "linear_attention",
                "q_num_heads=1 kv_num_heads=1 update_rule=delta scale=2.0",
                &[q, k, v, "none", "none", "f32[1,2,1] 1 1"],
                "f32[1, 2, 1] 6 2; f32[1, 1, 1, 1] 1",
            ),
        ],
    );
}
