use crate::check::{canonical, eval, infer, table};

#[test]
fn types_follow_the_axes() {
    table(
        infer,
        &[
            ("reduce_sum", "", &["f32[n, 3]"], "f32[1, 1]"),
            ("reduce_sum", "keepdims=false", &["f32[n, 3]"], "f32"),
            ("reduce_sum", "axes=[-1] keepdims=0", &["f32[n, 3]"], "f32[n]"),
            ("reduce_mean", "axes=[0]", &["f32[..]"], "f32[..]"),
            ("reduce_max", "noop_with_empty_axes=true", &["f32[n, 3]"], "f32[n, 3]"),
            ("reduce_max", "", &["bool[2]"], "bool[1]"),
            ("reduce_sum", "", &["bool[2]"], "`x` must be a number, but is bool[2]"),
            ("reduce_sum", "", &["f32"], "f32"),
            ("reduce_sum", "", &["f32[2, 3]", "i64[1]"], "f32[?, ?]"),
            ("reduce_sum", "keepdims=false", &["f32[2, 3]", "i64[1]"], "f32[?]"),
            ("reduce_sum", "keepdims=false", &["f32[2, 3]", "i64[k]"], "f32[..]"),
            (
                "reduce_sum",
                "axes=[2]",
                &["f32[2, 3]"],
                "axis 2 is out of range for rank 2: it must be in -2..=1",
            ),
            (
                "reduce_sum",
                "axes=[k]",
                &["f32[2, 3]"],
                "`axes` must be a list of known integers, but contains k",
            ),
            ("argmax", "axis=-1", &["f32[n, 3]"], "i64[n, 1]"),
            ("argmin", "keepdims=false", &["f32[n, 3]"], "i64[3]"),
            (
                "argmax",
                "",
                &["f32[0, 3]"],
                "axis 0 of [0, 3] has no elements to choose from",
            ),
            ("argmax", "", &["f32"], "axis 0 is out of range: a scalar has no axes"),
            ("cumsum", "axis=-1", &["f32[n, 3]"], "f32[n, 3]"),
            ("cumsum", "", &["f32[n]", "i64"], "f32[n]"),
        ],
    );
}

#[test]
fn attributes_have_a_normal_form() {
    table(
        canonical,
        &[
            (
                "reduce_sum",
                "",
                &["f32[2, 3]"],
                "axes=[0, 1] keepdims=true noop_with_empty_axes=false",
            ),
            (
                "reduce_sum",
                "axes=[-1,0] noop_with_empty_axes=true",
                &["f32[2, 3]"],
                "axes=[0, 1] keepdims=true noop_with_empty_axes=false",
            ),
            (
                "reduce_sum",
                "axes=[]",
                &["f32[..]"],
                "axes=[] keepdims=true noop_with_empty_axes=false",
            ),
            (
                "argmax",
                "axis=-1",
                &["f32[2, 3]"],
                "axis=1 keepdims=true select_last_index=false",
            ),
        ],
    );
}

#[test]
fn elements_are_combined() {
    let x = "f32[2, 3] 1 -2 3 4 5 -6";
    table(
        eval,
        &[
            ("reduce_sum", "axes=[1]", &[x], "f32[2, 1] 2 3"),
            ("reduce_sum", "keepdims=false", &[x, "i64[1] 0"], "f32[3] 5 3 -3"),
            ("reduce_sum", "keepdims=false", &["i32[0]"], "i32 0"),
            ("reduce_sum", "axes=[0] keepdims=false", &["u8[2] 200 100"], "u8 44"),
            ("reduce_sum", "", &["f32 3"], "f32 3"),
            ("reduce_mean", "axes=[0]", &[x], "f32[1, 3] 2.5 1.5 -1.5"),
            ("reduce_mean", "", &["i64[2] -1 -2"], "i64[1] -1"),
            ("reduce_max", "axes=[1]", &[x], "f32[2, 1] 3 5"),
            ("reduce_max", "", &["f32[2] 1 NaN"], "f32[1] NaN"),
            ("reduce_max", "", &["f32[0]"], "f32[1] -inf"),
            ("reduce_min", "", &["i8[0]"], "i8[1] 127"),
            ("reduce_min", "", &["bool[2] 1 0"], "bool[1] 0"),
            ("reduce_prod", "keepdims=false", &[x], "f32 720"),
            ("reduce_l1", "keepdims=false", &[x], "f32 21"),
            ("reduce_l2", "keepdims=false", &["f32[2] 3 4"], "f32 5"),
            ("reduce_l2", "keepdims=false", &["i32[2] 3 3"], "i32 4"),
            (
                "reduce_sum_square",
                "noop_with_empty_axes=true",
                &["f32[2] 3 4"],
                "f32[2] 9 16",
            ),
            ("reduce_log_sum", "", &["f32[2] 0.25 0.75"], "f32[1] 0"),
            ("reduce_log_sum_exp", "", &["f32[2] 1000 -1000"], "f32[1] 1000"),
            ("reduce_log_sum_exp", "", &["f32[1] -inf"], "f32[1] -inf"),
            ("argmax", "axis=1", &[x], "i64[2, 1] 2 1"),
            ("argmax", "", &["f32[3] 2 2 1"], "i64[1] 0"),
            ("argmax", "select_last_index=true", &["f32[3] 2 2 1"], "i64[1] 1"),
            ("argmin", "keepdims=false", &["i64[3] 3 1 1"], "i64 1"),
            ("argmax", "keepdims=false", &["f32[3] 2 NaN 5"], "i64 1"),
            ("cumsum", "", &["f32[3] 1 2 3", "i64 0"], "f32[3] 1 3 6"),
            ("cumprod", "axis=0", &["f32[3] 2 3 4"], "f32[3] 2 6 24"),
            (
                "cumprod",
                "axis=0 exclusive=true reverse=true",
                &["i8[3] 2 3 100"],
                "i8[3] 44 100 1",
            ),
            ("cumsum", "axis=-1 exclusive=true", &["i64[3] 1 2 3"], "i64[3] 0 1 3"),
            (
                "cumsum",
                "axis=0 exclusive=true reverse=true",
                &["i64[3] 1 2 3"],
                "i64[3] 5 3 0",
            ),
        ],
    );
}
