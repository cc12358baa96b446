#!/bin/sh
# fuzz.sh PROGRAM SEED RUNS: fuzzes from one seed file in a folder of its own, so that a run is the same every time.
set -eu
if [ $# -ne 3 ]; then
    echo "skipped: clang and its libFuzzer are not installed"
    exit 77
fi
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cp "$2" "$folder/seed"
# Its own status for a finding is 77, which would count as skipped.
"$1" -error_exitcode=1 -runs="$3" -seed=1 -max_len=4096 -artifact_prefix="$folder/" "$folder"
