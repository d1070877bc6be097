use std::collections::HashMap;
use std::sync::Arc;

use proptest::prelude::*;

use super::kernels::testing as kernels_testing;
use super::{Executor, Mode, Options, Plan, PlanError, RunError, Session, kernels};
use tautomer_diag::Source;
use tautomer_graph::{BuildOptions, Graph, Params, VertexId, build_program};
use tautomer_lang::parse_program;
use tautomer_op::{Op, OpaqueOp, lookup};
use tautomer_tensor::{DType, Dim, Shape, Tensor, TensorType, Type};

pub(crate) fn graph(text: &str) -> Graph {
    let program = parse_program(Arc::new(Source::new("test", text))).unwrap();
    build_program(&program, &BuildOptions::default()).unwrap()
}

fn executor(text: &str) -> Executor {
    Executor::new(Plan::compile(&graph(text)).unwrap(), Mode::Kernels).unwrap()
}

fn ones(shape: &[usize]) -> Tensor {
    Tensor::new(shape, vec![1.0f32; shape.iter().product()]).unwrap()
}

/// A graph of `add` over two inputs: each row gives two earlier vertices and whether the sum is a result.
fn dag(rows: &[(usize, usize, bool)], width: usize) -> Graph {
    let mut g = Graph::new();
    let mut vertices: Vec<VertexId> = vec![
        g.input("a", Type::tensor(DType::F32, Shape::from(&[width, 1][..]))),
        g.input("b", Type::tensor(DType::F32, Shape::from(&[1, width][..]))),
    ];
    for &(i, j, output) in rows {
        let n = vertices.len();
        let operands = [vertices[i % n], vertices[j % n]];
        let v = g.call(Op::Known(lookup("add").unwrap()), &operands, &[]).unwrap();
        if output {
            g.output(v, None);
        }
        vertices.push(v);
    }
    g.output(*vertices.last().unwrap(), None);
    g
}

/// Checks that each step of a graph of `add` finds its operands: each byte has the name of the value that was written last.
fn check_memory(plan: &Plan) {
    let mut bytes: HashMap<(Option<usize>, u64), usize> = HashMap::new();
    let range = |s: usize| {
        let slot = &plan.slots[s];
        let (first, n) = (slot.offset?, slot.bytes.unwrap());
        assert!(slot.output.is_some() || first + n <= plan.memory.arena);
        Some((first..first + n).map(move |byte| (slot.output, byte)))
    };
    for (i, step) in plan.steps.iter().enumerate() {
        for slot in step.operands.iter().copied().flatten() {
            let own = |place: (Option<usize>, u64)| bytes.get(&place) == Some(&slot);
            assert!(
                range(slot).is_none_or(|mut range| range.all(own)),
                "step {i} reads %{slot}:\n{plan}"
            );
        }
        for &slot in &step.results {
            range(slot).into_iter().flatten().for_each(|place| {
                bytes.insert(place, slot);
            });
        }
    }
    for port in &plan.outputs {
        let own = |place: (Option<usize>, u64)| bytes.get(&place) == Some(&port.slot);
        assert!(
            range(port.slot).is_none_or(|mut range| range.all(own)),
            "output %{}:\n{plan}",
            port.slot
        );
    }
    assert!(
        plan.memory.peak <= plan.memory.total && plan.memory.arena <= plan.memory.total,
        "{:?}",
        plan.memory
    );
}

#[test]
fn calls_without_a_kernel_for_their_type_are_expanded() {
    let of = |dtype: &str| {
        let operand = format!("{dtype}[1, 2, 3, 4]");
        let text = format!("fn main(q: {operand}, k: {operand}, v: {operand}) {{ attention(q, k, v) }}");
        let plan = Plan::compile(&graph(&text)).unwrap();
        plan.steps.iter().map(|step| step.op.clone()).collect::<Vec<_>>()
    };
    assert_eq!(of("f32"), ["attention"]);
    let expanded = of("f64");
    assert!(
        expanded.contains(&"matmul".to_owned()) && !expanded.contains(&"attention".to_owned()),
        "{expanded:?}"
    );
}

