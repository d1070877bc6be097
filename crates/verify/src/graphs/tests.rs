use std::sync::Arc;

use super::*;
use tautomer_diag::Source;
use tautomer_graph::{BuildOptions, Graph, VertexId, build_program, interpret};
use tautomer_lang::parse_program;
use tautomer_op::{AttrValue, OpaqueOp};
use tautomer_tensor::{DType, Dim, Shape, Tensor, Type};

fn workload(text: &str) -> Workload {
    let program = parse_program(Arc::new(Source::new("test", text))).unwrap_or_else(|e| panic!("{}", e.render(false)));
    let graph = build_program(&program, &BuildOptions::default()).unwrap_or_else(|e| panic!("{}", e.render(false)));
    Workload {
        graph,
        params: Params::default(),
    }
}

/// The report without a proof.
fn compared(original: &str, optimized: &str) -> Report {
    let options = Options {
        prove: false,
        ..Options::default()
    };
    verify_graphs(&workload(original), &workload(optimized), &options)
}

#[test]
fn values_that_are_used_often_do_not_fill_the_memory() {
    // Written as one expression, the last value would not fit in memory.
    let net = |last: &str| {
        let lines: String = (0..60)
            .map(|i| format!("let a{} = tanh(a{i} * tanh(a{i}) + x);\n", i + 1))
            .collect();
        workload(&format!("fn main(x: f32[n]) {{ let a0 = x; {lines} {last} }}"))
    };
    let report = verify_graphs(&net("a60 + x"), &net("x + a60"), &Options::default());
    assert!(
        report.verdict.to_string().starts_with("proved at "),
        "{}",
        report.verdict
    );
    let report = verify_graphs(&net("a60 + x"), &net("x - a60"), &Options::default());
    assert!(matches!(report.verdict, Verdict::Refuted(_)), "{}", report.verdict);
}

#[test]
fn equal_formulas_are_proved_for_all_sizes() {
    let verdict = |original: &str, optimized: &str| {
        let report = verify_graphs(&workload(original), &workload(optimized), &Options::default());
        report.verdict.to_string()
    };
    for (original, optimized) in [
        (
            NET,
            "fn main(x: f32[n, 3], param w: f32[3, 4]) { softmax(2.0 * relu(matmul(x, w))) }",
        ),
        (
            "fn main(x: f32[n, m], y: f32[n, m]) { (x + y) * (x - y) }",
            "fn main(x: f32[n, m], y: f32[n, m]) { x * x - y * y }",
        ),
        (
            "fn main(x: f32[n, m], y: f32[m, k]) { transpose(matmul(x, y)) }",
            "fn main(x: f32[n, m], y: f32[m, k]) { matmul(transpose(y), transpose(x)) }",
        ),
        (
            "fn main(x: f32[n, 2, m]) { reshape(relu(x)) {shape = [n, 2 * m]} }",
            "fn main(x: f32[n, 2, m]) { relu(reshape(x) {shape = [n, 2 * m]}) }",
        ),
    ] {
        assert_eq!(
            verdict(original, optimized),
            "proved: the same formulas for all sizes",
            "{original}\n{optimized}"
        );
    }
    // Equal only for some dimensions.
    for (original, optimized) in [
        (
            "fn main(x: f32[n, m]) { reshape(x) {shape = [n * m]} }",
            "fn main(x: f32[n, m]) { reshape(transpose(x)) {shape = [n * m]} }",
        ),
        (
            "fn main(x: f32[n]) { reduce_mean(x) }",
            "fn main(x: f32[n]) { reduce_sum(x) / 3.0 }",
        ),
    ] {
        let verdict = verdict(original, optimized);
        assert!(verdict.starts_with("refuted"), "{verdict}\n{original}\n{optimized}");
    }
}

fn difference(report: Report) -> Difference {
    match report.verdict {
        Verdict::Refuted(difference) => *difference,
        other => panic!("{other} {:?}", report.notes),
    }
}

const NET: &str = "fn main(x: f32[n, 3], param w: f32[3, 4]) { let h = relu(matmul(x, w)); softmax(h + h) }";

