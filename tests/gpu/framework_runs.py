"""Trains the programs of tests/frameworks with the machine's PyTorch, Hugging Face, Triton and JAX, without sluice and
with it at parts of what they need, and compares every bit and the time of a step. No network is used.

Usage: framework_runs.py BUILD --size full|quick|software --free-bytes N [--limit SECONDS] [--plan all|first|again]
                         [--only PROGRAM[,PROGRAM]] [--change NAME=VALUE]... [--stats FOLDER]

--free-bytes: of the device's memory. --plan: which runs, `first`: the GPT at parts of its need and PyTorch's own offloading;
`again`: the GPT with and without each change, a variable of sluice's. --stats: where sluice's statistics are kept.

Prints a JSON object a line, as torch_runs.py does, as soon as a run has ended: what is worth most comes first. A program's
first run is the control of its others. Programs need no more than a third of what the device and the host have free.
"""
import argparse
import collections
import json
import os
import subprocess
import sys
import tempfile
import time

from gpt import parse_output, read_statistics
from machine import MODULES, packages_of, python, spare_bytes

HERE = os.path.dirname(os.path.abspath(__file__))
PROGRAMS = next(folder for folder in (os.path.join(HERE, "programs"), os.path.join(HERE, "..", "frameworks", "programs"))
                if os.path.isdir(folder))
RUN_LIMIT_SECONDS = 100
KEPT_SECONDS = 25
GIB = 1 << 30
LEAST_BUDGET = 8 << 20

# `modules`: what it imports. `arguments`: by size; {layers} is chosen so that the need fits.
Program = collections.namedtuple("Program", "name file modules arguments environment", defaults=({},))
# `share` of the control's peak as budget; None runs without sluice.
Run = collections.namedtuple("Run", "program name share environment", defaults=({},))


def gpt(name, *more):
    shared = {"full": "--layers {layers} --width 2048 --heads 16 --context 512 --batch 4 --steps 12",
              "quick": "--layers {layers} --width 1024 --heads 16 --context 256 --batch 4 --steps 12",
              "software": "--layers 2 --width 256 --heads 2 --context 16 --batch 2 --steps 4"}
    return Program(name, "gpt.py", ["torch"], {size: [*text.split(), *more] for size, text in shared.items()})


def others(name, file, modules, full, software, environment=None):
    arguments = {"full": full.split(), "quick": full.split(), "software": software.split()}
    return Program(name, file, modules, arguments, environment or {})


GPT = "--layers {layers} --width 1024 --context 256 --batch 8 --steps 12"
TINY = "--layers 1 --width 64 --context 16 --batch 2 --steps 4"
# JAX would take three quarters of the device before it starts.
JAX = {"XLA_PYTHON_CLIENT_PREALLOCATE": "false", "XLA_FLAGS": "--xla_gpu_deterministic_ops=true"}
PROGRAM = {program.name: program for program in (
    gpt("gpt", "--optimizer", "adamw-fused"),
    gpt("gpt-foreach"),
    gpt("gpt-bfloat16", "--autocast"),
    gpt("gpt-checkpointed", "--checkpoint", "--dropout", "0.1"),
    gpt("gpt-accumulated", "--accumulate", "2", "--evaluate-every", "3"),
    gpt("gpt-workers", "--workers", "2"),
    Program("offloaded", "offloaded.py", ["torch"], gpt("gpt").arguments),
    others("trainer", "hugging_face.py", ["torch", "transformers", "accelerate"], GPT, TINY),
    others("compiled", "compiled.py", ["torch", "triton"], GPT, TINY),
    others("jax", "jax_perceptron.py", ["jax"], "--layers {layers} --width 8192 --batch 2048 --steps 12",
           "--layers 2 --width 32 --batch 4", JAX),
    others("convolutional", "convolutional.py", ["torch"], "--batch 64 --width 256 --size 32 --steps 12",
           "--batch 2 --width 8 --size 16 --steps 3"),
    others("recurrent", "recurrent.py", ["torch"], "--batch 64 --width 2048 --context 64 --steps 12",
           "--batch 2 --width 32 --layers 1 --context 4 --steps 3"),
    others("cuda-graph", "cuda_graph.py", ["torch"], "--batch 512 --width 4096 --layers 16 --steps 12",
           "--batch 4 --width 64 --layers 2 --steps 4"))}
