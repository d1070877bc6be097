use super::super::testing::{Case, f32s};
use tautomer_op::AttrValue;
use tautomer_tensor::{DType, Tensor};

/// Batch, heads of queries and of keys, queries, keys, sizes of keys and of values.
const SIZES: [[usize; 7]; 9] = [
    [1, 1, 1, 1, 1, 1, 1],
    [2, 4, 2, 5, 7, 8, 6],
    [1, 2, 2, 40, 65, 17, 33],
    [1, 2, 1, 33, 129, 20, 40],
    [1, 6, 2, 1, 300, 33, 34],
    [1, 2, 2, 3, 2, 4, 4],
    [1, 1, 1, 5, 9, 300, 3],
    [2, 1, 1, 31, 128, 16, 13],
    [1, 2, 1, 0, 3, 4, 5],
];

fn case([b, h, g, s, t, d, e]: [usize; 7]) -> Case {
    Case::new(
        "attention",
        &[f32s(&[b, h, s, d], 1), f32s(&[b, g, t, d], 2), f32s(&[b, g, t, e], 3)],
    )
}

/// About a third is false; a row of each matrix is false altogether.
fn truths(shape: &[usize]) -> Tensor {
    let n: usize = shape.iter().product();
    let row = shape[shape.len() - 1].max(1);
    let rows = shape[shape.len() - 2].max(1);
    let of = |i: usize| !(i * 2_654_435_761).is_multiple_of(3) && i / row % rows != rows / 2;
    Tensor::new(shape, (0..n).map(of).collect::<Vec<bool>>()).unwrap()
}

#[test]
fn heads_of_every_size() {
    for sizes in SIZES {
        case(sizes).check();
        case(sizes).attr("is_causal", AttrValue::Bool(true)).check();
        case(sizes)
            .attr("scale", AttrValue::float(0.3))
            .attr("softcap", AttrValue::float(2.0))
            .check();
        let precision = AttrValue::DType(DType::F32);
        case(sizes).attr("softmax_precision", precision).check();
    }
}

#[test]
fn masks_broadcast_and_may_be_short() {
    for sizes in SIZES {
        let [b, h, _, s, t, ..] = sizes;
        for shape in [
            &[s, t][..],
            &[1, 1, s, t],
            &[b, h, s, t],
            &[b, 1, 1, t],
            &[h, s, t],
            &[1, t],
        ] {
            case(sizes).operand(Some(f32s(shape, 4))).check();
            case(sizes).operand(Some(truths(shape))).check();
            let causal = AttrValue::Bool(true);
            case(sizes)
                .operand(Some(truths(shape)))
                .attr("is_causal", causal)
                .check();
        }
        if t > 1 {
            case(sizes).operand(Some(f32s(&[s, t - 1], 4))).check();
            case(sizes).operand(Some(truths(&[s, t - 1]))).check();
        }
    }
}

#[test]
fn keys_and_values_of_the_past() {
    for sizes in SIZES {
        let [b, _, g, s, t, d, e] = sizes;
        for past in [0, 1, 130] {
            let with = |mask: Option<Tensor>| {
                let case = case(sizes).operand(mask);
                case.operand(Some(f32s(&[b, g, past, d], 5)))
                    .operand(Some(f32s(&[b, g, past, e], 6)))
            };
            with(None).check();
            with(None).attr("is_causal", AttrValue::Bool(true)).check();
            with(Some(f32s(&[s, past + t], 7))).check();
        }
    }
}

#[test]
fn the_number_of_keys_that_are_seen() {
    for sizes in SIZES {
        let [b, _, _, _, t, ..] = sizes;
        let seen = (0..b as i64).map(|i| (i * 3 + 1).min(t as i64)).collect::<Vec<_>>();
        let none = || case(sizes).operand(None).operand(None).operand(None);
        none().operand(Some(Tensor::vector(seen))).check();
        none().operand(Some(Tensor::vector(vec![0i64; b]))).check();
    }
}

#[test]
fn heads_side_by_side() {
    for [b, h, g, s, t, d, e] in SIZES {
        let operands = [
            f32s(&[b, s, h * d], 1),
            f32s(&[b, t, g * d], 2),
            f32s(&[b, t, g * e], 3),
        ];
        let case = Case::new("attention", &operands).int("q_num_heads", h as i64);
        case.int("kv_num_heads", g as i64)
            .attr("is_causal", AttrValue::Bool(true))
            .check();
    }
}

#[test]
fn what_is_not_a_number_stays_where_it_counts() {
    for (s, t) in [(2usize, 5usize), (40, 140)] {
        for special in [f32::NAN, f32::INFINITY, f32::NEG_INFINITY] {
            for at in 0..3 {
                let mut operands = [f32s(&[1, 1, s, 8], 1), f32s(&[1, 1, t, 8], 2), f32s(&[1, 1, t, 8], 3)];
                let mut elements = operands[at].to_f64s().unwrap();
                let n = elements.len();
                elements[n - 3] = special.into();
                operands[at] = Tensor::from_f64s(DType::F32, &[1, 1, n / 8, 8], &elements).unwrap();
                Case::new("attention", &operands).check();
                Case::new("attention", &operands).operand(Some(truths(&[s, t]))).check();
                Case::new("attention", &operands)
                    .attr("is_causal", AttrValue::Bool(true))
                    .check();
            }
        }
    }
}

#[test]
fn blocks_that_a_mask_hides() {
    let (s, t, size) = (70, 300, 8);
    let past = t - s;
    let causal = |i: usize, j: usize| j <= i + past;
    // No key is seen by any query but the last, or by the first one.
    let last = |i: usize, j: usize| i == s - 1 && j == t - 1;
    let but_first = |i: usize, j: usize| i > 0 && j < 5;
    // Only keys of the middle block, and then those after it.
    let middle = |i: usize, j: usize| (130..200).contains(&j) && !(i + j).is_multiple_of(3);
    let end = |_: usize, j: usize| j > 260;
    let masks: [&dyn Fn(usize, usize) -> bool; 5] = [&causal, &last, &but_first, &middle, &end];
    for is_seen in masks {
        for hidden in [f32::MIN, f32::NEG_INFINITY, -2e38, -1e9] {
            for special in [0.0f32, 1e30, f32::NAN, f32::INFINITY] {
                let mask = (0..s * t).map(|at| if is_seen(at / t, at % t) { 0.0 } else { hidden });
                let mask = Tensor::new::<f32>(&[s, t], mask.collect()).unwrap();
                let mut operands = [
                    f32s(&[1, 2, s, size], 1),
                    f32s(&[1, 1, t, size], 2),
                    f32s(&[1, 1, t, size], 3),
                ];
                if special != 0.0 {
                    let mut elements = operands[1].to_f64s().unwrap();
                    elements[size * (t - 2)] = special.into();
                    operands[1] = Tensor::from_f64s(DType::F32, &[1, 1, t, size], &elements).unwrap();
                }
                Case::new("attention", &operands).operand(Some(mask)).check();
            }
        }
    }
}
