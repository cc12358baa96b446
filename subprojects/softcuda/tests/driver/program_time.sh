#!/bin/sh
# SOFTCUDA_STATS says what processor time the threads that launch kernels spend outside of the device.
# usage: program_time.sh PROGRAM FOLDER-OF-LIBRARIES
set -eu
export LD_LIBRARY_PATH=$2 SOFTCUDA_LOG=none SOFTCUDA_MEMORY=64M
command -v python3 >/dev/null || { echo "python3 is missing"; exit 77; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
SOFTCUDA_EXECUTE=sample SOFTCUDA_STATS=$work/sample "$1"
SOFTCUDA_STATS=$work/all "$1"
python3 - "$work" <<'PYTHON'
import json, sys
sample, whole = (json.load(open(f"{sys.argv[1]}/{name}")) for name in ("sample", "all"))
assert 0.5 <= sample["program_seconds"] < 1, sample["program_seconds"]
assert "program_seconds" not in whole
PYTHON
