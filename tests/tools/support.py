"""Runs the sluice command: the one of the build folder, or a copy in a folder that looks like an installation."""
import ctypes.util
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

TOOL = os.environ["SLUICE_TOOL"]
SOURCE = pathlib.Path(__file__).resolve().parents[2]
GOLDEN = SOURCE / "tests" / "golden"
MS = 1_000_000
REALTIME = 1_763_690_400_000_000_000
STEPS = 40  # of an invented job
STEP, WORK, TAKES = 10 * MS, 4 * MS, 1 * MS
COLLECTIVE, ALL_REDUCE = 4, 1


def clean_environment(**changes):
    environment = {k: v for k, v in os.environ.items() if not k.startswith(("SLUICE_", "LD_"))}
    environment.update(changes)
    return environment


def sluice(*arguments, tool=TOOL, env=None, **options):
    return subprocess.run([tool, *map(str, arguments)], capture_output=True, text=True, timeout=options.pop("timeout", 60),
                          env=env or clean_environment(), **options)


def has_driver():
    """Whether programs of this machine find a CUDA driver."""
    search = [sys.executable, "-c", "import ctypes; ctypes.CDLL('libcuda.so.1')"]
    return subprocess.run(search, stderr=subprocess.DEVNULL, env=clean_environment()).returncode == 0


class ToolTest(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="sluice-tool-"))
        self.addCleanup(shutil.rmtree, self.folder)

    def assert_usage_error(self, result, *words):
        self.assertEqual(result.returncode, 2, result.stderr)
        self.assertEqual(result.stdout, "")
        self.assert_one_line(result.stderr, *words)

    def assert_one_line(self, text, *words):
        self.assertTrue(text.startswith("sluice: "), text)
        self.assertEqual(text.count("\n"), 1, text)
        for word in words:
            self.assertIn(word, text)

    def install(self, library=True, software=True):
        """bin/sluice with lib/libsluice.so and the software device; both libraries are harmless stand-ins, any
        object that can be preloaded."""
        (self.folder / "bin").mkdir()
        (self.folder / "lib/sluice/softcuda").mkdir(parents=True)
        shutil.copy(TOOL, self.folder / "bin/sluice")
        harmless = shared_object()
        if library:
            shutil.copy(harmless, self.folder / "lib/libsluice.so")
        if software:
            shutil.copy(harmless, self.folder / "lib/sluice/softcuda/libcuda.so.1")
        return str(self.folder / "bin/sluice")


def shared_object():
    """The C library's libm, wherever this machine has it."""
    for line in pathlib.Path("/proc/self/maps").read_text().splitlines():
        path = line.split()[-1]
        if os.path.basename(path).startswith("libm.so") or os.path.basename(path).startswith("libm-"):
            return path
    ctypes.CDLL(ctypes.util.find_library("m"))
    return shared_object()


def write_trace(path, records, per_block=1000, ended=True):
    """A trace of invented records: (type, {field: value}) or (type, {field: value}, text)."""
    lines = []
    for kind, fields, *text in records:
        words = " ".join(f"{key}={value}" for key, value in fields.items())
        lines.append(f"{kind} {words}" + (f"|{text[0]}" if text else "") + "\n")
    subprocess.run([os.environ["WRITE_TRACE"], path, str(per_block)] + ([] if ended else ["cut"]),
                   input="".join(lines), text=True, check=True)
    return path


def dump(path):
    """What trace dump --json says: the header and the records."""
    lines = [json.loads(line) for line in sluice("trace", "dump", "--json", path).stdout.splitlines()]
    return lines[0], lines[1:-1]


def rank_records(rank, clock=0, late=0, communicator=7, process=None, steps=STEPS, first=1000 * MS, timed=(0,), realtime=REALTIME):
    """A rank whose clock shows `clock` ns more than the job's: in each step a kernel, which is timed where the step modulo 10 is in
    `timed`, and an AllReduce, which it comes to `late` ns later than ranks that are in time."""
    began = first + clock
    records = [("header", dict(id=process or 100 + rank, a=realtime, b=began)),
               ("kernel", dict(id=1, time=began), "work")]
    for step in range(steps):
        at, tick = began + step * STEP, 2 * step + 1
        end = at + WORK + 3 * MS + TAKES
        arrives = at + WORK + late
        records += [("launch", dict(flags=0, id=1, tick=tick, time=at, a=0x10, b=256)),
                    ("launch", dict(flags=COLLECTIVE, id=ALL_REDUCE, tick=tick + 1, time=at + 1000, a=0x20, b=communicator, c=1 << 20)),
                    ("duration", dict(id=0, tick=tick + 1, time=end + 1000, a=end - arrives, b=arrives))]
        if step % 10 in timed:
            records.append(("duration", dict(id=1, tick=tick, time=end + 1000, a=WORK + late, b=at + 2000)))
    return records


def record_gpt(folder, *arguments, budget="16M", name="gpt.slt"):
    """A trace of workloads/gpt on the software device, or None where it cannot be recorded."""
    if os.environ.get("SANITIZED"):
        return None  # a sanitized library needs its runtime preloaded before it
    path = folder / name
    subprocess.run([TOOL, "run", "--software", "--budget", budget, "--chunk", "2M", "--trace", path, "--trace-full",
                    "wait", "--", os.environ["GPT"], "--data", SOURCE / "workloads/data/gpl-3.txt", "--steps", "4",
                    *arguments], check=True, stdout=subprocess.DEVNULL, env=clean_environment())
    return path
