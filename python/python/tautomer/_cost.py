"""Cost models of one's own."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Call:
    """A call of an operator, of which a cost model tells the price: `tautomer.optimize(model, cost=price)`.

    >>> import tautomer
    >>> def price(call: tautomer.Call) -> float:
    ...     return 1.0 + call.flops / 1e6 if call.operator in ("matmul", "gemm") else call.micros
    >>> tautomer.optimize("fn main(x: f32[4, 4]) { relu(relu(x @ x)) }", cost=price).report["cost"][1] < 4
    True
    """

    operator: str
    #: The types of the operands: `f32[n, 8]`; `_` for one that is left out.
    operands: tuple[str, ...]
    result: str
    #: The attributes as they are written in a program.
    attributes: Mapping[str, str]
    #: Floating-point operations.
    flops: float
    #: Bytes read and written.
    bytes: float
    #: The time estimated for one core, in microseconds.
    micros: float


#: The time that a call takes, in microseconds.
Cost = Callable[[Call], float]


def asked(cost: Cost | None) -> Callable[[dict[str, Any]], float] | None:
    """The function as the library calls it."""
    return None if cost is None else lambda given: cost(Call(**given))
