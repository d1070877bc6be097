//! Reductions over ranges, in a normal form: ranges are as tight as the guards allow, factors and terms that do not
//! depend on them are moved outside, and bound symbols are numbered.

use std::cmp::Ordering;
use std::rc::Rc;
use std::sync::Arc;

use num_rational::BigRational;
use num_traits::{One, Signed};

use super::case::{Case, Res, has_bound, is_size};
use super::expr::{Expr, Factor, Fold, Kind, Product, mentions, replaced};
use super::laws;
use super::order::order;
use tautomer_op::known;
use tautomer_tensor::Dim;

/// A value with conditions on bound symbols: exactly one case holds.
pub(super) type Cases = Vec<(Vec<Dim>, Expr)>;

/// Limit on the bound symbols with equal ranges whose order is searched.
const MOST_ALIKE: usize = 4;

/// Axes whose indices are looked for in the limits of sums.
const INDEXED: usize = 8;

/// A fold under construction.
#[derive(Clone)]
pub(super) struct Parts {
    pub(super) ranges: Vec<(Arc<str>, Dim)>,
    guards: Vec<Dim>,
    pub(super) body: Expr,
}

/// The elements combined over all values of `symbol` from 0 to below `count`.
pub(super) fn fold(case: &Case, kind: Kind, symbol: &Arc<str>, count: &Dim, cases: &Cases) -> Res<Expr> {
    let range = || vec![(symbol.clone(), count.clone())];
    // A product of exponentials is that of the sum.
    if kind == Kind::Product && cases.iter().all(|(_, value)| laws::is_exponential(value)) {
        let exponent =
            |(guards, value): &(Vec<Dim>, Expr)| (guards.clone(), laws::apply(known::LOG, vec![value.clone()]));
        let exponents = cases.iter().map(exponent).collect();
        let sum = fold(case, Kind::Sum, symbol, count, &exponents)?;
        return Ok(laws::apply(known::EXP, vec![sum]));
    }
    if kind == Kind::Sum {
        let mut out = Expr::zero();
        for (guards, value) in cases {
            for (product, c) in value.terms() {
                let term = sum(case, range(), guards.clone(), product.clone())?;
                out = out.add(&term.mul(&Expr::number(c.clone())));
            }
        }
        return Ok(laws::settled(&out));
    }
    let mut parts = Vec::new();
    let nothing = nothing(kind);
    for (guards, value) in cases {
        // The neutral element never wins.
        if kind != Kind::Product && *value == nothing {
            continue;
        }
        let whole = Parts {
            ranges: range(),
            guards: guards.clone(),
            body: value.clone(),
        };
        parts.push(other(case, kind, whole)?);
    }
    Ok(match (kind, parts.len()) {
        (_, 0) => nothing,
        (_, 1) => parts.remove(0),
        (Kind::Product, _) => parts.iter().fold(Expr::int(1), |out, p| out.mul(p)),
        (Kind::Max, _) => laws::apply(known::MAX, parts),
        (_, _) => laws::apply(known::MIN, parts),
    })
}

/// The value of a fold without elements.
pub(super) fn nothing(kind: Kind) -> Expr {
    match kind {
        Kind::Max => Expr::float(f64::NEG_INFINITY),
        Kind::Min => Expr::float(f64::INFINITY),
        Kind::Product => Expr::int(1),
        Kind::Sum => Expr::zero(),
    }
}

/// The sum of a product.
fn sum(case: &Case, mut ranges: Vec<(Arc<str>, Dim)>, mut guards: Vec<Dim>, product: Product) -> Res<Expr> {
    let symbol = ranges[0].0.clone();
    let mut outside: Product = Vec::new();
    let mut inside = Expr::int(1);
    for (factor, exponent) in product {
        let single = Expr::from_terms(vec![(vec![(factor.clone(), exponent)], BigRational::one())]);
        match &factor {
            // Merge an inner sum into this one.
            Factor::Fold(inner) if inner.kind == Kind::Sum && exponent == 1 && single.mentions(&symbol) => {
                let opened = renamed(case, inner);
                ranges.extend(opened.ranges);
                guards.extend(opened.guards);
                inside = inside.mul(&opened.body);
            }
            _ if single.mentions(&symbol) => inside = inside.mul(&single),
            _ => outside.push((factor, exponent)),
        }
    }
    let outside = Expr::from_terms(vec![(outside, BigRational::one())]);
    let mut out = Expr::zero();
    for (product, c) in inside.terms() {
        let parts = Parts {
            ranges: ranges.clone(),
            guards: guards.clone(),
            body: Expr::from_terms(vec![(product.clone(), BigRational::one())]),
        };
        let term = sum_of_one(case, parts)?;
        out = out.add(&term.mul(&Expr::number(c.clone())));
    }
    Ok(out.mul(&outside))
}

