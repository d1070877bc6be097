//! Round trips between text and tree.

use std::sync::Arc;

use proptest::prelude::*;

use super::super::ast::*;
use super::super::{parse_program, parse_rules};
use super::{format_program, format_rules};
use tautomer_diag::{Source, Span};
use tautomer_tensor::DType;

fn source(text: &str) -> Arc<Source> {
    Arc::new(Source::new("test", text))
}

fn program(text: &str) -> Program {
    parse_program(source(text)).unwrap_or_else(|problems| panic!("{problems}\n{text}"))
}

fn rules(text: &str) -> RuleFile {
    parse_rules(source(text)).unwrap_or_else(|problems| panic!("{problems}\n{text}"))
}

/// The tree without spans.
fn bare(value: &impl std::fmt::Debug) -> String {
    let text = format!("{value:?}");
    let mut out = String::new();
    let mut rest = text.as_str();
    while let Some(at) = rest.find("Span {") {
        out.push_str(&rest[..at]);
        rest = &rest[at + rest[at..].find('}').unwrap() + 1..];
    }
    out + rest
}

fn exprs(ast: &Ast) -> String {
    ast.iter().map(|(_, expr)| bare(&expr.kind) + "\n").collect()
}

fn check_program(text: &str) -> String {
    let first = program(text);
    let printed = format_program(&first);
    let second = program(&printed);
    assert_eq!(exprs(&first.ast), exprs(&second.ast), "{printed}");
    assert_eq!(
        bare(&(&first.opaques, &first.functions, &first.body)),
        bare(&(&second.opaques, &second.functions, &second.body))
    );
    assert_eq!(first.comments.len(), second.comments.len(), "{printed}");
    assert_eq!(format_program(&second), printed);
    printed
}

fn check_rules(text: &str) -> String {
    let first = rules(text);
    let printed = format_rules(&first);
    let second = rules(&printed);
    assert_eq!(exprs(&first.ast), exprs(&second.ast), "{printed}");
    assert_eq!(
        bare(&(&first.uses, &first.items)),
        bare(&(&second.uses, &second.items)),
        "{printed}"
    );
    assert_eq!(first.comments.len(), second.comments.len(), "{printed}");
    assert_eq!(format_rules(&second), printed);
    printed
}

#[test]
fn worked_rules_survive() {
    let printed = check_rules(super::super::tests::RULES);
    insta::assert_snapshot!(printed);
}

#[test]
fn comments_are_kept() {
    let printed = check_program(
        "// head\n\n/// doc\n/// more\nfn main(x: f32[2], // input\n y: f32[2]) -> f32[2] { // first\n\n  let a = f(x, // inner\n    y); // after a\n\
         // before b\n\n\n  let (b, c) : (f32, i64[]) = g(a){}; /// stray\n  (b + c) // result\n  // last\n}\n\n// between\nopaque \"a::B\"(x: f32[..]) -> f32[..];\nopaque q(x) -> f32; // q\n// end\n",
    );
    insta::assert_snapshot!(printed);
    check_rules(
        "// a\nuse 'b.rules' // c\n// d\nuse \"e\";\n/// doc\nrule r(x) { // f\n x + 0 // g\n // h\n => // i\n x // j\n // k\n numerics real // l\n // m\n where x.rank == 2 // n\n // o\n} // p\nexample r { // q\n fn (x) { x } // r\n => // s\n fn (x) { // t\n x } // u\n} // v\n// w",
    );
}

#[test]
fn long_lines_break() {
    let call =
        "conv(reshape(aaaaaaaaaaaaaaaaaaaaaaaaaa, bbbbbbbbbbbbbbbbbbbbb) {shape = [1, 2]}, cccccccccccccccccccccccc)";
    let list = format!("[{}]", ["1.5"; 60].join(", "));
    let text = format!(
        "fn main(x: f32[n, 64, h, w], param w1: f32[64, 16], param w2: f32[16, 64], param w3: f32[16, 64], y: f32) {{\
         let a = {call} {{strides = [1, 1], pads = [1, 1, 1, 1]}};\
         let b = f(x) {{strides = [1, 1], pads = [1, 1, 1, 1], dilations = [1, 1], group = 1, auto_pad = \"same\", ceil = true}};\
         let c = {sum};\
         let d = {list};\
         if (a) {{ let e = b; e }} else if (c) {{ a }} else {{ when d {{ e }} else {{ f }} }} }}",
        sum = ["aaaaaaaaaaaaaaaaaaaa * b"; 8].join(" + "),
    );
    insta::assert_snapshot!(check_program(&text));
}

