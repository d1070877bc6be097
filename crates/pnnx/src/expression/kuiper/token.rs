//! Tokens of a statement, with the positions that they have in it without blanks.

use std::fmt;

use tautomer_diag::{Diagnostic, Span};

/// What a token is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(missing_docs, reason = "the names say it")]
pub enum TokenKind {
    InputNumber,
    Comma,
    Add,
    Mul,
    LeftBracket,
    RightBracket,
    Sin,
}

impl TokenKind {
    /// The number of the kind, as the layer counts them.
    pub const fn code(self) -> i32 {
        match self {
            TokenKind::InputNumber => -8,
            TokenKind::Comma => -7,
            TokenKind::Add => -6,
            TokenKind::Mul => -5,
            TokenKind::LeftBracket => -4,
            TokenKind::RightBracket => -3,
            TokenKind::Sin => -2,
        }
    }
}

impl fmt::Display for TokenKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            TokenKind::InputNumber => "input number",
            TokenKind::Comma => "comma",
            TokenKind::Add => "add",
            TokenKind::Mul => "mul",
            TokenKind::LeftBracket => "left bracket",
            TokenKind::RightBracket => "right bracket",
            TokenKind::Sin => "sin",
        })
    }
}

/// A token: bytes `start..end` of the statement without blanks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Token {
    /// What it is.
    pub kind: TokenKind,
    /// Its first byte.
    pub start: usize,
    /// One past its last byte.
    pub end: usize,
    /// Its text.
    pub text: String,
    /// Where it stands in the statement as it was written.
    pub span: Span,
}

/// A statement without blanks, and where each of its characters was.
struct Dense {
    chars: Vec<(char, usize)>,
    length: usize,
}

impl Dense {
    fn of(statement: &str) -> Dense {
        let chars = statement.char_indices().filter(|(_, c)| !c.is_whitespace());
        Dense {
            chars: chars.map(|(at, c)| (c, at)).collect(),
            length: statement.len(),
        }
    }

    /// Where the characters `start..end` stand in the text.
    fn span(&self, start: usize, end: usize) -> Span {
        let first = self.chars.get(start).map_or(self.length, |(_, at)| *at);
        let last = end.checked_sub(1).and_then(|last| self.chars.get(last));
        Span::new(
            first as u32,
            last.map_or(first, |(c, at)| at + c.len_utf8()).max(first) as u32,
        )
    }

    fn unexpected(&self, at: usize, wanted: &str) -> Diagnostic {
        match self.chars.get(at) {
            Some((c, _)) => Diagnostic::error("T0001", format!("unexpected `{c}` at position {at}"))
                .label(self.span(at, at + 1), format!("expected {wanted}")),
            None => Diagnostic::error("T0001", format!("the statement ends at position {at}"))
                .label(self.span(at, at), format!("expected {wanted}")),
        }
    }
}

/// The tokens of a statement.
///
/// # Errors
/// The first character that begins or continues no token, with its position; an empty statement.
pub(super) fn tokens(statement: &str) -> Result<Vec<Token>, Diagnostic> {
    let dense = Dense::of(statement);
    if dense.chars.is_empty() {
        let problem = Diagnostic::error("T0001", "The input statement is empty!");
        return Err(problem
            .label(Span::new(0, statement.len() as u32), "")
            .help("write one, such as `add(@0,@1)`"));
    }
    let mut out = Vec::new();
    let mut at = 0;
    while let Some(&(first, _)) = dense.chars.get(at) {
        let start = at;
        let mut word = |rest: &str, kind: TokenKind, whole: &str| {
            for wanted in rest.chars() {
                at += 1;
                if dense.chars.get(at).is_none_or(|(c, _)| *c != wanted) {
                    return Err(dense.unexpected(at, &format!("the `{wanted}` of `{whole}`")));
                }
            }
            at += 1;
            Ok(kind)
        };
        let kind = match first {
            'a' => word("dd", TokenKind::Add, "add")?,
            'm' => word("ul", TokenKind::Mul, "mul")?,
            's' => word("in", TokenKind::Sin, "sin")?,
            '(' => word("", TokenKind::LeftBracket, "(")?,
            ')' => word("", TokenKind::RightBracket, ")")?,
            ',' => word("", TokenKind::Comma, ",")?,
            '@' => {
                at += 1;
                let digits = dense
                    .chars
                    .iter()
                    .skip(at)
                    .take_while(|(c, _)| c.is_ascii_digit())
                    .count();
                if digits == 0 {
                    return Err(dense.unexpected(at, "the number of an operand"));
                }
                at += digits;
                TokenKind::InputNumber
            }
            other => {
                let problem =
                    Diagnostic::error("T0001", format!("Unknown illegal character `{other}` at position {at}"));
                return Err(problem
                    .label(dense.span(at, at + 1), "begins no token")
                    .help("statements are made of `add`, `mul`, `sin`, `@0`, `(`, `)` and `,`"));
            }
        };
        out.push(Token {
            kind,
            start,
            end: at,
            text: dense.chars.iter().take(at).skip(start).map(|(c, _)| *c).collect(),
            span: dense.span(start, at),
        });
    }
    Ok(out)
}
