use std::sync::Arc;

use super::*;
use crate::diag::{Diagnostics, Source};

fn run(text: &str, dialect: Dialect) -> Result<Vec<String>, Diagnostics> {
    let script = parse_script(Arc::new(Source::new("test", text)), dialect)?;
    let outcomes = Session::new(1).run(&script)?;
    let show = |o: &Outcome| {
        let values: Vec<String> = o
            .values
            .iter()
            .map(|t| format!("{:?}", t.to_f64s().unwrap_or_default()))
            .collect();
        format!("{} {}", o.ty, values.join(" "))
    };
    Ok(outcomes.iter().map(show).collect())
}

fn last(text: &str, dialect: Dialect) -> String {
    run(text, dialect).unwrap_or_else(|e| panic!("{text}: {e}")).pop().unwrap_or_default()
}

fn refused(text: &str, dialect: Dialect) -> String {
    let problems = run(text, dialect).expect_err(text);
    let messages: Vec<String> = problems.iter().map(|d| d.message.clone()).collect();
    messages.join("; ")
}

#[test]
fn products_and_sums_broadcast() {
    for (text, expected) in [
        ("[[1], [2]] + [[10, 20, 30], [40, 50, 60]]", "i32[2, 3] [11.0, 21.0, 31.0, 42.0, 52.0, 62.0]"),
        ("[[1, 2, 3]] + [[10], [20]]", "i32[2, 3] [11.0, 12.0, 13.0, 21.0, 22.0, 23.0]"),
        (
            "[[[1, 2]], [[3, 4]]] + [[1], [2], [3]]",
            "i32[2, 3, 2] [2.0, 3.0, 3.0, 4.0, 4.0, 5.0, 4.0, 5.0, 5.0, 6.0, 6.0, 7.0]",
        ),
        ("[5, 6] - [[1, 2], [3, 4]]", "i32[2, 2] [4.0, 4.0, 2.0, 2.0]"),
        ("1 + 2", "i32 [3.0]"),
        ("[1.5, 2.5] + [1, 1]", "f32[2] [2.5, 3.5]"),
        ("1.5", "f32 [1.5]"),
        ("[[1, 2], [3, 4]] . [5, 6]", "i32[2, 2] [5.0, 12.0, 15.0, 24.0]"),
        ("2 . [3] - 1", "i32[1] [5.0]"),
        ("dot([1, 2], [3, 4])", "i32 [11.0]"),
        ("[[1, 2], [3, 4]] * [5, 6]", "i32[2] [17.0, 39.0]"),
        ("[1, 2] * [[3, 4, 5], [6, 7, 8]]", "i32[3] [15.0, 18.0, 21.0]"),
        ("[[0, 0], [1, 2]] * [3, 4]", "i32[2] [0.0, 11.0]"),
        (
            "one((2, 2, 2)) * [[1, 2], [3, 4]]",
            "i32[2, 2, 2] [4.0, 6.0, 4.0, 6.0, 4.0, 6.0, 4.0, 6.0]",
        ),
        ("-[1, 2] . -2", "i32[2] [2.0, 4.0]"),
    ] {
        assert_eq!(last(text, Dialect::Plain), expected, "{text}");
    }
}

#[test]
fn shapes_are_found_and_changed() {
    let t = "t = [[[1, 1, 1], [2, 2, 2]], [[3, 3, 3], [4, 4, 4]], [[5, 5, 5], [6, 6, 6]]]\n";
    for (text, expected) in [
        ("x = [[[1, 2], [4, 5], [7, 8]]]", "i32[1, 3, 2] [1.0, 2.0, 4.0, 5.0, 7.0, 8.0]"),
        ("shape([[1, 2], [3, 4]])", "i64[2] [2.0, 2.0]"),
        ("size([[1, 2], [3, 4]])", "i64 [4.0]"),
        ("reshape([[1, 2], [3, 4]], [4, 1])", "i32[4, 1] [1.0, 2.0, 3.0, 4.0]"),
        ("reshape([[1, 2], [3, 4]], (-1,))", "i32[4] [1.0, 2.0, 3.0, 4.0]"),
        (&format!("{t}slice(t, [1, 0, 0], [1, 2, 3])"), "i32[1, 2, 3] [3.0, 3.0, 3.0, 4.0, 4.0, 4.0]"),
        (&format!("{t}slice(t, (2, 1, 0), (-1, -1, 2))"), "i32[1, 1, 2] [6.0, 6.0]"),
        ("ones((2,))", "i32[2] [1.0, 1.0]"),
        ("zero( [0, 3] )", "i32[0, 3] []"),
        ("x = [1, 2]\ny = x\ny", "i32[2] [1.0, 2.0]"),
        ("[]", "i32[0] []"),
    ] {
        assert_eq!(last(text, Dialect::Plain), expected, "{text}");
    }
}

