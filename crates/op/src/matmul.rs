//! Matrix products: `matmul`, `gemm`, and operators built from them.

use super::common::{Out, count, flat, set, strides, typed};
use super::elementwise::zip;
use super::value::shaped;
use super::window::Positions;
use super::{
    AttrDef, AttrKind, AttrValue, AxesRule, CostRule, Default, Eval, Formula, Infer, OpDef, OpError, OpTraits, Operand,
    Products, ShapeRule, System, Value,
};
use crate::reference;
use tautomer_tensor::{DType, Dim, Shape, Type};

/// The operators of this family.
pub(super) const OPS: &[OpDef] = &[
    OpDef::new(
        "matmul",
        "Matrix product of the last two axes, broadcasting the others; a vector is a row on the left, else a column.",
    )
    .operands(&[Operand::one("a"), Operand::one("b")])
    .infer(infer_matmul)
    .reference(reference!(matmul))
    .formula(Formula::Product(Products::Matrices))
    .traits(OpTraits::BINARY.and(OpTraits::LINEAR))
    .cost(CostRule::Flops(product_flops))
    .shapes(ShapeRule::MatrixProduct)
    .axes(AxesRule::Matrices)
    .onnx("MatMul", 1),
    OpDef::new(
        "gemm",
        "`alpha * a * b + beta * c` of matrices; the first two may be transposed.",
    )
    .operands(&[
        Operand::one("a").ranked(2),
        Operand::one("b").ranked(2),
        Operand::optional("c"),
    ])
    .attrs(&[
        AttrDef::new("alpha", AttrKind::Float, Default::Float(1.0), "factor of the product"),
        AttrDef::new("beta", AttrKind::Float, Default::Float(1.0), "factor of `c`"),
        AttrDef::new(
            "transA",
            AttrKind::Bool,
            Default::Bool(false),
            "whether to transpose `a`",
        ),
        AttrDef::new(
            "transB",
            AttrKind::Bool,
            Default::Bool(false),
            "whether to transpose `b`",
        ),
    ])
    .infer(infer_gemm)
    .canonical(canonical_gemm)
    .reference(reference!(gemm))
    .formula(Formula::Product(Products::Gemm))
    .traits(OpTraits::LINEAR)
    .cost(CostRule::Flops(product_flops))
    .shapes(ShapeRule::Gemm)
    .axes(AxesRule::Fixed)
    .onnx("Gemm", 7),
];

fn numbers(call: &Infer<'_>) -> Result<DType, OpError> {
    let dtype = call.same_dtype(0, 1)?;
    call.expect_dtype(0, DType::is_number, "a number").map(|_| dtype)
}

/// Checks that two dimensions are equal.
fn same_extent(call: &Infer<'_>, left: (usize, usize, &Dim), right: (usize, usize, &Dim)) -> Result<(), OpError> {
    let ((i, axis_i, a), (j, axis_j, b)) = (left, right);
    if a.as_const().is_none() || b.as_const().is_none() || a == b {
        return Ok(());
    }
    let name = |i: usize| call.def.operand(i).map_or("", |o| o.name);
    Err(OpError::new(format!(
        "`{}` is {} and `{}` is {}: axis {axis_i} of `{}` is {a}, axis {axis_j} of `{}` is {b}, and they must be equal",
        name(i),
        call.tensor(i)?,
        name(j),
        call.tensor(j)?,
        name(i),
        name(j),
    ))
    .at(i)
    .and(j))
}

fn expect_rank(call: &Infer<'_>, i: usize, ok: impl Fn(usize) -> bool, what: &str) -> Result<(), OpError> {
    let ty = call.tensor(i)?;
    match ty.rank() {
        Some(rank) if !ok(rank) => {
            let name = call.def.operand(i).map_or("", |o| o.name);
            Err(OpError::new(format!("`{name}` must have {what}, but is {ty}")).at(i))
        }
        _ => Ok(()),
    }
}

