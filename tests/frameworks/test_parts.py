#!/usr/bin/env python3
"""What decides which framework cases are run and what is said of them, without running any."""
import itertools
import pathlib
import sys
import tempfile
import types
import unittest
from unittest import mock

import cases
import debian
import figures
import run


class Choice(unittest.TestCase):
    def test_every_two_values_come_together(self):
        """Otherwise a combination that nobody meant to leave out is never run."""
        chosen = cases.choose(cases.PROGRAMS)
        met = set().union(*(cases.pairs_of(case._replace(schedule=case.schedule.split(":")[0])) for case in chosen))
        names = [program.name for program in cases.PROGRAMS]
        without = {(program.name, allocator) for program in cases.PROGRAMS for allocator in program.without}
        values = list(enumerate([names, *cases.FACTORS.values()]))
        for (i, some), (j, others) in itertools.combinations(values, 2):
            for pair in itertools.product(some, others):
                self.assertEqual(((i, pair[0]), (j, pair[1])) in met, pair not in without, pair)

    def test_it_is_always_the_same(self):
        """Otherwise every run would do new cases, and no run would be repeated."""
        self.assertEqual(cases.choose(cases.PROGRAMS), cases.choose(list(cases.PROGRAMS)))


class Figures(unittest.TestCase):
    def ended(self, iterations):
        total = {"launches": sum(iteration["launches"] for iteration in iterations)}
        return types.SimpleNamespace(sluice={"total": total, "iterations": iterations}, ended_well=lambda: True,
                                     folder=pathlib.Path("nowhere"))

    def test_steady_part_of_launches(self):
        """Otherwise the first steps, or the weights' way home, count as steady."""
        self.assertEqual(figures.part_of_launches(self.ended([{"launches": 160}]), 16), (60, 150, 9))

    def test_iterations_count_with_their_part(self):
        """Otherwise what was used in place before the steady steps lowers the foreseen share."""
        ended = self.ended([{"launches": 100, "remote_bytes": 1000}, {"launches": 60, "remote_bytes": 30}])
        self.assertAlmostEqual(figures.from_iterations(ended, "remote_bytes", 60, 150), 400 + 25)

    def test_only_fetches_inside_count(self):
        """Otherwise evictions, or fetches of the first steps, count as bytes in."""
        dump = "\n".join(f"{tick:8d}  0.1  1  move      {what} chunk=1 bytes=5" for tick, what in (
            (1, "fetch demand"), (2, "fetch plan"), (3, "fetch late"), (3, "evict plan"), (3, "populate plan"), (4, "fetch demand")))
        with mock.patch("subprocess.run", return_value=types.SimpleNamespace(stdout=dump)):
            self.assertEqual(figures.fetched("sluice", "trace", 1, 3), {"plan": 5, "demand": 0, "late": 5})

    def test_budget_is_kept(self):
        """Otherwise an allocator that sluice does not see passes."""
        for held, kept in ((100 << 20, True), ((102 << 20) + 1, False)):
            ended = types.SimpleNamespace(device={"peak_device_bytes": held})
            self.assertIs(figures.is_kept(ended, 100 << 20), kept)
        self.assertIsNone(figures.is_kept(types.SimpleNamespace(device=None), 1))


class Verdict(unittest.TestCase):
    def test_what_is_wrong(self):
        """Otherwise a case that differs, fails or takes more than its budget counts as good."""
        good = {"failure": None, "identical": True, "budget_kept": True, "peak_bytes": 2, "budget_bytes": 1}
        self.assertIsNone(run.judge(good))
        self.assertIsNone(run.judge({**good, "identical": None}))
        for name, value in (("failure", "status 1"), ("identical", False), ("budget_kept", False)):
            self.assertIsNotNone(run.judge({**good, name: value}), name)

    def test_results_of_the_same_case_are_replaced(self):
        """Otherwise a case that was mended stays in the table as it was."""
        entry = {"program": "a", "allocator": "b", "budget_share": "1/2", "daemon": "inline", "schedule": "late", "steps": 1}
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "results.json"
            possible = [cases.Case(program, "b", "1/2", "inline", "late") for program in "aced"]
            run.keep(path, [entry, {**entry, "program": "c"}, {**entry, "program": "d"}], possible)
            run.keep(path, [{**entry, "steps": 2}], possible[:3])
            self.assertEqual([(kept["program"], kept["steps"]) for kept in run.running.load(path)], [("a", 2), ("c", 1)])


class Packages(unittest.TestCase):
    def test_file_names(self):
        """Otherwise what apt-get downloaded is not found."""
        self.assertEqual(debian.file_name("libc6", "2:1.4~rc+b1", "amd64"), "libc6_2%3a1.4~rc+b1_amd64.deb")

    def test_mirror(self):
        """Otherwise packages come from the mirror of updates or security fixes, which does not have them all."""
        listed = "Packages|main|a-security|http://x\nSources|main|a|http://s\nPackages|main|a|http://y\n"
        with mock.patch.object(debian, "run", return_value=listed):
            self.assertEqual(debian.find_mirror(), "http://y")
        with mock.patch.object(debian, "run", return_value=""), self.assertRaises(debian.Unavailable):
            debian.find_mirror()


if __name__ == "__main__":
    sys.exit(unittest.main())
