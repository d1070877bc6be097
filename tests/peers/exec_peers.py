"""How long models take to run: tautomer compared with ONNX Runtime and OpenVINO in one interleaved run.

    python exec_peers.py [--rounds N] [--seconds S] [--only TEXT] [--threads 1,2] [--by processor|median|fastest]
                         [--class 'approx(1e-2)']

Uses the models and inputs of onnx_agree.py; the shapes of the inputs are fixed in the file that all systems get.
tautomer optimizes it to a file and runs that with `tautomer run --bench` ($TAUTOMER names the binary, else
target/release/tautomer); ONNX Runtime has all its optimizations; OpenVINO computes in single precision. They take turns
in bursts, with the same number of threads. Printed are the milliseconds of one inference by ONNX Runtime, the ratios of
the others to it, and their geometric means. By default, one thread is measured by the median of processor time (at
most that of time), which other work on the machine disturbs least, and more threads by the fastest runs. With
`--class`, tautomer runs each model a second time with that class of results, and OpenVINO with bfloat16. Results that
differ from those of ONNX Runtime by more than a thousandth of their scale are reported as WRONG; with bfloat16,
differences are only printed, since errors add up and what a maximum selects may change. At the end is how well tautomer
predicts its own times with one thread, by its built-in costs or, after `tautomer calibrate`, by those of this machine:
the correlation of ranks and of logarithms over all models. Needs the environment of run.sh and, in it, `pip install
openvino==2026.4.1` (left out if it is not there).
"""

import argparse
import json
import math
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

import numpy as np
import onnx
import onnxruntime as ort

from onnx_agree import ROOT, difference, inputs_of, models, session

try:
    import openvino
except ImportError:
    openvino = None

TOLERANCE = 1e-3
BINARY = os.environ.get("TAUTOMER", str(ROOT / "target" / "release" / "tautomer"))


def fixed(path, feed, target):
    """Writes the model with the shapes of the inputs as fed."""
    model = onnx.load(path)
    for value in model.graph.input:
        if value.name in feed:
            shape = value.type.tensor_type.shape
            del shape.dim[:]
            for extent in feed[value.name].shape:
                shape.dim.add().dim_value = extent
    # Shapes that were inferred for other inputs.
    del model.graph.value_info[:]
    onnx.save(model, target)


def burst(run, seconds):
    """Times of repeated calls in milliseconds, and processor times."""
    times, used, end = [], [], time.perf_counter() + seconds
    while len(times) < 3 or (time.perf_counter() < end and len(times) < 5000):
        begun, busy = time.perf_counter(), time.process_time()
        run()
        used.append((time.process_time() - busy) * 1e3)
        times.append((time.perf_counter() - begun) * 1e3)
    return times, used


def summary(times, used):
    median = statistics.median(times)
    return {"processor": min(statistics.median(used), median), "median": median, "fastest": min(times)}


