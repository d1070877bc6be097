use crate::check::{eval, infer, table};

#[test]
fn types_follow_the_grid() {
    table(
        infer,
        &[
            (
                "grid_sample",
                "",
                &["f32[n, 3, 4, 5]", "f32[n, 6, 7, 2]"],
                "f32[n, 3, 6, 7]",
            ),
            (
                "grid_sample",
                "mode=nearest",
                &["i32[1, 3, 4, 5, 6]", "f32[1, 6, 7, 8, 3]"],
                "i32[1, 3, 6, 7, 8]",
            ),
            (
                "grid_sample",
                "",
                &["f32[1, 3, 4, 5]", "f32[1, 6, 7, 3]"],
                "the last axis of `grid` must have 2 coordinates, but is 3",
            ),
            (
                "roi_align",
                "output_height=5 output_width=6",
                &["f32[1, c, 8, 8]", "f32[n, 4]", "i64[n]"],
                "f32[n, c, 5, 6]",
            ),
            (
                "deform_conv",
                "pads=[1,1,1,1]",
                &["f32[n, 2, 4, 4]", "f32[3, 2, 3, 3]", "f32[n, 18, 4, 4]"],
                "f32[n, 3, 4, 4]",
            ),
            (
                "deform_conv",
                "",
                &["f32[n, 2, 4, 4]", "f32[3, 2, 3, 3]", "f32[n, 18, 4, 4]"],
                "`offset` has 4 positions along axis 2, but the window has 2",
            ),
            (
                "deform_conv",
                "offset_group=2",
                &["f32[n, 2, 4, 4]", "f32[3, 2, 3, 3]", "f32[n, 18, 2, 2]"],
                "`offset` has 18 channels, but 36 are needed",
            ),
            (
                "deform_conv",
                "",
                &["f32[2, 2, 4, 4]", "f32[3, 2, 3, 3]", "f32[1, 18, 2, 2]"],
                "`offset` has a batch of 1, but `x` has one of 2",
            ),
            (
                "deform_conv",
                "group=2",
                &["f32[1, 2, 4, 4]", "f32[3, 1, 3, 3]", "f32[1, 18, 2, 2]"],
                "`group` does not divide the channels of the result",
            ),
        ],
    );
}

#[test]
fn elements_are_interpolated() {
    let x = "f32[1, 1, 2, 2] 1 2 3 4";
    let corner = "f32[1, 1, 2, 2] -1 -1 0 0";
    table(
        eval,
        &[
            (
                "grid_sample",
                "align_corners=true",
                &[x, corner],
                "f32[1, 1, 1, 2] 1 2.5",
            ),
            ("grid_sample", "", &[x, corner], "f32[1, 1, 1, 2] 0.25 2.5"),
            (
                "grid_sample",
                "padding_mode=border",
                &[x, corner],
                "f32[1, 1, 1, 2] 1 2.5",
            ),
            (
                "grid_sample",
                "padding_mode=reflection",
                &[x, "f32[1, 1, 1, 2] -2 -0.5"],
                "f32[1, 1, 1, 1] 1.5",
            ),
            (
                "grid_sample",
                "mode=nearest align_corners=true",
                &["i32[1, 1, 2, 2] 1 2 3 4", "f32[1, 1, 2, 2] 0.9 1 0 3"],
                "i32[1, 1, 1, 2] 4 0",
            ),
            (
                "grid_sample",
                "mode=cubic align_corners=true",
                &["f32[1, 1, 5] 0 1 4 9 16", "f32[1, 2, 1] 0.25 0"],
                "f32[1, 1, 2] 6.125 4",
            ),
        ],
    );
}

#[test]
fn regions_are_pooled() {
    let x = "f32[1, 1, 2, 2] 1 2 3 4";
    let region = "f32[1, 4] 0 0 2 2";
    table(
        eval,
        &[
            (
                "roi_align",
                "sampling_ratio=1",
                &[x, region, "i64[1] 0"],
                "f32[1, 1, 1, 1] 2.5",
            ),
            (
                "roi_align",
                "sampling_ratio=1 coordinate_transformation_mode=output_half_pixel",
                &[x, region, "i64[1] 0"],
                "f32[1, 1, 1, 1] 4",
            ),
            (
                "roi_align",
                "output_width=2",
                &[x, region, "i64[1] 0"],
                "f32[1, 1, 1, 2] 2 3",
            ),
            ("roi_align", "mode=max", &[x, region, "i64[1] 0"], "f32[1, 1, 1, 1] 4"),
            (
                "roi_align",
                "",
                &[x, region, "i64[1] 1"],
                "the batch index of a region is out of range",
            ),
        ],
    );
}

#[test]
fn windows_are_deformed() {
    let x = "f32[1, 1, 3, 3] 0 1 2 3 4 5 6 7 8";
    let w = "f32[1, 1, 2, 2] 1 1 1 1";
    let still = format!("f32[1, 8, 2, 2]{}", " 0".repeat(32));
    // The first window element is moved half a step down.
    let down = format!("f32[1, 8, 2, 2]{}{}", " 0.5".repeat(4), " 0".repeat(28));
    let half = format!("f32[1, 4, 2, 2]{}", " 0.5".repeat(16));
    table(
        eval,
        &[
            ("deform_conv", "", &[x, w, &still], "f32[1, 1, 2, 2] 8 12 20 24"),
            ("deform_conv", "", &[x, w, &down], "f32[1, 1, 2, 2] 9.5 13.5 21.5 25.5"),
            (
                "deform_conv",
                "",
                &[x, w, &still, "f32[1] 1", &half],
                "f32[1, 1, 2, 2] 5 7 11 13",
            ),
        ],
    );
}
