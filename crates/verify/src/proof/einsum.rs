//! `einsum`: products of tensors summed along the axes that an equation names.

use super::case::{Res, Stop};
use super::expr::{Expr, Kind};
use super::fold::Cases;
use super::meaning::{At, Call, Meaning};
use tautomer_op::einsum_axes;
use tautomer_tensor::Dim;

/// The axes of an equation: axes with the same number share an index.
struct Axes {
    operands: Vec<Vec<usize>>,
    result: Vec<usize>,
    /// The dimension for each number.
    extents: Vec<Dim>,
}

impl Meaning<'_> {
    fn einsum_axes(&self, call: &Call) -> Res<Axes> {
        let shapes = call.operands.iter().map(|v| self.shape(*v));
        let shapes = shapes.collect::<Res<Vec<_>>>()?;
        let ranks: Vec<usize> = shapes.iter().map(Vec::len).collect();
        let (operands, result) = einsum_axes(&call.text("equation"), &ranks).ok_or(Stop::Empty)?;
        let count = operands.iter().flatten().map(|n| n + 1).max().unwrap_or(0);
        let mut extents = vec![Dim::Const(1); count];
        for (&number, extent) in operands.iter().flatten().zip(shapes.iter().flatten()) {
            extents[number] = self.broadcast_extent(&extents[number], extent)?;
        }
        Ok(Axes {
            operands,
            result,
            extents,
        })
    }

    pub(super) fn einsum_shape(&self, call: &Call) -> Res<Vec<Dim>> {
        let axes = self.einsum_axes(call)?;
        Ok(axes.result.iter().map(|&n| axes.extents[n].clone()).collect())
    }

    pub(super) fn einsum_element(&self, call: &Call, index: &[Dim]) -> Res<Expr> {
        let axes = self.einsum_axes(call)?;
        let summed: Vec<usize> = (0..axes.extents.len()).filter(|n| !axes.result.contains(n)).collect();
        let extents: Vec<Dim> = summed.iter().map(|&n| axes.extents[n].clone()).collect();
        self.over(Kind::Sum, &extents, &|within| {
            let mut places = vec![Dim::Const(0); axes.extents.len()];
            for (&n, place) in axes.result.iter().zip(index).chain(summed.iter().zip(within)) {
                places[n] = place.clone();
            }
            let factors: Res<Vec<Cases>> = call
                .operands
                .iter()
                .zip(&axes.operands)
                .map(|(&v, numbers)| {
                    let mut at = Vec::new();
                    for (&n, d) in numbers.iter().zip(self.shape(v)?) {
                        let one = self.case.is_zero(&(d - Dim::Const(1)))?;
                        at.push(if one { Dim::Const(0) } else { places[n].clone() });
                    }
                    self.element(v, &At::Index(at))
                })
                .collect();
            self.product_of(&factors?)
        })
    }
}
