"""Compares the declared operators of ONNX Runtime (ops/onnxruntime.ops) with ONNX Runtime, on random operands.

Every operator is called in one-node models, with several shapes, attributes and combinations of operands, and computed
by ONNX Runtime without optimization and by `tautomer run`. Ends with code 1 if a result differs, and if an operator is
declared and has no case here.

    tests/peers/.venv/bin/python tests/peers/contrib.py [--tautomer PROGRAM] [--ops FILE] [NAME...]
"""

import argparse
import json
import pathlib
import subprocess
import sys
import tempfile

import numpy as np
import onnx
import onnxruntime
from onnx import helper

ROOT = pathlib.Path(__file__).resolve().parents[2]
DOMAIN = "com.microsoft"
# ONNX Runtime computes these on graphics cards only.
NOT_ON_CPU = ["BiasSplitGelu"]
rng = np.random.default_rng(20)
cases = []


def f(*shape):
    return rng.standard_normal(shape).astype(np.float32)


def positive(*shape):
    return rng.uniform(0.01, 0.05, shape).astype(np.float32)


def i(high, *shape, low=0, dtype=np.int64):
    return rng.integers(low, high, shape).astype(dtype)


def u8(*shape):
    return i(256, *shape, dtype=np.uint8)


def i8(*shape):
    return i(128, *shape, low=-128, dtype=np.int8)


def weights(*shape):
    """Small enough for ONNX Runtime, whose products of u8 and i8 saturate on processors without VNNI."""
    return i(64, *shape, low=-64, dtype=np.int8)


def scalar(x):
    return np.float32(x)


def case(op, *operands, outputs=(0,), domain=DOMAIN, **attrs):
    """A call of `op`; None stands for an operand that is left out. `outputs` are the results to compare."""
    operands = list(operands)
    while operands[-1] is None:
        operands.pop()
    cases.append((op, operands, outputs, domain, attrs))


def activations():
    for shape in [(8,), (3, 5), (2, 3, 8), (2, 2, 3, 4)]:
        case("Gelu", f(*shape))
        case("FastGelu", f(*shape))
        case("FastGelu", f(*shape), f(shape[-1]))
        case("QuickGelu", f(*shape))
        case("QuickGelu", f(*shape), alpha=0.5)
        case("BiasGelu", f(*shape), f(shape[-1]))


def normalizations():
    case("SkipLayerNormalization", f(2, 3, 8), f(2, 3, 8), f(8))
    case("SkipLayerNormalization", f(2, 3, 8), f(2, 3, 8), f(8), f(8), f(8), epsilon=0.1)
    case("SkipLayerNormalization", f(2, 3, 8), f(3, 8), f(8), None, f(8), outputs=(0, 3))
    case("SkipLayerNormalization", f(2, 3, 8), f(1, 3, 8), f(8), f(8), outputs=(0, 3))
    case("SkipSimplifiedLayerNormalization", 1e-3 * f(2, 3, 8), 1e-3 * f(2, 3, 8), f(8))
    case("SkipSimplifiedLayerNormalization", f(2, 3, 8), f(2, 3, 8), f(8), f(8), outputs=(0, 3), epsilon=0.1)
    case("SkipSimplifiedLayerNormalization", f(2, 3, 8), f(3, 8), f(8), f(8), outputs=(0, 3), epsilon=0.1)
    case("SkipLayerNormalization", f(6, 8), f(6, 8), f(8), f(8), f(8), outputs=(0, 3))
    case("SkipSimplifiedLayerNormalization", f(6, 8), f(6, 8), f(8), f(8), outputs=(0, 3))
    # In the default domain, which has no operator of that name.
    case("SimplifiedLayerNormalization", f(2, 3, 8), f(8), domain="")
    case("SimplifiedLayerNormalization", f(2, 3, 8), f(8), domain="", axis=-1, epsilon=0.1, stash_type=1)
    case("SimplifiedLayerNormalization", f(2, 3, 8), f(3, 8), domain="", axis=1)


