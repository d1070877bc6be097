//! Operators on whole tensors: functions of which a proof knows no more than a few laws, by the formulas of their rows.

use std::rc::Rc;
use std::sync::Arc;

use num_rational::BigRational;
use num_traits::Signed;

use super::case::Res;
use super::expr::{Expr, Factor, Product, Whole};
use super::fold::Cases;
use super::laws;
use super::meaning::{At, Call, Meaning, open, single};
use tautomer_op::{AttrValue, Fold, Formula, OpTraits, known};
use tautomer_tensor::{Atom, DType, Dim};

/// The shape of an operand, and its elements by cases; without both if it is left out.
type Operand = (Vec<Dim>, Cases);

/// Increasing functions: of two different numbers, the greater one has the greater value.
const INCREASING: [&str; 9] = [
    known::EXP,
    known::LOG,
    known::SQRT,
    known::TANH,
    known::ERF,
    known::ASINH,
    known::ATAN,
    known::SINH,
    known::ASIN,
];

impl Meaning<'_> {
    /// An element of the result of an operator that is not expanded.
    pub(super) fn whole(&self, call: &Call, output: usize, shape: &[Dim], at: &At) -> Res<Cases> {
        if call.def.traits.contains(OpTraits::NONDETERMINISTIC) {
            return Err(open(format!("`{}` is random", call.def.name)));
        }
        let level = self.nested.get();
        self.nested.set(level + 1);
        let mut operands: Vec<Operand> = Vec::new();
        for &v in &call.operands {
            if !self.is_given(v) {
                operands.push((Vec::new(), Vec::new()));
                continue;
            }
            let shape = self.shape(v)?;
            let symbols: Vec<Arc<str>> = (0..shape.len()).map(|axis| symbol(level, axis)).collect();
            let ranges: Vec<(Arc<str>, Dim)> = symbols.iter().cloned().zip(shape.iter().cloned()).collect();
            let index: Vec<Dim> = symbols.iter().map(|s| Dim::symbol(s)).collect();
            let at = At::Flat(self.flat(&At::Index(index), &shape));
            let limits = super::fold::limits(&ranges);
            let mut cases = self.case.within(&limits, || self.element(v, &at))?;
            cases.sort();
            let one = Dim::Const(1);
            let alone = |d: &Dim| self.case.known_zero(&(d.clone() - one.clone())) == Some(true);
            let shape = shape
                .iter()
                .map(|d| if alone(d) { one.clone() } else { d.clone() })
                .collect();
            operands.push((shape, cases));
        }
        self.nested.set(level);
        let resolved = |attr: &AttrValue| match attr {
            AttrValue::Int(d) => AttrValue::Int(self.case.simplified(d)),
            AttrValue::Ints(list) => AttrValue::Ints(list.iter().map(|d| self.case.simplified(d)).collect()),
            other => other.clone(),
        };
        let attrs: Vec<AttrValue> = call.attrs.iter().map(resolved).collect();
        let mut dtypes: Vec<DType> = call.operands.iter().map(|v| self.dtype(*v)).collect();
        without_zeros(call, &mut operands, &mut dtypes);
        match call.def.law() {
            Formula::Place(Fold::Max | Fold::Min) if dtypes.first().is_some_and(|d| d.is_float()) => {
                under_growth(call, level, &mut operands);
            }
            Formula::Sorted => without_order(call, level, output, &mut operands),
            _ => {}
        }
        let index = self.index(at, shape).iter().map(|d| self.case.simplified(d)).collect();
        Ok(single(Expr::factor(Factor::Whole(Rc::new(Whole {
            name: call.def.name,
            attrs,
            dtypes,
            output,
            operands,
            at: index,
        })))))
    }
}

/// The index along an axis of an operand, within that many other operands.
fn symbol(level: usize, axis: usize) -> Arc<str> {
    format!("%w{level}.{axis}").into()
}

/// Leaves out operands that are zeros, if that is the same, and those at the end that are left out.
fn without_zeros(call: &Call, operands: &mut Vec<Operand>, dtypes: &mut Vec<DType>) {
    for (i, operand) in operands.iter_mut().enumerate() {
        let may_be_left_out = call.def.operands.get(i).is_some_and(|declared| declared.zeros);
        if may_be_left_out && matches!(operand.1.as_slice(), [(guards, value)] if guards.is_empty() && value.is_zero())
        {
            *operand = (Vec::new(), Vec::new());
            dtypes[i] = DType::F32;
        }
    }
    while operands
        .last()
        .is_some_and(|(shape, cases)| shape.is_empty() && cases.is_empty())
    {
        operands.pop();
        dtypes.pop();
    }
}

