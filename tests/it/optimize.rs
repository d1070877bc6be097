//! Optimizing random graphs with the whole library: the same results, at no higher cost, deterministically.

use std::sync::{Arc, OnceLock};

use proptest::prelude::*;
use proptest::test_runner::TestCaseError;
use tautomer::diag::Source;
use tautomer::exec::{Executor, Mode, Plan};
use tautomer::graph::{
    BuildOptions, Graph, Node, Params, VertexId, Workload, build_program, interpret, interpret_vertices, same_graph,
    to_program,
};
use tautomer::lang::{format_program, parse_program, parse_rules};
use tautomer::pipeline::{Engine, Options, optimize};
use tautomer::rewrite::{Explored, Limits, encode, saturate};
use tautomer::rule::{Class, Rule, composite_rules, library, library_set, load_rules};
use tautomer::tensor::{DType, Tensor, Type};
use tautomer::verify::{AuditOptions, audit};

/// A value for an input or parameter, determined by its name; variances are positive.
fn value(graph: &Graph, v: VertexId, special: bool) -> Option<Tensor> {
    const SPECIAL: [f64; 8] = [
        -0.0,
        0.0,
        f64::INFINITY,
        f64::NEG_INFINITY,
        f64::NAN,
        1e30,
        -1e30,
        1e-40,
    ];
    let ty = graph.ty(v).as_tensor()?;
    let shape: Vec<usize> = ty
        .shape
        .as_ref()?
        .iter()
        .map(|d| d.as_const().map_or(3, |n| n as usize))
        .collect();
    let name = graph.vertex(v).name.as_deref().unwrap_or("");
    let mut state = name.bytes().fold(0xcbf2_9ce4_8422_2325u64, |h, b| {
        (h ^ u64::from(b)).wrapping_mul(0x0100_0000_01b3)
    });
    let data: Vec<f64> = (0..shape.iter().product())
        .map(|_| {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            let unit = (state >> 40) as f64 / f64::from(1u32 << 23) - 1.0;
            match name.starts_with("variance") {
                true => 0.5 + unit.abs(),
                false if special && state >> 33 & 1 == 0 => SPECIAL[(state >> 34) as usize % 8],
                false => unit * 2.0,
            }
        })
        .collect();
    if ty.dtype.is_float() {
        return Tensor::from_f64s(ty.dtype, &shape, &data);
    }
    let whole: Vec<i128> = data
        .iter()
        .map(|x| if x.is_finite() { (x * 4.0) as i128 % 100 } else { 7 })
        .collect();
    let whole = if ty.dtype == DType::Bool {
        whole.iter().map(|x| x & 1).collect()
    } else {
        whole
    };
    Tensor::from_ints(ty.dtype, &shape, &whole)
}

fn workload(graph: &Graph, special: bool) -> Workload {
    let params: Params = graph
        .params()
        .iter()
        .filter_map(|&v| Some((Arc::from(graph.vertex(v).name.as_deref()?), value(graph, v, special)?)))
        .collect();
    Workload {
        graph: graph.clone(),
        params,
    }
}

fn lookup(workload: &Workload, v: VertexId, special: bool) -> Option<Tensor> {
    match workload.graph.vertex(v).node {
        Node::Param => workload.params.get(workload.graph.vertex(v).name.as_deref()?).cloned(),
        _ => value(&workload.graph, v, special),
    }
}

fn outputs(workload: &Workload, special: bool) -> Result<Vec<Tensor>, String> {
    interpret(&workload.graph, &|v| lookup(workload, v, special)).map_err(|e| e.to_string())
}

/// The largest magnitude of a floating-point intermediate value; `None` if some value is not finite.
fn scale(workload: &Workload) -> Option<f64> {
    let graph = &workload.graph;
    let vertices: Vec<VertexId> = graph
        .rpo()
        .into_iter()
        .filter(|&v| matches!(graph.ty(v), Type::Tensor(_)))
        .collect();
    let values = interpret_vertices(graph, &|v| lookup(workload, v, false), &vertices).ok()?;
    let mut most = 1.0f64;
    for x in values.iter().filter_map(Tensor::to_f64s).flatten() {
        if !x.is_finite() {
            return None;
        }
        most = most.max(x.abs());
    }
    Some(most)
}

