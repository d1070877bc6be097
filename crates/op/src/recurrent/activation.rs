//! The activations of recurrent layers.

use std::cmp::Ordering;

use crate::{Func, Number, OpError, Refused};

/// A function of one number, with up to two parameters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Function {
    Relu,
    Tanh,
    Sigmoid,
    Affine,
    LeakyRelu,
    ThresholdedRelu,
    ScaledTanh,
    HardSigmoid,
    Elu,
    Softsign,
    Softplus,
}

/// Name, function, and the defaults of the parameters it has.
type Row = (&'static str, Function, Option<f64>, Option<f64>);

const FUNCTIONS: &[Row] = &[
    ("Relu", Function::Relu, None, None),
    ("Tanh", Function::Tanh, None, None),
    ("Sigmoid", Function::Sigmoid, None, None),
    ("Affine", Function::Affine, Some(1.0), Some(0.0)),
    ("LeakyRelu", Function::LeakyRelu, Some(0.01), None),
    ("ThresholdedRelu", Function::ThresholdedRelu, Some(1.0), None),
    ("ScaledTanh", Function::ScaledTanh, Some(1.0), Some(1.0)),
    ("HardSigmoid", Function::HardSigmoid, Some(0.2), Some(0.5)),
    ("Elu", Function::Elu, Some(1.0), None),
    ("Softsign", Function::Softsign, None, None),
    ("Softplus", Function::Softplus, None, None),
];

/// The names of all functions.
pub(super) const NAMES: &[&str] = &{
    let mut names = [""; FUNCTIONS.len()];
    let mut i = 0;
    while i < names.len() {
        names[i] = FUNCTIONS[i].0;
        i += 1;
    }
    names
};

impl Function {
    /// The canonical spelling of `name`, whose case is ignored.
    pub(super) fn spelling(name: &str) -> Result<&'static str, OpError> {
        find(name).map(|(spelling, ..)| *spelling)
    }
}

fn find(name: &str) -> Result<&'static Row, OpError> {
    FUNCTIONS
        .iter()
        .find(|(known, ..)| known.eq_ignore_ascii_case(name))
        .ok_or_else(|| {
            let error = OpError::new(format!("unknown activation {name:?}")).attr("activations");
            match tautomer_diag::did_you_mean(name, FUNCTIONS.iter().map(|f| f.0)) {
                Some(close) => error.help(format!("did you mean {close:?}?")),
                None => error,
            }
        })
}

/// An activation with its parameters, and a bound on its argument.
#[derive(Debug, Clone)]
pub(super) struct Activation<S> {
    function: Function,
    alpha: S,
    beta: S,
    clip: Option<S>,
}

/// The activations of those names; each that has a parameter takes the next of the list, or its default if none is
/// left.
pub(super) fn activations<S: Number>(
    names: &[&str],
    alphas: &[f64],
    betas: &[f64],
    clip: Option<f64>,
) -> Result<Vec<Activation<S>>, OpError> {
    let (mut alphas, mut betas) = (alphas.iter().copied(), betas.iter().copied());
    let clip = clip.map(S::from_f64).transpose()?;
    names
        .iter()
        .map(|name| {
            let (_, function, alpha, beta) = *find(name)?;
            let alpha = alpha.map_or(0.0, |default| alphas.next().unwrap_or(default));
            let beta = beta.map_or(0.0, |default| betas.next().unwrap_or(default));
            Ok(Activation {
                function,
                alpha: S::from_f64(alpha)?,
                beta: S::from_f64(beta)?,
                clip: clip.clone(),
            })
        })
        .collect()
}

fn less<S: Number>(a: &S, b: &S) -> Result<bool, Refused> {
    Ok(a.order(b)? == Some(Ordering::Less))
}

impl<S: Number> Activation<S> {
    /// Its value at `x`, clamped to the bound.
    pub(super) fn of(&self, x: S) -> Result<S, Refused> {
        self.at(match &self.clip {
            Some(most) if less(most, &x)? => most.clone(),
            Some(most) if less(&x, &most.neg())? => most.neg(),
            _ => x,
        })
    }

    /// Its value at `x`, ignoring the bound.
    pub(super) fn at(&self, x: S) -> Result<S, Refused> {
        let (alpha, beta) = (&self.alpha, &self.beta);
        let (zero, one) = (S::zero(), S::one());
        let exp = |x: &S| S::func(Func::Exp, x, None);
        let tanh = |x: &S| S::func(Func::Tanh, x, None);
        match self.function {
            Function::Relu => Ok(if less(&x, &zero)? { zero } else { x }),
            Function::Tanh => tanh(&x),
            Function::Sigmoid => one.div(&one.add(&exp(&x.neg())?)),
            Function::Affine => Ok(alpha.mul(&x).add(beta)),
            Function::LeakyRelu => Ok(if less(&x, &zero)? { alpha.mul(&x) } else { x }),
            Function::ThresholdedRelu => Ok(if less(alpha, &x)? { x } else { zero }),
            Function::ScaledTanh => Ok(alpha.mul(&tanh(&beta.mul(&x))?)),
            Function::HardSigmoid => {
                let y = alpha.mul(&x).add(beta);
                Ok(match () {
                    () if less(&y, &zero)? => zero,
                    () if less(&one, &y)? => one,
                    () => y,
                })
            }
            Function::Elu if less(&x, &zero)? => Ok(alpha.mul(&exp(&x)?.sub(&one))),
            Function::Elu => Ok(x),
            Function::Softsign => {
                let size = if less(&x, &zero)? { x.neg() } else { x.clone() };
                x.div(&one.add(&size))
            }
            // The larger part is factored out to prevent overflow.
            Function::Softplus => {
                let (part, size) = if less(&x, &zero)? {
                    (zero, x)
                } else {
                    (x.clone(), x.neg())
                };
                Ok(part.add(&S::func(Func::Log, &one.add(&exp(&size)?), None)?))
            }
        }
    }
}
