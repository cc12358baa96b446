#!/bin/sh
# A page that another device called home does not count on its device any more: there is one of 4 MiB at a time.
# usage: recalls.sh PROGRAM FOLDER-OF-LIBRARIES
set -eu
program=$1
export LD_LIBRARY_PATH=$2 SOFTCUDA_DEVICES=2 SOFTCUDA_MEMORY=64M
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
for schedule in eager late random:1 random:2; do
    for how in once again; do
        SOFTCUDA_SCHEDULE=$schedule SOFTCUDA_STATS=$folder/stats "$program" $how
        peak=$(python3 -c 'import json, sys; print(json.load(open(sys.argv[1]))["devices"][0]["peak_device_bytes"])' "$folder/stats")
        [ "$peak" = 4194304 ] || { echo "$schedule, $how: a peak of $peak bytes"; exit 1; }
    done
done
