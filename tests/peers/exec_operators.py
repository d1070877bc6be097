"""How long single operators take that networks use beside products and functions of elements: tautomer compared with
ONNX Runtime in one interleaved run, on one thread.

    python exec_operators.py [--rounds N] [--seconds S] [--only TEXT]

Each model is one node on random inputs of about a million elements. Printed are the milliseconds of ONNX Runtime with
all its optimizations, the ratio of tautomer's processor time to it, and whether the reference definition computes the
operator because there is no kernel. Needs the environment of run.sh.
"""

import argparse
import pathlib
import statistics
import subprocess
import sys
import tempfile

import numpy as np
import onnx
from onnx import helper, numpy_helper

from exec_peers import mean
from onnx_agree import difference
from runtimes import BINARY, Runtime, Tautomer

RANDOM = np.random.default_rng(7)


def floats(*shape):
    return RANDOM.standard_normal(shape).astype(np.float32)


def places(most, *shape):
    return RANDOM.integers(0, most, shape).astype(np.int64)


def one(*numbers):
    return np.array(numbers, np.int64)


def truths(*shape):
    return RANDOM.random(shape) > 0.5


def grid():
    return RANDOM.uniform(-1.2, 1.2, (1, 64, 64, 2)).astype(np.float32)


def boxes(count):
    corners = RANDOM.uniform(0, 30, (count, 2))
    return np.concatenate([corners, corners + RANDOM.uniform(5, 20, (count, 2))], 1).astype(np.float32)


def nothing():
    return np.array([], np.float32)


