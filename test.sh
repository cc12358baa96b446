#!/usr/bin/env bash
# Installs what is missing (scripts/setup.sh), builds, and runs every test; the last line says how many passed, failed
# and were skipped. --full runs the long suites too.
set -euo pipefail
cd "$(dirname "$0")"

selection=(--no-suite full)
for argument in "$@"; do
    case $argument in
    --full) selection=() ;;
    --help)
        echo "Usage: ./test.sh [--full]"
        echo "Builds and runs the tests; --full runs the long suites too. CI=1 makes warnings errors."
        exit 0
        ;;
    *)
        echo "test.sh: unknown argument '$argument' (see ./test.sh --help)" >&2
        exit 2
        ;;
    esac
done

. scripts/setup.sh
setup_build
rm -f build/meson-logs/testlog.json
status=0
meson test -C build --no-rebuild --print-errorlogs "${selection[@]}" || status=$?
python3 scripts/count-tests.py build/meson-logs/testlog.json || status=1
exit "$status"
