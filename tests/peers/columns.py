"""Expressions over columns: tautomer compared with NumPy, numexpr, JAX, pyarrow, DuckDB, DataFusion and fused C in one
run, one thread.

    python columns.py [--rounds N] [--rows N ...] [--only NAME ...] [--no NAME ...]

Runs the expressions of crates/columns/benches/expressions.rs ($TAUTOMER_BENCH names the built benchmark, else
`cargo bench --no-run` builds it) and the same in the others, alternating round by round, and prints the median of the
rounds' medians in nanoseconds a row, and the ratio to C. C is compiled with `cc -O3 -march=native -ffast-math`: it may
contract and reassociate, which tautomer does not. `nulls` is tautomer with nulls in every column. C, NumPy's last
operation, numexpr and tautomer write into buffers that exist; JAX makes a new array for each result; DuckDB and
DataFusion compute a sum, so that they make no result, and plan the query each time. All run on one core.
A library that is not installed is named and left out: `pip install numpy numexpr jax pyarrow duckdb datafusion`. Gandiva
is in no current package: `--gandiva` names a Python for columns_gandiva.py, which says how to make one. It makes a new array for
each result, and lacks `sin`, `cos`, `tanh` and `sqrt`.
"""

import argparse
import ctypes
import functools
import importlib
import json
import math
import operator
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

os.environ.update(OMP_NUM_THREADS="1", NUMEXPR_NUM_THREADS="1", JAX_PLATFORMS="cpu")
# XLA has no setting that keeps it to one thread.
if hasattr(os, "sched_setaffinity"):
    os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})

import numpy as np

ROOT = pathlib.Path(__file__).resolve().parents[2]
NAMES = "abcdewk"


def optional(name):
    try:
        return importlib.import_module(name)
    except ImportError:
        print(f"LEFT OUT: {name} is not installed", file=sys.stderr)
        return None


numexpr, jax, pyarrow, duckdb, datafusion = (
    optional(name) for name in ("numexpr", "jax", "pyarrow", "duckdb", "datafusion")
)
if pyarrow:
    import pyarrow.compute as pc

HORNER = "0.1"
for i in range(2, 10):
    HORNER = f"({HORNER} * a + 0.{i})"
TWENTY = "a"
for i in range(10):
    TWENTY = f"(({TWENTY} + {0.1 * (i + 1):.1f}) * {1.1 + 0.1 * i:.1f})"

# Each expression in C; Python, numexpr and SQL have the same but for names of functions, choices and membership.
EXPRESSIONS = {
    "E1": "a + b",
    "E2": "a * b + c",
    "E3": "c * (a + b)",
    "E4": "((a * b + c) * (d - e) + w * (a + c)) * (b + d * e)",
    "E5": "sin(a) * cos(b) + exp(-c)",
    "E6": "1 / (1 + exp(-(a * w + b)))",
    "E7": None,
    "E8": "0.5 * a * (1 + tanh(0.7978845608028654 * (a + 0.044715 * a * a * a)))",
    "E9": HORNER,
    "E10": TWENTY,
    "E11": None,
}
C = EXPRESSIONS | {"E7": "a > 0.5 ? sqrt(b) : b * 1000", "E11": "(k == 1 || k == 3 || k == 5) & (b < c)"}
NUMPY = EXPRESSIONS | {"E7": "where(a > 0.5, sqrt(b), b * 1000)", "E11": "isin(k, (1, 3, 5)) & (b < c)"}
NUMEXPR = EXPRESSIONS | {"E7": NUMPY["E7"], "E11": "((k == 1) | (k == 3) | (k == 5)) & (b < c)"}
SQL = EXPRESSIONS | {
    "E7": "case when a > 0.5 then sqrt(b) else b * 1000 end",
    "E11": "(k in (1, 3, 5) and b < c)::int",
}


