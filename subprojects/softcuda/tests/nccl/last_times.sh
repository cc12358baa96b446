#!/bin/sh
# Breaks if what a rank did last is missing in its timeline because its peers were slow.
# Usage: last_times.sh PROGRAM FOLDER-OF-LIBRARIES
set -eu
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
LD_LIBRARY_PATH=$2 SOFTCUDA_TIMELINE=$work/%p "$1"
[ "$(cat "$work"/* | grep -c '"ncclDevKernel_SendRecv"')" = 2 ]
