//! The statements of the course, with the positions and orders that it gives, and its errors.

use super::*;

fn tokens(statement: &str) -> String {
    let parsed = Statement::parse(statement).unwrap_or_else(|e| panic!("{}", e.render(false)));
    let all = parsed
        .tokens()
        .iter()
        .map(|t| format!("{}[{},{})", t.text, t.start, t.end));
    all.collect::<Vec<_>>().join(" ")
}

fn rpn(statement: &str) -> (usize, String) {
    let parsed = Statement::parse(statement).unwrap_or_else(|e| panic!("{}", e.render(false)));
    (parsed.tokens().len(), parsed.rpn_text())
}

fn codes(statement: &str) -> Vec<i64> {
    Statement::parse(statement)
        .unwrap()
        .rpn()
        .iter()
        .map(|item| item.num_index())
        .collect()
}

fn problem(statement: &str) -> String {
    Statement::parse(statement)
        .unwrap_err()
        .iter()
        .next()
        .unwrap()
        .message
        .clone()
}

#[test]
fn tokens_have_half_open_positions() {
    assert_eq!(
        tokens("add(@0, mul(@1, @2))"),
        "add[0,3) ([3,4) @0[4,6) ,[6,7) mul[7,10) ([10,11) @1[11,13) ,[13,14) @2[14,16) )[16,17) )[17,18)"
    );
    assert_eq!(tokens("add(@0,@1)"), "add[0,3) ([3,4) @0[4,6) ,[6,7) @1[7,9) )[9,10)");
    assert_eq!(
        tokens("add(mul(@0,@1),@2)"),
        "add[0,3) ([3,4) mul[4,7) ([7,8) @0[8,10) ,[10,11) @1[11,13) )[13,14) ,[14,15) @2[15,17) )[17,18)"
    );
    assert_eq!(
        tokens("add(sin(@0),@1)"),
        "add[0,3) ([3,4) sin[4,7) ([7,8) @0[8,10) )[10,11) ,[11,12) @1[12,14) )[14,15)"
    );
    assert_eq!(tokens("@31231"), "@31231[0,6)");
    let long = "add(add(mul(@0, @1), mul(@2, add(add(add(@0,@2), @3), @4))), @5)";
    assert!(tokens(long).ends_with(")[57,58)"));
}

#[test]
fn operands_come_before_their_operator() {
    for (statement, count, order) in [
        ("add(@0, mul(@1, @2))", 11, "0 1 2 mul add"),
        ("add(@0,@1)", 6, "0 1 add"),
        ("add(mul(@0,@1),@2)", 11, "0 1 mul 2 add"),
        ("mul(@2, add(@0, @1))", 11, "2 0 1 add mul"),
        ("mul(add(@0, @1), @2)", 11, "0 1 add 2 mul"),
        (
            "add(add(mul(@0, @1), mul(@2, add(add(add(@0,@2), @3), @4))), @5)",
            36,
            "0 1 mul 2 0 2 add 3 add 4 add mul add 5 add",
        ),
        ("add(sin(@0),@1)", 9, "0 sin 1 add"),
        ("mul(@1,sin(@0))", 9, "1 0 sin mul"),
        ("@31231", 1, "31231"),
        ("add(add(add(@0,@1),@1),add(@0,@2))", 21, "0 1 add 1 add 0 2 add add"),
        (
            "add(add(add(@0,@1),@1),add(@0,add(@1,@1)))",
            26,
            "0 1 add 1 add 0 1 1 add add add",
        ),
        ("add(add(add(@0,@1),@2),mul(@0,@2))", 21, "0 1 add 2 add 0 2 mul add"),
    ] {
        assert_eq!(rpn(statement), (count, order.to_owned()), "{statement}");
    }
    assert_eq!(codes("add(@0,add(@1,@2))"), [0, 1, 2, -6, -6]);
    assert_eq!(codes("add(@0,add(@1,add(@3,@4)))"), [0, 1, 3, 4, -6, -6, -6]);
    assert_eq!(
        codes("add(@0,add(@1,add(@3,mul(@4,@5))))"),
        [0, 1, 3, 4, 5, -5, -6, -6, -6]
    );
    assert_eq!(codes("sin(@0)"), [0, -2]);
}

#[test]
fn errors_name_what_stands_where() {
    assert_eq!(problem(" \t"), "The input statement is empty!");
    assert_eq!(problem("add(@0,mcl(@1,@2))"), "unexpected `c` at position 8");
    assert_eq!(problem("add(@0, mcl(@1, @2))"), "unexpected `c` at position 8");
    assert_eq!(problem("axc"), "unexpected `x` at position 1");
    assert_eq!(problem("add(@x,@1)"), "unexpected `x` at position 5");
    assert_eq!(problem("ad"), "the statement ends at position 2");
    assert_eq!(problem("@"), "the statement ends at position 1");
    assert_eq!(problem("div(@0,@1)"), "Unknown illegal character `d` at position 0");
    assert_eq!(problem("add@0,@1)"), "`(` is missing at position 3, where `@0` stands");
    assert_eq!(
        problem("add(,@1)"),
        "the left operand is missing at position 4, where `,` stands"
    );
    assert_eq!(problem("add(@0@1)"), "`,` is missing at position 6, where `@1` stands");
    assert_eq!(
        problem("add(@0,)"),
        "the right operand is missing at position 7, where `)` stands"
    );
    assert_eq!(
        problem("add(@0,@1"),
        "`)` is missing at position 9, where the end stands"
    );
    assert_eq!(
        problem("sin()"),
        "the operand is missing at position 4, where `)` stands"
    );
    assert_eq!(problem("add(@0,@1)@2"), "`@2` at position 10 after the statement");
    assert_eq!(problem("@99999999999"), "number out of range");
    // The place in the text counts its blanks.
    let span = Statement::parse("add( @0, m cl(@1))")
        .unwrap_err()
        .iter()
        .next()
        .unwrap()
        .span();
    assert_eq!(span.map(|s| s.start), Some(11));
}
