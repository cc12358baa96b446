#!/usr/bin/env python3
"""Every header compiles alone.

usage: headers.py ROOT COMPILER FLAG...

Each header of include/, src/, shim/ and tools/ is compiled by itself, twice in a row: whoever includes it need not know what
has to come before it, nor whether it is there already. Includes are looked for in include/ and src/, those of the shim in its
own folder as well, those of tools/ from the root on. Prints what the compiler says of headers that need another one first.
"""
import concurrent.futures
import os
import subprocess
import sys

FLAGS = ["-std=gnu17", "-fsyntax-only", "-Wall", "-Wextra", "-Wshadow", "-Wstrict-prototypes", "-Wmissing-prototypes", "-Werror"]


def headers_of(root):
    for top in ("include", "src", "shim", "tools"):
        for folder, _, names in os.walk(os.path.join(root, top)):
            yield from (os.path.relpath(os.path.join(folder, name), root) for name in sorted(names) if name.endswith(".h"))


def compile_alone(root, command, header):
    """What the compiler says of a header that is all there is; empty if nothing."""
    folders = ["include", "src"] + {"shim": ["shim"], "tools": ["."]}.get(header.split(os.sep)[0], [])
    arguments = [f"-I{folder}" for folder in folders] + ["-x", "c", "-include", header, "-include", header, os.devnull]
    run = subprocess.run(command + arguments, cwd=root, capture_output=True, text=True, check=False)
    return run.stderr or (f"{header}: the compiler ended with {run.returncode}\n" if run.returncode else "")


def main():
    root, command = sys.argv[1], sys.argv[2:] + FLAGS
    headers = list(headers_of(root))
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        said = list(pool.map(lambda header: compile_alone(root, command, header), headers))
    wrong = [header for header, text in zip(headers, said) if text]
    print("".join(said) + f"{len(headers)} headers, {len(wrong)} do not compile alone: {' '.join(wrong)}")
    return bool(wrong) or not headers


if __name__ == "__main__":
    sys.exit(main())
