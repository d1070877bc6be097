//! Control flow, sequences and optional values: text, execution, rewriting.

use std::sync::Arc;

use tautomer::diag::Source;
use tautomer::exec::{Executor, Mode, Plan};
use tautomer::graph::{BuildOptions, Graph, Params, Workload, build_program, interpret, same_graph, to_program};
use tautomer::lang::{format_program, parse_program};
use tautomer::pipeline::{Options, Outcome, optimize};
use tautomer::tensor::Tensor;

/// A program, its inputs, and its results in words.
const PROGRAMS: &[(&str, &[Given], &str)] = &[
    (
        "fn double(x: f32[n], y: f32[m]) { (x + x, y) }
        fn same(x: f32[n], y: f32[m]) { (x, y * 2.0) }
        fn main(c: bool, x: f32[n], y: f32[m]) {
          let (a, b) = branch(c, x, y) {then_branch = double, else_branch = same};
          (a, b)
        }",
        &[Given::Bool(false), Given::Floats(&[1.0, 2.0]), Given::Floats(&[3.0])],
        "[1.0, 2.0] [6.0]",
    ),
    (
        // Powers, until one exceeds a bound.
        "fn step(i: i64, c: bool, a: f32[n], w: f32[n], most: f32) {
          let next = a * w;
          (reduce_max(next) {keepdims = false} < most, next, next)
        }
        fn main(k: i64, a: f32[n], w: f32[n]) {
          loop(k, none, a, w, 20.0) {body = step, carried = 1}
        }",
        &[Given::Int(9), Given::Floats(&[1.0, 1.0]), Given::Floats(&[2.0, 3.0])],
        "[8.0, 27.0] [[2.0, 3.0], [4.0, 9.0], [8.0, 27.0]]",
    ),
    (
        // Running sums along the second axis, from its end.
        "fn step(sum: f32[n], x: f32[n]) { let s = sum + x; (s, s) }
        fn main(x: f32[n, m], s: f32[n]) {
          scan(s, x) {body = step, carried = 1, scanned = 1, input_axes = [1], input_directions = [1], output_axes = [1]}
        }",
        &[Given::Rows(&[&[1.0, 2.0, 3.0], &[4.0, 5.0, 6.0]]), Given::Floats(&[0.0, 10.0])],
        "[6.0, 25.0] [[3.0, 5.0, 6.0], [16.0, 21.0, 25.0]]",
    ),
    (
        // Each row minus its maximum, and the number of rows.
        "fn center(x: f32[..], by: f32) { x - reduce_max(x) + by }
        fn main(x: f32[n, m]) {
          let rows = split_to_sequence(x) {axis = 0, keepdims = false};
          let out = sequence_map(rows, 1.0) {body = center, mapped = 1};
          (concat_from_sequence(out) {axis = 0, new_axis = true}, sequence_length(out), sequence_at(out, -1i64))
        }",
        &[Given::Rows(&[&[1.0, 2.0], &[5.0, 4.0]])],
        "[[0.0, 1.0], [1.0, 0.0]] 2 [1.0, 0.0]",
    ),
    (
        "fn main(x: f32[n], y: f32[m]) {
          let s = sequence_erase(sequence_insert(sequence_construct(x, y), x, 0i64), -1i64);
          let none = optional_missing() {dtype = f32};
          let there = optional(y);
          (concat_from_sequence(s) {axis = 0}, optional_has_element(none), optional_get_element(there))
        }",
        &[Given::Floats(&[1.0]), Given::Floats(&[2.0])],
        "[1.0, 1.0] false [2.0]",
    ),
    (
        // A loop in a branch, whose function refers to values outside both.
        "fn step(i: i64, c: bool, a: f32[n], w: f32[n]) { (c, a + w) }
        fn run(a: f32[n], w: f32[n]) { loop(3i64, true, a, w) {body = step, carried = 1} }
        fn keep(a: f32[n], w: f32[n]) { a }
        fn main(c: bool, a: f32[n], w: f32[n]) { branch(c, a, w) {then_branch = run, else_branch = keep} }",
        &[Given::Bool(true), Given::Floats(&[1.0, 2.0]), Given::Floats(&[2.0, 4.0])],
        "[7.0, 14.0]",
    ),
];

#[derive(Clone, Copy)]
enum Given {
    Bool(bool),
    Int(i64),
    Floats(&'static [f32]),
    Rows(&'static [&'static [f32]]),
}

