//! Functions of numbers, with the few laws about them, and equations, which are proved by cases.

use num_rational::BigRational;
use num_traits::{One, Signed, ToPrimitive, Zero};

use crate::poly::{Atom, Poly, Product, single};

pub(crate) fn apply(name: &str, args: Vec<Poly>) -> Poly {
    if args.iter().any(|a| a.unknown) {
        return Poly::unknown();
    }
    match (name, args.as_slice()) {
        ("exp", [x]) => exp(x),
        ("log", [x]) => log(x),
        ("sqrt", [x]) if x.is_zero() || *x == Poly::int(1) => x.clone(),
        ("pow", [x, y]) => power(x, y),
        // Of signed integers: the least one is its own magnitude.
        ("abs", [x]) => match x.as_atom() {
            Some(Atom::Fun(f, _)) if f == "abs" => x.clone(),
            _ if x.leads_negative() => plain("abs", vec![x.neg()]),
            _ => plain("abs", args),
        },
        _ => plain(name, args),
    }
}

fn plain(name: &str, args: Vec<Poly>) -> Poly {
    Poly::atom(Atom::Fun(name.to_owned(), args))
}

/// Whether the second order of axes undoes the first.
pub(crate) fn is_in_order(p: &Poly, q: &Poly) -> bool {
    let (Some(Atom::Fun(list, p)), Some(Atom::Fun(other, q))) = (p.as_atom(), q.as_atom()) else { return false };
    let axis = |i: &Poly| p.get(i.as_number()?.to_usize()?);
    [list, other] == ["[]"; 2] && (0..).zip(q).all(|(i, at)| axis(at) == Some(&Poly::int(i)))
}

/// `exp` of a sum is a product, and `exp(log(x))` is `x`.
fn exp(x: &Poly) -> Poly {
    let mut out = Poly::int(1);
    for (product, c) in x.terms.iter() {
        let (Some(above @ -50..=50), Some(below)) = (c.numer().to_i32(), c.denom().to_i64()) else {
            return plain("exp", vec![x.clone()]);
        };
        let factor = match product.as_slice() {
            [(Atom::Fun(name, args), 1)] if name == "log" && below == 1 => args[0].clone(),
            _ => plain("exp", vec![single(product.clone()).scale(&BigRational::new(One::one(), below.into()))]),
        };
        out = out.mul(&factor.power(above));
    }
    out
}

/// The logarithm of a sum, without the exponentials that are factors of all terms: `log(exp(x))` is `x`.
fn log(x: &Poly) -> Poly {
    let (mut inside, mut out) = (x.clone(), Poly::zero());
    for (atom, _) in x.terms.keys().flatten() {
        let Atom::Fun(name, args) = atom else { continue };
        let exponent = |p: &Product| p.iter().find(|(a, _)| a == atom).map_or(0, |(_, e)| *e);
        let least = inside.terms.keys().map(exponent).min().unwrap_or(0);
        if name == "exp" && least != 0 {
            out = out.add(&args[0].scale(&BigRational::from_integer(least.into())));
            inside = inside.mul(&single(vec![(atom.clone(), -least)]));
        }
    }
    if inside == Poly::int(1) { out } else { out.add(&plain("log", vec![inside])) }
}

fn power(x: &Poly, y: &Poly) -> Poly {
    let n = y.as_number();
    let whole = n.as_ref().and_then(|n| n.numer().to_i32()).filter(|k| k.abs() <= 16);
    match (n.and_then(|n| n.denom().to_i32()), whole) {
        (Some(1), Some(k)) => x.power(k),
        (Some(2), Some(k)) => apply("sqrt", vec![x.clone()]).power(k),
        _ => plain("pow", vec![x.clone(), y.clone()]),
    }
}

/// The larger number, written with one comparison whatever the order.
pub(crate) fn max(a: &Poly, b: &Poly) -> Poly {
    let difference = a.sub(b);
    if difference.leads_negative() {
        return a.add(&difference.neg().mul(&difference.neg().positive()));
    }
    b.add(&difference.mul(&difference.positive()))
}