#[test]
fn deep_and_long_trees_print() {
    let calls = format!("{}x{}", "f(".repeat(10_000), ")".repeat(10_000));
    check_program(&calls);
    for text in [
        format!("a{}", " + a".repeat(100_000)),
        format!("a{}", " ** a".repeat(20_000)),
        format!("a{}", ".shape".repeat(100_000)),
        format!("{}a", "!".repeat(100_000)),
        format!("if (a) {{ b }} {}else {{ c }}", "else if (a) { b } ".repeat(10_000)),
    ] {
        let first = program(&text);
        let printed = format_program(&first);
        assert!(printed.len() < 40 * text.len());
        assert_eq!(exprs(&first.ast), exprs(&program(&printed).ast));
    }
    let lets: String = (0..100_000)
        .map(|i| format!("let x{} = f(x{i}) {{a = {i}}};", i + 1))
        .collect();
    let printed = format_program(&program(&format!("fn main(x0: f32) {{ {lets} x100000 }}")));
    assert_eq!(printed.lines().count(), 100_003);
}

#[test]
fn literals_read_back() {
    for text in [
        "1i64",
        "-1",
        "größe(é)",
        "-(1)",
        "größe(é)",
        "0.1f32",
        "0.1f16",
        "1e-5",
        "1e300",
        "inf",
        "-inf_f32",
        "nan_bf16",
        "-0.0",
        "'\\u{1}\"\\n'",
        "(5).0",
        "(1.5).x",
        "(-5) ** 2",
        "(a, b)",
        "(a,)",
        "()",
        "w[(0..3)]",
        "w[0..3]",
        "w[..]",
        "(a for i in 0..n)",
    ] {
        check_program(text);
    }
}

/// Turns bytes into a tree; when the bytes run out, only leaves are added.
struct Grow<'b> {
    bytes: std::slice::Iter<'b, u8>,
    ast: Ast,
}

