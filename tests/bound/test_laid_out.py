#!/usr/bin/env python3
"""Sequences of chunks out of traces that are known by thought."""
import unittest

import laid_out
from touched import Use

MIB = 1 << 20
BASE = 64 * MIB


def records_of(steps):
    """As a file may have them: each with its time, those of the second slot behind all others."""
    records = [{"time_ns": number, **record} for number, record in enumerate(in_order(steps))]
    return sorted(records, key=lambda record: record.get("slot") == 2 and record["type"] != "access")


def in_order(steps):
    """Each step uses a weight, and a tensor of its own in the same chunk and the next, which is freed behind its last launch."""
    yield {"type": "alloc", "tick": 0, "slot": 1, "address": hex(BASE), "bytes": MIB}
    tick = 0
    for step in range(steps):
        yield {"type": "alloc", "tick": tick, "slot": 2, "address": hex(BASE + 3 * MIB), "bytes": MIB}
        for number in range(2):
            tick += 1
            again = {"as": tick - 2} if step else {}
            yield {"type": "launch", "tick": tick, "kind": "kernel", **again}
            if not step:
                yield {"type": "access", "tick": tick, "slot": 1, "offset": 0, "bytes": MIB}
                if number:
                    yield {"type": "access", "tick": tick, "slot": 2, "offset": 512, "bytes": 64}
        yield {"type": "free", "tick": tick, "slot": 2}
        yield {"type": "sync", "tick": tick, "kind": "event"}


def made(steps=9, launches=2):
    uses, spans = [], []
    for step in range(steps):
        begin = 100 * step
        uses += [Use(begin + 10 * n, begin + 10 * n + 5, False, [], []) for n in range(launches)]
        spans.append((begin, begin + 50))
    return laid_out.sequence(laid_out.Run(records_of(steps)), uses, spans, "made")


class LaidOut(unittest.TestCase):
    def test_launches_use_whole_chunks_that_die_when_all_in_them_is_freed(self):
        """Otherwise the bound is of another layout, or knows what nobody may rely on."""
        found = made()
        self.assertEqual([launch["writes"] for launch in found["launches"]], [[]] + [[0], [0, 1]] * 2 + [[]])
        self.assertEqual([launch["deaths"] for launch in found["launches"]], [[]] + [[], [1]] * 2 + [[]])
        self.assertEqual((found["alive"], found["chunk_bytes"]), ([0, 1], [2 * MIB] * 2))

    def test_times_are_those_of_the_other_run(self):
        """Otherwise launches would begin when sluice let them."""
        self.assertEqual([(launch["ns"], launch["ready_ns"]) for launch in made()["launches"]],
                         [(0, 0), (5, 0), (5, 10), (5, 100), (5, 110), (0, 200)])

    def test_runs_that_differ_are_refused(self):
        """Otherwise launches would get the times of others."""
        with self.assertRaisesRegex(ValueError, "step 6 has 2 launches with sluice and 3 without"):
            made(launches=3)
        with self.assertRaisesRegex(ValueError, "8 steps, but 9 waits"):
            laid_out.sequence(laid_out.Run(records_of(9)), [], [(0, 1)] * 8, "made")


if __name__ == "__main__":
    unittest.main()