fn sum_of_one(case: &Case, mut parts: Parts) -> Res<Expr> {
    let mut times = Expr::int(1);
    loop {
        let Some(next) = narrowed(case, parts)? else {
            return Ok(Expr::zero());
        };
        parts = next;
        // If nothing depends on a range, multiply by its size; of several axes, that would be another number.
        let idle = parts.ranges.iter().position(|(v, n)| {
            !case.may_be_of_block(n)
                && !parts.body.mentions(v)
                && !parts.guards.iter().any(|g| mentions(g, v))
                && !parts.ranges.iter().any(|(_, n)| mentions(n, v))
        });
        if let Some(at) = idle {
            let (_, n) = parts.ranges.remove(at);
            times = times.mul(&Expr::of_dim(&n));
            continue;
        }
        if let Some(joined) = joined(case, &parts) {
            parts = joined;
            continue;
        }
        break;
    }
    // Factors without any of the symbols move outside.
    let mut outside = Expr::int(1);
    let mut inside = Expr::int(1);
    for (product, c) in parts.body.terms() {
        for (factor, exponent) in product {
            let single = Expr::from_terms(vec![(vec![(factor.clone(), *exponent)], BigRational::one())]);
            let free = !parts.ranges.iter().any(|(v, _)| single.mentions(v));
            let place = if free { &mut outside } else { &mut inside };
            *place = place.mul(&single);
        }
        outside = outside.mul(&Expr::number(c.clone()));
    }
    parts.body = inside;
    let value = if parts.ranges.is_empty() && parts.guards.is_empty() {
        parts.body
    } else if let Some(value) = running(case, &parts)? {
        value
    } else {
        numbered(Kind::Sum, parts)
    };
    Ok(value.mul(&outside).mul(&times))
}

/// A sum up to an index, or from one on, as a sum up to and with the index: without the last term, or as what is left of
/// all of it. `None` if it is another sum, or is one up to the index.
fn running(case: &Case, parts: &Parts) -> Res<Option<Expr>> {
    let ([(symbol, n)], [guard]) = (parts.ranges.as_slice(), parts.guards.as_slice()) else {
        return Ok(None);
    };
    let Some((c, rest)) = linear_in(&case.simplified(guard), symbol).filter(|(c, _)| c.abs() == 1) else {
        return Ok(None);
    };
    // The last number that the symbol has, in the sum or in what is left out.
    let last = if c < 0 { rest } else { -rest - Dim::Const(1) };
    let places = (0..INDEXED).map(|axis| Dim::symbol(&format!("@{axis}")));
    let place = places
        .map(|place| (last.clone() - place.clone(), place))
        .find_map(|(more, place)| Some((more.as_const().filter(|more| (-1..=0).contains(more))?, place)));
    let Some((more, place)) = place.filter(|(more, _)| c > 0 || *more < 0) else {
        return Ok(None);
    };
    let inside = [place.clone(), n.clone() - Dim::Const(1) - place.clone()];
    if inside.iter().any(|d| case.known_sign(d) != Some(true)) {
        return Ok(None);
    }
    let up_to = Parts {
        guards: vec![place.clone() - Dim::symbol(symbol)],
        ..parts.clone()
    };
    let mut value = numbered(Kind::Sum, up_to);
    if more < 0 {
        value = value.sub(&parts.body.map(&|d| replaced(d, symbol, &place)));
    }
    if c > 0 {
        let all = Parts {
            guards: Vec::new(),
            ..parts.clone()
        };
        value = sum_of_one(case, all)?.sub(&value);
    }
    Ok(Some(value))
}

