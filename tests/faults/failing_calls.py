#!/usr/bin/env python3
"""The driver calls of libsluice.so fail now and then, under a program that checks its own order.

usage: failing_calls.py BUILD FIRST COUNT [--jobs N] [--races] [--only FUNCTION]

Each number is a run of ordered_program: one to three of the driver functions that sluice calls (the table in
src/device/cuda_driver.h), when each fails (every 2nd, 3rd or 5th time, with probability 0.5, 0.1 or 0.02, or once), with
which error, before or after it has done its work, and an order in which the device works. In some runs sluice gets no host
memory for some time, besides. The program must be right, or end with an error that a call of its own got: one of those
that the driver gave, or out of memory; any other is strange, such as that of a capture that sluice ended. Prints the
number of runs by outcome; a run that was wrong, crashed, hung or strange is printed with the variables that repeat it.
--races: under softcuda's race detector, whose findings count as wrong.
"""
import argparse
import collections
import concurrent.futures
import os
import random
import re
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
OUTCOMES = {0: "right", 1: "wrong", 3: "error"}
BAD = ("wrong", "crashed", "hung", "strange")
ERRORS = {"CUDA_ERROR_UNKNOWN": 999, "CUDA_ERROR_OUT_OF_MEMORY": 2, "CUDA_ERROR_INVALID_VALUE": 1}
SECONDS = 100
# Drawn more often: what memory and order depend on.
ORDER = ["cuStreamIsCapturing", "cuStreamGetCaptureInfo", "cuEventRecord", "cuEventQuery", "cuEventSynchronize",
         "cuStreamWaitEvent", "cuStreamSynchronize", "cuEventCreate", "cuMemPrefetchAsync", "cuMemDiscardBatchAsync",
         "cuThreadExchangeStreamCaptureMode", "cuCtxGetCurrent"]


def functions():
    with open(os.path.join(ROOT, "src", "device", "cuda_driver.h"), encoding="utf-8") as file:
        names = re.findall(r'X\(\w+,\s*"(\w+?)(?:_v\d)?",', file.read())
    return sorted(set(names))


def rule(chance, names, only):
    name = only or chance.choice(ORDER if chance.random() < 0.7 else names)
    when = chance.choice([f"every={n}" for n in (2, 3, 5)] + [f"p={p}:seed={chance.randrange(1000)}" for p in (0.5, 0.1, 0.02)] +
                         [f"once={chance.randint(1, 60)}"])
    error = chance.choice(list(ERRORS))
    caller = ":caller=LIBRARY" if chance.random() < 0.9 else ""
    return f"{name}:{when}:{error}{caller}" + (":done" if chance.random() < 0.25 else "")


def variables_for(number, names, only):
    chance = random.Random(number)
    rules = [rule(chance, names, only) for _ in range(chance.choice([1, 1, 1, 2, 3]))]
    variables = {
        "SOFTCUDA_FAULT": ";".join(rules),
        "SOFTCUDA_SCHEDULE": chance.choice(["late", "late", "eager", f"random:{number}"]),
        "SLUICE_DEVICE_BUDGET": "8M",
        "SLUICE_CHUNK": chance.choice(["2M", "2M", "4M"]),
        "SLUICE_DAEMON": chance.choice(["thread", "inline"]),
        "SLUICE_POLICY": chance.choice(["plan", "plan", "demand", "lru"]),
    }
    if chance.random() < 0.15:  # many streams, of which some have no number of their own (ordered_program)
        first = int(200 * 2 ** chance.uniform(0, 5))
        variables["FAULTS"] = f"memory:{first}-{first + chance.choice([1, 20, 200])}"
    return variables


def run(build, number, names, options):
    """The outcome, and how to repeat it."""
    variables = variables_for(number, names, options.only)
    environment = {k: v for k, v in os.environ.items() if not k.startswith(("SLUICE_", "SOFTCUDA_", "FAULTS"))}
    variables["LD_LIBRARY_PATH"] = os.path.join(build, "subprojects", "softcuda", "lib")
    if options.races:
        variables["SOFTCUDA_RACES"] = "report"
    library = ["tests", "faults", "libsluice-faults.so"] if "FAULTS" in variables else ["shim", "libsluice.so"]
    preloaded = [os.environ.get("E2E_PRELOAD"), os.path.join(build, *library)]  # a sanitizer's runtime
    variables["LD_PRELOAD"] = " ".join(filter(None, preloaded))
    variables["SOFTCUDA_FAULT"] = variables["SOFTCUDA_FAULT"].replace("LIBRARY", library[-1])
    command = [os.path.join(build, "tests", "faults", "ordered_program"), str(number)]
    repeat = " ".join(f"{name}='{value}'" for name, value in variables.items()) + " " + " ".join(command)
    try:
        done = subprocess.run(command, env={**environment, **variables}, capture_output=True, text=True, timeout=SECONDS,
                              check=False)
    except subprocess.TimeoutExpired:
        return "hung", repeat
    said = done.stderr
    outcome = OUTCOMES.get(done.returncode, "crashed")
    if "check failed" in said or "Sanitizer" in said or "runtime error" in said:
        outcome = "crashed"
    elif outcome == "right" and "softcuda: race" in said:
        outcome = "wrong"
    elif outcome == "error":
        given = {number for name, number in ERRORS.items() if name in variables["SOFTCUDA_FAULT"]} | {2}
        outcome = "error" if {int(n) for n in re.findall(r": error (\d+)$", said, re.M)} <= given else "strange"
    return outcome, f"{repeat}\n  status {done.returncode}: {said.strip()[-1500:]}"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build")
    parser.add_argument("first", type=int)
    parser.add_argument("count", type=int)
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--races", action="store_true")
    parser.add_argument("--only")
    options = parser.parse_args()
    build, names = os.path.abspath(options.build), functions()
    counts = collections.Counter()
    numbers = range(options.first, options.first + options.count)
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        for number, (outcome, repeat) in zip(numbers, pool.map(lambda n: run(build, n, names, options), numbers)):
            counts[outcome] += 1
            if outcome in BAD:
                print(f"{number}: {outcome}: {repeat}", flush=True)
    print(", ".join(f"{counts[name]} {name}" for name in ("right", "error", *BAD)))
    sys.exit(any(counts[name] for name in BAD) or not counts["right"])


if __name__ == "__main__":
    main()
