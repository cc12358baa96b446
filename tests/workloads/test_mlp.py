"""The mlp workload as a user runs it: what it prints, that it learns, and that its bits depend on nothing but its task.

Usage: test_mlp.py MLP TEST...   (the tests' names are the class and method names of unittest)
"""
import os
import re
import subprocess
import sys
import unittest

MLP = sys.argv[1]
STEP = re.compile(r"step (\d+) loss (\d+\.\d{6}) (0x1\.?[0-9a-f]*p[+-]\d+) time_ms (\d+\.\d{3})")
OUT_OF_MEMORY = re.compile(r"mlp: out of device memory: needed (\d+) bytes for [\w ]+ \(allocated so far (\d+) bytes\)\n")


def run(*options, **variables):
    return subprocess.run([MLP, *options], env={**os.environ, **variables}, capture_output=True, text=True)


def train(*options, **variables):
    """The output of a run that must succeed, without times and peak."""
    result = run(*options, **variables)
    if result.returncode:
        raise AssertionError(f"mlp {options} ended with {result.returncode}: {result.stderr}")
    return re.sub(r" time_ms \S+|peak_bytes \d+\n", "", result.stdout)


class Learning(unittest.TestCase):
    def test_losses_fall(self):
        result = run("--steps", "60")
        self.assertEqual(result.returncode, 0, result.stderr)
        lines = result.stdout.splitlines()
        self.assertRegex(lines[0], r"^model parameters [1-9]\d* state_bytes [1-9]\d*$")
        steps = [STEP.fullmatch(line) for line in lines[1:-2]]
        self.assertTrue(all(steps), lines)
        self.assertEqual([int(step[1]) for step in steps], list(range(1, 61)))
        for step in steps:
            self.assertAlmostEqual(float(step[2]), float.fromhex(step[3]), delta=1e-6)
            self.assertGreater(float(step[4]), 0, "a step takes time on the device")
        losses = [float(step[2]) for step in steps]
        self.assertLess(sum(losses[-5:]) / 5, losses[0] - 0.7)
        self.assertRegex(lines[-2], r"^peak_bytes [1-9]\d*$")
        self.assertRegex(lines[-1], r"^weights_hash [0-9a-f]{16}$")


class Bits(unittest.TestCase):
    def test_same_options_same_bits(self):
        self.assertEqual(train("--steps", "3"), train("--steps", "3"))

    def test_seed_changes_them(self):
        self.assertNotEqual(train("--steps", "1"), train("--steps", "1", "--seed", "2"))

    def test_streams_and_graphs_change_nothing(self):
        shape = ["--steps", "4", "--layers", "5", "--width", "72", "--batch", "33"]
        expected = train(*shape, "--streams", "1")
        for streams in "1", "2", "3", "8":
            for graph in "none", "captured", "nodes":
                for schedule in "late", "random:1":
                    with self.subTest(streams=streams, graph=graph, schedule=schedule):
                        self.assertEqual(train(*shape, "--streams", streams, "--graph", graph, SOFTCUDA_SCHEDULE=schedule),
                                         expected)


class Memory(unittest.TestCase):
    def test_too_small_a_device(self):
        """Needs a device of a given size, which softcuda gives."""
        if "SOFTCUDA_MEMORY" not in os.environ:
            self.skipTest("not on softcuda")
        result = run("--width", "1024", "--steps", "1", SOFTCUDA_MEMORY="16M")
        self.assertEqual(result.returncode, 3, result.stderr)
        message = OUT_OF_MEMORY.fullmatch(result.stderr)
        self.assertTrue(message, result.stderr)
        self.assertLessEqual(int(message[2]), 16 << 20)


class BadInput(unittest.TestCase):
    def test_options(self):
        for options, pattern in (
            (["--nonsense"], "--nonsense"),
            (["-x"], "-x"),
            (["more"], "more"),
            (["--width"], "--width"),
            (["--width", "12x"], "12x"),
            (["--layers", "0"], "--layers"),
            (["--streams", "9"], "--streams"),
            (["--graph", "cyclic"], "cyclic"),
        ):
            with self.subTest(options=options):
                result = run(*options)
                self.assertEqual(result.returncode, 2, result)
                self.assertEqual(result.stdout, "")
                self.assertRegex(result.stderr, r"\Amlp: [^\n]*" + pattern + r"[^\n]*\n\Z")

    def test_help(self):
        result = run("--help")
        self.assertEqual(result.returncode, 0)
        for option in "layers", "streams", "graph":
            self.assertIn("--" + option, result.stdout)


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *sys.argv[2:]])
