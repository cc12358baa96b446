"""docs/guide.md: its commands still work, and what they print is still of the kind that it shows.

Numbers, which depend on the machine, are not compared. `test_guide.py --write` puts today's output into the guide.
"""
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

from support import SOURCE, TOOL, clean_environment

GUIDE = SOURCE / "docs/guide.md"
BLOCK = re.compile(r"(?ms)^```console\n(.*?)^```$")
MARK = "@@@ end of command @@@"


def commands_of(block):
    """[(command, output)]"""
    found = []
    for line in block.splitlines():
        if line.startswith("$ "):
            found.append((line[2:], []))
        elif found:
            found[-1][1].append(line)
    return found


def run(commands):
    """What each prints, in one shell and in a folder of its own."""
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        (folder / "bin").mkdir()
        (folder / "bin/sluice").symlink_to(TOOL)
        (folder / "bin/gpt").symlink_to(os.environ["GPT"])
        (folder / "text.txt").symlink_to(SOURCE / "workloads/data/gpl-3.txt")
        environment = clean_environment(PATH=f"{folder / 'bin'}:{os.environ['PATH']}", LC_ALL="C.UTF-8", COLUMNS="100",
                                        SLUICE_DAEMON="inline")  # the same movements however busy the machine is
        script = "".join(f"{command}\necho '{MARK}'\n" for command in commands)
        result = subprocess.run(["bash"], input=script, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                                cwd=folder, env=environment)
    return [[line.rstrip() for line in part.strip("\n").splitlines()] for part in result.stdout.split(MARK + "\n")][:-1]


def kind(line):
    """The line without its numbers and their units, and without what is drawn."""
    line = re.sub(r"│.*│", "│", line)
    line = re.sub(r"0x[0-9a-f.]+(p[+-]\d+)?|\b[0-9a-f]{16}\b", "#", line)
    line = re.sub(r"\d[\d.:-]*( (ns|us|ms|s|B|[KMG]iB(/s)?|%|UTC)\b)?", "#", line)
    return re.sub(r"\s+", " ", line.replace("# %", "#")).strip()


def shown(lines):
    """What the guide shows of an output: the first lines of a long one."""
    return lines if len(lines) <= 45 else lines[:40] + ["..."]


def write():
    text = GUIDE.read_text()
    outputs = iter(run([command for block in BLOCK.findall(text) for command, _ in commands_of(block)]))

    def filled(match):
        lines = []
        for command, _ in commands_of(match.group(1)):
            lines += ["$ " + command, *shown(next(outputs))]
        return "```console\n" + "\n".join(lines) + "\n```"

    GUIDE.write_text(BLOCK.sub(filled, text))


@unittest.skipIf(os.environ.get("SANITIZED"), "a sanitized library needs its runtime preloaded before it")
class Guide(unittest.TestCase):
    def test_its_commands_print_what_it_shows(self):
        steps = [step for block in BLOCK.findall(GUIDE.read_text()) for step in commands_of(block)]
        self.assertGreater(len(steps), 10)
        for (command, expected), output in zip(steps, run([command for command, _ in steps]), strict=True):
            with self.subTest(command):
                self.assertEqual([kind(line) for line in shown(output)], [kind(line) for line in expected],
                                 "the guide is old: tests/tools/test_guide.py --write")


if __name__ == "__main__":
    if sys.argv[1:] == ["--write"]:
        write()
    else:
        unittest.main()
