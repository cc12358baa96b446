"""Charts of the pages, pixel by pixel against the data: the colours of a column or a bar, their order and their lengths. The scale is
read from the labels of the axes, as a reader does, so labels and areas must agree. No text is compared, so fonts do not matter.
Skipped without Chromium."""
import os
import subprocess

from page_test import SIZES, PageTest, main
from picture import Picture, extent, rgb
from report_page import colours, read_page
from support import MS, sluice
from test_diff import MIB, WORSE
from test_diff_page import two_runs

CLASSES = ["parameters", "gradients", "optimizer state", "activations", "workspaces", "inputs", "unknown"]
CAUSES = ["plan", "demand", "late"]
UNITS = {"B": 1, "KiB": 1 << 10, "MiB": MIB, "GiB": 1 << 30, "ns": 1, "us": 1000, "ms": MS, "s": 1000 * MS}
NEAR = 2  # pixels
HIDE = """document.head.append(Object.assign(document.createElement('style'), {textContent:
    '* { color: transparent !important } svg text { fill: transparent !important } .cursor { display: none }'}))"""
LABELS = """[...document.querySelectorAll('{} svg text.quiet')].map(t => [t.textContent, Number(t.getAttribute('x')), Number(t.getAttribute('y')),
    t.getAttribute('text-anchor')])"""


def amount(text):
    number, unit = text.split()
    return float(number) * UNITS[unit]


def line_through(points):
    """The place of a value, from the outermost two of (value, place)."""
    (v, p), (w, q) = min(points), max(points)
    return lambda value: p + (value - v) * (q - p) / (w - v)


class Pixels(PageTest):
    def both(self, page):
        """For each size: the palette, after the page was loaded without its texts."""
        for width, dark in SIZES:
            self.assertEqual(self.browser.load(page, width, dark=dark), [])
            self.browser.evaluate(HIDE)
            yield width, {name: rgb(colour) for name, colour in colours(read_page(page).content["style"])[dark].items()}

    def assert_stack(self, pixels, parts, place):
        """parts: (colour, size), from the axis on. Those too thin to be seen are left out. Returns how many were compared."""
        done, compared = 0, 0
        for colour, size in parts:
            begin, end = sorted((place(done), place(done + size)))
            done += size
            if end - begin < 3 * NEAR:
                continue
            found = extent(pixels, colour)
            self.assertIsNotNone(found, (colour, begin, end))
            self.assertAlmostEqual(found[0], begin, delta=NEAR, msg=f"begin of {colour}")
            self.assertAlmostEqual(found[1], end, delta=NEAR, msg=f"end of {colour}")
            inside = pixels[round(begin) + NEAR:round(end) - NEAR]
            self.assertGreaterEqual(inside.count(colour), len(inside) - 2 * NEAR, "holes")
            compared += 1
        return compared


class Memory(Pixels):
    """The chart of memory by class over an iteration."""

    def setUp(self):
        super().setUp()
        trace = self.folder / "training.slt"
        subprocess.run([os.environ["WRITE_TRAINING"], trace], check=True)
        self.page = self.folder / "page.html"
        subprocess.run([os.environ["SLUICE_TOOL"], "trace", "report", "--plan", "no", trace, "-o", self.page], check=True, stdout=subprocess.DEVNULL)
        self.timeline = read_page(self.page).data["traces"][0]["timeline"]

    def places(self):
        """Where a time and an amount of memory are drawn."""
        labels = self.browser.evaluate(LABELS.format("#memory-view .chart"))
        times = [(amount(text), x) for text, x, y, _ in labels if text.endswith("s") and text[0].isdigit()]
        sizes = [(amount(text), y - 4) for text, x, y, anchor in labels if text.endswith("B") and anchor == "end"]
        return line_through(times), line_through(sizes)

    def steady_columns(self, across):
        """Columns around which nothing changes within `across` others."""
        memory = self.timeline["memory"]
        count = len(self.timeline["phases"])
        same = [[memory[name][c] for name in (*CLASSES, "all")] for c in range(count)]
        return [c for c in range(across, count - across) if all(same[c] == same[d] for d in range(c - across, c + across + 1))]

    def test_the_stack_of_each_moment(self):
        timeline = self.timeline
        for width, palette in self.both(self.page):
            x, y = self.places()
            picture = Picture(self.browser.picture("#memory-view .chart"))
            count, compared = len(timeline["phases"]), 0
            for c in self.steady_columns(2 if width > 500 else 5)[::8]:
                at = int(x((c + 0.5) / count * timeline["duration_ns"]))
                parts = [(palette[name.replace(" ", "-")], timeline["memory"][name][c]) for name in CLASSES]
                compared += self.assert_stack(picture.column(at), parts, y)
                top = min(y(timeline["memory"]["all"][c]), y(sum(size for _, size in parts)))
                self.assertFalse(set(picture.column(at)[:max(0, int(top) - NEAR)]) & {colour for colour, _ in parts}, "above the stack")
            self.assertGreater(compared, 20)

    def test_the_line_of_the_budget(self):
        """Most of its row is in its colour, and no other row is, where nothing else is drawn."""
        for _, palette in self.both(self.page):
            x, y = self.places()
            picture = Picture(self.browser.picture("#memory-view .chart"))
            left, right = round(x(0)), round(x(self.timeline["duration_ns"]))
            line = round(y(self.timeline["budget"]))

            def share(row):
                close = [sum(abs(a - b) for a, b in zip(pixel, palette["budget"])) < 0.4 * sum(abs(a - b) for a, b in zip(palette["panel"], palette["budget"]))
                         for pixel in picture.row(row)[left:right]]
                return sum(close) / len(close)

            self.assertGreater(max(share(row) for row in range(line - 1, line + 2)), 0.5)
            for away in (-6, -4, 4, 6):
                self.assertLess(share(line + away), 0.2)


