use crate::check::{canonical, eval, infer, table};

#[test]
fn types() {
    table(
        infer,
        &[
            (
                "lstm",
                "hidden_size=3",
                &["f32[t, b, 2]", "f32[1, 12, 2]", "f32[1, 12, 3]"],
                "(f32[t, 1, b, 3], f32[1, b, 3], f32[1, b, 3])",
            ),
            (
                "gru",
                "direction=bidirectional layout=1",
                &["f32[4, t, 2]", "f32[2, 9, 2]", "f32[2, 9, 3]"],
                "(f32[4, t, 2, 3], f32[4, 2, 3])",
            ),
            (
                "rnn",
                "",
                &["f32[t, b, i]", "f32[1, h, i]", "f32[1, h, h]"],
                "(f32[t, 1, b, h], f32[1, b, h])",
            ),
            (
                "rnn",
                "",
                &["f32[5, 1, 2]", "f32[1, 3, 4]", "f32[1, 3, 3]"],
                "axis 2 of `w` is 4, but must be 2",
            ),
            (
                "lstm",
                "",
                &["f32[5, 1, 2]", "f32[1, 9, 2]", "f32[1, 9, 3]"],
                "axis 1 of `r` is 9, but must be 12",
            ),
        ],
    );
}

#[test]
fn normal_forms() {
    let text = canonical(
        "rnn",
        "activations=tanh",
        &["f32[5, 1, 2]", "f32[1, 3, 2]", "f32[1, 3, 3]"],
    );
    assert!(
        text.contains("activations=[\"Tanh\"]") && text.contains("hidden_size=3"),
        "{text}"
    );
}

#[test]
fn values() {
    table(
        eval,
        &[
            // h = 2 x + h, over the steps 1, 2, 3.
            (
                "rnn",
                "activations=relu",
                &["f32[3,1,1] 1 2 3", "f32[1,1,1] 2", "f32[1,1,1] 1"],
                "f32[3, 1, 1, 1] 2 6 12; f32[1, 1, 1] 12",
            ),
            (
                "rnn",
                "activations=relu direction=reverse",
                &["f32[3,1,1] 1 2 3", "f32[1,1,1] 2", "f32[1,1,1] 1"],
                "f32[3, 1, 1, 1] 12 10 6; f32[1, 1, 1] 12",
            ),
            // The second sequence has one step; the rest is 0.
            (
                "rnn",
                "activations=relu direction=reverse layout=1",
                &[
                    "f32[2,2,1] 1 2 3 4",
                    "f32[1,1,1] 2",
                    "f32[1,1,1] 1",
                    "none",
                    "i32[2] 2 1",
                ],
                "f32[2, 2, 1, 1] 6 4 6 0; f32[2, 1, 1] 6 6",
            ),
            // alpha x + beta, with separate parameters for each activation.
            (
                "rnn",
                "activations=affine activation_alpha=[3.0] activation_beta=[0.5]",
                &["f32[1,1,1] 1", "f32[1,1,1] 1", "f32[1,1,1] 0", "f32[1,2] 1 1"],
                "f32[1, 1, 1, 1] 9.5; f32[1, 1, 1] 9.5",
            ),
            (
                "rnn",
                "activations=relu clip=2.5",
                &["f32[3,1,1] 1 2 3", "f32[1,1,1] 2", "f32[1,1,1] 1"],
                "f32[3, 1, 1, 1] 2 2.5 2.5; f32[1, 1, 1] 2.5",
            ),
        ],
    );
}

#[test]
fn the_bound_is_not_one_of_the_cell() {
    // All gates are clipped to 1; the cell grows by 1 with each step since nothing is forgotten, and its activation
    // sees the unclipped cell.
    let ones = "f32[1,4,1] 9 9 9 9";
    table(
        eval,
        &[(
            "lstm",
            r#"activations=["relu","relu","relu"] clip=1.0"#,
            &["f32[3,1,1] 1 1 1", ones, "f32[1,4,1] 0 0 0 0"],
            "f32[3, 1, 1, 1] 1 2 3; f32[1, 1, 1] 3; f32[1, 1, 1] 3",
        )],
    );
}
