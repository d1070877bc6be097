#!/usr/bin/env bash
# Runs the tests that come with ONNX, after fetching them into a cache: TAUTOMER_CACHE, by default target/conformance.
# Arguments are passed to the test program, for example a part of a test name.
set -euo pipefail
cd "$(dirname "$0")/../.."
version=1.22.0
cache="${TAUTOMER_CACHE:-target/conformance}"
mkdir -p "$cache"
cache="$(cd "$cache" && pwd)"
data="$cache/onnx-$version"
if [ ! -d "$data" ]; then
  if ! ls "$cache"/onnx-"$version"-*.whl >/dev/null 2>&1; then
    python3 -m venv "$cache/venv"
    "$cache/venv/bin/pip" download --quiet --no-deps --only-binary :all: --dest "$cache" "onnx==$version"
  fi
  rm -rf "$data.part"
  python3 - "$cache"/onnx-"$version"-*.whl "$data.part" <<'PYTHON'
import sys
import zipfile

prefix = "onnx/backend/test/data/"
folders = ("node/", "simple/", "pytorch-converted/", "pytorch-operator/")
with zipfile.ZipFile(sys.argv[1]) as wheel:
    names = [n for n in wheel.namelist() if n.startswith(prefix) and n[len(prefix):].startswith(folders)]
    wheel.extractall(sys.argv[2], names)
PYTHON
  mv "$data.part" "$data"
fi
TAUTOMER_CONFORMANCE="$data/onnx/backend/test/data" cargo test --test conformance -- "$@"
