"""Trains the gpt workload without sluice, twice, and with it at several budgets, and compares every bit; and the ddp workload, as one
rank of NCCL, whose results are gpt's.

Usage: gpt.py BUILD --data FILE --size full|quick|software [--limit SECONDS] [--nccl FOLDER]

--nccl: where a libnccl.so.2 is; without it ddp is not run.

Prints a JSON object a line, one for each run: what was asked, whether losses and weights equal the control's, step times
and, from sluice's own statistics, misses, late fetches, stalls and bytes moved. Memory is only ever made scarce by a
budget, never by filling the device.
"""
import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass

# layers, width, heads, context, batch, steps. `full` needs about 7 GiB, most of it the optimizer's state.
SIZES = {
    "full": {"layers": 24, "width": 1024, "heads": 16, "context": 256, "batch": 4, "steps": 12},
    "quick": {"layers": 8, "width": 512, "heads": 8, "context": 128, "batch": 4, "steps": 8},
    "software": {"layers": 4, "width": 128, "heads": 4, "context": 32, "batch": 2, "steps": 4},
}
# Of ddp's chunks: at least the largest tensor.
CHUNK_MIB = {"full": "32", "quick": "8", "software": "2"}
RUN_LIMIT_SECONDS = 60
COUNTS = ("demand_misses", "late_prefetches", "remote_bytes", "bytes_in", "bytes_out", "stall_seconds")


@dataclass(frozen=True)
class Run:
    """A row of the table. `budget` is a part of the control's peak; None runs without sluice."""
    name: str
    allocator: str = "malloc"
    budget: float = None
    policy: str = None
    daemon: str = None
    zero: str = None  # ddp with this --zero instead of gpt


def plan_runs():
    yield Run("control")
    yield Run("control again")
    for budget, words in ((1 / 2, "1/2"), (1 / 3, "1/3")):
        for policy in ("plan", "demand"):
            for daemon in ("thread", "inline"):
                yield Run(f"{words}, {policy}, {daemon}", "malloc", budget, policy, daemon)
    yield Run("more than the need, plan, thread", "malloc", 1.5, "plan", "thread")
    yield Run("slab, control", "slab")
    yield Run("slab, 1/2, plan, thread", "slab", 1 / 2, "plan", "thread")
    yield Run("one rank of NCCL, control", "malloc", zero="0")
    yield Run("one rank of NCCL, 1/2, plan, thread", "malloc", 1 / 2, "plan", "thread", "0")
    yield Run("one rank of NCCL, --zero 3, async, 1/2, plan, thread", "async", 1 / 2, "plan", "thread", "3")
    yield Run("one rank of NCCL, --zero 1, 1/2, plan, inline", "malloc", 1 / 2, "plan", "inline", "1")


def parse_output(text):
    """What gpt printed, see the head of gpt.cu."""
    found = {"losses": [], "step_ms": []}
    for line in text.splitlines():
        words = line.split()
        if words[:1] == ["step"]:
            found["losses"].append(words[4])
            found["step_ms"].append(float(words[6]))
        elif words[:1] in (["peak_bytes"], ["weights_hash"]):
            found[words[0]] = words[1]
    return found


def mean_counts(iterations):
    return {name: sum(i[name] for i in iterations) / len(iterations) for name in COUNTS}


