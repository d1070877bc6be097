//! Maps agree with strided layouts, which are computed without them.

use std::cell::Cell;

use tautomer_op::{AttrValue, Fact, evaluate_tensors, lookup, normalize};
use tautomer_tensor::strided::{Layout, LayoutError};
use tautomer_tensor::{Tensor, Type};

/// Compares a call on the numbers 0, 1, … with the offsets of the layout made from that of its operand.
fn check(
    op: &str,
    shape: &[usize],
    attrs: &[(&'static str, AttrValue)],
    f: impl Fn(&Layout) -> Result<Layout, LayoutError>,
) {
    let def = lookup(op).unwrap();
    let n: usize = shape.iter().product();
    let x = Tensor::new(shape, (0..n as i64).collect()).unwrap();
    let ty: Type = x.ty().into();
    let normal = normalize(def, &[Fact::of(&ty)], attrs, &Cell::new(0)).unwrap();
    let out = evaluate_tensors(def, &[Some(x)], &normal.attrs).unwrap().remove(0);
    let layout = f(&Layout::row_major(shape).unwrap()).unwrap();
    let expected: Vec<i128> = layout.offsets().map(|place| place as i128).collect();
    assert_eq!(out.shape(), layout.shape(), "{op} {shape:?} {attrs:?}");
    assert_eq!(out.to_ints().unwrap(), expected, "{op} {shape:?} {attrs:?}");
}

#[test]
fn slices_are_clamped() {
    let far = [i64::MIN, i64::MAX];
    for n in 0..4 {
        let bounds = || (-6..=6).chain(far);
        for (start, end) in bounds().flat_map(|start| bounds().map(move |end| (start, end))) {
            for step in [1, 2, 3, -1, -2, i64::MAX, i64::MIN] {
                let list = |i: i64| AttrValue::ints(&[i]);
                let attrs = [
                    ("starts", list(start)),
                    ("ends", list(end)),
                    ("axes", list(1)),
                    ("steps", list(step)),
                ];
                check("slice", &[2, n], &attrs, |x| x.slice(1, Some(start), Some(end), step));
            }
        }
    }
}

#[test]
fn axes_are_reordered_and_repeated() {
    for perm in [[0, 1, 2], [0, 2, 1], [1, 0, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0]] {
        for shape in [[2, 3, 4], [1, 3, 2], [2, 0, 3]] {
            check("transpose", &shape, &[("perm", AttrValue::ints(&perm))], |x| {
                x.permute(&perm)
            });
        }
    }
    for (from, to) in [
        (&[][..], &[2, 3][..]),
        (&[1], &[4]),
        (&[3, 1], &[2, 3, 4]),
        (&[1, 3], &[2, 3]),
        (&[2, 1, 3], &[2, 0, 3]),
    ] {
        let wanted: Vec<i64> = to.iter().map(|&d| d as i64).collect();
        check("expand", from, &[("shape", AttrValue::ints(&wanted))], |x| {
            x.broadcast(to)
        });
    }
}

#[test]
fn diagonals_and_windows() {
    for (shape, first, second) in [
        ([3, 4, 2], 0, 1),
        ([3, 4, 2], 0, 2),
        ([3, 0, 2], 1, 2),
        ([1, 1, 5], 1, 2),
    ] {
        for offset in (-5..=5).chain([i64::MIN, i64::MAX]) {
            let attrs = [
                ("offset", AttrValue::int(offset)),
                ("dim1", AttrValue::int(first)),
                ("dim2", AttrValue::int(second)),
            ];
            check("diagonal", &shape, &attrs, |x| x.diagonal(offset, first, second));
        }
    }
    for (size, step) in [(0usize, 1), (1, 1), (2, 1), (2, 3), (5, 4)] {
        let attrs = [
            ("axis", AttrValue::int(1)),
            ("size", AttrValue::int(size as i64)),
            ("step", AttrValue::int(step as i64)),
        ];
        check("unfold", &[2, 5, 3], &attrs, |x| x.windows(1, size, step));
    }
}
