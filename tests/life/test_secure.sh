#!/bin/sh
# What the object writes and reads where others have a hand in: OBJECT PROGRAM. The program trains; it is linked to
# nothing of ours.
set -eu
object=$(realpath "$1") program=$(realpath "$2")
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
failed=0
say() { echo "$*"; failed=1; }
run() { env LD_PRELOAD="$object" "$@" "$program" folder; }

# Files are its owner's only, whatever the mask.
umask 0
run SLUICE_TRACE="$folder/a.slt" SLUICE_STATS="$folder/a.json" SLUICE_LOG="$folder/a.log" SLUICE_VERBOSE=1
for file in a.slt a.json a.log; do
    [ "$(stat -c %a "$folder/$file")" = 600 ] || say "$file has the mode $(stat -c %a "$folder/$file")"
done

# Links and second names in a shared folder lead to what must not be overwritten; the program runs all the same.
for link in -s ''; do
    for option in TRACE STATS LOG; do
        echo precious >"$folder/victim"
        ln $link "$folder/victim" "$folder/lure"
        run SLUICE_$option="$folder/lure" SLUICE_VERBOSE=1 2>/dev/null
        [ "$(cat "$folder/victim")" = precious ] || say "SLUICE_$option went through a link (ln $link)"
        rm "$folder/lure" "$folder/victim"
    done
done

# Another user's file, put there for us to fill.
if [ "$(id -u)" = 0 ]; then
    for option in TRACE STATS LOG; do
        : >"$folder/lure"
        chown 65534 "$folder/lure"
        run SLUICE_$option="$folder/lure" SLUICE_VERBOSE=1 2>/dev/null
        [ ! -s "$folder/lure" ] || say "SLUICE_$option filled another user's file"
        rm "$folder/lure"
    done
fi

# Nothing is read from the folder that the program starts in, and a name without a folder is one there.
mkdir "$folder/here"
cd "$folder/here"
for lure in sluice.conf .sluice sluice.ini .sluicerc profile.slp; do echo 'SLUICE_POLICY=off' >"$lure"; done
touch -a -d '2001-01-01' ./* ./.sluice*
run SLUICE_STATS=named.json
[ -s named.json ] || say "a name without a folder is not in the first one"
grep -q '"policy": "plan"' named.json || say "a file of the current folder changed the options"
if command -v strace >/dev/null && strace -o /dev/null true 2>/dev/null; then
    strace -f -e trace=openat,open -o "$folder/calls" -E LD_PRELOAD="$object" "$program" folder
    # Relative names, but for the program's own (it opens "." itself).
    if grep -E 'open(at)?\((AT_FDCWD, )?"[^/]' "$folder/calls" | grep -v '"\."'; then say "opened in the current folder"; fi
fi

# With the rights of another user, the environment does not say where we write. The loader drops LD_PRELOAD there
# unless the administrator wants it, so the object is linked to a copy of `true`.
if [ "$(id -u)" = 0 ] && command -v setpriv >/dev/null && command -v cc >/dev/null; then
    chmod 755 "$folder"
    cp "$object" "$folder/libsluice.so"
    printf '#include <stdio.h>\n#include <sys/auxv.h>\nint main(void) { printf("%%lu", getauxval(AT_SECURE)); return 0; }\n' |
        cc -x c - -x none -o "$folder/secure" -Wl,--no-as-needed "$folder/libsluice.so" -Wl,-rpath,"$folder"
    chmod 4755 "$folder/secure"
    mkdir -m 777 "$folder/open"
    secure=$(cd "$folder/open" && SLUICE_LOG="$folder/open/log" SLUICE_NONSENSE=1 SLUICE_CHUNK=7 \
        setpriv --reuid=65534 --clear-groups "$folder/secure" 2>"$folder/open-stderr") || say "a setuid program failed"
    if [ "$secure" = 1 ]; then
        [ -z "$(ls -A "$folder/open")" ] || say "a setuid program wrote where its caller said"
        [ ! -s "$folder/open-stderr" ] || say "a setuid program read the options: $(cat "$folder/open-stderr")"
    fi
    SLUICE_LOG="$folder/open/log" SLUICE_NONSENSE=1 "$folder/secure" >/dev/null
    [ -s "$folder/open/log" ] || say "without other rights the options are read"
fi
exit $failed
