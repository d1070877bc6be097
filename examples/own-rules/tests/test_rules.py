"""Every rule is right, and graphs that the rules rewrite keep their results."""

from pathlib import Path

import tautomer
from hypothesis import given, settings
from tautomer import testing

RULES = tautomer.Rules(Path(__file__).parents[1] / "my.rules")


def test_every_rule_is_right():
    testing.assert_rule(RULES)


def test_every_rule_has_a_verdict():
    assert all(RULES.verdicts.values())


def test_the_operator_of_ours_is_rewritten():
    result = tautomer.optimize("fn main(x: f32[n]) { scale(-x) {by = 2.0} }", rules=RULES, check=3)
    assert "scale-of-neg" in result.explain()
    assert "scale(x) {by = -2.0}" in result.model.to_text()


@settings(max_examples=30, deadline=None)
@given(testing.workloads(operators=("mul", "max", "neg", "add"), most=6))
def test_optimized_graphs_have_the_same_results(workload):
    graph, inputs = workload
    testing.assert_same_results(graph, tautomer.optimize(graph, rules=RULES, check=0).model, inputs)


@settings(max_examples=20, deadline=None)
@given(testing.instances(RULES, "abs-by-max"))
def test_the_rule_about_magnitudes_fires_wherever_it_matches(instance):
    graph, inputs = instance
    result = tautomer.optimize(graph, rules=RULES, check=0)
    assert result.graph.find("abs")
    testing.assert_same_results(graph, result.model, inputs)
