//! Examples of declared operators: both functions, which have no parameters, have the same value.

use tautomer_diag::Diagnostic;
use tautomer_graph::{Graph, interpret};
use tautomer_lang::ast::Example as ExampleAst;
use tautomer_tensor::Tensor;

use super::Checker;

/// How far the numbers of both sides may be apart, relative to the larger of them and 1: examples are written with a few
/// digits.
const TOLERANCE: f64 = 1e-5;

impl Checker<'_> {
    /// Computes both sides.
    pub(super) fn operator_example(&mut self, example: &ExampleAst, source: &Graph, target: Option<&Graph>) {
        let span = example.name.span;
        let invalid = |message: String| Diagnostic::error("T0307", message).label(span, "");
        let Some(target) = target else {
            let problem = invalid(format!("`{}` is an operator, not a rule", example.name.as_str()));
            self.problems.push(
                problem
                    .help("an operator has examples of what it computes: `example … { fn () { … } => fn () { … } }`"),
            );
            return;
        };
        let values = |graph: &Graph| match interpret(graph, &|_| None) {
            Ok(values) => Ok(values),
            Err(problem) => Err(invalid(format!("this example cannot be computed: {problem}"))
                .help("write its operands as numbers: `fn () { f([1.0, 2.0]) }`")),
        };
        let problem = match (values(source), values(target)) {
            (Err(problem), _) | (_, Err(problem)) => Some(problem),
            (Ok(a), Ok(b)) => difference(&a, &b).map(|what| {
                invalid(format!("this example of `{}` is wrong: {what}", example.name.as_str()))
                    .help("correct what is expected, or the body of the operator")
            }),
        };
        self.problems.extend(problem);
    }
}

/// The difference.
fn difference(computed: &[Tensor], expected: &[Tensor]) -> Option<String> {
    if computed.len() != expected.len() {
        return Some(format!("it has {} results, not {}", computed.len(), expected.len()));
    }
    let differ = computed.iter().zip(expected).find(|(a, b)| !close(a, b));
    differ.map(|(a, b)| format!("it computes {}, and not {}", shown(a), shown(b)))
}

fn shown(value: &Tensor) -> String {
    match value.to_f64s() {
        Some(elements) => format!("{} {elements:?}", value.ty()),
        None => value.ty().to_string(),
    }
}

fn close(a: &Tensor, b: &Tensor) -> bool {
    if a.ty() != b.ty() {
        return false;
    }
    match (a.to_f64s(), b.to_f64s()) {
        (Some(a), Some(b)) => a.iter().zip(&b).all(|(a, b)| {
            let same = a == b || a.is_nan() && b.is_nan();
            same || (a - b).abs() <= TOLERANCE * a.abs().max(b.abs()).max(1.0)
        }),
        _ => a.same_bits(b),
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use tautomer_diag::Source;
    use tautomer_lang::parse_rules;

    fn problems(example: &str) -> String {
        let text = format!("/// Twice.\noperator twice(x) {{ x + x }}\n{example}");
        let loaded = parse_rules(Arc::new(Source::new("a.ops", text))).and_then(crate::load_rules);
        loaded.map_or_else(|e| e.render(false), |_| String::new())
    }

    #[test]
    fn an_example_of_an_operator_is_computed() {
        let right = "example twice { fn () { twice([1.0, -2.0]) } => fn () { [2.0, -4.0] } }";
        assert_eq!(problems(right), "");
        for (wrong, says) in [
            (
                "example twice { fn () { twice([1.0]) } => fn () { [2.5] } }",
                "is wrong: it computes",
            ),
            (
                "example twice { fn () { twice([1.0]) } => fn () { 2.0 } }",
                "is wrong: it computes",
            ),
            (
                "example twice { fn (x: f32[2]) { twice(x) } => fn () { 2.0 } }",
                "cannot be computed",
            ),
            (
                "no-example twice { fn () { twice([1.0]) } }",
                "is an operator, not a rule",
            ),
            (
                "example thrice { fn () { 1.0 } => fn () { 1.0 } }",
                "did you mean `twice`?",
            ),
        ] {
            let found = problems(wrong);
            assert!(found.contains(says), "{wrong}\n{found}");
        }
    }
}
