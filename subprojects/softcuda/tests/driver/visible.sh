#!/bin/sh
# CUDA_VISIBLE_DEVICES chooses devices and their order, up to the first that is none.
# usage: visible.sh PROGRAM FOLDER-OF-LIBRARIES
set -eu
program=$1
export LD_LIBRARY_PATH=$2 SOFTCUDA_DEVICES=4
expect() {
    found=$(CUDA_VISIBLE_DEVICES=$1 "$program") || { echo "'$1': failed"; exit 1; }
    [ "$found" = "$2" ] || { echo "'$1': $found instead of $2"; exit 1; }
}
expect 0 "1"
expect 2,0 "3 1"
expect " 3 , 1" "4 2"
expect 1,7,2 "2"
expect 1,1 "2"
expect -1 "no device"
expect "" "no device"
[ "$(env -u CUDA_VISIBLE_DEVICES "$program")" = "1 2 3 4" ]
uuid=$(CUDA_VISIBLE_DEVICES=2 "$program" uuid)
expect "$uuid" "3"
expect "0,$(echo "$uuid" | cut -c1-40)" "1 3"
[ "$(SOFTCUDA_DEVICES=99 env -u CUDA_VISIBLE_DEVICES "$program" | wc -w)" = 16 ]
