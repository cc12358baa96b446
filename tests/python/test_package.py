"""The package python/sluice, with and without libsluice.so."""
import json
import os
import pathlib
import re
import subprocess
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "tools"))
from support import SOURCE, TOOL, ToolTest, clean_environment, sluice

PACKAGE = SOURCE / "python"
PROGRAM = pathlib.Path(__file__).with_name("program.py")
SIZE, COUNT, STEPS, BUDGET = 4 << 20, 12, 6, 16 << 20
SANITIZED = unittest.skipIf(os.environ.get("SANITIZED"), "a sanitized library needs its runtime preloaded before it")


def environment(**more):
    return clean_environment(PYTHONPATH=str(PACKAGE), PYTHONDONTWRITEBYTECODE="1", **more)


def python(*arguments, **options):
    return subprocess.run([sys.executable, *arguments], capture_output=True, text=True, timeout=60, **{"env": environment(), **options})


class WithoutSluice(ToolTest):
    def test_nothing_is_there_and_nothing_happens(self):
        device = sluice("path", "--softcuda").stdout.strip()
        result = python(PROGRAM, env=environment(LD_LIBRARY_PATH=device))
        self.assertEqual(result.returncode, 0, result.stderr)
        said = json.loads(result.stdout)
        self.assertEqual(said, {"active": False, "before": None, "steps": [{}] * STEPS, "two": {}, "child": [False, None],
                                "other": [None] * 5, "saved": False, "after": None})

    def test_importing_it_imports_hardly_anything(self):
        """Neither a framework, nor what looks into the process."""
        said = python("-c", "import sys; before = set(sys.modules); import sluice; print(*sorted({name.split('.')[0] for name in set(sys.modules) - before}))")
        self.assertEqual(set(said.stdout.split()) - sys.stdlib_module_names, {"sluice"}, said.stderr)
        self.assertNotIn("ctypes", said.stdout)

    def test_a_library_without_these_functions(self):
        """An older libsluice.so marks, and has no figures."""
        said = python("-c", "import ctypes, sluice; find = ctypes.CDLL.__getattr__; "
                            "ctypes.CDLL.__getattr__ = lambda self, name: find(self, {'sluice_mark_v1': 'getpid'}.get(name, name)); "
                            "print(sluice.active(), sluice.stats(), sluice.PerStep()())")
        self.assertEqual((said.stdout, said.stderr), ("True None {}\n", ""))


@SANITIZED
class UnderSluice(ToolTest):
    def run_program(self, *options):
        result = sluice("run", "--software", "--budget", BUDGET, "--chunk", "2M", "--daemon", "inline", "--stats", self.folder / "stats",
                        "--trace", self.folder / "trace", "--profile", self.folder / "profile", *options, "--", sys.executable, PROGRAM,
                        env=environment())
        self.assertEqual((result.returncode, result.stderr), (0, ""))
        return json.loads(result.stdout)

    def test_figures(self):
        said, written = self.run_program(), json.loads((self.folder / "stats").read_text())
        after, steps = said["after"], said["steps"]
        self.assertEqual((said["active"], said["before"], said["child"]), (True, None, [True, None]))
        self.assertEqual((said["saved"], (self.folder / "profile").exists()), (True, True))
        self.assertEqual(said["other"], [None] * 5)
        total = written["total"]
        for name in ("launches", "demand_misses", "late_prefetches", "remote_bytes", "bytes_in", "bytes_out"):
            self.assertEqual(after[name], total[name], name)
        for direction in ("in", "out"):
            for cause, moved in written[f"bytes_{direction}_by_cause"].items():
                self.assertEqual(after[f"bytes_{direction}_{cause}"], moved, (direction, cause))
        self.assertEqual((after["budget_bytes"], after["chunk_bytes"]), (BUDGET, 2 << 20))
        self.assertEqual((after["need_bytes"], after["live_bytes"]), (SIZE * COUNT, SIZE * COUNT))
        self.assertLessEqual(after["peak_occupied_bytes"], BUDGET)
        self.assertGreater(min(after["stalls"], after["stall_ns"], after["bytes_in_plan"], after["steps"], after["predicted"]), 0)
        self.assertLessEqual(after["stalls"], total["stalls"])  # those of the last step are not known yet
        self.assertEqual(sum(step["sluice/bytes_out"] for step in steps), after["bytes_out"])
        self.assertEqual(sum(step["sluice/demand_misses"] for step in steps), after["demand_misses"])
        self.assertEqual({step["sluice/budget_bytes"] for step in steps}, {BUDGET})
        self.assertEqual((said["two"]["sluice/bytes_out"], said["two"]["sluice/need_bytes"]), (0, SIZE * COUNT))

    def test_marks(self):
        self.run_program()
        records = [json.loads(line) for line in sluice("trace", "dump", "--json", self.folder / "trace").stdout.splitlines()]
        marks = [(record["kind"], record.get("name", "")) for record in records if record.get("type") == "mark"]
        self.assertEqual(marks, [mark for step in range(STEPS) for mark in (
            ("push", "forward"), ("push", "update"), ("pop", ""), ("pop", ""), ("moment", f"step {step} ends \N{CHECK MARK}"))])

    def test_loops_of_ones_own(self):
        """With something that looks like a SummaryWriter, and something that looks like a run; steps are logged by twos."""
        program = self.folder / "loop.py"
        program.write_text("""
import sluice, sluice.tensorboard, sluice.wandb
from device import Device
device = Device()
memory = [device.allocate() for _ in range(12)]
class Writer:
    add_scalar = staticmethod(lambda name, value, step: written.setdefault(step, {}).update({name: value}))
class Run:
    log = staticmethod(lambda values, step, commit: logged.append((values, step, commit)))
written, logged, before = {}, [], sluice.stats().bytes_out
logs = sluice.tensorboard.Log(Writer), sluice.wandb.Log(Run)
for step in range(6):
    for address in memory:
        device.fill(address, step)
    device.call("cuCtxSynchronize")
    if step in (0, 1, 3, 5):
        logs[0](step)
        logs[1](step, min(step, 2) or 1)
moved = sluice.stats().bytes_out - before
for rows in ([written[step] for step in (0, 1, 3, 5)], [values for values, _, _ in logged]):
    assert sum(row["sluice/bytes_out"] * steps for row, steps in zip(rows, (1, 1, 2, 2))) == moved > 0, (rows, moved)
assert [(step, commit) for _, step, commit in logged] == [(step, False) for step in (0, 1, 3, 5)], logged
""")
        result = sluice("run", "--software", "--budget", BUDGET, "--chunk", "2M", "--daemon", "inline", "--", sys.executable, program,
                        env={**environment(), "PYTHONPATH": f"{PACKAGE}:{PROGRAM.parent}"})
        self.assertEqual((result.returncode, result.stderr), (0, ""))

    def test_a_policy_that_manages_nothing(self):
        result = sluice("run", "--software", "--policy", "off", "--", sys.executable, PROGRAM, env=environment())
        said = json.loads(result.stdout)
        self.assertEqual((said["active"], said["after"], said["steps"]), (True, None, [{}] * STEPS))


