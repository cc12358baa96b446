#!/usr/bin/env bash
# Measures sluice and unified memory on a machine with a GPU, from a kit of pack.sh or a build folder that was carried there.
# Needs bash, Python 3, NVIDIA's driver and, for all that uses the CUDA runtime, a libcudart.so.13, which a kit has; no compiler.
# Under 10 minutes; what is doubted most is answered in the first.
set -euo pipefail

usage="Usage: tests/gpu/run.sh BUILD_DIR [--out DIR] [--doubts] [--quick] [--software] [--check] [--frameworks[=PROGRAMS]]
       run.sh ...                     from a kit, which is its own BUILD_DIR

  --out DIR    where gpu-results.json, gpu-results.md and parts/ with what each part said go (gpu-results in BUILD_DIR or
               the kit)
  --doubts     only the first minute
  --frameworks nothing but trainings by the machine's PyTorch, Hugging Face, Triton and JAX, at parts of what they need: SECONDS_AT_MOST
               (540) or less, what is worth most first; PROGRAMS, separated by commas: only these (gpt, offloaded, trainer, ...)
  --quick      small sizes: two minutes
  --software   on softcuda, with tiny sizes: tests this script, measures nothing
  --check      only say whether this machine can run it

PYTHON names the Python whose PyTorch is used (python3).
Prints Markdown tables. Exit status: 0 all parts ran and every result was right, 1 not so, 2 wrong usage, 77 there is
no GPU with NVIDIA's driver."

here=$(cd "$(dirname "$0")" && pwd)
build='' out='' size=full software='' check='' doubts='' frameworks='' programs=''

fail_usage() {
    echo "run.sh: $1 (see run.sh --help)" >&2
    exit 2
}

while [ $# -gt 0 ]; do
    case $1 in
    --out)
        [ $# -gt 1 ] || fail_usage '--out needs a folder'
        out=$2
        shift
        ;;
    --quick) size=quick ;;
    --software) software=1 ;;
    --check) check=1 ;;
    --doubts) doubts=1 ;;
    --frameworks) frameworks=1 ;;
    --frameworks=*) frameworks=1 programs=${1#*=} ;;
    --help)
        echo "$usage"
        exit 0
        ;;
    -*) fail_usage "unknown option '$1'" ;;
    *)
        [ -z "$build" ] || fail_usage "unexpected argument '$1'"
        build=$1
        ;;
    esac
    shift
done
data=$here/../../workloads/data/gpl-3.txt
if [ -e "$here/build/programs.json" ]; then
    [ -z "$build" ] || fail_usage "unexpected argument '$build': a kit has its own build folder"
    build=$here/build data=$here/gpl-3.txt out=${out:-$here/gpu-results}
fi
[ -n "$build" ] || fail_usage 'BUILD_DIR is missing'
[ -x "$build/tests/gpu/um_probe" ] || fail_usage "'$build' is no build folder of sluice"
build=$(cd "$build" && pwd)
[ -z "$software" ] || size=software

# The folders where the loader and the usual installations have libraries, a line each.
library_folders() {
    printf '%s\n' "$here/lib" # a kit's
    printf '%s\n' "${LD_LIBRARY_PATH:-}" | tr ':' '\n'
    for root in "${CUDA_HOME:-}" "${CUDA_PATH:-}" /usr/local/cuda /usr/local/cuda-13*; do
        [ -z "$root" ] || printf '%s\n' "$root/lib64" "$root/lib" "$root/targets/x86_64-linux/lib"
    done
    { ldconfig -p || /sbin/ldconfig -p; } 2>/dev/null | sed -n 's|.* => \(.*\)/lib\(cuda\|cudart\)\.so.*|\1|p'
    printf '%s\n' /usr/local/nvidia/lib64 /usr/lib/x86_64-linux-gnu /usr/lib64 /usr/lib/wsl/lib "$build"/../build/cuda/lib*
    python3 -c 'import glob, site, sys
for folder in dict.fromkeys(sys.path + site.getsitepackages() + [site.getusersitepackages()]):
    print(*glob.glob(folder + "/nvidia/c*/lib"), *glob.glob(folder + "/nvidia/nccl/lib"), sep="\n")' 2>/dev/null || true
}

# The first of these folders that holds library $1, made by NVIDIA: softcuda has libraries of the same names.
find_vendors() {
    local folder
    while read -r folder; do
        if [ -n "$folder" ] && [ -e "$folder/$1" ] && ! grep -q SOFTCUDA_ "$folder/$1"; then
            echo "$folder"
            return
        fi
    done < <(library_folders)
}

