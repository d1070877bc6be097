//! Messages about types: sources that never have a type, and targets that never have the type of the source.

use std::sync::Arc;

use super::Checker;
use super::kinds;
use super::probe::{Difference, Instead, Rewritten, Verdict, judge, rewritten};
use crate::Rule;
use tautomer_diag::{Diagnostic, Severity};
use tautomer_graph::ValueId;
use tautomer_graph::term::{self, Scope, Term};
use tautomer_lang::ast::{Ast, DimExpr, Dims, ExprId, ExprKind, Rule as RuleAst, TypeKind};
use tautomer_lang::format_expr;
use tautomer_tensor::{Dim, Shape, Tensor, TensorType, Type};

impl Checker<'_> {
    /// Reports conditions that are false for every match.
    pub(super) fn check_conditions(&mut self, rule: &RuleAst) {
        let scope = Declared::new(self.ast, rule);
        for &condition in &rule.conditions {
            if let Some(problem) = kinds::problem(self.ast, rule, condition) {
                self.problems.push(problem);
                continue;
            }
            // Only a match shows what a value depends on.
            if calls(self.ast, condition, "is_static") {
                continue;
            }
            let span = self.ast.span(condition);
            let problem = match term::condition(self.ast, condition, &scope) {
                Ok(true) => continue,
                Ok(false) => Diagnostic::error("T0311", "this condition never holds")
                    .label(span, "false for every match")
                    .help("a rule applies where all of its conditions hold"),
                // If a name is unknown, the value of the condition is not certain.
                Err(e) if e.unknown || !self.knows_all(condition, &scope) => continue,
                Err(e) => {
                    let help = e
                        .help
                        .unwrap_or_else(|| "a condition without a value never holds".to_owned());
                    Diagnostic::error("T0106", e.message).label(e.span, "").help(help)
                }
            };
            self.problems.push(problem);
        }
    }

    /// True if the scope defines every name of the expression.
    fn knows_all(&self, id: ExprId, scope: &Declared) -> bool {
        let mut stack = vec![id];
        while let Some(id) = stack.pop() {
            match self.ast.kind(id) {
                ExprKind::Name(name) if scope.name(name).is_none() => return false,
                ExprKind::Comprehension { .. } => return false,
                _ => stack.extend(self.ast.operands(id)),
            }
        }
        true
    }

    /// Reports dimensions that no type has: only names, integers and `?` are compared.
    pub(super) fn check_dimensions(&mut self, rule: &RuleAst) {
        for param in &rule.params {
            let Some(TypeKind::Tensor {
                dims: Dims::List(dims), ..
            }) = param.ty.as_ref().map(|ty| &ty.kind)
            else {
                continue;
            };
            for dim in dims {
                let DimExpr::Expr(id) = dim else { continue };
                let name = &param.name.name;
                let (what, help) = match self.ast.kind(*id) {
                    ExprKind::Name(_) | ExprKind::Int { .. } => continue,
                    ExprKind::Range { start: None, end: None } => (
                        "`..` beside other dimensions".to_owned(),
                        format!("`[..]` alone means any rank: use it with a condition such as `{name}.rank >= 2`"),
                    ),
                    _ => (
                        format!("`{}` as a dimension", format_expr(self.ast, *id)),
                        "name the dimension, and constrain it in a condition: `where m == 2 * n`".to_owned(),
                    ),
                };
                self.problems.push(
                    Diagnostic::error("T0311", format!("`{name}` never matches: no type has {what}"))
                        .label(self.ast.span(*id), "a dimension is a name, an integer or `?` here")
                        .help(help),
                );
            }
        }
    }

    /// Warns about attributes that calls in graphs have in another form.
    pub(super) fn check_forms(&mut self, ast: &RuleAst, rule: &Rule) {
        let Some(found) = rewritten(rule) else { return };
        let Rewritten {
            op,
            attr,
            written,
            actual,
            operands,
            instead,
        } = found;
        let actual: Vec<String> = actual.iter().map(|(name, value)| format!("{name} = {value}")).collect();
        let text = format!(
            "no `{op}` with operands of known shape has `{attr} = {written}`, so `{}` does not match there",
            rule.name
        );
        let help = match instead {
            Instead::Write(value) => format!("write `{{{attr} = {value}}}`"),
            Instead::Bind(list) => format!("write `{{{list}}}`, and state in a condition what the names are"),
            Instead::LeaveOut(determined) if determined.is_empty() => format!("leave out `{attr}`"),
            Instead::LeaveOut(determined) => {
                let names: Vec<String> = determined.iter().map(|name| format!("{name} = v")).collect();
                let names = names.join(", ");
                format!("leave out `{attr}`, write `{{{names}}}`, and state in a condition what that is")
            }
        };
        self.problems.push(
            Diagnostic::warning("T0311", text)
                .label(self.ast.span(ast.source.outputs), "")
                .note(format!(
                    "graphs have the resolved form: for {} that is `{{{}}}`",
                    operands.join(", "),
                    actual.join(", ")
                ))
                .help(help),
        );
    }

    /// Reports a rule whose sides never have the same type.
    pub(super) fn check_types(&mut self, ast: &RuleAst, rule: &Rule) {
        let name = &rule.name;
        let source = self.ast.span(ast.source.outputs);
        let problem = match judge(rule) {
            Verdict::Agrees | Verdict::Unknown => return,
            Verdict::Never { op, reason } => {
                let op = op.map(|op| format!("`{op}`: ")).unwrap_or_default();
                Diagnostic::error(
                    "T0311",
                    format!("the source of `{name}` never has a type: {op}{reason}"),
                )
                .label(source, "for any operands")
                .help("graphs contain an operator only with operands that it accepts")
            }
            Verdict::Differs(difference) => {
                let Difference {
                    operands,
                    source: types,
                    target,
                    certain,
                } = *difference;
                let severity = if certain { Severity::Error } else { Severity::Warning };
                let never = if certain { "never has" } else { "does not have" };
                let tried = match certain {
                    true => format!("for any operands; for example {}", operands.join(", ")),
                    false => format!(
                        "for none of the operands that were tried, such as {}",
                        operands.join(", ")
                    ),
                };
                let problem = match target {
                    Ok(made) => Diagnostic::new(
                        severity,
                        "T0316",
                        format!("the target of `{name}` {never} the type of the source"),
                    )
                    .label(self.ast.span(ast.target.outputs), list(&made))
                    .secondary(source, list(&types)),
                    Err(inner) => {
                        let problem = Diagnostic::new(
                            severity,
                            "T0316",
                            format!("the target of `{name}` {never} a type: {}", inner.message),
                        );
                        let labels = inner.labels.iter();
                        let problem = labels.fold(problem, |p, l| match l.primary {
                            true => p.label(l.span, l.text.clone()),
                            false => p.secondary(l.span, l.text.clone()),
                        });
                        problem.secondary(source, list(&types))
                    }
                };
                problem
                    .note(tried)
                    .help("the target replaces the source, so it needs the same element type and dimensions")
            }
        };
        self.problems.push(problem);
    }
}

