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

import figures
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
    bench = running.Bench(sys.argv[1]) if sys.argv[1:] else None
    for program in running.named(sys.argv[2:], __doc__):
        print(row(bench, program), flush=True)


if __name__ == "__main__":
    main()
