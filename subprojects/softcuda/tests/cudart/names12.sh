#!/bin/sh
# The log of names12 has one line at most: what an older driver lacks.
# usage: names12.sh PROGRAM
set -eu
log=$(mktemp)
trap 'rm -f "$log"' EXIT
SOFTCUDA_LOG=$log "$1"
cat "$log" >&2
[ "$(grep -cv "the driver has no cuStreamGetCaptureInfo$" "$log")" = 0 ]
