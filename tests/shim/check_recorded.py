#!/usr/bin/env python3
"""Runs test_recorded where sluice only records, and reads in the trace what became of the driver's memory.

usage: check_recorded.py PROGRAM PRELOAD SLUICE
"""
import json
import os
import subprocess
import sys
import tempfile

MIB = 1 << 20
# Bytes of each allocation in the order in which they were made, and what sets touched of it: (offset, bytes).
EXPECTED = [
    (1000, [(100, 900)]),
    (3 * 512, [(0, 2 * 512 + 500)]),
    (3000, [(0, 3000)]),
    (4000, [(0, 4000)]),
    (2 * MIB, [(2 * MIB - 512, 512)]),  # one set over two mappings
    (2 * MIB, [(0, 2 * MIB - 512)]),
    (6000, []),  # its free is refused: it is told again
    (6000, [(0, 6000)]),
]


def main():
    program, preload, sluice = sys.argv[1:]
    with tempfile.TemporaryDirectory() as folder:
        trace = os.path.join(folder, "trace")
        environment = dict(os.environ, LD_PRELOAD=preload, SLUICE_POLICY="off", SLUICE_TRACE=trace)
        subprocess.run([program], env=environment, check=True)
        dump = subprocess.run([sluice, "trace", "dump", "--json", trace], capture_output=True, text=True, check=True)
    lives, live = [], {}
    for record in map(json.loads, dump.stdout.splitlines()):
        if record["type"] == "alloc":
            if record["slot"] in live:
                sys.exit(f"allocated twice: {record}")
            live[record["slot"]] = (record["bytes"], [])
            lives.append(live[record["slot"]])
        elif record["type"] == "access":
            live[record["slot"]][1].append((record["offset"], record["bytes"]))
        elif record["type"] == "free":
            if live.pop(record["slot"])[0] != record["bytes"]:
                sys.exit(f"freed as something else: {record}")
    if live:
        sys.exit(f"never freed: {live}")
    if lives != EXPECTED:
        sys.exit(f"recorded: {lives}\nexpected: {EXPECTED}")


if __name__ == "__main__":
    main()