/// Proves that two numbers are equal under the facts, by up to 1000 cases of the comparisons in them.
pub(crate) fn equal(a: &Poly, b: &Poly, facts: &[Fact]) -> Result<(), String> {
    divided(&a.sub(b), facts, &mut 1000)
}

fn divided(difference: &Poly, facts: &[Fact], left: &mut usize) -> Result<(), String> {
    *left = left.saturating_sub(1);
    if *left == 0 || difference.unknown {
        return Err("a term is too long or divides by 0, or there are too many cases".to_owned());
    }
    if difference.is_zero_as_fraction() {
        return Ok(());
    }
    // The parts of a concatenation, one after the other; others with parts of these shapes have the same.
    let mut joined: Option<Atom> = None;
    difference.visit(&mut |atom| joined = joined.take().or_else(|| cut(atom)));
    if let Some(Atom::Call(_, axis, shapes)) = &joined {
        for i in 0..shapes.len() {
            let place = Atom::Call(format!("part {i}"), axis.clone(), shapes.clone());
            let part = |atom: &Atom| match atom {
                Atom::Call(_, _, parts) if cut(atom) == joined => Some(parts[i].0.moved(&place)),
                _ => None,
            };
            divided(&difference.put(&part), facts, left)?;
        }
        return Ok(());
    }
    // The first comparison that holds no other one.
    let mut found: Option<Poly> = None;
    difference.visit(&mut |atom| match atom {
        Atom::Positive(p) if found.is_none() => found = Some(p.clone()),
        _ => {}
    });
    let Some(p) = found else {
        let is = |a: &Atom, f: &Fact| f.value.as_atom() == Some(a) && is_above(&f.value.neg(), true, facts);
        let left = difference.put(&|a| facts.iter().any(|f| is(a, f)).then(Poly::zero));
        let is_zero = is_above(&left, true, facts) && is_above(&left.neg(), true, facts);
        return if is_zero { Ok(()) } else { Err("the sides differ".to_owned()) };
    };
    for (above, value) in [(true, p.clone()), (false, p.neg())] {
        if !is_above(&value.neg(), above, facts) {
            let all = [facts, &[Fact { value, strict: above }]].concat();
            let is = |a: &Atom| matches!(a, Atom::Positive(own) if *own == p).then(|| Poly::int(i64::from(above)));
            divided(&difference.put(&is), &all, left)?;
        }
    }
    Ok(())
}

/// Where a concatenation is cut: its axis, and the shapes of its parts.
fn cut(atom: &Atom) -> Option<Atom> {
    let Atom::Call(name, axis, parts) = atom else { return None };
    let shapes = parts.iter().map(|(_, shape)| (Poly::zero(), shape.clone())).collect();
    (name == "concat").then(|| Atom::Call(name.clone(), axis.clone(), shapes))
}

/// A fact: the number is at least 0, or above 0.
#[derive(Debug, Clone)]
pub(crate) struct Fact {
    pub(crate) value: Poly,
    pub(crate) strict: bool,
}

/// Whether the number is above 0, or at least 0 if `weakly`: the sum of up to three facts and a constant.
fn is_above(value: &Poly, weakly: bool, facts: &[Fact]) -> bool {
    let mut sums = vec![Fact { value: Poly::zero(), strict: weakly }];
    for _ in 0..3 {
        let add = |s: &Fact, f: &Fact| Fact { value: s.value.add(&f.value), strict: s.strict || f.strict };
        let more: Vec<Fact> = facts.iter().flat_map(|f| sums.iter().map(move |s| add(s, f))).collect();
        sums.extend(more);
    }
    let rest = |sum: &Fact| value.sub(&sum.value).as_number().map(|n| n.is_positive() || sum.strict && n.is_zero());
    sums.iter().any(|sum| rest(sum) == Some(true))
}
