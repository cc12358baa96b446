#!/bin/sh
# What SOFTCUDA_TOUCHED says is what the program says it did, in every schedule and with any number of threads.
# usage: touched.sh PROGRAM FOLDER-OF-LIBRARIES
set -eu
program=$1
export LD_LIBRARY_PATH=$2
command -v python3 >/dev/null || { echo "python3 is missing"; exit 77; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
for schedule in eager late random:7; do
    for threads in 1 3; do
        SOFTCUDA_SCHEDULE=$schedule SOFTCUDA_THREADS=$threads SOFTCUDA_TOUCHED=$work/touched "$program" >"$work/said"
        python3 - "$work" <<'PYTHON'
import json, sys
said = [json.loads(line) for line in open(f"{sys.argv[1]}/said")]
seen = [json.loads(line) for line in open(f"{sys.argv[1]}/touched")]
assert all(set(line) == {"op", "kind", "name", "stream", "graph", "read", "written"} for line in seen)
assert [line["op"] for line in seen] == sorted(line["op"] for line in seen)
for line in seen:
    line["graph"] = line["graph"] != 0
seen = [{key: line[key] for key in ("kind", "graph", "read", "written")} for line in seen]
assert seen == said, "\n".join(map(str, ["seen"] + seen + ["said"] + said))
PYTHON
    done
done
