#!/usr/bin/env python3
"""The examples of docs/python.md with the real transformers, lightning, tensorboard and wandb, on the software device: BUILD [NAME...].

With sluice, every row of a logger that has the loss has what sluice did in the step as well, and all rows together have what it did in
the run; each step is a range in the trace. Without sluice the losses are the same and nothing is added. Skipped where Debian's
PyTorch or PyPI cannot be had."""
import json
import os
import pathlib
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
SOURCE = HERE.parents[1]
sys.path.insert(0, str(SOURCE / "tests/frameworks"))
import debian
import frameworks
import running

STEPS, BUDGET = 8, 10 << 20  # as in logged.py; of the device, for 20 to 50 MiB
NAMES = {f"sluice/{name}" for name in ("stalls", "stall_seconds", "bytes_in", "bytes_in_demand", "bytes_out", "remote_bytes", "demand_misses",
                                       "mispredictions", "budget_bytes", "need_bytes")}
# Library -> {its loggers: number of their rows}, whether it names the steps.
LIBRARIES = {"tensorboard": ({"tensorboard": STEPS}, False), "wandb": ({"wandb": STEPS}, False),
             "lightning": ({"tensorboard": STEPS // 2, "csv": STEPS // 2}, True),
             "transformers": ({"history": STEPS // 2, "tensorboard": STEPS // 2, "wandb": STEPS // 2}, True)}
FRAMEWORK = frameworks.PyTorch("transformers", "lightning", "tensorboard", "wandb")


def expect(what, good, found):
    if not good:
        sys.exit(f"{what}: {found}")


def run(bench, name, folder, **variables):
    environment, words = FRAMEWORK.start(bench, bool(variables))
    environment = {"HOME": str(folder), "PATH": os.environ["PATH"], "TMPDIR": str(folder), "PYTHONPYCACHEPREFIX": bench.folder / "pycache",
                   "LD_AUDIT": bench.libraries / "libsoftcuda_find.so", **running.BASE, **environment, **variables}
    environment["PYTHONPATH"] += f":{SOURCE / 'python'}"
    files = folder / ("with" if variables else "without")
    files.mkdir()
    result = subprocess.run([*map(str, words), HERE / "logged.py", name, files], cwd=folder, stdin=subprocess.DEVNULL, capture_output=True,
                            text=True, timeout=600, env={key: str(value) for key, value in environment.items()})
    expect(f"{name}'s status", result.returncode == 0, result.stderr[-2000:])
    return json.loads(result.stdout.splitlines()[-1])


def losses(rows):
    return {step: row["loss"] for step, row in rows.items() if "loss" in row}


def check_rows(where, rows, count, stats):
    rows = [row for row in rows.values() if "loss" in row]
    expect(f"{where}: rows", len(rows) == count, rows)
    for row in rows:
        expect(f"{where}: what a row lacks", not NAMES - set(row), NAMES - set(row))
        expect(f"{where}: the budget", 0 < row["sluice/budget_bytes"] <= BUDGET, row["sluice/budget_bytes"])
        expect(f"{where}: the need", BUDGET < row["sluice/need_bytes"] <= stats["need_bytes"], row["sluice/need_bytes"])
    for name, least in (("bytes_in", 0.8), ("bytes_out", 0.8), ("demand_misses", 0.3)):
        said = sum(row[f"sluice/{name}"] for row in rows) * STEPS / count
        # What the library did before the first step, and behind the last (Lightning takes the model off the device), is no step's.
        expect(f"{where}: {name} of all steps", least * stats[name] < said <= stats[name], (said, stats[name]))
    expect(f"{where}: stalls", sum(row["sluice/stalls"] for row in rows) > 0, rows)


def step_ranges(tool, trace):
    said = subprocess.run([tool, "trace", "dump", "--json", trace], capture_output=True, text=True, check=True).stdout
    marks = [record for record in map(json.loads, said.splitlines()) if record.get("type") == "mark"]
    return sum(mark.get("name") == "step" for mark in marks), len(marks)


def check(bench, tool, name, folder):
    loggers, ranges = LIBRARIES[name]
    trace = folder / "trace.slt"
    with_sluice = run(bench, name, folder, SLUICE_DEVICE_BUDGET=BUDGET, SLUICE_CHUNK="2M", SLUICE_DAEMON="inline", SLUICE_TRACE=trace)
    without = run(bench, name, folder)
    expect(f"{name} without sluice: figures", without["stats"] is None, without["stats"])
    expect(f"{name}: loggers", set(with_sluice["loggers"]) == set(without["loggers"]) == set(loggers), set(with_sluice["loggers"]))
    for logger, count in loggers.items():
        rows, bare = with_sluice["loggers"][logger], without["loggers"][logger]
        check_rows(f"{name}, {logger}", rows, count, with_sluice["stats"])
        expect(f"{name}, {logger}: losses", losses(rows) == losses(bare), (losses(rows), losses(bare)))
        added = {key for row in bare.values() for key in row if "sluice" in key}
        expect(f"{name}, {logger}: values without sluice", not added, added)
    found = step_ranges(tool, trace)
    expect(f"{name}: ranges named step, marks", found == ((STEPS, 2 * STEPS) if ranges else (0, 0)), found)
    print(f"{name}: all is well", flush=True)


def main():
    build, chosen = pathlib.Path(sys.argv[1]), sys.argv[2:] or list(LIBRARIES)
    try:
        FRAMEWORK.prepare(running.cache())
    except debian.Unavailable as reason:
        print("skipped:", reason)
        sys.exit(77)
    bench = running.Bench(build)
    for name in chosen:
        with tempfile.TemporaryDirectory() as folder:
            check(bench, build.resolve() / "tools/sluice", name, pathlib.Path(folder))


if __name__ == "__main__":
    main()
