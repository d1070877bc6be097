"""Gandiva as a peer of columns.py: run by a Python of its own, since only old packages of pyarrow contain Gandiva.

    python3.7 -m venv VENV && VENV/bin/pip install numpy==1.16.6 pyarrow==0.17.1
    python columns.py --gandiva VENV/bin/python

Reads a name, a number of rows and a number of seconds from each line, and answers with the median and the fastest time of
an evaluation, in seconds; with `-` for expressions that this version has no functions for. For a name of `compile`, the
times are those of making a projector that has not been made before.
"""

import statistics
import sys
import time

import numpy as np
import pyarrow as pa
import pyarrow.gandiva as gandiva

NAMES = "abcdewk"
F64, BOOL = pa.float64(), pa.bool_()


class Node:
    """An expression of Gandiva with the operators of Python."""

    def __init__(self, builder, node, kind=F64):
        self.builder, self.node, self.kind = builder, node, kind

    def call(self, name, *others, kind=F64):
        nodes = [self.node] + [self.lifted(other).node for other in others]
        return Node(self.builder, self.builder.make_function(name, nodes, kind), kind)

    def lifted(self, value):
        if isinstance(value, Node):
            return value
        return Node(self.builder, self.builder.make_literal(float(value), F64))

    def __add__(self, other): return self.call("add", other)
    def __radd__(self, other): return self.lifted(other).call("add", self)
    def __sub__(self, other): return self.call("subtract", other)
    def __mul__(self, other): return self.call("multiply", other)
    def __rmul__(self, other): return self.lifted(other).call("multiply", self)
    def __rtruediv__(self, other): return self.lifted(other).call("divide", self)
    def __neg__(self): return self.lifted(0.0).call("subtract", self)
    def __lt__(self, other): return self.call("less_than", other, kind=BOOL)
    def __eq__(self, other): return self.call("equal", other, kind=BOOL)
    def exp(self): return self.call("exp")


def horner(a):
    value = a * 0.1
    for i in range(2, 9):
        value = (value + 0.1 * i) * a
    return value + 0.9


def twenty(a):
    value = a
    for i in range(10):
        value = (value + 0.1 * (i + 1)) * (1.1 + 0.1 * i)
    return value


def members(builder, b, c, k):
    equal = builder.make_or([(k == member).node for member in (1.0, 3.0, 5.0)])
    return Node(builder, builder.make_and([equal, (b < c).node]), BOOL)


def expression(builder, name, a, b, c, d, e, w, k):
    """The expression of that name; `None` if this version lacks a function."""
    if name == "E1":
        return a + b
    if name == "E2":
        return a * b + c
    if name == "E3":
        return c * (a + b)
    if name == "E4":
        return ((a * b + c) * (d - e) + w * (a + c)) * (b + d * e)
    if name == "E6":
        return 1.0 / (1.0 + (-(a * w + b)).exp())
    if name == "E9":
        return horner(a)
    if name == "E10":
        return twenty(a)
    if name == "E11":
        return members(builder, b, c, k)
    return None


def projector(batch, name, salt=0.0):
    builder = gandiva.TreeExprBuilder()
    fields = [Node(builder, builder.make_field(batch.schema.field(n))) for n in NAMES]
    root = expression(builder, name, *fields)
    if root is None:
        return None
    if salt:
        root = root + salt
    made = builder.make_expression(root.node, pa.field("out", root.kind))
    return gandiva.make_projector(batch.schema, [made], pa.default_memory_pool())


def batch_of(rows):
    random = np.random.RandomState(7)
    columns = [random.random_sample(rows) for _ in NAMES]
    columns[-1] = np.floor(columns[-1] * 8)
    return pa.RecordBatch.from_arrays([pa.array(column) for column in columns], list(NAMES))


def timed(f, seconds):
    times, begin = [], time.perf_counter()
    while len(times) < 5 or time.perf_counter() - begin < seconds:
        start = time.perf_counter()
        f()
        times.append(time.perf_counter() - start)
    return "{} {}".format(statistics.median(times), min(times))


def main():
    batches, projectors, salt = {}, {}, 0.0
    for line in sys.stdin:
        name, rows, seconds = line.split()
        rows, seconds = int(rows), float(seconds)
        if rows not in batches:
            batches[rows] = batch_of(rows)
        batch = batches[rows]
        if name == "compile":
            salts = iter(range(1, 1 << 30))
            answer = timed(lambda: projector(batch, "E4", salt + next(salts)), seconds)
            salt += 1000.0
        else:
            if (name, rows) not in projectors:
                projectors[name, rows] = projector(batch, name)
            ready = projectors[name, rows]
            if ready is not None:
                ready.evaluate(batch)
            answer = "-" if ready is None else timed(lambda: ready.evaluate(batch), seconds)
        print(answer, flush=True)


if __name__ == "__main__":
    main()
