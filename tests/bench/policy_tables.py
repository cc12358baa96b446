#!/usr/bin/env python3
"""Makes tables of BUILD/benchmarks/policies.json: writes DOCS/policies.md, and in DOCS/benchmarks.md what is between the
marks. The effect of each mechanism comes from data/ablation.md and BUILD/benchmarks/ablation.jsonl (ablation.py), as far
as these exist.

usage: policy_tables.py BUILD DOCS
"""
import contextlib
import io
import json
import os
import statistics
import sys

import ablation
from policy_cases import CASES, FOLDER, LINKS_GBS, POLICIES, SHARES, UNPREDICTABLE

INTRODUCTION = """
`tests/bench/policy_tables.py` writes this page from the results of `meson test -C build --benchmark policies`. All figures
are simulated and the same on every machine. [benchmarks.md](benchmarks.md#policies-compared) describes the programs,
[prediction.md](prediction.md#policies) the policies. A budget is a share of the program's need. The *bound* is a proven
lower bound: no schedule is faster. Every access counts as a write, as with CUDA's unified memory.
"""
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


def findings(rows):
    """What the tables say."""
    plans = [row for row in rows.by.values() if row["policy"] == "plan"]

    def speedup(policy):
        """Of plan against the policy: median, least and most."""
        ratios = [rows.by[r["sequence"], r["link_gbs"], r["budget"], policy]["seconds"] / r["seconds"] for r in plans]
        return statistics.median(ratios), min(ratios), max(ratios)

    def says(policy):
        return "{:.1f} ({:.1f} to {:.1f})".format(*speedup(policy))

    def above(of_program):
        """Sorted: how far above the bound, and where."""
        return sorted((row["seconds"] / max(row["bound_seconds"], row["resident_seconds"]),
                       f"{row['sequence']} at {row['budget']}, {row['link_gbs']} GB/s")
                      for row in plans if row["bound_seconds"] and of_program(row["sequence"]))

    def median(ones):
        return f"{100 * (statistics.median(ratio for ratio, _ in ones) - 1):.1f} %"

    print("# Policies compared\n")
    best = min((policy for policy in POLICIES if policy != "plan"), key=lambda policy: speedup(policy)[0])
    print(f"- `plan` is {says('demand')} times as fast as `demand`, {says('driver')} times as fast as the driver's paging\n"
          f"  and {says(best)} times as fast as `{best}`, the fastest of the other policies: median and range over {len(plans)}\n"
          "  combinations of program, budget and link.")
    repeats = above(lambda name: name not in UNPREDICTABLE)
    if repeats:
        print(f"- Where a program repeats itself, a step takes {median(repeats)} longer than the lower bound in the median.\n  "
              f"{sum(ratio <= 1.03 for ratio, _ in repeats)} of {len(repeats)} cases are within 3 % of it, "
              f"{sum(ratio <= 1.1 for ratio, _ in repeats)} within 10 %; the worst is {repeats[-1][1]}:\n"
              f"  {100 * (repeats[-1][0] - 1):.1f} %.")
    made = above(lambda name: name not in UNPREDICTABLE and CASES[name].made and name != "llmc")
    recorded = above(lambda name: name not in UNPREDICTABLE and (not CASES[name].made or name == "llmc"))
    if made and recorded:
        print(f"- The recorded programs (gpt, mlp, llmc: 84 to 177 chunks) are further from the bound than the synthetic ones\n"
              f"  (576 chunks and more): {median(recorded)} against {median(made)} in the median.")
    worst = [(ones[-1][0], name) for name in UNPREDICTABLE if (ones := above(lambda program, name=name: program == name))]
    if worst:
        print("- Programs that cannot be predicted are further away, because the bound knows the future and the planner does not:\n"
              "  at worst " + ", ".join(f"{ratio:.2f} ({name})" for ratio, name in sorted(worst, reverse=True)) +
              " times the bound.")


def mechanisms(build):
    """What a step costs without each mechanism."""
    fixed = os.path.join(FOLDER, "data", "ablation.md")
    measured = os.path.join(build, "benchmarks", "ablation.jsonl")
    if os.path.exists(fixed) or os.path.exists(measured):
        print("\n## What each mechanism brings\n")
    if os.path.exists(fixed):
        with open(fixed, encoding="utf-8") as file:
            print(file.read(), end="")
    if not os.path.exists(measured):
        return
    with open(measured, encoding="utf-8") as file:
        rows = [json.loads(line) for line in file]
    whole = {row["program"]: row for row in rows if not row["without"]}
    lines = []
    for without in dict.fromkeys(row["without"] for row in rows if row["without"]):
        pairs = [(row, whole[row["program"]]) for row in rows if row["without"] == without and row["program"] in whole]
        if not pairs:
            continue
        ratios = [(mine["step_ns"] / its["step_ns"], f"{row['program']} at {share}") for row, base in pairs
                  for share, mine, its in zip(ablation.SHARES, row["budgets"], base["budgets"])]
        worst, where = max(ratios)
        cpu = statistics.fmean(row["cpu_seconds"] / base["cpu_seconds"] for row, base in pairs)
        lines.append((without, f"{100 * (statistics.fmean(ratio for ratio, _ in ratios) - 1):+.1f} %",
                      f"{100 * (worst - 1):+.1f} % ({where})", f"{100 * (cpu - 1):+.0f} %"))
    print(f"\nThe latest run of `tests/bench/ablation.py`: {len(whole)} programs, budgets of "
          f"{', '.join(map(str, ablation.SHARES))} of the need, {ablation.LINK_GBS} GB/s.\n")
    table(["without", "mean", "worst", "processor time"], lines)


def all_tables(rows, build):
    findings(rows)
    print(INTRODUCTION, end="")
    mechanisms(build)
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


def summary(rows):
    """How far plan is above the bound, in percent. What cannot be predicted: times at half of the need."""
    def cell(plan):
        if not plan["bound_seconds"]:
            return ""
        return f"{max(0, 100 * (plan['seconds'] / max(plan['bound_seconds'], plan['resident_seconds']) - 1)):.1f}"

    for link in LINKS_GBS:
        table([f"{link} GB/s", *map(str, SHARES)],
              ((name, *(cell(rows.by[name, link, share, "plan"]) for share in SHARES))
               for name in rows.names if name not in UNPREDICTABLE))
        print()
    print("Milliseconds of an iteration at half of the need and 52 GB/s, of programs that cannot be predicted:\n")
    lines = ((name, rows.policies(name, LINKS_GBS[0], 0.5)) for name in rows.names if name in UNPREDICTABLE)
    table(["", *POLICIES, "bound"], ((name, *(f"{1e3 * row[p]['seconds']:.0f}" for p in POLICIES),
                                      f"{1e3 * (row['plan']['bound_seconds'] or 0):.0f}") for name, row in lines))


def printed(tables, *arguments):
    with contextlib.redirect_stdout(io.StringIO()) as out:
        tables(*arguments)
    return out.getvalue()


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    build, docs = sys.argv[1:]
    with open(os.path.join(build, "benchmarks", "policies.json"), encoding="utf-8") as file:
        rows = Rows(json.load(file))
    with open(os.path.join(docs, "policies.md"), "w", encoding="utf-8") as file:
        file.write(printed(all_tables, rows, build))
    path = os.path.join(docs, "benchmarks.md")
    with open(path, encoding="utf-8") as file:
        before, rest = file.read().split(MARKS[0])
    with open(path, "w", encoding="utf-8") as file:
        file.write(before + MARKS[0] + printed(summary, rows) + MARKS[1] + rest.split(MARKS[1])[1])


if __name__ == "__main__":
    main()
