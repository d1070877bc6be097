"""Random expressions over columns with nulls: the values of tautomer compared with those of DuckDB.

    python columns_agree.py [--expressions N] [--rows N] [--seed N]

Draws typed expressions over columns of numbers, truth values, text and dates with nulls, in both languages, evaluates
all of them by `tautomer eval` ($TAUTOMER names the binary, built with the feature `eval`, else
target/release/tautomer) and by DuckDB, and compares every value: numbers within 1e-12 of their size, all others
exactly. What the two define differently is left out: division by zero, overflow, NaN and the sign of a remainder. Exits
with 1 if a value differs. Needs `pip install duckdb pyarrow numpy`.
"""

import argparse
import os
import pathlib
import random
import subprocess
import sys
import tempfile

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

ROOT = pathlib.Path(__file__).resolve().parents[2]
TAUTOMER = os.environ.get("TAUTOMER", str(ROOT / "target" / "release" / "tautomer"))
COLUMNS = {"f64": ["a", "b"], "i64": ["i", "j"], "bool": ["p", "q"], "utf8": ["s", "t"], "date32": ["d", "e"]}
# DuckDB's name of each type.
TYPES = {"f64": "DOUBLE", "i64": "BIGINT", "bool": "BOOLEAN", "utf8": "VARCHAR", "date32": "DATE"}
WORDS = ["", "a", "ab", "Ab", "ba", "abc", "héllo", "x y", " z "]


def table(rows, seed):
    """Columns with a null in about every sixth row; small numbers, so that nothing overflows."""
    numbers = np.random.default_rng(seed)

    def column(values, kind):
        return pa.array(values, kind, mask=numbers.random(rows) < 1 / 6)

    def dates():
        return pa.array(numbers.integers(-400, 400, rows).astype(np.int32), pa.int32()).cast(pa.date32()).to_numpy(False)

    columns = {name: column(numbers.integers(-64, 64, rows) / 8, pa.float64()) for name in COLUMNS["f64"]}
    columns |= {name: column(numbers.integers(-9, 9, rows), pa.int64()) for name in COLUMNS["i64"]}
    columns |= {name: column(numbers.random(rows) < 0.5, pa.bool_()) for name in COLUMNS["bool"]}
    columns |= {name: column(numbers.choice(WORDS, rows).tolist(), pa.string()) for name in COLUMNS["utf8"]}
    columns |= {name: column(dates(), pa.date32()) for name in COLUMNS["date32"]}
    return pa.table(columns)


class Maker:
    """Draws expressions of a type, as a pair of texts: tautomer's and SQL."""

    def __init__(self, seed):
        self.random = random.Random(seed)

    def column(self, kind):
        name = self.random.choice(COLUMNS[kind])
        return name, name

    def leaf(self, kind):
        if self.random.random() < 0.7:
            return self.column(kind)
        if self.random.random() < 0.1 and kind in ("f64", "i64", "bool"):
            return f"cast(null, {kind})", f"NULL::{TYPES[kind]}"
        if kind == "f64":
            value = self.random.randrange(-40, 40) / 4
            return f"({value!r}f64)", f"({value!r}::DOUBLE)"
        if kind == "i64":
            value = self.random.randrange(-9, 10)
            return f"({value}i64)", f"({value}::BIGINT)"
        if kind == "bool":
            word = self.random.choice(["true", "false"])
            return word, word
        if kind == "utf8":
            word = self.random.choice(WORDS)
            return f"'{word}'", f"'{word}'"
        return self.column(kind)

    def make(self, kind, depth):
        if depth == 0 or self.random.random() < 0.1:
            return self.leaf(kind)
        if self.random.random() < 0.2:
            (c, c_sql), (x, x_sql), (y, y_sql) = (self.make(k, depth - 1) for k in ("bool", kind, kind))
            return f"if({c}, {x}, {y})", f"(CASE WHEN {c_sql} THEN {x_sql} ELSE {y_sql} END)"
        forms = FORMS[kind]
        kinds, ours, sql = forms[self.random.randrange(len(forms))]
        given = [self.make(k, depth - 1) for k in kinds]
        return ours.format(*(g[0] for g in given)), sql.format(*(g[1] for g in given))


def comparisons(kind):
    """The signs are the same in both languages but for equality."""
    signs = [("==", "="), ("!=", "<>"), ("<", "<"), ("<=", "<="), (">", ">"), (">=", ">=")]
    return [((kind, kind), f"({{}} {ours} {{}})", f"({{}} {sql} {{}})") for ours, sql in signs]


