"""sluice trace export: Perfetto's own protos read the file back, and its slices and counters add up to the trace's;
the tables hold every record."""
import collections
import csv
import json
import os
import pathlib
import re
import subprocess
import sys
import unittest

from support import GOLDEN, MS, REALTIME, STEPS, TOOL, ToolTest, clean_environment, dump, rank_records, record_gpt, sluice, write_trace

MIB = 1 << 20
FETCH, EVICT, POPULATE, DROP = 2, 0, 3, 1
PLAN, DEMAND, LATE = 0, 16, 32

# Everything at once: two streams, measured and unmeasured launches, transfers that overlap, marks that nest, that are
# never closed and that were never opened.
EVERYTHING = [
    ("budget", dict(time=1000, a=64 * MIB, b=2 * MIB, c=1 << 30)),
    ("alloc", dict(id=1, time=1100, a=0x7f0000000000, b=8 * MIB, c=1)),
    ("alloc", dict(id=2, time=1200, a=0x7f0000800000, b=4 * MIB, c=2)),
    ("kernel", dict(id=1, time=1900), 'name with "quotes", commas and \u00e9'),
    ("launch", dict(flags=1 + 16, tick=1, time=2000, a=0x10, c=8 * MIB)),
    ("access", dict(id=1, tick=1, time=2000, b=8 * MIB)),
    ("launch", dict(flags=0, id=1, tick=2, time=3000, a=0x10, b=4096)),
    ("access", dict(id=1, tick=2, time=3000, a=4096, b=MIB)),
    ("access", dict(id=2, tick=2, time=3000, b=4 * MIB)),
    ("launch", dict(flags=0, id=1, tick=3, time=3500, a=0x20, b=4096, d=2)),
    ("launch", dict(flags=0, id=7, tick=4, time=4000, a=0x10, b=32)),
    ("duration", dict(id=1, tick=2, time=9000, a=2500)),
    ("duration", dict(id=1, tick=3, time=9000, a=700)),
    ("sync", dict(flags=1, tick=4, time=9500, a=4000, b=0x10)),
    ("sync", dict(flags=0, tick=4, time=9900, a=300)),
    ("move", dict(flags=FETCH + PLAN, id=0, tick=2, time=2900, a=2 * MIB)),
    ("move", dict(flags=FETCH + DEMAND, id=1, tick=2, time=2950, a=2 * MIB)),
    ("move", dict(flags=POPULATE + LATE, id=2, tick=2, time=2960, a=2 * MIB)),
    ("move", dict(flags=EVICT + PLAN, id=0, tick=4, time=4100, a=2 * MIB)),
    ("move", dict(flags=DROP + PLAN, id=2, tick=4, time=4200, a=2 * MIB)),
    ("transfer", dict(flags=FETCH + PLAN, id=0, tick=2, time=9000, a=2 * MIB, b=3000, c=500)),
    ("transfer", dict(flags=FETCH + DEMAND, id=1, tick=2, time=9000, a=2 * MIB, b=3400, c=600)),
    ("transfer", dict(flags=EVICT + PLAN, id=0, tick=4, time=9100, a=2 * MIB, b=4200, c=900)),
    ("stall", dict(tick=4, time=5000, a=1500, b=2)),
    ("stall", dict(tick=4, time=5200, a=1500, b=1)),
    ("iteration", dict(id=1, tick=2, time=3200, a=3)),
    ("iteration", dict(id=2, tick=4, time=9600, a=3)),
    ("mark", dict(flags=1, time=2400)),  # never pushed
    ("mark", dict(flags=0, time=2500), "outer"),
    ("mark", dict(flags=0, time=2500), "inner"),
    ("mark", dict(flags=2, time=2600), "moment"),
    ("mark", dict(flags=1, time=2700)),
    ("mark", dict(flags=3, id=5, time=2800), "range"),
    ("mark", dict(flags=4, id=5, time=3800)),
    ("mark", dict(flags=4, id=6, time=3800)),  # never begun
    ("mark", dict(flags=3, id=7, time=3900, c=1), "never ended"),
    ("metadata", dict(time=9600), "driver=13.0"),
    ("metadata", dict(flags=1, time=9600, a=12), "plans"),
    ("metadata", dict(flags=1, time=9600), "mispredictions"),
    ("error", dict(flags=0, id=2, tick=4, time=9700, a=1 << 40, c=2)),
    ("gap", dict(tick=4, time=9800, a=12)),
    ("free", dict(id=1, tick=4, time=9850, a=0x7f0000000000, b=8 * MIB)),
]


