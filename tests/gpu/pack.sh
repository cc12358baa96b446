#!/usr/bin/env bash
# Collects from a finished build what a machine with a GPU needs to run tests/gpu/run.sh, so that it can be carried there. That machine
# need have nothing but the vendor's driver, bash and Python 3, and may have PyTorch.
set -euo pipefail

usage="Usage: tests/gpu/pack.sh BUILD DIR

Makes the folder DIR: run.sh and what it runs, stripped. DIR must not exist, or be empty."

MOST_BYTES=$((16 << 20))
# What every such machine has: the C library, and the C++ library, which PyTorch needs, too.
ALLOWED=' libc.so.6 libm.so.6 libdl.so.2 libpthread.so.0 librt.so.1 ld-linux-x86-64.so.2 libstdc++.so.6 libgcc_s.so.1 '
# The driver is the vendor's, or with --software one in the kit; so are the CUDA runtime and NCCL.
PROVIDED=' libcuda.so.1 libcudart.so.13 libcudart.so.12 libnccl.so.2 '

here=$(cd "$(dirname "$0")" && pwd)
top=$here/../..

fail() {
    echo "pack.sh: $1" >&2
    exit "${2:-1}"
}

case ${1:-} in --help) echo "$usage" && exit 0 ;; esac
[ $# -eq 2 ] || fail 'BUILD and DIR are needed (see pack.sh --help)' 2
[ -f "$1/meson-info/intro-tests.json" ] || fail "'$1' is no build folder of sluice" 2
[ -z "$(ls -A "$2" 2>/dev/null)" ] || fail "'$2' is not empty" 2
build=$(cd "$1" && pwd)
mkdir -p "$2"
kit=$(cd "$2" && pwd)
software=subprojects/softcuda/lib

# A copy of FILE at DIR/PLACE, without what only a debugger needs.
take() {
    [ -e "$1" ] || fail "'$1' is missing: build everything first, with -Dtests=enabled"
    mkdir -p "$(dirname "$kit/$2")"
    cp -L "$1" "$kit/$2"
    if [ "$(head -c 4 "$1" | tail -c 3)" = ELF ]; then strip --strip-unneeded "$kit/$2"; fi
}

# The CUDA runtime that the programs were built for, where the build's toolkit has it.
find_runtime() {
    local toolkit folder
    toolkit=$(python3 -c 'import json, sys
print(next(o["value"] for o in json.load(open(sys.argv[1])) if o["name"] == "toolkit"))' "$build/meson-info/intro-buildoptions.json")
    toolkit=$("$top/scripts/find-cuda.sh" root "$toolkit" 2>/dev/null) || return 0
    for folder in lib64 lib targets/x86_64-linux/lib; do
        if [ -e "$toolkit/$folder/libcudart.so.13" ]; then
            echo "$toolkit/$folder/libcudart.so.13"
            return
        fi
    done
}

for file in run.sh session.py parts.py archive.py digest.py decisions.py machine.py touch_memory.py doubts.py programs.py gpt.py torch_runs.py \
    train_torch.py framework_runs.py report.py README.md; do
    take "$here/$file" "$file"
done
for file in "$top"/tests/frameworks/programs/*.py; do
    take "$file" "programs/${file##*/}"
done
take "$top/workloads/data/gpl-3.txt" gpl-3.txt
take "$build/tests/gpu/sluice" build/tools/sluice
for file in shim/libsluice.so shim/libsluice-record.so tests/gpu/um_probe workloads/gpt workloads/ddp $software/libcuda.so.1 \
    $software/libcudart.so.13 $software/libcudart.so.12 $software/libnccl.so.2; do
    take "$build/$file" "build/$file"
done
python3 "$here/programs.py" "$build" --list >"$kit/build/programs.json"
while read -r program; do
    take "$build/$program" "build/$program"
done < <(python3 -c 'import json, sys
print(*sorted({p["program"] for p in json.load(sys.stdin)}), sep="\n")' <"$kit/build/programs.json")
runtime=$(find_runtime)
if [ -n "$runtime" ]; then
    take "$runtime" lib/libcudart.so.13
else
    echo 'pack.sh: the toolkit has no libcudart.so.13: the machine has to have one (PyTorch brings it)' >&2
fi

while read -r file; do
    for library in $(readelf -d "$file" 2>/dev/null | sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p'); do
        case $ALLOWED$PROVIDED in *" $library "*) ;; *) fail "$file needs $library, which a bare machine lacks" ;; esac
    done
done < <(find "$kit" -type f)
bytes=$(du -sb "$kit" | cut -f1)
[ "$bytes" -le $MOST_BYTES ] || fail "the kit has $bytes bytes, more than $MOST_BYTES"
# What the machine's C library must be, at least.
libc=$({ find "$kit" -type f -exec readelf -V {} + 2>/dev/null || true; } | grep -o 'GLIBC_2\.[0-9]*' | sort -uV | tail -1)
echo "pack.sh: $kit: $((bytes >> 20)) MiB; needs ${libc/_/ } or newer"
