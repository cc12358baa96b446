#!/usr/bin/env python3
"""Programs that check themselves, under sluice in every order of the device's work, daemon mode and with delays by chance.

usage: run.py BUILD PROGRAM [--runs N] [--first N] [--delays yes|no|both] [--jobs N] [--patience S] [--races]

Run number k of a program takes the order late, eager or random:k, the daemon as a thread or inline, and, in the libsluice.so
that can be told to, delays by chance from seed k. What fails is printed with the command that repeats it. What is right:
the program finds nothing wrong and comes to an end; free_delays_no_stream takes at most 3 % longer than without sluice, and
unreadable_node brings to the device what it brings where every node can be read. --races: the device also ends the program
at the first access that is not ordered.
"""
import argparse
import concurrent.futures
import json
import os
import shlex
import subprocess
import sys
import tempfile

ORDERS = ("late", "eager", "random")
MODES = ("thread", "inline")
SLOWER = 1.03  # than without sluice, at most
MORE_OR_LESS = 0.01  # of what is brought
UNREADABLE = "cuGraphKernelNodeGetParams:once=1:CUDA_ERROR_UNKNOWN"


class Promise:
    """How a program is run: with variables of softcuda's, with calls that fail, and what the runs choose among: pairs of a
    budget and arguments, and daemon modes."""

    def __init__(self, *cases, device=None, fault=None, modes=MODES):
        self.cases, self.device, self.modes = cases, device or {}, modes
        self.fault = {"SOFTCUDA_FAULT": fault, "SOFTCUDA_LOG": "none"} if fault else {}


PROMISES = {
    # Sequences in which allocations that share chunks change places from one iteration to the next.
    "free_behind_late_daemon": Promise(("44M", ["27"]), ("52M", ["52"]), ("52M", ["93"]), ("52M", ["96"])),
    "fence_is_kept": Promise(("420M", [])),
    "unseen_use_before_free": Promise(("110M", [])),
    "free_beside_capture": Promise(("256M", [])),
    "capture_beside_frees": Promise(("16M", [])),
    "free_delays_no_stream": Promise(("512M", []), device={"SOFTCUDA_LAUNCH_NS": "150000"}),
    "free_waits_for_nobody_else": Promise(("256M", [])),
    "full_queue_holds_nobody": Promise(("256M", ["20"]), device={"SOFTCUDA_QUEUE": "10"}),
    "plain_free_waits_for_work": Promise(("256M", [])),
    "no_context_is_current": Promise(("16M", []), ("64M", [])),
    # A daemon of its own brings a little more or less from run to run.
    "unreadable_node": Promise(("40M", []), fault=UNREADABLE, modes=("inline",)),
}


class Run:
    """A finished run: how it ended, what it printed, sluice's books, and the command that repeats it."""

    def __init__(self, status, output, errors, books, command):
        self.status, self.errors, self.books, self.command = status, errors.strip(), books, command
        self.fields = dict(line.rsplit(" ", 1) for line in output.splitlines() if " " in line)

    def wrong(self):
        """What is wrong with it by itself, or None."""
        if "unknown variable" in self.errors:
            return self.errors
        if "refused to move memory" in self.errors:
            return self.errors
        if self.status == 0 and self.fields.get("total bad") == "0":
            return None
        if self.fields.get("total bad", "0") != "0":
            return f"{self.fields['total bad']} words are wrong"
        return f"status {self.status}: {self.errors[-300:]}"


