//! Factors without axes, taken out of what is linear.
//!
//! Over the real numbers, a factor of all elements of a value is one of all its elements after they were moved, and a
//! factor of an operand of a product of matrices is one of the product. So outputs are compared after factors are moved
//! outside, as far as they can be. What else is computed from a value with a factor keeps the factor inside.

use std::rc::Rc;

use super::parts::value;
use super::{Function, Head, Maker, Term};
use tautomer_op::{AttrValue, Formula, Function as Law, Products, known};
use tautomer_tensor::Dim;

/// A value as a product of numbers and another value with the same shape and element type.
struct Factored {
    /// In order, and never 1.
    factors: Vec<Rc<Term>>,
    core: Rc<Term>,
}

/// True if two outputs are equal over the real numbers, wherever their factors stand.
pub(super) fn are_alike(maker: &mut Maker, a: &Rc<Term>, b: &Rc<Term>) -> bool {
    match (maker.factored(a), maker.factored(b)) {
        (Some(a), Some(b)) => a.factors == b.factors && a.core == b.core,
        _ => false,
    }
}

fn is_product(head: &Head) -> bool {
    head.in_table()
        .is_some_and(|def| def.law() == Formula::Function(Law::Product))
}

/// A number, whatever it is written as.
fn number(term: &Term) -> Option<f64> {
    match term {
        Term::Value(AttrValue::Int(Dim::Const(n))) if n.unsigned_abs() < 1 << 50 => Some(*n as f64),
        Term::Value(AttrValue::Float(v)) => Some(v.0),
        _ => None,
    }
}

/// Takes the factors that both have out of both.
fn common(a: &mut Vec<Rc<Term>>, b: &mut Vec<Rc<Term>>) -> Vec<Rc<Term>> {
    let mut out = Vec::new();
    a.retain(|one| match b.iter().position(|other| other == one) {
        Some(at) => {
            out.push(b.remove(at));
            false
        }
        None => true,
    });
    out
}

impl Maker {
    fn is_scalar(&self, term: &Rc<Term>) -> bool {
        *self.rank(term) == Term::Value(AttrValue::int(0))
    }

    fn factored(&mut self, term: &Rc<Term>) -> Option<Factored> {
        let alone = |core: Rc<Term>| Factored {
            factors: Vec::new(),
            core,
        };
        match &**term {
            Term::Call(head, operands, attrs) => {
                let attrs = self.inside(attrs)?;
                let law = head.in_table().map_or(Formula::Unstated, |def| def.law());
                let moves = self.called(head).is_some_and(|called| called.moves && !called.joins);
                let is_scaled = is_product(head) && operands.iter().any(|one| !self.is_scalar(one));
                let is_linear = is_scaled
                    || moves && operands.len() == 1
                    || law == Formula::Product(Products::Matrices) && operands.len() == 2;
                if !is_linear {
                    let operands = self.inside(operands)?;
                    return Some(alone(Rc::new(Term::Call(head.clone(), operands, attrs))));
                }
                let (mut factors, mut cores) = (Vec::new(), Vec::new());
                for operand in operands {
                    if is_scaled && self.is_scalar(operand) {
                        self.numbers(operand, &mut factors)?;
                    } else {
                        let own = self.factored(operand)?;
                        factors.extend(own.factors);
                        cores.push(own.core);
                    }
                }
                factors.sort();
                if is_scaled {
                    cores.sort();
                }
                let core = match cores.as_slice() {
                    [one] if is_scaled => one.clone(),
                    _ => Rc::new(Term::Call(head.clone(), cores, attrs)),
                };
                Some(Factored { factors, core })
            }
            Term::Function(Function::When, parts) => {
                let [condition, then, otherwise] = parts.as_slice() else {
                    return None;
                };
                self.branches(condition, then, otherwise)
            }
            // A factor without axes changes neither the shape nor the element type.
            Term::Function(Function::Field(name), parts) => {
                let core = self.factored(parts.first()?)?.core;
                Some(alone(self.field(name, &core)?))
            }
            Term::Function(function, parts) => {
                let parts = self.inside(parts)?;
                Some(alone(self.function(function, parts)?))
            }
            Term::Tuple(parts) => Some(alone(Rc::new(Term::Tuple(self.inside(parts)?)))),
            _ => Some(alone(term.clone())),
        }
    }

