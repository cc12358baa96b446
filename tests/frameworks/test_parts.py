#!/usr/bin/env python3
"""What decides which framework cases are run and what is said of them, without running any."""
import contextlib
import io
import itertools
import pathlib
import sys
import tempfile
import types
import unittest
import zipfile
from unittest import mock

import cases
import debian
import figures
import frameworks
import run
import running
import varying
import wheels


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
        self.assertEqual(figures.part_of_launches(self.ended([{"launches": 160}]), 16, []), (60, 150, 9))
        ends = list(range(100, 100 + 16 * 4, 4))  # behind 96 launches that belong to no step
        self.assertEqual(figures.part_of_launches(self.ended([{"launches": 180}]), 16, ends), (120, 156, 9))
        self.assertEqual(figures.part_of_launches(self.ended([{"launches": 160}]), 16, ends[:-1]), (60, 150, 9))

    def test_iterations_count_with_their_part(self):
        """Otherwise what was used in place before the steady steps lowers the foreseen share."""
        ended = self.ended([{"launches": 100, "remote_bytes": 1000}, {"launches": 60, "remote_bytes": 30}])
        self.assertAlmostEqual(figures.from_iterations(ended, "remote_bytes", 60, 150), 400 + 25)

    def test_only_fetches_inside_count(self):
        """Otherwise evictions, or fetches of the first steps, count as bytes in."""
        dump = "\n".join(f"{tick:8d}  0.1  1  {what} bytes=5" for tick, what in (
            (1, "move fetch demand chunk=1"), (2, "move fetch plan chunk=1"), (3, "move fetch late chunk=1"), (3, "sync event ns=1"),
            (3, "move evict plan chunk=1"), (3, "sync stream ns=1"), (3, "move populate plan chunk=1"), (4, "move fetch demand chunk=1")))
        with mock.patch("subprocess.run", return_value=types.SimpleNamespace(stdout=dump)):
            records = figures.dumped("sluice", "trace")
        self.assertEqual(figures.fetched(records, 1, 3), {"plan": 5, "demand": 0, "late": 5})
        self.assertEqual(figures.waits_for_events(records), [3])

    def test_bound_is_what_the_steady_steps_take_longer(self):
        """Otherwise time between steps counts as a step's, or the last step, of which nobody knows what it leaves behind."""
        steps = [2e-3] * 10
        records = [moment for number in range(10) for moment in (number * 3 * 10**6, number * 3 * 10**6 + 2 * 10**6)]
        uses = [figures.touched.Use(begin, begin + 10, False, [], [(0, 512)]) for begin in records[::2]]
        with tempfile.TemporaryDirectory() as folder:
            ended = types.SimpleNamespace(steps=steps, ended_well=lambda: True, folder=pathlib.Path(folder))
            with mock.patch.object(figures.touched, "load", return_value=(uses, records)):
                sequence, count, seconds = figures.steady_sequence(ended)
                ended.steps = steps[:7]
                self.assertIsNone(figures.steady_sequence(ended))
            ended.steps = steps
            self.assertEqual((count, seconds, len(sequence["launches"])), (3, 8e-3, 3 + 2))
            bounded = types.SimpleNamespace(returncode=0, stdout='{"bound_seconds": 0.0095}')
            with mock.patch("subprocess.run", return_value=bounded):
                self.assertAlmostEqual(figures.bound_seconds(ended, 1, (sequence, count, seconds)), 2e-3 + 0.5e-3)

    def test_budget_is_kept(self):
        """Otherwise an allocator that sluice does not see passes, or a rank that takes more than the others."""
        def holding(*held):
            return types.SimpleNamespace(each=[types.SimpleNamespace(device=bytes and {"peak_device_bytes": bytes}) for bytes in held])

        self.assertIs(figures.is_kept(holding(100 << 20), 100 << 20), True)
        self.assertIs(figures.is_kept(holding((102 << 20) + 1), 100 << 20), False)
        self.assertIs(figures.is_kept(holding(100 << 20, (102 << 20) + 1), 100 << 20), False)
        self.assertIsNone(figures.is_kept(holding(None, 1), 1))


