"""Rules as Python functions: tracing them to the text of a rule."""

from __future__ import annotations

import ast
import inspect
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from ._rules import LEVELS, Rules, RuleVerdict


class Expr:
    """A traced expression. Arithmetic, comparison, `@`, `[i]`, `.shape`, `.rank` and `.dtype` give further ones."""

    def __init__(self, form: str, *parts: Any) -> None:
        # Braces stand for the parts, in order.
        self._form, self._parts = form, parts

    def __add__(self, other: Any) -> "Expr":
        return Expr("({} + {})", self, other)

    def __radd__(self, other: Any) -> "Expr":
        return Expr("({} + {})", other, self)

    def __sub__(self, other: Any) -> "Expr":
        return Expr("({} - {})", self, other)

    def __rsub__(self, other: Any) -> "Expr":
        return Expr("({} - {})", other, self)

    def __mul__(self, other: Any) -> "Expr":
        return Expr("({} * {})", self, other)

    def __rmul__(self, other: Any) -> "Expr":
        return Expr("({} * {})", other, self)

    def __truediv__(self, other: Any) -> "Expr":
        return Expr("({} / {})", self, other)

    def __rtruediv__(self, other: Any) -> "Expr":
        return Expr("({} / {})", other, self)

    def __mod__(self, other: Any) -> "Expr":
        return Expr("({} % {})", self, other)

    def __pow__(self, other: Any) -> "Expr":
        return Expr("pow({}, {})", self, other)

    def __matmul__(self, other: Any) -> "Expr":
        return Expr("matmul({}, {})", self, other)

    def __neg__(self) -> "Expr":
        return Expr("(-{})", self)

    def __lt__(self, other: Any) -> "Expr":
        return Expr("({} < {})", self, other)

    def __le__(self, other: Any) -> "Expr":
        return Expr("({} <= {})", self, other)

    def __gt__(self, other: Any) -> "Expr":
        return Expr("({} > {})", self, other)

    def __ge__(self, other: Any) -> "Expr":
        return Expr("({} >= {})", self, other)

    def __eq__(self, other: Any) -> "Expr":  # type: ignore[override]
        return Expr("({} == {})", self, other)

    def __ne__(self, other: Any) -> "Expr":  # type: ignore[override]
        return Expr("({} != {})", self, other)

    __hash__ = object.__hash__

    def __getitem__(self, index: int) -> "Expr":
        return Expr("{}." + str(index), self)

    def __iter__(self) -> Iterator["Expr"]:
        raise TypeError("how many results a call has is not known here: take them as `x[0]`, `x[1]`")

    def __bool__(self) -> bool:
        raise TypeError("a rule is traced and has no branches: a condition belongs in `where`")

    @property
    def shape(self) -> "Expr":
        """The shape, in a condition or an attribute."""
        return Expr("{}.shape", self)

    @property
    def rank(self) -> "Expr":
        """The number of axes."""
        return Expr("{}.rank", self)

    @property
    def dtype(self) -> "Expr":
        """The element type."""
        return Expr("{}.dtype", self)


class Rest:
    """All attributes of a call that are not written: `ops.conv(x, w, Rest("a"))` is `conv(x, w) {..a}`."""

    def __init__(self, name: str) -> None:
        self.name = name


def attr(name: str) -> Expr:
    """A variable for the value of an attribute: `ops.concat(x, y, axis=attr("k"))`."""
    return Expr(name)


class _Ops:
    """The operators, and the functions of conditions, by name: `ops.relu(x)`, `ops.softmax(x, axis=1)`."""

    def __getattr__(self, name: str) -> Callable[..., Expr]:
        if name.startswith("_"):
            raise AttributeError(name)

        def call(*operands: Any, **attributes: Any) -> Expr:
            rests = [o for o in operands if isinstance(o, Rest)]
            operands = tuple(o for o in operands if not isinstance(o, Rest))
            form = name + "(" + ", ".join("{}" for _ in operands) + ")"
            written = [f"{key} = {{}}" for key in attributes] + [f"..{rest.name}" for rest in rests]
            if written:
                form += " {{" + ", ".join(written) + "}}"
            return Expr(form, *operands, *attributes.values())

        call.__name__ = name
        return call


ops = _Ops()


def _literal(value: Any) -> str | None:
    """A value of Python as it is written in a rule."""
    if value is None:
        return "none"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (int, float)):
        return repr(value)
    if isinstance(value, str):
        return '"' + value.replace("\\", "\\\\").replace('"', '\\"') + '"'
    return None


class _Writer:
    """Writes expressions; those that occur more than once, or in both sides, get a name in the source."""

    def __init__(self) -> None:
        self.names: dict[int, str] = {}
        self.lets: list[str] = []

    def count(self, value: Any, counts: dict[int, int]) -> None:
        if isinstance(value, (list, tuple)):
            for item in value:
                self.count(item, counts)
        elif isinstance(value, Expr):
            counts[id(value)] = counts.get(id(value), 0) + 1
            if counts[id(value)] == 1:
                for part in value._parts:
                    self.count(part, counts)

    def write(self, value: Any, shared: frozenset[int] = frozenset()) -> str:
        if isinstance(value, list):
            return "[" + ", ".join(self.write(item, shared) for item in value) + "]"
        if isinstance(value, tuple):
            return "(" + ", ".join(self.write(item, shared) for item in value) + ")"
        if not isinstance(value, Expr):
            text = _literal(value)
            if text is None:
                raise TypeError(f"{value!r} has no place in a rule")
            return text
        if id(value) in self.names:
            return self.names[id(value)]
        text = value._form.format(*(self.write(part, shared) for part in value._parts))
        if id(value) in shared and value._parts:
            name = f"t{len(self.lets)}"
            self.names[id(value)] = name
            self.lets.append(f"let {name} = {_bare(text)};")
            return name
        return text


