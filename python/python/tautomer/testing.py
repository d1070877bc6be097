"""Property tests of rules and models: Hypothesis strategies, and assertions whose failures show a counterexample.

>>> from hypothesis import given, settings
>>> import tautomer
>>> from tautomer import testing
>>> @settings(max_examples=10, derandomize=True, deadline=None)
... @given(testing.workloads(most=6))
... def optimizing_keeps_results(workload):
...     graph, inputs = workload
...     testing.assert_same_results(graph, tautomer.optimize(graph, check=0).model, inputs)
>>> optimizing_keeps_results()
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from . import _core
from ._graph import Graph
from ._rule import Rule
from ._rules import LEVELS, Rules
from ._session import Session
from ._verify import are_close, verify

if TYPE_CHECKING:
    from hypothesis.strategies import SearchStrategy

#: A graph and values for its inputs, by name.
Case = tuple[Graph, dict[str, np.ndarray]]

#: The operators of graphs unless others are chosen: no values of theirs are ill-conditioned.
OPERATORS = (
    *("relu", "neg", "abs", "sigmoid", "tanh", "add", "sub", "mul", "max", "min", "softmax", "transpose", "concat"),
    *("matmul", "split", "reshape", "slice", "pad", "reduce_sum", "reduce_max", "where"),
)

#: The graphs that a rule matches from which `instances` draws.
INSTANCES = 100


def graphs(
    *,
    operators: Sequence[str] = OPERATORS,
    ranks: Sequence[int] = (1, 2, 3),
    dtypes: Sequence[str] = ("f32",),
    most: int = 12,
) -> SearchStrategy[Graph]:
    """Graphs of up to `most` calls of the operators, over inputs `x` and `y` of these ranks and element types.

    A call is one of earlier values, and of parameters with shapes that fit, such as the kernel of a convolution;
    attributes are drawn too. Any operator of the table may be chosen: `tautomer ops list`.

    >>> from tautomer import testing
    >>> from hypothesis import find
    >>> convolutions = testing.graphs(operators=("conv",), ranks=(4,), most=2)
    >>> found = find(convolutions, lambda graph: len(graph.params) > 0)
    >>> {node.op for node in found if node.kind == "call"}
    {'conv'}
    """
    return _grown(operators, ranks, dtypes, most).map(lambda case: case[0])


def workloads(
    *,
    operators: Sequence[str] = OPERATORS,
    ranks: Sequence[int] = (1, 2, 3),
    dtypes: Sequence[str] = ("f32",),
    most: int = 12,
) -> SearchStrategy[Case]:
    """Graphs with values for their inputs, by name; the arguments are those of `graphs`."""
    return _grown(operators, ranks, dtypes, most)


def instances(rule: Rule | Rules | str, name: str | None = None) -> SearchStrategy[Case]:
    """Graphs that a rule matches as a whole, with values for their inputs by name; `name` chooses among several rules.

    >>> import tautomer
    >>> from hypothesis import given, settings
    >>> from tautomer import testing
    >>> RULE = "rule twice(x) { relu(relu(x)) => relu(x) where x.rank > 1 }"
    >>> @settings(max_examples=10, derandomize=True, deadline=None)
    ... @given(testing.instances(RULE))
    ... def the_rule_fires(case):
    ...     graph, inputs = case
    ...     result = tautomer.optimize(graph, rules=RULE)
    ...     assert result.report["vertices"] == [2, 1]
    ...     testing.assert_same_results(graph, result.model, inputs)
    >>> the_rule_fires()
    """
    from hypothesis import strategies as st

    rules = Rules(rule)
    if name is None:
        if len(rules) != 1:
            raise ValueError(f"there are {len(rules)} rules: choose one by its name")
        name = rules.names[0]
    found = rules._core.instances(name, INSTANCES)
    if found is None:
        raise KeyError(name)
    if found.count() == 0:
        raise ValueError(f"no graph was found that the rule {name} matches")
    return st.builds(lambda place, seed: _case(*found.draw(place, seed)), st.integers(0, found.count() - 1), _seeds())


def _seeds() -> SearchStrategy[int]:
    from hypothesis import strategies as st

    return st.integers(0, 2**16 - 1)


def _case(model: _core.Model, inputs: dict[str, np.ndarray]) -> Case:
    return Graph._of(model), inputs


def _grown(
    operators: Sequence[str], ranks: Sequence[int], dtypes: Sequence[str], most: int
) -> SearchStrategy[Case]:
    from hypothesis import strategies as st

    # The first of what is chosen among is the simplest to Hypothesis.
    rank = st.sampled_from(list(ranks))
    shape = rank.flatmap(lambda n: st.lists(st.integers(1, 3), min_size=n, max_size=n))
    decisions = st.lists(st.tuples(_seeds(), _seeds(), _seeds()), min_size=1, max_size=most)
    names = list(operators)
    # Names that are wrong are an error where the strategy is made.
    _core.grown(names, dtypes[0], [], [], 0)
    return st.builds(
        lambda dtype, shape, decisions, seed: _case(*_core.grown(names, dtype, shape, decisions, seed)),
        *(st.sampled_from(list(dtypes)), shape, decisions, _seeds()),
    )


def assert_rule(rule: Rule | Rules | str, *, verdict: str = "tested", **options: Any) -> None:
    """Fails unless each rule has at least the verdict; the message shows the smallest counterexample that was found.

    >>> from tautomer import testing
    >>> testing.assert_rule("rule wrong(x) { abs(x) => x }")  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    ...
    AssertionError: wrong: refuted...
    """
    if verdict not in LEVELS:
        raise ValueError(f"verdict {verdict!r}: known are {', '.join(LEVELS)}")
    weak = [v for v in Rules(rule).verify(**options) if LEVELS.index(v.verdict) < LEVELS.index(verdict)]
    if weak:
        raise AssertionError("\n".join(str(v) for v in weak))


def assert_equal(original: Any, optimized: Any, **options: Any) -> None:
    """Fails unless the second model is equal to the first; the message shows inputs at which they differ.

    >>> from tautomer import testing
    >>> testing.assert_equal("fn main(x: f32[n]) { x + x }", "fn main(x: f32[n]) { 2.0 * x }")
    """
    found = verify(original, optimized, **options)
    if not found:
        programs = f"original:\n{Graph(original).to_text()}optimized:\n{Graph(optimized).to_text()}"
        raise AssertionError(f"{found}\n{programs}")


def assert_same_results(original: Any, optimized: Any, inputs: dict[str, Any], *, allowed: float = 1e-4) -> None:
    """Fails unless both models have the same results for these inputs, within `allowed` of their scale."""
    first, second = (list(Session(model).run(inputs).values()) for model in (original, optimized))
    programs = f"original:\n{Graph(original).to_text()}optimized:\n{Graph(optimized).to_text()}"
    if len(first) != len(second):
        raise AssertionError(f"{len(first)} results, and {len(second)}\n{programs}")
    for a, b in zip(first, second):
        if not are_close(a, b, allowed):
            raise AssertionError(f"{a!r}\nis not\n{b!r}\nfor {inputs!r}\n{programs}")
