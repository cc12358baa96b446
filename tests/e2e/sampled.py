#!/usr/bin/env python3
"""softcuda that executes some blocks of each kernel (SOFTCUDA_EXECUTE=sample) takes as long as one that executes all, and moves
as much: breaks if what is foretold of the other blocks is wrong, or if most of them are executed.

usage: sampled.py BUILD [NAME...]

Each program is run at full size, at half of its need under sluice, and at half under unified memory alone.
"""
import os
import statistics
import sys

import ranks
from e2e import MODEL, PERCEPTRON, Bench, need, whole_blocks

TIME_WITHIN, BYTES_WITHIN = 0.01, 0.01
EXECUTED_AT_MOST = 0.2
MOVES = ("copy", "prefetch", "fault", "eviction", "remote")
WIDE = ["--layers", "2", "--width", "256", "--heads", "8", "--context", "64", "--batch", "2", "--seed", "7", "--steps", "6"]
CASES = {
    "gpt": ("gpt", WIDE),
    "gpt-sweep": ("gpt", WIDE + ["--optimizer", "sweep"]),
    "gpt-slab": ("gpt", WIDE + ["--allocator", "slab", "--accumulate", "2"]),
    "gpt-async": ("gpt", WIDE + ["--allocator", "async", "--evaluate-every", "2"]),
    "gpt-short": ("gpt", MODEL + ["--steps", "6"]),
    "mlp": ("mlp", PERCEPTRON + ["--steps", "6", "--graph", "none"]),
    "mlp-captured": ("mlp", PERCEPTRON + ["--steps", "6", "--graph", "captured"]),
    "ddp": ("ddp", ["0"]),
    "ddp-sharded": ("ddp", ["3"]),
}


class Figures:
    """Of one run: the steps' times, bytes moved by why, demand misses, and the share of blocks that were executed."""

    def __init__(self, devices, sluice, step_ms):
        self.seconds = max(device["simulated_seconds"] for device in devices)
        self.step_ms = statistics.median(step_ms[2:])
        self.moved = {why: sum(device[way][why] for device in devices for way in ("bytes_in", "bytes_out")) for why in MOVES}
        self.misses = sum(one["total"]["demand_misses"] for one in sluice)
        self.executed = sum(d.get("executed_blocks", 0) for d in devices) / max(1, sum(d.get("blocks", 0) for d in devices))
        self.peak = max(device["peak_device_bytes"] for device in devices)


def run(bench, program, arguments, sampled, sluice=None, device_bytes=None):
    environment = {"SOFTCUDA_EXECUTE": "sample", "SOFTCUDA_SAMPLE_OVER": "1", "SOFTCUDA_SAMPLE_INSTRUCTIONS": "0"} if sampled else {}
    if program == "ddp":
        device = {name[len("SOFTCUDA_"):]: value for name, value in environment.items()}
        if device_bytes:
            device["MEMORY"] = device_bytes
        done = ranks.Run(bench.build, 2, [*ranks.MODEL, "--steps", "6", "--zero", *arguments], sluice, device=device)
        step_ms = [float(line.split()[6]) for line in done.output.splitlines() if line.startswith("step")]
        devices, books = [device for device in done.devices if device["launches"]], done.sluice
    else:
        done = bench.run(arguments, device_bytes, sluice, environment=environment, program=program)
        step_ms, devices, books = done.step_ms, [done.device], [done.sluice] if done.sluice else []
    # Of what ranks send each other little is moved, so ddp finds at its end that their weights differ and ends with this status.
    ended = done.status == 0 or (sampled and program == "ddp" and done.status == 4)
    need(ended and len(step_ms) == 6, f"{program} runs", done)
    return Figures(devices, books, step_ms)


def near(one, other, within):
    return abs(one - other) <= within * other


def check(bench, name):
    program, arguments = CASES[name]
    whole = run(bench, program, arguments, False)
    half = whole_blocks(whole.peak // 2)
    wrong = []
    for what, sluice, device_bytes in (
            ("full", None, None), ("half", {"DEVICE_BUDGET": half, "CHUNK": "2M", "DAEMON": "inline"}, None),
            ("driver", {"POLICY": "driver", "CHUNK": "2M", "DAEMON": "inline"}, half)):
        truth = run(bench, program, arguments, False, sluice, device_bytes) if sluice else whole
        told = run(bench, program, arguments, True, sluice, device_bytes)
        print(f"{name}, {what}: {told.step_ms:.3f} ms a step, {truth.step_ms:.3f} in truth; {told.seconds * 1e3:.3f} ms in all, {truth.seconds * 1e3:.3f}; "
              f"{sum(told.moved.values()) >> 10} KiB moved, {sum(truth.moved.values()) >> 10}; {told.misses} misses, {truth.misses}; "
              f"{told.executed:.1%} executed", flush=True)
        if not (near(told.seconds, truth.seconds, TIME_WITHIN) and near(told.step_ms, truth.step_ms, TIME_WITHIN) and
                all(near(told.moved[why], truth.moved[why], BYTES_WITHIN) for why in MOVES) and
                abs(told.misses - truth.misses) <= max(2, 0.05 * truth.misses) and told.executed <= EXECUTED_AT_MOST):
            wrong.append(f"{name}, {what}")
    return wrong


def main():
    bench = Bench(sys.argv[1])
    wrong = [case for name in sys.argv[2:] or CASES for case in check(bench, name)]
    need(not wrong, f"times within {TIME_WITHIN}, bytes within {BYTES_WITHIN}, at most {EXECUTED_AT_MOST} executed: {wrong}")


if __name__ == "__main__":
    main()
