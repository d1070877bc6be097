//! Counts of the evidence for the agreements of a rule.

use super::Verdict;
use super::judge::Ground;
use tautomer_op::Laws;

/// How many agreements have which kind of evidence.
#[derive(Debug, Default)]
pub(super) struct Grounds {
    decided: usize,
    error: Option<u32>,
    exact: usize,
    whole: usize,
    compared: usize,
    laws: Laws,
}

impl Grounds {
    pub(super) fn add(&mut self, ground: Ground) {
        match ground {
            Ground::Field { error, laws } => {
                self.decided += 1;
                self.error = self.error.into_iter().chain(error).min();
                self.laws = self.laws.or(laws);
            }
            Ground::Exact(laws) => {
                self.exact += 1;
                self.laws = self.laws.or(laws);
            }
            Ground::Whole => self.whole += 1,
            Ground::Data => self.compared += 1,
        }
    }

    pub(super) fn verdict(&self) -> Verdict {
        let laws = self.laws;
        if self.decided > 0 && self.exact + self.compared == 0 {
            let error = self.error.filter(|_| laws.is_empty());
            return Verdict::Proved {
                shapes: self.decided,
                error,
                laws,
            };
        }
        let exact = self.decided + self.exact + self.whole;
        Verdict::Tested {
            instances: exact + self.compared,
            exact,
            laws,
        }
    }
}
