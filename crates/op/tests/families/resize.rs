use crate::check::{eval, infer, table};

#[test]
fn values() {
    table(
        eval,
        &[
            (
                "resize",
                "",
                &["f32[1, 1, 1, 4] 1 2 3 4", "none", "f32[4] 1 1 1 2"],
                "f32[1, 1, 1, 8] 1 1 2 2 3 3 4 4",
            ),
            (
                "resize",
                "coordinate_transformation_mode=asymmetric",
                &["f32[1, 1, 1, 4] 1 2 3 4", "none", "f32[4] 1 1 1 2"],
                "f32[1, 1, 1, 8] 1 1 2 2 3 3 4 4",
            ),
            (
                "resize",
                "nearest_mode=floor",
                &["f32[1, 1, 1, 4] 1 2 3 4", "none", "f32[4] 1 1 1 2"],
                "f32[1, 1, 1, 8] 1 1 1 2 2 3 3 4",
            ),
            (
                "resize",
                "nearest_mode=ceil",
                &["f32[1, 1, 1, 4] 1 2 3 4", "none", "f32[4] 1 1 1 2"],
                "f32[1, 1, 1, 8] 1 2 2 3 3 4 4 4",
            ),
            (
                "resize",
                "nearest_mode=round_prefer_ceil",
                &["f32[1, 1, 1, 4] 1 2 3 4", "none", "f32[4] 1 1 1 2"],
                "f32[1, 1, 1, 8] 1 1 2 2 3 3 4 4",
            ),
            (
                "resize",
                "mode=linear",
                &["f32[1, 1, 1, 4] 1 2 3 4", "none", "f32[4] 1 1 1 2"],
                "f32[1, 1, 1, 8] 1 1.25 1.75 2.25 2.75 3.25 3.75 4",
            ),
            (
                "resize",
                "mode=linear coordinate_transformation_mode=align_corners",
                &["f32[1, 1, 1, 4] 1 2 3 4", "none", "f32[4] 1 1 1 2"],
                "f32[1, 1, 1, 8] 1 1.4285715 1.8571429 2.2857144 2.7142856 3.142857 3.5714288 4",
            ),
            (
                "resize",
                "mode=linear coordinate_transformation_mode=asymmetric",
                &["f32[1, 1, 1, 4] 1 2 3 4", "none", "f32[4] 1 1 1 2"],
                "f32[1, 1, 1, 8] 1 1.5 2 2.5 3 3.5 4 4",
            ),
            (
                "resize",
                "mode=linear coordinate_transformation_mode=pytorch_half_pixel",
                &["f32[1, 1, 1, 4] 1 2 3 4", "none", "f32[4] 1 1 1 2"],
                "f32[1, 1, 1, 8] 1 1.25 1.75 2.25 2.75 3.25 3.75 4",
            ),
            (
                "resize",
                "mode=cubic",
                &["f32[1, 1, 1, 4] 1 2 3 4", "none", "f32[4] 1 1 1 2"],
                "f32[1, 1, 1, 8] 0.89453125 1.1914063 1.6679688 2.296875 2.703125 3.3320313 3.8085938 4.1054688",
            ),
            (
                "resize",
                "mode=cubic cubic_coeff_a=-0.5 exclude_outside=1",
                &["f32[1, 1, 1, 4] 1 2 3 4", "none", "f32[4] 1 1 1 2"],
                "f32[1, 1, 1, 8] 0.9117647 1.1678833 1.7099236 2.25 2.75 3.2900763 3.8321168 4.088235",
            ),
            (
                "resize",
                "",
                &["f32[1, 1, 2, 2] 1 2 3 4", "none", "f32[4] 1 1 2 2"],
                "f32[1, 1, 4, 4] 1 1 2 2 1 1 2 2 3 3 4 4 3 3 4 4",
            ),
            (
                "resize",
                "mode=linear",
                &["f32[1, 1, 2, 2] 1 2 3 4", "none", "f32[4] 1 1 2 2"],
                "f32[1, 1, 4, 4] 1 1.25 1.75 2 1.5 1.75 2.25 2.5 2.5 2.75 3.25 3.5 3 3.25 3.75 4",
            ),
            (
                "resize",
                "mode=cubic",
                &["f32[1, 1, 2, 2] 1 2 3 4", "none", "f32[4] 1 1 2 2"],
                "f32[1, 1, 4, 4] 0.68359375 1.015625 1.5625 1.8945313 1.3476563 1.6796875 2.2265625 2.5585938 2.4414063 2.7734375 3.3203125 3.6523438 3.1054688 3.4375 3.984375 4.3164063",
            ),
            (
                "resize",
                "",
                &["f32[1, 1, 1, 4] 1 2 3 4", "none", "f32[4] 1 1 1 0.5"],
                "f32[1, 1, 1, 2] 1 3",
            ),
            (
                "resize",
                "mode=linear",
                &["f32[1, 1, 1, 4] 1 2 3 4", "none", "f32[4] 1 1 1 0.6"],
                "f32[1, 1, 1, 2] 1.3333333 2.9999998",
            ),
            (
                "resize",
                "mode=linear coordinate_transformation_mode=align_corners",
                &["f32[1, 1, 1, 4] 1 2 3 4", "none", "f32[4] 1 1 1 0.6"],
                "f32[1, 1, 1, 2] 1 3.142857",
            ),
            (
                "resize",
                "mode=linear coordinate_transformation_mode=half_pixel_symmetric",
                &["f32[1, 1, 1, 4] 1 2 3 4", "none", "f32[4] 1 1 1 0.6"],
                "f32[1, 1, 1, 2] 1.6666667 3.3333333",
            ),
            (
                "resize",
                "mode=linear",
                &["f32[1, 1, 1, 4] 1 2 3 4", "none", "none", "i64[4] 1 1 1 3"],
                "f32[1, 1, 1, 3] 1.1666666 2.5 3.8333333",
            ),
            (
                "resize",
                "mode=linear coordinate_transformation_mode=pytorch_half_pixel",
                &["f32[1, 1, 1, 4] 1 2 3 4", "none", "none", "i64[4] 1 1 1 1"],
                "f32[1, 1, 1, 1] 1",
            ),
            (
                "resize",
                "axes=[2,3] keep_aspect_ratio_policy=not_larger",
                &["f32[1, 1, 1, 4] 1 2 3 4", "none", "none", "i64[2] 3 3"],
                "f32[1, 1, 1, 3] 1 2 4",
            ),
            (
                "resize",
                "axes=[2,3] keep_aspect_ratio_policy=not_smaller",
                &["f32[1, 1, 1, 4] 1 2 3 4", "none", "none", "i64[2] 2 3"],
                "f32[1, 1, 2, 8] 1 1 2 2 3 3 4 4 1 1 2 2 3 3 4 4",
            ),
            (
                "resize",
                "axes=[3,2]",
                &["f32[1, 1, 1, 4] 1 2 3 4", "none", "none", "i64[2] 3 2"],
                "f32[1, 1, 2, 3] 1 2 4 1 2 4",
            ),
            ("upsample", "", &["i32[2] 1 2", "none", "f32[1] 2"], "i32[4] 1 1 2 2"),
            (
                "resize",
                "mode=linear antialias=true",
                &["f32[2] 1 2", "none", "f32[1] 2"],
                "f32[4] 1 1.25 1.75 2",
            ),
            (
                "resize",
                "mode=linear",
                &["i32[2] 1 2", "none", "f32[1] 2"],
                "integers can only be resized with `mode = \"nearest\"`",
            ),
            (
                "resize",
                "",
                &["f32[0]", "none", "none", "i64[1] 2"],
                "axis 0 is empty and cannot be resized to 2",
            ),
            ("resize", "", &["f32[0]", "none", "f32[1] 2"], "f32[0]"),
            (
                "resize",
                "",
                &["f32[2] 1 2", "none", "none", "i64[1] 9000000000000000000"],
                "an array of shape [9000000000000000000] is too large",
            ),
        ],
    );
}

