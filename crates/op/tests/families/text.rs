use std::cell::Cell;

use tautomer_op::{AttrValue, Fact, evaluate_tensors, lookup, normalize};
use tautomer_tensor::{Tensor, Type};

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

#[test]
fn strings_are_cut_at_most_so_often() {
    let parts = |x: &str, attrs: &[(&'static str, AttrValue)]| -> Vec<String> {
        let def = lookup("string_split").unwrap();
        let x = Tensor::new(&[], vec![x.to_owned()]).unwrap();
        let ty: Type = x.ty().into();
        let normal = normalize(def, &[Fact::of(&ty)], attrs, &Cell::new(0)).unwrap();
        match evaluate_tensors(def, &[Some(x)], &normal.attrs).unwrap().remove(0) {
            Tensor::Utf8(parts) => parts.iter().cloned().collect(),
            other => panic!("{other:?}"),
        }
    };
    let once = ("maxsplit", AttrValue::int(1));
    assert_eq!(parts(" a  b c ", std::slice::from_ref(&once)), ["a", "b c "]);
    assert_eq!(parts("", &[]), Vec::<String>::new());
    assert_eq!(parts("a..b", &[("delimiter", AttrValue::str(".")), once]), ["a", ".b"]);
}
