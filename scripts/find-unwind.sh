#!/bin/sh
# Prints where LLVM's libunwind is: the folder of its header (`include`), its archive (`archive`), or the text of its
# licence (`licence`). Searched in this order: the folder named as the second argument, build/unwind, where scripts/setup.sh
# unpacks Debian's package, and the system. One line on standard error and status 1 if there is none. Another library of that
# name, Debian's libunwind-dev, is not it: its archive is not position-independent, and its functions have other names.
set -eu
what=${1:-archive}
given=${2:-}
here=$(cd "$(dirname "$0")/.." && pwd)

for root in "$given" "$here/build/unwind" /; do
    [ -n "$root" ] || continue
    root=${root%/}
    for archive in "$root"/usr/lib/llvm-*/lib/libunwind.a "$root"/usr/lib/*-linux-gnu/libunwind.a "$root"/usr/lib64/libunwind.a \
        "$root"/lib/libunwind.a; do
        [ -f "$archive" ] || continue
        for include in "${archive%/lib/libunwind.a}/include" "$root"/usr/include/libunwind "$root"/usr/include/llvm-libunwind \
            "$root"/include; do
            grep -qs 'Part of the LLVM Project' "$include/libunwind.h" || continue
            case $what in
            include) echo "$include" ;;
            archive) echo "$archive" ;;
            licence) ls "$root"/usr/share/doc/libunwind-[0-9]*-dev/copyright ;;
            *)
                echo "find-unwind.sh: include, archive or licence, not '$what'" >&2
                exit 2
                ;;
            esac
            exit 0
        done
    done
done
echo "LLVM's libunwind.a and its header are not found (Debian: libunwind-14-dev or newer); ./test.sh and ./demo.sh bring them" >&2
exit 1
