use crate::check::{eval, infer, table};

#[test]
fn types_follow_the_second_operand() {
    table(
        infer,
        &[
            ("reshape_like", "", &["f32[2, 3]", "i8[6]"], "f32[6]"),
            ("reshape_like", "", &["f32[..]", "i8[n, 2]"], "f32[n, 2]"),
            ("reshape_like", "", &["f32[2, 3]", "i8[..]"], "f32[..]"),
            (
                "reshape_like",
                "",
                &["f32[2, 3]", "f32[5]"],
                "`x` is f32[2, 3] with 6 elements, but `target` is f32[5] with 5",
            ),
            ("broadcast_to_like", "", &["f32[3, 1]", "i8[n, 3, m]"], "f32[n, 3, m]"),
            (
                "broadcast_to_like",
                "",
                &["f32[3]", "f32[2]"],
                "`x` is f32[3], which does not broadcast to `target`, f32[2]",
            ),
            (
                "broadcast_to_like",
                "",
                &["f32[2, 2]", "f32[2]"],
                "`x` is f32[2, 2], which does not broadcast to `target`, f32[2]",
            ),
            ("collapse_sum_like", "", &["f32[n, 3, 4]", "f32[3, 1]"], "f32[3, 1]"),
            (
                "collapse_sum_like",
                "",
                &["f32[2]", "f32[3]"],
                "`target` is f32[3], which does not broadcast to `x`, f32[2]",
            ),
            ("collapse_sum_to", "shape=[n,1]", &["f32[2, n, 3]"], "f32[n, 1]"),
            ("collapse_sum_to", "shape=[3]", &["f32[..]"], "f32[3]"),
            (
                "collapse_sum_to",
                "shape=[2,2]",
                &["f32[2]"],
                "`shape` is [2, 2], which does not broadcast to `x`, f32[2]",
            ),
            (
                "collapse_sum_to",
                "shape=[-1]",
                &["f32[2]"],
                "`shape` is [-1], which does not broadcast to `x`, f32[2]",
            ),
            (
                "collapse_sum_like",
                "",
                &["bool[2]", "f32[1]"],
                "`x` must be a number, but is bool[2]",
            ),
        ],
    );
}

#[test]
fn layouts_are_permutations() {
    table(
        infer,
        &[
            (
                "layout_transform",
                "src_layout=NCHW dst_layout=NHWC",
                &["f32[n, 3, h, w]"],
                "f32[n, h, w, 3]",
            ),
            (
                "layout_transform",
                "src_layout=NC dst_layout=CN",
                &["f32[..]"],
                "f32[?, ?]",
            ),
            (
                "layout_transform",
                "src_layout=NC dst_layout=CN",
                &["f32[2]"],
                "\"NC\" has 2 letters, but `x` is f32[2] with 1 axes",
            ),
            (
                "layout_transform",
                "src_layout=NC dst_layout=NCH",
                &["f32[2, 3]"],
                "\"NC\" and \"NCH\" have different letters",
            ),
            (
                "layout_transform",
                "src_layout=NC dst_layout=CC",
                &["f32[2, 3]"],
                "`dst_layout` is \"CC\"; a letter is repeated",
            ),
            (
                "layout_transform",
                "src_layout=Nc dst_layout=cN",
                &["f32[2, 3]"],
                "`src_layout` is \"Nc\"; 'c' is not a letter from A to Z",
            ),
        ],
    );
}

#[test]
fn elements_move_and_add_up() {
    let x = "f32[2, 3] 1 2 3 4 5 6";
    table(
        eval,
        &[
            (
                "reshape_like",
                "",
                &[x, "i8[3, 2] 0 0 0 0 0 0"],
                "f32[3, 2] 1 2 3 4 5 6",
            ),
            ("reshape_like", "", &["f32[0, 2]", "i8[3, 0]"], "f32[3, 0]"),
            (
                "broadcast_to_like",
                "",
                &["i64[2, 1] 1 2", "bool[1, 2, 2] 0 0 0 0"],
                "i64[1, 2, 2] 1 1 2 2",
            ),
            ("collapse_sum_like", "", &[x, "f32[3] 0 0 0"], "f32[3] 5 7 9"),
            ("collapse_sum_like", "", &[x, "f32[2, 1] 0 0"], "f32[2, 1] 6 15"),
            ("collapse_sum_like", "", &[x, "f32 0"], "f32 21"),
            ("collapse_sum_to", "shape=[1,3]", &[x], "f32[1, 3] 5 7 9"),
            ("collapse_sum_to", "shape=[2,3]", &[x], x),
            (
                "collapse_sum_like",
                "",
                &[x, "f32[2, 3] 0 0 0 0 0 0"],
                "f32[2, 3] 1 2 3 4 5 6",
            ),
            (
                "layout_transform",
                "src_layout=ABC dst_layout=CAB",
                &["i64[1, 2, 3] 0 1 2 3 4 5"],
                "i64[3, 1, 2] 0 3 1 4 2 5",
            ),
        ],
    );
}
