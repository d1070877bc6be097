"""Transformer exports optimized by Tautomer and by other tools: node counts, and outputs under ONNX Runtime.

    python corpus.py [--models DIR] [--only TEXT] [--exporters LIST] [--peers LIST] [--latency] [--export-only]
                     [--verbose]

Exports the architectures of corpus_models.py by torch's TorchScript exporter and its dynamo exporter at several opsets
to DIR (kept: what is there is not exported again), optimizes each model by Tautomer in standard operators (`tautomer`)
and for ONNX Runtime with its own operators (`contrib`), both also with the shapes that it suggests where an exporter lost
which dimensions of inputs are equal (`-dims`), by onnxslim, onnxsim, onnxscript's `optimize_for_ort` and
`onnxruntime.transformers`, and prints nodes as viewers count them (`Constant` not counted, subgraphs counted), `x` for a
tool that fails, `!` after a result that differs from the original's, `~` after one that Tautomer changes again in a
second run. The last lines are geometric means of the ratios to the original, by exporter and by family, and of both
columns of Tautomer to the best of the other tools for each model. With `--latency`, the results of all tools also run
under ONNX Runtime in turn, on one thread with all of its own optimizations, and the time of each is printed as a ratio to
the original's.

    python3 -m venv VENV && VENV/bin/pip install -r corpus_requirements.txt
    TAUTOMER=target/release/tautomer VENV/bin/python tests/peers/corpus.py --models DIR
"""

import argparse
import json
import math
import multiprocessing
import os
import pathlib
import subprocess
import sys
import tempfile
import traceback
import warnings

ROOT = pathlib.Path(__file__).resolve().parents[2]
TAUTOMER = os.environ.get("TAUTOMER", str(ROOT / "target" / "release" / "tautomer"))
# `dynamo` names the dynamic dimensions, `auto` lets the exporter find which of them are equal.
EXPORTERS = ["torchscript-17", "dynamo-18", "dynamo-23", "auto-18", "dynamo-20"]
PEERS = ["onnxslim", "onnxsim", "optimize_for_ort", "ort_transformers"]
# Options of each of Tautomer's columns.
OWN = {
    "tautomer": ["--opset", "23"],
    "contrib": ["--target", "onnxruntime"],
    "tautomer-dims": ["--opset", "23"],
    "contrib-dims": ["--target", "onnxruntime"],
}
# Columns where inputs have the shapes that Tautomer suggests: with dimensions equal that the model does not know to be.
SUGGESTED = ["tautomer-dims", "contrib-dims"]
# The type of onnxruntime.transformers for each architecture; others are optimized as "bert".
MODEL_TYPES = {
    "bart": "bart", "whisper": "bart", "clip": "clip", "gpt2": "gpt2", "phi": "phi", "qwen3": "qwen3", "swin": "swin",
    "t5": "t5", "unet": "unet", "vit": "vit",
}


def nodes(graph):
    """The number of nodes of a graph and of its nested graphs, without constants."""
    count = 0
    for node in graph.node:
        count += node.op_type != "Constant"
        for attribute in node.attribute:
            if attribute.HasField("g"):
                count += nodes(attribute.g)
            count += sum(nodes(g) for g in attribute.graphs)
    return count


def size(path):
    """The number of nodes of a model, each call of one of its own functions counted as the nodes of the function."""
    import onnx

    model = onnx.load(path, load_external_data=False)
    bodies = {(f.domain, f.name): f for f in model.functions}
    own = {key: nodes(f) for key, f in bodies.items()}
    return nodes(model.graph) + sum(own.get((n.domain, n.op_type), 1) - 1 for n in model.graph.node)


