#!/bin/sh
# A program under several preloaded objects: OBJECT-THAT-MUST-EXIST PRELOAD PROGRAM...
set -eu
object=$1 preload=$2
shift 2
[ -e "$object" ] || { echo "$object is not installed"; exit 77; }
export ASAN_OPTIONS=verify_asan_link_order=0:detect_leaks=0 LD_PRELOAD="$preload"
exec "$@"
