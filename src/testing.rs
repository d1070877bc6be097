//! Property tests for users: random typed graphs with inputs, and assertions whose failures show a counterexample as
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

use std::fmt::{self, Write as _};
use std::sync::Arc;

use proptest::prelude::*;

use crate::compare::random_values;
use crate::graph::{Graph, Workload, to_program};
use crate::lang::format_program;
use crate::op::{OpDef, lookup};
use crate::rule::{Example, Rule};
use crate::tensor::{DType, Tensor};
use crate::verify::{self, GraphOptions, GraphVerdict, Growth, Verdict};
use crate::{Model, verify_models};

/// Random typed graphs.
///
/// ```
/// use proptest::prelude::*;
/// use tautomer::{Options, optimize_model, testing::{Graphs, assert_equal}};
///
/// proptest!(ProptestConfig { cases: 8, failure_persistence: None, ..Default::default() }, |(
///     case in Graphs::default().operators(["add", "relu", "neg"]).most(6).workloads()
/// )| {
///     let after = optimize_model(case.model.clone(), &Options::default().check(0)).unwrap().model;
///     assert_equal(&case.model, &after);
/// });
/// ```
#[derive(Clone)]
pub struct Graphs {
    operators: Vec<&'static OpDef>,
    ranks: Vec<usize>,
    dtypes: Vec<DType>,
    most: usize,
}

/// The operators of [`Graphs`] unless others are chosen: none of them computes ill-conditioned values.
const OPERATORS: [&str; 21] = [
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
    "concat",
    "split",
    "reshape",
    "slice",
    "pad",
    "reduce_sum",
    "reduce_max",
    "where",
];

impl Default for Graphs {
    fn default() -> Self {
        Graphs {
            operators: OPERATORS.iter().filter_map(|name| lookup(name)).collect(),
            ranks: vec![1, 2, 3],
            dtypes: vec![DType::F32],
            most: 10,
        }
    }
}

impl Graphs {
    /// Makes calls of these operators: of earlier values, and of parameters with shapes that fit, such as the kernel of
    /// a convolution. Attributes are drawn too. Calls that cannot be made are left out.
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

    /// The graphs, of up to two inputs and one result; they shrink to fewer calls and smaller dimensions.
    pub fn graphs(self) -> impl Strategy<Value = Graph> {
        let decisions = prop::collection::vec((any::<u16>(), any::<u16>(), any::<u16>()), 1..=self.most);
        let shape = prop::collection::vec(1usize..=3, self.ranks.iter().copied().max().unwrap_or(0));
        let kinds = (any::<prop::sample::Index>(), any::<prop::sample::Index>());
        (kinds, shape, decisions).prop_map(move |((rank, dtype), shape, decisions)| {
            let rank = if self.ranks.is_empty() {
                0
            } else {
                *rank.get(&self.ranks)
            };
            let dtype = if self.dtypes.is_empty() {
                DType::F32
            } else {
                *dtype.get(&self.dtypes)
            };
            let growth = Growth {
                operators: &self.operators,
                dtype,
                shape: &shape[..rank],
            };
            growth.graph(&decisions)
        })
    }

    /// The graphs as models with values for their parameters, and values for their inputs.
    pub fn workloads(self) -> impl Strategy<Value = Case> {
        with_values(self.graphs())
    }
}

/// A random model and values for its inputs. Proptest prints it as its program.
#[derive(Clone)]
pub struct Case {
    /// The model, with values for its parameters.
    pub model: Model,
    /// Values for its inputs, in order.
    pub inputs: Vec<Tensor>,
}

impl fmt::Debug for Case {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "\n{}", self.model.to_text())?;
        for ((name, _), value) in self.model.inputs().zip(&self.inputs) {
            writeln!(f, "{name} = {}", elements(value))?;
        }
        for (name, value) in &self.model.workload.params {
            writeln!(f, "{name} = {}", elements(value))?;
        }
        Ok(())
    }
}

