"""How long single operators take that networks use beside products and functions of elements: tautomer compared with
ONNX Runtime in one interleaved run, on one thread.

    python exec_operators.py [--rounds N] [--seconds S] [--only TEXT]

Each model is one node on random inputs of about a million elements. Printed are the milliseconds of ONNX Runtime with
all its optimizations, the ratio of tautomer's processor time to it, and whether the reference definition computes the
operator because there is no kernel. Needs the environment of run.sh.
"""

import argparse
import pathlib
import statistics
import subprocess
import sys
import tempfile

import numpy as np
import onnx
from onnx import helper, numpy_helper

from exec_peers import mean
from onnx_agree import difference
from runtimes import BINARY, Runtime, Tautomer

RANDOM = np.random.default_rng(7)


def floats(*shape):
    return RANDOM.standard_normal(shape).astype(np.float32)


def places(most, *shape):
    return RANDOM.integers(0, most, shape).astype(np.int64)


def one(*numbers):
    return np.array(numbers, np.int64)


# The operator, its inputs (arrays; those after a bar are constants), its attributes, and the number of results.
CASES = {
    "ArgMax rows": ("ArgMax", [floats(2000, 500)], {"axis": 1}),
    "ArgMax columns": ("ArgMax", [floats(500, 2000)], {"axis": 0}),
    "ArgMin last": ("ArgMin", [floats(1000, 1000)], {"axis": -1, "keepdims": 0}),
    "CumSum": ("CumSum", [floats(1000, 1000), "|", np.array(1, np.int64)], {}),
    "CumSum columns": ("CumSum", [floats(1000, 1000), "|", np.array(0, np.int64)], {}),
    "CumSum of integers": ("CumSum", [places(9, 1000, 1000), "|", np.array(1, np.int64)], {}),
    "GatherElements": ("GatherElements", [floats(12, 256, 512), places(512, 12, 256, 256)], {"axis": 2}),
    "GatherElements columns": ("GatherElements", [floats(512, 1024), places(512, 512, 1024)], {"axis": 0}),
    "GatherND elements": ("GatherND", [floats(1000, 1000), places(1000, 300000, 2)], {}),
    "GatherND rows": ("GatherND", [floats(1000, 1000), places(1000, 1000, 1)], {}),
    "ScatterElements": ("ScatterElements", [floats(1000, 1000), places(1000, 1000, 300), floats(1000, 300)], {"axis": 1}),
    "ScatterElements sums": (
        "ScatterElements",
        [floats(1000, 1000), places(1000, 1000, 300), floats(1000, 300)],
        {"axis": 1, "reduction": "add"},
    ),
    "ScatterND rows": ("ScatterND", [floats(2000, 500), places(2000, 1000, 1), floats(1000, 500)], {}),
    "ScatterND elements": ("ScatterND", [floats(1000, 1000), places(1000, 200000, 2), floats(200000)], {}),
    "OneHot": ("OneHot", [places(100, 10000), "|", np.array(100, np.int64), np.array([0, 1], np.float32)], {}),
    "TopK 5 of 1000": ("TopK", [floats(1000, 1000), "|", one(5)], {}, 2),
    "TopK 100 of 10000": ("TopK", [floats(100, 10000), "|", one(100)], {}, 2),
    "Trilu": ("Trilu", [floats(4, 500, 500)], {"upper": 0}),
    "NonZero": ("NonZero", [(floats(1000, 1000) > 1).astype(np.float32)], {}),
    "Cast to bool": ("Cast", [places(2, 1000, 1000)], {"to": onnx.TensorProto.BOOL}),
    "Cast to i64": ("Cast", [floats(1000, 1000)], {"to": onnx.TensorProto.INT64}),
    "Cast i64 to f32": ("Cast", [places(9, 1000, 1000)], {"to": onnx.TensorProto.FLOAT}),
    "Mod of integers": ("Mod", [places(99, 1000, 1000), "|", one(7)], {}),
    "Sign": ("Sign", [floats(1000, 1000)], {}),
    "IsNaN": ("IsNaN", [floats(1000, 1000)], {}),
    "Atan": ("Atan", [floats(1000, 1000)], {}),
    "InstanceNormalization": ("InstanceNormalization", [floats(4, 64, 64, 64), "|", floats(64), floats(64)], {}),
    "LRN": ("LRN", [floats(4, 64, 64, 64)], {"size": 5}),
    "ReduceLogSumExp": ("ReduceLogSumExp", [floats(1000, 1000), "|", one(1)], {}),
    "LpPool": ("LpPool", [floats(1, 64, 128, 128)], {"kernel_shape": [2, 2], "strides": [2, 2]}),
    "MaxPool with places": ("MaxPool", [floats(1, 64, 128, 128)], {"kernel_shape": [2, 2], "strides": [2, 2]}, 2),
    "GridSample": ("GridSample", [floats(1, 16, 64, 64), RANDOM.uniform(-1, 1, (1, 64, 64, 2)).astype(np.float32)], {}),
    "RNN": ("RNN", [floats(50, 4, 64), "|", floats(1, 128, 64) / 99, floats(1, 128, 128) / 99], {"hidden_size": 128}, 2),
    "Einsum": ("Einsum", [floats(8, 64, 64), floats(8, 64, 64)], {"equation": "bij,bjk->bik"}),
    "Einsum outer": ("Einsum", [floats(1000), floats(1000)], {"equation": "i,j->ij"}),
    "ReverseSequence": ("ReverseSequence", [floats(500, 8, 256), "|", places(499, 8) + 1], {}),
    "Compress": ("Compress", [floats(1000, 1000), RANDOM.random(1000) > 0.5], {"axis": 0}),
    "Range": ("Range", [np.array(0, np.int64), np.array(1000000, np.int64), np.array(1, np.int64)], {}),
    "Unique": ("Unique", [places(1000, 100000)], {}),
    "NonMaxSuppression": (
        "NonMaxSuppression",
        [
            np.concatenate([c := RANDOM.random((1, 1000, 2)).astype(np.float32), c + np.float32(0.1)], 2),
            RANDOM.random((1, 4, 1000)).astype(np.float32),
            "|",
            one(50),
            np.array([0.5], np.float32),
            np.array([0.1], np.float32),
        ],
        {},
    ),
    "Pad": ("Pad", [floats(1, 64, 128, 128), "|", one(0, 0, 1, 1, 0, 0, 1, 1)], {"mode": "reflect"}),
    "DequantizeLinear": ("DequantizeLinear", [places(255, 1000, 1000).astype(np.uint8), "|", np.float32(0.1)], {}),
    "QuantizeLinear": ("QuantizeLinear", [floats(1000, 1000), "|", np.float32(0.1), np.uint8(128)], {}),
}


