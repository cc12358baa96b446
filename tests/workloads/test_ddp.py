"""The ddp workload as a user runs it: its bits are those of gpt, whatever --zero, the chunks' size and the kind of memory.

softcuda's collectives sum up in the order of the ranks, and so does gpt over the micro-batches of a step: N ranks end with
the weights of `gpt --accumulate N`.

Usage: test_ddp.py DDP GPT TEXT TEST...   (the tests' names are the class and method names of unittest)
"""
import os
import re
import signal
import subprocess
import sys
import tempfile
import unittest

DDP, GPT, TEXT = sys.argv[1:4]
SMALL = ["--layers", "2", "--width", "32", "--heads", "2", "--context", "16", "--batch", "1", "--steps", "3"]
DEEP = ["--layers", "12", *SMALL[2:]]
ZERO = range(4)
KINDS = "malloc", "async"
VARIABLES = (("RANK", "WORLD_SIZE", "LOCAL_RANK"),
             ("OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_RANK"),
             ("SLURM_PROCID", "SLURM_NTASKS", "SLURM_LOCALID"))
# The tests themselves may run as somebody's rank.
ENVIRONMENT = {name: value for name, value in os.environ.items() if name not in sum(VARIABLES, ())}
STEP = re.compile(r"step (\d+) loss (\d+\.\d{6}) (0x1\.?[0-9a-f]*p[+-]\d+) time_ms (\d+\.\d{3})")


def run(*options, data=TEXT, **variables):
    return subprocess.run([DDP, "--data", data, *options], env={**ENVIRONMENT, **variables}, capture_output=True,
                          text=True)


def train(*options, **variables):
    """The output of a run that must succeed."""
    result = run(*options, **variables)
    if result.returncode or result.stderr:
        raise AssertionError(f"ddp {options} with {variables} ended with {result.returncode}: {result.stderr}")
    return result.stdout


def results(output):
    """Losses and weights: what must not depend on how memory is divided."""
    return re.findall(r" loss \S+ (\S+)|(weights_hash \S+)", output)


def peak(output):
    return int(re.search(r"peak_bytes (\d+)", output)[1])


class Bits(unittest.TestCase):
    """The same for all ways to divide memory, and gpt's."""

    def check_ranks(self, ranks):
        expected = results(train(*SMALL, "--ranks", ranks))
        gpt = results(subprocess.run([GPT, "--data", TEXT, *SMALL, "--accumulate", ranks], env=ENVIRONMENT,
                                     capture_output=True, text=True, check=True).stdout)
        self.assertEqual(len(expected), 4)
        self.assertEqual(expected[-1], gpt[-1])
        # gpt adds up the losses of several micro-batches with another rounding.
        for (loss, _), (gpt_loss, _) in zip(expected[:-1], gpt):
            self.assertAlmostEqual(float.fromhex(loss), float.fromhex(gpt_loss), delta=0 if ranks == "1" else 1e-5)
        for zero in ZERO:
            for kind, mib in zip(KINDS * 2, ("0.03125", "0.03125", "0.06", "0.06")):
                options = ["--ranks", ranks, "--zero", str(zero), "--alloc", kind, "--chunk-mib", mib]
                with self.subTest(options=options):
                    self.assertEqual(results(train(*SMALL, *options)), expected)

    def test_one_rank(self):
        self.check_ranks("1")

    def test_two_ranks(self):
        self.check_ranks("2")

    def test_four_ranks(self):
        self.check_ranks("4")

    def test_seed_changes_them(self):
        self.assertNotEqual(results(train(*SMALL)), results(train(*SMALL, "--seed", "2")))


class Orders(unittest.TestCase):
    """No wait is missing: the same bits in whatever order softcuda runs what it may, and no race is found."""

    def test_orders(self):
        for zero in ZERO:
            expected = None
            for kind, schedule in zip(KINDS * 2, ("late", "eager", "random:1", "random:2")):
                options = ["--ranks", "2", "--zero", str(zero), "--alloc", kind, "--chunk-mib", "0.03125"]
                with self.subTest(options=options, schedule=schedule):
                    got = results(train(*SMALL, *options, SOFTCUDA_SCHEDULE=schedule, SOFTCUDA_RACES="report"))
                    expected = expected or got
                    self.assertEqual(got, expected)


class Memory(unittest.TestCase):
    def test_each_step_of_zero_needs_less(self):
        for kind in KINDS:
            options = ["--ranks", "4", "--alloc", kind, "--chunk-mib", "0.03125"]
            peaks = [peak(train(*DEEP, *options, "--zero", str(zero))) for zero in ZERO]
            self.assertEqual(peaks, sorted(set(peaks), reverse=True))

    def test_out_of_memory(self):
        result = run(*SMALL, "--ranks", "2", SOFTCUDA_MEMORY="1M")
        self.assertEqual(result.returncode, 3, result)
        self.assertRegex(result.stderr, r"\A(ddp: out of device memory: needed \d+ bytes for [^\n]*\n){1,2}\Z")


