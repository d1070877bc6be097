#!/usr/bin/env bash
# Builds the package as a wheel, installs it in a fresh virtual environment, and runs its tests and those of the
# example of a user's repository there. The profile is the first argument: `dev`, which shares what other builds have
# compiled, or `release`.
set -euo pipefail
cd "$(dirname "$0")"
sources="$PWD"
profile="${1:-dev}"
work="$(mktemp -d)"
trap 'rm -rf "$work"' EXIT
python3 -m venv "$work/env"
"$work/env/bin/pip" install --quiet "maturin>=1.16,<2"
"$work/env/bin/maturin" build --quiet --profile "$profile" --interpreter "$work/env/bin/python" --out "$work/wheels"
wheel="$(ls "$work"/wheels/*.whl)"
"$work/env/bin/pip" install --quiet "$wheel[test]" ml_dtypes
if [ "$profile" = release ]; then
  size="$(stat -c %s "$wheel")"
  echo "$(basename "$wheel"): $((size / 1000)) kB"
  [ "$size" -le 12000000 ]
fi
# Outside of the sources, so that what is installed is tested.
cp -r tests examples ../README.md "$work/"
cp README.md "$work/python-README.md"
cd "$work"
PATH="$work/env/bin:$PATH" "$work/env/bin/python" -m pytest -q tests
"$work/env/bin/tautomer" --version
# The repository of a user: what `pip install` gives runs all of it.
PATH="$work/env/bin:$PATH" CARGO_TARGET_DIR="$sources/../target/own-rules" "$sources/../examples/own-rules/check.sh"