class Bench:
    """Knows where things are in the build folder."""

    def __init__(self, build, patience=60, races=False):
        self.build, self.patience, self.races = os.path.abspath(build), patience, races

    def path(self, program):
        return os.path.join(self.build, "tests", "promise", program)

    def environment(self, told=None):
        """Ours without what concerns the two, and with `told`."""
        env = {k: v for k, v in os.environ.items() if not k.startswith(("SLUICE_", "SOFTCUDA_"))}
        env["LD_LIBRARY_PATH"] = os.path.join(self.build, "subprojects", "softcuda", "lib")
        env.update(told or {}, PROMISE_PATIENCE=str(self.patience))
        runtime = os.environ.get("E2E_PRELOAD")  # a sanitizer's
        env["LD_PRELOAD"] = " ".join(filter(None, [runtime, env.get("LD_PRELOAD")]))
        return env

    def run(self, program, arguments, variables, sluice=None):
        """`sluice`: None, or the SLUICE_ variables without their prefix."""
        told = {"LD_LIBRARY_PATH": os.path.join(self.build, "subprojects", "softcuda", "lib"), **variables}
        if self.races:
            told["SOFTCUDA_RACES"] = "error"
        if sluice is not None:
            hooks = any(name.startswith("TEST_") for name in sluice)
            told["LD_PRELOAD"] = self.path("libsluice-hooks.so") if hooks else os.path.join(self.build, "shim", "libsluice.so")
            told.update({"SLUICE_" + name: value for name, value in sluice.items()})
        command = [self.path(program), *arguments]
        repeat = shlex.join(["env", *(f"{name}={value}" for name, value in told.items()), *command])
        with tempfile.TemporaryDirectory() as folder:
            env = self.environment(told)
            env["SLUICE_STATS"] = os.path.join(folder, "sluice.json")
            try:
                done = subprocess.run(command, env=env, capture_output=True, text=True, timeout=self.patience + 60, check=False)
            except subprocess.TimeoutExpired:
                return Run(None, "", "it hangs", None, repeat)
            return Run(done.returncode, done.stdout, done.stderr, load(env["SLUICE_STATS"]), repeat)


def load(path):
    try:
        with open(path, encoding="utf-8") as file:
            return json.load(file)
    except FileNotFoundError:
        return None


def told_for(promise, number, delays):
    """The order, the arguments, and sluice's variables, of a run."""
    orders, modes = len(ORDERS), len(promise.modes)
    budget, arguments = promise.cases[number % len(promise.cases)]
    order, mode = ORDERS[number % orders], promise.modes[number // orders % modes]
    options = {"DEVICE_BUDGET": budget, "CHUNK": "2M", "DAEMON": mode}
    if delays == "yes" or (delays == "both" and number // (orders * modes) % 2):
        options["TEST_DELAY"] = str(number + 1)
    return f"random:{number}" if order == "random" else order, arguments, options


def check_alone(bench, name, order):
    """What is wrong with the program itself, or None."""
    promise = PROMISES[name]
    order = f"{order}:1" if order == "random" else order
    run = bench.run(name, promise.cases[0][1], {"SOFTCUDA_SCHEDULE": order, **promise.device})
    return f"without sluice: {run.wrong()}\n  {run.command}" if run.wrong() else None


def check(bench, name, number, delays):
    """What is wrong with the run, or None."""
    promise = PROMISES[name]
    order, arguments, options = told_for(promise, number, delays)
    variables = {"SOFTCUDA_SCHEDULE": order, **promise.device}
    run = bench.run(name, arguments, {**variables, **promise.fault}, options)
    wrong = run.wrong()
    if not wrong and name == "free_delays_no_stream":
        least, took = (float(r.fields["elapsed_ms"]) for r in (bench.run(name, arguments, variables), run))
        wrong = f"it takes {took} ms, without sluice {least} ms" if took > SLOWER * least else None
    if not wrong and promise.fault:
        whole = bench.run(name, arguments, variables, options)
        expected, brought = (r.books["total"]["bytes_in"] for r in (whole, run))
        if abs(brought - expected) > MORE_OR_LESS * expected:
            wrong = f"{brought} bytes are brought, where nothing fails {expected}"
    return f"{wrong}\n  {run.command}" if wrong else None


def check_all(job, numbers, jobs):
    """Prints what job(number) finds wrong; how many failed."""
    failed = 0
    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        for number, wrong in zip(numbers, pool.map(job, numbers)):
            if wrong:
                failed += 1
                print(f"{number}: {wrong}", flush=True)
    return failed


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build")
    parser.add_argument("program", choices=PROMISES)
    parser.add_argument("--runs", type=int, default=12)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--delays", choices=("yes", "no", "both"), default="both")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--patience", type=int, default=60)
    parser.add_argument("--races", action="store_true")
    told = parser.parse_args()
    bench = Bench(told.build, told.patience, told.races)
    numbers = range(told.first, told.first + told.runs)
    if check_all(lambda order: check_alone(bench, told.program, order), ORDERS, told.jobs):
        sys.exit(1)
    failed = check_all(lambda number: check(bench, told.program, number, told.delays), numbers, told.jobs)
    print(f"{told.program}: {told.runs - failed} of {told.runs} runs are right")
    sys.exit(failed != 0)


if __name__ == "__main__":
    main()
