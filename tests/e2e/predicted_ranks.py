#!/usr/bin/env python3
"""sluice plan foretells a job of several ranks on softcuda: from one trace of each rank of ddp with all on the device, the steps
of the job with a half and a third of what a rank needs.

usage: predicted_ranks.py BUILD [RANKS[,RANKS...] [ZERO[,ZERO...] [DAEMON[,DAEMON...] [RUNS [DRIVER[,DRIVER...] [malloc|async]]]]]]
"""
import json
import os
import statistics
import subprocess
import sys
import tempfile

from e2e import MIB, need
from ranks import DATA, MODEL

STEPS, LAST = 26, 5  # those that are run, and those at the end whose median counts
# Whether a free is behind a collective depends on how fast the host is; so what barely fits may not.
WITHIN, BUDGETS = {"malloc": 0.1, "async": 0.2}, {"malloc": "1,0.5,0.33", "async": "0.5,0.33"}


class Job:
    """Runs of ddp's ranks, as a launcher starts them."""

    def __init__(self, build, ranks, zero, allocator="malloc", device=None):
        self.build, self.ranks, self.zero, self.allocator, self.device = build, ranks, zero, allocator, device or {}

    def run(self, folder, sluice):
        env = {k: v for k, v in os.environ.items() if not k.startswith(("SLUICE_", "SOFTCUDA_"))}
        env.update({"LD_LIBRARY_PATH": os.path.join(self.build, "subprojects", "softcuda", "lib"), "SOFTCUDA_DEVICES": str(self.ranks),
                    "WORLD_SIZE": str(self.ranks), "LOCAL_WORLD_SIZE": str(self.ranks), "SLUICE_NODE": os.path.join(folder, "node"), "SOFTCUDA_EXECUTE": "sample",
                    "LD_PRELOAD": " ".join(filter(None, [os.environ.get("E2E_PRELOAD"), os.path.join(self.build, "shim", "libsluice.so")]))})
        env.update({"SOFTCUDA_" + name: str(value) for name, value in self.device.items()})
        env.update({"SLUICE_" + name: str(value) for name, value in sluice.items()})
        id_file = os.path.join(folder, "id")
        if os.path.exists(id_file):
            os.remove(id_file)
        command = [os.path.join(self.build, "workloads", "ddp"), "--data", DATA, "--id-file", id_file, *MODEL,
                   "--steps", str(STEPS), "--zero", str(self.zero), "--alloc", self.allocator]
        timelines = [os.path.join(folder, f"timeline.{rank}") for rank in range(self.ranks)]
        started = [subprocess.Popen(command, stdout=subprocess.DEVNULL,
                                    env={**env, "RANK": str(rank), "LOCAL_RANK": str(rank), "SOFTCUDA_TIMELINE": timelines[rank]})
                   for rank in range(self.ranks)]
        ends = [rank.wait(timeout=600) for rank in started]
        # 4: the ranks' weights differ, of which only samples were computed.
        need(all(end in (0, 4) for end in ends), f"{self.ranks} ranks, --zero {self.zero} run: {ends}")
        return max(map(step_ns, timelines))

    def predict(self, traces, *options):
        command = [os.path.join(self.build, "tools", "sluice"), "plan", "--json", "--chunk", "2M", "--no-least", *options, *traces]
        return json.loads(subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True, timeout=300).stdout)


def step_ns(timeline):
    """The median time from the first kernel of a step to that of the next, on the device's clock."""
    with open(timeline, encoding="utf-8") as file:
        operations = [json.loads(line) for line in file]
    begins = [o["start_ns"] for o in operations if o["kind"] == "kernel" and "embed" in o["name"] and "backward" not in o["name"]]
    need(len(begins) == STEPS, f"each step begins with the same kernel: {len(begins)}")
    return statistics.median(b - a for a, b in zip(begins[-LAST - 1:], begins[-LAST:]))


def check(build, ranks, zero, daemons, runs, driver, allocator):
    """Returns what was foretold wrong. What is real is the median of several runs: ranks that wait for each other on a machine with few
    processors do not do quite the same in each."""
    wrong = []
    job = Job(build, ranks, zero, allocator, {"DRIVER": driver})
    with tempfile.TemporaryDirectory() as folder:
        traces = [os.path.join(folder, f"run.{rank}.slt") for rank in range(ranks)]
        job.run(folder, {"TRACE": os.path.join(folder, "run.%r.slt"), "TRACE_SAMPLE": 1, "TRACE_FULL": "wait", "DAEMON": "inline",
                         "CHUNK": "2M", "DEVICE_BUDGET": "1G"})
        foretold = {daemon: job.predict(traces, "--budget", BUDGETS[allocator], "--link-gbs", "56", "--driver", driver, "--daemon", daemon) for daemon in daemons}
        said = foretold[daemons[0]]
        need(said["unlike_communicators"] == said["missed_meetings"] == 0, f"all collectives are met: {said}")
        need(said["meetings_over_link"], "without NVLink they take the link to the host")
        for daemon in daemons:
            for row in foretold[daemon]["predictions"]:
                sluice = {"DEVICE_BUDGET": row["budget_bytes"], "CHUNK": "2M", "DAEMON": daemon}
                real_ns = statistics.median(job.run(folder, sluice) for _ in range(runs))
                off = row["step_ns"] / real_ns - 1
                print(f"{ranks} ranks, --zero {zero}, {row['budget_bytes'] // MIB} of {row['need_bytes'] // MIB} MiB, {daemon}, {driver}, {allocator}: "
                      f"{row['step_ns'] / 1e6:.3f} ms foretold, {real_ns / 1e6:.3f} ms in truth, {100 * off:+.1f} %", flush=True)
                if abs(off) > WITHIN[allocator]:
                    wrong.append((ranks, zero, row["budget_bytes"] // MIB, daemon, driver, off))
    return wrong


def main(build, ranks="2", zeros="0,1,2,3", daemons="inline", runs="1", drivers="ideal", allocator="malloc"):
    wrong = [case for count in ranks.split(",") for zero in zeros.split(",") for driver in drivers.split(",")
             for case in check(os.path.abspath(build), int(count), int(zero), daemons.split(","), int(runs), driver, allocator)]
    need(not wrong, f"within {WITHIN[allocator]}: {wrong}")


if __name__ == "__main__":
    main(*sys.argv[1:])
