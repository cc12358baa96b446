#!/usr/bin/env python3
"""Records what one step of a program does with its device memory, as a file of facts: allocations' sizes, launches in their
order with stream, duration and the 2 MiB blocks that they read and write. sequence-recorded makes a trace of it.

usage: record_accesses.py BUILD FILE PROGRAM [ARGUMENT...]     PROGRAM finds softcuda by LD_LIBRARY_PATH

The program runs on softcuda's `rtx4090`, all its memory on the device, while sluice only records. Recorded is the last
repetition, from its first copy to the device on; the one before must be equal. Lines of the file:

    step LAUNCHES KERNELS STREAMS
    allocation BYTES SITE there|later   numbered from 0, sites from 1; there: it lives before the step, and behind it
    alloc|free ALLOCATION
    kernel N STREAM THREADS NS USE...   a launch; kernels from 1
    copy in|out|- STREAM BYTES NS USE...
    set STREAM BYTES NS USE...
    wait stream|all                     the program waits for the last launch's stream, or for everything

A USE is a letter, an allocation and the first and last of its blocks, `w3:0-11`: r the launch reads them, w it writes them, or
both, c it does neither, but sluice believes that it may.
"""
import collections
import json
import os
import subprocess
import sys
import tempfile

BLOCK = 2 << 20
TIME = "NS"  # stands for it: what data is may change a launch's time by some nanoseconds
WAITS = {"context": "all", "stream": "stream", "event": "stream", "copy": "stream"}


def run(build, command, folder):
    """The trace's records and softcuda's list of what was touched."""
    trace, touched = os.path.join(folder, "trace"), os.path.join(folder, "touched")
    env = {k: v for k, v in os.environ.items() if not k.startswith(("SLUICE_", "SOFTCUDA_"))}
    device = os.path.join(build, "subprojects", "softcuda", "lib")
    env.update(LD_LIBRARY_PATH=":".join(filter(None, (device, env.get("LD_LIBRARY_PATH")))),
               LD_PRELOAD=" ".join(filter(None, (env.get("E2E_PRELOAD"), os.path.join(build, "shim", "libsluice.so")))),
               SOFTCUDA_PROFILE="rtx4090", SOFTCUDA_TOUCHED=touched, SLUICE_POLICY="off", SLUICE_TRACE=trace,
               SLUICE_TRACE_SAMPLE="1", SLUICE_TRACE_FULL="wait")
    subprocess.run(command, env=env, check=True, stdout=subprocess.DEVNULL)
    dump = subprocess.run([os.path.join(build, "tools", "sluice"), "trace", "dump", "--json", trace], check=True,
                          stdout=subprocess.PIPE, text=True).stdout
    with open(touched, encoding="utf-8") as lines:
        return [json.loads(line) for line in dump.splitlines()], [json.loads(line) for line in lines]


def repetition(events):
    """Ticks of the last one: (first, behind the last)."""
    ends = [event["tick"] for event in events if event["type"] == "iteration"]
    if len(ends) < 3 or ends[-1] - ends[-2] != ends[-2] - ends[-3]:
        sys.exit("the program does not repeat itself at its end")
    length = ends[-1] - ends[-2]
    first = next((event["tick"] for event in events if event["type"] == "launch" and event.get("direction") == "in" and
                  event["tick"] > ends[-2] - length), ends[-2] - length + 1)
    return first, first + length


