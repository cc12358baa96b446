"""sluice trace kernels and trace chunks: their rows add up to the trace's records."""
import collections
import json
import os
import pty
import re
import unittest

from support import TOOL, ToolTest, clean_environment, dump, rank_records, record_gpt, sluice, write_trace

MIB = 1 << 20
FETCH, EVICT, POPULATE, DROP = 2, 0, 3, 1
PLAN, DEMAND, LATE = 0, 16, 32
BASE = 0x7f0000000000


def shown(*arguments):
    result = sluice("trace", *arguments, "--json")
    assert result.returncode == 0 and not result.stderr, result
    return json.loads(result.stdout)


class Kernels(ToolTest):
    def invented(self):
        return write_trace(self.folder / "t.slt", [
            ("alloc", dict(id=1, time=1, a=BASE, b=8 * MIB)),
            ("kernel", dict(id=1, time=2), "often"),
            ("kernel", dict(id=2, time=2), "long"),
            ("kernel", dict(id=3, time=2), "often"),  # the same function of another module
            ("launch", dict(id=1, tick=1, time=10, b=32)),
            ("access", dict(id=1, tick=1, time=10, b=MIB)),
            ("launch", dict(id=1, tick=2, time=20, b=32, d=1)),
            ("launch", dict(id=3, tick=3, time=30, b=32)),
            ("access", dict(id=1, tick=3, time=30, b=4 * MIB)),
            ("launch", dict(id=2, tick=4, time=40, b=32)),
            ("launch", dict(flags=1, tick=5, time=50, c=77)),
            ("duration", dict(id=1, tick=1, time=60, a=100)),
            ("duration", dict(id=3, tick=3, time=60, a=300)),
            ("duration", dict(id=2, tick=4, time=60, a=5000)),
            ("move", dict(flags=FETCH + DEMAND, tick=4, time=41, a=2 * MIB)),
            ("move", dict(flags=FETCH + LATE, id=1, tick=4, time=41, a=MIB)),
            ("move", dict(flags=FETCH + PLAN, id=2, tick=4, time=41, a=2 * MIB)),
            ("move", dict(flags=POPULATE + DEMAND, id=3, tick=4, time=41, a=2 * MIB)),
            ("stall", dict(tick=5, time=70, a=900, b=1, c=4)),
            ("stall", dict(tick=5, time=70, a=50, b=1, c=2)),
            ("stall", dict(tick=5, time=70, a=1, b=1)),           # of a launch that is not told
            ("stall", dict(tick=5, time=70, a=1, b=1, c=99))])    # of one that was lost

    def test_rows(self):
        told = shown("kernels", self.invented())
        rows = {row["name"]: row for row in told["kernels"]}
        self.assertEqual([row["name"] for row in told["kernels"]], ["long", "often", "copy"])
        self.assertEqual(rows["often"]["launches"], 3)
        self.assertEqual(rows["often"]["touched_bytes"], 6 * MIB)  # the second launch touches what the first does
        self.assertEqual((rows["often"]["sampled"], rows["often"]["sampled_ns"], rows["often"]["time_ns"]), (2, 400, 500))
        self.assertEqual((rows["often"]["stalls"], rows["often"]["stall_ns"]), (1, 50))
        self.assertEqual([rows["long"][key] for key in ("misses", "missed_bytes", "late", "late_bytes", "stall_ns")],
                         [1, 2 * MIB, 1, MIB, 900])
        self.assertEqual((rows["copy"]["kind"], rows["copy"]["launches"], rows["copy"]["sampled"]), ("copy", 1, 0))
        self.assertEqual((told["all"]["launches"], told["all"]["unplaced_stalls"]), (5, 2))

    def test_order_and_limit(self):
        trace = self.invented()
        def names(*arguments):
            return [row["name"] for row in shown("kernels", trace, *arguments)["kernels"]]

        self.assertEqual(names("--sort", "launches"), ["often", "copy", "long"])
        self.assertEqual(names("--sort", "bytes"), ["often", "copy", "long"])
        self.assertEqual(names("--sort=stalls"), ["long", "often", "copy"])
        self.assertEqual(names("--sort", "name"), ["copy", "long", "often"])
        self.assertEqual(names("--limit", "1"), ["long"])
        self.assertEqual(len(names("--limit", "0")), 3)
        self.assertIn("2 more are not shown", sluice("trace", "kernels", trace, "--limit", "1").stdout)

    def test_table(self):
        lines = sluice("trace", "kernels", self.invented()).stdout.splitlines()
        self.assertEqual([re.split("  +", line) for line in lines], [
            ["kernel", "launches", "time", "share", "mean", "sampled", "touches", "misses", "late", "stalls", "stalled"],
            ["long", "1", "5.00 us", "90.9 %", "5.00 us", "1", "0 B", "1", "1", "1", "900 ns"],
            ["often", "3", "500 ns", "9.1 %", "200 ns", "2", "2 MiB", "0", "0", "1", "50 ns"],
            ["copy", "1", "-", "-", "-", "0", "0 B", "0", "0", "0", "-"],
            ["all", "5", "5.50 us", "100.0 %", "1.80 us", "3", "1.20 MiB", "1", "1", "2", "950 ns"],
            ["2 stalls belong to launches that the trace does not identify"]])
        self.assertEqual(len({len(line) for line in lines[:5]}), 1)

    def test_sums_of_a_training_run(self):
        trace = record_gpt(self.folder)
        if not trace:
            self.skipTest("a sanitized library needs its runtime preloaded before it")
        told, (_, records) = shown("kernels", trace, "--limit", "0"), dump(trace)
        launches = collections.Counter(r.get("name") or r["kind"] for r in records if r["type"] == "launch")
        self.assertEqual({row["name"]: row["launches"] for row in told["kernels"]}, launches)
        fetched = collections.Counter()
        for r in records:
            if r["type"] == "move" and r["kind"] == "fetch":
                fetched[r["cause"]] += r["bytes"]
        self.assertEqual(told["all"]["missed_bytes"], fetched["demand"])
        self.assertEqual(told["all"]["late_bytes"], fetched["late"])
        stalls = [r for r in records if r["type"] == "stall"]
        self.assertGreater(len(stalls), 0)
        self.assertEqual((told["all"]["stalls"], told["all"]["stall_ns"], told["all"]["unplaced_stalls"]),
                         (len(stalls), sum(r["ns"] for r in stalls), 0))

    def test_wrong_arguments(self):
        trace = self.invented()
        self.assert_usage_error(sluice("trace", "kernels", "--sort", "tiem", trace), "--sort tiem is not allowed",
                                "it takes time|launches|bytes|misses|stalls|name")
        self.assert_usage_error(sluice("trace", "kernels", "--sort", "qqqqqqq", trace), "it takes time|")
        self.assert_usage_error(sluice("trace", "kernels", "--limit", "-1", trace), "not a whole number")
        self.assert_usage_error(sluice("trace", "kernels", "--limit", "99999999999999999999", trace), "not a whole number")
        self.assert_usage_error(sluice("trace", "kernels", "--limit", "many", trace), "not a whole number")
        self.assert_usage_error(sluice("trace", "kernels", "--limit", trace), "not a whole number")

    def test_an_empty_trace(self):
        told = shown("kernels", write_trace(self.folder / "empty.slt", []))
        self.assertEqual((told["kernels"], told["all"]["launches"]), ([], 0))


    def test_submission_is_no_time_of_a_launch(self):
        """On an idle stream the time between the events has a part of the submission: 1000 ns here, as the first kernel shows."""
        records = [("kernel", dict(id=1, time=1), "both"), ("kernel", dict(id=2, time=1), "idle")]
        records += [("launch", dict(id=1 + (tick > 4), tick=tick, time=10 * tick, a=1 + (tick > 4))) for tick in range(1, 7)]
        records += [("duration", dict(id=1, tick=1, time=80, a=4000)), ("duration", dict(flags=1, id=1, tick=2, time=80, a=5000)),
                    ("duration", dict(flags=1, id=2, tick=5, time=80, a=7000))]
        rows = json.loads(sluice("trace", "kernels", "--json", write_trace(self.folder / "idle.slt", records)).stdout)["kernels"]
        self.assertEqual({row["name"]: (row["launches"], row["time_ns"], row["sampled_ns"]) for row in rows},
                         {"both": (4, 16000, 9000), "idle": (2, 12000, 7000)})


