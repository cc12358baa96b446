#!/bin/sh
# The profile of kernels says how often each was launched and what it executed, as the statistics and the
# source say; without the option nothing is written.
# usage: kernel_profile.sh PROGRAM FOLDER-OF-LIBRARIES
set -eu
program=$1
export LD_LIBRARY_PATH=$2
command -v python3 >/dev/null || { echo "python3 is missing"; exit 77; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export SOFTCUDA_MEMORY=512M SOFTCUDA_LOG=none SOFTCUDA_TIMELINE=$work/lines
"$program"
[ "$(ls "$work")" = lines ] || { echo "files nobody asked for"; exit 1; }
SOFTCUDA_PROFILE_KERNELS=- "$program" 2>"$work/screen"
for threads in 1 2; do
    SOFTCUDA_THREADS=$threads SOFTCUDA_PROFILE_KERNELS=$work/profile.$threads "$program"
    python3 - "$work/profile.$threads" "$work/lines" "$work/screen" <<'PYTHON'
import collections, json, sys
def read(path):
    kernels, kinds = {}, {}
    parts = open(path).read().split("\n\n")
    for line in parts[0].splitlines()[1:]:
        share, seconds, launches, instructions, rate, name = line.split()
        kernels[name] = (float(share[:-1]), float(seconds), int(launches), int(instructions))
    for part in parts[1:]:
        name, _, *lines = part.splitlines()
        fields = [line.split(None, 4) for line in lines]
        assert abs(sum(float(f[0][:-1]) for f in fields) - 100) < 0.5, name
        kinds[name] = {f[4]: (int(f[1]), int(f[2])) for f in fields}
    return kernels, kinds
kernels, kinds = read(sys.argv[1])
shown, _ = read(sys.argv[3])
assert {k: v[2:] for k, v in shown.items()} == {k: v[2:] for k, v in kernels.items()}
launched = collections.Counter(
    line["name"] for line in map(json.loads, open(sys.argv[2])) if line["kind"] == "kernel")
assert {name: kernel[2] for name, kernel in kernels.items()} == launched, (kernels, launched)
assert abs(sum(kernel[0] for kernel in kernels.values()) - 100) < 0.5
assert [k[1] for k in kernels.values()] == sorted((k[1] for k in kernels.values()), reverse=True)
affine = kinds["affine"]
# Launches of 8 blocks of 128 threads, 1000 of which compute one element each; the last has 32 threads, and faults
# where the first of them stores.
whole = launched["affine"] - 1
assert affine["fma.f32"][1] == affine["ld.global.b32"][1] == 1000 * whole + 1, affine
assert affine["st.global.b32"][1] == 1000 * whole, affine
assert affine["bra"][1] == 1024 * whole + 32 and affine["exit"][1] == 1024 * whole, affine
assert kernels["affine"][3] == whole * (1024 * 12 + 1000 * 8) + 32 * 11 + 8, kernels["affine"]
PYTHON
done
