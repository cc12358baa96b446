#!/usr/bin/env python3
"""Runs test_graphs under the shim on graphs that are launched again and again, on one beyond the budget, and on one that
allocates for itself; and where the driver does not say what one of the nodes does. Runs test_graph_pieces on graphs beyond
the budget that are not cut.

usage: check_graphs.py PROGRAM PIECES PRELOAD SLUICE
"""
import json
import os
import subprocess
import sys
import tempfile

PROGRAM, PIECES, PRELOAD, SLUICE = sys.argv[1:5]
BUDGET = int(os.environ["BUDGET_BYTES"])


def run(*arguments, program=PROGRAM, beside=0, **variables):
    """What the program said, and the books of the device and of the core."""
    with tempfile.TemporaryDirectory() as folder:
        names = [os.path.join(folder, name) for name in ("device.json", "core.json")]
        environment = dict(os.environ, LD_PRELOAD=PRELOAD, SOFTCUDA_STATS=names[0], SLUICE_STATS=names[1], **variables)
        done = subprocess.run([program, *arguments], env=environment, capture_output=True, text=True, check=False)
        if done.returncode:
            sys.exit(f"{arguments}: status {done.returncode}\n{done.stdout}{done.stderr}")
        books = []
        for name in names:
            with open(name, encoding="utf-8") as file:
                books.append(json.load(file))
    peak = books[0]["peak_device_bytes"]
    if peak > BUDGET + beside:
        sys.exit(f"{arguments}: {peak} bytes on the device, beyond the budget")
    return done.stderr, *books


def in_place(device):
    return sum(device[way][cause] for way in ("bytes_in", "bytes_out") for cause in ("remote", "fault", "eviction"))


def repeated(mode):
    """Every graph finds what it needs, no misses, nothing used in place: inline from the third round on, with threads, which
    may come to plan later, in the last rounds."""
    (_, device, early), (_, _, late) = (run("steady", rounds, SLUICE_DAEMON=mode) for rounds in ("3", "23"))
    if in_place(device):
        sys.exit(f"{mode}: {in_place(device)} bytes in place, expected none")
    if mode == "thread":
        last = late["iterations"][-3:]
        if len(last) < 3 or any(round[name] for round in last for name in ("demand_misses", "remote_bytes")):
            sys.exit(f"{mode}: the last rounds still miss something\n{late}")
        return
    for name in ("demand_misses", "remote_bytes"):
        more = late["total"][name] - early["total"][name]
        if more:
            sys.exit(f"{mode}: twenty rounds more bring {more} {name}\n{early}\n{late}")


def oversize():
    """A graph that touches more than the budget is run in pieces, each of which has its memory there, and as soon as it is known
    what follows all of it comes by a plan."""
    errors, device, core = run("oversize")
    if "more than the budget" in errors:
        sys.exit(f"said to be too large: {errors}")
    if in_place(device) or core["total"]["launches"] < 4 * 48 / 8:
        sys.exit(f"not in pieces: {in_place(device)} bytes in place, {core['total']['launches']} launches")


def whole():
    """One that is not cut is one launch: said once, and it runs partly in place."""
    errors, device, core = run("whole", program=PIECES)
    for text in ("a graph uses 48 MiB, more than the budget", "is not run in pieces"):
        if errors.count(text) != 1:
            sys.exit(f"not said once, {text}: {errors}")
    if not in_place(device) or not core["total"]["remote_bytes"]:
        sys.exit("a graph beyond the budget used nothing in place")


def memory():
    """What memory nodes allocate comes from the driver, and chunks give way to it. A mover that fetches into what was given back
    must not do so earlier, by its own clock, than the thread that gave it back."""
    _, device, _ = run("memory", beside=4 << 20, SLUICE_DEVICE_BUDGET=str(BUDGET + (4 << 20)), SOFTCUDA_CAUSAL="1")
    if in_place(device):
        sys.exit(f"memory nodes: {in_place(device)} bytes in place, expected none")


def unreadable():
    """Of a node that the driver says nothing about only its own block is used in place, and the others are there."""
    rounds, block = 23, 2 << 20
    for call in ("cuGraphKernelNodeGetParams", "cuGraphNodeGetType"):
        refused = [f"{call}:once={n}:CUDA_ERROR_UNKNOWN" for n in (1, 2)]
        errors, device, _ = run("steady", str(rounds), SLUICE_DAEMON="inline", SLUICE_VERBOSE="2", SOFTCUDA_LOG="none",
                                SOFTCUDA_FAULT=",".join(refused))
        if errors.count("1 of 3 nodes of a graph are not known;") != 1:
            sys.exit(f"{call}: not said once: {errors}")
        if not 0 < in_place(device) <= 2 * rounds * block:
            sys.exit(f"{call}: {in_place(device)} bytes in place, expected those of one block")
        errors, device, _ = run("steady", str(rounds), SLUICE_DAEMON="inline", SOFTCUDA_LOG="none", SOFTCUDA_FAULT=refused[0])
        if in_place(device):
            sys.exit(f"{call}: refused once, {in_place(device)} bytes in place, expected none")


def traced():
    """The trace has what each launch of a graph touched."""
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "trace")
        run("steady", "3", SLUICE_TRACE=path)
        environment = {name: value for name, value in os.environ.items() if name != "LD_PRELOAD"}
        text = subprocess.run([SLUICE, "trace", "dump", "--json", path], env=environment, stdout=subprocess.PIPE, check=True)
        records = [json.loads(line) for line in text.stdout.splitlines()]
    graphs = [record["tick"] for record in records if record["type"] == "launch" and record["kind"] == "graph"]
    slots = {tick: [] for tick in graphs}
    for record in records:
        if record["type"] == "access" and record["tick"] in slots:
            slots[record["tick"]].append(record["slot"])
        elif record["type"] == "launch" and "as" in record and record["tick"] in slots:
            slots[record["tick"]] = slots[record["as"]]
    if [slots[tick] for tick in graphs] != 3 * [[3 * g, 3 * g + 1, 3 * g + 2] for g in range(8)]:
        sys.exit(f"the trace says that graphs touched {slots}")


for daemon in ("inline", "thread"):
    repeated(daemon)
oversize()
whole()
memory()
unreadable()
traced()
