"""What the random programs of several ranks and of several devices share: how one is run, and what its seed draws for sluice."""
import argparse
import concurrent.futures
import os
import random
import re
import subprocess
import sys

MIB = 1 << 20
CHUNKS_BYTES = [2 * MIB, 2 * MIB, 2 * MIB, 4 * MIB]
WRONG = ("softcuda: race", "check failed", "CUDA_ERROR")


def run(build, command, variables, preload=None):
    """The most memory that the program has, and what is wrong or None."""
    environment = {k: v for k, v in os.environ.items() if not k.startswith(("SLUICE_", "SOFTCUDA_"))}
    variables = {"LD_LIBRARY_PATH": os.path.join(build, "subprojects", "softcuda", "lib"), **variables}
    environment.update(variables)
    runtime = os.environ.get("E2E_PRELOAD")  # a sanitizer's
    environment["LD_PRELOAD"] = " ".join(filter(None, [runtime, preload]))
    command = [os.path.join(build, "tests", "random", command[0]), *command[1:]]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    peak = re.search(r"peak_bytes (\d+)", done.stdout)
    if done.returncode == 0 and not any(word in done.stderr for word in WRONG):
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


def alone_for(seed, races):
    alone = {"SOFTCUDA_SCHEDULE": ["late", "eager", f"random:{seed}"][seed % 3]}
    return {**alone, "SOFTCUDA_RACES": "report"} if races else alone


def parser_for(description):
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build")
    parser.add_argument("first", type=int)
    parser.add_argument("count", type=int)
    parser.add_argument("--alone", action="store_true")
    parser.add_argument("--races", action="store_true")
    parser.add_argument("--daemon", choices=("thread", "inline"))
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--seconds", type=int, default=200)
    return parser


def check_all(options, check, what):
    """Exits. check(build, seed, options): what is wrong with the seed, or None."""
    build, failed = os.path.abspath(options.build), 0
    seeds = range(options.first, options.first + options.count)
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        for seed, wrong in zip(seeds, pool.map(lambda seed: check(build, seed, options), seeds)):
            if wrong:
                failed += 1
                print(f"seed {seed}: {wrong}", flush=True)
    print(f"{options.count - failed} of {options.count} {what} agree")
    sys.exit(failed != 0)
