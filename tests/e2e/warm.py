#!/usr/bin/env python3
"""End-to-end tests of profiles: a second run begins where the first one ended, with the same bits.

usage: warm.py BUILD TEST
"""
import os
import sys
import tempfile

from e2e import MIB, MODEL, PERCEPTRON, Bench, check_same, need, reference, whole_blocks

GPT = {name: MODEL + ["--steps", "4", "--allocator", name] + more
       for name, more in (("malloc", []), ("slab", []), ("async", ["--accumulate", "2", "--evaluate-every", "2"]))}
MLP = {graph: PERCEPTRON + ["--steps", "8", "--graph", graph] for graph in ("none", "captured")}


def misses(run):
    return [iteration["demand_misses"] for iteration in run.sluice["iterations"]]


def options_for(folder, budget, daemon="inline", **more):
    return {"PROFILE": os.path.join(folder, "profile"), "DEVICE_BUDGET": budget, "CHUNK": "2M", "DAEMON": daemon, **more}


def run_twice(bench, program, arguments, what, shares=(2,)):
    """The second run has no demand misses, under whatever order of the device's work. (Where plans are made beside the
    launches, how many come late is the machine's business: the bits are the same.)"""
    whole = reference(bench, arguments, program)
    for share in shares:
        budget = whole_blocks(whole.peak // share)
        for daemon in ("inline", "thread"):
            with tempfile.TemporaryDirectory() as folder:
                options = options_for(folder, budget, daemon)
                for turn in ("first", "second"):
                    run = bench.run(arguments, sluice=options, schedule=f"random:{share}", program=program)
                    check_same(run, whole, budget, f"{what}, 1/{share}, {daemon}, {turn} run")
                    books = run.sluice
                    if turn == "first":
                        need(books["primed"] == 0 and sum(misses(run)) > 0, "without a profile there are misses", run)
                        need(oct(os.stat(options["PROFILE"]).st_mode)[-3:] == "600", "the profile is its user's", run)
                need(0 < books["primed"] and books["predicted"] == books["fed"], "all of it was foreseen", run)
                need(daemon == "thread" or sum(misses(run)) == 0, "the second run misses nothing", run)
                need(os.listdir(folder) == ["profile"], "nothing else is left there", run)


def gpt(bench):
    for name, arguments in GPT.items():
        run_twice(bench, "gpt", arguments, f"gpt {name}")


def mlp(bench):
    for graph, arguments in MLP.items():
        run_twice(bench, "mlp", arguments, f"mlp {graph}", (2, 3))


def learned(bench, folder, arguments, budget, program="gpt"):
    run = bench.run(arguments, sluice=options_for(folder, budget), program=program)
    need(run.status == 0 and os.path.exists(os.path.join(folder, "profile")), "a profile was written", run)
    return run


def changed(bench):
    """What has changed since the profile was written costs surprises, and nothing else."""
    arguments = GPT["malloc"]
    whole = reference(bench, arguments)
    budget = whole_blocks(whole.peak // 2)
    with tempfile.TemporaryDirectory() as folder:
        learned(bench, folder, arguments, budget)
        for chunk, share in (("2M", 3), ("4M", 2), ("8M", 2), ("2M", 1)):
            room = whole_blocks(whole.peak // share)
            run = bench.run(arguments, sluice=options_for(folder, room, CHUNK=chunk))
            check_same(run, whole, room, f"another budget or chunk size: 1/{share}, {chunk}")
            need(run.sluice["primed"] > 0 and sum(misses(run)) == 0, "it is foreseen all the same", run)
        for policy in ("next", "lru"):
            run = bench.run(arguments, sluice=options_for(folder, budget, POLICY=policy))
            check_same(run, whole, budget, f"policy {policy}")
        others = {"another width": MODEL[:2] + ["--width", "256"] + MODEL[4:] + ["--steps", "4"],
                  "fewer steps": MODEL + ["--steps", "2"],
                  "evaluation": MODEL + ["--steps", "4", "--evaluate-every", "2"],
                  "another allocator": GPT["slab"]}
        path = os.path.join(folder, "profile")
        with open(path, "rb") as file:
            before = file.read()
        for i, (what, other) in enumerate(others.items()):
            with open(path, "wb") as file:
                file.write(before)
            plain = reference(bench, other)
            room = max(8 * MIB, whole_blocks(plain.peak // 2))
            daemon = ("thread", "inline")[i % 2]
            run = bench.run(other, sluice=options_for(folder, room, daemon), schedule="random:3")
            check_same(run, plain, room, f"{what}, {daemon}")
        # A longer run is surprised once, where the shorter one ended, and what it learned is kept.
        with open(path, "wb") as file:
            file.write(before)
        longer = MODEL + ["--steps", "7"]
        plain = reference(bench, longer)
        first, second = (bench.run(longer, sluice=options_for(folder, budget)) for _ in range(2))
        check_same(second, plain, budget, "more steps, again")
        need(misses(first)[:4] == [0, 0, 0, 0], "what was known is foreseen", first)
        need(sum(misses(second)) == 0, "what was new is foreseen the next time", second)


def ignored(bench):
    """Profiles that are not this program's, and files that are no profiles, are named in one line, and the program runs."""
    arguments = PERCEPTRON + ["--steps", "4"]
    whole = reference(bench, arguments, "mlp")
    budget = whole_blocks(whole.peak // 2)
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "profile")

        def expect(what, words, kept):
            with open(path, "rb") as file:
                before = file.read()
            run = bench.run(arguments, sluice=options_for(folder, budget), program="mlp")
            check_same(run, whole, budget, what)
            lines = [line for line in run.errors.splitlines() if "profile" in line]
            need(len(lines) == 1 and all(word in lines[0] for word in words), f"{what}: one line: {lines}", run)
            need(run.sluice["primed"] == 0, f"{what}: nothing is foreseen", run)
            with open(path, "rb") as file:
                need((file.read() == before) == kept, f"{what}: it is {'left as it is' if kept else 'written anew'}", run)

        learned(bench, folder, GPT["malloc"], 64 * MIB)
        expect("another program", ("another program (gpt)", "left as it is"), True)
        os.unlink(path)
        with open(path, "w", encoding="ascii") as file:
            file.write("a letter to my aunt")
        expect("no profile", ("not in the expected format", "left as it is"), True)
        os.unlink(path)
        learned(bench, folder, arguments, budget, "mlp")
        with open(path, "rb") as file:
            good = file.read()
        for what, damaged, words in (("cut", good[:-10], ("ends early",)),
                                     ("damaged", good[:90] + bytes([good[90] ^ 1]) + good[91:], ("not in the expected",)),
                                     ("newer", good[:8] + b"\x09" + good[9:], ("newer sluice",))):
            with open(path, "wb") as file:
                file.write(damaged)
            expect(what, words, False)
        # A name that cannot be read or written costs a line, too.
        run = bench.run(arguments, sluice=options_for(os.path.join(folder, "no"), budget), program="mlp")
        check_same(run, whole, budget, "no such folder")
        need(sum("profile" in line for line in run.errors.splitlines()) == 1, "one line", run)


TESTS = {test.__name__: test for test in (gpt, mlp, changed, ignored)}

if __name__ == "__main__":
    TESTS[sys.argv[2]](Bench(sys.argv[1]))
