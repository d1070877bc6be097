use crate::check::{canonical, eval, infer, table};

#[test]
fn types_follow_the_shapes() {
    table(
        infer,
        &[
            ("reshape", "shape=[0,-1]", &["f32[n, 3, 4]"], "f32[n, 12]"),
            ("reshape", "shape=[-1]", &["f32[n, m]"], "f32[m*n]"),
            ("reshape", "shape=[2,-1]", &["f32[n, 3]"], "f32[2, ?]"),
            ("reshape", "shape=[n,12]", &["f32[n, 3, 4]"], "f32[n, 12]"),
            ("reshape", "shape=[0,-1]", &["f32[..]"], "f32[?, ?]"),
            ("reshape", "", &["f32[2, 3]", "i64[3]"], "f32[?, ?, ?]"),
            ("reshape", "", &["f32[2, 3]", "i64[k]"], "f32[..]"),
            ("reshape", "shape=[]", &["f32[1, 1]"], "f32"),
            ("reshape", "shape=[0,3] allowzero=true", &["f32[0, 2]"], "f32[0, 3]"),
            (
                "reshape",
                "shape=[5]",
                &["f32[2, 3]"],
                "[2, 3] has 6 elements, but [5] has 5",
            ),
            (
                "reshape",
                "shape=[4,-1]",
                &["f32[2, 3]"],
                "the 6 elements of [2, 3] are not a multiple of 4",
            ),
            ("reshape", "shape=[-1,-1]", &["f32[2, 3]"], "`shape` contains -1 twice"),
            (
                "reshape",
                "shape=[-2]",
                &["f32[2, 3]"],
                "dimension -2 in `shape` is not valid",
            ),
            (
                "reshape",
                "shape=[1,0]",
                &["f32[2]"],
                "`shape` copies axis 1, but the operand has 1 axes",
            ),
            ("transpose", "", &["f32[n, 3, 4]"], "f32[4, 3, n]"),
            ("transpose", "perm=[0,-1,1]", &["f32[n, 3, 4]"], "f32[n, 4, 3]"),
            ("transpose", "", &["f32"], "f32"),
            ("transpose", "perm=[1,0]", &["f32[..]"], "f32[?, ?]"),
            ("transpose", "perm=[0,0]", &["f32[2, 3]"], "axis 0 is listed twice"),
            (
                "transpose",
                "perm=[0]",
                &["f32[2, 3]"],
                "`perm` lists 1 axes, but the operand has 2",
            ),
            ("squeeze", "", &["f32[1, 3, 1]"], "f32[3]"),
            ("squeeze", "", &["f32[1, n]"], "f32[..]"),
            ("squeeze", "axes=[-1]", &["f32[n, 1]"], "f32[n]"),
            (
                "squeeze",
                "axes=[0]",
                &["f32[2, 1]"],
                "axis 0 of [2, 1] has size 2; only axes of size 1 can be removed",
            ),
            (
                "squeeze",
                "axes=[2]",
                &["f32[2, 1]"],
                "axis 2 is out of range for rank 2: it must be in -2..=1",
            ),
            ("squeeze", "", &["f32[2, 1]", "i64[1]"], "f32[?]"),
            ("unsqueeze", "axes=[0,-1]", &["f32[n]"], "f32[1, n, 1]"),
            ("unsqueeze", "axes=[0]", &["f32"], "f32[1]"),
            ("unsqueeze", "", &["f32[2]", "i64[1]"], "f32[?, ?]"),
            ("unsqueeze", "axes=[0]", &["f32[..]"], "f32[..]"),
            ("flatten", "", &["f32[n, 3, 4]"], "f32[n, 12]"),
            ("flatten", "axis=-1", &["f32[2, 3, 4]"], "f32[6, 4]"),
            ("flatten", "axis=0", &["f32[2, 3]"], "f32[1, 6]"),
            ("flatten", "axis=2", &["f32[2, 3]"], "f32[6, 1]"),
            ("flatten", "", &["f32[..]"], "f32[?, ?]"),
            ("expand", "shape=[2,1,6]", &["f32[3, 1]"], "f32[2, 3, 6]"),
            ("broadcast_to", "shape=[n,3]", &["f32[3]"], "f32[n, 3]"),
            (
                "expand",
                "shape=[2]",
                &["f32[3]"],
                "shapes [3] and [2] do not broadcast",
            ),
            ("expand", "", &["f32[3]", "i64[2]"], "f32[?, ?]"),
            ("tile", "repeats=[2,3]", &["f32[n, 2]"], "f32[2*n, 6]"),
            (
                "tile",
                "repeats=[2]",
                &["f32[n, 2]"],
                "`repeats` has 1 numbers, but [n, 2] has 2 axes",
            ),
            ("tile", "", &["f32[2, 2]", "i64[2]"], "f32[?, ?]"),
        ],
    );
}

