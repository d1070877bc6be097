//! Determinants, and sampling grids of affine maps.

use super::common::{Out, at, build, count, flat, int_operand, typed};
use super::value::shaped;
use super::{
    AttrDef, AttrKind, CostRule, Default, Eval, Formula, Infer, OpDef, OpError, OpTraits, Operand, System, Value,
};
use crate::reference;
use tautomer_tensor::{DType, Dim, Shape, Type};

/// The operators of this family.
pub(super) const OPS: &[OpDef] = &[
    OpDef::new("det", "The determinant of each matrix in the last two axes.")
        .operands(&[Operand::one("x")])
        .infer(infer_det)
        .reference(reference!(det))
        .formula(Formula::Whole)
        .traits(OpTraits::UNARY)
        .cost(CostRule::PerInput(8.0))
        .onnx("Det", 11),
    OpDef::new(
        "affine_grid",
        "The positions that affine maps assign to those of images of a given size; coordinates run from -1 to 1.",
    )
    .operands(&[Operand::one("theta"), Operand::attr("size")])
    .attrs(&[
        AttrDef::new(
            "size",
            AttrKind::Ints,
            Default::Required,
            "dimensions of the images: batch, channels, and two or three spatial ones",
        ),
        AttrDef::new(
            "align_corners",
            AttrKind::Bool,
            Default::Bool(false),
            "whether -1 and 1 are the centres of the outermost elements instead of their outer edges",
        ),
    ])
    .infer(infer_grid)
    .reference(reference!(grid))
    .formula(Formula::Whole)
    .traits(OpTraits::LINEAR)
    .cost(CostRule::Elementwise(8.0))
    .onnx("AffineGrid", 20),
];

fn infer_det(call: &Infer<'_>) -> Result<Type, OpError> {
    let dtype = call.expect_dtype(0, DType::is_float, "a floating-point number")?;
    let Some(shape) = call.shape(0)? else {
        return Ok(typed(dtype, None));
    };
    let square = match &shape[..] {
        [.., Dim::Const(a), Dim::Const(b)] => a == b,
        [.., _, _] => true,
        _ => false,
    };
    if !square {
        return Err(OpError::new(format!("`x` must end in two equal axes, but is {}", call.tensor(0)?)).at(0));
    }
    Ok(typed(
        dtype,
        Some(shape.iter().take(shape.len() - 2).cloned().collect()),
    ))
}

/// The determinant of a matrix given by rows. Small matrices use the definition, which needs no order of numbers;
/// others use elimination with the largest pivot.
fn determinant<S: System>(mut m: Vec<Vec<S>>) -> Result<S, OpError> {
    let n = m.len();
    if n <= 3 {
        return Ok(by_minors(&m));
    }
    let mut det = S::one();
    for k in 0..n {
        let mut pivot = k;
        for i in k + 1..n {
            let (a, b) = (m[i][k].mul(&m[i][k]), m[pivot][k].mul(&m[pivot][k]));
            if a.order(&b)? == Some(std::cmp::Ordering::Greater) {
                pivot = i;
            }
        }
        if m[pivot][k] == S::zero() {
            return Ok(S::zero());
        }
        if pivot != k {
            m.swap(pivot, k);
            det = det.neg();
        }
        det = det.mul(&m[k][k]);
        let top = m[k].clone();
        for row in m.iter_mut().skip(k + 1) {
            let factor = row[k].div(&top[k])?;
            for (x, above) in row.iter_mut().zip(&top).skip(k) {
                *x = x.sub(&factor.mul(above));
            }
        }
    }
    Ok(det)
}

fn by_minors<S: System>(m: &[Vec<S>]) -> S {
    let two = |i: usize, j: usize, rows: &[Vec<S>]| rows[0][i].mul(&rows[1][j]).sub(&rows[0][j].mul(&rows[1][i]));
    match m {
        [] => S::one(),
        [row] => row[0].clone(),
        [_, _] => two(0, 1, m),
        [first, rest @ ..] => first[0]
            .mul(&two(1, 2, rest))
            .sub(&first[1].mul(&two(0, 2, rest)))
            .add(&first[2].mul(&two(0, 1, rest))),
    }
}

