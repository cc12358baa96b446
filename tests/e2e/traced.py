#!/usr/bin/env python3
"""End-to-end tests of what a trace tells: gpt, unmodified, on softcuda, whose own books judge.

usage: traced.py BUILD TEST
"""
import collections
import json
import os
import subprocess
import sys
import tempfile

from e2e import MIB, MODEL, Bench, need

SMALL = ["--layers", "2", "--width", "128", "--heads", "4", "--context", "16", "--batch", "1", "--seed", "7"]
STREAMS = ["--layers", "4", "--width", "128", "--batch", "8", "--streams", "3", "--seed", "7"]
SAME = ("alloc", "free", "kernel", "launch", "access", "iteration")
# What depends on where memory lies and on when something happened.
PASSING = ("time_ns", "address", "stream", "thread")


def traced(bench, arguments, sluice, **more):
    """A run and the records of its trace."""
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "trace")
        run = bench.run(arguments, sluice={"TRACE": path, "TRACE_FULL": "wait", **sluice}, **more)
        tool = os.path.join(bench.build, "tools", "sluice")
        dump = subprocess.run([tool, "trace", "dump", "--json", path], capture_output=True, text=True, check=True)
    records = [json.loads(line) for line in dump.stdout.splitlines()]
    need(records[-1]["complete"], "the trace is complete", run)
    return run, records


def lasting(records, types):
    return [{k: v for k, v in record.items() if k not in PASSING} for record in records if record["type"] in types]


def recorded(bench):
    """Policy off with a trace: the program runs as without sluice, and the trace is that of a device that is large enough."""
    runs = [("gpt", SMALL + ["--steps", "8", "--accumulate", "2", "--allocator", name]) for name in ("malloc", "slab", "async")]
    runs += [("mlp", STREAMS + ["--steps", "8", "--graph", name]) for name in ("none", "captured", "nodes")]
    for program, arguments in runs:
        what = f"{program} {arguments[-1]}"
        plain = bench.run(arguments, program=program)
        off, passive = traced(bench, arguments, {"POLICY": "off", "CHUNK": "2M", "VERBOSE": 1}, program=program)
        budget = max(8 * MIB, plain.device["peak_device_bytes"] * 4)
        plan, active = traced(bench, arguments, {"POLICY": "plan", "CHUNK": "2M", "DEVICE_BUDGET": budget}, program=program)
        need(off.same_bits(plain) and plan.same_bits(plain), f"{what}: same bits", plain, off, plan)
        need("recorded only: the program used" in off.errors, "the summary says so", off)
        for books in ("bytes_in", "bytes_out", "peak_device_bytes", "launches"):
            need(off.device[books] == plain.device[books], f"{what}: {books} as without sluice", plain, off)
        counts = collections.Counter(record["type"] for record in passive)
        need(counts["move"] == 0 and counts["iteration"] >= 3, f"{what}: iterations and no movement: {counts}", off)
        ours, theirs = lasting(passive, SAME), lasting(active, SAME)
        for i, (one, other) in enumerate(zip(ours, theirs)):
            need(one == other, f"{what}: record {i}: {one}, with a budget for all of it {other}", off)
        need(len(ours) == len(theirs), f"{what}: {len(ours)} records, with a budget for all of it {len(theirs)}", off)


