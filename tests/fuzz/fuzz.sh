#!/bin/sh
# fuzz.sh PROGRAM SEEDS RUNS: fuzzes from a file, or from what a program writes to a folder, in a folder of its own, so that
# a run is the same every time.
set -eu
if [ $# -ne 3 ]; then
    echo "skipped: clang and its libFuzzer are not installed"
    exit 77
fi
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
if [ -x "$2" ]; then "$2" "$folder"; else cp "$2" "$folder/seed"; fi
# Its own status for a finding is 77, which would count as skipped.
"$1" -error_exitcode=1 -runs="$3" -seed=1 -max_len=4096 -artifact_prefix="$folder/" "$folder"
