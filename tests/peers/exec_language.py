"""How long quantized products and transformer layers take: tautomer compared with ONNX Runtime in one interleaved run.

    python exec_language.py [--rounds N] [--seconds S] [--only TEXT] [--threads 1,2] [--models DIR] [--profile]

Models are made here, with random weights from a fixed seed: one product or convolution for each quantized operator, and
one layer of a transformer (an encoder, and a decoder with grouped heads and rotary positions, for 256 tokens at once and
for one token after 256). tautomer optimizes a model to a program and runs that; ONNX Runtime has all its optimizations,
for layers of the export or of the fused form that its own tools (`onnxruntime.transformers` for encoders,
`optimize_for_ort` for decoders) make of it, whichever is faster. Printed are the milliseconds of one inference by ONNX
Runtime and the ratio of tautomer's to it, measured as in exec_peers.py, and differences of results. Layers need the
packages of corpus_requirements.txt and are left out without them; --models keeps the models.
"""

import argparse
import pathlib
import sys
import tempfile

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from exec_peers import mean
from runtimes import Runtime, Tautomer

try:
    import torch
    import transformers
except ImportError:
    torch = None

F32, U8, I8, I32 = TensorProto.FLOAT, TensorProto.UINT8, TensorProto.INT8, TensorProto.INT32


def saved(path, nodes, inputs, outputs, weights, opset=21):
    """Writes a model; inputs are arrays by name, outputs element types by name."""
    graph = helper.make_graph(
        nodes,
        "model",
        [
            helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(value.dtype), value.shape)
            for name, value in inputs.items()
        ],
        [helper.make_tensor_value_info(name, kind, None) for name, kind in outputs.items()],
        [numpy_helper.from_array(np.asarray(value), name) for name, value in weights.items()],
    )
    domains = [helper.make_opsetid("", opset), helper.make_opsetid("com.microsoft", 1)]
    onnx.save(helper.make_model(graph, opset_imports=domains, ir_version=10), path)


def random(seed=11):
    return np.random.default_rng(seed)


def integers(rng, shape, dtype):
    low, high = np.iinfo(dtype).min, np.iinfo(dtype).max
    return rng.integers(low, high + 1, shape).astype(dtype)


def matmul_integer(rows, size=1024):
    def make(path):
        rng = random()
        inputs = {"a": integers(rng, (rows, size), np.uint8)}
        weights = {"w": integers(rng, (size, size), np.int8), "az": np.uint8(117)}
        saved(path, [helper.make_node("MatMulInteger", ["a", "w", "az"], ["y"])], inputs, {"y": I32}, weights)
        return inputs

    return make


def dynamic_matmul(rows, size=1024):
    """What `quantize_dynamic` makes of a product."""

    def make(path):
        rng = random()
        inputs = {"x": rng.standard_normal((rows, size)).astype(np.float32)}
        weights = {"w": integers(rng, (size, size), np.int8), "ws": np.float32(0.01), "wz": np.int8(0)}
        nodes = [
            helper.make_node("DynamicQuantizeLinear", ["x"], ["q", "s", "z"]),
            helper.make_node("MatMulInteger", ["q", "w", "z", "wz"], ["i"]),
            helper.make_node("Cast", ["i"], ["f"], to=F32),
            helper.make_node("Mul", ["s", "ws"], ["scale"]),
            helper.make_node("Mul", ["f", "scale"], ["y"]),
        ]
        saved(path, nodes, inputs, {"y": F32}, weights)
        return inputs

    return make


def qlinear_matmul(rows, size=1024):
    def make(path):
        rng = random()
        inputs = {"a": integers(rng, (rows, size), np.uint8)}
        weights = {
            "w": integers(rng, (size, size), np.int8), "as": np.float32(0.02), "az": np.uint8(128),
            "ws": np.float32(0.01), "wz": np.int8(0), "ys": np.float32(0.5), "yz": np.uint8(120),
        }
        nodes = [helper.make_node("QLinearMatMul", ["a", "as", "az", "w", "ws", "wz", "ys", "yz"], ["y"])]
        saved(path, nodes, inputs, {"y": U8}, weights)
        return inputs

    return make


