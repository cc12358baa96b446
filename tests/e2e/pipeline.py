#!/usr/bin/env python3
"""Ranks of a pipeline, which send to each other and have no collective in common: same bits with less memory, sluice trace ranks
compares what they send, and sluice plan foretells their steps.

usage: pipeline.py BUILD alone|grouped [DAEMON[,DAEMON...] [BUDGET[,BUDGET...] [DRIVER[,DRIVER...] [RANKS]]]]
"""
import glob
import json
import os
import statistics
import subprocess
import sys
import tempfile

from e2e import MIB, need

STEPS, LAST = 20, 8  # those that are run, and those at the end whose median counts
MICRO_BATCHES = 5
WITHIN = 0.15


class Job:
    """A finished run of all ranks."""

    def __init__(self, build, schedule, ranks, folder, sluice=None, device=None):
        env = {k: v for k, v in os.environ.items() if not k.startswith(("SLUICE_", "SOFTCUDA_"))}
        env.update({"LD_LIBRARY_PATH": os.path.join(build, "subprojects", "softcuda", "lib"), "SOFTCUDA_DEVICES": str(ranks),
                    "WORLD_SIZE": str(ranks), "LOCAL_WORLD_SIZE": str(ranks), "SLUICE_NODE": os.path.join(folder, "node")})
        env.update({"SOFTCUDA_" + name: str(value) for name, value in (device or {}).items()})
        preload = [os.environ.get("E2E_PRELOAD")]
        if sluice is not None:
            preload.append(os.path.join(build, "shim", "libsluice.so"))
            env.update({"SLUICE_" + name: str(value) for name, value in sluice.items()})
        env["LD_PRELOAD"] = " ".join(filter(None, preload))
        id_file = os.path.join(folder, "id")
        for left in glob.glob(os.path.join(folder, "[it][di]*")):
            os.remove(left)
        command = [os.path.join(build, "tests", "e2e", "pipeline"), schedule, str(STEPS), id_file]
        timelines, books = ([os.path.join(folder, f"{kind}.{rank}") for rank in range(ranks)] for kind in ("timeline", "device"))
        started = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True,
                                    env={**env, "RANK": str(rank), "LOCAL_RANK": str(rank), "SOFTCUDA_TIMELINE": timelines[rank],
                                         "SOFTCUDA_STATS": books[rank]})
                   for rank in range(ranks)]
        self.output = [rank.communicate(timeout=300)[0] for rank in started]
        ends = [rank.returncode for rank in started]
        need(not any(ends) and all("hash" in text for text in self.output), f"{ranks} ranks, {schedule}, {sluice}: all end: {ends}")
        self.peak = 0
        for path in books:
            with open(path, encoding="utf-8") as file:
                self.peak = max(self.peak, json.load(file)["peak_device_bytes"])
        self.step_ns = max(map(step_ns, timelines))


def step_ns(timeline):
    """The median time from one update to the next, on the device's clock."""
    with open(timeline, encoding="utf-8") as file:
        operations = [json.loads(line) for line in file]
    updates = [o["start_ns"] for o in operations if o["kind"] == "kernel" and "update" in o["name"]]
    per_step = len(updates) // STEPS
    begins = updates[::per_step]
    need(len(begins) == STEPS, f"each step has as many updates: {len(updates)}")
    return statistics.median(b - a for a, b in zip(begins[-LAST - 1:], begins[-LAST:]))


def sluice(build, *arguments):
    command = [os.path.join(build, "tools", "sluice"), *arguments]
    return json.loads(subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True, timeout=300).stdout)


def check_ranks(build, traces, schedule, ranks):
    """What each rank sends and receives, alone and in groups, is compared with its counterpart."""
    said = sluice(build, "trace", "ranks", "--json", *traces)
    kinds = {kind["function"]: kind["count"] for kind in said["collectives"]}
    links = ranks - 1
    if schedule == "alone":
        expected = {"Send": 2 * MICRO_BATCHES * links * STEPS}
        launches = [sum(2 * MICRO_BATCHES for near in (rank - 1, rank + 1) if 0 <= near < ranks) * STEPS for rank in range(ranks)]
        need([rank["collectives"] for rank in said["ranks"]] == launches, f"all are seen: {said['ranks']}")
        need(kinds == expected, f"all meet: {kinds}, expected {expected}")
    else:
        # One shift around the ring, and for each pair of neighbours the groups in which both send.
        need(set(kinds) == {"Send", "group"} and kinds["group"] > STEPS * (1 + links), f"groups meet, too: {kinds}")
        need(kinds["Send"] + 2 * (kinds["group"] - STEPS) == 2 * MICRO_BATCHES * links * STEPS, f"every message is in one: {kinds}")
    need(all(rank["compared"] == rank["collectives"] for rank in said["ranks"]), f"all are compared: {said['ranks']}")


def check(build, schedule, daemons, budgets, driver, ranks):
    wrong = []
    device = {"DRIVER": driver}
    with tempfile.TemporaryDirectory() as folder:
        bare = Job(build, schedule, ranks, folder, device=device)
        pattern, traces = os.path.join(folder, "run.%r.slt"), [os.path.join(folder, f"run.{rank}.slt") for rank in range(ranks)]
        traced = Job(build, schedule, ranks, folder, device=device, sluice={"TRACE": pattern, "TRACE_SAMPLE": 1, "TRACE_FULL": "wait",
                                                                         "DAEMON": "inline", "CHUNK": "2M", "DEVICE_BUDGET": "1G"})
        need(traced.output == bare.output, "same bits with all memory")
        check_ranks(build, traces, schedule, ranks)
        for daemon in daemons:
            said = sluice(build, "plan", "--json", "--chunk", "2M", "--no-least", "--budget", budgets, "--link-gbs", "56", "--driver",
                          driver, "--daemon", daemon, *traces)
            need(said["unlike_communicators"] == said["missed_meetings"] == 0, f"all meet: {said}")
            for row in said["predictions"]:
                run = Job(build, schedule, ranks, folder, device=device,
                          sluice={"DEVICE_BUDGET": row["budget_bytes"], "CHUNK": "2M", "DAEMON": daemon})
                what = f"{ranks} ranks, {schedule}, {row['budget_bytes'] // MIB} of {row['need_bytes'] // MIB} MiB, {daemon}, {driver}"
                need(run.output == bare.output, f"{what}: same bits")
                need(run.peak <= row["budget_bytes"] + MIB, f"{what}: the budget is kept: {run.peak}")
                off = row["step_ns"] / run.step_ns - 1
                print(f"{what}: {row['step_ns'] / 1e6:.3f} ms foretold, {run.step_ns / 1e6:.3f} ms in truth, {100 * off:+.1f} %", flush=True)
                if abs(off) > WITHIN:
                    wrong.append((what, off))
    return wrong


def main(build, schedule, daemons="inline,thread", budgets="1,0.5,0.33", drivers="580", ranks="3"):
    wrong = [case for driver in drivers.split(",")
             for case in check(os.path.abspath(build), schedule, daemons.split(","), budgets, driver, int(ranks))]
    need(not wrong, f"within {WITHIN}: {wrong}")


if __name__ == "__main__":
    main(*sys.argv[1:])
