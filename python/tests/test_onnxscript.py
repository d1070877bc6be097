"""Functions of onnxscript are optimized like other models."""

import pytest
import tautomer

onnxscript = pytest.importorskip("onnxscript")
from onnxscript import FLOAT  # noqa: E402
from onnxscript import opset21 as op  # noqa: E402


@onnxscript.script(default_opset=op)
def network(x: FLOAT["n", 4]) -> FLOAT["n", 4]:  # type: ignore  # noqa: F821
    return op.Relu(op.Relu(x))


def test_onnxscript_functions_are_optimized():
    small = tautomer.optimize(network.to_model_proto()).model
    assert [n.op_type for n in small.graph.node] == ["Relu"]
