#!/bin/sh
# Breaks if results or simulated times depend on the number of threads, or on the order of work; with a library to preload,
# if they depend on that.
# usage: same.sh PROGRAM FOLDER-OF-LIBRARIES [LIBRARY-TO-PRELOAD]
set -eu
program=$1
export LD_LIBRARY_PATH=$2 SOFTCUDA_LOG=none SOFTCUDA_MEMORY=64M
preload=${3:-}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
wanted=$(SOFTCUDA_THREADS=1 SOFTCUDA_TIMELINE=$work/times "$program")
for threads in 2 3; do
    for schedule in eager random:5; do
        got=$(SOFTCUDA_THREADS=$threads SOFTCUDA_SCHEDULE=$schedule SOFTCUDA_TIMELINE=$work/again "$program")
        [ "$got" = "$wanted" ] || { echo "$threads threads, $schedule: $got instead of $wanted"; exit 1; }
        cmp "$work/times" "$work/again"
    done
done
[ -z "$preload" ] || for budget in 8M 64M; do
    got=$(SLUICE_DEVICE_BUDGET=$budget LD_PRELOAD=$preload "$program")
    [ "$got" = "$wanted" ] || { echo "preloaded, $budget: $got instead of $wanted"; exit 1; }
done
