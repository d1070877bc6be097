//! Finds conditions that compare values of different kinds, which are never equal for any match.

use tautomer_diag::Diagnostic;
use tautomer_graph::term::{ResultKind, term_function};
use tautomer_lang::ast::{Ast, BinaryOp, ExprId, ExprKind, LetNames, Rule as RuleAst, UnaryOp};
use tautomer_lang::format_expr;
use tautomer_tensor::DType;

/// The kind of an expression, for every match.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// A value of the graph.
    Value,
    /// An integer or another number.
    Number,
    Bool,
    Str,
    DType,
    List,
    /// Not known.
    Open,
}

impl Kind {
    fn name(self) -> &'static str {
        match self {
            Kind::Value => "a tensor",
            Kind::Number => "a number",
            Kind::Bool => "a boolean",
            Kind::Str => "a string",
            Kind::DType => "an element type",
            Kind::List => "a list",
            Kind::Open => "anything",
        }
    }
}

/// The problem with the first part of a condition that has no value for any match, or never holds.
pub(super) fn problem(ast: &Ast, rule: &RuleAst, condition: ExprId) -> Option<Diagnostic> {
    let kinds = Kinds { ast, rule };
    let mut stack = vec![condition];
    while let Some(id) = stack.pop() {
        if let ExprKind::Binary { op, lhs, rhs } = ast.kind(id)
            && let Some(problem) = kinds.binary(id, *op, *lhs, *rhs)
        {
            return Some(problem);
        }
        stack.extend(ast.operands(id).into_iter().rev());
    }
    None
}

struct Kinds<'a> {
    ast: &'a Ast,
    rule: &'a RuleAst,
}

impl Kinds<'_> {
    fn binary(&self, id: ExprId, op: BinaryOp, lhs: ExprId, rhs: ExprId) -> Option<Diagnostic> {
        use BinaryOp as B;
        let (a, b) = (self.kind(lhs), self.kind(rhs));
        let compared = |other: ExprId, b: Kind| -> Option<Diagnostic> {
            let differ = a != Kind::Open && b != Kind::Open && a != b;
            // The order of two tensors cannot be decided from their types.
            let ordered = matches!(op, B::Lt | B::Le | B::Gt | B::Ge) && a == Kind::Value && b == Kind::Value;
            if !differ && !ordered {
                return None;
            }
            let text = match op {
                B::Ne => format!("`{}` is always true", self.text(id)),
                _ => "this condition never holds".to_owned(),
            };
            let label = format!("{} and {}", a.name(), b.name());
            let problem = Diagnostic::error("T0311", text).label(self.ast.span(id), label);
            Some(self.help(problem, [(lhs, a), (other, b)]))
        };
        match op {
            B::Eq | B::Ne | B::Lt | B::Le | B::Gt | B::Ge => compared(rhs, b),
            B::In => match self.ast.kind(rhs) {
                ExprKind::List(items) | ExprKind::Tuple(items) if !items.is_empty() => {
                    let found: Option<Vec<Diagnostic>> =
                        items.iter().map(|item| compared(*item, self.kind(*item))).collect();
                    found.and_then(|all| all.into_iter().next())
                }
                _ => None,
            },
            B::Add | B::Sub | B::Mul | B::Div | B::Rem | B::Pow if a == Kind::Value || b == Kind::Value => {
                let problem = Diagnostic::error("T0311", "this condition never holds")
                    .label(self.ast.span(id), format!("`{}` of a tensor", op.symbol()));
                Some(self.help(problem, [(lhs, a), (rhs, b)]))
            }
            _ => None,
        }
    }

    /// Adds help on how to write what was probably meant.
    fn help(&self, problem: Diagnostic, sides: [(ExprId, Kind); 2]) -> Diagnostic {
        let [(lhs, a), (rhs, b)] = sides;
        for (id, kind, other, against) in [(lhs, a, rhs, b), (rhs, b, lhs, a)] {
            let text = self.text(id);
            match (kind, against, self.ast.kind(other)) {
                (Kind::DType, Kind::Str, ExprKind::Str(name)) if name.parse::<DType>().is_ok() => {
                    return problem.help(format!("write element types without quotes: `{name}`"));
                }
                (Kind::DType, Kind::Str, _) => {
                    return problem.help("write element types without quotes: `f32`, `i64`");
                }
                (Kind::Value, ..) => {
                    return problem.help(format!(
                        "`value({text})` is the number or list that the constant `{text}` is"
                    ));
                }
                _ => {}
            }
        }
        problem.help("both sides of a comparison must be of the same kind")
    }

    fn text(&self, id: ExprId) -> String {
        format_expr(self.ast, id)
    }

    /// True for a variable of the rule that has an index or not, as given by `indexed`.
    fn is_variable(&self, name: &str, indexed: bool) -> bool {
        let mut params = self.rule.params.iter();
        params.any(|p| p.name.as_str() == name && p.index.is_some() == indexed)
    }

    /// True for a part of the source that is named by `let`.
    fn is_part(&self, name: &str) -> bool {
        let mut lets = self.rule.source.lets.iter();
        lets.any(|item| matches!(&item.names, LetNames::One(own) if own.as_str() == name))
    }

    fn kind(&self, id: ExprId) -> Kind {
        match self.ast.kind(id) {
            ExprKind::Int { .. } | ExprKind::Float { .. } => Kind::Number,
            ExprKind::Bool(_) => Kind::Bool,
            ExprKind::Str(_) => Kind::Str,
            ExprKind::List(_) | ExprKind::Tuple(_) | ExprKind::Range { .. } | ExprKind::Comprehension { .. } => {
                Kind::List
            }
            ExprKind::Name(name) if self.is_variable(name, false) || self.is_part(name) => Kind::Value,
            ExprKind::Name(name) if name.parse::<DType>().is_ok() => Kind::DType,
            ExprKind::Index { base, .. } => match self.ast.kind(*base) {
                ExprKind::Name(name) if self.is_variable(name, true) => Kind::Value,
                ExprKind::Field { name, .. } if name.as_str() == "shape" => Kind::Number,
                _ => Kind::Open,
            },
            ExprKind::Field { name, .. } => match name.as_str() {
                "shape" => Kind::List,
                "rank" | "size" => Kind::Number,
                "dtype" => Kind::DType,
                _ => Kind::Open,
            },
            ExprKind::Call { callee, .. } => match term_function(callee.as_str()).map(|f| f.result) {
                Some(ResultKind::Number) => Kind::Number,
                Some(ResultKind::Bool) => Kind::Bool,
                Some(ResultKind::List) => Kind::List,
                Some(ResultKind::Open) | None => Kind::Open,
            },
            ExprKind::Binary { op, .. } => match op {
                BinaryOp::Concat => Kind::Open,
                BinaryOp::Add | BinaryOp::Sub | BinaryOp::Mul | BinaryOp::Div | BinaryOp::Rem | BinaryOp::Pow => {
                    Kind::Number
                }
                BinaryOp::MatMul | BinaryOp::BitAnd | BinaryOp::BitOr | BinaryOp::BitXor => Kind::Open,
                _ => Kind::Bool,
            },
            ExprKind::Unary { op: UnaryOp::Neg, .. } => Kind::Number,
            ExprKind::Unary { op: UnaryOp::Not, .. } => Kind::Bool,
            _ => Kind::Open,
        }
    }
}