# The operator, its inputs (arrays; those after a bar are constants), its attributes, the number of results, and the
# operator set.
CASES = {
    "ArgMax rows": ("ArgMax", [floats(2000, 500)], {"axis": 1}),
    "ArgMax columns": ("ArgMax", [floats(500, 2000)], {"axis": 0}),
    "ArgMin last": ("ArgMin", [floats(1000, 1000)], {"axis": -1, "keepdims": 0}),
    "CumSum": ("CumSum", [floats(1000, 1000), "|", np.array(1, np.int64)], {}),
    "CumSum columns": ("CumSum", [floats(1000, 1000), "|", np.array(0, np.int64)], {}),
    "CumSum of integers": ("CumSum", [places(9, 1000, 1000), "|", np.array(1, np.int64)], {}),
    "GatherElements": ("GatherElements", [floats(12, 256, 512), places(512, 12, 256, 256)], {"axis": 2}),
    "GatherElements columns": ("GatherElements", [floats(512, 1024), places(512, 512, 1024)], {"axis": 0}),
    "GatherND elements": ("GatherND", [floats(1000, 1000), places(1000, 300000, 2)], {}),
    "GatherND rows": ("GatherND", [floats(1000, 1000), places(1000, 1000, 1)], {}),
    "ScatterElements": ("ScatterElements", [floats(1000, 1000), places(1000, 1000, 300), floats(1000, 300)], {"axis": 1}),
    "ScatterElements sums": (
        "ScatterElements",
        [floats(1000, 1000), places(1000, 1000, 300), floats(1000, 300)],
        {"axis": 1, "reduction": "add"},
    ),
    "ScatterND rows": ("ScatterND", [floats(2000, 500), places(2000, 1000, 1), floats(1000, 500)], {}),
    "ScatterND elements": ("ScatterND", [floats(1000, 1000), places(1000, 200000, 2), floats(200000)], {}),
    "OneHot": ("OneHot", [places(100, 10000), "|", np.array(100, np.int64), np.array([0, 1], np.float32)], {}),
    "TopK 5 of 1000": ("TopK", [floats(1000, 1000), "|", one(5)], {}, 2),
    "TopK 100 of 10000": ("TopK", [floats(100, 10000), "|", one(100)], {}, 2),
    "Trilu": ("Trilu", [floats(4, 500, 500)], {"upper": 0}),
    "NonZero": ("NonZero", [(floats(1000, 1000) > 1).astype(np.float32)], {}),
    "Cast to bool": ("Cast", [places(2, 1000, 1000)], {"to": onnx.TensorProto.BOOL}),
    "Cast to i64": ("Cast", [floats(1000, 1000)], {"to": onnx.TensorProto.INT64}),
    "Cast i64 to f32": ("Cast", [places(9, 1000, 1000)], {"to": onnx.TensorProto.FLOAT}),
    "Mod of integers": ("Mod", [places(99, 1000, 1000), "|", one(7)], {}),
    "Sign": ("Sign", [floats(1000, 1000)], {}),
    "IsNaN": ("IsNaN", [floats(1000, 1000)], {}),
    "Atan": ("Atan", [floats(1000, 1000)], {}),
    "InstanceNormalization": ("InstanceNormalization", [floats(4, 64, 64, 64), "|", floats(64), floats(64)], {}),
    "LRN": ("LRN", [floats(4, 64, 64, 64)], {"size": 5}),
    "ReduceLogSumExp": ("ReduceLogSumExp", [floats(1000, 1000), "|", one(1)], {}),
    "LpPool": ("LpPool", [floats(1, 64, 128, 128)], {"kernel_shape": [2, 2], "strides": [2, 2]}),
    "MaxPool with places": ("MaxPool", [floats(1, 64, 128, 128)], {"kernel_shape": [2, 2], "strides": [2, 2]}, 2),
    "GridSample": ("GridSample", [floats(1, 16, 64, 64), RANDOM.uniform(-1, 1, (1, 64, 64, 2)).astype(np.float32)], {}),
    "RNN": ("RNN", [floats(50, 4, 64), "|", floats(1, 128, 64) / 99, floats(1, 128, 128) / 99], {"hidden_size": 128}, 2),
    "Einsum": ("Einsum", [floats(8, 64, 64), floats(8, 64, 64)], {"equation": "bij,bjk->bik"}),
    "Einsum outer": ("Einsum", [floats(1000), floats(1000)], {"equation": "i,j->ij"}),
    "ReverseSequence": ("ReverseSequence", [floats(500, 8, 256), "|", places(499, 8) + 1], {}),
    "Compress": ("Compress", [floats(1000, 1000), RANDOM.random(1000) > 0.5], {"axis": 0}),
    "Range": ("Range", [np.array(0, np.int64), np.array(1000000, np.int64), np.array(1, np.int64)], {}),
    "Unique": ("Unique", [places(1000, 100000)], {}),
    "NonMaxSuppression": (
        "NonMaxSuppression",
        [
            np.concatenate([c := RANDOM.random((1, 1000, 2)).astype(np.float32), c + np.float32(0.1)], 2),
            RANDOM.random((1, 4, 1000)).astype(np.float32),
            "|",
            one(50),
            np.array([0.5], np.float32),
            np.array([0.1], np.float32),
        ],
        {},
    ),
    "Pad": ("Pad", [floats(1, 64, 128, 128), "|", one(0, 0, 1, 1, 0, 0, 1, 1)], {"mode": "reflect"}),
    "DequantizeLinear": ("DequantizeLinear", [places(255, 1000, 1000).astype(np.uint8), "|", np.float32(0.1)], {}),
    "QuantizeLinear": ("QuantizeLinear", [floats(1000, 1000), "|", np.float32(0.1), np.uint8(128)], {}),
    "GridSample cubic": ("GridSample", [floats(1, 16, 64, 64), grid()], {"mode": "cubic"}, 1, 20),
    "GridSample nearest": ("GridSample", [floats(1, 16, 64, 64), grid()], {"mode": "nearest"}),
    "GridSample reflection": ("GridSample", [floats(1, 16, 64, 64), grid()], {"padding_mode": "reflection"}),
    "RoiAlign": (
        "RoiAlign",
        [floats(1, 64, 50, 50), boxes(100), np.zeros(100, np.int64)],
        {"output_height": 7, "output_width": 7, "sampling_ratio": 2},
    ),
    "Einsum of vectors": ("Einsum", [floats(1000, 64), floats(1000, 64)], {"equation": "ij,ij->i"}),
    "Einsum diagonal": ("Einsum", [floats(16, 64, 64)], {"equation": "bii->bi"}),
    "Einsum transposes": ("Einsum", [floats(64, 128, 128)], {"equation": "bij->jbi"}),
    "Einsum sums": ("Einsum", [floats(64, 128, 128)], {"equation": "bij->j"}),
    "Einsum products": ("Einsum", [floats(32, 100, 64), floats(100, 64)], {"equation": "bij,ij->bij"}),
    "Einsum of three": ("Einsum", [floats(64, 32), floats(32, 64), floats(64, 32)], {"equation": "ij,jk,kl->il"}),
    "Einsum over heads": ("Einsum", [floats(2, 50, 8, 32), floats(8, 32, 64)], {"equation": "bshd,hde->bse"}),
    "Einsum of relative positions": ("Einsum", [floats(8, 50, 64), floats(50, 50, 64)], {"equation": "hid,ijd->hij"}),
    "ReduceLogSum": ("ReduceLogSum", [abs(floats(1000, 1000)), "|", one(1)], {}),
    "ReduceSumSquare": ("ReduceSumSquare", [floats(1000, 1000), "|", one(1)], {}),
    "ReduceL1": ("ReduceL1", [floats(1000, 1000), "|", one(1)], {}),
    "ReduceL2": ("ReduceL2", [floats(1000, 1000), "|", one(1)], {}),
    "ReduceL2 columns": ("ReduceL2", [floats(1000, 1000), "|", one(0)], {}),
    "ReduceProd": ("ReduceProd", [floats(1000, 1000), "|", one(1)], {}),
    "ReduceSum of integers": ("ReduceSum", [places(9, 1000, 1000), "|", one(1)], {}),
    "ReduceMax of integers": ("ReduceMax", [places(9, 1000, 1000), "|", one(1)], {}),
    "ReduceSum i32 columns": ("ReduceSum", [places(9, 1000, 1000).astype(np.int32), "|", one(0)], {}),
    "ReduceMean f64": ("ReduceMean", [floats(1000, 1000).astype(np.float64), "|", one(1)], {}),
    "ReduceMax u8": ("ReduceMax", [places(200, 1000, 1000).astype(np.uint8), "|", one(1)], {}),
    "MeanVarianceNormalization": ("MeanVarianceNormalization", [floats(4, 64, 64, 64)], {}),
    "DepthToSpace": ("DepthToSpace", [floats(1, 64, 128, 128)], {"blocksize": 2}),
    "DepthToSpace CRD": ("DepthToSpace", [floats(1, 64, 128, 128)], {"blocksize": 2, "mode": "CRD"}),
    "SpaceToDepth": ("SpaceToDepth", [floats(1, 16, 256, 256)], {"blocksize": 2}),
    "Col2Im": ("Col2Im", [floats(1, 64 * 9, 64 * 64), "|", one(64, 64), one(3, 3)], {"pads": [1, 1, 1, 1]}),
    "DFT": ("DFT", [floats(64, 1024, 1)], {"axis": 1}, 1, 17),
    "DFT of 1000": ("DFT", [floats(64, 1000, 1)], {"axis": 1}, 1, 17),
    "STFT": ("STFT", [floats(1, 16000, 1), np.array(160), np.hanning(400).astype(np.float32)], {}, 1, 17),
    "BlackmanWindow": ("BlackmanWindow", [np.array(100000)], {}),
    "MelWeightMatrix": (
        "MelWeightMatrix",
        [np.array(80), np.array(512), np.array(16000), np.array(20, np.float32), np.array(8000, np.float32)],
        {},
    ),
    "Hardmax": ("Hardmax", [floats(1000, 1000)], {}),
    "LogSoftmax": ("LogSoftmax", [floats(1000, 1000)], {}),
    "Softmax columns": ("Softmax", [floats(1000, 1000)], {"axis": 0}),
    "GroupNormalization": ("GroupNormalization", [floats(4, 64, 64, 64), "|", floats(8), floats(8)], {"num_groups": 8}),
    "LpNormalization": ("LpNormalization", [floats(1000, 1000)], {}),
    "DynamicQuantizeLinear": ("DynamicQuantizeLinear", [floats(1000, 1000)], {}, 3),
    "QuantizeLinear channels": (
        "QuantizeLinear",
        [floats(1, 64, 128, 128), "|", abs(floats(64)) + 1, places(99, 64).astype(np.int8)],
        {"axis": 1},
    ),
    "DequantizeLinear channels": (
        "DequantizeLinear",
        [places(255, 64, 16384).astype(np.uint8), "|", abs(floats(64)), places(99, 64).astype(np.uint8)],
        {"axis": 0},
    ),
    "ConvInteger": (
        "ConvInteger",
        [places(255, 1, 32, 64, 64).astype(np.uint8), "|", places(255, 32, 32, 3, 3).astype(np.uint8)],
        {},
    ),
    "MatMulInteger": (
        "MatMulInteger",
        [places(255, 256, 256).astype(np.uint8), "|", places(255, 256, 256).astype(np.uint8)],
        {},
    ),
    "ScatterND sums": (
        "ScatterND",
        [floats(2000, 500), places(2000, 1000, 1), floats(1000, 500)],
        {"reduction": "add"},
    ),
    "IsInf": ("IsInf", [floats(1000, 1000)], {}),
    "BitShift": (
        "BitShift",
        [places(99, 1000, 1000).astype(np.uint8), "|", np.array([3], np.uint8)],
        {"direction": "LEFT"},
    ),
    "BitwiseAnd": ("BitwiseAnd", [places(99, 1000, 1000), places(99, 1000, 1000)], {}),
    "BitwiseXor u8": ("BitwiseXor", [places(99, 1000, 1000).astype(np.uint8)] * 2, {}),
    "BitwiseNot": ("BitwiseNot", [places(99, 1000, 1000).astype(np.int32)], {}),
    "Det": ("Det", [floats(1000, 8, 8)], {}),
    "EyeLike": ("EyeLike", [floats(1000, 1000)], {}),
    "Where": ("Where", [truths(1000, 1000), floats(1000, 1000), floats(1000, 1000)], {}),
    "Where with a scalar": ("Where", [truths(16, 1, 256, 256), floats(16, 1, 256, 256), "|", np.float32(-9)], {}),
    "Where of integers": ("Where", [truths(1000, 1000), places(9, 1000, 1000), "|", one(1)], {}),
    "Where by rows": ("Where", [truths(1000, 1), floats(1000, 1000), floats(1000, 1000)], {}),
    "Pad edge": ("Pad", [floats(1, 64, 128, 128), "|", one(0, 0, 1, 1, 0, 0, 1, 1)], {"mode": "edge"}),
    "Pad wrap": ("Pad", [floats(1, 64, 128, 128), "|", one(0, 0, 1, 1, 0, 0, 1, 1)], {"mode": "wrap"}, 1, 19),
    "Pad constant": ("Pad", [floats(1, 64, 128, 128), "|", one(0, 0, 1, 1, 0, 0, 1, 1)], {}),
    "Tile": ("Tile", [floats(100, 100), "|", one(10, 10)], {}),
    "Tile of images": ("Tile", [floats(1, 3, 128, 128), "|", one(4, 1, 2, 2)], {}),
    "Expand": ("Expand", [floats(1000, 1), "|", one(1000, 1000)], {}),
    "Expand of rows": ("Expand", [floats(1, 1000), "|", one(1000, 1000)], {}),
    "Expand of integers": ("Expand", [places(9, 1000, 1, 10), "|", one(1000, 100, 10)], {}),
    "Clip of integers": ("Clip", [places(99, 1000, 1000), "|", np.array(9), np.array(50)], {}),
    "Clip u8": ("Clip", [places(99, 1000, 1000).astype(np.uint8), "|", np.uint8(9), np.uint8(50)], {}),
    "Pow": ("Pow", [abs(floats(1000, 1000)), "|", np.float32(1.7)], {}),
    "Pow of two arrays": ("Pow", [abs(floats(1000, 1000)), floats(1000, 1000)], {}),
    "Pow by an integer": ("Pow", [floats(1000, 1000), "|", np.array(3)], {}),
    "Pow of integers": ("Pow", [places(9, 1000, 1000), "|", np.array(3)], {}),
    "Div of integers": ("Div", [places(99, 1000, 1000), "|", one(7)], {}),
    "Div i32": ("Div", [places(99, 1000, 1000).astype(np.int32), places(99, 1000, 1000).astype(np.int32) + 1], {}),
    "Mod of floats": ("Mod", [floats(1000, 1000), "|", np.float32(0.7)], {"fmod": 1}),
    "Cast f32 to f16": ("Cast", [floats(1000, 1000)], {"to": onnx.TensorProto.FLOAT16}),
    "Cast f16 to f32": ("Cast", [floats(1000, 1000).astype(np.float16)], {"to": onnx.TensorProto.FLOAT}),
    "Cast bool to f32": ("Cast", [truths(1000, 1000)], {"to": onnx.TensorProto.FLOAT}),
    "Cast bool to i64": ("Cast", [truths(1000, 1000)], {"to": onnx.TensorProto.INT64}),
    "Cast u8 to f32": ("Cast", [places(99, 1000, 1000).astype(np.uint8)], {"to": onnx.TensorProto.FLOAT}),
    "Cast f32 to u8": ("Cast", [abs(floats(1000, 1000))], {"to": onnx.TensorProto.UINT8}),
    "Cast f32 to bool": ("Cast", [floats(1000, 1000)], {"to": onnx.TensorProto.BOOL}),
    "Cast f32 to f64": ("Cast", [floats(1000, 1000)], {"to": onnx.TensorProto.DOUBLE}),
    "Cast f64 to f32": ("Cast", [floats(1000, 1000).astype(np.float64)], {"to": onnx.TensorProto.FLOAT}),
    "Cast i64 to i32": ("Cast", [places(9, 1000, 1000)], {"to": onnx.TensorProto.INT32}),
    "Cast i32 to i64": ("Cast", [places(9, 1000, 1000).astype(np.int32)], {"to": onnx.TensorProto.INT64}),
    "Cast f32 to i32": ("Cast", [floats(1000, 1000)], {"to": onnx.TensorProto.INT32}),
    "Cast i32 to f32": ("Cast", [places(9, 1000, 1000).astype(np.int32)], {"to": onnx.TensorProto.FLOAT}),
    "Cast i64 to f16": ("Cast", [places(9, 1000, 1000)], {"to": onnx.TensorProto.FLOAT16}),
    "Equal of integers": ("Equal", [places(9, 1000, 1000), "|", one(1)], {}),
    "Less": ("Less", [floats(1000, 1000), floats(1000, 1000)], {}),
    "Greater with a scalar": ("Greater", [floats(1000, 1000), "|", np.float32(0.5)], {}),
    "Less of integers": ("Less", [places(9, 1000, 1), places(9, 1, 1000)], {}),
    "And": ("And", [truths(1000, 1000), truths(1000, 1000)], {}),
    "Not": ("Not", [truths(1000, 1000)], {}),
    "TopK half": ("TopK", [floats(100, 10000), "|", one(5000)], {}, 2),
    "TopK of columns": ("TopK", [floats(1000, 1000), "|", one(5)], {"axis": 0}, 2),
    "Gather columns": ("Gather", [floats(1000, 1000), places(1000, 500)], {"axis": 1}),
    "Slice with steps": ("Slice", [floats(1000, 1000), "|", one(0), one(1000), one(1), one(2)], {}),
    "Slice backward": ("Slice", [floats(1000, 1000), "|", one(-1), one(-(2**31)), one(1), one(-1)], {}),
    "Transpose i64": ("Transpose", [places(9, 1000, 1000)], {"perm": [1, 0]}),
    "Transpose u8": ("Transpose", [places(9, 1, 128, 128, 64).astype(np.uint8)], {"perm": [0, 3, 1, 2]}),
    "Acos": ("Acos", [RANDOM.uniform(-1, 1, (1000, 1000)).astype(np.float32)], {}),
    "Asinh": ("Asinh", [floats(1000, 1000)], {}),
    "Sin": ("Sin", [floats(1000, 1000)], {}),
    "Cos": ("Cos", [floats(1000, 1000)], {}),
    "Tan": ("Tan", [floats(1000, 1000)], {}),
    "Sinh": ("Sinh", [floats(1000, 1000)], {}),
    "Log": ("Log", [abs(floats(1000, 1000))], {}),
    "Exp f64": ("Exp", [floats(1000, 1000).astype(np.float64)], {}),
    "Round": ("Round", [floats(1000, 1000)], {}),
    "Softplus": ("Softplus", [floats(1000, 1000)], {}),
    "Selu": ("Selu", [floats(1000, 1000)], {}),
    "Celu": ("Celu", [floats(1000, 1000)], {}),
    "Shrink": ("Shrink", [floats(1000, 1000)], {"lambd": 0.5}),
    "ThresholdedRelu": ("ThresholdedRelu", [floats(1000, 1000)], {}),
    "Mish": ("Mish", [floats(1000, 1000)], {}),
    "Erf": ("Erf", [floats(1000, 1000)], {}),
    "Exp": ("Exp", [floats(1000, 1000)], {}),
    "Tanh": ("Tanh", [floats(1000, 1000)], {}),
    "Sigmoid": ("Sigmoid", [floats(1000, 1000)], {}),
    "Elu": ("Elu", [floats(1000, 1000)], {}),
    "LeakyRelu": ("LeakyRelu", [floats(1000, 1000)], {}),
    "HardSigmoid": ("HardSigmoid", [floats(1000, 1000)], {}),
    "Gelu": ("Gelu", [floats(1000, 1000)], {}, 1, 20),
    "Max of three": ("Max", [floats(1000, 1000), floats(1000, 1000), floats(1000)], {}),
    "Mean": ("Mean", [floats(1000, 1000), floats(1000, 1000)], {}),
    "Upsample nearest": ("Resize", [floats(1, 64, 64, 64), "|", nothing(), np.array([1, 1, 2, 2], np.float32)], {}),
    "Resize cubic": (
        "Resize",
        [floats(1, 16, 64, 64), "|", nothing(), np.array([1, 1, 2, 2], np.float32)],
        {"mode": "cubic"},
    ),
    "AveragePool": ("AveragePool", [floats(1, 64, 128, 128)], {"kernel_shape": [3, 3], "pads": [1] * 4}),
    "MaxPool of volumes": ("MaxPool", [floats(1, 16, 32, 32, 32)], {"kernel_shape": [2, 2, 2], "strides": [2, 2, 2]}),
    "MaxUnpool": (
        "MaxUnpool",
        [floats(1, 64, 64, 64), np.arange(64 * 64 * 64).reshape(1, 64, 64, 64) * 4],
        {"kernel_shape": [2, 2], "strides": [2, 2]},
    ),
    "ConvTranspose": (
        "ConvTranspose",
        [floats(1, 32, 64, 64), "|", floats(32, 32, 2, 2)],
        {"strides": [2, 2]},
    ),
    "Conv of volumes": ("Conv", [floats(1, 8, 32, 32, 32), "|", floats(8, 8, 3, 3, 3)], {}),
    "Conv of sequences": ("Conv", [floats(1, 64, 4000), "|", floats(64, 64, 3)], {}),
    "LSTM reversed": (
        "LSTM",
        [floats(50, 4, 64), "|", floats(1, 512, 64) / 99, floats(1, 512, 128) / 99],
        {"hidden_size": 128, "direction": "reverse"},
        2,
    ),
    "Add of doubles": ("Add", [floats(1000, 1000).astype(np.float64), floats(1000).astype(np.float64)], {}),
    "Add of f16": ("Add", [floats(1000, 1000).astype(np.float16), floats(1000).astype(np.float16)], {}),
    "Mul of integers": ("Mul", [places(9, 1000, 1000), "|", one(3)], {}),
    "MatMul of doubles": ("MatMul", [floats(256, 256).astype(np.float64), floats(256, 256).astype(np.float64)], {}),
    "MatMul of integers": ("MatMul", [places(9, 256, 256).astype(np.int32), places(9, 256, 256).astype(np.int32)], {}),
    "Concat of integers": ("Concat", [places(9, 1000, 500), places(9, 1000, 500)], {"axis": 1}),
    "Gather of integers": ("Gather", [places(9, 10000, 10), places(10000, 50000)], {}),
    "NegativeLogLikelihoodLoss": (
        "NegativeLogLikelihoodLoss",
        [floats(1000, 1000), places(1000, 1000)],
        {},
    ),
    "SoftmaxCrossEntropyLoss": ("SoftmaxCrossEntropyLoss", [floats(1000, 1000), places(1000, 1000)], {}),
    "GlobalMaxPool": ("GlobalMaxPool", [floats(4, 64, 64, 64)], {}),
    "Softmax f64": ("Softmax", [floats(1000, 1000).astype(np.float64)], {}),
    "LayerNormalization f64": (
        "LayerNormalization",
        [floats(1000, 1000).astype(np.float64), "|", floats(1000).astype(np.float64)],
        {},
    ),
    "Sum of four": ("Sum", [floats(1000, 1000)] * 4, {}),
    "AffineGrid": ("AffineGrid", [floats(4, 2, 3), "|", one(4, 3, 256, 256)], {}, 1, 20),
    "CenterCropPad": ("CenterCropPad", [floats(1000, 1000), "|", one(900, 900)], {}),
}


