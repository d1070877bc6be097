use super::super::testing::{Case, f32s};
use tautomer_op::AttrValue;
use tautomer_tensor::Tensor;

fn ints(values: &[i64]) -> Tensor {
    Tensor::vector(values.to_vec())
}

#[test]
fn views() {
    Case::new("reshape", &[f32s(&[2, 3, 4], 1)])
        .ints("shape", &[4, -1])
        .check();
    Case::new("reshape", &[f32s(&[2, 3], 1), ints(&[0, 3, 1])]).check();
    Case::new("reshape", &[f32s(&[0, 3], 1)])
        .ints("shape", &[3, 0])
        .int("allowzero", 1)
        .check();
    Case::new("flatten", &[f32s(&[2, 3, 4], 1)]).int("axis", 2).check();
    Case::new("squeeze", &[f32s(&[1, 3, 1], 1)]).ints("axes", &[-1]).check();
    Case::new("unsqueeze", &[f32s(&[3], 1)]).ints("axes", &[0, -1]).check();
}

#[test]
fn views_share_their_elements() {
    let whole = f32s(&[2, 3], 1);
    let operands = [super::Operand::Tensor(&whole)];
    let def = tautomer_op::lookup("flatten").unwrap();
    let call = super::Call::new(def, &operands, &[AttrValue::int(0)], super::super::Context::default()).unwrap();
    let out = super::moved(&call).unwrap().unwrap().remove(0);
    let (Tensor::F32(a), super::Value::Tensor(Tensor::F32(b))) = (&whole, &out) else {
        panic!("{out:?}")
    };
    assert_eq!(a.as_ptr(), b.as_ptr());
}

#[test]
fn transposes() {
    for (shape, perm) in [
        (&[3usize, 65][..], &[1i64, 0][..]),
        (&[2, 3, 4], &[0, 2, 1]),
        (&[2, 3, 4], &[2, 0, 1]),
        (&[2, 17, 1, 33], &[0, 3, 2, 1]),
        (&[2, 3, 4, 5], &[3, 2, 1, 0]),
        (&[2, 3, 4, 5], &[0, 1, 2, 3]),
        (&[0, 3], &[1, 0]),
        (&[], &[]),
    ] {
        Case::new("transpose", &[f32s(shape, 1)]).ints("perm", perm).check();
    }
    Case::new("transpose", &[f32s(&[2, 3, 4], 1)]).check();
    Case::new(
        "transpose",
        &[Tensor::new(&[2, 2], vec![true, false, false, true]).unwrap()],
    )
    .check();
}

#[test]
fn expansions() {
    for (own, to) in [
        (&[][..], &[2i64, 3][..]),
        (&[3, 1], &[2, 3, 4]),
        (&[1], &[5]),
        (&[2, 1, 3], &[1, 4, 1]),
        (&[1], &[0]),
    ] {
        Case::new("expand", &[f32s(own, 1)]).ints("shape", to).check();
    }
}

#[test]
fn slices() {
    for (starts, ends, axes, steps) in [
        (&[1i64][..], &[3i64][..], &[0i64][..], &[1i64][..]),
        (&[-3], &[-1], &[1], &[1]),
        (&[0, 1], &[100, 5], &[2, 0], &[2, 1]),
        (&[-1], &[-100], &[2], &[-1]),
        (&[4, 3], &[0, -100], &[2, 1], &[-2, -1]),
        (&[3], &[1], &[1], &[1]),
        (&[100], &[200], &[0], &[1]),
    ] {
        Case::new("slice", &[f32s(&[3, 4, 5], 1)])
            .ints("starts", starts)
            .ints("ends", ends)
            .ints("axes", axes)
            .ints("steps", steps)
            .check();
    }
}

#[test]
fn parts() {
    for (sizes, axis) in [(&[1i64, 3][..], 1), (&[2, 1], 0), (&[5], 2), (&[2, 0, 3], -1)] {
        Case::new("split", &[f32s(&[3, 4, 5], 1)])
            .ints("sizes", sizes)
            .int("axis", axis)
            .check();
    }
}

