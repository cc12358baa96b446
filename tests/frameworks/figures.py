"""The figures of a case, out of what its runs left behind."""
import json
import pathlib
import statistics
import subprocess
import sys

from cases import FIRST_STEADY_STEP

BOUND = pathlib.Path(__file__).resolve().parents[1] / "bound"
sys.path.append(str(BOUND))
import touched

MIB = 1 << 20
# The link of softcuda's profile rtx4090 (profiles.def): pinned copies, and the share of that while both directions run.
LINK_GBS, BOTH = 26, 18.6 / 26
# softcuda counts what modules hold (constants, variables) as well, which no budget is for.
MODULES_AT_MOST = 2 * MIB


def steady_seconds(run):
    """The mean of a steady step, None if the run has none."""
    steps = run.steps[FIRST_STEADY_STEP:] if run is not None and run.ended_well() else []
    return statistics.fmean(steps) if steps else None


def part_of_launches(run, steps, ends):
    """The first and last tick of the steady steps. `ends`: of all waits for an event, which launch was the last; most programs
    wait for one at the end of each step, to tell how long it took, and else never. For others it is as if all steps had the same
    launches, and nothing came before. The last step is left out: behind it the weights are read."""
    count = steps - 1 - FIRST_STEADY_STEP
    if len(ends) == steps:
        return ends[FIRST_STEADY_STEP - 1], ends[steps - 2], count
    total = run.sluice["total"]["launches"]
    return total * FIRST_STEADY_STEP // steps, total * (steps - 1) // steps, count


def dumped(tool, trace):
    dump = subprocess.run([tool, "trace", "dump", trace], capture_output=True, text=True, check=True).stdout
    return [line.split() for line in dump.splitlines()]


def waits_for_events(records):
    return [int(words[0]) for words in records if words[3:5] == ["sync", "event"]]


def fetched(records, first, last):
    """Bytes by cause that were fetched from tick `first` to tick `last`."""
    sums = {"plan": 0, "demand": 0, "late": 0}
    for words in records:
        if len(words) == 8 and words[3:5] == ["move", "fetch"] and first < int(words[0]) <= last:
            sums[words[5]] += int(words[7].split("=")[1])
    return sums


def from_iterations(run, name, first, last):
    """The same of a figure that statistics have for each iteration; of one that is partly outside its part."""
    total, tick = 0.0, 0
    for iteration in run.sluice["iterations"]:
        begin, tick = tick, tick + iteration["launches"]
        inside = max(0, min(last, tick) - max(first, begin))
        total += iteration[name] * inside / max(1, iteration["launches"])
    return total


def movements_of_rank(tool, run, steps):
    records = dumped(tool, run.trace)
    first, last, count = part_of_launches(run, steps, waits_for_events(records))
    causes = fetched(records, first, last)
    chosen = from_iterations(run, "in_place_bytes", first, last)
    used = sum(causes.values()) + from_iterations(run, "remote_bytes", first, last)
    return {"foreseen_share": (causes["plan"] + chosen) / used if used else None,
            "demand_misses_per_step": from_iterations(run, "demand_misses", first, last) / count,
            "bytes_in_per_step": sum(causes.values()) / count}


def movements(tool, run, steps):
    """Foreseen share, demand misses and bytes fetched for each steady step; of several ranks, the worst of each."""
    worst = {"foreseen_share": min, "demand_misses_per_step": max, "bytes_in_per_step": max}
    if not run.ended_well() or any(rank.sluice is None or not rank.trace.exists() or not rank.sluice["total"]["launches"]
                                   for rank in run.each):
        return dict.fromkeys(worst)
    moved = [movements_of_rank(tool, rank, steps) for rank in run.each]
    return {name: choose((rank[name] for rank in moved if rank[name] is not None), default=None)
            for name, choose in worst.items()}


def peak(run):
    """Of several ranks', the device that held most; None if softcuda wrote no books."""
    return None if any(rank.device is None for rank in run.each) else max(rank.device["peak_device_bytes"] for rank in run.each)


def is_kept(run, budget):
    """Whether the device never held more than the budget; None if softcuda wrote no books."""
    held = peak(run)
    return None if held is None else held <= budget + MODULES_AT_MOST


def steady_sequence(run):
    """What tests/bound bounds: the steady steps of a recorded run without sluice but the last, behind which nothing says what is
    still needed. And their number and seconds. None if they cannot be told apart, or launches ran at the same time."""
    if not run.ended_well() or len(run.steps) < FIRST_STEADY_STEP + 2:
        return None
    uses, records = touched.load(run.folder / "touched", run.folder / "timeline")
    found = touched.find_steps(records, [1e3 * seconds for seconds in run.steps])
    if found is None:
        return None
    steady = found[FIRST_STEADY_STEP:-1]
    (begin, _), (_, end) = steady[0], steady[-1]
    try:
        return touched.sequence(uses, begin, end, "steady steps"), len(steady), (end - begin) * 1e-9
    except touched.Overlap:
        return None


def find_scipy():
    """A Python that has SciPy, None if there is none."""
    for python in (sys.executable, "/usr/bin/python3"):
        try:
            if subprocess.run([python, "-c", "import scipy.optimize"], capture_output=True, check=False).returncode == 0:
                return python
        except FileNotFoundError:
            pass
    return None


def bound_seconds(run, budget, sequence):
    """How long a steady step of a recorded run takes at least within the budget. `sequence`: what steady_sequence said."""
    python = find_scipy()
    if sequence is None or python is None:
        return None
    path = run.folder / "sequence.json"
    steps, count, seconds = sequence
    path.write_text(json.dumps(steps), encoding="utf-8")
    done = subprocess.run([python, BOUND / "lower_bound.py", path, "--json", "--budget-bytes", str(budget + MODULES_AT_MOST),
                           "--link-gbs", str(LINK_GBS), "--both", str(BOTH)], capture_output=True, text=True, check=False)
    if done.returncode:
        print("no bound:", (done.stderr.strip() or "no message").splitlines()[-1], flush=True)
        return None
    return steady_seconds(run) + max(0.0, json.loads(done.stdout)["bound_seconds"] - seconds) / count


def table(results):
    """Markdown, a line for each case."""
    def milliseconds(value):
        return "" if value is None else f"{1e3 * value:.2f}"

    def mib(value):
        return "?" if value is None else f"{value / MIB:.0f}"

    def share(value):
        return "" if value is None else f"{100 * value:.0f} %"

    lines = ["| program | allocator | daemon | order | budget | same bits | kept | step without | step, ms | demand | driver | "
             "bound | foreseen | misses | MiB in |",
             "| --- | --- | --- | --- | ---: | --- | --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |"]
    for row in results:
        same = {True: "yes", False: "**no**", None: "not deterministic"}[row["identical"]] if not row["failure"] else "**failed**"
        misses, moved = row["demand_misses_per_step"], row["bytes_in_per_step"]
        kept = {True: "yes", False: f"**no**: {mib(row['peak_bytes'])} MiB", None: ""}
        cells = [row["program"], row["allocator"], row["daemon"], row["schedule"],
                 f"{mib(row['budget_bytes'])} of {mib(row['needed_bytes'])} MiB", same, kept[row["budget_kept"]],
                 *(milliseconds(row[name + "step_seconds"]) for name in ("full_", "", "demand_", "driver_", "bound_")),
                 share(row["foreseen_share"]), "" if misses is None else f"{misses:.1f}",
                 "" if moved is None else f"{moved / MIB:.1f}"]
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines)


def save(path, results):
    path.write_text(json.dumps(results, indent=1) + "\n", encoding="utf-8")