def written(name, path):
    """Writes the model of a case; its inputs."""
    op, operands, attrs, *rest = CASES[name]
    at = next((i for i, operand in enumerate(operands) if isinstance(operand, str)), len(operands))
    given = {f"i{i}": array for i, array in enumerate(operands[:at])}
    kept = {f"c{i}": np.asarray(array) for i, array in enumerate(operands[at + 1 :])}
    results = [f"o{i}" for i in range(rest[0] if rest else 1)]
    operand = [*given, *kept]
    node = helper.make_node(op, operand, results, **attrs)
    kind = lambda array: onnx.helper.np_dtype_to_tensor_dtype(array.dtype)  # noqa: E731
    graph = helper.make_graph(
        [node],
        "model",
        [helper.make_tensor_value_info(key, kind(array), array.shape) for key, array in given.items()],
        [onnx.ValueInfoProto(name=name) for name in node.output if name],
        [numpy_helper.from_array(array, key) for key, array in kept.items()],
    )
    version = rest[1] if len(rest) > 1 else 18
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", version)], ir_version=9)
    model = onnx.shape_inference.infer_shapes(model)
    onnx.save(model, path)
    return given


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=0.1)
    parser.add_argument("--only", default="")
    options = parser.parse_args()
    print("| operator | ms | tautomer | |\n| --- | --: | --: | --- |")
    ratios, wrong = [], 0
    for name in CASES:
        if options.only not in name:
            continue
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "model.onnx"
            try:
                feed = written(name, path)
                systems = [kind(path, feed, 1, folder) for kind in (Runtime, Tautomer)]
                expected, found = (system.outputs() for system in systems)
            except Exception as problem:  # noqa: BLE001 - one operator must not hide the others
                print(f"| {name} | | | {str(problem).splitlines()[0][:120]} |", flush=True)
                continue
            gap = max(difference(a, b) for a, b in zip(expected, found))
            rounds = [[system.measure(options.seconds)["processor"] for system in systems] for _ in range(options.rounds)]
            theirs, own = (statistics.median(times) for times in zip(*rounds))
            command = [BINARY, "run", str(systems[1].model), *systems[1].inputs, "--threads", "1", "--profile"]
            profile = subprocess.run(command, capture_output=True, text=True, check=False).stdout
        slow = "by the reference definition" if "reference" in profile else ""
        if not gap <= 1e-3:
            wrong += 1
            slow += f" WRONG by {gap:.1e}"
        ratios.append(own / theirs)
        print(f"| {name} | {theirs:.3g} | {own / theirs:.2f} | {slow} |", flush=True)
    print(f"| **geometric mean** | | {mean(ratios):.2f} ({len(ratios)}) | |")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
