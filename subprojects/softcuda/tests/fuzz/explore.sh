#!/bin/sh
# explore.sh PROGRAM CORPUS: lets libFuzzer look for failures from a corpus, in a folder of its own, for some seconds. The
# seed is fixed.
set -eu
if [ $# -ne 2 ]; then
    echo "skipped: clang and its libFuzzer are not installed"
    exit 77
fi
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
dictionary=
[ ! -f "$2.dict" ] || dictionary=-dict=$2.dict
mkdir "$folder/new"
"$1" -seed=1 -max_total_time=10 -max_len=4096 -timeout=20 -rss_limit_mb=2048 -close_fd_mask=1 ${dictionary:+"$dictionary"} \
    -print_final_stats=1 -artifact_prefix="$folder/" "$folder/new" "$2" || {
    for found in "$folder"/*-*; do
        [ ! -f "$found" ] || { echo "$found:"; base64 "$found"; }
    done
    exit 1
}
