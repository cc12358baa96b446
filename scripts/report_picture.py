#!/usr/bin/env python3
"""Writes the pictures of the README: the top of a report of a trace, in light and in dark.

report_picture.py SLUICE TRACE [--height PIXELS]

Needs Chromium, and Pillow to make the files small. docs/images/report-light.png and report-dark.png show what `SLUICE trace
report TRACE` writes.
"""
import argparse
import io
import pathlib
import shutil
import subprocess
import sys
import tempfile

from PIL import Image

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tests" / "tools"))
from chromium import Chromium

WIDTH, COLOURS = 1000, 160


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("sluice")
    parser.add_argument("trace")
    parser.add_argument("--height", type=int, default=1240)
    arguments = parser.parse_args()
    images = ROOT / "docs" / "images"
    images.mkdir(exist_ok=True)
    browser = Chromium()
    try:
        with tempfile.TemporaryDirectory() as folder:
            page = pathlib.Path(folder, "report.html")
            shutil.copy(arguments.trace, pathlib.Path(folder, "gpt.slt"))  # the page shows its name
            subprocess.run([pathlib.Path(arguments.sluice).resolve(), "trace", "report", "-o", page.name, "gpt.slt"], cwd=folder, check=True)
            for theme in ("light", "dark"):
                browser.load(page, WIDTH, arguments.height, theme == "dark")
                picture = images / f"report-{theme}.png"
                with Image.open(io.BytesIO(browser.picture())) as image:
                    part = image.convert("RGB").crop((0, 0, WIDTH, arguments.height)).quantize(COLOURS, dither=Image.Dither.NONE)
                    part.save(picture, optimize=True)
                print(f"{picture}: {picture.stat().st_size // 1024} KiB")
    finally:
        browser.close()


if __name__ == "__main__":
    main()
