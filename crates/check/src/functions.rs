//! Functions of numbers: their definitions by `exp`, roots and choices, and the few laws about those.

use num_rational::BigRational;
use num_traits::{One, ToPrimitive};

use crate::order::{Fact, is_above_zero, is_zero};
use crate::poly::{Atom, Poly, single};

/// Limit on the cases of one equation.
const CASES: usize = 1000;

/// A function with its laws.
pub(crate) fn apply(name: &str, args: Vec<Poly>) -> Poly {
    if args.iter().any(Poly::is_unknown) {
        return Poly::unknown();
    }
    match (name, args.as_slice()) {
        ("exp", [x]) => exp(x),
        ("log", [x]) => log(x),
        ("sqrt", [x]) if x.is_zero() || *x == Poly::int(1) => x.clone(),
        ("pow", [x, y]) => power(x, y),
        // Of signed integers: the least one is its own magnitude.
        ("abs", [x]) => match x.as_product() {
            Some((p, c)) if c.is_one() && matches!(p.as_slice(), [(Atom::Fun(f, _), 1)] if f == "abs") => x.clone(),
            _ if x.leads_negative() => plain("abs", vec![x.neg()]),
            _ => plain("abs", args),
        },
        _ => plain(name, args),
    }
}

fn plain(name: &str, args: Vec<Poly>) -> Poly {
    Poly::atom(Atom::Fun(name.to_owned(), args))
}

/// `exp` of a sum is a product, and `exp(log(x))` is `x`.
fn exp(x: &Poly) -> Poly {
    let mut out = Poly::int(1);
    for (product, c) in x.terms() {
        let (Some(above @ -50..=50), Some(below)) = (c.numer().to_i32(), c.denom().to_i64()) else {
            return plain("exp", vec![x.clone()]);
        };
        let factor = match product.as_slice() {
            [(Atom::Fun(name, args), 1)] if name == "log" && below == 1 => args.first().cloned(),
            _ => None,
        };
        let part = single(product.clone()).scale(&BigRational::new(One::one(), below.into()));
        let factor = factor.unwrap_or_else(|| plain("exp", vec![part]));
        let power = factor.power(above.unsigned_abs());
        out = out.mul(&if above < 0 { power.inverse() } else { power });
    }
    out
}

/// `log(exp(x))` is `x`.
fn log(x: &Poly) -> Poly {
    match x.as_product() {
        Some((product, c)) if c.is_one() => match product.as_slice() {
            [(Atom::Fun(name, args), e)] if name == "exp" => args[0].scale(&BigRational::from_integer((*e).into())),
            _ => plain("log", vec![x.clone()]),
        },
        _ => plain("log", vec![x.clone()]),
    }
}

fn power(x: &Poly, y: &Poly) -> Poly {
    let Some(n) = y.as_number() else {
        return plain("pow", vec![x.clone(), y.clone()]);
    };
    let root = *n.denom() == 2.into();
    let base = if root {
        apply("sqrt", vec![x.clone()])
    } else {
        x.clone()
    };
    match n.numer().to_i32() {
        Some(k) if k.abs() <= 16 && (root || n.is_integer()) => {
            let whole = base.power(k.unsigned_abs());
            if k < 0 { whole.inverse() } else { whole }
        }
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

pub(crate) fn min(a: &Poly, b: &Poly) -> Poly {
    max(&a.neg(), &b.neg()).neg()
}

/// The first number where the condition is 1, else the second.
pub(crate) fn choose(condition: &Poly, a: &Poly, b: &Poly) -> Poly {
    b.add(&condition.mul(&a.sub(b)))
}

/// Real functions of one number.
pub(crate) fn real(name: &str, x: &Poly) -> Option<Poly> {
    let one = Poly::int(1);
    let exp = |p: &Poly| apply("exp", vec![p.clone()]);
    let sigmoid = |p: &Poly| one.add(&exp(&p.neg())).inverse();
    let tanh = |p: &Poly| {
        let twice = exp(&p.add(p));
        twice.sub(&one).mul(&twice.add(&one).inverse())
    };
    let softplus = |p: &Poly| apply("log", vec![one.add(&exp(p))]);
    Some(match name {
        "exp" | "log" | "sqrt" | "erf" | "sin" | "cos" | "tan" | "floor" | "ceil" | "round" => {
            apply(name, vec![x.clone()])
        }
        "reciprocal" => x.inverse(),
        "sigmoid" => sigmoid(x),
        "tanh" => tanh(x),
        "silu" => x.mul(&sigmoid(x)),
        "softplus" => softplus(x),
        "mish" => x.mul(&tanh(&softplus(x))),
        "softsign" => x.mul(&one.add(&magnitude(x)).inverse()),
        "trunc" => {
            let [up, down] = ["ceil", "floor"].map(|f| apply(f, vec![x.clone()]));
            choose(&x.neg().positive(), &up, &down)
        }
        "hard_swish" => {
            let inner = x.mul(&Poly::int(6).inverse()).add(&Poly::int(2).inverse());
            x.mul(&max(&Poly::zero(), &min(&one, &inner)))
        }
        _ => return None,
    })
}

pub(crate) fn magnitude(x: &Poly) -> Poly {
    x.mul(&x.positive().add(&x.positive()).sub(&Poly::int(1)))
}

/// Proves that two numbers are equal under the facts, by cases of the comparisons in them.
pub(crate) fn equal(a: &Poly, b: &Poly, facts: &[Fact]) -> Result<(), String> {
    divided(&a.sub(b), facts, &mut CASES.clone())
}

fn divided(difference: &Poly, facts: &[Fact], left: &mut usize) -> Result<(), String> {
    *left = left.saturating_sub(1);
    if *left == 0 || difference.is_unknown() {
        return Err("a term is too long or divides by 0, or there are too many cases".to_owned());
    }
    if difference.is_zero_as_fraction() {
        return Ok(());
    }
    // The first comparison that holds no other one.
    let mut found: Option<Poly> = None;
    difference.visit(&mut |atom| match atom {
        Atom::Positive(p) if found.is_none() => found = Some(p.clone()),
        _ => {}
    });
    let Some(p) = found else {
        let why = || format!("the difference of both sides is {difference}, not 0");
        return is_zero(difference, facts).then_some(()).ok_or_else(why);
    };
    let known = is_above_zero(&p, facts);
    for (above, value) in [(true, p.clone()), (false, p.neg())] {
        if known != Some(!above) {
            let all = [facts, &[Fact { value, strict: above }]].concat();
            divided(&difference.put(&p, i64::from(above)), &all, left)?;
        }
    }
    Ok(())
}
