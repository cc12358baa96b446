"""A page of trace report: the data in it, its elements, and the colours of its style."""
import html.parser
import json
import re

VOID = {"meta", "link", "br", "img", "input", "hr"}


class Page(html.parser.HTMLParser):
    def __init__(self, text):
        super().__init__()
        self.text, self.elements, self.open, self.content = text, [], [], {}
        self.feed(text)
        assert not self.open, f"not closed: {self.open}"
        self.data = json.loads(self.content["data"])

    def handle_starttag(self, tag, attrs):
        self.elements.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append((tag, dict(attrs).get("id")))

    def handle_endtag(self, tag):
        opened, _ = self.open.pop()
        assert opened == tag, f"{tag} ends {opened}"

    def handle_data(self, data):
        if self.open:
            tag, name = self.open[-1]
            self.content[name or tag] = self.content.get(name or tag, "") + data

    def all(self, tag):
        return [attributes for name, attributes in self.elements if name == tag]


def read_page(path):
    return Page(path.read_text(encoding="utf-8"))


def colours(style):
    """The custom properties that are colours: of the light page, and of the dark one."""
    light, dark = re.findall(r":root \{(.*?)\}", style, re.S)
    return [dict(re.findall(r"--([\w-]+): (#[0-9a-f]{6})", part)) for part in (light, dark)]


def contrast(one, other):
    """WCAG 2.2, "contrast ratio"."""
    def luminance(colour):
        parts = [int(colour[i:i + 2], 16) / 255 for i in (1, 3, 5)]
        red, green, blue = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
        return 0.2126 * red + 0.7152 * green + 0.0722 * blue
    darker, lighter = sorted((luminance(one), luminance(other)))
    return (lighter + 0.05) / (darker + 0.05)
