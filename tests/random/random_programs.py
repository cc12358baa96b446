#!/usr/bin/env python3
"""Random programs give under sluice, on a device that is too small for them, what they give without it on a large one.

usage: random_programs.py BUILD FIRST COUNT [--faults] [--contexts | --steps] [--races N] [--daemon thread|inline] [--jobs N]

Each seed is a program (see random_program.cu), a budget, an order in which the device works, a daemon mode, a policy and a
chunk size. Compared are the hash of all that the program read and every error code that it got, softcuda's own peak with
the budget, what is alive at the end with sluice's books and, for a third of them, the trace with these; of some programs also
what they give where sluice only records, and with a profile. A seed that fails is printed with the variables that repeat it. With --faults, the
device also refuses calls that only sluice makes: that may cost time, and nothing else. With --contexts, contexts come and go
in the programs, so that several have had memory: then only what the program read and its errors are compared. With --steps,
programs are training steps whose sizes and launches vary (see random_steps.cu). --races N: the first N programs run under the
race detector, instead of every fourth. --daemon gives all the same mode.
"""
import argparse
import concurrent.futures
import json
import os
import random
import subprocess
import sys
import tempfile

MIB = 1 << 20
RACES = 4  # one program in so many runs under the race detector, which ends it at a use that is not ordered
RECORDED = 10  # every so many programs run with SLUICE_POLICY=off and a trace, too
WARM = 8  # every so many run twice with a profile
# Driver functions that the programs themselves never call.
SLUICES_OWN = ["cuMemPrefetchAsync", "cuMemAdvise", "cuMemDiscardBatchAsync", "cuFuncGetParamInfo", "cuKernelGetParamInfo",
               "cuEventElapsedTime", "cuMemGetInfo", "cuStreamIsCapturing", "cuFuncGetName", "cuKernelGetName",
               "cuGraphNodeGetType", "cuGraphKernelNodeGetParams", "cuGraphMemcpyNodeGetParams", "cuGraphMemsetNodeGetParams",
               "cuGraphChildGraphNodeGetGraph", "cuThreadExchangeStreamCaptureMode",
               "cuDeviceGetMemPool", "cuDeviceGetDefaultMemPool", "cuMemPoolGetAttribute"]
# Where these fail, memory stays the driver's.
LEAVE_TO_THE_DRIVER = ["cuMemGetInfo", "cuMemAdvise", "cuDeviceGetMemPool", "cuDeviceGetDefaultMemPool",
                       "cuThreadExchangeStreamCaptureMode"]


def last_words(errors):
    """All that a sanitizer says, or the end."""
    return errors if "Sanitizer" in errors or "runtime error" in errors else errors.strip()[-300:]


def wrong_in_trace(build, path, books):
    """What the trace says otherwise than the books, or None."""
    check = subprocess.run([os.path.join(build, "tools", "sluice"), "trace", "check", path], capture_output=True,
                           text=True, check=False)
    if check.returncode:
        return f"the trace is not whole: {last_words(check.stdout + check.stderr)}"
    done = subprocess.run([os.path.join(build, "tools", "sluice"), "trace", "dump", "--json", path],
                          capture_output=True, text=True, check=False)
    records = [json.loads(line) for line in done.stdout.splitlines()]
    if done.returncode or not records[-1]["complete"]:
        return f"the trace cannot be read: {last_words(done.stderr)}"
    launches, live, told, named = 0, 0, set(), set()
    for record in records:
        kind = record["type"]
        if kind == "gap":
            return "the trace lacks records"
        launches += kind == "launch"
        live += record["bytes"] if kind == "alloc" else -record["bytes"] if kind == "free" else 0
        if kind == "site":
            told.add(record["site"])
        if kind == "alloc":
            named.add(record["site"])
    if launches != books["total"]["launches"]:
        return f"the trace has {launches} launches, the books {books['total']['launches']}"
    if live != books["live_bytes"]:
        return f"{live} bytes are alive in the trace, and {books['live_bytes']} in the books"
    return f"sites were not told: {sorted(named - told)}" if named - told else None