impl Given {
    fn tensor(self) -> Tensor {
        match self {
            Given::Bool(value) => Tensor::scalar(value),
            Given::Int(value) => Tensor::scalar(value),
            Given::Floats(values) => Tensor::vector(values.to_vec()),
            Given::Rows(rows) => Tensor::new(&[rows.len(), rows[0].len()], rows.concat()).unwrap(),
        }
    }
}

fn graph(text: &str) -> Graph {
    let program = parse_program(Arc::new(Source::new("test", text)))
        .unwrap_or_else(|problems| panic!("{text}\n{}", problems.render(false)));
    build_program(&program, &BuildOptions::default())
        .unwrap_or_else(|problems| panic!("{text}\n{}", problems.render(false)))
}

fn text(graph: &Graph) -> String {
    format_program(&to_program(graph))
}

fn show(tensors: &[Tensor]) -> String {
    fn nested(values: &[String], shape: &[usize]) -> String {
        let Some((&n, inner)) = shape.split_first() else {
            return values[0].clone();
        };
        let rows: Vec<String> = (0..n)
            .map(|i| {
                nested(
                    &values[i * values.len() / n.max(1)..(i + 1) * values.len() / n.max(1)],
                    inner,
                )
            })
            .collect();
        format!("[{}]", rows.join(", "))
    }
    let one = |t: &Tensor| {
        let values: Vec<String> = match t {
            Tensor::Bool(a) => a.iter().map(bool::to_string).collect(),
            _ if t.dtype().is_float() => t.to_f64s().unwrap().iter().map(|x| format!("{x:?}")).collect(),
            _ => t.to_ints().unwrap().iter().map(i128::to_string).collect(),
        };
        nested(&values, t.shape())
    };
    tensors.iter().map(one).collect::<Vec<_>>().join(" ")
}

fn run(workload: &Workload, inputs: &[Tensor], mode: Mode) -> String {
    let plan = Plan::compile(&workload.graph).unwrap_or_else(|e| panic!("{e}\n{}", text(&workload.graph)));
    let executor = Executor::new(plan, mode).unwrap();
    let results = executor.run(inputs, &workload.params);
    show(&results.unwrap_or_else(|e| panic!("{e}\n{}", text(&workload.graph))))
}

fn optimized(graph: Graph, params: Params) -> Outcome {
    optimize(Workload { graph, params }, &Options::default()).unwrap_or_else(|e| panic!("{}", e.render(false)))
}

#[test]
fn programs_compute_what_they_should() {
    for (program, given, expected) in PROGRAMS {
        let inputs: Vec<Tensor> = given.iter().map(|g| g.tensor()).collect();
        let workload = Workload {
            graph: graph(program),
            params: Params::default(),
        };
        workload.graph.validate().unwrap();
        assert_eq!(run(&workload, &inputs, Mode::Kernels), *expected, "{program}");
        assert_eq!(run(&workload, &inputs, Mode::Reference), *expected, "{program}");
        let outcome = optimized(workload.graph, Params::default());
        outcome.workload.graph.validate().unwrap();
        assert!(outcome.report.cost.1 <= outcome.report.cost.0, "{program}");
        assert_eq!(run(&outcome.workload, &inputs, Mode::Kernels), *expected, "{program}");
    }
}

#[test]
fn the_interpreter_agrees() {
    for (program, given, expected) in PROGRAMS.iter().filter(|(program, ..)| !program.contains("[n, m]")) {
        let g = graph(program);
        let inputs = g.inputs().to_vec();
        let value = |v| Some(given[inputs.iter().position(|&u| u == v)?].tensor());
        assert_eq!(show(&interpret(&g, &value).unwrap()), *expected, "{program}");
    }
}

#[test]
fn functions_are_printed_and_parsed() {
    for (program, ..) in PROGRAMS {
        let first = graph(program);
        let printed = text(&first);
        let second = graph(&printed);
        same_graph(&first, &second).unwrap_or_else(|e| panic!("{e}\n{printed}"));
        assert_eq!(text(&second), printed);
    }
}

#[test]
fn plans_are_plain_data() {
    for (program, given, expected) in PROGRAMS {
        let plan = Plan::compile(&graph(program)).unwrap();
        let stored: Plan = serde_json::from_str(&serde_json::to_string(&plan).unwrap()).unwrap();
        assert_eq!(stored, plan);
        let inputs: Vec<Tensor> = given.iter().map(|g| g.tensor()).collect();
        let results = Executor::new(stored, Mode::Kernels)
            .unwrap()
            .run(&inputs, &Params::default());
        assert_eq!(show(&results.unwrap()), *expected);
    }
}

