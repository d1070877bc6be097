//! Elements of tensors as formulas: polynomials over elements of leaves, dimensions, functions and sums.

use std::fmt;
use std::rc::Rc;
use std::sync::Arc;

use num_rational::BigRational;
use num_traits::{One, Signed, ToPrimitive, Zero};

use super::fold::Cases;
use super::order::Between;
use tautomer_op::AttrValue;
use tautomer_tensor::{Atom, DType, Dim};

/// A number: a sum of products with rational coefficients, in a normal form.
///
/// `==` decides equality of polynomials; the inverse of a sum stays a separate factor.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct Expr(Rc<[(Product, BigRational)]>);

/// Factors with their exponents, sorted; no exponent is 0.
pub(super) type Product = Vec<(Factor, i32)>;

/// A factor of a product.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) enum Factor {
    /// An integer: a dimension, an index, or an expression of them.
    Size(Atom),
    /// The element of a leaf at a row-major position, or at an index for each axis of a dimension other than 1: all
    /// elements of a leaf in one case are written in the same way.
    Element(u32, Vec<Dim>),
    /// A function of numbers, about which only the laws in [`super::laws`] are known.
    Apply(Fun, Vec<Expr>),
    /// One divided by a sum.
    Inverse(Expr),
    /// A reduction over ranges.
    Fold(Rc<Fold>),
    /// An element of the result of an operator on whole tensors.
    Whole(Rc<Whole>),
}

/// A function of numbers. Two are equal only if all their parts are.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) enum Fun {
    /// A function that may have laws in [`super::laws`].
    Named(&'static str),
    /// An operator with attributes: uninterpreted.
    With(&'static str, Vec<AttrValue>),
    /// An operator that depends on the element type of its result.
    In(&'static str, DType),
    /// The elements of a constant tensor, by position.
    Table(Vec<Expr>),
    /// An infinity, or NaN, by its bits in `f64`.
    Special(u64),
    /// An arbitrary number of an attribute.
    Number(usize),
    /// An arbitrary number between two others.
    Between(Between),
}

/// The conversion to a floating-point type, where its rounding counts.
pub(super) const ROUNDED: &str = "rounded";

/// One divided by 0, which is not a number.
pub(super) const INVERSE_OF_ZERO: &str = "inverse of 0";

/// An integer that is computed by sums and products, which wrap around in its type.
pub(super) const VALUE: &str = "value";

impl Fun {
    /// The name that laws refer to; empty if there are no laws for it.
    pub(super) fn name(&self) -> &'static str {
        match self {
            Fun::Named(name) => name,
            _ => "",
        }
    }

    /// True for the conversion to an element type with fewer digits, which is nondecreasing.
    pub(super) fn is_rounding(&self) -> bool {
        matches!(self, Fun::With(ROUNDED, _))
    }

    /// True for the function of that name.
    pub(super) fn is(&self, name: &str) -> bool {
        matches!(self, Fun::Named(own) if *own == name)
    }

    /// The element type of an integer that is marked by [`VALUE`].
    pub(super) fn marked(&self) -> Option<DType> {
        match self {
            Fun::In(VALUE, dtype) => Some(*dtype),
            _ => None,
        }
    }
}

impl From<&'static str> for Fun {
    fn from(name: &'static str) -> Fun {
        Fun::Named(name)
    }
}

impl fmt::Display for Fun {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Fun::Named(name) => f.write_str(name),
            Fun::With(name, attrs) => with_attributes(f, name, attrs),
            Fun::In(name, dtype) => write!(f, "{name} in {dtype}"),
            Fun::Table(_) => f.write_str("constants"),
            Fun::Number(i) => write!(f, "number{i}"),
            Fun::Between(one) => write!(f, "any number like {}", one.place()),
            Fun::Special(bits) => write!(f, "{}", f64::from_bits(*bits)),
        }
    }
}

fn with_attributes(f: &mut fmt::Formatter<'_>, name: &str, attrs: &[AttrValue]) -> fmt::Result {
    f.write_str(name)?;
    let mut begin = " {";
    for attr in attrs.iter().filter(|a| !a.is_none()) {
        write!(f, "{begin}{attr}")?;
        begin = ", ";
    }
    f.write_str(if begin == ", " { "}" } else { "" })
}

/// The operation that combines the elements of a fold.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) enum Kind {
    Sum,
    Product,
    Max,
    Min,
}