fn text(graph: &Graph) -> String {
    format_program(&to_program(graph))
}

fn options(class: Class) -> Options<'static> {
    Options {
        class,
        limits: Limits {
            iterations: 5,
            nodes: 500,
            matches: 200,
            ..Limits::default()
        },
        ..Options::default()
    }
}

/// Optimizes, and checks properties that hold for any rules.
fn optimized(before: &Workload, options: Options<'_>) -> Result<(Workload, String), TestCaseError> {
    let fail = |what: String| TestCaseError::fail(format!("{what}\n{}", text(&before.graph)));
    let run = || optimize(before.clone(), &options).map_err(|e| fail(e.render(false)));
    let (first, second) = (run()?, run()?);
    let after = first.workload;
    let printed = text(&after.graph);
    let rules: Vec<&str> = first.report.rules.iter().map(|r| r.name.as_str()).collect();
    let story = format!("became\n{printed}by {}\nfrom", rules.join(", "));
    if let Err(e) = after.graph.validate() {
        return Err(fail(format!("invalid: {e} {story}")));
    }
    if printed != text(&second.workload.graph) || after.params.keys().ne(second.workload.params.keys()) {
        return Err(fail(format!(
            "two results\n{}and {story}",
            text(&second.workload.graph)
        )));
    }
    let (old, new) = first.report.cost;
    if new > old * (1.0 + 1e-9) {
        return Err(fail(format!("the cost grows from {old} to {new} {story}")));
    }
    let types = |g: &Graph| -> Vec<Type> { g.outputs().iter().map(|o| g.ty(o.vertex).clone()).collect() };
    if types(&before.graph) != types(&after.graph) {
        return Err(fail(format!("other types {story}")));
    }
    Ok((after, story))
}

/// Every class that an engine made has one value, whether or not the result depends on it.
fn audited(before: &Workload, explored: &Explored) -> Result<(), TestCaseError> {
    let options = AuditOptions {
        shapes: 1,
        ..AuditOptions::default()
    };
    let report = audit(&before.graph, &before.params, explored, &options);
    match &report.fault {
        None => Ok(()),
        Some(fault) => Err(TestCaseError::fail(format!(
            "{report}\n{fault:#?}\n{}",
            text(&before.graph)
        ))),
    }
}

/// A graph whose debug output is its program.
struct Shown(Graph);

impl std::fmt::Debug for Shown {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&text(&self.0))
    }
}

fn shown(graphs: impl Strategy<Value = Graph>) -> impl Strategy<Value = Shown> {
    graphs.prop_map(Shown)
}

/// True if the results differ by more than rounding.
fn differ(before: &Workload, after: &Workload) -> Option<String> {
    let scale = scale(before).filter(|&s| s < 1e6)?;
    let Ok(expected) = outputs(before, false) else {
        return None;
    };
    let found = match outputs(after, false) {
        Ok(found) => found,
        Err(e) => return Some(e),
    };
    expected.iter().zip(&found).enumerate().find_map(|(k, (x, y))| {
        let same = x.ty() == y.ty()
            && match (x.to_f64s(), y.to_f64s()) {
                (Some(a), Some(b)) => a.iter().zip(&b).all(|(a, b)| (a - b).abs() <= 1e-4 * scale),
                _ => x.same_bits(y),
            };
        (!same).then(|| format!("result {k} is {y:?} instead of {x:?}"))
    })
}

/// The rules of the library and of the published sets that have no assumptions.
fn every_rule() -> &'static [Arc<Rule>] {
    static ALL: OnceLock<Vec<Arc<Rule>>> = OnceLock::new();
    ALL.get_or_init(|| {
        let mut all = library().unwrap().rules.clone();
        all.extend(composite_rules().unwrap().iter().cloned());
        for set in ["gsl", "taso"] {
            all.extend(library_set(set).unwrap().unwrap().rules);
        }
        all.retain(|rule| rule.assuming.is_empty());
        all
    })
}

