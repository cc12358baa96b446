"""Mistakes of a new user: each is answered in one line that says what to do. The answers are in tests/golden/mistakes*.txt:

    REWRITE_GOLDEN=1 meson test -C build tool-mistakes
"""
import os
import re
import shlex
import shutil
import subprocess
import sys
import unittest

from support import GOLDEN, SOURCE, TOOL, ToolTest, clean_environment, has_driver, rank_records, write_trace

# What is typed, and how many lines answer (one if it is not said).
WORDS = """
sluice
sluice -V
sluice version
sluice rnu python train.py
sluice python train.py
sluice train.py
sluice --budget 8G python train.py
sluice --software run python train.py
sluice -x
sluice run.slt
sluice report run.slt
sluice exec python train.py
sluice monitor
sluice help rnu
sluice doctor --sofware
sluice path here
sluice options all
sluice kernel
sluice kernel list
sluice kernel instal
"""

RUN = """
sluice run
sluice run --budget 8G
sluice run train.py
sluice run ./train.py
sluice run ./marked.py
sluice run ./windows.py
sluice run ./unmarked.py --epochs 3
sluice run job.sh
sluice run missing.py
sluice run trian
sluice run train
sluice run ./data
sluice run .
sluice run 'python train.py'
sluice run CUDA_VISIBLE_DEVICES=0 python train.py
sluice run — python train.py
sluice run -m torch.distributed.run train.py
sluice run --trace python train.py
sluice run --stats python
sluice run --software python train.py --budget 8G
sluice run --software python --chunk=4M train.py
sluice run --budgt 8G python train.py
sluice run -budget 8G python train.py
sluice run -b 8G python train.py
sluice run --memory 8G python train.py
sluice run --device-budget=8G python train.py
sluice run --host-mem 64G python train.py
sluice run --gpu 0 python train.py
sluice run --cpu python train.py
sluice run --budget python train.py
sluice run --budget 8 python train.py
sluice run --budget 8 GB python train.py
sluice run --budget 50% python train.py
sluice run --budget 1M python train.py
sluice run --budget -8G python train.py
sluice run --budget all python train.py
sluice run --budget
sluice run --chunk 3M python train.py
sluice run --policy best python train.py
sluice run --daemon yes python train.py
sluice run --force=1 python train.py
sluice run --trace out/run.slt python train.py
sluice run --trace . python train.py
sluice run --trace notes.txt python train.py
sluice run --profile run.slt python train.py
sluice run --backing half python train.py
"""

TRACES = """
sluice trace
sluice trace run.slt
sluice trace kernel run.slt
sluice trace show run.slt
sluice trace compare run.slt other.slt
sluice trace info
sluice trace info missing.slt
sluice trace info data
sluice trace info notes.txt
sluice trace info empty.slt
sluice trace info short.slt
sluice trace info run.prof
sluice trace info run.json
sluice trace info run.live
sluice trace info run.html
sluice trace info run.slt.gz
sluice trace kernels run.slt other.slt
sluice trace kernels --sort names run.slt
sluice trace kernels --limit all run.slt
sluice trace report run.slt
sluice trace report -o run.slt run.slt
sluice trace report -o notes.txt run.slt
sluice trace report -o out/run.html run.slt
sluice trace report -o ranks.html run.slt other.slt
sluice trace ranks run.slt
sluice trace diff run.slt
sluice trace diff run.slt other.slt run.slt
sluice trace timeline --iteration 99 run.slt
sluice trace export run.slt
sluice trace export --perfetto run.slt run.slt
sluice plan
sluice plan notes.txt
sluice plan run.prof
sluice plan run.slt other.slt
sluice plan --budget 50% run.slt
sluice plan --policy off run.slt
sluice plan short-run.slt
sluice advise run.slt other.slt
sluice advise --budget much run.slt
sluice profile run.slt
sluice profile empty.slt
sluice profile missing.prof
sluice stats run.slt
sluice stats run.json
sluice stats 1234
sluice stats missing
sluice top --json
sluice top --interval 1s
sluice top --once nobody
sluice rehearse
sluice rehearse --card h100 train
sluice rehearse --host 64X train
"""

ABSENT = """
sluice run python train.py
sluice run -v python train.py
sluice run train.py
"""

# Variables before the command, which starts a training.
WARNINGS = """
SLUICE_POLCY=lru sluice run --software GPT
SLUICE_DEVICE_BUDGET=8 sluice run --software GPT
SLUICE_POLICY=best sluice run --software GPT
SOFTCUDA_PROFILE=h200 sluice run --software --budget 1T GPT
SOFTCUDA_MEMORY=8M sluice run --software GPT
SLUICE_TRACE=/no/such/folder/t sluice run --software GPT
"""


