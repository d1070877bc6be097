"""What notebooks show."""

from __future__ import annotations

import html
import sys
import time


def framed(page: str) -> str:
    """A page inside a cell, so that its styles do not meet those of the notebook."""
    return (
        f'<iframe srcdoc="{html.escape(page, quote=True)}" sandbox="" '
        'style="width: 100%; height: 32em; border: 1px solid #ccc"></iframe>'
    )


class Bar:
    """A line that shows the stage and the time: tqdm's, if that package is there, and plain text otherwise."""

    def __init__(self) -> None:
        self.begin = time.monotonic()
        try:
            from tqdm.auto import tqdm

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
