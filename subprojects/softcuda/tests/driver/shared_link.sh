#!/bin/sh
# Devices that share a link to the host each have an equal part of it, whether the others use it or not, and whoever
# looks where the kernel shows devices sees who shares.
# usage: shared_link.sh PROGRAM FOLDER-OF-LIBRARIES
set -eu
program=$1
export LD_LIBRARY_PATH=$2 SOFTCUDA_DEVICES=3 SOFTCUDA_LINK_IN=32
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
expect() {
    [ "$1" = "$2" ] || { echo "$3: $1 instead of $2"; exit 1; }
}
# 32 MiB at 32 GB/s.
expect "$("$program")" "1050 1050 1050" "a link each"
expect "$(SOFTCUDA_HOST_LINK=2 "$program")" "2098 2098 1050" "two share"
expect "$(SOFTCUDA_HOST_LINK=2 CUDA_VISIBLE_DEVICES=1 "$program")" "2098" "the other is there though it is not seen"
expect "$(SOFTCUDA_HOST_LINK=9 "$program")" "3147 3147 3147" "all share"
SOFTCUDA_HOST_LINK=2 SOFTCUDA_NUMA_NODES=2 SOFTCUDA_SYSFS=$folder/a/sys "$program" >/dev/null
at() { readlink -f "$folder/a/sys/bus/pci/devices/0000:$1:00.0" | sed "s|.*/pci|pci|"; }
expect "$(at 01) $(at 02) $(at 03)" "pci0000:00/0000:00:01.0/0000:01:00.0 pci0000:00/0000:00:01.0/0000:02:00.0 pci0000:00/0000:00:02.0/0000:03:00.0" "places"
expect "$(cat "$folder/a/sys/bus/pci/devices/0000:02:00.0/numa_node")" 1 "the nearest node"
SOFTCUDA_HOST_LINK=2 SOFTCUDA_NUMA_NODES=2 SOFTCUDA_SYSFS=$folder/a/sys "$program" >/dev/null # again
