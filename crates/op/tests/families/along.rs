use crate::check::{canonical, eval, infer, table};

const GB: [&str; 2] = ["f32[2] 1 2", "f32[2] 10 20"];

#[test]
fn values_along_the_last_axis() {
    let x = "f32[2, 2] 1 10 3 30";
    let [g, b] = GB;
    let statistics = ["f32[2] 1 10", "f32[2] 4 100"];
    let batch = |given: &'static str, expected: &'static str| {
        let operands = [x, g, b, statistics[0], statistics[1]];
        assert_eq!(eval("batch_norm_along", given, &operands), expected, "{given}");
    };
    batch("axis=-1 epsilon=0.0", "f32[2, 2] 10 20 11 24");
    batch("axis=-1 epsilon=0.0 center=false", "f32[2, 2] 0 0 1 4");
    batch("axis=-1 epsilon=0.0 scale=false", "f32[2, 2] 10 20 11 22");
    batch("axis=-1 epsilon=0.0 scale=false center=false", "f32[2, 2] 0 0 1 2");
    batch("axis=0 epsilon=0.0", "f32[2, 2] 10 14.5 18.6 24");
}

#[test]
fn values_of_the_moments() {
    let [g, b] = GB;
    let image = "f32[1, 2, 2] 1 10 3 30";
    table(
        eval,
        &[
            (
                "layer_norm_along",
                "epsilon=0.0",
                &["f32[1, 2] 1 3", g, b],
                "f32[1, 2] 9 22",
            ),
            (
                "layer_norm_along",
                "epsilon=0.0 axis=0",
                &["f32[2, 1] 1 3", g, b],
                "f32[2, 1] 9 22",
            ),
            (
                "layer_norm_along",
                "epsilon=0.0 scale=false",
                &["f32[1, 2] 1 3", g, b],
                "f32[1, 2] 9 21",
            ),
            (
                "layer_norm_along",
                "epsilon=3.0 center=false",
                &["f32[1, 2] 1 3", g, b],
                "f32[1, 2] -0.5 1",
            ),
            (
                "instance_norm_along",
                "epsilon=0.0 axis=2",
                &[image, g, b],
                "f32[1, 2, 2] 9 18 11 22",
            ),
            (
                "instance_norm_along",
                "epsilon=0.0 axis=1 center=false scale=false",
                &["f32[1, 2, 2] 1 3 30 10", g, b],
                "f32[1, 2, 2] -1 1 1 -1",
            ),
            (
                "group_norm_along",
                "epsilon=0.0 num_groups=2 axis=-1",
                &[image, g, b],
                "f32[1, 2, 2] 9 18 11 22",
            ),
            (
                "group_norm_along",
                "epsilon=0.0 num_groups=1",
                &["f32[1, 2, 2] 1 1 3 3", g, b],
                "f32[1, 2, 2] 9 9 22 22",
            ),
            (
                "group_norm_along",
                "epsilon=0.0 num_groups=1 scale=false center=false",
                &["f32[2, 2] 1 3 8 4", g, b],
                "f32[2, 2] -1 1 1 -1",
            ),
            (
                "l2_normalize",
                "axes=[1]",
                &["f32[2, 2] 3 4 0 0"],
                "f32[2, 2] 0.6 0.8 0 0",
            ),
            ("l2_normalize", "epsilon=100.0", &["f32[2] 3 4"], "f32[2] 0.3 0.4"),
        ],
    );
}

#[test]
fn types() {
    let xgb = &["f32[n, 4, 3]", "f32[3]", "f32[3]"];
    table(
        infer,
        &[
            ("layer_norm_along", "", xgb, "f32[n, 4, 3]"),
            (
                "layer_norm_along",
                "axis=1",
                xgb,
                "`gamma` is f32[3], which is not a vector along the axis of f32[n, 4, 3]",
            ),
            (
                "layer_norm_along",
                "axis=0",
                &["f32[n]", "f32[3]", "f32[3, 1]"],
                "`beta` is f32[3, 1], which is not a vector along the axis of f32[n]",
            ),
            (
                "layer_norm_along",
                "",
                &["i32[3]", "i32[3]", "i32[3]"],
                "`x` must be a floating-point number, but is i32[3]",
            ),
            ("instance_norm_along", "axis=-1", xgb, "f32[n, 4, 3]"),
            ("instance_norm_along", "axis=0", xgb, "axis 0 is the batch axis"),
            (
                "instance_norm_along",
                "",
                &["f32[2, 3]", "f32[3]", "f32[3]"],
                "`x` must have at least 3 axes, but is f32[2, 3]",
            ),
            ("group_norm_along", "num_groups=3 axis=2", xgb, "f32[n, 4, 3]"),
            (
                "group_norm_along",
                "num_groups=2 axis=2",
                xgb,
                "3 channels cannot be split into 2 groups of equal size",
            ),
            (
                "group_norm_along",
                "num_groups=0",
                xgb,
                "`num_groups` must be at least 1, but is 0",
            ),
            (
                "group_norm_along",
                "num_groups=1 axis=-3",
                &["f32[3, 4]", "f32[3]", "f32[3]"],
                "axis -3 is out of range for rank 2: it must be in -2..=1",
            ),
            (
                "group_norm_along",
                "num_groups=1 axis=-2",
                &["f32[3, 4]", "f32[3]", "f32[3]"],
                "axis 0 is the batch axis",
            ),
            ("l2_normalize", "", &["f32[..]"], "f32[..]"),
            (
                "l2_normalize",
                "axes=[2]",
                &["f32[n, 4]"],
                "axis 2 is out of range for rank 2: it must be in -2..=1",
            ),
        ],
    );
    table(
        canonical,
        &[
            (
                "l2_normalize",
                "axes=[-1,0]",
                &["f32[n, 4]"],
                "axes=[0, 1] epsilon=1e-5",
            ),
            ("l2_normalize", "", &["f32[n, 4]"], "axes=[0, 1] epsilon=1e-5"),
        ],
    );
}
