use crate::check::{canonical, eval, infer, table};

#[test]
fn types_follow_the_cuts() {
    table(
        infer,
        &[
            ("slice", "starts=[1] ends=[3]", &["f32[5, n]"], "f32[2, n]"),
            ("slice", "starts=[0] ends=[9223372036854775807]", &["f32[n]"], "f32[n]"),
            ("slice", "starts=[0] ends=[n]", &["f32[n]"], "f32[n]"),
            ("slice", "starts=[0] ends=[-1]", &["f32[n]"], "f32[max(0, n - 1)]"),
            (
                "slice",
                "starts=[1] ends=[9223372036854775807]",
                &["f32[n]"],
                "f32[max(0, n - 1)]",
            ),
            (
                "slice",
                "starts=[-2] ends=[9223372036854775807]",
                &["f32[n]"],
                "f32[min(2, n)]",
            ),
            (
                "slice",
                "starts=[-1] ends=[-9223372036854775808] steps=[-1]",
                &["f32[n]"],
                "f32[n]",
            ),
            (
                "slice",
                "starts=[0] ends=[5] steps=[0]",
                &["f32[n]"],
                "a step must not be 0",
            ),
            ("slice", "axes=[1]", &["f32[n, 4]", "i64[1]", "i64[1]"], "f32[n, ?]"),
            ("slice", "starts=[0] ends=[1]", &["f32[..]"], "f32[..]"),
        ],
    );
}

#[test]
fn attributes_have_a_normal_form() {
    table(
        canonical,
        &[(
            "slice",
            "starts=[1] ends=[3]",
            &["f32[5, n]"],
            "starts=[1] ends=[3] axes=[0] steps=[1]",
        )],
    );
}

#[test]
fn elements_end_up_in_their_places() {
    let x = "i64[5] 0 1 2 3 4";
    table(
        eval,
        &[
            ("slice", "starts=[1] ends=[-1]", &[x], "i64[3] 1 2 3"),
            (
                "slice",
                "",
                &[x, "i64[1] -1", "i64[1] -9", "i64[1] 0", "i64[1] -2"],
                "i64[3] 4 2 0",
            ),
            ("slice", "starts=[3] ends=[1]", &[x], "i64[0]"),
            ("slice", "starts=[7] ends=[9]", &[x], "i64[0]"),
            ("slice", "starts=[20] ends=[0] steps=[-1]", &[x], "i64[4] 4 3 2 1"),
            (
                "slice",
                "",
                &["f32[2, 2] 1 2 3 4", "i32[1] 1", "i32[1] 2", "i32[1] -1"],
                "f32[2, 1] 2 4",
            ),
        ],
    );
}