/// True if the function of that name is called.
fn calls(ast: &Ast, id: ExprId, name: &str) -> bool {
    let mut stack = vec![id];
    while let Some(id) = stack.pop() {
        if matches!(ast.kind(id), ExprKind::Call { callee, .. } if callee.as_str() == name) {
            return true;
        }
        stack.extend(ast.operands(id));
    }
    false
}

fn list(types: &[Type]) -> String {
    let all: Vec<String> = types.iter().map(Type::to_string).collect();
    format!("this is {}", all.join(", "))
}

/// The declarations of the variables of a rule.
struct Declared {
    names: Vec<(Arc<str>, Term)>,
    types: Vec<Type>,
}

impl Declared {
    fn new(ast: &Ast, rule: &RuleAst) -> Declared {
        let mut out = Declared {
            names: Vec::new(),
            types: Vec::new(),
        };
        let mut unknown = u32::MAX / 2;
        for param in rule.params.iter().filter(|p| p.index.is_none()) {
            // Without an element type, the declaration is not one type.
            let Some(TypeKind::Tensor {
                dtype: Some(dtype),
                dims,
            }) = param.ty.as_ref().map(|t| &t.kind)
            else {
                continue;
            };
            let mut extent = |dim: &DimExpr| {
                if let DimExpr::Expr(id) = dim {
                    match ast.kind(*id) {
                        ExprKind::Name(name) => return Dim::symbol(name),
                        ExprKind::Int { value, .. } => return i64::try_from(*value).unwrap_or(i64::MAX).into(),
                        _ => {}
                    }
                }
                unknown += 1;
                Dim::unknown(unknown)
            };
            let ty = match dims {
                Dims::AnyRank => TensorType::any_rank(dtype.dtype),
                Dims::Scalar => TensorType::new(dtype.dtype, Shape::scalar()),
                Dims::List(list) => TensorType::new(dtype.dtype, list.iter().map(&mut extent).collect::<Shape>()),
            };
            for dim in ty.shape.iter().flat_map(|s| s.iter()) {
                let name: Arc<str> = dim.to_string().into();
                out.names.push((name, Term::Int(dim.clone())));
            }
            out.names
                .push((param.name.name.clone(), Term::Value(ValueId::new(out.types.len()))));
            out.types.push(Type::Tensor(ty));
        }
        out
    }
}

impl Scope for Declared {
    fn name(&self, name: &str) -> Option<Term> {
        self.names.iter().find(|(n, _)| &**n == name).map(|(_, t)| t.clone())
    }

    fn ty(&self, v: ValueId) -> Type {
        self.types[v.index()].clone()
    }

    fn constant(&self, _: ValueId) -> Option<Tensor> {
        None
    }
}