/// A fold other than a sum.
fn other(case: &Case, kind: Kind, parts: Parts) -> Res<Expr> {
    if kind == Kind::Product {
        return plain(case, kind, parts);
    }
    let is_lattice =
        |e: &Expr| matches!(e.as_factor(), Some(Factor::Apply(f, _)) if matches!(f.name(), known::MAX | known::MIN));
    let mut parts = opened(case, kind, parts);
    // Where no guards are left, the range is known not to be empty, or it can be asked.
    if !parts.guards.is_empty() && is_lattice(&parts.body) {
        let Some(next) = narrowed(case, parts)? else {
            return Ok(nothing(kind));
        };
        parts = next;
    }
    let free = |e: &Expr| !parts.ranges.iter().any(|(v, _)| e.mentions(v));
    let again = |kind: Kind, body: Expr| {
        let parts = Parts { body, ..parts.clone() };
        other(case, kind, parts)
    };
    let (name, turned_name, turned) = if kind == Kind::Max {
        (known::MAX, known::MIN, Kind::Min)
    } else {
        (known::MIN, known::MAX, Kind::Max)
    };
    // Over an empty range the result would be a bound, or the image of an infinity.
    let mut bounded = false;
    if let Some(Factor::Apply(f, args)) = parts.body.as_factor()
        && matches!(f.name(), known::MAX | known::MIN)
    {
        bounded = args.iter().filter(|a| !free(a)).count() == 1;
        match is_occupied(case, &parts)? {
            Some(false) => return Ok(nothing(kind)),
            known => bounded &= known == Some(true),
        }
    }
    if has_limits(&parts.body) {
        match is_occupied(case, &parts)? {
            Some(true) => {}
            Some(false) => return Ok(nothing(kind)),
            None => return plain(case, kind, parts),
        }
    }
    match (parts.body.as_factor(), parts.body.terms()) {
        // The maximum of pairwise maxima is the maximum of the maxima.
        (Some(Factor::Apply(f, args)), _) if f.is(name) && (bounded || !args.iter().any(free)) => {
            let args = args
                .iter()
                .map(|a| if free(a) { Ok(a.clone()) } else { again(kind, a.clone()) });
            return Ok(laws::apply(name, args.collect::<Res<_>>()?));
        }
        // Nondecreasing functions commute with maximum and minimum.
        (Some(Factor::Apply(f, args)), _)
            if args.len() == 1 && (laws::GROWING.contains(&f.name()) || f.is_rounding()) =>
        {
            return Ok(laws::apply(f.clone(), vec![again(kind, args[0].clone())?]));
        }
        // The inverse of a positive number decreases.
        (_, [(product, c)]) if c.is_one() && matches!(product.as_slice(), [(factor, n)] if is_falling(factor, *n)) => {
            return Ok(again(turned, parts.body.inverse())?.inverse());
        }
        (Some(Factor::Apply(f, args)), _) if bounded => {
            let args = args
                .iter()
                .map(|a| if free(a) { Ok(a.clone()) } else { again(kind, a.clone()) });
            return Ok(laws::apply(f.clone(), args.collect::<Res<_>>()?));
        }
        // So does the least of several positive multiples of one number.
        (Some(Factor::Apply(f, args)), _) if f.is(turned_name) && args.iter().all(|a| !free(a)) => {
            if let Some(times) = multiples(args) {
                let inner = again(kind, args[0].clone())?;
                return Ok(laws::apply(f.clone(), times.iter().map(|n| inner.mul(n)).collect()));
            }
        }
        (_, [(product, c)]) if !c.is_one() => {
            let rest = Expr::from_terms(vec![(product.clone(), BigRational::one())]);
            let inner = again(if c.is_negative() { turned } else { kind }, rest)?;
            return Ok(inner.mul(&Expr::number(c.clone())));
        }
        // Terms that are the same for all elements are added afterwards.
        (_, [_, _, ..]) => {
            let single = |t: &(Product, BigRational)| Expr::from_terms(vec![t.clone()]);
            let (out, inside): (Vec<Expr>, Vec<Expr>) = parts.body.terms().iter().map(single).partition(free);
            if !out.is_empty() && !inside.is_empty() {
                let sum = |all: &[Expr]| all.iter().fold(Expr::zero(), |sum, e| sum.add(e));
                return Ok(again(kind, sum(&inside))?.add(&sum(&out)));
            }
        }
        _ => {}
    }
    plain(case, kind, parts)
}

