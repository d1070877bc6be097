//! What is known of functions: each call of one in a normal form.

use num_rational::BigRational;
use num_traits::{One, Signed, Zero};

use super::expr::{Expr, Factor};

/// A function of numbers, in the normal form that its laws give.
pub(super) fn apply(name: &str, args: Vec<Expr>) -> Expr {
    match (name, args.as_slice()) {
        ("max" | "min", [_, ..]) => lattice(name, args),
        ("relu", [x]) => lattice("max", vec![x.clone(), Expr::zero()]),
        ("where", [c, a, b]) => {
            if a == b {
                return a.clone();
            }
            match c.as_number() {
                Some(c) if c.is_zero() => b.clone(),
                Some(_) => a.clone(),
                None => match c.as_factor() {
                    Some(Factor::Apply(not, of)) if &**not == "not" => {
                        apply("where", vec![of[0].clone(), b.clone(), a.clone()])
                    }
                    _ if a.as_number().is_some_and(|v| v.is_one()) && b.is_zero() && is_truth(c) => c.clone(),
                    _ => Expr::apply("where", args),
                },
            }
        }
        ("not", [x]) => match (x.as_factor(), x.as_number()) {
            (Some(Factor::Apply(not, of)), _) if &**not == "not" => of[0].clone(),
            (_, Some(v)) => Expr::int(i64::from(v.is_zero())),
            _ => Expr::apply("not", args),
        },
        ("and" | "or", [a, b]) => {
            let neutral = BigRational::from_integer(i64::from(name == "and").into());
            for (x, y) in [(a, b), (b, a)] {
                match x.as_number() {
                    Some(v) if v == neutral => return y.clone(),
                    Some(v) => return Expr::number(v),
                    None => {}
                }
            }
            if a == b {
                return a.clone();
            }
            commutative(name, args)
        }
        ("equal" | "xor" | "bitwise_and" | "bitwise_or" | "bitwise_xor", _) => commutative(name, args),
        // One relation for both directions.
        ("greater", [a, b]) => apply("less", vec![b.clone(), a.clone()]),
        ("greater_or_equal", [a, b]) => apply("less_or_equal", vec![b.clone(), a.clone()]),
        ("abs", [x]) => match (x.as_factor(), x.as_number()) {
            (_, Some(v)) => Expr::number(v.abs()),
            (Some(Factor::Apply(f, _)), _) if matches!(&**f, "abs" | "exp" | "sqrt") => x.clone(),
            _ => Expr::apply("abs", vec![positive(x)]),
        },
        ("sign" | "floor" | "ceil" | "round", [x]) => match (x.as_factor(), x.as_number()) {
            (Some(Factor::Apply(f, _)), _) if &**f == name => x.clone(),
            (_, Some(v)) => match name {
                "sign" => Expr::number(v.signum()),
                "floor" => Expr::number(v.floor()),
                "ceil" => Expr::number(v.ceil()),
                _ => Expr::apply(name, args),
            },
            _ => Expr::apply(name, args),
        },
        ("exp", [x]) if x.is_zero() => Expr::int(1),
        ("exp", [x]) => exponential(x),
        ("log", [x]) => match x.as_factor() {
            Some(Factor::Apply(f, of)) if &**f == "exp" => of[0].clone(),
            _ if x.as_number().is_some_and(|v| v.is_one()) => Expr::zero(),
            _ => Expr::apply(name, args),
        },
        ("sqrt", [x]) => match x.as_number() {
            Some(v) if v.is_zero() || v.is_one() => x.clone(),
            _ => Expr::apply(name, args),
        },
        ("pow", [x, y]) => power(x, y),
        _ => Expr::apply(name, args),
    }
}

/// The powers that are products, inverses and roots.
fn power(x: &Expr, y: &Expr) -> Expr {
    let whole = |v: &BigRational| {
        v.is_integer()
            .then(|| v.to_integer())
            .and_then(|v| i32::try_from(v).ok())
    };
    match y.as_number() {
        Some(v) if whole(&v).is_some_and(|n| n.abs() <= 8) => {
            let n = whole(&v).unwrap_or(0);
            let out = product_power(x, n.unsigned_abs());
            if n < 0 { out.inverse() } else { out }
        }
        Some(v) if v == BigRational::new(1.into(), 2.into()) => apply("sqrt", vec![x.clone()]),
        _ => Expr::apply("pow", vec![x.clone(), y.clone()]),
    }
}

/// A whole power; the square of a root is what it is the root of.
pub(super) fn product_power(x: &Expr, n: u32) -> Expr {
    (0..n).fold(Expr::int(1), |out, _| multiply(&out, x))
}

/// The product, with squares of roots taken and exponentials joined.
pub(super) fn multiply(a: &Expr, b: &Expr) -> Expr {
    settled(&a.mul(b))
}

