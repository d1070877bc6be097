"""Rule sets, rules as Python functions, and the assertions of `tautomer.testing`."""

import pytest
import tautomer
from hypothesis import given, settings
from tautomer import Rest, attr, ops, testing

TWICE = "/// Twice is once.\nrule twice(x) { relu(relu(x)) => relu(x) numerics bitwise }"


def test_rules_come_from_texts_files_and_sets(tmp_path):
    file = tmp_path / "my.rules"
    file.write_text(TWICE)
    assert tautomer.Rules(TWICE).names == tautomer.Rules(file).names == tautomer.Rules(str(tmp_path)).names == ["twice"]
    built_in = tautomer.Rules("built-in")
    assert "relu-of-relu" in built_in and len(built_in) > 200
    both = tautomer.Rules(TWICE) + "gsl"
    assert len(both) == len(tautomer.Rules("gsl")) + 1 and both.names[0] == "twice"
    assert both["twice"].startswith("rule twice")
    with pytest.raises(KeyError):
        both["nothing"]
    with pytest.raises(tautomer.Error) as found:
        tautomer.Rules("rule broken(x, y) { ad(x, 0) => x + z }")
    assert len(found.value.problems) > 1 and found.value.labels[0].line == 1
    with pytest.raises(TypeError):
        tautomer.Rules(3)


def test_a_custom_set_is_used_with_the_built_in_one():
    program = "fn main(x: f32[4]) { relu(relu(x)) * 1.0 }"
    mine = tautomer.optimize(program, rules=TWICE)
    assert {r["name"] for r in mine.report["rules"]} == {"twice"}
    assert any("twice" in w["message"] for w in mine.report["warnings"]["diagnostics"])
    both = tautomer.optimize(program, rules=[TWICE, "built-in"])
    assert both.model.to_text() == "fn main(x: f32[4]) {\n  relu(x)\n}\n"


def test_operators_that_rules_declare_may_occur_in_the_model():
    declared = 'operator "my::Twice"(x) { x + x }\nrule once(x) { relu("my::Twice"(x)) => "my::Twice"(relu(x)) }'
    program = 'fn main(x: f32[4]) { relu("my::Twice"(x)) }'
    found = tautomer.optimize(program, rules=declared)
    assert "my::Twice" in found.model.to_text()
    assert tautomer.Rules(declared).names == ["once"]
    with pytest.raises(tautomer.Error):
        tautomer.optimize(program)


def test_verdicts_are_stored_and_found():
    stored = tautomer.Rules("built-in").verdicts
    known = stored["relu-of-relu"]
    assert known is not None and known.verdict in ("proved", "proved-all")
    assert tautomer.Rules(TWICE).verdicts == {"twice": None}
    told = []
    found = tautomer.Rules(TWICE).verify(progress=lambda *event: told.append(event))
    assert [v.verdict for v in found] == ["proved-all"] and told == [("verify", 1, 1)]
    wrong = tautomer.Rules("rule wrong(x) { abs(x) => x }").verify()[0]
    assert not wrong and wrong.verdict == "refuted" and "source:" in str(wrong) and "abs(" in str(wrong)


def test_warnings_are_listed():
    assert any("documentation" in w for w in tautomer.Rules("rule bare(x) { relu(relu(x)) => relu(x) }").check())


def test_functions_are_traced_to_text():
    @tautomer.rule(numerics="real", where=lambda w1, w2: w1.shape == w2.shape)
    def add_of_convs(x, w1: "param", w2: "param"):  # type: ignore[name-defined]  # noqa: F821
        """The sum of two convolutions of one input is one convolution with the summed kernel."""
        a = Rest("a")
        return ops.conv(x, w1, a) + ops.conv(x, w2, a), ops.conv(x, w1 + w2, a)

    assert add_of_convs.text == (
        "/// The sum of two convolutions of one input is one convolution with the summed kernel.\n"
        "rule add-of-convs(x, w1: param, w2: param) {\n"
        "  conv(x, w1) {..a} + conv(x, w2) {..a}\n"
        "  => conv(x, (w1 + w2)) {..a}\n"
        "  where w1.shape == w2.shape\n"
        "  numerics real\n"
        "}"
    )
    assert add_of_convs.rules.names == ["add-of-convs"]


def test_shared_parts_get_names():
    @tautomer.rule(numerics="bitwise")
    def halves(x):
        parts = ops.split(x, Rest("r"), axis=attr("k"), num_outputs=2)
        return ops.concat(parts[0], parts[1], axis=attr("k")), x

    assert "let t0 = split(x) {axis = k, num_outputs = 2, ..r};" in halves.text
    assert halves.verify()

    @tautomer.rule
    def positive(x):
        y = ops.relu(x)
        return ops.abs(y), y

    assert "abs(t0)\n  => t0" in positive.text
    testing.assert_rule(positive)


