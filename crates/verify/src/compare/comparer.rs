//! Comparison of both sides of a rule at one instance: types, then values over number systems.

use super::bits::{compare_bits, compare_bits_at};
use super::bounds::{Measured, compare_in_f64, compare_in_f64_at};
use super::data::{Data, Values, has_infinite_number};
use super::exact::{AssumedLaws, ExactResult, compare_exactly};
use super::failures::compare_failures;
use super::finding::{Evidence, Fault, Finding, Mismatch, Promise};
use super::rounding::compare_rounded;
use super::sides::{has_real_inputs, has_real_outputs, type_mismatch, without_tuples};
use crate::instance::random::Random;
use tautomer_op::Laws;
use tautomer_rewrite::Sides;
use tautomer_rule::{Class, Rule};

/// Compares the sides of a rule on one instance after the other; holds its assumptions and the measurements so far.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Comparer {
    /// A difference in type is a fault.
    strict: bool,
    /// Laws of functions.
    assumed: AssumedLaws,
    /// Measurements of comparisons with bounds so far.
    measured: Measured,
    /// Instances that were compared before.
    turn: usize,
}

impl Comparer {
    /// A comparison that has seen no instance yet.
    pub(crate) fn new(strict: bool, laws: Laws) -> Comparer {
        Comparer {
            strict,
            assumed: AssumedLaws::new(laws),
            measured: Measured::default(),
            turn: 0,
        }
    }

    /// Measurements of comparisons with bounds so far.
    pub(crate) const fn measured(&self) -> Measured {
        self.measured
    }

    /// Instances that were compared so far.
    pub(crate) const fn turn(&self) -> usize {
        self.turn
    }

    /// Compares the sides of an instance.
    pub(crate) fn compare(&mut self, rule: &Rule, sides: &Sides, random: &mut Random) -> Finding {
        // Over the real numbers, a factor that becomes infinite in the element type is no such number.
        if rule.class != Class::Bitwise && has_infinite_number(&sides.graph, &sides.source) {
            return Finding::Unknown;
        }
        if let Some(parts) = without_tuples(sides) {
            return self.compare(rule, &parts, random);
        }
        let target = match &sides.target {
            Ok(target) => target,
            Err(problems) => {
                let reason = problems.iter().next().map_or_else(String::new, |p| p.message.clone());
                return Finding::Refused(reason);
            }
        };
        if !sides.types_agree() {
            let mismatch = type_mismatch(sides);
            return if self.strict {
                Finding::Mismatch(Box::new(mismatch))
            } else {
                let (expected, found) = (&mismatch.at.expected, &mismatch.at.found);
                Finding::Refused(format!("the target has type {found} instead of {expected}"))
            };
        }
        let turn = self.turn;
        self.turn += 1;
        if let Some(mismatch) = compare_failures(sides, target, turn, random) {
            return Finding::Mismatch(mismatch);
        }
        if !has_real_inputs(sides) {
            return match compare_bits(rule, sides, target, turn, random) {
                Finding::Agree(_) => Finding::Agree(Evidence::Discrete),
                // A real number that two conversions round differs in the last digits from one that one rounds.
                Finding::Mismatch(mismatch)
                    if rule.class != Class::Bitwise
                        && has_real_outputs(sides)
                        && fault_at(rule, sides, Fault::Values, mismatch.values.clone()).is_none() =>
                {
                    Finding::Agree(Evidence::Rounded)
                }
                other => other,
            };
        }
        let promise = Promise::of(rule);
        let exact = compare_exactly(promise, sides, target, &mut self.assumed, turn, random);
        let real = compare_in_f64(promise, sides, target, &mut self.measured, turn, random);
        if matches!(real, Finding::Mismatch(_)) {
            return real;
        }
        if let Class::Approx(error) = rule.class {
            let rounded = compare_rounded(error, sides, target, turn, random);
            if matches!(rounded, Finding::Mismatch(_)) {
                return rounded;
            }
        }
        let evidence = match exact {
            ExactResult::Mismatch(mismatch) => return Finding::Mismatch(mismatch),
            ExactResult::Same(evidence) => Some(evidence),
            // A difference in the fields alone comes from rounded constants: in double precision the sides are equal.
            ExactResult::Unknown => matches!(real, Finding::Agree(_)).then_some(Evidence::Rounded),
        };
        if rule.class == Class::Bitwise {
            match compare_bits(rule, sides, target, turn, random) {
                Finding::Mismatch(mismatch) => {
                    // Not only the bits: where the real numbers differ as well, they say more.
                    let values = fault_at(rule, sides, Fault::Values, mismatch.values.clone());
                    return Finding::Mismatch(values.unwrap_or(mismatch));
                }
                Finding::Agree(_) => return Finding::Agree(evidence.unwrap_or(Evidence::Rounded)),
                _ => {}
            }
        }
        evidence.map_or(Finding::Unknown, Finding::Agree)
    }
}

/// The same fault with other values, if it occurs with them too.
pub(crate) fn fault_at(rule: &Rule, sides: &Sides, fault: Fault, values: Values) -> Option<Box<Mismatch>> {
    let target = sides.target.as_ref().ok()?;
    let found = match fault {
        Fault::Types => return None,
        Fault::Values => {
            let mut measured = Measured::default();
            let kind = Data::Balanced;
            match compare_in_f64_at(Promise::of(rule), sides, target, kind, values.clone(), &mut measured) {
                Finding::Mismatch(mismatch) => Finding::Mismatch(mismatch),
                _ if !has_real_inputs(sides) && (rule.class == Class::Bitwise || !has_real_outputs(sides)) => {
                    compare_bits_at(sides, target, values, fault)
                }
                other => other,
            }
        }
        Fault::Bits => compare_bits_at(sides, target, values, fault),
    };
    found.mismatch()
}
