"""The programs that policies are compared on: how each one's trace is made, and what of it counts.

Synthetic traces come from sequence-gpt and sequence-irregular; recorded ones from workloads on softcuda with all of
their memory on the device, where the times of launches are simulated and the same everywhere, or, by sequence-recorded,
from a step of a program that is not here (data/*.step, by record_accesses.py).
"""
import json
import os
import subprocess
import sys

FOLDER = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(FOLDER, os.pardir, "bound"))
import sequences  # noqa: E402

MIB = 1 << 20
SHARES = (0.8, 0.66, 0.5, 0.33, 0.25)
LINKS_GBS = (52, 24)
PLAN_ATTEMPTS = "512"  # over so few steps, as many as runs of a thousand steps and more make
POLICIES = ("driver", "demand", "lru", "belady", "next", "plan")

# 150 MiB of parameters, gradients and moments, and activations beside them.
MODEL = ["--layers", "3", "--width", "512", "--heads", "8", "--context", "64", "--batch", "2", "--seed", "1"]


class Case:
    """`period`: iterations after which everything comes again; 0: it never does. `chunks`: those that budgets are
    shares of, where all of them have a frame of their own; else they are shares of what lives at once."""

    def __init__(self, name, program, arguments, period=1, chunks=None, chunk_bytes=2 * MIB):
        self.name, self.program, self.arguments = name, program, [str(a) for a in arguments]
        self.period, self.chunks, self.chunk_bytes = period, chunks, chunk_bytes
        self.made = program.startswith("sequence-")

    def counted(self, iterations):
        """How many of the last iterations figures are means of: a third, in whole periods; by then planning has learned
        what there is to learn."""
        third = (iterations + 2) // 3
        return min(iterations, -(-third // self.period) * self.period if self.period else 8)

    def in_sequence(self):
        """How many of the last iterations a bound is of."""
        return self.period or 8

    def budgets(self, need_bytes):
        count = self.chunks or need_bytes // self.chunk_bytes
        return {share: int(count * share) * self.chunk_bytes for share in SHARES}


def synthetic_gpt(name, chunks, *arguments, **more):
    return Case(name, "sequence-gpt", ["steps=16", *arguments], chunks=chunks, chunk_bytes=64 * MIB, **more)


def irregular(name):
    return Case(name, "sequence-irregular", [name, 20], period=0, chunk_bytes=64 * MIB)


def gpt(name, *arguments, steps=17, **more):
    return Case(name, "gpt", [*MODEL, "--steps", steps, *arguments], **more)


def recorded(name):
    return Case(name, "sequence-recorded", [os.path.join(FOLDER, "data", name + ".step"), 17])


CASES = [
    synthetic_gpt("fused-1", 576),
    synthetic_gpt("fused-4", 576, "accumulate=4"),
    synthetic_gpt("foreach-1", 672, "foreach=1"),
    synthetic_gpt("foreach-4", 672, "foreach=1", "accumulate=4"),
    synthetic_gpt("evaluation", 576, "evaluate=3", period=3),
    gpt("gpt-fused-1"),
    gpt("gpt-fused-4", "--accumulate", 4),
    gpt("gpt-sweep-1", "--optimizer", "sweep"),
    gpt("gpt-sweep-4", "--optimizer", "sweep", "--accumulate", 4),
    gpt("gpt-evaluation", "--evaluate-every", 3, steps=22, period=3),
    Case("mlp", "mlp", ["--layers", 12, "--width", 1024, "--batch", 64, "--steps", 17, "--seed", 1]),
    recorded("llmc"),
    irregular("moe"),
    irregular("streams"),
    irregular("chance"),
    synthetic_gpt("lengths", 576, "vary=1", period=0),
    synthetic_gpt("skipped", 576, "skip=0.3", period=0),
]
CASES = {case.name: case for case in CASES}
UNPREDICTABLE = ("moe", "streams", "chance", "lengths", "skipped")


class Bench:
    """Makes traces and has `sluice plan` replay them."""

    def __init__(self, build, driver="ideal"):
        self.build, self.driver = os.path.abspath(build), driver
        self.source = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
        self.folder = os.path.join(self.build, "benchmarks")
        self.sluice = os.path.join(self.build, "tools", "sluice")
        os.makedirs(self.folder, exist_ok=True)

    def trace(self, case):
        """Its file, made anew unless it is younger than all that goes into it."""
        folder = "tests/bench" if case.made else "workloads"
        program = os.path.join(self.build, folder, case.program)
        path, note = (os.path.join(self.folder, f"{case.name}.{kind}") for kind in ("slt", "arguments"))
        sources = [program, os.path.join(self.build, "shim", "libsluice.so"), *filter(os.path.isfile, case.arguments)]
        if os.path.exists(note) and open(note, encoding="utf-8").read() == str(case.arguments) and \
                os.path.getmtime(note) > max(map(os.path.getmtime, sources)):
            return path
        if case.made:
            command, env = [program, path, *case.arguments], None
        else:
            data = os.path.join(self.source, "workloads", "data", "gpl-3.txt")
            command = [program, *(["--data", data] if case.program == "gpt" else []), *case.arguments]
            env = {k: v for k, v in os.environ.items() if not k.startswith(("SLUICE_", "SOFTCUDA_"))}
            env.update(LD_LIBRARY_PATH=os.path.join(self.build, "subprojects", "softcuda", "lib"),
                       LD_PRELOAD=os.path.join(self.build, "shim", "libsluice.so"), SOFTCUDA_PROFILE="rtx4090",
                       SLUICE_POLICY="off", SLUICE_TRACE=path, SLUICE_TRACE_SAMPLE="1", SLUICE_TRACE_FULL="wait")
        subprocess.run(command, env=env, check=True, stdout=subprocess.DEVNULL)
        with open(note, "w", encoding="utf-8") as file:
            file.write(str(case.arguments))
        return path

    def plan(self, case, *arguments):
        command = [self.sluice, "plan", "--json", "--no-least", "--driver", self.driver, "--plan-attempts", PLAN_ATTEMPTS,
                   "--chunk", str(case.chunk_bytes), *arguments, self.trace(case)]
        return json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout)["predictions"]

    def budgets(self, case):
        return case.budgets(self.plan(case, "--budget", "1")[0]["need_bytes"])

    def replay(self, case, links_gbs):
        """By (share, GB/s, policy): predictions."""
        budgets = self.budgets(case)
        predictions = self.plan(case, "--budget", ",".join(map(str, budgets.values())), "--policy", ",".join(POLICIES),
                                "--link-gbs", ",".join(map(str, links_gbs)))
        shares = {size: share for share, size in budgets.items()}
        return {(shares[one["budget_bytes"]], one["link_in"] // 10**9, one["policy"]): one for one in predictions}

    def sequence(self, case, budget_bytes, link_gbs):
        """What the lower bound is of, in chunks as planning lays them out there: every access counts as a write, as in the
        core."""
        if case.name in sequences.SYNTHETIC:
            return sequences.every_access_writes(sequences.synthetic(case.name))
        path = os.path.join(self.folder, case.name + ".json")
        self.plan(case, "--budget", str(budget_bytes), "--link-gbs", str(link_gbs), "--plan-attempts", "8",
                  "--iterations", str(case.in_sequence()), "--sequence", path)
        with open(path, encoding="utf-8") as file:
            sequence = json.load(file)
        sequence.update(name=case.name, cyclic=bool(case.period))
        return sequences.every_access_writes(sequence)
