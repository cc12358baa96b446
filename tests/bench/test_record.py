#!/usr/bin/env python3
"""A recorded step costs what the program costs that it was recorded from.

usage: test_record.py BUILD
"""
import json
import os
import subprocess
import sys
import tempfile
import unittest

import record_accesses

# On two streams, with allocations in stream order: memory comes and goes within a step.
PROGRAM = ["workloads/mlp", "--layers", "4", "--width", "512", "--batch", "32", "--seed", "1"]
STEPS = "6"


class Record(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.command = [os.path.join(BUILD, PROGRAM[0]), *PROGRAM[1:], "--steps", STEPS]

    def path(self, name):
        return os.path.join(self.folder.name, name)

    def traced(self):
        """The program's own trace."""
        record_accesses.run(BUILD, self.command, self.folder.name)
        return self.path("trace")

    def recorded(self, *more):
        """That of its step, over and over."""
        step, trace = self.path("step"), self.path("made")
        subprocess.run([sys.executable, record_accesses.__file__, BUILD, step, *self.command], check=True)
        subprocess.run([os.path.join(BUILD, "tests", "bench", "sequence-recorded"), trace, step, STEPS, *more], check=True)
        return trace

    def plan(self, trace):
        done = subprocess.run([os.path.join(BUILD, "tools", "sluice"), "plan", "--json", "--chunk", "2M", "--budget", "14M,8M",
                               "--policy", "lru,plan", trace], check=True, stdout=subprocess.PIPE, text=True)
        return json.loads(done.stdout)["predictions"]

    def test_it_costs_what_the_program_costs(self):
        own = self.plan(self.traced())
        for more in (), ("claimed",):
            for program, step in zip(own, self.plan(self.recorded(*more))):
                self.assertEqual(program["need_bytes"], step["need_bytes"])
                # Plans begin elsewhere in the step, so they may choose another chunk once.
                chunk, part = (2 << 20, 0.15) if program["policy"] == "plan" else (0, 0.02)
                for figure in "bytes_in", "bytes_out":
                    self.assertAlmostEqual(program[figure], step[figure], delta=chunk)
                self.assertEqual(program["demand_misses"], step["demand_misses"])
                self.assertAlmostEqual(program["step_ns"] / step["step_ns"], 1, delta=part)


if __name__ == "__main__":
    BUILD = os.path.abspath(sys.argv[1])
    unittest.main(argv=sys.argv[:1])