#[test]
fn verdicts_say_how_sure_they_are() {
    for (original, optimized, verdict) in [
        (NET, NET, "proved: the same expression"),
        (
            "fn main(x: f32[n, 3]) { gelu(x) }",
            "fn main(x: f32[n, 3]) { x * 0.5 * (1.0 + erf(x / sqrt(2.0))) }",
            "",
        ),
        (
            "fn main(x: f32[n, m], y: f32[n, m]) { (x + y) * (x - y) }",
            "fn main(x: f32[n, m], y: f32[n, m]) { x * x - y * y }",
            "proved at 4 shapes",
        ),
        (
            "fn main(x: f32[2, 3]) { -(-x) + exp(x) }",
            "fn main(x: f32[2, 3]) { exp(x) + x }",
            "proved at 1 shape",
        ),
        (
            NET,
            "fn main(x: f32[n, 3], param w: f32[3, 4]) { softmax(2.0 * relu(matmul(x, w))) }",
            "proved at 4 shapes",
        ),
        (
            NET,
            "fn main(x: f32[n, 3], param w: f32[3, 4]) { softmax(2.0 * relu(relu(matmul(x, w)))) }",
            "tested at 20 instances",
        ),
        (
            "fn main(x: f32[n, 3]) { relu(x) }",
            "fn main(x: f32[n, 3]) { x }",
            "refuted: `output 0` differs",
        ),
        (
            "fn main(i: i64[n]) { i + i }",
            "fn main(i: i64[n]) { i * 2 }",
            "tested at 20 instances",
        ),
        (
            "fn main(x: f32[n, 3]) { relu(x) }",
            "fn main(x: f32[n, 3]) { cast(relu(x)) {to = f16} }",
            "refuted: `output 0` is f32[n, 3] in the original and f16[n, 3] in the optimized one",
        ),
        (
            "fn main(x: f32[n, 3]) { relu(x) }",
            "fn main(x: f32[n, 4]) { relu(x) }",
            "refuted: `x` is f32[n, 3] in the original and f32[n, 4] in the optimized one",
        ),
        (
            "fn main(x: f32[n, 3]) { relu(x) }",
            "fn main(x: f32[n, 3]) { (x, x) }",
            "refuted: the original has 1 result, and the optimized one has 2",
        ),
    ] {
        let report = compared(original, optimized);
        if verdict.is_empty() {
            assert!(
                !matches!(report.verdict, Verdict::Refuted(_) | Verdict::Undecided(_)),
                "{}",
                report.verdict
            );
        } else {
            assert_eq!(report.verdict.to_string(), verdict, "{original}\n{optimized}");
        }
    }
}

#[test]
fn names_of_symbols_and_inputs_may_differ() {
    let original = "fn main(x: f32[n, 3], y: f32[n, 3]) { (x + y, x * y) }";
    let report = compared(
        original,
        "fn main(a: f32[batch, 3], b: f32[batch, 3]) { (b + a, a * b) }",
    );
    assert_eq!(report.verdict.to_string(), "proved at 4 shapes");
    assert_eq!(report.notes, ["inputs are paired by position: their names differ"]);
    let named = "fn main(x: f32[n, 3], y: f32[n, 3]) { let p = x + y; let q = x * y; (p, q) }";
    let report = compared(named, &named.replace('q', "r"));
    assert_eq!(report.verdict.to_string(), "proved: the same expression");
    assert_eq!(report.notes, ["results are paired by position: their names differ"]);
    let fixed = compared(original, "fn main(x: f32[1, 3], y: f32[1, 3]) { (x + y, y * x) }");
    assert_eq!(fixed.verdict.to_string(), "proved at 1 shape");
    assert_eq!(fixed.notes, ["only where n is 1, as in the optimized one"]);
    // By name, in any order.
    let report = compared(
        "fn main(x: f32[2], y: f32[2]) { let p = x - y; let q = x * y; (p, q) }",
        "fn main(y: f32[2], x: f32[2]) { let p = x - y; let q = x * y; (q, p) }",
    );
    assert_eq!(report.verdict.to_string(), "proved: the same expression");
    assert!(report.notes.is_empty(), "{:?}", report.notes);
}

#[test]
fn the_first_difference_is_shown() {
    let original = "fn main(x: f32[n, 2]) { let a = tanh(x); let b = relu(a); let c = b + 1.0; exp(c) }";
    let optimized = "fn main(x: f32[n, 2]) { let a = tanh(x); let b = abs(a); let c = b + 1.0; exp(c) }";
    let found = difference(compared(original, optimized));
    let first = found.first.unwrap();
    assert_eq!((first.value.as_str(), first.operator.as_str()), ("`b`", "abs"));
    assert_eq!(first.operands, [("`a`".to_owned(), Some("`a`".to_owned()))]);
    assert_eq!(first.strange, None);
    assert_eq!(found.shapes, "n = 2");
    assert!(found.values.contains_key("x"));
    // Without intermediate names: the result itself, and where the difference comes from.
    let found = difference(compared(
        "fn main(x: f32[2, 2]) { exp(relu(tanh(x)) + 1.0) }",
        "fn main(x: f32[2, 2]) { exp(abs(tanh(x)) + 1.0) }",
    ));
    let first = found.first.unwrap();
    assert_eq!(first.operator, "exp");
    assert!(first.strange.unwrap().starts_with("abs #"), "{:?}", first.operands);
}

