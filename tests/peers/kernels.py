"""Writes which element types the CPU kernels of ONNX Runtime accept, for each operator and operator set.

    python kernels.py > ../../crates/onnx/src/kernels.txt

Reads the registry of the installed runtime; run it in the environment of run.sh. One line for each operator set version
that changes something: `name opset | row ; row`, newest last. A row is a kernel, or several that differ in one type:
`T=2 T1=c0`, where the mask has bit *i* for data type *i* of ONNX. A type variable that a row does not name is free. A
call has a kernel if its types fit one row. A line without a row means that there is no kernel.

In addition to its kernels, the runtime accepts nodes whose definition has a body, if it has kernels for the body;
whether it does depends on the operator set, so such nodes are tried. It computes half precision in single precision
where it has no half-precision kernel.
"""

import itertools
import sys
from collections import defaultdict

import onnx
import onnxruntime as ort
from onnx import TensorProto, helper
from onnxruntime.capi import onnxruntime_pybind11_state as state

FIRST = 7
LAST_VERSION = 2**31 - 1
HALF, SINGLE = 1 << TensorProto.FLOAT16, 1 << TensorProto.FLOAT

# At most this many combinations of types are tried.
MAX_TRIED = 600

# Values of required attributes for which a default value of their kind makes no sense.
GIVEN = {"num_groups": 2, "axes": [0], "to": 1, "kv_num_heads": 2, "q_num_heads": 2}

# The data types by their names in schemas and kernels.
NAMES = {
    "float": 1, "uint8": 2, "int8": 3, "uint16": 4, "int16": 5, "int32": 6, "int64": 7, "string": 8, "bool": 9,
    "float16": 10, "double": 11, "uint32": 12, "uint64": 13, "complex64": 14, "complex128": 15, "bfloat16": 16,
    "float8e4m3fn": 17, "float8e4m3fnuz": 18, "float8e5m2": 19, "float8e5m2fnuz": 20, "uint4": 21, "int4": 22,
    "float4e2m1": 23, "float8e8m0": 24, "uint2": 25, "int2": 26,
}  # fmt: skip


def mask(types):
    """The data types of the tensors among these types; sequences and the like are ignored."""
    out = 0
    for name in types:
        if name.startswith("tensor(") and name[7:-1] in NAMES:
            out |= 1 << NAMES[name[7:-1]]
    return out


def bits(value):
    return [i for i in range(32) if value >> i & 1]


def schemas():
    """The definitions of each operator of the default domain, oldest first."""
    found = defaultdict(list)
    for schema in onnx.defs.get_all_schemas_with_history():
        if schema.domain == "":
            found[schema.name].append(schema)
    return {name: sorted(versions, key=lambda s: s.since_version) for name, versions in sorted(found.items())}


def kernels():
    """The types of each kernel, by operator, with the first and last version it applies to."""
    found = defaultdict(list)
    for kernel in state.get_all_opkernel_def():
        if kernel.provider == "CPUExecutionProvider" and kernel.domain in ("", "ai.onnx"):
            types = {name: mask(allowed) for name, allowed in kernel.type_constraints.items()}
            found[kernel.op_name].append((*kernel.version_range, types))
    return found


def merged(rows):
    """The rows in a fixed order, with rows merged that differ in one variable."""
    rows = sorted({tuple(sorted(row.items())) for row in rows})
    again = True
    while again:
        again = False
        for a, b in itertools.combinations(rows, 2):
            different = [i for i, (x, y) in enumerate(zip(a, b)) if x != y]
            if len(a) != len(b) or [k for k, _ in a] != [k for k, _ in b] or len(different) != 1:
                continue
            (i,) = different
            both = (*a[:i], (a[i][0], a[i][1] | b[i][1]), *a[i + 1 :])
            rows = sorted({row for row in rows if row not in (a, b)} | {both})
            again = True
            break
    return rows


def allowed(schema):
    """The data types that each type variable of a definition may stand for."""
    return {c.type_param_str: mask(c.allowed_type_strs) for c in schema.type_constraints}


def loads(schema, opset, types):
    """True if the runtime accepts a node of this definition whose type variables stand for these data types, with and
    without optional operands."""
    optional = onnx.defs.OpSchema.FormalParameterOption.Optional
    more = any(p.option == optional for p in schema.inputs)
    return all(loads_with(schema, opset, types, full) for full in ([False, True] if more else [False]))


def loads_with(schema, opset, types, full):
    """The same with all inputs, or only with the required ones."""

    def info(name, text):
        number = types.get(text) or next(iter(bits(mask([text]))), 0)
        return helper.make_tensor_value_info(name, number, None) if number else None

    optional = onnx.defs.OpSchema.FormalParameterOption.Optional
    inputs = [info(f"x{i}", p.type_str) for i, p in enumerate(schema.inputs) if full or p.option != optional]
    outputs = [info(f"y{i}", p.type_str) for i, p in enumerate(schema.outputs) if p.option != optional]
    if None in inputs or None in outputs:
        return False
    attributes = {}
    for name, attribute in schema.attributes.items():
        if attribute.required or name in GIVEN and attribute.default_value.type == 0:
            attributes[name] = GIVEN.get(name, 1)
    node = helper.make_node(schema.name, [v.name for v in inputs], [v.name for v in outputs], **attributes)
    graph = helper.make_graph([node], "one", inputs, outputs)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=8)
    try:
        ort.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    except Exception:  # noqa: BLE001 - whatever the reason, it is not accepted
        return False
    return True


def bodies(schema, opset, rows):
    """Rows for types that no kernel accepts but the body of the definition does."""
    variables = allowed(schema)
    if not variables or any(value == 0 for value in variables.values()):
        return []
    names = sorted(variables)
    combinations = list(itertools.islice(itertools.product(*(bits(variables[n]) for n in names)), MAX_TRIED + 1))
    if len(combinations) > MAX_TRIED:
        # Only the usual combinations: one type for all variables that allow it.
        every = sorted({bit for value in variables.values() for bit in bits(value)})
        combinations = [
            tuple(bit if variables[n] >> bit & 1 else bits(variables[n])[0] for n in names) for bit in every
        ]
    found = []
    for combination in dict.fromkeys(combinations):
        types = dict(zip(names, combination))
        fits = any(all(row.get(n, -1) >> bit & 1 for n, bit in types.items()) for row in rows)
        if not fits and loads(schema, opset, types):
            found.append({n: 1 << bit for n, bit in types.items()})
    return found


def last_opset():
    """The newest operator set that the runtime supports."""
    relu = onnx.defs.get_schema("Relu", 14)
    newest = onnx.defs.onnx_opset_version()
    return max(opset for opset in range(FIRST, newest + 1) if loads(relu, opset, {"T": TensorProto.FLOAT}))


def main():
    ort.set_default_logger_severity(4)
    registry, last = kernels(), last_opset()
    for name, versions in schemas().items():
        before = None
        for opset in range(FIRST, last + 1):
            schema = next((s for s in reversed(versions) if s.since_version <= opset), None)
            if schema is None or schema.deprecated:
                continue
            rows = []
            for first, end, types in registry[name]:
                since = schema.since_version
                if first == since or end != LAST_VERSION and first <= since <= end:
                    rows.append({n: v | HALF if v & SINGLE else v for n, v in types.items()})
            if schema.has_function or schema.has_context_dependent_function:
                rows += bodies(schema, opset, rows)
            text = " ; ".join(" ".join(f"{n}={v:x}" for n, v in row) or "*" for row in merged(rows))
            if text != before:
                print(f"{name} {opset} | {text}".rstrip())
            before = text


if __name__ == "__main__":
    sys.exit(main())
