//! Functions, declarations, rules, examples.

use std::sync::Arc;

use tautomer_diag::{Diagnostic, Diagnostics, Span};

use super::super::ast::*;
use super::super::literal;
use super::super::script::{POWER_CARET, Statement};
use super::super::syntax::{Pair, Rule};
use super::Builder;

impl<'s> Builder<'s> {
    /// A whole program.
    pub(in super::super) fn program(mut self, pair: Pair<'s>) -> Result<Program, Diagnostics> {
        let (mut opaques, mut operators, mut functions, mut body) = (Vec::new(), Vec::new(), Vec::new(), None);
        let mut pragma = None;
        for part in pair.into_inner() {
            match part.as_rule() {
                Rule::function => {
                    let doc = self.doc(self.span(&part).start);
                    functions.push(Function {
                        doc,
                        ..self.function(part)
                    });
                }
                Rule::pragma => pragma = self.pragma(part),
                Rule::opaque => opaques.extend(self.opaque(part)),
                Rule::operator => operators.extend(self.operator(part)),
                Rule::body => body = Some(self.block(part)),
                _ => {}
            }
        }
        let comments = self.remaining_comments();
        self.problems.into_result(Program {
            ast: self.ast,
            pragma,
            opaques,
            operators,
            functions,
            body,
            comments,
        })
    }

    /// `pragma power_caret`, the only pragma allowed in programs.
    fn pragma(&mut self, pair: Pair<'s>) -> Option<Span> {
        let span = self.span(&pair);
        let name = pair.into_inner().find(|part| part.as_rule() == Rule::label)?;
        if name.as_str() == POWER_CARET {
            self.ast.power_caret = true;
            return Some(span);
        }
        let problem = Diagnostic::error("T0001", format!("unknown pragma `{}`", name.as_str())).label(span, "");
        self.report(match name.as_str() {
            "compat" => problem.help("`pragma compat` is for scripts, which have no functions"),
            _ => problem.help(format!("a program may begin with `pragma {POWER_CARET}`")),
        });
        None
    }

    /// A function of a script; its expressions follow those of the functions before it.
    pub(in super::super) fn script_function(
        mut self,
        pair: Pair<'s>,
        before: Ast,
    ) -> Result<(Ast, Function), Diagnostics> {
        self.ast = before;
        let mut function = None;
        for part in pair.into_inner().filter(|part| part.as_rule() == Rule::function) {
            let doc = self.doc(self.span(&part).start);
            function = Some(Function {
                doc,
                ..self.function(part)
            });
        }
        match function {
            Some(function) => self.problems.into_result((self.ast, function)),
            None => Err(Diagnostic::error("T0001", "empty text").into()),
        }
    }

    /// One statement of a script, whose expressions follow those of the functions of the script.
    pub(in super::super) fn statement(mut self, pair: Pair<'s>, before: Ast) -> Result<Statement, Diagnostics> {
        self.ast = before;
        let span = self.span(&pair);
        let (mut name, mut ty, mut value) = (None, None, None);
        for part in pair.into_inner() {
            match part.as_rule() {
                Rule::assign | Rule::declare => {
                    for part in part.into_inner() {
                        match part.as_rule() {
                            Rule::name => name = Some(self.ident(&part)),
                            Rule::type_expr => ty = Some(self.type_expr(part, 0)),
                            _ => {}
                        }
                    }
                }
                Rule::expr => value = Some(self.expr(part)),
                _ => {}
            }
        }
        self.problems.into_result(Statement {
            ast: self.ast,
            functions: Arc::default(),
            name,
            ty,
            value,
            span,
        })
    }

