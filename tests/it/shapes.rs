//! Shapes that models compute: the integers known while a graph is built, and what follows from the inputs.

use std::collections::HashMap;
use std::sync::Arc;

use indexmap::IndexMap;
use tautomer::diag::Source;
use tautomer::graph::{BuildOptions, Graph, Node, Params, Workload, build_program, interpret};
use tautomer::lang::parse_program;
use tautomer::pipeline::{Options, optimize};
use tautomer::tensor::{DType, Dim, Shape, Tensor};

fn graph(text: &str) -> Graph {
    let source = Arc::new(Source::new("shapes", text));
    let built = parse_program(source).and_then(|program| build_program(&program, &BuildOptions::default()));
    built.unwrap_or_else(|problems| panic!("{text}: {}", problems.render(false)))
}

fn operators(graph: &Graph) -> Vec<String> {
    let calls = graph.rpo().into_iter().filter_map(|v| match &graph.vertex(v).node {
        Node::Call { op, .. } => Some(op.name()),
        _ => None,
    });
    calls.collect()
}

fn optimized(graph: Graph) -> Graph {
    let workload = Workload {
        graph,
        params: Params::default(),
    };
    optimize(workload, &Options::default()).unwrap().workload.graph
}

/// Values computed from `s`, the shape of `x: f32[n, 3, h]`.
const COMPUTED: &[(&str, &str)] = &[
    ("s", "n, 3, h"),
    ("gather(s, 2)", "h"),
    ("gather(s, [-1, 0])", "h, n"),
    ("slice(s) {starts = [1], ends = [3]}", "3, h"),
    ("slice(s) {starts = [2], ends = [-9], steps = [-2]}", "h, n"),
    (
        "concat(slice(s) {starts = [0], ends = [1]}, [-1, 7]) {axis = 0}",
        "n, -1, 7",
    ),
    ("unsqueeze(gather(s, 0)) {axes = [0]}", "n"),
    ("squeeze(slice(s) {starts = [2], ends = [3]}) {axes = [0]}", "h"),
    ("reduce_prod(s) {keepdims = false}", "3*h*n"),
    ("reduce_sum(gather(s, [0, 2])) {keepdims = true}", "h + n"),
    ("size(x)", "3*h*n"),
    ("gather(s, 2) * 2 + 1", "2*h + 1"),
    ("gather(s, 2) - 1", "h - 1"),
    ("s * [2, 1, 4]", "2*n, 3, 4*h"),
    ("(gather(s, 2) + 1) / 2", "(h + 1) / 2"),
    ("mod(gather(s, 2), 4)", "h % 4"),
    ("max(gather(s, 0), 1)", "max(1, n)"),
    ("min(gather(s, 2), gather(s, 2) + 3)", "h"),
    ("neg(gather(s, 1))", "-3"),
    ("cast(cast(s) {to = i32}) {to = i64}", "n, 3, h"),
    ("equal(s + 1, 0)", "0, 0, 0"),
    ("equal(s, -1)", "0, 0, 0"),
    (
        "where(equal(s, -1), constant_of_shape() {shape = [3], value = 1}, s)",
        "n, 3, h",
    ),
    ("expand(gather(s, 0)) {shape = [2]}", "n, n"),
    ("range(0, 3, 1) + gather(s, 0)", "n, n + 1, n + 2"),
    ("shape(x) {start = 1}", "3, h"),
];

#[test]
fn integers_that_follow_from_extents_are_known() {
    for (text, wanted) in COMPUTED {
        let graph = graph(&format!("fn main(x: f32[n, 3, h]) {{ let s = shape(x); {text} }}"));
        let known = graph.vertex(graph.outputs()[0].vertex).ints.clone();
        let shown = known.map(|dims| dims.iter().map(Dim::to_string).collect::<Vec<_>>().join(", "));
        assert_eq!(shown.as_deref(), Some(*wanted), "{text}");
    }
}

/// Known values are what the reference semantics computes, for all dimensions.
#[test]
fn known_integers_are_what_the_reference_computes() {
    for (text, _) in COMPUTED {
        let graph = graph(&format!("fn main(x: f32[n, 3, h]) {{ let s = shape(x); {text} }}"));
        let known = graph.vertex(graph.outputs()[0].vertex).ints.clone().unwrap();
        for (n, h) in [(1, 1), (2, 5), (7, 4), (1, 8), (3, 0)] {
            let x = Tensor::from_f64s(DType::F32, &[n, 3, h], &vec![0.0; n * 3 * h]).unwrap();
            let computed = interpret(&graph, &|_| Some(x.clone())).unwrap().remove(0);
            let computed: Vec<i128> = match computed.dtype() {
                DType::Bool => computed
                    .to_f64s()
                    .unwrap_or_default()
                    .iter()
                    .map(|x| *x as i128)
                    .collect(),
                _ => computed.to_ints().unwrap(),
            };
            let value: HashMap<&str, i64> = HashMap::from([("n", n as i64), ("h", h as i64)]);
            let bound = known
                .iter()
                .map(|d| d.bind(&|s| value.get(s).copied()).as_const().unwrap() as i128);
            if computed.is_empty() {
                continue;
            }
            assert_eq!(bound.collect::<Vec<_>>(), computed, "{text} at n = {n}, h = {h}");
        }
    }
}