def embeddings():
    ids = lambda high: i(high, 2, 5, dtype=np.int32)
    tables = lambda segments: (f(9, 8), f(7, 8), f(2, 8) if segments else None, f(8), f(8))
    case("EmbedLayerNormalization", ids(9), None, *tables(False), outputs=(0, 1))
    case("EmbedLayerNormalization", ids(9), ids(2), *tables(True), outputs=(0, 1, 2), epsilon=0.1)
    mask = (np.arange(5) < [[3], [5]]).astype(np.int32)
    case("EmbedLayerNormalization", ids(9), ids(2), *tables(True), mask, outputs=(0, 1))
    case("EmbedLayerNormalization", ids(9), ids(2), *tables(True), None, ids(7), outputs=(0, 1))
    case("EmbedLayerNormalization", ids(9), ids(2), *tables(True), mask, i(7, 1, 5, dtype=np.int32), outputs=(0, 1, 2))


def products():
    matrices = [((3, 4), (4, 5)), ((2, 3, 4), (2, 4, 5)), ((2, 1, 3, 4), (3, 4, 5)), ((2, 3, 4), (4, 5))]
    for a, b in [*matrices, ((4,), (4, 5)), ((2, 3, 4), (4,))]:
        flip = lambda s: s[:-2] + (s[-1], s[-2]) if len(s) > 1 else s
        case("FusedMatMul", f(*a), f(*b))
        case("FusedMatMul", f(*a), f(*flip(b)), transB=1, alpha=3.0)
        if len(b) > 1:
            case("FusedMatMul", f(*flip(a)), f(*b), transA=1, alpha=0.25)
            case("FusedMatMul", f(*flip(a)), f(*flip(b)), transA=1, transB=1)
    case("FusedGemm", f(3, 4), f(4, 5), f(5), activation="Relu", alpha=0.5, beta=2.0)
    case("FusedGemm", f(4, 3), f(5, 4), f(3, 1), activation="Tanh", transA=1, transB=1)
    case("FusedGemm", f(3, 4), f(4, 5), activation="Sigmoid")
    for name in ["Softplus", "Softsign", "Elu", "LeakyRelu", "HardSigmoid"]:
        given = {"LeakyRelu": {"activation_alpha": 0.3}, "Elu": {"activation_alpha": 0.7},
                 "HardSigmoid": {"activation_alpha": 0.3, "activation_beta": 0.6}}.get(name, {})
        case("FusedGemm", f(3, 4), f(4, 5), f(3, 5), activation=name, **given)


def convolutions():
    params = {"LeakyRelu": [0.3], "Clip": [-0.5, 0.75], "HardSigmoid": [0.3, 0.6]}
    for name in ["Relu", "Tanh", "Sigmoid", "LeakyRelu", "Clip", "HardSigmoid"]:
        given = {"activation_params": params[name]} if name in params else {}
        case("FusedConv", f(2, 3, 7, 7), f(4, 3, 3, 3), f(4), activation=name, kernel_shape=[3, 3], **given)
    case("FusedConv", f(2, 4, 8, 8), f(4, 2, 3, 3), activation="Relu", group=2, pads=[1, 1, 1, 1], strides=[2, 2])
    case("FusedConv", f(1, 3, 7, 7), f(4, 3, 3, 3), f(4), f(1, 4, 5, 5), activation="Relu")
    case("FusedConv", f(1, 3, 7, 7), f(4, 3, 3, 3), f(4), f(1, 4, 7, 7), auto_pad="SAME_UPPER")
    case("FusedConv", f(1, 3, 9), f(4, 3, 3), f(4), activation="Relu", dilations=[2])


def rotations():
    table = lambda half: [function(f(9, half)) for function in (np.cos, np.sin)]
    for interleaved in [0, 1]:
        case("RotaryEmbedding", f(2, 5, 24), i(9, 2, 5), *table(4), interleaved=interleaved)
        case("RotaryEmbedding", f(2, 3, 5, 8), i(9, 2, 5), *table(4), interleaved=interleaved)
        case("RotaryEmbedding", f(2, 5, 24), np.array([3]), *table(4), interleaved=interleaved)
        case("RotaryEmbedding", f(2, 3, 5, 8), np.array([0]), *table(4), interleaved=interleaved)
        partial = {"interleaved": interleaved, "num_heads": 3, "rotary_embedding_dim": 4}
        case("RotaryEmbedding", f(2, 5, 24), i(9, 2, 5), *table(2), **partial)
        case("RotaryEmbedding", f(2, 3, 5, 8), np.array([2]), *table(2), **partial)