    /// A whole rule file.
    pub(in super::super) fn rule_file(mut self, pair: Pair<'s>) -> Result<RuleFile, Diagnostics> {
        let (mut uses, mut items): (Vec<Use>, Vec<Item>) = (Vec::new(), Vec::new());
        for part in pair.into_inner() {
            let span = self.span(&part);
            match part.as_rule() {
                Rule::use_decl => {
                    if let Some(before) = items.last() {
                        let problem = Diagnostic::error("T0013", "`use` after other items")
                            .label(span, "move this to the beginning of the file")
                            .secondary(
                                Span::new(before.span().start, before.span().start),
                                "an item begins here",
                            );
                        self.report(problem);
                    }
                    if let Some(path) = part.into_inner().find(|part| part.as_rule() == Rule::string) {
                        uses.push(Use {
                            path: self.text(&path),
                            span,
                        });
                    }
                }
                Rule::operator => items.extend(self.operator(part).map(|operator| Item::Operator(Box::new(operator)))),
                Rule::rule_decl => items.extend(self.rule(part).map(|rule| Item::Rule(Box::new(rule)))),
                Rule::example => items.extend(self.example(part).map(|example| Item::Example(Box::new(example)))),
                Rule::no_example => {
                    items.extend(self.example(part).map(|example| Item::NoExample(Box::new(example))));
                }
                Rule::ruleset => items.extend(self.ruleset(part).map(Item::RuleSet)),
                _ => {}
            }
        }
        let comments = self.remaining_comments();
        self.problems.into_result(RuleFile {
            ast: self.ast,
            uses,
            items,
            comments,
        })
    }

    /// The doc comment that ends right before `start`.
    pub(super) fn doc(&mut self, start: u32) -> Option<String> {
        let source = std::sync::Arc::clone(&self.ast.source);
        let mut first = self.comments.partition_point(|comment| comment.span.start < start);
        let (end, mut next) = (first, start);
        while first > 0 {
            let comment = &self.comments[first - 1];
            let text = source.slice(comment.span);
            let between = source.slice(Span::new(comment.span.end, next));
            let is_doc = text.starts_with("///") && !text.starts_with("////");
            if !is_doc || !comment.own_line || !between.trim().is_empty() || self.taken[first - 1] {
                break;
            }
            next = comment.span.start;
            first -= 1;
        }
        if first == end {
            return None;
        }
        self.taken[first..end].fill(true);
        let line = |comment: &Comment| {
            let text = &source.slice(comment.span)[3..];
            text.strip_prefix(' ').unwrap_or(text).to_owned()
        };
        Some(
            self.comments[first..end]
                .iter()
                .map(line)
                .collect::<Vec<_>>()
                .join("\n"),
        )
    }

    pub(super) fn remaining_comments(&mut self) -> Vec<Comment> {
        let comments = std::mem::take(&mut self.comments);
        comments
            .into_iter()
            .zip(&self.taken)
            .filter(|(_, taken)| !**taken)
            .map(|(comment, _)| comment)
            .collect()
    }

    fn function(&mut self, pair: Pair<'s>) -> Function {
        let span = self.span(&pair);
        let (mut name, mut params, mut result, mut body) = (None, Vec::new(), None, None);
        for part in pair.into_inner() {
            match part.as_rule() {
                Rule::name => name = Some(self.ident(&part)),
                Rule::params => params = self.params(part),
                Rule::type_expr => result = Some(self.type_expr(part, 0)),
                Rule::block => body = Some(self.block(part)),
                _ => {}
            }
        }
        let body = body.unwrap_or_else(|| Block::of(self.ast.push(ExprKind::Wildcard, span)));
        Function {
            doc: None,
            name,
            params,
            result,
            body,
            span,
        }
    }

    fn opaque(&mut self, pair: Pair<'s>) -> Option<OpaqueDecl> {
        let span = self.span(&pair);
        let doc = self.doc(span.start);
        let (mut name, mut quoted, mut params, mut result) = (None, false, Vec::new(), None);
        for part in pair.into_inner() {
            match part.as_rule() {
                Rule::string => {
                    quoted = true;
                    name = Some(Ident {
                        name: self.text(&part).into(),
                        span: self.span(&part),
                    });
                }
                Rule::name => name = Some(self.ident(&part)),
                Rule::params => params = self.params(part),
                Rule::type_expr => result = Some(self.type_expr(part, 0)),
                _ => {}
            }
        }
        Some(OpaqueDecl {
            doc,
            name: name?,
            quoted,
            params,
            result: result?,
            span,
        })
    }

    fn params(&mut self, pair: Pair<'s>) -> Vec<Param> {
        pair.into_inner().filter_map(|part| self.param(part)).collect()
    }

