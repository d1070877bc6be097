use crate::check::{canonical, eval, infer, table};

#[test]
fn types_follow_the_shapes() {
    table(
        infer,
        &[
            ("diagonal", "", &["f32[3, 4]"], "f32[3]"),
            ("diagonal", "offset=1", &["f32[2, 3, 4]"], "f32[4, 2]"),
            ("diagonal", "offset=-1 dim1=-2 dim2=-1", &["f32[n, 3, 4]"], "f32[n, 2]"),
            ("diagonal", "dim1=0 dim2=1", &["f32[n, n, 2]"], "f32[2, n]"),
            ("diagonal", "offset=9223372036854775807", &["f32[3, 4]"], "f32[0]"),
            ("diagonal", "offset=-9223372036854775808", &["f32[3, 4]"], "f32[0]"),
            (
                "diagonal",
                "offset=-9223372036854775808 dim1=1 dim2=0",
                &["f32[3, 4]"],
                "f32[0]",
            ),
            ("diagonal", "", &["f32[..]"], "f32[..]"),
            ("diagonal", "", &["f32"], "`x` has 0 axes, but a diagonal needs two"),
            (
                "diagonal",
                "dim1=1 dim2=-1",
                &["f32[3, 4]"],
                "`dim1` and `dim2` are both axis 1",
            ),
            (
                "diagonal",
                "dim1=2",
                &["f32[3, 4]"],
                "axis 2 is out of range for rank 2: it must be in -2..=1",
            ),
            ("unfold", "axis=0 size=2", &["f32[5]"], "f32[4, 2]"),
            ("unfold", "axis=-1 size=3 step=2", &["f32[n, 8]"], "f32[n, 3, 3]"),
            ("unfold", "axis=0 size=0", &["f32[2]"], "f32[3, 0]"),
            (
                "unfold",
                "axis=0 size=6",
                &["f32[5]"],
                "a window of 6 does not fit axis 0 of [5]",
            ),
            (
                "unfold",
                "axis=0 size=1 step=0",
                &["f32[5]"],
                "`step` must be positive, but is 0",
            ),
            ("dice", "begin=[1,0] size=[1,-1]", &["f32[3, 4]"], "f32[1, 4]"),
            ("dice", "begin=[3,0] size=[0,2]", &["f32[3, 4]"], "f32[0, 2]"),
            ("dice", "begin=[0,1] size=[-1,2]", &["f32[n, 4]"], "f32[n, 2]"),
            ("dice", "begin=[0] size=[-1]", &["f32[..]"], "f32[?]"),
            (
                "dice",
                "begin=[2] size=[2]",
                &["f32[3]"],
                "2 elements from 2 on exceed axis 0 of [3]",
            ),
            (
                "dice",
                "begin=[4] size=[-1]",
                &["f32[3]"],
                "all elements from 4 on exceed axis 0 of [3]",
            ),
            (
                "dice",
                "begin=[-1] size=[1]",
                &["f32[3]"],
                "1 elements from -1 on exceed axis 0 of [3]",
            ),
            (
                "dice",
                "begin=[0] size=[1]",
                &["f32[3, 4]"],
                "`begin` has 1 numbers, but [3, 4] has 2 axes",
            ),
            ("roll", "shifts=[1]", &["f32[n, 4]"], "f32[n, 4]"),
            ("roll", "shifts=[1,-5] axes=[-1,0]", &["utf8[n, 4]"], "utf8[n, 4]"),
            ("roll", "shifts=[1,2] axes=[0,1]", &["f32[..]"], "f32[..]"),
            (
                "roll",
                "shifts=[1,2]",
                &["f32[n, 4]"],
                "`shifts` has 2 numbers, but one is needed without `axes`",
            ),
            (
                "roll",
                "shifts=[1] axes=[0,1]",
                &["f32[n, 4]"],
                "`shifts` has 1 numbers for 2 axes",
            ),
            (
                "roll",
                "shifts=[1,1] axes=[1,-1]",
                &["f32[n, 4]"],
                "axis 1 is listed twice",
            ),
            (
                "roll",
                "shifts=[1] axes=[2]",
                &["f32[n, 4]"],
                "axis 2 is out of range for rank 2: it must be in -2..=1",
            ),
            ("channel_shuffle", "groups=2", &["f32[n, 4, h, w]"], "f32[n, 4, h, w]"),
            (
                "channel_shuffle",
                "groups=3",
                &["f32[n, 4]"],
                "4 channels are not a multiple of 3 groups",
            ),
            (
                "channel_shuffle",
                "groups=0",
                &["f32[n, 4]"],
                "`groups` must be at least 1, but is 0",
            ),
            ("tensordot", "", &["f32[2, 3]", "f32[3, 4, 5]"], "f32[2, 4, 5]"),
            ("tensordot", "axes=2", &["i64[2, 3, 4]", "i64[3, 4]"], "i64[2]"),
            ("tensordot", "", &["f32[3]", "f32[3]"], "f32"),
            (
                "tensordot",
                "",
                &["f32[2, 3]", "f32[2, 3]"],
                "the last 1 axes of [2, 3] differ from the first 1 of [2, 3]",
            ),
            (
                "tensordot",
                "axes=2",
                &["f32[3]", "f32[3]"],
                "2 axes of [3] and [3] cannot be contracted",
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
                "diagonal",
                "offset=1 dim1=-1 dim2=0",
                &["f32[2, 3, 4]"],
                "offset=-1 dim1=0 dim2=2",
            ),
            (
                "roll",
                "shifts=[1,2] axes=[-1,0]",
                &["f32[2, 3]"],
                "shifts=[2, 1] axes=[0, 1]",
            ),
            ("roll", "shifts=[7]", &["f32[2, 3]"], "shifts=[7] axes=none"),
            (
                "dice",
                "begin=[1,2] size=[-1,1]",
                &["f32[3, 4]"],
                "begin=[1, 2] size=[2, 1]",
            ),
        ],
    );
}