impl From<tautomer_op::Fold> for Kind {
    fn from(fold: tautomer_op::Fold) -> Kind {
        match fold {
            tautomer_op::Fold::Sum => Kind::Sum,
            tautomer_op::Fold::Product => Kind::Product,
            tautomer_op::Fold::Max => Kind::Max,
            tautomer_op::Fold::Min => Kind::Min,
        }
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Kind::Sum => "sum",
            Kind::Product => "product",
            Kind::Max => "max",
            Kind::Min => "min",
        })
    }
}

/// A reduction over all values of bound symbols at which no guard is negative.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct Fold {
    pub(super) kind: Kind,
    /// Bound symbols, each with the number of values it takes, from 0.
    pub(super) ranges: Vec<(Arc<str>, Dim)>,
    pub(super) guards: Vec<Dim>,
    pub(super) body: Expr,
}

/// An element of the result of an operator that is not expanded.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct Whole {
    pub(super) name: &'static str,
    /// Its attributes, in declared order.
    pub(super) attrs: Vec<AttrValue>,
    /// The element types of the operands.
    pub(super) dtypes: Vec<DType>,
    pub(super) output: usize,
    /// The shapes of the operands, and their elements by cases, at separate index symbols.
    pub(super) operands: Vec<(Vec<Dim>, Cases)>,
    pub(super) at: Vec<Dim>,
}

impl Expr {
    pub(super) fn zero() -> Expr {
        Expr(Rc::new([]))
    }

    pub(super) fn number(value: BigRational) -> Expr {
        if value.is_zero() {
            return Expr::zero();
        }
        Expr(Rc::new([(Vec::new(), value)]))
    }

    pub(super) fn int(value: i64) -> Expr {
        Expr::number(BigRational::from_integer(value.into()))
    }

    /// The exact value of a float; infinities and NaN are symbols.
    pub(super) fn float(value: f64) -> Expr {
        // All NaNs are the same symbol.
        let bits = if value.is_nan() { f64::NAN } else { value }.to_bits();
        BigRational::from_float(value).map_or_else(|| Expr::apply(Fun::Special(bits), Vec::new()), Expr::number)
    }

    pub(super) fn factor(factor: Factor) -> Expr {
        Expr(Rc::new([(vec![(factor, 1)], BigRational::one())]))
    }

    pub(super) fn apply(fun: impl Into<Fun>, args: Vec<Expr>) -> Expr {
        Expr::factor(Factor::Apply(fun.into(), args))
    }

    pub(super) fn terms(&self) -> &[(Product, BigRational)] {
        &self.0
    }

    pub(super) fn is_zero(&self) -> bool {
        self.0.is_empty()
    }

    pub(super) fn from_terms(mut terms: Vec<(Product, BigRational)>) -> Expr {
        terms.sort_by(|a, b| a.0.cmp(&b.0));
        let mut merged: Vec<(Product, BigRational)> = Vec::with_capacity(terms.len());
        for (product, coefficient) in terms {
            match merged.last_mut() {
                Some(last) if last.0 == product => last.1 += coefficient,
                _ => merged.push((product, coefficient)),
            }
        }
        merged.retain(|(_, c)| !c.is_zero());
        Expr(merged.into())
    }

    /// The value, if it is a constant.
    pub(super) fn as_number(&self) -> Option<BigRational> {
        match &*self.0 {
            [] => Some(BigRational::zero()),
            [(product, value)] if product.is_empty() => Some(value.clone()),
            _ => None,
        }
    }

    /// The factor, if the expression is a single one.
    pub(super) fn as_factor(&self) -> Option<&Factor> {
        match &*self.0 {
            [(product, value)] if value.is_one() => match product.as_slice() {
                [(factor, 1)] => Some(factor),
                _ => None,
            },
            _ => None,
        }
    }

    pub(super) fn of_dim(dim: &Dim) -> Expr {
        let terms = dim.terms().into_iter().map(|(atoms, c)| {
            let product = atoms.iter().map(|a| (Factor::Size(a.clone()), 1));
            (collected(product.collect()), BigRational::from_integer(c.into()))
        });
        Expr::from_terms(terms.collect())
    }

    /// The integer expression, if it is one.
    pub(super) fn as_dim(&self) -> Option<Dim> {
        let mut out = Dim::Const(0);
        for (product, c) in self.terms() {
            let mut term = Dim::Const(c.is_integer().then(|| c.to_integer().to_i64())??);
            for (factor, exponent) in product {
                let Factor::Size(atom) = factor else { return None };
                for _ in 0..u32::try_from(*exponent).ok()? {
                    term = term * Dim::atom(atom.clone());
                }
            }
            out = out + term;
        }
        Some(out)
    }

