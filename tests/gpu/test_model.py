"""What the driver's costs come to, as a program sees it: the table of docs/driver-model.md against the probe on softcuda.

usage: test_model.py SOURCE BUILD
"""

import json
import os
import re
import subprocess
import sys
import unittest
from pathlib import Path

SOURCE, BUILD = Path(sys.argv[1]), Path(sys.argv[2])
PROBE = [str(BUILD / "tests/gpu/um_probe"), "scaling", "--bytes", str(1 << 31), "--spin", "1000", "--repeat", "1", "--clock", "device"]
THREADS = (1, 2, 4, 8)
WITHIN = 0.02


def probe(driver):
    """GB/s in and out by direction, ranges, stream, MiB of a call and threads."""
    env = {name: value for name, value in os.environ.items() if not name.startswith("SOFTCUDA_")}
    free = {"SOFTCUDA_CALL_NS": "0", "SOFTCUDA_QUERY_NS": "0", "SOFTCUDA_POLL_NS": "0"}
    output = subprocess.run(PROBE, env=env | free | {"SOFTCUDA_DRIVER": driver}, check=True, capture_output=True, text=True).stdout
    rows = [json.loads(line) for line in output.splitlines()]
    return {(row["direction"], row["slabs"], row["state"], row["call_bytes"] >> 20, row["threads"]): (row["gbps_in"], row["gbps_out"]) for row in rows}


def table():
    """The same of the page."""
    told = {}
    for line in (SOURCE / "docs/driver-model.md").read_text().splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if len(cells) != 8 or not cells[3].isdigit():
            continue
        for threads, cell in zip(THREADS, cells[4:]):
            figures = [float(figure) for figure in re.findall(r"[0-9.]+", cell)]
            if figures:
                told[cells[0], cells[1], cells[2], int(cells[3]), threads] = {
                    "in": (figures[0], 0.0), "out": (0.0, figures[0]), "both": tuple(figures)}[cells[0]]
    return told


class Model(unittest.TestCase):
    def test_the_probe_sees_what_the_page_says(self):
        told, seen = table(), probe("580")
        self.assertGreater(len(told), 40)
        for case, figures in told.items():
            for expected, figure in zip(figures, seen[case]):
                self.assertLessEqual(abs(expected - figure), WITHIN * expected, (case, figures, seen[case]))

    def test_simulated_times_do_not_depend_on_the_machine(self):
        self.assertEqual(probe("580"), probe("580"))

    def test_an_ideal_driver_moves_as_fast_as_the_link(self):
        for case, (way_in, way_out) in probe("ideal").items():
            if case[0] != "both" and case[2] == "idle":
                self.assertAlmostEqual(way_in + way_out, 56, delta=0.1, msg=case)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
