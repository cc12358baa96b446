#!/usr/bin/env python3
"""Follows the advice of `sluice advise` and says what it brought.

usage: advice.py BUILD [--only NAME]... [--frameworks] [--json OUT]

Each program is recorded on softcuda, advised on, and run again with each line of advice, without a recording. Times are those of
a step on the device's simulated clock, from one update of the weights to the next, in the median of the last five. Advice that
is simulated is right if the step takes within 10 % of what it said (25 % with pinned memory); a bound if the step is not faster than that; and neither is right
if the step takes longer than before.

--frameworks: programs of PyTorch and tinygrad (advice_frameworks.py) in place of those of workloads/. Their runs are kept in
BUILD/frameworks/runs and not repeated with the same build.
"""
import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "e2e"))
import advice_frameworks
from e2e import MODEL, PERCEPTRON, Bench, need, reference, whole_blocks

WITHIN, NOT_FASTER = 0.1, 0.02
WITHIN_PINNED = 0.25  # plans do not know that launches which use pinned memory slow the copies beside them (e2e/predicted.py)
LINK_GBS = 20
DEVICE = {"SOFTCUDA_LINK_IN": str(LINK_GBS), "SOFTCUDA_LINK_OUT": str(LINK_GBS),
          "SOFTCUDA_LINK_BOTH": str(LINK_GBS), "SOFTCUDA_MEMORY": "1G"}
UPDATES = ("adamw", "sweep", "adam", "multi_tensor_apply")
GPT, MLP = MODEL + ["--steps", "14"], PERCEPTRON + ["--steps", "16", "--streams", "1"]
LARGE_BATCH = ["--layers", "3", "--width", "256", "--heads", "8", "--context", "64", "--batch", "4", "--seed", "7", "--steps", "14"]
SMALL = ["--layers", "4", "--width", "128", "--heads", "4", "--context", "64", "--batch", "4", "--seed", "7", "--steps", "14"]


class Case:
    """A program with its settings. `share` of its need is the budget; `follow`: the arguments that carry out advice about the
    program, by its kind, and how many of today's steps one of those is. `against`: the arguments of another run, of which
    `--against` says how long it takes with the budget of this one, and how many of today's steps one of those is."""

    def __init__(self, name, program, arguments, share, settings=None, follow=None, against=None):
        self.name, self.program, self.arguments, self.share = name, program, arguments, share
        self.settings = dict({"CHUNK": "2M"}, **(settings or {}))
        self.follow, self.against = follow or {}, against


def sweeping(to, *more):
    return [*MODEL, "--steps", "14", "--optimizer", to, *more]


CASES = [
    Case("gpt", "gpt", GPT, 0.5, follow={"batch": lambda times: (GPT + ["--accumulate", str(times)], times)}),
    Case("gpt, async", "gpt", GPT + ["--allocator", "async"], 0.66),
    Case("gpt, sweeping optimizer", "gpt", sweeping("sweep", "--allocator", "async"), 0.66,
         follow={"optimizer": lambda _: (sweeping("fused", "--allocator", "async"), 1)}),
    Case("gpt, sweeping, small", "gpt", SMALL + ["--optimizer", "sweep"], 0.75, follow={
        "optimizer": lambda _: (SMALL + ["--optimizer", "fused"], 1),
        "batch": lambda times: (SMALL + ["--optimizer", "sweep", "--accumulate", str(times)], times)},
         against=(SMALL + ["--optimizer", "fused"], 1)),
    Case("gpt, activations", "gpt", LARGE_BATCH + ["--allocator", "async"], 0.6, {"CHUNK": "4M"}),
    Case("gpt, large chunks", "gpt", GPT, 0.5, {"CHUNK": "8M"}),
    Case("gpt, lru", "gpt", GPT, 0.5, {"POLICY": "lru"}),
    Case("gpt, 0.95", "gpt", GPT, 0.95),
    Case("mlp", "mlp", MLP, 0.5),
    Case("mlp, large chunks", "mlp", MLP, 0.6, {"CHUNK": "4M"}),
    Case("mlp, demand", "mlp", MLP, 0.5, {"POLICY": "demand"}),
    Case("mlp, captured graph", "mlp", MLP + ["--graph", "captured"], 0.5),
    Case("mlp, three streams", "mlp", PERCEPTRON + ["--steps", "16"], 0.5),  # whose launches the replay orders: it is too slow
]


def step_ns(timeline):
    """The median time from the end of one update to that of the next."""
    with open(timeline, encoding="utf-8") as file:
        kernels = [operation for operation in map(json.loads, file) if operation["kind"] == "kernel"]
    ends = [a["end_ns"] for a, b in zip(kernels, kernels[1:] + [None]) if is_update(a) and not (b and is_update(b))]
    return statistics.median(b - a for a, b in zip(ends[-6:], ends[-5:]))


def is_update(kernel):
    return any(name in kernel["name"] for name in UPDATES)