def read_statistics(path):
    """sluice's totals, and the means of the later half of its iterations, when it knows the program."""
    try:
        with open(path) as file:
            stats = json.load(file)
    except (OSError, ValueError) as error:
        return {"error": str(error)}
    iterations = stats.get("iterations", [])
    later = iterations[len(iterations) // 2:]
    summary = {name: value for name, value in stats.items() if name not in ("iterations", "total")}
    return {**summary, "total": stats["total"], "iteration_count": len(iterations),
            "steady": mean_counts(later) if later else None}


class Trainer:
    def __init__(self, options):
        self.options = options
        self.end = time.monotonic() + options.limit
        self.controls = {}  # by allocator: losses, weights hash, peak

    def control_of(self, run):
        """Whose results a run has to have: with one rank, whatever --zero, those of gpt."""
        return "malloc" if run.zero else run.allocator

    def command(self, run, stats):
        size = SIZES[self.options.size]
        own = (["--zero", run.zero, "--alloc", run.allocator, "--chunk-mib", CHUNK_MIB[self.options.size]] if run.zero else
               ["--allocator", run.allocator])
        gpt = [os.path.join(self.options.build, "workloads", "ddp" if run.zero else "gpt"), "--data", self.options.data,
               *(word for name, value in size.items() for word in (f"--{name}", str(value))), *own]
        if run.budget is None:
            return gpt, None
        # No budget is smaller than 8 MiB; the quick model needs little more.
        budget = max(8 << 20, int(int(self.controls[self.control_of(run)]["peak_bytes"]) * run.budget))
        sluice = [os.path.join(self.options.build, "tools", "sluice"), "run", "--budget", str(budget),
                  "--policy", run.policy, "--daemon", run.daemon, "--stats", stats]
        if self.options.size == "software":
            sluice += ["--chunk", "2M"]
        return [*sluice, "--", *gpt], budget

    def environment(self, run):
        folders = [self.options.nccl if run.zero else "", os.environ.get("LD_LIBRARY_PATH", "")]
        return {**os.environ, "LD_LIBRARY_PATH": ":".join(filter(None, folders))}

    def judge(self, run, record, found):
        """Compares with the control, or becomes it."""
        result = {name: found.get(name) for name in ("losses", "weights_hash", "peak_bytes")}
        if not result["weights_hash"]:
            record["identical"] = None
        elif self.control_of(run) not in self.controls and run.budget is None:
            self.controls[self.control_of(run)] = result
        else:
            control = self.controls[self.control_of(run)]
            record["identical"] = (result["losses"] == control["losses"] and
                                   result["weights_hash"] == control["weights_hash"])

    def run(self, run, folder):
        record = {"part": "gpt", "name": run.name, "allocator": run.allocator, "policy": run.policy,
                  "daemon": run.daemon, "budget_of_peak": run.budget}
        left = self.end - time.monotonic()
        if run.zero and not self.options.nccl:
            return {**record, "status": "not run", "said": "there is no libnccl.so.2"}
        if left <= 0 or (run.budget is not None and self.control_of(run) not in self.controls):
            return {**record, "status": "not run", "said": "no time left" if left <= 0 else "no control"}
        stats = os.path.join(folder, "stats.json")
        if os.path.exists(stats):
            os.unlink(stats)
        command, record["budget_bytes"] = self.command(run, stats)
        start = time.monotonic()
        try:
            done = subprocess.run(command, capture_output=True, text=True, errors="replace", env=self.environment(run),
                                  timeout=min(left, RUN_LIMIT_SECONDS))
        except subprocess.TimeoutExpired:
            return {**record, "status": "stopped",
                    "said": f"stopped after {min(left, RUN_LIMIT_SECONDS):.0f} s"}
        record.update(status=done.returncode, wall_seconds=round(time.monotonic() - start, 3))
        found = parse_output(done.stdout)
        self.judge(run, record, found)
        if found["step_ms"]:
            record["first_step_ms"] = found["step_ms"][0]
            record["step_ms"] = statistics.median(found["step_ms"][len(found["step_ms"]) // 2:])
        record.update(losses=found["losses"], weights_hash=found.get("weights_hash"))
        record["peak_bytes"] = int(found.get("peak_bytes", 0))
        if done.stderr:
            record["said"] = "\n".join(done.stderr.splitlines()[-5:])
        if run.budget is not None:
            record["sluice"] = read_statistics(stats)
        return record


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("build")
    parser.add_argument("--data", required=True)
    parser.add_argument("--size", choices=SIZES, required=True)
    parser.add_argument("--limit", type=float, default=200)
    parser.add_argument("--nccl", default="")
    trainer = Trainer(parser.parse_args())
    with tempfile.TemporaryDirectory() as folder:
        for run in plan_runs():
            print(json.dumps(trainer.run(run, folder)), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
