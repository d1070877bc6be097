"""Graphs, sessions, verdicts, errors, the command line, documentation and stubs."""

import ast
import doctest
import importlib
import inspect
import os
import pickle
import pkgutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import tautomer

PROGRAM = "fn main(x: f32[n, 4], param w: f32[4, 2]) { relu(matmul(x, w)) }"


def modules():
    found = [m.name for m in pkgutil.iter_modules(tautomer.__path__, "tautomer.")]
    return ["tautomer", *(name for name in found if not name.endswith(("_core", "__main__")))]


@pytest.mark.parametrize("name", modules())
def test_examples_of_the_documentation_run(name):
    module = importlib.import_module(name)
    failed, _ = doctest.testmod(module)
    assert failed == 0


@pytest.mark.parametrize("name", modules())
def test_public_names_are_documented(name):
    module = importlib.import_module(name)
    assert module.__doc__
    for key, item in vars(module).items():
        own = getattr(item, "__module__", None) == name
        if own and not key.startswith("_") and (inspect.isclass(item) or inspect.isfunction(item)):
            assert item.__doc__, f"{name}.{key}"


def test_stubs_name_what_there_is():
    stub = ast.parse(Path(tautomer.__file__).with_name("_core.pyi").read_text())
    core = importlib.import_module("tautomer._core")
    declared = {n.name: n for n in stub.body if isinstance(n, (ast.ClassDef, ast.FunctionDef))}
    actual = {name for name in vars(core) if not name.startswith("_")}
    assert set(declared) == actual
    for name, node in declared.items():
        if isinstance(node, ast.ClassDef):
            methods = {n.name for n in node.body if isinstance(n, ast.FunctionDef) and not n.name.startswith("_")}
            assert methods == {m for m in vars(getattr(core, name)) if not m.startswith("_")}, name
        else:
            arguments = [a.arg for a in node.args.args]
            assert arguments == list(inspect.signature(getattr(core, name)).parameters), name
    assert set(tautomer.__all__) <= set(dir(tautomer)) | {"onnxscript_pass"}


def test_graphs_are_looked_at(model):
    graph = tautomer.Graph(model)
    assert graph.inputs == {"x": "f32[n, 4]"} and graph.outputs == {"y": "f32[n, 4]"}
    assert [node.op for node in graph if node.kind == "call"] == ["relu", "mul", "relu", "matmul"]
    product = graph.find("matmul")[0]
    assert [node.kind for node in product.operands] == ["call", "parameter"]
    assert graph.find("relu")[0].users == graph.find("mul")
    w = graph.param("w")
    assert w is not None and w.shape == (4, 4) and graph.param("nothing") is None
    assert tautomer.Graph(graph.to_onnx()).to_text() == graph.to_text()
    assert "digraph" in graph.to_dot() and str(graph) == graph.to_text()
    assert graph.notes == []
    model.ir_version = 99
    assert any("IR version" in note for note in tautomer.Graph(model).notes)


def test_sessions_run(model):
    x = np.linspace(-1, 1, 8, dtype=np.float32).reshape(2, 4)
    w = tautomer.Graph(model).param("w")
    expected = np.maximum(x, 0) @ w
    for reference in (False, True):
        session = tautomer.Session(model, threads=1, reference=reference)
        np.testing.assert_allclose(session.run({"x": x})["y"], expected, rtol=1e-6)
        np.testing.assert_allclose(session.run(x=np.asfortranarray(x))["y"], expected, rtol=1e-6)
    with pytest.raises(KeyError, match="no input 'z'"):
        session.run(z=x)
    with pytest.raises(KeyError, match="has no value"):
        session.run()
    with pytest.raises(tautomer.Error):
        session.run(x=x.astype("float64"))
    with pytest.raises(tautomer.Error, match="parameter `w` has no value"):
        tautomer.Session(PROGRAM)


@pytest.mark.parametrize(
    "dtype,short",
    [(np.dtype(name), short) for name, short in [
        ("bool", "bool"), ("int8", "i8"), ("int16", "i16"), ("int32", "i32"), ("int64", "i64"), ("uint8", "u8"),
        ("uint16", "u16"), ("uint32", "u32"), ("uint64", "u64"), ("float16", "f16"), ("float32", "f32"),
        ("float64", "f64"),
    ]],
)
def test_arrays_of_all_element_types_pass(dtype, short):
    x = np.array([[0, 1, 2], [3, 0, 1]]).astype(dtype)
    found = tautomer.Session(f"fn main(x: {short}[2, n]) {{ transpose(x) {{perm = [1, 0]}} }}").run(x=x)["out0"]
    assert found.dtype == dtype
    np.testing.assert_array_equal(found, x.T)


