#!/usr/bin/env python3
"""A sequence of the chunks that sluice moved in a run, as the program's allocations lay in them.

usage: laid_out.py SLUICE TRACE TOUCHED TIMELINE OUTPUT > SEQUENCE

TRACE is of a run of a program that prints "step N ... device_ms T" for each step, and waits for an event behind each and else
never. TOUCHED, TIMELINE and OUTPUT are of one without sluice on a device that holds everything: SOFTCUDA_TOUCHED,
SOFTCUDA_TIMELINE, and what it printed. SLUICE is the command.

touched.py cuts memory as fine as launches do, and takes as dead what is next written. Here a launch uses whole chunks, and a chunk is
dead once the program has freed all that lay in it: what sluice may know without trusting a prediction with data. So
`lower_bound.py SEQUENCE` says what this layout allows. The sequence is of the steps from the seventh to the last but one; launches take
as long as in the second run, and begin no earlier.
"""
import collections
import json
import re
import subprocess
import sys

import touched

CHUNK_BYTES = 2 << 20
LARGEST = 512 << 20  # of an allocation: beyond are reserved addresses
FIRST_STEADY_STEP = 6


class Run:
    """Chunks by launch, out of the records of a trace (`sluice trace dump --json`)."""

    def __init__(self, records):
        self.uses, self.deaths, self.ends = {}, collections.defaultdict(list), []
        self.live_at = {}  # by launch: the chunks that something lived in before
        self.places, self.live, self.accesses = {}, collections.Counter(), {}
        # Threads write into blocks of their own: in the file a slot may be taken again before it is free.
        for record in sorted((record for record in records if "time_ns" in record), key=lambda record: record["time_ns"]):
            take = getattr(self, "take_" + record["type"], None)
            if take:
                take(record)

    def chunks(self, address, size):
        return range(address // CHUNK_BYTES, (address + max(size, 1) - 1) // CHUNK_BYTES + 1)

    def take_alloc(self, record):
        place = int(record["address"], 16), record["bytes"]
        if place[1] > LARGEST:
            return
        self.places[record["slot"]] = place
        self.live.update(self.chunks(*place))

    def take_free(self, record):
        for chunk in self.chunks(*self.places.pop(record["slot"])) if record["slot"] in self.places else ():
            self.live[chunk] -= 1
            if not self.live[chunk]:
                self.deaths[record["tick"]].append(chunk)

    def take_launch(self, record):
        tick = record["tick"]
        self.uses[tick], self.accesses[tick] = set(), []
        self.live_at[tick] = {chunk for chunk, count in self.live.items() if count}
        for access in self.accesses.get(record.get("as"), ()):
            self.use(tick, access)

    def take_access(self, record):
        self.use(record["tick"], (record["slot"], record["offset"], record["bytes"]))

    def use(self, tick, access):
        slot, offset, size = access
        self.accesses[tick].append(access)
        if slot in self.places:
            address, whole = self.places[slot]
            self.uses[tick].update(self.chunks(address + offset, min(size, whole - offset)))

    def take_sync(self, record):
        if record["kind"] == "event":
            self.ends.append(record["tick"])


def sequence(run, uses, steps, name):
    """`uses` and `steps` (begin, end) as in touched.py. ValueError where the two runs' steps are not of the same launches."""
    if len(run.ends) != len(steps):
        raise ValueError(f"{len(steps)} steps, but {len(run.ends)} waits for an event")
    pairs = []
    for number in range(FIRST_STEADY_STEP, len(steps) - 1):
        ticks = [tick for tick in run.uses if run.ends[number - 1] < tick <= run.ends[number]]
        of_step = [use for use in uses if steps[number][0] <= use.start < steps[number + 1][0]]
        if len(ticks) != len(of_step):
            raise ValueError(f"step {number} has {len(ticks)} launches with sluice and {len(of_step)} without")
        pairs += zip(ticks, of_step)
    begin, end = steps[FIRST_STEADY_STEP][0], steps[-1][0]
    launches, origin = [touched.launch(0, 0, True)], begin
    for (tick, use), (following, _) in zip(pairs, pairs[1:] + [(pairs[-1][0] + 1, None)]):
        dying = {chunk for at in range(tick, following) for chunk in run.deaths.get(at, ())}
        launches.append(touched.launch(use.end - use.start, use.start - origin, use.awaited, sorted(run.uses[tick]), sorted(dying)))
        origin = use.end if use.awaited else origin
    launches.append(touched.launch(0, end - origin, False))
    return number_chunks(name, launches, run.live_at[pairs[0][0]])


def number_chunks(name, launches, alive):
    numbers = {}
    for one in launches:
        for field in ("writes", "deaths"):
            one[field] = [numbers.setdefault(chunk, len(numbers)) for chunk in one[field]]
    return {"name": name, "cyclic": False, "chunk_bytes": [CHUNK_BYTES] * len(numbers),
            "alive": sorted(numbers[chunk] for chunk in alive if chunk in numbers), "launches": launches}


def main():
    if len(sys.argv) != 6:
        sys.exit(__doc__.split("\n\n")[1])
    tool, trace, touches, timeline, output = sys.argv[1:]
    try:
        done = subprocess.run([tool, "trace", "dump", "--json", trace], capture_output=True, text=True, check=False)
        if done.returncode:
            sys.exit(f"laid_out.py: {done.stderr.strip() or trace + ' cannot be read'}")
        uses, records = touched.load(touches, timeline)
        with open(output, encoding="utf-8") as text:
            took = [float(found) for found in re.findall(r"^step .*device_ms (\S+)", text.read(), re.M)]
    except (OSError, ValueError, KeyError) as error:
        sys.exit(f"laid_out.py: {error}")
    steps = touched.find_steps(records, took)
    if steps is None or len(steps) < FIRST_STEADY_STEP + 2:
        sys.exit("laid_out.py: the steps are not found between the records of events")
    try:
        found = sequence(Run(map(json.loads, filter(None, done.stdout.splitlines()))), uses, steps, "chunks as they lay")
    except ValueError as error:
        sys.exit(f"laid_out.py: {error}")
    json.dump(found, sys.stdout)
    count = len(steps) - 1 - FIRST_STEADY_STEP
    print(f"{count} steps that took {(steps[-1][0] - steps[FIRST_STEADY_STEP][0]) * 1e-9:.6f} s in all", file=sys.stderr)


if __name__ == "__main__":
    main()