# Types of operands, and the form in both languages.
FORMS = {
    "f64": [
        (("f64", "f64"), "({} + {})", "({} + {})"),
        (("f64", "f64"), "({} - {})", "({} - {})"),
        (("f64",), "({} * 0.5f64)", "({} * 0.5::DOUBLE)"),
        (("f64",), "(-{})", "(-{})"),
        (("f64",), "abs({})", "abs({})"),
        (("f64",), "floor({})", "floor({})"),
        (("f64",), "ceil({})", "ceil({})"),
        (("f64",), "sqrt(abs({}))", "sqrt(abs({}))"),
        (("f64",), "sin({})", "sin({})"),
        (("f64",), "exp(0.125f64 * sin({}))", "exp(0.125::DOUBLE * sin({}))"),
        (("i64",), "cast({}, f64)", "({})::DOUBLE"),
        (("f64", "f64"), "greatest({}, {})", "(CASE WHEN {0} IS NULL OR {1} IS NULL THEN NULL ELSE greatest({0}, {1}) END)"),
    ],
    "i64": [
        (("i64", "i64"), "({} + {})", "({} + {})"),
        (("i64", "i64"), "({} - {})", "({} - {})"),
        (("i64",), "(-{})", "(-{})"),
        (("i64",), "abs({})", "abs({})"),
        (("i64", "i64"), "bitwise_and({}, {})", "({} & {})"),
        (("i64", "i64"), "bitwise_or({}, {})", "({} | {})"),
        (("i64", "i64"), "bitwise_xor({}, {})", "xor({}, {})"),
        (("i64",), "({} / 3)", "({} // 3)"),
        (("utf8",), "cast(char_length({}), i64)", "length({})::BIGINT"),
        (("date32",), "extractYear({})", "year({})::BIGINT"),
        (("date32",), "extractMonth({})", "month({})::BIGINT"),
        (("date32",), "extractDay({})", "day({})::BIGINT"),
    ],
    "bool": [
        *comparisons("f64"), *comparisons("i64"), *comparisons("utf8"), *comparisons("date32"),
        *4 * [(("bool", "bool"), "({} and {})", "({} AND {})"), (("bool", "bool"), "({} or {})", "({} OR {})")],
        *2 * [(("bool",), "(not {})", "(NOT {})")],
        (("f64",), "isnull({})", "({} IS NULL)"),
        (("i64",), "isnotnull({})", "({} IS NOT NULL)"),
        (("bool",), "istrue({})", "({} IS TRUE)"),
        (("i64",), "({} in (1, 3, 5))", "({} IN (1, 3, 5))"),
        (("i64", "i64", "i64"), "({} in ({}, 2, {}))", "({} IN ({}, 2, {}))"),
        (("utf8",), "({} in ('ab', 'x y'))", "({} IN ('ab', 'x y'))"),
        (("utf8",), "like({}, 'a%')", "({} LIKE 'a%')"),
        (("utf8",), "starts_with({}, 'a')", "starts_with({}, 'a')"),
    ],
    "utf8": [
        (("utf8",), "upper({})", "upper({})"),
        (("utf8",), "lower({})", "lower({})"),
        (("utf8",), "reverse({})", "reverse({})"),
        (("utf8",), "btrim({})", "trim({})"),
        (("utf8",), "substr({}, 2, 2)", "substr({}, 2, 2)"),
        (("utf8", "utf8"), "concatOperator({}, {})", "({} || {})"),
    ],
    "date32": [
        (("date32",), "cast({}, date32)", "({})::DATE"),
    ],
}


def ours(directory, given, expressions):
    """The values that tautomer computes, as a table."""
    source, result = directory / "given.parquet", directory / "result.parquet"
    pq.write_table(given, source)
    columns = [f"r{n} = {text}" for n, (_, text, _) in enumerate(expressions)]
    script = directory / "expressions.txt"
    script.write_text(";\n".join(columns))
    command = [TAUTOMER, "eval", script.read_text(), "--input", source, "-o", result]
    if subprocess.run(command).returncode != 0:
        sys.exit("tautomer refuses an expression")
    return pq.read_table(result)


def differs(kind, x, y):
    """Whether two values differ, `None` being null."""
    if x is None or y is None:
        return x is not y
    if kind == "f64":
        return not abs(x - y) <= 1e-12 * max(1.0, abs(x), abs(y))
    return x != y


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--expressions", type=int, default=500)
    parser.add_argument("--rows", type=int, default=300)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    given = table(options.rows, options.seed)
    maker = Maker(options.seed)
    kinds = list(TYPES)
    expressions = []
    for n in range(options.expressions):
        kind = kinds[n % len(kinds)]
        expressions.append((kind, *maker.make(kind, 1 + n % 4)))
    connection = duckdb.connect()
    connection.register("given", given)
    wrong = 0
    with tempfile.TemporaryDirectory() as directory:
        found = ours(pathlib.Path(directory), given, expressions)
        for n, (kind, text, sql) in enumerate(expressions):
            wanted = [row[0] for row in connection.execute(f"select {sql} from given").fetchall()]
            mine = found.column(f"r{n}").to_pylist()
            at = next((row for row, (x, y) in enumerate(zip(mine, wanted)) if differs(kind, x, y)), None)
            if at is None:
                continue
            wrong += 1
            print(f"DIFFERS in row {at}: {mine[at]!r}, DuckDB {wanted[at]!r}\n  {text}\n  {sql}\n  {given.slice(at, 1).to_pylist()[0]}")
    print(f"{len(expressions) - wrong} of {len(expressions)} expressions agree in all {options.rows} rows (seed {options.seed})")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
