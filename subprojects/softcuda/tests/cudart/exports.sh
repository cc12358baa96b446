#!/bin/sh
# Breaks if a function of the Runtime API, in any form that the header names, is not exported, or not under the version that
# programs built against the vendor's library ask for.
# Usage: exports.sh LIBRARY INCLUDE_FOLDER
set -eu
library=$1
include=$2
have=$(nm -D --defined-only "$library" | sed -n 's/.* \(.*\)@@libcudart\.so\.13$/\1/p')
missing=0
for mode in 0 1; do
    names=$(printf '#include <cuda_runtime_api.h>\n' |
        cc -E -P -I "$include" -DCUDA_API_PER_THREAD_DEFAULT_STREAM="$mode" -x c - | tr '\n' ' ' | tr ';' '\n' |
        sed -n 's/^ *extern[^(]*\(__attribute__ *((.*))\)*[^(]*[ *]\(cuda[A-Z][A-Za-z0-9_]*\) *(.*/\2/p' | sort -u)
    [ "$(printf '%s\n' "$names" | wc -l)" -gt 250 ] || { echo "the header was not understood"; exit 1; }
    for name in $names; do
        printf '%s\n' "$have" | grep -qx "$name" || { echo "not exported: $name"; missing=1; }
    done
done
exit $missing