def by_c(columns, rows):
    """Fused loops, one for each expression."""
    arguments = ", ".join(f"const double *restrict {name}_" for name in NAMES)
    reads = " ".join(f"double {name} = {name}_[i];" for name in NAMES)
    source = ["#include <math.h>"]
    for name, text in C.items():
        kind = "unsigned char" if name == "E11" else "double"
        source.append(
            f"void {name}(long n, {kind} *restrict out, {arguments}) {{ for (long i = 0; i < n; i++) {{ {reads} "
            f"(void)a; (void)b; (void)c; (void)d; (void)e; (void)w; (void)k; out[i] = {text}; }} }}"
        )
    folder = pathlib.Path(tempfile.mkdtemp())
    (folder / "c.c").write_text("\n".join(source))
    command = ["cc", "-O3", "-march=native", "-ffast-math", "-shared", "-fPIC", "-o", folder / "c.so", folder / "c.c"]
    subprocess.run([*command, "-lmvec", "-lm"], check=True)
    library = ctypes.CDLL(str(folder / "c.so"))
    pointers = [columns[name].ctypes.data_as(ctypes.c_void_p) for name in NAMES]

    def runner(name):
        out = np.zeros(rows, np.uint8 if name == "E11" else np.float64)
        call, to = getattr(library, name), out.ctypes.data_as(ctypes.c_void_p)
        return lambda: call(ctypes.c_long(rows), to, *pointers)

    return runner


def by_numpy(columns, rows):
    names = {name: getattr(np, name) for name in ("sin", "cos", "exp", "tanh", "where", "sqrt", "isin")} | columns

    def runner(name):
        if name == "E1":
            out = np.zeros(rows)
            return lambda: np.add(columns["a"], columns["b"], out=out)
        code = compile(NUMPY[name], name, "eval")
        return lambda: eval(code, names)

    return runner


def by_numexpr(columns, rows):
    numexpr.set_num_threads(1)

    def runner(name):
        out = np.zeros(rows, bool if name == "E11" else np.float64)
        return lambda: numexpr.evaluate(NUMEXPR[name], columns, out=out)

    return runner


def by_jax(columns, rows):
    jax.config.update("jax_enable_x64", True)
    functions = {name: getattr(jax.numpy, name) for name in ("sin", "cos", "exp", "tanh", "where", "sqrt")}
    functions["isin"] = lambda x, members: functools.reduce(operator.or_, (x == m for m in members))
    on_device = [jax.numpy.asarray(columns[name]) for name in NAMES]

    def runner(name):
        code = compile(NUMPY[name], name, "eval")
        call = jax.jit(lambda *values: eval(code, functions | dict(zip(NAMES, values))))
        return lambda: call(*on_device).block_until_ready()

    return runner


class Column:
    """A pyarrow array with the operators and functions of expressions."""

    def __init__(self, array):
        self.array = array

    def of(self, function, *others):
        return Column(function(self.array, *(getattr(other, "array", other) for other in others)))

    def __add__(self, other): return self.of(pc.add, other)
    def __radd__(self, other): return self.of(pc.add, other)
    def __sub__(self, other): return self.of(pc.subtract, other)
    def __mul__(self, other): return self.of(pc.multiply, other)
    def __rmul__(self, other): return self.of(pc.multiply, other)
    def __neg__(self): return self.of(pc.negate)
    def __rtruediv__(self, other): return Column(pc.divide(float(other), self.array))
    def __gt__(self, other): return self.of(pc.greater, other)
    def __lt__(self, other): return self.of(pc.less, other)
    def __and__(self, other): return self.of(pc.and_kleene, other)


def by_pyarrow(columns, rows):
    pyarrow.set_cpu_count(1)
    names = {name: Column(pyarrow.array(column)) for name, column in columns.items()}
    names |= {name: (lambda f: lambda x: x.of(f))(getattr(pc, name)) for name in ("sin", "cos", "exp", "tanh", "sqrt")}
    names["where"] = lambda c, a, b: c.of(pc.if_else, a, b)
    names["isin"] = lambda x, members: Column(pc.is_in(x.array, pyarrow.array([float(m) for m in members])))

    def runner(name):
        code = compile(NUMPY[name], name, "eval")
        return lambda: eval(code, names)

    return runner


def by_duckdb(columns, rows):
    connection = duckdb.connect()
    connection.execute("set threads to 1")
    table = pyarrow.table(columns) if pyarrow else None
    connection.register("given", table if pyarrow else columns)
    connection.execute("create table t as select * from given")

    def runner(name):
        query = f"select sum({SQL[name]}) from t"
        return lambda: connection.execute(query).fetchall()

    return runner


def by_datafusion(columns, rows):
    context = datafusion.SessionContext(datafusion.SessionConfig().with_target_partitions(1))
    context.from_arrow(pyarrow.table(columns), name="t")

    def runner(name):
        query = f"select sum({SQL[name]}) from t".replace("::int", "::bigint")
        return lambda: context.sql(query).collect()

    return runner


