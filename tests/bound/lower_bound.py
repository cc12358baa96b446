#!/usr/bin/env python3
"""A proven lower bound of a steady step: no schedule of a sequence with this budget and link is faster.

usage: lower_bound.py SEQUENCE.json (--budget SHARE | --budget-bytes N) --link-gbs G [--out-gbs G]
                      [--every-access-writes] [--most-bytes N] [--json]

The model. Launches run one after another. A launch begins when all chunks that it uses are on the device, and none of
them moves while it runs. A chunk has a frame from the beginning of its copy in to the end of its copy out; chunks that
have frames never exceed the budget. A copy out takes the chunk from the device. It is needed unless the chunk is dead
or clean: copied out once since it was last written. New content needs a frame and no copy; dead content needs nothing.
Each direction of the link has its speed, and 0.92 of it while both run. A launch that exceeds the budget by itself uses
in place, over the link, what it does not find on the device: content comes in, as it does to be on the device, and what is
perhaps written goes out. It then takes as long as the link if that is longer.

The program. It knows shares of chunks instead of chunks and amounts instead of copies, which only makes more possible.
In each gap (gaps.py) a share of the chunk's bytes is away at some time: `clean`, which has a copy in host memory when
the gap begins, and `dirty`, which is copied out in it. Sums over all gaps change at launches alone:
  away      clean and dirty of all gaps that the launch is inside of
  leaving   dirty of gaps that have begun, less what was copied out
  early     what was copied in, less clean and dirty of all gaps that have ended in a use
  live      bytes of chunks with content, those that the launch uses included
Before and behind each run:  live - away + leaving + early <= budget,  leaving >= 0,  early >= 0,  and away at least
their sum. Copies in during a run or a wait, `in`, and out, `out`, counted in seconds of the link's full speed, fit into
its length if  in + (1 / 0.92 - 1) out <= length  and the same with both exchanged: while both run, 0.92 s of each pass
in a second. Runs have their length; the sum of the waits is minimised.

Why no schedule is faster. Take any schedule, and of each gap those bytes of the chunk that are away at any time in it:
as `clean` if their copy in host memory is older than the gap, else as `dirty`; of their copies out count the first, of
their copies in the last. Then bytes that are away at a moment have begun to be (`clean`: at once; `dirty`: copied out)
and have not come back, so that away - leaving - early is at least what is away then, and live less that is on the
device. Each byte's dirty share is at most what has no copy yet, all of a content's clean share at most what was dirty
in it before. So the schedule gives a solution whose waits are its own. A schedule that differs from step to step gives
one for each, whose mean is a solution, too (all rows are linear; what is left over at the ends vanishes in the mean).

A launch with `ready_ns` begins no earlier than so long after the end of the last `awaited` launch before it (of a sequence that is not
cyclic; the first launch is awaited): runs and waits since then are at least so long.

With a limit on the bytes that a step copies, in and out, the sum of all copies is at most that: a bound of what moves
no more than some other schedule does.

The multipliers that the solver finds prove the bound by themselves (linear_program.py).
"""
import argparse
import json
import sys

import gaps
import sequences
from linear_program import LinearProgram

BOTH = 0.92  # of its speed each direction has while both run


def negative(terms):
    return [(variable, -coefficient) for variable, coefficient in terms]


