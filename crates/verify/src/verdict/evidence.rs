//! Counts of the evidence for the agreements of a rule.

use super::report::Verdict;
use crate::compare::finding::Evidence;
use tautomer_op::Laws;

/// The number of agreements for each kind of evidence.
#[derive(Debug, Default)]
pub(crate) struct EvidenceCounts {
    field: usize,
    error: Option<u32>,
    exact: usize,
    discrete: usize,
    rounded: usize,
    laws: Laws,
}

impl EvidenceCounts {
    pub(crate) fn add(&mut self, evidence: Evidence) {
        match evidence {
            Evidence::Field { error, laws } => {
                self.field += 1;
                self.error = self.error.into_iter().chain(error).min();
                self.laws = self.laws.or(laws);
            }
            Evidence::Exact(laws) => {
                self.exact += 1;
                self.laws = self.laws.or(laws);
            }
            Evidence::Discrete => self.discrete += 1,
            Evidence::Rounded => self.rounded += 1,
        }
    }

    pub(crate) fn verdict(&self) -> Verdict {
        let laws = self.laws;
        if self.field > 0 && self.exact + self.rounded == 0 {
            let error = self.error.filter(|_| laws.is_empty());
            return Verdict::Proved {
                shapes: self.field,
                error,
                laws,
            };
        }
        let exact = self.field + self.exact + self.discrete;
        Verdict::Tested {
            instances: exact + self.rounded,
            exact,
            laws,
        }
    }
}