class Workload:
    """A program of workloads/, on softcuda."""

    def __init__(self, bench, folder, case):
        self.bench, self.folder, self.case = bench, folder, case
        whole = reference(bench, case.arguments, case.program)
        self.whole, self.settings = whole, dict(case.settings, DEVICE_BUDGET=whole_blocks(int(whole.peak * case.share)), DAEMON="inline")

    def run(self, settings, arguments=None):
        """The time of a step. What the program computes must not change."""
        timeline = os.path.join(self.folder, "timeline")
        run = self.bench.run(arguments or self.case.arguments, sluice=settings, program=self.case.program,
                             environment=dict(DEVICE, SOFTCUDA_TIMELINE=timeline))
        need(run.status == 0 and (arguments or run.same_bits(self.whole)), "it runs, with the same bits", run)
        return step_ns(timeline)

    def record(self, tracing):
        """The path of a trace of the case, and the time of a step without a recording."""
        return self.record_run("run.slt", dict(self.settings, **tracing)), self.run(self.settings)

    def record_other(self, tracing):
        """With all of the device's memory."""
        return self.record_run("other.slt", dict(tracing, CHUNK=self.settings["CHUNK"]), self.case.against[0])

    def record_run(self, name, settings, arguments=None):
        path = os.path.join(self.folder, name)
        self.run(dict(settings, TRACE=path), arguments)
        return path


def advise(build, path, *other):
    command = [os.path.join(build, "tools", "sluice"), "advise", "--json", "--driver", "580", "--link-gbs", str(LINK_GBS), *other, path]
    return json.loads(subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True, timeout=1200).stdout)


def settings_of(line):
    """SLUICE_CHUNK=4M SLUICE_POLICY=plan, or None: a change to the program."""
    words = [word.split("=", 1) for word in line.split()]
    if not words or not all(len(word) == 2 and word[0].startswith("SLUICE_") for word in words):
        return None
    return {name[len("SLUICE_"):]: value for name, value in words}


def times_of(item):
    """The number of batches in the text of advice about batches."""
    return next((int(word) for word in item["line"].split() if word.isdigit()), 1)


def follow(workload, item, before_ns):
    """A row of the table; None: this advice cannot be followed here."""
    settings, case = settings_of(item["line"]), workload.case
    if settings is not None:
        after_ns = workload.run(dict(workload.settings, **settings))
    elif item["kind"] == "other":
        arguments, steps = case.against
        after_ns = workload.run(workload.settings, arguments) / steps
    elif item["kind"] in case.follow:
        arguments, steps = case.follow[item["kind"]](times_of(item))
        after_ns = workload.run(workload.settings, arguments) / steps
    else:
        return None
    said_ns, within = item["step_after_ns"], WITHIN_PINNED if "SLUICE_BACKING" in item["line"] else WITHIN
    right = after_ns >= (1 - NOT_FASTER) * said_ns if item["basis"] == "bound" else abs(after_ns - said_ns) <= within * after_ns
    if item["kind"] not in ("budget-smaller", "other"):
        right = right and after_ns <= (1 + NOT_FASTER) * before_ns
    return {"program": case.name, "kind": item["kind"], "basis": item["basis"], "line": item["line"], "said_before_ns": item["step_before_ns"],
            "said_after_ns": said_ns, "before_ns": before_ns, "after_ns": after_ns, "right": right}


def examine(build, workload):
    tracing = {"TRACE_SAMPLE": 16, "TRACE_FULL": "wait"}
    trace, before_ns = workload.record(tracing)
    other = ["--against", workload.record_other(tracing)] if workload.case.against else []
    rows = []
    for item in advise(build, trace, *other)["advice"]:
        row = follow(workload, item, before_ns) if item["basis"] != "fact" else None
        if row:
            print_row(row)
            rows.append(row)
    if not rows:
        print(f"| {workload.case.name} | none | | {before_ns / 1e6:.2f} | | | | |", flush=True)
    return rows


def print_row(row):
    def percent(before, after):
        return f"{100 * (row[after] / row[before] - 1):+.1f} %"
    said = ("at most " if row["basis"] == "bound" else "") + percent("said_before_ns", "said_after_ns")
    print(f"| {row['program']} | {row['kind']} | `{row['line']}` | {row['before_ns'] / 1e6:.2f} | {row['said_after_ns'] / 1e6:.2f} | "
          f"{row['after_ns'] / 1e6:.2f} | {said} | {percent('before_ns', 'after_ns')}{'' if row['right'] else ', wrong'} |", flush=True)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("build")
    parser.add_argument("--only", action="append")
    parser.add_argument("--frameworks", action="store_true")
    parser.add_argument("--json")
    arguments = parser.parse_args()
    bench, rows = Bench(arguments.build), []
    print("| program | advice | line | step, ms | said | then | gain, said | gain |\n| --- | --- | --- | ---: | ---: | ---: | ---: | ---: |", flush=True)
    with tempfile.TemporaryDirectory() as folder:
        for case in CASES if not arguments.frameworks else advice_frameworks.CASES:
            if arguments.only and case.name not in arguments.only:
                continue
            if not arguments.frameworks:
                rows += examine(arguments.build, Workload(bench, folder, case))
            elif advice_frameworks.available(case):
                rows += examine(arguments.build, advice_frameworks.FrameworkWorkload(arguments.build, DEVICE, case))
    right = sum(row["right"] for row in rows)
    print(f"\n{right} of {len(rows)} were right, of {len({row['kind'] for row in rows})} kinds, on {len({row['program'] for row in rows})} programs.")
    if arguments.json:
        with open(arguments.json, "w", encoding="utf-8") as file:
            json.dump(rows, file, indent=1)
    return right != len(rows)


if __name__ == "__main__":
    sys.exit(main())
