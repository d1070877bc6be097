//! Problems found in user input: what, where, and what to do about it.
//!
//! Every message has a stable code that [`explain`] describes at length. Nothing here prints; [`Diagnostics`] renders
//! to a string or to JSON.

mod code;
mod render;
mod source;
#[cfg(test)]
mod tests;

use std::sync::Arc;

pub use code::{CodeInfo, codes, explain};
pub use source::{Source, Span};

/// The severity of a problem.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Severity {
    /// The input is refused.
    Error,
    /// The input is accepted and probably wrong.
    Warning,
    /// Information.
    Note,
}

impl Severity {
    /// The name shown in messages.
    pub const fn name(self) -> &'static str {
        match self {
            Severity::Error => "error",
            Severity::Warning => "warning",
            Severity::Note => "note",
        }
    }
}

/// A place that a message points at.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Label {
    /// The location.
    pub span: Span,
    /// The text shown there; may be empty.
    pub text: String,
    /// True for the place of the problem itself, false for one that explains it.
    pub primary: bool,
}

/// One problem.
#[derive(Debug, Clone)]
pub struct Diagnostic {
    /// The stable code, `T0001`.
    pub code: &'static str,
    /// Its severity.
    pub severity: Severity,
    /// What is wrong; lower case, no final stop.
    pub message: String,
    /// The locations.
    pub labels: Vec<Label>,
    /// Background.
    pub notes: Vec<String>,
    /// What to do.
    pub help: Vec<String>,
    /// The text that the labels refer to.
    pub source: Option<Arc<Source>>,
}

impl Diagnostic {
    /// A problem of the given severity.
    pub fn new(severity: Severity, code: &'static str, message: impl Into<String>) -> Self {
        Diagnostic {
            code,
            severity,
            message: shortened(message.into()),
            labels: Vec::new(),
            notes: Vec::new(),
            help: Vec::new(),
            source: None,
        }
    }

    /// A reason to refuse the input.
    pub fn error(code: &'static str, message: impl Into<String>) -> Self {
        Diagnostic::new(Severity::Error, code, message)
    }

    /// Input that is accepted but probably wrong.
    pub fn warning(code: &'static str, message: impl Into<String>) -> Self {
        Diagnostic::new(Severity::Warning, code, message)
    }

    /// Points at the problem.
    pub fn label(mut self, span: Span, text: impl Into<String>) -> Self {
        self.labels.push(Label {
            span,
            text: shortened(text.into()),
            primary: true,
        });
        self
    }

    /// Points at another place that explains the problem.
    pub fn secondary(mut self, span: Span, text: impl Into<String>) -> Self {
        self.labels.push(Label {
            span,
            text: shortened(text.into()),
            primary: false,
        });
        self
    }

    /// Adds background.
    pub fn note(mut self, text: impl Into<String>) -> Self {
        self.notes.push(text.into());
        self
    }

    /// Says what to do.
    pub fn help(mut self, text: impl Into<String>) -> Self {
        self.help.push(text.into());
        self
    }

    /// Sets the text that the labels refer to.
    pub fn in_source(mut self, source: &Arc<Source>) -> Self {
        self.source = Some(Arc::clone(source));
        self
    }

    /// The span of the first primary label, or of the first label if none is primary.
    pub fn span(&self) -> Option<Span> {
        self.labels
            .iter()
            .find(|label| label.primary)
            .or(self.labels.first())
            .map(|label| label.span)
    }
}

/// The maximum number of bytes shown of a message or label, since a type or name in it may be arbitrarily long.
const MAX_BYTES: usize = 4000;

/// The text, with its middle cut out if it is very long.
fn shortened(text: String) -> String {
    if text.len() <= MAX_BYTES {
        return text;
    }
    let (head, tail) = (
        text.floor_char_boundary(MAX_BYTES / 2),
        text.ceil_char_boundary(text.len() - MAX_BYTES / 2),
    );
    let left_out = text[head..tail].chars().count();
    format!("{} [... {left_out} characters ...] {}", &text[..head], &text[tail..])
}

