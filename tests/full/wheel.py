#!/usr/bin/env python3
"""The wheel of scripts/wheel.py: BUILD PROGRAM, a CUDA program that needs nothing but libcuda.so.1 and the C library.

Installed by pip in a new environment of this machine, and in bare systems of Debian 12 and 13, which have Python and no compiler:
the program trains on the software device by `sluice run` and by LD_PRELOAD=$(sluice path) with the same result as without sluice,
the package sluice is there for this Python, `python -m sluice` is the command, `sluice demo` trains beyond the device's memory, a C
program finds the headers and the reader of traces where there is a compiler, and after `pip uninstall` no file is left (pip
leaves empty folders below share). What the wheel says of itself passes the checks of the package index. The systems are made once, in $SLUICE_CACHE or ~/.cache/sluice. Skipped where PyPI cannot be reached; the systems, where mmdebstrap or a user that may make them is missing."""
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

SOURCE = pathlib.Path(__file__).resolve().parents[2]
SUITES = "bookworm", "trixie"
# In an empty folder with the wheel and the program. What it prints last is that all is well.
SCRIPT = r"""
set -eu
[ -z "${BARE:-}" ] || for compiler in cc gcc clang c++; do
    ! command -v $compiler >/dev/null || { echo "there is a compiler: $compiler"; exit 1; }
done
python3 -m venv environment
find environment -not -type d -not -name '*.pyc' | sort >before
environment/bin/pip install -q --no-index --disable-pip-version-check ./*.whl
. environment/bin/activate
sluice --version
sluice doctor --software >doctor || { cat doctor; exit 1; }
train="./program --steps 4 --width 512 --layers 8"
SOFTCUDA_MEMORY=1G LD_LIBRARY_PATH=$(sluice path --softcuda) $train >without
sluice run --software --budget 16M --chunk 2M --trace run.slt --stats run.json -- $train >with
LD_PRELOAD=$(sluice path) LD_LIBRARY_PATH=$(sluice path --softcuda) SLUICE_DEVICE_BUDGET=16M SLUICE_CHUNK=2M SLUICE_STATS=by_hand.json $train >by_hand
for run in with by_hand; do
    diff <(grep -E 'loss|hash' without | sed 's/ time.*//') <(grep -E 'loss|hash' $run | sed 's/ time.*//')
done
grep -qE 'loss|hash' with
for stats in run.json by_hand.json; do
    python3 -c 'import json, sys; assert sum(json.load(open(sys.argv[1]))["bytes_in_by_cause"].values()) > 0, "nothing was moved"' $stats
done
[ "$(python -m sluice path)" = "$(sluice path)" ]
(cd / && python -c 'import sluice; assert not sluice.active() and sluice.stats() is None')
sluice run -- python -c 'import sluice; assert sluice.active()'
python -m sluice run -- python -c 'import sluice; assert sluice.active()'
sluice trace info run.slt | grep -E '^(program|launches) '
sluice trace sites run.slt >sites
grep -q '^      main  ' sites || { cat sites; exit 1; }  # libdw is in the wheel
sluice demo --steps 2 >demo
[ $(grep -c 'the same bits' demo) = 2 ] && grep -q 'out of memory' demo
if [ -z "${BARE:-}" ]; then
    cc -Werror -Ienvironment/include reader.c -o reader -Lenvironment/lib -l:libsluice-trace.so.0 -ldl
    LD_LIBRARY_PATH=environment/lib sluice run --software -- ./reader run.slt
fi
[ -s environment/share/man/man1/sluice.1 ] && [ -s environment/share/bash-completion/completions/sluice ]
deactivate
environment/bin/pip uninstall -q -y sluice-cuda
find environment -not -type d -not -name '*.pyc' | sort | diff before -
echo all is well
"""

READER = r"""
#include <sluice/figures.h>
#include <sluice/marks.h>
#include <sluice/trace_reader.h>
#include <stdio.h>

int main(int argc, char **argv)
{
    struct sluice_trace_reader *reader;
    struct sluice_trace_problem problem;
    struct sluice_trace_record record;
    if (argc < 2 || sluice_trace_open(argv[1], &reader, &problem) != SLUICE_TRACE_OK || !sluice_trace_next(reader, &record)) return 1;
    sluice_trace_close(reader);
    sluice_mark("read");
    return 0;
}
"""


def skip(reason):
    print("skipped:", reason)
    sys.exit(77)


