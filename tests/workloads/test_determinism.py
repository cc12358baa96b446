"""A workload gives the same bits and the same simulated times however many threads execute its kernels, and the same bits
in whatever legal order softcuda runs what it submits.

Usage: test_determinism.py GPT TEXT REPEATS SEEDS
"""
import os
import subprocess
import sys
import tempfile

GPT, TEXT = sys.argv[1:3]
REPEATS, SEEDS = int(sys.argv[3]), int(sys.argv[4])
SMALL = ["--layers", "2", "--width", "64", "--heads", "2", "--context", "32", "--batch", "2", "--steps", "2"]
LARGER = ["--layers", "2", "--width", "128", "--heads", "4", "--context", "64", "--batch", "4", "--steps", "2"]
PROGRAMS = ["--optimizer", "fused"], ["--optimizer", "sweep", "--allocator", "managed"]


def run(options, **variables):
    """(what it printed, the timeline of its operations)"""
    with tempfile.TemporaryDirectory() as folder:
        timeline = os.path.join(folder, "timeline")
        environment = {**os.environ, **variables, "SOFTCUDA_TIMELINE": timeline}
        done = subprocess.run([GPT, "--data", TEXT, *options], env=environment, capture_output=True, text=True)
        if done.returncode:
            sys.exit(f"gpt {options} with {variables} ended with {done.returncode}: {done.stderr}")
        with open(timeline) as file:
            return done.stdout, file.read()


def first_difference(one, other):
    for number, (a, b) in enumerate(zip(one.splitlines(), other.splitlines()), 1):
        if a != b:
            return f"line {number}: {a}\n   and: {b}"
    return f"{len(one.splitlines())} and {len(other.splitlines())} lines"


def expect_equal(what, wanted, got):
    for part, a, b in zip(("output", "timeline"), wanted, got):
        if a != b:
            sys.exit(f"{what}: the {part} differs, {first_difference(a, b)}")


def check_threads(options):
    """Kernels that are long enough for several threads"""
    wanted = run(options, SOFTCUDA_THREADS="1")
    if not wanted[1]:
        sys.exit("the timeline is empty")
    for repeat in range(REPEATS):
        for threads in "1", "2":
            expect_equal(f"run {repeat} with {threads} threads", wanted, run(options, SOFTCUDA_THREADS=threads))


def check_orders(options):
    wanted = run(options, SOFTCUDA_SCHEDULE="late")
    for order in ["eager", *(f"random:{seed}" for seed in range(1, SEEDS + 1))]:
        expect_equal(f"schedule {order}", wanted, run(options, SOFTCUDA_SCHEDULE=order))


def main():
    for program in PROGRAMS:
        check_threads([*LARGER, *program])
        check_orders([*SMALL, *program])
    print(f"{REPEATS} x 2 runs and {SEEDS} + 1 orders of {len(PROGRAMS)} programs: the same bits and times")


if __name__ == "__main__":
    main()
