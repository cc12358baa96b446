"""sluice trace diff: what changed between two invented runs is told, in the first line, in tables and by the exit status; what does not
matter is counted; the other order tells the mirrored story."""
import json
import os
import pty
import re
import subprocess
import unittest

from support import TOOL, ToolTest, clean_environment, record_gpt, sluice, write_trace

US, MS, MIB = 1000, 1_000_000, 1 << 20
START = 5_000 * MS
PUSH, POP = 0, 1
FETCH, EVICT, POPULATE = 2, 0, 3
PLAN, DEMAND = 0, 16
BASE = 0x7000_0000_0000
WORSE = 3
MIRRORED = {"more": "less", "less": "more", "added": "gone", "gone": "added", "same": "same", "noise": "noise"}


def run(steps=20, step=10 * MS, kernels=(("gemm", 2 * MS, 2), ("adam", 1 * MS, 1)), stall=0, fetched=0, evicted=0, budget=64 * MIB,
        device="GPU 1", sites=((0xa, 8 * MIB), (0xb, 4 * MIB)), jitter=lambda i: 0, timed=True, clock=0, command="./train",
        marks=True, last=0):
    """The records of a program: each step is a forward launch of the first kernel, the others backward, and the last as the update.
    `kernels` are names, times and launches in a step, `jitter` is added to the length of a step, `clock` to the device's times."""
    records = [("header", dict(id=1, a=1_763_690_400_000_000_000, b=START)),
               ("budget", dict(time=START, a=budget, b=2 * MIB, c=1 << 34)),
               ("metadata", dict(time=START), f"device={device}"), ("metadata", dict(time=START), f"command={command}"),
               ("slab", dict(id=0, time=START, a=BASE, b=1 << 30))]
    for slot, (site, size) in enumerate(sites):
        records.append(("alloc", dict(id=slot, time=START, a=BASE + slot * 32 * MIB, b=size, c=site)))
        records.append(("move", dict(flags=POPULATE + DEMAND, id=slot * 16, time=START, a=size)))
    names = {name: i + 1 for i, (name, _, _) in enumerate(kernels)}
    records += [("kernel", dict(id=i, time=START), name) for name, i in names.items()]
    tick, now = 0, START + MS
    for i in range(steps):
        length = step + jitter(i)
        for k, (name, took, count) in enumerate(kernels):
            phase = "forward" if not k else "backward" if k + 1 < len(kernels) else "optimizer.step"
            for _ in range(count):
                tick += 1
                at = now + tick % 100 * US
                if marks:
                    records.append(("mark", dict(flags=PUSH, tick=tick - 1, time=at - 100), phase))
                records += [("launch", dict(tick=tick, time=at, a=1, id=names[name], b=64)),
                            ("access", dict(id=k % len(sites), tick=tick, time=at, b=sites[k % len(sites)][1]))]
                if marks:
                    records.append(("mark", dict(flags=POP, tick=tick, time=at + 100), ""))
                if timed:
                    records.append(("duration", dict(tick=tick, time=at, id=names[name], a=took, b=at + 10 * US - clock)))
        for kind, moved in (EVICT, evicted), (FETCH, fetched):
            for done in range(0, moved, 2 * MIB):
                records.append(("move", dict(flags=kind + PLAN, tick=tick, id=done // (2 * MIB) % 4, time=at, a=2 * MIB)))
        if stall:
            records.append(("stall", dict(tick=tick, time=at, a=stall, b=1, c=tick)))
        now += length
        records.append(("iteration", dict(id=i + 1, tick=tick, time=now, a=3)))
    tick += 1
    records += [("launch", dict(tick=tick, time=now + last, a=1, id=1, b=64))]
    return records


class Diff(ToolTest):
    def trace(self, **changes):
        self.made = getattr(self, "made", 0) + 1
        return write_trace(self.folder / f"{self.made}.slt", run(**changes))

    def diff(self, a, b, *arguments, status=0):
        """The text, and the JSON by names. Every command has the same status."""
        text, told = sluice("trace", "diff", *arguments, a, b), sluice("trace", "diff", "--json", *arguments, a, b)
        for result in text, told:
            self.assertEqual((result.returncode, result.stderr), (status, ""), result.stdout)
        told = json.loads(told.stdout)
        self.assertEqual(" ".join(text.stdout.split("\n\n")[0].split()), told["verdict"]["text"])
        self.check_numbers(text.stdout, told)
        return text.stdout, told

    def check_numbers(self, text, told):
        """Every row of the text is in the JSON, with its numbers."""
        figures = {figure["name"]: figure for figure in told["figures"]}
        for line in text.splitlines():
            cells = re.split("  +", line.strip())
            if len(cells) != 6 or cells[0] not in figures:
                continue
            figure = figures[cells[0]]
            for cell, value in zip(cells[1:], (figure["a"]["median"], figure["b"]["median"], figure["change"], figure["change_percent"],
                                               max(figure["a"]["spread"], figure["b"]["spread"]))):
                self.assertTrue(cell == "-" or cell.startswith("x") or near(cell, value), (cells, value))

    def states(self, told, part="figures"):
        return {row["name"]: row["state"] for row in told[part] if row["state"] not in ("same", "noise")}

    def test_equal_traces(self):
        text, told = self.diff(self.trace(), self.trace())
        self.assertTrue(text.startswith("No difference that matters: 10.0 ms per iteration, A 10.0 ms.\n"), text)
        self.assertEqual((self.states(told), self.states(told, "kernels")), ({}, {}))
        self.assertEqual([site["state"] for site in told["sites"]], ["same", "same"])
        self.assertFalse(any(setting["differs"] for setting in told["settings"]))
        for counts in told["counts"].values():
            self.assertEqual((counts["matter"], counts["below_threshold"], counts["noise"]), (0, 0, 0))

    def test_the_same_file(self):
        trace = self.trace(jitter=lambda i: i % 7 * MS)
        text, told = self.diff(trace, trace)
        self.assertTrue(text.startswith("No difference that matters"), text)
        self.assertEqual(self.states(told), {})

    def test_steady_steps_are_compared(self):
        """The first half may be as slow as it likes: it is not looked at."""
        slow = lambda i: 50 * MS if i < 10 else 0
        _, told = self.diff(self.trace(), self.trace(jitter=slow))
        self.assertEqual([told[side]["iterations_are"] for side in "ab"], ["steps"] * 2)
        self.assertEqual([told["a"][key] for key in ("iterations", "compared_iterations", "first_compared")], [20, 10, 10])
        _, told = self.diff(self.trace(marks=False), self.trace(marks=False, jitter=slow))
        self.assertEqual([told["a"][key] for key in ("iterations_are", "iterations", "compared_iterations", "first_compared")],
                         ["repetitions", 20, 10, 11])

    def test_a_slower_kernel(self):
        slower = (("gemm", 2 * MS, 2), ("adam", 2 * MS, 1))
        text, told = self.diff(self.trace(), self.trace(step=11 * MS, kernels=slower), status=WORSE)
        self.assertTrue(text.startswith("B is 10.0 % slower per iteration (11.0 ms, A 10.0 ms): 1.00 ms more in kernels.\n"), text)
        self.assertEqual(self.states(told), {"time": "more", "device time": "more", "kernels": "more"})
        self.assertEqual(self.states(told, "kernels"), {"adam": "more"})
        adam = next(kernel for kernel in told["kernels"] if kernel["name"] == "adam")
        self.assertEqual((adam["time_ns"]["a"]["median"], adam["time_ns"]["b"]["median"]), (MS, 2 * MS))
        self.assertRegex(text, r"(?m)^adam +1 +1\.00 ms +2\.00 ms +\+1\.00 ms$")
        self.assertNotIn("gemm", text)

    def test_submission_is_no_time_of_a_launch(self):
        """Otherwise a run whose streams were idle seems to have slower kernels."""
        busy = run()
        idle = [(name, {**fields, "flags": 1, "a": fields["a"] + MS} if name == "duration" and fields["tick"] % 4 else fields, *text)
                for name, fields, *text in busy]
        busy, idle = (write_trace(self.folder / f"{name}.slt", records) for name, records in (("busy", busy), ("idle", idle)))
        told = self.diff(busy, idle)[1]
        self.assertTrue(told["verdict"]["text"].startswith("No difference that matters"), told["verdict"])
        self.assertEqual(self.states(told, "kernels"), {})

    def test_more_stall(self):
        text, told = self.diff(self.trace(stall=MS), self.trace(step=12 * MS, stall=3 * MS), status=WORSE)
        self.assertTrue(text.startswith("B is 20.0 % slower per iteration (12.0 ms, A 10.0 ms): 2.00 ms more stalled.\n"), text)
        adam = next(kernel for kernel in told["kernels"] if kernel["name"] == "adam")
        self.assertEqual((adam["state"], adam["stall_ns"]["change"], adam["a"]["stalls"]), ("more", 2 * MS, 1))

    def test_a_slower_host(self):
        _, told = self.diff(self.trace(), self.trace(step=20 * MS), status=WORSE)
        self.assertEqual(told["verdict"]["text"], "B is 100.0 % slower per iteration (20.0 ms, A 10.0 ms): neither in kernels nor in "
                         "stalls.")
        _, told = self.diff(self.trace(timed=False), self.trace(timed=False, step=20 * MS), status=WORSE)
        self.assertEqual(told["verdict"]["text"], "B is 100.0 % slower per iteration (20.0 ms, A 10.0 ms).")

    def test_a_kernel_added_and_one_gone(self):
        """They are told, however short. A kernel that the other run launches too, but not in these steps, is neither."""
        more = (("gemm", 2 * MS, 2), ("scale", 5, 1), ("adam", MS, 1))
        text, told = self.diff(self.trace(), self.trace(kernels=more))
        self.assertEqual(self.states(told, "kernels"), {"scale": "added"})
        self.assertRegex(text, r"(?m)^scale +0 -> 1 +- +5 ns +added$")
        self.assertRegex(text, r"^No difference in time that matters: .*; but 2\nother rows of the tables differ")
        _, told = self.diff(self.trace(kernels=more), self.trace())
        self.assertEqual(self.states(told, "kernels"), {"scale": "gone"})

    def test_a_kernel_in_a_changed_source_file(self):
        """The compiler's hash of the file in a name does not make it another kernel."""
        name = "_ZN41_GLOBAL__N__{}_12_irregular_cu_{}3mixEPjS0_S0_j"
        kernels = lambda *hashes: (("gemm", 2 * MS, 2), (name.format(*hashes), MS, 1))
        _, told = self.diff(self.trace(kernels=kernels("47aea187", "9c5ada8a")), self.trace(kernels=kernels("11a57df7", "ef478fac")))
        self.assertEqual((len(told["kernels"]), self.states(told, "kernels")), (2, {}))

    def test_a_smaller_budget(self):
        """The device has a clock of its own: kernels and stalls count, not the host."""
        own = dict(device="softcuda small", clock=500 * MS)
        a = self.trace(**own)
        b = self.trace(**own, budget=16 * MIB, fetched=8 * MIB, evicted=6 * MIB, stall=2 * MS, step=400 * MS)
        text, told = self.diff(a, b, status=WORSE)
        self.assertTrue(text.startswith("B is 40.0 % slower per iteration (7.00 ms, A 5.00 ms): 2.00 ms more stalled.\n"), text)
        self.assertEqual(told["verdict"]["judged_by"], "device time")
        states = self.states(told)
        self.assertNotIn("time", states)
        for name in "moved", "fetched", "fetched, plan", "evicted, plan":
            self.assertEqual(states[name], "more")
        figures = {figure["name"]: figure for figure in told["figures"]}
        self.assertEqual((figures["moved"]["b"]["median"], figures["fetched, plan"]["b"]["median"]), (14 * MIB, 8 * MIB))
        self.assertEqual(sum(figures[f"fetched, {name}"]["b"]["median"] for name in ("plan", "demand", "late")), 8 * MIB)
        self.assertRegex(text, r"(?m)^budget +64 MiB +16 MiB$")
        self.assertRegex(text, r"(?m)^B has at most .* of its budget of 16 MiB\.$")

    def test_noise(self):
        """A difference is counted, and nothing more, where the steps of one run differ as much."""
        noisy = lambda i: i % 2 * 2 * MS
        text, told = self.diff(self.trace(jitter=noisy), self.trace(jitter=lambda i: noisy(i) + MS))
        self.assertRegex(text, r"^No difference that matters: .*, which is within\nthe spread of iterations")
        self.assertEqual(next(f for f in told["figures"] if f["name"] == "time")["state"], "noise")
        self.assertEqual(told["counts"]["figures"]["noise"], 1)
        self.assertIn("1 more differ no more than iterations of one trace do", text)
        self.diff(self.trace(jitter=noisy), self.trace(jitter=lambda i: noisy(i) + 3 * MS), status=WORSE)

    def test_threshold(self):
        a, b = self.trace(), self.trace(step=10 * MS + 150 * US)
        for threshold, status in ((0, WORSE), (1, WORSE), (2, 0)):
            self.diff(a, b, "--threshold", threshold, status=status)
        self.assertIn("1 more differ too little to matter (--threshold 2)", " ".join(sluice("trace", "diff", a, b).stdout.split()))
        self.diff(b, a, "--threshold", 1)  # faster

    def test_parts_matter_by_their_share_of_the_whole(self):
        """A kernel that takes twice as long is nothing in a long step."""
        tiny = lambda took: (("gemm", 2 * MS, 2), ("tiny", took, 1), ("adam", MS, 1))
        _, told = self.diff(self.trace(kernels=tiny(10 * US)), self.trace(kernels=tiny(20 * US)))
        self.assertEqual((self.states(told, "kernels"), told["counts"]["kernels"]["below_threshold"]), ({}, 1))
        _, told = self.diff(self.trace(kernels=tiny(10 * US)), self.trace(kernels=tiny(40 * US)))
        self.assertEqual(self.states(told, "kernels"), {"tiny": "more"})

    def test_the_other_order_mirrors(self):
        a = self.trace(stall=MS, fetched=4 * MIB, jitter=lambda i: i % 3 * 100 * US, budget=32 * MIB)
        b = self.trace(step=12 * MS, stall=2 * MS, kernels=(("gemm", 3 * MS, 3), ("other", MS, 1)), evicted=2 * MIB,
                       sites=((0xa, 16 * MIB), (0xc, 4 * MIB)))
        forth, told = self.diff(a, b, status=WORSE)
        back, mirrored = self.diff(b, a)
        self.assertEqual(mirrored["verdict"]["state"], "less")
        for part, key in ("figures", "name"), ("kernels", "name"), ("sites", "site"), ("settings", "name"):
            there, here = ({row[key]: row for row in x[part]} for x in (told, mirrored))
            self.assertEqual(there.keys(), here.keys())
            for name, row in there.items():
                self.assertEqual((row["a"], row["b"]), (here[name]["b"], here[name]["a"]))
                if part == "settings":
                    self.assertEqual(row["differs"], here[name]["differs"])
                else:
                    self.assertEqual(MIRRORED[row["state"]], here[name]["state"], name)
        self.assertEqual(told["counts"], mirrored["counts"])
        self.assertEqual(len(forth.splitlines()), len(back.splitlines()))

    def test_sites(self):
        a = self.trace(sites=((0xa, 8 * MIB), (0xb, 4 * MIB)))
        b = self.trace(sites=((0xa, 12 * MIB), (0xc, 4 * MIB)))
        text, told = self.diff(a, b)
        self.assertEqual({row["site"]: row["state"] for row in told["sites"]}, {"0xa": "more", "0xb": "gone", "0xc": "added"})
        self.assertEqual({row["site"]: row["title"] for row in told["sites"]}, {name: f"site {name}" for name in ("0xa", "0xb", "0xc")})
        self.assertRegex(text, r"(?m)^site 0xa +8 MiB +12 MiB +\+4 MiB$")
        self.assertRegex(text, r"(?m)^site 0xc +- +4 MiB +added$")
        text, _ = self.diff(a, self.trace(sites=((0xd, 8 * MIB), (0xe, 4 * MIB))))
        self.assertIn("No allocation site is in both traces", text)

    def test_other_devices(self):
        """Only bytes are judged, and the first line says so."""
        a, b = self.trace(fetched=2 * MIB), self.trace(device="GPU 2", step=30 * MS, stall=9 * MS, fetched=2 * MIB)
        text, told = self.diff(a, b)
        self.assertIn("times are not compared, because the devices differ", told["verdict"]["text"])
        self.assertEqual(self.states(told), {"stalls": "more"})
        self.assertRegex(text, r"(?m)^device +GPU 1 +GPU 2$")
        _, told = self.diff(a, self.trace(device="GPU 2", fetched=4 * MIB), status=WORSE)
        self.assertTrue(told["verdict"]["text"].startswith("B moves 100.0 % more bytes per iteration (4 MiB, A 2 MiB); times"))
        _, told = self.diff(a, self.trace(clock=500 * MS, fetched=2 * MIB))
        self.assertIn("only one device has a clock of its own", told["verdict"]["text"])

    def test_guessed_times(self):
        """Without durations, and on a clock of its own, stalls and bytes are judged."""
        own = dict(device="softcuda small", timed=False)
        _, told = self.diff(self.trace(**own, stall=MS), self.trace(**own, stall=2 * MS, step=5 * MS), status=WORSE)
        self.assertTrue(told["verdict"]["text"].startswith("B stalls 100.0 % longer per iteration (2.00 ms, A 1.00 ms); only stalls and"))
        self.assertEqual(told["verdict"]["judged_by"], "stall and bytes")
        _, told = self.diff(self.trace(**own), self.trace(**own, fetched=2 * MIB), status=WORSE)
        self.assertTrue(told["verdict"]["text"].startswith("B moves 2 MiB per iteration, A none; only"), told["verdict"]["text"])
        _, told = self.diff(self.trace(**own), self.trace(**own, step=90 * MS))
        self.assertIn("No difference in stalls or bytes moved that matters; only", told["verdict"]["text"])

    def test_no_iterations(self):
        records = run(steps=1, marks=False)[:-2]
        a, b = (write_trace(self.folder / name, records) for name in ("a.slt", "b.slt"))
        text, told = self.diff(a, b)
        self.assertEqual([told[side]["iterations_are"] for side in "ab"], ["run"] * 2)
        self.assertIn("the whole runs are compared as one", text)

    def test_names_are_foreign(self):
        """Neither control characters nor JSON's own reach the terminal or a reader."""
        name = "x\x1b[31m\"\\\x7fy"
        _, told = self.diff(self.trace(), self.trace(kernels=(("gemm", 2 * MS, 2), (name, MS, 1)), command="a\x07b", device="GPU 1"))
        self.assertIn("x?[31m\"\\?y", [kernel["name"] for kernel in told["kernels"]])

    def test_no_line_is_wider_than_the_terminal(self):
        long = "_ZN2at6native29vectorized_elementwise_kernelILi4ENS0_15CUDAFunctor_addIfEESt5arrayIPcLm3EEEEviT0_T1_"
        a = self.trace(stall=MS, command="./train " + 40 * "x" + " --budget 1")
        b = self.trace(step=12 * MS, stall=123 * US, kernels=(("gemm", 2 * MS, 2), (long, MS, 111)), fetched=2 * MIB,
                       command="./train " + 40 * "x" + " --budget 2 " + 40 * "y")
        text = on_terminal("trace", "diff", a, b)
        self.assertIn("vectorized_elementwise", text)
        self.assertIn("--budget 2", text)
        self.assertLessEqual(max(map(len, text.splitlines())), 80, text)

    def test_limit(self):
        kernels = tuple((f"k{i}", MS, 1) for i in range(14))
        a, b = self.trace(), self.trace(kernels=kernels)
        self.assertIn("6 more are not shown (--limit)", self.diff(a, b)[0])
        text, told = self.diff(a, b, "--limit", 0)
        self.assertNotIn("not shown", text)
        self.assertEqual(told["counts"]["kernels"]["matter"], 16)

    def test_files_that_are_no_whole_traces(self):
        good, empty = self.trace(), self.folder / "empty"
        empty.touch()
        for path, word in (("/no/such/file", "No such file"), ("/", "directory"), (empty, "is empty"), (__file__, "not a sluice trace"),
                           (write_trace(self.folder / "none.slt", []), "the trace has no launches")):
            for paths in (good, path), (path, good):
                result = sluice("trace", "diff", *paths)
                self.assertEqual((result.returncode, result.stdout), (1, ""), paths)
                self.assert_one_line(result.stderr, f"{path}: ", word)
        growing = write_trace(self.folder / "growing.slt", run(), ended=False)
        result = sluice("trace", "diff", good, growing)
        self.assertEqual(result.returncode, 0)
        self.assertTrue(result.stdout.startswith("No difference that matters"))
        self.assert_one_line(result.stderr, f"{growing}: at byte ")
        content = bytearray(write_trace(self.folder / "damaged.slt", run(), per_block=100).read_bytes())
        content[len(content) - 2000] ^= 0xFF
        (self.folder / "damaged.slt").write_bytes(content)
        result = sluice("trace", "diff", good, self.folder / "damaged.slt")
        self.assertEqual(result.returncode, 1)
        self.assert_one_line(result.stderr, "damaged.slt: at byte ")

    def test_wrong_arguments(self):
        trace = self.trace()
        for count in 0, 1, 3:
            self.assert_usage_error(sluice("trace", "diff", *[trace] * count), f"trace diff takes exactly two traces, A and B, not {count};",
                                    "sluice trace diff --help")
        for number in "-1", "two", "1.5", "99999999999999999999":
            self.assert_usage_error(sluice("trace", "diff", "--threshold", number, trace, trace), "not a whole number")
        self.assert_usage_error(sluice("trace", "diff", "--threshold", "9999999", trace, trace), "--threshold takes")
        self.assert_usage_error(sluice("trace", "diff", "--treshold", "1", trace, trace), "did you mean --threshold?")

    def test_a_program_at_two_budgets(self):
        a, b = (record_gpt(self.folder, budget=budget, name=f"{budget}.slt") for budget in ("24M", "12M"))
        if not a:
            self.skipTest("a sanitized library needs its runtime preloaded before it")
        result = sluice("trace", "diff", a, b)
        self.assertEqual((result.returncode, result.stderr), (WORSE, ""), result.stdout)
        told = json.loads(sluice("trace", "diff", "--json", a, b).stdout)
        self.assertEqual((told["verdict"]["judged_by"], told["a"]["iterations_are"]), ("device time", "steps"))
        figures = {figure["name"]: figure for figure in told["figures"]}
        self.assertEqual([figures[name]["state"] for name in ("device time", "stalled", "moved", "peak")],
                         ["more", "more", "more", "less"])
        self.assertLessEqual(figures["peak"]["b"]["most"], 12 * MIB)


def near(cell, value):
    """Whether a cell shows the value, to its three digits."""
    units = {"": 1, "ns": 1, "us": US, "ms": MS, "s": 1000 * MS, "B": 1, "KiB": 1 << 10, "MiB": MIB, "GiB": 1 << 30}
    number, _, unit = cell.partition(" ")
    return abs(float(number) * units[unit] - (value or 0)) <= 0.006 * abs(value or 0) + 0.06


def on_terminal(*arguments):
    """The output on a terminal of 80 columns."""
    mine, theirs = pty.openpty()
    child = subprocess.Popen([TOOL, *map(str, arguments)], stdout=theirs, stderr=subprocess.DEVNULL,
                             env=clean_environment(COLUMNS="80", TERM="dumb", LC_ALL="C"))
    os.close(theirs)
    output = b""
    while True:
        try:
            part = os.read(mine, 65536)
        except OSError:  # the other end is closed
            part = b""
        if not part:
            break
        output += part
    os.close(mine)
    child.wait()
    return output.decode().replace("\r", "")


if __name__ == "__main__":
    unittest.main()
