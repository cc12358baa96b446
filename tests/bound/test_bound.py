#!/usr/bin/env python3
"""The lower bound against what is known of small sequences: by thought, and by trying every schedule.

usage: test_bound.py
"""
import random
import unittest

import exhaustive
import sequences
from bounds import Bounds
from lower_bound import lower_bound
from planned import planned


def sequence(*launches, chunks=None, **more):
    """Launches as (seconds, reads, writes, deaths), over chunks of one byte."""
    launches = [dict(ns=int(s * 1e9), reads=list(r), writes=list(w), deaths=list(d)) for s, r, w, d in launches]
    used = [c for launch in launches for c in launch["reads"] + launch["writes"]]
    return dict(chunk_bytes=[1] * (chunks or max(used) + 1), launches=launches, **more)


def random_sequence(chance):
    chunks, launches = chance.randint(2, 4), []
    for _ in range(chance.randint(2, 4)):
        used = chance.sample(range(chunks), chance.randint(1, 2))
        written = {c for c in used if chance.random() < 0.5}
        launches.append((chance.randint(1, 3), [c for c in used if c not in written], written,
                         [c for c in range(chunks) if chance.random() < 0.12]))
    return sequence(*launches, chunks=chunks)


class Known(unittest.TestCase):
    """A copy takes a second each way unless said otherwise."""

    def is_bounded(self, expected, of, budget, speed_in=1, speed_out=1, both=0.92):
        self.assertAlmostEqual(lower_bound(of, budget, speed_in, speed_out, both), expected, 6)

    def test_what_fits_takes_its_computing(self):
        self.is_bounded(5, sequence((2, [0], [1], []), (3, [1], [0], [])), 2)

    def test_written_chunks_that_take_turns_are_copied_both_ways(self):
        turns = sequence((1, [], [0], []), (1, [], [1], []))
        self.is_bounded(2 + 2 / 0.92, turns, 1)
        self.is_bounded(2 + 2, turns, 1, both=1)
        self.is_bounded(2 + 2 * 2, turns, 1, both=0.5)
        self.is_bounded(2 + 2 * 4, turns, 1, speed_out=0.25, both=1)

    def test_read_chunks_that_take_turns_are_copied_in_only(self):
        self.is_bounded(2 + 2, sequence((1, [0], [], []), (1, [1], [], [])), 1)

    def test_where_every_access_writes_reading_costs_both_ways(self):
        turns = sequences.every_access_writes(sequence((1, [0], [], []), (1, [1], [], [])))
        self.is_bounded(2 + 2 / 0.92, turns, 1)

    def test_what_dies_is_neither_copied_nor_fetched(self):
        self.is_bounded(2, sequence((1, [], [0], [0]), (1, [], [1], [1])), 1)

    def test_what_is_not_read_again_is_kept_until_it_dies(self):
        self.is_bounded(2 + 1, sequence((1, [], [0], []), (1, [], [1], [0, 1])), 1)
        self.is_bounded(2, sequence((1, [], [0], [0]), (1, [], [1], [0, 1])), 1)

    def test_copies_hide_behind_launches_that_use_other_chunks(self):
        # Two frames: while a launch runs in one, the other is emptied and filled.
        self.is_bounded(16, sequence(*((4, [], [c], []) for c in range(4))), 2)

    def test_what_was_copied_out_once_is_clean_until_it_is_written(self):
        # Chunk 0 is written once and read twice, each time after the only frame was needed for another.
        launches = [(1, [], [0], []), (1, [], [1], [1]), (1, [0], [], []), (1, [], [1], [1]), (1, [0], [], []),
                    (1, [], [1], [1])]
        self.is_bounded(6 + 1 + 3, sequence(*launches), 1)

    def test_more_than_the_budget_is_used_in_place(self):
        self.is_bounded(2 + 1, sequence((2, [0, 1, 2], [], []), (1, [0], [], [])), 1)
        self.is_bounded(5 + 1, sequence((2, range(6), [], []), (1, [0], [], [])), 1)

    def test_what_is_written_in_place_goes_out_as_well(self):
        self.is_bounded(2 / 0.92 + 1, sequence((2, [], [0, 1, 2], []), (1, [0], [], [])), 1)
        # New content does not come in.
        self.is_bounded(2, sequence((1, [], [0, 1, 2], [0, 1, 2])), 1)

    def test_a_sequence_that_does_not_return(self):
        # The first may be there at the start; the others come while it runs, and nothing has to leave.
        reads = sequence((1, [0], [], []), (1, [1], [], []), (1, [2], [], []), cyclic=False, alive=[0, 1, 2])
        self.is_bounded(3 + 2, reads, 1)
        self.is_bounded(3 + 1, reads, 1, speed_in=2)
        self.is_bounded(3, dict(reads, alive=[]), 3)

    def test_launches_wait_until_they_are_ready(self):
        """Waits for copies count towards that, up to the last awaited launch."""
        def turns(ready_ns, awaited):
            of = sequence((0, [], [], []), (1, [], [0], []), (1, [], [1], []), (1, [], [0], []), cyclic=False)
            for number, launch in enumerate(of["launches"]):
                launch.update(ready_ns=0, awaited=number in (0, awaited))
            of["launches"][3]["ready_ns"] = int(ready_ns * 1e9)
            return of

        copied = 3 + 1 + 1 / 0.92  # chunk 0 goes, then 1 goes while 0 comes back
        self.is_bounded(copied, turns(0, None), 1)
        self.is_bounded(copied, turns(copied - 1, None), 1)
        self.is_bounded(copied + 1, turns(copied, None), 1)
        self.is_bounded(8 + 1, turns(8, None), 2)
        self.is_bounded(2 + 8 + 1, turns(8, 2), 2)

    def test_chunks_that_are_used_alike_count_together(self):
        one = sequence((1, [], [0], []), (1, [], [1], []))
        four = sequence((1, [], range(4), []), (1, [], range(4, 8), []))
        self.assertAlmostEqual(lower_bound(one, 1, 1), lower_bound(four, 4, 4), 9)


