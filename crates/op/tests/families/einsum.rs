use crate::check::{canonical, eval, infer, table};

#[test]
fn types_follow_the_equation() {
    table(
        infer,
        &[
            ("einsum", "equation=ij,jk->ik", &["f32[n, 3]", "f32[3, m]"], "f32[n, m]"),
            (
                "einsum",
                "equation=...ij,jk",
                &["f32[2, n, 3]", "f32[3, m]"],
                "f32[2, n, m]",
            ),
            ("einsum", "equation=ii->i", &["f32[3, 3]"], "f32[3]"),
            ("einsum", "equation=i,i->", &["i64[n]", "i64[n]"], "i64"),
            ("einsum", "equation=ij->ji", &["f32[..]"], "f32[..]"),
            (
                "einsum",
                "equation=ij,jk->ik",
                &["f32[2, 3]", "f32[4, 5]"],
                "axis j of `equation` is both 3 and 4",
            ),
            (
                "einsum",
                "equation=ij->i",
                &["f32[2, 3, 4]"],
                "the number of letters in `equation` does not match rank 3",
            ),
            (
                "einsum",
                "equation=ij->k",
                &["f32[2, 3]"],
                "k of `equation` is in no operand",
            ),
        ],
    );
    table(
        canonical,
        &[
            (
                "einsum",
                "equation=bi,ia",
                &["f32[2, 3]", "f32[3, 4]"],
                "equation=\"ab,bc->ca\"",
            ),
            ("einsum", "equation=a...", &["f32[2, 3]"], "equation=\"a...->...a\""),
            (
                "einsum",
                "equation=bhid,bhjd->bhij",
                &["f32[1, 2, 3, 4]", "f32[1, 2, 5, 4]"],
                "equation=\"abcd,abed->abce\"",
            ),
        ],
    );
}

#[test]
fn products_are_summed() {
    let x = "f32[2, 2] 1 2 3 4";
    table(
        eval,
        &[
            ("einsum", "equation=ij,jk->ik", &[x, x], "f32[2, 2] 7 10 15 22"),
            ("einsum", "equation=ij->ji", &[x], "f32[2, 2] 1 3 2 4"),
            ("einsum", "equation=ii", &[x], "f32 5"),
            ("einsum", "equation=ii->i", &[x], "f32[2] 1 4"),
            ("einsum", "equation=ij->i", &["i64[2, 2] 1 2 3 4"], "i64[2] 3 7"),
            (
                "einsum",
                "equation=i,j,k->kji",
                &["f32[1] 2", "f32[2] 1 3", "f32[1] 5"],
                "f32[1, 2, 1] 10 30",
            ),
            (
                "einsum",
                "equation=...j,j...->...",
                &["f32[2, 1, 2] 1 2 3 4", "f32[2, 3] 1 0 2 0 1 1"],
                "f32[2, 3] 1 2 4 3 4 10",
            ),
        ],
    );
}