def test_bfloat16_and_text_pass():
    ml_dtypes = pytest.importorskip("ml_dtypes")
    x = np.array([1.5, -2], ml_dtypes.bfloat16)
    found = tautomer.Session("fn main(x: bf16[2]) { neg(x) }").run(x=x)["out0"]
    assert found.dtype == ml_dtypes.bfloat16 and found.tolist() == [-1.5, 2]
    texts = tautomer.Session("fn main(x: utf8[2]) { x }").run(x=np.array(["a", "b"]))["x"]
    assert texts.tolist() == ["a", "b"]


def test_a_value_that_is_two_results_has_two_names():
    x = np.array([-1, 2], "float32")
    found = tautomer.Session("fn main(x: f32[2]) { (x, relu(x), x) }").run(x=x)
    assert {name: values.tolist() for name, values in found.items()} == {"x": [-1, 2], "out1": [0, 2], "x.2": [-1, 2]}


def test_other_packages_arrays_pass_by_dlpack():
    class Foreign:
        """Has the protocol and nothing else."""

        def __init__(self, array):
            self.array = array

        def __dlpack__(self, **options):
            return self.array.__dlpack__(**options)

        def __dlpack_device__(self):
            return self.array.__dlpack_device__()

    x = np.array([-1, 2], "float32")
    found = tautomer.Session("fn main(x: f32[n]) { relu(x) }").run(x=Foreign(x))["out0"]
    np.testing.assert_array_equal(np.from_dlpack(found), [0, 2])


LARGE = 1 << 18


def test_lent_inputs_stay_those_of_the_caller():
    # Large enough that the elements are not copied on the way in.
    x = np.arange(LARGE, dtype="float32")
    relu = tautomer.Session("fn main(x: f32[n]) { relu(x) }")
    first = relu.run(x=x)["out0"]
    x *= -1
    np.testing.assert_array_equal(first, np.arange(LARGE))
    np.testing.assert_array_equal(relu.run(x=x)["out0"], np.zeros(LARGE))
    # A result that is an input, whole or in part, has elements of its own.
    same = tautomer.Session("fn main(x: f32[n]) { (x, reshape(x) {shape = [n, 1]}, relu(x)) }").run(x=x)
    for found in list(same.values())[:2]:
        assert not np.shares_memory(found, x)
        np.testing.assert_array_equal(found.ravel(), x)
        found += 1
    assert x[0] == 0 and x[-1] == 1 - LARGE
    with pytest.raises(tautomer.Error):
        tautomer.Session("fn main(x: f32[n]) { relu(x) }").run(x=x.astype("float64"))
    # What cannot be lent is copied: other orders, bytes in the other order, elements at odd places, read-only arrays.
    matrix = x.reshape(512, 512)
    double = tautomer.Session("fn main(x: f32[a, b]) { x + x }")
    odd = np.frombuffer(b"\0" + matrix.tobytes(), "float32", offset=1).reshape(512, 512)
    for other in (matrix.T, matrix[::2], matrix.astype(">f4"), odd, np.asfortranarray(matrix)):
        np.testing.assert_array_equal(double.run(x=other)["out0"], 2 * other)


def test_inputs_are_free_after_a_run():
    import gc
    import weakref

    class Owned(np.ndarray):
        pass

    x = np.ones(LARGE, "float32").view(Owned)
    gone = weakref.ref(x)
    session = tautomer.Session("fn main(x: f32[n]) { x + x }")
    for _ in range(3):
        result = session.run(x=x)["out0"]
    del x
    gc.collect()
    assert gone() is None and result[0] == 2


def test_arrays_of_pytorch_pass_in_and_out():
    torch = pytest.importorskip("torch")
    session = tautomer.Session("fn main(x: f32[n, m]) { relu(x) }")
    x = torch.linspace(-1, 1, LARGE).reshape(512, -1)
    found = torch.from_dlpack(session.run(x=x)["out0"])
    assert torch.equal(found, torch.relu(x))
    assert torch.equal(torch.from_dlpack(session.run(x=x.T)["out0"]), torch.relu(x.T))
    assert session.run(x=x.clone().requires_grad_())["out0"].shape == x.shape
    pytest.importorskip("ml_dtypes")
    double = tautomer.Session("fn main(x: bf16[n, m]) { x + x }")
    assert float(double.run(x=x.bfloat16())["out0"][0, 0]) == -2.0
    with pytest.raises(TypeError, match="DLPack"):
        session.run(x=x.to_sparse())


