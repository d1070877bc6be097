//! Products of tensors summed along axes named by an equation.

use super::common::{Out, count, flat, strides, typed};
use super::value::shaped;
use super::{
    AttrDef, AttrKind, AttrValue, CostRule, Default, Eval, Formula, Infer, OpDef, OpError, Operand, Products, System,
    Value,
};
use crate::reference;
use tautomer_tensor::{DType, Dim, Shape, Type};

mod equation;

use equation::{Equation, Label};

/// The operators of this family.
pub(super) const OPS: &[OpDef] = &[OpDef::new(
    "einsum",
    "The product of all operands, aligned by the letters in `equation` and summed over those missing in the result.",
)
.operands(&[Operand::variadic("x")])
.attrs(&[AttrDef::new(
    "equation",
    AttrKind::Str,
    Default::Required,
    "letters of the axes of each operand and of the result, such as \"ij,jk->ik\"",
)])
.canonical(canonical)
.infer(infer)
.reference(reference!(einsum))
.formula(Formula::Product(Products::Equation))
.cost(CostRule::Flops(flops))
.onnx("Einsum", 12)];

/// Normalizes the equation: no spaces, an explicit result, and letters in order. An invalid equation keeps its letters,
/// which messages about it quote.
fn canonical(call: &Infer<'_>, attrs: &mut [AttrValue]) -> Result<(), OpError> {
    let mut equation = Equation::parse(&call.text("equation"))?;
    if infer(call).is_ok() {
        equation = equation.in_order();
    }
    super::common::set(call, attrs, "equation", AttrValue::str(&equation.to_string()));
    Ok(())
}

/// The labels of the axes of each operand; the axes of an ellipsis are counted from the last.
fn labelled(equation: &Equation, ranks: &[usize]) -> Result<Vec<Vec<Label>>, OpError> {
    if equation.operands.len() != ranks.len() {
        let message = format!(
            "`equation` is for {} operands, but {} are given",
            equation.operands.len(),
            ranks.len()
        );
        return Err(OpError::new(message).attr("equation"));
    }
    let one = |(i, (term, &rank)): (usize, (&equation::Term, &usize))| {
        term.labels(rank).ok_or_else(|| {
            OpError::new(format!(
                "the number of letters in `equation` does not match rank {rank}"
            ))
            .attr("equation")
            .at(i)
        })
    };
    equation.operands.iter().zip(ranks).enumerate().map(one).collect()
}

/// The dimension of each letter; axes of an ellipsis broadcast.
fn extents(labels: &[Vec<Label>], shapes: &[&Shape]) -> Result<Vec<(Label, Dim)>, OpError> {
    let mut out: Vec<(Label, Dim)> = Vec::new();
    for (i, (labels, shape)) in labels.iter().zip(shapes).enumerate() {
        for (&label, d) in labels.iter().zip(shape.iter()) {
            let Some(slot) = out.iter_mut().find(|(l, _)| *l == label) else {
                out.push((label, d.clone()));
                continue;
            };
            let one = Dim::Const(1);
            slot.1 = if slot.1 == one {
                d.clone()
            } else if *d == one {
                slot.1.clone()
            } else {
                super::common::unify(&slot.1, d).ok_or_else(|| {
                    OpError::new(format!("axis {label} of `equation` is both {} and {d}", slot.1)).at(i)
                })?
            };
        }
    }
    Ok(out)
}

/// The axes of operands of these ranks, and those of the result, as numbers: axes with the same number are aligned.
/// `None` if the equation does not fit the ranks.
pub fn einsum_axes(equation: &str, ranks: &[usize]) -> Option<(Vec<Vec<usize>>, Vec<usize>)> {
    let equation = Equation::parse(equation).ok()?;
    let labels = labelled(&equation, ranks).ok()?;
    let mut all: Vec<Label> = labels.iter().flatten().copied().collect();
    all.sort_unstable();
    all.dedup();
    let numbers = |labels: &[Label]| {
        labels
            .iter()
            .map(|l| all.binary_search(l).ok())
            .collect::<Option<Vec<_>>>()
    };
    let operands = labels.iter().map(|l| numbers(l)).collect::<Option<Vec<_>>>()?;
    Some((operands, numbers(&equation.result(&labels))?))
}

fn infer(call: &Infer<'_>) -> Result<Type, OpError> {
    let dtype = call.expect_dtype(0, DType::is_number, "a number")?;
    for i in 1..call.operands.len() {
        call.same_dtype(0, i)?;
    }
    let equation = Equation::parse(&call.text("equation"))?;
    let mut shapes = Vec::new();
    for i in 0..call.operands.len() {
        let Some(shape) = call.shape(i)? else {
            return Ok(typed(dtype, None));
        };
        shapes.push(shape);
    }
    let ranks: Vec<usize> = shapes.iter().map(|s| s.len()).collect();
    let labels = labelled(&equation, &ranks)?;
    let extents = extents(&labels, &shapes)?;
    let extent = |label: &Label| extents.iter().find(|(l, _)| l == label).map(|(_, d)| d.clone());
    let out: Option<Shape> = equation.result(&labels).iter().map(extent).collect();
    let out = out.ok_or_else(|| OpError::new("the result has a letter that is in no operand").attr("equation"))?;
    Ok(typed(dtype, Some(out)))
}