# At these sizes a layer with weights, gradients, moments and activations needs so much.
LAYER_BYTES = {"full": {"gpt": GIB, "jax": 5 << 28}, "quick": {"gpt": GIB >> 2, "jax": 5 << 28}}
MOST_LAYERS = {"full": 12, "quick": 8}

NATIVE = {"PYTORCH_CUDA_ALLOC_CONF": "backend:native"}
ASYNC = {"PYTORCH_CUDA_ALLOC_CONF": "backend:cudaMallocAsync"}
PLAIN = {"PYTORCH_NO_CUDA_MEMORY_CACHING": "1"}
EXPANDABLE = {"PYTORCH_CUDA_ALLOC_CONF": "expandable_segments:True"}
PLATFORM = {"XLA_PYTHON_CLIENT_ALLOCATOR": "platform"}
CONTROL, HALF, QUARTER = ("control", None), ("1/2", 1 / 2), ("1/4", 1 / 4)


def every(programs, *runs):
    return [Run(program, *run) for program in programs for run in runs]


RUNS = [*every(["gpt"], CONTROL, HALF, ("1/3", 1 / 3), QUARTER, ("control again", None)),
        Run("offloaded", "FSDP2 on the CPU", None),
        Run("gpt", "native, 1/2", 1 / 2, NATIVE), Run("gpt", "cudaMallocAsync, control", None, ASYNC),
        *every(["trainer", "compiled", "jax"], CONTROL, HALF, QUARTER),
        Run("jax", "platform, control", None, PLATFORM), Run("jax", "platform, 1/2", 1 / 2, PLATFORM),
        *every(["gpt-foreach"], CONTROL, HALF),
        Run("gpt", "expandable, 1/2", 1 / 2, EXPANDABLE), Run("gpt", "no caching, 1/2", 1 / 2, PLAIN),
        *every(["gpt-bfloat16", "gpt-checkpointed", "cuda-graph", "recurrent", "convolutional", "gpt-accumulated",
                "gpt-workers"], CONTROL, HALF)]


def plan_runs(plan, changes):
    if plan == "all":
        return RUNS
    if plan == "first":
        return RUNS[:4] + [run for run in RUNS if run.program == "offloaded"]
    parts = [HALF, ("1/3", 1 / 3)]
    settings = [("", {})] + [(f", {change}", dict([change.split("=", 1)])) for change in changes]
    return [Run("gpt", *CONTROL), *(Run("gpt", name + words, share, environment) for name, share in parts
                                    for words, environment in settings)]