    fn param(&mut self, pair: Pair<'s>) -> Option<Param> {
        let span = self.span(&pair);
        let (mut name, mut positional, mut class, mut ty) = (None, None, ParamClass::Input, None);
        for part in pair.into_inner() {
            match part.as_rule() {
                Rule::kw_param => class = ParamClass::Param,
                Rule::type_expr => ty = Some(self.type_expr(part, 0)),
                Rule::attrs => {
                    let attrs = self.attrs(part);
                    ty = self.described(attrs);
                }
                rule => {
                    let ident = self.ident(&part);
                    if rule == Rule::positional {
                        positional = Some(self.small(&part.as_str()[1..], ident.span));
                    }
                    name = Some(ident);
                }
            }
        }
        Some(Param {
            name: name?,
            positional,
            class,
            ty,
            span,
        })
    }

    /// The type in `x {shape = (n, 64), dtype = "f32"}`.
    fn described(&mut self, attrs: Attrs) -> Option<TypeExpr> {
        let (mut dtype, mut dims): (Option<DTypeName>, Option<(Dims, Span)>) = (None, None);
        let unknown = |span, what: String| {
            Diagnostic::error("T0014", what)
                .label(span, "")
                .help("`x {shape = (n, 64), dtype = \"f32\"}`")
        };
        if let Some(rest) = &attrs.rest {
            self.report(unknown(rest.span, "an input has no other attributes".into()));
        }
        for Attr { name, value } in attrs.entries {
            let span = self.ast.span(value);
            match (name.as_str(), self.ast.kind(value)) {
                ("shape", ExprKind::Tuple(items) | ExprKind::List(items)) => {
                    let ast = &self.ast;
                    let dim = |&id: &ExprId| match ast.kind(id) {
                        ExprKind::Wildcard => DimExpr::Unknown(ast.span(id)),
                        _ => DimExpr::Expr(id),
                    };
                    let list: Vec<DimExpr> = items.iter().map(dim).collect();
                    let shape = if list.is_empty() {
                        Dims::Scalar
                    } else {
                        Dims::List(list)
                    };
                    if let Some((_, before)) = dims.replace((shape, name.span)) {
                        self.twice("`shape`", before, name.span);
                    }
                }
                ("dtype", ExprKind::Str(text) | ExprKind::Name(text)) => {
                    let text = text.clone();
                    let found = self.dtype(&text, span).map(|dtype| DTypeName { dtype, span });
                    if let Some(before) = dtype {
                        self.twice("`dtype`", before.span, span);
                    }
                    dtype = found.or(dtype);
                }
                ("shape", _) => self.report(unknown(span, "a shape is a list of dimensions".into())),
                ("dtype", _) => self.report(unknown(span, "an element type is a name in quotes".into())),
                (other, _) => {
                    let what = format!("an input has a `shape` and a `dtype`, not `{other}`");
                    self.report(unknown(name.span, what));
                }
            }
        }
        let dims = dims.map_or(Dims::AnyRank, |(dims, _)| dims);
        Some(TypeExpr {
            kind: TypeKind::Tensor { dtype, dims },
            span: attrs.span,
        })
    }

    fn rule(&mut self, pair: Pair<'s>) -> Option<crate::ast::Rule> {
        let span = self.span(&pair);
        let doc = self.doc(span.start);
        let (mut name, mut ops, mut params, mut both_ways) = (None, Vec::new(), Vec::new(), false);
        let mut sides = Vec::with_capacity(2);
        let (mut conditions, mut assuming) = (Vec::new(), Vec::new());
        let mut numerics: Option<NumericsClause> = None;
        for part in pair.into_inner() {
            match part.as_rule() {
                Rule::item_name => name = Some(self.ident(&part)),
                Rule::rule_params => params = part.into_inner().filter_map(|part| self.rule_param(part)).collect(),
                Rule::op_binder => ops.extend(self.op_binder(part)),
                Rule::side => {
                    let Block { lets, result, span } = self.block(part);
                    sides.push(Side {
                        lets,
                        outputs: result,
                        span,
                    });
                }
                Rule::arrow => both_ways = part.as_str() == "<=>",
                Rule::where_clause => self.exprs(part, &mut conditions),
                Rule::assuming_clause => self.exprs(part, &mut assuming),
                Rule::numerics_clause => {
                    let clause = self.numerics(part);
                    if let (Some(before), Some(clause)) = (&numerics, &clause) {
                        self.twice("`numerics`", before.span, clause.span);
                    }
                    numerics = clause.or(numerics);
                }
                _ => {}
            }
        }
        let (target, source) = (sides.pop()?, sides.pop()?);
        let name = name?;
        Some(crate::ast::Rule {
            doc,
            name,
            ops,
            params,
            source,
            target,
            both_ways,
            conditions,
            numerics,
            assuming,
            span,
        })
    }

