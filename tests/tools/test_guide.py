"""docs/guide.md: its commands still work, and what they print is still of the kind that it shows; docs/usage.md's sample of
a summary and the demo's tables show the same.

Numbers, which depend on the machine, are not compared, but those that the guide speaks of are those that it shows.
`test_guide.py --write` puts today's output into the guide.
"""
import contextlib
import importlib.util
import io
import os
import pathlib
import re
import statistics
import subprocess
import sys
import tempfile
import types
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
    """What each prints, in one shell and in a folder that looks like that of the sources."""
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        for link, target in (("tools/sluice", TOOL), ("workloads/gpt", os.environ["GPT"])):
            (folder / "build" / link).parent.mkdir(parents=True)
            (folder / "build" / link).symlink_to(target)
        (folder / "workloads").symlink_to(SOURCE / "workloads")
        environment = clean_environment(LC_ALL="C.UTF-8", COLUMNS="100",
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


def shown_figures(text):
    """The figures of the guide's prose as its outputs have them: {sentence up to the figure: figure}"""
    runs = [output for block in BLOCK.findall(text) for command, output in commands_of(block) if "sluice run" in command]

    def step_ms(optimizer, memory):
        """Of the later half, when every step is like the one before."""
        run = next(output for block in BLOCK.findall(text) for command, output in commands_of(block)
                   if command.startswith(memory) and "sluice run" in command and f"--optimizer {optimizer}" in command
                   and any(line.startswith("step 6 ") for line in output))
        return statistics.median(float(line.split()[-1]) for line in run[-99:] if re.match("step [4-6] ", line))

    sweep, fused, whole = step_ms("sweep", "sluice"), step_ms("fused", "sluice"), step_ms("sweep", "SOFTCUDA_MEMORY=1G")
    needed, given = next(re.search(r"needed ([\d.]+) MiB, was given ([\d.]+) MiB", line).groups()
                         for run in runs if "1700 launches" in "".join(run) for line in run if "was given" in line)
    return {"but a step takes ": f"{100 * (sweep / whole - 1):.0f} %",
            "A step takes ": f"{fused:.1f} ms",
            f"A step takes {fused:.1f} ms instead of ": f"{sweep:.1f}",
            "with a device that has room for ": f"{100 * float(given) / float(needed):.0f} %"}


def summary_of(text):
    """The kinds of the lines of the first summary in a document."""
    lines = [line.strip() for line in text.splitlines()]
    first = next(i for i, line in enumerate(lines) if line.startswith("sluice: memory:"))
    last = next(i for i in range(first, len(lines)) if not lines[i].startswith("sluice: "))
    return [kind(line) for line in lines[first:last]]


def demo():
    spec = importlib.util.spec_from_file_location("demo", SOURCE / "scripts/demo.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


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

    def test_its_figures_are_those_that_it_shows(self):
        text = GUIDE.read_text()
        for before, figure in shown_figures(text).items():
            self.assertIn(before + figure, text.replace("\n", " "))

    def test_the_page_on_usage_shows_the_same_summary(self):
        self.assertEqual(summary_of((SOURCE / "docs/usage.md").read_text()), summary_of(GUIDE.read_text()))


class Demo(unittest.TestCase):
    def test_steps_count_from_1(self):
        counts = dict.fromkeys(("launches", "demand_misses", "late_fetches", "remote_bytes", "bytes_in", "bytes_out",
                                "stall_seconds"), 1)
        summary = {"need_bytes": 1, "budget_bytes": 1, "peak_bytes": 1, "without_sluice": "", "device": "",
                   "iterations": [{"number": 1, **counts}, {"number": 2, **counts}],
                   "step_seconds": {"full": 1, "sluice": 1, "unified": None}}
        run = types.SimpleNamespace(losses=[("1.5", "0x"), ("1.2", "0x")], weights="0", device=None,
                                    sluice={"bytes_in_by_cause": {}, "bytes_out_by_cause": {}})
        out = io.StringIO()
        with contextlib.redirect_stdout(out):
            demo().print_table(summary, run, None, run)
        rows = [line.split()[0] for line in out.getvalue().splitlines() if re.match(r" *\d", line)]
        self.assertEqual(rows, ["1", "2", "1", "2"])


if __name__ == "__main__":
    if sys.argv[1:] == ["--write"]:
        write()
    else:
        unittest.main()