class Varying(unittest.TestCase):
    RECORDS = [line.split() for line in (
        "9 0.1 1 decision plan begun nothing is planned launch=9", "10 0.1 1 decision plan discarded misprediction first=9 left=3 carried_out=1",
        "11 0.1 1 decision plan begun the present one ends launch=11", "11 0.1 1 decision plan carried out first=9 launches=9 evictions=0 fetches=1",
        "12 0.1 1 decision plan discarded made too late first=9 left=3 carried_out=0", "13 0.1 1 decision misprediction access expected=1 came=2",
        "14 0.1 1 decision plan discarded misprediction first=9 left=3 carried_out=0")]

    def test_decisions_about_plans(self):
        """Otherwise plans carried out, or what a misprediction was about, count as plans begun or discarded."""
        self.assertEqual([tick for tick, _ in varying.decisions(self.RECORDS, "begun")], [9, 11])
        self.assertEqual(varying.reasons(varying.decisions(self.RECORDS, "discarded")), "3; 2 misprediction; 1 made too late")
        self.assertEqual(varying.reasons([]), "0")

    def test_shares(self):
        """Otherwise what came late or was used in place counts as foreseen, or a program that fits has a share."""
        self.assertEqual(varying.foreseen({"plan": 6, "demand": 1, "late": 1}, 4), [0.5, 0.75])
        self.assertEqual(varying.foreseen({"plan": 0, "demand": 0, "late": 0}, 4), [0, None])


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


class Output(unittest.TestCase):
    def test_what_programs_print(self):
        """Otherwise losses that differ, or steps that were timed, do not count."""
        ours = "step 3 loss 2.5 0x1.4p+1 device_ms 7.5\nevaluation 3 loss -0x1p+0\nstep 4 loss nan nan device_ms 8\nfrom_end_to_end 4 device_ms 9\n"
        nanogpt = "step 0: train loss 4.2, val loss 4.3\niter 0: loss 4.2517, time 9.25ms, mfu -100.00%\nstep 1 device_ms 4.5\n"
        self.assertEqual(running.LOSS.findall(ours), ["0x1.4p+1", "-0x1p+0", "nan"])
        self.assertEqual(running.LOSS.findall(nanogpt), ["4.2517"])
        self.assertEqual(running.STEP.findall(ours + nanogpt), ["7.5", "8", "4.5"])
        self.assertEqual(running.FROM_END_TO_END.findall(ours + nanogpt), ["9"])


class Packages(unittest.TestCase):
    def test_each_package_has_a_hash(self):
        """Otherwise another package than the one that was looked at is run."""
        for name in ("tinygrad", "transformers", "peft", "torch"):
            for line in wheels.requirements(name).read_text(encoding="utf-8").splitlines():
                self.assertRegex(line, r"^\S+==\S+ --hash=sha256:[0-9a-f]{64}$")

    def test_frameworks_that_cannot_be_had_are_skipped(self):
        """Otherwise one that is missing fails all, or is left out without a word."""
        class Missing(frameworks.Framework):
            def prepare(self, cache):
                raise debian.Unavailable("why not")

        present = types.SimpleNamespace(prepare=lambda cache: None)
        chosen = [types.SimpleNamespace(framework=name) for name in ("a", "b", "a")]
        said = io.StringIO()
        with mock.patch.dict(frameworks.FRAMEWORKS, {"a": Missing(), "b": present}), contextlib.redirect_stdout(said):
            self.assertEqual(run.prepare(chosen), {"b"})
        self.assertEqual(said.getvalue(), "skipped: a: why not\n")

    def test_what_the_user_fetches(self):
        """Otherwise nobody learns how to get it."""
        with tempfile.TemporaryDirectory() as folder, self.assertRaisesRegex(debian.Unavailable, "git clone https://"):
            frameworks.NanoGPT().prepare(pathlib.Path(folder))

    def test_unpacked_anew_for_another_list(self):
        """Otherwise programs run with packages of an earlier list, or everything is downloaded every time."""
        with tempfile.TemporaryDirectory() as folder:
            cache, wanted = pathlib.Path(folder), pathlib.Path(folder) / "list.txt"

            def download(_, wanted, version, folder):
                with zipfile.ZipFile(pathlib.Path(folder) / "a.whl", "w") as archive:
                    archive.writestr("text", wanted.read_text(encoding="utf-8"))

            with mock.patch.object(wheels, "requirements", return_value=wanted), contextlib.redirect_stdout(io.StringIO()), \
                    mock.patch.object(wheels, "download", side_effect=download) as downloads:
                for text in ("one", "one", "two"):
                    wanted.write_text(text, encoding="utf-8")
                    self.assertEqual((wheels.prepare(cache, "list", None) / "text").read_text(encoding="utf-8"), text)
                self.assertEqual(downloads.call_count, 2)

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