def attentions():
    op = "MultiHeadAttention"
    qkv = lambda s=4, t=6: (f(2, s, 8), f(2, t, 8), f(2, t, 12))
    case(op, *qkv(), num_heads=2)
    case(op, *qkv(), num_heads=4, scale=0.7)
    case(op, *qkv(), f(28), num_heads=2)
    mask = (np.arange(6) < [[3], [6]]).astype(np.int32)
    case(op, *qkv(), None, mask, num_heads=2)
    case(op, *qkv(), f(28), mask, num_heads=2, mask_filter_value=-3.0)
    for shape in [(2, 2, 4, 6), (1, 2, 4, 6), (2, 1, 4, 6), (1, 1, 4, 6)]:
        case(op, *qkv(), None, None, f(*shape), num_heads=2)
    case(op, *qkv(5, 5), num_heads=2, unidirectional=1)
    # Past values have the size of the keys.
    past = lambda s, *between: (f(2, s, 8), f(2, s, 8), f(2, s, 8), *between, f(2, 2, 3, 4), f(2, 2, 3, 4))
    case(op, *past(5, None, None, None), num_heads=2, outputs=(0, 1, 2))
    case(op, *past(5, None, None, None), num_heads=2, outputs=(0, 1, 2), unidirectional=1)
    case(op, *past(1, f(24), None, f(1, 1, 1, 4)), num_heads=2, outputs=(0, 1, 2))
    op = "Attention"
    case(op, f(2, 5, 6), f(6, 24), f(24), num_heads=2)
    case(op, f(2, 5, 6), f(6, 24), f(24), num_heads=4, scale=0.7, unidirectional=1)
    case(op, f(2, 5, 6), f(6, 24), f(24), num_heads=2, outputs=(0, 1))
    for shape in [(2, 2, 5, 5), (1, 2, 5, 5), (2, 1, 5, 5), (1, 1, 5, 5)]:
        case(op, f(2, 5, 6), f(6, 24), f(24), None, None, f(*shape), num_heads=2)


