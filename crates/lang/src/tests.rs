//! Tests of the parser that need no printer.

use std::sync::Arc;

use tautomer_diag::Source;

use super::ast::*;
use super::{MAX_NESTING, parse_program, parse_rules};

fn source(text: &str) -> Arc<Source> {
    Arc::new(Source::new("test", text))
}

fn messages(text: &str) -> Vec<String> {
    parse_program(source(text))
        .unwrap_err()
        .iter()
        .map(|problem| problem.message.clone())
        .collect()
}

/// An expression with the operands of every operator in brackets.
fn shape(text: &str) -> String {
    let program = parse_program(source(text)).unwrap_or_else(|problems| panic!("{problems}"));
    show(&program.ast, program.body.unwrap().result)
}

fn show(ast: &Ast, id: ExprId) -> String {
    match ast.kind(id) {
        ExprKind::Int { value, .. } => value.to_string(),
        ExprKind::Name(name) => name.to_string(),
        ExprKind::Unary { op, operand } => format!("({}{})", op.symbol(), show(ast, *operand)),
        ExprKind::Binary { op, lhs, rhs } => format!("({} {} {})", show(ast, *lhs), op.symbol(), show(ast, *rhs)),
        ExprKind::Tuple(items) => format!(
            "<{}>",
            items.iter().map(|&id| show(ast, id)).collect::<Vec<_>>().join(", ")
        ),
        other => format!("{other:?}"),
    }
}

#[test]
fn precedence_is_that_of_rust() {
    for (text, tree) in [
        ("a + b * c", "(a + (b * c))"),
        ("a - b - c", "((a - b) - c)"),
        ("-x ** 2", "(-(x ** 2))"),
        ("2 ** -1", "(2 ** -1)"),
        ("a ** b ** c", "(a ** (b ** c))"),
        ("a & b == c", "((a & b) == c)"),
        ("a | b ^ c & d", "(a | (b ^ (c & d)))"),
        ("not a == b and c", "((!(a == b)) && c)"),
        ("!a == b", "((!a) == b)"),
        ("a || b && c", "(a || (b && c))"),
        ("a ++ b ++ c", "((a ++ b) ++ c)"),
        ("x in (1, 2, 3) and y", "((x in <1, 2, 3>) && y)"),
        ("a - -1", "(a - -1)"),
        ("-(1)", "(-1)"),
        ("(a + b) * c", "((a + b) * c)"),
    ] {
        assert_eq!(shape(text), tree, "{text}");
    }
}

#[test]
fn problems_are_in_plain_words() {
    for (text, message) in [
        ("f(a, b", "`(` is not closed"),
        ("f(a, b]", "expected `)`, found `]`"),
        ("f(a b)", "expected `,` or `)`, found `b`"),
        ("a +", "expected an expression, found the end of the file"),
        ("a < b < c", "comparisons do not chain"),
        ("1f33", "unknown suffix `f33` of the number `1f33`"),
        ("2.5i32", "`2.5i32` is a fraction with an integer suffix"),
        ("if(a, b)", "wrong number of parts in `if`"),
        ("'abc", "unterminated string"),
        ("999999999999999999999999999999999999999999", "number out of range"),
        ("fn main(x: f23[2]) { x }", "unknown element type `f23`"),
        ("fn main(x: f32[2]) { let y = x y }", "expected `;`, found `y`"),
        ("fn main(x: f32[2]) { let y = x; }", "expected an expression, found `}`"),
        ("fn main(x: f32[2]) { x; }", "expected `}`, found `;`"),
        ("f(x) {axis = }", "expected an expression, found `}`"),
    ] {
        assert_eq!(messages(text), [message], "{text}");
    }
}

