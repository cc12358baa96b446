#!/bin/sh
# Statistics and timeline are JSON, agree with what the program did, and do not depend on the schedule.
# usage: stats.sh PROGRAM FOLDER-OF-LIBRARIES
set -eu
program=$1
export LD_LIBRARY_PATH=$2
command -v python3 >/dev/null || { echo "python3 is missing"; exit 77; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export SOFTCUDA_MEMORY=512M SOFTCUDA_LOG=none
for schedule in eager late random:7; do
    SOFTCUDA_SCHEDULE=$schedule SOFTCUDA_STATS=$work/$schedule.json SOFTCUDA_TIMELINE=$work/$schedule.lines "$program"
done
python3 - "$work" <<'PYTHON'
import json, sys
work = sys.argv[1]
runs = {}
for schedule in ("eager", "late", "random:7"):
    stats = json.load(open(f"{work}/{schedule}.json"))
    assert stats.pop("schedule") == schedule
    lines = [json.loads(line) for line in open(f"{work}/{schedule}.lines")]
    runs[schedule] = (stats, lines)
stats, lines = runs["late"]
assert runs["eager"] == runs["late"] == runs["random:7"], "times depend on the schedule"
assert stats["memory_bytes"] == 512 << 20
assert 0 < stats["peak_allocated_bytes"] <= stats["peak_device_bytes"] <= stats["memory_bytes"]
assert [line["op"] for line in lines] == sorted(line["op"] for line in lines)
assert all(line["start_ns"] <= line["end_ns"] for line in lines)
assert sum(line["kind"] == "kernel" for line in lines) == stats["launches"]
for way in ("bytes_in", "bytes_out"):
    assert sum(line[way] for line in lines) == sum(stats[way].values()), way
busy = sorted((line["start_ns"], line["end_ns"]) for line in lines if line["kind"] == "kernel")
assert all(first[1] <= second[0] for first, second in zip(busy, busy[1:])), "kernels overlap"
PYTHON
