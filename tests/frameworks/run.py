#!/usr/bin/env python3
"""Unmodified training programs of real frameworks, on softcuda, without and with sluice: the same bits, the budget kept.

usage: run.py BUILD [--only NAME[,NAME]] [--part I/N] [--quick FRAMEWORK] [--list] [--compare] [--bound]
              [--again] [--table]

  --only     the programs of these names
  --part     every Nth case from the Ith on: with one N and each I from 1 to N all of them, of all kinds each time
  --quick    one small program of pytorch or tinygrad
  --list     the cases, and nothing is run
  --compare  also how long steps take under the policies demand and driver
  --bound    also how long they take at least, whatever moves
  --again    run what was run before with the same build and program
  --table    the table for docs/frameworks.md from BUILD/frameworks/results.json, and nothing is run

Writes BUILD/frameworks/results.json. What a run printed and wrote, and its command, are in a folder of BUILD/frameworks/runs
each. Exit status 77: all skipped, as what the programs need cannot be had. docs/frameworks.md says more.
"""
import argparse
import json
import pathlib
import sys

import cases
import debian
import figures
import frameworks
import running


# Fields of an entry that a case without controls does not have. What cannot be had yet stays null.
FIGURES = ("identical", "deterministic", "failure", "needed_bytes", "budget_bytes", "peak_bytes", "budget_kept",
           "full_step_seconds", "step_seconds", "driver_step_seconds", "demand_step_seconds", "bound_step_seconds",
           "foreseen_share", "demand_misses_per_step", "bytes_in_per_step")


def read_options():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build", type=pathlib.Path)
    parser.add_argument("--only", type=lambda text: text.split(","))
    parser.add_argument("--part", type=lambda text: [int(word) for word in text.split("/")], default=[1, 1])
    parser.add_argument("--quick", choices=cases.QUICK)
    for name in ("list", "compare", "bound", "again", "table"):
        parser.add_argument("--" + name, action="store_true")
    options = parser.parse_args()
    unknown = set(options.only or ()) - {program.name for program in cases.PROGRAMS}
    if unknown:
        parser.error(f"no program {', '.join(sorted(unknown))}")
    return options


class Suite:
    """Runs cases, each beside two runs without sluice that have the same allocator and another order of the device's work."""

    def __init__(self, bench, options):
        self.bench, self.options = bench, options
        self.tool = bench.build / "tools/sluice"
        self.done, self.sequences = set(), {}

    def run(self, program, allocator, schedule, sluice=None, device_bytes=None, record=False):
        # Controls belong to several cases: they are repeated once.
        told = json.dumps([program.name, allocator, schedule, sluice, device_bytes, record])
        again = self.options.again and told not in self.done
        self.done.add(told)
        return self.bench.run(program, allocator, schedule, sluice, device_bytes, record, again)

    def compare(self, program, case, policy, budget):
        """A steady step's seconds under another policy; the driver keeps no budget but the device's size."""
        sluice = {"POLICY": policy, "CHUNK": "2M", "DAEMON": "inline"}
        if policy == "driver":
            return figures.steady_seconds(self.run(program, case.allocator, "eager", sluice, budget))
        return figures.steady_seconds(self.run(program, case.allocator, "eager", dict(sluice, DEVICE_BUDGET=budget)))

    def bound(self, program, allocator, budget):
        """The least seconds of a steady step: of a recorded run without sluice, on a device that holds everything."""
        if not self.options.bound or program.ranks > 1: # a collective's time is not the device's alone
            return None
        run = self.run(program, allocator, "eager", record=True)
        if run.folder not in self.sequences:
            self.sequences[run.folder] = figures.steady_sequence(run)
        return figures.bound_seconds(run, budget, self.sequences[run.folder])

    def take(self, program, case):
        """The case's entry in results.json."""
        controls = [self.run(program, case.allocator, schedule) for schedule in ("eager", "late")]
        entry = {"framework": program.framework, "program": program.name, "allocator": case.allocator, "daemon": case.daemon,
                 "schedule": case.schedule, "ranks": program.ranks, "budget_share": case.share, "steps": program.steps,
                 "build": self.bench.software[:8] + self.bench.sluice[:8], **dict.fromkeys(FIGURES)}
        broken = next((control for control in controls if not control.ended_well()), None)
        if broken:
            return {**entry, "failure": "without sluice " + broken.describe(), "run": str(broken.folder)}
        needed = figures.peak(controls[0])
        budget = needed * int(case.share[0]) // int(case.share[2]) // (2 << 20) * (2 << 20)
        # Times and movements are those of a device that does its work as soon as it can.
        runs = [self.run(program, case.allocator, schedule, {"DEVICE_BUDGET": budget, "CHUNK": "2M", "DAEMON": case.daemon})
                for schedule in dict.fromkeys((case.schedule, "eager"))]
        run, timed = next((run for run in runs if not run.ended_well()), runs[0]), runs[-1]
        deterministic = controls[0].same_bits(controls[1])
        same = all(run.same_bits(controls[0]) for run in runs)
        kept = [figures.is_kept(run, budget) for run in runs]
        others = {policy: self.compare(program, case, policy, budget) if self.options.compare else None
                  for policy in ("demand", "driver")}
        return {**entry, "identical": same if same or deterministic else None, "deterministic": deterministic,
                "failure": None if run.ended_well() else run.describe(),
                "needed_bytes": needed, "budget_bytes": budget,
                "peak_bytes": None if None in kept else max(figures.peak(run) for run in runs),
                "budget_kept": None if None in kept else all(kept),
                "full_step_seconds": figures.steady_seconds(controls[0]), "step_seconds": figures.steady_seconds(timed),
                "driver_step_seconds": others["driver"], "demand_step_seconds": others["demand"],
                "bound_step_seconds": self.bound(program, case.allocator, budget),
                **figures.movements(self.tool, timed, program.steps), "run": str(run.folder)}


