#!/usr/bin/env python3
"""How well `sluice plan` foretells programs of frameworks on softcuda: from one recorded run with everything on the device,
the steps with a half and a third of the need, and then these runs.

usage: predicted.py BUILD PROGRAM...     PROGRAM: a name of `run.py BUILD --list`

Prints a row of docs/frameworks.md for each program: milliseconds, the mean of the steps from the seventh on. Exit status 77: the
framework cannot be had here.
"""
import json
import subprocess
import sys

import cases
import debian
import figures
import frameworks
import running

RECORD = {"DEVICE_BUDGET": "1G", "CHUNK": "2M", "DAEMON": "inline", "TRACE_SAMPLE": "1", "TRACE_FULL": "wait"}
LINK_GBS = "26"  # of the profile rtx4090


def predictions(bench, run):
    command = [bench.build / "tools/sluice", "plan", "--json", "--no-least", "--chunk", "2M", "--budget", "0.5,0.33", "--driver", "580",
               "--link-gbs", LINK_GBS, run.trace]
    done = subprocess.run(list(map(str, command)), check=True, capture_output=True, text=True)
    return json.loads(done.stdout)["predictions"]


def row(bench, program):
    def run(sluice):
        done = bench.run(program, "default", "late", sluice)
        if sluice is not None and not done.ended_well():
            sys.exit(f"{program.name}: {done.describe()}")
        return done

    whole = figures.steady_seconds(run(None))
    cells = [program.name, f"{1e3 * whole:.2f}"]
    for one in predictions(bench, run(RECORD)):
        real = figures.steady_seconds(run({"DEVICE_BUDGET": one["budget_bytes"], "CHUNK": "2M", "DAEMON": "inline"}))
        foretold = one["step_ns"] / 1e9
        cells += [f"{one['budget_bytes'] >> 20} MiB", f"{1e3 * real:.2f}", f"{1e3 * foretold:.2f}", f"{100 * (foretold / real - 1):+.1f} %"]
    return "| " + " | ".join(cells) + " |"


def main():
    known = {program.name: program for program in cases.PROGRAMS}
    if len(sys.argv) < 3 or not set(sys.argv[2:]) <= set(known):
        sys.exit(__doc__.strip())
    bench = running.Bench(sys.argv[1])
    for name in sys.argv[2:]:
        try:
            frameworks.FRAMEWORKS[known[name].framework].prepare(running.cache())
        except debian.Unavailable as reason:
            print("skipped:", reason)
            sys.exit(77)
        print(row(bench, known[name]), flush=True)


if __name__ == "__main__":
    main()