proptest! {
    #![proptest_config(tautomer_testing::random_cases(200))]

    #[test]
    fn results_stay_equal(graph in shown(crate::common::rich::graph(12))) {
        let before = workload(&graph.0, false);
        let (after, story) = optimized(&before, options(Class::Real))?;
        if let Some(what) = differ(&before, &after) {
            return Err(TestCaseError::fail(format!("{what}\n{story}\n{}", text(&before.graph))));
        }
    }

    #[test]
    fn bits_stay_equal(graph in shown(crate::common::rich::graph(12)), special in any::<bool>()) {
        let before = workload(&graph.0, special);
        let (after, story) = optimized(&before, options(Class::Bitwise))?;
        let Ok(x) = outputs(&before, special) else { return Ok(()) };
        let y = outputs(&after, special).map_err(|e| TestCaseError::fail(format!("{e}\n{story}\n{}", text(&before.graph))))?;
        for (k, (x, y)) in x.iter().zip(&y).enumerate() {
            let same = match (x.to_f64s(), y.to_f64s()) {
                (Some(a), Some(b)) => a.iter().zip(&b).all(|(a, b)| a.to_bits() == b.to_bits() || a.is_nan() && b.is_nan()),
                _ => x.same_bits(y),
            };
            prop_assert!(same && x.ty() == y.ty(), "result {k}: {x:?} against {y:?} {story}\n{}", text(&before.graph));
        }
    }

    /// Both engines with some rules of all sets: outputs and types stay the same.
    #[test]
    fn both_engines_keep_results(graph in shown(crate::common::rich::graph(12)), chosen in proptest::collection::vec(any::<proptest::sample::Index>(), 1..40)) {
        let before = workload(&graph.0, false);
        let all = every_rule();
        let mut places: Vec<usize> = chosen.iter().map(|c| c.index(all.len())).collect();
        places.sort_unstable();
        places.dedup();
        let rules: Vec<_> = places.into_iter().map(|i| all[i].clone()).collect();
        for engine in [Engine::Saturate, Engine::Substitute] {
            let options = Options { engine, rules: Some(rules.clone()), explore: true, ..options(Class::Real) };
            let fail = |what: String| TestCaseError::fail(format!("{engine:?}: {what}\n{}", text(&before.graph)));
            let after = optimize(before.clone(), &options).map_err(|e| fail(e.render(false)))?;
            let fired: Vec<&str> = after.report.rules.iter().map(|r| r.name.as_str()).collect();
            let story = format!("became\n{}by {fired:?}\nfrom", text(&after.workload.graph));
            after.workload.graph.validate().map_err(|e| fail(format!("{e} {story}")))?;
            let types = |g: &Graph| -> Vec<Type> { g.outputs().iter().map(|o| g.ty(o.vertex).clone()).collect() };
            prop_assert_eq!(types(&before.graph), types(&after.workload.graph), "{}", story);
            if let Some(what) = differ(&before, &after.workload) {
                return Err(fail(format!("{what} {story}")));
            }
            audited(&before, &after.explored.unwrap())?;
        }
    }

    /// The whole library: not only the result is correct, but everything explored.
    #[test]
    fn every_class_has_one_value(graph in shown(crate::common::rich::graph(12))) {
        let before = workload(&graph.0, false);
        let options = Options { explore: true, ..options(Class::Real) };
        let after = optimize(before.clone(), &options).map_err(|e| TestCaseError::fail(e.render(false)))?;
        audited(&before, &after.explored.unwrap())?;
    }

    // Graphs that include parts no rule matches, such as symbols and opaque operators.
    #[test]
    fn any_graph_can_be_optimized(graph in shown(crate::common::graph(20))) {
        let before = Workload { graph: graph.0, params: Params::default() };
        let fold = Options { fold: false, ..options(Class::Real) };
        let after = optimize(before.clone(), &fold).map_err(|e| TestCaseError::fail(e.render(false)))?;
        prop_assert!(after.workload.graph.validate().is_ok(), "{}", text(&before.graph));
        prop_assert!(after.report.cost.1 <= after.report.cost.0 * (1.0 + 1e-9), "{:?}\n{}", after.report.cost, text(&before.graph));
    }
}