/// An increasing function of the elements along an axis does not change which is the largest, nor which is the smallest.
fn under_growth(call: &Call, level: usize, operands: &mut [Operand]) {
    let Some((shape, cases)) = operands.first_mut() else {
        return;
    };
    let axis = call.int("axis").and_then(|d| d.as_const());
    let axis = axis.map(|axis| if axis < 0 { axis + shape.len() as i64 } else { axis });
    let Some(axis) = axis.and_then(|axis| usize::try_from(axis).ok()) else {
        return;
    };
    if let [(guards, value)] = cases.as_mut_slice()
        && guards.is_empty()
        && let Some((inner, true)) = grown(value, &symbol(level, axis))
    {
        *value = inner;
    }
}

/// A number of which `x` is an increasing function, or a decreasing one if `false`, where all that does not depend on a
/// symbol stays the same.
fn grown(x: &Expr, symbol: &str) -> Option<(Expr, bool)> {
    let single = |term: &(Product, BigRational)| Expr::from_terms(vec![term.clone()]);
    let (varying, _): (Vec<Expr>, Vec<Expr>) = x.terms().iter().map(single).partition(|term| term.mentions(symbol));
    let [term] = varying.as_slice() else {
        return softplus(&varying).and_then(|of| grown(&of, symbol));
    };
    let (product, c) = term.terms().first()?;
    let is_varying = |(factor, _): &&(Factor, i32)| Expr::factor(factor.clone()).mentions(symbol);
    let (varying, fixed): (Vec<_>, Vec<_>) = product.iter().partition(is_varying);
    let [(factor, exponent)] = varying.as_slice() else {
        return None;
    };
    if !fixed.iter().all(|(factor, _)| laws::is_positive(factor)) {
        return None;
    }
    let (inner, grows) = match factor {
        Factor::Apply(f, of) if INCREASING.contains(&f.name()) => grown(&of[0], symbol)?,
        // The inverse of a positive number decreases.
        Factor::Inverse(sum) if laws::is_sum_of_positive(sum) => {
            let (inner, grows) = grown(sum, symbol)?;
            (inner, !grows)
        }
        _ => (Expr::factor(factor.clone()), true),
    };
    let grows = grows != c.is_negative();
    match exponent {
        1 => Some((inner, grows)),
        -1 if laws::is_positive(factor) => Some((inner, !grows)),
        _ => None,
    }
}

/// The number `x` of `log(1 + exp(x))`, in the form that the laws give it.
fn softplus(terms: &[Expr]) -> Option<Expr> {
    let sum = terms.iter().fold(Expr::zero(), |sum, term| sum.add(term));
    terms.iter().find_map(|term| {
        let Some(Factor::Apply(max, args)) = term.as_factor().filter(|_| terms.len() == 2) else {
            return None;
        };
        let [_, _] = args.as_slice() else { return None };
        let of = args.iter().find(|arg| !arg.is_zero()).filter(|_| max.is(known::MAX))?;
        let one_more = Expr::int(1).add(&laws::apply(known::EXP, vec![of.clone()]));
        (laws::apply(known::LOG, vec![one_more]) == sum).then(|| of.clone())
    })
}

/// The elements along an axis in order are the same if they were in another order before.
fn without_order(call: &Call, level: usize, output: usize, operands: &mut [Operand]) {
    let Some(axis) = call.int("axis").and_then(|d| d.as_const()).filter(|_| output == 0) else {
        return;
    };
    let Some((shape, cases)) = operands.first_mut() else {
        return;
    };
    let inner = match cases.as_slice() {
        [(guards, value)] if guards.is_empty() => match value.as_factor() {
            Some(Factor::Whole(whole)) => whole.clone(),
            _ => return,
        },
        _ => return,
    };
    let place: Vec<Dim> = (0..shape.len()).map(|axis| Dim::symbol(&symbol(level, axis))).collect();
    // A scalar has no axis to be sorted along.
    let is_along = |i: usize| matches!(&inner.attrs[i], AttrValue::Int(own) if own.as_const() == Some(axis));
    let same_axis = call.def.attr_index("axis").is_some_and(is_along);
    if inner.name != call.def.name || inner.output != 0 || inner.at != place || !same_axis {
        return;
    }
    let Some((own, before)) = inner.operands.first() else {
        return;
    };
    if own == shape {
        let outwards = |dim: &Dim| raised(dim, level);
        let of = |(guards, value): &(Vec<Dim>, Expr)| (guards.iter().map(outwards).collect(), value.map(&outwards));
        *cases = before.iter().map(of).collect();
    }
}

/// The expression with the indices of operands within an operand, as they are one level further out.
fn raised(dim: &Dim, level: usize) -> Dim {
    dim.substitute(&|atom| {
        let Atom::Symbol(name) = atom else { return None };
        let (own, axis) = name.strip_prefix("%w")?.split_once('.')?;
        let own: usize = own.parse().ok()?;
        let axis: usize = axis.parse().ok()?;
        (own > level).then(|| Dim::symbol(&symbol(own - 1, axis)))
    })
}
