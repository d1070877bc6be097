"""Models that several tests use."""

import numpy as np
import pytest

onnx = pytest.importorskip("onnx")
from onnx import TensorProto, helper, numpy_helper  # noqa: E402


def make_model(size: int = 4):
    """`relu(relu(x) * 1.0) @ w`, with the weights inside."""
    weights = np.arange(size * size, dtype=np.float32).reshape(size, size) / size
    nodes = [
        helper.make_node("Relu", ["x"], ["a"]),
        helper.make_node("Mul", ["a", "one"], ["b"]),
        helper.make_node("Relu", ["b"], ["c"]),
        helper.make_node("MatMul", ["c", "w"], ["y"]),
    ]
    graph = helper.make_graph(
        nodes,
        "example",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["n", size])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, ["n", size])],
        [numpy_helper.from_array(np.array(1.0, np.float32), "one"), numpy_helper.from_array(weights, "w")],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10)


@pytest.fixture
def model():
    return make_model()


@pytest.fixture
def path(model, tmp_path):
    path = tmp_path / "model.onnx"
    onnx.save(model, path)
    return path