/// The expression with squares of roots taken and products of exponentials joined.
pub(super) fn settled(x: &Expr) -> Expr {
    let special = |f: &Factor| matches!(f, Factor::Apply(name, _) if matches!(&**name, "sqrt" | "exp" | "abs"));
    let due = |p: &super::expr::Product| {
        p.iter().any(|(f, e)| special(f) && e.abs() > 1)
            || p.iter()
                .filter(|(f, _)| matches!(f, Factor::Apply(n, _) if &**n == "exp"))
                .count()
                > 1
    };
    if !x.terms().iter().any(|(p, _)| due(p)) {
        return x.clone();
    }
    let mut out = Expr::zero();
    for (product, c) in x.terms() {
        let mut term = Expr::number(c.clone());
        let mut exponent = Expr::zero();
        for (factor, e) in product {
            let times = |of: &Expr, n: i32| {
                let power = of.power(n.unsigned_abs());
                if n < 0 { power.inverse() } else { power }
            };
            match factor {
                Factor::Apply(name, args) if &**name == "sqrt" => {
                    term = term
                        .mul(&times(&args[0], e / 2))
                        .mul(&times(&Expr::factor(factor.clone()), e % 2));
                }
                Factor::Apply(name, args) if &**name == "abs" => {
                    term = term
                        .mul(&times(&args[0], e / 2 * 2))
                        .mul(&times(&Expr::factor(factor.clone()), e % 2));
                }
                Factor::Apply(name, args) if &**name == "exp" => {
                    exponent = exponent.add(&args[0].mul(&Expr::int(i64::from(*e))));
                }
                _ => term = term.mul(&times(&Expr::factor(factor.clone()), *e)),
            }
        }
        if !exponent.is_zero() {
            term = term.mul(&Expr::apply("exp", vec![exponent]));
        }
        out = out.add(&term);
    }
    out
}

/// `exp(log x) = x`
fn exponential(x: &Expr) -> Expr {
    match x.as_factor() {
        Some(Factor::Apply(f, of)) if &**f == "log" => of[0].clone(),
        _ => Expr::apply("exp", vec![x.clone()]),
    }
}

/// The one of `x` and `-x` whose leading coefficient is positive.
fn positive(x: &Expr) -> Expr {
    match x.terms().last() {
        Some((_, c)) if c.is_negative() => x.neg(),
        _ => x.clone(),
    }
}

/// True if it is 0 or 1.
fn is_truth(x: &Expr) -> bool {
    const RELATIONS: [&str; 9] = [
        "less",
        "less_or_equal",
        "equal",
        "and",
        "or",
        "not",
        "xor",
        "is_nan",
        "truth",
    ];
    matches!(x.as_factor(), Some(Factor::Apply(f, _)) if RELATIONS.contains(&&**f))
}

fn commutative(name: &str, mut args: Vec<Expr>) -> Expr {
    args.sort();
    Expr::apply(name, args)
}

/// The largest or smallest of numbers: associative, commutative, idempotent, and between constants the other way round.
fn lattice(name: &str, args: Vec<Expr>) -> Expr {
    let other = if name == "max" { "min" } else { "max" };
    let better = |a: &BigRational, b: &BigRational| if name == "max" { a >= b } else { a <= b };
    let mut flat: Vec<Expr> = Vec::new();
    let mut bound: Option<BigRational> = None;
    let mut pending = args;
    while let Some(arg) = pending.pop() {
        if let Some(v) = arg.as_number() {
            bound = Some(match bound {
                Some(b) if better(&b, &v) => b,
                _ => v,
            });
        } else {
            match arg.as_factor() {
                Some(Factor::Apply(f, inner)) if &**f == name => pending.extend(inner.iter().cloned()),
                _ => flat.push(arg),
            }
        }
    }
    flat.sort();
    flat.dedup();
    // Between two constants: max(min(x, b), a) is a, if a is not less than b, else min(max(x, a), b).
    if let (Some(v), [x]) = (&bound, flat.as_slice())
        && let Some(Factor::Apply(f, inner)) = x.as_factor()
        && &**f == other
    {
        let numbers: Vec<BigRational> = inner.iter().filter_map(Expr::as_number).collect();
        if let [b] = numbers.as_slice() {
            if better(v, b) {
                return Expr::number(v.clone());
            }
            if name == "max" {
                let rest: Vec<Expr> = inner.iter().filter(|e| e.as_number().is_none()).cloned().collect();
                let x = lattice("min", rest);
                let raised = lattice("max", vec![x, Expr::number(v.clone())]);
                return lattice("min", vec![raised, Expr::number(b.clone())]);
            }
        }
    }
    // What is at least `a` already: max(max(x, a), b) went flat; min(max(x, a), b) with b <= a is b, seen above.
    flat.extend(bound.map(Expr::number));
    flat.sort();
    match flat.as_slice() {
        [one] => one.clone(),
        _ => Expr::apply(name, flat),
    }
}