def run(build, program, variables, preload=None):
    """`program`: its name and arguments, the first of which is its seed."""
    environment = {k: v for k, v in os.environ.items() if not k.startswith(("SLUICE_", "SOFTCUDA_"))}
    environment["LD_LIBRARY_PATH"] = os.path.join(build, "subprojects", "softcuda", "lib")
    environment.update(variables)
    runtime = os.environ.get("E2E_PRELOAD")  # a sanitizer's
    environment["LD_PRELOAD"] = " ".join(filter(None, [runtime, preload]))
    name, seed, *told = program
    command = [os.path.join(build, "tests", "random", name), str(seed), *told]
    with tempfile.TemporaryDirectory() as folder:
        books = os.path.join(folder, "device.json")
        environment["SOFTCUDA_STATS"] = books
        environment["SLUICE_STATS"] = os.path.join(folder, "sluice.json")
        if "SLUICE_TRACE_SAMPLE" in variables:
            environment["SLUICE_TRACE"] = os.path.join(folder, "trace")
        trace = os.path.join(folder, "trace")
        if preload and seed % 3 == 0 and "contexts" not in told:
            environment.update({"SLUICE_TRACE": trace, "SLUICE_TRACE_FULL": "wait"})
        try:
            done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=300, check=False)
        except subprocess.TimeoutExpired:
            return None, "it hangs", None
        fields = dict(line.split(" ", 1) for line in done.stdout.splitlines() if " " in line)
        device = None
        if done.returncode == 0 and os.path.exists(books):
            with open(books, encoding="utf-8") as file:
                device = json.load(file)
        statistics = os.path.join(folder, "sluice.json")
        if device and preload and os.path.exists(statistics):
            with open(statistics, encoding="utf-8") as file:
                device["sluice"] = json.load(file)
            device["errors"] = done.stderr
        error = None if done.returncode == 0 else f"status {done.returncode}: {last_words(done.stderr)}"
        if not error and "SLUICE_TRACE" in environment and os.path.exists(trace):
            error = wrong_in_trace(build, trace, device["sluice"])
        if not error and device and device.get("sluice", {}).get("checks_failed"):
            error = f"a check failed: {last_words(done.stderr)}"
        return fields, error, device


