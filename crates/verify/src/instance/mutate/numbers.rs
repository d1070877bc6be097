//! Values suggested by the text of a rule.

use std::sync::Arc;

use crate::instance::random::Random;
use tautomer_lang::ast::ExprKind;
use tautomer_rule::{Class, Rule};

/// Limit on the numbers of a rule whose neighbourhoods are tried.
const MOST_THRESHOLDS: usize = 16;

/// Numbers in a rule and their neighbours: at the threshold of a condition or literal, both sides are tried.
#[derive(Debug, Clone)]
pub(crate) struct RuleNumbers {
    /// The rule.
    pub(crate) rule: Arc<Rule>,
    integers: Vec<i64>,
    numbers: Vec<f64>,
    /// The integers as written.
    written_integers: Vec<i64>,
    /// The numbers, with the integers among them, as written.
    written_numbers: Vec<f64>,
}

impl RuleNumbers {
    pub(crate) fn of(rule: &Arc<Rule>) -> RuleNumbers {
        let (mut integers, mut numbers): (Vec<i64>, Vec<f64>) = (Vec::new(), Vec::new());
        let (mut written_integers, mut written_numbers): (Vec<i64>, Vec<f64>) = (Vec::new(), Vec::new());
        for (_, expr) in rule.ast.iter() {
            if expr.span.start < rule.span.start || expr.span.end > rule.span.end {
                continue;
            }
            match expr.kind {
                ExprKind::Int { value, .. } => {
                    let value = value.clamp(-1_000_000, 1_000_000) as i64;
                    written_integers.push(value);
                    written_numbers.push(value as f64);
                    integers.extend([value, value + 1, value - 1]);
                    numbers.extend([value as f64, value as f64 + 1.0, value as f64 - 1.0, -(value as f64)]);
                }
                ExprKind::Float { value, .. } => {
                    written_numbers.push(value);
                    numbers.extend([value, 2.0 * value, -value]);
                }
                _ => {}
            }
        }
        integers.retain(|n| n.abs() <= 64);
        integers.sort_unstable();
        integers.dedup();
        numbers.sort_by(f64::total_cmp);
        numbers.dedup_by(|a, b| a.to_bits() == b.to_bits());
        RuleNumbers {
            rule: rule.clone(),
            integers,
            numbers,
            written_integers,
            written_numbers,
        }
    }

    /// The integers in the rule.
    pub(crate) fn written(&self) -> &[i64] {
        &self.written_integers
    }

    /// The numbers in the rule, each once.
    pub(crate) fn named(&self) -> Vec<f64> {
        let mut out: Vec<f64> = Vec::new();
        for x in self.written_numbers.iter().filter(|x| x.is_finite()) {
            if !out.contains(x) && out.len() < MOST_THRESHOLDS {
                out.push(*x);
            }
        }
        out
    }

    /// Zeros and numbers that are not finite, if the class tells them apart.
    pub(crate) fn specials(&self) -> Vec<f64> {
        match self.rule.class {
            Class::Bitwise => vec![0.0, f64::NAN, -0.0, f64::INFINITY, f64::NEG_INFINITY],
            Class::Real | Class::Approx(_) => Vec::new(),
        }
    }

    /// Numbers between two neighbours of those in the rule or zero, and whole ones.
    pub(crate) fn between(&self) -> Vec<f64> {
        let mut own = self.named();
        if !own.is_empty() && !own.contains(&0.0) {
            own.push(0.0);
        }
        own.sort_by(f64::total_cmp);
        let middles = own.windows(2).map(|pair| pair[0] + (pair[1] - pair[0]) / 2.0);
        let middles: Vec<f64> = middles.flat_map(|v| [v, v.round()]).collect();
        let is_new = |i: &usize| !middles[..*i].contains(&middles[*i]) && !own.contains(&middles[*i]);
        (0..middles.len()).filter(is_new).map(|i| middles[i]).collect()
    }

    /// Numbers around those in the rule: on either side of each, between two neighbours, and at distances from one that
    /// are comparable to another.
    pub(crate) fn thresholds(&self) -> Vec<f64> {
        let mut own: Vec<f64> = self
            .written_numbers
            .iter()
            .flat_map(|x| [*x, -x])
            .filter(|x| x.is_finite())
            .collect();
        own.sort_by(f64::total_cmp);
        own.dedup();
        own.truncate(MOST_THRESHOLDS);
        let mut out = own.clone();
        for (i, &a) in own.iter().enumerate() {
            let step = a.abs().max(1e-3);
            out.extend(
                [1e-6, 1e-3, 0.25, 0.5]
                    .iter()
                    .flat_map(|e| [a + e * step, a - e * step]),
            );
            out.extend(own.get(i + 1).map(|b| a + (b - a) / 2.0));
            for &b in own.iter().filter(|b| **b > 0.0 && **b < a.abs()) {
                out.extend([0.5, 0.9, -0.5, -0.9].map(|part| a + part * b));
            }
        }
        out.extend([0.0, 1.0, -1.0, 2.0, 0.5]);
        out.sort_by(f64::total_cmp);
        out.dedup();
        out
    }

    /// An integer of the rule, or one of `others`.
    pub(crate) fn integer(&self, others: &[i64], random: &mut Random) -> i64 {
        let own = if random.chance(1, 4) {
            random.pick(&self.integers)
        } else {
            None
        };
        own.or_else(|| random.pick(others)).unwrap_or(1)
    }

    pub(crate) fn number(&self, others: &[f64], random: &mut Random) -> f64 {
        let own = if random.chance(1, 2) {
            random.pick(&self.numbers)
        } else {
            None
        };
        own.or_else(|| random.pick(others)).unwrap_or(1.0)
    }
}
