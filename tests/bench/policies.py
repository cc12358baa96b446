#!/usr/bin/env python3
"""What each policy makes of each program, budget and link, and how far it is from the lower bound.

usage: policies.py BUILD [--driver 580] [NAME ...]

Writes BUILD/benchmarks/policies.json and prints a line for each program. With --driver 580, BUILD/benchmarks/policies-580.json:
one link, and no bounds, which know only the ideal driver.

Figures are means of the last iterations. stall_seconds: what launches waited for data, and what they took longer
because it was not on the device. bound_seconds: null where it is neither in tests/bound/bounds.json nor can be computed
(SciPy is missing). Every access counts as a write, as with CUDA's unified memory.
"""
import json
import os
import sys

from policy_cases import CASES, LINKS_GBS, POLICIES, Bench
from bounds import Bounds


def summary(case, one):
    """Of a prediction's last iterations."""
    last = one["each"][-case.counted(len(one["each"])):]

    def mean(*fields):
        return sum(iteration[field] for iteration in last for field in fields) / len(last)

    # Two iterations are there to learn from.
    later = one["each"][2:]
    missed = sum(iteration["missed_launches"] for iteration in later) / sum(i["launches"] for i in later)
    return dict(seconds=mean("step_ns") / 1e9, bytes_in=round(mean("bytes_in")), bytes_out=round(mean("bytes_out")),
                stall_seconds=mean("stall_ns", "longer_ns") / 1e9, missed_share=missed,
                in_place_bytes=round(mean("remote_bytes")), resident_seconds=one["resident_ns"] / 1e9)


def run(bench, names):
    rows, ideal = [], bench.driver == "ideal"
    for name in names:
        case = CASES[name]
        bounds = {(share, link): Bounds(bench.sequence(case, size, link), case.in_sequence()).seconds(size, link)
                  for share, size in bench.budgets(case).items() for link in LINKS_GBS} if ideal else {}
        for (share, link, policy), one in bench.replay(case, LINKS_GBS if ideal else LINKS_GBS[:1]).items():
            rows.append(dict(sequence=name, budget=share, link_gbs=link, policy=policy, **summary(case, one),
                             bound_seconds=bounds.get((share, link))))
        at_half = {row["policy"]: row["seconds"] for row in rows
                   if (row["sequence"], row["budget"], row["link_gbs"]) == (name, 0.5, LINKS_GBS[0])}
        print(f"{name:16}", *(f"{policy} {1e3 * at_half[policy]:.1f}" for policy in POLICIES), "ms at 0.5", flush=True)
    return rows


def main():
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    build, *names = sys.argv[1:]
    real = names[:2] == ["--driver", "580"]
    bench = Bench(build, "580" if real else "ideal")
    path = os.path.join(bench.folder, "policies-580.json" if real else "policies.json")
    names = names[2 if real else 0:]
    unknown = set(names) - set(CASES)
    if unknown:
        sys.exit(f"policies.py: no program {', '.join(sorted(unknown))}; there are {', '.join(CASES)}")
    rows = run(bench, names or CASES)
    with open(path, "w", encoding="utf-8") as file:
        json.dump(rows, file, indent=1)
    print(f"{len(rows)} rows in {path}")


if __name__ == "__main__":
    main()
