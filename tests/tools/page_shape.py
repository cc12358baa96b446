"""What every page that sluice writes is made of: checks of its text, which need no browser. A test class has them beside its own; `page` is
a report_page.Page, SECTIONS the ids of its sections."""
import re

from report_page import colours, contrast


class PageShape:
    def test_structure(self):
        self.assertTrue(self.page.text.startswith("<!doctype html>\n"))
        self.assertEqual(self.page.all("html"), [{"lang": "en"}])
        self.assertEqual([len(self.page.all(tag)) for tag in ("title", "h1", "main", "nav")], [1, 1, 1, 1])
        self.assertTrue(self.page.content["title"].strip())
        self.assertEqual([section["id"] for section in self.page.all("section")], self.SECTIONS)
        ids = [attributes["id"] for _, attributes in self.page.elements if "id" in attributes]
        self.assertEqual(len(ids), len(set(ids)))
        for section in self.page.all("section"):
            self.assertIn(section["aria-labelledby"], ids)
        self.assertEqual([label["for"] for label in self.page.all("label")], [select["id"] for select in self.page.all("select")])
        levels = [int(tag[1]) for tag, _ in self.page.elements if re.fullmatch("h[1-6]", tag)]
        self.assertEqual(levels[0], 1)
        self.assertTrue(all(after <= before + 1 for before, after in zip(levels, levels[1:])))

    def test_links(self):
        ids = {attributes["id"] for _, attributes in self.page.elements if "id" in attributes}
        for link in self.page.all("a"):
            self.assertTrue(link["href"].startswith("#"), link)
            self.assertIn(link["href"][1:], ids)

    def test_it_needs_nothing_else(self):
        for tag, attributes in self.page.elements:
            self.assertNotIn("src", attributes, tag)
            self.assertFalse([name for name in attributes if name.startswith("on")], tag)
        self.assertEqual(self.page.all("link"), [])
        without_names = self.page.text.replace("http://www.w3.org/2000/svg", "").replace("http-equiv", "")
        self.assertNotIn("http", without_names.replace(self.page.content["data"], ""))
        self.assertNotRegex(self.page.content["style"], r"url\(|@import")
        policy = next(meta["content"] for meta in self.page.all("meta") if meta.get("http-equiv") == "Content-Security-Policy")
        self.assertRegex(policy, r"default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-[\w+/]+='$")

    def test_contrast(self):
        for palette in colours(self.page.content["style"]):
            for ground in ("bg", "panel"):
                for text in ("fg", "muted", "link"):
                    self.assertGreaterEqual(contrast(palette[text], palette[ground]), 4.5, f"{text} on {ground}")
                for name in palette.keys() - {"bg", "panel", "line", "notice", "waiting", "dead"}:
                    self.assertGreaterEqual(contrast(palette[name], palette[ground]), 3, f"{name} on {ground}")
            for text in ("fg", "link"):
                self.assertGreaterEqual(contrast(palette[text], palette["notice"]), 4.5, text)
