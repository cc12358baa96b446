#!/usr/bin/env bash
# Usage: stacks.sh FOLDER SECONDS OUT. Until it is ended: appends to OUT the stacks of each program of FOLDER that has run for
# SECONDS, once. What hangs in a test is seldom there to be looked at afterwards. Does nothing without gdb.
set -uo pipefail
command -v gdb >/dev/null || exit 0
declare -A seen
while sleep 10 && kill -0 "$PPID" 2>/dev/null; do
    for process in /proc/[0-9]*; do
        id=${process#/proc/}
        program=$(readlink "$process/exe" 2>/dev/null) || continue
        [[ $program == "$1"/* && ! -v seen[$id] ]] || continue
        age=$(ps -o etimes= -p "$id") || continue
        [ "${age##* }" -ge "$2" ] || continue
        seen[$id]=1
        {
            echo "== ${program##*/}, process $id after ${age##* } s"
            timeout 60 gdb -q -batch -p "$id" -ex 'thread apply all backtrace 14' 2>/dev/null | grep -E '^(Thread|#)'
        } >>"$3"
    done
done