class Ranks(unittest.TestCase):
    """Ranks that the program starts, and ranks that somebody else does."""

    def start(self, *options, **variables):
        return subprocess.Popen([DDP, "--data", TEXT, *SMALL, *options], env={**ENVIRONMENT, **variables},
                                stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)

    def test_output(self):
        lines = train(*SMALL, "--ranks", "2", "--zero", "2").splitlines()
        self.assertRegex(lines[0], r"^model parameters \d+ state_bytes \d+$")
        self.assertRegex(lines[1], r"^ranks 2 zero 2 chunks 1 chunk_bytes 1048576$")
        steps = [STEP.fullmatch(line) for line in lines[2:-2]]
        self.assertTrue(all(steps), lines)
        self.assertEqual([int(step[1]) for step in steps], [1, 2, 3])
        for step in steps:
            self.assertAlmostEqual(float(step[2]), float.fromhex(step[3]), delta=1e-6)
            self.assertGreater(float(step[4]), 0)
        self.assertRegex(lines[-2], r"^peak_bytes [1-9]\d*$")
        self.assertRegex(lines[-1], r"^weights_hash [0-9a-f]{16}$")

    def test_environment(self):
        expected = results(train(*SMALL, "--ranks", "2"))
        for names in VARIABLES:
            with tempfile.TemporaryDirectory() as folder, self.subTest(names=names):
                file = os.path.join(folder, "id")
                ranks = [self.start("--id-file", file, "--zero", "3", **dict(zip(names, (str(rank), "2", str(rank)))))
                         for rank in range(2)]
                outputs = [rank.communicate() for rank in ranks]
                self.assertEqual([rank.returncode for rank in ranks], [0, 0], outputs)
                self.assertEqual(results(outputs[0][0]), expected)
                self.assertEqual(outputs[1], ("", ""))
                self.assertEqual(os.listdir(folder), [])

    def children(self, launcher):
        """Of a launcher whose ranks have all made a step."""
        self.assertRegex(launcher.stdout.readline(), "^model")
        self.assertRegex(launcher.stdout.readline(), "^ranks")
        self.assertRegex(launcher.stdout.readline(), "^step")
        with open(f"/proc/{launcher.pid}/task/{launcher.pid}/children", encoding="ascii") as file:
            return [int(pid) for pid in file.read().split()]

    def test_a_killed_rank_ends_all(self):
        launcher = self.start("--ranks", "3", "--steps", "1000000")
        pids = self.children(launcher)
        self.assertEqual(len(pids), 3)
        os.kill(pids[1], signal.SIGKILL)
        _, errors = launcher.communicate()
        self.assertEqual(launcher.returncode, 1)
        self.assertIn("ddp: rank 1 was ended by signal 9\n", errors)

    def test_ranks_end_with_the_launcher(self):
        with tempfile.TemporaryDirectory() as folder:  # where it leaves one of its own
            launcher = self.start("--ranks", "2", "--steps", "1000000", TMPDIR=folder)
            self.children(launcher)
            launcher.kill()
            launcher.communicate()  # returns when nobody has the pipes open any more


class BadInput(unittest.TestCase):
    def check(self, options, pattern, data=TEXT, status=2, **variables):
        result = run(*options, data=data, **variables)
        self.assertEqual(result.returncode, status, result)
        self.assertEqual(result.stdout, "")
        self.assertRegex(result.stderr, r"\Addp: [^\n]*" + pattern + r"[^\n]*\n\Z")

    def test_options(self):
        for options, pattern in (
            (["--nonsense"], "--nonsense"),
            (["more"], "more"),
            (["--zero"], "--zero"),
            (["--zero", "4"], "from 0 to 3"),
            (["--heads", "3"], "divide"),
            (["--alloc", "slab"], "slab"),
            (["--chunk-mib", "1x"], "1x"),
            (["--chunk-mib", "0"], "--chunk-mib"),
            (["--chunk-mib", "nan"], "--chunk-mib"),
        ):
            with self.subTest(options=options):
                self.check(options, pattern)

    def test_once_for_all_ranks(self):
        self.check(["--ranks", "3"], "No such file", data="/nonexistent/text")
        self.check(["--ranks", "3", "--chunk-mib", "0.12"], "tokens, which needs 0.125")

    def test_environment(self):
        two = {"RANK": "0", "WORLD_SIZE": "2", "LOCAL_RANK": "0"}
        self.check([], "--id-file", **two)
        self.check([], "WORLD_SIZE", RANK="0", LOCAL_RANK="0")
        self.check([], "RANK cannot be '2'", **{**two, "RANK": "2"})
        self.check(["--id-file", TEXT], "exists already", status=1, **two)
        self.check(["--id-file", "/nonexistent/id"], "/nonexistent/id", status=1, **two)

    def test_help(self):
        result = run("--help")
        self.assertEqual(result.returncode, 0)
        for option in "data", "zero", "chunk-mib", "alloc", "ranks", "id-file":
            self.assertIn("--" + option, result.stdout)


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *sys.argv[4:]])