class Program:
    """Amounts are in units of the largest chunk, times in units of its copy in. What changes at launches is collected
    in lists of terms, one list for each launch."""

    def __init__(self, sequence, budget, in_per_s, out_per_s, both, most_bytes=None):
        unit = max(sequence["chunk_bytes"])
        self.lost = 1 / both - 1  # of a second, by a second's copies in the other direction
        self.units_per_s, self.room, self.out_cost = in_per_s / unit, budget / unit, in_per_s / out_per_s
        self.cyclic, self.count = sequence.get("cyclic", True), len(sequence["launches"])
        self.run = [launch["ns"] * 1e-9 * self.units_per_s for launch in sequence["launches"]]
        used = gaps.used_bytes(sequence)
        self.oversize = {i for i in range(self.count) if used[i] > budget}
        fetched_alone = 2 * (1 + self.out_cost) * (sum(used) / unit + 1)
        ready = sum(launch.get("ready_ns", 0) for launch in sequence["launches"]) * 1e-9 * self.units_per_s
        self.horizon = sum(self.run) + ready + fetched_alone  # no amount or time of a best schedule is larger
        self.program = LinearProgram()
        (self.begins, self.ends, self.dirty, self.returns, self.in_place, self.read_remotely, self.written_remotely) = (
            [[] for _ in range(self.count)] for _ in range(7))
        self.away_first = []
        lives = gaps.lives_of(sequence)
        self.live = [size / unit for size in gaps.live_bytes(sequence, lives)]
        for life in lives:
            self.add_life(life, life.bytes / unit)
        self.copies = []  # terms: all that is copied, in units
        self.waits = [[] for _ in range(self.count)]  # terms: in each launch, and behind it
        self.add_balance()
        self.add_ready_times(sequence["launches"])
        if most_bytes is not None:
            self.program.at_most(self.copies, most_bytes / unit)

    def add_life(self, life, size):
        placed = self.uses_remotely(life, size)
        copied = []  # terms whose sum has a copy in host memory; None: all of it has
        if life.cyclic and not any(gap.written for gap in life.gaps):
            copied = None
        for gap, first, last in zip(life.gaps, placed, placed[1:]):
            if gap.start < 0:
                copied = None
            elif gap.written:
                copied = list(first)
            if not (gap.inside or first or last):
                continue
            away = []
            if copied is None or copied:
                away.append((self.program.variable(size), 1.0))
            if copied:
                self.program.at_most(away + negative(copied), 0)
            if copied is not None:
                dirty = (self.program.variable(size), 1.0)
                self.dirty[gap.start].append(dirty)
                away, copied = away + [dirty], copied + [dirty]
                self.program.at_most(copied, size)
            self.program.at_most(away, size)
            for terms in first, last:
                if terms:
                    self.program.at_most(terms + negative(away), 0)
            self.add_gap(gap, away, last)

    def uses_remotely(self, life, size):
        """For the use that each gap begins with, and that which the last ends with: terms of what it finds in place."""
        placed = []
        for number, gap in enumerate(life.gaps):
            placed.append([])
            if gap.start in self.oversize:
                placed[-1].append((self.program.variable(size), 1.0))
                self.in_place[gap.start] += placed[-1]
                if life.cyclic or number > 0:  # else it is new
                    self.read_remotely[gap.start] += placed[-1]
                if gap.written:
                    self.written_remotely[gap.start] += placed[-1]
        return placed + [placed[0] if life.cyclic else []]

    def add_gap(self, gap, away, stays_away):
        if gap.start >= 0:
            self.begins[gap.start] += away
        if gap.start < 0 or 0 in gap.inside:
            self.away_first += away
        if gap.comes_back:
            self.ends[gap.end] += away
            self.returns[gap.end] += away + negative(stays_away)
        elif self.cyclic or gap.end + 1 < self.count:
            self.ends[(gap.end + 1) % self.count] += away

    def variables(self, cost=0.0):
        """One for each launch."""
        return [self.program.variable(self.horizon, cost) for _ in range(self.count)]

    def add_balance(self):
        """The sums' changes, and what fits on the device and into each run and each wait."""
        p, away = self.program, self.variables()
        leaving_before, leaving_behind, early_before, early_behind = (self.variables() for _ in range(4))
        p.equal([(away[0], 1)] + negative(self.away_first), 0)
        for i in range(self.count):
            copied_in, copied_out = self.add_link(i, self.run[i], i in self.oversize, self.read_remotely[i],
                                                  self.written_remotely[i])
            p.equal([(leaving_behind[i], 1), (leaving_before[i], -1), (copied_out, 1)], 0)
            p.equal([(early_behind[i], 1), (early_before[i], -1), (copied_in, -1)], 0)
            for leaving, early in (leaving_before, early_before), (leaving_behind, early_behind):
                not_away = [(away[i], -1), (leaving[i], 1), (early[i], 1)]
                p.at_most(not_away, 0)
                p.at_most(not_away + negative(self.in_place[i]), self.room - self.live[i])
            if i + 1 == self.count and not self.cyclic:
                continue
            after = (i + 1) % self.count
            copied_in, copied_out = self.add_link(i, 0.0, True)
            p.equal([(away[after], 1), (away[i], -1)] + negative(self.begins[i]) + self.ends[after], 0)
            p.equal([(leaving_before[after], 1), (leaving_behind[i], -1), (copied_out, 1)] + negative(self.dirty[i]), 0)
            p.equal([(early_before[after], 1), (early_behind[i], -1), (copied_in, -1)] + self.returns[after], 0)

    def add_ready_times(self, launches):
        """Since the last awaited launch, runs and waits take at least until each launch is ready."""
        if not any(launch.get("ready_ns") for launch in launches):
            return
        if self.cyclic or not launches[0]["awaited"]:
            raise ValueError("ready times are of sequences that are not cyclic and whose first launch is awaited")
        for i, (before, launch) in enumerate(zip(launches, launches[1:])):
            if before["awaited"]:
                ran, waited = 0.0, self.waits[i][-1:]  # behind it
            else:
                ran, waited = ran + self.run[i], [(elapsed, 1.0)] + self.waits[i]
            elapsed = self.program.variable(self.horizon)
            self.program.equal(waited + [(elapsed, -1.0)], 0)
            self.program.at_most([(elapsed, -1.0)], ran - launch["ready_ns"] * 1e-9 * self.units_per_s)

    def add_link(self, launch, least, longer, read_remotely=(), written_remotely=()):
        """Copies during a time of a certain length, or of a longer one at its cost: (in, out)."""
        p = self.program
        copied = [p.variable(self.horizon), p.variable(self.horizon)]
        self.copies += [(copied[0], 1.0), (copied[1], 1.0)]
        link = [[(copied[0], 1.0)], [(copied[1], self.out_cost)]]
        link[0] += read_remotely
        link[1] += [(variable, self.out_cost) for variable, _ in written_remotely]
        wait = [(p.variable(self.horizon, 1.0), -1.0)] if longer else []
        self.waits[launch] += negative(wait)
        for one, other in (0, 1), (1, 0):
            p.at_most(link[one] + [(v, c * self.lost) for v, c in link[other]] + wait, least)
        return copied

    def seconds(self):
        return (sum(self.run) + self.program.minimum()) / self.units_per_s


