#!/usr/bin/env python3
"""The lower bounds that tests/bench/policies.py compares with, kept in bounds.json: the programs take a while to solve.

usage: bounds.py BUILD [NAME ...]     computes those of all programs of tests/bench/policy_cases.py, or of the named

Bounds are kept by a hash of the sequence that they are of; of any other they are computed anew, if SciPy is there.
"""
import hashlib
import json
import os
import sys

FOLDER = os.path.dirname(os.path.abspath(__file__))
FILE = os.path.join(FOLDER, "bounds.json")


def load():
    with open(FILE, encoding="utf-8") as file:
        return json.load(file)


def digest(sequence):
    """Of what a bound depends on: the order within a launch is none of it."""
    launches = [[launch["ns"], *(sorted(launch[kind]) for kind in ("reads", "writes", "deaths"))]
                for launch in sequence["launches"]]
    said = [sequence["chunk_bytes"], sequence.get("cyclic", True), sorted(sequence.get("alive", ())), launches]
    return hashlib.sha256(json.dumps(said, separators=(",", ":")).encode()).hexdigest()


class Bounds:
    """Of one sequence, by iteration, of which it has so many."""

    def __init__(self, sequence, iterations=1, table=None):
        self.sequence, self.iterations = sequence, iterations
        self.hash = digest(sequence)
        self.known = dict((load() if table is None else table).get(self.hash, {}).get("seconds", {}))

    def seconds(self, budget_bytes, link_gbs):
        """Of an iteration; None: not known, and SciPy is missing."""
        key = f"{budget_bytes} {link_gbs}"
        if key not in self.known:
            try:
                from lower_bound import lower_bound
            except ImportError:
                return None
            print(f"computing a bound of {self.sequence['name']} ({key})", file=sys.stderr, flush=True)
            self.known[key] = round(lower_bound(self.sequence, budget_bytes, link_gbs * 1e9) / self.iterations, 9)
        return self.known[key]


def main():
    sys.path.insert(0, os.path.join(FOLDER, os.pardir, "bench"))
    from policy_cases import CASES, LINKS_GBS, Bench
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    bench, table = Bench(sys.argv[1]), load() if os.path.exists(FILE) else {}
    for name in sys.argv[2:] or CASES:
        case = CASES[name]
        old = table
        table = {key: kept for key, kept in table.items() if kept["sequence"] != name}
        for size in bench.budgets(case).values():
            for link in LINKS_GBS:
                bounds = Bounds(bench.sequence(case, size, link), case.in_sequence(), old)
                kept = table.setdefault(bounds.hash, dict(sequence=name, seconds={}))
                kept["seconds"][f"{size} {link}"] = bounds.seconds(size, link)
        with open(FILE, "w", encoding="utf-8") as file:
            json.dump(table, file, indent=1)
            file.write("\n")


if __name__ == "__main__":
    main()
