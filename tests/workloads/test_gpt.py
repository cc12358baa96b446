"""The gpt workload as a user runs it: what it prints, that it learns, and that its bits depend on nothing but its options.

Usage: test_gpt.py GPT TEXT TEST...   (the tests' names are the class and method names of unittest)
"""
import filecmp
import os
import re
import subprocess
import sys
import tempfile
import unittest

GPT, TEXT = sys.argv[1:3]
SMALL = ["--layers", "2", "--width", "64", "--heads", "2", "--context", "32", "--batch", "2"]
STEP = re.compile(r"step (\d+) loss (\d+\.\d{6}) (0x1\.?[0-9a-f]*p[+-]\d+) time_ms (\d+\.\d{3})")
OUT_OF_MEMORY = re.compile(
    r"gpt: out of device memory: needed (\d+) bytes for \S+ \(allocated so far (\d+) bytes\)\n")


def run(*options, data=TEXT, memory=None):
    environment = dict(os.environ)
    if memory is not None:
        environment["SOFTCUDA_MEMORY"] = str(memory)
    return subprocess.run([GPT, "--data", data, *options], env=environment, capture_output=True, text=True)


def train(*options):
    """The output of a run that must succeed, without the times."""
    result = run(*SMALL, *options)
    if result.returncode:
        raise AssertionError(f"gpt {options} ended with {result.returncode}: {result.stderr}")
    return re.sub(r" time_ms \S+", "", result.stdout)


def without_peak(output):
    return re.sub(r"peak_bytes \d+\n", "", output)


class Learning(unittest.TestCase):
    def test_losses_fall(self):
        result = run(*SMALL, "--steps", "30", "--evaluate-every", "10")
        self.assertEqual(result.returncode, 0, result.stderr)
        lines = result.stdout.splitlines()
        steps = [STEP.fullmatch(line) for line in lines if line.startswith("step ")]
        self.assertTrue(all(steps), lines)
        self.assertEqual([int(step[1]) for step in steps], list(range(1, 31)))
        for step in steps:
            self.assertAlmostEqual(float(step[2]), float.fromhex(step[3]), delta=1e-6)
            self.assertGreater(float(step[4]), 0, "a step takes time on the device")
        losses = [float(step[2]) for step in steps]
        self.assertAlmostEqual(losses[0], 5.545, delta=0.1, msg="an untrained model knows nothing: log 256")
        self.assertLess(sum(losses[-5:]) / 5, losses[0] - 1.0)
        held_out = [float(line.split()[3]) for line in lines if line.startswith("evaluation ")]
        self.assertEqual(len(held_out), 3)
        self.assertLess(held_out[2], held_out[0])
        self.assertRegex(lines[-2], r"^peak_bytes [1-9]\d*$")
        self.assertRegex(lines[-1], r"^weights_hash [0-9a-f]{16}$")


class Bits(unittest.TestCase):
    def test_same_options_same_bits(self):
        self.assertEqual(train("--steps", "3"), train("--steps", "3"))

    def test_seed_changes_them(self):
        self.assertNotEqual(train("--steps", "1"), train("--steps", "1", "--seed", "2"))

    def test_allocator_changes_nothing(self):
        for optimizer in "fused", "sweep":
            options = ["--steps", "3", "--optimizer", optimizer, "--accumulate", "3", "--evaluate-every", "2"]
            expected = without_peak(train(*options))
            for allocator in "slab", "managed", "async":
                with self.subTest(optimizer=optimizer, allocator=allocator):
                    self.assertEqual(without_peak(train(*options, "--allocator", allocator)), expected)

    def test_optimizers_mean_the_same(self):
        losses = [[float(line.split()[3]) for line in train("--steps", "5", "--optimizer", kind).splitlines()
                   if line.startswith("step ")] for kind in ("fused", "sweep")]
        for fused, sweep in zip(*losses):
            self.assertAlmostEqual(fused, sweep, delta=1e-4)

    def test_evaluation_changes_no_step(self):
        def steps(output):
            return [line for line in output.splitlines() if not line.startswith(("evaluation", "peak_bytes"))]
        self.assertEqual(steps(train("--steps", "3", "--evaluate-every", "1")), steps(train("--steps", "3")))

    def test_dumped_weights(self):
        with tempfile.TemporaryDirectory() as folder:
            paths = [os.path.join(folder, allocator) for allocator in ("malloc", "slab")]
            for path in paths:
                output = train("--steps", "1", "--allocator", os.path.basename(path), "--dump-weights", path)
            parameters = int(re.search(r"parameters (\d+)", output)[1])
            self.assertEqual(os.path.getsize(paths[0]), 4 * parameters)
            self.assertTrue(filecmp.cmp(*paths, shallow=False))


class Memory(unittest.TestCase):
    def test_peak_is_enough_and_less_is_not(self):
        """Needs a device of a given size, which softcuda gives."""
        if "SOFTCUDA_MEMORY" not in os.environ:
            self.skipTest("not on softcuda")
        output = train("--steps", "2")
        peak = int(re.search(r"peak_bytes (\d+)", output)[1])
        result = run(*SMALL, "--steps", "2", memory=peak // 2)
        self.assertEqual(result.returncode, 3, result.stderr)
        message = OUT_OF_MEMORY.fullmatch(result.stderr)
        self.assertTrue(message, result.stderr)
        self.assertLessEqual(int(message[2]), peak // 2)


class BadInput(unittest.TestCase):
    def check(self, options, pattern, data=TEXT):
        result = run(*options, data=data)
        self.assertEqual(result.returncode, 2, result)
        self.assertEqual(result.stdout, "")
        self.assertRegex(result.stderr, r"\Agpt: [^\n]*" + pattern + r"[^\n]*\n\Z")

    def test_options(self):
        for options, pattern in (
            (["--nonsense"], "--nonsense"),
            (["-x"], "-x"),
            (["more"], "more"),
            (["--width"], "--width"),
            (["--width", "12x"], "12x"),
            (["--layers", "0"], "--layers"),
            (["--steps", "99999999999999999999"], "--steps"),
            (["--heads", "3"], "divide"),
            (["--batch", "65536"], "--batch"),
            (["--optimizer", "sgd"], "sgd"),
            (["--allocator", "pool"], "pool"),
        ):
            with self.subTest(options=options):
                self.check(options, pattern)

    def test_data(self):
        self.check([], "No such file", data="/nonexistent/text")
        self.check([], "directory", data="/")
        with tempfile.NamedTemporaryFile() as empty:
            self.check([], "0 bytes", data=empty.name)
        self.check(["--context", "60000"], "needs at least 600010")

    def test_unwritable_dump(self):
        result = run(*SMALL, "--steps", "1", "--dump-weights", "/nonexistent/weights")
        self.assertEqual(result.returncode, 1)
        self.assertRegex(result.stderr, r"\Agpt: [^\n]*/nonexistent/weights[^\n]*\n\Z")

    def test_help(self):
        result = run("--help")
        self.assertEqual(result.returncode, 0)
        for option in "data", "accumulate", "dump-weights", "allocator":
            self.assertIn("--" + option, result.stdout)


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *sys.argv[3:]])
