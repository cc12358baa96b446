"""sluice trace report: one page that needs nothing else, whose figures are those of the other commands, and which a trace cannot
break."""
import json
import os
import subprocess
import unittest

from page_shape import PageShape
from report_page import read_page
from support import GOLDEN, MS, TOOL, ToolTest, clean_environment, dump, rank_records, record_gpt, sluice, write_trace

HOSTILE = "</script><img src=x onerror=alert(1)><!--"
LABELS = 33  # columns of a timeline beside its figures
MIB = 1 << 20
FETCH, DEMAND = 2, 16  # flags of movements


class ReportTest(ToolTest):
    def report(self, *arguments, status=0):
        out = self.folder / "page.html"
        result = sluice("trace", "report", "-o", out, *arguments)
        self.assertEqual(result.returncode, status, result.stderr)
        return read_page(out)

    def said(self, *arguments, status=0):
        result = sluice(*arguments, "--json")
        self.assertEqual(result.returncode, status, result.stderr)
        return json.loads(result.stdout)

    def training(self):
        path = self.folder / "training.slt"
        subprocess.run([os.environ["WRITE_TRAINING"], path], check=True)
        return path


def hostile_trace(folder):
    """Everything that a trace names is hostile."""
    return write_trace(folder / "hostile.slt", [
        ("budget", dict(time=1000, a=8 * MIB, b=2 * MIB, c=1 << 30)),
        ("metadata", dict(time=1000), f"command={HOSTILE}"), ("metadata", dict(time=1000), f"device={HOSTILE}"),
        ("metadata", dict(time=1000), f"movers={HOSTILE}"),
        ("kernel", dict(id=1, time=1000), HOSTILE),
        ("module", dict(time=1000, id=1, a=4096), f"/no/{HOSTILE}"), ("site", dict(time=1000, c=10), "1+10 1+2f"),
        ("slab", dict(time=1000, a=0x40000000, b=16 * MIB)),
        ("alloc", dict(time=1000, id=1, a=0x40000000, b=4 * MIB, c=10)), ("move", dict(flags=FETCH, id=0, tick=0, time=1001, a=2 * MIB)),
        *[record for step in range(1, 9) for record in (
            ("launch", dict(id=1, tick=step, time=1000 * step + 1000)), ("access", dict(id=1, tick=step, b=4 * MIB)),
            ("move", dict(flags=FETCH | DEMAND, id=1, tick=step, time=1000 * step + 1001, a=2 * MIB)),
            ("stall", dict(tick=step, time=1000 * step + 1500, a=300, b=1, c=step)),
            ("iteration", dict(id=step, tick=step, time=1000 * step + 1000, a=1)))]])


def shown_title(name):
    """A module's name with an offset, as titles cut it."""
    name = name.rsplit("/", 1)[1]
    module, _, offset = name.rpartition("+")
    return f"{module[:40]}+{offset}"


def python_trace(folder):
    """Allocations of a program of Python: in a layer, in the script, and elsewhere in the layer's caller."""
    library, script = "/usr/lib/python3/dist-packages/torch/nn/modules", "/home/train.py"
    script_frame = f"<module> {script}"
    stacks = {10: [(125, f"Linear.forward {library}/linear.py"), (1750, f"Module._call_impl {library}/module.py"), (40, f"Block.forward {script}"),
                   (90, script_frame)],
              11: [(90, script_frame)], 12: [(41, f"Block.forward {script}"), (90, script_frame)]}
    return write_trace(folder / "python.slt", [
        ("budget", dict(time=1000, a=8 * MIB, b=2 * MIB, c=1 << 30)), ("kernel", dict(id=1, time=1000), "add"),
        ("module", dict(time=1000, id=1, a=4096), "/usr/lib/libtorch_cpu.so"), ("module", dict(time=1000, id=2, a=4096), "/usr/bin/python3.13"),
        *[("site", dict(time=1000, c=site), "1+10 2+20 2+30 1+40 2+50") for site in stacks],
        *[("python", dict(time=1000, id=depth, a=line, c=site), text) for site, frames in stacks.items() for depth, (line, text) in enumerate(frames)],
        ("slab", dict(time=1000, a=0x40000000, b=16 * MIB)),
        *[("alloc", dict(time=1000, id=i, a=0x40000000 + 4 * MIB * i, b=size * MIB, c=site)) for i, (site, size) in enumerate(((10, 4), (11, 3), (12, 1)))],
        *[record for step in range(1, 9) for record in (
            ("launch", dict(id=1, tick=step, time=1000 * step + 1000)), ("access", dict(id=step % 2, tick=step, b=2 * MIB)),
            ("move", dict(flags=FETCH | DEMAND, id=2 * (step % 2), tick=step, time=1000 * step + 1001, a=2 * MIB)),
            ("stall", dict(tick=step, time=1000 * step + 1500, a=300, b=1, c=step)),
            ("iteration", dict(id=step, tick=step, time=1000 * step + 1000, a=1)))]])