/// If the dividend may be negative, or the condition is unknown, nothing is inferred.
#[test]
fn what_is_not_sure_is_not_known() {
    for text in [
        "(gather(s, 2) - 5) / 2",
        "gather(s, 2) / gather(s, 0)",
        "mod(gather(s, 2) - 5, 3)",
        "equal(gather(s, 0), 4)",
        "where(equal(s, 4), s, s + 1)",
        "gather(s, i)",
        "cast(s) {to = f32}",
    ] {
        let graph = graph(&format!(
            "fn main(x: f32[n, 3, h], i: i64) {{ let s = shape(x); {text} }}"
        ));
        assert_eq!(graph.vertex(graph.outputs()[0].vertex).ints, None, "{text}");
    }
}

/// Nodes that compute a shape disappear if the inputs determine it, and the type of the result is fully known.
#[test]
fn shapes_computed_by_nodes_become_attributes() {
    let heads =
        "let s = shape(x); let n = unsqueeze(gather(s, 0)) {axes = [0]}; let t = slice(s) {starts = [1], ends = [2]};";
    for (body, ty, rest) in [
        (
            "reshape(x, concat(n, t, [4, 16]) {axis = 0})",
            "f32[n, t, 4, 16]",
            vec!["reshape"],
        ),
        (
            "reshape(x, concat(n * t, [64]) {axis = 0})",
            "f32[n*t, 64]",
            vec!["reshape"],
        ),
        (
            "reshape(x, concat(n, [-1]) {axis = 0})",
            "f32[n, 64*t]",
            vec!["reshape"],
        ),
        ("expand(y, concat(n, [1]) {axis = 0})", "f32[n, 3]", vec!["expand"]),
        (
            "constant_of_shape(concat(t, n) {axis = 0}) {value = 2.0}",
            "f32[t, n]",
            vec!["constant_of_shape"],
        ),
        ("slice(x, [1], t, [1])", "f32[n, max(0, t - 1), 64]", vec!["slice"]),
        ("tile(y, t)", "f32[3*t]", vec!["tile"]),
    ] {
        let graph = optimized(graph(&format!(
            "fn main(x: f32[n, t, 64], y: f32[3]) {{ {heads} {body} }}"
        )));
        assert_eq!(operators(&graph), rest, "{body}");
        assert_eq!(graph.ty(graph.outputs()[0].vertex).to_string(), ty, "{body}");
    }
}

/// Dimensions that nothing determines are copied or left to be computed, never guessed.
#[test]
fn one_unknown_extent_of_a_reshape_is_left_to_it() {
    let text = "fn main(x: f32[n, 8]) {
        let kept = transpose(non_zero(x));
        let s = shape(kept);
        reshape(kept, concat(slice(s) {starts = [0], ends = [1]}, [2, 1]) {axis = 0})
    }";
    let graph = optimized(graph(text));
    assert_eq!(
        operators(&graph)
            .iter()
            .filter(|op| *op == "shape" || *op == "concat")
            .count(),
        0
    );
}

#[test]
fn a_range_over_an_axis_has_its_extent() {
    let graph = graph("fn main(x: f32[n, t]) { range(0, gather(shape(x), 1), 1) }");
    assert_eq!(graph.ty(graph.outputs()[0].vertex).to_string(), "i64[t]");
}

fn bound(text: &str, shapes: &[(&str, Shape)]) -> Result<Graph, String> {
    let shapes: IndexMap<Arc<str>, Shape> = shapes.iter().map(|(n, s)| ((*n).into(), s.clone())).collect();
    graph(text)
        .with_shapes(&shapes)
        .map_err(|problems| problems.render(false))
}

#[test]
fn shapes_given_for_inputs_are_bound_everywhere() {
    let text = "fn main(x: f32[n, 3, h], m: f32[n]) { (reshape(x, concat(slice(shape(x)) {starts = [0], ends = [1]}, [-1]) {axis = 0}), m) }";
    let graph = bound(text, &[("x", Shape::from([2, 3, 5]))]).unwrap();
    let types: Vec<String> = graph.outputs().iter().map(|o| graph.ty(o.vertex).to_string()).collect();
    assert_eq!(types, ["f32[2, 15]", "f32[2]"]);
    assert!(graph.validate().is_ok());
    let open: Shape = [Dim::unknown(7), Dim::from(3), Dim::from(5)].into_iter().collect();
    let graph = bound(text, &[("x", open)]).unwrap();
    assert_eq!(graph.ty(graph.inputs()[0]).to_string(), "f32[n, 3, 5]");
}

#[test]
fn shapes_that_do_not_fit_are_refused() {
    let text = "fn main(x: f32[n, 3], y: f32[n, k]) { matmul(y, x) }";
    for (shapes, wanted) in [
        (
            vec![("x", Shape::from([2, 4]))],
            "axis 1 of input `x` has size 3, not 4",
        ),
        (vec![("x", Shape::from([2]))], "a different rank"),
        (vec![("z", Shape::from([2, 3]))], "there is no input `z`"),
        (
            vec![("x", Shape::from([2, 3])), ("y", Shape::from([4, 2]))],
            "n is 2, but axis 0 of input `y` makes it 4",
        ),
        (
            vec![("x", Shape::from([2, 3])), ("y", Shape::from([2, 5]))],
            "`matmul` is invalid",
        ),
    ] {
        let problem = bound(text, &shapes).unwrap_err();
        assert!(problem.contains(wanted), "{problem}");
    }
}