#[test]
fn types() {
    table(
        infer,
        &[
            (
                "resize",
                "scales=[1.0,1.0,2.0,0.5]",
                &["f32[n, 3, h, w]"],
                "f32[n, 3, 2*h, w / 2]",
            ),
            ("resize", "scales=[1.0,1.5]", &["f32[n, h]"], "f32[n, ?]"),
            ("resize", "sizes=[5] axes=[-1]", &["f32[n, h]"], "f32[n, 5]"),
            ("resize", "", &["f32[n, h]", "none", "f32[2]"], "f32[?, ?]"),
            ("resize", "scales=[2.0]", &["f32[..]"], "f32[..]"),
            ("resize", "", &["f32[n, h]"], "neither `scales` nor `sizes` is given"),
            (
                "resize",
                "scales=[2.0] sizes=[2]",
                &["f32[n]"],
                "`scales` and `sizes` are both given",
            ),
            (
                "resize",
                "scales=[2.0]",
                &["f32[n, h]"],
                "`scales` has 1 entries, but 2 axes are resized",
            ),
            (
                "resize",
                "scales=[0.0]",
                &["f32[n]"],
                "scales must be positive, but one is 0.0",
            ),
            (
                "resize",
                "sizes=[-1]",
                &["f32[n]"],
                "sizes must not be negative, but one is -1",
            ),
            (
                "resize",
                "sizes=[4,4] keep_aspect_ratio_policy=not_larger",
                &["f32[2, 8]"],
                "f32[1, 4]",
            ),
        ],
    );
}

#[test]
fn filters_are_widened() {
    let line = "f32[4] 1 2 3 4";
    table(
        eval,
        &[
            (
                "resize",
                "mode=linear antialias=true sizes=[2]",
                &[line],
                "f32[2] 1.625 3.375",
            ),
            (
                "resize",
                "mode=linear antialias=true exclude_outside=true sizes=[2]",
                &[line],
                "f32[2] 1.7142857 3.2857141",
            ),
            (
                "resize",
                "mode=linear antialias=true sizes=[8]",
                &["f32[2] 0 8"],
                "f32[8] 0 0 1 3 5 7 8 8",
            ),
            (
                "resize",
                "antialias=true sizes=[2]",
                &[line],
                "`antialias` does not apply to mode `nearest`",
            ),
        ],
    );
}

#[test]
fn regions_are_resized() {
    let crop = "coordinate_transformation_mode=tf_crop_and_resize";
    let (some, beyond) = (
        format!("{crop} mode=linear sizes=[3]"),
        format!("{crop} extrapolation_value=10 sizes=[3]"),
    );
    let line = "f32[5] 0 1 2 3 4";
    table(
        eval,
        &[
            ("resize", &some, &[line, "f32[2] 0.25 0.75"], "f32[3] 1 2 3"),
            ("resize", &some, &[line, "f32[2] 0.5 0.75"], "f32[3] 2 2.5 3"),
            ("resize", &some, &[line, "f32[2] 0.75 1.25"], "f32[3] 3 4 0"),
            ("resize", &beyond, &[line, "f32[2] 0.75 1.25"], "f32[3] 3 4 10"),
            ("resize", &some, &[line], "`roi` is missing"),
            ("resize", &some, &[line, "f32[1] 0.5"], "`roi` must have 2 entries"),
        ],
    );
}
