use crate::check::{eval, infer, table};

#[test]
fn types_follow_the_attributes() {
    table(
        infer,
        &[
            ("top_k", "k=2", &["f32[n, 3]"], "(f32[n, 2], i64[n, 2])"),
            ("top_k", "axis=0", &["f32[n, 3]", "i64[1]"], "(f32[?, 3], i64[?, 3])"),
            (
                "top_k",
                "k=4",
                &["f32[n, 3]"],
                "`k` is 4, but axis 1 of [n, 3] has 3 elements",
            ),
            ("unique", "", &["f32[2, 3]"], "(f32[?], i64[?], i64[6], i64[?])"),
            (
                "unique",
                "axis=-1",
                &["f32[n, 3]"],
                "(f32[n, ?], i64[?], i64[3], i64[?])",
            ),
            ("compress", "axis=1", &["f32[n, 3]", "bool[2]"], "f32[n, ?]"),
            ("compress", "", &["f32[..]", "bool[2]"], "f32[?]"),
        ],
    );
}

#[test]
fn elements_are_chosen() {
    let x = "f32[2, 3] 1 5 5 4 0 2";
    table(
        eval,
        &[
            ("top_k", "", &[x, "i64[1] 2"], "f32[2, 2] 5 5 4 2; i64[2, 2] 1 2 0 2"),
            (
                "top_k",
                "axis=0 largest=false k=1",
                &[x],
                "f32[1, 3] 1 0 2; i64[1, 3] 0 1 1",
            ),
            ("top_k", "k=0", &[x], "f32[2, 0]; i64[2, 0]"),
            (
                "unique",
                "",
                &[x],
                "f32[5] 0 1 2 4 5; i64[5] 4 0 5 3 1; i64[6] 1 4 4 3 0 2; i64[5] 1 1 1 1 2",
            ),
            (
                "unique",
                "sorted=false",
                &["i64[4] 3 1 3 2"],
                "i64[3] 3 1 2; i64[3] 0 1 3; i64[4] 0 1 0 2; i64[3] 2 1 1",
            ),
            (
                "unique",
                "axis=0",
                &["i64[3, 2] 1 0 0 1 1 0"],
                "i64[2, 2] 0 1 1 0; i64[2] 1 0; i64[3] 1 0 1; i64[2] 1 2",
            ),
            ("compress", "axis=1", &[x, "bool[2] 0 1"], "f32[2, 1] 5 0"),
            ("compress", "", &[x, "bool[4] 1 0 0 1"], "f32[2] 1 4"),
            (
                "compress",
                "axis=0",
                &[x, "bool[3] 0 0 1"],
                "`condition` is true beyond the 2 elements available",
            ),
        ],
    );
}