has_gpu() {
    [ -e /dev/nvidiactl ] || [ -e /dev/dxg ] || nvidia-smi -L >/dev/null 2>&1
}

if [ -n "$software" ]; then
    driver=$build/subprojects/softcuda/lib
    runtime=$driver
    if ! [ -e "$driver/libcuda.so.1" ] || ! [ -e "$driver/libcudart.so.13" ]; then
        echo "run.sh: '$build' has no software device" >&2
        exit 77
    fi
    export SOFTCUDA_MEMORY=${SOFTCUDA_MEMORY:-1G}
else
    driver=$(find_vendors libcuda.so.1)
    if [ -z "$driver" ]; then
        echo 'run.sh: no GPU here: there is no libcuda.so.1 of NVIDIA'
        exit 77
    elif ! has_gpu; then
        echo "run.sh: no GPU here: the driver in $driver has no device"
        exit 77
    fi
    runtime=$(find_vendors libcudart.so.13)
    [ -n "$runtime" ] ||
        echo "run.sh: no libcudart.so.13 (CUDA_HOME, ldconfig, Python packages): no gpt, no Runtime API programs" >&2
fi
if [ -n "$check" ]; then
    echo "run.sh: libcuda.so.1 in $driver, libcudart.so.13 ${runtime:-missing}"
    exit 0
fi

out=${out:-$build/gpu-results}
mkdir -p "$out/parts"
out=$(cd "$out" && pwd)
parts=$out/parts
rm -f "$parts"/*.jsonl "$parts"/*.log "$out"/gpu-results.{json,md}
# PyTorch finds what it needs by itself, and has a CUDA runtime of its own.
torch_libraries=${software:+$driver:}${LD_LIBRARY_PATH:-}
export LD_LIBRARY_PATH=$driver${runtime:+:$runtime}${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}

# Runs a part for at most $2 seconds. What it printed stays even when it is stopped.
part() {
    local name=$1 limit=$2 status=0 start=$SECONDS
    shift 2
    echo "run.sh: $name, at most $limit s" >&2
    timeout -k 5 "$limit" "$@" >"$parts/$name.jsonl" 2>"$parts/$name.log" || status=$?
    printf '{"part": "part", "name": "%s", "status": %d, "seconds": %d, "limit_seconds": %d}\n' \
        "$name" "$status" $((SECONDS - start)) "$limit" >>"$parts/parts.jsonl"
}

case $size in
full) probe=(--repeat 3) ;;
quick) probe=(--repeat 1 --bytes $((512 << 20)) --width 1024) ;;
software) probe=(--repeat 1 --bytes $((64 << 20)) --width 64 --spin 20000) ;;
esac

if [ -n "$frameworks" ]; then
    limit=${SECONDS_AT_MOST:-540}
    part device 20 "$build/tests/gpu/um_probe" device "${probe[@]}"
    part frameworks $((limit + 20)) env LD_LIBRARY_PATH="$torch_libraries" PYTHON="${PYTHON:-python3}" python3 "$here/framework_runs.py" \
        "$build" --size "$size" --limit "$limit" ${programs:+--only "$programs"}
    python3 "$here/report.py" "$parts" "$out/gpu-results.json" "$size" --frameworks | tee "$out/gpu-results.md"
    exit
fi
python3 "$here/doubts.py" "$build" "$parts" --limit 60 -- "${probe[@]}" || true
if [ -z "$doubts" ]; then
    timeout -k 5 20 "$build/tools/sluice" doctor ${software:+--software} >"$parts/doctor.log" 2>&1 || true
    for name in device bandwidth residency moves remote calls allocate; do
        part "$name" 20 "$build/tests/gpu/um_probe" "$name" "${probe[@]}"
    done
    if [ -n "$runtime" ]; then
        nccl=$(if [ -n "$software" ]; then echo "$driver"; else find_vendors libnccl.so.2; fi)
        part gpt 190 python3 "$here/gpt.py" "$build" --data "$data" --size "$size" --limit 180 ${nccl:+--nccl "$nccl"}
    fi
    part torch 100 env LD_LIBRARY_PATH="$torch_libraries" "${PYTHON:-python3}" "$here/torch_runs.py" "$build" \
        --size "$size" --limit 95
    # Last, because a program that the driver cannot stop may hold the device.
    part programs 110 python3 "$here/programs.py" "$build" "$driver" --limit 105
fi
python3 "$here/report.py" "$parts" "$out/gpu-results.json" "$size" ${doubts:+--doubts} | tee "$out/gpu-results.md"
