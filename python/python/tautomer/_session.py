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

    Neither inputs in the order of rows nor results are copied; an input must not change while `run` works, which other
    threads could do. Results have DLPack too: `torch.from_dlpack(result)`. `reference=True` computes by the reference
    definitions of the operators instead of fast kernels. `numerics="approx(1e-2)"` lets matrix products and
    convolutions round their operands to bfloat16 where the machine is faster with it.

    >>> import numpy as np, tautomer
    >>> session = tautomer.Session("fn main(x: f32[n]) { relu(x) }")
    >>> session.run({"x": np.array([-1, 2], "float32")})
    {'out0': array([0., 2.], dtype=float32)}
    """

    def __init__(
        self, model: Any, *, threads: int | None = None, reference: bool = False, numerics: str = "real"
    ) -> None:
        self.graph = model if isinstance(model, Graph) else Graph._of(read(model)[0])
        self._core = _core.Session(self.graph._core, threads or 0, reference, numerics)
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
    """An array of NumPy in the order of rows, without a copy where its layout and the other package allow it."""
    if not isinstance(value, np.ndarray):
        value = _foreign(value) if hasattr(value, "__dlpack__") and not isinstance(value, np.generic) else value
        value = np.asarray(value)
    if not value.dtype.isnative:
        value = value.astype(value.dtype.newbyteorder("="))
    return np.require(value, requirements=["C", "A"])


def _foreign(value: Any) -> Any:
    """An array of another package."""
    if getattr(value, "requires_grad", False):
        # What PyTorch itself asks for; the elements are the same.
        value = value.detach()
    if str(getattr(value, "dtype", "")).endswith("bfloat16"):
        return _bfloat16(value)
    try:
        return np.from_dlpack(value)
    except (BufferError, RuntimeError, TypeError) as why:
        raise TypeError(f"{type(value).__name__} is no array that NumPy can read by DLPack: {why}") from why


def _bfloat16(value: Any) -> np.ndarray:
    """NumPy does not read bfloat16 by DLPack: the bits as integers, under the type of the package `ml_dtypes`."""
    import sys

    import ml_dtypes

    torch = sys.modules.get("torch")
    if torch is None or not isinstance(value, torch.Tensor):
        return np.asarray(value)
    return np.from_dlpack(value.view(torch.int16)).view(ml_dtypes.bfloat16)