impl Grow<'_> {
    fn pick(&mut self, below: usize) -> usize {
        self.bytes.next().map_or(0, |&byte| byte as usize % below)
    }

    fn name(&mut self) -> Arc<str> {
        ["x", "y_1", "where", "param", "shape"][self.pick(5)].into()
    }

    fn many(&mut self, depth: usize, least: usize) -> Vec<ExprId> {
        (0..least + self.pick(3)).map(|_| self.item(depth)).collect()
    }

    fn item(&mut self, depth: usize) -> ExprId {
        let body = self.expr(depth);
        if self.pick(8) != 7 {
            return body;
        }
        let (var, iter) = (Ident::new(self.name()), self.expr(depth));
        let cond = (self.pick(2) == 1).then(|| self.expr(depth));
        self.ast.make(ExprKind::Comprehension { body, var, iter, cond })
    }

    fn block(&mut self, depth: usize) -> Box<Block> {
        let lets = (0..self.pick(3).saturating_sub(1)).map(|_| self.stmt(depth)).collect();
        Box::new(Block {
            lets,
            result: self.expr(depth),
            span: Span::default(),
        })
    }

    fn stmt(&mut self, depth: usize) -> Let {
        let names = match self.pick(3) {
            0 => LetNames::Tuple(vec![Ident::new(self.name())]),
            1 => LetNames::Tuple(vec![Ident::new(self.name()), Ident::new("_")]),
            _ => LetNames::One(Ident::new(self.name())),
        };
        let ty = (self.pick(2) == 1).then(|| self.ty(depth, 2));
        Let {
            names,
            ty,
            value: self.expr(depth),
            span: Span::default(),
        }
    }

    fn ty(&mut self, depth: usize, nest: usize) -> TypeExpr {
        let dtype = DTypeName {
            dtype: DType::ALL[self.pick(17)],
            span: Span::default(),
        };
        let kind = match self.pick(5) {
            0 if nest > 0 => TypeKind::Tuple((0..self.pick(3)).map(|_| self.ty(depth, nest - 1)).collect()),
            1 if nest > 0 => TypeKind::Sequence(Box::new(self.ty(depth, nest - 1))),
            2 if nest > 0 => TypeKind::Optional(Box::new(self.ty(depth, nest - 1))),
            1 => TypeKind::Tensor {
                dtype: Some(dtype),
                dims: Dims::AnyRank,
            },
            2 => TypeKind::Tensor {
                dtype: None,
                dims: Dims::Scalar,
            },
            3 => {
                let dims = vec![DimExpr::Unknown(Span::default()), DimExpr::Expr(self.expr(depth))];
                TypeKind::Tensor {
                    dtype: Some(dtype),
                    dims: Dims::List(dims),
                }
            }
            _ => TypeKind::Tensor {
                dtype: Some(dtype),
                dims: Dims::Scalar,
            },
        };
        TypeExpr {
            kind,
            span: Span::default(),
        }
    }

    fn expr(&mut self, depth: usize) -> ExprId {
        let kind = if depth == 0 { self.pick(7) } else { self.pick(22) };
        let deeper = depth.saturating_sub(1);
        let kind = match kind {
            0 => ExprKind::Name(self.name()),
            1 => {
                let suffix = [None, Some(DType::U8), Some(DType::I64)][self.pick(3)];
                ExprKind::Int {
                    value: self.pick(256) as i128 - 100,
                    suffix,
                }
            }
            2 => {
                let suffix = [None, Some(DType::F64)][self.pick(2)];
                let value = [0.0, -0.0, 1.5, -2e-9, 1e300, f64::INFINITY, f64::NAN][self.pick(7)];
                ExprKind::Float { value, suffix }
            }
            3 => ExprKind::Bool(self.pick(2) == 1),
            4 => ExprKind::Str(["a", "\"\\\n\t\0é", "//", "}"][self.pick(4)].into()),
            5 => ExprKind::Positional(self.pick(9) as u32),
            6 => ExprKind::Wildcard,
            7 => ExprKind::List(self.many(deeper, 0)),
            8 => match self.many(deeper, 0) {
                items if items.len() == 1 && matches!(self.ast.kind(items[0]), ExprKind::Comprehension { .. }) => {
                    ExprKind::Tuple(Vec::new())
                }
                items => ExprKind::Tuple(items),
            },
            9 | 10 => {
                let quoted = self.pick(4) == 0;
                let callee = if quoted {
                    Ident::new("com.microsoft::Gelu")
                } else {
                    Ident::new(self.name())
                };
                let args = self.many(deeper, 0);
                let attrs = (self.pick(2) == 1).then(|| {
                    let entries = (0..self.pick(3)).map(|_| Attr {
                        name: Ident::new("in"),
                        value: self.expr(deeper),
                    });
                    let entries = entries.collect();
                    let rest = (self.pick(2) == 1).then(|| Ident::new("a"));
                    Box::new(Attrs {
                        entries,
                        rest,
                        span: Span::default(),
                    })
                });
                ExprKind::Call {
                    callee,
                    quoted,
                    args,
                    attrs,
                }
            }
            11 => ExprKind::Project {
                base: self.expr(deeper),
                index: self.pick(300) as u32,
            },
            12 => ExprKind::Field {
                base: self.expr(deeper),
                name: Ident::new("shape"),
            },
            13 => ExprKind::Index {
                base: self.expr(deeper),
                index: self.item(deeper),
            },
            14 | 15 => {
                let base = self.expr(deeper);
                let start = (self.pick(2) == 1).then(|| self.expr(deeper));
                let end = (self.pick(2) == 1).then(|| self.expr(deeper));
                if self.pick(2) == 1 {
                    ExprKind::Range { start, end }
                } else {
                    ExprKind::Slice { base, start, end }
                }
            }
            16 => {
                let op = [UnaryOp::Neg, UnaryOp::Not, UnaryOp::BitNot][self.pick(3)];
                ExprKind::Unary {
                    op,
                    operand: self.expr(deeper),
                }
            }
            17 => ExprKind::If {
                cond: self.item(deeper),
                then: self.block(deeper),
                otherwise: self.block(deeper),
            },
            18 => ExprKind::When {
                cond: self.expr(deeper),
                then: self.block(deeper),
                otherwise: self.block(deeper),
            },
            _ => {
                let op = BinaryOp::ALL[self.pick(20)];
                ExprKind::Binary {
                    op,
                    lhs: self.expr(deeper),
                    rhs: self.expr(deeper),
                }
            }
        };
        self.ast.make(kind)
    }
}

