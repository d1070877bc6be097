//! Values that both sides compute in the same way, from operands that are equal.
//!
//! The formula of an attention is long, and its products and sums are of long formulas again. But where two sides
//! compute it from other operands, these are equal already: heads that are split in one way or another. So the values
//! are gone through from the operands on, and those of an operator that combines elements, such as a product of
//! matrices, are taken as new leaves; two of them are one leaf if the operator, its attributes and the formulas of all
//! elements of its operands are the same. What only moves elements, or is a function of each, is written in these leaves.
//!
//! If that does not show that the sides are equal, it says nothing.

use std::sync::Arc;

use num_rational::BigRational;
use num_traits::{One, Zero};

use super::case::{Res, Stop};
use super::choices::{self, Promise};
use super::expr::{Expr, Product};
use super::fold::{self, Cases};
use super::meaning::{At, Call, Meaning, is_elementwise};
use tautomer_graph::VertexId;
use tautomer_op::{AttrValue, Formula, OpDef, OpTraits, Products};
use tautomer_tensor::{DType, Dim};

/// The least number of operators that combine elements for which this is tried.
const FEWEST: usize = 5;

/// The numbers of leaves that stand for values begin here, and are this far apart.
const FIRST: u32 = 1 << 20;
const APART: u32 = 16;

/// A value that is computed by an operator that combines elements.
#[derive(PartialEq)]
struct Stage {
    name: &'static str,
    def: *const OpDef,
    attrs: Vec<AttrValue>,
    dtype: DType,
    operands: Vec<Option<(DType, Vec<Dim>, Cases)>>,
}

/// True if two values are computed in the same way from equal operands.
pub(super) fn are_same(meaning: &Meaning<'_>, a: VertexId, b: VertexId, at: &At) -> Res<bool> {
    let graph = meaning.graph;
    let order: Vec<VertexId> = graph.rpo().into_iter().collect();
    let combining = order
        .iter()
        .filter(|&&v| meaning.call(v).is_some_and(|call| combines(&call)));
    if combining.count() < FEWEST {
        return Ok(false);
    }
    // Facts that are learned on the way simplify what was written before.
    loop {
        let version = meaning.case.version();
        let own = Meaning::new(graph, meaning.case, meaning.leaves.clone());
        let answer = by_stages(&own, &order, (a, b), at);
        if meaning.case.version() == version {
            return match answer {
                // An operand without elements says nothing about the result.
                Err(Stop::Open(_) | Stop::Empty) => Ok(false),
                answer => answer,
            };
        }
        match answer {
            Err(Stop::Divided) => return answer,
            Err(Stop::Empty) => return Ok(false),
            _ => {}
        }
    }
}

fn by_stages(meaning: &Meaning<'_>, order: &[VertexId], (a, b): (VertexId, VertexId), at: &At) -> Res<bool> {
    let mut stages: Vec<Stage> = Vec::new();
    for &v in order {
        let Some(call) = meaning.call(v).filter(combines) else {
            continue;
        };
        let Some((stage, times)) = stage(meaning, &call)? else {
            return Ok(false);
        };
        let place = stages.iter().position(|own| *own == stage);
        let place = place.unwrap_or_else(|| {
            stages.push(stage);
            stages.len() - 1
        });
        let number = FIRST + APART * u32::try_from(place).map_err(|_| Stop::Empty)?;
        meaning.cuts.borrow_mut().insert(v, (number, times));
    }
    let (x, y) = (meaning.element(a, at)?, meaning.element(b, at)?);
    let promise = Promise {
        real: meaning.case.only_finite(),
        truth: meaning.dtype(a) == DType::Bool,
        total: false,
    };
    Ok(match (x.as_slice(), y.as_slice()) {
        ([(_, x)], [(_, y)]) => choices::equal(x, y, promise),
        _ => false,
    })
}

/// True for operators whose elements depend on several elements of an operand.
fn combines(call: &Call) -> bool {
    call.def.moves().is_none() && !is_elementwise(call.def) && !matches!(call.def.law(), Formula::Made(_))
}

/// A call with the formulas of its operands, and the number by which its value is multiplied; `None` if it is not
/// expanded at all, or draws numbers.
fn stage(meaning: &Meaning<'_>, call: &Call) -> Res<Option<(Stage, Expr)>> {
    if call.def.traits.contains(OpTraits::NONDETERMINISTIC) || call.def.composite_body().is_some() {
        return Ok(None);
    }
    meaning.shapes(call.vertex)?;
    let is_linear = call.def.law() == Formula::Product(Products::Matrices) && meaning.dtype(call.vertex).is_float();
    let mut times = Expr::int(1);
    let mut operands = Vec::with_capacity(call.operands.len());
    for &v in &call.operands {
        if !meaning.is_given(v) {
            operands.push(None);
            continue;
        }
        let shape = meaning.shape(v)?;
        let symbols: Vec<Arc<str>> = (0..shape.len()).map(|axis| format!("%s.{axis}").into()).collect();
        let ranges: Vec<(Arc<str>, Dim)> = symbols.iter().cloned().zip(shape.iter().cloned()).collect();
        let place = shape.iter().zip(&symbols).map(|(d, symbol)| match d {
            Dim::Const(1) => Dim::Const(0),
            _ => Dim::symbol(symbol),
        });
        let at = At::Index(place.collect());
        let mut cases = meaning
            .case
            .within(&fold::limits(&ranges), || meaning.element(v, &at))?;
        cases.sort();
        if let ([(guards, value)], true) = (cases.as_mut_slice(), is_linear)
            && guards.is_empty()
            && let Some((outside, inside)) = without_factors(value, &symbols)
        {
            times = times.mul(&outside);
            *value = inside;
        }
        let one = Dim::Const(1);
        let alone = |d: &Dim| meaning.case.known_zero(&(d.clone() - one.clone())) == Some(true);
        let shape = shape
            .iter()
            .map(|d| if alone(d) { one.clone() } else { d.clone() })
            .collect();
        operands.push(Some((meaning.dtype(v), shape, cases)));
    }
    let resolved = |attr: &AttrValue| match attr {
        AttrValue::Int(d) => AttrValue::Int(meaning.case.simplified(d)),
        AttrValue::Ints(list) => AttrValue::Ints(list.iter().map(|d| meaning.case.simplified(d)).collect()),
        other => other.clone(),
    };
    let stage = Stage {
        name: call.def.name,
        def: std::ptr::from_ref(call.def),
        attrs: call.attrs.iter().map(resolved).collect(),
        dtype: meaning.dtype(call.vertex),
        operands,
    };
    Ok(Some((stage, times)))
}

/// The factors of a product that do not depend on symbols, and the others; `None` if it is no product.
fn without_factors(x: &Expr, symbols: &[Arc<str>]) -> Option<(Expr, Expr)> {
    let [(product, c)] = x.terms() else { return None };
    let depends = |factor: &super::expr::Factor| {
        let factor = Expr::factor(factor.clone());
        symbols.iter().any(|symbol| factor.mentions(symbol))
    };
    let (inside, outside): (Product, Product) = product.iter().cloned().partition(|(factor, _)| depends(factor));
    let one = |product: Product, c: BigRational| Expr::from_terms(vec![(product, c)]);
    (!c.is_zero()).then(|| (one(outside, c.clone()), one(inside, BigRational::one())))
}
