//! The choice of conditions that exclude the wrong instances and keep the right ones.

/// Limit on the conditions that are combined with others.
const COMBINED: usize = 60;

/// For each condition, which instances satisfy it, as a bit set.
struct Bits {
    columns: Vec<Vec<u64>>,
    rows: usize,
}

impl Bits {
    fn new(conditions: usize, rows: &[Vec<bool>]) -> Bits {
        let column = |condition: usize| {
            let mut bits = vec![0; rows.len().div_ceil(64)];
            for (i, row) in rows.iter().enumerate() {
                bits[i / 64] |= u64::from(row[condition]) << (i % 64);
            }
            bits
        };
        Bits {
            columns: (0..conditions).map(column).collect(),
            rows: rows.len(),
        }
    }

    /// How many instances satisfy all of the conditions.
    fn count(&self, chosen: &[usize]) -> usize {
        let both = |at: usize| chosen.iter().fold(u64::MAX, |all, &i| all & self.columns[i][at]);
        (0..self.rows.div_ceil(64))
            .map(|at| both(at).count_ones() as usize)
            .sum()
    }
}

/// Up to three conditions that exclude all wrong instances and keep the most right ones, preferring fewer conditions.
pub(super) fn choose(
    conditions: usize,
    right: &[Vec<bool>],
    wrong: &[Vec<bool>],
    failed: &[Vec<usize>],
) -> Option<Vec<usize>> {
    let (right, wrong) = (Bits::new(conditions, right), Bits::new(conditions, wrong));
    // A useful condition excludes a wrong instance and keeps a right one.
    let mut useful: Vec<(usize, usize)> = (0..conditions)
        .map(|i| (right.count(&[i]) * (wrong.rows - wrong.count(&[i])), i))
        .filter(|(worth, _)| *worth > 0)
        .collect();
    useful.sort_by_key(|&(worth, i)| (std::cmp::Reverse(worth), i));
    let mut best: Option<(usize, Vec<usize>)> = None;
    let mut offer = |chosen: &[usize]| {
        if wrong.count(chosen) > 0 || failed.iter().any(|f| f == chosen) {
            return;
        }
        // Each additional condition has to keep about a tenth more.
        let worth = right.count(chosen) * (11 - chosen.len());
        if worth > 0 && best.as_ref().is_none_or(|(other, _)| worth > *other) {
            best = Some((worth, chosen.to_vec()));
        }
    };
    let mut all: Vec<usize> = useful.iter().map(|u| u.1).collect();
    all.sort_unstable();
    for &i in &all {
        offer(&[i]);
    }
    all = useful.iter().take(COMBINED).map(|u| u.1).collect();
    all.sort_unstable();
    for (n, &i) in all.iter().enumerate() {
        for (m, &j) in all.iter().enumerate().skip(n + 1) {
            offer(&[i, j]);
            for &k in &all[m + 1..] {
                offer(&[i, j, k]);
            }
        }
    }
    best.map(|(_, chosen)| chosen)
}
