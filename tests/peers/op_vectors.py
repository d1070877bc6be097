"""Writes tests/data/op_vectors.json: calls of ONNX operators with the results of the ONNX reference evaluator.

If the reference evaluator fails or deviates from the specification, the case has `by="ort"`, and the results come from
ONNX Runtime. Everything is seeded, so the file only changes if a case or one of the two packages does.
"""

import json
import pathlib

import numpy as np
import onnx
from onnx import helper
from onnx.reference import ReferenceEvaluator

OPSET = 24
DTYPES = {
    "bool": "bool", "int8": "i8", "int16": "i16", "int32": "i32", "int64": "i64", "uint8": "u8", "uint16": "u16",
    "uint32": "u32", "uint64": "u64", "float16": "f16", "float32": "f32", "float64": "f64",
}
rng = np.random.default_rng(7)
cases = []


def f(*shape, low=-16, high=17, dtype=np.float32):
    """Numbers with few bits."""
    return np.asarray(rng.integers(low, high, shape) / 8, dtype=dtype)


def i(*shape, low=-9, high=10, dtype=np.int64):
    return np.asarray(rng.integers(low, high, shape), dtype=dtype)


def ints(*values):
    return np.array(values, dtype=np.int64)


def floats(*values):
    return np.array(values, dtype=np.float32)


def evaluate(op, inputs, attrs, outputs, by, opset):
    names = [f"x{k}" if value is not None else "" for k, value in enumerate(inputs)]
    feeds = {name: value for name, value in zip(names, inputs) if name}
    results = [f"y{k}" for k in range(outputs)]
    graph = helper.make_graph(
        [helper.make_node(op, names, results, **attrs)],
        op,
        [helper.make_tensor_value_info(n, helper.np_dtype_to_tensor_dtype(v.dtype), v.shape) for n, v in feeds.items()],
        [helper.make_empty_tensor_value_info(name) for name in results],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=10)
    if by == "ort":
        import onnxruntime

        return onnxruntime.InferenceSession(model.SerializeToString()).run(None, feeds)
    return ReferenceEvaluator(model).run(None, feeds)


def number(value):
    if isinstance(value, np.floating):
        return float(str(value)) if np.isfinite(value) else str(value)
    return value.item()


def tensor(value):
    if value is None:
        return None
    value = np.asarray(value)
    return {
        "dtype": DTYPES[value.dtype.name],
        "shape": list(value.shape),
        "data": [number(x) for x in value.reshape(-1)],
    }


def case(onnx_name, inputs, op=None, outputs=1, by="reference", order=None, own=None, tolerance=None, opset=OPSET, **attrs):
    """One call. `op` is the table's operator if the ONNX name does not determine it, `order` the positions of its
    operands among those of ONNX, `own` its attributes if they differ."""
    results = evaluate(onnx_name, inputs, attrs, outputs, by, opset)
    row = {"onnx": onnx_name}
    if op:
        row["op"] = op
    if tolerance:
        row["tolerance"] = tolerance
    row["attrs"] = attrs if own is None else own
    row["inputs"] = [tensor(inputs[k]) for k in order or range(len(inputs))]
    row["outputs"] = [tensor(value) for value in results]
    cases.append(row)


def elementwise():
    for op in ["Add", "Sub", "Mul"]:
        case(op, [f(2, 1, 3), f(4, 1)])
        case(op, [i(3, low=-128, high=128, dtype=np.int8), i(3, low=-9, dtype=np.int8)])
    case("Div", [f(2, 3), f(2, 3, low=1)])
    case("Div", [ints(7, -7, 7, -7), ints(2, 2, -2, -2)], by="ort")
    case("Mod", [ints(7, -7, 7, -7), ints(2, 2, -2, -2)])
    case("Mod", [f(6), floats(1.5, -1.5, 2, -2, 0.5, 1)], fmod=1)
    case("Pow", [f(4, low=1), f(4)])
    case("Pow", [f(3), ints(2, 3, 0)])
    for op in ["Max", "Min", "Mean", "Sum"]:
        case(op, [f(2, 3), f(3), f(1, 1)])
    for op in ["Equal", "Less", "LessOrEqual", "Greater", "GreaterOrEqual"]:
        case(op, [i(2, 4, low=0, high=3), i(4, low=0, high=3)])
        case(op, [floats(1, 2, np.nan), floats(1, 3, np.nan)])
    for op in ["And", "Or", "Xor"]:
        case(op, [i(4, 1, low=0, high=2).astype(bool), i(3, low=0, high=2).astype(bool)])
    for op in ["BitwiseAnd", "BitwiseOr", "BitwiseXor"]:
        case(op, [i(4, dtype=np.int32), i(4, dtype=np.int32)])
    case("Where", [np.array([[True], [False]]), f(3), f(2, 1)])