class Figures(ReportTest):
    """Each part of the data is what a command says."""

    def assert_trace(self, told, path):
        self.assertEqual(told["info"], self.said("trace", "info", path))
        self.assertEqual(told["phases"], self.said("trace", "phases", path))
        step = told["timeline"].get("iteration")
        self.assertEqual("step" in told, step is not None)
        if step:
            self.assertEqual(told["step"], self.said("trace", "phases", "--iteration", step, path))
        columns = len(told["timeline"]["phases"])
        self.assertEqual(told["timeline"], self.said("trace", "timeline", "--width", columns + LABELS, path))
        self.assertEqual(told["kernels"], self.said("trace", "kernels", "--limit", 100, path))
        self.assert_sites(told["sites"], self.said("trace", "sites", path))
        info = told["info"]
        self.assertEqual((told["stalls"]["count"], told["stalls"]["ns"]), (info["stalls"], info["stall_ns"]))
        self.assert_holders(told)
        self.assert_map(told)

    def assert_sites(self, told, said):
        self.assertEqual([{**site, **{part: [told[part][i] for i in site[part]] for part in ("frames", "python")}} for site in told["sites"]],
                         said["sites"][:len(told["sites"])])
        for part in ("frames", "python"):  # each is told once
            self.assertEqual(len({json.dumps(frame) for frame in told[part]}), len(told[part]))
        self.assertEqual(told["peak_bytes"], said["peak_bytes"])
        rest = said["sites"][len(told["sites"]):]
        self.assertEqual(told["rest"], {"sites": len(rest), "share_bytes": sum(site["share_bytes"] for site in rest),
                                        "total_bytes": sum(site["total_bytes"] for site in rest)})

    def assert_holders(self, told):
        """No site holds more than its peak; together they hold no more than the program."""
        peaks = {site["site"]: site["peak_bytes"] for site in told["sites"]["sites"]}
        for holders in told["holders"]:
            sizes = [holder["bytes"] for holder in holders]
            self.assertEqual(sizes, sorted(sizes, reverse=True))
            self.assertLessEqual(sum(sizes), told["info"]["peak_bytes"])
            for holder in holders:
                self.assertLessEqual(holder["bytes"], peaks[holder["site"]])
                self.assertGreaterEqual(holder["bytes"], holder["largest_bytes"])

    def assert_map(self, told, whole_chunks=False):
        """With a row for each chunk: those that are on the device hold the timeline's memory."""
        chunks, memory = told["map"], told["timeline"]["memory"]["all"]
        for row in chunks["resident"] + chunks["moved"]:
            self.assertEqual(len(row), chunks["columns"])
        if chunks["chunks_per_row"] != 1 or not told["info"]["movements"]["populate"]["demand"]["count"]:
            return
        each = len(memory) // chunks["columns"]
        for c in range(chunks["columns"]):
            resident = sum(row[c] in "9j" for row in chunks["resident"])
            self.assertEqual(resident, sum(row[c] not in "0a" for row in chunks["resident"]))
            self.assertGreaterEqual(resident * told["info"]["chunk_bytes"], memory[each * c + each - 1])
            if whole_chunks:
                self.assertEqual(resident * told["info"]["chunk_bytes"], memory[each * c + each - 1])

    def assert_plan(self, told, *paths):
        words = told["command"].split()
        self.assertEqual(words[0], "sluice")
        self.assertEqual(told["result"], self.said(*words[1:], *paths))

    def test_a_training(self):
        path = self.training()
        page = self.report(path)
        self.assert_trace(page.data["traces"][0], path)
        self.assert_plan(page.data["plan"], path)
        other = self.report("--plan", "no", "--iteration", 1, path).data
        self.assertEqual(other["traces"][0]["step"], self.said("trace", "phases", "--iteration", 1, path))
        self.assertIn("--plan no", other["plan"]["absent"])

    @unittest.skipIf(os.environ.get("SANITIZED"), "nothing is recorded under a sanitizer")
    def test_a_recorded_run(self):
        path = record_gpt(self.folder)
        data = self.report(path).data
        told = data["traces"][0]
        self.assert_trace(told, path)
        self.assert_map(told, whole_chunks=True)
        self.assert_plan(data["plan"], path)
        self.assertIn(told["info"]["budget_bytes"], [one["budget_bytes"] for one in data["plan"]["result"]["predictions"]])
        # Every fetch that a launch waited for is known by its chunk, allocation and site.
        self.assertGreater(told["stalls"]["count"], 0)
        known = [one for one in told["stalls"]["longest"] if one.get("site") and one["cause"] and "chunk" in one and one["kernel"]]
        self.assertGreater(sum(one["ns"] for one in known), told["stalls"]["ns"] / 2)
        _, records = dump(path)
        slots = {record["slot"]: record["bytes"] for record in records if record["type"] == "alloc"}
        fetches = [record for record in records if record["type"] == "move" and record["kind"] == "fetch"]
        for one in known:
            self.assertEqual(one["bytes"], slots[one["slot"]])
            newest = max((record for record in fetches if record["chunk"] == one["chunk"] and record["tick"] <= one["tick"]),
                         key=lambda record: (record["tick"], record["time_ns"]))
            self.assertEqual(one["cause"], newest["cause"], one)

    def test_foreign_and_small_ones(self):
        for path in (GOLDEN / "v2.slt", hostile_trace(self.folder), write_trace(self.folder / "none.slt", [])):
            data = self.report(path).data
            self.assert_trace(data["traces"][0], path)
            if "result" in data["plan"]:
                self.assert_plan(data["plan"], path)
            else:
                self.assertIn("no complete iteration", data["plan"]["absent"])

    def test_ranks(self):
        paths = [write_trace(self.folder / f"run.{r}.slt", rank_records(r, late=r * MS)) for r in range(3)]
        data = self.report(*paths).data
        for told, path in zip(data["traces"], paths):
            self.assert_trace(told, path)
        for part in ("info", "phases", "ranks"):
            self.assertEqual(data["job"][part], self.said("trace", part, *paths), part)
        columns = len(data["job"]["timeline"]["ranks"][0]["phases"])
        self.assertEqual(data["job"]["timeline"], self.said("trace", "timeline", "--width", columns + LABELS, *paths))

    def test_what_a_launch_waited_for(self):
        """Of both chunks of the allocation, the one that was fetched last."""
        stalls = self.report(hostile_trace(self.folder)).data["traces"][0]["stalls"]
        self.assertEqual(stalls, {"count": 8, "ns": 2400, "groups": 1, "longest": [
            {"count": 8, "ns": 2400, "longest_ns": 300, "tick": 1, "phase": "other", "kernel": HOSTILE, "cause": "demand", "chunk": 1,
             "slot": 1, "bytes": 4 * MIB, "site": "0xa", "title": shown_title(HOSTILE + "+0x10")}]})

    def test_fetches_that_were_recorded_late(self):
        """The daemon's fetch for launch 2, recorded behind one for launch 3, is what launch 2 waited for."""
        path = write_trace(self.folder / "late.slt", [
            ("budget", dict(time=1000, a=8 * MIB, b=2 * MIB, c=1 << 30)), ("kernel", dict(id=1, time=1000), "add"),
            ("slab", dict(time=1000, a=0x40000000, b=16 * MIB)), ("alloc", dict(time=1000, id=1, a=0x40000000, b=2 * MIB, c=10)),
            ("move", dict(flags=FETCH | DEMAND, id=0, tick=1, time=1001, a=2 * MIB)),
            *[record for tick in (1, 2, 3) for record in (
                ("launch", dict(id=1, tick=tick, time=1000 + 1000 * tick)), ("access", dict(id=1, tick=tick, b=2 * MIB)))],
            ("move", dict(flags=FETCH | DEMAND, id=1, tick=3, time=4100, a=2 * MIB)),
            ("move", dict(flags=FETCH, id=0, tick=2, time=4200, a=2 * MIB)),
            ("stall", dict(tick=3, time=4300, a=300, b=1, c=2)), ("iteration", dict(id=1, tick=3, time=4400, a=1))])
        longest = self.report(path).data["traces"][0]["stalls"]["longest"]
        self.assertEqual([(one["tick"], one["chunk"], one["cause"]) for one in longest], [(2, 0, "plan")])

    def test_lines_of_python(self):
        """A stall is told with the innermost line that allocated, and the page has the frames of each site."""
        path = python_trace(self.folder)
        told = self.report(path).data["traces"][0]
        self.assert_trace(told, path)
        self.assertEqual({one["site"]: one["title"] for one in told["stalls"]["longest"]},
                         {"0xa": "Linear.forward (linear.py:125) <- Block.forward (train.py:40)", "0xb": "<module> (train.py:90)"})
        self.assertEqual([[told["sites"]["python"][i]["function"] for i in site["python"]] for site in told["sites"]["sites"]],
                         [["Linear.forward", "Module._call_impl", "Block.forward", "<module>"], ["<module>"], ["Block.forward", "<module>"]])

    def test_guessed_times_are_told(self):
        data = self.report(hostile_trace(self.folder)).data
        self.assertEqual(data["traces"][0]["kernels"]["all"]["sampled"], 0)
        self.assertEqual(data["plan"]["result"]["guessed"], data["plan"]["result"]["launches"])


