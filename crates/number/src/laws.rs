//! Laws of functions that an exact number system may assume, and a record of what an evaluation assumed.
//!
//! Over exact numbers, all that is known about `exp` is that equal arguments have equal values. A law says more, and is
//! best assumed only when needed: [`under`] evaluates with a set of laws, and reports which laws and which properties
//! of the numbers the evaluation used.

use std::cell::Cell;
use std::fmt;
use std::str::FromStr;

use tautomer_tensor::DType;

/// A law of functions of real numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Law {
    /// `exp(a + b) = exp(a) exp(b)`
    ExpSum,
    /// `log(exp(x)) = x`, and `exp(log(x)) = x` for `x > 0`
    LogExp,
    /// `log(a b) = log(a) + log(b)` for `a, b > 0`
    LogProduct,
    /// `sqrt(x)^2 = x` for `x >= 0`, and the root is not negative
    SqrtSquare,
    /// `x^y = exp(y log(x))` for `x > 0`
    PowExp,
    /// `sinh`, `cosh`, `tanh` and their inverses by `exp`, `log` and `sqrt`
    HyperbolicExp,
    /// `f(-x) = -f(x)`
    Odd,
    /// `f(-x) = f(x)`
    Even,
    /// `f(x) < f(y)` for `x < y`, with the signs and bounds that `f` has
    Growing,
}

impl Law {
    /// All laws.
    pub const ALL: [Law; 9] = [
        Law::ExpSum,
        Law::LogExp,
        Law::LogProduct,
        Law::SqrtSquare,
        Law::PowExp,
        Law::HyperbolicExp,
        Law::Odd,
        Law::Even,
        Law::Growing,
    ];

    /// Its name, its statement, and the number systems that support it.
    const fn row(self) -> (&'static str, &'static str, &'static str) {
        match self {
            Law::ExpSum => ("exp-sum", "exp(a + b) = exp(a) exp(b)", "fields, rationals"),
            Law::LogExp => (
                "log-exp",
                "log(exp(x)) = x, and exp(log(x)) = x for x > 0",
                "fields, rationals",
            ),
            Law::LogProduct => ("log-product", "log(a b) = log(a) + log(b) for a, b > 0", "fields"),
            Law::SqrtSquare => (
                "sqrt-square",
                "sqrt(x)^2 = x for x >= 0, and sqrt(x) >= 0",
                "fields, rationals",
            ),
            Law::PowExp => (
                "pow-exp",
                "x^y = exp(y log(x)) for x > 0; x^(1/2) = sqrt(x)",
                "fields, rationals",
            ),
            Law::HyperbolicExp => (
                "hyperbolic-exp",
                "sinh, cosh and tanh by exp; their inverses by log and sqrt",
                "fields, rationals",
            ),
            Law::Odd => (
                "odd",
                "f(-x) = -f(x) for sin, tan, asin, atan, sinh, tanh, asinh, atanh, erf",
                "fields, rationals",
            ),
            Law::Even => ("even", "f(-x) = f(x) for cos, cosh", "fields, rationals"),
            Law::Growing => (
                "growing",
                "x < y implies f(x) < f(y) for exp, log, sqrt, tanh, erf and the like, with their signs and bounds",
                "rationals",
            ),
        }
    }

    /// Its name, as the command line takes it.
    pub const fn name(self) -> &'static str {
        self.row().0
    }

    /// What it says.
    pub const fn statement(self) -> &'static str {
        self.row().1
    }

    /// The number systems in which it can be assumed.
    pub const fn systems(self) -> &'static str {
        self.row().2
    }
}

/// A set of laws.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Laws(u16);

impl Laws {
    /// No law.
    pub const NONE: Laws = Laws(0);
    /// Every law.
    pub const ALL: Laws = Laws((1 << Law::ALL.len()) - 1);

    /// True if it contains the law.
    pub const fn contains(self, law: Law) -> bool {
        self.0 & (1 << law as u16) != 0
    }

    /// True if it contains no law.
    pub const fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// The set with `law` added.
    pub const fn with(self, law: Law) -> Laws {
        Laws(self.0 | 1 << law as u16)
    }

    /// The set with `law` removed.
    pub const fn without(self, law: Law) -> Laws {
        Laws(self.0 & !(1 << law as u16))
    }

    /// The union of both sets.
    pub const fn or(self, other: Laws) -> Laws {
        Laws(self.0 | other.0)
    }

    /// The intersection of both sets.
    pub const fn and(self, other: Laws) -> Laws {
        Laws(self.0 & other.0)
    }

    /// The laws it contains.
    pub fn iter(self) -> impl Iterator<Item = Law> {
        Law::ALL.into_iter().filter(move |law| self.contains(*law))
    }
}

impl fmt::Display for Laws {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<&str> = self.iter().map(Law::name).collect();
        f.write_str(&names.join(", "))
    }
}

/// An unknown law name.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("there is no law `{0}`; there are {all}", all = Laws::ALL)]
pub struct NoSuchLaw(pub String);