class Tautomer:
    options = []

    def __init__(self, path, feed, threads, folder):
        self.feed, self.threads, self.folder = feed, str(threads), pathlib.Path(folder)
        self.model = self.folder / "optimized.onnx"
        if not self.model.exists():
            self.call("optimize", str(path), "-o", str(self.model), "--no-check", "-q")
        self.inputs = []
        for number, (name, value) in enumerate(feed.items()):
            file = self.folder / f"in{number}.npy"
            np.save(file, value)
            self.inputs += ["-i", f"{name}={file}"]
        self.estimate, self.predicted = None, None

    def call(self, *arguments):
        done = subprocess.run([BINARY, *arguments], capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise RuntimeError(done.stderr.strip()[:300] or f"exit code {done.returncode}")
        return done.stdout

    def outputs(self):
        out = self.folder / "out"
        options = [*self.options, "--threads", self.threads, "--output-dir", str(out), "-q"]
        self.call("run", str(self.model), *self.inputs, *options)
        return [np.load(out / f"out{i}.npy") for i in range(len(list(out.glob("out*.npy"))))]

    def measure(self, seconds):
        runs = 3 if self.estimate is None else max(3, min(5000, int(seconds * 1e3 / max(self.estimate, 1e-3))))
        options = [*self.options, "--threads", self.threads, "--bench", str(runs), "--json"]
        command = ["run", str(self.model), *self.inputs, *options]
        found = json.loads(self.call(*command))["bench"]
        if self.estimate is None:
            self.estimate = found["median_ms"]
            return self.measure(seconds)
        self.estimate, self.predicted = found["median_ms"], (found["predicted_ms"], found["predicted_by"])
        busy = min(found["processor_ms"] or found["median_ms"], found["median_ms"])
        return {"processor": busy, "median": found["median_ms"], "fastest": found["minimum_ms"]}


class Runtime:
    def __init__(self, path, feed, threads, _):
        options = ort.SessionOptions()
        options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_ENABLE_ALL
        options.intra_op_num_threads, options.inter_op_num_threads = threads, 1
        options.log_severity_level = 4
        self.session = ort.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
        self.feed = feed

    def outputs(self):
        return self.session.run(None, self.feed)

    def measure(self, seconds):
        self.outputs()
        return summary(*burst(self.outputs, seconds))


class OpenVino:
    precision = "f32"

    def __init__(self, path, feed, threads, _):
        core = openvino.Core()
        model = core.read_model(str(path))
        options = {
            "INFERENCE_PRECISION_HINT": self.precision,
            "INFERENCE_NUM_THREADS": threads,
            "NUM_STREAMS": 1,
            "PERFORMANCE_HINT": "LATENCY",
        }
        self.request = core.compile_model(model, "CPU", options).create_infer_request()
        self.feed = list(feed.values())
        self.count = len(model.outputs)

    def outputs(self):
        self.request.infer(self.feed, share_inputs=True)
        return [self.request.get_output_tensor(i).data.copy() for i in range(self.count)]

    def measure(self, seconds):
        self.outputs()
        return summary(*burst(lambda: self.request.infer(self.feed, share_inputs=True), seconds))


class NarrowTautomer(Tautomer):
    pass


class NarrowOpenVino(OpenVino):
    precision = "bf16"


SYSTEMS = {"ONNX Runtime": Runtime, "tautomer": Tautomer} | ({"OpenVINO": OpenVino} if openvino else {})


def measured(name, path, options):
    """For each number of threads and each system, its times; and problems."""
    found, problems = {}, []
    feed = inputs_of(name, session(path))
    with tempfile.TemporaryDirectory() as folder:
        given = pathlib.Path(folder) / "fixed.onnx"
        fixed(path, feed, given)
        for threads in options.threads:
            opened, expected = {}, None
            for system, kind in SYSTEMS.items():
                try:
                    one = kind(given, feed, threads, folder)
                    results = one.outputs()
                except Exception as problem:  # noqa: BLE001 - a peer that cannot run the model is left out
                    problems.append(f"{system} cannot run {name}: {str(problem).splitlines()[0][:150]}")
                    continue
                opened[system] = one
                if expected is None:
                    expected = results
                gap = max((difference(a, b) for a, b in zip(expected, results)), default=0.0)
                found[threads, system, "gap"] = gap
                if isinstance(one, Tautomer) and not gap <= (TOLERANCE if system == "tautomer" else sys.float_info.max):
                    problems.append(f"WRONG {name} on {threads} threads: {system} differs by {gap:.1e}")
            rounds = {system: [] for system in opened}
            for _ in range(options.rounds):
                for system, one in opened.items():
                    rounds[system].append(one.measure(options.seconds))
            for system, all_rounds in rounds.items():
                found[threads, system] = {
                    key: (min if key == "fastest" else statistics.median)(r[key] for r in all_rounds)
                    for key in all_rounds[0]
                }
                if system == "tautomer" and threads == 1:
                    found["predicted"] = opened[system].predicted
    return found, problems


def mean(ratios):
    return math.exp(sum(map(math.log, ratios)) / len(ratios)) if ratios else float("nan")


def ranks(values):
    order = sorted(range(len(values)), key=values.__getitem__)
    return np.argsort(order)


def prediction(pairs, by):
    """How predicted and measured times go together."""
    predicted, measured = (np.array(times) for times in zip(*pairs))
    pearson = np.corrcoef(np.log(predicted), np.log(measured))[0, 1]
    spearman = np.corrcoef(ranks(predicted), ranks(measured))[0, 1]
    ratio = np.exp(np.mean(np.log(predicted / measured)))
    return (
        f"times of {len(pairs)} models predicted by the costs of `{by}`: correlation of ranks {spearman:.3f}, of "
        f"logarithms {pearson:.3f}; predicted is {ratio:.2f} of measured in geometric mean"
    )


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=0.3)
    parser.add_argument("--only", default="")
    parser.add_argument("--threads", type=lambda text: [int(n) for n in text.split(",")], default=[1, 2])
    parser.add_argument("--by", choices=["processor", "median", "fastest"])
    parser.add_argument("--class", dest="kind", help="also run tautomer with this class, and OpenVINO with bfloat16")
    options = parser.parse_args()
    if options.kind:
        NarrowTautomer.options = ["--class", options.kind]
        SYSTEMS[f"tautomer {options.kind}"] = NarrowTautomer
        if openvino:
            SYSTEMS["OpenVINO bf16"] = NarrowOpenVino
    others = [system for system in SYSTEMS if system != "ONNX Runtime"]
    titles = [f"{threads}t {s}" for threads in options.threads for s in ["ms", *others]]
    print("| model | " + " | ".join(titles) + " |")
    print("| --- |" + " --: |" * len(titles))
    ratios = {(threads, system): [] for threads in options.threads for system in others}
    problems, predictions, predicted_by, gaps = [], [], None, {}
    for name, path in models().items():
        if options.only not in name:
            continue
        try:
            found, said = measured(name, path, options)
        except Exception as problem:  # noqa: BLE001 - one bad model must not hide the others
            problems.append(f"{name}: {str(problem).splitlines()[0][:150]}")
            continue
        problems += said
        if "predicted" in found:
            predicted, predicted_by = found["predicted"]
            predictions.append((predicted, found[1, "tautomer"]["median"]))
        cells = []
        for threads in options.threads:
            by = options.by or ("processor" if threads == 1 else "fastest")
            base = found.get((threads, "ONNX Runtime"))
            cells.append(f"{base[by]:.3g}" if base else "")
            for system in others:
                times = found.get((threads, system))
                if base and times:
                    ratios[threads, system].append(times[by] / base[by])
                cells.append(f"{times[by] / base[by]:.2f}" if base and times else "")
        if options.kind:
            for key, gap in found.items():
                if key != "predicted" and len(key) == 3 and key[1] not in ("ONNX Runtime", "tautomer", "OpenVINO"):
                    gaps.setdefault(key[1], []).append((gap, name.split("__")[-1]))
        print(f"| `{name.split('__')[-1]}` | " + " | ".join(cells) + " |", flush=True)
    cells = []
    for threads in options.threads:
        cells += [""] + [f"{mean(ratios[threads, s]):.3f} ({len(ratios[threads, s])})" for s in others]
    print("| **geometric mean** | " + " | ".join(cells) + " |")
    if len(predictions) > 2:
        print("\n" + prediction(predictions, predicted_by))
    for system, all_gaps in gaps.items():
        gap, name = max(all_gaps)
        median = statistics.median(gap for gap, _ in all_gaps)
        print(f"results by {system} differ by {median:.1e} of their scale (median) and {gap:.1e} (at most, `{name}`)")
    for problem in problems:
        print(problem, file=sys.stderr)
    return 1 if any(problem.startswith("WRONG") for problem in problems) else 0


if __name__ == "__main__":
    sys.exit(main())
