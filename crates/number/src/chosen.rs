//! Numbers of a system that is chosen when an evaluation starts.
//!
//! Reference semantics are compiled once for each number system. Systems in which numbers are slow anyway share one,
//! [`Chosen`], and differ only while it runs.

use std::cell::Cell;
use std::cmp::Ordering;

use super::{Bounded, Exact, Func, Lawful, Number, Refused};
use tautomer_tensor::DType;

/// A number of the system that [`choosing`] put in force.
#[derive(Debug, Clone, PartialEq)]
pub enum Chosen {
    /// A rational number.
    Exact(Exact),
    /// A number in double precision with a bound on its error.
    Bounded(Bounded),
    /// A number in fields in which functions have laws.
    Lawful(Lawful),
}

/// A number system that can be chosen.
pub trait Choosable: Number {
    /// Which one it is.
    const CHOICE: Choice;
    /// The number, as one of the chosen system.
    fn into_chosen(self) -> Chosen;
    /// A number of the chosen system, as one of this system; `None` if another system was chosen.
    fn of_chosen(number: &Chosen) -> Option<&Self>;
}

/// One of the number systems that can be chosen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Choice {
    /// [`Exact`]
    Exact,
    /// [`Bounded`]
    Bounded,
    /// [`Lawful`]
    Lawful,
}

macro_rules! choosable {
    ($($system:ident),*) => {
        $(impl Choosable for $system {
            const CHOICE: Choice = Choice::$system;

            fn into_chosen(self) -> Chosen {
                Chosen::$system(self)
            }

            fn of_chosen(number: &Chosen) -> Option<&$system> {
                match number {
                    Chosen::$system(number) => Some(number),
                    _ => None,
                }
            }
        })*
    };
}

choosable!(Exact, Bounded, Lawful);

thread_local! {
    // Constants are made from nothing, so the choice has to be kept here.
    static CHOICE: Cell<Choice> = const { Cell::new(Choice::Exact) };
}

/// The result of running `evaluation` in this thread with the number system `S` for [`Chosen`].
///
/// ```
/// # use tautomer_number::{Chosen, Exact, Lawful, Number, choosing};
/// let two = || Chosen::one().add(&Chosen::one());
/// assert_eq!(choosing::<Exact, _>(two), Chosen::Exact(Exact::from_int(2)));
/// assert_eq!(choosing::<Lawful, _>(two), Chosen::Lawful(Lawful::from_int(2)));
/// ```
pub fn choosing<S: Choosable, R>(evaluation: impl FnOnce() -> R) -> R {
    /// The choice before, which is so again even if the evaluation panics.
    struct Before(Choice);
    impl Drop for Before {
        fn drop(&mut self) {
            CHOICE.set(self.0);
        }
    }
    let _before = Before(CHOICE.replace(S::CHOICE));
    evaluation()
}

/// `$make` in the chosen system, which `$system` stands for.
macro_rules! made {
    ($system:ident => $make:expr) => {{
        match CHOICE.get() {
            Choice::Exact => {
                type $system = Exact;
                $make.into_chosen()
            }
            Choice::Bounded => {
                type $system = Bounded;
                $make.into_chosen()
            }
            Choice::Lawful => {
                type $system = Lawful;
                $make.into_chosen()
            }
        }
    }};
}

/// `$result` for two numbers of one system, and `$other` if their systems differ, which they do not within one
/// evaluation.
macro_rules! combined {
    ($pair:expr, ($x:ident, $y:ident) => $result:expr, $other:expr) => {
        match $pair {
            (Chosen::Exact($x), Chosen::Exact($y)) => $result,
            (Chosen::Bounded($x), Chosen::Bounded($y)) => $result,
            (Chosen::Lawful($x), Chosen::Lawful($y)) => $result,
            _ => $other,
        }
    };
}

impl Number for Chosen {
    const NAME: &'static str = "numbers of several systems";

    #[inline]
    fn zero() -> Self {
        made!(S => S::zero())
    }

    #[inline]
    fn one() -> Self {
        made!(S => S::one())
    }

    fn from_f64(value: f64) -> Result<Self, Refused> {
        Ok(made!(S => S::from_f64(value)?))
    }

    fn from_stored(value: f64, dtype: DType) -> Result<Self, Refused> {
        Ok(made!(S => S::from_stored(value, dtype)?))
    }

    fn from_int(value: i128) -> Self {
        made!(S => S::from_int(value))
    }

    fn to_f64(&self) -> Result<f64, Refused> {
        match self {
            Chosen::Exact(x) => x.to_f64(),
            Chosen::Bounded(x) => x.to_f64(),
            Chosen::Lawful(x) => x.to_f64(),
        }
    }

