#!/usr/bin/env python3
"""Programs of CUDA 12 under sluice on older drivers: 550 (12.4) cannot discard, 535 (12.2) does not say what kernels use either.

usage: older.py BUILD DRIVER PROGRAM

Each run has the bits of one without sluice, and keeps its budget. On 550 what sluice drops is copied instead; on 535
kernels use host memory in place, which is said once, and what copies and sets use moves.
"""
import os
import sys

from e2e import MIB, MODEL, PERCEPTRON, Bench, check_budget, need, whole_blocks

WHAT_KERNELS_USE = "does not say kernels' parameters"


class OlderBench(Bench):
    """Runs the programs of this folder on an older driver."""

    def __init__(self, build, driver):
        super().__init__(build)
        self.driver = driver

    def run(self, arguments, program="", **how):
        libraries = os.path.join(self.build, "subprojects", "softcuda", "lib")
        environment = {"LD_LIBRARY_PATH": os.path.join(libraries, self.driver) + ":" + libraries}
        return super().run(arguments, environment=environment, program=os.path.join("..", "tests", "e2e", program + "-12"), **how)


def runs(bench, arguments, program, budget, result, some=(("inline", "late"), ("thread", "random:1"))):
    """The program in some orders, with the checks that hold for all; `result` says what of a run must be the same."""
    whole = bench.run(arguments, schedule="eager", program=program)
    need(whole.status == 0 and result(whole), "the reference run ends well", whole)
    for daemon, schedule in some:
        options = {"DEVICE_BUDGET": budget(whole), "CHUNK": "2M", "DAEMON": daemon, "VERBOSE": "1"}
        run = bench.run(arguments, sluice=options, schedule=schedule, program=program)
        what = f"{bench.driver}, {program} {' '.join(arguments[-2:])}, {daemon}, {schedule}"
        need(run.status == 0 and result(run) == result(whole), f"{what}: same bits", whole, run)
        check_budget(run, budget(whole), what)
        check_driver(bench.driver, run, what, daemon)
        print("ok", what, "moved", run.device["bytes_in"]["prefetch"], run.device["bytes_out"]["prefetch"], "in place",
              run.device["bytes_in"]["remote"], flush=True)


def check_driver(driver, run, what, daemon):
    def said(text):
        return sum(text in line for line in run.errors.splitlines())

    lines = [line for line in run.errors.splitlines() if line.startswith("softcuda:")]
    need(not lines, f"{what}: nothing was called that the driver lacks", run)
    need(said("cannot discard") == 1, f"{what}: said once, as it was asked for more", run)
    need(said(WHAT_KERNELS_USE) == (driver == "535"), f"{what}: said once, where it is so", run)
    out, total = run.device["bytes_out"], run.sluice["total"]
    need(run.device["bytes_in"]["prefetch"] > 0 and out["prefetch"] > 0, f"{what}: memory moved", run)
    need(out["eviction"] == 0, f"{what}: not by the driver", run)
    if driver == "535":
        need(run.device["bytes_in"]["remote"] > 0, f"{what}: kernels use host memory in place", run)
    elif daemon == "inline":
        need(run.device["bytes_in"]["remote"] <= total["in_place_bytes"] == total["remote_bytes"],
             f"{what}: kernels use device memory, but for what plans chose", run)
        need(out["prefetch"] == total["bytes_out"] + run.sluice["discarded_bytes"], f"{what}: what is dropped is copied", run)


def gpt(bench):
    """A training with libcudart.so.12."""
    arguments = ["--data", bench.data] + MODEL + ["--steps", "3"]
    runs(bench, arguments, "gpt", lambda whole: whole_blocks(whole.peak // 2), lambda run: (run.weights, run.results))


def mlp(bench):
    """A training with the Driver API, also as graphs, in stream order on three streams."""
    for graph in ("none", "captured", "nodes"):
        some = (("inline", "late"), ("thread", "random:1"))[:1 if graph == "nodes" else 2]
        arguments = PERCEPTRON + ["--steps", "4", "--graph", graph]
        runs(bench, arguments, "mlp", lambda whole: whole_blocks(whole.peak // 2), lambda run: (run.weights, run.results), some)


def irregular(bench):
    """What cannot be predicted."""
    for mode in ("shuffled", "lengths"):
        runs(bench, [mode, "20", "1"], "irregular", lambda whole: 26 * MIB, lambda run: run.output.split()[3:4])


TESTS = {test.__name__: test for test in (gpt, mlp, irregular)}


def main():
    if len(sys.argv) != 4 or sys.argv[3] not in TESTS:
        sys.exit(__doc__ + "\nprograms: " + " ".join(TESTS))
    TESTS[sys.argv[3]](OlderBench(sys.argv[1], sys.argv[2]))


if __name__ == "__main__":
    main()
