"""Optimizes models and checks that each result loads in ONNX Runtime if the original does.

    python loads.py [--jobs N] [--only TEXT] [--forms optimize,convert,newest] [DIR ...]

Uses every `.onnx` file in the directories and below; without a directory, the node tests that come with the `onnx`
package and, if TAUTOMER_TEST_DATA is set, $TAUTOMER_TEST_DATA/onnx and $TAUTOMER_TEST_DATA/onnx-repro. Each is
optimized by `tautomer optimize MODEL -o OUT --no-check` ($TAUTOMER names the binary, else target/release/tautomer),
again with `--opset` and the newest operator set that the runtime accepts, and converted. A result fails if the
runtime or onnx.checker rejects it but accepts the original (for the newer operator set: the original as converted by
onnx.version_converter, if it can), or if the tool exits with a code other than 0 for a model that both accept. Prints
the results that fail; the exit code is 1 if there are any. Runs in the environment of run.sh.
"""

import argparse
import concurrent.futures
import os
import pathlib
import subprocess
import sys
import tempfile

import onnx
import onnxruntime as ort

ROOT = pathlib.Path(__file__).resolve().parents[2]
LIMIT = 600


def folders():
    """The directories used if none is given."""
    found = [pathlib.Path(onnx.__file__).parent / "backend" / "test" / "data" / "node"]
    data = os.environ.get("TAUTOMER_TEST_DATA")
    if data:
        found += [pathlib.Path(data) / "onnx", pathlib.Path(data) / "onnx-repro"]
    return found


def refusal(path):
    """The reason why the runtime does not load a model; None if it does."""
    options = ort.SessionOptions()
    options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.log_severity_level = 4
    try:
        ort.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
    except Exception as error:  # noqa: BLE001 - any error is an answer
        return str(error).strip().splitlines()[0]
    return None


def invalid(path):
    """The error of onnx.checker for a model; None if there is none."""
    try:
        onnx.checker.check_model(str(path), full_check=True)
    except Exception as error:  # noqa: BLE001 - any error is an answer
        return str(error).strip().splitlines()[0]
    return None


def newest():
    """The newest operator set that the runtime accepts."""
    for opset in range(onnx.defs.onnx_opset_version(), 6, -1):
        value = onnx.helper.make_tensor_value_info("x", onnx.TensorProto.FLOAT, [1])
        result = onnx.helper.make_tensor_value_info("y", onnx.TensorProto.FLOAT, [1])
        graph = onnx.helper.make_graph([onnx.helper.make_node("Relu", ["x"], ["y"])], "g", [value], [result])
        model = onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", opset)], ir_version=8)
        with tempfile.NamedTemporaryFile(suffix=".onnx") as file:
            onnx.save(model, file.name)
            if refusal(file.name) is None:
                return opset
    raise RuntimeError("the runtime loads nothing")


def moved(path, opset, folder):
    """The model in a newer operator set, converted by onnx; None if that is impossible."""
    try:
        model = onnx.version_converter.convert_version(onnx.load(path), opset)
        target = pathlib.Path(folder) / "moved.onnx"
        onnx.save(model, target)
    except Exception:  # noqa: BLE001 - the converter fails in many ways
        return None
    return target


def opset_of(path):
    model = onnx.load(path, load_external_data=False)
    return max((o.version for o in model.opset_import if o.domain in ("", "ai.onnx")), default=1)


def look_at(binary, path, last, forms):
    """The failures of one model, and whether the runtime accepts it."""
    before, form = refusal(path), invalid(path)
    commands = {
        "optimize": ["optimize", str(path), "--no-check", "-o"],
        "convert": ["convert", str(path)],
    }
    if opset_of(path) < last:
        commands["newest"] = ["optimize", str(path), "--no-check", "--opset", str(last), "-o"]
    failures = []
    with tempfile.TemporaryDirectory() as folder:
        for name, command in commands.items():
            if name not in forms:
                continue
            known, known_form = before, form
            if name == "newest":
                # A newer operator set may lack kernels that a model needs.
                other = moved(path, last, folder)
                known, known_form = (refusal(other), invalid(other)) if other else ("not moved", "not moved")
            result = pathlib.Path(folder) / f"{name}.onnx"
            try:
                run = subprocess.run(
                    [binary, *command, str(result), "-q"], capture_output=True, text=True, timeout=LIMIT, check=False
                )
            except subprocess.TimeoutExpired:
                failures.append((name, f"more than {LIMIT} s"))
                continue
            if run.returncode != 0:
                if known is None and known_form is None:
                    failures.append((name, f"exit code {run.returncode}: {run.stderr.strip()[:300]}"))
                continue
            after = refusal(result) if known is None else None
            after_form = invalid(result) if known_form is None else None
            if after:
                failures.append((name, f"the runtime refuses it: {after}"))
            elif after_form:
                failures.append((name, f"onnx.checker refuses it: {after_form}"))
    return failures, before is None


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folders", type=pathlib.Path, nargs="*", help="directories of models")
    parser.add_argument("--jobs", type=int, default=2, help="models that are looked at side by side")
    parser.add_argument("--only", default="", help="a part of the path of the models that are looked at")
    parser.add_argument("--forms", default="optimize,convert,newest", help="what is made of each model")
    arguments = parser.parse_args()
    forms = arguments.forms.split(",")
    binary = os.environ.get("TAUTOMER", str(ROOT / "target" / "release" / "tautomer"))
    ort.set_default_logger_severity(4)
    last = newest()
    paths = [p for folder in arguments.folders or folders() for p in sorted(folder.rglob("*.onnx"))]
    paths = [path for path in paths if arguments.only in str(path)]
    bad, taken = 0, 0
    with concurrent.futures.ThreadPoolExecutor(arguments.jobs) as pool:
        for path, (failures, loads) in zip(paths, pool.map(lambda p: look_at(binary, p, last, forms), paths)):
            taken += loads
            bad += bool(failures)
            label = path.parent.name if path.stem == "model" else path.stem
            for name, problem in failures:
                print(f"FAIL {label} {name}: {problem}", flush=True)
    print(f"{len(paths)} models, {taken} of which load; {bad} with results that fail; operator set {last}")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
