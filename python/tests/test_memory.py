"""Large arrays and weights are copied once or not at all: the memory that a process needs shows it."""

import subprocess
import sys

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

if not sys.platform.startswith("linux"):
    pytest.skip("the largest memory of a process is read from /proc", allow_module_level=True)

SIZE = 5000
#: Bytes of the weights: 100 MB.
WEIGHTS = SIZE * SIZE * 4

#: Prints by how many bytes the largest memory of the process has grown.
GROWTH = """
import sys
import numpy as np, tautomer

def most():
    # Not from `resource`, which counts what the process was before it became this program.
    lines = open("/proc/self/status").read().splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith("VmHWM"))

tautomer.Session(tautomer.optimize("fn main(x: f32[2]) { relu(relu(x)) }").model).run(x=np.ones(2, "float32"))
"""


def growth(program: str, *args: str) -> int:
    done = subprocess.run([sys.executable, "-c", GROWTH + program, *args], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return int(done.stdout)


@pytest.fixture(scope="module")
def large(tmp_path_factory):
    """A model with weights of 100 MB."""
    weights = np.random.default_rng(0).standard_normal((SIZE, SIZE), dtype=np.float32)
    nodes = [
        helper.make_node("Relu", ["x"], ["a"]),
        helper.make_node("Relu", ["a"], ["b"]),
        helper.make_node("MatMul", ["b", "w"], ["y"]),
    ]
    value = lambda name: helper.make_tensor_value_info(name, TensorProto.FLOAT, ["n", SIZE])  # noqa: E731
    graph = helper.make_graph(nodes, "large", [value("x")], [value("y")], [numpy_helper.from_array(weights, "w")])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10)
    path = tmp_path_factory.mktemp("large") / "large.onnx"
    onnx.save(model, path)
    return path


def test_weights_of_a_file_are_copied_once(large, tmp_path):
    # The contents of the file, and the weights; those are gone or shared when the result is written.
    program = """
before = most()
tautomer.optimize(sys.argv[1], check=0).save(sys.argv[2])
print(most() - before)
"""
    written = tmp_path / "small.onnx"
    assert growth(program, str(large), str(written)) < 2.25 * WEIGHTS
    assert written.stat().st_size == pytest.approx(WEIGHTS, rel=0.01)


def test_weights_in_bytes_are_copied_once(large):
    # The weights, and the bytes of the result.
    program = """
data = open(sys.argv[1], "rb").read()
before = most()
result = tautomer.optimize(data, check=0).model
print(most() - before)
assert len(result) > 90_000_000
"""
    assert growth(program, str(large)) < 2.25 * WEIGHTS


def test_weights_of_onnx_ir_are_copied_once(large):
    # The weights: the result is a view of them.
    program = """
import onnx_ir
model = onnx_ir.load(sys.argv[1])
for name, value in model.graph.initializers.items():
    value.const_value = onnx_ir.Tensor(value.const_value.numpy().copy(), name=name)
weights = value.const_value.numpy()
before = most()
result = tautomer.optimize(model, check=0).model
print(most() - before)
found = result.graph.initializers[name].const_value
assert found.shape == weights.shape and found.dtype == onnx_ir.DataType.FLOAT
assert np.array_equal(found.numpy(), weights)
assert not found.numpy().flags.writeable
assert value.const_value.numpy() is weights
"""
    assert growth(program, str(large)) < 1.25 * WEIGHTS


INPUT = """
x = np.ones((25_000, 1_000), "float32")
session = tautomer.Session("fn main(x: f32[n, m]) { reduce_sum(x) {axes = [1]} }")
before = most()
total = session.run(x=VIEW)["out0"]
print(most() - before)
assert total[0] == 1000
"""


def test_large_inputs_are_not_copied():
    assert growth(INPUT.replace("VIEW", "x")) < 0.2 * WEIGHTS
    # As another package would have it.
    foreign = """
class Foreign:
    def __init__(self, array): self.array = array
    def __dlpack__(self, **options): return self.array.__dlpack__(**options)
    def __dlpack_device__(self): return self.array.__dlpack_device__()
"""
    assert growth(foreign + INPUT.replace("VIEW", "Foreign(x)")) < 0.2 * WEIGHTS


def test_inputs_in_another_order_are_copied_once():
    ordered = INPUT.replace('"float32")', '"float32", order="F")').replace("VIEW", "x")
    assert 0.8 * WEIGHTS < growth(ordered) < 1.25 * WEIGHTS


def test_large_results_are_not_copied():
    program = """
x = np.ones(25_000_000, "float32")
session = tautomer.Session("fn main(x: f32[n]) { relu(x) }")
before = most()
y = session.run(x=x)["out0"]
print(most() - before)
"""
    assert growth(program) < 1.25 * WEIGHTS