proptest! {
    #![proptest_config(tautomer_testing::random_cases(256))]

    #[test]
    fn live_values_do_not_overlap(rows in prop::collection::vec((0usize..40, 0usize..40, prop::bool::weighted(0.1)), 1..40), width in 1usize..40) {
        let g = dag(&rows, width);
        let plan = Plan::compile(&g).unwrap();
        check_memory(&plan);
        // The plan never reads freed values: both modes give the same results.
        let inputs = [ones(&[width, 1]), ones(&[1, width])];
        let run = |mode| Executor::new(plan.clone(), mode).unwrap().run(&inputs, &Params::new()).unwrap();
        prop_assert_eq!(run(Mode::Kernels), run(Mode::Reference));
        let text = serde_json::to_string(&plan).unwrap();
        prop_assert_eq!(serde_json::from_str::<Plan>(&text).unwrap(), plan);
    }
}

#[test]
fn dead_values_make_room() {
    let rows: Vec<_> = (0..100).map(|i| (i + 1, i + 1, false)).collect();
    let plan = Plan::compile(&dag(&rows, 16)).unwrap();
    check_memory(&plan);
    assert!(plan.memory.arena <= 2 * 1024, "{}", plan.memory.arena);
}

#[test]
fn symbols_are_bound_and_compared() {
    let e = executor("fn main(x: f32[n, 2], y: f32[n], z: f32[2 * n]) { x + 1 }");
    let run = |x: &[usize], y: &[usize], z: &[usize]| e.run(&[ones(x), ones(y), ones(z)], &Params::new());
    assert_eq!(run(&[3, 2], &[3], &[6]).unwrap()[0].shape(), [3, 2]);
    let error = run(&[3, 2], &[4], &[6]).unwrap_err();
    assert_eq!(error.to_string(), "dimension `n` is 3 in `x` and 4 in `y`");
    let error = run(&[3, 2], &[3], &[7]).unwrap_err();
    assert_eq!(error.to_string(), "input `z` must be f32[2*n], but is f32[7]");
    let error = run(&[3, 5], &[3], &[6]).unwrap_err();
    assert_eq!(error.to_string(), "input `x` must be f32[n, 2], but is f32[3, 5]");
}

#[test]
fn wrong_inputs_are_named() {
    let e = executor("fn main(x: f32[2], param w: f32[2]) { x * w }");
    let params = Params::from_iter([(Arc::from("w"), ones(&[2]))]);
    assert_eq!(e.run(&[ones(&[2])], &params).unwrap(), [ones(&[2])]);
    assert_eq!(
        e.run(&[], &params).unwrap_err().to_string(),
        "1 inputs expected, 0 given"
    );
    let error = e.run(&[Tensor::vector(vec![1i64, 2])], &params).unwrap_err();
    assert_eq!(error.to_string(), "input `x` must be f32[2], but is i64[2]");
    let error = e.run(&[ones(&[2])], &Params::new()).unwrap_err();
    assert_eq!(error.to_string(), "parameter `w` of type f32[2] has no value");
    let error = e
        .run(&[ones(&[2])], &Params::from_iter([(Arc::from("w"), ones(&[2, 1]))]))
        .unwrap_err();
    assert_eq!(error.to_string(), "parameter `w` must be f32[2], but is f32[2, 1]");
    let error = e
        .run_named(&Params::from_iter([(Arc::from("u"), ones(&[2]))]), &params)
        .unwrap_err();
    assert_eq!(error.to_string(), "there is no input `u`; the inputs are x");
    let named = Params::from_iter([(Arc::from("x"), ones(&[2]))]);
    assert_eq!(e.run_named(&named, &params).unwrap(), [ones(&[2])]);
}

#[test]
fn opaque_operators_have_no_plan() {
    let mut g = Graph::new();
    let x = g.input("x", Type::tensor(DType::F32, [2]));
    let op = OpaqueOp {
        domain: "com.example".into(),
        name: "Magic".into(),
        attr_names: Vec::new(),
        result: Type::tensor(DType::F32, [2]),
    };
    let y = g.opaque(op, &[x], Vec::new());
    g.output(y, None);
    let error = Plan::compile(&g).unwrap_err();
    assert!(matches!(error, PlanError::Opaque { .. }));
    assert_eq!(
        error.to_string(),
        "`com.example::Magic` cannot be executed: it has no definition"
    );
}

#[test]
fn failing_steps_are_named() {
    let e = executor("fn main(x: i32[2], y: i32[2]) { x / y }");
    let error = e.run(
        &[Tensor::vector(vec![1i32, 2]), Tensor::vector(vec![1i32, 0])],
        &Params::new(),
    );
    assert_eq!(
        error.unwrap_err().to_string(),
        "step 0, `div(i32[2], i32[2])`: integer division by zero"
    );
}