/// The positive numbers of which the operands are multiples of the first one; `None` if they are not.
fn multiples(args: &[Expr]) -> Option<Vec<Expr>> {
    let first = args.first()?.inverse();
    let times = args.iter().map(|arg| {
        let times = arg.mul(&first);
        (order(&times, &Expr::zero()) == Some(Ordering::Greater)).then_some(times)
    });
    times.collect()
}

/// True for a multiple of a function that has a finite limit at an infinity.
fn has_limits(body: &Expr) -> bool {
    let [(product, _)] = body.terms() else { return false };
    match product.as_slice() {
        [(Factor::Apply(f, _), 1)] => laws::LIMITED.contains(&f.name()),
        [(factor, exponent)] => is_falling(factor, *exponent),
        _ => false,
    }
}

/// True for the inverse of a number that is known to be positive.
fn is_falling(factor: &Factor, exponent: i32) -> bool {
    match factor {
        Factor::Inverse(sum) => exponent == 1 && laws::is_sum_of_positive(sum),
        factor => exponent == -1 && laws::is_positive(factor),
    }
}

/// Whether a fold has elements; `None` if that is not known.
fn is_occupied(case: &Case, parts: &Parts) -> Res<Option<bool>> {
    if !parts.guards.is_empty() {
        return has_values(case, parts);
    }
    for (_, n) in &parts.ranges {
        if !is_size(n) {
            return Ok(None);
        }
        if !case.is_at_least_zero(&(n.clone() - Dim::Const(1)))? {
            return Ok(Some(false));
        }
    }
    Ok(Some(true))
}

/// Whether there are values of the bound symbols at which no guard is negative: each symbol is bounded by itself, and
/// each of its lower bounds is at most each of its upper bounds. `None` if that is not known.
fn has_values(case: &Case, parts: &Parts) -> Res<Option<bool>> {
    let symbols: Vec<&Arc<str>> = parts.ranges.iter().map(|(symbol, _)| symbol).collect();
    let is_outside = |dim: &Dim| !symbols.iter().any(|symbol| mentions(dim, symbol));
    let mut bounds = limits(&parts.ranges);
    bounds.extend(parts.guards.iter().cloned());
    // Each of these is at least 0.
    let mut wanted: Vec<Dim> = bounds.iter().filter(|bound| is_outside(bound)).cloned().collect();
    for symbol in &symbols {
        let (mut low, mut high) = (Vec::new(), Vec::new());
        for bound in bounds.iter().filter(|bound| mentions(bound, symbol)) {
            match linear_in(bound, symbol) {
                Some((1, rest)) if is_outside(&rest) => low.push(-rest),
                Some((-1, rest)) if is_outside(&rest) => high.push(rest),
                _ => return Ok(None),
            }
        }
        wanted.extend(
            low.iter()
                .flat_map(|low| high.iter().map(|high| high.clone() - low.clone())),
        );
    }
    for dim in wanted {
        let known = match case.known_sign(&dim) {
            None if is_size(&case.simplified(&dim)) => Some(case.is_at_least_zero(&dim)?),
            known => known,
        };
        if known != Some(true) {
            return Ok(known);
        }
    }
    Ok(Some(true))
}

/// A fold of folds of the same kind as one over the ranges of all.
fn opened(case: &Case, kind: Kind, mut parts: Parts) -> Parts {
    while let Some(Factor::Fold(inner)) = parts.body.as_factor() {
        if inner.kind != kind {
            break;
        }
        let inner = renamed(case, inner);
        parts.ranges.extend(inner.ranges);
        parts.guards.extend(inner.guards);
        parts.body = inner.body;
    }
    parts
}

