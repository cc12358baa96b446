#!/usr/bin/env python3
"""End-to-end tests with several ranks: ddp, unmodified, on softcuda's devices and its NCCL, without and with sluice. Every
printed loss and the weights are those of a run without, and no rank's device held more than its budget.

usage: ranks.py BUILD TEST [RANKS [ZERO...]]
"""
import glob
import json
import os
import re
import subprocess
import sys
import tempfile

from e2e import MIB, need, whole_blocks

MODEL = ["--layers", "3", "--width", "256", "--heads", "4", "--context", "32", "--batch", "2", "--seed", "7", "--chunk-mib", "2"]
# softcuda counts what modules hold as well, which no budget is for.
MODULES_AT_MOST = 2 * MIB
# The kind of memory, what share of the need is there, who moves, and in which order the device works.
CASES = [("malloc", 2, "thread", "late"), ("async", 2, "inline", "late"), ("malloc", 3, "inline", "random:1"),
         ("async", 3, "thread", "random:2"), ("malloc", 3, "thread", "random:3")]


class Run:
    """A finished run: how it ended, what it printed, and the books of each rank's device and of sluice."""

    def __init__(self, build, ranks, options, sluice=None, schedule="late"):
        with tempfile.TemporaryDirectory() as folder:
            env = {k: v for k, v in os.environ.items() if not k.startswith(("SLUICE_", "SOFTCUDA_"))}
            env.update({"LD_LIBRARY_PATH": os.path.join(build, "subprojects", "softcuda", "lib"), "SOFTCUDA_DEVICES": str(ranks),
                        "SOFTCUDA_SCHEDULE": schedule, "SOFTCUDA_STATS": os.path.join(folder, "device.%p")})
            preload = [os.environ.get("E2E_PRELOAD")]  # a sanitizer's runtime
            if sluice is not None:
                preload.append(os.path.join(build, "shim", "libsluice.so"))
                env.update({"SLUICE_" + name: str(value) for name, value in sluice.items()})
                env["SLUICE_STATS"] = os.path.join(folder, "sluice.%p")
            env["LD_PRELOAD"] = " ".join(filter(None, preload))
            data = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "workloads", "data", "gpl-3.txt")
            command = [os.path.join(build, "workloads", "ddp"), "--data", data, "--ranks", str(ranks), *options]
            done = subprocess.run(command, env=env, capture_output=True, text=True, timeout=240, check=False)
            self.status, self.output, self.errors = done.returncode, done.stdout, done.stderr
            self.devices, self.sluice = (
                [json.load(open(path, encoding="utf-8")) for path in glob.glob(os.path.join(folder, kind))]
                for kind in ("device.*", "sluice.*"))
        self.device = self.devices  # where a failure is shown
        self.results = re.findall(r" loss \S+ (\S+)|(weights_hash \S+)", self.output)
        self.peaks = [device["peak_device_bytes"] for device in self.devices if device["launches"]]


def check(build, ranks, zero, case):
    allocator, share, daemon, schedule = case
    options = [*MODEL, "--steps", "6", "--zero", zero, "--alloc", allocator]
    whole = Run(build, ranks, options)
    need(whole.status == 0 and len(whole.results) == 7 and len(whole.peaks) == ranks, "it runs without sluice", whole)
    budget = whole_blocks(max(whole.peaks) // share)
    less = Run(build, ranks, options, {"DEVICE_BUDGET": budget, "CHUNK": "2M", "DAEMON": daemon}, schedule)
    name = f"{ranks} ranks, --zero {zero}, {case}, {budget >> 20} of {max(whole.peaks) >> 20} MiB"
    need(less.status == 0, f"{name}: it runs", less)
    need(less.results == whole.results, f"{name}: the same bits", less)
    need(max(less.peaks) <= budget + MODULES_AT_MOST, f"{name}: the budget is kept on every device: {less.peaks}", less)
    need(all(sluice["total"]["launches"] for sluice in less.sluice) and len(less.sluice) == ranks, f"{name}: all are managed", less)
    print(name, flush=True)


def sharded(build, ranks="2", *zeros):
    """Whatever is sharded."""
    for number, zero in enumerate(zeros or "0123"):
        check(build, int(ranks), zero, CASES[(number + int(ranks)) % len(CASES)])


def every(build, ranks="2", *zeros):
    for zero in zeros or "0123":
        for case in CASES:
            check(build, int(ranks), zero, case)


if __name__ == "__main__":
    {"sharded": sharded, "every": every}[sys.argv[2]](os.path.abspath(sys.argv[1]), *sys.argv[3:])
