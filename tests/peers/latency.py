"""Times of several models under ONNX Runtime, run in turn so that other work on the machine disturbs all of them alike."""

import time

import onnxruntime as ort

OFF = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
ON = ort.GraphOptimizationLevel.ORT_ENABLE_ALL


def session(path, level):
    """A session on one thread."""
    options = ort.SessionOptions()
    options.graph_optimization_level = level
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.log_severity_level = 4
    return ort.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])


def latencies(paths, level, feeds, runs):
    """Lower quartiles of the processor time of each model in milliseconds, which other work disturbs least. `feeds` makes
    the inputs from the session of the first model. Short runs are repeated more often; models that do not load or run
    are left out."""
    opened = {}
    for key, path in paths.items():
        try:
            opened[key] = session(path, level)
        except Exception:  # the file that a tool wrote may not load
            continue
    first = next(iter(paths))
    if first not in opened:
        return {}
    given = feeds(opened[first])
    of = {key: {i.name: given[i.name] for i in one.get_inputs()} for key, one in opened.items()}
    times = {key: [] for key in opened}
    begun = time.thread_time()
    try:
        opened[first].run(None, of[first])
    except Exception:
        return {}
    runs = max(runs, min(200, int(0.3 / max(time.thread_time() - begun, 1e-4))))
    for run in range(runs + 1):
        for key, one in list(opened.items()):
            begun = time.thread_time()
            try:
                one.run(None, of[key])
            except Exception:
                del opened[key], times[key]
                continue
            if run > 0:
                times[key].append((time.thread_time() - begun) * 1e3)
    return {key: sorted(values)[len(values) // 4] for key, values in times.items() if values}
