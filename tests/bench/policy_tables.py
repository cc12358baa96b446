#!/usr/bin/env python3
"""Makes tables of BUILD/benchmarks/policies.json: writes DOCS/policies.md, with mechanisms.md in it, and in
DOCS/benchmarks.md what is between the marks. Of BUILD/benchmarks/policies-580.json: the last part of DOCS/policies.md. Where
one of the files is missing, its tables stay.

usage: policy_tables.py BUILD DOCS
"""
import contextlib
import io
import json
import os
import re
import statistics
import sys

from policy_cases import LINKS_GBS, POLICIES, SHARES, UNPREDICTABLE

INTRODUCTION = """# Policies compared

Written by `tests/bench/policy_tables.py` from what `meson test -C build --benchmark policies` measured; every figure is simulated
and the same on every machine. [benchmarks.md](benchmarks.md) says what the programs are and sums up.

Budgets are shares of the need. *Bound*: no schedule of the chunks, as planning lays them out, is faster. Every access
counts as a write, as with CUDA's unified memory.

The means of the predictable programs. *Above the bound*: how much longer a step of `plan` takes than the bound. The
other columns: how many times as long a step takes as with `plan`.
"""
REAL = "## With NVIDIA's driver 580, at 52 GB/s"
MARKS = "<!-- from policy_tables.py -->\n", "<!-- end -->\n"


class Rows:
    def __init__(self, rows):
        self.by = {(r["sequence"], r["link_gbs"], r["budget"], r["policy"]): r for r in rows}
        self.names = list(dict.fromkeys(r["sequence"] for r in rows))

    def policies(self, name, link, share):
        return {policy: self.by[name, link, share, policy] for policy in POLICIES}


def short(number):
    """Four significant digits, and no exponent."""
    return f"{number:.4g}" if number < 1e4 else f"{number:.0f}"


def table(head, lines):
    print("| " + " | ".join(head) + " |")
    print("| --- |" + " ---: |" * (len(head) - 1))
    for line in lines:
        print("| " + " | ".join(map(str, line)) + " |")


def above_bound(plan):
    """How much longer a step takes than the bound, in percent."""
    return max(0, 100 * (plan["seconds"] / max(plan["bound_seconds"], plan["resident_seconds"]) - 1))


def means(rows):
    """For each link and budget: `plan` against the bound, and the other policies against `plan`."""
    others = POLICIES[:-1]
    for link in LINKS_GBS:
        for share in SHARES:
            cases = [rows.policies(name, link, share) for name in rows.names if name not in UNPREDICTABLE]
            above = [above_bound(case["plan"]) for case in cases if case["plan"]["bound_seconds"]]
            yield (f"{link} GB/s, {share}", f"{statistics.mean(above):.1f} %", f"{max(above):.1f} %",
                   *(f"{statistics.mean(case[p]['seconds'] / case['plan']['seconds'] for case in cases):.2f}" for p in others))


def all_tables(rows):
    print(INTRODUCTION)
    table(["link, budget", "above the bound", "worst", *POLICIES[:-1]], means(rows))
    with open(os.path.join(os.path.dirname(__file__), "mechanisms.md"), encoding="utf-8") as file:
        print("\n" + file.read(), end="")
    for link in LINKS_GBS:
        def lines(cells):
            return ((name, share, *cells(rows.policies(name, link, share))) for name in rows.names for share in SHARES)

        print(f"\n## Time of a step at {link} GB/s, in ms\n")
        table(["", "budget", *POLICIES, "bound"], lines(lambda row: (
            *(short(1e3 * row[p]["seconds"]) for p in POLICIES),
            short(1e3 * row["plan"]["bound_seconds"]) if row["plan"]["bound_seconds"] else "")))
        print(f"\n## Moved in a step at {link} GB/s, in and out, in MiB\n")
        table(["", "budget", *POLICIES], lines(lambda row: (
            f"{row[p]['bytes_in'] / 2**20:.0f}, {row[p]['bytes_out'] / 2**20:.0f}" for p in POLICIES)))
        print(f"\n## Waited for data in a step at {link} GB/s, in ms\n")
        table(["", "budget", *POLICIES], lines(lambda row: (short(1e3 * row[p]["stall_seconds"]) for p in POLICIES)))


