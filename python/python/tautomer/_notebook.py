"""What notebooks show."""

from __future__ import annotations

import html
import re
import sys
import time
from typing import Any


#: A cell is narrower than a window, and its text smaller.
STYLE = """<style>
body { margin: .8em 1.2em; max-width: none; font-size: 14px; background: white; }
h1 { font-size: 1.3em; margin: 0; }
h2 { font-size: 1.1em; }
</style>
"""

#: The height of a cell in pixels that shows all of a small report, and the most that a large one takes.
LEAST, MOST = 240, 900


def framed(page: str) -> str:
    """A page inside a cell, so that its styles do not meet those of the notebook."""
    page = page.replace("</head>", STYLE + "</head>", 1)
    pictures = sum(float(height) for height in re.findall(r'<svg[^>]* height="([\d.]+)', page))
    lines = len(re.findall(r"<(?:tr|dt|p|h2|h3|pre)\b", page))
    height = max(LEAST, min(MOST, int(pictures) + 30 * lines + 60))
    return (
        f'<iframe srcdoc="{html.escape(page, quote=True)}" sandbox="" '
        f'style="width: 100%; height: {height}px; resize: vertical; overflow: auto; border: 1px solid #ccc"></iframe>'
    )


class Bar:
    """A line that shows the stage and the time, and how far it is where that is known: tqdm's, if that package is there,
    and one that looks like it otherwise."""

    def __init__(self) -> None:
        self._begin = time.monotonic()
        self._bar: Any = None
        self._of: int | None = None
        self._tqdm: Any = None
        try:
            from tqdm.auto import tqdm  # type: ignore[import-untyped, unused-ignore]

            self._tqdm = tqdm
        except ImportError:
            pass

    def told(self, stage: str, done: int | None, of: int | None) -> None:
        """Shows another stage, or how far it is."""
        if self._tqdm is None:
            seconds = int(time.monotonic() - self._begin)
            print(f"\r{drawn(stage, done, of, seconds)}\x1b[K", end="", file=sys.stderr, flush=True)
            return
        if self._bar is None or of != self._of:
            self.close()
            form = {"bar_format": "{desc} {elapsed}"} if of is None else {"total": of}
            self._bar, self._of = self._tqdm(**form), of
        if of is None:
            self._bar.set_description_str(stage if done is None else f"{stage}: {done}")
        else:
            self._bar.set_description(stage, refresh=False)
            self._bar.n = done or 0
            self._bar.refresh()

    def close(self) -> None:
        """Ends the line."""
        if self._bar is not None:
            self._bar.close()
            self._bar = None
        elif self._tqdm is None:
            print("\r\x1b[K", end="", file=sys.stderr, flush=True)


def drawn(stage: str, done: int | None, of: int | None, seconds: int) -> str:
    """The line of a stage as tqdm draws it: with a bar if the number of its items is known."""
    elapsed = f"{seconds // 60:02}:{seconds % 60:02}"
    if not of:
        return f"{stage} {elapsed}" if done is None else f"{stage}: {done} {elapsed}"
    part = min((done or 0) / of, 1.0)
    full = int(10 * part)
    return f"{stage}: {100 * part:3.0f}%|{'█' * full}{' ' * (10 - full)}| {done or 0}/{of} [{elapsed}]"