#[test]
fn pads() {
    for pads in [&[0i64, 1, 2, 3][..], &[0, 0, 0, 0], &[2, 0, 0, 1]] {
        Case::new("pad", &[f32s(&[3, 4], 1)]).ints("pads", pads).check();
        let case = Case::new("pad", &[f32s(&[3, 4], 1)]).attr("value", AttrValue::float(7.5));
        case.ints("pads", pads).check();
        Case::new("pad", &[Tensor::new(&[3, 4], (0..12).collect::<Vec<i64>>()).unwrap()])
            .ints("pads", pads)
            .check();
        Case::new("pad", &[f32s(&[2, 3, 4], 1)])
            .ints("axes", &[-1, 0])
            .ints("pads", pads)
            .check();
    }
    Case::new("pad", &[f32s(&[4, 5], 1)])
        .ints("pads", &[-1, 2, 1, -3])
        .check();
    Case::new("pad", &[f32s(&[2, 3], 1), ints(&[1, 0, 0, 2]), Tensor::scalar(2.5f32)]).check();
    for mode in ["reflect", "edge", "wrap"] {
        let case = Case::new("pad", &[f32s(&[3, 4], 1)]).attr("mode", AttrValue::str(mode));
        case.ints("pads", &[0, 1, 2, 1]).check();
    }
}

#[test]
fn shifts() {
    for (shifts, axes) in [
        (&[1i64][..], &[0i64][..]),
        (&[-2], &[1]),
        (&[1, 2, 7], &[0, 1, 2]),
        (&[0], &[2]),
    ] {
        Case::new("roll", &[f32s(&[3, 4, 5], 1)])
            .ints("shifts", shifts)
            .ints("axes", axes)
            .check();
    }
    // The position in row-major order is no sum of indices.
    let flat = Case::new("roll", &[f32s(&[3, 4, 5], 1)]).ints("shifts", &[7]);
    assert!(!flat.may_decline().check());
    Case::new("roll", &[f32s(&[2, 0], 1)])
        .ints("shifts", &[1])
        .ints("axes", &[1])
        .check();
}

#[test]
fn repetitions_and_blocks() {
    for repeats in [&[1i64, 1, 1][..], &[2, 1, 3], &[1, 1, 4], &[3, 1, 1], &[0, 2, 1]] {
        Case::new("tile", &[f32s(&[2, 3, 4], 1)])
            .ints("repeats", repeats)
            .check();
    }
    for mode in ["DCR", "CRD"] {
        Case::new("depth_to_space", &[f32s(&[2, 12, 3, 2], 1)])
            .int("blocksize", 2)
            .attr("mode", AttrValue::str(mode))
            .check();
    }
    Case::new("space_to_depth", &[f32s(&[2, 3, 4, 6], 1)])
        .int("blocksize", 2)
        .check();
}

#[test]
fn diagonals() {
    for (shape, first, second) in [
        (&[3usize, 4][..], 0, 1),
        (&[4, 3], 1, 0),
        (&[2, 3, 4], 0, 2),
        (&[2, 3, 4, 5], -1, 1),
        (&[0, 3, 4], 1, 2),
        (&[3, 0], 0, 1),
    ] {
        for offset in [0, 1, -1, 3, -7, i64::MAX, i64::MIN] {
            Case::new("diagonal", &[f32s(shape, 1)])
                .int("offset", offset)
                .int("dim1", first)
                .int("dim2", second)
                .check();
        }
    }
    let texts = Tensor::new(&[2, 2], ["a", "b", "c", "d"].map(str::to_owned).to_vec()).unwrap();
    Case::new("diagonal", &[texts]).check();
}

#[test]
fn windows() {
    for (shape, axis) in [(&[7usize][..], 0), (&[2, 7], 1), (&[7, 3, 2], -3)] {
        for (size, step) in [(1, 1), (3, 1), (3, 2), (7, 5), (0, 1)] {
            Case::new("unfold", &[f32s(shape, 1)])
                .int("axis", axis)
                .int("size", size)
                .int("step", step)
                .check();
        }
    }
}
