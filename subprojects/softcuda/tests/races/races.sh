#!/bin/sh
# Every sample of a program is reported as it says itself, and not otherwise, under every schedule; with
# SOFTCUDA_RACES=error the racy ones fail, and only those.
# usage: races.sh PROGRAM FOLDER-OF-LIBRARIES
set -eu
program=$1
export LD_LIBRARY_PATH=$2 SOFTCUDA_LOG=none SOFTCUDA_MEMORY=512M
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
wrong=0

complain() {
    echo "$sample, $schedule: $1"
    wrong=1
}

"$program" >"$work/samples" || exit $?
while IFS='|' read -r sample expected; do
    for schedule in eager late random:1 random:2; do
        export SOFTCUDA_SCHEDULE=$schedule
        rm -f "$work/log" "$work/stats"
        status=0
        SOFTCUDA_RACES=report SOFTCUDA_RACES_LOG=$work/log SOFTCUDA_STATS=$work/stats "$program" "$sample" || status=$?
        [ $status = 77 ] && exit 77
        case $sample in
            *free* | reuse | graph_memory) ;; # an access to what is gone may fault on this device
            *) [ $status = 0 ] || complain "ended with $status" ;;
        esac
        [ -e "$work/log" ] || : >"$work/log"
        sed -n 's/^race [0-9]*: //p' "$work/log" >"$work/found"
        printf '%s' "${expected:+$expected
}" >"$work/expected"
        diff "$work/expected" "$work/found" || complain "other reports than expected"
        # Each report names two operations and the places in the program.
        [ "$(grep -c "^    [a-z]*: .*, operation [0-9]*, \(stream [0-9]*, submitted\|given\) at races-[a-z]*+0x" "$work/log")" = \
            $((2 * $(wc -l <"$work/found"))) ] || complain "operations and places are missing"
        grep -q "\"races\": $(wc -l <"$work/found" | tr -d ' ')," "$work/stats" || complain "the statistics disagree"
        status=0
        SOFTCUDA_RACES=error "$program" "$sample" 2>"$work/errors" || status=$?
        if [ "$expected" ]; then
            [ $status != 0 ] || complain "no error"
        else
            [ $status = 0 ] || complain "an error without a race"
        fi
    done
done <"$work/samples"
exit $wrong
