"""sluice trace diff -o: one page that needs nothing else, whose figures are those of --json, and which a trace cannot break. The exit
status is that of the command without a page."""
import json
import os
import subprocess
import unittest

from page_shape import PageShape
from report_page import read_page
from support import MS, TOOL, ToolTest, clean_environment, record_gpt, sluice, write_trace
from test_diff import MIB, WORSE, run
from test_report import HOSTILE

TEN_MB = 10_000_000
SECTIONS = ["story", "runs", "step", "traffic", "memory", "stalls", "kernels", "sites", "figures"]


def two_runs(folder):
    """B stalls and moves more, has another kernel, another site and a smaller budget."""
    a = write_trace(folder / "a.slt", run(stall=MS, fetched=4 * MIB, evicted=2 * MIB, budget=32 * MIB, jitter=lambda i: i % 3 * MS // 2))
    b = write_trace(folder / "b.slt", run(step=14 * MS, stall=3 * MS, fetched=12 * MIB, evicted=8 * MIB, budget=24 * MIB,
                                          kernels=(("gemm", 3 * MS, 2), ("scale", MS, 1), ("adam", MS, 1)),
                                          sites=((0xa, 16 * MIB), (0xc, 4 * MIB)), jitter=lambda i: i % 2 * MS // 4))
    return a, b


def hostile_runs(folder):
    """Everything that the traces name is hostile."""
    for name, took in ("a", MS), ("b", 2 * MS):
        records = run(step=8 * took, kernels=((HOSTILE, took, 2), (f"_Z3{HOSTILE}", took, 1)), command=HOSTILE, device=HOSTILE)
        yield write_trace(folder / f"{name}<b>{HOSTILE[-4:]}.slt", records)


class DiffPageTest(ToolTest):
    def put(self, a, b, *arguments, status=0):
        out = self.folder / "page.html"
        result = sluice("trace", "diff", "-o", out, *arguments, a, b)
        self.assertEqual((result.returncode, result.stderr), (status, ""))
        return read_page(out)

    def said(self, a, b, *arguments, status=0):
        result = sluice("trace", "diff", "--json", *arguments, a, b)
        self.assertEqual((result.returncode, result.stderr), (status, ""))
        return json.loads(result.stdout)


class Figures(DiffPageTest):
    """The data are what --json prints, all of it."""

    def assert_same(self, a, b, *arguments, status=0):
        page = self.put(a, b, *arguments, status=status)
        self.assertEqual(set(page.data), {"format", "sluice", "diff"})
        self.assertEqual(page.data["diff"], self.said(a, b, *arguments, status=status))
        return page.data["diff"]

    def test_invented_runs(self):
        a, b = two_runs(self.folder)
        told = self.assert_same(a, b, status=WORSE)
        self.assertEqual(told["verdict"]["state"], "more")
        self.assertEqual({kernel["title"]: kernel["state"] for kernel in told["kernels"]}, {"gemm": "more", "scale": "added", "adam": "more"})
        self.assertEqual({site["title"]: site["state"] for site in told["sites"]},
                         {"site 0xa": "more", "site 0xb": "gone", "site 0xc": "added"})
        self.assert_same(b, a)
        self.assert_same(a, a)
        self.assert_same(a, b, "--threshold", 5000)

    def test_limit_is_for_text(self):
        a = write_trace(self.folder / "many.slt", run(kernels=tuple((f"k{i}", MS, 1) for i in range(14))))
        told = self.assert_same(a, two_runs(self.folder)[0], "--limit", 1)
        self.assertGreater(len(told["kernels"]), 14)

    def test_what_is_not_compared(self):
        a, _ = two_runs(self.folder)
        self.assert_same(a, write_trace(self.folder / "other.slt", run(device="GPU 2")))
        whole = write_trace(self.folder / "whole.slt", run(steps=1, marks=False)[:-2])
        self.assertEqual(self.assert_same(whole, whole)["a"]["iterations_are"], "run")

    def test_a_program_at_two_budgets(self):
        a, b = (record_gpt(self.folder, budget=budget, name=f"{budget}.slt") for budget in ("24M", "12M"))
        if not a:
            self.skipTest("a sanitized library needs its runtime preloaded before it")
        told = self.assert_same(a, b, status=WORSE)
        self.assertTrue(all(kernel["title"] for kernel in told["kernels"]))


class Shape(PageShape, DiffPageTest):
    SECTIONS = SECTIONS

    def setUp(self):
        super().setUp()
        self.page = self.put(*two_runs(self.folder), status=WORSE)

    def test_what_a_trace_names_stays_text(self):
        page = self.put(*hostile_runs(self.folder), status=WORSE)
        self.assertEqual([tag for tag, _ in page.elements], [tag for tag, _ in self.page.elements])
        self.assertNotIn(HOSTILE, page.text)
        self.assertNotIn("<", page.content["data"])
        self.assertIn(HOSTILE, [kernel["name"] for kernel in page.data["diff"]["kernels"]])
        self.assertIn({"name": "device", "a": HOSTILE, "b": HOSTILE, "differs": False}, page.data["diff"]["settings"])

    def test_names_do_not_make_it_large(self):
        kernels = tuple((f"{i}" + "<" * 1000, 1000, 1) for i in range(500))
        a, _ = two_runs(self.folder)
        self.put(a, write_trace(self.folder / "names.slt", run(steps=4, kernels=kernels)))
        self.assertLess((self.folder / "page.html").stat().st_size, TEN_MB)


class Command(DiffPageTest):
    def test_what_is_printed(self):
        a, b = two_runs(self.folder)
        out = self.folder / "page.html"
        for first, second, status in (a, b, WORSE), (b, a, 0):
            result = sluice("trace", "diff", first, second, "-o", out)
            headline, place = result.stdout.splitlines()
            self.assertEqual(result.returncode, status)
            self.assertEqual(headline, self.said(first, second, status=status)["verdict"]["text"])
            self.assertRegex(place, rf"^{out}: [\d.]+ KiB; open it with a browser$")
            both = sluice("trace", "diff", first, second, "--json", "--output", out)
            self.assertEqual((both.returncode, json.loads(both.stdout)), (status, read_page(out).data["diff"]))

    def test_standard_output(self):
        a, b = two_runs(self.folder)
        page = subprocess.run(f"{TOOL} trace diff {a} {b} -o - | cat", shell=True, capture_output=True, text=True, env=clean_environment(), timeout=60)
        self.put(a, b, status=WORSE)
        self.assertEqual(page.stdout, (self.folder / "page.html").read_text())

    def test_arguments(self):
        a, b = two_runs(self.folder)
        out = self.folder / "p"
        self.assert_usage_error(sluice("trace", "diff", a, b, "-o"), "-o needs a value")
        for paths in (), (a,), (a, b, a):
            self.assert_usage_error(sluice("trace", "diff", "-o", out, *paths), f"exactly two traces, A and B, not {len(paths)}")
        for trace in a, b:
            self.assert_usage_error(sluice("trace", "diff", a, b, "-o", trace), "is one of the traces itself")
        self.assert_usage_error(sluice("trace", "diff", a, b, "-o", "-", "--json"), "-o - and --json")
        self.assertEqual(sluice("trace", "diff", a, __file__, "-o", out).returncode, 1)
        self.assertFalse(out.exists())

    def test_another_file_stays(self):
        a, b = two_runs(self.folder)
        out = self.folder / "page.html"
        sluice("trace", "report", "--plan", "no", a, "-o", out)
        before = out.read_text()
        result = sluice("trace", "diff", a, b, "-o", out)
        self.assertEqual((result.returncode, result.stdout), (1, ""))
        self.assert_one_line(result.stderr, "not a comparison of sluice", "--force would replace")
        self.assertEqual(out.read_text(), before)
        self.assertEqual(sluice("trace", "diff", a, b, "--force", "-o", out).returncode, WORSE)
        self.assertEqual(sluice("trace", "diff", b, a, "-o", out).returncode, 0)
        self.assertEqual(sorted(os.listdir(self.folder)), ["a.slt", "b.slt", "page.html"])

    def test_a_damaged_trace(self):
        """What could be read is compared, and the command fails."""
        a, _ = two_runs(self.folder)
        content = bytearray(write_trace(self.folder / "damaged.slt", run(), per_block=100).read_bytes())
        content[len(content) - 2000] ^= 0xFF
        (self.folder / "damaged.slt").write_bytes(content)
        result = sluice("trace", "diff", a, self.folder / "damaged.slt", "-o", self.folder / "page.html")
        self.assertEqual(result.returncode, 1)
        self.assert_one_line(result.stderr, "damaged.slt: at byte ")
        self.assertIs(read_page(self.folder / "page.html").data["diff"]["b"]["complete"], False)


if __name__ == "__main__":
    unittest.main()
