"""The page of trace diff in a browser: what holds for every page, and the figures that it shows. Skipped without Chromium."""
import re

from page_test import PageTest, main
from support import MS, sluice, write_trace
from test_diff import WORSE, run
from test_diff_page import hostile_runs, two_runs
from test_report import HOSTILE


class DiffBrowser(PageTest):
    def page(self, a, b, status=0):
        out = self.folder / "page.html"
        result = sluice("trace", "diff", a, b, "-o", out)
        self.assertEqual((result.returncode, result.stderr), (status, ""))
        return out

    def pages(self):
        a, b = two_runs(self.folder)
        yield self.page(a, b, WORSE)
        yield self.page(a, a)
        yield self.page(*hostile_runs(self.folder), WORSE)
        yield self.page(a, write_trace(self.folder / "other.slt", run(device="GPU 2", timed=False)))
        whole = write_trace(self.folder / "whole.slt", run(steps=1, marks=False)[:-2])
        yield self.page(whole, whole)

    def cells(self, section, table=1):
        """The rows of a table, the titles first."""
        return self.browser.evaluate(f"[...document.querySelectorAll('#{section}-view table')[{table - 1}].rows]"
                                     ".map(row => [...row.cells].map(cell => cell.textContent.trim()))")

    def test_it_is_drawn(self):
        for page in self.pages():
            self.assert_well_drawn(page)

    def test_every_control_is_reached_by_keyboard(self):
        for page in self.pages():
            self.assert_reached_by_tab(page)

    def test_it_prints_well(self):
        a, b = two_runs(self.folder)
        headline = sluice("trace", "diff", a, b).stdout.split("\n\n")[0]
        self.assert_prints_well(self.page(a, b, WORSE), " ".join(headline.split()), "Identity and settings", "Times and counts of a step",
                                "Bytes by direction and cause", "Kernels that differ enough to matter", "Sites that differ enough to matter",
                                "All figures of a step")

    def test_names_run_nothing(self):
        self.assertEqual(self.browser.load(self.page(*hostile_runs(self.folder), WORSE)), [])
        self.assertEqual(self.browser.evaluate("[document.images.length, document.scripts.length]"), [0, 2])
        self.assertIn(HOSTILE, self.browser.evaluate("document.getElementById('kernels-view').textContent"))

    def test_figures_are_those_of_the_text(self):
        """Each row of figures of the text is in the page, to the digit, and the sentence is the first thing."""
        a, b = two_runs(self.folder)
        for first, second, status in (a, b, WORSE), (b, a, 0):
            self.browser.load(self.page(first, second, status))
            text = sluice("trace", "diff", first, second).stdout
            self.assertEqual(self.browser.evaluate("document.getElementById('headline').textContent"), " ".join(text.split("\n\n")[0].split()))
            shown = {row[0]: [cell.replace("−", "-").replace("–", "-") for cell in row[1:6]] for row in self.cells("figures")[1:]}
            rows = [re.split("  +", line.strip()) for line in text.splitlines()]
            rows = {row[0]: row[1:] for row in rows if len(row) == 6 and row[0] in shown}
            self.assertGreater(len(rows), 10)
            for name, row in rows.items():
                self.assertEqual(shown[name], row, name)

    def test_every_figure_is_somewhere(self):
        a, b = two_runs(self.folder)
        self.browser.load(self.page(a, b, WORSE))
        all_rows = {row[0] for row in self.cells("figures")[1:]}
        parts = {row[0] for section in ("step", "traffic", "memory") for table in range(1, self.browser.evaluate(
            f"document.querySelectorAll('#{section}-view table').length") + 1) for row in self.cells(section, table)[1:]}
        self.assertEqual(parts, all_rows)

    def test_identity_and_settings(self):
        a, b = two_runs(self.folder)
        self.browser.load(self.page(a, b, WORSE))
        rows = {row[0]: row[1:] for row in self.cells("runs")}
        self.assertEqual(rows["budget"], ["32 MiB", "24 MiB", "differs"])
        self.assertEqual(rows["device"], ["GPU 1", "GPU 1", ""])
        self.assertEqual(rows["trace"], [str(a), str(b), ""])
        self.assertEqual(rows["compared"][:2], ["10 of 20 steps, from no. 10"] * 2)

    def test_what_came_and_went(self):
        a, b = two_runs(self.folder)
        self.browser.load(self.page(a, b, WORSE))
        kernels = {row[0]: row for row in self.cells("kernels")}
        self.assertEqual(kernels["scale"][1:7], ["added", "–", "1", "–", "1.00 ms", "+1.00 ms"])
        self.assertEqual(kernels["gemm"][1:8], ["more", "2", "2", "4.00 ms", "6.00 ms", "+2.00 ms", "+50.0"])
        sites = {row[0].split("\n")[0]: row for row in self.cells("sites")}
        self.assertEqual({name: sites[name][1:5] for name in sites if name.startswith("site 0x")},
                         {"site 0xa": ["more", "8 MiB", "16 MiB", "+8 MiB"], "site 0xb": ["gone", "4 MiB", "–", "−4 MiB"],
                          "site 0xc": ["added", "–", "4 MiB", "+4 MiB"]})
        stalls = self.cells("stalls")[1:]
        self.assertEqual(stalls, [["adam", "1", "1", "1.00 ms", "3.00 ms", "+2.00 ms", "+200.0", "more"]])

    def test_tables_are_sorted_by_keyboard(self):
        browser = self.browser
        a = write_trace(self.folder / "a.slt", run(kernels=tuple((f"k{i}", 5 * MS, 1) for i in range(6))))
        b = write_trace(self.folder / "b.slt", run(kernels=tuple((f"k{i}", (3, 11, 4, 20, 7, 9)[i] * MS, 1) for i in range(6))))
        browser.load(self.page(a, b))
        names = lambda: [row[0] for row in self.cells("kernels")[1:]]
        change = "[...document.querySelectorAll('#kernels-view .sort')].find(button => button.textContent === 'change')"
        browser.evaluate(f"{change}.focus()")
        browser.press("Enter")
        self.assertEqual(names(), ["k3", "k1", "k5", "k4", "k2", "k0"])
        browser.press("Enter")
        self.assertEqual(names(), ["k0", "k2", "k4", "k5", "k1", "k3"])
        self.assertTrue(browser.evaluate(f"document.activeElement === {change}"))


if __name__ == "__main__":
    main()
