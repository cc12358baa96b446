#!/usr/bin/env bash
# Installs what is missing (scripts/setup.sh), builds, runs every test, and then the unit, stress, shim and life suites and
# a part of the random programs under the address, undefined-behaviour and thread sanitizers (of the unit suite, what
# starts threads under the last), a part of the faults and of the end-to-end suite under the first two; the last line says
# how many passed, failed and were skipped. --full runs the long suites too, the whole end-to-end suite under the first two
# sanitizers and the unit suite under valgrind. --quick runs what is worth its time after every change, without sanitizers,
# and builds no more than that needs. docs/testing.md says more.
set -euo pipefail
cd "$(dirname "$0")"

selection=(--no-suite full)
# What runs under every sanitizer; where races are looked for, of the unit tests those that start threads.
sanitized=(--suite=sluice:{stress,shim,life,random})
full=
quick=
for argument in "$@"; do
    case $argument in
    --full)
        selection=()
        full=1
        ;;
    --quick)
        selection=(--no-suite full --suite=sluice:{unit,shim,life,quick})
        quick=1
        ;;
    --help)
        echo "Usage: ./test.sh [--quick | --full]"
        echo "Builds and runs the tests. CI=1 makes warnings errors."
        echo "  --quick  a few minutes: the unit, shim and life suites and a part of the others, without sanitizers"
        echo "  --full   many hours: the long suites too"
        exit 0
        ;;
    *)
        echo "test.sh: unknown argument '$argument' (see ./test.sh --help)" >&2
        exit 2
        ;;
    esac
done

if [ -n "$quick" ] && [ -n "$full" ]; then
    echo "test.sh: --quick and --full exclude each other" >&2
    exit 2
fi

SETUP_VALGRIND=$full
[ -z "$quick" ] || SETUP_ISAS=host
SETUP_TESTS=1
. scripts/setup.sh
if [ -n "$quick" ]; then setup_configure; else setup_build; fi
rm -f build/stacks.txt
status=0
logs=()

# Runs tests in a build folder, after building what only tests need: FOLDER ARGUMENT... A time limit is there to end what
# hangs, not to judge a slow machine.
run_tests() {
    local folder=$1
    shift
    rm -f "$folder/meson-logs/testlog.json"
    scripts/stacks.sh "$PWD/build" 240 build/stacks.txt &
    meson test -C "$folder" --print-errorlogs --timeout-multiplier 10 "$@" || status=$?
    kill $! 2>/dev/null || true
    local log="build/testlog-${#logs[@]}.json"
    cp "$folder/meson-logs/testlog.json" "$log" || status=1
    logs+=("$log")
}

# The same sources once more, instrumented: FOLDER KIND SUITES... Only what the suites need is built.
run_sanitized() {
    local folder=$1 kind=$2
    shift 2
    [ -f "$folder/build.ninja" ] ||
        meson setup "$folder" -Dtests=enabled -Dtoolkit="$CUDA_TOOLKIT" -Db_sanitize="$kind" \
            -Db_lundef=false -Doptimization=1 -Dsoftcuda:loops="$PWD/build/subprojects/softcuda" >/dev/null ||
        setup_fail "meson cannot configure $folder"
    run_tests "$folder" --no-suite full "$@"
}

run_tests build "${selection[@]}"
if [ -n "$quick" ]; then
    python3 scripts/count-tests.py "${logs[@]}" || status=1
    exit "$status"
fi

# A sanitizer's runtime and its leak checker cannot see through a preloaded object to the program's end.
export ASAN_OPTIONS=detect_leaks=0 UBSAN_OPTIONS=halt_on_error=1:print_stacktrace=1
export TSAN_OPTIONS="suppressions='$PWD/tests/tsan.supp'"
run_sanitized build/asan address,undefined "${sanitized[@]}" --suite=sluice:{unit,faults,e2e}
run_sanitized build/tsan thread "${sanitized[@]}" --suite=sluice:threads
if [ -n "$full" ]; then
    run_tests build/asan --suite sluice:e2e
    # One of the unit tests forbids system calls, and valgrind makes some of its own.
    run_tests build --suite sluice:unit --no-suite seccomp --timeout-multiplier 40 --wrapper \
        "valgrind -q --leak-check=full --show-leak-kinds=definite --errors-for-leak-kinds=definite --error-exitcode=99 --suppressions=$PWD/tests/valgrind.supp"
fi
python3 scripts/count-tests.py "${logs[@]}" || status=1
exit "$status"