/// A tree with every subtree written out, independent of its numbering.
fn dump(ast: &Ast, id: ExprId) -> String {
    let mut text = bare(ast.kind(id));
    let mut out = String::new();
    while let Some(at) = text.find("ExprId(") {
        let end = at + text[at..].find(')').unwrap();
        let child: usize = text[at + 7..end].parse().unwrap();
        out.push_str(&text[..at]);
        out.push_str(&dump(ast, ast.iter().nth(child).unwrap().0));
        text = text[end + 1..].to_owned();
    }
    out + &text
}

/// Prints the tree that `bytes` describe, and parses it.
fn printed_and_parsed(bytes: &[u8]) -> Result<(), TestCaseError> {
    let mut grow = Grow {
        bytes: bytes.iter(),
        ast: Ast::synthetic(),
    };
    let body = *grow.block(5);
    let first = Program {
        ast: grow.ast,
        body: Some(body),
        ..Program::synthetic()
    };
    let printed = format_program(&first);
    let second =
        parse_program(source(&printed)).map_err(|problems| TestCaseError::fail(format!("{problems}\n{printed}")))?;
    let (a, b) = (first.body.as_ref().unwrap(), second.body.as_ref().unwrap());
    prop_assert_eq!(dump(&first.ast, a.result), dump(&second.ast, b.result), "{}", printed);
    prop_assert_eq!(a.lets.len(), b.lets.len());
    for (a, b) in a.lets.iter().zip(&b.lets) {
        prop_assert_eq!(dump(&first.ast, a.value), dump(&second.ast, b.value), "{}", printed);
    }
    prop_assert_eq!(format_program(&second), printed);
    Ok(())
}

/// Found at random once.
#[test]
fn a_long_tree_parses_to_itself() {
    let bytes = [
        15, 150, 151, 0, 160, 199, 0, 0, 114, 163, 1, 0, 96, 31, 8, 9, 0, 13, 0, 0, 0, 224, 88, 0, 0, 81, 77, 19, 254,
        80, 84, 178, 0, 8, 0, 0, 127, 0, 76, 0, 1, 0, 104, 31, 0, 80, 0, 9, 73, 0, 32, 104, 0, 249, 255,
    ];
    printed_and_parsed(&bytes).unwrap();
}

proptest! {
    #![proptest_config(tautomer_testing::random_cases(256))]

    #[test]
    fn printed_trees_parse_to_themselves(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        printed_and_parsed(&bytes)?;
    }

    #[test]
    fn any_text_is_safe(text in "([a-z{}()\\[\\]=,;:+*'\"/.0-9@ \n]|fn |let |rule |=>|\\PC){0,60}") {
        if parse_program(source(&text)).is_ok() {
            check_program(&text);
        }
        if parse_rules(source(&text)).is_ok() {
            check_rules(&text);
        }
    }

    #[test]
    fn comments_anywhere_are_kept(places in prop::collection::vec((0..2000usize, 0..4usize), 0..8)) {
        let mut text = super::super::tests::RULES.to_owned();
        for (place, kind) in places {
            let at = text.floor_char_boundary(place.min(text.len()));
            if let Some(gap) = text[at..].find([' ', '\n']) {
                text.insert_str(at + gap, ["// c\n", "\n\n// c\n", "\n/// c\n\n", " \n\n"][kind]);
            }
        }
        if parse_rules(source(&text)).is_ok() {
            check_rules(&text);
        }
    }

    #[test]
    fn comments_in_programs_are_kept(places in prop::collection::vec((0..500usize, 0..4usize), 0..8)) {
        let mut text = "opaque q(x: f32) -> f32 ; fn g( x , y: f32 ) -> f32 { let a = if (x) { let z = x ; z } else { y } ; ( a + x ) }             fn main( x: f32 [ 2 , n ] ) { let ( a , b ) : ( f32 , f32 ) = f ( x ) { k = [ 1 , 2 ] } ; a .0 }  let u = v ; ( u )".to_owned();
        for (place, kind) in places {
            let at = text.floor_char_boundary(place.min(text.len()));
            if let Some(gap) = text[at..].find([' ', '\n']) {
                text.insert_str(at + gap, ["// c\n", "\n\n// c\n", "\n/// c\n\n", " \n\n"][kind]);
            }
        }
        if parse_program(source(&text)).is_ok() {
            check_program(&text);
        }
    }
}
