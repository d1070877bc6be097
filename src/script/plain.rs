//! The plain dialect as a syntax tree of programs: `.` is the product of elements, `*` and `dot` are contractions.
//!
//! ```text
//! sum     = product (("+" | "-") product)*
//! product = factor (("." | "*") factor)*
//! factor  = "-" factor | number | name | name "(" list? ")" | "[" list? "]" | "(" list? ")"
//! list    = sum ("," sum)* ","?
//! ```

use std::sync::Arc;

use crate::diag::{Diagnostic, Source, Span};
use crate::lang::MAX_NESTING;
use crate::lang::ast::{Ast, Attr, Attrs, BinaryOp, Block, ExprId, ExprKind, Ident, Program, UnaryOp};

/// How deep brackets may be nested here: each level is a call of this parser.
const MAX_DEPTH: usize = if MAX_NESTING < 200 { MAX_NESTING } else { 200 };

/// A sign, a number, or a name, and where it stands.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Token<'s> {
    Sign(char),
    Number(&'s str),
    Name(&'s str),
}

/// Parses the expression that stands at those bytes of the source.
pub(super) fn parse(source: &Arc<Source>, (begin, end): (usize, usize)) -> Result<Program, Diagnostic> {
    let mut parser = Parser {
        ast: Ast::new(source.clone()),
        tokens: tokens(&source.text[..end], begin)?,
        at: 0,
        end: end as u32,
        depth: 0,
    };
    let result = parser.sum()?;
    if parser.at < parser.tokens.len() {
        return Err(parser.expected("an operator or the end of the statement"));
    }
    Ok(Program {
        ast: parser.ast,
        opaques: Vec::new(),
        functions: Vec::new(),
        body: Some(Block::of(result)),
        comments: Vec::new(),
    })
}

/// The tokens from byte `at` on, each with its place.
fn tokens(text: &str, mut at: usize) -> Result<Vec<(Token<'_>, Span)>, Diagnostic> {
    let mut out = Vec::new();
    let length = |rest: &str, ok: fn(char) -> bool| rest.find(|c| !ok(c)).unwrap_or(rest.len());
    while let Some(first) = text[at..].chars().next() {
        let rest = &text[at..];
        let n = match first {
            _ if first.is_whitespace() => {
                at += first.len_utf8();
                continue;
            }
            '/' if rest.starts_with("//") => {
                at += rest.find('\n').unwrap_or(rest.len());
                continue;
            }
            '0'..='9' => number(rest),
            _ if first.is_alphabetic() || first == '_' => length(rest, |c| c.is_alphanumeric() || c == '_'),
            '+' | '-' | '.' | '*' | '(' | ')' | '[' | ']' | ',' => 1,
            _ => {
                let place = Span::new(at as u32, (at + first.len_utf8()) as u32);
                return Err(Diagnostic::error("T0001", format!("`{first}` has no meaning here"))
                    .label(place, "")
                    .help("the operators are `+ - . *`"));
            }
        };
        let (word, place) = (&rest[..n], Span::new(at as u32, (at + n) as u32));
        let token = match first {
            '0'..='9' => Token::Number(word),
            _ if first.is_alphabetic() || first == '_' => Token::Name(word),
            _ => Token::Sign(first),
        };
        out.push((token, place));
        at += n;
    }
    Ok(out)
}

/// How long the number at the beginning is; a point belongs to it if a digit follows.
fn number(text: &str) -> usize {
    let bytes = text.as_bytes();
    let digits = |mut i: usize| {
        while bytes.get(i).is_some_and(u8::is_ascii_digit) {
            i += 1;
        }
        i
    };
    let mut end = digits(0);
    if bytes.get(end) == Some(&b'.') && bytes.get(end + 1).is_some_and(u8::is_ascii_digit) {
        end = digits(end + 1);
    }
    if matches!(bytes.get(end), Some(b'e' | b'E')) {
        let sign = usize::from(matches!(bytes.get(end + 1), Some(b'+' | b'-')));
        if bytes.get(end + 1 + sign).is_some_and(u8::is_ascii_digit) {
            end = digits(end + 1 + sign);
        }
    }
    end
}

struct Parser<'s> {
    ast: Ast,
    tokens: Vec<(Token<'s>, Span)>,
    at: usize,
    end: u32,
    depth: usize,
}

impl<'s> Parser<'s> {
    fn peek(&self) -> Option<Token<'s>> {
        self.tokens.get(self.at).map(|(token, _)| *token)
    }

    /// The place of the next token, or the end.
    fn place(&self) -> Span {
        self.tokens
            .get(self.at)
            .map_or(Span::new(self.end, self.end), |(_, span)| *span)
    }

    fn take(&mut self, sign: char) -> bool {
        let found = self.peek() == Some(Token::Sign(sign));
        self.at += usize::from(found);
        found
    }

    fn expected(&self, what: &str) -> Diagnostic {
        let found = match self.peek() {
            None => "the end of the statement".to_owned(),
            Some(Token::Sign(sign)) => format!("`{sign}`"),
            Some(Token::Number(word) | Token::Name(word)) => format!("`{word}`"),
        };
        Diagnostic::error("T0001", format!("expected {what}, found {found}")).label(self.place(), "")
    }

    /// What has been read since a place.
    fn since(&self, start: Span) -> Span {
        let end = self.at.checked_sub(1).map_or(start.end, |i| self.tokens[i].1.end);
        Span::new(start.start, end)
    }

    fn sum(&mut self) -> Result<ExprId, Diagnostic> {
        let start = self.place();
        let mut lhs = self.product()?;
        loop {
            let op = match self.peek() {
                Some(Token::Sign('+')) => BinaryOp::Add,
                Some(Token::Sign('-')) => BinaryOp::Sub,
                _ => return Ok(lhs),
            };
            self.at += 1;
            let rhs = self.product()?;
            lhs = self.ast.push(ExprKind::Binary { op, lhs, rhs }, self.since(start));
        }
    }

    fn product(&mut self) -> Result<ExprId, Diagnostic> {
        let start = self.place();
        let mut lhs = self.factor()?;
        loop {
            let sign = self.place();
            let elements = match self.peek() {
                Some(Token::Sign('.')) => true,
                Some(Token::Sign('*')) => false,
                _ => return Ok(lhs),
            };
            self.at += 1;
            let rhs = self.factor()?;
            let span = self.since(start);
            let op = BinaryOp::Mul;
            lhs = if elements {
                self.ast.push(ExprKind::Binary { op, lhs, rhs }, span)
            } else {
                self.call("tensordot", sign, vec![lhs, rhs], Vec::new(), span)
            };
        }
    }

    fn factor(&mut self) -> Result<ExprId, Diagnostic> {
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            return Err(
                Diagnostic::error("T0601", format!("brackets are nested more than {MAX_DEPTH} deep"))
                    .label(self.place(), "")
                    .help("name inner values"),
            );
        }
        let made = self.nested();
        self.depth -= 1;
        made
    }

    fn nested(&mut self) -> Result<ExprId, Diagnostic> {
        let start = self.place();
        let Some(token) = self.peek() else {
            return Err(self.expected("an expression"));
        };
        self.at += 1;
        let kind = match token {
            Token::Number(word) => literal(word, start)?,
            Token::Sign('-') => match self.peek() {
                // A minus sign directly before a number belongs to it.
                Some(Token::Number(word)) => {
                    self.at += 1;
                    negated(literal(word, start)?)
                }
                _ => ExprKind::Unary {
                    op: UnaryOp::Neg,
                    operand: self.factor()?,
                },
            },
            Token::Sign('[') => ExprKind::List(self.list(']')?.0),
            Token::Sign('(') => {
                let (items, comma) = self.list(')')?;
                match items[..] {
                    [only] if !comma => return Ok(only),
                    _ => ExprKind::Tuple(items),
                }
            }
            Token::Name(name) if self.take('(') => {
                let args = self.list(')')?.0;
                let span = self.since(start);
                return Ok(self.named(name, start, args, span));
            }
            Token::Name(name) => ExprKind::Name(name.into()),
            Token::Sign(_) => {
                self.at -= 1;
                return Err(self.expected("an expression"));
            }
        };
        Ok(self.ast.push(kind, self.since(start)))
    }

    /// Expressions up to a closing bracket, and whether a comma stands before it.
    fn list(&mut self, close: char) -> Result<(Vec<ExprId>, bool), Diagnostic> {
        let (mut items, mut comma) = (Vec::new(), false);
        loop {
            if self.take(close) {
                return Ok((items, comma));
            }
            if !items.is_empty() && !comma {
                return Err(self.expected(&format!("`,` or `{close}`")));
            }
            items.push(self.sum()?);
            comma = self.take(',');
        }
    }

    /// A call by its name: `dot` is a contraction, and `slice` and `reshape` take lists.
    fn named(&mut self, name: &str, place: Span, args: Vec<ExprId>, span: Span) -> ExprId {
        match (name, &args[..]) {
            ("dot", _) => self.call("tensordot", place, args, Vec::new(), span),
            ("slice", &[x, begin, size]) => {
                let attrs = vec![("begin", self.listed(begin)), ("size", self.listed(size))];
                self.call("dice", place, vec![x], attrs, span)
            }
            ("reshape", &[x, shape]) => {
                let attrs = vec![("shape", self.listed(shape))];
                self.call("reshape", place, vec![x], attrs, span)
            }
            _ => self.call(name, place, args, Vec::new(), span),
        }
    }

    /// A tuple of numbers as a list of them.
    fn listed(&mut self, id: ExprId) -> ExprId {
        let span = self.ast.span(id);
        match self.ast.kind(id) {
            ExprKind::Tuple(items) => {
                let items = items.clone();
                self.ast.push(ExprKind::List(items), span)
            }
            ExprKind::Int { .. } => self.ast.push(ExprKind::List(vec![id]), span),
            _ => id,
        }
    }

    fn call(&mut self, name: &str, place: Span, args: Vec<ExprId>, attrs: Vec<(&str, ExprId)>, span: Span) -> ExprId {
        let kind = call(name, place, args, attrs);
        self.ast.push(kind, span)
    }
}