class Chunks(ToolTest):
    def invented(self):
        return write_trace(self.folder / "t.slt", [
            ("budget", dict(time=1000, a=8 * MIB, b=2 * MIB, c=1 << 30)),
            ("slab", dict(id=512, time=1000, a=BASE, b=1 << 30)),
            ("slab", dict(id=512, time=1001, a=BASE, b=1 << 30)),          # told again
            ("alloc", dict(id=1, time=1000, a=BASE, b=5 * MIB, c=0xabc)),  # over three chunks
            ("python", dict(time=1000, a=7, c=0xabc), "forward net.py"),
            ("alloc", dict(id=2, time=1000, a=BASE + 5 * MIB, b=512)),
            ("alloc", dict(id=3, time=1000, a=0x1000, b=512)),             # elsewhere
            ("move", dict(flags=POPULATE + DEMAND, id=512, tick=1, time=1100, a=2 * MIB)),
            ("move", dict(flags=EVICT + PLAN, id=512, tick=1, time=1300, a=2 * MIB)),
            ("move", dict(flags=FETCH + DEMAND, id=512, tick=1, time=1500, a=2 * MIB)),
            ("move", dict(flags=DROP + DEMAND, id=512, tick=1, time=1600, a=2 * MIB)),
            ("move", dict(flags=POPULATE + PLAN, id=514, tick=1, time=1900, a=2 * MIB)),
            ("move", dict(flags=FETCH + LATE, id=7, tick=1, time=1950, a=MIB)),  # of a slab that was lost
            ("free", dict(id=1, time=2000, a=BASE, b=5 * MIB))])

    def test_rows(self):
        told = shown("chunks", self.invented(), "--sort", "chunk")
        rows = {row["chunk"]: row for row in told["chunks"]}
        self.assertEqual((told["count"], told["span_ns"], told["placed"]), (4, 1000, True))
        self.assertEqual(list(rows), [7, 512, 513, 514])
        self.assertEqual({chunk: row["resident_ns"] for chunk, row in rows.items()}, {7: 50, 512: 300, 513: 0, 514: 100})
        self.assertEqual({chunk: row["address"] for chunk, row in rows.items()},
                         {7: "0x0", 512: hex(BASE), 513: hex(BASE + 2 * MIB), 514: hex(BASE + 4 * MIB)})
        self.assertEqual({chunk: [(s["slot"], s["bytes"]) for s in row["slots"]] for chunk, row in rows.items()},
                         {7: [], 512: [(1, 2 * MIB)], 513: [(1, 2 * MIB)], 514: [(1, MIB), (2, 512)]})
        self.assertEqual([rows[512]["slots"][0][name] for name in ("site", "title")], ["0xabc", "forward (net.py:7)"])
        text = sluice("trace", "chunks", self.invented()).stdout
        self.assertEqual([line.split("  ")[-1].strip() for line in text.splitlines()[:5]],
                         ["tensor or site", "forward (net.py:7)", "-", "forward (net.py:7)", "forward (net.py:7)"])
        self.assertEqual([row["slots"][0]["offset"] for row in list(rows.values())[1:]], [0, 2 * MIB, 4 * MIB])
        self.assertEqual((rows[512]["in_bytes"], rows[512]["out_bytes"]), (2 * MIB, 2 * MIB))
        self.assertEqual([rows[512][kind] for kind in ("evict", "discard", "fetch", "populate")],
                         [dict(plan=1, demand=0, late=0), dict(plan=0, demand=1, late=0),
                          dict(plan=0, demand=1, late=0), dict(plan=0, demand=1, late=0)])

    def test_tensors_with_names(self):
        """The largest one tells what a chunk holds; the site is for what has no name. What a name is made of is shown, not obeyed."""
        trace = write_trace(self.folder / "named.slt", [
            ("budget", dict(time=1000, a=8 * MIB, b=2 * MIB, c=1 << 30)),
            ("slab", dict(id=512, time=1000, a=BASE, b=1 << 30)),
            ("alloc", dict(id=1, time=1000, a=BASE, b=MIB, c=0xabc)), ("alloc", dict(id=2, time=1000, a=BASE + MIB, b=512, c=0xabc)),
            ("name", dict(time=1500, a=BASE, b=4), "layer.bias"), ("name", dict(time=1500, a=BASE + 64, b=1024), "layer.\x1b[7mweight"),
            ("move", dict(flags=POPULATE + DEMAND, id=512, tick=1, time=1100, a=2 * MIB)), ("free", dict(id=2, time=2000, a=BASE + MIB, b=512))])
        slots = shown("chunks", trace)["chunks"][0]["slots"]
        self.assertEqual([slot.get("tensor") for slot in slots], ["layer.?[7mweight", None])
        self.assertRegex(sluice("trace", "chunks", trace).stdout, r"(?m)  layer\.\?\[7mweight$")

    def test_order_and_limit(self):
        trace = self.invented()
        def chunks(*arguments):
            return [row["chunk"] for row in shown("chunks", trace, *arguments)["chunks"]]

        self.assertEqual(chunks(), [512, 7, 513, 514])
        self.assertEqual(chunks("--sort", "resident"), [512, 514, 7, 513])
        self.assertEqual(chunks("--sort", "misses", "--limit", "2"), [7, 512])
        self.assertIn("2 more are not shown", sluice("trace", "chunks", trace, "--limit", "2").stdout)

    def test_sums_of_a_training_run(self):
        trace = record_gpt(self.folder)
        if not trace:
            self.skipTest("a sanitized library needs its runtime preloaded before it")
        told, (_, records) = shown("chunks", trace, "--limit", "0"), dump(trace)
        self.assertTrue(told["placed"])
        moves, copied = collections.Counter(), collections.Counter()
        for r in records:
            if r["type"] == "move":
                moves[r["chunk"], r["kind"], r["cause"]] += 1
                copied[r["kind"]] += r["bytes"]
        self.assertGreater(copied["fetch"], 0)
        self.assertEqual({(row["chunk"], kind, cause): count for row in told["chunks"]
                          for kind in ("evict", "discard", "fetch", "populate")
                          for cause, count in row[kind].items() if count}, moves)
        self.assertEqual(sum(row["in_bytes"] for row in told["chunks"]), copied["fetch"])
        self.assertEqual(sum(row["out_bytes"] for row in told["chunks"]), copied["evict"])
        # What lies in chunks is known, and nearly all of it by its purpose.
        classes = collections.Counter()
        for row in told["chunks"]:
            classes.update(row["classes"])
            self.assertLessEqual(sum(slot["bytes"] for slot in row["slots"]), sum(row["classes"].values()))
        self.assertLess(classes.pop("unknown", 0), 0.05 * classes.total())
        self.assertTrue({"parameters", "gradients", "optimizer state", "activations"} <= set(classes))
        # Whatever moved is where the program had something, if not in the end, and no slot's bytes are in no chunk.
        largest, begins = collections.Counter(), [int(r["address"], 16) for r in records if r["type"] == "alloc"]
        for row in told["chunks"]:
            first = int(row["address"], 16)
            self.assertNotEqual(first, 0)
            self.assertTrue(row["slot_count"] or any(first <= begin < first + (2 << 20) for begin in begins))
            self.assertLessEqual(row["resident_ns"], told["span_ns"])
        for r in records:
            if r["type"] == "alloc":
                largest[r["slot"]] = r["bytes"]
        self.assertGreaterEqual(sum(row["slot_count"] for row in told["chunks"]), len(largest))

    def test_slabs_that_make_no_sense(self):
        """What a damaged writer may say costs no memory and no time."""
        for chunk_bytes, slab in ((1, dict(a=BASE, b=1 << 30)), (2 * MIB, dict(a=BASE, b=1 << 62)),
                                  (0, dict(a=BASE, b=1 << 30)), (2 * MIB, dict(a=(1 << 64) - 4096, b=1 << 30))):
            trace = write_trace(self.folder / "t.slt", [
                ("budget", dict(time=1, a=8 * MIB, b=chunk_bytes)), ("slab", dict(time=1, **slab)),
                ("alloc", dict(id=1, time=2, a=BASE, b=1 << 61)),
                ("alloc", dict(id=2, time=2, a=(1 << 64) - 4096, b=1 << 61))])
            self.assertLess(shown("chunks", trace)["count"], 1000)

    def test_a_trace_without_chunks(self):
        trace = write_trace(self.folder / "t.slt", [("alloc", dict(id=1, time=2, a=BASE, b=4096))])
        self.assertEqual(shown("chunks", trace)["chunks"], [])
        self.assertIn("has no chunks", sluice("trace", "chunks", trace).stdout)


