#!/usr/bin/env python3
"""What the core makes of a step that repeats is no slower than the simple schedule, and hardly moves more: it carries
its plans out in the time that they are for, however far the program's launches are ahead of the device.

usage: test_steps.py SLUICE SEQUENCE_GPT
"""
import json
import os
import subprocess
import sys
import tempfile
import unittest

import sequences
from planned import planned

CHUNK_BYTES = 64 << 20


class Steps(unittest.TestCase):
    def replay(self, budget_bytes, link_gbs, *arguments):
        with tempfile.TemporaryDirectory() as folder:
            trace = os.path.join(folder, "gpt.slt")
            subprocess.run([SEQUENCE_GPT, trace, "steps=12", *arguments], check=True)
            out = subprocess.run([SLUICE, "plan", "--json", "--chunk", str(CHUNK_BYTES), "--budget", str(budget_bytes),
                                  "--driver", "ideal", "--link-gbs", str(link_gbs), trace], check=True, stdout=subprocess.PIPE, text=True)
            return json.loads(out.stdout)["predictions"][0]

    def is_like_the_simple_schedule(self, accumulate, share, link_gbs):
        step = sequences.gpt("fused", accumulate)
        budget = sequences.budget_bytes(step, share)
        seconds, copied_in, copied_out = planned(step, budget, link_gbs * 1e9)
        replayed = self.replay(budget, link_gbs, f"accumulate={accumulate}")
        last = replayed["each"][-4:]
        self.assertLessEqual(sum(one["step_ns"] for one in last) / 4e9, 1.01 * seconds)
        self.assertLessEqual(sum(one["bytes_in"] + one["bytes_out"] for one in last) / 4,
                             1.02 * (copied_in + copied_out))

    def test_with_hundreds_of_copies_ahead(self):
        self.is_like_the_simple_schedule(4, 0.66, 24)

    def test_where_every_launch_of_the_update_waits(self):
        self.is_like_the_simple_schedule(1, 0.5, 24)


if __name__ == "__main__":
    SLUICE, SEQUENCE_GPT = sys.argv[1:3]
    unittest.main(argv=sys.argv[:1])
