#!/usr/bin/env python3
"""sluice plan foretells gpt on softcuda: from one trace of a run at full device size, the steps of runs with less memory, with
another link, on a driver whose calls cost time, and with state in pinned memory; and from a run that moved memory, what
its own costs mean for another budget. In thread mode, the host's cores that move memory.

usage: predicted.py BUILD
"""
import json
import os
import statistics
import subprocess
import sys
import tempfile

from e2e import MODEL, Bench, check_budget, largest_sites, need

STEPS = ["--steps", "9"]


def link(gbs, both_gbs, driver="ideal"):
    return {"SOFTCUDA_LINK_IN": gbs, "SOFTCUDA_LINK_OUT": gbs, "SOFTCUDA_LINK_BOTH": both_gbs, "SOFTCUDA_DRIVER": driver, "SOFTCUDA_EXECUTE": "sample"}


# In GB/s, on the driver `ideal` if nothing else is said.
LINKS = {"56": link("56", "51.5"), "20": link("20", "18.4"), "56, 580": link("56", "50", "580")}
# No kernel is as fast as this memory, so all data is moved, and none used in place.
# Executed whole: how much of the host's cores movers take depends on the real order of threads.
LINKS["56, 580, moved"] = {**LINKS["56, 580"], "SOFTCUDA_DEVICE_BANDWIDTH": "50000", "SOFTCUDA_EXECUTE": "all"}
WITHIN = 0.1
# Launches that use host memory share the link with copies; softcuda and the simulation have them share it in different ways.
WITHIN_IN_PLACE = 0.25
WITHIN_CORES = 0.25


def record(bench, path, which="56", **options):
    """If nothing is said, nothing else is done to the program than to time each launch."""
    options = {"TRACE": path, "TRACE_SAMPLE": 1, "TRACE_FULL": "wait", **(options or {"POLICY": "off"})}
    run = bench.run(MODEL + STEPS, sluice=options, environment=LINKS[which])
    need(run.status == 0, "it is recorded", run)


def step_ns(timeline):
    """The median time from the end of one update to that of the next, on the device's clock: all that a step costs. What gpt
    prints leaves out what is between its steps."""
    with open(timeline, encoding="utf-8") as file:
        operations = [json.loads(line) for line in file]
    kernels = [o for o in operations if o["kind"] == "kernel"]
    ends = [a["end_ns"] for a, b in zip(kernels, kernels[1:] + [None]) if is_update(a) and not (b and is_update(b))]
    return statistics.median(b - a for a, b in zip(ends[-5:], ends[-4:]))


def is_update(kernel):
    return "adamw" in kernel["name"] or "sweep" in kernel["name"]


def predict(bench, path, *options):
    command = [os.path.join(bench.build, "tools", "sluice"), "plan", "--json", "--chunk", "2M", *options, path]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True, timeout=60)
    return json.loads(done.stdout)["predictions"]


def foretells_cores(bench, path, movers):
    """The host's cores that movers take in the driver's calls, which threads of the run measure on the device's clock."""
    row, = predict(bench, path, "--budget", "0.5", "--link-gbs", "56", "--driver", "580", "--daemon", "thread", "--movers", str(movers))
    options = {"DEVICE_BUDGET": row["budget_bytes"], "CHUNK": "2M", "DAEMON": "thread", "MOVERS": movers}
    run = bench.run(MODEL + ["--steps", "20"], sluice=options, environment=LINKS["56, 580, moved"])
    need(run.status == 0, "it runs", run)
    told, real = row["host_cores"], run.sluice["host_cores"]
    print(f"{movers} movers: {told:.2f} cores predicted, {real:.2f} in truth; limits: {row['limit']}, {run.sluice['limit']}", flush=True)
    return run.sluice["movers"] == movers and abs(told - real) <= WITHIN_CORES * real


def main():
    bench = Bench(sys.argv[1])
    with tempfile.TemporaryDirectory() as folder:
        path, moved = os.path.join(folder, "gpt.slt"), os.path.join(folder, "moved.slt")
        record(bench, path)
        ideal = ("--driver", "ideal", "--link-gbs")
        rows = [(row, "56") for row in predict(bench, path, "--budget", "0.5,0.33", *ideal, "56")]
        rows += [(row, "20") for row in predict(bench, path, "--budget", "0.5", *ideal, "20")]
        half, = predict(bench, path, "--budget", "0.5", "--link-gbs", "56")
        record(bench, moved, "56, 580", DEVICE_BUDGET=half["budget_bytes"], CHUNK="2M", DAEMON="inline")
        third, = predict(bench, moved, "--budget", "0.33")
        need(third["driver"] == "580" and abs(third["map_ns"] - 100_000) < 2000 and abs(third["link_in"] - 56e9) < 1e9, f"a run measures its costs: {third}")
        rows += [(half, "56, 580"), (third, "56, 580")]
        for site, _ in largest_sites(bench, MODEL + ["--steps", "1"], 4)[::3]:  # a moment and the weights, but no gradients
            rows += [(row, "56") for row in predict(bench, path, "--budget", "0.33", *ideal, "56", "--backing", f"site:{site}=pinned")]
        fast = os.path.join(folder, "fast.slt")
        record(bench, fast, "56, 580, moved")
        need(all([foretells_cores(bench, fast, movers) for movers in (1, 4)]), f"cores within {WITHIN_CORES}")
        wrong = [row for row, which in rows if not agrees(bench, row, which, os.path.join(folder, "timeline"))]
    need(not wrong, f"within {WITHIN}, or {WITHIN_IN_PLACE} where host memory is used in place: {wrong}")


def agrees(bench, row, which, timeline):
    options = {"DEVICE_BUDGET": row["budget_bytes"], "CHUNK": "2M", "DAEMON": "inline", "BACKING": row.get("backing", "")}
    run = bench.run(MODEL + STEPS, sluice=options, environment=dict(LINKS[which], SOFTCUDA_TIMELINE=timeline))
    need(run.status == 0, "it runs", run)
    check_budget(run, row["budget_bytes"], "predicted")
    need(row["step_ns"] > 1.2 * row["resident_ns"], "the budget is felt", run)
    real_ns = step_ns(timeline)
    stall_ns = run.sluice["iterations"][-3]["stall_seconds"] * 1e9
    print(f"{row['budget_bytes'] >> 20} MiB, link {which}, pinned: {row.get('backing', 'nothing')}: predicted {row['step_ns'] / 1e6:.3f} ms, {real_ns / 1e6:.3f} ms in truth; "
          f"stalled {row['stall_ns'] / 1e6:.3f} ms and {stall_ns / 1e6:.3f} ms", flush=True)
    if "backing" in row:
        need(row["remote_bytes"] > 0, "what is pinned is used in place", run)
    if row["remote_bytes"] or run.sluice["iterations"][-3]["in_place_bytes"]:
        return abs(row["step_ns"] - real_ns) <= WITHIN_IN_PLACE * real_ns
    return abs(row["step_ns"] - real_ns) <= WITHIN * real_ns and stall_ns <= 1.1 * row["stall_ns"]


if __name__ == "__main__":
    main()