#[test]
fn what_is_wrong_is_said_before_anything_runs() {
    for (text, message) in [
        (
            "x = [1, 2]\ny = [1, 2, 3]\nx + y",
            "shapes [2] and [3] do not broadcast: axis 0 of the first is 2, axis 0 of the second is 3",
        ),
        ("[[1, 2], [4, 5, 6]]", "the list is ragged"),
        ("reshape([1, 2], [3])", "[2] has 2 elements, [3] has 3"),
        (
            "[[1, 2]] * [[1, 2]]",
            "the last 1 of [1, 2] are contracted with the first 1 of [1, 2], and differ",
        ),
        ("slice([1, 2], [1], [2])", "2 from 1 on leave axis 0 of [2]"),
        ("oops((2, 2))", "there is no operator `oops`"),
        ("x + 1", "`x` stands for nothing"),
        ("x = ", "expected an expression after `=`"),
        ("1 = 2", "expected a name before `=`"),
        ("x = [1] / 2", "`/` has no meaning here"),
        ("x = [1, 2", "expected `,` or `]`, found the end of the statement"),
        ("x = rand(y)", "the shape of `rand` is not written out"),
    ] {
        let said = refused(text, Dialect::Plain);
        assert!(said.contains(message), "{text}: {said}");
    }
}

#[test]
fn the_main_dialect_has_the_expressions_of_programs() {
    for (text, expected) in [
        ("x = [1.0, 4.0]\nsqrt(x) * 2 // twice", "f32[2] [2.0, 4.0]"),
        ("x = [[3, 1], [2, 4]]; p = sort(x)\np.1", "i64[2, 2] [1.0, 0.0, 0.0, 1.0]"),
        ("x = [1, 2,\n 3]\nprint(x)", "i32[3] [1.0, 2.0, 3.0]"),
        ("x = rand((2, 3))\nreduce_max(x - x) {axes = [0, 1], keepdims = false}", "i32 [0.0]"),
        ("x = one((2, 2))\nmatmul(x, x)", "i32[2, 2] [2.0, 2.0, 2.0, 2.0]"),
        ("x = [1, 2]\nx == [1, 3]", "bool[2] []"),
        ("x = [1, 2, 3]\nreshape(x) {shape = [d for d in x.shape] ++ [1]}", "i32[3, 1] [1.0, 2.0, 3.0]"),
    ] {
        assert_eq!(last(text, Dialect::Main), expected, "{text}");
    }
    assert_eq!(refused("x = [1]\ny = x + z\ny + 1\nw", Dialect::Main), "`z` stands for nothing; `w` stands for nothing");
}

#[test]
fn random_numbers_are_digits_and_depend_on_the_seed() {
    let script = parse_script(Arc::new(Source::new("test", "rand((4, 250))")), Dialect::Plain).unwrap();
    let numbers = |seed| Session::new(seed).run(&script).unwrap()[0].values[0].to_ints().unwrap();
    let (a, b) = (numbers(1), numbers(2));
    assert_eq!(a, numbers(1));
    assert_ne!(a, b);
    for digit in 0..10 {
        let count = a.iter().filter(|&&x| x == digit).count();
        assert!((50..150).contains(&count), "{digit} is there {count} times");
    }
    assert!(a.iter().all(|x| (0..10).contains(x)));
}

#[test]
fn scripts_are_told_from_programs() {
    for text in ["x = 1", "print(1)", "// dialect: plain\n1 . 2", "x = [1,\n2]"] {
        assert!(is_script(text), "{text}");
    }
    for text in ["x == 1", "fn main(x: f32[2]) { let y = x; y }", "f(x) {k = 1}", "'x = 1'", "x // y = 1"] {
        assert!(!is_script(text), "{text}");
    }
    assert!(is_complete("f(x)") && !is_complete("f(x,") && is_complete("\"(\"") && is_complete("f(x))"));
}
