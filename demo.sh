#!/usr/bin/env bash
# Shows the main job: a training program larger than its device runs unmodified, with the same bits. Installs what is
# missing (scripts/setup.sh), builds, trains workloads/gpt four times and prints a table; build/demo/summary.json holds
# the same figures.
set -euo pipefail
cd "$(dirname "$0")"

arguments=()
while [ $# -gt 0 ]; do
    case $1 in
    --software) arguments+=(--software) ;;
    --data)
        [ $# -ge 2 ] || { echo "demo.sh: --data needs a file (see ./demo.sh --help)" >&2; exit 2; }
        arguments+=(--data "$2")
        [ -r "$2" ] || { echo "demo.sh: cannot read the data file '$2'" >&2; exit 2; }
        shift
        ;;
    --help)
        echo "Usage: ./demo.sh [--software] [--data FILE]"
        echo "Trains a small GPT on FILE (default: a text of this repository) on a device a third of what it needs."
        echo "--software uses the software device softcuda even where there is a GPU."
        exit 0
        ;;
    *)
        echo "demo.sh: unknown argument '$1' (see ./demo.sh --help)" >&2
        exit 2
        ;;
    esac
    shift
done

SETUP_ISAS=host
. scripts/setup.sh
setup_build demo
exec python3 scripts/demo.py build "${arguments[@]}"
