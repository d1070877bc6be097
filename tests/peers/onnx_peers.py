"""Node counts and latency of optimized models, compared with other optimizers.

    python onnx_peers.py [--runs N] [--only TEXT] [--no-latency]

Uses the models of onnx_agree.py. Each is optimized by tautomer, onnxsim, onnxslim and ONNX Runtime (BASIC and ALL,
saved), and node counts (`Constant` not counted, subgraphs counted) are printed. The results run under ONNX Runtime on
one thread, with its own optimizations off and on; printed are the lower quartiles of the processor time of interleaved
runs, which other work on the machine disturbs least, as a ratio to the original in the same run. The last lines are
geometric means of the ratios over the models that each column has. Needs the environment of run.sh and, in it,
`pip install onnxsim==0.8.1 onnxslim==0.1.98`.
"""

import argparse
import math
import os
import pathlib
import subprocess
import sys
import tempfile

import onnx
import onnxruntime as ort

from latency import OFF, ON, latencies
from onnx_agree import ROOT, inputs_of, models

COLUMNS = ["tautomer", "onnxsim", "onnxslim", "ort-basic", "ort-all"]


def vertices(graph):
    """The number of nodes of a graph and of its nested graphs."""
    count = 0
    for node in graph.node:
        count += node.op_type != "Constant"
        for attribute in node.attribute:
            if attribute.HasField("g"):
                count += vertices(attribute.g)
            count += sum(vertices(g) for g in attribute.graphs)
    return count


def by_tautomer(source, target):
    binary = os.environ.get("TAUTOMER", str(ROOT / "target" / "release" / "tautomer"))
    command = [binary, "optimize", str(source), "-o", str(target), "--no-check", "-q"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=600, check=False)
    if done.returncode != 0:
        raise RuntimeError(done.stderr.splitlines()[0] if done.stderr else "no message")


def by_onnxsim(source, target):
    import onnxsim

    model, _ = onnxsim.simplify(onnx.load(source))
    onnx.save(model, target)


def by_onnxslim(source, target):
    import onnxslim

    onnx.save(onnxslim.slim(onnx.load(source)), target)


def by_runtime(level):
    def run(source, target):
        options = ort.SessionOptions()
        options.graph_optimization_level = level
        options.optimized_model_filepath = str(target)
        options.log_severity_level = 4
        ort.InferenceSession(str(source), options, providers=["CPUExecutionProvider"])

    return run


OPTIMIZERS = {
    "tautomer": by_tautomer,
    "onnxsim": by_onnxsim,
    "onnxslim": by_onnxslim,
    "ort-basic": by_runtime(ort.GraphOptimizationLevel.ORT_ENABLE_BASIC),
    "ort-all": by_runtime(ort.GraphOptimizationLevel.ORT_ENABLE_ALL),
}


def mean(ratios):
    return math.exp(sum(math.log(r) for r in ratios) / len(ratios)) if ratios else float("nan")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--runs", type=int, default=9)
    parser.add_argument("--only", default="")
    parser.add_argument("--no-latency", action="store_true")
    args = parser.parse_args()
    ratios = {what: {column: {} for column in COLUMNS} for what in ["vertices", "off", "on"]}
    print(f"{'model':46} {'nodes':>6} " + " ".join(f"{c:>9}" for c in COLUMNS) + "   off/on for each")
    for name, path in models().items():
        if args.only not in name:
            continue
        with tempfile.TemporaryDirectory() as folder:
            before = vertices(onnx.load(path, load_external_data=False).graph)
            paths, cells = {"original": path}, []
            for column in COLUMNS:
                target = pathlib.Path(folder) / f"{column}.onnx"
                try:
                    OPTIMIZERS[column](path, target)
                    after = vertices(onnx.load(target, load_external_data=False).graph)
                except Exception as problem:
                    cells.append(f"{'failed':>9}")
                    print(f"  {column} on {name}: {str(problem)[:150]}", file=sys.stderr)
                    continue
                paths[column] = target
                ratios["vertices"][column][name] = max(after, 1) / max(before, 1)
                cells.append(f"{after:>9}")
            shown = []
            if not args.no_latency:
                for what, level in [("off", OFF), ("on", ON)]:
                    found = latencies(paths, level, lambda opened: inputs_of(name, opened), args.runs)
                    for column in COLUMNS:
                        if column in found:
                            ratios[what][column][name] = found[column] / found["original"]
                for column in COLUMNS:
                    pair = [ratios[what][column].get(name) for what in ["off", "on"]]
                    shown.append("/".join("-" if r is None else f"{r:.2f}" for r in pair))
            print(f"{name:46} {before:>6} " + " ".join(cells) + "   " + "  ".join(shown), flush=True)
    for what, columns in ratios.items():
        line = "  ".join(f"{c} {mean(list(r.values())):.3f} ({len(r)})" for c, r in columns.items() if r)
        print(f"{what:9} {line}")


if __name__ == "__main__":
    main()
