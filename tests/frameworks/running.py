"""Runs a program of programs/ on softcuda, with and without sluice, and keeps what came of it."""
import hashlib
import json
import os
import pathlib
import re
import resource
import shlex
import subprocess
import sys

import debian
from cases import ALLOCATORS, PROGRAMS as NAMED
from frameworks import FRAMEWORKS

PROGRAMS = pathlib.Path(__file__).resolve().parent / "programs"
SECONDS_AT_MOST = 1200
STEP = re.compile(r"^step \d+ (?:loss \S+ \S+ )?device_ms (\S+)$", re.MULTILINE)
FROM_END_TO_END = re.compile(r"^from_end_to_end \d+ device_ms (\S+)$", re.MULTILINE)
# As our programs print them, and as nanoGPT does.
LOSS = re.compile(r"^(?:(?:step|evaluation) \d+ loss .*?|iter \d+: loss )(-?0x\S+|nan|inf|-?\d+\.\d+(?=,))", re.MULTILINE)


# Of every program's environment.
BASE = {"SOFTCUDA_PROFILE": "rtx4090"}


def cache():
    """Where everything goes that is downloaded."""
    return pathlib.Path(os.environ.get("SLUICE_CACHE") or pathlib.Path.home() / ".cache/sluice")


def named(names, usage):
    """The programs of these names, each after what its framework needs was fetched. Ends with the usage for a name that is
    unknown, and with status 77 where a framework cannot be had."""
    known = {program.name: program for program in NAMED}
    if not names or not set(names) <= set(known):
        sys.exit(usage.strip())
    for name in names:
        try:
            FRAMEWORKS[known[name].framework].prepare(cache())
        except debian.Unavailable as reason:
            print("skipped:", reason)
            sys.exit(77)
        yield known[name]


class Run:
    """One finished run, or one rank's: its status, the program's results, the books of softcuda and of sluice, and where all
    that lies. `suffix`: of the rank's files."""

    def __init__(self, folder, suffix=""):
        self.folder, self.trace = folder, folder / f"trace{suffix}.slt"
        done = json.loads((folder / "done.json").read_text(encoding="utf-8"))
        # Of all its processes; None: the run is older than this figure.
        self.status, self.processor_seconds = done["status"], done.get("processor_seconds")
        output = folder / f"output{suffix}"
        self.output = output.read_text(encoding="utf-8") if output.exists() else ""
        self.steps = [float(found) / 1e3 for found in STEP.findall(self.output)]
        self.from_end_to_end = [float(found) / 1e3 for found in FROM_END_TO_END.findall(self.output)]
        self.losses = LOSS.findall(self.output)
        self.weights = next(iter(re.findall(r"^weights_hash (\S+)$", self.output, re.MULTILINE)), None)
        self.device, self.sluice = load(folder / f"device{suffix}.json"), load(folder / f"sluice{suffix}.json")
        self.each = [self]

    def ended_well(self):
        return self.status == 0 and self.weights is not None

    def same_bits(self, other):
        return self.ended_well() and (self.weights, self.losses) == (other.weights, other.losses)

    def describe(self):
        """How it ended, with the last line that it printed."""
        lines = (self.output.strip() or "no output").splitlines()
        how = "took too long" if self.status is None else f"status {self.status}"
        return f"{how}: {lines[-1][:300]}"


class Ranks:
    """A finished run of several ranks, which is as good as the worst of them."""

    def __init__(self, folder, count):
        self.folder = folder
        self.each = [Run(folder, f".{rank}") for rank in range(count)]
        self.steps = [max(step) for step in zip(*(run.steps for run in self.each))]

    def ended_well(self):
        return all(run.ended_well() for run in self.each)

    def same_bits(self, other):
        return all(run.same_bits(own) for run, own in zip(self.each, other.each, strict=True))

    def describe(self):
        rank = next((rank for rank, run in enumerate(self.each) if not run.ended_well()), 0)
        return f"rank {rank}: {self.each[rank].describe()}"


def load(path):
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except (FileNotFoundError, json.JSONDecodeError):
        return None


