//! The statements of the course, with the positions and orders that it gives, and its errors.

use super::*;

fn tokens(statement: &str) -> String {
    let expression = Expression::parse(statement).unwrap_or_else(|e| panic!("{}", e.render(false)));
    let all = expression
        .tokens()
        .iter()
        .map(|t| format!("{}[{},{})", t.text, t.start, t.end));
    all.collect::<Vec<_>>().join(" ")
}

fn rpn(statement: &str) -> (usize, String) {
    let expression = Expression::parse(statement).unwrap_or_else(|e| panic!("{}", e.render(false)));
    (expression.tokens().len(), expression.rpn_text())
}

fn codes(statement: &str) -> Vec<i64> {
    Expression::parse(statement)
        .unwrap()
        .rpn()
        .iter()
        .map(|item| item.num_index())
        .collect()
}

fn problem(statement: &str) -> String {
    Expression::parse(statement)
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
    let span = Expression::parse("add( @0, m cl(@1))")
        .unwrap_err()
        .iter()
        .next()
        .unwrap()
        .span();
    assert_eq!(span.map(|s| s.start), Some(11));
}

fn full(value: f32, shape: &[usize]) -> Tensor {
    Tensor::new(shape, vec![value; shape.iter().product()]).unwrap()
}

#[test]
fn batches_are_computed_operand_by_operand() {
    let of = |statement: &str, values: &[f32]| {
        let inputs: Vec<Tensor> = values.iter().map(|v| full(*v, &[3, 4, 4])).collect();
        let mut out = [full(0.0, &[3, 4, 4])];
        Expression::parse(statement)
            .unwrap()
            .forward(&inputs, &mut out)
            .unwrap();
        out[0].to_f64s().unwrap()[0]
    };
    assert_eq!(of("add(@0,@1)", &[2.0, 3.0]), 5.0);
    assert_eq!(of("mul(@2,add(@0,@1))", &[2.0, 3.0, 4.0]), 20.0);
    assert_eq!(of("mul(add(@0,@1),add(@2,@3))", &[2.0, 3.0, 4.0, 4.0]), 40.0);
    assert_eq!(
        of("mul(mul(@0,@1), mul(@2,add(@3,@4)))", &[1.0, 2.0, 3.0, 4.0, 5.0]),
        54.0
    );
    assert!((of("mul(@1,sin(@0))", &[2.0, 3.0]) - 2.727_892_3).abs() < 1e-6);
    // Two items: the tensors of @0 come first, then those of @1.
    let expression = Expression::parse("mul(@0,@1)").unwrap();
    let inputs = [1.0, 2.0, 10.0, 20.0].map(|v| full(v, &[1, 2, 2]));
    let mut out = [full(0.0, &[1, 2, 2]), full(0.0, &[1, 2, 2])];
    expression.forward(&inputs, &mut out).unwrap();
    assert_eq!(out, [full(10.0, &[1, 2, 2]), full(40.0, &[1, 2, 2])]);
    // One number for each channel.
    let inputs = [full(2.0, &[3, 4, 4]), full(5.0, &[3, 1, 1])];
    let mut out = [full(0.0, &[3, 4, 4])];
    expression.forward(&inputs, &mut out).unwrap();
    assert_eq!(out, [full(10.0, &[3, 4, 4])]);
}

#[test]
fn what_is_missing_or_does_not_fit_is_said() {
    let expression = Expression::parse("add(@0,@1)").unwrap();
    let (x, empty) = (full(1.0, &[2, 2]), full(1.0, &[0]));
    let forward = |inputs: &[Tensor], outputs: &[Tensor]| {
        let mut outputs = outputs.to_vec();
        let before = outputs.clone();
        let error = expression.forward(inputs, &mut outputs).unwrap_err();
        assert_eq!(outputs, before);
        error
    };
    let one = std::slice::from_ref(&x);
    assert_eq!(forward(&[], one), ExpressionError::InputEmpty);
    assert_eq!(forward(&[x.clone(), empty.clone()], one), ExpressionError::InputEmpty);
    assert_eq!(forward(&[x.clone(), x.clone()], &[]), ExpressionError::OutputEmpty);
    assert_eq!(forward(&[x.clone(), x.clone()], &[empty]), ExpressionError::OutputEmpty);
    let few = forward(one, one).to_string();
    assert!(
        few.starts_with("operand @1 doesn't have appropriate number of tensors"),
        "{few}"
    );
    let apart = forward(&[x.clone(), full(1.0, &[3])], one).to_string();
    assert!(apart.contains("[2, 2]") && apart.contains("[3]"), "{apart}");
    let shape = forward(&[x.clone(), x.clone()], &[full(0.0, &[4])]).to_string();
    assert_eq!(shape, "item 0 of the batch is f32[2, 2], and its output f32[4]");
}
