"""What notebooks show."""

from __future__ import annotations

import html
import re
import sys
import time


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
    """A line that shows the stage and the time: tqdm's, if that package is there, and plain text otherwise."""

    def __init__(self) -> None:
        self.begin = time.monotonic()
        try:
            from tqdm.auto import tqdm  # type: ignore[import-untyped, unused-ignore]

            self._bar = tqdm(bar_format="{desc} {elapsed}")
        except ImportError:
            self._bar = None

    def told(self, stage: str, done: int | None, of: int | None) -> None:
        """Shows another stage, or how far it is."""
        count = "" if done is None else f": {done}" + ("" if of is None else f" of {of}")
        if self._bar is not None:
            self._bar.set_description_str(f"{stage}{count}")
        else:
            seconds = time.monotonic() - self.begin
            print(f"\r{stage}{count} {seconds:.0f} s\x1b[K", end="", file=sys.stderr, flush=True)

    def close(self) -> None:
        """Ends the line."""
        if self._bar is not None:
            self._bar.close()
        else:
            print("\r\x1b[K", end="", file=sys.stderr, flush=True)