def processor_seconds():
    """Of all processes that this one started and that have ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


class Bench:
    """Knows the build's libraries. A run that was done with the same libraries and program is not repeated."""

    def __init__(self, build):
        self.build = pathlib.Path(build).resolve()
        self.libraries = self.build / "subprojects/softcuda/lib"
        self.preload = self.build / "shim/libsluice.so"
        self.folder = self.build / "frameworks"
        self.folder.mkdir(exist_ok=True)
        self.software = self.hash_files(sorted(self.libraries.glob("lib*.so*")))
        self.sluice = self.hash_files([self.preload])

    @staticmethod
    def hash_files(paths):
        hashed = hashlib.sha256()
        for path in paths:
            if path.is_file():
                hashed.update(path.name.encode() + path.read_bytes())
        return hashed.hexdigest()

    def command(self, program, variables, sluice, folder):
        """The command with its environment, which is empty but for what stands here."""
        environment, start = FRAMEWORKS[program.framework].start(self, sluice)
        environment = {"HOME": os.environ.get("HOME", "/"), "PATH": "/usr/bin:/bin", "PYTHONPYCACHEPREFIX": self.folder / "pycache",
                       "LD_AUDIT": self.libraries / "libsoftcuda_find.so", **BASE, **environment, **program.variables, **variables}
        called = [PROGRAMS / program.file, *program.arguments, "--steps", program.steps]
        if program.ranks > 1:
            environment["SOFTCUDA_DEVICES"] = program.ranks
            start = self.start_ranks(program.ranks, start, folder)
        return ["env", "-i", *(f"{name}={value}" for name, value in environment.items()), *start, *called]

    @staticmethod
    def start_ranks(count, start, folder):
        """torchrun. Each rank is started by a script that gives it files of its own."""
        books = {"SOFTCUDA_STATS": "device{}.json", "SLUICE_STATS": "sluice{}.json", "SLUICE_TRACE": "trace{}.slt"}
        lines = [f'export {name}="{folder}/{file.format(".$RANK")}"' for name, file in books.items()]
        script = folder / "rank"
        script.write_text("\n".join(["#!/bin/sh", *lines, f'exec {shlex.join(map(str, start))} "$@" > "{folder}/output.$RANK" 2>&1'])
                          + "\n", encoding="utf-8")
        script.chmod(0o755)
        return ["env", f"PYTHON_EXEC={script}", *start, "-m", "torch.distributed.run", "--nproc-per-node", count,
                "--rdzv-backend", "c10d", "--rdzv-endpoint", folder / "rendezvous", "--rdzv-conf", "store_type=file"]

    def run(self, program, allocator, schedule, sluice=None, device_bytes=None, record=False, again=False):
        """`sluice`: None, or the SLUICE_ variables without their prefix. `device_bytes`: how large the device is. `record`: what
        each launch touches, and when it runs."""
        variables = {**ALLOCATORS[allocator], "SOFTCUDA_SCHEDULE": schedule}
        if device_bytes:
            variables["SOFTCUDA_MEMORY"] = device_bytes
        if sluice is not None:
            variables.update({"SLUICE_" + name: value for name, value in sluice.items()})
        told = json.dumps([program.framework, program.file, program.arguments, program.steps, program.variables, variables,
                           program.ranks, sluice is not None, record], sort_keys=True)
        parts = [PROGRAMS / program.file, PROGRAMS / "common.py", *FRAMEWORKS[program.framework].sources()]
        build = self.software if sluice is None else self.software + self.sluice
        key = hashlib.sha256((told + build + self.hash_files(parts)).encode()).hexdigest()[:16]
        folder = self.folder / "runs" / key
        if again or not (folder / "done.json").exists():
            self.start(program, variables, sluice is not None, record, folder)
        return Run(folder) if program.ranks == 1 else Ranks(folder, program.ranks)

    def start(self, program, variables, sluice, record, folder):
        folder.mkdir(parents=True, exist_ok=True)
        for path in folder.iterdir():
            path.unlink()
        variables = {**variables, "SOFTCUDA_STATS": folder / "device.json"}
        if record:
            variables.update({"SOFTCUDA_TOUCHED": folder / "touched", "SOFTCUDA_TIMELINE": folder / "timeline"})
        if sluice:
            variables = {"SLUICE_TRACE_SAMPLE": "0", **variables, "SLUICE_STATS": folder / "sluice.json",
                         "SLUICE_TRACE": folder / "trace.slt"}
        command = [str(word) for word in self.command(program, variables, sluice, folder)]
        (folder / "command").write_text(shlex.join(command) + "\n", encoding="utf-8")
        before = processor_seconds()
        with open(folder / "output", "w", encoding="utf-8") as output:
            try:
                status = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.STDOUT,
                                        timeout=SECONDS_AT_MOST, check=False).returncode
            except subprocess.TimeoutExpired:
                status = None
        # At the very end: what was broken off is run once more.
        done = {"status": status, "processor_seconds": processor_seconds() - before}
        (folder / "done.json").write_text(json.dumps(done), encoding="utf-8")
