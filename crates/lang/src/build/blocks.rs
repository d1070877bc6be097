//! Choices, blocks, definitions, types.

use tautomer_diag::{Diagnostic, Span, did_you_mean};
use tautomer_tensor::DType;

use super::super::MAX_TYPE_NESTING;
use super::super::ast::*;
use super::super::syntax::{Pair, Rule};
use super::Builder;

impl<'s> Builder<'s> {
    /// `if … else if … else …` and `if(c, a, b)`.
    pub(super) fn if_expr(&mut self, pair: Pair<'s>) -> ExprId {
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
    pub(super) fn when_expr(&mut self, pair: Pair<'s>) -> ExprId {
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

    pub(super) fn block(&mut self, pair: Pair<'s>) -> Block {
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

    pub(super) fn type_expr(&mut self, pair: Pair<'s>, depth: usize) -> TypeExpr {
        let span = self.span(&pair);
        let (mut dtype, mut dims) = (None, Dims::Scalar);
        let mut wrapper: Option<Pair<'s>> = None;
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
                Rule::label if matches!(part.as_str(), "sequence" | "optional") => wrapper = Some(part),
                Rule::label => {
                    let at = self.span(&part);
                    dtype = self.dtype(part.as_str(), at).map(|dtype| DTypeName { dtype, span: at });
                }
                Rule::item_type if depth >= MAX_TYPE_NESTING || wrapper.is_none() => {
                    let problem = match wrapper {
                        Some(_) => Diagnostic::error("T0601", "types are nested too deep")
                            .label(span, format!("more than {MAX_TYPE_NESTING} deep")),
                        None => Diagnostic::error("T0205", "only `sequence` and `optional` take a type")
                            .label(span, "")
                            .help("write a tensor as `f32[2, 3]`, and a tuple as `(f32, i64)`"),
                    };
                    self.report(problem);
                    return TypeExpr {
                        kind: TypeKind::Tuple(Vec::new()),
                        span,
                    };
                }
                Rule::item_type => {
                    let optional = wrapper.as_ref().is_some_and(|name| name.as_str() == "optional");
                    let item = part.into_inner().next().map(|part| self.type_expr(part, depth + 1));
                    let item = Box::new(item.unwrap_or(TypeExpr {
                        kind: TypeKind::Tuple(Vec::new()),
                        span,
                    }));
                    let kind = match optional {
                        true => TypeKind::Optional(item),
                        false => TypeKind::Sequence(item),
                    };
                    return TypeExpr { kind, span };
                }
                Rule::any_rank => dims = Dims::AnyRank,
                _ => {
                    let list: Vec<DimExpr> = part.into_inner().map(|dim| self.dim(dim)).collect();
                    // `f32[]` means `f32`; without an element type only the brackets are written.
                    dims = if list.is_empty() {
                        Dims::Scalar
                    } else {
                        Dims::List(list)
                    };
                }
            }
        }
        if let Some(name) = wrapper {
            let (name, at) = (name.as_str(), self.span(&name));
            self.report(
                Diagnostic::error("T0205", format!("`{name}` takes the type of what is inside"))
                    .label(at, "")
                    .help(format!("write it in parentheses: `{name}(f32[..])`")),
            );
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

    pub(super) fn dtype(&mut self, name: &str, span: Span) -> Option<DType> {
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