def fill(folder, wheel, program):
    shutil.copy(wheel, folder)
    shutil.copy(program, folder / "program")
    (folder / "script").write_text(SCRIPT)
    (folder / "reader.c").write_text(READER)


def check(where, result):
    print(f"{where}: {result.stdout.strip()}", flush=True)
    if result.returncode or not result.stdout.endswith("all is well\n"):
        sys.exit(f"{where}: status {result.returncode}: {result.stderr.strip()}")


def environment(**more):
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("SLUICE_", "SOFTCUDA_", "LD_", "PYTHON", "PIP_"))}
    return {**kept, **more}


def here(wheel, program):
    with tempfile.TemporaryDirectory() as folder:
        fill(pathlib.Path(folder), wheel, program)
        check("this machine", subprocess.run(["bash", "script"], cwd=folder, env=environment(), capture_output=True, text=True))


def system(suite):
    """The folder of a bare Debian, made if it is not there; None and why if it cannot be made."""
    cache = pathlib.Path(os.environ.get("SLUICE_CACHE") or pathlib.Path.home() / ".cache/sluice") / "roots"
    root, part = cache / suite, cache / f"{suite}.part"
    if root.exists():
        return root, None
    if not shutil.which("mmdebstrap"):
        return None, "mmdebstrap is not installed"
    cache.mkdir(parents=True, exist_ok=True)
    shutil.rmtree(part, ignore_errors=True)
    made = subprocess.run(["mmdebstrap", "--variant=minbase", "--include=python3,python3-venv", suite, part], capture_output=True, text=True)
    if made.returncode:
        return None, f"mmdebstrap: {made.stderr.strip()[-200:]}"
    part.rename(root)
    return root, None


def bare(suite, wheel, program):
    """False, and says why, if there is no such system."""
    if os.getuid() != 0:
        print(f"{suite}: left out: only root may enter another system")
        return False
    root, reason = system(suite)
    if reason:
        print(f"{suite}: left out: {reason}")
        return False
    with tempfile.TemporaryDirectory(dir=root / "tmp") as folder:
        fill(pathlib.Path(folder), wheel, program)
        inside = f"/tmp/{pathlib.Path(folder).name}"
        enter = 'mount -t proc proc "$1/proc" && mount --rbind /dev "$1/dev" && exec chroot "$1" sh -c "cd $2 && exec bash script"'
        check(suite, subprocess.run(["unshare", "--mount", "--pid", "--fork", "sh", "-c", enter, "sh", root, inside],
                                    env={"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "BARE": "1", "HOME": "/root"}, capture_output=True, text=True))
    return True


def check_metadata(wheel):
    """By twine and the list of classifiers, from PyPI."""
    with tempfile.TemporaryDirectory() as folder:
        python = pathlib.Path(folder) / "venv/bin/python"
        subprocess.run([sys.executable, "-m", "venv", python.parent.parent], check=True)
        subprocess.run([python, "-m", "pip", "install", "-q", "--disable-pip-version-check", "twine", "trove-classifiers"], check=True)
        subprocess.run([python, "-m", "twine", "check", "--strict", wheel], check=True)
        used = subprocess.run([python, "-c", "import sys, trove_classifiers, zipfile; "
                               "text = next(z.read(n).decode() for z in [zipfile.ZipFile(sys.argv[1])] for n in z.namelist() if n.endswith('/METADATA')); "
                               "print(*(l for l in text.splitlines() if l.startswith('Classifier: ') and l[12:] not in trove_classifiers.classifiers), sep='\\n')",
                               wheel], check=True, capture_output=True, text=True).stdout.strip()
        if used:
            sys.exit(f"the package index does not know:\n{used}")


def main():
    build, program = sys.argv[1:]
    with tempfile.TemporaryDirectory() as out:
        made = subprocess.run([SOURCE / "scripts/wheel.py", "--no-rebuild", "--url", "https://host.example/sluice", build, out], capture_output=True, text=True)
        if made.returncode and "pip install" in made.stderr:
            skip(f"the programs that make a wheel cannot be had: {made.stderr.strip()[-200:]}")
        if made.returncode:
            sys.exit(made.stderr)
        wheel = pathlib.Path(made.stdout.strip())
        print(wheel.name, flush=True)
        check_metadata(wheel)
        here(wheel, program)
        entered = [bare(suite, wheel, program) for suite in SUITES]
        print(f"{1 + sum(entered)} of {1 + len(SUITES)} systems")


if __name__ == "__main__":
    main()
