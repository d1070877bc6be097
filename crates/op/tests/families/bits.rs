use crate::check::{eval, infer, table};

#[test]
fn types_have_one_width() {
    table(
        infer,
        &[
            ("bit_shift", "direction=LEFT", &["u8[n, 1]", "u8[3]"], "u8[n, 3]"),
            (
                "bit_shift",
                "direction=LEFT",
                &["i8[2]", "i8[2]"],
                "`a` must be an unsigned integer, but is i8[2]",
            ),
            ("bit_cast", "to=i32", &["f32[n]"], "i32[n]"),
            ("bit_cast", "to=i64", &["f32[n]"], "f32 has 32 bits, but i64 has 64"),
        ],
    );
}

#[test]
fn bits_move_and_stay() {
    table(
        eval,
        &[
            (
                "bit_shift",
                "direction=LEFT",
                &["u8[3] 16 4 1", "u8[3] 1 2 9"],
                "u8[3] 32 16 0",
            ),
            ("bit_shift", "direction=LEFT", &["u8[1] 255", "u8[1] 4"], "u8[1] 240"),
            ("bit_shift", "direction=RIGHT", &["u16[2] 16 4", "u16 2"], "u16[2] 4 1"),
            ("bit_cast", "to=i32", &["f32[2] 1 -2"], "i32[2] 1065353216 -1073741824"),
            ("bit_cast", "to=f32", &["i32[1] 1065353216"], "f32[1] 1"),
            ("bit_cast", "to=u8", &["i8[2] -1 3"], "u8[2] 255 3"),
            ("bit_cast", "to=f16", &["u16[1] 15360"], "f16[1] 1"),
        ],
    );
}