/// Patterns that rules match do occur, and many rules are applied.
#[test]
fn random_graphs_are_of_use() {
    use proptest::strategy::ValueTree;
    use proptest::test_runner::TestRunner;
    let mut runner = TestRunner::deterministic();
    let strategy = crate::common::rich::graph(12);
    let mut fired = std::collections::BTreeSet::new();
    for _ in 0..120 {
        let graph = strategy.new_tree(&mut runner).unwrap().current();
        let outcome = optimize(workload(&graph, false), &options(Class::Real)).unwrap();
        fired.extend(outcome.report.rules.into_iter().map(|r| r.name));
    }
    assert!(fired.len() >= 40, "only {} rules: {fired:?}", fired.len());
}

/// The comparison is precise enough to detect wrong rules.
#[test]
fn wrong_rules_are_found() {
    use proptest::strategy::ValueTree;
    use proptest::test_runner::TestRunner;
    for wrong in [
        "rule wrong(x) { relu(x) => x }",
        "rule wrong(x) { x + 0 => -x }",
        "rule wrong(x) { -(-x) => -x }",
        "rule wrong(x) { transpose(transpose(x) {perm = p}) {perm = q} => transpose(x) {perm = p} }",
        "rule wrong(x) { let s = split(x) {axis = k, sizes = z, ..r}; concat(s.1, s.0) {axis = k} => x }",
        "rule wrong(x, w: param, s: param, b: param, m: param, v: param) {
           batch_normalization(conv(x, w) {..a}, s, b, m, v) {..r}
           => conv(x, w * reshape(s / v) {shape = [w.shape[0]] ++ [1 for i in range(1, w.rank)]}, b) {..a}
         }",
        "rule wrong(x, c: param, d: param) { (x + c) + d => x + (c - d) }",
    ] {
        let source = Arc::new(Source::new("wrong.rules", format!("/// Wrong.\n{wrong}")));
        let rules = parse_rules(source)
            .and_then(load_rules)
            .unwrap_or_else(|e| panic!("{}", e.render(false)));
        let mut runner = TestRunner::deterministic();
        let strategy = crate::common::rich::graph(12);
        let found = (0..400).any(|_| {
            let before = workload(&strategy.new_tree(&mut runner).unwrap().current(), false);
            let options = Options {
                rules: Some(rules.rules.clone()),
                ..options(Class::Real)
            };
            optimize(before.clone(), &options).is_ok_and(|o| differ(&before, &o.workload).is_some())
        });
        assert!(found, "{wrong}");
    }
}

/// Forms that other rules make are matched by rules with several outputs if all others are parts of the first, and only
/// by those: the results of the others match again with each other.
#[test]
fn outputs_inside_the_first_are_found_in_every_round() {
    let rules = "/// Signs do not matter.
rule first(x) { abs(neg(x)) => abs(x) }
/// A second output that is a part of the first.
rule inside(x) { let t = abs(exp(x)); (relu(t), t) => let u = exp(x); (u, u + 0) }
/// A second output that is found by way of a part of the first.
rule beside(x) { let t = abs(exp(x)); (relu(t), sin(t)) => let u = exp(x); (u, sin(u)) }
";
    let source = Arc::new(Source::new("nested.rules", rules));
    let rules = parse_rules(source)
        .and_then(load_rules)
        .unwrap_or_else(|e| panic!("{}", e.render(false)));
    let graph = parse("fn main(x: f32[3]) { let t = abs(neg(exp(x))); (relu(t), sin(t)) }");
    let saturation = saturate(&mut encode(&graph), &rules.rules, Limits::default());
    let applied: Vec<(&str, usize)> = saturation
        .rules
        .iter()
        .map(|(rule, r)| (&*rule.name, r.applied))
        .collect();
    assert_eq!(applied, [("first", 1), ("inside", 1), ("beside", 0)]);
}