fn plain(case: &Case, kind: Kind, parts: Parts) -> Res<Expr> {
    let mut parts = opened(case, kind, parts);
    loop {
        let Some(next) = narrowed(case, parts)? else {
            return Ok(nothing(kind));
        };
        parts = next;
        let idle = parts.ranges.iter().position(|(v, n)| {
            kind != Kind::Product
                && case.follows(&(n.clone() - Dim::Const(1)))
                && !parts.body.mentions(v)
                && !parts.guards.iter().any(|g| mentions(g, v))
                && !parts.ranges.iter().any(|(_, n)| mentions(n, v))
        });
        if let Some(at) = idle {
            parts.ranges.remove(at);
            continue;
        }
        if let Some(joined) = joined(case, &parts) {
            parts = joined;
            continue;
        }
        break;
    }
    if parts.ranges.is_empty() && parts.guards.is_empty() {
        return Ok(parts.body);
    }
    Ok(numbered(kind, parts))
}

/// The parts of a fold with fresh bound symbols.
pub(super) fn renamed(case: &Case, fold: &Fold) -> Parts {
    let names: Vec<(Arc<str>, Arc<str>)> = fold.ranges.iter().map(|(v, _)| (v.clone(), case.fresh())).collect();
    let rename = |dim: &Dim| {
        names
            .iter()
            .fold(dim.clone(), |d, (old, new)| replaced(&d, old, &Dim::symbol(new)))
    };
    Parts {
        ranges: fold
            .ranges
            .iter()
            .zip(&names)
            .map(|((_, n), (_, new))| (new.clone(), rename(n)))
            .collect(),
        guards: fold.guards.iter().map(rename).collect(),
        body: fold.body.map(&rename),
    }
}

/// The sum with another body.
pub(super) fn with_body(case: &Case, own: &Fold, body: &Expr) -> Res<Expr> {
    let parts = renamed(
        case,
        &Fold {
            body: body.clone(),
            ..own.clone()
        },
    );
    let (mut guards, mut out) = (parts.guards, parts.body);
    for (symbol, count) in parts.ranges.iter().rev() {
        out = self::fold(
            case,
            Kind::Sum,
            symbol,
            count,
            &vec![(std::mem::take(&mut guards), out)],
        )?;
    }
    Ok(out)
}

/// Turns guards that bound a single range into limits of that range, and drops guards that follow; `None` if no values
/// are left.
fn narrowed(case: &Case, mut parts: Parts) -> Res<Option<Parts>> {
    'again: loop {
        for (_, n) in &mut parts.ranges {
            *n = case.simplified(n);
        }
        if parts.ranges.iter().any(|(_, n)| n.as_const().is_some_and(|n| n <= 0)) {
            return Ok(None);
        }
        if let Some(at) = parts.ranges.iter().position(|(_, n)| *n == Dim::Const(1)) {
            let (symbol, _) = parts.ranges.remove(at);
            put(&mut parts, &symbol, &Dim::Const(0));
            continue;
        }
        if let Some((range, guards, value)) = fixed(case, &parts) {
            let (symbol, _) = parts.ranges.remove(range);
            let mut at = 0;
            parts.guards.retain(|_| {
                at += 1;
                !guards.contains(&(at - 1))
            });
            put(&mut parts, &symbol, &value);
            continue;
        }
        for at in 0..parts.guards.len() {
            let guard = case.simplified(&parts.guards[at]);
            for range in 0..parts.ranges.len() {
                let (symbol, count) = parts.ranges[range].clone();
                let Some((c, rest)) = linear_in(&guard, &symbol) else {
                    continue;
                };
                if c.abs() != 1 || !is_size(&rest) || !is_size(&count) {
                    continue;
                }
                parts.guards.remove(at);
                if c > 0 {
                    // symbol >= -rest
                    if !case.is_at_least_zero(&rest)? {
                        let low = -rest;
                        parts.ranges[range].1 = count - low.clone();
                        put(&mut parts, &symbol, &(Dim::symbol(&symbol) + low));
                    }
                } else {
                    // symbol <= rest
                    parts.ranges[range].1 = case.min(&count, &(rest + Dim::Const(1)))?;
                }
                let n = parts.ranges[range].1.clone();
                if !case.is_at_least_zero(&(n - Dim::Const(1)))? {
                    return Ok(None);
                }
                continue 'again;
            }
        }
        break;
    }
    // Drop guards that follow from the ranges and the other guards.
    let ranges: Vec<Dim> = limits(&parts.ranges);
    let mut at = 0;
    while at < parts.guards.len() {
        let guard = case.simplified(&parts.guards[at]);
        let others = parts
            .guards
            .iter()
            .enumerate()
            .filter(|(i, _)| *i != at)
            .map(|(_, g)| g.clone());
        let facts: Vec<Dim> = ranges.iter().cloned().chain(others).collect();
        let known = case.within(&facts, || Ok(case.known_sign(&guard)))?;
        match known {
            Some(true) => {
                parts.guards.remove(at);
            }
            Some(false) => return Ok(None),
            None => {
                parts.guards[at] = guard;
                at += 1;
            }
        }
    }
    parts.guards.sort();
    parts.guards.dedup();
    Ok(Some(parts))
}

