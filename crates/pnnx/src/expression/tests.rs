use super::*;
use tautomer_diag::Span;

fn read(text: &str) -> (String, bool) {
    let (expression, reading) = Expression::read(text).unwrap_or_else(|e| panic!("{text}: {}", e.message));
    (expression.to_string(), matches!(reading, Reading::Strict))
}

#[test]
fn what_the_grammar_has_is_printed_as_it_was() {
    for text in [
        "@31231",
        "add(@0,@1)",
        "sub(add(@0,@1),mul(sub(1,@2),1.000000e6))",
        "[size(@0,0),floor_divide(size(@0,1),4),4,mul(size(@0,2),size(@0,3))]",
        "mul(@0,sub(1.200000e+00-9.000000e-01j,@1))",
        "[None,[0,2,1]]",
        "[[True,False],[False,False,True,False]]",
        "pow(size(@0,1),-0.5)",
        "torch.long(size(@0,2))",
        "maximum(@0,-inf)",
        "False",
        "size(@0,0),size(@0,1)",
        "[]",
    ] {
        assert_eq!(read(text), (text.to_owned(), true));
    }
}

#[test]
fn arguments_may_be_left_empty() {
    assert_eq!(
        read("mul(add(@0,,mul(@1,2)),size(@0,0))"),
        ("mul(add(@0,mul(@1,2)),size(@0,0))".to_owned(), true)
    );
}

#[test]
fn functions_the_exporter_does_not_know_scatter_the_brackets() {
    for (written, meant) in [
        ("expm1,@0", "expm1(@0)"),
        ("expm1,sub(@0,0.5)", "expm1(sub(@0,0.5))"),
        ("add(expm1,@0),1", "add(expm1(@0),1)"),
        (
            "sub(mul(log1p,abs(@0)),expm1),@1,@0",
            "sub(mul(log1p(abs(@0)),expm1(@1)),@0)",
        ),
        (
            "div(sin(log1p),add(expm1,@0)),abs(@1),add(mul(expm1,@1),2),3",
            "div(sin(log1p(add(expm1(@0),abs(@1)))),add(mul(expm1(@1),2),3))",
        ),
    ] {
        assert_eq!(read(written), (meant.to_owned(), false), "{written}");
    }
}

#[test]
fn errors_have_their_place() {
    for (text, at, message) in [
        ("add(@0,mcl(@1,@2))", 7, "there is no function `mcl`"),
        ("add(@x,@1)", 4, "`@x`"),
        ("add(@0,@1", 9, "expected `,` or `)`, found the end"),
        ("add(@0 @1)", 6, "` `"),
        ("add,@0)", 3, "expected `(`"),
        ("sin(@0,@1)", 0, "`sin` takes 1 operand, but has 2"),
        ("add(@0,neg(@1,2))", 7, "`neg` takes 1 operand"),
        ("#", 0, "`#`"),
    ] {
        let problem = Expression::read_strictly(text).unwrap_err();
        assert_eq!(problem.span().map(|s| s.start), Some(at), "{text}: {}", problem.message);
        assert!(problem.message.contains(message), "{text}: {}", problem.message);
    }
}

#[test]
fn what_is_wrong_either_way_keeps_the_error_of_the_grammar() {
    let problem = Expression::read("add(expm1,@0)").unwrap_err();
    assert_eq!(problem.span(), Some(Span::new(9, 10)));
    assert!(Expression::read("]add(@0,@1)").is_err());
}

#[test]
fn nesting_has_a_limit_and_no_overflow() {
    let deep = |n: usize| format!("{}@0{}", "neg(".repeat(n), ")".repeat(n));
    assert_eq!(read(&deep(1500)), (deep(1500), true));
    // Beyond the limit, brackets are ignored.
    assert!(!read(&deep(100_000)).1);
}

#[test]
fn functions_name_operators() {
    for (function, name) in Function::all() {
        for booleans in [false, true] {
            let Some(operator) = function.operator(booleans) else {
                continue;
            };
            let def = tautomer_op::lookup(operator).unwrap_or_else(|| panic!("{name}: {operator}"));
            assert_eq!(def.name, operator);
            let written = Function::of_operator(operator).unwrap();
            assert_eq!(written.operator(booleans), Some(operator));
        }
    }
    assert_eq!(Function::of_operator("mod"), Some(Function::Remainder));
    assert_eq!(Function::of_operator("max"), Some(Function::Max));
    assert_eq!(Function::of_operator("size"), None);
}

#[test]
fn every_function_has_a_name_of_its_own() {
    for (function, name) in Function::all() {
        assert_eq!(
            (Function::by_name(name), function.to_string().as_str()),
            (Some(function), name)
        );
        let operands = if function.is_binary() { "@0,@1" } else { "@0" };
        let text = format!("{name}({operands})");
        assert_eq!(read(&text), (text.clone(), true));
    }
    assert_eq!(
        Function::by_name("torch.int64"),
        Some(Function::Cast(crate::ElementType::I64))
    );
}
