//! Identities that hold for all values: what a random rule consists of.

use super::Random;
use super::term::{Attr, BINARY, ONE, REDUCTIONS, Term, UNARY, Variables, binary, unary};

/// For what an identity holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Holds {
    /// Bit by bit.
    Bits,
    /// In rings: for integers that wrap too.
    Ring,
    /// For real numbers.
    Real,
}

use Holds::{Bits, Real, Ring};

/// An identity from left to right; `None` where it does not apply.
type Law = fn(&Term, &Variables, &mut Random) -> Option<(Term, Holds)>;

const LAWS: &[Law] = &[
    commute, associate, distribute, negate, neutral, lattice, monotone, absolute, factor, square, transposes, reverses,
    through, reductions, concats,
];

/// The term changed by one identity at a random place.
pub(super) fn changed(term: &Term, variables: &Variables, random: &mut Random) -> Option<(Term, Holds)> {
    let places = term.places();
    for _ in 0..60 {
        let way = &places[random.below(places.len())];
        let law = LAWS[random.below(LAWS.len())];
        if let Some((new, holds)) = law(term.at(way), variables, random) {
            return Some((term.with(way, new), holds));
        }
    }
    None
}

/// The operator and both operands of an elementwise call.
fn pair(t: &Term) -> Option<(&'static str, &Term, &Term)> {
    match t {
        Term::Call(op, Attr::None, xs) if BINARY.contains(op) => Some((op, &xs[0], &xs[1])),
        _ => None,
    }
}

fn pair_of<'a>(t: &'a Term, wanted: &str) -> Option<(&'a Term, &'a Term)> {
    pair(t).filter(|(op, ..)| *op == wanted).map(|(_, a, b)| (a, b))
}

fn single<'a>(t: &'a Term, wanted: &str) -> Option<&'a Term> {
    match t {
        Term::Call(op, Attr::None, xs) if *op == wanted => xs.first(),
        _ => None,
    }
}

fn commute(t: &Term, _: &Variables, _: &mut Random) -> Option<(Term, Holds)> {
    let (op, a, b) = pair(t)?;
    let holds = match op {
        "add" | "mul" => Bits,
        // The larger of zeros of two signs may be either.
        "max" | "min" => Ring,
        _ => return None,
    };
    Some((binary(op, b.clone(), a.clone()), holds))
}

fn associate(t: &Term, _: &Variables, random: &mut Random) -> Option<(Term, Holds)> {
    let (op, a, b) = pair(t)?;
    if op == "sub" {
        return None;
    }
    let new = match (pair_of(a, op), pair_of(b, op)) {
        (Some((x, y)), _) if random.chance(60) => binary(op, x.clone(), binary(op, y.clone(), b.clone())),
        (_, Some((x, y))) => binary(op, binary(op, a.clone(), x.clone()), y.clone()),
        _ => return None,
    };
    Some((new, Ring))
}

fn distribute(t: &Term, _: &Variables, _: &mut Random) -> Option<(Term, Holds)> {
    if let Some((a, b)) = pair_of(t, "mul") {
        let (op, x, y) = pair(b).filter(|(op, ..)| matches!(*op, "add" | "sub"))?;
        let product = |x: &Term| binary("mul", a.clone(), x.clone());
        return Some((binary(op, product(x), product(y)), Ring));
    }
    let (op, a, b) = pair(t).filter(|(op, ..)| matches!(*op, "add" | "sub"))?;
    let ((x, y), (z, w)) = (pair_of(a, "mul")?, pair_of(b, "mul")?);
    (x == z).then(|| (binary("mul", x.clone(), binary(op, y.clone(), w.clone())), Ring))
}

fn negate(t: &Term, _: &Variables, random: &mut Random) -> Option<(Term, Holds)> {
    let neg = |x: &Term| unary("neg", x.clone());
    if let Some(x) = single(t, "neg") {
        if let Some(y) = single(x, "neg") {
            return Some((y.clone(), Bits));
        }
        let (op, a, b) = pair(x)?;
        return Some(match op {
            "add" => (binary("add", neg(a), neg(b)), Ring),
            "sub" => (binary("sub", b.clone(), a.clone()), Ring),
            "mul" => (binary("mul", neg(a), b.clone()), Bits),
            "max" => (binary("min", neg(a), neg(b)), Real),
            _ => (binary("max", neg(a), neg(b)), Real),
        });
    }
    match pair_of(t, "sub") {
        Some((a, b)) => Some((binary("add", a.clone(), neg(b)), Ring)),
        None if random.chance(30) && !matches!(t, Term::Number(_)) => Some((neg(&neg(t)), Bits)),
        None => None,
    }
}