/// A range of which two guards leave one value, which is known to be in it; the guards, and the value.
fn fixed(case: &Case, parts: &Parts) -> Option<(usize, [usize; 2], Dim)> {
    let guards: Vec<Dim> = parts.guards.iter().map(|guard| case.simplified(guard)).collect();
    for (i, guard) in guards.iter().enumerate() {
        let Some(j) = (i + 1..guards.len()).find(|&j| guards[j].clone() + guard.clone() == Dim::Const(0)) else {
            continue;
        };
        for (range, (symbol, count)) in parts.ranges.iter().enumerate() {
            let Some((c, rest)) = linear_in(guard, symbol).filter(|(c, _)| c.abs() == 1) else {
                continue;
            };
            let value = if c > 0 { -rest } else { rest };
            let inside = [value.clone(), count.clone() - Dim::Const(1) - value.clone()];
            let others = parts
                .ranges
                .iter()
                .any(|(own, n)| mentions(n, symbol) || mentions(&value, own));
            if !others && inside.iter().all(|d| case.known_sign(d) == Some(true)) {
                return Some((range, [i, j], value));
            }
        }
    }
    None
}

/// The facts that the ranges imply for their symbols.
pub(super) fn limits(ranges: &[(Arc<str>, Dim)]) -> Vec<Dim> {
    let limits = ranges.iter().flat_map(|(symbol, n)| {
        let symbol = Dim::symbol(symbol);
        [symbol.clone(), n.clone() - Dim::Const(1) - symbol]
    });
    limits.collect()
}

/// The coefficient of the symbol and the rest, if the expression is linear in it.
fn linear_in(dim: &Dim, symbol: &str) -> Option<(i64, Dim)> {
    let this = Dim::symbol(symbol);
    let atom = this.as_atom()?.clone();
    let c = dim.terms().into_iter().find(|(p, _)| p[..] == [atom.clone()])?.1;
    let rest = dim.clone() - this * Dim::Const(c);
    (!mentions(&rest, symbol)).then_some((c, rest))
}

fn put(parts: &mut Parts, symbol: &str, value: &Dim) {
    let f = |dim: &Dim| replaced(dim, symbol, value);
    for (_, n) in &mut parts.ranges {
        *n = f(n);
    }
    parts.guards.iter_mut().for_each(|g| *g = f(g));
    parts.body = parts.body.map(&f);
}

/// Joins two ranges, if their symbols only occur as `i * b + j` with `j` below `b`.
fn joined(case: &Case, parts: &Parts) -> Option<Parts> {
    for (a, (i, m)) in parts.ranges.iter().enumerate() {
        for (b, (j, n)) in parts.ranges.iter().enumerate() {
            if a == b || has_bound(m) || has_bound(n) || case.may_be_of_block(m) || case.may_be_of_block(n) {
                continue;
            }
            // They occur only as `both` if setting i to 0 and then j to `both` changes nothing.
            let both = Dim::symbol(i) * n.clone() + Dim::symbol(j);
            let only_j = |dim: &Dim| replaced(dim, i, &Dim::Const(0));
            let back = |dim: &Dim| replaced(&only_j(dim), j, &both);
            if !parts.body.mentions(i) || parts.body.map(&back) != parts.body {
                continue;
            }
            if parts.guards.iter().any(|g| back(g) != *g) {
                continue;
            }
            let mut out = Parts {
                ranges: parts.ranges.clone(),
                guards: parts.guards.iter().map(only_j).collect(),
                body: parts.body.map(&only_j),
            };
            out.ranges[b].1 = m.clone() * n.clone();
            out.ranges.remove(a);
            return Some(out);
        }
    }
    None
}

