#!/bin/sh
# A program on a driver that lacks functions: it succeeds, and graphs that use more than the budget run in pieces all the
# same, for which sluice reads their edges.
# usage: check_older.sh PROGRAM, with PRELOAD in the environment
set -eu
log=$(mktemp)
trap 'rm -f "$log"' EXIT
SLUICE_LOG=$log LD_PRELOAD=$PRELOAD "$1"
cat "$log" >&2
if grep -q "is not run in pieces" "$log"; then exit 1; fi