def unary():
    for op in ["Neg", "Abs", "Sign", "Exp", "Sin", "Cos", "Tan", "Atan", "Sinh", "Cosh", "Tanh", "Asinh", "Erf"]:
        case(op, [f(2, 3)])
    for op in ["Asin", "Acos", "Atanh"]:
        case(op, [floats(-0.75, -0.125, 0.5, 0.875)])
    for op in ["Log", "Sqrt", "Reciprocal"]:
        case(op, [f(4, low=1)])
    case("Acosh", [floats(1, 1.5, 7)])
    for op in ["Floor", "Ceil", "Round"]:
        case(op, [floats(-2.5, -1.5, -0.75, 0.5, 1.5, 2.5, 2.625)])
    for op in ["IsNaN", "IsInf"]:
        case(op, [floats(np.nan, np.inf, -np.inf, 0)])
    case("IsInf", [floats(np.inf, -np.inf)], detect_negative=0)
    case("Not", [np.array([True, False])])
    case("BitwiseNot", [i(3, dtype=np.int16)])
    case("Cast", [f(5)], to=onnx.TensorProto.INT32, own={"to": {"dtype": "i32"}})
    case("Cast", [i(3)], to=onnx.TensorProto.FLOAT16, own={"to": {"dtype": "f16"}})
    case("Cast", [i(3, low=-1, high=2)], to=onnx.TensorProto.BOOL, own={"to": {"dtype": "bool"}})
    case("CastLike", [f(3), i(1, dtype=np.int32)])
    case("Identity", [f(2, 2)])
    case("Clip", [f(5), np.float32(-0.5), np.float32(1)])
    case("Clip", [f(5), None, np.float32(1)])
    case("Clip", [i(5), np.int64(-2), np.int64(3)])
    case("Dropout", [f(3)])


def activations():
    x = f(8, low=-24, high=25)
    for op in ["Relu", "Sigmoid", "LeakyRelu", "Elu", "Selu", "Celu", "HardSigmoid", "HardSwish", "Softplus", "Softsign"]:
        case(op, [x])
    case("Relu", [i(4, dtype=np.int32)])
    case("LeakyRelu", [x], alpha=0.5)
    case("Elu", [x], alpha=2.0)
    case("Celu", [x], alpha=2.0)
    case("Mish", [x])
    case("Swish", [x], alpha=0.5)
    case("ThresholdedRelu", [x], alpha=0.5)
    case("Shrink", [x], lambd=1.0, bias=0.25)
    case("Gelu", [x])
    case("Gelu", [x], approximate="tanh")
    case("PRelu", [f(2, 3, 2), f(3, 1)])


def layout():
    x = f(2, 3, 4)
    case("Reshape", [x, ints(0, -1)])
    case("Reshape", [x, ints(4, 6)])
    case("Transpose", [x])
    case("Transpose", [x], perm=[1, 2, 0])
    case("Squeeze", [f(1, 3, 1)])
    case("Squeeze", [f(1, 3, 1), ints(-1)])
    case("Unsqueeze", [f(3, 2), ints(0, -1)])
    case("Flatten", [x])
    case("Flatten", [x], axis=-1)
    case("Expand", [f(3, 1), ints(2, 1, 4)])
    case("Tile", [f(2, 2), ints(2, 3)])
    case("Concat", [f(2, 1), f(2, 3)], axis=-1)
    case("Split", [f(5, 2), ints(2, 3)], outputs=2, own={"axis": 0})
    case("Split", [f(2, 5)], outputs=2, axis=1, num_outputs=2)
    case("Slice", [x, ints(1, 0), ints(3, -1), ints(1, 2), ints(1, 2)])
    case("Slice", [f(6), ints(-1), ints(-99), ints(0), ints(-2)])
    case("Pad", [f(2, 3), ints(1, 0, 0, 2), np.float32(9)])
    for mode in ["reflect", "edge", "wrap"]:
        case("Pad", [f(2, 4), ints(2, 1), None, ints(1)], mode=mode)
    case("Pad", [f(2, 4), ints(0, -1, 1, 1)], by="ort")
    for mode in ["DCR", "CRD"]:
        case("DepthToSpace", [f(1, 8, 1, 2)], blocksize=2, mode=mode)
    case("SpaceToDepth", [f(1, 2, 2, 4)], blocksize=2)
    case("Trilu", [f(2, 3, 3), np.int64(1)])
    case("Trilu", [f(3, 4)], upper=0)
    case("EyeLike", [f(2, 4)], k=1)
    case("Shape", [x], start=-2)
    case("Size", [x])
    case("ConstantOfShape", [ints(2, 2)])
    case("Range", [np.float32(1), np.float32(2), np.float32(0.25)])
    case("Range", [np.int64(5), np.int64(-1), np.int64(-2)])
    case("OneHot", [ints(0, 2, -1), np.int64(3), floats(0.5, 2)], order=[0, 2, 1])
    case("NonZero", [i(2, 3, low=0, high=2)])


