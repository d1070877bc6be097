use super::super::testing::{Case, f32s};

struct Row {
    x: &'static [usize],
    w: &'static [usize],
    groups: i64,
    strides: &'static [i64],
    dilations: &'static [i64],
    pads: &'static [i64],
}

const fn row(x: &'static [usize], w: &'static [usize], groups: i64, rest: [&'static [i64]; 3]) -> Row {
    let [strides, dilations, pads] = rest;
    Row {
        x,
        w,
        groups,
        strides,
        dilations,
        pads,
    }
}

const ROWS: &[Row] = &[
    row(&[1, 3, 8], &[4, 3, 3], 1, [&[1], &[1], &[0, 0]]),
    row(&[2, 4, 17], &[6, 2, 5], 2, [&[2], &[2], &[3, 1]]),
    row(&[1, 1, 1, 1], &[1, 1, 1, 1], 1, [&[1, 1], &[1, 1], &[0, 0, 0, 0]]),
    row(&[2, 3, 7, 5], &[4, 3, 1, 1], 1, [&[1, 1], &[1, 1], &[0, 0, 0, 0]]),
    row(&[2, 3, 7, 5], &[4, 3, 1, 1], 1, [&[2, 1], &[1, 1], &[1, 0, 0, 2]]),
    row(&[1, 3, 9, 11], &[5, 3, 3, 3], 1, [&[1, 1], &[1, 1], &[1, 1, 1, 1]]),
    row(&[1, 2, 9, 11], &[5, 2, 3, 2], 1, [&[2, 3], &[2, 1], &[0, 1, 2, 3]]),
    row(&[2, 6, 9, 8], &[6, 1, 3, 3], 6, [&[1, 1], &[1, 1], &[1, 1, 1, 1]]),
    row(&[1, 5, 9, 8], &[5, 1, 5, 3], 5, [&[2, 2], &[1, 2], &[2, 0, 1, 3]]),
    row(&[1, 4, 6, 6], &[8, 1, 3, 3], 4, [&[1, 1], &[1, 1], &[1, 1, 1, 1]]),
    row(
        &[1, 2, 5, 6, 7],
        &[3, 2, 2, 3, 3],
        1,
        [&[1, 2, 1], &[1, 1, 2], &[0, 1, 2, 1, 0, 2]],
    ),
    row(&[1, 3, 65, 63], &[3, 3, 3, 3], 1, [&[1, 1], &[1, 1], &[1, 1, 1, 1]]),
    row(&[1, 1, 3, 3], &[2, 1, 3, 3], 1, [&[1, 1], &[1, 1], &[5, 5, 5, 5]]),
    row(&[1, 5, 2, 50], &[10, 1, 2, 3], 5, [&[1, 1], &[1, 2], &[1, 0, 1, 2]]),
    row(
        &[2, 3, 4, 5, 6],
        &[3, 1, 2, 3, 2],
        3,
        [&[1, 2, 1], &[2, 1, 1], &[1, 1, 0, 0, 1, 1]],
    ),
    row(&[1, 70, 8, 9], &[20, 70, 2, 2], 1, [&[3, 2], &[1, 3], &[1, 2, 0, 1]]),
    row(&[2, 33, 1, 40], &[13, 33, 1, 1], 1, [&[1, 1], &[1, 1], &[0, 0, 0, 0]]),
    row(&[0, 2, 3, 3], &[2, 2, 3, 3], 1, [&[1, 1], &[1, 1], &[1, 1, 1, 1]]),
];

#[test]
fn convolutions() {
    for (i, row) in ROWS.iter().enumerate() {
        for bias in [false, true] {
            let mut case = Case::new("conv", &[f32s(row.x, i as u64), f32s(row.w, 99)]);
            if bias {
                case = case.operand(Some(f32s(&row.w[..1], 7)));
            }
            case.int("group", row.groups)
                .ints("strides", row.strides)
                .ints("dilations", row.dilations)
                .ints("pads", row.pads)
                .check();
        }
    }
}

#[test]
fn transposed_convolutions() {
    let rows = [
        row(&[1, 3, 8], &[3, 4, 3], 1, [&[1], &[1], &[0, 0]]),
        row(&[2, 4, 5, 6], &[4, 3, 3, 2], 2, [&[2, 1], &[1, 2], &[1, 0, 0, 1]]),
        row(
            &[1, 2, 3, 3, 2],
            &[2, 2, 2, 2, 3],
            1,
            [&[2, 2, 1], &[1, 1, 1], &[0, 1, 0, 1, 0, 0]],
        ),
    ];
    for (i, row) in rows.iter().enumerate() {
        let case = || {
            Case::new("conv_transpose", &[f32s(row.x, i as u64), f32s(row.w, 99)])
                .int("group", row.groups)
                .ints("strides", row.strides)
                .ints("dilations", row.dilations)
                .ints("pads", row.pads)
        };
        case().check();
        let filters = row.w[1] * row.groups as usize;
        case().operand(Some(f32s(&[filters], 3))).check();
    }
    Case::new("conv_transpose", &[f32s(&[1, 2, 4, 4], 1), f32s(&[2, 3, 3, 3], 2)])
        .ints("strides", &[2, 2])
        .ints("pads", &[1, 1, 1, 1])
        .ints("output_padding", &[1, 1])
        .check();
}
