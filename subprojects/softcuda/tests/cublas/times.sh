#!/bin/sh
# Breaks if a product is charged anything but the FLOPs that it takes, or a link's bytes where its operands are on the device.
# usage: times.sh PROGRAM FOLDER-OF-LIBRARIES
set -eu
program=$1
export LD_LIBRARY_PATH=$2
command -v python3 >/dev/null || { echo "python3 is missing"; exit 77; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
SOFTCUDA_LOG=none SOFTCUDA_MEMORY=64M SOFTCUDA_TFLOPS=1 SOFTCUDA_LAUNCH_NS=0 SOFTCUDA_TIMELINE=$work/lines "$program"
python3 - "$work/lines" <<'PYTHON'
import json, sys
lines = [json.loads(line) for line in open(sys.argv[1])]
products = [line for line in lines if line["name"] == "softcuda_gemm"]
assert len(products) == 12, len(products)
for line in products:
    assert abs(line["end_ns"] - line["start_ns"] - 2 * 700**3 / 1000) <= 1, line
    assert line["bytes_in"] == line["bytes_out"] == 0, line
PYTHON
