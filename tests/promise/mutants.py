#!/usr/bin/env python3
"""Leaves out one by one the waits and checks that keep data (src/guards.h), and looks whether a test notices.

usage: mutants.py BUILD [--only NAME] [--jobs N]

Each mutant is run until something fails: its own programs first, then woven programs. One that nothing notices, and is not
proven beside the code to change nothing, fails the test. SEEDS has what noticed each when it was last looked for.
"""
import argparse
import concurrent.futures
import os
import re
import sys

from programs import options_for
from run import Bench, PROMISES, told_for

WOVEN = range(1, 161)
# What notices each, quickest first: promises by name with how many runs, woven programs by seed.
NOTICED = {
}
# Proven beside the code, in src/guards.h.
PROVEN = set()


def guards(source):
    """The names in the order of their numbers, from 1."""
    with open(os.path.join(source, "src", "guards.h"), encoding="utf-8") as file:
        return re.findall(r"^ +X\((\w+)\)", file.read(), re.M)


class Woven:
    """What programs.py wants to be told."""

    held, daemon, delays, wrong_plans, alone = False, None, "both", "both", False


def notices_promise(bench, name, mutant, run):
    promise = PROMISES[name]
    order, arguments, options = told_for(promise, run, "both")
    variables = {"SOFTCUDA_SCHEDULE": order, **promise.device, **promise.fault}
    return bench.run(name, arguments, variables, {**options, "TEST_MUTANT": str(mutant)}).wrong()


def notices_woven(bench, seed, mutant):
    order, options = options_for(bench, seed, Woven)
    return bench.run("woven_program", [str(seed)], {"SOFTCUDA_SCHEDULE": order},
                     {**options, "TEST_MUTANT": str(mutant)}).wrong()


def first(jobs, tries):
    """The first of the tries, by name, that notices."""
    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        running = {}
        todo = iter(tries)
        while True:
            for name, job in todo:
                running[pool.submit(job)] = name
                if len(running) == jobs:
                    break
            if not running:
                return None
            done, _ = concurrent.futures.wait(running, return_when=concurrent.futures.FIRST_COMPLETED)
            for future in done:
                name = running.pop(future)
                if future.result():
                    todo = iter(())
                    return f"{name}: {future.result().splitlines()[0][:100]}"


def tries(bench, name, mutant):
    known = NOTICED.get(name, [])
    for what in known:
        if isinstance(what, int):
            yield f"woven {what}", lambda seed=what: notices_woven(bench, seed, mutant)
        else:
            for run in range(12):
                yield f"{what} run {run}", lambda what=what, run=run: notices_promise(bench, what, mutant, run)
    for what in PROMISES:
        if what not in known and what != "unreadable_node":
            for run in range(12):
                yield f"{what} run {run}", lambda what=what, run=run: notices_promise(bench, what, mutant, run)
    for seed in WOVEN:
        yield f"woven {seed}", lambda seed=seed: notices_woven(bench, seed, mutant)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build")
    parser.add_argument("--only")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    told = parser.parse_args()
    source = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
    bench, alive = Bench(told.build, 60), []
    for number, name in enumerate(guards(source), 1):
        if told.only and name != told.only:
            continue
        noticed = first(told.jobs, tries(bench, name, number))
        print(f"{number} {name}: {noticed or ('proven' if name in PROVEN else 'ALIVE')}", flush=True)
        if not noticed and name not in PROVEN:
            alive.append(name)
    print(f"{len(alive)} mutants live: {' '.join(alive)}")
    sys.exit(bool(alive))


if __name__ == "__main__":
    main()
