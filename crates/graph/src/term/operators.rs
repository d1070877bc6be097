//! Operators between attribute expressions, and equality.

use super::{Evaluator, NO_MEMBERS, Result, Term, TermError, float, kind};
use tautomer_diag::Span;
use tautomer_lang::ast::{BinaryOp, ExprId, ExprKind};
use tautomer_tensor::Dim;

impl Evaluator<'_> {
    pub(super) fn binary(&mut self, op: BinaryOp, lhs: ExprId, rhs: ExprId, span: Span) -> Result {
        let value = self.binary_value(op, lhs, rhs, span)?;
        self.limited(value, span)
    }

    fn binary_value(&mut self, op: BinaryOp, lhs: ExprId, rhs: ExprId, span: Span) -> Result {
        use BinaryOp as B;
        let a = self.eval(lhs)?;
        match (op, &a) {
            (B::And, Term::Bool(false)) => return Ok(Term::Bool(false)),
            (B::Or, Term::Bool(true)) => return Ok(Term::Bool(true)),
            _ => {}
        }
        if let (B::In, ExprKind::List(items) | ExprKind::Tuple(items)) = (op, self.ast.kind(rhs))
            && items.is_empty()
        {
            return Err(TermError {
                help: Some(NO_MEMBERS.to_owned()),
                ..TermError::new(self.ast.span(rhs), "membership in an empty list never holds")
            });
        }
        let b = self.eval(rhs)?;
        let mismatch = |a: &Term, b: &Term| {
            TermError::new(
                span,
                format!("`{}` does not apply to {} and {}", op.symbol(), kind(a), kind(b)),
            )
        };
        self.spend(a.weight() + b.weight(), span)?;
        if let B::Eq | B::Ne = op {
            let equal = self.equal(&a, &b, span)?;
            return Ok(Term::Bool(equal == (op == B::Eq)));
        }
        Ok(match (op, a, b) {
            (B::And, Term::Bool(_), Term::Bool(b)) | (B::Or, Term::Bool(_), Term::Bool(b)) => Term::Bool(b),
            (B::In, item, Term::List(items)) => {
                let mut found = false;
                for other in &items {
                    found |= self.equal(&item, other, span)?;
                }
                Term::Bool(found)
            }
            (B::In, Term::Str(part), Term::Str(text)) => Term::Bool(text.contains(&*part)),
            (B::Concat, Term::Str(a), Term::Str(b)) => Term::Str(format!("{a}{b}").into()),
            (B::Concat, Term::List(mut a), Term::List(b)) => {
                a.extend(b);
                Term::List(a)
            }
            (_, Term::Int(a), Term::Int(b)) => match op {
                B::Add => Term::Int(a + b),
                B::Sub => Term::Int(a - b),
                B::Mul => Term::Int(a * b),
                B::Div | B::Rem if b == Dim::Const(0) => return Err(TermError::new(span, "division by zero")),
                B::Div => Term::Int(a.floor_div(&b)),
                B::Rem => Term::Int(a.modulo(&b)),
                B::Lt | B::Le | B::Gt | B::Ge => {
                    let (less, wanted) = match op {
                        B::Lt => (a.is_less(&b), true),
                        B::Ge => (a.is_less(&b), false),
                        B::Gt => (b.is_less(&a), true),
                        _ => (b.is_less(&a), false),
                    };
                    let Some(less) = less else {
                        return Err(TermError::unknown(
                            span,
                            format!("whether {a} {} {b} is not known", op.symbol()),
                        ));
                    };
                    Term::Bool(less == wanted)
                }
                _ => return Err(mismatch(&Term::Int(a), &Term::Int(b))),
            },
            (_, a, b) => match (float(&a), float(&b)) {
                (Some(x), Some(y)) => match op {
                    B::Add => Term::Float(x + y),
                    B::Sub => Term::Float(x - y),
                    B::Mul => Term::Float(x * y),
                    B::Div => Term::Float(x / y),
                    B::Pow => Term::Float(x.powf(y)),
                    B::Lt | B::Le | B::Gt | B::Ge => Term::Bool(compare(op, x, y)),
                    _ => return Err(mismatch(&a, &b)),
                },
                _ => return Err(mismatch(&a, &b)),
            },
        })
    }

    /// Equality. Lists of different lengths differ; symbolic integers are equal if they are the same expression.
    pub(super) fn equal(&self, a: &Term, b: &Term, span: Span) -> std::result::Result<bool, TermError> {
        Ok(match (a, b) {
            (Term::Int(x), Term::Int(y)) => match x.equals(y) {
                Some(equal) => equal,
                None => return Err(TermError::unknown(span, format!("whether {x} equals {y} is not known"))),
            },
            (Term::List(x), Term::List(y)) => {
                if x.len() != y.len() {
                    return Ok(false);
                }
                let mut unknown = None;
                for (x, y) in x.iter().zip(y) {
                    match self.equal(x, y, span) {
                        Ok(true) => {}
                        Ok(false) => return Ok(false),
                        Err(e) => unknown = Some(e),
                    }
                }
                return unknown.map_or(Ok(true), Err);
            }
            (Term::None, Term::None) => true,
            (Term::None, _) | (_, Term::None) => false,
            _ => match (float(a), float(b)) {
                (Some(x), Some(y)) => x == y,
                _ => a == b,
            },
        })
    }
}

fn compare(op: BinaryOp, a: f64, b: f64) -> bool {
    match op {
        BinaryOp::Lt => a < b,
        BinaryOp::Le => a <= b,
        BinaryOp::Gt => a > b,
        _ => a >= b,
    }
}