def test_two_functions_make_a_rule_in_both_directions():
    swap = tautomer.rule(lambda x, y: x + y, lambda x, y: y + x, name="swap", both_ways=True)
    assert swap.rules.names == ["swap", "swap-reversed"]
    testing.assert_rule(swap, verdict="proved")
    with pytest.raises(TypeError, match="source and its target"):
        tautomer.rule(lambda x: ops.relu(x))
    with pytest.raises(TypeError, match="where"):
        tautomer.rule(lambda x: (ops.relu(x) if x > 0 else x, x))


def test_traced_rules_are_used():
    @tautomer.rule(numerics="bitwise")
    def twice(x):
        return ops.relu(ops.relu(x)), ops.relu(x)

    result = tautomer.optimize("fn main(x: f32[4]) { relu(relu(x)) }", rules=twice)
    assert result.report["rules"][0]["name"] == "twice"
    assert len(twice + "gsl") == len(tautomer.Rules("gsl")) + 1


def test_a_failed_assertion_shows_programs():
    with pytest.raises(AssertionError, match=r"(?s)wrong: refuted.*source:.*abs"):
        testing.assert_rule("rule wrong(x) { abs(x) => x }")
    with pytest.raises(AssertionError, match=r"(?s)original:\nfn main.*optimized:\nfn main"):
        testing.assert_equal("fn main(x: f32[3]) { relu(x) }", "fn main(x: f32[3]) { abs(x) }")
    testing.assert_equal("fn main(x: f32[n]) { relu(relu(x)) }", "fn main(x: f32[n]) { relu(x) }")


@settings(max_examples=25, derandomize=True, deadline=None)
@given(testing.graphs(operators=("relu", "add", "concat"), ranks=(2,), dtypes=("f32", "i64"), most=5))
def test_drawn_graphs_have_what_was_asked_for(graph):
    assert {node.op for node in graph if node.kind == "call"} <= {"relu", "add", "concat"}
    assert all(kind[:3] in ("f32", "i64") and kind.count(",") == 1 for kind in graph.inputs.values())


@settings(max_examples=25, derandomize=True, deadline=None)
@given(testing.workloads(most=8))
def test_optimized_graphs_have_the_same_results(workload):
    graph, inputs = workload
    testing.assert_same_results(graph, tautomer.optimize(graph, check=0).model, inputs)


def test_shrunk_counterexamples_are_small():
    @settings(max_examples=300, derandomize=True, deadline=None, database=None)
    @given(testing.workloads(operators=("relu", "abs", "add"), ranks=(1,), most=6))
    def wrong(workload):
        graph, inputs = workload
        broken = tautomer.Graph(graph.to_text().replace("abs(", "relu("))
        testing.assert_same_results(graph, broken, inputs)

    with pytest.raises(AssertionError) as found:
        wrong()
    assert str(found.value).split("optimized:")[0].count("abs(") == 1


@settings(max_examples=25, derandomize=True, deadline=None)
@given(testing.workloads(operators=("conv", "max_pool", "batch_normalization", "relu"), ranks=(4,), most=5))
def test_any_operator_can_be_chosen(workload):
    graph, inputs = workload
    assert set(inputs) == set(graph.inputs)
    # Kernels and scales are parameters, and have values.
    assert all(graph.param(name) is not None for name in graph.params)
    assert all(len(values.shape) == 4 for values in inputs.values())
    tautomer.Session(graph).run(inputs)


def test_strategies_refuse_what_they_do_not_know():
    with pytest.raises(tautomer.Error, match="no operator `nothing`"):
        testing.graphs(operators=("nothing",))
    with pytest.raises(tautomer.Error, match="no element type `f31`"):
        testing.graphs(dtypes=("f31",))
    with pytest.raises(ValueError, match="rules: choose one"):
        testing.instances("gsl")
    with pytest.raises(KeyError):
        testing.instances("gsl", "nothing")


CONVOLUTIONS = """/// The sum of two convolutions of one input is one.
rule sum-of-convs(x, w1: param, w2: param) {
  conv(x, w1) {..a} + conv(x, w2) {..a} => conv(x, w1 + w2) {..a} where w1.shape == w2.shape numerics real
}
"""


@settings(max_examples=20, derandomize=True, deadline=None)
@given(testing.instances(CONVOLUTIONS))
def test_a_rule_fires_on_its_instances(instance):
    graph, inputs = instance
    assert len(graph.find("conv")) == 2 and len(graph.params) == 2
    result = tautomer.optimize(graph, rules=CONVOLUTIONS, check=0)
    assert len(result.graph.find("conv")) == 1
    testing.assert_same_results(graph, result.model, inputs)
