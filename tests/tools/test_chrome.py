"""sluice trace export --chrome: its events add up to the trace's, on the clock of PyTorch's profiler, and stand beside the events of
a profiler's file, all of which are kept. tests/python/profiler.py does the same with torch.profiler itself."""
import collections
import gzip
import json
import os
import re
import unittest

from support import MS, REALTIME, TOOL, rank_records, record_gpt, sluice, write_trace
from test_export import EVERYTHING, Tracks, row_of

WINDOW_NS = 7889238 * 10**9  # Kineto's base is a multiple of it
# As torch.profiler writes it: what it says of the whole before its events or behind them, texts with anything in them.
BEFORE = '\n  {\n    "schemaVersion": 1,\n    "deviceProperties": [\n    ],%s\n  "displayTimeUnit": "ms"%s,\n  "traceEvents": ['
EVENTS = [
    {"ph": "X", "cat": "cpu_op", "name": 'aten::mm "]}, \\" {[', "pid": 77, "tid": 500, "ts": 12.5, "dur": 30.25, "args": {"External id": 3}},
    {"ph": "X", "cat": "user_annotation", "name": '"traceEvents": [ "baseTimeNanoseconds": 5', "pid": 77, "tid": 500, "ts": 1, "dur": 2},
    {"ph": "M", "name": "process_name", "pid": 77, "tid": 0, "args": {"name": "python", "traceEvents": [1, {"baseTimeNanoseconds": 7}]}},
]


def named(events, what):
    """{(process, thread): name} by events that name one."""
    return {(e["pid"], e["tid"] if what == "thread_name" else 0): e["args"]["name"] for e in events if e.get("name") == what and e["ph"] == "M"}


def places(events):
    return {(e["pid"], e["tid"]): e["args"]["sort_index"] for e in events if e.get("name") == "thread_sort_index"}