#[test]
fn elements_end_up_in_their_places() {
    let x = "i64[2, 3] 1 2 3 4 5 6";
    table(
        eval,
        &[
            ("diagonal", "", &[x], "i64[2] 1 5"),
            ("diagonal", "offset=1", &[x], "i64[2] 2 6"),
            ("diagonal", "offset=-1", &[x], "i64[1] 4"),
            ("diagonal", "offset=1 dim1=1 dim2=0", &[x], "i64[1] 4"),
            ("diagonal", "offset=7", &[x], "i64[0]"),
            (
                "diagonal",
                "dim1=0 dim2=2",
                &["i64[2, 2, 2] 0 1 2 3 4 5 6 7"],
                "i64[2, 2] 0 5 2 7",
            ),
            ("diagonal", "", &["utf8[2, 2] a b c d"], "utf8[2] a d"),
            ("unfold", "axis=0 size=2", &["i64[3] 1 2 3"], "i64[2, 2] 1 2 2 3"),
            ("unfold", "axis=0 size=1", &[x], "i64[2, 3, 1] 1 2 3 4 5 6"),
            ("unfold", "axis=1 size=1 step=2", &[x], "i64[2, 2, 1] 1 3 4 6"),
            ("roll", "shifts=[1] axes=[1]", &[x], "i64[2, 3] 3 1 2 6 4 5"),
            ("roll", "shifts=[-1] axes=[1]", &[x], "i64[2, 3] 2 3 1 5 6 4"),
            ("roll", "shifts=[5,-2] axes=[0,1]", &[x], "i64[2, 3] 6 4 5 3 1 2"),
            ("roll", "shifts=[2]", &[x], "i64[2, 3] 5 6 1 2 3 4"),
            (
                "roll",
                "shifts=[-9223372036854775808] axes=[0]",
                &["i64[3] 1 2 3"],
                "i64[3] 3 1 2",
            ),
            (
                "roll",
                "shifts=[9223372036854775807]",
                &["i64[3] 1 2 3"],
                "i64[3] 3 1 2",
            ),
            ("roll", "shifts=[3] axes=[1]", &["f32[2, 0]"], "f32[2, 0]"),
            ("roll", "shifts=[3]", &["f32 7"], "f32 7"),
            ("roll", "shifts=[1] axes=[0]", &["utf8[3] a b c"], "utf8[3] c a b"),
            ("roll", "shifts=[1] axes=[0]", &["bool[2] 1 0"], "bool[2] 0 1"),
            ("dice", "begin=[0,1] size=[2,-1]", &[x], "i64[2, 2] 2 3 5 6"),
            ("dice", "begin=[1,3] size=[1,0]", &[x], "i64[1, 0]"),
            ("dice", "begin=[] size=[]", &["i64 7"], "i64 7"),
            (
                "channel_shuffle",
                "groups=2",
                &["i64[1, 4] 1 2 3 4"],
                "i64[1, 4] 1 3 2 4",
            ),
            ("channel_shuffle", "groups=3", &["i64[1, 3, 0]"], "i64[1, 3, 0]"),
            ("tensordot", "", &["i64[2, 2] 1 2 3 4", "i64[2] 5 6"], "i64[2] 17 39"),
            ("tensordot", "", &["i64[2] 1 2", "i64[2] 3 4"], "i64 11"),
            (
                "tensordot",
                "axes=2",
                &["i64[2, 2] 1 2 3 4", "i64[2, 2] 1 1 1 1"],
                "i64 10",
            ),
            (
                "tensordot",
                "axes=0",
                &["i64[2] 1 2", "i64[2] 3 4"],
                "i64[2, 2] 3 4 6 8",
            ),
            ("tensordot", "", &["i64[1, 0]", "i64[0, 2]"], "i64[1, 2] 0 0"),
        ],
    );
}
