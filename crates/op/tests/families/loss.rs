use crate::check::{eval, infer, table};

#[test]
fn types() {
    table(
        infer,
        &[
            ("nll_loss", "", &["f32[n, 5]", "i64[n]"], "f32"),
            (
                "nll_loss",
                "reduction=none",
                &["f32[n, 5, 7]", "i64[n, 7]", "f32[5]"],
                "f32[n, 7]",
            ),
            (
                "softmax_cross_entropy_loss_with_log_prob",
                "",
                &["f64[n, 5]", "i32[n]"],
                "(f64, f64[n, 5])",
            ),
            (
                "nll_loss",
                "",
                &["f32[3, 5]", "i64[4]"],
                "`labels` is i64[4], but must have the axes of `scores`, f32[3, 5], except axis 1",
            ),
            (
                "nll_loss",
                "",
                &["f32[3]", "i64[3]"],
                "`scores` must have at least 2 axes, but is f32[3]",
            ),
        ],
    );
}

#[test]
fn values() {
    let scores = "f32[2,3] -1 -2 -3 -4 -5 -6";
    table(
        eval,
        &[
            ("nll_loss", "reduction=none", &[scores, "i64[2] 0 2"], "f32[2] 1 6"),
            ("nll_loss", "reduction=sum", &[scores, "i64[2] 0 2"], "f32 7"),
            ("nll_loss", "", &[scores, "i64[2] 0 2"], "f32 3.5"),
            // The mean is weighted.
            ("nll_loss", "", &[scores, "i64[2] 0 2", "f32[3] 3 1 1"], "f32 2.25"),
            // An ignored label need not be a class.
            ("nll_loss", "ignore_index=-1", &[scores, "i64[2] 0 -1"], "f32 1"),
            (
                "nll_loss",
                "ignore_index=7 reduction=none",
                &[scores, "i64[2] 7 1", "f32[3] 1 2 1"],
                "f32[2] 0 10",
            ),
            (
                "softmax_cross_entropy_loss",
                "reduction=sum",
                &["f32[1,2] 0 0", "i64[1] 1"],
                "f32 0.6931472",
            ),
        ],
    );
}
