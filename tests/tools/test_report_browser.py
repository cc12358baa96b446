"""The page of trace report in a browser: it draws without an error in light and dark and on a phone, keys do what they say, every
link leads somewhere, and names from a trace run nothing. Skipped without Chromium."""
import os
import subprocess

from page_test import PageTest, main
from support import MS, rank_records, sluice, write_trace
from test_report import HOSTILE, hostile_trace, python_trace


class Browser(PageTest):
    def page(self, *traces):
        out = self.folder / "page.html"
        result = sluice("trace", "report", *traces, "-o", out)
        self.assertEqual(result.returncode, 0, result.stderr)
        return out

    def training(self):
        path = self.folder / "training.slt"
        subprocess.run([os.environ["WRITE_TRAINING"], path], check=True)
        return path

    def traces(self):
        yield [self.training()]
        yield [write_trace(self.folder / f"run.{r}.slt", rank_records(r, late=r * MS)) for r in range(3)]
        yield [write_trace(self.folder / "none.slt", [])]
        yield [hostile_trace(self.folder)]
        yield [python_trace(self.folder)]

    def test_it_is_drawn(self):
        for traces in self.traces():
            self.assert_well_drawn(self.page(*traces))

    def test_every_control_is_reached_by_keyboard(self):
        for traces in self.traces():
            self.assert_reached_by_tab(self.page(*traces))

    def test_it_prints_well(self):
        self.assert_prints_well(self.page(self.training()), "GPU memory and traffic", "The run in five lines", "Memory at 24 times", "Kernels by time")
        self.assert_prints_well(self.page(hostile_trace(self.folder)), "GPU memory and traffic")

    def test_tables_are_sorted(self):
        """By the figures, not by their letters; from the largest on first."""
        browser = self.browser
        browser.load(self.page(self.training()))
        self.open_all()
        column = "[...document.querySelectorAll('#memory-view tbody tr')].map(row => row.cells[0].textContent)"
        browser.evaluate("document.querySelector('#memory-view th .sort').focus()")
        before = browser.evaluate(column)
        browser.press("Enter")
        self.assertEqual(browser.evaluate(column), before[::-1])
        self.assertEqual(browser.evaluate("document.activeElement.parentNode.getAttribute('aria-sort')"), "descending")
        browser.press("Enter")
        self.assertEqual(browser.evaluate(column), before)
        self.assertEqual(browser.evaluate("[...document.querySelectorAll('#memory-view [aria-sort]')].map(e => e.getAttribute('aria-sort'))"), ["ascending"])
        order = [numbers for numbers in ("-26.2 us", "–", "0 ns", "999 ns", "1.00 us", "60.5 us", "1.80 ms", "after 2 s")]
        self.assertEqual(browser.evaluate(f"{order}.toSorted((a, b) => numberIn(a) - numberIn(b))"), ["–", *[one for one in order if one != "–"]])

    def test_names_run_nothing(self):
        self.assertEqual(self.browser.load(self.page(hostile_trace(self.folder))), [])
        self.assertEqual(self.browser.evaluate("document.images.length"), 0)
        self.assertEqual(self.browser.evaluate("document.scripts.length"), 2)
        self.assertIn(HOSTILE, self.browser.evaluate("document.body.textContent"))
        self.assertIn("Most times in this report are guessed", self.browser.evaluate("document.getElementById('notices').innerText"))

    def test_figures_are_shown(self):
        self.browser.load(self.page(self.training()))
        story = self.browser.evaluate("document.getElementById('story-lines').innerText")
        info = dict(line.split(maxsplit=1) for line in sluice("trace", "info", self.training()).stdout.splitlines() if " " in line.strip())
        self.assertIn(info["budget"], story)
        self.assertIn(sluice("trace", "info", self.training()).stdout.split("live bytes, peak")[1].split("\n")[0].strip(), story)
        self.assertEqual(self.browser.evaluate("document.querySelectorAll('#story-lines dt').length"), 5)

    def test_keys(self):
        browser = self.browser
        browser.load(self.page(self.training()))
        browser.evaluate("document.querySelector('#memory-view .chart').focus()")
        state = "[axis.from, axis.to, axis.at]"
        start = browser.evaluate(state)
        self.assertEqual(start[:2], [0, 1])
        browser.press("ArrowUp")
        zoomed = browser.evaluate(state)
        self.assertLess(zoomed[1] - zoomed[0], 0.7)
        for key, part, sign in (("ArrowRight", 2, 1), ("ArrowLeft", 2, -1)):
            before = browser.evaluate(state)[part]
            browser.press(key)
            self.assertGreater(sign * (browser.evaluate(state)[part] - before), 0, key)
        browser.press("Home")
        self.assertEqual(browser.evaluate(state)[2], 0)
        self.assertIn("At 0 ns", browser.evaluate("document.querySelector('#memory-view .reading').innerText"))
        browser.press("Escape")
        self.assertEqual(browser.evaluate(state)[:2], [0, 1])
        outline = "getComputedStyle(document.activeElement).outlineStyle"
        self.assertEqual(browser.evaluate(outline), "solid")

    def test_flame_graph(self):
        browser = self.browser
        browser.load(self.page(hostile_trace(self.folder)))
        browser.evaluate("document.querySelector('#sites-view .chart').focus()")
        browser.press("ArrowDown")
        reading = browser.evaluate("document.querySelector('#sites-view .reading').innerText")
        self.assertIn("4 MiB, 100 %", reading)
        browser.evaluate("document.querySelectorAll('#sites-view button')[1].click()")
        self.assertEqual(browser.evaluate("document.querySelectorAll('#sites-view button')[1].getAttribute('aria-pressed')"), "true")
        self.assertIn("all sites", browser.evaluate("document.querySelector('#sites-view .reading').innerText"))

    def walk_flame(self, *keys):
        """The nodes that keys lead to, from all sites on."""
        self.browser.evaluate("document.querySelector('#sites-view .chart').focus()")
        found = []
        for key in keys:
            self.browser.press(key)
            found.append(self.browser.evaluate("document.querySelector('#sites-view .reading').innerText"))
        return found

    def test_frames_of_python(self):
        """Python is outside of what it called; the interpreter and what only passes calls on are left out."""
        browser = self.browser
        self.assertEqual(browser.load(self.page(python_trace(self.folder))), [])
        down = "ArrowDown"
        library = "/usr/lib/python3/dist-packages/torch/nn/modules/linear.py"
        self.assertEqual(self.walk_flame(down, down, down, down, down),
                         ["<module> Python /home/train.py:90 8 MiB, 100 %", "Block.forward Python /home/train.py:40, 41 5 MiB, 63 %",
                          f"Linear.forward Python {library}:125 4 MiB, 50 %", *["libtorch_cpu.so libtorch_cpu.so+0x10 4 MiB, 50 %"] * 2])
        browser.evaluate("document.querySelectorAll('#sites-view button')[1].click()")
        inverted = self.walk_flame(down, down, down, down, down)
        self.assertEqual([text.split(" ")[0] for text in inverted], ["libtorch_cpu.so", "Linear.forward", "Block.forward", "<module>", "<module>"])
        self.assertNotIn("python3.13", browser.evaluate("document.getElementById('sites-view').textContent"))
        links = browser.evaluate("[...document.querySelectorAll('#stalls-view a')].map(a => a.textContent + ' ' + a.getAttribute('href'))")
        self.assertIn("Linear.forward (linear.py:125) <- Block.forward (train.py:40) #site-0xa", links)
        self.assertIn("<module> (train.py:90) #site-0xb", links)
        stack = browser.evaluate("[...document.querySelectorAll('#site-0xa li')].map(item => item.textContent)")
        self.assertEqual(stack, ["?  libtorch_cpu.so+0x10", f"Python Linear.forward  {library}:125",
                                 f"Python Module._call_impl  {library.replace('linear', 'module')}:1750", "Python Block.forward  /home/train.py:40",
                                 "Python <module>  /home/train.py:90"])

    def test_frames_of_the_interpreter(self):
        """Of traces without frames of Python."""
        trace = write_trace(self.folder / "old.slt", [
            ("module", dict(time=1, id=1, a=4096), "/lib/libtorch_cpu.so"), ("module", dict(time=1, id=2, a=4096), "/bin/python3.13"),
            ("site", dict(time=1, c=10), "1+10 2+20 2+30 1+40"), ("alloc", dict(time=1, id=1, a=4096, b=MS, c=10))])
        self.browser.load(self.page(trace))
        names = [text.split(" ")[0] for text in self.walk_flame(*["ArrowDown"] * 4)]
        self.assertEqual(names, ["libtorch_cpu.so", "CPython", "libtorch_cpu.so", "libtorch_cpu.so"])

    def test_another_rank(self):
        paths = [write_trace(self.folder / f"run.{r}.slt", rank_records(r)) for r in range(3)]
        self.browser.load(self.page(*paths))
        self.browser.evaluate("(s => { s.value = '2'; s.dispatchEvent(new Event('change')); })(document.getElementById('rank'))")
        self.assertIn("run.2.slt", self.browser.evaluate("document.getElementById('subtitle').innerText"))
        self.assertEqual(self.browser.problems(), [])


if __name__ == "__main__":
    main()