/// Parses, prints, optimizes in two rounds and runs, before and after, on a thread with a normal stack.
fn goes_through(program: String, calls: usize) {
    let work = move || {
        let graph = parse(&program);
        assert_eq!(graph.call_count(), calls);
        let printed = text(&graph);
        same_graph(&graph, &parse(&printed)).unwrap();
        let before = workload(&graph, false);
        let limits = Limits {
            iterations: 2,
            nodes: 1_000,
            matches: 100,
            rewrites: Some(500),
            ..Limits::default()
        };
        let options = Options {
            limits,
            ..Options::default()
        };
        let after = optimize(before.clone(), &options).unwrap_or_else(|e| panic!("{}", e.render(false)));
        after.workload.graph.validate().unwrap();
        assert!(after.report.cost.1 <= after.report.cost.0 * (1.0 + 1e-9));
        let run = |w: &Workload| {
            let plan = Plan::compile(&w.graph).unwrap();
            let inputs: Vec<Tensor> = w.graph.inputs().iter().map(|&v| lookup(w, v, false).unwrap()).collect();
            Executor::new(plan, Mode::Kernels)
                .unwrap()
                .run(&inputs, &w.params)
                .unwrap()
        };
        let (x, y) = (run(&before), run(&after.workload));
        assert_eq!(x.len(), y.len());
        for (x, y) in x.iter().zip(&y) {
            let (a, b) = (x.to_f64s().unwrap(), y.to_f64s().unwrap());
            let scale = a.iter().fold(1.0f64, |m, v| m.max(v.abs()));
            assert!(
                a.iter().zip(&b).all(|(a, b)| (a - b).abs() <= 1e-4 * scale),
                "{a:?} {b:?}"
            );
        }
    };
    let thread = std::thread::Builder::new().stack_size(2 << 20).spawn(work).unwrap();
    thread.join().unwrap();
}

fn parse(program: &str) -> Graph {
    parse_program(Arc::new(Source::new("large.taut", program)))
        .and_then(|p| build_program(&p, &BuildOptions::default()))
        .unwrap_or_else(|e| panic!("{}", e.render(false)))
}

/// A fifth of a size in debug builds: what would overflow a stack or take quadratic time is seen there as well, and the
/// whole size is tried in release builds.
const fn size(whole: usize) -> usize {
    if cfg!(debug_assertions) { whole / 5 } else { whole }
}

#[test]
fn long_programs_go_through() {
    let n = size(100_000);
    let mut program = String::from("fn main(x: f32[2]) {\n  let v0 = x;\n");
    for i in 0..n {
        let next = match i % 4 {
            0 => "tanh(v)",
            1 => "v + x",
            2 => "relu(v)",
            _ => "v * 0.5",
        };
        program.push_str(&format!(
            "  let v{} = {};\n",
            i + 1,
            next.replace('v', &format!("v{i}"))
        ));
    }
    program.push_str(&format!("  v{n}\n}}\n"));
    goes_through(program, n);
}

#[test]
fn wide_programs_go_through() {
    let n = size(50_000);
    let mut program = String::from("fn main(x: f32[2]) {\n");
    for i in 0..n {
        program.push_str(&format!("  let v{i} = x * {}.5;\n", i % 9_973));
    }
    for i in 0..n - 1 {
        program.push_str(&format!("  let v{} = v{} + v{};\n", n + i, 2 * i, 2 * i + 1));
    }
    program.push_str(&format!("  v{}\n}}\n", 2 * n - 2));
    goes_through(program, 2 * n - 1);
}

#[test]
fn deep_expressions_go_through() {
    let depth = 10_000;
    let program = format!(
        "fn main(x: f32[2]) {{ {}x{} }}",
        "tanh(".repeat(depth),
        ")".repeat(depth)
    );
    goes_through(program, depth);
}

#[test]
fn programs_with_many_parameters_go_through() {
    let n = size(20_000);
    let mut program = String::from("fn main(x: f32[2]");
    for i in 0..n {
        program.push_str(&format!(", param w{i}: f32[2]"));
    }
    program.push_str(") {\n  let v0 = x;\n");
    for i in 0..n {
        program.push_str(&format!("  let v{} = tanh(v{i} + w{i});\n", i + 1));
    }
    program.push_str(&format!("  v{n}\n}}\n"));
    goes_through(program, 2 * n);
}
