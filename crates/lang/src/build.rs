//! From pest's pairs to the syntax tree.

mod blocks;
mod columns;
mod expr;
mod items;
mod operators;
mod targets;

use std::sync::Arc;

use rustc_hash::FxHashMap;

use tautomer_diag::{Diagnostic, Diagnostics, Source, Span};

use super::ast::*;
use super::literal;
use super::syntax::{Pair, Rule};
use expr::{Operator, Value};

/// Builds the tree of one text or of one item of it.
pub(super) struct Builder<'s> {
    ast: Ast,
    /// The byte at which the parsed text begins in its source.
    base: u32,
    names: FxHashMap<&'s str, Arc<str>>,
    problems: Diagnostics,
    comments: Vec<Comment>,
    /// For each comment, whether it is documentation.
    taken: Vec<bool>,
    values: Vec<Value>,
    operators: Vec<(Operator, Span)>,
    /// Whether names may be in backquotes: those of columns.
    quoted_names: bool,
}

impl<'s> Builder<'s> {
    pub(super) fn new(source: &Arc<Source>, base: u32, comments: Vec<Comment>) -> Self {
        Builder {
            ast: Ast::new(Arc::clone(source)),
            base,
            names: FxHashMap::default(),
            problems: Diagnostics::new(),
            taken: vec![false; comments.len()],
            comments,
            values: Vec::new(),
            operators: Vec::new(),
            quoted_names: false,
        }
    }

    fn span(&self, pair: &Pair<'s>) -> Span {
        let span = pair.as_span();
        let (start, end) = (self.base + span.start() as u32, self.base + span.end() as u32);
        let text = span.as_str();
        let last = text.as_bytes().last();
        if last.is_some_and(u8::is_ascii_whitespace) || end as usize == self.ast.source.text.len() {
            return Span::new(start, self.without_trivia(start, text));
        }
        Span::new(start, end)
    }

    /// The end of `text` without trailing blanks and comments: pest skips those even before an optional part that turns
    /// out to be absent.
    fn without_trivia(&self, start: u32, text: &str) -> u32 {
        let mut text = text;
        loop {
            text = text.trim_end();
            let end = start + text.len() as u32;
            let last = self
                .comments
                .partition_point(|comment| comment.span.start < end)
                .checked_sub(1);
            match last.map(|last| self.comments[last].span) {
                Some(comment) if comment.end >= end && comment.start >= start => {
                    text = &text[..(comment.start - start) as usize];
                }
                _ => return end,
            }
        }
    }

    fn intern(&mut self, name: &'s str) -> Arc<str> {
        Arc::clone(self.names.entry(name).or_insert_with(|| Arc::from(name)))
    }

    fn ident(&mut self, pair: &Pair<'s>) -> Ident {
        Ident {
            name: self.intern(pair.as_str()),
            span: self.span(pair),
        }
    }

    fn report(&mut self, problem: Diagnostic) {
        self.problems.push(problem);
    }

    /// `text` as a number of at most 32 bits.
    fn small(&mut self, text: &str, span: Span) -> u32 {
        text.parse().unwrap_or_else(|_| {
            self.report(Diagnostic::error("T0004", "number out of range").label(span, "does not fit 32 bits"));
            0
        })
    }

    /// The value of a string literal; empty after a problem.
    fn text(&mut self, pair: &Pair<'s>) -> String {
        literal::text(pair.as_str(), self.span(pair)).unwrap_or_else(|problem| {
            self.report(problem);
            String::new()
        })
    }

    /// The items in a bracket, and whether a significant comma follows the last one.
    fn items(&mut self, pair: Pair<'s>) -> (Vec<ExprId>, bool) {
        let mut out: Vec<ExprId> = Vec::new();
        let mut trailing = false;
        for part in pair.into_inner() {
            match part.as_rule() {
                Rule::trailing_comma => trailing = true,
                Rule::comprehension => {
                    if let Some(body) = out.pop() {
                        out.push(self.comprehension(body, part));
                    }
                }
                _ => out.push(self.expr(part)),
            }
        }
        (out, trailing)
    }

    fn comprehension(&mut self, body: ExprId, pair: Pair<'s>) -> ExprId {
        let span = self.ast.span(body).to(self.span(&pair));
        let (mut var, mut exprs) = (None, Vec::with_capacity(2));
        for part in pair.into_inner() {
            match part.as_rule() {
                Rule::name => var = Some(self.ident(&part)),
                Rule::expr => exprs.push(self.expr(part)),
                _ => {}
            }
        }
        match (var, exprs.as_slice()) {
            (Some(var), &[iter, ref cond @ ..]) => self.ast.push(
                ExprKind::Comprehension {
                    body,
                    var,
                    iter,
                    cond: cond.first().copied(),
                },
                span,
            ),
            _ => body,
        }
    }

    fn attrs(&mut self, pair: Pair<'s>) -> Attrs {
        let mut out = Attrs {
            span: self.span(&pair),
            ..Attrs::default()
        };
        for part in pair.into_inner() {
            let span = self.span(&part);
            let is_rest = part.as_rule() == Rule::rest;
            let mut inner = part.into_inner();
            let Some(name) = inner.next().map(|name| self.ident(&name)) else {
                continue;
            };
            if is_rest {
                if let Some(before) = out.rest.replace(name) {
                    self.twice("the rest of the attributes", before.span, span);
                }
            } else if let Some(value) = inner.last() {
                out.entries.push(Attr {
                    name,
                    value: self.expr(value),
                });
            }
        }
        out
    }

    fn twice(&mut self, what: &str, first: Span, second: Span) {
        let problem = Diagnostic::error("T0009", format!("{what} written twice"))
            .label(second, "again")
            .secondary(first, "first here");
        self.report(problem);
    }
}
