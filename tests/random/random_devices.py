#!/usr/bin/env python3
"""Random programs of one process on several devices compute under sluice, on devices that are too small for them, what the host computes.

usage: random_devices.py BUILD FIRST COUNT [--alone | --races] [--daemon thread|inline] [--jobs N] [--seconds N]

Each seed is a program on 2 or 3 devices (see random_devices.cu), which compares all that it reads with what the host computed.
It is run without sluice, and then with it: budget, chunks, daemon, policy and the order of the devices' work are drawn by the seed. What is freed by cudaFree may then be in use on other devices, which sluice waits for. No
device may then hold more than its budget and what is not sluice's. --alone leaves sluice out; --races does so, too, and shows
that the programs have no races of their own. A seed that fails is printed with the command that repeats it.
"""
import argparse
import concurrent.futures
import json
import os
import random
import re
import subprocess
import sys
import tempfile

MIB = 1 << 20
CHUNKS_BYTES = [2 * MIB, 2 * MIB, 2 * MIB, 4 * MIB]


def run(build, seed, options, variables, preload=None):
    """The most memory that a device has, and what is wrong or None."""
    environment = {k: v for k, v in os.environ.items() if not k.startswith(("SLUICE_", "SOFTCUDA_"))}
    variables = {"LD_LIBRARY_PATH": os.path.join(build, "subprojects", "softcuda", "lib"), "SOFTCUDA_DEVICES": "3", **variables}
    environment.update(variables)
    runtime = os.environ.get("E2E_PRELOAD")  # a sanitizer's
    environment["LD_PRELOAD"] = " ".join(filter(None, [runtime, preload]))
    command = [os.path.join(build, "tests", "random", "random_devices"), "--seed", str(seed), "--seconds", str(options.seconds)]
    command += ["--careless"] * bool(preload)
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    peak = re.search(r"peak_bytes (\d+)", done.stdout)
    if done.returncode == 0 and "softcuda: race" not in done.stderr and "check failed" not in done.stderr and "CUDA_ERROR" not in done.stderr:
        return int(peak[1]), None
    words = "\n".join(done.stderr.splitlines()[:12])
    repeat = " ".join(f"{name}={value}" for name, value in [*variables.items(), ("LD_PRELOAD", environment["LD_PRELOAD"])])
    return 0, f"status {done.returncode}: {words}\n  env {repeat} {' '.join(command)}"


def options_for(seed, peak_bytes, daemon):
    chance = random.Random(seed)
    options = {
        "SLUICE_DEVICE_BUDGET": str(max(8 * MIB, int(peak_bytes * chance.uniform(0.25, 0.6)) // (2 * MIB) * 2 * MIB)),
        "SLUICE_CHUNK": str(chance.choice(CHUNKS_BYTES)),
        "SLUICE_DAEMON": daemon or chance.choice(["inline", "thread"]),
        "SLUICE_POLICY": chance.choice(["plan", "plan", "plan", "next", "belady", "lru", "demand"]),
        "SOFTCUDA_SCHEDULE": chance.choice(["late", "eager", f"random:{seed}"]),
    }
    if chance.random() < 0.15:
        options["SLUICE_DISCARD"] = "off"
    if chance.random() < 0.2:  # launches are timed
        options["SLUICE_TRACE_SAMPLE"] = "1"
    return options


def check(build, seed, options):
    """What is wrong with the seed, or None."""
    alone = {"SOFTCUDA_SCHEDULE": ["late", "eager", f"random:{seed}"][seed % 3]}
    if options.races:
        alone["SOFTCUDA_RACES"] = "report"
    peak_bytes, wrong = run(build, seed, options, alone)
    if wrong:
        return f"without sluice: {wrong}"
    if options.alone or options.races:
        return None
    drawn = options_for(seed, peak_bytes, options.daemon)
    with tempfile.TemporaryDirectory() as folder:
        if "SLUICE_TRACE_SAMPLE" in drawn:
            drawn["SLUICE_TRACE"] = os.path.join(folder, "trace.%p")
        statistics = {"SOFTCUDA_STATS": os.path.join(folder, "device"), "SLUICE_STATS": os.path.join(folder, "stats")}
        wrong = run(build, seed, options, {**drawn, **statistics}, os.path.join(build, "shim", "libsluice.so"))[1]
        return wrong or beyond_budget(statistics, int(drawn["SLUICE_DEVICE_BUDGET"]), drawn["SLUICE_POLICY"], drawn)


def beyond_budget(statistics, budget_bytes, policy, drawn):
    """Which device held more than it may, and how it was run; or None."""
    with open(statistics["SOFTCUDA_STATS"], encoding="ascii") as file:
        devices = json.load(file)["devices"]
    with open(statistics["SLUICE_STATS"], encoding="ascii") as file:
        first = json.load(file)
    managed = [first, *first.get("other_devices", [])]
    if len(managed) < 2 or not all(one["complete"] and one["total"]["launches"] for one in managed):
        return f"not all devices were managed: {len(managed)}"
    for device in devices:
        most = budget_bytes + device["peak_allocated_bytes"]
        if device["peak_device_bytes"] > most:
            return f"device {device['ordinal']} held {device['peak_device_bytes']} of {most} bytes: {policy}, {drawn}"
    return None


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build")
    parser.add_argument("first", type=int)
    parser.add_argument("count", type=int)
    parser.add_argument("--alone", action="store_true")
    parser.add_argument("--races", action="store_true")
    parser.add_argument("--daemon", choices=("thread", "inline"))
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--seconds", type=int, default=200)
    options = parser.parse_args()
    build = os.path.abspath(options.build)
    failed = 0
    seeds = range(options.first, options.first + options.count)
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        for seed, wrong in zip(seeds, pool.map(lambda seed: check(build, seed, options), seeds)):
            if wrong:
                failed += 1
                print(f"seed {seed}: {wrong}", flush=True)
    print(f"{options.count - failed} of {options.count} random programs on several devices agree")
    sys.exit(failed != 0)


if __name__ == "__main__":
    main()