#[test]
fn both_graphs_can_be_run_where_they_differ() {
    let original = "fn main(x: f32[n, 2], param w: f32[2, m]) { reshape(matmul(x, w)) {shape = [n * m]} }";
    let optimized = "fn main(x: f32[n, 2], param w: f32[2, m]) { reshape(matmul(x, w) * 2.0) {shape = [m * n]} }";
    let found = difference(compared(original, optimized));
    let [a, b] = *found.workloads.unwrap();
    let run = |w: &Workload| interpret(&w.graph, &|v| w.params.get(w.graph.vertex(v).name.as_ref()?).cloned()).unwrap();
    let (x, y) = (run(&a)[0].to_f64s().unwrap(), run(&b)[0].to_f64s().unwrap());
    let at = found.element.unwrap()[0];
    assert_eq!(format!("{:?}", x[at]), found.expected);
    assert_eq!(format!("{:?}", y[at]), found.found);
    assert!(a.graph.inputs().is_empty());
}

#[test]
fn parameters_that_were_computed_ahead_are_rounded() {
    let values = |names: &[(&str, Vec<f32>)]| -> Params {
        names
            .iter()
            .map(|(n, v)| (Arc::from(*n), Tensor::vector(v.clone())))
            .collect()
    };
    let mut original = workload("fn main(x: f32[n, 3], param v: f32[3], param w: f32[3]) { x * v * w }");
    original.params = values(&[("v", vec![0.1, 0.2, 0.3]), ("w", vec![0.7, 0.5, 1.1])]);
    let mut optimized = workload("fn main(x: f32[n, 3], param u: f32[3]) { x * u }");
    optimized.params = values(&[("u", vec![0.1 * 0.7, 0.2 * 0.5, 0.3 * 1.1])]);
    let report = verify_graphs(&original, &optimized, &Options::default());
    assert_eq!(report.verdict.to_string(), "tested at 20 instances");
    optimized.params = values(&[("u", vec![0.07, 0.1, 0.3301])]);
    let report = verify_graphs(&original, &optimized, &Options::default());
    assert_eq!(difference(report).element.map(|e| e[1]), Some(2));
    // A parameter with the same name and other values is a different one.
    let mut changed = original.clone();
    changed.params = values(&[("v", vec![0.1, 0.2, 0.3]), ("w", vec![0.7, 0.5, 1.2])]);
    difference(verify_graphs(&original, &changed, &Options::default()));
}

#[test]
fn calls_without_a_definition_are_cut_out() {
    let with = |body: &str| format!("opaque blur(x: f32[4, 4]) -> f32[4, 4];\nfn main(x: f32[4, 4]) {{ {body} }}");
    let original = with("relu(relu(blur(x * 2.0))) + 1.0");
    let report = compared(&original, &with("1.0 + relu(blur(x + x))"));
    assert!(matches!(report.verdict, Verdict::Tested { .. }), "{}", report.verdict);
    assert_eq!(report.outputs.len(), 2);
    assert!(
        report.notes[0].starts_with("1 call has no definition"),
        "{:?}",
        report.notes
    );
    let found = difference(compared(&original, &with("relu(blur(x * 3.0)) + 1.0")));
    assert_eq!(found.output.as_deref(), Some("operand 0 of `blur` 0"));
    let more = compared("fn main(x: f32[4, 4]) { relu(x) }", &with("relu(blur(x))"));
    assert!(matches!(more.verdict, Verdict::Undecided(_)), "{}", more.verdict);
}