    pub(super) fn add(&self, other: &Expr) -> Expr {
        if self.is_zero() {
            return other.clone();
        }
        Expr::from_terms(self.0.iter().chain(other.0.iter()).cloned().collect())
    }

    pub(super) fn neg(&self) -> Expr {
        Expr(self.0.iter().map(|(p, c)| (p.clone(), -c.clone())).collect())
    }

    pub(super) fn sub(&self, other: &Expr) -> Expr {
        self.add(&other.neg())
    }

    pub(super) fn mul(&self, other: &Expr) -> Expr {
        let mut terms = Vec::with_capacity(self.0.len() * other.0.len());
        for (p, a) in self.0.iter() {
            for (q, b) in other.0.iter() {
                terms.push((collected([p.as_slice(), q.as_slice()].concat()), a * b));
            }
        }
        Expr::from_terms(terms)
    }

    pub(super) fn power(&self, n: u32) -> Expr {
        (0..n).fold(Expr::int(1), |out, _| out.mul(self))
    }

    /// One divided by it.
    pub(super) fn inverse(&self) -> Expr {
        match &*self.0 {
            [] => Expr::apply(INVERSE_OF_ZERO, Vec::new()),
            [(product, c)] => {
                let mut out = Expr::number(c.recip());
                for (factor, exponent) in product {
                    out = match factor {
                        Factor::Inverse(sum) if *exponent > 0 => out.mul(&sum.power(exponent.unsigned_abs())),
                        _ => out.mul(&Expr(Rc::new([(
                            vec![(factor.clone(), -exponent)],
                            BigRational::one(),
                        )]))),
                    };
                }
                out
            }
            several => {
                // Sums that differ only by a constant factor share one inverse.
                let leading = several[several.len() - 1].1.clone();
                let monic = self.mul(&Expr::number(leading.recip()));
                Expr::factor(Factor::Inverse(monic)).mul(&Expr::number(leading.recip()))
            }
        }
    }

    /// True if the expression is 0 once it is multiplied by all sums that it divides by.
    pub(super) fn is_zero_as_fraction(&self) -> bool {
        let mut difference = self.clone();
        for _ in 0..8 {
            if difference.is_zero() {
                return true;
            }
            let inverse = difference.0.iter().flat_map(|(p, _)| p).find_map(|(f, e)| match f {
                Factor::Inverse(sum) if *e > 0 => Some(sum.clone()),
                _ => None,
            });
            let Some(sum) = inverse else { return false };
            let factor = Factor::Inverse(sum.clone());
            let exponent = |p: &Product| p.iter().find(|(f, _)| *f == factor).map_or(0, |(_, e)| *e);
            let most = difference.0.iter().map(|(p, _)| exponent(p)).max().unwrap_or(0);
            difference = difference.0.iter().fold(Expr::zero(), |out, (p, c)| {
                let left: Product = p.iter().filter(|(f, _)| *f != factor).cloned().collect();
                let missing = u32::try_from(most - exponent(p)).unwrap_or(0);
                out.add(&Expr::from_terms(vec![(left, c.clone())]).mul(&sum.power(missing)))
            });
        }
        difference.is_zero()
    }

    /// The expression with `f` applied to each integer expression in it.
    pub(super) fn map(&self, f: &dyn Fn(&Dim) -> Dim) -> Expr {
        self.mapped(f).unwrap_or_else(|| self.clone())
    }

    /// The same, but `None` if nothing changes.
    fn mapped(&self, f: &dyn Fn(&Dim) -> Dim) -> Option<Expr> {
        let mut changed = false;
        let mut out = Vec::with_capacity(self.0.len());
        for (product, c) in self.0.iter() {
            let mapped: Vec<Option<Expr>> = product.iter().map(|(factor, _)| factor.mapped(f)).collect();
            if mapped.iter().all(Option::is_none) {
                out.push((product.clone(), c.clone()));
                continue;
            }
            changed = true;
            let (mut term, mut kept) = (Expr::number(c.clone()), Product::new());
            for ((factor, exponent), mapped) in product.iter().zip(mapped) {
                let Some(mapped) = mapped else {
                    kept.push((factor.clone(), *exponent));
                    continue;
                };
                let power = mapped.power(exponent.unsigned_abs());
                term = term.mul(&if *exponent < 0 { power.inverse() } else { power });
            }
            out.extend(term.mul(&Expr(Rc::new([(kept, BigRational::one())]))).0.iter().cloned());
        }
        changed.then(|| Expr::from_terms(out))
    }

