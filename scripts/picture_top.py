#!/usr/bin/env python3
"""Draws docs/images/top.svg: a screen of `sluice top` as it is, on a terminal of 100 columns and 30 lines.

usage: picture_top.py [BUILD [OUT]]

Runs gpt on the software device with a third of its need as budget, and `sluice top` on a terminal of its own. Keeps the first screen
on which a step without demand misses, its stalls, earlier steps and temporary allocations are shown. The text of the picture is what the command wrote; only the colours
are chosen here. Needs pyte (PyPI), which reads what programs write to terminals.
"""
import os
import pathlib
import pty
import select
import struct
import subprocess
import sys
import termios
import time
from fcntl import ioctl
from xml.sax.saxutils import escape

import pyte

SOURCE = pathlib.Path(__file__).resolve().parent.parent
COLUMNS, LINES = 100, 30
WIDTH, HEIGHT, MARGIN = 8.4, 18, 14  # of a character, and around all
COLOURS = {"default": "#d8dee9", "red": "#ff7b72", "green": "#7ee787", "brown": "#e3b341", "yellow": "#e3b341", "blue": "#79c0ff",
           "magenta": "#d2a8ff", "cyan": "#76e3ea"}
BACK, DIM = "#161b22", "#8b949e"
MOST_SECONDS = 300


def is_telling(screen):
    text = "\n".join(screen.display)
    return all(part in text for part in ("by the device's clock", "temporary", "followed", "last step: 0 demand,", " steps "))


def capture(build):
    """A screen, with the last state of the terminal."""
    screen = pyte.Screen(COLUMNS, LINES)
    stream = pyte.ByteStream(screen)
    environment = dict(os.environ, LD_LIBRARY_PATH=str(build / "subprojects/softcuda/lib"))
    program = subprocess.Popen([build / "tools/sluice", "run", "--software", "--budget", "8M", "--chunk", "2M", "--", build / "workloads/gpt",
                                "--data", SOURCE / "workloads/data/gpl-3.txt", "--steps", "100000"], env=environment, stdout=subprocess.DEVNULL)
    child, terminal = pty.fork()
    if child == 0:
        os.execve(build / "tools/sluice", ["sluice", "top", "--interval", "0.2", str(program.pid)],
                  dict(os.environ, TERM="xterm-256color", LC_ALL="C.UTF-8", LINES=str(LINES), COLUMNS=str(COLUMNS)))
    ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", LINES, COLUMNS, 0, 0))
    end = time.monotonic() + MOST_SECONDS
    try:
        # What curses wrote for one screen has come when nothing comes for a while.
        while time.monotonic() < end:
            if select.select([terminal], [], [], 0.1)[0]:
                stream.feed(os.read(terminal, 1 << 16))
            elif is_telling(screen):
                return screen
    finally:
        os.write(terminal, b"q")
        os.waitpid(child, 0)
        program.kill()
        program.wait()
    sys.exit("picture_top.py: no such screen came")


def runs_of(row):
    """Neighbours that look the same: the first column, the text and the look."""
    first, text, look = 0, "", None
    for column in range(COLUMNS + 1):
        cell = row[column] if column < COLUMNS else None
        now = cell and (cell.fg, cell.bold, cell.reverse)
        if now != look:
            if text.strip() or (look and look[2]):
                yield first, text, look
            first, text, look = column, "", now
        text += cell.data if cell else ""


def draw(screen):
    rows = [list(runs_of(screen.buffer[y])) for y in range(LINES)]
    while not rows[-1]:
        rows.pop()
    width, height = COLUMNS * WIDTH + 2 * MARGIN, len(rows) * HEIGHT + 2 * MARGIN
    out = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:.0f} {height:.0f}" width="{width:.0f}" height="{height:.0f}" '
           f'font-family="ui-monospace, SFMono-Regular, Menlo, Consolas, \'DejaVu Sans Mono\', monospace" font-size="14">',
           "<title>sluice top</title>",
           f'<rect width="100%" height="100%" rx="8" fill="{BACK}" stroke="{DIM}"/>']
    for y, row in enumerate(rows):
        for first, text, (colour, bold, reverse) in row:
            x, top = MARGIN + first * WIDTH, MARGIN + y * HEIGHT
            if reverse:
                out.append(f'<rect x="{x:.1f}" y="{top}" width="{len(text) * WIDTH:.1f}" height="{HEIGHT}" fill="{COLOURS["default"]}"/>')
            text = text.rstrip()
            fill = BACK if reverse else COLOURS.get(colour, COLOURS["default"])
            out.append(f'<text x="{x:.1f}" y="{top + 13}" fill="{fill}"{" font-weight=" + chr(34) + "bold" + chr(34) if bold else ""} '
                       f'textLength="{len(text) * WIDTH:.1f}" lengthAdjust="spacingAndGlyphs" xml:space="preserve">{escape(text)}</text>')
    return "\n".join([*out, "</svg>", ""])


def main():
    build = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else SOURCE / "build").resolve()
    out = pathlib.Path(sys.argv[2] if len(sys.argv) > 2 else SOURCE / "docs/images/top.svg")
    out.parent.mkdir(parents=True, exist_ok=True)
    out.write_text(draw(capture(build)), encoding="utf-8")


if __name__ == "__main__":
    main()