def _bare(text: str) -> str:
    """Without parentheses around the whole."""
    if not text.startswith("("):
        return text
    depth = 0
    for i, c in enumerate(text):
        depth += (c == "(") - (c == ")")
        if depth == 0:
            inner = text[1:-1]
            return inner if i == len(text) - 1 and not _has_comma(inner) else text
    return text


def _has_comma(text: str) -> bool:
    depth = 0
    for c in text:
        depth += (c in "([{") - (c in ")]}")
        if c == "," and depth == 0:
            return True
    return False


def _declared(function: Callable[..., Any]) -> dict[str, str]:
    """The variables with what they may match, from the annotations: `w: "param"`, `x: "f32[n, 8]"`."""
    out = {}
    for name, parameter in inspect.signature(function).parameters.items():
        kind = parameter.annotation
        if kind is inspect.Parameter.empty:
            out[name] = ""
            continue
        if isinstance(kind, str) and kind[:1] in "'\"":
            kind = ast.literal_eval(kind)
        out[name] = str(kind)
    return out


class Rule:
    """A rule made of Python functions; `rules` is it as a `tautomer.Rules`."""

    def __init__(self, name: str, text: str) -> None:
        self.name = name
        #: The rule as it is written in a file.
        self.text = text
        self._rules: Rules | None = None

    @property
    def rules(self) -> Rules:
        """The rule as a set of one, or of two if it has both directions."""
        if self._rules is None:
            self._rules = Rules(self.text)
        return self._rules

    def verify(self, **options: Any) -> RuleVerdict:
        """Tries to prove or refute the rule: `tautomer.Rules.verify`. Of two directions, the weaker verdict."""
        return min(self.rules.verify(**options), key=lambda found: LEVELS.index(found.verdict))

    def __add__(self, other: Any) -> Rules:
        both: Rules = self.rules + other
        return both

    def __repr__(self) -> str:
        return f"<tautomer.Rule {self.name}>"

    def __str__(self) -> str:
        return self.text


def rule(
    function: Callable[..., Any] | None = None,
    target: Callable[..., Any] | None = None,
    *,
    name: str | None = None,
    numerics: str = "real",
    where: Callable[..., Any] | str | Iterable[str] | None = None,
    assuming: str | Iterable[str] | None = None,
    both_ways: bool = False,
) -> Any:
    """Makes a rule of a function that returns source and target, or of two functions.

    The functions are called once, with a variable for each parameter. An annotation says what a variable may match:
    `w: "param"`, `x: "f32[n, 8]"`. The name of the function and its documentation are those of the rule.

    >>> import tautomer
    >>> from tautomer import ops
    >>> @tautomer.rule(where=lambda x, w1, w2: w1.shape == w2.shape)
    ... def sum_of_products(x, w1: "param", w2: "param"):
    ...     '''A sum of products with one left side is one product.'''
    ...     return x @ w1 + x @ w2, x @ (w1 + w2)
    >>> print(sum_of_products)
    /// A sum of products with one left side is one product.
    rule sum-of-products(x, w1: param, w2: param) {
      matmul(x, w1) + matmul(x, w2)
      => matmul(x, (w1 + w2))
      where w1.shape == w2.shape
      numerics real
    }
    >>> sum_of_products.verify().verdict
    'proved-all'
    """

    def make(function: Callable[..., Any]) -> Rule:
        declared = _declared(function)
        variables = {variable: Expr(variable) for variable in declared}
        if target is None:
            sides = function(**variables)
            if not isinstance(sides, tuple) or len(sides) != 2:
                raise TypeError("a rule returns its source and its target: `return ops.relu(ops.relu(x)), ops.relu(x)`")
            left, right = sides
        else:
            left, right = function(**variables), target(**{v: variables[v] for v in inspect.signature(target).parameters})
        called = name or function.__name__.strip("_<>").replace("_", "-")
        header = ", ".join(f"{variable}: {kind}" if kind else variable for variable, kind in declared.items())
        writer = _Writer()
        in_source: dict[int, int] = {}
        in_both: dict[int, int] = {}
        writer.count(left, in_source)
        writer.count(left, in_both)
        writer.count(right, in_both)
        shared = frozenset(key for key in in_source if in_both[key] > 1)
        source = _bare(writer.write(left, shared))
        lines = [f"  {let}" for let in writer.lets]
        lines.append(f"  {source}")
        lines.append(f"  {'<=>' if both_ways else '=>'} {_bare(writer.write(right))}")
        conditions = _conditions(where, variables, writer)
        if conditions:
            lines.append(f"  where {', '.join(conditions)}")
        facts = [assuming] if isinstance(assuming, str) else list(assuming or [])
        if facts:
            lines.append(f"  assuming {', '.join(facts)}")
        lines.append(f"  numerics {numerics}")
        doc = inspect.cleandoc(function.__doc__) if function.__doc__ else ""
        docs = "".join(f"/// {line}".rstrip() + "\n" for line in doc.splitlines())
        return Rule(called, f"{docs}rule {called}({header}) {{\n" + "\n".join(lines) + "\n}")

    return make if function is None else make(function)


def _conditions(where: Any, variables: dict[str, Expr], writer: _Writer) -> list[str]:
    if where is None:
        return []
    if isinstance(where, str):
        return [where]
    if callable(where):
        found = where(**{v: variables[v] for v in inspect.signature(where).parameters})
        where = list(found) if isinstance(found, (list, tuple)) else [found]
    return [condition if isinstance(condition, str) else _bare(writer.write(condition)) for condition in where]