#[test]
fn broken_plans_are_refused() {
    let mut plan = Plan::compile(&graph("fn main(x: f32[2]) { x + x }")).unwrap();
    plan.steps[0].operands[0] = Some(99);
    assert!(matches!(
        Executor::new(plan.clone(), Mode::Kernels),
        Err(RunError::Broken(_))
    ));
    assert!(plan.to_string().contains("add(%99, %0)"));
    plan.steps[0].op = "no_such_operator".into();
    assert!(matches!(
        Executor::new(plan, Mode::Kernels),
        Err(RunError::Opaque { .. })
    ));
}

#[test]
fn results_and_inputs_may_be_the_same() {
    let e = executor("fn main(x: f32[2], y: f32[3]) { (x, x, y + y) }");
    let out = e.run(&[ones(&[2]), ones(&[3])], &Params::new()).unwrap();
    assert_eq!(out.len(), 3);
    assert_eq!(out[1], ones(&[2]));
}

#[test]
fn extents_may_be_unknown() {
    let mut g = Graph::new();
    let shape: Shape = [g.unknown_dim(), Dim::Const(2)].into_iter().collect();
    let x = g.input("x", Type::Tensor(TensorType::new(DType::F32, shape)));
    let y = g.call(Op::Known(lookup("mul").unwrap()), &[x, x], &[]).unwrap();
    g.output(y, None);
    let plan = Plan::compile(&g).unwrap();
    assert!(!plan.is_static() && plan.slots[1].offset.is_none());
    let e = Executor::new(plan, Mode::Kernels).unwrap();
    assert_eq!(e.run(&[ones(&[5, 2])], &Params::new()).unwrap(), [ones(&[5, 2])]);
}

/// Numbers between -1 and 1, with some that are special if `special`.
fn numbers(shape: &[usize], seed: usize, special: bool) -> Tensor {
    let of = |i: usize| match (i * 7 + seed) % 53 {
        5 if special => f32::NAN,
        11 if special => f32::INFINITY,
        17 if special => f32::NEG_INFINITY,
        23 => -0.0,
        n => n as f32 / 26.0 - 1.0,
    };
    Tensor::new(shape, (0..shape.iter().product()).map(of).collect::<Vec<f32>>()).unwrap()
}

#[test]
fn kernels_do_the_steps_after_them() {
    let conv = "x: f32[2, 6, 9, 17], w: f32[6, 6, 3, 3], r: f32[2, 6, 7, 15]";
    let few = "x: f32[2, 6, 9, 17], w: f32[6, 1, 3, 3], r: f32[2, 6, 7, 15]";
    let product = "x: f32[2, 9, 17], w: f32[17, 33], b: f32[33], r: f32[2, 9, 33]";
    let batches = "x: f32[2, 9, 17], w: f32[2, 33, 17], b: f32[33], r: f32[2, 9, 33]";
    let row = "x: f32[17], w: f32[17, 33], b: f32[33], r: f32[33]";
    let mut programs = Vec::new();
    for activation in [
        "",
        "activation = \"relu\"",
        "activation = \"clip\", low = -0.5, high = 0.25",
        "activation = \"clip\", high = 0.25",
    ] {
        for rest in ["x, w", "x, w, none, r"] {
            programs.push(format!("fn main({conv}) {{ fused_conv({rest}) {{{activation}}} }}"));
            programs.push(format!(
                "fn main({few}) {{ fused_conv({rest}) {{group = 6, {activation}}} }}"
            ));
        }
        for rest in ["x, w", "x, w, b", "x, w, none, r", "x, w, b, r"] {
            programs.push(format!(
                "fn main({product}) {{ fused_matmul({rest}) {{{activation}}} }}"
            ));
            programs.push(format!("fn main({row}) {{ fused_matmul({rest}) {{{activation}}} }}"));
            programs.push(format!(
                "fn main({batches}) {{ fused_matmul({rest}) {{transposed = true, {activation}}} }}"
            ));
        }
    }
    for text in &programs {
        let plan = Plan::compile(&graph(text)).unwrap();
        assert_eq!(plan.steps.len(), 1, "{text}");
        for special in [false, true] {
            let inputs: Vec<Tensor> = (plan.inputs.iter().enumerate())
                .map(|(i, port)| {
                    let shape = plan.slots[port.slot].ty.as_tensor().unwrap().shape.as_ref().unwrap();
                    numbers(&shape.to_concrete().unwrap(), i, special)
                })
                .collect();
            let reference = Executor::new(plan.clone(), Mode::Reference).unwrap();
            let want = reference.run(&inputs, &Params::new()).unwrap();
            let one = Executor::new(plan.clone(), Mode::Kernels).unwrap();
            let got = one.run(&inputs, &Params::new()).unwrap();
            assert!(!one.is_by_reference(0), "{text}");
            for (got, want) in got.iter().zip(&want) {
                assert_eq!(got.ty(), want.ty());
                let (got, want) = (got.to_f64s().unwrap(), want.to_f64s().unwrap());
                for (x, y) in got.iter().zip(&want) {
                    let same = x == y || (x.is_nan() && y.is_nan()) || (x - y).abs() < 1e-5;
                    assert!(same, "{text}: {x} instead of {y}");
                }
            }
            for threads in [2, 3, 8] {
                let many = one.clone().threads(threads).run(&inputs, &Params::new()).unwrap();
                assert!(
                    many.iter().zip(&got).all(|(a, b)| a.same_bits(b)),
                    "{text} on {threads} threads"
                );
            }
        }
    }
}

