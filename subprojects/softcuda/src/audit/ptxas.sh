#!/bin/sh
# Stands in for ptxas: softcuda executes PTX, so what is assembled is a copy of it. Knows the arguments that compilers at run
# time give (Triton, TorchInductor): ptxas [OPTION]... INPUT -o OUTPUT, or --version.
set -eu
input= output=
while [ $# -gt 0 ]; do
    case $1 in
    --version | -V)
        echo "ptxas: NVIDIA (R) Ptx optimizing assembler"
        echo "softcuda's stand-in: what is assembled is the PTX itself"
        echo "Cuda compilation tools, release 13.0, V13.0.0"
        exit 0
        ;;
    -o | --output-file)
        output=${2:?"ptxas: $1 needs a file"}
        shift
        ;;
    --output-file=*) output=${1#*=} ;;
    -*) ;;
    *) input=$1 ;;
    esac
    shift
done
[ -n "$input" ] && [ -n "$output" ] || { echo "ptxas: an input and -o OUTPUT are needed" >&2; exit 1; }
exec cp -- "$input" "$output"
