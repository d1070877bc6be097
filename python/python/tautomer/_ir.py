"""Models of the package `onnx_ir`. Their weights are lent, and those of results are shared: the library makes its own
copy of each, and nothing else does."""

from __future__ import annotations

from typing import Any, Iterator

import numpy as np

from . import _core

#: Initializers of fewer bytes stay in the message.
_LEAST = 1024


class _Proxy:
    """Stands for an object of `onnx_ir`, and differs from it in some attributes."""

    def __init__(self, of: Any, **own: Any) -> None:
        self.__dict__.update(own, _of=of)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._of, name)

    def __iter__(self) -> Iterator[Any]:
        return iter(self._of)


def read(model: Any, rules: _core.RuleSet | None) -> _core.Model:
    """The model for the library."""
    import onnx_ir

    elements: dict[str, np.ndarray] = {}
    initializers = {}
    for name, value in model.graph.initializers.items():
        initializers[name] = value
        tensor = value.const_value
        # Elements of fewer than 8 bits are packed in messages, and strings have a field of their own.
        is_lent = tensor is not None and not tensor.dtype.is_string() and tensor.dtype.bitwidth >= 8
        if is_lent and tensor.nbytes >= _LEAST:
            elements[name] = np.ascontiguousarray(tensor.numpy()).reshape(-1).view(np.uint8)
            bare = _Proxy(None, name=name, doc_string=None, dtype=tensor.dtype, shape=tensor.shape)
            bare.__dict__.update(metadata_props=tensor.metadata_props, tobytes=lambda: b"")
            initializers[name] = _Proxy(value, const_value=bare)
    graph = _Proxy(model.graph, initializers=initializers)
    proto = onnx_ir.to_proto(model) if not elements else onnx_ir.serde.serialize_model(_Proxy(model, graph=graph))
    return _core.Model.from_onnx(proto.SerializeToString(), rules, elements)


def written(model: _core.Model) -> Any:
    """The library's model as an `onnx_ir.Model`."""
    import onnx
    import onnx_ir

    data, elements = model.to_onnx_parts(_LEAST)
    proto = onnx.ModelProto.FromString(data)
    out = onnx_ir.from_proto(proto)
    for stored in proto.graph.initializer:
        if stored.name not in elements:
            continue
        dtype = onnx_ir.DataType(stored.data_type)
        raw = np.frombuffer(memoryview(elements[stored.name]), np.uint8)
        if dtype.bitwidth < 8:
            tensor: Any = onnx_ir.PackedTensor(raw, dtype, shape=onnx_ir.Shape(stored.dims), name=stored.name)
        else:
            tensor = onnx_ir.Tensor(raw.view(dtype.numpy()).reshape(stored.dims), dtype, name=stored.name)
        out.graph.initializers[stored.name].const_value = tensor
    return out