/// Overhead of ONNX Runtime before and after the product: 8 µs or more where a matrix product would do.
const ARRANGING: f64 = 4e5;

fn flops(call: &Infer<'_>, _: &Type) -> f64 {
    let work = || -> Option<f64> {
        let equation = Equation::parse(&call.text("equation")).ok()?;
        let shapes: Option<Vec<&Shape>> = (0..call.operands.len()).map(|i| call.shape(i).ok().flatten()).collect();
        let shapes = shapes?;
        let ranks: Vec<usize> = shapes.iter().map(|s| s.len()).collect();
        let extents = extents(&labelled(&equation, &ranks).ok()?, &shapes).ok()?;
        let points: f64 = extents.iter().map(|(_, d)| super::cost::extent(d)).product();
        Some(points * call.operands.len() as f64 + ARRANGING)
    };
    work().unwrap_or(1e6)
}

/// Sums of products: `size` results, each over `inner` positions, with strides for each operand.
struct Walk {
    outer: Vec<usize>,
    inner: Vec<usize>,
    steps: Vec<(Vec<usize>, Vec<usize>)>,
}

impl Walk {
    fn run<T>(
        &self,
        one: &T,
        zero: &T,
        operands: &[Vec<T>],
        times: &dyn Fn(&T, &T) -> T,
        plus: &dyn Fn(&T, &T) -> T,
    ) -> Result<Vec<T>, OpError>
    where
        T: Clone,
    {
        let dot = |at: &[usize], steps: &[usize]| -> usize { at.iter().zip(steps).map(|(a, b)| a * b).sum() };
        let mut out = Vec::with_capacity(count(&self.outer)?);
        for place in super::window::Positions::of(&self.outer)? {
            let first: Vec<usize> = self.steps.iter().map(|(outer, _)| dot(&place, outer)).collect();
            let mut sum = zero.clone();
            for within in super::window::Positions::of(&self.inner)? {
                let mut product = one.clone();
                for ((x, first), (_, inner)) in operands.iter().zip(&first).zip(&self.steps) {
                    let element = x.get(first + dot(&within, inner));
                    product = times(
                        &product,
                        element.ok_or_else(|| OpError::new("an operand is too small"))?,
                    );
                }
                sum = plus(&sum, &product);
            }
            out.push(sum);
        }
        Ok(out)
    }
}

fn einsum<S: System>(e: &Eval<'_, S>) -> Out<S> {
    let equation = Equation::parse(e.text("equation"))?;
    let operands = (0..e.operands.len())
        .map(|i| e.operand(i))
        .collect::<Result<Vec<_>, _>>()?;
    let shapes: Vec<Shape> = operands.iter().map(|x| Shape::from(x.shape())).collect();
    let ranks: Vec<usize> = shapes.iter().map(|s| s.len()).collect();
    let labels = labelled(&equation, &ranks)?;
    let extents = extents(&labels, &shapes.iter().collect::<Vec<_>>())?;
    let result = equation.result(&labels);
    let summed: Vec<Label> = extents
        .iter()
        .map(|(l, _)| *l)
        .filter(|l| !result.contains(l))
        .collect();
    let size = |label: &Label| -> usize {
        let d = extents.iter().find(|(l, _)| l == label).and_then(|(_, d)| d.as_const());
        d.and_then(|n| usize::try_from(n).ok()).unwrap_or(0)
    };
    // A letter repeated in one operand walks along its diagonal; an axis of size 1 stays in place.
    let step = |i: usize, label: &Label| -> usize {
        let shape = operands[i].shape();
        let axes = labels[i].iter().zip(shape).zip(strides(shape));
        axes.filter(|((l, n), _)| *l == label && **n > 1).map(|(_, s)| s).sum()
    };
    let walk = Walk {
        outer: result.iter().map(size).collect(),
        inner: summed.iter().map(size).collect(),
        steps: (0..operands.len())
            .map(|i| {
                let all = |list: &[Label]| list.iter().map(|l| step(i, l)).collect();
                (all(&result), all(&summed))
            })
            .collect(),
    };
    let out = e.out_shape(0)?;
    Ok(vec![match operands.first() {
        Some(Value::Int(_)) => {
            let dtype = e.out_dtype();
            let elements = operands
                .iter()
                .map(|x| x.int().map(flat))
                .collect::<Result<Vec<_>, _>>()?;
            let sums = walk.run(&1, &0, &elements, &|a, b| a.wrapping_mul(*b), &|a, b| {
                dtype.wrap(a.wrapping_add(*b))
            })?;
            Value::Int(shaped(&out, sums)?)
        }
        _ => {
            let elements = operands
                .iter()
                .map(|x| x.real().map(flat))
                .collect::<Result<Vec<_>, _>>()?;
            Value::Real(shaped(
                &out,
                walk.run(&S::one(), &S::zero(), &elements, &S::mul, &S::add)?,
            )?)
        }
    }])
}