fn call(name: &str, place: Span, args: Vec<ExprId>, attrs: Vec<(&str, ExprId)>) -> ExprKind {
    let entries: Vec<Attr> = attrs
        .into_iter()
        .map(|(name, value)| Attr {
            name: Ident {
                name: name.into(),
                span: place,
            },
            value,
        })
        .collect();
    ExprKind::Call {
        callee: Ident {
            name: name.into(),
            span: place,
        },
        quoted: false,
        args,
        attrs: (!entries.is_empty()).then(|| {
            Box::new(Attrs {
                entries,
                rest: None,
                span: place,
            })
        }),
    }
}

/// Makes the expression at `id` a tensor of integers of that shape: `ones() {shape = items, dtype = i32}`.
pub(super) fn call_with_list(program: &mut Program, id: ExprId, name: &str, items: Vec<ExprKind>, span: Span) {
    let ast = &mut program.ast;
    let items = items.into_iter().map(|item| ast.push(item, span)).collect();
    let shape = ast.push(ExprKind::List(items), span);
    let dtype = ast.push(ExprKind::Name("i32".into()), span);
    ast.replace(
        id,
        call(name, span, Vec::new(), vec![("shape", shape), ("dtype", dtype)]),
    );
}

fn literal(word: &str, place: Span) -> Result<ExprKind, Diagnostic> {
    let outside = |_| Diagnostic::error("T0004", format!("{word} is out of range")).label(place, "");
    if word.contains(['.', 'e', 'E']) {
        let value = word
            .parse()
            .map_err(|_| Diagnostic::error("T0004", format!("{word} is no number")).label(place, ""))?;
        return Ok(ExprKind::Float { value, suffix: None });
    }
    let value = word.parse::<i128>().map_err(outside)?;
    Ok(ExprKind::Int { value, suffix: None })
}

fn negated(kind: ExprKind) -> ExprKind {
    match kind {
        ExprKind::Int { value, suffix } => ExprKind::Int { value: -value, suffix },
        ExprKind::Float { value, suffix } => ExprKind::Float { value: -value, suffix },
        other => other,
    }
}
