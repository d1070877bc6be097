//! Declarations of operators.

use std::sync::Arc;

use tautomer_diag::Diagnostic;
use tautomer_tensor::DType;

use super::super::ast::*;
use super::super::syntax::{Pair, Rule};
use super::Builder;

impl<'s> Builder<'s> {
    pub(super) fn operator(&mut self, pair: Pair<'s>) -> Option<OperatorDecl> {
        let mut own = Ast::new(Arc::clone(&self.ast.source));
        own.power_caret = self.ast.power_caret;
        let outer = std::mem::replace(&mut self.ast, own);
        let declared = self.operator_parts(pair);
        let own = std::mem::replace(&mut self.ast, outer);
        Some(OperatorDecl {
            ast: Arc::new(own),
            ..declared?
        })
    }

    /// The declaration, whose expressions are in the current arena.
    fn operator_parts(&mut self, pair: Pair<'s>) -> Option<OperatorDecl> {
        let span = self.span(&pair);
        let doc = self.doc(span.start);
        let mut out = OperatorDecl {
            ast: Arc::new(Ast::synthetic()),
            doc,
            name: Ident::new(""),
            quoted: false,
            operands: Vec::new(),
            attrs: Vec::new(),
            results: None,
            body: None,
            onnx: None,
            conditions: Vec::new(),
            traits: Vec::new(),
            cost: None,
            also: Vec::new(),
            laws: Vec::new(),
            span,
        };
        for part in pair.into_inner() {
            let at = self.span(&part);
            match part.as_rule() {
                Rule::string => {
                    out.quoted = true;
                    out.name = Ident {
                        name: self.text(&part).into(),
                        span: at,
                    };
                }
                Rule::name => out.name = self.ident(&part),
                Rule::op_operands => {
                    out.operands = part.into_inner().filter_map(|part| self.op_operand(part)).collect();
                }
                Rule::op_attrs => out.attrs = part.into_inner().filter_map(|part| self.op_attr(part)).collect(),
                Rule::op_results => out.results = Some(part.into_inner().map(|part| self.op_result(part)).collect()),
                Rule::block => out.body = Some(self.block(part)),
                Rule::where_clause => self.exprs(part, &mut out.conditions),
                Rule::traits_clause => {
                    let names = part.into_inner().filter(|part| part.as_rule() == Rule::item_name);
                    out.traits.extend(names.map(|part| self.ident(&part)));
                }
                Rule::also_clause => {
                    let names = part.into_inner().filter(|part| part.as_rule() == Rule::name);
                    out.also.extend(names.map(|part| self.ident(&part)));
                }
                Rule::laws_clause => {
                    let laws = part.into_inner().filter(|part| part.as_rule() == Rule::law);
                    out.laws.extend(laws.filter_map(|part| self.law(part)));
                }
                Rule::onnx_clause => {
                    let clause = self.onnx_clause(part);
                    if let (Some(before), Some(clause)) = (&out.onnx, &clause) {
                        self.twice("`onnx`", before.span, clause.span);
                    }
                    out.onnx = clause.or(out.onnx);
                }
                Rule::cost_clause => {
                    let clause = self.cost_clause(part);
                    if let (Some(before), Some(clause)) = (&out.cost, &clause) {
                        self.twice("`cost`", before.span, clause.span);
                    }
                    out.cost = clause.or(out.cost);
                }
                _ => {}
            }
        }
        Some(out)
    }

    fn law(&mut self, pair: Pair<'s>) -> Option<LawDecl> {
        let mut words = pair.into_inner().filter(|part| part.as_rule() == Rule::label);
        let (name, value) = (words.next()?, words.next());
        Some(LawDecl {
            name: self.ident(&name),
            value: value.map(|value| self.ident(&value)),
        })
    }

    fn op_operand(&mut self, pair: Pair<'s>) -> Option<OperandDecl> {
        let span = self.span(&pair);
        let (mut name, mut mark, mut ty) = (None, Mark::One, None);
        for part in pair.into_inner() {
            match part.as_rule() {
                Rule::name => name = Some(self.ident(&part)),
                Rule::mark => mark = mark_of(part.as_str()),
                Rule::type_expr => ty = Some(self.type_expr(part, 0)),
                _ => {}
            }
        }
        Some(OperandDecl {
            name: name?,
            mark,
            ty,
            span,
        })
    }