class Chrome(Tracks):
    def shown(self, path, process, start_ns):
        """As perfetto_read.py shows a file: times on the trace's own clock, whose 1000 is the time that `start_ns` is in."""
        with open(path, encoding="utf-8") as file:
            whole = json.load(file, parse_float=str, parse_int=str)  # as exact as they stand there

        def ns(event, key):
            micro, _, rest = event[key].partition(".")
            return int(micro) * 1000 + int(rest.ljust(3, "0") or 0)

        base, events = int(whole["baseTimeNanoseconds"]), whole["traceEvents"]
        processes, threads = named(events, "process_name"), named(events, "thread_name")
        stacks, shown = collections.defaultdict(list), {"slices": [], "moments": [], "samples": [], "parents": collections.defaultdict(str)}
        self.assertEqual({e["ph"] for e in events} - {"M", "X", "B", "E", "i", "C"}, set())
        for event in sorted((e for e in events if e["ph"] != "M"), key=lambda e: ns(e, "ts")):
            place = event["pid"], event["tid"]
            name = event["name"] if event["ph"] == "C" else threads[place]
            parent, track = re.fullmatch(r"(?:((?:Streams|Link)(?: \(.*?\))?): )?(.*)", name).groups()
            shown["parents"][track] = parent or ""
            entry = {"track": track, "process": processes[event["pid"], 0], "at": base + ns(event, "ts") - start_ns, "name": event.get("name"),
                     "categories": [event.get("cat")], "depth": len(stacks[place]),
                     "notes": {key: int(value) if value.isdigit() else value for key, value in event.get("args", {}).items()}}
            if event["ph"] == "X":
                shown["slices"].append({**entry, "end": entry["at"] + ns(event, "dur")})
            elif event["ph"] == "B":
                stacks[place].append(entry)
                shown["slices"].append(entry)
            elif event["ph"] == "E":
                stacks[place].pop()["end"] = entry["at"]
            elif event["ph"] == "i":
                self.assertEqual(event["s"], "t")
                shown["moments"].append(entry)
            else:
                shown["samples"].append({**entry, "value": int(event["args"]["bytes"])})
        self.assertEqual([stack for stack in stacks.values() if stack], [])
        own = str(process + (1 << 23))
        return {**shown, "process": [process, processes[own, 0].removeprefix("sluice: ")], "realtime_ns": start_ns, "events": len(events)}

    def export(self, trace, *arguments):
        out = self.folder / "out.json"
        result = sluice("trace", "export", "--json", "--chrome", out, *arguments, trace)
        self.assertEqual((result.returncode, result.stderr), (0, ""))
        header = json.loads(sluice("trace", "dump", "--json", trace).stdout.splitlines()[0])
        self.zero = header["start_ns"]
        shown, told = self.shown(out, header["process"], self.zero), json.loads(result.stdout)
        self.assertEqual((told["format"], told["bytes"], told["events"]), ("chrome", out.stat().st_size, shown["events"]))
        for what in ("slices", "moments", "samples"):
            self.assertEqual(told[what], len(shown[what]), what)
        return shown

    def test_totals_are_the_traces(self):
        shown = self.assert_totals(write_trace(self.folder / "all.slt", EVERYTHING))
        launches = [(m["track"], m["at"], m["name"], m["notes"]) for m in shown["moments"] if m["categories"] == ["launch"]]
        first = launches[0][1]
        self.assertEqual([(track, at - first, notes) for track, at, _, notes in launches],
                         [("Launches of thread 1", after, {"tick": tick}) for tick, after in ((1, 0), (2, 1000), (3, 1500), (4, 2000))])

    def test_a_training_run(self):
        trace = record_gpt(self.folder)
        if not trace:
            self.skipTest("a sanitized library needs its runtime preloaded before it")
        shown = self.assert_totals(trace)
        self.assertEqual(sum(m["categories"] == ["launch"] for m in shown["moments"]), sum("length" in s["notes"] for s in shown["slices"]))
        self.assertEqual({m["notes"]["thread"] for m in shown["moments"] if m["categories"] == ["launch"]}, {shown["process"][0]})  # its main thread
        part = self.export(trace, "--iteration", "2")
        launches = sum("length" in s["notes"] for s in part["slices"])
        self.assertIn(launches - sum(m["categories"] == ["launch"] for m in part["moments"]), range(3))  # that overlap its begin
        self.assertLess(len(part["slices"]), len(shown["slices"]) / 2)

    def test_marks_and_launches_are_beside_their_thread(self):
        write_trace(self.folder / "t.slt", [("thread", dict(a=500, time=900)), *EVERYTHING])
        shown = self.export(self.folder / "t.slt")
        marks = {s["name"]: (s["track"], s["end"] - s["at"], s["depth"], s["categories"]) for s in shown["slices"] if s["categories"] == ["NVTX"]}
        self.assertEqual(marks, {"outer": ("Marks of thread 500", 7400, 0, ["NVTX"]), "inner": ("Marks of thread 500", 200, 1, ["NVTX"]),
                                 "range": ("Ranges", 1000, 0, ["NVTX"])})
        events = json.loads((self.folder / "out.json").read_text())["traceEvents"]
        rows = {name: (process, places(events)[process, thread]) for (process, thread), name in named(events, "thread_name").items()}
        process, order = shown["process"][0], 500  # Kineto's threads have their number as place
        for name in ("Marks of thread 500", "Launches of thread 500"):
            self.assertEqual(rows[name], (process, order))
        self.assertEqual(rows["Ranges"][0], process + (1 << 23))  # whose process Linux has not
        self.assertEqual({m["notes"]["thread"] for m in shown["moments"] if m["categories"] == ["launch"]}, {500})

    def test_times_are_nanoseconds_since_1970(self):
        began = 500 * MS
        shown = self.export(write_trace(self.folder / "t.slt", [("header", dict(id=9, a=REALTIME, b=began)), ("launch", dict(tick=1, time=began + 3456768))]))
        self.assertEqual(([m["at"] for m in shown["moments"]], self.zero), ([3456768], REALTIME))

    def test_the_base_is_kinetos(self):
        self.export(write_trace(self.folder / "t.slt", EVERYTHING))
        base = json.loads((self.folder / "out.json").read_text())["baseTimeNanoseconds"]
        self.assertEqual((base % WINDOW_NS, self.zero - base < WINDOW_NS), (0, True))

    def test_ranks(self):
        """All are on the first one's clock; each has its own processes."""
        paths = [write_trace(self.folder / f"run.{rank}.slt", rank_records(rank, clock=rank * 77 * MS, realtime=REALTIME + 7 * MS * rank))
                 for rank in range(2)]
        shown = self.export(paths[-1], *paths[:-1])
        works = [[s["at"] for s in shown["slices"] if s["process"] == f"sluice: rank {rank} ({100 + rank} gpt)" and s["name"] == "work"]
                 for rank in range(2)]
        self.assertTrue(works[0] and all(abs(own - first) < 10 for first, own in zip(*works, strict=True)))


