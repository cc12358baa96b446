#!/bin/sh
# Several processes on one device, by SOFTCUDA_SHARED; and what stands in the way of that.
# usage: neighbours.sh PROGRAM FOLDER-OF-LIBRARIES
set -eu
program=$1
export LD_LIBRARY_PATH=$2 SOFTCUDA_MEMORY=64M SOFTCUDA_MANAGED_COUNTS=1 SOFTCUDA_SHARED
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
fail() { echo "$*"; exit 1; }
SOFTCUDA_SHARED=$folder/shared
"$program" || fail "processes do not see each other"
[ ! -e "$SOFTCUDA_SHARED" ] || fail "the file is left behind"
echo "what nobody wrote" >"$SOFTCUDA_SHARED"; chmod 600 "$SOFTCUDA_SHARED"
"$program" || fail "a damaged file that nobody has is not taken over"
[ ! -e "$SOFTCUDA_SHARED" ] || fail "the file is left behind"
# Off, or another's file: each process is alone, and a file of others stays as it is.
echo "somebody's" >"$SOFTCUDA_SHARED"; chmod 644 "$SOFTCUDA_SHARED"
said=$("$program" 2>&1) && fail "a file that others can read is used"
case $said in *"what other processes allocate is not seen"*) ;; *) fail "nothing is said of it: $said" ;; esac
[ "$(cat "$SOFTCUDA_SHARED")" = "somebody's" ] || fail "it was written to"
said=$(env -u SOFTCUDA_SHARED "$program" 2>&1) && fail "processes see each other though nobody asked for it"
case $said in *"56 MiB free, 56 beside another"*) ;; *) fail "alone: $said" ;; esac
