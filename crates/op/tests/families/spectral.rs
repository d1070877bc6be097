use crate::check::{eval, infer, table};

#[test]
fn types_follow_the_lengths() {
    table(
        infer,
        &[
            ("dft", "", &["f32[n, 8, 1]"], "f32[n, 8, 2]"),
            ("dft", "onesided=true dft_length=6", &["f32[n, 8, 1]"], "f32[n, 4, 2]"),
            (
                "dft",
                "inverse=true onesided=true axis=1",
                &["f32[n, 5, 2]"],
                "f32[n, 8, 1]",
            ),
            ("dft", "", &["f32[n, 8, 1]", "i64"], "f32[n, ?, 2]"),
            (
                "dft",
                "axis=2",
                &["f32[n, 8, 1]"],
                "axis 2 holds the parts of complex numbers",
            ),
            (
                "dft",
                "",
                &["f32[n, 8, 3]"],
                "the last axis of f32[n, 8, 3] must have size 1 or 2",
            ),
            ("stft", "frame_step=2", &["f32[n, 8, 1]", "f32[4]"], "f32[n, 3, 3, 2]"),
            (
                "stft",
                "frame_step=2 frame_length=4 onesided=false",
                &["f32[n, 8]"],
                "f32[n, 3, 4, 2]",
            ),
            ("stft", "", &["f32[n, 8]", "f32[4]", "i64"], "f32[n, ?, 3, 2]"),
            (
                "stft",
                "frame_step=0",
                &["f32[n, 8]"],
                "`frame_step` must be at least 1, but is 0",
            ),
        ],
    );
}

#[test]
fn signals_are_transformed() {
    let x = "f32[1, 4, 1] 1 2 3 4";
    let full = "f32[1, 4, 2] 10 0 -2 2 -2 0 -2 -2";
    table(
        eval,
        &[
            ("dft", "", &[x], full),
            ("dft", "onesided=true", &[x], "f32[1, 3, 2] 10 0 -2 2 -2 0"),
            ("dft", "inverse=true", &[full], "f32[1, 4, 2] 1 0 2 0 3 0 4 0"),
            (
                "dft",
                "inverse=true onesided=true",
                &["f32[1, 3, 2] 10 0 -2 2 -2 0"],
                "f32[1, 4, 1] 1 2 3 4",
            ),
            ("dft", "", &[x, "i64 2"], "f32[1, 2, 2] 3 0 -1 0"),
            ("dft", "", &["f32[1, 1, 2] 1 2", "none", "i64 1"], "f32[1, 1, 2] 1 2"),
            (
                "stft",
                "",
                &["f32[1, 4] 1 2 3 4", "f32[2] 1 2", "i64 2"],
                "f32[1, 2, 2, 2] 5 0 -3 0 11 0 -5 0",
            ),
        ],
    );
}