def export(name, exporter, path):
    """Writes one architecture by one exporter; the example inputs are beside it."""
    import numpy
    import torch

    from corpus_models import ARCHITECTURES

    kind, opset = exporter.rsplit("-", 1)
    torch.manual_seed(0)
    model, inputs, axes = ARCHITECTURES[name]()
    numpy.savez(path.with_suffix(".npz"), **{key: value.numpy() for key, value in inputs.items()})
    common = dict(input_names=list(inputs), opset_version=int(opset))
    with torch.no_grad(), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if kind == "torchscript":
            torch.onnx.export(model, tuple(inputs.values()), str(path), dynamo=False, dynamic_axes=axes, **common)
        else:
            dims = {dim: torch.export.Dim(dim) for named in axes.values() for dim in named.values()}
            found = torch.export.Dim.DYNAMIC
            shapes = [{a: found if kind == "auto" else dims[dim] for a, dim in axes[key].items()} for key in inputs]
            shapes = shapes if model.forward.__code__.co_flags & 4 == 0 else grouped(model, shapes)
            program = torch.onnx.export(
                model, tuple(inputs.values()), dynamo=True, dynamic_shapes=tuple(shapes), verbose=False, **common
            )
            program.save(str(path))


def grouped(model, shapes):
    """The shapes of the inputs, those of a `*` parameter as one member."""
    named = model.forward.__code__.co_argcount - 1
    return [*shapes[:named], tuple(shapes[named:])]


def by_tautomer(source, target, options):
    command = [TAUTOMER, "optimize", str(source), "-o", str(target), "--no-check", "-q", *options]
    done = subprocess.run(command, capture_output=True, text=True, timeout=600, check=False)
    if done.returncode != 0:
        raise RuntimeError(done.stderr.strip() or "no message")


def suggested(source, options):
    """The options that give inputs the shapes that Tautomer suggests."""
    command = [TAUTOMER, "optimize", str(source), "--no-check", "--json", *options]
    done = subprocess.run(command, capture_output=True, text=True, timeout=600, check=False)
    if done.returncode != 0:
        raise RuntimeError(done.stderr.strip() or "no message")
    return [word for shape in json.loads(done.stdout)["equal_dims"]["shapes"] for word in ("--shape", shape)]


def by_onnxslim(source, target, _name):
    import onnx
    import onnxslim

    onnx.save(onnxslim.slim(onnx.load(source)), target)


def by_onnxsim(source, target, _name):
    import onnx
    import onnxsim

    onnx.save(onnxsim.simplify(onnx.load(source))[0], target)


def by_optimize_for_ort(source, target, _name):
    import onnx_ir
    from onnxscript.rewriter.ort_fusions import optimize_for_ort

    made = optimize_for_ort(onnx_ir.load(source))
    onnx_ir.save(made[0] if isinstance(made, tuple) else made, target)


def by_ort_transformers(source, target, name):
    from onnxruntime.transformers import optimizer

    kind = next((kind for prefix, kind in MODEL_TYPES.items() if name.startswith(prefix)), "bert")
    made = optimizer.optimize_model(str(source), model_type=kind, num_heads=4, hidden_size=32, opt_level=0)
    made.save_model_to_file(str(target))


def results(path, feeds):
    import onnxruntime as ort

    options = ort.SessionOptions()
    options.log_severity_level = 4
    options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.intra_op_num_threads = 1
    session = ort.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
    known = {i.name for i in session.get_inputs()}
    return session.run(None, {key: value for key, value in feeds.items() if key in known})


def agree(wanted, got):
    """Whether two lists of results are equal but for rounding, relative to the largest number of each result."""
    import numpy

    if len(wanted) != len(got):
        return False
    for a, b in zip(wanted, got):
        if a.shape != b.shape or a.dtype != b.dtype:
            return False
        scale = max(float(numpy.abs(a).max(initial=0)), 1e-6)
        if not numpy.allclose(a / scale, b / scale, rtol=0, atol=2e-4, equal_nan=True):
            return False
    return True


def task(queue, action):
    sys.stdout = sys.stderr = open(os.devnull, "w", encoding="utf-8")
    os.dup2(sys.stdout.fileno(), 1)
    os.dup2(sys.stdout.fileno(), 2)
    try:
        queue.put(("ok", action()))
    except BaseException as error:  # a tool may end the process
        queue.put(("failed", f"{type(error).__name__}: {error}\n{traceback.format_exc()}"))