    /// The expression with factors replaced where `f` returns a replacement.
    pub(super) fn map_factors(&self, f: &dyn Fn(&Factor) -> Option<Expr>) -> Expr {
        let mut out = Expr::zero();
        for (product, c) in self.0.iter() {
            let mut term = Expr::number(c.clone());
            for (factor, exponent) in product {
                let inner = |e: &Expr| e.map_factors(f);
                let mapped = f(factor).unwrap_or_else(|| match factor {
                    Factor::Apply(fun, args) => super::laws::apply(fun.clone(), args.iter().map(inner).collect()),
                    Factor::Inverse(sum) => inner(sum).inverse(),
                    other => Expr::factor(other.clone()),
                });
                let power = mapped.power(exponent.unsigned_abs());
                term = term.mul(&if *exponent < 0 { power.inverse() } else { power });
            }
            out = out.add(&term);
        }
        out
    }

    /// Calls `f` for every integer expression in it.
    pub(super) fn visit(&self, f: &mut dyn FnMut(&Dim)) {
        for (factor, _) in self.0.iter().flat_map(|(p, _)| p) {
            factor.visit(f);
        }
    }

    /// Subtracts the number of parts from `left`; false if there are more.
    pub(super) fn fits(&self, left: &mut usize) -> bool {
        self.terms().iter().all(|(product, _)| {
            product.iter().all(|(factor, _)| {
                *left = left.saturating_sub(1);
                *left > 0
                    && match factor {
                        Factor::Size(_) | Factor::Element(..) => true,
                        Factor::Apply(_, args) => args.iter().all(|a| a.fits(left)),
                        Factor::Inverse(sum) => sum.fits(left),
                        Factor::Fold(fold) => fold.body.fits(left),
                        Factor::Whole(whole) => {
                            let mut values = whole.operands.iter().flat_map(|(_, cases)| cases);
                            values.all(|(_, value)| value.fits(left))
                        }
                    }
            })
        })
    }

    /// True if the symbol occurs.
    pub(super) fn mentions(&self, symbol: &str) -> bool {
        let mut found = false;
        self.visit(&mut |dim| found |= mentions(dim, symbol));
        found
    }
}

/// True if the symbol occurs.
pub(super) fn mentions(dim: &Dim, symbol: &str) -> bool {
    let mut found = false;
    dim.visit_atoms(&mut |atom| found |= matches!(atom, Atom::Symbol(name) if &**name == symbol));
    found
}

/// The expression with one symbol replaced.
pub(super) fn replaced(dim: &Dim, symbol: &str, by: &Dim) -> Dim {
    dim.substitute(&|atom| match atom {
        Atom::Symbol(name) if &**name == symbol => Some(by.clone()),
        _ => None,
    })
}

/// Merges equal factors.
fn collected(mut product: Product) -> Product {
    product.sort();
    let mut out: Product = Vec::with_capacity(product.len());
    for (factor, exponent) in product {
        match out.last_mut() {
            Some(last) if last.0 == factor => last.1 += exponent,
            _ => out.push((factor, exponent)),
        }
    }
    out.retain(|(_, e)| *e != 0);
    out
}

impl Factor {
    /// The factor with `f` applied to each integer expression in it; `None` if nothing changes.
    fn mapped(&self, f: &dyn Fn(&Dim) -> Dim) -> Option<Expr> {
        let mut changed = false;
        let mut dim = |d: &Dim| {
            let new = f(d);
            changed |= new != *d;
            new
        };
        let out = match self {
            Factor::Size(atom) => Expr::of_dim(&dim(&Dim::atom(atom.clone()))),
            Factor::Element(leaf, at) => Expr::factor(Factor::Element(*leaf, at.iter().map(&mut dim).collect())),
            Factor::Apply(fun, args) => {
                let mapped: Vec<Option<Expr>> = args.iter().map(|a| a.mapped(f)).collect();
                if mapped.iter().all(Option::is_none) {
                    return None;
                }
                let args = mapped
                    .into_iter()
                    .zip(args)
                    .map(|(new, old)| new.unwrap_or_else(|| old.clone()));
                return Some(super::laws::apply(fun.clone(), args.collect()));
            }
            Factor::Inverse(sum) => return sum.mapped(f).map(|sum| sum.inverse()),
            Factor::Fold(fold) => {
                let ranges = fold.ranges.iter().map(|(v, n)| (v.clone(), dim(n))).collect();
                let guards = fold.guards.iter().map(&mut dim).collect();
                let body = fold.body.mapped(f);
                changed |= body.is_some();
                let body = body.unwrap_or_else(|| fold.body.clone());
                let kind = fold.kind;
                Expr::factor(Factor::Fold(Rc::new(Fold {
                    kind,
                    ranges,
                    guards,
                    body,
                })))
            }
            Factor::Whole(whole) => Expr::factor(Factor::Whole(Rc::new(Whole {
                name: whole.name,
                attrs: whole.attrs.clone(),
                dtypes: whole.dtypes.clone(),
                output: whole.output,
                operands: whole
                    .operands
                    .iter()
                    .map(|(shape, cases)| {
                        let case = |(guards, e): &(Vec<Dim>, Expr)| (guards.iter().map(f).collect(), e.map(f));
                        (shape.iter().map(f).collect(), cases.iter().map(case).collect())
                    })
                    .collect(),
                at: whole.at.iter().map(f).collect(),
            }))),
        };
        (changed || matches!(self, Factor::Whole(_))).then_some(out)
    }

