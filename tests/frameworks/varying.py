#!/usr/bin/env python3
"""How well sluice foresees programs whose sizes or steps vary, on softcuda: a run with everything on the device, and one with a
share of that, with a thread for the movements and sluice's defaults. softcuda simulates NVIDIA's driver 580, its default.

usage: varying.py BUILD NAME... [--share 1/2] [--steps N] [--again]     NAME: a name of `run.py BUILD --list`

  --share  of the memory that the program held without sluice
  --steps  instead of the program's own number
  --again  runs what was run before with the same build and program

Prints a row for each program. Figures are from step 8 on, but for plans made and discarded and for processor seconds. Foreseen is
the share of the bytes that a plan fetched in time, of these and those that came on demand or late or were used in place. Of what is
used in place, statistics do not say what a plan chose: the first figure is as if no plan had chosen any of it, the second as if
plans had chosen all. Not a test: with other work on the machine, plans are ready at other times. Exit status 77: a framework cannot
be had here.
"""
import argparse
import collections
import pathlib
import statistics
import sys

import figures
import running

FIRST_STEP = 8
# SLUICE_TRACE_SAMPLE as sluice has it itself: Bench switches it off.
SLUICE = {"DAEMON": "thread", "TRACE_SAMPLE": "256"}
COLUMNS = ["program", "need, MiB", "budget, MiB", "full step, ms", "step, ms", "foreseen", "misses a step", "MiB in a step",
           "MiB in place a step", "plans", "begun a step", "discarded", "processor s, without", "with", "bits"]


def read_options():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build", type=pathlib.Path)
    parser.add_argument("names", nargs="+")
    parser.add_argument("--share", type=lambda text: [int(word) for word in text.split("/")], default=[1, 2])
    parser.add_argument("--steps", type=int)
    parser.add_argument("--again", action="store_true")
    return parser.parse_args()


def decisions(records, what):
    """The decisions about plans, `what` is "begun" or "discarded": the tick of each, and the words behind it."""
    return [(int(words[0]), words[6:]) for words in records if words[3:6] == ["decision", "plan", what]]


def reasons(discarded):
    """How many plans were discarded, and for what reason how many of them."""
    counts = collections.Counter(" ".join(word for word in words if "=" not in word) for _, words in discarded)
    return "; ".join([str(len(discarded)), *(f"{count} {reason}" for reason, count in counts.most_common())])


def foreseen(causes, remote):
    """The two shares, None if nothing moved and nothing was used in place."""
    moved = sum(causes.values())
    return [causes["plan"] / used if used else None for used in (moved + remote, moved)]


def measure(bench, program, run):
    """What the trace and the statistics say of the steps from FIRST_STEP on, None if these are not found in the trace, or records
    were lost."""
    records = figures.dumped(bench.build / "tools/sluice", run.trace)
    ends = figures.waits_for_events(records)
    if len(ends) != program.steps or any(words[3:4] == ["gap"] for words in records):
        return None
    first, last, count = ends[FIRST_STEP - 1], ends[-1], program.steps - FIRST_STEP
    causes, remote = figures.fetched(records, first, last), figures.from_iterations(run, "remote_bytes", first, last)
    # Where steps vary, iterations are too long to take a part of their misses.
    misses = sum(words[3:6] == ["move", "fetch", "demand"] and first < int(words[0]) <= last for words in records)
    begun = sum(first < tick <= last for tick, _ in decisions(records, "begun"))
    return {"foreseen": foreseen(causes, remote), "misses": misses / count, "in": sum(causes.values()) / count,
            "in place": remote / count, "begun": begun / count, "discarded": reasons(decisions(records, "discarded"))}


def step_ms(run):
    return 1e3 * statistics.fmean(run.steps[FIRST_STEP:])


def line(cells):
    return "| " + " | ".join(cells) + " |"


def row(bench, program, options):
    def run(sluice):
        done = bench.run(program, "default", "eager", sluice, again=options.again)
        if not done.ended_well():
            raise RuntimeError(f"{'without' if sluice is None else 'with'} sluice {done.describe()}")
        return done

    full = run(None)
    needed, (part, whole) = figures.peak(full), options.share
    budget = needed * part // whole // (2 << 20) * (2 << 20)
    less = run({**SLUICE, "DEVICE_BUDGET": budget})
    found = measure(bench, program, less)
    if found is None:
        raise RuntimeError("the trace does not have all of its steps")
    share = " to ".join("" if one is None else f"{100 * one:.0f} %" for one in found["foreseen"])
    seconds = ["" if one.processor_seconds is None else f"{one.processor_seconds:.0f}" for one in (full, less)]
    return [program.name, f"{needed / figures.MIB:.0f}", f"{budget >> 20}", f"{step_ms(full):.2f}", f"{step_ms(less):.2f}", share,
            f"{found['misses']:.1f}", f"{found['in'] / figures.MIB:.1f}", f"{found['in place'] / figures.MIB:.1f}",
            str(less.sluice["plans"]), f"{found['begun']:.2f}", found["discarded"], *seconds,
            "same" if less.same_bits(full) else "**other**"]


def main():
    options = read_options()
    bench = running.Bench(options.build)
    print(line(COLUMNS), line(["---"] * len(COLUMNS)), sep="\n", flush=True)
    failed = False
    for program in running.named(options.names, __doc__):
        if options.steps:
            program = program._replace(steps=options.steps)
        if program.steps <= FIRST_STEP or program.ranks > 1:
            sys.exit(f"{program.name}: more than {FIRST_STEP} steps are needed, and one rank")
        try:
            print(line(row(bench, program, options)), flush=True)
        except RuntimeError as reason:
            print(f"{program.name}: {reason}", flush=True)
            failed = True
    sys.exit(failed)


if __name__ == "__main__":
    main()