def indexing():
    x = f(3, 4)
    case("Gather", [x, ints(2, -1)], axis=0)
    case("Gather", [x, np.array([[0, 3], [1, -2]])], axis=1)
    case("GatherElements", [x, i(3, 2, low=-4, high=4)], axis=1)
    case("GatherND", [x, np.array([[0, 1], [2, -1]])])
    case("GatherND", [f(2, 3, 2), np.array([[1], [2]])], batch_dims=1)
    case("ScatterElements", [x, np.array([[1, -1], [0, 2]]), f(2, 2)], axis=1)
    case("ScatterElements", [x, np.array([[1, 1]]), f(1, 2)], axis=1, reduction="add")
    case("ScatterND", [x, np.array([[0], [2]]), f(2, 4)])
    case("ScatterND", [f(5), np.array([[1], [1], [4]]), f(3)], reduction="mul")


def reductions():
    x = f(2, 3, 2)
    ops = ["Sum", "Mean", "Max", "Min", "Prod", "L1", "L2", "SumSquare"]
    for op in [f"Reduce{name}" for name in ops]:
        case(op, [x, ints(-1, 0)])
        case(op, [x, ints(1)], keepdims=0)
        case(op, [x])
    for op in ["ReduceLogSum", "ReduceLogSumExp"]:
        case(op, [f(2, 3, low=1), ints(1)])
    case("ReduceSum", [x], noop_with_empty_axes=1)
    case("ReduceMax", [i(2, 3), ints(0)])
    for op in ["ArgMax", "ArgMin"]:
        case(op, [i(3, 4, low=0, high=3)], axis=-1)
        case(op, [i(3, 4, low=0, high=3)], axis=0, keepdims=0, select_last_index=1)
    for flags in [{}, {"exclusive": 1}, {"reverse": 1}, {"exclusive": 1, "reverse": 1}]:
        case("CumSum", [f(2, 3), np.int64(1)], **flags)


def products():
    for a, b in [((2, 3), (3, 4)), ((3,), (3,)), ((3,), (2, 3, 2)), ((2, 3), (3,)), ((2, 1, 2, 3), (3, 3, 2))]:
        case("MatMul", [f(*a), f(*b)])
    case("MatMul", [i(2, 3, dtype=np.int32), i(3, 2, dtype=np.int32)])
    case("Gemm", [f(2, 3), f(3, 4)])
    case("Gemm", [f(3, 2), f(4, 3), f(4)], transA=1, transB=1, alpha=0.5, beta=2.0)
    case("Gemm", [f(2, 3), f(3, 4), f(2, 1)])


def convolutions():
    case("Conv", [f(2, 3, 5), f(4, 3, 2), f(4)])
    case("Conv", [f(1, 3, 5, 4), f(2, 3, 3, 2)], pads=[1, 0, 2, 1], strides=[2, 1])
    case("Conv", [f(1, 2, 6, 5), f(3, 2, 2, 2)], dilations=[2, 3])
    case("Conv", [f(1, 4, 3, 3), f(6, 2, 2, 2), f(6)], group=2)
    case("Conv", [f(1, 3, 3, 3), f(3, 1, 2, 2)], group=3)
    case("Conv", [f(1, 2, 3, 3), f(4, 1, 3, 3)], group=2, pads=[1, 1, 1, 1])
    case("Conv", [f(1, 1, 3, 4, 3), f(2, 1, 2, 3, 1)], pads=[1, 0, 0, 0, 1, 2])
    for auto_pad in ["SAME_UPPER", "SAME_LOWER", "VALID"]:
        case("Conv", [f(1, 1, 5, 6), f(1, 1, 2, 3)], by="ort", auto_pad=auto_pad, strides=[2, 2])
    case("ConvTranspose", [f(1, 2, 3), f(2, 3, 2), f(3)], strides=[2])
    case("ConvTranspose", [f(1, 1, 3, 2), f(1, 2, 3, 3)], strides=[2, 3], pads=[1, 0, 0, 2], output_padding=[1, 2])
    case("ConvTranspose", [f(1, 1, 3), f(1, 1, 3)], dilations=[2])
    case("ConvTranspose", [f(1, 4, 3), f(4, 2, 2), f(4)], by="ort", group=2)
    for auto_pad in ["SAME_UPPER", "SAME_LOWER"]:
        case("ConvTranspose", [f(1, 1, 3), f(1, 1, 4)], by="ort", auto_pad=auto_pad, strides=[3])
    case("ConvTranspose", [f(1, 1, 3), f(1, 1, 4)], by="ort", strides=[3], output_shape=[9])
    case("ConvTranspose", [f(1, 1, 3), f(1, 1, 2)], by="ort", strides=[3], output_shape=[10])