/// Broadcasts the leading axes of a product.
fn batch(call: &Infer<'_>, a: &[Dim], b: &[Dim]) -> Result<Shape, OpError> {
    let (a, b): (Shape, Shape) = (a.iter().cloned().collect(), b.iter().cloned().collect());
    a.broadcast(&b).map_err(|from_end| {
        let (x, y) = (a.len() - 1 - from_end, b.len() - 1 - from_end);
        let name = |i: usize| call.def.operand(i).map_or("", |o| o.name);
        OpError::new(format!(
            "the leading axes of `{}` and `{}` do not broadcast: axis {x} of {a} is {}, axis {y} of {b} is {}",
            name(0),
            name(1),
            a[x],
            b[y]
        ))
        .at(0)
        .and(1)
        .help("dimensions of leading axes must be equal or 1")
    })
}

fn infer_matmul(call: &Infer<'_>) -> Result<Type, OpError> {
    let dtype = numbers(call)?;
    for i in 0..2 {
        expect_rank(call, i, |r| r > 0, "at least one axis")?;
    }
    let (Some(a), Some(b)) = (call.shape(0)?, call.shape(1)?) else {
        return Ok(typed(dtype, None));
    };
    let b_inner = b.len().saturating_sub(2);
    same_extent(call, (0, a.len() - 1, &a[a.len() - 1]), (1, b_inner, &b[b_inner]))?;
    let mut out = batch(call, &a[..a.len().saturating_sub(2)], &b[..b_inner])?;
    if a.len() > 1 {
        out.push(a[a.len() - 2].clone());
    }
    if b.len() > 1 {
        out.push(b[b.len() - 1].clone());
    }
    Ok(typed(dtype, Some(out)))
}

/// The factor of an absent operand has no effect.
fn canonical_gemm(call: &Infer<'_>, attrs: &mut [AttrValue]) -> Result<(), OpError> {
    if call.optional(2)?.is_none() {
        set(call, attrs, "beta", AttrValue::float(1.0));
    }
    Ok(())
}

fn infer_gemm(call: &Infer<'_>) -> Result<Type, OpError> {
    let dtype = numbers(call)?;
    for i in 0..2 {
        expect_rank(call, i, |r| r == 2, "two axes")?;
    }
    let c = call.optional(2)?;
    if c.is_some() {
        call.same_dtype(0, 2)?;
        expect_rank(call, 2, |r| r <= 2, "at most two axes")?;
    }
    if dtype.is_int() {
        for name in ["alpha", "beta"] {
            integral(call.float(name).unwrap_or(1.0)).map_err(|e| e.attr(name))?;
        }
    }
    let (ka, kb) = (usize::from(!call.flag("transA")), usize::from(call.flag("transB")));
    if let (Some(a), Some(b)) = (call.shape(0)?, call.shape(1)?) {
        same_extent(call, (0, ka, &a[ka]), (1, kb, &b[kb]))?;
    }
    let extent = |shape: Option<&Shape>, axis: usize| shape.map_or_else(|| call.unknown(), |s| s[axis].clone());
    let out: Shape = [extent(call.shape(0)?, 1 - ka), extent(call.shape(1)?, 1 - kb)]
        .into_iter()
        .collect();
    if let Some(c) = c.and_then(|t| t.shape.as_ref()) {
        for (from_end, (extent, whole)) in c.iter().rev().zip(out.iter().rev()).enumerate() {
            if let (Some(e), Some(w)) = (extent.as_const(), whole.as_const())
                && e != w
                && e != 1
            {
                return Err(OpError::new(format!(
                    "`c` of shape {c} does not broadcast to the product's shape {out}: axis {} is {e}, not {w}",
                    c.len() - 1 - from_end
                ))
                .at(2));
            }
        }
    }
    Ok(typed(dtype, Some(out)))
}

pub(super) fn infer_dense(call: &Infer<'_>) -> Result<Type, OpError> {
    let dtype = numbers(call)?;
    expect_rank(call, 0, |r| r > 0, "at least one axis")?;
    expect_rank(call, 1, |r| r == 2, "two axes")?;
    if call.optional(2)?.is_some() {
        call.same_dtype(0, 2)?;
        expect_rank(call, 2, |r| r == 1, "one axis")?;
    }
    let (x, w) = (call.shape(0)?, call.shape(1)?);
    if let (Some(w), Some(b)) = (w, call.optional(2)?.and_then(|t| t.shape.as_ref())) {
        same_extent(call, (1, 0, &w[0]), (2, 0, &b[0]))?;
    }
    let Some(x) = x else { return Ok(typed(dtype, None)) };
    let last = x.len() - 1;
    if let Some(w) = w {
        same_extent(call, (0, last, &x[last]), (1, 1, &w[1]))?;
    }
    let mut out = x.clone();
    out[last] = w.map_or_else(|| call.unknown(), |w| w[0].clone());
    Ok(typed(dtype, Some(out)))
}