fn neutral(t: &Term, variables: &Variables, random: &mut Random) -> Option<(Term, Holds)> {
    match pair(t) {
        Some(("add" | "sub", a, Term::Number(0))) => return Some((a.clone(), Ring)),
        Some(("mul", a, Term::Number(1))) => return Some((a.clone(), Bits)),
        Some(("mul", a, Term::Number(2))) => return Some((binary("add", a.clone(), a.clone()), Ring)),
        _ => {}
    }
    variables.shape(t)?;
    match random.below(6) {
        0 => Some((binary("add", t.clone(), Term::Number(0)), Ring)),
        1 => Some((binary("mul", t.clone(), Term::Number(1)), Bits)),
        _ => None,
    }
}

fn lattice(t: &Term, _: &Variables, random: &mut Random) -> Option<(Term, Holds)> {
    if let Some(x) = single(t, "relu") {
        return Some((binary("max", x.clone(), Term::Number(0)), Ring));
    }
    let (op, a, b) = pair(t).filter(|(op, ..)| matches!(*op, "max" | "min"))?;
    let other = if op == "max" { "min" } else { "max" };
    if a == b {
        return Some((a.clone(), Ring));
    }
    if b == &Term::Number(0) && op == "max" && random.chance(50) {
        return Some((unary("relu", a.clone()), Ring));
    }
    if let Some((x, y)) = pair_of(b, other) {
        if x == a || y == a {
            return Some((a.clone(), Ring));
        }
        let with = |x: &Term| binary(op, a.clone(), x.clone());
        return Some((binary(other, with(x), with(y)), Ring));
    }
    None
}

/// Sums with a larger value are larger.
fn monotone(t: &Term, _: &Variables, _: &mut Random) -> Option<(Term, Holds)> {
    let (op, a, b) = pair(t)?;
    match op {
        "add" => {
            let (inner, x, y) = pair(b).filter(|(op, ..)| matches!(*op, "max" | "min"))?;
            let plus = |x: &Term| binary("add", a.clone(), x.clone());
            Some((binary(inner, plus(x), plus(y)), Real))
        }
        "max" | "min" => {
            let ((x, y), (z, w)) = (pair_of(a, "add")?, pair_of(b, "add")?);
            (x == z).then(|| (binary("add", x.clone(), binary(op, y.clone(), w.clone())), Real))
        }
        _ => None,
    }
}

fn absolute(t: &Term, _: &Variables, _: &mut Random) -> Option<(Term, Holds)> {
    let abs = |x: &Term| unary("abs", x.clone());
    if let Some(x) = single(t, "abs") {
        if let Some(y) = single(x, "neg").or_else(|| single(x, "abs")) {
            return Some((abs(y), Real));
        }
        if let Some((a, b)) = pair_of(x, "mul") {
            return Some((binary("mul", abs(a), abs(b)), Real));
        }
        if let Some((a, b)) = pair_of(x, "sub") {
            return Some((abs(&binary("sub", b.clone(), a.clone())), Real));
        }
        return Some((binary("max", x.clone(), unary("neg", x.clone())), Real));
    }
    let (a, b) = pair_of(t, "mul")?;
    (single(a, "abs")? == single(b, "abs")?).then(|| {
        Some((
            binary("mul", single(a, "abs")?.clone(), single(b, "abs")?.clone()),
            Real,
        ))
    })?
}

/// The constant of the rule is not negative.
fn factor(t: &Term, _: &Variables, _: &mut Random) -> Option<(Term, Holds)> {
    let scaled = |x: &Term| binary("mul", Term::Factor, x.clone());
    if let Some((Term::Factor, x)) = pair_of(t, "mul") {
        if let Some((op @ ("max" | "min"), a, b)) = pair(x) {
            return Some((binary(op, scaled(a), scaled(b)), Real));
        }
        return match x {
            Term::Call(op @ ("abs" | "relu"), attr, xs) => {
                Some((Term::Call(op, attr.clone(), vec![scaled(&xs[0])]), Real))
            }
            Term::Call("reduce_sum", attr, xs) => {
                Some((Term::Call("reduce_sum", attr.clone(), vec![scaled(&xs[0])]), Ring))
            }
            _ => None,
        };
    }
    let (op, a, b) = pair(t).filter(|(op, ..)| matches!(*op, "max" | "min"))?;
    match (pair_of(a, "mul")?, pair_of(b, "mul")?) {
        ((Term::Factor, x), (Term::Factor, y)) => Some((scaled(&binary(op, x.clone(), y.clone())), Real)),
        _ => None,
    }
}

