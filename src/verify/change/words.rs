//! What the text of a rule suggests.

use std::sync::Arc;

use crate::lang::ast::ExprKind;
use crate::rule::Rule;
use crate::verify::random::Random;

/// Numbers that a rule says, and their neighbours: where a condition or a literal draws a line, both sides are tried.
#[derive(Debug, Clone)]
pub(in crate::verify) struct Words {
    /// The rule.
    pub(in crate::verify) rule: Arc<Rule>,
    integers: Vec<i64>,
    numbers: Vec<f64>,
}

impl Words {
    pub(in crate::verify) fn of(rule: &Arc<Rule>) -> Words {
        let (mut integers, mut numbers): (Vec<i64>, Vec<f64>) = (Vec::new(), Vec::new());
        for (_, expr) in rule.ast.iter() {
            if expr.span.start < rule.span.start || expr.span.end > rule.span.end {
                continue;
            }
            match expr.kind {
                ExprKind::Int { value, .. } => {
                    let value = value.clamp(-1_000_000, 1_000_000) as i64;
                    integers.extend([value, value + 1, value - 1]);
                    numbers.extend([value as f64, value as f64 + 1.0, value as f64 - 1.0, -(value as f64)]);
                }
                ExprKind::Float { value, .. } => numbers.extend([value, 2.0 * value, -value]),
                _ => {}
            }
        }
        integers.retain(|n| n.abs() <= 64);
        integers.sort_unstable();
        integers.dedup();
        numbers.sort_by(f64::total_cmp);
        numbers.dedup_by(|a, b| a.to_bits() == b.to_bits());
        Words {
            rule: rule.clone(),
            integers,
            numbers,
        }
    }

    /// An integer of the rule, or one of those that are tried anyway.
    pub(super) fn integer(&self, others: &[i64], random: &mut Random) -> i64 {
        let own = if random.chance(1, 4) {
            random.pick(&self.integers)
        } else {
            None
        };
        own.or_else(|| random.pick(others)).unwrap_or(1)
    }

    pub(in crate::verify) fn number(&self, others: &[f64], random: &mut Random) -> f64 {
        let own = if random.chance(1, 2) {
            random.pick(&self.numbers)
        } else {
            None
        };
        own.or_else(|| random.pick(others)).unwrap_or(1.0)
    }
}
