#!/bin/sh
# SOFTCUDA_TRAP_HOST tells of every access of the CPU to what only the device has, once for each place, and of no
# other; such a block moves to the host; what is no managed memory crashes as ever. Without the option nothing differs.
# usage: traps.sh PROGRAM FOLDER-OF-LIBRARIES
set -eu
program=$1
export LD_LIBRARY_PATH=$2 SOFTCUDA_DRIVER=ideal SOFTCUDA_MEMORY=64M SOFTCUDA_LINK_OUT=1 SOFTCUDA_FAULT_NS=1000000 SOFTCUDA_CALL_NS=500
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
wrong=0

complain() {
    echo "$sample, $schedule: $1"
    wrong=1
}

# SAMPLE STATUS BLOCKS TOLD...: ends like that, moves so many blocks, and tells of these accesses.
sample() {
    sample=$1 expected=$2 blocks=$3
    shift 3
    for schedule in eager late random:1; do
        rm -f "$work/stats" "$work/log"
        status=0
        SOFTCUDA_SCHEDULE=$schedule SOFTCUDA_TRAP_HOST=1 SOFTCUDA_STATS=$work/stats SOFTCUDA_LOG=$work/log \
            "$program" $sample 2>"$work/errors" || status=$?
        [ $status = 77 ] && exit 77
        [ $status = $expected ] || complain "ended with $status: $(cat "$work/errors")"
        : >"$work/expected"
        [ $# = 0 ] || printf '%s\n' "$@" >"$work/expected"
        touch "$work/log"
        sed -n 's/^softcuda: the host \([a-z]*\) 0x[0-9a-f]*, offset \([0-9]*\) of 8388608 bytes of managed memory that only device 0 has, at driver-traps+0x[0-9a-f]*.*/\1 \2/p' \
            "$work/log" >"$work/told"
        diff "$work/expected" "$work/told" || complain "other accesses are told: $(cat "$work/log")"
        [ $expected = 0 ] || continue
        grep -q "\"host_faults\": $blocks," "$work/stats" || complain "not $blocks blocks: $(grep host_faults "$work/stats")"
        grep -q "\"bytes_out\": .*\"fault\": $((blocks << 21))," "$work/stats" || complain "other bytes moved"
    done
}

sample resident 0 2 "reads 2097172" "writes 6291484"
sample loop 0 4 "reads 0"
sample device 0 1 "reads 4194812"
sample elsewhere 0 0
sample beside 0 1 "reads 4"
sample thread 0 1 "reads 2097172"
sample callback 0 0
sample parameter 0 0
sample times 0 1 "reads 0"
sample handler 0 1 "reads 20"
sample crash 139 0

schedule=late
for sample in resident device; do
    SOFTCUDA_STATS=$work/stats "$program" $sample 2>"$work/errors" || complain "fails without the option"
    ! [ -s "$work/errors" ] || complain "tells without the option: $(cat "$work/errors")"
    ! grep -q host_faults "$work/stats" || complain "counts without the option"
done
exit $wrong
