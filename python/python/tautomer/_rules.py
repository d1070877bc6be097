"""Rule sets."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from . import _core
from ._errors import lines

#: Verdicts from the weakest to the strongest.
LEVELS = ("refuted", "undecided", "tested", "proved", "proved-all")


@dataclass(frozen=True)
class RuleVerdict:
    """What is known about a rule: `refuted`, `undecided`, `tested`, `proved` or `proved-all`."""

    rule: str
    verdict: str
    #: The verdict in words.
    says: str
    #: Of a refuted rule: both sides as programs, the values of their inputs, and what differs.
    counterexample: dict[str, Any] | None = None

    def __bool__(self) -> bool:
        return self.verdict not in ("refuted", "undecided")

    def __str__(self) -> str:
        text = f"{self.rule}: {self.says}"
        if self.counterexample is None:
            return text
        found = self.counterexample
        lines = [text, "source:", found["source"], "target:", found["target"]]
        lines += [f"{name} = {value}" for name, value in found["values"].items()]
        at = f" at {found['element']}" if found["element"] is not None else ""
        lines.append(f"output {found['output']}{at}: {found['expected']} in the source, {found['found']} in the target")
        return "\n".join(lines)


def _is_text(source: str) -> bool:
    return "=>" in source or "\n" in source


class Rules:
    """Rules from texts, files, directories, or sets that come with the tool: `"built-in"`, `"gsl"`, `"taso"`.

    >>> import tautomer
    >>> rules = tautomer.Rules("/// Twice is once.\\nrule twice(x) { relu(relu(x)) => relu(x) numerics bitwise }")
    >>> rules.names
    ['twice']
    >>> print(rules["twice"])
    rule twice(x) { relu(relu(x)) => relu(x) numerics bitwise }
    >>> rules.verify()[0].verdict
    'proved-all'
    >>> (rules + "gsl").names[:1]
    ['twice']
    """

    def __init__(self, *sources: Any) -> None:
        found: _core.RuleSet | None = None
        for source in sources:
            one = self._one(source)
            found = one if found is None else found.joined(one)
        if found is None:
            found = _core.RuleSet.parse("<empty>", "")
        self._core = found

    @staticmethod
    def _one(source: Any) -> _core.RuleSet:
        from ._rule import Rule

        if isinstance(source, Rules):
            return source._core
        if isinstance(source, Rule):
            return source.rules._core
        if isinstance(source, str) and _is_text(source):
            return _core.RuleSet.parse("<rules>", source)
        if isinstance(source, (str, os.PathLike)):
            return _core.RuleSet.read([Path(os.fspath(source))])
        raise TypeError(f"rules are a text, a path, the name of a set or tautomer.Rules, not {type(source).__name__}")

    @classmethod
    def _core_of(cls, rules: Any) -> _core.RuleSet | None:
        """What `optimize` is given, for the library; nothing for the rules that come with it."""
        if rules is None:
            return None
        return cls(*(rules if isinstance(rules, (list, tuple)) else [rules]))._core

    def __add__(self, other: Any) -> "Rules":
        return Rules(self, other)

    def __len__(self) -> int:
        return len(self._core.rules())

    def __iter__(self) -> Iterator[str]:
        return iter(self.names)

    def __contains__(self, name: str) -> bool:
        return name in self.names

    def __getitem__(self, name: str) -> str:
        text = self._core.text(name)
        if text is None:
            raise KeyError(name)
        return text

    @property
    def names(self) -> list[str]:
        """The names of the rules, in order."""
        return [name for name, _, _ in self._core.rules()]

    @property
    def text(self) -> str:
        """The texts of the rules, as they are written."""
        return "\n".join(dict.fromkeys(text for name in self.names if (text := self._core.text(name))))

    def check(self) -> list[str]:
        """Warnings, such as rules without documentation; errors are raised when rules are read."""
        return lines(self._core.warnings())

    @property
    def verdicts(self) -> dict[str, RuleVerdict | None]:
        """Stored verdicts: of rules that come with the tool, and from lock files beside rule files."""
        stored = json.loads(self._core.verdicts())
        return {name: v and RuleVerdict(name, v["verdict"], v["says"]) for name, v in stored.items()}

    def verify(
        self,
        *,
        instances: int | None = None,
        seed: int = 0,
        threads: int | None = None,
        progress: Callable[[str, int | None, int | None], None] | bool | None = None,
    ) -> list[RuleVerdict]:
        """Tries to prove or refute each rule, on small instances built to break it and for all sizes."""
        from ._optimize import watcher

        told, done = watcher(progress)
        try:
            found = json.loads(self._core.verify(instances, seed, threads or os.cpu_count() or 1, told))
        finally:
            done()
        return [RuleVerdict(v["rule"], v["verdict"], v["says"], v.get("counterexample")) for v in found]

    def __repr__(self) -> str:
        return f"<tautomer.Rules: {len(self)} rules>"
