//! Property tests of users: random typed graphs with inputs, and assertions whose failures show a counterexample as
//! programs. Needs the feature `testing`.
//!
//! ```
//! use tautomer::{read_rules, testing::assert_rule};
//!
//! # let folder = tempfile::tempdir().unwrap();
//! # let path = folder.path().join("my.rules");
//! # std::fs::write(&path, "rule twice(x) { relu(relu(x)) => relu(x) numerics bitwise }").unwrap();
//! let (rules, _) = read_rules(&[path])?; // a file of your own
//! rules.rules.iter().for_each(|rule| assert_rule(rule));
//! # Ok::<(), tautomer::diag::Diagnostics>(())
//! ```

use std::fmt::Write as _;
use std::sync::Arc;

use proptest::prelude::*;

use crate::compare::{Random, values};
use crate::graph::{Graph, VertexId, Workload, to_program};
use crate::lang::format_program;
use crate::op::{Op, OpDef, lookup};
use crate::rule::Rule;
use crate::tensor::{DType, Tensor, Type};
use crate::verify::{self, GraphOptions, GraphVerdict, Verdict};
use crate::{Model, verify_models};

/// Random typed graphs.
///
/// ```
/// use proptest::prelude::*;
/// use tautomer::{Model, Options, graph::Workload, optimize_model, testing::{Graphs, assert_equal}};
///
/// proptest!(ProptestConfig { cases: 8, failure_persistence: None, ..Default::default() }, |(
///     workload in Graphs::default().operators(["add", "relu", "neg"]).most(6).workloads()
/// )| {
///     let before = Model::of_workload(workload.0);
///     let after = optimize_model(before.clone(), &Options::default().check(0)).unwrap().model;
///     assert_equal(&before, &after);
/// });
/// ```
#[derive(Clone)]
pub struct Graphs {
    operators: Vec<&'static OpDef>,
    ranks: Vec<usize>,
    dtypes: Vec<DType>,
    most: usize,
}

impl Default for Graphs {
    fn default() -> Self {
        let names = [
            "add",
            "sub",
            "mul",
            "max",
            "min",
            "relu",
            "neg",
            "abs",
            "tanh",
            "sigmoid",
            "softmax",
            "transpose",
            "matmul",
        ];
        Graphs {
            operators: names.iter().filter_map(|name| lookup(name)).collect(),
            ranks: vec![1, 2, 3],
            dtypes: vec![DType::F32],
            most: 10,
        }
    }
}

impl Graphs {
    /// Makes calls of these operators, with default attributes; calls whose operands do not fit are left out.
    ///
    /// # Panics
    /// There is no such operator.
    pub fn operators<'a>(mut self, names: impl IntoIterator<Item = &'a str>) -> Self {
        let known = |name: &'a str| lookup(name).unwrap_or_else(|| panic!("there is no operator `{name}`"));
        self.operators = names.into_iter().map(known).collect();
        self
    }

    /// Makes inputs with these numbers of axes.
    pub fn ranks(mut self, ranks: impl IntoIterator<Item = usize>) -> Self {
        self.ranks = ranks.into_iter().collect();
        self
    }

    /// Makes inputs of these element types.
    pub fn dtypes(mut self, dtypes: impl IntoIterator<Item = DType>) -> Self {
        self.dtypes = dtypes.into_iter().collect();
        self
    }

    /// Makes at most this many calls.
    pub fn most(mut self, calls: usize) -> Self {
        self.most = calls.max(1);
        self
    }

    /// The graphs; they shrink to fewer calls and smaller dimensions.
    pub fn graphs(self) -> impl Strategy<Value = Graph> {
        let decisions = prop::collection::vec((any::<u16>(), any::<u16>(), any::<u16>()), 1..=self.most);
        let shape = prop::collection::vec(1usize..=3, 8);
        (any::<u16>(), shape, decisions).prop_map(move |(kind, shape, decisions)| self.grow(kind, &shape, &decisions))
    }

    /// The graphs with values for their inputs, in order.
    pub fn workloads(self) -> impl Strategy<Value = (Workload, Vec<Tensor>)> {
        (self.graphs(), any::<u64>()).prop_map(|(graph, seed)| {
            let drawn = values(&graph, &Default::default(), &mut Random::new(seed), &Default::default());
            let (inputs, params) = drawn.unwrap_or_default();
            (Workload { graph, params }, inputs)
        })
    }

    /// The graph for these decisions; those that do not fit are skipped.
    fn grow(&self, kind: u16, shape: &[usize], decisions: &[(u16, u16, u16)]) -> Graph {
        let pick = |n: usize, seed: u16| usize::from(seed) % n.max(1);
        let rank = self.ranks.get(pick(self.ranks.len(), kind)).copied().unwrap_or(1);
        let dtype = self
            .dtypes
            .get(pick(self.dtypes.len(), kind / 7))
            .copied()
            .unwrap_or(DType::F32);
        let shape: Vec<usize> = shape.iter().copied().cycle().take(rank).collect();
        let mut graph = Graph::new();
        let ty = || Type::tensor(dtype, shape.as_slice());
        let mut pool = vec![graph.input("x", ty()), graph.input("y", ty())];
        for &(op, a, b) in decisions {
            let Some(&def) = self.operators.get(pick(self.operators.len(), op)) else {
                continue;
            };
            // Recent values first, so that shrinking leads to chains.
            let operand = |seed: u16| pool[pool.len() - 1 - pick(pool.len(), seed)];
            let both: [VertexId; 2] = [operand(a), operand(b)];
            let count = if def.operands.len() == 1 { 1 } else { 2 };
            let made = graph.call(Op::Known(def), &both[..count], &[]);
            pool.extend(made.ok().filter(|&v| matches!(graph.ty(v), Type::Tensor(_))));
        }
        if let Some(&last) = pool.last() {
            graph.output(last, None);
        }
        graph.retain_reachable();
        graph
    }
}