def ideal_times(text):
    """Milliseconds of plan at 52 GB/s with the ideal driver, by program and share, as the page has them."""
    part = text.split("## Time of a step at 52 GB/s, in ms")[1].split("\n## ")[0]
    rows = re.findall(r"(?m)^\| (\S+) \| (0\.\d+) \|(.*)\|$", part)
    return {(name, float(share)): float(cells.split("|")[len(POLICIES) - 1]) for name, share, cells in rows}


def real_tables(rows, ideal):
    def cases(share):
        return [(name, rows.policies(name, LINKS_GBS[0], share)) for name in rows.names]

    def times(name, case):
        return [short(1e3 * case[p]["seconds"]) for p in POLICIES] + [short(1e3 * case["plan"]["seconds"] / ideal[name, case["plan"]["budget"]])]

    print(f"""
{REAL}

The tables above are of the ideal driver, the only one that the bound knows. Here movements cost what
[driver-model.md](driver-model.md) says, in one thread of the driver's (`policies.py BUILD --driver 580`). Means of the
predictable programs: how many times as long a step of `plan` takes as with the ideal driver, and how many times as long the
other policies take as `plan`. What `driver` evicts gets no page-table entries for the CPU.
""")
    means_of = [(share, [(name, case) for name, case in cases(share) if name not in UNPREDICTABLE]) for share in SHARES]
    table(["budget", "plan, times ideal", *POLICIES[:-1]], (
        (share, f"{statistics.mean(1e3 * case['plan']['seconds'] / ideal[name, share] for name, case in found):.2f}",
         *(f"{statistics.mean(case[p]['seconds'] / case['plan']['seconds'] for _, case in found):.2f}" for p in POLICIES[:-1]))
        for share, found in means_of))
    print("\nOn llmc, where one launch needs more than the budget, `plan` fetches a part of it that `next` leaves in place, which "
          "pays\nwith the ideal driver and not here: it takes up to 1.3 times as long as `next`.")
    print("\nTime of a step in ms, and how many times as long `plan` takes as with the ideal driver:\n")
    table(["", "budget", *POLICIES, "times ideal"],
          ((name, share, *times(name, rows.policies(name, LINKS_GBS[0], share))) for name in rows.names for share in SHARES))


def summary(rows):
    """How far plan is above the bound, in percent. What cannot be predicted: times at half of the need."""
    def cell(plan):
        return f"{above_bound(plan):.1f}" if plan["bound_seconds"] else ""

    for link in LINKS_GBS:
        table([f"{link} GB/s", *map(str, SHARES)],
              ((name, *(cell(rows.by[name, link, share, "plan"]) for share in SHARES))
               for name in rows.names if name not in UNPREDICTABLE))
        print()
    print("Milliseconds of an iteration at half of the need and 52 GB/s, where nobody can know what comes:\n")
    lines = ((name, rows.policies(name, LINKS_GBS[0], 0.5)) for name in rows.names if name in UNPREDICTABLE)
    table(["", *POLICIES, "bound"], ((name, *(f"{1e3 * row[p]['seconds']:.0f}" for p in POLICIES),
                                      f"{1e3 * (row['plan']['bound_seconds'] or 0):.0f}") for name, row in lines))


def printed(tables, *arguments):
    with contextlib.redirect_stdout(io.StringIO()) as out:
        tables(*arguments)
    return out.getvalue()


def read(path):
    """Rows; None: the file is missing."""
    if not os.path.exists(path):
        return None
    with open(path, encoding="utf-8") as file:
        return Rows(json.load(file))


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    build, docs = sys.argv[1:]
    rows, real = (read(os.path.join(build, "benchmarks", name)) for name in ("policies.json", "policies-580.json"))
    page = os.path.join(docs, "policies.md")
    with open(page, encoding="utf-8") as file:
        before, mark, after = file.read().partition(f"\n{REAL}")
    text = printed(all_tables, rows) if rows else before
    with open(page, "w", encoding="utf-8") as file:
        file.write(text + (printed(real_tables, real, ideal_times(text)) if real else mark + after))
    if not rows:
        return
    path = os.path.join(docs, "benchmarks.md")
    with open(path, encoding="utf-8") as file:
        before, rest = file.read().split(MARKS[0])
    with open(path, "w", encoding="utf-8") as file:
        file.write(before + MARKS[0] + printed(summary, rows) + MARKS[1] + rest.split(MARKS[1])[1])


if __name__ == "__main__":
    main()
