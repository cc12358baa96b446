#!/usr/bin/env python3
"""Programs of frameworks take as long on softcuda that executes some blocks of each kernel (SOFTCUDA_EXECUTE=sample) as on one
that executes all, and move as much, at full size and at half of the need under sluice.

usage: sampled.py BUILD PROGRAM...     PROGRAM: a name of `run.py BUILD --list`

Exit status 77: the framework cannot be had here.
"""
import sys

import figures
import running

TIME_WITHIN, BYTES_WITHIN = 0.03, 0.05
SAMPLED = {"SOFTCUDA_EXECUTE": "sample", "SOFTCUDA_SAMPLE_OVER": "1", "SOFTCUDA_SAMPLE_INSTRUCTIONS": "0"}
EXECUTED_AT_MOST = 0.2


def moved(run):
    return sum(sum(one.device[way].values()) for one in run.each for way in ("bytes_in", "bytes_out"))


def executed(run):
    return sum(one.device["executed_blocks"] for one in run.each) / sum(one.device["blocks"] for one in run.each)


def misses(run):
    return sum(one.sluice["total"]["demand_misses"] for one in run.each if one.sluice)


def check(bench, program):
    """What is wrong, or None."""
    def run(sluice, sampled):
        variables = {**program.variables, **(SAMPLED if sampled else {})}
        done = bench.run(program._replace(variables=variables), "default", "late", sluice)
        if not done.ended_well():
            sys.exit(f"{program.name}: {done.describe()}")
        return done

    budget = max(one.device["peak_device_bytes"] for one in run(None, False).each) // 2 >> 21 << 21
    for what, sluice in (("full", None), ("half", {"DEVICE_BUDGET": budget, "CHUNK": "2M", "DAEMON": "inline"})):
        truth, told = run(sluice, False), run(sluice, True)
        seconds = [figures.steady_seconds(one) for one in (told, truth)]
        print(f"{program.name}, {what}: {1e3 * seconds[0]:.3f} ms a step, {1e3 * seconds[1]:.3f} in truth; {moved(told) >> 10} KiB moved, "
              f"{moved(truth) >> 10}; {misses(told)} misses, {misses(truth)}; {executed(told):.1%} executed", flush=True)
        if abs(seconds[0] / seconds[1] - 1) > TIME_WITHIN or abs(moved(told) - moved(truth)) > BYTES_WITHIN * moved(truth) or \
                abs(misses(told) - misses(truth)) > max(2, 0.05 * misses(truth)) or executed(told) > EXECUTED_AT_MOST:
            return f"{program.name}, {what}"
    return None


def main():
    bench = running.Bench(sys.argv[1]) if sys.argv[1:] else None
    wrong = [check(bench, program) for program in running.named(sys.argv[2:], __doc__)]
    if any(wrong):
        sys.exit(f"times within {TIME_WITHIN}, bytes within {BYTES_WITHIN}, at most {EXECUTED_AT_MOST} executed: {wrong}")


if __name__ == "__main__":
    main()