def options_for(seed, peak_bytes):
    chance = random.Random(seed)
    budget = max(8 * MIB, int(peak_bytes * chance.uniform(0.1, 1.2)) // (2 * MIB) * 2 * MIB)
    options = {
        "SLUICE_DEVICE_BUDGET": str(budget),
        "SLUICE_CHUNK": chance.choice(["2M", "2M", "4M", "8M"]),
        "SLUICE_DAEMON": chance.choice(["inline", "thread"]),
        "SLUICE_POLICY": chance.choice(["plan", "plan", "plan", "next", "belady", "lru", "demand", "driver"]),
        "SOFTCUDA_STRICT_HANDLES": "1",
        "SOFTCUDA_BLOCKING_MOVES": str(seed % 2),
        "SOFTCUDA_NUMA_NODES": str(1 + seed % 3),
        "SOFTCUDA_SCHEDULE": chance.choice(["late", "eager", f"random:{seed}"]),
    }
    if options["SLUICE_POLICY"] == "driver":  # the driver keeps no budget but the device's own size
        del options["SLUICE_DEVICE_BUDGET"]
        options["SOFTCUDA_MEMORY"] = str(budget)
    elif chance.random() < 0.1:  # another process takes most of the device, behind sluice's back
        others = min(budget // 2, budget - int(options["SLUICE_CHUNK"][:-1]) * MIB)  # one movement must fit beside them
        options.update({"SOFTCUDA_MEMORY": str(budget), "SOFTCUDA_OTHERS": str(others), "SOFTCUDA_OTHERS_AFTER": "4",
                        "SOFTCUDA_MANAGED_COUNTS": "1"})
    if random.Random(-1 - seed).random() < 0.3:  # some of its memory is pinned
        options["SLUICE_BACKING"] = f"from:{2 ** random.Random(-1 - seed).choice([0, 0, 12, 16, 20])}=pinned"
    if chance.random() < 0.3:  # with a trace, for which launches are timed
        options["SLUICE_TRACE_SAMPLE"] = chance.choice(["1", "8", "64"])
    return budget, options


def fault_for(seed):
    chance = random.Random(-seed)
    when = chance.choice([f"once={chance.randint(1, 30)}", f"after={chance.randint(0, 60)}", f"p=0.2:seed={seed}"])
    return f"{chance.choice(SLUICES_OWN)}:{when}:CUDA_ERROR_UNKNOWN"


def check_recorded(build, program, whole):
    """What is wrong where sluice only records, or None: memory is the driver's, and known all the same."""
    options = {"SLUICE_POLICY": "off", "SLUICE_TRACE_SAMPLE": str(1 + program[1] % 16), "SOFTCUDA_SCHEDULE": "eager"}
    recorded, error, device = run(build, program, options, os.path.join(build, "shim", "libsluice.so"))
    if error:
        return f"recorded only: {error}"
    if recorded["log"] != whole["log"]:
        return f"results differ where sluice only records: {whole['log']} and {recorded['log']}"
    live = int(recorded["live_bytes"]) + int(recorded["live_managed_bytes"])
    if device["sluice"]["live_bytes"] != live:
        return f"{live} bytes are alive, and {device['sluice']['live_bytes']} were recorded"
    return None


def check_warm(build, program, whole, options):
    """What is wrong with runs that leave a profile and begin with one, or None. The last one's chunks are others."""
    with tempfile.TemporaryDirectory() as folder:
        options = dict(options, SLUICE_PROFILE=os.path.join(folder, "profile"))
        for turn in range(3):
            if turn == 2:
                options["SLUICE_CHUNK"] = "4M"
            warm, error, _ = run(build, program, options, os.path.join(build, "shim", "libsluice.so"))
            if error:
                return f"with a profile, run {turn}: {error}"
            if warm["log"] != whole["log"]:
                return f"results differ with a profile, run {turn}: {whole['log']} and {warm['log']}"
    return None


def check_contexts(build, seed, races, daemon):
    """What is wrong with a program in which contexts come and go, or None."""
    program = ["random_program", seed, "120", "contexts"]
    whole, error, _ = run(build, program, {"SOFTCUDA_SCHEDULE": "eager"})
    if error:
        return f"without sluice: {error}"
    _, options = options_for(seed, int(whole["peak_bytes"]))
    # A second context's memory is the driver's, for which a device as small as the budget has no room.
    options = {name: value for name, value in options.items()
               if not name.startswith(("SLUICE_TRACE", "SOFTCUDA_MEMORY", "SOFTCUDA_OTHERS", "SOFTCUDA_MANAGED"))}
    options.update({"SOFTCUDA_RACES": "error"} if races else {}, **({"SLUICE_DAEMON": daemon} if daemon else {}))
    small, error, device = run(build, program, options, os.path.join(build, "shim", "libsluice.so"))
    repeat = " ".join(f"{name}={value}" for name, value in options.items())
    if error and "SLUICE_BACKING" in options and "cuGraphExec" in error:
        return None  # with memory of two kinds, a node keeps its kind
    if not error and small["log"] != whole["log"]:
        error = f"results differ: {whole['log']} and {small['log']}"
    if not error and "refused to move" in device["errors"]:
        error = "sluice asked for a movement that is none"
    return f"{error}\n  {repeat}" if error else None


def check(build, program, faults, races, daemon):
    """What is wrong with the program, or None."""
    seed = program[1]
    whole, error, _ = run(build, program, {"SOFTCUDA_SCHEDULE": "eager"})
    if error:
        return f"without sluice: {error}"
    if not faults and seed % RECORDED == 0:
        wrong = check_recorded(build, program, whole)
        if wrong:
            return wrong
    budget, options = options_for(seed, int(whole["peak_bytes"]))
    if daemon:
        options["SLUICE_DAEMON"] = daemon
    if not faults and races:
        options["SOFTCUDA_RACES"] = "error"
    if faults:
        options.update({"SOFTCUDA_FAULT": fault_for(seed), "SOFTCUDA_LOG": "none"})
    repeat = " ".join(f"{name}={value}" for name, value in options.items())
    small, error, device = run(build, program, options, os.path.join(build, "shim", "libsluice.so"))
    if error and (faults or "SLUICE_BACKING" in options) and "cuGraphExec" in error:
        return None  # with memory of two kinds, a node keeps its kind
    if error:
        return f"{error}\n  {repeat}"
    if not faults and seed % WARM == 0:
        wrong = check_warm(build, program, whole, options)
        if wrong:
            return f"{wrong}\n  {repeat}"
    if small["log"] != whole["log"]:
        return f"results differ: {whole['log']} and {small['log']}\n  {repeat}"
    # Where another process takes memory the driver evicts on its own, beside movements that are under way.
    kept = options.get("SOFTCUDA_FAULT", "").split(":")[0] not in LEAVE_TO_THE_DRIVER and "SOFTCUDA_OTHERS" not in options
    if kept and whole["passed_bytes"] == "0" and device["peak_device_bytes"] > budget:
        return f"the device held {device['peak_device_bytes']} bytes, {budget} were allowed\n  {repeat}"
    if not faults and "refused to move" in device["errors"]:
        return f"sluice asked for a movement that is none\n  {repeat}"
    if not faults and device["sluice"]["live_bytes"] != int(small["live_bytes"]):
        return f"{small['live_bytes']} bytes are alive, and {device['sluice']['live_bytes']} in the books\n  {repeat}"
    return None


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build")
    parser.add_argument("first", type=int)
    parser.add_argument("count", type=int)
    parser.add_argument("--faults", action="store_true")
    kind = parser.add_mutually_exclusive_group()
    kind.add_argument("--contexts", action="store_true")
    kind.add_argument("--steps", action="store_true")
    parser.add_argument("--races", type=int)
    parser.add_argument("--daemon", choices=("thread", "inline"))
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    options = parser.parse_args()
    build = os.path.abspath(options.build)
    failed = 0
    seeds = range(options.first, options.first + options.count)

    def check_one(seed):
        races = seed % RACES == 1 if options.races is None else seed < options.first + options.races
        if options.contexts:
            return check_contexts(build, seed, races, options.daemon)
        program = ["random_steps" if options.steps else "random_program", seed]
        return check(build, program, options.faults, races, options.daemon)

    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        for seed, wrong in zip(seeds, pool.map(check_one, seeds)):
            if wrong:
                failed += 1
                print(f"seed {seed}: {wrong}", flush=True)
    print(f"{options.count - failed} of {options.count} random programs agree")
    sys.exit(failed != 0)


if __name__ == "__main__":
    main()
