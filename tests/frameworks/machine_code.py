#!/usr/bin/env python3
"""PyPI's PyTorch, of whose kernels there is machine code only, trains on softcuda while kernels need not be executed
(SOFTCUDA_EXECUTE=sample): by itself, and with half of the memory under sluice. Its estimated steps take about as long as those of
Debian's PyTorch, of whose kernels softcuda executes some blocks. `sluice rehearse` says the same of it. Where kernels must be executed,
it is told why not.

usage: machine_code.py BUILD

Exit status 77: a PyTorch cannot be had here.
"""
import json
import os
import subprocess
import sys

import debian
import figures
import running
from cases import Program

FUSED = ("--optimizer", "adamw-fused")
SAMPLED = {"SOFTCUDA_EXECUTE": "sample"}
# Two versions of PyTorch, one of which is estimated.
AT_LEAST, AT_MOST = 0.5, 2.0
# An estimate may touch what an address of an earlier launch points to now, of which sluice knows nothing.
BEYOND = 1.25


def program(framework, variables):
    return Program(framework, f"gpt-{framework}", "gpt.py", FUSED, 12, (), variables)


def run(bench, framework, variables, sluice=None):
    done = bench.run(program(framework, variables), "default", "late", sluice)
    if not done.ended_well():
        sys.exit(f"{framework}: {done.describe()}\n{done.output[-2000:]}")
    return done


def rehearse(bench, budget):
    """What `sluice rehearse` says, as a user's shell would call it."""
    environment, start = running.FRAMEWORKS["pytorch-wheel"].start(bench, False)
    words = ["--json", "--card", "rtx4090", "--budget", budget, "--steps", "6", "--no-curve", "--", *start, running.PROGRAMS / "gpt.py", *FUSED, "--steps", "1000"]
    environment = {"HOME": os.environ.get("HOME", "/"), "PATH": "/usr/bin:/bin", "SLUICE_CHUNK": "2M", "SLUICE_DAEMON": "inline", **environment}
    done = subprocess.run([str(word) for word in (bench.build / "tools/sluice", "rehearse", *words)], capture_output=True, text=True, check=False,
                          env={name: str(value) for name, value in environment.items()}, timeout=running.SECONDS_AT_MOST)
    if done.returncode:
        sys.exit(f"rehearse: status {done.returncode}: {done.stdout[-1000:]}{done.stderr[-1000:]}")
    return json.loads(done.stdout[done.stdout.index("{\n"):])["cards"][0]


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__.strip())
    bench = running.Bench(sys.argv[1])
    try:
        for framework in ("pytorch", "pytorch-wheel"):
            running.FRAMEWORKS[framework].prepare(running.cache())
    except debian.Unavailable as reason:
        print("skipped:", reason)
        sys.exit(77)
    executed, estimated = (run(bench, framework, SAMPLED) for framework in ("pytorch", "pytorch-wheel"))
    budget = figures.peak(estimated) // 2 >> 21 << 21
    half = run(bench, "pytorch-wheel", SAMPLED, {"DEVICE_BUDGET": budget, "CHUNK": "2M", "DAEMON": "inline"})
    rehearsed = rehearse(bench, budget)
    refused = bench.run(program("pytorch-wheel", {}), "default", "late")
    seconds = [figures.steady_seconds(one) for one in (executed, estimated, half)]
    told = estimated.output.count("machine code only")
    print(f"a step: {1e3 * seconds[0]:.3f} ms by Debian's PyTorch, {1e3 * seconds[1]:.3f} by PyPI's, {1e3 * seconds[2]:.3f} with half of the memory, "
          f"{1e3 * rehearsed['step_seconds']:.3f} of that rehearsed")
    wrong = [what for what, right in (
        ("its steps take about as long", AT_LEAST < seconds[1] / seconds[0] < AT_MOST),
        ("with half of the memory they take longer", seconds[2] > seconds[1]),
        ("it is rehearsed to take as long", 0.8 < rehearsed["step_seconds"] / seconds[2] < 1.25 and rehearsed["fits"] == "with sluice"),
        ("sluice keeps the budget", figures.peak(half) <= BEYOND * budget),
        ("no block is executed", estimated.device["executed_blocks"] == 0 < estimated.device["launches"]),
        ("it is said once that times are estimated", told == 1),
        ("it is told why its kernels are not executed", refused.status != 0 and "machine code only" in refused.output)) if not right]
    if wrong:
        sys.exit(f"not so: {wrong}")


if __name__ == "__main__":
    main()
