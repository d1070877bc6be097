"""Copied views, sorted rows and runs: compares tautomer with torch and NumPy, one run, one thread each.

    python strided.py [--rounds N] [--only TEXT] [--strict]

Runs the cases of benches/strided.rs ($TAUTOMER_BENCH names the built benchmark, else `cargo bench --no-run` builds it)
and the same in torch and NumPy, in turn, round by round, and prints for each case the median of the rounds' medians in
milliseconds, the speed relative to the faster of the two, and the required bound. With --strict, the exit code is 1 if a
bound is missed. On a machine with other work, --by fastest uses the fastest run of all rounds instead. It needs the
environment of run.sh with `pip install torch==2.15.0 numpy`.
"""

import argparse
import json
import os
import pathlib
import re
import statistics
import subprocess
import sys
import time

os.environ.update(OMP_NUM_THREADS="1", MKL_NUM_THREADS="1")

import numpy as np
import torch

ROOT = pathlib.Path(__file__).resolve().parents[2]
UNITS = {"ns": 1e-6, "µs": 1e-3, "ms": 1.0, "s": 1e3}
SECONDS = 0.5


def build():
    """The benchmark, built if necessary."""
    given = os.environ.get("TAUTOMER_BENCH")
    if given:
        return given
    command = ["cargo", "bench", "--bench", "strided", "--no-run", "--message-format=json"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    for line in done.stdout.splitlines():
        message = json.loads(line)
        if message.get("executable") and message["target"]["name"] == "strided":
            return message["executable"]
    raise RuntimeError("cargo built no benchmark `strided`")


def by_tautomer(binary, case):
    """The median and the fastest run that divan shows, in milliseconds."""
    command = [binary, "--bench", f"strided::{case}", "--exact", "--color", "never", "--max-time", str(SECONDS)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    for line in done.stdout.splitlines():
        if re.match(rf"[├╰]─ {case}\s", line):
            cells = line.split("│")
            fastest, median = cells[0].split()[-2:], cells[2].split()
            return [float(value) * UNITS[unit] for value, unit in (median, fastest)]
    raise RuntimeError(f"no line for {case}:\n{done.stdout}")


def by_python(f):
    """The median and the fastest of repeated calls, in milliseconds; None without a function."""
    if f is None:
        return None
    f()
    times, end = [], time.perf_counter() + SECONDS
    while len(times) < 5 or (time.perf_counter() < end and len(times) < 1000):
        begin = time.perf_counter()
        f()
        times.append(time.perf_counter() - begin)
    return [1e3 * statistics.median(times), 1e3 * min(times)]


def cases():
    """Name, function in torch, function in NumPy, and the bound: how many times faster than which one."""
    random = np.random.default_rng(7)

    def numbers(*shape, distinct=97):
        return random.integers(0, distinct, shape).astype(np.float32)

    def pair(array, of_torch, of_numpy):
        t = torch.from_numpy(array)
        return (lambda: of_torch(t)), (of_numpy and (lambda: of_numpy(array)))

    def axes(array, order):
        return pair(array, lambda t: t.permute(order).contiguous(), lambda a: np.ascontiguousarray(a.transpose(order)))

    def diagonal(array, first, second):
        return pair(
            array,
            lambda t: torch.diagonal(t, 0, first, second).contiguous(),
            lambda a: np.ascontiguousarray(np.diagonal(a, 0, first, second)),
        )

    def part(array, of_torch, *ranges):
        return pair(array, lambda t: of_torch(t).contiguous(), lambda a: np.ascontiguousarray(a[ranges]))

    def argsort(a, axis):
        places = np.argsort(a, axis=axis, kind="stable")
        return np.take_along_axis(a, places, axis), places

    def sort(array, axis):
        return pair(array, lambda t: torch.sort(t, dim=axis, stable=True), lambda a: argsort(a, axis))

    def runs(a):
        firsts = np.concatenate(([True], a[1:] != a[:-1]))
        places = np.flatnonzero(firsts)
        return a[firsts], np.cumsum(firsts) - 1, np.diff(places, append=len(a))

    images, every = numbers(8, 64, 112, 112), slice(None)
    inner, second, back = slice(1, -1), slice(None, None, 2), slice(None, None, -1)
    grid = numbers(1000, 1000, distinct=1 << 24)
    small = numbers(256, 256, 8, 8)

    def shuffled(t):
        return t.view(8, 8, 8, 112, 112).transpose(1, 2).contiguous().view(t.shape)

    def shuffled_np(a):
        return np.ascontiguousarray(a.reshape(8, 8, 8, 112, 112).swapaxes(1, 2)).reshape(a.shape)

    unique = {"return_inverse": True, "return_counts": True}
    rows = np.repeat(numbers(10_000, 64, distinct=3), 2, axis=0)
    yield "copy", *pair(images, lambda t: t.clone(), lambda a: a.copy()), None
    yield "nchw_to_nhwc", *axes(images, (0, 2, 3, 1)), (0.8, "copy")
    yield "nhwc_to_nchw", *axes(numbers(8, 112, 112, 64), (0, 3, 1, 2)), (5.0, "torch")
    yield "transpose_2048", *axes(numbers(2048, 2048), (1, 0)), (3.0, "torch")
    yield "reverse_11_axes", *axes(numbers(*[2] * 10, 1024), tuple(range(11))[::-1]), None
    yield "diagonal_last", *diagonal(numbers(64, 512, 512), 1, 2), (1.0, "faster")
    yield "diagonal_first", *diagonal(numbers(64, 512, 512), 0, 1), None
    yield "diagonal_small", *diagonal(small, 2, 3), (3.0, "diagonal_small_by_positions")
    yield "diagonal_small_by_positions", None, None, None
    yield "slice_rows", *part(images, lambda t: t[:, :, 1:-1, 1:-1], every, every, inner, inner), None
    yield "slice_every_second", *part(images, lambda t: t[:, :, ::2, ::2], every, every, second, second), None
    yield "flip_last", *part(images, lambda t: t.flip(3), every, every, every, back), None
    yield "channel_shuffle_8", *pair(images, shuffled, shuffled_np), None
    yield "sort_last", *sort(grid, 1), (1.0, "torch")
    yield "sort_first", *sort(grid, 0), (1.0, "torch")
    yield "unique_rows", *pair(rows, lambda t: torch.unique_consecutive(t, dim=0, **unique), None), (1.0, "torch")
    flat = numbers(1_000_000, distinct=3)
    yield "unique_flat", *pair(flat, lambda t: torch.unique_consecutive(t, **unique), runs), (1.0, "torch")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--only", default="")
    parser.add_argument("--by", choices=["median", "fastest"], default="median")
    parser.add_argument("--strict", action="store_true")
    options = parser.parse_args()
    torch.set_num_threads(1)
    binary, table = build(), list(cases())
    compared = {case[3][1] for case in table if case[3]}
    chosen = [case for case in table if options.only in case[0] or case[0] in compared]
    times = {name: ([], [], []) for name, *_ in chosen}
    for _ in range(options.rounds):
        for name, of_torch, of_numpy, _ in chosen:
            for column, found in enumerate((by_tautomer(binary, name), by_python(of_torch), by_python(of_numpy))):
                if found is not None:
                    times[name][column].append(found)
    if options.by == "fastest":
        joined = {n: [min(t[1] for t in c) if c else None for c in columns] for n, columns in times.items()}
    else:
        joined = {n: [statistics.median(t[0] for t in c) if c else None for c in columns] for n, columns in times.items()}
    said = f"{options.by} in ms of {options.rounds} rounds"
    print(f"torch {torch.__version__}, NumPy {np.__version__}, one thread, {said}")
    print(f"{'case':28} {'tautomer':>9} {'torch':>9} {'numpy':>9} {'speed':>7}  bound")
    missed = []
    for name, _, _, bound in chosen:
        own, of_torch, of_numpy = joined[name]
        peers = [t for t in (of_torch, of_numpy) if t is not None]
        speed = f"{min(peers) / own:7.2f}" if peers else " " * 7
        said = ""
        if bound:
            least, what = bound
            other = {"torch": of_torch, "faster": min(peers) if peers else None}.get(what) or joined[what][0]
            met = other / own >= least
            said = f"{other / own:.2f} of {what}, to be {least}: {'met' if met else 'MISSED'}"
            missed += [] if met else [name]
        columns = " ".join("         " if t is None else f"{t:9.3f}" for t in joined[name])
        print(f"{name:28} {columns} {speed}  {said}")
    return 1 if missed and options.strict else 0


if __name__ == "__main__":
    sys.exit(main())