impl FromStr for Laws {
    type Err = NoSuchLaw;

    /// Parses names separated by commas.
    ///
    /// ```
    /// # use tautomer_number::{Law, Laws};
    /// let laws: Laws = "exp-sum, sqrt-square".parse().unwrap();
    /// assert!(laws.contains(Law::ExpSum) && !laws.contains(Law::LogExp));
    /// assert_eq!("".parse(), Ok(Laws::NONE));
    /// ```
    fn from_str(text: &str) -> Result<Laws, NoSuchLaw> {
        let names = text.split(',').map(str::trim).filter(|n| !n.is_empty());
        names.into_iter().try_fold(Laws::NONE, |laws, name| {
            let law = Law::ALL.into_iter().find(|law| law.name() == name);
            law.map(|law| laws.with(law)).ok_or_else(|| NoSuchLaw(name.to_owned()))
        })
    }
}

/// What an evaluation over exact or bounded numbers relied on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Trace {
    /// Laws that were assumed.
    pub laws: Laws,
    /// How often a function was applied that is unknown, or only partly known.
    pub unknown: u32,
    /// True if numbers were compared.
    pub ordered: bool,
    /// The element type to which a constant was rounded, if one has so many digits that it may have been.
    pub rounded: Option<DType>,
    /// True if exact numbers were combined in ways that do not commute with rounding to one element type: not if they
    /// were only compared, selected, negated or scaled by powers of two.
    pub combined: bool,
    /// True if a decision depended on numbers that differ by no more than rounding.
    pub unsure: bool,
}

impl Trace {
    /// True if a difference may come from constants that were rounded: numbers that are only compared and selected are
    /// the stored ones on both sides.
    #[must_use]
    pub fn depends_on_rounding(self) -> bool {
        self.rounded.is_some() && self.combined
    }

    /// What either of two evaluations relied on.
    #[must_use]
    pub fn and(self, other: Trace) -> Trace {
        Trace {
            laws: self.laws.or(other.laws),
            unknown: self.unknown.saturating_add(other.unknown),
            ordered: self.ordered || other.ordered,
            rounded: self.rounded.or(other.rounded),
            combined: self.combined || other.combined || self.rounded.zip(other.rounded).is_some_and(|(a, b)| a != b),
            unsure: self.unsure || other.unsure,
        }
    }
}

thread_local! {
    // Operations on numbers take only numbers as arguments, and constants are made from nothing, so the state of a
    // whole evaluation has to be kept here.
    static LAWS: Cell<Laws> = const { Cell::new(Laws::NONE) };
    static TRACE: Cell<Trace> = const {
        Cell::new(Trace {
            laws: Laws::NONE,
            unknown: 0,
            ordered: false,
            rounded: None,
            combined: false,
            unsure: false,
        })
    };
}

/// The result of running `evaluation` in this thread while `laws` may be assumed, and a trace of what it relied on.
///
/// ```
/// # use tautomer_number::{Exact, Func, Law, Laws, Number, under};
/// let double = |laws| {
///     let (x, two) = (Exact::from_int(3), Exact::from_int(6));
///     let exp = |x: &Exact| Exact::func(Func::Exp, x, None).unwrap();
///     under(laws, || exp(&x).mul(&exp(&x)) == exp(&two))
/// };
/// assert!(!double(Laws::NONE).0);
/// let (equal, trace) = double(Laws::ALL);
/// assert!(equal && trace.laws.contains(Law::ExpSum));
/// ```
pub fn under<R>(laws: Laws, evaluation: impl FnOnce() -> R) -> (R, Trace) {
    /// What was in force before, which is so again even if the evaluation panics.
    struct Before(Laws, Trace);
    impl Drop for Before {
        fn drop(&mut self) {
            LAWS.set(self.0);
            TRACE.set(self.1);
        }
    }
    let _before = Before(LAWS.replace(laws), TRACE.take());
    let result = evaluation();
    (result, TRACE.get())
}

/// True if the law may be assumed; records that it was.
pub(crate) fn assume(law: Law) -> bool {
    let may = LAWS.get().contains(law);
    if may {
        note(|trace| trace.laws = trace.laws.with(law));
    }
    may
}

/// Changes the trace of the current evaluation.
pub(crate) fn note(change: impl FnOnce(&mut Trace)) {
    let mut trace = TRACE.get();
    change(&mut trace);
    TRACE.set(trace);
}

/// Records that a constant may have been rounded to that element type.
pub(crate) fn note_rounded(dtype: DType) {
    note(|trace| {
        trace.combined |= trace.rounded.is_some_and(|other| other != dtype);
        trace.rounded = Some(dtype);
    });
}

/// A hash of a list; different lists have different hashes, except for collisions.
pub(crate) fn hash(parts: &[u64]) -> u64 {
    parts.iter().fold(0u64, |hash, part| {
        // SplitMix64
        let mut z = (hash ^ part).wrapping_add(0x9e37_79b9_7f4a_7c15);
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    })
}

