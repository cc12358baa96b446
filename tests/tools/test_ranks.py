"""sluice trace with the traces of several ranks: what they waited for, on one clock."""
import json
import subprocess
import unittest

from support import MS, REALTIME, STEPS, TOOL, ToolTest, clean_environment, rank_records, sluice, write_trace

MIB = 1 << 20
FETCH, EVICT, POPULATE = 2, 0, 3

class JobTest(ToolTest):
    def write(self, rank, more=(), **options):
        return write_trace(self.folder / f"run.{rank}.slt", rank_records(rank, **options) + list(more))

    def shown(self, *arguments):
        result = sluice("trace", *arguments, "--json")
        self.assertEqual((result.returncode, result.stderr), (0, ""))
        return json.loads(result.stdout)


class Ranks(JobTest):

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
        self.assertIn("by work: 12 launches were timed, and 108 count as the mean of similar ones.", text)

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
        self.assert_one_line(result.stderr, "gap.slt: 31 collectives follow lost records and are not compared")
        self.assertEqual([rank["compared"] for rank in json.loads(result.stdout)["ranks"]], [9, 9])

    def test_what_is_not_of_one_job(self):
        other, single = self.write(2, communicator=8), write_trace(self.folder / "single.slt", rank_records(3)[:3])
        result = sluice("trace", "ranks", self.write(0), other)
        self.assertEqual(result.returncode, 1)
        self.assert_one_line(result.stderr, "no communicator in common: they do not belong to one job")
        result = sluice("trace", "ranks", self.write(0), single)
        self.assertEqual(result.returncode, 1)
        self.assert_one_line(result.stderr, "single.slt: the trace has no collectives")

    def test_one_rank_twice(self):
        copy = self.folder / "copy.slt"
        copy.write_bytes(self.write(0).read_bytes())
        result = sluice("trace", "ranks", self.write(0), self.write(1), copy)
        self.assertEqual((result.returncode, result.stdout), (1, ""))
        self.assert_one_line(result.stderr, "run.0.slt and ", "copy.slt are traces of one process")

    def test_ranks_are_called_what_they_were(self):
        """In the order of their numbers, as the launcher gave them, not of their files' names; where one has none, of the files."""
        late = {2: 0, 10: 3 * MS, 11: 0}
        paths = [self.write(rank, late=late[rank], more=[("metadata", dict(time=1000 * MS), f"rank={rank}")]) for rank in (10, 11, 2)]
        for command in "ranks", "info", "timeline":
            told = self.shown(command, *paths)["ranks"]
            self.assertEqual([(rank["rank"], rank["file"]) for rank in told], [(rank, str(self.folder / f"run.{rank}.slt")) for rank in late])
        self.assertIn("Rank 10 kept the others", sluice("trace", "ranks", *paths).stdout)
        self.assertIn("Rank 10 takes 120 ms more", sluice("trace", "phases", *paths).stdout)
        self.assertRegex(sluice("trace", "timeline", *paths).stdout, r"(?m)^rank 11 ")
        for numbers in ((0, 1, None), (3, 3, 4), (1, "-1", 2), (1, 1 << 32, 3)):
            paths = [self.write(i, process=i + 1, more=[("metadata", dict(time=1000 * MS), f"rank={number}")] if number is not None else [])
                     for i, number in enumerate(numbers)]
            self.assertEqual([rank["rank"] for rank in self.shown("ranks", *paths)["ranks"]], [0, 1, 2], numbers)

    def test_it_says_when_it_cannot_write(self):
        paths = [self.write(0), self.write(1)]
        with open("/dev/full", "w") as full:
            result = subprocess.run([TOOL, "trace", "ranks", *paths], stdout=full, stderr=subprocess.PIPE, text=True,
                                    env=clean_environment())
        self.assertEqual(result.returncode, 1)
        self.assert_one_line(result.stderr, "cannot write the output: No space left")


