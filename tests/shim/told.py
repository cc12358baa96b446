"""Runs a program under the shim with a trace, and reads it."""
import json
import os
import subprocess
import sys
import tempfile


def traced(program, preload, sluice, *arguments, **variables):
    """The records of the program's trace, in the file's order."""
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "trace")
        environment = dict(os.environ, LD_PRELOAD=preload, SLUICE_TRACE=path, **variables)
        done = subprocess.run([program, *arguments], env=environment, capture_output=True, text=True, check=False)
        if done.returncode:
            sys.exit(f"{program}: status {done.returncode}\n{done.stdout}{done.stderr}")
        return dumped(sluice, path)


def dumped(sluice, path):
    environment = {name: value for name, value in os.environ.items() if name != "LD_PRELOAD"}
    text = subprocess.run([sluice, "trace", "dump", "--json", path], env=environment, stdout=subprocess.PIPE, check=True)
    return [json.loads(line) for line in text.stdout.splitlines()]


def expect(what, seen, expected):
    if seen != expected:
        sys.exit(f"{what}:\n  {seen}\nexpected:\n  {expected}")
