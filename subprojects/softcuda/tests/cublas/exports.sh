#!/bin/sh
# Breaks if a function that a header of cuBLAS declares is not exported, or not under the version that programs built against
# the vendor's library ask for. Skipped where the toolkit has no such header.
# Usage: exports.sh LIBRARY VERSION INCLUDE_FOLDER HEADER NAMES
set -eu
library=$1
version=$2
include=$3
header=$4
pattern=$5
[ -f "$include/$header" ] || exit 77
have=$(nm -D --defined-only "$library" | sed -n "s/.* \(.*\)@@$version\$/\1/p")
# The header itself defines those that are left out.
names=$(printf '#include <%s>\n' "$header" | c++ -E -P -I "$include" -x c++ - | tr '\n' ' ' | tr ';' '\n' |
    grep -o "\b$pattern[A-Za-z0-9_]* *(" | tr -d ' (' | sort -u |
    grep -v -x -e cublasMigrateComputeType -e 'cublasLt[A-Za-z]*Init' -e cublasLtDisableCpuInstructionsSetMask)
[ "$(printf '%s\n' "$names" | wc -l)" -gt 40 ] || { echo "the header was not understood"; exit 1; }
missing=0
for name in $names; do
    printf '%s\n' "$have" | grep -qx "$name" || { echo "not exported: $name"; missing=1; }
done
exit $missing