    /// Values with their factors.
    fn inside(&mut self, all: &[Rc<Term>]) -> Option<Vec<Rc<Term>>> {
        all.iter()
            .map(|one| self.factored(one).map(|own| self.joined(own)))
            .collect()
    }

    fn joined(&self, own: Factored) -> Rc<Term> {
        let product = self.called.iter().find(|called| is_product(&called.head));
        match product {
            Some(product) if !own.factors.is_empty() => {
                let mut all = own.factors;
                all.push(own.core);
                Rc::new(Term::Call(product.head.clone(), all, Vec::new()))
            }
            _ => own.core,
        }
    }

    /// The factors that both branches have stay outside.
    fn branches(&mut self, condition: &Rc<Term>, then: &Rc<Term>, otherwise: &Rc<Term>) -> Option<Factored> {
        let equal = self.equal_number(condition);
        let (mut then, mut otherwise) = (self.factored(then)?, self.factored(otherwise)?);
        // One branch may be the other where a factor is the number that the condition compares it with.
        if let Some((factor, n)) = equal
            && then.core == otherwise.core
        {
            let put = |factors: &[Rc<Term>]| -> Vec<Rc<Term>> {
                let mut out: Vec<Rc<Term>> = factors
                    .iter()
                    .map(|one| {
                        if *one == factor {
                            value(AttrValue::float(n))
                        } else {
                            one.clone()
                        }
                    })
                    .filter(|one| number(one) != Some(1.0))
                    .collect();
                out.sort();
                out
            };
            if put(&then.factors) == put(&otherwise.factors) {
                return Some(otherwise);
            }
        }
        let factors = common(&mut then.factors, &mut otherwise.factors);
        let (then, otherwise) = (self.joined(then), self.joined(otherwise));
        let condition = self.inside(std::slice::from_ref(condition))?.pop()?;
        Some(Factored {
            factors,
            core: self.when(condition, then, otherwise),
        })
    }

    /// The factor and the number that a condition compares: `alpha == 1`.
    fn equal_number(&mut self, condition: &Term) -> Option<(Rc<Term>, f64)> {
        let Term::Call(head, operands, _) = condition else {
            return None;
        };
        let ([a, b], known::EQUAL) = (operands.as_slice(), head.in_table()?.name) else {
            return None;
        };
        let n = number(b).filter(|_| self.is_scalar(a))?;
        let mut factors = Vec::new();
        self.numbers(a, &mut factors)?;
        match factors.as_slice() {
            [one] => Some((one.clone(), n)),
            _ => None,
        }
    }

    /// Adds the factors of a product of numbers.
    fn numbers(&mut self, term: &Rc<Term>, out: &mut Vec<Rc<Term>>) -> Option<()> {
        match &**term {
            Term::Call(head, operands, _) if is_product(head) && operands.iter().all(|one| self.is_scalar(one)) => {
                operands.iter().try_for_each(|one| self.numbers(one, out))?;
            }
            // Over the real numbers, it has no element type. Large integers would be rounded.
            Term::Function(Function::Named("value"), parts) => match parts.as_slice() {
                [one] if matches!(**one, Term::Variable(i) if self.known.is_float(i)) && self.is_scalar(one) => {
                    out.push(one.clone());
                }
                _ => out.push(term.clone()),
            },
            _ => match number(term) {
                Some(1.0) => {}
                Some(n) => out.push(value(AttrValue::float(n))),
                None => out.extend(self.inside(std::slice::from_ref(term))?),
            },
        }
        Some(())
    }
}
