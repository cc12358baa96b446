#!/usr/bin/env python3
"""End-to-end tests with several ranks: ddp, unmodified, on softcuda's devices and its NCCL, without and with sluice. Every
printed loss and the weights are those of a run without, and no rank's device held more than its budget.

usage: ranks.py BUILD TEST [RANKS [ZERO...]]
"""
import glob
import json
import os
import re
import subprocess
import sys
import tempfile

from e2e import MIB, need, whole_blocks

DATA = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "workloads", "data", "gpl-3.txt")
MODEL = ["--layers", "3", "--width", "256", "--heads", "4", "--context", "32", "--batch", "2", "--seed", "7", "--chunk-mib", "2"]
# softcuda counts what modules hold as well, which no budget is for.
MODULES_AT_MOST = 2 * MIB
# The kind of memory, what share of the need is there, who moves, and in which order the device works.
CASES = [("malloc", 2, "thread", "late"), ("async", 2, "inline", "late"), ("malloc", 3, "inline", "random:1"),
         ("async", 3, "thread", "random:2"), ("malloc", 3, "thread", "random:3")]


class Run:
    """A finished run: how it ended, what it printed, and the books of each rank's device and of sluice."""

    def __init__(self, build, ranks, options, sluice=None, schedule="late", device=None):
        with tempfile.TemporaryDirectory() as folder:
            env = {k: v for k, v in os.environ.items() if not k.startswith(("SLUICE_", "SOFTCUDA_"))}
            env.update({"LD_LIBRARY_PATH": os.path.join(build, "subprojects", "softcuda", "lib"), "SOFTCUDA_DEVICES": str(ranks),
                        "SOFTCUDA_SCHEDULE": schedule, "SOFTCUDA_STATS": os.path.join(folder, "device.%p")})
            env.update({"SOFTCUDA_" + name: str(value) for name, value in (device or {}).items()})
            preload = [os.environ.get("E2E_PRELOAD")]  # a sanitizer's runtime
            if sluice is not None:
                preload.append(os.path.join(build, "shim", "libsluice.so"))
                env.update({"SLUICE_" + name: str(value) for name, value in sluice.items()})
                env["SLUICE_STATS"] = os.path.join(folder, "sluice.%p")
            env["LD_PRELOAD"] = " ".join(filter(None, preload))
            command = [os.path.join(build, "workloads", "ddp"), "--data", DATA, "--ranks", str(ranks), *options]
            done = subprocess.run(command, env=env, capture_output=True, text=True, timeout=240, check=False)
            self.status, self.output, self.errors = done.returncode, done.stdout, done.stderr
            self.devices, self.sluice = (
                list(self.books(glob.glob(os.path.join(folder, kind))))
                for kind in ("device.*[0-9]", "sluice.*[0-9]"))
        self.device = self.devices  # where a failure is shown
        self.results = re.findall(r" loss \S+ (\S+)|(weights_hash \S+)", self.output)
        self.peaks = [device["peak_device_bytes"] for device in self.devices if device["launches"]]

    def books(self, paths):
        """Those that were written to their end: where one rank fails the others are killed."""
        for path in paths:
            with open(path, encoding="utf-8") as file:
                try:
                    yield json.load(file)
                except json.JSONDecodeError:
                    assert self.status, f"{path} is no JSON"


