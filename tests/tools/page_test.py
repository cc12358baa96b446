"""What holds for every page that sluice writes, in a browser: it draws without an error in light and dark and on a phone, asks the
network for nothing, can be used by keyboard alone, is readable, and prints well."""
import shutil
import subprocess
import sys
import unittest

import chromium
from report_page import colours, contrast, read_page
from support import ToolTest

SIZES = [(1100, False), (1100, True), (360, False), (360, True)]
PAPER = 718  # pixels between the margins of A4
TEN_MB = 10_000_000
BROKEN_LINKS = """[...document.querySelectorAll('a[href]')].map(a => a.getAttribute('href'))
    .filter(href => href[0] !== '#' || !document.getElementById(href.slice(1)))"""
TWICE = "(ids => ids.filter((id, i) => ids.indexOf(id) !== i))([...document.querySelectorAll('[id]')].map(e => e.id))"
UNNAMED_PICTURES = """[...document.querySelectorAll('svg,canvas,img')].filter(e => !e.closest('[aria-hidden=true]') &&
    !e.getAttribute('aria-label') && !e.querySelector(':scope > title')).map(e => e.outerHTML.slice(0, 80))"""
HIDDEN_PICTURES = """[...document.querySelectorAll('svg[aria-hidden],canvas[aria-hidden]')].filter(e =>
    !e.closest('[aria-label]') && !e.closest('section').querySelector('.chart[aria-label]')).map(e => e.outerHTML.slice(0, 80))"""
CUT_TEXTS = """[...document.querySelectorAll('.chart svg text')].filter(t => { const text = t.getBoundingClientRect(), chart = t.closest('.chart').getBoundingClientRect();
    return text.width && (text.left < chart.left - 2 || text.right > chart.right + 2); }).map(t => t.textContent)"""
BAD_NUMBERS = "document.body.innerText.match(/NaN|undefined|Infinity|\\[object/g)"
LEVELS = "[...document.querySelectorAll('h1,h2,h3')].map(h => Number(h.tagName[1]))"
NAMED_ROLES = {"link", "button", "combobox", "image", "img", "region", "navigation"}
FOLLOW_FOCUS = "window.reached = new Set(); document.addEventListener('focusin', event => window.reached.add(event.target)); document.activeElement.blur()"
INTERACTIVE = """[...document.querySelectorAll('a[href],button,select,input,summary,[tabindex]:not([tabindex="-1"])')].filter(e => e.checkVisibility() &&
    !(e.closest('details:not([open])') && !(e.tagName === 'SUMMARY' && !e.parentNode.parentNode.closest('details:not([open])'))))"""
# Every text with its colour and the colours under it, at three places of its box. Needs a window as high as the page.
TEXTS = """(() => {
  const opaque = colour => colour && /^rgb\\(/.test(colour) ? colour : null;
  const under = (element, x, y) => {
    const stack = document.elementsFromPoint(x, y), at = stack.indexOf(element);
    if (at < 0 && getComputedStyle(element).pointerEvents !== 'none')
      for (let e = element, found; e; e = e.parentElement) if ((found = opaque(getComputedStyle(e).backgroundColor))) return found;
    for (const e of stack.slice(at + 1)) {
      const style = getComputedStyle(e), shape = ['rect', 'path', 'circle'].includes(e.tagName);
      const found = opaque(shape ? style.fill : style.backgroundColor);
      if (found) return found;
    }
    return opaque(getComputedStyle(element).backgroundColor);
  };
  const found = new Map(), walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  for (let node; (node = walker.nextNode());) {
    const element = node.parentElement, svg = element.namespaceURI.endsWith('svg');
    if (!node.data.trim() || element.closest('script,style,noscript,title,option') || !element.checkVisibility()) continue;
    const range = document.createRange();
    range.selectNodeContents(node);
    const box = range.getBoundingClientRect(), style = getComputedStyle(element), own = opaque(style.backgroundColor);
    if (!box.width || !box.height || box.right < 0) continue;
    for (const share of [0.05, 0.5, 0.95]) {
      const ground = !svg && own || under(element, box.left + share * box.width, box.top + box.height / 2);
      found.set((svg ? style.fill : style.color) + ground, [svg ? style.fill : style.color, ground, node.data.slice(0, 40)]);
    }
  }
  return [...found.values()];
})()"""
# From then on, the colours that charts are filled with.
FOLLOW_PAINT = """window.painted = new Set(); (paint => { CanvasRenderingContext2D.prototype.fillRect = function(...box) {
    window.painted.add(this.fillStyle); paint.apply(this, box); }; })(CanvasRenderingContext2D.prototype.fillRect)"""


def hexadecimal(colour):
    """"#010203" for "rgb(1, 2, 3)"."""
    return "#" + "".join(f"{round(float(part)):02x}" for part in colour[colour.index("(") + 1:-1].split(","))