def apart(action, seconds=300):
    """The result of an action in a process of its own, or an error after so many seconds."""
    context = multiprocessing.get_context("fork")
    queue = context.Queue()
    process = context.Process(target=task, args=(queue, action))
    process.start()
    try:
        while True:
            try:
                state, value = queue.get(timeout=1)
                break
            except Exception:
                seconds -= 1
                if seconds < 0 or not process.is_alive() and queue.empty():
                    raise RuntimeError("timed out" if seconds < 0 else "the process ended") from None
    finally:
        if process.is_alive() and seconds < 0:
            process.kill()
        process.join(5)
    if state == "failed":
        raise RuntimeError(value)
    return value


def column(name, source, tool, folder, verbose):
    """The nodes of a tool's result, and marks."""
    import numpy

    target = folder / f"{source.stem}.{tool}.onnx"
    feeds = dict(numpy.load(source.with_suffix(".npz")))
    try:
        if tool in OWN:
            own = OWN[tool] + (suggested(source, OWN[tool]) if tool in SUGGESTED else [])
            by_tautomer(source, target, own)
        elif not target.exists():
            apart(lambda: globals()["by_" + tool](source, target, name))
        count, marks = size(target), ""
    except Exception as error:
        if verbose:
            print(f"{source.stem} {tool}: {error}", file=sys.stderr)
        return None, "x"
    try:
        same = apart(lambda: agree(results(source, feeds), results(target, feeds)))
        marks += "" if same else "!"
    except RuntimeError as error:
        if verbose:
            print(f"{source.stem} {tool}: {error}", file=sys.stderr)
        marks += "!"
    if tool in OWN:
        with tempfile.TemporaryDirectory() as again:
            second = pathlib.Path(again) / "again.onnx"
            try:
                by_tautomer(target, second, OWN[tool])
                marks += "" if size(second) == count else "~"
            except RuntimeError:
                marks += "~"
    return count, marks


def mean(ratios):
    return math.exp(sum(map(math.log, ratios)) / len(ratios)) if ratios else math.nan


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--models", type=pathlib.Path, default=pathlib.Path(tempfile.gettempdir()) / "tautomer-corpus")
    parser.add_argument("--only", default="", help="names that contain one of these, separated by commas")
    parser.add_argument("--exporters", default=",".join(EXPORTERS))
    parser.add_argument("--peers", default=",".join(PEERS), help="the other tools, separated by commas")
    parser.add_argument("--own", default=",".join(OWN), help="the columns of Tautomer, separated by commas")
    parser.add_argument("--latency", action="store_true", help="time the results of all tools under ONNX Runtime")
    parser.add_argument("--export-only", action="store_true")
    parser.add_argument("--verbose", action="store_true", help="print why a tool failed")
    options = parser.parse_args()
    options.models.mkdir(parents=True, exist_ok=True)
    (options.models / "results").mkdir(exist_ok=True)

    import onnxruntime  # noqa: F401  (imported once, for all the processes that are forked)
    import onnxscript.rewriter.ort_fusions  # noqa: F401
    import onnxslim  # noqa: F401
    import torch

    torch.set_num_threads(1)
    from corpus_models import ARCHITECTURES, FAMILIES

    tools = [tool for tool in options.own.split(",") + options.peers.split(",") if tool]
    print(f"{'model':<32}{'nodes':>7}" + "".join(f"{tool:>18}" for tool in tools), flush=True)
    table, times = [], {}
    for name in ARCHITECTURES:
        for exporter in options.exporters.split(","):
            stem = f"{name}.{exporter}"
            if not any(text in stem for text in options.only.split(",")):
                continue
            source = options.models / f"{stem}.onnx"
            if not source.exists() and not source.with_suffix(".failed").exists():
                try:
                    apart(lambda: export(name, exporter, source), 600)
                except RuntimeError as error:
                    source.with_suffix(".failed").write_text(str(error))
                    source.unlink(missing_ok=True)
            if not source.exists():
                print(f"{stem:<32}    not exported", flush=True)
                continue
            before = size(source)
            if options.export_only:
                print(f"{stem:<32}{before:>7}", flush=True)
                continue
            row = [column(name, source, tool, options.models / "results", options.verbose) for tool in tools]
            table.append((name, exporter, before, dict(zip(tools, row))))
            if options.latency:
                times[stem] = timed(source, tools, options.models / "results")
            cells = "".join(f"{str(count or '') + marks:>18}" for count, marks in row)
            print(f"{stem:<32}{before:>7}{cells}", flush=True)
            if times.get(stem):
                cells = "".join(f"{times[stem].get(tool, math.nan):>18.2f}" for tool in tools)
                print(f"{'  time':<39}{cells}", flush=True)
    groups = {"all": lambda n, e: True}
    groups |= {exporter: lambda n, e, exporter=exporter: e == exporter for exporter in options.exporters.split(",")}
    groups |= {family: lambda n, e, names=names: n in names for family, names in FAMILIES.items()}
    print("\ngeometric means of nodes / original (a failure counts as the original)")
    for group, member in groups.items():
        rows = [(before, made) for name, exporter, before, made in table if member(name, exporter)]
        if rows:
            means = [mean([(made[tool][0] or before) / before for before, made in rows]) for tool in tools]
            print(f"{group:<32}{len(rows):>7}" + "".join(f"{value:>18.3f}" for value in means))
    own, peers = [tool for tool in tools if tool in OWN], [tool for tool in tools if tool not in OWN]
    against_best(table, own, peers)
    if options.latency:
        against_fastest(times, own, peers)


