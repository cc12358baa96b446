#!/usr/bin/env python3
"""Ranks of which one fails: what becomes of the others is what becomes of them without sluice, and nothing stays behind.

usage: rank_faults.py BUILD kills COUNT | memory | slow | trace

kills: ranks of ddp are killed at COUNT places, evenly spread over all of their calls (rank_killer.c), with every --zero, both
kinds of memory and both daemons. Breaks if a survivor hangs, ends by a signal or by another error than it has without sluice, if a
trace cannot be read, the killed rank's neither, or if something stays in a folder or, once the next job has started, in /dev/shm.
memory: one rank has less host memory than it needs. slow: one rank is held up at every step. trace: one rank's trace cannot be
written at all, or its disk is full; the losses stay the same.
"""
import concurrent.futures
import os
import re
import subprocess
import sys
import tempfile

MODEL = ["--layers", "2", "--width", "256", "--heads", "4", "--context", "16", "--batch", "1", "--seed", "7", "--chunk-mib", "2"]
STEPS = 3
# What a rank may say whose peer is gone: the call that notices is the next of NCCL, or one that waits for the device; if the
# device noticed before NCCL was called, that call fails because of the device.
REMOTE = ("another rank is gone or failed", "the launch timed out", "a CUDA call failed")
SECONDS = 100
# In front of it a rank joins the communicator: the others would wait for one that was killed there, and never came, as NCCL does.
FIRST_PLACE = 2


class Job:
    """Ranks of ddp, as processes of this one, in a folder of their own."""

    def __init__(self, build, folder, ranks, options, sluice=None):
        self.build, self.folder, self.ranks, self.options, self.sluice = build, folder, ranks, options, sluice
        self.traces = os.path.join(folder, "traces")
        self.work = os.path.join(folder, "work")
        os.makedirs(self.traces)
        os.makedirs(self.work)

    def path_of_trace(self, rank):
        """Where one was put on a disk of its own, there."""
        own = os.path.join(self.traces, f"{rank}.disk")
        return os.path.join(own if os.path.isdir(own) else self.traces, f"{rank}.slt")

    def environment(self, rank, more):
        variables = {k: v for k, v in os.environ.items() if not k.startswith(("SLUICE_", "SOFTCUDA_", "RANK_KILLER"))}
        variables.update({"RANK": str(rank), "WORLD_SIZE": str(self.ranks), "LOCAL_RANK": str(rank), "TMPDIR": self.work,
                          "LOCAL_WORLD_SIZE": str(self.ranks), "RANK_KILLER_COUNT": os.path.join(self.folder, f"places.{rank}"),
                          "SOFTCUDA_DEVICES": str(self.ranks), "SOFTCUDA_LOG": "none",
                          "LD_LIBRARY_PATH": os.path.join(self.build, "subprojects", "softcuda", "lib")})
        preload = [os.environ.get("E2E_PRELOAD"), os.path.join(self.build, "tests", "faults", "rank-killer.so")]
        if self.sluice is not None:
            hooks = "TEST_DELAY" in more
            preload.append(os.path.join(self.build, "tests/promise/libsluice-hooks.so" if hooks else "shim/libsluice.so"))
            variables["SLUICE_TRACE"] = self.path_of_trace(rank)
            variables.update({"SLUICE_" + name: str(value) for name, value in {**self.sluice, **more}.items()
                              if not name.startswith("RANK_KILLER")})
        variables.update({name: str(value) for name, value in more.items() if name.startswith("RANK_KILLER")})
        variables["LD_PRELOAD"] = " ".join(filter(None, preload))
        return variables

    def run(self, special=None, more=None):
        """`special`: a rank that gets the variables `more` as well."""
        data = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "workloads", "data", "gpl-3.txt")
        command = [os.path.join(self.build, "workloads", "ddp"), "--data", os.path.abspath(data), *MODEL, *self.options,
                   "--steps", str(STEPS), "--id-file", os.path.join(self.folder, "id")]
        programs = [subprocess.Popen(
            command, env=self.environment(rank, (more or {}) if rank == special else {}), stdout=subprocess.PIPE,
            stderr=subprocess.PIPE, text=True, cwd=self.work) for rank in range(self.ranks)]
        try:
            self.said = [program.communicate(timeout=SECONDS) for program in programs]
        finally:
            for program in programs:
                program.kill()
        self.statuses = [program.returncode for program in programs]
        self.results = re.findall(r" loss \S+ (\S+)|(weights_hash \S+)", self.said[0][0])
        return self

    def run_with_small_disk(self, special, disk_bytes):
        """The special rank's trace lies on a disk of that size. pre: enter_own_shared_memory succeeded."""
        disk = os.path.join(self.traces, f"{special}.disk")
        os.mkdir(disk)
        subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={disk_bytes}", "none", disk], check=True)
        return self.run(special)

    def free_disks(self):
        for name in os.listdir(self.traces):
            if name.endswith(".disk"):
                subprocess.run(["umount", "--lazy", os.path.join(self.traces, name)], check=True)

    def need(self, condition, what):
        if not condition:
            raise AssertionError(f"{what}: {self.ranks} ranks {self.options} {self.sluice}: {self.statuses} "
                                 f"{[errors.splitlines()[-4:] for _, errors in self.said]}")

    def need_readable_traces(self, missing=()):
        for rank in range(self.ranks):
            path = self.path_of_trace(rank)
            if rank in missing and not os.path.exists(path):
                continue
            tool = os.path.join(self.build, "tools", "sluice")
            read = subprocess.run([tool, "trace", "info", path], capture_output=True, text=True, timeout=SECONDS, check=False)
            self.need(read.returncode == 0, f"the trace of rank {rank} is read: {read.stderr}")

    def need_no_files(self):
        self.need(not os.listdir(self.work), f"files are left: {os.listdir(self.work)}")
        strangers = set(os.listdir(self.traces)) - {f"{rank}.{kind}" for rank in range(self.ranks) for kind in ("slt", "disk")}
        self.need(not strangers, f"files are left: {strangers}")