fn square(t: &Term, _: &Variables, _: &mut Random) -> Option<(Term, Holds)> {
    let (a, b) = pair_of(t, "mul").filter(|(a, b)| a == b)?;
    let ((x, y), _) = (pair_of(a, "add")?, b);
    let product = |x: &Term, y: &Term| binary("mul", x.clone(), y.clone());
    let twice = binary("mul", product(x, y), Term::Number(2));
    Some((binary("add", binary("add", product(x, x), twice), product(y, y)), Ring))
}

fn transposes(t: &Term, variables: &Variables, random: &mut Random) -> Option<(Term, Holds)> {
    if let Term::Call("transpose", Attr::Perm(outer), xs) = t {
        if let Term::Call("transpose", Attr::Perm(inner), ys) = &xs[0] {
            let perm = outer.iter().map(|&i| inner[i]).collect();
            return Some((Term::Call("transpose", Attr::Perm(perm), ys.clone()), Bits));
        }
        let same = outer.iter().enumerate().all(|(i, &p)| i == p);
        return same.then(|| (xs[0].clone(), Bits));
    }
    let rank = variables.shape(t)?.len();
    if rank < 2 || !random.chance(30) {
        return None;
    }
    let perm = random.permutation(rank);
    let mut inverse = vec![0; rank];
    perm.iter().enumerate().for_each(|(to, &from)| inverse[from] = to);
    let inner = Term::Call("transpose", Attr::Perm(perm), vec![t.clone()]);
    Some((Term::Call("transpose", Attr::Perm(inverse), vec![inner]), Bits))
}

fn reverses(t: &Term, variables: &Variables, random: &mut Random) -> Option<(Term, Holds)> {
    if let Term::Call("reverse", Attr::Axis(k), xs) = t {
        let shape = variables.shape(t)?;
        if shape[*k] == [ONE] {
            return Some((xs[0].clone(), Bits));
        }
        match &xs[0] {
            Term::Call("reverse", Attr::Axis(j), ys) if j == k => return Some((ys[0].clone(), Bits)),
            Term::Call("reverse", Attr::Axis(j), ys) => {
                let inner = Term::Call("reverse", Attr::Axis(*k), ys.clone());
                return Some((Term::Call("reverse", Attr::Axis(*j), vec![inner]), Bits));
            }
            Term::Call("transpose", Attr::Perm(perm), ys) => {
                let inner = Term::Call("reverse", Attr::Axis(perm[*k]), ys.clone());
                return Some((Term::Call("transpose", Attr::Perm(perm.clone()), vec![inner]), Bits));
            }
            _ => return None,
        }
    }
    let rank = variables.shape(t)?.len();
    if !random.chance(20) {
        return None;
    }
    let axis = Attr::Axis(random.below(rank));
    let inner = Term::Call("reverse", axis.clone(), vec![t.clone()]);
    Some((Term::Call("reverse", axis, vec![inner]), Bits))
}

/// What moves elements and elementwise functions change places.
fn through(t: &Term, variables: &Variables, _: &mut Random) -> Option<(Term, Holds)> {
    let Term::Call(op, attr, xs) = t else { return None };
    if matches!(*op, "transpose" | "reverse") {
        let Term::Call(f, Attr::None, ys) = &xs[0] else {
            return None;
        };
        let moved = |y: &Term| match variables.shape(y) {
            Some(_) => Term::Call(op, attr.clone(), vec![y.clone()]),
            None => y.clone(),
        };
        return Some((Term::Call(f, Attr::None, ys.iter().map(moved).collect()), Bits));
    }
    if !UNARY.contains(op) && !BINARY.contains(op) {
        return None;
    }
    let Term::Call(mover @ ("transpose" | "reverse"), attr, _) = &xs[0] else {
        return None;
    };
    let mut inner = Vec::new();
    for x in xs {
        inner.push(match x {
            Term::Call(m, a, ys) if m == mover && a == attr => ys[0].clone(),
            Term::Number(_) | Term::Factor => x.clone(),
            _ => return None,
        });
    }
    Some((
        Term::Call(mover, attr.clone(), vec![Term::Call(op, Attr::None, inner)]),
        Bits,
    ))
}

