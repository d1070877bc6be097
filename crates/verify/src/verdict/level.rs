//! The confidence level of a verdict.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::report::Verdict;

/// The confidence level of a verdict, ordered from refuted to proved for all sizes.
///
/// ```
/// use tautomer_verify::Level;
/// assert!(Level::ProvedAll > Level::Proved && Level::Tested > Level::Refuted);
/// assert_eq!(Level::ProvedAll.word(), "proved-all");
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Level {
    /// The rule is wrong at some instance.
    Refuted,
    /// No result.
    Undecided,
    /// The sides agree at all instances tried.
    Tested,
    /// The sides are equal for a part of what the rule admits, which the verdict names: for all values at the shapes
    /// tried, or for all sizes of the forms tried.
    Proved,
    /// The sides are equal at all values and sizes.
    ProvedAll,
}

impl Level {
    /// All levels, the strongest first.
    pub const ALL: [Level; 5] = [
        Level::ProvedAll,
        Level::Proved,
        Level::Tested,
        Level::Undecided,
        Level::Refuted,
    ];

    /// The word that lock files and reports use.
    pub const fn word(self) -> &'static str {
        match self {
            Level::Refuted => "refuted",
            Level::Undecided => "undecided",
            Level::Tested => "tested",
            Level::Proved => "proved",
            Level::ProvedAll => "proved-all",
        }
    }

    /// The meaning, in a few words.
    pub const fn phrase(self) -> &'static str {
        match self {
            Level::Refuted => "refuted",
            Level::Undecided => "undecided",
            Level::Tested => "tested",
            Level::Proved => "proved in part",
            Level::ProvedAll => "proved for all they admit",
        }
    }

    /// The level with that word.
    ///
    /// ```
    /// use tautomer_verify::Level;
    /// assert!(Level::ALL.iter().all(|&level| Level::by_word(level.word()) == Some(level)));
    /// ```
    pub fn by_word(word: &str) -> Option<Level> {
        Level::ALL.into_iter().find(|level| level.word() == word)
    }
}

impl fmt::Display for Level {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.word())
    }
}

impl Verdict {
    /// Its confidence level.
    pub fn level(&self) -> Level {
        match self {
            Verdict::ProvedForAll(_) => Level::ProvedAll,
            Verdict::ProvedFor(_) | Verdict::Proved { .. } => Level::Proved,
            Verdict::Tested { .. } => Level::Tested,
            Verdict::Refuted(_) => Level::Refuted,
            Verdict::Undecided(_) => Level::Undecided,
        }
    }
}
