use super::super::integer::tests::{ACTIVATIONS, activated, bytes};
use super::super::testing::{Case, f32s};
use tautomer_tensor::{DType, Tensor};

/// Shapes of image and weights, and attributes.
type Row = (
    &'static [usize],
    &'static [usize],
    &'static [(&'static str, &'static [i64])],
    i64,
);

const ROWS: [Row; 19] = [
    (&[1, 1, 1, 1], &[1, 1, 1, 1], &[], 1),
    (&[1, 3, 5, 7], &[13, 3, 1, 1], &[], 1),
    (&[2, 5, 9, 33], &[4, 5, 3, 3], &[("pads", &[1, 1, 1, 1])], 1),
    (
        &[1, 4, 8, 9],
        &[3, 4, 3, 3],
        &[("pads", &[1, 0, 2, 1]), ("strides", &[2, 2])],
        1,
    ),
    (
        &[1, 6, 11, 10],
        &[6, 3, 2, 3],
        &[("strides", &[3, 2]), ("dilations", &[2, 3])],
        2,
    ),
    (&[1, 5, 6, 6], &[10, 1, 3, 3], &[("pads", &[1, 1, 1, 1])], 5),
    (&[1, 2, 40], &[3, 2, 5], &[("pads", &[4, 4]), ("dilations", &[2])], 1),
    (&[1, 9, 7, 7], &[2, 9, 1, 1], &[("strides", &[2, 2])], 1),
    (
        &[1, 2, 4, 5, 6],
        &[3, 2, 2, 3, 2],
        &[("pads", &[1, 1, 0, 0, 1, 1]), ("strides", &[1, 2, 1])],
        1,
    ),
    (&[1, 2, 3, 3], &[2, 2, 3, 3], &[("pads", &[4, 4, 4, 4])], 1),
    (
        &[1, 2, 3, 4],
        &[1, 2, 2, 2],
        &[("pads", &[0, 0, 3, 5]), ("strides", &[4, 4])],
        1,
    ),
    (&[1, 3, 2, 130], &[17, 3, 1, 3], &[("pads", &[0, 1, 0, 1])], 1),
    // Each channel separately: several images, windows at a distance, several axes, and a row longer than a block.
    (&[2, 3, 7, 66], &[3, 1, 3, 3], &[("pads", &[1, 1, 1, 1])], 3),
    (
        &[1, 4, 9, 12],
        &[8, 1, 5, 3],
        &[("pads", &[2, 0, 2, 1]), ("strides", &[2, 3])],
        4,
    ),
    (&[1, 2, 70], &[2, 1, 3], &[("pads", &[3, 0]), ("dilations", &[2])], 2),
    (
        &[1, 2, 3, 4, 5],
        &[4, 1, 2, 2, 2],
        &[("pads", &[1, 0, 0, 0, 1, 2]), ("strides", &[2, 1, 2])],
        2,
    ),
    (&[1, 1, 3, 3], &[2, 1, 1, 1], &[], 1),
    // More positions than are summed together, and windows of more than four elements in a row.
    (&[1, 2, 30, 41], &[2, 1, 3, 3], &[("pads", &[1, 1, 1, 1])], 2),
    (
        &[1, 2, 21, 44],
        &[2, 1, 5, 6],
        &[("pads", &[2, 2, 2, 2]), ("strides", &[2, 2])],
        2,
    ),
];

fn with(mut case: Case, row: &Row) -> Case {
    for (name, list) in row.2 {
        case = case.ints(name, list);
    }
    case.int("group", row.3)
}

#[test]
fn convolutions_of_every_type_and_zero_point() {
    for (tx, tw) in [
        (DType::U8, DType::I8),
        (DType::U8, DType::U8),
        (DType::I8, DType::I8),
        (DType::I8, DType::U8),
    ] {
        for row in &ROWS {
            let case = || {
                with(
                    Case::new("conv_integer", &[bytes(tx, row.0, 1), bytes(tw, row.1, 2)]),
                    row,
                )
            };
            case().check();
            let (zero, each) = (Some(bytes(tx, &[], 3)), Some(bytes(tw, &[row.1[0]], 4)));
            case().operand(zero.clone()).check();
            case().operand(zero.clone()).operand(Some(bytes(tw, &[], 5))).check();
            case().operand(zero).operand(each).check();
        }
    }
}

