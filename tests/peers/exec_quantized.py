"""How long models quantized by ONNX Runtime's tools take to run: tautomer compared with ONNX Runtime, interleaved.

    python exec_quantized.py [--rounds N] [--seconds S] [--only TEXT] [--before BINARY]

The models of onnx_agree.py, with the shapes of their inputs fixed, become bytes by `quantize_static`: QuantizeLinear and
DequantizeLinear around each step, with u8 and one scale for each value (`t`), and with i8 and a scale for each channel of
weights (`c`). Weights that a model makes of fills become random numbers. tautomer optimizes the result to a file and runs
that; with --before, so does another program. Printed are the milliseconds of one inference by ONNX Runtime on one thread,
the ratios to it, and the difference of results, measured as in exec_peers.py. Models that the tools cannot quantize are
left out.
"""

import argparse
import math
import pathlib
import statistics
import sys
import tempfile

import numpy as np
import onnx
import onnxruntime as ort
from onnx import numpy_helper
from onnxruntime.quantization import CalibrationDataReader, QuantFormat, QuantType, quantize_static

import runtimes
from exec_peers import mean
from onnx_agree import difference, inputs_of, models, session
from runtimes import Runtime, Tautomer, fixed

FORMS = {"t": (False, QuantType.QUInt8), "c": (True, QuantType.QInt8)}


class Once(CalibrationDataReader):
    def __init__(self, feed):
        self.left = [feed]

    def get_next(self):
        return self.left.pop() if self.left else None


def with_random_weights(model):
    """Replaces fills of constant shape by random weights of about the variance that keeps values in range."""
    rng, known = np.random.default_rng(3), {}
    for value in model.graph.initializer:
        known[value.name] = numpy_helper.to_array(value)
    kept = []
    for node in model.graph.node:
        if node.op_type != "ConstantOfShape" or node.input[0] not in known:
            kept.append(node)
            continue
        shape = [int(n) for n in np.atleast_1d(known[node.input[0]])]
        fan = math.prod(shape[1:]) if len(shape) > 1 else 0
        spread, middle = (math.sqrt(2 / max(fan, 1)), 0.0) if fan else (0.0, 0.5)
        weights = (rng.standard_normal(shape) * spread + middle).astype(np.float32)
        model.graph.initializer.append(numpy_helper.from_array(weights, node.output[0]))
    del model.graph.node[:]
    model.graph.node.extend(kept)


def prepared(path, feed, folder):
    """The model ready for quantization: with an operator set that has scales for channels, and folded."""
    given, whole = folder / "fixed.onnx", folder / "folded.onnx"
    fixed(path, feed, given)
    model = onnx.load(given)
    model.ir_version = max(model.ir_version, 8)
    with_random_weights(model)
    if model.opset_import[0].version < 13:
        model = onnx.version_converter.convert_version(model, 17)
    onnx.save(model, given)
    options = ort.SessionOptions()
    options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_ENABLE_BASIC
    options.optimized_model_filepath = str(whole)
    options.log_severity_level = 4
    ort.InferenceSession(str(given), options, providers=["CPUExecutionProvider"])
    return whole


def row(path, feed, folder, options):
    """Milliseconds of ONNX Runtime, ratios of the programs, and the difference of results."""
    binaries = [runtimes.BINARY] + ([options.before] if options.before else [])
    runtime, ours = Runtime(path, feed, 1, folder), Tautomer(path, feed, 1, folder)
    gap = max(map(difference, runtime.outputs(), ours.outputs()), default=0.0)
    times = [[] for _ in range(1 + len(binaries))]
    for _ in range(options.rounds):
        times[0].append(runtime.measure(options.seconds)["processor"])
        for binary, found in zip(binaries, times[1:]):
            runtimes.BINARY, ours.estimate = binary, None
            found.append(ours.measure(options.seconds)["processor"])
    runtimes.BINARY = binaries[0]
    base, *others = map(statistics.median, times)
    return base, [other / base for other in others], gap


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=0.2)
    parser.add_argument("--only", default="")
    parser.add_argument("--before", help="another program to compare with")
    options = parser.parse_args()
    titles = ["tautomer"] + (["before"] if options.before else [])
    print("| model | ms | " + " | ".join(titles) + " | difference |")
    print("| --- |" + " --: |" * (len(titles) + 2))
    all_ratios = []
    for name, path in models().items():
        if options.only not in name:
            continue
        feed = inputs_of(name, session(path))
        for form, (per_channel, kind) in FORMS.items():
            with tempfile.TemporaryDirectory() as folder:
                folder = pathlib.Path(folder)
                try:
                    made = folder / "quantized.onnx"
                    quantize_static(
                        prepared(path, feed, folder), made, Once(feed), quant_format=QuantFormat.QDQ,
                        per_channel=per_channel, activation_type=kind, weight_type=QuantType.QInt8,
                    )
                    base, ratios, gap = row(made, feed, folder, options)
                except Exception as problem:  # noqa: BLE001 - what the tools cannot quantize is left out
                    print(f"{name} ({form}): {str(problem).splitlines()[0][:150]}", file=sys.stderr)
                    continue
            all_ratios.append(ratios)
            cells = " | ".join(f"{ratio:.2f}" for ratio in ratios)
            print(f"| `{name.split('__')[-1]}` {form} | {base:.3g} | {cells} | {gap:.0e} |", flush=True)
    cells = " | ".join(f"{mean(list(ratios)):.2f}" for ratios in zip(*all_ratios))
    print(f"| **geometric mean** ({len(all_ratios)}) | | {cells} | |")


if __name__ == "__main__":
    main()
