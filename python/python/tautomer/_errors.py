"""Messages as an exception."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any


def lines(data: str) -> list[str]:
    """Notes and warnings of the library, one line each."""
    return [f"{one['code']}: {one['message']}" for one in json.loads(data)["diagnostics"]]


@dataclass(frozen=True)
class Label:
    """A place that a message points at: the text there, and line and column from 1 if the text has lines."""

    text: str
    line: int | None
    column: int | None
    data: dict[str, Any]


class Error(Exception):
    """What is wrong, where, and what to do about it; `str` is the rendered text.

    >>> import tautomer
    >>> try:
    ...     tautomer.optimize("fn main(x: f32[2]) { rleu(x) }")
    ... except tautomer.Error as error:
    ...     print(error.code, error.message)
    T0101 unknown operator `rleu`
    """

    def __init__(self, text: str, data: str | None = None) -> None:
        super().__init__(text)
        #: All problems, as the command line prints them with `--json`.
        self.problems: list[dict[str, Any]] = json.loads(data)["diagnostics"] if data else []

    def __reduce__(self) -> tuple[Any, ...]:
        return Error, (str(self), json.dumps({"diagnostics": self.problems}))

    @property
    def code(self) -> str:
        """The code of the first problem, which `tautomer.explain` describes."""
        return self.problems[0]["code"] if self.problems else ""

    @property
    def message(self) -> str:
        """What is wrong, in one sentence."""
        return self.problems[0]["message"] if self.problems else str(self)

    @property
    def help(self) -> list[str]:
        """What to do about the first problem."""
        return list(self.problems[0].get("help", [])) if self.problems else []

    @property
    def labels(self) -> list[Label]:
        """The places that the first problem points at."""
        if not self.problems:
            return []
        found = []
        for label in self.problems[0].get("labels", []):
            start = label.get("start", {})
            place = start if isinstance(start, dict) else {}
            line, column = label.get("line", place.get("line")), label.get("column", place.get("column"))
            found.append(Label(label.get("text", ""), line, column, label))
        return found