#[test]
fn attributes_have_a_normal_form() {
    table(
        canonical,
        &[
            (
                "reshape",
                "shape=[0,-1]",
                &["f32[2, 3, 4]"],
                "shape=[2, 12] allowzero=false",
            ),
            (
                "reshape",
                "shape=[0,-1]",
                &["f32[?, 3, 4]"],
                "shape=[0, 12] allowzero=false",
            ),
            (
                "reshape",
                "shape=[2,-1]",
                &["f32[n, 3]"],
                "shape=[2, -1] allowzero=false",
            ),
            ("reshape", "shape=[3,-1]", &["f32[0, 3]"], "shape=[3, 0] allowzero=true"),
            ("transpose", "", &["f32[2, 3]"], "perm=[1, 0]"),
            ("squeeze", "", &["f32[1, 2, 1]"], "axes=[0, 2]"),
            ("unsqueeze", "axes=[-1,0]", &["f32[2]"], "axes=[0, 2]"),
            ("flatten", "axis=-1", &["f32[2, 3]"], "axis=1"),
            ("expand", "shape=[1]", &["f32[3]"], "shape=[3]"),
        ],
    );
}

#[test]
fn elements_end_up_in_their_places() {
    table(
        eval,
        &[
            (
                "reshape",
                "shape=[3,-1]",
                &["i64[2, 3] 1 2 3 4 5 6"],
                "i64[3, 2] 1 2 3 4 5 6",
            ),
            (
                "reshape",
                "",
                &["f32[0, 3]", "i64[2] 3 0"],
                "[0, 3] has 0 elements, but [3, 3] has 9",
            ),
            ("reshape", "", &["f32[2] 1 2", "i64[2] -1 1"], "f32[2, 1] 1 2"),
            ("transpose", "", &["i64[2, 3] 1 2 3 4 5 6"], "i64[3, 2] 1 4 2 5 3 6"),
            ("transpose", "perm=[1,0]", &["utf8[1, 2] a b"], "utf8[2, 1] a b"),
            ("squeeze", "", &["f32[1, 2, 1] 1 2"], "f32[2] 1 2"),
            ("squeeze", "", &["f32[1, 1] 7", "i64[1] 0"], "f32[1] 7"),
            ("unsqueeze", "axes=[0]", &["bool 1"], "bool[1] 1"),
            ("flatten", "", &["f32[2, 1, 2] 1 2 3 4"], "f32[2, 2] 1 2 3 4"),
            ("expand", "shape=[2,2]", &["f32[2, 1] 1 2"], "f32[2, 2] 1 1 2 2"),
            ("expand", "", &["f32 5", "i64[1] 3"], "f32[3] 5 5 5"),
            (
                "tile",
                "repeats=[1,2]",
                &["i64[2, 2] 1 2 3 4"],
                "i64[2, 4] 1 2 1 2 3 4 3 4",
            ),
            ("tile", "", &["f32[1] 1", "i64[1] 0"], "f32[0]"),
        ],
    );
}
