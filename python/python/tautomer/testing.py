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

from typing import Any

import numpy as np

from ._graph import Graph
from ._rule import Rule
from ._rules import LEVELS, Rules
from ._session import Session
from ._verify import verify

#: Operators of one operand that keep its type.
UNARY = ("relu", "neg", "abs", "sigmoid", "tanh", "exp", "sqrt", "floor")
#: Operators of two operands that broadcast.
BINARY = ("add", "sub", "mul", "div", "max", "min")
#: Operators that reduce or move axes, with the attributes they are drawn with.
OTHER = ("reduce_sum", "reduce_max", "softmax", "transpose", "concat", "matmul")


def graphs(
    *,
    operators: tuple[str, ...] = UNARY + BINARY + OTHER,
    ranks: tuple[int, ...] = (1, 2, 3),
    dtypes: tuple[str, ...] = ("f32",),
    most: int = 12,
) -> Any:
    """Programs of up to `most` calls of the operators, over inputs of these ranks and element types, as graphs."""
    return _programs(operators, ranks, dtypes, most).map(lambda drawn: Graph(drawn[0]))


def workloads(
    *,
    operators: tuple[str, ...] = UNARY + BINARY + OTHER,
    ranks: tuple[int, ...] = (1, 2, 3),
    dtypes: tuple[str, ...] = ("f32",),
    most: int = 12,
) -> Any:
    """Graphs with values for their inputs, by name; the arguments are those of `graphs`."""
    from hypothesis import strategies as st

    def valued(drawn: tuple[tuple[str, dict[str, tuple[str, tuple[int, ...]]]], int]) -> tuple[Graph, dict[str, Any]]:
        (text, inputs), seed = drawn
        return Graph(text), _values(inputs, seed)

    return st.tuples(_programs(operators, ranks, dtypes, most), st.integers(0, 2**16)).map(valued)


_NUMPY = {"f32": "float32", "f64": "float64", "i64": "int64", "i32": "int32"}


def _values(inputs: dict[str, tuple[str, tuple[int, ...]]], seed: int) -> dict[str, np.ndarray]:
    random = np.random.default_rng(seed)
    out = {}
    for name, (dtype, shape) in inputs.items():
        values = random.uniform(-2, 2, shape) if dtype.startswith("f") else random.integers(0, 4, shape)
        out[name] = values.astype(_NUMPY[dtype])
    return out


def _programs(operators: tuple[str, ...], ranks: tuple[int, ...], dtypes: tuple[str, ...], most: int) -> Any:
    from hypothesis import strategies as st

    unknown = set(operators) - set(UNARY + BINARY + OTHER)
    if unknown:
        raise ValueError(f"no programs are drawn with {sorted(unknown)[0]!r}: known are {UNARY + BINARY + OTHER}")
    if set(dtypes) - set(_NUMPY):
        raise ValueError(f"element types are {sorted(_NUMPY)}")

    @st.composite
    def programs(draw: Any) -> tuple[str, dict[str, tuple[str, tuple[int, ...]]]]:
        dtype = draw(st.sampled_from(dtypes))
        rank = draw(st.sampled_from(ranks))
        shape = tuple(draw(st.integers(1, 3)) for _ in range(rank))
        inputs = {"x": (dtype, shape), "y": (dtype, shape)}
        # Values with their shapes; a call uses some of the last ones more often than the first.
        pool: list[tuple[str, tuple[int, ...]]] = [(name, shape) for name, (_, shape) in inputs.items()]
        lines = []
        for i in range(draw(st.integers(1, most))):
            op = draw(st.sampled_from(operators))
            if not dtype.startswith("f") and op in ("sigmoid", "tanh", "exp", "sqrt", "floor", "div", "softmax"):
                continue
            (a, of_a), (b, of_b) = draw(st.sampled_from(pool[::-1])), draw(st.sampled_from(pool[::-1]))
            made = _call(op, a, of_a, b, of_b, draw)
            if made is not None:
                lines.append(f"  let v{i} = {made[0]};")
                pool.append((f"v{i}", made[1]))
        header = ", ".join(f"{name}: {kind}[{', '.join(map(str, of))}]" for name, (kind, of) in inputs.items())
        body = "\n".join([*lines, f"  {pool[-1][0]}"])
        return f"fn main({header}) {{\n{body}\n}}\n", inputs

    return programs()


def _call(op: str, a: str, of_a: tuple[int, ...], b: str, of_b: tuple[int, ...], draw: Any) -> Any:
    """A call with the shape of its result; nothing where the operands do not fit."""
    from hypothesis import strategies as st

    # Values stay where the operator is not ill-conditioned.
    if op == "exp":
        return f"exp(min({a}, 4.0))", of_a
    if op == "sqrt":
        return f"sqrt(abs({a}) + 1.0)", of_a
    if op in UNARY:
        return f"{op}({a})", of_a
    if op == "div":
        return (f"{a} / (abs({b}) + 1.0)", of_a) if of_a == of_b else None
    if op in BINARY:
        return (f"{op}({a}, {b})", of_a) if of_a == of_b else None
    if op == "concat":
        joined = (of_a[0] + of_b[0], *of_a[1:]) if of_a and of_b else None
        if joined is None or of_a[1:] != of_b[1:] or joined[0] > 12:
            return None
        return f"concat({a}, {b}) {{axis = 0}}", joined
    if op == "matmul":
        if len(of_a) == 2 and len(of_b) == 2 and of_a[1] == of_b[0]:
            return f"matmul({a}, {b})", (of_a[0], of_b[1])
        return None
    if not of_a:
        return None
    axis = draw(st.integers(0, len(of_a) - 1))
    if op == "softmax":
        return f"softmax({a}) {{axis = {axis}}}", of_a
    if op == "transpose":
        perm = draw(st.permutations(range(len(of_a))))
        return f"transpose({a}) {{perm = {list(perm)}}}", tuple(of_a[i] for i in perm)
    kept = tuple(1 if i == axis else n for i, n in enumerate(of_a))
    return f"{op}({a}) {{axes = [{axis}], keepdims = true}}", kept


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
        finite = np.abs(a[np.isfinite(a)]) if a.dtype.kind == "f" else np.abs(a)
        scale = max(float(finite.max(initial=0)), 1e-30)
        if a.shape != b.shape or not np.allclose(a, b, rtol=0, atol=allowed * scale, equal_nan=True):
            raise AssertionError(f"{a!r}\nis not\n{b!r}\nfor {inputs!r}\n{programs}")