def timed(source, tools, folder):
    """The time of each tool's result as a ratio to the original's; empty if ONNX Runtime cannot run that."""
    import numpy
    from latency import ON, latencies

    paths = {"original": source} | {tool: folder / f"{source.stem}.{tool}.onnx" for tool in tools}
    feeds = dict(numpy.load(source.with_suffix(".npz")))
    try:
        found = apart(lambda: latencies(paths, ON, lambda _: feeds, 9))
    except RuntimeError:
        return {}
    return {tool: found[tool] / found["original"] for tool in tools if tool in found}


def against_fastest(times, own, peers):
    """Prints how often each of Tautomer's columns runs no longer than the fastest result of another tool. Differences
    within three hundredths are those of two runs of one model."""
    for tool in own:
        pairs = {}
        for stem, row in times.items():
            others = [row[peer] for peer in peers if peer in row]
            if others and tool in row:
                pairs[stem] = row[tool] / min(others)
        if pairs:
            slower = {stem: ratio for stem, ratio in pairs.items() if ratio > 1.03}
            share = 1 - len(slower) / len(pairs)
            worst = ", ".join(f"{stem} {ratio:.2f}" for stem, ratio in sorted(slower.items(), key=lambda p: -p[1]))
            print(f"{tool}: time / original {mean([row[tool] for row in times.values() if tool in row]):.3f}, time / the "
                  f"fastest other {mean(list(pairs.values())):.3f}; no slower in {share:.0%}, slower in: {worst}")


def against_best(table, own, peers):
    """Prints Tautomer's nodes over the fewest that another tool leaves, where more are left, and the exports that end
    furthest apart for each architecture."""
    for tool in own:
        pairs = []
        for name, exporter, _, made in table:
            others = [made[peer][0] for peer in peers if made[peer][0]]
            if others and made[tool][0]:
                pairs.append((f"{name}.{exporter}", made[tool][0], min(others)))
        if pairs:
            more = [f"{stem} {ours} > {best}" for stem, ours, best in pairs if ours > best]
            print(f"{tool} / best of the others: {mean([ours / best for _, ours, best in pairs]):.3f}; more in {more}")
        names = dict.fromkeys(name for name, *_ in table)
        counts = {n: [made[tool][0] for name, _, _, made in table if name == n and made[tool][0]] for n in names}
        apart = {n: max(c) / min(c) for n, c in counts.items() if c and max(c) > 1.1 * min(c)}
        print(f"{tool}: exports over 10 % apart: " + ", ".join(f"{n} {ratio:.2f}" for n, ratio in apart.items()))


if __name__ == "__main__":
    main()
