#!/usr/bin/env bash
# Measures sluice and unified memory on a machine with a GPU, from a kit of pack.sh or a build folder that was carried there.
# Needs bash, Python 3, NVIDIA's driver and, for all that uses the CUDA runtime, a libcudart.so.13, which a kit has; no compiler.
# Finds the driver's libraries; session.py runs the parts.
set -euo pipefail

usage="Usage: tests/gpu/run.sh BUILD_DIR [--out DIR] [--first | --again [--change NAME=VALUE]... | --doubts | --frameworks[=PROGRAMS]]
                              [--quick] [--software] [--check]
       run.sh ...                     from a kit, which is its own BUILD_DIR

  --out DIR    where gpu-results.tar.gz, with all results, and digest.md go (gpu-results in BUILD_DIR or the kit)
  --first      the first call of two: the machine, the doubts, bandwidth, a GPT by PyTorch at parts of its need; at most 300 s
  --again      the second: bandwidth as the baseline, the GPT with each --change, remote memory, calls; at most 300 s
  --change NAME=VALUE
               a variable of sluice's for one more run of --again
  --doubts     only the first minute
  --frameworks nothing but trainings by the machine's PyTorch, Hugging Face, Triton and JAX, at parts of what they need, what is
               worth most first; PROGRAMS, separated by commas: only these (gpt, offloaded, trainer, ...)
  --quick      small sizes: two minutes
  --software   on softcuda, with tiny sizes: tests this script, measures nothing
  --check      only say whether this machine can run it

SECONDS_AT_MOST bounds the whole (540; 300 for --first and --again; 70 for --doubts). PYTHON names the Python whose PyTorch is
used (python3). Prints a digest of at most 6 KB last, also when it is ended by SIGTERM. Exit status: 0 all parts ran and every result
was right, 1 not so, 2 wrong usage, 77 there is no GPU with NVIDIA's driver."

here=$(cd "$(dirname "$0")" && pwd)
build='' out='' size=full software='' check='' mode=all programs='' changes=()

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
    --first | --again | --doubts | --frameworks) mode=${1#--} ;;
    --frameworks=*) mode=frameworks programs=${1#*=} ;;
    --change)
        case ${2:-} in [A-Z]*=*) changes+=(--change "$2") ;; *) fail_usage '--change needs NAME=VALUE' ;; esac
        shift
        ;;
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

# PyTorch finds what it needs by itself, and has a CUDA runtime of its own.
torch_libraries=${software:+$driver:}${LD_LIBRARY_PATH:-}
nccl=$(if [ -n "$software" ]; then echo "$driver"; else find_vendors libnccl.so.2; fi)
export LD_LIBRARY_PATH=$driver${runtime:+:$runtime}${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
exec python3 "$here/session.py" "$mode" "$build" "${out:-$build/gpu-results}" --size "$size" --data "$data" --driver "$driver" \
    --runtime "$runtime" --nccl "$nccl" --torch-libraries "$torch_libraries" --programs "$programs" --elapsed "$SECONDS" \
    ${changes[@]+"${changes[@]}"}
