#!/bin/sh
# A write to memory of which each side has a copy is a fault that ends the host's copy, however the device
# writes, and counts as one; a read is none. Contents stay right.
# usage: duplicates.sh PROGRAM FOLDER-OF-LIBRARIES
set -eu
program=$1
export LD_LIBRARY_PATH=$2 SOFTCUDA_MEMORY=64M
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export SOFTCUDA_STATS=$work/stats
wrong=0

complain() {
    echo "$way, $schedule: $1"
    wrong=1
}

has() {
    grep -q "^ *\"$1\": $2," "$work/stats" || complain "$1 is not $2: $(grep "\"$1\"" "$work/stats")"
}

for schedule in eager late random:1; do
    export SOFTCUDA_SCHEDULE=$schedule
    for way in look store count put copy set; do
        status=0
        "$program" $way kept || status=$?
        [ $status = 77 ] && exit 77
        [ $status = 0 ] || complain "ended with $status"
        collapses=1
        [ $way = look ] && collapses=0
        has faults $collapses
        has collapses $collapses
        has collapsed_bytes $((collapses << 21))
    done
done
exit $wrong