/// Models that a rule matches as a whole, with values for their inputs; they shrink to fewer calls and smaller
/// dimensions. `examples` are those in the rule's file; the search for operands that random choices seldom reach starts
/// from them.
///
/// ```
/// use proptest::prelude::*;
/// use tautomer::{Options, optimize_model, rules_of_text, testing::{assert_equal, instances}};
///
/// let (rules, _) = rules_of_text("my.rules", "rule twice(x) { relu(relu(x)) => relu(x) numerics bitwise }")?;
/// let config = ProptestConfig { cases: 8, failure_persistence: None, ..Default::default() };
/// proptest!(config, |(case in instances(&rules.rules[0], &rules.examples))| {
///     let after = optimize_model(case.model.clone(), &Options::default().rules(rules.clone())).unwrap();
///     prop_assert_eq!(after.report.vertices, (2, 1));
///     assert_equal(&case.model, &after.model);
/// });
/// # Ok::<(), tautomer::diag::Diagnostics>(())
/// ```
///
/// # Panics
/// The search finds no graph that the rule matches.
pub fn instances(rule: &Arc<Rule>, examples: &[Example]) -> impl Strategy<Value = Case> + use<> {
    let found = verify::instances(rule, examples, INSTANCES);
    assert!(
        !found.is_empty(),
        "no graph was found that the rule `{}` matches",
        rule.name
    );
    // The smallest ones are first, and an index shrinks to the first.
    with_values((0..found.len()).prop_map(move |i| found[i].clone()))
}

/// The instances of a rule that are drawn from.
const INSTANCES: usize = 100;

fn with_values(graphs: impl Strategy<Value = Graph>) -> impl Strategy<Value = Case> {
    (graphs, any::<u64>()).prop_map(|(graph, seed)| {
        let (inputs, params) = random_values(&graph, seed).unwrap_or_default();
        let model = Model::of_workload(Workload { graph, params });
        Case { model, inputs }
    })
}

/// The type of a value and its elements in the order of rows.
fn elements(value: &Tensor) -> String {
    match (value.dtype().is_float(), value.to_f64s(), value.to_ints()) {
        (true, Some(floats), _) => format!("{} {floats:?}", value.ty()),
        (_, _, Some(integers)) => format!("{} {integers:?}", value.ty()),
        _ => format!("{value:?}"),
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
        let _ = writeln!(text, "{name} = {}", elements(value));
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
            let _ = writeln!(text, "{name} = {}", elements(value));
        }
        if let Some(first) = &difference.first {
            let _ = writeln!(
                text,
                "the first value that differs: {} ({})",
                first.value, first.operator
            );
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
        fn graphs_are_those_asked_for(
            graph in Graphs::default().operators(["add", "relu"]).ranks([2]).dtypes([DType::F32, DType::I64]).most(5).graphs()
        ) {
            prop_assert!(graph.call_count() <= 5);
            for v in graph.ids() {
                prop_assert!(graph.vertex(v).op().is_none_or(|op| matches!(op.name().to_string().as_str(), "add" | "relu")));
            }
            for &v in graph.inputs() {
                let ty = graph.ty(v).as_tensor().unwrap();
                prop_assert!(ty.rank() == Some(2) && matches!(ty.dtype, DType::F32 | DType::I64));
            }
        }

        #[test]
        fn optimized_graphs_are_equal(case in Graphs::default().most(6).workloads()) {
            prop_assert_eq!(case.model.inputs().count(), case.inputs.len());
            let after = optimize_model(case.model.clone(), &Options::default().check(0)).unwrap().model;
            assert_equal(&case.model, &after);
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
    /// A pass that is wrong about one operator.
    fn broken(model: &Model) -> Model {
        Model::from_text("broken", &model.to_text().replace("abs(", "relu(")).unwrap()
    }

    #[test]
    fn counterexamples_are_shrunk_and_shown_as_programs() {
        let strategy = Graphs::default()
            .operators(["relu", "abs", "add"])
            .ranks([1, 2])
            .workloads();
        let text = panics(|| {
            proptest!(tautomer_testing::random_cases(200), |(case in strategy)| {
                assert_equal(&case.model, &broken(&case.model));
            });
        });
        assert!(
            text.contains("before:\nfn main") && text.contains("the first value"),
            "{text}"
        );
        let shrunk = text.split("minimal failing input").nth(1).unwrap_or_default();
        assert_eq!(shrunk.matches("abs(").count(), 1, "{text}");
        assert!(shrunk.contains(" = f32[") && !shrunk.contains("relu("), "{text}");
    }

    #[test]
    fn instances_of_a_rule_are_matched_by_it() {
        let text =
            "rule flat(x, w: param) { conv(x, w) {..a} + conv(x, w) {..a} => conv(x, w + w) {..a} numerics real }";
        let (rules, _) = crate::rules_of_text("my.rules", text).unwrap();
        let strategy = instances(&rules.rules[0], &rules.examples);
        proptest!(tautomer_testing::random_cases(16), |(case in strategy)| {
            prop_assert_eq!(case.model.workload.params.len(), 1);
            let options = Options::default().rules(rules.clone()).check(0);
            let outcome = optimize_model(case.model.clone(), &options).unwrap();
            assert_equal(&case.model, &outcome.model);
        });
    }
}
