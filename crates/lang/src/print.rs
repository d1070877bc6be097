//! From syntax trees to canonical text: the formatter.
//!
//! Two-space indentation, 100 columns, as few parentheses as precedence allows. The text parses to the same tree, and
//! formatting is idempotent. Nothing recurses: [`layout`] keeps a stack of what is left to write.

mod comments;
mod items;
mod layout;
mod measure;
mod operators;
mod targets;
#[cfg(test)]
mod tests;

use std::fmt::Write as _;

use tautomer_tensor::DType;

use super::ast::*;
use layout::Printer;

/// The canonical text of a program.
///
/// ```
/// use std::sync::Arc;
/// use tautomer_diag::Source;
/// use tautomer_lang::{format_program, parse_program};
///
/// let source = Arc::new(Source::new("a.taut", "fn main(x:f32[n]){let y=(x*2)+1;relu( y ){}}"));
/// let program = parse_program(source).unwrap();
/// assert_eq!(format_program(&program), "fn main(x: f32[n]) {\n  let y = x * 2 + 1;\n  relu(y) {}\n}\n");
/// ```
pub fn format_program(program: &Program) -> String {
    let mut printer = Printer::new(&program.ast, &program.comments);
    printer.program(program);
    printer.finish()
}

/// The canonical text of a rule file.
pub fn format_rules(file: &RuleFile) -> String {
    let mut printer = Printer::new(&file.ast, &file.comments);
    printer.rule_file(file);
    printer.finish()
}

/// The canonical text of a file of targets.
///
/// ```
/// use std::sync::Arc;
/// use tautomer_diag::Source;
/// use tautomer_lang::{format_targets, parse_targets};
///
/// let file = parse_targets(Arc::new(Source::new("a.target", "target a{extends onnx static}"))).unwrap();
/// assert_eq!(format_targets(&file), "target a {\n  extends onnx\n  static\n}\n");
/// ```
pub fn format_targets(file: &TargetFile) -> String {
    let mut printer = Printer::new(&file.ast, &file.comments);
    printer.target_file(file);
    printer.finish()
}

/// The canonical text of the declaration of an operator.
pub fn format_operator(operator: &OperatorDecl) -> String {
    let mut printer = Printer::new(&operator.ast, &[]);
    printer.operator(operator);
    printer.finish()
}

/// The canonical text of one expression, on one line unless it contains definitions.
pub fn format_expr(ast: &Ast, id: ExprId) -> String {
    let mut printer = Printer::new(ast, &[]);
    printer.flat(id, prec::COMPREHENSION);
    printer.finish()
}

/// The canonical text of a type.
pub fn format_type(ast: &Ast, ty: &TypeExpr) -> String {
    let mut printer = Printer::new(ast, &[]);
    printer.type_expr(ty);
    printer.finish()
}

/// The precedence of an expression as written.
fn prec_of(kind: &ExprKind) -> u8 {
    match kind {
        ExprKind::Comprehension { .. } => prec::COMPREHENSION,
        ExprKind::Range { .. } => prec::RANGE,
        ExprKind::Binary { op, .. } => op.prec(),
        ExprKind::Unary { .. } => prec::UNARY,
        ExprKind::Int { value, .. } if *value < 0 => prec::UNARY,
        ExprKind::Float { value, .. } if value.is_sign_negative() => prec::UNARY,
        _ => prec::ATOM,
    }
}

/// The precedence that each operand of an infix operator needs to be written without parentheses.
const fn operand_precs(op: BinaryOp) -> (u8, u8) {
    match op {
        BinaryOp::Pow => (prec::ATOM, prec::UNARY),
        _ if op.is_comparison() => (op.prec() + 1, op.prec() + 1),
        _ => (op.prec(), op.prec() + 1),
    }
}

/// The precedence that the operand of a prefix operator needs.
fn unary_prec(op: UnaryOp, operand: &ExprKind) -> u8 {
    match operand {
        // `-5` is one literal; the negation of 5 is `-(5)`.
        ExprKind::Int { value, .. } if op == UnaryOp::Neg && *value > 0 => prec::ATOM + 1,
        ExprKind::Float { value, .. } if op == UnaryOp::Neg && value.is_sign_positive() => prec::ATOM + 1,
        _ => prec::UNARY,
    }
}

/// The precedence that the expression before `.0`, `.shape` or `[i]` needs.
fn base_prec(base: &ExprKind) -> u8 {
    match base {
        ExprKind::Int { .. } | ExprKind::Float { .. } => prec::ATOM + 1,
        _ => prec::ATOM,
    }
}

/// The precedence that the iterated expression of a comprehension needs: in `a.. if c` the range would continue with
/// `if`.
fn iter_prec(iter: &ExprKind) -> u8 {
    match iter {
        ExprKind::Range { end: None, .. } => prec::OR,
        _ => prec::RANGE,
    }
}

/// The text of a leaf; empty for everything else.
fn leaf(kind: &ExprKind) -> String {
    match kind {
        ExprKind::Int { value, suffix } => match suffix {
            Some(dtype) => format!("{value}{dtype}"),
            None => value.to_string(),
        },
        ExprKind::Float { value, suffix } => float(*value, *suffix),
        ExprKind::Bool(value) => value.to_string(),
        ExprKind::Str(text) => quote(text),
        ExprKind::Name(name) => quoted(name).into_owned(),
        ExprKind::Positional(index) => format!("@{index}"),
        ExprKind::Wildcard => "_".to_owned(),
        _ => String::new(),
    }
}

/// A floating-point number: the shortest text that reads back the same.
fn float(value: f64, suffix: Option<DType>) -> String {
    let sign = if value.is_sign_negative() { "-" } else { "" };
    let special = if value.is_nan() {
        Some("nan")
    } else {
        value.is_infinite().then_some("inf")
    };
    if let Some(special) = special {
        return match suffix {
            Some(dtype) => format!("{sign}{special}_{dtype}"),
            None => format!("{sign}{special}"),
        };
    }
    let narrow = matches!(suffix, Some(DType::F32 | DType::F16 | DType::BF16)) && f64::from(value as f32) == value;
    let digits = if narrow {
        format!("{:?}", value as f32)
    } else {
        format!("{value:?}")
    };
    match suffix {
        Some(dtype) => format!("{digits}{dtype}"),
        None => digits,
    }
}

/// A string in quotes.
fn quote(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 2);
    out.push('"');
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\t' => out.push_str("\\t"),
            '\r' => out.push_str("\\r"),
            c if c.is_control() => {
                let _ = write!(out, "\\u{{{:x}}}", u32::from(c));
            }
            c => out.push(c),
        }
    }
    out.push('"');
    out
}

/// The name of an operator as written in a call.
fn callee_text(callee: &Ident, quoted: bool) -> String {
    if quoted || !super::is_name(callee.as_str()) {
        quote(callee.as_str())
    } else {
        callee.as_str().to_owned()
    }
}

/// A name as it is written: in backquotes if it is not a name otherwise.
fn quoted(name: &str) -> std::borrow::Cow<'_, str> {
    match crate::is_name(name) {
        true => name.into(),
        false => format!("`{name}`").into(),
    }
}