def pools():
    for op in ["MaxPool", "AveragePool", "LpPool"]:
        case(op, [f(1, 2, 5, 4)], by="ort", kernel_shape=[2, 3], strides=[2, 1], pads=[1, 0, 0, 2])
        case(op, [f(1, 1, 7)], by="ort", kernel_shape=[3], strides=[3], pads=[1, 1], ceil_mode=1)
        case(op, [f(1, 1, 7)], by="ort", kernel_shape=[3], dilations=[2])
        case(op, [f(1, 1, 7)], by="ort", kernel_shape=[2], strides=[2], auto_pad="SAME_LOWER")
    case("MaxPool", [i(1, 1, 3, 3, dtype=np.int8)], by="ort", kernel_shape=[2, 2])
    case("MaxPool", [f(2, 2, 4)], op="max_pool_with_indices", outputs=2, by="ort", kernel_shape=[3], pads=[1, 1])
    case("MaxPool", [f(1, 1, 3, 3, 3)], kernel_shape=[2, 2, 1], strides=[1, 1, 2])
    for ceil_mode in [0, 1]:
        case("AveragePool", [f(1, 1, 6)], by="ort", kernel_shape=[3], strides=[2], pads=[1, 1], ceil_mode=ceil_mode, count_include_pad=1)
    case("LpPool", [f(1, 1, 5)], by="ort", kernel_shape=[2], p=3)
    case("GlobalAveragePool", [f(2, 2, 3, 2)])
    case("GlobalMaxPool", [f(2, 2, 3, 2)])


def normalizations():
    channels = [f(3), f(3), f(3), f(3, low=1)]
    case("BatchNormalization", [f(2, 3, 2), *channels])
    case("BatchNormalization", [f(2, 3), *channels], epsilon=0.25)
    case("InstanceNormalization", [f(2, 3, 4), f(3), f(3)])
    case("GroupNormalization", [f(2, 4, 3), f(4), f(4)], num_groups=2)
    case("LayerNormalization", [f(2, 3, 4), f(4), f(4)])
    case("LayerNormalization", [f(2, 3, 4), f(3, 4)], axis=1, epsilon=0.125)
    case("LRN", [f(2, 5, 2, 1)], by="ort", size=3)
    case("LRN", [f(1, 5, 2, 1)], by="ort", size=5, alpha=0.5, beta=0.5, bias=2.0)
    case("LpNormalization", [f(2, 3, low=1)], axis=0, p=1)
    case("LpNormalization", [f(2, 3)], by="ort", p=2, opset=21)
    case("MeanVarianceNormalization", [f(2, 2, 3, 2)], by="ort", opset=21)
    for op in ["Softmax", "LogSoftmax", "Hardmax"]:
        case(op, [f(2, 3, 4)])
        case(op, [f(2, 3, 4)], axis=1)


def resizing():
    x = f(1, 1, 2, 4)
    scales = floats(1, 1, 2, 1.5)
    modes = ["half_pixel", "half_pixel_symmetric", "pytorch_half_pixel", "align_corners", "asymmetric"]
    for transformation in modes:
        for mode in ["nearest", "linear", "cubic"]:
            case("Resize", [x, None, scales], coordinate_transformation_mode=transformation, mode=mode)
    for nearest_mode in ["round_prefer_floor", "round_prefer_ceil", "floor", "ceil"]:
        case("Resize", [x, None, floats(1, 1, 0.5, 0.75)], nearest_mode=nearest_mode)
    case("Resize", [x, None, None, ints(1, 1, 3, 3)], mode="linear")
    case("Resize", [x, None, None, ints(3, 3)], axes=[3, 2], mode="cubic", exclude_outside=1, cubic_coeff_a=-0.5)
    for policy in ["not_larger", "not_smaller"]:
        case("Resize", [x, None, None, ints(5, 7)], axes=[2, 3], keep_aspect_ratio_policy=policy)


def main():
    for family in [
        elementwise, unary, activations, layout, indexing, reductions, products, convolutions, pools, normalizations,
        resizing,
    ]:
        family()
    path = pathlib.Path(__file__).parent.parent / "data" / "op_vectors.json"
    path.parent.mkdir(exist_ok=True)
    lines = ",\n".join(json.dumps(row, separators=(",", ":")) for row in cases)
    path.write_text(f"[\n{lines}\n]\n")
    print(f"{len(cases)} cases, {path.stat().st_size} bytes: {path.name}")


if __name__ == "__main__":
    main()
