use crate::check::{eval, infer, table};

#[test]
fn elements_are_written_behind_each_other() {
    let cache = "f32[2, 3, 1] 1 2 3 4 5 6";
    let update = "f32[2, 2, 1] 7 8 9 10";
    table(
        eval,
        &[
            ("tensor_scatter", "", &[cache, update], "f32[2, 3, 1] 7 8 3 9 10 6"),
            (
                "tensor_scatter",
                "",
                &[cache, update, "i64[2] 1 0"],
                "f32[2, 3, 1] 1 7 8 9 10 6",
            ),
            (
                "tensor_scatter",
                "mode=circular",
                &[cache, update, "i64[2] 2 4"],
                "f32[2, 3, 1] 8 2 7 4 9 10",
            ),
            (
                "tensor_scatter",
                "",
                &[cache, update, "i64[2] 2 0"],
                "2 elements are written outside an axis of size 3",
            ),
        ],
    );
    table(
        infer,
        &[
            (
                "tensor_scatter",
                "",
                &["f32[b, n, 4]", "f32[b, m, 4]", "i64[b]"],
                "f32[b, n, 4]",
            ),
            (
                "tensor_scatter",
                "",
                &["f32[b, 3, 4]", "f32[b, 5, 4]"],
                "`update` is [b, 5, 4], which does not fit a cache of [b, 3, 4]",
            ),
            (
                "tensor_scatter",
                "axis=0",
                &["f32[3, 4]", "f32[1, 4]"],
                "axis 0 is the batch axis",
            ),
        ],
    );
}