class Info(JobTest):
    def test_a_row_for_each_rank(self):
        moved = [("budget", dict(time=1000 * MS, a=64 * MIB, b=2 * MIB)),
                 ("alloc", dict(id=1, time=1001 * MS, a=1 << 40, b=24 * MIB)),
                 ("move", dict(flags=POPULATE, id=1, tick=1, time=1002 * MS, a=12 * MIB)),
                 ("move", dict(flags=EVICT, id=1, tick=2, time=1003 * MS, a=12 * MIB)),
                 ("move", dict(flags=FETCH + 16, id=2, tick=3, time=1004 * MS, a=2 * MIB)),
                 ("move", dict(flags=FETCH, id=3, tick=3, time=1004 * MS, a=3 * MIB)),
                 ("stall", dict(tick=3, time=1005 * MS, a=700, b=1, c=3))]
        paths = [self.write(0, more=moved), self.write(1, late=3 * MS, more=moved[:2]), self.write(2, late=MS)]
        told = self.shown("info", *paths)
        keys = "launches", "need_bytes", "budget_bytes", "peak_bytes", "in_bytes", "out_bytes", "stalls", "stall_ns", "collectives", "waited_ns"
        rows = [tuple(rank[key] for key in keys) for rank in told["ranks"]]
        self.assertEqual(rows, [
            (2 * STEPS, 24 * MIB, 64 * MIB, 12 * MIB, 5 * MIB, 12 * MIB, 1, 700, STEPS, 3 * MS * STEPS),
            (2 * STEPS, 24 * MIB, 64 * MIB, 24 * MIB, 0, 0, 0, 0, STEPS, 0),
            (2 * STEPS, 0, 0, 0, 0, 0, 0, 0, STEPS, 2 * MS * STEPS)])
        self.assertEqual(tuple(told["all"][key] for key in keys), tuple(map(sum, zip(*rows))))
        self.assertEqual([rank["process"] for rank in told["ranks"]], [100, 101, 102])
        self.assertEqual(told["shared_collectives"], STEPS)
        text = sluice("trace", "info", *paths).stdout.splitlines()
        self.assertEqual([line.split()[0] for line in text[:5]], ["rank", "0", "1", "2", "all"])
        self.assertEqual(text[5], "Clocks are lined up at the ends of collectives; half of these lie within 0 ns.")

    def test_clocks(self):
        """By collectives where they were timed, whatever the machines think of the time of day; by that where they were not."""
        clocks = [0, 5_000 * MS, -300 * MS]
        paths = [self.write(rank, clock=clock, realtime=REALTIME + 7 * MS * rank) for rank, clock in enumerate(clocks)]
        told = [rank["clock"] for rank in self.shown("info", *paths)["ranks"]]
        self.assertEqual([clock["lined_up_by"] for clock in told], ["first", "collectives", "collectives"])
        for clock, shift in zip(told, clocks):
            self.assertLess(abs(clock["offset_ns"] + shift), 10)
            self.assertLess(abs(clock["drift"]), 1e-6)
        records = [record for record in rank_records(2, clock=-300 * MS, realtime=REALTIME + 7 * MS) if record[0] != "duration"]
        told = [rank["clock"] for rank in self.shown("info", *paths[:2], write_trace(paths[2], records))["ranks"]]
        self.assertEqual([clock["lined_up_by"] for clock in told], ["first", "collectives", "realtime"])
        self.assertEqual(told[2]["offset_ns"], 307 * MS)
        text = sluice("trace", "info", *paths).stdout
        self.assertIn("Those of the other ranks are lined up by the time since 1970, as no timed collective relates them.", text)


class Phases(JobTest):
    def test_ranks_beside_each_other(self):
        moved = [("move", dict(flags=FETCH, id=2, tick=3, time=1004 * MS, a=2 * MIB)), ("stall", dict(tick=3, time=1005 * MS, a=700, b=1, c=3))]
        paths = [self.write(0, more=moved), self.write(1, late=3 * MS), self.write(2, late=1 * MS)]
        told = self.shown("phases", *paths)
        phases = {phase["phase"]: phase["ranks"] for phase in told["phases"]}
        self.assertEqual((told["took_is"], list(phases)), ("device", ["collective", "other", "all"]))
        self.assertEqual([rank["kernel_ns"] for rank in phases["other"]], [4 * MS * STEPS, 7 * MS * STEPS, 5 * MS * STEPS])
        self.assertEqual([rank["waited_ns"] for rank in phases["collective"]], [3 * MS * STEPS, 0, 2 * MS * STEPS])
        self.assertEqual([rank["took_ns"] for rank in phases["collective"]], [1 * MS * STEPS] * 3)
        self.assertEqual([rank["took_ns"] for rank in phases["all"]], [5 * MS * STEPS + 700, 8 * MS * STEPS, 6 * MS * STEPS])
        self.assertEqual([(rank["in_bytes"], rank["stall_ns"]) for rank in phases["other"]], [(2 * MIB, 700), (0, 0), (0, 0)])
        text = sluice("trace", "phases", *paths).stdout
        self.assertRegex(text, r"(?m)^other +rank 1 +280 ms +200 ms +rank 0 +2 MiB +0 B$")
        self.assertIn("Rank 1 takes 80.0 ms more than the median for other.", text)

    def test_without_durations(self):
        """The host's time."""
        paths = [write_trace(self.folder / f"{rank}.slt", [record for record in rank_records(rank) if record[0] != "duration"])
                 for rank in range(2)]
        told = self.shown("phases", *paths)
        self.assertEqual(told["took_is"], "host")
        everything = told["phases"][-1]["ranks"][0]
        self.assertEqual(everything["took_ns"], everything["host_ns"])
        self.assertGreater(everything["host_ns"], 0)

    def test_wrong_arguments(self):
        paths = [self.write(0), self.write(1)]
        self.assert_usage_error(sluice("trace", "phases", "--launches", *paths), "--launches takes one file")
        self.assert_usage_error(sluice("trace", "phases", "--iteration", "1", *paths), "there is no iteration 1; ", "run.0.slt has 0")
        self.assert_usage_error(sluice("trace", "phases", "--iteration", "0", *paths), "count from 1")


