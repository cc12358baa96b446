"""A digest keeps its size whatever there is to say, says what was decided first, and decides by the figures.

Usage: test_digest.py
"""
import json
import os
import sys
import tempfile
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import decisions  # noqa: E402
import digest  # noqa: E402

MIB = 1 << 20
MOST_BYTES = 6 << 10


def scaling(direction="out", threads=1, gbps=10.0, slabs="several", state="idle", sweep="threads", call_us=100.0,
            call_bytes=8 * MIB):
    gbps_in = gbps if direction == "in" else gbps / 2 if direction == "both" else 0
    return {"direction": direction, "threads": threads, "slabs": slabs, "state": state, "sweep": sweep, "call_us": call_us,
            "call_bytes": call_bytes, "gbps_in": gbps_in, "gbps_out": gbps - gbps_in}


def beside(call, p99_us, call_bytes=8 * MIB):
    return {"call": call, "traffic": "out", "call_bytes": call_bytes, "p99_us": p99_us}


def step(name, microseconds, right=True):
    return {"step": name, "bytes": 32 * MIB, "call_us": microseconds, "until_done_us": microseconds, "right": right}


def copy(form, gbps):
    return {"managed": "resident", "partner": "pinned", "direction": "to", "form": form, "gbps": gbps}


def touched(share):
    return {"bytes": 1, "seconds": 1, "after": {"free_bytes": 100, "free_2_mib_bytes": share}}


def doubt(probe, what, **answer):
    return {"probe": probe, "what": what, **answer}


# Kind of record, records, and what follows from them.
CASES = {
    "out_threads": [({"scaling": [scaling(threads=1, gbps=10), scaling(threads=2, gbps=20), scaling(threads=4, gbps=35),
                                  scaling(threads=8, gbps=36)]}, "4 workers for out"),
                    ({"scaling": [scaling(threads=1, gbps=10), scaling(threads=2, gbps=10)]}, "1 worker for out")],
    "in_threads": [({"scaling": [scaling("in", 1, 50), scaling("in", 2, 51)]}, "1 worker for in")],
    "slabs": [({"scaling": [scaling(threads=4, gbps=35), scaling(threads=4, gbps=12, slabs="one")]},
               "give each worker a slab of its own"),
              ({"scaling": [scaling(threads=4, gbps=35), scaling(threads=4, gbps=34, slabs="one")]}, "workers may share a slab")],
    "finished_event": [({"scaling": [scaling(call_us=700), scaling(state="wait done", call_us=5)]}, "skip it"),
                       ({"scaling": [scaling(gbps=30), scaling(state="wait done", gbps=12)]}, "skip it"),
                       ({"scaling": [scaling(), scaling(state="wait done", call_us=101)]}, "waits do no harm")],
    "pieces": [({"scaling": [scaling(sweep="pieces", call_bytes=size * MIB, gbps=gbps)
                             for size, gbps in ((2, 10), (4, 14), (8, 15))]},
                "pieces of 4 MiB")],
    "both_directions": [({"scaling": [scaling(gbps=20), scaling("both", gbps=25)]},
                         "the shared factor: plan with one link for both"),
                        ({"scaling": [scaling(gbps=20), scaling("both", gbps=27)]}, "plan each direction alone")],
    "discards": [({"doubt": [doubt("discards", "right: a write", holds=False)]}, "SLUICE_DISCARD=off"),
                 ({"doubt": [doubt("discards", "right: a write", holds=True)]}, "discard")],
    "held_up": [({"beside": [beside("launch", 300, 2 * MIB), beside("launch", 900), beside("launch", 3000, 32 * MIB)]},
                 "pieces of at most 8 MiB"),
                ({"beside": [beside("launch", 3000)]}, "launching threads must hand over")],
    "held_locks": [({"beside": [beside("mmap", 3000), beside("query", 1)]}, "no mmap while moving, or smaller pieces"),
                   ({"beside": [beside("mmap", 30)]}, "nothing for long")],
    "read_mostly": [({"readmostly": [step("unset, clean", 100), step("evict, clean", 900)]}, "drop clean chunks by it"),
                    ({"readmostly": [step("unset, clean", 800), step("evict, clean", 900)]}, "evict them"),
                    ({"readmostly": [step("unset, clean", 1, False), step("evict, clean", 900)]}, "never use it")],
    "in_place": [({"scaling": [scaling("both", gbps=30)], "streaming": [{"memory": "managed", "both_gbps": 60}]},
                  "in place for what one launch uses once"),
                 ({"scaling": [scaling("both", gbps=90)], "streaming": [{"memory": "managed", "both_gbps": 60}]}, "move it")],
    "copies": [({"copies": [copy("typed", 25), copy("untyped", 12)]}, "forward with a direction"),
               ({"copies": [copy("typed", 25), copy("untyped", 24)]}, "forward as they are")],
    "vmm": [({"vmm": [{"memory": "host", "said": "not supported: x"}]}, "no remapping: host not supported")],
    "tensor_maps": [({"doubt": [doubt("tensormap", "the address is shown", answer="yes")]}, "scan parameters for it"),
                    ({"doubt": [doubt("tensormap", "the address is shown", answer="no")]}, "remember maps when they are made")],
    "huge_pages": [({"touched": [touched(80)]}, "yes"), ({"touched": [touched(20)]}, "fragmented: expect 4 KiB copies")],
    "offloading": [({"framework": [{"name": "gpt, 1/2", "step_ms": 100}, {"name": "offloaded, FSDP2 on the CPU", "step_ms": 250}]},
                    "2.5 times as fast as offloading")],
    "link": [({"copy": [{"direction": "in", "gbps_in": 55.0, "gbps_out": 0.0, "link_speed": "32.0 GT/s PCIe", "link_width": "16"}]},
              "in: 55.0 GB/s by pinned copies")],
}


