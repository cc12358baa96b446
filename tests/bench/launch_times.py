#!/usr/bin/env python3
"""How long the program's calls take while evictions hold their callers up: launches, allocations and frees by the
host's clock, without sluice and with it, at half of the need.

usage: launch_times.py PROGRAM LIBSLUICE LIBRARIES [STEPS]

SOFTCUDA_BLOCKING_MOVES=N makes a prefetch to the host on an idle stream last N times as long as the link needs, on the
host's clock; SOFTCUDA_SCHEDULE=eager makes streams idle as soon as their work can be done. Prints a table for
docs/benchmarks.md, in microseconds. Fails if a result is wrong, not if a time is long.
"""
import os
import subprocess
import sys

CASES = [  # what it is called, how many times the link's time an eviction holds its caller up, sluice's variables
    ("without sluice", 10, None),
    ("sluice, evictions hold nobody up", 0, {"SLUICE_DAEMON": "thread"}),
    ("sluice, evictions take 10 times the link's time", 10, {"SLUICE_DAEMON": "thread"}),
    ("the same, inline", 10, {"SLUICE_DAEMON": "inline"}),
]


def measure(program, libraries, steps, blocking, variables):
    environment = {k: v for k, v in os.environ.items() if not k.startswith(("SLUICE_", "SOFTCUDA_"))}
    environment.update(LD_LIBRARY_PATH=libraries, SOFTCUDA_BLOCKING_MOVES=str(blocking), SOFTCUDA_SCHEDULE="eager",
                       SOFTCUDA_MEMORY="256M", SOFTCUDA_LOG="none", **variables)
    ran = subprocess.run([program, steps], env=environment, capture_output=True, text=True, check=False)
    if ran.returncode:
        sys.exit(f"{ran.stderr}launch_times.py: exit status {ran.returncode} with {variables}")
    return {line.split()[0]: [float(n) for n in line.split()[1:]] for line in ran.stdout.splitlines()}


def main():
    if len(sys.argv) < 4:
        sys.exit(__doc__)
    program, library, libraries = sys.argv[1:4]
    steps = sys.argv[4] if len(sys.argv) > 4 else "400"
    print("| | step | launch, median | 99 % | longest | allocation, median | 99 % | longest | free, median | 99 % | longest |")
    print("| --- |" + " ---: |" * 10)
    for title, blocking, own in CASES:
        variables = dict(own, LD_PRELOAD=library, SLUICE_DEVICE_BUDGET="26M", SLUICE_CHUNK="2M") if own else {}
        times = measure(program, libraries, steps, blocking, variables)
        cells = [times["step"][0]] + [us for name in ("launch", "allocation", "free") for us in times[name][1:]]
        print(f"| {title} | " + " | ".join(f"{us:.1f}" for us in cells) + " |")


if __name__ == "__main__":
    main()