def enter_own_shared_memory():
    """Starts this program again with a /dev/shm of its own, in which no other program makes names."""
    mount = ["unshare", "--map-root-user", "--mount", "sh", "-c", 'mount -t tmpfs -o mode=1777 none /dev/shm && exec "$@"', "sh"]
    if os.environ.get("OWN_SHARED_MEMORY"):
        return
    try:
        possible = subprocess.run([*mount, "true"], capture_output=True, timeout=SECONDS, check=False).returncode == 0
    except OSError:
        possible = False
    if possible:
        os.environ["OWN_SHARED_MEMORY"] = "1"
        os.execvp(mount[0], [*mount, sys.executable, *sys.argv])
    print("no /dev/shm of its own: what stays there is not looked at")


def need_no_shared_names():
    left = os.listdir("/dev/shm") if os.environ.get("OWN_SHARED_MEMORY") else []
    if left:
        raise AssertionError(f"shared memory is left behind: {left}")


def case_of(number):
    """How the job of a kill runs."""
    ranks = 2 + number % 2
    options = ["--zero", str(number % 4), "--alloc", ("malloc", "async")[number // 4 % 2]]
    sluice = {"DEVICE_BUDGET": "8M", "CHUNK": "2M", "DAEMON": ("thread", "inline")[number // 2 % 2]}
    return ranks, options, sluice


def count_places(build, number):
    """Of each rank."""
    ranks, options, _ = case_of(number)
    with tempfile.TemporaryDirectory() as folder:
        job = Job(build, os.path.join(folder, "job"), ranks, options).run()
        job.need(not any(job.statuses), "it runs without sluice")
        places = []
        for rank in range(ranks):
            with open(os.path.join(job.folder, f"places.{rank}"), encoding="utf-8") as file:
                places.append(int(file.read()))
        return places


def killed_of(number):
    """Which rank."""
    return number // 8 % case_of(number)[0]


def kill(build, number, place, sluice):
    """What the survivors said: the set of errors."""
    ranks, options, managed = case_of(number)
    killed = killed_of(number)
    with tempfile.TemporaryDirectory() as folder:
        job = Job(build, os.path.join(folder, "job"), ranks, options, managed if sluice else None)
        job.run(killed, {"RANK_KILLER_AT": place})
        job.need(job.statuses[killed] == -9, f"rank {killed} is killed at {place}")
        for rank in range(ranks):
            if rank == killed:
                continue
            errors = [line for line in job.said[rank][1].splitlines() if line.startswith("ddp: ")]
            # At the very end others need nothing more of it.
            fine = job.statuses[rank] == 0 and not errors
            failed = job.statuses[rank] == 1 and len(errors) == 1 and any(error in errors[0] for error in REMOTE)
            job.need(fine or failed, f"rank {rank} ends as it would, when rank {killed} is killed at {place}")
        if sluice:
            job.need_readable_traces(missing=(killed,))
        job.need_no_files()
        return [job.statuses[rank] for rank in range(ranks) if rank != killed]


def check_kill(build, number, place):
    """What is wrong, or None."""
    try:
        with_sluice, without = (kill(build, number, place, sluice) for sluice in (True, False))
    except (AssertionError, subprocess.TimeoutExpired) as error:
        return f"kill {number} at place {place}: {error}"
    return None if with_sluice == without else f"kill {number} at place {place}: {with_sluice} with sluice, {without} without"


def kills(build, count="20"):
    count = int(count)
    most = {case: count_places(build, case) for case in range(min(count, 8))}

    def check(number):
        last = most[number % 8][killed_of(number)]
        return check_kill(build, number, FIRST_PLACE + number * (last - FIRST_PLACE) // max(1, count - 1))

    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        wrong = [error for error in pool.map(check, range(count)) if error]
    for error in wrong:
        print(error)
    # The next start takes away what the killed ranks left.
    with tempfile.TemporaryDirectory() as folder:
        ranks, options, sluice = case_of(0)
        Job(build, os.path.join(folder, "job"), ranks, options, sluice).run()
    need_no_shared_names()
    print(f"{count - len(wrong)} of {count} kills: the others ended as without sluice, and nothing was left behind")
    sys.exit(bool(wrong))


def with_one_special(build, number, more, disk_bytes=None):
    ranks, options, sluice = case_of(number)
    with tempfile.TemporaryDirectory() as folder:
        whole = Job(build, os.path.join(folder, "whole"), ranks, options).run()
        whole.need(not any(whole.statuses) and len(whole.results) == STEPS + 1, "it runs without sluice")
        job = Job(build, os.path.join(folder, "job"), ranks, options, sluice)
        try:
            job.run_with_small_disk(1, disk_bytes) if disk_bytes else job.run(1, more)
            job.need(not any(job.statuses), "all end well")
            job.need(job.results == whole.results, "the same bits")
            job.need_readable_traces(missing=(1,) if more.get("TRACE") else ())
            job.need_no_files()
        finally:
            job.free_disks()
    need_no_shared_names()
    print(f"{ranks} ranks, {options}, {more}, disk of {disk_bytes} bytes: the same bits", flush=True)


def memory(build):
    """The rank says that there is no memory, as it would on a device that is too small; the others, that it is gone."""
    for number in (0, 5, 6):
        ranks, options, sluice = case_of(number)
        with tempfile.TemporaryDirectory() as folder:
            job = Job(build, os.path.join(folder, "job"), ranks, options, sluice).run(1, {"HOST_LIMIT": "12M"})
            job.need(job.statuses[1] == 3 and "out of device memory" in job.said[1][1], "rank 1 is out of memory")
            for rank in set(range(ranks)) - {1}:
                job.need(job.statuses[rank] == 1 and any(error in job.said[rank][1] for error in REMOTE),
                         f"rank {rank} is told that rank 1 is gone")
            job.need_readable_traces()
            job.need_no_files()
    need_no_shared_names()


def slow(build):
    for number in (0, 3, 7):
        with_one_special(build, number, {"TEST_DELAY": 7 + number})


def trace(build):
    for number in (1, 2):
        with_one_special(build, number, {"TRACE": "/dev/full"})
        if os.environ.get("OWN_SHARED_MEMORY"):
            for disk_bytes in (4096, 100000):
                with_one_special(build, number, {}, disk_bytes)


if __name__ == "__main__":
    enter_own_shared_memory()
    {"kills": kills, "memory": memory, "slow": slow, "trace": trace}[sys.argv[2]](os.path.abspath(sys.argv[1]), *sys.argv[3:])
