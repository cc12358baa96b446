"""Trains train_torch.py with the machine's PyTorch, without sluice and with it, and compares every bit.

Usage: torch_runs.py BUILD --size full|quick|software [--limit SECONDS]

Prints a JSON object a line, as gpt.py does: the first run is the control of all; what the allocator does is the run's name. Without
PyTorch there is one line that says so.
"""
import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass, field

from gpt import parse_output, read_statistics
from machine import own_packages

HERE = os.path.dirname(os.path.abspath(__file__))
RUN_LIMIT_SECONDS = 60
SIZES = {  # `full` needs about 3 GiB
    "full": {"layers": 12, "width": 1024, "heads": 16, "context": 256, "batch": 4, "steps": 20},
    "quick": {"layers": 4, "width": 512, "heads": 8, "context": 128, "batch": 4, "steps": 20},
    "software": {"layers": 1, "width": 32, "heads": 2, "context": 16, "batch": 2, "steps": 3},
}
ASYNC = {"PYTORCH_CUDA_ALLOC_CONF": "backend:cudaMallocAsync"}
PLAIN = {"PYTORCH_NO_CUDA_MEMORY_CACHING": "1"}


@dataclass(frozen=True)
class Run:
    """`budget` is a part of the control's peak; None runs without sluice."""
    name: str
    environment: dict = field(default_factory=dict)
    budget: float = None


RUNS = (Run("control"), Run("control again"), Run("cudaMallocAsync, control", ASYNC),
        Run("caching, 1/2", {}, 1 / 2), Run("cudaMallocAsync, 1/2", ASYNC, 1 / 2), Run("no caching, 1/2", PLAIN, 1 / 2),
        Run("cudaMallocAsync, 1/3", ASYNC, 1 / 3))


def run_once(options, run, control, limit):
    """(record, losses and weights)"""
    words = [word for name, value in SIZES[options.size].items() for word in (f"--{name}", str(value))]
    command = [sys.executable, os.path.join(HERE, "train_torch.py"), *words]
    record = {"part": "torch", "name": run.name, "budget_of_peak": run.budget}
    with tempfile.TemporaryDirectory() as folder:
        stats = os.path.join(folder, "stats.json")
        if run.budget is not None:
            record["budget_bytes"] = int(control["peak_bytes"] * run.budget)
            command = [os.path.join(options.build, "tools", "sluice"), "run", "--budget", str(record["budget_bytes"]),
                       "--stats", stats, "--", *command]
        start = time.monotonic()
        try:
            done = subprocess.run(command, env={**os.environ, **run.environment}, capture_output=True, text=True,
                                  errors="replace", timeout=limit)
        except subprocess.TimeoutExpired:
            return {**record, "status": "stopped", "said": f"stopped after {limit:.0f} s"}, None
        record.update(status=done.returncode, wall_seconds=round(time.monotonic() - start, 3))
        if done.stderr:
            record["said"] = "\n".join(done.stderr.splitlines()[-5:])
        if run.budget is not None:
            record["sluice"] = read_statistics(stats)
    found = parse_output(done.stdout)
    record["peak_bytes"] = int(found.get("peak_bytes", 0))
    if found["step_ms"]:
        later = sorted(found["step_ms"][len(found["step_ms"]) // 2:])
        record.update(first_step_ms=found["step_ms"][0], step_ms=later[len(later) // 2])
    record.update(losses=found["losses"], weights_hash=found.get("weights_hash"))
    return record, (found["losses"], found.get("weights_hash"))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("build")
    parser.add_argument("--size", choices=SIZES, required=True)
    parser.add_argument("--limit", type=float, default=90)
    options = parser.parse_args()
    end = time.monotonic() + options.limit
    version = own_packages().get("torch")
    print(json.dumps({"part": "torch_version", "version": version}), flush=True)
    control, result = None, None
    for run in RUNS if version else ():
        left = end - time.monotonic()
        if left <= 0 or (run.budget is not None and not (control and control["peak_bytes"])):
            record = {"part": "torch", "name": run.name, "status": "not run",
                      "said": "no time left" if left <= 0 else "no control"}
        else:
            record, got = run_once(options, run, control, min(left, RUN_LIMIT_SECONDS))
            if control is None:
                control, result = record, got
            elif got and got[1]:
                record["identical"] = got == result
        print(json.dumps(record), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