class Terminal(ToolTest):
    """Rows that a terminal wraps cannot be read as a table."""

    def lines(self, *arguments, columns):
        pid, terminal = pty.fork()
        if pid == 0:
            os.execve(TOOL, [TOOL, "trace", *map(str, arguments)], clean_environment(COLUMNS=str(columns), TERM="dumb", LC_ALL="C.UTF-8"))
        said = b""
        try:
            while part := os.read(terminal, 4096):
                said += part
        except OSError:
            pass  # the command has ended
        self.assertEqual(os.waitpid(pid, 0)[1], 0, said)
        os.close(terminal)
        return [line.split("\r")[-1] for line in said.decode().replace("\r\n", "\n").split("\n")]

    def test_tables_fit(self):
        name = "a_kernel_with_a_name_that_is_longer_than_any_terminal<" + "float, " * 20 + "float>"
        records = [("alloc", dict(id=1, time=1, a=BASE, b=8 * MIB)), ("kernel", dict(id=1, time=2), name), ("slab", dict(time=1, a=BASE, b=1 << 30))]
        for tick in range(1, 9):
            records += [("launch", dict(id=1, tick=tick, time=10_000_000 * tick, b=32)), ("access", dict(id=1, tick=tick, time=10_000_000 * tick, b=8 * MIB)),
                        ("duration", dict(id=1, tick=tick, time=10_000_000 * tick, a=1_234_567)),
                        ("move", dict(flags=FETCH + DEMAND, id=tick % 4, tick=tick, time=10_000_000 * tick, a=2 * MIB)),
                        ("stall", dict(tick=tick, time=10_000_000 * tick, a=123_456, b=1, c=tick))]
        trace = write_trace(self.folder / "t.slt", [("budget", dict(time=1, a=64 * MIB, b=2 * MIB, c=1 << 30)), *records])
        ranks = [write_trace(self.folder / f"run.{rank}.slt", rank_records(rank)) for rank in range(2)]
        tables = 0
        for command in (["kernels", trace], ["chunks", trace], ["phases", trace], ["timeline", trace], ["info", *ranks], ["phases", *ranks],
                        ["timeline", *ranks], ["ranks", *ranks]):
            for columns in (60, 80, 100):
                with self.subTest((command[0], len(command), columns)):
                    rows = [line for line in self.lines(*command, columns=columns) if "  " in line.strip() or "\u2502" in line]
                    tables += len(rows) > 2
                    self.assertEqual([row for row in rows if len(row) > columns], [])
        self.assertGreater(tables, 18)


if __name__ == "__main__":
    unittest.main()
