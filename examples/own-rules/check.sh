#!/usr/bin/env bash
# The steps of a job in continuous integration; everything fails if one does.
set -euo pipefail
cd "$(dirname "$0")"
tautomer rules check my.rules
tautomer rules test my.rules
tautomer verify my.rules --check-lock
cargo test
python3 -m pytest -q tests
