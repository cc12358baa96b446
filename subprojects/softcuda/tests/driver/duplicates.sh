#!/bin/sh
# A write to memory of which each side has a copy is a fault that ends the host's copy, however the device
# writes, and counts as one; a read is none. Contents stay right, but where SOFTCUDA_HIDE_WRITE has a write go
# unnoticed: taking read-mostly back then loses it, and no other byte.
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
        told=
        lost=kept
        [ $way = look ] || lost=lost told=yes
        status=0
        SOFTCUDA_HIDE_WRITE=1 "$program" $way $lost 2>"$work/log" || status=$?
        [ $status = 0 ] || complain "ended with $status where the write was hidden: $(cat "$work/log")"
        has collapses 0
        [ "$told" = "$(grep -q "^softcuda: SOFTCUDA_HIDE_WRITE: nobody notices the write of operation" "$work/log" && echo yes)" ] ||
            complain "the log says: $(cat "$work/log")"
        SOFTCUDA_HIDE_WRITE=1 "$program" $way kept nowhere 2>/dev/null || complain "the device's copy is not kept"
        SOFTCUDA_HIDE_WRITE=2 "$program" $way kept || complain "another write than the second was hidden"
    done
done
exit $wrong
