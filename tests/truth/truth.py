#!/usr/bin/env python3
"""Compares what sluice believes launches to touch with what they touch on softcuda.

usage: truth.py BUILD run [--worst N] PROGRAM [ARGUMENT...]
       truth.py BUILD check NAME
       truth.py BUILD table

run prints the shares of any program, which finds its libraries by LD_LIBRARY_PATH; steady is the second half of its
launches. check fails when those of the workload NAME are worse than once reached; table prints
docs/benchmarks.md's rows.
"""
import os
import subprocess
import sys
import tempfile

import shares

SOURCE = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
TEXT = os.path.join(SOURCE, "workloads", "data", "gpl-3.txt")
# Tensors of several chunks, among them one with interleaved views: the matrix of queries, keys and values.
MODEL = ["--layers", "2", "--width", "256", "--context", "128", "--batch", "8", "--steps", "4", "--evaluate-every", "2"]


def gpt(*more):
    return ["workloads/gpt", "--data", TEXT, *MODEL, *more]


# On the Driver API, with parameters packed in one buffer, allocations in stream order and two streams.
MLP = ["workloads/mlp", "--width", "1024", "--batch", "64", "--steps", "6"]

# What each runs, and the steady shares once reached, in percent: caught at least and claimed too much at most, of bytes
# and of chunks. softcuda counts exactly, so they are the same everywhere.
WORKLOADS = {
    "gpt-malloc": (gpt("--allocator", "malloc"), 99.99, 8.2, 99.99, 0),
    "gpt-malloc-sweep": (gpt("--allocator", "malloc", "--optimizer", "sweep", "--accumulate", "2"), 99.99, 8.3, 99.99, 0),
    "gpt-slab": (gpt("--allocator", "slab"), 99.99, 13.5, 99.99, 2.2),
    "gpt-slab-sweep": (gpt("--allocator", "slab", "--optimizer", "sweep", "--accumulate", "2"), 99.99, 13.5, 99.99, 2.2),
    "mlp": (MLP, 99.99, 0.01, 99.99, 0),
    "mlp-captured": ([*MLP, "--graph", "captured"], 99.99, 0.01, 99.99, 0),
    "mlp-nodes": ([*MLP, "--graph", "nodes"], 99.99, 0.01, 99.99, 0),
    "pointers": (["tests/truth/pointers"], 93, 69, 95, 58),
}


def measure(build, command):
    """Runs the command under sluice on softcuda and returns its report."""
    with tempfile.TemporaryDirectory() as folder:
        trace, touched = os.path.join(folder, "trace"), os.path.join(folder, "touched")
        environment = {k: v for k, v in os.environ.items() if not k.startswith(("SLUICE_", "SOFTCUDA_"))}
        environment.update({name: value for name, value in os.environ.items() if name == "SOFTCUDA_MEMORY"})
        device = os.path.join(build, "subprojects", "softcuda", "lib")
        others = environment.get("LD_LIBRARY_PATH")
        preload = [os.environ.get("E2E_PRELOAD"), os.path.join(build, "shim", "libsluice.so")]
        environment.update({
            "LD_LIBRARY_PATH": device + (":" + others if others else ""), "LD_PRELOAD": " ".join(filter(None, preload)),
            "SLUICE_TRACE": trace, "SLUICE_TRACE_FULL": "wait", "SLUICE_CHUNK": "2M", "SLUICE_DAEMON": "inline",
            "SOFTCUDA_TOUCHED": touched})
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
        if done.returncode:
            sys.exit(f"{command[0]} ends with {done.returncode}\n{done.stdout}{done.stderr}")
        tool = os.path.join(build, "tools", "sluice")
        with subprocess.Popen([tool, "trace", "dump", "--json", trace], stdout=subprocess.PIPE, text=True) as dump, \
                open(touched, encoding="utf-8") as lines:
            return shares.Report(dump.stdout, lines)


HEAD = ("| | launches | touched | caught | claimed too much | chunks caught | chunks too many |\n"
        "| --- | ---: | ---: | ---: | ---: | ---: | ---: |")


def row(name, total):
    s = total.shares()
    return (f"| {name} | {total.launches} | {total.touched / 2**20:.0f} MiB | {100 * s['caught']:.2f} % | "
            f"{100 * s['excess']:.2f} % | {100 * s['caught_chunks']:.2f} % | {100 * s['excess_chunks']:.2f} % |")


def show(report, worst):
    print(HEAD)
    print(row("all", report.whole))
    print(row("steady", report.steady))
    for name, total in report.worst(worst):
        print(row(name, total))


def command_of(build, name):
    program, *arguments = WORKLOADS[name][0]
    return [os.path.join(build, program), *arguments]


def check(build, name):
    """Fails where a share is worse than it was."""
    caught, excess, caught_chunks, excess_chunks = WORKLOADS[name][1:]
    report = measure(build, command_of(build, name))
    show(report, 10)
    found = {key: 100 * value for key, value in report.steady.shares().items()}
    for key, least in (("caught", caught), ("caught_chunks", caught_chunks)):
        if found[key] < least:
            sys.exit(f"{name}: {key} is {found[key]:.3f} %, it was {least} %")
    for key, most in (("excess", excess), ("excess_chunks", excess_chunks)):
        if found[key] > most:
            sys.exit(f"{name}: {key} is {found[key]:.3f} %, it was {most} %")


def table(build):
    print(HEAD)
    for name in WORKLOADS:
        report = measure(build, command_of(build, name))
        print(row(f"{name}, all", report.whole))
        print(row(f"{name}, steady", report.steady), flush=True)


def main():
    if len(sys.argv) < 3:
        sys.exit(__doc__.strip())
    build, what, rest = os.path.abspath(sys.argv[1]), sys.argv[2], sys.argv[3:]
    worst = 10
    if what == "run" and rest[:1] == ["--worst"]:
        worst, rest = int(rest[1]), rest[2:]
    try:
        if what == "run":
            show(measure(build, rest), worst)
        elif what == "show":
            show(measure(build, command_of(build, rest[0])), worst)
        elif what == "check":
            check(build, rest[0])
        elif what == "table":
            table(build)
        else:
            sys.exit(__doc__.strip())
    except shares.Mismatch as mismatch:
        sys.exit(f"truth.py: {mismatch}")


if __name__ == "__main__":
    main()