OF_OWN_CLOCK = " (begins: program's clock; lengths: device's clock)"


def row_of(slice):
    """The track without the number of its row."""
    return re.sub(r" \d\d$", "", slice["track"])


def virtual_environment():
    """A Python with Perfetto's protos, made once beside this build; the reason if it cannot be had."""
    folder = pathlib.Path(os.environ["PERFETTO_VENV"])
    python = folder / "bin/python"
    if subprocess.run([python, "-c", "import perfetto, google.protobuf"], capture_output=True).returncode == 0 \
            if python.exists() else False:
        return python, None
    steps = ([sys.executable, "-m", "venv", "--clear", folder],
             [python, "-m", "pip", "install", "-q", "--timeout", "15", "--retries", "1", "protobuf", "perfetto"])
    for step in steps:
        result = subprocess.run(list(map(str, step)), capture_output=True, text=True)
        if result.returncode:
            return None, "Perfetto's protos cannot be had: " + (result.stderr or result.stdout).strip()[-200:]
    return python, None


class Tracks(ToolTest):
    """Of whatever form; `export` says what a file shows."""

    def assert_totals(self, trace):
        """Slices and counters of the file, against the records of the trace."""
        shown = self.export(trace)
        header, records = dump(trace)
        self.assertEqual(shown["process"], [header["process"], header["program"]])
        self.assertEqual(shown["realtime_ns"], header["start_ns"])
        of = collections.defaultdict(list)
        for record in records:
            of[record["type"]].append(record)
        launches = [s for s in shown["slices"] if shown["parents"][s["track"]].removesuffix(OF_OWN_CLOCK) == "Streams"]
        self.assertEqual(collections.Counter(s["name"] for s in launches),
                         collections.Counter(r.get("name") or r["kind"] for r in of["launch"]))
        self.assertEqual(sum(s["notes"].get("bytes", 0) for s in launches),
                         sum(r.get("bytes", 0) for r in of["launch"]))
        self.assertEqual(sum(s["end"] - s["at"] for s in launches if s["notes"]["length"] == "measured"),
                         sum(r["ns"] for r in of["duration"]))
        self.assertEqual({s["notes"]["tick"] for s in launches}, {r["tick"] for r in of["launch"]})
        self.assert_moved(shown, of)
        self.assertEqual(sum(s["end"] - s["at"] for s in shown["slices"] if row_of(s).removesuffix(OF_OWN_CLOCK) == "Stalls"),
                         sum(r["ns"] for r in of["stall"]))
        self.assertEqual(sum(s["end"] - s["at"] for s in shown["slices"] if row_of(s) == "The program waits"),
                         sum(r["ns"] for r in of["sync"]))
        self.assertEqual(sum(s["track"] == "Iterations" for s in shown["slices"]), len(of["iteration"]))
        self.assert_counters(shown, of)
        return shown

    def assert_moved(self, shown, of):
        def sums(entries, kind, cause, *values):
            found = collections.defaultdict(lambda: [0] * (1 + len(values)))
            for entry in entries:
                for i, value in enumerate((lambda _: 1, *values)):
                    found[kind(entry), cause(entry)][i] += value(entry)
            return dict(found)

        link = [s for s in shown["slices"] if shown["parents"][s["track"]].removesuffix(OF_OWN_CLOCK) == "Link"]
        self.assertEqual(sums(link, lambda s: s["categories"][0], lambda s: s["name"], lambda s: s["notes"]["bytes"],
                              lambda s: s["end"] - s["at"]),
                         sums(of["transfer"], lambda r: r["kind"], lambda r: r["cause"], lambda r: r["bytes"],
                              lambda r: r["ns"]))
        for slice in link:
            self.assertEqual(row_of(slice), {"fetch": "To the device", "evict": "From the device"}[slice["categories"][0]])
        issued = [m for m in shown["moments"] if m["track"] == "Moves issued"]
        self.assertEqual(sums(issued, lambda m: m["name"].split(", ")[0], lambda m: m["name"].split(", ")[1],
                              lambda m: m["notes"]["bytes"]),
                         sums(of["move"], lambda r: r["kind"], lambda r: r["cause"], lambda r: r["bytes"]))

    def assert_counters(self, shown, of):
        def changes(records, sign):
            value, highest = 0, 0
            for record in sorted(records, key=lambda r: r["time_ns"]):
                value += sign(record) * record["bytes"]
                highest = max(highest, value)
            return value, highest

        for name, records, sign in (
                ("Device memory in use", of["move"], lambda r: 1 if r["kind"] in ("fetch", "populate") else -1),
                ("Allocated by the program", of["alloc"] + of["free"], lambda r: 1 if r["type"] == "alloc" else -1)):
            values = [s["value"] for s in shown["samples"] if s["track"] == name]
            self.assertEqual(len(values), len(records), name)
            if values:
                self.assertEqual((values[-1], max(values)), changes(records, sign), name)