fn reductions(t: &Term, variables: &Variables, _: &mut Random) -> Option<(Term, Holds)> {
    let Term::Call(op, Attr::Axis(k), xs) = t else {
        return None;
    };
    if !REDUCTIONS.contains(op) {
        return None;
    }
    let reduced = |op: &'static str, x: &Term, k: usize| Term::Call(op, Attr::Axis(k), vec![x.clone()]);
    if variables.shape(&xs[0])?[*k] == [ONE] {
        return Some((xs[0].clone(), Ring));
    }
    match &xs[0] {
        Term::Call("transpose", Attr::Perm(perm), ys) => {
            let inner = reduced(op, &ys[0], perm[*k]);
            Some((Term::Call("transpose", Attr::Perm(perm.clone()), vec![inner]), Ring))
        }
        Term::Call("reverse", Attr::Axis(j), ys) if j == k => Some((reduced(op, &ys[0], *k), Ring)),
        Term::Call(inner, Attr::Axis(j), ys) if inner == op && j != k => {
            Some((reduced(op, &reduced(op, &ys[0], *k), *j), Ring))
        }
        Term::Call("concat", Attr::Axis(j), ys) if j == k => {
            let join = match *op {
                "reduce_sum" => "add",
                "reduce_max" => "max",
                _ => "min",
            };
            Some((binary(join, reduced(op, &ys[0], *k), reduced(op, &ys[1], *k)), Ring))
        }
        x => {
            if let (Some(y), "reduce_sum") = (single(x, "neg"), *op) {
                return Some((unary("neg", reduced(op, y, *k)), Ring));
            }
            let (f, a, b) = pair(x)?;
            let fits = matches!(
                (*op, f),
                ("reduce_sum", "add" | "sub") | ("reduce_max", "max") | ("reduce_min", "min")
            );
            let both = variables.shape(a).is_some() && variables.shape(b).is_some();
            (fits && both).then(|| (binary(f, reduced(op, a, *k), reduced(op, b, *k)), Ring))
        }
    }
}

fn concats(t: &Term, variables: &Variables, _: &mut Random) -> Option<(Term, Holds)> {
    let parts = |x: &Term| match x {
        Term::Call("concat", Attr::Axis(k), xs) => Some((*k, xs.clone())),
        _ => None,
    };
    if let Some((k, xs)) = parts(t) {
        let (Term::Call(f, Attr::None, ys), Term::Call(g, Attr::None, zs)) = (&xs[0], &xs[1]) else {
            return None;
        };
        if f != g || !UNARY.contains(f) {
            return None;
        }
        let joined = Term::Call("concat", Attr::Axis(k), vec![ys[0].clone(), zs[0].clone()]);
        return Some((unary(f, joined), Bits));
    }
    let Term::Call(op, attr, xs) = t else { return None };
    let (k, ys) = parts(&xs[0])?;
    let concat = |axis: usize, parts: Vec<Term>| Term::Call("concat", Attr::Axis(axis), parts);
    match (*op, attr) {
        ("transpose", Attr::Perm(perm)) => {
            let axis = perm.iter().position(|&p| p == k)?;
            let moved = ys
                .iter()
                .map(|y| Term::Call("transpose", attr.clone(), vec![y.clone()]));
            Some((concat(axis, moved.collect()), Bits))
        }
        ("reverse", Attr::Axis(j)) => {
            let moved = ys.iter().map(|y| Term::Call("reverse", attr.clone(), vec![y.clone()]));
            let mut moved: Vec<Term> = moved.collect();
            if *j == k {
                moved.reverse();
            }
            Some((concat(k, moved), Bits))
        }
        (op, Attr::None) if UNARY.contains(&op) => {
            Some((concat(k, ys.iter().map(|y| unary(op, y.clone())).collect()), Bits))
        }
        (op, Attr::None) if xs.len() == 2 && variables.shape(&xs[1]).is_none() => {
            let each = |y: &Term| {
                binary(
                    BINARY.iter().find(|b| **b == op).expect("a binary operator"),
                    y.clone(),
                    xs[1].clone(),
                )
            };
            Some((concat(k, ys.iter().map(each).collect()), Bits))
        }
        _ => None,
    }
}
