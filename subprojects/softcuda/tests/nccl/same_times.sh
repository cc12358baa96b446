#!/bin/sh
# Breaks if simulated times, and answers to questions, depend on the order of the device's work or on how fast the ranks' processes are, if ranks that
# meet in a function do not leave it together, or if it takes another time than its bytes over the links.
# Usage: same_times.sh PROGRAM FOLDER-OF-LIBRARIES
set -eu
program=$1
export LD_LIBRARY_PATH=$2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export SOFTCUDA_LOG=none SOFTCUDA_MEMORY=64M SOFTCUDA_NVLINK=10 SOFTCUDA_PEER_LATENCY_NS=1000 SOFTCUDA_LAUNCH_NS=0
export SOFTCUDA_CALL_NS=0 SOFTCUDA_QUERY_NS=0
for order in eager late random:1 random:2; do
    SOFTCUDA_SCHEDULE=$order "$program" 3 | sort >"$work/$order"
    cmp "$work/eager" "$work/$order"
done
# Where most of a message is left out, it takes as long.
SOFTCUDA_EXECUTE=sample SOFTCUDA_SCHEDULE=late "$program" 3 | sort >"$work/sample"
cmp "$work/eager" "$work/sample"
cat "$work/eager"
# 4 MB by 10 bytes in a ns, on 3 ranks; the last rank has most to do before, so that it waits for nobody
grep -qx '0 all-reduce 537333 ns' "$work/eager"
grep -qx '1 broadcast 402000 ns' "$work/eager"
grep -qx '2 messages 401000 ns' "$work/eager"
grep -qx '2 first 537333 ns' "$work/eager"
# A question that is answered "not ready" takes 5000 ns.
grep -qx '0 questions 108' "$work/eager"