class Mistakes(ToolTest):
    def setUp(self):
        super().setUp()
        tool = self.install()  # libraries that do nothing: what starts is a program that ends at once
        self.work = self.folder / "work"
        commands = self.folder / "commands"
        for folder in (self.work, commands, self.work / "data"):
            folder.mkdir()
        os.symlink(tool, commands / "sluice")
        for name in ("python", "env", "sh"):
            os.symlink("/bin/true", commands / name)
        self.environment = clean_environment(PATH=str(commands), LC_ALL="C.UTF-8")
        self.write_programs()
        self.write_traces()

    def write_programs(self):
        for name, text, mode in (("train.py", "print(1)\n", 0o644), ("unmarked.py", "print(1)\n", 0o755),
                                 ("marked.py", "#!/no/such/pythn\n", 0o755), ("windows.py", f"#!{self.folder}/commands/pythn\r\n", 0o755),
                                 ("job.sh", "echo\n", 0o644), ("train", "#!/bin/sh\n", 0o755), ("notes.txt", "Dear all,\n", 0o644)):
            path = self.work / name
            path.write_text(text)
            path.chmod(mode)

    def write_traces(self):
        alone = [record for record in rank_records(0) if not (record[0] == "launch" and record[1]["flags"])]
        steps = [("iteration", dict(id=step, tick=2 * step + 1, time=(1000 + 10 * step) * 1000000, a=2)) for step in range(3)]
        for name, process in (("run.slt", 1), ("other.slt", 2)):
            records = [("header", dict(alone[0][1], id=process))] + alone[1:] + steps
            write_trace(self.work / name, records)
        write_trace(self.work / "short-run.slt", alone[:4])
        whole = (self.work / "run.slt").read_bytes()
        for name, content in (("empty.slt", b""), ("short.slt", whole[:20]), ("run.prof", b"SLPROF\r\n" + bytes(64)), ("run.live", b"SLLIVE\r\n" + bytes(64)),
                              ("run.json", b'{"kind": "sluice statistics", "version": 1}\n'), ("run.html", b"<!DOCTYPE html>\n"),
                              ("run.slt.gz", b"\x1f\x8b\x08\0" + bytes(64))):
            (self.work / name).write_bytes(content)

    def answer(self, line, environment=None):
        words = shlex.split(line)
        variables = {}
        while re.match(r"\w+=", words[0]):
            name, value = words.pop(0).split("=", 1)
            variables[name] = value
        if words[0] == "sluice" and environment:
            words[0] = TOOL
        return subprocess.run(words, capture_output=True, text=True, timeout=60, cwd=self.work, env=dict(environment or self.environment, **variables))

    def compare(self, name, lines, least, environment=None):
        told = []
        for line in lines.strip().splitlines():
            with self.subTest(line):
                done = self.answer(line.replace("GPT", shlex.join([os.environ["GPT"], "--data", str(SOURCE / "workloads/data/gpl-3.txt"), "--steps", "1"])), environment)
                said = done.stderr.replace(str(self.folder), "FOLDER").replace(os.path.realpath(self.folder), "FOLDER")
                if not line.endswith(("-V", "version")):
                    self.assert_one_line(said)
                told.append(f"$ {line}\n{said or re.sub(r'[0-9.]+', 'VERSION', done.stdout)}[{done.returncode}]\n")
        text, golden = "\n".join(told), GOLDEN / f"{name}.txt"
        if os.environ.get("REWRITE_GOLDEN"):
            golden.write_text(text)
        self.maxDiff = None
        self.assertEqual(text, golden.read_text())
        self.assertGreaterEqual(len(told), least)

    def test_words(self):
        self.compare("mistakes.words", WORDS, 20)

    def test_run(self):
        self.compare("mistakes.run", RUN, 40)

    def test_traces(self):
        self.compare("mistakes.traces", TRACES, 50)

    def test_no_driver(self):
        if has_driver():
            self.skipTest("this machine has one")
        self.compare("mistakes.driver", ABSENT, 3)

    @unittest.skipIf(os.environ.get("SANITIZED"), "a sanitized library needs its runtime preloaded before it")
    def test_warnings(self):
        self.compare("mistakes.warnings", WARNINGS, 6, clean_environment())

    @unittest.skipIf(os.environ.get("SANITIZED"), "a sanitized library needs its runtime preloaded before it")
    def test_a_driver_that_is_too_old(self):
        """Is said in versions, which users can compare, and not in names of functions."""
        shutil.copy(os.environ["VGPU_DRIVER"], self.folder / "libcuda.so.1")
        program = ("import ctypes; driver = ctypes.CDLL('libcuda.so.1'); address = ctypes.c_uint64(); driver.cuInit(0);"
                   "driver.cuMemAlloc_v2(ctypes.byref(address), ctypes.c_size_t(4096))")
        environment = clean_environment(LD_LIBRARY_PATH=str(self.folder), VGPU_VERSION="11040")
        done = subprocess.run([TOOL, "run", sys.executable, "-c", program], capture_output=True, text=True, timeout=60, env=environment)
        self.assertEqual(done.stderr, "sluice: the driver is of CUDA 11.4, and sluice needs CUDA 12.2 or newer: the program runs without sluice\n")
        said = subprocess.run([TOOL, "doctor"], capture_output=True, text=True, timeout=60, env=environment).stdout
        self.assertIn("\nsluice does not work here: the driver is of CUDA 11.4; sluice needs CUDA 12.2 or newer (driver 535)\n", said)
        self.assertNotRegex(said, r"\bcu[A-Z]")

    def test_the_marks_of_files_are_those_of_their_writers(self):
        known = (SOURCE / "tools/text/file_kind.c").read_text()
        for header, name in (("include/sluice/trace.h", "SLUICE_TRACE_MAGIC"), ("src/profile/profile.h", "SL_PROFILE_MAGIC"),
                             ("src/core/report.h", "SL_LIVE_MAGIC"), ("src/move/stats.h", "SL_STATS_MARKER")):
            (mark,) = re.findall(rf'(?m)^#define {name} (".*")$', (SOURCE / header).read_text())
            self.assertIn(mark, known, name)


if __name__ == "__main__":
    unittest.main()