fn det<S: System>(e: &Eval<'_, S>) -> Out<S> {
    let x = e.operand(0)?.real()?;
    let out = e.out_shape(0)?;
    let n = x.shape().last().copied().unwrap_or(0);
    let values = flat(x);
    let matrix = |i: usize| -> Vec<Vec<S>> {
        let from = i * n * n;
        (0..n)
            .map(|r| values[from + r * n..from + (r + 1) * n].to_vec())
            .collect()
    };
    let all = (0..count(&out)?)
        .map(|i| determinant(matrix(i)))
        .collect::<Result<Vec<_>, _>>()?;
    Ok(vec![Value::Real(shaped(&out, all)?)])
}

fn infer_grid(call: &Infer<'_>) -> Result<Type, OpError> {
    let dtype = call.expect_dtype(0, DType::is_float, "a floating-point number")?;
    int_operand(call, "size")?;
    let theta = call.tensor(0)?;
    let axes = match theta.shape.as_deref() {
        Some([_, Dim::Const(2), Dim::Const(3)]) => Some(2),
        Some([_, Dim::Const(3), Dim::Const(4)]) => Some(3),
        Some([_, rows, columns]) if rows.as_const().is_none() || columns.as_const().is_none() => None,
        None => None,
        Some(_) => {
            let wanted = "maps of two or three axes: [n, 2, 3] or [n, 3, 4]";
            return Err(OpError::new(format!("`theta` must be {wanted}, but is {theta}")).at(0));
        }
    };
    let size = call.ints("size");
    let axes = axes.or_else(|| size.as_ref()?.len().checked_sub(2));
    let Some(axes) = axes else {
        return Ok(typed(dtype, None));
    };
    if let Some(size) = size.as_ref().filter(|s| s.len() != axes + 2) {
        return Err(OpError::new(format!(
            "`size` has {} dimensions, but {} are needed",
            size.len(),
            axes + 2
        ))
        .attr("size"));
    }
    let batch = match (theta.shape.as_ref().and_then(|s| s.first()), &size) {
        (Some(n), _) => n.clone(),
        (None, Some(size)) => size[0].clone(),
        (None, None) => call.unknown(),
    };
    let image: Vec<Dim> = match size {
        Some(size) => size[2..].to_vec(),
        None => (0..axes).map(|_| call.unknown()).collect(),
    };
    let shape: Shape = [batch].into_iter().chain(image).chain([Dim::from(axes)]).collect();
    Ok(typed(dtype, Some(shape)))
}

fn grid<S: System>(e: &Eval<'_, S>) -> Out<S> {
    let theta = e.operand(0)?.real()?;
    let (shape, aligned) = (e.out_shape(0)?, e.flag("align_corners"));
    let axes = shape.len().saturating_sub(2);
    // The coordinate of position `i` of `n`, as a fraction.
    let place = |i: usize, n: usize| -> Result<S, OpError> {
        let (above, below) = match (aligned, n) {
            (true, 0 | 1) => (0, 1),
            (true, _) => (2 * i as i128 - (n as i128 - 1), n as i128 - 1),
            (false, _) => (2 * i as i128 + 1 - n as i128, n as i128),
        };
        Ok(S::from_int(above).div(&S::from_int(below))?)
    };
    let out = build(&shape, |position| {
        let (item, row) = (position[0], position[axes + 1]);
        let mut sum = at(theta, &[item, row, axes])?;
        for axis in 0..axes {
            // The first coordinate belongs to the last axis.
            let weight = at(theta, &[item, row, axes - 1 - axis])?;
            sum = sum.add(&weight.mul(&place(position[axis + 1], shape[axis + 1])?));
        }
        Ok(sum)
    })?;
    Ok(vec![Value::Real(out)])
}
