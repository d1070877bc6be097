"""What Tautomer and ONNX Runtime make of small models that each show one fusion: writes docs/fusions.md.

    TAUTOMER_TEST_DATA=DIR python tests/peers/fusions.py [--only TEXT] [--write]

Each model of DIR/llm/patterns is optimized in standard operators and for ONNX Runtime (`--target onnxruntime`), and by
ONNX Runtime with all its optimizations; results of Tautomer run on random inputs beside the original. Prints the table,
and writes it with `--write`. Needs the environment of corpus_requirements.txt.
"""

import argparse
import collections
import os
import pathlib
import subprocess
import sys
import tempfile

import numpy
import onnx
import onnxruntime

ROOT = pathlib.Path(__file__).resolve().parents[2]
TAUTOMER = os.environ.get("TAUTOMER", str(ROOT / "target" / "release" / "tautomer"))
PAGE = ROOT / "docs" / "fusions.md"
# Why ONNX Runtime leaves fewer nodes of a model.
REASONS = {
    "LayerNormFusion_cast": "`layer_normalization` adds `epsilon` in the type of its operand, which rounds it to f16; in "
    "f32, between casts, `epsilon` has another value, so the two differ.",
}


def operators(graph):
    """The operators of a graph and of its nested graphs, without constants."""
    found = collections.Counter()
    for node in graph.node:
        if node.op_type != "Constant":
            found[node.op_type] += 1
        for attribute in node.attribute:
            for nested in [attribute.g] * attribute.HasField("g") + list(attribute.graphs):
                found += operators(nested)
    return found


def by_tautomer(source, target, *options):
    command = [TAUTOMER, "optimize", str(source), "-o", str(target), "--no-check", "-q", *options]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    if done.returncode != 0:
        raise RuntimeError(done.stderr.strip() or "no message")
    return onnx.load(target)


def by_runtime(source, target):
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_ENABLE_ALL
    options.optimized_model_filepath = str(target)
    options.log_severity_level = 4
    onnxruntime.InferenceSession(str(source), options, providers=["CPUExecutionProvider"])
    return onnx.load(target)


def inputs(model, seed):
    """Random inputs; every symbolic dimension is 4, integers are small enough to be an index or a length."""
    random = numpy.random.default_rng(seed)
    held = {tensor.name for tensor in model.graph.initializer}
    out = {}
    for value in model.graph.input:
        if value.name in held:
            continue
        tensor = value.type.tensor_type
        shape = [dim.dim_value if dim.HasField("dim_value") else 4 for dim in tensor.shape.dim]
        dtype = onnx.helper.tensor_dtype_to_np_dtype(tensor.elem_type)
        if dtype == bool:
            out[value.name] = random.random(shape) < 0.7
        elif numpy.issubdtype(dtype, numpy.integer):
            out[value.name] = random.integers(0, 2, shape).astype(dtype)
        else:
            out[value.name] = random.standard_normal(shape).astype(dtype)
    return out


def results(model, given):
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.log_severity_level = 4
    session = onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    names = {value.name for value in session.get_inputs()}
    return session.run(None, {name: value for name, value in given.items() if name in names})


def agrees(model, optimized):
    """Whether both give the same results, or why that is unknown."""
    try:
        given = inputs(model, 0)
        expected = results(model, given)
    except Exception as error:  # noqa: BLE001 - any failure of the original means that there is nothing to compare
        return f"original: {str(error).splitlines()[0][:80]}"
    for a, b in zip(expected, results(optimized, given), strict=True):
        a, b = numpy.asarray(a), numpy.asarray(b)
        limit = 1e-4 if a.dtype != numpy.float16 else 2e-2
        if a.shape != b.shape or not numpy.allclose(a, b, rtol=limit, atol=limit, equal_nan=True):
            return "differs"
    return "yes"


def shown(found):
    return ", ".join(name if count == 1 else f"{count} {name}" for name, count in sorted(found.items())) or "nothing"


def row(path, folder):
    model = onnx.load(path)
    standard = by_tautomer(path, folder / "standard.onnx")
    runtime = by_tautomer(path, folder / "runtime.onnx", "--target", "onnxruntime")
    peer = by_runtime(path, folder / "peer.onnx")
    counts = [operators(each.graph) for each in (model, standard, runtime, peer)]
    return path.stem, counts, [agrees(model, standard), agrees(model, runtime)]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", default="")
    parser.add_argument("--write", action="store_true")
    args = parser.parse_args()
    data = os.environ.get("TAUTOMER_TEST_DATA")
    if not data:
        sys.exit("set TAUTOMER_TEST_DATA to the directory that contains llm/patterns")
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        for path in sorted(pathlib.Path(data, "llm", "patterns").glob("*.onnx")):
            if args.only in path.stem:
                try:
                    rows.append(row(path, pathlib.Path(folder)))
                except Exception as error:  # noqa: BLE001 - one model that fails must not hide the others
                    print(f"{path.stem}: {error}", file=sys.stderr)
    for name, counts, agree in rows:
        total = [sum(found.values()) for found in counts]
        more = "" if total[2] <= total[3] else f"  {shown(counts[2])} | {shown(counts[3])}"
        print(f"{name:36}" + "".join(f"{count:4}" for count in total) + f"  {' '.join(agree)}{more}")
    failed = [name for name, _, agree in rows if "differs" in agree]
    unexplained = [name for name, counts, _ in rows if loses(counts) and name not in REASONS]
    for name in unexplained:
        print(f"{name}: ONNX Runtime leaves fewer nodes, and REASONS does not say why", file=sys.stderr)
    if args.write and not args.only:
        PAGE.write_text(page(rows), encoding="utf-8")
    sys.exit(1 if failed or unexplained else 0)


def loses(counts):
    return sum(counts[2].values()) > sum(counts[3].values())


def page(rows):
    """The page of the documents."""
    smaller = sum(sum(counts[2].values()) < sum(counts[3].values()) for _, counts, _ in rows)
    larger = [(name, counts) for name, counts, _ in rows if loses(counts)]
    agreed = sum(agree == ["yes", "yes"] for _, _, agree in rows)
    lines = [
        "# Fusions",
        "",
        "Each row is a small model that shows one fusion of ONNX Runtime, of its transformer optimizer, or of onnxscript.",
        "The columns count the nodes of the model, of the result of `tautomer optimize` in standard operators, of its result",
        "with `--target onnxruntime`, and of the result of ONNX Runtime with all its optimizations; the last column lists the",
        "operators that Tautomer leaves for ONNX Runtime. `tests/peers/fusions.py` writes this page.",
        "",
        f"Of {len(rows)} models, Tautomer leaves fewer nodes than ONNX Runtime in {smaller}, as many in",
        f"{len(rows) - smaller - len(larger)}, and more in {len(larger)}. For {agreed} models, both results of Tautomer agree with the",
        "original on random inputs.",
        "",
        "| model | nodes | standard | for ONNX Runtime | ONNX Runtime | operators that are left |",
        "| --- | --: | --: | --: | --: | --- |",
    ]
    for name, counts, _ in rows:
        totals = " | ".join(str(sum(found.values())) for found in counts)
        lines.append(f"| `{name}` | {totals} | {shown(counts[2])} |")
    if larger:
        lines += ["", "Where ONNX Runtime leaves fewer:", ""]
        lines += [f"* `{name}`: {REASONS.get(name, 'unexplained')}" for name, _ in larger]
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    main()
