use crate::check::{eval, infer, table};

#[test]
fn types_of_text() {
    table(
        infer,
        &[
            ("string_concat", "", &["utf8[n, 1]", "utf8[2]"], "utf8[n, 2]"),
            (
                "string_concat",
                "",
                &["utf8[n]", "f32[n]"],
                "`b` must be a string, but is f32[n]",
            ),
            ("string_split", "", &["utf8[n]"], "(utf8[n, ?], i64[n])"),
            ("string_normalizer", "", &["utf8[1, 4]"], "utf8[1, ?]"),
            (
                "string_normalizer",
                "",
                &["utf8[2, 4]"],
                "`x` must be a list or have one row, but is utf8[2, 4]",
            ),
        ],
    );
}

#[test]
fn texts_are_joined_and_cut() {
    table(
        eval,
        &[
            ("string_concat", "", &["utf8[2] a b", "utf8 c"], "utf8[2] ac bc"),
            (
                "string_split",
                "delimiter=.",
                &["utf8[2] a.b..c d"],
                "utf8[2, 4] a b  c d   ; i64[2] 4 1",
            ),
            (
                "string_normalizer",
                "case_change_action=UPPER",
                &["utf8[2] ab Cd"],
                "utf8[2] AB CD",
            ),
        ],
    );
}
