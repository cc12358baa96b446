#!/bin/sh
# Ordinary processes under the shim: another path, exec, fork in a shell, an interpreter.
set -eu
object=$1 probe=$2
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
mkdir -p "$folder/a strange=place"
cp "$object" "$folder/renamed.bin"

# Its own file name means nothing to it: every look-up still ends.
LD_PRELOAD="$folder/renamed.bin" SLUICE_EXPECT=renamed.bin "$probe"
# Twice, under two names: they are in a chain and must not call each other for ever.
LD_PRELOAD="$folder/renamed.bin:$object" SLUICE_EXPECT=renamed.bin "$probe"
# exec keeps it, and shells fork.
LD_PRELOAD="$object" sh -c 'exec sh -c "(true; true) && echo done"' | grep -q '^done$'
LD_PRELOAD="$object" env true
# Unset on the way, it is gone.
test "$(LD_PRELOAD="$object" env -u LD_PRELOAD sh -c 'grep -c libsluice /proc/self/maps || true')" = 0
