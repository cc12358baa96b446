#!/bin/sh
# Prints where a CUDA toolkit, 13.0 or newer, has its headers (`include`), its compiler (`nvcc`) or its top (`root`).
# Searched in this order: the folder named as the second argument, CUDA_HOME, the nvcc on PATH, /usr/local/cuda, and
# build/cuda, where scripts/setup.sh puts NVIDIA's PyPI wheels. One line on standard error and status 1 if there is
# none. SETUP_NO_TOOLKIT=1 leaves out what the machine has, so that only the named folder and build/cuda count.
set -eu
what=${1:-root}
given=${2:-}
here=$(cd "$(dirname "$0")/.." && pwd)
home=${CUDA_HOME:-}
usual=/usr/local/cuda
on_path=$(command -v nvcc 2>/dev/null || true)
[ -z "$on_path" ] || on_path=$(dirname "$(dirname "$(readlink -f "$on_path")")")
if [ -n "${SETUP_NO_TOOLKIT:-}" ]; then home='' usual='' on_path=''; fi

too_old=
for root in "$given" "$home" "$on_path" "$usual" "$here/build/cuda"; do
    [ -n "$root" ] && [ -f "$root/include/cuda.h" ] && [ -x "$root/bin/nvcc" ] || continue
    version=$(sed -n 's/^#define CUDA_VERSION \([0-9]*\).*/\1/p' "$root/include/cuda.h")
    if [ "${version:-0}" -lt 13000 ]; then
        too_old="$too_old $root"
        continue
    fi
    case $what in
    include) echo "$root/include" ;;
    nvcc) echo "$root/bin/nvcc" ;;
    root) echo "$root" ;;
    *)
        echo "find-cuda.sh: include, nvcc or root, not '$what'" >&2
        exit 2
        ;;
    esac
    exit 0
done
echo "no CUDA toolkit from 13.0 on in CUDA_HOME, PATH or /usr/local/cuda${too_old:+ (too old:$too_old)};" \
    "./test.sh and ./demo.sh bring one" >&2
exit 1
