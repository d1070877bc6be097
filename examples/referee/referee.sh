#!/usr/bin/env bash
# Compares models with their originals, and writes what it finds to a folder, for the lists of tests and the code review
# of a build server. Each argument is a pair: `referee.sh results original.onnx=optimized.onnx …`.
#
# The exit code is 0 if all are equal, 1 if some differ, and 2 if some could not be compared.
set -uo pipefail
if [ $# -lt 2 ]; then
  echo "usage: $0 FOLDER ORIGINAL=OPTIMIZED..." >&2
  exit 2
fi
folder="$1"
shift
mkdir -p "$folder" || exit 2
worst=0
for pair in "$@"; do
  original="${pair%%=*}" optimized="${pair#*=}"
  # The name of a file for each pair, whatever folders the models are in.
  name="$(tr -c 'A-Za-z0-9.\n-' '_' <<<"$optimized")"
  for format in junit sarif; do
    suffix="$([ $format = junit ] && echo xml || echo sarif)"
    tautomer verify "$original" "$optimized" --format "$format" >"$folder/$name.$suffix"
    code=$?
    [ $code -gt $worst ] && worst=$code
  done
  echo "$optimized: $([ $code = 0 ] && echo equal || { [ $code = 1 ] && echo differs || echo "not compared"; })"
done
exit $worst
