"""The notebook of the examples is executed and shows the report; its page is drawn where there is a browser."""

import os
import shutil
import struct
import subprocess
import zlib
from pathlib import Path

import pytest

nbformat = pytest.importorskip("nbformat")
nbclient = pytest.importorskip("nbclient")
pytest.importorskip("ipykernel")

NOTEBOOK = Path(__file__).parents[1] / "examples" / "rules.ipynb"


@pytest.fixture(scope="module")
def executed():
    notebook = nbformat.read(NOTEBOOK, as_version=4)
    nbclient.NotebookClient(notebook, timeout=300, kernel_name="python3").execute()
    return notebook


def test_the_notebook_runs(executed):
    shown = [output["data"] for cell in executed.cells for output in cell.get("outputs", []) if "data" in output]
    assert any("<iframe" in data.get("text/html", "") for data in shown)
    assert any("proved" in data.get("text/plain", "") for data in shown)


def test_the_page_of_the_notebook_is_drawn(executed, tmp_path):
    nbconvert = pytest.importorskip("nbconvert")
    browser = next((found for name in ("chromium", "chromium-browser", "google-chrome") if (found := shutil.which(name))), None)
    if browser is None:
        pytest.skip("there is no Chromium")
    page = tmp_path / "rules.html"
    page.write_text(nbconvert.HTMLExporter().from_notebook_node(executed)[0])
    # To be looked at where the variable says.
    picture = Path(os.environ.get("TAUTOMER_ARTEFACTS", tmp_path)) / "rules.png"
    command = [browser, "--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--window-size=1000,2000"]
    # In a process of its own, the frame might be drawn after the picture is taken.
    command += ["--disable-features=IsolateSandboxedIframes,IsolateOrigins,site-per-process", "--disable-site-isolation-trials"]
    options = ["--virtual-time-budget=5000", f"--user-data-dir={tmp_path / 'profile'}", f"--screenshot={picture}"]
    subprocess.run([*command, *options, page.as_uri()], check=True, capture_output=True, timeout=180)
    width, height, rows = pixels(picture.read_bytes())
    assert (width, height) == (1000, 2000)
    # The report is as wide as the page: its frame has a border at the right, over at least 240 pixels.
    border = [y for y, row in enumerate(rows) if row[-60:].count((204, 204, 204)) >= 1]
    assert len(border) > 240, "the frame of the report is not drawn"
    inside = {pixel for y in border for pixel in rows[y][150:900]}
    assert len(inside) > 50, "the frame of the report is empty"


def pixels(data):
    """Width, height and rows of a PNG file with 8 bits for each of three or four colors."""
    assert data[:8] == b"\x89PNG\r\n\x1a\n"
    at, packed, header = 8, b"", None
    while at < len(data):
        length, kind = struct.unpack(">I4s", data[at : at + 8])
        if kind == b"IHDR":
            header = struct.unpack(">IIBB", data[at + 8 : at + 18])
        if kind == b"IDAT":
            packed += data[at + 8 : at + 8 + length]
        at += 12 + length
    assert header is not None
    width, height, depth, color = header
    assert depth == 8 and color in (2, 6)
    size = 3 if color == 2 else 4
    raw, rows, before = zlib.decompress(packed), [], bytes(width * size)
    for y in range(height):
        start = y * (width * size + 1)
        line = unfiltered(raw[start], bytearray(raw[start + 1 : start + 1 + width * size]), before, size)
        rows.append([tuple(line[x : x + 3]) for x in range(0, width * size, size)])
        before = bytes(line)
    return width, height, rows


def unfiltered(kind, line, above, size):
    for i in range(len(line)):
        left = line[i - size] if i >= size else 0
        corner = above[i - size] if i >= size else 0
        if kind == 1:
            line[i] = (line[i] + left) & 255
        elif kind == 2:
            line[i] = (line[i] + above[i]) & 255
        elif kind == 3:
            line[i] = (line[i] + (left + above[i]) // 2) & 255
        elif kind == 4:
            guess = left + above[i] - corner
            near = min((left, above[i], corner), key=lambda value: abs(guess - value))
            line[i] = (line[i] + near) & 255
    return line
