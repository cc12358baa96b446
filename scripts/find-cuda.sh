#!/bin/sh
# Prints where CUDA's headers (`include`) or its compiler (`nvcc`) are: the folder named as the second argument,
# CUDA_HOME, the nvcc on PATH, /usr/local/cuda, or what scripts/setup.sh brought from the PyPI wheels.
set -eu
what=$1
given=${2:-}
here=$(cd "$(dirname "$0")/.." && pwd)
on_path=$(command -v nvcc 2>/dev/null || true)
[ -z "$on_path" ] || on_path=$(dirname "$(dirname "$(readlink -f "$on_path")")")
for root in "$given" "${CUDA_HOME:-}" "$on_path" /usr/local/cuda "$here/build/cuda"; do
    if [ -n "$root" ] && [ -f "$root/include/cuda.h" ] && [ -x "$root/bin/nvcc" ]; then
        case $what in
        include) echo "$root/include" ;;
        nvcc) echo "$root/bin/nvcc" ;;
        root) echo "$root" ;;
        esac
        exit 0
    fi
done
echo "no CUDA toolkit found (CUDA_HOME, PATH, /usr/local/cuda); run ./test.sh or ./demo.sh, which bring one" >&2
exit 1
