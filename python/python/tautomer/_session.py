"""Running models."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from . import _core
from ._graph import Graph
from ._model import read


class Session:
    """A model, ready to run on arrays of NumPy or of any package with DLPack.

    Inputs are copied once into tensors that own them; results are not copied. `reference=True` computes by the
    reference definitions of the operators instead of fast kernels.

    >>> import numpy as np, tautomer
    >>> session = tautomer.Session("fn main(x: f32[n]) { relu(x) }")
    >>> session.run({"x": np.array([-1, 2], "float32")})
    {'out0': array([0., 2.], dtype=float32)}
    """

    def __init__(self, model: Any, *, threads: int | None = None, reference: bool = False) -> None:
        self.graph = model if isinstance(model, Graph) else Graph._of(read(model)[0])
        self._core = _core.Session(self.graph._core, threads or 0, reference)
        self._inputs = list(self.graph.inputs)
        self._outputs = list(self.graph.outputs)

    @property
    def inputs(self) -> dict[str, str]:
        """The types of the inputs by name."""
        return self.graph.inputs

    @property
    def outputs(self) -> dict[str, str]:
        """The types of the results by name."""
        return self.graph.outputs

    def run(self, inputs: Mapping[str, Any] | None = None, **named: Any) -> dict[str, np.ndarray]:
        """The results by name; an input with a value in the model may be left out."""
        given = {**(inputs or {}), **named}
        unknown = [name for name in given if name not in self._inputs]
        if unknown:
            raise KeyError(f"there is no input {unknown[0]!r}: the inputs are {', '.join(self._inputs)}")
        values = []
        for name in self._inputs:
            value = given.get(name)
            if value is None:
                value = self.graph.param(name)
            if value is None:
                raise KeyError(f"input {name!r} of type {self.inputs[name]} has no value")
            values.append(as_array(value))
        return dict(zip(self._outputs, self._core.run(values)))


def as_array(value: Any) -> np.ndarray:
    """An array of NumPy, without a copy where the other package allows it."""
    if isinstance(value, np.ndarray):
        return value
    if hasattr(value, "__dlpack__") and not isinstance(value, np.generic):
        return np.from_dlpack(value)
    return np.asarray(value)