    pub(super) fn exprs(&mut self, pair: Pair<'s>, out: &mut Vec<ExprId>) {
        for part in pair.into_inner().filter(|part| part.as_rule() == Rule::expr) {
            out.push(self.expr(part));
        }
    }

    fn op_binder(&mut self, pair: Pair<'s>) -> Option<OpBinder> {
        let span = self.span(&pair);
        let (mut var, mut bound) = (None, Vec::new());
        for part in pair.into_inner() {
            match part.as_rule() {
                Rule::name => var = Some(self.ident(&part)),
                Rule::item_name => bound.push(self.ident(&part)),
                _ => {}
            }
        }
        Some(OpBinder { var: var?, bound, span })
    }

    fn rule_param(&mut self, pair: Pair<'s>) -> Option<RuleParam> {
        let span = self.span(&pair);
        let (mut name, mut index, mut class, mut ty) = (None, None, RuleClass::Any, None);
        for part in pair.into_inner() {
            match part.as_rule() {
                Rule::name => name = Some(self.ident(&part)),
                Rule::family => index = part.into_inner().next().map(|name| self.ident(&name)),
                Rule::rule_class => {
                    class = match part.as_str() {
                        "param" => RuleClass::Param,
                        "const" => RuleClass::Const,
                        _ => RuleClass::Any,
                    }
                }
                Rule::type_expr => ty = Some(self.type_expr(part, 0)),
                _ => {}
            }
        }
        Some(RuleParam {
            name: name?,
            index,
            class,
            ty,
            span,
        })
    }

    fn numerics(&mut self, pair: Pair<'s>) -> Option<NumericsClause> {
        let span = self.span(&pair);
        let (mut word, mut bound) = (None, None);
        for part in pair.into_inner() {
            let at = self.span(&part);
            match part.as_rule() {
                Rule::label => word = Some((part.as_str(), at)),
                Rule::number => match literal::number(part.as_str(), at) {
                    Ok(ExprKind::Float { value, .. }) => bound = Some(value),
                    Ok(ExprKind::Int { value, .. }) => bound = Some(value as f64),
                    Ok(_) => {}
                    Err(problem) => self.report(problem),
                },
                _ => {}
            }
        }
        let (word, at) = word?;
        let class = match (word, bound) {
            ("bitwise", None) => Numerics::Bitwise,
            ("real", None) => Numerics::Real,
            ("approx", Some(bound)) if bound.is_finite() => Numerics::Approx(bound),
            _ => {
                let what = match word {
                    "bitwise" | "real" => format!("`{word}` takes no error bound"),
                    "approx" => "`approx` takes a finite error bound".to_owned(),
                    _ => format!("unknown equality class `{word}`"),
                };
                let mut problem = Diagnostic::error("T0012", what).label(at, "");
                problem = match tautomer_diag::did_you_mean(word, ["bitwise", "real", "approx"]) {
                    Some(near) if near != word => problem.help(format!("did you mean `{near}`?")),
                    _ => problem.help("`numerics bitwise`, `numerics real` or `numerics approx(1e-3)`"),
                };
                self.report(problem);
                return None;
            }
        };
        Some(NumericsClause { class, span })
    }

    fn example(&mut self, pair: Pair<'s>) -> Option<Example> {
        let span = self.span(&pair);
        let doc = self.doc(span.start);
        let (mut name, mut functions) = (None, Vec::with_capacity(2));
        for part in pair.into_inner() {
            match part.as_rule() {
                Rule::item_name => name = Some(self.ident(&part)),
                Rule::function => functions.push(self.function(part)),
                _ => {}
            }
        }
        let mut functions = functions.into_iter();
        Some(Example {
            doc,
            name: name?,
            source: functions.next()?,
            target: functions.next(),
            span,
        })
    }

    fn ruleset(&mut self, pair: Pair<'s>) -> Option<RuleSet> {
        let span = self.span(&pair);
        let doc = self.doc(span.start);
        let mut names = pair.into_inner().filter(|part| part.as_rule() == Rule::item_name);
        let name = self.ident(&names.next()?);
        let members = names.map(|name| self.ident(&name)).collect();
        Some(RuleSet {
            doc,
            name,
            members,
            span,
        })
    }
}
