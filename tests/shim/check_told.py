#!/usr/bin/env python3
"""Runs test_told under the shim and looks for what it did in the trace: which way each copy went, for what the program
waited, what failed and why.

usage: check_told.py PROGRAM PRELOAD SLUICE
"""
import sys

from told import expect, traced

COPIES = [("in", 1000), ("out", 1001), ("on_device", 1002), ("in", 1003), ("out", 1004), ("on_device", 1005), ("in", 1006),
          ("out", 1007), ("on_device", 1008), ("in", 500), ("out", 600), (None, 1009)]
BATCHES = [("in", 2300), (None, 2300)]  # not where the program was built with headers older than CUDA 13
WAITS = ["copy"] * 5 + ["event", "stream", "context", "context", "context"]  # the second to last: a free
OUT_OF_MEMORY, INVALID_VALUE, NOT_SUPPORTED = 2, 1, 801
ERRORS = [("allocation", OUT_OF_MEMORY, 5 << 30), ("allocation", OUT_OF_MEMORY, 6 << 30),
          ("allocation", OUT_OF_MEMORY, 7 << 30), ("allocation", NOT_SUPPORTED, 8 << 30), ("launch", INVALID_VALUE, 0), ("launch", INVALID_VALUE, 0)]

records = traced(*sys.argv[1:4])
copies = [record for record in records if record["type"] == "launch" and record["kind"] == "copy"]
waits = [record for record in records if record["type"] == "sync"]
errors = [record for record in records if record["type"] == "error"]
ways = [(copy.get("direction"), copy["bytes"]) for copy in copies]
expect("copies", ways[:len(COPIES)], COPIES)
expect("batches", ways[len(COPIES):], BATCHES if len(ways) > len(COPIES) else [])
expect("waits", [wait["kind"] for wait in waits], WAITS)
expect("errors", [(error["kind"], error["code"], error["bytes"]) for error in errors], ERRORS)

read = {copy["tick"]: set() for copy in copies}
for record in records:
    if record["type"] == "access" and record["tick"] in read:
        read[record["tick"]].add(record.get("kind"))
for copy in copies[:len(COPIES)]:
    uses = {"in": {None}, "out": {"only read"}, "on_device": {None, "only read"}}.get(copy.get("direction"))
    if uses and not copy.get("same_as") and read[copy["tick"]] != uses:
        sys.exit(f"what a copy only reads: {copy}: {read[copy['tick']]}")

if any(wait["ns"] <= 0 or wait["ns"] > wait["time_ns"] for wait in waits):
    sys.exit("a wait takes time, and ends after the trace began")
if waits[-4]["handle"] != int(copies[3]["stream"], 16):
    sys.exit("the stream that was waited for has another name than that of its copies")
if any(error["kind"] == "allocation" and int(error["site"], 16) == 0 for error in errors):
    sys.exit("what did not fit has no site")
launch = errors[4]["tick"]
if not any(record["type"] == "launch" and record["kind"] == "kernel" and record["tick"] == launch for record in records):
    sys.exit("the error of a launch has not its tick")