def layers(size, name, room):
    """As many as fit into a third of `room`, or as are large enough."""
    if size == "software":
        return 0
    of = LAYER_BYTES[size]["jax" if name == "jax" else "gpt"]
    return max(2, min(MOST_LAYERS[size], room // 3 // of))


def describe(run):
    return {"part": "framework", "program": run.program, "name": f"{run.program}, {run.name}"}


class Trainer:
    def __init__(self, options, room):
        self.options, self.room, self.controls, self.runs = options, room, {}, 0

    def command(self, program, budget, stats):
        count = layers(self.options.size, program.name, self.room)
        words = [word.format(layers=count) for word in program.arguments[self.options.size]]
        command = [python(), os.path.join(PROGRAMS, program.file), *words]
        if budget is None:
            return command
        chunk = ["--chunk", "2M"] if self.options.size == "software" else []
        return [os.path.join(self.options.build, "tools", "sluice"), "run", "--budget", str(budget), *chunk, "--stats", stats,
                "--", *command]

    def run_once(self, run, limit):
        """(record, losses and weights)"""
        program, control = PROGRAM[run.program], self.controls.get(run.program)
        record = {**describe(run), "budget_of_peak": run.share}
        budget = None if run.share is None else max(LEAST_BUDGET, int(control[0]["peak_bytes"] * run.share))
        if budget:
            record["budget_bytes"] = budget
        self.runs += 1
        with tempfile.TemporaryDirectory() as folder:
            stats = os.path.join(self.options.stats or folder, f"stats-{self.runs}-{run.program}.json")
            start = time.monotonic()
            try:
                done = subprocess.run(self.command(program, budget, stats), capture_output=True, text=True, errors="replace",
                                      env={**os.environ, **program.environment, **run.environment}, timeout=limit)
            except subprocess.TimeoutExpired:
                if limit < RUN_LIMIT_SECONDS:
                    return {**record, "status": "not run", "said": f"ended after {limit:.0f} s: not enough time left"}, None
                return {**record, "status": "stopped", "said": f"stopped after {limit:.0f} s"}, None
            record.update(status=done.returncode, wall_seconds=round(time.monotonic() - start, 3))
            if budget:
                record["sluice"] = read_statistics(stats)
        if done.stderr:
            record["said"] = "\n".join(done.stderr.splitlines()[-5:])
        found = parse_output(done.stdout)
        record["peak_bytes"] = int(found.get("peak_bytes", 0))
        if found["step_ms"]:
            later = sorted(found["step_ms"][len(found["step_ms"]) // 2:])
            record.update(first_step_ms=found["step_ms"][0], step_ms=later[len(later) // 2])
            if control and control[0].get("step_ms"):
                record["of_control"] = round(record["step_ms"] / control[0]["step_ms"], 3)
        record.update(losses=found["losses"], weights_hash=found.get("weights_hash"))
        return record, (found["losses"], found.get("weights_hash"))

    def take(self, run, limit):
        """The run's record, compared with its program's control. Where they differ, another control says whether the program
        always gives the same bits."""
        record, got = self.run_once(run, limit)
        if run.program not in self.controls:
            if got and got[1]:
                self.controls[run.program] = record, got
            return record
        if got and got[1]:
            record["identical"] = got == self.controls[run.program][1]
            if not record["identical"]:
                again = self.run_once(Run(run.program, "control again", None, {}), limit)[1]
                record["deterministic"] = again == self.controls[run.program][1]
                if not record["deterministic"]:
                    record["identical"] = None
        return record

    def obstacle(self, run, found, left):
        """Why it is not run."""
        missing = [name for name in PROGRAM[run.program].modules if not found[name]]
        if missing:
            return f"no {', '.join(missing)} here"
        if run.share is not None and not self.controls.get(run.program, ({},))[0].get("peak_bytes"):
            return "no control"
        if run.share is not None and self.controls[run.program][0]["peak_bytes"] > self.room:
            return "needs more than the device has free"
        return "no time left" if left <= 0 else None


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("build")
    parser.add_argument("--size", choices=("full", "quick", "software"), required=True)
    parser.add_argument("--free-bytes", type=int, required=True)
    parser.add_argument("--limit", type=float, default=540)
    parser.add_argument("--plan", choices=("all", "first", "again"), default="all")
    parser.add_argument("--change", action="append", default=[])
    parser.add_argument("--only", type=lambda text: text.split(","))
    parser.add_argument("--stats")
    options = parser.parse_args()
    end = time.monotonic() + options.limit
    installed = packages_of(python())
    found = {name: installed.get(name) for name in MODULES}
    room = min(options.free_bytes, spare_bytes())
    print(json.dumps({"part": "framework_versions", **found, "device_free_bytes": options.free_bytes}), flush=True)
    trainer = Trainer(options, room)
    runs = [run for run in plan_runs(options.plan, options.change) if not options.only or run.program in options.only]
    # Of a short plan every run gets its time; a long one ends when the time is up.
    kept = KEPT_SECONDS if options.plan != "all" else 0
    for number, run in enumerate(runs, 1):
        left = end - time.monotonic()
        share = max(left - kept * (len(runs) - number), left / (len(runs) - number + 1))
        why = trainer.obstacle(run, found, left) if options.free_bytes else "no device whose memory is known"
        record = {**describe(run), "status": "not run", "said": why} if why else trainer.take(run, min(share, RUN_LIMIT_SECONDS))
        print(json.dumps(record), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