pub(super) fn infer_batch_matmul(call: &Infer<'_>) -> Result<Type, OpError> {
    let dtype = numbers(call)?;
    for i in 0..2 {
        expect_rank(call, i, |r| r >= 2, "at least two axes")?;
    }
    let (Some(x), Some(y)) = (call.shape(0)?, call.shape(1)?) else {
        return Ok(typed(dtype, None));
    };
    let (m, n) = (x.len(), y.len());
    same_extent(call, (0, m - 1, &x[m - 1]), (1, n - 1, &y[n - 1]))?;
    let mut out = batch(call, &x[..m - 2], &y[..n - 2])?;
    out.push(x[m - 2].clone());
    out.push(y[n - 2].clone());
    Ok(typed(dtype, Some(out)))
}

pub(super) fn infer_bias_add(call: &Infer<'_>) -> Result<Type, OpError> {
    let dtype = numbers(call)?;
    expect_rank(call, 1, |r| r == 1, "one axis")?;
    if let Some(x) = call.shape(0)? {
        let axis = call.axis("axis", x.len())?;
        if let Some(b) = call.shape(1)? {
            same_extent(call, (0, axis, &x[axis]), (1, 0, &b[0]))?;
        }
    }
    Ok(typed(dtype, call.shape(0)?.cloned()))
}

pub(super) fn product_flops(call: &Infer<'_>, result: &Type) -> f64 {
    let out = result
        .as_tensor()
        .map_or(1.0, |t| super::cost::elements(t.shape.as_ref()));
    let inner = call.shape(0).ok().flatten().and_then(|a| {
        let axis = if call.flag("transA") {
            0
        } else {
            a.len().checked_sub(1)?
        };
        a.get(axis).map(super::cost::extent)
    });
    2.0 * out * inner.unwrap_or(32.0)
}

/// The operations of a matrix product and of the steps after it.
pub(super) fn fused_flops(call: &Infer<'_>, result: &Type) -> f64 {
    let elements = result
        .as_tensor()
        .map_or(1.0, |t| super::cost::elements(t.shape.as_ref()));
    product_flops(call, result) + super::conv::steps_after(call) * elements
}

/// The product of `m` × `k` and `k` × `n` matrices for each position of the batch.
struct Product {
    m: usize,
    k: usize,
    n: usize,
    /// Strides in the left array: between rows, between columns.
    left: (usize, usize),
    /// Strides in the right array: between rows, between columns.
    right: (usize, usize),
    /// The start of each batch, left and right.
    starts: Vec<(usize, usize)>,
}

impl Product {
    fn run<T: Clone>(&self, a: &[T], b: &[T], zero: &T, fma: impl Fn(&T, &T, &T) -> T) -> Vec<T> {
        let mut out = Vec::with_capacity(self.starts.len() * self.m * self.n);
        for &(x, y) in &self.starts {
            for i in 0..self.m {
                for j in 0..self.n {
                    let mut acc = zero.clone();
                    for l in 0..self.k {
                        let p = &a[x + i * self.left.0 + l * self.left.1];
                        let q = &b[y + l * self.right.0 + j * self.right.1];
                        acc = fma(&acc, p, q);
                    }
                    out.push(acc);
                }
            }
        }
        out
    }

    fn values<S: System>(&self, e: &Eval<'_, S>, shape: &[usize]) -> Result<Value<S>, OpError> {
        count(shape)?;
        let dtype = e.out_dtype();
        Ok(match (e.operand(0)?, e.operand(1)?) {
            (Value::Real(a), Value::Real(b)) => {
                let fma = |acc: &S, p: &S, q: &S| acc.add(&p.mul(q));
                Value::Real(shaped(shape, self.run(&flat(a), &flat(b), &S::zero(), fma))?)
            }
            (Value::Int(a), Value::Int(b)) => {
                let fma = |acc: &i128, p: &i128, q: &i128| dtype.wrap(acc.wrapping_add(p.wrapping_mul(*q)));
                Value::Int(shaped(shape, self.run(&flat(a), &flat(b), &0, fma))?)
            }
            _ => return Err(OpError::new("the operands have different element types")),
        })
    }
}

