#!/usr/bin/env python3
"""Runs test_sites under the shim: the trace has each place that allocates once, before what it allocates, with call stacks
that lead to the functions which the linker put there.

usage: check_sites.py PROGRAM PRELOAD SLUICE
"""
import os
import re
import subprocess
import sys

from told import expect, traced

PROGRAM = sys.argv[1]


def build_id():
    notes = subprocess.run(["readelf", "-nW", PROGRAM], capture_output=True, text=True, check=True).stdout
    return bytes.fromhex(re.search(r"Build ID: ([0-9a-f]+)", notes).group(1))[:16]


def functions():
    """Address, end and name of each function of the program."""
    symbols = subprocess.run(["nm", "-S", PROGRAM], capture_output=True, text=True, check=True).stdout
    rows = [line.split() for line in symbols.splitlines()]
    return [(int(row[0], 16), int(row[0], 16) + int(row[1], 16), row[3]) for row in rows if len(row) == 4 and row[2] in "tT"]


records = traced(*sys.argv[1:4])
modules = {record["module"]: record for record in records if record["type"] == "module"}
sites = {record["site"]: record for record in records if record["type"] == "site"}
allocations = [record for record in records if record["type"] == "alloc"]
errors = [record for record in records if record["type"] == "error"]
expect("sites told twice", [r["site"] for r in records if r["type"] == "site"], list(sites))
expect("modules told twice", [r["module"] for r in records if r["type"] == "module"], list(modules))
expect("places that allocate", [list(sites).index(record["site"]) for record in allocations], [0] * 3 + [1] * 4)

own = [number for number, module in modules.items() if module["name"] == os.path.realpath(PROGRAM)]
expect("modules that are the program", len(own), 1)
identity = build_id()
expect("build id", [modules[own[0]][field] for field in ("build", "build2")],
       [int.from_bytes(identity[at:at + 8], "little") for at in (0, 8)])


def named(site):
    """The program's functions in the call stack, the innermost first."""
    names = []
    for frame in sites[site]["name"].split():
        module, offset = (int(part, 16) for part in frame.split("+"))
        if module == own[0]:  # a return address: its call is before it
            names += [name.split(".")[0] for start, end, name in functions() if start < offset <= end]
    return names[:names.index("main") + 1]


expect("weights", named(allocations[0]["site"]), ["allocate", "make_weights", "main"])
expect("a step", named(allocations[3]["site"]), ["allocate", "take_a_step", "main"])
expect("what did not fit", named(errors[0]["site"]), ["ask_for_too_much", "main"])
for record in allocations + errors:
    if record["time_ns"] < sites[record["site"]]["time_ns"]:
        sys.exit(f"{record} stands before its site")
for record in sites.values():
    for frame in record["name"].split():
        if int(frame.split("+")[0], 16) not in modules:
            sys.exit(f"{frame} is in no module that was told")
