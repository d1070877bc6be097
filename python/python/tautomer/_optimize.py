"""Optimizing models."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from . import _core
from ._cost import Cost, asked
from ._errors import Error, lines
from ._graph import Graph
from ._model import answer, read
from ._rules import Rules
from ._session import Session
from ._verify import are_close

#: Called with the name of a stage, how many items of it are done, and of how many, as far as they are known.
Progress = Callable[[str, "int | None", "int | None"], None]


def shape_texts(shapes: Mapping[str, Sequence[int | str | None]] | Iterable[str] | None) -> list[str]:
    """Shapes as the library reads them: `{"x": [1, 3, "h", None]}` is `x=1,3,h,?`."""
    if shapes is None:
        return []
    if isinstance(shapes, str):
        return [shapes]
    if not isinstance(shapes, Mapping):
        return list(shapes)
    one = lambda d: "?" if d is None else str(d)  # noqa: E731
    return [f"{name}={','.join(map(one, dims))}" for name, dims in shapes.items()]


def target_options(target: int | str | None) -> dict[str, Any]:
    """The options that `target` stands for."""
    if target is None:
        return {}
    if isinstance(target, int):
        return {"opset": target}
    if target.startswith("opset"):
        return {"opset": int(target.removeprefix("opset").lstrip(" =:")), "result": "onnx"}
    if target in ("onnx", "pnnx", "taut"):
        return {"result": target}
    return {"target": str(target)}


def optimize(
    model: Any,
    *,
    rules: Any = None,
    target: int | str | None = None,
    verdict: str | None = None,
    shapes: Any = None,
    assume: Iterable[str] = (),
    check: int | bool = 1,
    numerics: str = "real",
    only: Iterable[str] | None = None,
    skip: Iterable[str] = (),
    seed: int = 0,
    audit: bool = False,
    explain: bool = True,
    engine: str = "saturate",
    fold: bool = True,
    allow_refuted: bool = False,
    limits: Mapping[str, int] | None = None,
    cost: Cost | None = None,
    progress: Progress | bool | None = None,
) -> "Result":
    """Rewrites a model into an equal one that costs less.

    `model` is a path, bytes, an `onnx.ModelProto`, an `onnx_ir.Model`, a `tautomer.Graph` or the text of a program, and
    `Result.model` is of the same kind. `rules` are those to use in place of the built-in ones: `tautomer.Rules`, a path,
    a text, the name of a set, or a list of these; `["my.rules", "built-in"]` uses both, as `--rules my.rules` of the
    command line does. Operators that the rules declare may occur in the model. `target` is the operator set to write
    for (`21`, `"opset21"`), a format (`"onnx"`, `"pnnx"`, `"taut"`), or what `tautomer optimize --target` takes:
    `"onnxruntime"`, `"npu"`, `"mine.target"`; what it does not have is in `report["target"]["illegal"]`. `verdict`
    leaves out rules with a weaker one: `"proved"`. `shapes` gives inputs shapes: `{"x": [1, 3, "h", "w"]}`. `check` is
    the number of random inputs on which result and original are compared; a wrong result is an error. `numerics` is the
    weakest equality allowed: `"bitwise"`, `"real"`, `"approx(1e-3)"`. `limits` bounds the search:
    `{"iterations": 8}`, `nodes`, `rewrites`. `cost` is a function from a `tautomer.Call` to the time that it takes, in
    microseconds, by which graphs are compared. `progress` is called as the work proceeds; `True` shows a bar. Ctrl-C
    ends the work.

    >>> import tautomer
    >>> result = tautomer.optimize("fn main(x: f32[2, 3]) { x * 1.0 + 0.0 }", check=3)
    >>> "mul-by-one" in {rule["name"] for rule in result.report["rules"]}
    True
    >>> result.report["check"]["runs"]
    3
    """
    # The operators that the rules declare may occur in the model.
    chosen = Rules._core_of(rules)
    inner, kind = read(model, chosen)
    if engine not in ("saturate", "substitute"):
        raise ValueError(f"engine {engine!r}: known are 'saturate' and 'substitute'")
    if wrong := set(limits or ()) - {"iterations", "nodes", "rewrites"}:
        raise ValueError(f"limit {min(wrong)!r}: known are 'iterations', 'nodes' and 'rewrites'")
    given = {
        "engine": engine,
        "numerics": numerics,
        "assume": list(assume),
        "skip": list(skip),
        "shapes": shape_texts(shapes),
        "check": int(check),
        "seed": seed,
        "audit": audit,
        "explain": explain,
        "fold": fold,
        "allow_refuted": allow_refuted,
        **target_options(target),
        **(limits or {}),
    }
    if verdict not in (None, "any"):
        given["verdict"] = verdict
    if only is not None:
        given["only"] = list(only)
    told, done = watcher(progress)
    try:
        found = _core.optimize(inner, chosen, given, told, asked(cost))
    finally:
        done()
    return Result(found, kind, model)


def watcher(progress: Progress | bool | None) -> tuple[Progress | None, Callable[[], None]]:
    """The function to call, and what to call at the end."""
    if progress is True:
        from ._notebook import Bar

        bar = Bar()
        return bar.told, bar.close
    return (progress or None), lambda: None


class Result:
    """The result of an optimization, and what is known about it."""

    def __init__(self, inner: _core.Optimized, kind: str, like: Any) -> None:
        self._core = inner
        self._kind, self._like = kind, like
        self._model: Any = None
        self._report: dict[str, Any] | None = None

    @property
    def model(self) -> Any:
        """The optimized model, in the form in which the original was given."""
        if self._model is None:
            self._model = answer(self._core.model(), self._kind, self._like)
        return self._model

    @property
    def graph(self) -> Graph:
        """The optimized graph."""
        return Graph._of(self._core.model())

    @property
    def report(self) -> dict[str, Any]:
        """What was done: `vertices`, `operators`, `cost`, `parameter_bytes` (before and after), `rules`, `class`,
        `check`, `audit`, `seconds` and more, as `tautomer optimize --json` has them."""
        if self._report is None:
            self._report = json.loads(self._core.report())
        return self._report

    def to_onnx(self) -> bytes:
        """The optimized model as the bytes of an ONNX file."""
        return self._core.to_onnx()

    def save(self, path: str | os.PathLike[str]) -> list[str]:
        """Writes the optimized model as `.onnx`, `.taut` or `.pnnx.param`; returns notes."""
        return lines(self._core.model().write(os.fspath(path)))

    def explain(self) -> str:
        """The rewrites that produced the result, in dataflow order.

        >>> import tautomer
        >>> print(tautomer.optimize("fn main(x: f32[4]) { relu(relu(x)) }").explain())
        1  relu-of-relu  at relu #2
        """
        steps = self._core.steps()
        if not steps:
            return "no rewrite produced this result"
        width = max(len(rule) for rule, _ in steps)
        places = [", ".join(place) if place else "a value made by the rules before" for _, place in steps]
        digits = len(str(len(steps)))
        return "\n".join(
            f"{i:{digits}}  {rule:{width}}  at {place}" for i, ((rule, _), place) in enumerate(zip(steps, places), 1)
        )

    def why_not(self, rule: str) -> str:
        """Why a rule does not apply to the original, or why the result does not show it."""
        found = json.loads(self._core.why_not(rule))
        lines = [found["answer"]]
        if found["place"]:
            lines.append(f"at {found['place']}")
        lines += [f"{written} = {value}" for written, value in found["values"]]
        return "\n".join(lines + found["hints"])

    def html(self) -> str:
        """The report as one page, with pictures of what changed."""
        return self._core.html()

    def _repr_html_(self) -> str:
        from ._notebook import framed

        return framed(self.html())

    def __repr__(self) -> str:
        before, after = self.report["vertices"]
        return f"<tautomer.Result: {before} -> {after} nodes, {self.report['class']}>"


#: Arguments of `onnxsim.simplify` with the values that ask for nothing that is not done here anyway; `...` for any.
_ASKS_NOTHING: dict[str, Any] = {
    "dynamic_input_shape": ...,
    "include_subgraph": ...,
    "import_custom_schemas": ...,
    "certify": ...,
    "custom_lib": None,
    "unused_output": None,
    "tensor_size_threshold": "1.5GB",
    "mutable_initializer": False,
    "initializers_as_constants": True,
    "inline_functions": False,
    "extra_optimizers": None,
    "custom_rewriter": None,
    "function_rewrite_rules": None,
    "check_atol": ...,
    "input_fill": "random",
    "providers": None,
    "gemm_fusion_backend": "ort_cpu",
    "profile": None,
    "ort_profile": None,
    "merge_ort_profile": False,
    "external_data_threshold": "100MB",
    "range_opt": False,
    "check_hazards": False,
    "check_gradients": False,
    "gradient_precision": "fp32",
}


def simplify(
    model: Any,
    check_n: int = 0,
    perform_optimization: bool = True,
    skip_fuse_bn: bool = False,
    overwrite_input_shapes: Mapping[str, Sequence[int]] | None = None,
    test_input_shapes: Mapping[str, Sequence[int]] | None = None,
    skipped_optimizers: Sequence[str] | None = None,
    skip_constant_folding: bool = False,
    skip_shape_inference: bool = False,
    input_data: Mapping[str, Any] | None = None,
    *,
    input_shapes: Mapping[str, Sequence[int]] | None = None,
    target_opset_version: int | None = None,
    check_rtol: float = 1e-4,
    output_path: str | os.PathLike[str] | None = None,
    **others: Any,
) -> tuple[Any, bool]:
    """Simplifies a model with the arguments of `onnxsim.simplify`; returns the model and whether it passed the check.

    `check_n` is the number of random inputs to compare on, of `test_input_shapes` if these are given, and with
    `input_data` the comparison is on that. Without a comparison the second value is true. If the result is wrong, it is
    false, and the model is the one that was given. `skipped_optimizers` are names of rules here. Shapes are inferred in
    any case. Other arguments of onnxsim are accepted if they ask for nothing that is not done here anyway, and are a
    `TypeError` otherwise.

    >>> import tautomer
    >>> model, ok = tautomer.simplify("fn main(x: f32[2]) { relu(relu(x)) }", check_n=1)
    >>> model.call_count, ok
    (1, True)
    """
    for name, value in others.items():
        if name not in _ASKS_NOTHING:
            raise TypeError(f"simplify() has no argument {name!r}: tautomer.optimize has more of them")
        if _ASKS_NOTHING[name] not in (..., value):
            raise TypeError(f"simplify() cannot do what {name}={value!r} asks for")
    skip = list(skipped_optimizers or [])
    if skip_fuse_bn:
        skip += [name for name in Rules("built-in").names if "batch-norm" in name]
    own_inputs = input_data is not None or test_input_shapes is not None
    try:
        result = optimize(
            model,
            shapes=overwrite_input_shapes or input_shapes,
            target=target_opset_version,
            check=0 if own_inputs else check_n,
            skip=skip,
            only=None if perform_optimization else [],
            fold=not skip_constant_folding,
            explain=False,
        )
    except Error as error:
        if error.code == "T0410":
            return model, False
        raise
    check = result.report["check"]
    ok = check_n == 0 or own_inputs or check["runs"] > 0
    if own_inputs:
        ok = _agrees(model, result, input_data, test_input_shapes or {}, max(check_n, int(input_data is not None)), check_rtol)
    if output_path is not None and ok:
        result.save(output_path)
    return (result.model if ok else model), ok


def _agrees(
    model: Any,
    result: "Result",
    data: Mapping[str, Any] | None,
    shapes: Mapping[str, Sequence[int]],
    runs: int,
    allowed: float,
) -> bool:
    """Whether both models have the same results for the inputs, or for random ones of the shapes."""
    original = Graph(model)
    for seed in range(runs):
        inputs = dict(data or original._core.random_inputs(shape_texts(shapes), seed))
        both = zip(Session(original).run(inputs).values(), Session(result.graph).run(inputs).values())
        if not all(are_close(a, b, allowed) for a, b in both):
            return False
    return True


def audit(model: Any, rules: Any = None, **options: Any) -> dict[str, Any]:
    """Computes everything that the rules make of a model; an error names a rule that made two different values equal.

    >>> import tautomer
    >>> tautomer.audit("fn main(x: f32[2, 3]) { relu(x * 1.0) }")["ok"]
    True
    """
    found: dict[str, Any] = optimize(model, rules=rules, audit=True, **options).report["audit"]
    return found


__all__ = ["Result", "audit", "optimize", "simplify"]