/// The exact parts of a constant: `mantissa * 2^exponent`; `None` if it is not finite.
pub(crate) fn parts(value: f64) -> Option<(i64, i32)> {
    if !value.is_finite() {
        return None;
    }
    if value == 0.0 {
        return Some((0, 0));
    }
    let bits = value.to_bits();
    let exponent = ((bits >> 52) & 0x7ff) as i32;
    let mantissa = if exponent == 0 {
        (bits & ((1 << 52) - 1)) << 1
    } else {
        (bits & ((1 << 52) - 1)) | (1 << 52)
    };
    let zeros = mantissa.trailing_zeros();
    let mantissa = (mantissa >> zeros) as i64;
    let sign = if bits >> 63 == 1 { -1 } else { 1 };
    Some((sign * mantissa, exponent - 1075 + zeros as i32))
}

/// A number with more binary digits than this may have been rounded.
const DIGITS: u32 = 14;

/// From here on, `f32` does not have all integers.
const LARGE: f64 = (1 << 24) as f64;

/// True if the constant has so many binary digits that it may be a rounded number, or one that is rounded where it is
/// used.
pub(crate) fn may_be_rounded(value: f64) -> bool {
    if value.fract() == 0.0 {
        return value.abs() >= LARGE;
    }
    parts(value).is_some_and(|(mantissa, _)| mantissa.unsigned_abs() >> DIGITS > 0)
}

/// Half a unit in the last place of a narrow element type, relative to a number, if the number uses so many of the
/// digits of the type that it may have been rounded to it.
pub(crate) fn may_be_narrowed(value: f64, dtype: DType) -> Option<f64> {
    let digits = match dtype {
        DType::F16 => 11,
        DType::BF16 => 8,
        _ => return None,
    };
    let (mantissa, _) = parts(value)?;
    let used = 64 - mantissa.unsigned_abs().leading_zeros();
    (value.fract() != 0.0 && used + SPARE > digits).then(|| 0.5f64.powi(digits as i32))
}

/// A number that leaves this many digits of its type unused was seldom rounded.
const SPARE: u32 = 3;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_of_laws_is_in_the_document_of_rules() {
        let text = include_str!("../../../rules/README.md");
        for law in Law::ALL {
            let row = format!("| `{}` | {} | {} |", law.name(), law.statement(), law.systems());
            assert!(text.contains(&row), "{row}");
        }
    }

    #[test]
    fn names_are_read_back() {
        assert_eq!(Laws::ALL.to_string().parse(), Ok(Laws::ALL));
        assert_eq!("exp-sum,exp".parse::<Laws>(), Err(NoSuchLaw("exp".to_owned())));
        let two = Laws::NONE.with(Law::Odd).with(Law::ExpSum);
        assert_eq!(two.iter().collect::<Vec<_>>(), [Law::ExpSum, Law::Odd]);
        assert_eq!(two.without(Law::Odd).with(Law::Odd), two);
    }

    #[test]
    fn evaluations_within_evaluations_are_apart() {
        let ((inner, after), outer) = under(Laws::NONE, || {
            let inner = under(Laws::ALL, || assume(Law::Odd)).1;
            (inner, assume(Law::Even))
        });
        assert!(inner.laws.contains(Law::Odd) && !after && outer.laws.is_empty());
    }

    #[test]
    fn laws_of_an_evaluation_that_panics_are_not_in_force_after_it() {
        let panics = || std::panic::catch_unwind(|| under(Laws::ALL, || -> () { std::panic::panic_any(1) }));
        let (failed, trace) = under(Laws::NONE, || panics().is_err() && !assume(Law::Odd));
        assert!(failed && trace.laws.is_empty());
    }

    #[test]
    fn constants_that_fill_a_narrow_type_may_be_rounded() {
        for exact in [0.0, 0.5, 0.375, 3.0, 1.25] {
            assert_eq!(may_be_narrowed(exact, DType::F16), None, "{exact}");
            assert_eq!(may_be_narrowed(exact, DType::BF16), None, "{exact}");
        }
        let sixth = half::f16::from_f64(1.0 / 6.0).to_f64();
        assert!(may_be_narrowed(sixth, DType::F16).is_some_and(|e| e * sixth >= (sixth - 1.0 / 6.0).abs()));
        let sixth = half::bf16::from_f64(1.0 / 6.0).to_f64();
        assert!(may_be_narrowed(sixth, DType::BF16).is_some_and(|e| e * sixth >= (sixth - 1.0 / 6.0).abs()));
        assert_eq!(may_be_narrowed(sixth, DType::F32), None);
    }

    #[test]
    fn constants_with_many_digits_may_be_rounded() {
        for exact in [0.0, 0.5, -3.0, 0.375, 16_777_215.0] {
            assert!(!may_be_rounded(exact), "{exact}");
        }
        for rounded in [0.1, 1.732_050_8, 1e-5, -0.333_333_34, 16_777_216.0, -1e30] {
            assert!(may_be_rounded(rounded), "{rounded}");
        }
    }
}
