#!/usr/bin/env python3
"""What sluice adds to driver calls, by the wall clock: the same program without it, with it, and with a trace, with and
without timed launches.

usage: calls.py PROGRAM LIBSLUICE LIBRARIES [LIVE]

Prints a table for docs/benchmarks.md. On the software device the bare call is its own; on a GPU the driver's.
"""
import os
import subprocess
import sys
import tempfile

ROWS = [("launch_eight", "launch, 8 pointers"), ("launch_block", "launch, a parameter block of 4 KiB"),
        ("allocations_1", "allocation and free, 1 thread"), ("allocations_2", "allocation and free, 2 threads, each")]


def measure(program, libraries, live, variables):
    environment = {k: v for k, v in os.environ.items() if not k.startswith("SLUICE_")}
    environment["LD_LIBRARY_PATH"] = libraries
    environment.update(variables)
    best = {}
    for _ in range(3):
        out = subprocess.run([program, live], env=environment, capture_output=True, text=True, check=True).stdout
        for name, ns in (line.split() for line in out.splitlines()):
            best[name] = min(float(ns), best.get(name, 1e30))
    return best


def main():
    program, library, libraries = sys.argv[1:4]
    live = sys.argv[4] if len(sys.argv) > 4 else "100000"
    sluice = {"LD_PRELOAD": library, "SLUICE_DEVICE_BUDGET": "4G"}
    with tempfile.TemporaryDirectory() as folder:
        bare = measure(program, libraries, live, {})
        off = measure(program, libraries, live, sluice)
        timed = dict(sluice, SLUICE_TRACE=os.path.join(folder, "%p.trace"))
        columns = {"sluice adds": off,
                   "with a trace": measure(program, libraries, live, dict(timed, SLUICE_TRACE_SAMPLE="0")),
                   "and timed launches": measure(program, libraries, live, timed)}
    print(f"| call ({live} allocations live) | bare, ns |" + "".join(f" {title}, ns | ratio |" for title in columns))
    print("| --- | --- |" + " --- | --- |" * len(columns))
    for name, text in ROWS:
        print(f"| {text} | {bare[name]:.0f} |" + "".join(
            f" {ns[name] - bare[name]:.0f} | {ns[name] / bare[name]:.2f} |" for ns in columns.values()))


if __name__ == "__main__":
    main()