class Perfetto(Tracks):
    @classmethod
    def setUpClass(cls):
        cls.python, reason = virtual_environment()
        if reason:
            raise unittest.SkipTest(reason)

    def export(self, trace, *arguments):
        """Of one trace, or of several, which `arguments` then has the others of."""
        out = self.folder / "out.pftrace"
        result = sluice("trace", "export", "--json", "--perfetto", out, *arguments, trace)
        self.assertEqual((result.returncode, result.stderr), (0, ""))
        read = subprocess.run([self.python, pathlib.Path(__file__).with_name("perfetto_read.py"), out],
                              capture_output=True, text=True)
        self.assertEqual(read.returncode, 0, read.stderr)
        shown, told = json.loads(read.stdout), json.loads(result.stdout)
        self.assertEqual(told["bytes"], out.stat().st_size)
        for what in ("slices", "moments", "samples"):
            self.assertEqual(told[what], len(shown[what]), what)
        self.assertEqual(told["packets"], shown["packets"])
        return shown

    def test_totals_are_the_traces(self):
        shown = self.assert_totals(write_trace(self.folder / "all.slt", EVERYTHING))
        lengths = {s["notes"]["tick"]: (s["at"], s["end"], s["notes"]["length"]) for s in shown["slices"]
                   if "length" in s["notes"]}
        self.assertEqual(lengths, {
            1: (2000, 3000, "until the next launch"), 2: (3000, 5500, "measured"), 3: (3500, 4200, "measured"),
            4: (5500, 9500, "until the program had waited for it")})  # the stream was busy until then
        touched = {s["notes"]["tick"]: s["notes"]["touches_bytes"] for s in shown["slices"] if "length" in s["notes"]}
        self.assertEqual(touched, {1: 8 * MIB, 2: 5 * MIB, 3: 5 * MIB, 4: 0})

    def test_a_device_with_a_clock_of_its_own(self):
        """A transfer begins when it was issued, or when the one before it ends; the tracks say which clock they show."""
        second = 1_000_000_000
        shown = self.assert_totals(write_trace(self.folder / "clock.slt", [
            ("launch", dict(tick=1, time=second)), ("launch", dict(tick=2, time=3 * second)),
            ("transfer", dict(flags=FETCH, tick=1, a=1, b=second - 500, c=70)),  # as exact as clocks are
            ("transfer", dict(flags=FETCH, tick=2, a=1, b=2 * second, c=80)),
            ("transfer", dict(flags=FETCH, tick=2, a=1, b=2 * second + 80, c=90))]))
        self.assertEqual([(s["at"], s["end"]) for s in shown["slices"] if s["track"] == "To the device"],
                         [(second, second + 70), (3 * second, 3 * second + 80), (3 * second + 80, 3 * second + 170)])
        self.assertEqual({shown["parents"]["To the device"], shown["parents"]["Stream 1 (0x0)"]}, {"Link" + OF_OWN_CLOCK, "Streams" + OF_OWN_CLOCK})
        self.assertEqual([s["notes"]["began_on_device_clock_ns"] for s in shown["slices"] if s["track"] == "To the device"],
                         [second - 500, 2 * second, 2 * second + 80])

    def test_overlapping_slices_have_tracks_of_their_own_names(self):
        """Equal names, or names in the order in which the tracks were needed, say nothing of what belongs together."""
        records = [("launch", dict(tick=tick, time=1000 + tick)) for tick in range(1, 13)]
        records += [("stall", dict(tick=12, time=9000 + tick, a=5000, b=1, c=tick)) for tick in range(12, 0, -1)]
        records += [("sync", dict(tick=12, time=9000 + 10 * i, a=2000)) for i in range(3)]
        shown = self.export(write_trace(self.folder / "rows.slt", records))
        names = [name for name, _ in sorted(shown["order"], key=lambda one: one[1])]
        self.assertEqual(len(set(names)), len(names))
        stalls, waits = ([name for name in names if name.startswith(start)] for start in ("Stalls", "The program waits"))
        self.assertEqual(stalls, ["Stalls", *(f"Stalls {row:02}" for row in range(2, 13))])
        self.assertEqual(waits, ["The program waits", "The program waits 02", "The program waits 03"])
        self.assertEqual(names.index(stalls[-1]) - names.index(stalls[0]), 11)

    def test_a_stall_is_shown_at_its_launch(self):
        records = [("launch", dict(tick=tick, time=1000 * tick)) for tick in (1, 2, 3)]
        records += [("stall", dict(tick=3, time=9000, a=500, b=1, c=2)), ("stall", dict(tick=3, time=9100, a=400, b=1, c=1))]
        shown = self.export(write_trace(self.folder / "stalls.slt", records))
        self.assertEqual([(s["track"], s["at"], s["end"]) for s in shown["slices"] if s["track"].startswith("Stalls")],
                         [("Stalls", 1000, 1400), ("Stalls", 2000, 2500)])

    def test_marks(self):
        shown = self.export(write_trace(self.folder / "all.slt", EVERYTHING))
        marks = {s["name"]: (s["track"], s["at"], s["end"], s["depth"], s["categories"]) for s in shown["slices"]
                 if s["track"] in ("Marks of thread 1", "Ranges")}
        self.assertEqual(marks, {
            "outer": ("Marks of thread 1", 2500, 9900, 0, ["NVTX"]),  # never closed: to the last record
            "inner": ("Marks of thread 1", 2500, 2700, 1, ["NVTX"]),
            "range": ("Ranges", 2800, 3800, 0, ["NVTX"]),
            "never ended": ("Ranges", 3900, 9900, 0, ["sluice/marks.h"])})
        self.assertEqual([(m["name"], m["at"]) for m in shown["moments"] if m["track"].startswith("Marks")],
                         [("moment", 2600)])

    def test_trouble(self):
        shown = self.export(write_trace(self.folder / "all.slt", EVERYTHING))
        moments = {m["track"]: (m["name"], m["at"], m["notes"]) for m in shown["moments"]}
        self.assertEqual(moments["Errors"], ("allocation failed", 9700, {"code": 2, "bytes": 1 << 40}))
        self.assertEqual(moments["Gaps in the trace"], ("records lost", 9800, {"first_tick": 4, "records": 12}))

    def test_what_overlaps_is_apart(self):
        """More at a time than there are lanes: nothing is lost, and no slice ends another one."""
        records = [("stall", dict(tick=1, time=5000, a=1000 + i, b=1)) for i in range(100)]
        shown = self.export(write_trace(self.folder / "stalls.slt", records))
        self.assertEqual(sum(entry["notes"]["took_ns"] for entry in shown["slices"] + shown["moments"]),
                         sum(1000 + i for i in range(100)))
        self.assertTrue(all(s["depth"] == 0 for s in shown["slices"]))

    def test_a_training_run(self):
        trace = record_gpt(self.folder)
        if not trace:
            self.skipTest("a sanitized library needs its runtime preloaded before it")
        shown = self.assert_totals(trace)
        self.assertGreater(len(shown["slices"]), 1000)
        phases = [s for s in shown["slices"] if s["track"] == "Phases"]
        self.assertEqual({s["name"] for s in phases}, {"forward", "backward", "update", "copy"})
        self.assertEqual(sum(s["notes"]["launches"] for s in phases), sum("length" in s["notes"] for s in shown["slices"]))
        self.assertTrue(any(m["track"] == "Moves issued" for m in shown["moments"]))

    def test_one_iteration(self):
        """What overlaps the step, whole, and what counters were when it began."""
        trace = record_gpt(self.folder)
        if not trace:
            self.skipTest("a sanitized library needs its runtime preloaded before it")
        whole, part = self.export(trace), self.export(trace, "--iteration", "2")
        phases = json.loads(sluice("trace", "phases", "--json", "--iteration", "2", trace).stdout)["phases"]
        launches = sum("length" in s["notes"] for s in part["slices"])
        self.assertIn(launches - phases[-1]["launches"], range(3))  # one before and one behind may overlap
        known = {json.dumps([s["name"], s["at"], s["end"], s["notes"]]) for s in whole["slices"]}
        self.assertTrue(all(json.dumps([s["name"], s["at"], s["end"], s["notes"]]) in known for s in part["slices"]))
        self.assertLess(len(part["slices"]), len(whole["slices"]) / 2)
        for name in ("Device memory in use", "Allocated by the program"):
            first = next(s for s in part["samples"] if s["track"] == name)
            before = [s for s in whole["samples"] if s["track"] == name and s["at"] < first["at"]]
            self.assertEqual(first["value"], before[-1]["value"])

    def test_ranks(self):
        """Each rank is a process; all are on the first one's clock, so that collectives end together."""
        late = [0, 3 * MS, MS]
        clocks = [0, 5_000 * MS, -300 * MS]
        paths = [write_trace(self.folder / f"run.{rank}.slt", rank_records(
            rank, clock=clocks[rank], late=late[rank], realtime=REALTIME + 7 * MS * rank)) for rank in range(3)]
        shown = self.export(paths[-1], *paths[:-1])
        names = [f"rank {rank} ({100 + rank} gpt)" for rank in range(3)]
        self.assertEqual(shown["processes"], [[100 + rank, names[rank], rank + 1] for rank in range(3)])
        collectives = {name: [s for s in shown["slices"] if (s["process"], s["track"]) == (name, "Collectives")] for name in names}
        for name in names:
            self.assertEqual([s["name"] for s in collectives[name]], ["AllReduce"] * STEPS)
            for first, own in zip(collectives[names[0]], collectives[name]):
                self.assertLess(abs(own["end"] - first["end"]), 10, name)
                self.assertEqual(own["flows"], first["flows"])
                self.assertEqual(len(own["flows"]), 1)
        self.assertEqual(len({s["flows"][0] for s in collectives[names[0]]}), STEPS)
        waits = {name: [s for s in shown["slices"] if (s["process"], s["track"]) == (name, "Waits for other ranks")] for name in names}
        self.assertEqual([{s["name"] for s in waits[name]} for name in names], [{"for rank 1"}, set(), {"for rank 1"}])
        for rank in 0, 2:
            for wait, own in zip(waits[names[rank]], collectives[names[rank]]):
                self.assertEqual(wait["at"], own["at"])
                self.assertLess(abs(wait["end"] - wait["at"] - late[1] + late[rank]), 10)
        # Everything else is on the same clock, too.
        works = [[s["at"] for s in shown["slices"] if s["process"] == name and s["name"] == "work"] for name in names]
        for own in works[1:]:
            self.assertTrue(all(abs(at - first) < 10 for at, first in zip(own, works[0], strict=True)))

    def test_ranks_of_containers(self):
        """Of one process id, as the first of a container has; and without collectives, by the time since 1970."""
        paths = [write_trace(self.folder / f"run.{rank}.slt", rank_records(rank, clock=clock, process=1)[:3])
                 for rank, clock in enumerate([0, 77 * MS])]
        out = self.folder / "out.pftrace"
        result = sluice("trace", "export", "--perfetto", out, *paths)
        self.assertEqual(result.returncode, 1)
        self.assertEqual(result.stderr.count("the traces have no collectives"), 1)
        read = subprocess.run([self.python, pathlib.Path(__file__).with_name("perfetto_read.py"), out], capture_output=True, text=True)
        shown = json.loads(read.stdout)
        self.assertEqual([name for _, name, _ in shown["processes"]], ["rank 0 (1 gpt)", "rank 1 (1 gpt)"])
        self.assertEqual([s["at"] for s in shown["slices"] if s["name"] == "work"], [1000 * MS] * 2)

    def test_an_empty_trace(self):
        shown = self.export(write_trace(self.folder / "empty.slt", []))
        self.assertEqual((shown["slices"], shown["moments"], shown["samples"]), ([], [], []))

    def test_standard_output(self):
        path = write_trace(self.folder / "all.slt", EVERYTHING)
        self.export(path)
        result = subprocess.run([TOOL, "trace", "export", "--perfetto", "-", path], capture_output=True,
                                env=clean_environment())
        self.assertEqual((result.returncode, result.stderr), (0, b""))
        self.assertEqual(result.stdout, (self.folder / "out.pftrace").read_bytes())


