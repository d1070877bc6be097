//! Expressions, parsed with an operator stack for precedence.

use pest::iterators::Pairs;

use tautomer_diag::{Diagnostic, Span};

use super::super::ast::*;
use super::super::literal;
use super::super::syntax::{Pair, Rule};
use super::Builder;

/// An operand waiting for its operator.
#[derive(Clone, Copy)]
pub(super) struct Value {
    id: ExprId,
    /// Including the parentheses around it.
    span: Span,
    parens: bool,
}

#[derive(Clone, Copy)]
pub(super) enum Operator {
    Prefix(UnaryOp, u8),
    Infix(BinaryOp),
}

impl Operator {
    fn prec(self) -> u8 {
        match self {
            Operator::Prefix(_, prec) => prec,
            Operator::Infix(op) => op.prec(),
        }
    }
}

impl<'s> Builder<'s> {
    /// An expression: operators are stacked until a looser one or the end releases them.
    pub(super) fn expr(&mut self, pair: Pair<'s>) -> ExprId {
        let whole = pair.clone();
        let (first_value, first_operator) = (self.values.len(), self.operators.len());
        let mut range: Option<Option<ExprId>> = None;
        let mut inner = pair.into_inner();
        while let Some(part) = inner.next() {
            match part.as_rule() {
                Rule::prefix => {
                    let operator = match part.as_str() {
                        "-" => Operator::Prefix(UnaryOp::Neg, prec::UNARY),
                        // The sign is part of the number literal.
                        "+" => continue,
                        "!" => Operator::Prefix(UnaryOp::Not, prec::UNARY),
                        "~" => Operator::Prefix(UnaryOp::BitNot, prec::UNARY),
                        _ => Operator::Prefix(UnaryOp::Not, prec::WORD_NOT),
                    };
                    let at = self.span(&part);
                    self.operators.push((operator, at));
                }
                Rule::infix => self.infix(&part, first_operator),
                Rule::range_op => {
                    self.release(first_operator, 0);
                    range = Some((self.values.len() > first_value).then(|| self.pop().id));
                }
                Rule::project | Rule::field | Rule::index => self.postfix(part),
                _ => {
                    let value = self.atom(part, &mut inner);
                    self.values.push(value);
                }
            }
        }
        self.release(first_operator, 0);
        match range {
            None => self.pop().id,
            Some(start) => {
                let end = (self.values.len() > first_value).then(|| self.pop().id);
                self.ast.push(ExprKind::Range { start, end }, self.span(&whole))
            }
        }
    }

    fn pop(&mut self) -> Value {
        // The grammar puts an operand wherever one is taken.
        self.values.pop().expect("an operand")
    }

    fn infix(&mut self, part: &Pair<'s>, first_operator: usize) {
        let op = match part.as_str() {
            "^" if self.ast.power_caret => BinaryOp::Pow,
            sign => binary_op(sign),
        };
        // `**` is right-associative: an operator of equal precedence stays on the stack.
        let limit = if op == BinaryOp::Pow { op.prec() + 1 } else { op.prec() };
        let at = self.span(part);
        if op.is_comparison()
            && let Some(before) = self.release(first_operator, limit)
        {
            let (first, second) = (self.ast.source.slice(before).to_owned(), part.as_str());
            let problem = Diagnostic::error("T0007", "comparisons do not chain")
                .label(at, "second comparison")
                .secondary(before, "first comparison")
                .help(format!("write `a {first} b && b {second} c`"));
            self.report(problem);
        } else {
            self.release(first_operator, limit);
        }
        self.operators.push((Operator::Infix(op), at));
    }

    /// Applies the operators that bind at least as tightly as `limit`; returns the span of a comparison among them.
    fn release(&mut self, first: usize, limit: u8) -> Option<Span> {
        let mut comparison = None;
        while self.operators.len() > first
            && let Some(&(operator, at)) = self.operators.last()
            && operator.prec() >= limit
        {
            self.operators.pop();
            let value = match operator {
                Operator::Prefix(op, _) => self.prefix(op, at),
                Operator::Infix(op) => {
                    if op.is_comparison() {
                        comparison = Some(at);
                    }
                    let (rhs, lhs) = (self.pop(), self.pop());
                    let span = lhs.span.to(rhs.span);
                    let id = self.ast.push(
                        ExprKind::Binary {
                            op,
                            lhs: lhs.id,
                            rhs: rhs.id,
                        },
                        span,
                    );
                    Value {
                        id,
                        span,
                        parens: false,
                    }
                }
            };
            self.values.push(value);
        }
        comparison
    }

    fn prefix(&mut self, op: UnaryOp, at: Span) -> Value {
        let operand = self.pop();
        let span = at.to(operand.span);
        let literal = match *self.ast.kind(operand.id) {
            ExprKind::Int { value, suffix } if value > 0 => Some(ExprKind::Int { value: -value, suffix }),
            ExprKind::Float { value, suffix } if value.is_sign_positive() => {
                Some(ExprKind::Float { value: -value, suffix })
            }
            _ => None,
        };
        let kind = match literal {
            Some(literal) if op == UnaryOp::Neg && !operand.parens => literal,
            _ => ExprKind::Unary {
                op,
                operand: operand.id,
            },
        };
        Value {
            id: self.ast.push(kind, span),
            span,
            parens: false,
        }
    }