#[test]
fn results_do_not_depend_on_threads() {
    let text =
        "fn main(x: f32[2, 32, 40, 41], param w: f32[48, 32, 3, 3], param d: f32[48, 1, 3, 3], v: f32[70, 300]) {
        let y = relu(conv(x, w) {pads = [1, 1, 1, 1]});
        (conv(y, d) {group = 48}, matmul(v, transpose(v)), matmul(reshape(y, [960, 164]), reshape(x, [164, 640])))
    }";
    let plan = Plan::compile(&graph(text)).unwrap();
    let mut params = Params::new();
    params.insert("w".into(), numbers(&[48, 32, 3, 3], 1, false));
    params.insert("d".into(), numbers(&[48, 1, 3, 3], 2, false));
    let inputs = [numbers(&[2, 32, 40, 41], 3, false), numbers(&[70, 300], 4, false)];
    let one = Executor::new(plan, Mode::Kernels).unwrap();
    let want = one.run(&inputs, &params).unwrap();
    for threads in [2, 3, 5] {
        let many = one.clone().threads(threads);
        for _ in 0..2 {
            let got = many.run(&inputs, &params).unwrap();
            assert!(
                got.iter().zip(&want).all(|(a, b)| a.same_bits(b)),
                "on {threads} threads"
            );
        }
    }
}

#[test]
fn a_plan_prints() {
    let plan = Plan::compile(&graph(
        "fn main(x: f32[2, 24], param w: f32[24]) { let y = x * w; y + max(y, y) }",
    ))
    .unwrap();
    insta::assert_snapshot!(plan);
}

#[test]
fn long_chains_and_wide_graphs_have_plans() {
    let rows: Vec<_> = (0..100_000).map(|i| (i + 1, i / 2, false)).collect();
    let plan = Plan::compile(&dag(&rows, 4)).unwrap();
    assert_eq!(plan.steps.len(), 100_000);
    let rows: Vec<_> = (0..100_000).map(|_| (0, 1, true)).collect();
    assert_eq!(Plan::compile(&dag(&rows, 4)).unwrap().outputs.len(), 100_001);
}

/// Programs whose values share memory: views, parts of concatenations, results over operands, outputs.
const SHARING: [&str; 8] = [
    "fn main(x: f32[4, 6]) { let (a, b) = split(relu(x)) {axis = 0, sizes = [2, 2]}; concat(exp(a), b * b, a) {axis = 0} }",
    "fn main(x: f32[1, 4, 3]) { let y = relu(x); let a = concat(y, exp(y)) {axis = 1}; let b = concat(a, neg(a), y) {axis = 1}; (relu(b), y) }",
    "fn main(x: f32[2, 6]) { let y = exp(x); let z = reshape(y, [3, 4]); (z + z, relu(y), y) }",
    "fn main(x: f32[6, 5]) { let y = exp(x); let z = slice(y) {starts = [2], ends = [5], axes = [0]}; neg(z) * z }",
    "fn main(x: f32[5], y: f32[5]) { let a = x + y; let b = a * a; (b - a, flatten(b), concat(b, x, b) {axis = 0}) }",
    "fn main(x: f32[1, 2, 9, 9], param w: f32[2, 2, 3, 3]) { let y = conv(x, w) {pads = [1, 1, 1, 1]}; relu(y + x) + y }",
    "fn main(x: f32[3, 4]) { let y = exp(x); let a = max(y, 0.5); let b = min(a, y); concat(a, b, transpose(reshape(b, [4, 3]))) {axis = 0} }",
    "fn main(x: f32[8]) { let y = x > 0; let z = not(y); where(not(z), exp(x), cast(z, f32)) }",
];

