#!/usr/bin/env python3
"""Makes a C file of a page.

usage: embed.py OUT.c NAME PAGE.html page.css SCRIPT.js...

Puts style and scripts into the page where it says {{style}} and {{script}}, the scripts' hash into its Content-Security-Policy
({{hash}}), and splits it at {{data}}. NAME is that of the struct page_source.
"""
import base64
import hashlib
import sys


def array(name, text):
    content = text.encode()
    lines = (",".join(map(str, content[i:i + 32])) for i in range(0, len(content), 32))
    return f"static const unsigned char {name}[] = {{\n" + ",\n".join(lines) + "};\n"


def main():
    out, name = sys.argv[1:3]
    page, style, *scripts = (open(path, encoding="utf-8").read() for path in sys.argv[3:])
    script = "\n" + "\n".join(scripts)
    for part in (style, script):
        assert "</" not in part and "{{" not in part, "would end its element, or be taken for a place"
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    for place, text in (("{{style}}", style), ("{{script}}", script), ("{{hash}}", digest)):
        assert page.count(place) == 1, place
        page = page.replace(place, text)
    before, after = page.split("{{data}}")
    with open(out, "w", encoding="utf-8") as file:
        file.write('#include "tools/report/page_source.h"\n\n' + array("before", before) + "\n" + array("after", after) + "\n" +
                   f"const struct page_source {name} = {{before, after, sizeof(before), sizeof(after)}};\n")


if __name__ == "__main__":
    main()