class Decisions(unittest.TestCase):
    def test_each(self):
        self.assertEqual(set(CASES), {decision.__name__ for decision in decisions.ALL} - {"in_pieces"})
        for name, cases in CASES.items():
            for records, follows in cases:
                self.assertEqual(getattr(decisions, name)(records)[2], follows, name)

    def test_nothing_is_decided_of_nothing(self):
        self.assertEqual(decisions.decide({}), [])

    def test_a_strange_record_spoils_one_decision(self):
        strange = {name: value for name, value in scaling(threads=2).items() if name != "gbps_in"}
        rows = decisions.decide({"scaling": [scaling(), strange], "doubt": CASES["discards"][0][0]["doubt"]})
        self.assertIn("SLUICE_DISCARD=off", [row[2] for row in rows])


class Digest(unittest.TestCase):
    def make(self, records):
        with tempfile.TemporaryDirectory() as folder:
            with open(os.path.join(folder, "all.jsonl"), "w") as file:
                for kind, rows in records.items():
                    for row in rows:
                        file.write(json.dumps({"part": kind, **row}) + "\n")
            return digest.make(folder, "full", "first", True)

    def test_keeps_its_size(self):
        long = "a µ very long text | " * 100
        text = self.make({"doubt": [doubt("discards", f"{i} {long}", holds=False) for i in range(300)],
                          "framework": [{"name": f"gpt {long} {i}", "status": "not run", "said": long} for i in range(100)],
                          "kernel_log": [{"after": "x", "lines": [long] * 100}] * 10,
                          "part": [{"name": f"{long} {i}", "status": 1, "seconds": 1} for i in range(50)]})
        self.assertLessEqual(len(text.encode()), MOST_BYTES)
        self.assertRegex(text, r"\n\d+ lines more in gpu-results.tar.gz")
        self.assertIn("|SLUICE_DISCARD=off|", text, "decisions come first")

    def test_says_what_went_wrong(self):
        text = self.make({"part": [{"name": "scaling", "status": 124, "seconds": 45.0}],
                          "framework": [{"name": "gpt, 1/2", "status": 0, "identical": False, "step_ms": 1.0}]})
        self.assertIn("part scaling was stopped after 45.0 s", text)
        self.assertIn("|gpt, 1/2|1.0|OTHER|", text)


if __name__ == "__main__":
    unittest.main()