def judge(entry):
    """What is wrong with a case, or None."""
    if entry["failure"]:
        return "FAILED: " + entry["failure"]
    if entry["identical"] is False:
        return "OTHER WEIGHTS OR LOSSES than without sluice"
    if entry["budget_kept"] is False:
        return f"BUDGET NOT KEPT: {entry['peak_bytes']} bytes of {entry['budget_bytes']}"
    return None


def tell(entry):
    wrong = judge(entry)
    what = " ".join(str(entry[name]) for name in ("program", "allocator", "budget_share", "daemon", "schedule"))
    note = "" if entry["deterministic"] is not False else " (not deterministic without sluice either)"
    print(f"{what}: {wrong or 'ok'}{note}", flush=True)
    if wrong:
        print(f"    again: sh {entry['run']}/command", flush=True)
    return wrong is None


def keep(path, entries, possible):
    """Replaces what is known of the same cases; those that are not `possible` any more go."""
    def case_of(entry):
        return cases.Case(*(entry[part] for part in ("program", "allocator", "budget_share", "daemon", "schedule")))

    known = {case_of(entry): entry for entry in (running.load(path) or []) + entries}
    figures.save(path, [known[case] for case in possible if case in known])


def prepare(chosen):
    """Those frameworks of the programs that can be had here; says why of the others."""
    had = set()
    for name in dict.fromkeys(program.framework for program in chosen):
        try:
            frameworks.FRAMEWORKS[name].prepare(running.cache())
            had.add(name)
        except debian.Unavailable as reason:
            print(f"skipped: {name}: {reason}", flush=True)
    return had


def main():
    options = read_options()
    quick, every = [cases.quick(framework) for framework in cases.QUICK], cases.choose(cases.PROGRAMS)
    possible = every + [case for _, case in quick]
    named = {program.name: program for program in cases.PROGRAMS + [program for program, _ in quick]}
    chosen = [cases.quick(options.quick)[1]] if options.quick else every
    if options.only:
        chosen = [case for case in chosen if case.program in options.only]
    chosen = chosen[options.part[0] - 1::options.part[1]]
    results = options.build / "frameworks/results.json"
    if options.list or options.table:
        print(figures.table(running.load(results) or []) if options.table else "\n".join(" ".join(case) for case in chosen))
        return
    had = prepare([named[case.program] for case in chosen])
    chosen = [case for case in chosen if named[case.program].framework in had]
    if not chosen:
        sys.exit(77)
    suite = Suite(running.Bench(options.build), options)
    good = 0
    for case in chosen:
        entry = suite.take(named[case.program], case)
        good += tell(entry)
        keep(results, [entry], possible)
    print(f"{good} of {len(chosen)} cases as they should be; {results}")
    sys.exit(good != len(chosen))


if __name__ == "__main__":
    main()
