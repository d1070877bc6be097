#!/bin/sh
# Compares optimized models with the originals under ONNX Runtime; creates its own Python environment first.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
if [ ! -x "$here/.venv/bin/python" ]; then
    python3 -m venv "$here/.venv"
    "$here/.venv/bin/pip" install --quiet onnx==1.22.0 onnxruntime==1.31.1 numpy
fi
exec "$here/.venv/bin/python" "$here/onnx_agree.py" "$@"