#[test]
fn values_that_share_memory_keep_their_elements() {
    for text in SHARING {
        let plan = Plan::compile(&graph(text)).unwrap();
        let inputs: Vec<Tensor> = plan
            .inputs
            .iter()
            .enumerate()
            .map(|(i, port)| {
                let shape = plan.slots[port.slot].ty.as_tensor().unwrap().shape.as_ref().unwrap();
                numbers(&shape.to_concrete().unwrap(), i, false)
            })
            .collect();
        let params = Params::from_iter([(Arc::from("w"), numbers(&[2, 2, 3, 3], 7, false))]);
        let want = Executor::new(plan.clone(), Mode::Reference)
            .unwrap()
            .run(&inputs, &params)
            .unwrap();
        let executor = Executor::new(plan, Mode::Kernels).unwrap();
        let mut into: Vec<Tensor> = want
            .iter()
            .map(|t| kernels::zeros(t.dtype(), t.shape()).unwrap())
            .collect();
        for _ in 0..3 {
            let got = executor.run(&inputs, &params).unwrap();
            executor.run_into(&inputs, &params, &mut into).unwrap();
            for ((got, into), want) in got.iter().zip(&into).zip(&want) {
                kernels_testing::assert_close(got, want, 1e-5, text);
                assert!(got.same_bits(into), "{text}: {into:?} instead of {got:?}");
            }
        }
    }
}

#[test]
fn memory_is_shared_where_that_is_safe() {
    let arena = |text: &str| Plan::compile(&graph(text)).unwrap().memory.arena;
    // One value after the other in one place, the last in that of the output.
    assert_eq!(arena("fn main(x: f32[64]) { relu(exp(neg(relu(x)))) }"), 0);
    // A concatenation is where its parts are.
    assert_eq!(arena("fn main(x: f32[64]) { concat(exp(x), neg(x)) {axis = 0} }"), 0);
    let text = "fn main(x: f32[64]) { let y = concat(exp(x), neg(x)) {axis = 0}; reduce_sum(y * 2) {axes = [0]} }";
    assert_eq!(arena(text), 512);
    // A value that is read later is not replaced.
    assert_eq!(arena("fn main(x: f32[64]) { let y = exp(x); softmax(y) * y }"), 256);
    // Values within a loop are in registers; what it reads stays until it has ended.
    assert_eq!(arena("fn main(x: f32[64]) { let y = exp(x); relu(y) * y }"), 0);
    assert_eq!(
        arena("fn main(x: f32[64]) { let y = softmax(x); exp(neg(relu(y))) }"),
        256
    );
}

#[test]
fn places_of_a_plan_that_was_read_are_checked() {
    let plan = Plan::compile(&graph("fn main(x: f32[64]) { let y = exp(x); softmax(y) * y }")).unwrap();
    let new = |change: &dyn Fn(&mut Plan)| {
        let mut plan = plan.clone();
        change(&mut plan);
        Executor::new(plan, Mode::Kernels).map(drop).map_err(|e| e.to_string())
    };
    assert_eq!(new(&|_| {}), Ok(()));
    let (y, z) = (plan.steps[0].results[0], plan.steps[1].results[0]);
    let error =
        new(&|plan| (plan.slots[z].offset, plan.slots[z].output) = (plan.slots[y].offset, plan.slots[y].output));
    let text = format!("the plan is broken: step 2 reads %{y}, which has been overwritten");
    assert_eq!(error, Err(text));
    let error = new(&|plan| plan.slots[y].offset = Some(64));
    assert_eq!(
        error.unwrap_err(),
        "the plan is broken: a value ends after the arena of 256 bytes"
    );
}

