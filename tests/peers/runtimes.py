"""The runtimes that exec_peers.py compares: each opens a model, and is measured in bursts of runs.

    python runtimes.py SYSTEM MODEL --threads N NAME=FILE.npy ...

prints how long loading and a first run of ONNX Runtime or OpenVINO took in a process of its own, and its memory, in the
form of the programs in rten/ and tract/ (peer.rs).
"""

import json
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

from onnx_agree import ROOT

try:
    import openvino
except ImportError:
    openvino = None

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


def resident(command):
    """The most memory in MB that a process had."""
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
        peak = 0
        while process.poll() is None:
            try:
                status = pathlib.Path(f"/proc/{process.pid}/status").read_text()
            except OSError:
                break
            found = [line.split()[1] for line in status.splitlines() if line.startswith("VmHWM:")]
            peak = max([peak, *map(int, found)])
            time.sleep(0.002)
    return peak / 1024


def least_resident():
    """What `tautomer run` needs for a model that does nothing."""
    value = [onnx.helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, [1]) for name in "xy"]
    graph = onnx.helper.make_graph([onnx.helper.make_node("Identity", ["x"], ["y"])], "nothing", value[:1], value[1:])
    with tempfile.TemporaryDirectory() as folder:
        model, given = f"{folder}/nothing.onnx", f"{folder}/x.npy"
        onnx.save(onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 17)], ir_version=8), model)
        np.save(given, np.zeros(1, np.float32))
        return resident([BINARY, "run", model, "-i", f"x={given}", "--bench", "3000", "--json"])


class Tautomer:
    options = []

    def __init__(self, path, feed, threads, folder):
        self.feed, self.threads, self.folder = feed, str(threads), pathlib.Path(folder)
        self.model = self.folder / "optimized.onnx"
        if not self.model.exists():
            self.call("optimize", str(path), "-o", str(self.model), "--no-check", "-q")
        self.path, self.inputs = str(path), []
        for argument in saved(feed, folder):
            self.inputs += ["-i", argument]
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

    def costs(self):
        """Includes optimizing the model, and starting the program twice."""
        options = [*self.options, "--threads", self.threads, "-q"]
        again, begun = self.folder / "again.onnx", time.perf_counter()
        self.call("optimize", self.path, "-o", str(again), "--no-check", "-q")
        self.call("run", str(again), *self.inputs, "--output-dir", str(self.folder / "once"), *options)
        start = (time.perf_counter() - begun) * 1e3
        runs = str(max(3, int(200 / max(self.estimate or 10, 1e-3))))
        command = [BINARY, "run", str(again), *self.inputs, *options, "--bench", runs, "--json"]
        return start, resident(command) - least_resident()


def lines(command):
    """The lines of JSON that a program prints."""
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=600)
    if done.returncode != 0:
        raise RuntimeError((done.stderr.strip().splitlines() or [f"exit code {done.returncode}"])[0][:300])
    return [json.loads(line) for line in done.stdout.splitlines()]


def saved(feed, folder):
    """Arguments that name files with the inputs."""
    arguments = []
    for number, (name, value) in enumerate(feed.items()):
        file = pathlib.Path(folder) / f"in{number}.npy"
        np.save(file, np.asarray(value, order="C"))
        arguments.append(f"{name}={file}")
    return arguments


def costs_of(found):
    """Milliseconds until the first result, and memory in MB, according to the lines of a program."""
    first, last = found[0], found[-1]
    return first["load_ms"] + first["first_ms"], (last["peak_kb"] - last["before_kb"]) / 1024


class Program:
    """A program in a directory beside this file that runs models with another library, and prints what peer.rs says."""

    directory = ""

    @classmethod
    def build(cls):
        manifest = pathlib.Path(__file__).parent / cls.directory / "Cargo.toml"
        command = ["cargo", "build", "--release", "--locked", "--quiet", "--manifest-path", str(manifest)]
        subprocess.run([*command, "--target-dir", str(ROOT / "target" / "peers")], check=True)

    def __init__(self, path, feed, threads, folder):
        self.out = pathlib.Path(folder) / f"out-{self.directory}"
        binary = ROOT / "target" / "peers" / "release" / f"peer-{self.directory}"
        self.command = [str(binary), str(path), "--threads", str(threads), *saved(feed, folder)]
        self.estimate = None

    def outputs(self):
        found = lines([*self.command, "--runs", "3", "--outputs", str(self.out)])
        self.estimate = statistics.median(line["wall_ms"] for line in found[1:-1])
        return [np.load(self.out / f"out{i}.npy") for i in range(len(list(self.out.glob("out*.npy"))))]

    def measure(self, seconds):
        runs = max(3, min(5000, int(seconds * 1e3 / max(self.estimate, 1e-3))))
        found = lines([*self.command, "--runs", str(runs)])[1:-1]
        return summary([line["wall_ms"] for line in found], [line["cpu_ms"] for line in found])

    def costs(self):
        return costs_of(lines([*self.command, "--runs", "3"]))


class Rten(Program):
    directory = "rten"


class Tract(Program):
    directory = "tract"


def alone(title, path, feed, threads, folder):
    """The command that measures a system in a process of its own."""
    return [sys.executable, __file__, title, str(path), "--threads", str(threads), *saved(feed, folder)]


class Runtime:
    title = "onnxruntime"

    def __init__(self, path, feed, threads, folder):
        self.process = alone(self.title, path, feed, threads, folder)
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

    def costs(self):
        return costs_of(lines(self.process))


class OpenVino:
    title = "openvino"
    precision = "f32"

    def __init__(self, path, feed, threads, folder):
        self.process = alone(self.title, path, feed, threads, folder)
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

    def costs(self):
        return costs_of(lines(self.process))


class NarrowTautomer(Tautomer):
    pass


class NarrowOpenVino(OpenVino):
    precision = "bf16"


def status(what):
    text = pathlib.Path("/proc/self/status").read_text()
    return next(int(line.split()[1]) for line in text.splitlines() if line.startswith(what))


def main():
    title, path, _, threads, *given = sys.argv[1:]
    kind = next(kind for kind in (Runtime, OpenVino) if kind.title == title)
    feed = {name: np.load(file) for name, file in (argument.split("=", 1) for argument in given)}
    with tempfile.TemporaryDirectory() as folder:
        before, begun = status("VmRSS:"), time.perf_counter()
        opened = kind(path, feed, int(threads), folder)
        loaded = time.perf_counter()
        opened.outputs()
        first = time.perf_counter()
        for _ in range(3):
            opened.outputs()
    print(json.dumps({"load_ms": (loaded - begun) * 1e3, "first_ms": (first - loaded) * 1e3}))
    print(json.dumps({"before_kb": before, "peak_kb": status("VmHWM:")}))


if __name__ == "__main__":
    main()
