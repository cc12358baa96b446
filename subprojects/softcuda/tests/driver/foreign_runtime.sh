#!/bin/sh
# A program, a library and a libcudart.so that need NVIDIA's driver are named once each, with the remedy.
# usage: foreign_runtime.sh PROGRAM LIBRARY FOLDER-OF-LIBRARIES
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cp "$2" "$folder/libnumbers.so.10"
cp "$2" "$folder/libcudart.so.13"
export LD_LIBRARY_PATH=$3 SOFTCUDA_LOG=$folder/log
"$1" "$folder/libnumbers.so.10" "$folder/libcudart.so.13"
expect() {
    [ "$(grep -c "$1" "$folder/log")" = 1 ] || { echo "not once: $1"; cat "$folder/log"; exit 1; }
}
expect "$(basename "$1") is linked with NVIDIA's static CUDA runtime.*-cudart shared"
expect "$folder/libnumbers.so.10 holds NVIDIA's static CUDA runtime"
expect "$folder/libcudart.so.13 is NVIDIA's CUDA runtime"
[ "$(wc -l <"$folder/log")" = 3 ] || { echo "more lines"; cat "$folder/log"; exit 1; }
