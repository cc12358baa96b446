#!/usr/bin/env python3
"""What each mechanism of planning and prediction brings: every program is replayed by `sluice plan` with all of them,
without each, and without pairs that might do the same.

usage: ablation.py BUILD [--jobs N] [--only NAME,...] [--without NAME[+NAME],...] [--attempts N]
                   [--daemon inline|thread] [--driver 580|ideal] [TRACE ...]
       writes BUILD/benchmarks/ablation.jsonl and prints a table

Build it first: ninja -C BUILD tests/bench/sluice-ablation. The programs are those of policy_cases.py, with more steps, and the given traces; a folder has a
trace.RANK.slt for each rank of one job. Times are means of the steps
from the fifth to the last, at most 200, at a link of 24 GB/s; processor time is that of the whole replay.
"""
import argparse
import concurrent.futures
import glob
import json
import os
import re
import statistics
import subprocess
import sys

from policy_cases import CASES, Bench

SHARES, LINK_GBS = (0.8, 0.5, 0.33), "24"
FIRST, LAST = 5, 200  # steps that count
STEPS = {"sequence-gpt": 200, "sequence-irregular": 200, "sequence-recorded": 200, "gpt": 100, "mlp": 100}
# Where two may do the same, both are left out as well.
PAIRS = ["LESSONS+VARIANTS", "GOES_ON+HASTEN", "CONFIDENCE+HASTEN"]


def mechanisms(source):
    with open(os.path.join(source, "src", "base", "test_hooks.h"), encoding="utf-8") as file:
        table = file.read().split("#define SL_MECHANISMS(X)")[1].split("\n\n")[0]
    return re.findall(r"^ +X\((\w+)\)", table, re.MULTILINE)


def longer(case):
    """The same program with more steps."""
    steps, arguments = str(STEPS[case.program]), list(case.arguments)
    if case.program == "sequence-gpt":
        arguments[0] = "steps=" + steps
    elif "--steps" in arguments:
        arguments[arguments.index("--steps") + 1] = steps
    else:
        arguments[1] = steps
    case.arguments = arguments
    return case


class Program:
    """`traces`: one for each rank."""

    def __init__(self, name, traces, chunk_bytes, budgets):
        self.name, self.traces, self.chunk_bytes, self.budgets = name, traces, chunk_bytes, budgets


def replay(tool, program, without, names, options):
    """By budget: seconds of a step and bytes; and seconds of the processor for a step."""
    bits = sum(1 << names.index(name) for name in without.split("+") if name)
    command = [tool, "plan", "--json", "--no-least", "--chunk", str(program.chunk_bytes), "--driver", options.driver, "--link-gbs", LINK_GBS,
               "--plan-attempts", str(options.attempts), "--daemon", options.daemon, "--budget", ",".join(map(str, program.budgets)), *program.traces]
    read_end, write_end = os.pipe()
    child = subprocess.Popen(["/usr/bin/env", f"SLUICE_TEST_WITHOUT={bits}", *command], stdout=write_end)
    os.close(write_end)
    with os.fdopen(read_end, encoding="utf-8") as file:
        answer = json.load(file)
    _, status, used = os.wait4(child.pid, 0)
    child.returncode = status
    if status:
        sys.exit(f"{' '.join(command)} ended with status {status}")
    rows = []
    for one in answer["predictions"]:
        steps = one["each"][FIRST - 1:LAST]
        rows.append({field: statistics.fmean(step[field] for step in steps)
                     for field in ("step_ns", "bytes_in", "bytes_out", "stall_ns")})
    return rows, used.ru_utime / (len(answer["predictions"]) * len(answer["predictions"][0]["each"]))


def programs(bench, wanted, traces):
    for case in CASES.values():
        if not wanted or case.name in wanted:
            trace = bench.trace(longer(case))
            need = json.loads(subprocess.run([bench.sluice, "plan", "--json", "--no-least", "--chunk", str(case.chunk_bytes),
                                              "--budget", "1", trace], check=True, stdout=subprocess.PIPE).stdout)
            budgets = case.budgets(need["predictions"][0]["need_bytes"])
            yield Program(case.name, [trace], case.chunk_bytes, [budgets.get(share) for share in SHARES])
    for trace in traces:
        ranks = sorted(glob.glob(os.path.join(trace, "trace.*.slt"))) or [trace]
        yield Program(os.path.basename(trace).removesuffix(".slt"), ranks, 2 << 20, SHARES)


def table(rows, configurations):
    """For each configuration: how much longer a step takes than with all, in the mean, at least and at most."""
    whole = {row["program"]: row for row in rows if not row["without"]}
    print(f"{'without':44} {'mean':>7} {'best':>7} {'worst':>7}  {'bytes':>6} {'cpu':>6}  where it is worst")
    for without in configurations[1:]:
        ratios, moved, cpu = [], [], []
        for row in (row for row in rows if row["without"] == without):
            base = whole[row["program"]]
            cpu.append(row["cpu_seconds"] / base["cpu_seconds"])
            for share, mine, its in zip(SHARES, row["budgets"], base["budgets"]):
                ratios.append((mine["step_ns"] / its["step_ns"], f"{row['program']} at {share}"))
                if its["bytes_in"] + its["bytes_out"]:
                    moved.append((mine["bytes_in"] + mine["bytes_out"]) / (its["bytes_in"] + its["bytes_out"]))
        mean = statistics.fmean(ratio for ratio, _ in ratios)
        worst = sorted(ratios, reverse=True)[:3]
        print(f"{without:44} {mean - 1:+7.1%} {min(ratios)[0] - 1:+7.1%} {worst[0][0] - 1:+7.1%}  "
              f"{statistics.fmean(moved) - 1:+6.1%} {statistics.fmean(cpu) - 1:+6.0%}  "
              + ", ".join(f"{where} {ratio - 1:+.1%}" for ratio, where in worst), flush=True)


def main():
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("build")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--only", type=lambda text: text.split(","), default=[])
    parser.add_argument("--without", type=lambda text: text.split(","))
    parser.add_argument("--attempts", type=int, default=8)
    parser.add_argument("--daemon", choices=["inline", "thread"], default="inline")
    parser.add_argument("--driver", choices=["ideal", "580"], default="580")
    parser.add_argument("traces", nargs="*")
    options = parser.parse_intermixed_args()
    bench = Bench(options.build)
    names = mechanisms(bench.source)
    tool = os.path.join(bench.build, "tests", "bench", "sluice-ablation")
    configurations = ["", *(options.without or names + PAIRS)]
    todo = [(program, without) for program in programs(bench, options.only, options.traces) for without in configurations]

    def measure(one):
        budgets, cpu = replay(tool, *one, names, options)
        return {"program": one[0].name, "without": one[1], "budgets": budgets, "cpu_seconds": cpu}

    rows = []
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool, \
            open(os.path.join(bench.folder, "ablation.jsonl"), "w", encoding="utf-8") as file:
        for row in pool.map(measure, todo):
            rows.append(row)
            print(json.dumps(row), file=file, flush=True)
    table(rows, configurations)


if __name__ == "__main__":
    main()
