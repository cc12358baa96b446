#!/usr/bin/env python3
"""docs/profiler.md as it stands, with torch.profiler itself, on the software device: BUILD.

All events of the profiler are in the merged file. Each launch of the profiled steps lies in an operation of its thread that is known to
launch, and each operation on matrices has its launches; the ranges of NVTX have the operations of their step within them. What the page's
lines say of waits adds up to the trace's stalls. Skipped where Debian's PyTorch cannot be had."""
import collections
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
SOURCE = HERE.parents[1]
sys.path.insert(0, str(SOURCE / "tests/frameworks"))
import debian
import frameworks
import running

PAGE = (SOURCE / "docs/profiler.md").read_text()
PROFILED = 3  # steps of the page's program
FRAMEWORK = frameworks.PyTorch()


def expect(what, good, found):
    if not good:
        sys.exit(f"{what}: {str(found)[:2000]}")


def words(bench, folder):
    """Writes the page's programs, and what is python there: PyTorch's Python on the software device."""
    environment, start = FRAMEWORK.start(bench, False)
    variables = {"SOFTCUDA_EXECUTE": "sample", "LD_AUDIT": bench.libraries / "libsoftcuda_find.so", "PYTHONDONTWRITEBYTECODE": "1",
                 **running.BASE, **environment}
    lines = [f"export {name}='{value}'" for name, value in variables.items()]
    (folder / "python").write_text("\n".join(["#!/bin/sh", *lines, "exec " + " ".join(map(str, start)) + ' "$@"']) + "\n")
    (folder / "python").chmod(0o755)
    for name, text in zip(("train.py", "waits.py"), re.findall(r"```python\n(.*?)```", PAGE, re.S), strict=True):
        (folder / name).write_text(text)


def run_page(folder, tool):
    """What each command of the page prints."""
    printed = []
    (folder / "sluice").symlink_to(tool)
    for command in re.findall(r"(?m)^    (\S.*)$", re.sub(r"```.*?```", "", PAGE, flags=re.S)):
        result = subprocess.run(["bash", "-c", command.replace("sluice run", "sluice run --software")], cwd=folder,
                                capture_output=True, text=True, timeout=600, env={"PATH": f"{folder}:/usr/bin:/bin", "HOME": str(folder)})
        expect(command, result.returncode == 0, result.stderr[-2000:])
        printed.append(result.stdout)
    return printed


def innermost(operations, thread, at):
    around = [one for one in operations if one["tid"] == thread and one["ts"] <= at < one["ts"] + one["dur"]]
    return max(around, key=lambda one: one["ts"]) if around else None


def check_launches(events):
    operations = [event for event in events if event.get("cat") == "cpu_op"]
    first, last = min(one["ts"] for one in operations), max(one["ts"] + one["dur"] for one in operations)
    launches = [event for event in events if event.get("cat") == "launch" and first <= event["ts"] < last]
    made_by = [innermost(operations, launch["args"]["thread"], launch["ts"]) for launch in launches]
    expect("launches outside operations", None not in made_by, [l["name"] for l, by in zip(launches, made_by) if not by])
    expect("threads that launch", len({launch["args"]["thread"] for launch in launches}) == 2, "the backward pass has its own")
    launched = collections.Counter(id(one) for one in made_by)
    for name in ("aten::addmm", "aten::mm", "aten::addcdiv_", "aten::sum"):
        alone = [launched[id(one)] for one in operations if one["name"] == name]
        expect(f"launches of each {name}", alone and min(alone) >= 1, alone)
    operation_of = {launch["name"]: one["name"] for launch, one in zip(launches, made_by)}
    for part, operation in (("lerp", "aten::lerp_"), ("sqrt", "aten::sqrt"), ("MeanOps", "aten::mean"), ("PowKernel", "aten::pow")):
        found = {its for kernel, its in operation_of.items() if part in kernel}
        expect(f"the operation of kernels with {part}", found == {operation}, (found, operation_of))

def check_ranges(events):
    steps = [event for event in events if event.get("name") == "step" and event["ph"] == "B"]
    ends = [event for event in events if event["ph"] == "E" and (event["pid"], event["tid"]) == (steps[0]["pid"], steps[0]["tid"])]
    begun = sorted(event["ts"] for event in steps)
    ended = sorted(event["ts"] for event in ends)
    expect("ranges named step", len(begun) == len(ended) >= PROFILED, (len(begun), len(ended)))
    spans = list(zip(begun, ended))[-PROFILED:]
    for name, number in (("aten::linear", 8), ("aten::addmm", 8), ("Optimizer.step#AdamW.step", 1)):
        each = [sum(begin <= one["ts"] and one["ts"] + one["dur"] <= end for one in events if one.get("name") == name and one["ph"] == "X")
                for begin, end in spans]
        expect(f"{name} in each step", each == [number] * PROFILED, each)


def check_waits(printed, events):
    table = {name: float(ms) for ms, name in re.findall(r"(?m)^ *(\S+) ms  (.*)$", printed)}
    stalls = [event for event in events if event.get("name") == "waits for its data" and event["ph"] == "X"]
    expect("stalls", len(stalls) > 0, len(stalls))
    if len(table) < 10:
        whole = sum(event["dur"] for event in stalls if "tick" in event["args"]) / 1e3
        expect("waits of all operations", abs(sum(table.values()) - whole) <= 0.01 * len(table) + 1e-6, (table, whole))
    expect("operations that wait", any(name.startswith("aten::") for name in table), table)


def main():
    build = pathlib.Path(sys.argv[1])
    try:
        FRAMEWORK.prepare(running.cache())
    except debian.Unavailable as reason:
        print("skipped:", reason)
        sys.exit(77)
    bench = running.Bench(build)
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        words(bench, folder)
        printed = run_page(folder, build.resolve() / "tools/sluice")
        events, torch = (json.loads((folder / f"{file}.json").read_text())["traceEvents"] for file in ("both", "torch"))
        expect("the profiler's events", events[-len(torch):] == torch, len(events))
        check_launches(events)
        check_ranges(events)
        check_waits(printed[-1], events)
    print("all is well")


if __name__ == "__main__":
    main()
