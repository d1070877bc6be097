"""Comparing two models."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from . import _core
from ._model import read


@dataclass(frozen=True)
class Verdict:
    """Whether a model is equal to its original: `proved`, `tested`, `differs` or `undecided`."""

    verdict: str
    #: The verdict in words.
    says: str
    #: If they differ: what, at which result and element, and the first value inside that differs.
    difference: dict[str, Any] | None = None
    #: If they differ: inputs at which they do, by name.
    inputs: dict[str, np.ndarray] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)

    def __bool__(self) -> bool:
        return self.verdict in ("proved", "tested")

    def __str__(self) -> str:
        lines = [self.says, *self.notes]
        if self.difference is not None:
            d = self.difference
            if d["output"] is not None:
                at = f" at {d['element']}" if d["element"] is not None else ""
                lines.append(f"{d['output']}{at}: {d['expected']} in the original, {d['found']} in the optimized one")
            if d["first"] is not None:
                lines.append(f"first difference at {d['first']['value']} ({d['first']['operator']})")
            lines += [f"{name} = {value!r}" for name, value in self.inputs.items()]
        return "\n".join(lines)


def are_close(a: np.ndarray, b: np.ndarray, allowed: float) -> bool:
    """Whether two results are equal within `allowed` of the largest number of the first."""
    if a.shape != b.shape or a.dtype != b.dtype:
        return False
    if a.dtype.kind not in "fiu":
        return bool(np.array_equal(a, b))
    finite = np.abs(a[np.isfinite(a)]) if a.dtype.kind == "f" else np.abs(a)
    scale = max(float(finite.max(initial=0)), 1e-30)
    return bool(np.allclose(a, b, rtol=0, atol=allowed * scale, equal_nan=True))


def verify(original: Any, optimized: Any, *, numerics: str = "real", seed: int = 0, shapes: int = 4) -> Verdict:
    """Checks whether a model is equal to its original, whatever tool produced it: by proof if possible, else on data.

    >>> import tautomer
    >>> tautomer.verify("fn main(x: f32[n]) { relu(relu(x)) }", "fn main(x: f32[n]) { relu(x) }").verdict
    'proved'
    >>> found = tautomer.verify("fn main(x: f32[3]) { relu(x) }", "fn main(x: f32[3]) { abs(x) }")
    >>> found.verdict, list(found.inputs)
    ('differs', ['x'])
    """
    text, inputs = _core.verify(read(original)[0], read(optimized)[0], numerics, seed, shapes)
    found = json.loads(text)
    return Verdict(found["verdict"], found["says"], found.get("difference"), inputs, found["notes"])