/// The fold with its bound symbols numbered in the order that gives the least expression.
fn numbered(kind: Kind, parts: Parts) -> Expr {
    let base = depth(&parts.body);
    let mut order: Vec<usize> = (0..parts.ranges.len()).collect();
    order.sort_by(|a, b| parts.ranges[*a].1.cmp(&parts.ranges[*b].1));
    let mut best: Option<Fold> = None;
    for order in orders(&order, &parts.ranges) {
        let names: Vec<(Arc<str>, Arc<str>)> = order
            .iter()
            .enumerate()
            .map(|(place, &at)| (parts.ranges[at].0.clone(), format!("#{}", base + place).into()))
            .collect();
        let rename = |dim: &Dim| {
            names
                .iter()
                .fold(dim.clone(), |d, (old, new)| replaced(&d, old, &Dim::symbol(new)))
        };
        let mut guards: Vec<Dim> = parts.guards.iter().map(rename).collect();
        guards.sort();
        let fold = Fold {
            kind,
            ranges: order
                .iter()
                .zip(&names)
                .map(|(&at, (_, new))| (new.clone(), rename(&parts.ranges[at].1)))
                .collect(),
            guards,
            body: parts.body.map(&rename),
        };
        if best.as_ref().is_none_or(|b| fold < *b) {
            best = Some(fold);
        }
    }
    best.map_or_else(Expr::zero, |fold| Expr::factor(Factor::Fold(Rc::new(fold))))
}

/// All orders that differ only among ranges of the same size.
fn orders(sorted: &[usize], ranges: &[(Arc<str>, Dim)]) -> Vec<Vec<usize>> {
    let mut out: Vec<Vec<usize>> = vec![Vec::new()];
    for group in sorted.chunk_by(|a, b| ranges[*a].1 == ranges[*b].1) {
        let arranged = if group.len() <= MOST_ALIKE {
            permutations(group)
        } else {
            vec![group.to_vec()]
        };
        out = out
            .iter()
            .flat_map(|head| arranged.iter().map(move |tail| [head.as_slice(), tail].concat()))
            .collect();
    }
    out
}

fn permutations(items: &[usize]) -> Vec<Vec<usize>> {
    if items.len() < 2 {
        return vec![items.to_vec()];
    }
    let mut out = Vec::new();
    for (at, &first) in items.iter().enumerate() {
        let mut rest = items.to_vec();
        rest.remove(at);
        for mut tail in permutations(&rest) {
            tail.insert(0, first);
            out.push(tail);
        }
    }
    out
}

/// One more than the largest number of a bound symbol in the expression.
fn depth(expr: &Expr) -> usize {
    let of_factor = |factor: &Factor| match factor {
        Factor::Fold(fold) => {
            let own = fold
                .ranges
                .iter()
                .filter_map(|(v, _)| v.strip_prefix('#')?.parse::<usize>().ok());
            own.map(|n| n + 1).max().unwrap_or(0).max(depth(&fold.body))
        }
        Factor::Apply(_, args) => args.iter().map(depth).max().unwrap_or(0),
        Factor::Inverse(sum) => depth(sum),
        Factor::Whole(whole) => {
            let cases = whole.operands.iter().flat_map(|(_, cases)| cases);
            cases.map(|(_, e)| depth(e)).max().unwrap_or(0)
        }
        Factor::Size(_) | Factor::Element(..) => 0,
    };
    let factors = expr.terms().iter().flat_map(|(p, _)| p);
    factors.map(|(f, _)| of_factor(f)).max().unwrap_or(0)
}
