"""How long models take to run: tautomer compared with other runtimes in one interleaved run.

    python exec_peers.py [--peers openvino,rten,tract] [--rounds N] [--seconds S] [--only TEXT] [--threads 1,2]
                         [--by processor|median|fastest] [--costs] [--class 'approx(1e-2)'] [--models DIR]

Uses the models and inputs of onnx_agree.py, or with --models those of a directory, each with its inputs in an .npz file
of the same name, as corpus.py keeps them; the shapes of the inputs are fixed in the file that all systems get.
tautomer optimizes it to a file and runs that with `tautomer run --bench` ($TAUTOMER names the binary, else
target/release/tautomer); ONNX Runtime has all its optimizations; OpenVINO computes in single precision; RTen and tract
are libraries in Rust, which the programs in rten/ and tract/ call: with `--peers`, `cargo build --release` builds them
in target/peers first (tract takes minutes). They take turns in bursts, with the same number of threads. Printed are the
milliseconds of one inference by ONNX Runtime, the ratios of the others to it, and their geometric means, also by the
other measures. By default, one thread is measured by the median of processor time (at most that of time), which other
work on the machine disturbs least, and more threads by the fastest runs. With `--costs`, a second table has the
milliseconds from opening the model to the first result (for tautomer, of `optimize` and `run` with the starts of both
programs; for the others, without the start of their process), and the MB that this and a few more runs add to the
resident set.

With `--class`, tautomer runs each model a second time with that class of results, and OpenVINO with bfloat16. Results
that differ from those of ONNX Runtime by more than a thousandth of their scale are reported, as WRONG if they are
tautomer's, and a peer whose results have other shapes does not count; with bfloat16, differences are only printed, since
errors add up and what a maximum selects may change. At the end is how well tautomer predicts its own times with one
thread, by its built-in costs or, after `tautomer calibrate`, by those of this machine: the correlation of ranks and of
logarithms over all models. Needs the environment of run.sh and, in it, `pip install openvino==2026.4.1` (left out if it
is not there).
"""

import argparse
import math
import pathlib
import statistics
import sys
import tempfile

import numpy as np

import runtimes
from onnx_agree import difference, inputs_of, models, session
from runtimes import NarrowOpenVino, NarrowTautomer, OpenVino, Program, Rten, Runtime, Tautomer, Tract, fixed

TOLERANCE = 1e-3
PEERS = {"openvino": ("OpenVINO", OpenVino), "rten": ("RTen", Rten), "tract": ("tract", Tract)}
SYSTEMS = {"ONNX Runtime": Runtime, "tautomer": Tautomer}
MEASURES = ["processor", "median", "fastest"]


def measured(name, path, options):
    """For each number of threads and each system, its times; and problems."""
    found, problems = {}, []
    if options.models:
        kept = np.load(path.with_suffix(".npz"))
        feed = {value.name: kept[value.name] for value in session(path).get_inputs()}
    else:
        feed = inputs_of(name, session(path))
    with tempfile.TemporaryDirectory() as folder:
        given = pathlib.Path(folder) / "fixed.onnx"
        fixed(path, feed, given)
        for threads in options.threads:
            opened, expected = {}, None
            for system, kind in SYSTEMS.items():
                try:
                    one = kind(given, feed, threads, folder)
                    results = one.outputs()
                except Exception as problem:  # noqa: BLE001 - a peer that cannot run the model is left out
                    problems.append(f"{system} cannot run {name}: {str(problem).splitlines()[0][:150]}")
                    continue
                opened[system] = one
                if expected is None:
                    expected = results
                if isinstance(one, Program):
                    # RTen has no integers but those of 32 bits, and tract is asked for floats.
                    results = [b.astype(a.dtype) for a, b in zip(expected, results)]
                gap = max((difference(a, b) for a, b in zip(expected, results)), default=0.0)
                found[threads, system, "gap"] = gap
                if not gap <= (sys.float_info.max if kind in (NarrowTautomer, NarrowOpenVino) else TOLERANCE):
                    wrong = "WRONG" if isinstance(one, Tautomer) else "different"
                    problems.append(f"{wrong} {name} on {threads} threads: {system} differs by {gap:.1e}")
                    if gap == float("inf") and not isinstance(one, Tautomer):
                        del opened[system]
            rounds = {system: [] for system in opened}
            for _ in range(options.rounds):
                for system, one in opened.items():
                    rounds[system].append(one.measure(options.seconds))
            for system, all_rounds in rounds.items():
                found[threads, system] = {
                    key: (min if key == "fastest" else statistics.median)(r[key] for r in all_rounds)
                    for key in all_rounds[0]
                }
                if system == "tautomer" and threads == 1:
                    found["predicted"] = opened[system].predicted
                if options.costs:
                    all_costs = zip(*(opened[system].costs() for _ in range(3)))
                    found[threads, system, "costs"] = tuple(map(statistics.median, all_costs))
    return found, problems


def mean(ratios):
    return math.exp(sum(map(math.log, ratios)) / len(ratios)) if ratios else float("nan")


def ranks(values):
    order = sorted(range(len(values)), key=values.__getitem__)
    return np.argsort(order)


def prediction(pairs, by):
    """How predicted and measured times go together."""
    predicted, measured = (np.array(times) for times in zip(*pairs))
    pearson = np.corrcoef(np.log(predicted), np.log(measured))[0, 1]
    spearman = np.corrcoef(ranks(predicted), ranks(measured))[0, 1]
    ratio = np.exp(np.mean(np.log(predicted / measured)))
    return (
        f"times of {len(pairs)} models predicted by the costs of `{by}`: correlation of ranks {spearman:.3f}, of "
        f"logarithms {pearson:.3f}; predicted is {ratio:.2f} of measured in geometric mean"
    )


