"""The calls in the READMEs of onnxsim and onnxslim, as python/README.md translates them."""

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
import tautomer
from onnx import TensorProto, helper, numpy_helper

# Beside the tests, or, where these are copied, under a name of its own.
PLACES = [Path(__file__).parents[1] / name for name in ("python-README.md", "README.md")]


def section():
    text = next(place for place in PLACES if place.exists()).read_text()
    return text.split("## In place of onnxsim and onnxslim")[1].split("\n## ")[0]


def just_reshape():
    """What PyTorch exported for the example of the README of onnxsim: a view with the last axes exchanged."""
    nodes, parts = [], []
    for place, axis in enumerate([0, 1, 3, 2]):
        nodes += [
            helper.make_node("Shape", ["x"], [f"shape{place}"]),
            helper.make_node("Constant", [], [f"axis{place}"], value=numpy_helper.from_array(np.array(axis))),
            helper.make_node("Gather", [f"shape{place}", f"axis{place}"], [f"extent{place}"], axis=0),
            helper.make_node("Unsqueeze", [f"extent{place}"], [f"part{place}"], axes=[0]),
        ]
        parts.append(f"part{place}")
    nodes += [helper.make_node("Concat", parts, ["to"], axis=0), helper.make_node("Reshape", ["x", "to"], ["y"])]
    value = lambda name, shape: helper.make_tensor_value_info(name, TensorProto.FLOAT, shape)  # noqa: E731
    graph = helper.make_graph(nodes, "reshape", [value("x", [2, 3, 4, 5])], [value("y", [2, 3, 5, 4])])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 11)], ir_version=6)


def test_the_translated_calls_run(tmp_path, monkeypatch):
    blocks = [block.split("```")[0] for block in section().split("```python\n")[1:]]
    assert len(blocks) == 2
    monkeypatch.chdir(tmp_path)
    onnx.save(just_reshape(), "model.onnx")
    found: dict[str, Any] = {}
    for block in blocks:
        exec(compile(block, "README.md", "exec"), found)
    assert found["check"] is True
    assert [n.op_type for n in found["model_simp"].graph.node] == ["Reshape"]
    assert [n.op_type for n in onnx.load("slimmed_model.onnx").graph.node] == ["Reshape"]


def test_the_translated_commands_run(tmp_path, monkeypatch):
    rows = [line.split("`")[-2] for line in section().splitlines() if line.startswith("| `")]
    commands = [row for row in rows if row.startswith("tautomer optimize ")]
    calls = [row for row in rows if row.startswith(("tautomer.", "model"))]
    assert len(commands) == 2 and len(calls) == 5
    monkeypatch.chdir(tmp_path)
    model = just_reshape()
    onnx.save(model, "in.onnx")
    for command in commands:
        subprocess.run([sys.executable, "-m", *command.split()], check=True, capture_output=True)
        assert [n.op_type for n in onnx.load("out.onnx").graph.node] == ["Reshape"]
    for call in calls:
        # The shapes of the table are those of a picture.
        call = call.replace("[1, 3, 224, 224]", "[2, 3, 4, 5]")
        exec(call, {"tautomer": tautomer, "model": model})


@pytest.mark.parametrize("place", range(4))
def test_models_of_the_shared_data_are_simplified(place):
    folder = os.environ.get("TAUTOMER_TEST_DATA")
    if not folder:
        pytest.skip("the models are not there")
    files = sorted(Path(folder, "onnx").glob("*.onnx"), key=lambda file: (file.stat().st_size, file.name))
    model = onnx.load(files[place])
    simple, ok = tautomer.simplify(model)
    assert ok
    onnx.checker.check_model(simple)
