#!/usr/bin/env python3
"""The traces of invented programs and the sequences that bounds are made of tell of the same steps.

usage: test_traces.py SLUICE SEQUENCE_GPT
"""
import json
import os
import subprocess
import sys
import tempfile
import unittest

import sequences
from lower_bound import lower_bound

LAYERS, MIB = 4, 1 << 20


class Traces(unittest.TestCase):
    def sequence_of_trace(self, *arguments, iterations=1):
        with tempfile.TemporaryDirectory() as folder:
            trace, out = os.path.join(folder, "gpt.slt"), os.path.join(folder, "gpt.json")
            subprocess.run([SEQUENCE_GPT, trace, f"layers={LAYERS}", "params=1.25e8", "activations=1", "steps=8",
                            *arguments], check=True)
            subprocess.run([SLUICE, "plan", "--budget", "1", "--sequence", out, "--iterations", str(iterations), trace],
                           check=True, stdout=subprocess.DEVNULL)
            with open(out, encoding="utf-8") as file:
                return json.load(file)

    def test_a_trace_has_the_bound_of_its_model(self):
        for optimizer, accumulate in ("fused", 1), ("foreach", 2):
            with self.subTest(optimizer=optimizer):
                model = sequences.gpt(optimizer, accumulate, layers=LAYERS, params=1.25e8, activation_bytes=1 << 30)
                traced = self.sequence_of_trace(f"foreach={int(optimizer == 'foreach')}", f"accumulate={accumulate}")
                for share in 0.8, 0.5, 0.3:
                    budget = sequences.budget_bytes(model, share)
                    self.assertAlmostEqual(lower_bound(traced, budget, 52e9), lower_bound(model, budget, 52e9), 6)

    def test_many_steps_are_bounded_by_as_many_times_one(self):
        one, three = self.sequence_of_trace(), self.sequence_of_trace(iterations=3)
        budget = 20 * 64 * MIB
        self.assertAlmostEqual(lower_bound(three, budget, 52e9), 3 * lower_bound(one, budget, 52e9), 5)
        # What need not return to its beginning may begin with the best on the device.
        self.assertLess(lower_bound(dict(three, cyclic=False), budget, 52e9), lower_bound(three, budget, 52e9))


if __name__ == "__main__":
    SLUICE, SEQUENCE_GPT = sys.argv[1:3]
    unittest.main(argv=sys.argv[:1])