def print_costs(costs, all_threads):
    """Start-up and memory of each system, and the geometric means of ratios to ONNX Runtime."""
    keys = [(threads, system) for threads in all_threads for system in SYSTEMS]
    titles = [f"{threads}t {system} {unit}" for unit in ("ms", "MB") for threads, system in keys]
    print("\n| model | " + " | ".join(titles) + " |")
    print("| --- |" + " --: |" * len(titles))
    ratios = {(unit, key): [] for unit in (0, 1) for key in keys}
    for name, found in costs.items():
        cells = []
        for unit, key in ratios:
            value, base = (found.get(k, (None, None))[unit] for k in (key, (key[0], "ONNX Runtime")))
            if value and base and value > 0 and base > 0:
                ratios[unit, key].append(value / base)
            cells.append(f"{value:.3g}" if value is not None else "")
        print(f"| `{name.split('__')[-1]}` | " + " | ".join(cells) + " |")
    print("| **ratio to ONNX Runtime** | " + " | ".join(f"{mean(r):.2f} ({len(r)})" for r in ratios.values()) + " |")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=0.3)
    parser.add_argument("--only", default="")
    parser.add_argument("--threads", type=lambda text: [int(n) for n in text.split(",")], default=[1, 2])
    parser.add_argument("--by", choices=["processor", "median", "fastest"])
    parser.add_argument("--peers", type=lambda text: text.split(",") if text else [])
    parser.add_argument("--models", type=pathlib.Path, help="a directory of models with their inputs")
    parser.add_argument("--costs", action="store_true", help="also measure start-up and memory")
    parser.add_argument("--class", dest="kind", help="also run tautomer with this class, and OpenVINO with bfloat16")
    options = parser.parse_args()
    if options.peers is None:
        options.peers = ["openvino"] if runtimes.openvino else []
    for peer in options.peers:
        title, kind = PEERS[peer]
        if kind in (Rten, Tract):
            kind.build()
        SYSTEMS[title] = kind
    if options.kind:
        NarrowTautomer.options = ["--class", options.kind]
        SYSTEMS[f"tautomer {options.kind}"] = NarrowTautomer
        if runtimes.openvino:
            SYSTEMS["OpenVINO bf16"] = NarrowOpenVino
    others = [system for system in SYSTEMS if system != "ONNX Runtime"]
    titles = [f"{threads}t {s}" for threads in options.threads for s in ["ms", *others]]
    print("| model | " + " | ".join(titles) + " |")
    print("| --- |" + " --: |" * len(titles))
    ratios = {(t, system, by): [] for t in options.threads for system in others for by in [*MEASURES, "chosen"]}
    problems, predictions, predicted_by, gaps, costs = [], [], None, {}, {}
    chosen = {path.stem: path for path in sorted(options.models.glob("*.onnx"))} if options.models else models()
    for name, path in chosen.items():
        if options.only not in name:
            continue
        try:
            found, said = measured(name, path, options)
        except Exception as problem:  # noqa: BLE001 - one bad model must not hide the others
            problems.append(f"{name}: {str(problem).splitlines()[:1]}")
            continue
        problems += said
        if "predicted" in found:
            predicted, predicted_by = found["predicted"]
            predictions.append((predicted, found[1, "tautomer"]["median"]))
        cells = []
        for threads in options.threads:
            by = options.by or ("processor" if threads == 1 else "fastest")
            base = found.get((threads, "ONNX Runtime"))
            cells.append(f"{base[by]:.3g}" if base else "")
            for system in others:
                times = found.get((threads, system))
                if base and times:
                    ratios[threads, system, "chosen"].append(times[by] / base[by])
                    for measure in MEASURES:
                        ratios[threads, system, measure].append(times[measure] / base[measure])
                cells.append(f"{times[by] / base[by]:.2f}" if base and times else "")
        if options.kind:
            for key, gap in found.items():
                if len(key) == 3 and key[2] == "gap" and key[1] not in ("ONNX Runtime", "tautomer", "OpenVINO"):
                    gaps.setdefault(key[1], []).append((gap, name.split("__")[-1]))
        print(f"| `{name.split('__')[-1]}` | " + " | ".join(cells) + " |", flush=True)
        costs[name] = {key[:2]: value for key, value in found.items() if key[-1] == "costs"}
    for measure in ["chosen", *MEASURES]:
        cells = []
        for threads in options.threads:
            all_ratios = [ratios[threads, system, measure] for system in others]
            cells += [""] + [f"{mean(list(r)):.3f} ({len(r)})" for r in all_ratios]
        title = "**geometric mean**" if measure == "chosen" else f"by {measure}"
        print(f"| {title} | " + " | ".join(cells) + " |")
    if options.costs:
        print_costs(costs, options.threads)
    if len(predictions) > 2:
        print("\n" + prediction(predictions, predicted_by))
    for system, all_gaps in gaps.items():
        gap, name = max(all_gaps)
        median = statistics.median(gap for gap, _ in all_gaps)
        print(f"results by {system} differ by {median:.1e} of their scale (median) and {gap:.1e} (at most, `{name}`)")
    for problem in problems:
        print(problem, file=sys.stderr)
    return 1 if any(problem.startswith("WRONG") for problem in problems) else 0


if __name__ == "__main__":
    sys.exit(main())