def block_quantized():
    op = "MatMulNBits"
    for k, n, block in [(32, 6, 16), (64, 5, 32), (40, 3, 16), (48, 4, 32)]:
        blocks = -(-k // block)
        size = {"K": k, "N": n, "block_size": block, "bits": 4}
        b = lambda: u8(n, blocks, block // 2)
        case(op, f(3, k), b(), positive(n * blocks), **size)
        case(op, f(2, 3, k), b(), positive(n * blocks), u8(n * -(-blocks // 2)), **size)
        case(op, f(3, k), b(), positive(n, blocks), None, None, f(n), **size)
        case(op, f(3, k), b(), positive(n * blocks), f(n * blocks), **size)
        size["bits"] = 8
        case(op, f(3, k), u8(n, blocks, block), positive(n * blocks), **size)
        case(op, f(3, k), u8(n, blocks, block), positive(n * blocks), u8(n * blocks), **size)


def quantized_products():
    for a, b in [((3, 4), (4, 5)), ((2, 3, 4), (4, 5)), ((2, 3, 4), (2, 4, 5))]:
        for other in [u8, weights]:
            one, each = scalar(0.02), positive(b[-1])
            case("DynamicQuantizeMatMul", f(*a), other(*b), one)
            case("DynamicQuantizeMatMul", f(*a), other(*b), one, other(), f(b[-1]))
            case("MatMulIntegerToFloat", u8(*a), other(*b), scalar(0.03), one)
            case("MatMulIntegerToFloat", u8(*a), other(*b), scalar(0.03), one, u8(), other(), f(b[-1]))
            if len(b) == 2:
                case("DynamicQuantizeMatMul", f(*a), other(*b), each, other(b[-1]), f(b[-1]))
                case("MatMulIntegerToFloat", u8(*a), other(*b), scalar(0.03), each, u8(), None, f(b[-1]))
    for other in [u8, weights]:
        y = (scalar(0.5), np.uint8(120))
        q = lambda *b: (u8(3, 4), scalar(0.03), u8(), other(*b), scalar(0.02), other())
        case("QGemm", *q(4, 5))
        case("QGemm", *q(4, 5), i(500, 5, low=-500, dtype=np.int32), alpha=0.5)
        case("QGemm", *q(5, 4), i(500, 5, low=-500, dtype=np.int32), *y, transB=1)
        case("QGemm", *q(4, 5), None, *y)
        case("QGemm", u8(4, 3), scalar(0.03), u8(), other(4, 5), positive(5), other(5), transA=1)


def quantized():
    # ONNX Runtime 1.31.1 rejects sums and products without zero points, and others without that of the result.
    for q in [u8, i8]:
        for shape, bias in [((7,), (7,)), ((2, 3, 4), (2, 3, 4)), ((2, 3, 4), (4,)), ((3, 1), (1, 5)), ((2, 3), ())]:
            # With these scales, no sum or product is halfway between two numbers of the result.
            for op, scale in [("QLinearAdd", 0.0413), ("QLinearMul", 0.0517)]:
                case(op, q(*shape), scalar(0.03), q(), q(*bias), scalar(0.02), q(), scalar(scale), q())
        for x in [q(9), q(2, 3, 8)]:
            case("QLinearSigmoid", x, scalar(0.03), q(), scalar(1 / 256), q())
            case("QLinearSigmoid", x, scalar(0.03), None, scalar(1 / 256), q())
            case("QLinearLeakyRelu", x, scalar(0.03), q(), scalar(0.02), q())
            case("QLinearLeakyRelu", x, scalar(0.03), q(), scalar(0.02), q(), alpha=0.3)
            case("QLinearSoftmax", x, scalar(0.03), q(), scalar(1 / 256), q(), opset=13)
        case("QLinearSoftmax", q(2, 3, 8), scalar(0.03), q(), scalar(1 / 256), q(), opset=13, axis=1)
        ends = (scalar(0.02), q())
        case("QLinearGlobalAveragePool", q(2, 3, 4, 5), scalar(0.03), q(), *ends)
        case("QLinearGlobalAveragePool", q(2, 4, 5, 3), scalar(0.03), q(), *ends, channels_last=1)
        parts = lambda *shapes: [x for s in shapes for x in (q(*s), scalar(rng.uniform(0.01, 0.05)), q())]
        case("QLinearConcat", *ends, *parts((2, 3), (2, 4)), axis=1)
        case("QLinearConcat", *ends, *parts((2, 3), (1, 3), (4, 3)), axis=0)
        where = lambda *shapes: [i(2, *shapes[0], dtype=bool), *parts(*shapes[1:]), *ends]
        case("QLinearWhere", *where((2, 3, 4), (2, 3, 4), (2, 3, 4)))
        case("QLinearWhere", *where((3, 1), (2, 3, 4), (4,)))
    for kind, low, high in [(np.uint8, 0, 256), (np.int8, -128, 128), (np.uint16, 0, 65536), (np.int16, -32768, 32768)]:
        z = lambda *shape: i(high // 4, *shape, low=low // 4, dtype=kind)
        q = lambda *shape: i(high, *shape, low=low, dtype=kind)
        case("QuantizeLinear", f(3, 5), scalar(0.02), z())
        case("QuantizeLinear", f(3, 5), positive(3), z(3), axis=0)
        case("DequantizeLinear", q(3, 5), scalar(0.02), z())
        case("DequantizeLinear", q(3, 5), positive(5), z(5))
    case("QuantizeLinear", 3 + f(3, 5), scalar(0.05))
    case("DequantizeLinear", i(99, 3, dtype=np.int32), scalar(0.02))


def difference(got, want):
    """How far the results are apart, and whether they count as equal."""
    if got.shape != want.shape or got.dtype != want.dtype:
        return f"{got.dtype}{list(got.shape)} instead of {want.dtype}{list(want.shape)}", False
    apart = np.abs(got.astype(np.float64) - want.astype(np.float64))
    most = float(apart.max(initial=0))
    if want.dtype.kind == "f":
        return f"{most:.1e}", bool(np.all(apart <= 1e-5 + 2e-5 * np.abs(want)))
    # Sums of products in another order round to the other side now and then.
    return f"{most:.0f}", most <= 1 and np.count_nonzero(apart) <= max(1, want.size // 20)


def run(command, op, operands, outputs, domain, attrs, folder):
    feeds = {f"x{k}": np.asarray(x) for k, x in enumerate(operands) if x is not None}
    names = [f"x{k}" if x is not None else "" for k, x in enumerate(operands)]
    results = [f"y{k}" if k in outputs else "" for k in range(max(outputs) + 1)]
    graph = helper.make_graph(
        [helper.make_node(op, names, results, domain=domain, **attrs)],
        op,
        [helper.make_tensor_value_info(n, helper.np_dtype_to_tensor_dtype(v.dtype), v.shape) for n, v in feeds.items()],
        [helper.make_empty_tensor_value_info(name) for name in results if name],
    )
    opsets = [helper.make_opsetid("", 20), helper.make_opsetid(DOMAIN, 1)]
    model = helper.make_model(graph, opset_imports=opsets, ir_version=9)
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    try:
        session = onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
        wanted = session.run(None, feeds)
    except Exception as error:
        return f"ONNX Runtime: {error}", False
    path = folder / "m.onnx"
    onnx.save(model, path)
    arguments = [*command, path, "-q", "--output-dir", folder]
    for name, value in feeds.items():
        np.save(folder / f"{name}.npy", value)
        arguments += ["-i", f"{name}={folder / name}.npy"]
    done = subprocess.run([str(a) for a in arguments], capture_output=True, text=True)
    if done.returncode != 0:
        return f"tautomer: {done.stderr.strip()}", False
    found = [difference(np.load(folder / f"out{k}.npy"), want) for k, want in enumerate(wanted)]
    return ", ".join(text for text, _ in found), all(same for _, same in found)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--tautomer", default=ROOT / "target/release/tautomer", help="the program")
    parser.add_argument("--ops", help="a file with declarations, instead of those that come with the program")
    parser.add_argument("names", nargs="*", help="operators; by default all")
    given = parser.parse_args()
    for family in [activations, normalizations, embeddings, products, convolutions, rotations, attentions,
                   block_quantized, quantized_products, quantized]:
        family()
    listed = subprocess.run([str(given.tautomer), "ops", "list", "--json"], capture_output=True, text=True, check=True)
    declared = [op["name"] for op in json.loads(listed.stdout)["operators"]]
    declared = [name.removeprefix(DOMAIN + "::") for name in declared if name.startswith(DOMAIN + "::")]
    tested = {op for op, *_ in cases}
    lacking = [name for name in declared if name not in tested and name not in NOT_ON_CPU]
    failed = [f"{name} is declared, and has no case" for name in lacking]
    command = [given.tautomer, "run"] + (["--ops", given.ops] if given.ops else [])
    rows = {}
    with tempfile.TemporaryDirectory() as folder:
        for op, operands, outputs, domain, attrs in cases:
            if given.names and op not in given.names:
                continue
            text, same = run(command, op, operands, outputs, domain, attrs, pathlib.Path(folder))
            row = rows.setdefault(op, [0, 0, []])
            row[0] += 1
            row[1] += same
            if same:
                row[2] += [float(x) for x in text.split(", ")]
            else:
                shapes = [None if x is None else f"{x.dtype}{list(x.shape)}" for x in operands]
                failed.append(f"{op} {attrs} of {shapes}: {text}")
    print(f"{'operator':34} {'equal':>9}   largest difference")
    for op, (count, equal, apart) in sorted(rows.items()):
        print(f"{op:34} {equal:4}/{count:<4}   {max(apart, default=0):.1e}")
    for name in NOT_ON_CPU:
        print(f"{name:34} not compared: no implementation for processors")
    if failed:
        print("\n".join(failed), file=sys.stderr)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