def check(build, ranks, zero, case):
    allocator, share, daemon, schedule = case
    options = [*MODEL, "--steps", "6", "--zero", zero, "--alloc", allocator]
    whole = Run(build, ranks, options)
    need(whole.status == 0 and len(whole.results) == 7 and len(whole.peaks) == ranks, "it runs without sluice", whole)
    budget = whole_blocks(max(whole.peaks) // share)
    less = Run(build, ranks, options, {"DEVICE_BUDGET": budget, "CHUNK": "2M", "DAEMON": daemon}, schedule)
    name = f"{ranks} ranks, --zero {zero}, {case}, {budget >> 20} of {max(whole.peaks) >> 20} MiB"
    need(less.status == 0, f"{name}: it runs", less)
    need(less.results == whole.results, f"{name}: the same bits", less)
    need(max(less.peaks) <= budget + MODULES_AT_MOST, f"{name}: the budget is kept on every device: {less.peaks}", less)
    need(all(sluice["total"]["launches"] for sluice in less.sluice) and len(less.sluice) == ranks, f"{name}: all are managed", less)
    print(name, flush=True)


def sharded(build, ranks="2", *zeros):
    """Whatever is sharded."""
    for number, zero in enumerate(zeros or "0123"):
        check(build, int(ranks), zero, CASES[(number + int(ranks)) % len(CASES)])


def every(build, ranks="2", *zeros):
    for zero in zeros or "0123":
        for case in CASES:
            check(build, int(ranks), zero, case)


def node(build, ranks="4"):
    """The ranks of a machine share its host memory: each is given an equal part, and what is too little for one of them is
    refused, though others would have had more than they use."""
    ranks = int(ranks)
    options = [*MODEL, "--steps", "3", "--zero", "2"]
    with tempfile.TemporaryDirectory() as folder:
        page = os.path.join(folder, "node")
        sluice = {"CHUNK": "2M", "NODE": page, "NODE_LIMIT": "1G", "DEVICE_BUDGET": "16M"}
        alone = Run(build, ranks, options)
        roomy = Run(build, ranks, options, sluice)
        need(alone.status == 0 and roomy.status == 0 and roomy.results == alone.results, "it runs with much", roomy)
        taken = max(each["placed_bytes"] for each in roomy.sluice)
        # The device takes what host memory lacks, up to half of the budget.
        for lacking, fits in (0, True), (4 * MIB, True), (12 * MIB, False):
            limit = (taken - lacking) * ranks
            tight = Run(build, ranks, options, {**sluice, "NODE_LIMIT": limit})
            name = f"{ranks} ranks with {limit >> 20} MiB of host memory, {'enough' if fits else 'too little'}"
            need((tight.status == 0) == fits, name, tight)
            need(len(tight.sluice) == ranks or not fits, f"{name}: all are managed", tight)
            need(all(each["host_limit_bytes"] == whole_blocks(limit // ranks) for each in tight.sluice), f"{name}: equal parts", tight)
            need(sum(each["placed_bytes"] for each in tight.sluice) <= limit, f"{name}: what they took together", tight)
            need(not fits or tight.results == alone.results, f"{name}: the same bits", tight)
            print(name, flush=True)
            # A rank that is killed because another failed leaves the page behind, to whoever comes next.
            need(not fits or not os.path.exists(page), f"{name}: the page is gone", tight)


def linked(build, ranks="4"):
    """Ranks whose devices share a link to the host know of each other, from where the kernel shows devices, and plan with what
    their part of it carries."""
    ranks, links, results = int(ranks), {}, []
    for sharers in 1, ranks:
        with tempfile.TemporaryDirectory() as folder:
            sysfs = os.path.join(folder, "sys")
            sluice = {"CHUNK": "2M", "NODE": os.path.join(folder, "node"), "DEVICE_BUDGET": "16M", "SYSFS": sysfs, "DAEMON": "inline"}
            run = Run(build, ranks, [*MODEL, "--steps", "12", "--zero", "0"], sluice, device={"DRIVER": "ideal", "HOST_LINK": sharers, "SYSFS": sysfs})
        name = f"{ranks} ranks, {sharers} at each link"
        need(run.status == 0 and len(run.sluice) == ranks, f"{name}: it runs", run)
        # Who ends last may not see the others any more.
        need(max(each["link_sharers"] for each in run.sluice) == sharers, f"{name}: they know it", run)
        links[sharers] = [each["link_in_bytes_per_s"] for each in run.sluice]
        results.append(run.results)
        print(f"{name}: {[round(link / 1e9, 1) for link in links[sharers]]} GB/s")
    need(results[0] == results[1], "the same bits", run)
    need(max(links[ranks]) < 1.2 / ranks * min(links[1]), f"the part of each: {links}", run)


def show_all(tool, traces):
    """The commands that show the ranks together agree with each other."""
    def told(*arguments):
        done = subprocess.run([tool, "trace", *arguments, "--json", *traces], capture_output=True, text=True, check=False)
        need(done.returncode == 0 and not done.stderr, f"trace {arguments[0]} shows all ranks: {done.stderr}")
        return json.loads(done.stdout)

    ranks, info, phases = told("ranks")["ranks"], told("info"), told("phases")["phases"]
    everything = next(phase["ranks"] for phase in phases if phase["phase"] == "all")
    for of_ranks, of_info, of_phases in zip(ranks, info["ranks"], everything, strict=True):
        need(of_ranks["waited_ns"] == of_info["waited_ns"] == of_phases["waited_ns"], "they waited as long in each")
        need((of_info["launches"], of_info["in_bytes"], of_info["stall_ns"]) ==
             (of_phases["launches"], of_phases["in_bytes"], of_phases["stall_ns"]), "they launched, fetched and stalled as much in each")
        need(of_info["clock"]["own_device_clock"] and abs(of_info["clock"]["offset_ns"]) < 1000000, "one machine has one clock")
    need([rank["in_bytes"] > 0 for rank in info["ranks"]] == [False, True, False], "one rank fetches")
    step = {phase["phase"] for phase in told("phases", "--iteration", "4")["phases"]}
    need({"forward", "backward", "update", "collective", "all"} <= step, f"a step has its phases: {step}")
    drawn = told("timeline", "--iteration", "4")["ranks"]
    need([sum(rank["in_bytes"]) > 0 for rank in drawn] == [False, True, False], "the rank that fetches is seen on the axis")
    need(told("export", "--perfetto", traces[0] + ".pftrace")["slices"] > sum(rank["launches"] for rank in info["ranks"]), "all is exported")


def record(build, folder, budgets, links):
    """The traces of ranks with these budgets, each of whose devices shares its link to the host with as many others."""
    ranks = len(budgets)
    traces = [os.path.join(folder, f"run.{rank}.slt") for rank in range(ranks)]
    env = {k: v for k, v in os.environ.items() if not k.startswith(("SLUICE_", "SOFTCUDA_"))}
    env.update({"LD_LIBRARY_PATH": os.path.join(build, "subprojects", "softcuda", "lib"), "SOFTCUDA_DEVICES": str(ranks),
                "WORLD_SIZE": str(ranks), "LOCAL_WORLD_SIZE": str(ranks), "SLUICE_CHUNK": "2M", "SLUICE_DAEMON": "inline",
                "SLUICE_NODE": os.path.join(folder, "node"),
                "LD_PRELOAD": " ".join(filter(None, [os.environ.get("E2E_PRELOAD"), os.path.join(build, "shim", "libsluice.so")]))})
    command = [os.path.join(build, "workloads", "ddp"), "--data", DATA, "--id-file", os.path.join(folder, "id"), *MODEL,
               "--steps", "6", "--zero", "2"]
    started = [subprocess.Popen(command, env={**env, "RANK": str(rank), "LOCAL_RANK": str(rank), "SLUICE_TRACE": traces[rank],
                                              "SLUICE_DEVICE_BUDGET": budgets[rank], "SOFTCUDA_HOST_LINK": str(links[rank])},
                                stdout=subprocess.DEVNULL)
               for rank in range(ranks)]
    need(all([rank.wait(timeout=240) == 0 for rank in started]), "it runs")
    return traces


def slow_link(build):
    """All fetch as much, one of them over a link that is four times slower: the traces say so."""
    with tempfile.TemporaryDirectory() as folder:
        traces = record(build, folder, ["22M"] * 3, [1, 4, 1])
        done = subprocess.run([os.path.join(build, "tools", "sluice"), "trace", "ranks", "--json", *traces], capture_output=True,
                              text=True, check=True)
    ranks = json.loads(done.stdout)["ranks"]
    by_link = [rank["late_by_link_ns"] for rank in ranks]
    need(by_link[1] > 4 * (by_link[0] + by_link[2]), f"its link makes one rank late: {by_link}")
    need(by_link[1] > max(ranks[1]["late_by_work_ns"], ranks[1]["late_by_data_ns"]), f"and nothing else it does: {ranks[1]}")


def waits(build):
    """The traces of all ranks say which one the others waited for because it fetched data: the one with the least budget. How busy the
    machine is makes any of them late, too, but not for data."""
    slow_link(build)
    tool = os.path.join(build, "tools", "sluice")
    with tempfile.TemporaryDirectory() as folder:
        traces = record(build, folder, ["64M", "22M", "64M"], [1, 1, 1])

        def compare(*arguments):
            return subprocess.run([tool, "trace", "ranks", *arguments], capture_output=True, text=True, check=False)

        done = compare("--json", *traces)
        need(done.returncode == 0, f"the traces can be compared: {done.stderr}")
        said = json.loads(done.stdout)
        # All collectives are timed, but one that the device is not known to have done when the program ends: the last.
        need(all(rank["compared"] >= rank["collectives"] - 1 > 0 for rank in said["ranks"]), "all collectives are compared")
        need(all(rank["estimated_launches"] > rank["timed_launches"] > 0 for rank in said["ranks"]), "of other launches few are timed")
        by_data = [rank["late_by_data_ns"] for rank in said["ranks"]]
        need(by_data[1] > 0 == by_data[0] == by_data[2], f"the rank that fetches is late for it, and no other one: {by_data}")
        need("kept the others waiting most" in compare(*traces).stdout, "the last line says who was late")
        show_all(tool, traces)
        with open(traces[2], "r+b") as file:
            file.truncate(os.path.getsize(traces[2]) // 2)
        done = compare(*traces)
        need(done.returncode == 0 and "run.2.slt" in done.stderr, f"one that ends early is compared as far as it goes: {done.stderr}")
        with open(traces[2], "wb") as file:
            file.write(b"no trace")
        done = compare(*traces)
        need(done.returncode == 1 and len(done.stderr.splitlines()) == 1, f"one that is no trace is one clear line: {done.stderr}")
        need(compare(traces[0]).returncode == 2, "one trace alone is wrong usage")


def start_ranks(build, folder, ranks, steps, preload, page):
    """The ranks as a launcher starts them, without one that ends them all when one fails."""
    env = {k: v for k, v in os.environ.items() if not k.startswith(("SLUICE_", "SOFTCUDA_"))}
    env.update({"LD_LIBRARY_PATH": os.path.join(build, "subprojects", "softcuda", "lib"), "SOFTCUDA_DEVICES": str(ranks),
                "WORLD_SIZE": str(ranks), "LOCAL_WORLD_SIZE": str(ranks), "SLUICE_NODE": page, "SLUICE_NODE_LIMIT": "1G",
                "SLUICE_CHUNK": "2M", "SLUICE_DEVICE_BUDGET": "16M",
                "LD_PRELOAD": " ".join(filter(None, [os.environ.get("E2E_PRELOAD"), preload]))})
    command = [os.path.join(build, "workloads", "ddp"), "--data", DATA, "--id-file", os.path.join(folder, "id"), *MODEL,
               "--steps", str(steps), "--zero", "2"]
    return [subprocess.Popen(command, env={**env, "RANK": str(rank), "LOCAL_RANK": str(rank)}, text=True,
                             stdout=subprocess.PIPE if rank == 0 else subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            for rank in range(ranks)]


def kill_one(build, ranks, preload):
    """Kills the last rank once the first has trained a step: how the others end, and whether they left a page behind."""
    with tempfile.TemporaryDirectory() as folder:
        page = os.path.join(folder, "node")
        programs = start_ranks(build, folder, ranks, 100000, preload, page)
        while not programs[0].stdout.readline().startswith("step "):
            assert programs[0].poll() is None, "rank 0 ended before it had trained a step"
        known = os.path.exists(page)
        programs[-1].kill()
        programs[0].communicate(timeout=120)
        return [program.wait(timeout=120) for program in programs], known, os.path.exists(page)


def kill_all(build, ranks, preload):
    """What all of them leave when they are killed is taken over, and removed, by the next."""
    with tempfile.TemporaryDirectory() as folder:
        page = os.path.join(folder, "node")
        programs = start_ranks(build, folder, ranks, 100000, preload, page)
        while not programs[0].stdout.readline().startswith("step "):
            assert programs[0].poll() is None, "rank 0 ended before it had trained a step"
        for program in programs:
            program.kill()
        for program in programs:
            program.communicate()
        assert os.path.exists(page), "killed processes remove nothing"
        # As much as there is for one: nothing of the dead counts.
        programs = start_ranks(build, folder, 1, 2, preload, page)
        output = programs[0].communicate(timeout=120)[0]
        assert programs[0].returncode == 0 and "weights_hash" in output, output
        assert not os.path.exists(page), "the page is left behind"


def killed(build, ranks="4"):
    """A rank that is killed: the others end as they do without sluice, and what it had is nobody's."""
    preload = os.path.join(build, "shim", "libsluice.so")
    without, _, _ = kill_one(build, int(ranks), None)
    ends, known, left = kill_one(build, int(ranks), preload)
    assert ends == without and ends[-1] == -9 and 0 not in ends, f"ends {ends}, without sluice {without}"
    assert known and not left, f"page while they ran: {known}, after it: {left}"
    kill_all(build, int(ranks), preload)
    print(f"{ranks} ranks, one killed: {ends}")


if __name__ == "__main__":
    {"sharded": sharded, "every": every, "node": node, "linked": linked, "waits": waits, "killed": killed}[sys.argv[2]](os.path.abspath(sys.argv[1]), *sys.argv[3:])