/// The problems of one input, in the order found. Both `{}` and `{:?}` show them as rendered text, so that a `main`
/// that returns `Result<(), Diagnostics>` prints what a user can read.
#[derive(Clone, Default)]
pub struct Diagnostics(Vec<Diagnostic>);

impl Diagnostics {
    /// No problems.
    pub const fn new() -> Self {
        Diagnostics(Vec::new())
    }

    /// Adds a problem.
    pub fn push(&mut self, diagnostic: Diagnostic) {
        self.0.push(diagnostic);
    }

    /// True if there are no problems.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The number of problems.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// The problems, in the order found.
    pub fn iter(&self) -> std::slice::Iter<'_, Diagnostic> {
        self.0.iter()
    }

    /// True if one of them is an error, so that the input is rejected.
    pub fn has_errors(&self) -> bool {
        self.0.iter().any(|diagnostic| diagnostic.severity == Severity::Error)
    }

    /// Sorts by position in the text; problems without a position come first.
    pub fn sort(&mut self) {
        self.0
            .sort_by_key(|diagnostic| diagnostic.span().map(|span| span.start));
    }

    /// Sets the source text of every problem that has none yet.
    pub fn in_source(mut self, source: &Arc<Source>) -> Self {
        for diagnostic in &mut self.0 {
            diagnostic.source.get_or_insert_with(|| Arc::clone(source));
        }
        self
    }

    /// Returns `value`, unless there are errors.
    pub fn into_result<T>(self, value: T) -> Result<T, Diagnostics> {
        if self.has_errors() { Err(self) } else { Ok(value) }
    }
}

impl From<Diagnostic> for Diagnostics {
    fn from(diagnostic: Diagnostic) -> Self {
        Diagnostics(vec![diagnostic])
    }
}

impl Extend<Diagnostic> for Diagnostics {
    fn extend<I: IntoIterator<Item = Diagnostic>>(&mut self, iter: I) {
        self.0.extend(iter);
    }
}

impl FromIterator<Diagnostic> for Diagnostics {
    fn from_iter<I: IntoIterator<Item = Diagnostic>>(iter: I) -> Self {
        Diagnostics(iter.into_iter().collect())
    }
}

impl IntoIterator for Diagnostics {
    type Item = Diagnostic;
    type IntoIter = std::vec::IntoIter<Diagnostic>;

    fn into_iter(self) -> Self::IntoIter {
        self.0.into_iter()
    }
}

impl<'a> IntoIterator for &'a Diagnostics {
    type Item = &'a Diagnostic;
    type IntoIter = std::slice::Iter<'a, Diagnostic>;

    fn into_iter(self) -> Self::IntoIter {
        self.0.iter()
    }
}

impl std::fmt::Display for Diagnostics {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.render(false))
    }
}

impl std::fmt::Debug for Diagnostics {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.render(false))
    }
}

impl std::error::Error for Diagnostics {}

/// The candidate that `name` is probably a misspelling of.
///
/// ```
/// use tautomer_diag::did_you_mean;
/// assert_eq!(did_you_mean("reduce_maen", ["relu", "reduce_mean"]), Some("reduce_mean"));
/// assert_eq!(did_you_mean("xyz", ["relu", "reduce_mean"]), None);
/// ```
pub fn did_you_mean<'a>(name: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    // Every one-letter name is within distance 1 of every other.
    let length = name.chars().count();
    let limit = length.div_ceil(3).min(length.saturating_sub(1));
    let mut best: Option<(usize, &str)> = None;
    for candidate in candidates {
        let distance = if candidate.eq_ignore_ascii_case(name) {
            0
        } else {
            strsim::osa_distance(name, candidate)
        };
        if distance <= limit && best.is_none_or(|(least, _)| distance < least) {
            best = Some((distance, candidate));
        }
    }
    best.map(|(_, candidate)| candidate)
}
