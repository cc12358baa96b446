"""run.sh as a user runs it: on softcuda every part works and the results are complete; without a GPU it ends with 77.

Usage: test_run.py BUILD TEST...   (the tests' names are the class and method names of unittest)
"""
import json
import os
import subprocess
import sys
import tempfile
import unittest

BUILD = sys.argv[1]
RUN = os.path.join(os.path.dirname(os.path.abspath(__file__)), "run.sh")
SOFTWARE = os.path.join(BUILD, "subprojects", "softcuda", "lib")
GPT_FIELDS = {"name", "identical", "step_ms", "losses", "weights_hash", "sluice", "budget_bytes"}


def run(*arguments, libraries=None):
    environment = {name: value for name, value in os.environ.items() if name != "LD_LIBRARY_PATH"}
    if libraries:
        environment["LD_LIBRARY_PATH"] = libraries
    return subprocess.run([RUN, *arguments], env=environment, capture_output=True, text=True)


def machine_has_gpu():
    """Independent of run.sh's own look: a device node of the vendor's kernel driver."""
    return any(os.path.exists(node) for node in ("/dev/nvidiactl", "/dev/dxg"))


class Software(unittest.TestCase):
    """Breaks when a part of the script, the probe or a program no longer works; then a lease of a GPU is not wasted."""

    @classmethod
    def setUpClass(cls):
        with tempfile.TemporaryDirectory() as folder:
            cls.result = run(BUILD, "--software", "--quick", "--out", folder)
            with open(os.path.join(folder, "gpu-results.json")) as file:
                cls.found = json.load(file)

    def test_ends_well(self):
        """Whether softcuda's programs pass on softcuda is their own tests' matter; here they only have to run."""
        ours = [problem for problem in self.found["problems"] if not problem.startswith("program ")]
        self.assertEqual(ours, [], self.result.stdout + self.result.stderr)
        self.assertNotIn("not run", {program["result"] for program in self.found["program"]})
        self.assertEqual(self.found["ok"], not self.found["problems"])
        self.assertEqual(self.result.returncode, 0 if self.found["ok"] else 1, self.result.stderr)

    def test_says_on_what_machine(self):
        self.assertTrue(self.found["machine"]["device"]["name"])
        self.assertGreater(self.found["machine"]["processors"], 0)
        self.assertTrue(self.result.stdout.startswith("Machine: "))

    def test_every_part_ran(self):
        self.assertEqual({part["name"] for part in self.found["part"]},
                         {"device", "bandwidth", "residency", "moves", "remote", "calls", "allocate", "programs", "gpt"})
        for kind, least in (("copy", 3), ("bandwidth", 30), ("residency", 20), ("moves", 30), ("stream", 4),
                            ("product", 7), ("calls", 50), ("allocate", 2), ("program", 5)):
            self.assertGreaterEqual(len(self.found.get(kind, [])), least, kind)

    def test_bandwidths_are_measured(self):
        for row in self.found["bandwidth"]:
            self.assertEqual(row["gbps_in"] > 0, row["direction"] != "out", row)
            self.assertEqual(row["gbps_out"] > 0, row["direction"] != "in", row)

    def test_remote_memory_is_told_from_resident(self):
        after = {row["history"]: row["resident_after"] for row in self.found["residency"]
                 if row["advice"] == "host, accessed by"}
        self.assertTrue(after["fetched, then read"])
        self.assertFalse(after["evicted, then read"])

    def test_gpt_runs_are_judged(self):
        runs = {row["name"]: row for row in self.found["gpt"]}
        self.assertTrue(runs["control again"]["identical"])
        budgets = [row for row in self.found["gpt"] if row["budget_of_peak"]]
        self.assertGreaterEqual(len(budgets), 10)
        for row in budgets:
            self.assertLessEqual(GPT_FIELDS, set(row))
            self.assertTrue(row["identical"], row)
            self.assertIn("demand_misses", row["sluice"]["total"])


class NoGpu(unittest.TestCase):
    def expect(self, result):
        if machine_has_gpu():
            self.assertEqual(result.returncode, 0, result.stdout + result.stderr)
        else:
            self.assertEqual(result.returncode, 77, result.stdout + result.stderr)
            self.assertIn("no GPU", result.stdout)

    def test_says_so(self):
        self.expect(run(BUILD, "--check"))

    def test_softcuda_is_not_taken_for_the_vendors_driver(self):
        self.expect(run(BUILD, "--check", libraries=SOFTWARE))

    def test_bad_usage(self):
        for arguments in ([], ["/nonexistent"], [BUILD, "--what"], [BUILD, "--out"], [BUILD, "again"]):
            result = run(*arguments)
            self.assertEqual(result.returncode, 2, arguments)
            self.assertEqual(len(result.stderr.splitlines()), 1, result.stderr)


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *sys.argv[2:]], verbosity=2)
