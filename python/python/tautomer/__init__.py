"""Rewrites tensor computation graphs with rules from files: checked, explained, equal.

>>> import tautomer
>>> result = tautomer.optimize("fn main(x: f32[n, 8]) { relu(relu(x) * 1.0) }")
>>> print(result.model.to_text())
fn main(x: f32[n, 8]) {
  relu(x)
}
<BLANKLINE>
>>> result.report["vertices"]
[3, 1]
"""

from typing import TYPE_CHECKING, Any

from ._core import __version__, explain
from ._cost import Call
from ._errors import Error, Label
from ._graph import Graph, Node
from ._optimize import Result, audit, optimize, simplify
from ._rule import Rest, Rule, attr, ops, rule
from ._rules import Rules, RuleVerdict
from ._session import Session
from ._verify import Verdict, verify

if TYPE_CHECKING:
    from ._onnxscript import onnxscript_pass

__all__ = [
    "Call",
    "Error",
    "Graph",
    "Label",
    "Node",
    "Rest",
    "Result",
    "Rule",
    "RuleVerdict",
    "Rules",
    "Session",
    "Verdict",
    "__version__",
    "attr",
    "audit",
    "explain",
    "onnxscript_pass",
    "ops",
    "optimize",
    "rule",
    "simplify",
    "verify",
]


def __getattr__(name: str) -> Any:
    # onnx_ir takes longer to import than this package.
    if name == "onnxscript_pass":
        from ._onnxscript import onnxscript_pass

        return onnxscript_pass
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
