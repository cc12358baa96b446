#!/usr/bin/env python3
"""Woven programs, which are made by chance and check themselves, under sluice on devices that are too small for them.

usage: programs.py BUILD FIRST COUNT [--wrong-plans yes|no|both] [--delays yes|no|both] [--daemon thread|inline] [--held]
                   [--jobs N] [--patience S] [--alone] [--races]

Each seed is a program (see woven_program.cu), a budget, a chunk size, a daemon mode, a policy, an order of the device's work,
and perhaps delays and plans that are wrong, by chance. A program that finds anything wrong, or comes to no end, is printed
with the command that repeats it. --held: the programs also hold streams up until the host has seen what another one does.
--alone: without sluice, to see that the programs are right. --races: the device also ends the program at the first access that
is not ordered.
"""
import argparse
import os
import random
import subprocess
import sys

from run import Bench, check_all

MIB = 1 << 20
LEAST = 8 * MIB  # that sluice takes for a budget


def drawn(told, seed):
    """Whether the seed has it: `told` is yes, no or both."""
    return random.Random(seed).random() < 0.5 if told == "both" else told == "yes"


def options_for(bench, seed, told):
    """The order of the device's work, and sluice's variables."""
    chance = random.Random(seed)
    need = int(subprocess.run([bench.path("woven_program"), str(seed), "bytes"], env=bench.environment(), capture_output=True,
                              text=True, check=True).stdout)
    budget = max(LEAST, int(need * chance.uniform(0.3, 1.3)) // (2 * MIB) * 2 * MIB)
    options = {
        "DEVICE_BUDGET": str(budget),
        "CHUNK": chance.choice(["2M", "2M", "2M", "4M"]),
        "DAEMON": chance.choice(["thread", "thread", "inline"]),
        "POLICY": chance.choice(["plan"] * 7 + ["next", "belady", "lru", "demand"]),
    }
    order = chance.choice(["late", "eager", f"random:{seed}", f"random:{seed}"])
    if told.daemon:
        options["DAEMON"] = told.daemon
    if drawn(told.delays, f"delays {seed}"):
        options["TEST_DELAY"] = str(seed)
    if drawn(told.wrong_plans, f"plans {seed}"):
        options["TEST_WRONG_PLANS"] = str(seed)
    return order, options


def check(bench, seed, told):
    """What is wrong with the seed, or None."""
    order, options = options_for(bench, seed, told)
    arguments = [str(seed)] + (["held"] if told.held else [])
    run = bench.run("woven_program", arguments, {"SOFTCUDA_SCHEDULE": order}, None if told.alone else options)
    return f"{run.wrong()}\n  {run.command}" if run.wrong() else None


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build")
    parser.add_argument("first", type=int)
    parser.add_argument("count", type=int)
    parser.add_argument("--wrong-plans", choices=("yes", "no", "both"), default="both")
    parser.add_argument("--delays", choices=("yes", "no", "both"), default="both")
    parser.add_argument("--daemon", choices=("thread", "inline"))
    parser.add_argument("--held", action="store_true")
    parser.add_argument("-j", "--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--patience", type=int, default=120)
    parser.add_argument("--alone", action="store_true")
    parser.add_argument("--races", action="store_true")
    told = parser.parse_args()
    bench = Bench(told.build, told.patience, told.races)
    failed = check_all(lambda seed: check(bench, seed, told), range(told.first, told.first + told.count), told.jobs)
    print(f"{told.count - failed} of {told.count} woven programs are right")
    sys.exit(failed != 0)


if __name__ == "__main__":
    main()