fn becomes(before: &str, after: &str) {
    let outcome = optimized(graph(before), Params::default());
    let expected = graph(after);
    let found = &outcome.workload.graph;
    same_graph(&expected, found).unwrap_or_else(|e| panic!("{e}\n{}", text(found)));
}

#[test]
fn what_is_decided_is_not_decided_again() {
    let functions = "fn f(x: f32[n]) { -x } fn g(x: f32[n]) { relu(x) }";
    becomes(
        &format!("{functions} fn main(x: f32[n]) {{ branch(false, x) {{then_branch = f, else_branch = g}} }}"),
        "fn main(x: f32[n]) { relu(x) }",
    );
    // The condition is known, and therefore also the dimension.
    becomes(
        &format!(
            "{functions} fn main(x: f32[4]) {{
               branch(reduce_sum(shape(x)) {{keepdims = false}} == 4i64, x) {{then_branch = f, else_branch = g}}
             }}"
        ),
        "fn main(x: f32[4]) { -x }",
    );
    // Both branches compute the same.
    becomes(
        "fn f(x: f32[n]) { relu(x) } fn g(x: f32[n]) { relu(x) }
         fn main(c: bool, x: f32[n]) { branch(c, x) {then_branch = f, else_branch = g} }",
        "fn main(c: bool, x: f32[n]) { relu(x) }",
    );
    becomes(
        "fn step(i: i64, c: bool, a: f32[n]) { (false, relu(a)) }
         fn main(x: f32[n]) { loop(1i64, none, x) {body = step, carried = 1} }",
        "fn main(x: f32[n]) { relu(x) }",
    );
    becomes(
        "fn step(i: i64, c: bool, a: f32[n]) { (c, relu(a)) }
         fn main(x: f32[n]) { loop(5i64, false, x) {body = step, carried = 1} }",
        "fn main(x: f32[n]) { x }",
    );
    becomes(
        "fn main(x: f32[n], y: f32[n]) { sequence_at(sequence_insert(sequence_construct(x), y), 1i64) }",
        "fn main(x: f32[n], y: f32[n]) { y }",
    );
}

/// Compares the program with the original for both values of the condition.
fn same_results(program: &str, inputs: &[Tensor]) -> Outcome {
    let outcome = optimized(graph(program), Params::default());
    let plain = Workload {
        graph: graph(program),
        params: Params::default(),
    };
    let after = run(&outcome.workload, inputs, Mode::Kernels);
    assert_eq!(
        after,
        run(&plain, inputs, Mode::Kernels),
        "{}",
        text(&outcome.workload.graph)
    );
    outcome
}

#[test]
fn loops_are_written_out_where_that_adds_no_calls() {
    let x = [Tensor::vector(vec![0.5f32, -1.0])];
    let program = |body: &str| {
        format!(
            "fn step(i: i64, c: bool, a: f32[2]) {{ (c, {body}) }}
             fn main(x: f32[2]) {{ loop(4i64, none, x) {{body = step, carried = 1}} }}"
        )
    };
    // Four additions of a constant become one.
    let outcome = same_results(&program("a + 1.0"), &x);
    assert_eq!(
        outcome.workload.graph.call_count(),
        1,
        "{}",
        text(&outcome.workload.graph)
    );
    // Twelve calls cost more than a loop and three.
    let outcome = same_results(&program("sin(a) * exp(a)"), &x);
    assert_eq!(
        outcome.workload.graph.call_count(),
        4,
        "{}",
        text(&outcome.workload.graph)
    );
    // For one of two loops it pays off.
    let both = "fn step(i: i64, c: bool, a: f32[2]) { (c, a + 1.0) }
        fn more(i: i64, c: bool, a: f32[2]) { (c, sin(a) * exp(a)) }
        fn main(x: f32[2]) {
          let y = loop(4i64, none, x) {body = more, carried = 1};
          loop(3i64, none, y) {body = step, carried = 1}
        }";
    let outcome = same_results(both, &x);
    assert_eq!(
        outcome.workload.graph.call_count(),
        5,
        "{}",
        text(&outcome.workload.graph)
    );
}

