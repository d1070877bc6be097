//! Inequalities: whether facts contradict one another, by eliminating one number after the other (Fourier, Motzkin).

use num_rational::BigRational;
use num_traits::{Signed, Zero};

use crate::poly::{Atom, Poly, single};

/// Limit on the inequalities during an elimination.
const ROWS: usize = 120;

/// A fact: the number is at least 0, or above 0.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Fact {
    pub(crate) value: Poly,
    pub(crate) strict: bool,
}

/// What holds for any value of a product: exponentials are above 0, roots and even powers are at least 0.
fn natural(facts: &[Fact]) -> Vec<Fact> {
    let mut out: Vec<Fact> = Vec::new();
    for (product, _) in facts
        .iter()
        .flat_map(|f| f.value.terms())
        .filter(|(p, _)| !p.is_empty())
    {
        let is = |a: &Atom, f: &str| matches!(a, Atom::Fun(name, _) if name == f);
        let strict = product.iter().all(|(a, _)| is(a, "exp"));
        let weak = |(a, e): &(Atom, i32)| is(a, "exp") || *e > 0 && (e % 2 == 0 || is(a, "sqrt"));
        let value = single(product.clone());
        if product.iter().all(weak) && out.iter().all(|f| f.value != value) {
            out.push(Fact { value, strict });
        }
    }
    out
}

/// True if no numbers satisfy all facts; false says nothing. Each product of atoms counts as a number of its own.
fn contradict(facts: &[Fact]) -> bool {
    let mut rows: Vec<Fact> = [facts, &natural(facts)].concat();
    loop {
        rows.retain(|f| !f.value.is_unknown());
        let below = |f: &Fact, n: BigRational| n.is_negative() || f.strict && n.is_zero();
        if rows.iter().any(|f| f.value.as_number().is_some_and(|n| below(f, n))) {
            return true;
        }
        // The number whose elimination makes the fewest inequalities.
        let cost = |pivot: &&Vec<(Atom, i32)>| {
            let above = rows.iter().filter(|f| f.value.weight(pivot).is_positive()).count();
            above * rows.iter().filter(|f| f.value.weight(pivot).is_negative()).count()
        };
        let numbers = rows.iter().flat_map(|f| f.value.terms()).map(|(p, _)| p);
        let pivot = numbers.filter(|p| !p.is_empty()).min_by_key(cost);
        let Some(pivot) = pivot.cloned() else { return false };
        let weight = |f: &Fact| f.value.weight(&pivot);
        let (with, mut next): (Vec<Fact>, Vec<Fact>) = rows.into_iter().partition(|f| !weight(f).is_zero());
        let (low, high): (Vec<Fact>, Vec<Fact>) = with.into_iter().partition(|f| weight(f).is_positive());
        for a in &low {
            for b in &high {
                let (left, right) = (a.value.scale(&-weight(b)), b.value.scale(&weight(a)));
                let (value, strict) = (left.add(&right), a.strict || b.strict);
                let sum = Fact { value, strict };
                if !next.contains(&sum) {
                    next.push(sum);
                }
                if next.len() > ROWS {
                    return false;
                }
            }
        }
        rows = next;
    }
}

/// True if the facts contradict this one.
fn excludes(facts: &[Fact], value: Poly, strict: bool) -> bool {
    contradict(&[facts, &[Fact { value, strict }]].concat())
}

/// Whether the number is above 0, if the facts say so.
pub(crate) fn is_above_zero(value: &Poly, facts: &[Fact]) -> Option<bool> {
    if excludes(facts, value.neg(), false) {
        return Some(true);
    }
    excludes(facts, value.clone(), true).then_some(false)
}

/// True if the facts leave only 0.
pub(crate) fn is_zero(value: &Poly, facts: &[Fact]) -> bool {
    excludes(facts, value.clone(), true) && excludes(facts, value.neg(), true)
}