def binary():
    """The path of the benchmark, built if necessary."""
    given = os.environ.get("TAUTOMER_BENCH")
    if given:
        return given
    command = ["cargo", "bench", "-p", "tautomer-columns", "--no-run", "--message-format=json"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    for line in done.stdout.splitlines():
        message = json.loads(line)
        if message.get("executable") and message["target"]["name"] == "expressions":
            return message["executable"]
    raise RuntimeError("cargo built no benchmark `expressions`")


class Program:
    """A program that answers a line with a name, a number of rows and a number of seconds with the median and the fastest
    time of an evaluation."""

    def __init__(self, command, seconds):
        self.seconds = seconds
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def times(self, name, rows):
        """The two times in seconds; NaN for an expression that it cannot compute."""
        self.process.stdin.write(f"{name} {rows} {self.seconds}\n")
        self.process.stdin.flush()
        answer = self.process.stdout.readline().split()
        return (math.nan, math.nan) if answer == ["-"] else tuple(float(word) for word in answer)

    def end(self):
        self.process.stdin.close()
        self.process.wait()


def timed(f, seconds):
    """The median and the fastest time of repeated calls, in seconds."""
    f()
    times, begin = [], time.perf_counter()
    while len(times) < 5 or time.perf_counter() - begin < seconds:
        start = time.perf_counter()
        f()
        times.append(time.perf_counter() - start)
    return statistics.median(times), min(times)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=0.1, help="for each measurement of a round")
    parser.add_argument("--rows", type=int, nargs="*", default=[10_000, 1_000_000])
    parser.add_argument("--only", nargs="*", default=list(EXPRESSIONS))
    parser.add_argument("--no", nargs="*", default=[], help="libraries to leave out")
    parser.add_argument("--gandiva", help="a Python that has pyarrow 0.17.1, with Gandiva")
    parser.add_argument("--fastest", action="store_true", help="the fastest run instead of the median of medians")
    given = parser.parse_args()
    tautomer = Program([binary(), "--peer"], given.seconds)
    gandiva = Program([given.gandiva, ROOT / "tests/peers/columns_gandiva.py"], given.seconds) if given.gandiva else None
    if gandiva:
        compiled = gandiva.times("compile", 100)[0]
        print(f"Gandiva compiles E4 in {compiled * 1e3:.1f} ms")

    random = np.random.default_rng(7)
    for rows in given.rows:
        columns = {name: random.random(rows) for name in NAMES}
        columns["k"] = np.floor(columns["k"] * 8)
        makers = {"C": by_c, "NumPy": by_numpy}
        makers |= {"numexpr": by_numexpr} if numexpr else {}
        makers |= {"JAX": by_jax} if jax else {}
        makers |= {"pyarrow": by_pyarrow} if pyarrow else {}
        makers |= {"DuckDB": by_duckdb} if duckdb else {}
        makers |= {"DataFusion": by_datafusion} if datafusion and pyarrow else {}
        runners = {peer: maker(columns, rows) for peer, maker in makers.items() if peer not in given.no}
        head = ["tautomer", "nulls"] + (["Gandiva"] if gandiva else [])
        print(f"\n{rows} rows, ns a row\n\n| | {' | '.join(head + list(runners))} | tautomer / C |")
        print("| --- |" + " --: |" * (len(head) + len(runners) + 1))
        for name in given.only:
            ready = {peer: runner(name) for peer, runner in runners.items()}
            found = {peer: [] for peer in head + list(ready)}
            for _ in range(given.rounds):
                found["tautomer"].append(tautomer.times(name, rows))
                found["nulls"].append(tautomer.times(name + "null", rows))
                if gandiva:
                    found["Gandiva"].append(gandiva.times(name, rows))
                for peer, run in ready.items():
                    found[peer].append(timed(run, given.seconds))
            pick = (lambda all: min(t[1] for t in all)) if given.fastest else (
                lambda all: statistics.median(t[0] for t in all))
            times = {peer: pick(all) * 1e9 / rows for peer, all in found.items()}
            cells = " | ".join("" if math.isnan(value) else f"{value:.2f}" for value in times.values())
            print(f"| {name} | {cells} | {times['tautomer'] / times['C']:.2f} |", flush=True)
    for program in (tautomer, gandiva):
        if program:
            program.end()


if __name__ == "__main__":
    main()
