use crate::check::{canonical, eval, infer, table};

#[test]
fn types_follow_the_cuts() {
    table(
        infer,
        &[
            ("concat", "axis=-1", &["f32[n, 2]", "f32[n, m]"], "f32[n, m + 2]"),
            ("concat", "axis=0", &["f32[n, 2]", "f32[..]"], "f32[?, 2]"),
            ("concat", "axis=0", &["f32[2, n]", "f32[1, 3]"], "f32[3, 3]"),
            (
                "concat",
                "axis=0",
                &["f32[2, 2]", "f32[1, 3]"],
                "dimensions of axis 1 differ: 2 and 3; only axis 0 may differ",
            ),
            (
                "concat",
                "axis=0",
                &["f32[2]", "f32[1, 3]"],
                "operands with 1 and 2 axes cannot be concatenated",
            ),
            (
                "concat",
                "axis=0",
                &["f32", "f32"],
                "axis 0 is out of range: a scalar has no axes",
            ),
            ("split", "num_outputs=2", &["f32[5, n]"], "(f32[3, n], f32[2, n])"),
            ("split", "num_outputs=2", &["f32[2*n]"], "(f32[n], f32[n])"),
            ("split", "sizes=[1,2] axis=-1", &["f32[n, 3]"], "(f32[n, 1], f32[n, 2])"),
            ("split", "num_outputs=2", &["f32[..]"], "(f32[..], f32[..])"),
            ("split", "", &["f32[4]", "i64[2]"], "(f32[?], f32[?])"),
            ("split", "", &["f32[4]"], "the number of parts is unknown"),
            (
                "split",
                "sizes=[1,2]",
                &["f32[4]"],
                "`sizes` add up to 3, but the axis has size 4",
            ),
            (
                "split",
                "num_outputs=0",
                &["f32[4]"],
                "a tensor cannot be split into 0 parts",
            ),
        ],
    );
}

#[test]
fn attributes_have_a_normal_form() {
    table(
        canonical,
        &[
            (
                "split",
                "num_outputs=2",
                &["f32[4]"],
                "axis=0 sizes=[2, 2] num_outputs=2",
            ),
            ("split", "sizes=[1,3]", &["f32[4]"], "axis=0 sizes=[1, 3] num_outputs=2"),
        ],
    );
}

#[test]
fn elements_end_up_in_their_places() {
    let x = "i64[5] 0 1 2 3 4";
    table(
        eval,
        &[
            ("concat", "axis=1", &["f32[1, 1] 1", "f32[1, 2] 2 3"], "f32[1, 3] 1 2 3"),
            ("concat", "axis=0", &["utf8[1] a", "utf8[0]"], "utf8[1] a"),
            ("split", "num_outputs=2", &[x], "i64[3] 0 1 2; i64[2] 3 4"),
            ("split", "", &[x, "i64[3] 1 0 4"], "i64[1] 0; i64[0]; i64[4] 1 2 3 4"),
        ],
    );
}
