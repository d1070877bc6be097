//! From pest's pairs to the syntax tree: expressions, blocks, types.
//!
//! Functions and rule files are in [`items`].

mod items;

use std::sync::Arc;

use pest::iterators::Pairs;
use rustc_hash::FxHashMap;

use crate::diag::{Diagnostic, Diagnostics, Source, Span, did_you_mean};
use crate::tensor::DType;

use super::MAX_TYPE_NESTING;
use super::ast::*;
use super::literal;
use super::syntax::{Pair, Rule};

/// Builds the tree of one text or of one item of it.
pub(super) struct Builder<'s> {
    ast: Ast,
    /// Where the text that was parsed begins in its source.
    base: u32,
    names: FxHashMap<&'s str, Arc<str>>,
    problems: Diagnostics,
    comments: Vec<Comment>,
    /// Which comments are documentation.
    taken: Vec<bool>,
    values: Vec<Value>,
    operators: Vec<(Operator, Span)>,
}

/// An operand that waits for its operator.
#[derive(Clone, Copy)]
struct Value {
    id: ExprId,
    /// With the parentheses around it.
    span: Span,
    parens: bool,
}

#[derive(Clone, Copy)]
enum Operator {
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

    /// Where `text` ends without blanks and comments: pest skips those before an optional part that turns out absent.
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

    /// The value of a literal text; empty after a problem.
    fn text(&mut self, pair: &Pair<'s>) -> String {
        literal::text(pair.as_str(), self.span(pair)).unwrap_or_else(|problem| {
            self.report(problem);
            String::new()
        })
    }