class Interface(unittest.TestCase):
    def test_the_structure_is_that_of_the_header(self):
        header = (SOURCE / "include/sluice/figures.h").read_text()
        body = re.sub(r"/\*.*?\*/", "", header[header.index("struct sluice_figures {"):].split("};")[0], flags=re.S)
        members = [name.strip() for line in re.findall(r"uint64_t ([^;]+);", body) for name in line.split(",")]
        said = python("-c", "import sluice; print(*sluice.Stats._fields)").stdout.split()
        self.assertGreater(len(said), 20)
        self.assertEqual(said, members)

    def test_every_file_is_installed(self):
        named = set(re.findall(r"'sluice/([\w.]+)'", (PACKAGE / "meson.build").read_text()))
        self.assertEqual({path.name for path in (PACKAGE / "sluice").iterdir() if path.is_file()}, named)


class Page(ToolTest):
    """docs/python.md: its commands, and what needs no other package; tests/python/loggers.py runs the rest."""

    TEXT = (SOURCE / "docs/python.md").read_text()

    @SANITIZED
    def test_the_first_example(self):
        example = self.TEXT.split("```python\n")[1].split("```")[0]
        self.assertEqual(python("-c", example).stderr, "")
        (self.folder / "example.py").write_text(f"from device import Device\nDevice().allocate()\n{example}")
        result = sluice("run", "--software", "--budget", "16M", "--", sys.executable, self.folder / "example.py",
                        env={**environment(), "PYTHONPATH": f"{PACKAGE}:{PROGRAM.parent}"})
        self.assertEqual((result.returncode, result.stderr), (0, ""))
        self.assertEqual(result.stdout, f"0 0.0 0 0 {BUDGET}\n")

    @SANITIZED
    def test_commands(self):
        for link, target in (("sluice", TOOL), ("python", sys.executable), ("python3", sys.executable)):
            (self.folder / link).symlink_to(target)
        (self.folder / "train.py").write_text("import sluice\nprint(sluice.active())\n")
        (self.folder / "packages").mkdir()
        (self.folder / "packages/ipykernel_launcher.py").write_text("")
        env = environment(PATH=f"{self.folder}:{os.environ['PATH']}", HOME=str(self.folder), JUPYTER_DATA_DIR=str(self.folder / "data"))
        env["PYTHONPATH"] += f":{self.folder}/packages"
        env["LD_LIBRARY_PATH"] = sluice("path", "--softcuda").stdout.strip()  # else it would be said that there is no driver
        said = []
        for command in re.findall(r"(?m)^    ((?:python|sluice) .*?)(?: +#.*)?$", self.TEXT):
            result = subprocess.run(["bash", "-c", command], cwd=self.folder, env=env, capture_output=True, text=True, timeout=60)
            self.assertEqual((result.returncode, result.stderr), (0, ""), command)
            said.append(result.stdout.strip())
        kernels = self.folder / "data/kernels"
        self.assertEqual(said, ["True", f"{kernels}/sluice/kernel.json", f"{kernels}/small/kernel.json"])
        self.assertEqual(json.loads((kernels / "small/kernel.json").read_text())["argv"][5], str(self.folder / "python"))


class Command(ToolTest):
    def test_it_is_the_one_beside_the_package_or_in_the_path(self):
        empty = python("-c", "import sluice.__main__ as m, sys; sys.argv = ['', '--version']; m.sysconfig.get_path = lambda name: '/none'; m.main()",
                       env=environment(PATH=str(self.folder)))
        self.assertEqual((empty.returncode, empty.stdout), (1, ""))
        self.assertIn("neither beside this Python nor in PATH", empty.stderr)
        os.symlink(TOOL, self.folder / "sluice")
        found = python("-m", "sluice", "--version", env=environment(PATH=str(self.folder)))
        self.assertEqual((found.returncode, found.stdout), (0, sluice("--version").stdout))
        said = python("-m", "sluice", "run", "--", "sh", "-c", "exit 7", env=environment(PATH=f"{self.folder}:{os.environ['PATH']}"))
        self.assertEqual(said.returncode, 7, said.stderr)


if __name__ == "__main__":
    unittest.main()
