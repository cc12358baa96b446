#!/bin/sh
# What the built object needs and shows. A CUDA library among what it needs ends every process of a machine without CUDA;
# an unwinder among what it shows takes over C++ exceptions.
set -eu
object=$1
failed=0
say() { echo "$*"; failed=1; }

for needed in $(readelf -d "$object" | sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p'); do
    case $needed in
    libc.so.*|ld-linux*|libdl.so.*|libpthread.so.*) ;;
    *) say "needs $needed" ;;
    esac
done

shown=$(readelf -W --dyn-syms "$object" | awk '$7 != "UND" && $7 != "ABS" && $4 != "NOTYPE" && $5 != "LOCAL" && NR > 3 {print $8}')
for name in $shown; do
    case $name in
    cu[A-Z]*|dlsym@*|dlvsym@*) ;;
    *) say "shows $name" ;;
    esac
done
for name in cuMemAlloc_v2 cuLaunchKernel_ptsz cuGetProcAddress cuGetProcAddress_v2 dlsym@@GLIBC_2.34 dlvsym@@GLIBC_2.34; do
    echo "$shown" | grep -q "^$name" || say "does not show $name"
done
exit $failed
