//! One pass over the bytes before parsing: comments, brackets, quotes.

use tautomer_diag::{Diagnostic, Span};

use super::ast::Comment;

/// The maximum nesting depth of brackets.
pub const MAX_NESTING: usize = 20_000;

/// The findings of the pass.
#[derive(Debug, Default)]
pub(super) struct Scan {
    /// All comments, including documentation.
    pub(super) comments: Vec<Comment>,
    /// The greatest number of brackets open at once.
    pub(super) depth: usize,
    /// The first bracket or quote without a partner.
    pub(super) problem: Option<Diagnostic>,
    /// Byte offsets where an item may begin: a word at the beginning of a line.
    pub(super) starts: Vec<u32>,
}

/// Scans `text`, which begins at byte `base` of its source.
pub(super) fn scan(text: &str, base: u32) -> Scan {
    let bytes = text.as_bytes();
    let at = |i: usize| base + i as u32;
    let mut out = Scan::default();
    let mut open: Vec<usize> = Vec::new();
    let (mut i, mut line_start) = (0, 0);
    // Whether this line so far, and the line before, contain only blanks.
    let (mut blank, mut blank_before) = (true, false);
    while i < bytes.len() {
        match bytes[i] {
            b'\n' => {
                blank_before = blank;
                blank = true;
                i += 1;
                line_start = i;
                continue;
            }
            b' ' | b'\t' | b'\r' => {
                i += 1;
                continue;
            }
            b'/' if bytes.get(i + 1) == Some(&b'/') => {
                let length = memchr_newline(&bytes[i..]);
                let end = i + text[i..i + length].trim_end().len();
                out.comments.push(Comment {
                    span: Span::new(at(i), at(end)),
                    own_line: blank,
                    after_blank: blank && blank_before,
                });
                blank = false;
                i += length;
                continue;
            }
            quote @ (b'"' | b'\'') => {
                let mut end = i + 1;
                while end < bytes.len() && bytes[end] != quote && bytes[end] != b'\n' {
                    end += 1 + usize::from(bytes[end] == b'\\');
                }
                if bytes.get(end) != Some(&quote) {
                    let end = end.min(bytes.len());
                    let problem = Diagnostic::error("T0003", "unterminated string")
                        .label(Span::new(at(i), at(end)), "no closing quote on this line")
                        .help("write a line break inside a string as `\\n`");
                    out.problem.get_or_insert(problem);
                    i = end;
                    blank = false;
                    continue;
                }
                i = end;
            }
            b'`' => {
                // A quoted name; without a closing quote the parser reports it.
                let line = &bytes[i + 1..i + 1 + memchr_newline(&bytes[i + 1..])];
                i += line
                    .iter()
                    .position(|&byte| byte == b'`')
                    .map_or(0, |length| length + 1);
            }
            b'(' | b'[' | b'{' => {
                open.push(i);
                out.depth = out.depth.max(open.len());
            }
            close @ (b')' | b']' | b'}') => {
                let matches = open.last().is_some_and(|&from| partner(bytes[from]) == close);
                if matches {
                    open.pop();
                } else if out.problem.is_none() {
                    out.problem = Some(mismatch(bytes, open.last().copied(), i, base));
                }
            }
            byte if i == line_start && (byte.is_ascii_alphabetic()) => out.starts.push(at(i)),
            _ => {}
        }
        blank = false;
        i += 1;
    }
    if let (Some(&from), None) = (open.last(), &out.problem) {
        let end = text.trim_end().len();
        let problem = Diagnostic::error("T0002", format!("`{}` is not closed", bytes[from] as char))
            .label(Span::new(at(from), at(from + 1)), "opened here")
            .secondary(
                Span::new(at(end), at(end)),
                format!("expected `{}` before here", partner(bytes[from]) as char),
            );
        out.problem = Some(problem);
    }
    out
}

fn mismatch(bytes: &[u8], open: Option<usize>, close: usize, base: u32) -> Diagnostic {
    let span = |i: usize| Span::new(base + i as u32, base + i as u32 + 1);
    let found = bytes[close] as char;
    match open {
        Some(from) => {
            let want = partner(bytes[from]) as char;
            Diagnostic::error("T0002", format!("expected `{want}`, found `{found}`"))
                .label(span(close), format!("`{want}` expected before here"))
                .secondary(span(from), format!("this `{}` is not closed", bytes[from] as char))
        }
        None => {
            Diagnostic::error("T0002", format!("unmatched `{found}`")).label(span(close), "no bracket is open here")
        }
    }
}

/// The bracket that closes `open`.
pub(super) const fn partner(open: u8) -> u8 {
    match open {
        b'(' => b')',
        b'[' => b']',
        _ => b'}',
    }
}

fn memchr_newline(bytes: &[u8]) -> usize {
    bytes.iter().position(|&byte| byte == b'\n').unwrap_or(bytes.len())
}
