#!/bin/sh
# Breaks if a function that a header of NCCL declares is not exported, with and without a p in front, if something else is, or
# if softcuda's own header lacks one of the vendor's functions.
# Usage: exports.sh LIBRARY INCLUDE_FOLDER OWN_HEADER
set -eu
library=$1
include=$2
own=$3
names_of() {
    printf '#include "%s"\n' "$1" | c++ -E -P -I "$include" -x c++ - | tr '\n' ' ' | tr ';' '\n' |
        grep -o '\bp\?nccl[A-Z][A-Za-z0-9]* *(' | tr -d ' (' | sort -u
}
have=$(nm -D --defined-only "$library" | sed 's/.* //' | sort -u)
strangers=$(printf '%s\n' "$have" | grep -v '^p\?nccl[A-Z]') || true
[ -z "$strangers" ] || { echo "exported: $strangers"; exit 1; }
declared=$(names_of "$own")
[ "$(printf '%s\n' "$declared" | wc -l)" -ge 128 ] || { echo "the header was not understood"; exit 1; }
wanted=$declared
[ ! -f "$include/nccl.h" ] || wanted="$wanted $(names_of "$include/nccl.h")"
wrong=0
for name in $wanted; do
    printf '%s\n' "$have" | grep -qx "$name" || { echo "not exported: $name"; wrong=1; }
    printf '%s\n' "$declared" | grep -qx "$name" || { echo "not declared: $name"; wrong=1; }
done
exit $wrong