/// Fails if a rule is refuted or nothing can be said about it; the message shows the smallest counterexample that was
/// found, both sides as programs.
///
/// # Panics
/// The rule is not right.
///
/// ```should_panic
/// # use std::sync::Arc;
/// # use tautomer::{diag::Source, lang::parse_rules, rule::load_rules, testing::assert_rule};
/// let source = Arc::new(Source::new("my.rules", "rule wrong(x) { abs(x) => x }"));
/// assert_rule(&load_rules(parse_rules(source).unwrap()).unwrap().rules[0]);
/// ```
#[track_caller]
pub fn assert_rule(rule: &Arc<Rule>) {
    let report = verify::verify(rule, &[], &verify::Options::default());
    let example = match &report.verdict {
        Verdict::Refuted(example) => example,
        Verdict::Undecided(why) => panic!("nothing is known about the rule `{}`: {why}", rule.name),
        _ => return,
    };
    let mut text = format!("the rule `{}` is wrong: {}\n", rule.name, report.verdict);
    for (title, graph) in [("source", &example.source), ("target", &example.target)] {
        let _ = write!(text, "{title}:\n{}", format_program(&to_program(graph)));
    }
    for (name, value) in &example.values {
        let _ = writeln!(text, "{name} = {value:?}");
    }
    let at = example
        .element
        .as_ref()
        .map_or_else(String::new, |e| format!(" at {e:?}"));
    panic!(
        "{text}output {}{at}: {} in the source, {} in the target",
        example.output, example.expected, example.found
    );
}

/// Fails unless the second model is equal to the first, by proof or on data; the message shows both as programs and the
/// inputs at which they differ.
///
/// # Panics
/// They differ, or cannot be compared.
#[track_caller]
pub fn assert_equal(before: &Model, after: &Model) {
    let report = verify_models(before, after, &GraphOptions::default());
    let mut text = match &report.verdict {
        GraphVerdict::Refuted(_) | GraphVerdict::Undecided(_) => format!("{}\n", report.verdict),
        _ => return,
    };
    let _ = write!(text, "before:\n{}after:\n{}", before.to_text(), after.to_text());
    if let GraphVerdict::Refuted(difference) = &report.verdict {
        for (name, value) in &difference.values {
            let _ = writeln!(text, "{name} = {value:?}");
        }
        let _ = write!(text, "{} before, {} after", difference.expected, difference.found);
    }
    panic!("{text}");
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diag::Source;
    use crate::lang::parse_rules;
    use crate::rule::load_rules;
    use crate::{Options, optimize_model};

    proptest! {
        #![proptest_config(tautomer_testing::random_cases(40))]

        #[test]
        fn graphs_are_those_asked_for(graph in Graphs::default().operators(["add", "relu"]).ranks([2]).most(5).graphs()) {
            prop_assert!(graph.call_count() <= 5);
            for v in graph.ids() {
                prop_assert!(graph.vertex(v).op().is_none_or(|op| matches!(op.name().to_string().as_str(), "add" | "relu")));
                prop_assert!(graph.ty(v).as_tensor().is_some_and(|t| t.shape.as_ref().is_some_and(|s| s.len() == 2)));
            }
        }

        #[test]
        fn optimized_graphs_are_equal((workload, inputs) in Graphs::default().most(6).workloads()) {
            prop_assert_eq!(workload.graph.inputs().len(), inputs.len());
            let before = Model::of_workload(workload);
            let after = optimize_model(before.clone(), &Options::default().check(0)).unwrap().model;
            assert_equal(&before, &after);
        }
    }

    fn panics(work: impl FnOnce() + std::panic::UnwindSafe) -> String {
        let payload = std::panic::catch_unwind(work).unwrap_err();
        payload.downcast_ref::<String>().cloned().unwrap_or_default()
    }

    #[test]
    fn wrong_rules_fail_with_programs() {
        let source = Arc::new(Source::new("my.rules", "rule wrong(x) { abs(x) => x }"));
        let rules = load_rules(parse_rules(source).unwrap()).unwrap().rules;
        let text = panics(|| assert_rule(&rules[0]));
        assert!(
            text.contains("the rule `wrong` is wrong") && text.contains("abs(x)"),
            "{text}"
        );
    }

    #[test]
    fn different_models_fail_with_programs() {
        let model = |text| Model::from_text("example", text).unwrap();
        let (a, b) = (
            model("fn main(x: f32[3]) { relu(x) }"),
            model("fn main(x: f32[3]) { abs(x) }"),
        );
        let text = panics(|| assert_equal(&a, &b));
        assert!(text.contains("before:\nfn main") && text.contains("x = "), "{text}");
    }
}
