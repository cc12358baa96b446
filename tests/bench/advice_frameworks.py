"""The programs of tests/frameworks that advice.py follows, each with PyTorch's own allocator or tinygrad's."""
import os
import statistics
import sys

TESTS = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path.append(os.path.join(TESTS, "frameworks"))
import cases
import debian
import figures
import frameworks
import running

MIB = 1 << 20
STEADY_STEPS = 5


# Few steps of small batches: softcuda computes every element.
SMALL_GPT = ("--layers", "3", "--batch", "2", "--context", "32")
PROGRAMS = {program.name: program for program in (
    cases.gpt("foreach", "--optimizer", "adamw", *SMALL_GPT, steps=10),
    cases.gpt("fused", "--optimizer", "adamw-fused", *SMALL_GPT, steps=10),
    cases.gpt("batch-8", "--optimizer", "adamw", *SMALL_GPT, "--batch", "8", steps=10),
    cases.gpt("sgd", "--optimizer", "sgd", *SMALL_GPT, steps=10),
    cases.Program("pytorch", "convolutional", "convolutional.py", ("--batch", "2"), 10),
    cases.Program("pytorch", "recurrent", "recurrent.py", ("--batch", "2"), 10),
    cases.tinygrad("jit", "--jit", "--layers", "1", jit="2", steps=10),
    cases.tinygrad("eager", "--layers", "1", steps=8),
)}


class FrameworkCase:
    """`share` of the device memory that a program takes is the budget. `follow`, `against`: as in advice.py, with the name of
    another program in place of arguments."""

    def __init__(self, program, share, settings=None, follow=None, against=None):
        self.program = PROGRAMS[program]
        self.name = program + "".join(f", {key.lower()} {value}" for key, value in (settings or {}).items())
        self.share, self.follow, self.against = share, follow or {}, against
        self.settings = dict({"CHUNK": "2M"}, **(settings or {}))


CASES = [
    FrameworkCase("gpt-foreach", 0.66, follow={"optimizer": lambda _: ("gpt-fused", 1)}, against=("gpt-batch-8", 4)),
    FrameworkCase("gpt-fused", 0.5, against=("gpt-foreach", 1)),
    FrameworkCase("gpt-sgd", 0.5, {"POLICY": "lru"}),
    FrameworkCase("convolutional", 0.5),
    FrameworkCase("recurrent", 0.5, {"POLICY": "demand"}),
    FrameworkCase("tinygrad-jit", 0.5, {"CHUNK": "4M"}),
    FrameworkCase("tinygrad-eager", 0.5, {"POLICY": "lru"}),
]


class FrameworkWorkload:
    """Runs a case. Times are those of a step as the program prints them: from an event behind a step to that behind the next, on
    the simulated clock."""

    def __init__(self, build, device, case):
        self.bench, self.device, self.case = running.Bench(build), device, case
        frameworks.FRAMEWORKS[case.program.framework].prepare(running.cache())
        whole = self.start(case.program)
        self.whole = {case.program.name: whole}
        budget = int(figures.peak(whole) * case.share) // (2 * MIB) * (2 * MIB)
        self.settings = dict(case.settings, DEVICE_BUDGET=budget, DAEMON="inline")

    def start(self, program, settings=None):
        program = program._replace(variables=dict(program.variables, **self.device))
        run = self.bench.run(program, "default", "late" if settings else "eager", settings)
        if not run.ended_well():
            sys.exit(f"FAILED: {self.case.name} with {settings}: {run.describe()}")
        return run

    def run(self, settings, other=None):
        """The time of a step in nanoseconds. `other`: the program that is run in place of the case's own. What is computed must
        be the same as without sluice."""
        return self.examined(PROGRAMS.get(other, self.case.program), settings)[1]

    def record(self, tracing):
        """The path of a trace of the case, and the time of a step in this same run: to time one launch of 16 does not lengthen
        it by 1 %, and runs take minutes."""
        run, step_ns = self.examined(self.case.program, dict(self.settings, **tracing))
        return str(run.trace), step_ns

    def record_other(self, tracing):
        """With all of the device's memory."""
        settings = dict(tracing, CHUNK=self.settings["CHUNK"])
        return str(self.examined(PROGRAMS[self.case.against[0]], settings)[0].trace)

    def examined(self, program, settings):
        if program.name not in self.whole:
            self.whole[program.name] = self.start(program)
        run = self.start(program, settings)
        if not run.same_bits(self.whole[program.name]):
            sys.exit(f"FAILED: {program.name} with {settings}: other results")
        return run, statistics.median(run.from_end_to_end[-STEADY_STEPS:]) * 1e9


def available(case):
    """Whether its framework can be had here; else the reason is printed."""
    try:
        frameworks.FRAMEWORKS[case.program.framework].prepare(running.cache())
    except debian.Unavailable as reason:
        print(f"skipped {case.name}: {reason}", file=sys.stderr)
        return False
    return True