class Shape(PageShape, ReportTest):
    """What the page is made of."""
    SECTIONS = ["story", "memory", "link", "stalls", "chunks", "sites", "phases", "balance", "budget", "ranks"]

    def setUp(self):
        super().setUp()
        self.page = self.report(self.training())

    def test_what_a_trace_names_stays_text(self):
        path = hostile_trace(self.folder)
        page, tags = self.report(path), [tag for tag, _ in self.page.elements]
        self.assertEqual([tag for tag, _ in page.elements], tags)
        self.assertNotIn(HOSTILE, page.text)
        self.assertNotIn("<", page.content["data"])
        told = page.data["traces"][0]
        self.assertEqual(told["kernels"]["kernels"][0]["name"], HOSTILE)
        self.assertEqual((told["info"]["metadata"]["command"], told["info"]["metadata"]["movers"]), (HOSTILE, HOSTILE))
        self.assertIn(HOSTILE, told["sites"]["frames"][0]["module"])

    def test_the_size_does_not_grow_with_the_trace(self):
        def size(steps):
            path = write_trace(self.folder / "long.slt", [("kernel", dict(id=1, time=1), "k" * 900), *[record for i in range(steps) for record in (
                ("launch", dict(id=1, tick=i + 1, time=1000 * i + 1)), ("stall", dict(tick=i + 1, time=1000 * i + 2, a=5, b=1, c=i + 1)),
                ("move", dict(flags=FETCH, id=i % 900, tick=i + 1, time=1000 * i + 1, a=2 * MIB)))]])
            return len(self.report("--plan", "no", path).text)

        few, many = size(2000), size(60000)
        self.assertLess(many, few + 100000)
        self.assertLess(many, MIB)

    def test_names_do_not_make_it_large(self):
        """A thousand kernels and sites with the longest names that there are."""
        records = [("budget", dict(time=1, a=8 * MIB, b=2 * MIB, c=1 << 30))]
        for i in range(1000):
            records += [("kernel", dict(id=i + 1, time=1), f"{i}" + "<" * 1000), ("module", dict(time=1, id=i + 1, a=4096), f"/{i}" + "<" * 1000),
                        ("site", dict(time=1, c=i + 1), f"{i + 1}+10"),
                        *[("python", dict(time=1, id=depth, c=i + 1), f"{i}{depth}" + "<" * 500 + " " + "<" * 500) for depth in range(16)], ("alloc", dict(time=1, id=i, a=MIB * i, b=1000 + i, c=i + 1)),
                        ("launch", dict(id=i + 1, tick=i + 1, time=i + 1)), ("stall", dict(tick=i + 1, time=i + 2, a=5, b=1, c=i + 1))]
        self.assertLess(len(self.report(write_trace(self.folder / "names.slt", records)).text), 10 * MIB)