class Bars(Pixels):
    """The bars of both runs."""

    def setUp(self):
        super().setUp()
        self.page = self.folder / "page.html"
        self.assertEqual(sluice("trace", "diff", *two_runs(self.folder), "-o", self.page).returncode, WORSE)
        self.diff = read_page(self.page).data["diff"]
        self.figures = {figure["name"]: figure for figure in self.diff["figures"]}

    def assert_bars(self, selector, groups):
        """groups: for each, the parts of A and of B as (name of the colour, size)."""
        for _, palette in self.both(self.page):
            box = self.browser.evaluate("BARS")
            labels = self.browser.evaluate(f"[...document.querySelectorAll('{selector} .tick')].map(t => [t.textContent, Number(t.getAttribute('x'))])")
            x = line_through([(amount(text), place) for text, place in labels])
            picture = Picture(self.browser.picture(f"{selector} .chart"))
            each = box["title"] + 2 * (box["bar"] + box["gap"]) + box["between"]
            compared = 0
            for g, group in enumerate(groups):
                for r, parts in enumerate(group):
                    top = g * each + box["title"] + r * (box["bar"] + box["gap"])
                    parts = [(palette[name.replace(" ", "-")], size) for name, size in parts]
                    row = picture.row(top + 2)
                    compared += self.assert_stack(row, parts, x)
                    end = x(sum(size for _, size in parts))
                    self.assertFalse(set(row[round(end) + NEAR:]) & {colour for colour, size in parts if size}, "behind the bar")
            self.assertGreaterEqual(compared, sum(any(size for _, size in parts) for group in groups for parts in group))

    def of(self, key, *names):
        return [(tint, self.figures[name][key]["median"]) for name, tint in names]

    def test_time(self):
        self.assertTrue(self.figures["time"]["compared"])
        self.assert_bars("#step-view", [[self.of(key, ("time", "unknown")) for key in "ab"],
                                        [self.of(key, ("kernels", "resident"), ("stalled", "stall")) for key in "ab"]])

    def test_bytes_by_cause(self):
        self.assert_bars("#traffic-view", [[self.of(key, *[(f"{way}, {cause}", cause) for cause in CAUSES]) for key in "ab"]
                                           for way in ("fetched", "evicted")])

    def test_memory(self):
        def by_class(key):
            parts = self.of(key, *[(f"mean, {name}", name) for name in CLASSES])
            return [*parts, ("waiting", self.figures["mean"][key]["median"] - sum(size for _, size in parts))]

        self.assert_bars("#memory-view", [[self.of(key, ("peak", "resident")) for key in "ab"], [by_class(key) for key in "ab"]])

    def test_kernels_that_changed_most(self):
        changed = [kernel for kernel in self.diff["kernels"] if kernel["state"] not in ("same", "noise") and kernel["time_ns"]["change"]]
        self.assertEqual([kernel["name"] for kernel in changed], ["gemm", "scale"])
        self.assert_bars("#kernels-view", [[[("resident", kernel["time_ns"][key]["median"])] for key in "ab"] for kernel in changed])


if __name__ == "__main__":
    main()
