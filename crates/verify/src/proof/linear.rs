//! Detects contradictory linear inequalities by Fourier-Motzkin elimination, with products of symbols as unknowns.

use tautomer_tensor::{Atom, Dim};

/// Limit on the inequalities at a time; beyond it, no contradiction is reported.
const MOST: usize = 160;

/// `sum of coefficients times unknowns + constant >= 0`
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct Row {
    /// Sorted by unknown; none is 0.
    coefficients: Vec<(usize, i128)>,
    constant: i128,
}

impl Row {
    fn of(&self, unknown: usize) -> i128 {
        self.coefficients
            .binary_search_by_key(&unknown, |(u, _)| *u)
            .map_or(0, |at| self.coefficients[at].1)
    }

    /// Divided by the greatest common divisor of the coefficients; for integers, the constant is rounded down.
    fn reduced(mut self) -> Row {
        let gcd = self.coefficients.iter().fold(0i128, |g, (_, c)| gcd(g, c.abs()));
        if gcd > 1 {
            self.coefficients.iter_mut().for_each(|(_, c)| *c /= gcd);
            self.constant = self.constant.div_euclid(gcd);
        }
        self
    }

    /// `self * a + other * b`, for positive `a` and `b`; `None` on overflow.
    fn combined(&self, a: i128, other: &Row, b: i128) -> Option<Row> {
        let mut coefficients = Vec::with_capacity(self.coefficients.len() + other.coefficients.len());
        let (mut i, mut j) = (0, 0);
        while i < self.coefficients.len() || j < other.coefficients.len() {
            let left = self.coefficients.get(i);
            let right = other.coefficients.get(j);
            let (unknown, value) = match (left, right) {
                (Some((u, c)), Some((v, d))) if u == v => {
                    (i, j) = (i + 1, j + 1);
                    (*u, c.checked_mul(a)?.checked_add(d.checked_mul(b)?)?)
                }
                (Some((u, c)), right) if right.is_none_or(|(v, _)| u < v) => {
                    i += 1;
                    (*u, c.checked_mul(a)?)
                }
                (_, Some((v, d))) => {
                    j += 1;
                    (*v, d.checked_mul(b)?)
                }
                _ => return None,
            };
            if value != 0 {
                coefficients.push((unknown, value));
            }
        }
        let constant = self
            .constant
            .checked_mul(a)?
            .checked_add(other.constant.checked_mul(b)?)?;
        Some(Row { coefficients, constant }.reduced())
    }
}

/// The greatest common divisor of two integers that are not negative.
pub(super) fn gcd(a: i128, b: i128) -> i128 {
    if b == 0 { a } else { gcd(b, a % b) }
}

/// True if no integers make all of `facts` at least 0; false if no contradiction was found.
pub(super) fn contradictory(facts: &[Dim]) -> bool {
    let mut unknowns: Vec<&[Atom]> = Vec::new();
    let mut rows: Vec<Row> = Vec::new();
    for fact in facts {
        let mut row = Row {
            coefficients: Vec::new(),
            constant: 0,
        };
        fact.each_term(&mut |product, c| {
            if product.is_empty() {
                row.constant = i128::from(c);
            } else {
                // There are few of them, and most that are equal are one list in memory.
                let same = unknowns.iter().position(|known| std::ptr::eq(*known, product));
                let same = same.or_else(|| unknowns.iter().position(|known| *known == product));
                let unknown = same.unwrap_or(unknowns.len());
                if unknown == unknowns.len() {
                    unknowns.push(product);
                }
                row.coefficients.push((unknown, i128::from(c)));
            }
        });
        row.coefficients.sort_unstable_by_key(|(u, _)| *u);
        rows.push(row.reduced());
    }
    let mut left: Vec<usize> = (0..unknowns.len()).collect();
    loop {
        if rows.iter().any(|r| r.coefficients.is_empty() && r.constant < 0) {
            return true;
        }
        rows.retain(|r| !r.coefficients.is_empty());
        tightest(&mut rows);
        // Eliminate the unknown that creates the fewest inequalities.
        let mut counts = vec![(0i64, 0i64); unknowns.len()];
        for (u, c) in rows.iter().flat_map(|r| &r.coefficients) {
            let (above, below) = &mut counts[*u];
            *if *c > 0 { above } else { below } += 1;
        }
        let cost = |u: usize| {
            let (above, below) = counts[u];
            above * below - (above + below)
        };
        let Some(best) = left.iter().copied().min_by_key(|&u| cost(u)) else {
            return false;
        };
        left.retain(|&u| u != best);
        let (with, without): (Vec<Row>, Vec<Row>) = rows.into_iter().partition(|r| r.of(best) != 0);
        rows = without;
        let (above, below): (Vec<&Row>, Vec<&Row>) = with.iter().partition(|r| r.of(best) > 0);
        if above.len() * below.len() > 4 * MOST {
            return false;
        }
        for a in &above {
            for b in &below {
                let Some(row) = a.combined(-b.of(best), b, a.of(best)) else {
                    continue;
                };
                rows.push(row);
            }
        }
        if rows.len() > MOST {
            return false;
        }
    }
}

/// Keeps only the tightest of the inequalities with the same coefficients.
fn tightest(rows: &mut Vec<Row>) {
    rows.sort_by(|a, b| (&a.coefficients, a.constant).cmp(&(&b.coefficients, b.constant)));
    rows.dedup_by(|later, first| later.coefficients == first.coefficients);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn contradictions_are_found() {
        let (x, y) = (Dim::symbol("x"), Dim::symbol("y"));
        let c = Dim::Const;
        // x > y, y > x
        assert!(contradictory(&[
            x.clone() - y.clone() - c(1),
            y.clone() - x.clone() - c(1)
        ]));
        assert!(!contradictory(&[x.clone() - y.clone() - c(1), y.clone() + c(5)]));
        // 2x = 1 has no integer.
        assert!(contradictory(&[x.clone() * c(2) - c(1), -x * c(2) + c(1)]));
        assert!(!contradictory(&[]));
    }
}
