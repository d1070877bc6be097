//! Maxima and minima within each other, in a form that is the same for all that are equal.
//!
//! Numbers with their maximum and minimum are a distributive lattice, so each expression is a maximum of minima of
//! operands, of which none is above another (Birkhoff, *Lattice Theory*, chapter III). Two expressions are equal for all
//! values of the operands exactly if these minima are the same. Of operands, no more is known than the order of
//! constants.

use std::cmp::Ordering;

use super::expr::{Expr, Factor};
use super::laws::opened;
use super::order::order;
use tautomer_op::known;

/// Limit on the minima of one expression.
const MINIMA: usize = 64;

/// The operands of a minimum.
type Minimum = Vec<Expr>;

/// The formula with each maximum and minimum in it as a maximum of minima. If NaN counts, `real` is false, and an operand
/// that another one makes needless still occurs: what has a NaN among its operands is NaN.
pub(super) fn canonical(x: &Expr, real: bool) -> Expr {
    x.map_factors(&|factor| {
        let Factor::Apply(f, _) = factor else { return None };
        if !f.is(known::MAX) && !f.is(known::MIN) {
            return None;
        }
        let whole = Expr::factor(factor.clone());
        let mut minima = minima(&whole)?;
        if !real {
            let mut all = Vec::new();
            operands(&whole, &mut all);
            all.sort();
            all.dedup();
            minima.push(all);
        }
        let mut minima: Vec<Expr> = minima
            .into_iter()
            .map(|minimum| minimum.iter().map(|x| canonical(x, real)).collect())
            .map(|minimum| single_or(known::MIN, minimum))
            .collect();
        minima.sort();
        minima.dedup();
        Some(single_or(known::MAX, minima))
    })
}

/// The only operand, or the function of all.
fn single_or(name: &'static str, mut args: Vec<Expr>) -> Expr {
    match args.len() {
        1 => args.swap_remove(0),
        _ => Expr::apply(name, args),
    }
}

/// The minima whose maximum an expression is; `None` if there are too many.
fn minima(x: &Expr) -> Option<Vec<Minimum>> {
    let Some((name, args)) = opened(x) else {
        return Some(vec![vec![x.clone()]]);
    };
    let mut all = args.iter().map(minima);
    let mut out = all.next()??;
    for more in all {
        let more = more?;
        out = if name == known::MAX {
            out.into_iter().chain(more).collect()
        } else {
            let both = |a: &Minimum| more.iter().map(|b| [a.as_slice(), b].concat()).collect::<Vec<_>>();
            out.iter().flat_map(both).collect()
        };
        out = reduced(out);
        if out.len() > MINIMA {
            return None;
        }
    }
    Some(out)
}

/// The operands of the maxima and minima of an expression.
fn operands(x: &Expr, out: &mut Vec<Expr>) {
    match opened(x) {
        Some((_, args)) => args.iter().for_each(|arg| operands(arg, out)),
        None => out.push(x.clone()),
    }
}

/// Without what is needless: operands above others of the same minimum, and minima below others.
fn reduced(all: Vec<Minimum>) -> Vec<Minimum> {
    let all = all.into_iter().map(|mut minimum| {
        minimum.sort();
        minimum.dedup();
        let kept = |x: &&Expr| !minimum.iter().any(|y| y != *x && is_at_most(y, x));
        minimum.iter().filter(kept).cloned().collect::<Minimum>()
    });
    let mut all: Vec<Minimum> = all.collect();
    all.sort();
    all.dedup();
    let is_below = |a: &Minimum, b: &Minimum| b.iter().all(|y| a.iter().any(|x| is_at_most(x, y)));
    let kept = |a: &&Minimum| !all.iter().any(|b| b != *a && is_below(a, b));
    all.iter().filter(kept).cloned().collect()
}

fn is_at_most(x: &Expr, y: &Expr) -> bool {
    x == y || matches!(order(x, y), Some(Ordering::Less | Ordering::Equal))
}