class Exhaustive(unittest.TestCase):
    def test_nothing_is_faster_than_the_bound(self):
        reached = 0
        for seed in range(150):
            with self.subTest(seed=seed):
                chance = random.Random(seed)
                tried = random_sequence(chance)
                largest = max(len(launch["reads"] + launch["writes"]) for launch in tried["launches"])
                frames = max(largest, chance.randint(1, 3))
                copy_in, copy_out, halved = chance.randint(1, 2), chance.randint(1, 2), chance.random() < 0.3
                best = exhaustive.Search(tried, frames, copy_in, copy_out, halved).best()
                bound = lower_bound(tried, frames, 1 / copy_in, 1 / copy_out, 0.5 if halved else 1)
                self.assertLessEqual(bound, best + 1e-6)
                reached += bound > best - 1e-6
        self.assertGreater(reached, 110)  # a bound that says little would not be wrong, either


class Training(unittest.TestCase):
    def test_more_room_is_never_slower(self):
        step = sequences.gpt("foreach", 1, layers=4, params=1.25e8, activation_bytes=1 << 30)
        bounds = [lower_bound(step, sequences.budget_bytes(step, share / 10), 52e9) for share in range(3, 11)]
        self.assertEqual(sorted(bounds, reverse=True), bounds)

    def test_the_bounds_of_the_default_case(self):
        step = sequences.gpt("fused", 1)
        for share, expected in (0.8, 0.3121), (0.66, 0.3293), (0.5, 0.4584), (0.33, 0.5967), (0.25, 0.6665):
            with self.subTest(share=share):
                self.assertAlmostEqual(lower_bound(step, sequences.budget_bytes(step, share), 52e9), expected, 4)

    def test_the_table_has_the_synthetic_sequences(self):
        for name in sequences.SYNTHETIC:
            for sequence in (step := sequences.synthetic(name), sequences.every_access_writes(step)):
                bounds = Bounds(sequence)
                self.assertEqual(len(bounds.known), 10, "run tests/bound/bounds.py")
                if name == "fused-1":
                    budget = sequences.budget_bytes(step, 0.5)
                    self.assertAlmostEqual(bounds.seconds(budget, 52), lower_bound(sequence, budget, 52e9), 6)

    def test_the_table_knows_no_sequence_but_its_own(self):
        step = sequences.gpt("fused", 1, layers=4, params=1.25e8, activation_bytes=1 << 30)
        self.assertEqual(Bounds(step).known, {})
        self.assertEqual(Bounds(step).seconds(16 << 26, 52), round(lower_bound(step, 16 << 26, 52e9), 9))

    def test_the_simple_schedule(self):
        """Its default case has the figures that its description came with."""
        step = sequences.synthetic("fused-1")
        for share, seconds, chunks_in, chunks_out in ((0.66, 0.348, 102, 102), (0.5, 0.470, 194, 194),
                                                      (0.33, 0.625, 298, 302), (0.25, 0.789, 390, 440)):
            budget = sequences.budget_bytes(step, share)
            took, copied_in, copied_out = planned(step, budget, 52e9)
            self.assertAlmostEqual(took, seconds, 3)
            self.assertEqual((copied_in >> 26, copied_out >> 26), (chunks_in, chunks_out))
            self.assertGreaterEqual(took, Bounds(step).seconds(budget, 52))


if __name__ == "__main__":
    unittest.main()
