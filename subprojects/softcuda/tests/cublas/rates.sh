#!/bin/sh
# Breaks if a product does not take its time at the rate of the tensor cores for its type, or if it does without being asked to.
# usage: rates.sh PROGRAM FOLDER-OF-LIBRARIES
set -eu
program=$1
export LD_LIBRARY_PATH=$2
command -v python3 >/dev/null || { echo "python3 is missing"; exit 77; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export SOFTCUDA_LOG=none SOFTCUDA_MEMORY=64M SOFTCUDA_LAUNCH_NS=0 SOFTCUDA_PROCESSORS=1
export SOFTCUDA_TFLOPS=0.5 SOFTCUDA_TF32_TFLOPS=1 SOFTCUDA_HALF_TFLOPS=2
SOFTCUDA_TENSOR_CORES=1 SOFTCUDA_TIMELINE=$work/with "$program"
SOFTCUDA_TIMELINE=$work/without "$program"
python3 - "$work" <<'PYTHON'
import json, sys
def times(name):
    lines = [json.loads(line) for line in open(f"{sys.argv[1]}/{name}")]
    return [line["end_ns"] - line["start_ns"] for line in lines if line["name"] == "softcuda_gemm" or "fragments" in line["name"]]
def near(times, expected):
    assert len(times) == len(expected) and all(abs(a - b) <= 0.001 * b for a, b in zip(times, expected)), (times, expected)
FLOPS, OWN = 2 * 512**3, 2 * 16**3 * 1000
share = 0.85 * 512 / (512 + 64)
plain, tf32, half = FLOPS / 500, FLOPS / 1000 / share, FLOPS / 2000 / share
near(times("without"), [plain] * 6 + [OWN / 500])
near(times("with"), [plain, tf32, half, half, plain, tf32, OWN / 2000 / 0.5])
PYTHON