class Csv(ToolTest):
    def tables(self, trace):
        folder = self.folder / "tables"
        result = sluice("trace", "export", "--csv", folder, trace)
        self.assertEqual((result.returncode, result.stderr), (0, ""))
        tables = {}
        for path in folder.iterdir():
            with path.open(newline="", encoding="utf-8") as file:
                tables[path.stem] = list(csv.DictReader(file))
        return tables

    def assert_records(self, trace):
        """Every record is a row with the fields that trace dump names."""
        tables = self.tables(trace)
        header, records = dump(trace)
        facts = {row["what"]: row["value"] for row in tables.pop("trace")}
        self.assertEqual(facts, {"format": header["format"], "process": str(header["process"]),
                                 "start_ns": str(header["start_ns"]), "program": header["program"],
                                 "complete": "true", "records": str(len(records))})
        rows = collections.defaultdict(list)
        for record in records:
            rows[record.pop("type")].append({key: str(value) for key, value in record.items()})
        for name, table in tables.items():
            self.assertEqual([{key: value for key, value in row.items() if value} for row in table],
                             [{key: value for key, value in row.items() if value} for row in rows.pop(name, [])], name)
        self.assertEqual(dict(rows), {})
        return tables

    def test_every_record_is_a_row(self):
        tables = self.assert_records(write_trace(self.folder / "all.slt", EVERYTHING))
        self.assertEqual(tables["kernel"][0]["name"], 'name with "quotes", commas and \u00e9')
        self.assertEqual(len(tables["launch"]), 4)
        self.assertEqual([(row["value"], row["name"]) for row in tables["metadata"]],
                         [("", "driver=13.0"), ("12", "plans"), ("0", "mispredictions")])
        self.assertEqual(tables["module"], [])  # has its titles only

    def test_the_golden_trace(self):
        self.assert_records(next(GOLDEN.glob("*.slt")))

    def test_exporting_again_leaves_nothing_old(self):
        self.tables(write_trace(self.folder / "all.slt", EVERYTHING))
        tables = self.tables(write_trace(self.folder / "empty.slt", []))
        self.assertEqual([name for name, rows in tables.items() if rows and name != "trace"], [])