def test_large_results_are_not_copied():
    session = tautomer.Session("fn main(x: f32[n]) { relu(x) }")
    found = session.run(x=np.ones(1 << 20, "float32"))["out0"]
    # The elements belong to the tensor that was computed.
    assert not found.flags.owndata and found.base is not None


def test_models_are_compared(model):
    small = tautomer.optimize(model).model
    assert tautomer.verify(model, small).verdict in ("proved", "tested")
    found = tautomer.verify("fn main(x: f32[3]) { relu(x) }", "fn main(x: f32[3]) { x }")
    assert not found and found.verdict == "differs"
    x = found.inputs["x"]
    assert found.difference is not None
    at = tuple(found.difference["element"])
    assert isinstance(x, np.ndarray) and max(x[at], 0) != x[at]
    assert "in the original" in str(found)


def test_errors_have_code_message_and_places():
    with pytest.raises(tautomer.Error) as found:
        tautomer.Graph("fn main(x: f32[2]) {\n  rleu(x)\n}")
    error = found.value
    assert error.code == "T0101" and "rleu" in error.message
    assert (error.labels[0].line, error.labels[0].column) == (2, 3)
    assert "<text>:2:3" in str(error) and any("relu" in h for h in error.help)
    assert "T0101" in (tautomer.explain("T0101") or "")
    again = pickle.loads(pickle.dumps(error))
    assert str(again) == str(error) and again.code == error.code
    with pytest.raises(tautomer.Error, match="T0401"):
        tautomer.optimize("/nowhere/model.onnx")


def test_the_command_line_comes_with_the_package(path):
    run = lambda *args: subprocess.run(  # noqa: E731
        [sys.executable, "-m", "tautomer", *args], capture_output=True, text=True
    )
    assert run("--version").stdout.split() == ["tautomer", tautomer.__version__]
    assert "relu(x)" in run("print", str(path)).stdout
    assert run("check", "/nowhere").returncode == 2
    assert run("verify", str(path), str(path)).stdout.startswith("proved")


def test_the_readme_runs(model, tmp_path, monkeypatch):
    import onnx

    places = [Path(__file__).parents[1] / "README.md", Path(__file__).parents[2] / "README.md"]
    text = next(t for t in (p.read_text() for p in places if p.exists()) if "## From Python" in t)
    block = text.split("## From Python")[1].split("```python\n")[1].split("```")[0]
    monkeypatch.chdir(tmp_path)
    onnx.save(model, "model.onnx")
    # Through a file, as functions are traced with their annotations.
    Path("program.py").write_text(block)
    subprocess.run([sys.executable, "program.py"], check=True)
    assert [n.op_type for n in onnx.load("smaller.onnx").graph.node] == ["Relu", "MatMul"]


def test_importing_takes_along_numpy_alone():
    program = """
import sys, numpy
before = set(sys.modules)
import tautomer
taken = {name.split(".")[0] for name in set(sys.modules) - before}
print(*sorted(taken - sys.stdlib_module_names))
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.stdout.split() == ["tautomer"], done.stderr


def test_all_types_are_annotated(tmp_path):
    # Minutes where NumPy has not been read before.
    if os.environ.get("TAUTOMER_LONG") != "1":
        pytest.skip("set TAUTOMER_LONG=1")
    api = pytest.importorskip("mypy.api")
    options = ["--cache-dir", str(tmp_path), "--ignore-missing-imports"]
    folder = Path(tautomer.__file__).parent
    out, err, code = api.run(["--strict", *options, "-p", "tautomer"])
    assert code == 0, out + err
    # What the tests do with the package is what its types allow; tests of wrong arguments say so where they are.
    out, err, code = api.run(["--check-untyped-defs", *options, str(Path(__file__).parent)])
    assert code == 0, out + err


def test_sessions_may_round_to_bfloat16(model):
    x = np.linspace(-1, 1, 8, dtype=np.float32).reshape(2, 4)
    full = tautomer.Session(model).run(x=x)["y"]
    rounded = tautomer.Session(model, numerics="approx(1e-2)").run(x=x)["y"]
    assert np.abs(full - rounded).max() <= 1e-2 * np.abs(full).max()
    with pytest.raises(tautomer.Error, match="numerics"):
        tautomer.Session(model, numerics="exact")
