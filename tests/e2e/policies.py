#!/usr/bin/env python3
"""End-to-end tests of the policies: whatever moves the chunks, and in whichever way, the bits are those of a large device.

usage: policies.py BUILD some
       policies.py BUILD gpt ALLOCATOR ACCUMULATE
       policies.py BUILD mlp GRAPH

A way is what is beside the policy: nothing, a profile, pinned backing of one set of tensors, or both. Shares of the need,
daemon modes and orders of the device's work are dealt out over the runs, so that every policy, chunk size and way has some of
each.
"""
import os
import sys
import tempfile

from e2e import MODEL, PERCEPTRON, POLICIES, Bench, check_same, largest_sites, need, reference, under, whole_blocks

CHUNKS = ("2M", "4M", "8M")
WAYS = {"plain": (), "profile": ("PROFILE",), "pinned": ("BACKING",), "profile and pinned": ("PROFILE", "BACKING")}


class Matrix:
    """A program, what it needs, and where its profiles lie."""

    def __init__(self, bench, arguments, folder, program="gpt"):
        self.bench, self.arguments, self.folder, self.program = bench, arguments, folder, program
        self.whole = reference(bench, arguments, program)
        site, _ = largest_sites(bench, arguments, 1, program)[0]
        self.backing = f"site:{site}=pinned"

    def run(self, policy, chunk, way, share, daemon, seed):
        what = f"{way}: {policy}, {chunk}, 1/{share}, {daemon}, order {seed}"
        profile = os.path.join(self.folder, f"{way}.profile")
        known = os.path.exists(profile)
        values = {"PROFILE": profile, "BACKING": self.backing}
        budget = whole_blocks(self.whole.peak // share)
        run = under(self.bench, self.arguments, policy, budget, chunk, daemon, {name: values[name] for name in WAYS[way]},
                    schedule=f"random:{seed}", program=self.program)
        check_same(run, self.whole, budget, what)
        if "PROFILE" in WAYS[way]:
            need(os.path.exists(profile), f"{what}: a profile is left", run)
            # Where the driver moves its memory there is nothing to foresee.
            used = known and policy != "driver"
            need((run.sluice["primed"] > 0) == used, f"{what}: it is used from the second run on", run)
        need((run.sluice["pinned_peak_bytes"] > 0) == ("BACKING" in WAYS[way]), f"{what}: memory is pinned by the rule", run)


def some(bench):
    """Every policy once by itself, and once with a profile and pinned backing, with chunks of 2, 4 and 8 MiB in turn."""
    with tempfile.TemporaryDirectory() as folder:
        matrix = Matrix(bench, MODEL + ["--steps", "4", "--evaluate-every", "2"], folder)
        for i, policy in enumerate(POLICIES):
            matrix.run(policy, CHUNKS[i % 3], "plain", 3, "thread", i)
            matrix.run(policy, CHUNKS[(i + 1) % 3], "profile and pinned", 2, ("inline", "thread")[i % 2], i)


def gpt(bench, allocator, accumulate):
    """Every policy, chunk size, share and daemon mode; every policy and chunk size in every other way."""
    steps = "4" if accumulate == "1" else "3"
    arguments = MODEL + ["--steps", steps, "--allocator", allocator, "--accumulate", accumulate, "--evaluate-every", "2"]
    with tempfile.TemporaryDirectory() as folder:
        matrix = Matrix(bench, arguments, folder)
        for p, policy in enumerate(POLICIES):
            for c, chunk in enumerate(CHUNKS):
                for share in (2, 3):
                    for d, daemon in enumerate(("inline", "thread")):
                        matrix.run(policy, chunk, "plain", share, daemon, (p + c + share + d) % 2)
        other_ways(matrix)


def other_ways(matrix, shares=(2, 3)):
    for w, way in enumerate(way for way in WAYS if way != "plain"):
        for p, policy in enumerate(POLICIES):
            for c, chunk in enumerate(CHUNKS):
                turn = p + c + w
                matrix.run(policy, chunk, way, shares[turn % len(shares)], ("inline", "thread")[(turn + c // 2) % 2], turn % 3)


def mlp(bench, graph):
    """The same for mlp, on three streams, at 1/2: less is not two chunks of 8 MiB."""
    with tempfile.TemporaryDirectory() as folder:
        matrix = Matrix(bench, PERCEPTRON + ["--steps", "6", "--graph", graph], folder, "mlp")
        for p, policy in enumerate(POLICIES):
            for c, chunk in enumerate(CHUNKS):
                matrix.run(policy, chunk, "plain", 2, ("inline", "thread")[(p + c) % 2], c)
        other_ways(matrix, (2,))


TESTS = {test.__name__: test for test in (some, gpt, mlp)}

if __name__ == "__main__":
    TESTS[sys.argv[2]](Bench(sys.argv[1]), *sys.argv[3:])