def blocks(ranges):
    """Allocation -> set of its blocks."""
    found = collections.defaultdict(set)
    for allocation, offset, length in ranges:
        if length:
            found[allocation].update(range(offset // BLOCK, (offset + length - 1) // BLOCK + 1))
    return found


def uses(claimed, read, written):
    """As the file has them, in the order of allocations and blocks."""
    claimed, read, written = blocks(claimed), blocks(read), blocks(written)
    letters = {(a, b): "c" for a, all_of in claimed.items() for b in all_of}
    letters.update({(a, b): "r" for a, all_of in read.items() for b in all_of})
    letters.update({(a, b): "w" for a, all_of in written.items() for b in all_of})
    runs = []
    for (allocation, block), letter in sorted(letters.items()):
        if runs and runs[-1][:2] == [letter, allocation] and runs[-1][3] == block - 1:
            runs[-1][3] = block
        else:
            runs.append([letter, allocation, block, block])
    return " ".join(f"{letter}{a}:{first}-{last}" for letter, a, first, last in runs)


class Step:
    """The launches from one tick to another, as lines of the file. `allocations`: [bytes, site, it lives before the step],
    in the order in which they are numbered."""

    def __init__(self, events, touched, first, end):
        events = sorted((event for event in events if "time_ns" in event), key=lambda event: event["time_ns"])
        self.touched = [op for op in touched if not op["graph"]]
        self.kernels, self.streams, self.sites = {}, {}, {}
        self.live, self.slots, self.allocations = {}, {}, []
        self.claims, self.lines, self.times = collections.defaultdict(list), [], []
        self.ns = {event["tick"]: event["ns"] for event in events if event["type"] == "duration"}
        for event in events:
            if event["type"] == "access":
                self.claims[event["tick"]].append(event)
        in_step = False
        for event in events:
            if event["type"] == "launch" and event["tick"] in (first, end):
                self.border(in_step := event["tick"] == first)
            self.add(event, in_step)

    def number(self, table, key):
        return table.setdefault(key, len(table) + 1)

    def border(self, is_begin):
        if is_begin:
            self.before = set(self.live)
            for slot in sorted(self.live):
                self.number_slot(slot, True)
        elif set(self.live) != self.before:
            sys.exit("the step leaves other memory behind than it finds")

    def number_slot(self, slot, is_there):
        size, site = self.live[slot][1:]
        self.slots[slot] = len(self.allocations)
        self.allocations.append((size, self.number(self.sites, site), is_there))

    def add(self, event, in_step):
        kind = event["type"]
        if kind == "alloc":
            self.live[event["slot"]] = int(event["address"], 16), event["bytes"], event["site"]
            if in_step and event["slot"] not in self.slots:
                self.number_slot(event["slot"], False)
        elif kind == "free":
            del self.live[event["slot"]]
        if not in_step:
            return
        if kind == "launch":
            self.lines.append(self.launch(event))
            self.times.append(self.ns[event["tick"]])
        elif kind in ("alloc", "free"):
            self.lines.append(f"{kind} {self.slots[event['slot']]}")
        elif kind == "sync":
            self.lines.append(f"wait {WAITS[event['kind']]}")

    def parts(self, begin, length):
        """Those of a stretch of addresses that lie in allocations: (allocation, offset, bytes)."""
        for slot, (start, size, _) in self.live.items():
            low, high = max(begin, start), min(begin + length, start + size)
            if low < high:
                yield self.slots[slot], low - start, high - low

    def touched_of(self, launch):
        op = self.touched[launch["tick"] - 1]
        name, kind = launch.get("name", ""), {"set": "memset"}.get(op["kind"], op["kind"])
        if (kind, op["name"]) != (launch["kind"], name):
            sys.exit(f"launch {launch['tick']} is a {launch['kind']} {name} in the trace, a {op['kind']} {op['name']} on the device")
        return [[part for stretch in op[way] for part in self.parts(*stretch)] for way in ("read", "written")]

    def launch(self, launch):
        claims = [(self.slots[claim["slot"]], claim["offset"], claim["bytes"])
                  for claim in self.claims[launch.get("as", launch["tick"])]]
        stream, kind = self.number(self.streams, launch["stream"]), launch["kind"]
        if kind == "kernel":
            what = f"kernel {self.number(self.kernels, launch['kernel'])} {stream} {launch['threads']}"
        elif kind == "copy":
            what = f"copy {launch.get('direction', '-')} {stream} {launch['bytes']}"
        elif kind == "memset":
            what = f"set {stream} {launch['bytes']}"
        else:
            sys.exit(f"a {kind} in the step: there is no line for it")
        return f"{what} {TIME} {uses(claims, *self.touched_of(launch))}".rstrip()


def main():
    if len(sys.argv) < 4:
        sys.exit(__doc__.strip())
    build, path, command = os.path.abspath(sys.argv[1]), sys.argv[2], sys.argv[3:]
    with tempfile.TemporaryDirectory() as folder:
        events, touched = run(build, command, folder)
    first, end = repetition(events)
    step, before = (Step(events, touched, first - back, end - back) for back in (0, end - first))
    if (step.allocations, step.lines) != (before.allocations, before.lines):
        sys.exit("the last two steps differ")
    with open(path, "w", encoding="utf-8") as file:
        print("step", end - first, len(step.kernels), len(step.streams), file=file)
        for size, site, is_there in step.allocations:
            print("allocation", size, site, "there" if is_there else "later", file=file)
        times = iter(step.times)
        for line in step.lines:
            print(line.replace(TIME, str(next(times))) if TIME in line else line, file=file)


if __name__ == "__main__":
    main()
