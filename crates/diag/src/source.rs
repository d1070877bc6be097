//! Source text and positions in it.

use std::borrow::Cow;
use std::sync::OnceLock;

use serde::{Deserialize, Serialize};

/// A half-open range of bytes of a [`Source`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default, Serialize, Deserialize)]
pub struct Span {
    /// The first byte.
    pub start: u32,
    /// One past the last byte.
    pub end: u32,
}

impl Span {
    /// The bytes from `start` up to `end`.
    pub const fn new(start: u32, end: u32) -> Self {
        Span { start, end }
    }

    /// From the beginning of `self` to the end of `other`.
    ///
    /// ```
    /// use tautomer_diag::Span;
    /// assert_eq!(Span::new(2, 3).to(Span::new(5, 9)), Span::new(2, 9));
    /// ```
    pub const fn to(self, other: Span) -> Span {
        Span {
            start: self.start,
            end: other.end,
        }
    }

    /// As a range of byte offsets.
    pub const fn range(self) -> std::ops::Range<usize> {
        self.start as usize..self.end as usize
    }
}

/// A named text.
#[derive(Debug)]
pub struct Source {
    /// The path or other name shown in messages.
    pub name: String,
    /// The text.
    pub text: Cow<'static, str>,
    lines: OnceLock<Vec<u32>>,
}

impl Source {
    /// A text with the name shown in messages.
    pub fn new(name: impl Into<String>, text: impl Into<String>) -> Self {
        Source {
            name: name.into(),
            text: Cow::Owned(text.into()),
            lines: OnceLock::new(),
        }
    }

    /// A text that is part of the program, which is not copied.
    pub fn of_program(name: &str, text: &'static str) -> Self {
        Source {
            name: name.to_owned(),
            text: Cow::Borrowed(text),
            lines: OnceLock::new(),
        }
    }

    /// True if name and text are the same as these.
    pub fn is(&self, name: &str, text: &str) -> bool {
        // Nearly always the very text, or one of another file.
        self.name == name && (std::ptr::eq(&*self.text, text) || *self.text == *text)
    }

    /// The text of a span; empty if the span is not valid for this text.
    pub fn slice(&self, span: Span) -> &str {
        self.text.get(span.range()).unwrap_or("")
    }

    /// Line and column of a byte offset, both starting at 1; columns count characters.
    ///
    /// ```
    /// use tautomer_diag::Source;
    /// assert_eq!(Source::new("a", "é =\n b").line_column(6), (2, 2));
    /// ```
    pub fn line_column(&self, offset: u32) -> (usize, usize) {
        let line = self.line_starts().partition_point(|&start| start <= offset).max(1) - 1;
        let start = self.line_starts()[line] as usize;
        let end = (offset as usize).min(self.text.len());
        let column = self.text.get(start..end).map_or(0, |before| before.chars().count());
        (line + 1, column + 1)
    }

    /// The byte offset of the first byte of each line.
    pub fn line_starts(&self) -> &[u32] {
        self.lines.get_or_init(|| {
            let breaks = self.text.bytes().enumerate().filter(|&(_, byte)| byte == b'\n');
            std::iter::once(0).chain(breaks.map(|(at, _)| at as u32 + 1)).collect()
        })
    }
}