class Files(ReportTest):
    def test_what_is_no_trace_makes_no_page(self):
        out = self.folder / "page.html"
        for path, word in (("/no/such/file", "No such file"), (__file__, "not a sluice trace"), ("/dev/null", "is empty")):
            result = sluice("trace", "report", path, "-o", out)
            self.assertEqual((result.returncode, result.stdout), (1, ""))
            self.assert_one_line(result.stderr, word)
            self.assertFalse(out.exists())

    def test_a_trace_that_ends_early_and_a_damaged_one(self):
        whole = self.training().read_bytes()
        cut, damaged = self.folder / "cut.slt", self.folder / "damaged.slt"
        cut.write_bytes(whole[:len(whole) // 2])
        damaged.write_bytes(whole[:len(whole) // 2] + bytes(200) + whole[len(whole) // 2 + 200:])
        for path, status in ((cut, 0), (damaged, 1)):
            page = self.report(path, status=status)
            self.assertIs(page.data["traces"][0]["info"]["complete"], False)
            self.assert_one_line(sluice("trace", "report", path, "-o", self.folder / "again.html").stderr, "at byte ")

    def test_every_cut_and_flip_ends_well(self):
        whole = self.training().read_bytes()
        path, out = self.folder / "broken.slt", self.folder / "page.html"
        for i in range(24):
            at = 128 + (len(whole) - 128) * i // 24
            for content in (whole[:at], whole[:at] + bytes([whole[at] ^ 0x55]) + whole[at + 1:]):
                path.write_bytes(content)
                result = sluice("trace", "report", "--plan", "no", path, "-o", out)
                self.assertIn(result.returncode, (0, 1), result.stderr)
                self.assertLessEqual(result.stderr.count("\n"), 1)
                read_page(out)

    def test_arguments(self):
        trace = self.training()
        self.assert_usage_error(sluice("trace", "report", trace), "-o OUT is needed")
        self.assert_usage_error(sluice("trace", "report", trace, "-o"), "-o needs a value")
        self.assert_usage_error(sluice("trace", "report", "-x", trace), "unknown option -x")
        self.assert_usage_error(sluice("trace", "report", trace, "-o", trace), "is the trace itself")
        self.assert_usage_error(sluice("trace", "report", trace, "-o", self.folder / "p", "--iteration", 0), "count from 1")
        self.assert_usage_error(sluice("trace", "report", trace, "-o", self.folder / "p", "--iteration", 99), "no iteration 99")
        self.assertFalse((self.folder / "p").exists())

    def test_another_file_stays(self):
        trace, out = self.training(), self.folder / "page.html"
        out.write_text("Dear all, this is no page of sluice's.")
        result = sluice("trace", "report", "--plan", "no", trace, "-o", out)
        self.assertEqual(result.returncode, 1)
        self.assert_one_line(result.stderr, "not a report of sluice", "--force would replace")
        self.assertIn("Dear all", out.read_text())
        self.assertEqual(sluice("trace", "report", "--plan", "no", "--force", trace, "-o", out).returncode, 0)
        read_page(out)
        self.assertEqual(sluice("trace", "report", "--plan", "no", trace, "-o", out).returncode, 0)
        self.assertEqual([path.name for path in self.folder.iterdir() if path.name.startswith("page")], ["page.html"])

    def test_standard_output(self):
        trace = self.training()
        page = subprocess.run(f"{TOOL} trace report --plan no {trace} -o - | cat", shell=True, capture_output=True, text=True,
                              env=clean_environment(), timeout=60)
        self.assertEqual(page.stdout, self.report("--plan", "no", trace).text)


if __name__ == "__main__":
    unittest.main()