    fn add(&self, other: &Self) -> Self {
        combined!((self, other), (x, y) => x.add(y).into_chosen(), undefined())
    }

    fn sub(&self, other: &Self) -> Self {
        combined!((self, other), (x, y) => x.sub(y).into_chosen(), undefined())
    }

    fn mul(&self, other: &Self) -> Self {
        combined!((self, other), (x, y) => x.mul(y).into_chosen(), undefined())
    }

    fn div(&self, other: &Self) -> Result<Self, Refused> {
        combined!((self, other), (x, y) => Ok(x.div(y)?.into_chosen()), Err(refused("a quotient")))
    }

    fn neg(&self) -> Self {
        match self {
            Chosen::Exact(x) => x.neg().into_chosen(),
            Chosen::Bounded(x) => x.neg().into_chosen(),
            Chosen::Lawful(x) => x.neg().into_chosen(),
        }
    }

    fn func(func: Func, x: &Self, y: Option<&Self>) -> Result<Self, Refused> {
        match x {
            Chosen::Exact(x) => function(func, x, y),
            Chosen::Bounded(x) => function(func, x, y),
            Chosen::Lawful(x) => function(func, x, y),
        }
    }

    fn order(&self, other: &Self) -> Result<Option<Ordering>, Refused> {
        combined!((self, other), (x, y) => x.order(y), Err(refused("the order")))
    }

    fn is_not_a_number(&self) -> Result<bool, Refused> {
        match self {
            Chosen::Exact(x) => x.is_not_a_number(),
            Chosen::Bounded(x) => x.is_not_a_number(),
            Chosen::Lawful(x) => x.is_not_a_number(),
        }
    }
}

/// The function of a number of the system `S` and of a chosen one.
fn function<S: Choosable>(func: Func, x: &S, y: Option<&Chosen>) -> Result<Chosen, Refused> {
    let y = y
        .map(|y| S::of_chosen(y).ok_or_else(|| refused("a function")))
        .transpose()?;
    Ok(S::func(func, x, y)?.into_chosen())
}

/// The sum or product of numbers of different systems.
const fn undefined() -> Chosen {
    Chosen::Exact(Exact::UNDEFINED)
}

fn refused(what: &str) -> Refused {
    Refused {
        what: what.to_owned(),
        system: Chosen::NAME,
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Laws, under};
    use super::*;

    /// `(2 / 3 + exp(1)) * -0.1` and whether it is greater than one.
    fn value<S: Number>() -> (S, Option<Ordering>) {
        let third = S::from_int(2).div(&S::from_int(3)).unwrap();
        let exp = S::func(Func::Exp, &S::one(), None).unwrap();
        let tenth = S::from_stored(0.1, DType::F16).unwrap();
        let value = third.add(&exp).sub(&S::zero()).mul(&tenth.neg());
        let powers = S::func(Func::Pow, &value, Some(&S::from_f64(2.0).unwrap())).unwrap();
        let order = powers.order(&S::one()).unwrap_or(None);
        (powers, order)
    }

    fn agrees<S: Choosable>() {
        let (chosen, trace) = under(Laws::ALL, || choosing::<S, _>(value::<Chosen>));
        let (alone, expected) = under(Laws::ALL, value::<S>);
        assert_eq!((S::of_chosen(&chosen.0), chosen.1), (Some(&alone.0), alone.1));
        assert_eq!(trace, expected);
        assert_eq!(chosen.0.to_f64(), alone.0.to_f64());
    }

    #[test]
    fn numbers_of_a_chosen_system_are_those_of_the_system() {
        agrees::<Exact>();
        agrees::<Bounded>();
        agrees::<Lawful>();
    }

    #[test]
    fn numbers_of_different_systems_have_no_values_together() {
        let (a, b) = (choosing::<Exact, _>(Chosen::one), choosing::<Lawful, _>(Chosen::one));
        assert!(a.add(&b).to_f64().is_ok_and(f64::is_nan) && a.div(&b).is_err() && a.order(&b).is_err());
        assert!(Chosen::func(Func::Pow, &a, Some(&b)).is_err() && Bounded::of_chosen(&a).is_none());
    }

    #[test]
    fn the_choice_is_as_before_after_an_evaluation_that_panics() {
        let panics = || std::panic::catch_unwind(|| choosing::<Lawful, _>(|| -> () { std::panic::panic_any(1) }));
        let (failed, one) = choosing::<Bounded, _>(|| (panics().is_err(), Chosen::one()));
        assert!(failed && one == Chosen::Bounded(Bounded::exact(1.0)));
    }
}
