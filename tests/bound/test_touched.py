#!/usr/bin/env python3
"""Sequences out of softcuda's record of what launches touched, on records that are known by thought."""
import json
import pathlib
import sys
import tempfile
import unittest

import touched
from touched import Use

K = 1 << 10


def make(uses, begin=0, end=100):
    return touched.sequence([Use(*use) for use in uses], begin, end, "made")


class Sequence(unittest.TestCase):
    def test_content_that_is_overwritten_is_dead_before(self):
        """Otherwise moving what nobody reads counts as needed, and the bound is too high."""
        found = make([(0, 1, False, [], [(0, K)]), (1, 2, False, [(0, K)], []), (2, 3, False, [], [(0, K)]),
                      (3, 4, False, [(0, K)], [])])
        self.assertEqual([launch["deaths"] for launch in found["launches"]], [[], [], [0], [], [0], []])
        self.assertEqual(found["alive"], [])

    def test_what_is_updated_lives_on(self):
        """Otherwise weights would cost nothing."""
        found = make([(0, 1, False, [(0, K)], [(0, K)]), (200, 201, False, [(0, K)], [])])
        self.assertEqual((found["alive"], [launch["deaths"] for launch in found["launches"]]), ([0], [[], [], []]))

    def test_memory_is_cut_where_uses_differ(self):
        """Otherwise a launch that uses a part of a tensor needs all of it."""
        found = make([(0, 1, False, [(0, 4 * K)], []), (1, 2, False, [(K, 2 * K)], [])])
        self.assertEqual([[found["chunk_bytes"][piece] for piece in launch["writes"]] for launch in found["launches"][1:3]],
                         [[K, K, 2 * K], [K]])

    def test_when_launches_are_ready(self):
        """Otherwise time that the program's own calls take is lost, or counts twice behind a wait."""
        found = make([(7, 9, False, [], [(0, K)]), (12, 15, True, [(0, K)], []), (20, 21, False, [], [(0, K)])], 5, 30)
        said = [(launch["ns"], launch["ready_ns"], launch["awaited"]) for launch in found["launches"]]
        self.assertEqual(said, [(0, 0, True), (2, 2, False), (3, 7, True), (1, 5, False), (0, 15, False)])

    def test_launches_at_the_same_time(self):
        """Otherwise they would be bounded as if they ran one after another, which takes longer."""
        with self.assertRaises(touched.Overlap):
            make([(0, 5, False, [], []), (4, 6, False, [], [])])


class Record(unittest.TestCase):
    def test_steps_lie_between_records(self):
        """Otherwise launches between steps count as the steps'."""
        records = [10, 500, 2500, 3000, 5100]
        self.assertEqual(touched.find_steps(records, [2e-3, 2.1e-3]), [(500, 2500), (3000, 5100)])
        self.assertIsNone(touched.find_steps(records, [2e-3, 2e-3]))

    def test_files(self):
        """Otherwise a graph counts twice, pinned memory counts as the device's, or a wait is not seen."""
        touches = [dict(op=1, kind="copy", read=[[64 * K, K]], written=[[0, K]]),
                   dict(op=2, kind="graph", read=[], written=[]), dict(op=3, kind="kernel", read=[[0, K]], written=[]),
                   dict(op=5, kind="copy", read=[[0, K]], written=[[96 * K, K]])]
        names = ("op", "kind", "start_ns", "end_ns", "bytes_in", "bytes_out")
        times = [dict(zip(names, values)) for values in (
            (1, "copy", 1, 2, K, 0), (2, "graph", 2, 3, 0, 0), (3, "kernel", 2, 3, 0, 0), (4, "record", 3, 3, 0, 0),
            (5, "copy", 3, 4, 0, K))]
        with tempfile.TemporaryDirectory() as folder:
            paths = [pathlib.Path(folder) / name for name in ("touched", "timeline")]
            for path, lines in zip(paths, (touches, times)):
                path.write_text("\n".join(map(json.dumps, lines)), encoding="utf-8")
            uses, records = touched.load(*paths)
        self.assertEqual(records, [3])
        self.assertEqual(uses, [Use(1, 2, False, [], [(0, K)]), Use(2, 3, False, [(0, K)], []), Use(3, 4, True, [(0, K)], [])])


if __name__ == "__main__":
    sys.exit(unittest.main())
