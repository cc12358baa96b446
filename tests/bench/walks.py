#!/usr/bin/env python3
"""How much code a call walks through: executed lines, functions, files, and locks taken, of src/ and shim/.

usage: walks.py [SOURCE] [--toolkit FOLDER]

Compiles SOURCE (the tree that this file is in) without optimisation into a temporary folder, so that every function is one, and
runs tests/bench/walk.c on the software device under valgrind's callgrind, inline. A launch that finds all resident, an
allocation and a free: one call in a steady program, from the driver's function on. A plan and an eviction: what the calls of
sl_plan_make and of the function that evicts walk through together, and the most locks of one, with two thirds of the need as
budget. Exit status 77: no valgrind.
"""
import argparse
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve()
WALKS = (("a resident launch", "launch", "walk_launch", "1G"), ("an allocation", "allocation", "walk_allocation", "1G"),
         ("a free", "free", "walk_free", "1G"), ("a plan", "steps", "sl_plan_make", "24M"),
         ("an eviction", "steps", "sl_migrator_evict", "24M"))


def compile_tree(source, build, toolkit):
    options = ["-Doptimization=0", "-Ddebug=true", *([f"-Dtoolkit={toolkit}"] if toolkit else [])]
    subprocess.run(["meson", "setup", build, source, *options], check=True, capture_output=True)
    subprocess.run(["ninja", "-C", build, "shim/libsluice.so", "subprojects/softcuda/lib/libcuda.so.1"], check=True, capture_output=True)
    program = build / "walk"
    include = [f"-I{toolkit}/include"] if toolkit else []
    subprocess.run(["cc", "-O1", "-g", "-D_GNU_SOURCE", *include, HERE.parent / "walk.c", "-o", program, f"-L{build}/subprojects/softcuda/lib",
                    "-l:libcuda.so.1"], check=True)
    return program


def record(build, program, action, function, budget, out):
    environment = {**os.environ, "LD_LIBRARY_PATH": str(build / "subprojects/softcuda/lib"), "SLUICE_DAEMON": "inline",
                   "SLUICE_DEVICE_BUDGET": budget, "SLUICE_CHUNK": "2M", "LD_PRELOAD": str(build / "shim/libsluice.so")}
    subprocess.run(["valgrind", "--tool=callgrind", f"--dump-before={function}", f"--dump-after={function}", "--compress-strings=no",
                    "--compress-pos=no", f"--callgrind-out-file={out}", program, action], env=environment, check=True, capture_output=True)
    parts = [part.read_text() for part in sorted(out.parent.glob(f"{out.name}.*"))]
    return [part for part in parts if f"Trigger: --dump-after={function}" in part]


def is_ours(name):
    return ("/src/" in name or "/shim/" in name) and "softcuda" not in name


def count(part, lines, functions, files):
    """Adds what callgrind wrote of one call; returns how many locks it took."""
    locks = 0
    file = own = function = called = ""
    follows = False
    for row in part.splitlines():
        key, _, value = row.partition("=")
        if key == "fl":
            own = file = value
        elif key in ("fi", "fe"):
            file = value
        elif key == "fn":
            file, function = own, value
        elif key == "cfn":
            called = value
        elif key == "calls":
            follows = True
            if is_ours(file) and called.split("'")[0].split("@")[0] == "pthread_mutex_lock":
                locks += int(value.split()[0])
        elif row[:1].isdigit():
            if is_ours(file) and not follows:
                files.add(file)
                functions.add((own, function.split("'")[0]))
                lines.add((file, row.split()[0]))
            follows = False
    return locks


def main():
    parser = argparse.ArgumentParser(usage="%(prog)s [SOURCE] [--toolkit FOLDER]")
    parser.add_argument("source", nargs="?", default=HERE.parents[2], type=pathlib.Path)
    parser.add_argument("--toolkit")
    options = parser.parse_args()
    if not shutil.which("valgrind"):
        sys.exit(77)
    print("| | lines | functions | files | locks |\n| --- | ---: | ---: | ---: | ---: |")
    with tempfile.TemporaryDirectory() as folder:
        build = pathlib.Path(folder) / "build"
        build.mkdir()
        program = compile_tree(options.source.resolve(), build, options.toolkit)
        for name, action, function, budget in WALKS:
            out = build / f"{function}.out"
            parts = record(build, program, action, function, budget, out)
            seen = [set(), set(), set()]
            locks = [count(part, *seen) for part in parts]
            print(f"| {name} | {' | '.join(str(len(one)) for one in seen)} | {max(locks, default=0)} |", flush=True)


if __name__ == "__main__":
    main()
