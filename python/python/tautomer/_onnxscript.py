"""A pass for pipelines of onnx_ir and onnxscript."""

from __future__ import annotations

from typing import Any

import onnx_ir
from onnx_ir.passes import InPlacePass, PassResult

from ._optimize import optimize


class _Pass(InPlacePass):
    def __init__(self, options: dict[str, Any]) -> None:
        super().__init__()
        self.options = options

    def call(self, model: onnx_ir.Model) -> PassResult:
        result = optimize(model, **self.options)
        if result.report["vertices"][0] == result.report["vertices"][1] and not result.report["rules"]:
            return PassResult(model, modified=False)
        new = result.model
        # The operator sets belong to the graph.
        model.graph, model.ir_version = new.graph, new.ir_version
        model.functions.clear()
        model.functions.update(new.functions)
        return PassResult(model, modified=True)


def onnxscript_pass(**options: Any) -> InPlacePass:
    """A pass that optimizes an `onnx_ir.Model`, for `onnx_ir.passes.Sequential`; options are those of `optimize`.

    >>> import onnx_ir, tautomer
    >>> data = tautomer.Graph("fn main(x: f32[4]) { relu(relu(x)) }").to_onnx()
    >>> import onnx
    >>> model = onnx_ir.from_proto(onnx.ModelProto.FromString(data))
    >>> tautomer.onnxscript_pass(check=3)(model).modified
    True
    >>> [node.op_type for node in model.graph]
    ['Relu']
    """
    return _Pass(options)