def written(name, path):
    """Writes the model of a case; its inputs."""
    op, operands, attrs, *rest = CASES[name]
    at = next((i for i, operand in enumerate(operands) if isinstance(operand, str)), len(operands))
    given = {f"i{i}": array for i, array in enumerate(operands[:at])}
    kept = {f"c{i}": np.asarray(array) for i, array in enumerate(operands[at + 1 :])}
    results = [f"o{i}" for i in range(rest[0] if rest else 1)]
    names = ["", "", *results[1:]] if op == "RNN" else results
    operand = [*given, *kept]
    node = helper.make_node(op, operand, names[-2:] if op == "RNN" else results, **attrs)
    kind = lambda array: onnx.helper.np_dtype_to_tensor_dtype(array.dtype)  # noqa: E731
    graph = helper.make_graph(
        [node],
        "model",
        [helper.make_tensor_value_info(key, kind(array), array.shape) for key, array in given.items()],
        [onnx.ValueInfoProto(name=name) for name in node.output if name],
        [numpy_helper.from_array(array, key) for key, array in kept.items()],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=9)
    model = onnx.shape_inference.infer_shapes(model)
    onnx.save(model, path)
    return given


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=0.1)
    parser.add_argument("--only", default="")
    options = parser.parse_args()
    print("| operator | ms | tautomer | |\n| --- | --: | --: | --- |")
    ratios, wrong = [], 0
    for name in CASES:
        if options.only not in name:
            continue
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "model.onnx"
            try:
                feed = written(name, path)
                systems = [kind(path, feed, 1, folder) for kind in (Runtime, Tautomer)]
                expected, found = (system.outputs() for system in systems)
            except Exception as problem:  # noqa: BLE001 - one operator must not hide the others
                print(f"| {name} | | | {str(problem).splitlines()[0][:120]} |", flush=True)
                continue
            gap = max(difference(a, b) for a, b in zip(expected, found))
            rounds = [[system.measure(options.seconds)["processor"] for system in systems] for _ in range(options.rounds)]
            theirs, own = (statistics.median(times) for times in zip(*rounds))
            command = [BINARY, "run", str(systems[1].model), *systems[1].inputs, "--threads", "1", "--profile"]
            profile = subprocess.run(command, capture_output=True, text=True, check=False).stdout
        slow = "by the reference definition" if "reference" in profile else ""
        if not gap <= 1e-3:
            wrong += 1
            slow += f" WRONG by {gap:.1e}"
        ratios.append(own / theirs)
        print(f"| {name} | {theirs:.3g} | {own / theirs:.2f} | {slow} |", flush=True)
    print(f"| **geometric mean** | | {mean(ratios):.2f} ({len(ratios)}) | |")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