    /// An expression: operators are stacked until a looser one or the end releases them.
    fn expr(&mut self, pair: Pair<'s>) -> ExprId {
        let span = self.span(&pair);
        let (first_value, first_operator) = (self.values.len(), self.operators.len());
        let mut range: Option<Option<ExprId>> = None;
        let mut inner = pair.into_inner();
        while let Some(part) = inner.next() {
            match part.as_rule() {
                Rule::prefix => {
                    let operator = match part.as_str() {
                        "-" => Operator::Prefix(UnaryOp::Neg, prec::UNARY),
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
                self.ast.push(ExprKind::Range { start, end }, span)
            }
        }
    }

    fn pop(&mut self) -> Value {
        // The grammar puts an operand wherever one is taken.
        self.values.pop().expect("an operand")
    }

    fn infix(&mut self, part: &Pair<'s>, first_operator: usize) {
        let op = binary_op(part.as_str());
        // `**` is taken from the right: an equal one stays on the stack.
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

    /// Applies the operators that bind at least as tightly as `limit`; says where a comparison was among them.
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

    /// An expression that says whether it is one pair of parentheses.
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

    /// Items of a bracket, and whether a comma that matters follows the last.
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

    /// `if … else if … else …` and `if(c, a, b)`.
    fn if_expr(&mut self, pair: Pair<'s>) -> ExprId {
        let whole = self.span(&pair);
        let mut heads: Vec<(Vec<ExprId>, Span, Span)> = Vec::new();
        let mut blocks: Vec<Block> = Vec::new();
        let mut start = whole;
        for part in pair.into_inner() {
            let at = self.span(&part);
            match part.as_rule() {
                Rule::kw_if => start = at,
                Rule::paren => heads.push((self.items(part).0, at, start)),
                Rule::block => blocks.push(self.block(part)),
                _ => {}
            }
        }
        if let (&[], [(items, _, _)]) = (blocks.as_slice(), heads.as_slice())
            && let &[cond, then, otherwise] = items.as_slice()
        {
            let block = |result| {
                Box::new(Block {
                    lets: Vec::new(),
                    result,
                    span: self.ast.span(result),
                })
            };
            let (then, otherwise) = (block(then), block(otherwise));
            return self.ast.push(ExprKind::If { cond, then, otherwise }, whole);
        }
        let mut arms = Vec::with_capacity(heads.len());
        for (items, parens, start) in heads {
            match items.as_slice() {
                &[cond] if !blocks.is_empty() => arms.push((cond, start)),
                _ => {
                    let text = if blocks.is_empty() {
                        "three parts expected"
                    } else {
                        "one condition expected"
                    };
                    let problem = Diagnostic::error("T0010", "wrong number of parts in `if`")
                        .label(parens, text)
                        .help("`if (condition) { a } else { b }` or `if(condition, a, b)`");
                    self.report(problem);
                    return self.ast.push(ExprKind::Wildcard, whole);
                }
            }
        }
        self.arms(arms, blocks, whole.end, |cond, then, otherwise| ExprKind::If {
            cond,
            then,
            otherwise,
        })
    }

    /// `when … else when … else …`
    fn when_expr(&mut self, pair: Pair<'s>) -> ExprId {
        let whole = self.span(&pair);
        let (mut arms, mut blocks) = (Vec::new(), Vec::new());
        let mut start = whole;
        for part in pair.into_inner() {
            match part.as_rule() {
                Rule::kw_when => start = self.span(&part),
                Rule::expr => arms.push((self.expr(part), start)),
                Rule::block => blocks.push(self.block(part)),
                _ => {}
            }
        }
        self.arms(arms, blocks, whole.end, |cond, then, otherwise| ExprKind::When {
            cond,
            then,
            otherwise,
        })
    }

    /// Nests a chain of choices, the last one innermost.
    fn arms(
        &mut self,
        arms: Vec<(ExprId, Span)>,
        mut blocks: Vec<Block>,
        end: u32,
        make: fn(ExprId, Box<Block>, Box<Block>) -> ExprKind,
    ) -> ExprId {
        let mut otherwise = blocks.pop();
        for (cond, start) in arms.into_iter().rev() {
            let (Some(then), Some(other)) = (blocks.pop(), otherwise.take()) else {
                break;
            };
            let span = Span::new(start.start, end);
            let result = self.ast.push(make(cond, Box::new(then), Box::new(other)), span);
            otherwise = Some(Block {
                lets: Vec::new(),
                result,
                span,
            });
        }
        match otherwise {
            Some(block) => block.result,
            None => self.ast.push(ExprKind::Wildcard, Span::new(end, end)),
        }
    }

    fn block(&mut self, pair: Pair<'s>) -> Block {
        let span = self.span(&pair);
        let mut lets = Vec::new();
        let mut result = None;
        for part in pair.into_inner() {
            match part.as_rule() {
                Rule::let_stmt => lets.push(self.let_stmt(part)),
                Rule::expr => result = Some(self.expr(part)),
                Rule::comprehension => result = result.map(|body| self.comprehension(body, part)),
                _ => {}
            }
        }
        let result = result.unwrap_or_else(|| self.ast.push(ExprKind::Wildcard, span));
        Block { lets, result, span }
    }

    fn let_stmt(&mut self, pair: Pair<'s>) -> Let {
        let span = self.span(&pair);
        let mut names = LetNames::Tuple(Vec::new());
        let (mut ty, mut value) = (None, None);
        for part in pair.into_inner() {
            match part.as_rule() {
                Rule::name => names = LetNames::One(self.ident(&part)),
                Rule::let_tuple => names = LetNames::Tuple(part.into_inner().map(|name| self.ident(&name)).collect()),
                Rule::type_expr => ty = Some(self.type_expr(part, 0)),
                Rule::expr => value = Some(self.expr(part)),
                _ => {}
            }
        }
        let value = value.unwrap_or_else(|| self.ast.push(ExprKind::Wildcard, span));
        Let { names, ty, value, span }
    }

    fn type_expr(&mut self, pair: Pair<'s>, depth: usize) -> TypeExpr {
        let span = self.span(&pair);
        let (mut dtype, mut dims) = (None, Dims::Scalar);
        for part in pair.into_inner() {
            match part.as_rule() {
                Rule::tuple_type if depth >= MAX_TYPE_NESTING => {
                    let problem = Diagnostic::error("T0601", "tuple types are nested too deep")
                        .label(span, format!("more than {MAX_TYPE_NESTING} deep"));
                    self.report(problem);
                    return TypeExpr {
                        kind: TypeKind::Tuple(Vec::new()),
                        span,
                    };
                }
                Rule::tuple_type => {
                    let parts = part.into_inner().map(|part| self.type_expr(part, depth + 1)).collect();
                    return TypeExpr {
                        kind: TypeKind::Tuple(parts),
                        span,
                    };
                }
                Rule::label => {
                    let at = self.span(&part);
                    dtype = self.dtype(part.as_str(), at).map(|dtype| DTypeName { dtype, span: at });
                }
                Rule::any_rank => dims = Dims::AnyRank,
                _ => {
                    let list: Vec<DimExpr> = part.into_inner().map(|dim| self.dim(dim)).collect();
                    // `f32[]` is `f32`; without an element type the brackets are all there is.
                    dims = if list.is_empty() {
                        Dims::Scalar
                    } else {
                        Dims::List(list)
                    };
                }
            }
        }
        TypeExpr {
            kind: TypeKind::Tensor { dtype, dims },
            span,
        }
    }

    fn dim(&mut self, pair: Pair<'s>) -> DimExpr {
        match pair.as_rule() {
            Rule::unknown_dim => DimExpr::Unknown(self.span(&pair)),
            _ => DimExpr::Expr(self.expr(pair)),
        }
    }

    fn dtype(&mut self, name: &str, span: Span) -> Option<DType> {
        if let Ok(dtype) = name.parse() {
            return Some(dtype);
        }
        let mut problem = Diagnostic::error("T0011", format!("unknown element type `{name}`")).label(span, "");
        problem = match did_you_mean(name, DType::ALL.iter().map(|dtype| dtype.name())) {
            Some(near) => problem.help(format!("did you mean `{near}`?")),
            None => problem.help("element types are `f32`, `i64`, `bool` and others; see `explain T0011`"),
        };
        self.report(problem);
        None
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