class Timeline(JobTest):
    clocks = 0, 5_000 * MS, -300 * MS

    def test_ranks_on_one_axis(self):
        moved = [("move", dict(flags=POPULATE, id=1, tick=1, time=1001 * MS, a=12 * MIB)),
                 ("move", dict(flags=FETCH, id=2, tick=3, time=1201 * MS, a=2 * MIB)),
                 ("move", dict(flags=FETCH + 16, id=3, tick=3, time=1201 * MS, a=3 * MIB)),
                 ("move", dict(flags=EVICT, id=3, tick=3, time=1301 * MS, a=3 * MIB)),
                 ("stall", dict(tick=3, time=1205 * MS, a=700, b=1, c=41))]
        paths = [self.write(rank, more=[] if rank else moved, clock=clock, late=3 * MS * (rank == 1)) for rank, clock in enumerate(self.clocks)]
        told = self.shown("timeline", "--width", "73", *paths)
        self.assertEqual([{len(row) for key, row in rank.items() if key not in ("file", "rank")} for rank in told["ranks"]], [{40}] * 3)
        self.assertTrue((STEPS - 1) * 10 * MS < told["duration_ns"] < STEPS * 10 * MS)
        waited = [rank["waited_ns"] for rank in told["ranks"]]
        self.assertEqual([sum(row) for row in waited], [3 * MS * STEPS, 0, 3 * MS * STEPS])
        self.assertTrue(all(2 * MS < ns < 4 * MS for row in (waited[0], waited[2]) for ns in row), "a step is a column")
        first = told["ranks"][0]
        for key, bytes, column in (("in_bytes", 5 * MIB, 20), ("out_bytes", 3 * MIB, 30), ("stall_ns", 700, 20)):
            self.assertEqual(sum(first[key]), bytes, key)
            self.assertIn(first[key].index(max(first[key])), (column, column + 1), key)
        self.assertEqual((first["device_bytes"][1], first["device_bytes"][25], first["device_bytes"][-1]), (12 * MIB, 17 * MIB, 14 * MIB))
        text = sluice("trace", "timeline", "--width", "73", *paths, env=clean_environment(LC_ALL="C")).stdout.splitlines()
        self.assertTrue(text[0].startswith("gpt, 3 ranks, 39"), text[0])
        self.assertEqual([line.split("|")[0].strip() for line in text if "|" in line],
                         ["rank 0", "on the device", "in", "out", "stalled", "waits (peers)", "rank 1", "on the device", "rank 2",
                          "on the device", "waits (peers)"])
        self.assertIn("Clocks are lined up at the ends of collectives; half of these lie within 0 ns.", text)

    def test_wrong_arguments(self):
        paths = [self.write(0), self.write(1)]
        self.assert_usage_error(sluice("trace", "timeline", "--iteration", "1", *paths), "there is no iteration 1; ", "run.0.slt has 0")
        self.assert_usage_error(sluice("trace", "timeline", "--width", "5", *paths), "--width takes a number from 24")


class AnyCommand(JobTest):
    """What takes the traces of several ranks."""
    commands = ["info"], ["phases"], ["timeline"], ["export", "--perfetto", "/dev/null"]

    def test_what_is_no_trace(self):
        for command in self.commands:
            for paths in ([self.write(0), "/no/such/file"], ["/no/such/file", self.write(0)]):
                result = sluice("trace", *command, *paths)
                self.assertEqual((result.returncode, result.stdout), (1, ""), command)
                self.assert_one_line(result.stderr, "/no/such/file: cannot be opened")

    def test_what_is_not_of_one_job(self):
        """Is shown, and said."""
        other = self.write(2, communicator=8)
        for command in self.commands:
            result = sluice("trace", *command, self.write(0), other)
            self.assertEqual(result.returncode, 1, command)
            self.assertNotEqual(result.stdout, "")
            self.assert_one_line(result.stderr, "no communicator in common: they do not belong to one job")

    def test_one_rank_twice(self):
        for command in self.commands:
            result = sluice("trace", *command, self.write(0), self.write(0))
            self.assertEqual((result.returncode, result.stdout), (1, ""), command)
            self.assert_one_line(result.stderr, "are traces of one process", f"trace {command[0]} compares")

    def test_a_trace_that_ends_early(self):
        paths = [self.write(0), write_trace(self.folder / "cut.slt", rank_records(1), per_block=20, ended=False)]
        for command in self.commands:
            result = sluice("trace", *command, *paths)
            self.assertEqual(result.returncode, 0, command)
            self.assert_one_line(result.stderr, "cut.slt: ", "no end record")

    def test_they_say_when_they_cannot_write(self):
        for command in self.commands:
            with open("/dev/full", "w") as full:
                result = subprocess.run([TOOL, "trace", *command, self.write(0), self.write(1)], stdout=full, stderr=subprocess.PIPE,
                                        text=True, env=clean_environment())
            self.assertEqual(result.returncode, 1, command)
            self.assert_one_line(result.stderr, "cannot write the output: No space left")


if __name__ == "__main__":
    unittest.main()