#[test]
fn branches_on_ranks_follow_other_branches() {
    let program = |condition: &str| {
        format!(
            "fn cut(x: f32[n, m]) {{ squeeze(x) {{axes = [1]}} }} fn keep(x: f32[n, m]) {{ x }}
             fn back(y: f32[..]) {{ -y }} fn same(y: f32[..]) {{ relu(y) }}
             fn main(x: f32[n, m]) {{
               let y = branch(gather(shape(x), 1i64) == 1i64, x) {{then_branch = cut, else_branch = keep}};
               branch({condition}, y) {{then_branch = back, else_branch = same}}
             }}"
        )
    };
    let matrix = |m: usize| [Tensor::new::<f32>(&[2, m], (0..2 * m).map(|i| i as f32 - 1.0).collect()).unwrap()];
    for condition in [
        "size(shape(y)) == 2i64",
        "size(shape(y)) == 1i64",
        "size(shape(y)) < 2i64",
    ] {
        for m in [1, 3] {
            let outcome = same_results(&program(condition), &matrix(m));
            let after = text(&outcome.workload.graph);
            assert_eq!(after.matches("branch(").count(), 1, "{condition}\n{after}");
        }
    }
    // It has fewer than five axes in both cases.
    let outcome = same_results(&program("size(shape(y)) < 5i64"), &matrix(3));
    let after = text(&outcome.workload.graph);
    assert!(!after.contains("relu"), "{after}");
    // The value itself is unknown.
    let outcome = same_results(&program("reduce_max(y) {keepdims = false} > 2.0"), &matrix(3));
    let after = text(&outcome.workload.graph);
    assert_eq!(after.matches("branch(").count(), 2, "{after}");
}

#[test]
fn a_loop_that_may_end_early_stays() {
    let program = "fn step(i: i64, c: bool, a: f32[2]) { (reduce_max(a) {keepdims = false} < 9.0, a + a) }
        fn main(x: f32[2]) { loop(2i64, none, x) {body = step, carried = 1} }";
    let outcome = optimized(graph(program), Params::default());
    assert_eq!(outcome.report.resolved, 0);
    assert!(text(&outcome.workload.graph).contains("loop("));
    for x in [1.0f32, 10.0] {
        let x = [Tensor::vector(vec![x, 0.0])];
        let plain = Workload {
            graph: graph(program),
            params: Params::default(),
        };
        assert_eq!(
            run(&outcome.workload, &x, Mode::Kernels),
            run(&plain, &x, Mode::Kernels)
        );
    }
}

#[test]
fn functions_are_optimized_like_the_graph_around_them() {
    let program = "fn f(x: f32[2], w: f32[2]) { x + 0.0 + neg(w) * 2.0 } fn g(x: f32[2], w: f32[2]) { relu(relu(x)) }
        fn main(c: bool, x: f32[2], param w: f32[2]) { branch(c, x, w) {then_branch = f, else_branch = g} }";
    let params = Params::from([("w".into(), Tensor::vector(vec![1.0f32, 2.0]))]);
    let before = Workload {
        graph: graph(program),
        params: params.clone(),
    };
    let outcome = optimized(graph(program), params);
    // One addition, one relu, and the branch itself: values that depend only on the parameter are precomputed.
    assert_eq!(outcome.report.vertices, (7, 3), "{}", text(&outcome.workload.graph));
    assert!(outcome.report.rules.iter().any(|rule| rule.name.contains("relu")));
    for c in [true, false] {
        let inputs = [Tensor::scalar(c), Tensor::vector(vec![-1.0f32, 5.0])];
        let after = run(&outcome.workload, &inputs, Mode::Kernels);
        assert_eq!(after, run(&before, &inputs, Mode::Kernels));
    }
}

#[test]
fn calls_that_do_not_fit_are_refused() {
    let refused = |program: &str, why: &str| {
        let program = parse_program(Arc::new(Source::new("test", program))).unwrap();
        let problems = build_program(&program, &BuildOptions::default())
            .unwrap_err()
            .render(false);
        assert!(problems.contains(why), "{problems}");
    };
    refused(
        "fn f(x: f32[2]) { x } fn main(c: bool, x: i64[2]) { branch(c, x) {then_branch = f, else_branch = f} }",
        "`then_branch` takes f32[2], but is called with i64[2]",
    );
    refused(
        "fn f(x: f32[2]) { branch(true, x) {then_branch = f, else_branch = f} } fn main(x: f32[2]) { f(x) }",
        "`f` calls itself",
    );
    refused(
        "fn f(i: i64, c: bool, x: f32[2]) { (c, cast(x) {to = f64}) }
         fn main(x: f32[2]) { loop(3i64, none, x) {body = f, carried = 1} }",
        "`body` takes f32[2], but returns f64[2]",
    );
    refused(
        "fn main(x: f32[2], y: i64[2]) { sequence_construct(x, y) }",
        "a sequence cannot have elements f32[2] and i64[2]",
    );
}