    fn op_attr(&mut self, pair: Pair<'s>) -> Option<AttrDecl> {
        let span = self.span(&pair);
        let doc = self.doc(span.start);
        let (mut name, mut kind, mut optional, mut default) = (None, None, false, None);
        for part in pair.into_inner() {
            let at = self.span(&part);
            match part.as_rule() {
                Rule::label => name = Some(self.ident(&part)),
                Rule::attr_kind => kind = self.attr_kind(part),
                Rule::mark if mark_of(part.as_str()) == Mark::Optional => optional = true,
                Rule::mark => {
                    let problem = Diagnostic::error("T0109", "an attribute has one value, which may be a list");
                    self.report(problem.label(at, "").help("write a list as `axes: [int]`"));
                }
                Rule::expr => default = Some(self.expr(part)),
                _ => {}
            }
        }
        Some(AttrDecl {
            doc,
            name: name?,
            kind: kind?,
            optional,
            default,
            span,
        })
    }

    fn attr_kind(&mut self, pair: Pair<'s>) -> Option<AttrKindDecl> {
        let span = self.span(&pair);
        let mut texts: Vec<Arc<str>> = Vec::new();
        for part in pair.into_inner() {
            match part.as_rule() {
                Rule::label => return Some(AttrKindDecl::One(self.ident(&part))),
                Rule::list_kind => {
                    let inner = part.into_inner().find(|part| part.as_rule() == Rule::label)?;
                    return Some(AttrKindDecl::List(self.ident(&inner)));
                }
                Rule::string => texts.push(self.text(&part).into()),
                _ => {}
            }
        }
        Some(AttrKindDecl::OneOf(texts, span))
    }

    fn op_result(&mut self, pair: Pair<'s>) -> ResultDecl {
        let span = self.span(&pair);
        let mut out = ResultDecl {
            name: None,
            optional: false,
            ty: None,
            span,
        };
        for part in pair.into_inner() {
            match part.as_rule() {
                Rule::name => out.name = Some(self.ident(&part)),
                Rule::mark => out.optional = mark_of(part.as_str()) == Mark::Optional,
                Rule::type_expr => out.ty = Some(self.type_expr(part, 0)),
                _ => {}
            }
        }
        // `-> f32` is a type, `-> y` is a name.
        if let (Some(name), None, false) = (&out.name, &out.ty, out.optional)
            && let Ok(dtype) = name.as_str().parse::<DType>()
        {
            out.ty = Some(TypeExpr {
                kind: TypeKind::Tensor {
                    dtype: Some(DTypeName { dtype, span: name.span }),
                    dims: Dims::Scalar,
                },
                span: name.span,
            });
            out.name = None;
        }
        out
    }

    fn onnx_clause(&mut self, pair: Pair<'s>) -> Option<OnnxClause> {
        let span = self.span(&pair);
        let (mut texts, mut version): (Vec<Arc<str>>, Option<u32>) = (Vec::new(), None);
        for part in pair.into_inner() {
            match part.as_rule() {
                Rule::string => texts.push(self.text(&part).into()),
                Rule::label => texts.push(part.as_str().into()),
                Rule::number => {
                    let at = self.span(&part);
                    version = Some(self.small(part.as_str(), at));
                }
                _ => {}
            }
        }
        let mut texts = texts.into_iter();
        Some(OnnxClause {
            domain: texts.next()?,
            name: texts.next()?,
            version,
            span,
        })
    }

    fn cost_clause(&mut self, pair: Pair<'s>) -> Option<CostClause> {
        let span = self.span(&pair);
        let (mut rule, mut operations) = (None, None);
        for part in pair.into_inner() {
            match part.as_rule() {
                Rule::label => rule = Some(self.ident(&part)),
                Rule::number => operations = self.real(&part),
                _ => {}
            }
        }
        Some(CostClause {
            rule: rule?,
            operations,
            span,
        })
    }
}

fn mark_of(text: &str) -> Mark {
    match text {
        "?" => Mark::Optional,
        _ => Mark::Variadic,
    }
}
