"""Graphs, to look at and to convert."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from . import _core
from ._errors import lines


@dataclass(frozen=True)
class Node:
    """A value of a graph and how it is computed."""

    graph: "Graph" = field(repr=False, compare=False)
    index: int
    #: `call`, `constant`, `input`, `parameter` or `other` (tuples and their elements).
    kind: str
    name: str | None
    #: The operator of a call.
    op: str | None
    type: str
    _operands: tuple[int, ...] = field(repr=False)
    _users: tuple[int, ...] = field(repr=False)
    #: The rules that made it.
    rules: tuple[str, ...] = ()

    @property
    def operands(self) -> list["Node"]:
        """The values it is computed from, in order."""
        return [self.graph[i] for i in self._operands]

    @property
    def users(self) -> list["Node"]:
        """The values computed from it."""
        return [self.graph[i] for i in self._users]


class Graph:
    """A typed graph of operator calls, from a model in any form or the text of a program.

    >>> import tautomer
    >>> graph = tautomer.Graph("fn main(x: f32[n, 4], y: f32[4]) { relu(x + y) }")
    >>> [(node.op, node.type) for node in graph if node.kind == "call"]
    [('add', 'f32[n, 4]'), ('relu', 'f32[n, 4]')]
    >>> graph.inputs
    {'x': 'f32[n, 4]', 'y': 'f32[4]'}
    >>> [node.name for node in graph.find("add")[0].operands]
    ['x', 'y']
    """

    def __init__(self, model: Any) -> None:
        from ._model import read

        self._core: _core.Model = read(model)[0]
        self._nodes: list[Node] | None = None

    @classmethod
    def _of(cls, model: _core.Model) -> "Graph":
        graph = cls.__new__(cls)
        graph._core, graph._nodes = model, None
        return graph

    @property
    def nodes(self) -> list[Node]:
        """All values in order of computation."""
        if self._nodes is None:
            self._nodes = [
                Node(
                    self,
                    v["index"],
                    v["kind"],
                    v["name"],
                    v["op"],
                    v["type"],
                    tuple(v["operands"]),
                    tuple(v["users"]),
                    tuple(v["rules"]),
                )
                for v in self._core.vertices()
            ]
        return self._nodes

    def __iter__(self) -> Iterator[Node]:
        return iter(self.nodes)

    def __len__(self) -> int:
        return len(self.nodes)

    def __getitem__(self, index: int) -> Node:
        return self.nodes[index]

    def find(self, op: str) -> list[Node]:
        """The calls of an operator."""
        return [node for node in self.nodes if node.op == op]

    @property
    def inputs(self) -> dict[str, str]:
        """The types of the inputs by name."""
        return dict(self._core.inputs())

    @property
    def outputs(self) -> dict[str, str]:
        """The types of the results by name."""
        return dict(self._core.outputs())

    @property
    def params(self) -> list[str]:
        """The names of the parameters."""
        return self._core.params()

    def param(self, name: str) -> np.ndarray | None:
        """The value of a parameter, if it is known."""
        return self._core.param(name)

    @property
    def notes(self) -> list[str]:
        """Notes and warnings about the file that the graph was read from."""
        return lines(self._core.notes())

    @property
    def call_count(self) -> int:
        """The number of operator calls."""
        return self._core.call_count()

    def to_onnx(self) -> bytes:
        """The bytes of an ONNX file."""
        return self._core.to_onnx()

    def to_text(self) -> str:
        """The text of the program."""
        return self._core.to_text()

    def to_dot(self) -> str:
        """The graph as DOT."""
        return self._core.to_dot()

    def save(self, path: str | os.PathLike[str]) -> list[str]:
        """Writes `.onnx`, `.taut` or `.pnnx.param`; returns notes."""
        return lines(self._core.write(os.fspath(path)))

    def __repr__(self) -> str:
        return f"<tautomer.Graph of {self.call_count} calls>"

    def __str__(self) -> str:
        return self.to_text()