class Merged(Tracks):
    def merge(self, text, trace=None):
        torch, out = self.folder / "torch.json", self.folder / "both.json"
        torch.write_bytes(text if isinstance(text, bytes) else text.encode())
        trace = trace or write_trace(self.folder / "all.slt", EVERYTHING)
        return sluice("trace", "export", "--force", "--chrome", out, "--with", torch, trace), out

    def events_of(self, text):
        """Of the merged file, without those of the profiler, which are last and as they were."""
        result, out = self.merge(text)
        self.assertEqual((result.returncode, result.stderr), (0, ""))
        both, torch = json.loads(out.read_text()), json.loads(text)
        own = len(both["traceEvents"]) - len(torch["traceEvents"])
        self.assertEqual(both["traceEvents"][own:], torch["traceEvents"])
        self.assertEqual({**torch, "traceEvents": 0, "sluice": "trace export"}, {**both, "traceEvents": 0})
        return both["traceEvents"][:own]

    def test_the_profilers_events_stay_and_its_base_is_used(self):
        events, base = json.dumps(EVENTS)[1:-1], REALTIME // WINDOW_NS * WINDOW_NS
        alone = json.loads((sluice("trace", "export", "--chrome", "-", write_trace(self.folder / "all.slt", EVERYTHING)).stdout))
        for text, its in ((BEFORE % ("", f',\n  "baseTimeNanoseconds": {base + 4096}') + events + "]}\n", base + 4096),
                          (BEFORE % ("", "") + events + f'\n  ],\n  "traceName": "a",  "baseTimeNanoseconds": {base - 12000000}}}', base - 12000000),
                          (BEFORE % (' "with_stack": 1, "baseTimeNanoseconds" : 0,', "") + "\n]}", 0),
                          (BEFORE % ("", "") + events + "]}", 0),  # before PyTorch 2.3: in microseconds since 1970
                          ('{"traceEvents":[]}', 0)):
            own = self.events_of(text)
            self.assertEqual(len(own), len(alone["traceEvents"]))
            moved = [round(1000 * (a["ts"] - b["ts"])) for a, b in zip(alone["traceEvents"], own) if "ts" in a]
            # A double holds microseconds since 1970 to a quarter of one.
            self.assertTrue(all(abs(by - (its - alone["baseTimeNanoseconds"])) <= (0.001 if its else 300) for by in moved), (its, moved[:3]))

    def test_several_traces_are_merged_one_after_another(self):
        result, out = self.merge(BEFORE % ("", "") + "]}")
        once = out.read_text()
        self.assertEqual(len(self.events_of(once)), len(json.loads(once)["traceEvents"]))

    def test_files_that_are_none(self):
        good = BEFORE % ("", "") + json.dumps(EVENTS)[1:-1] + "]}"
        for text, word in (("", ": no JSON"), ("a letter", ": no JSON"), ("[1, 2]", ": no JSON"), ("{}", "has no traceEvents"),
                           ('{"traceEvents": 5}', "has no traceEvents"), ('{"traceEvents": {"a": [1]}}', "has no traceEvents"),
                            ('{"other": {"traceEvents": []}}', "has no traceEvents"),
                           ('{"traceEvents": [', "ends early"), (good[:-1], "ends early"), (good[:200], "ends early"),
                           ('{"traceEvents": ["', "ends early"), ('{"traceEvents": ["\\', "ends early"), (gzip.compress(b"{}"), "gunzip it first")):
            result, out = self.merge(text)
            self.assertEqual((result.returncode, result.stdout), (1, ""), text)
            self.assert_one_line(result.stderr, "--with: ", "torch.json", word)
            self.assertFalse(out.exists())
        for length in range(len(good)):  # it may be cut off anywhere
            if length % 7 == 0:
                self.assertEqual(self.merge(good[:length])[0].returncode, 1, length)

    def test_paths(self):
        trace = write_trace(self.folder / "all.slt", EVERYTHING)
        result = sluice("trace", "export", "--chrome", self.folder / "out", "--with", "/no/such/file", trace)
        self.assertEqual(result.returncode, 1)
        self.assert_one_line(result.stderr, "--with: /no/such/file: No such file or directory")
        letter = self.folder / "letter"
        letter.write_text('{"traceEvents": []}')
        self.assert_usage_error(sluice("trace", "export", "--chrome", letter, "--with", letter, trace), "is the file of --with itself")
        result = sluice("trace", "export", "--chrome", letter, trace)
        self.assertEqual(result.returncode, 1)
        self.assert_one_line(result.stderr, "letter", "not an export of sluice")
        for _ in range(2):  # its own is replaced
            self.assertEqual(sluice("trace", "export", "--chrome", self.folder / "out.json", trace).returncode, 0)


if __name__ == "__main__":
    unittest.main()