def qlinear_conv(channels, filters, kernel, side, group=1):
    def make(path):
        rng = random()
        inputs = {"x": integers(rng, (1, channels, side, side), np.uint8)}
        weights = {
            "w": integers(rng, (filters, channels // group, kernel, kernel), np.int8),
            "b": rng.integers(-1000, 1000, filters).astype(np.int32),
            "xs": np.float32(0.02), "xz": np.uint8(128), "ws": np.full(filters, 0.01, np.float32),
            "wz": np.zeros(filters, np.int8), "ys": np.float32(0.5), "yz": np.uint8(120),
        }
        pads = [kernel // 2] * 4
        operands = ["x", "xs", "xz", "w", "ws", "wz", "ys", "yz", "b"]
        nodes = [helper.make_node("QLinearConv", operands, ["y"], pads=pads, group=group)]
        saved(path, nodes, inputs, {"y": U8}, weights)
        return inputs

    return make


def qdq_layers(rows, size=1024):
    """Two products in the form of `quantize_static`: quantized and dequantized around each."""

    def make(path):
        rng = random()
        inputs = {"x": rng.standard_normal((rows, size)).astype(np.float32)}
        weights = {"s": np.float32(0.03), "z": np.uint8(128), "ws": np.float32(0.001), "wz": np.int8(0)}
        nodes, last = [], "x"
        for i in range(2):
            weights[f"w{i}"] = integers(rng, (size, size), np.int8)
            nodes += [
                helper.make_node("QuantizeLinear", [last, "s", "z"], [f"q{i}"]),
                helper.make_node("DequantizeLinear", [f"q{i}", "s", "z"], [f"d{i}"]),
                helper.make_node("DequantizeLinear", [f"w{i}", "ws", "wz"], [f"v{i}"]),
                helper.make_node("MatMul", [f"d{i}", f"v{i}"], [f"m{i}"]),
            ]
            last = f"m{i}"
        nodes += [
            helper.make_node("QuantizeLinear", [last, "s", "z"], ["qy"]),
            helper.make_node("DequantizeLinear", ["qy", "s", "z"], ["y"]),
        ]
        saved(path, nodes, inputs, {"y": F32}, weights)
        return inputs

    return make


def matmul_nbits(rows, bits=4, zero=False, size=2048, block=32):
    def make(path):
        rng = random()
        inputs = {"x": rng.standard_normal((rows, size)).astype(np.float32)}
        blocks = size // block
        weights = {
            "w": integers(rng, (size, blocks, block * bits // 8), np.uint8),
            "s": (rng.random((size, blocks)) * 0.01).astype(np.float32),
        }
        operands = ["x", "w", "s"]
        if zero:
            weights["z"] = integers(rng, (size, blocks * bits // 8), np.uint8)
            operands.append("z")
        node = helper.make_node(
            "MatMulNBits", operands, ["y"], domain="com.microsoft", K=size, N=size, bits=bits, block_size=block
        )
        saved(path, [node], inputs, {"y": F32}, weights)
        return inputs

    return make


WIDTH = dict(vocab_size=96, hidden_size=768, num_hidden_layers=1, num_attention_heads=12, intermediate_size=2048,
             max_position_embeddings=1024)


def exported(model, inputs, path):
    torch.onnx.export(model, tuple(inputs.values()), str(path), dynamo=False, opset_version=17,
                      input_names=list(inputs), do_constant_folding=True)
    return {name: value.numpy() for name, value in inputs.items()}


def encoder(length=256):
    from corpus_models import Outputs, randomized

    def make(path):
        config = transformers.BertConfig(**WIDTH)
        model = Outputs(randomized(transformers.BertModel(config)), ["input_ids"], ("last_hidden_state",))
        return exported(model, {"input_ids": torch.arange(length)[None] % 90}, path)

    def fuse(source, target):
        from onnxruntime.transformers import optimizer

        made = optimizer.optimize_model(str(source), model_type="bert", num_heads=12, hidden_size=768, opt_level=0)
        made.save_model_to_file(str(target))

    return make, fuse


def decoder(length, past):
    """Tokens after `past` others, whose keys and values are inputs."""
    from corpus_models import randomized

    class Step(torch.nn.Module):
        def __init__(self, model):
            super().__init__()
            self.model = model

        def forward(self, input_ids, *past):
            cache = transformers.DynamicCache()
            if past:
                cache.update(*past, 0)
            made = self.model(input_ids, past_key_values=cache, use_cache=True)
            layer = made.past_key_values.layers[0]
            return made.last_hidden_state, layer.keys, layer.values

    def make(path):
        model = transformers.LlamaModel(transformers.LlamaConfig(**WIDTH, num_key_value_heads=4, use_cache=True, attn_implementation="eager"))
        inputs = {"input_ids": torch.arange(length)[None] % 90}
        generator = torch.Generator().manual_seed(3)
        if past:
            inputs |= {name: torch.randn(1, 4, past, 64, generator=generator) for name in ["past_k", "past_v"]}
        return exported(Step(randomized(model)), inputs, path)

    def fuse(source, target):
        import onnx_ir
        from onnxscript.rewriter.ort_fusions import optimize_for_ort

        made = optimize_for_ort(onnx_ir.load(source))
        onnx_ir.save(made[0] if isinstance(made, tuple) else made, target)

    return make, fuse


CASES = {
    "MatMulInteger 1": matmul_integer(1),
    "MatMulInteger 256": matmul_integer(256),
    "dynamic product 1": dynamic_matmul(1),
    "dynamic product 256": dynamic_matmul(256),
    "QLinearMatMul 1": qlinear_matmul(1),
    "QLinearMatMul 256": qlinear_matmul(256),
    "products between Q and DQ": qdq_layers(64),
    "QLinearConv 1 by 1": qlinear_conv(64, 64, 1, 56),
    "QLinearConv 3 by 3": qlinear_conv(64, 64, 3, 56),
    "QLinearConv depthwise": qlinear_conv(128, 128, 3, 56, group=128),
    "MatMulNBits 4 bits, 1 row": matmul_nbits(1),
    "MatMulNBits 4 bits with zero points, 1 row": matmul_nbits(1, zero=True),
    "MatMulNBits 8 bits, 1 row": matmul_nbits(1, 8),
    "MatMulNBits 4 bits, 256 rows": matmul_nbits(256),
    "MatMulNBits 8 bits, 256 rows": matmul_nbits(256, 8),
}


def layers():
    return {
        "encoder layer, 256 tokens": encoder(),
        "decoder layer, 256 tokens": decoder(256, 0),
        "decoder layer, 1 token after 256": decoder(1, 256),
    }


class Program(Tautomer):
    """A model that is optimized to a program with all operators of tautomer, and not to a model of its operator set."""

    def __init__(self, path, feed, threads, folder):
        self.feed, self.threads, self.folder = feed, str(threads), pathlib.Path(folder)
        self.model = self.folder / "optimized.taut"
        self.call("optimize", str(path), "-o", str(self.model), "--target", "tautomer", "--no-check", "-q")
        self.inputs = []
        for number, (name, value) in enumerate(feed.items()):
            file = self.folder / f"in{number}.npy"
            np.save(file, value)
            self.inputs += ["-i", f"{name}={file}"]
        self.estimate = None


def measured(name, make, fuse, options, folder):
    """For each number of threads, the times of ONNX Runtime and of tautomer, and how far their results are apart."""
    given = folder / "given.onnx"
    feed = make(given)
    forms = [given]
    if fuse:
        try:
            fuse(given, folder / "fused.onnx")
            forms.append(folder / "fused.onnx")
        except Exception as problem:  # noqa: BLE001 - the export itself is still there to compare with
            print(f"no fused form of {name}: {str(problem).splitlines()[0][:150]}", file=sys.stderr)
    found = {}
    for threads in options.threads:
        systems = [Program(given, feed, threads, folder)]
        for form in forms:
            try:
                systems.append(Runtime(form, feed, threads, folder))
            except Exception as problem:  # noqa: BLE001
                print(f"ONNX Runtime: {name}, {form.name}: {str(problem).splitlines()[0][:200]}", file=sys.stderr)
        wanted, got = systems[1].outputs(), systems[0].outputs()
        gap = max(float(np.abs(a.astype(np.float64) - b).max() / max(np.abs(b).max(), 1e-9)) for a, b in zip(got, wanted))
        rounds = [[system.measure(options.seconds) for system in systems] for _ in range(options.rounds)]
        by = "processor" if threads == 1 else "fastest"
        times = [float(np.median([turn[i][by] for turn in rounds])) for i in range(len(systems))]
        found[threads] = (min(times[1:]), times[0], gap)
    if options.profile:
        arguments = ["run", str(folder / "optimized.taut"), *systems[0].inputs, "--threads", "1", "--profile", "-q"]
        print(systems[0].call(*arguments))
    return found


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=0.3)
    parser.add_argument("--only", default="")
    parser.add_argument("--threads", type=lambda text: [int(n) for n in text.split(",")], default=[1])
    parser.add_argument("--models", type=pathlib.Path)
    parser.add_argument("--profile", action="store_true")
    options = parser.parse_args()
    cases = {name: (make, None) for name, make in CASES.items()}
    cases |= layers() if torch else {}
    titles = " | ".join(f"{n}t ms | tautomer | difference" for n in options.threads)
    print(f"| model | {titles} |\n| --- |" + " --: |" * 3 * len(options.threads))
    ratios = {threads: [] for threads in options.threads}
    for name, (make, fuse) in cases.items():
        if options.only not in name:
            continue
        with tempfile.TemporaryDirectory() as temporary:
            folder = pathlib.Path(temporary)
            if options.models:
                folder = options.models / name.replace(" ", "_").replace(",", "")
                folder.mkdir(parents=True, exist_ok=True)
            try:
                found = measured(name, make, fuse, options, folder)
            except Exception as problem:  # noqa: BLE001 - one model must not hide the others
                print(f"{name}: {str(problem)[:400]}", file=sys.stderr)
                continue
        cells = []
        for threads, (base, own, gap) in found.items():
            ratios[threads].append(own / base)
            cells.append(f"{base:.3g} | {own / base:.2f} | {gap:.0e}")
        print(f"| {name} | " + " | ".join(cells) + " |", flush=True)
    print("| **geometric mean** | " + " | ".join(f" | {mean(ratios[n]):.2f} | " for n in options.threads) + " |")


if __name__ == "__main__":
    main()