class PageTest(ToolTest):
    @classmethod
    def setUpClass(cls):
        cls.browser = chromium.Chromium()
        cls.addClassCleanup(cls.browser.close)

    def assert_well_drawn(self, page):
        browser = self.browser
        self.assertLess(page.stat().st_size, TEN_MB)
        for width, dark in SIZES:
            self.assertEqual(browser.load(page, width, dark=dark), [])
            self.assertLessEqual(browser.evaluate("document.documentElement.scrollWidth"), width)
            for question in (BROKEN_LINKS, TWICE, UNNAMED_PICTURES, HIDDEN_PICTURES, CUT_TEXTS):
                self.assertEqual(browser.evaluate(question), [], question)
            self.assertIsNone(browser.evaluate(BAD_NUMBERS))
            levels = browser.evaluate(LEVELS)
            self.assertTrue(all(after <= before + 1 for before, after in zip(levels, levels[1:])), levels)
            self.assert_named()
            self.assert_readable(width, dark)

    def open_all(self):
        self.browser.evaluate("document.querySelectorAll('details').forEach(part => { part.open = true; })")

    def assert_named(self):
        """The browser's own tree for assistive programs has a name for whatever can be reached or stands for a picture."""
        for node in self.browser.call("Accessibility.getFullAXTree")["nodes"]:
            if node.get("ignored"):
                continue
            focusable = any(each["name"] == "focusable" and each["value"].get("value") for each in node.get("properties", []))
            if focusable or node["role"].get("value") in NAMED_ROLES:
                self.assertTrue(node.get("name", {}).get("value", "").strip(), node)

    def assert_readable(self, width, dark):
        """WCAG 2.2, 1.4.3: the contrast of every text with what is under it. The closed parts, too."""
        browser = self.browser
        self.open_all()
        browser.show_as(width, browser.evaluate("document.documentElement.scrollHeight"), dark)
        browser.wait_until_drawn()
        texts = browser.evaluate(TEXTS)
        self.assertGreater(len(texts), 2)
        for colour, ground, text in texts:
            self.assertTrue(ground, text)
            self.assertGreaterEqual(contrast(hexadecimal(colour), hexadecimal(ground)), 4.5, f"{text}: {colour} on {ground}, {width}, dark: {dark}")

    def assert_reached_by_tab(self, page):
        browser = self.browser
        browser.load(page)
        self.open_all()
        browser.evaluate(FOLLOW_FOCUS)
        for _ in range(browser.evaluate(f"{INTERACTIVE}.length") + 1):
            browser.press("Tab")
        self.assertEqual(browser.evaluate(f"{INTERACTIVE}.filter(e => !window.reached.has(e)).map(e => e.outerHTML.slice(0, 80))"), [])

    def assert_prints_well(self, page, *words):
        """In light colours whatever the screen has, all of it within the paper, without controls, hidden parts open."""
        browser, (light, _) = self.browser, colours(read_page(page).content["style"])
        self.assertEqual(browser.load(page, dark=True), [])
        browser.show_as(dark=True, medium="print")
        browser.wait_until_drawn()
        self.assertEqual(hexadecimal(browser.evaluate("getComputedStyle(document.body).backgroundColor")), light["bg"])
        for name, colour in light.items():
            self.assertEqual(browser.evaluate(f"getComputedStyle(document.documentElement).getPropertyValue('--{name}').trim()"), colour)
        browser.show_as(PAPER, dark=True, medium="print")
        browser.evaluate("window.dispatchEvent(new Event('beforeprint'))")
        browser.wait_until_drawn()
        self.assertLessEqual(browser.evaluate("document.documentElement.scrollWidth"), PAPER)
        self.assertEqual(browser.evaluate("[...document.querySelectorAll('nav,select,.tools,.skip')].filter(e => e.checkVisibility()).length"), 0)
        self.assertEqual(browser.evaluate("[...document.querySelectorAll('details:not([open])')].filter(e => !e.closest('td') && "
                                          "e.querySelectorAll('tr').length < 60).length"), 0)
        browser.show_as(dark=True)
        browser.wait_until_drawn()
        browser.evaluate(FOLLOW_PAINT)
        paper = browser.print()
        painted = set(browser.evaluate("[...window.painted]"))
        self.assertEqual(bool(painted & set(light.values())), browser.evaluate("document.querySelectorAll('canvas').length > 0"), painted)
        self.assertEqual(paper[:5], b"%PDF-")
        if not shutil.which("pdftotext"):
            return
        path = self.folder / "page.pdf"
        path.write_bytes(paper)
        text = subprocess.run(["pdftotext", "-layout", path, "-"], capture_output=True, text=True, check=True).stdout
        for word in words:
            self.assertIn(word, " ".join(text.split()))


def main():
    if not chromium.PATH:
        print("skipped: no chromium on this machine")
        sys.exit(77)
    unittest.main()