#[test]
fn loops_of_a_plan_that_was_read_are_checked() {
    let plan = Plan::compile(&graph("fn main(x: f32[64]) { let y = softmax(x); exp(y) * y }")).unwrap();
    let new = |change: &dyn Fn(&mut Plan)| {
        let mut plan = plan.clone();
        change(&mut plan);
        Executor::new(plan, Mode::Kernels).map(drop).map_err(|e| e.to_string())
    };
    assert_eq!(new(&|_| {}), Ok(()));
    assert_eq!((plan.regions[0].first, plan.regions[0].count), (1, 2));
    let error = |text: &str| Err(format!("the plan is broken: {text}"));
    let missing = error("a loop of steps that are not there, from 1");
    assert_eq!(new(&|plan| plan.regions[0].count = 3), missing);
    assert_eq!(new(&|plan| plan.regions[0].count = usize::MAX), missing);
    assert_eq!(new(&|plan| plan.regions.push(plan.regions[0].clone())), missing);
    let other = error("a loop from step 1 that does not compute its steps");
    assert_eq!(new(&|plan| plan.regions[0].outputs.clear()), other);
    assert_eq!(new(&|plan| plan.regions[0].inputs.push(0)), other);
    // One step after the other, the last could write over what it is the last to read.
    let (y, z) = (plan.steps[0].results[0], plan.steps[2].results[0]);
    let over = |plan: &mut Plan| (plan.slots[z].offset, plan.slots[z].output) = (plan.slots[y].offset, None);
    assert_eq!(
        new(&over),
        error(&format!("the loop from step 1 writes %{z} over what it needs at 0"))
    );
}

#[test]
fn shapes_are_planned_for_values_of_symbols() {
    let e = executor("fn main(x: f32[n, 3]) { let y = exp(x); concat(y, neg(y)) {axis = 0} }");
    for n in [1, 5, 2, 5, 0, 7, 5] {
        let x = numbers(&[n, 3], n, false);
        let reference = Executor::new(e.plan().clone(), Mode::Reference).unwrap();
        let want = reference.run(std::slice::from_ref(&x), &Params::new()).unwrap();
        let got = e.run(&[x], &Params::new()).unwrap();
        kernels_testing::assert_close(&got[0], &want[0], 1e-6, "symbols");
    }
}

#[test]
fn outputs_must_fit() {
    let e = executor("fn main(x: f32[2]) { (exp(x), x) }");
    let x = [ones(&[2])];
    let into = |outputs: &mut [Tensor]| e.run_into(&x, &Params::new(), outputs).map_err(|e| e.to_string());
    assert_eq!(into(&mut [ones(&[2]), ones(&[2])]), Ok(()));
    assert_eq!(into(&mut [ones(&[2])]), Err("2 results, but tensors for 1".into()));
    let error = into(&mut [ones(&[3]), ones(&[2])]);
    assert_eq!(error, Err("output `` must be f32[2], but is f32[3]".into()));
    // Elements that something else shows stay as they are.
    let shared = ones(&[2]);
    let mut outputs = [shared.clone(), shared.clone()];
    into(&mut outputs).unwrap();
    assert_eq!((&shared, &outputs[1]), (&ones(&[2]), &x[0]));
    assert_ne!(shared, outputs[0]);
}

#[test]
fn sessions_run_on_many_threads() {
    fn is_shared<T: Send + Sync>(_: &T) {}
    let g = graph("fn main(x: f32[64, 8], param w: f32[8]) { let y = exp(x) * w; concat(y, relu(y)) {axis = 0} }");
    let params = Params::from_iter([(Arc::from("w"), numbers(&[8], 1, false))]);
    let session = Session::new(&g, params, Options::default()).unwrap();
    is_shared(&session);
    assert_eq!(session.inputs().collect::<Vec<_>>(), ["x"]);
    let given = |seed| Params::from_iter([(Arc::from("x"), numbers(&[64, 8], seed, false))]);
    let want: Vec<_> = (0..4).map(|seed| session.run(&given(seed)).unwrap()).collect();
    std::thread::scope(|scope| {
        for seed in 0..4usize {
            let (session, want, given) = (&session, &want, given(seed));
            scope.spawn(move || {
                for _ in 0..20 {
                    assert_eq!(session.run(&given).unwrap(), want[seed]);
                }
            });
        }
    });
}
