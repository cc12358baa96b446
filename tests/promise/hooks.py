#!/usr/bin/env python3
"""What the tests rely on: with its hooks, libsluice.so does delay, and does make wrong plans; and it is told so.

usage: hooks.py BUILD CHECKS  (the level of libsluice.so's checks)
"""
import pathlib
import re
import resource
import sys

from run import Bench

SEEDS = range(1, 9)
INLINE = {"DEVICE_BUDGET": "40M", "CHUNK": "2M", "DAEMON": "inline"}
DEVICE = {"SOFTCUDA_SCHEDULE": "late", "SOFTCUDA_THREADS": "1"}


def need(condition, message):
    if not condition:
        sys.exit(f"FAILED: {message}")


def total(run, *names):
    return sum(run.books["total"][name] for name in names)


def waits():
    """How often the programs so far gave their processor up."""
    return resource.getrusage(resource.RUSAGE_CHILDREN).ru_nvcsw


def right(bench, program, hooks):
    run = bench.run(program, ["100"], DEVICE, {**INLINE, **hooks})
    need(not run.wrong(), f"{program} with {hooks}: {run.wrong()}")
    return run


def check_wrong_plans(bench):
    """Chunks that a wrong plan forgets come on demand or late."""
    plain = total(right(bench, "unreadable_node", {"TEST_WRONG_PLANS": "0"}), "demand_misses", "late_prefetches")
    for seed in SEEDS[:3]:
        wrong = total(right(bench, "unreadable_node", {"TEST_WRONG_PLANS": str(seed)}), "demand_misses", "late_prefetches")
        print(f"wrong plans {seed}: {wrong} chunks on demand or late, {plain} without")
        need(wrong > plain, "a wrong plan makes chunks come on demand or late")


def check_delays(bench):
    """Some seeds do not delay what this program does; others do it often."""
    counts = []
    for seed in (0, *SEEDS):
        before = waits()
        right(bench, "unreadable_node", {"TEST_DELAY": str(seed)})
        counts.append(waits() - before)
    print(f"the processor is given up {counts[0]} times without delays, with them {counts[1:]} times")
    need(max(counts[1:]) > 2 * counts[0], "delays give the processor up")


def check_mutant(bench):
    """A guard that is left out is missed by the program that relies on it (test_guards.c has the others)."""
    header = pathlib.Path(__file__).parents[2] / "src" / "base" / "test_hooks.h"
    guards = header.read_text().split("#define SL_GUARDS(X)")[1].split("\n\n")[0]
    number = re.findall(r"^ +X\((\w+)\)", guards, re.M).index("FREE_FINISHES") + 1
    for order in ("late", *(f"random:{seed}" for seed in SEEDS)):
        run = bench.run("plain_free_waits_for_work", [], {"SOFTCUDA_SCHEDULE": order},
                        {"DEVICE_BUDGET": "256M", "CHUNK": "2M", "TEST_MUTANT": str(number)})
        if run.wrong():
            return
    sys.exit("FAILED: cudaFree that waits for nothing is not noticed")


def check_told(bench):
    """The object that is installed knows nothing of this."""
    run = bench.run("unreadable_node", [], {**DEVICE, "SLUICE_TEST_DELAY": "1", "SLUICE_TEST_WRONG_PLANS": "1"}, INLINE)
    need(run.errors.count("unknown variable") == 2, f"the installed object warns of both variables: {run.errors}")


def main():
    bench = Bench(sys.argv[1])
    if sys.argv[2] != "all":
        check_told(bench)
    check_wrong_plans(bench)
    check_delays(bench)
    check_mutant(bench)


if __name__ == "__main__":
    main()
