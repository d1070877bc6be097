use crate::check::{eval, infer, table};

#[test]
fn values() {
    table(
        eval,
        &[
            ("hardmax", "", &["f32[2, 3] 1 3 3 2 0 1"], "f32[2, 3] 0 1 0 1 0 0"),
            ("hardmax", "axis=0", &["f32[2, 3] 1 3 3 2 3 1"], "f32[2, 3] 0 1 1 1 0 0"),
            (
                "batch_norm",
                "epsilon=0.0",
                &[
                    "f32[1, 2, 2] 1 2 3 4",
                    "f32[2] 1 2",
                    "f32[2] 10 20",
                    "f32[2] 1 2",
                    "f32[2] 4 1",
                ],
                "f32[1, 2, 2] 10 10.5 22 24",
            ),
            (
                "batch_norm",
                "epsilon=3.0",
                &["f32[2, 1] 1 3", "f32[1] 2", "f32[1] 0", "f32[1] 1", "f32[1] 1"],
                "f32[2, 1] 0 2",
            ),
            (
                "instance_norm",
                "epsilon=0.0",
                &["f32[1, 2, 2] 1 3 10 30", "f32[2] 1 2", "f32[2] 10 20"],
                "f32[1, 2, 2] 9 11 18 22",
            ),
            (
                "group_norm",
                "epsilon=0.0 num_groups=1",
                &["f32[1, 2, 2] 1 1 3 3", "f32[2] 1 2", "f32[2] 10 20"],
                "f32[1, 2, 2] 9 9 22 22",
            ),
            (
                "group_norm",
                "epsilon=0.0 num_groups=2",
                &["f32[1, 2, 2] 1 3 10 30", "f32[2] 1 2", "f32[2] 10 20"],
                "f32[1, 2, 2] 9 11 18 22",
            ),
            (
                "layer_norm",
                "epsilon=0.0",
                &["f32[2, 2] 1 3 10 30", "f32[2] 1 2", "f32[2] 10 20"],
                "f32[2, 2] 9 22 9 22",
            ),
            (
                "layer_norm",
                "epsilon=0.0 axis=0",
                &["f32[2, 2] 1 1 3 3", "f32 2"],
                "f32[2, 2] -2 -2 2 2",
            ),
            (
                "lrn",
                "size=2 alpha=2.0 beta=1.0 bias=1.0",
                &["f32[1, 3, 1] 1 2 3"],
                "f32[1, 3, 1] 0.16666667 0.14285715 0.3",
            ),
            (
                "lrn",
                "size=3 alpha=3.0 beta=1.0 bias=0.0",
                &["f32[1, 3, 1] 1 2 3"],
                "f32[1, 3, 1] 0.2 0.14285715 0.23076923",
            ),
            (
                "lp_normalization",
                "axis=1",
                &["f32[2, 2] 3 4 0 0"],
                "f32[2, 2] 0.6 0.8 0 0",
            ),
            (
                "lp_normalization",
                "axis=0 p=1",
                &["f32[2, 2] 3 4 -1 4"],
                "f32[2, 2] 0.75 0.5 -0.25 0.5",
            ),
            (
                "mean_variance_normalization",
                "axes=[0]",
                &["f32[2] 1 3"],
                "f32[2] -1 1",
            ),
            ("softmax", "", &["f32[2, 2] 0 0 1000 0"], "f32[2, 2] 0.5 0.5 1 0"),
            ("softmax", "axis=0", &["f32[2, 2] 0 1 0 1"], "f32[2, 2] 0.5 0.5 0.5 0.5"),
            ("log_softmax", "", &["f32[2] 1000 -1000"], "f32[2] 0 -2000"),
        ],
    );
}

#[test]
fn types() {
    table(
        infer,
        &[
            (
                "batch_norm",
                "",
                &["f32[n, 3, h]", "f32[3]", "f32[3]", "f32[c]", "f32[..]"],
                "f32[n, 3, h]",
            ),
            (
                "batch_norm",
                "",
                &["f32[n, 3, h]", "f32[4]", "f32[3]", "f32[3]", "f32[3]"],
                "`scale` must be a vector of 3, one for each channel of `x` (axis 1 of f32[n, 3, h]), but is f32[4]",
            ),
            (
                "batch_norm",
                "",
                &["f32[3]", "f32[3]", "f32[3]", "f32[3]", "f32[3]"],
                "`x` must have at least 2 axes, but is f32[3]",
            ),
            (
                "group_norm",
                "num_groups=2",
                &["f32[n, 3, h]", "f32[3]", "f32[3]"],
                "3 channels cannot be split into 2 groups of equal size",
            ),
            (
                "group_norm",
                "num_groups=0",
                &["f32[n, 3, h]", "f32[3]", "f32[3]"],
                "`num_groups` must be at least 1, but is 0",
            ),
            ("layer_norm", "", &["f32[n, 4]", "f32[4]"], "f32[n, 4]"),
            (
                "layer_norm",
                "",
                &["f32[n, 4]", "f32[3]"],
                "`scale` is f32[3], which does not broadcast to `x`, f32[n, 4]",
            ),
            (
                "layer_norm",
                "axis=2",
                &["f32[n, 4]", "f32[4]"],
                "axis 2 is out of range for rank 2: it must be in -2..=1",
            ),
            ("lrn", "size=0", &["f32[n, 4]"], "`size` must be at least 1, but is 0"),
            (
                "lp_normalization",
                "p=3",
                &["f32[n, 4]"],
                "`p` must be 1 or 2, but is 3",
            ),
            ("softmax", "", &["f32[n, 4]"], "f32[n, 4]"),
            ("softmax", "", &["f32[..]"], "f32[..]"),
            (
                "softmax",
                "axis=2",
                &["f32[n, 4]"],
                "axis 2 is out of range for rank 2: it must be in -2..=1",
            ),
            (
                "softmax",
                "",
                &["i32[n, 4]"],
                "`x` must be a floating-point number, but is i32[n, 4]",
            ),
        ],
    );
}
