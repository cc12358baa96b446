"""What the driver's costs are and come to, as a program sees it: the tables of docs/driver-model.md against the probe on
softcuda.

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
SCALING = ("scaling", "--bytes", str(1 << 31), "--spin", "1000")
THREADS = (1, 2, 4, 8)
WITHIN = 0.02


def rows_of(part, **variables):
    """What the probe says, on a device whose other calls take no time."""
    env = {name: value for name, value in os.environ.items() if not name.startswith("SOFTCUDA_")}
    free = {"SOFTCUDA_CALL_NS": "0", "SOFTCUDA_QUERY_NS": "0", "SOFTCUDA_POLL_NS": "0"}
    command = [str(BUILD / "tests/gpu/um_probe"), *part, "--repeat", "1", "--clock", "device"]
    output = subprocess.run(command, env=env | free | variables, check=True, capture_output=True, text=True).stdout
    return [json.loads(line) for line in output.splitlines()]


def probe(driver):
    """GB/s in and out by direction, ranges, stream, MiB of a call and threads."""
    rows = rows_of(SCALING, SOFTCUDA_DRIVER=driver)
    return {(row["direction"], row["slabs"], row["state"], row["call_bytes"] >> 20, row["threads"]): (row["gbps_in"], row["gbps_out"]) for row in rows}


def costs(**variables):
    """Microseconds for 2 MiB, from what calls for few and for many blocks take."""
    clean = {(row["step"], row["bytes"]): row["until_done_us"]
             for row in rows_of(("readmostly", "--bytes", str(1 << 28)), **variables)}
    moved = {(row["move"], row["bytes"]): row["device_us"] for row in rows_of(("moves", "--bytes", str(1 << 28)), **variables)}

    def more(move):
        return (moved[move, 32 << 20] - moved[move, 2 << 20]) / 15

    one, two = 2 << 20, 4 << 20
    return {"MAP_NS": clean["evict, clean", two] - clean["evict, clean", one],
            "UNMAP_NS": 2 * clean["fetch", one] - clean["fetch", two],
            "REMAP_NS": more("evict what is on the host"),
            "DISCARD_NS": more("discard what is resident"),
            "FAULT_NS": clean["first write, read-mostly", one] - clean["write, resident", one],
            "": clean["unset, clean", one]}


def cost_table():
    """The same of the page, by the last variable of the row."""
    told = {}
    for line in (SOURCE / "docs/driver-model.md").read_text().splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if len(cells) != 6 or not re.match(r"[0-9]", cells[2]):
            continue
        variables = re.findall(r"SOFTCUDA_(\w+)", cells[0] + cells[1])
        told[variables[0] if variables else ""] = sum(float(figure) for figure in re.findall(r"[0-9.]+", cells[2]))
    return told


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

    def test_each_cost_is_what_the_page_says(self):
        told, seen = cost_table(), costs()
        for name, cost in seen.items():
            self.assertAlmostEqual(cost, told[name], delta=WITHIN * told[name] + 0.1, msg=name)

    def test_a_cost_can_be_chosen(self):
        chosen = {"MAP_NS": 75, "UNMAP_NS": 30, "REMAP_NS": 0, "DISCARD_NS": 10}
        seen = costs(**{"SOFTCUDA_" + name: str(cost * 1000) for name, cost in chosen.items()})
        for name, cost in chosen.items():
            self.assertAlmostEqual(seen[name], cost, delta=WITHIN * cost + 0.1, msg=name)

    def test_simulated_times_do_not_depend_on_the_machine(self):
        self.assertEqual(probe("580"), probe("580"))

    def test_an_ideal_driver_moves_as_fast_as_the_link(self):
        for case, (way_in, way_out) in probe("ideal").items():
            if case[0] != "both" and case[2] == "idle":
                self.assertAlmostEqual(way_in + way_out, 56, delta=0.1, msg=case)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