    fn postfix(&mut self, part: Pair<'s>) {
        let base = self.pop();
        let at = self.span(&part);
        let span = base.span.to(at);
        let kind = match part.as_rule() {
            Rule::project => ExprKind::Project {
                base: base.id,
                index: self.small(&part.as_str()[1..], at),
            },
            Rule::field => {
                let name = self.intern(&part.as_str()[1..]);
                ExprKind::Field {
                    base: base.id,
                    name: Ident {
                        name,
                        span: Span::new(at.start + 1, at.end),
                    },
                }
            }
            _ => match part.into_inner().next() {
                Some(inner) => {
                    let index = self.value(inner);
                    match *self.ast.kind(index.id) {
                        ExprKind::Range { start, end } if !index.parens => ExprKind::Slice {
                            base: base.id,
                            start,
                            end,
                        },
                        _ => ExprKind::Index {
                            base: base.id,
                            index: index.id,
                        },
                    }
                }
                None => return self.values.push(base),
            },
        };
        let id = self.ast.push(kind, span);
        self.values.push(Value {
            id,
            span,
            parens: false,
        });
    }

    /// An expression, with the information whether it is a single pair of parentheses.
    fn value(&mut self, pair: Pair<'s>) -> Value {
        let mut inner = pair.clone().into_inner();
        let parens = inner.next().is_some_and(|first| first.as_rule() == Rule::paren) && inner.next().is_none();
        let span = self.span(&pair);
        Value {
            id: self.expr(pair),
            span,
            parens,
        }
    }

    fn atom(&mut self, part: Pair<'s>, rest: &mut Pairs<'s, Rule>) -> Value {
        let span = self.span(&part);
        let plain = |id| Value {
            id,
            span,
            parens: false,
        };
        let kind = match part.as_rule() {
            Rule::name | Rule::string => match rest.peek().filter(|next| next.as_rule() == Rule::args) {
                Some(_) => return self.call(&part, rest),
                None if part.as_rule() == Rule::string => ExprKind::Str(self.text(&part).into()),
                None if part.as_str() == "_" => ExprKind::Wildcard,
                None => ExprKind::Name(self.intern(part.as_str())),
            },
            Rule::number => literal::number(part.as_str(), span).unwrap_or_else(|problem| {
                self.report(problem);
                ExprKind::Int { value: 0, suffix: None }
            }),
            Rule::quoted_name => {
                if !self.quoted_names {
                    let problem = Diagnostic::error("T0001", "a name in backquotes is that of a column of a table")
                        .label(span, "")
                        .help("names have letters, digits and `_`");
                    self.report(problem);
                }
                ExprKind::Name(self.intern(part.as_str().trim_matches('`')))
            }
            Rule::boolean => ExprKind::Bool(part.as_str() == "true"),
            Rule::positional => ExprKind::Positional(self.small(&part.as_str()[1..], span)),
            Rule::list => ExprKind::List(self.items(part).0),
            Rule::paren => {
                let (items, trailing) = self.items(part);
                match items.as_slice() {
                    [one] if !trailing => {
                        return Value {
                            id: *one,
                            span,
                            parens: true,
                        };
                    }
                    _ => ExprKind::Tuple(items),
                }
            }
            Rule::if_expr => return plain(self.if_expr(part)),
            _ => return plain(self.when_expr(part)),
        };
        plain(self.ast.push(kind, span))
    }

    fn call(&mut self, callee: &Pair<'s>, rest: &mut Pairs<'s, Rule>) -> Value {
        let start = self.span(callee);
        let quoted = callee.as_rule() == Rule::string;
        let callee = if quoted {
            Ident {
                name: self.text(callee).into(),
                span: start,
            }
        } else {
            self.ident(callee)
        };
        let mut span = start;
        let mut args = Vec::new();
        if let Some(list) = rest.next() {
            span = start.to(self.span(&list));
            args = self.items(list).0;
        }
        let attrs = rest.peek().filter(|next| next.as_rule() == Rule::attrs).map(|pair| {
            rest.next();
            let attrs = self.attrs(pair);
            span = start.to(attrs.span);
            Box::new(attrs)
        });
        let id = self.ast.push(
            ExprKind::Call {
                callee,
                quoted,
                args,
                attrs,
            },
            span,
        );
        Value {
            id,
            span,
            parens: false,
        }
    }
}

fn binary_op(text: &str) -> BinaryOp {
    match text {
        "and" => BinaryOp::And,
        "or" => BinaryOp::Or,
        _ => BinaryOp::ALL
            .into_iter()
            .find(|op| op.symbol() == text)
            .unwrap_or(BinaryOp::Add),
    }
}