    fn visit(&self, f: &mut dyn FnMut(&Dim)) {
        match self {
            Factor::Size(atom) => f(&Dim::atom(atom.clone())),
            Factor::Element(_, at) => at.iter().for_each(f),
            Factor::Apply(_, args) => args.iter().for_each(|a| a.visit(f)),
            Factor::Inverse(sum) => sum.visit(f),
            Factor::Fold(fold) => {
                fold.ranges.iter().for_each(|(_, n)| f(n));
                fold.guards.iter().for_each(&mut *f);
                fold.body.visit(f);
            }
            Factor::Whole(whole) => {
                for (shape, cases) in &whole.operands {
                    shape.iter().for_each(&mut *f);
                    for (guards, e) in cases {
                        guards.iter().for_each(&mut *f);
                        e.visit(f);
                    }
                }
                whole.at.iter().for_each(f);
            }
        }
    }
}

impl fmt::Display for Expr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.is_zero() {
            return f.write_str("0");
        }
        for (i, (product, c)) in self.0.iter().enumerate() {
            match (i, c.is_negative()) {
                (0, false) => {}
                (0, true) => f.write_str("-")?,
                (_, false) => f.write_str(" + ")?,
                (_, true) => f.write_str(" - ")?,
            }
            let magnitude = c.abs();
            let shown = product.is_empty() || !magnitude.is_one();
            if shown {
                write!(f, "{magnitude}")?;
            }
            for (k, (factor, exponent)) in product.iter().enumerate() {
                if shown || k > 0 {
                    f.write_str("*")?;
                }
                write!(f, "{factor}")?;
                if *exponent != 1 {
                    write!(f, "^{exponent}")?;
                }
            }
        }
        Ok(())
    }
}

impl fmt::Display for Factor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let list = |all: &mut dyn Iterator<Item = String>| all.collect::<Vec<_>>().join(", ");
        match self {
            Factor::Size(atom) => write!(f, "{}", Dim::atom(atom.clone())),
            Factor::Element(leaf, at) => write!(f, "x{leaf}[{}]", list(&mut at.iter().map(ToString::to_string))),
            Factor::Apply(fun, args) => write!(f, "{fun}({})", list(&mut args.iter().map(ToString::to_string))),
            Factor::Inverse(sum) => write!(f, "1/({sum})"),
            Factor::Fold(fold) => {
                let ranges = list(&mut fold.ranges.iter().map(|(v, n)| format!("{v} < {n}")));
                let guards = list(&mut fold.guards.iter().map(|g| format!("{g} >= 0")));
                let bar = if guards.is_empty() { "" } else { " | " };
                write!(f, "{}{{{ranges}{bar}{guards}}}({})", fold.kind, fold.body)
            }
            Factor::Whole(whole) => {
                let case = |(guards, e): &(Vec<Dim>, Expr)| match guards.as_slice() {
                    [] => e.to_string(),
                    some => format!("{e} if {}", list(&mut some.iter().map(|g| format!("{g} >= 0")))),
                };
                let operands = whole.operands.iter().map(|(shape, cases)| {
                    let shape = list(&mut shape.iter().map(ToString::to_string));
                    format!("[{shape}] {}", list(&mut cases.iter().map(case)))
                });
                let operands: Vec<String> = operands.collect();
                let at = list(&mut whole.at.iter().map(ToString::to_string));
                with_attributes(f, whole.name, &whole.attrs)?;
                write!(f, "({}).{}[{at}]", operands.join("; "), whole.output)
            }
        }
    }
}
