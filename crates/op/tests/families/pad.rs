use crate::check::{canonical, eval, infer, table};

#[test]
fn types_follow_the_cuts() {
    table(
        infer,
        &[
            ("pad", "pads=[1,0,2,-1]", &["f32[n, 3]"], "f32[n + 3, 2]"),
            ("pad", "pads=[1,1] axes=[-1]", &["f32[n, 3]"], "f32[n, 5]"),
            (
                "pad",
                "pads=[1]",
                &["f32[n]"],
                "`pads` has 1 numbers for 1 axes; it needs two for each",
            ),
            (
                "pad",
                "pads=[0,-4]",
                &["f32[3]"],
                "padding a dimension of 3 by 0 and -4 leaves a negative size",
            ),
            ("pad", "", &["f32[3]", "i64[2]"], "f32[?]"),
        ],
    );
}

#[test]
fn attributes_have_a_normal_form() {
    table(
        canonical,
        &[(
            "pad",
            "pads=[1,2] axes=[-1]",
            &["f32[2, 3]"],
            "pads=[0, 1, 0, 2] value=0.0 axes=[0, 1] mode=\"constant\"",
        )],
    );
}

#[test]
fn elements_end_up_in_their_places() {
    table(
        eval,
        &[
            ("pad", "pads=[1,2] value=7", &["i64[2] 1 2"], "i64[5] 7 1 2 7 7"),
            ("pad", "", &["f32[2] 1 2", "i64[2] 0 1", "f32 9"], "f32[3] 1 2 9"),
            ("pad", "", &["bool[1] 0", "i64[2] 0 1", "bool 1"], "bool[2] 0 1"),
            (
                "pad",
                "pads=[2,3] mode=reflect",
                &["i64[3] 1 2 3"],
                "i64[8] 3 2 1 2 3 2 1 2",
            ),
            ("pad", "pads=[1,2] mode=edge", &["i64[2] 1 2"], "i64[5] 1 1 2 2 2"),
            ("pad", "pads=[1,3] mode=wrap", &["i64[2] 1 2"], "i64[6] 2 1 2 1 2 1"),
            ("pad", "pads=[-1,1]", &["i64[2] 1 2"], "i64[2] 2 0"),
            (
                "pad",
                "pads=[1,0] mode=edge",
                &["f32[0]"],
                "an index is out of range for its axis",
            ),
        ],
    );
}
