//! What holds wherever an element of the source is a finite number: a rule promises nothing elsewhere.
//!
//! NaN passes through sums and products, and a quotient by zero is infinite, or NaN times zero. So if a sum of products
//! is finite, no product of some of its factors is NaN, and none of the numbers that it divides by is 0. Functions of
//! the sum may hide infinity, as `exp(-1 / x)` does, so nothing is concluded from what is inside of them.
//!
//! And what is computed from real numbers by functions that have a value everywhere is no NaN, as a softmax is. An
//! operand itself may be tested: such a test asks for data that are no numbers.

use std::sync::Arc;

use num_traits::Signed;

use super::case::{Case, Res, has_bound};
use super::expr::{Expr, Factor, Kind, Product, replaced};
use super::fold;
use super::laws;
use tautomer_op::known;
use tautomer_tensor::Dim;

/// Functions that have a value at all real numbers.
pub(super) const TOTAL: [&str; 17] = [
    known::EXP,
    known::TANH,
    known::ERF,
    known::ABS,
    known::SIGN,
    known::FLOOR,
    known::CEIL,
    known::ROUND,
    known::MAX,
    known::MIN,
    known::WHERE,
    known::LESS,
    known::LESS_OR_EQUAL,
    known::EQUAL,
    known::AND,
    known::OR,
    known::NOT,
];

/// The factors of one product in the source, at all values of bound symbols.
#[derive(Debug, Clone, Default)]
struct Context {
    /// Bound symbols, each with the number of its values, which is not 0.
    bound: Vec<(Arc<str>, Dim)>,
    factors: Product,
}

/// The source and the target with tests for NaN and zero decided; `None` if there are none.
///
/// # Errors
/// The case is split by whether a sum has elements: one without elements is 0, whatever its factors are.
pub(super) fn where_finite(case: &Case, source: &Expr, target: &Expr) -> Res<Option<(Expr, Expr)>> {
    if !has_test(source) && !has_test(target) {
        return Ok(None);
    }
    let mut known = Known {
        case,
        contexts: Vec::new(),
    };
    let source = known.decided(source, &mut Vec::new())?;
    if !collect(case, &source, &Context::default(), &mut known.contexts)? {
        known.contexts.clear();
    }
    let target = known.decided(target, &mut Vec::new())?;
    Ok(Some((source, target)))
}

/// True if there is a test for NaN or zero.
fn has_test(x: &Expr) -> bool {
    let mut factors = x.terms().iter().flat_map(|(product, _)| product);
    factors.any(|(factor, _)| match factor {
        Factor::Apply(fun, args) => fun.is(known::IS_NAN) || fun.is(known::EQUAL) || args.iter().any(has_test),
        Factor::Inverse(sum) => has_test(sum),
        Factor::Fold(fold) => has_test(&fold.body),
        Factor::Size(_) | Factor::Element(..) | Factor::Whole(_) => false,
    })
}

/// Adds the products of a sum, and those of the sums that are factors of them. False if a factor is a size: it may stand
/// for that many equal terms, of which there are none if it is 0.
fn collect(case: &Case, x: &Expr, around: &Context, out: &mut Vec<Context>) -> Res<bool> {
    for (product, _) in x.terms() {
        if product.iter().any(|(factor, _)| matches!(factor, Factor::Size(_))) {
            return Ok(false);
        }
        let mut here = around.clone();
        here.factors.extend(product.iter().cloned());
        for (factor, exponent) in product {
            let Factor::Fold(sum) = factor else { continue };
            let sizes = || sum.ranges.iter().map(|(_, n)| n);
            if sum.kind != Kind::Sum || !sum.guards.is_empty() || sizes().any(has_bound) {
                return Ok(false);
            }
            for size in sizes() {
                if case.is_zero(size)? {
                    return Ok(false);
                }
            }
            if *exponent > 0 {
                let mut inside = here.clone();
                inside.factors.retain(|(own, _)| own != factor);
                let opened = fold::renamed(case, sum);
                inside.bound.extend(opened.ranges);
                if !collect(case, &opened.body, &inside, out)? {
                    return Ok(false);
                }
            }
        }
        out.push(here);
    }
    Ok(true)
}

