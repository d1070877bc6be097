//! How sure a verdict is.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::Verdict;

/// How sure a verdict is; ordered from refuted to proved for all sizes.
///
/// ```
/// use tautomer::verify::Level;
/// assert!(Level::ProvedAll > Level::Proved && Level::Tested > Level::Refuted);
/// assert_eq!(Level::ProvedAll.word(), "proved-all");
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Level {
    /// The rule is wrong at some instance.
    Refuted,
    /// Nothing was found out.
    Undecided,
    /// The sides agree at all instances that were tried.
    Tested,
    /// The sides are the same for a part of what the rule admits, which the verdict names: at all values at the shapes
    /// that were tried, or for all sizes in the forms that were.
    Proved,
    /// The sides are the same at all values and sizes.
    ProvedAll,
}

impl Level {
    /// All of them, the surest first.
    pub const ALL: [Level; 5] = [
        Level::ProvedAll,
        Level::Proved,
        Level::Tested,
        Level::Undecided,
        Level::Refuted,
    ];

    /// One word, as lock files and reports write it.
    pub const fn word(self) -> &'static str {
        match self {
            Level::Refuted => "refuted",
            Level::Undecided => "undecided",
            Level::Tested => "tested",
            Level::Proved => "proved",
            Level::ProvedAll => "proved-all",
        }
    }

    /// What it means, in a few words.
    pub const fn phrase(self) -> &'static str {
        match self {
            Level::Refuted => "refuted",
            Level::Undecided => "undecided",
            Level::Tested => "tested",
            Level::Proved => "proved in part",
            Level::ProvedAll => "proved for all they admit",
        }
    }

    /// The level of that word.
    ///
    /// ```
    /// use tautomer::verify::Level;
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
    /// How sure it is.
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
