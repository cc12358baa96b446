"""docs/compared.md: each command that it names for a feature runs as typed, on a program, on its trace, or on those of ranks."""
import os
import re
import shutil
import subprocess
import unittest

from support import SOURCE, TOOL, ToolTest, clean_environment, record_gpt, sluice, write_trace, rank_records

TEXT = (SOURCE / "docs" / "compared.md").read_text()
MEASURED = {"sluice trace diff a.slt b.slt": (0, 3)}  # its status is a verdict


def commands():
    """The commands of the last cell of each row, in which options may be named beside a command."""
    for row in re.findall(r"(?m)^\|.*\|$", TEXT):
        for command in re.findall(r"`(sluice [^`]+)`", row.rstrip("|").rsplit("|", 1)[1]):
            yield command


@unittest.skipIf(os.environ.get("SANITIZED"), "a sanitized library needs its runtime preloaded before it")
class Compared(ToolTest):
    def setUp(self):
        super().setUp()
        (self.folder / "sluice").symlink_to(TOOL)
        (self.folder / "command").write_text("#!/bin/sh\nexec sleep 0\n")
        (self.folder / "command").chmod(0o755)
        self.environment = clean_environment(PATH=f"{self.folder}:{os.environ['PATH']}")
        record_gpt(self.folder, name="run.slt")
        for name in "a.slt", "b.slt":
            shutil.copy(self.folder / "run.slt", self.folder / name)
        for rank in 0, 1:
            write_trace(self.folder / f"rank{rank}.slt", rank_records(rank))

    def typed(self, command):
        """`command` with a pid and files in the place of words that stand for them, and without a screen."""
        command = re.sub(r"\bPID\b", str(os.getpid()), command)
        command = re.sub(r"\b(FILE|FOLDER)\b", r"./\1", command)
        return command + " --once" if re.fullmatch(r"sluice top( \d+| --prometheus .*)?", command) else command

    def test_each_command_runs(self):
        found = sorted(set(commands()))
        self.assertGreater(len(found), 15)
        for command in found:
            result = subprocess.run(["bash", "-c", self.typed(command)], cwd=self.folder, env=self.environment, capture_output=True, text=True,
                                    timeout=120)
            wanted = MEASURED.get(command, (0,))
            if command.startswith("sluice top"):
                wanted = (0, 1)  # there may be no program to show (test_top.py has one), and PID is not under sluice
            with self.subTest(command):
                self.assertIn(result.returncode, wanted, result.stderr)
                self.assertNotIn("unknown option", result.stderr)

    def test_each_row_has_a_command(self):
        for row in re.findall(r"(?m)^\|.*\|$", TEXT):
            if not row.startswith(("| |", "| ---", "| Whose memory")):
                self.assertRegex(row.rstrip("|").rsplit("|", 1)[1], r"`sluice |the report", row)


if __name__ == "__main__":
    unittest.main()
