#!/usr/bin/env python3
"""The audit library has a program find softcuda, whatever its DT_RPATH or a path says.

usage: check.py PROGRAM FOLDER-OF-THE-OTHER AUDIT-LIBRARY FOLDER-OF-SOFTCUDA
"""
import os
import subprocess
import sys

program, wheel, audit, softcuda = sys.argv[1:]


def found(*arguments, **variables):
    environment = {k: v for k, v in os.environ.items() if k not in ("LD_AUDIT", "LD_LIBRARY_PATH", "LD_PRELOAD")}
    return subprocess.run([program, *arguments], env={**environment, **variables}, stdout=subprocess.PIPE, text=True,
                          check=True).stdout.strip()


path = os.path.join(wheel, "libcudart.so.13")
expected = [("the wheel's", {"LD_LIBRARY_PATH": softcuda}, ()), ("softcuda's", {"LD_AUDIT": audit}, ()),
            ("the wheel's", {"LD_LIBRARY_PATH": softcuda}, (path,)), ("softcuda's", {"LD_AUDIT": audit}, (path,))]
for what, variables, arguments in expected:
    got = found(*arguments, **variables)
    if got != what:
        sys.exit(f"{variables} {arguments}: {got} was found instead of {what}")