#[test]
fn large_graphs_are_run_by_the_machine() {
    let machine = |graph: &Graph, inputs: &[Tensor]| {
        let place = |v: VertexId| graph.inputs().iter().position(|&u| u == v);
        interpret(graph, &|v| inputs.get(place(v)?).cloned()).map_err(|e| e.to_string())
    };
    let options = Options {
        prove: false,
        limits: Limits {
            operations: 10,
            machine: 1,
            elements: 1 << 20,
        },
        machine: Some(&machine),
        ..Options::default()
    };
    let (original, right) = (workload(NET), workload(&NET.replace("h + h", "2.0 * h")));
    let report = verify_graphs(&original, &right, &options);
    assert_eq!(report.verdict.to_string(), "tested at 1 instance");
    assert!(
        report.notes.iter().any(|n| n.contains("by the kernels")),
        "{:?}",
        report.notes
    );
    let more = Limits {
        machine: 1_000_000,
        ..options.limits
    };
    let twenty = verify_graphs(
        &original,
        &right,
        &Options {
            limits: more,
            ..options
        },
    );
    assert_eq!(twenty.verdict.to_string(), "tested at 20 instances");
    let wrong = workload(&NET.replace("relu", "abs"));
    let found = difference(verify_graphs(&original, &wrong, &options));
    assert_eq!(found.first.unwrap().value, "`h`");
    let nothing = verify_graphs(
        &original,
        &right,
        &Options {
            machine: None,
            ..options
        },
    );
    assert!(matches!(nothing.verdict, Verdict::Undecided(_)));
}

#[test]
fn bits_are_compared_for_the_bitwise_class() {
    let bitwise = Options {
        class: Class::Bitwise,
        ..Options::default()
    };
    let (original, optimized) = (
        workload("fn main(x: f32[n]) { x + 0.0 }"),
        workload("fn main(x: f32[n]) { x }"),
    );
    assert_eq!(
        verify_graphs(&original, &optimized, &Options::default())
            .verdict
            .to_string(),
        "proved: the same formulas for all sizes"
    );
    let found = difference(verify_graphs(&original, &optimized, &bitwise));
    assert!(found.what.starts_with("the bits of"), "{}", found.what);
}

/// Attributes of operators without a definition are compared by value: tensors are only partly printed.
#[test]
fn calls_with_different_tensors_are_not_paired() {
    let with = |place: usize| {
        let mut table = vec![1.0f32; 700];
        table[place] = 5.0;
        let ty = Type::tensor(DType::F32, [Dim::Const(4)].into_iter().collect::<Shape>());
        let mut graph = Graph::new();
        let x = graph.input("x", ty.clone());
        let op = OpaqueOp {
            domain: "com.example".to_owned(),
            name: "Warp".to_owned(),
            attr_names: vec!["table".into()],
            result: ty,
        };
        let warped = graph.opaque(op, &[x], vec![AttrValue::Tensor(Tensor::vector(table))]);
        graph.output(warped, Some("y"));
        Workload {
            graph,
            params: Params::default(),
        }
    };
    let same = verify_graphs(&with(349), &with(349), &Options::default());
    assert!(matches!(same.verdict, Verdict::Proved(_)), "{}", same.verdict);
    for other in [2, 348, 350, 699] {
        let report = verify_graphs(&with(349), &with(other), &Options::default());
        assert!(
            !matches!(report.verdict, Verdict::Proved(_)),
            "{other}: {}",
            report.verdict
        );
    }
}

/// So are the functions of a call, with the constants in them.
#[test]
fn branches_with_different_constants_differ() {
    let with = |place: usize| {
        let mut table = vec!["1.0"; 700];
        table[place] = "5.0";
        workload(&format!(
            "fn f(x: f32[700]) {{ x + [{}] }} fn g(x: f32[700]) {{ x }} fn main(x: f32[700]) {{ \
             branch(reduce_sum(abs(x)) {{keepdims = false}} > 1e20, x) {{then_branch = f, else_branch = g}} }}",
            table.join(", ")
        ))
    };
    let same = verify_graphs(&with(349), &with(349), &Options::default());
    assert!(same.verdict.to_string().starts_with("proved"), "{}", same.verdict);
    // Whether a branch that nothing is known about is taken is drawn at each point of the field.
    for seed in 0..8 {
        let options = Options {
            seed,
            ..Options::default()
        };
        let other = verify_graphs(&with(349), &with(350), &options);
        assert!(!other.verdict.to_string().starts_with("proved"), "{}", other.verdict);
    }
}

#[test]
fn magnitudes_written_as_choices_are_proved() {
    for other in ["abs(x)", "max(x, -x)", "-min(x, -x)", "relu(x) + relu(-x)"] {
        let report = verify_graphs(
            &workload("fn main(x: f32[n]) { where(x < 0.0, -x, x) }"),
            &workload(&format!("fn main(x: f32[n]) {{ {other} }}")),
            &Options::default(),
        );
        assert!(
            !matches!(report.verdict, Verdict::Refuted(_) | Verdict::Undecided(_)),
            "{other}: {}",
            report.verdict
        );
        if !other.contains("relu") {
            assert_eq!(
                report.verdict.to_string(),
                "proved: the same formulas for all sizes",
                "{other}"
            );
        }
    }
}