#[test]
fn one_broken_item_does_not_hide_the_next() {
    let text = "fn a(x: f32) { x + }\nfn b(x: f32) { x }\nfn c(x: f32) { (x }\nfn d(x: f32) { x x }\n";
    assert_eq!(messages(text).len(), 3);
    let rules = "rule a(x) { x + => x }\nrule b(x) { x => }\nrule c(x) { x + 0 => x }\n";
    assert_eq!(parse_rules(source(rules)).unwrap_err().len(), 2);
}

#[test]
fn the_seeds_form_of_an_input_is_the_short_form() {
    let text = "fn main(x {shape = (n, 64), dtype = \"f32\"}, @1: f32[..], param w) { x }";
    let function = parse_program(source(text)).unwrap().functions.remove(0);
    let Some(TypeExpr {
        kind: TypeKind::Tensor {
            dtype: Some(_),
            dims: Dims::List(dims),
        },
        ..
    }) = &function.params[0].ty
    else {
        panic!("{function:?}")
    };
    assert_eq!(dims.len(), 2);
    assert_eq!(function.params[1].positional, Some(1));
    assert_eq!(function.params[2].class, ParamClass::Param);
}

#[test]
fn nesting_has_a_limit() {
    let nest = |depth: usize| format!("{}x{}", "(".repeat(depth), ")".repeat(depth));
    assert!(parse_program(source(&nest(MAX_NESTING))).is_ok());
    assert_eq!(messages(&nest(30_000)), ["brackets are nested 30000 deep"]);
    let types = format!("fn f(x: {}f32{}) {{ x }}", "(".repeat(100), ",)".repeat(100));
    assert_eq!(messages(&types), ["tuple types are nested too deep"]);
}

#[test]
fn long_chains_need_no_stack() {
    let sum = format!("a{}", " + a".repeat(100_000));
    assert_eq!(parse_program(source(&sum)).unwrap().ast.len(), 200_001);
    let minus = format!("{}a", "- ".repeat(100_000));
    assert_eq!(parse_program(source(&minus)).unwrap().ast.len(), 100_001);
    let arms = format!("if (a) {{ b }} {}else {{ c }}", "else if (a) { b } ".repeat(10_000));
    assert!(parse_program(source(&arms)).is_ok());
}

#[test]
fn the_worked_rules_parse() {
    let file = parse_rules(source(RULES)).unwrap_or_else(|problems| panic!("{problems}"));
    let [Item::Rule(first), Item::Example(example), Item::Rule(second), ..] = file.items.as_slice() else {
        panic!("{:?}", file.items)
    };
    assert_eq!(
        first.doc.as_deref(),
        Some("Two convolutions of one input, added, are one convolution with the summed kernel.")
    );
    assert_eq!(first.numerics.map(|clause| clause.class), Some(Numerics::Real));
    assert_eq!(first.conditions.len(), 1);
    assert!(example.target.is_some());
    assert_eq!(second.target.lets.len(), 4);
    assert_eq!(second.conditions.len(), 2);
    assert!(matches!(
        file.ast.kind(second.source.outputs),
        ExprKind::Comprehension { .. }
    ));
    assert!(matches!(
        file.ast.kind(second.target.outputs),
        ExprKind::Comprehension { .. }
    ));
}

pub(super) const RULES: &str = include_str!("testdata/worked.rules");

#[test]
fn odd_text_never_panics() {
    for text in [
        "",
        "é",
        "\"",
        "'\\",
        "{",
        "}",
        "@",
        "@99999999999",
        "fn",
        "rule",
        "/",
        "//",
        "0.",
        "1e",
        "x.",
        "\\",
        "…=>",
    ] {
        let _ = parse_program(source(text));
        let _ = parse_rules(source(text));
    }
}

#[test]
fn names_in_backquotes_are_those_of_columns() {
    let problems = parse_program(source("`a b` + 1")).unwrap_err();
    assert_eq!(problems.iter().next().map(|problem| problem.code), Some("T0001"));
    assert_eq!(
        crate::parse_outputs(source("`a b` + 1"), false).unwrap().outputs.len(),
        1
    );
}