/// Rows of images up to those that are copied as several blocks, and windows that leave some of them out.
#[test]
fn small_images_of_separate_channels() {
    let mut seed = 1u64;
    let mut random = |below: usize| {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (seed >> 33) as usize % below
    };
    let mut checked = 0;
    for round in 0..240 {
        let (channels, images, multiplier) = (1 + random(4), 1 + random(2), 1 + random(2));
        let (height, width) = (1 + random(12), 1 + round % 40);
        let (kernel, stride, dilation) = (1 + random(5), 1 + random(3), 1 + random(2));
        let pads: [usize; 4] = std::array::from_fn(|_| random(kernel + 1));
        let reach = (kernel - 1) * dilation + 1;
        if height + pads[0] + pads[2] < reach || width + pads[1] + pads[3] < reach {
            continue;
        }
        let (tx, tw) = [(DType::U8, DType::I8), (DType::I8, DType::U8)][round / 40 % 2];
        let filters = channels * multiplier;
        let x = bytes(tx, &[images, channels, height, width], round as u64);
        let w = bytes(tw, &[filters, 1, kernel, kernel], 1);
        let pads = pads.map(|n| n as i64);
        let case = |case: Case| {
            case.ints("pads", &pads)
                .ints("strides", &[stride as i64; 2])
                .ints("dilations", &[dilation as i64; 2])
                .int("group", channels as i64)
                .check()
        };
        let (zero_x, zeros_w) = (bytes(tx, &[], 3), bytes(tw, &[filters], 4));
        let integer = Case::new("conv_integer", &[x.clone(), w.clone(), zero_x.clone(), zeros_w.clone()]);
        assert!(case(integer));
        let scales = (Tensor::scalar(0.02f32), f32s(&[filters], 7), Tensor::scalar(0.9f32));
        let operands = [x, scales.0, zero_x, w, scales.1, zeros_w, scales.2, bytes(tx, &[], 5)];
        assert!(case(Case::new("qlinear_conv", &operands)));
        checked += 1;
    }
    assert!(checked > 150, "{checked}");
}

#[test]
fn quantized_convolutions() {
    for (tx, tw, ty) in [
        (DType::U8, DType::I8, DType::U8),
        (DType::I8, DType::I8, DType::I8),
        (DType::U8, DType::U8, DType::U8),
    ] {
        for row in &ROWS {
            let filters = row.1[0];
            for (scale, zero) in [
                (Tensor::scalar(0.013f32), bytes(tw, &[], 6)),
                (f32s(&[filters], 7), bytes(tw, &[filters], 8)),
            ] {
                let operands = [
                    bytes(tx, row.0, 1),
                    Tensor::scalar(0.02f32),
                    bytes(tx, &[], 2),
                    bytes(tw, row.1, 3),
                    scale,
                    zero,
                    Tensor::scalar(0.9f32),
                    bytes(ty, &[], 4),
                ];
                with(Case::new("qlinear_conv", &operands), row).check();
                let bias = (0..filters as i32).map(|i| i * 700 - 2000).collect::<Vec<_>>();
                with(
                    Case::new("qlinear_conv", &operands).operand(Some(Tensor::vector(bias))),
                    row,
                )
                .check();
            }
        }
    }
}

#[test]
fn convolutions_of_quantized_numbers() {
    for (tx, tw, ty) in [
        (DType::U8, DType::I8, DType::U8),
        (DType::I8, DType::I8, DType::I8),
        (DType::I8, DType::U8, DType::U8),
    ] {
        for row in &ROWS {
            let filters = row.1[0];
            for (scale, zero) in [
                (Tensor::scalar(0.013f32), bytes(tw, &[], 6)),
                (f32s(&[filters], 7), bytes(tw, &[filters], 8)),
            ] {
                let operands = [
                    bytes(tx, row.0, 1),
                    Tensor::scalar(0.02f32),
                    bytes(tx, &[], 2),
                    bytes(tw, row.1, 3),
                    scale,
                    zero,
                ];
                for (i, activation) in ACTIVATIONS.into_iter().enumerate() {
                    let case = || activated(with(Case::new("quantized_conv", &operands), row), activation);
                    let bias = || (i % 2 == 0).then(|| f32s(&[filters], 9));
                    let down = Some(Tensor::scalar(0.37f32));
                    case().check();
                    case().operand(bias()).check();
                    case()
                        .operand(bias())
                        .operand(down)
                        .operand(Some(bytes(ty, &[], 4)))
                        .check();
                }
            }
        }
    }
}

#[test]
fn numbers_that_are_not_finite_are_left_to_the_reference() {
    let number = |x: f32| Tensor::scalar(x);
    for (sx, b, sy, accepts) in [
        (f32::NAN, 0.5, 0.5, false),
        (0.5, f32::INFINITY, 0.5, false),
        (0.5, 0.5, 0.0, false),
        (0.5, 0.5, -0.5, true),
    ] {
        let operands = [
            bytes(DType::U8, &[1, 2, 3, 3], 1),
            number(sx),
            Tensor::scalar(7u8),
            bytes(DType::I8, &[1, 2, 2, 2], 2),
            number(0.5),
            Tensor::scalar(0i8),
            Tensor::vector(vec![b]),
            number(sy),
            Tensor::scalar(100u8),
        ];
        assert_eq!(Case::new("quantized_conv", &operands).may_decline().check(), accepts);
    }
}
