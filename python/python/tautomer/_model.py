"""Models in the forms that Python programs have them, and answers in the same form."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from . import _core


def is_program(text: str) -> bool:
    """True for the text of a program rather than a path."""
    return "\n" in text or "fn " in text or text.lstrip().startswith("//")


def kind_of(model: Any) -> str:
    """What `model` is: path, text, bytes, graph, proto (`onnx.ModelProto`) or ir (`onnx_ir.Model`)."""
    from ._graph import Graph

    if isinstance(model, Graph):
        return "graph"
    if isinstance(model, str):
        return "text" if is_program(model) else "path"
    if isinstance(model, os.PathLike):
        return "path"
    if isinstance(model, (bytes, bytearray, memoryview)):
        return "bytes"
    if hasattr(model, "SerializeToString") and hasattr(model, "opset_import"):
        return "proto"
    if type(model).__module__.startswith("onnx_ir") and hasattr(model, "graph"):
        return "ir"
    raise TypeError(
        "a model is a path, the text of a program, bytes, an onnx.ModelProto, an onnx_ir.Model or a tautomer.Graph, "
        f"not {type(model).__name__}"
    )


def read(model: Any, rules: _core.RuleSet | None = None) -> tuple[_core.Model, str]:
    """The model for the library, and what it was. It may have the operators that `rules` declare."""
    kind = kind_of(model)
    if kind == "graph":
        return model._core, kind
    if kind == "path":
        return _core.Model.open(Path(os.fspath(model)), rules), kind
    if kind == "text":
        return _core.Model.from_text("<text>", model, rules), kind
    if kind == "bytes":
        return _core.Model.from_onnx(model if isinstance(model, bytes) else bytes(model), rules), kind
    if kind == "proto":
        return _core.Model.from_onnx(model.SerializeToString(), rules), kind
    from . import _ir

    return _ir.read(model, rules), kind


def answer(model: _core.Model, kind: str, like: Any) -> Any:
    """A result in the form of the model that it was made from; of a path, an `onnx.ModelProto` or a graph."""
    from ._graph import Graph

    if kind == "bytes":
        return model.to_onnx()
    if kind == "ir":
        from . import _ir

        return _ir.written(model)
    if kind == "proto" or (kind == "path" and str(os.fspath(like)).endswith(".onnx")):
        try:
            import onnx
        except ImportError:
            return Graph._of(model)
        return onnx.ModelProto.FromString(model.to_onnx())
    return Graph._of(model)