/// What is known of the factors of the source.
struct Known<'a> {
    case: &'a Case,
    contexts: Vec<Context>,
}

impl Known<'_> {
    /// The expression with its tests decided, under bound symbols of the target.
    fn decided(&self, x: &Expr, bound: &mut Vec<(Arc<str>, Dim)>) -> Res<Expr> {
        let mut out = Expr::zero();
        for (product, c) in x.terms() {
            let mut term = Expr::number(c.clone());
            for (factor, exponent) in product {
                let new = self.factor(factor, bound)?;
                let power = new.power(exponent.unsigned_abs());
                term = term.mul(&if *exponent < 0 { power.inverse() } else { power });
            }
            out = out.add(&term);
        }
        Ok(out)
    }

    fn factor(&self, factor: &Factor, bound: &mut Vec<(Arc<str>, Dim)>) -> Res<Expr> {
        let same = || Expr::factor(factor.clone());
        match factor {
            Factor::Apply(fun, args) => {
                let is_false = match args.as_slice() {
                    [of] if fun.is(known::IS_NAN) => self.is_no_nan(of, bound)?,
                    [a, b] if fun.is(known::EQUAL) && a.is_zero() => self.is_no_zero(b, bound),
                    [a, b] if fun.is(known::EQUAL) && b.is_zero() => self.is_no_zero(a, bound),
                    _ => false,
                };
                if is_false {
                    return Ok(Expr::zero());
                }
                let new = args.iter().map(|a| self.decided(a, bound)).collect::<Res<Vec<_>>>()?;
                Ok(if new == *args {
                    same()
                } else {
                    laws::apply(fun.clone(), new)
                })
            }
            Factor::Inverse(sum) => Ok(self.decided(sum, bound)?.inverse()),
            Factor::Fold(own) if own.kind == Kind::Sum => {
                let before = bound.len();
                bound.extend(own.ranges.iter().cloned());
                let body = self.decided(&own.body, bound);
                bound.truncate(before);
                let body = body?;
                if body == own.body {
                    return Ok(same());
                }
                fold::with_body(self.case, own, &body)
            }
            _ => Ok(same()),
        }
    }

    /// True if the value is a product of some factors of one product, or a number wherever operands are.
    fn is_no_nan(&self, x: &Expr, bound: &[(Arc<str>, Dim)]) -> Res<bool> {
        if let [(product, _)] = x.terms()
            && self.some_context(bound, |context| {
                product.iter().all(|(factor, exponent)| {
                    let same = |(own, e): &&(Factor, i32)| own == factor && e.signum() == exponent.signum();
                    context.iter().any(|own| same(&own) && own.1.abs() >= exponent.abs())
                })
            })
        {
            return Ok(true);
        }
        Ok(!matches!(x.as_factor(), Some(Factor::Element(..))) && self.is_total(x)?)
    }

    /// True if the value is a real number wherever the operands are.
    fn is_total(&self, x: &Expr) -> Res<bool> {
        for (factor, exponent) in x.terms().iter().flat_map(|(product, _)| product) {
            if let Factor::Size(atom) = factor
                && *exponent < 0
            {
                let size = Dim::atom(atom.clone());
                if has_bound(&size) || self.case.is_zero(&size)? {
                    return Ok(false);
                }
                continue;
            }
            let total = match factor {
                Factor::Size(_) | Factor::Element(..) => true,
                Factor::Apply(fun, args) => {
                    let mut total = TOTAL.contains(&fun.name());
                    for arg in args {
                        total = total && self.is_total(arg)?;
                    }
                    total
                }
                Factor::Fold(own) => own.kind == Kind::Sum && self.is_total(&own.body)?,
                Factor::Inverse(_) | Factor::Whole(_) => false,
            };
            if !total || *exponent < 0 && !self.is_positive(factor)? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// True if a factor that is a real number is positive: an exponential, or a sum of positive numbers with an element at
    /// the first place.
    fn is_positive(&self, factor: &Factor) -> Res<bool> {
        let sum = match factor {
            Factor::Apply(fun, _) => return Ok(fun.is(known::EXP)),
            Factor::Fold(own) if own.kind == Kind::Sum && !own.body.is_zero() => own,
            _ => return Ok(false),
        };
        for (_, size) in &sum.ranges {
            if has_bound(size) || self.case.is_zero(size)? {
                return Ok(false);
            }
        }
        let first = |guard: &Dim| {
            let symbols = sum.ranges.iter().map(|(name, _)| name);
            symbols.fold(guard.clone(), |dim, name| replaced(&dim, name, &Dim::Const(0)))
        };
        if !sum
            .guards
            .iter()
            .all(|guard| self.case.known_sign(&first(guard)) == Some(true))
        {
            return Ok(false);
        }
        let mut terms = sum.body.terms().iter();
        terms.try_fold(true, |all, (product, c)| {
            let mut factors = product.iter();
            let positive = factors.try_fold(true, |all, (factor, _)| Ok(all && self.is_positive(factor)?))?;
            Ok(all && c.is_positive() && positive)
        })
    }

    /// True if one product divides by the value.
    fn is_no_zero(&self, x: &Expr, bound: &[(Arc<str>, Dim)]) -> bool {
        let inverse = x.inverse();
        let [(product, _)] = inverse.terms() else { return false };
        let divides = |(factor, e): &(Factor, i32)| *e < 0 || matches!(factor, Factor::Inverse(_));
        self.some_context(bound, |context| {
            !product.is_empty()
                && product.iter().all(|(factor, exponent)| {
                    divides(&(factor.clone(), *exponent))
                        && context
                            .iter()
                            .any(|(own, e)| own == factor && e.signum() == exponent.signum())
                })
        })
    }

    /// True if `holds` for the factors of a product of the source, with its bound symbols taken for some of those of the
    /// target that have the same values.
    fn some_context(&self, bound: &[(Arc<str>, Dim)], holds: impl Fn(&Product) -> bool) -> bool {
        self.contexts.iter().any(|context| {
            choices(&context.bound, bound)
                .iter()
                .any(|names| renamed(context, names).is_some_and(|factors| holds(&factors)))
        })
    }
}

/// All ways to take different symbols of `from` for those of `wanted`, with the same numbers of values.
fn choices(wanted: &[(Arc<str>, Dim)], from: &[(Arc<str>, Dim)]) -> Vec<Vec<Arc<str>>> {
    wanted.iter().fold(vec![Vec::new()], |all, (_, size)| {
        all.iter()
            .flat_map(|before: &Vec<Arc<str>>| {
                let free = from.iter().filter(|(name, n)| n == size && !before.contains(name));
                free.map(|(name, _)| [before.as_slice(), std::slice::from_ref(name)].concat())
            })
            .collect()
    })
}

/// The factors with bound symbols renamed; `None` if a new name is bound within a factor that mentions the old one.
fn renamed(context: &Context, names: &[Arc<str>]) -> Option<Product> {
    let factors = context.factors.iter().map(|(factor, exponent)| {
        let mut own = Expr::factor(factor.clone());
        for ((old, _), new) in context.bound.iter().zip(names) {
            if !own.mentions(old) {
                continue;
            }
            if binds(&own, new) {
                return None;
            }
            own = own.map(&|dim| replaced(dim, old, &Dim::symbol(new)));
        }
        own.as_factor().map(|factor| (factor.clone(), *exponent))
    });
    factors.collect()
}

/// True if the symbol is bound within the expression.
fn binds(x: &Expr, symbol: &str) -> bool {
    let mut factors = x.terms().iter().flat_map(|(product, _)| product);
    factors.any(|(factor, _)| match factor {
        Factor::Apply(_, args) => args.iter().any(|a| binds(a, symbol)),
        Factor::Inverse(sum) => binds(sum, symbol),
        Factor::Fold(fold) => fold.ranges.iter().any(|(name, _)| &**name == symbol) || binds(&fold.body, symbol),
        Factor::Whole(_) => true,
        Factor::Size(_) | Factor::Element(..) => false,
    })
}
