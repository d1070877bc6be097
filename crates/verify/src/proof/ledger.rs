//! The scope of a proof: one line for each thing about a rule that may vary.

use std::fmt;

/// How a proof treats something that may vary.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Covers {
    /// As a symbol that stands for every value.
    Symbolic,
    /// Value by value, with none left out.
    Exhausted,
    /// At some values only, which the line names.
    Sampled(String),
    /// Except for some, which the line counts.
    LeftOut(String),
}

/// Something about a rule that may vary.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Line {
    /// The thing that varies, such as `ranks` or `` `perm` of `transpose` ``.
    pub what: String,
    /// How it is covered.
    pub covers: Covers,
}

/// Everything that may vary about a rule, and how a proof covers it.
///
/// ```
/// use tautomer_verify::{Covers, Ledger};
/// let mut ledger = Ledger::default();
/// ledger.add("sizes", Covers::Symbolic);
/// assert!(ledger.is_complete());
/// ledger.add("ranks", Covers::Sampled("0 to 3".to_owned()));
/// assert_eq!(ledger.to_string(), "ranks 0 to 3");
/// ledger.add("element types", Covers::Sampled("f32".to_owned()));
/// assert_eq!(ledger.to_string(), "ranks 0 to 3; element types f32; each beside some of the others");
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Ledger {
    lines: Vec<Line>,
}

impl Ledger {
    /// Adds a line.
    pub fn add(&mut self, what: impl Into<String>, covers: Covers) {
        let what = what.into();
        self.lines.push(Line { what, covers });
    }

    /// All lines, in insertion order.
    pub fn lines(&self) -> &[Line] {
        &self.lines
    }

    /// True if everything that may vary is covered in full.
    pub fn is_complete(&self) -> bool {
        let in_full = |line: &Line| matches!(line.covers, Covers::Symbolic | Covers::Exhausted);
        self.lines.iter().all(in_full)
    }
}

/// The lines that are not covered in full, with the values that are.
impl fmt::Display for Ledger {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut between = "";
        for line in &self.lines {
            if let Covers::Sampled(values) | Covers::LeftOut(values) = &line.covers {
                write!(f, "{between}{} {values}", line.what)?;
                between = "; ";
            }
        }
        // The product of the lines would say more than was looked at.
        let is_sampled = |line: &&Line| matches!(line.covers, Covers::Sampled(_));
        if self.lines.iter().filter(is_sampled).count() > 1 {
            f.write_str("; each beside some of the others")?;
        }
        Ok(())
    }
}