def metadata(bench):
    """What the run was, and what came of it: as the options say, as softcuda and sluice count."""
    arguments = SMALL + ["--steps", "8"]
    plain = bench.run(arguments)
    run, records = traced(bench, arguments, {"CHUNK": "2M", "DEVICE_BUDGET": max(8 * MIB, plain.peak // 2), "DAEMON": "inline"})
    all_told = [record for record in records if record["type"] == "metadata"]
    told = dict(record["name"].split("=", 1) for record in all_told if "value" not in record)
    numbers = {record["name"]: record["value"] for record in all_told if "value" in record}
    for name, value in {"policy": "plan", "daemon": "inline", "driver": "13.0"}.items():
        need(told[name] == value, f"{name} is {value}: {told}", run)
    need("softcuda" in told["device"].lower(), f"the device's name: {told}", run)
    need(told["command"].endswith(" ".join(arguments)), f"the command: {told}", run)
    for name in ("plans", "mispredictions", "predicted"):
        need(numbers[name] == run.sluice[name], f"{name} as in the statistics: {numbers}", run)
    need(numbers["symbols"] == run.sluice["fed"], f"symbols as in the statistics: {numbers}", run)
    ends = [record for record in records if record["type"] == "iteration"]
    need([end["number"] for end in ends] == list(range(1, numbers["iterations"] + 1)), "iterations are numbered", run)
    for one, next_one in zip(ends, ends[1:]):
        fed = next_one["fed"] - one["fed"]
        need(fed == next_one["symbols"], f"an iteration's symbols are those fed in it: {next_one}", run)
        need(next_one["predicted"] - one["predicted"] <= fed, f"no more predicted than fed: {next_one}", run)
    need(0 < ends[-1]["predicted"] <= run.sluice["predicted"], "predicted so far", run)


def durations(bench):
    """Launches that are timed: all, or one in so many and each in its turn, as softcuda's clock says."""
    arguments = SMALL + ["--steps", "10"]
    run, records = traced(bench, arguments, {"POLICY": "off", "CHUNK": "2M", "TRACE_SAMPLE": 1})
    launches = {record["tick"]: record for record in records if record["type"] == "launch"}
    timed = [record for record in records if record["type"] == "duration"]
    need(len(timed) == len(launches), f"all are timed: {len(timed)} of {len(launches)}", run)
    for record in timed:
        need(launches[record["tick"]].get("kernel", 0) == record["kernel"], f"with their kernels: {record}", run)
    # One after the other on one stream: no less than the device was busy, no more than the run took.
    computing = sum(record["ns"] for record in timed if launches[record["tick"]]["kind"] in ("kernel", "memset")) / 1e9
    busy, whole = run.device["busy_seconds"]["compute"], run.device["simulated_seconds"]
    need(busy * 0.98 <= computing <= whole, f"{computing} seconds in kernels and sets, of {whole}, busy {busy}", run)
    # Data that is brought for a launch is waited for before it is timed.
    run, records = traced(bench, SMALL + ["--width", "256", "--steps", "6"],
                          {"CHUNK": "2M", "DEVICE_BUDGET": 8 * MIB, "DAEMON": "inline", "TRACE_SAMPLE": 1})
    need(run.device["bytes_in"]["prefetch"] > run.device["bytes_in"]["remote"], "data is brought", run)
    need(sum(record["type"] == "duration" for record in records) == run.sluice["total"]["launches"], "all are timed", run)
    # A few samples an iteration, none of a launch that had one before all had.
    run, records = traced(bench, arguments, {"POLICY": "off", "CHUNK": "2M", "TRACE_SAMPLE": 64})
    ends = [record["tick"] for record in records if record["type"] == "iteration"]
    timed = [record["tick"] for record in records if record["type"] == "duration"]
    period = ends[-1] - ends[-2]
    places = [tick % period for tick in timed]
    need(period / 2 < len(timed) <= len(launches) / 8, f"{len(timed)} of {len(launches)} in periods of {period}", run)
    for first in range(0, len(places), period):
        turn = places[first : first + period]
        need(len(set(turn)) == len(turn), f"each in its turn: {sorted(turn)}", run)


def transfers(bench):
    """Movements are timed on the device: their bytes are those that softcuda moved, their speed that of its link."""
    arguments = MODEL + ["--steps", "3"]
    plain = bench.run(arguments)
    options = {"CHUNK": "2M", "DEVICE_BUDGET": plain.peak // 2 // (2 * MIB) * 2 * MIB}
    # Device memory so fast that no kernel seems to be limited by it: what is used in place would have a part of the link.
    link = {"SOFTCUDA_DRIVER": "ideal", "SOFTCUDA_LINK_IN": "10", "SOFTCUDA_LINK_OUT": "5", "SOFTCUDA_LINK_BOTH": "4",
            "SOFTCUDA_DEVICE_BANDWIDTH": "50000"}
    for daemon in ("inline", "thread"):
        run, records = traced(bench, arguments, {**options, "DAEMON": daemon}, environment=link)
        need(run.same_bits(plain), "same bits", plain, run)
        moves = {(m["kind"], m["chunk"], m["tick"], m["cause"], m["bytes"]) for m in records if m["type"] == "move"}
        for kind, books, gbps in (("fetch", "bytes_in", 10), ("evict", "bytes_out", 5)):
            timed = [record for record in records if record["type"] == "transfer" and record["kind"] == kind]
            moved = sum(record["bytes"] for record in timed)
            ended = sum(m["bytes"] for m in records if m["type"] == "move" and m["kind"] == kind)
            # At the end of a run with a daemon some may be under way.
            need(ended - 16 * 2 * MIB * (daemon == "thread") <= moved <= ended, f"{kind}: {moved} of {ended}", run)
            need(run.device[books]["prefetch"] == ended, f"softcuda counts {ended} {books}", run)
            need(all((kind, t["chunk"], t["tick"], t["cause"], t["bytes"]) in moves for t in timed), f"{kind}: of moves", run)
            # The program's own large copies, of its weights at the end, may stand before movements on the link.
            own = min(r["tick"] for r in records if r["type"] == "launch" and r.get("direction") == "out" and r["bytes"] > MIB // 16)
            # A mover may be held up between the event and the call: one in 50 movements may have waited for another.
            speeds = sorted(record["bytes"] / record["ns"] for record in timed if record["tick"] < own - 1)
            least = speeds[len(speeds) // 50]
            most = max(record["bytes"] / record["ns"] for record in timed)
            need(4 * 0.9 < least and most < gbps * 1.001, f"{kind} at {least} to {most} GB/s", run)
            timed.sort(key=lambda record: record["began_ns"])
            for one, other in zip(timed, timed[1:]):
                need(one["began_ns"] + one["ns"] <= other["began_ns"], f"one after the other: {one} {other}", run)
        told = [record for record in records if record["type"] == "link"]
        need(told, "the link's speed is told", run)
        need(9.5e9 < told[-1]["in"] < 10.01e9 and 4.75e9 < told[-1]["out"] < 5.005e9, f"the link's speed: {told}", run)


def main():
    bench, name = Bench(sys.argv[1]), sys.argv[2]
    {"recorded": recorded, "metadata": metadata, "durations": durations, "transfers": transfers}[name](bench)


if __name__ == "__main__":
    main()
