#!/usr/bin/env python3
"""Writes a script that starts a framework's Python on the software device, for programs of one's own: `./torch.sh train.py`.

usage: python.py BUILD FRAMEWORK FILE     FRAMEWORK: pytorch, pytorch-wheel, transformers, peft, torch.compile or tinygrad

With `sluice run`, which preloads libsluice.so, it runs with sluice: `BUILD/tools/sluice run --budget 64M -- ./torch.sh train.py`.
Exit status 77: the framework cannot be had here.
"""
import pathlib
import shlex
import sys

import debian
import frameworks
import running


def main():
    if len(sys.argv) != 4 or sys.argv[2] not in frameworks.FRAMEWORKS:
        sys.exit(__doc__.strip())
    bench, framework, path = running.Bench(sys.argv[1]), frameworks.FRAMEWORKS[sys.argv[2]], pathlib.Path(sys.argv[3])
    try:
        framework.prepare(running.cache())
    except debian.Unavailable as reason:
        print("skipped:", reason)
        sys.exit(77)
    environment, words = framework.start(bench, False)
    environment = {**running.BASE, **environment, "LD_AUDIT": bench.libraries / "libsoftcuda_find.so",
                   "PYTHONPYCACHEPREFIX": bench.folder / "pycache", "PYTHONDONTWRITEBYTECODE": ""}
    lines = [f"export {name}={shlex.quote(str(value))}" for name, value in environment.items()]
    path.write_text("\n".join(["#!/bin/sh", *lines, f'exec {shlex.join(map(str, words))} "$@"']) + "\n", encoding="utf-8")
    path.chmod(0o755)


if __name__ == "__main__":
    main()