class Refused(ToolTest):
    def test_wrong_arguments(self):
        trace = write_trace(self.folder / "t.slt", EVERYTHING)
        content = trace.read_bytes()
        self.assert_usage_error(sluice("trace", "export", trace), "--perfetto OUT, --chrome OUT or --csv FOLDER is needed")
        self.assert_usage_error(sluice("trace", "export", "--perfetto", "a", "--csv", "b", trace), "exclude each other")
        self.assert_usage_error(sluice("trace", "export", "--perfetto", "a", "--chrome", "b", trace), "exclude each other")
        self.assert_usage_error(sluice("trace", "export", "--perfetto", "a", "--with", "b", trace), "--with needs --chrome")
        self.assert_usage_error(sluice("trace", "export", "--chrome", trace, trace), "is the trace itself")
        self.assert_usage_error(sluice("trace", "export", "--perfeto", "a", trace), "did you mean --perfetto?")
        self.assert_usage_error(sluice("trace", "export", trace, "--perfetto"), "--perfetto needs a value")
        self.assert_usage_error(sluice("trace", "export", "--perfetto", "", trace), "--perfetto needs a value")
        self.assert_usage_error(sluice("trace", "export", "--perfetto", trace), "no file given")
        self.assert_usage_error(sluice("trace", "export", "--perfetto", "a", "--iteration", "1", trace),
                                "there is no iteration 1; ")
        self.assert_usage_error(sluice("trace", "export", "--csv", "a", "--iteration", "1", trace), "--perfetto")
        self.assert_usage_error(sluice("trace", "export", "--csv", "a", trace, trace), "--csv takes one file")
        other = write_trace(self.folder / "other.slt", rank_records(1))
        self.assert_usage_error(sluice("trace", "export", "--perfetto", other, trace, other), "is one of the traces itself")
        result = sluice("trace", "export", "--perfetto", "a", trace, trace)
        self.assertEqual(result.returncode, 1)
        self.assert_one_line(result.stderr, "are traces of one process")
        self.assert_usage_error(sluice("trace", "export", "--perfetto", trace, trace), "is the trace itself")
        self.assertEqual(trace.read_bytes(), content)

    def test_no_binary_for_terminals(self):
        trace = write_trace(self.folder / "t.slt", EVERYTHING)
        user, terminal = os.openpty()
        result = subprocess.run([TOOL, "trace", "export", "--perfetto", "-", trace], stdout=terminal, text=True,
                                stderr=subprocess.PIPE, env=clean_environment())
        os.close(terminal)
        os.close(user)
        self.assertEqual(result.returncode, 2)
        self.assert_one_line(result.stderr, "is a terminal")

    def test_places_that_cannot_be_written(self):
        trace = write_trace(self.folder / "t.slt", EVERYTHING)
        for arguments, word in ((["--perfetto", "/dev/full"], "No space left"),
                                (["--perfetto", "/"], "directory"),
                                (["--perfetto", "/no/such/folder/out"], "No such file"),
                                (["--csv", "/no/such/folder/out"], "No such file"),
                                (["--csv", trace], "Not a directory")):
            result = sluice("trace", "export", *arguments, trace)
            self.assertEqual((result.returncode, result.stdout), (1, ""), result)
            self.assert_one_line(result.stderr, word)

    def test_traces_that_cannot_be_read(self):
        for path, word in (("/no/such/file", "No such file"), ("/", "directory"), (__file__, "not a sluice trace")):
            for arguments in (["--perfetto", self.folder / "out"], ["--csv", self.folder / "tables"]):
                result = sluice("trace", "export", *arguments, path)
                self.assertEqual((result.returncode, result.stdout), (1, ""))
                self.assert_one_line(result.stderr, path, word)
        self.assertEqual(list(self.folder.iterdir()), [])

    def test_what_is_readable_is_exported(self):
        trace = write_trace(self.folder / "t.slt", EVERYTHING, per_block=4, ended=False)
        result = sluice("trace", "export", "--csv", self.folder / "tables", trace)
        self.assertEqual(result.returncode, 0)
        self.assert_one_line(result.stderr, "no end record")
        self.assertIn("complete,false\n", (self.folder / "tables/trace.csv").read_text())
        result = sluice("trace", "export", "--perfetto", self.folder / "out", trace)
        self.assertEqual(result.returncode, 0)
        self.assert_one_line(result.stderr, "no end record")
        self.assertGreater((self.folder / "out").stat().st_size, 1000)


if __name__ == "__main__":
    unittest.main()
