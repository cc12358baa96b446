#!/bin/sh
# A program with machine code only runs where kernels need not be executed, which is said once, and nowhere else.
# usage: machine_code.sh PROGRAM FOLDER-OF-LIBRARIES
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
export LD_LIBRARY_PATH=$2 SOFTCUDA_LOG=$folder/log SOFTCUDA_PROFILE=h100-pcie5
runs() {
    env "$@" || { echo "$*: fails"; cat "$folder/log"; exit 1; }
}
says() {
    [ "$(grep -c "$1" "$folder/log")" = "$2" ] || { echo "not $2 times: $1"; cat "$folder/log"; exit 1; }
    rm "$folder/log"
}
runs SOFTCUDA_EXECUTE=sample "SOFTCUDA_STATS=$folder/stats" "$1" sample
says "machine code only.*estimated" 1
grep -q '"executed_blocks": 0' "$folder/stats" || { echo "blocks were executed"; cat "$folder/stats"; exit 1; }
# Races can only be found in what is executed.
for setting in SOFTCUDA_EXECUTE=all "SOFTCUDA_EXECUTE=sample SOFTCUDA_RACES=report" "SOFTCUDA_EXECUTE=sample SOFTCUDA_TOUCHED=$folder/touched"; do
    # shellcheck disable=SC2086
    runs $setting "$1" all
    says "the program holds machine code only.*-gencode" 1
done