fn matmul<S: System>(e: &Eval<'_, S>) -> Out<S> {
    let mut a = e.operand(0)?.shape().to_vec();
    let mut b = e.operand(1)?.shape().to_vec();
    if a.len() == 1 {
        a.insert(0, 1);
    }
    if b.len() == 1 {
        b.push(1);
    }
    let (Some(la), Some(lb)) = (a.len().checked_sub(2), b.len().checked_sub(2)) else {
        return Err(OpError::new("a product needs at least one axis"));
    };
    let leading = Shape::from(&a[..la])
        .broadcast(&Shape::from(&b[..lb]))
        .ok()
        .and_then(|s| s.to_concrete())
        .ok_or_else(|| OpError::new("the leading axes do not broadcast"))?;
    if a[la + 1] != b[lb] {
        return Err(OpError::new(format!("shapes {a:?} and {b:?} cannot be multiplied")));
    }
    let (sa, sb) = (strides(&a), strides(&b));
    let offset = |at: &[usize], shape: &[usize], steps: &[usize], leading_axes: usize| -> usize {
        let skip = at.len() - leading_axes;
        (0..leading_axes)
            .filter(|&i| shape[i] != 1)
            .map(|i| at[skip + i] * steps[i])
            .sum()
    };
    count(&leading)?;
    let product = Product {
        m: a[la],
        k: a[la + 1],
        n: b[lb + 1],
        left: (sa[la], 1),
        right: (sb[lb], 1),
        starts: Positions::of(&leading)?
            .map(|at| (offset(&at, &a, &sa, la), offset(&at, &b, &sb, lb)))
            .collect(),
    };
    Ok(vec![product.values(e, &e.out_shape(0)?)?])
}

fn integral(value: f64) -> Result<i128, OpError> {
    if value.fract() == 0.0 && value.abs() < 1e18 {
        return Ok(value as i128);
    }
    Err(OpError::new(format!(
        "a product of integers cannot be scaled by {value:?}"
    )))
}

fn gemm<S: System>(e: &Eval<'_, S>) -> Out<S> {
    let (a, b) = (e.operand(0)?.shape(), e.operand(1)?.shape());
    let shape = e.out_shape(0)?;
    let ([a0, a1], [b0, b1]) = (a, b) else {
        return Err(OpError::new("both operands must be matrices"));
    };
    let (m, k, left) = if e.flag("transA") {
        (*a1, *a0, (1, *a1))
    } else {
        (*a0, *a1, (*a1, 1))
    };
    let (n, right) = if e.flag("transB") {
        (*b0, (1, *b1))
    } else {
        (*b1, (*b1, 1))
    };
    let product = Product {
        m,
        k,
        n,
        left,
        right,
        starts: vec![(0, 0)],
    };
    let (alpha, beta) = (e.float("alpha").unwrap_or(1.0), e.float("beta").unwrap_or(1.0));
    let scaled = product.values(e, &shape)?;
    let dtype = e.out_dtype();
    let out = match scaled {
        Value::Real(y) => {
            let y = if alpha == 1.0 {
                y
            } else {
                let alpha = S::from_f64(alpha)?;
                y.mapv(|v| v.mul(&alpha)).into_shared()
            };
            Value::Real(match e.optional(2) {
                None => y,
                Some(c) if beta == 1.0 => zip(&y, c.real()?, &shape, |y, c| Ok(y.add(c)))?,
                Some(c) => {
                    let beta = S::from_f64(beta)?;
                    zip(&y, c.real()?, &shape, |y, c| Ok(y.add(&c.mul(&beta))))?
                }
            })
        }
        Value::Int(y) => {
            let (alpha, beta) = (integral(alpha)?, integral(beta)?);
            let y = y.mapv(|v| dtype.wrap(v.wrapping_mul(alpha))).into_shared();
            Value::Int(match e.optional(2) {
                None => y,
                Some(c) => zip(&y, c.int()?, &shape, |y, c| {
                    Ok(dtype.wrap(y.wrapping_add(c.wrapping_mul(beta))))
                })?,
            })
        }
        other => other,
    };
    Ok(vec![out])
}