def lower_bound(sequence, budget_bytes, in_per_s, out_per_s=None, both=BOTH, most_bytes=None):
    """Seconds. The link's speeds are in bytes a second."""
    return Program(sequence, budget_bytes, in_per_s, out_per_s or in_per_s, both, most_bytes).seconds()


def main():
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument("sequence")
    size = ap.add_mutually_exclusive_group(required=True)
    size.add_argument("--budget", type=float, metavar="SHARE")
    size.add_argument("--budget-bytes", type=int, metavar="N")
    ap.add_argument("--link-gbs", type=float, required=True)
    ap.add_argument("--out-gbs", type=float, help="the other direction, if it differs")
    ap.add_argument("--both", type=float, default=BOTH, help="share of its speed that each direction has while both run")
    ap.add_argument("--every-access-writes", action="store_true", help="nobody knows what is only read")
    ap.add_argument("--most-bytes", type=float, help="that a step may copy, in and out")
    ap.add_argument("--json", action="store_true")
    a = ap.parse_args()
    with open(a.sequence) as f:
        sequence = json.load(f)
    if a.every_access_writes:
        sequence = sequences.every_access_writes(sequence)
    budget = a.budget_bytes or sequences.budget_bytes(sequence, a.budget)
    try:
        seconds = lower_bound(sequence, budget, a.link_gbs * 1e9, (a.out_gbs or a.link_gbs) * 1e9,
                              a.both, a.most_bytes)
    except ValueError as error:
        sys.exit(f"{a.sequence}: {error}")
    if a.json:
        json.dump(dict(sequence=sequence.get("name"), budget_bytes=budget, bound_seconds=seconds), sys.stdout)
        print()
    else:
        print(f"{seconds:.6f} s")


if __name__ == "__main__":
    main()
