use super::super::testing::{Case, f32s};
use tautomer_op::AttrValue;

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
    // Rows of many lengths at distance 2, rows that are computed one by one, and more than are computed together.
    row(&[1, 2, 9, 71], &[2, 1, 3, 3], 2, [&[2, 2], &[1, 1], &[1, 1, 1, 1]]),
    row(&[1, 2, 5, 50], &[2, 1, 3, 3], 2, [&[2, 2], &[1, 1], &[0, 0, 1, 1]]),
    row(&[1, 3, 5, 97], &[4, 3, 2, 2], 1, [&[2, 2], &[1, 1], &[0, 2, 0, 3]]),
    row(&[1, 2, 4, 21], &[2, 1, 3, 5], 2, [&[1, 2], &[1, 1], &[1, 3, 1, 0]]),
    row(&[1, 2, 5, 140], &[2, 1, 3, 3], 2, [&[1, 1], &[1, 1], &[1, 1, 1, 1]]),
    row(&[1, 1, 90, 60], &[1, 1, 3, 3], 1, [&[1, 1], &[1, 1], &[1, 1, 1, 1]]),
    row(&[1, 2, 90, 60], &[2, 1, 3, 3], 2, [&[1, 1], &[1, 1], &[1, 1, 1, 1]]),
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

/// The shape of the result of a row.
fn shape_of(row: &Row) -> Vec<usize> {
    let axes = row.x.len() - 2;
    let extent = |a: usize| {
        let pads = row.pads[a] + row.pads[a + axes];
        let window = row.dilations[a] * (row.w[a + 2] as i64 - 1) + 1;
        ((row.x[a + 2] as i64 + pads - window) / row.strides[a] + 1) as usize
    };
    [row.x[0], row.w[0]].into_iter().chain((0..axes).map(extent)).collect()
}

#[test]
fn steps_after_convolutions() {
    let activations: [&[(&'static str, AttrValue)]; 4] = [
        &[],
        &[("activation", AttrValue::Str("relu".into()))],
        &[
            ("activation", AttrValue::Str("clip".into())),
            ("low", AttrValue::float(-0.75)),
            ("high", AttrValue::float(0.5)),
        ],
        &[
            ("activation", AttrValue::Str("clip".into())),
            ("low", AttrValue::float(0.5)),
        ],
    ];
    for (i, row) in ROWS.iter().enumerate() {
        for (bias, residual) in [(false, false), (true, false), (false, true), (true, true)] {
            for attrs in activations {
                let mut case = Case::new("fused_conv", &[f32s(row.x, i as u64), f32s(row.w, 99)]);
                if bias || residual {
                    case = case.operand(bias.then(|| f32s(&row.w[..1], 7)));
                }
                if residual {
                    case = case.operand(Some(f32s(&shape_of(row), 8)));
                }
                for (name, value) in attrs {
                    case = case.attr(name, value.clone());
                }
                case.int("group", row.groups)
                    .ints("strides", row.strides)
                    .ints("dilations", row.dilations)
                    .ints("pads", row.pads)
                    .check();
            }
        }
    }
}

/// Each sum has an error of at most a part of the sum of magnitudes, which is below the scale of all results here, or
/// not much above it.
#[test]
fn convolutions_in_bf16() {
    let more = [
        row(&[1, 16, 9, 33], &[32, 16, 3, 3], 1, [&[1, 1], &[1, 1], &[1, 1, 1, 1]]),
        row(&[2, 5, 9, 11], &[20, 5, 3, 3], 1, [&[2, 1], &[1, 2], &[1, 0, 1, 2]]),
        row(&[1, 3, 40, 41], &[24, 3, 7, 7], 1, [&[2, 2], &[1, 1], &[3, 3, 3, 3]]),
        row(&[1, 1, 700], &[40, 1, 65], 1, [&[9], &[1], &[0, 0]]),
        row(&[3, 33, 7, 7], &[40, 33, 1, 1], 1, [&[1, 1], &[1, 1], &[0, 0, 0, 0]]),
        row(&[2, 40, 30, 31], &[40, 20, 1, 1], 2, [&[1, 1], &[1, 1], &[0, 0, 0, 0]]),
        row(&[0, 9, 5, 5], &[20, 9, 1, 1], 1, [&[1, 1], &[1, 1], &[0, 0, 0, 0]]),
    ];
    for (i, row) in ROWS.iter().chain(&more).enumerate() {
        for finished in [false, true] {
            let mut case = Case::new("fused_conv", &[f32s(row.x, i as u64), f32s(row.w, 99)]);
            if finished {
                let operands = [f32s(&row.w[..1], 7), f32s(&shape_of(row), 8)];
                case = operands
                    .into_iter()
                    .fold(case, |case, operand| case.operand(Some(operand)));
                case = case.attr("activation", AttrValue::Str("relu".into()));
            }
            if i >= ROWS.len() && !shape_of(row).contains(&0) {
                case = case.surely();
            }
            case.in_bf16()
                .int("group", row.groups)
                .ints("strides", row.strides)
                .ints("dilations", row.dilations)
                .ints("pads", row.pads)
                .check();
        }
    }
}

/// A residual that broadcasts is left to the reference semantics.
#[test]
fn a_residual_of_another_shape() {
    let case = Case::new("fused_conv", &[f32s(&[1, 2, 5, 5], 1), f32s(&[3, 2, 3, 3], 2)]);
    let case = case.operand(None).operand(Some(f32s(&[1, 3, 1, 1], 3)));
    assert!(!case.may_decline().check());
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
