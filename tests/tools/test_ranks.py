"""sluice trace with the traces of several ranks: what they waited for, on one clock."""
import json
import subprocess
import unittest

from support import MS, STEPS, TOOL, ToolTest, clean_environment, rank_records, sluice, write_trace

class Ranks(ToolTest):
    def write(self, rank, **options):
        return write_trace(self.folder / f"run.{rank}.slt", rank_records(rank, **options))

    def test_who_was_waited_for(self):
        paths = [self.write(0), self.write(1, late=3 * MS), self.write(2, late=1 * MS)]
        result = sluice("trace", "ranks", "--json", *paths)
        self.assertEqual((result.returncode, result.stderr), (0, ""))
        ranks = json.loads(result.stdout)["ranks"]
        self.assertEqual([rank["waited_ns"] for rank in ranks], [3 * MS * STEPS, 0, 2 * MS * STEPS])
        self.assertEqual([rank["last"] for rank in ranks], [0, STEPS, 0])
        self.assertEqual(ranks[1]["late_ns"], 2 * MS * STEPS)
        self.assertEqual(ranks[1]["late_by_work_ns"], 2 * MS * STEPS)  # though one kernel in ten was timed
        self.assertEqual((ranks[1]["timed_launches"], ranks[1]["estimated_launches"]), (STEPS // 10, STEPS - STEPS // 10))
        text = sluice("trace", "ranks", *paths).stdout
        self.assertIn("Rank 1 kept the others waiting most, 80.0 ms in all, mostly because its launches took longer.", text)
        self.assertIn("by work: 12 launches were timed, and 108 count as the mean of those like them.", text)

    def test_a_rank_whose_trace_ends_early(self):
        paths = [self.write(0), self.write(1, steps=STEPS // 2)]
        result = sluice("trace", "ranks", *paths)
        self.assertEqual((result.returncode, result.stderr), (0, ""))
        self.assertIn("20 of 60 collectives were not compared", result.stdout)

    def test_lost_records(self):
        records = rank_records(1)
        records.insert(30, ("gap", dict(tick=20, time=1010 * MS, a=3)))
        paths = [self.write(0), write_trace(self.folder / "gap.slt", records)]
        result = sluice("trace", "ranks", "--json", *paths)
        self.assertEqual(result.returncode, 1)
        self.assert_one_line(result.stderr, "gap.slt: 31 collectives are behind records that were lost, and are not compared")
        self.assertEqual([rank["compared"] for rank in json.loads(result.stdout)["ranks"]], [9, 9])

    def test_what_is_not_of_one_job(self):
        other, single = self.write(2, communicator=8), write_trace(self.folder / "single.slt", rank_records(3)[:3])
        result = sluice("trace", "ranks", self.write(0), other)
        self.assertEqual(result.returncode, 1)
        self.assert_one_line(result.stderr, "no communicator in common: they are not of one job")
        result = sluice("trace", "ranks", self.write(0), single)
        self.assertEqual(result.returncode, 1)
        self.assert_one_line(result.stderr, "single.slt: no collectives are in it")

    def test_one_rank_twice(self):
        copy = self.folder / "copy.slt"
        copy.write_bytes(self.write(0).read_bytes())
        result = sluice("trace", "ranks", self.write(0), self.write(1), copy)
        self.assertEqual((result.returncode, result.stdout), (1, ""))
        self.assert_one_line(result.stderr, "run.0.slt and ", "copy.slt are traces of one process")

    def test_it_says_when_it_cannot_write(self):
        paths = [self.write(0), self.write(1)]
        with open("/dev/full", "w") as full:
            result = subprocess.run([TOOL, "trace", "ranks", *paths], stdout=full, stderr=subprocess.PIPE, text=True,
                                    env=clean_environment())
        self.assertEqual(result.returncode, 1)
        self.assert_one_line(result.stderr, "cannot write the output: No space left")


if __name__ == "__main__":
    unittest.main()
