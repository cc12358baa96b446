"""scripts/gdb/sluice.py: what gdb prints of a core that is known (gdb_program.c)."""
import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

from support import SOURCE, clean_environment

PROGRAM = os.environ["GDB_PROGRAM"]
SCRIPT = SOURCE / "scripts/gdb/sluice.py"


def gdb(*commands, program=PROGRAM):
    """What gdb says to each command, in turn."""
    arguments = ["gdb", "-nx", "-q", "-batch", "-ex", "set debuginfod enabled off"]
    for number, command in enumerate(commands):
        arguments += ["-ex", f"echo \\n=={number}\\n", "-ex", command]
    done = subprocess.run([*arguments, program], capture_output=True, text=True, timeout=120, check=False,
                          stdin=subprocess.DEVNULL, env=clean_environment())
    said = re.split(r"\n==\d+\n", done.stdout + "\n")[1:]
    return [text.strip() for text in said], done.stderr


def reason_not_to():
    if os.environ.get("SANITIZED"):
        return "a sanitizer's runtime does not run under gdb"
    if not shutil.which("gdb"):
        return "gdb is not installed"
    said, errors = gdb("python print(1 + 1)", "break main", "run")
    if said[:1] != ["2"]:
        return "this gdb has no Python"
    return None if "Breakpoint 1, main" in said[-1] else f"gdb may not run programs here: {errors.strip()}"


class Printed(unittest.TestCase):
    """gdb runs once for all of them."""
    commands = {
        "core": "sluice", "chunks": "sluice chunks", "one": "sluice chunks 1", "schedule": "sluice schedule",
        "short": "sluice schedule 0", "streams": "sluice streams", "budget": "print core->budget",
        "step": "print core->schedule.steps.in[1]", "slots": "print core->placement.slots[1]",
        "freed": "print core->placement.slots[2]", "record": "print core->arena.slabs[0].chunks[0]",
        "parts": "print *core", "plan": "print core->schedule", "move": "print move", "mark": "print mark",
        "none": "print none", "beyond": "sluice chunks 100000",
    }

    @classmethod
    def setUpClass(cls):
        said, cls.errors = gdb("break stop_here", "run", f"source {SCRIPT}", *cls.commands.values())
        cls.said = {name: re.sub(r"0x[0-9a-f]{6,}", "ADDRESS", text) for name, text in zip(cls.commands, said[3:])}

    def assert_said(self, name, *lines):
        text = re.sub(r"^\$\d+ = ", "", self.said[name])
        self.assertEqual(text.splitlines(), list(lines), self.errors)

    def test_core(self):
        lines = (
            "sluice's core",
            "  budget     32 MiB, 1 MiB charged",
            "  arena      2 slabs of 512 chunks of 2 MiB: 6 in use (12 MiB), 3 resident",
            "  placement  4 live slots (8256 KiB), 1 remembered",
            "  frees      1 freed range that the device may use",
            "  history    10 symbols, the last 0 predicted, 0 iterations",
            "  planning   idle, 10 mispredictions",
            "  schedule   a plan for launches 5 to 8, of which 3 are served, is carried out",
            "  migrator   6 MiB in frames; in: 4 issued, 0 known to be done; out: 1 issued, 0 known to be done",
            "  streams    2 numbers in use, active {0, 1}",
            "  ticks      launch 4 was the last that began",
            "  daemon     inline",
            "  checks     0 failed")
        self.assert_said("core", *lines)
        self.assert_said("parts", *lines)

    def test_chunks(self):
        resident = "resident, 2 MiB in use, frame of 2 MiB"
        lines = (
            f"0: chunk at ADDRESS: {resident}, users {{0}}, last used by launch 1, fetch 1, of slot 0",
            f"1: chunk at ADDRESS: {resident}, users {{1}}, last used by launch 3, fetch 2, of slot 1",
            "2: chunk at ADDRESS: host, 2 MiB in use, users {}, last used by launch 3, eviction 1, "
            "of the run that begins with chunk 1",
            f"3: chunk at ADDRESS: {resident}, users {{0, 1}}, last used by launch 4, fetch 4, packed with 1 allocation",
            "4: chunk at ADDRESS: dead, 2 MiB in use, users {}, packed with 1 allocation",
            f"512: chunk at ADDRESS: {resident}, pinned, users {{}}, packed with 1 allocation")
        self.assert_said("chunks", *lines)
        self.assert_said("one", lines[1])
        self.assert_said("record", lines[0].removeprefix("0: ").removesuffix(", of slot 0"))
        self.assert_said("beyond")
        self.assertIn("there are chunks 0 to 1023", self.errors)

    def test_schedule(self):
        plan = ("a plan for launches 5 to 8, of which 3 are served, is carried out",
                "launch 0 has begun, 0 was submitted")
        steps = ("  0: chunk 2 after launch 5, for launch 7, 2 MiB, behind 1 eviction, dead",
                 "  1: chunk 0 after launch 6, for launch 8, 2 MiB, behind 1 eviction")
        whole = (*plan, "evictions: 0 of 1 issued", "  0: chunk 0 after launch 5", "fetches: 0 of 2 issued", *steps)
        self.assert_said("schedule", *whole)
        self.assert_said("plan", *whole)
        self.assert_said("short", *plan, "evictions: 0 of 1 issued", "fetches: 0 of 2 issued")
        self.assert_said("step", steps[1].removeprefix("  1: "))

    def test_streams(self):
        self.assert_said("streams",
                         "0: handle 0x0, active, has waited for fetch 4 and eviction 0",
                         "1: handle 0x10, active, has waited for fetch 4 and eviction 0",
                         "captures under way: 0; work that may be held up: 0",
                         "in: 4 issued, 0 known to be done", "out: 1 issued, 0 known to be done")

    def test_budget_and_slots(self):
        self.assert_said("budget", "32 MiB, 1 MiB charged")
        self.assert_said("slots", "slot 0 of site 0x2 and 5 MiB: allocation 2 at ADDRESS, tensors begin at 4096")
        self.assert_said("freed", "slot 0 of site 0x3 and 300 KiB: free, was at ADDRESS")

    def test_records(self):
        self.assert_said("move", "move (fetch plan) at launch 7, chunk 3, bytes 2097152")
        self.assert_said("mark", 'mark (flags 0) at launch 8, range 1, domain 0, source 1, "step"')
        self.assert_said("none", "record of type 200")


class Loaded(unittest.TestCase):
    def test_by_itself(self):
        """Beside the object, under the object's name, where the folder is trusted: as it is installed."""
        with tempfile.TemporaryDirectory() as folder:
            program = shutil.copy(PROGRAM, folder)
            shutil.copy(SCRIPT, program + "-gdb.py")
            said, errors = gdb(f"add-auto-load-safe-path {folder}", f"file {program}", "break stop_here", "run",
                               "print core->budget", "sluice schedule 0")
        self.assertEqual(said[-2], "$1 = 32 MiB, 1 MiB charged", errors)
        self.assertIn("a plan for launches 5 to 8", said[-1], errors)


class Without(unittest.TestCase):
    def test_there_is_no_core_yet(self):
        said, errors = gdb("break main", "run", f"source {SCRIPT}", "sluice")
        self.assertIn("no core runs", errors)
        self.assertEqual(said[-1], "")


if __name__ == "__main__":
    why = reason_not_to()
    if why:
        print(f"skipped: {why}")
        sys.exit(77)
    unittest.main()
